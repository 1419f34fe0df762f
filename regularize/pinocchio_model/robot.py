"""Closed-loop mechanisms in Pinocchio, with independent loop constraints.

The spanning tree that is left when the cuts are open becomes a ``pinocchio.Model``; the kept rows
of the cuts become constraints. Everything is computed by Pinocchio from the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.arguments import checked, checked_but_states
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import shortened
from regularize.pinocchio_model.actuated import ActuatedTree
from regularize.pinocchio_model.batches import batch
from regularize.pinocchio_model.body_rows import BodyRows
from regularize.pinocchio_model.constraints import close_loops, follow
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.joint_reading import series_of
from regularize.pinocchio_model.massless_motion import naming, require_mass
from regularize.pinocchio_model.passive_forces import PassiveForces
from regularize.pinocchio_model.split import Split
from regularize.pinocchio_model.split import mass_matrix as mass_matrix
from regularize.pinocchio_model.stabilization import Stabilization
from regularize.pinocchio_model.tree import TreeJoint

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from regularize.pinocchio_model.actuation import Actuation
    from regularize.pinocchio_model.forces import ConstraintForces
    from regularize.pinocchio_model.lifting import Lift


@dataclass(frozen=True, eq=False)
class Robot(ActuatedTree):
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
    _coordinates: ModelCoordinates = field(repr=False)
    _made: Callable[..., Robot] = field(repr=False)
    places: Mapping[str, tuple[int, Array]] = field(repr=False)
    visual_model: Any = field(default=None, repr=False)
    collision_model: Any = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Callable[..., Robot], tuple[()]]:
        """Copies are made anew, each with its own data."""
        return self._made, ()

    def __repr__(self) -> str:
        """The robot in one line."""
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
        if plain and not isinstance(self.constraints, BodyRows):
            return self
        return self._made(composite=False)

    @checked
    def lift(self, q: Array, v: Array) -> Lift | None:
        """The state in ``expanded`` where that has more coordinates, else None.

        Raises:
            UnsupportedExport: The model has planar joints, whose rates are not its velocities.
        """
        tree = self.expanded
        if not isinstance(self.constraints, BodyRows):
            return None
        from regularize.pinocchio_model.lifting import Lift  # few models lack coordinates

        maps = self._coordinates, tree._coordinates
        return Lift.of(tree, tree.world_rows, maps, self.coordinates(q), v)

    @property
    def joint_map(self) -> Array:
        """Velocities of the model from rates of the mechanism's joints, shape (nv, n)."""
        return self._coordinates.velocities

    def residual(self, q: Array, data: Any = None) -> Array:
        """Errors of the rows, zero where the loops are closed, shape (m,).

        Args:
            q: Configuration, shape (nq,).
            data: The caller's ``pinocchio.Data`` of the model to compute in; by default the robot's
                own, which every thread has for itself.
        """
        kernel = self.kernel
        if data is None and kernel is not None:
            found: Array | None = kernel.residual(q)
            if found is not None:
                return found
        (q,) = self._given(q=q)
        data = self._data_of(data)
        return self.constraints.residual(data, q, self._coordinates.coupled(q))

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
        ``NoInertia`` says which freedoms move no mass.
        """
        step = self._step
        if step is not None and executor is None:
            found = step(q, v, tau, threads)
            if found is not None:
                return found
        with self.massive_motion():
            if np.ndim(q) == np.ndim(v) == np.ndim(tau) == 1:
                return self._accelerate(*self._given(q=q, v=v, tau=tau))
            return batch(self.accelerations, (q, v, tau), executor)

    def massive_motion(self) -> AbstractContextManager[None]:
        """``NoInertia`` with names in place of ``MasslessMotion``."""
        return naming(self.reduction, self._coordinates)

    @checked_but_states
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
        terms = self.states.terms(q, v)
        if self.massive and self.rank == self.rows:
            return terms.acceleration(tau, wanted)
        parts = Split.of(terms.jacobian, self.rank)
        with self.massive_motion():
            return parts.response(terms.M, tau - terms.needed, -terms.bias - wanted)

    @checked
    def constraint_forces(self, q: Array, v: Array, tau: Array) -> ConstraintForces:
        """Forces at the cuts, in physical units; arguments as of ``forward_dynamics``.

        In the style ``rows`` a cut is a joint of the mechanism, and the wrench is the joint's; in
        the others it is what the two halves of a cut body exert on each other.
        """
        from regularize.pinocchio_model.forces import constraint_forces  # loaded where wanted

        return constraint_forces(self, q, v, self.forward_dynamics(q, v, tau), tau)

    @checked
    def actuation(
        self, actuated: Sequence[str] | None = None, weights: ArrayLike | None = None
    ) -> Actuation:
        """Actuators by the names of their joints; by default those that the model marks."""
        from regularize.pinocchio_model.actuation import Actuation, actuated_joints  # where wanted

        mechanism = self.reduction.mechanism
        actuated = actuated_joints(mechanism, actuated)
        joints = [name for name in actuated for _ in range(mechanism.joint(name).freedoms)]
        return Actuation.of(tuple(joints), self.velocity_indices(actuated), weights)

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and gravitational energy, and what joint springs store, in J."""
        kinetic, potential = self.energies(q, v)
        return kinetic + potential

    @checked
    def energies(self, q: Array, v: Array) -> tuple[float, float]:
        """Kinetic energy, and the potential energy of gravity and of joint springs, in J."""
        kinetic, gravity = self.states.energies(q[None], v[None])
        return float(kinetic[0]), float(gravity[0]) + self.passive.energy(q)

    @cached_property
    def passive(self) -> PassiveForces:
        """Damping, friction and springs of the mechanism's joints."""
        return PassiveForces.of(self._coordinates, self)

    @checked
    def passive_forces(self, q: Array, v: Array, slip: float | None = None) -> Array:
        """Joint forces of damping, springs and dry friction, to be added to tau, shape (nv,).

        Joints that close loops are counted, though they have no coordinate in the model.

        Args:
            q: Configuration with closed loops, shape (nq,).
            v: Velocity that keeps them closed, shape (nv,).
            slip: Rate in rad/s and m/s below which dry friction falls off; by default 1e-3.
        """
        return self.passive.dissipative(q, v, slip) + self.passive.springs(q)

    @checked
    def split(self, q: Array) -> Split:
        """Constrained and free directions at a configuration."""
        return Split.of(self.jacobian(q), self.rank)

    @checked
    def project(self, q: Array, hold: Sequence[str] = ()) -> Array:
        """The configuration with closed loops that Newton steps reach from q, shape (nq,).

        Args:
            q: Configuration near closed loops, shape (nq,).
            hold: Names of joints that keep their coordinates.

        Raises:
            NotClosed: The steps do not converge; the loop that is farthest from closed is named.
        """
        return close_loops(self, q, hold=hold)

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

    @checked
    def admissible_velocity(self, q: Array, rates: Mapping[str, float]) -> Array:
        """The velocity at which the named joints move at given rates, shape (nv,).

        Where they do not decide the motion, the smallest one; rates in rad/s and m/s.

        Raises:
            ModelError: The loops do not let the joints move like that.
        """
        index = self.velocity_indices(list(rates))
        free, wanted = self.split(q).free, np.array(list(rates.values()))
        v = free @ np.linalg.lstsq(free[index], wanted, rcond=1e-9)[0]
        if np.max(np.abs(v[index] - wanted), initial=0.0) > 1e-8 * (1.0 + np.max(np.abs(wanted))):
            raise ModelError(f"the loops do not let the joints {list(rates)} move at these rates")
        return np.asarray(v)

    @checked
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

    @checked
    def configuration(self, coordinates: Array) -> Array:
        """Configuration of the model from the mechanism's joint coordinates (n,), shape (nq,)."""
        wanted = (self.joint_map.shape[1],)
        if np.shape(coordinates) != wanted:
            raise ModelError(f"coordinates have shape {np.shape(coordinates)}; pass {wanted}")
        return self._coordinates.configuration(coordinates)

    @checked
    def coordinates(self, q: Array) -> Array:
        """The mechanism's joint coordinates, those of the cuts included, shape (n,)."""
        found: Array = self.states.coordinates(self._coordinates, q[None])[0]
        return found

    @checked
    def velocity_index(self, joint: str, freedom: int = 0) -> int:
        """Index in v, a and tau of a joint's freedom.

        Raises:
            UnsupportedExport: The joint is a cut, so the model has no coordinate for it.
        """
        return self._coordinates.velocity_index(joint, freedom)

    @checked
    def velocity_indices(self, joints: Sequence[str]) -> NDArray[np.intp]:
        """Indices in v of all freedoms of the named joints, in the order of the names."""
        mechanism = self.reduction.mechanism
        pairs = [(name, k) for name in joints for k in range(mechanism.joint(name).freedoms)]
        return np.array([self.velocity_index(name, k) for name, k in pairs], dtype=np.intp)
