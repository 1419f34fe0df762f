"""What a name that is unknown may have been meant to be, and what there is."""

from __future__ import annotations

from collections.abc import Iterable

from regularize.displayed import displayed_name


def did_you_mean(name: object, known: Iterable[str], *, most: int = 12) -> str:
    """The end of a message, such as `` (did you mean 'x'?); known are x, y``.

    Args:
        name: What is unknown.
        known: What there is.
        most: Names that are listed; the rest are counted.
    """
    from difflib import get_close_matches  # only where something went wrong

    names = list(dict.fromkeys(known))
    if not names:
        return "; there is none"
    lowered = {each.lower(): each for each in reversed(names)}
    near = get_close_matches(str(name).lower(), lowered, n=1)
    hint = f" (did you mean {lowered[near[0]]!r}?)" if near else ""
    return f"{hint}; known are {named(names, most)}"


def named(names: Iterable[str], most: int = 12) -> str:
    """Names in one line; those beyond the first few are counted."""
    every = list(names)
    shown = ", ".join(map(displayed_name, every[:most])) or "none"
    return f"{shown} and {len(every) - most} more" if len(every) > most else shown
