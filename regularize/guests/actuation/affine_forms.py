r"""Lines bounded over boxes, by affine arithmetic (Figueiredo and Stolfi 2004).

Over a box of the variables a line is :math:`c + \sum_i a_i \epsilon_i \pm e` with
:math:`|\epsilon_i| \le 1`: what depends on the variables linearly cancels where lines meet again,
which plain intervals forget. What a function curves by is bounded by its second derivative, and
every operation is widened by more than it is rounded by. Arrays of forms, as many boxes at once as
there are; what is not defined all over a box, such as the root of what may be negative, is NaN.
Bounds of matrices of derivatives over a box tell whether all of these matrices are regular.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.closed_form.elementary import Line
from regularize.lie.arrays import Array
from regularize.tolerances import NEGLIGIBLE, ROUNDING, VANISHING

Mask: TypeAlias = NDArray[np.bool_]

#: By which part results are widened: functions of libraries err by up to four roundings.
ROUNDED = 2e-15
TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class AffineForm:
    """Values over boxes.

    Attributes:
        center: Values in the middle, shape (N,).
        slopes: Changes with each of the variables, shape (k, N).
        error: How much they may be off, shape (N,).
    """

    center: Array
    slopes: Array
    error: Array

    @property
    def radius(self) -> Array:
        """How far values may be from the middle."""
        return np.asarray(np.abs(self.slopes).sum(axis=0) + self.error)

    @property
    def low(self) -> Array:
        """Lower bound."""
        return np.asarray(self.center - self.radius * (1.0 + ROUNDED) - np.abs(self.center) * 1e-16)

    @property
    def high(self) -> Array:
        """Upper bound."""
        return np.asarray(self.center + self.radius * (1.0 + ROUNDED) + np.abs(self.center) * 1e-16)

    @classmethod
    def variables(cls, center: Array, radius: Array) -> list[AffineForm]:
        """Variables over boxes with some middles and half widths, (N, k)."""
        k = center.shape[1]
        units = np.eye(k)[:, :, None] * radius.T
        rounded = ROUNDED * np.abs(center)
        return [cls(center[:, i], units[i], rounded[:, i]) for i in range(k)]

    @classmethod
    def between(cls, low: Array, high: Array, k: int) -> AffineForm:
        """Anything within bounds."""
        center = 0.5 * (low + high)
        error = np.maximum(high - center, center - low) * (1.0 + ROUNDED)
        return cls(center, np.zeros((k, len(center))), error)

    def where(self, mask: Mask) -> AffineForm:
        """The same, and nothing where it is not defined."""
        return AffineForm(self.center, self.slopes, np.where(mask, self.error, np.nan))


def _rounded(center: Array, slopes: Array, error: Array) -> AffineForm:
    """A form with what its numbers are rounded by."""
    size = np.abs(center) + np.abs(slopes).sum(axis=0) + error
    return AffineForm(center, slopes, error + ROUNDED * size)


def total(a: AffineForm, b: AffineForm, sign: float = 1.0) -> AffineForm:
    """A + b or a - b."""
    return _rounded(a.center + sign * b.center, a.slopes + sign * b.slopes, a.error + b.error)


def product(a: AffineForm, b: AffineForm) -> AffineForm:
    """A b."""
    error = np.abs(a.center) * b.error + np.abs(b.center) * a.error + a.radius * b.radius
    return _rounded(a.center * b.center, a.center * b.slopes + b.center * a.slopes, error)


def _square(a: AffineForm) -> AffineForm:
    """A², whose curved part is between 0 and the square of the radius."""
    curved = 0.5 * a.radius**2
    error = 2.0 * np.abs(a.center) * a.error + curved
    return _rounded(a.center**2 + curved, 2.0 * a.center * a.slopes, error)


def _curve(a: AffineForm, value: Array, rate: Array, bend: Array) -> AffineForm:
    """A function of one number, from value and derivative in the middle, and second derivative."""
    error = np.abs(rate) * a.error + 0.5 * bend * a.radius**2
    return _rounded(value, rate * a.slopes, error)


def _inverse(a: AffineForm) -> AffineForm:
    nearest = np.abs(a.center) - a.radius
    found = _curve(a, 1.0 / a.center, -1.0 / a.center**2, 2.0 / nearest**3)
    return found.where(nearest > 0.0)


def _root(a: AffineForm) -> AffineForm:
    root = np.sqrt(a.center)
    return _curve(a, root, 0.5 / root, 0.25 * np.abs(a.low) ** -1.5).where(a.low > 0.0)


def _atan2(y: AffineForm, x: AffineForm) -> AffineForm:
    """Angles of points that stay clear of the origin, continuous across the negative axis."""
    square = x.center**2 + y.center**2
    length = np.sqrt(x.radius**2 + y.radius**2)
    nearest = np.sqrt(square) * (1.0 - ROUNDED) - length
    to_y, to_x = x.center / square, -y.center / square
    error = np.abs(to_y) * y.error + np.abs(to_x) * x.error + 0.5 * (length / nearest) ** 2
    angle = np.arctan2(y.center, x.center)
    return _rounded(angle, to_y * y.slopes + to_x * x.slopes, error).where(nearest > 0.0)


def _remainder(a: AffineForm, turn: float) -> AffineForm:
    """Less the same number of turns all over the box; none where that differs."""
    less = np.round(a.center / turn)
    same = (less == np.round(a.low / turn)) & (less == np.round(a.high / turn))
    return _rounded(a.center - turn * less, a.slopes, a.error).where(same)


def _compared(less: AffineForm, more: AffineForm, k: int) -> AffineForm:
    """Whether one is less than the other: 1, 0, or undecided."""
    return AffineForm.between(
        (less.high < more.low).astype(float), (less.low <= more.high).astype(float), k
    )


def _selected(condition: AffineForm, yes: AffineForm, no: AffineForm, k: int) -> AffineForm:
    """What is selected; all that lies between both where that is not decided."""
    chosen, other = condition.low > 0.5, condition.high < 0.5
    either = AffineForm.between(np.minimum(yes.low, no.low), np.maximum(yes.high, no.high), k)
    parts = zip(*((x.center, x.slopes, x.error) for x in (yes, no, either)), strict=True)
    return AffineForm(*(np.where(chosen, a, np.where(other, b, c)) for a, b, c in parts))


def evaluated(lines: Sequence[Line], given: Mapping[str, AffineForm]) -> list[AffineForm]:
    """Forms of lines from those of the variables."""
    first = next(iter(given.values()))
    found: dict[int, AffineForm] = {}
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for line in lines[0].code.needed(lines):
            of = [found[a] for a in line.arguments]
            found[line.index] = _line(line, of, given, first.slopes.shape)
    return [found[line.index] for line in lines]


def _line(
    line: Line, of: Sequence[AffineForm], given: Mapping[str, AffineForm], shape: tuple[int, ...]
) -> AffineForm:
    name, (k, N) = line.operation, shape
    if name == "constant":
        return AffineForm(np.full(N, float(line.data or 0.0)), np.zeros((k, N)), np.zeros(N))
    if name == "variable":
        return given[str(line.data)]
    a, b = of[0], of[-1]
    if name in ("add", "subtract"):
        return total(a, b, 1.0 if name == "add" else -1.0)
    if name == "multiply":
        return _square(a) if line.arguments[0] == line.arguments[1] else product(a, b)
    if name == "divide":
        return product(a, _inverse(b))
    if name == "negative":
        return AffineForm(-a.center, -a.slopes, a.error)
    if name == "root":
        return _root(a)
    if name in ("cos", "sin"):
        c, s, one = np.cos(a.center), np.sin(a.center), np.ones(N)
        return _curve(a, *((c, -s) if name == "cos" else (s, c)), one)
    if name == "atan2":
        return _atan2(a, b)
    if name == "remainder":
        return _remainder(a, float(b.center.flat[0]))
    if name == "absolute":
        least = np.where(a.low * a.high < 0.0, 0.0, np.minimum(np.abs(a.low), np.abs(a.high)))
        return AffineForm.between(least, np.maximum(np.abs(a.low), np.abs(a.high)), k)
    if name in ("less", "at_most"):
        return _compared(a, b, k)
    if name in ("both", "either"):
        join = np.minimum if name == "both" else np.maximum
        return AffineForm.between(join(a.low, b.low), join(a.high, b.high), k)
    return _selected(a, of[1], b, k)


def inverses(matrices: Array) -> Array:
    """Inverses, NaN of singular matrices."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    safe = np.where(finite[:, None, None], matrices, np.eye(matrices.shape[1]))
    singular = np.asarray(np.abs(np.linalg.det(safe)) <= 1e-300)
    safe[singular] = np.eye(matrices.shape[1])
    result = np.linalg.inv(safe)
    result[singular | ~finite] = np.nan
    return np.asarray(result)


def bounds_of(
    lines: Sequence[Line], names: Sequence[str], z: Array, radius: Array
) -> tuple[Array, Array]:
    """Lower and upper bounds of lines over boxes with some middles and half widths, (N, lines)."""
    given = dict(zip(names, AffineForm.variables(z, radius), strict=True))
    found = evaluated(lines, given)
    return np.stack([x.low for x in found], -1), np.stack([x.high for x in found], -1)


def contracted(Y: Array, rates: tuple[Array, Array]) -> Array:
    """Bound of the entries of 1 - Y R for derivatives R within bounds, shape (N, k, k)."""
    middle, radius = 0.5 * (rates[0] + rates[1]), 0.5 * (rates[1] - rates[0])
    bound = np.abs(np.eye(Y.shape[1]) - Y @ middle) + np.abs(Y) @ radius
    return np.asarray(bound * (1.0 + ROUNDING) + ROUNDING * (1.0 + np.abs(Y) @ np.abs(middle)))


def regular(Y: Array, rates: tuple[Array, Array]) -> NDArray[np.bool_]:
    """Whether all derivatives within bounds are regular: 1 - Y R has a spectral radius below 1."""
    bound = np.nan_to_num(contracted(Y, rates), nan=2.0, posinf=2.0)
    weights = np.ones((len(Y), Y.shape[1]))
    for _ in range(4):  # any positive weights give a bound; these tend to the best
        weights = np.einsum("nij,nj->ni", bound, weights) + VANISHING
        weights /= weights.max(axis=1, keepdims=True)
    ratio = np.einsum("nij,nj->ni", bound, weights) / weights
    return np.asarray((ratio < 1.0 - NEGLIGIBLE).all(axis=1))
