"""Places of joints as they were designed, in the frames that a file writes them in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.adapters.common.edits import WantedKind
from regularize.as_designed.idealise import Idealised
from regularize.lie import screw, subalgebra
from regularize.lie.screw import Array
from regularize.model.mechanism import Joint, Mechanism


def designed_places(before: Mechanism, meant: Idealised) -> tuple[WantedKind, ...]:
    """The joints with their places as they were designed, those that move.

    Files of trees write where a joint is on its parent, and the frame of its child follows. So
    frames of bodies are moved with their joints, by as little as these are.

    Args:
        before: The model as it was read.
        meant: What it was meant to be.
    """
    moved: dict[str, Array] = {}
    for old, new in zip(before.joints, meant.mechanism.joints, strict=True):
        if not old.closure and old.child != before.ground and old.child not in moved:
            moved[old.child] = new.T_child_joint @ screw.inverse(old.T_child_joint)
    still = np.eye(4)
    wanted = []
    for old, new in zip(before.joints, meant.mechanism.joints, strict=True):
        on_parent, on_child = (
            screw.inverse(moved.get(body, still)) @ T
            for body, T in ((new.parent, new.T_parent_joint), (new.child, new.T_child_joint))
        )
        on_parent = old.T_parent_joint if _same(on_parent, old.T_parent_joint) else on_parent
        on_child = old.T_child_joint if _same(on_child, old.T_child_joint) else on_child
        if on_parent is not old.T_parent_joint or on_child is not old.T_child_joint:
            changed = replace(old, T_parent_joint=on_parent, T_child_joint=on_child)
            wanted.append(WantedKind(old, old.kind, changed))
    return tuple(wanted)


def other_places(after: Mechanism, wanted: tuple[WantedKind, ...]) -> list[str]:
    """Joints of a changed model that do not lie where they should, in words.

    Both frames may be moved alike along the joint's own freedoms: readers choose them.
    """
    joints: dict[str, Joint] = {joint.name: joint for joint in after.joints}
    return [
        f"joint `{each.joint.name}` is not where it was meant to be"
        for each in wanted
        if each.joint.name not in joints or not _alike(joints[each.joint.name], each.replacement)
    ]


def _alike(now: Joint, meant: Joint) -> bool:
    on_parent, on_child = (
        screw.inverse(one) @ other
        for one, other in (
            (now.T_parent_joint, meant.T_parent_joint),
            (now.T_child_joint, meant.T_child_joint),
        )
    )
    carried = screw.adjoint(on_parent) @ meant.screws
    own = subalgebra.span(now.screws)
    return _same(on_parent, on_child, 1e-12) and subalgebra.contains(own, carried, 1e-11)


def _same(one: Array, other: Array, within: float = 1e-15) -> bool:
    return bool(np.allclose(one, other, rtol=within, atol=within))
