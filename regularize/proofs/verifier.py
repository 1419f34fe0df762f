"""An independent checker of proofs that constraint rows can never matter.

It needs Python's standard library alone and trusts nothing that a document says: every space is
computed again, in integers. ``python verifier.py proof.json`` runs it by itself.

**Setting.** Joints connect bodies; the machine is closed at a reference pose. Everything is written
in one frame that is fixed at that pose. A twist is (v, w), a covector acts on it by the product of
six numbers, and [(v, w), (v', w')] = (w x v' + v x w', w x w'). The columns Z of a joint span a
subalgebra of se(3), in whose group it moves. Some joints are *cut*; the others form a forest. M is
the set of configurations of the closed machine that motions reach from the pose along which no
parallelogram named goes flat, g_ij the displacement of body j seen from body i since the pose.

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
  is in A + B, hence zero: zero is a group of i, j;
- *parallelogram*: four parallel hinges, the loop's opposite sides equal, not all in one plane: with
  sides that stay parallel it closes and has the one freedom that its rows leave. So opposite bodies
  only translate, in the plane of the differences of the hinges' screws.

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

**Held.** Some joints may be *virtual*, of a group with algebra g: all above is then of the machine
with them. Let the first cut over one close the chain of the others in its loop, with D as above; on
the joints' rates, h = dim D - dim g covectors fixed on a body k vanish on g, as k sees it, and on
all by which the positions of the chain's joints change their screws. So they are rows with constant
coefficients; let them be independent, and zero but for joints with one screw that no loop closed
before holds. They vanish where the chain's twist is in g, a condition of rank h at most, so they
say just that: they stand for the rows of that cut, which is cut no more. Let the machine's own
equations have at the pose a rank r equal to the number of rows kept then, freedoms of cuts
included. On M the kept rows leave no fewer velocities than these equations, n - r. Where these have
the rank r, M is so a manifold of as many dimensions as the machine has velocities, hence open among
its configurations: the machine stays in M along motions on which its equations keep the rank r.

**Theorem.** By induction over the cuts: at every configuration in M (with virtual joints: where the
equations keep their rank) the kept rows allow the same velocities as all rows. What is left out
can never matter there.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import add, mul, sub
from typing import Any, NamedTuple

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

    def __str__(self) -> str:
        """What was found, in lines."""
        words = [*self.claims, *self.assumptions] if self.holds else [self.reason]
        return "\n".join(["holds" if self.holds else "does not hold", *words, ""])


EVERY: Space = tuple(tuple(int(i == j) for j in range(6)) for i in range(6))
RULES = ("joint", "path", "meet", "walk", "locked", "parallelogram", "cut", "rigid", "held")


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


def changed(space: Space, group: Space) -> Space:
    """All by which displacements of a group change the elements of a space."""
    return saturated(reduced([bracket(z, x) for z in group for x in space]), group)


def arcs(hinges: Sequence[Space]) -> Space | None:
    """How opposite sides move, if four hinges in the order of a loop are a parallelogram's."""
    rows = [row for hinge in hinges for row in hinge]
    lead = next((i for i in (3, 4, 5) if rows[0][i]), 0)
    if len(hinges) != 4 or any(len(h) != 1 for h in hinges) or not all(r[lead] for r in rows):
        return None
    common = math.lcm(*(row[lead] for row in rows))
    rows = [tuple(x * (common // row[lead]) for x in row) for row in rows]
    sides = [tuple(map(sub, a, b)) for a, b in zip(rows, [*rows[1:], rows[0]], strict=True)]
    turned = any(any(side[3:]) for side in sides) or any(sum(map(mul, r[:3], r[3:])) for r in rows)
    space = reduced(sides)
    closes = lead > 2 and not turned and not any(map(add, sides[0], sides[2]))
    return space if closes and len(space) == 2 else None


def integers(rows: Any) -> Space:
    """A space as a document writes it: rows of six decimal integers, in canonical form."""
    space = tuple(tuple(int(x) for x in row) for row in rows)
    text = [[str(x) for x in row] for row in space]
    if text != rows or any(len(row) != 6 for row in space) or reduced(space) != space:
        raise Unproved("a space is not written in its canonical form")
    return space


class _Fact(NamedTuple):
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
        self.virtual = {joint["name"] for joint in document["joints"] if joint.get("virtual")}
        self.entered: dict[str, int] = {}
        self.held: dict[str, int] = {}
        self.cuts: dict[str, Space] = {}
        self.to_cut = {step["joint"] for step in self.steps if step["because"] == "cut"}
        self.facts: list[_Fact | None] = []
        self.used: set[int] = set()
        self.claims: list[str] = []

    def run(self) -> list[str]:
        """Check everything and say what was proved."""
        self._joined(set(self.ends) - self.to_cut, forest=True)
        for step in self.steps:
            self.facts.append(self._fact(step))
        facts = [fact for fact in self.facts if fact is not None]
        if len(self.used) != len(facts) or len(set(facts)) != len(facts):
            raise Unproved("a step is not needed")
        cuts = [name for name in self.cuts if name not in self.held]
        rows = sum(6 - len(self.spaces[name]) for name in cuts)
        kept = sum(len(self.cuts[name]) for name in cuts) + sum(self.held.values())
        if self.virtual:
            self._check_rank(cuts, kept + sum(len(self.spaces[name]) for name in cuts))
        if self.document["conclusion"] != {"rows": rows, "kept": kept, "removed": rows - kept}:
            raise Unproved("the conclusion counts other rows than the steps")
        return self.claims

    def _joined(self, names: Iterable[str], *, forest: bool = False) -> dict[str, str]:
        """One body for all that some joints connect."""
        tree = {body: body for ends in self.ends.values() for body in ends}
        for name in sorted(names):
            one, two = (tree[body] for body in self.ends[name])
            if forest and one == two:
                raise Unproved(f"{name} closes a loop and is not cut")
            tree = {body: two if root == one else root for body, root in tree.items()}
        return tree

    def _check_rank(self, cuts: Sequence[str], count: int) -> None:
        """The machine's own equations have as large a rank at the pose."""
        rings = {cut: self._ring(loop) for cut, loop in self.document["loops"].items()}
        self._joined(set(self.ends) - self.virtual - set(cuts), forest=True)
        if len(self.held) != len(self.virtual) or rings.keys() != set(cuts):
            raise Unproved("a loop is missing")
        if any(set(ring) & (self.virtual | set(cuts)) != {cut} for cut, ring in rings.items()):
            raise Unproved("a loop is not that of its cut alone")
        if len(reduced(self._matrix(rings, dict.fromkeys(rings, EVERY)))) != count:
            raise Unproved("the equations have another rank than the rows that are kept")

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
        self.entered[step["joint"]] = len(self.cuts)
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

    def _parallelogram(self, step: Any) -> _Fact:
        signs = self._ring(step["loop"])
        after = [self.ends[name][signs[name] > 0] for name in step["loop"]]
        space = arcs([self._freedoms(name) for name in step["loop"]])
        if (
            space is None
            or len({*after}) < 4
            or sorted(step["bodies"])
            not in [
                sorted(after[::2]),
                sorted(after[1::2]),
            ]
        ):
            raise Unproved("there is no such parallelogram")
        self.claims.append(f"it goes on until the parallelogram {', '.join(signs)} is flat")
        return _Fact(True, tuple(step["bodies"]), space)

    def _cut(self, step: Any) -> None:
        name, near = step["joint"], step["seen from"]
        Z, ends = self.spaces[name], self.ends[name]
        far = ends[near == ends[0]]
        if name in self.cuts or near not in ends:
            raise Unproved(f"{name} is not cut properly")
        D = EVERY
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

    def _matrix(self, rings: dict[str, dict[str, int]], rows: dict[str, Space]) -> list[Vector]:
        """Rows of some loops on the rates of their joints at the pose."""
        joints = sorted({name for ring in rings.values() for name in ring})
        columns = [(name, z) for name in joints for z in self._freedoms(name)]
        return [
            tuple(ring.get(n, 0) * sum(map(mul, row, z)) for n, z in columns)
            for cut, ring in rings.items()
            for row in rows[cut]
        ]

    def _rigid(self, step: Any) -> None:
        rings = {cut: self._ring(loop) for cut, loop in step["loops"].items()}
        rows: dict[str, Space] = {}
        for cut, ring in rings.items():
            kept = integers(step["kept"][cut])
            if reduced([*self.cuts[cut], *kept]) != self.cuts[cut] or cut not in ring:
                raise Unproved(f"rows of {cut} are kept that were not there")
            # The joint's own freedoms stand for the rows that tell its coordinates.
            rows[cut] = (*kept, *self.spaces[cut])
            more, self.cuts[cut] = len(self.cuts[cut]) - len(kept), kept
            self.claims.append(f"{cut}: {more} more, for nothing in its loop can move")
        matrix = self._matrix(rings, rows)
        if self.virtual or len(reduced(matrix)) < len(matrix[0]):
            raise Unproved("the rows that are kept do not lock the joints of the loops")

    def _held(self, step: Any) -> None:
        name, cut, near = step["joint"], step["instead of"], step["seen from"]
        signs, rows, order = self._ring(step["loop"]), integers(step["rows"]), [*self.cuts]
        before = set(order[: order.index(cut)])
        if (
            {name, cut} - {*signs}
            or name not in self.virtual
            or self.entered.pop(name) != len(before)
        ):
            raise Unproved(f"{cut} is not the first cut over {name}")
        there = (set(self.ends) - self.to_cut | before) - {name}
        if {*signs} - there != {name, cut}:
            raise Unproved(f"a joint is not in place when {cut} is cut")
        coefficients: list[list[int]] = [[] for _ in rows]
        for joint, number in zip(step["loop"], step["of"], strict=True) if rows else ():
            Z, ends, group = self.spaces[joint], self.ends[joint], _Fact(True, (near, near), ())
            group = group if number is None else self._premise(number, near, group=True)
            if group.bodies[1] not in ends:
                raise Unproved(f"it is not said how {joint} moves")
            zero = [*changed(Z, group.space), *(Z if joint == name else ())]
            tree = self._joined(there - {joint})
            if len(Z) != 1 or tree[ends[0]] == tree[ends[1]] or joint in before | self.virtual:
                zero += Z
            if any(sum(map(mul, row, z)) for row in rows for z in zero):
                raise Unproved(f"the coefficient of {joint} is not constant, or not zero")
            for row, found in zip(rows, coefficients, strict=True):
                found += [sum(map(mul, row, z)) for z in Z]
        more = len(self.cuts[cut]) + len(self.spaces[cut]) - len(self.spaces[name])
        if len(reduced(coefficients)) != len(rows) or len(rows) != more or cut in self.held:
            raise Unproved(f"the rows do not say that {name} is in its group")
        self.held[cut] = more
        self.claims.append(f"{more} row{'s' * (more != 1)} in place of {name}, as long as the rank")

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
    for row in (*space, written):
        rest = [x / (1 if row is written else max(map(abs, row))) for x in row]
        for e in basis * 2:
            along = sum(map(mul, rest, e))
            rest = [x - along * y for x, y in zip(rest, e, strict=True)]
        basis.append([x / (math.hypot(*rest) or 1.0) for x in rest])
    return math.hypot(*rest)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        found = verify(json.load(file))
    sys.stdout.write(str(found))
    sys.exit(0 if found.holds else 1)
