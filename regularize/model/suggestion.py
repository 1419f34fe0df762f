"""What a name that is unknown may have been meant to be, and what there is."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from regularize.displayed import displayed_name


def did_you_mean(name: object, known: Iterable[str], *, most: int = 12) -> str:
    """The end of a message, such as `` (did you mean 'x'?); known are x, y``.

    Args:
        name: What is unknown.
        known: What there is.
        most: Names that are listed; the rest are counted.
    """
    names = list(dict.fromkeys(known))
    if not names:
        return "; there is none"
    lowered = {each.lower(): each for each in reversed(names)}
    near = get_close_matches(str(name).lower(), lowered, n=1)
    hint = f" (did you mean {lowered[near[0]]!r}?)" if near else ""
    shown = ", ".join(map(displayed_name, names[:most]))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{hint}; known are {shown}{more}"
