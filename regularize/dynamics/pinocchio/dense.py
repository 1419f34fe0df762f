"""The equations of motion of a tree with its rows by dense algebra, about its first link."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from regularize.dynamics.step.multibody import MultibodyTree
from regularize.dynamics.step.posing import columns_of, poses_of
from regularize.lie import screw
from regularize.lie.arrays import Array


class DenseTree:
    """Parts of a tree's equations that do not depend on the state; columns are all freedoms.

    ``carried`` says which links a column moves, ``owner`` whose freedom it is, and ``sense``
    whether it moves the second link of a row's loop alone, 1, or the first one, -1.
    """

    def __init__(self, multibody: MultibodyTree) -> None:
        links, nv = multibody.links, multibody.nv
        self.multibody = multibody
        self.owner = np.repeat(np.arange(1, len(links) + 1), [link.freedoms for link in links])
        self.carried: Array = np.zeros((len(links) + 1, len(self.owner)))
        for b, link in enumerate(links, start=1):
            self.carried[b] = self.carried[link.parent]
            self.carried[b, self.owner == b] = 1.0
        self.before = np.array([0, *(link.parent for link in links)])[self.owner]
        self.scaling = np.array([1.0, *(link.scaling for link in links)])[self.owner]
        self.inertias = np.array([np.zeros((6, 6)), *(link.inertia for link in links)])
        rates = [link.rate + k for link in links for k in range(link.freedoms)]
        self.to_columns: Array = np.zeros((len(rates), nv))
        self.to_columns[range(len(rates)), rates] = 1.0
        #: Whether a link carries another one, or is it.
        self.subtrees = np.eye(len(links) + 1)
        for b in range(len(links), 0, -1):
            self.subtrees[links[b - 1].parent] += self.subtrees[b]
        counts = [len(loop.covectors) for loop in multibody.loops]
        self.loop_of = np.repeat(np.arange(len(counts)), counts)
        self.first = np.array([loop.first for loop in multibody.loops], dtype=int)
        self.second = np.array([loop.second for loop in multibody.loops], dtype=int)
        self.leading = {link.rate: link for link in links if not link.follows}
        self.sense_of_loop = self.carried[self.second] - self.carried[self.first]
        self.sense = self.sense_of_loop[self.loop_of]

    def at(self, q: Array, v: Array | None = None) -> DenseState:
        """Return the equations at a configuration (nq,) and a velocity (nv,), zero by default."""
        return DenseState(self, q, np.zeros(self.multibody.nv) if v is None else v)


class DenseState:
    """The equations of a tree at a state."""

    def __init__(self, tree: DenseTree, q: Array, v: Array) -> None:
        self.tree, multibody = tree, tree.multibody
        poses = np.array(poses_of(multibody.links, q))
        poses[:, :3, 3] -= poses[min(1, len(poses) - 1), :3, 3].copy()
        self._poses = poses
        #: Of couplings' curves the row, the velocity, its value, and derivatives by rising order.
        self._curves = []
        for row, velocity, curve in multibody.curves:
            link = tree.leading[velocity]
            x = q[link.coordinate]
            if link.kind == "continuous":
                x = np.arctan2(q[link.coordinate + 1], x)
            slopes = [float(curve(x, order)) for order in (1, 2)]
            self._curves.append((row + len(tree.loop_of), velocity, v[velocity], slopes))
        columns = columns_of(multibody.links, [*poses])
        self.S = columns * tree.scaling[:, None]
        self._rates = tree.to_columns @ v
        self.V = tree.carried @ (self.S * self._rates[:, None])
        #: What the motion before a joint makes of its columns, P above.
        self.swept = screw.bracket(self.V[tree.before], self.S)
        self.A = tree.carried @ (self.swept * self._rates[:, None])
        self.A[:, :3] -= multibody.gravity

    @cached_property
    def _inertias(self) -> Array:
        """Spatial inertias of all links about one point, in ground axes, shape (links, 6, 6)."""
        to_link = screw.adjoint(screw.inverse(self._poses))
        return np.asarray(np.swapaxes(to_link, -1, -2) @ self.tree.inertias @ to_link)

    @property
    def twists(self) -> Array:
        """Twists of all links in their own frames, shape (links, 6)."""
        to_link = screw.adjoint(screw.inverse(self._poses))
        return np.asarray((to_link @ self.V[..., None])[..., 0])

    def _wrenches(self, A: Array) -> Array:
        """Return the wrenches that the subtrees of all links need, shape (links, 6)."""
        momenta = (self._inertias @ self.V[..., None])[..., 0]
        of_links = (self._inertias @ A[..., None])[..., 0] + _carry(self.V, momenta)
        return np.asarray(self.tree.subtrees @ of_links)

    @cached_property
    def mass_matrix(self) -> Array:
        """Mass matrix, shape (nv, nv)."""
        tree = self.tree
        # Inertias of the subtrees that columns move, and wrenches for unit accelerations of them.
        composite = np.tensordot(tree.subtrees, self._inertias, 1)[tree.owner]
        pushes = (composite @ self.S[..., None])[..., 0]
        below = pushes @ self.S.T * tree.carried[tree.owner]
        same = tree.owner[:, None] == tree.owner
        whole = below + np.where(same, 0.0, below).T
        by_velocities = tree.to_columns.T @ whole @ tree.to_columns
        return np.asarray(by_velocities + np.diag(tree.multibody.armature))

    @cached_property
    def needed(self) -> Array:
        """Joint forces of inverse dynamics at zero acceleration, shape (nv,)."""
        forces = (self.S * self._wrenches(self.A)[self.tree.owner]).sum(axis=1)
        return np.asarray(self.tree.to_columns.T @ forces)

    @cached_property
    def _covectors(self) -> Array:
        """Rows of the loops about the point, shape (rows of loops, 6)."""
        loops, poses = self.tree.multibody.loops, self._poses
        each = (
            x.covectors @ screw.adjoint(screw.inverse(poses[x.first] @ x.row_frame)) for x in loops
        )
        return np.concatenate([np.zeros((0, 6)), *each])

    @cached_property
    def jacobian(self) -> Array:
        """Rows on velocities, shape (rows, nv)."""
        rows = (self._covectors @ self.S.T * self.tree.sense) @ self.tree.to_columns
        rows = np.vstack([rows, self.tree.multibody.couplings])
        for row, velocity, _, (slope, _) in self._curves:
            rows[row, velocity] = slope
        return rows

    @cached_property
    def bias(self) -> Array:
        """Rates of the rows while no velocity changes, shape (rows,)."""
        one, two = self.tree.first, self.tree.second
        drifts = self.A[two] - self.A[one] - screw.bracket(self.V[one], self.V[two])
        rates = (self._covectors * drifts[self.tree.loop_of]).sum(axis=1)
        rates = np.concatenate([rates, np.zeros(len(self.tree.multibody.couplings))])
        for row, _, rate, (_, second) in self._curves:
            rates[row] = second * rate**2
        return rates


def _carry(x: Array, wrenches: Array) -> Array:
    """Return rates of wrenches that are fixed in bodies with twists x, shape (N, 6)."""
    return -(wrenches[:, None] @ screw.ad(x))[:, 0]
