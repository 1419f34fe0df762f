"""What acts on a tree with its rows: actuators, springs, and terms that hold loops closed.

What computes them is loaded by the method that is called: a simulation needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.pinocchio.many_states import aligned, over_states
from regularize.dynamics.pinocchio.solvers import ConstrainedTree
from regularize.dynamics.pinocchio.split import Split, Stabilization
from regularize.dynamics.pinocchio.tree_states import PassiveForces
from regularize.errors import ModelError
from regularize.lie.arrays import Array
from regularize.tolerances import EXACT
from regularize.validation import (
    ARRAY,
    FLAG,
    NAMES,
    NUMBER,
    POSITIVE,
    STATE,
    TEXT,
    WHOLE,
    validated,
)

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.actuation import Actuation, ActuatorSplit
    from regularize.dynamics.pinocchio.derivatives import (
        AccelerationDerivatives,
        InverseDynamicsDerivatives,
    )
    from regularize.dynamics.pinocchio.forces import InverseDynamics


@dataclass(frozen=True, eq=False, repr=False)
class ActuatedTree(ConstrainedTree):
    """A tree with its rows, some of whose joints are actuated."""

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
        from regularize.dynamics.pinocchio.actuation import (  # where wanted
            Actuation,
            actuated_joints,
        )

        mechanism = self.mechanism
        actuated = actuated_joints(mechanism, actuated)
        joints = [name for name in actuated for _ in range(mechanism.joint(name).freedoms)]
        return Actuation.of(tuple(joints), self.velocity_indices(actuated), weights)

    @cached_property
    def _known_actuators(self) -> dict[tuple[str, ...] | None, Actuation]:
        return {}

    def _actuators(self, names: Sequence[str] | None, weights: ArrayLike | None) -> Actuation:
        """``actuation``, remembered where all count alike."""
        if weights is not None:
            return self.actuation(names, weights)
        key, known = None if names is None else tuple(names), self._known_actuators
        if key not in known:
            known[key] = self.actuation(names)
        return known[key]

    @cached_property
    def passive(self) -> PassiveForces:
        """Damping, friction and springs of the mechanism's joints."""
        return PassiveForces.of(self._coordinates, self.states)

    @over_states()
    @validated(q=STATE, v=STATE, slip=POSITIVE)
    def passive_forces(self, q: Array, v: Array, slip: float | None = None) -> Array:
        """Joint forces of damping, springs and dry friction, to be added to tau, shape (nv,).

        Joints that close loops are counted, though they have no coordinate in the model.

        Args:
            q: Configuration with closed loops, shape (nq,).
            v: Velocity that keeps them closed, shape (nv,).
            slip: Rate in rad/s and m/s below which dry friction falls off; by default 1e-3.
        """
        return self.passive.dissipative(q, v, slip) + self.passive.springs(q)

    def energy(self, q: Array, v: Array) -> Any:
        """Kinetic and gravitational energy, and what joint springs store, in J; of states (N,)."""
        kinetic, potential = self.energies(q, v)
        return kinetic + potential

    @over_states(at_once=True)
    def energies(self, q: Array, v: Array) -> tuple[Any, Any]:
        """Kinetic energy, and the potential energy of gravity and of joint springs, in J."""
        if np.ndim(q) == np.ndim(v) == 2:
            kinetic, gravity = self.states.energies(*aligned(q, v))
            return kinetic, gravity + np.array([self.passive.energy(x) for x in q])
        q, v = self._given(q=q, v=v)
        kinetic, gravity = self.states.energies(q[None], v[None])
        return float(kinetic[0]), float(gravity[0]) + self.passive.energy(q)

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

        given = self.passive_forces(q, v) if passive else np.zeros(self.nv)
        return inverse_dynamics(self, q, v, a, self._actuators(actuated, weights), given)

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
        from regularize.dynamics.pinocchio import derivatives as needed

        actuation, kernel, states = self._actuators(actuated, weights), self.kernel, self.states
        if kernel is not None:
            found = needed.fully_actuated(kernel, (q, v, a), actuation, self.nv, self.rank)
            if found is not None:
                return found
            compiled = needed.CompiledMotionForces(kernel, q, v, a)
            return needed.actuator_derivatives(compiled, self.rank, actuation)
        q, v, a = self._given(q=q, v=v, a=a)
        return states.actuator_derivatives(q, v, a, self.rank, actuation)

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
        takes a wrench on the frame to the actuator forces that balance it.

        Args:
            q: Configuration with closed loops, shape (nq,).
            frame: Name or index of a frame or a body of the model.
            actuated: Names of the actuated joints; by default those that the model marks.
            relative_to: Frame whose motion is subtracted, for robots that do not stand on the
                ground.

        Raises:
            ModelError: The actuators do not determine the motion of the frame.
        """
        from regularize.dynamics.pinocchio.actuation import frame_jacobian

        split = self._actuator_split(q, actuated)
        jacobian = frame_jacobian(self.model, self.data, q, frame, relative_to)
        self._check_determined(split, jacobian @ split.locked, f"frame {frame!r}")
        return np.asarray(jacobian @ split.motions())

    @over_states()
    @validated(q=STATE, actuated=NAMES)
    def actuator_motions(self, q: Array, actuated: Sequence[str] | None = None) -> Array:
        """Velocities of all joints per unit rate of each actuator, shape (nv, actuated).

        Arguments and errors as of ``actuator_jacobian``.
        """
        split = self._actuator_split(q, actuated)
        self._check_determined(split, split.locked, "every joint")
        return split.motions()

    def _actuator_split(self, q: Array, actuated: Sequence[str] | None) -> ActuatorSplit:
        """Free velocities at a configuration, by what the actuators see of them."""
        return self.actuation(actuated).split(Split.of(self.jacobian(q), self.rank).free)

    def _check_determined(self, split: ActuatorSplit, moves: Array, what: str) -> None:
        if np.max(np.abs(moves), initial=0.0) > EXACT.singular:
            size = np.max(np.abs(split.locked), axis=1)
            free = [
                self.tree.names[j]
                for j in range(1, self.tree.njoints)
                for i in [self.tree.idx_vs[j]]
                if np.max(size[i : i + self.tree.nvs[j]], initial=0.0) > EXACT.singular
            ]
            raise ModelError(
                f"the actuators do not determine how {what} moves: with all of them locked, "
                f"{', '.join(free)} can still move; count some of these as actuated"
            )

    @over_states()
    @validated(frequency=POSITIVE, damping=NUMBER)
    def stabilized_dynamics(
        self, q: Array, v: Array, tau: Array, *, frequency: float, damping: float = 1.0
    ) -> Array:
        r"""Acceleration with Baumgarte's terms, which let closure errors decay, shape (nv,).

        .. math:: J a + \gamma + 2 \zeta \omega J v + \omega^2 \phi(q) = 0

        Args:
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
            tau: Joint forces and torques, shape (nv,).
            frequency: :math:`\omega` in rad/s.
            damping: :math:`\zeta`; 1 lets errors decay without oscillation.
        """
        decay = Stabilization(self.residual(q), frequency, damping)
        (v,) = self._given(v=v)
        wanted = decay.of(self.jacobian(q) @ v)
        found = self.kernel and self.kernel.stabilized_dynamics(q, v, tau, wanted)
        if found is not None:
            return np.asarray(found)
        q, tau = self._given(q=q, tau=tau)
        with self.massive_motion():
            return self._dense_acceleration(q, v, tau, wanted)

    @over_states(at_once=True)
    @validated(frequency=POSITIVE, damping=NUMBER)
    def dynamics_derivatives(
        self, q: Array, v: Array, tau: Array, *, frequency: float = 0.0, damping: float = 1.0
    ) -> AccelerationDerivatives:
        """``forward_dynamics`` and its derivatives at a state with closed loops, always exact.

        Along the loops, for steps of q and v that keep them closed, they are the changes of the
        acceleration. Where rows depend on each other, as many as are independent count, the
        clearest ones at the state.

        Args:
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
            tau: Joint forces and torques, shape (nv,).
            frequency: Of Baumgarte's terms in rad/s; then it is ``stabilized_dynamics``.
            damping: Of Baumgarte's terms.
        """
        found = self._compiled_derivatives(q, v, tau, frequency, damping)
        if found is not None:
            return found
        q, v, tau = self._given(q=q, v=v, tau=tau)
        terms = Stabilization(self.residual(q), frequency, damping) if frequency else None
        with self.massive_motion():
            return self.states.acceleration_derivatives(q, v, tau, self.rank, terms)

    def _compiled_derivatives(
        self, q: Array, v: Array, tau: Array, frequency: float, damping: float
    ) -> AccelerationDerivatives | None:
        """``dynamics_derivatives`` by the compiled kernel, where it can."""
        kernel = self.kernel
        if kernel is None:
            return None
        if frequency:
            terms = Stabilization(self.residual(q), frequency, damping)
            factors = np.array([terms.rate, frequency**2])
            found = kernel.stabilized_derivatives(q, v, tau, terms.residual, factors)
        else:
            found = kernel.dynamics_derivatives(q, v, tau)
        return None if found is None else self._derivatives(found)

    @cached_property
    def _derivatives(self) -> Callable[[Array], AccelerationDerivatives]:
        """What makes derivatives of the kernel's numbers; looked up once, for it is quick."""
        from regularize.dynamics.pinocchio.derivatives import AccelerationDerivatives

        return AccelerationDerivatives.of
