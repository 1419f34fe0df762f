"""Results as named columns: plain arrays always, pandas and xarray where they are installed.

Values that show themselves in one line, whatever they hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.errors import RegularizeError
from regularize.escape import displayed
from regularize.lie.arrays import Array


class NamedColumns(ABC):
    """Results that are arrays of one shape, each with a name."""

    @abstractmethod
    def columns(self) -> dict[str, NDArray[Any]]:
        """Every quantity by its name, arrays of one shape."""

    @property
    def axes(self) -> Sequence[str]:
        """Names of the axes of the columns, where they have names."""
        return ()

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each entry, indexed by its place along the axes.

        Raises:
            RegularizeError: pandas is not installed.
        """
        pandas = _module("pandas")
        columns = self.columns()
        shape = np.shape(next(iter(columns.values()), np.zeros(0)))
        index = None
        if len(shape) > 1:
            places = [range(size) for size in shape]
            index = pandas.MultiIndex.from_product(places, names=_axes(self.axes, len(shape)))
        return pandas.DataFrame({k: np.ravel(v) for k, v in columns.items()}, index=index)

    def to_xarray(self) -> Any:
        """An ``xarray.Dataset`` with one variable for each column.

        Raises:
            RegularizeError: xarray is not installed.
        """
        xarray = _module("xarray")
        return xarray.Dataset(
            {k: (_axes(self.axes, np.ndim(v)), np.asarray(v)) for k, v in self.columns().items()}
        )


def _axes(names: Sequence[str], count: int) -> list[str]:
    """Name as many axes as there are: the last ones by the result, those before as samples."""
    others = count - len(names)
    first = ["sample"] if others == 1 else [f"sample_{i}" for i in range(others)]
    return [*first, *names][:count]


def coordinate_columns(names: Sequence[str], q: Array) -> dict[str, NDArray[Any]]:
    """Return coordinates by name; the last axis of ``q`` is theirs."""
    return {name: q[..., i] for i, name in enumerate(names)}


def _module(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise RegularizeError(
            f"{name} is not installed: pip install {name}; columns() gives plain arrays without it"
        ) from error


def table_html(title: str, rows: Mapping[str, object]) -> str:
    """Write a small table for notebooks, everything escaped."""
    from html import escape

    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(str(key))}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for key, value in rows.items()
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


class ShortRepr:
    """A dataclass made with ``repr=False`` whose ``repr`` is one line of at most 200 characters."""

    def __repr__(self) -> str:
        """The class and what its fields hold; sizes in the place of what is large."""
        shown: list[str] = []
        for field in getattr(self, "__dataclass_fields__", {}).values():
            value = getattr(self, field.name)
            empty = value is None or (isinstance(value, tuple | list | Mapping) and not value)
            if field.repr and not empty:
                shown.append(f"{field.name}={short(value)}")
        return _cut(f"{type(self).__name__}({', '.join(shown)})", 200)


class Frozen(ShortRepr):
    """A dataclass whose arrays cannot be written to, nor those of its copies and pickles."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the fields as read-only, which pickling forgets."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)


def short(value: object, most: int = 80) -> str:
    """Write a value on one line; sizes and types take the place of what is long."""
    if isinstance(value, np.ndarray):
        numbers = ", ".join(short(number) for number in value.ravel()[:4].tolist())
        return f"array{value.shape}" if value.size > 3 else f"[{numbers}]"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, str | bool | Number):
        return _cut(repr(value), most)
    if isinstance(value, Mapping):
        return f"{len(value)} entries" if len(value) != 1 else "1 entry"
    if isinstance(value, tuple | list):
        text = ", ".join(short(entry, most) for entry in value[:8])
        plain = all(isinstance(entry, str | Number) for entry in value)
        if plain and len(value) <= 8 and len(text) <= most:
            return f"[{text}]"
        return f"{len(value)} x {type(value[0]).__name__}"
    text = repr(value)
    large = len(text) > most or "\n" in text or " object at 0x" in text
    return f"<{type(value).__name__}>" if large else displayed(text)


def _cut(text: str, most: int) -> str:
    text = displayed(text)
    return text if len(text) <= most else f"{text[: most - 2]}…{text[-1]}"
