r"""Independent columns of a Jacobian by LU with complete pivoting.

The thesis (Paul 2020, sections 3.2.3 and 5.5): the largest remaining entry becomes the next pivot,
until none is left that differs from zero; the rows that were not reached are redundant, the columns
that were not reached are independent. Locked columns never become pivots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.displayed import did_you_mean
from regularize.errors import ModelError
from regularize.lie import subalgebra
from regularize.lie.screw import Array, read_only
from regularize.reduction.rank import Rank, decide_rank


class NotIndependent(ModelError):
    """Coordinates that were to be independent determine each other.

    Attributes:
        coordinates: Names of those concerned.
    """

    def __init__(self, coordinates: Sequence[str], mobility: int) -> None:
        """Name the coordinates and the way out."""
        self.coordinates, self.mobility = tuple(coordinates), mobility
        listed = ", ".join(repr(name) for name in coordinates)
        reason = (
            f"{listed} cannot move"
            if len(coordinates) == 1
            else f"{listed} depend on each other: when all but one are given, so is the last"
        )
        super().__init__(
            f"{reason}; leave {'it' if len(coordinates) == 1 else 'one of them'} out "
            f"(the mechanism has {mobility} independent coordinates here)"
        )


@dataclass(frozen=True, eq=False)
class Pivots:
    """Outcome of an LU factorisation with complete pivoting.

    Attributes:
        rank: Number of pivots that differ from zero.
        rows: Rows in the order of the pivots, those left over last.
        columns: Columns in the order of the pivots, those left over last, locked ones at the end.
        values: Absolute values of the pivots, shape (rank,).
    """

    rank: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: Array


def complete_pivoting(
    matrix: Array, locked: Iterable[int] = (), rtol: float = subalgebra.RTOL
) -> Pivots:
    """LU factorisation that takes the largest remaining entry as pivot (thesis, figures 9 to 11).

    Args:
        matrix: Shape (m, n).
        locked: Columns that must not become pivots.
        rtol: Entries below this fraction of the first pivot count as zero.
    """
    work = np.array(matrix, dtype=np.float64)
    m, n = work.shape
    fixed = sorted(set(locked))
    rows = np.arange(m)
    columns = np.array([c for c in range(n) if c not in set(fixed)], dtype=int)
    work = work[:, columns]
    values: list[float] = []
    while len(values) < min(work.shape):
        k = len(values)
        rest = np.abs(work[k:, k:])
        i, j = np.unravel_index(int(np.argmax(rest)), rest.shape)
        value = float(rest[i, j])
        if value <= rtol * (values[0] if values else 1e-300):
            break
        for order, axis, at in ((rows, 0, k + int(i)), (columns, 1, k + int(j))):
            order[[k, at]] = order[[at, k]]
            swapped = np.swapaxes(work, 0, axis)
            swapped[[k, at]] = swapped[[at, k]]
        work[k + 1 :, k:] -= np.outer(work[k + 1 :, k] / work[k, k], work[k, k:])
        values.append(value)
    return Pivots(
        len(values),
        tuple(int(r) for r in rows),
        (*(int(c) for c in columns), *fixed),
        read_only(values),
    )


@dataclass(frozen=True, eq=False)
class Choice:
    """Columns and rows of a Jacobian that separate dependent from independent coordinates.

    Attributes:
        independent: Columns of the independent coordinates, increasing.
        dependent: Columns of the dependent ones, in the order of their pivots.
        rows: Rows that determine them, in the order of their pivots.
        redundant: The other rows.
        condition: Condition number of the dependent columns of those rows; 1 where there are none.
        rank: Rank of the whole Jacobian with its evidence.
    """

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]
    redundant: tuple[int, ...]
    condition: float
    rank: Rank


def choose(
    jacobian: Array,
    names: Sequence[str],
    locked: Iterable[int] = (),
    rtol: float = subalgebra.RTOL,
    preferred: Iterable[int] = (),
) -> Choice:
    """Split the columns of a Jacobian, those that are locked among the independent ones.

    Args:
        jacobian: Rows of closed loops, lengths scaled, shape (m, n).
        names: Name of every column.
        locked: Columns that have to be independent.
        rtol: Relative tolerance of the rank.
        preferred: Columns that are independent as well where they can be, and clearly so.

    Raises:
        NotIndependent: The locked columns depend on each other.
    """
    jacobian = np.asarray(jacobian).reshape(-1, len(names))
    _, s, vt = np.linalg.svd(jacobian, full_matrices=True)
    rank = decide_rank(s, rtol)
    locked = sorted(set(locked))
    allowed = vt[rank.rank :].T
    dependent_ones = tied(allowed[locked], rtol)
    if dependent_ones:
        raise NotIndependent([names[locked[i]] for i in dependent_ones], allowed.shape[1])
    for column in preferred:
        if column not in locked and not tied(allowed[[*locked, column]], max(rtol, 1e-3)):
            locked.append(column)
    pivots = complete_pivoting(jacobian, locked, rtol * 1e-2)
    # The rank is that of the singular values: growing rounding errors are no pivots.
    dependent, rows = pivots.columns[: rank.rank], pivots.rows[: rank.rank]
    return Choice(
        independent=tuple(sorted(pivots.columns[rank.rank :])),
        dependent=dependent,
        rows=rows,
        redundant=tuple(sorted(pivots.rows[rank.rank :])),
        condition=float(np.linalg.cond(jacobian[np.ix_(rows, dependent)])) if dependent else 1.0,
        rank=rank,
    )


def tied(rows: Array, rtol: float) -> list[int]:
    """Rows of a minimal dependent set; empty where all are independent.

    Args:
        rows: Shape (k, n).
        rtol: Singular values below it are zero.
    """
    for k in range(len(rows)):
        u, s, _ = np.linalg.svd(rows[: k + 1], full_matrices=True)
        if k + 1 > rows.shape[1] or s[-1] <= rtol:
            weights = np.abs(u[:, -1])
            return [i for i in range(k + 1) if weights[i] > 1e-6]
    return []


def columns_of(known: Sequence[str], names: Iterable[str]) -> list[int]:
    """Positions of names; raises ``ModelError`` for an unknown one."""
    names = tuple(names)
    for name in names:
        if name not in known:
            raise ModelError(f"there is no coordinate {name!r}{did_you_mean(name, known)}")
    return [known.index(name) for name in names]
