"""Reader of Simscape Multibody import XML, which plug-ins of CAD systems write.

A tree of instances with placements, joints and mates ("constraints") between them, and parts with
mass properties. Joints and mates of a sub-assembly hold at each of its instances. Z is the axis of
a joint. Rotations are written row by row. The root assembly is the ground. Joints of this format
are two frames and a name: it has no place for limits, damping, springs or motors.

Each side of a mate is a frame: the origin lies on the geometry, Z is the axis or the normal.
Distances, angles and tangencies hold as they are at the saved placements, so their values are
measured there. There too it shows whether a mate means a circle's axis or the plane that it is in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regularize.adapters.cad.draft import (
    DEEPEST,
    MISFIT,
    CadDraft,
    InstancePath,
    Occurrences,
    SubAssembly,
)
from regularize.adapters.common.draft import Side
from regularize.adapters.common.quantities import inertia_matrix
from regularize.adapters.common.xml import Node, parse
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, transform
from regularize.mechanism.body import Inertia
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.mechanism.mechanism import Mechanism

#: Pair of each joint element, in lower case.
JOINTS = {
    **{"weld": "fixed", "fixed": "fixed", "revolute": "revolute", "prismatic": "prismatic"},
    **{"cylindrical": "cylindrical", "spherical": "spherical", "universal": "universal"},
    **{"planar": "planar", "pinslot": "pin_slot", "cartesian": "no_rotation"},
    **{"bearing": "point_on_line", "sixdof": "free", "bushing": "free"},
    **{"constantvelocity": "constant_velocity", "distance": "sphere_sphere"},
}
#: Units of length in metres: symbols as most plug-ins write them, words as Onshape's exporter does.
LENGTHS = {
    **{"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "km": 1e3},
    **{"in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344},
    **{"meter": 1.0, "centimeter": 1e-2, "millimeter": 1e-3, "micrometer": 1e-6},
    **{"inch": 0.0254, "foot": 0.3048, "yard": 0.9144},
}
#: Units of mass in kilograms.
MASSES = {
    **{"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3},
    **{"lbm": 0.45359237, "lb": 0.45359237, "oz": 0.028349523125, "slug": 14.5939029372},
    **{"kilogram": 1.0, "gram": 1e-3, "pound": 0.45359237, "ounce": 0.028349523125},
}
#: Role of each type of geometry in a mate: as a point, as an axis or plane, or as a circle: both.
ROLES = {
    **dict.fromkeys(("point", "vertex", "sphere", "origin"), "point"),
    **dict.fromkeys(("line", "axis", "edge", "cylinder", "cone"), "axis"),
    **dict.fromkeys(("circle", "arc"), "circle"),
    **dict.fromkeys(("plane", "face"), "plane"),
}
RANKED = ("plane", "axis", "point")
#: Pair (a key of ``pairs.PAIRS``) of two geometries at a distance, by their roles as in RANKED.
AT_DISTANCE = {
    ("plane", "plane"): "planar",
    ("plane", "axis"): "line_in_plane",
    ("plane", "point"): "point_in_plane",
    ("axis", "axis"): "revolute_cylinder",
    ("axis", "point"): "cylinder_sphere",
    ("point", "point"): "sphere_sphere",
}
#: Cosine of the angle of two axes above which a circle beside a plane lies along it.
ALONG = 0.5
#: Mates that keep the distance of two geometries at its saved value.
MEASURED = frozenset({"distance", "tangent", "distancemate", "width", "symmetric"})
TOGETHER = frozenset({"coincident", "concentric", "coaxial", "insert", "oncoincident"})
ROUND = frozenset({"concentric", "coaxial"})  # they mean the axis of a circle


def read(path: str) -> Mechanism:
    """Read a Simscape Multibody import file."""
    return _Reader(parse(path, "SimscapeMultibodyImportXML")).read()


class _Reader:
    """Reads one file; holds its units, definitions and instances."""

    def __init__(self, root: Node) -> None:
        units = root.child("DataUnits") or root.need("ModelUnits")  # older exports have these alone
        self.length = LENGTHS[units.one_of(units.text("length"), LENGTHS, "unit")]
        self.mass = MASSES[units.one_of(units.text("mass"), MASSES, "unit")]
        self.assembly = root.need("RootAssembly")
        self.definitions = _by_uid(root.child("Assemblies"), "Assembly")
        self.parts = _by_uid(root.child("Parts"), "Part")
        self.draft = CadDraft(root.path, self.assembly.get("name") or "assembly")
        self.tree = Occurrences(self.draft)
        self.scopes = [SubAssembly((), self.assembly)]
        self.grounded: list[tuple[InstancePath, Node]] = []

    def read(self) -> Mechanism:
        """Return the mechanism of the root assembly."""
        for node in self.assembly.need("InstanceTree").children("Instance"):
            self._add_instance(node, self.scopes[0], np.eye(4))
        if not self.tree.bodies:
            raise self.assembly.error("has no instance of a part; there is nothing to check")
        for path, node in self.grounded:
            body = self.tree.body(path, node)
            self.draft.fix(f"grounded {body}", self.draft.ground, body, node.source)
        self.tree.fasten_groups(self.assembly)
        for scope in self.scopes:
            for group, add in (("Joints", self._add_joint), ("Constraints", self._add_mate)):
                elements = scope.definition.child(group)
                for node in [] if elements is None else elements.children():
                    add(scope, node)
        self.tree.report_unread("joints or mates")
        return self.draft.finish("simscape")

    def _add_instance(self, node: Node, above: SubAssembly[Node], T_above: Array) -> None:
        """Add an instance, and those in it, of the sub-assembly that is placed at ``T_above``."""
        uid, entity = node.text("uid"), node.text("entityUid")
        name = node.get("name") or uid
        scope = above.inner(uid, name, self.definitions.get(entity, node))
        path = scope.path
        if len(path) > DEEPEST:
            raise node.error(f"is nested deeper than {DEEPEST} levels; not read for safety")
        if path in self.tree.placed:
            raise node.error("two instances at this place have the same uid; give each its own")
        self.tree.placed[path] = T = T_above @ self._transform(node)
        if node.get("grounded") == "true":
            self.grounded.append((path, node))
        if group := node.get("rigidGroup"):
            self.tree.rigid.setdefault((*above.path, "group", group), []).append(path)
        if node.get("rigid") == "true":
            self.tree.rigid[path] = []
        inner = node.children("Instance")
        for child in inner:
            self._add_instance(child, scope, T)
        if entity in self.parts:
            inertia = self._inertia(self.parts[entity])
            self.tree.bodies[path] = self.draft.place(above.title + name, T, inertia, node.source)
        elif entity in self.definitions:
            self.scopes.append(scope)
        elif not inner:
            raise node.error(f"there is no part or assembly with the uid `{entity}`")

    def _transform(self, node: Node) -> Array:
        """Return the frame (4, 4) of a ``<Transform>``; the identity without one."""
        element = node.child("Transform")
        if element is None:
            return np.eye(4)
        rotation, translation = element.need("Rotation"), element.need("Translation")
        R = rotation.rotation(rotation.numbers(None, 9).reshape(3, 3))
        return transform(R, self.length * translation.numbers(None, 3))

    def _inertia(self, part: Node) -> Inertia | None:
        """Return mass properties of a part in SI units; None where it has no mass."""
        node = part.child("MassProperties")
        if node is None:
            return None
        mass = self.mass * node.need("Mass").number(None)
        if mass <= 0.0:
            return None
        center = self.length * node.need("CenterOfMass").numbers(None, 3)
        scale = self.mass * self.length**2
        xx, yy, zz, yz, zx, xy = scale * node.need("Inertia").numbers(None, 6)
        return Inertia(mass, center, inertia_matrix(xx, yy, zz, xy, zx, yz))

    def _side(self, scope: SubAssembly[Node], node: Node, T: Array) -> Side:
        """Return the body of an instance path, and a frame T of the instance on that body."""
        uids = tuple(uid.text() for uid in node.need("InstancePath").children("Uid"))
        return self.tree.side(scope.path + uids, T, node, "a joint")

    def _add_joint(self, scope: SubAssembly[Node], node: Node) -> None:
        """Add the joint of an element between its base and follower frames."""
        kind = node.tag.rsplit(":", 1)[-1].lower().removesuffix("joint")
        name = node.get("name") or node.tag
        if kind not in JOINTS:
            self.tree.unread.append((name, node))
            return
        first, second = (
            self._side(scope, end, self._transform(end))
            for end in (node.need("BaseFrame"), node.need("FollowerFrame"))
        )
        value = 0.0
        if JOINTS[kind] == "sphere_sphere":
            value = float(np.linalg.norm(self.draft.between(first, second)[:3, 3]))
        name = scope.title + name
        self.draft.join(name, JOINTS[kind], first, second, value, source=node.source)

    def _add_mate(self, scope: SubAssembly[Node], node: Node) -> None:
        """Add the pair that a mate between two geometries is, or note it as not read."""
        geometries = node.children("ConstraintGeometry")
        kind, name = node.tag.rsplit(":", 1)[-1].lower(), node.get("name") or node.tag
        roles = [ROLES.get((g.get("geomType") or "").lower()) for g in geometries]
        pair = None
        if len(geometries) == 2 and None not in roles:
            ends = [self._side(scope, g, self._geometry_frame(g)) for g in geometries]
            pair = mate(kind, str(roles[0]), str(roles[1]), self.draft.between(*ends))
        if pair is None:
            self.tree.unread.append((name, node))
            return
        first, second = ends[::-1] if pair.turned else ends
        if pair.pair == "fixed":  # of these frames the X axis is no part of the geometry
            second = second[0], self.draft.between((second[0], np.eye(4)), first)
        self.draft.join(
            scope.title + name, pair.pair, first, second, pair.value, mate=True, source=node.source
        )

    def _geometry_frame(self, node: Node) -> Array:
        """Return the frame (4, 4) of a geometry: its point is the origin, its axis or normal Z."""
        position = self.length * node.need("Position").numbers(None, 3)
        axis = node.child("Axis")
        if axis is None:
            return transform(None, position)
        z = axis.direction(axis.numbers(None, 3))
        return transform(np.column_stack([*perpendiculars(z), z]), position)


def _by_uid(node: Node | None, tag: str) -> dict[str, Node]:
    """Return the children of a node with a tag by their unique identifiers."""
    return {} if node is None else {entry.text("uid"): entry for entry in node.children(tag)}


@dataclass(frozen=True)
class Mate:
    """The pair that a mate of two geometries amounts to."""

    pair: str  # a key of ``pairs.PAIRS``
    value: float  # offset or distance in metres, or angle in radians
    turned: bool  # whether the second geometry is frame I of the pair


def mate(kind: str, first: str, second: str, T_first_second: Array) -> Mate | None:
    """Return the pair of a mate between geometries of two roles; None for an unknown mate."""
    if first == second == "circle" and kind in TOGETHER - ROUND:
        gap = float(np.linalg.norm(T_first_second[:3, 3]))
        if gap <= MISFIT[0] and math.hypot(*T_first_second[:2, 2]) <= MISFIT[1]:
            return Mate("revolute", 0.0, False)
    lies = kind not in ROUND and "plane" in (first, second) and abs(T_first_second[2, 2]) > ALONG
    circle = "plane" if lies else "axis"
    first, second = (circle if role == "circle" else role for role in (first, second))
    turned = RANKED.index(first) > RANKED.index(second)
    roles = (second, first) if turned else (first, second)
    T = inverse(T_first_second) if turned else T_first_second
    if kind in ("lock", "fixed", "weld"):
        return Mate("fixed", 0.0, turned)
    if kind in TOGETHER:
        return Mate(AT_DISTANCE[roles], 0.0, turned)
    if kind in MEASURED:
        return Mate(AT_DISTANCE[roles], _distance(roles, T), turned)
    if "point" in roles:
        return None
    # A plane is parallel to an axis that its normal is perpendicular to.
    mixed = roles == ("plane", "axis")
    if kind == "parallel":
        return Mate("perpendicular" if mixed else "parallel", 0.0, turned)
    if kind == "perpendicular":
        return Mate("parallel" if mixed else "perpendicular", 0.0, turned)
    if kind == "angle":
        return Mate("angle", math.acos(float(np.clip(T[2, 2], -1.0, 1.0))), turned)
    return None


def _distance(roles: tuple[str, str], T: Array) -> float:
    """Return the distance between two geometries at the saved placements, in metres."""
    if roles[0] == "plane":
        return float(T[2, 3])
    if roles[0] == "axis":
        return math.hypot(*T[:2, 3])
    return float(np.linalg.norm(T[:3, 3]))
