"""The shipped benchmark problems against their published and exact answers."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import regularize as rg

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "benchmarks"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_benchmarks", FOLDER / "make_benchmarks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problem(name: str) -> rg.Reduction:
    return rg.reduce(rg.load(FOLDER / f"{name}.json"))


def test_the_shipped_files_are_those_of_the_script(tmp_path: Path) -> None:
    maker().main(tmp_path)
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == [
        "andrews.json",
        "bricard.json",
        "governor.json",
        "n_fourbar_2.json",
        "n_fourbar_40.json",
    ]
    for name in written:
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mobility", "redundant", "remaining"),
    [("n_fourbar_2", 1, 6, 0), ("bricard", 1, 1, 1), ("andrews", 1, 9, 0), ("governor", 2, 6, 0)],
)
def test_counts(name: str, mobility: int, redundant: int, remaining: int) -> None:
    reduction = problem(name)
    assert (reduction.mobility, reduction.redundant) == (mobility, redundant)
    assert reduction.remaining == remaining


def oracle(windows: int, time: float) -> np.ndarray:
    """Position of B0 on the parallelogram branch, by its exact equation of motion."""
    a, c = (windows + 1) / 3 + windows, ((windows + 1) / 2 + windows) * 9.81
    theta = solve_ivp(
        lambda t, y: [y[1], -c / a * np.cos(y[0])],
        (0, time),
        [np.pi / 2, -1.0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    ).y[0, -1]
    return np.array([np.cos(theta), np.sin(theta)])


def test_the_oracle_has_the_published_values() -> None:
    for windows in (2, 40):
        for time, value in ANSWERS["n_fourbar"][str(windows)].items():
            assert oracle(windows, float(time)) == pytest.approx(value, abs=2e-9)


def crank_end(motion: rg.Simulation, sample: int) -> np.ndarray:
    theta = np.pi / 2 + motion.coordinates[sample, motion.names.index("A0")]
    return np.array([np.cos(theta), np.sin(theta)])


@pytest.mark.parametrize(
    ("windows", "rtol", "off"),
    [("2", 1e-10, 1e-6), pytest.param("40", 1e-6, 1e-4, marks=pytest.mark.slow)],
)
def test_windows_pass_the_singular_pose_on_their_branch(
    windows: str, rtol: float, off: float
) -> None:
    times = np.array([0.0, 1.0, 5.0, 10.0])
    model, options = problem(f"n_fourbar_{windows}"), {"rates": {"A0": -1.0}, "times": times}
    motion = rg.simulate(model, duration=10.0, rtol=rtol, **options)
    for sample, time in ((1, "1"), (2, "5"), (3, "10")):
        expected = ANSWERS["n_fourbar"][windows][time]
        assert crank_end(motion, sample) == pytest.approx(expected, abs=off)
    assert motion.closure_drift < (1e-12 if windows == "2" else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rtol", [1e-9, 1e-11])
def test_two_windows_for_a_hundred_seconds(rtol: float) -> None:
    """With the tolerance that nobody has to choose as with a finer one."""
    motion = rg.simulate(
        problem("n_fourbar_2"),
        duration=100.0,
        rates={"A0": -1.0},
        times=np.linspace(0.0, 100.0, 101),
        rtol=rtol,
    )
    scale = abs(motion.energy[0])
    assert motion.energy_drift < 1e-9 * scale
    # What was corrected on the way is small, too, and the exact motion is met.
    assert motion.correction < 1e-5 * scale
    assert crank_end(motion, -1) == pytest.approx(oracle(2, 100.0), abs=1e-5)


def point_of(robot: rg.Robot, q: np.ndarray, body: str, point: np.ndarray) -> np.ndarray:
    """World position of a point that a body carries, given at the reference configuration."""
    frame = robot.model.getFrameId(body)
    pin.framesForwardKinematics(robot.model, robot.data, robot.q0)
    local = robot.data.oMf[frame].actInv(point)
    pin.framesForwardKinematics(robot.model, robot.data, q)
    return np.asarray(robot.data.oMf[frame].act(local))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rows", "anchors", "slack"])
def test_bricard(engine: str) -> None:
    answer = ANSWERS["bricard"]
    times = np.array([0.0, *(float(t) for t in answer["P3"])])
    motion = rg.simulate(
        problem("bricard"), duration=10.0, times=times, rtol=1e-9, solver=rg.Solver(style=engine)
    )
    for q, expected in zip(motion.q[1:], answer["P3"].values(), strict=True):
        found = point_of(motion.robot, q, answer["body"], np.array(answer["point"], dtype=float))
        assert found == pytest.approx(expected, abs=1e-7)
    assert motion.energy_drift < 1e-6
    assert motion.closure_drift < 1e-12


def squeezer_spring(robot: rg.Robot, module: ModuleType):  # type: ignore[no-untyped-def]
    """Joint forces of the spring between C and D."""
    points = module.squeezer_points(module.SQUEEZER["start"])
    spring, model = module.SQUEEZER["spring"], robot.model
    body = model.frames[model.getFrameId("K3")]
    end = pin.Frame(
        "D",
        body.parentJoint,
        body.placement * pin.SE3(np.eye(3), points["D"]),
        pin.FrameType.OP_FRAME,
    )
    frame = model.addFrame(end)
    data = model.createData()

    def position(q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(model, data, q)
        return np.asarray(data.oMf[frame].translation)

    def forces(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        jacobian = pin.computeFrameJacobian(model, data, q, frame, aligned)[:3]
        towards = points["C"] - position(q)
        length = np.linalg.norm(towards)
        pull = spring["stiffness"] * (length - spring["rest_length"]) / length
        return np.asarray(jacobian.T @ (pull * towards))

    def stored(q: np.ndarray) -> float:
        length = float(np.linalg.norm(points["C"] - position(q)))
        return 0.5 * float(spring["stiffness"]) * (length - float(spring["rest_length"])) ** 2

    return forces, stored


@pytest.mark.slow
def test_andrews_squeezer() -> None:
    module = maker()
    start, answer = module.SQUEEZER["start"], ANSWERS["andrews"]
    robot = rg.to_pinocchio(problem("andrews"))
    forces, stored = squeezer_spring(robot, module)
    zero = np.zeros(robot.model.nv)
    tau = forces(0.0, robot.q0, zero)
    tau[robot.velocity_index("beta")] += module.SQUEEZER["torque"]
    a = robot.forward_dynamics(robot.q0, zero, tau)
    for name, value in answer["start"].items():
        assert a[robot.velocity_index(name)] == pytest.approx(value, rel=1e-12)
    motion = rg.simulate(
        robot,
        duration=answer["end_time"],
        torques={"beta": module.SQUEEZER["torque"]},
        forces=forces,
        times=np.array([0.0, answer["end_time"]]),
        rtol=1e-10,
    )
    found = dict(zip(motion.names, motion.coordinates[-1], strict=True))
    for name, value in answer["end"].items():
        assert found[name] + start[name] == pytest.approx(value, abs=1e-7)
    # What the drive puts in is kinetic energy or in the spring.
    kinetic = pin.computeKineticEnergy(robot.model, robot.data, motion.q[-1], motion.v[-1])
    gained = kinetic + stored(motion.q[-1]) - stored(motion.q[0])
    assert gained == pytest.approx(module.SQUEEZER["torque"] * found["beta"], rel=1e-8)


@pytest.mark.slow
def test_governor_against_lagrange() -> None:
    motion = rg.simulate(
        problem("governor"),
        duration=10.0,
        rates={"shaft": 2 * np.pi, "right_arm": 0.0},
        times=np.array([0.0, 10.0]),
        rtol=1e-10,
    )
    found = dict(zip(motion.names, motion.coordinates[-1], strict=True))
    # By Lagrange's equations of arms, links, balls and slider, and the momentum about the shaft.
    arm, shaft = 0.65604586880821, 40.60062193932411
    assert np.pi / 6 + found["right_arm"] == pytest.approx(arm, abs=1e-6)
    assert found["left_arm"] == pytest.approx(-found["right_arm"], abs=1e-9)
    assert found["shaft"] == pytest.approx(shaft, abs=1e-5)
