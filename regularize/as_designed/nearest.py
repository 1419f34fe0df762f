r"""The least change of joint places that lets a mechanism move as it nearly does.

Where a singular value of the closure equations is small at the pose, the noise of the geometry may
be all that stops a motion. The candidate motion is followed in small steps, without the equations
that only the noise keeps apart from the others; the closure errors that are left on the way are
what the places of the joints :math:`\delta` have to take away,

.. math:: U_k^T \, (r(q_k) + A_k \delta) = 0, \qquad |\delta| \to \min,

with :math:`U_k` the directions in which no coordinate can close configuration k, and :math:`A_k`
the derivative of its closure errors by the places. Both are improved in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from regularize.as_designed.places import JointPlaces
from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask, project
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import EdgeId, spanning_tree
from regularize.model.graph_building import build
from regularize.model.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Nearest:
    """A mechanism with its joints moved.

    Attributes:
        mechanism: The changed mechanism.
        moves: Moves of the joints, scaled, shape (12 joints,).
        places: What they refer to.
        error: Largest closure error left at the configurations that were looked at.
    """

    mechanism: Mechanism
    moves: Array
    places: JointPlaces
    error: float

    @property
    def distance(self) -> float:
        """Largest move of a joint, in sizes or radians."""
        linear, angular = self.places.sizes(self.moves)
        return float(max(linear.max() / self.places.loops.length, angular.max()))


def nearest(
    mechanism: Mechanism,
    edges: tuple[EdgeId, ...],
    q: Array,
    motions: int,
    *,
    parallel: float | None = None,
    movable: Mask | None = None,
    rounds: int = 12,
) -> Nearest:
    """Move the joints of some loops as little as possible so that they have some motions.

    Args:
        mechanism: The mechanism.
        edges: Edges of the loops.
        q: Assembled coordinates of the edges, shape (n,).
        motions: Dimension of the motion that is wanted.
        parallel: Make axes parallel first that differ by at most this angle in radians, and move
            the joints as little as possible from there.
        movable: Which moves may be made, in the order of ``Nearest.moves``, shape (12 joints,); by
            default all.
        rounds: Number of improvements. Singular values count from a ten-thousandth of the largest
            on in the first, where noise decides little, and from ``Tolerances.singular`` in the
            last.
    """
    loops = sized_loops(build(mechanism), q, edges, None)
    places = JointPlaces(loops, loops.state(q))
    start: Array = np.zeros(12 * len(places.joints))
    if parallel is not None:
        start = places.parallel(parallel)
    free = np.ones(len(start), dtype=bool) if movable is None else movable
    # Frames that may move at all are turned for that.
    start = start * np.repeat(free.reshape(-1, 6).any(axis=1), 6)
    moves, visited, error = start, follow(loops, q, motions), 0.0
    changed = places.moved(mechanism, moves)
    for cutoff in np.geomspace(1e-4, EXACT.singular, rounds):
        state = loops.state(visited)
        u, _, _ = np.linalg.svd(loops.residual_jacobian(state) * loops.units)
        left = np.swapaxes(u[:, :, loops.freedoms - motions :], 1, 2)
        missing = (left @ loops.residual(state)[..., None])[..., 0]
        error = float(np.abs(missing).max(initial=0.0))
        along = left[..., : 6 * len(loops.chords)] @ places.derivative(state)
        along = along.reshape(-1, along.shape[-1])
        along = along * free
        wanted = along @ (moves - start) - missing.reshape(-1)
        moves = start + np.linalg.lstsq(along, wanted, rcond=cutoff)[0]
        changed = places.moved(mechanism, moves)
        graph = build(changed)
        tree = spanning_tree(graph)
        loops = LoopKinematics(graph, edges, tree, length=loops.length, center=loops.center)
        visited = closest(loops, visited, motions)
    return Nearest(changed, moves, places, error)


def follow(
    loops: LoopKinematics, q: Array, motions: int, *, far: float = 1.2, steps: int = 12
) -> Array:
    """Configurations along candidate motions to either side, shape (N, n).

    Args:
        loops: The loops.
        q: Assembled coordinates, shape (n,).
        motions: Number of candidate motions, those of the smallest singular values.
        far: How far they are followed, radians or sizes.
        steps: In how many steps.
    """
    _, _, vt = np.linalg.svd(loops.residual_jacobian(loops.state(q))[0] * loops.units)
    basis = vt[len(vt) - motions :]
    headings = np.concatenate([basis, -basis])
    if motions > 1:
        mixed = np.random.default_rng(0).normal(size=(motions, motions)) @ basis
        headings = np.concatenate([headings, mixed / np.linalg.norm(mixed, axis=1)[:, None]])
    here = closest(loops, q[None], motions)
    found = [here]
    here = np.repeat(here, len(headings), axis=0)
    for k in range(steps):
        ahead = loops.integrate(here, far / steps * headings * loops.units)
        here = closest(loops, ahead, motions)
        _, _, vt = np.linalg.svd(loops.residual_jacobian(loops.state(here)) * loops.units)
        near = vt[:, vt.shape[1] - motions :]
        along = np.einsum("nmi,ni->nm", near, headings)
        headings = np.einsum("nm,nmi->ni", along / np.linalg.norm(along, axis=1)[:, None], near)
        if k % 3 == 2:
            found.append(here)
    return np.concatenate(found)


def closest(loops: LoopKinematics, q: Array, motions: int) -> Array:
    """Configurations that close all that coordinates can close, shape (N, n)."""
    ranks = np.full(len(q), loops.freedoms - motions)
    return project(loops, q, ranks=ranks, tolerances=replace(EXACT, singular=1e-6), steps=12).q
