"""Values that show themselves in one line, whatever they hold."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.escape import displayed


class ShortRepr:
    """A dataclass made with ``repr=False`` whose ``repr`` is one line of at most 200 characters."""

    def __repr__(self) -> str:
        """The class and what its fields hold; sizes in the place of what is large."""
        held: list[str] = []
        for field in getattr(self, "__dataclass_fields__", {}).values():
            value = getattr(self, field.name)
            if field.repr and value is not None and not _nothing(value):
                held.append(f"{field.name}={short(value)}")
        return _cut(f"{type(self).__name__}({', '.join(held)})", 200)


class Frozen(ShortRepr):
    """A dataclass whose arrays cannot be written to, nor those of its copies and pickles."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields, for which pickling forgets that they are read-only."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)


def short(value: object, most: int = 80) -> str:
    """A value in a few words on one line.

    Args:
        value: Anything.
        most: Characters beyond which sizes and types take the place of values.
    """
    if isinstance(value, np.ndarray):
        return f"array{value.shape}" if value.size > 3 else _numbers(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, str | bool | Number):
        return _cut(repr(value), most)
    if isinstance(value, Mapping):
        return f"{len(value)} entries" if len(value) != 1 else "1 entry"
    if isinstance(value, tuple | list):
        text = ", ".join(short(each, most) for each in value[:8])
        plain = all(isinstance(each, str | Number) for each in value)
        if plain and len(value) <= 8 and len(text) <= most:
            return f"[{text}]"
        return f"{len(value)} x {type(value[0]).__name__}"
    text = repr(value)
    large = len(text) > most or "\n" in text or " object at 0x" in text
    return f"<{type(value).__name__}>" if large else displayed(text)


def _numbers(values: NDArray[Any]) -> str:
    return "[" + ", ".join(short(each) for each in values.ravel().tolist()) + "]"


def _nothing(value: object) -> bool:
    return isinstance(value, tuple | list | Mapping) and not value


def _cut(text: str, most: int) -> str:
    text = displayed(text)
    return text if len(text) <= most else f"{text[: most - 2]}…{text[-1]}"
