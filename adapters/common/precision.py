r"""How precisely numbers of geometry are written: half a unit of the last place of each.

A file's own habit tells: each kind of attribute is a group, in which all numbers have so many
decimals (zeros padded or stripped), or so many significant digits, or all digits that there are, or
they were chosen by hand. What was chosen is exact, but for constants that nobody writes out:
multiples of 15° in radians, and sines of such angles. Masses, limits and colours tell nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from regularize.adapters.common.input_files import expanded_name, read_bytes, replaced_content
from regularize.errors import ReadError, RegularizeError
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, log
from regularize.mechanism.graph import joined
from regularize.mechanism.mechanism import Mechanism
from regularize.mechanism.reading import Convention, Level, NumberFormat, Reading

#: Digits from which a number is as exact as the arithmetic; what single precision tells for sure.
FULL, SINGLE = 12, 7
#: Fewest decimals, and significant digits, that are a habit.
LEAST, FEWEST = 3, 4
#: Numbers that tell a habit, and decimals that no hand gives to a constant.
FEW, UNUSUAL = 4, 6
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_TAG = re.compile(r"<([\w:.]+)((?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))+)\s*/?>")
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_TEXT = re.compile(r"<(pose|xyz)(?:\s[^>]*)?>([^<]*)<")
_OTHER = re.compile(
    r"(?s)<!--.*?-->|<(inertial|visual|collision|sensor|transmission|camera|light|state|plugin)"
    r"\b(?:[^>]*/>|.*?</\1\s*>)"
)
#: Tags of MJCF whose places are no joint's.
_SHAPES = {"geom", "inertial", "camera", "light", "mesh", "hfield", "texture", "key"}
_XML = {
    **dict.fromkeys(("xyz", "pos", "anchor"), "xyz"),
    **dict.fromkeys(("rpy", "euler"), "rpy"),
    **dict.fromkeys(("quat", "quat_xyzw"), "quat"),
    **dict.fromkeys(("axis", "zaxis", "xyaxes", "axisangle", "relpose"), "axis"),
}
#: Group of a key or attribute with a word in its name.
_WORDS = {"rpy": "rpy", "quat": "quat", "orient": "quat", "localrot": "quat", "axis": "axis"}
_KEYED = re.compile(
    r"(?m)[\"']?\b(\w*(?:xyz|rpy|axis|point|position|translation|rotation|quat|frame|screws"
    r"|transform|orientation|T_\w+)\w*)[\"']?\s*:\s*(\[[-+\d.eE\s,\[\]]*\])"
)
_USD = re.compile(
    r"(xformOp:(?:translate|orient|rotate\w*|transform)|physics:local(?:Pos|Rot)\d)[\w:]*"
    r"\s*=\s*(\([^=]*?\))\s*[\n(]"
)
_ASMT = re.compile(r"(Position3D|RotationMatrix)[ \t]*\r?\n((?:[\t ]*[-+\d.eE]+(?:\s|$))+)")
#: Angles, and numbers of directions, that hands write with a few digits.
ANGLES = tuple(k * np.pi / 12 for k in range(1, 49))
SINES = tuple(np.sqrt([1 / 2, 3 / 4, 1 / 3, 2 / 3, 1 / 8])) + tuple(
    np.sin(k * np.pi / 24) for k in (1, 2, 3, 5, 7, 9, 10, 11)
)
LENGTHS = tuple(np.sqrt([1 / 2, 3 / 4]))


@dataclass(frozen=True)
class _Written:
    """A number of geometry in a text: where it stands, its group, and its digits."""

    start: int
    end: int
    group: str
    text: str

    @cached_property
    def value(self) -> float:
        """The number."""
        return float(self.text)

    @cached_property
    def digits(self) -> tuple[int, int]:
        """Decimals and significant digits."""
        mantissa, _, exponent = self.text.lower().lstrip("+-").partition("e")
        whole, _, fraction = mantissa.partition(".")
        return len(fraction) - int(exponent or 0), len((whole + fraction).lstrip("0"))

    @cached_property
    def constant(self) -> float | None:
        """The constant that a hand means by it."""
        decimals, significant = self.digits
        if decimals < 2 or significant < 3:
            return None
        known = {"rpy": ANGLES, "xyz": LENGTHS}.get(self.group, SINES)
        off = 0.5001 * 10.0**-decimals
        near = (c for c in known if 0.0 < abs(abs(self.value) - c) <= off)
        return next((float(np.copysign(c, self.value)) for c in near), None)


class FileNumbers:
    """The numbers of geometry in one text file; those that a program computed are exact."""

    def __init__(self, text: str, *, computed: bool = False, exact: str = "") -> None:
        self.text = text
        found = (n for n in _numbers_of(text) if not (computed and n.digits[1] >= FULL))
        self.written = sorted(found, key=lambda each: each.start)
        groups: dict[str, list[_Written]] = {}
        for each in self.written:
            groups.setdefault(each.group, []).append(each)
        self.habits = {name: _habit(name, numbers) for name, numbers in groups.items()}
        if exact:
            self.habits[exact] = NumberFormat(exact, "exact", None, 0.0)
        known = [habit for habit in self.habits.values() if habit.digits is not None]
        for name, numbers in groups.items():
            # A few numbers tell no habit of their own, but may have that of the others.
            if self.habits[name].convention == "chosen" and len(_telling(numbers)) < FEW:
                alike = (h for h in known if _digits(numbers, h) == h.digits)
                for habit in alike:
                    self.habits[name] = _rounded(name, numbers, habit.convention, habit.digits)

    @cached_property
    def rounded(self) -> bool:
        """Whether some numbers may be off by more than the arithmetic is."""
        return any(self._unit(each) or self._center(each) != each.value for each in self.written)

    @cached_property
    def snapped(self) -> bool:
        """Whether some numbers are taken for constants."""
        return any(self._center(each) != each.value for each in self.written)

    def _center(self, number: _Written) -> float:
        """Return what a number is taken for: itself, or the constant that was chosen."""
        chosen = self.habits[number.group].convention == "chosen"
        constant = number.constant if chosen else None
        return number.value if constant is None else constant

    def _unit(self, number: _Written) -> float:
        """Return half a unit of a number's last place."""
        habit = self.habits[number.group]
        if habit.convention == "decimals":
            return habit.half_unit
        if habit.convention != "significant" or number.value == 0.0:
            return 0.0
        return _last_place(number.value, habit.digits or 0)

    def drawn(self, rng: np.random.Generator | None) -> str:
        """Return the text with numbers drawn from their boxes; without a generator the centres."""
        pieces, last = [], 0
        for each in self.written:
            center, unit = self._center(each), self._unit(each)
            if rng is not None and unit:
                center += unit * rng.uniform(-1.0, 1.0)
            elif center == each.value:
                continue
            pieces += [self.text[last : each.start], f"{center:.17g}"]
            last = each.end
        return "".join([*pieces, self.text[last:]])


def _numbers_of(text: str) -> Iterator[_Written]:
    """Yield all numbers of geometry in a text, whatever its format."""
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        yield from _of_xml(_OTHER.sub(lambda m: " " * len(m[0]), text))
        return
    if text.startswith("#usda"):
        pattern = _USD
    else:
        pattern = _ASMT if re.match(r"\s*(OndselSolver|freeCAD|MbD)", text) else _KEYED
    for match in pattern.finditer(text):
        yield from _in(match[2], match.start(2), _kind(match[1]))


def _kind(name: str) -> str:
    """Return the group of a key or attribute."""
    groups = (group for word, group in _WORDS.items() if word in name.lower())
    return next(groups, name.rstrip("01"))


def _in(text: str, start: int, group: str, later: str | None = None) -> Iterator[_Written]:
    """Yield the numbers of a piece of text; those after the third may have a group of their own."""
    for k, match in enumerate(_NUMBER.finditer(text)):
        name = group if k < 3 else later or group
        yield _Written(start + match.start(), start + match.end(), name, match[0])


def _of_xml(text: str) -> Iterator[_Written]:
    """Yield numbers of attributes that place something, and of elements that do."""
    for tag in _TAG.finditer(text):
        name = tag[1].rpartition(":")[2]
        if name in _SHAPES:
            continue
        for match in _ATTRIBUTE.finditer(text, tag.start(2), tag.end(2)):
            group = "axis" if name.startswith("axis") and match[1] == "xyz" else _XML.get(match[1])
            if group:
                yield from _in(match[2], match.start(2), group)
    for match in _TEXT.finditer(text):
        groups = ("xyz", "rpy") if match[1] == "pose" else ("axis",)
        yield from _in(match[2], match.start(2), *groups)


def _telling(numbers: Sequence[_Written]) -> list[_Written]:
    """Return the numbers that tell how they are written: those with a fraction, or its zeros."""
    with_fraction = (n for n in numbers if "." in n.text or "e" in n.text.lower())
    return [n for n in with_fraction if n.value != 0.0 or n.digits[0] > 2]


def _digits(numbers: Sequence[_Written], habit: NumberFormat) -> int:
    """Return the most decimals, or significant digits, of some numbers."""
    which = 0 if habit.convention == "decimals" else 1
    return max((n.digits[which] for n in _telling(numbers)), default=0)


def _rounded(
    group: str, numbers: Sequence[_Written], convention: Convention, digits: int | None
) -> NumberFormat:
    """Return the habit of numbers with so many decimals or significant digits."""
    largest = max(abs(n.value) for n in numbers) or 1.0
    decimals = convention == "decimals"
    unit = 0.5 * 10.0 ** -(digits or 0) if decimals else _last_place(largest, digits or 0)
    return NumberFormat(group, convention, digits, unit)


def _habit(group: str, numbers: Sequence[_Written]) -> NumberFormat:
    """Learn how the numbers of a group are written."""
    telling = _telling(numbers)
    chosen = NumberFormat(group, "chosen", None, 0.0)
    if not telling:
        return chosen
    decimals, significant = np.array([n.digits for n in telling]).T
    most, longest = int(decimals.max()), int(significant.max())
    if longest >= FULL:
        return NumberFormat(group, "exact", None, 0.0)
    fractions = [n for n in telling if n.value % 1.0]
    by_hand = most < UNUSUAL and all(n.constant is not None for n in fractions)
    if len(telling) < FEW or (fractions and by_hand):
        return chosen
    padded = float(np.mean(decimals == most))
    nonzero = np.array([n.value != 0.0 for n in telling])
    full = float(np.mean(significant[nonzero] == longest)) if nonzero.any() else 0.0
    shorter = bool((decimals[nonzero][significant[nonzero] == longest] < most).any())
    if longest >= FEWEST and full > 0.5 and shorter and padded < 0.7:
        digits = SINGLE if longest in (8, 9) else longest  # with which single precision is printed
        return _rounded(group, telling, "significant", digits)
    if padded >= 0.5 and most >= LEAST:
        return _rounded(group, telling, "decimals", most)
    # As single precision is printed, and no less than that.
    return _rounded(group, telling, "significant", SINGLE) if longest >= SINGLE else chosen


def _last_place(value: float, digits: int) -> float:
    """Return half a unit of the last of the significant digits of a number other than zero."""
    return float(0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1))


def merged(files: Mapping[str, FileNumbers]) -> tuple[NumberFormat, ...]:
    """The habits of several files, the coarser one where two have a group in common."""
    found: dict[str, NumberFormat] = {}
    for numbers in files.values():
        for name, habit in numbers.habits.items():
            if name not in found or found[name].half_unit < habit.half_unit:
                found[name] = habit
    return tuple(found.values())


#: How often files are read with numbers drawn from their boxes.
SAMPLES = 6
#: Endings of files that hold no numbers as text.
_BINARY = (b"PK\x03\x04", b"PXR-USDC")
#: Frames of a joint on its parent and child, and its screws.
Frames: TypeAlias = tuple[Array, Array, Array]
_OFF: ContextVar[float] = ContextVar("off", default=0.0)


def length_off() -> float:
    """By how much the lengths in the file that is being read may be off, in its unit."""
    return _OFF.get()


@contextmanager
def rounding_of(path: str) -> Iterator[None]:
    """Let readers know how precise the lengths of a file are, while it is read."""
    numbers = _numbers_in(path)
    lengths = [h.half_unit for h in numbers.habits.values() if h.group == "xyz"] if numbers else []
    token = _OFF.set(max(lengths, default=0.0))
    try:
        yield
    finally:
        _OFF.reset(token)


def _numbers_in(path: str) -> FileNumbers | None:
    """Return the numbers of a text file; None for other files, and where there is none."""
    try:
        data = read_bytes(path)
    except ReadError:
        return None
    if data.startswith(_BINARY[1]):
        from pxr import Sdf  # which is there where such files are read

        data = Sdf.Layer.OpenAsAnonymous(path).ExportToString().encode()
    if data.startswith(_BINARY[0]):  # FreeCAD writes 16 decimals
        return FileNumbers("", exact="placement") if b"Document.xml" in data[:64] else None
    return FileNumbers(data.decode("latin-1"), computed=path.endswith(expanded_name("")))


def with_levels(mechanism: Mechanism, path: str, again: Callable[[], Mechanism]) -> Mechanism:
    """Return the mechanism with how numbers are written, and errors of joints, read ``again``."""
    ends = [(joint.parent, joint.child) for joint in mechanism.joints]
    if len(ends) == sum(len(group) - 1 for group in joined(ends)):
        return replace(mechanism, reading=Reading())
    # What xacro makes of its files is what counts.
    files = [path, *mechanism.files]
    if mechanism.format == "xacro":
        files = [expanded_name(path), *(f for f in files if not f.endswith(".xacro"))]
    names = dict.fromkeys(files)
    found = {name: numbers for name in names if (numbers := _numbers_in(name)) is not None}
    reading = Reading(precision=merged(found))
    rounded = {name: numbers for name, numbers in found.items() if numbers.rounded}
    if not rounded:
        return replace(mechanism, reading=reading)
    rng = np.random.default_rng(0)

    def read(rng: np.random.Generator | None) -> Mechanism:
        texts = {name: file.drawn(rng).encode("latin-1") for name, file in rounded.items()}
        with replaced_content(texts):
            return again()

    try:
        center = read(None)
        samples = [_frames(read(rng)) for _ in range(SAMPLES)]
    except RegularizeError:  # of numbers that are drawn a reader may make nothing
        return replace(mechanism, reading=reading)
    levels = {
        name.partition(" ")[2]: _spread(frames, samples, name)
        for name, frames in _frames(center).items()
    }
    chosen = any(each.snapped for each in rounded.values())
    base = center.joints if chosen else None
    return replace(mechanism, reading=replace(reading, levels=levels, base=base))


def _frames(mechanism: Mechanism) -> dict[str, Frames]:
    """Return both frames of each joint and its screws, by kind and name."""
    return {
        f"{j.kind} {j.name}": (j.T_parent_joint, j.T_child_joint, j.screws)
        for j in mechanism.joints
    }


def _spread(center: Frames, samples: Sequence[Mapping[str, Frames]], name: str) -> Level:
    """Return how far a joint's frames are off across its freedoms, as boxes: see ``Level``."""
    *frames, screws = center
    across = np.eye(6) - screws @ np.linalg.pinv(screws)
    others = [other[name] for other in samples if name in other]
    boxes = list[float]()
    if not others:
        return 0.0, 0.0, 0.0, 0.0
    for k, T in enumerate(frames):
        twists = np.array([across @ log(inverse(T) @ other[k]) for other in others])
        # Axes that are written in a joint's frame turn on both of its bodies.
        turns = np.array([np.linalg.norm(other[2] - screws) for other in others])
        square = np.mean(twists**2, axis=0)
        place, turn = square[:3].sum(), square[3:].sum() + np.mean(turns**2)
        boxes += [math.sqrt(place), math.sqrt(1.5 * turn)]
    return boxes[0], boxes[1], boxes[2], boxes[3]
