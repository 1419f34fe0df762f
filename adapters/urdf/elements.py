"""Elements of URDF that its writer makes: origins, mass properties, shapes and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.adapters.common.inertia import NAMES, six
from regularize.adapters.common.shapes import capsule_parts
from regularize.adapters.common.write import add, rpy, sizes
from regularize.lie.screw import Array
from regularize.model.mechanism import Actuator, Geometry, Inertia, Joint, JointLimits

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
    """Add a shape to a link, to be seen or to be touched; a capsule as a cylinder and two balls."""
    if shape.kind == "capsule":
        for part in capsule_parts(shape):
            add_shape(link, part)
        return
    element = add(link, "collision" if shape.collision else "visual")
    add_origin(element, shape.T_body_geometry)
    geometry = add(element, "geometry")
    if shape.kind == "mesh":
        add(geometry, "mesh", filename=shape.uri or "", scale=shape.size)
    else:
        add(geometry, shape.kind, **sizes(shape))
    if shape.color is not None:
        add(add(element, "material", name=""), "color", rgba=shape.color)


def add_limit(element: Any, joint: Joint) -> None:
    """Add the bounds of a joint of one freedom, if it has any.

    URDF wants effort and velocity along with lower and upper, and its own parser refuses inf: an
    open bound becomes the largest number there is.
    """
    limits = joint.limits or JointLimits.of([-np.inf, np.inf])
    bounds: dict[str, Any] = {}
    if limits.lower is not None:
        bounds = {"lower": limits.lower, "upper": limits.upper}
    if element.get("type") == "continuous":
        if limits.effort is None and limits.velocity is None:
            return
        bounds = {}
    for what in ("effort", "velocity"):
        stated = getattr(limits, what)
        bounds[what] = [np.inf] if stated is None else stated
    add(element, "limit", **{k: np.clip(v[0], -LARGEST, LARGEST) for k, v in bounds.items()})


def add_dynamics(element: Any, joint: Joint) -> None:
    """Add damping and friction of a joint of one freedom, if it has any."""
    stated = {key: joint.dynamics.stated().get(key) for key in ("damping", "friction")}
    given = {key: value[0] for key, value in stated.items() if value is not None}
    if given:
        add(element, "dynamics", **given)


def add_transmission(root: Any, actuator: Actuator, joint: str) -> None:
    """Add the motor of a joint."""
    element = add(root, "transmission", name=f"{actuator.name}_transmission")
    add(element, "type", "transmission_interface/SimpleTransmission")
    kind = {"position": "Position", "velocity": "Velocity"}.get(actuator.kind, "Effort")
    interface = f"hardware_interface/{kind}JointInterface"
    add(add(element, "joint", name=joint), "hardwareInterface", interface)
    motor = add(element, "actuator", name=actuator.name)
    add(motor, "hardwareInterface", interface)
    add(motor, "mechanicalReduction", actuator.gear)
