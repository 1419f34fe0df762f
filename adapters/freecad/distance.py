"""What a FreeCAD joint of type Distance fixes.

It depends on the picked elements: vertices, edges, faces, and on the curves and surfaces that they
are. The shapes tell that; radii of circles, cylinders and spheres add to the distance. Where a
shape is not stored as text, the saved placements tell: of the possible readings the first one that
they fulfil is taken, and distances that involve a radius are measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.adapters.shapes.solids import ShapeElement
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse

#: How exactly a reading has to be fulfilled, in radians and metres.
ANGLE = 1e-4
LENGTH = 1e-6
RANK = {"Face": 0, "Edge": 1, "Vertex": 2}
#: Kinds of elements in the order in which FreeCAD puts the two of a joint.
ORDER = (
    *("plane", "cylinder", "cone", "torus", "sphere", "surface"),
    *("line", "circle", "curve", "point"),
)
#: Pair of two elements by their kinds; any other two are read as planes.
PAIRS = {
    ("plane", "cylinder"): "line_in_plane",
    ("plane", "sphere"): "point_in_plane",
    ("plane", "line"): "line_in_plane",
    ("plane", "point"): "point_in_plane",
    ("cylinder", "cylinder"): "revolute_cylinder",
    ("cylinder", "torus"): "revolute_cylinder",
    ("cylinder", "sphere"): "cylinder_sphere",
    ("cylinder", "point"): "cylinder_sphere",
    ("torus", "sphere"): "cylinder_sphere",
    ("sphere", "sphere"): "sphere_sphere",
    ("sphere", "point"): "sphere_sphere",
    ("line", "line"): "revolute_cylinder",
    ("line", "circle"): "revolute_cylinder",
    ("circle", "circle"): "revolute_cylinder",
    ("line", "point"): "cylinder_sphere",
    ("circle", "point"): "point_in_plane",
    ("curve", "point"): "point_in_plane",
    ("point", "point"): "sphere_sphere",
}
#: Pairs whose value is an offset along Z, with a sign.
OFFSETS = frozenset({"planar", "line_in_plane", "point_in_plane"})


@dataclass(frozen=True)
class DistanceReading:
    """A reading of a distance joint."""

    pair: str  # a key of ``pairs.PAIRS``
    value: float  # offset or distance in metres
    words: str  # what the elements are taken for
    sure: bool = False  # whether the kinds of elements leave no other reading
    turned: bool = False  # whether the second element has the part of the first one


@dataclass(frozen=True)
class Pick:
    """One end of a distance joint."""

    name: str  # the picked element, such as ``Face6``; empty for an object as a whole
    element: ShapeElement | None = None  # what it is; None if the shape is not there to tell

    @property
    def rank(self) -> int | None:
        """Faces come first, then edges, then vertices; None for objects as a whole."""
        return RANK.get(self.name.rstrip("0123456789"))

    @property
    def kind(self) -> str | None:
        """One of ``ORDER``, if the shape is there to tell."""
        if self.element is None or self.element.kind != "other":
            return None if self.element is None else self.element.kind
        return "curve" if self.rank == RANK["Edge"] else "surface"

    @property
    def radius(self) -> float:
        """In metres; zero for elements without one."""
        return 0.0 if self.element is None else self.element.radius


def distance_reading(one: Pick, two: Pick, T_one_two: Array, distance: float) -> DistanceReading:
    """What a distance joint fixes, as FreeCAD decides it."""
    if one.rank is None or two.rank is None:  # what FreeCAD does not tell apart it takes as planes
        return DistanceReading("planar", _signed(distance, T_one_two), "two planes", sure=True)
    known = one.kind is not None and two.kind is not None
    if known:
        turned = ORDER.index(str(one.kind)) > ORDER.index(str(two.kind))
    else:
        turned = one.rank > two.rank
    if turned:
        one, two, T_one_two = two, one, inverse(T_one_two)
    if known:
        found = _known(one, two, T_one_two, distance)
    else:
        found = distance_pair((one.name, two.name), T_one_two, distance)
    return replace(found, turned=found.turned != turned)


def _known(one: Pick, two: Pick, T_i_j: Array, distance: float) -> DistanceReading:
    """The reading between elements of known shape, in order."""
    kinds = str(one.kind), str(two.kind)
    pair = PAIRS.get(kinds, "planar")
    flat = pair == "planar" or kinds == ("circle", "point")
    value = distance if flat else distance + one.radius + two.radius
    value = _signed(value, T_i_j) if pair in OFFSETS else abs(value)
    return DistanceReading(pair, value, " and ".join(kinds), sure=True)


def _signed(value: float, T_i_j: Array) -> float:
    """An offset along Z on the side on which the placements have it, if that is its size."""
    offset = float(T_i_j[2, 3])
    return math.copysign(value, offset) if abs(abs(offset) - abs(value)) < LENGTH else value


def distance_pair(elements: Sequence[str], T_i_j: Array, distance: float) -> DistanceReading:
    """The reading that the saved placements fulfil, of ends such as ``Face6``, faces first."""
    kinds = tuple(name.rstrip("0123456789") for name in elements)
    if kinds == ("Vertex", "Vertex"):
        return DistanceReading("sphere_sphere", abs(distance), "two points", sure=True)
    offset = float(T_i_j[2, 3])
    apart = math.hypot(*T_i_j[:2, 3])
    parallel = math.hypot(*T_i_j[:2, 2]) < ANGLE
    across = abs(float(T_i_j[2, 2])) < ANGLE
    exact = abs(abs(offset) - abs(distance)) < LENGTH
    signed = _signed(distance, T_i_j)
    if kinds == ("Face", "Face"):
        if parallel and exact:
            return DistanceReading("planar", signed, "two planes")
        return _curved(T_i_j, distance, offset, apart, parallel, across)
    if kinds == ("Face", "Edge"):
        if parallel and exact:
            return DistanceReading("planar", signed, "a plane and a curve in a parallel plane")
        return DistanceReading("line_in_plane", signed, "a plane and a line")
    if kinds == ("Face", "Vertex"):
        if not exact and apart >= distance - LENGTH:
            return DistanceReading("cylinder_sphere", apart, "a cylinder and a point")
        return DistanceReading("point_in_plane", signed, "a plane and a point")
    if kinds == ("Edge", "Vertex"):
        if exact and abs(apart - distance) >= LENGTH:
            return DistanceReading("point_in_plane", signed, "a point in the plane of a curve")
        return DistanceReading("cylinder_sphere", distance, "a line and a point")
    if parallel and apart >= distance - LENGTH:
        return DistanceReading("revolute_cylinder", apart, "two lines or circles")
    return DistanceReading("revolute_cylinder", distance, "two lines")


def _curved(
    T_i_j: Array, distance: float, offset: float, apart: float, parallel: bool, across: bool
) -> DistanceReading:
    """Two faces that are not two planes at their distance."""
    if across and abs(offset) >= distance - LENGTH:
        return DistanceReading("line_in_plane", offset, "a plane and a cylinder")
    back = float(inverse(T_i_j)[2, 3])
    if across and abs(back) >= distance - LENGTH:
        return DistanceReading("line_in_plane", back, "a cylinder and a plane", turned=True)
    if parallel and apart >= distance - LENGTH and apart > LENGTH:
        return DistanceReading("revolute_cylinder", apart, "two cylinders")
    if parallel:
        return DistanceReading("planar", distance, "two planes")
    if np.linalg.norm(T_i_j[:3, 3]) >= distance - LENGTH and abs(offset) < distance - LENGTH:
        return DistanceReading("sphere_sphere", float(np.linalg.norm(T_i_j[:3, 3])), "two spheres")
    return DistanceReading("planar", distance, "two planes")
