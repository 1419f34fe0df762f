r"""Loops in URDF, by the dialects of its descendants and of simulators, Gazebo's included.

Most describe a closing joint by two frames:

=====================  ==============================================================
``<loop>``             URDF+: ``<predecessor link>`` and ``<successor link>``, each with
                       an ``<origin>``, and one ``<axis>``
``<constraint>``       the same, or the proposal of 2026 for urdfdom: ``<parent link>``,
                       ``<parent_origin>``, ``<parent_axis>`` and the same for ``child``
``<loop_joint>``       Isaac Sim: ``<link1 link xyz rpy>`` and ``<link2 ...>``; its manual
                       calls both ``<link1>``, so the first two are taken in order; or, by an
                       exporter of Fusion 360, ``<parent link>``, ``<parent_origin xyz>``, the
                       same for ``child``, and ``<axis frame="parent">`` in that link's frame
``drake:`` elements    constraints of two points or frames, see ``common.loops``
=====================  ==============================================================

The two frames of a closing joint coincide up to its motion. The axis is given in the first one;
where the second one has an axis of its own, the joint turns the two axes into one another.

The reference implementation of URDF+ closes the *positions* of the two origins and never reads
the orientation of the successor's. So where the origins coincide at zero coordinates and only the
orientations disagree, the successor's frame is turned to agree. Where the origins are apart too,
the model is stored open and both frames are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from regularize.adapters.common.draft import WORLD, Side, joint_between
from regularize.adapters.common.edits import tidy
from regularize.adapters.common.loops import DRAKE, Attachment, Marks, read_drake
from regularize.adapters.common.quantities import rotation_between
from regularize.adapters.common.write import numbers, rpy
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import (
    KINDS,
    LOOP,
    UrdfDraft,
    axis,
    check_scalar,
    dynamics,
    limits,
    pose,
)
from regularize.lie.arrays import Array, Space, Transform
from regularize.lie.screw import IDENTITY, inverse, log_rotation, transform
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, joint_screws

#: Tags that name the two ends of a closing joint.
ENDS = (("predecessor", "successor"), ("parent", "child"), ("link1", "link2"), ("link1", "link1"))
CLOSED = 1e-6  # metres: origins that coincide in a file of six decimals
MISALIGNED = 1e-3  # radians: beyond the rounding of angles such as 3.1416 and 1.571
COUPLINGS = ("rolling", "gear")
#: Name of the first of two links by which onshape-to-robot marks a loop.
CLOSING = re.compile(r"closing_(.+)_1")


def read_loop(node: Node, draft: UrdfDraft) -> None:
    """Add the closing joint of a ``<loop>``, ``<constraint>`` or ``<loop_joint>``."""
    if node.child("ratio") is not None:
        read_coupling(node, draft)
        return
    written = LOOP.read[node.one_of(node.text("type"), LOOP.read)]
    kind = "composite" if written in HIGHER_PAIRS else written
    ends = ends_of(node)
    if ends is None:
        one, other = ("link1", "link2") if node.tag == "loop_joint" else ENDS[0]
        words = f"add <{one} link=...> and <{other} link=...>"
        raise node.error(f"<{node.tag}> needs two links; {words}")
    first, second = ends
    screws, turn = _motion(node, written)
    axial = kind in KINDS and KINDS[kind].axes
    if node.tag == "loop_joint" and axial and not node.child("axis", "parent_axis"):
        draft.warn(
            "REG013",
            f"loop joint `{node.get('name')}` gives no axis: the X axis of its frame is taken, the "
            "default of URDF",
            node.source,
            "add an <axis xyz=...>, or make it spherical",
        )
    joint = joint_between(
        node.get("name") or draft.joint_name("loop"),
        kind,
        (draft.link(first.text("link"), first), pose(origin_of(node, first))),
        (draft.link(second.text("link"), second), pose(origin_of(node, second)) @ turn),
        screws,
        closure=True,
        limits=limits(node, kind),
        source=node.source,
        dynamics=dynamics(node, kind),
    )
    if first.tag == "predecessor":
        joint = _aligned(joint, draft)
    draft.add_joint(_oriented(joint, node, draft), node)


def _motion(node: Node, kind: str) -> tuple[Space, Transform]:
    """Return a closing joint's screws, and the turn from the first axis to the child's axis."""
    if not LOOP[kind].axes:
        return joint_screws(kind), IDENTITY
    axes = node.children("axis")
    first = axis(node.child("parent_axis") or (axes[0] if axes else None))
    if kind in HIGHER_PAIRS:
        return joint_screws(kind, first, axis(axes[1]) if len(axes) > 1 else None), IDENTITY
    second = node.child("child_axis") or (axes[1] if len(axes) > 1 else None)
    if kind != "universal":
        turn = IDENTITY if second is None else transform(rotation_between(first, axis(second)))
        return joint_screws(kind, first), turn
    if second is None:
        raise node.error("a universal joint has two axes; add a second <axis>")
    return joint_screws(kind, first, axis(second)), IDENTITY


def ends_of(node: Node) -> tuple[Node, Node] | None:
    """Return the elements of a closing joint's two links; None where there are not two."""
    for one, other in ENDS:
        ends = node.children(one, other)
        if len(ends) == 2 and sorted(end.tag for end in ends) == sorted((one, other)):
            first, second = ends if ends[0].tag == one else reversed(ends)
            return first, second
    return None


def origin_of(node: Node, end: Node) -> Node | None:
    """Return the element that places the joint on a link: the end, or one inside or beside."""
    if end.get("xyz") is not None or end.get("rpy") is not None:
        return end
    return end.child("origin") or node.child(f"{end.tag}_origin")


def _aligned(joint: Joint, draft: UrdfDraft) -> Joint:
    """Turn the frame on the child back where a file closes the position only."""
    root, T_parent = draft.rest_pose(joint.parent)
    other_root, T_child = draft.rest_pose(joint.child)
    if root != other_root or joint.kind == "universal":
        return joint
    gap = inverse(T_parent @ joint.T_parent_joint) @ T_child @ joint.T_child_joint
    turn = log_rotation(gap[:3, :3])
    apart, turned = _beyond(gap[:3, 3], joint.screws[:3]), _beyond(turn, joint.screws[3:])
    if apart > CLOSED or turned <= MISALIGNED:
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
    return replace(joint, T_child_joint=joint.T_child_joint @ transform(gap[:3, :3].T))


def _oriented(joint: Joint, node: Node, draft: UrdfDraft) -> Joint:
    """Orient the frame without rotation where ``<axis frame=...>`` names the other link."""
    axis_node = node.child("axis")
    link = None if axis_node is None else axis_node.get("frame")
    if link not in ("parent", "child"):
        return joint
    R_parent_child = draft.between(joint.parent, joint.child, node)[:3, :3]
    T_parent_joint, T_child_joint = joint.T_parent_joint, joint.T_child_joint
    if link == "parent":
        R = R_parent_child.T @ T_parent_joint[:3, :3]
        return replace(joint, T_child_joint=transform(R, T_child_joint[:3, 3]))
    R = R_parent_child @ T_child_joint[:3, :3]
    return replace(joint, T_parent_joint=transform(R, T_parent_joint[:3, 3]))


def _beyond(vector: Array, directions: Array) -> float:
    """Return the length of the part of a vector outside the span of some columns."""
    if directions.shape[1] == 0:
        return float(np.linalg.norm(vector))
    basis = np.linalg.svd(directions)[0][:, : np.linalg.matrix_rank(directions)]
    return float(np.linalg.norm(vector - basis @ (basis.T @ vector)))


def read_drake_constraint(node: Node, draft: UrdfDraft) -> None:
    """Add the closure of one of Drake's constraints, between links or frames."""

    def named(end: Node) -> Side:
        attribute = next((a for a in ("link", "frame", "name") if end.get(a)), None)
        return draft.named_frame(end.text(attribute), end)

    read_drake(node, draft, named, draft.between, "value")


def read_coupling(node: Node, draft: UrdfDraft) -> None:
    """Add a ``<coupling>``: ratio times the sum of q to the predecessor equals the successor's."""
    ratio = node.need("ratio").number("value")
    kind = node.one_of(node.get("type") or "gear", COUPLINGS)
    ends = [node.need("predecessor"), node.need("successor")]
    links = [draft.link(end.text("link"), end) for end in ends]
    branches = zip(_branches(links[0], links[1], node, draft), (ratio, -1.0), strict=True)
    terms = [(joint, factor) for branch, factor in branches for joint in branch]
    moving = [(joint, factor) for joint, factor in terms if joint.freedoms > 0]
    for joint, _ in moving:
        check_scalar(joint, node)
    if not moving:
        raise node.error(
            f"no joint moves between links `{links[0]}` and `{links[1]}`; name links that move"
        )
    name = node.get("name") or f"{links[0]}-{links[1]}"
    coupled = tuple((joint.name, 0, factor) for joint, factor in moving)
    draft.couple(name, kind, coupled, 0.0, node.source)


def _branches(
    predecessor: str, successor: str, node: Node, draft: UrdfDraft
) -> tuple[list[Joint], list[Joint]]:
    """Return the joints from the nearest common ancestor down to each of two links."""
    one, other = draft.chain(predecessor)[::-1], draft.chain(successor)[::-1]
    root = one[0].parent if one else predecessor
    second_root = other[0].parent if other else successor
    if root != second_root:
        raise node.error(
            f"links `{predecessor}` and `{successor}` hang on different roots "
            f"`{root}` and `{second_root}`; couple links of one tree"
        )
    shared = sum(a is b for a, b in zip(one, other, strict=False))  # from the root on
    return one[shared:], other[shared:]


def read_bushing(node: Node, draft: UrdfDraft) -> None:
    """Add a ``drake:linear_bushing_rpy`` as the joint whose freedoms have no stiffness."""
    from regularize.adapters.common.serial import GENERIC, joint_of_freedoms  # few files have one

    ends = [node.need(f"drake:bushing_frame{letter}") for letter in "AC"]
    first, second = (draft.named_frame(end.text("name"), end) for end in ends)
    free = []
    for tag, names in (
        ("drake:bushing_force_stiffness", GENERIC[:3]),
        ("drake:bushing_torque_stiffness", GENERIC[3:]),
    ):
        stiffness = node.need(tag).numbers("value", 3)
        free += [name for name, value in zip(names, stiffness, strict=True) if value == 0.0]
    kind, screws = joint_of_freedoms(free)
    name = draft.close(node, node.get("name"), kind, first, second, screws=screws).name
    draft.note(
        "REG015",
        f"the bushing `{name}` is read as a rigid {kind} joint, free where its stiffness is 0",
        node.source,
        joints=(name,),
    )


def read_closing_frames(draft: UrdfDraft) -> None:
    """Close the pairs of links ``closing_<name>_1`` and ``_2`` of onshape-to-robot by balls."""
    for first in [*draft.bodies]:
        match = CLOSING.fullmatch(first)
        second = None if match is None else f"closing_{match[1]}_2"
        if match is None or second not in draft.bodies:
            continue
        taken = {frozenset((j.parent, j.child)) for j in draft.joints.values() if j.closure}
        if frozenset((first, second)) in taken:
            continue
        name = draft.joint_name(f"closing_{match[1]}")
        link = next(n for n in draft.root.children("link") if n.get("name") == first)
        draft.close(link, name, "spherical", (first, IDENTITY), (second, IDENTITY))
        draft.warn(
            "REG015",
            f"links `{first}` and `{second}` mark a loop but not its kind: read as the ball joint "
            f"`{name}`",
            link.source,
            "say by a URDF+ <loop> or a Gepetto YAML file what the joint is, or export MJCF, "
            "which does",
            joints=(name,),
        )


def closing_lines(marks: Marks, first: str, second: str, axis: bool) -> tuple[str, ...]:
    """Return words and URDF elements that close a loop between two coinciding links or frames."""

    def ends(*tags: str) -> str:
        """Return the elements that name the two links, and where the frames are on them."""
        elements = []
        for tag, end in zip(tags, (first, second), strict=True):
            link, T = marks.get(end, (end, IDENTITY))
            place = f'xyz="{numbers(tidy(T[:3, 3]))}" rpy="{numbers(tidy(rpy(T[:3, :3])))}"'
            origin = f"><origin {place}/></{tag}>" if end in marks else "/>"
            elements.append(f'<{tag} link="{link}"{origin}')
        return "".join(elements)

    hinge = (
        f'a hinge about their axis Z: <loop name="{first}-{second}" type="revolute">'
        f'{ends("predecessor", "successor")}<axis xyz="0 0 1"/></loop>'
    )
    ball = (
        f'a ball joint: <loop_joint name="{first}-{second}" type="spherical">'
        f"{ends('link1', 'link2')}</loop_joint>"
    )
    return (hinge, ball) if axis else (ball,)


def read_gazebo(node: Node, draft: UrdfDraft) -> None:
    """Add the joints and welds of all ``<gazebo>`` elements, where the first one stands."""
    blocks = draft.root.children("gazebo")
    if node is not blocks[0]:
        return
    if any(block.child("joint") for block in blocks):
        _read_joints(blocks, draft)
    for plugin in (plugin for block in blocks for plugin in block.children("plugin")):
        if _is_mimic(plugin, draft):
            continue
        attachment = Attachment.of(plugin, draft)
        if attachment is not None:
            between = partial(draft.between, at=plugin)
            attachment.close(draft, [attachment.first], [attachment.second], between)


def _is_mimic(node: Node, draft: UrdfDraft) -> bool:
    """Whether a plugin lets one joint follow another, which is added unless <mimic> says it."""
    ends = (node.filled(tag) for tag in ("mimicJoint", "joint"))
    follower, leader = (None if end is None else draft.joints.get(end.content) for end in ends)
    if follower is None or leader is None or follower.freedoms != 1 or leader.freedoms != 1:
        return False
    own = (j for j in draft.root.children("joint") if j.get("name") == follower.name)
    if not any(joint.child("mimic") for joint in own):
        factor, offset = node.value("multiplier", 1.0), node.value("offset", 0.0)
        terms = ((follower.name, 0, 1.0), (leader.name, 0, -factor))
        draft.couple(follower.name, "mimic", terms, offset, node.source)
    return True


def _read_joints(blocks: list[Node], draft: UrdfDraft) -> None:
    """Add closing joints as an SDF model has them whose links stand at zero coordinates."""
    # Loaded where there is SDF in a URDF file.
    from regularize.adapters.sdf.draft import MODEL, Frame, Scope, SdfDraft
    from regularize.adapters.sdf.joint import read_joints

    joints = [joint for block in blocks for joint in block.children("joint")]
    for end in (end for joint in joints for end in joint.children("parent", "child")):
        if end.content == WORLD:
            draft.link(WORLD, end)
    # Axes in the frame of the model are written as before version 1.7 or as since then.
    model, scope = SdfDraft(draft.path, version=(1, 6)), Scope("", MODEL)
    model.bodies, model.joints, model.couplings = draft.bodies, draft.joints, draft.couplings
    model.findings, frames = draft.findings, model.frames
    frames.entries[MODEL] = Frame(IDENTITY, None, None, draft.root)
    for placed in draft.joints.values():
        if not placed.closure:
            frames.entries[placed.name] = Frame(
                placed.T_child_joint, placed.child, placed.child, draft.root
            )
    for name in draft.bodies:
        frames.entries[name] = Frame(draft.rest_pose(name)[1], None, None, draft.root)
    if WORLD in draft.bodies:
        frames.poses[WORLD] = draft.rest_pose(WORLD)[1]
    for frame in (frame for block in blocks for frame in block.children("frame")):
        model.add_frame(frame, scope)
    for joint in joints:
        model.declare(joint, scope)
    read_joints(model)
    for element in model.elements:
        added = draft.joints.get(element.name)
        if added is not None:
            if not draft.implicit_world:  # which stands at the origin of the model
                draft.rest_poses(added.parent, added.child, element.node)
            draft.joints[added.name] = replace(added, closure=True)


#: What each element under ``<robot>`` is read by; further dialects are further entries.
DIALECTS: dict[str, Callable[[Node, UrdfDraft], None]] = {
    "loop": read_loop,
    "constraint": read_loop,
    "loop_joint": read_loop,
    "coupling": read_coupling,
    "gazebo": read_gazebo,
    "drake:linear_bushing_rpy": read_bushing,
    **dict.fromkeys(DRAKE, read_drake_constraint),
}
