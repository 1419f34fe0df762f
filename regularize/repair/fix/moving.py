"""Joint frames moved in the user's own file: to absorb gaps, and to where they were designed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regularize.adapters.common.edits import Edit, MovedJoint, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.errors import UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Transform
from regularize.lie.screw import IDENTITY
from regularize.mechanism.mechanism import Mechanism
from regularize.repair.nominal.absorb import Absorbed, absorb_gaps
from regularize.repair.nominal.idealise import Idealised
from regularize.words import gap_words, names

#: Numbers that are the same but for the last digit.
EXACT = 1e-15


def closed_in_file(mechanism: Mechanism, patcher: Patcher) -> Absorbed:
    """Absorb gaps by frames that the file can hold; raises ``UnsupportedExport`` if one stays."""
    found = absorb_gaps(mechanism, movable=patcher.movable)
    if not found.left:
        return found
    gap = found.left[0]
    if absorb_gaps(mechanism).left:
        why = "no change of joint frames as small as the gap closes it"
    else:
        held = [joint.name for joint in mechanism.joints if any(patcher.movable(joint))]
        which = f"only frames of {names(held)}" if held else "no joint frame"
        why = f"{which} can be moved in this {mechanism.format} file"
    raise UnsupportedExport(
        f"{mechanism.path}: {gap_words(gap.translation, gap.rotation)} stay open at joint "
        f"{gap.joint!r}, and {why}; correct it in the CAD system, or write the closed model anew "
        "with `regularize export --absorb-gaps`"
    )


def moving_edits(patcher: Patcher, closed: Absorbed, others: Sequence[Edit]) -> list[Edit]:
    """Return the edits that move frames, but for texts that other edits write anew."""
    taken = [(edit.path, edit.start, edit.end) for edit in others if edit.end > edit.start]
    wanted = [
        MovedJoint(patcher.mechanism.joint(name), closed.mechanism.joint(name))
        for name in closed.moves
    ]
    return [
        edit
        for edit in patcher.moved(wanted)
        if not any(
            path == edit.path and start <= edit.start and edit.end <= end
            for path, start, end in taken
        )
    ]


def designed_places(before: Mechanism, meant: Idealised) -> tuple[WantedKind, ...]:
    """Return the joints that move to where they were designed, each with its new frames."""
    moved: dict[str, Transform] = {}
    pairs = [*zip(before.joints, meant.mechanism.joints, strict=True)]
    for old, new in pairs:
        # Files have the frames of links where the joints to them are, which stay there.
        if not old.closure and old.child != before.ground and old.child not in moved:
            moved[old.child] = new.T_child_joint @ screw.inverse(old.T_child_joint)

    def seen_from(body: str, new: Transform, old: Transform) -> Transform:
        frame = screw.inverse(moved.get(body, IDENTITY)) @ new
        return old if np.allclose(frame, old, rtol=EXACT, atol=EXACT) else frame

    wanted = []
    for old, new in pairs:
        on_parent = seen_from(new.parent, new.T_parent_joint, old.T_parent_joint)
        on_child = seen_from(new.child, new.T_child_joint, old.T_child_joint)
        if on_parent is not old.T_parent_joint or on_child is not old.T_child_joint:
            changed = replace(old, T_parent_joint=on_parent, T_child_joint=on_child)
            wanted.append(WantedKind(old, old.kind, changed))
    return tuple(wanted)
