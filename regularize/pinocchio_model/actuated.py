"""What actuators do to a tree with its rows: inverse dynamics, derivatives, Jacobians.

What computes them is loaded by the method that is called: a simulation needs none of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.arguments import checked, checked_but_states
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.screw import Array
from regularize.manifold.tolerances import Tolerances
from regularize.pinocchio_model.solvers import ConstrainedTree
from regularize.pinocchio_model.stabilization import Stabilization
from regularize.reduction.reduce import Reduction

if TYPE_CHECKING:
    from regularize.pinocchio_model.actuation import Actuation, ActuatorSplit
    from regularize.pinocchio_model.derivatives import AccelerationDerivatives
    from regularize.pinocchio_model.forces import InverseDynamics
    from regularize.pinocchio_model.inverse_derivatives import InverseDynamicsDerivatives
    from regularize.pinocchio_model.lifting import Lift
    from regularize.pinocchio_model.world_rows import WorldRows


@dataclass(frozen=True, eq=False, repr=False)
class ActuatedTree(ConstrainedTree, ABC):
    """A tree with its rows, some of whose joints are actuated.

    Attributes:
        reduction: What it was made from.
    """

    reduction: Reduction

    @property
    def tolerances(self) -> Tolerances:
        """What counts as closed, and which singular values of the rows are noise."""
        return self.reduction.tolerances

    @property
    @abstractmethod
    def expanded(self) -> ActuatedTree:
        """The same in a model of which Pinocchio has derivatives."""

    @abstractmethod
    def lift(self, q: Array, v: Array) -> Lift | None:
        """The state in ``expanded`` where that has more coordinates, else None."""

    @abstractmethod
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

    @abstractmethod
    def massive_motion(self) -> AbstractContextManager[None]:
        """``NoInertia`` with names in place of ``MasslessMotion``."""

    @abstractmethod
    def residual(self, q: Array, data: Any = None) -> Array:
        """Errors of the rows, zero where the loops are closed, shape (m,)."""

    @abstractmethod
    def passive_forces(self, q: Array, v: Array, slip: float = 1e-3) -> Array:
        """Joint forces of damping, springs and dry friction, to be added to tau, shape (nv,)."""

    @abstractmethod
    def velocity_indices(self, joints: Sequence[str]) -> NDArray[np.intp]:
        """Indices in v of all freedoms of the named joints, in the order of the names."""

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

    @checked
    def position_index(self, velocity: int) -> int:
        """Index in q of the coordinate whose rate is an entry of v.

        Raises:
            ModelError: The joint's coordinates are no separate numbers.
        """
        model = self.tree
        j = self._joint_of(velocity)
        if model.nqs[j] != model.nvs[j]:
            raise ModelError(
                f"the motion of {model.names[j]!r} cannot be prescribed: the joint's coordinates "
                "are no separate numbers; model it by hinges in series"
            )
        return int(model.idx_qs[j] + velocity - model.idx_vs[j])

    @checked_but_states
    def counted(self, velocity: int) -> bool:
        """Whether an entry of v is the rate of a coordinate of its own."""
        j = self._joint_of(velocity)
        return bool(self.tree.nqs[j] == self.tree.nvs[j])

    def _joint_of(self, velocity: int) -> int:
        """Index of the joint that an entry of v belongs to."""
        ends = np.add(self.tree.idx_vs, self.tree.nvs)
        return 1 + int(np.flatnonzero(velocity < ends[1:])[0])

    @property
    def rows(self) -> int:
        """Number of rows, couplings included."""
        return len(self.constraints)

    @cached_property
    def world_rows(self) -> WorldRows:
        """The rows in the form that has derivatives."""
        from regularize.pinocchio_model.world_rows import WorldRows

        return WorldRows(self.tree, self.constraints.closures, self.constraints.coupling)

    @checked
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
        from regularize.pinocchio_model.forces import inverse_dynamics

        given = self.passive_forces(q, v) if passive else np.zeros(self.nv)
        return inverse_dynamics(self, q, v, a, self._actuators(actuated, weights), given)

    @checked_but_states
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
        from regularize.pinocchio_model import inverse_derivatives as needed

        if self.kernel is not None:
            actuation = self._actuators(actuated, weights)
            found = needed.fully_actuated(self, q, v, a, actuation)
            if found is not None:
                return found
            return needed.inverse_dynamics_derivatives(
                needed.CompiledMotionForces(self, q, v, a), actuation
            )
        q, v, a = self._given(q=q, v=v, a=a)
        tree, lift = self.expanded, self.lift(q, v)
        actuation = tree.actuation(actuated, weights)
        if lift is not None:
            from regularize.pinocchio_model.lifting import lifted_inverse_derivatives

            return lifted_inverse_derivatives(lift, a, actuation)
        motion = needed.MotionForces(tree, tree.world_rows, q, v, a)
        return needed.inverse_dynamics_derivatives(motion, actuation)

    @checked
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
        from regularize.pinocchio_model.actuation import actuator_split, frame_jacobian

        split = actuator_split(self, q, self.actuation(actuated))
        jacobian = frame_jacobian(self, q, frame, relative_to)
        self._check_determined(split, jacobian @ split.locked, f"frame {frame!r}")
        return np.asarray(jacobian @ split.motions())

    @checked
    def actuator_motions(self, q: Array, actuated: Sequence[str] | None = None) -> Array:
        """Velocities of all joints per unit rate of each actuator, shape (nv, actuated).

        Arguments and errors as of ``actuator_jacobian``.
        """
        from regularize.pinocchio_model.actuation import actuator_split

        split = actuator_split(self, q, self.actuation(actuated))
        self._check_determined(split, split.locked, "every joint")
        return split.motions()

    def _check_determined(self, split: ActuatorSplit, moves: Array, what: str) -> None:
        if np.max(np.abs(moves), initial=0.0) > 1e-7:
            size = np.max(np.abs(split.locked), axis=1)
            free = [
                self.tree.names[j]
                for j in range(1, self.tree.njoints)
                for i in [self.tree.idx_vs[j]]
                if np.max(size[i : i + self.tree.nvs[j]], initial=0.0) > 1e-7
            ]
            raise ModelError(
                f"the actuators do not determine how {what} moves: with all of them locked, "
                f"{', '.join(free)} can still move; count some of these as actuated"
            )

    @checked_but_states
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
        from regularize.pinocchio_model.derivatives import dynamics_derivatives

        q, v, tau = self._given(q=q, v=v, tau=tau)
        tree, lift = self.expanded, self.lift(q, v)
        errors = tree.residual(q if lift is None else lift.q) if frequency else None
        terms = None if errors is None else Stabilization(errors, frequency, damping)
        with self.massive_motion():
            if lift is not None:
                from regularize.pinocchio_model.lifting import lifted_derivatives

                return lifted_derivatives(lift, tau, terms)
            return dynamics_derivatives(tree, tree.world_rows, q, v, tau, terms)

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
        from regularize.pinocchio_model.derivatives import AccelerationDerivatives

        return AccelerationDerivatives.of

    @checked
    def to_c(self, path: str | Path) -> Path:
        """Write C99 source for a controller, and a header beside it.

        It stands on its own: tables of this robot and the code that this package has compiled, with
        ``NAME_forward_dynamics(q, v, tau, a)`` and more, NAME being that of the file. Forces within
        the joints (``passive_forces``) are to be added to tau.

        Raises:
            UnsupportedExport: The file does not end in ``.c``, its name is no C identifier, or a
                joint or a row has a form that the code does not know.
        """
        if self.tables is None or self.style == "legacy":
            raise UnsupportedExport(
                "C source knows neither the style 'legacy' nor a universal joint that closes a "
                "loop of the caller's model; choose 'rows', or write the joint as two hinges"
            )
        from regularize.kernel.c_source import write_c

        model = self.tree
        joints = [
            f"{model.names[j]}: {model.idx_vs[j]}"
            + (f" to {model.idx_vs[j] + model.nvs[j] - 1}" if model.nvs[j] > 1 else "")
            for j in range(1, model.njoints)
            if model.nvs[j]
        ]
        return write_c(self.tables, Path(path), f"Dynamics of {model.name}.", joints)
