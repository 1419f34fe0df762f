r"""Second order: which infinitesimal motions the acceleration forbids.

For closure equations with Jacobian J at a closed configuration let t be any vector of its null
space, an infinitesimal motion, and :math:`\omega` any of its left null space, a self-stress. A
motion that begins with t needs an acceleration a with J a + H(t, t) = 0, hence

.. math:: \omega \cdot H(t, t) = 0 \quad \text{for every } \omega,

where H is made of Lie brackets of the joint screws: around one loop
:math:`H(t, t) = 2 \sum_{i<j} [S_i, S_j] t_i t_j`. What all forms have in common as their null space
are the directions in which the rank stays what it is.

Jets: motions as power series of the time, order by order, from brackets of the joint screws.

Along a motion every world screw is carried by the body before it,
:math:`\dot S_i = [V_i, S_i]` with :math:`V_i = \sum_j \pm S_j v_j` over the joints on the way to
it, and the loops stay closed while :math:`\sum_i \pm S_i v_i = 0`. Power series of the velocities
turn both into recursions (Müller 2014, Higher derivatives of the kinematic mapping): at order m the
loops say J v_m + c_m(v_0, …, v_{m-1}) = 0. What every self-stress feels of c_m must vanish.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Jacobian, Rates, Residual
from regularize.lie.curve import TERMS
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import least_norm
from regularize.tolerances import ROUNDING, TINY

#: Shape (p, k, k): symmetric matrices, quadratic forms on the infinitesimal motions.
Forms: TypeAlias = Array


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Infinitesimal motions of loops, and the quadratic forms that say which of them can go on."""

    motions: Array  # orthonormal basis of the infinitesimal motions, scaled, (n, k)
    states: Array  # orthonormal basis of all self-stresses, (m, s)
    stresses: Array  # self-stresses with forms that are not zero, (m, p)
    forms: Forms  # their forms, independent of each other
    level: float  # entries of the forms below this are rounding

    @property
    def kernel(self) -> Array:
        """Basis of the motions that are in the null space of every form, shape (k, d)."""
        k = self.motions.shape[1]
        _, s, vt = np.linalg.svd(np.vstack([np.zeros((1, k)), *self.forms]))
        return np.asarray(vt[int(np.sum(s > self.level)) :].T)


def second_order(loops: LoopKinematics, q: Coordinates, rank: int, rtol: float) -> SecondOrder:
    """Return motions, self-stresses and their forms at a closed configuration of known rank."""
    return second_orders(loops, q[None], rank, rtol)[0]


def second_orders(
    loops: LoopKinematics, q: Coordinates, rank: int, rtol: float
) -> list[SecondOrder]:
    """Return motions, self-stresses and their forms at configurations (N, n) of one rank."""
    state = loops.state(q)
    u, _, vt = np.linalg.svd(loops.jacobian(state) * loops.units)
    motions, stresses = np.swapaxes(vt[:, rank:], 1, 2), u[:, :, rank:]
    N, n, k = motions.shape
    first, second = np.triu_indices(k)
    pairs = np.swapaxes(motions[..., first] + motions[..., second], 1, 2) * loops.units
    # The sum of two motions has the forms of both and twice that of the pair.
    values = loops.bias(state[np.repeat(np.arange(N), len(first))], pairs.reshape(-1, n))
    H = np.zeros((N, k, k, stresses.shape[1]))
    H[:, first, second] = H[:, second, first] = values.reshape(N, len(first), stresses.shape[1])
    diagonal = np.einsum("naam->nam", H) / 4.0
    H = 0.5 * (H - diagonal[:, :, None] - diagonal[:, None])
    return [_independent(*parts, rtol) for parts in zip(motions, stresses, H, strict=True)]


def _independent(motions: Array, stresses: Array, H: Array, rtol: float) -> SecondOrder:
    """Return independent forms of self-stresses (m, s), by second derivatives (k, k, m)."""
    k = motions.shape[1]
    flat = (H @ stresses).reshape(k * k, stresses.shape[1])
    level = rtol * max(float(np.max(np.abs(H), initial=0.0)), 1.0)
    _, sizes, mixing = np.linalg.svd(flat, full_matrices=False)
    mixing = mixing[sizes > level].T
    forms = np.moveaxis((flat @ mixing).reshape(k, k, mixing.shape[1]), -1, 0)
    return SecondOrder(motions, stresses, stresses @ mixing, forms, level)


def definite(forms: Forms, level: float) -> Array | None:
    """Return unit weights of a positive definite combination of forms, None if none was found."""
    # One exists exactly where zero is outside the convex hull of the points (t' A_i t)_i of all
    # unit vectors t: the point nearest to zero. It is approached from within: among the points so
    # far it is a problem of least squares without negative unknowns (Lawson and Hanson 1974,
    # chapter 23), and the next point is that of the eigenvector in which its combination is
    # smallest (Gilbert 1966).
    p, k = forms.shape[:2]
    if p == 0 or k == 0:
        return None
    _, vectors = np.linalg.eigh(forms)
    tried = np.concatenate(list(np.swapaxes(vectors, 1, 2)))
    best: Array | None = None
    least = level
    for _ in range(20 * k * (k + 1)):
        points = np.einsum("ti,pij,tj->pt", tried, forms, tried)
        size = max(float(np.max(np.abs(points))), level)
        share = _not_negative(np.vstack([points / size, np.ones(len(tried))]), np.eye(p + 1)[p])
        nearest = points @ share / max(float(share.sum()), level)
        distance = float(np.linalg.norm(nearest))
        if distance <= least:
            break
        weights = nearest / distance
        values, vectors = np.linalg.eigh(np.tensordot(weights, forms, 1))
        if values[0] > least:
            best, least = weights, float(values[0])
        if values[0] >= 0.9 * distance:
            break
        tried = np.vstack([tried[share > 0.0], vectors[:, 0]])
    return best


def _not_negative(A: Array, b: Array) -> Array:
    """Solve non-negative least squares, min |A x - b| with x >= 0 (Lawson and Hanson)."""
    # SciPy has it in a package that takes longer to load than most mechanisms to analyse.
    x, free = np.zeros(A.shape[1]), np.zeros(A.shape[1], dtype=bool)
    rounding = ROUNDING * max(A.shape) * float(np.abs(A).sum(axis=0).max())
    for _ in range(3 * len(x)):
        slope = np.where(free, -np.inf, A.T @ (b - A @ x))
        if slope.max() <= rounding:
            break
        free[slope.argmax()] = True
        while True:
            solution = np.zeros(len(x))
            solution[free] = np.linalg.lstsq(A[:, free], b)[0]
            low = free & (solution <= 0.0)
            if not low.any():
                break
            shares = np.where(low, x / np.maximum(x - solution, TINY), np.inf)
            x += shares.min() * (solution - x)
            x[shares.argmin()] = 0.0
            free &= ~(low & (x <= rounding))
        x = solution
    return x


def never_together(
    forms: Forms, level: float, except_in: Sequence[Array] = (), most: int = 5000
) -> bool:
    """Return whether all forms vanish together only in given spaces, by halving boxes on a cube."""
    # Across a space in which all forms vanish, two vectors w ± e/2 have values that differ by
    # 2 w' A_i e. A box near it is left out where these rows have full rank for every w between
    # both: no two values across the space are equal there, terms of higher order that are off by as
    # little as the margin leaves included. So the space is the tangent space of at most one set of
    # configurations, and that is smooth.
    p, k = forms.shape[:2]
    if k == 0 or 2**k > most:
        return False
    across = [np.linalg.svd(V)[0][:, V.shape[1] :] for V in except_in if k - V.shape[1] <= p]
    bend = math.sqrt(sum(np.linalg.norm(A, 2) ** 2 for A in forms))
    margin = (1.0 + bend) * math.sqrt(level)
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=k - 1)))
    for face in range(k):
        free = np.arange(k) != face
        middles, half = np.eye(k)[face][None], 1.0
        while len(middles):
            values = np.einsum("ni,pij,nj->np", middles, forms, middles)
            sizes = np.linalg.norm(values, axis=1)
            chosen = np.einsum("np,pij->nij", values / np.maximum(sizes, level)[:, None], forms)
            slopes = np.abs(chosen @ middles[..., None])[:, free].sum(axis=(1, 2))
            bends = np.abs(chosen[:, free][..., free]).sum(axis=(1, 2))
            kept = sizes - 2.0 * half * slopes - half**2 * bends <= level
            for N in across:
                rows = np.einsum("pij,nj->npi", forms, middles) @ N
                least = np.linalg.svd(rows, compute_uv=False).min(axis=1, initial=np.inf)
                away = np.linalg.norm(middles @ N, axis=1) + half * math.sqrt(k - 1.0)
                kept &= least - bend * away <= margin
            undecided = middles[kept]
            if len(undecided) * len(corners) > most or half < math.sqrt(level):
                return False
            steps = np.zeros((len(corners), k))
            steps[:, free] = half * corners
            middles, half = (undecided[:, None] + steps).reshape(-1, k), 0.5 * half
    return True


def cone(forms: Forms, level: float, rng: np.random.Generator) -> Array:
    """Find unit vectors (N, k) far from each other on which all forms vanish, up to sign."""
    k = forms.shape[1]
    t = rng.normal(size=(100 * k, k))
    for _ in range(60):
        t /= np.linalg.norm(t, axis=1, keepdims=True)
        slopes = np.einsum("pij,nj->npi", forms, t)
        values = np.einsum("npi,ni->np", slopes, t)
        rows = np.concatenate([2.0 * slopes, t[:, None]], axis=1)
        right = np.concatenate([values, np.zeros((len(t), 1))], axis=1)
        t = t - least_norm(rows, right, math.sqrt(level))
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    values = np.einsum("ni,pij,nj->np", t, forms, t)
    t = t[np.max(np.abs(values), axis=1, initial=0.0) <= level]
    return _spread(t, 20 * k, 0.05)


def vanishing_spaces(forms: Forms, level: float, directions: Array) -> list[Array] | None:
    """Return bases (k, d) of the linear spaces where all forms vanish; None if others may be."""
    spaces: list[Array] = []
    for t in directions:
        if any(np.linalg.norm(t - V @ (V.T @ t)) < math.sqrt(level) for V in spaces):
            continue
        _, sizes, vt = np.linalg.svd(np.vstack([np.zeros((1, len(t))), forms @ t]))
        V = vt[int(np.sum(sizes > math.sqrt(level))) :].T
        if np.max(np.abs(V.T @ forms @ V), initial=0.0) > math.sqrt(level):
            return None
        spaces.append(V)
    return spaces if not forms.shape[1] or never_together(forms, level, spaces) else None


def _spread(vectors: Array, most: int, apart: float) -> Array:
    """Choose at most ``most`` of unit vectors (M, k), each farther than ``apart`` from the rest."""
    kept: list[Array] = []
    distances = np.full(len(vectors), np.inf)
    while len(kept) < most and len(vectors) and distances.max() > apart:
        kept.append(vectors[int(np.argmax(distances))])
        both = [np.linalg.norm(vectors - sign * kept[-1], axis=1) for sign in (1.0, -1.0)]
        distances = np.minimum(distances, np.minimum(*both))
    return np.array(kept).reshape(len(kept), vectors.shape[1])


class Jets:
    """Power series of the motions that begin at a closed configuration (n,)."""

    def __init__(self, loops: LoopKinematics, q: Coordinates, here: SecondOrder) -> None:
        self.loops, self.here = loops, here
        state = loops.state(q)
        self._screws = state.screws[0]
        self._jacobian: Jacobian = loops.jacobian(state)[0] * loops.units
        #: Rows and coordinates of curves, with the Taylor coefficients of their slopes.
        self._slopes = [
            (row, column, curve.about(q[column])[1:] * np.arange(1, TERMS))
            for row, column, curve in loops.curves
        ]

    def remainder(self, series: Sequence[Rates]) -> Residual:
        """Return the closure error of a series of scaled velocities at the next order."""
        velocities = [values * self.loops.units for values in series]
        screws, twists, products = [self._screws], [], []
        for k in range(len(series)):
            pairs = [(velocities[a], screws[k - a]) for a in range(k + 1)]
            products.append(np.sum([v[:, None] * S for v, S in pairs], axis=0))
            twists.append(self.loops.carriers @ products[k])
            rates = [screw.bracket(twists[a], screws[k - a]) for a in range(k + 1)]
            screws.append(np.sum(rates, axis=0) / (k + 1))
        last = len(series)
        around = np.sum([velocities[a][:, None] * screws[last - a] for a in range(last)], axis=0)
        rows = self.loops.incidence @ self.loops.scaled(around)
        coupled = np.zeros(len(self.loops.coupling))
        for row, column, slopes in self._slopes:
            speeds = np.array([values[column] for values in velocities])
            way = np.append(0.0, speeds / np.arange(1, last + 1))
            slope, power = np.zeros(last + 1), np.eye(last + 1)[0]
            for coefficient in slopes:
                slope, power = slope + coefficient * power, np.convolve(power, way)[: last + 1]
            coupled[row] = slope[:0:-1] @ speeds
        return np.concatenate([rows.ravel(), coupled])

    def ends_at(self, direction: Array, tolerance: float, highest: int = 6) -> int | None:
        """Return the order at which no series continues an isolated zero (k,) of all forms."""
        motions, stresses = self.here.motions, self.here.states
        series = [motions @ direction]
        for order in range(3, highest + 1):
            # The infinitesimal motion in the last coefficient is free, and its effect is linear.
            particular = np.linalg.lstsq(self._jacobian, self.remainder(series))[0]
            series.append(-np.asarray(particular, dtype=np.float64))
            remainder = self.remainder(series)
            error = stresses.T @ remainder
            size = 1.0 + float(np.max(np.abs(remainder), initial=0.0))
            others = [[*series[:-1], series[-1] + motion] for motion in motions.T]
            effect = np.array([stresses.T @ self.remainder(other) - error for other in others]).T
            u, s, vt = np.linalg.svd(effect, full_matrices=False)
            felt = int(np.sum(s > self.here.level))
            if felt < len(direction) - 1:
                return None
            shift = -vt[:felt].T @ ((u[:, :felt].T @ error) / s[:felt])
            if np.max(np.abs(error + effect @ shift), initial=0.0) > tolerance * size:
                return order
            series[-1] = series[-1] + motions @ shift
        return None
