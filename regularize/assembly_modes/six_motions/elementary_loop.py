"""One loop as six elementary motions with constants between them.

Known motions become constants of each sample. Ball joints and free joints are taken apart into
turns and slides along axes at right angles; a rod between two ball joints that touches nothing else
may spin about its line, so that the second of them keeps the two turns across the line only. Where
fewer than six motions are unknown, turns about arbitrary axes are put in that have to come out as
zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.loop_chain import ElementaryMotion, LoopChain
from regularize.assembly_modes.six_motions.line_motions import elementary
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import Edge, Graph

#: A motion, (N, 4, 4) or (4, 4), by the coordinates of all joints, (N, n).
Part: TypeAlias = Callable[[Array], Array]


class NotElementary(Exception):
    """The unknown motions of a loop are not one to six turns and slides."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """An unknown elementary motion.

    Attributes:
        kind: ``R`` or ``P``.
        frame: Frame whose z axis is that of the motion, in the frame in front of it, (4, 4).
        of: The motion of the loop that it is, or is a part of; None for an auxiliary turn.
    """

    kind: str
    frame: Array
    of: ElementaryMotion | None = None


class ElementaryLoop:
    """A loop of a mechanism with one to six unknown elementary motions.

    Args:
        graph: The mechanism's graph.
        chain: The loop.
        known: Columns whose values are known.
        seed: Seed of the auxiliary turns.
        exchanged: Whether every second cylindrical joint slides first and turns then, or the other
            way round; that is the same motion, but other equations.

    Attributes:
        motions: The six motions in the order of the loop, auxiliary ones included.
        columns: Unknown coordinates.
        size: Unit of lengths in metres.

    Raises:
        NotElementary: No or more than six unknown motions, a helical one, or half a joint.
    """

    def __init__(
        self,
        graph: Graph,
        chain: LoopChain,
        known: frozenset[int],
        *,
        seed: int = 0,
        exchanged: bool = False,
    ) -> None:
        """Walk around the loop, twice where auxiliary turns are needed."""
        self._known, self._rods = known, _rods(graph, chain, known)
        self._pairs = list(zip(chain.items, chain.links, strict=True))
        if exchanged:
            self._exchange(chain)
        self.columns = tuple(c for c in graph.columns(chain.cycle.edges) if c not in known)
        self.size = 1.0
        self._walk([0] * 6, np.random.default_rng(seed))
        count = len(self.motions)
        if not 0 < count <= 6:
            raise NotElementary(f"{count} unknown elementary motions instead of one to six")
        gaps = self._between(graph.position[None])[0, :, :3, 3]
        self.size = float(np.max(np.linalg.norm(gaps, axis=1))) or 1.0
        if count < 6:
            extra = [(6 - count + k) // count for k in range(count)]
            self._walk(extra, np.random.default_rng(seed))

    @property
    def kinds(self) -> str:
        """Six letters, R for turns and P for slides."""
        return "".join(motion.kind for motion in self.motions)

    def constants(self, q: Array) -> Array:
        """Constants behind each of the six motions, lengths in sizes, shape (N, 6, 4, 4).

        Args:
            q: Coordinates of all joints, of which the known ones count, shape (N, n).
        """
        between = self._between(q)
        between[..., :3, 3] /= self.size
        return between

    def closes(self, x: Array) -> NDArray[np.bool_]:
        """Which configurations leave the auxiliary turns at zero, shape (K,)."""
        turns = x[:, [k for k, motion in enumerate(self.motions) if motion.of is None]]
        turns = turns - 2 * np.pi * np.round(turns / (2 * np.pi))
        return np.asarray(np.max(np.abs(turns), axis=1, initial=0.0) < EXACT.rank)

    def coordinates(self, x: Array, q: Array) -> Array:
        """Coordinates of all joints with the unknown ones entered, shape (K, n).

        Args:
            x: Variables of the six motions, shape (K, 6).
            q: Coordinates of all joints, shape (K, n).
        """
        q = np.array(q)
        groups: dict[ElementaryMotion, Array] = {}
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

    # Walking around the loop ----------------------------------------------------------------------

    def _walk(self, extra: list[int], rng: np.random.Generator) -> None:
        """Collect motions and constants, with ``extra`` auxiliary turns behind each motion."""
        self.motions: list[Unknown] = []
        self._parts: list[list[Part]] = [[]]
        own = 0
        for item, link in self._pairs:
            if self._is_known(item):
                self._parts[-1].append(item.transforms)
                self._fixed(link)
                continue
            for motion in _taken_apart(item, self._rods.get(item)):
                self._append(motion)
                for _ in range(extra[own] if own < 6 else 0):
                    direction = screw.unit(rng.normal(size=3))
                    point = 0.5 * self.size * rng.normal(size=3)
                    self._append(Unknown("R", _along(direction, point)))
                own += 1
            self._fixed(item.fixed @ link)

    def _is_known(self, item: ElementaryMotion) -> bool:
        """Whether a motion is known.

        Raises:
            NotElementary: A helical joint, or one that is known in part and cannot be taken apart.
        """
        missing = set(item.columns) - self._known
        if missing and len(missing) < len(item.columns):
            raise NotElementary(f"joint {item.name!r} is known in part only")
        if missing and item.pitch:
            raise NotElementary(f"the helical joint {item.name!r} is not algebraic")
        return not missing

    def _exchange(self, chain: LoopChain) -> None:
        """Let every second cylindrical joint pass its two motions in the other order."""
        pairs = self._pairs
        for i in list(_cylinders(chain))[1::2]:
            (first, link), (second, behind) = pairs[i], pairs[i + 1]
            # A slide may change places with turns about, and with slides along, its axis.
            if second.kind == "P":
                fixed = second.fixed
                pairs[i : i + 2] = [(second, screw.inverse(fixed)), (first, link @ fixed @ behind)]
            else:
                fixed, (before, at) = first.fixed, pairs[i - 1]
                pairs[i - 1] = before, at @ fixed @ link
                pairs[i : i + 2] = [(second, np.eye(4)), (first, screw.inverse(fixed) @ behind)]

    def _append(self, motion: Unknown) -> None:
        self._fixed(motion.frame)
        self.motions.append(motion)
        self._parts.append([])
        self._fixed(screw.inverse(motion.frame))

    def _fixed(self, T: Array) -> None:
        self._parts[-1].append(lambda q: T)

    def _between(self, q: Array) -> Array:
        """Constants behind each motion, lengths in metres, shape (N, motions, 4, 4)."""
        pieces = []
        for parts in self._parts:
            T = np.broadcast_to(np.eye(4), (len(q), 4, 4))
            for part in parts:
                T = T @ part(q)
            pieces.append(T)
        # What lies in front of the first motion is passed at the end of a turn around the loop.
        return np.stack([*pieces[1:-1], pieces[-1] @ pieces[0]], axis=1)


def _along(direction: Array, point: Array) -> Array:
    """A frame at a point with its z axis along a direction."""
    z = screw.unit(direction)
    x = screw.unit(np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z))
    return screw.transform(np.column_stack([x, np.cross(z, x), z]), point)


def _taken_apart(item: ElementaryMotion, rod: Array | None) -> list[Unknown]:
    """A motion, or a ball or free joint as slides and turns about axes in general position."""
    if not item.edge.group:
        return [Unknown(item.kind, np.eye(4), item)]
    # The axes are those of no drawing, so that no drawn configuration is singular for them.
    axes, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    kinds, center = ("RRR", _center(item.edge)) if item.kind == "S" else ("PPPRRR", np.zeros(3))
    if rod is not None:
        kinds, axes = "RR", np.linalg.qr(np.column_stack([rod, axes[:, :2]]))[0][:, [1, 2, 0]]
    return [Unknown(kind, _along(axes[:, k % 3], center), item) for k, kind in enumerate(kinds)]


def _center(edge: Edge) -> Array:
    """The point about which a ball joint turns, in its frame: v + w x p = 0 of every screw."""
    stacked = np.vstack([screw.cross_matrix(w) for w in edge.screws[3:].T])
    return np.asarray(np.linalg.pinv(stacked) @ -edge.screws[:3].T.ravel())


def _cylinders(chain: LoopChain) -> Iterator[int]:
    """Positions of the first motions of joints that turn about and slide along one axis."""
    for i, (a, b) in enumerate(zip(chain.items, chain.items[1:], strict=False)):
        both = a.edge is b.edge and a.edge.freedoms == 2 and {a.kind, b.kind} == {"R", "P"}
        if both and not np.any(screw.bracket(*a.edge.screws.T)):
            yield i


def _rods(graph: Graph, chain: LoopChain, known: frozenset[int]) -> dict[ElementaryMotion, Array]:
    """Rods between two unknown ball joints that touch nothing else.

    Returns:
        By the second joint, the direction of the rod in that joint's frame.
    """
    rods: dict[ElementaryMotion, Array] = {}
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
