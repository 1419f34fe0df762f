"""Closed loops in pink: every solver follows with the kept rows."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from dynamics_table import states
from on_demand import OnDemand, needs

import regularize as rg

pink: Any = OnDemand("pink")
ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT.parent / "shared" / "corpus"
SOLVERS = ["quadprog", "daqp", "proxqp", "osqp"]
pytestmark = [
    needs("pink"),
    # Of OSQP, which takes sparse matrices:
    pytest.mark.filterwarnings("ignore:Converted matrix"),
    pytest.mark.filterwarnings("ignore:The default value of raise_error"),
]


def example(name: str) -> ModuleType:
    if (folder := str(ROOT / "assets" / "examples")) not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


@pytest.mark.slow
def test_a_delta_draws_a_circle_with_every_solver_but_not_with_every_row() -> None:
    delta = example("delta_draws_a_circle")
    reduction = rg.reduce(rg.load(delta.MODEL))
    robot, every = rg.to_pinocchio(reduction), rg.to_pinocchio(reduction, style="legacy")
    for solver in SOLVERS:
        away, opened = delta.draw(robot, delta.LoopTask(robot), solver)
        assert away < 5e-5 and opened < 1e-4
    with pytest.raises(pink.exceptions.NoSolutionFound):  # others depend on rounding
        delta.draw(every, delta.AllEquations(every), "proxqp")


@pytest.mark.slow
def test_a_leg_squats_with_every_solver() -> None:
    leg = example("leg_squats")
    robot = rg.to_pinocchio(rg.reduce(rg.load(leg.MODEL)))
    for solver in SOLVERS:
        bend, away, opened = leg.squat(robot, solver)
        assert bend > 0.8
        assert max(away, opened) < 1e-4


def reach(robot: rg.Robot, loops: object, frame: str, goal: pin.SE3, solver: str) -> int:
    """Steps until a frame is where it should be and the loops are closed."""
    configuration = pink.Configuration(robot.model, robot.model.createData(), np.array(robot.q0))
    task = pink.tasks.FrameTask(frame, position_cost=1.0, orientation_cost=0.0)
    task.set_target(goal)
    for step in range(20):
        error = np.linalg.norm(task.compute_error(configuration)[:3])
        if error < 1e-6 and np.max(np.abs(robot.residual(configuration.q))) < 1e-6:
            return step
        # The files are drawn in poses beyond their own limits.
        options = {"damping": 1e-6, "constraints": [loops], "limits": [], "safety_break": False}
        velocity = pink.solve_ik(configuration, [task], 0.1, solver, **options)
        configuration.integrate_inplace(velocity, 0.1)
    return 20


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
@pytest.mark.parametrize(
    ("path", "frame", "failing"),
    [
        ("gepetto_yaml/robot_delta/robot.urdf", "transmission_connecting_rod", 2),
        ("sdf/cassie/cassie_v2.sdf", "right-foot", 2),
        ("gepetto_yaml/digit_like/robot.urdf", "foot", 0),
    ],
)
def test_robots_reach_with_every_solver(path: str, frame: str, failing: int) -> None:
    reduction = rg.reduce(rg.load(CORPUS / path))
    robot, every = rg.to_pinocchio(reduction), rg.to_pinocchio(reduction, style="legacy")
    free = robot.split(robot.q0).free
    model, axes = robot.model, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    end = model.getFrameId(frame)
    jacobian = pin.computeFrameJacobian(model, robot.data, robot.q0, end, axes) @ free
    ahead = np.linalg.lstsq(jacobian[:3], np.array([0.02, 0.01, 0.02]), rcond=1e-9)[0]
    goal_q = robot.project(pin.integrate(robot.model, robot.q0, free @ ahead))
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, goal_q)
    goal = data.oMf[end]
    delta = example("delta_draws_a_circle")
    lost = 0
    for solver in SOLVERS:
        assert reach(robot, delta.LoopTask(robot), frame, goal, solver) < 10
        try:
            lost += reach(every, delta.AllEquations(every), frame, goal, solver) == 20
        except pink.exceptions.NoSolutionFound:
            lost += 1
    assert (lost > 0) == (failing > 0)  # how many fail hangs on rounding


def test_configurations_are_of_the_robots_model() -> None:
    robot = rg.to_pinocchio(rg.reduce(rg.load(ROOT / "assets" / "knee_leg.urdf")))
    other = pin.buildSampleModelManipulator()
    configuration = pink.Configuration(other, other.createData(), pin.neutral(other))
    with pytest.raises(rg.ModelError, match=r"make it of robot\.model"):
        example("delta_draws_a_circle").LoopTask(robot).compute_error(configuration)


def test_rows_are_computed_in_the_configurations_own_data() -> None:
    robot = rg.to_pinocchio(rg.reduce(rg.load(ROOT / "assets" / "knee_leg.urdf")))
    q, v = next(states(robot, 1))
    moved = pin.integrate(robot.model, q, 0.1 * np.ones_like(v))
    configuration = pink.Configuration(robot.model, robot.model.createData(), moved)
    task = example("delta_draws_a_circle").LoopTask(robot)
    step = 1e-6 * np.ones_like(v)
    ends = [robot.residual(pin.integrate(robot.model, q, s * step)) for s in (1, -1)]
    near = pink.Configuration(robot.model, robot.model.createData(), q)
    change = 2.0 * task.compute_jacobian(near) @ step
    assert np.allclose(ends[0] - ends[1], change, atol=1e-12)
    robot.residual(robot.q0)
    own = robot.data.oMi[1].homogeneous.copy()
    assert np.max(np.abs(task.compute_error(configuration))) > 1e-3
    assert np.array_equal(robot.data.oMi[1].homogeneous, own)


@pytest.mark.parametrize("name", ["pink", "crocoddyl"])
def test_a_missing_program_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"regularize.integrations.{name}", raising=False)
    with pytest.raises(rg.MissingExtra, match=rf"pip install 'pin-regularize\[{name}\]'"):
        importlib.import_module(f"regularize.integrations.{name}")
