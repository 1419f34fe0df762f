"""Motions with one freedom, against closed forms and what is known of them."""

from dataclasses import replace

import numpy as np
import pytest
from pinocchio_cases import MECHANISMS, fourbar, massive
from scipy.special import ellipj, ellipk

import regularize as rg

G = 9.81
#: Of ``pendulum``: gravity's torque over the moment of inertia.
STIFFNESS = 2.0 * G / 2.5


def pendulum(gravity: float = G) -> rg.Mechanism:
    """A rod of 2 kg that hangs down from its hinge, 2.5 kg m² about it, centre 1 m below."""
    mechanism = rg.Mechanism.of_joints(
        "pendulum", [rg.Joint.in_world("hinge", "ground", "rod", "revolute", (0, 1, 0))]
    )
    rod = rg.Inertia(2.0, np.array([0.0, 0.0, -1.0]), np.diag([0.5, 0.5, 1e-3]))
    bodies = tuple(replace(b, inertia=rod if b.name == "rod" else None) for b in mechanism.bodies)
    return replace(mechanism, bodies=bodies, gravity=np.array([0.0, 0.0, -gravity]))


def slider_crank(crank: float = 0.3) -> rg.Mechanism:
    """Crank of 0.3 m, rod of 1 m, slider along X, drawn with the crank upright."""
    elbow, end = (0.0, 0.0, crank), (float(np.sqrt(1 - crank**2)), 0.0, 0.0)
    return massive(
        rg.Mechanism.of_joints(
            "slider-crank",
            [
                rg.Joint.in_world("crank", "g", "a", "revolute", (0, 1, 0), (0, 0, 0)),
                rg.Joint.in_world("elbow", "a", "b", "revolute", (0, 1, 0), elbow),
                rg.Joint.in_world("pin", "b", "c", "revolute", (0, 1, 0), end),
                rg.Joint.in_world("slide", "c", "g", "prismatic", (1, 0, 0), end),
            ],
        )
    )


def upright(tilt: float = np.pi / 2 - 0.4) -> rg.Mechanism:
    return massive(fourbar(tilt))


def test_pendulum_swings_as_elliptic_functions_say() -> None:
    start = 2.8
    k = np.sin(start / 2) ** 2
    motion = rg.simulate(pendulum(), duration=20.0, q=np.array([start]), rtol=1e-11)
    frequency = np.sqrt(STIFFNESS)
    sn, *_ = ellipj(ellipk(k) - frequency * motion.time, k)
    exact = 2 * np.arcsin(np.sqrt(k) * sn)
    assert motion.coordinates[:, 0] == pytest.approx(exact, abs=1e-9)
    assert motion.energy_drift < 1e-9


@pytest.mark.parametrize("excess", [1e-9, -1e-9])
def test_close_to_the_top_the_motion_is_followed(excess: float) -> None:
    rate = 2.0 * np.sqrt(STIFFNESS) * (1.0 + excess)
    times = np.array([0.5, 2.0, 4.0, 6.0])
    motion = rg.simulate(pendulum(), duration=6.0, rates={"hinge": rate}, times=times, rtol=1e-12)
    k = 4.0 * STIFFNESS / rate**2
    if k < 1.0:
        exact = 2 * ellipj(0.5 * rate * times, k)[3]
    else:
        exact = 2 * np.arcsin(ellipj(np.sqrt(STIFFNESS) * times, 1.0 / k)[0] / np.sqrt(k))
    assert motion.coordinates[:, 0] == pytest.approx(exact, abs=1e-4)
    assert motion.energy_drift < 1e-9


def test_at_rest_in_balance_nothing_moves() -> None:
    for start in (0.0, np.pi):
        motion = rg.simulate(pendulum(), duration=1.0, q=np.array([start]))
        assert np.ptp(motion.coordinates) < 1e-14


def test_constant_torque_without_gravity() -> None:
    motion = rg.simulate(pendulum(0.0), duration=10.0, torques={"hinge": 5.0})
    assert motion.coordinates[:, 0] == pytest.approx(motion.time**2, abs=1e-8)


def test_dead_centres_are_passed() -> None:
    motion = rg.simulate(slider_crank(), duration=5.0, rates={"crank": 20.0})
    crank, slide = (motion.names.index(name) for name in ("crank", "slide"))
    assert np.ptp(motion.coordinates[:, crank]) > 30.0
    # Both dead centres, from where the crank is upright.
    ends = 1.3 - np.sqrt(0.91), np.sqrt(0.91) - 0.7
    reached = motion.coordinates[:, slide]
    assert sorted(np.abs([reached.min(), reached.max()])) == pytest.approx(sorted(ends), abs=0.01)
    assert motion.energy_drift < 1e-9 * motion.energy[0]


def test_a_torque_that_is_switched() -> None:
    torque, times = {"hinge": lambda t: 5.0 if t < 1.0 else 0.0}, np.array([1.0, 2.0])
    motion = rg.simulate(pendulum(0.0), duration=2.0, torques=torque, times=times)
    assert motion.coordinates[:, 0] == pytest.approx([1.0, 3.0], abs=1e-7)
    with pytest.raises(rg.RegularizeError, match="step"):
        rg.simulate(pendulum(), duration=1.0, forces=lambda t, q, v: np.full(1, np.nan))


def test_a_state_on_the_way_continues_the_motion() -> None:
    robot = rg.to_pinocchio(rg.reduce(upright()))
    whole = rg.simulate(robot, duration=1.0, rates={"j0": 2.0}, rtol=1e-12)
    half = len(whole.time) // 2
    rest = rg.simulate(
        robot, duration=0.5, q=whole.q[half], v=whole.v[half], times=np.array([0.5]), rtol=1e-12
    )
    assert rest.q[0] == pytest.approx(whole.q[-1], abs=1e-8)


def test_gears_turn_as_their_ratio_says() -> None:
    wheels = [
        rg.Joint.in_world("small", "g", "a", "revolute", (0, 0, 1), (0, 0, 0)),
        rg.Joint.in_world("large", "g", "b", "revolute", (0, 0, 1), (3, 0, 0)),
    ]
    geared = replace(
        rg.Mechanism.of_joints("gears", wheels),
        couplings=(rg.Coupling("teeth", "gear", (("small", 0, 1.0), ("large", 0, 1.5))),),
    )
    motion = rg.simulate(massive(geared), duration=1.0, torques={"small": 2.0})
    small, large = motion.coordinates[:, [motion.names.index(n) for n in ("small", "large")]].T
    assert small == pytest.approx(-1.5 * large, abs=1e-9)
    assert abs(small[-1]) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("ends", [("crank", "coupler"), ("coupler", "crank")])
def test_a_ball_between_crank_and_coupler(ends: tuple[str, str]) -> None:
    """Either way round it is a planar four-bar: the ball turns about its axis only."""
    bars = [
        rg.Joint.in_world("A", "ground", "crank", "revolute", (0, 1, 0)),
        rg.Joint.in_world("C", "coupler", "rocker", "revolute", (0, 1, 0), (1.2, 0, 0.6)),
        rg.Joint.in_world("D", "ground", "rocker", "revolute", (0, 1, 0), (1, 0, 0)),
    ]
    ball, hinge = (
        rg.Mechanism.of_joints(
            kind,
            [bars[0], rg.Joint.in_world("B", *ends, kind, (0, 1, 0), (0.3, 0, 0.4)), *bars[1:]],
        )
        for kind in ("spherical", "revolute")
    )
    motions = [
        rg.simulate(rg.reduce(massive(m), cuts=["D"]), duration=0.1, rates={"A": 3.0})
        for m in (ball, hinge)
    ]
    for name in "ACD":
        along, reference = (m.coordinates[:, m.names.index(name)] for m in motions)
        assert along == pytest.approx(reference, abs=1e-7)


@pytest.mark.slow
def test_forces_that_change_are_the_same_in_minimal_coordinates() -> None:
    mechanism, times = upright(), np.array([0.3, 1.0])
    motions = [
        rg.simulate(
            mechanism,
            duration=1.0,
            rates={"j0": 2.0},
            torques={"j0": lambda t: 3.0 * np.sin(5.0 * t)},
            forces=lambda t, q, v: -0.5 * v,
            times=times,
            solver=rg.Solver(coordinates),
        )
        for coordinates in ("all", "minimal")
    ]
    assert motions[1].coordinates == pytest.approx(motions[0].coordinates, abs=1e-6)
    for motion in motions:
        assert motion.energy_drift < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tilted", "ball in plane", "spherical", "Bricard"])
def test_styles_and_coordinates_agree(name: str) -> None:
    """Kept rows, anchors, all joints in the tree, and independent ones; from rest and turning."""
    reduction, end = rg.reduce(massive(MECHANISMS[name]())), np.array([1.3])
    ways = [rg.Solver(style=style) for style in ("rows", "anchors", "slack")]
    first = reduction.mechanism.joints[0].name
    for options in ({}, {"rates": {first: 8.0}}, {"torques": {first: 3.0}, "rates": {first: -1.0}}):
        reference, *others = (
            rg.simulate(reduction, duration=1.3, times=end, solver=way, rtol=1e-11, **options)
            for way in (*ways, rg.Solver("minimal"))
        )
        for motion in others:
            assert motion.coordinates == pytest.approx(reference.coordinates, abs=1e-6)


def test_the_path_of_one_freedom_points_to_what_replaces_it() -> None:
    for name in ("path", "Path"):
        with pytest.raises(AttributeError, match=r"rg\.simulate"):
            getattr(rg, name)
