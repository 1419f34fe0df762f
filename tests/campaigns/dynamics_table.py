"""How well dynamics, its inverse and its derivatives agree on a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pinocchio as pin

import regularize as rg


def weighed(mechanism: rg.Mechanism) -> rg.Mechanism:
    """The mechanism with a kilogram for every body that states no mass properties."""
    unit = rg.Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))
    bodies = [
        b if b.inertia and b.inertia.mass else replace(b, inertia=unit) for b in mechanism.bodies
    ]
    return replace(mechanism, bodies=tuple(bodies))


def states(robot: rg.Robot, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Configurations with closed loops, and velocities that keep them closed."""
    rng = np.random.default_rng(1)
    for i in range(count):
        coordinates = np.array(robot.reduction.q)
        for cell in robot.reduction.cells:
            columns = robot.reduction.graph.columns(cell.edges)
            coordinates[columns] = cell.configurations[-1 - i % len(cell.configurations)]
        q = robot.configuration(coordinates)
        free = robot.split(q).free
        yield q, free @ rng.normal(size=free.shape[1])


def actuators(robot: rg.Robot, q: np.ndarray) -> list[str]:
    """As many joints with one freedom as determine the motion, the marked ones first."""
    free = robot.split(q).free
    marked = {j.name for j in robot.reduction.mechanism.joints if j.actuated}
    names = [
        j.edges[0].joint.name
        for j in robot.joints
        if len(j.edges) == 1 and j.edges[0].freedoms == 1 and j.edges[0].joint.freedoms == 1
    ]
    names.sort(key=lambda name: name not in marked)
    chosen: list[str] = []
    for name in names:
        rows = free[robot.velocity_indices([*chosen, name])]
        s = np.linalg.svd(rows, compute_uv=False)
        if len(rows) <= free.shape[1] and s[-1] > 1e-2:
            chosen.append(name)
    return chosen


def along(
    robot: rg.Robot,
    q: np.ndarray,
    v: np.ndarray,
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    h: float,
) -> Iterator[list[np.ndarray]]:
    """Differences along the loops, for two directions: of q, of v and of a function of both."""
    rng = np.random.default_rng(2)
    free = robot.split(q).free
    for _ in range(2):
        direction, turn = free @ rng.normal(size=free.shape[1]), rng.normal(size=len(v))
        changes = []
        for step in (h, h / 2, h / 4):
            ends = []
            for sign in (1, -1):
                moved = pin.integrate(robot.model, q, sign * step * direction)
                moved = robot.project(moved)
                there = robot.split(moved).free
                rate = there @ (there.T @ (v + sign * step * turn))
                ends.append((moved, rate, function(moved, rate)))
            (q1, v1, f1), (q0, v0, f0) = ends
            dq = pin.difference(robot.model, q, q1) - pin.difference(robot.model, q, q0)
            changes.append([part / (2 * step) for part in (dq, v1 - v0, f1 - f0)])
        # Romberg: differences have errors of even orders in the step, of which two are taken away.
        yield [(64 * c - 20 * b + a) / 45 for a, b, c in zip(*changes, strict=True)]


def by_differences(
    robot: rg.Robot,
    q: np.ndarray,
    v: np.ndarray,
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    dq: np.ndarray,
    dv: np.ndarray,
) -> float:
    """Relative error of derivatives by q and v, with the step whose differences are the best."""
    size = np.max(np.abs(function(q, v)))
    return min(
        max(
            relative(dq @ along_q + dv @ along_v, change, size)
            for along_q, along_v, change in along(robot, q, v, function, h)
        )
        for h in (2e-2, 2e-3, 2e-4)
    )


def relative(found: np.ndarray, expected: np.ndarray, scale: float = 0.0) -> float:
    size = max(float(np.max(np.abs(expected), initial=0.0)), scale, 1e-3)
    return float(np.max(np.abs(found - expected), initial=0.0)) / size


def errors(robot: rg.Robot, count: int = 2) -> tuple[int, float, float, float]:
    """Number of actuators, and the errors of the inverse and of both derivatives."""
    rng = np.random.default_rng(3)
    identity = forward = inverse = 0.0
    for q, v in states(robot, count):
        names = actuators(robot, q)
        index = robot.velocity_indices(names)
        tau = np.zeros(robot.model.nv)
        # As large as the forces of gravity and inertia, so that rounding is small against them.
        size = max(1.0, np.max(np.abs(pin.nonLinearEffects(robot.model, robot.data, q, v))))
        tau[index] = size * rng.normal(size=len(index))
        a = robot.forward_dynamics(q, v, tau)
        found = robot.inverse_dynamics(q, v, a, names)
        identity = max(identity, relative(found.tau, tau[index]))

        # What is differentiated comes with the derivatives. Where rows depend on each other only
        # nearly, it is the answer on the clearest ones, which differs by as much from others.
        s = np.linalg.svd(robot.jacobian(q), compute_uv=False)
        nearly = float(np.max(s[robot.rank :], initial=0.0) / max(s[:1], default=1.0))

        def accelerations(q: np.ndarray, v: np.ndarray, tau: np.ndarray = tau) -> np.ndarray:
            return robot.dynamics_derivatives(q, v, tau).a

        def torques(
            q: np.ndarray, v: np.ndarray, a: np.ndarray = a, names: list[str] = names
        ) -> np.ndarray:
            return robot.inverse_dynamics_derivatives(q, v, a, names).tau

        exact = robot.dynamics_derivatives(q, v, tau)
        error = by_differences(robot, q, v, accelerations, exact.ddq_dq, exact.ddq_dv)
        forward = max(forward, error, relative(exact.a, a) - nearly)
        if names:
            inv = robot.inverse_dynamics_derivatives(q, v, a, names)
            error = by_differences(robot, q, v, torques, inv.dtau_dq, inv.dtau_dv)
            inverse = max(inverse, error, relative(inv.tau, found.tau) - nearly)
    return len(names), identity, forward, inverse
