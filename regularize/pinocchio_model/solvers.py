"""How each export style solves for accelerations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from regularize.lie.screw import Array

if TYPE_CHECKING:
    from regularize.pinocchio_model.robot import Robot

#: Acceleration from configuration, velocity and joint forces.
Acceleration = Callable[[Array, Array, Array], Array]


def acceleration_of(robot: Robot) -> Acceleration:
    """The function behind ``Robot.forward_dynamics``."""
    model, data, rows = robot.model, robot.data, robot.constraints
    if len(rows) == 0:
        return lambda q, v, tau: np.array(pin.aba(model, data, q, v, tau))
    massive = robot.massive
    if robot.style == "legacy" and massive and not len(rows.coupling):
        return _proximal(robot)
    if robot.rank < len(rows) or not massive:
        return lambda q, v, tau: null_space_acceleration(robot, q, v, tau)
    if robot.style in ("anchors", "slack") and not len(rows.coupling):
        return _cholesky(robot)

    def exact(q: Array, v: Array, tau: Array) -> Array:
        jacobian, bias = rows.jacobian_and_bias(data, q, v)
        return np.array(pin.forwardDynamics(model, data, q, v, tau, jacobian, bias, 0.0))

    return exact


def mass_matrix(model: Any, data: Any, q: Array) -> Array:
    """The full symmetric mass matrix, shape (nv, nv)."""
    upper = np.triu(pin.crba(model, data, q))
    return np.asarray(upper + np.triu(upper, 1).T)


def null_space_acceleration(robot: Robot, q: Array, v: Array, tau: Array) -> Array:
    """Acceleration by an orthonormal basis of the admissible velocities, shape (nv,).

    For dependent rows and for trees with massless ends, where the mass matrix is singular although
    the mechanism has mass in every direction in which it can move.
    """
    jacobian, bias = robot.constraints.jacobian_and_bias(robot.data, q, v)
    u, s, vt = np.linalg.svd(jacobian)
    rank = robot.rank
    particular = vt[:rank].T @ ((u[:, :rank].T @ -bias) / s[:rank])
    free = vt[rank:].T
    M = mass_matrix(robot.model, robot.data, q)
    force = tau - pin.nonLinearEffects(robot.model, robot.data, q, v) - M @ particular
    return np.asarray(particular + free @ np.linalg.solve(free.T @ M @ free, free.T @ force))


def _cholesky(robot: Robot) -> Acceleration:
    """Pinocchio's factorisation of mass matrix and anchors, without damping."""
    model, data, models = robot.model, robot.data, robot.constraint_models
    datas = pin.StdVec_ConstraintData()
    for constraint in models:
        datas.append(constraint.createData())
    pairs = list(zip(models, datas, strict=True))
    inner = [constraint_data.extract() for constraint_data in datas]
    cholesky = pin.ConstraintCholeskyDecomposition(model, data, models, datas)
    zero = np.zeros(model.nv)

    def accelerate(q: Array, v: Array, tau: Array) -> Array:
        pin.crba(model, data, q, pin.Convention.WORLD)
        pin.forwardKinematics(model, data, q, v, zero)
        for constraint, constraint_data in pairs:
            constraint.calc(model, data, constraint_data)
        cholesky.compute(model, data, models, datas, 0.0)
        drift = [-d.constraint_acceleration_error for d in inner]
        force = tau - pin.nonLinearEffects(model, data, q, v)
        return np.asarray(cholesky.solve(np.concatenate([*drift, force]))[-model.nv :])

    return accelerate


def _proximal(robot: Robot) -> Acceleration:
    """Pinocchio's constrained dynamics, iterated on redundant rows."""
    model, data, models = robot.model, robot.data, robot.constraint_models
    datas = pin.StdVec_RigidConstraintData()
    for constraint in models:
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings = robot.proximal_settings

    def accelerate(q: Array, v: Array, tau: Array) -> Array:
        return np.array(pin.constraintDynamics(model, data, q, v, tau, models, datas, settings))

    return accelerate
