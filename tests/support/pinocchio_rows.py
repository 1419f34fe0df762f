"""Rows of a robot by Pinocchio's own constraint models, to which its own are compared."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.linalg import block_diag

import regularize as rg


def rows_of_pinocchio(
    robot: rg.Robot, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows on velocities, shape (m, nv), and their rates at zero acceleration, shape (m,)."""
    model, data, rows = robot.model, robot.model.createData(), robot.constraints
    anchors, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for c in rows.closures:
        places = c.first, pin.SE3(c.row_frame), c.second, pin.SE3(c.second_frame)
        anchors.append(pin.ConstraintModel(pin.FrameAnchorConstraintModel(model, *places)))
        datas.append(anchors[-1].createData())
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.computeJointJacobians(model, data)
    for anchor, each in zip(anchors, datas, strict=True):
        anchor.calc(model, data, each)
    J, bias, coupling = np.zeros((0, model.nv)), np.zeros(0), rows.coupling
    if len(anchors):
        projection = block_diag(*(c.covectors for c in rows.closures))
        twists = pin.getConstraintsJacobian(model, data, anchors, datas)
        J = projection @ twists.reshape(projection.shape[1], model.nv)
        errors = [each.extract().constraint_acceleration_error for each in datas]
        bias = projection @ np.concatenate(errors)
    return np.vstack([J, coupling]), np.concatenate([bias, np.zeros(len(coupling))])
