"""Walking once around the curve of configurations, in equal strides from both sides of the start.

A stride counts the way and the turning of the tangent alike, so that sharp bends get as many points
as they need. Points are only near the curve; ``nodes`` puts them on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.dynamics.one_freedom.curve import (
    SINGULAR,
    Curve,
    Points,
    SingularPath,
)
from regularize.errors import ModelError
from regularize.lie.screw import Array

#: Way and turning per step of a walk, lengths scaled, and how often it may be halved.
STRIDE, HALVINGS = 0.4, 7
#: Smallest cosine between the tangents of points that follow each other.
TURN = 0.6
#: Longest walk: strides before a curve counts as one that does not come back.
LONGEST = 1500
#: Distance in strides at which walkers may meet; together they do two at a time.
MEETING = 1.7
#: Distance between two points, lengths scaled, that are the same.
SAME = 1e-7


class OpenPath(ModelError):
    """The curve of configurations does not come back to where it began."""

    def __init__(self, where: str) -> None:
        """Say how far it went, and what to use instead."""
        super().__init__(
            f"the mechanism's path is not closed: {LONGEST} strides either way lead to {where}; "
            'simulate in all joint coordinates instead: coordinates="all"'
        )


@dataclass(frozen=True, eq=False)
class Round:
    """Points once around a closed curve.

    Attributes:
        q: Configurations, not wrapped, the first one is the start, shape (N, n).
        tangent: Tangents there, shape (N, n).
        turns: Change of every coordinate after the round, shape (n,).
    """

    q: Array
    tangent: Array
    turns: Array


def walk_round(curve: Curve, q: Array, stride: float = STRIDE) -> Round:
    """Points once around the curve through a configuration of shape (n,).

    Args:
        curve: The curve.
        q: Where to begin.
        stride: Way and turning per step, lengths scaled; shorter where it has to be.

    Raises:
        SingularPath: The curve runs into a singular configuration.
        OpenPath: It does not come back.
    """
    start = curve.points(np.array([q, q]), np.ones((2, curve.n)))
    if not start.clearance[0] > SINGULAR:
        raise SingularPath(f"the configuration to begin with is singular ({curve.place(q)})")
    stopped = q
    for halving in range(HALVINGS + 1):
        found = _walk(curve, start, stride / 2**halving)
        if isinstance(found, Round):
            return found
        stopped = found
    raise SingularPath(f"it runs into a singular configuration near {curve.place(stopped)}")


def _walk(curve: Curve, start: Points, stride: float) -> Round | Array:
    """A round, or the configuration where strides of this length fail."""
    # One walker goes forward, one back; they meet on the far side.
    heading = np.array([[1.0], [-1.0]]) * start.tangent[0]
    q, bend = start.q, np.zeros_like(heading)
    visited, tangents = [q], [heading]
    for k in range(LONGEST):
        length = stride / np.sqrt(1.0 + np.sum(bend**2, axis=1, keepdims=True))
        there = curve.points(curve.moved(q, length * heading + 0.5 * length**2 * bend), heading)
        aside = np.linalg.norm(there.correction, axis=1) / length[:, 0]
        turned = np.sum(heading * there.tangent, axis=1)
        bad = ~((aside < 0.2) & (turned > TURN) & (there.clearance > SINGULAR))
        if bad.any():
            return np.asarray(q[int(np.argmax(bad))])
        bend = (there.tangent - heading) / length
        q, heading = curve.moved(there.q, there.correction), there.tangent
        visited.append(q)
        tangents.append(heading)
        # The first meeting can be that of neighbours of the start.
        if k > 0 and heading[0] @ heading[1] < -TURN:
            turns = _met(curve, q, heading, float(length.max()))
            if turns is not None:
                return _joined(curve, np.array(visited), np.array(tangents), turns)
    raise OpenPath(curve.place(q[0]))


def _met(curve: Curve, q: Array, heading: Array, length: float) -> Array | None:
    """Turns that the forward walker has made against the backward one where they meet, or None.

    They may have stepped past each other, so the way between them is taken in either direction.
    """
    gap = curve.wrapped(curve.differences(q[:1], q[1:]))
    if np.linalg.norm(gap) > MEETING * length:
        return None
    goal = q[1:]
    for _ in range(2):
        goal = curve.moved(goal, curve.points(goal, heading[1:]).correction)
    here, tangent = q[:1], heading[:1]
    for _ in range(12):
        gap = curve.wrapped(curve.differences(here, goal))
        ahead = float(np.sum(gap * tangent))
        if np.linalg.norm(gap) < SAME:
            return curve.turns(here[0] - goal[0])
        point = curve.points(curve.moved(here, np.clip(ahead, -length, length) * tangent), tangent)
        here, tangent = curve.moved(point.q, point.correction), point.tangent
    return None


def _joined(curve: Curve, visited: Array, tangents: Array, turns: Array) -> Round:
    """Forward from the start, then over the backward walker's points back to it."""
    forward, last = visited[:, 0], visited[-1:, 1] + turns
    steps = curve.differences(forward[-3:], np.repeat(last, len(forward[-3:]), axis=0))
    # Points that are past the other walker, or all but there, are left out.
    ahead = np.sum(steps * tangents[-3:, 0], axis=1)
    keep = len(forward) - int(np.sum(ahead < 0.3 * ahead[0]))
    q = np.concatenate([forward[:keep], visited[:0:-1, 1] + turns])
    return Round(q, np.concatenate([tangents[:keep, 0], -tangents[:0:-1, 1]]), turns)
