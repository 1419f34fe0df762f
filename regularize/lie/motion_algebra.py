r"""Subalgebras of se(3) in canonical form.

An algebra turns about no direction, one or all, and translates along none, one, two or all (Hervé
1978): its kind, a direction, a point and a pitch say all of it. Where rotations have one direction
e, translations are along e, across it, or both, for :math:`e \times` turns those across it into one
another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array

Vector: TypeAlias = tuple[float, float, float]

ORIGIN: Vector = (0.0, 0.0, 0.0)


def dot(a: Vector, b: Vector) -> float:
    """Scalar product; of three numbers many times quicker than by arrays."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def unit(vector: Vector) -> Vector:
    """The vector scaled to length one."""
    length = math.sqrt(dot(vector, vector))
    return vector[0] / length, vector[1] / length, vector[2] / length


class MotionAlgebra(NamedTuple):
    """A subalgebra of se(3); what its kind leaves open is zero.

    Attributes:
        turns: Independent directions of rotation: 0, 1 or 3.
        slides: Independent translations; beside one rotation, 1 is along it and 2 are across it.
        direction: Unit vector of the rotation or the one translation, or normal of two.
        point: That of the axis nearest to the origin, or the centre.
        pitch: Translation per radian.
    """

    turns: int
    slides: int
    direction: Vector = ORIGIN
    point: Vector = ORIGIN
    pitch: float = 0.0

    @property
    def dimension(self) -> int:
        """0 to 6, but never 5."""
        return self.turns + self.slides

    @property
    def along(self) -> bool:
        """Whether it translates along the one direction of its rotations."""
        return self.slides in (1, 3)

    @property
    def across(self) -> bool:
        """Whether it translates across the one direction of its rotations."""
        return self.slides > 1

    def rounded(self, digits: int) -> MotionAlgebra:
        """The same with so many digits behind the point."""
        turns, slides, (a, b, c), (x, y, z), pitch = self
        e = (round(a, digits), round(b, digits), round(c, digits))
        p = (round(x, digits), round(y, digits), round(z, digits))
        return MotionAlgebra(turns, slides, e, p, round(pitch, digits))

    def basis(self) -> Array:
        """Orthonormal basis, shape (6, d)."""
        columns = np.zeros((6, self.dimension))
        e = self.direction
        if self.slides == 1:
            columns[:3, 0] = e
        elif self.slides == 2:
            # Of the axes of the frame the one that is the least parallel.
            least = min(range(3), key=lambda i: abs(e[i]))
            aside = unit(cross(e, (float(least == 0), float(least == 1), float(least == 2))))
            columns[:3, 0], columns[:3, 1] = aside, cross(e, aside)
        else:
            columns[: self.slides, : self.slides] = np.eye(self.slides)
        if self.turns == 1:
            moment = np.array(cross(self.point, e)) + np.multiply(self.pitch, e)
            turning = np.concatenate([moment, e])
            columns[:, -1] = turning / math.sqrt(turning @ turning)
        elif self.turns:
            columns[:3, self.slides :] = screw.cross_matrix(np.array(self.point))
            columns[3:, self.slides :] = np.eye(3)
            columns = np.linalg.qr(columns)[0]
        return columns

    @classmethod
    def one_rotation(cls, slides: int, e: Vector, point: Vector, pitch: float) -> MotionAlgebra:
        """That of a screw and so many translations, which take its place and pitch away."""
        return cls(
            1, slides, e, ORIGIN if slides > 1 else point, 0.0 if slides in (1, 3) else pitch
        )

    @classmethod
    def of_screw(cls, column: Sequence[float], least: float) -> MotionAlgebra:
        """The multiples of a screw that is not zero.

        Args:
            column: The screw.
            least: Rotation that counts as none beside the translation.
        """
        x, y, z, a, b, c = column
        length = math.sqrt(a * a + b * b + c * c)
        if length <= least * math.sqrt(x * x + y * y + z * z):
            return cls(0, 1, unit((x, y, z)))
        e, v = (a / length, b / length, c / length), (x / length, y / length, z / length)
        return cls(1, 0, e, cross(e, v), dot(e, v))

    @classmethod
    def of(cls, algebra: Array, rtol: float) -> MotionAlgebra | None:
        """What a subspace is; None where it has to be no algebra.

        The kind follows from the dimension, from the number of independent directions of rotation
        and from the translations that it contains.

        Args:
            algebra: Orthonormal basis, shape (6, d).
            rtol: Rotations that count as none.
        """
        dimension = algebra.shape[1]
        if dimension in (0, 6):
            return cls(dimension // 2, dimension // 2)
        if dimension == 1:
            return cls.of_screw(algebra[:, 0].tolist(), rtol)
        _, s, vt = np.linalg.svd(algebra[3:])
        turns = int(np.sum(s > rtol))
        translations, turning = algebra[:3] @ vt[turns:].T, algebra @ vt[:turns].T
        if turns == 0:
            normal = () if dimension == 3 else (unit(cross(*translations.T.tolist())),)
            return cls(0, dimension, *normal)
        if turns == 1:
            own = cls.of_screw(turning[:, 0].tolist(), 0.0)
            return cls.one_rotation(dimension - 1, own.direction, own.point, own.pitch)
        if dimension == 3 and turns == 3:
            # The point p with v = p × ω for all columns.
            v, w = turning[:3], turning[3:]
            rows = np.vstack([-screw.cross_matrix(column) for column in w.T])
            point, *_ = np.linalg.lstsq(rows, v.T.reshape(-1), rcond=None)
            return cls(3, 0, point=tuple(point.tolist()))
        return None
