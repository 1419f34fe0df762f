"""`regularize metamodel`: interpolate the dynamics in actuator coordinates for a controller."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.commands.columns import fitted
from regularize.commands.files import (
    add_model,
    load_model,
)
from regularize.commands.outputs import OutputAction
from regularize.commands.values import angle_or_length, count, some
from regularize.errors import ModelError
from regularize.output_files import write_bytes, write_text

if TYPE_CHECKING:
    from regularize.metamodels.metamodel import Metamodel


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    parser.add_argument(
        "--inputs", nargs="+", metavar="JOINT", help="actuated joints (default: the model's)"
    )
    parser.add_argument(
        "--bounds",
        nargs="+",
        type=angle_or_length,
        required=True,
        metavar="VALUE",
        help="lower and upper bound, one pair for all inputs or one per input, such as -30deg "
        "30deg; without a unit radians, metres",
    )
    parser.add_argument("--tolerance", type=float, help="largest relative error (0.01)")
    parser.add_argument(
        "--size", nargs="+", type=angle_or_length, metavar="WIDTH", help="largest width of a box"
    )
    parser.add_argument(
        "--smallest", type=float, default=1 / 64, help="smallest box, fraction of bounds (1/64)"
    )
    parser.add_argument(
        "--clearance", type=float, default=0.0, help="distance kept from singularities (0)"
    )
    parser.add_argument("--seed", type=count, default=0, help="seed of the random points (0)")
    parser.add_argument("--jobs", type=some, default=1, help="processes that sample (1)")
    parser.add_argument(
        "-o",
        dest="out",
        metavar="FILE.npz",
        action=OutputAction,
        endings=(".npz",),
        required=True,
        help="where to write it",
    )
    parser.add_argument(
        "--c",
        metavar="FILE.c",
        action=OutputAction,
        endings=(".c",),
        help="C99 source, and FILE.h beside it",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        action=OutputAction,
        nargs="?",
        const=Path(),
        help="picture of model, metamodel and error (default: beside -o, .svg)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Build the metamodel and write what was asked for; the report goes to standard output."""
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager, nullcontext
    from multiprocessing import get_context

    from regularize.metamodels.file import to_bytes
    from regularize.metamodels.metamodel import metamodel
    from regularize.metamodels.reduced_dynamics import reduced_model
    from regularize.model.graph import actuated_coordinates
    from regularize.worker_processes import WorkerProcesses

    mechanism = load_model(arguments.file, arguments)
    inputs = list(arguments.inputs or actuated_coordinates(mechanism))
    bounds = _bounds(arguments.bounds, inputs)
    tolerance = arguments.tolerance
    if tolerance is None and arguments.size is None:
        tolerance = 0.01
    size = arguments.size
    if size is not None and len(size) not in (1, len(inputs)):
        raise ModelError(f"--size needs 1 or {len(inputs)} values, got {len(size)}")
    reduced = reduced_model(mechanism, inputs)
    pool: AbstractContextManager[Executor | None] = (
        WorkerProcesses(arguments.jobs, mp_context=get_context("spawn"))
        if arguments.jobs > 1
        else nullcontext()
    )
    with pool as executor:
        model = metamodel(
            reduced,
            bounds,
            tolerance=tolerance,
            size=size,
            smallest=arguments.smallest,
            clearance=arguments.clearance,
            seed=arguments.seed,
            executor=executor,
            progress=sys.stderr.isatty(),
        )
    write_bytes(arguments.out, to_bytes(model))
    if arguments.c is not None:
        from regularize.metamodels.c_source import to_c, to_c_header

        name = arguments.c.stem
        write_text(arguments.c, to_c(model, name))
        write_text(arguments.c.with_suffix(".h"), to_c_header(model, name))
    if arguments.plot is not None:
        from regularize.metamodels.plot import figure

        path = arguments.plot if arguments.plot.name else arguments.out.with_suffix(".svg")
        picture = io.BytesIO()
        figure(model, reduced).savefig(picture, format=path.suffix[1:] or "svg")
        write_bytes(path, picture.getvalue())
    sys.stdout.write(report(model))
    return int(any(finding.severity != "note" for finding in model.findings))


def report(model: Metamodel) -> str:
    """Size and cost of the metamodel, its errors by quantity, and its findings, a line each."""
    accuracy = model.accuracy
    lines = [
        f"{model.boxes} boxes, {model.samples} samples of the reduced model, "
        f"{model.operations} operations per evaluation at most",
        f"relative errors at {accuracy.points} random points, "
        f"{100 * accuracy.covered:.4g} % of them covered:",
        *(
            f"  {name}: largest {100 * accuracy.maximal[name]:.3g} %, "
            f"mean {100 * accuracy.mean[name]:.3g} %"
            for name in accuracy.maximal
        ),
        *(f"{d.severity}[{d.code}]: {d.message}" for d in model.findings),
    ]
    return fitted(lines)


def _bounds(values: list[float], inputs: list[str]) -> list[list[float]]:
    if not inputs:
        raise ModelError("the model names no actuated joint; name them: --inputs JOINT …")
    if len(values) == 2:
        values = values * len(inputs)
    if len(values) != 2 * len(inputs):
        raise ModelError(
            f"--bounds needs a pair of values, or {len(inputs)} pairs for {inputs}, "
            f"got {len(values)} values"
        )
    return [values[2 * i : 2 * i + 2] for i in range(len(inputs))]
