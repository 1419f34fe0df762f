"""Beams of MBDyn as joints of six freedoms with springs where strains are evaluated.

That is the middle between two nodes, and the two Gauss points of three (Ghiringhelli, Masarati and
Mantegazza 2000): forces there are those of MBDyn's finite volumes for small strains. Beams are
without mass and without stress as they are drawn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.adapters.common.draft import Draft, Side, joint_between
from regularize.adapters.mbdyn.statements import Statement
from regularize.lie.screw import IDENTITY, Array, exp, inverse, log_rotation
from regularize.mechanism.joint_limits import JointDynamics

#: Nodes of each element.
BEAMS = {"beam2": 2, "beam3": 3, "beam": 3}


def add_beam(
    draft: Draft, statement: Statement, label: str, ends: list[Side], frames: list[Array]
) -> str | None:
    """Add the joints of a beam.

    Args:
        draft: The model.
        statement: What follows its nodes: orientations and laws of its sections.
        label: Its name.
        ends: Its nodes, and frames on them.
        frames: These in the world.

    Returns:
        What cannot be read, or None.
    """
    count, joints = len(ends), []
    along = np.polyfit(np.linspace(-1, 1, count), [T[:3, 3] for T in frames], count - 1)
    at = [0.0] if count == 2 else [-(3**-0.5), 3**-0.5]
    R: Array | None = None
    law: tuple[Array, Array] | None = None
    for k, x in enumerate(at):
        one, two = frames[k], frames[k + 1]
        if not (k and statement.take("same")):
            R = None if statement.take("from nodes") else statement.turn(IDENTITY)[:3, :3]
        if not (k and statement.take("same")):
            kind = " ".join(statement.word().lower().split())
            law = _law(statement, kind)
            if law is None or any(np.any(m - np.diag(np.diag(m))) for m in law):
                return f"a law `{kind}` that is not linear, or ties strains to each other,"
        assert law is not None
        T = np.eye(4)
        T[:3, 3] = np.vander([x], count)[0] @ along
        turn = np.array([0, 0, 0, *log_rotation(one[:3, :3].T @ two[:3, :3])]) / 2
        T[:3, :3] = one[:3, :3] @ exp(turn)[:3, :3] if R is None else R
        slope = along[0] if count == 2 else 2 * x * along[0] + along[1]
        length = float(np.linalg.norm(slope)) * 2 / len(at)
        if length == 0.0:
            raise statement.error("has no length; correct the places of its nodes")
        stiffness, damping = (np.diag(m) / length for m in law)
        first, second = (
            (node, own @ inverse(frame) @ T)
            for (node, own), frame in zip(ends[k : k + 2], frames[k : k + 2], strict=True)
        )
        name = label if k == 0 else f"{label}_{k + 1}"
        joint = joint_between(name, "composite", first, second, np.eye(6), source=statement.source)
        spring = JointDynamics(stiffness=stiffness, damping=damping, rest_position=np.zeros(6))
        joints.append(replace(joint, actuated=False, dynamics=spring))
    for joint in joints:
        name = draft.joint_name(joint.name)
        draft.joints[name] = replace(joint, name=name)
    return None


def _law(statement: Statement, kind: str) -> tuple[Array, Array] | None:
    """Stiffness and damping of a section, both of shape (6, 6); None where they are not linear."""
    words = kind.split()
    if words[:-1] not in (["linear", "elastic"], ["linear", "viscoelastic"]):
        return None
    if words[-1] not in ("generic", "isotropic"):
        return None

    def matrix() -> Array:
        return statement.matrix(6) if words[-1] == "generic" else statement.number() * np.eye(6)

    stiffness = matrix()
    if words[1] == "elastic":
        return stiffness, np.zeros((6, 6))
    if statement.take("proportional"):
        return stiffness, statement.number() * stiffness
    return stiffness, matrix()
