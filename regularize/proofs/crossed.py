"""Antiparallelograms: exact hinges near those of a part, and what stands on their bars.

Four parallel hinges A, B, C, D are the corners of an antiparallelogram where the mirror that takes
A to C takes B to D: opposite bars are equal and two of them cross. A line parallel to A C cuts all
four bars in one ratio, and goes on doing so while they move (Hart 1874), so hinges there stay in
line, and slides along it stay parallel to A C.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from regularize.model.graph import EdgeId
from regularize.proofs.geometry import integral, upright
from regularize.proofs.incidence import Rational, cross, dot, simplest
from regularize.proofs.verifier import Space


def crossed_bars(
    freedoms: dict[EdgeId, Space],
    loops: Iterable[Sequence[EdgeId]],
    within: float,
    rounding: float,
) -> dict[EdgeId, Space] | None:
    """The joints with exact antiparallelograms, or None where no loop is one.

    Args:
        freedoms: The span of every joint's screws.
        loops: Loops of the part.
        within: What relation is taken to be meant, parts of the size.
        rounding: How far a number may be moved to a simpler one.
    """
    found, settled = dict(freedoms), set[EdgeId]()
    for loop in loops:
        # Moments of parallel hinges are their places, turned and scaled alike.
        corners = [_moment(found[e]) for e in loop]
        known = [corner for corner in corners if corner is not None]
        if len(loop) != 4 or len(known) < 4 or len({n for _, n in known}) > 1:
            continue
        last = next((i for i, e in enumerate(loop) if e not in settled), None)
        if last is None:
            continue
        (_, normal), places = known[0], [place for place, _ in known]
        A, B, C = (places[(last + i) % 4] for i in (1, 2, 3))
        if A == C or B in (A, C):
            continue
        mirrored = _mirrored(B, A, C)
        parallelogram = [a - b + c for a, b, c in zip(A, B, C, strict=True)]
        # The bars to the last corner are as long as those to B, so none of them has no length.
        if not _near(mirrored, places[last], within) or _near(mirrored, parallelogram, within):
            continue
        found[loop[last]] = integral([[*mirrored, *normal]])
        settled |= {*loop}
        diagonal = [c - a for a, c in zip(A, C, strict=True)]
        bars = [(X, Y) for X in (A, C) for Y in (B, mirrored)]
        _follow(found, settled, bars, (diagonal, normal), within, rounding)
    return found if settled else None


def _follow(
    found: dict[EdgeId, Space],
    settled: set[EdgeId],
    bars: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]],
    frame: tuple[Sequence[Fraction], Rational],
    within: float,
    rounding: float,
) -> None:
    """Put hinges that are on the bars, and slides along the diagonal, there exactly."""
    diagonal, normal = frame
    along = cross(normal, tuple(diagonal))
    ratios: list[Fraction] = []
    for e, space in found.items():
        if e in settled:
            continue
        corner = _moment(space)
        if corner is None and len(space) == 1 and not any(space[0][3:]):
            way = np.array(space[0][:3], dtype=float)
            line = np.array(along, dtype=float)
            off = np.cross(way, line) / (np.linalg.norm(way) * np.linalg.norm(line))
            if np.linalg.norm(off) <= within:
                found[e] = integral([[*along, *(0 * x for x in along)]])
        if corner is None or corner[1] != normal:
            continue
        for X, Y in bars:
            side = [y - x for x, y in zip(X, Y, strict=True)]
            from_start = [z - x for x, z in zip(X, corner[0], strict=True)]
            ratio = float(dot(from_start, side) / dot(side, side))
            m = next((r for r in ratios if abs(r - ratio) <= within), simplest(ratio, rounding))
            place = [x + m * s for x, s in zip(X, side, strict=True)]
            if _near(place, corner[0], within):
                found[e] = integral([[*place, *normal]])
                ratios.append(m)
                settled.add(e)
                break


def _moment(space: Space) -> tuple[Rational, Rational] | None:
    """Moment and direction of a hinge, its first angular component 1; None of other joints."""
    if len(space) != 1 or not any(space[0][3:]):
        return None
    row = upright(space[0])
    moment, normal = (row[0], row[1], row[2]), (row[3], row[4], row[5])
    return None if dot(moment, normal) else (moment, normal)


def _mirrored(x: Rational, one: Rational, other: Rational) -> Rational:
    """Where the mirror that takes one place to another takes a third."""
    u = [b - a for a, b in zip(one, other, strict=True)]
    middle = [(a + b) / 2 for a, b in zip(one, other, strict=True)]
    aside = 2 * dot([a - b for a, b in zip(x, middle, strict=True)], u) / dot(u, u)
    first, second, third = (a - aside * b for a, b in zip(x, u, strict=True))
    return first, second, third


def _near(a: Sequence[Fraction], b: Sequence[Fraction], within: float) -> bool:
    return max(abs(float(x - y)) for x, y in zip(a, b, strict=True)) <= within
