"""The rows of a Pinocchio model as a constraint set: projection and continuation work on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from regularize.errors import NotClosed, NotFinite
from regularize.lie.arrays import Array
from regularize.loops.projection import Convergence, project
from regularize.tolerances import EXACT, ROUNDING

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.solvers import ConstrainedTree

#: Closure error, in parts of what counts as closed, that is borne where rounding allows for
#: nothing better.
ROUGHLY = 1e3
#: Errors that are wanted and borne, the length of idle steps, how many, and singular pivots: the
#: same for the kernel.
STEPS = np.array([ROUNDING, ROUGHLY * EXACT.closed, EXACT.same, 40.0, EXACT.singular])


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

    def rates(self, x: Array) -> Array:
        """Return velocities by rates of the displacement, shape (nv, nv): one but for groups."""
        if self.reference is None or self._flat:
            return np.eye(self.robot.nv)
        return self._space.velocity_by_step(x)

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
        return np.asarray(rows @ np.array([self.rates(x) for x in state]))

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
