"""Models that urdfpy, urchin or yourdfpy have read already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regularize.adapters.common.ground import connect
from regularize.adapters.common.names import listed
from regularize.adapters.urdf.joint import AXIAL, DEFAULT_AXIS, TYPES
from regularize.errors import ModelError
from regularize.lie.screw import IDENTITY, Array, unit
from regularize.model.diagnostic import Diagnostic
from regularize.model.joint import joint_screws
from regularize.model.mechanism import (
    Body,
    Coupling,
    Geometry,
    Inertia,
    Joint,
    Mechanism,
)

#: Attributes that hold the size of each shape, in the order of ``Geometry.size``.
SHAPES: Mapping[str, tuple[str, ...]] = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
}


def is_urdf_object(source: object) -> bool:
    """Whether an object looks like the ``URDF`` class of urdfpy, urchin or yourdfpy."""
    robot = getattr(source, "robot", source)
    return hasattr(robot, "links") and hasattr(robot, "joints") and hasattr(robot, "name")


def from_urdf_object(source: Any, *, floating: bool = False) -> Mechanism:
    """The mechanism of a parsed URDF model.

    A joint that leads into a link which has a parent already closes a loop. These parsers invent
    a mass of 1 kg and the identity as inertia for links that state none; this is recognised, and
    such links are without mass properties here.

    Args:
        source: A ``URDF`` object of urdfpy, urchin or yourdfpy.
        floating: Whether the ground link of the model moves freely in a new ground.

    Raises:
        ModelError: The object is none of these, or contradicts itself.
    """
    if not is_urdf_object(source):
        raise ModelError(
            f"cannot read a model from an object of type {type(source).__name__!r}; give a path, "
            "or the URDF object of urdfpy, urchin or yourdfpy"
        )
    robot = getattr(source, "robot", source)
    findings: list[Diagnostic] = []
    bodies = _bodies(robot, findings)
    motors = _motors(robot)
    joints = _joints(robot, motors, findings)
    children = {joint.child for joint in joints if not joint.closure}
    ground = next((body.name for body in bodies if body.name not in children), bodies[0].name)
    if floating:
        base = next(body for body in bodies if body.name == ground)
        ground = "world"
        bodies.insert(0, Body(ground))
        joints.insert(0, Joint("floating_base", ground, base.name, "free", np.eye(6)))
    added, notes = connect(bodies, joints, ground)
    return Mechanism(
        name=str(robot.name or "robot"),
        bodies=tuple(bodies),
        joints=(*joints, *added),
        couplings=tuple(_couplings(robot)),
        ground=ground,
        findings=(*findings, *notes),
        format="urdf",
    )


def _bodies(robot: Any, findings: list[Diagnostic]) -> list[Body]:
    bodies, invented = [], []
    for link in robot.links:
        inertia = _inertia(link.inertial)
        if inertia is not None and _is_invented(inertia):
            invented.append(str(link.name))
            inertia = None
        bodies.append(Body(str(link.name), inertia, _geometry(link)))
    if not bodies:
        raise ModelError("the model has no link")
    if invented:
        findings.append(
            Diagnostic(
                "REG014",
                "note",
                "a mass of 1 kg with the identity as inertia is what parsers put where a link "
                f"states nothing: {listed(invented)} read as without mass properties",
                help=("load the file itself if these values are meant",),
            )
        )
    return bodies


def _inertia(inertial: Any) -> Inertia | None:
    if inertial is None or inertial.mass is None or inertial.inertia is None:
        return None
    T = IDENTITY if inertial.origin is None else np.asarray(inertial.origin, dtype=np.float64)
    matrix = np.asarray(inertial.inertia, dtype=np.float64)
    return Inertia(float(inertial.mass), np.zeros(3), matrix).transformed(T)


def _is_invented(inertia: Inertia) -> bool:
    """Whether the values are those of the parsers' default, bit by bit."""
    return bool(
        inertia.mass == 1.0
        and np.array_equal(inertia.matrix, np.eye(3))
        and not np.any(inertia.center)
    )


def _geometry(link: Any) -> tuple[Geometry, ...]:
    shapes = []
    for collision, entries in ((False, link.visuals), (True, link.collisions)):
        for entry in entries or ():
            shape = _shape(entry, collision)
            if shape is not None:
                shapes.append(shape)
    return tuple(shapes)


def _shape(entry: Any, collision: bool) -> Geometry | None:
    if entry.geometry is None:
        return None
    T = IDENTITY if entry.origin is None else np.asarray(entry.origin, dtype=np.float64)
    for kind, attributes in SHAPES.items():
        shape = getattr(entry.geometry, kind, None)
        if shape is not None:
            size = np.concatenate([np.atleast_1d(getattr(shape, name)) for name in attributes])
            return Geometry(kind, size, T, collision=collision)
    mesh = getattr(entry.geometry, "mesh", None)
    if mesh is None:
        return None
    scale = np.ones(3) if mesh.scale is None else np.broadcast_to(mesh.scale, 3)
    return Geometry("mesh", scale, T, uri=str(mesh.filename), collision=collision)


def _motors(robot: Any) -> set[str]:
    """Joints that a transmission drives, where the parser has read transmissions."""
    return {
        str(joint.name)
        for transmission in getattr(robot, "transmissions", None) or ()
        for joint in getattr(transmission, "joints", ())
    }


def _joints(robot: Any, motors: set[str], findings: list[Diagnostic]) -> list[Joint]:
    joints: list[Joint] = []
    first: dict[str, str] = {}
    for entry in robot.joints:
        name, child = str(entry.name), str(entry.child)
        written = getattr(entry, "joint_type", None) or getattr(entry, "type", None)
        if written not in TYPES:
            raise ModelError(f"joint {name!r}: type {written!r} is not one of {sorted(TYPES)}")
        kind = TYPES[written]
        closure = child in first
        if closure:
            findings.append(
                Diagnostic(
                    "REG010",
                    "warning",
                    f"link `{child}` has two parent joints `{first[child]}` and `{name}`: plain "
                    f"URDF cannot express loops; read as a loop closed by `{name}`",
                    joints=(first[child], name),
                )
            )
        first.setdefault(child, name)
        axis = _axis(name, entry.axis) if kind in AXIAL else DEFAULT_AXIS
        joints.append(
            Joint(
                name,
                str(entry.parent),
                child,
                kind,
                joint_screws(kind, axis),
                IDENTITY if entry.origin is None else np.asarray(entry.origin, dtype=np.float64),
                actuated=True if name in motors else None,
                closure=closure,
                limits=_limits(entry, kind, str(written)),
            )
        )
    return joints


def _axis(name: str, axis: Any) -> Array:
    try:
        return unit(DEFAULT_AXIS if axis is None else axis)
    except ValueError as error:
        raise ModelError(f"joint {name!r}: {error}") from None


def _limits(entry: Any, kind: str, written: str) -> Array | None:
    limit = entry.limit
    if limit is None or kind not in ("revolute", "prismatic") or written == "continuous":
        return None
    if limit.lower is None and limit.upper is None:
        return None
    return np.array([[limit.lower or 0.0, limit.upper or 0.0]], dtype=np.float64)


def _couplings(robot: Any) -> list[Coupling]:
    couplings = []
    for entry in robot.joints:
        mimic = entry.mimic
        if mimic is None:
            continue
        multiplier = 1.0 if mimic.multiplier is None else float(mimic.multiplier)
        couplings.append(
            Coupling(
                str(entry.name),
                "mimic",
                ((str(entry.name), 0, 1.0), (str(mimic.joint), 0, -multiplier)),
                float(mimic.offset or 0.0),
            )
        )
    return couplings
