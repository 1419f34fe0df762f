r"""Loops in URDF: the dialects that describe a closing joint by two frames.

=====================  ==============================================================
``<loop>``             URDF+: ``<predecessor link>`` and ``<successor link>``, each with
                       an ``<origin>``, and one ``<axis>``
``<constraint>``       the same, or the proposal of 2026 for urdfdom: ``<parent link>``,
                       ``<parent_origin>``, ``<parent_axis>`` and the same for ``child``
``<loop_joint>``       Isaac Sim: ``<link1 link xyz rpy>`` and ``<link2 ...>``; its manual
                       calls both ``<link1>``, so the first two are taken in order; or, by an
                       exporter of Fusion 360, ``<parent link>``, ``<parent_origin xyz>``, the
                       same for ``child``, and ``<axis frame="parent">`` in that link's frame
``drake:`` elements    constraints of two points or frames, see ``common.drake``
=====================  ==============================================================

The two frames of a closing joint coincide up to its motion. The axis is given in the first one;
where the second one has an axis of its own, the joint turns the two axes into one another.

The reference implementation of URDF+ closes the *positions* of the two origins and never reads
the orientation of the successor's. So where a file is assembled as it stands (the origins
coincide at zero coordinates) and only the orientations disagree by more than the joint allows, it
is the pose of the file that counts: the successor's frame is turned to agree with it, and a note
says so. Where the origins are apart too, the model is stored open and both frames are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regularize.adapters.common import drake
from regularize.adapters.common.draft import Side, joint_between
from regularize.adapters.common.pose import rotation_between
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.coupling import read_coupling
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.adapters.urdf.joint import AXIAL, TYPES, axis, dynamics, limits
from regularize.adapters.urdf.pose import pose
from regularize.lie.screw import IDENTITY, Array, inverse, log_rotation, transform
from regularize.model.higher_pairs import HIGHER_PAIRS, pair_screws
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint

#: Tags that name the two ends of a closing joint.
ENDS = (("predecessor", "successor"), ("parent", "child"), ("link1", "link2"), ("link1", "link1"))
LOOP_TYPES = (*(name for name in TYPES if name != "floating"), *HIGHER_PAIRS)
CLOSED = 1e-6  # metres: origins that coincide in a file of six decimals
MISALIGNED = 1e-3  # radians: beyond the rounding of angles such as 3.1416 and 1.571


def read_loop(node: Node, draft: UrdfDraft) -> None:
    """Add the closing joint of a ``<loop>``, ``<constraint>`` or ``<loop_joint>``."""
    if node.child("ratio") is not None:
        read_coupling(node, draft)
        return
    written = node.one_of(node.text("type"), LOOP_TYPES)
    kind = TYPES.get(written, "composite")
    first, second = _ends(node)
    screws, turn = _motion(node, TYPES.get(written, written))
    _report_axis(node, kind, draft)
    joint = joint_between(
        node.get("name") or draft.joint_name("loop"),
        kind,
        (draft.link(first.text("link"), first), _frame(node, first)),
        (draft.link(second.text("link"), second), _frame(node, second) @ turn),
        screws,
        closure=True,
        limits=limits(node, kind),
        source=node.source,
        dynamics=dynamics(node, kind),
    )
    if first.tag == "predecessor":
        joint = _aligned(joint, draft)
    draft.add_joint(_oriented(joint, node, draft), node)


def _motion(node: Node, kind: str) -> tuple[Array, Array]:
    """Freedoms of a closing joint, and the turn that brings its own axis into the child's."""
    if kind not in (*AXIAL, *HIGHER_PAIRS):
        return joint_screws(kind), IDENTITY
    axes = node.children("axis")
    first = axis(node.child("parent_axis") or (axes[0] if axes else None))
    if kind in HIGHER_PAIRS:
        return pair_screws(kind, first, axis(axes[1]) if len(axes) > 1 else None), IDENTITY
    second = node.child("child_axis") or (axes[1] if len(axes) > 1 else None)
    if kind != "universal":
        turn = IDENTITY if second is None else transform(rotation_between(first, axis(second)))
        return joint_screws(kind, first), turn
    if second is None:
        raise node.error("a universal joint has two axes; add a second <axis>")
    return joint_screws(kind, first, axis(second)), IDENTITY


def _ends(node: Node) -> tuple[Node, Node]:
    for one, other in ENDS:
        found = node.children(one, other)
        if len(found) == 2 and [found[0].tag, found[1].tag] in ([one, other], [other, one]):
            first, second = found if found[0].tag == one else reversed(found)
            return first, second
    one, other = ("link1", "link2") if node.tag == "loop_joint" else ENDS[0]
    raise node.error(f"<{node.tag}> needs two links; add <{one} link=...> and <{other} link=...>")


def _frame(node: Node, end: Node) -> Array:
    """Frame of the joint on one link: on the end itself, inside it, or beside it."""
    if end.get("xyz") is not None or end.get("rpy") is not None:
        return pose(end)
    return pose(end.child("origin") or node.child(f"{end.tag}_origin"))


def _aligned(joint: Joint, draft: UrdfDraft) -> Joint:
    """The joint with its child frame turned, if the file is closed but for the orientation."""
    root, T_parent = draft.rest_pose(joint.parent)
    other_root, T_child = draft.rest_pose(joint.child)
    if root != other_root or joint.kind == "universal":
        return joint
    gap = inverse(T_parent @ joint.T_parent_joint) @ T_child @ joint.T_child_joint
    turn = log_rotation(gap[:3, :3])
    if _outside(gap[:3, 3], joint.screws[:3]) > CLOSED:
        return joint
    if _outside(turn, joint.screws[3:]) <= MISALIGNED:
        return joint
    draft.note(
        "REG015",
        f"the frames of loop `{joint.name}` coincide at zero coordinates but are turned by "
        f"{np.degrees(np.linalg.norm(turn)):.3g}° against each other: the frame on "
        f"`{joint.child}` is read as turned back, for URDF+ closes positions only",
        joint.source,
        "write the orientation into the <origin> of <successor>",
        joints=(joint.name,),
    )
    T_child_joint = joint.T_child_joint @ transform(gap[:3, :3].T)
    return replace(joint, T_child_joint=T_child_joint)


def _oriented(joint: Joint, node: Node, draft: UrdfDraft) -> Joint:
    """The joint with the orientation of one frame taken from the pose at zero coordinates.

    That is where the axis says in which link's frame it is given, and the other link has only a
    point.
    """
    given = node.child("axis")
    link = None if given is None else given.get("frame")
    if link not in ("parent", "child"):
        return joint
    R_parent_child = draft.between(joint.parent, joint.child, node)[:3, :3]
    T_parent_joint, T_child_joint = joint.T_parent_joint, joint.T_child_joint
    if link == "parent":
        R = R_parent_child.T @ T_parent_joint[:3, :3]
        return replace(joint, T_child_joint=transform(R, T_child_joint[:3, 3]))
    R = R_parent_child @ T_child_joint[:3, :3]
    return replace(joint, T_parent_joint=transform(R, T_parent_joint[:3, 3]))


def _report_axis(node: Node, kind: str, draft: UrdfDraft) -> None:
    """Say which axis a ``<loop_joint>`` without one turns about; its makers do not."""
    if node.tag != "loop_joint" or kind not in AXIAL or node.child("axis", "parent_axis"):
        return
    draft.unread(
        f"loop joint `{node.get('name')}` gives no axis: the X axis of its frame is taken, the "
        "default of URDF",
        node.source,
        "add an <axis xyz=...>, or make it spherical",
    )


def _outside(vector: Array, directions: Array) -> float:
    """Length of the part of a vector that is not in the span of some columns."""
    if directions.shape[1] == 0:
        return float(np.linalg.norm(vector))
    basis = np.linalg.svd(directions)[0][:, : np.linalg.matrix_rank(directions)]
    return float(np.linalg.norm(vector - basis @ (basis.T @ vector)))


def read_drake(node: Node, draft: UrdfDraft) -> None:
    """Add the closure of one of Drake's constraints, between links or frames."""

    def named(end: Node) -> Side:
        attribute = next((a for a in ("link", "frame", "name") if end.get(a)), None)
        return draft.named_frame(end.text(attribute), end)

    drake.read_constraint(node, draft, named, draft.between, "value")


#: What each element under ``<robot>`` is read by; further dialects are further entries.
DIALECTS: dict[str, Callable[[Node, UrdfDraft], None]] = {
    "loop": read_loop,
    "constraint": read_loop,
    "loop_joint": read_loop,
    "coupling": read_coupling,
    **dict.fromkeys(drake.READ, read_drake),
}
