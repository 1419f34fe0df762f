"""Slack links put into URDF files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.edits import Edit, MovedJoint, Patch, SlackLinks, WantedSlack
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.slack_links import hung, slack_patch
from regularize.adapters.common.write import add
from regularize.adapters.common.xml_places import Place
from regularize.adapters.urdf import frames_patch, sidecar_patch
from regularize.adapters.urdf.elements import add_inertial, add_limit
from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array, transform
from regularize.model.mechanism import Joint


def urdf_slack(patcher: XmlPatcher, wanted: WantedSlack) -> Patch:
    """The edits that put slack links into a URDF file; see ``slack_patch``."""

    def elements(links: SlackLinks, place: Place) -> list[Any]:
        made, last = [], np.zeros(3)
        for joint, body in zip(links.joints, links.bodies, strict=True):
            before, last = last, _origin(joint, last)
            link = etree.Element("link", name=body.name)
            if body.inertia is not None:
                add_inertial(link, body.inertia.transformed(transform(None, -last)))
            made += [link, _joint(joint, last - before)]
        return made

    def ends(links: SlackLinks) -> Iterator[Edit]:
        joint, last = links.joint, np.zeros(3)
        for each in links.joints:
            last = _origin(each, last)
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

    return slack_patch(patcher, wanted, elements, ends)


def _seen_from(last: Array, place: Place, joint: Joint, side: str) -> Iterator[Edit]:
    """The edits of a joint's frame where the frame of its slack link stands off that of the body.

    Raises:
        UnsupportedExport: The joint is no closing element that says where it is on both links.
    """
    if frames_patch.movable(place, closure=joint.closure) != (True, True):
        raise UnsupportedExport(
            f"this <{place.tag}> cannot say where joint `{joint.name}` is on a slack link"
        )
    shift = transform(None, -last)
    moved = (
        replace(joint, T_parent_joint=shift @ joint.T_parent_joint)
        if side == "parent"
        else replace(joint, T_child_joint=shift @ joint.T_child_joint)
    )
    yield from frames_patch.edits(place, MovedJoint(joint, moved))


def _origin(joint: Joint, last: Array) -> Array:
    """Where the frame of a slack link is in that of the body: where it turns, if it does."""
    return joint.T_parent_joint[:3, 3] if np.any(joint.screws[3:]) else last


def _joint(joint: Joint, step: Array) -> Any:
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
