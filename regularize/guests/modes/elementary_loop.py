r"""One loop as six elementary motions with constants between them.

Known motions become constants of each sample. Ball joints and free joints are taken apart into
turns and slides along axes at right angles; a rod between two ball joints that touches nothing else
may spin about its line, so that the second of them keeps the two turns across the line only. Where
fewer than six motions are unknown, turns about arbitrary axes are put in that have to come out as
zero.

Closure of a loop of six elementary motions: error, derivative, Newton's method, certificate.

.. math:: M_1(x_1)\, C_1\, M_2(x_2)\, C_2 \dots M_6(x_6)\, C_6 = I

with turns about and slides along z, constant motions C and lengths in units of the size of the
loop. The error is F = (p, r), where p is the translation of the product and r the vector of the
skew part of its rotation; near the identity it vanishes only where the loop is closed.

The certificate is the theorem of Newton and Kantorovich (Ortega and Rheinboldt 1970, 12.6.2): with
:math:`\|F'(x)^{-1}\| \le a`, :math:`\|F'(x)^{-1} F(x)\| \le b` and
:math:`\|F''\| \le k` there is exactly one zero within :math:`(1 + \sqrt{1 - 2h})/(k a)`
if :math:`h = a b k \le 1/2`. The bound k holds everywhere: a second derivative of the rotation is a
product of generators of rotations, of norm one at most, and one of the translation no longer than
the levers of the loop, the sum L of all its lengths; with translations and slides divided by L,
:math:`k = 6 \sqrt 2` for six variables. What is not proved is the arithmetic: rounding of the
evaluation is taken into account by an allowance in F, not by intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.guests.modes.loop_chain import ElementaryMotion, LoopChain
from regularize.guests.modes.pencil import Constants, Variables, elementary
from regularize.lie import screw
from regularize.lie.arrays import (
    Array,
    Coordinates,
    Direction,
    Jacobian,
    Mask,
    Point,
    Residual,
    Transform,
)
from regularize.mechanism.graph import Edge, Graph
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.tolerances import EXACT, ROUNDING


class NotElementary(Exception):
    """The unknown motions of a loop are not one to six turns and slides."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """An unknown turn or slide."""

    kind: str  # ``R`` or ``P``
    frame: Transform  # its z axis is that of the motion, seen in the frame in front of it
    of: ElementaryMotion | None = None  # what it is a part of; None for an auxiliary turn


class ElementaryLoop:
    """A loop with one to six unknown elementary motions, cylinders ``exchanged`` or not."""

    def __init__(
        self,
        graph: Graph,
        chain: LoopChain,
        known: frozenset[int],
        *,
        seed: int = 0,
        exchanged: bool = False,
    ) -> None:
        self._chain, rods = chain, _rods(graph, chain, known)
        self.columns = tuple(c for c in graph.columns(chain.cycle.edges) if c not in known)
        unknown = [
            (place, motion)
            for place, item in enumerate(chain.items)
            if _is_unknown(item, known)
            for motion in _taken_apart(item, rods.get(item))
        ]
        if not 0 < len(unknown) <= 6:
            raise NotElementary(f"{len(unknown)} unknown elementary motions instead of one to six")
        unknown = _exchanged(chain, unknown) if exchanged else unknown
        self._placed, self.size = unknown, 1.0
        gaps = self.constants(graph.position[None])[0, :, :3, 3]
        self.size = float(np.max(np.linalg.norm(gaps, axis=1))) or 1.0  # in metres
        rng, count = np.random.default_rng(seed), len(unknown)
        self._placed = []  # the motions, and the motions of the loop in front of which they are
        for k, (place, motion) in enumerate(unknown):
            extra = (6 - count + k) // count
            self._placed += [(place, motion)]
            for _ in range(extra):  # turns about arbitrary lines
                line = _along(rng.normal(size=3), 0.5 * self.size * rng.normal(size=3))
                self._placed.append((place, Unknown("R", line)))

    @property
    def motions(self) -> list[Unknown]:
        """The six motions in the order of the loop, auxiliary ones included."""
        return [motion for _, motion in self._placed]

    @property
    def kinds(self) -> str:
        """Six letters, R for turns and P for slides."""
        return "".join(motion.kind for motion in self.motions)

    def constants(self, q: Coordinates) -> Constants:
        """Return the constants behind each motion, from the known ones of all coordinates."""
        q = np.array(q)
        q[:, list(self.columns)] = 0.0
        T, fronts = np.broadcast_to(np.eye(4), (len(q), 4, 4)), []
        for item, link in zip(self._chain.items, self._chain.links, strict=True):
            fronts.append(T)
            T = T @ item.transforms(q) @ link
        # With all unknown motions at zero: the frames of their axes, and what is left of the loop.
        frames = [fronts[place] @ motion.frame for place, motion in self._placed]
        between = screw.inverse(np.stack(frames, axis=1)) @ np.stack(
            [*frames[1:], T @ frames[0]], axis=1
        )
        between[..., :3, 3] /= self.size
        return between

    def closes(self, x: Variables) -> Mask:
        """Tell which configurations leave the auxiliary turns at zero."""
        turns = x[:, [k for k, motion in enumerate(self.motions) if motion.of is None]]
        turns = turns - 2 * np.pi * np.round(turns / (2 * np.pi))
        return np.asarray(np.max(np.abs(turns), axis=1, initial=0.0) < EXACT.rank)

    def coordinates(self, x: Variables, q: Coordinates) -> Coordinates:
        """Return q with the unknown coordinates from the variables."""
        q = np.array(q)
        groups: dict[ElementaryMotion, Transform] = {}
        for value, motion in zip(x.T, self.motions, strict=True):
            item = motion.of
            if item is None:
                continue
            value = value * (self.size if motion.kind == "P" else 1.0)
            if not item.edge.group:
                q[:, item.columns[0]] = value / item.scale
                continue
            turned = motion.frame @ elementary(motion.kind, value) @ screw.inverse(motion.frame)
            groups[item] = groups.get(item, np.eye(4)) @ turned
        for item, T in groups.items():
            twists = screw.log(T if item.sign > 0 else screw.inverse(T))
            q[:, list(item.columns)] = twists @ np.linalg.pinv(item.edge.screws).T
        return q


def _exchanged(chain: LoopChain, motions: list[tuple[int, Unknown]]) -> list[tuple[int, Unknown]]:
    """Put the motions of every second cylindrical joint in the other order."""
    # A slide may change places with turns about its axis: at zero their axes are the same.
    order, cylinders = {place: place for place, _ in motions}, []
    for i, (a, b) in enumerate(zip(chain.items, chain.items[1:], strict=False)):
        both = a.edge is b.edge and a.edge.freedoms == 2 and {a.kind, b.kind} == {"R", "P"}
        if both and not np.any(screw.bracket(*a.edge.screws.T)):
            cylinders.append(i)
    for place in cylinders[1::2]:
        order |= {place: place + 1, place + 1: place}
    return sorted(motions, key=lambda motion: order[motion[0]])


def _is_unknown(item: ElementaryMotion, known: frozenset[int]) -> bool:
    """Tell whether a motion is unknown; ``NotElementary`` where it is in part only, or helical."""
    missing = set(item.columns) - known
    if missing and len(missing) < len(item.columns):
        raise NotElementary(f"joint {item.name!r} is known in part only")
    if missing and item.pitch:
        raise NotElementary(f"the helical joint {item.name!r} is not algebraic")
    return bool(missing)


def _along(direction: Array, point: Point) -> Transform:
    """Return a frame at a point with its z axis along a direction."""
    axes = [*perpendiculars(direction), screw.unit(direction)]
    return screw.transform(np.column_stack(axes), point)


def _taken_apart(item: ElementaryMotion, rod: Direction | None) -> list[Unknown]:
    """Take a ball or free joint apart into slides and turns about axes in general position."""
    if not item.edge.group:
        return [Unknown(item.kind, np.eye(4), item)]
    # The axes are those of no drawing, so that no drawn configuration is singular for them.
    axes, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    kinds, center = ("RRR", _center(item.edge)) if item.kind == "S" else ("PPPRRR", np.zeros(3))
    if rod is not None:
        kinds, axes = "RR", np.linalg.qr(np.column_stack([rod, axes[:, :2]]))[0][:, [1, 2, 0]]
    return [Unknown(kind, _along(axes[:, k % 3], center), item) for k, kind in enumerate(kinds)]


def _center(edge: Edge) -> Point:
    """Return the point about which a ball joint turns, in its frame: v + w x p = 0."""
    stacked = np.vstack([screw.cross_matrix(w) for w in edge.screws[3:].T])
    return np.asarray(np.linalg.pinv(stacked) @ -edge.screws[:3].T.ravel())


def _rods(
    graph: Graph, chain: LoopChain, known: frozenset[int]
) -> dict[ElementaryMotion, Direction]:
    """Return directions of rods between unknown ball joints, by the second joint of each."""
    rods: dict[ElementaryMotion, Direction] = {}
    for i, second in enumerate(chain.items):
        first, link = chain.items[i - 1], chain.links[i - 1]
        if first is second or first in rods or {first.kind, second.kind} != {"S"}:
            continue
        node = chain.cycle.nodes[chain.cycle.edges.index(second.edge.index)]
        if known & {*first.columns, *second.columns} or len(graph.adjacency[node]) != 2:
            continue
        start = screw.inverse(link) @ [*_center(first.edge), 1.0]
        direction = start[:3] - _center(second.edge)
        if np.linalg.norm(direction) > 0.0:
            rods[second] = screw.unit(direction)
    return rods


#: Longest step of Newton's method, in radians and sizes of the loop: a longer one leaves the place.
STRIDE = 0.5


def product(kinds: str, C: Constants, x: Variables) -> tuple[Transform, Direction, Point]:
    """Return the motion once around, and directions and points of the six axes."""
    T = np.broadcast_to(np.eye(4), (len(x), 4, 4))
    axes, points = np.zeros((2, len(x), 6, 3))
    for i, kind in enumerate(kinds):
        axes[:, i], points[:, i] = T[:, :3, 2], T[:, :3, 3]
        T = T @ elementary(kind, x[:, i]) @ C[:, i]
    return T, axes, points


def screws_of(kinds: str, C: Constants, x: Variables) -> Array:
    """Return the screws of the six motions, one column each, shape (K, 6, 6)."""
    _, axes, points = product(kinds, C, x)
    turning = np.array([kind == "R" for kind in kinds])[:, None]
    linear = np.where(turning, screw.cross(points, axes), axes)
    return np.swapaxes(np.concatenate([linear, axes * turning], axis=-1), 1, 2)


def error_and_derivative(
    kinds: str, C: Constants, x: Variables
) -> tuple[Residual, Jacobian, Array]:
    """Return the error F, its derivative, and the largest entry of the product less one."""
    T, axes, points = product(kinds, C, x)
    R, p = T[:, :3, :3], T[:, :3, 3]
    skew = 0.5 * (R - np.swapaxes(R, 1, 2))
    F = np.concatenate([p, np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], -1)], axis=1)
    turning = np.array([kind == "R" for kind in kinds])
    w = axes * turning[:, None]
    v = np.where(turning[:, None], screw.cross(axes, p[:, None] - points), axes)
    trace = np.trace(R, axis1=1, axis2=2)[:, None, None]
    rotation = 0.5 * (trace * np.eye(3) - R) @ np.swapaxes(w, 1, 2)
    derivative = np.concatenate([np.swapaxes(v, 1, 2), rotation], axis=1)
    return F, derivative, np.max(np.abs(T - np.eye(4)), axis=(1, 2))


def newton(kinds: str, C: Constants, x: Variables, steps: int = 15) -> Variables:
    """Solve by Newton's method from all starting points at once."""
    x = np.array(x)
    active = np.arange(len(x))
    for _ in range(steps):
        F, derivative, _ = error_and_derivative(kinds, C[active], x[active])
        step = -(np.linalg.pinv(derivative, rcond=10 * ROUNDING) @ F[..., None])[..., 0]
        length = np.max(np.abs(step), axis=1)
        x[active] += step * np.minimum(1.0, STRIDE / np.maximum(length, STRIDE))[:, None]
        active = active[length > 0.1 * EXACT.closed]
        if not len(active):
            break
    return x


def certified(kinds: str, C: Constants, x: Variables) -> tuple[Array, Array]:
    """Return largest error and number h of Kantorovich, infinite above one half, of solutions."""
    F, derivative, error = error_and_derivative(kinds, C, x)
    sliding = np.array([kind == "P" for kind in kinds])
    slides = np.abs(x[:, sliding])
    error = error / np.maximum(1.0, slides.max(axis=1, initial=0.0))
    # Within a ball of one unit every slide is longer by one unit L at most.
    length = np.linalg.norm(C[..., :3, 3], axis=-1).sum(axis=1) + slides.sum(axis=1)
    length = np.maximum(1.0, length)[:, None]
    wide = (1.0 + sliding.sum()) * length
    F = np.concatenate([F[:, :3] / wide, F[:, 3:]], axis=1)
    derivative = np.concatenate([derivative[:, :3] / wide[..., None], derivative[:, 3:]], axis=1)
    derivative = np.where(sliding, derivative * wide[..., None], derivative)
    k = 6.0 * np.sqrt(2.0)
    smallest = np.linalg.svd(derivative, compute_uv=False)[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        a = 1.0 / smallest
        b = a * (np.linalg.norm(F, axis=1) + ROUNDING)
        h = a * b * k
    return error, np.where(h <= 0.5, h, np.inf)
