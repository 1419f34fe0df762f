"""Models that urdfpy, urchin or yourdfpy have read already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.names import listed
from regularize.adapters.urdf.draft import mark_closures
from regularize.adapters.urdf.joint import AXIAL, DEFAULT_AXIS, TYPES
from regularize.adapters.urdf.motors import commanded
from regularize.errors import ModelError
from regularize.lie.screw import IDENTITY, Array, unit
from regularize.model.joint import joint_screws
from regularize.model.mechanism import (
    Actuator,
    Body,
    Geometry,
    Inertia,
    Joint,
    JointDynamics,
    JointLimits,
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
    draft = Draft(None, str(robot.name or "robot"))
    _add_bodies(robot, draft)
    _add_joints(robot, draft)
    _add_couplings(robot, draft)
    mark_closures(draft)
    children = {joint.child for joint in draft.joints.values() if not joint.closure}
    names = [*draft.bodies]
    draft.ground = next((name for name in names if name not in children), names[0])
    if floating:
        draft.let_float()
    draft.ground_parts()
    draft.actuators += _motors(robot).values()
    return draft.mechanism("urdf")


def _add_bodies(robot: Any, draft: Draft) -> None:
    invented = []
    for link in robot.links:
        name, inertia = str(link.name), _inertia(link.inertial)
        if inertia is not None and _is_invented(inertia):
            invented.append(name)
            inertia = None
        if name in draft.bodies:
            raise ModelError(f"two body entries are named {name!r}")
        draft.bodies[name] = Body(name, inertia, _geometry(link))
    if not draft.bodies:
        raise ModelError("the model has no link")
    if invented:
        draft.note(
            "REG014",
            "a mass of 1 kg with the identity as inertia is what parsers put where a link "
            f"states nothing: {listed(invented)} read as without mass properties",
            None,
            "load the file itself if these values are meant",
        )


def _inertia(inertial: Any) -> Inertia | None:
    if inertial is None or inertial.mass is None or inertial.inertia is None:
        return None
    matrix = np.asarray(inertial.inertia, dtype=np.float64)
    inertia = Inertia(float(inertial.mass), np.zeros(3), matrix)
    return inertia.transformed(_frame(inertial.origin))


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
    T = _frame(entry.origin)
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


def _motors(robot: Any) -> dict[str, Actuator]:
    """Motors by the joints that transmissions drive, where the parser has read transmissions."""
    motors: dict[str, Actuator] = {}
    for transmission in getattr(robot, "transmissions", None) or ():
        actuators = getattr(transmission, "actuators", None) or ()
        for k, joint in enumerate(getattr(transmission, "joints", ())):
            actuator, name = actuators[k] if k < len(actuators) else None, str(joint.name)
            interfaces = " ".join(map(str, getattr(joint, "hardwareInterfaces", ()))).lower()
            motors[name] = Actuator(
                str(getattr(actuator, "name", name)),
                name,
                kind=commanded(interfaces),
                gear=float(getattr(actuator, "mechanicalReduction", None) or 1.0),
            )
    return motors


def _add_joints(robot: Any, draft: Draft) -> None:
    motors = _motors(robot)
    for entry in robot.joints:
        name, child = str(entry.name), str(entry.child)
        written = getattr(entry, "joint_type", None) or getattr(entry, "type", None)
        if written not in TYPES:
            raise ModelError(f"joint {name!r}: type {written!r} is not one of {sorted(TYPES)}")
        if name in draft.joints:
            raise ModelError(f"two joint entries are named {name!r}")
        kind = TYPES[written]
        axis = _axis(name, entry.axis) if kind in AXIAL else DEFAULT_AXIS
        draft.joints[name] = Joint(
            name,
            str(entry.parent),
            child,
            kind,
            joint_screws(kind, axis),
            _frame(entry.origin),
            actuated=True if name in motors else None,
            limits=_limits(entry, kind, str(written)),
            dynamics=_dynamics(entry, kind),
        )


def _frame(origin: Any) -> Array:
    return IDENTITY if origin is None else np.asarray(origin, dtype=np.float64)


def _axis(name: str, axis: Any) -> Array:
    try:
        return unit(DEFAULT_AXIS if axis is None else axis)
    except ValueError as error:
        raise ModelError(f"joint {name!r}: {error}") from None


def _limits(entry: Any, kind: str, written: str) -> JointLimits | None:
    limit = entry.limit
    if limit is None or kind not in ("revolute", "prismatic"):
        return None
    rated = {key: getattr(limit, key, None) for key in ("velocity", "effort")}
    if written == "continuous":
        return JointLimits.of([-np.inf, np.inf], **rated)
    if limit.lower is not None or limit.upper is not None:
        return JointLimits.of([limit.lower or 0.0, limit.upper or 0.0], **rated)
    given = {key: np.array(value) for key, value in rated.items() if value is not None}
    return JointLimits(None, None, **given) if given else None


def _dynamics(entry: Any, kind: str) -> JointDynamics:
    dynamics = getattr(entry, "dynamics", None)
    if dynamics is None or kind not in ("revolute", "prismatic"):
        return JointDynamics()
    given = {key: getattr(dynamics, key) for key in ("damping", "friction")}
    return JointDynamics(**{key: np.array(v) for key, v in given.items() if v is not None})


def _add_couplings(robot: Any, draft: Draft) -> None:
    for entry in robot.joints:
        mimic = entry.mimic
        if mimic is None:
            continue
        name, multiplier = str(entry.name), mimic.multiplier
        factor = 1.0 if multiplier is None else float(multiplier)
        terms = ((name, 0, 1.0), (str(mimic.joint), 0, -factor))
        draft.couple(name, "mimic", terms, float(mimic.offset or 0.0), None)
