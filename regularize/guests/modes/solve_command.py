"""`regularize solve`: all ways to assemble the loops for given inputs, and the formulas as code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regularize.adapters.common.output_files import write_text
from regularize.commands.files import OutputAction, add_model, load_model
from regularize.commands.options import (
    COORDINATES,
    assignments,
    fitted,
    option,
    point_of,
    pose_of,
    units_of,
    width,
)
from regularize.errors import ModelError, RegularizeError

if TYPE_CHECKING:
    from regularize.guests.modes.body_pose import BodyPose
    from regularize.mechanism.mechanism import Mechanism


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_model(parser)
    words = "joints whose coordinates are given (default: those of --at, else the driven joints)"
    option(parser, "--inputs JOINT", words, nargs="+")
    at = (
        "print all ways to assemble at these coordinates, such as A=30deg slide=50mm; without a "
        "unit in radians and metres"
    )
    option(parser, "--at JOINT=VALUE …", at, nargs="+")
    pose = (
        "the pose of a body as input: platform=0,0,400mm for those coordinates that it has; BODY "
        "alone: formulas for it, or, with --at JOINT=VALUE, its poses as the result"
    )
    option(parser, "--pose BODY[=X,Y,…]", pose)
    point = (
        "the point of the body meant by --pose, where it is in the model's own pose, on a frame "
        "parallel to the ground's (default: the body's own frame)"
    )
    option(parser, "--point X,Y,Z", point)
    option(parser, "--all", "print all ways, however many")
    for name, ending, language in (("c", ".c", "C99"), ("python", ".py", "Python")):
        file: dict[str, Any] = {"action": OutputAction, "endings": (ending,)}
        option(parser, f"--{name} FILE{ending}", f"the formulas as {language}", **file)


def run(arguments: argparse.Namespace) -> int:
    """Find the formulas, write what was asked for and print the ways to assemble."""
    from regularize.guests.modes.body_pose import posed
    from regularize.guests.modes.closed_form import closed_form
    from regularize.guests.modes.ways import described, poses_at, ways_at

    check_point(arguments)
    mechanism = load_model(arguments.file, arguments)
    units = units_of(mechanism, COORDINATES)
    values = assignments(arguments.at, "--at", units)
    body, texts = pose_of(arguments.pose or "")
    by_pose = texts is not None or not values or any(name.startswith(f"{body}.") for name in values)
    named = arguments.inputs or [name for name in values if not name.startswith(f"{body}.")]
    if body and by_pose:
        mechanism, posing = posed(mechanism, pose_with(body, arguments.point))
        if texts is not None:
            if len(texts) != len(posing):
                raise ModelError(
                    f"--pose {arguments.pose}: {len(texts)} values; the pose of {body!r} is given "
                    f"by {', '.join(posing)}"
                )
            given = [f"{name}={text}" for name, text in zip(posing, texts, strict=True)]
            for name in {*posing} & {*values}:
                raise ModelError(f"--at {name}=…: --pose {arguments.pose} gives it already")
            values |= assignments(given, "--pose", units)
        inputs = [*named, *posing]
    else:
        inputs = _inputs(mechanism, named)
    solution = closed_form(mechanism, inputs)
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
        if body and not by_pose:
            lines += ["", *poses_at(solution, at, body, width=width())]
        else:
            own = bool(body) and not arguments.all
            shown = ways_at(solution, at, every=arguments.all, own=own, width=width())
            lines += ["", *shown]
    for path, source in sources:
        write_text(path, source)
    sys.stdout.write(fitted(lines))
    return 0


def check_point(arguments: argparse.Namespace) -> None:
    """Refuse a point without a body."""
    if arguments.point is not None and arguments.pose is None:
        raise RegularizeError(f"--point {arguments.point}: of which body? name it with --pose BODY")


def pose_with(body: str, point: str | None) -> BodyPose:
    """Return the pose of a body, or of a point on it that is a text of three lengths."""
    from regularize.guests.modes.body_pose import BodyPose

    return BodyPose(body, point=None if point is None else point_of(point))


def _inputs(mechanism: Mechanism, named: Sequence[str]) -> list[str]:
    """Return the named inputs, or the driven joints."""
    driven = [joint.name for joint in mechanism.joints if joint.actuated]
    inputs = list(named or driven)
    if not inputs:
        raise ModelError("the model names no driven joint; name the inputs: --inputs JOINT …")
    return inputs


def _require_all(values: dict[str, float], inputs: Sequence[str]) -> None:
    """Refuse values unless there is one for each input and no other."""
    missing = [name for name in inputs if name not in values]
    other = [name for name in values if name not in inputs]
    if missing or other:
        told = f"{', '.join(missing)} has no value" if missing else f"{other[0]} is no input"
        raise ModelError(f"--at: {told}; the inputs are {', '.join(inputs)}")
