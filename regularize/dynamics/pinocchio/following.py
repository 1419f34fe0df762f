r"""Joints of a robot led to values: all others follow on the branch of the last configuration.

A short way that is clear of singularities is one step: along the tangent, and back by the compiled
projection. It is taken where the equations of the dependent velocities :math:`D` differ between its
ends by

.. math:: \lVert D_0^{-1} D_1 - 1 \rVert_\infty \le 1/2

and the projection goes back by no more than a part of the step. What is between the ends is not
bounded: that the branch is the same is as sure as steps of continuation, and no proof. Everything
else is followed by continuation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regularize.dynamics.pinocchio.constraints import STEPS, RobotConstraints
from regularize.errors import ClosureLost
from regularize.lie.arrays import Array, Configuration, Indices
from regularize.tolerances import NEGLIGIBLE

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.solvers import ConstrainedTree

#: By how much the equations of the dependent velocities may change.
CHANGED = 0.5
#: Of the projection, the longest step that is tried at once, and by which part it may go back.
OPTIONS = np.array([*STEPS, 0.5, 0.1, CHANGED])


@dataclass(frozen=True, eq=False)
class LeadingJoints:
    """Velocities of joints that lead, and what the loops make of them, as the kernel reads it."""

    columns: Indices
    places: Indices  #: their coordinates in q
    leads: Array  #: 1 for each velocity that leads
    follows: Array  #: 1 for each velocity that follows
    decides: Array  #: 1 for each row that decides what follows
    square: bool  #: whether rows decide as many velocities as they are

    @classmethod
    def of(cls, robot: ConstrainedTree, names: tuple[str, ...]) -> LeadingJoints:
        """Find what follows the named joints."""
        columns = robot.velocity_indices(names)
        places = np.array([robot.position_index(int(c)) for c in columns], dtype=np.intp)
        leads = np.isin(np.arange(robot.nv), columns)
        entries = np.zeros((robot.rows, robot.nv), dtype=bool)
        rng, space = np.random.default_rng(0), robot.tree.space
        for _ in range(2 if robot.kernel is not None else 0):  # no entry vanishes by chance in both
            q = space.integrate(space.neutral, rng.normal(size=robot.nv))
            entries |= np.abs(robot.jacobian(q)) > NEGLIGIBLE
        rows = entries[:, columns].any(axis=1)
        for _ in range(robot.rows):  # those that share velocities which follow
            rows |= entries[:, entries[rows].any(axis=0) & ~leads].any(axis=1)
        follows = entries[rows].any(axis=0) & ~leads
        square = bool(0 < rows.sum() == follows.sum())
        return cls(
            columns, places, leads.astype(float), follows.astype(float), rows.astype(float), square
        )

    def reached(self, robot: ConstrainedTree, q: Configuration, values: Array) -> Array | None:
        """Return the configuration after one step; None where it takes more."""
        if not self.square:
            return None
        change = np.zeros(len(self.leads))
        change[self.columns] = values - q[self.places]
        end: Array | None = robot.kernel.follow(
            q, change, self.leads, self.follows, self.decides, OPTIONS
        )
        if end is not None:
            end[self.places] = values  # not but for rounding
        return end


def follow(robot: ConstrainedTree, q: Configuration, targets: Mapping[str, float]) -> Configuration:
    """Return the configuration that is reached when joints move to values; see ``Robot.follow``."""
    names = tuple(targets)
    leading = robot.leading.get(names)
    if leading is None:
        leading = robot.leading.setdefault(names, LeadingJoints.of(robot, names))
    values, q = np.array([*targets.values()], dtype=np.float64), np.asarray(q, dtype=np.float64)
    end: Array | None = leading.reached(robot, q, values)
    if end is not None:
        return end
    end, arrived = led(robot, q, leading.columns, values - q[leading.places])
    if not arrived:
        reached = dict(zip(targets, end[leading.places].tolist(), strict=True))
        raise ClosureLost(
            f"the loops do not follow the joints to {dict(targets)}: the way ends at {reached}"
        )
    return end


def led(
    robot: ConstrainedTree, q: Configuration, columns: Indices, change: Array
) -> tuple[Configuration, bool]:
    """Change single coordinates of a closed configuration; returns the end, and if it is there."""
    from regularize.loops.continuation import Continuation, drive  # where joints are led

    constraints = RobotConstraints(robot, reference=q)
    continuation = Continuation(constraints, robot.tolerances)
    path = drive(continuation, np.zeros((1, robot.nv)), columns.tolist(), change[None])
    return constraints.configuration(path.q[0]), bool(path.reached[0])
