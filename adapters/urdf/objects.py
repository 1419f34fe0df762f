"""Models that urdfpy, urchin or yourdfpy have read already: written as URDF again, and read."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.edits import EditedText, Patch, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.adapters.common.quantities import NAMES, six
from regularize.adapters.common.write import add
from regularize.adapters.common.xml import XmlDocument
from regularize.adapters.objects import placed
from regularize.adapters.urdf.read import read_root
from regularize.adapters.urdf.write import add_origin
from regularize.errors import ModelError, ReadError
from regularize.escape import FileText, listed
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism

#: Attributes that hold the size of each shape.
SHAPES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}

#: What joints of an object can become.
HELD = {"revolute": ("cylindrical", "spherical"), "prismatic": ("cylindrical",)}


def from_urdf_object(source: Any, *, floating: bool = False) -> Mechanism:
    """Read a ``URDF`` object; mass properties that such parsers invent are left out."""
    robot = getattr(source, "robot", source)
    root = etree.Element("robot", name=str(robot.name or "robot"))
    for link in robot.links:
        _add_link(root, link)
    for joint in robot.joints:
        _add_joint(root, joint)
    for transmission in getattr(robot, "transmissions", None) or ():
        _add_transmission(root, transmission)
    invented = [str(link.name) for link in robot.links if _is_invented(link.inertial)]
    text = EditedText("the model", etree.tostring(root, encoding="unicode"), "utf-8")
    try:
        model = read_root(XmlDocument(text).root, "", format="urdf", floating=floating, loops=False)
    except ReadError as error:
        raise ModelError(f"{error.element}: {error.reason}") from None
    if invented:
        words = "a mass of 1 kg with the identity as inertia is what parsers put where a link "
        words += f"states nothing: {listed(invented)} read as without mass properties"
        help = ("load the file itself if these values are meant",)
        note = Diagnostic("REG014", "note", words, help=help)
        model = replace(model, findings=(note, *model.findings))
    label = f"<URDF {robot.name or 'robot'}>"

    def inside(at: Source | None) -> Source | None:
        return at and Source(label, None, FileText((at.element or "").removeprefix("robot/")))

    return placed(model, inside)


class ObjectPatcher(Patcher):
    """Makes a changed copy of a yourdfpy object; other parsers' objects are refused."""

    def __init__(self, mechanism: Mechanism, source: Any) -> None:
        super().__init__(mechanism)
        self._source = source
        kept = all(hasattr(joint, "type") for joint in getattr(source, "robot", source).joints)
        self._kinds = HELD if kept else {}

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return freer joints about the same axis."""
        return self._kinds.get(joint.kind, ())

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Raise ``ModelError``, since a parser's object has no file to edit."""
        raise ModelError("the object of a parser stands in no file that could be edited")

    def changed(self, wanted: Sequence[WantedKind]) -> Any:
        """Return a changed copy; raises ``ModelError`` for a kind that a joint cannot take."""
        made = copy.deepcopy(self._source)
        joints = {str(joint.name): joint for joint in getattr(made, "robot", made).joints}
        for change in wanted:
            still = np.allclose(change.replacement.T_child_joint, np.eye(4))
            if change.kind not in (held := self.kinds(change.joint)) or not still:
                raise self.refuse(change, held)
            joint = joints[change.joint.name]
            joint.type, joint.limit, joint.dynamics = change.kind, None, None
            joint.origin = np.array(change.replacement.T_parent_joint)
        return made


def _is_invented(inertial: Any) -> bool:
    """Return whether mass properties are bit by bit the parsers' default."""
    if inertial is None or inertial.mass is None or inertial.inertia is None:
        return False
    moved = inertial.origin is not None and np.any(np.asarray(inertial.origin)[:3, 3])
    return bool(inertial.mass == 1.0 and np.array_equal(inertial.inertia, np.eye(3)) and not moved)


def _add_link(root: Any, link: Any) -> None:
    element, inertial = add(root, "link", name=str(link.name)), link.inertial
    stated = inertial is not None and inertial.mass is not None and inertial.inertia is not None
    if stated and not _is_invented(inertial):
        inside = add(element, "inertial")
        add_origin(inside, inertial.origin)
        add(inside, "mass", value=float(inertial.mass))
        moments = six(np.asarray(inertial.inertia, dtype=np.float64))
        add(inside, "inertia", **dict(zip(NAMES, moments, strict=True)))
    for tag, entries in (("visual", link.visuals), ("collision", link.collisions)):
        for entry in entries or ():
            _add_shape(add(element, tag), entry)


def _add_shape(element: Any, entry: Any) -> None:
    if entry.geometry is None:
        return
    add_origin(element, entry.origin)
    geometry = add(element, "geometry")
    for kind, attributes in SHAPES.items():
        shape = getattr(entry.geometry, kind, None)
        if shape is not None:
            add(geometry, kind, **{name: getattr(shape, name) for name in attributes})
            return
    mesh = getattr(entry.geometry, "mesh", None)
    if mesh is not None:
        scale = np.ones(3) if mesh.scale is None else np.broadcast_to(mesh.scale, 3)
        add(geometry, "mesh", filename=str(mesh.filename), scale=scale)


def _add_joint(root: Any, joint: Any) -> None:
    written = getattr(joint, "joint_type", None) or getattr(joint, "type", None)
    element = add(root, "joint", name=str(joint.name), type=str(written))
    add_origin(element, joint.origin)
    add(element, "parent", link=str(joint.parent))
    add(element, "child", link=str(joint.child))
    if joint.axis is not None:
        add(element, "axis", xyz=joint.axis)
    for tag, attributes in (
        ("limit", ("lower", "upper", "velocity", "effort")),
        ("dynamics", ("damping", "friction")),
    ):
        stated = getattr(joint, tag, None)
        if stated is not None:
            add(element, tag, **{name: getattr(stated, name, None) for name in attributes})
    if getattr(joint, "safety_controller", None) is not None:
        add(element, "safety_controller")
    if joint.mimic is not None:
        stated = {name: getattr(joint.mimic, name) for name in ("multiplier", "offset")}
        add(element, "mimic", joint=str(joint.mimic.joint), **stated)


def _add_transmission(root: Any, transmission: Any) -> None:
    """Add a ``<transmission>``: joints with interfaces, and the actuators."""
    element = add(root, "transmission", name=str(getattr(transmission, "name", "")))
    for joint in getattr(transmission, "joints", ()):
        driven = add(element, "joint", name=str(joint.name))
        for interface in getattr(joint, "hardwareInterfaces", None) or ():
            add(driven, "hardwareInterface", str(interface))
    for actuator in getattr(transmission, "actuators", None) or ():
        motor = add(element, "actuator", name=str(actuator.name))
        reduction = getattr(actuator, "mechanicalReduction", None)
        if reduction:
            add(motor, "mechanicalReduction", float(reduction))
