"""Models moved in Pinocchio: the tree of the file, and rigid constraint models for its loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism
from regularize.repair.engines.in_mujoco import TILTED
from regularize.repair.engines.motion import DURATION, MOMENTS, NotMoved, Recording

STEP = 1e-3  # seconds
#: Accuracy, damping and iterations with which redundant constraints settle.
PROXIMAL = (1e-10, 1e-8, 50)
#: Stabilisation of gaps, 1/s: critically damped within a few steps.
RATE = 100.0
#: Metres between the two points that hold a hinge.
ARM = 0.1


def record(source: str, mechanism: Mechanism, drive: str, strength: float) -> Recording:
    """Move a URDF file in Pinocchio; ``drive`` is alone, motors, or tilted."""
    import pinocchio as pin

    floating = any(joint.kind == "free" for joint in mechanism.joints)
    try:
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        model = pin.buildModelFromUrdf(source, *root)
    except ValueError as error:
        raise UnsupportedExport(f"Pinocchio refuses it: {error}") from error
    if drive == "tilted":
        model.gravity.linear = TILTED
    loops = [row for j in mechanism.joints if j.closure for row in _constraints(model, j)]
    for loop in loops:
        loop.corrector.Kp[:], loop.corrector.Kd[:] = RATE**2, 2.0 * RATE
    data, settings = model.createData(), pin.ProximalSettings(*PROXIMAL)
    states = [loop.createData() for loop in loops]
    pin.initConstraintDynamics(model, data, loops)
    q, v, frames = pin.neutral(model), np.zeros(model.nv), []
    actuated = np.array([name in _driven(mechanism) for name in model.names])
    effort = np.where(np.isfinite(model.upperEffortLimit), model.upperEffortLimit, 0.0)
    steps = round(DURATION / STEP)
    bodies = [b.name for b in mechanism.bodies if model.existBodyName(b.name)]
    for step in range(steps + 1):
        if step % (steps // MOMENTS) == 0:
            pin.framesForwardKinematics(model, data, q)
            frames.append([data.oMf[model.getBodyId(name)].homogeneous for name in bodies])
        tau = np.zeros(model.nv)
        if drive == "motors":
            for index in np.flatnonzero(actuated):
                at = slice(model.idx_vs[index], model.idx_vs[index] + model.nvs[index])
                tau[at] = strength * effort[at] * np.sin(2.0 * np.pi * step / steps)
        a = pin.constraintDynamics(model, data, q, v, tau, loops, states, settings)
        v = v + STEP * a
        q = pin.integrate(model, q, STEP * v)
    if not np.isfinite(q).all():
        raise UnsupportedExport("Pinocchio: the motion is unstable")
    poses = np.array(frames)
    return Recording(
        model.nv - _rank(model, data, q, loops, states),
        sum(bool(x) for x in actuated),
        {},
        {},
        {name: poses[:, i] for i, name in enumerate(bodies)},
    )


def _driven(mechanism: Mechanism) -> set[str]:
    """Return the names of joints with motors."""
    return {j.name for j in mechanism.joints if j.actuated} | {
        each.joint for each in mechanism.actuators
    }


def _constraints(model: Any, joint: Joint) -> list[Any]:
    """Return constraint models of a closure: a frame, or one or two points."""
    import pinocchio as pin

    def side(body: str, T: Array) -> tuple[int, Any]:
        if not model.existBodyName(body):
            return 0, pin.SE3(T)
        frame = model.frames[model.getBodyId(body)]
        return frame.parentJoint, frame.placement * pin.SE3(T)

    ends = side(joint.parent, joint.T_parent_joint), side(joint.child, joint.T_child_joint)
    points = [np.zeros(3)]
    if joint.kind == "revolute":
        axis = joint.screws[3:, 0] / np.linalg.norm(joint.screws[3:, 0])
        points.append(ARM * axis)
    elif joint.kind not in ("spherical", "fixed"):
        raise NotMoved(
            f"its constraint models are points and frames, and `{joint.name}` is {joint.kind}: "
            "rows of `rg.to_pinocchio` hold it"
        )
    kind = pin.ContactType.CONTACT_6D if joint.kind == "fixed" else pin.ContactType.CONTACT_3D
    made = []
    for point in points:
        moved = pin.SE3(np.eye(3), point)
        (one, first), (two, second) = ends
        made.append(
            pin.RigidConstraintModel(
                kind, model, one, first * moved, two, second * moved, pin.ReferenceFrame.LOCAL
            )
        )
    return made


def _rank(model: Any, data: Any, q: Array, loops: list[Any], states: list[Any]) -> int:
    """Return the rank of the loops' Jacobian at a configuration."""
    import pinocchio as pin

    if not loops:
        return 0
    pin.computeJointJacobians(model, data, q)
    rows = pin.getConstraintsJacobian(model, data, loops, states)
    sizes = np.linalg.svd(rows, compute_uv=False)
    return int(np.sum(sizes > 1e-4 * sizes.max(initial=0.0)))
