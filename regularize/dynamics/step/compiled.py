"""Tables of a tree as the C header names them, and the compiled kernel on them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.lie.arrays import Array
from regularize.validation import numbers

#: The C sources.
SOURCES = Path(__file__).parent / "c"


@cache
def names(of: str) -> tuple[str, ...]:
    """Return names in a list of ``tables.h``: SIZES, INTEGERS, REALS or WORKSPACE."""
    begun = _header().split(f"#define {of}(X)")[1]
    # The list goes on where a line ends with a backslash.
    listed = re.split(r"(?<!\\)\n", begun, maxsplit=1)[0]
    return tuple(re.findall(r"X\((\w+)", listed))


@cache
def _header() -> str:
    return (SOURCES / "tables.h").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False, repr=False)
class Tables:
    """Tables of a tree, as the C code reads them.

    ``integers`` begin with where each section starts; lengths are multiples of ``sizes``.
    """

    integers: NDArray[np.int32]
    reals: Array
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, sizes: Mapping[str, int], sections: Mapping[str, ArrayLike]) -> Tables:
        """Make tables from sections by name; those that are not given are empty."""
        known = {*names("INTEGERS"), *names("REALS")}
        if not {*sections} <= known or not {*sizes} <= {*names("SIZES")}:
            wrong = ({*sections} - known) | ({*sizes} - {*names("SIZES")})
            raise KeyError(f"not in tables.h: {wrong}")
        counts = [{"one": 1, **sizes}.get(name, 0) for name in names("SIZES")]
        every: dict[str, ArrayLike] = {"size": counts, **sections}
        starts, whole = _joined(every, names("INTEGERS"), np.dtype(np.int32))
        real_starts, reals = _joined(every, names("REALS"), np.dtype(np.float64))
        heads = len(starts) + len(real_starts)
        head = np.array([*(heads + s for s in starts), *real_starts], dtype=np.int32)
        integers = np.concatenate([head, whole])
        integers.flags.writeable = reals.flags.writeable = False
        return cls(integers, reals, dict(zip(names("SIZES"), counts, strict=True)))


def _joined(
    sections: Mapping[str, ArrayLike], wanted: tuple[str, ...], dtype: np.dtype[Any]
) -> tuple[list[int], NDArray[Any]]:
    """Return where each section starts, and all of them, never empty."""
    arrays = [np.asarray(sections.get(name, ()), dtype=dtype).reshape(-1) for name in wanted]
    lengths = [len(array) for array in arrays]
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    return starts, np.concatenate([*arrays, np.zeros(1, dtype=dtype)])


Kernel: Any = None
if os.environ.get("REGULARIZE_KERNEL") != "Python":
    # Where it was installed without a C compiler, there is none.
    with suppress(ImportError):
        from regularize.dynamics.step.compiled import Kernel


def which() -> str:
    """What computes dynamics: ``compiled`` code, or ``Python`` where there is none.

    Results are the same. With the environment variable ``REGULARIZE_KERNEL=Python`` the compiled
    code is left aside.
    """
    return "Python" if Kernel is None else "compiled"


def compiled(tables: Tables) -> Any:
    """Return the compiled kernel on tables, or None where there is none."""
    if Kernel is None:
        return None
    return Kernel(tables.integers, tables.reals, numbers)
