"""Where a reduction ends that rests on groups and parallelograms: in words, and in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from regularize.lie.motion_type import MotionType, motion_type
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import CouplingRow, EdgeId, Graph
from regularize.reduction.block import Block
from regularize.reduction.reduce import Reduction
from regularize.report.nearly import in_world
from regularize.words import counted, listed, motion_words, names

if TYPE_CHECKING:
    from regularize.reduction.virtual_joints import VirtualJointConstraint


def limits(reduction: Reduction) -> Iterator[Diagnostic]:
    """Report what rows rest on that does not hold in every configuration, for each part."""
    graph = reduction.graph
    for part in reduction.parts:
        said = [_held_words(graph, part, held) for held in part.held]
        flat = listed([names(joints(graph, loop)) for loop in part.parallelograms])
        if flat:
            said.append(f"the loops of {flat} are parallelograms, as long as none goes flat")
        if said:
            yield Diagnostic(
                "REG227",
                "note",
                f"{'; '.join(said)}; all this ends where the rank of the loop equations falls "
                f"below {part.rank}",
                joints=tuple(
                    dict.fromkeys(
                        name
                        for loop in (*(held.over for held in part.held), *part.parallelograms)
                        for name in joints(graph, loop)
                    )
                ),
            )


def untried(reduction: Reduction) -> Iterator[Diagnostic]:
    """Report where legs or parallelograms might explain rows, and it was not tried."""
    reasons = {
        "noise": "the numbers are off by more than rounding, and bars that are equal but for that "
        "prove nothing",
        "undecided": "whether it moves as its velocities say is not known",
        "shaky": "the mechanism is shaky, and ranks do not tell what moves",
        "singular": "the assembled pose is singular",
    }
    for part in reduction.parts:
        if part.ungrouped is not None and part.surplus > 0:
            yield Diagnostic(
                "REG234",
                "note",
                f"{counted(part.surplus, 'dependent equation')} may be owed to legs that hold a "
                "body in a group of motions together, or to parallelograms: that was not tried, "
                f"for {reasons[part.ungrouped]}",
                joints=tuple(joints(reduction.graph, part.edges)),
                help=("assemble it at another pose",) * (part.ungrouped == "singular"),
            )


def _held_words(graph: Graph, part: Block, held: VirtualJointConstraint) -> str:
    """Describe a body that all legs together keep in one group of motions."""
    one, other = graph.nodes[held.edge.parent], graph.nodes[held.edge.child]
    motion = motion_words(_motion(part, held))
    text = f"all legs together keep `{other}` against `{one}` in one group of motions ({motion})"
    if held.rows:
        text += ", where " + listed([_row_words(graph, row) for row in held.rows])
        text += f" hold{'s' * (len(held.rows) == 1)} it"
    return text


def _motion(part: Block, held: VirtualJointConstraint) -> MotionType:
    """Return the motion group of a held body in the world frame."""
    return in_world(motion_type(held.space, part.rtol), part.center, part.length)


def joints(graph: Graph, edges: Sequence[EdgeId]) -> list[str]:
    """Return names of the joints of some edges, each once."""
    return list(dict.fromkeys(graph.edges[e].joint.name for e in edges))


def _row_words(graph: Graph, row: CouplingRow) -> str:
    """Return a row between joints as an equation such as ``C1 + D1 = const``."""
    text = ""
    for edge, factor in terms(graph, row):
        sign = (" - " if factor < 0 else " + ") if text else ("-" if factor < 0 else "")
        text += sign + ("" if abs(factor) == 1.0 else f"{abs(factor):.6g} ") + f"`{edge}`"
    return f"{text} = const"


def terms(graph: Graph, row: CouplingRow) -> list[tuple[str, float]]:
    """Return names and factors of the joints that a row couples."""
    of = {column: edge.name for edge in graph.edges for column in edge.columns}
    return [(of[c], k) for c, k in zip(row.columns, row.coefficients, strict=True)]


def held_entries(reduction: Reduction) -> dict[str, Any]:
    """Return the entries ``held`` and ``parallelograms`` of the JSON report."""
    graph = reduction.graph
    return {
        "held": [
            {
                "body": graph.nodes[held.edge.child],
                "against": graph.nodes[held.edge.parent],
                "motion_algebra": _motion(part, held).as_dict(),
                "over": joints(graph, held.over),
                "rows": [
                    {
                        "terms": [
                            {"joint": name, "coefficient": factor}
                            for name, factor in terms(graph, row)
                        ],
                        "offset": row.offset,
                    }
                    for row in held.rows
                ],
                "rank": part.rank,
            }
            for part in reduction.parts
            for held in part.held
        ],
        "parallelograms": [
            joints(graph, loop) for part in reduction.parts for loop in part.parallelograms
        ],
    }
