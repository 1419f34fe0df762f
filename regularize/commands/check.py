"""`regularize check`: say which loop constraints are redundant, and why."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from regularize.adapters.common.output_files import write_text
from regularize.commands.files import (
    OutputAction,
    add_branch,
    add_fail_on,
    add_model_options,
    add_no_meshes,
)
from regularize.commands.options import count, length, option, options, positive, some
from regularize.errors import RegularizeError
from regularize.escape import displayed

OUTPUTS = ("text", "concise", "json", "jsonl", "sarif", "github", "html")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.epilog = (
        "exit status: 0 nothing at or above --fail-on, 1 findings or an unreadable model in a "
        "folder, 2 wrong usage or unreadable input"
    )
    words = "model file, pattern, or folder with any number of models"
    option(parser, "files FILE", words, nargs="+")
    add_model_options(parser)
    group = parser.add_argument_group("report")
    written: dict[str, Any] = {"action": OutputAction}
    forms = f"form of the report: {', '.join(OUTPUTS)} (text)"
    option(group, "--output FORM", forms, choices=OUTPUTS, default="text")
    options(
        group,
        """
        -o FILE  write it to a file (html of several models: a folder)
        --proof FILE  write why rows can go, for `regularize verify`
        --watch  check again when a file changes, until Ctrl-C
        """,
        o=written,
        proof=written,
    )
    detail = group.add_mutually_exclusive_group()
    option(detail, "-v", "every loop by itself", dest="verbose")
    option(detail, "-q", "the verdict alone", dest="quiet")
    options(
        group,
        """
        --top N  loops shown in full (as many as fit into 60 lines)
        --color WHEN  colours of the text: auto, always, never (auto)
        """,
        top={"type": count},
        color={"choices": ("auto", "always", "never"), "default": "auto"},
    )
    add_no_meshes(group)
    group = parser.add_argument_group("findings")
    add_fail_on(group, default=None)
    some_codes: dict[str, Any] = {"type": codes, "default": [], "action": "extend"}
    options(
        group,
        """
        --select CODES  report only these; codes or their beginnings, such as REG2,REG104
        --ignore CODES  leave these out; codes or their beginnings, such as REG2,REG104
        --baseline FILE  leave out what was known before
        --write-baseline FILE  write what is known now
        --config FILE  configuration (default: the nearest regularize.toml or pyproject.toml)
        """,
        select=some_codes,
        ignore=some_codes,
        baseline={"type": Path},
        write_baseline=written,
        config={"type": Path},
    )
    group = parser.add_argument_group("analysis")
    add_branch(group)
    options(
        group,
        """
        --rtol RTOL  tolerance of ranks and geometry (1e-5)
        --near NEAR  tolerance of nearly special loops (5e-3)
        --length-scale M  size to scale lengths by: 0.5, 500mm
        --keep-cuts  cut loops where the file closes them
        --everywhere  keep rows that are redundant only up to flat parallelograms and singular poses
        --configurations N  configurations to certify (50)
        --seed SEED  seed of random configurations (0)
        --tolerance T,R|TABLE|file  how far joints are off: gives the misfit in redundant
            directions; for all joints as 0.05mm,0.1deg, or a CSV, JSON or YAML file with joint,
            translation, rotation; `file`, the default, for what the model itself states; or
            several of these
        --stiffness T,R|TABLE  of the joints: gives the forces that the misfit causes; for all
            joints as 50N/um,2000Nm/rad, or a CSV, JSON or YAML file with joint, translation,
            rotation; or several of these
        -j --jobs N  models checked at a time
        """,
        rtol={"type": positive},
        near={"type": positive},
        length_scale={"type": size},
        configurations={"type": count},
        seed={"type": count, "default": 0},
        tolerance={"action": "append"},
        stiffness={"action": "append"},
        jobs={"type": some},
    )


def size(text: str) -> float:
    """Read a positive length from the command line."""
    return positive(repr(length(text)))


def codes(text: str) -> tuple[str, ...]:
    """Read codes or their beginnings, separated by commas."""
    from regularize.report import rules

    found = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    for part in found:
        if not any(code.startswith(part) for code in rules.codes()):
            raise argparse.ArgumentTypeError(
                f"no code begins with {part!r}; `regularize explain` lists all codes"
            )
    return found


def run(arguments: argparse.Namespace) -> int:
    """Check all files; return 2 if one cannot be read, 1 if one has findings, else 0."""
    status, files = _once(arguments)
    if not arguments.watch:
        return status
    from regularize.adapters.common.input_files import changes

    for changed in changes(lambda: files):
        sys.stderr.write(f"regularize: changed: {displayed(', '.join(changed))}\n")
        files[:] = _once(arguments)[1]
    return status


def _once(arguments: argparse.Namespace) -> tuple[int, list[str]]:
    """Check all files once; return the status and the files that were read."""
    from regularize.commands.checking import Checking
    from regularize.commands.files import expanded
    from regularize.report.suppression import baseline

    paths, folders = expanded(arguments.files)
    if arguments.proof is not None and len(paths) > 1:
        raise RegularizeError("--proof FILE holds the proof of one model: check one at a time")
    checking = Checking.of(arguments, folders, single=len(paths) == 1)
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
