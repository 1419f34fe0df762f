r"""How products of left vectors, constraint rows and right vectors change along motions.

A singular value of rows J with vectors u and v changes by :math:`u^T \dot J v`. The screw of every
coordinate k is carried by a body, so it changes by the bracket with that body's twist; the wrench
:math:`F_k` that the rows' wrenches exert on it does work on the twist. What a coordinate j adds to
the twists that carry others is its own screw: all partial derivatives come from one product with
the matrix of signs that tells which coordinate carries which.
"""

from __future__ import annotations

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics, State
from regularize.reduction.cuts import ReducedLoops


def slope_of_all(loops: LoopKinematics, state: State, left: Array, right: Array) -> Array:
    """Derivatives of ``left`` times all closure equations times ``right``, shape (N, n).

    Args:
        loops: The loops.
        state: Their state at closed configurations.
        left: Numbers for the rows of ``loops.jacobian``, shape (N, m).
        right: Velocities, shape (N, n).
    """
    count = 6 * len(loops.chords)
    force, moment = np.moveaxis(left[:, :count].reshape(len(left), -1, 2, 3), 2, 0)
    force = force / loops.length
    wrenches = np.concatenate([force, moment + screw.cross(loops.center, force)], axis=-1)
    return _on_screws(loops, state, wrenches, right)


def slope_of_kept(rows: ReducedLoops, state: State, left: Array, right: Array) -> Array:
    """Derivatives of ``left`` times the kept rows times ``right``, shape (N, n).

    Args:
        rows: The kept rows; each is constant in a frame that moves with a body.
        state: State of their loops at closed configurations.
        left: Numbers for the rows, shape (N, m).
        right: Velocities, shape (N, n).
    """
    loops = rows.loops
    wrenches = rows.wrenches(state, left)
    result = _on_screws(loops, state, wrenches, right)
    around = np.einsum("lk,nki->nli", loops.incidence, state.screws * right[..., None])
    nodes = loops.movers[[loops.row(cut.node) for cut in rows.cuts]]
    carried = np.einsum("lk,nli->nki", nodes, _done(around, wrenches))
    return np.asarray(result - np.einsum("nki,nki->nk", state.screws, carried))


def _on_screws(loops: LoopKinematics, state: State, wrenches: Array, right: Array) -> Array:
    """Derivatives by the motions that carry the screws, wrenches (N, L, 6) standing still."""
    on_screws = np.einsum("lk,nli->nki", loops.incidence, wrenches) * right[..., None]
    carried = loops.carriers.T @ _done(state.screws, on_screws)
    return np.asarray(np.einsum("nki,nki->nk", state.screws, carried))


def _done(screws: Array, wrenches: Array) -> Array:
    """What has to act on a twist to do the work that a wrench does on its bracket with a screw."""
    v, w = screws[..., :3], screws[..., 3:]
    force, moment = wrenches[..., :3], wrenches[..., 3:]
    return np.concatenate(
        [screw.cross(w, force), screw.cross(v, force) + screw.cross(w, moment)], axis=-1
    )
