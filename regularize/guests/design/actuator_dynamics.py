r"""Dynamics in actuator coordinates by elimination of the constraints, and the configurations.

Brüls (2003), section 3, on joint coordinates and on the kept rows of the loops, so redundant
constraints cannot make :math:`\Phi_q` rectangular. Every quantity is exact: the derivative of
:math:`q_\theta` comes from the brackets of the screws, not from finite differences.

The kept rows and one row per input are as many equations as there are joint coordinates (eq. 10),
and determine a configuration near any regular one: in closed form where there is one, checked
against all equations; elsewhere the inputs are driven straight from the reference to the given
ones, so that a path never changes to another assembly mode unnoticed. Rows that special dimensions
make dependent are consistent, so least squares solve them exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from regularize import validation
from regularize.dynamics.simulation.loads import BodyLoad
from regularize.errors import ModelError, NoInertia, NotFinite, SingularInputs
from regularize.guests.design.equation_of_motion import (
    EquationOfMotion,
    count,
    pack,
    symmetric_products,
)
from regularize.guests.design.moving_masses import MovingMasses
from regularize.guests.modes.sampling import ClosedBranch, closed_branch
from regularize.lie.arrays import Array, Coordinates, Jacobian, Mask, read_only
from regularize.loops.continuation import Arrived, Continuation, Stepped, drive
from regularize.loops.kinematics import LoopKinematics, State
from regularize.loops.projection import in_parts, least_norm
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.mechanism import no_inertia
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.cuts import ReducedLoops
from regularize.repair.statics.passive_joints import PassiveJoints
from regularize.tolerances import EXACT, Tolerances

#: How often unreached inputs are tried again from the nearest ones that were reached: most are
#: found at once or never.
DETOURS = 2


@dataclass(frozen=True, eq=False)
class ReachedConfigurations(Arrived):
    """Configurations that belong to given inputs."""

    stopped: Array  # inputs (N, s) at which each path ended


class ActuatedLoops(Continuation):
    r"""The kept rows of closed loops with one equation per input, :math:`\Phi(q, \theta) = 0`."""

    def __init__(
        self,
        loops: LoopKinematics,
        reduced: ReducedLoops,
        inputs: Sequence[int],
        q: Coordinates,
        *,
        search: bool = True,
        tolerances: Tolerances = EXACT,
    ) -> None:
        # No direction may be left out: at a crossing, another branch begins along it.
        super().__init__(reduced, replace(tolerances, singular=tolerances.closed))
        self.loops, self.reduced, self.inputs = loops, reduced, list(inputs)
        self.q, self._search = q, search

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the closed form, which is compiled: in other processes paths are followed."""
        return {**self.__dict__, "closed": None}

    @cached_property
    def closed(self) -> ClosedBranch | None:
        """The closed form of the reference's branch, where there is one; found at first use."""
        return closed_branch(self.loops, self.inputs, self.q) if self._search else None

    @property
    def theta(self) -> Array:
        """Inputs at the reference configuration, shape (s,)."""
        return np.asarray(self.q[self.inputs])

    def rows(self, state: State) -> Jacobian:
        """Return the kept rows by scaled velocities; exact where the loops close."""
        return self.reduced.residual_jacobian(state) * self.loops.units

    def completed(self, rows: Array, given: Array, right: Array | float = 0.0) -> Array:
        """Complete scaled velocities (s, k) of the inputs to those of all joints, (N, n, k)."""
        free = np.delete(np.arange(len(self.loops.units)), self.inputs)
        right = right - rows[..., self.inputs] @ given
        result = np.zeros((len(rows), len(self.loops.units), given.shape[1]))
        result[:, self.inputs] = given
        result[:, free] = least_norm(rows[..., free], right, self.tolerances.singular)
        return result * self.loops.units[:, None]

    def _jacobian(self, q: Coordinates) -> Jacobian:
        r"""Return :math:`\Phi_q` by scaled velocities: the kept rows, then one per input."""
        rows = self.rows(self.loops.state(q))
        locked = np.eye(len(self.loops.units))[self.inputs]
        return np.concatenate([rows, np.broadcast_to(locked, (len(q), *locked.shape))], axis=1)

    def clearance(self, q: Coordinates) -> Array:
        r"""Return the smallest over the largest singular value of :math:`\Phi_q`."""
        sizes = np.linalg.svd(self._jacobian(q), compute_uv=False)
        return np.asarray(sizes[:, -1] / sizes[:, 0])

    def moving_joints(self, q: Coordinates) -> list[str]:
        """Name the coordinates that can still move, or nearly so, with the inputs locked."""
        share = np.abs(np.linalg.svd(self._jacobian(q)[0])[2][-1])
        return [self._name(int(i)) for i in np.flatnonzero(share > 0.1 * max(share))]

    def _name(self, i: int) -> str:
        """Name a coordinate of the loops."""
        return coordinate_names(self.loops.graph.mechanism)[int(self.loops.columns[i])]

    def solve(self, theta: Array, shortest: float = 1e-7) -> ReachedConfigurations:
        """Find configurations at inputs (N, s) on the reference's branch, or its singular ends."""
        theta = np.asarray(theta, dtype=np.float64)
        if not np.all(np.isfinite(theta)):
            raise NotFinite("inputs have to be finite numbers")
        q, reached = np.repeat(self.q[None], len(theta), axis=0), np.zeros(len(theta), dtype=bool)
        if self.closed is not None:
            found, reached = self.closed(theta)
            reached &= np.all(found[:, self.inputs] == theta, axis=1)
            reached[reached] = self._fulfilled(found[reached])
            q[reached] = found[reached]
        lost = np.flatnonzero(~reached)
        first = drive(self, q[lost], self.inputs, theta[lost], shortest=shortest)
        q[lost], reached[lost] = first.q, first.reached
        scaled = theta / self.loops.units[self.inputs]
        # One input leaves only one way to go.
        for _ in range(DETOURS if theta.shape[1] > 1 and reached.any() else 0):
            lost, known = np.flatnonzero(~reached), np.flatnonzero(reached)
            nearest = known[KDTree(scaled[known]).query(scaled[lost])[1]]
            again = drive(self, q[nearest], self.inputs, theta[lost], shortest=shortest)
            arrived = lost[again.reached]
            if not len(arrived):
                break
            q[arrived], reached[arrived] = again.q[again.reached], True
        return ReachedConfigurations(q, reached, stopped=q[:, self.inputs])

    def require(self, theta: Array) -> Coordinates:
        """Find configurations at inputs; raise ``SingularInputs`` where a path ends before."""
        found = self.solve(theta)
        if not found.reached.all():
            i = int(np.flatnonzero(~found.reached)[0])
            names, moving = [*map(self._name, self.inputs)], self.moving_joints(found.q[[i]])
            raise SingularInputs(names, theta[i], found.stopped[i], moving)
        return found.q

    def driven(self, q: Coordinates, columns: Sequence[int], goal: Array) -> Stepped:
        """Make a step, which also has to fulfil the equations that the reduction removed."""
        found = super().driven(q, columns, goal)
        good = found.good.copy()
        good[good] = self._fulfilled(found.q[good])
        return replace(found, good=good)

    def _fulfilled(self, q: Coordinates) -> Mask:
        """Tell which configurations fulfil every equation, those removed included."""
        state = self.loops.state(q)
        kept, every = (
            np.abs(constraints.residual(state)).max(axis=1, initial=0.0)
            for constraints in (self.reduced, self.loops)
        )
        return np.asarray((kept <= self.tolerances.closed) & (every <= self.tolerances.same))


#: Length of the last step of a path, radians or lengths, where its exact end does not matter.
NEARLY = 1e-3


@dataclass(frozen=True, eq=False)
class ReducedMotion:
    """What is linear in the inputs' rates and their P products, at N configurations."""

    state: State
    q_theta: Array  # joint velocities by the inputs' rates (eq. 11), shape (N, n, s)
    rates: Array  # derivative of every screw times its coordinate's rate, shape (N, n, 6, P)
    B: Array  # joint accelerations by the products (eq. 27), shape (N, n, P)


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
    r"""Inverse and forward dynamics of a mechanism in its actuator coordinates (Brüls 2003).

    Its equation of motion is τ = H(θ) θ̈ + D(θ) (θ̇ᵢ θ̇ⱼ) − p(θ), with s inputs θ in radians and
    metres, efforts τ in N and N m. H has the shape (..., s, s), D of the s (s + 1) / 2 products of
    rates (..., s, P), and p of gravity, springs and loads (..., s).

    Example:
        >>> model = rg.reduced_model("assets/planar_fourbar.urdf", ["A"])
        >>> print(model.H([[0.1]]), model.p([[0.1]]), model.q_theta([[0.1]]).shape)
        >>> torque = model.inverse_dynamics([[0.1]], [[1.0]], [[0.0]])

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
    masses: MovingMasses
    gravity: Array
    passive: PassiveJoints
    loads: tuple[tuple[str, BodyLoad], ...]
    findings: tuple[Diagnostic, ...] = ()
    motors: tuple[int, ...] = ()
    forces: tuple[tuple[int, Callable[[Array], ArrayLike]], ...] = ()

    def no_inertia(self) -> NoInertia:
        """Make the error that says that the inertia matrix is singular."""
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

    def H(self, theta: ArrayLike) -> Array:
        """Inertia matrix (eq. 18), shape (..., s, s)."""

        def of(part: Array) -> Array:
            state, _, V = self._velocities(self.equations.require(part))
            return self._momenta(state, V)[0]

        return self._like(theta, in_parts(of, self._table(theta)))

    def coefficients(self, theta: Array) -> Array:
        """H, D, p and C in one row per configuration, shape (N, t); see ``equation_of_motion``.

        Raises:
            SingularConfiguration: Some inputs cannot be reached on the reference's branch.
        """
        every = self._table(theta)
        return in_parts(lambda part: self._coefficients(self.equations.require(part)), every)

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

    def _velocities(self, q: Coordinates) -> tuple[State, Array, Array]:
        """Return state, rows and velocities by the inputs' rates at closed configurations."""
        equations, loops = self.equations, self.equations.loops
        state = loops.state(q)
        rows = equations.rows(state)
        units = np.diag(1.0 / loops.units[equations.inputs])
        return state, rows, equations.completed(rows, units)

    def _momenta(self, state: State, V: Array) -> tuple[Array, Array, Array, Array]:
        """Return the inertia matrix, and inertia, twist and momentum of the bodies."""
        inertia = self.masses.in_world(state.T_world_node)
        twist = self._of_bodies(state.screws[..., None] * V[:, :, None])
        momentum = inertia @ twist
        within = (np.swapaxes(V, 1, 2) * self.passive.armature) @ V
        return _projected(twist, momentum) + within, inertia, twist, momentum

    def _of_bodies(self, fields: Array) -> Array:
        """Sum screws of coordinates (N, n, 6, k) to those of bodies, shape (N, b, 6, k)."""
        N, n, _, k = fields.shape
        return np.asarray(self.masses.incidence @ fields.reshape(N, n, 6 * k)).reshape(N, -1, 6, k)

    def _motion(self, q: Coordinates) -> ReducedMotion:
        """Return velocities and accelerations at closed configurations, shape (N, n)."""
        equations, loops, s = self.equations, self.equations.loops, len(self.inputs)
        state, rows, V = self._velocities(q)
        N, n = q.shape
        # The rate of a screw is linear in the velocity: one evaluation per input is exact.
        rates = loops.screw_rates(
            np.repeat(state.screws, s, axis=0), np.swapaxes(V, 1, 2).reshape(N * s, n)
        ).reshape(N, s, n, 6)
        rates = symmetric_products(np.einsum("njic,nik->nickj", rates, V))
        around = np.einsum("li,nicp->nlcp", loops.incidence, rates)
        resting = np.zeros((s, rates.shape[-1]))
        B = equations.completed(rows, resting, -equations.reduced.loop_rows(state, around))
        return ReducedMotion(state, V, rates, B)

    def _coefficients(self, q: Coordinates) -> Array:
        """Return rows of coefficients at closed configurations, shape (N, t)."""
        motion, passive = self._motion(q), self.passive
        V, screws = motion.q_theta, motion.state.screws[..., None]
        H, inertia, twist, momentum = self._momenta(motion.state, V)
        drift = self._of_bodies(motion.rates + screws * motion.B[:, :, None])
        D = _projected(twist, inertia @ drift + _momentum_rates(twist, momentum))
        # What acts within the joints, along their own coordinates.
        turned = np.swapaxes(V, 1, 2)
        D = D + (turned * passive.armature) @ motion.B
        p = (turned @ joint_forces(self, motion.state)[..., None])[..., 0]
        C = (turned * passive.damping) @ V
        damped = np.any(passive.damping) or self.motors
        A = turned[..., list(self.motors)] if self.motors else None
        return pack(H, D, p, C if damped else None, A)


def joint_forces(model: ReducedModel, state: State) -> Array:
    """Return joint forces of gravity, springs and loads in N or N m, shape (N, n)."""
    loops, masses, tau = model.equations.loops, model.masses, model.passive.springs(state.q)
    for column, function in model.forces:
        force = np.asarray(function(state.q[:, column]), dtype=np.float64)
        if force.shape not in ((), tau.shape[:1]) or not np.all(np.isfinite(force)):
            raise ModelError(
                "a force along a coordinate is a function of its values, shape (N,), that "
                f"gives finite numbers of that shape; it gave the shape {force.shape}"
            )
        tau[:, column] += force
    weight = masses.in_world(state.T_world_node)[..., :3] @ model.gravity
    wrenches = masses.incidence.T @ weight
    for name, load in model.loads:
        row = loops.row(loops.graph.node_of[name])
        T = state.T_world_node[:, row] @ loops.graph.T_node_body[name]
        R = T[:, :3, :3] if load.axes == "body" else np.broadcast_to(np.eye(3), (len(T), 3, 3))
        force, moment = R @ np.asarray(load.force), R @ np.asarray(load.moment)
        moment = moment + np.cross((T @ [*np.asarray(load.point), 1.0])[:, :3], force)
        wrench = np.concatenate([force, moment], axis=-1)
        wrenches += loops.movers[row][:, None] * wrench[:, None]
    return np.asarray(tau + np.sum(state.screws * wrenches, axis=-1))


def _projected(a: Array, b: Array) -> Array:
    """Sum over the bodies of a transposed times b, shape (N, s, k)."""
    N, _, _, s = a.shape
    return np.asarray(np.swapaxes(a.reshape(N, -1, s), 1, 2) @ b.reshape(N, -1, b.shape[-1]))


def _momentum_rates(twist: Array, momentum: Array) -> Array:
    """Return rates of momenta (N, b, 6, s) of moving bodies, by the products of input rates."""
    v, w = (part[..., :, None] for part in np.split(twist, 2, axis=2))
    linear, angular = (part[..., None, :] for part in np.split(momentum, 2, axis=2))
    about = np.cross(w, angular, axis=2) + np.cross(v, linear, axis=2)
    return symmetric_products(np.concatenate([np.cross(w, linear, axis=2), about], axis=2))
