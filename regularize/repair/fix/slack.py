"""Closing joints that others make superfluous, and slack links in place of looser joints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.adapters.common.edits import SlackLinks, WantedSlack
from regularize.errors import UnsupportedExport
from regularize.lie.subalgebra import decide_rank
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Joint, Mechanism
from regularize.reduction.numerical import Numerical
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.isostatic import ClosureChange, same_motion, slack
from regularize.repair.statics.joint_changes import JointChange
from regularize.repair.statics.stress_search import SelfStress, independent_changes
from regularize.repair.statics.welds import chosen_welds


@dataclass(frozen=True, eq=False)
class SlackPlan:
    """What makes a model isostatic where its file has too few kinds of joints."""

    changes: tuple[JointChange, ...]
    wanted: WantedSlack
    expected: Mechanism
    numerical: int


def gaining_changes(
    reduction: Reduction, kinds: Mapping[str, Collection[str]]
) -> list[JointChange]:
    """Take changes that gain most first, as long as each new freedom takes self-stress away."""
    stress, found = SelfStress.of(reduction), []
    for cell in (cell for cell in reduction.cells if cell.redundant):
        options = stress.changes(reversed(cell.edges), kinds)
        options.sort(key=lambda option: -option.gain)
        found += independent_changes(stress.cell(cell), options)
    return found


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


def without_implied(
    reduction: Reduction, kinds: Mapping[str, Collection[str]], removable: Callable[[Joint], bool]
) -> tuple[Reduction, tuple[Joint, ...]]:
    """The model without closing joints all of whose equations provably follow from others."""
    removed: list[Joint] = []
    q = np.array(reduction.q)
    for cell in reduction.cells:
        q[reduction.graph.columns(cell.edges)] = cell.configurations[-1]
    placed = with_coordinates(reduction.mechanism, q)
    free = _freedoms(placed, reduction.rtol)
    joints = reduction.mechanism.joints[::-1]
    for joint in sorted(joints, key=lambda joint: len(kinds[joint.name])):
        count = 6 - joint.freedoms
        mechanism = reduction.mechanism
        if not joint.closure or reduction.removed < count or referred(mechanism, joint):
            continue
        without = _without(placed, joint)
        if not removable(joint) or _freedoms(without, reduction.rtol) > free:
            continue
        less = reduce(_without(mechanism, joint), rtol=reduction.rtol, seed=reduction.seed)
        if same_motion(less, reduction) and less.removed == reduction.removed - count:
            reduction, placed = less, without
            removed.append(joint)
    return reduction, tuple(removed)


def _without(mechanism: Mechanism, joint: Joint) -> Mechanism:
    joints = tuple(other for other in mechanism.joints if other.name != joint.name)
    return replace(mechanism, joints=joints)


def _freedoms(mechanism: Mechanism, rtol: float) -> int:
    """How many velocities are possible where a mechanism is stored."""
    graph = build(mechanism)
    freedoms = graph.freedoms
    for cell in graph.cells:
        loops = sized_loops(graph, graph.position, cell)
        jacobian = loops.jacobian(loops.state(graph.position[loops.columns]))[0] * loops.units
        freedoms -= decide_rank(np.linalg.svd(jacobian, compute_uv=False), rtol).rank
    return freedoms


def referred(mechanism: Mechanism, joint: Joint) -> bool:
    """Whether anything else in the model names a joint."""
    named = [name for coupling in mechanism.couplings for name, _, _ in coupling.terms]
    named += [each.joint for each in mechanism.actuators]
    named += [each.joint for each in mechanism.motions]
    return joint.name in named
