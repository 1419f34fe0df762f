"""Dynamics in minimal coordinates: against Pinocchio, against energy and work, long runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[3] / "assets"
Y = (0, 1, 0)


INERTIA = rg.Inertia(1.0, np.array([0.1, 0.0, 0.05]), np.diag([0.02, 0.03, 0.025]))


def heavy(mechanism: rg.Mechanism, anyway: bool = False) -> rg.Mechanism:
    """The same with mass properties on every body, or on those that have none."""
    bodies = [
        replace(b, inertia=INERTIA if anyway else b.inertia or INERTIA) for b in mechanism.bodies
    ]
    return replace(mechanism, bodies=tuple(bodies))


def four_bars(*joints: tuple[Any, ...]) -> rg.Mechanism:
    """A crank on the ground, a rod, and a rocker on the ground, by kinds, axes and points."""
    ends = ("ground", "crank"), ("crank", "rod"), ("rod", "rocker"), ("ground", "rocker")
    pairs = zip("ABCD", ends, joints, strict=True)
    made = [rg.Joint.in_world(name, *bodies, *joint) for name, bodies, joint in pairs]
    return heavy(rg.Mechanism.of_joints("four bars", made))


def crank_rocker() -> rg.Mechanism:
    points = (0, 0, 0), (0.3, 0, 0.4), (1.2, 0, 0.6), (1, 0, 0)
    return four_bars(*(("revolute", Y, point) for point in points))


def slider_crank() -> rg.Mechanism:
    points = (0, 0, 0), (0.18, 0, 0.24), (np.sqrt(0.8**2 - 0.24**2) + 0.18, 0, 0)
    hinges = [("revolute", Y, point) for point in points]
    return four_bars(*hinges, ("prismatic", (1, 0, 0)))


def bricard() -> rg.Mechanism:
    return heavy(rg.load(str(ASSETS / "bricard.urdf")), anyway=True)


def ball_pendulum() -> rg.Mechanism:
    """A closed loop with a spherical joint in its tree: a crank drives a rod on two balls."""
    return four_bars(
        ("revolute", (0, 0.3, 1), (0, 0, 0)),
        ("spherical", Y, (0.2, 0.1, 0.05)),
        ("spherical", Y, (0.9, 0.6, 0.2)),
        ("revolute", (1, 0, 0), (0.9, 0, -0.3)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [crank_rocker, slider_crank, bricard, ball_pendulum])
def test_accelerations_agree_with_pinocchio(make: Callable[[], rg.Mechanism]) -> None:
    """Eq. 20 against the constrained dynamics of the independent kept rows."""
    reduction = rg.reduce(make())
    dynamics = rg.minimal_dynamics(reduction)
    robot, rng = dynamics.robot, np.random.default_rng(2)
    rows = list(dynamics.choice.rows)
    for _ in range(5):
        x = np.zeros(robot.model.nv)
        x[dynamics.known] = 0.2 * rng.normal(size=len(dynamics.known))
        pose = dynamics.close(x)
        assert np.max(np.abs(robot.residual(pose.q))) < 1e-12
        v = dynamics.velocity(pose, rng.normal(size=len(dynamics.known)))
        assert np.max(np.abs(robot.jacobian(pose.q) @ v)) < 1e-10
        tau = rng.normal(size=robot.model.nv)
        a, forced = dynamics.acceleration(pose, v, tau)
        kept = robot.jacobian(pose.q)[rows], robot.bias(pose.q, v)[rows]
        state = robot.model, robot.model.createData(), pose.q, v, tau
        expected = pin.forwardDynamics(*state, *kept, 0.0)
        np.testing.assert_allclose(a, expected, atol=1e-8 * (1 + np.max(np.abs(expected))))
        assert forced.shape == (0,)


def test_inverse_dynamics_undoes_the_accelerations() -> None:
    dynamics = rg.minimal_dynamics(rg.reduce(crank_rocker()), ["A"])
    pose = dynamics.pose(np.asarray(dynamics.robot.q0))
    v = dynamics.velocity(pose, np.array([1.5]))
    for actuated in (None, ["B"], ["A", "B"]):
        tau = dynamics.inverse_dynamics(pose, v, np.array([4.0]), actuated)
        a, _ = dynamics.acceleration(pose, v, tau)
        assert a[dynamics.known] == pytest.approx([4.0], abs=1e-10)
    both = dynamics.inverse_dynamics(pose, v, np.array([4.0]), ["A", "B"])
    for actuated in (["A"], ["B"]):
        single = dynamics.inverse_dynamics(pose, v, np.array([4.0]), actuated)
        assert np.linalg.norm(both) < np.linalg.norm(single)


def test_inverse_dynamics_refuses_too_few_motors() -> None:
    dynamics = rg.minimal_dynamics(rg.reduce(ball_pendulum()))
    pose = dynamics.pose(np.asarray(dynamics.robot.q0))
    with pytest.raises(
        rg.ModelError, match="cannot produce the motion: the mechanism has 2 freedoms"
    ):
        dynamics.inverse_dynamics(pose, np.zeros(dynamics.robot.model.nv), np.ones(2), ["A"])


def simulated(
    mechanism: rg.Mechanism | rg.Reduction, duration: float, **options: Any
) -> rg.Simulation:
    """A motion in minimal coordinates, whose loops are closed."""
    options = {"solver": rg.Solver("minimal"), **options}
    motion = rg.simulate(mechanism, duration=duration, **options)
    assert np.max(motion.closure) < 1e-12
    return motion


@pytest.mark.slow
def test_energy_is_kept_through_full_turns() -> None:
    """Without any help: independent coordinates are all that is integrated."""
    solver = rg.Solver("minimal", conserve=False)
    motion = simulated(crank_rocker(), 1.5, rates={"A": 9.0}, solver=solver)
    assert np.ptp(motion.q, axis=0).max() > 2 * np.pi
    assert motion.energy_drift < 1e-6 * np.max(np.abs(motion.energy))


@pytest.mark.slow
def test_motion_with_quaternions_keeps_closure_and_energy() -> None:
    motion = simulated(ball_pendulum(), 1.5, solver=rg.Solver("minimal", conserve=False))
    assert motion.robot.nq > motion.robot.nv
    assert motion.energy_drift < 1e-6
    assert np.ptp(motion.q, axis=0).max() > 0.1
    # Velocities are the rates of the configurations.
    fine = simulated(ball_pendulum(), 0.6, times=0.5 + np.array([0.0, 1e-4, 2e-4]))
    rate = pin.difference(motion.robot.model, fine.q[0], fine.q[2]) / 2e-4
    np.testing.assert_allclose(rate, fine.v[1], atol=1e-5)


@pytest.mark.slow
def test_bricard_passes_repartitioning_without_a_step() -> None:
    """No single hinge of the Bricard drives it all around: every one of them turns back."""
    reduction = rg.reduce(bricard())
    (name,) = rg.minimal_dynamics(reduction).independent
    options: dict[str, Any] = {"times": np.linspace(0, 6, 301), "rates": {name: 3.0}}
    motion = simulated(reduction, 6.0, solver=rg.Solver("minimal", conserve=False), **options)
    reference = rg.simulate(reduction, duration=6.0, rtol=1e-11, **options)
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-6)
    assert motion.findings == ()
    assert motion.energy_drift < 1e-6 * np.max(np.abs(motion.energy))
    # No step: positions follow the velocities from one sample to the next.
    middle = 0.5 * (motion.v[1:] + motion.v[:-1]) * np.diff(motion.time)[:, None]
    assert np.max(np.abs(np.diff(motion.q, axis=0) - middle)) < 5e-4


@pytest.mark.slow
def test_coordinates_that_are_wanted_are_integrated() -> None:
    reduction = rg.reduce(crank_rocker(), cuts=["D"])
    for name in "AB":
        solver = rg.Solver("minimal", independent=[name])
        assert simulated(reduction, 0.1, solver=solver).steps > 0


def test_a_motion_that_begins_where_the_mechanism_cannot_be() -> None:
    forced = {"D": lambda t: (3.0, 0.0, 0.0)}
    with pytest.raises(rg.ClosureLost, match="D cannot be moved to where their motions begin"):
        rg.minimal_dynamics(rg.reduce(crank_rocker(), cuts=["B"]), forced=forced)


def test_refuses_choices_that_cannot_be() -> None:
    reduction = rg.reduce(crank_rocker(), cuts=["D"])
    with pytest.raises(rg.ModelError, match="depend on each other"):
        rg.minimal_dynamics(reduction, ["A", "B"])
    with pytest.raises(rg.ModelError, match="'D' closes a loop and has no coordinate of its own"):
        rg.minimal_dynamics(reduction, ["D"])
    with pytest.raises(rg.ModelError, match="no coordinate 'Z'"):
        rg.minimal_dynamics(reduction, ["Z"])


@pytest.mark.slow
def test_refuses_a_singular_start_and_an_open_mechanism() -> None:
    flat = rg.load(str(ASSETS / "spherical_fourbar_flat.urdf"))
    with pytest.raises(rg.SingularConfiguration, match="2 coordinates could move, 1 elsewhere"):
        rg.minimal_dynamics(rg.reduce(heavy(flat)))
    mechanism = crank_rocker()
    far = np.eye(4)
    far[:3, 3] = (5, 0, 0)
    joints = tuple(replace(j, T_parent_joint=far) if j.name == "D" else j for j in mechanism.joints)
    with pytest.raises(rg.NotClosed):
        rg.minimal_dynamics(rg.reduce(replace(mechanism, joints=joints)))


def test_says_where_mass_is_missing() -> None:
    mechanism = crank_rocker()
    bare = replace(mechanism, bodies=tuple(rg.Body(b.name) for b in mechanism.bodies))
    dynamics = rg.minimal_dynamics(rg.reduce(bare), ["A"])
    pose = dynamics.pose(np.asarray(dynamics.robot.q0))
    with pytest.raises(rg.NoInertia, match="known of `crank`, `rod`, `rocker`"):
        dynamics.acceleration(pose, np.zeros(dynamics.robot.model.nv), np.zeros(3))
    with pytest.raises(rg.NoInertia):
        simulated(bare, 1.0)
