r"""The path of a mechanism with one freedom: computed once, it turns motion into one equation.

Whatever its joints, the mechanism moves along one closed curve of configurations q(s). With the
velocity at unit rate :math:`w = dq/ds`, the mass :math:`m(s) = w^T M w` and the potential V(s) its
motion under joint forces :math:`\tau` obeys

.. math:: m \ddot s + \tfrac12 m' \dot s^2 + V' = w^T \tau,

without constraints, and without singularities at dead centres of single joints. All functions are
tabulated to almost the accuracy of the numbers; ``Path.error`` states what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from regularize.dynamics.one_freedom.curve import Curve
from regularize.dynamics.one_freedom.states import States
from regularize.dynamics.one_freedom.table import ROUND, Table
from regularize.dynamics.simulation import Simulation
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.pinocchio_model.robot import Robot

#: Distance from the path, lengths scaled, at which a configuration still lies on it.
ON_PATH = 1e-6


@dataclass(frozen=True, eq=False)
class Path:
    """All motions that a mechanism with one freedom can make, as functions of one coordinate.

    The path coordinate s is zero at the reference configuration and grows by 2 pi per round.

    Attributes:
        robot: The mechanism in Pinocchio.
        curve: Its configurations.
        names: Name of every joint coordinate.
        turns: Change of every joint coordinate per round, shape (n,).
        error: Largest error of the tables at points that they were not made from: distance from
            the curve and direction, lengths scaled, and relative error of the mass.
        samples: Number of configurations that the tables were made from.
        findings: What should be known about the model.
        states: Translates joint coordinates to the robot's.
        functions: What decides the motion: joint coordinates, twice the kinetic energy at unit
            rate, mass times centre of mass in kg m, shape (n + 4).
    """

    robot: Robot
    curve: Curve
    names: tuple[str, ...]
    turns: Array
    error: float
    samples: int
    findings: tuple[Diagnostic, ...]
    states: States = field(repr=False)
    functions: Table = field(repr=False)
    _shape: Table = field(repr=False)
    _rates: Table = field(repr=False)

    def configuration(self, s: Array | float) -> Array:
        """Joint coordinates, those of the cuts included, shape (..., n)."""
        s = np.asarray(s, dtype=np.float64)
        flat = s.reshape(-1)
        return self.curve.restored(self._shape(flat)).reshape(*s.shape, self.curve.n)

    def velocity(self, s: Array | float) -> Array:
        """Joint velocities at unit rate of the path coordinate, shape (..., n)."""
        s = np.asarray(s, dtype=np.float64)
        return self._rates(s.reshape(-1)).reshape(*s.shape, self.curve.n)

    def mass(self, s: Array | float) -> Array:
        """Twice the kinetic energy at unit rate of the path coordinate, shape (...)."""
        s = np.asarray(s, dtype=np.float64)
        return self.functions(s.reshape(-1))[:, self.curve.n].reshape(s.shape)

    def potential(self, s: Array | float, gravity: Array | None = None) -> Array:
        """Gravitational energy in J, shape (...); ``gravity`` in m/s², by default the model's."""
        s = np.asarray(s, dtype=np.float64)
        g = self.robot.model.gravity.linear if gravity is None else np.asarray(gravity)
        moments = self.functions(s.reshape(-1))[:, self.curve.n + 1 :]
        return np.asarray(-(moments @ g).reshape(s.shape))

    def simulate(
        self,
        duration: float,
        *,
        torques: Mapping[str, float | Callable[[float], float]] | None = None,
        forces: Callable[[float, Array, Array], Array] | None = None,
        q: Array | Mapping[str, float] | None = None,
        v: Array | None = None,
        rates: Mapping[str, float] | None = None,
        gravity: Array | None = None,
        times: Array | None = None,
        rtol: float = 1e-9,
        max_step: float = np.inf,
        progress: Callable[[float], None] | None = None,
    ) -> Simulation:
        """Let the mechanism move.

        Where gravity and constant joint forces are all there is and the motion is periodic, time
        follows from an exact quadrature; otherwise the equation of motion is solved in windows.

        Args:
            duration: Length of the simulation in seconds.
            torques: Force or torque of joints by name, those of the cuts included, constant or
                over time.
            forces: Further joint forces by time, configuration and velocity of ``robot``: springs,
                dampers, controllers; shape (nv,).
            q: Configuration of ``robot`` to begin with, shape (nq,), or some joint coordinates by
                name; by default the reference.
            v: Velocity of ``robot`` to begin with, shape (nv,); by default rest.
            rates: Joint rates to begin with, by name, in place of ``v``.
            gravity: Acceleration of free fall in m/s², shape (3,); by default the model's.
            times: Times at which the motion is recorded, increasing, in seconds; by default 100 per
                second.
            rtol: Relative error of times, or of the rate per window.
            max_step: Longest window in seconds, for forces that come and go in between.
            progress: Called now and then with the fraction done.

        Raises:
            ModelError: A number makes no sense, a name or a shape does not fit the model, or the
                path does not lead through the state to begin with.
            StepTooSmall: The motion cannot be continued.
        """
        from regularize.dynamics.one_freedom.motion import simulate_path

        return simulate_path(
            self,
            duration=duration,
            torques=torques,
            forces=forces,
            q=q,
            v=v,
            rates=rates,
            gravity=gravity,
            times=times,
            rtol=rtol,
            max_step=max_step,
            progress=progress,
        )

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
            wanted[0, columns] = list(coordinates.values())
        else:
            wanted = np.asarray(coordinates, dtype=np.float64).reshape(1, -1)
            if wanted.shape[1] != self.curve.n:
                raise ModelError(f"a configuration has {self.curve.n} coordinates: {self.names}")

        def gap(s: Array) -> Array:
            there = self.configuration(s)
            left = self.curve.differences(there, np.repeat(wanted, len(s), axis=0))
            left = self.curve.wrapped(left)
            return left if columns is None else left[:, columns]

        s = np.linspace(-0.5, 0.5, 4 * self.samples + 1) * ROUND
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
        fits = s[np.linalg.norm(gap(s), axis=1) < ON_PATH]
        if not len(fits):
            raise ModelError(
                f"the path does not lead to this configuration; it comes no nearer than "
                f"{float(np.min(distance)):.3g} (radians, and lengths in units of "
                f"{self.curve.loops.length:.3g} m)"
            )
        return float(fits[np.argmin(np.abs(fits))])

    def columns(self, names: Mapping[str, object]) -> list[int]:
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
