"""Closure equations of all loops of a mechanism in some unknown coordinates; their iteration."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from regularize.assembly_modes.grouping import firsts_of
from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import State
from regularize.manifold.least_norm import least_norm
from regularize.model.graph import Graph

#: Closure errors of solutions, lengths scaled by the size of the mechanism.
CLOSED = 1e-12
#: Distance of bodies' poses below which configurations are the same one.
SAME = 1e-6
#: Singular values by the largest that belong to motions without resistance.
IDLE = 1e-8
#: Configurations that are looked at at once.
CHUNK = 2048
#: Steps of the damped and of the plain iteration.
DAMPED, PLAIN = 60, 8

Result = TypeVar("Result", Array, NDArray[np.bool_])


def in_parts(function: Callable[[Array], Result], q: Array) -> Result:
    """A function of configurations (K, n), a few at a time: it needs room for each."""
    parts = [function(q[k : k + CHUNK]) for k in range(0, max(1, len(q)), CHUNK)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class LoopSystem:
    """Closure equations of all loops of a mechanism for some unknown coordinates.

    Args:
        graph: The mechanism's graph.
        unknown: Columns that are looked for.
    """

    def __init__(self, graph: Graph, unknown: NDArray[np.intp]) -> None:
        """Set up the kinematics of all joints."""
        self.graph, self.unknown = graph, unknown
        self.loops = sized_loops(graph, graph.position)

    def error(self, q: Array) -> Array:
        """Largest closure error, shape (K,)."""
        return in_parts(self._error, q) if len(q) else np.zeros(0)

    def _error(self, q: Array) -> Array:
        residual = self.loops.residual(self.loops.state(q))
        return np.asarray(np.max(np.abs(residual), axis=1, initial=0.0))

    def equations(self, q: Array) -> tuple[Array, Array]:
        """Closure errors (K, m) and their derivative by the unknown coordinates (K, m, u)."""
        state = self.loops.state(q)
        jacobian = self.loops.residual_jacobian(state) * self.loops.units
        return self.loops.residual(state), jacobian[..., self.unknown]

    def moved(self, q: Array, step: Array) -> Array:
        """Configurations after steps of the unknown coordinates, shape (K, n)."""
        velocity = np.zeros_like(q)
        velocity[:, self.unknown] = step * self.loops.units[self.unknown]
        result = q.copy()
        result[:, self.unknown] = self.loops.integrate(q, velocity)[:, self.unknown]
        return result

    def polished(self, q: Array, steps: int = PLAIN, enough: float = 1e-15) -> Array:
        """Newton's method with shortest steps on all configurations, shape (K, n).

        Args:
            q: The configurations.
            steps: Largest number of steps.
            enough: Closure errors that are left alone.
        """
        return in_parts(partial(self._polished, steps=steps, enough=enough), q)

    def _polished(self, q: Array, steps: int, enough: float) -> Array:
        best, least = np.array(q), self.error(q)
        active = np.arange(len(q))
        for _ in range(steps):
            active = active[least[active] > enough]
            if not len(active):
                break
            residual, jacobian = self.equations(best[active])
            step = -least_norm(jacobian, residual, 1e-9)
            step /= np.maximum(1.0, np.max(np.abs(step), axis=1, initial=0.0))[:, None]
            trial = self.moved(best[active], step)
            error = self.error(trial)
            better = error < least[active]
            active = active[better]
            best[active], least[active] = trial[better], error[better]
        return best

    def damped(self, q: Array) -> Array:
        """Levenberg and Marquardt's method on all configurations, shape (K, n)."""
        return in_parts(self._damped, q)

    def _damped(self, q: Array) -> Array:
        q = np.array(q)
        residual, jacobian = self.equations(q)
        square = np.sum(residual**2, axis=1)
        damping = np.full(len(q), 1e-2)
        identity = np.eye(len(self.unknown))
        active = np.arange(len(q))
        for _ in range(DAMPED):
            J, r = jacobian[active], residual[active]
            transposed = np.swapaxes(J, 1, 2)
            scale = (damping[active] * np.sqrt(square[active]))[:, None, None] + 1e-14
            gradient = transposed @ r[..., None]
            step = -np.linalg.solve(transposed @ J + scale * identity, gradient)[..., 0]
            step /= np.maximum(1.0, np.max(np.abs(step), axis=1, initial=0.0))[:, None]
            trial = self.moved(q[active], step)
            new_residual, new_jacobian = self.equations(trial)
            new_square = np.sum(new_residual**2, axis=1)
            better = new_square < square[active]
            damping[active] = np.clip(damping[active] * np.where(better, 0.2, 8.0), 1e-12, 1e12)
            good = active[better]
            q[good], residual[good] = trial[better], new_residual[better]
            jacobian[good], square[good] = new_jacobian[better], new_square[better]
            active = active[(square[active] > 1e-22) & (damping[active] < 1e10)]
            if not len(active):
                break
        return q

    def distinct(self, rows: NDArray[np.intp], q: Array) -> NDArray[np.intp]:
        """Indices of different configurations of each sample, by the poses of the bodies."""
        return firsts_of(rows, self.poses(q), SAME)

    def poses(self, q: Array) -> Array:
        """What tells configurations from each other: poses of the bodies, shape (K, m).

        Bodies that can move with nothing else changing (a rod spinning between two ball joints) do
        not count.
        """
        return in_parts(self._poses, q) if len(q) else np.zeros((0, 12 * len(self.loops.nodes)))

    def _poses(self, q: Array) -> Array:
        state = self.loops.state(q)
        poses = state.T_world_node[:, :, :3].copy()
        poses[..., 3] /= self.loops.length
        poses[self._idle(q, state)] = 0.0
        return poses.reshape(len(q), 12 * poses.shape[1])

    @cached_property
    def spins(self) -> int:
        """Number of legs between two unknown ball joints, which spin with nothing else moving."""
        graph, unknown = self.graph, set(self.unknown.tolist())
        balls = [e for e in graph.edges if e.group and e.freedoms == 3 and e.columns[0] in unknown]
        pairs: set[frozenset[int]] = set()
        for ball in balls:
            for node in (ball.parent, ball.child):
                edge = ball.index
                while len(graph.adjacency[node]) == 2:
                    edge = next(e for e in graph.adjacency[node] if e != edge)
                    node = graph.edges[edge].other(node)
                    if any(edge == other.index for other in balls):
                        pairs |= {frozenset((ball.index, edge))} if edge != ball.index else set()
                        break
        return len(pairs)

    def isolated(self, q: Array) -> NDArray[np.bool_]:
        """Whether nothing but legs that spin can move to first order, shape (K,)."""
        if not len(self.unknown) or not len(q):
            return np.ones(len(q), dtype=bool)
        return in_parts(self._isolated, q)

    def _isolated(self, q: Array) -> NDArray[np.bool_]:
        _, jacobian = self.equations(q)
        sizes = np.linalg.svd(jacobian, compute_uv=False)
        rank = np.sum(sizes > IDLE * sizes[:, :1], axis=1)
        return np.asarray(len(self.unknown) - rank <= self.spins)

    def _idle(self, q: Array, state: State) -> NDArray[np.bool_]:
        """Which nodes move along the null space of the closure equations, shape (K, nodes)."""
        if not len(self.unknown):
            return np.zeros(state.T_world_node.shape[:2], dtype=bool)
        _, jacobian = self.equations(q)
        u = len(self.unknown)
        _, sizes, V = np.linalg.svd(jacobian, full_matrices=jacobian.shape[1] < u)
        null = np.ones((len(q), u), dtype=bool)
        null[:, : sizes.shape[1]] = sizes <= IDLE * sizes[:, :1]
        idle = np.zeros(state.T_world_node.shape[:2], dtype=bool)
        if not null.any():
            return idle
        # An arbitrary velocity of the null space moves whatever can move; three do so for sure.
        for weights in np.random.default_rng(1).normal(size=(3, u)):
            step = 1e-4 * ((weights * null)[:, None] @ V)[:, 0]
            ahead = self.loops.state(self.moved(q, step)).T_world_node
            behind = self.loops.state(self.moved(q, -step)).T_world_node
            change = np.max(np.abs(ahead - behind), axis=(2, 3))
            idle |= change > 1e-8 * max(1.0, self.loops.length)
        return idle

    def random(self, q: Array, rng: np.random.Generator) -> Array:
        """Configurations with random values of the unknown coordinates, shape (K, n)."""
        q = np.array(q)
        free = np.zeros(self.graph.freedoms, dtype=bool)
        free[self.unknown] = True
        for edge in self.graph.edges:
            columns = [c for c in edge.columns if free[c]]
            if not columns:
                continue
            turning = np.array([bool(np.any(edge.screws[3:, k])) for k in range(edge.freedoms)])
            if edge.group:
                rotations = Rotation.from_quat(rng.normal(size=(len(q), 4)))
                turns = iter(rotations.as_rotvec().T)
            for k, column in enumerate(edge.columns):
                if not free[column]:
                    continue
                if not turning[k]:
                    value = rng.normal(scale=self.loops.length, size=len(q))
                elif edge.group:
                    value = next(turns)
                else:
                    value = rng.uniform(-np.pi, np.pi, size=len(q))
                q[:, column] = value
        return q
