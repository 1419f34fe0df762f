"""What a recorded program costs: its operations, those within the functions it calls included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from regularize.assembly_modes.closed_form.tape import Scalar

#: Number of results of the functions that are called; then additions, multiplications, divisions,
#: square roots, sines, cosines, arctangents of each.
FUNCTIONS = {
    "circle": (3, (5, 8, 2, 1, 0, 0, 0)),
    "quadratic": (2, (2, 3, 1, 1, 0, 0, 0)),
    "unit": (2, (1, 2, 2, 1, 0, 0, 0)),
    "across": (3, (11, 15, 4, 1, 0, 0, 0)),
    "angle": (1, (0, 0, 0, 0, 0, 0, 1)),
    "angle_from": (1, (2, 1, 0, 0, 0, 0, 1)),
    "exponential": (12, (43, 56, 4, 1, 1, 1, 0)),
    "rotation_vector": (3, (11, 8, 1, 1, 0, 0, 1)),
}
#: Which kind of operation those are that every language has.
_KINDS = {"add": 0, "subtract": 0, "negative": 0, "multiply": 1, "divide": 2, "sin": 4, "cos": 5}


@dataclass(frozen=True)
class Operations:
    """Number of operations for one solution.

    Attributes:
        additions: Additions, subtractions and changes of sign.
        multiplications: Multiplications, squares included.
        divisions: Divisions.
        square_roots: Square roots.
        sines: Sines.
        cosines: Cosines.
        arctangents: Arctangents of two arguments.
    """

    additions: int
    multiplications: int
    divisions: int
    square_roots: int
    sines: int
    cosines: int
    arctangents: int

    @classmethod
    def of(cls, program: Sequence[Scalar]) -> Operations:
        """Those of some lines of a program."""
        names = [x.operation.name for x in program]
        counts = np.bincount([_KINDS[name] for name in names if name in _KINDS], minlength=7)
        for name in names:
            counts += FUNCTIONS.get(name, (0, (0,) * 7))[1]
        return cls(*counts.tolist())

    def __str__(self) -> str:
        """Those that there are, in words."""
        counts = (
            f"{count} {name.replace('_', ' ')}" for name, count in vars(self).items() if count
        )
        return ", ".join(counts) or "none"

    @property
    def total(self) -> int:
        """All of them together."""
        return sum(astuple(self))
