"""`regularize metamodel`: interpolate the dynamics in actuator coordinates for a controller."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regularize.commands.files import OutputAction, add_model, load_model
from regularize.commands.options import angle_or_length, count, fitted, names, option, some
from regularize.errors import ModelError
from regularize.output_files import write_all, write_made

if TYPE_CHECKING:
    from regularize.guests.design.metamodel import Metamodel


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    option(parser, "--inputs JOINT", "actuated joints (default: the model's)", type=names)
    bounds = (
        "lower and upper bound, one pair for all inputs or one per input, such as -30deg 30deg; "
        "without a unit radians, metres"
    )
    option(parser, "--bounds VALUE", bounds, nargs="+", type=angle_or_length, required=True)
    option(parser, "--tolerance TOLERANCE", "largest relative error (0.01)", type=float)
    option(parser, "--size WIDTH", "largest width of a box", nargs="+", type=angle_or_length)
    smallest = "smallest box, fraction of bounds (1/64)"
    option(parser, "--smallest SMALLEST", smallest, type=float, default=1 / 64)
    clearance = "distance kept from singularities (0)"
    option(parser, "--clearance CLEARANCE", clearance, type=float, default=0.0)
    option(parser, "--seed SEED", "seed of the random points (0)", type=count, default=0)
    option(parser, "--jobs JOBS", "processes that sample (1)", type=some, default=1)
    file: dict[str, Any] = {"action": OutputAction, "endings": (".npz",), "required": True}
    option(parser, "-o FILE.npz", "where to write it", **file)
    words = "C99 source, and FILE.h beside it"
    option(parser, "--c FILE.c", words, action=OutputAction, endings=(".c",))
    words = "picture of model, metamodel and error (default: beside -o, .svg)"
    option(parser, "--plot FILE", words, action=OutputAction, nargs="?", const=Path())


def run(arguments: argparse.Namespace) -> int:
    """Build the metamodel and write what was asked for; the report goes to standard output."""
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager, nullcontext
    from multiprocessing import get_context

    from regularize.adapters.common.worker_processes import WorkerProcesses
    from regularize.guests.design.metamodel import metamodel
    from regularize.guests.design.reduced_dynamics import reduced_model
    from regularize.mechanism.graph import actuated_coordinates

    mechanism = load_model(arguments.file, arguments)
    inputs = list(arguments.inputs or actuated_coordinates(mechanism))
    bounds = _bounds(arguments.bounds, inputs)
    tolerance, size = arguments.tolerance, arguments.size
    if tolerance is None and size is None:
        tolerance = 0.01
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
    model.save(arguments.out)
    if arguments.c is not None:
        from regularize.guests.design.boxes import to_c, to_c_header

        name = arguments.c.stem
        header = arguments.c.with_suffix(".h")
        write_all({header: to_c_header(model, name), arguments.c: to_c(model, name)})
    if arguments.plot is not None:
        from regularize.guests.design.plot import metamodel_figure

        path = arguments.plot if arguments.plot.name else arguments.out.with_suffix(".svg")
        figure, kind = metamodel_figure(model, reduced), path.suffix[1:] or "svg"
        write_made(path, lambda stream: figure.savefig(stream, format=kind))
    sys.stdout.write(report(model))
    return int(any(finding.severity != "note" for finding in model.findings))


def report(model: Metamodel) -> str:
    """Write size and cost of the metamodel, its errors by quantity, and its findings."""
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
    """Return a pair of bounds for each input, from one pair for all or one each."""
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
