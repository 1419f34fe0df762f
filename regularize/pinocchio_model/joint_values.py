"""Limits and dynamics of joints in the arrays of a Pinocchio model, and what has none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.joint import Joint
from regularize.model.joint_values import dynamics_of, limits_of
from regularize.pinocchio_model.coordinates import ModelCoordinates

#: Values of a joint's dynamics that a Pinocchio model holds.
HELD = ("damping", "friction", "armature")


def joint_values(coordinates: ModelCoordinates) -> dict[str, Array]:
    """Limits and dynamics of the tree's joints, by the names of the arrays of a Pinocchio model.

    What the mechanism leaves open is infinite, bounds that a URDF ``<limit>`` leaves out are zero,
    and components of unit quaternions get bounds just beyond one: as by Pinocchio's own readers.
    """
    mechanism, tree = coordinates.graph.mechanism, coordinates.tree
    found: dict[str, Array] = {}
    own = np.flatnonzero(coordinates.columns >= 0)
    columns = coordinates.columns[own]
    for key in HELD:
        values = np.zeros(tree.nv)
        values[own] = dynamics_of(mechanism, key)[columns]
        found[key] = values
    found["lowerDryFrictionLimit"] = -found["friction"]
    for key in ("velocity", "effort"):
        bounds = np.full(tree.nv, np.inf)
        bounds[own] = limits_of(mechanism, key)[columns]
        found[f"upper{key.capitalize()}Limit"] = bounds
        found[f"lower{key.capitalize()}Limit"] = -bounds
    for key, sign in (("lower", -1.0), ("upper", 1.0)):
        bounds = limits_of(mechanism, key, unstated=0.0)
        positions = np.full(tree.nq, sign * np.inf)
        for j in range(1, tree.njoints):
            q, v = tree.idx_qs[j], tree.idx_vs[j]
            if tree.nqs[j] != tree.nvs[j]:
                end = q + tree.nqs[j]
                positions[end - 4 : end] = sign * 1.01
                continue
            for k, column in enumerate(coordinates.columns[v : v + tree.nvs[j]]):
                positions[q + k] = bounds[column] if column >= 0 else sign * np.inf
        found[f"{key}PositionLimit"] = positions
    return found


def left_out(joints: Sequence[Joint], cut: Sequence[Joint]) -> list[Diagnostic]:
    """Findings about values that a Pinocchio model has no place for.

    Args:
        joints: All joints of the mechanism.
        cut: Those that close loops and have no coordinate in the model.
    """
    springs = [j for j in joints if np.any(j.dynamics.stiffness)]
    held = [j for j in cut if any(np.any(getattr(j.dynamics, key)) for key in HELD)]
    bounded = [j for j in cut if j.limits is not None]
    known = "the robot's passive_forces and simulations count them"
    elsewhere = "choose other cuts: reduce(mechanism, cuts=[...]), or the style 'anchors'"
    closing = "not in the Pinocchio model: they close loops, and have no coordinate there"
    found = (
        ("REG325", "springs of {} are not in the Pinocchio model, which has none", springs, known),
        ("REG325", f"damping, friction and armature of {{}} are {closing}", held, elsewhere),
        ("REG324", f"limits of {{}} are {closing}", bounded, elsewhere),
    )
    return [
        Diagnostic(
            code,
            "warning",
            text.format(", ".join(f"`{joint.name}`" for joint in those)),
            joints=tuple(joint.name for joint in those),
            source=those[0].source,
            help=(help_,),
        )
        for code, text, those, help_ in found
        if those
    ]
