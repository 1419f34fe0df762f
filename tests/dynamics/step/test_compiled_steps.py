"""Whole steps in the compiled kernel: they are those that Python makes, whatever the joints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanisms import acted
from numpy.typing import NDArray
from scipy.integrate import DOP853

import regularize as rg
from regularize.dynamics.simulation import dormand_prince
from regularize.dynamics.simulation.dormand_prince import CompiledSteps
from regularize.dynamics.step.compiled import Kernel
from regularize.dynamics.step.multibody import frame_about

ASSETS = Path(__file__).parents[3] / "assets"
FILES = [
    "rssr.urdf",
    "stewart_6ups.urdf",
    "delta_universal.urdf",
    "bennett.urdf",
    "three_prrr.urdf",
]
Z = (0.0, 0.0, 1.0)
ROUND = rg.Inertia(1.0, np.zeros(3), np.diag([0.02, 0.03, 0.04]))

compiled = pytest.mark.skipif(Kernel is None, reason="no compiled kernel")


def with_inertia(mechanism: rg.Mechanism) -> rg.Mechanism:
    """Bodies of 1 kg about their names' joints."""
    bodies = []
    for body in mechanism.bodies:
        places = [j.T_parent_joint[:3, 3] for j in mechanism.joints if j.child == body.name]
        inertia = replace(ROUND, center=places[0] + [0.05, 0.02, 0.1]) if places else None
        bodies.append(replace(body, inertia=inertia))
    return replace(mechanism, bodies=tuple(bodies))


def fourbar(base: str) -> list[rg.Joint]:
    """A four-bar of hinges on a body."""
    points = {"A": (0, 0), "B": (0.1, 0.5), "C": (0.9, 0.6), "D": (0.8, 0.0)}
    bodies = [base, "crank", "coupler", "rocker", base]
    return [
        rg.Joint.in_world(name, bodies[k], bodies[k + 1], "revolute", Z, (*point, 0.0))
        for k, (name, point) in enumerate(points.items())
    ]


def loop() -> rg.Robot:
    """The four-bar on the ground."""
    mechanism = rg.Mechanism.of_joints("loop", fourbar("ground"))
    return rg.to_pinocchio(rg.reduce(with_inertia(mechanism)))


def on_a_base(kind: str) -> rg.Mechanism:
    """A four-bar whose frame moves."""
    base = rg.Joint.in_world("base", "ground", "frame", kind, Z, (0.4, 0.1, 0.2))
    return with_inertia(rg.Mechanism.of_joints(f"on a {kind} base", [base, *fourbar("frame")]))


def moved(
    robot: rg.Robot, monkeypatch: pytest.MonkeyPatch, compiled: bool, **given: object
) -> rg.Simulation:
    """Half a second of motion if nothing else is said, with or without steps of the kernel."""
    with monkeypatch.context() as patch:
        if not compiled:
            patch.setattr(CompiledSteps, "of", lambda *_, **__: None)
        options: dict[str, Any] = {"duration": 0.5, "rtol": 1e-10, **given}
        return rg.simulate(robot, **options)


def compiled_calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Calls of the compiled steps."""
    calls: list[object] = []
    go = CompiledSteps.go

    def counted(self: CompiledSteps, *given: object) -> object:
        calls.append(given)
        return go(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(CompiledSteps, "go", counted)
    return calls


def compare(robot: rg.Robot, monkeypatch: pytest.MonkeyPatch, **given: object) -> rg.Simulation:
    """Both ways give the same samples, the same energy and no open loop."""
    ours, python = (moved(robot, monkeypatch, way, **given) for way in (True, False))
    scale = max(1.0, float(np.max(np.abs(python.v))))
    assert np.allclose(ours.coordinates, python.coordinates, rtol=0.0, atol=2e-8 * scale)
    assert np.allclose(ours.v, python.v, rtol=0.0, atol=2e-7 * scale)
    assert np.allclose(
        ours.energy, python.energy, rtol=0.0, atol=1e-9 * np.ptp(python.energy) + 1e-8
    )
    assert ours.closure_drift < 1e-12
    assert 0 < ours.steps <= python.steps + 5
    return ours


def push(robot: rg.Robot) -> NDArray[np.float64]:
    """A velocity that the loops allow."""
    rng = np.random.default_rng(3)
    return robot.project_velocity(robot.q0, 0.5 * rng.normal(size=robot.model.nv))


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("file", FILES)
def test_steps_of_the_kernel_are_those_of_python(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ball joints, dependent rows, rods of two balls."""
    robot = rg.to_pinocchio(rg.reduce(rg.load(ASSETS / file)))
    compare(robot, monkeypatch, v=push(robot))


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("kind", ["free", "spherical", "planar", "cylindrical"])
def test_bases_of_all_kinds(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates of tangent steps of all groups, by turning more than a radian."""
    robot = rg.to_pinocchio(rg.reduce(on_a_base(kind)))
    v = push(robot) + robot.project_velocity(robot.q0, np.full(robot.model.nv, 2.0))
    compare(robot, monkeypatch, v=v)


@compiled
def test_forces_within_joints_and_constant_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Damping, dry friction and springs of the tree's joints; the balance of energy counts them."""
    mechanism = on_a_base("prismatic")
    amounts = {
        "base": {"damping": 0.4, "stiffness": 30.0, "rest_position": 0.1},
        "A": {"damping": 0.2, "friction": 0.3, "armature": 0.02},
        "B": {"stiffness": 2.0, "rest_position": -0.2},
    }
    joints = [acted(j, **amounts.get(j.name, {})) for j in mechanism.joints]
    reduction = rg.reduce(replace(mechanism, joints=tuple(joints)), cuts=["D"])
    robot = rg.to_pinocchio(reduction)
    found = compare(robot, monkeypatch, v=push(robot), torques={"A": 0.7}, slip=0.05)
    assert found.energy_drift < 1e-9


def time_of_turning(angle: float, rate: float) -> float:
    """Time that the parallelogram below takes, by its energy and its momentum along the slide."""
    mass, swept = 4.0, np.array([-0.7, 0.6])  # of all bodies; their centres about A and D, summed
    inertia = 0.1125 + 0.26 + 0.9125  # of crank, coupler and rocker, by the cranks' angle
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.linspace(0.0, angle, 1 + int(np.ceil(abs(angle) / 0.3)))
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    at = middle[:, None] + half[:, None] * nodes
    lever = -(np.sin(at) * swept[0] + np.cos(at) * swept[1])
    momentum = -swept[1] * rate
    energy = inertia * rate**2 - momentum**2 / mass
    return float(half @ (np.sqrt((inertia - lever**2 / mass) / energy) @ weights))


@compiled
def test_steps_keep_away_from_where_branches_cross() -> None:
    """A parallelogram on a slide passes its flat pose as exactly as all others."""
    points = {"A": (0, 0), "B": (0.1, 0.5), "C": (1.1, 0.5), "D": (1, 0)}
    bodies = ["frame", "crank", "coupler", "rocker", "frame"]
    joints = [rg.Joint.in_world("base", "ground", "frame", "prismatic", (1, 0, 0), (0, 0, 0))]
    joints += [
        rg.Joint.in_world(name, bodies[k], bodies[k + 1], "revolute", Z, (*point, 0.0))
        for k, (name, point) in enumerate(points.items())
    ]
    mechanism = rg.Mechanism.of_joints("parallelogram", joints)
    mass = rg.Inertia(1.0, np.array([0.1, 0.05, 0.0]), 0.1 * np.eye(3))
    weighed = [replace(body, inertia=mass) for body in mechanism.bodies]
    robot = rg.to_pinocchio(rg.reduce(replace(mechanism, bodies=tuple(weighed))))
    for rate in np.linspace(1.75, 2.05, 7):
        for rtol in (1e-9, 1e-10, 1e-11):
            motion = rg.simulate(
                robot,
                duration=3.0,
                rtol=rtol,
                rates={"base": 0.0, "A": rate},
                times=np.array([0.0, 3.0]),
            )
            angle = motion.coordinates[-1, motion.names.index("A")]
            assert abs(time_of_turning(angle, rate) - 3.0) * rate < 30 * rtol


@compiled
def test_what_the_kernel_leaves_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dampers in a ball joint whose axes are not those of its frame."""
    calls, mechanism = compiled_calls(monkeypatch), on_a_base("spherical")
    askew = np.vstack([np.zeros((3, 3)), frame_about(np.full(3, 3**-0.5))[:3, :3]])
    for screws, is_compiled in ((askew, False), (np.eye(6, 3, -3), True)):
        joints = [
            acted(replace(j, screws=screws), damping=np.full(3, 0.1)) if j.name == "base" else j
            for j in mechanism.joints
        ]
        robot = rg.to_pinocchio(rg.reduce(replace(mechanism, joints=tuple(joints)), cuts=["D"]))
        rg.simulate(robot, duration=0.1)
        assert bool(calls) == is_compiled


def test_the_coefficients_are_those_of_scipy() -> None:
    for name in ("A", "B", "A_EXTRA", "D"):
        assert np.array_equal(getattr(dormand_prince, name), getattr(DOP853, name))
    for name in ("E3", "E5"):
        assert np.array_equal([*getattr(dormand_prince, name), 0.0], getattr(DOP853, name))
