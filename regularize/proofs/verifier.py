"""An independent checker of proofs that constraint rows can never matter.

It needs Python's standard library alone and trusts nothing that a document says: every space is
computed again, in integers. ``python verifier.py proof.json`` runs it by itself.

**Setting.** Joints connect bodies; the machine is closed at a reference pose. Everything is written
in one frame that is fixed at that pose. A twist is (v, w), a covector acts on it by the product of
six numbers, and [(v, w), (v', w')] = (w x v' + v x w', w x w'). The columns Z of a joint span a
subalgebra of se(3), in whose group it moves. Some joints are *cut*; the others form a forest. M is
the set of configurations of the closed machine that continuous motions reach from the pose, g_ij
the displacement of body j seen from body i since the pose.

**Groups.** A subalgebra A is *a group of i and j* if at every configuration in M (a) g_ij lies in
the connected group of A, and (b) the twist of j relative to i lies in A for all velocities of the
joints in place that fulfil the rows of the loops closed before.

- *joint*: the span of Z is a group of the joint's two bodies, once the joint is in place;
- *path*: from groups of i, k and of k, j the smallest subalgebra that holds both is one of i, j:
  products stay in its group, whose adjoint keeps it;
- *meet*: the intersection of two groups of i, j is one: a motion that starts at the identity with
  its twists in both algebras stays in the group of the intersection;
- *locked*: let a joint between i and j have one screw Z, outside the sum of a group A of i, b and a
  group B of b, j. exp(A) exp(B) is an immersed manifold, tangent to A + B at the identity; it meets
  the curve exp(Zq) in countably many places, so a continuous q stays where it is. There the twist
  is in A + B, hence zero: zero is a group of i, j.

**Seen spaces.** P is *seen from k relative to b* if it holds, in a frame on k, the twist of k
relative to b, as in (b). A group of k, b is one. *Walk*: given P, and a group A of k, m, the
smallest space that holds P and its brackets with A, plus A, is seen from m relative to b: the
twist is the old one, seen from m by an element of the group of A, plus one in A. *Meet*: the
intersection of two such spaces is one.

**Cut.** Let a joint with columns Z between k and l close a loop over joints in place. For a body b
with spaces P seen from k and Q seen from l relative to b, the twist of l relative to k that all
other joints allow lies in P + Q' + Z, where Q' is the smallest space that holds Q and its brackets
with Z, for k and l differ by exp(Zq) on M. Let D be an intersection of such sums. Covectors fixed
on k that vanish on Z, dim D - dim Z of them independent on D, vanish on no twist of D outside Z. So
they imply all rows of the joint; the 6 - dim D rows that vanish on D are never needed.

**Rigid.** Let rows of some loops have, at the pose, as many independent columns as the joints of
these loops have freedoms. Then the pose is an isolated solution of the loops, nothing in them
moves on M, their rows are constant there, and these rows imply all others of the loops.

**Theorem.** By induction over the cuts: at every configuration in M the kept rows allow the same
velocities as all rows. What is left out can never matter there.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul
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


RULES = ("joint", "path", "meet", "walk", "locked", "cut", "rigid")


class Unproved(Exception):
    """A step does not follow."""


def verify(document: Any) -> Verdict:
    """Check a proof, as ``json.load`` reads it."""
    claims: list[str] = []
    assumptions: list[str] = []
    checker: _Checker | None = None
    try:
        if (document["format"], document["version"]) != ("regularize proof", 1):
            raise Unproved("this is no proof in version 1 of the format")
        if document["fingerprint"] != fingerprint(document):
            raise Unproved("the document was changed: its fingerprint is another one")
        for part in document["parts"]:
            checker = _Checker(part)
            claims += checker.run()
            assumptions.append(checker.assumption())
    except (Unproved, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        step = f"step {len(checker.facts)}: " if checker else ""
        return Verdict(False, (), (), f"{step}{error or type(error).__name__}")
    return Verdict(True, tuple(claims), tuple(assumptions))


def fingerprint(document: Any) -> str:
    """Digest of everything else in a document, so that what was copied badly is noticed."""
    rest = {key: value for key, value in document.items() if key != "fingerprint"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def reduced(rows: Iterable[Sequence[int]]) -> Space:
    """The space that some vectors span, in its one canonical form; as many rows as its rank."""
    todo: list[Vector] = [tuple(row) for row in rows if any(row)]
    done: list[Vector] = []
    while todo:
        lead = min(_leading(row) for row in todo)
        pivot = next(row for row in todo if _leading(row) == lead)
        todo = [row for row in (_without(row, pivot, lead) for row in todo) if any(row)]
        done = [*(_without(row, pivot, lead) for row in done), pivot]
    divisors = [math.gcd(*row) * (1 if row[_leading(row)] > 0 else -1) for row in done]
    return tuple(tuple(x // d for x in row) for row, d in zip(done, divisors, strict=True))


def _leading(row: Vector) -> int:
    return next(i for i, x in enumerate(row) if x)


def _without(row: Vector, pivot: Vector, column: int) -> Vector:
    """A multiple of the row minus one of the pivot that is zero in the column."""
    row = tuple(pivot[column] * x - row[column] * y for x, y in zip(row, pivot, strict=True))
    divisor = math.gcd(*row) or 1
    return tuple(x // divisor for x in row)


def annihilator(space: Space) -> Space:
    """All covectors that vanish on a space, or all vectors on which covectors vanish."""
    pivots = [_leading(row) for row in space]
    common = math.lcm(*(row[i] for row, i in zip(space, pivots, strict=True)))
    rows = []
    for free in set(range(6)) - set(pivots):
        row = [common * (i == free) for i in range(6)]
        for old, i in zip(space, pivots, strict=True):
            row[i] = -old[free] * (common // old[i])
        rows.append(row)
    return reduced(rows)


def meet(a: Space, b: Space) -> Space:
    """The intersection of two spaces."""
    return annihilator(reduced([*annihilator(a), *annihilator(b)]))


def bracket(a: Sequence[int], b: Sequence[int]) -> Vector:
    """The Lie bracket of two twists."""
    linear = zip(_cross(a[3:], b[:3]), _cross(a[:3], b[3:]), strict=True)
    return (*(x + y for x, y in linear), *_cross(a[3:], b[3:]))


def _cross(a: Sequence[int], b: Sequence[int]) -> Vector:
    return tuple(a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3))


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
    larger = saturated(space, space)
    return space if larger == space else closure(larger)


def integers(rows: Any) -> Space:
    """A space as a document writes it: rows of six decimal integers, in canonical form."""
    space = tuple(tuple(int(x) for x in row) for row in rows)
    text = [[str(x) for x in row] for row in space]
    if text != rows or any(len(row) != 6 for row in space) or reduced(space) != space:
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
        for step in self.steps:
            self.facts.append(self._fact(step))
        facts = [fact for fact in self.facts if fact is not None]
        if len(self.used) != len(facts) or len(set(facts)) != len(facts):
            raise Unproved("a step is not needed")
        rows = sum(6 - len(self.spaces[name]) for name in self.cuts)
        kept = sum(map(len, self.cuts.values()))
        if self.document["conclusion"] != {"rows": rows, "kept": kept, "removed": rows - kept}:
            raise Unproved("the conclusion counts other rows than the steps")
        return self.claims

    def _check_forest(self) -> None:
        """The joints that are not cut close no loop."""
        tree = {body: body for ends in self.ends.values() for body in ends}
        for name in sorted(set(self.ends) - self.to_cut):
            one, two = (tree[body] for body in self.ends[name])
            if one == two:
                raise Unproved(f"{name} closes a loop and is not cut")
            tree = {body: two if root == one else root for body, root in tree.items()}

    def _fact(self, step: Any) -> _Fact | None:
        if step["because"] not in RULES:
            raise Unproved("there is no such rule")
        fact: _Fact | None = getattr(self, "_" + step["because"])(step)
        if fact and (list(fact.bodies), fact.space) != (step["bodies"], integers(step["space"])):
            raise Unproved("bodies or space are not what follows")
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

    def _around(self, step: Any, start: str, end: str) -> tuple[Space, Space]:
        """Two groups that lead from one body over another to a third."""
        one = self._premise(step["of"][0], start, group=True)
        two = self._premise(step["of"][1], end, group=True)
        if one.bodies[1] != two.bodies[1]:
            raise Unproved("the two groups do not meet in one body")
        return one.space, two.space

    def _path(self, step: Any) -> _Fact:
        one, two = self._around(step, *step["bodies"])
        return _Fact(True, tuple(step["bodies"]), closure([*one, *two]))

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
        freedom, ends = self._freedoms(step["joint"]), self.ends[step["joint"]]
        one, two = self._around(step, *ends)
        if len(freedom) != 1 or reduced([*one, *two, *freedom]) == reduced([*one, *two]):
            raise Unproved("the joint is free to move")
        return _Fact(True, ends, ())

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
                matrix.append([ring.get(n, 0) * sum(map(mul, row, z)) for n, z in columns])
            more, self.cuts[cut] = len(self.cuts[cut]) - len(kept), kept
            self.claims.append(f"{cut}: {more} more, for nothing in its loop can move")
        if len(reduced(matrix)) < len(columns):
            raise Unproved("the rows that are kept do not lock the joints of the loops")

    def assumption(self) -> str:
        """What has to be true of the machine."""
        off, joints = 0.0, self.document["joints"]
        for joint in joints:
            space = self.spaces[joint["name"]]
            mine = max((distance(row, space) for row in joint["written"]), default=0.0)
            if not math.isclose(mine, joint["distance"], rel_tol=1e-9, abs_tol=1e-24):
                raise Unproved(f"{joint['name']} is not as far from what was written as stated")
            off = max(off, mine)
        metres = off * float(self.document["unit_m"])
        return (
            f"the joints {joints[0]['name']} to {joints[-1]['name']} are exactly as stated, "
            f"{off:.0e} rad or {metres:.0e} m from the model"
        )


def distance(written: Sequence[float], space: Space) -> float:
    """Length of what of a written screw lies outside a space (floating point)."""
    basis: list[list[float]] = []

    def outside(row: Sequence[float]) -> list[float]:
        rest = [float(x) for x in row]
        for e in basis * 2:
            along = sum(map(mul, rest, e))
            rest = [x - along * y for x, y in zip(rest, e, strict=True)]
        return rest

    for row in space:
        rest = outside([x / max(map(abs, row)) for x in row])
        basis.append([x / math.hypot(*rest) for x in rest])
    return math.hypot(*outside(written))


def summary(verdict: Verdict) -> str:
    """What was found, in lines."""
    words = [*verdict.claims, *verdict.assumptions] if verdict.holds else [verdict.reason]
    return "\n".join(["holds" if verdict.holds else "does not hold", *words, ""])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        found = verify(json.load(file))
    sys.stdout.write(summary(found))
    sys.exit(0 if found.holds else 1)
