"""`regularize solve`: all ways to assemble the loops for given inputs, and the formulas as code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.commands.files import add_model, load_model
from regularize.commands.simulate import assignments
from regularize.errors import ModelError
from regularize.output_files import write_text

if TYPE_CHECKING:
    from regularize.model.mechanism import Mechanism


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    parser.add_argument(
        "--inputs",
        nargs="+",
        metavar="JOINT",
        help="joints whose coordinates are given (default: those of --at, else the driven joints)",
    )
    parser.add_argument(
        "--at",
        nargs="+",
        action="extend",
        default=[],
        metavar="JOINT=VALUE",
        help="print all ways to assemble at these coordinates, in radians and metres",
    )
    parser.add_argument("--all", action="store_true", help="print all ways, however many")
    parser.add_argument("--c", metavar="FILE.c", type=Path, help="the formulas as C99")
    parser.add_argument("--python", metavar="FILE.py", type=Path, help="the formulas as Python")


def run(arguments: argparse.Namespace) -> int:
    """Find the formulas, write what was asked for and say what there is."""
    from regularize.assembly_modes.closed_form import closed_form
    from regularize.render.ways import described, ways_at

    values = assignments(arguments.at, "--at")
    mechanism = load_model(arguments.file, arguments)
    solution = closed_form(mechanism, _inputs(mechanism, arguments.inputs, values))
    if values:
        _require_all(values, solution.inputs)
    sources = [
        (path, to_code(path.stem))
        for path, to_code in ((arguments.c, solution.to_c), (arguments.python, solution.to_python))
        if path is not None
    ]
    lines = [*described(solution)]
    if values:
        at = [values[name] for name in solution.inputs]
        lines += ["", *ways_at(solution, at, every=arguments.all)]
    for path, source in sources:
        write_text(path, source)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _inputs(
    mechanism: Mechanism, named: Sequence[str] | None, values: dict[str, float]
) -> list[str]:
    """Names of the inputs in the order wanted."""
    driven = [joint.name for joint in mechanism.joints if joint.actuated]
    inputs = list(named or values or driven)
    if not inputs:
        raise ModelError("the model names no driven joint; name the inputs: --inputs JOINT …")
    return inputs


def _require_all(values: dict[str, float], inputs: Sequence[str]) -> None:
    """Every input has a value, and nothing else has."""
    missing = [name for name in inputs if name not in values]
    other = [name for name in values if name not in inputs]
    if missing or other:
        told = f"{', '.join(missing)} has no value" if missing else f"{other[0]} is no input"
        raise ModelError(f"--at: {told}; the inputs are {', '.join(inputs)}")
