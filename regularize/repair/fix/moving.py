"""Joint frames moved in the user's own file: to absorb gaps, and to where they were designed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regularize.adapters.common.edits import Edit, MovedJoint, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.errors import UnsupportedExport
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Joint, Mechanism
from regularize.repair.nominal.absorb import Absorbed, absorb_gaps
from regularize.repair.nominal.idealise import Idealised
from regularize.words import gap_words, names

#: Numbers that are the same but for the last digit, and but for being written and read.
EXACT, READ = 1e-15, 1e-12


def closed_in_file(mechanism: Mechanism, patcher: Patcher) -> Absorbed:
    """The model with gaps absorbed by frames that its file can hold."""
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
    """The edits that move frames, but for texts that edits of other kinds write anew."""
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
    """The joints with their places as they were designed, those that move."""
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
    """Joints of a changed model that do not lie where they should, in words."""
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
    return _same(on_parent, on_child, READ) and subalgebra.contains(own, carried, 10 * READ)


def _same(one: Array, other: Array, within: float = EXACT) -> bool:
    return bool(np.allclose(one, other, rtol=within, atol=within))
