"""The solutions of all branches at some inputs, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array


@dataclass(frozen=True, eq=False)
class Solutions:
    """Branches at some inputs; leading axes are those of the inputs.

    Attributes:
        q: Coordinates of all joints, NaN where not assembled, shape (..., branches, n).
        assembled: Which branches can be assembled, shape (..., branches).
        margin: Scaled discriminant of every step with two solutions; it is zero where the two
            branches meet and negative beyond, shape (..., branches, steps).
    """

    q: Array
    assembled: NDArray[np.bool_]
    margin: Array


Entries = TypeVar("Entries", Array, NDArray[np.bool_])


def spread(array: Entries, shape: tuple[int, ...]) -> Entries:
    """The first axis spread over several; read-only, as the original."""
    result = array.reshape(*shape, *array.shape[1:])
    result.setflags(write=False)
    return result
