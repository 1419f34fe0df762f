"""What acts during a simulation: on bodies, in closing joints, and by functions of both kinds."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from mechanisms import acted
from scipy import LowLevelCallable
from test_compiled_steps import (
    compare,
    compiled,
    compiled_calls,
    loop,
    moved,
    on_a_base,
    push,
    with_inertia,
)

import regularize as rg

Z = (0.0, 0.0, 1.0)
FORCES = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 3, ctypes.c_void_p
)
#: Steps of the kernel, and those of Python.
either = pytest.mark.parametrize("compiled", [pytest.param(True, marks=compiled), False])
TORQUE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)


def floating() -> rg.Robot:
    """A body of 2 kg that moves freely without gravity, its frame turned against its joint's."""
    joint = rg.Joint.in_world("base", "ground", "body", "free", Z, (0.1, 0.2, 0.3))
    mechanism = rg.Mechanism.of_joints("body", [joint])
    inertia = rg.Inertia(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.2, 0.3, 0.4]))
    bodies = [replace(b, inertia=inertia if b.name == "body" else None) for b in mechanism.bodies]
    robot = rg.to_pinocchio(rg.reduce(replace(mechanism, bodies=tuple(bodies))))
    robot.model.gravity.linear = np.zeros(3)
    return robot


@either
def test_a_force_at_the_centre_of_mass_drives_a_parabola(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = floating()
    load = rg.BodyLoad(force=(3.0, -1.0, 2.0), point=(0.1, 0.2, 0.3))
    motion = moved(robot, monkeypatch, compiled, loads={"body": load})
    way = motion.q[-1, :3] - motion.q[0, :3]
    assert way == pytest.approx(0.5 * 0.5**2 * np.array([3.0, -1.0, 2.0]) / 2.0, abs=1e-10)
    assert motion.q[-1, 3:] == pytest.approx(motion.q[0, 3:], abs=1e-10)


@either
def test_a_moment_in_axes_of_the_body_spins_it_up(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About a principal axis through the centre, which stays at rest."""
    robot = floating()
    load = rg.BodyLoad(moment=(0.0, 0.0, 0.6), axes="body")
    motion = moved(robot, monkeypatch, compiled, loads={"body": load})
    assert motion.v[-1, 3:] == pytest.approx([0.0, 0.0, 0.6 / 0.4 * 0.5], abs=1e-9)
    assert motion.energy_drift < 1e-9


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("axes", ["ground", "body"])
def test_loads_on_several_bodies_of_a_loop(axes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = rg.to_pinocchio(rg.reduce(on_a_base("free")))
    pushed = rg.BodyLoad((3.0, -2.0, 1.0), (0.3, 0.2, -0.1), (0.2, 0.1, 0.3), axes)
    loads = {"coupler": pushed, "rocker": [0.0, 1.0, 0.5, 0.1, 0.0, 0.2]}
    found = compare(robot, monkeypatch, v=push(robot), loads=loads)
    assert found.energy_drift < 1e-9


def held(kind: str, law: dict[str, Any]) -> rg.Robot:
    """A body of unit moments of inertia and 2 kg that a joint holds, which closes the only loop."""
    joints = [
        rg.Joint.in_world("base", "ground", "body", "free", Z, (0.0, 0.0, 0.0)),
        rg.Joint.in_world("holder", "ground", "body", kind, Z, (0.0, 0.0, 0.0)),
    ]
    joints[1] = acted(joints[1], **law)
    mechanism = rg.Mechanism.of_joints(f"held by a {kind} joint", joints)
    inertia = rg.Inertia(2.0, np.zeros(3), np.eye(3))
    bodies = [replace(b, inertia=inertia if b.name == "body" else None) for b in mechanism.bodies]
    still = replace(mechanism, bodies=tuple(bodies), gravity=(0.0, 0.0, 0.0))
    return rg.to_pinocchio(rg.reduce(still, cuts=["holder"]))


@pytest.mark.slow
@either
def test_a_damped_closing_joint_of_two_freedoms_lets_rates_decay(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = held("cylindrical", {"damping": np.array([3.0, 0.8])})
    calls, v = compiled_calls(monkeypatch), np.array([0.0, 0.0, 0.6, 0.0, 0.0, 1.2])
    motion = moved(robot, monkeypatch, compiled, v=v)
    assert bool(calls) == compiled
    decayed = np.exp(-np.outer(motion.time, [3.0 / 2.0, 0.8]))
    assert motion.v[:, [2, 5]] == pytest.approx(decayed * v[[2, 5]], abs=1e-9)


@pytest.mark.slow
@either
def test_a_closing_ball_with_a_spring_swings(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About a fixed axis, from where the spring does not rest: a damped oscillator."""
    rest = np.array([0.0, 0.0, -0.3])
    law = {"damping": np.full(3, 0.4), "stiffness": np.full(3, 9.0), "rest_position": rest}
    calls, robot = compiled_calls(monkeypatch), held("spherical", law)
    motion = moved(robot, monkeypatch, compiled)
    t, rate = motion.time, np.sqrt(9.0 - 0.2**2)
    swing = 0.3 * np.exp(-0.2 * t) * (np.cos(rate * t) + 0.2 / rate * np.sin(rate * t))
    angle = 2.0 * np.arctan2(motion.q[:, 5], motion.q[:, 6])
    assert bool(calls) == compiled
    assert angle == pytest.approx(swing - 0.3, abs=1e-8)


FREEDOMS = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "spherical": 3, "planar": 3}


def spatial(kind: str, law: dict[str, Any]) -> rg.Mechanism:
    """A loop of hinges askew, something acting in its last joint."""
    axes = [(0, 0, 1), (0.3, 1, 0.1), (1, 0.2, 0.1), (0, 0.2, 1), (0.5, 0.5, 0.1), (0.1, 1, 0.4)]
    points = np.array([[0, 0, 0], [1, 5, 1], [9, 4, 3], [10, 1, -1], [8, 0, 2], [5, -3, 1]]) / 10
    count = 8 - FREEDOMS[kind]
    bodies = ["ground", *(f"body {k}" for k in range(count - 1)), "ground"]
    joints = [
        rg.Joint.in_world(name, bodies[k], bodies[k + 1], "revolute", axes[k], tuple(points[k]))
        for k, name in enumerate("ABCDEF"[: count - 1])
    ]
    last = rg.Joint.in_world("last", bodies[-2], "ground", kind, (0.2, 0.4, 1.0), (0.4, -0.1, 0.1))
    return with_inertia(rg.Mechanism.of_joints(kind, [*joints, acted(last, **law)]))


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("kind", FREEDOMS)
def test_what_acts_in_joints_that_close_loops(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Springs that do not rest, dampers and friction: the same in the tree and where it is cut."""
    freedoms = FREEDOMS[kind]
    part = np.linspace(0.5, 1.5, freedoms)
    law = {"damping": 0.3 * part, "friction": 0.1 * part, "rest_position": 0.2 * part}
    law["stiffness"] = np.full(freedoms, 3.0)
    calls, times, motions = compiled_calls(monkeypatch), np.linspace(0.0, 0.5, 4), []
    for cut in ("last", "A"):
        robot = rg.to_pinocchio(rg.reduce(spatial(kind, law), cuts=[cut]))
        still = np.zeros(robot.model.nv)
        motions.append(compare(robot, monkeypatch, v=still, slip=0.2, times=times))
    closing, within = motions
    (closure,), data = closing.robot.constraints.closures, closing.robot.data
    pin.forwardKinematics(closing.robot.model, data, closing.q[-1])
    at = closure.position(np.array([pose.homogeneous for pose in data.oMi]))
    columns = closing.robot.constraints.closing_columns
    assert closing.coordinates[-1, columns] == pytest.approx(at, abs=1e-14)
    assert len(calls) > 1 and closing.energy_drift < 1e-9 and within.energy_drift < 1e-9
    assert closing.coordinates == pytest.approx(within.coordinates, abs=1e-7)


def spring(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.array([-2.0 * q[0] + np.sin(t), 0.3, 0.0]) - 0.1 * v


@FORCES
def compiled_spring(t, q, v, tau, data):  # type: ignore[no-untyped-def]
    q, v = np.array(q[:3]), np.array(v[:3])
    for i, value in enumerate(spring(t, q, v)):
        tau[i] += value
    return 0


@TORQUE
def compiled_torque(t, data):  # type: ignore[no-untyped-def]
    scale = ctypes.cast(data, ctypes.POINTER(ctypes.c_double))[0] if data else 1.0
    return scale * np.cos(3.0 * t)


@compiled
def test_functions_of_forces_are_called_from_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled ones and plain ones alike, together and alone; work is part of the balance."""
    robot = loop()
    calls, data = compiled_calls(monkeypatch), ctypes.c_double(2.0)
    pointer = ctypes.cast(ctypes.pointer(data), ctypes.c_void_p)
    plain = compare(robot, monkeypatch, forces=spring, torques={"A": lambda t: 2 * np.cos(3 * t)})
    assert calls and plain.energy_drift < 1e-9
    same = compare(
        robot,
        monkeypatch,
        forces=LowLevelCallable(compiled_spring),
        torques={"A": LowLevelCallable(compiled_torque, pointer)},
    )
    mixed = compare(
        robot, monkeypatch, forces=spring, torques={"A": LowLevelCallable(compiled_torque, pointer)}
    )
    for each in (same, mixed):
        assert each.coordinates == pytest.approx(plain.coordinates, abs=1e-9)


def failing(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    if t > 0.05:
        raise KeyError("no value")
    return 0.0 * v


@FORCES
def refusing(t, q, v, tau, data):  # type: ignore[no-untyped-def]
    return 7 if t > 0.05 else 0


def test_what_functions_may_be_and_return() -> None:
    """Errors name the argument and what was expected, and exceptions come through."""
    robot = loop()

    def run(**given: object) -> None:
        rg.simulate(robot, duration=0.2, **given)  # type: ignore[arg-type]

    with pytest.raises(KeyError, match="no value"):
        run(forces=failing)
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("compiled function of forces returned 7 at", {"forces": LowLevelCallable(refusing)}),
        (r"forces returns joint forces of shape \(3,\)", {"forces": lambda t, q, v: np.zeros(2)}),
        ("torque of joint 'A' is a number; the", {"torques": {"A": lambda t: "much"}}),
        ("signature 'double", {"torques": {"A": LowLevelCallable(refusing)}}),
        ("signature 'int", {"forces": LowLevelCallable(compiled_torque)}),
        (r"pass scipy.LowLevelCallable\(function\)", {"forces": refusing}),
        ("is a BodyLoad or six numbers, force first; got", {"loads": {"coupler": [0.0, 0.0, 1.0]}}),
        ("no body", {"loads": {"nobody": rg.BodyLoad()}}),
    ]
    for told, given in wrong:
        with pytest.raises(rg.ModelError, match=told):
            run(**given)
    with pytest.raises(TypeError, match="loads is names, each with an array of finite numbers"):
        run(loads={"coupler": "much"})
    with pytest.raises(rg.ModelError, match="force of a load consists of three finite numbers"):
        rg.BodyLoad(force=(1.0, 2.0))
    with pytest.raises(rg.ModelError, match="axes of a load"):
        rg.BodyLoad(axes="world")
