"""Mechanisms from Pinocchio models and their constraint models."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.screw import IDENTITY, Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.joint import joint_screws
from regularize.model.mechanism import (
    Body,
    Inertia,
    Joint,
    JointDynamics,
    JointLimits,
    Mechanism,
)
from regularize.pinocchio_model.joint_values import HELD

GROUND = "universe"
AXES = dict(zip("XYZ", np.eye(3), strict=True))
#: Kinds of the joints that move about or along one axis, by the first letter of Pinocchio's names.
LETTERS = {"R": "revolute", "P": "prismatic", "H": "helical"}
AXIAL = re.compile(r"(?:RUB|[RPH]|Revolute(?:Unbounded)?|Prismatic|Helical)([XYZ]|Unaligned)")
#: Rows of the constraint models that are read, and the joint that stands for each.
CLOSURES = {3: "spherical", 6: "fixed"}


def from_pinocchio(
    model: Any, constraint_models: Iterable[Any] = (), q: Array | None = None
) -> Mechanism:
    """The mechanism of a Pinocchio model with its loops.

    Every joint of the model becomes a joint with a body behind it; a constraint model becomes a
    weld (six rows) or a ball joint (three rows) that closes a loop.

    Args:
        model: A ``pinocchio.Model``.
        constraint_models: ``RigidConstraintModel``, ``PointAnchorConstraintModel`` and
            ``FrameAnchorConstraintModel`` entries, or ``ConstraintModel`` around the latter.
        q: Configuration to start from, shape (nq,); by default the neutral one.

    Raises:
        ModelError: A joint or a constraint is of a type that has no counterpart.
    """
    q = pin.neutral(model) if q is None else np.array(q, dtype=np.float64)
    if q.shape != (model.nq,):
        raise ModelError(f"q has shape {q.shape}, but the model needs ({model.nq},)")
    names = _body_names(model)
    bodies = [Body(names[0])]
    joints = []
    for i in range(1, model.njoints):
        bodies.append(Body(names[i], _inertia(model.inertias[i])))
        joints.append(_joint(model, i, names, q))
    joints += [
        _closure(model, constraint, k, names) for k, constraint in enumerate(constraint_models)
    ]
    findings = []
    if getattr(model, "mimicking_joints", None) is not None and len(model.mimicking_joints):
        findings.append(
            Diagnostic(
                "REG013",
                "warning",
                "mimic joints of the Pinocchio model are read as joints of their own, without "
                "the coupling",
            )
        )
    return Mechanism(
        name=str(model.name) or "pinocchio",
        bodies=tuple(bodies),
        joints=tuple(_unique(joints)),
        ground=names[0],
        gravity=np.array(model.gravity.linear),
        findings=tuple(findings),
        format="pinocchio",
    )


def _body_names(model: Any) -> list[str]:
    """Name of the body behind each joint: its first body frame's, or the joint's own."""
    names = [GROUND, *(f"{name} link" for name in list(model.names)[1:])]
    seen: set[int] = set()
    for frame in model.frames:
        joint = int(frame.parentJoint)
        if frame.type == pin.FrameType.BODY and joint > 0 and joint not in seen:
            seen.add(joint)
            names[joint] = str(frame.name)
    taken: set[str] = set()
    for i, name in enumerate(names):
        names[i] = name if name not in taken else f"{name} {i}"
        taken.add(names[i])
    return names


def _unique(joints: Iterable[Joint]) -> list[Joint]:
    taken: set[str] = set()
    result = []
    for joint in joints:
        name, k = joint.name, 2
        while name in taken:
            name, k = f"{joint.name} {k}", k + 1
        taken.add(name)
        result.append(replace(joint, name=name))
    return result


def _inertia(inertia: Any) -> Inertia | None:
    """Mass properties; a body without any states none."""
    if inertia.mass == 0.0 and not np.any(inertia.inertia):
        return None
    return Inertia(float(inertia.mass), np.array(inertia.lever), np.array(inertia.inertia))


def _joint(model: Any, index: int, names: list[str], q: Array) -> Joint:
    joint = model.joints[index]
    name = str(model.names[index])
    mine = q[joint.idx_q : joint.idx_q + joint.nq]
    T_child = IDENTITY
    if joint.shortname() == "JointModelComposite":
        kind, screws, position, T_child = _composite(joint, name, mine)
    else:
        kind, screws, position = _motion(joint, name, mine)
    return Joint(
        name,
        names[int(model.parents[index])],
        names[index],
        kind,
        screws,
        model.jointPlacements[index].homogeneous,
        T_child,
        position=position,
        limits=_limits(model, joint),
        dynamics=_dynamics(model, joint),
    )


def _motion(joint: Any, name: str, q: Array) -> tuple[str, Array, Array]:
    """Kind, screws and coordinates of a joint model."""
    short = joint.shortname().removeprefix("JointModel")
    axial = AXIAL.fullmatch(short)
    if axial is not None:
        kind, inner = LETTERS[short[0]], joint.extract()
        axis = AXES[axial[1]] if axial[1] in AXES else np.array(inner.axis)
        pitch = float(inner.pitch) if kind == "helical" else 0.0
        position = np.array([_angle(q)]) if joint.nq == 2 else q
        return kind, joint_screws(kind, axis, pitch=pitch), position
    if short == "Spherical":
        return "spherical", joint_screws("spherical"), pin.log3(pin.Quaternion(q).matrix())
    if short == "FreeFlyer":
        return "free", joint_screws("free"), screw.log(pin.XYZQUATToSE3(q).homogeneous)
    if short == "Translation":
        return "composite", np.eye(6)[:, :3], q
    if short == "SphericalZYX":
        return "composite", np.column_stack([screw.revolute(AXES[axis]) for axis in "ZYX"]), q
    if short == "Universal":
        inner = joint.extract()
        return "universal", joint_screws("universal", inner.axis1, inner.axis2), q
    if short == "Planar":
        position = np.array([q[0], q[1], _angle(q[2:])])
        columns = [
            screw.prismatic(AXES["X"]),
            screw.prismatic(AXES["Y"]),
            screw.revolute(AXES["Z"]),
        ]
        return "planar", np.column_stack(columns), position
    raise ModelError(
        f"joint {name!r}: Pinocchio's joint model {short!r} has no counterpart here; replace it "
        "by a series of simpler joints"
    )


def _angle(q: Array) -> float:
    """Angle from its cosine and sine."""
    return float(np.arctan2(q[1], q[0]))


def _composite(joint: Any, name: str, q: Array) -> tuple[str, Array, Array, Array]:
    """A series of joints as one joint: kind, screws, coordinates, and its frame on the child."""
    inner = joint.extract()
    T, columns, start, coordinates = IDENTITY, [], 0, []
    for part, placement in zip(inner.joints, inner.jointPlacements, strict=True):
        short = part.shortname()
        if short in ("JointModelSpherical", "JointModelFreeFlyer", "JointModelComposite"):
            raise ModelError(
                f"joint {name!r}: a composite joint with a part {short!r} has no counterpart here; "
                "write it as a series of joints"
            )
        _, screws, position = _motion(part, name, q[start : start + part.nq])
        start += part.nq
        T = T @ placement.homogeneous
        columns.append(screw.adjoint(T) @ screws)
        coordinates.append(position)
    # What the placements of the parts amount to lies behind the motion of all of them.
    return "composite", np.hstack(columns), np.concatenate(coordinates), screw.inverse(T)


def _limits(model: Any, joint: Any) -> JointLimits | None:
    """Bounds of a joint, None where there are none; those of quaternions and cosines are none."""
    q, v = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
    lower, upper = np.full((2, joint.nv), [[-np.inf], [np.inf]])
    if joint.nq == joint.nv:
        lower, upper = _open(model.lowerPositionLimit[q]), _open(model.upperPositionLimit[q])
    rated = {"velocity": _open(model.velocityLimit[v]), "effort": _open(model.effortLimit[v])}
    rated = {key: bounds for key, bounds in rated.items() if np.any(np.isfinite(bounds))}
    limits = JointLimits(lower, upper, **rated)
    return limits if limits.bounded or rated else None


def _open(bounds: Array) -> Array:
    """Bounds with infinity for the largest numbers there are, by which Pinocchio means none."""
    largest = np.finfo(np.float64).max
    return np.where(np.abs(bounds) >= largest, np.sign(bounds) * np.inf, bounds)


def _dynamics(model: Any, joint: Any) -> JointDynamics:
    """Damping, friction and rotor inertia where they are not zero."""
    v = slice(joint.idx_v, joint.idx_v + joint.nv)
    values = {key: np.array(getattr(model, key)[v]) for key in HELD}
    return JointDynamics(**{key: each for key, each in values.items() if np.any(each)})


def _closure(model: Any, constraint: Any, number: int, names: list[str]) -> Joint:
    extract = getattr(constraint, "extract", None)
    inner = constraint if extract is None else extract()
    name = str(getattr(constraint, "name", "")) or str(getattr(inner, "name", ""))
    if not hasattr(inner, "joint1_placement"):
        raise ModelError(
            f"constraint {name or number!r}: {type(inner).__name__} closes no loop; pass rigid, "
            "point anchor and frame anchor constraints"
        )
    rows = _rows(inner)
    kind = CLOSURES[rows]
    return Joint(
        name or f"closure {number}",
        names[int(inner.joint1_id)],
        names[int(inner.joint2_id)],
        kind,
        joint_screws(kind),
        inner.joint1_placement.homogeneous,
        inner.joint2_placement.homogeneous,
        closure=True,
    )


def _rows(constraint: Any) -> int:
    """Three for a point, six for a frame."""
    contact = getattr(constraint, "type", None)
    if contact is not None:
        return 3 if contact == pin.ContactType.CONTACT_3D else 6
    return 3 if "Point" in type(constraint).__name__ else 6
