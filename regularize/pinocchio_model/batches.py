"""Many states at once, here or on an executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from regularize.arguments import numbers
from regularize.errors import ModelError
from regularize.lie.screw import Array

if TYPE_CHECKING:
    from concurrent.futures import Executor


def batch(
    function: Callable[..., Array], arguments: Sequence[Array], executor: Executor | None = None
) -> Array:
    """Values of a function at N states.

    Args:
        function: Takes arguments with leading axis K and returns values with leading axis K. It is
            sent to the executor's workers, and pickled where these are processes.
        arguments: Shapes (N, …), or without the leading axis where all states share a value.
        executor: Where tasks are computed; by default here, as one.

    Raises:
        ModelError: The arguments are of different lengths.
        TypeError: One of them is none of numbers.
    """
    arrays = [np.atleast_1d(numbers(a)) for a in arguments]
    lengths = {len(a) for a in arrays if a.ndim > 1}
    if len(lengths) > 1:
        raise ModelError(f"arguments of different lengths {sorted(lengths)}")
    if not lengths:
        raise ModelError("scalars are no states; pass arrays")
    (N,) = lengths
    arrays = [a if a.ndim > 1 else np.broadcast_to(a, (N, *a.shape)) for a in arrays]
    if executor is None or N == 0:
        return function(*arrays)
    # A few tasks for every processor, so that none is idle while another has most of the work.
    tasks = np.array_split(np.arange(N), min(N, 4 * (os.cpu_count() or 1)))
    parts = executor.map(function, *([a[task] for task in tasks] for a in arrays))
    return np.concatenate(list(parts))
