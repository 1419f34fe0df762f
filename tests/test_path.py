"""Motion along the path of a mechanism with one freedom, against closed forms and other ways."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_cases import MECHANISMS, fourbar, massive, sarrus, stewart
from scipy.special import ellipj, ellipk

import regularize as rg
from regularize.cli import main
from regularize.dynamics.integrator import StepTooSmall
from regularize.dynamics.one_freedom.continuation import OpenPath
from regularize.dynamics.one_freedom.curve import SingularPath
from regularize.dynamics.one_freedom.table import table_of
from regularize.dynamics.simulate import simulate
from regularize.errors import ModelError, NoInertia, NotClosed
from regularize.lie.screw import Array
from regularize.model.mechanism import (
    Coupling,
    Inertia,
    Mechanism,
    joint_in_world,
    mechanism_of,
)
from regularize.pinocchio_model.exporting import to_pinocchio
from regularize.pinocchio_model.robot import mass_matrix

G = 9.81
#: Of ``PENDULUM``: gravity's torque over the moment of inertia.
STIFFNESS = 2.0 * G / 2.5


def pendulum() -> Mechanism:
    """A rod of 2 kg that hangs down from its hinge, 2.5 kg m² about it, centre 1 m below."""
    mechanism = mechanism_of(
        "pendulum", [joint_in_world("hinge", "ground", "rod", "revolute", (0, 1, 0))]
    )
    rod = Inertia(2.0, np.array([0.0, 0.0, -1.0]), np.diag([0.5, 0.5, 1e-3]))
    bodies = tuple(replace(b, inertia=rod if b.name == "rod" else None) for b in mechanism.bodies)
    return replace(mechanism, bodies=bodies)


def slider_crank(crank: float = 0.3) -> Mechanism:
    """Crank of 0.3 m, rod of 1 m, slider along X, drawn with the crank upright."""
    elbow, end = (0.0, 0.0, crank), (float(np.sqrt(1 - crank**2)), 0.0, 0.0)
    return massive(
        mechanism_of(
            "slider-crank",
            [
                joint_in_world("crank", "g", "a", "revolute", (0, 1, 0), (0, 0, 0)),
                joint_in_world("elbow", "a", "b", "revolute", (0, 1, 0), elbow),
                joint_in_world("pin", "b", "c", "revolute", (0, 1, 0), end),
                joint_in_world("slide", "c", "g", "prismatic", (1, 0, 0), end),
            ],
        )
    )


def upright(tilt: float = np.pi / 2 - 0.4) -> Mechanism:
    """A four-bar in which gravity works."""
    return massive(fourbar(tilt))


# The path itself.


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["tilted", "ball in plane", "welded", "spherical", "RSSR", "Bricard"]
)
def test_tables_are_the_mechanism(name: str) -> None:
    path = rg.path(massive(MECHANISMS[name]()))
    assert path.error < 1e-11
    robot = path.robot
    for s in np.random.default_rng(1).uniform(-10, 10, 12):
        at = np.array([s])
        joints, rates = path.configuration(at), path.velocity(at)
        q, v = path.states.configurations(joints)[0], path.states.velocities(joints, rates)[0]
        assert np.max(np.abs(robot.residual(q))) < 1e-12
        assert np.max(np.abs(robot.jacobian(q) @ v)) < 1e-11
        assert path.mass(s) == pytest.approx(
            v @ mass_matrix(robot.model, robot.data, q) @ v, rel=1e-11
        )
        fallen = pin.computePotentialEnergy(robot.model, robot.data, q)
        fallen -= pin.computePotentialEnergy(robot.model, robot.data, robot.q0)
        assert path.potential(s) - path.potential(0.0) == pytest.approx(fallen, abs=1e-11)
        # Rates are derivatives, in Pinocchio's coordinates as well.
        near = path.states.configurations(path.configuration(at + 1e-6))[0]
        before = path.states.configurations(path.configuration(at - 1e-6))[0]
        quotient = pin.difference(robot.model, before, near) / 2e-6
        assert quotient == pytest.approx(v, abs=1e-7 * (1 + np.max(np.abs(v))))


def test_the_path_begins_at_the_reference_and_closes() -> None:
    path = rg.path(upright())
    assert path.configuration(0.0) == pytest.approx(path.robot.reduction.q, abs=1e-12)
    gained = path.configuration(2 * np.pi) - path.configuration(0.0)
    assert gained == pytest.approx(path.turns, abs=1e-12)
    # The shortest link turns through, the longest one's neighbours swing.
    assert np.abs(path.turns) == pytest.approx([2 * np.pi, 2 * np.pi, 0, 0])


def test_bricard_swings_without_turning() -> None:
    path = rg.path(massive(MECHANISMS["Bricard"]()))
    assert np.all(path.turns == 0.0)


def test_gears_close_where_all_wheels_are_back() -> None:
    wheels = [
        joint_in_world("small", "g", "a", "revolute", (0, 0, 1), (0, 0, 0)),
        joint_in_world("large", "g", "b", "revolute", (0, 0, 1), (3, 0, 0)),
    ]
    geared = replace(
        mechanism_of("gears", wheels),
        couplings=(Coupling("teeth", "gear", (("small", 0, 1.0), ("large", 0, 1.5))),),
    )
    path = rg.path(massive(geared))
    assert np.sort(np.abs(path.turns)) == pytest.approx([4 * np.pi, 6 * np.pi])
    motion = path.simulate(1.0, torques={"small": 2.0})
    other = simulate(path.robot, duration=1.0, torques={"small": 2.0}, rtol=1e-11)
    assert motion.coordinates == pytest.approx(other.coordinates, abs=1e-9)


def test_idle_bodies_are_held_and_named() -> None:
    path = rg.path(massive(MECHANISMS["RSSR"]()))
    assert [finding.code for finding in path.findings] == ["REG311"]


def test_locate() -> None:
    path = rg.path(upright())
    for s in (0.3, -1.1, 2.9):
        assert path.locate(path.configuration(s)) == pytest.approx(s, abs=1e-9)
    s = path.locate({"j0": 0.5})
    assert path.configuration(s)[0] == pytest.approx(0.5, abs=1e-9)
    with pytest.raises(ModelError, match="does not lead"):
        path.locate({"j3": 3.0})
    with pytest.raises(ModelError, match="4 coordinates"):
        path.locate(np.zeros(3))


def parallelogram() -> Mechanism:
    points = [(0, 0, 0), (0, 0, 1), (2, 0, 1), (2, 0, 0)]
    names = "gabcg"
    joints = [
        joint_in_world(f"j{i}", names[i], names[i + 1], "revolute", (0, 1, 0), p)
        for i, p in enumerate(points)
    ]
    return massive(mechanism_of("parallelogram", joints))


def two_windows() -> Mechanism:
    """Two parallelograms side by side: the flat pose frees two further motions at once."""
    joints = [
        joint_in_world(f"A{i}", "g", f"c{i}", "revolute", (0, 1, 0), (i, 0, 0)) for i in range(3)
    ]
    for i in range(2):
        joints += [
            joint_in_world(f"B{i}", f"c{i}", f"l{i}", "revolute", (0, 1, 0), (i, 0, 1)),
            joint_in_world(f"C{i}", f"l{i}", f"c{i + 1}", "revolute", (0, 1, 0), (i + 1, 0, 1)),
        ]
    return massive(mechanism_of("two windows", joints))


@pytest.mark.parametrize(
    "mechanism", [parallelogram(), two_windows(), massive(sarrus())], ids=lambda m: m.name
)
def test_branch_points_are_refused(mechanism: Mechanism) -> None:
    with pytest.raises(SingularPath, match=r'singular configuration .* coordinates="all"'):
        rg.path(mechanism)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "rates"),
    [
        (parallelogram(), {"j0": 9.0}),
        (two_windows(), {"A0": 9.0}),
        (massive(sarrus()), {"a0": 0.3}),
    ],
    ids=["parallelogram", "two windows", "Sarrus"],
)
def test_straight_on_at_branch_points_on_request(
    mechanism: Mechanism, rates: dict[str, float]
) -> None:
    path = rg.path(mechanism, through=True)
    assert path.error < 1e-10
    # Both flat poses are named.
    assert [finding.code for finding in path.findings] == ["REG313", "REG313"]
    motion = path.simulate(2.0, rates=rates)
    other = simulate(path.robot, duration=2.0, rates=rates, rtol=1e-12)
    assert motion.q == pytest.approx(other.q, abs=1e-8)
    assert motion.findings[-1].code == "REG313"


@pytest.mark.slow
@pytest.mark.parametrize("length", [2.01, 2.0001])
def test_all_but_a_branch_point(length: float) -> None:
    """A parallelogram with one link a little too long turns sharply where the other branches."""
    points = [(0, 0, 0), (0, 0, 1), (2, 0, 1), (length, 0, 0)]
    joints = [
        joint_in_world(f"j{i}", "gabcg"[i], "gabcg"[i + 1], "revolute", (0, 1, 0), p)
        for i, p in enumerate(points)
    ]
    path = rg.path(massive(mechanism_of("nearly", joints)))
    assert path.error < 1e-9
    times = np.array([0.5, 2.0])
    motion = path.simulate(2.0, rates={"j0": 9.0}, times=times)
    other = simulate(path.robot, duration=2.0, rates={"j0": 9.0}, times=times, rtol=1e-12)
    assert motion.q == pytest.approx(other.q, abs=1e-7)


@pytest.mark.slow
def test_nearer_than_numbers_can_tell() -> None:
    points = [(0, 0, 0), (0, 0, 1), (2, 0, 1), (2 + 1e-7, 0, 0)]
    joints = [
        joint_in_world(f"j{i}", "gabcg"[i], "gabcg"[i + 1], "revolute", (0, 1, 0), p)
        for i, p in enumerate(points)
    ]
    with pytest.raises(SingularPath, match="close to a singular configuration"):
        rg.path(massive(mechanism_of("all but", joints)))


def test_other_freedoms_are_refused() -> None:
    with pytest.raises(ModelError, match=r'6 freedoms.* coordinates="minimal" or "all"'):
        rg.path(massive(stewart()))


def test_a_path_that_never_comes_back() -> None:
    slide = mechanism_of("slide", [joint_in_world("s", "g", "a", "prismatic", (1, 0, 0))])
    with pytest.raises(OpenPath, match="not closed"):
        rg.path(massive(slide))


def test_motion_without_mass() -> None:
    with pytest.raises(NoInertia):
        rg.path(fourbar())


@pytest.mark.slow
def test_open_loops_have_no_path() -> None:
    mechanism = massive(fourbar())
    last = mechanism.joints[-1]
    moved = np.array(last.T_child_joint)
    moved[0, 3] += 5.0
    with pytest.raises(NotClosed):
        rg.path(
            replace(mechanism, joints=(*mechanism.joints[:-1], replace(last, T_child_joint=moved)))
        )


def test_tables_are_exact_where_the_series_is() -> None:
    x = 2 * np.pi * np.arange(40) / 40
    values = np.column_stack([np.sin(3 * x) + 0.2 * np.cos(7 * x), np.exp(np.sin(x))])
    table = table_of(values, np.array([5.0, 0.0]))
    s = np.linspace(-9.0, 9.0, 200)
    exact = np.column_stack([np.sin(3 * s) + 0.2 * np.cos(7 * s), np.exp(np.sin(s))])
    exact[:, 0] += 5.0 * s / (2 * np.pi)
    assert np.max(np.abs(table(s) - exact)) < 1e-9
    slopes = 3 * np.cos(3 * s) - 1.4 * np.sin(7 * s) + 5.0 / (2 * np.pi)
    assert np.max(np.abs(table(s, 1)[:, 0] - slopes)) < 1e-7


# Motion with a closed form.


def test_pendulum_swings_as_elliptic_functions_say() -> None:
    path, start = rg.path(pendulum()), 2.8
    k = np.sin(start / 2) ** 2
    motion = path.simulate(20.0, q={"hinge": start})
    frequency = np.sqrt(STIFFNESS)
    sn, *_ = ellipj(ellipk(k) - frequency * motion.time, k)
    exact = 2 * np.arcsin(np.sqrt(k) * sn)
    assert motion.coordinates[:, 0] == pytest.approx(exact, abs=1e-9)
    assert motion.energy_drift < 1e-9
    assert motion.steps == 1


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_pendulum_turns_through_as_elliptic_functions_say(sense: float) -> None:
    rate = 7.0 * sense
    motion = rg.path(pendulum()).simulate(20.0, rates={"hinge": rate})
    k = 4.0 * STIFFNESS / rate**2
    *_, phase = ellipj(0.5 * rate * motion.time, k)
    assert motion.coordinates[:, 0] == pytest.approx(2 * phase, abs=1e-9)
    assert abs(motion.coordinates[-1, 0]) > 4 * np.pi
    assert motion.energy_drift < 1e-8


@pytest.mark.parametrize("excess", [1e-9, -1e-9])
def test_close_to_the_top_the_motion_is_followed_in_time(excess: float) -> None:
    """All but enough energy, or just enough: the quadrature is given up, the motion is not."""
    rate = 2.0 * np.sqrt(STIFFNESS) * (1.0 + excess)
    times = np.array([0.5, 2.0, 4.0, 6.0])
    motion = rg.path(pendulum()).simulate(6.0, rates={"hinge": rate}, times=times, rtol=1e-12)
    k = 4.0 * STIFFNESS / rate**2
    if k < 1.0:
        exact = 2 * ellipj(0.5 * rate * times, k)[3]
    else:
        exact = 2 * np.arcsin(ellipj(np.sqrt(STIFFNESS) * times, 1.0 / k)[0] / np.sqrt(k))
    assert motion.coordinates[:, 0] == pytest.approx(exact, abs=1e-4)
    assert motion.energy_drift < 1e-9


def test_at_rest_in_balance_nothing_moves() -> None:
    for start in (0.0, np.pi):
        motion = rg.path(pendulum()).simulate(3.0, q={"hinge": start})
        assert np.ptp(motion.coordinates) == 0.0


def test_small_oscillations() -> None:
    motion = rg.path(pendulum()).simulate(10.0, q={"hinge": 1e-5})
    exact = 1e-5 * np.cos(np.sqrt(STIFFNESS) * motion.time)
    assert motion.coordinates[:, 0] == pytest.approx(exact, abs=1e-13)


def test_constant_torque_against_gravity_swings_about_another_place() -> None:
    """Torque and gravity make a potential that tilts: bounded motion goes by quadrature."""
    path = rg.path(pendulum())
    motion = path.simulate(10.0, torques={"hinge": 6.0})
    other = simulate(path.robot, duration=10.0, torques={"hinge": 6.0}, rtol=1e-12)
    assert motion.coordinates == pytest.approx(other.coordinates, abs=1e-8)
    assert motion.steps == 1
    assert motion.energy_drift < 1e-11


def test_constant_torque_without_gravity() -> None:
    motion = rg.path(pendulum()).simulate(10.0, torques={"hinge": 5.0}, gravity=np.zeros(3))
    assert motion.coordinates[:, 0] == pytest.approx(motion.time**2, abs=1e-8)


def test_gravity_is_a_matter_of_the_simulation() -> None:
    path = rg.path(pendulum())
    motion = path.simulate(4.0, q={"hinge": 1e-5}, gravity=np.array([0.0, 0.0, -1.62]))
    exact = 1e-5 * np.cos(np.sqrt(STIFFNESS * 1.62 / G) * motion.time)
    assert motion.coordinates[:, 0] == pytest.approx(exact, abs=1e-13)
    assert motion.energy_drift < 1e-11
    assert path.robot.model.gravity.linear[2] == -G


# Motion against the integration of all coordinates.

Options = dict[str, Any]


def cases() -> list[tuple[str, str, Options]]:
    hinge = {
        "upright": "j0",
        "slider-crank": "crank",
        "ball in plane": "j0",
        "spherical": "j0",
        "RSSR": "A",
        "Bricard": "j0",
    }
    found: list[tuple[str, str, Options]] = []
    for name, joint in hinge.items():
        found += [
            (name, "from rest", {}),
            (name, "fast", {"rates": {joint: 8.0}}),
            (name, "torque", {"torques": {joint: 3.0}, "rates": {joint: -1.0}}),
        ]
    for name in ("upright", "slider-crank", "RSSR"):
        joint = hinge[name]
        found += [
            (name, "over time", {"torques": {joint: lambda t: 4.0 * np.sin(3.0 * t)}}),
            (name, "damped", {"forces": lambda t, q, v: -0.4 * v, "rates": {joint: 2.0}}),
        ]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [(n, o) for n, _, o in cases()], ids=[f"{n}, {w}" for n, w, _ in cases()]
)
def test_the_motion_is_that_of_all_coordinates(name: str, options: Options) -> None:
    makers: dict[str, Callable[[], Mechanism]] = {
        "upright": upright,
        "slider-crank": slider_crank,
        **{n: lambda n=n: massive(MECHANISMS[n]()) for n in MECHANISMS},  # type: ignore[misc]
    }
    path = rg.path(makers[name]())
    times = np.array([0.0, 0.4, 1.3, 2.5])
    motion = path.simulate(2.5, times=times, **options)
    other = simulate(path.robot, duration=2.5, times=times, rtol=1e-12, **options)
    apart = np.array(
        [pin.difference(path.robot.model, a, b) for a, b in zip(motion.q, other.q, strict=True)]
    )
    assert np.max(np.abs(apart)) < 1e-8
    assert motion.v == pytest.approx(other.v, abs=1e-7)
    scale = 1.0 + np.ptp([path.potential(s) for s in np.linspace(0, 6, 20)])
    assert motion.energy_drift < 1e-7 * scale
    assert motion.closure_drift < 1e-12
    assert motion.engine == "path" and motion.correction == 0.0


def test_state_of_the_model_to_begin_with() -> None:
    path = rg.path(upright())
    other = simulate(path.robot, duration=1.0, rates={"j0": 2.0}, rtol=1e-12)
    half = len(other.time) // 2
    motion = path.simulate(0.5, q=other.q[half], v=other.v[half], times=np.array([0.5]))
    assert motion.q[0] == pytest.approx(other.q[-1], abs=1e-8)


def test_torques_at_any_joint_also_at_the_cut() -> None:
    path = rg.path(upright())
    cut = path.robot.reduction.cuts[0].edge.joint.name
    motion = path.simulate(1.0, torques={cut: 1.5})
    other = simulate(upright(), duration=1.0, torques={cut: 1.5}, rtol=1e-11)
    assert motion.coordinates == pytest.approx(other.coordinates, abs=1e-8)


def test_dead_centres_are_passed() -> None:
    """The slider stands still twice per turn of the crank, and the crank runs through."""
    path = rg.path(slider_crank())
    motion = path.simulate(5.0, rates={"crank": 20.0})
    crank, slide = (motion.names.index(name) for name in ("crank", "slide"))
    assert np.ptp(motion.coordinates[:, crank]) > 30.0
    # Both dead centres, from where the crank is upright.
    ends = 1.3 - np.sqrt(0.91), np.sqrt(0.91) - 0.7
    reached = motion.coordinates[:, slide]
    assert sorted(np.abs([reached.min(), reached.max()])) == pytest.approx(sorted(ends), abs=0.01)
    assert motion.energy_drift < 1e-9 * motion.energy[0]
    with pytest.raises(ModelError, match="dead centre"):
        path.simulate(1.0, q={"crank": np.pi / 2}, rates={"slide": 1.0})


def test_a_torque_that_is_switched() -> None:
    path = rg.path(pendulum())
    torque = {"hinge": lambda t: 5.0 if t < 1.0 else 0.0}
    motion = path.simulate(2.0, torques=torque, gravity=np.zeros(3), times=np.array([1.0, 2.0]))
    assert motion.coordinates[:, 0] == pytest.approx([1.0, 3.0], abs=1e-7)
    with pytest.raises(StepTooSmall):
        path.simulate(1.0, forces=lambda t, q, v: np.full(1, np.nan))


def test_error_follows_the_tolerance() -> None:
    path = rg.path(upright())
    torque = {"j0": lambda t: 3.0 * np.cos(2.0 * t)}
    ends = [
        path.simulate(5.0, torques=torque, times=np.array([5.0]), rtol=rtol)
        for rtol in (1e-4, 1e-8, 1e-12)
    ]
    coarse, fine = (
        float(np.max(np.abs(end.coordinates - ends[-1].coordinates))) for end in ends[:2]
    )
    assert fine < 1e-6 and fine < coarse
    assert ends[0].steps < ends[1].steps


# One function and one command for all coordinates.


@pytest.mark.slow
def test_simulate_in_path_and_minimal_coordinates() -> None:
    mechanism, times = upright(), np.array([0.3, 1.0])
    motions = [
        simulate(mechanism, duration=1.0, rates={"j0": 2.0}, times=times, coordinates=coordinates)
        for coordinates in ("all", "minimal", "path")
    ]
    for motion in motions[1:]:
        assert motion.time == pytest.approx(times)
        assert motion.coordinates == pytest.approx(motions[0].coordinates, abs=1e-6)
    with pytest.raises(ModelError, match="unknown coordinates 'polar'"):
        simulate(mechanism, duration=1.0, coordinates="polar")
    with pytest.raises(ModelError, match="engine 'mujoco'"):
        simulate(mechanism, duration=1.0, coordinates="path", engine="mujoco")


@pytest.mark.parametrize("ends", [("crank", "coupler"), ("coupler", "crank")])
def test_a_ball_between_crank_and_coupler(ends: tuple[str, str]) -> None:
    """Either way round it moves as in all coordinates; its own cannot be driven one by one."""
    joints = [
        joint_in_world("A", "ground", "crank", "revolute", (0, 1, 0)),
        joint_in_world("B", *ends, "spherical", point=(0.3, 0, 0.4)),
        joint_in_world("C", "coupler", "rocker", "revolute", (0, 1, 0), (1.2, 0, 0.6)),
        joint_in_world("D", "ground", "rocker", "revolute", (0, 1, 0), (1, 0, 0)),
    ]
    reduction = rg.reduce(massive(mechanism_of("with a ball", joints)), cuts=["D"])
    along, reference = (
        simulate(reduction, duration=0.1, rates={"A": 3.0}, coordinates=coordinates)
        for coordinates in ("path", "all")
    )
    assert along.coordinates == pytest.approx(reference.coordinates, abs=1e-6)
    with pytest.raises(ModelError, match="joint 'B' has no coordinates one by one"):
        rg.path(reduction).simulate(0.1, torques={"B[0]": 1.0})


def test_forces_that_change_are_the_same_in_all_coordinates() -> None:
    """A motor over time and dampers: motion, and energy that is put in and lost."""
    mechanism, times = upright(), np.array([0.3, 1.0])
    motions = [
        simulate(
            mechanism,
            duration=1.0,
            rates={"j0": 2.0},
            torques={"j0": lambda t: 3.0 * np.sin(5.0 * t)},
            forces=lambda t, q, v: -0.5 * v,
            times=times,
            coordinates=coordinates,
        )
        for coordinates in ("all", "minimal")
    ]
    assert motions[1].coordinates == pytest.approx(motions[0].coordinates, abs=1e-6)
    for motion in motions:
        assert motion.energy_drift < 1e-7


def test_a_path_is_made_of_whatever_is_at_hand() -> None:
    reduction = rg.reduce(upright())
    ends: list[Array] = [
        rg.path(model).simulate(1.0, times=np.array([1.0])).coordinates[0]
        for model in (
            upright(),
            reduction,
            to_pinocchio(reduction),
            to_pinocchio(reduction, "slack"),
        )
    ]
    for end in ends[1:]:
        assert end == pytest.approx(ends[0], abs=1e-10)


def test_wrong_arguments() -> None:
    path = rg.path(upright())
    with pytest.raises(ModelError, match="duration"):
        path.simulate(-1.0)
    with pytest.raises(ModelError, match="no joint 'motor'"):
        path.simulate(1.0, torques={"motor": 1.0})
    with pytest.raises(ModelError, match="q has shape"):
        path.simulate(1.0, q=np.zeros(9))
    with pytest.raises(ModelError, match="v has shape"):
        path.simulate(1.0, v=np.zeros(9))
    with pytest.raises(ModelError, match="cannot move like that"):
        path.simulate(1.0, rates={"j0": 1.0, "j1": 7.0})
    with pytest.raises(ModelError, match="gravity has shape"):
        path.simulate(1.0, gravity=np.zeros(2))
    with pytest.raises(ModelError, match="times"):
        path.simulate(1.0, times=np.array([2.0]))
    ball = rg.path(massive(MECHANISMS["ball in plane"]()))
    with pytest.raises(ModelError, match="3 freedoms"):
        ball.simulate(1.0, torques={"j2": 1.0})


def test_progress_reaches_one() -> None:
    done: list[float] = []
    rg.path(upright()).simulate(1.0, torques={"j0": lambda t: 3.0 * t}, progress=done.append)
    assert done == sorted(done) and done[-1] == 1.0


def test_the_command_simulates_along_the_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "four_bar.json", tmp_path / "motion.csv"
    assert rg.save(upright(), model) == ()
    assert main(["simulate", str(model), "--coordinates", "path", "-o", str(out)]) == 0
    assert "simulated 10 s with path" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 1002
