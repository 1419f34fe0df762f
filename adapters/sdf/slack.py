"""Slack links put into SDF files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.edits import Edit, Patch, SlackLinks, WantedSlack
from regularize.adapters.common.inertia import NAMES, six
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.slack_links import hung, slack_patch
from regularize.adapters.common.write import add, numbers, rpy
from regularize.adapters.common.xml_places import Place
from regularize.errors import UnsupportedExport
from regularize.model.mechanism import Body, Joint

#: Since when SDF gives axes in the frame of their joint.
AXES_SINCE = 1.5


def sdf_slack(patcher: XmlPatcher, wanted: WantedSlack) -> Patch:
    """The edits that put slack links into an SDF file; see ``slack_patch``."""
    version = patcher.places(patcher.path).root.get("version") or "1.0"
    if float(version) < AXES_SINCE:
        raise UnsupportedExport(f"slack links need SDF {AXES_SINCE} or later; this is {version}")

    def elements(links: SlackLinks, place: Place) -> list[Any]:
        if "::" in "".join((links.carrier, links.moved.parent, links.moved.child)):
            raise UnsupportedExport(f"body `{links.carrier}` belongs to a nested model")
        made = [_link(body, place) for body in links.bodies]
        return [*made, *(_joint(joint) for joint in links.joints)]

    def ends(links: SlackLinks) -> Iterator[Edit]:
        place = patcher.element(links.joint)
        if place is None:
            raise UnsupportedExport(f"joint `{links.joint.name}` is not written out in the file")
        for side in ("parent", "child"):
            old, new = getattr(links.joint, side), getattr(links.moved, side)
            if old != new:
                yield hung(place, old, new)

    return slack_patch(patcher, wanted, elements, ends)


def _link(body: Body, carrier: Place) -> Any:
    """A link in the frame of the body, which is written in the same way."""
    element = etree.Element("link", name=body.name)
    pose = carrier.child("pose")
    if pose is not None:
        text = pose.document.text[slice(*pose.content)]
        element.append(etree.Element("pose", {key: pose.get(key) or "" for key in pose.values}))
        element[0].text = text
    if body.inertia is not None:
        inertial = add(element, "inertial")
        add(inertial, "pose", numbers([*body.inertia.center, 0.0, 0.0, 0.0]))
        add(inertial, "mass", body.inertia.mass)
        matrix = add(inertial, "inertia")
        for name, value in zip(NAMES, six(body.inertia.matrix), strict=True):
            add(matrix, name, value)
    return element


def _joint(joint: Joint) -> Any:
    kind = "prismatic" if np.any(joint.screws[:3]) else "revolute"
    element = etree.Element("joint", name=joint.name, type=kind)
    add(element, "parent", joint.parent)
    add(element, "child", joint.child)
    T = joint.T_child_joint
    add(element, "pose", numbers([*T[:3, 3], *rpy(T[:3, :3])]))
    direction = joint.screws[:3, 0] if kind == "prismatic" else joint.screws[3:, 0]
    add(add(element, "axis"), "xyz", numbers(direction))
    return element
