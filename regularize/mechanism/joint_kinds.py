"""Kinds of joints, the words for them, and their freedoms in the joint's own frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie import screw
from regularize.lie.arrays import Direction, Space

#: Joint kinds and their numbers of freedoms (None: any number, given by the screws).
KINDS: dict[str, int | None] = {
    "fixed": 0,
    "revolute": 1,
    "prismatic": 1,
    "helical": 1,
    "universal": 2,
    "cylindrical": 2,
    "spherical": 3,
    "planar": 3,
    "free": 6,
    "composite": None,
}
GROUP_KINDS = frozenset({"spherical", "free"})

#: Joints of four or five freedoms, ``composite`` ones, that close a loop without a redundant
#: equation: a point stays on an axis (in the place of a hinge of a planar loop), a line stays in a
#: plane (of a slider), an axis keeps its direction (of a hinge of a spherical loop), a point stays
#: on a plane (of what others guide already). Their coordinates are ordered so that those which the
#: loop moves come first: the others stay at zero.
HIGHER_PAIRS = ("point_on_line", "line_in_plane", "parallel", "point_on_plane")
#: Kinds by the words of formats, textbooks and workshops.
WORDS = {
    **dict.fromkeys(("hinge", "pin", "continuous"), "revolute"),
    **dict.fromkeys(("slide", "slider"), "prismatic"),
    **dict.fromkeys(("ball", "connect", "gimbal", "locating_bearing"), "spherical"),
    **dict.fromkeys(("weld", "rigid", "fastened", "clamp"), "fixed"),
    **dict.fromkeys(("hooke", "cardan", "cardano", "revolute2"), "universal"),
    **dict.fromkeys(("point_in_line", "in_line", "floating_bearing"), "point_on_line"),
    **dict.fromkeys(("point_in_plane", "in_plane"), "point_on_plane"),
    **dict.fromkeys(("screw", "lead_screw"), "helical"),
    **dict.fromkeys(("floating", "6_dof"), "free"),
    **{"pin_slot": "slotted", "cylinder": "cylindrical", "plane": "planar"},
}


def kind_of(word: str) -> str:
    """Return the kind that a word means, as ``spherical`` for ``Ball``; other words stay."""
    plain = word.strip().lower().replace(" ", "_").replace("-", "_")
    plain = plain.removesuffix("_joint").removesuffix("_hinge")
    kind = WORDS.get(plain, plain)
    return kind if kind in (*KINDS, *HIGHER_PAIRS, "slotted") else word


def joint_screws(
    kind: str, axis: ArrayLike = (0, 0, 1), axis2: ArrayLike | None = None, pitch: float = 0.0
) -> Space:
    """Return the screws of a standard joint in its own frame, through the frame's origin.

    Args:
        kind: One of ``KINDS`` but ``composite``, or of ``HIGHER_PAIRS``.
        axis: The axis; of a planar joint and of ``point_on_plane`` the normal; of a universal joint
            the first axis; of ``parallel`` the direction that is held; else of a higher pair the
            line.
        axis2: Second axis of a universal joint, by default Y; normal of the plane of
            ``line_in_plane``, by default any.
        pitch: Of a helical joint, metres per radian.
    """
    slide, turn = screw.prismatic, screw.revolute
    if kind == "fixed":
        return np.zeros((6, 0))
    if kind == "revolute":
        return turn(axis)[:, None]
    if kind == "prismatic":
        return slide(axis)[:, None]
    if kind == "helical":
        return screw.helical(axis, np.zeros(3), pitch)[:, None]
    if kind == "cylindrical":
        return np.column_stack([slide(axis), turn(axis)])
    if kind == "universal":
        return np.column_stack([turn(axis), turn((0, 1, 0) if axis2 is None else axis2)])
    if kind == "spherical":
        return np.vstack([np.zeros((3, 3)), np.eye(3)])
    if kind == "free":
        return np.eye(6)
    if kind != "planar" and kind not in HIGHER_PAIRS:
        raise ValueError(f"joint kind {kind!r} has no standard screws")
    first, second = perpendiculars(axis)
    if kind == "planar":
        return np.column_stack([slide(first), slide(second), turn(axis)])
    if kind == "point_on_line":
        return np.column_stack([slide(axis), turn(axis), turn(first), turn(second)])
    if kind == "point_on_plane":
        return np.column_stack([slide(first), slide(second), turn(axis), turn(first), turn(second)])
    if kind == "parallel":
        return np.column_stack([turn(axis), slide(axis), slide(first), slide(second)])
    normal = first if axis2 is None else screw.unit(axis2)
    across = np.cross(normal, screw.unit(axis))
    return np.column_stack([slide(axis), slide(across), turn(normal), turn(axis)])


def perpendiculars(axis: ArrayLike) -> tuple[Direction, Direction]:
    """Return two unit vectors that complete ``axis`` to a right-handed orthogonal frame."""
    e = screw.unit(axis)
    helper = np.eye(3)[int(np.argmin(np.abs(e)))]
    first = screw.unit(screw.cross(helper, e))
    return first, screw.cross(e, first)
