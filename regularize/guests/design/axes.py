"""The inputs of a map: which are varied, which are held, and the limits of joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.guests.modes.body_pose import COORDINATES, BodyPose, posed
from regularize.guests.modes.inputs import Inputs, inputs_of, node_of, numbers, whole
from regularize.lie.arrays import Array
from regularize.mechanism.graph import Graph, actuated_coordinates, coordinate_names
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism

#: What is varied: (lower, upper), (lower, upper, samples), all values, or None to find the range.
Range: TypeAlias = "ArrayLike | None"


@dataclass(frozen=True, eq=False)
class MapSetting:
    """What a map is drawn over."""

    graph: Graph
    own: int
    inputs: Inputs
    varied: tuple[int, ...]
    ranges: tuple[Range, ...]
    held: Array
    body: str | None
    motors: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs that are varied."""
        return tuple(self.inputs.names[i] for i in self.varied)


def setting_of(
    mechanism: Mechanism,
    over: Mapping[str, Range] | Sequence[str],
    at: Mapping[str, float],
    pose: BodyPose | str | None,
    actuated: Sequence[str] | None,
) -> MapSetting:
    """The inputs that a map needs, from what is varied and held."""
    over = [over] if isinstance(over, str) else over
    ranges: dict[str, Range] = dict(over) if isinstance(over, Mapping) else dict.fromkeys(over)
    if not ranges:
        raise ModelError("nothing is varied: name what the map is drawn over")
    body = pose if pose is None or isinstance(pose, str) else pose.body
    given = [*ranges, *at]
    of_body = () if body is None else COORDINATES
    full = {name: f"{body}.{name}" if name in of_body else name for name in given}
    both = {full[name] for name in ranges} & {full[name] for name in at}
    if both:
        raise ModelError(f"{min(both)!r} is varied, and held at a value too; leave one out")
    by_pose = [name for name in full.values() if body and name.startswith(f"{body}.")]
    of_pose = [f"{body}.{name}" for name in COORDINATES] if body else []
    known = [*of_pose, *coordinate_names(mechanism)]
    for name in full.values():
        if name not in known:
            if body is None and name in COORDINATES:
                hub = _hub(mechanism)
                raise ModelError(
                    f"{name!r} is a coordinate of a body's pose: name the body, as in `--pose "
                    f"{hub}`, or pose={hub!r} in Python"
                )
            raise ModelError(f"there is no input {name!r}{did_you_mean(name, known)}")
    graph, names = build(mechanism), list(dict.fromkeys(full.values()))
    if by_pose and pose is not None:
        pose = pose if isinstance(pose, BodyPose) else BodyPose(pose)
        whole, posing = posed(mechanism, pose)
        if not set(by_pose) <= set(posing):
            pose = BodyPose(pose.body, tuple(dict.fromkeys(by_pose)), pose.point)
            whole, posing = posed(mechanism, pose)
        graph = build(whole)
        names = [*(n for n in names if n not in posing), *posing]
    else:
        names += [n for n in actuated_coordinates(mechanism) if n not in names]
    inputs = inputs_of(graph, names)
    held = graph.position[list(inputs.columns)].copy()
    for name, value in at.items():
        held[inputs.names.index(full[name])] = value
    plain = build(mechanism)
    if body is not None:
        node_of(plain, body)
    motors = inputs_of(plain, actuated_coordinates(mechanism) if actuated is None else actuated)
    columns = motors.columns if motors.columns or by_pose else inputs.columns
    return MapSetting(
        graph,
        plain.freedoms,
        inputs,
        tuple(inputs.names.index(full[name]) for name in ranges),
        tuple(ranges.values()),
        held,
        body,
        columns,
    )


def check_points(ranges: Sequence[Range], samples: int, most: int = 10**6) -> None:
    """Refuse a map of more than ``most`` points, ``samples`` along axes that give no number."""
    points = math.prod(_count(given, samples) for given in ranges)
    if points > most:
        raise ModelError(
            f"a map of {points} points is larger than the {most} that are drawn at once; take "
            "fewer samples, or narrower ranges one after the other"
        )


def _count(given: Range, samples: int) -> int:
    """How many values a range has; ``samples`` where it does not say."""
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


def _hub(mechanism: Mechanism) -> str:
    """The moving body with the most joints: the platform, where there is one."""
    ends = [body for joint in mechanism.joints for body in (joint.parent, joint.child)]
    moving = [body.name for body in mechanism.bodies if body.name != mechanism.ground]
    return max(moving, key=ends.count)


def bounds_of(graph: Graph, limits: Mapping[str, tuple[float, float]]) -> Array:
    """Lower and upper limits of all coordinates, infinite where there are none, shape (n, 2)."""
    names = coordinate_names(graph.mechanism)
    bounds = np.tile([-np.inf, np.inf], (len(names), 1))
    column = 0
    for joint in graph.mechanism.joints:
        if joint.limits is not None:
            bounds[column : column + joint.freedoms] = np.asarray(joint.limits)
        column += joint.freedoms
    for pattern, pair in limits.items():
        if np.shape(pair) != (2,):
            raise ModelError(f"limits of {pattern!r} are a lower and an upper one; got {pair!r}")
        lower, upper = pair
        hit = [i for i, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not hit:
            raise ModelError(f"there is no coordinate {pattern!r}{did_you_mean(pattern, names)}")
        if not lower <= upper:
            raise ModelError(f"limits of {pattern!r}: {lower} is above {upper}")
        bounds[hit] = lower, upper
    return bounds


def from_limits(q: Array, bounds: Array, turns: NDArray[np.bool_], units: Array) -> Array:
    """How far configurations (N, n) are from the nearest limit of a joint, shape (N,)."""
    lower, upper = bounds.T
    both = np.isfinite(bounds).all(axis=1)
    middle = np.where(both, 0.5 * (np.where(both, lower, 0.0) + np.where(both, upper, 0.0)), 0.0)
    around = (q - middle + np.pi) % (2.0 * np.pi) - np.pi + middle
    q = np.where(both & turns, around, q)
    half = np.where(both, 0.5 * (np.where(both, upper - lower, 1.0)), units)
    half = np.where(half > 0.0, half, units)
    return np.asarray(np.min(np.minimum(q - lower, upper - q) / half, axis=1, initial=np.inf))
