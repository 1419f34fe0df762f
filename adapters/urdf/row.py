"""A joint as a row of the joints that URDF has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.adapters.common.serial import axis_in_frame, pitch_of, serial, slide_name
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint, JointDynamics


def in_a_row(joint: Joint) -> tuple[list[Joint], dict[str, tuple[str, float]]]:
    """A joint as the joints of URDF that it amounts to, one after the other.

    Returns:
        Hinges, slides, and joints that URDF has as they are, with massless links between them; and
        the slide of each screw: the hinge that it follows, and the pitch in metres per radian.
    """
    if joint.kind in ("fixed", "free", "spherical"):
        return [joint], {}
    if joint.kind == "planar":
        normal = axis_in_frame(joint, 2)
        if np.array_equal(joint.screws, joint_screws("planar", normal)):
            return [joint], {}
    result: list[Joint] = []
    slides: dict[str, tuple[str, float]] = {}
    for part in serial(joint):
        if part.kind != "helical":
            result.append(part)
            continue
        # A screw is a hinge and a slide along it that mimics the hinge.
        between = f"{part.name}/slide"
        direction = axis_in_frame(part)
        hinge = joint_screws("revolute", direction)
        slide = joint_screws("prismatic", direction)
        identity = np.eye(4)
        result.append(
            replace(part, child=between, kind="revolute", screws=hinge, T_child_joint=identity)
        )
        slides[slide_name(part.name)] = (part.name, pitch_of(part))
        result.append(
            replace(
                part,
                name=slide_name(part.name),
                parent=between,
                kind="prismatic",
                screws=slide,
                T_parent_joint=identity,
                limits=None,
                dynamics=JointDynamics(),
                actuated=None if part.actuated is None else False,
                position=pitch_of(part) * part.position,
            )
        )
    return result, slides
