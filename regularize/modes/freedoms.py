"""Whether inputs determine a mechanism: freedoms that they leave, and inputs that are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.loops.finite import followed_velocities
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import coordinate_names
from regularize.modes.inputs import Inputs
from regularize.modes.loop_system import LoopSystem
from regularize.reduction.mobility import generic_configurations
from regularize.tolerances import EXACT, Tolerances


@dataclass(frozen=True)
class Freedoms:
    """What some inputs leave of a mechanism's freedoms.

    Attributes:
        independent: How many of the inputs can be chosen freely.
        left: Freedoms that are left with all inputs given; rods that spin about themselves between
            two ball joints do not count.
        further: Names of as many coordinates that would take these freedoms as further inputs;
            empty where no single ones do.
    """

    independent: int
    left: int
    further: tuple[str, ...]


def freedoms_of(system: LoopSystem, columns: Sequence[int], *, seed: int = 0) -> Freedoms | None:
    """Freedoms at generic configurations that are connected with the stored one.

    None where the loops are open at the stored configuration. All coordinates but the inputs, whose
    columns are given, are unknown in the equations.
    """
    loops, rng = system.loops, np.random.default_rng(seed)
    stored, _ = system.projected(system.graph.position[None])
    if system.error(stored)[0] > EXACT.same:
        return None
    walked = generic_configurations(loops, stored[0], Tolerances.of(EXACT.same), rng=rng)
    q = np.concatenate([stored, walked.reshape(-1, loops.freedoms)])
    generic, motions = clearest(loops, q, EXACT.same)
    allowed = motions.T
    U, given, _ = np.linalg.svd(allowed[:, list(columns)])
    independent = int(np.sum(given > EXACT.same))
    locked = U[:, independent:].T @ allowed
    real = locked[:0]
    if len(locked) > system.passive_rotations:
        headings = rng.normal(size=(3 * len(locked) + 6, len(locked))) @ locked
        headings /= np.max(np.abs(headings), axis=1, keepdims=True)
        headings[:, system.held] = 0.0  # what is in no loop moves, and says nothing
        real = followed_velocities(loops, generic, headings, system.held)
    left = max(0, len(real) - system.passive_rotations)
    return Freedoms(independent, left, _further(system, real, left))


def clearest(loops: LoopKinematics, q: Array, rtol: float) -> tuple[Array, Array]:
    """The configuration (n,) whose rank is clearest, and a basis of its velocities, shape (n, s).

    Of closed configurations, shape (N, n): the rank is lower at special ones only.
    """
    jacobian = loops.jacobian(loops.state(q)) * loops.units
    _, values, vectors = np.linalg.svd(jacobian)
    ranks = np.sum(values > rtol * values[:, :1], axis=1)
    rank = int(np.max(ranks))
    last = values[:, rank - 1] / values[:, 0] if rank else np.ones(len(q))
    best = int(np.argmax(np.where(ranks == rank, last, 0.0)))
    return q[best], vectors[best, rank:].T


def require_fitting_inputs(system: LoopSystem, inputs: Inputs, *, seed: int = 0) -> None:
    """Refuse inputs that leave freedoms, and those that cannot all be chosen.

    Raises:
        ModelError: They are too few or too many.
    """
    freedoms = freedoms_of(system, inputs.columns, seed=seed)
    if freedoms is None:
        return
    given = ", ".join(inputs.names)
    surplus, left = len(inputs.names) - freedoms.independent, freedoms.left
    if surplus:
        raise ModelError(
            f"the inputs {given} cannot be chosen freely: "
            f"{freedoms.independent} of them determine the rest; leave out {surplus}"
        )
    if left:
        held, every = f"with {given} given" if given else "without inputs", len(inputs.names) + left
        such = f", such as {', '.join(freedoms.further)}" if freedoms.further else ""
        raise ModelError(
            f"{held} the loops keep {left} of {every} freedom{'s'[: every > 1]} and their "
            f"configurations have no end; give {left} more input{'s'[: left > 1]}{such}"
        )


def _further(system: LoopSystem, real: Array, left: int) -> tuple[str, ...]:
    """Coordinates that take the freedoms that are left, those of joints at the ground first."""
    graph = system.graph
    weights = np.zeros(graph.freedoms)
    for edge in graph.edges:
        if not edge.group:
            weights[list(edge.columns)] = 3.0 if graph.ground in (edge.parent, edge.child) else 1.0
    if not left or not len(real):
        return ()
    R, order = qr(real * weights, mode="r", pivoting=True)
    taken = np.sum(np.abs(np.diagonal(R)) > EXACT.same)
    names = coordinate_names(graph.mechanism)
    return tuple(names[int(c)] for c in np.sort(order[:left])) if taken >= left else ()
