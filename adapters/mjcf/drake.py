"""Writing MJCF that Drake's parser reads with its loops.

Drake takes a ``<connect>`` between two bodies by its anchor, and the second body's point from the
pose in which all coordinates are zero. It passes over welds, sites, relations between joints and
keyframes with a warning, so what needs them is refused by name instead.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from regularize.adapters.common.names import listed
from regularize.adapters.mjcf.write import written
from regularize.errors import UnsupportedExport
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import motion
from regularize.mechanism.mechanism import Joint, Mechanism

#: Equations that Drake does not read.
UNREAD = {
    "joint": "relations between joints",
    "tendon": "relations between joints",
    "weld": "welds of sites",
    "connect": "connects of sites",
}


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as MJCF for Drake; its zeros are the reference pose.

    Raises:
        UnsupportedExport: Drake would leave a constraint out without a word, or refuse the masses.
    """
    moved = [joint.name for joint in mechanism.joints if np.any(joint.position)]
    mechanism = replace(mechanism, joints=tuple(map(_at_zero, mechanism.joints)))
    tree = written(mechanism, "DRAKE", welds=False)
    lost: dict[str, list[str]] = {}
    for row in tree.root.iterfind("equality/*"):
        if row.tag != "connect" or row.get("site1") is not None:
            lost.setdefault(UNREAD[row.tag], []).append(row.get("name") or row.tag)
    # What MJCF has no words for is left out by its writer, which is another machine as well.
    names = [coupling.name for coupling in mechanism.couplings]
    lost |= {UNREAD["joint"]: names} if names else {}
    if lost:
        what = "; ".join(f"{kind}: {listed(names)}" for kind, names in lost.items())
        raise UnsupportedExport(
            f"Drake's parser passes over {what}; build the plant in Python and add these there, or "
            "export to mjcf for MuJoCo"
        )
    if tree.root.find("equality") is None:
        tree.lose("gets a tree without constraints: the model has no loops", "note")
    if moved:
        tree.lose(
            f"counts coordinates from the pose as drawn: {listed(moved)} are zero there", "note"
        )
    return tree.save(path)


def _at_zero(joint: Joint) -> Joint:
    """The joint with its coordinates zero at its place, as far as the motion is one of a group."""
    if not np.any(joint.position):
        return joint
    turned = joint.T_parent_joint @ motion(joint, joint.position)
    if joint.freedoms == 1 and joint.kind in ("revolute", "prismatic"):
        limits = joint.limits
        if limits is not None and limits.lower is not None and limits.upper is not None:
            limits = replace(
                limits, lower=limits.lower - joint.position, upper=limits.upper - joint.position
            )
        zero = np.zeros(1)
        return replace(joint, T_parent_joint=turned, position=zero, limits=limits)
    raise UnsupportedExport(
        f"Drake closes loops where all coordinates are zero: those of the {joint.kind} joint "
        f"`{joint.name}` are not; draw the model at zero"
    )
