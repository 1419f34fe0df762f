r"""Equilibrium of all bodies of a mechanism, with every joint as a constraint.

The wrench in a joint of the spanning tree is what the bodies behind it need, less what the chords
bring there. So all joint wrenches follow from those of the chords, :math:`w = w_0 - C X`, and the
joints' freedoms, along which only motors act, give the equations :math:`J^T X = S^T w_0 - \tau`
with the closure Jacobian J. Self-stress, the null space of :math:`J^T`, is what they leave open.
Wrenches are about ``loops.center``, world axes, forces times ``loops.length``, so that they are
dual to the scaled twists of ``LoopKinematics``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.lie.subalgebra import decide_rank
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import Mask
from regularize.mechanism.cycles import LoopTree
from regularize.mechanism.graph import EdgeId, NodeId
from regularize.mechanism.mechanism import Inertia
from regularize.reduction.reduce import Reduction


def node_incidence(loops: LoopTree) -> Array:
    """Sign with which each coordinate of the tree moves each node, shape (nodes, n)."""
    signs = np.zeros((len(loops.nodes), loops.freedoms))
    for row, node in enumerate(loops.nodes):
        for edge, sign in loops.path_to_root(node):
            signs[row, loops.local(edge)] = sign
    return signs


class Equilibrium:
    """Joint wrenches of a mechanism, or of one of its cells, at one configuration.

    Args:
        reduction: Of the mechanism.
        q: Coordinates of all joints, or of those of the edges, shape (n,).
        edges: The edges that take part; by default all.
    """

    def __init__(
        self, reduction: Reduction, q: Array, edges: Sequence[EdgeId] | None = None
    ) -> None:
        self.graph, self.rtol = reduction.graph, reduction.tolerances.rtol
        #: Share of a unit state of self-stress below which a joint has no part in it.
        self.absent = reduction.tolerances.alike
        self.loops = loops = sized_loops(self.graph, q, edges, reduction.tree)
        self.state = loops.state(q)
        self.screws = loops.scaled(self.state.screws)[0]
        self.equations = 6 * len(loops.chords)

    @cached_property
    def jacobian(self) -> Array:
        """Closure equations and couplings on the velocities, shape (6 L + C, n).

        Couplings tie freedoms to each other: their forces are unknowns beside the chords'.
        """
        return np.asarray(self.loops.jacobian(self.state)[0])

    @cached_property
    def signs(self) -> Array:
        """How every chord's wrench enters every edge's, shape (edges, L)."""
        return self.loops.edge_incidence.T

    def fields(self, unknowns: Array) -> Array:
        """Wrench in every edge from those of the chords, shape (edges, 6, k).

        Args:
            unknowns: Chords' wrenches and the couplings' forces, shape (6 L + C, k).
        """
        chords = unknowns[: self.equations].reshape(len(self.loops.chords), 6, unknowns.shape[1])
        return np.asarray(-np.einsum("el,lik->eik", self.signs, chords))

    @cached_property
    def self_stress(self) -> Array:
        """Orthonormal basis of the states in balance without any load, shape (6 L + C, states)."""
        u, s, _ = np.linalg.svd(self.jacobian * self.loops.units, full_matrices=True)
        return np.asarray(u[:, decide_rank(s, self.rtol).rank :])

    def motion(self, v: Array, a: Array) -> tuple[Array, Array]:
        """Twist and acceleration of every node about the origin, world axes, shapes (nodes, 6)."""
        screws = self.state.screws
        rates = self.loops.screw_rates(screws, v[None])[0]
        signs = node_incidence(self.loops)
        carried = a[:, None] * screws[0] + v[:, None] * rates
        return signs @ (v[:, None] * screws[0]), signs @ carried

    def complete(self, v: Array, a: Array, given: Mask) -> tuple[Array, Array]:
        """Velocities and accelerations of all coordinates from some of them.

        Args:
            v: Velocities, shape (n,); entries that are not given are replaced.
            a: Accelerations, shape (n,).
            given: Which coordinates are given, shape (n,).
        """
        v, a = np.where(given, v, 0.0), np.where(given, a, 0.0)
        rest = self.jacobian[:, ~given]
        v[~given] = -np.linalg.lstsq(rest, self.jacobian @ v, rcond=self.rtol)[0]
        bias = self.loops.bias(self.state, v)[0]
        a[~given] = -np.linalg.lstsq(rest, self.jacobian @ a + bias, rcond=self.rtol)[0]
        return v, a

    def needed(self, v: Array, a: Array, loads: Mapping[str, Array]) -> dict[NodeId, Array]:
        """Wrench that the joints of every node have to bring: inertia less gravity and loads.

        Args:
            v: Velocities of all coordinates, shape (n,).
            a: Their accelerations, shape (n,).
            loads: Wrench on bodies, at the origin of the body, world axes, force first.
        """
        graph, mechanism = self.graph, self.graph.mechanism
        twist, acceleration = self.motion(v, a)
        needed = {node: np.zeros(6) for node in self.loops.nodes}
        for node in needed:
            row = self.loops.row(node)
            T_world_node = self.state.T_world_node[0, row]
            for name in graph.members[node]:
                T = T_world_node @ graph.T_node_body[name]
                inertia = mechanism.body(name).inertia
                if inertia is not None:
                    seen = inertia.transformed(T)
                    wrench = _inertia_wrench(seen, twist[row], acceleration[row], mechanism.gravity)
                    needed[node] += self._at_center(wrench, seen.center)
                if name in loads:
                    needed[node] -= self._at_center(np.asarray(loads[name], float), T[:3, 3])
        return needed

    def _at_center(self, wrench: Array, point: Array) -> Array:
        """A wrench at a point as the scaled wrench about the centre."""
        force = wrench[:3]
        moment = wrench[3:] + np.cross(point - self.loops.center, force)
        return np.concatenate([force * self.loops.length, moment])

    def about(self, wrenches: Array, point: Array) -> Array:
        """Scaled wrenches about the centre, shape (6, k), as scaled wrenches about a point."""
        arm = (self.loops.center - point) / self.loops.length
        return np.vstack([wrenches[:3], wrenches[3:] + screw.cross_matrix(arm) @ wrenches[:3]])

    def at_point(self, wrenches: Array, point: Array) -> Array:
        """Scaled wrenches about the centre, shape (6, k), as wrenches at a point in N and N m."""
        result = self.about(wrenches, point)
        result[:3] /= self.loops.length
        return result

    def origin(self, edge: EdgeId) -> Array:
        """Pose of a joint's frame on its parent as the file has it, world axes, shape (4, 4).

        Kinematics may have its origin elsewhere on the axis.
        """
        graph, own = self.graph, self.graph.edges[edge]
        pose, joint = self.state.T_world_node[0, self.loops.row(own.parent)], own.joint
        if graph.node_of[joint.parent] != own.parent:  # a further joint of several in series
            return np.asarray(pose @ own.T_parent)
        return np.asarray(pose @ graph.T_node_body[joint.parent] @ joint.T_parent_joint)

    def open_tree(self, needed: Mapping[NodeId, Array]) -> Array:
        """Wrench in every edge when the chords transmit nothing, shape (edges, 6)."""
        position = {e: i for i, e in enumerate(self.loops.edges)}
        behind = {node: np.array(wrench) for node, wrench in needed.items()}
        result = np.zeros((len(self.loops.edges), 6))
        for index, node in reversed(self.loops.tree):
            edge = self.graph.edges[index]
            result[position[index]] = behind[node] if node == edge.child else -behind[node]
            behind[edge.other(node)] += behind[node]
        return result

    def along_freedoms(self, fields: Array) -> Array:
        """Generalised force of every coordinate in wrench fields of shape (edges, 6), (n,)."""
        tau = np.zeros(self.loops.freedoms)
        for i, e in enumerate(self.loops.edges):
            local = self.loops.local(e)
            tau[local] = self.screws[local] @ fields[i]
        return tau

    def solve(self, open_tree: Array, tau: Array, held: Mask) -> tuple[Array, Array, Array]:
        """Unknowns in balance, the self-stress beside them, and what stays out of balance.

        Args:
            open_tree: From ``open_tree``, shape (edges, 6).
            tau: Known forces along the freedoms, shape (n,).
            held: Coordinates whose forces are whatever is needed, shape (n,).

        Returns:
            One solution, shape (6 L + C,); a basis of what may be added, shape (6 L + C, states);
            and the forces along the freedoms that nothing balances, shape (n,).
        """
        units = self.loops.units
        matrix = (self.jacobian * units)[:, ~held]
        right = ((self.along_freedoms(open_tree) - tau) * units)[~held]
        u, s, vt = np.linalg.svd(matrix, full_matrices=True)
        rank = decide_rank(s, self.rtol).rank
        solution = u[:, :rank] @ ((vt[:rank] @ right) / s[:rank])
        missing = np.zeros(len(tau))
        missing[~held] = (right - matrix.T @ solution) / units[~held]
        return np.asarray(solution), np.asarray(u[:, rank:]), missing


def _inertia_wrench(inertia: Inertia, twist: Array, acceleration: Array, gravity: Array) -> Array:
    """Force and moment about the centre of mass that the motion and gravity ask for, shape (6,)."""
    c, w = inertia.center, twist[3:]
    velocity = twist[:3] + np.cross(w, c)
    at_c = acceleration[:3] + np.cross(acceleration[3:], c) + np.cross(w, velocity)
    force = inertia.mass * (at_c - gravity)
    moment = inertia.matrix @ acceleration[3:] + np.cross(w, inertia.matrix @ w)
    return np.concatenate([force, moment])
