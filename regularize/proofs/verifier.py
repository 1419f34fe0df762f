"""An independent checker of proofs that constraint rows can never matter: run it on such a file.

**Setting.** Joints connect bodies; the machine is closed at a pose, in whose frame all is written.
Twists are (v, w), a covector acts on them by the product of six numbers, [(v, w), (v', w')] is (w x
v' + v x w', w x w'). A joint's columns Z span a subalgebra of se(3), in whose group it moves. Some
joints are *cut*, the others form a forest. M are the configurations that motions of the closed
machine reach from the pose without a parallelogram named going flat, or rows of motion or stress
losing their rank; g_ij is the displacement of body j seen from body i since the pose.
**Groups.** A subalgebra A is *a group of i and j* if all over M g_ij lies in its connected group,
and j has twists relative to i in A where joints in place fulfil the rows of loops closed before.
- *joint*: the span of Z is a group of the joint's two bodies, once the joint is in place;
- *path*: the smallest subalgebra with groups of i, k and k, j is one of i, j: products stay in it;
- *meet*: the intersection of groups of i, j is one: a motion with twists in it stays in its group;
- *locked*: let a joint of i and j have one screw Z, outside the sum of a group A of i, b and a
  group B of b, j. exp(A) exp(B) is immersed, tangent to A + B at the identity; it meets the curve
  exp(Zq) in countably many places, so a continuous q stays. The twist is in A + B: it is zero;
- *parallelogram*: of four parallel hinges, not in one plane, opposite sides are equal. With sides
  that stay parallel the loop closes, and its rows leave no other freedom: opposite bodies only
  translate, in the plane of the differences of the hinges' screws.
**Seen spaces.** P is *seen from k relative to b* if it holds, in a frame on k, the twist of k
relative to b, as above; so does a group of k, b. *Walk*: given P, and a group A of k, m, the
smallest space that holds P and its brackets with A, plus A, is seen from m relative to b: the twist
is the old one, seen from m by an element of the group of A, plus one in A. *Meet*: intersections.
**Cut.** Let a joint with columns Z between k and l close a loop over joints in place. For a body b
with spaces P seen from k and Q seen from l relative to b, the twist of l relative to k that all
other joints allow lies in P + Q' + Z, where Q' is the smallest space that holds Q and its brackets
with Z, for k and l differ by exp(Zq) on M. Let D be an intersection of such sums. Covectors fixed
on k that vanish on Z, dim D - dim Z of them independent on D, vanish on no twist of D outside Z. So
they imply all rows of the joint; the 6 - dim D rows that vanish on D are never needed.
**Motion.** Write displacements by joints whose screws h = w + ev, v.w = 0, span such alone as dual
quaternions a + sum of bh, up to real factors; a and b be functions of m variables, each of them b/a
of a hinge or slide, and of more, z: of each a relation q with those before is zero at 0, the pose,
unlike dq/dz and what z goes with at its highest power, if not of the m alone. Loops whose products
are real modulo all q stay closed. Let rows of cuts, each in its own loop over joints that are not
cut, have at the pose a rank m less than these have freedoms: m = 0 is *rigid*. What is closed near
it is a manifold then, of the velocities that they leave. While the rank lasts it goes on: at an end
as many independent ones of all equations leave an analytic one, on part of which, so all, all hold.
**Stress.** Let chains of joints, none in common, lead from body k to l, the first of their joints
through a point B fixed on k, the others through one P on l, apart. A force along B P does no work
on them, ever. With B and P in homogeneous coordinates, let s combinations of their products B P'
vanish: so do those of forces, wherever k and l are. Of N equations of loops with all these chains
no more than N - s are independent then; while rows have this rank, they imply all.
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
**Bound.** Let B be r rows and columns of all equations of some loops at the pose, off by d at most,
and C any matrix. If all rows of |1 - C B| + d |C| E, E full of ones, have sums below one, then C B,
so B, is invertible for all such numbers: r equations at least are independent, near the pose too.
"""

import hashlib
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from operator import add, mul, sub
from typing import Any, NamedTuple

Vector = tuple[int, ...]
Space = tuple[Vector, ...]  # in reduced echelon form, integers without a common divisor
Fact = tuple[bool, str, str, Space]  # a group of two bodies, or a space seen from the first one
Polynomial = dict[int, int]  # two bits for 1, i, j, k, two for e, BITS for each variable
ONE, BITS, SIGNS = 1 << 60, 40, ((1, 1, 1, 1), (1, -1, 1, -1), (1, -1, -1, 1), (1, 1, -1, -1))
EVERY: Space = tuple(tuple(int(i == j) for j in range(6)) for i in range(6))

# What a document looks like: (x, ...) is a list of that length, [x] one of any, "*" stands for all
# names and "?" for a member that may be left out; None is the number of a step, or null.
DIGITS, PAIR = re.compile(r"-?\d{1,4000}"), (None, None)
SPACE, PLACE = [(DIGITS,) * 6], {"origin_m": (float,) * 3, "unit_m": float}
JOINT = {"name": str, "bodies": (str, str), "written": [(float,) * 6]}
FACT = {"because": str, "bodies": (str, str), "space": SPACE}
RIGID = {"because": str, "loops": {"*": [str]}, "kept": {"*": SPACE}, "family?": str}
CUT = {"because": str, "joint": str, "seen from": str}
STEPS = {
    "joint": FACT | {"joint": str},
    **dict.fromkeys(("path", "meet", "walk"), FACT | {"of": PAIR}),
    "locked": FACT | {"joint": str, "of": PAIR},
    "parallelogram": FACT | {"loop": [str]},
    "rigid": RIGID,
    "motion": RIGID | {"curve": [{"*": DIGITS}], "moves": {"*": [{"*": DIGITS}]}},
    "stress": RIGID | {"bodies": (str, str), "legs": [{"joints": [str], "ends": [(DIGITS,) * 4]}]},
    "cut": CUT | {"of": [PAIR], "kept": SPACE, "removed": SPACE},
    "held": CUT | {"instead of": str, "loop": [str], "of": [None], "rows": SPACE},
}
PART = PLACE | {"steps": [STEPS], "conclusion": {"rows": int, "kept": int, "removed": int}}
PART |= {"joints": [JOINT | {"space": SPACE, "virtual?": True, "distance?": float}]}
BOUND = PLACE | {"joints": [JOINT], "loops": [[str]], "rows": [int], "columns": [int], "off": float}
DOCUMENT: dict[str, Any] = {"format": str, "version": int, "fingerprint": str, "model?": str}
DOCUMENT |= {"within?": {"*": (float,) * 4}, "undecided": [{"cuts": [str], "reason": str}]}
DOCUMENT |= {"parts": [PART | {"loops?": {"*": [str]}}], "bounds": [BOUND | {"inverse": [[float]]}]}
# Work, of 50 ns each, that a megabyte may ask for; more as the power 1.5 of length, as matrices do.
WORK, MAX = 22_000_000, 10_000  # and characters of a name
_left: ContextVar[list[float] | None] = ContextVar("work that is left", default=None)


class Verdict(NamedTuple):
    """What the checker found: claims that hold if the assumptions do, or why there are none."""

    holds: bool
    claims: tuple[str, ...]
    assumptions: tuple[str, ...]
    reason: str = ""

    def __repr__(self) -> str:
        return f"<Verdict: {self.reason[:150] or f'holds, {len(self.claims)} claims'}>"


def need(condition: object, reason: str, *names: str) -> None:
    """Stop where a condition is not fulfilled; the reason has {} where names of others stand."""
    if not condition:
        raise ValueError(reason.format(*map(shown, names)) if names else reason)


def _spend(work: float) -> None:  # before it is done
    if (left := _left.get()) is not None:
        left[0] -= work
        need(left[0] >= 0, "judging it takes more work than its length allows")


def shown(name: str) -> str:
    """A name as it may stand in a sentence: in quotes and escaped, unless it is one plain word."""
    plain = name.isprintable() and not {" ", '"'} & {*name} and name
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())


def read(text: str | bytes) -> Any:
    """The document in a text; ValueError: no JSON, a member twice, or what is no number."""
    try:
        return json.loads(text, parse_constant=int, object_pairs_hook=_once)
    except (RecursionError, ValueError) as error:
        raise ValueError(f"no JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len(found := dict(pairs)) == len(pairs), "a member is named twice")
    return found


def _conform(value: Any, form: Any, where: str = "the document") -> None:  # before it is used
    kind, right = type(value), value is form and value in (True, None)
    form = STEPS.get(str(value.get("because")), STEPS) if form is STEPS and kind is dict else form
    if type(form) is dict:
        right = kind is dict and {n for n in form if n[-1] not in "?*"} <= value.keys()
        for name, each in value.items() if right else ():
            known = form.get(name, form.get(name + "?", form.get("*")))
            need(known, "{} is no member of " + where, name)
            _conform(each, known, where if "*" in form else name)
    elif type(form) in (list, tuple):
        right = kind is list and (type(form) is list or len(value) == len(form))
        for each in value if right else ():
            _conform(each, form[0], where)
    elif kind is str:
        right = len(value) <= MAX if form is str else form is DIGITS and bool(form.fullmatch(value))
    elif kind is int or kind is form is float:
        right = form in (float, int, None) and abs(value) < (1e100 if form is float else 1 << 31)
    need(right, f"{where} lacks a member, is of another length or kind, or too large")


def verify(document: Any) -> Verdict:
    """Check a proof, or the text of one, with the bounds in it."""
    before, named = _left.set([WORK]), set[str]()
    try:
        document = read(document) if isinstance(document, str | bytes) else document
        _conform(document, DOCUMENT)
        _left.set([WORK * max(1.0, len(json.dumps(document)) / 1e6) ** 1.5])
        same = document["fingerprint"] == fingerprint(document) and document["version"] == 1
        need(same and document["format"] == "regularize proof", "this is no proof, or was changed")
        for key in ("parts", "bounds"):
            names = [j["name"] for p in document[key] for j in p["joints"] if "virtual" not in j]
            need(len(names) == len({*names}), f"two {key} speak of one joint")
            named |= {*names}
        for cuts in (part["cuts"] for part in document["undecided"]):
            need(cuts and named.issuperset(cuts if named else ()), "an undecided cut is unknown")
        parts = [_Checker(part) for part in document["parts"]]
        claims = [c for part in parts for c in part.claims] + [*map(_bound, document["bounds"])]
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        why = "" if type(e) is ValueError else "it speaks of what is not there, or no number: "
        return Verdict(False, (), (), why + (str(e) or type(e).__name__))
    finally:
        _left.reset(before)
    off = [max(size) for size in zip(*document.get("within", {}).values(), strict=True)]
    words = "each joint lies within its box of the file: at most {:.2g} mm and {:.2g} degrees off"
    file = [words.format(1e3 * max(off[::2]), math.degrees(max(off[1::2])))] if off else []
    return Verdict(True, tuple(claims), (*(part.assumption for part in parts), *file))


def fingerprint(document: Any) -> str:
    """Digest of everything else in a document, so that what was copied badly is noticed."""
    rest = {name: value for name, value in document.items() if name != "fingerprint"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def reduced(rows: Iterable[Sequence[int]]) -> Space:
    """The space that some vectors span, in its one canonical form; as many rows as its rank."""
    rest, done = [*map(tuple, rows)], list[Vector]()
    for at in range(len(rest[0]) if rest else 0):
        _spend(40 + len(rest) * (1 if at else 160))
        if p := next((row for row in rest if row[at]), ()):
            rest.remove(p)
            divisor = math.gcd(*p) * (1 if p[at] > 0 else -1)
            p = tuple(x // divisor for x in p)
            done, rest = ([_without(r, p, at) if r[at] else r for r in s] for s in (done, rest))
            done.append(p)
    return tuple(done)


def _without(row: Vector, pivot: Vector, at: int) -> Vector:  # zero in this column
    _spend(40 + len(row) * (6 + (max(map(int.bit_length, row)) ** 2 >> 13)))
    row = tuple(pivot[at] * x - row[at] * y for x, y in zip(row, pivot, strict=True))
    divisor = math.gcd(*row) or 1
    return tuple(x // divisor for x in row)


def annihilator(space: Space) -> Space:
    """All covectors that vanish on a space, or all vectors on which covectors vanish."""
    values = [(*(row[i] for row in space), *EVERY[i]) for i in range(6)]
    return reduced(row[len(space) :] for row in reduced(values) if not any(row[: len(space)]))


def meet(a: Space, b: Space) -> Space:
    """The intersection of two spaces."""
    return annihilator(reduced([*annihilator(a), *annihilator(b)]))


def bracket(a: Sequence[int], b: Sequence[int]) -> Vector:
    """The Lie bracket of two twists."""
    (v, w), (u, z), at = (a[:3], a[3:]), (b[:3], b[3:]), ((-2, -1), (-1, -3), (-3, -2))
    parts = ((w, u), (v, z)), ((w, z),)
    return tuple(sum(c[i] * d[j] - c[j] * d[i] for c, d in part) for part in parts for i, j in at)


def saturated(space: Space, kept_by: Space | None = None) -> Space:
    """The smallest space that holds a space and its brackets with another, or with itself."""
    others = space if kept_by is None else kept_by
    more = reduced([*space, *(bracket(z, x) for z in others for x in space)])
    return space if more == space else saturated(more, kept_by)


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


def polynomial(terms: Any, count: int) -> Polynomial:
    """A polynomial as a document writes it: coefficients by the exponents of all variables."""
    _spend(60 * len(terms) * (1 + count))
    rows = [([*map(int, at.split())], int(c)) for at, c in terms.items()]
    right = all(len(p) == count < 25 and 0 <= min(p) <= max(p) < 10**6 for p, _ in rows)
    need(right, "a polynomial has no exponents")
    return {sum(x << BITS * v + 4 for v, x in enumerate(p)): c for p, c in rows if c}


def product(*pairs: tuple[Polynomial, Polynomial]) -> Polynomial:
    """The sum of the products of some pairs."""
    found: Polynomial = {}
    for f, g in pairs:
        bits = [max((c.bit_length() for c in h.values()), default=0) for h in (f, g)]
        _spend(40 + len(f) * len(g) * (20 + (bits[0] * bits[1] >> 13)))
    for a, b, c in ((a, b, c * d) for f, g in pairs for a, c in f.items() for b, d in g.items()):
        at = a + b - (a & 3) - (b & 3) + ((a ^ b) & 3)
        found[at] = found.get(at, 0) + SIGNS[a & 3][b & 3] * c
    return {at: c for at, c in found.items() if c and not at & 8}


def remainder(f: Polynomial, p: Polynomial, v: int) -> Polynomial:
    """What division by a real p, as one in variable v, leaves of f times powers of its leader."""
    one, end = 1 << BITS * v + 4, 1 << BITS * v + BITS + 4
    degree = max((at % end for at in p), default=-1) // one
    lead = {at - degree * one: c for at, c in p.items() if at % end >= degree * one}
    while (top := max((at % end for at in f), default=-1) // one) >= max(degree, 0):
        head = {at - degree * one: -c for at, c in f.items() if at % end >= top * one}
        f = product((lead, f), (head, p))
    return f


def integers(rows: Any) -> Space:
    """A space as a document writes it: rows of six decimal integers, in canonical form."""
    space = reduced(tuple(map(int, row)) for row in rows[:6] if len(row) == 6)
    need([[*map(str, row)] for row in space] == rows, "a space is not in canonical form")
    return space


def _joined(pairs: Iterable[Any]) -> tuple[dict[str, set[str]], int]:  # bodies by each; loops
    groups, loops = dict[str, set[str]](), 0
    for pair in pairs:
        _spend(100)
        less, more = sorted((groups.setdefault(body, {body}) for body in pair), key=len)
        loops += less is more
        more |= less
        groups |= dict.fromkeys(less if less is not more else (), more)
    return groups, loops


def directions(names: Sequence[str], ends: Any, apart: Sequence[str] = ()) -> dict[str, int]:
    """How a loop, or a chain from body to body, passes joints, from parent to child (1) or back."""
    signs, (body, end) = dict[str, int](), apart or ends[names[0]][:1] * 2
    for name in names:
        parent, child = ends[name]
        need(body in (parent, child), "the loop is interrupted before {}", name)
        signs[name], body = (1, child) if body == parent else (-1, parent)
    need(body == end and len(signs) == len(names), "it ends elsewhere, or passes a joint twice")
    return signs


def _equations(spaces: Any, loops: Iterable[Any]) -> list[Vector]:  # rows on the rates of joints
    columns = [(name, z) for name in sorted(spaces) for z in spaces[name]]
    pairs = [(signs, row) for signs, rows in loops for row in rows]
    _spend(15 * len(pairs) * len(columns))
    return [tuple(g.get(n, 0) * sum(map(mul, row, z)) for n, z in columns) for g, row in pairs]


def _bound(part: Any) -> str:  # what a checked lower bound of the rank of all loops claims
    joints, off, rows, rank = part["joints"], part["off"], part["rows"], len(part["rows"])
    ends = {j["name"]: tuple(j["bodies"]) for j in joints}
    rings = [directions(loop, ends) for loop in part["loops"]]
    _spend(10 * len(rings) * len(ends))
    alone = len(reduced([ring.get(name, 0) for name in ends] for ring in rings)) == len(rings)
    need(alone and len(rings) == _joined(ends.values())[1], "the loops depend, or are not all")
    screws = {j["name"]: [[int(x * ONE) for x in z] for z in j["written"]] for j in joints}
    matrix = _equations(screws, [(ring, EVERY) for ring in rings])
    square = [len(part["columns"]), *map(len, part["inverse"])] == [rank] * (rank + 1)
    need(square and off >= 0, "there is no square part")  # rows said twice have no inverse
    B = [[(k, matrix[i][j]) for k, i in enumerate(rows) if matrix[i][j]] for j in part["columns"]]
    d = int(off * ONE) + 2  # and what is cut off
    for i, row in enumerate([int(x * ONE) for x in row] for row in part["inverse"]):
        _spend(4 * (rank + sum(map(len, B))))
        left = sum(abs(sum(row[k] * x for k, x in b) - ONE**2 * (i == j)) for j, b in enumerate(B))
        need(left + d * rank * sum(map(abs, row)) < ONE**2, "the rows may depend on each other")
    names, lock = [*map(shown, ends)], rank == sum(map(len, screws.values()))
    most = f"{6 * len(rings) - rank} redundant there{'; closed, they lock every joint' * lock}"
    said = f"at least {rank} equations of their loops are independent at the pose for all joints"
    return f"{names[0]} to {names[-1]}: {said} within {off:.0e}, no more than {most}"


class _Checker:  # one pass over a document
    def __init__(self, document: Any) -> None:
        joints, steps = document["joints"], document["steps"]
        self.ends = {joint["name"]: tuple(joint["bodies"]) for joint in joints}
        self.open = {joint["name"]: integers(joint["space"]) for joint in joints}
        for j, Z, ends in zip(joints, self.open.values(), self.ends.values(), strict=True):
            need(len({*ends}) == 2 and saturated(Z) == Z, "{} moves in no group", j["name"])
            need("virtual" in j or len(j["written"]) == len(Z), "{} is not written", j["name"])
        self.virtual = {j["name"] for j in joints if "virtual" in j}
        self.tree = self.ends.keys() - {step["joint"] for step in steps if step["because"] == "cut"}
        need(not _joined(self.ends[n] for n in self.tree)[1], "joints that are not cut close loops")
        self.spaces = {name: self.open.pop(name) for name in self.tree}  # of joints in place
        self.cuts, self.entered, self.held = dict[str, Space](), dict[str, int](), dict[str, int]()
        self.facts, self.used, self.claims, known = list[Any](), set[int](), list[str](), set[Any]()
        for number, step in enumerate(steps):
            self.facts.append(fact := getattr(self, "rule_" + step["because"])(step))
            if fact:
                said = (*step["bodies"], integers(step["space"])) == fact[1:]
                need(said and fact not in known, f"step {number} does not follow, or is repeated")
                known.add(fact)
        need(len(self.used) == len(known), "a step is not needed")
        cuts, real = [cut for cut in self.cuts if cut not in self.held], {*self.ends} - self.virtual
        rows = sum(6 - len(self.spaces[name]) for name in cuts)
        kept = sum(len(self.cuts[name]) for name in cuts) + sum(self.held.values())
        if self.virtual:
            own = real - {*cuts}
            rings = {cut: directions(document["loops"][cut], self.ends) for cut in cuts}
            alone = not _joined(self.ends[name] for name in own)[1]
            alone = alone and all(ring.keys() - own == {cut} for cut, ring in rings.items())
            rank = len(reduced(_equations(self.spaces, [(ring, EVERY) for ring in rings.values()])))
            equal = rank == kept + 6 * len(cuts) - rows and len(self.held) == len(self.virtual)
            need(alone and equal, f"{rank} equations are independent, or no group is held")
            self.claims.append(f"up to where fewer than {rank} of all equations are independent")
        same = document["conclusion"] == {"rows": rows, "kept": kept, "removed": rows - kept}
        need(same and (unit := document["unit_m"]) > 0.0, "it concludes otherwise, or has no unit")
        off = max([0, *(distance(z, self.spaces[j["name"]]) for j in joints for z in j["written"])])
        said = f"joints {shown(min(real))} to {shown(max(real))} are exactly as stated"
        self.assumption = f"{said}, {away(off, unit)} from where the proof writes them"

    def _premise(self, number: Any, body: str, group: bool = False) -> tuple[bool, str, Space]:
        if number is None:  # a body needs no fact about itself
            return True, body, ()
        fact: Any = self.facts[number] if number >= 0 else ()
        need(fact and (fact[0] or not group), "it rests on no earlier step of its kind")
        self.used.add(number)
        own, *ends, space = fact
        need(body in ends[: 1 + own], "it rests on a step that is not seen from {}", body)
        return own, ends[body == ends[0]], space

    def _meeting(self, of: Any, *ends: str, group: bool = False) -> tuple[bool, str, Space, Space]:
        (g, b, P), (h, d, Q) = (self._premise(*at, group) for at in zip(of, ends, strict=True))
        need(b == d, "what {} and {} are seen to move in ends at two bodies", *ends)
        return g and h, b, P, Q

    def rule_joint(self, step: Any) -> Fact:
        self.entered[step["joint"]] = len(self.cuts)
        return (True, *self.ends[step["joint"]], self.spaces[step["joint"]])

    def rule_path(self, step: Any) -> Fact:
        *_, A, B = self._meeting(step["of"], *step["bodies"], group=True)
        return (True, *step["bodies"], saturated((*A, *B)))

    def rule_meet(self, step: Any) -> Fact:
        groups, far, P, Q = self._meeting(step["of"], *step["bodies"][:1] * 2)
        return groups, step["bodies"][0], far, meet(P, Q)

    def rule_walk(self, step: Any) -> Fact:
        _, middle, A = self._premise(step["of"][1], step["bodies"][0], group=True)
        _, far, P = self._premise(step["of"][0], middle)
        return False, step["bodies"][0], far, reduced([*saturated(P, A), *A])

    def rule_locked(self, step: Any) -> Fact:
        ends, Z = self.ends[step["joint"]], self.spaces[step["joint"]]
        *_, A, B = self._meeting(step["of"], *ends, group=True)
        need(len(Z) == 1 and reduced([*A, *B, *Z]) != reduced([*A, *B]), "the joint is free")
        return (True, *ends, ())

    def rule_parallelogram(self, step: Any) -> Fact:
        loop, signs, ends = step["loop"], directions(step["loop"], self.ends), {*step["bodies"]}
        after = [self.ends[name][signs[name] > 0] for name in loop]
        need(len({*after}) == 4 and ends in ({*after[::2]}, {*after[1::2]}), "no opposite bodies")
        self.claims.append(f"up to where the parallelogram {', '.join(map(shown, loop))} is flat")
        return (True, *step["bodies"], arcs([self.spaces[name] for name in loop]))

    def rule_cut(self, step: Any) -> None:
        name, near = step["joint"], step["seen from"]
        Z, ends, D = self.open.pop(name), self.ends[name], EVERY
        need(near in ends and name not in self.virtual, "{} is not cut properly", name)
        for pair in step["of"]:
            *_, P, Q = self._meeting(pair, near, ends[near == ends[0]])
            D = meet(D, reduced([*P, *saturated(Q, Z), *Z]))
        kept, removed = integers(step["kept"]), integers(step["removed"])
        same = removed == annihilator(D) and kept == annihilator(reduced([*Z, *removed]))
        need(same, "the rows of {} are other ones", name)
        self.spaces[name], self.cuts[name] = Z, kept
        self.claims.append(f"{shown(name)}: {len(removed)} of {6 - len(Z)} rows are never needed")

    def _follow(self, step: Any, ring: dict[str, int], count: int) -> None:
        free, one = count - len(step["curve"]), [1 << BITS * v + 4 for v in range(count + 1)]
        curve = [(free + k, polynomial(q, count)) for k, q in enumerate(step["curve"])]
        pairs = {n: [polynomial(f, count) for f in pair] for n, pair in step["moves"].items()}
        smooth: Any = all(a.get(0) and not any(b.get(0) for b in m) for a, *m in pairs.values())
        smooth = smooth and all([{0: 1}, {x: 1}] in [*pairs.values()] for x in one[:free])
        for v, q in curve:
            top = max(q, default=0) // one[v] * one[v]
            known = q.get(top) or all(at % one[v] < one[free] for at in q if at >= top)
            smooth = smooth and 0 not in q and q.get(one[v]) and max(q) < one[v + 1] and known
        need(smooth, "the curve is singular, or does not pass the pose")
        closed: Polynomial = {0: 1}
        for name in (name for name in ring if name in pairs):
            (a, *bs), Z = pairs[name], self.spaces[name]
            pitch = any(sum(map(mul, y, (*z[3:], *z[:3]))) for z in Z for y in Z)
            need(not pitch, "{} has a pitch", name)
            h = [{4 * (k < 3) + 1 + k % 3: ring[name] * z[k] for k in range(6)} for z in Z]
            closed = product((closed, a), *zip((product((closed, b)) for b in bs), h, strict=True))
            for v, q in reversed(curve):  # at once: what follows is of low degree then
                closed = remainder(closed, q, v)
        need(not any(at & 7 for at in closed), "a loop does not stay closed along the curve")

    def _still(self, name: str, x: int, y: int, z: int, one: int) -> bool:
        around = ((s, bracket(s, (x, y, z, 0, 0, 0))) for s in self.spaces[name])
        return not any(one * s[i] + v[i] for s, v in around for i in range(3))

    def rule_motion(self, step: Any) -> None:
        rings = {cut: directions(loop, self.ends) for cut, loop in step["loops"].items()}
        rows, joints, moves = list[Any](), set[str](), step.get("moves", {})
        count = next((len(at.split()) for a, *_ in moves.values() for at in a), 0)
        why = ("up to where kept rows lose their rank", "for nothing in it can move")[len(step) < 4]
        for cut, ring in rings.items():
            if moves:
                self._follow(step, ring, count)
            kept, before = integers(step["kept"][cut]), self.cuts[cut]
            there = ring.keys() - self.tree == {cut} and reduced([*before, *kept]) == before
            need(there, "rows of {} are kept that were not there", cut)
            rows.append((ring, (*kept, *self.spaces[cut])))  # its freedoms tell its coordinates
            joints, self.cuts[cut] = joints | {*ring}, kept
            less = len(before) - len(kept)
            self.claims += [f"{shown(cut)}: {less} more in its loop, {why}"] * (less > 0)
        products, matrix = list[list[int]](), _equations({n: self.spaces[n] for n in joints}, rows)
        for leg in step.get("legs", ()):
            signs = directions(leg["joints"], self.ends, step["bodies"])
            one, two = points = [tuple(map(int, end)) for end in leg["ends"]]
            near, far = ([self._still(name, *point) for name in signs] for point in points)
            right = one[3] and two[3] and len(reduced(points)) == 2 and joints.issuperset(signs)
            need(right and all(far[[*near, False].index(False) :]), "no chains from point to point")
            joints, products = joints - {*signs}, [*products, [x * y for x in one for y in two]]
        free, stresses = count - len(step.get("curve", ())), len(products) - len(reduced(products))
        most = 6 * len(rings) - stresses if stresses else len(matrix[0]) - free
        held = len(reduced(matrix)) == most and joints >= moves.keys()
        need(held and not self.virtual, "the rows that are kept do not hold the joints of a loop")

    rule_rigid = rule_stress = rule_motion

    def rule_held(self, step: Any) -> None:
        name, cut, near = step["joint"], step["instead of"], step["seen from"]
        _spend(4 * len(self.ends))
        loop, rows = directions(step["loop"], self.ends), integers(step["rows"])
        order, at = [*self.cuts], self.entered.pop(name)
        there = (self.tree | {*order[:at]}) - {name}
        first = order[at] == cut and loop.keys() - there == {name, cut}
        need(first and name in self.virtual, "{} is not the first cut over {}", cut, name)
        for joint, number in zip(step["loop"], step["of"], strict=True) if rows else ():
            Z, ends = self.spaces[joint], self.ends[joint]
            _, end, A = self._premise(number, near, group=True)
            groups, _ = _joined(self.ends[n] for n in there - {joint})
            zero = saturated(reduced([bracket(a, z) for a in A for z in Z]), A)
            if len(Z) != 1 or ends[1] in groups.get(ends[0], ()) or joint in self.virtual:
                zero += Z
            steady = not any(sum(map(mul, row, z)) for row in rows for z in zero)
            need(steady and end in ends, "the coefficient of {} is not constant", joint)
        h = len(self.cuts[cut]) + len(self.spaces[cut]) - len(self.spaces[name])
        rank = len(reduced(_equations({n: self.spaces[n] for n in loop}, [(loop, rows)])))
        need(rank == len(rows) == h and cut not in self.held, "{} may leave its group", name)
        self.held[cut] = h
        self.claims += [f"{shown(cut)}: not cut; relations of joints, {h} in number, stand for it"]


def away(off: float, unit: float) -> str:
    """A measured distance in words."""
    return f"{off:.1e} rad or {off * unit:.1e} m" if off >= 1e-12 else "0"  # rounding


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
    with open(sys.argv[1], "rb") as file:
        found = verify(file.read())
    words = (*found.claims, *found.assumptions) if found.holds else (found.reason,)
    sys.stdout.write("\n".join(["holds" if found.holds else "does not hold", *words, ""]))
    sys.exit(not found.holds)
