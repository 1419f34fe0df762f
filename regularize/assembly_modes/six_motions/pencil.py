r"""The loop of six elementary motions as an eigenvalue problem.

Raghavan and Roth (1993) split the loop M1 C1 M2 ... C6 = 1 in two (eq. 3 of Manocha and Canny 1994)
and carry the axis of motion 6, which is a turn and leaves its axis as it is, along both ways, in
the coordinates of ``line_motions``:

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.closed_form.tape import VANISHING
from regularize.assembly_modes.six_motions.line_motions import (
    AXIS,
    BASIS,
    INVERSE,
    carried,
)
from regularize.lie import screw
from regularize.lie.screw import Array

#: Products 1, f1, f2 by cos², cos sin, sin² of half the angle of the circle.
_CIRCLE = {
    "R": np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 2.0, 0.0]]),
    "P": np.eye(3),
}
#: Half a turn about x, which inverts turns about and slides along z.
_HALF = np.diag([1.0, -1.0, -1.0, 1.0])


@dataclass(frozen=True)
class Arrangement:
    """Which motion takes which part.

    Attributes:
        order: The motions in the order in which the equations number them 1 to 6.
        reversed: Whether the loop is passed backwards.
        hidden: The hidden one of motions 3, 4, 5, counted from 0.
        swapped: Which of the other two multiplies the equations.
    """

    order: tuple[int, ...]
    reversed: bool
    hidden: int
    swapped: bool

    @property
    def roles(self) -> tuple[int, int, int]:
        """Positions in ``order`` of the hidden, the multiplied and the last variable."""
        others = [k for k in range(3) if k != self.hidden]
        first, second = others[::-1] if self.swapped else others
        return 2 + self.hidden, 2 + first, 2 + second

    def arranged(self, kinds: str, C: Array) -> tuple[str, Array]:
        """Kinds and constants in this order."""
        C = C[:, list(self.order)]
        if self.reversed:
            C = _HALF @ screw.inverse(np.roll(C, -1, axis=1)) @ _HALF
        return "".join(kinds[i] for i in self.order), C


def arrangements(kinds: str) -> Iterator[Arrangement]:
    """All arrangements whose sixth motion is a turn."""
    for start in range(6):
        for backwards in (False, True):
            order = [(start + (-k if backwards else k)) % 6 for k in range(6)]
            if kinds[order[5]] != "R":
                continue
            for hidden in range(3):
                for swapped in (False, True):
                    yield Arrangement(tuple(order), backwards, hidden, swapped)


def eliminated(kinds: str, C: Array) -> Array:
    """Six equations in motions 3, 4, 5 of arranged loops, shape (N, 6, 3, 3, 3).

    They are by the functions of these motions. More than six are combined at random, so that none
    is lost for sure.

    Args:
        kinds: Kinds of the six motions in the order of the arrangement.
        C: Their constants, shape (N, 6, 4, 4).
    """
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
    mixing = np.linalg.qr(np.random.default_rng(14).normal(size=(14, 14)))[0]
    for r in np.unique(rank[rank < 8]):
        these = rank == r
        mixed = np.linalg.qr(mixing[: 14 - r, : 14 - r])[0]
        combined[these] = U[these][:, :, r:] @ mixed[:, :6]
    return np.asarray(np.einsum("nae,nahij->nehij", combined, left))


def turned(offset: Array) -> Array:
    """The products cos², cos sin, sin² of half of (angle + offset) by those of the angle."""
    c, s = np.cos(0.5 * offset), np.sin(0.5 * offset)
    rows = [
        [c * c, -2 * c * s, s * s],
        [c * s, c * c - s * s, -c * s],
        [s * s, 2 * c * s, c * c],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


@dataclass(frozen=True, eq=False)
class Pencil:
    """The quadratic matrix polynomial of N loops.

    Attributes:
        A: Its coefficients by cos², cos sin, sin² of half the hidden angle, (N, 3, 12, 12).
        offsets: Origins of the circles of the hidden, multiplied and last variable, shape (3,).
        kinds: Their kinds.
    """

    A: Array
    offsets: Array
    kinds: tuple[str, str, str]

    def at(self, angle: Array, rows: NDArray[np.intp] | None = None) -> Array:
        """The matrix at hidden angles, shape (..., 12, 12).

        Args:
            angle: Shape (K,) with ``rows``, else (N,) or (1,).
            rows: Which loops, shape (K,).
        """
        c, s = np.cos(0.5 * angle), np.sin(0.5 * angle)
        A = self.A if rows is None else self.A[rows]
        factors = np.stack([c * c, c * s, s * s], axis=-1)
        return np.asarray(np.einsum("...h,...hij->...ij", factors, A))

    def value(self, role: int, angle: Array) -> Array:
        """The variable of a motion by the angle on its circle."""
        angle = angle + self.offsets[role]
        return np.asarray(np.tan(0.5 * angle)) if self.kinds[role] == "P" else angle

    def angle(self, role: int, value: Array) -> Array:
        """The angle on its circle of the variable of a motion."""
        angle = 2.0 * np.arctan(value) if self.kinds[role] == "P" else value
        return np.asarray(angle - self.offsets[role])

    def regularity(self, angles: Array) -> Array:
        """Smallest by largest singular value at some angles, shape (N, angles)."""
        result = np.zeros((len(self.A), len(angles)))
        for i, angle in enumerate(angles):
            sizes = np.linalg.svd(self.at(angle[None]), compute_uv=False)
            result[:, i] = sizes[:, -1] / np.maximum(sizes[:, 0], np.finfo(float).tiny)
        return result


def assembled(kinds: str, six: Array, arrangement: Arrangement, offsets: Array) -> Pencil:
    """The matrix polynomial of six equations in arranged motions 3, 4, 5, (N, 6, 3, 3, 3)."""
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
    """Complex angles at which the matrix is singular, shape (N, 24).

    The matrix at half a turn, A2, is inverted: the origin of the circle has to be chosen so that
    this is well conditioned.
    """
    N, n = len(A), A.shape[-1]
    companion = np.zeros((N, 2 * n, 2 * n))
    companion[:, :n, n:] = np.eye(n)
    companion[:, n:] = -np.linalg.solve(A[:, 2], np.concatenate([A[:, 0], A[:, 1]], axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2.0 * np.arctan(np.linalg.eigvals(companion).astype(complex)))
