"""Models moved in Pinocchio: the tree of the file, and the rows of its closing joints.

Pinocchio's constraint models are points and frames; here every closing joint is held by the rows
that its kind leaves, redundant ones included, on Pinocchio's kinematics, masses and forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.escape import as_utf8
from regularize.lie.arrays import Array
from regularize.lie.subalgebra import complement
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Coupling, Mechanism
from regularize.repair.engines.in_mujoco import SMALL
from regularize.repair.engines.motion import DURATION, MOMENTS, EngineMotion, NotMoved

STEP = 1e-3  # seconds
#: Stabilisation of gaps, 1/s, and the change over which rows are differentiated, in seconds.
RATE, DIFFERENCE = 100.0, 1e-6
#: What is added to masses, in parts of the largest, and taken from rows.
INDEPENDENT = 1e-9


def record(source: str, drive: str, strength: float, mechanism: Mechanism) -> EngineMotion:
    """Move a URDF file in Pinocchio; ``drive`` is alone, motors, or loads."""
    import pinocchio as pin

    floating = any(joint.kind == "free" for joint in mechanism.joints)
    try:
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        model = pin.buildModelFromUrdf(as_utf8(source), *root)
    except ValueError as error:
        raise UnsupportedExport(f"Pinocchio refuses it: {error}") from error
    if drive == "loads":  # loops are rigid here, and no load opens them
        model.gravity.linear = 9.81 * np.array([0.48, 0.6, -0.64])
    if model.nv != sum(j.freedoms for j in mechanism.joints if not j.closure):
        raise NotMoved("what stands beside the file makes other joints of those that it reads")
    loops: list[_Closure | _Relation] = [
        _Closure(model, joint) for joint in mechanism.joints if joint.closure
    ]
    loops += [_Relation(model, coupling) for coupling in mechanism.couplings]
    driven = {joint.name for joint in mechanism.joints if joint.actuated}
    driven |= {actuator.joint for actuator in mechanism.actuators}
    motors = [i for i, name in enumerate(model.names) if name in driven]
    effort = np.where(np.isfinite(model.upperEffortLimit), model.upperEffortLimit, 0.0)
    if sum(inertia.mass for inertia in list(model.inertias)[1:]) <= 0.0:
        raise NotMoved("no body has a mass")
    data, q, v, frames = model.createData(), pin.neutral(model), np.zeros(model.nv), []
    bodies = [body.name for body in mechanism.bodies if model.existBodyName(body.name)]
    steps = round(DURATION / STEP)
    for step in range(steps + 1):
        if not np.isfinite(q).all():
            raise UnsupportedExport("Pinocchio: the motion is unstable")
        if step % (steps // MOMENTS) == 0:
            pin.framesForwardKinematics(model, data, q)
            frames.append([data.oMf[model.getBodyId(name)].homogeneous for name in bodies])
        tau = np.zeros(model.nv)
        for i in motors if drive == "motors" else ():
            at = slice(model.idx_vs[i], model.idx_vs[i] + model.nvs[i])
            tau[at] = strength * effort[at] * np.sin(2.0 * np.pi * step / steps)
        try:
            v = v + STEP * _acceleration(model, data, loops, q, v, tau)
            q = pin.integrate(model, q, STEP * v)
            rows, gap = _rows(model, data, loops, q)
            q = pin.integrate(model, q, -np.linalg.lstsq(rows, gap, rcond=SMALL)[0])
        except np.linalg.LinAlgError:
            q[:] = np.nan
    rank = int(np.linalg.matrix_rank(_rows(model, data, loops, q)[0], rtol=SMALL)) if loops else 0
    poses = np.array(frames)
    paths = {name: poses[:, i] for i, name in enumerate(bodies)}
    return EngineMotion(model.nv - rank, len(motors), {}, {}, paths)


def _acceleration(
    model: Any, data: Any, loops: Sequence[_Closure | _Relation], q: Array, v: Array, tau: Array
) -> Array:
    """Return the acceleration under the rows of all closures, gaps being closed on the way."""
    import pinocchio as pin

    later, earlier = (
        _rows(model, data, loops, pin.integrate(model, q, h * v))[0]
        for h in (DIFFERENCE, -DIFFERENCE)
    )
    rows, gap = _rows(model, data, loops, q)
    bias = (later - earlier) @ v / (2.0 * DIFFERENCE)
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    missing = bias + 2.0 * RATE * rows @ v + RATE**2 * gap
    # Ends of loops may have no mass of their own, and rows may be redundant.
    firm = np.repeat([1.0, -1.0], [model.nv, len(rows)]) * INDEPENDENT * np.abs(mass).max()
    system = np.block([[mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]]) + np.diag(firm)
    right = np.concatenate([tau - pin.nle(model, data, q, v), -missing])
    return np.asarray(np.linalg.solve(system, right)[: model.nv])


def _rows(
    model: Any, data: Any, loops: Sequence[_Closure | _Relation], q: Array
) -> tuple[Array, Array]:
    """Return the Jacobian of all closures at a configuration, and their gaps."""
    import pinocchio as pin

    pin.computeJointJacobians(model, data, q)
    parts = [loop.rows(model, data) for loop in loops]
    rows = [np.zeros((0, model.nv)), *(part[0] for part in parts)]
    return np.vstack(rows), np.concatenate([np.zeros(0), *(part[1] for part in parts)])


class _Relation:
    """A mimic, which Pinocchio passes over where it is not asked: a row between coordinates."""

    def __init__(self, model: Any, coupling: Coupling) -> None:
        self.row = np.zeros((1, model.nv))
        for name, freedom, factor in coupling.terms:
            self.row[0, model.idx_vs[model.getJointId(name)] + freedom] = factor

    def rows(self, model: Any, data: Any) -> tuple[Array, Array]:
        """Return the row, whose gap is left alone."""
        return self.row, np.zeros(1)


class _Closure:
    """A closing joint: its frames on the joints of Pinocchio's tree, and what it takes away."""

    def __init__(self, model: Any, joint: Joint) -> None:
        import pinocchio as pin

        if joint.kind == "universal":
            raise NotMoved(f"the rows of `{joint.name}`, which is universal, turn with both bodies")
        self.held, turns = complement(joint.screws), joint.screws[3:].T
        turns = turns[turns.any(axis=1)]
        self.axis = turns[0] if len(turns) == 1 else None
        self.ends = []
        for body, T in ((joint.parent, joint.T_parent_joint), (joint.child, joint.T_child_joint)):
            frame = model.frames[model.getBodyId(body)] if model.existBodyName(body) else None
            place = pin.SE3(np.array(T))
            on = (0, place) if frame is None else (frame.parentJoint, frame.placement * place)
            self.ends.append(on)

    def rows(self, model: Any, data: Any) -> tuple[Array, Array]:
        """Return the rows that the joint takes away, in axes of its parent side, and their gaps."""
        import pinocchio as pin

        (first, second) = (data.oMi[i] * place for i, place in self.ends)
        to_parent = first.rotation.T
        sides = []
        for i, _ in self.ends:
            jacobian = pin.getJointJacobian(model, data, i, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            arm = pin.skew(second.translation - data.oMi[i].translation)
            sides.append(np.vstack([jacobian[:3] - arm @ jacobian[3:], jacobian[3:]]))
        between = np.kron(np.eye(2), to_parent) @ (sides[1] - sides[0])
        apart = to_parent @ (second.translation - first.translation)
        turned = to_parent @ second.rotation
        # The axis of a hinge, whose logarithm of a wide turn would mix what is held with it.
        turned = pin.log3(turned) if self.axis is None else np.cross(self.axis, turned @ self.axis)
        return self.held.T @ between, self.held.T @ np.concatenate([apart, turned])
