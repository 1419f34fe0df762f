"""Closed configurations and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from regularize.lie.screw import Array

#: Condition number up to which velocities of dependent coordinates keep all but two digits.
GOOD = 50.0


@dataclass(frozen=True, eq=False)
class Pose:
    """A closed configuration with what follows from it.

    Attributes:
        x: Displacement from the reference, shape (nv,).
        q: Configuration of the Pinocchio model, shape (nq,).
        transmission: Velocities of all coordinates by those of the known ones, shape (nv, known).
        condition: Condition number of the Jacobian of the dependent coordinates, lengths scaled,
            in the Frobenius norm over their number, so that it is 1 at best.
        inverse: Inverse of that Jacobian in the rows that tie them, shape (m, m).
        side: Sign of its determinant: poses of different signs are not joined by motions on which
            the known coordinates determine the others all along.
        bend: Accelerations of all coordinates at constant rates of the known ones, as a quadratic
            form, shape (nv, known, known), where they do not follow from the inverse.
        crossings: Singular configurations passed on the way to it, those passed back taken off.
    """

    x: Array
    q: Array
    transmission: Array
    condition: float
    inverse: Array
    side: float
    bend: Array | None = None
    crossings: int = 0
