"""The named linkages of which loops may be: what the prover tries.

Four parallel hinges A, B, C, D are the corners of an antiparallelogram where the mirror that takes
A to C takes B to D: opposite bars are equal and two of them cross. A line parallel to A C cuts all
four bars in one ratio, and goes on doing so while they move (Hart 1874), so hinges there stay in
line, and slides along it stay parallel to A C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from regularize.lie.motion_type import motion_type
from regularize.mechanism.graph import EdgeId, Graph
from regularize.proofs.dual_quaternions import Exact
from regularize.proofs.families import Found, exact_geometries
from regularize.proofs.geometry import integral, upright
from regularize.proofs.incidence import simplest
from regularize.proofs.verifier import Space, distance
from regularize.reduction.block import Block
from regularize.special.focal import focal
from regularize.special.symmetric import schatz, symmetric


def of_hinges(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Linkages of hinges that are known by where all axes are.

    Relations within ``within``, in radians and parts of the size, are taken to be meant, and
    numbers moved to simpler ones by ``rounding``.
    """
    rigid = {e: () for e, s in part.screws.items() if not s.size}
    moving = {e: s for e, s in part.screws.items() if s.size}
    if {motion_type(np.linalg.qr(s)[0], within).name for s in moving.values()} != {"revolute"}:
        return
    if len(part.cycles) > 1:
        exact = focal(graph, part, within, rounding)
        if exact is not None:
            yield "focal mechanism", exact | rigid
        return
    edges = [e for e in part.cycles[0].edges if e in moving]
    axes = [part.screws[e][:, 0] / np.linalg.norm(part.screws[e][3:, 0]) for e in edges]
    for search in (symmetric, schatz):
        for name, lines in search(axes, within, rounding):
            rows = [integral([[*line[5:], *line[1:4]]]) for line in lines]
            off = [distance([*axis], row) for axis, row in zip(axes, rows, strict=True)]
            if max(off) <= within:
                yield name, dict(zip(edges, rows, strict=True)) | rigid


def with_crossed_bars(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Four-bars whose opposite bars are equal and cross each other; arguments as of_hinges."""
    for freedoms in exact_geometries(graph, part, within, rounding):
        crossed = crossed_bars(freedoms, (c.edges for c in part.cycles), within, rounding)
        if crossed is not None:
            yield "antiparallelograms", crossed


def crossed_bars(
    freedoms: dict[EdgeId, Space], loops: Iterable[Sequence[EdgeId]], within: float, rounding: float
) -> dict[EdgeId, Space] | None:
    """The joints, by the spans of their screws, with exact antiparallelograms; None without one.

    Relations within ``within`` are taken to be meant, in parts of the size, and numbers moved to
    simpler ones by ``rounding``.
    """
    found, settled = dict(freedoms), set[EdgeId]()
    for loop in ([e for e in cycle if found[e]] for cycle in loops):
        # Moments of parallel hinges are their places, turned and scaled alike.
        corners = [_moment(found[e]) for e in loop]
        known = [corner for corner in corners if corner is not None]
        if len(loop) != 4 or len(known) < 4 or len({tuple(n) for _, n in known}) > 1:
            continue
        last = next((i for i, e in enumerate(loop) if e not in settled), None)
        if last is None:
            continue
        (_, normal), places = known[0], [place for place, _ in known]
        A, B, C = (places[(last + i) % 4] for i in (1, 2, 3))
        diagonal = C - A
        if not (diagonal.any() and (B - A).any() and (B - C).any()):
            continue
        # Where the mirror that takes A to C takes B.
        mirrored = B - (2 * B - A - C) @ diagonal / (diagonal @ diagonal) * diagonal
        # The bars to the last corner are as long as those to B, so none of them has no length.
        if not _near(mirrored, places[last], within) or _near(mirrored, A - B + C, within):
            continue
        found[loop[last]] = integral([[*mirrored, *normal]])
        settled |= {*loop}
        bars = [(X, Y) for X in (A, C) for Y in (B, mirrored)]
        _follow(found, settled, bars, (diagonal, normal), within, rounding)
    return found if settled else None


def _follow(
    found: dict[EdgeId, Space],
    settled: set[EdgeId],
    bars: Sequence[tuple[Exact, Exact]],
    frame: tuple[Exact, Exact],
    within: float,
    rounding: float,
) -> None:
    """Put hinges that are on the bars, and slides along the diagonal, there exactly."""
    diagonal, normal = frame
    along = np.cross(normal, diagonal)
    ratios: list[Fraction] = []
    for e, space in found.items():
        if e in settled:
            continue
        corner = _moment(space)
        if corner is None and len(space) == 1 and not any(space[0][3:]):
            way = np.array(space[0][:3], dtype=float)
            line = along.astype(float)
            off = np.cross(way, line) / (np.linalg.norm(way) * np.linalg.norm(line))
            if np.linalg.norm(off) <= within:
                found[e] = integral([[*along, *(0 * along)]])
        if corner is None or (corner[1] != normal).any():
            continue
        for X, Y in bars:
            side = Y - X
            ratio = float((corner[0] - X) @ side / (side @ side))
            m = next((r for r in ratios if abs(r - ratio) <= within), simplest(ratio, rounding))
            place = X + m * side
            if _near(place, corner[0], within):
                found[e] = integral([[*place, *normal]])
                ratios.append(m)
                settled.add(e)
                break


def _moment(space: Space) -> tuple[Exact, Exact] | None:
    """Moment and direction of a hinge, its first angular component 1; None of other joints."""
    if len(space) != 1 or not any(space[0][3:]):
        return None
    row = np.array(upright(space[0]))
    moment, normal = row[:3], row[3:]
    return None if moment @ normal else (moment, normal)


def _near(a: Exact, b: Exact, within: float) -> bool:
    return bool(np.abs((a - b).astype(float)).max() <= within)


#: What the prover tries, in this order.
FAMILIES = (of_hinges, with_crossed_bars)
