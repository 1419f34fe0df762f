"""Limits and dynamics of all joints side by side, one value per joint coordinate."""

from __future__ import annotations

import numpy as np

from regularize.lie.screw import Array
from regularize.model.mechanism import Mechanism


def dynamics_of(mechanism: Mechanism, key: str) -> Array:
    """A value of ``Joint.dynamics`` for every joint coordinate, zero where it is not stated, (n,).

    Args:
        mechanism: The mechanism.
        key: Name of the value, such as ``damping``.
    """
    parts = [np.zeros(0)]
    for joint in mechanism.joints:
        values = getattr(joint.dynamics, key)
        parts.append(np.zeros(joint.freedoms) if values is None else values)
    return np.concatenate(parts)


def limits_of(mechanism: Mechanism, key: str, unstated: float | None = None) -> Array:
    """A value of ``Joint.limits`` for every joint coordinate, infinite where there is none, (n,).

    Args:
        mechanism: The mechanism.
        key: ``lower``, ``upper``, ``velocity`` or ``effort``.
        unstated: What position bounds are where the limits state none; infinite if None.
    """
    none = -np.inf if key == "lower" else np.inf
    left_out = none if unstated is None or key not in ("lower", "upper") else unstated
    parts = [np.zeros(0)]
    for joint in mechanism.joints:
        values = none if joint.limits is None else getattr(joint.limits, key)
        parts.append(np.full(joint.freedoms, left_out if values is None else values))
    return np.concatenate(parts)
