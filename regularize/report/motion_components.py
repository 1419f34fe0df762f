"""Components of the set of configurations that meet at the pose, and the equations of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from regularize.reduction.reduce import Reduction
from regularize.words import listed


@dataclass(frozen=True)
class MotionComponent:
    """One of the components that meet at the assembled pose.

    Attributes:
        mobility: Its dimension; None where it is not known.
        rank: Rank of all closure equations and couplings on it.
        redundant: Equations that depend on the others on it.
        removed: Rows that were removed, the same on all.
        remaining: Redundant rows on it that are still among the kept ones.
    """

    mobility: int | None
    rank: int
    redundant: int
    removed: int
    remaining: int

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``mobility.components`` in the JSON report."""
        return asdict(self)


def motion_components(reduction: Reduction) -> tuple[MotionComponent, ...]:
    """The components in the order of ``Reduction.components``."""
    every, removed = reduction.equations, reduction.removed
    return tuple(
        MotionComponent(mobility, rank, every - rank, removed, every - rank - removed)
        for mobility, rank in reduction.components
    )


def more_on_branches(reduction: Reduction) -> str:
    """Sentences on branches where more is redundant than elsewhere, each with a space before."""
    found = motion_components(reduction)
    more: dict[int, list[str]] = {}
    for number, each in enumerate(found, start=1):
        more.setdefault(each.redundant - reduction.redundant, []).append(f"{number}")
    more.pop(0, None)
    return "".join(
        f" On branch{'es' if len(numbers) > 1 else ''} {listed(numbers)} "
        f"{count} more {'is' if count == 1 else 'are'} redundant, and kept."
        for count, numbers in sorted(more.items())
    )


def branches_meant(reduction: Reduction) -> str:
    """``on branch 2``, where others have more redundant equations than are counted; else empty."""
    found = motion_components(reduction)
    own = [f"{i}" for i, each in enumerate(found, start=1) if each.redundant == reduction.redundant]
    if len(own) == len(found) or not own:
        return ""
    return f"on branch{'es' if len(own) > 1 else ''} {listed(own)}"
