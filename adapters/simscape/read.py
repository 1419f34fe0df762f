"""Simscape Multibody import XML, which plug-ins of CAD systems write.

A tree of instances with placements, joints and mates ("constraints") between them, and parts with
mass properties. Joints and mates of a sub-assembly hold at each of its instances. Z is the axis of
a joint. Rotations are written row by row. The root assembly is the ground.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.adapters.cad.constraints import ROLES, mate
from regularize.adapters.cad.draft import CadDraft
from regularize.adapters.common.names import listed
from regularize.adapters.common.xml import Node, parse
from regularize.lie.screw import (
    Array,
    inverse,
    transform,
    unit,
)
from regularize.model.mechanism import Inertia, Mechanism

ROOT = "SimscapeMultibodyImportXML"
#: Pair of each joint element, in lower case.
JOINTS = {
    "weld": "fixed",
    "fixed": "fixed",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "cylindrical": "cylindrical",
    "spherical": "spherical",
    "universal": "universal",
    "planar": "planar",
    "pinslot": "pin_slot",
    "cartesian": "no_rotation",
    "bearing": "point_on_line",
    "sixdof": "free",
    "bushing": "free",
    "constantvelocity": "constant_velocity",
    "distance": "sphere_sphere",
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
#: Deepest nesting of instances.
DEEPEST = 64

Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Scope:
    """An assembly at one of its places.

    Attributes:
        path: Uids of the instances that lead to it; empty for the root.
        node: Its element.
        title: Names of those instances, each with a slash, to tell what is in it from its likes.
    """

    path: Path
    node: Node
    title: str = ""


def read(path: str) -> Mechanism:
    """Read a Simscape Multibody import file.

    Args:
        path: The file.

    Raises:
        ReadError: The file is not such XML, or a joint names no instance.
    """
    root = parse(path)
    if root.tag != ROOT:
        raise root.error(f"the root element is <{root.tag}>, expected <{ROOT}>")
    return _Reader(root).read()


class _Reader:
    """Reads one file; holds what its parts share."""

    def __init__(self, root: Node) -> None:
        self.root = root
        units = root.need("DataUnits")
        self.length = _unit(units, "length", LENGTHS)
        self.mass = _unit(units, "mass", MASSES)
        self.assembly = root.need("RootAssembly")
        self.definitions = _by_uid(root.child("Assemblies"), "Assembly")
        self.parts = _by_uid(root.child("Parts"), "Part")
        self.draft = CadDraft(root.path, self.assembly.get("name") or "assembly")
        self.body: dict[Path, str] = {}
        self.placed: dict[Path, Array] = {(): np.eye(4)}
        self.rigid: dict[Path, list[Path]] = {}
        self.scopes = [Scope((), self.assembly)]
        self.grounded: list[tuple[Path, Node]] = []
        self.unread: list[Node] = []

    def read(self) -> Mechanism:
        """The mechanism."""
        for node in self.assembly.need("InstanceTree").children("Instance"):
            self._add_instance(node, Scope((), self.assembly), np.eye(4))
        if not self.body:
            raise self.assembly.error("has no instance of a part; there is nothing to check")
        for path, node in self.grounded:
            body = self._leaf(path, node)
            self.draft.add_ground(f"grounded {body}", body, node.source)
        self._fasten_groups()
        for scope in self.scopes:
            joints, constraints = scope.node.child("Joints"), scope.node.child("Constraints")
            for node in [] if joints is None else joints.children():
                self._add_joint(scope, node)
            for node in [] if constraints is None else constraints.children():
                self._add_mate(scope, node)
        if self.unread:
            shown = listed([node.get("name") or node.tag for node in self.unread])
            self.draft.note(
                "REG013",
                "warning",
                f"joints or mates not read: {shown}: the mechanism has fewer constraints than "
                "the file",
                self.unread[0].source,
            )
        return self.draft.finish("simscape")

    def _add_instance(self, node: Node, above: Scope, T_above: Array) -> None:
        path = (*above.path, node.text("uid"))
        if len(path) > DEEPEST:
            raise node.error(f"is nested deeper than {DEEPEST} levels; not read for safety")
        if path in self.placed:
            raise node.error("two instances at this place have the same uid; give each its own")
        self.placed[path] = T = T_above @ self._transform(node)
        if node.get("grounded") == "true":
            self.grounded.append((path, node))
        group = node.get("rigidGroup")
        if group:
            self.rigid.setdefault((*above.path, "group", group), []).append(path)
        if node.get("rigid") == "true":
            self.rigid[path] = []
        entity = node.text("entityUid")
        inner = node.children("Instance")
        name = above.title + (node.get("name") or path[-1])
        scope = Scope(path, self.definitions.get(entity, node), f"{name}/")
        for child in inner:
            self._add_instance(child, scope, T)
        if entity in self.parts:
            inertia = self._inertia(self.parts[entity])
            self.body[path] = self.draft.add_body(name, T, inertia, node.source)
        elif entity in self.definitions:
            self.scopes.append(scope)
        elif not inner:
            raise node.error(f"there is no part or assembly with the uid `{entity}`")

    def _transform(self, node: Node) -> Array:
        """The frame that a ``<Transform>`` gives; the identity without one."""
        found = node.child("Transform")
        if found is None:
            return np.eye(4)
        rotation, translation = found.need("Rotation"), found.need("Translation")
        R = rotation.numbers(None, 9).reshape(3, 3)
        u, s, vt = np.linalg.svd(R)
        if np.max(np.abs(s - 1.0)) > 1e-3 or np.linalg.det(R) < 0.0:
            raise rotation.error("is no rotation: its rows are not perpendicular unit vectors")
        return transform(u @ vt, self.length * translation.numbers(None, 3))

    def _inertia(self, part: Node) -> Inertia | None:
        """Mass properties of a part; None where it has none, or no mass."""
        node = part.child("MassProperties")
        if node is None:
            return None
        mass = self.mass * node.need("Mass").number(None)
        if mass <= 0.0:
            return None
        center = self.length * node.need("CenterOfMass").numbers(None, 3)
        scale = self.mass * self.length**2
        xx, yy, zz, yz, zx, xy = scale * node.need("Inertia").numbers(None, 6)
        return Inertia(mass, center, np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]))

    def _leaf(self, path: Path, node: Node) -> str:
        """Body of an instance: the part itself, or the first part of a sub-assembly."""
        if not path:
            return self.draft.ground
        leaves = [p for p in self.body if p[: len(path)] == path]
        if not leaves:
            raise node.error(f"there is no instance `{'/'.join(path)}`; export the model again")
        return self.body[leaves[0]]

    def _fasten_groups(self) -> None:
        """Fix the parts of rigid sub-assemblies, and the members of rigid groups, to each other."""
        for key, members in self.rigid.items():
            paths = members or [p for p in self.body if p[: len(key)] == key]
            bodies = list(dict.fromkeys(self._leaf(path, self.assembly) for path in paths))
            for other in bodies[1:]:
                first = self.draft.T_ground_body[bodies[0]]
                T = inverse(first) @ self.draft.T_ground_body[other]
                name = f"rigid {key[-1]}"
                source = self.assembly.source
                self.draft.add_joint(name, "fixed", bodies[0], T, other, np.eye(4), source=source)

    def _on_body(self, scope: Scope, node: Node, T: Array) -> tuple[str, Array]:
        """Body that an instance path names, and a frame given in the instance, on that body."""
        uids = tuple(uid.text() for uid in node.need("InstancePath").children("Uid"))
        path = scope.path + uids
        if path not in self.placed:
            raise node.error(f"there is no instance `{'/'.join(path)}`; export the model again")
        body = self._leaf(path, node)
        rigid = any(path[: len(key)] == key for key in self.rigid)
        if path and path not in self.body and not rigid:
            self.draft.note_whole("a joint", body.rpartition("/")[0], body, node.source)
        return body, inverse(self.draft.T_ground_body[body]) @ self.placed[path] @ T

    def _add_joint(self, scope: Scope, node: Node) -> None:
        kind = node.tag.rsplit(":", 1)[-1].lower().removesuffix("joint")
        if kind not in JOINTS:
            self.unread.append(node)
            return
        ends = [node.need("BaseFrame"), node.need("FollowerFrame")]
        (body_i, T_i), (body_j, T_j) = (
            self._on_body(scope, end, self._transform(end)) for end in ends
        )
        value = 0.0
        if JOINTS[kind] == "sphere_sphere":
            value = float(np.linalg.norm(self._between(body_i, T_i, body_j, T_j)[:3, 3]))
        self.draft.add_joint(
            scope.title + (node.get("name") or node.tag),
            JOINTS[kind],
            body_i,
            T_i,
            body_j,
            T_j,
            value,
            source=node.source,
        )

    def _between(self, body_i: str, T_i: Array, body_j: str, T_j: Array) -> Array:
        placed = self.draft.T_ground_body
        return inverse(placed[body_i] @ T_i) @ placed[body_j] @ T_j

    def _add_mate(self, scope: Scope, node: Node) -> None:
        geometries = node.children("ConstraintGeometry")
        kind = node.tag.rsplit(":", 1)[-1].lower()
        roles = [ROLES.get((g.get("geomType") or "").lower()) for g in geometries]
        if len(geometries) != 2 or None in roles:
            self.unread.append(node)
            return
        ends = [self._on_body(scope, g, self._geometry_frame(g)) for g in geometries]
        first, second = (str(role) for role in roles)
        found = mate(kind, first, second, self._between(*ends[0], *ends[1]))
        if found is None:
            self.unread.append(node)
            return
        (body_i, T_i), (body_j, T_j) = ends[::-1] if found.turned else ends
        self.draft.add_joint(
            scope.title + (node.get("name") or node.tag),
            found.pair,
            body_i,
            T_i,
            body_j,
            T_j,
            found.value,
            mate=True,
            source=node.source,
        )

    def _geometry_frame(self, node: Node) -> Array:
        """Frame of a geometry: its point as the origin, its axis or normal as Z."""
        position = self.length * node.need("Position").numbers(None, 3)
        axis = node.child("Axis")
        if axis is None:
            return transform(None, position)
        try:
            z = unit(axis.numbers(None, 3))
        except ValueError:
            raise axis.error("the axis has no length; give a direction such as 0 0 1") from None
        helper = np.eye(3)[int(np.argmin(np.abs(z)))]
        x = unit(np.cross(helper, z))
        return transform(np.column_stack([x, np.cross(z, x), z]), position)


def _unit(node: Node, attribute: str, known: dict[str, float]) -> float:
    written = node.text(attribute)
    if written not in known:
        raise node.error(f"unit {written!r} is unknown; known are {', '.join(known)}")
    return known[written]


def _by_uid(node: Node | None, tag: str) -> dict[str, Node]:
    return {} if node is None else {entry.text("uid"): entry for entry in node.children(tag)}
