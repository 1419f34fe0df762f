"""The simulation: accuracy, actuation, output, and what it says when it cannot go on."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_cases import MECHANISMS, fourbar, massive, stewart
from scipy.integrate import solve_ivp

import regularize as rg

PENDULUM = rg.Mechanism.of_joints(
    "pendulum", [rg.Joint.in_world("hinge", "ground", "rod", "revolute", (0, 1, 0))]
)


def pendulum() -> rg.Mechanism:
    rod = rg.Inertia(2.0, np.array([1.0, 0.0, 0.0]), np.diag([1e-3, 0.5, 0.5]))
    bodies = tuple(replace(b, inertia=rod if b.name == "rod" else None) for b in PENDULUM.bodies)
    return replace(PENDULUM, bodies=bodies)


@pytest.mark.parametrize("damping", [0.0, 0.8])
def test_pendulum_with_a_torque_over_time(damping: float) -> None:
    motion = rg.simulate(
        pendulum(),
        duration=6.0,
        torques={"hinge": lambda t: 3.0 * np.sin(2 * t)},
        forces=lambda t, q, v: -damping * v,
        times=np.array([0.0, 0.7, 1.9, 3.0, 6.0]),
        rtol=1e-11,
    )
    expected = solve_ivp(
        lambda t, y: [
            y[1],
            (3.0 * np.sin(2 * t) - damping * y[1] + 2.0 * 9.81 * np.cos(y[0])) / 2.5,
        ],
        (0.0, 6.0),
        [0.0, 0.0],
        t_eval=motion.time,
        rtol=1e-12,
        atol=1e-12,
        method="DOP853",
    ).y
    assert np.allclose(motion.q[:, 0], expected[0], atol=1e-8)
    assert np.allclose(motion.v[:, 0], expected[1], atol=1e-8)
    assert motion.energy_drift < 1e-8
    assert 0.0 < motion.correction < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tilted", "RSSR", "floating Stewart", "Bricard", "RCSE"])
def test_energy_and_closure(name: str) -> None:
    motion = rg.simulate(massive(MECHANISMS[name]()), duration=0.5, rtol=1e-10)
    scale = np.ptp([abs(motion.energy[0]), *np.sum(motion.v**2, axis=1)]) + 1.0
    assert motion.energy_drift < 1e-7 * scale
    assert motion.closure_drift < 1e-11
    assert len(motion.time) == 51
    assert np.ptp(motion.coordinates, axis=0).max() > 1e-3


def test_error_follows_the_tolerance() -> None:
    reduction = rg.reduce(massive(fourbar(0.4)))
    ends = [
        rg.simulate(reduction, duration=2.0, rtol=rtol, times=np.array([0.0, 2.0]))
        for rtol in (1e-5, 1e-8, 1e-12)
    ]
    coarse, fine = (float(np.max(np.abs(end.q[-1] - ends[-1].q[-1]))) for end in ends[:2])
    assert ends[0].steps < ends[1].steps
    assert fine < 1e-6
    assert fine < coarse < 1e-2


@pytest.mark.slow
def test_a_falling_mechanism_keeps_its_angular_momentum() -> None:
    """Whichever way it tumbles, and whatever its legs do; its centre of mass falls freely."""
    robot = rg.to_pinocchio(rg.reduce(massive(stewart(floating=True))))
    v = np.random.default_rng(6).normal(size=robot.model.nv)
    v = robot.project_velocity(robot.q0, v)
    motion = rg.simulate(robot, duration=1.0, v=v, rtol=1e-11)
    model, data = robot.model, robot.data
    momenta = [
        pin.computeCentroidalMomentum(model, data, q, rate).vector
        for q, rate in zip(motion.q, motion.v, strict=True)
    ]
    fallen = np.array(momenta) - momenta[0]
    fallen[:, 2] += pin.computeTotalMass(model) * 9.81 * motion.time
    assert np.max(np.abs(fallen)) < 1e-7
    turned = pin.difference(model, motion.q[0], motion.q[-1])
    assert np.linalg.norm(turned[robot.velocity_index("float", 3) :][:3]) > 0.3


@pytest.mark.slow
def test_conserve_ends_on_the_balance() -> None:
    reduction = rg.reduce(massive(fourbar(0.4)))
    plain = rg.simulate(reduction, duration=5.0, rtol=1e-6, solver=rg.Solver(conserve=False))
    kept = rg.simulate(reduction, duration=5.0, rtol=1e-6)
    assert plain.correction == 0.0 and plain.energy_drift > 1e-8
    assert 0.0 < kept.correction < 1e-2
    assert kept.energy_drift < 1e-3 * plain.energy_drift
    # What is conserved is worth it: the motion is nearer to the exact one, too.
    exact = rg.simulate(reduction, duration=5.0, rtol=1e-12, solver=rg.Solver(conserve=False))
    missed = [np.max(np.abs(m.coordinates - exact.coordinates)) for m in (plain, kept)]
    assert missed[1] < missed[0]


def test_output(tmp_path: Path) -> None:
    motion = rg.simulate(massive(MECHANISMS["RCSE"]()), duration=0.1)
    with open(motion.save(tmp_path / "motion.csv"), newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["time_s", *motion.names, "energy_J", "closure"]
    assert np.allclose(np.array(rows[1:], dtype=float)[:, 1:-2], motion.coordinates, atol=0)
    with np.load(motion.save(tmp_path / "motion.npz")) as arrays:
        assert np.array_equal(arrays["q"], motion.q)
        assert list(arrays["names"]) == list(motion.names)
    with pytest.raises(rg.UnsupportedExport, match=r"\.csv or \.npz"):
        motion.save(tmp_path / "motion.xls")
    figures = motion.as_dict()
    assert figures["steps"] == motion.steps > 0
    assert figures["duration_s"] == pytest.approx(0.1)


@pytest.mark.slow
def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    motion = rg.simulate(massive(fourbar()), duration=0.1)
    root = ElementTree.parse(motion.plot(tmp_path / "motion.svg")).getroot()
    assert root.tag.endswith("svg") and len(list(root.iter())) > 100
    bare = motion.plot(tmp_path / "bare.svg", joints=[]).read_text()
    assert "legend_1" not in bare and "legend_1" in (tmp_path / "motion.svg").read_text()
    picture = motion.plot(tmp_path / "motion.png", joints=["j0"]).read_bytes()
    assert picture.startswith(b"\x89PNG")
    with pytest.raises(rg.UnsupportedExport):
        motion.plot(tmp_path / "motion.pdf")
    with pytest.raises(rg.ModelError, match="no coordinate 'j9'"):
        motion.plot(tmp_path / "motion.svg", joints=["j9"])


def test_progress_reaches_one() -> None:
    done: list[float] = []
    rg.simulate(massive(fourbar()), duration=0.2, progress=done.append)
    assert done == sorted(done) and done[-1] == 1.0


@pytest.mark.slow
def test_wrong_arguments() -> None:
    reduction = rg.reduce(massive(fourbar()), cuts=["j2"])
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"duration": 0.0}, rg.ModelError, "duration"),
        ({"limits": "events"}, rg.ModelError, "say limits=True"),
        ({"torques": {"motor": 1.0}}, rg.ModelError, "no joint 'motor'"),
        ({"torques": {"j2": 1.0}}, rg.UnsupportedExport, "closes a loop"),
        ({"solver": rg.Solver(style="springs")}, rg.UnsupportedExport, "unknown style"),
        ({"q": np.zeros(7)}, rg.ModelError, "shape"),
        ({"times": np.array([0.0, 2.0])}, rg.ModelError, "times"),
        ({"coordinates": "minimal"}, TypeError, r"'coordinates': say solver=rg\.Solver\("),
        ({"max_step": 1e-3}, TypeError, r"'max_step': say solver=rg\.Solver\("),
        ({"engine": "mujoco"}, TypeError, r"'engine': say solver=rg\.Solver\("),
        ({"torks": {}}, TypeError, "no argument 'torks'"),
    ]
    for options, error, message in wrong:
        with pytest.raises(error, match=message):
            rg.simulate(reduction, **{"duration": 1.0, **options})
    robot = rg.to_pinocchio(rg.reduce(massive(MECHANISMS["RSSR"]())), "anchors")
    with pytest.raises(rg.ModelError, match="3 freedoms"):
        rg.simulate(robot, duration=1.0, solver=rg.Solver(style="slack"), torques={"B": 1.0})


@pytest.mark.parametrize("coordinates", ["all", "minimal"])
def test_numbers_with_which_nothing_can_be_simulated(coordinates: str) -> None:
    robot = rg.to_pinocchio(rg.reduce(massive(fourbar(0.4))))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"duration": np.nan}, "duration is a positive number; got nan"),
        ({"rtol": 1e-16}, "got rtol = 1e-16"),
        ({"rtol": np.nan}, "rtol is a positive number; got nan"),
        ({"torques": {"j0": np.nan}}, "torques is names, each with a finite number"),
        ({"rates": {"j0": np.inf}}, "rates is names, each with a finite number"),
        ({"v": np.full(robot.nv, np.nan)}, "v is an array of finite numbers"),
        ({"q": np.zeros(9)}, "q has shape"),
    ]
    for options, message in wrong:
        with pytest.raises(rg.ModelError, match=message):
            rg.simulate(robot, solver=rg.Solver(coordinates), **{"duration": 1.0, **options})


def test_solvers_with_which_nothing_can_be_simulated() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"atol": -1.0}, "the absolute error per step must be a positive number, got -1.0"),
        ({"max_step": 0.0}, "the largest step must be a positive number, got 0.0"),
        ({"coordinates": "polar"}, "unknown coordinates 'polar'; known: all, minimal"),
    ]
    for options, message in wrong:
        with pytest.raises(rg.ModelError, match=message):
            rg.Solver(**options)
    with pytest.raises(rg.ModelError, match="the step must be a positive number of seconds"):
        rg.MuJoCo(0.0)


@pytest.mark.slow
def test_loops_are_cut_away_from_the_joints_that_are_driven() -> None:
    for joint in ("j0", "j1", "j2", "j3"):
        motion = rg.simulate(massive(fourbar(0.4)), duration=0.1, torques={joint: 1.0})
        assert motion.robot.reduction.cuts[0].edge.name != joint


@pytest.mark.slow
def test_open_loops_are_not_simulated() -> None:
    mechanism = massive(fourbar())
    last = mechanism.joints[-1]
    moved = np.array(last.T_child_joint)
    moved[0, 3] += 5.0
    broken = replace(mechanism, joints=(*mechanism.joints[:-1], replace(last, T_child_joint=moved)))
    with pytest.raises(rg.NotClosed):
        rg.simulate(broken, duration=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tilted", "RSSR", "Stewart", "floating Stewart", "RCSE"])
def test_mujoco_agrees_within_its_softness(name: str) -> None:
    pytest.importorskip("mujoco")
    reduction = rg.reduce(massive(MECHANISMS[name]()))
    times = np.array([0.0, 0.1, 0.25])
    options = {"duration": 0.25, "times": times, "torques": {"R": 1.5} if name == "RCSE" else {}}
    exact = rg.simulate(reduction, rtol=1e-10, **options)
    soft = [rg.simulate(reduction, solver=rg.MuJoCo(step), **options) for step in (1e-3, 1e-4)]
    errors = [float(np.max(np.abs(s.coordinates - exact.coordinates))) for s in soft]
    assert errors[1] < 1e-6
    assert errors[1] < 0.2 * errors[0] + 1e-12
    assert soft[1].steps == 2500 and soft[1].closure_drift < 1e-6


def test_mujoco_says_what_it_cannot_carry() -> None:
    pytest.importorskip("mujoco")
    with pytest.raises(rg.UnsupportedExport, match="no joint like"):
        rg.simulate(massive(MECHANISMS["helices"]()), duration=0.1, solver=rg.MuJoCo())
