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

import numpy as np
from numpy.typing import NDArray

from regularize.errors import ClosureLost
from regularize.lie.screw import Array
from regularize.pinocchio.constraints import STEPS, RobotConstraints
from regularize.pinocchio.solvers import ConstrainedTree
from regularize.tolerances import EXACT, NEGLIGIBLE

#: Longest step that is tried at once, and by which part of it the projection may go back.
LONGEST, BACK = 0.5, 0.1
#: By how much the equations of the dependent velocities may change.
CHANGED = 0.5


@dataclass(frozen=True, eq=False)
class Led:
    """Velocities that lead, and those that the loops make of them.

    Attributes:
        columns: Velocities that lead, shape (k,).
        places: Their coordinates in q, shape (k,).
        held: Whether each velocity leads, as numbers, shape (nv,).
        dependent: Velocities that follow, shape (d,).
        square: Their places in the rows (m, nv), flat, shape (d, d).
        given: Places of those that lead in the same rows, flat, shape (d, k).
    """

    columns: NDArray[np.intp]
    places: NDArray[np.intp]
    held: Array
    dependent: NDArray[np.intp]
    square: NDArray[np.intp]
    given: NDArray[np.intp]

    @classmethod
    def of(cls, robot: ConstrainedTree, names: tuple[str, ...]) -> Led:
        """What some joints lead; no velocities follow where rows do not decide as many."""
        columns = robot.velocity_indices(names)
        places = np.array([robot.position_index(int(c)) for c in columns], dtype=np.intp)
        held = np.zeros(robot.nv)
        held[columns] = 1.0
        seen = np.zeros((robot.rows, robot.nv), dtype=bool)
        rng, space = np.random.default_rng(0), robot.tree.space
        for _ in range(2 if robot.kernel is not None else 0):  # no entry vanishes by chance in both
            q = space.integrate(space.neutral, rng.normal(size=robot.nv))
            seen |= np.abs(robot.jacobian(q)) > NEGLIGIBLE
        rows = seen[:, columns].any(axis=1)
        for _ in range(robot.rows):  # those that share velocities which follow
            rows |= seen[:, seen[rows].any(axis=0) & (held == 0.0)].any(axis=1)
        own, dependent = np.flatnonzero(rows), seen[rows].any(axis=0) & (held == 0.0)
        follow = np.flatnonzero(dependent)
        if len(follow) != len(own):
            own = follow = follow[:0]
        first = own[:, None] * robot.nv
        return cls(columns, places, held, follow, first + follow, first + columns)

    def reached(self, robot: ConstrainedTree, q: Array, values: Array) -> Array | None:
        """The configuration after one step; None where it takes more."""
        kernel, d = robot.kernel, self.dependent
        rows = kernel.jacobian(q) if len(d) else None
        if rows is None:
            return None
        try:
            inverse = np.linalg.inv(rows.take(self.square))
        except np.linalg.LinAlgError:
            return None
        step, space = np.zeros(len(self.held)), robot.tree.space
        step[self.columns] = values - q[self.places]
        step[d] = -(inverse @ (rows.take(self.given) @ step[self.columns]))
        length = np.abs(step).max()
        if not length <= LONGEST:
            return None
        trial = q + step if space.flat else space.integrate(q, step)
        trial[self.places] = values
        end: Array | None = kernel.project(trial, self.held, STEPS)
        if end is None or not np.abs(end - trial).max() <= max(BACK * length, EXACT.same):
            return None
        change = inverse @ kernel.jacobian(end).take(self.square)
        change.flat[:: len(d) + 1] -= 1.0
        return end if np.abs(change).sum(axis=1).max() <= CHANGED else None


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
    """Where single coordinates lead the mechanism, shape (nq,), and whether they arrive.

    Args:
        robot: The robot.
        q: The closed configuration where they begin, shape (nq,).
        columns: Their velocities, shape (k,).
        change: By how much they change, shape (k,).
    """
    from regularize.loops.continuation import Continuation, drive  # where joints are led

    constraints = RobotConstraints(robot, reference=q)
    way = Continuation(constraints, robot.tolerances)
    found = drive(way, np.zeros((1, robot.nv)), columns.tolist(), change[None])
    return constraints.configuration(found.q[0]), bool(found.reached[0])
