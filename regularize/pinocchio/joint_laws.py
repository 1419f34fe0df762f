"""What acts within joints, damping, friction and springs, as the kernel computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.screw import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regularize.pinocchio.actuated import ActuatedTree
    from regularize.pinocchio.tree import TreeJoint


def within_joints(
    robot: ActuatedTree, joints_of_tree: Sequence[TreeJoint]
) -> tuple[Array, Array] | None:
    """What acts within the joints: those of the tree, (7, nv), and those that close loops, (4, f).

    Returns:
        None where a coordinate of the mechanism is no single one of the model, where friction acts
        in a joint that follows another one faster or slower, or a spring in a planar joint whose
        velocity turns with it.
    """
    joints, map_ = robot.passive.joints, robot.passive.coordinates
    amounts = np.array([joints.damping, joints.friction, joints.stiffness])
    rests = joints.rest_position - map_.of_tree(robot.tree.space.neutral)
    laws: Array = np.zeros((7, robot.nv))
    laws[5], planar = 1.0, _planar(robot)
    for joint in joints_of_tree:
        begin = robot.tree.idx_vs[joint.index]
        freedoms = sum(edge.freedoms for edge in joint.edges)
        laws[5, begin : begin + freedoms] = -1.0 if joint.reversed else 1.0
    closed = robot.constraints.closing_columns
    closing = np.vstack([amounts, joints.rest_position])[:, closed]
    amounts[:, closed] = 0.0
    for column in np.flatnonzero(amounts.any(axis=0)).tolist():
        places = np.flatnonzero(map_.rates[column])
        if len(places) != 1:
            return None
        place, factor = int(places[0]), float(map_.rates[column, places[0]])
        damping, friction, stiffness = amounts[:, column].tolist()
        if (friction and abs(factor) != 1.0) or (stiffness and place in planar):
            return None
        laws[1:4, place] += factor**2 * damping, friction, factor**2 * stiffness
        if stiffness:  # of several springs, where they rest together
            part = factor * stiffness / laws[3, place]
            laws[4, place] += part * (rests[column] - factor * laws[4, place])
    return laws, closing


def _planar(robot: ActuatedTree) -> set[int]:
    """Velocities of planar joints, which are no rates of coordinates."""
    parts = [] if robot.multibody is None else robot.multibody[0].links
    planes = [part for part in parts if part.kind == "planar"]
    return {part.rate + k for part in planes for k in range(part.freedoms)}
