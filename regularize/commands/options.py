"""Options of the command line, each told by what its help shows, and their values with units."""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regularize.errors import ModelError, RegularizeError
from regularize.escape import as_utf8
from regularize.mechanism.quantity import FORCES, METRES, RADIANS, TORQUES, parts, rates, value_of


def option(parser: argparse._ActionsContainer, shown: str, words: str, **more: Any) -> None:
    """Add an option as the help shows it: ``-j --jobs N``, ``--watch``, ``--joint NAME=KIND …``."""
    *called, value = shown.removesuffix(" …").split(" ") if " " in shown else (shown, "")
    if value.startswith("-"):
        called, value = [*called, value], ""
    if value:
        more["metavar"] = value
    elif shown.startswith("-"):
        more["action"] = "store_true"
    if shown.endswith("…"):
        more = {"action": "append", "default": [], **more}
    if more.get("type") is names:
        more["action"] = "extend"
    if called == ["-o"]:
        more["dest"] = "out"
    parser.add_argument(*called, help=words, **more)


def options(parser: argparse._ActionsContainer, table: str) -> None:
    """Add a table of options as the help shows them: words, kind of value or choices, default."""
    for entry in re.split(r"\n(?=\S)", table.strip()):
        shown, words = re.split(r"\s{2,}", entry, maxsplit=1)
        shown, _, value = shown.partition(":")
        kind, has_default, default = value.partition("=")
        more = {"choices": kind.split("|")} if "|" in kind else dict(KINDS[kind] if kind else {})
        if has_default:
            more["default"] = default
        option(parser, shown, " ".join(words.split()), **more)


def width(most: int = 160, least: int = 60) -> int:
    """Return the width of the terminal within limits, 100 if it is unknown."""
    return min(most, max(least, shutil.get_terminal_size((100, 24)).columns))


def wrapped(text: str, indent: str = "", first: str | None = None, most: int = 100) -> str:
    """Fill paragraphs to the width of the terminal; long words stay whole."""
    fill = textwrap.TextWrapper(
        width(most),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(fill.fill(paragraph) for paragraph in text.split("\n"))


def fitted(lines: Iterable[str]) -> str:
    """Join lines to a text that fits the terminal; lines that are too long are continued."""
    fit = []
    for line in lines:
        inset = len(line) - len(line.lstrip())
        long = len(line) > width()
        fit.append(wrapped(line.strip(), " " * (inset + 4), " " * inset, 160) if long else line)
    return "".join(f"{line}\n" for line in fit)


def listed_in_columns(entries: Sequence[tuple[str, str]], gap: int = 2) -> Iterator[str]:
    """Yield names with their meaning beside them, folded to the terminal."""
    most = max((len(name) for name, _ in entries), default=0) + gap
    for name, words in entries:
        yield from wrapped(words, indent=" " * most, first=name.ljust(most)).split("\n")


if TYPE_CHECKING:
    from regularize.mechanism.mechanism import Mechanism

#: Units of lengths, of angles, and of what follows from them.
Tables = Sequence[Mapping[str, float]]
COORDINATES: Tables = (METRES, RADIANS)
RATES: Tables = tuple(rates(table) for table in COORDINATES)
LOADS: Tables = (FORCES, TORQUES)


def names(text: str) -> list[str]:
    """Read names, or other words, that commas separate."""
    return [name for name in map(str.strip, as_utf8(text).split(",")) if name]


def with_commas(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Join values of an option for names that stand apart, `--motors A B`, as `--motors A,B`."""
    result, rest = list[str](), [*words]
    while rest:
        result.append(word := rest.pop(0))
        action = parser._option_string_actions.get(word)
        values = list[str]()
        while action is not None and action.type is names and rest:
            # A model may follow: the values end with a file, or where one has commas itself.
            done = values and ("," in values[-1].rstrip(",") or os.path.exists(rest[0]))
            if done or rest[0].startswith("-"):
                break
            values.append(rest.pop(0))
        result += [",".join(values)] * bool(values)
    return result


def positive(text: str) -> float:
    """Read a positive number."""
    if not 0.0 < (number := float(text)) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def units_of(mechanism: Mechanism, tables: Tables) -> Callable[[str], Tables]:
    """Return a function from a joint or pose coordinate to its units, of length or angle."""
    turns = {
        joint.name: bool((joint.screws[3:] != 0.0).any())
        for joint in mechanism.joints
        if joint.freedoms == 1
    }

    def units(name: str) -> Tables:
        last = name.rpartition(".")[2]
        if name in turns:
            return (tables[int(turns[name])],)
        if last in ("roll", "pitch", "yaw"):
            return (tables[1],)
        return (tables[0],) if last in ("x", "y", "z") else tables

    return units


def assignments(
    entries: Iterable[str], option: str, units: Callable[[str], Tables]
) -> dict[str, float]:
    """Read ``NAME=VALUE`` entries of an option by name, in SI units."""
    values = {}
    for entry in entries:
        name, separator, text = entry.rpartition("=")
        number = parts(text)
        if not separator or not name or number is None or not math.isfinite(number[0]):
            raise RegularizeError(
                f"{option} {entry}: expected JOINT=NUMBER, a finite one, such as {option} crank=0.5"
            )
        if name in values:
            raise RegularizeError(f"{option} {entry}: {name!r} is given already; give it once")
        values[name] = _value(text, f"{option} {entry}", units(name))
    return values


def ranges(
    entries: Iterable[str], units: Callable[[str], Tables]
) -> dict[str, tuple[float, ...] | None]:
    """Read ``NAME`` or ``NAME=LOWER:UPPER[:SAMPLES]`` entries by name, in SI units."""
    found: dict[str, tuple[float, ...] | None] = {}
    for entry in (part for text in entries for part in text.split(",") if part):
        name, separator, text = entry.partition("=")
        bounds = text.split(":")
        if separator and len(bounds) not in (2, 3):
            raise RegularizeError(
                f"--over {entry}: expected NAME or NAME=LOWER:UPPER[:SAMPLES], such as "
                "x=-50mm:50mm or A=-30deg:30deg:61"
            )
        told = f"--over {entry}"
        if name in found:
            raise RegularizeError(f"{told}: {name!r} is varied already; name it once")
        own = tuple(_value(bound, told, units(name)) for bound in bounds[:2]) if separator else None
        if own is not None and not own[0] < own[1]:
            raise RegularizeError(f"{told}: the lower bound comes first, and the upper is larger")
        if own is not None and len(bounds) == 3:
            if not bounds[2].isdecimal() or int(bounds[2]) < 2:
                raise RegularizeError(f"{told}: {bounds[2]!r} is no number of samples, 2 or more")
            own = (*own, int(bounds[2]))
        found[name] = own
    return found


def limits(
    entries: Iterable[str], units: Callable[[str], Tables]
) -> dict[str, tuple[float, float]]:
    """Read ``NAME=LOWER:UPPER`` entries by name or pattern, in SI units."""
    found = {}
    for entry in entries:
        name, _, text = entry.partition("=")
        bounds = text.split(":")
        if not name or len(bounds) != 2:
            raise RegularizeError(
                f"--limits {entry}: expected JOINT=LOWER:UPPER, such as P1=-50mm:50mm"
            )
        if name in found:
            raise RegularizeError(f"--limits {entry}: {name!r} is given already; give it once")
        lower, upper = (_value(bound, f"--limits {entry}", units(name)) for bound in bounds)
        found[name] = lower, upper
    return found


def pose_of(text: str) -> tuple[str, tuple[str, ...] | None]:
    """Split ``BODY`` or ``BODY=VALUE,…`` into the body and the texts of its values."""
    body, separator, values = text.partition("=")
    return body, tuple(values.split(",")) if separator else None


def _value(text: str, told: str, tables: Tables) -> float:
    """Return a value in SI units, and refuse angles over a turn that have no unit."""
    try:
        value = value_of(text, *tables)
    except ModelError as error:
        raise RegularizeError(f"{told}: {error}") from error
    # Whoever writes 30 means degrees.
    if tables == (RADIANS,) and abs(value) > 2 * math.pi and not (parts(text) or (0, ""))[1]:
        raise RegularizeError(
            f"{told}: {text} radians are more than a turn; write {text}deg or {text}rad"
        )
    return value


def quantity(*tables: Mapping[str, float]) -> Callable[[str], float]:
    """Return a reader for an option's value with a unit of these tables, or in SI units."""

    def read(text: str) -> float:
        try:
            return value_of(text, *tables)
        except ModelError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


length, angle_or_length = quantity(METRES), quantity(*COORDINATES)


def count(text: str) -> int:
    """Read a number of things, not negative."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below zero")
    return number


def some(text: str) -> int:
    """Read a number of things, one or more."""
    if number := count(text):
        return number
    raise argparse.ArgumentTypeError(f"{text}: one or more are needed")


def point_of(text: str) -> tuple[float, float, float]:
    """Read a point in metres from three lengths."""
    found = [_value(part, f"--point {text}", (METRES,)) for part in text.split(",")]
    if len(found) != 3:
        raise RegularizeError(f"--point {text}: expected three lengths, such as 0,0,400mm")
    return found[0], found[1], found[2]


#: What argparse takes for the kinds of values that tables of options name; other modules add some.
KINDS: dict[str, dict[str, Any]] = {
    name: {"type": read}
    for name, read in {
        "path": Path,
        "int": int,
        "count": count,
        "some": some,
        "positive": positive,
        "length": length,
        "names": names,
    }.items()
}
