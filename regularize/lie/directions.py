"""Words for spaces of forces and moments, or of translations and rotations.

A space of covectors is seen from a point with the axes of the ground and split into directions that
are purely linear, purely angular, and the rest. Axes of the ground are used where they fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Array, Wrench
from regularize.lie.screw import leading_component, points_back
from regularize.tolerances import PARALLEL, UNNOTICED

#: Axes tilted by less than this are named by the axis and the tilt, in radians; loops that would
#: be special but for so small a tilt, or a shift by this part of their size, are pointed out.
SLIGHT = 5e-3


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of a space of covectors."""

    kind: str  # linear, angular or mixed
    covector: Wrench  # linear part first, ground axes, about the point of the space

    def words(self, linear: str, angular: str) -> str:
        """For example ``translation along Y`` or ``moment about (0.6, 0, 0.8)``."""
        if self.kind == "linear":
            return f"{linear} along {axis_words(self.covector[:3])}"
        if self.kind == "angular":
            return f"{angular} about {axis_words(self.covector[3:])}"
        force, moment = self.covector[:3], self.covector[3:]
        together = "with" if points_back(force) == points_back(moment) else "against"
        return f"{linear} along {axis_words(force)} {together} {angular} about {axis_words(moment)}"


def axis_words(vector: Array) -> str:
    """Name a vector: ``Y``, ``Y tilted by 0.5 mrad``, else its unit vector, ``(0.6, 0, 0.8)``."""
    return _axis_words(np.asarray(vector, dtype=float).tobytes())


@lru_cache(maxsize=1024)  # mechanisms repeat themselves
def _axis_words(data: bytes) -> str:
    unit = np.frombuffer(data) / np.linalg.norm(np.frombuffer(data))
    leading = leading_component(unit)
    tilt = float(np.linalg.norm(np.delete(unit, leading)))
    if tilt < PARALLEL:
        return "XYZ"[leading]
    if tilt < SLIGHT:
        return f"{'XYZ'[leading]} tilted by {tilt * 1e3:.2g} mrad"
    if unit[leading] < 0:
        unit = -unit
    return "(" + ", ".join(f"{x + 0.0:.3g}" for x in np.round(unit, 3)) + ")"


def directions(space: Array) -> list[Direction]:
    """Return a readable basis of a space of covectors about one point, lengths of order one."""
    return directions_of_each(space[None])[0]


def directions_of_each(spaces: Array) -> list[list[Direction]]:
    """Return readable bases of spaces of covectors (N, 6, k), each about a point of its own."""
    if not spaces.shape[2]:
        return [[] for _ in spaces]
    u, s, _ = np.linalg.svd(spaces, full_matrices=False)
    u *= (s > PARALLEL * np.maximum(s[:, :1], 1.0))[:, None]
    # Adding zero turns -0.0 into 0.0, which has other bytes.
    projectors = np.round(u @ np.swapaxes(u, 1, 2), 12) + 0.0
    return [list(_directions(projector.tobytes())) for projector in projectors]


@lru_cache  # mechanisms repeat themselves
def _directions(projector: bytes) -> tuple[Direction, ...]:
    basis = subalgebra.span(np.frombuffer(projector).reshape(6, 6), PARALLEL)
    linear = subalgebra.intersection(basis, np.eye(6)[:, :3], PARALLEL)
    angular = subalgebra.intersection(basis, np.eye(6)[:, 3:], PARALLEL)
    pure = np.hstack([linear, angular])
    mixed = subalgebra.span(subalgebra.residual(pure, basis), PARALLEL)
    return (
        *(Direction("linear", np.concatenate([axis, np.zeros(3)])) for axis in _axes(linear[:3])),
        *(Direction("angular", np.concatenate([np.zeros(3), axis])) for axis in _axes(angular[3:])),
        *(Direction("mixed", column) for column in _axes(mixed)),
    )


def _axes(vectors: Array) -> Iterator[Array]:
    """Generate an orthonormal basis that depends on the space alone, coordinate axes first."""
    # The coordinate axis nearest to what is left of the space is projected on it.
    projector = vectors @ vectors.T
    for _ in range(vectors.shape[1]):
        near = np.linalg.norm(projector, axis=0)
        leading = int(np.argmax(near > np.max(near) - UNNOTICED))
        axis = projector[:, leading] / near[leading]
        axis = np.where(np.abs(axis) < PARALLEL**2, 0.0, axis)
        projector = projector - np.outer(axis, axis)
        yield axis
