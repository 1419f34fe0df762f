"""Closing joints that others make superfluous, and slack links in place of looser joints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from regularize.adapters.common.edits import SlackLinks, WantedSlack
from regularize.errors import UnsupportedExport
from regularize.lie.subalgebra import decide_rank
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Joint, Mechanism
from regularize.reduction.numerical import Numerical
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.fix.proposals import Kinds
from regularize.repair.statics.isostatic import ClosureChange, same_motion, slack
from regularize.repair.statics.joint_changes import JointChange
from regularize.repair.statics.stress_search import MechanismStress, independent_changes
from regularize.repair.statics.welds import chosen_welds


class SlackPlan(NamedTuple):
    """What makes a model isostatic where its file has too few kinds of joints."""

    #: Joints that become another kind, with slack links beside them or not.
    changes: tuple[JointChange, ...]
    #: Slack links, and joints to take out.
    wanted: WantedSlack
    #: The model that the changed file is to hold.
    expected: Mechanism
    #: Redundant equations seen at the configurations visited, and not proved.
    numerical: int


def gaining_changes(reduction: Reduction, kinds: Kinds) -> list[JointChange]:
    """Take changes that gain most first, as long as each new freedom takes self-stress away."""
    stress, found = MechanismStress.of(reduction), []
    for cell in (cell for cell in reduction.cells if cell.redundant):
        options = stress.changes(reversed(cell.edges), kinds)
        options.sort(key=lambda option: -option.gain)
        found += independent_changes(stress.cell(cell), options)
    return found


def slack_plan(reduction: Reduction, kinds: Kinds) -> SlackPlan | None:
    """Plan other kinds of joints as far as they go, then slack links beside closing joints.

    A closing joint all of whose equations follow from others is taken out instead. None where the
    plan would not keep the motion, or leave more than what special dimensions make redundant.
    """
    gaining = gaining_changes(reduction, kinds)
    if sum(change.gain for change in gaining) > reduction.redundant:
        gaining = []
    ways: tuple[Numerical, ...] = (False, "anyway")
    for changes in (gaining, []) if gaining else ([],):
        new = {change.joint: change.replacement for change in changes}
        whole = reduction.mechanism
        changed = replace(whole, joints=tuple(new.get(j.name, j) for j in whole.joints))
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
    reduction: Reduction, first: Collection[JointChange], kept: Reduction
) -> SlackPlan | None:
    """Plan slack links where some joints change first, as their reduction asks for."""
    before, expected = reduction.mechanism, kept.mechanism
    changes = {change.joint: change for change in first}
    made: list[ClosureChange] = []
    removed: list[Joint] = []
    chosen = chosen_welds(kept)
    for weld in chosen:
        cut = weld.cut.edge.joint
        joint = before.joint(cut.name)
        # A cut joint without rows of its own holds nothing that other joints do not hold.
        idle = len(weld.rows) == (0 if weld.point else cut.freedoms)
        if joint.closure and idle and not _referred(before, joint):
            removed.append(joint)
            changes.pop(joint.name, None)
        elif weld.implied:
            try:
                expected, change = slack(expected, kept, weld, [])
            except UnsupportedExport:  # inside a joint of several freedoms
                return None
            made.append(change)
    for joint in removed:
        expected = _without(expected, joint)
    after = reduce(expected, rtol=reduction.rtol, seed=reduction.seed)
    same = same_motion(after, reduction)
    if not same or after.redundant > reduction.remaining or not (made or removed):
        return None
    bodies = {body.name for body in before.bodies}
    links = []
    for change in made:
        joints = tuple(expected.joint(name) for name in change.added)
        new = {name for joint in joints for name in (joint.parent, joint.child)} - bodies
        own = tuple(body for body in expected.bodies if body.name in new)
        old, closing = before.joint(change.joint), expected.joint(change.joint)
        links.append(SlackLinks(old, closing, change.before, own, joints))
    shares = {}
    for body in before.bodies:
        one, two = body.inertia, expected.body(body.name).inertia
        if one is not None and two is not None and two.mass != one.mass:
            shares[body.name] = two.mass / one.mass
    seen = sum(weld.cut.numerical.shape[1] for weld in chosen)
    wanted = WantedSlack(tuple(links), shares, tuple(removed))
    return SlackPlan(tuple(changes.values()), wanted, expected, seen)


def without_implied(
    reduction: Reduction, kinds: Kinds, removable: Callable[[Joint], bool]
) -> tuple[Reduction, tuple[Joint, ...]]:
    """Take closing joints out all of whose equations provably follow from others.

    Of closing joints that do the same, one stays that can become most other kinds, the first of
    these. ``slack_plan`` chooses rows, and which of two equal rows it keeps is up to rounding.
    """
    removed: list[Joint] = []
    q = np.array(reduction.q)
    for cell in reduction.cells:
        q[reduction.graph.columns(cell.edges)] = cell.configurations[-1]
    placed = with_coordinates(reduction.mechanism, q)
    free = _freedoms(placed, reduction.rtol)
    joints = reduction.mechanism.joints[::-1]
    for joint in sorted(joints, key=lambda joint: len(kinds[joint.name])):
        count, mechanism = 6 - joint.freedoms, reduction.mechanism
        if not joint.closure or reduction.removed < count or _referred(mechanism, joint):
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
    return replace(mechanism, joints=tuple(j for j in mechanism.joints if j.name != joint.name))


def _freedoms(mechanism: Mechanism, rtol: float) -> int:
    """Count the velocities that are possible where a mechanism is stored."""
    graph = build(mechanism)
    freedoms = graph.freedoms
    for cell in graph.cells:
        loops = sized_loops(graph, graph.position, cell)
        jacobian = loops.jacobian(loops.state(graph.position[loops.columns]))[0] * loops.units
        freedoms -= decide_rank(np.linalg.svd(jacobian, compute_uv=False), rtol).rank
    return freedoms


def _referred(mechanism: Mechanism, joint: Joint) -> bool:
    """Say whether anything else in the model names a joint."""
    names = [name for coupling in mechanism.couplings for name, _, _ in coupling.terms]
    names += [actuator.joint for actuator in mechanism.actuators]
    names += [motion.joint for motion in mechanism.motions]
    return joint.name in names
