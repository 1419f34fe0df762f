"""The inputs of a map: which are varied over which values, and which are held."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.guests.modes.body_pose import COORDINATES, BodyPose, posed
from regularize.guests.modes.grouping import node_of
from regularize.guests.modes.inputs import Inputs, inputs_of, numbers, whole
from regularize.lie.arrays import Array
from regularize.mechanism.graph import Graph, actuated_coordinates, coordinate_names
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism

#: What is varied: (lower, upper), (lower, upper, samples), all values, or None to find the range.
Range: TypeAlias = "ArrayLike | None"


@dataclass(frozen=True, eq=False)
class MapInputs:
    """The inputs of a map: varied ones with their ranges, and held ones with their values."""

    graph: Graph  # of the mechanism, with the chain of the pose where this is an input
    freedoms: int  # coordinates of the mechanism itself, which come first
    inputs: Inputs
    varied: tuple[int, ...]  # positions of the inputs that are varied
    ranges: tuple[Range, ...]  # what is given of each of them
    held: Array  # values of all inputs, those that are varied as they are stored
    body: str | None  # the one whose pose is an input or an output
    motors: tuple[int, ...]  # columns of the motors; empty where there are none

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs that are varied."""
        return tuple(self.inputs.names[i] for i in self.varied)


def map_inputs(
    mechanism: Mechanism,
    over: Mapping[str, Range] | Sequence[str],
    at: Mapping[str, float],
    pose: BodyPose | str | None,
    actuated: Sequence[str] | None,
) -> MapInputs:
    """Choose the inputs of a map from the coordinates to vary and those held at a value."""
    over = [over] if isinstance(over, str) else over
    ranges: dict[str, Range] = dict(over) if isinstance(over, Mapping) else dict.fromkeys(over)
    if not ranges:
        raise ModelError("nothing is varied: name what the map is drawn over")
    body = pose if pose is None or isinstance(pose, str) else pose.body
    of_body = () if body is None else COORDINATES
    full = {n: f"{body}.{n}" if n in of_body else n for n in (*ranges, *at)}
    both = {full[name] for name in ranges} & {full[name] for name in at}
    if both:
        raise ModelError(f"{min(both)!r} is varied, and held at a value too; leave one out")
    by_pose = [name for name in full.values() if body and name.startswith(f"{body}.")]
    known = [*(f"{body}.{name}" for name in of_body), *coordinate_names(mechanism)]
    for name in full.values():
        if name in known:
            continue
        if body is None and name in COORDINATES:
            # The moving body with the most joints is the platform, where there is one.
            ends = [body for joint in mechanism.joints for body in (joint.parent, joint.child)]
            moving = [b.name for b in mechanism.bodies if b.name != mechanism.ground]
            hub = max(moving, key=ends.count)
            raise ModelError(
                f"{name!r} is a coordinate of a body's pose: name the body, as in `--pose "
                f"{hub}`, or pose={hub!r} in Python"
            )
        raise ModelError(f"there is no input {name!r}{did_you_mean(name, known)}")
    plain = build(mechanism)
    graph, names = plain, list(dict.fromkeys(full.values()))
    if by_pose and pose is not None:
        pose = pose if isinstance(pose, BodyPose) else BodyPose(pose)
        extended, posing = posed(mechanism, pose)
        if not set(by_pose) <= set(posing):
            pose = BodyPose(pose.body, tuple(dict.fromkeys(by_pose)), pose.point)
            extended, posing = posed(mechanism, pose)
        graph = build(extended)
        names = [*(n for n in names if n not in posing), *posing]
    else:
        names += [n for n in actuated_coordinates(mechanism) if n not in names]
    inputs = inputs_of(graph, names)
    held = graph.position[list(inputs.columns)].copy()
    for name, value in at.items():
        held[inputs.names.index(full[name])] = value
    if body is not None:
        node_of(plain, body)
    motors = inputs_of(plain, actuated_coordinates(mechanism) if actuated is None else actuated)
    places, stated = tuple(inputs.names.index(full[n]) for n in ranges), tuple(ranges.values())
    driven = motors.columns if motors.columns or by_pose else inputs.columns
    return MapInputs(graph, plain.freedoms, inputs, places, stated, held, body, driven)


def check_points(ranges: Sequence[Range], samples: int, most: int = 10**6) -> None:
    """Refuse a map of too many points, with ``samples`` along axes that give no number."""
    points = math.prod(_count(given, samples) for given in ranges)
    if points > most:
        raise ModelError(
            f"a map of {points} points is larger than the {most} that are drawn at once; take "
            "fewer samples, or narrower ranges one after the other"
        )


def _count(given: Range, samples: int) -> int:
    """Return the number of values of a range; ``samples`` where the range states none."""
    if given is None or (isinstance(given, tuple) and len(given) in (2, 3)):
        return whole((*(given or (0, 0)), samples)[2], "a number of samples")
    return int(np.size(given))


def samples_of(given: Range, samples: int) -> Array:
    """Return the values of a range, from bounds with or without a number of samples, or a list."""
    if isinstance(given, tuple) and len(given) in (2, 3):
        lower, upper, count = *given[:2], _count(given, samples)
        if not lower < upper and count > 1:
            raise ModelError(f"a range goes up, from its lower to its upper bound, not {given!r}")
        given = np.linspace(float(lower), float(upper), count)
    values = numbers(given, "a range") if given is not None else np.zeros(0)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ModelError(
            f"a range is (lower, upper), (lower, upper, samples) or a list of values, not {given!r}"
        )
    return values
