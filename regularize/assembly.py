"""Closing the loops of a model that was saved open.

Nonlinear least squares on the closure errors of all loops, from the stored coordinates first, then
from seeded perturbations of them, then by continuation (the closure error is driven to zero in
small steps). Coordinates that the user fixes are held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from regularize.errors import ModelError
from regularize.kinematics import LoopKinematics
from regularize.mechanism import Mechanism
from regularize.screw import Array, read_only
from regularize.topology import Graph, build, spanning_tree

#: Closed means: no gap above this fraction of the size of the mechanism, no such angle in radians.
CLOSED = 1e-5
EXACT = 1e-13


@dataclass(frozen=True)
class Gap:
    """How far a loop is open.

    Attributes:
        joint: The closing joint of the loop.
        translation: Metres.
        rotation: Radians.
    """

    joint: str
    translation: float
    rotation: float


@dataclass(frozen=True, eq=False)
class Assembly:
    """A configuration in which the loops are closed as far as they can be.

    Attributes:
        q: Coordinates of all joints, shape (n,).
        closed: Whether every loop is closed within ``CLOSED``.
        before: Gap of every loop at the stored coordinates.
        after: Gap of every loop at ``q``.
        starts: Number of starting points tried for the most stubborn part.
    """

    q: Array
    closed: bool
    before: tuple[Gap, ...]
    after: tuple[Gap, ...]
    starts: int

    @property
    def worst_before(self) -> tuple[float, float]:
        """Largest gap in metres and largest angle in radians before closing."""
        return _worst(self.before)

    @property
    def worst_after(self) -> tuple[float, float]:
        """Largest gap in metres and largest angle in radians after closing."""
        return _worst(self.after)


def _worst(gaps: tuple[Gap, ...]) -> tuple[float, float]:
    return (
        max((gap.translation for gap in gaps), default=0.0),
        max((gap.rotation for gap in gaps), default=0.0),
    )


def assemble(
    mechanism: Mechanism | Graph,
    q0: Array | None = None,
    fixed: Mapping[str, float] | None = None,
    *,
    seed: int = 0,
    starts: int = 8,
) -> Assembly:
    """Close all loops of a mechanism.

    Args:
        mechanism: The mechanism, or its graph.
        q0: Starting coordinates of all joints, shape (n,); by default those of the file.
        fixed: Coordinates to hold, by joint name; radians or metres.
        seed: Seed of the perturbed starting points.
        starts: Number of starting points before continuation is tried.

    Raises:
        ModelError: ``fixed`` names an unknown joint or one with several freedoms.
    """
    graph = mechanism if isinstance(mechanism, Graph) else build(mechanism)
    q = np.array(graph.position if q0 is None else q0, dtype=np.float64)
    held = _held_columns(graph, fixed or {})
    for column, value in held.items():
        q[column] = value
    tree = spanning_tree(graph)
    before: list[Gap] = []
    after: list[Gap] = []
    closed, most_starts = True, 1
    for cell in graph.cells:
        loops = LoopKinematics(graph, cell, tree)
        loops.center, loops.length = center_and_length(loops, q[loops.columns])
        free = np.array([int(c) not in held for c in loops.columns])
        start = _fit_chords(loops, q[loops.columns], free)
        before += _gaps(loops, start)
        solution, tried = _close(loops, start, free, np.random.default_rng(seed), starts)
        q[loops.columns] = solution
        after += _gaps(loops, solution)
        most_starts = max(most_starts, tried)
        closed &= _error(loops, solution) <= CLOSED
    return Assembly(read_only(q), closed, tuple(before), tuple(after), most_starts)


def center_and_length(loops: LoopKinematics, q: Array) -> tuple[Array, float]:
    """Centre of the joint frames and their largest distance from it (1 m where they coincide)."""
    state = loops.state(q)
    points = []
    for index in loops.edges:
        edge = loops.graph.edges[index]
        points.append(
            (state.T_world_node[0, loops.row(edge.parent)] @ edge.T_parent)[:3, 3],
        )
    return center_and_radius(np.array(points))


def center_and_radius(points: Array) -> tuple[Array, float]:
    """Centre of a cloud of points and their largest distance from it (1 where they coincide)."""
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = float(np.max(np.linalg.norm(points - center, axis=1)))
    return center, radius if radius > 0.0 else 1.0


def _held_columns(graph: Graph, fixed: Mapping[str, float]) -> dict[int, float]:
    held = {}
    for name, value in fixed.items():
        joint = graph.mechanism.joint(name)
        if joint.freedoms != 1:
            raise ModelError(f"joint {name!r} has {joint.freedoms} freedoms and cannot be fixed")
        (column,) = next(edge.columns for edge in graph.edges if edge.joint is joint)
        held[column] = float(value)
    return held


def _error(loops: LoopKinematics, q: Array) -> float:
    return float(np.max(np.abs(loops.residual(loops.state(q))), initial=0.0))


def _gaps(loops: LoopKinematics, q: Array) -> list[Gap]:
    errors = loops.residual(loops.state(q))[0, : 6 * len(loops.chords)].reshape(-1, 6)
    return [
        Gap(
            loops.graph.edges[chord].joint.name,
            float(np.linalg.norm(error[:3])) * loops.length,
            float(np.linalg.norm(error[3:])),
        )
        for chord, error in zip(loops.chords, errors, strict=True)
    ]


def _fit_chords(loops: LoopKinematics, q: Array, free: Array) -> Array:
    """Best coordinates of the chords themselves, so that only what they forbid counts as a gap."""
    own = np.zeros(loops.freedoms, dtype=bool)
    for chord in loops.chords:
        own[loops.local(chord)] = True
    return newton(loops, q, (own & free), steps=20)


def newton(loops: LoopKinematics, q: Array, free: Array | None = None, steps: int = 12) -> Array:
    """Gauss-Newton steps with pseudo-inverses on some coordinates, shape (n,) as ``q``.

    A step that does not lower the error is halved; the best configuration found is returned.
    """
    free = np.ones(loops.freedoms, dtype=bool) if free is None else free
    q = np.array(q)
    if not free.any():
        return q
    state = loops.state(q)
    residual = loops.residual(state)[0]
    error = float(residual @ residual)
    for _ in range(steps):
        if np.max(np.abs(residual), initial=0.0) <= EXACT:
            break
        jacobian = loops.residual_jacobian(state)[0][:, free]
        step = np.zeros(loops.freedoms)
        step[free] = -np.linalg.lstsq(jacobian, residual, rcond=1e-7)[0]
        for _ in range(8):
            trial = loops.integrate(q[None], step[None])[0]
            trial_state = loops.state(trial)
            trial_residual = loops.residual(trial_state)[0]
            if trial_residual @ trial_residual < error:
                break
            step *= 0.5
        else:
            break
        q, state, residual = trial, trial_state, trial_residual
        error = float(residual @ residual)
    return q


def _close(
    loops: LoopKinematics, start: Array, free: Array, rng: np.random.Generator, starts: int
) -> tuple[Array, int]:
    """The best configuration found, and the number of starting points used."""
    best, best_error = start, _error(loops, start)
    if best_error <= EXACT or not free.any():
        return best, 1
    tried = 0
    for q in _attempts(loops, start, free, rng, starts):
        tried += 1
        q = newton(loops, q, free)
        error = _error(loops, q)
        if error < best_error:
            best, best_error = q, error
        if best_error <= CLOSED:
            break
    return best, tried


def _attempts(
    loops: LoopKinematics, start: Array, free: Array, rng: np.random.Generator, starts: int
) -> Iterator[Array]:
    """Least-squares solutions from the start, from perturbations of it, and by continuation."""
    if _error(loops, start) < 1e-2:
        yield start
    yield _least_squares(loops, start, free)
    for k in range(1, starts):
        perturbation = rng.normal(scale=0.1 * 1.6**k, size=loops.freedoms) * free
        yield _least_squares(loops, loops.integrate(start[None], perturbation[None])[0], free)
    open_error = loops.residual(loops.state(start))[0]
    q = start
    for fraction in np.linspace(0.95, 0.0, 20):
        q = _least_squares(loops, q, free, target=fraction * open_error)
    yield q


def _least_squares(
    loops: LoopKinematics, start: Array, free: Array, target: Array | float = 0.0
) -> Array:
    """Minimise the closure errors over velocities integrated from ``start``."""

    def configuration(x: Array) -> Array:
        velocity = np.zeros(loops.freedoms)
        velocity[free] = x
        return np.asarray(loops.integrate(start[None], velocity[None])[0])

    def residual(x: Array) -> Array:
        return np.asarray(loops.residual(loops.state(configuration(x)))[0] - target)

    def jacobian(x: Array) -> Array:
        velocity = np.zeros(loops.freedoms)
        velocity[free] = x
        state = loops.state(configuration(x))
        rows = loops.residual_jacobian(state)[0]
        return np.asarray((rows @ loops.integration_jacobian(velocity))[:, free])

    solution = least_squares(
        residual,
        np.zeros(int(free.sum())),
        jacobian,
        ftol=1e-15,
        xtol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    return configuration(solution.x)
