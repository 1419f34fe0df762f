"""Joints that others make superfluous, to be taken out of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from regularize.adapters.common.patching import Patcher
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.fix.proposals import Kinds, designed
from regularize.repair.statics.cure import closure_rank
from regularize.repair.statics.isostatic import referred, same_motion


def without_idle(
    reduction: Reduction, patcher: Patcher, welds: bool
) -> tuple[Reduction, tuple[Joint, ...]]:
    """Take out joints, or ``welds`` alone, within rigid bodies, and superfluous mates of a pair."""
    mechanism, removed = reduction.mechanism, list[Joint]()
    for joint in reduction.idle_joints:
        if (welds and joint.freedoms) or joint.name in referred(mechanism):
            continue  # what was meant to move
        if patcher.removable(joint):
            removed.append(joint)
            mechanism = without(mechanism, joint)
    for joint in mechanism.joints:
        mates = patcher.mates(joint)
        enough = next((mate for mate in mates if mate.freedoms == joint.freedoms), None)
        if enough is not None and joint.name not in referred(mechanism):
            removed += [mate for mate in mates if mate is not enough]
            kept = (enough if each is joint else each for each in mechanism.joints)
            mechanism = replace(mechanism, joints=tuple(kept))
    return (reduce(mechanism, rtol=reduction.rtol) if removed else reduction), tuple(removed)


def without_implied(
    reduction: Reduction, kinds: Kinds, removable: Callable[[Joint], bool]
) -> tuple[Reduction, tuple[Joint, ...]]:
    """Remove closing joints whose equations follow from others, the least changeable first."""
    removed: list[Joint] = []
    q = np.array(reduction.q)
    for cell in reduction.cells:
        q[reduction.graph.columns(cell.edges)] = cell.configurations[-1]
    placed = with_coordinates(reduction.mechanism, q)
    free = _freedoms(placed, reduction.rtol)
    joints = reduction.mechanism.joints[::-1]
    for joint in sorted(joints, key=lambda joint: len(kinds[joint.name])):
        count, mechanism = 6 - joint.freedoms, reduction.mechanism
        edges, cells = reduction.graph.edges, reduction.cells
        looped = {edges[e].joint.name for cell in cells for e in cell.edges}
        closes = joint.closure or (designed(mechanism) and joint.name in looped)
        if not closes or reduction.removed < count or joint.name in referred(mechanism):
            continue
        shorter = without(placed, joint)
        if not removable(joint) or _freedoms(shorter, reduction.rtol) > free:
            continue
        smaller = reduce(without(mechanism, joint), rtol=reduction.rtol, seed=reduction.seed)
        if same_motion(smaller, reduction) and smaller.removed == reduction.removed - count:
            reduction, placed = smaller, shorter
            removed.append(joint)
    return reduction, tuple(removed)


def without(mechanism: Mechanism, joint: Joint) -> Mechanism:
    """Return the mechanism without one joint."""
    return replace(mechanism, joints=tuple(j for j in mechanism.joints if j.name != joint.name))


def _freedoms(mechanism: Mechanism, rtol: float) -> int:
    """Count the independent velocities of a mechanism at its stored configuration."""
    graph = build(mechanism)
    freedoms = graph.freedoms
    for cell in graph.cells:
        loops = sized_loops(graph, graph.position, cell)
        freedoms -= closure_rank(loops, loops.state(graph.position[loops.columns]), rtol)
    return freedoms
