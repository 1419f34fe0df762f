r"""Branches that touch at a pose: the real Puiseux series of the closure along one tangent.

Let two velocities t and n be possible at a closed configuration, and let every form of second order
be a multiple of one square that vanishes along t. Every motion from there begins along t, then, or
its opposite: several branches may, as at a tacnode, one may turn back, as at a cusp, or none does.

For coordinates :math:`x = s (t + \eta n)` the loops leave what Lyapunov and Schmidt call the
bifurcation equation: all that can be met by other velocities is met, and what self-stresses feel of
the gaps that remain is :math:`s^2 g(s, \eta)`, an analytic function. Its polynomial is found by
interpolation. Each edge of the lower hull of its exponents (Newton's polygon) is a possible leading
term :math:`\eta = c |s|^{w}`, where c is a root of the edge's polynomial; each simple real one is
the beginning of one half of a branch (Puiseux 1850). The kinematic tangent cone is about the same
(López-Custodio and Müller 2020), by higher order analysis of the loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from regularize.lie.arrays import Array, Coordinates, Mask
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import moved
from regularize.loops.second_order import SecondOrder
from regularize.tolerances import EXACT, UNNOTICED

#: Highest order of the closure that is looked at.
HIGHEST = 8
#: Nodes of the interpolation in each direction, and how far they reach.
NODES, REACH = 14, 0.25
#: Scaled distances at which a half branch is looked for, the farthest first.
RADII = (0.4, 0.2, 0.1, 0.05, 0.025)


class HalfBranch(NamedTuple):
    """The leading term η = c |s|^w of a half branch on one side of the pose."""

    side: float  # sign of s
    c: float
    w: Fraction


@dataclass(frozen=True)
class Touching:
    """All branches along one tangent, each by its two halves."""

    branches: list[tuple[HalfBranch, HalfBranch]]
    order: int  # of the closure that decides how many there are


class TangentCurve:
    """Motions from a configuration (n,) with two velocities and one square of second order."""

    def __init__(self, loops: LoopKinematics, q: Coordinates, here: SecondOrder) -> None:
        self.loops, self.q, self.states = loops, q, here.states
        turn = np.hstack([here.kernel, np.linalg.svd(here.kernel)[0][:, 1:]])
        self.motions = here.motions @ turn
        # Gaps that self-stresses do not feel are met by velocities across the motions.
        self.across = np.linalg.svd(self.motions)[0][:, 2:]
        self.met = np.linalg.svd(here.states)[0][:, here.states.shape[1] :]

    def configurations(self, s: Array, eta: Array) -> tuple[Coordinates, Array, Mask]:
        """Return configurations at (s, η), both (N,), what stresses feel there, and which exist."""
        step = np.stack([s, s * eta], axis=1) @ self.motions.T
        start = np.repeat(self.q[None], len(s), axis=0)
        for _ in range(30):
            q = moved(self.loops, start, step)
            state = self.loops.state(q)
            residual = self.loops.residual(state)
            error = residual @ self.met
            if np.abs(error).max(initial=0.0) < 0.01 * EXACT.closed:
                break
            rows = self.met.T @ (self.loops.residual_jacobian(state) * self.loops.units)
            step -= np.linalg.solve(rows @ self.across, error[..., None])[..., 0] @ self.across.T
        return q, residual @ self.states, np.abs(error).max(axis=1, initial=0.0) < EXACT.closed

    @cached_property
    def polynomial(self) -> tuple[Array, Array] | None:
        """Coefficients of s^i η^j, scaled by the reach, and the stress that feels most."""
        nodes = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
        s, eta = (REACH * part.ravel() for part in np.meshgrid(nodes, nodes, indexing="ij"))
        _, felt, good = self.configurations(s, eta)
        values = felt / s[:, None] ** 2
        stress = np.linalg.svd(values, full_matrices=False)[2][0]
        if not good.all():
            return None
        back = np.linalg.inv(np.vander(nodes, increasing=True))
        return back @ (values @ stress).reshape(NODES, NODES) @ back.T, stress

    @cached_property
    def touching(self) -> Touching | None:
        """All branches by Newton's polygon; None where terms up to order eight do not tell."""
        if self.polynomial is None:
            return None
        coefficients, _ = self.polynomial
        terms = np.abs(coefficients) > UNNOTICED * np.abs(coefficients).max()
        i, j = np.nonzero(terms)
        points = {int(b): int(i[j == b].min()) for b in np.unique(j)}  # lowest power of s each
        if 0 not in points or points[0] > HIGHEST - 2 or 0 not in points.values():
            return None  # η = 0 may be a branch, or all directions are
        halves: dict[float, list[HalfBranch]] = {1.0: [], -1.0: []}
        at = min(b for b, a in points.items() if a == 0)
        while at:
            # The edge that falls the most gently: the smallest exponent of s.
            slopes = {b: Fraction(points[b] - points[at], at - b) for b in points if b < at}
            w = min(slopes.values())
            end = min(b for b, slope in slopes.items() if slope == w)
            for side, found_here in halves.items():
                edge = np.zeros(at - end + 1)
                for b in range(end, at + 1):
                    a = points[at] + w * (at - b)
                    if a.denominator == 1 and terms[int(a), b]:
                        edge[b - end] = coefficients[int(a), b] * side ** int(a)
                roots = np.polynomial.polynomial.polyroots(edge)
                near = np.abs(roots[:, None] - roots) + 9.0 * np.eye(len(roots))
                if len(roots) and near.min() < EXACT.apart:
                    return None
                real = roots[np.abs(roots.imag) < EXACT.apart * np.abs(roots)].real
                scale = REACH ** (1.0 - float(w))
                found_here += [HalfBranch(side, float(c) * scale, w) for c in real]
            at = end
        pairs = _paired(halves)
        return None if pairs is None else Touching(pairs, 2 + points[0])

    def reached(self, half: HalfBranch) -> Coordinates:
        """Return configurations on a half branch, the farthest first, shape (h, n)."""
        radii = np.array(RADII)
        eta = half.c * radii ** float(half.w)
        if self.polynomial is None or not np.any(np.abs(eta) <= 1.0):
            return np.zeros((0, len(self.q)))
        stress = self.polynomial[1]
        s, eta = half.side * radii[np.abs(eta) <= 1.0], eta[np.abs(eta) <= 1.0]
        # Regula falsi (Illinois) between both sides of the leading term, at all distances at once.
        ends = np.array([0.5 * eta, 1.5 * eta])
        values = np.array([self.configurations(s, end)[1] @ stress for end in ends])
        for _ in range(40):
            change = values[1] - values[0]
            share = values[0] / np.where(change == 0.0, 1.0, -change)
            middle = ends[0] + share * (ends[1] - ends[0])
            q, felt, good = self.configurations(s, middle)
            good &= (share > 0.0) & (share < 1.0)
            closed = good & (np.abs(felt).max(axis=1, initial=0.0) < EXACT.closed)
            if np.all(closed | ~good):
                break
            value = felt @ stress
            same = value * values[1] > 0.0  # this end is left where it is, and weighs half
            ends[0] = np.where(same, ends[0], ends[1])
            values[0] = np.where(same, 0.5 * values[0], values[1])
            ends[1], values[1] = middle, value
        return np.asarray(q[closed])


def _paired(halves: dict[float, list[HalfBranch]]) -> list[tuple[HalfBranch, HalfBranch]] | None:
    """Join half branches, s = u^d for the exponent n / d; None where a half has no other one."""
    pairs, waiting = [], [*halves[1.0], *halves[-1.0]]
    while waiting:
        first = waiting.pop(0)
        n, d = first.w.numerator, first.w.denominator
        side, c = (-first.side if d % 2 else first.side), first.c * (-1.0) ** n
        rest = [h for h in waiting if (h.side, h.w) == (side, first.w)]
        other = min(rest, key=lambda h: abs(h.c - c), default=None)
        if other is None:
            return None
        waiting.remove(other)
        pairs.append((first, other))
    return pairs
