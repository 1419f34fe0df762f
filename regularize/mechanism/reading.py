"""How a file's numbers are read: by the letter, or as what they were rounded from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from regularize.mechanism.joint import Joint

Convention: TypeAlias = Literal["decimals", "significant", "exact", "chosen"]
#: Metres and radians by which the frame of a joint on its parent may be off in each direction, and
#: the same on its child: half sides of boxes.
Level: TypeAlias = tuple[float, float, float, float]
#: A move in metres and a turn in radians.
Move: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of one group of attributes are written."""

    group: str  # what they are, such as ``xyz``
    convention: Convention  # by decimals, by significant digits, in full, or chosen by hand
    digits: int | None  # decimals or significant digits; None where numbers are not rounded
    half_unit: float  # half a unit of the last place, of the largest of them

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``reading.precision`` in the JSON report."""
        return dict(vars(self))


@dataclass(frozen=True)
class Letter:
    """What the numbers say literally."""

    closed: bool
    mobility: int
    redundant: int

    def __str__(self) -> str:
        """Mobility and redundant equations in words."""
        return f"mobility {self.mobility} with {self.redundant} redundant"


@dataclass(frozen=True, eq=False)
class Reading:
    """What the numbers of a file were taken for."""

    #: ``meant`` is the mechanism with the most motions within their rounding; ``undecided`` is as
    #: written although such a one may be meant.
    as_: Literal["written", "meant", "undecided"] = "written"
    precision: tuple[NumberFormat, ...] = ()  # how numbers are written, by group
    levels: Mapping[str, Level] = field(default_factory=dict)  # how far rounding can move joints
    base: tuple[Joint, ...] | None = None  # with constants such as 1.5708 in full, if any
    written: tuple[Joint, ...] | None = None  # joints by the letter, where the mechanism has others
    moved: Move = (0.0, 0.0)  # largest move of a joint's place in metres, and turn in radians
    share: float = 0.0  # the largest move in units of what rounding can do to that joint
    letter: Letter | None = None  # what the numbers say literally, where that differs
    possible: Letter | None = None  # what may be meant, where it is undecided
    literal: bool = False  # whether numbers were to be taken literally

    @property
    def _coarsest(self) -> NumberFormat | None:
        rounded = [p for p in self.precision if p.digits is not None]
        return max(rounded, key=lambda p: p.half_unit, default=None)

    @property
    def digits(self) -> str:
        """The coarsest rounding in words, such as ``4 decimals``."""
        coarse = self._coarsest
        if coarse is None:
            return "constants in few digits"
        kind = "decimals" if coarse.convention == "decimals" else "significant digits"
        return f"{coarse.digits} {kind}"

    @property
    def wanted(self) -> int:
        """Digits that would tell rounding from intent."""
        coarse = self._coarsest
        return 2 + (coarse.digits or 0 if coarse else 4)

    @property
    def words(self) -> str:
        """What was taken for what, in one sentence; empty where that changes nothing."""
        letter, possible = self.letter, self.possible
        if self.literal and self._coarsest is not None:
            return f"{self.digits} are taken by the letter (--as-written)"
        if letter is None:
            return ""
        says = "its loops stay open" if not letter.closed else f"{letter}"
        if possible is not None:
            return (
                f"{self.digits} cannot tell whether {possible} is meant: joints are off that by up "
                f"to {_sizes(self.moved)}, about as much as rounding; by the letter: {says}"
            )
        return (
            f"read within the rounding of {self.digits}, joints moved by at most "
            f"{_sizes(self.moved)}; by the letter: {says} (--as-written)"
        )

    def as_dict(self) -> dict[str, Any]:
        """The entry ``reading`` of the JSON report."""
        translation, rotation = self.moved
        return {
            "as": self.as_,
            "precision": [each.as_dict() for each in self.precision],
            "moved": {"translation_m": translation, "rotation_rad": rotation, "share": self.share},
            "letter": None if self.letter is None else dict(vars(self.letter)),
        }


def _sizes(moved: Move) -> str:
    return f"{1e3 * moved[0]:.2g} mm and {math.degrees(moved[1]):.2g}°"
