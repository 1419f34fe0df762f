"""Many states at once: methods with a leading axis, steps and rollouts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import mechanisms
import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[3] / "assets"
NAMES = ("planar_fourbar", "knee_leg", "walker", "stewart_6ups", "bennett")
H = 1e-3
#: Largest closure error by the size of the mechanism.
BORNE = 1e-9


@cache
def robot(name: str) -> rg.Robot:
    return rg.to_pinocchio(rg.reduce(ASSETS / f"{name}.urdf"))


def states(robot: rg.Robot, count: int, by: float = 0.03) -> tuple[np.ndarray, ...]:
    """Closed configurations near the reference one, admissible velocities and joint forces."""
    rng, space = np.random.default_rng(0), robot.tree.space
    steps = by * rng.normal(size=(count, robot.nv))
    q = robot.project(np.array([space.integrate(robot.q0, x) for x in steps]))
    v = robot.project_velocity(q, rng.normal(size=(count, robot.nv)))
    return q, v, rng.normal(size=(count, robot.nv))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_euler_on_the_closed_loops(name: str) -> None:
    r = robot(name)
    q, v, tau = states(r, 12)
    a = r.forward_dynamics(q, v, tau)
    found = r.step(q, v, tau, H)
    assert found.ok.all() and found.ok.dtype == bool and found.ok.shape == (12,)
    assert found.residual.max() < BORNE
    assert np.abs(r.residual(found.q)).max(axis=1) == pytest.approx(found.residual, abs=1e-15)
    speeds = np.einsum("nij,nj->ni", r.jacobian(found.q), found.v)
    assert np.abs(speeds).max() < 1e-11
    # What the loops take away is of second order.
    size = 1.0 + np.abs(a).max() + np.abs(v).max() ** 2
    assert np.abs(found.v - v - H * a).max() < 10 * H * H * size**2
    alone = r.step(q[3], v[3], tau[3], H)
    assert alone.q == pytest.approx(found.q[3], abs=1e-15) and alone.ok.shape == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_dense_algebra_makes_the_same_step(name: str) -> None:
    r = robot(name)
    q, v, tau = states(r, 3)
    found, dense = r.step(q, v, tau, H), r._environments(True)
    for n in range(3):
        expected = dense._step(q[n], v[n], tau[n], H)
        assert expected is not None
        assert found.q[n] == pytest.approx(expected[0], abs=1e-10)
        assert found.v[n] == pytest.approx(expected[1], abs=1e-8)


def test_bad_states_touch_no_other() -> None:
    r = robot("knee_leg")
    q, v, tau = states(r, 8)
    good = r.rollout(q, v, tau, H, 5)
    assert good.q.shape == (8, 6, r.nq) and good.ok.all()
    q[2], tau[5] = np.nan, np.inf
    for threads in (1, 3):
        found = r.rollout(q, v, tau, H, 5, threads=threads)
        rest = [n for n in range(8) if n not in (2, 5)]
        assert np.array_equal(found.q[rest], good.q[rest]) and found.ok[rest].all()
        assert not found.ok[2].any() and found.ok[5].tolist() == [True] + 5 * [False]
        assert np.isnan(found.v[5, 1:]).all()


def test_a_rollout_is_one_step_after_the_other() -> None:
    r = robot("walker")
    q, v, _ = states(r, 4)
    tau = np.random.default_rng(1).normal(size=(4, 6, r.nv))
    found = r.rollout(q, v, tau, H, 6)
    for k in range(6):
        step = r.step(found.q[:, k], found.v[:, k], tau[:, k], H)
        assert np.array_equal(step.q, found.q[:, k + 1])
    alone = r.rollout(q[1], v[1], tau[1], H, 6)
    assert np.array_equal(alone.q, found.q[1]) and alone.ok.shape == (7,)


def test_loops_stay_closed_and_energy_converges() -> None:
    r = robot("planar_fourbar")
    q, v, tau = states(r, 4)
    drifts = []
    for parts in (1, 4):
        found = r.rollout(q, v, 0 * tau, H / parts, 1000 * parts)
        assert found.ok.all() and found.residual.max() < BORNE
        energy = np.array([r.energy(x, u) for x, u in zip(found.q, found.v, strict=True)])
        drifts.append(np.abs(energy[:, -1] - energy[:, 0]).max())
    assert drifts[1] < 0.4 * drifts[0]


def test_springs_and_damping_act_in_steps() -> None:
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    acted = [mechanisms.acted(j, damping=[0.5], stiffness=[30.0]) for j in mechanism.joints[:2]]
    changed = replace(mechanism, joints=(*acted, *mechanism.joints[2:]))
    r = rg.to_pinocchio(rg.reduce(changed))
    q, v, tau = states(r, 3)
    forces = r.passive_forces(q, v)
    assert np.abs(forces).max() > 0.0
    inside, outside = r.step(q, v, tau, H), r.step(q, v, tau + forces, H, passive=False)
    assert inside.v == pytest.approx(outside.v, abs=1e-12)


@pytest.mark.slow
def test_drives_lead_as_in_simulations() -> None:
    """A driven knee, all other joints free: of first order, and the knee where it is to be."""
    r, T, law = robot("knee_leg"), 0.08, "0.5*t"
    known = rg.simulate(r.mechanism, drive={"knee_front": law}, duration=T, rtol=1e-10)
    q, v = known.q[0], known.v[0]
    knee, errors = r.velocity_index("knee_front"), []
    for steps in (40, 160):
        goal = 0.5 * T * np.arange(1, steps + 1) / steps
        drive = {"knee_front": np.array([goal, 1.1 * goal])}
        found = r.rollout(np.array([q, q]), v, np.zeros(r.nv), T / steps, steps, drive=drive)
        assert found.ok.all() and found.residual.max() < BORNE
        assert found.q[:, 1:, knee] == pytest.approx(drive["knee_front"], abs=1e-12)
        errors.append(np.abs(found.q[0, -1] - known.q[-1]).max())
    assert errors[1] < 0.3 * errors[0] < 2e-3
    h = T / 160
    alone = r.compiled().step(q, v, np.zeros(r.nv), h, drive={"knee_front": goal[0]})
    assert alone.q == pytest.approx(found.q[0, 1], abs=1e-14)


@pytest.mark.slow
def test_what_cannot_be_driven_is_named() -> None:
    r = robot("stewart_6ups")
    balls = [j.name for j in r.mechanism.joints if j.kind == "spherical"]
    ball = next(name for name in balls if name in r.tree.names)
    q, v, tau = states(r, 1)
    with pytest.raises(rg.ModelError, match=ball):
        r.step(q, v, tau, H, drive={ball: 0.1})
    r = robot("planar_fourbar")
    q, v, tau = states(r, 1)
    both = [r.tree.names[j] for j in (1, 2)]
    with pytest.raises(rg.ModelError, match="follow from each other"):
        r.step(q, v, tau, H, drive=dict.fromkeys(both, 0.1))
    with pytest.raises(rg.ModelError, match=r"\(N, steps\)"):
        r.rollout(q, v, tau, H, 3, drive={both[0]: np.zeros((1, 2))})


@pytest.mark.parametrize("name", NAMES)
def test_methods_take_many_states(name: str) -> None:
    r = robot(name)
    q, v, tau = states(r, 5)
    a = r.forward_dynamics(q, v, tau)
    joint = next(r.tree.names[j] for j in range(1, r.tree.njoints) if r.tree.nvs[j])
    calls = {
        "jacobian": (q,), "residual": (q,), "bias": (q, v), "energy": (q, v), "project": (q,),
        "energies": (q, v), "project_velocity": (q, v), "coordinates": (q,),
        "passive_forces": (q, v), "constraint_forces": (q, v, tau), "split": (q,),
        "dynamics_derivatives": (q, v, tau), "forward_dynamics": (q, v, tau),
    }  # fmt: skip
    for method, given in calls.items():
        many, one = getattr(r, method)(*given), getattr(r, method)(*(x[2] for x in given))
        for key in ("multipliers", "generalized", "free", "ddq_dq"):
            if hasattr(many, key):
                assert getattr(many, key)[2] == pytest.approx(getattr(one, key), abs=1e-9), method
        if isinstance(many, np.ndarray):
            assert many[2] == pytest.approx(one, abs=1e-12), method
    assert r.stabilized_dynamics(q, v, tau, frequency=5.0).shape == v.shape
    actuated = [joint]
    found = r.inverse_dynamics(q, v, a, actuated)
    assert found.tau.shape == (5, 1) and found.constraint_forces.shape == (5, r.rows)
    q[1] = np.nan
    assert np.isnan(r.project(q)).any(axis=1).tolist() == [n == 1 for n in range(5)]
