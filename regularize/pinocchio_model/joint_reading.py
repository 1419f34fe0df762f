"""What Pinocchio's joint models move: kinds, screws and coordinates of their parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.joint import joint_screws
from regularize.pinocchio_model.library import pin

AXES = dict(zip("XYZ", np.eye(3), strict=True))
#: Kinds of the joints that move about or along one axis, by the first letter of Pinocchio's names.
LETTERS = {"R": "revolute", "P": "prismatic", "H": "helical"}
AXIAL = re.compile(r"(?:RUB|[RPH]|Revolute(?:Unbounded)?|Prismatic|Helical)([XYZ]|Unaligned)")


@dataclass(frozen=True, eq=False, repr=False)
class JointPart:
    """A joint model, or one of those that make up a composite joint.

    Attributes:
        model: Pinocchio's joint model.
        placement: Where it starts, seen from the part before it, shape (4, 4).
        idx_q: Index of its first coordinate in q.
        idx_v: Index of its first velocity in v.
    """

    model: Any
    placement: Array
    idx_q: int
    idx_v: int

    @property
    def short(self) -> str:
        """Name of its type without what all names begin with."""
        return str(self.model.shortname()).removeprefix("JointModel")


def parts_of(joint: Any) -> list[JointPart]:
    """The joint itself, or the parts of a composite joint in the order in which they move."""
    return list(_parts(joint, np.eye(4), int(joint.idx_q), int(joint.idx_v)))


def _parts(joint: Any, placement: Array, idx_q: int, idx_v: int) -> Iterator[JointPart]:
    if joint.shortname() != "JointModelComposite":
        yield JointPart(joint, placement, idx_q, idx_v)
        return
    inner = joint.extract() if hasattr(joint, "extract") else joint
    for part, T in zip(inner.joints, inner.jointPlacements, strict=True):
        yield from _parts(part, placement @ T.homogeneous, idx_q, idx_v)
        placement, idx_q, idx_v = np.eye(4), idx_q + part.nq, idx_v + part.nv


def series_of(joint: Any) -> list[JointPart]:
    """The same motion by joints whose axes do not depend on their own coordinates.

    Pinocchio's derivatives are right for those only.
    """
    return [single for part in parts_of(joint) for single in _single(part)]


def _single(part: JointPart) -> list[JointPart]:
    """A part as hinges in series where it is made of such."""
    if part.short == "SphericalZYX":
        hinges = [pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX()]
    elif part.short == "Universal":
        inner = part.model.extract()
        hinges = [pin.JointModelRevoluteUnaligned(axis) for axis in (inner.axis1, inner.axis2)]
    else:
        return [part]
    places = [part.placement, *(np.eye(4) for _ in hinges[1:])]
    return [
        JointPart(hinge, T, part.idx_q + k, part.idx_v + k)
        for k, (hinge, T) in enumerate(zip(hinges, places, strict=True))
    ]


def axis_of(part: JointPart, letter: str, q: Array) -> Array:
    """The axis of a hinge or slide in its joint frame, shape (3,).

    Args:
        part: The joint.
        letter: ``X``, ``Y``, ``Z``, or another word for an axis of its own.
        q: A configuration of the model, shape (nq,).
    """
    joint = part.model
    inner = joint.extract() if hasattr(joint, "extract") else joint
    if letter in AXES:
        return AXES[letter]
    if hasattr(inner, "axis"):
        return np.array(inner.axis)
    data = joint.createData()  # Pinocchio does not show the axis of unbounded joints
    joint.calc(data, q)
    return np.ravel(data.S)[3:]


def movement(part: JointPart, name: str, q: Array) -> tuple[str, Array, Array]:
    """Kind, screws and coordinates of a part at a configuration of the model, shape (nq,).

    Raises:
        ModelError: There is no such kind of joint here.
    """
    short, joint = part.short, part.model
    whole, q = q, q[part.idx_q : part.idx_q + joint.nq]
    axial = AXIAL.fullmatch(short)
    if axial is not None:
        kind, inner = LETTERS[short[0]], joint.extract()
        axis = axis_of(part, axial[1], whole)
        pitch = float(inner.pitch) if kind == "helical" else 0.0
        position = np.array([angle_of(q)]) if joint.nq == 2 else q
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
        steps = [screw.prismatic(AXES["X"]), screw.prismatic(AXES["Y"]), screw.revolute(AXES["Z"])]
        return "planar", np.column_stack(steps), np.array([q[0], q[1], angle_of(q[2:])])
    raise ModelError(
        f"joint {name!r}: Pinocchio's joint model {short!r} has no counterpart here; replace it "
        "by a series of simpler joints"
    )


def angle_of(q: Array) -> float:
    """Angle from its cosine and sine."""
    return float(np.arctan2(q[1], q[0]))


@dataclass(frozen=True, eq=False, repr=False)
class MimicJoint:
    """A joint of the model that moves as another one does: value = scaling times its + offset.

    Attributes:
        primary: Index of the other joint.
        scaling: Factor; metres or radians per metre or radian.
        offset: Value where the other joint's is zero.
        screw: Its freedom in its own frame, shape (6,); None where it does not move.
    """

    primary: int
    scaling: float
    offset: float
    screw: Array | None


def mimic_of(model: Any, index: int) -> MimicJoint:
    """What a mimic joint of the model does.

    Pinocchio does not tell what kind of joint mimics; its motion does. It has one freedom: others
    are refused by Pinocchio itself.
    """
    inner = model.joints[index].extract()
    # Pinocchio's lists of joints that mimic and that are mimicked are not in the same order.
    driven = zip(range(model.njoints), model.idx_vs, model.nvs, strict=True)
    primary = next(i for i, first, count in driven if count and first == inner.idx_v)
    scaling, offset = float(inner.scaling), float(inner.offset)
    if scaling == 0.0:
        return MimicJoint(primary, scaling, offset, None)
    data, start, step = model.createData(), pin.neutral(model), np.zeros(model.nv)
    pin.forwardKinematics(model, data, start)
    before = data.liMi[index].copy()
    step[model.idx_vs[primary]] = 1.0 / scaling
    pin.forwardKinematics(model, data, pin.integrate(model, start, step))
    motion = pin.log6(before.actInv(data.liMi[index])).vector
    return MimicJoint(primary, scaling, offset, np.where(np.abs(motion) < 1e-14, 0.0, motion))
