"""Options of the command line, each told by what its help shows.

How wide the output may be, and text laid out in it.
"""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def option(parser: argparse._ActionsContainer, shown: str, words: str, **more: Any) -> None:
    """Add an option, or a place for a value.

    Args:
        parser: Where it belongs.
        shown: Names and value as the help shows them: ``-j --jobs N``, ``--watch``, which has no
            value, ``--joint NAME=KIND …``, which may be given several times; ``file MODEL`` for a
            place. What ``-o`` names is called ``out``.
        words: Its help.
        more: As of ``ArgumentParser.add_argument``.
    """
    *names, value = shown.removesuffix(" …").split(" ") if " " in shown else (shown, "")
    if value:
        more["metavar"] = value
    elif shown.startswith("-"):
        more["action"] = "store_true"
    if shown.endswith("…"):
        more = {"action": "extend" if "nargs" in more else "append", "default": [], **more}
    if names == ["-o"]:
        more["dest"] = "out"
    parser.add_argument(*names, help=words, **more)


def width(most: int = 160, least: int = 60) -> int:
    """Columns of the terminal, 100 where there is none, between what is readable."""
    return min(most, max(least, shutil.get_terminal_size((100, 24)).columns))


def wrapped(text: str, indent: str = "", first: str | None = None, most: int = 100) -> str:
    """Paragraphs that fit the terminal; words that do not fit, such as paths, stay whole."""
    fill = textwrap.TextWrapper(
        width(most),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(fill.fill(paragraph) for paragraph in text.split("\n"))


def fitted(lines: Iterable[str]) -> str:
    """Lines as one text that fits the terminal; those that are too long go on, set in."""
    found = []
    for line in lines:
        own = len(line) - len(line.lstrip())
        long = len(line) > width()
        found.append(wrapped(line.strip(), " " * (own + 4), " " * own, 160) if long else line)
    return "".join(f"{line}\n" for line in found)


def listed_in_columns(entries: Sequence[tuple[str, str]], gap: int = 2) -> Iterator[str]:
    """Names with what they mean beside them, folded to the terminal, a line each."""
    most = max((len(name) for name, _ in entries), default=0) + gap
    for name, words in entries:
        yield from wrapped(words, indent=" " * most, first=name.ljust(most)).split("\n")
