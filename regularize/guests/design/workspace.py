r"""Maps of what a mechanism can reach, and of how far it is from singularities and limits there.

The velocities :math:`\dot q` of all joints fulfil :math:`J \dot q = 0`, lengths scaled by the size
of the mechanism. Three kinds of singularity are told apart (Gosselin and Angeles 1990; Zlatanov,
Bonev and Gosselin 2002); each is where a matrix loses the rank that it has elsewhere:

- *inverse*: something besides links that spin can move with the body at rest: :math:`J` with the
  rows of the body's twist;
- *forward*: something can move with the motors locked: :math:`J` without their columns;
- *constraint*: the mechanism gains a freedom: :math:`J` itself.

How far a configuration is from each is the smallest singular value, by the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize import validation
from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.guests.design.map_inputs import (
    MapInputs,
    Range,
    check_points,
    map_inputs,
    samples_of,
)
from regularize.guests.design.plot import grid_figure, saved
from regularize.guests.modes.body_pose import BodyPose, body_jacobian, generic_samples
from regularize.guests.modes.closed_form.solver import ClosedForm, closed_form
from regularize.lie.arrays import Array, Coordinates, Jacobian, Mask, read_only
from regularize.loops.continuation import Continuation, drive
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.loops.projection import in_parts, project
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Model, as_mechanism
from regularize.mechanism.named_columns import NamedColumns, coordinate_columns
from regularize.repair.statics.passive_joints import ranges_of
from regularize.tolerances import EXACT
from regularize.words import listed

#: By how many sizes of the mechanism slides move at most where a range is found unasked.
FAR = 10.0
#: What is measured at every point: distances from singularities, and from limits of joints.
KINDS = ("inverse", "forward", "constraint", "limits")


@dataclass(frozen=True, eq=False)
class WorkspaceMap(NamedColumns):
    """The reachable part of a grid of inputs; the grid's axes lead in every array.

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
    q: Coordinates
    assembled: Mask
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
    def reachable(self) -> Mask:
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
        return {k: getattr(self, k) for k in KINDS if np.isfinite(getattr(self, k)).any()}

    @property
    def axes(self) -> Sequence[str]:
        """The inputs that are varied."""
        return self.names

    def columns(self) -> dict[str, NDArray[Any]]:
        """Inputs, measures and coordinates by name, arrays of the shape of the grid."""
        grid = np.meshgrid(*self.values, indexing="ij")
        told = {n: getattr(self, n) for n in ("assembled", "reachable", "clearance", *KINDS)}
        inputs = dict(zip(self.names, grid, strict=True))
        return {**inputs, **told, **coordinate_columns(self.joints, self.q)}

    def save(self, path: str | Path) -> Path:
        """Write the columns as ``.npz`` or ``.csv``, or a picture as ``.svg``, ``.png``, ``.pdf``.

        Raises:
            RegularizeError: The ending is none of these, or the file cannot be written.
        """
        return saved(self.columns(), self.plot, Path(path))

    def plot(self) -> Any:
        """A matplotlib figure of one or two axes: a map of each measure.

        Raises:
            MissingExtra: matplotlib is not installed.
            ModelError: There are more than two axes.
        """
        title = ", ".join(f"{name} = {value:.4g}" for name, value in self.held.items())
        return grid_figure(
            [f"{n} [{unit}]" for n, unit in zip(self.names, self.units, strict=True)],
            self.values,
            self.measures,
            title=title and f"at {title}",
            equal=len(set(self.units)) == 1,
        )


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
    setting = map_inputs(mechanism, over, at or {}, pose, actuated)
    check_points(setting.ranges, samples)
    form = closed_form(setting.graph, setting.inputs.names)
    graph = build(mechanism)
    loops, turning = sized_loops(graph, graph.position), graph.turning
    bounds = bounds_of(graph, limits or {})

    def room(q: Coordinates) -> Array:
        """Return the distance from joint limits, minus infinity without a configuration."""
        known = from_limits(np.nan_to_num(q), bounds, turning, loops.units)
        return np.where(np.isfinite(q).all(axis=1), known, -np.inf)

    values = _ranges(setting, form, way, samples, room)
    q, method = _configurations(setting, form, way, values)
    shape, known = tuple(map(len, values)), np.isfinite(q).all(axis=1)
    near = distances(loops, q[known], setting.motors, setting.body, generic_samples(loops))

    def spread(measure: Array) -> Array:
        """Return a measure in the shape of the grid."""
        result = np.full(len(q), np.nan)
        result[known] = measure
        return read_only(result.reshape(shape))

    names, columns = setting.inputs.names, setting.inputs.columns
    angles = setting.graph.turning
    return WorkspaceMap(
        setting.names,
        tuple(map(read_only, values)),
        tuple("rad" if angles[columns[i]] else "m" for i in setting.varied),
        {n: float(setting.held[i]) for i, n in enumerate(names) if i not in setting.varied},
        coordinate_names(mechanism),
        read_only(q.reshape(*shape, -1)),
        known.reshape(shape),
        **{kind: spread(measure) for kind, measure in near.items()},
        limits=spread(room(q)[known]),
        method=method,
    )


def _ranges(
    setting: MapInputs,
    form: ClosedForm,
    branch: int | None,
    samples: int,
    room: Callable[[Coordinates], Array],
) -> list[Array]:
    """Return the values along every axis; unstated ranges are cut to what is reachable."""
    loops, turning = sized_loops(setting.graph, setting.graph.position), setting.graph.turning
    values = []
    for i, stated in zip(setting.varied, setting.ranges, strict=True):
        reach = np.pi if turning[setting.inputs.columns[i]] else 2.0 * loops.length
        widest = setting.held[i] - reach, setting.held[i] + reach
        values.append(samples_of(widest if stated is None else stated, samples))
    if all(stated is not None for stated in setting.ranges):
        return values
    open_ = [n for n, x in zip(setting.names, setting.ranges, strict=True) if x is None]

    def leads(q: Coordinates) -> NDArray[np.bool_]:
        """Return which configurations lead on; raise where nothing ends the way."""
        way = np.abs(q - setting.graph.position)[:, ~turning]
        if np.max(way, initial=0.0) > FAR * loops.length:
            raise ModelError(
                f"nothing bounds {listed(open_)}: slides go farther than {FAR:g} times the size of "
                "the mechanism, and no limits end them; give bounds, as "
                f"--over {','.join(f'{name}=LOWER:UPPER' for name in open_)}"
            )
        return np.asarray(room(q[:, : setting.freedoms]) >= 0.0)

    q, _ = _configurations(setting, form, branch, values, leads)
    reached = np.asarray(room(q) >= 0.0).reshape(tuple(map(len, values)))
    for k, stated in enumerate(setting.ranges):
        hit = np.flatnonzero(np.any(reached, axis=tuple(i for i in range(len(values)) if i != k)))
        if stated is None and len(hit):
            first, last = max(hit[0] - 1, 0), min(hit[-1] + 1, len(values[k]) - 1)
            values[k] = np.linspace(values[k][first], values[k][last], samples)
    return values


def _configurations(
    setting: MapInputs,
    form: ClosedForm,
    branch: int | None,
    values: Sequence[Array],
    leads: Callable[[Coordinates], Mask] | None = None,
) -> tuple[Coordinates, str]:
    """Return the configurations at all points of a grid, NaN without one, and the method."""
    grid = [axis.ravel() for axis in np.meshgrid(*values, indexing="ij")]
    x = np.tile(setting.held, (len(grid[0]), 1))
    x[:, list(setting.varied)] = np.transpose(grid)
    if form.solved:
        chosen = form.stored_branch if branch is None else branch
        if chosen is not None:
            return form.solve(x, branch=chosen).q[:, 0, : setting.freedoms], "closed form"
    shape = tuple(len(axis) for axis in values)
    q = followed(setting.graph, list(setting.inputs.columns), x, shape, leads)
    return q[:, : setting.freedoms], "followed"


def followed(
    graph: Graph,
    columns: Sequence[int],
    x: Array,
    shape: tuple[int, ...],
    leads: Callable[[Coordinates], Mask] | None = None,
) -> Coordinates:
    """Continue the stored configuration to a grid's points (N, inputs), the last axis fastest."""
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
    # Points lead on to their neighbours: all is found that no singularity cuts off on the lines.
    while len(front):
        places = np.array(np.unravel_index(front, shape))
        pairs = []
        for axis, size in enumerate(shape):
            for way in (-1, 1):
                beside = places.copy()
                beside[axis] += way
                inside = (beside[axis] >= 0) & (beside[axis] < size)
                goal = np.ravel_multi_index(tuple(beside[:, inside]), shape)
                pairs.append(np.stack([front[inside], goal]))
        origin, goal = np.concatenate(pairs, axis=1)
        fresh = ~np.isfinite(q[goal, 0])
        origin, goal = origin[fresh], goal[fresh]
        arrived = drive(along, q[origin], columns, x[goal])
        front, which = np.unique(goal[arrived.reached], return_index=True)
        q[front] = arrived.q[arrived.reached][which]
        front = front if leads is None else front[leads(q[front])]
    return q


def bounds_of(graph: Graph, limits: Mapping[str, tuple[float, float]]) -> Array:
    """Return limits of all coordinates (n, 2), given ones by name or pattern before the model's."""
    names = coordinate_names(graph.mechanism)
    bounds = ranges_of(graph.mechanism)
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


def from_limits(q: Coordinates, bounds: Array, turning: Mask, units: Array) -> Array:
    """Measure distances to joint limits: 1 amid all ranges, 0 at a limit, negative beyond."""
    lower, upper = bounds.T
    both = np.isfinite(bounds).all(axis=1)
    middle, half = np.zeros(len(bounds)), units.astype(float)
    middle[both], half[both] = bounds[both].mean(axis=1), 0.5 * np.ptp(bounds[both], axis=1)
    half = np.where(half > 0.0, half, units)
    around = (q - middle + np.pi) % (2.0 * np.pi) - np.pi + middle
    q = np.where(both & turning, around, q)
    return np.asarray(np.min(np.minimum(q - lower, upper - q) / half, axis=1, initial=np.inf))


def distances(
    loops: LoopKinematics,
    q: Coordinates,
    motors: Sequence[int],
    body: str | None,
    generic: Coordinates,
) -> dict[str, Array]:
    """Measure distances to each kind of singularity; NaN where body or motors are missing."""
    K, n = len(generic), loops.freedoms

    def sizes(q: Coordinates) -> Array:
        """Singular values with nothing locked, the motors locked, the body at rest, (N, 3 n)."""
        J = _velocity_rows(loops, q, None)
        kinds = [J, np.delete(J, motors, axis=-1) if motors else J[:, :0]]
        kinds.append(J[:, :0] if body is None else _velocity_rows(loops, q, body))
        result = np.zeros((len(q), 3, n))
        for k, rows in enumerate(kinds):
            values = np.linalg.svd(rows, compute_uv=False)
            result[:, k, : values.shape[1]] = values
        return result.reshape(len(q), 3 * n)

    every = in_parts(sizes, np.concatenate([generic, q])).reshape(-1, 3, n)
    locked = np.delete(_velocity_rows(loops, generic, body), motors, axis=-1)
    passive = locked.shape[-1] - _rank(np.asarray(np.linalg.svd(locked, compute_uv=False), float))
    free, driven, resting = np.moveaxis(every[K:], 1, 0)
    nothing = np.full(len(q), np.nan)
    return {
        "inverse": nothing if body is None else _relative(resting, n - passive),
        "forward": nothing if not motors else _relative(driven, n - len(motors) - passive),
        "constraint": _relative(free, _rank(every[:K, 0])),
    }


def _velocity_rows(loops: LoopKinematics, q: Coordinates, body: str | None) -> Jacobian:
    """Return closure equations of velocities, then the body's twist, lengths scaled."""
    state = loops.state(q)
    J = loops.jacobian(state)
    if body is not None:
        J = np.concatenate([J, body_jacobian(loops.graph, loops, state, body)], axis=1)
    return J * loops.units


def _rank(sizes: Array) -> int:
    """Return the largest rank among configurations, from their singular values."""
    return int(np.max(np.sum(sizes > EXACT.same * sizes[:, :1], axis=1), initial=0))


def _relative(sizes: Array, rank: int) -> Array:
    """Return the last singular value of the usual rank by the first one."""
    if rank < 1:
        return np.ones(len(sizes))
    if rank > sizes.shape[1]:
        return np.zeros(len(sizes))
    return np.asarray(sizes[:, rank - 1] / sizes[:, 0])
