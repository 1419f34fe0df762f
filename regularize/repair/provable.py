"""Changes that take away what is proved to be redundant, not what dimensions make so.

Joints become other kinds, and closing joints that others make superfluous go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from regularize.lie.subalgebra import decide_rank
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Joint, Mechanism
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, reduce
from regularize.statics.cure import changed
from regularize.statics.joint_changes import JointChange, Stressed
from regularize.tolerances import NEGLIGIBLE


def provable_changes(
    reduction: Reduction, kinds: Mapping[str, Collection[str]]
) -> tuple[JointChange, ...] | None:
    """Changes after which no more is redundant than what special dimensions make so.

    The closing joints that gain most among their kinds are taken first, as long as every new
    freedom takes a state of self-stress away. None where they do not do it.
    """
    found = gaining_changes(reduction, kinds)
    if not 0 < sum(change.gain for change in found) <= reduction.redundant:
        return None
    after = reduce(changed(reduction, found), rtol=reduction.rtol, seed=reduction.seed)
    same = same_motion(after, reduction)
    return tuple(found) if same and after.redundant <= reduction.remaining else None


def gaining_changes(
    reduction: Reduction, kinds: Mapping[str, Collection[str]]
) -> list[JointChange]:
    """Changes each of whose new freedoms takes a state of self-stress away."""
    stressed = Stressed.of(reduction)
    edges, found = reduction.graph.edges, []
    for cell in reduction.cells:
        options = [
            option
            for e in reversed(cell.edges if cell.redundant else ())
            for option in stressed.of_joint(e, kinds.get(edges[e].joint.name, ()))
        ]
        found += taking(stressed, cell, sorted(options, key=lambda option: -option.gain))
    return found


def taking(
    stressed: Stressed, cell: CellMobility, options: Sequence[JointChange]
) -> list[JointChange]:
    """One change per joint at most, all of whose freedoms take states of self-stress away.

    Args:
        stressed: The mechanism's self-stress.
        cell: The loops concerned.
        options: Changes of their joints, the preferred ones first.
    """
    if not options:
        return []
    blocks, states = stressed.seen(cell.edges, options)
    found, taken, count = list[JointChange](), set[str](), 0
    every = np.zeros((states, states), order="F")
    for option, block in zip(options, blocks, strict=True):
        if count == states:
            break
        if option.joint in taken or option.gain > states - count:
            continue
        space = every[:, :count]
        # Of many loops' states a joint sees few, and so do most of those that are taken.
        rows = np.flatnonzero(block.any(axis=1))
        along = space[rows].T @ block[rows]
        met = np.flatnonzero(np.abs(along).max(axis=1, initial=0.0) > NEGLIGIBLE)
        rest = block - space[:, met] @ along[met]
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        new = u[:, s > stressed.reduction.rtol]
        if new.shape[1] == option.gain:
            every[:, count : count + option.gain] = new
            count += option.gain
            found.append(option)
            taken.add(option.joint)
    return found


def without_implied(
    reduction: Reduction,
    kinds: Mapping[str, Collection[str]],
    removable: Callable[[Joint], bool],
) -> tuple[Reduction, tuple[Joint, ...]]:
    """The model without closing joints all of whose equations provably follow from others.

    Of closing joints that do the same, one stays that can become most other kinds, the first of
    these. A joint that the file does not let go stays as well. ``slack_plan`` chooses rows, and
    which of two equal rows it keeps is up to rounding.

    Returns:
        Analysis of what is left, and the joints that can go.
    """
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


def same_motion(one: Reduction, other: Reduction) -> bool:
    """Whether two reductions find the same mobility."""
    return (one.mobility, one.finite_mobility) == (other.mobility, other.finite_mobility)


def referred(mechanism: Mechanism, joint: Joint) -> bool:
    """Whether anything else in the model names a joint."""
    named = [name for coupling in mechanism.couplings for name, _, _ in coupling.terms]
    named += [each.joint for each in mechanism.actuators]
    named += [each.joint for each in mechanism.motions]
    return joint.name in named
