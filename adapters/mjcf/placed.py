"""Places of joints changed in MJCF files: poses of bodies, and anchors of connects and welds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from regularize.adapters.common.edits import Edit, WantedKind
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.write import numbers, quaternion
from regularize.adapters.common.xml_places import Place
from regularize.adapters.mjcf.closure_patch import MjcfClosures
from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array, inverse

#: Attributes by which a body says how it is turned.
TURNS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


def body_edits(patcher: XmlPatcher, m: Any, wanted: WantedKind) -> Iterator[Edit]:
    """The edits that put a body where its joint is meant to be on the body's parent.

    Args:
        patcher: Of the model.
        m: The model as MuJoCo compiled it.
        wanted: A joint of the tree, with the same place on its child.

    Raises:
        UnsupportedExport: The body has several joints, or stands in a ``<frame>``.
    """
    joint = wanted.joint
    names = [m.body(i).name for i in range(m.nbody)]
    body = patcher.mechanism.body(joint.child)
    number = names.index(body.name) if body.name in names else -1
    place = None if body.source is None else patcher.places(body.source.path).at(body.source)
    alone = number > 0 and int(m.body_jntnum[number]) < 2
    if not alone or place is None or place.tag != "body" or _framed(place):
        raise _refused(patcher, wanted)
    step = wanted.replacement.T_parent_joint @ inverse(joint.T_parent_joint)
    now = np.eye(4)
    now[:3, :3] = _rotation(m.body_quat[number])
    now[:3, 3] = m.body_pos[number]
    T = step @ now
    yield place.with_attribute("pos", numbers(T[:3, 3]))
    x, y, z, w = quaternion(T[:3, :3])
    for attribute in TURNS[1:]:
        if attribute in place.values:
            yield place.without_attribute(attribute)
    yield place.with_attribute("quat", numbers((w, x, y, z)))


def anchor_edits(
    patcher: XmlPatcher, closures: MjcfClosures, m: Any, wanted: WantedKind
) -> Iterator[Edit]:
    """The edits that put the points of a closure where they are meant to be on its first body.

    MuJoCo finds the points of the second one from the assembled pose.
    """
    old, new = wanted.joint, wanted.replacement
    rows = closures.rows_of(old)
    for number, place in rows:
        first = m.body(int(m.eq_obj1id[number])).name
        sides = {
            old.parent: (old.T_parent_joint, new.T_parent_joint),
            old.child: (old.T_child_joint, new.T_child_joint),
        }
        if place.get("body1") is None or first not in sides or place.get("relpose") is not None:
            raise _refused(patcher, wanted)
        anchor = place.get("anchor")
        if anchor is not None:
            before, after = sides[first]
            point = after @ inverse(before) @ [*map(float, anchor.split()), 1.0]
            yield place.with_attribute("anchor", numbers(point[:3]))
    if not rows:
        raise _refused(patcher, wanted)


def _framed(place: Place) -> bool:
    return place.parent is None or place.parent.tag not in ("body", "worldbody")


def _rotation(q: Array) -> Array:
    w, v = q[0], np.asarray(q[1:])
    cross = np.cross(np.eye(3), v)
    return np.asarray(np.eye(3) - 2.0 * w * cross + 2.0 * cross @ cross)


def _refused(patcher: XmlPatcher, wanted: WantedKind) -> UnsupportedExport:
    return UnsupportedExport(
        f"{wanted.joint.source or patcher.path}: where joint {wanted.joint.name!r} is cannot be "
        "edited here; write the model anew with `regularize export MODEL --as-designed --to mjcf`"
    )
