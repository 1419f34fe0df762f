"""`regularize workspace`: map where a mechanism can go, and how far it is from singularities."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from regularize.commands.files import OutputAction, add_model, load_model
from regularize.commands.options import (
    COORDINATES,
    assignments,
    fitted,
    limits,
    names,
    option,
    ranges,
    some,
    units_of,
)
from regularize.tolerances import NEGLIGIBLE

if TYPE_CHECKING:
    from regularize.guests.design.workspace import WorkspaceMap
    from regularize.lie.arrays import Array


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.epilog = (
        "example: regularize workspace delta.urdf --pose platform --over x,y --at z=-0.4 "
        "-o delta.png"
    )
    parser.usage = "%(prog)s MODEL --over NAME … [options]"
    add_model(parser)
    varied = (
        "what is varied: joints, or x, y, z, roll, pitch, yaw of the pose, as NAME or "
        "NAME=LOWER:UPPER[:SAMPLES], such as x,y or x=-50mm:50mm; bounds are looked for"
    )
    option(parser, "--over RANGE …", varied, type=names, required=True)
    words = "values of other inputs, such as z=300mm roll=10deg (default: as the model stands)"
    option(parser, "--at NAME=VALUE …", words, type=names)
    words = "the body whose pose is the input, or that the joints move"
    option(parser, "--pose BODY", words)
    words = "the point of the body, where it is in the model's own pose (default: its frame)"
    option(parser, "--point X,Y,Z", words)
    option(parser, "--actuated JOINT", "the motors (default: those of the model)", type=names)
    words = "limits in the place of the model's, for a joint or a pattern: P?=-100mm:100mm"
    option(parser, "--limits JOINT=LOWER:UPPER …", words, type=names)
    option(parser, "--samples N", "points along an axis (41)", type=some, default=41)
    option(parser, "--way N", "way to assemble (default: as stored)", type=int)
    words = "arrays as .npz or .csv, or a picture of one or two axes as .svg, .png, .pdf"
    option(parser, "-o FILE", words, action=OutputAction)


def run(arguments: argparse.Namespace) -> int:
    """Compute the map, write it, and print its extent."""
    from regularize.guests.design.plot import checked
    from regularize.guests.design.workspace import workspace

    if arguments.out is not None:
        checked(arguments.out)
    from regularize.guests.modes.solve_command import check_point, pose_with  # a guest

    check_point(arguments)
    mechanism = load_model(arguments.file, arguments)
    units = units_of(mechanism, COORDINATES)
    found = workspace(
        mechanism,
        ranges(arguments.over, units),
        at=assignments(arguments.at, "--at", units),
        pose=None if arguments.pose is None else pose_with(arguments.pose, arguments.point),
        actuated=arguments.actuated,
        limits=limits(arguments.limits, units),
        way=arguments.way,
        samples=arguments.samples,
    )
    if arguments.out is not None:
        found.save(arguments.out)
    sys.stdout.write(fitted(said(found)))
    return 0


def said(found: WorkspaceMap) -> Iterator[str]:
    """Yield lines on how far a workspace map extends and where distances are least."""
    import numpy as np

    size = " x ".join(str(len(values)) for values in found.values)
    held = ", ".join(f"{name} = {value:.6g}" for name, value in found.held.items())
    yield f"{size} points over {', '.join(found.names)}{held and f' at {held}'}, {found.method}"
    inside = found.reachable
    share = 100.0 * float(np.mean(inside))
    beyond = 100.0 * float(np.mean(found.assembled)) - share
    yield f"reachable: {share:.1f} %" + (f"; beyond joint limits: {beyond:.1f} %" if beyond else "")
    for axis, name in enumerate(found.names):
        hit = np.flatnonzero(inside.any(axis=tuple(i for i in range(inside.ndim) if i != axis)))
        if len(hit):
            low, high = found.values[axis][hit[[0, -1]]]
            yield f"  {name}: {low:.4g} to {high:.4g} {found.units[axis]}"
    for name, values in found.measures.items():
        least = np.where(inside & np.isfinite(values), values, np.inf)
        if not np.isfinite(least).any():
            continue
        at = np.unravel_index(int(np.argmin(least)), least.shape)
        where = ", ".join(
            f"{name} = {_rounded(axis, int(i)):.4g}"
            for name, axis, i in zip(found.names, found.values, at, strict=True)
        )
        words = "from joint limits" if name == "limits" else f"from {name} singularities"
        yield f"least distance {words}: {least[at]:.3g} at {where}"


def _rounded(axis: Array, i: int) -> float:
    """Return a value on an axis, exactly zero where it is zero but for rounding."""
    return 0.0 if abs(axis[i]) < NEGLIGIBLE * max(abs(axis[0]), abs(axis[-1])) else float(axis[i])
