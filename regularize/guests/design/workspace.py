"""Maps of what a mechanism can reach, and of how far it is from singularities and limits there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize import validation
from regularize.guests.design.axes import (
    MapSetting,
    Range,
    bounds_of,
    check_points,
    from_limits,
    samples_of,
    setting_of,
)
from regularize.guests.design.singularities import distances
from regularize.guests.modes.body_pose import BodyPose
from regularize.guests.modes.closed_form.solver import ClosedForm, closed_form
from regularize.guests.modes.frame_motion import generic_samples
from regularize.guests.modes.inputs import turning_of
from regularize.lie.arrays import Array, read_only
from regularize.loops.continuation import Continuation, drive
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import project
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.mechanism.graph_building import build
from regularize.mechanism.named_columns import NamedColumns, coordinate_columns
from regularize.mechanism.source import Model, as_mechanism


def followed(graph: Graph, columns: Sequence[int], x: Array, shape: tuple[int, ...]) -> Array:
    """Configurations at all points of a grid, NaN where none is reached, shape (N, n)."""
    loops = sized_loops(graph, graph.position)
    start = project(loops, graph.position[None], steps=30).q
    along, units = Continuation(loops), loops.units[list(columns)]
    q = np.full((len(x), loops.freedoms), np.nan)
    nearest = int(np.argmin(np.max(np.abs((x - start[:, columns]) / units), axis=1)))
    first = drive(along, start, columns, x[[nearest]])
    if not first.reached[0]:
        return q
    q[nearest] = first.q[0]
    front = np.array([nearest])
    while len(front):
        places = np.array(np.unravel_index(front, shape))
        pairs = []
        for axis, size in enumerate(shape):
            for way in (-1, 1):
                there = places.copy()
                there[axis] += way
                inside = (there[axis] >= 0) & (there[axis] < size)
                goal = np.ravel_multi_index(tuple(there[:, inside]), shape)
                pairs.append(np.stack([front[inside], goal]))
        origin, goal = np.concatenate(pairs, axis=1)
        fresh = ~np.isfinite(q[goal, 0])
        origin, goal = origin[fresh], goal[fresh]
        arrived = drive(along, q[origin], columns, x[goal])
        reached, which = np.unique(goal[arrived.reached], return_index=True)
        q[reached] = arrived.q[arrived.reached][which]
        front = reached
    return q


@dataclass(frozen=True, eq=False)
class WorkspaceMap(NamedColumns):
    """What can be reached over a grid of inputs; the grid's axes lead in every array.

    Singular values are those of the closure equations with lengths divided by the size of the
    mechanism, by the largest of them: 0 at a singularity. Between the points of the grid nothing
    is known.

    Attributes:
        names: Names of the inputs that are varied, one for each axis.
        values: Their values along each axis, radians and metres.
        units: ``rad`` or ``m`` of each.
        held: Values of the other inputs by name.
        joints: Name of every coordinate of the mechanism, shape (n,).
        q: Coordinates of all joints, NaN where not assembled, shape (..., n).
        assembled: Where the loops can be closed on this way of assembly, shape (...).
        inverse: Smallest normalised singular value with the body at rest, NaN without a body.
        forward: The same with the motors locked, NaN without motors, shape (...).
        constraint: The same with nothing locked, shape (...).
        limits: How far from the nearest limit of a joint: 1 in the middle of all ranges, 0 at one,
            negative beyond, infinite where the model states none, shape (...).
        method: ``closed form``, or ``followed``: from the stored configuration along the lines of
            the grid, so that what lies behind a singularity all around is not reached.
    """

    names: tuple[str, ...]
    values: tuple[Array, ...]
    units: tuple[str, ...]
    held: dict[str, float]
    joints: tuple[str, ...]
    q: Array
    assembled: NDArray[np.bool_]
    inverse: Array
    forward: Array
    constraint: Array
    limits: Array
    method: str

    def __repr__(self) -> str:
        size = " x ".join(str(len(v)) for v in self.values)
        share = 100.0 * float(np.mean(self.reachable))
        return f"<WorkspaceMap over {', '.join(self.names)}: {size}, {share:.3g} % reachable>"

    @cached_property
    def reachable(self) -> NDArray[np.bool_]:
        """Where the loops close and no joint is beyond its limits, shape (...)."""
        return np.asarray(self.assembled & (self.limits >= 0.0))

    @cached_property
    def clearance(self) -> Array:
        """The smallest of the three singular values, NaN where not assembled, shape (...)."""
        every = np.stack([self.inverse, self.forward, self.constraint])
        return np.asarray(np.fmin.reduce(every, axis=0))

    @property
    def measures(self) -> dict[str, Array]:
        """The distances that are known somewhere, by name."""
        every = ("inverse", "forward", "constraint", "limits")
        return {k: getattr(self, k) for k in every if np.isfinite(getattr(self, k)).any()}

    @property
    def axes(self) -> Sequence[str]:
        """The inputs that are varied."""
        return self.names

    def columns(self) -> dict[str, NDArray[Any]]:
        """Inputs, measures and coordinates by name, arrays of the shape of the grid."""
        grid = np.meshgrid(*self.values, indexing="ij")
        return {
            **dict(zip(self.names, grid, strict=True)),
            "assembled": self.assembled,
            "reachable": self.reachable,
            "clearance": self.clearance,
            "inverse": self.inverse,
            "forward": self.forward,
            "constraint": self.constraint,
            "limits": self.limits,
            **coordinate_columns(self.joints, self.q),
        }

    def save(self, path: str | Path) -> Path:
        """Write the columns as ``.npz`` or ``.csv``, or a picture as ``.svg``, ``.png``, ``.pdf``.

        Raises:
            RegularizeError: The ending is none of these, or the file cannot be written.
        """
        from regularize.guests.design.plot import saved

        return saved(self.columns(), self.plot, Path(path))

    def plot(self) -> Any:
        """A matplotlib figure of one or two axes: a map of each measure.

        Raises:
            MissingExtra: matplotlib is not installed.
            ModelError: There are more than two axes.
        """
        from regularize.guests.design.plot import map_figure

        axes = list(zip(self.names, self.units, self.values, strict=True))
        return map_figure(axes, self.measures, self.held)


@validation.validated(
    over=validation.MAPPING | validation.NAMES,
    at=validation.named(validation.NUMBER),
    pose=validation.instance(BodyPose) | validation.TEXT,
    actuated=validation.NAMES,
    limits=validation.named(validation.PAIR),
    way=validation.WHOLE,
    samples=validation.WHOLE,
)
def workspace(
    model: Model,
    over: Mapping[str, Range] | Sequence[str],
    *,
    at: Mapping[str, float] | None = None,
    pose: BodyPose | str | None = None,
    actuated: Sequence[str] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    way: int | None = None,
    samples: int = 41,
) -> WorkspaceMap:
    """Map what can be reached, with the distance from singularities and from joint limits.

    Args:
        model: The mechanism.
        over: What is varied, by name: joints, or coordinates of the pose, such as ``x`` or
            ``platform.x``; each with a tuple (lower, upper), (lower, upper, samples), a list of
            values, or None, for which the range that can be reached is looked for. Radians, metres.
        at: Values of other inputs; those that are not named keep their stored values.
        pose: The body whose pose is the input, or the output where joints are varied.
        actuated: Joints that hold the mechanism when locked; by default the model's motors.
        limits: Limits of joints in the place of the model's, (lower, upper) by name or pattern,
            such as ``{"P?": (-0.1, 0.1)}``.
        way: Index of the branch of ``closed_form``; by default the one that is stored.
        samples: Points along an axis for which no number is given.

    Raises:
        ModelError: A name is unknown, varied and held at once, or the inputs do not determine the
            mechanism; the map would have more than a million points.
    """
    mechanism = as_mechanism(model)
    setting = setting_of(mechanism, over, at or {}, pose, actuated)
    check_points(setting.ranges, samples)
    form = closed_form(setting.graph, setting.inputs.names)
    graph = build(mechanism)
    loops, turns = sized_loops(graph, graph.position), turning_of(graph)
    bounds = bounds_of(graph, limits or {})

    def room(q: Array) -> Array:
        """How far from limits, minus infinity where there is no configuration."""
        own = q[:, : setting.own]
        known = from_limits(np.nan_to_num(own), bounds, turns, loops.units)
        return np.where(np.isfinite(own).all(axis=1), known, -np.inf)

    found = _ranges(setting, form, way, samples, room)
    q, method = _solved(setting, form, way, found)
    shape = tuple(len(values) for values in found)
    own = q[:, : setting.own]
    there = np.isfinite(own).all(axis=1)
    generic = generic_samples(loops)
    near = distances(loops, own[there], setting.motors, setting.body, generic)

    def spread(values: Array) -> Array:
        result = np.full(len(own), np.nan)
        result[there] = values
        return read_only(result.reshape(shape))

    varied, turning = set(setting.varied), turning_of(setting.graph)
    names = setting.inputs.names
    return WorkspaceMap(
        setting.names,
        tuple(map(read_only, found)),
        tuple("rad" if turning[setting.inputs.columns[i]] else "m" for i in setting.varied),
        {n: float(setting.held[i]) for i, n in enumerate(names) if i not in varied},
        coordinate_names(mechanism),
        read_only(own.reshape(*shape, -1)),
        there.reshape(shape),
        **{kind: spread(values) for kind, values in near.items()},
        limits=spread(room(q)[there]),
        method=method,
    )


def _ranges(
    setting: MapSetting,
    form: ClosedForm,
    branch: int | None,
    samples: int,
    room: Callable[[Array], Array],
) -> list[Array]:
    """Values along every axis; ranges that are not given are cut to what can be reached."""
    loops = sized_loops(setting.graph, setting.graph.position)
    turning, wide = turning_of(setting.graph), []
    for i, given in zip(setting.varied, setting.ranges, strict=True):
        reach = np.pi if turning[setting.inputs.columns[i]] else 2.0 * loops.length
        middle = setting.held[i]
        wide.append((middle - reach, middle + reach) if given is None else given)
    found = [samples_of(each, samples) for each in wide]
    if all(given is not None for given in setting.ranges):
        return found
    q, _ = _solved(setting, form, branch, found)
    there = np.asarray(room(q) >= 0.0).reshape(tuple(map(len, found)))
    for k, given in enumerate(setting.ranges):
        others = tuple(i for i in range(len(found)) if i != k)
        hit = np.flatnonzero(np.any(there, axis=others))
        if given is None and len(hit):
            first, last = max(hit[0] - 1, 0), min(hit[-1] + 1, len(found[k]) - 1)
            found[k] = np.linspace(found[k][first], found[k][last], samples)
    return found


def _solved(
    setting: MapSetting, form: ClosedForm, branch: int | None, values: Sequence[Array]
) -> tuple[Array, str]:
    """Configurations at all points of a grid, NaN where there is none, shape (N, n); by what."""
    grid = [axis.ravel() for axis in np.meshgrid(*values, indexing="ij")]
    x = np.tile(setting.held, (len(grid[0]), 1))
    x[:, list(setting.varied)] = np.transpose(grid)
    if form.solved:
        chosen = form.stored_branch if branch is None else branch
        if chosen is not None:
            return form.solve(x, branch=chosen).q[:, 0], "closed form"
    shape = tuple(len(axis) for axis in values)
    return followed(setting.graph, list(setting.inputs.columns), x, shape), "followed"
