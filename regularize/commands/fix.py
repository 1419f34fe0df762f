"""`regularize fix`: change joints in your own model file, and nothing else in it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from regularize.commands.files import add_absorb_gaps, add_reading_options, reading_options
from regularize.commands.options import option
from regularize.errors import RegularizeError

if TYPE_CHECKING:
    from regularize.repair.fix.fix import Fix

KINDS = (
    "revolute (hinge, pin), prismatic (slide, slider), spherical (ball, locating_bearing), fixed "
    "(weld, rigid), universal (hooke, cardan), cylindrical, planar (plane), helical (screw), "
    "point_on_line (floating_bearing, in_line), point_on_plane (in_plane), line_in_plane, "
    "slotted (pin_slot), parallel"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.description = (
        "Make a model isostatic by the smallest changes of its own files that its format and its "
        "engines can hold: nothing redundant, the same motion, or as little redundant as they can. "
        "No joint is taken out or put in unless --remove or --slack allows it. With --joint, those "
        "joints become what is said, and nothing else changes. The changed files are read again, "
        "by their engine too where it is installed, and compared, before anything is written."
    )
    option(parser, "file MODEL", "model file, or its folder")
    add_reading_options(parser)
    where = parser.add_mutually_exclusive_group(required=True)
    option(where, "-o OUT", "write the changed model there; FOLDER/ for a folder")
    option(where, "--in-place", "change the files themselves")
    option(where, "--diff", "print what would change, write nothing")
    kinds = (
        f"make a joint another kind, in the words of any format: {KINDS}; where a direction or a "
        "pitch matters it follows, as reports propose it: point_on_line:0,0,1 or point_on_line:Z, "
        "in axes of the ground; helical:METRES_PER_TURN"
    )
    option(parser, "--joint NAME=KIND …", kinds)
    add_absorb_gaps(parser)
    option(parser, "--remove", "let closing joints be taken out that others make superfluous")
    option(parser, "--slack", "let links be put in where other kinds of joints do not suffice")
    words = "leave solref and solimp of an MJCF alone, though fewer rows are softer"
    option(parser, "--as-is", words)
    designed = "write the places and axes of the nearest mechanism that moves more freely"
    option(parser, "--as-designed", designed)


def run(arguments: argparse.Namespace) -> int:
    """Change the model; return 1 if something is lost or stays redundant, or it is locked."""
    from regularize.repair.fix.fix import fix

    joints = _joints(arguments.joint)
    found = fix(
        arguments.file,
        joints,
        absorb_gaps=arguments.absorb_gaps,
        as_designed=arguments.as_designed,
        remove=arguments.remove,
        slack=arguments.slack,
        as_is=arguments.as_is,
        **reading_options(arguments),
    )
    said = sys.stderr if arguments.diff else sys.stdout
    if arguments.diff:
        sys.stdout.write(found.diff)
    else:
        written = found.write(arguments.file if arguments.in_place else arguments.out)
    for line in _lines(found):
        said.write(f"{line}\n")
    if not arguments.diff:
        same = arguments.in_place and not found.diff
        said.write(f"{'left as it is' if same else 'wrote'} {written}\n")
    for finding in found.findings:
        sys.stderr.write(f"{finding.severity}[{finding.code}]: {finding.message}\n")
    return int(any(finding.severity != "note" for finding in found.findings))


def _joints(given: Sequence[str]) -> dict[str, str] | None:
    """Read ``NAME=KIND`` entries into a dictionary, or None without any."""
    joints = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or not name or not kind:
            raise RegularizeError(f"--joint {text!r}: write it as NAME=KIND, as in D=spherical")
        if name in joints:
            raise RegularizeError(f"--joint names {name!r} twice; give it one kind")
        joints[name] = kind
    return joints or None


def _lines(found: Fix) -> list[str]:
    """Return what changes in words, a line each."""
    lines = [
        f"{change.joint.name}: "
        + ("moved" if change.kind == change.joint.kind else f"{change.joint.kind} to {change.kind}")
        for change in found.changes
    ]
    from regularize.words import gap_words

    for each in found.slack.links:
        slack = ", ".join(joint.name for joint in each.joints)
        lines.append(f"{each.joint.name}: on slack links at {each.carrier} ({slack})")
    lines += [
        f"{joint.name}: taken out, for others do what it does" for joint in found.slack.removed
    ]
    lines += [f"{name}: frame moved by {gap_words(*sizes)}" for name, sizes in found.moves.items()]
    after = found.reduction
    lines.append(f"redundant constraint equations: {after.redundant}, mobility: {after.mobility}")
    return lines if len(lines) > 1 else ["nothing to change", *lines]
