r"""All poses of a body with points on spheres, circles and planes: forty, sixteen or six at most.

A pose is a dual quaternion x + e y up to a factor, with x.y = 0 (Study 1891). A point b of the body
is on a sphere or plane a |P|^2 + 2 c.P + d = 0 where

.. math:: a |x b + 2 y|^2 + 2 (c x).(x b + 2 y) + d |x|^2 = 0,

so all conditions are quadrics (Husty 1996). Their complex solutions for some conditions are
continued to those for others of the same kind along a path of complex conditions (Morgan and
Sommese 1989). Solutions for the first ones are found from one by going around (monodromy), until
there are as many as such a body has poses: no generic one has more, so as many isolated ones that
are all different are all. Each is proved by Newton's method: the derivatives of quadrics change by
known amounts (Kantorovich 1948).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array
from regularize.tolerances import EXACT, ROUNDING, VANISHING

#: Complex numbers.
Complex: TypeAlias = NDArray[Any]
#: Points on circles and on spheres, in a plane or not, and the number of poses that there are.
POSES = {(0, 6, False): 40, (3, 0, False): 16, (3, 0, True): 6}
#: Places of the entries of planar poses.
PLANE = [0, 3, 5, 6]


class Conditions(NamedTuple):
    """Points of a body on spheres and planes, for N samples; lengths of about one.

    Attributes:
        a: 1 for a sphere, 0 for a plane, shape (N, m).
        c: Minus the centre, or half the normal, shape (N, m, 3).
        d: The rest of the equation, shape (N, m).
        b: The points on the body, shape (N, m, 3).
    """

    a: Array
    c: Array
    d: Array
    b: Array


@dataclass(frozen=True, eq=False)
class Poses:
    """Real poses of N samples.

    Attributes:
        rows: Sample of each pose, shape (K,).
        T: The poses, shape (K, 4, 4).
        certificate: Number of Kantorovich of each, at most one half, shape (K,).
        complete: Whether as many isolated poses were proved as there can be, shape (N,).
    """

    rows: NDArray[np.intp]
    T: Array
    certificate: Array
    complete: NDArray[np.bool_]


def poses(conditions: Conditions, circles: int, planar: bool) -> Poses | None:
    """All poses that fulfil conditions; None where bodies like this are not known.

    Args:
        conditions: Those of circles first, a sphere and a plane each.
        circles: Number of circles.
        planar: Whether the body moves in the plane of x and y, in which all circles are; their
            planes are no conditions then.
    """
    spheres = conditions.a.shape[1] - (1 if planar else 2) * circles
    if (circles, spheres, planar) not in POSES:
        return None
    count = POSES[circles, spheres, planar]
    start, ends = _start(circles, spheres, planar)
    if len(ends) < count:
        return None
    N = len(conditions.a)
    system = _Quadrics(start, conditions, planar)
    z = np.repeat(ends[None], N, axis=0).reshape(N * count, -1)
    rows = np.repeat(np.arange(N), count)
    with np.errstate(over="ignore", invalid="ignore"):  # some may lead to infinity
        z, good = system.followed(z, rows)
        h, apart = system.proved(z, rows)
    good &= h <= 0.5
    complete = good.reshape(N, count).all(axis=1)
    table, radius = z.reshape(N, count, -1), apart.reshape(N, count)
    far = np.abs(table[:, :, None] - table[:, None]).max(axis=3)
    # No two of them are near one that is alone there.
    far[:, np.arange(count), np.arange(count)] = np.inf
    complete &= np.all(far > radius[:, :, None] + radius[:, None], axis=(1, 2))
    # A solution near its conjugate is its own: there is one only.
    real = good & (np.abs(z.imag).max(axis=1) * 2.0 < apart)
    order = np.flatnonzero(real)
    unit = z[order].real
    same = np.abs(unit[:, None] - unit[None]).max(axis=2) < EXACT.same
    first = ~np.any(np.triu(same & (rows[order][:, None] == rows[order]), 1), axis=0)
    order = order[first]
    return Poses(rows[order], system.pose(z[order].real), h[order], complete)


@cache
def _start(circles: int, spheres: int, planar: bool) -> tuple[Conditions, Complex]:
    """Generic complex conditions, one sample, with all their solutions, shape (K, n)."""
    rng = np.random.default_rng(7)
    count = POSES[circles, spheres, planar]
    first = _random(rng, circles, spheres, planar)
    z = rng.normal(size=4 if planar else 8) + 1j * rng.normal(size=4 if planar else 8)
    if not planar:
        z[4:] -= z[:4] * (z[:4] @ z[4:]) / (z[:4] @ z[:4])
    z /= _chart(len(z)) @ z
    # The last term of each condition is what the first pose asks for.
    own = _Quadrics(first, first, planar)
    values = own.system(z[None], np.zeros(1), np.zeros(1, dtype=np.intp))[0][:, : first.d.shape[1]]
    first = first._replace(d=first.d - values / (z[:2] @ z[:2] if planar else z[:4] @ z[:4]))
    found = z[None]
    for _ in range(40):
        if len(found) >= count:
            break
        here, ends, good = first, found, np.ones(len(found), dtype=bool)
        for there in (*(_random(rng, circles, spheres, planar) for _ in range(2)), first):
            ends, closed = _Quadrics(here, there, planar).followed(
                ends, np.zeros(len(ends), dtype=np.intp)
            )
            good, here = good & closed, there
        for end in ends[good]:
            if np.abs(found - end).max(axis=1).min() > EXACT.same:
                found = np.vstack([found, end])
    return first, found


def _random(rng: np.random.Generator, circles: int, spheres: int, planar: bool) -> Conditions:
    """Complex conditions of a kind."""

    def some(*shape: int) -> Complex:
        return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))

    each = 1 if planar else 2
    m = each * circles + spheres
    a, b = np.ones((1, m)), some(1, m, 3)
    if not planar:
        a[:, 1 : 2 * circles : 2] = 0.0
        b[:, 1 : 2 * circles : 2] = b[:, : 2 * circles : 2]
    return Conditions(a, some(1, m, 3), some(1, m), b)


@cache
def _chart(n: int) -> Array:
    """A linear form that is one on all solutions: no real one is special to it."""
    return np.random.default_rng(3).normal(size=n)


def _cross(p: Complex, q: Complex) -> Complex:
    right, left = [1, 2, 0], [2, 0, 1]
    return np.asarray(p[..., right] * q[..., left] - p[..., left] * q[..., right])


def _product(p: Complex, q: Complex) -> Complex:
    """The product of quaternions, shape (..., 4)."""
    scalar = p[..., :1] * q[..., :1] - np.sum(p[..., 1:] * q[..., 1:], axis=-1, keepdims=True)
    vector = p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + _cross(p[..., 1:], q[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def _quaternion(v: Complex) -> Complex:
    return np.concatenate([np.zeros_like(v[..., :1]), v], axis=-1)


def _whole(z: Complex, planar: bool) -> tuple[Complex, Complex]:
    """Both quaternions of solutions (K, n), shape (K, 4) each."""
    if planar:
        own, z = z, np.zeros((len(z), 8), dtype=z.dtype)
        z[:, PLANE] = own
    return z[:, :4], z[:, 4:]


class _Quadrics:
    """Quadrics on the way from one set of conditions to others.

    Args:
        start: The first conditions, one sample.
        end: The last ones, N samples.
        planar: Whether the body moves in the plane of x and y.
    """

    def __init__(self, start: Conditions, end: Conditions, planar: bool) -> None:
        self._start, self._end, self._planar = start, end, planar

    def pose(self, z: Array) -> Array:
        """Poses of real solutions (K, n), shape (K, 4, 4)."""
        x, y = _whole(z, self._planar)
        conjugate = x * (1.0, -1.0, -1.0, -1.0) / np.sum(x * x, axis=1, keepdims=True)
        T = np.tile(np.eye(4), (len(z), 1, 1))
        for k, e in enumerate(np.eye(4)[1:]):
            T[:, :3, k] = _product(_product(x, np.broadcast_to(e, x.shape)), conjugate)[:, 1:]
        T[:, :3, 3] = 2.0 * _product(y, conjugate)[:, 1:]
        return T

    def system(self, z: Complex, s: Array, rows: NDArray[np.intp]) -> tuple[Complex, ...]:
        """Values, derivatives by z and by s, at places s of the way."""
        t = s[:, None]
        d, b, c = self._end.d[rows], self._end.b[rows], self._end.c[rows]
        a, first = self._end.a[rows][..., None], self._start
        by_c, by_d, by_b = c - first.c, d - first.d, b - first.b
        c, d, b = first.c + t[..., None] * by_c, first.d + t * by_d, first.b + t[..., None] * by_b
        b, c, by_b, by_c = map(_quaternion, (b, c, by_b, by_c))
        x, y = (part[:, None] for part in _whole(z, self._planar))
        u, w = _product(x, b) + 2.0 * y, _product(c, x)
        g = a * u + w
        by_x = d[..., None] * x - _product(g, b) - _product(c, u)
        half = np.concatenate([by_x, 2.0 * g], axis=2)
        slopes = by_d * np.sum(x * x, axis=2)
        slopes = slopes + 2.0 * np.sum(g * _product(x, by_b) + _product(by_c, x) * u, axis=2)
        if self._planar:
            half = half[..., PLANE]
        else:  # the condition of Study
            half = np.concatenate([half, 0.5 * np.concatenate([y, x], axis=2)], axis=1)
            slopes = np.concatenate([slopes, np.zeros((len(z), 1))], axis=1)
        chart = np.broadcast_to(_chart(z.shape[1]), (len(z), 1, z.shape[1]))
        ones = (chart @ z[..., None])[..., 0]
        values = np.concatenate([(half @ z[..., None])[..., 0], ones - 1.0], axis=1)
        jacobian = np.concatenate([2.0 * half, chart], axis=1)
        return values, jacobian, np.concatenate([slopes, 0.0 * ones], axis=1)

    def _newton(
        self, z: Complex, s: Array, rows: NDArray[np.intp], steps: int
    ) -> tuple[Complex, Array]:
        """Corrected places, and the sizes of the last corrections."""
        size = np.zeros(len(z))
        for _ in range(steps):
            values, jacobian, _ = self.system(z, s, rows)
            change = _solved(jacobian, values)
            z = z - change
            size = np.abs(change).max(axis=1) / np.abs(z).max(axis=1)
        return z, size

    def followed(self, z: Complex, rows: NDArray[np.intp]) -> tuple[Complex, NDArray[np.bool_]]:
        """Where solutions (K, n) at the start lead to, and which of them arrive."""
        z, s, h = z.copy(), np.zeros(len(z)), np.full(len(z), 0.02)
        for _ in range(3000):
            open_ = np.flatnonzero((s < 1.0) & (h > VANISHING))
            if not len(open_):
                break
            own, at = rows[open_], s[open_]
            step = np.minimum(h[open_], 1.0 - at)
            slopes, start = list[Complex](), z[open_]
            for part in (0.0, 0.5, 0.5, 1.0):
                place = start - (part * step)[:, None] * slopes[-1] if slopes else start
                _, jacobian, by_s = self.system(place, at + part * step, own)
                slopes.append(_solved(jacobian, by_s))
            total = slopes[0] + 2.0 * slopes[1] + 2.0 * slopes[2] + slopes[3]
            guess = start - step[:, None] / 6.0 * total
            ended, off = self._newton(guess, at + step, own, 2)
            moved = np.abs(ended - guess).max(axis=1) / np.abs(ended).max(axis=1)
            fine = (off < 1e-6) & (moved < 1e-3)
            z[open_[fine]], s[open_[fine]] = ended[fine], (at + step)[fine]
            h[open_] = np.where(fine, np.where(moved < 1e-4, 2.0, 1.2) * step, 0.4 * step)
        end, off = self._newton(z, np.ones(len(z)), rows, 3)
        return end, (s >= 1.0) & (off < 1e-10)

    def proved(self, z: Complex, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Numbers of Kantorovich at the end, and within what distance a solution is alone."""
        values, jacobian, _ = self.system(z, np.ones(len(z)), rows)
        largest = np.abs(z).max(axis=1)
        # Bounds of the quadrics where no entry is larger than one; twice that bends them at most.
        b, c = (np.abs(part).sum(axis=2)[rows] for part in (self._end.b, self._end.c))
        bound = 4.0 * self._end.a[rows] * (b + 2.0) ** 2 + 8.0 * c * (b + 2.0)
        bound += 4.0 * np.abs(self._end.d)[rows]
        bounds = np.full(values.shape, 2.0 * len(z[0]))
        bounds[:, : bound.shape[1]] = bound
        bends = 2.0 * bounds
        bends[:, -1] = 0.0
        # What rounding may have done to the values belongs to them.
        rounding = 16.0 * ROUNDING * (bounds * largest[:, None] ** 2 + 1.0)
        fine = np.all(np.isfinite(jacobian), axis=(1, 2))
        fine[fine] = np.linalg.cond(jacobian[fine]) < 1e12
        h, apart = np.full(len(z), np.inf), np.zeros(len(z))
        inverse = np.linalg.inv(jacobian[fine])
        sizes = np.abs(inverse)
        step = np.abs((inverse @ values[fine][..., None])[..., 0])
        step = (step + (sizes @ rounding[fine][..., None])[..., 0]).max(axis=1)
        bend = (sizes @ bends[fine][..., None])[..., 0].max(axis=1)
        h[fine], apart[fine] = bend * step, 1.0 / bend
        return h, apart


def _solved(A: Complex, b: Complex) -> Complex:
    """Solutions of linear systems (K, n, n), (K, n); large where there are none."""
    singular = ~(np.abs(np.linalg.det(A)) > 0.0)
    A = np.where(singular[:, None, None], VANISHING * np.eye(A.shape[1]), A)
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0])
