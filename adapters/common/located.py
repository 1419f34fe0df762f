"""Things that know where they stand in the user's files, so that every fault names the place.

Elements of XML, values of JSON and YAML, lines of ASMT and objects of CAD systems are all
``Located``: readers raise ``thing.error("what is wrong; what to do")`` and hand ``thing.source``
on to the bodies, joints and findings that they make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from regularize.adapters.common.quantities import rotation_quaternion
from regularize.errors import ReadError
from regularize.lie.arrays import Array
from regularize.lie.screw import unit
from regularize.mechanism.diagnostic import Source

#: A rotation is as written up to the rounding of three decimals.
ROUNDED = 1e-3


class Located(ABC):
    """Something in a file that reports faults with file, line and element."""

    @property
    @abstractmethod
    def source(self) -> Source:
        """Where it stands."""

    def error(self, reason: str) -> ReadError:
        """The error to raise about it."""
        source = self.source
        return ReadError(source.path, reason, line=source.line, element=source.element)

    def one_of(self, word: str, known: Iterable[str], what: str = "type") -> str:
        """A word that it gives, which has to be one of those known."""
        known = [*known]
        if word not in known:
            raise self.error(f"{what} {word!r} is unknown; expected one of {', '.join(known)}")
        return word

    def direction(self, axis: ArrayLike, example: str = "0 0 1") -> Array:
        """Unit vector of an axis that it gives; raises ``ReadError`` for one without length."""
        try:
            return unit(axis)
        except ValueError:
            raise self.error(
                f"the axis has no length; give a direction such as {example}"
            ) from None

    def rotation(self, R: Array) -> Array:
        """The rotation nearest to a matrix that it gives, shape (3, 3)."""
        u, s, vt = np.linalg.svd(R)
        if np.max(np.abs(s - 1.0)) > ROUNDED or np.linalg.det(R) < 0.0:
            raise self.error("is no rotation: its axes are not perpendicular unit vectors")
        return np.asarray(u @ vt)

    def quaternion(
        self, x: float, y: float, z: float, w: float, *, name: str = "the quaternion"
    ) -> Array:
        """Rotation of a quaternion that it gives, shape (3, 3); ``ReadError`` for zero."""
        try:
            return rotation_quaternion(x, y, z, w)
        except ValueError:
            raise self.error(f"{name} is zero; give a unit quaternion") from None


class FilePlace(Located):
    """A place in a file that something else was read from, such as a prim of a stage."""

    def __init__(self, path: str, element: str | None = None, line: int | None = None) -> None:
        self._source = Source(path, line, element)

    @property
    def source(self) -> Source:
        """The place."""
        return self._source
