"""Further loops in URDF: Gazebo's joints, Drake's rods and bushings, onshape-to-robot's frames."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from regularize.adapters.common.distance import distance_joint
from regularize.adapters.common.draft import Draft
from regularize.adapters.common.freedoms import GENERIC, joint_of_freedoms
from regularize.adapters.common.names import unique
from regularize.adapters.common.pose import pose
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.frames import pose_of, true
from regularize.adapters.sdf.joint import KINDS, limits, thread_pitch
from regularize.lie.screw import (
    Array,
    inverse,
    transform,
    unit,
)
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint

CLOSING = re.compile(r"closing_(.+)_1")


def read_gazebo(node: Node, draft: Draft) -> None:
    """Add the SDF joints inside a ``<gazebo>``: closed where all coordinates are zero."""
    for each in node.children("joint"):
        written = each.text("type")
        if written not in KINDS:
            raise each.error(f"type {written!r} is unknown; expected one of {', '.join(KINDS)}")
        kind = KINDS[written]
        parent, child = (
            draft.body_name(end.text(), end) for end in (each.need("parent"), each.need("child"))
        )
        T_child = pose_of(each.child("pose"))
        T = _at_rest(parent, child, each, draft) @ T_child
        screws = joint_screws(kind)
        if kind in ("revolute", "prismatic"):
            screws = joint_screws(kind, _axis(each, "axis", child, T_child, draft))
        elif kind == "helical":
            axis = _axis(each, "axis", child, T_child, draft)
            screws = joint_screws(kind, axis, pitch=thread_pitch(each))
        elif kind == "universal":
            first, second = (_axis(each, t, child, T_child, draft) for t in ("axis", "axis2"))
            screws = joint_screws(kind, first, second)
        joint = Joint(
            each.text("name"),
            parent,
            child,
            kind,
            screws,
            T,
            T_child,
            closure=True,
            limits=limits(each, kind),
            source=each.source,
        )
        draft.add_joint(joint, each)


def _at_rest(parent: str, child: str, node: Node, draft: Draft) -> Array:
    """Frame of a link in that of another one where all coordinates are zero."""
    (root, T_parent), (other, T_child) = draft.rest_pose(parent), draft.rest_pose(child)
    if root != other:
        raise node.error(
            f"`{parent}` and `{child}` hang on different roots, so their frames have no relation; "
            "join the roots by a fixed joint"
        )
    return inverse(T_parent) @ T_child


def _axis(node: Node, tag: str, child: str, T_child: Array, draft: Draft) -> Array:
    """Direction of an axis in the joint frame, which lies on the child."""
    found = node.child(tag)
    xyz = None if found is None else found.child("xyz")
    if found is None or xyz is None:
        return np.array([0.0, 0.0, 1.0])
    try:
        direction = unit(xyz.numbers(None, 3))
    except ValueError:
        raise xyz.error("the axis has no length; give a direction such as 0 0 1") from None
    flag = found.child("use_parent_model_frame")
    in_model = flag is not None and true(flag.element.text)
    if not in_model and xyz.get("expressed_in") != "__model__":
        return direction
    R = draft.rest_pose(child)[1][:3, :3] @ T_child[:3, :3]
    return np.asarray(R.T @ direction)


def read_distance(node: Node, draft: Draft) -> None:
    """Add the rod of a ``drake:distance_constraint``."""
    ends = []
    for body, point in (("body_A", "p_AP"), ("body_B", "p_BQ")):
        named = node.need(f"{node.tag}_{body}")
        place = node.need(f"{node.tag}_{point}").numbers("value", 3)
        ends.append((draft.body_name(named.text("name"), named), place))
    (parent, p), (child, q) = ends
    length = node.need(f"{node.tag}_distance").number("value")
    seen = (_at_rest(parent, child, node, draft) @ transform(translation=q))[:3, 3]
    name = node.get("name") or unique(f"{parent}-{child}", draft.joints)
    draft.add_joint(distance_joint(name, parent, child, p, q, seen, length, node.source), node)


def read_bushing(node: Node, draft: Draft) -> None:
    """Add a ``drake:linear_bushing_rpy`` as the joint whose freedoms have no stiffness."""
    ends = []
    for tag in ("drake:bushing_frameA", "drake:bushing_frameC"):
        named = node.need(tag)
        ends.append(_frame(named.text("name"), named, draft))
    free = []
    for tag, names in (
        ("drake:bushing_force_stiffness", GENERIC[:3]),
        ("drake:bushing_torque_stiffness", GENERIC[3:]),
    ):
        stiffness = node.need(tag).numbers("value", 3)
        free += [name for name, value in zip(names, stiffness, strict=True) if value == 0.0]
    kind, screws = joint_of_freedoms(free)
    (parent, T_parent), (child, T_child) = ends
    name = node.get("name") or unique(f"{parent}-{child}", draft.joints)
    draft.note(
        "REG015",
        "note",
        f"the bushing `{name}` is read as a rigid {kind} joint, free where its stiffness is 0",
        node.source,
        joints=(name,),
    )
    joint = Joint(
        name, parent, child, kind, screws, T_parent, T_child, closure=True, source=node.source
    )
    draft.add_joint(joint, node)


def _frame(name: str, node: Node, draft: Draft) -> tuple[str, Array]:
    """Link and transform of a Drake ``<frame>``, or of a link."""
    for frame in draft.root.children("frame", "drake:frame"):
        if frame.get("name") == name:
            return draft.body_name(frame.text("link"), frame), pose(frame)
    return draft.body_name(name, node), np.eye(4)


def read_closing_frames(draft: Draft) -> None:
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
        name = unique(f"closing_{match[1]}", draft.joints)
        source = draft.bodies[first].source
        draft.joints[name] = Joint(
            name, first, second, "spherical", joint_screws("spherical"), closure=True, source=source
        )
        draft.note(
            "REG015",
            "warning",
            f"links `{first}` and `{second}` mark a loop but not its kind: read as the ball joint "
            f"`{name}`",
            source,
            "say by a URDF+ <loop> or a Gepetto YAML file what the joint is, or export MJCF, "
            "which does",
            joints=(name,),
        )


#: What each element under ``<robot>`` is read by.
DIALECTS: dict[str, Callable[[Node, Draft], None]] = {
    "gazebo": read_gazebo,
    "drake:distance_constraint": read_distance,
    "drake:linear_bushing_rpy": read_bushing,
}
