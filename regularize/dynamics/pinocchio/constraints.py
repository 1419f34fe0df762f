r"""The rows of a Pinocchio model as a constraint set, and joints that are led to values.

Projection closes loops, and continuation leads joints: all others follow on the branch of the last
configuration.

A short way that is clear of singularities is one step: along the tangent, and back by the compiled
projection. It is taken where the equations of the dependent velocities :math:`D` differ between its
ends by

.. math:: \lVert D_0^{-1} D_1 - 1 \rVert_\infty \le 1/2

and the projection goes back by no more than a part of the step. What is between the ends is not
bounded: that the branch is the same is as sure as steps of continuation, and no proof. Everything
else is followed by continuation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from regularize.dynamics.step.multibody import CurvedEntry, Loop
from regularize.errors import ClosureLost, NotClosed, NotFinite
from regularize.lie import screw
from regularize.lie.arrays import Array, Configuration, Indices, Jacobian, Screw, Transform, Twist
from regularize.loops.projection import Convergence, project
from regularize.mechanism.graph import Edge
from regularize.mechanism.joint import body_jacobian, joint_position, motion
from regularize.reduction.cuts import Cut
from regularize.tolerances import EXACT, NEGLIGIBLE, ROUNDING

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.solvers import ConstrainedTree


@dataclass(frozen=True, eq=False, repr=False)
class ClosureRows(Loop):
    """One closed loop of the model; its ends are joints of the tree, 0 being the ground.

    All methods take the poses of the bodies behind all joints.
    """

    cut: Cut
    edge: Edge | None  #: the joint there, None where the two frames have to coincide
    cut_frame: Transform  #: seen from the first joint

    @cached_property
    def _single(self) -> tuple[Array, Callable[[Array], float]] | None:
        """Screw and coordinate of the joint, where it has a single freedom."""
        edge = self.edge
        if edge is None or edge.freedoms != 1 or edge.group:
            return None
        return edge.screws[:, 0], _coordinate_of(edge.screws[:, 0])

    @cached_property
    def removed(self) -> Array:
        """The removed rows: wrenches in the cut frame that rigid bodies leave open, (6, r)."""
        cut = self.cut
        rows = np.hstack([cut.removed, cut.thinned, cut.numerical])
        rows[:3] /= cut.length
        return rows

    def joint_pose(self, poses: Transform) -> Transform:
        """Return the pose of the child's joint frame in the parent's."""
        first = poses[self.first] @ self.first_frame
        second = poses[self.second] @ self.second_frame
        parent, child = (first, second) if self.sign > 0 else (second, first)
        return np.asarray(screw.inverse(parent) @ child)

    def position(self, poses: Transform) -> Array:
        """Return the coordinates of the joint, shape (f,)."""
        pose = self.joint_pose(poses)
        if self._single is not None:
            return np.array([self._single[1](pose)])
        return np.zeros(0) if self.edge is None else joint_position(self.edge, pose)

    def rates(self, poses: Transform, between: Array) -> Array:
        """Return rates of the joint's coordinates by velocities that keep the loop closed, (f, nv).

        ``between`` is the twist of the second body against the first by velocities, (6, nv).
        """
        edge = self.edge
        if edge is None:
            return np.zeros((0, between.shape[1]))
        child = poses[self.second] @ self.second_frame
        if self.sign < 0:
            child = poses[self.first] @ self.first_frame
        twists = screw.adjoint(screw.inverse(child)) @ between
        return np.asarray(
            self.sign * np.linalg.pinv(body_jacobian(edge, self.position(poses))) @ twists
        )

    def _motion(self, pose: Transform) -> Transform:
        """Return the joint motion nearest to a relative pose of the two joint frames."""
        edge = self.edge
        if self._single is not None:
            along, coordinate = self._single
            return screw.exp(along * coordinate(pose))
        if edge is None or edge.freedoms == 0:
            return np.eye(4)
        if edge.group:
            return pose if edge.freedoms == 6 else screw.transform(pose[:3, :3])
        return motion(edge, joint_position(edge, pose))

    def error(self, poses: Transform) -> Twist:
        """Return the twist of the second body against the first that opened the loop, row frame."""
        pose = self.joint_pose(poses)
        moved = self._motion(pose)
        if self.sign < 0:
            pose, moved = screw.inverse(pose), screw.inverse(moved)
        T_row_moved = screw.inverse(self.row_frame) @ self.first_frame @ moved
        return np.asarray(screw.adjoint(T_row_moved) @ screw.log(screw.inverse(moved) @ pose))


@dataclass(frozen=True, eq=False, repr=False)
class ConstraintRows:
    """All rows of a tree: those of the closures, then those of the couplings."""

    closures: Sequence[ClosureRows]
    coupling: Jacobian  #: rows of the couplings, 1 where there is a curve
    targets: Array  #: their values on the coordinates
    curves: tuple[CurvedEntry, ...] = ()

    @cached_property
    def closing_columns(self) -> list[int]:
        """Coordinates of the mechanism that closing joints have, one after the other."""
        return [column for each in self.closures if each.edge for column in each.edge.columns]

    def __len__(self) -> int:
        return sum(len(c.covectors) for c in self.closures) + len(self.coupling)


def _coordinate_of(along: Screw) -> Callable[[Transform], float]:
    """Return a function of a relative pose: the nearest coordinate of a single freedom."""
    rate = float(np.sqrt(along[3:] @ along[3:]))
    if rate == 0.0:
        direction = along[:3] / (along[:3] @ along[:3])
        return lambda pose: float(direction @ pose[:3, 3])
    x, y, z = (along[3:] / rate).tolist()

    def angle(pose: Transform) -> float:
        # The part of the rotation that turns about the axis, from its quaternion.
        a, b, c, w = screw.quaternion_of(pose[:3, :3])
        return 2.0 * math.atan2(x * a + y * b + z * c, w) / rate

    return angle


#: Closure error, in parts of what counts as closed, that is borne where rounding allows for
#: nothing better.
ROUGHLY = 1e3
#: Errors that are wanted and borne, the length of idle steps, how many, and singular pivots: the
#: same for the kernel.
STEPS = np.array([ROUNDING, ROUGHLY * EXACT.closed, EXACT.same, 40.0, EXACT.singular])
#: By how much the equations of the dependent velocities may change.
CHANGED = 0.5
#: Of the projection, the longest step that is tried at once, and by which part it may go back.
OPTIONS = np.array([*STEPS, 0.5, 0.1, CHANGED])


class RobotConstraints:
    """The rows of a robot, on its configurations or on displacements from a reference.

    Displacements are tangent steps with one number per velocity, whatever the joints, so that
    single ones can be held or driven. ``combined`` are combinations that stand for all rows.
    """

    def __init__(
        self,
        robot: ConstrainedTree,
        units: Array | None = None,
        reference: Array | None = None,
        combined: Array | None = None,
    ) -> None:
        self.robot, self.reference, self.combined = robot, reference, combined
        self.units = np.ones(robot.nv) if units is None else units
        self._space, self._flat = robot.tree.space, robot.tree.space.flat
        self._last: tuple[bytes, Array] = b"", np.zeros(0)
        self._count = robot.rows if combined is None else len(combined)

    def configuration(self, x: Array) -> Array:
        """Return the configuration of the model for one of this constraint set."""
        if self.reference is None:
            return x
        key = x.tobytes()
        if key != self._last[0]:  # errors and rows are asked for one after the other
            self._last = key, self._space.integrate(self.reference, x)
        return self._last[1]

    def state(self, q: Array) -> Array:
        """Return the configurations themselves."""
        return q

    def residual(self, state: Array) -> Array:
        """Return errors of the rows, shape (N, m)."""
        errors = [self._of_rows(self.robot.residual, (self.robot.rows,), x) for x in state]
        return np.array(errors).reshape(len(state), self._count)

    def _of_rows(
        self, function: Callable[[Array], Array], size: tuple[int, ...], x: Array
    ) -> Array:
        """Return a function of the rows, or combinations of it; NaN where x is not finite."""
        try:
            values = function(self.configuration(x))
        except NotFinite:  # a step that went much too far
            values = np.full(size, np.nan)
        return values if self.combined is None else self.combined @ values

    def residual_jacobian(self, state: Array) -> Array:
        """Return derivatives of the errors on closed loops, shape (N, m, nv)."""
        rows = self.jacobian(state)
        if self.reference is None or self._flat or not len(state):
            return rows
        velocities = np.array([self._space.velocity_by_step(x) for x in state])
        return np.asarray(rows @ velocities)

    def jacobian(self, state: Array) -> Array:
        """Return rows on velocities, shape (N, m, nv)."""
        size = (self.robot.rows, len(self.units))
        rows = [self._of_rows(self.robot.jacobian, size, x) for x in state]
        return np.array(rows).reshape(len(state), self._count, len(self.units))

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Return configurations after a unit of time at constant velocities, shape (N, nq)."""
        if self.reference is not None or self._flat:
            return q + velocity
        pairs = zip(q, velocity, strict=True)
        return np.array([self._space.integrate(x, v) for x, v in pairs])


def close_loops(robot: ConstrainedTree, q: Array, *, hold: Sequence[str] = ()) -> Array:
    """Return the configuration with closed loops that Newton steps reach, joints being held."""
    held = np.zeros(robot.nv, dtype=bool)
    held[robot.velocity_indices(hold)] = True
    if robot.kernel is not None:
        closed = robot.kernel.project(q, held, STEPS)
        if closed is not None:
            return np.asarray(closed)
    constraints, start = RobotConstraints(robot), np.asarray(q, dtype=np.float64)[None]
    mask = held if held.any() else None
    if robot.rank < robot.rows:
        # Rows that others imply on closed loops ask for long steps beside them.
        ranks = np.array([robot.rank])
        start = project(
            constraints, start, held=mask, until=ROUNDING, ranks=ranks, tolerances=robot.tolerances
        ).q
    end = project(constraints, start, held=mask, until=ROUNDING, tolerances=robot.tolerances)
    if end.outcome[0] != Convergence.CLOSED and not end.error[0] <= ROUGHLY * EXACT.closed:
        raise _not_closed(robot, end.q[0])
    return np.asarray(end.q[0])


def _not_closed(robot: ConstrainedTree, q: Array) -> NotClosed:
    """Return the error that names the loop which is farthest from closed."""
    poses = robot.states.poses(q)
    closures = robot.constraints.closures
    if not closures:
        return NotClosed("of a coupling", 0.0, float(np.max(np.abs(robot.residual(q)))))
    errors = [closure.error(poses) for closure in closures]
    worst = max(zip(closures, errors, strict=True), key=lambda pair: np.linalg.norm(pair[1]))
    linear, angular = np.linalg.norm(worst[1][:3]), np.linalg.norm(worst[1][3:])
    return NotClosed(worst[0].cut.edge.name, float(linear), float(angular))


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
        """Find the coordinates that follow the named joints, and the rows that tie them."""
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
        """Return the configuration after one Newton step; None if the loops need more steps."""
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
    end, arrived = lead_joints(robot, q, leading.columns, values - q[leading.places])
    if not arrived:
        reached = dict(zip(targets, end[leading.places].tolist(), strict=True))
        raise ClosureLost(
            f"the loops do not follow the joints to {dict(targets)}: the way ends at {reached}"
        )
    return end


def lead_joints(
    robot: ConstrainedTree, q: Configuration, columns: Indices, change: Array
) -> tuple[Configuration, bool]:
    """Change single coordinates of a closed configuration; returns the end, and if it is there."""
    from regularize.loops.continuation import Continuation, drive  # where joints are led

    constraints = RobotConstraints(robot, reference=q)
    continuation = Continuation(constraints, robot.tolerances)
    path = drive(continuation, np.zeros((1, robot.nv)), columns.tolist(), change[None])
    return constraints.configuration(path.q[0]), bool(path.reached[0])
