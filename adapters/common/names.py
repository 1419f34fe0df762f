"""Names of bodies and joints: near misses and new names."""

from __future__ import annotations

from collections.abc import Container, Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """Way out of an unknown name: the nearest known one, or a few of them; starts with ``;``."""
    from difflib import get_close_matches  # only where something is wrong

    known = list(known)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"; did you mean `{close[0]}`?"
    if not known:
        return "; there are none"
    return f"; there are {listed(known)}"


def unique(name: str, taken: Container[str]) -> str:
    """``name``, or ``name_2``, ``name_3`` and so on if it is taken."""
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names for a message: the first ones in backquotes and the number of the others."""
    names = list(names)
    text = ", ".join(f"`{name}`" for name in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
