"""Many configurations, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array

#: Configurations that are looked at together, so that what belongs to them stays in the processor's
#: cache, and the matrices of large mechanisms within memory.
CHUNK = 4096

Result = TypeVar("Result", Array, NDArray[np.bool_])


def in_parts(function: Callable[[Array], Result], q: Array) -> Result:
    """A function of configurations (K, n), whose results (K, ...) are put together.

    Those of large mechanisms are fewer at a time.
    """
    size = min(CHUNK, max(1, 16 * CHUNK // max(1, q.shape[1])))
    parts = [function(q[k : k + size]) for k in range(0, max(1, len(q)), size)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
