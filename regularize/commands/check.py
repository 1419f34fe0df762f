"""`regularize check`: say which loop constraints are redundant, and why."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regularize.commands.files import add_branch, add_model_options, add_no_meshes
from regularize.commands.outputs import OutputAction
from regularize.commands.values import count, length, positive, some
from regularize.displayed import displayed
from regularize.errors import RegularizeError
from regularize.output_files import write_text

OUTPUTS = ("text", "concise", "json", "jsonl", "sarif", "github", "html")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.epilog = (
        "exit status: 0 nothing at or above --fail-on, 1 findings, 2 wrong usage or unreadable "
        "input"
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="model file, folder or pattern")
    add_model_options(parser)
    report = parser.add_argument_group("report")
    report.add_argument(
        "--output",
        choices=OUTPUTS,
        default="text",
        metavar="FORM",
        help=f"form of the report: {', '.join(OUTPUTS)} (text)",
    )
    report.add_argument(
        "-o",
        dest="out",
        metavar="FILE",
        action=OutputAction,
        help="write it to a file (html of several models: a folder)",
    )
    report.add_argument(
        "--proof",
        metavar="FILE",
        action=OutputAction,
        help="write why rows can go, for `regularize verify`",
    )
    report.add_argument(
        "--watch", action="store_true", help="check again when a file changes, until Ctrl-C"
    )
    detail = report.add_mutually_exclusive_group()
    detail.add_argument("-v", dest="verbose", action="store_true", help="every loop by itself")
    detail.add_argument("-q", dest="quiet", action="store_true", help="the verdict alone")
    report.add_argument("--top", type=count, metavar="N", default=4, help="loops shown in full (4)")
    report.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        metavar="WHEN",
        help="colours of the text: auto, always, never (auto)",
    )
    add_no_meshes(report)
    choice = parser.add_argument_group("findings")
    choice.add_argument(
        "--fail-on",
        choices=("error", "warning", "never"),
        metavar="SEVERITY",
        help="lowest severity that gives exit status 1: error, warning, never (warning)",
    )
    for name, words in (("select", "report only these"), ("ignore", "leave these out")):
        choice.add_argument(
            f"--{name}",
            metavar="CODES",
            type=codes,
            default=[],
            action="extend",
            help=f"{words}; codes or their beginnings, such as REG2,REG104",
        )
    choice.add_argument(
        "--baseline", type=Path, metavar="FILE", help="leave out what was known before"
    )
    choice.add_argument(
        "--write-baseline", action=OutputAction, metavar="FILE", help="write what is known now"
    )
    choice.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="configuration (default: the nearest regularize.toml or pyproject.toml)",
    )
    analysis = parser.add_argument_group("analysis")
    add_branch(analysis)
    analysis.add_argument("--rtol", type=positive, help="tolerance of ranks and geometry (1e-5)")
    analysis.add_argument("--near", type=positive, help="tolerance of nearly special loops (5e-3)")
    analysis.add_argument(
        "--length-scale", type=size, metavar="M", help="size to scale lengths by: 0.5, 500mm"
    )
    analysis.add_argument(
        "--keep-cuts", action="store_true", help="cut loops where the file closes them"
    )
    analysis.add_argument(
        "--configurations", type=count, metavar="N", help="configurations to certify (50)"
    )
    analysis.add_argument("--seed", type=count, default=0, help="seed of random configurations (0)")
    for name, metavar, words, unit, more in (
        (
            "tolerance",
            "T,R|TABLE|file",
            "how far joints are off: gives the misfit in redundant directions",
            "0.05mm,0.1deg",
            "; `file`, the default, for what the model itself states",
        ),
        (
            "stiffness",
            "T,R|TABLE",
            "of the joints: gives the forces that the misfit causes",
            "50N/um,2000Nm/rad",
            "",
        ),
    ):
        analysis.add_argument(
            f"--{name}",
            metavar=metavar,
            action="append",
            help=f"{words}; for all joints as {unit}, or a CSV, JSON or YAML file with joint, "
            f"translation, rotation{more}; or several of these",
        )
    analysis.add_argument("-j", "--jobs", type=some, metavar="N", help="models checked at a time")


def size(text: str) -> float:
    """A positive length from the command line."""
    return positive(repr(length(text)))


def codes(text: str) -> tuple[str, ...]:
    """Codes or their beginnings, separated by commas."""
    from regularize.report.rules import RULES

    found = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    for part in found:
        if not any(rule.code.startswith(part) for rule in RULES):
            raise argparse.ArgumentTypeError(
                f"no code begins with {part!r}; `regularize explain` lists all codes"
            )
    return found


def run(arguments: argparse.Namespace) -> int:
    """Check all files; 2 if one cannot be read, else 1 if one has findings."""
    status, files = _once(arguments)
    if not arguments.watch:
        return status
    from regularize.watching import changes

    for changed in changes(lambda: files):
        sys.stderr.write(f"regularize: changed: {displayed(', '.join(changed))}\n")
        files[:] = _once(arguments)[1]
    return status


def _once(arguments: argparse.Namespace) -> tuple[int, list[str]]:
    """Check all files once; the status, and what was read."""
    from regularize.commands.checking import Checking
    from regularize.commands.configuration import baseline
    from regularize.commands.files import expanded

    paths = expanded(arguments.files)
    if arguments.proof is not None and len(paths) > 1:
        raise RegularizeError("--proof FILE holds the proof of one model: check one at a time")
    checking = Checking.of(arguments, single=len(paths) == 1)
    if arguments.output == "html" and len(paths) > 1 and arguments.out is None:
        raise RegularizeError("html reports of several models need a folder: add -o FOLDER")
    outcomes = checking.outcomes(paths)
    for outcome in outcomes:
        if outcome.line.error is not None:
            sys.stderr.write(f"regularize: {outcome.line.error}\n")
    files = checking.compose(outcomes)
    for path, text in files.items():
        if path is None:
            sys.stdout.write(text)
        else:
            write_text(path, text)
    if arguments.write_baseline is not None:
        entries = [entry for outcome in outcomes for entry in outcome.known]
        write_text(arguments.write_baseline, baseline(entries))
    read = [file for outcome in outcomes for file in outcome.files]
    return max(outcome.status for outcome in outcomes), read
