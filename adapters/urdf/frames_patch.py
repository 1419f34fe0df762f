"""Joint frames moved in URDF files, and slack links put in.

Frames are the origins of joints, and of both ends of closing elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.edits import Edit, MovedJoint, SlackLinks, still, tidy, turns
from regularize.adapters.common.patching import XmlPatcher, hung
from regularize.adapters.common.write import add, numbers, quaternion, rpy
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf import sidecar_patch
from regularize.adapters.urdf.draft import pose
from regularize.adapters.urdf.loops import ends_of, origin_of
from regularize.adapters.urdf.write import add_inertial, add_limit
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array
from regularize.lie.screw import transform
from regularize.mechanism.mechanism import Joint


def movable(place: Node | None, *, closure: bool) -> tuple[bool, bool]:
    """Whether an element says where its joint is, on its parent and on its child."""
    if place is None:
        return False, False
    if place.tag == "joint" and place.parent is not None and place.parent.tag != "gazebo":
        return True, False
    ends = ends_of(place) if closure else None
    return (ends is not None, ends is not None)


def edits(place: Node, wanted: MovedJoint) -> Iterator[Edit]:
    """The edits of origins that move a joint's frames."""
    holders = [(place, place.child("origin"))]
    if place.tag != "joint":
        holders = [(end, origin_of(place, end)) for end in ends_of(place) or ()]
    for (end, origin), shift in zip(holders, wanted.shifts, strict=False):
        if still(shift):
            continue
        T = pose(origin) @ shift
        if origin is None:
            words = f' rpy="{numbers(tidy(rpy(T[:3, :3])))}"' if turns(shift) else ""
            yield end.inside(f'<origin xyz="{numbers(tidy(T[:3, 3]))}"{words}/>')
            continue
        yield origin.with_attribute("xyz", numbers(tidy(T[:3, 3])))
        if turns(shift) and origin.get("quat_xyzw") is not None:
            yield origin.with_attribute("quat_xyzw", numbers(tidy(quaternion(T[:3, :3]))))
        elif turns(shift):
            yield origin.with_attribute("rpy", numbers(tidy(rpy(T[:3, :3]))))


def slack_elements(links: SlackLinks) -> list[Any]:
    """The links, each with the joint that leads to it."""
    made, last = [], np.zeros(3)
    for joint, body in zip(links.joints, links.bodies, strict=True):
        before, last = last, _slack_origin(joint, last)
        link = etree.Element("link", name=body.name)
        if body.inertia is not None:
            add_inertial(link, body.inertia.transformed(transform(None, -last)))
        made += [link, _slack_joint(joint, last - before)]
    return made


def slack_ends(patcher: XmlPatcher, links: SlackLinks) -> Iterator[Edit]:
    """The edits that hang the joint on the last link."""
    joint, last = links.joint, np.zeros(3)
    for each in links.joints:
        last = _slack_origin(each, last)
    side = "parent" if joint.parent != links.moved.parent else "child"
    old, new = getattr(joint, side), getattr(links.moved, side)
    if joint.source is not None and joint.source.path != patcher.path:
        text = patcher.text(joint.source.path)
        yield from sidecar_patch.hung(joint, text, old, new, last)
        return
    place = patcher.element(joint)
    if place is not None and place.tag == "joint" and joint.kind != links.moved.kind:
        return  # a <loop> takes its place, which names the link
    if place is None:
        raise UnsupportedExport(f"joint `{joint.name}` is not written out in {patcher.path}")
    yield hung(place, old, new)
    if np.any(last):
        yield from _seen_from(last, place, joint, side)


def _seen_from(last: Array, place: Node, joint: Joint, side: str) -> Iterator[Edit]:
    """The edits of a joint's frame where the frame of its slack link stands off that of the body."""
    if movable(place, closure=joint.closure) != (True, True):
        raise UnsupportedExport(
            f"this <{place.tag}> cannot say where joint `{joint.name}` is on a slack link"
        )
    shift = transform(None, -last)
    moved = (
        replace(joint, T_parent_joint=shift @ joint.T_parent_joint)
        if side == "parent"
        else replace(joint, T_child_joint=shift @ joint.T_child_joint)
    )
    yield from edits(place, MovedJoint(joint, moved))


def _slack_origin(joint: Joint, last: Array) -> Array:
    """Where the frame of a slack link is in that of the body: where it turns, if it does."""
    return joint.T_parent_joint[:3, 3] if np.any(joint.screws[3:]) else last


def _slack_joint(joint: Joint, step: Array) -> Any:
    slides = bool(np.any(joint.screws[:3]))
    element = etree.Element("joint", name=joint.name, type="prismatic" if slides else "continuous")
    if np.any(step):
        add(element, "origin", xyz=step, rpy="0 0 0")
    add(element, "parent", link=joint.parent)
    add(element, "child", link=joint.child)
    direction = joint.screws[:3, 0] if slides else joint.screws[3:, 0]
    add(element, "axis", xyz=joint.T_parent_joint[:3, :3] @ direction)
    if slides:
        add_limit(element, joint)
    return element
