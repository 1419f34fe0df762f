"""Places of joints as they were designed, in the frames that a file writes them in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.adapters.common.edits import WantedKind
from regularize.as_designed.idealise import Idealised
from regularize.lie import screw
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
        if not (_same(on_parent, old.T_parent_joint) and _same(on_child, old.T_child_joint)):
            changed = replace(old, T_parent_joint=on_parent, T_child_joint=on_child)
            wanted.append(WantedKind(old, old.kind, changed))
    return tuple(wanted)


def other_places(after: Mechanism, wanted: tuple[WantedKind, ...]) -> list[str]:
    """Joints of a changed model that do not lie where they should, in words."""
    joints: dict[str, Joint] = {joint.name: joint for joint in after.joints}
    return [
        f"joint `{each.joint.name}` is not where it was meant to be"
        for each in wanted
        for now in [joints.get(each.joint.name)]
        if now is None
        or not _same(now.T_parent_joint, each.replacement.T_parent_joint, 1e-12)
        or not _same(now.T_child_joint, each.replacement.T_child_joint, 1e-12)
    ]


def _same(one: Array, other: Array, within: float = 1e-15) -> bool:
    return bool(np.allclose(one, other, rtol=within, atol=within))
