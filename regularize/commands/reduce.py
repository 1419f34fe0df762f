"""`regularize reduce`: write the model with independent constraints, and the reduction itself."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.commands.files import (
    Output,
    add_fail_on,
    add_model,
    check_read,
    files_of,
    load_model,
    report_findings,
)
from regularize.commands.options import count, option
from regularize.errors import UnknownFormat
from regularize.escape import displayed

if TYPE_CHECKING:
    from regularize.reduction.reduce import Reduction


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    words = "folder for the model, under its own name, and reduction.json; made if it is missing"
    option(parser, "-o DIR", words, required=True, type=Path)
    option(parser, "--to FORMAT", "format to write (default: the one read)")
    add_fail_on(parser)
    option(parser, "--seed SEED", "seed of random configurations (0)", type=count, default=0)


def run(arguments: argparse.Namespace) -> int:
    """Write the model; the exit status is 1 if something of it could not be kept."""
    from regularize.commands.reduction_file import write_reduction, written_files
    from regularize.repair.fix.advice import isostatic_in, written_as

    mechanism = load_model(arguments.file, arguments)
    try:
        files = written_files(mechanism, arguments.out, arguments.to)
    except UnknownFormat as error:
        raise UnknownFormat(error.path, error.known, "--to") from None
    check_read([Output("-o", file) for file in files], files_of(mechanism))
    report = isostatic_in(mechanism, arguments.to or written_as(mechanism), arguments.seed)
    written = write_reduction(report, arguments.out, format=arguments.to)
    before, after = report.reduction, report.result
    lines = [
        f"redundant constraint equations: {before.redundant} before, {after.redundant} after",
        f"mobility: {_known(before)} before, {_known(after)} after",
        *(f"  {change}" for change in report.changes),
        f"wrote {displayed(str(written.model))}  ({written.format})",
        f"wrote {displayed(str(written.reduction))}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return report_findings(written.findings, arguments.fail_on)


def _known(reduction: Reduction) -> str:
    """Return the finite mobility in words."""
    finite = reduction.finite_mobility
    return "unknown" if finite is None else str(finite)
