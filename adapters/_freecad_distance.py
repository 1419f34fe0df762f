"""What a FreeCAD joint of type Distance fixes.

It depends on the picked elements: vertices, edges, faces, and on the curves and surfaces that they
are, which only the shapes tell. Here the saved placements tell: of the possible readings the first
one that they fulfil is taken. Radii of cylinders and spheres add to the distance, so where a
reading involves one the distance is measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.screw import Array, inverse

#: How exactly a reading has to be fulfilled, in radians and metres.
ANGLE = 1e-4
LENGTH = 1e-6
RANK = {"Face": 0, "Edge": 1, "Vertex": 2}


@dataclass(frozen=True)
class Reading:
    """A reading of a distance joint.

    Attributes:
        pair: A key of ``_cad_pairs.PAIRS``.
        value: Offset or distance in metres.
        words: What the elements are taken for.
        sure: Whether the kinds of elements leave no other reading.
        turned: Whether the second element has the part of the first one.
    """

    pair: str
    value: float
    words: str
    sure: bool = False
    turned: bool = False


def kind_of(element: str) -> str:
    """``Vertex``, ``Edge`` or ``Face``; objects picked as a whole count as faces."""
    letters = element.rstrip("0123456789")
    return letters if letters in RANK else "Face"


def swapped(first: str, second: str) -> bool:
    """Whether the ends have to change places: faces come first, then edges, then vertices."""
    return RANK[kind_of(first)] > RANK[kind_of(second)]


def distance_pair(elements: Sequence[str], T_i_j: Array, distance: float) -> Reading:
    """The reading of a distance joint that the saved placements fulfil.

    Args:
        elements: The picked elements, in the order that ``swapped`` asks for.
        T_i_j: The frame on the second one seen from that on the first, Z normal or axis.
        distance: The distance in metres; below zero it lies on the other side of a plane.
    """
    kinds = tuple(map(kind_of, elements))
    if kinds == ("Vertex", "Vertex"):
        return Reading("sphere_sphere", abs(distance), "two points", sure=True)
    offset = float(T_i_j[2, 3])
    apart = math.hypot(*T_i_j[:2, 3])
    parallel = math.hypot(*T_i_j[:2, 2]) < ANGLE
    across = abs(float(T_i_j[2, 2])) < ANGLE
    exact = abs(abs(offset) - abs(distance)) < LENGTH
    signed = math.copysign(distance, offset) if exact else distance
    if kinds == ("Face", "Face"):
        if parallel and exact:
            return Reading("planar", signed, "two planes")
        return _curved(T_i_j, distance, offset, apart, parallel, across)
    if kinds == ("Face", "Edge"):
        if parallel and exact:
            return Reading("planar", signed, "a plane and a curve in a parallel plane")
        return Reading("line_in_plane", signed, "a plane and a line")
    if kinds == ("Face", "Vertex"):
        if not exact and apart >= distance - LENGTH:
            return Reading("cylinder_sphere", apart, "a cylinder and a point")
        return Reading("point_in_plane", signed, "a plane and a point")
    if kinds == ("Edge", "Vertex"):
        if exact and abs(apart - distance) >= LENGTH:
            return Reading("point_in_plane", signed, "a point in the plane of a curve")
        return Reading("cylinder_sphere", distance, "a line and a point")
    if parallel and apart >= distance - LENGTH:
        return Reading("revolute_cylinder", apart, "two lines or circles")
    return Reading("revolute_cylinder", distance, "two lines")


def _curved(
    T_i_j: Array, distance: float, offset: float, apart: float, parallel: bool, across: bool
) -> Reading:
    """Two faces that are not two planes at their distance."""
    if across and abs(offset) >= distance - LENGTH:
        return Reading("line_in_plane", offset, "a plane and a cylinder")
    back = float(inverse(T_i_j)[2, 3])
    if across and abs(back) >= distance - LENGTH:
        return Reading("line_in_plane", back, "a cylinder and a plane", turned=True)
    if parallel and apart >= distance - LENGTH and apart > LENGTH:
        return Reading("revolute_cylinder", apart, "two cylinders")
    if parallel:
        return Reading("planar", distance, "two planes")
    if np.linalg.norm(T_i_j[:3, 3]) >= distance - LENGTH and abs(offset) < distance - LENGTH:
        return Reading("sphere_sphere", float(np.linalg.norm(T_i_j[:3, 3])), "two spheres")
    return Reading("planar", distance, "two planes")
