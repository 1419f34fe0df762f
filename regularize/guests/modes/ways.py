"""The ways to assemble a mechanism as text: how its loops are solved, the coordinates of each."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from regularize.guests.modes.body_pose import COORDINATES
from regularize.guests.modes.closed_form import ClosedForm
from regularize.guests.modes.closed_form.branches import MOST_AT_ONCE
from regularize.guests.modes.configurations import AssemblyModes, configurations
from regularize.lie.arrays import Array
from regularize.mechanism.graph import coordinate_names
from regularize.words import counted, listed

#: Ways that are named one by one, and printed.
MOST = 8


def described(solution: ClosedForm) -> Iterator[str]:
    """Say how every loop is solved, or why not."""
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
        few = 1 < len(solution.branches) <= MOST_AT_ONCE
        stored = solution.stored_branch if few else None
        if 1 < len(solution.branches) <= MOST:
            for k, branch in enumerate(solution.branches):
                yield f"  way {k}: {branch.name}{', as the model stands' if k == stored else ''}"
        elif stored is not None:
            yield f"  the model stands on way {stored}: {solution.branches[stored].name}"
        yield f"  {solution.operations}"


def ways_at(
    solution: ClosedForm,
    values: Sequence[float],
    *,
    every: bool = False,
    own: bool = False,
    width: int = 100,
) -> Iterator[str]:
    """Write the ways to assemble at inputs (s,) in radians and metres, one column each.

    Without formulas they are searched for. Of many, only some are printed; ``every`` one on demand,
    or first that on which the model stands, where its ``own`` is enough.
    """
    at = ", ".join(f"{n} = {v:g}" for n, v in zip(solution.inputs, values, strict=True))
    stored = solution.stored_branch if own and solution.solved else None
    if solution.solved:
        found = solution.solve(values)
        order = sorted(np.flatnonzero(found.assembled), key=lambda k: (own and k != stored, k))
        q, labels = found.q[order], list(map(str, order))
        told = f"{counted(len(q), 'way')} of {len(found.assembled)} can be assembled"
    else:
        q, told = _searched(solution, values)
        labels = [str(k) for k in range(len(q))]
    yield f"at {at}: {told}"
    every_name = coordinate_names(solution.graph.mechanism)
    columns = [c for c in range(len(every_name)) if c not in solution.columns]
    names = [every_name[c] for c in columns]
    few = 1 if own and labels[:1] == [str(stored)] else MOST
    shown = len(q) if every else min(few, len(q))
    if shown:
        yield from _table(["way", *names], labels[:shown], q[:shown, columns], width)
    if shown < len(q):
        yield f"  and {len(q) - shown} more: --all prints them"


def poses_at(
    solution: ClosedForm, values: Sequence[float], body: str, *, width: int = 100
) -> Iterator[str]:
    """Write the poses of a body at inputs (s,), one column each, and how they were found."""
    at = ", ".join(f"{n} = {v:g}" for n, v in zip(solution.inputs, values, strict=True))
    progress = sys.stderr.isatty()
    found = configurations(solution.graph, solution.inputs, values, by=body, progress=progress)
    T = found.pose(body)[found.found]
    yield f"at {at}: {counted(len(T), 'pose')} of {body} {rests_on(found)}"
    if len(T):
        angles = Rotation.from_matrix(T[:, :3, :3]).as_euler("xyz")
        rows = np.hstack([T[:, :3, 3], angles])
        yield from _table(["pose", *COORDINATES], [str(k) for k in range(len(T))], rows, width)


def _searched(solution: ClosedForm, values: Sequence[float]) -> tuple[Array, str]:
    """Search for ways numerically, and say how sure it is that there are no others."""
    progress = sys.stderr.isatty()
    found: AssemblyModes = configurations(
        solution.graph, solution.inputs, values, progress=progress
    )
    return found.q[found.found], f"{counted(int(found.counts), 'way')} {rests_on(found)}"


def rests_on(found: AssemblyModes) -> str:
    """Say how configurations were found, how well they close, and whether there are others."""
    words, starts = f"by {found.method}", int(np.max(found.evidence.starts, initial=0))
    if starts:
        words += f" from {starts} random starts"
    if np.any(found.found):
        words += f", loops closed to {np.max(found.residual[found.found]):.0e} of their size"
    proofs = found.evidence.certificate[found.found]
    if len(proofs) and np.all(proofs <= 0.5):
        words += ", each proved to be one and alone there (Kantorovich)"
    return f"{words}; {'no others' if np.all(found.complete) else 'there may be others'}"


def _table(head: Sequence[str], labels: Sequence[str], rows: Array, screen: int) -> Iterator[str]:
    """Write one column of numbers for every label, in as many blocks as the screen needs."""
    width = max(map(len, head))
    fit = max(1, (screen - 2 - width) // 11)
    for k in range(0, len(labels), fit):
        block = [labels[k : k + fit], *rows[k : k + fit].T]
        for name, cells in zip(head, block, strict=True):
            texts = (c if isinstance(c, str) else f"{c + 0.0:.5f}" for c in cells)
            yield f"  {name.ljust(width)}" + "".join(text.rjust(11) for text in texts)
