r"""Sums, intersections and saturations of subalgebras of se(3) from their canonical forms.

They follow from which directions are parallel, which axes and centres meet and which pitches are
equal. That is decided where a difference is no more than rounding, or so large that singular values
of any bases would see it as well: the rank of a closure hangs on products of small differences.
Anything between is left to ``subalgebra``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from regularize.lie.motion_algebra import ORIGIN, MotionAlgebra, Vector, cross, dot, unit
from regularize.lie.screw import Array
from regularize.lie.subalgebra import residual
from regularize.tolerances import RTOL

NOTHING = MotionAlgebra(0, 0)
SPACE = MotionAlgebra(0, 3)
EVERYTHING = MotionAlgebra(3, 3)
#: Differences of exact geometry that rounding makes.
_ROUNDING = RTOL**2


class NearTolerance(Exception):
    """Only singular values can tell."""


class AlgebraLattice:
    """Operations to a tolerance on algebras whose points and pitches are of order one.

    All raise ``NearTolerance`` where canonical forms do not decide.

    Args:
        rtol: Angle in radians and length from which on things differ.
    """

    def __init__(self, rtol: float) -> None:
        """See which differences nobody can mistake: those of rounding, and large ones."""
        self._same = min(_ROUNDING, 0.01 * rtol)
        self._clear, self._steep = 10.0 * rtol, 10.0 * math.sqrt(rtol)

    def _none(self, size: float, clear: float | None = None) -> bool:
        """Whether a difference is none."""
        size = abs(size)
        if size <= self._same:
            return True
        if size < (self._clear if clear is None else clear):
            raise NearTolerance
        return False

    def _parallel(self, a: Vector, b: Vector, clear: float | None = None) -> bool:
        normal = cross(a, b)
        return self._none(math.sqrt(dot(normal, normal)), clear)

    def _holds(self, a: Vector, e: Vector, b: Vector) -> bool:
        """Whether a line along e through one point passes another."""
        offset = cross((a[0] - b[0], a[1] - b[1], a[2] - b[2]), e)
        return self._none(math.sqrt(dot(offset, offset)))

    def join(self, a: MotionAlgebra, b: MotionAlgebra) -> MotionAlgebra:
        """Lie closure of the sum."""
        if a.turns < b.turns:
            a, b = b, a
        if a.turns == 3:
            return a if a.slides or self._contained(a, b) else EVERYTHING
        if a.turns == 0:
            return self._slides(a, b)
        if b.turns == 0:
            across, along = self._directions(a.direction, b)
            across, along = a.across or across, a.along or along
        elif self._parallel(a.direction, b.direction, self._steep):
            across = a.across or b.across or not self._holds(a.point, a.direction, b.point)
            along = a.along or b.along or not self._none(a.pitch - b.pitch)
        else:
            return self._about_two(a, b)
        slides = 2 * across + along
        if slides == a.slides:
            return a
        return MotionAlgebra.one_rotation(slides, a.direction, a.point, a.pitch)

    def _directions(self, e: Vector, slides: MotionAlgebra) -> tuple[bool, bool]:
        """Whether translations have parts across a direction and along it."""
        if slides.slides == 1:
            v = slides.direction
            return not self._parallel(e, v), not self._none(dot(e, v))
        if slides.slides == 2:
            return True, not self._parallel(e, slides.direction)
        return slides.slides == 3, slides.slides == 3

    def _about_two(self, a: MotionAlgebra, b: MotionAlgebra) -> MotionAlgebra:
        """What rotations about two directions generate."""
        if a.slides or b.slides or not (self._none(a.pitch) and self._none(b.pitch)):
            return EVERYTHING
        normal = cross(a.direction, b.direction)
        square = dot(normal, normal)
        p, q = a.point, b.point
        way = (q[0] - p[0], q[1] - p[1], q[2] - p[2])
        if not self._none(dot(way, normal) / math.sqrt(square)):
            return EVERYTHING
        t = dot(cross(way, b.direction), normal) / square
        x, y, z = a.direction
        return _near(MotionAlgebra(3, 0, point=(p[0] + t * x, p[1] + t * y, p[2] + t * z)))

    def _slides(self, a: MotionAlgebra, b: MotionAlgebra) -> MotionAlgebra:
        """Sum of translations."""
        if a.slides < b.slides:
            a, b = b, a
        if b.slides == 0 or a.slides == 3:
            return a
        if a.slides == 2 and b.slides == 1:
            return a if self._none(dot(a.direction, b.direction)) else SPACE
        if self._parallel(a.direction, b.direction):
            return a
        return (
            MotionAlgebra(0, 2, unit(cross(a.direction, b.direction))) if a.slides == 1 else SPACE
        )

    def _contained(self, a: MotionAlgebra, b: MotionAlgebra) -> bool:
        """Whether an algebra lies in rotations about a point."""
        if b.turns == 3:
            p, q = a.point, b.point
            return not b.slides and self._none(math.dist(p, q))
        if b.dimension == 0:
            return True
        if b.slides or not self._none(b.pitch):
            return False
        return self._holds(a.point, b.direction, b.point)

    def meet(self, a: MotionAlgebra, b: MotionAlgebra) -> MotionAlgebra:
        """Intersection."""
        if a.turns < b.turns:
            a, b = b, a
        if a.turns == 3:
            return b if a.slides else self._about_point(a.point, b)
        if b.turns == 1 and self._parallel(a.direction, b.direction, self._steep):
            across, along = a.across and b.across, a.along and b.along
            e, slides = a.direction, 2 * across + along
            free = a.across or b.across or self._holds(a.point, e, b.point)
            if free and (a.along or b.along or self._none(a.pitch - b.pitch)):
                point = b.point if a.across else a.point
                pitch = b.pitch if a.along else a.pitch
                return MotionAlgebra.one_rotation(slides, e, point, pitch)
            return MotionAlgebra(0, slides, e if slides in (1, 2) else ORIGIN)
        return self._common_slides(a, b)

    def _about_point(self, center: Vector, b: MotionAlgebra) -> MotionAlgebra:
        """Rotations about a point that are in an algebra."""
        if b.turns == 3:
            p, q = center, b.point
            if b.slides or self._none(math.dist(p, q)):
                return MotionAlgebra(3, 0, point=center)
            e = unit((q[0] - p[0], q[1] - p[1], q[2] - p[2]))
            return MotionAlgebra(1, 0, e, cross(e, cross(p, e)))
        if b.turns == 0 or not (b.across or self._holds(center, b.direction, b.point)):
            return NOTHING
        if not (b.along or self._none(b.pitch)):
            return NOTHING
        return MotionAlgebra(1, 0, b.direction, cross(b.direction, cross(center, b.direction)))

    def _common_slides(self, a: MotionAlgebra, b: MotionAlgebra) -> MotionAlgebra:
        """Translations in both."""
        if a.slides < b.slides:
            a, b = b, a
        u, v = a.direction, b.direction
        if a.slides == 3 or b.slides == 0:
            return MotionAlgebra(0, b.slides, v if b.slides in (1, 2) else ORIGIN)
        if a.slides != b.slides:
            return MotionAlgebra(0, 1, v) if self._none(dot(u, v)) else NOTHING
        if self._parallel(u, v):
            return MotionAlgebra(0, a.slides, u)
        return NOTHING if a.slides == 1 else MotionAlgebra(0, 1, unit(cross(u, v)))

    def add(self, a: MotionAlgebra, b: MotionAlgebra) -> MotionAlgebra:
        """Sum, where it is an algebra."""
        joined = self.join(a, b)
        if joined.dimension + self.meet(a, b).dimension != a.dimension + b.dimension:
            raise NearTolerance
        return joined

    def saturate(self, a: MotionAlgebra, b: MotionAlgebra) -> MotionAlgebra:
        """The smallest superspace of an algebra invariant under another, where it is an algebra."""
        if b.dimension == 0 or a.dimension in (0, 6):
            return a
        if a.turns == 0:
            if b.turns != 1:
                return SPACE if b.turns else a
            across, along = self._directions(b.direction, a)
            slides = 2 * across + along
            return MotionAlgebra(0, slides, ORIGIN if slides == 3 else b.direction)
        if a.turns > 1 or b.turns > 1:
            raise NearTolerance
        e = a.direction
        if b.turns == 1:
            if not self._parallel(e, b.direction):
                raise NearTolerance
            across = a.across or b.across or not self._holds(a.point, e, b.point)
        elif b.slides == 3 or self._parallel(e, b.direction):
            across = a.across or b.across
        elif a.across:
            across = True
        else:
            raise NearTolerance
        slides = 2 * across + a.along
        return a if slides == a.slides else MotionAlgebra.one_rotation(slides, e, a.point, a.pitch)


def generated_form(columns: Array, rtol: float) -> MotionAlgebra | None:
    """The algebra that screws generate, from their axes; None where these do not decide.

    Args:
        columns: The screws, shape (6, k).
        rtol: Tolerance of what is equal.
    """
    lattice, found = AlgebraLattice(rtol * max(1.0, math.sqrt(columns.shape[1]))), NOTHING
    try:
        for column in columns.T.tolist():
            found = lattice.join(found, _of_screw(*column))
    except NearTolerance:
        return None
    return found


def without_each(parts: Sequence[Array], rtol: float) -> list[MotionAlgebra | None]:
    """What all sets of screws but one generate, for each of them; None where it is not decided.

    Args:
        parts: The sets, shape (6, k) each.
        rtol: Tolerance of what is equal.
    """
    lattice = AlgebraLattice(rtol * max(1.0, math.sqrt(sum(part.shape[1] for part in parts))))

    def joined(a: MotionAlgebra | None, b: MotionAlgebra | None) -> MotionAlgebra | None:
        try:
            return None if a is None or b is None else lattice.join(a, b)
        except NearTolerance:
            return None

    forms = [generated_form(part, rtol) for part in parts]
    before: list[MotionAlgebra | None] = [NOTHING]
    behind: list[MotionAlgebra | None] = [NOTHING]
    for first, last in zip(forms[:-1], forms[:0:-1], strict=True):
        before.append(joined(before[-1], first))
        behind.append(joined(behind[-1], last))
    return [joined(a, b) for a, b in zip(before, reversed(behind), strict=True)]


def shared_form(screws: Sequence[Array], rtol: float) -> MotionAlgebra | None:
    """What the multiples of screws, shape (6, 1) each, have in common; None: it is not decided."""
    lattice, found = AlgebraLattice(rtol), EVERYTHING
    try:
        for column in screws:
            found = lattice.meet(found, _of_screw(*column[:, 0].tolist()))
    except NearTolerance:
        return None
    return found


def form_of(basis: Array, rtol: float) -> MotionAlgebra | None:
    """The algebra that a subspace is but for rounding, with point and pitch of order one, if any.

    Args:
        basis: Orthonormal basis, shape (6, d).
        rtol: Rotations that count as none.
    """
    try:
        if basis.shape[1] == 1:
            return _of_screw(*basis[:, 0].tolist())
        form = MotionAlgebra.of(basis, rtol)
        if form is None or np.linalg.norm(residual(_near(form).basis(), basis)) > _ROUNDING:
            return None
    except NearTolerance:
        return None
    return form


@lru_cache(maxsize=1024)  # a joint is in several loops, and in many of their chains
def _of_screw(*column: float) -> MotionAlgebra:
    """The multiples of a screw of order one."""
    turn, slide = math.hypot(*column[3:]), math.hypot(*column[:3])
    if _ROUNDING < turn < 0.4 or not 0.4 < max(turn, slide) < 4.0:
        raise NearTolerance
    return _near(MotionAlgebra.of_screw(column, _ROUNDING))


def _near(algebra: MotionAlgebra) -> MotionAlgebra:
    """The same where point and pitch are so small that every basis shows the directions well."""
    x, y, z = algebra.point
    if max(abs(x), abs(y), abs(z), abs(algebra.pitch)) > 1.5:
        raise NearTolerance
    return algebra
