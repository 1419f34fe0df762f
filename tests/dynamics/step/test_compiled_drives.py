"""Prescribed motions in the compiled steps: they are those that Python makes, in all forms."""

from __future__ import annotations

import ctypes
import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mechanisms import acted
from scipy import LowLevelCallable
from test_compiled_forces import TORQUE, compiled_calls
from test_compiled_steps import ASSETS, compare, compiled, loop, on_a_base, with_inertia
from test_simulate import pendulum

import regularize as rg
from regularize.dynamics.simulation.integrator import Integrator
from regularize.dynamics.simulation.prescribed import parse

MOTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p
)


def driven(file: str, joints: list[str]) -> rg.Robot:
    """A robot whose loops are not cut at these joints."""
    mechanism = rg.load(ASSETS / file)
    marked = [replace(j, actuated=j.name in joints) for j in mechanism.joints]
    return rg.to_pinocchio(rg.reduce(replace(mechanism, joints=tuple(marked))))


def both(
    robot: rg.Robot, monkeypatch: pytest.MonkeyPatch, drive: dict[str, Any], **given: Any
) -> rg.Simulation:
    """Both ways give the same motion and the same forces, and C makes all steps of its own."""
    calls, options = compiled_calls(monkeypatch), {"times": np.linspace(0.0, 0.5, 8), **given}
    found = compare(robot, monkeypatch, drive=drive, **options)
    assert calls and found.drives == tuple(drive)
    monkeypatch.setattr(Integrator, "_step", lambda *_: pytest.fail("a step in Python"))
    again = rg.simulate(robot, duration=0.5, rtol=1e-10, drive=drive, **options)
    monkeypatch.undo()
    with monkeypatch.context() as patch:
        patch.setattr(
            "regularize.dynamics.simulation.dormand_prince.CompiledSteps.of", lambda *_, **__: None
        )
        python = rg.simulate(robot, duration=0.5, rtol=1e-10, drive=drive, **options)
    size = float(np.max(np.abs(python.drive_forces)))
    np.testing.assert_allclose(again.drive_forces, python.drive_forces, atol=1e-7 * (1 + size))
    assert again.energy_drift < 1e-7 * (1.0 + size)
    return again


@pytest.mark.slow
@compiled
@pytest.mark.parametrize(
    "text",
    [
        "0.3",
        "+t - 0.1*-(t + 1)**-2 + 0.1*2**t",
        "sin(2*t)*cos(3*time)/(1 + t**2)",
        "sqrt(1 + t)**3 - atan(t) + abs(-t)",
        "asin(t/3) - acos(t/4) + tan(t/5) + pi/e",
        "tanh(t) + log(1 + t) + sinh(t/2)*cosh(t/2) - exp(-t)",
        "0.1*(1 + t)**(2 + t)",
    ],
)
def test_expressions_in_c_have_the_rates_of_those_in_python(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pendulum's torque says what its acceleration is."""
    calls, motion_of = compiled_calls(monkeypatch), parse(text)
    monkeypatch.setattr(Integrator, "_step", lambda *_: pytest.fail("a step in Python"))
    motion = rg.simulate(pendulum(), duration=1.0, drive={"hinge": text})
    expected = np.array([motion_of(t) for t in motion.time])
    assert calls and motion.coordinates[:, 0] == pytest.approx(expected[:, 0], abs=1e-14)
    assert motion.v[:, 0] == pytest.approx(expected[:, 1], abs=1e-14)
    torque = 2.5 * expected[:, 2] - 2.0 * 9.81 * np.cos(expected[:, 0])
    assert motion.drive_forces[:, 0] == pytest.approx(torque, abs=1e-12)


def swing(t: Any) -> tuple[Any, Any, Any]:
    return 0.6 * t - 0.4 * t**3, 0.6 - 1.2 * t**2, -2.4 * t


@MOTION
def compiled_swing(t, motion, data):  # type: ignore[no-untyped-def]
    motion[0], motion[1], motion[2] = swing(t)
    return 0


@MOTION
def refusing(t, motion, data):  # type: ignore[no-untyped-def]
    motion[0], motion[1], motion[2] = swing(t)
    return 7 if 0.0503 < t < 0.0508 else 0


TIMES = np.linspace(0.0, 1.0, 12)


@pytest.mark.slow
@compiled
@pytest.mark.parametrize(
    "motion",
    [
        "0.6*t - 0.4*t**3",
        swing,
        lambda t: swing(t)[0],
        LowLevelCallable(compiled_swing),
        (TIMES, swing(TIMES)[0]),
        "+".join(["0.6*t - 0.4*t**3", *["(t - t"] * 40]) + ")" * 40,
    ],
    ids=["expression", "with rates", "without rates", "compiled", "table", "deep"],
)
def test_motions_in_all_forms(motion: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = loop()
    found = both(robot, monkeypatch, {"A": motion})
    crank = found.coordinates[:, found.names.index("A")]
    assert crank == pytest.approx(swing(found.time)[0], abs=1e-12)


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("kind", ["free", "spherical", "prismatic"])
def test_some_are_driven_and_others_move(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With whatever else acts: dampers, springs, functions of forces, loads."""
    mechanism = on_a_base(kind)
    law = {"damping": 0.3, "friction": 0.1, "stiffness": 5.0, "rest_position": 0.2}
    joints = [acted(j, **law) if j.name in "BC" else j for j in mechanism.joints]
    robot = rg.to_pinocchio(rg.reduce(replace(mechanism, joints=tuple(joints)), cuts=["D"]))
    acting = {"loads": {"coupler": [1, 2, 3, 0.1, 0.2, 0.3]}, "forces": lambda t, q, v: -0.1 * v}
    both(robot, monkeypatch, {"A": "0.2*sin(3*t)"}, slip=0.1, **acting)


@pytest.mark.slow
@compiled
@pytest.mark.parametrize(
    ("file", "joints"),
    [
        ("goldberg_6r.urdf", ["A"]),
        ("rssr.urdf", ["A"]),
        ("stewart_6ups.urdf", [f"P{k}" for k in range(1, 7)]),
        ("n_fourbar_5.urdf", ["A0"]),
    ],
)
def test_drives_of_all_freedoms(
    file: str, joints: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dependent rows, ball joints, several drives at once."""
    robot = driven(file, joints)
    places = [robot.position_index(robot.velocity_index(name)) for name in joints]
    drive = {
        name: f"{float(robot.q0[place])!r} + 0.02*sin({2 + k}*t)"
        for k, (name, place) in enumerate(zip(joints, places, strict=True))
    }
    both(robot, monkeypatch, drive)


def test_a_crank_that_turns_evenly_moves_the_slider_as_its_equation_says() -> None:
    """Position, rate and acceleration, the last one by the force on a slider without gravity."""
    Z = (0.0, 0.0, 1.0)
    points = {"A": (0.0, 0.0), "B": (0.3, 0.0), "C": (1.1, 0.0)}
    bodies = ["ground", "crank", "rod", "slider"]
    joints = [
        rg.Joint.in_world(name, bodies[k], bodies[k + 1], "revolute", Z, (*point, 0.0))
        for k, (name, point) in enumerate(points.items())
    ]
    joints.append(rg.Joint.in_world("S", "ground", "slider", "prismatic", (1, 0, 0), (0, 0, 0)))
    mechanism = with_inertia(rg.Mechanism.of_joints("slider-crank", joints))
    motion = rg.simulate(mechanism, duration=2.0, drive={"A": "3*t"})
    angle = 3.0 * motion.time
    rod = np.sqrt(0.8**2 - (0.3 * np.sin(angle)) ** 2)
    slider = motion.coordinates[:, motion.names.index("S")]
    assert slider == pytest.approx(0.3 * np.cos(angle) + rod - 1.1, abs=1e-12)
    assert motion.energy_drift < 1e-6


def test_errors_of_motions_come_through() -> None:
    robot = loop()

    def failing(t: float) -> float:
        if 0.0501 < t < 0.0519:
            raise KeyError("no value")
        return 0.1 * t

    def run(motion: Any) -> None:
        rg.simulate(robot, duration=0.2, solver=rg.Solver(max_step=5e-4), drive={"A": motion})

    with pytest.raises(KeyError, match="no value"):
        run(failing)
    with pytest.raises(rg.ModelError, match="joint 'A': the compiled function returned 7 at"):
        run(LowLevelCallable(refusing))
    with pytest.raises(rg.ModelError, match=r"signature 'int \(double, double \*, void \*\)'"):
        run(LowLevelCallable(TORQUE(lambda t, _: t)))
    with pytest.raises(rg.ModelError, match=r"pass scipy.LowLevelCallable\(function\)"):
        run(compiled_swing)


class Recorded:
    """A kernel that keeps what it is called with."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.calls = kernel, dict[str, list[Any]]()

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any) -> Any:
            self.calls.setdefault(name, list(arguments))
            return getattr(self.kernel, name)(*arguments)

        return called


def recorded_motion(monkeypatch: pytest.MonkeyPatch) -> tuple[rg.Robot, Recorded]:
    """A motion with functions of Python, and the kernel that has made it."""
    robot = driven("slider_crank.urdf", ["A"])
    made, own = list[Recorded](), type(robot).driven_kernel

    def recorded(robot: rg.Robot, velocities: Any) -> Any:
        made.append(Recorded(own(robot, velocities)))
        return made[-1]

    monkeypatch.setattr(type(robot), "driven_kernel", recorded)

    def forces(t: float, q: Any, v: Any) -> Any:
        return np.zeros(robot.nv)

    def motion(t: float) -> tuple[float, float, float]:
        return 0.1 * t * t, 0.2 * t, 0.2

    drive = {"A": motion}
    rg.simulate(robot, duration=0.1, drive=drive, forces=forces, times=np.linspace(0.0, 0.1, 7))
    (kernel,) = (each for each in made if "motion_between" in each.calls)
    return robot, kernel


@pytest.mark.slow
@compiled
def test_functions_live_as_long_as_what_a_kernel_is_called_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The memory of one that is gone becomes that of the next one, which would be called."""
    _, kernel = recorded_motion(monkeypatch)
    before = [np.copy(each) for each in kernel.kernel.advance(*kernel.calls["advance"])]
    gc.collect()
    strangers, called = [], list[float]()
    for _ in range(100):
        strangers.append(MOTION(lambda t, *_: called.append(t) or 7))
    after = kernel.kernel.advance(*kernel.calls["advance"])
    assert not called
    np.testing.assert_array_equal(
        np.hstack([*map(np.ravel, after)]), np.hstack([*map(np.ravel, before)])
    )


@compiled
def test_entries_check_functions_and_drives(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, kernel = recorded_motion(monkeypatch)
    rng, nv = np.random.default_rng(0), robot.nv
    count = len(kernel.calls["advance"][-2])  # options, the last two of which are functions
    for name, arguments in kernel.calls.items():
        entry = getattr(kernel.kernel, name)
        laws, last = 3 if name == "advance" else 4, len(arguments) - 1
        drives, options, functions = laws + 3, last - 1, arguments[last]
        given = arguments[drives]

        def called(place: int, value: Any, entry: Any = entry, own: Any = arguments) -> Any:
            return entry(*own[:place], value, *own[place + 1 :])

        def in_form(form: int, numbers: list[float], given: Any = given) -> Any:
            return np.array([1.0, *given[1:3], form, len(numbers), *numbers])

        wild = (-1.0, 0.5, 99.0, 1e300, np.nan, -np.inf, 2.0**31, 2.0**63)
        wrong = [
            (last, each) for each in (list(functions), None, (None,), ((),), (*functions, object()))
        ]
        for value in wild:
            for place in range(5):
                moved = given.copy()
                moved[place] = value
                wrong.append((drives, moved))
        wrong += [(drives, given[:length]) for length in range(len(given))]
        wrong += [(drives, np.append(given, 1.0)), (drives, rng.normal(size=50))]
        forms = (0, [1, 1, 9, 1, 1, 1]), (0, [1, 1]), (1, [0.0]), (1, [0.0] * 7), (3, [0.0])
        wrong += [(drives, in_form(*form)) for form in forms]
        for place, value in wrong:
            with pytest.raises((rg.ModelError, TypeError)):
                called(place, value)
        # Where a number is of no function, or of another kind, and a program has no value, nothing
        # is computed.
        numbers: list[tuple[int, Any]] = [(last, ()), (last, functions[::-1])]
        for value in (*filter(np.isfinite, wild), float(len(functions))):
            torques, wanted = arguments[laws].copy(), arguments[options].copy()
            torques[6 * nv + int(rng.integers(nv))] = wanted[count - 1] = value
            numbers += [(laws, torques), (options, wanted)]
        programs = [1, 1, 1, 2, 1, 1], [1, 1, 1, 0, 1, 1], [33, 1, 1, *[1] * 33, 1, 1]
        numbers += [(drives, in_form(0, [*map(float, each)])) for each in programs]
        for place, value in numbers:
            found = called(place, value)
            assert found is None or (name == "advance" and found[2][-1] == 1.0), (place, value)
        assert called(drives, in_form(0, [2, 1, 1, 0, 0.5, 1, 1])) is not None
