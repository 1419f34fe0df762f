"""Finite mobility at a configuration where loops allow velocities that no motion follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.lie.screw import Array, read_only
from regularize.local_geometry.second_order import definite, second_order
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.local_mobility import LocalMobility
from regularize.manifold.projection import Mask, moved, project
from regularize.manifold.tolerances import EXACT, Tolerances


def finite_mobility(
    loops: LoopKinematics, q: Array, rank: int, tolerances: Tolerances, rng: np.random.Generator
) -> LocalMobility:
    """Finite mobility from the forms of second order and from motions that can be followed.

    Where every combination of the directions in which the forms leave the rank alone can be
    followed, and a combination of the forms is definite on the others, both together prove it.

    Args:
        loops: Kinematics of the loops.
        q: A closed configuration, shape (n,).
        rank: Rank of the closure equations there.
        tolerances: What counts as closed and as dependent.
        rng: Source of random directions.
    """
    found = second_order(loops, q, rank, tolerances.rank)
    kernel = found.kernel
    d = kernel.shape[1]
    rest = np.linalg.svd(kernel)[0][:, d:]
    weights = definite(np.swapaxes(rest, 0, 1) @ found.forms @ rest, found.level)
    free, cut = found.motions @ kernel, found.motions @ rest
    followed = followed_velocities(loops, q, _headings(free, rng)).T
    if rest.shape[1] == 0 and followed.shape[1] == d:
        return LocalMobility(d, "counted", read_only(q), free, cut)
    if weights is not None and followed.shape[1] == d:
        stress = edge_wrenches(loops, found.stresses @ weights)
        return LocalMobility(d, "second order", read_only(q), free, cut, stress)
    followed = followed_velocities(loops, q, _headings(found.motions, rng)).T
    left = np.linalg.svd(found.motions.T @ followed)[0][:, followed.shape[1] :]
    some = followed.shape[1] > 0
    return LocalMobility(
        followed.shape[1] if some else None,
        "moved" if some else "undecided",
        read_only(q),
        followed,
        found.motions @ left,
    )


def _headings(basis: Array, rng: np.random.Generator) -> Array:
    """Velocities in general position in a space, largest entry one, shape (3 k + 6, n)."""
    k = basis.shape[1]
    headings = rng.normal(size=(3 * k + 6 if k else 0, k)) @ basis.T
    return np.asarray(headings / np.max(np.abs(headings), axis=1, initial=0.0, keepdims=True))


def edge_wrenches(loops: LoopKinematics, stress: Array) -> Array:
    """A self-stress (m,) as wrenches on the children of all edges, root frame, shape (edges, 6)."""
    chords = stress[: 6 * len(loops.chords)].reshape(-1, 6)
    wrenches = -loops.edge_incidence.T @ chords
    force = wrenches[:, :3] / loops.length
    moment = wrenches[:, 3:] + np.cross(loops.center, force)
    largest = np.max(np.linalg.norm(force, axis=1), initial=0.0)
    size = largest or np.max(np.linalg.norm(moment, axis=1), initial=0.0) or 1.0
    return read_only(np.hstack([force, moment]) / size)


def followed_velocities(
    loops: LoopKinematics, q: Array, headings: Array, held: Mask | None = None
) -> Array:
    """A basis of the velocities that motions really follow, scaled, shape (k, n).

    Where a mechanism is shaky, loops allow velocities that no motion follows: corrections of small
    steps take nearly all of them back.

    Args:
        loops: Kinematics of the loops.
        q: A closed configuration, shape (n,).
        headings: Velocities that the loops allow, in general position among them, largest entry
            one, scaled, shape (m, n).
        held: Velocities that stay zero, shape (n,).
    """
    step = 0.01
    start = np.repeat(q[None], len(headings), axis=0)
    untruncated = replace(EXACT, singular=1e-13)
    ends = moved(loops, start, step * headings)
    reached = project(loops, ends, held=held, tolerances=untruncated)
    followed = (reached.q - start)[reached.closed] / (step * loops.units)
    if len(followed) == 0:
        return followed
    _, sizes, V = np.linalg.svd(followed / np.sqrt(len(followed)), full_matrices=False)
    return np.asarray(V[sizes > 0.1 * max(1.0 / np.sqrt(loops.freedoms), float(sizes[0]))])
