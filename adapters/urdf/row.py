"""A joint as a row of the joints that URDF has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from regularize.adapters.common.write import axis_in_frame, pitch_of, serial
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint


@dataclass(frozen=True)
class Row:
    """Joints that together are one joint of the model.

    Attributes:
        joints: Hinges, slides, and joints that URDF has as they are; massless links between them.
        slides: Slide of each screw: the hinge that it follows, and the pitch in metres per radian.
    """

    joints: tuple[Joint, ...]
    slides: Mapping[str, tuple[str, float]] = field(default_factory=dict)


def in_a_row(joint: Joint) -> Row:
    """A joint as the joints of URDF that it amounts to, one after the other."""
    if joint.kind in ("fixed", "free", "spherical"):
        return Row((joint,))
    if joint.kind == "planar":
        normal = axis_in_frame(joint, 2)
        if np.array_equal(joint.screws, joint_screws("planar", normal)):
            return Row((joint,))
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
        slides[f"{part.name}_slide"] = (part.name, pitch_of(part))
        result.append(
            replace(
                part,
                name=f"{part.name}_slide",
                parent=between,
                kind="prismatic",
                screws=slide,
                T_parent_joint=identity,
                limits=None,
                actuated=None if part.actuated is None else False,
                position=pitch_of(part) * part.position,
            )
        )
    return Row(tuple(result), slides)
