r"""The loop of six elementary motions as an eigenvalue problem.

Raghavan and Roth (1993) split the loop M1 C1 M2 ... C6 = 1 in two (eq. 3 of Manocha and Canny 1994)
and carry the axis of motion 6, which is a turn and leaves its axis as it is, along both ways, in
fifteen coordinates in which motions are linear:

.. math:: D(M_3 C_3 M_4 C_4 M_5 C_5)\, axis
          = D(C_2^{-1} M_2^{-1} C_1^{-1} M_1^{-1} C_6^{-1})\, axis

The 14 equations (eq. 4 there) contain the eight products of the functions of motions 1 and 2; the
left null space of these columns leaves six equations or more that are quadratic in each of three
variables. One variable is hidden in the coefficients, the equations are multiplied by a second
one (dialytic elimination), and the 12 monomials of the other two span the null space of

.. math:: A(\varphi) = A_0 \cos^2\frac\varphi2 + A_1 \cos\frac\varphi2 \sin\frac\varphi2
          + A_2 \sin^2\frac\varphi2

which is the eigenvalue problem of Manocha and Canny (theorem 1) with a circle instead of a line for
the hidden variable: a slide is written as the tangent of half an angle too, so that turns and
slides are one case, and no solution lies at infinity once the origin of the circle is chosen well.

Every solution of the loop makes A singular. Where A is regular at one angle, it is singular at 24
complex ones at most, so that its real eigenvalues contain all solutions. Where A is singular at
all angles, nothing is concluded. Which motions are paired, which is hidden and which multiplied
makes 72 arrangements, some of which are singular or badly conditioned for some geometries.

Rigid motions carry points and lines linearly, in fifteen coordinates. A point p of the line with
direction l has the coordinates

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

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from regularize.guests.modes.loop_chain import about_z
from regularize.lie import screw
from regularize.lie.arrays import Array, Indices, Transform, read_only
from regularize.tolerances import VANISHING

#: Shape (N, 6, 4, 4): constant motions behind each of the six motions, lengths in loop sizes.
Constants: TypeAlias = Array
#: Shape (N, 6): the six unknowns, in radians and loop sizes.
Variables: TypeAlias = Array

_PAIRS = np.array(list(combinations(range(5), 2)))
_FIRST, _SECOND = _PAIRS.T


def carried(T: Transform) -> Array:
    """Return matrices of rigid motions on the 15 coordinates of a point and a line."""
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


def elementary(kind: str, x: Array) -> Transform:
    """Return a turn about z (``R``) or a slide along z (``P``)."""
    zero = np.zeros_like(x, dtype=np.float64)
    return about_z(zero, x) if kind == "P" else about_z(x, zero)


def _basis(kind: str, sign: float) -> Array:
    """Split ``carried`` into matrices of 1, cos, sin (of a turn) or 1, s, s² (of a slide)."""
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
UNMOVED: dict[str, Indices] = {
    kind: np.flatnonzero(~np.any(BASIS[kind][1:] != 0.0, axis=(0, 2)))[1:] for kind in "RP"
}


#: Origin and z axis, which a turn about z leaves as they are, shape (15,).
AXIS = read_only([1.0, 0.0, 0.0, 0.0, 0.0, *((_FIRST == 0) & (_SECOND == 3))])


#: Products 1, f1, f2 by cos², cos sin, sin² of half the angle of the circle.
_CIRCLE = {"R": np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 2.0, 0.0]]), "P": np.eye(3)}
#: Half a turn about x, which inverts turns about and slides along z.
_HALF = np.diag([1.0, -1.0, -1.0, 1.0])


@dataclass(frozen=True)
class Arrangement:
    """The roles of the six motions of a loop in its equations."""

    order: tuple[int, ...]  # the motions as the equations number them from 1 to 6
    reversed: bool  # whether the loop is passed backwards
    hidden: int  # the hidden one of motions 3, 4, 5, counted from 0
    swapped: bool  # which of the other two multiplies the equations

    @property
    def roles(self) -> tuple[int, int, int]:
        """Positions in ``order`` of the hidden, the multiplied and the last variable."""
        others = [k for k in range(3) if k != self.hidden]
        first, second = others[::-1] if self.swapped else others
        return 2 + self.hidden, 2 + first, 2 + second

    def arranged(self, kinds: str, C: Constants) -> tuple[str, Constants]:
        """Return kinds and constants of a loop's motions in the order of the arrangement."""
        C = C[:, list(self.order)]
        if self.reversed:
            C = _HALF @ screw.inverse(np.roll(C, -1, axis=1)) @ _HALF
        return "".join(kinds[i] for i in self.order), C


def arrangements(kinds: str) -> Iterator[Arrangement]:
    """Yield all arrangements whose sixth motion is a turn."""
    for start in range(6):
        for backwards in (False, True):
            order = [(start + (-k if backwards else k)) % 6 for k in range(6)]
            if kinds[order[5]] != "R":
                continue
            for hidden in range(3):
                for swapped in (False, True):
                    yield Arrangement(tuple(order), backwards, hidden, swapped)


def eliminated(kinds: str, C: Constants) -> Array:
    """Return six equations in motions 3, 4, 5 of arranged loops, shape (N, 6, 3, 3, 3)."""
    N, D, back = len(C), carried(C), carried(screw.inverse(C))
    left = np.einsum("xab,nb->nax", BASIS[kinds[4]], D[:, 4] @ AXIS)
    left = np.einsum("xab,nbj->naxj", BASIS[kinds[3]], D[:, 3] @ left)
    left = (D[:, 2] @ left.reshape(N, 15, 9)).reshape(N, 15, 3, 3)
    left = np.einsum("xab,nbij->naxij", BASIS[kinds[2]], left)[:, 1:]
    right = np.einsum("xab,nb->nax", INVERSE[kinds[0]], back[:, 5] @ AXIS)
    right = np.einsum("xab,nbi->naxi", INVERSE[kinds[1]], back[:, 0] @ right)
    right = (back[:, 1] @ right.reshape(N, 15, 9))[:, 1:]
    left[:, :, 0, 0, 0] -= right[:, :, 0]
    U, sizes, _ = np.linalg.svd(right[:, :, 1:], full_matrices=True)
    rank = np.sum(sizes > VANISHING * sizes[:, :1], axis=1)
    combined = U[:, :, 8:].copy()
    # More than six equations are combined at random, so that none is lost for sure.
    mixing = np.linalg.qr(np.random.default_rng(14).normal(size=(14, 14)))[0]
    for r in np.unique(rank[rank < 8]):
        these = rank == r
        mixed = np.linalg.qr(mixing[: 14 - r, : 14 - r])[0]
        combined[these] = U[these][:, :, r:] @ mixed[:, :6]
    return np.asarray(np.einsum("nae,nahij->nehij", combined, left))


def turned(offset: Array) -> Array:
    """Return the products cos², cos sin, sin² of half of (angle + offset) by those of the angle."""
    c, s = np.cos(0.5 * offset), np.sin(0.5 * offset)
    rows = [[c * c, -2 * c * s, s * s], [c * s, c * c - s * s, -c * s], [s * s, 2 * c * s, c * c]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


@dataclass(frozen=True, eq=False)
class Pencil:
    """The quadratic matrix polynomial of N loops, and their hidden, multiplied and last motion."""

    A: Array  # by cos², cos sin, sin² of half the hidden angle, shape (N, 3, 12, 12)
    offsets: Array  # origins of their circles, shape (3,)
    kinds: tuple[str, str, str]

    def at(self, angle: Array, rows: Indices | None = None) -> Array:
        """Return the matrix at hidden angles, of all loops or of some, shape (..., 12, 12)."""
        c, s = np.cos(0.5 * angle), np.sin(0.5 * angle)
        A = self.A if rows is None else self.A[rows]
        factors = np.stack([c * c, c * s, s * s], axis=-1)
        return np.asarray(np.einsum("...h,...hij->...ij", factors, A))

    def value(self, role: int, angle: Array) -> Array:
        """Return the variable of a motion by the angle on its circle."""
        angle = angle + self.offsets[role]
        return np.asarray(np.tan(0.5 * angle)) if self.kinds[role] == "P" else angle

    def angle(self, role: int, value: Array) -> Array:
        """Return the angle on its circle of the variable of a motion."""
        angle = 2.0 * np.arctan(value) if self.kinds[role] == "P" else value
        return np.asarray(angle - self.offsets[role])

    def regularity(self, angles: Array) -> Array:
        """Return the ratio of smallest to largest singular value at angles, shape (N, angles)."""
        result = np.zeros((len(self.A), len(angles)))
        for i, angle in enumerate(angles):
            sizes = np.linalg.svd(self.at(angle[None]), compute_uv=False)
            result[:, i] = sizes[:, -1] / np.maximum(sizes[:, 0], np.finfo(float).tiny)
        return result


def assembled(kinds: str, six: Array, arrangement: Arrangement, offsets: Array) -> Pencil:
    """Make the matrix polynomial of six equations in arranged motions, as from ``eliminated``."""
    circles = [_CIRCLE[kinds[2 + k]] @ turned(offsets[k]) for k in range(3)]
    six = np.einsum("nehij,hx,iy,jz->nexyz", six, *circles, optimize=True)
    roles = [role - 2 for role in arrangement.roles]
    six = six.transpose(0, 2 + roles[0], 1, 2 + roles[1], 2 + roles[2])
    shifted = np.zeros((len(six), 3, 2, 6, 4, 3))
    shifted[:, :, 0, :, :3] = shifted[:, :, 1, :, 1:] = six
    # Equations of like size are better conditioned.
    A = shifted.reshape(len(six), 3, 12, 12)
    size = np.linalg.norm(A, axis=(1, 3), keepdims=True)
    A /= np.where(size > 0.0, size, 1.0)
    k = (kinds[2 + roles[0]], kinds[2 + roles[1]], kinds[2 + roles[2]])
    return Pencil(A, offsets[roles], k)


def eigenvalues(A: Array) -> Array:
    """Return the complex angles at which the matrix is singular, shape (N, 24)."""
    N, n = len(A), A.shape[-1]
    # The matrix at half a turn is inverted: the circle's origin has to make it well conditioned.
    companion = np.zeros((N, 2 * n, 2 * n))
    companion[:, :n, n:] = np.eye(n)
    companion[:, n:] = -np.linalg.solve(A[:, 2], np.concatenate([A[:, 0], A[:, 1]], axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2.0 * np.arctan(np.linalg.eigvals(companion).astype(complex)))
