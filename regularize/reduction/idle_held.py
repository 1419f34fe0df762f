"""Holding idle freedoms, so that the actuators alone determine every coordinate.

A rod between two spherical joints spins about its own line whatever the actuators do. With a
universal joint at one end it follows the other bodies instead; nothing else changes its motion.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.manifold.assembly import with_coordinates
from regularize.model.diagnostic import Diagnostic
from regularize.model.joint import joint_screws, perpendiculars
from regularize.model.mechanism import Joint, JointDynamics, Mechanism
from regularize.reduction.idle import idle_bodies
from regularize.reduction.reduce import Reduction


def held(reduction: Reduction) -> tuple[Mechanism, tuple[Diagnostic, ...]]:
    """The mechanism at its assembled pose with one universal joint per idle body.

    Bodies without a spherical joint keep their idle freedom.

    Returns:
        The mechanism, and a finding per body that is held.
    """
    mechanism = with_coordinates(reduction.mechanism, reduction.q)
    joints = {joint.name: joint for joint in mechanism.joints}
    findings = []
    for body in idle_bodies(reduction):
        ball = next((n for n in body.joints if joints[n].kind == "spherical"), None)
        if ball is None:
            continue
        through = " and ".join(body.joints)
        joints[ball] = _universal(reduction, joints[ball], body.axis)
        findings.append(
            Diagnostic(
                "REG311",
                "note",
                f"`{body.name}` can spin about the line through {through} without "
                f"moving anything; joint `{ball}` is taken as universal, so that the rest follows",
                joints=body.joints,
                source=mechanism.body(body.bodies[0]).source,
                help=("make one of its joints universal in the model",),
            )
        )
    return replace(mechanism, joints=tuple(joints.values())), tuple(findings)


def _universal(reduction: Reduction, joint: Joint, axis: Array) -> Joint:
    """A universal joint in place of a spherical one, across a line, at zero where it is now."""
    edge = next(e for e in reduction.graph.edges if e.joint.name == joint.name)
    loops, state = reduction.loops, reduction.reference
    T_world = state.T_world_node[0]
    frame = T_world[loops.row(edge.parent)] @ edge.T_parent
    motion = screw.inverse(frame) @ T_world[loops.row(edge.child)] @ edge.T_child
    first, second = perpendiculars(frame[:3, :3].T @ axis)
    return replace(
        joint,
        kind="universal",
        screws=joint_screws("universal", first, axis2=second),
        T_child_joint=joint.T_child_joint @ screw.inverse(motion),
        position=np.zeros(2),
        limits=None,
        dynamics=JointDynamics(),
    )
