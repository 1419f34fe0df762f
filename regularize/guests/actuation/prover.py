r"""Where a map holds: boxes of motor values on which it is single-valued and regular, proved.

A box :math:`\Theta` is proved by a box :math:`Z` of the chart's parameters that Krawczyk's operator
takes into itself,

.. math:: \tilde z - Y (\theta(\tilde z) - \Theta) + (1 - Y \theta'(Z)) (Z - \tilde z) \subset Z,

so that for each of its motor values there is one solution in :math:`Z`, with a regular derivative;
derivatives of the joints are shown to be regular by the same bound. Boxes grow from the one of the
stored pose: a neighbour counts where both have the same solution in the middle of the face they
share, hence all over it. What is proved is therefore one branch, and one side of all singularities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product as combined

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regularize.dynamics.tape.languages import Compiled
from regularize.dynamics.tape.program import Number, needed
from regularize.guests.actuation.affine_forms import bounds_of, contracted, inverses, regular
from regularize.guests.actuation.chart import Chart
from regularize.guests.actuation.domain import Domain, Leaves, arrays_of, joined, merged, taken
from regularize.lie.arrays import Array, read_only
from regularize.tolerances import NEGLIGIBLE

#: Bisections of every axis by the number of motors.
DEPTHS = {1: 11, 2: 7, 3: 5, 4: 3}
#: How much wider a box of parameters is than its linear image.
WIDER = (1.1, 1.4, 2.0)
#: Most steps of Newton's method, and the length of one after which nothing but rounding is left.
NEWTON, LAST = 12, 1e-9
#: Bisections of the finest boxes' size up to which corners may count for a box.
COARSEST = 2
#: Widest half of a box of parameters, rad and m, whose corners may count for it: a turn apart they
#: are the same.
WIDEST = 0.5
#: How often a grid is made anew about what was found.
FINER = 3
#: Least transmission, by the one of the stored pose, and its inverse the largest: nearer to a
#: singularity motors have fifty times the force or the speed, and maps lose their digits.
LEAST = 0.02


class Prover:
    """Grows the domain of a chart."""

    def __init__(self, chart: Chart, bounds: Array, *, sampled: bool = False) -> None:
        self.chart, self.bounds, self.k, self.sampled = chart, bounds, len(bounds), sampled
        self.depth = DEPTHS.get(self.k, 2)
        self.depth -= bool(chart.closures) * (2 if self.k == 1 else 1)
        self.n = 2**self.depth
        self.width = (bounds[:, 1] - bounds[:, 0]) / self.n
        n = self.parameters = len(chart.parameters)
        self._motors, self._joints, bounded = (
            chart.first(lines) for lines in (chart.side(False), chart.side(True), chart.bounded)
        )
        self._lines = [x for rows in (self._motors, self._joints, bounded) for r in rows for x in r]
        self._lines += [*chart.margins, *chart.joints]  # joints are not defined where turns begin
        self._turning = [any(x.operation == "remainder" for x in needed([q])) for q in chart.joints]
        self._slices = np.cumsum([0, n * n, n * n, n * len(bounded)])

    # Numbers -------------------------------------------------------------------------------------

    def _rates(self, z: Array) -> tuple[Array, Array]:
        """Derivatives of motors and joints, with closures, (N, n, n) each."""
        n = self.parameters
        found = self.chart.arrays(self.chart.slopes, z).reshape(len(z), 2, n, n)
        return found[:, 0], found[:, 1]

    def solved(self, theta: Array, z: Array, back: bool = False) -> tuple[Array, Array]:
        """Parameters for values of motors, or joints, by Newton's method, and inverse derivatives."""
        goal, at = self._closed(theta), self.parameters * back
        for _ in range(NEWTON):
            error = self.chart.arrays(self.chart.values, z)[:, at : at + self.parameters] - goal
            inverse = inverses(self._rates(z)[back])
            step = np.einsum("nij,nj->ni", inverse, error)
            z = z - step
            if not np.nanmax(np.abs(step), initial=0.0) > LAST:
                break
        return z, inverse

    def _closed(self, theta: Array) -> Array:
        """Motor values, or half widths, with the zeros of the closures, (N, k) to (N, n)."""
        return np.pad(theta, ((0, 0), (0, self.parameters - self.k)))

    # Proof ---------------------------------------------------------------------------------------

    def proved(self, theta: Array, radius: Array, z: Array) -> tuple[NDArray[np.bool_], Leaves]:
        """Which boxes of motor values, middles and half widths (N, k), can be proved."""
        z, inverse = self.solved(theta, z)
        theta, radius = self._closed(theta), self._closed(radius)
        good, low, high = np.zeros(len(z), dtype=bool), np.zeros_like(z), np.zeros_like(z)
        for wider in WIDER:
            left = np.flatnonzero(~good & np.isfinite(z).all(axis=1))
            if len(left):
                r = wider * np.einsum("nij,nj->ni", np.abs(inverse[left]), radius[left])
                r += 1e-13 * (1.0 + np.abs(z[left]))
                inside = self._krawczyk(theta[left], radius[left], z[left], inverse[left], r)
                if self.sampled:
                    inside &= (r <= WIDEST).all(axis=1)
                low[left[inside]] = (z[left] - r)[inside]
                high[left[inside]] = (z[left] + r)[inside]
                good[left[inside]] = True
        nothing = np.zeros((len(z), self.k), dtype=np.intp)
        return good, Leaves(nothing, nothing[:, 0], z, inverse[:, :, : self.k], low, high)

    def _krawczyk(
        self, theta: Array, radius: Array, z: Array, Y: Array, r: Array
    ) -> NDArray[np.bool_]:
        n, N, chart = self.parameters, len(z), self.chart
        bounds = self._corners if self.sampled else bounds_of
        found = bounds(self._lines, chart.given, z, r)
        if self.sampled:
            at = (chart.arrays(self._middle, z),) * 2
        else:
            at = bounds_of([*chart.side(False), *chart.bounded], chart.given, z, np.zeros_like(z))
        part = [
            (found[0][:, a:b].reshape(N, -1, n), found[1][:, a:b].reshape(N, -1, n))
            for a, b in zip(self._slices[:-1], self._slices[1:], strict=True)
        ]
        margins = found[0][:, self._slices[-1] : -self.k]
        good = np.isfinite(found[0]).all(axis=1) & np.isfinite(found[1]).all(axis=1)
        wide = found[1][:, -self.k :] - found[0][:, -self.k :]
        good &= (wide[:, self._turning] < np.pi).all(axis=1)
        good &= (margins > 0.0).all(axis=1)
        away = contracted(Y, part[0])
        good &= regular(Y, part[0])
        # What the motors are off by in the middle, and how far the box of motors is wide.
        off = np.maximum(np.abs(at[0][:, :n] - theta), np.abs(at[1][:, :n] - theta)) + radius
        off = off * (1.0 + 1e-14) + 1e-16
        reach = np.einsum("nij,nj->ni", np.abs(Y), off) + np.einsum("nij,nj->ni", away, r)
        good &= (reach * (1.0 + 1e-14) < r).all(axis=1)
        middle = 0.5 * (part[1][0] + part[1][1])
        gain = np.abs(np.linalg.det(np.nan_to_num(middle @ Y))) / self._gain
        good &= (gain >= LEAST) & (gain <= 1.0 / LEAST)
        good &= regular(inverses(middle), part[1])
        if self.chart.bounds.size:
            slopes = np.maximum(np.abs(part[2][0]), np.abs(part[2][1]))
            width = np.einsum("nij,nj->ni", slopes, r) * (1.0 + 1e-14)
            good &= (at[0][:, n:] - width >= self.chart.bounds[:, 0]).all(axis=1)
            good &= (at[1][:, n:] + width <= self.chart.bounds[:, 1]).all(axis=1)
        return good

    @cached_property
    def _gain(self) -> float:
        """Volume of joints by that of motors at the stored pose."""
        motors, joints = self._rates(self.chart.start[None])
        gain = float(np.abs(np.linalg.det(joints @ inverses(motors)))[0])
        return gain if np.isfinite(gain) and gain > 0.0 else np.inf

    @cached_property
    def _program(self) -> Compiled:
        return self.chart.program(self._lines)

    @cached_property
    def _middle(self) -> Compiled:
        return self.chart.program([*self.chart.side(False), *self.chart.bounded])

    def _corners(
        self, _: Sequence[Number], __: Sequence[str], z: Array, radius: Array
    ) -> tuple[Array, Array]:
        """Least and largest of the formulas in the middles of boxes and at their corners."""
        n = self.parameters
        ways = np.array([(0.0,) * n, *combined((-1.0, 1.0), repeat=n)])
        points = (z + ways[:, None] * radius).reshape(-1, n)
        values = self.chart.arrays(self._program, points).reshape(len(ways), len(z), -1)
        return values.min(axis=0), values.max(axis=0)

    # Growth --------------------------------------------------------------------------------------

    def grown(self, start: Array) -> Grown:
        """What can be proved, from the parameters at a pose on."""
        theta = self.chart.arrays(self.chart.values, start[None])[0, : self.k]
        home = np.floor((theta - self.bounds[:, 0]) / self.width).astype(int)
        home = np.clip(home, 0, self.n - 1)
        owner = np.full((self.n,) * self.k, -1)
        leaves: list[Leaves] = []
        first = max(0, self.depth - COARSEST) if self.sampled else 0
        for level in range(first, self.depth + 1):
            self._grow(self.n >> level, owner, leaves, home, theta, start)
        return Grown(self, owner, joined(leaves, self.k, self.parameters))

    def guided(self, known: Grown) -> Grown:
        """What can be proved of what was followed, boxes of one size at once."""
        owner, leaves = np.full((self.n,) * self.k, -1), list[Leaves]()
        count = 0
        for level in range(self.depth + 1):
            size = self.n >> level
            inner = tuple(range(1, 2 * self.k, 2))
            split = [x for _ in range(self.k) for x in (self.n // size, size)]
            free = owner.reshape(split).max(axis=inner) < 0
            free &= known.owner.reshape(split).min(axis=inner) >= 0
            cells = np.argwhere(free)
            if not len(cells):
                continue
            guide = taken(known.leaves, known.owner[tuple((cells * size + size // 2).T)])
            middle = self.bounds[:, 0] + self.width * size * (cells + 0.5)
            radius = np.broadcast_to(0.5 * size * self.width * (1.0 + NEGLIGIBLE), middle.shape)
            rise = middle - known.prover._middles(guide)
            z = guide.z + np.einsum("nij,nj->ni", guide.rates, rise)
            good, found = self.proved(middle, radius, z)
            added = taken(found, good)
            corners, sizes = cells[good] * size, np.full(int(good.sum()), size)
            leaves.append(Leaves(corners, sizes, *arrays_of(added)))
            for corner in corners:
                owner[tuple(slice(c, c + size) for c in corner)] = count
                count += 1
        every = joined(leaves, self.k, self.parameters)
        kept = self._one_branch(owner, every)
        owner = np.where(owner >= 0, np.where(kept[owner], owner, -1), -1)
        return Grown(self, owner, every)

    def _one_branch(self, owner: NDArray[np.intp], every: Leaves) -> NDArray[np.bool_]:
        """Which boxes are connected to the one of the start by faces with one solution."""
        start, pairs = self.chart.start, list[NDArray[np.intp]]()
        if not len(every.z):
            return np.zeros(1, dtype=bool)
        for axis in range(self.k):
            a, b = (np.delete(owner, place, axis).ravel() for place in (-1, 0))
            pairs.append(np.stack([a, b], axis=1)[(a >= 0) & (b >= 0) & (a != b)])
        a, b = np.unique(np.concatenate(pairs), axis=0).T
        radius = 0.5 * every.size[a, None] * self.width
        same = self._same(self._middles(every)[a], radius, taken(every, a), taken(every, b))
        links = coo_array((np.ones(int(same.sum())), (a[same], b[same])), shape=(len(every.z),) * 2)
        label = connected_components(links, directed=False)[1]
        home = ((start >= every.low) & (start <= every.high)).all(axis=1)
        return np.asarray(np.isin(label, label[home]))

    def _grow(
        self,
        size: int,
        owner: NDArray[np.intp],
        leaves: list[Leaves],
        home: NDArray[np.intp],
        theta: Array,
        start: Array,
    ) -> None:
        """Add all boxes of one size that can be reached from those there are."""
        m, k = self.n // size, self.k
        blocks = owner.reshape([x for _ in range(k) for x in (m, size)])
        inner = tuple(range(1, 2 * k, 2))
        tried = np.zeros((m,) * k, dtype=bool)
        known = joined(leaves, k, self.parameters)
        while True:
            free = (blocks.max(axis=inner) < 0) & ~tried
            if len(known.z):
                cells, donors = self._next_to(owner, free, size)
            elif free[tuple(home // size)]:
                cells, donors = (home // size)[None], np.zeros(0, dtype=int)
            else:
                return
            if not len(cells):
                return
            tried[tuple(cells.T)] = True
            low = self.bounds[:, 0] + self.width * size * cells
            radius = np.broadcast_to(0.5 * size * self.width * (1.0 + NEGLIGIBLE), low.shape)
            middle = low + 0.5 * size * self.width
            if len(donors):
                rise = middle - self._middles(known)[donors]
                z = known.z[donors] + np.einsum("nij,nj->ni", known.rates[donors], rise)
            else:
                z = self._led(start, theta, middle)
            good, found = self.proved(middle, radius, z)
            if len(donors):
                good[good] = self._same(
                    middle[good], radius[good], taken(found, good), taken(known, donors[good])
                )
            elif good.any():  # it has to hold the pose that it is to begin with
                good &= ((start >= found.low) & (start <= found.high)).all(axis=1)
            added = taken(found, good)
            added = Leaves(cells[good] * size, np.full(int(good.sum()), size), *arrays_of(added))
            for place, corner in enumerate(added.corner, start=len(known.z)):
                owner[tuple(slice(c, c + size) for c in corner)] = place
            leaves.append(added)
            known = joined(leaves, k, self.parameters)

    def _led(self, start: Array, theta: Array, goal: Array) -> Array:
        """Parameters for motor values, from those of others in a few steps."""
        z = start[None]
        for part in np.linspace(0.0, 1.0, 5)[1:]:
            z, _ = self.solved(theta + part * (goal - theta), z)
        return z

    def _middles(self, leaves: Leaves) -> Array:
        half = leaves.corner + 0.5 * leaves.size[:, None]
        return np.asarray(self.bounds[:, 0] + self.width * half)

    def _next_to(
        self, owner: NDArray[np.intp], free: NDArray[np.bool_], size: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Free boxes of a size that touch proved ones by a face, and the leaf that each touches."""
        found: dict[tuple[int, ...], int] = {}
        candidates = np.argwhere(free)
        for axis, way in combined(range(self.k), (-1, 1)):
            outer = candidates * size + size // 2
            outer[:, axis] = candidates[:, axis] * size + (-1 if way < 0 else size)
            inside = (outer[:, axis] >= 0) & (outer[:, axis] < self.n)
            donors = owner[tuple(outer[inside].T)]
            for cell, donor in zip(candidates[inside], donors, strict=True):
                if donor >= 0:
                    found.setdefault(tuple(cell.tolist()), int(donor))
        cells = np.array(list(found), dtype=np.intp).reshape(-1, self.k)
        return cells, np.array(list(found.values()), dtype=np.intp)

    def _same(self, middle: Array, radius: Array, new: Leaves, old: Leaves) -> NDArray[np.bool_]:
        """Whether boxes have the solution of their neighbours where they touch."""
        if not len(middle):
            return np.zeros(0, dtype=bool)
        half = 0.5 * old.size[:, None] * self.width
        other = self._middles(old)
        low = np.maximum(middle - radius, other - half)
        high = np.minimum(middle + radius, other + half)
        face = 0.5 * (low + high)
        z = old.z + np.einsum("nij,nj->ni", old.rates, face - other)
        z, _ = self.solved(face, z)
        slack = NEGLIGIBLE * (1.0 + np.abs(z))
        low, high = np.maximum(new.low, old.low), np.minimum(new.high, old.high)
        return np.asarray(((z >= low - slack) & (z <= high + slack)).all(axis=1))


@dataclass(frozen=True, eq=False)
class Grown:
    """What a prover found."""

    prover: Prover
    owner: NDArray[np.intp]
    leaves: Leaves
    part: float = 1.0

    @property
    def around(self) -> Array:
        """Motor values about what was found, one cell wider, shape (k, 2)."""
        cells, low = np.argwhere(self.owner >= 0), self.prover.bounds[:, 0]
        ends = np.stack([cells.min(axis=0) - 1, cells.max(axis=0) + 2], axis=1)
        found = low[:, None] + self.prover.width[:, None] * np.clip(ends, 0, self.prover.n)
        return np.asarray(found)

    @cached_property
    def domain(self) -> Domain:
        """The boxes as few."""
        bounds, inside = self.prover.bounds, self.owner >= 0
        proved = not self.prover.sampled and bool(inside.any())
        return Domain(*merged(inside, bounds), proved, read_only(bounds), inside, self.part)

    def samples(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Random motor values and their parameters, (count, k) each."""
        theta = self.domain.samples(count, rng)
        return theta, self.parameters(theta)

    def leaf_of(self, theta: Array) -> NDArray[np.intp]:
        """Which leaf motor values are in, (N, k) to (N,); -1 for none."""
        low, width = self.prover.bounds[:, 0], self.prover.width
        cells = np.clip(((theta - low) / width).astype(int), 0, self.prover.n - 1)
        return np.asarray(self.owner[tuple(cells.T)])

    def parameters(self, theta: Array) -> Array:
        """Parameters of motor values, (N, k) to (N, n); NaN outside of the domain."""
        owner = self.leaf_of(theta)
        own = taken(self.leaves, owner)
        rise = theta - self.prover._middles(own)
        z, _ = self.prover.solved(theta, own.z + np.einsum("nij,nj->ni", own.rates, rise))
        return np.where((owner >= 0)[:, None], z, np.nan)


def proved_of(known: Grown) -> Grown:
    """What can be proved of what was followed: long formulas take their time, which boxes share."""
    prover = known.prover
    return replace(Prover(prover.chart, prover.bounds).guided(known), part=known.part)


def grown(chart: Chart, bounds: Array, *, sampled: bool) -> Grown:
    """What can be proved, or followed; where that is small, with a finer grid about it."""
    found, whole = Prover(chart, bounds, sampled=sampled).grown(chart.start), bounds
    for _ in range(FINER):
        if not (found.owner >= 0).any():
            break
        around = found.around
        part = float(np.prod(np.ptp(around, axis=1) / np.ptp(whole, axis=1)))
        if part > 0.5 * found.part:
            break
        found = replace(Prover(chart, around, sampled=sampled).grown(chart.start), part=part)
    return found
