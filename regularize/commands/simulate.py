"""`regularize simulate` and `show`: let a mechanism move, and look at it in a browser."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.adapters.common.console import delayed_progress
from regularize.adapters.common.input_files import check_regular
from regularize.commands.files import BRANCH, NO_MESHES, OutputAction, add_model, load_model
from regularize.commands.options import (
    LOADS,
    RATES,
    assignments,
    count,
    fitted,
    option,
    options,
    units_of,
)
from regularize.errors import ModelError, RegularizeError
from regularize.escape import displayed
from regularize.mechanism.quantity import SECONDS, value_of
from regularize.output_files import write_file
from regularize.services import guest

if TYPE_CHECKING:
    from regularize.dynamics.simulation.prescribed import Drive
    from regularize.dynamics.simulation.simulate import SimulationOptions
    from regularize.dynamics.simulation.simulation import Simulation
    from regularize.mechanism.mechanism import Mechanism

ENGINES = ("rows", "anchors", "slack", "legacy", "mujoco")

OPTIONS = f"""
--duration S:=10  seconds (10)
--actuate JOINT=TORQUE …  constant torque or force, such as 2Nm or 5N; may be given several times
--rate JOINT=RATE …  joint rate to begin with, such as 30deg/s; without a unit rad/s or m/s; the
    other joints follow
--drive JOINT=MOTION …  prescribed motion in rad or m: an arithmetic expression of the time t such
    as 0.3*sin(2*pi*t), or a .csv file with times in seconds and positions; the NAME alone of a
    motion that the file carries takes that one
--coordinates WHICH:all|minimal=all  all or minimal: integrate all joint coordinates, or independent
    ones only
--engine NAME:{"|".join(ENGINES)}=rows  what integrates: {", ".join(ENGINES)} (rows)
--rtol R:=1e-9  error per step, relative to rates above 1 rad/s or m/s, else absolute (1e-9)
--slip R  rate in rad/s and m/s below which dry friction of joints falls off (1e-3)
--ground FRICTION  let the collision shapes stand on the plane z = 0 with this coefficient of
    friction, or that of the file where it is smaller; in steps of fixed length
--limits  keep joints within their bounds and motors within their efforts, in such steps too
--step S  length of such steps in seconds (1e-3)
-o FILE:output  motion as .csv or .npz
--plot FILE:output  picture as .svg or .png
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    options(parser, BRANCH)
    options(parser, OPTIONS)


def positive(
    text: str, option: str, least: float = 0.0, most: float = math.inf, *units: Mapping[str, float]
) -> float:
    """Return a positive number from an option, with a unit where some fit."""
    try:
        value = value_of(text, *units) if units else float(text)
    except (ModelError, ValueError):
        value = math.nan
    if not (0.0 < value < math.inf and least <= value <= most):
        bounds = f" between {least:.1e} and {most:g}" if least else ""
        raise RegularizeError(f"{option} {text}: expected a positive number{bounds}")
    return value


def drives(entries: list[str], mechanism: Mechanism) -> dict[str, Drive]:
    """Read ``--drive`` entries, ``JOINT=EXPRESSION``, ``JOINT=FILE.csv`` or ``NAME``, by joint."""
    motions: dict[str, Drive] = {}
    for entry in entries:
        name, separator, motion = entry.partition("=")
        if not separator and name and mechanism.motions:
            offered = mechanism.motion(name)
            name, motion = offered.joint, offered.expression
        if name in motions:
            raise RegularizeError(f"--drive {entry}: joint {name!r} is driven already")
        if not name or not motion:
            raise RegularizeError(
                f"--drive {entry}: expected JOINT=EXPRESSION, such as --drive 'crank=0.3*sin(t)', "
                "JOINT=FILE.csv, or the name of a motion in the file"
            )
        motions[name] = table(Path(motion)) if motion.lower().endswith(".csv") else motion
    return motions


def table(path: Path) -> tuple[list[float], list[float]]:
    """Read times and positions from the first two columns of a file."""
    columns: tuple[list[float], list[float]] = ([], [])
    check_regular(str(path))
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
        for number, row in enumerate(rows):
            try:
                values = [float(entry) for entry in row[:2]]
            except ValueError:
                if number:
                    raise
                continue
            if len(values) < 2:
                raise ValueError(f"row {number + 1} has one column")
            for column, value in zip(columns, values, strict=True):
                column.append(value)
    except (OSError, ValueError, csv.Error) as error:
        raise RegularizeError(
            f"{path}: expected lines of two numbers, time in s and position in rad or m ({error})"
        ) from error
    return columns


def run(arguments: argparse.Namespace) -> int:
    """Simulate, write what was asked for and print the figures of the run."""
    from regularize.dynamics.simulation import FINEST, MuJoCo, Solver
    from regularize.dynamics.simulation.simulate import simulate
    from regularize.dynamics.simulation.simulation import motion_file, plot_file

    duration = positive(arguments.duration, "--duration", 0.0, math.inf, SECONDS)
    rtol = positive(arguments.rtol, "--rtol", FINEST, 1.0)
    if arguments.engine != "mujoco":
        solver: Solver | MuJoCo = Solver(arguments.coordinates, style=arguments.engine)
    elif arguments.coordinates == "all":
        solver = MuJoCo()
    else:
        raise RegularizeError("--engine mujoco: integrates all coordinates; leave one of them out")
    for check, path in ((motion_file, arguments.out), (plot_file, arguments.plot)):
        if path is not None:
            check(path).parent.mkdir(parents=True, exist_ok=True)
    mechanism = load_model(arguments.file, arguments)
    torques = assignments(arguments.actuate, "--actuate", units_of(mechanism, LOADS))
    rates = assignments(arguments.rate, "--rate", units_of(mechanism, RATES))
    driven = drives(arguments.drive, mechanism)
    for name in torques:
        if name in driven:
            words = "the joint is driven, with whatever force that takes; leave one of the two out"
            raise RegularizeError(f"--actuate {name}: {words}")
    options = stepped(arguments)
    options["drive"] = driven
    options["slip"] = None if arguments.slip is None else positive(arguments.slip, "--slip")
    with delayed_progress(f"simulating {duration:g} s") as options["progress"]:
        motion = simulate(
            mechanism,
            duration=duration,
            torques=torques,
            rates=rates,
            rtol=rtol,
            solver=solver,
            **options,
        )
    for write, path in ((motion.save, arguments.out), (motion.plot, arguments.plot)):
        if path is not None:
            write(path)
    sys.stdout.write(figures(motion, 0.0 if arguments.engine == "mujoco" else rtol))
    for offered in mechanism.motions:
        if offered.joint not in motion.drives:
            sys.stdout.write(
                f"offered: --drive {offered.name} moves {offered.joint} by {offered.expression}\n"
            )
    return 0


def stepped(arguments: argparse.Namespace) -> SimulationOptions:
    """Return the options that ask for steps of fixed length."""
    found: SimulationOptions = {}
    if arguments.limits:
        found["limits"] = True
    if arguments.step is not None:
        found["h"] = positive(arguments.step, "--step", 0.0, math.inf, SECONDS)
    if arguments.ground is not None:
        try:
            friction = float(arguments.ground)
            found["contacts"] = [guest("contact").Ground(friction=friction)]
        except (ModelError, ValueError):
            raise RegularizeError(
                f"--ground {arguments.ground}: expected a coefficient of friction, 0 or more"
            ) from None
    return found


def figures(motion: Simulation, rtol: float) -> str:
    """Return steps, drift of energy and closure, and findings of a run, a line each."""
    values = motion.as_dict()
    corrected = f", with {motion.correction:.2e} J corrected on the way"
    lines = [
        f"simulated {values['duration_s']:g} s with {values['engine']}: {values['steps']} steps, "
        f"{values['rejected']} rejected, {values['evaluations']} evaluations",
        f"energy drift  {values['energy_drift_J']:.2e} J{corrected if motion.correction else ''}",
        f"closure drift {values['closure_drift']:.2e} (lengths relative to the size of the loop)",
    ]
    x = motion.coordinates
    moved = float((x.max(axis=0) - x.min(axis=0)).max(initial=0.0))
    if not motion.h and rtol * SMALL > moved > 0.0:
        share = f"an error of {rtol:g} in each step is {rtol / moved:.0e} of that: lower --rtol"
        lines.append(f"small motion  no joint moves more than {moved:.1e} rad or m; {share}")
    if motion.h:
        lines[1] = f"energy lost   {motion.energy[0] - motion.energy[-1]:.4g} J"
    if motion.contacts:
        upward = motion.contact_forces[-1].sum(axis=0)[2]
        lines.append(f"the ground holds {upward:.6g} N at the end")
    for name, forces in zip(motion.drives, motion.drive_forces.T, strict=True):
        lines.append(f"largest force of the drive of {name} {max(abs(forces)):.6g} N or N m")
    lines += [f"{d.severity}[{d.code}]: {d.message}" for d in motion.findings]
    return fitted(lines)


#: Motions of so many times the error of a step and less are told to be small.
SMALL = 1e5
SUFFIXES = (".glb", ".html", ".svg", ".png")


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    parser.description = (
        "Without -o the page opens in a browser: one file, with the picture, a slider for each "
        "freedom and the report."
    )
    add_model(parser)
    words = f"write a file instead; its ending decides: {' '.join(SUFFIXES)}"
    option(parser, "-o FILE", words, action=OutputAction, endings=SUFFIXES)
    options(parser, BRANCH)
    option(parser, "--ghosts N", "faint poses of the motion (3)", type=count, default=3)
    options(parser, NO_MESHES)
    words = "play the motion that `regularize simulate -o FILE` has written, .csv or .npz"
    option(parser, "--motion FILE", words, type=Path)
    films, words = (".gif", ".mp4"), "write a film of the motion, .gif or .mp4"
    option(parser, "--movie FILE", words, action=OutputAction, endings=films)
    option(parser, "--html", argparse.SUPPRESS)


def run_show(arguments: argparse.Namespace) -> int:
    """Write the picture to a file, or show the mechanism in a browser."""
    from regularize.checking import check

    out: Path | None = arguments.out
    mechanism = load_model(arguments.file, arguments)
    content = guest("page.picture").content
    trajectory = None
    if arguments.motion is not None:
        trajectory = guest("page.animation").PlayedMotion.read(arguments.motion, mechanism)
    suffix = ".html" if out is None else out.suffix.lower()
    report = check(mechanism, trials=suffix == ".html")
    meshes = not arguments.no_meshes
    if arguments.movie is not None:
        guest("page.movie").movie(report, arguments.movie, meshes=meshes, trajectory=trajectory)
        _say_written(arguments.movie)
        if out is None:
            return 0
    page = out
    if page is None:
        import tempfile

        folder = Path(tempfile.mkdtemp(prefix="regularize-"))
        page = folder / f"{report.mechanism.name or 'model'}.html".replace("/", "-")
    write_file(page, content(report, suffix, arguments.ghosts, meshes, trajectory))
    _say_written(page)
    if out is None:
        import webbrowser

        webbrowser.open(page.as_uri())
    return 0


def _say_written(path: Path) -> None:
    """Say on standard error that a file is written."""
    sys.stderr.write(f"regularize: wrote {displayed(str(path))}\n")
