"""Elements of URDF that its writer makes: origins, mass properties, shapes and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.write import number, numbers, rpy
from regularize.lie.screw import Array
from regularize.model.mechanism import Geometry, Inertia, Joint

LARGEST = float(np.finfo(np.float64).max)


def add_origin(element: Any, T: Array) -> None:
    """Add an ``<origin>``, unless it is the identity."""
    if not np.array_equal(T, np.eye(4)):
        etree.SubElement(element, "origin", xyz=numbers(T[:3, 3]), rpy=numbers(rpy(T[:3, :3])))


def add_inertial(link: Any, inertia: Inertia) -> None:
    """Add mass properties to a link."""
    element = etree.SubElement(link, "inertial")
    etree.SubElement(element, "origin", xyz=numbers(inertia.center), rpy="0 0 0")
    etree.SubElement(element, "mass", value=number(inertia.mass))
    m = inertia.matrix
    values = {
        "ixx": m[0, 0],
        "iyy": m[1, 1],
        "izz": m[2, 2],
        "ixy": m[0, 1],
        "ixz": m[0, 2],
        "iyz": m[1, 2],
    }
    etree.SubElement(element, "inertia", {key: number(value) for key, value in values.items()})


def add_shape(link: Any, shape: Geometry) -> None:
    """Add a shape to a link, to be seen or to be touched."""
    element = etree.SubElement(link, "collision" if shape.collision else "visual")
    add_origin(element, shape.T_body_geometry)
    geometry = etree.SubElement(element, "geometry")
    if shape.kind == "mesh":
        etree.SubElement(geometry, "mesh", filename=shape.uri or "", scale=numbers(shape.size))
    elif shape.kind == "box":
        etree.SubElement(geometry, "box", size=numbers(shape.size))
    else:
        names = ("radius", "length")[: len(shape.size)]
        values = {key: number(v) for key, v in zip(names, shape.size, strict=True)}
        etree.SubElement(geometry, shape.kind, values)
    if shape.color is not None:
        material = etree.SubElement(element, "material", name="")
        etree.SubElement(material, "color", rgba=numbers(shape.color))


def add_limit(element: Any, joint: Joint) -> bool:
    """Add bounds to a joint of one freedom; returns whether a bound is open.

    URDF wants all four bounds, and its own parser refuses inf: an open one becomes the largest
    number there is.
    """
    low, high = (-np.inf, np.inf) if joint.limits is None else joint.limits[0]
    bounds = {"lower": low, "upper": high, "effort": np.inf, "velocity": np.inf}
    attributes = {key: number(np.clip(v, -LARGEST, LARGEST)) for key, v in bounds.items()}
    etree.SubElement(element, "limit", attributes)
    return bool(np.isinf(low) or np.isinf(high))
