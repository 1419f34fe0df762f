r"""Frames in which the removed directions of a cut are coordinate axes, and which axes to keep.

Engines close loops by three or six rows along the axes of a frame. On the loops the relative twist
at a cut lies in a subspace :math:`\Delta` that is constant in the cut frame, so d of the six rows
of a weld, d its dimension, say everything; which d is a choice of rows that are independent on
:math:`\Delta`, and any such choice implies the other rows. Where a frame exists whose axes span the
complement of :math:`\Delta`, the rows left out are zero for every velocity of the tree, not only
for those that keep the loop closed. It exists for every motion algebra except the helical ones.
"""

from __future__ import annotations

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.directions import TOLERANCE
from regularize.lie.screw import Array
from regularize.reduction.cuts import Cut, independent_rows


def twist_space(cut: Cut) -> Array:
    """Basis of the relative twists that the tree admits at a cut, cut frame, scaled, (6, d)."""
    return subalgebra.complement(cut.removed)


def aligned_frame(covectors: Array) -> Array | None:
    """A frame in which a space of covectors is spanned by coordinate covectors.

    Args:
        covectors: Basis, linear part first, lengths scaled to order one, shape (6, r).

    Returns:
        The frame's pose, shape (4, 4), or None where there is none.
    """
    if covectors.shape[1] in (0, 6):
        return np.eye(4)
    u, s, vt = np.linalg.svd(covectors[:3])
    rank = int(np.sum(s > TOLERANCE))
    forces = u[:, :rank] @ u[:, :rank].T
    pure = covectors[3:] @ vt[rank:].T
    moments = pure @ np.linalg.pinv(pure, rcond=TOLERANCE) if pure.shape[1] else np.zeros((3, 3))
    axes = _common_axes(forces, moments)
    if axes is None:
        return None
    # A force along the axis e through the frame's origin p has the moment p x e about zero; what
    # the pure moments of the space contain does not matter.
    directions = covectors[:3] @ vt[:rank].T
    about_zero = covectors[3:] @ vt[:rank].T
    rest = np.eye(3) - moments
    system = np.vstack([np.zeros((0, 3)), *(-rest @ screw.cross_matrix(f) for f in directions.T)])
    target = np.concatenate([np.zeros(0), *(rest @ m for m in about_zero.T)])
    if len(system) == 0:
        return screw.transform(axes)
    # Directions in which the origin may lie anywhere leave singular values of rounding size.
    su, ss, svt = np.linalg.svd(system, full_matrices=False)
    used = ss > TOLERANCE
    point = svt[used].T @ ((su[:, used].T @ target) / ss[used])
    if np.max(np.abs(system @ point - target)) > TOLERANCE:
        return None
    return screw.transform(axes, point)


def _common_axes(first: Array, second: Array) -> Array | None:
    """Rotation whose columns are eigenvectors of two projectors, ground axes where they fit."""
    for matrix in (np.eye(3), np.linalg.eigh(first + 0.6 * second)[1]):
        matrix = matrix * np.sign(np.linalg.det(matrix))
        seen = [matrix.T @ projector @ matrix for projector in (first, second)]
        if all(np.max(np.abs(m - np.diag(np.round(np.diag(m))))) < TOLERANCE for m in seen):
            return np.asarray(matrix)
    return None


def coordinate_frame(cut: Cut) -> Array:
    """Frame on the cut's body in which its rows are coordinate rows.

    Returns:
        The pose in the cut frame, in metres, shape (4, 4); the identity where no frame is aligned.
    """
    frame = aligned_frame(cut.removed)
    if frame is None:
        return np.eye(4)
    return screw.transform(frame[:3, :3], cut.length * frame[:3, 3])


def seen_from(cut: Cut, T_cut_frame: Array) -> Array:
    """Basis of ``twist_space`` in a frame given in the cut frame, scaled, shape (6, d)."""
    T = np.array(T_cut_frame)
    T[:3, 3] /= cut.length
    return np.asarray(screw.adjoint(screw.inverse(T)) @ twist_space(cut))


def weld_rows(cut: Cut, T_cut_frame: Array) -> list[int]:
    """The rows of a weld in a frame that imply all others, increasing."""
    space = seen_from(cut, T_cut_frame)
    return [int(i) for i in independent_rows(space, space.shape[1])]


def point_frame(cut: Cut, T_cut_center: Array) -> tuple[Array, list[int]]:
    """Frame at the centre of a spherical cut, and the translation rows that imply all others.

    Args:
        cut: A cut with the freedoms of a spherical joint.
        T_cut_center: Frame at the joint's centre, in the cut frame, shape (4, 4).
    """
    space = seen_from(cut, T_cut_center)[:3]
    u, s, _ = np.linalg.svd(space)
    count = int(np.sum(s > TOLERANCE))
    axes = _common_axes(u[:, :count] @ u[:, :count].T, np.zeros((3, 3)))
    rotation = np.eye(3) if axes is None else axes
    rows = independent_rows(rotation.T @ space, count)
    return T_cut_center @ screw.transform(rotation), [int(i) for i in rows]
