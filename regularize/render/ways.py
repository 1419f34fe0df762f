"""The ways to assemble a mechanism as text: how its loops are solved, the coordinates of each."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from regularize.assembly_modes.closed_form import ClosedForm
from regularize.assembly_modes.configurations import configurations
from regularize.assembly_modes.table import AssemblyModes
from regularize.lie.screw import Array
from regularize.model.graph import coordinate_names
from regularize.report.words import counted, listed

#: Ways to assemble that are printed unless all are asked for.
MOST = 8


def described(solution: ClosedForm) -> Iterator[str]:
    """How every loop is solved, or why not."""
    name, given = solution.graph.mechanism.name, listed(list(solution.inputs))
    given = f"given {given}" if solution.inputs else "without inputs"
    if solution.solved:
        ways = counted(len(solution.branches), "way")
        yield f"{name}, {given}: {ways} to assemble, in closed form"
    else:
        yield f"{name}, {given}: no closed form"
    for loop in solution.loops:
        yield f"  loop {' '.join(loop.joints)}"
        yield from (f"    {step}" for step in loop.steps)
        if loop.reason:
            yield f"    {loop.reason}"
    if solution.solved:
        if 1 < len(solution.branches) <= MOST:
            yield from (f"  way {branch.index}: {branch.name}" for branch in solution.branches)
        yield f"  {solution.operations}"


def ways_at(solution: ClosedForm, values: Sequence[float], *, every: bool = False) -> Iterator[str]:
    """The ways to assemble at some inputs, one column each.

    Args:
        solution: The formulas; where there are none the ways are looked for numerically.
        values: The inputs in radians and metres, shape (s,).
        every: Whether to print more ways than fit on a screen.
    """
    at = ", ".join(f"{n} = {v:g}" for n, v in zip(solution.inputs, values, strict=True))
    if solution.solved:
        found = solution.solve(values)
        q, named = found.q[found.assembled], [str(branch.index) for branch in solution.branches]
        labels = [label for label, there in zip(named, found.assembled, strict=True) if there]
        told = f"{counted(len(q), 'way')} of {len(named)} can be assembled"
    else:
        q, told = _searched(solution, values)
        labels = [str(k) for k in range(len(q))]
    yield f"at {at}: {told}"
    every_name = coordinate_names(solution.graph.mechanism)
    columns = [c for c in range(len(every_name)) if c not in solution.columns]
    names = [every_name[c] for c in columns]
    shown = len(q) if every else min(MOST, len(q))
    if shown:
        yield from _table(["way", *names], labels[:shown], q[:shown, columns])
    if shown < len(q):
        yield f"  and {len(q) - shown} more: --all prints them"


def _searched(solution: ClosedForm, values: Sequence[float]) -> tuple[Array, str]:
    """Ways found numerically, and how sure it is that there are no others."""
    progress = sys.stderr.isatty()
    found: AssemblyModes = configurations(
        solution.graph, solution.inputs, values, progress=progress
    )
    sure = "no others" if found.complete else "there may be others"
    return found.q[found.found], f"{counted(int(found.counts), 'way')} by {found.method}; {sure}"


def _table(head: Sequence[str], labels: Sequence[str], rows: Array) -> Iterator[str]:
    """One column of numbers, in radians and metres, for every label."""
    width = max(map(len, head))
    for name, cells in zip(head, [labels, *rows.T], strict=True):
        texts = (c if isinstance(c, str) else f"{c + 0.0:.5f}" for c in cells)
        yield f"  {name.ljust(width)}" + "".join(text.rjust(11) for text in texts)
