"""Findings about mobility: what is singular, shaky, kinematotropic, idle or immobile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.lie.motion_type import MotionType, motion_type
from regularize.lie.subalgebra import decide_rank
from regularize.loops.finite import LocalBranch
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import CouplingRow, Graph
from regularize.reduction.block import Block
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.passive_freedoms import PassiveBody
from regularize.report.nearly import in_world
from regularize.words import axis_words, counted, listed, motion_words, names, noise_words

if TYPE_CHECKING:
    from regularize.reduction.virtual_joints import VirtualJointConstraint


def mobility_findings(reduction: Reduction, passive: Sequence[PassiveBody]) -> Iterator[Diagnostic]:
    """Yield findings about singular poses, shaky loops, branches and idle freedoms."""
    graph = reduction.graph
    if not reduction.assembly.closed:
        return
    for cell in reduction.cells:
        joints = graph.joint_names(cell.edges)
        where, singular = names(joints), cell.here.rank < cell.generic.rank
        if singular:
            text = f"rank {cell.here.rank} here, {cell.generic.rank} elsewhere ({where})"
            text = f"the assembled pose is singular: {text}"
            if not cell.complete and len(cell.branches) < 2 and cell.finite:
                text += "; of motions from there one was found, and others are not ruled out"
            yield Diagnostic("REG203", "note", text, joints=joints)
        if cell.finite is None:
            text = f"{counted(cell.actual, 'freedom')} of velocity, and whether finite motions "
            text += f"follow them is not known ({where}){noise_words(cell.tolerances)}"
            yield Diagnostic("REG217", "warning", text, joints=joints)
        yield from _shaky_finding(reduction, cell, joints)
        yield from _idle_couplings(reduction, cell)
        if len(cell.branches) > 1:
            yield _branches_finding(reduction, cell, joints)
        elif singular and not cell.branches and len(cell.modes) > 1:
            modes = ", ".join(f"{mobility}" for mobility, _ in cell.modes)
            text = f"motions of different mobility start at the assembled pose: {modes} ({where})"
            yield Diagnostic("REG213", "note", text, joints=joints)
        if cell.generic.lowest != cell.generic.highest:
            text = f"the rank is {cell.generic.rank}, but between {cell.generic.lowest} and "
            text += f"{cell.generic.highest} for tolerances a hundred times larger or smaller"
            yield Diagnostic("REG214", "note", f"{text} ({where})", joints=joints)
    for row in passive:
        several = len(row.bodies) > 1
        verb = ("slide as one" if several else "slides") + " along"
        if not row.slides:
            verb = f"{'spin as one' if several else 'spins'} about the line along"
        place = f"{'within' if row.slides else 'through'} {names(row.joints)}"
        text = f"{'bodies' if several else 'body'} {names(row.bodies)} {verb} "
        text += f"{axis_words(row.axis)} {place} without moving anything else"
        yield Diagnostic("REG207", "note", text, joints=row.joints)
    if reduction.freedoms and reduction.cells and reduction.finite_mobility == 0:
        yield Diagnostic("REG209", "warning", "the loops allow no motion: mobility 0")


def _shaky_finding(
    reduction: Reduction, cell: CellMobility, joints: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """Yield a finding about velocities that no motion follows, on each branch."""
    found = [(cell.local, cell.generic.rank, "")]
    if len(cell.branches) > 1:
        found = [
            (branch.local, branch.rank, f" on branch {number}")
            for number, branch in _numbered_branches(reduction, cell)
        ]
    cut = []
    for local, rank, where in found:
        allowed = cell.freedoms - rank
        if local.mobility is None or local.mobility == allowed:
            continue
        proof = "none was found"
        if local.stress is not None:
            proof = "a self-stress forbids it"
        elif "order" in local.evidence:
            proof = f"terms of {local.evidence} forbid it"
        count = counted(allowed, "freedom")
        cut.append(f"{allowed - local.mobility} of {count} of velocity{where}: {proof}")
    if cut:
        text = f"shaky: no finite motion follows {'; '.join(cut)} ({names(joints)})"
        yield Diagnostic("REG208", "warning", text, joints=joints)


def _idle_couplings(reduction: Reduction, cell: CellMobility) -> Iterator[Diagnostic]:
    """Yield couplings whose equation is redundant at all configurations visited."""
    graph = reduction.graph
    coupled = [c for c in graph.couplings if set(c.columns) <= set(graph.columns(cell.edges))]
    proved = sum(6 * len(p.cuts) - p.rank for p in reduction.parts_of(cell))
    visited = cell.configurations
    if not coupled or not len(visited) or cell.redundant <= proved:
        return
    loops = sized_loops(graph, visited[0], cell.edges)
    rows = loops.jacobian(loops.state(visited)) * loops.units
    for row, coupling in enumerate(coupled, start=rows.shape[1] - len(coupled)):
        values = np.linalg.svd(np.delete(rows, row, axis=1), compute_uv=False)
        if max(decide_rank(s, cell.tolerances.rtol).rank for s in values) == cell.generic.rank:
            edges = [e for e in cell.edges if set(graph.edges[e].columns) & set(coupling.columns)]
            joints = graph.joint_names(edges)
            text = f"coupling `{coupling.name}` of {names(joints)} says what the loops say already "
            text += f"at all {len(visited)} configurations visited: its equation is redundant"
            help = ("leave it out where it need not carry loads",)
            yield Diagnostic("REG202", "warning", text, joints=joints, help=help)


def _branches_finding(
    reduction: Reduction, cell: CellMobility, joints: tuple[str, ...]
) -> Diagnostic:
    """Return the finding that several motions meet at the pose."""
    found = list(_numbered_branches(reduction, cell))
    removed = sum(cut.constraints for part in reduction.parts_of(cell) for cut in part.cuts)
    removed -= sum(part.kept for part in reduction.parts_of(cell))
    words = {
        number: f"{'unknown' if branch.mobility is None else branch.mobility}"
        + f" (rank {branch.rank}, {branch.local.evidence}; {cell.equations - branch.rank} "
        + f"redundant, {removed} removed)"
        for number, branch in found
    }
    entries = ", ".join(f"{text} on branch {number}" for number, text in words.items())
    if len(set(words.values())) == 1:
        entries = f"{words[1]} each"
    kind = "kinematotropic: " if cell.kinematotropic else ""
    least = "exactly" if cell.complete else "at least"
    room = f" (second order, told to {cell.tolerances.rank**0.5:.0e}, has no room for another)"
    if cell.touching:
        room = f", which touch (terms of order {cell.touching} part them, and leave no other)"
    room = room if cell.complete else ""
    text = f"{kind}{least} {len(found)} motions meet at the assembled pose{room}, of "
    text += f"mobility {entries}: {names(joints)}{noise_words(cell.tolerances)}"
    way = f"begin on one of them, in this order: --branch {' or '.join(map(str, words))}; "
    way += "`check` with it says what is redundant and what to change there"
    code = "REG221" if cell.kinematotropic else "REG213"
    return Diagnostic(code, "note", text, joints=joints, help=(way,))


def _numbered_branches(
    reduction: Reduction, cell: CellMobility
) -> Iterator[tuple[int, LocalBranch]]:
    """Pair the branches of a cell with their numbers on the command line."""
    return zip(reduction.branch_numbers(cell), cell.branches, strict=False)


def motion_components(reduction: Reduction) -> list[dict[str, int | None]]:
    """Return the equations of each component in ``Reduction.components``, as JSON has them."""
    every, removed = reduction.equations, reduction.removed
    return [
        {
            "mobility": mobility,
            "rank": rank,
            "redundant": every - rank,
            "removed": removed,
            "remaining": every - rank - removed,
        }
        for mobility, rank in reduction.components
    ]


def more_on_branches(reduction: Reduction) -> str:
    """Return sentences on branches with more redundancy, each after a space."""
    more: dict[int, list[str]] = {}
    for number, (_, rank) in enumerate(reduction.components, start=1):
        count = reduction.equations - rank - reduction.redundant
        more.setdefault(count, []).append(f"{number}")
    more.pop(0, None)
    return "".join(
        f" On branch{'es' if len(numbers) > 1 else ''} {listed(numbers)} "
        f"{count} more {'is' if count == 1 else 'are'} redundant, and kept."
        for count, numbers in sorted(more.items())
    )


def branches_meant(reduction: Reduction) -> str:
    """Return ``on branch 2`` where the redundancy that is counted holds there alone."""
    rank = reduction.equations - reduction.redundant
    found = [other for _, other in reduction.components]
    own = [f"{i}" for i, other in enumerate(found, start=1) if other == rank]
    if len(own) == len(found) or not own:
        return ""
    return f"on branch{'es' if len(own) > 1 else ''} {listed(own)}"


def limits(reduction: Reduction) -> Iterator[Diagnostic]:
    """Yield a finding for each part whose proof fails at some configurations."""
    graph = reduction.graph
    for part in reduction.parts:
        said = [_held_words(graph, part, held) for held in part.held]
        flat = listed([names(graph.joint_names(loop)) for loop in part.parallelograms])
        if flat:
            said.append(f"the loops of {flat} are parallelograms, as long as none goes flat")
        if said:
            text = f"{'; '.join(said)}; all this ends where the rank of the loop equations falls "
            edges = chain(*(held.over for held in part.held), *part.parallelograms)
            joints = graph.joint_names(edges)
            yield Diagnostic("REG227", "note", f"{text}below {part.rank}", joints=joints)


def untried(reduction: Reduction) -> Iterator[Diagnostic]:
    """Yield findings where a search for held bodies or parallelograms was left out."""
    reasons = {
        "noise": "the numbers are off by more than rounding, and bars that are equal but for that "
        "prove nothing",
        "undecided": "whether it moves as its velocities say is not known",
        "shaky": "the mechanism is shaky, and ranks do not tell what moves",
        "singular": "the assembled pose is singular",
    }
    for part in reduction.parts:
        if part.ungrouped is not None and part.surplus > 0:
            text = f"{counted(part.surplus, 'dependent equation')} may be owed to legs that hold a "
            text += "body in a group of motions together, or to parallelograms: that was not "
            text += f"tried, for {reasons[part.ungrouped]}"
            joints = reduction.graph.joint_names(part.edges)
            help = ("assemble it at another pose",) * (part.ungrouped == "singular")
            yield Diagnostic("REG234", "note", text, joints=joints, help=help)


def _held_words(graph: Graph, part: Block, held: VirtualJointConstraint) -> str:
    """Describe the motion group in which all legs together keep a body."""
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
                "over": list(graph.joint_names(held.over)),
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
            list(graph.joint_names(loop))
            for part in reduction.parts
            for loop in part.parallelograms
        ],
    }
