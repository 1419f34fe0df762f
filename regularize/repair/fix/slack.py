"""Slack links for files whose joint kinds alone cannot take away what is redundant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from regularize.adapters.common.edits import SlackLinks, WantedSlack
from regularize.errors import UnsupportedExport
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.numerical import Numerical
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.fix.provable import gaining_changes, referred, same_motion
from regularize.repair.statics.isostatic import ClosureChange, slack
from regularize.repair.statics.joint_changes import JointChange
from regularize.repair.statics.welds import chosen_welds


@dataclass(frozen=True, eq=False)
class SlackPlan:
    """What makes a model isostatic where its file has too few kinds of joints."""

    changes: tuple[JointChange, ...]
    wanted: WantedSlack
    expected: Mechanism
    numerical: int


def slack_plan(reduction: Reduction, kinds: Mapping[str, Collection[str]]) -> SlackPlan | None:
    """Other kinds of joints as far as they go, then slack links beside closing joints."""
    gaining = gaining_changes(reduction, kinds)
    if sum(change.gain for change in gaining) > reduction.redundant:
        gaining = []
    ways: tuple[Numerical, ...] = (False, "anyway")
    for changes in (gaining, []) if gaining else ([],):
        joints = {change.joint: change.replacement for change in changes}
        whole = reduction.mechanism
        changed = replace(whole, joints=tuple(joints.get(j.name, j) for j in whole.joints))
        for numerical in ways:
            options: dict[str, Any] = {"rtol": reduction.rtol, "seed": reduction.seed}
            kept = reduce(changed, keep_cuts=True, numerical=numerical, **options)
            found = _planned(reduction, changes, kept)
            if found is not None:
                return found
            if kept.remaining == 0:
                break  # there is nothing that numbers alone could tell
    return None


def _planned(
    reduction: Reduction, given: Collection[JointChange], kept: Reduction
) -> SlackPlan | None:
    """The plan that begins with some changes of joints, None where it does not do it."""
    before, expected = reduction.mechanism, kept.mechanism
    changes = {change.joint: change for change in given}
    made: list[ClosureChange] = []
    removed: list[str] = []
    findings: list[Diagnostic] = []
    chosen = chosen_welds(kept)
    for weld in chosen:
        cut = weld.cut.edge.joint
        joint = before.joint(cut.name)
        # A cut joint without rows of its own holds nothing that other joints do not hold.
        idle = len(weld.rows) == (0 if weld.point else cut.freedoms)
        if joint.closure and idle and not referred(before, joint):
            removed.append(joint.name)
            changes.pop(joint.name, None)
        elif weld.implied:
            try:
                expected, change = slack(expected, kept, weld, findings)
            except UnsupportedExport:  # inside a joint of several freedoms
                return None
            made.append(change)
    expected = replace(expected, joints=tuple(j for j in expected.joints if j.name not in removed))
    after = reduce(expected, rtol=reduction.rtol, seed=reduction.seed)
    same = same_motion(after, reduction)
    if not same or after.redundant > reduction.remaining or not (made or removed):
        return None
    wanted = WantedSlack(
        tuple(_links(before, expected, change) for change in made),
        _shares(before, expected),
        tuple(before.joint(name) for name in removed),
    )
    seen = sum(weld.cut.numerical.shape[1] for weld in chosen)
    return SlackPlan(tuple(changes.values()), wanted, expected, seen)


def _links(before: Mechanism, expected: Mechanism, change: ClosureChange) -> SlackLinks:
    joints = tuple(expected.joint(name) for name in change.added)
    ends = {name for joint in joints for name in (joint.parent, joint.child)}
    known = {body.name for body in before.bodies}
    return SlackLinks(
        before.joint(change.joint),
        expected.joint(change.joint),
        change.before,
        tuple(body for body in expected.bodies if body.name in ends - known),
        joints,
    )


def _shares(before: Mechanism, expected: Mechanism) -> dict[str, float]:
    """Part of its mass that each body keeps, where it does not keep all."""
    shares = {}
    for body in before.bodies:
        one, two = body.inertia, expected.body(body.name).inertia
        if one is not None and two is not None and two.mass != one.mass:
            shares[body.name] = two.mass / one.mass
    return shares
