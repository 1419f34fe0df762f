"""Words of strangers, made safe to show on one line, and their lists, near misses and new names."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import Any

#: Characters that move a cursor, break a line, turn the direction of writing, or are none.
_UNSAFE = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
#: Bytes that ``surrogateescape`` keeps where they cannot be decoded.
_BYTES = re.compile("[\udc80-\udcff]+")
#: Longest name that is shown whole.
LONGEST_NAME = 200


def displayed(text: str) -> str:
    """Return the text with every unsafe character escaped as a backslash and its code."""
    if text.isprintable():  # none of them is
        return text
    text = as_utf8(text)
    return re.sub(_UNSAFE, lambda found: _escape(ord(found[0])), text)


class FileText(str):
    """Words of a file as they may be shown: of this type nothing is made but by the escape."""

    def __new__(cls, text: str) -> FileText:
        """Escape a text, unless it is of this type already."""
        return text if type(text) is cls else super().__new__(cls, displayed(text))


def shown_lines(text: str) -> str:
    """Return lines of a file for a terminal: displayed, but for tabs and the ends of lines."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(displayed, line.split("\t"))) for line in lines)


def as_utf8(text: str) -> str:
    """Return a text in which bytes that the locale had no characters for are read as UTF-8."""
    return _BYTES.sub(
        lambda found: (
            found[0].encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        ),
        text,
    )


def displayed_name(name: str) -> str:
    """Return the name by which a body or joint is known: displayed, and cut with a digest."""
    text = displayed(name)
    if len(text) <= LONGEST_NAME:
        return text
    import hashlib

    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: LONGEST_NAME - len(digest) - 1]}…{digest}"


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def in_comment(text: str) -> str:
    """Make words of strangers safe in a comment in C: they neither end it nor begin another."""
    # Nor may ??/, which is a backslash, join what stands on two lines.
    text = re.sub(r"\?(?=\?)", "? ", _one_line(text))
    return re.sub(r"(?<=[*/])(?=[*/])", " ", text)


def in_docstring(text: str) -> str:
    """Make words of strangers safe within three double quotes in Python."""
    return _one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def json_text(data: object, **layout: Any) -> str:
    """Write JSON on one line, or as laid out, with text as it is where a terminal can show it."""
    import json  # only where it is asked for

    text = as_utf8(json.dumps(data, ensure_ascii=False, allow_nan=False, **layout))
    # Those below U+0020 are escaped by now, or break lines of the layout.
    return re.sub("(?![\x00-\x1f])" + _UNSAFE, lambda found: f"\\u{ord(found[0]):04x}", text)


def did_you_mean(name: object, known: Iterable[str], *, most: int = 12) -> str:
    """Return the end of a message, such as `` (did you mean 'x'?); known are x, y``."""
    from difflib import get_close_matches  # only where something went wrong

    names = list(dict.fromkeys(known))
    if not names:
        return "; there is none"
    lowered = {each.lower(): each for each in reversed(names)}
    near = get_close_matches(str(name).lower(), lowered, n=1)
    hint = f" (did you mean {lowered[near[0]]!r}?)" if near else ""
    return f"{hint}; known are {named(names, most)}"


def named(names: Iterable[str], most: int = 12) -> str:
    """List names in one line; those beyond the first few are counted."""
    every = list(names)
    shown = ", ".join(map(displayed_name, every[:most])) or "none"
    return f"{shown} and {len(every) - most} more" if len(every) > most else shown


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: ``; did you mean `x`?``, or a few of the known names."""
    from difflib import get_close_matches  # only where something is wrong

    known = list(known)
    if close := get_close_matches(name, known, n=1):
        return f"; did you mean `{close[0]}`?"
    return f"; there are {listed(known)}" if known else "; there are none"


def unique(name: str, taken: Container[str]) -> str:
    """Return ``name``, or ``name_2``, ``name_3`` and so on if it is taken."""
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def listed(names: Iterable[str], most: int = 5) -> str:
    """List the first names in backquotes, and count the others."""
    names = list(names)
    text = ", ".join(f"`{name}`" for name in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
