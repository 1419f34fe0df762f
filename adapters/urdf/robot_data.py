"""``robot_data.yaml``: what an exporter of Fusion 360 assemblies writes beside a URDF tree.

::

    joints:
      elbow: {passive: true, ...}            # the joints of the tree once more
    closing_joints:
      - name: slider
        type: prismatic                      # revolute, continuous, prismatic or fixed
        parent: base_link
        child: jaw
        origin_xyz_m: [0.05, 0.03, 0.02]     # of the joint, in the parent link
        origin_rpy_rad: [0.0, 0.0, 1.5708]   # of the child link, in the parent link
        axis: [1.0, 0.0, 0.0]                # in the child link
        limits: {lower: -0.01, upper: 0.02}

All of it holds where the coordinates of the tree are zero, so the point of the joint in the child
link follows from the tree. Axes are rounded to four decimals, which would keep parallel axes from
being parallel: one that is parallel to an axis on its loop within that rounding is read as such.

The exporter knows four types only: a cylindrical joint or a pin in a slot is written as a hinge, a
planar or a ball joint as a fixed one.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from regularize.adapters.common.closing import Z, add_closure, rest_poses
from regularize.adapters.common.draft import Draft
from regularize.adapters.common.pose import rotation_rpy
from regularize.adapters.common.yaml_mapping import YamlMapping, read_yaml
from regularize.adapters.urdf.joint import AXIAL, TYPES
from regularize.lie.screw import (
    Array,
    inverse,
    transform,
    unit,
)

NAME = "robot_data.yaml"
#: The key of a list that is not empty: the exporter writes ``closing_joints: []`` for trees.
KEY = re.compile(rb"^closing_joints\s*:(?!\s*(?:\[\s*\]|\{\s*\}|null|~)\s*$)", re.M)
#: Types of closing joints: those of the exporter, and those that it lacks.
KINDS = {name: kind for name, kind in TYPES.items() if kind not in ("free", "universal")}
#: A larger angle between the child link in this file and in the URDF file is reported, in radians.
MISFIT = 1e-3
#: The exporter writes axes with four decimals; the angle between such an axis and the true one.
ROUNDING = 1e-4


def close(file: str, draft: Draft) -> None:
    """Add the closing joints of a file, and say which joints of the tree are passive.

    Raises:
        ReadError: The file is not of this layout.
    """
    data = read_yaml(file, "`closing_joints:` with a list of joints")
    for entry in data.entries("closing_joints"):
        _close(entry, draft)
    for name, joint in data.named("joints").items():
        if joint.value("passive") is True and name in draft.joints:
            draft.joints[name] = replace(draft.joints[name], actuated=False)


def _close(entry: YamlMapping, draft: Draft) -> None:
    written = entry.need("type")
    if written not in KINDS:
        expected = ", ".join(KINDS)
        raise entry.error(f"type {written!r} is unknown; expected one of {expected}", "type")
    kind = KINDS[written]
    parent, child = entry.link("parent", draft), entry.link("child", draft)
    T_parent, T_child = rest_poses(entry, parent, child, draft)
    rpy = entry.vector("origin_rpy_rad", (0.0, 0.0, 0.0))
    T_parent_joint = transform(rotation_rpy(*rpy), entry.vector("origin_xyz_m"))
    T_child_joint = inverse(T_child) @ T_parent @ T_parent_joint
    axis = Z
    if kind in AXIAL:
        R_root_joint = (T_parent @ T_parent_joint)[:3, :3]
        axis = _parallel(_axis(entry), R_root_joint, (parent, child), draft)
    add_closure(
        entry,
        (parent, child),
        kind,
        (T_parent_joint, T_child_joint),
        draft,
        axis=axis,
        limits=_limits(entry, written),
    )
    _compare(entry, T_child_joint[:3, :3], child, draft)
    if kind == "fixed":
        _doubt(entry, draft)


def _axis(entry: YamlMapping) -> Array:
    try:
        return unit(entry.vector("axis"))
    except ValueError:
        reason = "`axis` has no length; give a direction such as [0, 0, 1]"
        raise entry.error(reason, "axis") from None


def _parallel(axis: Array, R_root_joint: Array, links: tuple[str, str], draft: Draft) -> Array:
    """The axis, or that of a joint on the way to which it is parallel but for its rounding."""
    written = R_root_joint @ axis
    for joint in [joint for link in links for joint in draft.chain(link)]:
        R = (draft.rest_pose(joint.parent)[1] @ joint.T_parent_joint)[:3, :3]
        for screw in joint.screws.T:
            other = R @ unit(screw[3:] if np.any(screw[3:]) else screw[:3])
            if float(np.linalg.norm(np.cross(written, other))) < ROUNDING:
                return np.asarray(R_root_joint.T @ other * np.sign(written @ other))
    return axis


def _limits(entry: YamlMapping, written: str) -> Array | None:
    bounds = entry.child("limits")
    if bounds is None or written not in ("revolute", "prismatic"):
        return None
    lower, upper = bounds.number("lower"), bounds.number("upper")
    if lower is None or upper is None:
        return None
    return np.array([[lower, upper]])


def _compare(entry: YamlMapping, R_child_joint: Array, child: str, draft: Draft) -> None:
    """Report a child link that the file sees turned against where the URDF file puts it."""
    angle = float(Rotation.from_matrix(R_child_joint).magnitude())
    if angle > MISFIT:
        draft.note(
            "REG015",
            "warning",
            f"`origin_rpy_rad` sees link `{child}` turned by {math.degrees(angle):.3g} degrees "
            "against where the URDF file puts it at zero coordinates: the joint frame is placed "
            f"by link `{entry.text('parent')}`",
            entry.source,
            "export both files together, from one state of the assembly",
            joints=(entry.text("name") or "",),
        )


def _doubt(entry: YamlMapping, draft: Draft) -> None:
    draft.note(
        "REG013",
        "note",
        f"closing joint `{entry.text('name') or entry.element}` is fixed: the exporter also writes "
        "ball joints and planar joints so",
        entry.source,
        "if it is one of these in the assembly, write `type: ball` or `type: planar`",
    )
