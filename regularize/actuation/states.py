"""Closed states: many configurations of one assembly branch, for resets of simulated robots.

States grow from the stored one: each step leaves a state that is known along a random tangent, is
projected back, and counts only where it cannot have left the branch. States that are known double
with each round, so that a state costs about one step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize import validation
from regularize.actuation.chart import limits_of, stored_configuration
from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.loops.continuation import Continuation
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.mechanism.source import Model
from regularize.pinocchio.exporting import to_pinocchio
from regularize.reduction.reduce import as_reduction

#: Longest step, radians or sizes of the mechanism.
STRIDE = 0.6
#: States at a time.
CHUNK = 512
#: Rounds without a new state that end the search.
PATIENCE = 200


@dataclass(frozen=True, eq=False)
class ClosedStates:
    """Configurations with closed loops.

    Attributes:
        q: Those of ``rg.to_pinocchio(model)``, shape (n, nq).
        coordinates: Those of all of the model's joints, the closing ones included, (n, joints).
        names: Their names.
    """

    q: Array
    coordinates: Array
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<ClosedStates: {len(self.q)} states of {self.q.shape[1]} coordinates>"


@validation.validated(n=validation.WHOLE, seed=validation.WHOLE, limits=validation.FLAG)
def closed_states(model: Model, n: int, *, seed: int = 0, limits: bool = True) -> ClosedStates:
    """Random configurations with closed loops, all on the branch of the stored pose.

    No two are the same. A floating base stays where it is. The further a state is from the stored
    pose, the rarer it is: states are not uniform.

    Args:
        model: The model.
        n: How many.
        seed: Seed of the random steps.
        limits: Whether all joints stay within their limits.

    Raises:
        ModelError: The loops do not close, nothing moves, or no state within limits is found.
    """
    reduction = as_reduction(model)
    robot, graph = to_pinocchio(reduction), reduction.graph
    rng, loops = np.random.default_rng(seed), sized_loops(reduction.graph, reduction.graph.position)
    grower = _Grower(graph, loops, limits, rng)
    found = grower.grown(stored_configuration(graph), n)
    q = np.array([robot.configuration(x) for x in found]).reshape(n, robot.nq)
    return ClosedStates(read_only(q), read_only(found), coordinate_names(graph.mechanism))


class _Grower:
    """Grows states of one mechanism."""

    def __init__(
        self, graph: Graph, loops: LoopKinematics, limits: bool, rng: np.random.Generator
    ) -> None:
        free = [e.joint.kind in ("free", "floating") for e in graph.edges]
        held = np.zeros(graph.freedoms, dtype=bool)
        for edge, base in zip(graph.edges, free, strict=True):
            held[list(edge.columns)] = base
        bounds = limits_of(graph)
        for edge in graph.edges:
            if edge.group or not limits:
                bounds[list(edge.columns)] = [-np.inf, np.inf]
        self.names = coordinate_names(graph.mechanism)
        self.low, self.high, self.rng, self.loops = *bounds.T, rng, loops
        self.along = Continuation(loops, held=held)

    def inside(self, q: Array) -> NDArray[np.bool_]:
        """Which are within limits."""
        return np.asarray(((q >= self.low) & (q <= self.high)).all(axis=1))

    def grown(self, start: Array, n: int) -> Array:
        """So many states, from one on, which is the first where it is within limits."""
        known = start[None]
        within, idle = self.inside(known), 0
        ranks = self.along.ranks(known)
        while within.sum() < n:
            if idle > PATIENCE:
                raise ModelError(self._stuck(start, known, int(within.sum()), n))
            # Outside of limits only until there is a state within them to begin with.
            pool = known[within] if within.any() else known
            count = min(CHUNK, max(8, 2 * len(pool)), 8 + 2 * (n - int(within.sum())))
            q = pool[self.rng.integers(len(pool), size=count)]
            way = self.along.tangents(q, self.rng.normal(size=(count, len(self.loops.units))))
            way *= STRIDE * self.rng.uniform(0.1, 1.0, size=(count, 1))
            reached = self.along.step(q, way, np.repeat(ranks, count))
            good = reached.good & np.any(reached.q != q, axis=1)
            new = reached.q[good]
            if within.any():
                new = new[self.inside(new)]
            idle = 0 if len(new) else idle + 1
            known = np.concatenate([known, new])
            within = np.concatenate([within, self.inside(new)])
            if not within.any() and len(known) > 20_000:
                idle = PATIENCE + 1
        return np.asarray(known[within][:n])

    def _stuck(self, start: Array, known: Array, count: int, n: int) -> str:
        if len(known) == 1 and count:
            return "nothing moves within limits: there is no state but the stored one"
        beyond = [
            name
            for name, q, low, high in zip(self.names, start, self.low, self.high, strict=True)
            if not low <= q <= high
        ]
        where = f"; the stored pose is beyond the limits of {', '.join(beyond)}" if beyond else ""
        return f"only {count} of {n} states within limits were found{where}; try limits=False"
