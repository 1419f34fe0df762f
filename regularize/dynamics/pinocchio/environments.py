"""Steps of many states of one robot, some of whose joints may be driven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from regularize.dynamics.pinocchio.tree_states import Split
from regularize.dynamics.step.compiled import compiled
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.lie.arrays import Array, Mask
from regularize.tolerances import EXACT
from regularize.validation import numbers

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.generated import Coder
    from regularize.dynamics.pinocchio.solvers import ConstrainedTree
    from regularize.dynamics.pinocchio.spanning_tree import TreeJoint

#: Errors of the rows, by the size of the mechanism, that end the way onto the loops, and that a
#: step may leave.
CLOSED, BORNE = 1e-13, 1e-9
#: States of a call and numbers of calls from which code for a robot pays, as in ``module.c``, and
#: steps of a call.
MANY, HUNDREDTH, LONG = 64, 100, 20_000
#: Lengths of ``WRENCH_NUMBERS`` in ``loads.c``.
_WRENCH = 21
#: Configurations (N, nq), velocities (N, nv), joint forces (N, 1 or steps, nv).
Inputs: TypeAlias = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class SteppedStates:
    """States after a step, or before the first and after every step.

    Attributes:
        q: Configurations with closed loops, shape (N, nq), of several steps (N, steps + 1, nq).
        v: Velocities that keep them closed, shape (N, nv) or (N, steps + 1, nv).
        ok: Whether the state is sound, shape (N,) or (N, steps + 1); where it is not, q and v are
            NaN, and remain so.
        residual: Largest error of the loops' rows, lengths by the size of the mechanism, shape (N,)
            or (N, steps + 1).

    Of a single robot the first axis is missing.
    """

    q: Array
    v: Array
    ok: Mask
    residual: Array

    def last(self) -> SteppedStates:
        """Return the states after the last step alone."""
        states: tuple[Any, ...] = self.q[..., -1, :], self.v[..., -1, :]
        arrays = (*states, self.ok[..., -1], self.residual[..., -1])
        return SteppedStates(*(np.array(x) for x in arrays))


@dataclass(frozen=True, eq=False, repr=False)
class Environments:
    """Steps of a robot, some of whose joints may be driven to coordinates."""

    robot: ConstrainedTree
    joints: Sequence[TreeJoint] = field(repr=False)
    passive: bool  #: whether damping, springs and dry friction of joints act
    drives: tuple[str, ...] = ()
    coder: Coder | None = None  #: what makes code of the steps, where some is wanted
    #: Calls so far, and whether code of one step and of several side by side was asked for.
    _calls: list[int] = field(default_factory=lambda: [0], init=False, repr=False)
    _asked: set[bool] = field(default_factory=set, init=False, repr=False)

    @cached_property
    def _kernel(self) -> Any:
        """The kernel with a row for every drive; raises where a joint cannot be driven."""
        robot = self.robot
        if not self.drives:
            return None if robot.kernel is None else compiled(robot.tables)
        indices = robot.velocity_indices(self.drives)
        for name in self.drives:
            freedoms = robot.mechanism.joint(name).freedoms
            if freedoms != 1:
                raise ModelError(f"joint {name!r} has {freedoms} freedoms; drive those with one")
        for index in indices:
            robot.position_index(int(index))
        reference = getattr(robot, "q0", robot.tree.space.neutral)
        free = Split.of(robot.jacobian(reference), robot.rank).free
        moves = np.linalg.svd(np.asarray(free[indices]), compute_uv=False)
        if len(moves) < len(indices) or moves[-1] <= EXACT.singular:
            raise ModelError(f"the motions of {', '.join(self.drives)} follow from each other")
        kernel = robot.driven_kernel(indices.tolist())
        if kernel is None or not robot.stepped:
            raise UnsupportedExport(
                "steps with drives need the compiled kernel and the style 'rows'"
            )
        return kernel

    @cached_property
    def _laws(self) -> tuple[Array, Array, Array] | None:
        """Laws of damping, friction and springs that the kernel reads; None where it cannot."""
        robot = self.robot
        if self._kernel is None or not robot.stepped:
            return None
        tree = robot.multibody[0]
        laws = np.zeros((7, robot.nv))
        closing = np.zeros((4, sum(loop.screws.shape[1] for loop in tree.loops)))
        joints = robot.passive.joints
        if self.passive and (joints.dissipates or joints.stores):
            of_joints = robot.passive.laws(self.joints)
            if of_joints is None:
                return None
            laws, closing = of_joints
        wrenches = np.zeros((len(tree.links) + 1) * _WRENCH)
        return laws.ravel(), np.ascontiguousarray(closing).ravel(), wrenches

    @cached_property
    def _options(self) -> Array:
        """Options of a step in the order of ``environments.c``, its length still 0."""
        laws, closing, _ = self._laws or (np.zeros(0),) * 3
        acts, slip = laws.any() or closing.any(), self.robot.passive.joints.slip
        n = len(self.drives)
        return np.array([0.0, slip, acts, closing.any(), CLOSED, BORNE, EXACT.singular, n])

    def advance(
        self, q: Any, v: Any, tau: Any, h: float, steps: int, threads: int, drive: Mapping[str, Any]
    ) -> SteppedStates:
        """Return states before the first step and after every one; see ``Robot.rollout``."""
        robot, single_state = self.robot, np.ndim(q) == np.ndim(v) == 1
        # Of a single robot, rows of joint forces are those of its steps.
        of_steps = single_state and np.ndim(tau) == 2 and steps > 1 and len(tau) == steps
        single = single_state and (np.ndim(tau) == 1 or of_steps)
        inputs = self._inputs(q, v, [tau] if of_steps else tau, steps)
        count = len(inputs[0])
        both = count, steps + 1
        states = np.empty((*both, robot.nq)), np.empty((*both, robot.nv))
        result = SteppedStates(*states, np.empty(both, dtype=np.bool_), np.zeros(both))
        result.q[:, 0], result.v[:, 0] = inputs[:2]
        result.ok[:, 0] = np.isfinite(inputs[0]).all(axis=1) & np.isfinite(inputs[1]).all(axis=1)
        self._move(inputs[2], result, h, threads, self._targets(drive, count, steps, single))
        if not single:
            return result
        return SteppedStates(result.q[0], result.v[0], result.ok[0], result.residual[0])

    def _inputs(self, q: Any, v: Any, tau: Any, steps: int) -> Inputs:
        """Return states (N, nq), (N, nv) and joint forces (N, 1 or steps, nv), checked."""
        robot = self.robot
        q, v, tau = (x if x.ndim > 1 else np.atleast_2d(x) for x in map(numbers, (q, v, tau)))
        tau = tau[:, None] if tau.ndim == 2 else tau
        lengths = [len(q), len(v), len(tau)]
        count = max(lengths) if min(lengths) else 0
        fits = q.shape[1:] == (robot.nq,) and v.shape[1:] == (robot.nv,) and tau.ndim == 3
        fits = fits and all(n in (1, count) for n in lengths)
        if not fits or tau.shape[1:] not in ((1, robot.nv), (steps, robot.nv)):
            raise ModelError(
                f"states are q (N, {robot.nq}), v (N, {robot.nv}) and tau (N, {robot.nv}), or of "
                f"every step tau (N, {steps}, {robot.nv}); got {q.shape}, {v.shape} and {tau.shape}"
            )
        inputs = [x if len(x) == count else np.repeat(x, count, axis=0) for x in (q, v, tau)]
        return inputs[0], inputs[1], inputs[2]

    def _targets(self, drive: Mapping[str, Any], count: int, steps: int, single: bool) -> Array:
        """Return coordinates of the drives after every step, shape (N, steps, drives)."""
        result = np.empty((count, steps, len(drive)))
        for k, (name, values) in enumerate(drive.items()):
            x = numbers(values)
            x = x[:, None] if x.ndim == 1 and not single else x
            try:
                result[:, :, k] = x
            except ValueError:
                raise ModelError(
                    f"coordinates of the drive {name!r} are a number, (N,) or of every step "
                    f"(N, steps); got shape {np.shape(values)}"
                ) from None
        return result

    def _move(
        self, tau: Array, states: SteppedStates, h: float, threads: int, targets: Array
    ) -> None:
        """Fill in the states after every step, under joint forces (N, 1 or steps, nv)."""
        laws = self._laws
        if laws is None:
            if self.drives:
                raise UnsupportedExport(
                    "steps with drives need forces in joints that the compiled kernel knows; pass "
                    "passive=False"
                )
            self._move_one_by_one(tau, states, h)
            return
        options, (count, steps, _) = self._options.copy(), targets.shape
        options[0] = h
        self._ask_for_code(count, steps, laws)
        records = states.q, states.v, states.residual
        self._kernel.rollout(*records, tau, options, targets, *laws, steps, threads)
        states.ok[:, 1:] = np.isfinite(states.residual[:, 1:])

    def _ask_for_code(self, count: int, steps: int, laws: tuple[Array, Array, Array]) -> None:
        """Let the kernel make steps of so many robots by code, once that pays."""
        if self.coder is None or self.drives or not count * steps:
            return
        self._calls[0] += 1
        pays = count >= MANY or count * steps >= LONG or self._calls[0] > HUNDREDTH
        many = count > 1
        if many not in self._asked and (pays or self.coder.eager):
            from regularize.dynamics.tape.robot_programs import joints_of  # loaded where wanted

            self._asked.add(many)
            with suppress(UnsupportedExport):
                shaped = laws[0].reshape(7, -1), laws[1].reshape(4, -1)
                joints = joints_of(*shaped, self.robot.multibody[0])
                code = self.coder.code("fixed_step", many, joints)
                self._kernel.use("fixed_step", code.address, code.lanes, code)

    @property
    def coded(self) -> bool:
        """Whether there is code of steps."""
        return bool(self._asked) and self._kernel.coded()

    def _move_one_by_one(self, tau: Array, states: SteppedStates, h: float) -> None:
        """Fill in the states after every step by dense algebra, one robot after the other."""
        for n, k in np.ndindex(len(tau), states.ok.shape[1] - 1):
            applied = tau[n, min(k, tau.shape[1] - 1)]
            ok = states.ok[n, k] and bool(np.isfinite(applied).all())
            after = self._step(states.q[n, k], states.v[n, k], applied, h) if ok else None
            state = after or (np.nan, np.nan, np.nan)
            states.q[n, k + 1], states.v[n, k + 1], states.residual[n, k + 1] = state
            states.ok[n, k + 1] = after is not None

    def _step(self, q: Array, v: Array, tau: Array, h: float) -> tuple[Array, Array, float] | None:
        """Return one robot's state and errors after a step by dense algebra, if there is one."""
        robot = self.robot
        if self.passive:
            tau = tau + robot.passive_forces(q, v)
        try:
            v = v + h * robot.accelerations(q[None], v[None], tau[None])[0]
            q = robot.tree.space.integrate(q, h * v)
            for _ in range(8):
                errors, rows = robot.residual(q), robot.jacobian(q)
                if np.max(np.abs(errors), initial=0.0) <= CLOSED:
                    break
                inverse = np.linalg.pinv(rows, rcond=EXACT.singular)
                q = robot.tree.space.integrate(q, -inverse @ errors)
            error = float(np.max(np.abs(errors), initial=0.0))
            v = v - np.linalg.pinv(rows, rcond=EXACT.singular) @ (rows @ v)
        except (RegularizeError, np.linalg.LinAlgError):
            return None
        sound = error <= BORNE and np.isfinite(q).all() and np.isfinite(v).all()
        return (q, v, error) if sound else None
