"""A spanning tree with the rows that close its loops, and its accelerations.

The compiled step computes them, and dense algebra where there is none or where a state is too much
for it; the style ``legacy`` is Pinocchio's own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.closure_rows import ConstraintRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates
from regularize.dynamics.pinocchio.many_states import over_states
from regularize.dynamics.pinocchio.multibody_reading import multibody_tree_of, tree_of
from regularize.dynamics.pinocchio.spanning_tree import SpanningTree
from regularize.dynamics.pinocchio.split import Split, naming
from regularize.dynamics.pinocchio.styles import PROXIMAL, Anchor, anchor_models, rigid_models
from regularize.dynamics.pinocchio.tree_states import TreeStates
from regularize.dynamics.step.compiled import Tables, compiled, which
from regularize.dynamics.step.elimination import tables_of
from regularize.dynamics.step.multibody import MultibodyTree
from regularize.errors import ModelError
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.reduce import Reduction
from regularize.tolerances import Tolerances
from regularize.validation import NAMES, TEXT, WHOLE, several, state, validated

#: Acceleration from configuration, velocity and joint forces.
Acceleration = Callable[..., Array]


class Workspace(threading.local):
    """What Pinocchio writes to while it computes: every thread has its own.

    Args:
        tree: The tree.
        constraints: ``RigidConstraintModel`` entries of the style ``legacy``.
    """

    def __init__(self, tree: SpanningTree, constraints: Any = None) -> None:
        self._tree, self._constraints = tree, constraints

    @cached_property
    def data(self) -> Any:
        """The thread's ``pinocchio.Data``; it grows with the third power of the velocities."""
        return self._tree.model.createData()

    @cached_property
    def constraint_datas(self) -> Any:
        """The thread's data of the constraints."""
        datas = pin.StdVec_RigidConstraintData()
        for constraint in self._constraints:
            datas.append(constraint.createData())
        pin.initConstraintDynamics(self._tree.model, self.data, self._constraints, datas)
        return datas


@dataclass(frozen=True, eq=False)
class ConstrainedTree:
    """A spanning tree with the rows that close its loops: what an acceleration is solved from.

    Attributes:
        tree: The spanning tree.
        constraints: The rows.
        style: One of ``robot.STYLES``; see ``styles``.
        rank: Number of independent rows at generic configurations.
        massive: Whether the mass matrix of the tree is regular, so that Pinocchio can factorise it.
        reduction: What it was made from.
    """

    tree: SpanningTree = field(repr=False)
    constraints: ConstraintRows = field(repr=False)
    style: str
    rank: int
    massive: bool
    reduction: Reduction
    _anchors: Sequence[Anchor] = field(repr=False)
    _coordinates: ModelCoordinates = field(repr=False)
    _lifted: Callable[..., TreeStates] | None = field(default=None, repr=False, kw_only=True)

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
        """What counts as closed, and which singular values of the rows are noise."""
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
        make = rigid_models if self.style == "legacy" else anchor_models
        return make(self.model, self._anchors)

    @cached_property
    def proximal_settings(self) -> Any:
        """In the style ``legacy`` the settings that its redundant rows need."""
        return pin.ProximalSettings(*PROXIMAL) if self.style == "legacy" else None

    @cached_property
    def _workspace(self) -> Workspace:
        return Workspace(self.tree)

    @cached_property
    def multibody(self) -> tuple[MultibodyTree, list[int]] | None:
        """The multibody tree, and the link of each joint; None where it lacks coordinates."""
        if self._lifted is not None:
            return None
        tree = tree_of(self.model) if self.tree.changed else self.tree
        return multibody_tree_of(tree, self.constraints, self.rank, self.massive)

    @cached_property
    def tables(self) -> Tables | None:
        """What the compiled step reads; None where it does not know a row."""
        return None if self.multibody is None else tables_of(self.multibody[0])

    @cached_property
    def kernel(self) -> Any:
        """The compiled step; None where there is none or it does not know a row."""
        return None if which() == "Python" or self.tables is None else compiled(self.tables)

    @cached_property
    def states(self) -> TreeStates:
        """What is computed of the tree at states."""
        if self.multibody is None:
            assert self._lifted is not None, "else there is a multibody tree"
            return self._lifted(self.model, self.constraints, self.rank)
        return TreeStates(*self.multibody, self.constraints, self.kernel)

    @cached_property
    def leading(self) -> dict[tuple[str, ...], Any]:
        """What joints lead that were led before, by their names; see ``following``."""
        return {}

    @cached_property
    def _driven_kernels(self) -> dict[tuple[int, ...], Any]:
        return {(): self.kernel}

    @validated(velocities=several(WHOLE))
    def driven_kernel(self, velocities: Sequence[int]) -> Any:
        """The compiled step with a row for each of some velocities, behind the others.

        A row's multiplier is the force that makes the velocity what it is.

        Returns:
            None where there is no compiled step.
        """
        known, rows = self._driven_kernels, tuple(velocities)
        if rows not in known:
            tables = None
            if self.kernel is not None and self.multibody is not None:
                tables = tables_of(self.multibody[0].driven(rows))
            known[rows] = None if tables is None else compiled(tables)
        return known[rows]

    @property
    def computed_by(self) -> str:
        """What computes accelerations: ``compiled`` code of this project, or ``Python``."""
        return "compiled" if self.stepped else "Python"

    @property
    def stepped(self) -> bool:
        """Whether the compiled step computes accelerations."""
        return self._step is not None

    @cached_property
    def _step(self) -> Acceleration | None:
        """The compiled step; the style ``legacy`` is Pinocchio's own."""
        return (
            None if self.style == "legacy" or self.kernel is None else self.kernel.forward_dynamics
        )

    @cached_property
    def _accelerate(self) -> Acceleration:
        """The acceleration of one state where the compiled step does not find it."""
        rows = self.constraints
        if self.style == "legacy" and self.massive and len(rows) and not len(rows.coupling):
            return _proximal(self)
        return self._dense_acceleration

    def _dense_acceleration(
        self, q: Array, v: Array, tau: Array, wanted: Array | float = 0.0
    ) -> Array:
        """Acceleration by an orthonormal basis of the admissible velocities, shape (nv,).

        For dependent rows too, and for trees with massless ends, where the mass matrix is singular
        although the mechanism has mass in every direction in which it can move. What is ``wanted``
        is added to the rates of the rows, shape (m,).
        """
        terms = self.states.terms(q, v)
        inertias = np.diag(terms.M)
        # In these units light and heavy bodies weigh alike, and no digits are lost between them.
        unit = 1.0 / np.sqrt(np.where(inertias > 0.0, inertias, 1.0))
        parts = Split.of(terms.jacobian * unit, self.rank)
        forces, rates = unit * (tau - terms.needed), -terms.bias - wanted
        return unit * parts.response(terms.M * np.outer(unit, unit), forces, rates)

    def accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations at configurations (N, nq), one after the other, shape (N, nv)."""
        found = None if self._step is None else self._step(q, v, tau)
        if found is not None:
            return found
        shapes = {np.shape(each)[:1] for each in (q, v, tau)}
        if len(shapes) > 1 or () in shapes:
            raise ModelError(f"states are rows of arrays of one length; got {sorted(shapes)}")
        states = zip(q, v, tau, strict=True)
        each = [self._accelerate(*self._given(q=q, v=v, tau=tau)) for q, v, tau in states]
        return np.array(each).reshape(len(q), self.nv)

    @property
    def data(self) -> Any:
        """Pinocchio's data of the model, of each thread its own."""
        return self._workspace.data

    def _given(self, **states: Array) -> tuple[Array, ...]:
        """States by name, checked: arrays of the model's lengths, of finite numbers."""
        return tuple(state(self, name, value) for name, value in states.items())

    def _place(self, data: Any, q: Array, *v: Array) -> None:
        """Leave in the caller's ``pinocchio.Data`` where the bodies are.

        Raises:
            TypeError: It is something else.
        """
        if not isinstance(data, pin.Data):
            raise TypeError(f"data is a pinocchio.Data of the model; got {data!r:.60}")
        pin.forwardKinematics(self.model, data, *self._given(q=q), *v)

    @over_states(at_once=True)
    def jacobian(self, q: Array, data: Any = None) -> Array:
        """Rows on velocities, shape (m, nv).

        Args:
            q: Configuration, shape (nq,).
            data: The caller's ``pinocchio.Data`` of the model, in which the bodies' places are left
                where it is given.
        """
        if data is not None:
            self._place(data, q)
        return self.states.jacobian(q if self.kernel else self._given(q=q)[0])

    @over_states(at_once=True)
    def bias(self, q: Array, v: Array, data: Any = None) -> Array:
        """The part of the rows' time derivative that is left at zero acceleration, shape (m,).

        On the loops ``jacobian(q) @ a + bias(q, v) = 0``.
        """
        if data is not None:
            self._place(data, q, *self._given(v=v))
        return self.states.bias(*((q, v) if self.kernel else self._given(q=q, v=v)))

    @over_states(at_once=True)
    def residual(self, q: Array, data: Any = None) -> Array:
        """Errors of the rows, zero where the loops are closed, shape (m,).

        Args:
            q: Configuration, shape (nq,).
            data: The caller's ``pinocchio.Data`` of the model, in which the bodies' places are left
                where it is given.
        """
        if data is not None:
            self._place(data, q)
        found: Array | None = None if self.kernel is None else self.kernel.residual(q)
        if found is not None:
            return found
        (q,) = self._given(q=q)
        return np.concatenate([self.states.errors(q), self._coordinates.coupled(q)])

    def massive_motion(self) -> AbstractContextManager[None]:
        """``NoInertia`` with names in place of ``MasslessMotion``."""
        return naming(self.reduction, self._coordinates)

    @validated(velocity=WHOLE)
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

    @validated(velocity=WHOLE)
    def counted(self, velocity: int) -> bool:
        """Whether an entry of v is the rate of a coordinate of its own."""
        j = self._joint_of(velocity)
        return bool(self.tree.nqs[j] == self.tree.nvs[j])

    def _joint_of(self, velocity: int) -> int:
        """Index of the joint that an entry of v belongs to."""
        ends = np.add(self.tree.idx_vs, self.tree.nvs)
        return 1 + int(np.flatnonzero(velocity < ends[1:])[0])

    @validated(joint=TEXT, freedom=WHOLE)
    def velocity_index(self, joint: str, freedom: int = 0) -> int:
        """Index in v, a and tau of a joint's freedom.

        Raises:
            UnsupportedExport: The joint is a cut, so the model has no coordinate for it.
        """
        return self._coordinates.velocity_index(joint, freedom)

    @validated(joints=NAMES)
    def velocity_indices(self, joints: Sequence[str]) -> NDArray[np.intp]:
        """Indices in v of all freedoms of the named joints, in the order of the names."""
        mechanism = self.mechanism
        pairs = [(name, k) for name in joints for k in range(mechanism.joint(name).freedoms)]
        return np.array([self.velocity_index(name, k) for name, k in pairs], dtype=np.intp)


def _proximal(tree: ConstrainedTree) -> Acceleration:
    """Pinocchio's constrained dynamics, iterated on redundant rows."""
    models, settings = tree.constraint_models, tree.proximal_settings
    own = Workspace(tree.tree, models)

    def accelerate(q: Array, v: Array, tau: Array) -> Array:
        datas = own.constraint_datas
        given = (tree.model, own.data, q, v, tau, models, datas, settings)
        return np.array(pin.constraintDynamics(*given))

    return accelerate
