r"""The equations of motion of a tree with its rows by dense algebra: what the compiled step does.

Vectors are in ground axes about one point, the origin of the first link, so that robots far from
the ground's lose no digits. Everything behind joint k turns with its twist :math:`S_k`; seen from
what has turned, only the motion of the link p before the joint is another one. With

.. math:: P_k = V_p \times S_k, \qquad G_k = A_p \times S_k + V_p \times P_k,

forces of subtrees change by sums over the subtree that are linear in P and G, and so do the rows
(Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018; Singh,
Russo and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, RA-L 2022). The row of a covector W that the first link carries is
:math:`W \cdot (V_2 - V_1)`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from regularize.dynamics.step.multibody import MultibodyTree
from regularize.dynamics.step.posing import columns_of, poses_of
from regularize.lie import screw
from regularize.lie.arrays import Array


class DenseTree:
    """Parts of a tree's equations that do not depend on the state.

    Columns are the freedoms of all links, one after the other; ``carried`` says by 1 and 0 which
    links a column moves, ``owner`` whose freedom it is, and ``sense`` whether it moves the second
    link of a row's loop alone, 1, or the first one, -1.
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
            slopes = [float(curve(x, order)) for order in (1, 2, 3)]
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

    @cached_property
    def _composite(self) -> Array:
        """Inertias of the subtrees that columns move, shape (columns, 6, 6)."""
        return np.asarray(np.tensordot(self.tree.subtrees, self._inertias, 1)[self.tree.owner])

    @cached_property
    def _pushes(self) -> Array:
        """Wrenches on subtrees for unit accelerations of the columns, shape (columns, 6)."""
        return np.asarray((self._composite @ self.S[..., None])[..., 0])

    def _wrenches(self, A: Array) -> Array:
        """Return the wrenches that the subtrees of all links need, shape (links, 6)."""
        momenta = (self._inertias @ self.V[..., None])[..., 0]
        of_links = (self._inertias @ A[..., None])[..., 0] + _carry(self.V, momenta)
        return np.asarray(self.tree.subtrees @ of_links)

    def _summed(self, by_columns: Array) -> Array:
        """Sum the entries of columns that belong to one velocity, giving shape (nv, nv)."""
        return np.asarray(self.tree.to_columns.T @ by_columns @ self.tree.to_columns)

    @cached_property
    def _upward(self) -> Array:
        """Mask (columns, columns): the link of the second column carries that of the first one."""
        return self.tree.carried[self.tree.owner]

    @cached_property
    def mass_matrix(self) -> Array:
        """Mass matrix, shape (nv, nv)."""
        below = self._pushes @ self.S.T * self._upward
        same = self.tree.owner[:, None] == self.tree.owner
        whole = below + np.where(same, 0.0, below).T
        return self._summed(whole) + np.diag(self.tree.multibody.armature)

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

    def _on_velocities(self, by_columns: Array, couplings: float = 0.0) -> Array:
        """Rows over columns as rows over velocities, those of couplings behind them, (rows, nv)."""
        rows = (by_columns * self.tree.sense) @ self.tree.to_columns
        return np.vstack([rows, couplings * self.tree.multibody.couplings])

    def _with_curves(self, rows: Array, values: Callable[[float, list[float]], float]) -> Array:
        """Return rows with entries of curved couplings replaced by values of their slopes."""
        for row, velocity, rate, slopes in self._curves:
            rows[row, velocity] = values(rate, slopes)
        return rows

    @cached_property
    def jacobian(self) -> Array:
        """Rows on velocities, shape (rows, nv)."""
        rows = self._on_velocities(self._covectors @ self.S.T, 1.0)
        return self._with_curves(rows, lambda _, slopes: slopes[0])

    @cached_property
    def bias(self) -> Array:
        """Rates of the rows while no velocity changes, shape (rows,)."""
        first, second_link = self.tree.first, self.tree.second
        drifts = (
            self.A[second_link] - self.A[first] - screw.bracket(self.V[first], self.V[second_link])
        )
        rates = (self._covectors * drifts[self.tree.loop_of]).sum(axis=1)
        rates = np.concatenate([rates, np.zeros(len(self.tree.multibody.couplings))])
        for row, _, rate, (_, second, _) in self._curves:
            rates[row] = second * rate**2
        return rates

    def values_by_q(self) -> Array:
        """Return the derivative by q of the rows' values at the velocity, shape (rows, nv)."""
        W, second = self._covectors, self.V[self.tree.second][self.tree.loop_of]
        rows = self._on_velocities(W @ self.swept.T - _before(W, second) @ self.S.T)
        return self._with_curves(rows, lambda rate, slopes: slopes[1] * rate)

    def changes(self, a: Array, multipliers: Array) -> tuple[Array, Array]:
        r"""Derivatives by q and v of :math:`M a + n - J^T \lambda` and of :math:`J a + \gamma`."""
        tree, S, swept = self.tree, self.S, self.swept
        A = self.A + tree.carried @ (S * (tree.to_columns @ a)[:, None])
        bent = screw.bracket(self.V[tree.before], swept) + screw.bracket(A[tree.before], S)
        twice = swept + screw.bracket(self.V[tree.owner], S)
        rates = self._row_changes(A, bent, twice, a)
        # What links make of a change of their twist that the acceleration follows.
        ad = screw.ad(self.V)
        momenta = (self._inertias @ self.V[..., None])[..., 0]
        C = _by_twist(momenta) - self._inertias @ ad - np.swapaxes(ad, -1, -2) @ self._inertias
        C = np.tensordot(tree.subtrees, C, 1)[tree.owner]
        leans = (S[:, None] @ C)[:, 0]
        by_q = _carry(S, self._wrenches(A)[tree.owner])
        by_q += (self._composite @ bent[..., None] + C @ swept[..., None])[..., 0]
        by_v = (self._composite @ twice[..., None] + C @ S[..., None])[..., 0]
        same = tree.owner[:, None] == tree.owner
        forces = []
        for upward, downward in (
            (self._pushes @ bent.T + leans @ swept.T, by_q @ S.T),
            (self._pushes @ twice.T + leans @ S.T, by_v @ S.T),
        ):
            forces.append(self._upward * upward + (self._upward * ~same * downward).T)
        forces[0] += self._turning_rows(multipliers)
        by_state = np.hstack([self._summed(each) for each in forces])
        for row, velocity, _, (_, second, _) in self._curves:
            by_state[velocity, velocity] -= second * multipliers[row]
        return by_state, rates

    def _row_changes(self, A: Array, bent: Array, twice: Array, a: Array) -> Array:
        """Derivatives of the rows' rates by q and v, shape (rows, 2 nv)."""
        tree, W, S = self.tree, self._covectors, self.S
        first, second_link = (self.V[each][tree.loop_of] for each in (tree.first, tree.second))
        both = _before(W, first + second_link)
        along = _before(_before(W, first), second_link) - _before(W, A[tree.second][tree.loop_of])
        by_q = W @ bent.T - both @ self.swept.T + along @ S.T
        rows = [self._on_velocities(x) for x in (by_q, W @ twice.T - both @ S.T)]
        for row, velocity, rate, (_, second, third) in self._curves:
            rows[0][row, velocity] = second * a[velocity] + third * rate**2
            rows[1][row, velocity] = 2.0 * second * rate
        return np.hstack(rows)

    def _turning_rows(self, multipliers: Array) -> Array:
        """Minus the change by q of the rows' forces on the columns, shape (columns, columns)."""
        tree, S, owner = self.tree, self.S, self.tree.owner
        result: Array = np.zeros((len(S), len(S)))
        weighted = self._covectors * multipliers[: len(self._covectors), None]
        for loop, sense in enumerate(tree.sense_of_loop):
            wrench = weighted[tree.loop_of == loop].sum(axis=0)
            first, second = sense < 0.0, sense > 0.0
            # The first link carries the wrench: axes before a column that moves it see it turn.
            # It stays where a column moves the second one, and axes behind that turn.
            turning = np.outer(first, first) * (owner[:, None] < owner) - 1.0 * np.outer(
                second, first
            )
            turning += np.outer(second, second) * (owner[:, None] >= owner)
            result += turning * (S @ _carry(S, np.broadcast_to(wrench, S.shape)).T)
        return result


def _before(wrenches: Array, x: Array) -> Array:
    """Return wrenches y with y . z = wrench . (x × z) for all twists z, shape (N, 6)."""
    return np.asarray((wrenches[:, None] @ screw.ad(x))[:, 0])


def _carry(x: Array, wrenches: Array) -> Array:
    """Return rates of wrenches that are fixed in bodies with twists x, shape (N, 6)."""
    return -_before(wrenches, x)


def _by_twist(wrenches: Array) -> Array:
    """Return ``_before`` of fixed wrenches as matrices that act on twists, shape (N, 6, 6)."""
    result = np.zeros((*wrenches.shape, 6))
    force = screw.cross_matrix(wrenches[:, :3])
    result[:, :3, 3:] = result[:, 3:, :3] = -force
    result[:, 3:, 3:] = -screw.cross_matrix(wrenches[:, 3:])
    return result
