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
from regularize.dynamics.pinocchio.spanning_tree import Motion, SpanningTree
from regularize.dynamics.step.multibody import Link, MultibodyTree
from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array, Configuration, Direction, Screw, Transform
from regularize.mechanism.body import Inertia
from regularize.mechanism.joint_kinds import joint_screws
from regularize.tolerances import ROUNDING

#: Kinds of links by Pinocchio's names.
GROUPS = {"Spherical": "spherical", "FreeFlyer": "free", "Planar": "planar"}


def multibody_tree_of(
    tree: SpanningTree, rows: ConstraintRows, rank: int, massive: bool
) -> tuple[MultibodyTree, list[int]]:
    """Return the multibody tree, and the link that carries the body of each joint of the model."""
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


def is_massive(tree: SpanningTree, q: Configuration) -> bool:
    """Whether the mass matrix of the tree is regular at a configuration, to 1e-11 of its scale."""
    rows = ConstraintRows((), np.zeros((0, tree.nv)), np.zeros(0))
    M = DenseTree(multibody_tree_of(tree, rows, 0, True)[0]).at(q).mass_matrix
    scale = np.sqrt(np.abs(np.diag(M)))
    if np.any(scale == 0.0):
        return False
    s = np.abs(np.linalg.eigvalsh(M / np.outer(scale, scale)))
    return bool(np.all(s > 1e-11 * np.max(s, initial=0.0)))


def tree_of(model: Any) -> SpanningTree:
    """Return the tree of a Pinocchio model as it stands; its frames stay with the model."""
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
    """Return the links of a joint of the model, without the inertia that they carry."""
    placement = np.asarray(model.jointPlacements[j].homogeneous)
    if j in set(model.mimicking_joints):
        return [_following(model, j, parent, placement)]
    motions: list[tuple[Motion, int, int]] = []
    for part in series_of(model.joints[j]):
        axial = axial_motion(part, model.names[j], pin.neutral(model))
        q, v = part.idx_q, part.idx_v
        if axial is not None:
            kind, axis, pitch = axial
            if kind != "prismatic":
                kind = "continuous" if part.model.nq == 2 else "revolute"
            motions.append(((kind, part.placement, axis, pitch), q, v))
        elif part.short == "Translation":
            for k, axis in enumerate(np.eye(3)):
                T = part.placement if k == 0 else np.eye(4)
                motions.append((("prismatic", T, axis, 0.0), q + k, v + k))
        elif part.short in GROUPS:
            motions.append(((GROUPS[part.short], part.placement, np.zeros(3), 0.0), q, v))
        else:
            raise ModelError(
                f"joint {model.names[j]!r}: a joint model {part.short!r} is not known here"
            )
    links: list[Link] = []
    for k, ((kind, T, axis, pitch), q, v) in enumerate(motions):
        before, place = (count + k, T) if k else (parent, placement @ T)
        links.append(Link(before, kind, place, axis, pitch, q, v, np.zeros((6, 6))))
    return links


def _following(model: Any, j: int, parent: int, placement: Array) -> Link:
    """Return the link of a mimic joint; where it rests, its offset belongs to its placement."""
    mimic, kind, axis, pitch = mimic_of(model, j), "revolute", np.eye(3)[2], 0.0
    offset = mimic.offset
    if mimic.screw is None:
        placement, offset = mimic.rest, 0.0
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
    """A joint model, or one of those that make up a composite joint."""

    model: Any
    placement: Transform  #: where it starts, seen from the part before it
    idx_q: int
    idx_v: int

    @property
    def short(self) -> str:
        """Name of the joint's type without the prefix ``JointModel``."""
        return str(self.model.shortname()).removeprefix("JointModel")

    @property
    def inner(self) -> Any:
        """The joint model of its particular type."""
        return self.model.extract() if hasattr(self.model, "extract") else self.model


def parts_of(joint: Any) -> list[JointPart]:
    """Return the joint itself, or the parts of a composite joint in the order of their motion."""
    return list(_parts(joint, np.eye(4), int(joint.idx_q), int(joint.idx_v)))


def _parts(joint: Any, placement: Array, idx_q: int, idx_v: int) -> Iterator[JointPart]:
    """Yield the single joints of a composite joint with their placements and indices."""
    if joint.shortname() != "JointModelComposite":
        yield JointPart(joint, placement, idx_q, idx_v)
        return
    inner = JointPart(joint, placement, idx_q, idx_v).inner
    for part, T in zip(inner.joints, inner.jointPlacements, strict=True):
        yield from _parts(part, placement @ T.homogeneous, idx_q, idx_v)
        placement, idx_q, idx_v = np.eye(4), idx_q + part.nq, idx_v + part.nv


def series_of(joint: Any) -> list[JointPart]:
    """Return a joint as a series of joints whose axes do not depend on their own coordinates."""
    return [single for part in parts_of(joint) for single in _single(part)]


def _single(part: JointPart) -> list[JointPart]:
    """Return a universal or Euler-angle joint as hinges in series, any other part unchanged."""
    if part.short == "SphericalZYX":
        hinges = [pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX()]
    elif part.short == "Universal":
        inner = part.inner
        hinges = [pin.JointModelRevoluteUnaligned(axis) for axis in (inner.axis1, inner.axis2)]
    else:
        return [part]
    places = [part.placement, *(np.eye(4) for _ in hinges[1:])]
    return [
        JointPart(hinge, T, part.idx_q + k, part.idx_v + k)
        for k, (hinge, T) in enumerate(zip(hinges, places, strict=True))
    ]


def axial_motion(
    part: JointPart, name: str, q: Configuration
) -> tuple[str, Direction, float] | None:
    """Return kind, axis and pitch of a hinge, slide or screw, None for others."""
    axial = AXIAL.fullmatch(part.short)
    if axial is None:
        return None
    kind, letter, pitch = LETTERS[part.short[0]], axial[1], 0.0
    if letter in AXES:
        axis = AXES[letter]
    elif hasattr(part.inner, "axis"):
        axis = np.array(part.inner.axis)
    else:  # Pinocchio does not show the axis of unbounded joints
        data = part.model.createData()
        part.model.calc(data, q)
        axis = np.ravel(data.S)[3:]
    if kind == "helical":
        pitch = float(part.inner.pitch)
        if pitch != 0.0 and not SCREWS[0] <= abs(pitch) <= SCREWS[1]:
            raise ModelError(
                f"joint {name!r} is a screw with the pitch {pitch:.3g} m/rad, as one has that was "
                "made without: JointModelHZ(pitch)"
            )
    return kind, axis, pitch


def movement(part: JointPart, name: str, q: Array) -> tuple[str, Array, Array]:
    """Return kind, screws and coordinates of a joint at a configuration of the model."""
    short, joint = part.short, part.model
    whole, q = q, q[part.idx_q : part.idx_q + joint.nq]
    axial = axial_motion(part, name, whole)
    if axial is not None:
        kind, axis, pitch = axial
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
        return "universal", joint_screws("universal", part.inner.axis1, part.inner.axis2), q
    if short == "Planar":
        steps = [screw.prismatic(AXES["X"]), screw.prismatic(AXES["Y"]), screw.revolute(AXES["Z"])]
        return "planar", np.column_stack(steps), np.array([q[0], q[1], angle_of(q[2:])])
    raise ModelError(
        f"joint {name!r}: Pinocchio's joint model {short!r} has no counterpart here; replace it "
        "by a series of simpler joints"
    )


def angle_of(q: Array) -> float:
    """Return the angle of a cosine and a sine."""
    return float(np.arctan2(q[1], q[0]))


@dataclass(frozen=True, eq=False, repr=False)
class MimicJoint:
    """A joint of the model that follows another one: value = scaling times its value + offset."""

    primary: int
    scaling: float
    offset: float
    screw: Screw | None  #: its freedom in its own frame, None where it does not move
    rest: Transform  #: where it is while the model is at zero, seen from its parent


def mimic_of(model: Any, index: int) -> MimicJoint:
    """Return primary joint, factors and screw of a mimic joint, found from its motion."""
    inner = model.joints[index].extract()
    # Pinocchio's lists of joints that mimic and that are mimicked are not in the same order.
    driven = zip(range(model.njoints), model.idx_vs, model.nvs, strict=True)
    primary = next(i for i, first, count in driven if count and first == inner.idx_v)
    scaling, offset = float(inner.scaling), float(inner.offset)
    data, start, step = model.createData(), pin.neutral(model), np.zeros(model.nv)
    pin.forwardKinematics(model, data, start)
    before = data.liMi[index].copy()
    rest = np.asarray(before.homogeneous)
    if scaling == 0.0:
        return MimicJoint(primary, scaling, offset, None, rest)
    step[model.idx_vs[primary]] = 1.0 / scaling
    pin.forwardKinematics(model, data, pin.integrate(model, start, step))
    motion = pin.log6(before.actInv(data.liMi[index])).vector
    motion = np.where(np.abs(motion) < ROUNDING, 0.0, motion)
    return MimicJoint(primary, scaling, offset, motion, rest)
