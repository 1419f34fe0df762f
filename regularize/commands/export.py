"""`regularize export`: write a model in another format."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from regularize.commands.files import (
    OutputAction,
    add_fail_on,
    add_model,
    load_model,
    report_findings,
)
from regularize.commands.options import option
from regularize.errors import UnknownFormat
from regularize.escape import displayed

if TYPE_CHECKING:
    from regularize.mechanism.mechanism import Mechanism


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    formats = "see `regularize formats`, or c: dynamics of the reduced model, or exudyn: a script"
    option(parser, "--to FORMAT", formats, required=True)
    add_fail_on(parser)
    words = "the file to write; it is read back and compared before it is there"
    option(parser, "-o FILE", words, required=True, action=OutputAction, model=True)


def run(arguments: argparse.Namespace) -> int:
    """Write the model; the exit status is 1 if the format could not hold all of it."""
    from regularize.files import save, written_format

    try:
        if arguments.to not in ("c", "exudyn"):
            written_format(arguments.out, arguments.to)
    except UnknownFormat as error:
        raise UnknownFormat(error.path, ["c", "exudyn", *error.known], "--to") from None
    mechanism = load_model(arguments.file, arguments)
    if arguments.to == "c":
        return _write_c(mechanism, arguments)
    findings = save(mechanism, arguments.out, format=arguments.to)
    status = report_findings(findings, arguments.fail_on)
    sys.stdout.write(f"wrote {displayed(str(arguments.out))}\n")
    return status


def _write_c(mechanism: Mechanism, arguments: argparse.Namespace) -> int:
    """Write the dynamics of the reduced model as C source."""
    from regularize.dynamics.pinocchio.exporting import to_pinocchio
    from regularize.reduction.reduce import reduce

    robot = to_pinocchio(reduce(mechanism))
    robot.to_c(arguments.out)
    status = report_findings(robot.findings, arguments.fail_on)
    sys.stdout.write(f"wrote {arguments.out} and {arguments.out.with_suffix('.h').name}\n")
    return status
