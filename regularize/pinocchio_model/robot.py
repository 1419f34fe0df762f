"""Closed-loop mechanisms in Pinocchio, with independent loop constraints.

The spanning tree that is left when the cuts are open becomes a ``pinocchio.Model``; the kept rows
of the cuts become constraints. Everything is computed by Pinocchio from the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.screw import Array, read_only
from regularize.model.diagnostic import Diagnostic
from regularize.model.joint_motion import joint_position
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.derivatives import AccelerationDerivatives, dynamics_derivatives
from regularize.pinocchio_model.findings import left_over, massless_tips
from regularize.pinocchio_model.forces import (
    ConstraintForces,
    InverseDynamics,
    constraint_forces,
    inverse_dynamics,
)
from regularize.pinocchio_model.massless_motion import naming, require_mass
from regularize.pinocchio_model.rows import Closure, ConstraintRows
from regularize.pinocchio_model.solvers import (
    Acceleration,
    ConstrainedTree,
    acceleration_of,
    is_massive,
)
from regularize.pinocchio_model.split import Split
from regularize.pinocchio_model.split import mass_matrix as mass_matrix
from regularize.pinocchio_model.styles import (
    PROXIMAL,
    anchor_models,
    rigid_models,
    row_closures,
    weld_closures,
)
from regularize.pinocchio_model.tree import TreeBuilder, TreeJoint
from regularize.reduction.reduce import Reduction

STYLES = ("rows", "anchors", "slack", "legacy")


@dataclass(frozen=True, eq=False)
class Robot(ConstrainedTree):
    """A Pinocchio model of a closed-loop mechanism with its reduced constraints.

    Attributes:
        reduction: What it was made from.
        q0: Assembled reference configuration, shape (nq,).
        joints: How the model's joints stand for the mechanism's.
        findings: What could not be carried over.
    """

    reduction: Reduction
    q0: Array
    joints: tuple[TreeJoint, ...]
    findings: tuple[Diagnostic, ...]
    _coordinates: ModelCoordinates = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows, couplings included."""
        return len(self.constraints)

    @cached_property
    def _accelerate(self) -> Acceleration:
        return acceleration_of(self)

    @cached_property
    def expanded(self) -> Robot:
        """The same robot without composite joints; coordinates are the same."""
        if not any(joint.shortname() == "JointModelComposite" for joint in self.model.joints):
            return self
        return to_pinocchio(self.reduction, self.style, composite=False)

    def residual(self, q: Array) -> Array:
        """Errors of the rows, zero where the loops are closed, shape (m,)."""
        return self.constraints.residual(self.data, q, self._coordinates.coupled(q))

    def jacobian(self, q: Array) -> Array:
        """Rows on velocities, shape (m, nv)."""
        return self.constraints.jacobian(self.data, q)

    def bias(self, q: Array, v: Array) -> Array:
        """The part of the rows' time derivative that is left at zero acceleration, shape (m,).

        On the loops ``jacobian(q) @ a + bias(q, v) = 0``.
        """
        return self.constraints.bias(self.data, q, v)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Acceleration under the constraints, shape (nv,).

        Args:
            q: Configuration with closed loops, shape (nq,).
            v: Velocity that keeps them closed, shape (nv,).
            tau: Joint forces and torques, N and N m, shape (nv,).

        In the styles ``rows``, ``anchors`` and ``slack`` the result is exact, without damping or
        iteration; in ``legacy`` it is what ``pinocchio.constraintDynamics`` settles at.
        ``NoInertia`` says which freedoms move no mass.
        """
        with self.massive_motion():
            return self._accelerate(q, v, tau)

    def massive_motion(self) -> AbstractContextManager[None]:
        """``NoInertia`` with names in place of ``MasslessMotion``."""
        return naming(self.reduction, self._coordinates)

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
        error = self.residual(q)
        jacobian, bias = self.constraints.jacobian_and_bias(self.data, q, v)
        values = -bias - 2.0 * damping * frequency * (jacobian @ v) - frequency**2 * error
        force = tau - pin.nonLinearEffects(self.model, self.data, q, v)
        M = mass_matrix(self.model, self.data, q)
        with self.massive_motion():
            return Split.of(jacobian, self.rank).response(M, force, values)

    def constraint_forces(self, q: Array, v: Array, tau: Array) -> ConstraintForces:
        """Forces at the cuts, in physical units; arguments as of ``forward_dynamics``.

        In the style ``rows`` a cut is a joint of the mechanism, and the wrench is the joint's; in
        the others it is what the two halves of a cut body exert on each other.
        """
        return constraint_forces(self, q, v, self.forward_dynamics(q, v, tau), tau)

    def inverse_dynamics(
        self, q: Array, v: Array, a: Array, actuated: Sequence[str] | None = None
    ) -> InverseDynamics:
        """Forces of the actuated joints that produce an acceleration.

        With more actuators than freedoms the smallest forces are taken.

        Args:
            q: Configuration with closed loops, shape (nq,).
            v: Velocity that keeps them closed, shape (nv,).
            a: Acceleration that keeps them closed, shape (nv,).
            actuated: Names of the actuated joints; by default those that the model marks.

        Raises:
            ModelError: The model marks no joint as actuated and none is given.
            UnsupportedExport: An actuated joint is a cut; choose other cuts.
        """
        mechanism = self.reduction.mechanism
        if actuated is None:
            actuated = [j.name for j in mechanism.joints if j.actuated]
            if not actuated:
                raise ModelError(
                    "the model does not say which joints are actuated; name them: actuated=[...]"
                )
        joints = [name for name in actuated for _ in range(mechanism.joint(name).freedoms)]
        return inverse_dynamics(self, q, v, a, joints, self.velocity_indices(actuated))

    def dynamics_derivatives(self, q: Array, v: Array, tau: Array) -> AccelerationDerivatives:
        """``forward_dynamics`` and its derivatives at a state with closed loops, always exact.

        Args:
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
            tau: Joint forces and torques, shape (nv,).
        """
        a = self.expanded.forward_dynamics(q, v, tau)
        with self.massive_motion():
            return dynamics_derivatives(self.expanded, q, v, a, tau)

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and gravitational energy in J."""
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, v)
        return float(kinetic + pin.computePotentialEnergy(self.model, self.data, q))

    def split(self, q: Array) -> Split:
        """Constrained and free directions at a configuration."""
        return Split.of(self.jacobian(q), self.rank)

    def project_velocity(self, q: Array, v: Array) -> Array:
        """The admissible velocity nearest to v in kinetic energy, shape (nv,).

        This is the velocity after the loops are closed by an inelastic impact.
        """
        free = self.split(q).free
        M = mass_matrix(self.model, self.data, q)
        with self.massive_motion():
            require_mass(M, free)
        return np.asarray(free @ np.linalg.solve(free.T @ M @ free, free.T @ (M @ np.asarray(v))))

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

    def acceleration_near(self, left: Array) -> Acceleration:
        """``forward_dynamics`` in a form that is quick near a configuration.

        Where rows depend on each other, as many combinations of them as are independent are chosen
        at a configuration, and stand for all rows in its neighbourhood.

        Args:
            left: Left singular vectors of the Jacobian there, shape (m, m).
        """
        if self.rank == self.rows or self.style == "legacy" or not self.massive:
            return self.forward_dynamics
        combine = left[:, : self.rank].T

        def accelerate(q: Array, v: Array, tau: Array) -> Array:
            jacobian, bias = self.constraints.jacobian_and_bias(self.data, q, v)
            jacobian, bias = combine @ jacobian, combine @ bias
            return np.asarray(
                pin.forwardDynamics(self.model, self.data, q, v, tau, jacobian, bias, 0.0)
            )

        return accelerate

    def configuration(self, coordinates: Array) -> Array:
        """Configuration of the model from the mechanism's joint coordinates (n,), shape (nq,)."""
        return self._coordinates.configuration(coordinates)

    def coordinates(self, q: Array) -> Array:
        """The mechanism's joint coordinates, those of the cuts included, shape (n,)."""
        result = self._coordinates.of_tree(q)
        pin.forwardKinematics(self.model, self.data, q)
        for closure in self.constraints.closures:
            if closure.edge is not None and closure.edge.freedoms:
                columns = list(closure.edge.columns)
                result[columns] = joint_position(closure.edge, closure.joint_pose(self.data))
        return result

    def velocity_index(self, joint: str, freedom: int = 0) -> int:
        """Index in v, a and tau of a joint's freedom.

        Raises:
            UnsupportedExport: The joint is a cut, so the model has no coordinate for it.
        """
        return self._coordinates.velocity_index(joint, freedom)

    def position_index(self, velocity: int) -> int:
        """Index in q of the coordinate whose rate is an entry of v.

        Raises:
            ModelError: The joint's coordinates are no separate numbers.
        """
        model = self.model
        j = next(j for j in range(1, model.njoints) if velocity < model.idx_vs[j] + model.nvs[j])
        if model.nqs[j] != model.nvs[j]:
            raise ModelError(
                f"the motion of {model.names[j]!r} cannot be prescribed: the joint's coordinates "
                "are no separate numbers; model it by hinges in series"
            )
        return int(model.idx_qs[j] + velocity - model.idx_vs[j])

    def velocity_indices(self, joints: Sequence[str]) -> NDArray[np.intp]:
        """Indices in v of all freedoms of the named joints, in the order of the names."""
        mechanism = self.reduction.mechanism
        pairs = [(name, k) for name in joints for k in range(mechanism.joint(name).freedoms)]
        return np.array([self.velocity_index(name, k) for name, k in pairs], dtype=np.intp)


def to_pinocchio(reduction: Reduction, style: str = "rows", *, composite: bool = True) -> Robot:
    """A Pinocchio model with the reduced constraints.

    Args:
        reduction: From ``regularize.reduce``.
        style: ``rows``: the kept rows themselves, through ``Robot.jacobian``, ``Robot.bias`` and
            ``Robot.forward_dynamics``. ``anchors``: ``pinocchio.ConstraintModel`` entries for
            ``ConstraintCholeskyDecomposition`` without damping. ``slack``: slack joints and plain
            6-row welds. ``legacy``: ``RigidConstraintModel`` entries, redundant rows included, with
            the ``ProximalSettings`` that they need.
        composite: Whether a joint of several freedoms is one joint of the model. Pinocchio's
            analytical derivatives are right only where it is a series of joints; coordinates are
            the same either way.

    Raises:
        UnsupportedExport: The style is unknown or cannot express the rows.
    """
    if style not in STYLES:
        raise UnsupportedExport(f"unknown style {style!r}; known: {', '.join(STYLES)}")
    if style == "rows":
        builder, closures = row_closures(reduction, composite=composite)
        models: Any = []
    else:
        builder, closures, welds = weld_closures(
            reduction,
            slack=style == "slack",
            every_row=style == "legacy",
            composite=composite,
        )
        make = rigid_models if style == "legacy" else anchor_models
        models = make(builder.model, closures, welds)
    return _robot(reduction, style, builder, closures, models)


def _robot(
    reduction: Reduction, style: str, builder: TreeBuilder, closures: list[Closure], models: Any
) -> Robot:
    model, data = builder.model, builder.model.createData()
    coordinates = ModelCoordinates(reduction.graph, model, builder.joints)
    rows = ConstraintRows(model, closures, coordinates.velocity_rows())
    legacy = style == "legacy"
    q0 = read_only(coordinates.configuration(reduction.q))
    massive = is_massive(model, data, q0)
    findings = (*builder.findings, *left_over(reduction, style))
    return Robot(
        model=model,
        data=data,
        constraints=rows,
        style=style,
        constraint_models=models,
        proximal_settings=pin.ProximalSettings(*PROXIMAL) if legacy else None,
        rank=model.nv - reduction.mobility if legacy else len(rows) - reduction.remaining,
        massive=massive,
        reduction=reduction,
        q0=q0,
        joints=tuple(builder.joints),
        findings=findings if massive else (*findings, massless_tips()),
        _coordinates=coordinates,
    )
