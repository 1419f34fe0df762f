"""Elements of MJCF that its writer makes: places, sites, shapes and linear relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.write import number, numbers, quaternion
from regularize.lie.screw import Array
from regularize.model.mechanism import Geometry


def place(element: Any, T: Array) -> None:
    """Place a body or a site, by attributes where there is something to say."""
    attributes: dict[str, str] = {}
    place_attributes(attributes, T)
    element.attrib.update(attributes)


def place_attributes(attributes: dict[str, str], T: Array) -> None:
    """Add position and quaternion to attributes, where there is something to say."""
    if np.any(T[:3, 3]):
        attributes["pos"] = numbers(T[:3, 3])
    if not np.array_equal(T[:3, :3], np.eye(3)):
        x, y, z, w = quaternion(T[:3, :3])
        attributes["quat"] = numbers([w, x, y, z])


def add_site(element: Any, name: str, T: Array) -> None:
    """Add a site to a body."""
    site = etree.SubElement(element, "site", name=name)
    place(site, T)


def add_geom(element: Any, shape: Geometry, mesh: str | None) -> None:
    """Add a shape to a body; ``mesh`` is the name of its asset if it is one."""
    attributes = {"type": shape.kind, "mass": "0"}
    place_attributes(attributes, shape.T_body_geometry)
    if mesh is not None:
        attributes["mesh"] = mesh
    else:
        size = shape.size / 2 if shape.kind == "box" else shape.size.copy()
        if shape.kind in ("cylinder", "capsule"):
            size[1] /= 2
        attributes["size"] = numbers(size)
    if shape.color is not None:
        attributes["rgba"] = numbers(shape.color)
    if not shape.collision:
        attributes.update(contype="0", conaffinity="0")
    etree.SubElement(element, "geom", attributes)


def add_row(
    root: Any, group: Any, name: str, terms: Sequence[tuple[str, float]], offset: float
) -> None:
    """One linear relation: between two joints directly, else by a fixed tendon."""
    if len(terms) <= 2 and terms[0][1] != 0.0:
        (first, a), rest = terms[0], terms[1:]
        attributes = {"name": name, "joint1": first}
        slope = 0.0
        if rest:
            attributes["joint2"] = rest[0][0]
            slope = -rest[0][1] / a
        attributes["polycoef"] = numbers([offset / a, slope, 0, 0, 0])
        etree.SubElement(group, "joint", attributes)
        return
    tendons = root.find("tendon")
    tendons = etree.SubElement(root, "tendon") if tendons is None else tendons
    fixed = etree.SubElement(tendons, "fixed", name=name)
    for joint, coefficient in terms:
        etree.SubElement(fixed, "joint", joint=joint, coef=number(coefficient))
    etree.SubElement(
        group, "tendon", name=name, tendon1=name, polycoef=numbers([offset, 0, 0, 0, 0])
    )
