"""Pinocchio joint models of elementary joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge
from regularize.pinocchio_model.library import pin


def elementary_models(
    edge: Edge, backwards: bool, before: Array
) -> tuple[list[tuple[Any, Array]], Array]:
    """Pinocchio joint models of an edge, each with its placement after the one before.

    Args:
        edge: The elementary joint.
        backwards: Whether its motion is to be inverted.
        before: Placement accumulated since the last joint model, shape (4, 4).

    Returns:
        The models with placements, and the placement left over after the last one.
    """
    if edge.group:
        model = pin.JointModelFreeFlyer() if edge.freedoms == 6 else pin.JointModelSpherical()
        return [(model, before)], np.eye(4)
    order = range(edge.freedoms - 1, -1, -1) if backwards else range(edge.freedoms)
    models = []
    for k in order:
        direction, point, pitch = screw.axis_of(edge.screws[:, k])
        axis = -direction if backwards else direction
        # A joint model turns about its own origin: go to a point of the axis and back again.
        to_axis = screw.transform(None, point)
        letter = "P" if pitch is None else "R" if abs(pitch) < 1e-12 else "H"
        models.append((aligned(letter, axis, pitch or 0.0), before @ to_axis))
        before = screw.inverse(to_axis)
    return models, before


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
