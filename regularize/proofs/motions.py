"""The step of a proof for loops that move along a curve: the motion and the rows that it leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.projection import clearest_columns
from regularize.mechanism.cycles import edges_at
from regularize.mechanism.graph import EdgeId, Graph, NodeId
from regularize.proofs.curves import Polynomial, curve_of
from regularize.proofs.geometry import UNITS, integral
from regularize.proofs.incidence import NotExact, cross, simplest
from regularize.proofs.rational_motions import Exact, exact_vector, line_of, multiplied
from regularize.proofs.verifier import Space, reduced
from regularize.reduction.block import Block
from regularize.reduction.closed_part import loops_of
from regularize.reduction.cuts import Cut, independent_rows, outside
from regularize.tolerances import EXACT


@dataclass(frozen=True)
class Leg:
    """A chain of joints, the first of which turn about a point, the others about another one."""

    between: tuple[NodeId, NodeId]
    joints: tuple[EdgeId, ...]  # from the first body to the second
    split: int  # how many joints turn about the first point
    ends: tuple[Exact, Exact]  # both points in homogeneous coordinates

    def as_dict(self, names: dict[EdgeId, str]) -> dict[str, Any]:
        """Return the leg as the document has it."""
        sizes = [math.lcm(*(x.denominator for x in end)) for end in self.ends]
        ends = [[str(int(x * k)) for x in p] for p, k in zip(self.ends, sizes, strict=True)]
        return {"joints": [names[e] for e in self.joints], "ends": ends}


def legs_of(graph: Graph, freedoms: dict[EdgeId, Space]) -> list[Leg]:
    """Return the legs that all chains of exact joints are; none where a chain is no leg."""
    legs = []
    for between, chain in _chains(graph, [*freedoms]):
        for split in range(1, len(chain)):
            sides = chain[:split], chain[split:]
            one, two = (_center([z for e in side for z in freedoms[e]]) for side in sides)
            if one is not None and two is not None and (one != two).any():
                legs.append(Leg(between, chain, split, (one, two)))
                break
        else:
            return []
    return legs


def on_conics(
    graph: Graph, freedoms: dict[EdgeId, Space], within: float, rounding: float
) -> dict[EdgeId, Space] | None:
    """Return joints with exact legs between two conics; None where legs are none of these."""
    legs = legs_of(graph, freedoms)
    if len(legs) < 6:
        return None
    points = [np.array([leg.ends[i] for leg in legs], dtype=float)[:, :3] for i in (0, 1)]
    squares = _squares(points[0], rounding)
    if squares is None:
        return None
    exact = [_projected(squares, ends, rounding) for ends in points]
    moved = dict(freedoms)
    for leg, *ends in zip(legs, *exact, strict=True):
        for measured, end in zip(leg.ends, ends, strict=True):
            if np.abs((end - measured[:3]).astype(float)).max() > within:
                return None
        for i, e in enumerate(leg.joints):
            end = ends[i >= leg.split]
            axes = [[Fraction(x) for x in z[3:]] for z in freedoms[e]]
            axes = [[*unit] for unit in UNITS] if len(axes) == 3 else axes
            moved[e] = integral([[*cross(end, axis), *axis] for axis in axes]) if axes else ()
    return moved


def _chains(
    graph: Graph, edges: Sequence[EdgeId]
) -> Iterator[tuple[tuple[NodeId, NodeId], tuple[EdgeId, ...]]]:
    """Yield the chains between the only two bodies with more than two joints, if there are two."""
    at = edges_at(graph, edges)
    ends = [node for node, own in at.items() if len(own) > 2]
    for e in at[ends[0]] if len(ends) == 2 else ():
        chain, node = [e], ends[0]
        while True:
            node = graph.edges[chain[-1]].other(node)
            if node in ends:
                break
            chain += [other for other in at[node] if other != chain[-1]]
        yield (ends[0], node), tuple(chain)


def _center(screws: Sequence[Sequence[int]]) -> Exact | None:
    """Return the point, in homogeneous coordinates, that all screws leave at rest, or None."""
    rows = []
    for screw in screws:
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            row = [0, 0, 0, screw[k]]
            row[j], row[i] = screw[3 + i], -screw[3 + j]
            rows.append(row)
    solved = reduced(rows)
    if len(solved) != 3 or not all(row[i] for i, row in enumerate(solved)):
        return None
    return np.array([*(Fraction(-row[3], row[i]) for i, row in enumerate(solved)), Fraction(1)])


def _squares(points: Array, rounding: float) -> Exact | None:
    """Return exact u², u v, v² (n, 3) of directions from a conic's first point to the others."""
    centered = points - points.mean(axis=0)
    x, y = (centered @ np.linalg.svd(centered)[2][:2].T).T
    conic = np.linalg.svd(np.column_stack([x * x, x * y, y * y, x, y, 1 + 0 * x]))[2][-1]
    a, b, c, d, e, _ = conic
    ways = np.column_stack([x - x[0], y - y[0]])
    ways[0] = (b * x[0] + 2 * c * y[0] + e, -(2 * a * x[0] + b * y[0] + d))
    sizes = np.abs(ways).max(axis=1, keepdims=True)
    if sizes.min() == 0.0:
        return None
    pairs = [exact_vector(way, rounding) for way in ways / sizes]
    return np.array([(u * u, u * v, v * v) for u, v in pairs])


def _projected(squares: Exact, points: Array, rounding: float) -> list[Exact]:
    """Return points near measured ones that are linear in the squares, homogeneously."""
    v, none = squares.astype(float), np.zeros((len(points), 9))
    rows = []
    for k in range(3):
        row = np.hstack([none, -points[:, [k]] * v])
        row[:, 3 * k : 3 * k + 3] = v
        rows.append(row)
    M = np.linalg.svd(np.vstack(rows))[2][-1].reshape(4, 3)
    exact = [exact_vector(row, rounding) for row in M / np.abs(M).max()]
    images = [np.array([row @ square for row in exact]) for square in squares]
    return [image[:3] / image[3] for image in images]


def motion(
    graph: Graph, part: Block, freedoms: dict[EdgeId, Space], kept: dict[EdgeId, Space]
) -> tuple[dict[str, Any], dict[EdgeId, Space]]:
    """Return the step on a part's motion and the rows of cuts that stay, or raise NotExact."""
    cycles = loops_of(graph, part.edges, part.order)
    names = {e: graph.edges[e].name for e in part.edges}
    legs = [*legs_of(graph, freedoms)]
    step = turning_alike(graph, part, freedoms)
    if step is None and legs:
        step = {
            "because": "stress",
            "bodies": [graph.nodes[node] for node in legs[0].between],
            "legs": [leg.as_dict(names) for leg in legs],
        }
    if step is None:
        screws = {e: space[0] for e, space in freedoms.items() if space}
        if any(len(space) > 1 for space in freedoms.values()):
            raise NotExact("a joint with several freedoms is in a loop that moves for its lengths")
        loops = [[(e, c.cycle.direction(graph, e)) for e in c.cycle.edges] for c in part.cuts]
        moving = [[pair for pair in loop if pair[0] in screws] for loop in loops]
        relations, moved = curve_of(moving, screws)
        moves = {names[EdgeId(e)]: [*map(_table, pair)] for e, pair in moved.items()}
        step = {"because": "motion", "curve": [*map(_table, relations)], "moves": moves}
    rows = kept | {c.edge.index: _like(c, kept[c.edge.index]) for c in part.cuts}
    loops_by_cut = {names[e]: [names[each] for each in cycle.edges] for e, cycle in cycles.items()}
    kept_rows = {names[c.edge.index]: written(rows[c.edge.index]) for c in part.cuts}
    return step | {"loops": loops_by_cut, "kept": kept_rows}, rows


def turning_alike(
    graph: Graph, part: Block, freedoms: dict[EdgeId, Space]
) -> dict[str, Any] | None:
    """Return the step of a motion in which each joint follows one free joint, or None."""
    columns = [e for e, space in freedoms.items() if space]
    if any(len(freedoms[e]) > 1 for e in columns):
        return None
    signs = [c.cycle.direction for c in part.cuts], [c.cycle.edges for c in part.cuts]
    rows = [
        [sense(graph, e) * freedoms[e][0][k] if e in edges else 0 for e in columns]
        for sense, edges in zip(*signs, strict=True)
        for k in range(6)
    ]
    solved = {next(i for i, x in enumerate(row) if x): row for row in reduced(rows)}
    free = [i for i in range(len(columns)) if i not in solved]
    if not free:
        return None
    zero = " ".join("0" * len(free))
    moves, tangents = {}, dict[EdgeId, Fraction]()
    for i, e in enumerate(columns):
        row = solved.get(i)
        rates = [-Fraction(row[k], row[i]) if row else Fraction(k == i) for k in free]
        along = [k for k, rate in enumerate(rates) if rate]
        if len(along) > 1:
            return None
        for k in along:
            power = " ".join(str(int(k == v)) for v in range(len(free)))
            numerator, denominator = rates[k].as_integer_ratio()
            moves[graph.edges[e].name] = [{zero: str(denominator)}, {power: str(numerator)}]
            tangents[e] = rates[k] * (7 * k + 3)
    # What is real there is so everywhere, or by chance: the checker will find out.
    for sense, edges in zip(*signs, strict=True):
        closed = np.array([Fraction(int(k == 0)) for k in range(8)])
        for e in (e for e in edges if e in tangents):
            screw = np.array([Fraction(x) for x in freedoms[e][0]])
            line = line_of(screw[3:], screw[:3])
            closed = closed + sense(graph, e) * tangents[e] * multiplied(closed, line)
        if closed[1:].any():
            return None
    return {"because": "motion", "curve": [], "moves": moves}


def spared(graph: Graph, part: Block) -> Block:
    """Return the part without its dependent rows, chosen at the assembled pose."""
    owner = [(i, k) for i, cut in enumerate(part.cuts) for k in range(cut.kept)]
    own = loops_of(graph, part.edges, part.order)
    cycles = [own[cut.edge.index] for cut in part.cuts]
    signs = [{e: cycle.direction(graph, e) for e in cycle.edges} for cycle in cycles]

    def seen(i: int, covectors: Array) -> Array:
        """Return rows on the velocities of all joints from covectors at a cut."""
        screws = [signs[i].get(e, 0) * part.screws[e] for e in part.edges]
        return np.asarray(covectors.T @ np.hstack(screws))

    rows = np.vstack([seen(i, cut.rows) for i, cut in enumerate(part.cuts)])
    fixed = np.vstack([seen(i, cut.freedoms) for i, cut in enumerate(part.cuts)])
    picked = {*independent_rows(outside(fixed, rows), part.rank - len(fixed))}
    stays = {pair for r, pair in enumerate(owner) if r in picked}
    cuts = []
    for i, cut in enumerate(part.cuts):
        keep = [k for k in range(cut.kept) if (i, k) in stays]
        drop = [k for k in range(cut.kept) if (i, k) not in stays]
        cuts.append(replace(cut, rows=cut.rows[:, keep], numerical=cut.rows[:, drop]))
    return replace(part, cuts=tuple(cuts))


def without_seen(part: Block) -> Block:
    """Return the part with the rows restored that were removed on numerical evidence."""
    if not any(cut.numerical.shape[1] for cut in part.cuts):
        return part
    cuts = [
        replace(c, rows=np.hstack([c.rows, c.numerical]), numerical=c.numerical[:, :0])
        for c in part.cuts
    ]
    return replace(part, cuts=tuple(cuts))


def _like(cut: Cut, space: Space) -> Space:
    """Return rows of an exact space near those that a cut keeps."""
    if len(space) == cut.kept:
        return space
    if not cut.kept:
        return ()
    # Divided by powers of two rows stay short where they are added up.
    sizes = [1 << max(map(int.bit_length, row)) for row in space]
    exact = np.array([[x / size for x in row] for row, size in zip(space, sizes, strict=True)])
    weights = np.linalg.lstsq(exact.T, cut.rows, rcond=None)[0].T
    # Each row gets a 1 where the others have a zero.
    columns = clearest_columns(weights, cut.kept)
    weights = np.linalg.solve(weights[:, columns], weights)
    near = [
        [simplest(float(x), EXACT.same) / size for x, size in zip(w, sizes, strict=True)]
        for w in weights
    ]
    return integral([[sum(map(mul, w, x)) for x in zip(*space, strict=True)] for w in near])


def _table(polynomial: Polynomial) -> dict[str, str]:
    """Return a polynomial as the document has it: coefficients by the exponents of x, y and z."""
    return {f"{i} {j} {k}": str(c) for (i, j, k), c in sorted(polynomial.items())}


def written(space: Space) -> list[list[str]]:
    """Return a space as the document has it: integers as strings, for they can be long."""
    return [[str(x) for x in row] for row in space]
