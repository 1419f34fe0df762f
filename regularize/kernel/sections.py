"""The arrays that tables consist of, as the C header names them, and as two arrays of numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.lie.screw import Array

#: The C sources.
SOURCES = Path(__file__).parent / "c"


@cache
def names(of: str) -> tuple[str, ...]:
    """Names in a list of ``tables.h``: ``SIZES``, ``INTEGERS``, ``REALS`` or ``WORKSPACE``."""
    begun = _header().split(f"#define {of}(X)")[1]
    # The list goes on where a line ends with a backslash.
    listed = re.split(r"(?<!\\)\n", begun, maxsplit=1)[0]
    return tuple(re.findall(r"X\((\w+)", listed))


@cache
def _header() -> str:
    return (SOURCES / "tables.h").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False, repr=False)
class Tables:
    """Tables of a machine, as the C code reads them.

    Attributes:
        integers: Where each section starts, the sections of whole numbers, int32, and a checksum of
            all others and of ``reals``, without which the compiled kernel refuses them.
        reals: The sections of real numbers.
        sizes: What lengths are multiples of, by name.
    """

    integers: NDArray[np.int32]
    reals: Array
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, sizes: Mapping[str, int], sections: Mapping[str, ArrayLike]) -> Tables:
        """Tables from all sections by name; those that are not given are empty.

        Raises:
            KeyError: The header does not name a section or a size.
        """
        known = {*names("INTEGERS"), *names("REALS")}
        if not {*sections} <= known or not {*sizes} <= {*names("SIZES")}:
            raise KeyError(f"not in tables.h: {({*sections} - known) | ({*sizes} - known)}")
        counts = [{"one": 1, **sizes}.get(name, 0) for name in names("SIZES")]
        every: dict[str, ArrayLike] = {"size": counts, **sections}
        starts, whole = _joined(every, names("INTEGERS"), np.dtype(np.int32))
        real_starts, reals = _joined(every, names("REALS"), np.dtype(np.float64))
        heads = len(starts) + len(real_starts)
        head = np.array([*(heads + s for s in starts), *real_starts], dtype=np.int32)
        integers = np.concatenate([head, whole])
        sum_ = crc32(reals.tobytes(), crc32(integers[:-1].tobytes()))
        integers[-1:].view(np.uint32)[0] = sum_
        integers.flags.writeable = reals.flags.writeable = False
        return cls(integers, reals, dict(zip(names("SIZES"), counts, strict=True)))


def _joined(
    sections: Mapping[str, ArrayLike], wanted: tuple[str, ...], dtype: np.dtype[Any]
) -> tuple[list[int], NDArray[Any]]:
    """Where each section starts, and all of them, never empty."""
    arrays = [np.asarray(sections.get(name, ()), dtype=dtype).reshape(-1) for name in wanted]
    lengths = [len(array) for array in arrays]
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    return starts, np.concatenate([*arrays, np.zeros(1, dtype=dtype)])
