"""Closed loops in Crocoddyl: derivatives, and a plan that converges."""

import importlib.util
from pathlib import Path

import crocoddyl
import numpy as np
import pytest

import regularize as rg
from regularize.guests.integrations.crocoddyl import LoopDynamics

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location(
    "knee_leg_swings_up", ROOT / "assets" / "examples" / "knee_leg_swings_up.py"
)
leg = importlib.util.module_from_spec(spec)
spec.loader.exec_module(leg)


@pytest.fixture
def robot() -> rg.Robot:
    return rg.to_pinocchio(rg.reduce(rg.load(leg.MODEL)))


@pytest.mark.parametrize("frequency", [0.0, 50.0])
def test_derivatives_are_those_of_crocoddyls_differences(robot: rg.Robot, frequency: float) -> None:
    """On the loops, where both are defined, in directions that keep them closed."""
    rng = np.random.default_rng(1)
    q = robot.follow(robot.q0, leg.RAISED)
    v = robot.split(q).free @ rng.normal(size=6)
    robot.model.damping = rng.uniform(0.0, 0.1, robot.model.nv)
    x, u = np.concatenate([q, v]), rng.normal(size=6)
    action = LoopDynamics(
        robot, leg.MOTORS, leg.costs(robot.model, robot.q0, 1.0), frequency=frequency
    )
    differences = crocoddyl.DifferentialActionModelNumDiff(action, True)
    found = []
    for model in (action, differences):
        data = model.createData()
        model.calc(data, x, u)
        model.calcDiff(data, x, u)
        found.append(data)
    exact, numeric = found
    assert np.allclose(exact.Fu, numeric.Fu, atol=1e-5 * np.max(np.abs(exact.Fu)))
    assert np.allclose(exact.Fx, numeric.Fx, atol=1e-5 * np.max(np.abs(exact.Fx)))
    assert np.allclose(exact.Lx, numeric.Lx, atol=1e-5 * np.max(np.abs(exact.Lx)))
    assert np.allclose(exact.Lu, numeric.Lu, atol=1e-5)


def test_the_leg_swings_up(robot: rg.Robot) -> None:
    solver = leg.swing(robot, lambda costs: LoopDynamics(robot, leg.MOTORS, costs, frequency=50.0))
    assert solver.iter < 30 and solver.stop < 1e-8
    q = solver.xs[-1][: robot.model.nq]
    for name, angle in leg.RAISED.items():
        assert q[robot.velocity_index(name)] == pytest.approx(angle, abs=1e-3)
    # It is a motion of the closed loop under its motors: simulated again from the start, it is the
    # same, and half a millimetre is all by which ten-millisecond steps open the loop.
    opened = max(np.max(np.abs(robot.residual(x[: robot.model.nq]))) for x in solver.xs)
    assert opened * robot.reduction.cuts[0].length < 1e-3
    again = solver.problem.rollout(solver.us)
    assert np.allclose(np.array(again), np.array(solver.xs), atol=1e-6)


def test_all_equations_with_the_defaults_get_nowhere(robot: rg.Robot) -> None:
    welded = rg.to_pinocchio(robot.reduction, style="legacy")
    solver = leg.swing(welded, lambda costs: leg.AllEquations(welded, costs))
    assert solver.iter == 0


def test_motors_have_the_bounds_of_the_model(robot: rg.Robot) -> None:
    action = LoopDynamics(robot, leg.MOTORS)
    assert action.nu == 6 and not action.has_control_limits
    robot = rg.to_pinocchio(robot.reduction)
    robot.model.effortLimit = np.full(robot.model.nv, 3.0)
    action = LoopDynamics(robot, leg.MOTORS)
    assert action.has_control_limits and np.array_equal(action.u_ub, np.full(6, 3.0))
