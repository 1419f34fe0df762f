"""A spanning tree with the rows that close its loops, its accelerations and its energies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.closure_rows import ConstraintRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates
from regularize.dynamics.pinocchio.many_states import aligned, over_states
from regularize.dynamics.pinocchio.multibody_reading import multibody_tree_of, tree_of
from regularize.dynamics.pinocchio.spanning_tree import SpanningTree
from regularize.dynamics.pinocchio.styles import (
    PROXIMAL,
    Anchor,
    Workspace,
    constraint_models,
    proximal,
)
from regularize.dynamics.pinocchio.tree_states import (
    MasslessMotion,
    PassiveForces,
    Split,
    Stabilization,
    TreeStates,
    require_mass,
)
from regularize.dynamics.step.compiled import Tables, compiled
from regularize.dynamics.step.elimination import tables_of
from regularize.dynamics.step.multibody import MultibodyTree
from regularize.errors import ModelError
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Mechanism, no_inertia
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.passive_joints import PassiveJoints
from regularize.tolerances import UNNOTICED, VANISHING, Tolerances
from regularize.validation import (
    ARRAY,
    NAMES,
    NUMBER,
    POSITIVE,
    STATE,
    TEXT,
    WHOLE,
    named,
    several,
    state,
    validated,
)

#: Acceleration from configuration, velocity and joint forces.
AccelerationFunction = Callable[..., Array]


@dataclass(frozen=True, eq=False)
class ConstrainedTree:
    """A spanning tree with the rows that close its loops."""

    tree: SpanningTree = field(repr=False)
    constraints: ConstraintRows = field(repr=False)
    style: str  #: one of ``exporting.STYLES``
    rank: int  #: number of independent rows at generic configurations
    massive: bool  #: whether the mass matrix of the tree is regular
    reduction: Reduction
    _anchors: Sequence[Anchor] = field(repr=False)
    _coordinates: ModelCoordinates = field(repr=False)
    #: Joints that were led before, by their names; see ``constraints``.
    leading: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False, repr=False)
    _driven_kernels: dict[tuple[int, ...], Any] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def model(self) -> Any:
        """The tree as a ``pinocchio.Model``."""
        return self.tree.model

    @property
    def nq(self) -> int:
        """Length of configurations."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Length of velocities."""
        return self.tree.nv

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall, shape (3,)."""
        return np.array(self.model.gravity.linear) if self.tree.changed else self.tree.gravity

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that it was made of."""
        return self.reduction.mechanism

    @property
    def tolerances(self) -> Tolerances:
        """Tolerances for closed loops and for singular values of the rows."""
        return self.reduction.tolerances

    @property
    def rows(self) -> int:
        """Number of rows, couplings included."""
        return len(self.constraints)

    @cached_property
    def constraint_models(self) -> Any:
        """Constraints for Pinocchio's own solvers; empty in the style ``rows``."""
        if self.style == "rows":
            return []
        return constraint_models(self.model, self._anchors, rigid=self.style == "legacy")

    @cached_property
    def proximal_settings(self) -> Any:
        """In the style ``legacy`` the settings that its redundant rows need."""
        return pin.ProximalSettings(*PROXIMAL) if self.style == "legacy" else None

    @cached_property
    def _workspace(self) -> Workspace:
        """Pinocchio's data of the tree, one for each thread."""
        return Workspace(self.tree)

    @cached_property
    def multibody(self) -> tuple[MultibodyTree, list[int]]:
        """The multibody tree, and the link of each joint."""
        tree = tree_of(self.model) if self.tree.changed else self.tree
        return multibody_tree_of(tree, self.constraints, self.rank, self.massive)

    @cached_property
    def tables(self) -> Tables:
        """Tables that the compiled step reads."""
        return tables_of(self.multibody[0])

    @cached_property
    def kernel(self) -> Any:
        """The compiled step; None where there is none."""
        return self._table_kernel

    @cached_property
    def _table_kernel(self) -> Any:
        """The compiled step that goes through tables; None where there is none."""
        return compiled(self.tables)

    @cached_property
    def states(self) -> TreeStates:
        """The tree with its rows at states."""
        return TreeStates(*self.multibody, self.constraints, self.kernel)

    @cached_property
    def passive(self) -> PassiveForces:
        """Damping, friction and springs of the mechanism's joints."""
        return PassiveForces(PassiveJoints.of(self.reduction.graph), self._coordinates, self.states)

    @validated(velocities=several(WHOLE))
    def driven_kernel(self, velocities: Sequence[int]) -> Any:
        """Return the compiled step with a row, and so a force, for each of some velocities."""
        kernels, rows = self._driven_kernels, tuple(velocities)
        if self.kernel is None or not rows:
            return self.kernel
        if rows not in kernels:
            kernels[rows] = compiled(tables_of(self.multibody[0].driven(rows)))
        return kernels[rows]

    @property
    def computed_by(self) -> str:
        """Name of the code for accelerations: ``compiled``, of this project, or ``Python``."""
        return "compiled" if self.stepped else "Python"

    @property
    def stepped(self) -> bool:
        """Whether the compiled step computes accelerations."""
        return self._step is not None

    @cached_property
    def _step(self) -> Callable[..., Array | None] | None:
        """The compiled acceleration of states; None without a kernel and in style ``legacy``."""
        return (
            None if self.style == "legacy" or self.kernel is None else self.kernel.forward_dynamics
        )

    @cached_property
    def _accelerate(self) -> AccelerationFunction:
        """The acceleration of one state where the compiled step does not find it."""
        rows = self.constraints
        if self.style == "legacy" and self.massive and len(rows) and not len(rows.coupling):
            return proximal(self.tree, self.constraint_models, self.proximal_settings)
        return self._dense_acceleration

    def _dense_acceleration(
        self, q: Array, v: Array, tau: Array, wanted: Array | float = 0.0
    ) -> Array:
        """Return the acceleration by a basis of the free velocities; rows move at ``-wanted``."""
        terms = self.states.terms(q, v)
        inertias = np.diag(terms.M)
        # In these units light and heavy bodies weigh alike, and no digits are lost between them.
        unit = 1.0 / np.sqrt(np.where(inertias > 0.0, inertias, 1.0))
        parts = Split.of(terms.jacobian * unit, self.rank)
        forces, rates = unit * (tau - terms.needed), -terms.bias - wanted
        return unit * parts.response(terms.M * np.outer(unit, unit), forces, rates)

    def accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations at configurations (N, nq), one after the other, shape (N, nv)."""
        accelerations = None if self._step is None else self._step(q, v, tau)
        if accelerations is not None:
            return accelerations
        shapes = {np.shape(x)[:1] for x in (q, v, tau)}
        if len(shapes) > 1 or () in shapes:
            raise ModelError(f"states are rows of arrays of one length; got {sorted(shapes)}")
        states = (self._checked(q=x, v=u, tau=f) for x, u, f in zip(q, v, tau, strict=True))
        return np.array([self._accelerate(*at) for at in states]).reshape(len(q), self.nv)

    @property
    def data(self) -> Any:
        """Pinocchio's data of the model, of each thread its own."""
        return self._workspace.data

    @over_states(at_once=True)
    @validated(frequency=POSITIVE, damping=NUMBER)
    def stabilized_dynamics(
        self, q: Array, v: Array, tau: Array, *, frequency: float, damping: float = 1.0
    ) -> Array:
        r"""Acceleration with Baumgarte's terms, which let closure errors decay, shape (nv,).

        .. math:: J a + \gamma + 2 \zeta \omega J v + \omega^2 \phi(q) = 0

        The ``frequency`` :math:`\omega` is in rad/s; a ``damping`` :math:`\zeta` of 1 lets errors
        decay without oscillation.
        """
        return decaying(self, q, v, tau, Stabilization(frequency, damping))

    def _checked(self, **states: Array) -> tuple[Array, ...]:
        """Return states by name, checked: arrays of the model's lengths, of finite numbers."""
        return tuple(state(self, name, value) for name, value in states.items())

    def _place(self, data: Any, q: Array, *v: Array) -> None:
        """Compute the places of bodies into the caller's ``pinocchio.Data``."""
        if not isinstance(data, pin.Data):
            raise TypeError(f"data is a pinocchio.Data of the model; got {data!r:.60}")
        pin.forwardKinematics(self.model, data, *self._checked(q=q), *v)

    @over_states(at_once=True)
    def jacobian(self, q: Array, data: Any = None) -> Array:
        """Rows on velocities, shape (m, nv); the caller's ``data`` gets the places of bodies."""
        if data is not None:
            self._place(data, q)
        return self.states.jacobian(q if self.kernel else self._checked(q=q)[0])

    @over_states(at_once=True)
    def bias(self, q: Array, v: Array, data: Any = None) -> Array:
        """The part of the rows' time derivative that is left at zero acceleration, shape (m,).

        On the loops ``jacobian(q) @ a + bias(q, v) = 0``.
        """
        if data is not None:
            self._place(data, q, *self._checked(v=v))
        return self.states.bias(*((q, v) if self.kernel else self._checked(q=q, v=v)))

    @over_states(at_once=True)
    def residual(self, q: Array, data: Any = None) -> Array:
        """Errors of the rows, zero where the loops are closed, shape (m,); ``data`` as above."""
        if data is not None:
            self._place(data, q)
        errors: Array | None = None if self.kernel is None else self.kernel.residual(q)
        if errors is not None:
            return errors
        (q,) = self._checked(q=q)
        return np.concatenate([self.states.errors(q), self._coordinates.coupled(q)])

    @over_states()
    @validated(q=STATE, v=STATE, slip=POSITIVE)
    def passive_forces(self, q: Array, v: Array, slip: float | None = None) -> Array:
        """Joint forces of damping, springs and dry friction, to be added to tau, shape (nv,).

        Joints that close loops are counted, though they have no coordinate in the model. Dry
        friction falls off below the rate ``slip`` in rad/s and m/s, by default 1e-3.
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
        q, v = self._checked(q=q, v=v)
        kinetic, gravity = self.states.energies(q[None], v[None])
        return float(kinetic[0]), float(gravity[0]) + self.passive.energy(q)

    @over_states()
    @validated(q=STATE)
    def split(self, q: Array) -> Split:
        """Constrained and free directions at a configuration."""
        return Split.of(self.jacobian(q), self.rank)

    @property
    def joint_map(self) -> Array:
        """Velocities of the model from rates of the mechanism's joints, shape (nv, n)."""
        return self._coordinates.velocities

    @over_states(at_once=True)
    def project_velocity(self, q: Array, v: Array) -> Array:
        """The admissible velocity nearest to v in kinetic energy, shape (nv,).

        This is the velocity after the loops are closed by an inelastic impact.
        """
        admissible = self.kernel and self.kernel.project_velocity(q, v)
        if admissible is not None:
            return np.asarray(admissible)
        q, v = self._checked(q=q, v=v)
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
        if isinstance(q, np.ndarray) and q.ndim == 2 and q.shape[1] == self.nq:
            return self.states.coordinates(self._coordinates, q)
        one = self._checked(q=q)[0][None]
        return np.asarray(self.states.coordinates(self._coordinates, one)[0])

    @contextmanager
    def massive_motion(self) -> Iterator[None]:
        """Turn ``MasslessMotion`` into ``NoInertia`` with the names of joints that move no mass."""
        try:
            yield
        except MasslessMotion as error:
            rates = np.abs(error.velocity)
            columns = (rates > UNNOTICED * np.max(rates)) @ (self.joint_map != 0.0)
            edges = [e for e in self.reduction.graph.edges if columns[[*e.columns]].any()]
            cut = {cut.edge.joint.name for cut in self.reduction.cuts}
            moved = [name for name in dict.fromkeys(e.joint.name for e in edges) if name not in cut]
            raise no_inertia(self.mechanism, moved) from error

    @validated(velocity=WHOLE)
    def position_index(self, velocity: int) -> int:
        """Index in q of the coordinate whose rate is an entry of v, if there is one."""
        tree, j = self.tree, self._joint_of(velocity)
        if not self.counted(velocity):
            raise ModelError(
                f"the motion of {tree.names[j]!r} cannot be prescribed: the joint's coordinates "
                "are no separate numbers; model it by hinges in series"
            )
        return int(tree.idx_qs[j] + velocity - tree.idx_vs[j])

    @validated(velocity=WHOLE)
    def counted(self, velocity: int) -> bool:
        """Whether an entry of v is the rate of a coordinate of its own."""
        j = self._joint_of(velocity)
        return bool(self.tree.nqs[j] == self.tree.nvs[j])

    def _joint_of(self, velocity: int) -> int:
        """Return the index of the joint that an entry of v belongs to."""
        ends = np.add(self.tree.idx_vs, self.tree.nvs)
        return 1 + int(np.flatnonzero(velocity < ends[1:])[0])

    @validated(joint=TEXT, freedom=WHOLE)
    def velocity_index(self, joint: str, freedom: int = 0) -> int:
        """Index in v, a and tau of a joint's freedom; refused for a cut, which has none."""
        return self._coordinates.velocity_index(joint, freedom)

    @validated(joints=NAMES)
    def velocity_indices(self, joints: Sequence[str]) -> NDArray[np.intp]:
        """Indices in v of all freedoms of the named joints, in the order of the names."""
        mechanism = self.mechanism
        pairs = [(name, k) for name in joints for k in range(mechanism.joint(name).freedoms)]
        return np.array([self.velocity_index(name, k) for name, k in pairs], dtype=np.intp)


def decaying(robot: ConstrainedTree, q: Array, v: Array, tau: Array, decay: Stabilization) -> Array:
    """Return ``stabilized_dynamics`` of arrays that need no check."""
    compiled = robot.kernel and robot.kernel.decaying_dynamics(q, v, tau, decay.factors)
    if compiled is not None:
        return np.asarray(compiled)
    q, v, tau = robot._checked(q=q, v=v, tau=tau)
    wanted = decay.of(robot.jacobian(q) @ v, robot.residual(q))
    with robot.massive_motion():
        return robot._dense_acceleration(q, v, tau, wanted)
