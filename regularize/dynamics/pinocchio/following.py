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
from numpy.typing import NDArray

from regularize.dynamics.pinocchio.constraints import STEPS, RobotConstraints
from regularize.errors import ClosureLost
from regularize.lie.arrays import Array
from regularize.tolerances import NEGLIGIBLE

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.solvers import ConstrainedTree

#: By how much the equations of the dependent velocities may change.
CHANGED = 0.5
#: Of the projection, the longest step that is tried at once, and by which part it may go back.
OPTIONS = np.array([*STEPS, 0.5, 0.1, CHANGED])


@dataclass(frozen=True, eq=False)
class Led:
    """Velocities that lead, and those that the loops make of them."""

    columns: NDArray[np.intp]
    places: NDArray[np.intp]
    held: Array
    follows: Array
    decides: Array
    square: bool

    @classmethod
    def of(cls, robot: ConstrainedTree, names: tuple[str, ...]) -> Led:
        """What some joints lead."""
        columns = robot.velocity_indices(names)
        places = np.array([robot.position_index(int(c)) for c in columns], dtype=np.intp)
        held = np.isin(np.arange(robot.nv), columns)
        seen = np.zeros((robot.rows, robot.nv), dtype=bool)
        rng, space = np.random.default_rng(0), robot.tree.space
        for _ in range(2 if robot.kernel is not None else 0):  # no entry vanishes by chance in both
            q = space.integrate(space.neutral, rng.normal(size=robot.nv))
            seen |= np.abs(robot.jacobian(q)) > NEGLIGIBLE
        rows = seen[:, columns].any(axis=1)
        for _ in range(robot.rows):  # those that share velocities which follow
            rows |= seen[:, seen[rows].any(axis=0) & ~held].any(axis=1)
        follows = seen[rows].any(axis=0) & ~held
        square = bool(0 < rows.sum() == follows.sum())
        lead, follow, decide = (np.asarray(x, dtype=np.float64) for x in (held, follows, rows))
        return cls(columns, places, lead, follow, decide, square)

    def reached(self, robot: ConstrainedTree, q: Array, values: Array) -> Array | None:
        """The configuration after one step; None where it takes more."""
        if not self.square:
            return None
        change = np.zeros(len(self.held))
        change[self.columns] = values - q[self.places]
        end: Array | None = robot.kernel.follow(
            q, change, self.held, self.follows, self.decides, OPTIONS
        )
        if end is not None:
            end[self.places] = values  # not but for rounding
        return end


def follow(robot: ConstrainedTree, q: Array, targets: Mapping[str, float]) -> Array:
    """The configuration that is reached when joints move to given values; see ``Robot.follow``."""
    names = tuple(targets)
    way = robot.leading.get(names)
    if way is None:
        way = robot.leading.setdefault(names, Led.of(robot, names))
    values, q = np.array([*targets.values()], dtype=np.float64), np.asarray(q, dtype=np.float64)
    at_once: Array | None = way.reached(robot, q, values)
    if at_once is not None:
        return at_once
    found, arrived = led(robot, q, way.columns, values - q[way.places])
    if not arrived:
        reached = dict(zip(targets, found[way.places].tolist(), strict=True))
        raise ClosureLost(
            f"the loops do not follow the joints to {dict(targets)}: the way ends at {reached}"
        )
    return found


def led(
    robot: ConstrainedTree, q: Array, columns: NDArray[np.intp], change: Array
) -> tuple[Array, bool]:
    """Where single coordinates lead the mechanism, shape (nq,), and whether they arrive."""
    from regularize.loops.continuation import Continuation, drive  # where joints are led

    constraints = RobotConstraints(robot, reference=q)
    way = Continuation(constraints, robot.tolerances)
    found = drive(way, np.zeros((1, robot.nv)), columns.tolist(), change[None])
    return constraints.configuration(found.q[0]), bool(found.reached[0])
