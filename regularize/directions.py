"""Words for spaces of forces and moments, or of translations and rotations.

A space of covectors is seen from a point with the axes of the ground and split into directions that
are purely linear, purely angular, and the rest. Axes of the ground are used where they fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regularize import subalgebra
from regularize.screw import Array

TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of a space of covectors.

    Attributes:
        kind: ``linear``, ``angular`` or ``mixed``.
        covector: Linear part first, ground axes, about the point of the space, shape (6,).
    """

    kind: str
    covector: Array

    def words(self, linear: str, angular: str) -> str:
        """For example ``translation along Y`` or ``moment about (0.6, 0, 0.8)``."""
        if self.kind == "linear":
            return f"{linear} along {axis_words(self.covector[:3])}"
        if self.kind == "angular":
            return f"{angular} about {axis_words(self.covector[3:])}"
        return (
            f"{linear} along {axis_words(self.covector[:3])} "
            f"with {angular} about {axis_words(self.covector[3:])}"
        )


def axis_words(vector: Array) -> str:
    """``X``, ``Y`` or ``Z`` where the vector is parallel to it, else its unit vector."""
    unit = vector / np.linalg.norm(vector)
    for name, component in zip("XYZ", unit, strict=True):
        if (
            abs(component) > 1 - TOLERANCE**2
            or np.linalg.norm(np.delete(unit, "XYZ".index(name))) < TOLERANCE
        ):
            return name
    if unit[int(np.argmax(np.abs(unit)))] < 0:
        unit = -unit
    return "(" + ", ".join(f"{x + 0.0:.3g}" for x in np.round(unit, 3)) + ")"


def directions(space: Array) -> list[Direction]:
    """A readable basis of a space of covectors given about one point.

    Args:
        space: Columns of covectors, lengths scaled to order one, shape (6, k).
    """
    basis = subalgebra.span(space, TOLERANCE)
    linear = subalgebra.intersection(basis, np.eye(6)[:, :3], TOLERANCE)
    angular = subalgebra.intersection(basis, np.eye(6)[:, 3:], TOLERANCE)
    found = [Direction("linear", np.concatenate([axis, np.zeros(3)])) for axis in _axes(linear[:3])]
    found += [
        Direction("angular", np.concatenate([np.zeros(3), axis])) for axis in _axes(angular[3:])
    ]
    pure = np.hstack([linear, angular])
    rest = subalgebra.span(subalgebra.residual(pure, basis), TOLERANCE)
    found += [Direction("mixed", column) for column in rest.T]
    return found


def _axes(vectors: Array) -> Iterator[Array]:
    """Basis of a space of three-vectors that uses axes of the ground where they lie in it."""
    k = vectors.shape[1]
    basis = vectors
    chosen: list[Array] = []
    for axis in np.eye(3):
        if len(chosen) < k and np.linalg.norm(axis - basis @ (basis.T @ axis)) < TOLERANCE:
            chosen.append(axis)
    if len(chosen) < k:
        done = np.array(chosen).reshape(-1, 3).T
        rest = basis - done @ (done.T @ basis)
        u, _, _ = np.linalg.svd(rest, full_matrices=False)
        for column in u.T[: k - len(chosen)]:
            leading = column[int(np.argmax(np.abs(column)))]
            chosen.append(column if leading > 0 else -column)
    yield from chosen
