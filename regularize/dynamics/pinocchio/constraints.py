r"""The rows of a Pinocchio model as a constraint set, and joints that are led to values.

A short way that is clear of singularities is one step along the tangent, and back by the compiled
projection: taken where equations of the dependent velocities :math:`D` differ between its ends by
:math:`\lVert D_0^{-1} D_1 - 1 \rVert_\infty \le 1/2` and the projection goes back by a part of the
step, which is no proof that the branch is the same. All else is followed by continuation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.dynamics.pinocchio.many_states import over_states
from regularize.dynamics.pinocchio.solvers import ConstrainedTree
from regularize.errors import ClosureLost, ModelError, NotClosed, NotFinite
from regularize.lie.arrays import Array, Configuration, Indices
from regularize.loops.projection import Convergence, project
from regularize.tolerances import EXACT, NEGLIGIBLE, ROUNDING
from regularize.validation import NAMES, NUMBER, STATE, named, validated

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
    """The rows of a robot on its configurations, or on tangent steps from a reference.

    ``combined`` are combinations that stand for all rows.
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
        """Return the model's configuration for a vector x of this constraint set."""
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
        """Return a function of the rows, or of combinations of them, at x; NaN unless finite."""
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
    """Return the configurations with closed loops that Newton steps reach, joints being held."""
    held = np.zeros(robot.nv, dtype=bool)
    held[robot.velocity_indices(hold)] = True
    if robot.kernel is not None:
        closed = robot.kernel.project(q, held, STEPS)
        if closed is not None:
            return np.asarray(closed)
    if np.ndim(q) > 1:
        raise ModelError("the loops of several configurations are closed one by one")
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
    """Velocities of leading joints, and the velocities and rows of loops that follow them."""

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
    """Move single coordinates of a closed configuration; return the end, and if it is reached."""
    from regularize.loops.continuation import Continuation, drive  # where joints are led

    constraints = RobotConstraints(robot, reference=q)
    continuation = Continuation(constraints, robot.tolerances)
    path = drive(continuation, np.zeros((1, robot.nv)), columns.tolist(), change[None])
    return constraints.configuration(path.q[0]), bool(path.reached[0])


class ClosingTree(ConstrainedTree):
    """A tree whose loops can be closed, and whose joints can be led to values."""

    @over_states(at_once=True)
    @validated(hold=NAMES)
    def project(self, q: Array, hold: Sequence[str] = ()) -> Array:
        """The configuration with closed loops that Newton steps reach from q, shape (nq,).

        The joints named in ``hold`` keep their coordinates.

        Raises:
            NotClosed: The steps do not converge; the loop that is farthest from closed is named.
        """
        return close_loops(self, q if np.ndim(q) > 1 else self._checked(q=q)[0], hold=hold)

    @over_states()
    @validated(q=STATE, targets=named(NUMBER))
    def follow(self, q: Array, targets: Mapping[str, float]) -> Array:
        """The configuration that is reached when some joints move to given values, shape (nq,).

        All other joints follow from the loops, on the branch of the last configuration: steps that
        may have left it are halved. Joints that the given ones do not determine move as little as
        they can. Targets are coordinates of joints by their names, rad and m.

        Raises:
            ClosureLost: The loops cannot be closed there, or the way there is singular.
            ModelError: A joint's coordinates are no separate numbers.
        """
        return follow(self, q, targets)
