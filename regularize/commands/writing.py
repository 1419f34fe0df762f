"""The verbs that write models: `regularize fix`, `reduce` and `export`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regularize.commands.files import (
    Output,
    OutputAction,
    add_engine,
    add_fail_on,
    add_model,
    add_reading_options,
    check_read,
    files_of,
    load_model,
    reading_options,
    report_findings,
)
from regularize.commands.options import count, option, options
from regularize.errors import RegularizeError, UnknownFormat
from regularize.escape import displayed, json_text, shown_lines
from regularize.version import SCHEMAS, __version__

if TYPE_CHECKING:
    from regularize.lie.arrays import Array
    from regularize.proofs.special import SpecialLengths
    from regularize.reduction.cuts import Cut
    from regularize.reduction.reduce import Reduction
    from regularize.repair.fix.fix import Fix
    from regularize.repair.statics.isostatic import Isostatic

TARGETS = """
-o OUT  write the changed model there; FOLDER/ for a folder
--in-place  change the files themselves
--diff  print what would change, write nothing (done where none of these is given)
"""
#: Kinds of joints with the words of formats for them.
KINDS = (
    "revolute (hinge, pin), prismatic (slide, slider), spherical (ball, locating_bearing), fixed "
    "(weld, rigid), universal (hooke, cardan), cylindrical, planar (plane), helical (screw), "
    "point_on_line (floating_bearing, in_line), point_on_plane (in_plane), line_in_plane, "
    "slotted (pin_slot), parallel"
)
CHANGES = f"""
--advice N  make the Nth change that `regularize check` advises: 1, or 1@3fa2, which is refused
    where the file was changed since
--joint NAME=KIND …  make a joint another kind, in the words of any format: {KINDS}; where a
    direction or a pitch matters it follows, as reports propose it: point_on_line:0,0,1 or
    point_on_line:Z, in axes of the ground; helical:METRES_PER_TURN
--absorb-gaps  where loops stay open in redundant directions, move joint frames as little as closes
    them
--remove  let closing joints be taken out that others make superfluous
--slack  let links be put in where other kinds of joints do not suffice
--as-is  leave solref and solimp of an MJCF alone, though fewer rows are softer
--as-designed  write the places and axes of the nearest mechanism that moves more freely
"""


def add_fix(parser: argparse.ArgumentParser) -> None:
    """Add the options of `fix`."""
    parser.description = (
        "Make a model isostatic by the smallest changes of its own files that its format and its "
        "engines can hold: nothing redundant, the same motion, or as little redundant as they can. "
        "No joint is taken out or put in unless --remove or --slack allows it. With --joint, those "
        "joints become what is said, and nothing else changes. The changed files are read again, "
        "compared, and moved in their engine where it is installed, before anything is written."
    )
    option(parser, "file MODEL", "model file, or its folder")
    add_reading_options(parser)
    options(parser.add_mutually_exclusive_group(), TARGETS)
    options(parser, CHANGES)
    add_engine(parser, "whose kinds are taken, and where the model is moved before it counts")
    add_fail_on(parser)


def run_fix(arguments: argparse.Namespace) -> int:
    """Change the model; return 1 if something is lost or stays redundant, or it is locked."""
    from regularize.repair.fix.fix import fix

    if arguments.file == "-":
        raise RegularizeError("-: fix changes a file, and standard input is none; name the file")
    joints: dict[str, str] = {}
    for text in arguments.joint:
        name, _, kind = text.rpartition("=")
        if not name or not kind:
            raise RegularizeError(f"--joint {text!r}: write it as NAME=KIND, as in D=spherical")
        if name in joints:
            raise RegularizeError(f"--joint names {name!r} twice; give it one kind")
        joints[name] = kind
    names = ("remove", "slack", "as_is", "advice", "engine")
    allowed = {name: getattr(arguments, name) for name in names}
    fixed = fix(
        arguments.file,
        joints or None,
        absorb_gaps=arguments.absorb_gaps,
        as_designed=arguments.as_designed,
        **allowed,
        **reading_options(arguments),
    )
    lines = _changes(fixed)
    diff = arguments.diff or not (arguments.in_place or arguments.out)
    if diff:
        sys.stdout.write(shown_lines(fixed.diff) if sys.stdout.isatty() else fixed.diff)
        hint = "nothing is written: add --in-place, or -o OUT"
        lines += [hint] * bool(fixed.diff and not arguments.diff)
    else:
        out = fixed.write(arguments.file if arguments.in_place else arguments.out)
        same = arguments.in_place and not fixed.diff
        lines.append(f"{'left as it is' if same else 'wrote'} {displayed(str(out))}")
    stream = sys.stderr if diff else sys.stdout
    stream.writelines(f"{line}\n" for line in lines)
    return report_findings(fixed.findings, arguments.fail_on)


def _changes(fixed: Fix) -> list[str]:
    """Describe the changes of a fix in words, one line each."""
    from regularize.words import gap_words, listed

    alike: dict[str, list[str]] = {}
    for change in fixed.changes:
        same = change.kind == change.joint.kind
        words = "moved" if same else f"{change.joint.kind} to {change.kind}"
        alike.setdefault(words, []).append(displayed(change.joint.name))
    lines = [f"{listed(joints)}: {words}" for words, joints in alike.items()]
    for link in fixed.slack.links:
        slack = ", ".join(joint.name for joint in link.joints)
        lines.append(f"{link.joint.name}: on slack links at {link.carrier} ({slack})")
    out = "taken out, for others do what it does"
    lines += [f"{joint.name}: {out}" for joint in fixed.slack.removed]
    lines += [f"{name}: frame moved by {gap_words(*sizes)}" for name, sizes in fixed.moves.items()]
    after = fixed.reduction
    lines.append(f"redundant constraint equations: {after.redundant}, mobility: {after.mobility}")
    lines += [str(fixed.tested)] * (fixed.tested is not None)
    return lines if len(lines) > 1 else ["nothing to change", *lines]


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    add_model(parser)
    formats = "see `regularize formats`, or c: dynamics of the reduced model, or exudyn: a script"
    option(parser, "--to FORMAT", formats, required=True)
    add_engine(parser, "where the file is moved before it counts")
    add_fail_on(parser)
    words = "the file to write; it is read back and compared before it is there"
    option(parser, "-o FILE", words, required=True, action=OutputAction, model=True)


def run_export(arguments: argparse.Namespace) -> int:
    """Write the model; the exit status is 1 if the format could not hold all of it."""
    from regularize.files import save, written_format

    out, written = arguments.out, displayed(str(arguments.out))
    try:
        if arguments.to not in ("c", "exudyn"):
            written_format(out, arguments.to)
    except UnknownFormat as error:
        raise UnknownFormat(error.path, ["c", "exudyn", *error.known], "--to") from None
    mechanism = load_model(arguments.file, arguments)
    if arguments.to == "c":
        from regularize.dynamics.pinocchio.exporting import to_pinocchio
        from regularize.reduction.reduce import reduce

        robot = to_pinocchio(reduce(mechanism))
        robot.to_c(out)
        findings, written = robot.findings, f"{out} and {out.with_suffix('.h').name}"
    else:
        findings = save(mechanism, out, format=arguments.to, engine=arguments.engine or "first")
    status = report_findings(findings, arguments.fail_on)
    sys.stdout.write(f"wrote {written}\n")
    return status


def add_reduce(parser: argparse.ArgumentParser) -> None:
    """Add the options of `reduce`."""
    add_model(parser)
    words = "folder for the model, under its own name, and reduction.json; made if it is missing"
    option(parser, "-o DIR", words, required=True, type=Path)
    option(parser, "--to FORMAT", "format to write (default: the one read)")
    add_engine(parser, "where the file is moved before it counts")
    add_fail_on(parser)
    option(parser, "--seed SEED", "seed of random configurations (0)", type=count, default=0)


def run_reduce(arguments: argparse.Namespace) -> int:
    """Write the model and its reduction; return 1 if something of it could not be kept."""
    from regularize.files import written_format
    from regularize.repair.fix.advice import file_name, isostatic_in, write_isostatic, written_as
    from regularize.words import gathered

    mechanism, folder = load_model(arguments.file, arguments), arguments.out
    target = arguments.to or written_as(mechanism)
    if folder.is_file():
        raise RegularizeError(f"{folder}: is a file; name a folder")
    try:
        path = folder / file_name(mechanism, written_format(folder, target))
    except UnknownFormat as error:
        raise UnknownFormat(error.path, error.known, "--to") from None
    document = folder / "reduction.json"
    check_read([Output("-o", file) for file in (path, document)], files_of(mechanism))
    report = isostatic_in(mechanism, target, arguments.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json_text(reduction_document(report, path.name), indent=1) + "\n"
    engine = arguments.engine or "first"
    findings = write_isostatic(report, path, target, engine, {document: text})
    before, after = report.reduction, report.result
    lines = [
        f"redundant constraint equations: {before.redundant} before, {after.redundant} after",
        f"mobility: {_known_mobility(before)} before, {_known_mobility(after)} after",
        *(f"  {line}" for line in gathered(map(str, report.changes))),
        f"wrote {displayed(str(path))}  ({target})",
        f"wrote {displayed(str(document))}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return report_findings(findings, arguments.fail_on)


def _known_mobility(reduction: Reduction) -> str:
    """Return the finite mobility in words."""
    finite = reduction.finite_mobility
    return "unknown" if finite is None else str(finite)


def reduction_document(report: Isostatic, reduced: str) -> dict[str, Any]:
    """Return ``reduction.json`` as plain values; ``reduced`` names the model's file beside it."""
    from regularize.proofs.special import special_lengths
    from regularize.reduction.rank_loss import nearest_entry
    from regularize.report.mobility_findings import held_entries

    reduction, certificate = report.reduction, report.reduction.certificate
    mechanism = reduction.mechanism
    special = special_lengths(reduction) if reduction.numerical else ()
    return {
        "schema_version": SCHEMAS["reduction"],
        "tool": {"name": "regularize", "version": __version__},
        "model": {
            "name": mechanism.name,
            "path": mechanism.path,
            "format": mechanism.format,
            "reduced": reduced,
        },
        "mobility": {
            "actual": reduction.mobility,
            "finite": reduction.finite_mobility,
            "redundant": reduction.redundant,
        },
        "constraints": reduction.constraints,
        "kept": reduction.kept,
        "guarantee": {
            "proved": report.proved,
            "remaining_redundant": reduction.remaining,
            "certified_configurations": certificate.configurations,
            "distinct_configurations": certificate.distinct,
            "solved_configurations": certificate.solved,
            "worst_closure_error": certificate.worst,
            "nearest": nearest_entry(reduction),
            "rtol": reduction.rtol,
            "special_lengths": [part.as_dict() for part in special],
            "statement": _guarantee_statement(report, special),
        },
        "cuts": [_cut_entry(reduction, cut) for cut in reduction.cuts],
        **held_entries(reduction),
        "changes": [
            {
                "joint": change.joint,
                "kind": change.kind,
                "before": change.before,
                "after": change.after,
                "added": list(change.added),
                "message": str(change),
            }
            for change in report.changes
        ],
        "result": {
            "mobility": report.result.mobility,
            "finite": report.result.finite_mobility,
            "redundant": report.result.redundant,
            "equivalent": report.equivalent,
        },
        "diagnostics": [finding.as_dict() for finding in report.findings],
    }


def _guarantee_statement(report: Isostatic, special: Sequence[SpecialLengths]) -> str:
    """Say why the rows left out depend on the others; ``special`` parts are of known families."""
    where = "on the connected set of configurations that contains the assembled one"
    if any(part.held or part.parallelograms for part in report.reduction.parts):
        where += ", as long as the loops keep the rank of their equations, no parallelogram flat"
    if report.proved:
        return f"the rows left out follow from the directions of the joint axes, {where}"
    rows = sum(cut.numerical.shape[1] for cut in report.reduction.cuts)
    if rows and rows == sum(part.rows for part in special):
        return (
            "the rows left out follow from the directions of the joint axes and from the motion of "
            f"these dimensions ({', '.join(part.family for part in special)}), {where}, up to "
            "where the rows that are kept lose their rank"
        )
    return (
        "some rows left out follow from the dimensions; they were found dependent at the "
        f"configurations visited, {where} on this assembly mode"
    )


def _cut_entry(reduction: Reduction, cut: Cut) -> dict[str, Any]:
    """Return a cut with its frame on a body and its rows in physical units."""
    nodes, edge = reduction.graph.nodes, cut.edge

    def rows(covectors: Array) -> list[list[float]]:
        physical = covectors.copy()
        physical[:3] /= cut.length
        return [[float(x) for x in row] for row in physical.T]

    pose = [[float(x) for x in row] for row in cut.T_node_frame]
    return {
        "joint": edge.joint.name,
        "part": edge.name,
        "parent": nodes[edge.parent],
        "child": nodes[edge.child],
        "frame": {"body": nodes[cut.node], "pose": pose},
        "length": float(cut.length),
        "freedoms": rows(cut.freedoms),
        "kept": rows(cut.rows),
        "removed": rows(cut.removed),
        "thinned": rows(cut.thinned),
        "numerical": rows(cut.numerical),
    }
