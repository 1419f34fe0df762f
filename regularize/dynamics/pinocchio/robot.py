"""Closed-loop mechanisms in Pinocchio, with independent loop constraints.

The spanning tree that is left when the cuts are open becomes a ``pinocchio.Model`` where one is
asked for; the kept rows of the cuts become constraints. The compiled step computes, and dense
algebra where it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from regularize.dynamics.pinocchio.constraints import close_loops
from regularize.dynamics.pinocchio.following import follow
from regularize.dynamics.pinocchio.generated import GeneratedCode, GeneratedTree, environments
from regularize.dynamics.pinocchio.many_states import batch, over_states, where_finite
from regularize.dynamics.pinocchio.multibody_reading import series_of
from regularize.dynamics.pinocchio.split import Split, require_mass
from regularize.dynamics.pinocchio.tree import TreeJoint
from regularize.errors import ModelError, NotFinite, UnsupportedExport
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import shortened
from regularize.tolerances import VANISHING
from regularize.validation import (
    ARRAY,
    FLAG,
    NAMES,
    NUMBER,
    POSITIVE,
    STATE,
    WHOLE,
    named,
    validated,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from regularize.dynamics.pinocchio.environments import Environments, SteppedStates
    from regularize.dynamics.pinocchio.forces import ConstraintForces


@dataclass(frozen=True, eq=False)
class Robot(GeneratedTree):
    """A Pinocchio model of a closed-loop mechanism with its reduced constraints.

    Attributes:
        q0: Assembled reference configuration, shape (nq,).
        joints: How the model's joints stand for the mechanism's.
        findings: What could not be carried over.
        places: For each body the model's joint that carries it, and its frame in the joint's.
        visual_model: ``pinocchio.GeometryModel`` of the shapes for show, where it was asked for.
        collision_model: The same of the shapes for collisions.
    """

    q0: Array
    joints: tuple[TreeJoint, ...]
    findings: tuple[Diagnostic, ...]
    _made: Callable[..., Robot] = field(repr=False)
    places: Mapping[str, tuple[int, Array]] = field(repr=False)
    visual_model: Any = field(default=None, repr=False)
    collision_model: Any = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Callable[..., Robot], tuple[Any, ...]]:
        """Copies are made anew, each with its own data."""
        code = self._code
        return (self._made, ()) if code is None else (_compiled_again, (self._made, code.lanes))

    def __repr__(self) -> str:
        return (
            f"<Robot {shortened(self.tree.name)!r}: nq {self.nq}, nv {self.nv}, "
            f"{self.rows} rows of rank {self.rank}, style {self.style!r}, {self.computed_by}>"
        )

    @cached_property
    def expanded(self) -> Robot:
        """The same robot in a model of which Pinocchio has derivatives.

        Its joints are in series whose axes stay, and coordinates are the same; where the model has
        none for mimic joints or for a universal joint that closes a loop, this one has.
        """
        plain = all(series_of(joint)[0].model is joint for joint in self.model.joints)
        complete = self._lifted is None and not len(self.model.mimicking_joints)
        return self if plain and complete else self._made(composite=False)

    @property
    def joint_map(self) -> Array:
        """Velocities of the model from rates of the mechanism's joints, shape (nv, n)."""
        return self._coordinates.velocities

    def forward_dynamics(
        self, q: Array, v: Array, tau: Array, *, executor: Executor | None = None, threads: int = 1
    ) -> Array:
        """Acceleration under the constraints, shape (nv,) or (N, nv).

        Args:
            q: Configuration with closed loops, shape (nq,) or (N, nq).
            v: Velocity that keeps them closed, shape (nv,) or (N, nv).
            tau: Joint forces and torques, N and N m, shape (nv,) or (N, nv).
            executor: Where a batch is computed: anything with the interface of
                ``concurrent.futures.Executor``; by default here.
            threads: How many threads of the compiled kernel compute a batch.

        In the styles ``rows``, ``anchors`` and ``slack`` the result is exact, without damping or
        iteration; in ``legacy`` it is what ``pinocchio.constraintDynamics`` settles at.
        ``NoInertia`` says which freedoms move no mass. Of many states, those that are not finite
        have an acceleration of NaN and touch no other.
        """
        step = self._step
        if step is not None and executor is None:
            try:
                found = step(q, v, tau, threads)
            except NotFinite:
                if max(np.ndim(q), np.ndim(v), np.ndim(tau)) < 2:
                    raise
                return where_finite(partial(self.forward_dynamics, threads=threads), q, v, tau)
            if found is not None:
                return found
        with self.massive_motion():
            if np.ndim(q) == np.ndim(v) == np.ndim(tau) == 1:
                return self._accelerate(*self._given(q=q, v=v, tau=tau))
            return batch(self.accelerations, (q, v, tau), executor)

    @validated(h=POSITIVE, passive=FLAG, drive=named(NUMBER | ARRAY), threads=WHOLE)
    def step(
        self,
        q: Array,
        v: Array,
        tau: Array,
        h: float,
        *,
        passive: bool = True,
        drive: Mapping[str, float | Array] | None = None,
        threads: int = 1,
    ) -> SteppedStates:
        r"""States after a step of fixed length: semi-implicit Euler, then onto the closed loops.

        .. math:: v' = v + h\, a(q, v, \tau), \qquad q' = q + h\, v'

        Then q' moves by the shortest steps to where the loops are closed, to 1e-9 of the size of
        the mechanism at most, and v' loses by the shortest change what would open them. A state
        that is not finite, or from which this leads to none, has ``ok`` False and touches no other.

        Args:
            q: Configurations with closed loops, shape (nq,) or (N, nq).
            v: Velocities that keep them closed, shape (nv,) or (N, nv).
            tau: Joint forces and torques, N and N m, shape (nv,) or (N, nv).
            h: Length of the step in s. Forces within joints are taken at its beginning, so that it
                has to be short beside inertia by damping.
            passive: Whether damping, springs and dry friction of the mechanism's joints act too.
            drive: Coordinates of joints after the step by the joints' names, rad and m, of each
                state one or (N,): whatever force that takes acts, and the rate is the mean one.
            threads: How many threads of the compiled kernel share the states.

        Raises:
            ModelError: A driven joint has not one coordinate, or drives follow from each other.
            UnsupportedExport: A driven joint is a cut, or there is no compiled kernel for drives.
        """
        found = self._environments(passive, tuple(drive or ()))
        return found.advance(q, v, tau, h, 1, threads, drive or {}, first=False).last()

    @validated(h=POSITIVE, steps=WHOLE, passive=FLAG, drive=named(NUMBER | ARRAY), threads=WHOLE)
    def rollout(
        self,
        q: Array,
        v: Array,
        tau: Array,
        h: float,
        steps: int,
        *,
        passive: bool = True,
        drive: Mapping[str, float | Array] | None = None,
        threads: int = 1,
        contacts: Any = None,
        limits: Any = None,
    ) -> SteppedStates:
        """States before the first of some steps and after every one, as ``step`` makes them.

        Here the compiled kernel goes through tables. Where there are a million of steps to make,
        ``robot.compiled().rollout(...)`` makes the same ones in code for this robot, four to nine
        times as quickly, and more than ten times as quickly as MuJoCo's rollout. It is not taken by
        itself, as the C compiler takes seconds the first time, and as last digits would depend on
        how many states are moved at once.

        Args:
            q: First configurations, shape (nq,) or (N, nq).
            v: First velocities, shape (nv,) or (N, nv).
            tau: Joint forces and torques, the same at every step, shape (nv,) or (N, nv), or of
                every step, shape (N, steps, nv); of a single robot (steps, nv).
            h: Length of a step in s.
            steps: How many are made.
            passive: As of ``step``.
            drive: Coordinates after every step, (N, steps), of a single robot (steps,), or the same
                after all, as of ``step``. The table kernel computes, of ``compiled`` robots too.
            threads: As of ``step``.
            contacts: Not known here, like ``limits``; see ``simulate``.
            limits: The same.

        Raises:
            ModelError: Contacts or limits are asked for.
        """
        if any(asked is not None and asked is not False for asked in (contacts, limits)):
            raise ModelError(
                "rollout knows no contacts= and no limits=: their cone problem is solved for one "
                "state at a time; simulate each state: rg.simulate(robot, q=..., v=..., "
                "duration=..., h=..., contacts=..., limits=True)"
            )
        found = self._environments(passive, tuple(drive or ()))
        return found.advance(q, v, tau, h, steps, threads, drive or {})

    def _environments(self, passive: bool, drives: tuple[str, ...] = ()) -> Environments:
        """What steps the robot; remembered."""
        known, key = self._known_environments, (passive, drives)
        if key not in known:
            known[key] = environments(self, self.joints, passive, drives, self._code)
        return known[key]

    def compiled(self, lanes: int | Literal["auto"] = "auto") -> Robot:
        """The same robot, its ``step``, ``rollout`` and ``forward_dynamics`` in generated code.

        The code is written for this robot alone, for several states side by side, and compiled by
        the C compiler of the machine, which takes seconds; what was compiled once is kept in the
        user's cache. A state at which its pivots are in doubt is computed by the table kernel, and
        so is a single state. Accelerations of many states are NaN where none is found. Where there
        is no such code for steps (dry friction, loops closed by joints of several kinds of
        freedoms), the table kernel makes them; ``computed_by`` says what computes.

        Args:
            lanes: How many states side by side: 1, 2, 4, 8 or 16, or as the processor has them.

        Raises:
            UnsupportedExport: There is no C compiler, rows depend on each other, or the code would
                take minutes to compile.
        """
        from regularize.dynamics.tape.libraries import native_lanes  # loaded where wanted

        if isinstance(lanes, str) and lanes == "auto":
            lanes = native_lanes()
        if not isinstance(lanes, Integral) or int(lanes) not in (1, 2, 4, 8, 16):
            raise ModelError(f"lanes are 1, 2, 4, 8, 16 or 'auto'; got {lanes!r:.60}")
        if self.kernel is None or not self.stepped:
            raise UnsupportedExport(
                "generated code needs the compiled kernel for states in doubt: install the package "
                "with compiled code, and choose the style 'rows', 'anchors' or 'slack'"
            )
        code = GeneratedCode.of(self, self.programs, int(lanes))
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.update(_code=code, _step=code.forward_dynamics, _known_environments={})
        return made

    @cached_property
    def _code(self) -> GeneratedCode | None:
        """The generated code that computes, if it does."""
        return None

    @property
    def computed_by(self) -> str:
        """What computes: ``compiled`` or generated code, or ``Python``."""
        code = self._code
        if code is None:
            return super().computed_by
        steps = "" if code.has_steps else ", steps compiled"
        return f"generated code of {code.lanes} lanes{steps}"

    @cached_property
    def _known_environments(self) -> dict[tuple[bool, tuple[str, ...]], Environments]:
        return {}

    @over_states()
    @validated(q=STATE, v=STATE, tau=STATE)
    def constraint_forces(self, q: Array, v: Array, tau: Array) -> ConstraintForces:
        """Forces at the cuts, in physical units; arguments as of ``forward_dynamics``.

        In the style ``rows`` a cut is a joint of the mechanism, and the wrench is the joint's; in
        the others it is what the two halves of a cut body exert on each other.
        """
        from regularize.dynamics.pinocchio.forces import constraint_forces  # loaded where wanted

        return constraint_forces(self, self.forward_dynamics, q, v, tau)

    @over_states()
    @validated(q=STATE)
    def split(self, q: Array) -> Split:
        """Constrained and free directions at a configuration."""
        return Split.of(self.jacobian(q), self.rank)

    @over_states()
    @validated(q=STATE, hold=NAMES)
    def project(self, q: Array, hold: Sequence[str] = ()) -> Array:
        """The configuration with closed loops that Newton steps reach from q, shape (nq,).

        Args:
            q: Configuration near closed loops, shape (nq,).
            hold: Names of joints that keep their coordinates.

        Raises:
            NotClosed: The steps do not converge; the loop that is farthest from closed is named.
        """
        return close_loops(self, q, hold=hold)

    @over_states(at_once=True)
    def project_velocity(self, q: Array, v: Array) -> Array:
        """The admissible velocity nearest to v in kinetic energy, shape (nv,).

        This is the velocity after the loops are closed by an inelastic impact.
        """
        found = self.kernel and self.kernel.project_velocity(q, v)
        if found is not None:
            return np.asarray(found)
        q, v = self._given(q=q, v=v)
        free, M = self.split(q).free, self.states.terms(q, v).M
        with self.massive_motion():
            require_mass(M, free)
        return np.asarray(free @ np.linalg.solve(free.T @ M @ free, free.T @ (M @ v)))

    @over_states()
    @validated(q=STATE, rates=named(NUMBER))
    def admissible_velocity(self, q: Array, rates: Mapping[str, float]) -> Array:
        """The velocity at which the named joints move at given rates, shape (nv,).

        Where they do not decide the motion, the smallest one; rates in rad/s and m/s.

        Raises:
            ModelError: The loops do not let the joints move like that.
        """
        index = self.velocity_indices(list(rates))
        free, wanted = self.split(q).free, np.array(list(rates.values()))
        v = free @ np.linalg.lstsq(free[index], wanted, rcond=VANISHING)[0]
        if np.max(np.abs(v[index] - wanted), initial=0.0) > 1e-8 * (1.0 + np.max(np.abs(wanted))):
            raise ModelError(f"the loops do not let the joints {list(rates)} move at these rates")
        return np.asarray(v)

    @over_states()
    @validated(q=STATE, targets=named(NUMBER))
    def follow(self, q: Array, targets: Mapping[str, float]) -> Array:
        """The configuration that is reached when some joints move to given values, shape (nq,).

        All other joints follow from the loops, on the branch of the last configuration: steps that
        may have left it are halved. Joints that the given ones do not determine move as little as
        they can.

        Args:
            q: The last configuration, with closed loops, shape (nq,).
            targets: Coordinates of joints by their names, rad and m.

        Raises:
            ClosureLost: The loops cannot be closed there, or the way there is singular.
            ModelError: A joint's coordinates are no separate numbers.
        """
        return follow(self, q, targets)

    @validated(coordinates=ARRAY)
    def configuration(self, coordinates: Array) -> Array:
        """Configuration of the model from the mechanism's joint coordinates (n,), shape (nq,)."""
        wanted = (self.joint_map.shape[1],)
        if np.shape(coordinates) != wanted:
            raise ModelError(f"coordinates have shape {np.shape(coordinates)}; pass {wanted}")
        return self._coordinates.configuration(coordinates)

    @over_states(at_once=True)
    def coordinates(self, q: Array) -> Array:
        """The mechanism's joint coordinates, those of the cuts included, shape (n,)."""
        many = isinstance(q, np.ndarray) and q.ndim == 2 and q.shape[1] == self.nq
        found = self.states.coordinates(self._coordinates, q if many else self._given(q=q)[0][None])
        return np.asarray(found if many else found[0])


def _compiled_again(made: Callable[..., Robot], lanes: int) -> Robot:
    """A copy of a robot with generated code."""
    return made().compiled(lanes)
