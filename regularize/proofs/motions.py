"""The step of a proof for loops that move along a curve: the motion and the rows that it leaves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.least_norm import clearest_columns
from regularize.mechanism.graph import EdgeId, Graph
from regularize.proofs.curves import Polynomial, curve_of
from regularize.proofs.dual_quaternions import line_of, multiplied
from regularize.proofs.geometry import integral
from regularize.proofs.incidence import NotExact, simplest
from regularize.proofs.legs import legs_of
from regularize.proofs.verifier import Space, reduced
from regularize.reduction.block import Block
from regularize.reduction.closed_part import loops_of
from regularize.reduction.cuts import Cut, independent_rows, outside
from regularize.tolerances import EXACT


def motion(
    graph: Graph, part: Block, freedoms: dict[EdgeId, Space], kept: dict[EdgeId, Space]
) -> tuple[dict[str, Any], dict[EdgeId, Space]]:
    """Return the step that says how the loops of a part move, and the rows of every cut that stay.

    Raises NotExact where no motion of these joints was found.
    """
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
    """Return the motion of joints each of which moves as one of a few, or not at all; or None."""
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
        ways = [-Fraction(row[k], row[i]) if row else Fraction(k == i) for k in free]
        along = [k for k, way in enumerate(ways) if way]
        if len(along) > 1:
            return None
        for k in along:
            power = " ".join(str(int(k == v)) for v in range(len(free)))
            numerator, denominator = ways[k].as_integer_ratio()
            moves[graph.edges[e].name] = [{zero: str(denominator)}, {power: str(numerator)}]
            tangents[e] = ways[k] * (7 * k + 3)
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
    """Return the part without as many rows as depend on others at the assembled pose."""
    owner = [(i, k) for i, cut in enumerate(part.cuts) for k in range(cut.kept)]
    own = loops_of(graph, part.edges, part.order)
    cycles = [own[cut.edge.index] for cut in part.cuts]
    signs = [{e: cycle.direction(graph, e) for e in cycle.edges} for cycle in cycles]

    def seen(i: int, covectors: Array) -> Array:
        """Return what covectors at a cut say of the velocities of all joints."""
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
    """Return the part with the rows that were removed for what was seen at configurations."""
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
    return integral(
        [[sum(map(mul, w, column)) for column in zip(*space, strict=True)] for w in near]
    )


def _table(polynomial: Polynomial) -> dict[str, str]:
    """Return a polynomial as the document has it: coefficients by the exponents of x, y and z."""
    return {f"{i} {j} {k}": str(c) for (i, j, k), c in sorted(polynomial.items())}


def written(space: Space) -> list[list[str]]:
    """Return a space as the document has it: integers as strings, for they can be long."""
    return [[str(x) for x in row] for row in space]
