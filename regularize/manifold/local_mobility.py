"""What is known of the finite motions that begin at one configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regularize.lie.screw import Array

#: What the number of finite freedoms rests on: motions were followed in all of them; a self-stress
#: makes every other one impossible; the equations of rank as counted move; or nothing is known.
Evidence: TypeAlias = Literal["counted", "second order", "moved", "undecided"]
#: The same, the strongest first.
EVIDENCE: tuple[Evidence, ...] = ("counted", "second order", "moved", "undecided")


@dataclass(frozen=True, eq=False)
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
