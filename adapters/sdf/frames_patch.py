"""Joint frames moved in SDF files: the ``<frame>`` elements that a joint joins.

A joint between links has one frame, so that the file's pose is always assembled. Only where it
names a frame on either side, and has no pose of its own, can it be open.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regularize.adapters.common.edits import Edit, MovedJoint, still, tidy
from regularize.adapters.common.pose import rotation_rpy
from regularize.adapters.common.write import numbers, rpy
from regularize.adapters.common.xml_places import Place
from regularize.lie.screw import transform


def frames(place: Place | None) -> tuple[Place | None, Place | None]:
    """The frame elements that a joint's element names, on its parent and on its child."""
    if place is None or place.tag != "joint" or place.child("pose") is not None:
        return None, None
    return _frame(place, "parent"), _frame(place, "child")


def _frame(joint: Place, side: str) -> Place | None:
    """The one frame of that name, its pose in metres and radians or none."""
    end, model = joint.child(side), joint.parent
    if end is None or model is None:
        return None
    name = end.document.text[slice(*end.content)]
    found = [each for each in model.children if each.tag == "frame" and each.get("name") == name]
    pose = found[0].child("pose") if len(found) == 1 else None
    if pose is not None and {"degrees", "rotation_format"} & pose.values.keys():
        return None
    return found[0] if len(found) == 1 else None


def edits(place: Place, wanted: MovedJoint) -> Iterator[Edit]:
    """The edits of poses that move a joint's frames."""
    for frame, shift in zip(frames(place), wanted.shifts, strict=True):
        if frame is None or still(shift):
            continue
        pose = frame.child("pose")
        text = "" if pose is None else pose.document.text[slice(*pose.content)]
        values = np.array([float(word) for word in text.split()] or np.zeros(6))
        T = transform(rotation_rpy(*values[3:]), values[:3]) @ shift
        words = f"{numbers(tidy(T[:3, 3]))} {numbers(tidy(rpy(T[:3, :3])))}"
        yield frame.inside(f"<pose>{words}</pose>") if pose is None else pose.with_content(words)
