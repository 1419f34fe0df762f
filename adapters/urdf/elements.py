"""Elements of URDF that its writer makes: origins, mass properties, shapes and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.adapters.common.inertia import NAMES, six
from regularize.adapters.common.write import add, rpy, sizes
from regularize.lie.screw import Array
from regularize.model.mechanism import Geometry, Inertia, Joint

LARGEST = float(np.finfo(np.float64).max)


def add_origin(element: Any, T: Array) -> None:
    """Add an ``<origin>``, unless it is the identity."""
    if not np.array_equal(T, np.eye(4)):
        add(element, "origin", xyz=T[:3, 3], rpy=rpy(T[:3, :3]))


def add_inertial(link: Any, inertia: Inertia) -> None:
    """Add mass properties to a link."""
    element = add(link, "inertial")
    add(element, "origin", xyz=inertia.center, rpy="0 0 0")
    add(element, "mass", value=inertia.mass)
    add(element, "inertia", **dict(zip(NAMES, six(inertia.matrix), strict=True)))


def add_shape(link: Any, shape: Geometry) -> None:
    """Add a shape to a link, to be seen or to be touched."""
    element = add(link, "collision" if shape.collision else "visual")
    add_origin(element, shape.T_body_geometry)
    geometry = add(element, "geometry")
    if shape.kind == "mesh":
        add(geometry, "mesh", filename=shape.uri or "", scale=shape.size)
    else:
        add(geometry, shape.kind, **sizes(shape))
    if shape.color is not None:
        add(add(element, "material", name=""), "color", rgba=shape.color)


def add_limit(element: Any, joint: Joint) -> bool:
    """Add bounds to a joint of one freedom; returns whether a bound is open.

    URDF wants all four bounds, and its own parser refuses inf: an open one becomes the largest
    number there is.
    """
    low, high = (-np.inf, np.inf) if joint.limits is None else joint.limits[0]
    bounds = {"lower": low, "upper": high, "effort": np.inf, "velocity": np.inf}
    add(element, "limit", **{key: np.clip(v, -LARGEST, LARGEST) for key, v in bounds.items()})
    return bool(np.isinf(low) or np.isinf(high))
