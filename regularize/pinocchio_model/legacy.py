"""Pinocchio's older rigid constraints: closed at a configuration, and compared with the kept rows.

They hold every row of a weld, the redundant ones as well. Where the geometry is rounded, redundant
rows contradict each other a little, and iterations on them settle at something else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.errors import NoInertia
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.robot import Robot


def close_frames(model: Any, constraints: Any, q: Array) -> None:
    """Place the second frame of every constraint where the first one is at a configuration."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    for constraint in constraints:
        place = data.oMi[constraint.joint1_id] * constraint.joint1_placement
        second = data.oMi[constraint.joint2_id]
        point = constraint.type == pin.ContactType.CONTACT_3D
        found = second.actInv(place)
        if point:  # its axes mean nothing, and stay
            found = pin.SE3(constraint.joint2_placement.rotation, found.translation)
        constraint.joint2_placement = found


def differing(legacy: Robot, rows: Robot, tolerance: float = 1e-6) -> list[Diagnostic]:
    """What the rigid constraints cannot hold: a finding if accelerations are other ones (REG330).

    They are compared at the reference configuration, at rest and at a random velocity.

    Args:
        legacy: The robot in the style ``legacy``.
        rows: The robot of the same reduction in the style ``rows``.
        tolerance: Difference that is no difference, as a part of the largest acceleration.
    """
    if not rows.model.nv:  # nothing moves
        return []
    one, other = legacy.joint_map, rows.joint_map
    rng, free = np.random.default_rng(0), legacy.split(legacy.q0).free
    worst, most, joint = 0.0, 1.0, ""
    for velocity in (np.zeros(legacy.model.nv), free @ rng.normal(size=free.shape[1])):
        states = (velocity, other @ one.T @ velocity)
        try:
            a, exact = (
                robot.forward_dynamics(robot.q0, v, np.zeros(robot.nv))
                for robot, v in zip((legacy, rows), states, strict=True)
            )
        except NoInertia:  # nothing can be compared
            return []
        difference = np.abs(other @ one.T @ a - exact)
        scale = max(float(np.max(np.abs(exact), initial=0.0)), 1e-300)
        k = int(np.argmax(np.nan_to_num(difference, nan=np.inf)))
        if not difference[k] <= worst * scale:
            worst, most = float(difference[k]) / scale, scale
            joint = _joint_of(rows, k)
    if worst <= tolerance:
        return []
    cuts = [cut.edge.joint.name for cut in legacy.reduction.cuts]
    closing = ", ".join(f"`{name}`" for name in cuts)
    return [
        Diagnostic(
            "REG330",
            "warning",
            f"the style 'legacy' cannot hold the redundant equations at {closing}: at the "
            f"reference configuration the acceleration of `{joint}` is off by {worst * most:.3g}, "
            f"of {most:.3g} at most, from that on the kept equations",
            joints=(joint, *cuts),
            help=("use the style 'rows', 'anchors' or 'slack', which leave those equations out",),
        )
    ]


def _joint_of(robot: Robot, velocity: int) -> str:
    """The joint of the mechanism that a velocity of the model belongs to."""
    column = int(np.argmax(np.abs(robot.joint_map[velocity])))
    return next(edge.joint.name for edge in robot.reduction.graph.edges if column in edge.columns)
