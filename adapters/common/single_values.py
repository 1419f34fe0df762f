"""Joints that their bounds leave a single value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.adapters.common.names import listed
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Mechanism


def report(mechanism: Mechanism) -> Mechanism:
    """The mechanism with a note on joints whose lower and upper bound are equal.

    Some exporters write zeros where there are no bounds, others mean a joint that stands still.
    Bounds are no constraints here, so such a joint is one that moves.
    """
    held = [
        joint
        for joint in mechanism.joints
        if joint.limits is not None and np.any(joint.limits[:, 0] == joint.limits[:, 1])
    ]
    if not held:
        return mechanism
    finding = Diagnostic(
        "REG013",
        "note",
        f"bounds leave a single value to {listed([joint.name for joint in held])}: bounds are no "
        "constraints here, so these joints are free to move",
        joints=tuple(joint.name for joint in held),
        source=held[0].source,
        help=("make a joint fixed if it is meant to stand still",),
    )
    if finding in mechanism.findings:  # from the file that a mechanism was saved to
        return mechanism
    return replace(mechanism, findings=(*mechanism.findings, finding))
