"""Sights: what is seen of the branches that meet somewhere, from configurations on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array


@dataclass(frozen=True, eq=False)
class Sight:
    """What is seen of a branch at one configuration on it.

    Attributes:
        far: The configuration, shape (n,).
        away: Its distance from the one where branches meet, scaled.
        rank: Rank of the closure equations there.
        near: Half of the way back, or half of that, and so on, as near as the branch is clear.
        way: Scaled direction from where branches meet to the near one, shape (n,).
        tangent: Basis of the velocities that motions on the branch have there, orthonormal, (n, k).
    """

    far: Array
    away: float
    rank: int
    near: Array
    way: Array
    tangent: Array

    def aside(self, other: Sight) -> float:
        """Part of the way to another configuration that is not straight ahead from here."""
        off = other.way - self.tangent @ (self.tangent.T @ other.way)
        return math.sqrt(off @ off)

    @property
    def freedoms(self) -> int:
        """Number of the freedoms of motions on the branch."""
        return int(self.tangent.shape[1])


def together(sights: Sequence[Sight], bent: float = 0.1) -> list[list[Sight]]:
    """Those of the same branch: each is seen straight ahead from others, with the same rank.

    Too near, more seems to move than does. What is straight ahead on a branch on which less moves
    at others, farther away, is left out.

    Args:
        sights: All of them.
        bent: Largest part of a way that is not straight ahead; tangents may turn by three times
            as much, for those that are seen from nearby differ less than they do.
    """
    waiting = [
        one
        for one in sights
        if not any(
            other.freedoms < one.freedoms
            and other.rank == one.rank
            and other.away > one.away
            and other.aside(one) <= bent
            for other in sights
        )
    ]
    groups = []
    while waiting:
        group, new = [], [waiting.pop(0)]
        while new:
            a = new.pop()
            group.append(a)
            rest: list[Sight] = []
            for b in waiting:
                (new if _alike(a, b, bent) else rest).append(b)
            waiting = rest
        groups.append(group)
    return groups


def _alike(a: Sight, b: Sight, bent: float) -> bool:
    if (a.rank, a.freedoms) != (b.rank, b.freedoms) or max(a.aside(b), b.aside(a)) > bent:
        return False
    turned = a.tangent - b.tangent @ (b.tangent.T @ a.tangent)
    return bool(np.linalg.norm(turned, 2) <= 3.0 * bent)


def inside(one: Sight, others: Sequence[Sight], bent: float = 0.1) -> bool:
    """Whether a configuration lies on a branch of others on which more moves, for all that is seen.

    Args:
        one: The configuration.
        others: Those of the other branch.
        bent: Largest part of the way to it that is not straight ahead from one of them.
    """
    return any(other.freedoms > one.freedoms and other.aside(one) <= bent for other in others)
