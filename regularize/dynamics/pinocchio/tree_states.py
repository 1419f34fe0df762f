"""What is known of a tree with its rows at states, by the compiled step or by dense algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from regularize.dynamics.pinocchio.closure_rows import ClosureRows, ConstraintRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates
from regularize.dynamics.pinocchio.dense import DenseState, DenseTree
from regularize.dynamics.pinocchio.spanning_tree import TreeJoint
from regularize.dynamics.step.multibody import MultibodyTree
from regularize.dynamics.step.posing import columns_of, moved, poses_of
from regularize.lie import screw
from regularize.lie.arrays import Array, Jacobian, MassMatrix, Torque
from regularize.mechanism.graph import ColumnId
from regularize.repair.statics.passive_joints import PassiveJoints


class MasslessMotion(np.linalg.LinAlgError):
    """The mechanism can move without moving any mass, for one at ``velocity``."""

    def __init__(self, velocity: Array) -> None:
        self.velocity = velocity
        super().__init__("a free motion moves no mass")


def require_mass(M: Array, free: Array) -> None:
    """Raise ``MasslessMotion`` where a free velocity moves no mass; see ``massless_velocity``."""
    idle = massless_velocity(M, free)
    if idle is not None:
        raise MasslessMotion(idle)


def massless_velocity(M: Array, free: Array) -> Array | None:
    """Return a velocity among the free ones, shape (nv, k), that moves no mass, None without any.

    The mass that a velocity moves is compared with the sum of what its entries would move one by
    one, so that neither units nor light bodies beside heavy ones matter.
    """
    scale = np.sqrt(np.einsum("ik,i,ik->k", free, np.diag(M), free))
    if not np.all(scale > 0.0):
        return np.asarray(free[:, int(np.argmin(scale))])
    # In units in which every velocity of the basis alone moves a mass of one.
    basis = free / scale
    values, vectors = np.linalg.eigh(basis.T @ M @ basis)
    # Below this, masses have cancelled to rounding.
    return np.asarray(basis @ vectors[:, 0]) if len(values) and values[0] <= 1e-13 else None


class TreeTerms(NamedTuple):
    """Terms of the equations of motion of a tree with rows at a state."""

    M: MassMatrix
    needed: Torque  #: without acceleration
    jacobian: Jacobian
    bias: Array  #: rates of the rows at zero acceleration


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Singular vectors of the rows at a configuration, cut at their rank r."""

    left: Array  #: directions among the rows, shape (m, r)
    values: Array  #: singular values, shape (r,)
    right: Array  #: velocities that the rows see, shape (nv, r)
    free: Array  #: orthonormal velocities that keep the loops closed, shape (nv, nv - r)

    @classmethod
    def of(cls, jacobian: Array, rank: int) -> Split:
        """Split a Jacobian of known rank."""
        u, s, vt = np.linalg.svd(jacobian)
        return cls(u[:, :rank], s[:rank], vt[:rank].T, vt[rank:].T)

    def solve(self, values: Array) -> Array:
        """Return the smallest velocity at which the rows have the given values."""
        with np.errstate(divide="ignore", invalid="ignore"):  # not a number where it is singular
            return np.asarray(self.right @ ((self.left.T @ values).T / self.values).T)

    def solve_transposed(self, forces: Array) -> Array:
        """Return the smallest multipliers whose joint forces come nearest to the given ones."""
        return np.asarray(self.left @ ((self.right.T @ forces).T / self.values).T)

    def response(self, M: Array, forces: Array, values: Array) -> Array:
        """Return accelerations under forces at which the rows have the given values."""
        particular, free = self.solve(values), self.free
        rest = free.T @ (forces - M @ particular)
        require_mass(M, free)
        return np.asarray(particular + free @ np.linalg.solve(free.T @ M @ free, rest))

    @property
    def pseudoinverse(self) -> Array:
        """Pseudoinverse of the rows, shape (nv, m)."""
        return np.asarray((self.right / self.values) @ self.left.T)

    def inverse(self, M: Array) -> tuple[Array, Array]:
        """Return maps of forces (nv, nv) and row values (nv, m) to accelerations, for any M."""
        free, taken = self.free, self.pseudoinverse
        require_mass(M, free)
        factor = np.linalg.solve(np.linalg.cholesky(free.T @ M @ free), free.T)
        answer = factor.T @ factor
        return answer, taken - answer @ (M @ taken)


@dataclass(frozen=True, eq=False, repr=False)
class Stabilization:
    r"""Baumgarte's terms :math:`2 \zeta \omega J v + \omega^2 r(q)`, added to the bias."""

    frequency: float
    damping: float

    @property
    def rate(self) -> float:
        r"""The factor of the rows' rates, :math:`2 \zeta \omega`."""
        return 2.0 * self.damping * self.frequency

    @cached_property
    def factors(self) -> Array:
        """The factors of the rows' rates and of their errors."""
        return np.array([self.rate, self.frequency**2])

    def of(self, rates: Array, errors: Array) -> Array:
        """Return the terms at given rates and errors of the rows, shape (m,)."""
        return np.asarray(self.rate * rates + self.frequency**2 * errors)

    def by_q(self, rates: Array, jacobian: Array) -> Array:
        """Return the derivative of these terms by q on closed loops, shape (m, nv)."""
        return np.asarray(self.rate * rates + self.frequency**2 * jacobian)


class TreeStates:
    """A tree with its rows at states; ``link_of`` is the link that carries each joint's body."""

    def __init__(
        self, multibody: MultibodyTree, link_of: list[int], rows: ConstraintRows, kernel: Any
    ) -> None:
        self.multibody, self.rows, self.kernel = multibody, rows, kernel
        self._link_of, self._links = link_of, 1 + len(multibody.links)

    @cached_property
    def _dense(self) -> DenseTree:
        """The tree's equations by dense algebra, made when first used."""
        return DenseTree(self.multibody)

    def dense(self, q: Array, v: Array | None = None) -> DenseState:
        """The equations at a configuration (nq,) and a velocity (nv,) by dense algebra."""
        return self._dense.at(q, v)

    @cached_property
    def _own_frames(self) -> Array:
        """The links' own frames in those that the compiled step has, shape (links, 4, 4)."""
        return screw.inverse(np.array([self.multibody.turned(b) for b in range(self._links)]))

    def _link_poses(self, q: Array) -> Array:
        """Return poses of ground and links at configurations (..., nq), (..., links, 4, 4)."""
        if self.kernel is None:
            links, states = self.multibody.links, np.reshape(q, (-1, self.multibody.nq))
            poses = np.array([poses_of(links, x) for x in states])
            return poses.reshape(*np.shape(q)[:-1], self._links, 4, 4)
        flat = self.kernel.link_poses(q)
        flat = flat.reshape(*flat.shape[:-1], self._links, 12)
        poses = np.zeros((*flat.shape[:-1], 4, 4))
        poses[..., :3, :3] = flat[..., :9].reshape(*flat.shape[:-1], 3, 3)
        poses[..., :3, 3], poses[..., 3, 3] = flat[..., 9:], 1.0
        return np.asarray(poses @ self._own_frames)

    def poses(self, q: Array) -> Array:
        """Poses of the bodies, the ground first, at configurations (..., nq), (..., B, 4, 4)."""
        return self._link_poses(q)[..., self._link_of, :, :]

    def between(self, q: Array, first: int, second: int) -> Array:
        """Return the twist of a body against another about the origin by velocities, (6, nv)."""
        tree, columns = self._dense, columns_of(self.multibody.links, [*self._link_poses(q)])
        moves = tree.carried[self._link_of[second]] - tree.carried[self._link_of[first]]
        return np.asarray((columns.T * (moves * tree.scaling)) @ tree.to_columns)

    def terms(self, q: Array, v: Array) -> TreeTerms:
        """Return the terms of the equations of motion."""
        if self.kernel is not None:
            needed, M, jacobian = self.kernel.inverse_terms(q, v, np.zeros(self.multibody.nv))
            return TreeTerms(M, needed, jacobian, self.kernel.bias(q, v))
        at = self.dense(q, v)
        return TreeTerms(at.mass_matrix, at.needed, at.jacobian, at.bias)

    def jacobian(self, q: Array) -> Array:
        """Rows on velocities, shape (rows, nv)."""
        return np.asarray(self.kernel.jacobian(q)) if self.kernel else self.dense(q).jacobian

    def bias(self, q: Array, v: Array) -> Array:
        """Rates of the rows at zero acceleration, shape (rows,)."""
        return np.asarray(self.kernel.bias(q, v)) if self.kernel else self.dense(q, v).bias

    @cached_property
    def _recorded(self) -> Callable[..., tuple[float, ...]]:
        """Changes with the state as a function of numbers, made when first used."""
        from regularize.dynamics.tape.robot_programs import changes_of  # loaded where wanted

        return changes_of(self.multibody)

    def changes(self, q: Array, v: Array, a: Array, multipliers: Array) -> list[Array]:
        r"""Changes with the state of :math:`M a + n - J^T \lambda`, rows' rates and their values.

        By q and v the first two, (nv, 2 nv) and (rows, 2 nv), by q the last, (rows, nv).
        """
        nv, rows = self.multibody.nv, self.multibody.rows
        given = np.concatenate([q, v, a, multipliers]).tolist()
        parts = np.split(np.array(self._recorded(*given)), np.cumsum([nv * 2 * nv, rows * 2 * nv]))
        shapes = (nv, 2 * nv), (rows, 2 * nv), (rows, nv)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def force_changes(self, q: Array, v: Array, a: Array, multipliers: Array) -> Array:
        """Return derivatives by q, v of inverse dynamics less constraint forces, (nv, 2 nv)."""
        if self.kernel is not None:
            return np.reshape(self.kernel.force_changes(q, v, a, multipliers), (len(v), -1))
        return self.changes(q, v, a, multipliers)[0]

    def values_by_q(self, q: Array, v: Array) -> Array:
        """Return derivatives of the rows' values at a fixed velocity by q, shape (rows, nv)."""
        if self.kernel is not None:
            return np.asarray(self.kernel.row_changes(q, v))
        return self.changes(q, v, 0.0 * v, np.zeros(self.multibody.rows))[2]

    def errors(self, q: Array) -> Array:
        """Return errors of the closures' rows."""
        poses = self.poses(q)
        each = [closure.covectors @ closure.error(poses) for closure in self.rows.closures]
        return np.concatenate([np.zeros(0), *each])

    def wrenches(self, q: Array, multipliers: Array) -> list[Array]:
        """Return the wrench of the multipliers of rows at each closure, in its row frame."""
        ends = np.cumsum([len(closure.covectors) for closure in self.rows.closures])
        shares = np.split(multipliers, ends)
        return [c.covectors.T @ x for c, x in zip(self.rows.closures, shares, strict=False)]

    def coordinates(self, map_: ModelCoordinates, q: Array, step: Array | None = None) -> Array:
        """Return all joint coordinates at ``q``, a tangent ``step`` off zero, shape (N, n)."""
        result = map_.of_tree(q, step)
        closing = None if self.kernel is None else self.kernel.closing_coordinates(q)
        if closing is not None:
            result[:, self.rows.closing_columns] = closing
            return result
        pairs = [(c, list(c.edge.columns)) for c in self.rows.closures if c.edge is not None]
        for row, poses in zip(result, map(self.poses, q), strict=True):
            for closure, columns in pairs:
                row[columns] = closure.position(poses)
        return result

    @cached_property
    def _inertias(self) -> Array:
        """Spatial inertias of the links about their origins, shape (links, 6, 6)."""
        return np.array([np.zeros((6, 6)), *(link.inertia for link in self.multibody.links)])

    def moments(self, q: Array) -> Array:
        """Return mass times centre of mass, shape (..., 3)."""
        poses, inertias = self._link_poses(q), self._inertias
        # The lower left block is the mass times the cross matrix of the centre.
        first = inertias[:, [5, 3, 4], [1, 2, 0]]
        turned = (poses[..., :3, :3] @ first[:, :, None])[..., 0]
        return np.asarray((inertias[:, :1, 0] * poses[..., :3, 3] + turned).sum(axis=-2))

    def energies(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return kinetic energy and potential energy of gravity in J, each of shape (...)."""
        if self.kernel is not None:
            energies = self.kernel.energies(q, v)
            return energies[..., 0], energies[..., 1]
        twists = self._twists(q, v)
        kinetic = 0.5 * (twists * (self._inertias @ twists[..., None])[..., 0]).sum(axis=(-2, -1))
        kinetic += 0.5 * (self.multibody.armature * v * v).sum(axis=-1)
        return kinetic, -(self.moments(q) @ self.multibody.gravity)

    def _twists(self, q: Array, v: Array) -> Array:
        """Return twists of the links in their own frames by dense algebra, (..., links, 6)."""
        states = zip(np.reshape(q, (-1, self.multibody.nq)), np.atleast_2d(v), strict=True)
        twists = [self.dense(x, u).twists for x, u in states]
        return np.array(twists).reshape(*np.shape(v)[:-1], self._links, 6)


@dataclass(frozen=True, eq=False, repr=False)
class PassiveForces:
    """Forces within the joints of a robot."""

    joints: PassiveJoints
    coordinates: ModelCoordinates = field(repr=False)
    states: TreeStates = field(repr=False)

    def dissipative(self, q: Array, v: Array, slip: float | None = None) -> Array:
        """Return joint forces of damping and dry friction, which falls off below ``slip``."""
        if not self.joints.dissipates:
            return np.zeros(len(v))
        rates = self.rates(q, self.joints.damping + self.joints.friction)
        return np.asarray(rates.T @ self.joints.dissipative(rates @ v, slip))

    def springs(self, q: Array) -> Array:
        """Return joint forces of springs."""
        if not self.joints.stores:
            return np.zeros(self.coordinates.tree.nv)
        rates = self.rates(q, self.joints.stiffness)
        return np.asarray(rates.T @ self.joints.springs(self._positions(q)))

    def energy(self, q: Array) -> float:
        """Return the energy in the springs, in J."""
        return float(self.joints.energy(self._positions(q))) if self.joints.stores else 0.0

    def _positions(self, q: Array) -> Array:
        """Return joint coordinates, of closing joints those that have a spring."""
        x = self.coordinates.of_tree(q)
        for closure, columns, poses in self._closing(q, self.joints.stiffness):
            x[columns] = closure.position(poses)
        return x

    def rates(self, q: Array, wanted: Array) -> Array:
        """Return rates of joint coordinates by velocities, of closing joints those ``wanted``."""
        rates, tree = self.coordinates.rates.copy(), self.coordinates.tree
        for j, columns in self.coordinates.backwards:
            if np.any(wanted[columns]):
                # The model has the parent's twist in the parent's axes; rates are in the child's.
                pose, begin = moved(tree.links[tree.link_of[j] - 1], q), tree.idx_vs[j]
                turn = pose[:3, :3] if tree.nvs[j] == 3 else screw.adjoint(pose)
                rates[columns, begin : begin + len(turn)] @= turn
        for closure, columns, poses in self._closing(q, wanted):
            between = self.states.between(q, closure.first, closure.second)
            rates[columns] = closure.rates(poses, between)
        return rates

    def _closing(self, q: Array, wanted: Array) -> list[tuple[ClosureRows, list[ColumnId], Array]]:
        """Return closures whose joints are ``wanted``, their columns, and poses of all bodies."""
        closures = [(c, [*c.edge.columns]) for c in self.states.rows.closures if c.edge]
        chosen = [(closure, columns) for closure, columns in closures if np.any(wanted[columns])]
        poses = self.states.poses(q) if chosen else np.zeros((0, 4, 4))
        return [(closure, columns, poses) for closure, columns in chosen]

    def laws(self, joints_of_tree: Sequence[TreeJoint]) -> tuple[Array, Array] | None:
        """Return springs, dampers and friction as the kernel reads them; None if there are none.

        Shapes are (7, nv) and (4, f). None where a coordinate of the mechanism is no single one of
        the model, where friction acts in a joint that follows another one faster or slower, or a
        spring in a planar joint whose velocity turns with it.
        """
        joints, map_, tree = self.joints, self.coordinates, self.coordinates.tree
        amounts = np.array([joints.damping, joints.friction, joints.stiffness])
        rests = joints.rest_position - map_.of_tree(tree.space.neutral)
        laws: Array = np.zeros((7, tree.nv))
        laws[5] = 1.0
        planes = [link for link in self.states.multibody.links if link.kind == "planar"]
        planar = {link.rate + k for link in planes for k in range(link.freedoms)}
        for joint in joints_of_tree:
            begin = tree.idx_vs[joint.index]
            freedoms = sum(edge.freedoms for edge in joint.edges)
            laws[5, begin : begin + freedoms] = -1.0 if joint.reversed else 1.0
        closed = self.states.rows.closing_columns
        closing = np.vstack([amounts, joints.rest_position])[:, closed]
        amounts[:, closed] = 0.0
        for column in np.flatnonzero(amounts.any(axis=0)).tolist():
            places = np.flatnonzero(map_.rates[column])
            if len(places) != 1:
                return None
            place, factor = int(places[0]), float(map_.rates[column, places[0]])
            damping, friction, stiffness = amounts[:, column].tolist()
            if (friction and abs(factor) != 1.0) or (stiffness and place in planar):
                return None
            laws[1:4, place] += factor**2 * damping, friction, factor**2 * stiffness
            if stiffness:  # of several springs, where they rest together
                part = factor * stiffness / laws[3, place]
                laws[4, place] += part * (rests[column] - factor * laws[4, place])
        return laws, closing
