"""Which body and which joints of a file stand for those of the model that was written.

Formats force names and rows upon a model: the ground is called ``world``, a joint of two freedoms
becomes two in a row, a closing joint leads to a twin of its child. Bodies and joints are paired
through that, so that everything else can be compared number by number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from regularize.adapters.common.serial import serial, slide_name, twin_name
from regularize.mechanism.joint import reversed_joint
from regularize.mechanism.mechanism import Joint, Mechanism

#: Kinds of joints that some formats nest or leave out without naming them.
UNNAMED = ("fixed", "free")


class Pairing(NamedTuple):
    """Which bodies and joints of two mechanisms are the same."""

    #: Body of the model that each body of the file is, or is a part of.
    bodies: dict[str, str]
    #: Joints of the file that are one of the model, in a row from its parent.
    joints: dict[str, tuple[Joint, ...]]
    #: By the name of a hinge the slide that follows, where the two are a screw.
    slides: dict[str, Joint]
    #: Joints of the file that are none of the model.
    added: tuple[Joint, ...]


def pair(before: Mechanism, after: Mechanism) -> Pairing:
    """Pair bodies and joints by their names, and by the names that writers make of these."""
    bodies = _bodies(before, after)
    there = {joint.name: joint for joint in after.joints}

    def body(name: str) -> str:
        return bodies.get(name, name)

    unnamed = {
        (j.kind, body(j.parent), body(j.child)): j for j in after.joints if j.kind in UNNAMED
    }
    joints: dict[str, tuple[Joint, ...]] = {}
    slides: dict[str, Joint] = {}
    for joint in before.joints:
        names = [joint.name] if joint.name in there else [part.name for part in serial(joint)]
        row = [there[name] for name in names] if there.keys() >= {*names} else []
        for part in row:
            slide = there.get(slide_name(part.name))
            turns = part.kind == "revolute" and joint.kind in ("helical", "composite")
            if slide is not None and turns:
                slides[part.name] = slide
        for a, b in ((joint.parent, joint.child), (joint.child, joint.parent)):
            if not row and (joint.kind, a, b) in unnamed:
                row = [unnamed[joint.kind, a, b]]
        joints[joint.name] = _led(joint, row, slides, bodies) if row else ()
    used = {part.name for parts in joints.values() for part in parts}
    used |= {slide.name for slide in slides.values()}
    added = tuple(
        joint
        for joint in after.joints
        if joint.name not in used
        and not (joint.kind == "fixed" and body(joint.parent) == body(joint.child))
    )
    return Pairing(bodies, joints, slides, added)


def _bodies(before: Mechanism, after: Mechanism) -> dict[str, str]:
    """Return which body of the model each body of the file is, or is a part of."""
    names = {body.name for body in before.bodies}
    turned = [reversed_joint(joint) for joint in before.joints]
    twins = {twin_name(joint): joint.child for joint in (*before.joints, *turned)}
    found = {}
    for body in after.bodies:
        if body.name in names:
            found[body.name] = body.name
        elif body.name == after.ground:
            found[body.name] = before.ground
        elif body.name in twins:
            found[body.name] = twins[body.name]
    _rename(before, after, found)
    # A link without mass that a fixed joint holds is a frame, which some formats need for a loop.
    bare = {
        body.name
        for body in after.bodies
        if body.name not in found and not body.geometry
        if body.inertia is None or body.inertia.mass == 0.0
    }
    for joint in after.joints:
        for one, other in ((joint.parent, joint.child), (joint.child, joint.parent)):
            if joint.kind == "fixed" and not joint.closure and one in found and other in bare:
                found.setdefault(other, found[one])
    return found


def _rename(before: Mechanism, after: Mechanism, found: dict[str, str]) -> None:
    """Find bodies of other names by their joints to bodies that kept theirs."""
    joints = {joint.name: joint for joint in before.joints}
    for _ in after.joints:
        known = len(found)
        missing = {body.name for body in before.bodies} - {*found.values()}
        for joint in after.joints:
            own = joints.get(joint.name)
            if own is None:
                continue
            for here, there in ((joint.parent, joint.child), (joint.child, joint.parent)):
                far = own.child if found.get(here) == own.parent else own.parent
                if found.get(here) in (own.parent, own.child) and far in missing:
                    found.setdefault(there, far)
        if len(found) == known:
            return


def _led(
    joint: Joint, row: list[Joint], slides: Mapping[str, Joint], bodies: Mapping[str, str]
) -> tuple[Joint, ...]:
    """Turn a row of joints so that it leads the way that the joint of the model does."""

    def body(name: str) -> str:
        return bodies.get(name, name)

    end = row[-1]
    if len(row) > 1 and joint.parent in (body(end.parent), body(end.child)):
        row = row[::-1]
    led, here = [], joint.parent
    for part in row:
        onward = part if body(part.parent) == here else reversed_joint(part)
        led.append(onward)
        here = body(onward.child)
        slide = slides.get(part.name)
        if slide is not None:
            here = body(slide.child) if body(slide.parent) == here else body(slide.parent)
    return tuple(led)
