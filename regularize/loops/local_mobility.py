"""What is known of the finite motions at a configuration, and of the branches that meet there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from regularize.lie.screw import Array

#: What the number of finite freedoms rests on, the strongest first: as many were followed as the
#: rank leaves; a self-stress forbids all other velocities; terms of higher order do; these were
#: followed, and others were not; or nothing is known.
Evidence: TypeAlias = Literal[
    "counted",
    "second order",
    "order 3",
    "order 4",
    "order 5",
    "order 6",
    "moved",
    "undecided",
]
#: The same as a list.
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


@dataclass(frozen=True, eq=False, repr=False)
class LocalMobility:
    """How many freedoms finite motions have at a configuration, and why.

    Attributes:
        mobility: Their number; None where it is not known.
        evidence: What it rests on.
        q: The configuration, shape (n,).
        followed: Basis of the velocities that motions follow, scaled, shape (n, mobility).
        cut: Basis of the velocities that are allowed and that no motion follows, shape (n, c).
        stress: The self-stress that makes these impossible: the wrench that each edge hands on from
            its parent to its child, force first, about the origin of the loops' root frame, largest
            force one, shape (edges, 6). None where none was needed or found.
    """

    mobility: int | None
    evidence: Evidence
    q: Array
    followed: Array
    cut: Array
    stress: Array | None = None


@dataclass(frozen=True, eq=False, repr=False)
class LocalBranch:
    """One of the branches that meet at a configuration.

    Attributes:
        rank: Rank of the closure equations on it.
        local: What is known of its motions at the first of its ends.
        way: Scaled direction from the configuration to that end, shape (n,).
        ends: Configurations on it nearby, in opposite directions where there are two, shape (m, n).
    """

    rank: int
    local: LocalMobility
    way: Array
    ends: Array

    @property
    def mobility(self) -> int | None:
        """Number of its freedoms; None where it is not known."""
        return self.local.mobility
