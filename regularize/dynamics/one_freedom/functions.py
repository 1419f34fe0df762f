r"""A path as functions of one coordinate, which turn motion along it into one equation.

Whatever its joints, a mechanism with one freedom moves along one closed curve of configurations
q(s). With the velocity at unit rate :math:`w = dq/ds`, the mass :math:`m(s) = w^T M w` and the
potential V(s) its motion under joint forces :math:`\tau` obeys

.. math:: m \ddot s + \tfrac12 m' \dot s^2 + V' = w^T \tau,

without constraints, and without singularities at dead centres of single joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from regularize.arguments import checked, numbers, vector
from regularize.dynamics.one_freedom.curve import Curve
from regularize.dynamics.one_freedom.states import States
from regularize.dynamics.one_freedom.table import ROUND, Table
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.pinocchio_model.robot import Robot


@dataclass(frozen=True, eq=False)
class PathFunctions:
    """A path, tabulated to almost the accuracy of the numbers.

    The path coordinate s is zero at the reference configuration and grows by 2 pi per round.

    Attributes:
        robot: The mechanism in Pinocchio.
        curve: Its configurations.
        names: Name of every joint coordinate.
        states: Translates joint coordinates to the robot's.
        functions: What decides the motion: joint coordinates, twice the kinetic energy at unit
            rate, mass times centre of mass in kg m, shape (n + 4).
    """

    robot: Robot
    curve: Curve
    names: tuple[str, ...]
    states: States = field(repr=False)
    functions: Table = field(repr=False)
    _shape: Table = field(repr=False)
    _rates: Table = field(repr=False)

    def configuration(self, s: Array | float) -> Array:
        """Joint coordinates, those of the cuts included, shape (..., n)."""
        s = numbers(s)
        flat = s.reshape(-1)
        return self.curve.restored(self._shape(flat)).reshape(*s.shape, self.curve.n)

    def velocity(self, s: Array | float) -> Array:
        """Joint velocities at unit rate of the path coordinate, shape (..., n)."""
        s = numbers(s)
        return self._rates(s.reshape(-1)).reshape(*s.shape, self.curve.n)

    def mass(self, s: Array | float) -> Array:
        """Twice the kinetic energy at unit rate of the path coordinate, shape (...)."""
        s = numbers(s)
        return self.functions(s.reshape(-1))[:, self.curve.n].reshape(s.shape)

    def potential(self, s: Array | float, gravity: Array | None = None) -> Array:
        """Gravitational energy in J, shape (...); ``gravity`` in m/s², by default the model's."""
        s = numbers(s)
        g = self.robot.gravity if gravity is None else vector("gravity", gravity, 3)
        moments = self.functions(s.reshape(-1))[:, self.curve.n + 1 :]
        return np.asarray(-(moments @ g).reshape(s.shape))

    def locate(self, coordinates: Mapping[str, float] | Array) -> float:
        """Path coordinate of a configuration.

        Args:
            coordinates: All joint coordinates, shape (n,), or some of them by name; of several
                places that fit, the one nearest to the reference along the path.

        Raises:
            ModelError: The path does not lead there.
        """
        columns: list[int] | None = None
        if isinstance(coordinates, Mapping):
            columns = self.columns(coordinates)
            wanted = np.zeros((1, self.curve.n))
            wanted[0, columns] = numbers(list(coordinates.values()))
        else:
            wanted = numbers(coordinates).reshape(1, -1)
            if wanted.shape[1] != self.curve.n:
                raise ModelError(f"a configuration has {self.curve.n} coordinates: {self.names}")

        def gap(s: Array) -> Array:
            there = self.configuration(s)
            left = self.curve.differences(there, np.repeat(wanted, len(s), axis=0))
            left = self.curve.wrapped(left)
            return left if columns is None else left[:, columns]

        s = np.linspace(-0.5, 0.5, 2 * self.functions.pieces.x.size) * ROUND
        distance = np.linalg.norm(gap(s), axis=1)
        low = distance <= np.minimum(
            np.append(distance[1:], np.inf), np.append(np.inf, distance[:-1])
        )
        s = s[low]
        for _ in range(20):
            left, rate = gap(s), self.velocity(s) / self.curve.units
            rate = rate if columns is None else rate[:, columns]
            size = np.maximum(np.sum(rate**2, axis=1), 1e-30)
            step = np.sum(left * rate, axis=1) / size
            s = s + np.clip(step, -0.1, 0.1)
        fits = s[np.linalg.norm(gap(s), axis=1) < self.curve.tolerances.same]
        if not len(fits):
            raise ModelError(
                f"the path does not lead to this configuration; it comes no nearer than "
                f"{float(np.min(distance)):.3g} (radians, and lengths in units of "
                f"{self.curve.loops.length:.3g} m)"
            )
        return float(fits[np.argmin(np.abs(fits))])

    @checked
    def columns(self, names: Mapping[str, object] | Iterable[str]) -> list[int]:
        """Positions of joint coordinates by name.

        Raises:
            ModelError: A name is unknown, or its joint has several freedoms.
        """
        found = []
        for name in names:
            if name not in self.names:
                joint = self.robot.reduction.mechanism.joint(name)
                raise ModelError(
                    f"joint {name!r} has {joint.freedoms} freedoms; name one that has a single one"
                )
            column = self.names.index(name)
            if column not in self.curve.plain:
                raise ModelError(f"joint {name.partition('[')[0]!r} has no coordinates one by one")
            found.append(column)
        return found
