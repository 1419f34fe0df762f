"""The compiled kernel, where there is one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from regularize.kernel.sections import Tables

Kernel: Any
try:
    from regularize.kernel._compiled import Kernel
except ImportError:  # installed without a C compiler
    Kernel = None


def which() -> str:
    """What computes dynamics: ``compiled``, or ``Python`` where there is no compiled kernel."""
    return "Python" if Kernel is None else "compiled"


def compiled(tables: Tables) -> Any:
    """The compiled kernel on tables, or None where there is none."""
    if Kernel is None:
        return None
    contiguous = partial(np.ascontiguousarray, dtype=np.float64)
    return Kernel(tables.integers, tables.reals, np.empty, contiguous)
