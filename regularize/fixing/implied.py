"""Closing joints that others make superfluous."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from regularize.model.mechanism import Joint, Mechanism
from regularize.reduction.reduce import Reduction, reduce


def without_implied(
    reduction: Reduction,
    kinds: Mapping[str, Collection[str]],
    removable: Callable[[Joint], bool],
) -> tuple[Reduction, tuple[Joint, ...]]:
    """The model without closing joints all of whose equations provably follow from others.

    Of closing joints that do the same, one stays that can become most other kinds, the first of
    these. ``slack_plan`` chooses rows, and which of two equal rows it keeps is up to rounding.

    Args:
        reduction: Of the mechanism.
        kinds: Kinds that each joint can become.
        removable: Whether the file lets a joint go.

    Returns:
        Analysis of what is left, and the joints that can go.
    """
    removed: list[Joint] = []
    joints = reduction.mechanism.joints[::-1]
    for joint in sorted(joints, key=lambda joint: len(kinds[joint.name])):
        count = 6 - joint.freedoms
        mechanism = reduction.mechanism
        if not joint.closure or reduction.removed < count or referred(mechanism, joint):
            continue
        if not removable(joint):
            continue
        rest = tuple(other for other in mechanism.joints if other is not joint)
        less = reduce(replace(mechanism, joints=rest), rtol=reduction.rtol, seed=reduction.seed)
        if same_motion(less, reduction) and less.removed == reduction.removed - count:
            reduction = less
            removed.append(joint)
    return reduction, tuple(removed)


def same_motion(one: Reduction, other: Reduction) -> bool:
    """Whether two reductions find the same mobility."""
    return (one.mobility, one.finite_mobility) == (other.mobility, other.finite_mobility)


def referred(mechanism: Mechanism, joint: Joint) -> bool:
    """Whether anything else in the model names a joint."""
    named = [name for coupling in mechanism.couplings for name, _, _ in coupling.terms]
    named += [each.joint for each in mechanism.actuators]
    named += [each.joint for each in mechanism.motions]
    return joint.name in named
