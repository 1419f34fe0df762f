"""Candidates of configurations from real eigenvalues: null spaces, then linear equations.

The null space of the matrix polynomial at an eigenvalue is spanned by the monomials of two more
variables, one vector for each solution that shares the hidden one (Manocha and Canny 1994, section
IV). Where it has several dimensions, multiplication by the two variables acts on it as two matrices
that commute, and their common eigenvectors are the monomials (Stetter's theorem). The remaining
three variables follow from linear equations in their cosines and sines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.six_motions.elementary_loop import product
from regularize.guests.modes.six_motions.pencil import (
    AXIS,
    BASIS,
    UNMOVED,
    Arrangement,
    Pencil,
    carried,
    elementary,
)
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.tolerances import EXACT, VANISHING

#: Singular values by the largest below which a null space may have one more dimension.
NULL = 1e-4
#: Largest dimension of a null space that is taken apart.
MOST = 6
#: Slides that stand for infinite ones, in sizes of the loop.
REACH = 1e4


def completed(
    P: Pencil, rows: NDArray[np.intp], hidden: Array
) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """The other two variables from null spaces."""
    _, sizes, V = np.linalg.svd(P.at(hidden, rows))
    V = np.swapaxes(V, 1, 2)
    relative = sizes[:, ::-1] / np.maximum(sizes[:, :1], np.finfo(float).tiny)
    # As many dimensions as there are small singular values, at the widest gap among them.
    floored = np.maximum(relative, 0.1 * np.finfo(float).eps)
    steps = np.log(floored[:, 1 : MOST + 1] / floored[:, :MOST])
    steps[:, 1:][relative[:, 1:MOST] > NULL] = -np.inf
    nullity = np.argmax(steps, axis=1) + 1
    nullity[relative[:, MOST] <= VANISHING] = relative.shape[1]  # more than is looked at
    own, spaces = [], []
    for k in range(1, MOST + 1):
        these = np.flatnonzero((nullity == k) | (k == 1))
        own.append(np.repeat(these, k))
        spaces.append(_monomials(V[these][:, :, 12 - k :]))
    candidates, monomials = np.concatenate(own), np.concatenate(spaces)
    values = [
        P.value(0, hidden[candidates]),
        P.value(1, _doubled(monomials[:, :3], monomials[:, 1:])),
        P.value(2, _doubled(monomials[:, :, :2], monomials[:, :, 1:])),
    ]
    return candidates, np.stack(values, axis=1), nullity


def _monomials(spaces: Array) -> Array:
    """The vectors of monomials that span null spaces of shape (K, 12, k), shape (K k, 4, 3)."""
    K, _, k = spaces.shape
    grid = spaces.reshape(K, 4, 3, k)
    first = np.linalg.pinv(grid[:, :3].reshape(K, 9, k)) @ grid[:, 1:].reshape(K, 9, k)
    second = np.linalg.pinv(grid[:, :, :2].reshape(K, 8, k)) @ grid[:, :, 1:].reshape(K, 8, k)
    # Two solutions that share one variable differ in a combination of both.
    _, mixtures = np.linalg.eig(0.6 * first + 0.8 * second)
    vectors = np.moveaxis((spaces @ mixtures.real).reshape(K, 4, 3, k), 3, 1)
    return np.asarray(vectors.reshape(K * k, 4, 3))


def _doubled(low: Array, high: Array) -> Array:
    """Angles whose halves have the tangents high by low, by least squares, shape (K,)."""
    tangents = np.sum(low * high, axis=(1, 2)), np.sum(low * low, axis=(1, 2))
    return np.asarray(2.0 * np.arctan2(*tangents))


def remaining(
    kinds: str, C: Array, rows: NDArray[np.intp], values: Array, arrangement: Arrangement
) -> tuple[NDArray[np.intp], Array, NDArray[np.bool_]]:
    """All six variables in arranged order from three of them."""
    T = np.broadcast_to(np.eye(4), (len(rows), 4, 4))
    known = np.zeros((len(rows), 6))
    known[:, list(arrangement.roles)] = values
    for i in (2, 3, 4):
        T = T @ elementary(kinds[i], known[:, i]) @ C[rows, i]
    line = (carried(C[rows, 1] @ T) @ AXIS)[..., None]
    goal = carried(screw.inverse(C[rows, 5])) @ AXIS
    # Motion 2: D(C1) D(M2) line = D(M1)^-1 goal in the coordinates that motion 1 leaves.
    before, unmoved = carried(C[rows, 0]), UNMOVED[kinds[0]]
    parts = [(before @ (B @ line))[:, unmoved, 0] for B in BASIS[kinds[1]]]
    own, second, determined = fitted(kinds[1], parts, goal[:, unmoved])
    line = before[own] @ carried(elementary(kinds[1], second)) @ line[own]
    parts = [(B @ line)[..., 0] for B in BASIS[kinds[0]]]
    also, first, certain = fitted(kinds[0], parts, goal[own])
    x = known[own[also]]
    x[:, 1], x[:, 0] = second[also], first
    x[:, 5], _ = gap(kinds, C[rows[own[also]]], x)
    return own[also], x, determined[also] & certain


def fitted(
    kind: str, parts: Sequence[Array], goal: Array
) -> tuple[NDArray[np.intp], Array, NDArray[np.bool_]]:
    """The variable of a motion from equations that are linear in f1 and f2."""
    U, sizes, V = np.linalg.svd(np.stack(parts[1:], axis=-1), full_matrices=False)
    seen = (np.swapaxes(U, 1, 2) @ (goal - parts[0])[..., None])[..., 0]
    determined = sizes[:, 0] > VANISHING
    one = determined & (sizes[:, 1] <= EXACT.same * sizes[:, 0])
    along = seen / np.maximum(sizes, VANISHING)
    f = np.einsum("kj,kji->ki", along, V)
    unique = np.arctan2(f[:, 1], f[:, 0]) if kind == "R" else f[:, 0]
    along, V = along[one, 0], V[one]
    if kind == "R":
        across = np.sqrt(np.maximum(0.0, 1.0 - along**2))
        middle = np.arctan2(V[:, 0, 1], V[:, 0, 0])
        half = np.arctan2(across, along)
        both = np.stack([middle + half, middle - half], axis=1)
    else:
        # a s + b s² = c by the stable formula.
        a, b = V[:, 0, 0], V[:, 0, 1]
        larger = -0.5 * (a + np.copysign(np.sqrt(np.maximum(0.0, a * a + 4 * b * along)), a))
        with np.errstate(divide="ignore", invalid="ignore"):
            both = np.stack([larger / b, -along / larger], axis=1)
        both = np.where(np.isfinite(both), np.clip(both, -REACH, REACH), 0.0)
    own = np.concatenate([np.flatnonzero(~one), np.repeat(np.flatnonzero(one), 2)])
    return own, np.concatenate([unique[~one], both.ravel()]), determined[own]


def gap(kinds: str, C: Array, x: Array) -> tuple[Array, Array]:
    """The turn of motion 6 that closes the loop best, and the error that is left, both (K,)."""
    x = x.copy()
    x[:, 5] = 0.0
    T, _, _ = product(kinds, C, x)
    M = C[:, 5] @ T @ screw.inverse(C[:, 5])  # what motion 6 has to undo, at its place
    angle = -np.arctan2(M[:, 1, 0] - M[:, 0, 1], M[:, 0, 0] + M[:, 1, 1])
    error = elementary("R", angle) @ M - np.eye(4)
    slides = np.abs(x[:, [kind == "P" for kind in kinds]])
    error[:, :3, 3] /= np.maximum(1.0, slides.max(axis=1, initial=0.0))[:, None]
    left = np.max(np.abs(error), axis=(1, 2))
    return angle, np.where(np.isfinite(left), left, np.inf)
