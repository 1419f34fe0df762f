"""Joint frames moved in URDF files: origins of joints, and of both ends of closing elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regularize.adapters.common.edits import Edit, MovedJoint, still, tidy, turns
from regularize.adapters.common.pose import rotation_rpy
from regularize.adapters.common.write import numbers, quaternion, rpy
from regularize.adapters.common.xml_places import Place
from regularize.adapters.urdf.loops import ENDS
from regularize.lie.screw import Array, transform


def movable(place: Place | None, *, closure: bool) -> tuple[bool, bool]:
    """Whether an element says where its joint is, on its parent and on its child."""
    if place is None:
        return False, False
    if place.tag == "joint" and place.parent is not None and place.parent.tag != "gazebo":
        return True, False
    ends = _ends(place) if closure else None
    return (ends is not None, ends is not None)


def edits(place: Place, wanted: MovedJoint) -> Iterator[Edit]:
    """The edits of origins that move a joint's frames."""
    holders = [(place, place.child("origin"))]
    if place.tag != "joint":
        holders = [(end, _origin(place, end)) for end in _ends(place) or ()]
    for (end, origin), shift in zip(holders, wanted.shifts, strict=False):
        if still(shift):
            continue
        T = _pose(origin) @ shift
        if origin is None:
            words = f' rpy="{numbers(tidy(rpy(T[:3, :3])))}"' if turns(shift) else ""
            yield end.inside(f'<origin xyz="{numbers(tidy(T[:3, 3]))}"{words}/>')
            continue
        yield origin.with_attribute("xyz", numbers(tidy(T[:3, 3])))
        if turns(shift) and origin.get("quat_xyzw") is not None:
            yield origin.with_attribute("quat_xyzw", numbers(tidy(quaternion(T[:3, :3]))))
        elif turns(shift):
            yield origin.with_attribute("rpy", numbers(tidy(rpy(T[:3, :3]))))


def _ends(place: Place) -> tuple[Place, Place] | None:
    """The elements of the two links of a closing joint."""
    for tags in ENDS:
        found = [each for each in place.children if each.tag in tags]
        if len(found) == 2 and sorted(each.tag for each in found) == sorted(tags):
            first, second = found if found[0].tag == tags[0] else reversed(found)
            return first, second
    return None


def _origin(place: Place, end: Place) -> Place | None:
    """The element that says where the joint is on one link; that link's own where it does."""
    if end.get("xyz") is not None or end.get("rpy") is not None:
        return end
    return end.child("origin") or place.child(f"{end.tag}_origin")


def _pose(place: Place | None) -> Array:
    if place is None:
        return np.eye(4)

    def values(name: str, default: str) -> list[float]:
        return [float(word) for word in (place.get(name) or default).split()]

    if place.get("quat_xyzw") is not None:
        from scipy.spatial.transform import Rotation

        R = Rotation.from_quat(values("quat_xyzw", "")).as_matrix()
        return transform(R, values("xyz", "0 0 0"))
    return transform(rotation_rpy(*values("rpy", "0 0 0")), values("xyz", "0 0 0"))
