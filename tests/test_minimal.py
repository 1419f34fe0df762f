"""Dynamics in minimal coordinates: against Pinocchio, against energy and work, long runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import regularize as rg
from regularize.dynamics.minimal import following
from regularize.dynamics.minimal.dynamics import minimal_dynamics
from regularize.dynamics.minimal.trajectory import simulate
from regularize.errors import (
    ClosureLost,
    ModelError,
    NoInertia,
    NotClosed,
    SingularConfiguration,
)
from regularize.lie.screw import Array
from regularize.manifold.continuation import Continuation, Stepped
from regularize.model.mechanism import (
    Body,
    Inertia,
    Mechanism,
    joint_in_world,
    mechanism_of,
)
from regularize.reduction.pivoting import NotIndependent

ASSETS = Path(__file__).resolve().parents[1] / "assets"
Y = (0, 1, 0)


def heavy(mechanism: Mechanism) -> Mechanism:
    """The same with mass properties on every body."""
    inertia = Inertia(1.0, np.array([0.1, 0.0, 0.05]), np.diag([0.02, 0.03, 0.025]))
    bodies = tuple(Body(b.name, b.inertia or inertia) for b in mechanism.bodies)
    return replace(mechanism, bodies=bodies)


def crank_rocker() -> Mechanism:
    """A Grashof four-bar whose crank turns all around."""
    return heavy(
        mechanism_of(
            "crank_rocker",
            [
                joint_in_world("A", "ground", "crank", "revolute", Y, (0, 0, 0)),
                joint_in_world("B", "crank", "coupler", "revolute", Y, (0.3, 0, 0.4)),
                joint_in_world("C", "coupler", "rocker", "revolute", Y, (1.2, 0, 0.6)),
                joint_in_world("D", "ground", "rocker", "revolute", Y, (1, 0, 0)),
            ],
        )
    )


def slider_crank() -> Mechanism:
    """A crank of 0.3 m and a rod of 0.8 m that moves a piston along X."""
    rod = np.sqrt(0.8**2 - 0.24**2) + 0.18
    return heavy(
        mechanism_of(
            "slider_crank",
            [
                joint_in_world("A", "ground", "crank", "revolute", Y, (0, 0, 0)),
                joint_in_world("B", "crank", "rod", "revolute", Y, (0.18, 0, 0.24)),
                joint_in_world("C", "rod", "piston", "revolute", Y, (rod, 0, 0)),
                joint_in_world("P", "ground", "piston", "prismatic", (1, 0, 0)),
            ],
        )
    )


def bricard() -> Mechanism:
    mechanism = rg.load(str(ASSETS / "bricard.urdf"))
    inertia = Inertia(1.0, np.array([0.1, 0.0, 0.05]), np.diag([0.02, 0.03, 0.025]))
    return replace(mechanism, bodies=tuple(replace(b, inertia=inertia) for b in mechanism.bodies))


def ball_pendulum() -> Mechanism:
    """A closed loop with a spherical joint in its tree: a crank drives a rod on two balls."""
    return heavy(
        mechanism_of(
            "rssr",
            [
                joint_in_world("A", "ground", "crank", "revolute", (0, 0.3, 1), (0, 0, 0)),
                joint_in_world("B", "crank", "rod", "spherical", point=(0.2, 0.1, 0.05)),
                joint_in_world("C", "rod", "rocker", "spherical", point=(0.9, 0.6, 0.2)),
                joint_in_world("D", "ground", "rocker", "revolute", (1, 0, 0), (0.9, 0, -0.3)),
            ],
        )
    )


@pytest.mark.parametrize("make", [crank_rocker, slider_crank, bricard, ball_pendulum])
def test_accelerations_agree_with_pinocchio(make: Callable[[], Mechanism]) -> None:
    """Eq. 20 against the constrained dynamics of the independent kept rows."""
    reduction = rg.reduce(make())
    dynamics = minimal_dynamics(reduction)
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
        data = robot.model.createData()
        expected = pin.forwardDynamics(
            robot.model,
            data,
            pose.q,
            v,
            tau,
            robot.jacobian(pose.q)[rows],
            robot.bias(pose.q, v)[rows],
            0.0,
        )
        np.testing.assert_allclose(a, expected, atol=1e-8 * (1 + np.max(np.abs(expected))))
        assert forced.shape == (0,)


def test_inverse_dynamics_undoes_the_accelerations() -> None:
    dynamics = minimal_dynamics(rg.reduce(crank_rocker()), ["A"])
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
    dynamics = minimal_dynamics(rg.reduce(ball_pendulum()))
    pose = dynamics.pose(np.asarray(dynamics.robot.q0))
    with pytest.raises(ModelError, match="cannot produce the motion: the mechanism has 2 freedoms"):
        dynamics.inverse_dynamics(pose, np.zeros(dynamics.robot.model.nv), np.ones(2), ["A"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_every_method_of_scipy_keeps_the_loops_closed(method: str) -> None:
    dynamics = minimal_dynamics(rg.reduce(crank_rocker()), ["A"])
    motion = simulate(
        dynamics, np.linspace(0, 0.5, 11), v={"A": 6.0}, method=method, rtol=1e-6, atol=1e-8
    )
    assert np.max(motion.closure) < 1e-12
    reference = simulate(dynamics, np.linspace(0, 0.5, 11), v={"A": 6.0})
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-3)


def test_energy_is_kept_through_full_turns() -> None:
    dynamics = minimal_dynamics(rg.reduce(crank_rocker()))
    motion = simulate(dynamics, np.linspace(0, 1.5, 31), v=dict.fromkeys(dynamics.independent, 9.0))
    assert np.ptp(motion.q, axis=0).max() > 2 * np.pi
    assert np.ptp(motion.energy) < 1e-6 * np.max(np.abs(motion.energy))
    assert np.max(motion.closure) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("make", [crank_rocker, slider_crank])
def test_the_closed_form_takes_the_place_of_newtons_method(
    make: Callable[[], Mechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same motion through full turns and dead centres, with a fraction of the iterations."""
    dynamics = minimal_dynamics(rg.reduce(make()))
    speeds, times = dict.fromkeys(dynamics.independent, 9.0), np.linspace(0, 2, 21)
    iterated: list[int] = []
    newton = Continuation.corrected

    def counted(self: Continuation, step: Array, trial: Array, held: Array) -> Stepped:
        iterated[-1] += 1
        return newton(self, step, trial, held)

    monkeypatch.setattr(Continuation, "corrected", counted)
    motions = []
    for worthwhile in (following.WORTHWHILE, -1):
        monkeypatch.setattr(following, "WORTHWHILE", worthwhile)
        iterated.append(0)
        motions.append(simulate(dynamics, times, v=speeds))
    direct, by_newton = motions
    np.testing.assert_allclose(direct.q, by_newton.q, atol=1e-8)
    assert np.max(direct.closure) < 1e-12
    assert iterated[0] < 0.3 * iterated[1]


@pytest.mark.slow
def test_motion_with_quaternions_keeps_closure_and_energy() -> None:
    dynamics = minimal_dynamics(rg.reduce(ball_pendulum()))
    assert dynamics.robot.model.nq > dynamics.robot.model.nv
    motion = simulate(dynamics, np.linspace(0, 1.5, 31))
    assert np.max(motion.closure) < 1e-12
    assert np.ptp(motion.energy) < 1e-6
    assert np.ptp(motion.q, axis=0).max() > 0.1
    # Velocities are the rates of the configurations.
    t = np.linspace(0.5, 0.5 + 2e-4, 3)
    fine = simulate(dynamics, [0.0, *t])
    model = dynamics.robot.model
    rate = pin.difference(model, fine.q[1], fine.q[3]) / 2e-4
    np.testing.assert_allclose(rate, fine.v[2], atol=1e-5)


@pytest.mark.slow
def test_prescribed_motion_needs_the_power_that_the_energy_gains() -> None:
    """The crank turns at constant speed: its torque's work is the energy, closure holds."""
    dynamics = minimal_dynamics(
        rg.reduce(crank_rocker()), forced={"A": lambda t: (3.0 * t, 3.0, 0.0)}
    )
    assert dynamics.independent == ()
    motion = simulate(dynamics, np.linspace(0, 2 * np.pi / 3, 2001))
    column = dynamics.robot.velocity_index("A")
    np.testing.assert_allclose(motion.q[:, column], 3.0 * motion.t, atol=1e-12)
    work = (
        3.0
        * np.concatenate([[0.0], np.cumsum(0.5 * (motion.forced[1:, 0] + motion.forced[:-1, 0]))])
        * (motion.t[1] - motion.t[0])
    )
    np.testing.assert_allclose(work, motion.energy - motion.energy[0], atol=1e-4)
    assert np.max(motion.closure) < 1e-12
    # After one turn everything is where it was.
    turns = (motion.q[-1] - motion.q[0]) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)


def test_prescribed_torque_and_prescribed_motion_are_the_same_dynamics() -> None:
    """Forces found for a prescribed motion reproduce it as a free one."""
    reduction = rg.reduce(slider_crank())

    def motion_of(t: float) -> tuple[float, float, float]:
        return 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)

    driven = minimal_dynamics(reduction, forced={"A": motion_of})
    times = np.linspace(0, 1, 101)
    prescribed = simulate(driven, times)
    free = minimal_dynamics(reduction, ["A"])
    column = free.robot.velocity_index("A")

    def torque(t: float, q: Array, v: Array) -> Array:
        pose = free.pose(q)
        return free.inverse_dynamics(pose, v, np.array([motion_of(t)[2]]))

    released = simulate(free, times, v={"A": 0.6}, torque=torque)
    np.testing.assert_allclose(released.q, prescribed.q, atol=1e-7)
    tau = [
        torque(t, q, v)[column] for t, q, v in zip(times, prescribed.q, prescribed.v, strict=True)
    ]
    np.testing.assert_allclose(prescribed.forced[:, 0], tau, atol=1e-9)


@pytest.mark.slow
def test_bricard_passes_repartitioning_without_a_step() -> None:
    """No single hinge of the Bricard drives it all around; two ways of switching agree."""
    dynamics = minimal_dynamics(rg.reduce(bricard()))
    times = np.linspace(0, 6, 301)
    start = dict.fromkeys(dynamics.independent, 3.0)
    often = simulate(dynamics, times, v=start, degradation=3.0)
    seldom = simulate(dynamics, times, v=start, degradation=10.0)
    assert len(often.partitions) > 5
    assert len({names for _, names in often.partitions}) > 2
    np.testing.assert_allclose(often.q, seldom.q, atol=1e-6)
    for motion in (often, seldom):
        assert np.max(motion.closure) < 1e-12
        assert np.ptp(motion.energy) < 1e-6 * np.max(np.abs(motion.energy))
        # No step: positions follow the velocities from one sample to the next.
        middle = 0.5 * (motion.v[1:] + motion.v[:-1]) * np.diff(times)[:, None]
        assert np.max(np.abs(np.diff(motion.q, axis=0) - middle)) < 5e-4


@pytest.mark.slow
def test_one_choice_of_coordinates_does_not_do_for_the_bricard() -> None:
    """Every hinge of it turns back: there, at the latest, another one takes its place."""
    dynamics = minimal_dynamics(rg.reduce(bricard()))
    start = dict.fromkeys(dynamics.independent, 3.0)
    motion = simulate(dynamics, np.linspace(0, 3, 31), v=start, degradation=1e300)
    assert len(motion.partitions) > 2
    assert motion.passages == ()
    assert np.ptp(motion.energy) < 1e-5 * np.max(np.abs(motion.energy))


def test_a_crank_that_cannot_turn_around_is_stopped_with_a_reason() -> None:
    """The rocker is driven beyond its dead point."""
    dynamics = minimal_dynamics(
        rg.reduce(crank_rocker(), cuts=["B"]), forced={"D": lambda t: (t, 1.0, 0.0)}
    )
    with pytest.raises(ClosureLost, match="limit of its motion"):
        simulate(dynamics, np.linspace(0, 3, 31))


def test_a_motion_that_begins_where_the_mechanism_cannot_be() -> None:
    forced = {"D": lambda t: (3.0, 0.0, 0.0)}
    with pytest.raises(ClosureLost, match="D cannot be moved to where their motions begin"):
        minimal_dynamics(rg.reduce(crank_rocker(), cuts=["B"]), forced=forced)


def test_velocities_by_name_and_of_all_joints_begin_the_same_motion() -> None:
    dynamics = minimal_dynamics(rg.reduce(crank_rocker()))
    (name,) = dynamics.independent
    by_name = simulate(dynamics, [0.0, 0.01], v={name: 2.0})
    of_all = simulate(dynamics, [0.0, 0.01], v=by_name.v[0])
    np.testing.assert_array_equal(by_name.q, of_all.q)
    assert by_name.v[0, dynamics.names.index(name)] == 2.0


def test_refuses_choices_that_cannot_be() -> None:
    reduction = rg.reduce(crank_rocker(), cuts=["D"])
    with pytest.raises(NotIndependent):
        minimal_dynamics(reduction, ["A", "B"])
    with pytest.raises(ModelError, match="'D' closes a loop and has no coordinate of its own"):
        minimal_dynamics(reduction, ["D"])
    with pytest.raises(ModelError, match="no coordinate 'Z'"):
        minimal_dynamics(reduction, ["Z"])


def test_refuses_a_singular_start_and_an_open_mechanism() -> None:
    flat = rg.load(str(ASSETS / "spherical_fourbar_flat.urdf"))
    with pytest.raises(SingularConfiguration, match="2 coordinates could move, 1 elsewhere"):
        minimal_dynamics(rg.reduce(heavy(flat)))
    mechanism = crank_rocker()
    far = np.eye(4)
    far[:3, 3] = (5, 0, 0)
    joints = tuple(replace(j, T_parent_joint=far) if j.name == "D" else j for j in mechanism.joints)
    with pytest.raises(NotClosed):
        minimal_dynamics(rg.reduce(replace(mechanism, joints=joints)))


def test_says_where_mass_is_missing() -> None:
    mechanism = crank_rocker()
    bare = replace(mechanism, bodies=tuple(Body(b.name) for b in mechanism.bodies))
    dynamics = minimal_dynamics(rg.reduce(bare), ["A"])
    pose = dynamics.pose(np.asarray(dynamics.robot.q0))
    with pytest.raises(NoInertia, match="known of `crank`, `coupler`, `rocker`"):
        dynamics.acceleration(pose, np.zeros(dynamics.robot.model.nv), np.zeros(3))
    with pytest.raises(NoInertia):
        simulate(dynamics, [0.0, 1.0])
