r"""Closed configurations, velocities and accelerations by independent coordinates.

The thesis (Paul 2020, section 3.2) splits the coordinates into independent ones u and dependent
ones v. With the kept rows J, the coupling matrix :math:`B = -J_v^{-1} J_u` gives

.. math::
    \dot q_v = B \dot q_u, \quad \ddot q_v = B \ddot q_u + b, \quad b = -J_v^{-1} \dot J \dot q
    \quad\text{(eq. 17 to 19)}

and the dependent positions follow by Newton's method (eq. 16). Coordinates are displacements from a
reference configuration, so that quaternions need no treatment of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.pinocchio.constraints import RobotConstraints
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.partitioning import Choice, choose
from regularize.dynamics.simulation.prescribed import Prescribed
from regularize.errors import ClosureLost, SingularConfiguration
from regularize.lie.arrays import Array, read_only
from regularize.loops.continuation import Continuation, drive
from regularize.loops.projection import ConstraintSet, View, project
from regularize.mechanism.graph import columns_of
from regularize.tolerances import ROUNDING

Self = TypeVar("Self", bound="PartitionedKinematics")

#: Condition number up to which velocities of dependent coordinates keep all but two digits.
GOOD = 50.0


@dataclass(frozen=True, eq=False)
class Pose:
    """A closed configuration with what follows from it.

    Attributes:
        x: Displacement from the reference, shape (nv,).
        q: Configuration of the Pinocchio model, shape (nq,).
        transmission: Velocities of all coordinates by those of the known ones, shape (nv, known).
        condition: Condition number of the Jacobian of the dependent coordinates, lengths scaled,
            in the Frobenius norm over their number, so that it is 1 at best.
        inverse: Inverse of that Jacobian in the rows that tie them, shape (m, m).
    """

    x: Array
    q: Array
    transmission: Array
    condition: float
    inverse: Array


@dataclass(frozen=True, eq=False)
class PartitionedKinematics:
    """Motion of a closed-loop mechanism by independent coordinates.

    Attributes:
        robot: The Pinocchio model with the kept rows.
        names: Name of every velocity of the model.
        choice: Which columns are known and dependent, and which rows tie them.
        forced: Prescribed motions by name; their coordinates are known, not independent.
        reference: Configuration from which displacements are measured, shape (nq,).
        locked: Names that the user wants to be independent.
        rtol: Relative tolerance of ranks.
        units: One unit of every velocity: 1 for angles, the size of the mechanism for lengths,
            shape (nv,).
    """

    robot: Robot
    names: tuple[str, ...]
    choice: Choice
    forced: Mapping[str, Prescribed]
    reference: Array
    locked: tuple[str, ...]
    rtol: float
    units: Array = field(repr=False)

    @cached_property
    def known(self) -> list[int]:
        """Columns of the independent and the forced coordinates, increasing."""
        return list(self.choice.independent)

    @cached_property
    def whole(self) -> RobotConstraints:
        """The closed loops, in displacements from the reference."""
        return RobotConstraints(self.robot, self.units, self.reference)

    @cached_property
    def constraints(self) -> ConstraintSet:
        """The rows that tie the dependent coordinates."""
        return View(self.whole, np.array(self.choice.rows, dtype=np.intp))

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """Which coordinates are known, shape (nv,)."""
        held = np.zeros(len(self.units), dtype=bool)
        held[self.known] = True
        return held

    @cached_property
    def _split(self) -> tuple[Array, Array, Array, Array]:
        """Rows (m, 1), dependent (1, m) and known columns (1, known), and the dependent units."""
        rows = np.array(self.choice.rows, dtype=int)[:, None]
        dependent = np.array(self.choice.dependent, dtype=int)[None]
        return rows, dependent, np.array(self.known, dtype=int)[None], self.units[dependent[0]]

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the independent coordinates."""
        return tuple(self.names[c] for c in self.known if self.names[c] not in self.forced)

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the dependent coordinates."""
        return tuple(self.names[c] for c in self.choice.dependent)

    @cached_property
    def free(self) -> list[int]:
        """Positions of the independent coordinates among the known ones."""
        return [i for i, c in enumerate(self.known) if self.names[c] not in self.forced]

    @cached_property
    def driven(self) -> list[int]:
        """Positions of the forced coordinates among the known ones."""
        return [i for i, c in enumerate(self.known) if self.names[c] in self.forced]

    def repartitioned(self: Self, q: Array) -> Self:
        """The same with the best choice of the other coordinates at a closed configuration."""
        return self._chosen(q, self.locked)

    def released(self: Self, q: Array) -> Self:
        """The same with the best choice whatever the user wanted; forced coordinates stay."""
        return self._chosen(q, ())

    def at(self: Self, q: Array) -> Self:
        """The same choice with displacements measured from a closed configuration."""
        return replace(self, reference=read_only(q))

    def _chosen(self: Self, q: Array, locked: tuple[str, ...]) -> Self:
        names = (*locked, *(name for name in self.forced if name not in locked))
        choice = choice_at(self.robot, q, self.names, self.units, names, self.rtol)
        return replace(self, choice=choice, reference=read_only(q), locked=locked)

    def displacement(self, q: Array) -> Array:
        """Displacement from the reference configuration, shape (nv,)."""
        return self.robot.tree.space.difference(self.reference, q)

    def close(self, displacement: Array) -> Pose:
        """Solve for the dependent coordinates by Newton's method (eq. 16).

        Args:
            displacement: From the reference, shape (nv,); the dependent entries are a first guess.

        Raises:
            ClosureLost: The guess is too far away, or there is no such configuration.
        """
        found = project(
            self.constraints,
            displacement[None],
            held=self.held,
            tolerances=self.robot.tolerances,
            until=ROUNDING,
        )
        if not found.closed[0]:
            raise ClosureLost(
                f"the loops do not close for the given {self._given}: the mechanism is at a limit "
                "of its motion, or the step was too large"
            )
        return self.pose_of(found.q[0])

    @property
    def _given(self) -> str:
        """Names of the independent coordinates, for messages."""
        return ", ".join(self.independent) or "coordinates"

    def pose_of(self, x: Array) -> Pose:
        """What follows from a displacement at which the loops are closed, shape (nv,).

        Raises:
            ClosureLost: It is singular: the known coordinates do not determine the others.
        """
        q = self.whole.configuration(x)
        jacobian = self.robot.jacobian(q)
        rows, dependent, given, units = self._split
        transmission = np.zeros((self.robot.nv, len(self.known)))
        transmission[self.known, range(len(self.known))] = 1.0
        if not len(rows):
            return Pose(x, q, transmission, 1.0, np.zeros((0, 0)))
        matrix = jacobian[rows, dependent]
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            inverse = np.full_like(matrix, np.inf)
        norms = np.linalg.norm(matrix * units) * np.linalg.norm(inverse / units[:, None])
        if not np.isfinite(norms):
            raise ClosureLost(
                f"{self._given} do not determine the others at a singular configuration"
            )
        transmission[dependent[0]] = -inverse @ jacobian[rows, given]
        return Pose(x, q, transmission, float(norms) / len(units), inverse)

    def moved(self, q: Array, time: float) -> Pose:
        """The closed configuration near ``q`` with the forced joints where they have to be."""
        columns = [self.known[i] for i in self.driven]
        target = np.array([self.forced[self.names[c]](time)[0] for c in columns])
        start = self.pose(q).x
        if columns:
            goal = (target - self.positions(self.reference, columns))[None]
            held = self.held.copy()
            held[columns] = False
            way = Continuation(self.constraints, self.robot.tolerances, held)
            arrived = drive(way, start[None], columns, goal)
            if not arrived.reached[0]:
                raise ClosureLost(
                    f"{', '.join(self.forced)} cannot be moved to where their motions begin: the "
                    "mechanism comes to a limit of its motion or to a singularity before"
                )
            start = arrived.q[0]
        return self.close(start)

    def positions(self, q: Array, columns: list[int]) -> Array:
        """Positions of coordinates that are one number each, shape (columns,)."""
        return q[[self.robot.position_index(column) for column in columns]]

    def pose(self, q: Array) -> Pose:
        """The closed configuration with the known coordinates of ``q``, shape (nq,)."""
        return self.close(self.displacement(q))

    def bias(self, pose: Pose, v: Array) -> Array:
        """Accelerations of all coordinates where the known ones are zero (eq. 19), shape (nv,)."""
        rows, dependent, _, _ = self._split
        b = np.zeros(self.robot.nv)
        b[dependent[0]] = -pose.inverse @ self.robot.bias(pose.q, v)[rows[:, 0]]
        return b

    def velocity(self, pose: Pose, known: Array) -> Array:
        """Velocities of all coordinates from those of the known ones (eq. 17), shape (nv,)."""
        return np.asarray(pose.transmission @ known)


def choice_at(
    robot: Robot, q: Array, names: tuple[str, ...], units: Array, locked: Iterable[str], rtol: float
) -> Choice:
    """The best choice at a closed configuration.

    Raises:
        SingularConfiguration: Coordinates chosen there would not do elsewhere.
    """
    expected = robot.nv - robot.reduction.mobility
    choice = choose(robot.jacobian(q) * units, names, columns_of(names, locked), rtol)
    if len(choice.dependent) < expected:
        raise SingularConfiguration(
            f"the configuration is singular: {len(choice.independent)} coordinates could move, "
            f"{robot.reduction.mobility} elsewhere; start from another one"
        )
    return choice
