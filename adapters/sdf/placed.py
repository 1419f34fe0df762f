"""Places of joints changed in SDF files: poses of links, and of joints on their children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.adapters.common.edits import Edit, MovedJoint
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.write import numbers, quaternion, rpy
from regularize.adapters.common.xml_places import Place
from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array, inverse
from regularize.model.joint_motion import motion
from regularize.model.mechanism import Joint, Mechanism


def placed_edits(patcher: XmlPatcher, wanted: Sequence[MovedJoint]) -> Iterator[Edit]:
    """The edits that put joints elsewhere on their bodies, in a file of one model.

    By the letter of SDF the file's pose is assembled: links say where they are in their model, and
    joints where they are on their children.

    Args:
        patcher: Of the model.
        wanted: The joints with their new places.

    Raises:
        UnsupportedExport: Poses are written in other frames than these.
    """
    mechanism, new = patcher.mechanism, {each.before.name: each.after for each in wanted}
    joints = tuple(new.get(joint.name, joint) for joint in mechanism.joints)
    before, after = (_poses(mechanism, each) for each in (mechanism.joints, joints))
    for body in mechanism.bodies:
        if body.name not in after or np.allclose(before[body.name], after[body.name], 0, 1e-15):
            continue
        if body.source is None:
            raise _refused(patcher, f"link {body.name!r}")
        place = patcher.places(body.source.path).at(body.source)
        yield _posed(patcher, place, "link", after[body.name])
    for each in wanted:
        joint, element = each.after, patcher.element(each.before)
        if element is None or element.tag != "joint":
            raise _refused(patcher, f"joint {joint.name!r}")
        if not np.array_equal(joint.T_child_joint, each.before.T_child_joint):
            yield _posed(patcher, element, "joint", joint.T_child_joint)
        turned = (after[joint.child] @ joint.T_child_joint)[:3, :3]
        for k, axis in enumerate(each for each in element.children if each.tag.startswith("axis")):
            xyz = axis.child("xyz")
            if xyz is not None and xyz.get("expressed_in") == "__model__":
                screw = joint.screws[:, k]
                way = screw[3:] if np.any(screw[3:]) else screw[:3]
                yield xyz.with_content(numbers(turned @ way))


def _poses(mechanism: Mechanism, joints: Sequence[Joint]) -> dict[str, Array]:
    """Poses of all bodies at the stored coordinates, as the tree of joints has them."""
    poses = {mechanism.ground: np.eye(4)}
    waiting = list(joints)
    while waiting:
        left = []
        for joint in waiting:
            if joint.parent not in poses and joint.child not in poses:
                left.append(joint)
                continue
            step = joint.T_parent_joint @ motion(joint, joint.position)
            step = step @ inverse(joint.T_child_joint)
            if joint.parent in poses:
                poses.setdefault(joint.child, poses[joint.parent] @ step)
            else:
                poses[joint.parent] = poses[joint.child] @ inverse(step)
        if len(left) == len(waiting):
            break
        waiting = left
    return poses


def _posed(patcher: XmlPatcher, place: Place, tag: str, T: Array) -> Edit:
    """The edit of the pose of a link in its model, or of a joint on its child."""
    model = place.parent
    outer = None if model is None or model.tag != "model" else model.child("pose")
    given = place.child("pose")
    nested = model is None or model.parent is None or model.parent.tag == "model"
    moved = outer is not None and tag == "link"
    other = [] if given is None else [key for key in given.values if key != "rotation_format"]
    if place.tag != tag or nested or moved or other:
        raise _refused(patcher, f"{place.tag} {place.get('name')!r}")
    quaternions = given is not None and given.get("rotation_format") == "quat_xyzw"
    turn = quaternion(T[:3, :3]) if quaternions else rpy(T[:3, :3])
    text = numbers([*T[:3, 3], *turn])
    if given is not None:
        return given.with_content(text)
    return place.children[0].before(f"<pose>{text}</pose>")


def _refused(patcher: XmlPatcher, what: str) -> UnsupportedExport:
    return UnsupportedExport(
        f"{patcher.path}: {what} is placed in a frame that is not edited; write the model anew "
        "with `regularize export MODEL --as-designed --to sdf`"
    )
