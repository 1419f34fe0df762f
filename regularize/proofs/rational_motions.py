"""Joints that move along a rational curve: exact axes from factors of their motion polynomial.

Let half-angle tangents of hinges and ways of slides be rational functions of t. Each joint then
stands for one linear factor t - h or for a few on one line, and what a loop closes is that their
product is real. So the factors of one half of it, in any order of their norms, tell those of the
other half: they are rounded, and these computed from them exactly. Linkages of Bennett, Goldberg,
Myard and Waldron, loops from motion polynomials of any degree and networks of all these are such.

Where the factors are follows from the velocities and higher derivatives at the pose alone. What is
found is a guess until the curve has been put into the closure equations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array
from regularize.lie.motion_type import motion_type
from regularize.mechanism.graph import EdgeId, Graph
from regularize.proofs.geometry import integral
from regularize.proofs.incidence import common_denominator, simple_vector, simplest
from regularize.proofs.verifier import SIGNS, Space, distance
from regularize.reduction.block import Block

#: A dual quaternion: 1, i, j, k, and the same times the dual unit; exact numbers or floats, (8,).
Dual: TypeAlias = NDArray[Any]
#: A vector of exact numbers, shape (3,).
Exact: TypeAlias = NDArray[Any]
#: Of a factor t - c - h the numbers c and -h² = r.
Norm: TypeAlias = tuple[Fraction, Fraction]


def multiplied(p: Dual, q: Dual) -> Dual:
    """Return the product of two dual quaternions."""
    p, q = (np.asarray(x).tolist() for x in (p, q))  # quicker one by one
    product = [p[0] * 0] * 8
    for shift, a, b in ((0, p[:4], q[:4]), (4, p[:4], q[4:]), (4, p[4:], q[:4])):
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                product[shift + (i ^ j)] += SIGNS[i][j] * x * y
    return np.array(product)


def conjugated(q: Dual) -> Dual:
    """Return a dual quaternion with the opposite vector parts."""
    return np.asarray(q * ([1, -1, -1, -1] * 2))


def line_of(direction: Exact, moment: Exact) -> Dual:
    """Return a line as a dual quaternion."""
    return np.array([Fraction(0), *direction, Fraction(0), *moment])


def norm_of(factor: Dual) -> Norm:
    """Return the numbers c and r of a factor t - c - h, given as c + h."""
    c, *direction = factor.tolist()[:4]
    return c, sum((x * x for x in direction), Fraction(0))


def product_of(factors: Sequence[Dual]) -> list[Dual]:
    """Return coefficients of the product of factors t - h, those of low powers first."""
    product = [np.array([Fraction(int(i == 0)) for i in range(8)])]
    zero = 0 * product[0]
    for h in factors:
        lower = [*(-multiplied(c, h) for c in product), zero]
        product = [a + b for a, b in zip(lower, [zero, *product], strict=True)]
    return product


def split_right(polynomial: Sequence[Dual], norm: Norm) -> tuple[list[Dual], Dual]:
    """Split off the last factor t - h with a norm; ZeroDivisionError unless there is just one."""
    before, h, remainder = _split(polynomial, norm)
    if remainder.any():
        raise ZeroDivisionError
    return before, h


def _split(polynomial: Sequence[Dual], norm: Any) -> tuple[list[Dual], Dual, Dual]:
    """Return what stands before the last factor t - h with a norm, h, and the remainder."""
    c, r = norm
    rest = [*polynomial]
    while len(rest) > 2:  # the rest of division by (t - c)² + r
        lead = rest.pop()
        rest[-1] = rest[-1] + 2 * c * lead
        rest[-2] = rest[-2] - (c * c + r) * lead
    h = -_divided(rest[1], rest[0])
    before, carry = [], 0 * h
    for coefficient in reversed(polynomial):
        carry = coefficient + multiplied(carry, h)
        before.append(carry)
    remainder = before.pop()
    return before[::-1], h, remainder


def _divided(below: Dual, above: Dual) -> Dual:
    """Return below⁻¹ · above for two dual quaternions."""
    other = conjugated(below)
    # below other = a + e b with real numbers a and b; the inverse of that is (a - e b) / a².
    norm = multiplied(below, other)
    a, b = norm[0], norm[4]
    product = multiplied(other, above)
    return np.concatenate([product[:4] / a, (product[4:] * a - product[:4] * b) / (a * a)])


def exact_line(line: Array, rounding: float) -> Dual:
    """Return a rational line near a measured one."""
    w = line[3:]
    return line_through(exact_vector(w / np.abs(w).max(), rounding), line, rounding)


def line_through(direction: Exact, line: Array, rounding: float) -> Dual:
    """Return a line with a rational direction through a point near a measured line."""
    point = exact_vector(np.cross(line[3:], line[:3]) / (line[3:] @ line[3:]), rounding)
    return line_of(direction, np.cross(point, direction))


def exact_vector(x: Array, rounding: float) -> Exact:
    """Return a vector of fractions near measured numbers."""
    return np.array(simple_vector(x, rounding))


#: Joints of a loop with the sense in which it passes them.
Loop = Sequence[tuple[EdgeId, int]]
#: Of a hinge's factors t - c - s l on the unit line l the numbers c + i s.
Roots = tuple[complex, ...]
#: How far an axis may be from the measured one before its loop is closed in another way.
OFF = 1e-2
#: Terms of power series, and factors of one hinge that they can tell.
ORDER, MOST = 8, 3
#: How far series may be from those of such hinges, in parts: they lose digits, and more with noise.
NOISE = (1e-6, 1e-3)
#: Hinges whose half-angle tangents are tried as the parameter, and ways to begin.
TRIES = 8
#: Loops of exact hinges that are tried to be closed: each takes some ten milliseconds.
CLOSINGS = 80
#: Denominators that are taken to be meant. All others are one number: products stay shorter.
SHORT = 1000


def rational_motions(
    graph: Graph, part: Block, within: float, rounding: float
) -> Iterator[tuple[str, dict[EdgeId, Space]]]:
    """Yield names of linkages with exact joints; arguments as of ``families``."""
    screws = {e: s for e, s in part.screws.items() if s.size}
    kinds = {e: motion_type(np.linalg.qr(s)[0], within).name for e, s in screws.items()}
    if not {*kinds.values()} <= {"revolute", "translation"}:
        return
    axes = {}
    for e, kind in kinds.items():
        row = screws[e][:, 0] * np.repeat([1.0, kind == "revolute"], 3)
        axes[e] = row / np.linalg.norm(row[3:] if kind == "revolute" else row)
    loops = [[(e, c.direction(graph, e)) for e in c.edges if e in axes] for c in part.cycles]
    velocities = np.linalg.svd(_equations(loops, axes, [*axes]), compute_uv=False)
    rank = int(np.sum(velocities > within * velocities[0])) if len(axes) > 1 else 0
    if rank < max(len(axes) - 1, 1):
        return  # more than one velocity, of which series cannot be told
    every, closings = [_series(loops, axes, first) for first in [*axes][:TRIES]], 0
    for series, noise in ((series, noise) for noise in NOISE for series in every):
        roots = {e: _roots(s, noise, MOST if axes[e][3:].any() else 1) for e, s in series.items()}
        known = {e: r for e, r in roots.items() if r is not None}
        closings += len(loops) * min(len(loops), TRIES) * (len(known) == len(axes))
        if closings > CLOSINGS:
            return
        linkages = _found(loops, axes, known, rounding) if len(known) == len(axes) else {}
        exact = linkages.values()
        off = (max(distance([*axes[e]], x) for e, x in spaces.items()) for spaces in exact)
        near = [name for name, miss in zip(linkages, off, strict=True) if miss <= within]
        for name in near:
            yield name, linkages[name] | dict.fromkeys(part.screws.keys() - axes.keys(), ())
        if near:
            return


def _found(
    loops: Sequence[Loop], axes: dict[EdgeId, Array], roots: dict[EdgeId, Roots], rounding: float
) -> dict[str, dict[EdgeId, Space]]:
    """Return exact joints under their name, those of the shortest numbers that were found."""
    candidates, fits = [], dict[Any, bool]()
    for k in range(min(len(loops), TRIES)):
        turned = [[*p[k % len(p) :], *p[: k % len(p)]] for p in (*loops[k:], *loops[:k])]
        factors = _Factors(turned, axes, roots, rounding, fits)
        if not factors.all_fit():
            return {}
        every = factors.solved() or {}
        spaces = {e: integral([[*h[0][5:], *h[0][1:4]]]) for e, h in every.items()}
        bits = sum(x.bit_length() for space in spaces.values() for row in space for x in row)
        candidates += [(bits, factors.name(), spaces)] * bool(spaces)
    return {name: spaces for _, name, spaces in sorted(candidates, key=lambda entry: entry[0])[:1]}


def _equations(
    loops: Sequence[Loop], axes: dict[EdgeId, Array], columns: Sequence[EdgeId]
) -> Array:
    """Return the closure equations on the rates of hinges, shape (6 loops, hinges)."""
    senses = [dict(loop) for loop in loops]
    return np.vstack([np.column_stack([s.get(e, 0) * axes[e] for e in columns]) for s in senses])


def _series(loops: Sequence[Loop], axes: dict[EdgeId, Array], first: EdgeId) -> dict[EdgeId, Array]:
    """Return half-angle tangents as power series in one of them, without the constant terms."""
    columns = [*(e for e in axes if e != first), first]
    matrix = _equations(loops, axes, columns)
    inverse = np.linalg.pinv(matrix[:, :-1])
    unit = np.eye(8)[0]
    lines = {e: line_of(a[3:], a[:3]).astype(float) for e, a in axes.items()}
    series = {e: np.zeros(ORDER + 1) for e in axes}
    # Matrices that multiply rows by a dual quaternion from the right.
    factors = [[sense * lines[e] for e, sense in loop] for loop in loops]
    right = [[np.array([multiplied(row, h) for row in np.eye(8)]) for h in own] for own in factors]
    partial = [np.zeros((len(loop) + 1, ORDER + 1, 8)) for loop in loops]
    for products in partial:
        products[:, 0] = unit
    for k in range(1, ORDER + 1):
        for solved in (False, True):  # first what is known, then all
            for loop, products, turn in zip(loops, partial, right, strict=True):
                for at, (e, _) in enumerate(loop):
                    lower = series[e][1 : k + 1] @ products[at][k - 1 :: -1][:k]
                    products[at + 1][k] = products[at][k] + lower @ turn[at]
            if not solved:
                open_ = [products[-1][k][[5, 6, 7, 1, 2, 3]] for products in partial]
                last = float(k == 1)
                values = inverse @ -(np.concatenate(open_) + last * matrix[:, -1])
                for e, value in zip(columns, [*values, last], strict=True):
                    series[e][k] = value
    return {e: s[1:] for e, s in series.items()}


def _roots(series: Array, noise: float, most: int) -> Roots | None:
    """Return the factors of a hinge by its series, or None where there are not so few."""
    if not np.isfinite(series).all():
        return None
    # In x = 1 / t it is x (q0 + q1 x + ...) / (1 + p1 x + ...), by the product of t - c - i s.
    for d in range(1, most + 1):
        # Terms of low order tell the most: errors grow from one to the next.
        rows = np.array([series[k - d : k + 1][::-1] for k in range(d, 2 * d + 2)])
        p = np.linalg.lstsq(rows[:d, 1:], -rows[:d, 0], rcond=None)[0]
        size = np.maximum.accumulate(np.abs(series))[d : 2 * d + 2]
        if np.all(np.abs(rows @ [1.0, *p]) <= noise * size):
            q = [series[k] + series[:k] @ p[:k][::-1] for k in range(d)]
            roots = np.roots([1.0, *(a + 1j * b for a, b in zip(p, q, strict=True))])
            # Roots that are one come as several around it.
            largest = np.abs(roots).max()
            near = [roots[np.abs(roots - z) <= 1e-4 * largest] for z in roots]
            turns = np.abs(roots.imag).min() > 1e-6 * max(1.0, largest)
            return tuple(complex(group.mean()) for group in near) if turns else None
    return None


class _Factors:
    """Exact factors of all hinges near their roots, loop by loop; hinges are unit screws."""

    def __init__(
        self,
        loops: Sequence[Loop],
        axes: dict[EdgeId, Array],
        roots: dict[EdgeId, Roots],
        rounding: float,
        fits: dict[Any, bool],
    ) -> None:
        self.loops, self.axes, self.roots, self.rounding = loops, axes, roots, rounding
        self.fits = fits  # by halves of loops, for all that have the same roots
        self.found: dict[EdgeId, tuple[Dual, ...]] = {}
        self.centers: list[complex] = []  # one number for all factors of the same norm
        self.norms: dict[int, tuple[Norm, Exact]] = {}  # exact, with the vector of one factor

    def solved(self) -> dict[EdgeId, tuple[Dual, ...]] | None:
        """Return the factors of all hinges as parents see their children turn, if there are any."""
        waiting = list(range(len(self.loops)))
        while waiting:
            waiting.sort(key=lambda i: self._known(self.loops[i]))
            if not any(map(self._close, self._ways(self.loops[waiting.pop(0)]))):
                return None
        return self.found

    def name(self) -> str:
        """Return the name of linkages with these numbers of hinges and factors."""
        if len(self.loops) > 1:
            return "network of rational linkages"
        norms = [[self._class(e, root) for root in self.roots[e]] for e, _ in self.loops[0]]
        if any(not self.axes[e][3:].any() for e in self.axes):
            return "rational loop with slides"
        shape = (len(norms), sum(len(own) > 1 for own in norms))
        if shape == (6, 0):  # two linkages of Bennett side by side, or three around a corner
            apart = [abs(i - j) for i in range(6) for j in range(i) if norms[i] == norms[j]]
            return "Waldron 6R" if {*apart} & {2, 4} else "rational 6R"
        names = {(4, 0): "Bennett", (5, 1): "Goldberg 5R", (6, 2): "Goldberg 6R"}
        return names.get(shape, f"rational {len(norms)}R")

    def _known(self, loop: Loop) -> tuple[int, int]:
        """Return a sort key: minus the number of joints that are exact, and how long these are."""
        exact = [x for e, _ in loop if e in self.found for h in self.found[e] for x in h]
        known = sum(e in self.found for e, _ in loop)
        return -known, sum(int(x.denominator).bit_length() for x in exact)

    def _class(self, e: EdgeId, root: complex) -> int:
        """Return the number of the class of factors with one norm that a root belongs to."""
        norm = complex(root.real, abs(root.imag) * bool(self.axes[e][3:].any()))
        for i, center in enumerate(self.centers):
            if abs(norm - center) <= 1e-3 * max(1.0, abs(center)):
                return i
        self.centers.append(norm)
        return len(self.centers) - 1

    def _ways(self, loop: Loop) -> list[Loop]:
        """Return rotations of the loop whose first half has the same norms as the second."""
        rotations = []
        for start in range(len(loop)):
            turned = [*loop[start:], *loop[:start]]
            half, second_half = self._halves(turned)
            norms = [
                [self._class(e, root) for e, _ in side for root in self.roots[e]]
                for side in (half, second_half)
            ]
            if Counter(norms[0]) == Counter(norms[1]):
                outside = sum(e in self.found for e, _ in second_half)
                repeated = len(norms[0]) - len({*norms[0]})
                rotations.append((outside, repeated, self._known(half), start, turned))
        return [rotation for *_, rotation in sorted(rotations)]

    def _halves(self, loop: Loop) -> tuple[Loop, Loop]:
        """Split a loop where half of all factors are passed."""
        count, total = 0, sum(len(self.roots[e]) for e, _ in loop)
        for i, (e, _) in enumerate(loop):
            if count >= total / 2:
                return loop[:i], loop[i:]
            count += len(self.roots[e])
        return loop, []

    def _close(self, loop: Loop) -> bool:
        """Make the joints of a loop exact: the factors of its first half determine the others."""
        before, norms = dict(self.found), dict(self.norms)
        try:
            half, second_half = self._halves(loop)
            if not self._fits(loop):
                return False
            for e, _ in half:
                if e not in self.found:
                    self.found[e] = self._rounded(e)
            factors = [h if s > 0 else conjugated(h) for e, s in half for h in self.found[e]]
            product = [conjugated(c) for c in product_of(factors)]
            for e, sense in reversed(second_half):
                of_hinge = []
                for root in self.roots[e]:
                    product, h = split_right(product, self.norms[self._class(e, root)][0])
                    of_hinge.append(h if sense > 0 else conjugated(h))
                if any(np.cross(of_hinge[0][1:4], h[1:4]).any() for h in of_hinge):
                    raise ZeroDivisionError
                # The same factors, in whatever order.
                if sorted(map(tuple, self.found.get(e, of_hinge))) != sorted(map(tuple, of_hinge)):
                    raise ZeroDivisionError
                self.found.setdefault(e, tuple(of_hinge))
            return True
        except ZeroDivisionError:
            self.found, self.norms = before, norms
            return False

    def all_fit(self) -> bool:
        """Whether the measured factors close every loop in some way."""
        return all(any(map(self._fits, self._ways(loop))) for loop in self.loops)

    def _fits(self, loop: Loop) -> bool:
        """Whether the measured factors of the first half leave axes near those of the second."""
        if (key := tuple(loop)) not in self.fits:
            self.fits[key] = self._is_near(*self._halves(loop))
        return self.fits[key]

    def _is_near(self, half: Loop, second_half: Loop) -> bool:
        """Whether the measured factors of one half leave axes near those of the other."""
        factors = []
        for e, sense in half:
            line = line_of(self.axes[e][3:], self.axes[e][:3]).astype(float)
            factors += [root.real * _ONE + sense * root.imag * line for root in self.roots[e]]
        product = [conjugated(c) for c in product_of(factors)]
        for e, sense in reversed(second_half):
            for root in self.roots[e]:
                center = self.centers[self._class(e, root)]
                product, h, _ = _split(product, (center.real, center.imag**2))
                axis = sense * np.array([*h[5:], *h[1:4]], dtype=float)
                axis /= np.linalg.norm(axis[3:] if self.axes[e][3:].any() else axis)
                if min(np.abs(axis - self.axes[e]).max(), np.abs(axis + self.axes[e]).max()) > OFF:
                    return False
        return True

    def _rounded(self, e: EdgeId) -> tuple[Dual, ...]:
        """Return factors of a hinge near those that were measured, with known norms."""
        axis, line, made = self.axes[e], None, []
        for root in sorted(self.roots[e], key=lambda r: self._class(e, r) not in self.norms):
            number = self._class(e, root)
            if not axis[3:].any():
                slide = line_of(0 * (way := exact_vector(root.imag * axis[:3], self.rounding)), way)
                c = self.norms[number][0][0] if number in self.norms else self._near(root.real)
                self.norms[number] = (c, Fraction(0)), 0 * way
                made.append(slide + c * _ONE)
                continue
            if number in self.norms:
                (c, r), vector = self.norms[number]
                if line is None:
                    direction = _turned(vector, root.imag * axis[3:], self.rounding)
                    line = line_through(direction, axis, self.rounding)
                sign = np.sign(root.imag * (line[1:4].astype(float) @ axis[3:]))
                made.append(int(sign) * _root(r / (line[1:4] @ line[1:4])) * line + c * _ONE)
                continue
            if line is None:
                line = exact_line(axis, self.rounding)
                if common_denominator(line[1:4]) > SHORT:
                    direction = exact_vector(root.imag * axis[3:], self.rounding)
                    line = line_through(direction, axis, self.rounding)
            size = root.imag * (line[1:4].astype(float) @ axis[3:])
            k = self._near(float(size) / float(line[1:4] @ line[1:4]))
            made.append(k * line + self._near(root.real) * _ONE)
            self.norms[number] = norm_of(made[-1]), made[-1][1:4]
        return tuple(made)

    def _near(self, x: float) -> Fraction:
        """Return a fraction near a number: a short one, or one with the usual denominator."""
        simple = simplest(x, self.rounding)
        size = math.ceil(0.5 / self.rounding)
        return simple if simple.denominator <= SHORT else Fraction(round(x * size), size)


def _root(x: Fraction) -> Fraction:
    """Return the square root of a fraction, or raise ZeroDivisionError where it is none."""
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    if root * root != x:
        raise ZeroDivisionError
    return root


_ONE = np.eye(8, dtype=int)[0]


def _turned(vector: Exact, target: Array, rounding: float) -> Exact:
    """Turn a rational vector by a half turn to lie nearly along a target."""
    a, b = vector.astype(float), target / np.linalg.norm(target)
    a = a / np.linalg.norm(a)
    middle = a + b if np.linalg.norm(a + b) > 1e-9 else np.linalg.svd(a[None])[2][1]
    n = exact_vector(middle / np.abs(middle).max(), rounding)
    return np.asarray(2 * (n @ vector) / (n @ n) * n - vector)
