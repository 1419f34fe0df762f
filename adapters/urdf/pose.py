"""Frames in URDF: an element with ``xyz`` and ``rpy``."""

from __future__ import annotations

import numpy as np

from regularize.adapters.common.pose import rotation_rpy
from regularize.adapters.common.xml import Node
from regularize.lie.screw import IDENTITY, Array, transform


def pose(node: Node | None) -> Array:
    """Transform of an element with ``xyz`` and ``rpy`` or ``quat_xyzw``; identity for None."""
    if node is None:
        return IDENTITY
    translation = node.numbers("xyz", 3, np.zeros(3))
    if node.get("quat_xyzw") is None:
        return transform(rotation_rpy(*node.numbers("rpy", 3, np.zeros(3))), translation)
    if node.get("rpy") is not None:
        raise node.error("gives rpy and quat_xyzw; keep one of them")
    return transform(node.quaternion(*node.numbers("quat_xyzw", 4), name="quat_xyzw"), translation)
