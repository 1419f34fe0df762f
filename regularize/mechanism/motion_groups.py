"""Compositions and intersections of motion groups, as Hervé (1978) tabulates them.

Two bodies that a chain of joints connects move in the product of the joints' groups, which is a
group only where the factors fit; ``compose`` says in which smallest group it lies, and both are the
same where its dimension is that of the product. Two chains side by side leave what both allow.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.lie.arrays import Space
from regularize.lie.motion_type import KINDS_OF_MOTION, MotionType, motion_type
from regularize.lie.screw import unit
from regularize.lie.subalgebra import intersection, lie_closure, span, sum_

#: A group as a report has it, its name with the axis z through the origin, or its screws (6, k).
Group: TypeAlias = "MotionType | str | ArrayLike"


def motion_group(
    name: str,
    direction: ArrayLike = (0, 0, 1),
    point: ArrayLike = (0, 0, 0),
    *,
    pitch: float | None = None,
) -> MotionType:
    """A group of motions by its name.

    Args:
        name: ``revolute``, ``planar``, ``spherical``, ``Schoenflies`` and so on, as reports say.
        direction: Of the axis or the translation, or normal of the plane.
        point: A point of the axis, or the centre, in metres.
        pitch: In m/rad, of ``helical`` and of ``planar with pitch``; by default 1.

    Raises:
        ModelError: There is no such group, or the direction has no length.
    """
    if name not in KINDS_OF_MOTION:
        raise ModelError(f"no group is called {name!r}{did_you_mean(name, KINDS_OF_MOTION)}")
    if not np.linalg.norm(direction):
        raise ModelError("the direction of a group of motions has no length")
    pitched = name in ("helical", "planar with pitch")
    size = (1.0 if pitch is None else float(pitch)) if pitched else 0.0
    at = np.asarray(point, dtype=np.float64)
    return motion_type(
        MotionType(name, sum(KINDS_OF_MOTION[name]), unit(direction), at, size).basis
    )


def compose(first: Group, second: Group) -> MotionType:
    """The smallest group that contains all motions of one group after those of another.

    Example:
        >>> compose("revolute", "translations in a plane").name
        'planar'
    """
    return motion_type(lie_closure(sum_(_basis(first), _basis(second))))


def meet(first: Group, second: Group) -> MotionType:
    """The group of the motions that belong to both.

    Example:
        >>> meet("planar", "spherical").name
        'revolute'
    """
    return motion_type(intersection(_basis(first), _basis(second)))


def _basis(group: Group) -> Space:
    """Orthonormal basis of a group's algebra, shape (6, d)."""
    if isinstance(group, str):
        group = motion_group(group)
    if not isinstance(group, MotionType):
        columns = np.asarray(group, dtype=np.float64)
        if columns.ndim != 2 or len(columns) != 6 or not np.isfinite(columns).all():
            raise ModelError(f"screws have the shape (6, k), got {columns.shape}")
        return lie_closure(span(columns))
    if group.name not in KINDS_OF_MOTION:
        raise ModelError(f"these motions form no group: {group.name!r}")
    return group.basis
