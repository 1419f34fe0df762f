"""`regularize export`: write a model in another format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regularize.commands.files import add_model_options, load_model


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its options."""
    parser = subparsers.add_parser("export", help=__doc__.split(": ")[1].rstrip("."))
    parser.add_argument("file", metavar="MODEL", help="model file, or its folder")
    add_model_options(parser)
    parser.add_argument("--to", required=True, metavar="FORMAT", help="see `regularize formats`")
    parser.add_argument("-o", dest="out", required=True, type=Path, metavar="FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the model; the exit status is 1 if the format could not hold all of it."""
    from regularize.files import save

    mechanism = load_model(arguments.file, arguments)
    findings = save(mechanism, arguments.out, format=arguments.to)
    for finding in findings:
        sys.stderr.write(f"{finding.severity}[{finding.code}]: {finding.message}\n")
    sys.stdout.write(f"wrote {arguments.out}\n")
    return int(any(finding.severity != "note" for finding in findings))
