"""Continuation once around the curve of configurations.

A stride counts the way and the turning of the tangent alike, so that sharp bends get as many points
as they need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from regularize.dynamics.one_freedom.curve import Curve, SingularPath
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.manifold.continuation import Continuation

#: Smallest cosine between the tangents of points that follow each other: any step may turn by half
#: a stride or so, but not as much as where two curves cross.
TURN = 0.6
#: Strides before a curve counts as one that does not come back.
LONGEST = 1500


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
    """Points once around a closed curve, all but on it.

    Attributes:
        curve: The curve.
        q: Configurations, not wrapped; the first one is the start, and the last one as well after
            the round, shape (N, n).
        tangent: Tangents there, shape (N, n).
        stride: Way and turning from one to the next where they are closest.
    """

    curve: Curve
    q: Array
    tangent: Array
    stride: float

    @property
    def turns(self) -> Array:
        """Change of every coordinate after the round, shape (n,)."""
        return self.curve.turns(self.q[-1] - self.q[0])

    def spread(self) -> tuple[Array, Array]:
        """Configurations half a stride apart, the last one left out, and about their tangents.

        Their number is odd: symmetric mechanisms have their singular poses at simple fractions of
        the round, and so no point is there.
        """
        curve, q, tangent = self.curve, self.q, self.tangent
        ways = np.linalg.norm(curve.differences(q[:-1], q[1:]), axis=1)
        strides = np.hypot(ways, np.linalg.norm(np.diff(tangent, axis=0), axis=1))
        way, done = (np.append(0.0, np.cumsum(steps)) for steps in (ways, strides))
        rates = curve.embedded_rates(q, curve.units * tangent)
        between = CubicHermiteSpline(way, curve.embedded(q), rates)
        count = 2 * int(np.ceil(done[-1] / self.stride)) + 1
        at = np.interp(np.arange(count) * (done[-1] / count), done, way)
        nearest = np.searchsorted(way, at, side="right") - 1
        return curve.restored(between(at)), tangent[nearest]


def once_around(curve: Curve, q: Array, stride: float) -> Round:
    """Points once around the curve, one walker going forward, one back until they meet.

    Args:
        curve: The curve.
        q: Where to begin, shape (n,).
        stride: Largest way and turning per step, lengths scaled.

    Raises:
        SingularPath: The curve runs into a singular configuration.
        OpenPath: It does not come back.
    """
    tolerances = curve.tolerances
    # Each point is corrected once more, and a correction squares the distance.
    follower = Continuation(curve.loops, replace(tolerances, closed=math.sqrt(tolerances.same)))
    start = curve.points(np.array([q, q]), np.ones((2, curve.n)))
    if not start.clearance[0] > tolerances.singular:
        raise SingularPath(f"the configuration to begin with is singular ({curve.place(q)})")
    here, heading = start.q, np.array([[1.0], [-1.0]]) * start.tangent[0]
    visited, headings = [here], [heading]
    bend, part, least = np.zeros_like(here), 1.0, 1.0
    for _ in range(LONGEST):
        length = part * stride / np.sqrt(1.0 + np.sum(bend**2, axis=1, keepdims=True))
        turns = _met(curve, follower, here, heading, float(length.max()))
        if turns is not None:
            ways, tangents = np.array(visited), np.array(headings)
            round_way = np.concatenate([ways[:, 0], ways[::-1, 1] + turns])
            turned = np.concatenate([tangents[:, 0], -tangents[::-1, 1]])
            return Round(curve, round_way, turned, least * stride)
        reached = follower.step(here, length * heading + 0.5 * length**2 * bend)
        there = curve.points(reached.q, heading)
        good = reached.good & (np.sum(heading * there.tangent, axis=1) > TURN)
        good &= there.clearance > tolerances.singular
        if good.all():
            bend = (there.tangent - heading) / length
            here, heading = curve.moved(there.q, there.correction), there.tangent
            visited.append(here)
            headings.append(heading)
            least = min(least, part)
            part = min(1.0, 2.0 * part) if reached.easy.all() else part
        elif part * stride > tolerances.same:
            part *= 0.5
        else:
            place = curve.place(here[int(np.argmin(good))])
            raise SingularPath(f"it runs into a singular configuration near {place}")
    raise OpenPath(curve.place(here[0]))


def _met(
    curve: Curve, follower: Continuation, q: Array, heading: Array, length: float
) -> Array | None:
    """Turns that the forward walker has made against the backward one, or None.

    None where the curve does not lead from one to the other within two strides or so.
    """
    here, along, goal = q[:1], heading[:1], q[1:]
    for k in range(12):
        gap = curve.wrapped(curve.differences(here, goal))
        distance, ahead = float(np.linalg.norm(gap)), float(np.sum(gap * along))
        if k == 0 and not (ahead > 0.0 and distance < 2.1 * length):
            return None
        if distance < curve.tolerances.same:
            facing = float(np.sum(along * heading[1:])) < -TURN
            return curve.turns(here[0] - goal[0]) if facing else None
        reached = follower.step(here, np.clip(ahead, -length, length) * along)
        if reached.good[0]:
            there = curve.points(reached.q, along)
            here, along = curve.moved(there.q, there.correction), there.tangent
        else:
            length *= 0.5
    return None
