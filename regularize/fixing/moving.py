"""Gaps absorbed by frames that the user's own file can hold."""

from __future__ import annotations

from collections.abc import Sequence

from regularize.adapters.common.edits import Edit, MovedJoint
from regularize.adapters.common.patching import Patcher
from regularize.as_designed.absorb import Absorbed, absorb_gaps
from regularize.errors import UnsupportedExport
from regularize.model.mechanism import Mechanism
from regularize.report.words import gap_words, names


def closed_in_file(mechanism: Mechanism, patcher: Patcher) -> Absorbed:
    """The model with gaps absorbed by frames that its file can hold.

    Raises:
        UnsupportedExport: A loop stays open.
    """
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
    """The edits that move frames, but for texts that other edits write anew.

    Args:
        patcher: Of the file.
        closed: What is moved.
        others: Edits that give joints other kinds, where they stand in the closed model.
    """
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
