r"""Dynamics in actuator coordinates by elimination of the constraints.

Brüls (2003), section 3, on joint coordinates and on the kept rows of the loops, so redundant
constraints cannot make :math:`\Phi_q` rectangular. Every quantity is exact: the derivative of
:math:`q_\theta` comes from the brackets of the screws, not from finite differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from regularize import validation
from regularize.dynamics.simulation.loads import BodyLoad
from regularize.errors import ModelError, NoInertia
from regularize.guests.design.continuation import ActuatedLoops, ReachedConfigurations
from regularize.guests.design.equation_of_motion import (
    EquationOfMotion,
    count,
    pack,
    symmetric_products,
)
from regularize.lie.arrays import Array, read_only
from regularize.loops.constraints import CHUNK
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Graph
from regularize.mechanism.mechanism import Inertia, no_inertia
from regularize.mechanism.named_columns import ShortRepr
from regularize.repair.statics.equilibrium import node_incidence
from regularize.repair.statics.passive_joints import PassiveJoints


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties of all nodes that move and have some."""

    rows: tuple[int, ...]
    mass: Array
    center: Array
    matrix: Array
    incidence: Array
    missing: tuple[str, ...]

    def in_world(self, T_world_node: Array) -> tuple[Array, Array]:
        """Centres (N, b, 3) and rotational inertias (N, b, 3, 3) in world axes."""
        T = T_world_node[:, list(self.rows)]
        R = T[..., :3, :3]
        center = (R @ self.center[..., None])[..., 0] + T[..., :3, 3]
        return center, R @ self.matrix @ np.swapaxes(R, -1, -2)


def mass_properties(
    loops: LoopKinematics, payloads: Mapping[str, Inertia] = MappingProxyType({})
) -> MassProperties:
    """Mass properties of the nodes that the loops' tree moves, with what bodies carry beside."""
    graph = loops.graph
    loaded = {graph.node_of[graph.mechanism.body(name).name] for name in payloads}
    nodes = [
        n for n in loops.nodes if n != graph.ground and (graph.inertia_known(n) or n in loaded)
    ]
    inertias = [_node_inertia(graph, n, payloads) for n in nodes]
    rows = tuple(loops.row(n) for n in nodes)
    return MassProperties(
        rows=rows,
        mass=read_only([i.mass for i in inertias]),
        center=read_only(np.array([i.center for i in inertias]).reshape(-1, 3)),
        matrix=read_only(np.array([i.matrix for i in inertias]).reshape(-1, 3, 3)),
        incidence=read_only(node_incidence(loops)[list(rows)]),
        missing=tuple(
            graph.nodes[n]
            for n in loops.nodes
            if n != graph.ground and graph.members[n] and n not in nodes
        ),
    )


def _node_inertia(graph: Graph, node: int, payloads: Mapping[str, Inertia]) -> Inertia:
    """Mass properties of all bodies of a node, in the node's frame."""
    parts = []
    for name in graph.members[node]:
        for inertia in (graph.mechanism.body(name).inertia, payloads.get(name)):
            if inertia is not None:
                parts.append(inertia.transformed(graph.T_node_body[name]))
    return Inertia.total(parts)


#: Length of the last step of a path, radians or lengths, where its exact end does not matter.
NEARLY = 1e-3


@dataclass(frozen=True, eq=False)
class ReducedMotion:
    r"""Everything linear in the inputs' rates at N configurations."""

    state: State
    q_theta: Array
    own: Array
    rates: Array
    B: Array


@dataclass(frozen=True, eq=False)
class Limit:
    """A singular configuration at which the workspace ends.

    Attributes:
        theta: The inputs there, shape (s,).
        joints: Coordinates that can move there although the inputs are locked.
    """

    theta: Array
    joints: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ReducedModel(ShortRepr, EquationOfMotion):
    r"""Inverse and forward dynamics of a mechanism in its actuator coordinates.

    Attributes:
        inputs: Names of the actuated coordinates, in the order of :math:`\theta`.
        equations: The kept rows with one row per input.
        masses: Mass properties of the moving bodies.
        gravity: Acceleration of free fall in the ground frame, m/s², shape (3,).
        passive: What acts within the joints; dry friction is left out.
        loads: What acts on bodies, by their names.
        findings: What should be known about the model.
        motors: Coordinates on which motors act; empty where they are the inputs.
        forces: Forces along coordinates as functions of these.
    """

    inputs: tuple[str, ...]
    equations: ActuatedLoops
    masses: MassProperties
    gravity: Array
    passive: PassiveJoints
    loads: tuple[tuple[str, BodyLoad], ...]
    findings: tuple[Diagnostic, ...] = ()
    motors: tuple[int, ...] = ()
    forces: tuple[tuple[int, Callable[[Array], ArrayLike]], ...] = ()

    def no_inertia(self) -> NoInertia:
        """The error where the inertia matrix is singular."""
        return no_inertia(self.equations.loops.graph.mechanism, self.inputs)

    @property
    def size(self) -> int:
        """Number of coefficients of one configuration."""
        damped = bool(np.any(self.passive.damping))
        return count(len(self.inputs), damped=damped, motors=len(self.motors))

    @property
    def theta(self) -> Array:
        """Inputs at the reference configuration, shape (s,)."""
        return self.equations.theta

    def solve(self, theta: ArrayLike) -> ReachedConfigurations:
        """Configurations at inputs of shape (N, s), as far as they can be reached."""
        return self.equations.solve(self._table(theta))

    def configuration(self, theta: ArrayLike) -> Array:
        """Joint coordinates at given inputs (eq. 12), shape (..., n).

        Raises:
            SingularConfiguration: The inputs cannot be reached on the reference's branch.
        """
        return self._like(theta, self.equations.require(self._table(theta)))

    def clearance(self, theta: ArrayLike) -> Array:
        """Distance from singularities: reciprocal condition of the equations, shape (...)."""
        q = self.equations.require(self._table(theta))
        return self._like(theta, self.equations.clearance(q))

    @validation.validated(bounds=validation.ARRAY, rays=validation.WHOLE, seed=validation.WHOLE)
    def limits(self, bounds: ArrayLike, rays: int = 64, seed: int = 0) -> tuple[Limit, ...]:
        """Where singularities bound the workspace, seen from the reference.

        Straight ways lead from the reference inputs to the bounds; those that end before are
        reported. With one input there are two ways; with more, random ones.

        Args:
            bounds: Lower and upper bound of every input, shape (s, 2).
            rays: Number of ways.
            seed: Seed of their directions.

        Raises:
            ModelError: The bounds have another shape.
        """
        s, table = len(self.inputs), validation.numbers(bounds)
        if table.size != 2 * s:
            raise ModelError(f"the bounds need the shape ({s}, 2), got {table.shape}")
        table = table.reshape(s, 2)
        if s == 1:
            ends = table.T
        else:
            fraction = np.random.default_rng(seed).uniform(size=(rays, s))
            # One coordinate of every end lies on one of the faces.
            face = np.arange(rays) % (2 * s)
            fraction[np.arange(rays), face // 2] = face % 2
            ends = table[:, 0] + fraction * (table[:, 1] - table[:, 0])
        found = self.equations.solve(ends)
        return tuple(
            Limit(read_only(found.stopped[i]), tuple(self.equations.moving_joints(found.q[[i]])))
            for i in np.flatnonzero(~found.reached)
        )

    def q_theta(self, theta: ArrayLike) -> Array:
        """Joint velocities by the inputs' rates (eq. 11), shape (..., n, s)."""
        return self._like(theta, self._motion(self.equations.require(self._table(theta))).q_theta)

    def B(self, theta: ArrayLike) -> Array:
        """Joint accelerations by the products of the rates (eq. 27), shape (..., n, P)."""
        return self._like(theta, self._motion(self.equations.require(self._table(theta))).B)

    def coefficients(self, theta: Array) -> Array:
        """H, D, p and C in one row per configuration, shape (N, t); see ``equation_of_motion``.

        Raises:
            SingularConfiguration: Some inputs cannot be reached on the reference's branch.
        """
        theta = self._table(theta)
        chunks = [theta[i : i + CHUNK] for i in range(0, len(theta), CHUNK)] or [theta]
        return np.concatenate([self._coefficients(self.equations.require(c)) for c in chunks])

    @validation.validated(theta=validation.ARRAY, clearance=validation.NUMBER)
    def sample(self, theta: Array, clearance: float = 0.0) -> Array:
        """Coefficients where the inputs can be reached, else NaN, shape (N, t).

        Args:
            theta: Inputs, shape (N, s).
            clearance: Configurations nearer to singularities count as not reached.
        """
        found = self.equations.solve(self._table(theta), NEARLY)
        rows = self._coefficients(found.q)
        rows[~found.reached] = np.nan
        if clearance > 0.0:
            rows[self.equations.clearance(found.q) < clearance] = np.nan
        return rows

    def _motion(self, q: Array) -> ReducedMotion:
        """Velocities and accelerations at closed configurations, shape (N, n)."""
        equations, loops, s = self.equations, self.equations.loops, len(self.inputs)
        state = loops.state(q)
        rows = equations.rows(state)
        V = equations.completed(rows, np.diag(1.0 / loops.units[equations.inputs]))
        N, n = q.shape
        # The rate of a screw is linear in the velocity: one evaluation per input is exact.
        rates = loops.screw_rates(
            np.repeat(state.screws, s, axis=0), np.swapaxes(V, 1, 2).reshape(N * s, n)
        ).reshape(N, s, n, 6)
        rates = symmetric_products(np.einsum("njic,nik->nickj", rates, V))
        around = np.einsum("li,nicp->nlcp", loops.incidence, rates)
        resting = np.zeros((s, rates.shape[-1]))
        B = equations.completed(rows, resting, -equations.reduced.loop_rows(state, around))
        return ReducedMotion(state, V, state.screws[..., None] * V[:, :, None, :], rates, B)

    def _coefficients(self, q: Array) -> Array:
        """Rows of coefficients at closed configurations, shape (N, t)."""
        motion, masses = self._motion(q), self.masses
        N, s, P = len(q), len(self.inputs), motion.B.shape[-1]
        center, matrix = masses.in_world(motion.state.T_world_node)
        twist = (masses.incidence @ motion.own.reshape(N, -1, 6 * s)).reshape(N, -1, 6, s)
        drift = motion.rates + motion.state.screws[..., None] * motion.B[:, :, None, :]
        drift = (masses.incidence @ drift.reshape(N, -1, 6 * P)).reshape(N, -1, 6, P)
        omega, alpha = twist[:, :, 3:], drift[:, :, 3:]
        c = center[..., None]
        velocity = twist[:, :, :3] + np.cross(omega, c, axis=2)
        # Classical acceleration of the centres and Euler's term (eq. 7), all by the products.
        acceleration = drift[:, :, :3] + np.cross(alpha, c, axis=2) + _crossed(omega, velocity)
        moment = matrix @ alpha + _crossed(omega, matrix @ omega)
        momentum = masses.mass[:, None, None] * velocity
        H = _projected(momentum, velocity) + _projected(omega, matrix @ omega)
        D = _projected(momentum, acceleration) + _projected(omega, moment)
        # What acts within the joints, along their own coordinates.
        passive, V = self.passive, motion.q_theta
        turned = np.swapaxes(V, 1, 2)
        H = H + (turned * passive.armature) @ V
        D = D + (turned * passive.armature) @ motion.B
        p = (turned @ joint_forces(self, motion.state)[..., None])[..., 0]
        C = (turned * passive.damping) @ V
        damped = np.any(passive.damping) or self.motors
        A = turned[..., list(self.motors)] if self.motors else None
        return pack(H, D, p, C if damped else None, A)


def motion_at(model: ReducedModel, q: Array) -> ReducedMotion:
    """Velocities and accelerations of a model at closed configurations, shape (N, n)."""
    return model._motion(q)


def joint_forces(model: ReducedModel, state: State) -> Array:
    """What gravity, springs and loads do along all joint coordinates, N or N m, shape (N, n).

    Raises:
        ModelError: A function of ``forces`` gives something else than numbers.
    """
    loops, masses, tau = model.equations.loops, model.masses, model.passive.springs(state.q)
    for column, function in model.forces:
        force = np.asarray(function(state.q[:, column]), dtype=np.float64)
        if force.shape not in ((), tau.shape[:1]) or not np.all(np.isfinite(force)):
            raise ModelError(
                "a force along a coordinate is a function of its values, shape (N,), that "
                f"gives finite numbers of that shape; it gave the shape {force.shape}"
            )
        tau[:, column] += force
    weight = masses.mass[:, None] * model.gravity
    center, _ = masses.in_world(state.T_world_node)
    moment = np.cross(center, weight)
    wrench = np.concatenate([np.broadcast_to(weight, moment.shape), moment], axis=-1)
    wrenches = masses.incidence.T @ wrench
    for name, load in model.loads:
        row = loops.row(loops.graph.node_of[name])
        T = state.T_world_node[:, row] @ loops.graph.T_node_body[name]
        point = (T @ [*np.asarray(load.point), 1.0])[:, :3]
        R = T[:, :3, :3] if load.axes == "body" else np.eye(3)[None]
        force, moment = R @ np.asarray(load.force), R @ np.asarray(load.moment)
        moment = moment + np.cross(point, force)
        wrench = np.concatenate([np.broadcast_to(force, moment.shape), moment], axis=-1)
        wrenches += node_incidence(loops)[row][:, None] * wrench[:, None]
    return np.asarray(tau + np.sum(state.screws * wrenches, axis=-1))


def _projected(a: Array, b: Array) -> Array:
    """Sum over the bodies of a transposed times b, shape (N, s, k)."""
    N, _, _, s = a.shape
    return np.asarray(np.swapaxes(a.reshape(N, -1, s), 1, 2) @ b.reshape(N, -1, b.shape[-1]))


def _crossed(a: Array, b: Array) -> Array:
    """Cross products of all columns with all columns, by the products of the rates."""
    return symmetric_products(np.cross(a[..., :, None], b[..., None, :], axis=2))
