"""Limits of joints: those of the model, others in their place, and how far away they are."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from regularize.displayed import did_you_mean
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.graph import Graph, coordinate_names


def bounds_of(graph: Graph, limits: Mapping[str, tuple[float, float]]) -> Array:
    """Lower and upper limits of all coordinates, infinite where there are none, shape (n, 2).

    Args:
        graph: The mechanism's graph.
        limits: Limits in the place of the model's, by coordinates' names or patterns such as
            ``P?``.

    Raises:
        ModelError: A name is unknown, or a lower limit is above the upper one.
    """
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
    """How far each configuration is from the nearest limit of a joint, shape (N,).

    1 in the middle of every range, 0 at a limit, negative beyond, infinite without limits. Where a
    joint is bounded on one side only, its unit takes the place of half of its range.

    Args:
        q: Configurations, shape (N, n).
        bounds: Lower and upper limits, infinite where there are none, shape (n, 2).
        turns: Which coordinates are angles, of which whole turns make no difference, shape (n,).
        units: Size of one unit of each coordinate, shape (n,).
    """
    lower, upper = bounds.T
    both = np.isfinite(bounds).all(axis=1)
    middle = np.where(both, 0.5 * (np.where(both, lower, 0.0) + np.where(both, upper, 0.0)), 0.0)
    around = (q - middle + np.pi) % (2.0 * np.pi) - np.pi + middle
    q = np.where(both & turns, around, q)
    half = np.where(both, 0.5 * (np.where(both, upper - lower, 1.0)), units)
    half = np.where(half > 0.0, half, units)
    return np.asarray(np.min(np.minimum(q - lower, upper - q) / half, axis=1, initial=np.inf))
