r"""Boxes of motor values on which a map holds, and formulas bounded over boxes.

Bounds are those of affine arithmetic (Figueiredo and Stolfi 2004).

Over a box of the variables a line is :math:`c + \sum_i a_i \epsilon_i \pm e` with
:math:`|\epsilon_i| \le 1`: what depends on the variables linearly cancels where lines meet again,
which plain intervals forget. What a function curves by is bounded by its second derivative, and
every operation is widened by more than it is rounded by. Arrays of forms, as many boxes at once as
there are; what is not defined all over a box, such as the root of what may be negative, is NaN.
Bounds of matrices of derivatives over a box tell whether all of these matrices are regular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from regularize.dynamics.tape.program import Number, evaluate, needed
from regularize.lie.arrays import Array, Indices, Mask, read_only
from regularize.tolerances import NEGLIGIBLE, ROUNDING, VANISHING

#: By which part results are widened: functions of libraries err by up to four roundings.
ROUNDED = 2e-15
TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class AffineForm:
    """Values over N boxes: a middle (N,), slopes by the k variables (k, N), and an error (N,)."""

    center: Array
    slopes: Array
    error: Array

    @property
    def radius(self) -> Array:
        """Largest distance of the values from their middle, (N,)."""
        return np.asarray(np.abs(self.slopes).sum(axis=0) + self.error)

    @property
    def low(self) -> Array:
        """Lower bounds, (N,)."""
        return np.asarray(self.center - self.radius * (1.0 + ROUNDED) - np.abs(self.center) * 1e-16)

    @property
    def high(self) -> Array:
        """Upper bounds, (N,)."""
        return np.asarray(self.center + self.radius * (1.0 + ROUNDED) + np.abs(self.center) * 1e-16)

    @classmethod
    def variables(cls, center: Array, radius: Array) -> list[AffineForm]:
        """Return the k variables over N boxes, given by middles and half widths (N, k)."""
        k = center.shape[1]
        units = np.eye(k)[:, :, None] * radius.T
        rounded = ROUNDED * np.abs(center)
        return [cls(center[:, i], units[i], rounded[:, i]) for i in range(k)]

    def between(self, low: Array, high: Array) -> AffineForm:
        """Return a form for values within bounds (N,), over the same boxes."""
        center = 0.5 * (low + high)
        error = np.maximum(high - center, center - low) * (1.0 + ROUNDED)
        return AffineForm(center, np.zeros_like(self.slopes), error)

    def __add__(self, other: AffineForm) -> AffineForm:
        error = self.error + other.error
        return _rounded(self.center + other.center, self.slopes + other.slopes, error)

    def __sub__(self, other: AffineForm) -> AffineForm:
        return self + -other

    def __mul__(self, other: AffineForm) -> AffineForm:
        if self is other:
            return _square(self)
        a, b = self.center, other.center
        error = np.abs(a) * other.error + np.abs(b) * self.error + self.radius * other.radius
        return _rounded(a * b, a * other.slopes + b * self.slopes, error)

    def __truediv__(self, other: AffineForm) -> AffineForm:
        return self * _inverse(other)

    def __neg__(self) -> AffineForm:
        return AffineForm(-self.center, -self.slopes, self.error)

    def where(self, mask: Mask) -> AffineForm:
        """Return the form with NaN error for boxes outside of a mask (N,)."""
        return AffineForm(self.center, self.slopes, np.where(mask, self.error, np.nan))


def _rounded(center: Array, slopes: Array, error: Array) -> AffineForm:
    """Return an affine form whose error includes the rounding of its numbers."""
    size = np.abs(center) + np.abs(slopes).sum(axis=0) + error
    return AffineForm(center, slopes, error + ROUNDED * size)


def _square(a: AffineForm) -> AffineForm:
    """Return a², whose curved part is between 0 and the square of the radius."""
    curved = 0.5 * a.radius**2
    error = 2.0 * np.abs(a.center) * a.error + curved
    return _rounded(a.center**2 + curved, 2.0 * a.center * a.slopes, error)


def _curve(a: AffineForm, value: Array, rate: Array, bend: Array) -> AffineForm:
    """Return f(a) by its value and derivative in the middle and a bound of |f''|."""
    error = np.abs(rate) * a.error + 0.5 * bend * a.radius**2
    return _rounded(value, rate * a.slopes, error)


def _inverse(a: AffineForm) -> AffineForm:
    nearest = np.abs(a.center) - a.radius
    form = _curve(a, 1.0 / a.center, -1.0 / a.center**2, 2.0 / nearest**3)
    return form.where(nearest > 0.0)


def _root(a: AffineForm) -> AffineForm:
    root = np.sqrt(a.center)
    return _curve(a, root, 0.5 / root, 0.25 * np.abs(a.low) ** -1.5).where(a.low > 0.0)


def _atan2(y: AffineForm, x: AffineForm) -> AffineForm:
    """Return angles of points clear of the origin, continuous across the negative axis."""
    square = x.center**2 + y.center**2
    length = np.sqrt(x.radius**2 + y.radius**2)
    nearest = np.sqrt(square) * (1.0 - ROUNDED) - length
    to_y, to_x = x.center / square, -y.center / square
    error = np.abs(to_y) * y.error + np.abs(to_x) * x.error + 0.5 * (length / nearest) ** 2
    angle = np.arctan2(y.center, x.center)
    return _rounded(angle, to_y * y.slopes + to_x * x.slopes, error).where(nearest > 0.0)


def _remainder(a: AffineForm, turn: AffineForm) -> AffineForm:
    """Return a reduced by whole turns; NaN where the number of turns differs in the box."""
    period = float(turn.center.flat[0])
    less = np.round(a.center / period)
    same = (less == np.round(a.low / period)) & (less == np.round(a.high / period))
    return _rounded(a.center - period * less, a.slopes, a.error).where(same)


def _absolute(a: AffineForm) -> AffineForm:
    low, high = np.abs(a.low), np.abs(a.high)
    least = np.where(a.low * a.high < 0.0, 0.0, np.minimum(low, high))
    return a.between(least, np.maximum(low, high))


def _compared(less: AffineForm, more: AffineForm) -> AffineForm:
    """Return 1 where ``less`` < ``more`` all over the box, 0 where nowhere, else [0, 1]."""
    return less.between((less.high < more.low).astype(float), (less.low <= more.high).astype(float))


def _selected(condition: AffineForm, yes: AffineForm, no: AffineForm) -> AffineForm:
    """Return ``yes`` or ``no`` by a condition; bounds of both where it is not decided."""
    chosen, other = condition.low > 0.5, condition.high < 0.5
    either = yes.between(np.minimum(yes.low, no.low), np.maximum(yes.high, no.high))
    parts = zip(*((x.center, x.slopes, x.error) for x in (yes, no, either)), strict=True)
    return AffineForm(*(np.where(chosen, a, np.where(other, b, c)) for a, b, c in parts))


_FUNCTIONS: dict[str, Callable[..., AffineForm]] = {
    "root": _root,
    "cos": lambda a: _curve(a, np.cos(a.center), -np.sin(a.center), np.ones(len(a.center))),
    "sin": lambda a: _curve(a, np.sin(a.center), np.cos(a.center), np.ones(len(a.center))),
    "atan2": _atan2,
    "remainder": _remainder,
    "absolute": _absolute,
    "less": _compared,
    "at_most": _compared,
    "both": lambda a, b: a.between(np.minimum(a.low, b.low), np.minimum(a.high, b.high)),
    "either": lambda a, b: a.between(np.maximum(a.low, b.low), np.maximum(a.high, b.high)),
    "where": _selected,
}


def inverses(matrices: Array) -> Array:
    """Return inverses of matrices (N, k, k), NaN of singular ones."""
    good = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    result = np.full(matrices.shape, np.nan)
    good[good] = ~(np.abs(np.linalg.det(matrices[good])) <= 1e-300)
    result[good] = np.linalg.inv(matrices[good])
    return result


def bounds_of(
    lines: Sequence[Number], names: Sequence[str], z: Array, radius: Array
) -> tuple[Array, Array]:
    """Return lower and upper bounds of formulas over boxes of middles and half widths (N, k)."""
    forms = dict(zip(names, AffineForm.variables(z, radius), strict=True))
    nothing = np.zeros(len(z)), np.zeros(z.T.shape)

    def constant(value: float) -> AffineForm:
        return AffineForm(nothing[0] + value, nothing[1], nothing[0])

    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        values = evaluate(needed(lines), forms, _FUNCTIONS, constant)
    results = [values[x.index] for x in lines]
    return np.stack([x.low for x in results], -1), np.stack([x.high for x in results], -1)


def contracted(Y: Array, rates: tuple[Array, Array]) -> Array:
    """Return a bound of the entries of 1 - Y R for derivatives R within bounds, (N, k, k)."""
    middle, radius = 0.5 * (rates[0] + rates[1]), 0.5 * (rates[1] - rates[0])
    bound = np.abs(np.eye(Y.shape[1]) - Y @ middle) + np.abs(Y) @ radius
    return np.asarray(bound * (1.0 + ROUNDING) + ROUNDING * (1.0 + np.abs(Y) @ np.abs(middle)))


def regular(Y: Array, rates: tuple[Array, Array]) -> Mask:
    """Return whether all derivatives R within bounds are regular: 1 - Y R is a contraction."""
    bound = np.nan_to_num(contracted(Y, rates), nan=2.0, posinf=2.0)
    weights = np.ones((len(Y), Y.shape[1]))
    for _ in range(4):  # any positive weights give a bound; these tend to the best
        weights = np.einsum("nij,nj->ni", bound, weights) + VANISHING
        weights /= weights.max(axis=1, keepdims=True)
    ratio = np.einsum("nij,nj->ni", bound, weights) / weights
    return np.asarray((ratio < 1.0 - NEGLIGIBLE).all(axis=1))


@dataclass(frozen=True, eq=False)
class Domain:
    """Boxes of motor values on which a map is single-valued and regular.

    Attributes:
        lower: Lower corners, rad and m, shape (boxes, k).
        upper: Upper corners.
        proved: Whether intervals prove it; else it was followed numerically.
        bounds: Range that was looked at, shape (k, 2).
        inside: The same as a grid over this range, shape (2^depth, …).
    """

    lower: Array
    upper: Array
    proved: bool
    bounds: Array = field(repr=False)
    inside: Mask = field(repr=False)
    part: float = field(default=1.0, repr=False)  # of the motors' whole range, what was looked at

    def __repr__(self) -> str:
        how = "proved" if self.proved else "followed"
        return f"<Domain: {len(self.lower)} boxes, {100 * self.share:.4g} % of the range, {how}>"

    @property
    def share(self) -> float:
        """Part of the motors' range that the domain covers, 0 to 1."""
        return self.part * float(np.mean(self.inside))

    def contains(self, theta: Array) -> Mask:
        """Return which motor values (N, k) lie in the domain, (N,)."""
        n = self.inside.shape[0]
        low, width = self.bounds[:, 0], (self.bounds[:, 1] - self.bounds[:, 0]) / n
        with np.errstate(invalid="ignore"):
            place = np.floor((theta - low) / width)
            within = ((place >= 0) & (place < n)).all(axis=-1)
            cells = np.where(within[:, None], place, 0.0).astype(int)
        inside_cells = within & self.inside[tuple(cells.T)]
        left = np.flatnonzero(~inside_cells & np.isfinite(theta).all(axis=-1))
        for part in np.array_split(left, 1 + len(left) * len(self.lower) // 10**6):
            x = theta[part, None]  # on faces
            inside_cells[part] = ((x >= self.lower) & (x <= self.upper)).all(axis=-1).any(axis=-1)
        return np.asarray(inside_cells)

    def corners(self, most: int) -> Array:
        """Return corners of the boxes, at most about ``most`` of them, shape (M, k)."""
        ends = np.stack([self.lower, self.upper], axis=1)[: max(1, most >> self.lower.shape[1])]
        k = self.lower.shape[1]
        ways = np.array([*product((0, 1), repeat=k)], dtype=int)
        return np.asarray(ends[:, ways, np.arange(k)]).reshape(-1, k)

    def samples(self, count: int, rng: np.random.Generator) -> Array:
        """Return random motor values in the domain, uniform by volume, shape (count, k)."""
        cells = np.argwhere(self.inside)
        chosen = cells[rng.integers(len(cells), size=count)] + rng.uniform(size=(count, 1))
        chosen = chosen - chosen % 1 + rng.uniform(size=chosen.shape)
        low, high = self.bounds.T
        return np.asarray(low + (high - low) * chosen / self.inside.shape[0])


def merged(inside: Mask, bounds: Array) -> tuple[Array, Array]:
    """Return the marked cells of a grid over ``bounds`` merged to few boxes (boxes, k)."""
    n, k = inside.shape[0], inside.ndim
    left, low, high = inside.copy(), [], []
    for cell in np.argwhere(inside):
        if not left[tuple(cell)]:
            continue
        end = cell + 1
        for axis in reversed(range(k)):
            while end[axis] < n:
                slab = [slice(a, b) for a, b in zip(cell, end, strict=True)]
                slab[axis] = slice(end[axis], end[axis] + 1)
                if not left[tuple(slab)].all():
                    break
                end[axis] += 1
        left[tuple(slice(a, b) for a, b in zip(cell, end, strict=True))] = False
        low.append(cell)
        high.append(end)
    origin, width = bounds[:, 0], (bounds[:, 1] - bounds[:, 0]) / n
    corners = [np.array(each).reshape(-1, k) for each in (low, high)]
    upper = np.where(corners[1] == n, bounds[:, 1], origin + width * corners[1])
    return read_only(origin + width * corners[0]), read_only(upper)


class ProvedBoxes(NamedTuple):
    """Boxes of motor values as found, each with a box of parameters that holds one solution."""

    corner: Indices  # first cell of each on the finest grid, shape (L, k)
    size: Indices  # how many cells each is wide, shape (L,)
    z: Array  # parameters in the middles, shape (L, n)
    rates: Array  # derivatives of the parameters by the motors there, shape (L, n, k)
    low: Array  # lower corners of the boxes of parameters, shape (L, n)
    high: Array  # upper corners

    @classmethod
    def none(cls, k: int, n: int) -> ProvedBoxes:
        """Return no boxes, for k motors and n parameters."""
        nothing, z = np.zeros((0, k), dtype=np.intp), np.zeros((0, n))
        return cls(nothing, nothing[:, 0], z, np.zeros((0, n, k)), z, z)

    def chosen(self, which: Indices | Mask) -> ProvedBoxes:
        """Return some of the boxes."""
        return ProvedBoxes._make(a[which] for a in self)

    def joined(self, more: ProvedBoxes) -> ProvedBoxes:
        """Return these boxes and more behind them."""
        return ProvedBoxes._make(np.concatenate(pair) for pair in zip(self, more, strict=True))
