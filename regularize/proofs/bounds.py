"""What holds of rounded numbers without knowing which exact ones they mean: lower bounds of ranks.

That rows depend on others rests on exact relations of the joints. That rows are *independent* does
not: what is true of some joints is true of all joints near them. So wherever relations cannot be
recognised, and of what is proved as well, this much can be said. It is checked with the standard
library alone, in integers that stand for floating-point numbers and intervals around them.

**Bound.** Let B be a square part, of r rows and columns, of the matrix of all closure equations of
some loops at the pose, and C any matrix. Let numbers in B be off by d at most. If the sums of the
rows of |1 - C B| + d |C| E, with E full of ones, are below one, then C B is invertible for all
these numbers; so is B, and at least r of the equations are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from regularize.proofs import verifier
from regularize.proofs.verifier import Verdict, need


def verify(document: Any) -> Verdict:
    """Check a proof, as ``json.load`` reads it, with the bounds in it.

    Args:
        document: From ``prove``.
    """
    verdict = verifier.verify(document)
    try:
        said = tuple(_bound(part) for part in document["bounds"] if verdict.holds)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Verdict(False, (), (), f"bounds: {error or type(error).__name__}")
    return verdict._replace(claims=verdict.claims + said)


def _bound(part: Any) -> str:
    """Check a lower bound of the rank of the equations of some loops."""
    joints = {joint["name"]: joint for joint in part["joints"]}
    columns = [(name, k) for name in sorted(joints) for k in range(len(joints[name]["written"]))]
    rows = []
    for loop in part["loops"]:
        signs = _signs([(name, joints[name]["bodies"]) for name in loop])
        need(len(signs) == len(loop), "a loop passes a joint twice")
        for i in range(6):
            rows.append(
                [signs.get(n, 0) * Fraction(joints[n]["written"][k][i]) for n, k in columns]
            )
    at = [part["rows"], part["columns"]]
    rank, off = len(part["rows"]), Fraction(part["off"])
    square = all(len({*own}) == len(own) == rank and min(own, default=0) >= 0 for own in at)
    need(square and off >= 0 and len(part["inverse"]) == rank, "there is no square part")
    chosen, unit = _whole([[rows[i][j] for i in at[0]] for j in at[1]])
    inverse, other = _whole([[Fraction(x) for x in row] for row in part["inverse"]])
    one = unit * other
    for i, row in enumerate(inverse):
        product = [sum(c * b for c, b in zip(row, column, strict=True)) for column in chosen]
        left = sum(abs(x - one * (i == j)) for j, x in enumerate(product))
        spread = off * rank * sum(map(abs, row)) * unit
        need(left + spread < one, "the rows may depend on each other")
    most = 6 * len(part["loops"]) - rank
    names = [*joints]
    end = "; closed, they lock every joint" if rank == len(columns) else ""
    return (
        f"{names[0]} to {names[-1]}: at least {rank} equations of their loops are independent at "
        f"the pose for all joints within {float(off):.0e}, no more than {most} redundant there{end}"
    )


def _whole(rows: list[list[Fraction]]) -> tuple[list[list[int]], int]:
    """Numbers with one common denominator, and this."""
    unit = max((x.denominator for row in rows for x in row), default=1)
    return [[int(x * unit) for x in row] for row in rows], unit


def _signs(loop: Sequence[tuple[str, Sequence[str]]]) -> dict[str, int]:
    """How a loop passes its joints, from parent to child (1) or back (-1)."""
    signs = {}
    start = body = loop[0][1][0]
    for name, (parent, child) in loop:
        need(body in (parent, child), f"the loop is interrupted before {name}")
        signs[name], body = (1, child) if body == parent else (-1, parent)
    need(body == start, "the loop does not end where it starts")
    return signs
