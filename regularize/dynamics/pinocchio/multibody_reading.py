"""Trees with their rows as the step computes with them, and what Pinocchio's joint models move."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.closure_rows import ConstraintRows
from regularize.dynamics.pinocchio.dense import DenseTree
from regularize.dynamics.pinocchio.spanning_tree import SpanningTree
from regularize.dynamics.step.multibody import Link, MultibodyTree
from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.body import Inertia
from regularize.mechanism.joint_kinds import joint_screws
from regularize.tolerances import ROUNDING

#: Kinds of links by Pinocchio's names.
GROUPS = {"Spherical": "spherical", "FreeFlyer": "free", "Planar": "planar"}


def multibody_tree_of(
    tree: SpanningTree, rows: ConstraintRows, rank: int, massive: bool
) -> tuple[MultibodyTree, list[int]]:
    """The multibody tree, and the link that carries the body of each joint of the model.

    Args:
        tree: The tree.
        rows: Its rows.
        rank: Number of independent rows.
        massive: Whether the mass matrix of the tree is regular.
    """
    multibody = MultibodyTree(
        nq=tree.nq,
        nv=tree.nv,
        links=tree.weighed(),
        loops=[
            replace(x, first=tree.link_of[x.first], second=tree.link_of[x.second])
            for x in rows.closures
        ],
        couplings=rows.coupling,
        targets=rows.targets,
        curves=rows.curves,
        armature=tree.armature,
        gravity=tree.gravity,
        rank=rank,
        massive=massive,
    )
    return multibody, tree.link_of


def mass_matrix(tree: SpanningTree, q: Array) -> Array:
    """Mass matrix of a tree at a configuration (nq,), shape (nv, nv)."""
    rows = ConstraintRows((), np.zeros((0, tree.nv)), np.zeros(0))
    return DenseTree(multibody_tree_of(tree, rows, 0, True)[0]).at(q).mass_matrix


def is_massive(tree: SpanningTree, q: Array) -> bool:
    """Whether the mass matrix of the tree is regular at a configuration, to 1e-11 of its scale."""
    M = mass_matrix(tree, q)
    scale = np.sqrt(np.abs(np.diag(M)))
    if np.any(scale == 0.0):
        return False
    s = np.abs(np.linalg.eigvalsh(M / np.outer(scale, scale)))
    return bool(np.all(s > 1e-11 * np.max(s, initial=0.0)))


def tree_of(model: Any) -> SpanningTree:
    """The tree of a Pinocchio model as it stands; its frames stay with the model."""
    armature = {"armature": np.array(model.armature)}
    tree = SpanningTree(model.name, np.array(model.gravity.linear), values=armature)
    tree.model = model
    for j in range(1, model.njoints):
        parent = int(model.parents[j])
        links = _links(model, j, tree.link_of[parent], len(tree.links))
        places = (
            (int(model.idx_qs[j]), int(model.nqs[j])),
            (int(model.idx_vs[j]), int(model.nvs[j])),
        )
        tree.append(parent, links, model.names[j], *places)
        mass = model.inertias[j]
        inertia = Inertia(mass.mass, np.array(mass.lever), np.array(mass.inertia))
        tree.bodies.append((j, inertia, np.eye(4)))
    return tree


def _links(model: Any, j: int, parent: int, count: int) -> list[Link]:
    """The links of a joint of the model, without what they carry.

    Raises:
        ModelError: There is no such kind of joint here.
    """
    placement = np.asarray(model.jointPlacements[j].homogeneous)
    if j in set(model.mimicking_joints):
        return [_following(model, j, parent, placement)]
    moves: list[tuple[str, Array, Array, float, int, int]] = []
    for part in series_of(model.joints[j]):
        short, inner = part.short, part.model
        axial = AXIAL.fullmatch(short)
        if axial is not None:
            own = inner.extract() if hasattr(inner, "extract") else inner
            axis = axis_of(part, axial[1], pin.neutral(model))
            kind = "prismatic" if short[0] == "P" else "continuous" if inner.nq == 2 else "revolute"
            pitch = _pitch(own, model.names[j]) if short[0] == "H" else 0.0
            moves.append((kind, part.placement, axis, pitch, part.idx_q, part.idx_v))
        elif short == "Translation":
            for k, axis in enumerate(np.eye(3)):
                T = part.placement if k == 0 else np.eye(4)
                moves.append(("prismatic", T, axis, 0.0, part.idx_q + k, part.idx_v + k))
        elif short in GROUPS:
            none = np.zeros(3)
            moves.append((GROUPS[short], part.placement, none, 0.0, part.idx_q, part.idx_v))
        else:
            raise ModelError(f"joint {model.names[j]!r}: a joint model {short!r} is not known here")
    result: list[Link] = []
    for k, (kind, T, axis, pitch, coordinate, rate) in enumerate(moves):
        before = parent if k == 0 else count + k
        place = placement @ T if k == 0 else T
        massless = np.zeros((6, 6))
        result.append(Link(before, kind, place, axis, pitch, coordinate, rate, massless))
    return result


def _following(model: Any, j: int, parent: int, placement: Array) -> Link:
    """The link of a mimic joint; where it rests, its offset belongs to its placement."""
    mimic, kind, axis, pitch = mimic_of(model, j), "revolute", np.eye(3)[2], 0.0
    offset = mimic.offset
    if mimic.screw is None:
        data = model.createData()
        pin.forwardKinematics(model, data, pin.neutral(model))
        placement, offset = np.asarray(data.liMi[j].homogeneous), 0.0
    else:
        axis, _, along = screw.axis_of(mimic.screw)
        kind, pitch = "prismatic" if along is None else "revolute", along or 0.0
    if kind == "revolute" and model.nqs[mimic.primary] == 2:
        kind = "continuous"
    first, rate = int(model.idx_qs[mimic.primary]), int(model.idx_vs[mimic.primary])
    massless = np.zeros((6, 6))
    return Link(
        parent, kind, placement, axis, pitch, first, rate, massless, mimic.scaling, offset, True
    )


AXES = dict(zip("XYZ", np.eye(3), strict=True))


#: Least and largest pitch of a screw in m/rad, which are far beyond those of machines.
SCREWS = (1e-9, 1e6)
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


def _pitch(joint: Any, name: str) -> float:
    """Advance of a screw joint per radian; Pinocchio leaves it to chance where none was given.

    Raises:
        ModelError: That is no length that a screw has.
    """
    pitch = float(joint.pitch)
    if pitch != 0.0 and not SCREWS[0] <= abs(pitch) <= SCREWS[1]:
        raise ModelError(
            f"joint {name!r} is a screw with the pitch {pitch:.3g} m/rad, as one has that was made "
            "without: JointModelHZ(pitch)"
        )
    return pitch


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
        pitch = _pitch(inner, name) if kind == "helical" else 0.0
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
    return MimicJoint(primary, scaling, offset, np.where(np.abs(motion) < ROUNDING, 0.0, motion))
