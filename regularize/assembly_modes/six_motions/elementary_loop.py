"""One loop as six elementary motions with constants between them.

Known motions become constants of each sample, and where fewer than six are unknown, turns about
arbitrary axes are put in that have to come out as zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.six_motions.elementary_steps import (
    NotElementary,
    Part,
    Unknown,
    along,
    cylinders_of,
    rods_of,
    steps_of,
)
from regularize.assembly_modes.six_motions.line_motions import elementary
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.cycles import Cycle
from regularize.model.graph import Graph

#: Number of unknown motions of a loop whose configurations are isolated in general.
SIX = 6
#: Angles of auxiliary turns that count as zero before the last corrections.
ZERO = 1e-5


class ElementaryLoop:
    """A loop of a mechanism with one to six unknown elementary motions.

    Args:
        graph: The mechanism's graph.
        cycle: The loop.
        known: Columns whose values are known.
        seed: Seed of the auxiliary turns.
        exchanged: Whether every second cylindrical joint slides first and turns then; that is the
            same motion, but other equations.

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
        cycle: Cycle,
        known: frozenset[int],
        *,
        seed: int = 0,
        exchanged: bool = False,
    ) -> None:
        """Walk around the loop, twice where auxiliary turns are needed."""
        self._graph, self._cycle, self._known = graph, cycle, known
        self.columns = tuple(c for c in graph.columns(cycle.edges) if c not in known)
        self._exchanged = frozenset(cylinders_of(graph, cycle)[1::2] if exchanged else ())
        self.size = 1.0
        self._walk([0] * SIX, np.random.default_rng(seed))
        count = len(self.motions)
        if not 0 < count <= SIX:
            raise NotElementary(f"{count} unknown elementary motions instead of one to six")
        gaps = self._between(graph.position[None])[0, :, :3, 3]
        self.size = float(np.max(np.linalg.norm(gaps, axis=1))) or 1.0
        if count < SIX:
            extra = [(SIX - count + k) // count for k in range(count)]
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
        turns = x[:, [k for k, motion in enumerate(self.motions) if motion.edge is None]]
        turns = turns - 2 * np.pi * np.round(turns / (2 * np.pi))
        return np.asarray(np.max(np.abs(turns), axis=1, initial=0.0) < ZERO)

    def coordinates(self, x: Array, q: Array) -> Array:
        """Coordinates of all joints with the unknown ones entered, shape (K, n).

        Args:
            x: Variables of the six motions, shape (K, 6).
            q: Coordinates of all joints, shape (K, n).
        """
        q = np.array(q)
        groups: dict[int, Array] = {}
        for value, motion in zip(x.T, self.motions, strict=True):
            if motion.edge is None:
                continue
            value = value * (self.size if motion.kind == "P" else 1.0)
            if motion.scale:
                q[:, motion.column] = value / motion.scale
                continue
            frame, edge = motion.frame, motion.edge
            T = groups.get(edge.index, np.eye(4))
            groups[edge.index] = T @ frame @ elementary(motion.kind, value) @ screw.inverse(frame)
            if motion is self._last[edge.index]:
                T = groups[edge.index]
                twists = screw.log(T if motion.forward else screw.inverse(T))
                q[:, list(edge.columns)] = twists @ np.linalg.pinv(edge.screws).T
        return q

    # Walking around the loop ----------------------------------------------------------------------

    def _walk(self, extra: list[int], rng: np.random.Generator) -> None:
        """Collect motions and constants, with ``extra`` auxiliary turns behind each motion."""
        self.motions: list[Unknown] = []
        self._parts: list[list[Part]] = [[]]
        self._last: dict[int, Unknown] = {}
        rods = rods_of(self._graph, self._cycle, self._known)
        own = 0
        for index, node in zip(self._cycle.edges, self._cycle.nodes, strict=True):
            edge = self._graph.edges[index]
            forward = node == edge.parent
            into, out = (edge.T_parent, edge.T_child) if forward else (edge.T_child, edge.T_parent)
            self._fixed(into)
            for step in steps_of(edge, forward, self._known, rods, self._exchanged):
                if not isinstance(step, Unknown):
                    self._parts[-1].append(step)
                    continue
                self._append(step)
                self._last[edge.index] = step
                for _ in range(extra[own] if own < SIX else 0):
                    direction = screw.unit(rng.normal(size=3))
                    point = 0.5 * self.size * rng.normal(size=3)
                    self._append(Unknown("R", along(direction, point)))
                own += 1
            self._fixed(screw.inverse(out))

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
