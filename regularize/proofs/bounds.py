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
from regularize.proofs.verifier import Verdict, need, reduced


class CheckedProof(Verdict):
    """A verdict that shows itself in one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Whether it holds, how much, or why not."""
        told = f"holds, {len(self.claims)} claims" if self.holds else f"{self.reason:.150}"
        return f"<Verdict: {told}>"


def verify(document: Any) -> Verdict:
    """Check a proof, as ``json.load`` reads it, with the bounds in it.

    Args:
        document: From ``prove``.
    """
    verdict = verifier.verify(document)
    if not verdict.holds:
        return CheckedProof(*verdict)
    try:
        for key in ("parts", "bounds"):
            names = [j["name"] for p in document[key] for j in p["joints"] if not j.get("virtual")]
            need(len(names) == len({*names}), f"two {key} speak of one joint")
        said = tuple(_bound(part) for part in document["bounds"])
        for entry in document["undecided"]:
            need([*map(type, entry["cuts"])] and type(entry["reason"]) is str, "no reason is given")
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return CheckedProof(False, (), (), f"bounds: {error or type(error).__name__}")
    return CheckedProof(*verdict._replace(claims=verdict.claims + said))


def _bound(part: Any) -> str:
    """Check a lower bound of the rank of the equations of some loops."""
    joints = {joint["name"]: joint for joint in part["joints"]}
    need(not any("virtual" in joint for joint in joints.values()), "a joint is not the machine's")
    columns = [(name, k) for name in sorted(joints) for k in range(len(joints[name]["written"]))]
    rows, rings = [], []
    for loop in part["loops"]:
        signs = _signs([(name, joints[name]["bodies"]) for name in loop])
        need(len(signs) == len(loop), "a loop passes a joint twice")
        rings.append([signs.get(name, 0) for name in joints])
        for i in range(6):
            rows.append([signs.get(n, 0) * _number(joints[n]["written"][k][i]) for n, k in columns])
    ends = [joint["bodies"] for joint in joints.values()]
    bodies = sorted({body for pair in ends for body in pair})
    incidence = [[(b == child) - (b == parent) for b in bodies] for parent, child in ends]
    every = len(reduced(rings)) == len(rings) == len(joints) - len(reduced(incidence))
    need(every, "the loops depend on each other, or are not all")
    at = [part["rows"], part["columns"]]
    rank, off = len(part["rows"]), _number(part["off"])
    square = all(len({*own}) == len(own) == rank and min(own, default=0) >= 0 for own in at)
    need(square and off >= 0 and len(part["inverse"]) == rank, "there is no square part")
    chosen, unit = _whole([[rows[i][j] for i in at[0]] for j in at[1]])
    inverse, other = _whole([[_number(x) for x in row] for row in part["inverse"]])
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


def _number(written: Any) -> Fraction:
    """A number as JSON has it; text could stand for one that no memory holds."""
    need(type(written) in (int, float), f"{written!r:.40} is no number")
    return Fraction(written)


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
