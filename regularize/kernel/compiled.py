"""The compiled kernel, where there is one."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np

from regularize.arguments import numbers
from regularize.kernel.sections import Tables

Kernel: Any = None
if os.environ.get("REGULARIZE_KERNEL") != "Python":
    # Where it was installed without a C compiler, there is none.
    with suppress(ImportError):
        from regularize.kernel._compiled import Kernel


def which() -> str:
    """What computes dynamics: ``compiled`` code, or ``Python`` where there is none.

    Results are the same. With the environment variable ``REGULARIZE_KERNEL=Python`` the compiled
    code is left aside.
    """
    return "Python" if Kernel is None else "compiled"


def compiled(tables: Tables) -> Any:
    """The compiled kernel on tables, or None where there is none."""
    if Kernel is None:
        return None
    return Kernel(tables.integers, tables.reals, np.empty, numbers)
