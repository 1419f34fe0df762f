"""The compiled kernel against Python: rows, projection and derivatives, and their known answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from dynamics_table import actuators, states, weighed
from mechanisms import n_fourbar
from pinocchio_cases import mass_matrix
from test_kernel import closed_chains, every_joint, tree_alone

import regularize as rg
from regularize.dynamics.pinocchio import forces
from regularize.dynamics.step.compiled import Kernel, compiled
from regularize.dynamics.step.elimination import tables_of

pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")

ASSETS = Path(__file__).parents[3] / "assets"
NAMES = ["planar_fourbar", "delta_parallelograms", "stewart_6ups", "walker", "rssr", "gripper"]


@cache
def both(name: str) -> tuple[rg.Robot, rg.Robot]:
    """A robot, and the same one without its kernel."""
    reduction = rg.reduce(rg.load(ASSETS / f"{name}.urdf"))
    robot, plain = rg.to_pinocchio(reduction), rg.to_pinocchio(reduction)
    vars(plain)["kernel"] = None
    return robot, plain


def state(robot: rg.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v = next(states(robot, 1))
    return q, v, np.random.default_rng(7).normal(size=robot.model.nv)


def assert_alike(one: Any, other: Any, tolerance: float = 1e-10) -> None:
    scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
    assert np.max(np.abs(np.asarray(one) - other), initial=0.0) < tolerance * scale


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_of_python(name: str) -> None:
    robot, plain = both(name)
    q, v, tau = state(robot)
    q = pin.integrate(robot.model, q, 0.05 * tau)  # the loops are open there
    assert np.max(np.abs(plain.residual(q))) > 1e-6
    assert_alike(robot.residual(q), plain.residual(q), 1e-14)
    assert_alike(robot.jacobian(q), plain.jacobian(q), 1e-14)
    assert_alike(robot.bias(q, v), plain.bias(q, v), 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["revolute", "prismatic", "helical", "cylindrical", "spherical", "planar", "fixed"]
)
def test_errors_of_every_closing_joint(kind: str) -> None:
    """Large ones as well, where its own motion is taken out."""
    rng = np.random.default_rng(5)
    for robot in closed_chains(kind, 1.0, "RRR"):
        for step in (1e-3, 0.3):
            q = step * rng.normal(size=8)
            expected = robot.states.errors(q)
            assert np.max(np.abs(expected)) > 0.1 * step
            assert_alike(robot.kernel.residual(q), expected, 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_forces_and_energies_are_those_of_python(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Multipliers of independent rows come from the step alone."""
    robot, plain = both(name)
    q, v, tau = state(robot)
    expected = plain.constraint_forces(q, v, tau)
    if robot.rank == robot.rows:
        monkeypatch.setattr(forces, "Split", None)
    found = robot.constraint_forces(q, v, tau)
    assert_alike(found.multipliers, expected.multipliers)
    assert_alike(found.generalized, expected.generalized)
    for one, other in zip(found.loops, expected.loops, strict=True):
        assert one.joint == other.joint
        assert_alike(one.wrench, other.wrench)
        assert_alike(one.indeterminate, other.indeterminate)
    assert_alike(robot.energies(q, tau), plain.energies(q, tau))


@pytest.mark.parametrize("name", NAMES)
def test_projections_are_those_of_python(name: str) -> None:
    """Where rows depend on each other, which ones are kept matters to the second order."""
    robot, plain = both(name)
    q, _, tau = state(robot)
    near = pin.integrate(robot.model, q, 0.01 * tau)
    closed, same = robot.project(near), plain.project(near)
    assert np.max(np.abs(robot.residual(closed))) < 1e-13
    assert_alike(closed, same, 1e-9 if robot.rank == robot.rows else 1e-4)
    assert np.linalg.norm(closed - near) < 3.0 * np.linalg.norm(near - q)
    assert_alike(robot.project_velocity(q, tau), plain.project_velocity(q, tau), 1e-9)
    once, errors = robot.kernel.newton_step(near)
    assert_alike(errors, plain.residual(near), 1e-14)
    assert np.max(np.abs(robot.residual(once))) < 0.1 * np.max(np.abs(errors))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_python(name: str) -> None:
    robot, plain = both(name)
    q, v, tau = state(robot)
    for options in ({}, {"frequency": 8.0, "damping": 0.7}):
        found = robot.dynamics_derivatives(q, v, tau, **options)
        expected = plain.dynamics_derivatives(q, v, tau, **options)
        along = np.eye(len(v))
        if robot.rank < robot.rows:  # beside the loops they are those of other rows
            free = plain.split(q).free
            along = free @ free.T
        assert_alike(found.a, expected.a)
        assert_alike(found.ddq_dq @ along, expected.ddq_dq @ along)
        assert_alike(found.ddq_dv @ along, expected.ddq_dv @ along)
        assert_alike(found.ddq_dtau, expected.ddq_dtau)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_inverse_derivatives_are_those_of_python(name: str) -> None:
    """All freedoms actuated, one too few, and one too many."""
    robot, plain = both(name)
    q, v, tau = state(robot)
    a, names = robot.forward_dynamics(q, v, tau), actuators(robot, q)
    more = [j.edges[0].joint.name for j in robot.joints if j.edges[0].joint.freedoms == 1]
    extra = [name for name in more if name not in names][:1]
    for chosen in (names, names[1:], names + extra):
        if not chosen:
            continue
        found = robot.inverse_dynamics_derivatives(q, v, a, chosen)
        expected = plain.inverse_dynamics_derivatives(q, v, a, chosen)
        free = plain.split(q).free
        assert_alike(found.tau, expected.tau)
        for one, other in zip(found, expected, strict=True):
            assert_alike(one @ free, other @ free, 1e-9)


def test_derivatives_of_every_joint() -> None:
    """Joints of Pinocchio of which it has no right derivatives, and one that mimics another."""
    rng = np.random.default_rng(3)
    model = pin.transformJointIntoMimic(every_joint(), 2, 3, -0.7, 0.2)
    model.armature = rng.random(model.nv)
    kernel = compiled(tables_of(tree_alone(model)[0]))
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, tau = rng.normal(size=(2, model.nv))
    a, by_q, by_v, by_tau = kernel.dynamics_derivatives(q, v, tau)
    data = model.createData()
    assert_alike(pin.rnea(model, data, q, v, a), tau, 1e-11)

    def differences(step: float) -> list[np.ndarray]:
        result = []
        for unit in np.eye(model.nv):
            ends = [
                (
                    kernel.dynamics_derivatives(pin.integrate(model, q, h * unit), v, tau)[0],
                    kernel.dynamics_derivatives(q, v + h * unit, tau)[0],
                    kernel.dynamics_derivatives(q, v, tau + h * unit)[0],
                )
                for h in (step, -step)
            ]
            result.append([(p - m) / (2.0 * step) for p, m in zip(*ends, strict=True)])
        return [np.array(each).T for each in zip(*result, strict=True)]

    coarse, fine = differences(2e-3), differences(1e-3)
    for exact, one, two in zip((by_q, by_v, by_tau), coarse, fine, strict=True):
        assert_alike(exact, (4.0 * two - one) / 3.0, 1e-8)


@pytest.mark.slow
def test_far_from_the_origin_no_digits_are_lost() -> None:
    mechanism = rg.load(ASSETS / "stewart_6ups.urdf", floating=True)
    robot = rg.to_pinocchio(rg.reduce(mechanism))
    q, v, tau = state(robot)
    far = np.array(q)
    far[:3] += 1e4
    there, here = (robot.dynamics_derivatives(x, v, tau) for x in (far, q))
    assert_alike(there.a, here.a, 1e-10)
    assert_alike(there.ddq_dq, here.ddq_dq, 1e-9)


def test_near_singular_configurations_accelerations_keep_their_digits() -> None:
    """Where windows are nearly flat the condition of the rows must not count twice."""
    robot = rg.to_pinocchio(rg.reduce(weighed(n_fourbar(2))))
    for off in (1e-2, 1e-4, 1e-5):
        q = robot.follow(robot.q0, {"A0": off - 0.5 * np.pi})
        v, tau = robot.split(q).free[:, 0], np.ones(robot.model.nv)
        M = mass_matrix(robot.model, robot.data, q)
        answer, taken = robot.split(q).inverse(M)
        force = tau - pin.nonLinearEffects(robot.model, robot.data, q, v)
        expected = answer @ force - taken @ robot.bias(q, v)
        assert_alike(robot.forward_dynamics(q, v, tau), expected, 1e-9)
