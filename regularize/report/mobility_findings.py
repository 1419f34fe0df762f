"""Findings about mobility: what is singular, shaky, kinematotropic, idle or immobile.

Components of the set of configurations that meet at the pose, and the equations of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.lie.subalgebra import decide_rank
from regularize.loops.finite import LocalBranch
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.passive_freedoms import PassiveBody
from regularize.words import axis_words, counted, listed, names, noise_words


def mobility_findings(reduction: Reduction, passive: Sequence[PassiveBody]) -> Iterator[Diagnostic]:
    """Yield findings about singular poses, shaky loops, branches and idle freedoms."""
    graph = reduction.graph
    if not reduction.assembly.closed:
        return
    for cell in reduction.cells:
        joints = tuple(dict.fromkeys(graph.edges[e].joint.name for e in cell.edges))
        where, singular = names(joints), cell.here.rank < cell.generic.rank
        if singular:
            text = f"rank {cell.here.rank} here, {cell.generic.rank} elsewhere ({where})"
            text = f"the assembled pose is singular: {text}"
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
    if reduction.cells and reduction.finite_mobility == 0:
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
            joints = tuple(dict.fromkeys(graph.edges[e].joint.name for e in edges))
            text = (
                f"coupling `{coupling.name}` of {names(joints)} says what the loops say already at "
                f"all {len(visited)} configurations visited: its equation is redundant"
            )
            yield Diagnostic(
                "REG202",
                "warning",
                text,
                joints=joints,
                help=("leave it out where it need not carry loads",),
            )


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
    room = room if cell.complete else ""
    text = (
        f"{kind}{least} {len(found)} motions meet at the assembled pose{room}, of "
        f"mobility {entries}: {names(joints)}{noise_words(cell.tolerances)}"
    )
    return Diagnostic(
        "REG221" if cell.kinematotropic else "REG213",
        "note",
        text,
        joints=joints,
        help=(
            f"begin on one of them, in this order: --branch {' or '.join(map(str, words))}; "
            "`check` with it says what is redundant and what to change there",
        ),
    )


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
    """Return sentences on branches where more is redundant, each after a space."""
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
    """Return ``on branch 2`` if the redundancy that is counted is not that of all branches."""
    rank = reduction.equations - reduction.redundant
    found = [other for _, other in reduction.components]
    own = [f"{i}" for i, other in enumerate(found, start=1) if other == rank]
    if len(own) == len(found) or not own:
        return ""
    return f"on branch{'es' if len(own) > 1 else ''} {listed(own)}"
