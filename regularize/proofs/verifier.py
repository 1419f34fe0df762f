r"""An independent checker of proofs that constraint rows can never matter.

This module needs nothing but Python's standard library and trusts nothing that a document says: it
computes every space again, in integers. ``python verifier.py proof.json`` runs it by itself.

**Setting.** Bodies are joined by joints; the machine is closed at a reference pose. Everything is
written in one frame, fixed at that pose, its origin and unit of length as the document says. A twist
is (v, w), a covector acts on it by the plain product of six numbers, and

    [(v, w), (v', w')] = (w x v' + v x w', w x w').

The columns Z of a joint span a subalgebra of se(3), and the joint moves in its group. Some joints
are *cut*; the others form a forest. M is the set of configurations of the closed machine that can
be reached from the reference pose by continuous motion, g_ij the displacement of body j seen from
body i since then.

**Groups.** A subalgebra A is *a group of i and j* if at every configuration in M (a) g_ij lies in the
connected group of A, and (b) so does, in A, the twist of j relative to i for all velocities of the
joints in place that fulfil the rows of the loops closed before. Then

- *joint*: the span of Z is a group of the joint's two bodies, once the joint is in place;
- *path*: groups of i, k and of k, j give the smallest subalgebra that holds both as one of i, j, for
  products stay in its group, whose adjoint keeps it;
- *meet*: the intersection of two groups of i, j is one: a motion that starts at the identity with
  its twists in both algebras stays in the group of the intersection;
- *locked*: let the joint have one screw Z, outside the sum of a group A of i, b and a group B of b, j.
  Near the identity, exp(A) exp(B) is an immersed manifold with that sum as its tangent space, so it
  meets exp(Zq) in countably many places; a continuous q stays at its place, and there the twist is in
  the sum, hence zero: zero is a group of i, j.

**Seen spaces.** A space P is *seen from k relative to b* if it holds, in a frame fixed on k, the twist of
k relative to b at every configuration in M and for all velocities as above. A group of k, b is one.
*Walk*: if P is seen from k relative to b and A is a group of k, m, the smallest space that holds P and is
kept by brackets with A, plus A, is seen from m relative to b: the twist is the old one, seen from m by an
element of the group of A, plus one in A. *Meet*: the intersection of two such spaces is one.

**Cut.** Let a joint with columns Z between k and l close a loop over joints in place. For every body b
with spaces P seen from k and Q seen from l relative to b, the twist of l relative to k that the other joints
allow lies in P + Q' + Z, Q' the smallest space that holds Q and is kept by brackets with Z, since k and l
differ by exp(Zq) on M. Let D be an intersection of such sums. Covectors that are fixed on k, vanish on Z
and number dim D - dim Z on D vanish on no twist of D outside Z. So they imply all six minus dim Z rows of
the joint, and the rows that vanish on D, 6 - dim D of them, are never needed.

**Rigid.** Let rows of some loops have, at the reference pose, as many independent columns as the joints of
these loops have freedoms. Then the pose is an isolated solution of the loops, so nothing in them moves on M, the
matrix of the rows is constant there, and these rows imply all others of the loops.

**Theorem.** By induction over the cuts: at every configuration in M the kept rows allow the same
velocities as all rows. What is left out can never matter there.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Vector = tuple[int, ...]
#: Rows in reduced echelon form, each of integers without a common divisor, pivots positive.
Space = tuple[Vector, ...]


@dataclass(frozen=True)
class Verdict:
    """What the checker found.

    Attributes:
        holds: Whether every step follows from those before it.
        claims: What is proved, one sentence per cut.
        assumptions: What is assumed, one sentence each.
        reason: Why it does not hold; empty where it does.
    """

    holds: bool
    claims: tuple[str, ...]
    assumptions: tuple[str, ...]
    reason: str = ""


class Unproved(Exception):
    """A step does not follow."""


def verify(document: Any) -> Verdict:
    """Check a proof.

    Args:
        document: What ``json.load`` makes of the file.
    """
    claims: list[str] = []
    assumptions: list[str] = []
    try:
        if document["format"] != "regularize proof" or document["version"] != 1:
            raise Unproved("this is no proof in version 1 of the format")
        for part in document["parts"]:
            checker = _Checker(part)
            claims += checker.run()
            assumptions += checker.assumptions()
    except Unproved as error:
        return Verdict(False, (), (), str(error))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return Verdict(False, (), (), f"the document is malformed: {error!r}")
    return Verdict(True, tuple(claims), tuple(assumptions))


def reduced(rows: Iterable[Sequence[int]]) -> Space:
    """The space that some vectors span, in its one canonical form."""
    todo, done = [list(row) for row in rows], []
    for column in range(6):
        pivot = next((row for row in todo if row[column]), None)
        if pivot is None:
            continue
        todo = [_without(row, pivot, column) for row in todo if row is not pivot]
        done = [*(_without(row, pivot, column) for row in done), pivot]
        todo = [row for row in todo if any(row)]
    result = []
    for row in done:
        lead = next(x for x in row if x)
        divisor = math.gcd(*row) * (1 if lead > 0 else -1)
        result.append(tuple(x // divisor for x in row))
    return tuple(sorted(result, key=lambda row: [x == 0 for x in row]))


def _without(row: list[int], pivot: list[int], column: int) -> list[int]:
    """A multiple of the row minus one of the pivot that is zero in the column."""
    if not row[column]:
        return row
    row = [pivot[column] * x - row[column] * y for x, y in zip(row, pivot, strict=True)]
    divisor = math.gcd(*row) or 1
    return [x // divisor for x in row]


def annihilator(space: Space) -> Space:
    """All covectors that vanish on a space, or all vectors on which covectors vanish."""
    pivots = [next(i for i, x in enumerate(row) if x) for row in space]
    common = math.lcm(*(row[i] for row, i in zip(space, pivots, strict=True)))
    rows = []
    for free in set(range(6)) - set(pivots):
        row = [0] * 6
        row[free] = common
        for old, i in zip(space, pivots, strict=True):
            row[i] = -old[free] * (common // old[i])
        rows.append(row)
    return reduced(rows)


def meet(a: Space, b: Space) -> Space:
    """The intersection of two spaces."""
    return annihilator(reduced([*annihilator(a), *annihilator(b)]))


def bracket(a: Sequence[int], b: Sequence[int]) -> Vector:
    """The Lie bracket of two twists."""
    v, w = (a[:3], a[3:])
    x, y = (b[:3], b[3:])
    return tuple([p + q for p, q in zip(_cross(w, x), _cross(v, y), strict=True)] + [*_cross(w, y)])


def _cross(a: Sequence[int], b: Sequence[int]) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def saturated(space: Space, kept_by: Space) -> Space:
    """The smallest space that holds a space and its brackets with another."""
    while True:
        larger = reduced([*space, *(bracket(z, x) for z in kept_by for x in space)])
        if larger == space:
            return space
        space = larger


def closure(rows: Iterable[Sequence[int]]) -> Space:
    """The smallest subalgebra that holds some twists."""
    space = reduced(rows)
    while True:
        larger = saturated(space, space)
        if larger == space:
            return space
        space = larger


def integers(rows: Any) -> Space:
    """A space as a document writes it: rows of six decimal integers, in canonical form."""
    space = tuple(tuple(int(x) for x in row) for row in rows)
    if any(not isinstance(x, str) for row in rows for x in row):
        raise Unproved("numbers have to be written as strings")
    if any(len(row) != 6 for row in space) or reduced(space) != space:
        raise Unproved("a space is not written in its canonical form")
    return space


@dataclass(frozen=True)
class _Fact:
    """A group of two bodies, or a space seen from the first relative to the second."""

    group: bool
    bodies: tuple[str, ...]
    space: Space


class _Checker:
    """One pass over a document."""

    def __init__(self, document: Any) -> None:
        self.document, self.steps = document, document["steps"]
        self.ends: dict[str, tuple[str, str]] = {}
        self.spaces: dict[str, Space] = {}
        for joint in document["joints"]:
            name, (parent, child) = joint["name"], joint["bodies"]
            if name in self.ends or parent == child:
                raise Unproved(f"joint {name} stands twice or joins a body to itself")
            self.ends[name], self.spaces[name] = (parent, child), integers(joint["space"])
            if closure(self.spaces[name]) != self.spaces[name]:
                raise Unproved(f"the freedoms of {name} are no subalgebra")
        self.cuts: dict[str, Space] = {}
        self.to_cut = {step["joint"] for step in self.steps if step["because"] == "cut"}
        self.facts: list[_Fact | None] = []
        self.used: set[int] = set()
        self.claims: list[str] = []

    def run(self) -> list[str]:
        """Check everything and say what was proved."""
        self._check_forest()
        for number, step in enumerate(self.steps):
            try:
                self.facts.append(self._fact(step))
            except Unproved as error:
                raise Unproved(f"step {number}: {error}") from None
        unused = [i for i, fact in enumerate(self.facts) if fact is not None and i not in self.used]
        if unused:
            raise Unproved(f"nothing follows from step {unused[0]}")
        rows = sum(6 - len(self.spaces[name]) for name in self.cuts)
        kept = sum(map(len, self.cuts.values()))
        if self.document["conclusion"] != {"rows": rows, "kept": kept, "removed": rows - kept}:
            raise Unproved("the conclusion counts other rows than the steps")
        return self.claims

    def _check_forest(self) -> None:
        """The joints that are not cut close no loop."""
        above: dict[str, str] = {}

        def top(body: str) -> str:
            while body in above:
                body = above[body]
            return body

        for name in sorted(set(self.ends) - self.to_cut):
            one, two = map(top, self.ends[name])
            if one == two:
                raise Unproved(f"{name} closes a loop and is not cut")
            above[one] = two

    def _fact(self, step: Any) -> _Fact | None:
        rule = {
            "joint": self._joint,
            "path": self._path,
            "meet": self._meet,
            "walk": self._walk,
            "locked": self._locked,
            "cut": self._cut,
            "rigid": self._rigid,
        }[step["because"]]
        fact = rule(step)
        if fact is not None:
            bodies = tuple(step["bodies"])
            if fact.bodies != bodies and not (fact.group and fact.bodies == bodies[::-1]):
                raise Unproved("it speaks of other bodies than those that it rests on")
            if fact.space != integers(step["space"]):
                raise Unproved("the space is another one")
        return fact

    def _premise(self, number: Any, body: str | None = None, *, group: bool = False) -> _Fact:
        """A fact that was proved before, turned so that the body comes first."""
        if type(number) is not int or not 0 <= number < len(self.facts):
            raise Unproved("it rests on a step that does not come before it")
        fact = self.facts[number]
        if fact is None or (group and not fact.group):
            raise Unproved("it rests on a step of another kind")
        self.used.add(number)
        if fact.group and body == fact.bodies[1]:
            fact = _Fact(True, fact.bodies[::-1], fact.space)
        if body not in (None, fact.bodies[0]):
            raise Unproved(f"it rests on a step that is not seen from {body}")
        return fact

    def _freedoms(self, name: str) -> Space:
        if name in self.to_cut and name not in self.cuts:
            raise Unproved(f"joint {name} is used before its loop is closed")
        return self.spaces[name]

    def _joint(self, step: Any) -> _Fact:
        return _Fact(True, self.ends[step["joint"]], self._freedoms(step["joint"]))

    def _path(self, step: Any) -> _Fact:
        start, end = step["bodies"]
        one = self._premise(step["of"][0], start, group=True)
        two = self._premise(step["of"][1], end, group=True)
        if one.bodies[1] != two.bodies[1]:
            raise Unproved("the two groups do not meet in one body")
        return _Fact(True, (start, end), closure([*one.space, *two.space]))

    def _meet(self, step: Any) -> _Fact:
        one, two = (self._premise(number, step["bodies"][0]) for number in step["of"])
        if one.bodies != two.bodies:
            raise Unproved("the two spaces belong to different bodies")
        return _Fact(one.group and two.group, one.bodies, meet(one.space, two.space))

    def _walk(self, step: Any) -> _Fact:
        across = self._premise(step["of"][1], step["bodies"][0], group=True)
        before = self._premise(step["of"][0], across.bodies[1])
        space = reduced([*saturated(before.space, across.space), *across.space])
        return _Fact(False, (across.bodies[0], before.bodies[1]), space)

    def _locked(self, step: Any) -> _Fact:
        freedom, (start, end) = self._freedoms(step["joint"]), self.ends[step["joint"]]
        one = self._premise(step["of"][0], start, group=True)
        two = self._premise(step["of"][1], end, group=True)
        if one.bodies[1] != two.bodies[1] or len(freedom) != 1:
            raise Unproved("no way around a joint with one freedom")
        around = reduced([*one.space, *two.space])
        if reduced([*around, *freedom]) == around:
            raise Unproved("the joint is free to move")
        return _Fact(True, (start, end), ())

    def _cut(self, step: Any) -> None:
        name, near = step["joint"], step["seen from"]
        Z, ends = self.spaces[name], self.ends[name]
        far = ends[near == ends[0]]
        if name in self.cuts or near not in ends:
            raise Unproved(f"{name} is not cut properly")
        D: Space = reduced([[int(i == j) for j in range(6)] for i in range(6)])
        for here, there in step["of"]:
            # A body needs no fact about itself.
            P = _Fact(True, (near, near), ()) if here is None else self._premise(here, near)
            Q = _Fact(True, (far, far), ()) if there is None else self._premise(there, far)
            if P.bodies[1] != Q.bodies[1]:
                raise Unproved("the two sides of the loop do not meet in one body")
            D = meet(D, reduced([*P.space, *saturated(Q.space, Z), *Z]))
        removed = annihilator(D)
        kept = annihilator(reduced([*Z, *removed]))
        if (integers(step["kept"]), integers(step["removed"])) != (kept, removed):
            raise Unproved(f"the rows of {name} are other ones")
        self.cuts[name] = kept
        self.claims.append(f"{name}: {len(removed)} of {6 - len(Z)} rows are never needed")

    def _ring(self, names: Sequence[str]) -> dict[str, int]:
        """How a loop passes its joints, from parent to child (1) or back (-1)."""
        signs = {}
        start = body = self.ends[names[0]][0]
        for name in names:
            parent, child = self.ends[name]
            if body not in (parent, child):
                raise Unproved(f"the loop is interrupted before {name}")
            signs[name] = 1 if body == parent else -1
            body = child if body == parent else parent
        if body != start or len(signs) != len(names):
            raise Unproved("the loop does not end where it starts")
        return signs

    def _rigid(self, step: Any) -> None:
        rings = {cut: self._ring(loop) for cut, loop in step["loops"].items()}
        joints = sorted({name for ring in rings.values() for name in ring})
        columns = [(name, z) for name in joints for z in self._freedoms(name)]
        matrix = []
        for cut, ring in rings.items():
            kept = integers(step["kept"][cut])
            if reduced([*self.cuts[cut], *kept]) != self.cuts[cut] or cut not in ring:
                raise Unproved(f"rows of {cut} are kept that were not there")
            # The joint's own freedoms stand for the rows that tell its coordinates.
            for row in [*kept, *self.spaces[cut]]:
                matrix.append([ring.get(n, 0) * _product(row, z) for n, z in columns])
            self.claims.append(
                f"{cut}: {len(self.cuts[cut]) - len(kept)} more rows are not needed, for nothing "
                "in its loop can move"
            )
            self.cuts[cut] = kept
        if rank(matrix) < len(columns):
            raise Unproved("the rows that are kept do not lock the joints of the loops")

    def assumptions(self) -> list[str]:
        """What has to be true of the machine."""
        off = max(
            (
                distance(row, self.spaces[joint["name"]])
                for joint in self.document["joints"]
                for row in joint["written"]
            ),
            default=0.0,
        )
        if not math.isclose(off, self.document["distance"], rel_tol=1e-6, abs_tol=1e-12):
            raise Unproved(f"the geometry is {off:g} away from what was written, not as stated")
        unit = float(self.document["unit_m"])
        return [
            f"the freedoms of the {len(self.ends)} joints are exactly as stated; those written in "
            f"the model differ by at most {off:.1e} rad or {off * unit:.1e} m"
        ]


def _product(row: Sequence[int], column: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(row, column, strict=True))


def rank(matrix: Iterable[Sequence[int]]) -> int:
    """Rank by elimination without fractions."""
    rows, count = [list(row) for row in matrix if any(row)], 0
    while rows:
        pivot, count = rows.pop(), count + 1
        column = next(i for i, x in enumerate(pivot) if x)
        rows = [row for row in (_without(row, pivot, column) for row in rows) if any(row)]
    return count


def distance(written: Sequence[float], space: Space) -> float:
    """Largest component of what of a written screw lies outside a space (floating point)."""
    basis: list[list[float]] = []
    for row in [*space, written]:
        rest = [float(x / max(map(abs, row))) if row is not written else float(x) for x in row]
        for e in basis * 2:
            along = sum(x * y for x, y in zip(rest, e, strict=True))
            rest = [x - along * y for x, y in zip(rest, e, strict=True)]
        if row is not written:
            size = math.sqrt(sum(x * x for x in rest))
            basis.append([x / size for x in rest])
    return max(map(abs, rest))


def main(arguments: Sequence[str]) -> int:
    """Check one file and say what it proves."""
    try:
        with open(arguments[0], encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError, IndexError, RecursionError) as error:
        sys.stderr.write(f"cannot read the proof: {error}\n")
        return 2
    verdict = verify(document)
    lines = [f"holds not: {verdict.reason}"]
    if verdict.holds:
        lines = ["holds", *verdict.claims, *(f"if {words}" for words in verdict.assumptions)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if verdict.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
