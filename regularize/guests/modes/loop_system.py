r"""Closure equations of loops with some coordinates unknown: projection, rates, what is the same.

The derivatives of the equations give the rates of every solution, so that none is chosen again:

.. math:: J_f \dot q_f = -J_i \dot x, \qquad J_f \ddot q_f = -J_i \ddot x - \dot J \dot q

Configurations are searched for from many random starts at once: by Levenberg and Marquardt's method
(Moré 1978, with one damping per start) on the closure errors of all loops, then by Newton's for the
last digits. New starts are made until several rounds in a row have found nothing new. The list that
comes out is never known to be complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from regularize.guests.modes.grouping import firsts_of
from regularize.lie.arrays import (
    Array,
    Coordinates,
    Indices,
    Jacobian,
    Mask,
    Rates,
    Residual,
    Transform,
)
from regularize.loops.kinematics import State, sized_loops
from regularize.loops.projection import CHUNK, in_parts, least_norm, moved, project
from regularize.mechanism.graph import Graph
from regularize.tolerances import EXACT

#: Steps by which velocities of the null space are tried, radians or sizes of the loops.
NUDGE = 1e-4


class LoopSystem:
    """Scaled closure equations of all loops of a mechanism for K configurations with u unknowns."""

    def __init__(
        self,
        graph: Graph,
        unknown: Indices,
        *,
        length: float | None = None,
        by_body: str | None = None,
    ) -> None:
        self._by_body = by_body
        self.graph, self.unknown = graph, unknown
        self.loops = sized_loops(graph, graph.position, length=length)
        self.held = ~np.isin(np.arange(graph.freedoms), unknown)

    def error(self, q: Coordinates) -> Array:
        """Return the largest closure error of each configuration."""
        residual = in_parts(lambda part: self.loops.residual(self.loops.state(part)), q)
        return np.asarray(np.max(np.abs(residual), axis=1, initial=0.0))

    def gap(self, q: Coordinates) -> Array:
        """Return each configuration's largest gap, divided by its largest coordinate if above 1."""
        errors = self.loops.residual(self.loops.state(q))[:, : 6 * len(self.loops.chords)]
        size = np.maximum(1.0, np.max(np.abs(q), axis=1, initial=0.0))
        return np.asarray(np.max(np.abs(errors), axis=1, initial=0.0) / size)

    def equations(self, q: Coordinates) -> tuple[Residual, Jacobian]:
        """Return closure errors (K, m) and their derivative by the unknowns (K, m, u)."""
        state = self.loops.state(q)
        jacobian = self.loops.residual_jacobian(state) * self.loops.units
        return self.loops.residual(state), jacobian[..., self.unknown]

    def projected(
        self,
        q: Coordinates,
        *,
        damped: bool = False,
        steps: int = 8,
        until: float | None = None,
        within: float = EXACT.closed,
    ) -> tuple[Coordinates, Mask]:
        """Return configurations closed with the known coordinates held, and which of them are."""
        close = partial(
            project, self.loops, held=self.held, damped=damped, steps=steps, until=until
        )
        parts = [close(q[k : k + CHUNK]) for k in range(0, len(q), CHUNK)]
        if not parts:
            return q, np.zeros(0, dtype=bool)
        result = np.concatenate([part.q for part in parts])
        result[:, self.held] = q[:, self.held]  # whole turns of ball joints included
        return result, np.concatenate([part.error for part in parts]) <= within

    def derivatives(self, q: Coordinates, given: Sequence[Rates]) -> Rates:
        """Return velocities or accelerations by those of known coordinates; NaN where none fit."""
        loops, free = self.loops, ~self.held
        state, units = loops.state(q), loops.units[free]
        jacobian = loops.jacobian(state)
        rows = jacobian[..., free] * units
        result, bias = np.zeros_like(q), np.zeros(jacobian.shape[:2])
        for rates in given:
            result = np.where(self.held, rates, 0.0)
            for _ in range(2):  # the second time for the rounding of the first
                gap = (jacobian @ result[..., None])[..., 0] + bias
                # Slides of nearly parallel axes are long: all but the rounding counts.
                result[:, free] -= units * least_norm(rows, gap, EXACT.closed)
            left = np.abs((jacobian @ result[..., None])[..., 0] + bias)
            terms = (np.abs(jacobian) @ np.abs(result)[..., None])[..., 0] + np.abs(bias)
            wrong = left.max(axis=1, initial=0.0) > EXACT.same * terms.max(axis=1, initial=0.0)
            result[wrong] = np.nan
            bias = loops.bias(state, result)
        return result

    def distinct(self, rows: Indices, q: Coordinates) -> Indices:
        """Return the configurations that differ from earlier ones of the same sample."""
        return firsts_of(rows, self.poses(q), EXACT.same)

    def poses(self, q: Coordinates) -> Array:
        """Return points (K, m) of bodies that do not spin alone, to tell configurations apart."""

        def of_part(part: Coordinates) -> Array:
            state = self.loops.state(part)
            poses = self.bodies(state)
            if self._by_body is None:
                poses[self._passive(part, state)] = 0.0
            else:
                row = self.loops.row(self.graph.node_of[self._by_body])
                poses[:, np.arange(poses.shape[1]) != row] = 0.0
            return poses.reshape(len(part), 12 * poses.shape[1])

        return in_parts(of_part, q)

    def away(self, stored: Coordinates, q: Coordinates) -> Array:
        """Return the largest difference of body poses from those at one configuration."""
        start = self.loops.state(stored)
        counts = ~self._passive(np.atleast_2d(stored), start)[0]

        def difference(part: Coordinates) -> Array:
            change = self.bodies(self.loops.state(part)) - self.bodies(start)
            return np.asarray(np.max(np.abs(change[:, counts]), axis=(1, 2, 3), initial=0.0))

        return in_parts(difference, q)

    def bodies(self, state: State) -> Transform:
        """Return poses of all nodes without their last rows, lengths divided by the loops' size."""
        poses = state.T_world_node[:, :, :3].copy()
        poses[..., 3] /= self.loops.length
        return poses

    @cached_property
    def passive_rotations(self) -> int:
        """Number of legs between two unknown ball joints, which spin with nothing else moving."""
        return len(passive_legs(self.graph, self.unknown.tolist()))

    def isolated(self, q: Coordinates) -> Mask:
        """Return a mask of configurations at which, to first order, only spinning legs move."""

        def of_part(part: Coordinates) -> Mask:
            sizes = np.linalg.svd(self.equations(part)[1], compute_uv=False)
            rank = np.sum(sizes > EXACT.singular * sizes[:, :1], axis=1)
            return np.asarray(len(self.unknown) - rank <= self.passive_rotations)

        return in_parts(of_part, q)

    def _passive(self, q: Coordinates, state: State) -> Mask:
        """Return a mask of nodes that move along the equations' null space, (K, nodes)."""
        passive = np.zeros(state.T_world_node.shape[:2], dtype=bool)
        u = len(self.unknown)
        if not u:
            return passive
        _, jacobian = self.equations(q)
        _, sizes, V = np.linalg.svd(jacobian, full_matrices=jacobian.shape[1] < u)
        null = np.ones((len(q), u), dtype=bool)
        null[:, : sizes.shape[1]] = sizes <= EXACT.singular * sizes[:, :1]
        if not null.any():
            return passive
        # An arbitrary velocity of the null space moves whatever can move; three do so for sure.
        step = np.zeros_like(q)
        for weights in np.random.default_rng(1).normal(size=(3, u)):
            step[:, self.unknown] = NUDGE * ((weights * null)[:, None] @ V)[:, 0]
            ahead, behind = (
                self.loops.state(moved(self.loops, q, sense * step)).T_world_node
                for sense in (1.0, -1.0)
            )
            change = np.max(np.abs(ahead - behind), axis=(2, 3))
            passive |= change > NUDGE**2 * max(1.0, self.loops.length)
        return passive

    def random(self, q: Coordinates, rng: np.random.Generator) -> Coordinates:
        """Return configurations with random values of the unknown coordinates."""
        from scipy.spatial.transform import Rotation  # slow to load

        q = np.array(q)
        for edge in self.graph.edges:
            columns = [c for c in edge.columns if not self.held[c]]
            if not columns:
                continue
            if edge.group:
                turns = iter(Rotation.from_quat(rng.normal(size=(len(q), 4))).as_rotvec().T)
            for column in columns:
                if not np.any(edge.screws[3:, edge.columns.index(column)]):
                    q[:, column] = rng.normal(scale=self.loops.length, size=len(q))
                elif edge.group:
                    q[:, column] = next(turns)
                else:
                    q[:, column] = rng.uniform(-np.pi, np.pi, size=len(q))
        return q


def passive_legs(graph: Graph, unknown: Iterable[int]) -> set[frozenset[str]]:
    """Name pairs of unknown ball joints at the ends of legs that touch nothing else."""
    columns = set(unknown)
    balls = {e.index: e for e in graph.edges if e.joint.kind == "spherical"}
    balls = {index: edge for index, edge in balls.items() if edge.columns[0] in columns}
    legs: set[frozenset[str]] = set()
    for ball in balls.values():
        for node in (ball.parent, ball.child):
            edge = ball.index
            while len(graph.adjacency[node]) == 2:
                edge = next(e for e in graph.adjacency[node] if e != edge)
                node = graph.edges[edge].other(node)
                if edge in balls:
                    legs.add(frozenset((ball.name, balls[edge].name)))
                    break
    return {leg for leg in legs if len(leg) == 2}


@dataclass(frozen=True)
class Multistart:
    """Limits of a search from random starts."""

    starts: int = 64  # of each sample in a round
    rounds: int = 30
    seed: int = 0
    advance: Callable[[], None] = lambda: None  # called after every round
    patience: int = 3  # rounds without anything new after which the search ends


def searched(
    system: LoopSystem, q: Coordinates, known: tuple[Indices, Coordinates], search: Multistart
) -> tuple[Indices, Coordinates, Indices]:
    """Search from random starts; return samples, configurations, and starts of each sample."""
    rng = np.random.default_rng(search.seed)
    rows, found = known
    poses = system.poses(found)
    used = np.zeros(len(q), dtype=np.intp)
    quiet = np.zeros(len(q), dtype=np.intp)
    for _ in range(search.rounds):
        open_ = np.flatnonzero(quiet < search.patience)
        if not len(open_):
            break
        before = np.bincount(rows, minlength=len(q))
        batch = np.repeat(open_, search.starts)
        ended, closed = system.projected(system.random(q[batch], rng), damped=True)
        rows = np.concatenate([rows, batch[closed]])
        found = np.concatenate([found, ended[closed]])
        poses = np.concatenate([poses, system.poses(ended[closed])])
        kept = firsts_of(rows, poses, EXACT.same)
        rows, found, poses = rows[kept], found[kept], poses[kept]
        search.advance()
        used[open_] += search.starts
        fresh = np.bincount(rows, minlength=len(q)) > before
        quiet[open_] = np.where(fresh[open_], 0, quiet[open_] + 1)
    return rows, found, used
