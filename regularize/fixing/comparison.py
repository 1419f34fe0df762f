"""What must not differ between a model and the same model with some joints changed."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from regularize.lie.screw import Array
from regularize.model.mechanism import Body, Joint, Mechanism


def differences(before: Mechanism, after: Mechanism, changed: Collection[str]) -> list[str]:
    """What a change of some joints touched beside them, in words; empty where nothing."""
    found = []
    bodies = {body.name: body for body in after.bodies}
    for body in before.bodies:
        other = bodies.get(body.name)
        if other is None:
            found.append(f"body `{body.name}` is gone")
        elif not _same_body(body, other):
            found.append(f"body `{body.name}` has other mass properties or shapes")
    joints = {joint.name: joint for joint in after.joints}
    for joint in before.joints:
        kept = joints.get(joint.name)
        if joint.name in changed:
            continue
        if kept is None:
            found.append(f"joint `{joint.name}` is gone")
        elif not _same_joint(joint, kept):
            found.append(f"joint `{joint.name}` is another one")
    old = {body.name for body in before.bodies}
    heavy = [b.name for b in after.bodies if b.name not in old and b.inertia and b.inertia.mass]
    found += [f"body `{name}` is new and has mass" for name in heavy]
    if len(before.couplings) != len(after.couplings):
        found.append("couplings are lost")
    if len(before.motions) != len(after.motions):
        found.append("prescribed motions are lost")
    if not np.array_equal(before.gravity, after.gravity) or before.ground != after.ground:
        found.append("gravity or the ground is another one")
    return found


def _same_body(one: Body, other: Body) -> bool:
    if (one.inertia is None) != (other.inertia is None) or len(one.geometry) != len(other.geometry):
        return False
    if one.inertia is None or other.inertia is None:
        return True
    return (
        one.inertia.mass == other.inertia.mass
        and _close(one.inertia.center, other.inertia.center)
        and _close(one.inertia.matrix, other.inertia.matrix)
    )


def _same_joint(one: Joint, other: Joint) -> bool:
    return (
        one.kind == other.kind
        and _close(one.screws, other.screws)
        and _same_bounds(one.limits, other.limits)
        and one.actuated == other.actuated
    )


def _same_bounds(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


def _close(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-9, atol=1e-12))
