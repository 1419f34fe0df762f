"""Further loops in URDF: Gazebo's joints, Drake's bushings, onshape-to-robot's frames."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np

from regularize.adapters.common.freedoms import GENERIC, joint_of_freedoms
from regularize.adapters.common.gazebo_plugins import Attachment
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.lie.screw import IDENTITY, Array

ENDS = ("parent", "child")
CLOSING = re.compile(r"closing_(.+)_1")


def read_gazebo(node: Node, draft: UrdfDraft) -> None:
    """Add the SDF joints and welding plugins in a ``<gazebo>``: closed at zero coordinates."""
    for each in node.children("joint"):
        # Loaded where there is SDF in a URDF file.
        from regularize.adapters.sdf import joint as sdf_joint
        from regularize.adapters.sdf.frames import pose_of
        from regularize.adapters.sdf.joint_values import limits

        kind = sdf_joint.kind_of(each, sdf_joint.KINDS)
        parent, child = (draft.link(end.text(), end) for end in map(each.need, ENDS))
        T_child = pose_of(each.child("pose"))
        T = draft.between(parent, child, each) @ T_child
        R = (draft.rest_pose(child)[1] @ T_child)[:3, :3]
        screws = sdf_joint.screws(each, kind, partial(_axis, each, R))
        bounds = limits(each, kind)
        name = each.text("name")
        draft.close(each, name, kind, (parent, T), (child, T_child), screws=screws, limits=bounds)
    for found in filter(None, map(Attachment.of, node.children("plugin"))):
        between = partial(draft.between, at=found.node)
        found.close(draft, [found.first], [found.second], between)


def _axis(node: Node, R_model_joint: Array, tag: str) -> Array:
    """Direction of an axis in the joint frame, which lies on the child."""
    xyz = node.find(tag, "xyz")
    if xyz is None:
        return np.array([0.0, 0.0, 1.0])
    direction = xyz.direction(xyz.numbers(None, 3))
    from regularize.adapters.sdf.frames import MODEL

    in_model = node.need(tag).says("use_parent_model_frame")
    if in_model or xyz.get("expressed_in") == MODEL:
        return np.asarray(R_model_joint.T @ direction)
    return direction


def read_bushing(node: Node, draft: UrdfDraft) -> None:
    """Add a ``drake:linear_bushing_rpy`` as the joint whose freedoms have no stiffness."""
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
    """Close the pairs of links ``closing_<name>_1`` and ``closing_<name>_2``.

    onshape-to-robot marks a loop so, but does not say of which kind it is. All kinds bring the two
    origins together; that much is read, as a ball joint, unless the file closes the pair itself.
    """
    for first in [*draft.bodies]:
        match = CLOSING.fullmatch(first)
        second = None if match is None else f"closing_{match[1]}_2"
        if match is None or second not in draft.bodies:
            continue
        taken = {frozenset((j.parent, j.child)) for j in draft.joints.values() if j.closure}
        if frozenset((first, second)) in taken:
            continue
        name = draft.joint_name(f"closing_{match[1]}")
        link = draft.link_node(first)
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


def closing_lines(one: str, other: str, axis: bool) -> tuple[str, ...]:
    """What to write into a URDF file to close a loop between two links that coincide."""
    name = f"{one}-{other}"
    hinge = (
        f'a hinge about their axis Z: <loop name="{name}" type="revolute"><predecessor '
        f'link="{one}"/><successor link="{other}"/><axis xyz="0 0 1"/></loop>'
    )
    ball = (
        f'a ball joint: <loop_joint name="{name}" type="spherical"><link1 link="{one}"/>'
        f'<link2 link="{other}"/></loop_joint>'
    )
    return (hinge, ball) if axis else (ball,)


#: What each element under ``<robot>`` is read by.
DIALECTS: dict[str, Callable[[Node, UrdfDraft], None]] = {
    "gazebo": read_gazebo,
    "drake:linear_bushing_rpy": read_bushing,
}
