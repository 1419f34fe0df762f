"""`regularize check`: say which loop constraints are redundant, and why."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.commands.files import add_model_options, load_model, write_text

if TYPE_CHECKING:
    from regularize.check import Report

OUTPUTS = ("text", "concise", "json")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its options."""
    parser = subparsers.add_parser("check", help=__doc__.split(": ")[1].rstrip("."))
    parser.add_argument("files", nargs="+", metavar="FILE", help="model file, or its folder")
    add_model_options(parser)
    parser.add_argument("--output", choices=OUTPUTS, default="text", help="form of the report")
    parser.add_argument("-o", dest="out", metavar="FILE", type=Path, help="write it to a file")
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "never"),
        default="warning",
        help="lowest severity that gives exit status 1 (default: warning)",
    )
    parser.add_argument("--rtol", type=float, help="tolerance of ranks and geometry (1e-5)")
    parser.add_argument("--near", type=float, help="tolerance of nearly special geometry (5e-3)")
    parser.add_argument("--length-scale", type=float, metavar="M", help="size to scale lengths by")
    parser.add_argument("--keep-cuts", action="store_true", help="cut where the file closes loops")
    parser.add_argument("--configurations", type=int, help="configurations to certify (50)")
    parser.add_argument("--seed", type=int, default=0, help="seed of random configurations (0)")
    parser.add_argument("--top", type=int, default=4, help="loops shown in full (4)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check all files; the exit status is the worst of them."""
    from regularize.check import check

    chosen = {
        name: getattr(arguments, name)
        for name in ("rtol", "near", "length_scale", "keep_cuts", "configurations", "seed")
        if getattr(arguments, name) is not None
    }
    reports = [check(load_model(file, arguments), **chosen) for file in arguments.files]
    text = _render(reports, arguments)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        write_text(arguments.out, text)
    return max(report.exit_status(arguments.fail_on) for report in reports)


def _render(reports: list[Report], arguments: argparse.Namespace) -> str:
    if arguments.output == "json":
        entries = [report.as_dict() for report in reports]
        body = entries[0] if len(entries) == 1 else entries
        return json.dumps(body, indent=2, allow_nan=False) + "\n"
    if arguments.output == "concise":
        return "".join(concise(report) for report in reports)
    from regularize.render.text import render

    terminal = arguments.out is None and sys.stdout.isatty()
    color = terminal and "NO_COLOR" not in os.environ
    width = os.get_terminal_size().columns if terminal else _columns()
    return "\n".join(render(r, width=width, color=color, top=arguments.top) for r in reports)


def _columns() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) >= 40 else 100


def concise(report: Report) -> str:
    """One line per finding: ``path:line: CODE message``."""
    path = report.mechanism.path or report.mechanism.name
    return "".join(f"{d.source or path}: {d.code} {d.message}\n" for d in report.diagnostics)
