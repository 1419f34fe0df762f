"""Results as named columns: plain arrays always, pandas and xarray where they are installed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.errors import RegularizeError
from regularize.lie.screw import Array


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
    """As many names of axes as there are: the last ones are the result's own."""
    others = count - len(names)
    first = ["sample"] if others == 1 else [f"sample_{i}" for i in range(others)]
    return [*first, *names][:count]


def coordinate_columns(names: Sequence[str], q: Array) -> dict[str, NDArray[Any]]:
    """Coordinates by name; the last axis of ``q`` is theirs."""
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
    """A small table for notebooks, everything escaped."""
    from html import escape

    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(str(key))}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for key, value in rows.items()
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"
