"""`regularize solve`: all ways to assemble the loops for given inputs, and the formulas as code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from regularize.commands.files import OutputAction, add_model, load_model
from regularize.commands.options import (
    COORDINATES,
    assignments,
    fitted,
    names,
    option,
    point_of,
    pose_of,
    units_of,
    width,
)
from regularize.errors import ModelError, RegularizeError
from regularize.output_files import write_all

if TYPE_CHECKING:
    from regularize.guests.modes.body_pose import BodyPose
    from regularize.guests.modes.closed_form.solver import ClosedForm
    from regularize.guests.modes.configurations import AssemblyModes
    from regularize.lie.arrays import Array
    from regularize.mechanism.mechanism import Mechanism


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    words = "joints whose coordinates are given (default: those of --at, else the driven joints)"
    option(parser, "--inputs JOINT", words, type=names)
    at = (
        "print all ways to assemble at these coordinates, such as A=30deg slide=50mm; without a "
        "unit in radians and metres"
    )
    option(parser, "--at JOINT=VALUE …", at, type=names)
    pose = (
        "the pose of a body as input: platform=0,0,400mm for those coordinates that it has; BODY "
        "alone: formulas for it, or, with --at JOINT=VALUE, its poses as the result"
    )
    option(parser, "--pose BODY[=X,Y,…]", pose)
    point = (
        "the point of the body meant by --pose, where it is in the model's own pose, on a frame "
        "parallel to the ground's (default: the body's own frame)"
    )
    option(parser, "--point X,Y,Z", point)
    option(parser, "--all", "print all ways, however many")
    for name, ending, language in (("c", ".c", "C99"), ("python", ".py", "Python")):
        file: dict[str, Any] = {"action": OutputAction, "endings": (ending,)}
        option(parser, f"--{name} FILE{ending}", f"the formulas as {language}", **file)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb: find formulas, write output files, print the ways to assemble."""
    from regularize.guests.modes.body_pose import posed
    from regularize.guests.modes.closed_form.solver import closed_form

    check_point(arguments)
    mechanism = load_model(arguments.file, arguments)
    units = units_of(mechanism, COORDINATES)
    values = assignments(arguments.at, "--at", units)
    body, texts = pose_of(arguments.pose or "")
    by_pose = texts is not None or not values or any(name.startswith(f"{body}.") for name in values)
    named = arguments.inputs or [name for name in values if not name.startswith(f"{body}.")]
    if body and by_pose:
        mechanism, posing = posed(mechanism, pose_with(body, arguments.point))
        if texts is not None:
            if len(texts) != len(posing):
                raise ModelError(
                    f"--pose {arguments.pose}: {len(texts)} values; the pose of {body!r} is given "
                    f"by {', '.join(posing)}"
                )
            given = [f"{name}={text}" for name, text in zip(posing, texts, strict=True)]
            for name in {*posing} & {*values}:
                raise ModelError(f"--at {name}=…: --pose {arguments.pose} gives it already")
            values |= assignments(given, "--pose", units)
        inputs = [*named, *posing]
    else:
        inputs = _inputs(mechanism, named)
    solution = closed_form(mechanism, inputs)
    if values:
        _require_all(values, solution.inputs)
    ways = ((arguments.c, solution.to_c), (arguments.python, solution.to_python))
    sources = {path: to_code(path.stem) for path, to_code in ways if path is not None}
    lines = [*described(solution)]
    if values:
        at = [values[name] for name in solution.inputs]
        if body and not by_pose:
            lines += ["", *poses_at(solution, at, body, width=width())]
        else:
            own = bool(body) and not arguments.all
            shown = ways_at(solution, at, every=arguments.all, own=own, width=width())
            lines += ["", *shown]
    write_all(sources)
    sys.stdout.write(fitted(lines))
    return 0


def check_point(arguments: argparse.Namespace) -> None:
    """Refuse a point without a body."""
    if arguments.point is not None and arguments.pose is None:
        raise RegularizeError(f"--point {arguments.point}: of which body? name it with --pose BODY")


def pose_with(body: str, point: str | None) -> BodyPose:
    """Return the pose of a body, or of a point on it that is a text of three lengths."""
    from regularize.guests.modes.body_pose import BodyPose

    return BodyPose(body, point=None if point is None else point_of(point))


def _inputs(mechanism: Mechanism, named: Sequence[str]) -> list[str]:
    """Return the named inputs, or the driven joints."""
    driven = [joint.name for joint in mechanism.joints if joint.actuated]
    inputs = list(named or driven)
    if not inputs:
        raise ModelError("the model names no driven joint; name the inputs: --inputs JOINT …")
    return inputs


def _require_all(values: dict[str, float], inputs: Sequence[str]) -> None:
    """Refuse values unless there is one for each input and no other."""
    missing = [name for name in inputs if name not in values]
    other = [name for name in values if name not in inputs]
    if missing or other:
        told = f"{', '.join(missing)} has no value" if missing else f"{other[0]} is no input"
        raise ModelError(f"--at: {told}; the inputs are {', '.join(inputs)}")


#: Ways that are named one by one, and printed.
MOST = 8


def described(solution: ClosedForm) -> Iterator[str]:
    """Return lines that tell how every loop is solved, or why not."""
    from regularize.guests.modes.closed_form.branches import MOST_AT_ONCE
    from regularize.words import counted, listed

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
    solution: ClosedForm, values: Sequence[float], *, every: bool, own: bool, width: int
) -> Iterator[str]:
    """Write the ways to assemble at inputs (s,) in radians and metres, one column each."""
    import numpy as np

    from regularize.guests.modes.configurations import configurations
    from regularize.mechanism.graph import coordinate_names
    from regularize.words import counted

    at = ", ".join(f"{n} = {v:g}" for n, v in zip(solution.inputs, values, strict=True))
    stored = solution.stored_branch if own and solution.solved else None
    if solution.solved:
        found = solution.solve(values)
        order = sorted(np.flatnonzero(found.assembled), key=lambda k: (own and k != stored, k))
        q, labels = found.q[order], list(map(str, order))
        told = f"{counted(len(q), 'way')} of {len(found.assembled)} can be assembled"
    else:
        progress = sys.stderr.isatty()
        modes = configurations(solution.graph, solution.inputs, values, progress=progress)
        q, told = modes.q[modes.found], f"{counted(int(modes.counts), 'way')} {rests_on(modes)}"
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
    solution: ClosedForm, values: Sequence[float], body: str, *, width: int
) -> Iterator[str]:
    """Write the poses of a body at inputs (s,), one column each, and how they were found."""
    import numpy as np
    from scipy.spatial.transform import Rotation

    from regularize.guests.modes.body_pose import COORDINATES as NAMES
    from regularize.guests.modes.configurations import configurations
    from regularize.words import counted

    at = ", ".join(f"{n} = {v:g}" for n, v in zip(solution.inputs, values, strict=True))
    progress = sys.stderr.isatty()
    found = configurations(solution.graph, solution.inputs, values, by=body, progress=progress)
    T = found.pose(body)[found.found]
    yield f"at {at}: {counted(len(T), 'pose')} of {body} {rests_on(found)}"
    if len(T):
        angles = Rotation.from_matrix(T[:, :3, :3]).as_euler("xyz")
        rows = np.hstack([T[:, :3, 3], angles])
        yield from _table(["pose", *NAMES], [str(k) for k in range(len(T))], rows, width)


def rests_on(found: AssemblyModes) -> str:
    """Return lines on method, closure error and completeness of found configurations."""
    import numpy as np

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
