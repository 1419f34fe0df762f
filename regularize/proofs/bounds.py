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

import ast
import inspect
from fractions import Fraction
from typing import Any

from regularize.proofs import verifier
from regularize.proofs.verifier import Verdict, directions, joined, need, reduced, shown, spend


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
    return CheckedProof(*verifier.verify(document, _claims))


def _claims(document: Any) -> list[str]:
    """What bounds say; undecided cuts are of joints that the document knows, if it states any."""
    named = set[str]()
    for key in ("parts", "bounds"):
        names = [j["name"] for p in document[key] for j in p["joints"] if "virtual" not in j]
        need(len(names) == len({*names}), f"two {key} speak of one joint")
        named |= {*names}
    for entry in document["undecided"]:
        known = not named or named.issuperset(entry["cuts"])
        need(entry["cuts"] and known, "what is undecided is of no joint that is known")
    return [_bound(part) for part in document["bounds"]]


def _bound(part: Any) -> str:
    """Check a lower bound of the rank of the equations of some loops."""
    joints = {joint["name"]: joint for joint in part["joints"]}
    ends = {name: tuple(joint["bodies"]) for name, joint in joints.items()}
    columns = [(name, k) for name in sorted(joints) for k in range(len(joints[name]["written"]))]
    spend(10 * len(part["loops"]) * (len(joints) + 6 * len(columns)))
    rows, rings = [], []
    for loop in part["loops"]:
        signs = directions(loop, ends)
        rings.append([signs.get(name, 0) for name in joints])
        for i in range(6):
            rows.append([signs.get(n, 0) * joints[n]["written"][k][i] for n, k in columns])
    root = joined(ends.values())
    bodies = {body for pair in ends.values() for body in pair}
    independent = len(joints) - len(bodies) + len({*map(root, bodies)})
    every = len(reduced(rings)) == len(rings) == independent
    need(every, "the loops depend on each other, or are not all")
    at = [part["rows"], part["columns"]]
    rank, off = len(part["rows"]), Fraction(part["off"])
    square = all(len({*own}) == len(own) == rank and min(own, default=0) >= 0 for own in at)
    need(
        square and off >= 0 and [*map(len, part["inverse"])] == [rank] * rank,
        "there is no square part",
    )
    chosen, unit = _whole([[rows[i][j] for j in at[1]] for i in at[0]])
    inverse, other = _whole(part["inverse"])
    one, entries = unit * other, [[(j, x) for j, x in enumerate(row) if x] for row in chosen]
    size = 1 + (unit.bit_length() * other.bit_length() >> 15)
    for i, row in enumerate(inverse):
        spend(4 * size * (rank + sum(map(len, entries))))
        product = [0] * rank
        for c, those in zip(row, entries, strict=True):
            for j, x in those if c else ():
                product[j] += c * x
        left = sum(abs(x - one * (i == j)) for j, x in enumerate(product))
        spread = off * rank * sum(map(abs, row)) * unit
        need(left + spread < one, "the rows may depend on each other")
    most = 6 * len(part["loops"]) - rank
    names = [*map(shown, joints)]
    end = "; closed, they lock every joint" if rank == len(columns) else ""
    return (
        f"{names[0]} to {names[-1]}: at least {rank} equations of their loops are independent at "
        f"the pose for all joints within {float(off):.0e}, no more than {most} redundant there{end}"
    )


def _whole(rows: list[list[float]]) -> tuple[list[list[int]], int]:
    """Numbers with one common denominator, and this."""
    spend(20 * sum(map(len, rows)))
    ratios = [[x.as_integer_ratio() for x in row] for row in rows]
    unit = max((below for row in ratios for _, below in row), default=1)
    return [[above * (unit // below) for above, below in row] for row in ratios], unit


def theorem(*names: str) -> str:
    """Paragraphs of the checker's own text by their headings, in its order; all without names.

    Example:
        >>> theorem("Motion").split(".")[0]
        'Motion'
    """
    found = []
    text = ast.get_docstring(ast.parse(inspect.getsource(verifier))) or ""  # -OO drops ``__doc__``
    for paragraph in text.split("\n**"):
        heading, _, text = paragraph.partition(".**")
        if text and (not names or heading in names):
            items = f"{heading}. {text.strip()}".split("\n- ")
            found += [" ".join(item.replace("*", "").split()) for item in items]
    return "\n".join(found)
