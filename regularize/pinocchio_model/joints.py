"""Elementary motions of joints, and Pinocchio's joint models of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regularize.kernel.machine import MovingPart
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge
from regularize.pinocchio_model.library import pin


@dataclass(frozen=True, eq=False, repr=False)
class Motion:
    """One elementary motion of a joint.

    Attributes:
        kind: One of ``kernel.machine.KINDS``.
        placement: Where it starts, seen from the motion before it, shape (4, 4).
        axis: Unit vector of ``turn``, ``circle`` and ``slide`` in its own frame, shape (3,).
        pitch: Metres per radian of ``turn``.
    """

    kind: str
    placement: Array
    axis: Array = field(default_factory=lambda: np.zeros(3))
    pitch: float = 0.0


def motions_of(edge: Edge, backwards: bool, before: Array) -> tuple[list[Motion], Array]:
    """Elementary motions of an edge, each with its placement after the one before.

    Args:
        edge: The elementary joint.
        backwards: Whether its motion is to be inverted.
        before: Placement accumulated since the last motion, shape (4, 4).

    Returns:
        The motions, and the placement left over after the last one.
    """
    if edge.group:
        return [Motion("free" if edge.freedoms == 6 else "ball", before)], np.eye(4)
    order = range(edge.freedoms - 1, -1, -1) if backwards else range(edge.freedoms)
    motions = []
    for k in order:
        direction, point, pitch = screw.axis_of(edge.screws[:, k])
        axis = -direction if backwards else direction
        # A motion turns about its own origin: go to a point of the axis and back again.
        to_axis = screw.transform(None, point)
        kind = "slide" if pitch is None else "turn"
        pitch = 0.0 if pitch is None or abs(pitch) < 1e-12 else pitch
        motions.append(Motion(kind, before @ to_axis, axis, pitch))
        before = screw.inverse(to_axis)
    return motions, before


def joint_model(part: MovingPart) -> Any:
    """Pinocchio's joint model of a part."""
    if part.kind == "free":
        return pin.JointModelFreeFlyer()
    if part.kind == "ball":
        return pin.JointModelSpherical()
    return aligned(
        "P" if part.kind == "slide" else "H" if part.pitch else "R", part.axis, part.pitch
    )


def aligned(letter: str, axis: Array, pitch: float) -> Any:
    """The joint model about a coordinate axis where possible, else the one for any axis."""
    for name, e in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, e):
            model = getattr(pin, f"JointModel{letter}{name}")
            return model(pitch) if letter == "H" else model()
    general = {
        "R": "JointModelRevoluteUnaligned",
        "P": "JointModelPrismaticUnaligned",
        "H": "JointModelHelicalUnaligned",
    }[letter]
    return getattr(pin, general)(axis, pitch) if letter == "H" else getattr(pin, general)(axis)
