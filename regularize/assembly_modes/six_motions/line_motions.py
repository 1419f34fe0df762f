r"""How rigid motions carry points and lines: linearly, in fifteen coordinates.

A point p of the line with direction l has the coordinates

.. math:: (1,\ p,\ \tfrac12 p \cdot p) \quad\text{and}\quad
          (l,\ p \cdot l,\ p \times l,\ (p \cdot l)\, p - \tfrac12 (p \cdot p)\, l)

of which the constant 1 is left out where equations are counted: they are the 14 functions
p, l, p · p, p · l, p × l and (p · p) l - 2 (p · l) p of Raghavan and Roth (1993). The first five
are those of a point in the space of spheres, on which a rigid motion is a 5 by 5 matrix; the other
ten are the bivector of the point and the tangent of its line, on which it is the second compound of
that matrix. A turn about z is therefore linear in (1, cos, sin) and a slide along z in (1, s, s²),
which shows at once why the 14 equations are of degree one in the cosine and sine of every angle.

All of it is exact: a motion about z with the variable x has the matrix
:math:`B_0 + f_1(x) B_1 + f_2(x) B_2` with entries of ``BASIS`` that are multiples of one half.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.loop_chain import about_z
from regularize.lie.screw import Array, read_only

_PAIRS = np.array(list(combinations(range(5), 2)))
_FIRST, _SECOND = _PAIRS.T


def carried(T: Array) -> Array:
    """Matrices by which motions carry the coordinates, shape (..., 15, 15).

    Args:
        T: Rigid motions, shape (..., 4, 4).
    """
    R, t = T[..., :3, :3], T[..., :3, 3]
    M = np.zeros((*T.shape[:-2], 5, 5))
    M[..., 0, 0] = M[..., 4, 4] = 1.0
    M[..., 1:4, 0], M[..., 1:4, 1:4] = t, R
    M[..., 4, 0] = 0.5 * np.sum(t * t, axis=-1)
    M[..., 4, 1:4] = np.einsum("...i,...ij->...j", t, R)
    rows_1, rows_2 = M[..., _FIRST, :], M[..., _SECOND, :]
    minors = rows_1[..., _FIRST] * rows_2[..., _SECOND] - rows_1[..., _SECOND] * rows_2[..., _FIRST]
    D = np.zeros((*T.shape[:-2], 15, 15))
    D[..., :5, :5], D[..., 5:, 5:] = M, minors
    return D


def elementary(kind: str, x: Array) -> Array:
    """Turn about z (``R``) or slide along z (``P``), shape (..., 4, 4)."""
    zero = np.zeros_like(x, dtype=np.float64)
    return about_z(zero, x) if kind == "P" else about_z(x, zero)


def functions(kind: str, x: Array) -> Array:
    """The functions 1, f1, f2 of a motion: (1, cos, sin) or (1, s, s²), shape (..., 3)."""
    if kind == "P":
        return np.stack([np.ones_like(x), x, x * x], axis=-1)
    return np.stack([np.ones_like(x), np.cos(x), np.sin(x)], axis=-1)


def _basis(kind: str, sign: float) -> Array:
    if kind == "R":
        at = [np.round(carried(elementary("R", np.array(a)))) for a in (0.0, np.pi / 2, np.pi)]
        constant = 0.5 * (at[0] + at[2])
        return read_only([constant, 0.5 * (at[0] - at[2]), sign * (at[1] - constant)])
    zero, ahead, back = (carried(elementary("P", np.array(s))) for s in (0.0, 1.0, -1.0))
    return read_only([zero, sign * 0.5 * (ahead - back), 0.5 * (ahead + back) - zero])


#: Matrices of a motion that belong to 1, f1 and f2, each shape (3, 15, 15).
BASIS = {kind: _basis(kind, 1.0) for kind in "RP"}
#: The same for the inverse motion.
INVERSE = {kind: _basis(kind, -1.0) for kind in "RP"}
#: Coordinates that the motion leaves as they are, the constant one left out.
UNMOVED: dict[str, NDArray[np.intp]] = {
    kind: np.flatnonzero(~np.any(BASIS[kind][1:] != 0.0, axis=(0, 2)))[1:] for kind in "RP"
}


def _axis() -> Array:
    line = np.zeros(15)
    line[0] = line[5 + int(np.flatnonzero((_FIRST == 0) & (_SECOND == 3))[0])] = 1.0
    return read_only(line)


#: Origin and z axis, which a turn about z leaves as they are, shape (15,).
AXIS = _axis()
