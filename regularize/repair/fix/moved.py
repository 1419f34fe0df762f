"""A changed model moved in its engine before it takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regularize.adapters.common.edits import Edit, Patch, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.errors import ModelError
from regularize.mechanism.mechanism import Mechanism
from regularize.repair.engines.motion import DURATION, WIDER
from regularize.repair.engines.table import PhysicsEngine
from regularize.repair.engines.trial import SOFT, EngineTest, Handed, MotionTrial
from regularize.repair.fix.changed_files import Placing, placed
from regularize.repair.statics.joint_changes import with_joints

#: Where softness is left alone, gaps may be so many times as wide; loops that come open are wider.
SOFTER = 10.0


def hold_in(patcher: Patcher, engine: PhysicsEngine | None) -> None:
    """Let a patcher offer only kinds that an engine holds, if there is one."""
    if engine is not None:
        patcher.engine_holds, patcher.closures_first = engine.held, engine.articulated


def refuse_unheld(
    engine: PhysicsEngine | None, patcher: Patcher, wanted: Sequence[WantedKind]
) -> None:
    """Raise ``ModelError`` about the first wanted kind that the file holds and an engine not."""
    for change in wanted:
        joint = change.joint
        if engine is None or change.kind == joint.kind or engine.held(joint, [change.kind]):
            continue
        if change.kind not in patcher.kinds(joint):
            patcher.patch([change])  # which says what the file holds, where it holds that neither
        raise engine.refuse(joint, change.kind, engine.held(joint, patcher.kinds(joint)))


def trial_of(patcher: Patcher, engine: PhysicsEngine | None, *changes: Any) -> MotionTrial | None:
    """Move a patcher's model as it is in its engine; None without engine, or without changes."""
    if engine is None or not any(map(bool, changes)):
        return None
    source = getattr(patcher, "builder", patcher.path)
    return MotionTrial(engine, Handed(patcher.mechanism, source))


def stiffest(
    patcher: Patcher, trial: MotionTrial | None, before: Mechanism, wanted: Sequence[WantedKind]
) -> Patch:
    """Return the edits of wanted kinds whose loops open no wider in their engine than before."""
    before_gap = trial.soft_gap(trial.before) if trial is not None and trial.soft else None
    if trial is None or before_gap is None or not wanted:
        return patcher.patch(wanted)
    meant = with_joints(before, (change.replacement for change in wanted))

    def gap_of(edits: Sequence[Edit]) -> float | None:
        """Return the largest gap in the engine of a model with some edits; None: unstable."""
        with placed(patcher, edits) as path:
            long, usual = (trial.soft_gap(Handed(meant, path), t) for t in (SOFT, DURATION))
        if long is None or usual is None or not trial.largest_gap:
            return long
        return max(long, before_gap * usual / trial.largest_gap)

    return patcher.as_stiff(wanted, gap_of, before_gap)


def moved_there(
    trial: MotionTrial | None, placing: Placing, after: Mechanism, freedoms: range, softer: bool
) -> EngineTest | None:
    """Move the edited files in the engine; raises ``ModelError`` where they do otherwise there."""
    if trial is None:
        return None
    try:
        with placed(placing.patcher, placing.edits) as path:
            return trial.compare(Handed(after, path), freedoms, SOFTER if softer else WIDER)
    except ModelError as error:
        raise ModelError(f"{placing.main}: {error}; nothing is written") from error
