"""Closed-loop mechanisms as robots: a spanning tree with independent constraints of its loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.pinocchio.environments import Environments
from regularize.dynamics.pinocchio.generated import GeneratedTree
from regularize.dynamics.pinocchio.many_states import batch, over_states, where_finite
from regularize.dynamics.pinocchio.multibody_reading import series_of
from regularize.dynamics.pinocchio.spanning_tree import TreeJoint
from regularize.dynamics.pinocchio.tree_states import Split, Stabilization
from regularize.errors import ModelError, NotFinite, UnsupportedExport
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import shortened
from regularize.validation import (
    ARRAY,
    FLAG,
    NAMES,
    NUMBER,
    POSITIVE,
    STATE,
    TEXT,
    WHOLE,
    named,
    validate,
    validated,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from regularize.dynamics.pinocchio.environments import SteppedStates
    from regularize.dynamics.pinocchio.forces import (
        AccelerationDerivatives,
        Actuation,
        ActuatorSplit,
        ConstraintForces,
        InverseDynamics,
        InverseDynamicsDerivatives,
    )

DRIVES = named(NUMBER | ARRAY)  #: coordinates of driven joints by their names
_ONE = 1  #: the usual number of threads, compared by identity


@dataclass(frozen=True, eq=False)
class Robot(GeneratedTree):
    """A Pinocchio model of a closed-loop mechanism with its reduced constraints.

    Of all methods q is a configuration with closed loops, shape (nq,), v a velocity and a an
    acceleration that keep them closed, and tau joint forces and torques in N and N m, shape (nv,);
    of many states (N, nq) and (N, nv), and results have a leading axis then, too.

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
    #: What was made for earlier calls, by their arguments.
    _steppers: dict[tuple[bool, tuple[str, ...], bool], Environments] = field(
        default_factory=dict, init=False, repr=False
    )
    _known_actuators: dict[tuple[str, ...] | None, Actuation] = field(
        default_factory=dict, init=False, repr=False
    )

    def __reduce__(self) -> tuple[Callable[..., Robot], tuple[Any, ...]]:
        """Copies are made anew, each with its own data."""
        lanes = self._lanes
        return (self._made, ()) if lanes is None else (_compiled_again, (self._made, lanes))

    def __repr__(self) -> str:
        return (
            f"<Robot {shortened(self.tree.name)!r}: nq {self.nq}, nv {self.nv}, "
            f"{self.rows} rows of rank {self.rank}, style {self.style!r}, {self.computed_by}>"
        )

    @cached_property
    def expanded(self) -> Robot:
        """The same robot in a model of which Pinocchio has derivatives.

        Its joints are in series whose axes stay, and coordinates are the same; mimic joints, which
        have none in the model, have some here.
        """
        plain = all(series_of(joint)[0].model is joint for joint in self.model.joints)
        mimics = len(self.model.mimicking_joints)
        return self if plain and not mimics else self._made(composite=False)

    def forward_dynamics(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        executor: Executor | None = None,
        threads: int = 1,
        compile: bool = True,
    ) -> Array:
        """Acceleration under the constraints, shape (nv,) or (N, nv).

        Args:
            q: Configuration with closed loops, shape (nq,) or (N, nq).
            v: Velocity that keeps them closed, shape (nv,) or (N, nv).
            tau: Joint forces and torques, N and N m, shape (nv,) or (N, nv). Springs, damping and
                dry friction of the model do not act here by themselves: ``simulate`` adds them,
                and ``tau + robot.passive_forces(q, v)`` does.
            executor: Where a batch is computed: anything with the interface of
                ``concurrent.futures.Executor``; by default here.
            threads: How many threads of the compiled kernel compute a batch.
            compile: Whether code for this robot computes 64 and more states, and single ones after
                the hundredth call, where llvmlite is installed (the extra ``jit``): compiled in a
                second at most, and kept for later processes. Else tables do.

        In the styles ``rows``, ``anchors`` and ``slack`` the result is exact, without damping or
        iteration; in ``legacy`` it is what ``pinocchio.constraintDynamics`` settles at.
        ``NoInertia`` says which freedoms move no mass. Of many states, those that are not finite
        have an acceleration of NaN and touch no other.
        """
        step = self._step
        if threads is not _ONE or compile is not True:
            for name, kind, value in (("threads", WHOLE, threads), ("compile", FLAG, compile)):
                validate("Robot.forward_dynamics", name, kind, value)
            if step is not None and not compile:
                step = self._table_kernel.forward_dynamics
        if step is not None and executor is None:
            try:
                accelerations = step(q, v, tau) if threads is _ONE else step(q, v, tau, threads)
                if accelerations is not None:
                    return accelerations
            except NotFinite:
                if max(np.ndim(q), np.ndim(v), np.ndim(tau)) < 2:
                    raise
                again = partial(self.forward_dynamics, threads=threads, compile=compile)
                return where_finite(again, q, v, tau)
        with self.massive_motion():
            if np.ndim(q) == np.ndim(v) == np.ndim(tau) == 1:
                return self._accelerate(*self._checked(q=q, v=v, tau=tau))
            return batch(self.accelerations, (q, v, tau), executor)

    @validated(h=POSITIVE, passive=FLAG, drive=DRIVES, threads=WHOLE, compile=FLAG)
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
        compile: bool = True,
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
            compile: As of ``forward_dynamics``. Where friction acts, a joint is driven, or one of
                several kinds of freedoms closes a loop, tables make the steps.

        Raises:
            ModelError: A driven joint has not one coordinate, or drives follow from each other.
            UnsupportedExport: A driven joint is a cut, or there is no compiled kernel for drives.
        """
        stepper = self._environments(passive, tuple(drive or ()), compile)
        return stepper.advance(q, v, tau, h, 1, threads, drive or {}).last()

    @validated(h=POSITIVE, steps=WHOLE, passive=FLAG, drive=DRIVES, threads=WHOLE, compile=FLAG)
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
        compile: bool = True,
        contacts: Any = None,
        limits: Any = None,
    ) -> SteppedStates:
        """States before the first of some steps and after every one, as ``step`` makes them.

        Args:
            q: First configurations.
            v: First velocities.
            tau: Joint forces and torques, the same at every step, or of every step, shape
                (N, steps, nv); of a single robot (steps, nv).
            h: Length of a step in s.
            steps: How many are made.
            passive: As of ``step``.
            drive: Coordinates after every step, (N, steps), of a single robot (steps,), or the same
                after all, as of ``step``.
            threads: As of ``step``.
            compile: As of ``step``.
            contacts: Not known here, like ``limits``; see ``simulate``.
            limits: The same.

        Raises:
            ModelError: Contacts or limits are asked for.
        """
        if any(asked is not None and asked is not False for asked in (contacts, limits)):
            raise ModelError(
                "rollout knows no contacts= and no limits=, which take one state at a time: "
                "rg.simulate(robot, q=..., v=..., duration=..., h=..., contacts=..., limits=True)"
            )
        stepper = self._environments(passive, tuple(drive or ()), compile)
        return stepper.advance(q, v, tau, h, steps, threads, drive or {})

    def _environments(
        self, passive: bool, drives: tuple[str, ...] = (), compile: bool = True
    ) -> Environments:
        """Return the stepper of many copies of the robot, cached by its options."""
        key = passive, drives, compile
        if key not in self._steppers:
            coder = self._coder if compile and self.stepped else None
            self._steppers[key] = Environments(self, self.joints, passive, drives, coder)
        return self._steppers[key]

    def compiled(self, lanes: int | Literal["auto"] = "auto") -> Robot:
        """The same robot, whose steps, accelerations and their derivatives are code at once.

        Of others they become code where that pays. It is written for this robot alone, for several
        states side by side, and compiled in this process by llvmlite (the extra ``jit``): a second
        for 10,000 operations, and kept for later processes. Beyond 30,000 operations code is about
        as quick as tables. A state at which its pivots are in doubt is computed by tables. Where
        there is no such code for steps (see ``step``), these make them.

        Args:
            lanes: How many states side by side: 1, 2, 4, 8 or 16, or as the processor has them.

        Raises:
            UnsupportedExport: There is no llvmlite, rows depend on each other, or the code would be
                too long.
        """
        from regularize.dynamics.tape.jit import native_lanes  # loaded where wanted

        lanes = native_lanes() if isinstance(lanes, str) and lanes == "auto" else lanes
        if not isinstance(lanes, Integral) or int(lanes) not in (1, 2, 4, 8, 16):
            raise ModelError(f"lanes are 1, 2, 4, 8, 16 or 'auto'; got {lanes!r:.60}")
        if self.kernel is None or not self.stepped:
            raise UnsupportedExport(
                "generated code needs the compiled kernel for states in doubt: install the package "
                "with compiled code, and choose the style 'rows', 'anchors' or 'slack'"
            )
        robot = replace(self, _lanes=int(lanes))
        _ = robot.kernel  # raises where there is no code
        return robot

    @property
    def computed_by(self) -> str:
        """What computes: ``llvm``, code of this robot alone; ``compiled`` tables; or ``Python``."""
        coded = bool(self._coder and self.kernel and self.kernel.coded())
        coded = coded or any(stepper.coded for stepper in self._steppers.values())
        return "llvm" if coded else super().computed_by

    @over_states()
    @validated(q=STATE, v=STATE, tau=STATE)
    def constraint_forces(self, q: Array, v: Array, tau: Array) -> ConstraintForces:
        """Forces at the cuts, in physical units; arguments as of ``forward_dynamics``.

        In the style ``rows`` a cut is a joint of the mechanism, and the wrench is the joint's; in
        the others it is what the two halves of a cut body exert on each other.
        """
        from regularize.dynamics.pinocchio.forces import constraint_forces  # loaded where wanted

        return constraint_forces(self, self.forward_dynamics, q, v, tau)

    @validated(actuated=NAMES, weights=ARRAY)
    def actuation(
        self, actuated: Sequence[str] | None = None, weights: ArrayLike | None = None
    ) -> Actuation:
        """Actuators by the names of their joints; by default those that the model marks.

        Args:
            actuated: Names of the actuated joints.
            weights: Cost of the square of every actuator's force, shape (actuated,).

        Raises:
            ModelError: The model marks no joint as actuated and none is given.
            UnsupportedExport: An actuated joint is a cut; choose other cuts.
        """
        from regularize.dynamics.pinocchio.forces import Actuation

        return Actuation.of(self, actuated, weights)

    def _actuators(self, names: Sequence[str] | None, weights: ArrayLike | None) -> Actuation:
        """Return ``actuation``, remembered where all forces count alike."""
        if weights is not None:
            return self.actuation(names, weights)
        key = None if names is None else tuple(names)
        if key not in self._known_actuators:
            self._known_actuators[key] = self.actuation(names)
        return self._known_actuators[key]

    @over_states()
    @validated(q=STATE, v=STATE, a=STATE, actuated=NAMES, weights=ARRAY, passive=FLAG)
    def inverse_dynamics(
        self,
        q: Array,
        v: Array,
        a: Array,
        actuated: Sequence[str] | None = None,
        *,
        weights: ArrayLike | None = None,
        passive: bool = False,
    ) -> InverseDynamics:
        """Forces of the actuated joints that produce an acceleration.

        With more actuators than freedoms the smallest forces are taken; with fewer, those that
        leave least unmet.

        Args:
            q: Configuration with closed loops, shape (nq,).
            v: Velocity that keeps them closed, shape (nv,).
            a: Acceleration that keeps them closed, shape (nv,).
            actuated: Names of the actuated joints; by default those that the model marks.
            weights: Cost of the square of every actuator's force, shape (actuated,), where there
                is a choice; by default all count alike.
            passive: Whether the actuators also overcome ``passive_forces``: damping, springs and
                dry friction of all joints, those that close loops included.

        Raises:
            ModelError: The model marks no joint as actuated and none is given.
            UnsupportedExport: An actuated joint is a cut; choose other cuts.
        """
        from regularize.dynamics.pinocchio.forces import inverse_dynamics

        within = self.passive_forces(q, v) if passive else np.zeros(self.nv)
        return inverse_dynamics(self, q, v, a, self._actuators(actuated, weights), within)

    @over_states()
    @validated(actuated=NAMES, weights=ARRAY)
    def inverse_dynamics_derivatives(
        self,
        q: Array,
        v: Array,
        a: Array,
        actuated: Sequence[str] | None = None,
        *,
        weights: ArrayLike | None = None,
    ) -> InverseDynamicsDerivatives:
        """``inverse_dynamics`` and its derivatives; arguments as there."""
        from regularize.dynamics.pinocchio import forces

        actuation = self._actuators(actuated, weights)
        return forces.inverse_dynamics_derivatives(self, q, v, a, actuation)

    @over_states()
    @validated(q=STATE, frame=TEXT | WHOLE, actuated=NAMES, relative_to=TEXT | WHOLE)
    def actuator_jacobian(
        self,
        q: Array,
        frame: str | int,
        actuated: Sequence[str] | None = None,
        *,
        relative_to: str | int | None = None,
    ) -> Array:
        """Twist of a frame per unit rate of each actuator, the loops closed, shape (6, actuated).

        The twist is about the frame's own origin, in ground axes, linear part first. Its transpose
        takes a wrench on the frame to the actuator forces that balance it. Frames are given by name
        or index; the motion of ``relative_to`` is subtracted, for robots that do not stand on the
        ground. Actuated joints are by default those that the model marks.

        Raises:
            ModelError: The actuators do not determine the motion of the frame.
        """
        from regularize.dynamics.pinocchio.forces import frame_jacobian

        split = self._actuator_split(q, actuated)
        jacobian = frame_jacobian(self.model, self.data, q, frame, relative_to)
        split.require_determined(self.tree, jacobian @ split.locked, f"frame {frame!r}")
        return np.asarray(jacobian @ split.motions())

    @over_states()
    @validated(q=STATE, actuated=NAMES)
    def actuator_motions(self, q: Array, actuated: Sequence[str] | None = None) -> Array:
        """Velocities of all joints per unit rate of each actuator, shape (nv, actuated).

        Arguments and errors as of ``actuator_jacobian``.
        """
        split = self._actuator_split(q, actuated)
        split.require_determined(self.tree, split.locked, "every joint")
        return split.motions()

    def _actuator_split(self, q: Array, actuated: Sequence[str] | None) -> ActuatorSplit:
        """Return the velocities that the loops allow, split by whether they move an actuator."""
        return self.actuation(actuated).split(Split.of(self.jacobian(q), self.rank).free)

    @over_states(at_once=True)
    @validated(frequency=POSITIVE, damping=NUMBER)
    def dynamics_derivatives(
        self, q: Array, v: Array, tau: Array, *, frequency: float = 0.0, damping: float = 1.0
    ) -> AccelerationDerivatives:
        """``forward_dynamics`` and its derivatives at a state with closed loops, always exact.

        Along the loops, for steps of q and v that keep them closed, they are the changes of the
        acceleration. Where rows depend on each other, as many as are independent count, the
        clearest ones at the state. With a frequency it is ``stabilized_dynamics``.
        """
        from regularize.dynamics.pinocchio import forces  # loaded where wanted

        terms = Stabilization(frequency, damping) if frequency else None
        return forces.acceleration_derivatives(self, q, v, tau, terms)


def _compiled_again(made: Callable[..., Robot], lanes: int) -> Robot:
    """Return a copy of a robot that had generated code, compiled again."""
    return made().compiled(lanes)
