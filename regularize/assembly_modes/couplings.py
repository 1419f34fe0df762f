"""Coordinates that follow from couplings, of formulas and of numbers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from regularize.model.graph import CouplingRow


def next_coupled(
    couplings: Sequence[CouplingRow], known: Set[int], plain: Set[int]
) -> tuple[CouplingRow, int] | None:
    """A coupling with one coordinate left, and this coordinate.

    Args:
        couplings: The couplings.
        known: Columns that are known.
        plain: Those that are no angles up to whole turns, which determine nothing.
    """
    for coupling in couplings:
        left = set(coupling.columns) - known
        if len(left) == 1 and set(coupling.columns) - left <= plain:
            (column,) = left
            if _factor(coupling, column) != 0.0:
                return coupling, column
    return None


def coupled(coupling: CouplingRow, column: int, values: Mapping[int, Any], zero: Any) -> Any:
    """One coordinate of a coupling from the others.

    Args:
        coupling: The coupling.
        column: The coordinate.
        values: The others, by column.
        zero: Nothing, of their kind.
    """
    total = zero + coupling.offset
    for other, k in zip(coupling.columns, coupling.coefficients, strict=True):
        if other != column:
            total = total - values[other] * k
    return total * (1.0 / _factor(coupling, column))


def _factor(coupling: CouplingRow, column: int) -> float:
    terms = zip(coupling.columns, coupling.coefficients, strict=True)
    return float(sum(k for c, k in terms if c == column))
