"""Joints of four freedoms that close a planar or spherical loop without a redundant equation.

======================  ========================================  ================================
kind                    what it holds                             what it closes
======================  ========================================  ================================
``point_on_line``       a point on an axis                        a planar loop, for a hinge
``line_in_plane``       a line in a plane                         a planar loop, for a slider
``parallel``            the direction of an axis                  a spherical loop, for a hinge
======================  ========================================  ================================

Their coordinates are ordered so that those which a loop moves come first: the others stay at zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.joint import joint_screws, perpendiculars

HIGHER_PAIRS = ("point_on_line", "line_in_plane", "parallel")


def pair_screws(name: str, axis: ArrayLike, axis2: ArrayLike | None = None) -> Array:
    """Screws of a higher pair in its own frame, through the frame's origin, shape (6, 4).

    Args:
        name: One of ``HIGHER_PAIRS``.
        axis: The line; of ``parallel`` the direction that is held.
        axis2: Normal of the plane of ``line_in_plane``.
    """
    e = screw.unit(axis)
    first, second = perpendiculars(e)
    if name == "point_on_line":
        turns = [screw.revolute(first), screw.revolute(second)]
        return np.column_stack([joint_screws("cylindrical", e), *turns])
    if name == "parallel":
        return np.column_stack([screw.revolute(e), *map(screw.prismatic, (e, first, second))])
    normal = first if axis2 is None else screw.unit(axis2)
    across = np.cross(normal, e)
    slides = [screw.prismatic(e), screw.prismatic(across)]
    return np.column_stack([*slides, screw.revolute(normal), screw.revolute(e)])
