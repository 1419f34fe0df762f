"""How each export style solves for accelerations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from regularize.arguments import checked_but_states, state
from regularize.errors import ModelError
from regularize.kernel.bodies import Bodies
from regularize.kernel.compiled import Kernel, compiled
from regularize.kernel.elimination import tables_of
from regularize.kernel.machine import Machine
from regularize.kernel.posing import mass_matrix as mass_matrix_of_parts
from regularize.kernel.sections import Tables
from regularize.lie.screw import Array
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.machine_reading import machine_of, tree_of
from regularize.pinocchio_model.rows import AnchorData, ConstraintRows
from regularize.pinocchio_model.spanning_tree import SpanningTree
from regularize.pinocchio_model.split import Split, mass_matrix
from regularize.pinocchio_model.tree_states import TreeStates, Workspace

#: Acceleration from configuration, velocity and joint forces.
Acceleration = Callable[..., Array]


@dataclass(frozen=True, eq=False)
class ConstrainedTree:
    """A spanning tree with the rows that close its loops: what an acceleration is solved from.

    Attributes:
        tree: The spanning tree.
        constraints: The rows.
        style: One of ``robot.STYLES``; see ``styles``.
        proximal_settings: In the style ``legacy`` the settings that its redundant rows need.
        rank: Number of independent rows at generic configurations.
        massive: Whether the mass matrix of the tree is regular, so that Pinocchio can factorise it.
    """

    tree: SpanningTree = field(repr=False)
    constraints: ConstraintRows = field(repr=False)
    style: str
    proximal_settings: Any
    rank: int
    massive: bool
    _models: Callable[[Any], Any] = field(repr=False)

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

    @cached_property
    def constraint_models(self) -> Any:
        """Constraints for Pinocchio's own solvers; empty in the style ``rows``."""
        return self._models(self.model)

    @cached_property
    def _workspace(self) -> Workspace:
        return Workspace(self.tree)

    @cached_property
    def machine(self) -> tuple[Machine, list[int]] | None:
        """What the kernel computes with, and the part of each joint; None where it knows none."""
        tree = tree_of(self.model) if self.tree.changed else self.tree
        return machine_of(tree, self.constraints, self.rank, self.massive)

    @cached_property
    def tables(self) -> Tables | None:
        """What the kernel reads; None where it does not know a joint or a row."""
        return None if self.machine is None else tables_of(self.machine[0])

    @cached_property
    def kernel(self) -> Any:
        """The compiled kernel; None where there is none or it does not know a joint or a row."""
        return None if Kernel is None or self.tables is None else compiled(self.tables)

    @cached_property
    def states(self) -> TreeStates:
        """What is computed of the tree at states."""
        known = None if self.kernel is None else self.machine
        bodies = None if known is None else Bodies(*known, self.kernel)
        return TreeStates(self.tree, self.constraints, self._workspace, bodies)

    @cached_property
    def _driven_kernels(self) -> dict[tuple[int, ...], Any]:
        return {(): self.kernel}

    @checked_but_states
    def driven_kernel(self, velocities: Sequence[int]) -> Any:
        """The compiled kernel with a row for each of some velocities, behind the others.

        A row's multiplier is the force that makes the velocity what it is.

        Returns:
            None where there is no kernel.
        """
        known, rows = self._driven_kernels, tuple(velocities)
        if rows not in known:
            tables = None
            if self.kernel is not None and self.machine is not None:
                tables = tables_of(self.machine[0].driven(rows))
            known[rows] = None if tables is None else compiled(tables)
        return known[rows]

    @property
    def computed_by(self) -> str:
        """What computes accelerations: ``compiled`` code of this project, or ``Python``."""
        return "compiled" if self.stepped else "Python"

    @property
    def stepped(self) -> bool:
        """Whether the compiled kernel computes accelerations."""
        return self._step is not None

    @cached_property
    def _step(self) -> Acceleration | None:
        """The compiled step; the style ``legacy`` is Pinocchio's own."""
        return (
            None if self.style == "legacy" or self.kernel is None else self.kernel.forward_dynamics
        )

    @cached_property
    def _accelerate(self) -> Acceleration:
        """The acceleration of one state where the compiled step does not know it."""
        return acceleration_of(self)

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

    def _data_of(self, given: Any) -> Any:
        """The caller's ``pinocchio.Data``, or the thread's own where there is none.

        Raises:
            TypeError: It is something else.
        """
        if given is not None and not isinstance(given, pin.Data):
            raise TypeError(f"data is a pinocchio.Data of the model; got {given!r:.60}")
        return self.data if given is None else given

    def jacobian(self, q: Array, data: Any = None) -> Array:
        """Rows on velocities, shape (m, nv).

        Args:
            q: Configuration, shape (nq,).
            data: The caller's ``pinocchio.Data`` of the model to compute in; by default it is none
                of the caller's business.
        """
        if data is None and self.kernel is not None:
            return np.asarray(self.kernel.jacobian(q))
        return self.constraints.jacobian(self._data_of(data), *self._given(q=q))

    def bias(self, q: Array, v: Array, data: Any = None) -> Array:
        """The part of the rows' time derivative that is left at zero acceleration, shape (m,).

        On the loops ``jacobian(q) @ a + bias(q, v) = 0``.
        """
        if data is None and self.kernel is not None:
            return np.asarray(self.kernel.bias(q, v))
        return self.constraints.bias(self._data_of(data), *self._given(q=q, v=v))


def acceleration_of(tree: ConstrainedTree) -> Acceleration:
    """The acceleration of a tree under its rows, by the solver that suits its style."""
    rows = tree.constraints
    if tree.style == "legacy" and tree.massive and len(rows) and not len(rows.coupling):
        return _proximal(tree)
    if tree.rank < len(rows) or not tree.massive:
        return lambda q, v, tau: null_space_acceleration(tree, q, v, tau)
    if tree.kernel is not None:
        return lambda q, v, tau: tree.states.terms(q, v).acceleration(tau)
    if len(rows) == 0:
        return lambda q, v, tau: np.array(pin.aba(tree.model, tree.data, q, v, tau))
    if tree.style in ("anchors", "slack") and not len(rows.coupling):
        return _cholesky(tree)

    def exact(q: Array, v: Array, tau: Array) -> Array:
        data = tree.data
        jacobian, bias = rows.jacobian_and_bias(data, q, v)
        return np.array(pin.forwardDynamics(tree.model, data, q, v, tau, jacobian, bias, 0.0))

    return exact


def is_massive(tree: SpanningTree, q: Array) -> bool:
    """Whether the mass matrix of the tree is regular at a configuration, to 1e-11 of its scale."""
    if tree.known:
        M = mass_matrix_of_parts(tree.weighed(), q, tree.armature)
    else:
        M = mass_matrix(tree.model, tree.model.createData(), q)
    scale = np.sqrt(np.abs(np.diag(M)))
    if np.any(scale == 0.0):
        return False
    s = np.abs(np.linalg.eigvalsh(M / np.outer(scale, scale)))
    return bool(np.all(s > 1e-11 * np.max(s, initial=0.0)))


def null_space_acceleration(tree: ConstrainedTree, q: Array, v: Array, tau: Array) -> Array:
    """Acceleration by an orthonormal basis of the admissible velocities, shape (nv,).

    For dependent rows and for trees with massless ends, where the mass matrix is singular although
    the mechanism has mass in every direction in which it can move.
    """
    terms = tree.states.terms(q, v)
    parts = Split.of(terms.jacobian, tree.rank)
    return parts.response(terms.M, tau - terms.needed, -terms.bias)


class Factorisation(threading.local):
    """Pinocchio's factorisation of mass matrix and anchors; every thread has its own.

    Args:
        model: The model.
        anchors: ``ConstraintModel`` entries.
    """

    def __init__(self, model: Any, anchors: Any) -> None:
        """Make room for one thread."""
        self.data = model.createData()
        self.rows = AnchorData(anchors)
        self.cholesky = pin.ConstraintCholeskyDecomposition(
            model, self.data, anchors, self.rows.datas
        )


def _cholesky(tree: ConstrainedTree) -> Acceleration:
    """Pinocchio's factorisation of mass matrix and anchors, without damping."""
    model, models = tree.model, tree.constraint_models
    zero, own = np.zeros(model.nv), Factorisation(model, models)

    def accelerate(q: Array, v: Array, tau: Array) -> Array:
        data, rows = own.data, own.rows
        pin.crba(model, data, q, pin.Convention.WORLD)
        pin.forwardKinematics(model, data, q, v, zero)
        for constraint, constraint_data in rows.pairs:
            constraint.calc(model, data, constraint_data)
        own.cholesky.compute(model, data, models, rows.datas, 0.0)
        drift = [-d.constraint_acceleration_error for d in rows.inner]
        force = tau - pin.nonLinearEffects(model, data, q, v)
        return np.asarray(own.cholesky.solve(np.concatenate([*drift, force]))[-model.nv :])

    return accelerate


class ProximalData(threading.local):
    """Data of Pinocchio's constrained dynamics; every thread has its own.

    Args:
        model: The model.
        constraints: ``RigidConstraintModel`` entries.
    """

    def __init__(self, model: Any, constraints: Any) -> None:
        """Make room for one thread."""
        self.data = model.createData()
        self.datas = pin.StdVec_RigidConstraintData()
        for constraint in constraints:
            self.datas.append(constraint.createData())
        pin.initConstraintDynamics(model, self.data, constraints, self.datas)


def _proximal(tree: ConstrainedTree) -> Acceleration:
    """Pinocchio's constrained dynamics, iterated on redundant rows."""
    model, models = tree.model, tree.constraint_models
    own, settings = ProximalData(model, models), tree.proximal_settings

    def accelerate(q: Array, v: Array, tau: Array) -> Array:
        data, datas = own.data, own.datas
        return np.array(pin.constraintDynamics(model, data, q, v, tau, models, datas, settings))

    return accelerate
