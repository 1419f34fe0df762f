"""Numbers, names, directions and motions in words, the same in every finding and format."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regularize.escape import displayed
from regularize.lie import subalgebra
from regularize.lie.arrays import Array, Wrench
from regularize.lie.motion_type import MotionType
from regularize.lie.screw import leading_component, points_back
from regularize.tolerances import EXACT, NEGLIGIBLE, PARALLEL, UNNOTICED, Tolerances

#: Axes tilted by less than this are named by the axis and the tilt, in radians; loops that would
#: be special but for so small a tilt, or a shift by this part of their size, are pointed out.
SLIGHT = 5e-3
#: Characters of a command that is printed: more is not read, and hard to copy.
COMMAND = 120


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of a space of covectors, with its kind."""

    kind: str  # linear, angular or mixed
    covector: Wrench  # linear part first, ground axes, about the point of the space

    def words(self, linear: str, angular: str) -> str:
        """Return words such as ``translation along Y`` or ``moment about (0.6, 0, 0.8)``."""
        if self.kind == "linear":
            return f"{linear} along {axis_words(self.covector[:3])}"
        if self.kind == "angular":
            return f"{angular} about {axis_words(self.covector[3:])}"
        force, moment = self.covector[:3], self.covector[3:]
        together = "with" if points_back(force) == points_back(moment) else "against"
        return f"{linear} along {axis_words(force)} {together} {angular} about {axis_words(moment)}"


def axis_words(vector: Array) -> str:
    """Name a vector: ``Y``, ``Y tilted by 0.5 mrad``, else its unit vector, ``(0.6, 0, 0.8)``."""
    return _axis_words(np.asarray(vector, dtype=float).tobytes())


@lru_cache(maxsize=1024)  # mechanisms repeat themselves
def _axis_words(data: bytes) -> str:
    unit = np.frombuffer(data) / np.linalg.norm(np.frombuffer(data))
    leading = leading_component(unit)
    tilt = float(np.linalg.norm(np.delete(unit, leading)))
    if tilt < PARALLEL:
        return "XYZ"[leading]
    if tilt < SLIGHT:
        return f"{'XYZ'[leading]} tilted by {tilt * 1e3:.2g} mrad"
    unit = unit * np.sign(unit[leading])
    return "(" + ", ".join(f"{x + 0.0:.3g}" for x in np.round(unit, 3)) + ")"


def directions(space: Array) -> list[Direction]:
    """Return a readable basis of a space of covectors about one point, lengths of order one."""
    return directions_of_each(space[None])[0]


def directions_of_each(spaces: Array) -> list[list[Direction]]:
    """Return readable bases of spaces of covectors (N, 6, k), each about a point of its own."""
    if not spaces.shape[2]:
        return [[] for _ in spaces]
    u, s, _ = np.linalg.svd(spaces, full_matrices=False)
    u *= (s > PARALLEL * np.maximum(s[:, :1], 1.0))[:, None]
    # Adding zero turns -0.0 into 0.0, which has other bytes.
    projectors = np.round(u @ np.swapaxes(u, 1, 2), 12) + 0.0
    return [list(_directions(projector.tobytes())) for projector in projectors]


@lru_cache  # mechanisms repeat themselves
def _directions(projector: bytes) -> tuple[Direction, ...]:
    basis = subalgebra.span(np.frombuffer(projector).reshape(6, 6), PARALLEL)
    linear = subalgebra.intersection(basis, np.eye(6)[:, :3], PARALLEL)
    angular = subalgebra.intersection(basis, np.eye(6)[:, 3:], PARALLEL)
    pure = np.hstack([linear, angular])
    mixed = subalgebra.span(subalgebra.residual(pure, basis), PARALLEL)
    return (
        *(Direction("linear", np.concatenate([axis, np.zeros(3)])) for axis in _axes(linear[:3])),
        *(Direction("angular", np.concatenate([np.zeros(3), axis])) for axis in _axes(angular[3:])),
        *(Direction("mixed", column) for column in _axes(mixed)),
    )


def _axes(vectors: Array) -> Iterator[Array]:
    """Generate an orthonormal basis that depends on the space alone, coordinate axes first."""
    # The coordinate axis nearest to what is left of the space is projected on it.
    projector = vectors @ vectors.T
    for _ in range(vectors.shape[1]):
        near = np.linalg.norm(projector, axis=0)
        leading = int(np.argmax(near > np.max(near) - UNNOTICED))
        axis = projector[:, leading] / near[leading]
        axis = np.where(np.abs(axis) < PARALLEL**2, 0.0, axis)
        projector = projector - np.outer(axis, axis)
        yield axis


#: What a slack joint frees, by the half of the twist.
_HALVES = ("translation", "rotation")


def slack_name(joint: str, axis: int) -> str:
    """Name the slack joint beside a joint that frees one component of its twist."""
    return f"{joint}_slack_{_HALVES[axis // 3]}_{'xyz'[axis % 3]}"


def is_slack(name: str) -> bool:
    """Return whether a joint is a slack joint by its name."""
    return re.search(rf"_slack_({'|'.join(_HALVES)})_[xyz](_\d+)?$", name) is not None


#: Entries that a list names before the rest is only counted: what one line holds.
LISTED = 6
#: Lengths and angles below these are rounding and are printed as 0: a nanometre, a nanoradian.
ROUNDING = 1e-9


def three_digits(value: float) -> str:
    """Return a number with three digits, in full where that is short."""
    return f"{float(f'{value:.3g}'):g}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 joint``, ``2 joints``, ``3 bodies``."""
    several = noun[:-1] + "ies" if noun.endswith("dy") else noun + "s"
    return f"{number} {noun if number == 1 else several}"


def listed(entries: Sequence[str], most: int = LISTED, last: str = "and") -> str:
    """List entries with commas, as in ``A, B and 6 more``."""
    rest = len(entries) - most
    if rest > 1:  # one name is no longer than the words for it
        return f"{', '.join(entries[:most])} and {rest} more"
    if len(entries) < 2:
        return "".join(entries)
    return f"{', '.join(entries[:-1])} {last} {entries[-1]}"


def gathered(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; of more than two that differ in backquoted names alone, the first and a count.

    Example:
        >>> list(gathered(["`a` is lost", "`b` is lost", "`c` is lost"]))
        ['`a` is lost', '  likewise 2 more: `b` and `c`']
    """
    alike: dict[str, list[str]] = {}
    for line in lines:
        alike.setdefault(re.sub("`[^`]*`", "`", line), []).append(line)
    for first, *rest in alike.values():
        yield first
        if len(rest) < 2:
            yield from rest
            continue
        told = set(re.findall("`([^`]*)`", first))
        quoted = ([n for n in re.findall("`([^`]*)`", line) if n not in told] for line in rest)
        others = names([n[0] for n in quoted if n])
        yield f"  likewise {len(rest)} more" + (f": {others}" if others else "")


def names(entries: Iterable[str], most: int = LISTED) -> str:
    """List names in backquotes, shortened where there are many."""
    return listed([f"`{entry}`" for entry in entries], most)


def pasted(words: Sequence[str]) -> str:
    """Return a command line that is there to be pasted, with long paths relative, else cut."""
    for least in (None, 0, 12, 6, 1):
        line = displayed(shlex.join(words if least is None else (_cut(w, least) for w in words)))
        if len(line) <= COMMAND:
            break
    return line


def _cut(word: str, least: int) -> str:
    """Return a path from here, with ``*`` for what is long and follows from ``least`` letters."""
    if not os.path.isfile(word) or glob.has_magic(word):
        return word
    word = os.path.relpath(word) if word.startswith(os.getcwd() + os.sep) else word
    parts = word.split(os.sep)
    for k, name in enumerate(parts if least else ()):
        stem, end = os.path.splitext(name)
        shorter = (f"{name[:n]}*{end}" for n in range(least, len(stem) - 1))
        tries = ([*parts[:k], each, *parts[k + 1 :]] for each in shorter)
        parts = next((t for t in tries if len(glob.glob(os.sep.join(t))) == 1), parts)
    return os.sep.join(parts)


def millimetres(length: float) -> str:
    """Write a length in millimetres, rounding noise as 0."""
    return f"{_three(length, 1e3)} mm"


def degrees(angle: float) -> str:
    """Write an angle in degrees, rounding noise as 0."""
    return f"{_three(angle, 180 / np.pi)}°"


def milliradians(angle: float) -> str:
    """Write an angle in milliradians, rounding noise as 0."""
    return f"{_three(angle, 1e3)} mrad"


def _three(value: float, factor: float) -> str:
    """Write three significant digits, without an exponent where that is readable."""
    if abs(value) < ROUNDING:
        return "0"
    scaled = value * factor
    if 1e-3 <= abs(scaled) < 1e6:
        digits = max(0, 2 - int(np.floor(np.log10(abs(scaled)))))
        text = f"{scaled:.{digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{scaled:.2g}"


def noise_words(tolerances: Tolerances) -> str:
    """Say up to which errors numbers are noise; nothing where they are exact."""
    if tolerances.closed <= EXACT.closed:
        return ""
    return f"; closure errors up to {tolerances.closed:.1g} of the size are noise of the numbers"


def nearness_words(distance: float) -> str:
    """Return ``within 3e-09 of these``, or within rounding ``exactly as these``, of joints."""
    return f"within {distance:.0e} of these" if distance >= NEGLIGIBLE else "exactly as these"


def gap_words(translation: float, rotation: float) -> str:
    """Write a gap in millimetres and degrees, without the one of them that is zero."""
    words = [millimetres(translation), degrees(rotation)]
    return " and ".join(each for each in words if each not in ("0 mm", "0°")) or words[0]


def point_words(point: Array) -> str:
    """Write a point in millimetres of the ground frame."""
    return "(" + ", ".join(_three(float(x), 1e3) for x in point) + ") mm"


def motion_words(motion: MotionType) -> str:
    """Describe a motion: ``planar, normal along Y``, ``spherical, centre at (0, 0, 250) mm``."""
    words = [motion.name]
    if motion.direction is not None:
        flat = motion.name.startswith("planar") or motion.name == "translations in a plane"
        words.append(f"{'normal' if flat else 'axis'} along {axis_words(motion.direction)}")
    if motion.name == "spherical" and motion.point is not None:
        words.append(f"centre at {point_words(motion.point)}")
    if motion.pitch is not None:
        words.append(f"pitch {motion.pitch * 1e3:.4g} mm/rad")
    return ", ".join(words)


VERBS = ("rotates", "slides", "screws", "translates", "moves", "shifts", "turns", "stays", "floats")


def plural(words: str) -> str:
    """Put the verbs of a phrase into the plural: ``rotates`` becomes ``rotate``."""
    return " ".join(word[:-1] if word in VERBS else word for word in words.split(" "))


def directions_words(directions: Sequence[Direction], linear: str, angular: str) -> str:
    """Describe several directions in one phrase: ``force along Y, moments about X and Z``."""
    phrases = []
    for kind, noun, preposition, part in (
        ("linear", linear, "along", slice(0, 3)),
        ("angular", angular, "about", slice(3, 6)),
    ):
        axes = [axis_words(d.covector[part]) for d in directions if d.kind == kind]
        if axes:
            phrases.append(f"{noun}{'s' * (len(axes) > 1)} {preposition} {listed(axes)}")
    mixed = sum(d.kind == "mixed" for d in directions)
    if mixed:
        phrases.append(f"{counted(mixed, 'combination')} of {linear} and {angular}")
    return ", ".join(phrases)
