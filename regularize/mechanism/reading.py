"""How a file's numbers are read: by the letter, or as what they were rounded from."""

from __future__ import annotations

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
class Precision:
    """How the numbers of one group of attributes are written.

    Attributes:
        group: What they are, such as ``xyz``.
        convention: By decimals, by significant digits, in full, or chosen by hand.
        digits: Decimals or significant digits; None where numbers are not rounded.
        half_unit: Half a unit of the last place, of the largest of them.
    """

    group: str
    convention: Convention
    digits: int | None
    half_unit: float

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``reading.precision`` in the JSON report."""
        return dict(vars(self))


@dataclass(frozen=True)
class Letter:
    """What the numbers say literally."""

    closed: bool
    mobility: int
    redundant: int


@dataclass(frozen=True, eq=False)
class Reading:
    """What the numbers of a file were taken for.

    Attributes:
        as_: ``written``; ``meant``, which is the mechanism with the most motions that lies within
            their rounding; or ``undecided``, as written although such a one may be meant.
        precision: How numbers are written, by group.
        levels: By how much rounding can move each joint.
        base: The joints with constants such as 1.5708 in full; None where there are none.
        moved: Largest move of a joint's place in metres and turn of its frame in radians.
        share: The largest move in units of what rounding can do to that joint.
        letter: What the numbers say literally, where that differs.
        wanted: Decimals that would decide, where it is undecided.
        possible: Mobility and redundant equations of what may be meant, where it is undecided.
    """

    as_: Literal["written", "meant", "undecided"] = "written"
    precision: tuple[Precision, ...] = ()
    levels: Mapping[str, Level] = field(default_factory=dict)
    base: tuple[Joint, ...] | None = None
    moved: Move = (0.0, 0.0)
    share: float = 0.0
    letter: Letter | None = None
    wanted: int | None = None
    possible: tuple[int, int] | None = None

    @property
    def digits(self) -> str:
        """The coarsest rounding in words, such as ``4 decimals``."""
        rounded = [p for p in self.precision if p.digits is not None]
        if not rounded:
            return "constants in few digits"
        coarse = max(rounded, key=lambda p: p.half_unit)
        kind = "decimals" if coarse.convention == "decimals" else "significant digits"
        return f"{coarse.digits} {kind}"

    def as_dict(self) -> dict[str, Any]:
        """The entry ``reading`` of the JSON report."""
        translation, rotation = self.moved
        return {
            "as": self.as_,
            "precision": [each.as_dict() for each in self.precision],
            "moved": {
                "translation_m": translation,
                "rotation_rad": rotation,
                "share": self.share,
            },
            "letter": None if self.letter is None else dict(vars(self.letter)),
        }
