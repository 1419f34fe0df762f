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

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product as combined

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regularize.dynamics.tape.languages import Compiled, columns
from regularize.dynamics.tape.program import needed
from regularize.guests.actuation.boxes import (
    Domain,
    ProvedBoxes,
    bounds_of,
    contracted,
    inverses,
    merged,
    regular,
)
from regularize.guests.actuation.chart import Chart
from regularize.lie.arrays import Array, Indices, Mask, read_only
from regularize.tolerances import NEGLIGIBLE

#: Bisections of every axis by the number of motors.
DEPTHS = {1: 11, 2: 7, 3: 5, 4: 3}
#: How much wider a box of parameters is than its linear image.
WIDER = (1.1, 1.4, 2.0)
#: Boxes that are tried in all widths at once, since so few cost as little as one.
FEW = 64
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
    """Search for boxes of motor values, within ``bounds`` (k, 2), on which a chart holds.

    ``sampled`` lets corners count for all of a box: no proof, where one would go too far.
    """

    def __init__(self, chart: Chart, bounds: Array, *, sampled: bool = False) -> None:
        self.chart, self.bounds, self.k, self.sampled = chart, bounds, len(bounds), sampled
        self.depth = DEPTHS.get(self.k, 2)
        self.depth -= bool(chart.closures) * (2 if self.k == 1 else 1)
        self.n = 2**self.depth
        self.width = (bounds[:, 1] - bounds[:, 0]) / self.n
        n = self.parameters = len(chart.parameters)
        slopes = [chart.first(x) for x in (chart.side(False), chart.side(True), chart.bounded)]
        self._formulas = [x for rows in slopes for row in rows for x in row]
        # Joints are not defined where turns begin.
        self._formulas += [*chart.margins, *chart.joints]
        self._turning = [any(x.operation == "remainder" for x in needed([q])) for q in chart.joints]
        self._slices = np.cumsum([0, n * n, n * n, n * len(chart.bounded)])

    def solved(self, theta: Array, z: Array, back: bool = False) -> tuple[Array, Array]:
        """Return chart parameters (N, n) of motors (``back``: joints), and inverse derivatives."""
        goal, first = self._with_closures(theta), self.parameters * back
        for _ in range(NEWTON):
            values = columns(self.chart.values, z)[:, first : first + self.parameters]
            inverse = inverses(self.chart.rates(z)[back])
            step = np.einsum("nij,nj->ni", inverse, values - goal)
            z = z - step
            if not np.nanmax(np.abs(step), initial=0.0) > LAST:
                break
        return z, inverse

    def _with_closures(self, theta: Array) -> Array:
        """Return motor values (N, k) with zeros for the closure equations appended, (N, n)."""
        return np.pad(theta, ((0, 0), (0, self.parameters - self.k)))

    def proved(self, theta: Array, radius: Array, z: Array) -> tuple[Mask, ProvedBoxes]:
        """Return which boxes of middles and half widths (N, k) are proved, (N,), and the boxes."""
        z, inverse = self.solved(theta, z)
        theta, radius = self._with_closures(theta), self._with_closures(radius)
        good, low, high = np.zeros(len(z), dtype=bool), np.zeros_like(z), np.zeros_like(z)
        reach = np.einsum("nij,nj->ni", np.abs(inverse), radius)
        finite = np.asarray(np.isfinite(z).all(axis=1))
        for ways in [WIDER] if len(z) <= FEW else [(wider,) for wider in WIDER]:
            left = np.tile(np.flatnonzero(~good & finite), len(ways))
            if len(left):
                r = np.repeat(ways, len(left) // len(ways))[:, None] * reach[left]
                r += 1e-13 * (1.0 + np.abs(z[left]))
                inside = self._krawczyk(theta[left], radius[left], z[left], inverse[left], r)
                if self.sampled:
                    inside &= (r <= WIDEST).all(axis=1)
                chosen = np.flatnonzero(inside)[::-1]  # the narrowest stays
                low[left[chosen]], high[left[chosen]] = (z[left] - r)[chosen], (z[left] + r)[chosen]
                good[left[chosen]] = True
        nothing = np.zeros((len(z), self.k), dtype=np.intp)
        return good, ProvedBoxes(nothing, nothing[:, 0], z, inverse[:, :, : self.k], low, high)

    def _krawczyk(self, theta: Array, radius: Array, z: Array, Y: Array, r: Array) -> Mask:
        """Return for which boxes, z within r, the operator shows one regular solution, (N,)."""
        n, N, chart = self.parameters, len(z), self.chart
        if self.sampled:
            low, high = self._corners(z, r)
            middle_low = middle_high = columns(self._middle, z)
        else:
            low, high = bounds_of(self._formulas, chart.given, z, r)
            middle = [*chart.side(False), *chart.bounded]
            middle_low, middle_high = bounds_of(middle, chart.given, z, np.zeros_like(z))
        motors, joints, bounded = (
            (low[:, a:b].reshape(N, -1, n), high[:, a:b].reshape(N, -1, n))
            for a, b in zip(self._slices[:-1], self._slices[1:], strict=True)
        )
        good = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1)
        turned = high[:, -self.k :] - low[:, -self.k :]
        good &= (turned[:, self._turning] < np.pi).all(axis=1)
        margins = low[:, self._slices[-1] : -self.k]
        good &= (margins > 0.0).all(axis=1)
        good &= regular(Y, motors)
        # What the motors are off by in the middle, and how far the box of motors is wide.
        off = np.maximum(np.abs(middle_low[:, :n] - theta), np.abs(middle_high[:, :n] - theta))
        off = (off + radius) * (1.0 + 1e-14) + 1e-16
        reach = np.einsum("nij,nj->ni", np.abs(Y), off)
        reach += np.einsum("nij,nj->ni", contracted(Y, motors), r)
        good &= (reach * (1.0 + 1e-14) < r).all(axis=1)
        middle_joints = 0.5 * (joints[0] + joints[1])
        gain = np.abs(np.linalg.det(np.nan_to_num(middle_joints @ Y))) / self._gain
        good &= (gain >= LEAST) & (gain <= 1.0 / LEAST)
        good &= regular(inverses(middle_joints), joints)
        if chart.bounds.size:
            slopes = np.maximum(np.abs(bounded[0]), np.abs(bounded[1]))
            width = np.einsum("nij,nj->ni", slopes, r) * (1.0 + 1e-14)
            good &= (middle_low[:, n:] - width >= chart.bounds[:, 0]).all(axis=1)
            good &= (middle_high[:, n:] + width <= chart.bounds[:, 1]).all(axis=1)
        return good

    @cached_property
    def _gain(self) -> float:
        """Determinant of the map's Jacobian at the stored pose."""
        motors, joints = self.chart.rates(self.chart.start[None])
        gain = float(np.abs(np.linalg.det(joints @ inverses(motors)))[0])
        return gain if np.isfinite(gain) and gain > 0.0 else np.inf

    @cached_property
    def _program(self) -> Compiled:
        return self.chart.program(self._formulas)

    @cached_property
    def _middle(self) -> Compiled:
        return self.chart.program([*self.chart.side(False), *self.chart.bounded])

    def _corners(self, z: Array, radius: Array) -> tuple[Array, Array]:
        """Return least and largest of the formulas in the middles of boxes and at their corners."""
        n = self.parameters
        ways = np.array([(0.0,) * n, *combined((-1.0, 1.0), repeat=n)])
        points = (z + ways[:, None] * radius).reshape(-1, n)
        values = columns(self._program, points).reshape(len(ways), len(z), -1)
        return values.min(axis=0), values.max(axis=0)

    def _nothing(self) -> FoundDomain:
        none = ProvedBoxes.none(self.k, self.parameters)
        return FoundDomain(self, np.full((self.n,) * self.k, -1), none)

    def searched(self, start: Array) -> FoundDomain:
        """Return the domain grown from chart parameters ``start``, larger boxes first."""
        theta = columns(self.chart.values, start[None])[0, : self.k]
        home = np.floor((theta - self.bounds[:, 0]) / self.width).astype(int)
        home = np.clip(home, 0, self.n - 1)
        domain = self._nothing()
        first = max(0, self.depth - COARSEST) if self.sampled else 0
        for level in range(first, self.depth + 1):
            domain = self._extended(domain, self.n >> level, home, theta, start)
        return domain

    def guided(self, followed: FoundDomain) -> FoundDomain:
        """Return the boxes of a followed domain that can be proved, all of one size at once."""
        proved = self._nothing()
        for level in range(self.depth + 1):
            size = self.n >> level
            free = self._blocks(proved.owner, size, "max") < 0
            free &= self._blocks(followed.owner, size, "min") >= 0
            cells = np.argwhere(free)
            if not len(cells):
                continue
            guide = followed.boxes.chosen(followed.owner[tuple((cells * size + size // 2).T)])
            middle, radius = self._boxes(cells, size)
            rise = middle - followed.prover.middles(guide)
            z = guide.z + np.einsum("nij,nj->ni", guide.rates, rise)
            good, boxes = self.proved(middle, radius, z)
            proved = proved.extended(cells[good], size, boxes.chosen(good))
        kept = self._one_branch(proved)
        owner = np.where(proved.owner >= 0, np.where(kept[proved.owner], proved.owner, -1), -1)
        return replace(proved, owner=owner)

    def _blocks(self, owner: Indices, size: int, reduce: str) -> Indices:
        """Return the largest, or least, entry of each block of cells."""
        shape = [x for _ in range(self.k) for x in (self.n // size, size)]
        inner = tuple(range(1, 2 * self.k, 2))
        return np.asarray(getattr(owner.reshape(shape), reduce)(axis=inner))

    def _boxes(self, cells: Indices, size: int) -> tuple[Array, Array]:
        """Return middles and half widths of boxes, (N, k) each."""
        middle = self.bounds[:, 0] + self.width * size * (cells + 0.5)
        return middle, np.broadcast_to(0.5 * size * self.width * (1.0 + NEGLIGIBLE), middle.shape)

    def _one_branch(self, found: FoundDomain) -> Mask:
        """Return which boxes are on the start's branch: linked by faces with one solution."""
        start, pairs, boxes, owner = self.chart.start, list[Indices](), found.boxes, found.owner
        if not len(boxes.z):
            return np.zeros(1, dtype=bool)
        for axis in range(self.k):
            a, b = (np.delete(owner, place, axis).ravel() for place in (-1, 0))
            pairs.append(np.stack([a, b], axis=1)[(a >= 0) & (b >= 0) & (a != b)])
        a, b = np.unique(np.concatenate(pairs), axis=0).T
        radius = 0.5 * boxes.size[a, None] * self.width
        same = self._same(self.middles(boxes)[a], radius, boxes.chosen(a), boxes.chosen(b))
        links = coo_array((np.ones(int(same.sum())), (a[same], b[same])), shape=(len(boxes.z),) * 2)
        label = connected_components(links, directed=False)[1]
        home = ((start >= boxes.low) & (start <= boxes.high)).all(axis=1)
        return np.asarray(np.isin(label, label[home]))

    def _extended(
        self, found: FoundDomain, size: int, home: Indices, theta: Array, start: Array
    ) -> FoundDomain:
        """Add all provable boxes of one size next to those found, or at the start's cell."""
        tried = np.zeros((self.n // size,) * self.k, dtype=bool)
        while True:
            free = (self._blocks(found.owner, size, "max") < 0) & ~tried
            if len(found.boxes.z):
                cells, donors = self._next_to(found.owner, free, size)
            elif free[tuple(home // size)]:
                cells, donors = (home // size)[None], np.zeros(0, dtype=np.intp)
            else:
                return found
            if not len(cells):
                return found
            tried[tuple(cells.T)] = True
            middle, radius = self._boxes(cells, size)
            if len(donors):
                near = found.boxes.chosen(donors)
                z = near.z + np.einsum("nij,nj->ni", near.rates, middle - self.middles(near))
            else:  # from the pose in a few steps
                z = start[None]
                for part in (0.25, 0.5, 0.75, 1.0):
                    z, _ = self.solved(theta + part * (middle - theta), z)
            good, boxes = self.proved(middle, radius, z)
            if len(donors):
                good[good] = self._same(
                    middle[good], radius[good], boxes.chosen(good), near.chosen(good)
                )
            elif good.any():  # it has to hold the pose that it is to begin with
                good &= ((start >= boxes.low) & (start <= boxes.high)).all(axis=1)
            found = found.extended(cells[good], size, boxes.chosen(good))

    def middles(self, boxes: ProvedBoxes) -> Array:
        """Return motor values in the middles of boxes, (N, k)."""
        half = boxes.corner + 0.5 * boxes.size[:, None]
        return np.asarray(self.bounds[:, 0] + self.width * half)

    def _next_to(self, owner: Indices, free: Mask, size: int) -> tuple[Indices, Indices]:
        """Return free cells that share a face with proved boxes, and one such box of each."""
        candidates = np.argwhere(free)
        donors = np.full(len(candidates), -1)
        for axis, way in combined(range(self.k), (-1, 1)):
            outer = candidates * size + size // 2
            outer[:, axis] = candidates[:, axis] * size + (-1 if way < 0 else size)
            open_ = (outer[:, axis] >= 0) & (outer[:, axis] < self.n) & (donors < 0)
            donors[open_] = owner[tuple(outer[open_].T)]
        return candidates[donors >= 0], donors[donors >= 0]

    def _same(self, middle: Array, radius: Array, new: ProvedBoxes, old: ProvedBoxes) -> Mask:
        """Return whether new boxes have the same solution as old ones on their common faces."""
        if not len(middle):
            return np.zeros(0, dtype=bool)
        half = 0.5 * old.size[:, None] * self.width
        other = self.middles(old)
        low = np.maximum(middle - radius, other - half)
        high = np.minimum(middle + radius, other + half)
        face = 0.5 * (low + high)
        z = old.z + np.einsum("nij,nj->ni", old.rates, face - other)
        z, _ = self.solved(face, z)
        slack = NEGLIGIBLE * (1.0 + np.abs(z))
        low, high = np.maximum(new.low, old.low), np.minimum(new.high, old.high)
        return np.asarray(((z >= low - slack) & (z <= high + slack)).all(axis=1))


@dataclass(frozen=True, eq=False)
class FoundDomain:
    """Boxes that a prover found, by grid cell (-1: none), and the part of the range looked at."""

    prover: Prover
    owner: Indices
    boxes: ProvedBoxes
    part: float = 1.0

    def extended(self, cells: Indices, size: int, new: ProvedBoxes) -> FoundDomain:
        """Return the domain with more boxes, at cells of the grid of their size."""
        corners, owner = cells * size, self.owner.copy()
        for place, corner in enumerate(corners, start=len(self.boxes.z)):
            owner[tuple(slice(c, c + size) for c in corner)] = place
        new = new._replace(corner=corners, size=np.full(len(cells), size))
        return replace(self, owner=owner, boxes=self.boxes.joined(new))

    @property
    def around(self) -> Array:
        """Range of motor values about what was found, one cell wider, shape (k, 2)."""
        cells, low = np.argwhere(self.owner >= 0), self.prover.bounds[:, 0]
        ends = np.stack([cells.min(axis=0) - 1, cells.max(axis=0) + 2], axis=1)
        ends = np.clip(ends, 0, self.prover.n)
        return np.asarray(low[:, None] + self.prover.width[:, None] * ends)

    @cached_property
    def domain(self) -> Domain:
        """The domain merged to few boxes."""
        bounds, inside = self.prover.bounds, self.owner >= 0
        proved = not self.prover.sampled and bool(inside.any())
        return Domain(*merged(inside, bounds), proved, read_only(bounds), inside, self.part)

    def samples(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return random motor values (count, k), and their parameters (count, n)."""
        theta = self.domain.samples(count, rng)
        return theta, self.parameters(theta)

    def box_of(self, theta: Array) -> Indices:
        """Return which box motor values (N, k) are in, (N,); -1 for none."""
        low, width = self.prover.bounds[:, 0], self.prover.width
        cells = np.clip(((theta - low) / width).astype(int), 0, self.prover.n - 1)
        return np.asarray(self.owner[tuple(cells.T)])

    def parameters(self, theta: Array) -> Array:
        """Return parameters (N, n) of motor values (N, k); NaN outside of the domain."""
        owner = self.box_of(theta)
        near = self.boxes.chosen(owner)
        rise = theta - self.prover.middles(near)
        z, _ = self.prover.solved(theta, near.z + np.einsum("nij,nj->ni", near.rates, rise))
        return np.where((owner >= 0)[:, None], z, np.nan)


def proved_of(followed: FoundDomain) -> FoundDomain:
    """Return the part of a followed domain that can be proved, for charts with long formulas."""
    prover = followed.prover
    return replace(Prover(prover.chart, prover.bounds).guided(followed), part=followed.part)


def found_domain(chart: Chart, bounds: Array, *, sampled: bool) -> FoundDomain:
    """Return the proved or followed domain; a small one is searched again on a finer grid."""
    found, whole = Prover(chart, bounds, sampled=sampled).searched(chart.start), bounds
    for _ in range(FINER):
        if not (found.owner >= 0).any():
            break
        around = found.around
        part = float(np.prod(np.ptp(around, axis=1) / np.ptp(whole, axis=1)))
        if part > 0.5 * found.part:
            break
        found = replace(Prover(chart, around, sampled=sampled).searched(chart.start), part=part)
    return found
