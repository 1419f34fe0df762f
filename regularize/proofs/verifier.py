"""An independent checker of proofs that constraint rows can never matter.

``python verifier.py proof.json`` trusts nothing: every space is computed again, in integers.

**Setting.** Joints connect bodies; the machine is closed at a reference pose. Everything is written
in one frame that is fixed at that pose. A twist is (v, w), a covector acts on it by the product of
six numbers, and [(v, w), (v', w')] = (w x v' + v x w', w x w'). The columns Z of a joint span a
subalgebra of se(3), in whose group it moves. Some joints are *cut*; the others form a forest. M are
the configurations that motions of the closed machine reach from the pose without a parallelogram
named going flat, g_ij the displacement of body j seen from body i since the pose.

**Groups.** A subalgebra A is *a group of i and j* if at every configuration in M (a) g_ij lies in
the connected group of A, and (b) the twist of j relative to i lies in A for all velocities of the
joints in place that fulfil the rows of the loops closed before.
- *joint*: the span of Z is a group of the joint's two bodies, once the joint is in place;
- *path*: the smallest subalgebra that holds groups of i, k and of k, j is one of i, j: products
  stay in its group, whose adjoint keeps it;
- *meet*: the intersection of two groups of i, j is one: a motion that starts at the identity with
  its twists in both algebras stays in the group of the intersection;
- *locked*: let a joint between i and j have one screw Z, outside the sum of a group A of i, b and a
  group B of b, j. exp(A) exp(B) is an immersed manifold, tangent to A + B at the identity; it meets
  the curve exp(Zq) in countably many places, so a continuous q stays where it is. There the twist
  is in A + B, hence zero: zero is a group of i, j;
- *parallelogram*: of four parallel hinges, not in one plane, opposite sides are equal. With sides
  that stay parallel the loop closes, and its rows leave no other freedom: opposite bodies only
  translate, in the plane of the differences of the hinges' screws.

**Seen spaces.** P is *seen from k relative to b* if it holds, in a frame on k, the twist of k
relative to b, as in (b); so does a group of k, b. *Walk*: given P, and a group A of k, m, the
smallest space that holds P and its brackets with A, plus A, is seen from m relative to b: the twist
is the old one, seen from m by an element of the group of A, plus one in A. *Meet*: intersections.

**Cut.** Let a joint with columns Z between k and l close a loop over joints in place. For a body b
with spaces P seen from k and Q seen from l relative to b, the twist of l relative to k that all
other joints allow lies in P + Q' + Z, where Q' is the smallest space that holds Q and its brackets
with Z, for k and l differ by exp(Zq) on M. Let D be an intersection of such sums. Covectors fixed
on k that vanish on Z, dim D - dim Z of them independent on D, vanish on no twist of D outside Z. So
they imply all rows of the joint; the 6 - dim D rows that vanish on D are never needed.

**Rigid.** Let rows of some loops have, at the pose, as many independent columns as the joints of
these loops have freedoms. Then the pose is an isolated solution of the loops: nothing in them moves
on M, their rows are constant there and imply all others of the loops.

**Held.** Joints may be *virtual*, of a group with algebra g: the above is then of the machine with
them. The first cut over one, with D as above, confines the chain of the other joints in its loop to
dim D dimensions, g among them. Let h = dim D - dim g covectors fixed on a body k vanish on g and on
all by which, as k sees it, positions change the screws of the chain's joints; and on joints with
several screws or in loops closed before. As rows they have constant coefficients; if independent,
they say that the chain's twist is in g and stand for the rows of that cut. Let the machine's own
equations have at the pose a rank r equal to the number of rows kept then, freedoms of cuts
included. Where in M their rank is r, their n - r velocities are those that the kept rows leave, so
M is a manifold of n - r dimensions there and holds all configurations of the machine nearby.

**Theorem.** By induction over the cuts: at every configuration in M (with virtual joints: that
motions reach along which that rank is r) the kept rows allow the same velocities as all rows.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Sequence
from operator import add, mul, sub
from typing import Any, NamedTuple

Vector = tuple[int, ...]
#: Rows in reduced echelon form, each of integers without a common divisor, pivots positive.
Space = tuple[Vector, ...]
EVERY: Space = tuple(tuple(int(i == j) for j in range(6)) for i in range(6))


class Verdict(NamedTuple):
    """What the checker found: claims that hold if the assumptions do, or why there are none."""

    holds: bool
    claims: tuple[str, ...]
    assumptions: tuple[str, ...]
    reason: str = ""


def need(condition: object, reason: str) -> None:
    """Stop where a condition is not fulfilled."""
    if not condition:
        raise ValueError(reason)


def verify(document: Any) -> Verdict:
    """Check a proof, as ``json.load`` reads it."""
    checkers: list[_Checker] = []
    try:
        need(document["format"] == "regularize proof", "this is no proof")
        same = document["fingerprint"] == fingerprint(document) and document["version"] == 1
        need(same, "the document was changed, or its format is not version 1")
        for part in document["parts"]:
            checkers.append(_Checker(part))
            checkers[-1].run()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        step = f"step {len(checkers[-1].facts)}: " if checkers else ""
        return Verdict(False, (), (), f"{step}{error or type(error).__name__}")
    claims = tuple(claim for checker in checkers for claim in checker.claims)
    return Verdict(True, claims, tuple(checker.assumption for checker in checkers))


def fingerprint(document: Any) -> str:
    """Digest of everything else in a document, so that what was copied badly is noticed."""
    rest = {key: value for key, value in document.items() if key != "fingerprint"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def reduced(rows: Iterable[Sequence[int]]) -> Space:
    """The space that some vectors span, in its one canonical form; as many rows as its rank."""
    done: dict[int, Vector] = {}
    for new in map(tuple, rows):
        for lead, row in done.items():
            new = _without(new, row, lead)
        if any(new):
            at = next(i for i, x in enumerate(new) if x)
            done = {lead: _without(row, new, at) for lead, row in done.items()} | {at: new}
    divisors = {i: math.gcd(*row) * (1 if row[i] > 0 else -1) for i, row in done.items()}
    return tuple(tuple(x // divisors[i] for x in done[i]) for i in sorted(done))


def _without(row: Vector, pivot: Vector, column: int) -> Vector:
    """A multiple of the row minus one of the pivot that is zero in the column."""
    row = tuple(pivot[column] * x - row[column] * y for x, y in zip(row, pivot, strict=True))
    divisor = math.gcd(*row) or 1
    return tuple(x // divisor for x in row)


def annihilator(space: Space) -> Space:
    """All covectors that vanish on a space, or all vectors on which covectors vanish."""
    values = [(*(row[i] for row in space), *EVERY[i]) for i in range(6)]
    found = [row for row in reduced(values) if not any(row[: len(space)])]
    return reduced([row[len(space) :] for row in found])


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
    larger = reduced([*space, *(bracket(z, x) for z in kept_by for x in space)])
    return space if larger == space else saturated(larger, kept_by)


def closure(rows: Iterable[Sequence[int]]) -> Space:
    """The smallest subalgebra that holds some twists."""
    space = reduced(rows)
    larger = saturated(space, space)
    return space if larger == space else closure(larger)


def arcs(hinges: Sequence[Space]) -> Space:
    """How opposite sides move, if four hinges in the order of a loop are a parallelogram's."""
    rows, lead = [row for (row,) in hinges], next((i for i in (3, 4, 5) if hinges[0][0][i]), 3)
    common = math.lcm(*(row[lead] for row in rows))
    rows = [tuple(x * common // (row[lead] or 1) for x in row) for row in rows]
    sides = [tuple(map(sub, a, b)) for a, b in zip(rows, [*rows[1:], rows[0]], strict=True)]
    turned = any(any(side[3:]) for side in sides) or any(sum(map(mul, r[:3], r[3:])) for r in rows)
    closed = len(rows) == 4 and common and not turned and not any(map(add, sides[0], sides[2]))
    need(closed and len(reduced(sides)) == 2, "there is no such parallelogram")
    return reduced(sides)


def integers(rows: Any) -> Space:
    """A space as a document writes it: rows of six decimal integers, in canonical form."""
    space = tuple(tuple(int(x) for x in row) for row in rows)
    canonical = [[str(x) for x in row] for row in space] == rows and reduced(space) == space
    need(canonical and all(len(row) == 6 for row in space), "a space is not in canonical form")
    return space


class _Fact(NamedTuple):
    """A group of two bodies, or a space seen from the first relative to the second."""

    group: bool
    bodies: tuple[str, ...]
    space: Space


class _Checker:
    """One pass over a document."""

    def __init__(self, document: Any) -> None:
        self.document, self.joints = document, document["joints"]
        self.ends = {joint["name"]: tuple(joint["bodies"]) for joint in self.joints}
        self.spaces = {joint["name"]: integers(joint["space"]) for joint in self.joints}
        self.virtual = {joint["name"] for joint in self.joints if joint.get("virtual")}
        need(len(self.ends) == len(self.joints), "a joint stands twice")
        to_cut = {step["joint"] for step in document["steps"] if step["because"] == "cut"}
        self.tree = self.ends.keys() - to_cut
        self.cuts: dict[str, Space] = {}
        self.entered, self.held = dict[str, int](), dict[str, int]()
        self.facts, self.used, self.claims = list[_Fact | None](), set[int](), list[str]()

    def run(self) -> None:
        for name, Z in self.spaces.items():
            one, two = self.ends[name]
            need(one != two and closure(Z) == Z, f"joint {name} moves in no group")
        self._joined(self.tree, forest=True)
        for step in self.document["steps"]:
            fact: _Fact | None = getattr(self, "rule_" + step["because"])(step)
            said = fact and (step["bodies"], integers(step["space"]))
            need(not fact or ([*fact.bodies], fact.space) == said, "this does not follow")
            self.facts.append(fact)
        facts = [fact for fact in self.facts if fact is not None]
        need(len(self.used) == len(facts) == len({*facts}), "a step is not needed")
        cuts = [name for name in self.cuts if name not in self.held]
        rows = sum(6 - len(self.spaces[name]) for name in cuts)
        kept = sum(len(self.cuts[name]) for name in cuts) + sum(self.held.values())
        if self.virtual:
            own = self.ends.keys() - self.virtual - {*cuts}
            self._joined(own, forest=True)
            rings = {cut: self._ring(self.document["loops"][cut]) for cut in cuts}
            for cut, ring in rings.items():
                need(ring.keys() - own == {cut}, f"the loop of {cut} is that of another cut")
            rank = len(reduced(self._matrix(rings, dict.fromkeys(rings, EVERY))))
            count = kept + sum(len(self.spaces[name]) for name in cuts)
            equal = rank == count and len(self.held) == len(self.virtual)
            need(equal, f"{rank} equations are independent, {count} kept; or no group is held")
            self.claims.append(f"up to where fewer than {rank} of all equations are independent")
        same = self.document["conclusion"] == {"rows": rows, "kept": kept, "removed": rows - kept}
        need(same, "the conclusion counts other rows")
        pairs = [(row, self.spaces[j["name"]]) for j in self.joints for row in j["written"]]
        off = max((distance(row, space) for row, space in pairs), default=0.0)
        names = sorted(self.ends.keys() - self.virtual)
        size = f"{off:.0e} rad or {off * float(self.document['unit_m']):.0e} m from the model"
        self.assumption = f"joints {names[0]} to {names[-1]} are exactly as stated, {size}"

    def _joined(self, names: Iterable[str], *, forest: bool = False) -> dict[str, str]:
        """One body for all that some joints connect; a forest closes no loop."""
        root = {body: body for ends in self.ends.values() for body in ends}
        for name in names:
            one, two = (root[body] for body in self.ends[name])
            need(not forest or one != two, f"{name} closes a loop and is not cut")
            root = {body: two if old == one else old for body, old in root.items()}
        return root

    def _premise(self, number: Any, body: str, *, group: bool = False) -> _Fact:
        """A fact that was proved before, turned so that the body comes first."""
        if number is None:  # a body needs no fact about itself
            return _Fact(True, (body, body), ())
        need(type(number) is int and 0 <= number < len(self.facts), "it rests on no earlier step")
        fact: Any = self.facts[number]
        need(fact and (fact.group or not group), "it rests on a step of another kind")
        self.used.add(number)
        if fact.group and body == fact.bodies[1]:
            fact = _Fact(True, fact.bodies[::-1], fact.space)
        need(body == fact.bodies[0], f"it rests on a step that is not seen from {body}")
        return _Fact(*fact)

    def _freedoms(self, name: str) -> Space:
        need(name in self.tree or name in self.cuts, f"{name} is used before its loop is closed")
        return self.spaces[name]

    def rule_joint(self, step: Any) -> _Fact:
        self.entered[step["joint"]] = len(self.cuts)
        return _Fact(True, self.ends[step["joint"]], self._freedoms(step["joint"]))

    def _around(self, step: Any, start: str, end: str) -> tuple[Space, Space]:
        ends = zip(step["of"], (start, end), strict=True)
        one, two = (self._premise(number, body, group=True) for number, body in ends)
        need(one.bodies[1] == two.bodies[1], "the two groups do not meet in one body")
        return one.space, two.space

    def rule_path(self, step: Any) -> _Fact:
        one, two = self._around(step, *step["bodies"])
        return _Fact(True, tuple(step["bodies"]), closure([*one, *two]))

    def rule_meet(self, step: Any) -> _Fact:
        one, two = (self._premise(number, step["bodies"][0]) for number in step["of"])
        need(one.bodies == two.bodies, "the two spaces belong to different bodies")
        return _Fact(one.group and two.group, one.bodies, meet(one.space, two.space))

    def rule_walk(self, step: Any) -> _Fact:
        across = self._premise(step["of"][1], step["bodies"][0], group=True)
        before = self._premise(step["of"][0], across.bodies[1])
        space = reduced([*saturated(before.space, across.space), *across.space])
        return _Fact(False, (across.bodies[0], before.bodies[1]), space)

    def rule_locked(self, step: Any) -> _Fact:
        freedom, ends = self._freedoms(step["joint"]), self.ends[step["joint"]]
        one, two = self._around(step, *ends)
        free = reduced([*one, *two, *freedom]) == reduced([*one, *two])
        need(len(freedom) == 1 and not free, "the joint is free to move")
        return _Fact(True, ends, ())

    def rule_parallelogram(self, step: Any) -> _Fact:
        loop, signs = step["loop"], self._ring(step["loop"])
        after = [self.ends[name][signs[name] > 0] for name in loop]
        space, ends = arcs([self._freedoms(name) for name in loop]), {*step["bodies"]}
        need(len({*after}) == 4 and ends in ({*after[::2]}, {*after[1::2]}), "no opposite bodies")
        self.claims.append(f"up to where the parallelogram {', '.join(loop)} is flat")
        return _Fact(True, tuple(step["bodies"]), space)

    def rule_cut(self, step: Any) -> None:
        name, near = step["joint"], step["seen from"]
        Z, ends = self.spaces[name], self.ends[name]
        far = ends[near == ends[0]]
        need(name not in self.cuts and near in ends, f"{name} is not cut properly")
        D = EVERY
        for here, there in step["of"]:
            P, Q = self._premise(here, near), self._premise(there, far)
            need(P.bodies[1] == Q.bodies[1], "the two sides of the loop do not meet in one body")
            D = meet(D, reduced([*P.space, *saturated(Q.space, Z), *Z]))
        kept, removed = integers(step["kept"]), integers(step["removed"])
        same = removed == annihilator(D) and kept == annihilator(reduced([*Z, *removed]))
        need(same, f"the rows of {name} are other ones")
        self.cuts[name] = kept
        self.claims.append(f"{name}: {len(removed)} of {6 - len(Z)} rows are never needed")

    def _ring(self, names: Sequence[str]) -> dict[str, int]:
        """How a loop passes its joints, from parent to child (1) or back (-1)."""
        signs = {}
        start = body = self.ends[names[0]][0]
        for name in names:
            parent, child = self.ends[name]
            need(body in (parent, child), f"the loop is interrupted before {name}")
            signs[name], body = (1, child) if body == parent else (-1, parent)
        need(body == start and len(signs) == len(names), "the loop does not end where it starts")
        return signs

    def _matrix(self, rings: dict[str, dict[str, int]], rows: dict[str, Space]) -> list[Vector]:
        joints = sorted({name for ring in rings.values() for name in ring})
        columns = [(name, z) for name in joints for z in self._freedoms(name)]
        pairs = [(ring, row) for cut, ring in rings.items() for row in rows[cut]]
        return [tuple(g.get(n, 0) * sum(map(mul, row, z)) for n, z in columns) for g, row in pairs]

    def rule_rigid(self, step: Any) -> None:
        rings = {cut: self._ring(loop) for cut, loop in step["loops"].items()}
        rows: dict[str, Space] = {}
        for cut, ring in rings.items():
            kept = integers(step["kept"][cut])
            there = reduced([*self.cuts[cut], *kept]) == self.cuts[cut] and cut in ring
            need(there, f"rows of {cut} are kept that were not there")
            rows[cut] = (*kept, *self.spaces[cut])  # its own freedoms tell its coordinates
            more, self.cuts[cut] = len(self.cuts[cut]) - len(kept), kept
            self.claims.append(f"{cut}: {more} more, for nothing in its loop can move")
        matrix = self._matrix(rings, rows)
        locked = len(reduced(matrix)) == len(matrix[0]) and not self.virtual
        need(locked, "the rows that are kept do not lock the joints of the loops")

    def rule_held(self, step: Any) -> None:
        name, cut, near = step["joint"], step["instead of"], step["seen from"]
        loop, rows, order = self._ring(step["loop"]).keys(), integers(step["rows"]), [*self.cuts]
        before = {*order[: order.index(cut)]}
        there = (self.tree | before) - {name}
        first = self.entered.pop(name) == len(before) and loop - there == {name, cut}
        need(first and name in self.virtual, f"{cut} is not the first cut over {name}")
        seen: list[list[int]] = [[] for _ in rows]
        for joint, number in zip(step["loop"], step["of"], strict=True) if rows else ():
            Z, ends = self.spaces[joint], self.ends[joint]
            A = self._premise(number, near, group=True)
            need(A.bodies[1] in ends, f"it is not said how {joint} moves")
            root = self._joined(there - {joint})
            zero = saturated(reduced([bracket(a, z) for a in A.space for z in Z]), A.space)
            if len(Z) != 1 or root[ends[0]] == root[ends[1]] or joint in self.virtual:
                zero += Z
            steady = not any(sum(map(mul, row, z)) for row in rows for z in zero)
            need(steady, f"the coefficient of {joint} is not constant, or not zero")
            for row, known in zip(rows, seen, strict=True):
                known += [sum(map(mul, row, z)) for z in Z]
        more = len(self.cuts[cut]) + len(self.spaces[cut]) - len(self.spaces[name])
        needed = len(reduced(seen)) == len(rows) == more and cut not in self.held
        need(needed, f"the rows do not say that {name} is in its group")
        self.held[cut] = more
        self.claims.append(f"{cut}: not cut; relations of joints, {more} in number, stand for it")


def distance(written: Sequence[float], space: Space) -> float:
    """Length of what of a written screw lies outside a space (floating point)."""
    basis: list[list[float]] = []
    for row in (*space, written):
        rest = [x / (1 if row is written else max(map(abs, row))) for x in row]
        for e in basis * 2:
            rest = [x - sum(map(mul, rest, e)) * y for x, y in zip(rest, e, strict=True)]
        basis.append([x / (math.hypot(*rest) or 1.0) for x in rest])
    return math.hypot(*rest)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        found = verify(json.load(file))
    words = (*found.claims, *found.assumptions) if found.holds else (found.reason,)
    sys.stdout.write("\n".join(["holds" if found.holds else "does not hold", *words, ""]))
    sys.exit(0 if found.holds else 1)
