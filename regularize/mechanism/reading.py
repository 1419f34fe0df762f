"""How a file's numbers are read: by the letter, or as what they were rounded from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from regularize.lie.arrays import Array
from regularize.lie.screw import adjoint, inverse, log

if TYPE_CHECKING:
    from regularize.mechanism.joint import Joint

Convention: TypeAlias = Literal["decimals", "significant", "exact", "chosen"]
#: Metres and radians by which the frame of a joint on its parent may be off in each direction, and
#: the same on its child: half sides of boxes.
Level: TypeAlias = tuple[float, float, float, float]
#: What rounding reaches, in half sides of boxes: several numbers that are off move a frame further
#: once in ten thousand times.
REACH = 2.65
#: Frames that are exact move by this part of what the others may.
FLOOR = 1e-3
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

    def rounding(self, joints: Iterable[str], length: float) -> float:
        """By how much rounding can move some joints, in sizes or radians."""
        sizes = [self.levels[name] for name in joints if name in self.levels]
        return float((np.reshape(sizes, (-1, 2)) / [length, 1.0]).max(initial=0.0))

    def boxes(self, joints: Sequence[Joint]) -> dict[str, list[float]]:
        """Within what joints lie that were read so; none where they are those of the file."""
        if self.written is None or not self.levels:
            return {}
        least = FLOOR * np.reshape([*self.levels.values()], (-1, 2)).max(axis=0)
        fits: dict[str, list[tuple[Array, Array]]] = {}
        for old, new in zip(self.base or self.written, joints, strict=True):
            across = np.eye(6) - old.screws @ np.linalg.pinv(old.screws)
            sizes = np.maximum(np.reshape(self.levels[old.name], (2, 2)), least)
            for body, T, other, size in (
                (old.parent, old.T_parent_joint, new.T_parent_joint, sizes[0]),
                (old.child, old.T_child_joint, new.T_child_joint, sizes[1]),
            ):
                scaled, back = across / np.repeat(size, 3)[:, None], inverse(T)
                entry = scaled @ adjoint(back), scaled @ log(back @ other)
                fits.setdefault(body, []).append(entry)
        # The frame of a body, which nobody states, is placed as its joints fit best.
        reach = REACH  # one for all, larger where rounding of many numbers adds up
        for entries in fits.values():
            rows, moves = map(np.concatenate, zip(*entries, strict=True))
            left = moves - rows @ np.linalg.lstsq(rows, moves, rcond=None)[0]
            reach = max(reach, float(np.linalg.norm(left.reshape(-1, 3), axis=1).max()))
        return {name: [reach * size for size in level] for name, level in self.levels.items()}

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
