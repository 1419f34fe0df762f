"""Projections, forces, inverse dynamics, stabilisation and derivatives."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_cases import MECHANISMS, fourbar, massive
from test_pinocchio import carried, reduction, states

import regularize as rg
from regularize.errors import ModelError, NotClosed
from regularize.lie.screw import Array
from regularize.model.mechanism import Inertia, joint_in_world, mechanism_of
from regularize.pinocchio_model.constraints import close_loops
from regularize.pinocchio_model.exporting import to_pinocchio
from regularize.pinocchio_model.robot import Robot, mass_matrix

NAMES = ["tilted", "RSSR", "3-PRRR", "Stewart", "Bricard", "RCSE"]


@pytest.mark.parametrize("style", ["rows", "anchors"])
@pytest.mark.parametrize("name", NAMES)
def test_close_loops_and_project(name: str, style: str) -> None:
    robot = to_pinocchio(reduction(name), style)
    rng = np.random.default_rng(2)
    for q, _, _ in states(robot, 2):
        near = pin.integrate(robot.model, q, 0.01 * rng.normal(size=robot.model.nv))
        assert np.max(np.abs(robot.residual(near))) > 1e-4
        closed = close_loops(robot, near)
        assert np.max(np.abs(robot.residual(closed))) <= 1e-12
        wild = rng.normal(size=robot.model.nv)
        v = robot.project_velocity(q, wild)
        assert np.max(np.abs(robot.jacobian(q) @ v)) < 1e-12
        # Nearest in kinetic energy: the change is orthogonal to every admissible velocity.
        M = mass_matrix(robot.model, robot.data, q)
        assert np.allclose(robot.split(q).free.T @ M @ (wild - v), 0.0, atol=1e-11)


def test_close_loops_holds_joints() -> None:
    robot = to_pinocchio(reduction("tilted"))
    q = np.array(robot.q0)
    index = robot.velocity_index("j0")
    q[index] += 0.2
    closed = close_loops(robot, q, hold=["j0"])
    assert closed[index] == q[index]
    assert np.max(np.abs(robot.residual(closed))) <= 1e-12


def test_loops_that_cannot_be_closed_are_named() -> None:
    robot = to_pinocchio(reduction("planar"))
    q = np.array(robot.q0)
    held = [name for name in ("j0", "j1", "j2", "j3") if name != robot.reduction.cuts[0].edge.name]
    q[robot.velocity_index(held[0])] += 0.3
    with pytest.raises(
        NotClosed, match=f"loop through joint '{robot.reduction.cuts[0].edge.name}'"
    ):
        close_loops(robot, q, hold=held)


def test_admissible_velocity() -> None:
    robot = to_pinocchio(reduction("tilted"))
    v = robot.admissible_velocity(robot.q0, {"j0": 2.0})
    assert v[robot.velocity_index("j0")] == pytest.approx(2.0)
    assert np.max(np.abs(robot.jacobian(robot.q0) @ v)) < 1e-12
    with pytest.raises(ModelError, match="do not let"):
        robot.admissible_velocity(robot.q0, {"j0": 2.0, "j1": 5.0})


def held_crank() -> Robot:
    """A horizontal bar of 2 kg between two hinges, the loop closed at the right one."""
    bar = Inertia(2.0, np.array([0.5, 0.0, 0.0]), np.diag([0.01, 0.2, 0.2]))
    joints = [
        joint_in_world("left", "ground", "bar", "revolute", (0, 1, 0), (0, 0, 0)),
        joint_in_world("right", "bar", "slider", "revolute", (0, 1, 0), (1, 0, 0)),
        joint_in_world("rail", "slider", "ground", "prismatic", (1, 0, 0), (1, 0, 0)),
    ]
    mechanism = mechanism_of("bar", joints)
    light = Inertia(1e-9, np.array([1.0, 0.0, 0.0]), 1e-9 * np.eye(3))
    masses = {"bar": bar, "slider": light}
    bodies = tuple(replace(b, inertia=masses.get(b.name)) for b in mechanism.bodies)
    return to_pinocchio(rg.reduce(replace(mechanism, bodies=bodies), cuts=["right"]))


def test_a_bar_on_two_supports_rests_with_half_its_weight_on_each() -> None:
    """At rest the right support carries m g / 2; about the bar's axis nothing is transmitted."""
    robot = held_crank()
    zero = np.zeros(robot.model.nv)
    forces = robot.constraint_forces(robot.q0, zero, zero)
    (loop,) = forces.loops
    assert loop.joint == "right"
    # The bar is the parent of the joint and is held up: it pulls the slider down.
    assert loop.wrench == pytest.approx([0, 0, -9.81, 0, 0, 0], abs=1e-6)
    assert not loop.unique
    # What rigid bodies leave open: the force along the hinge axes and the moments across them.
    open_space = np.eye(6)[[1, 3, 5]].T
    basis = loop.indeterminate
    assert np.linalg.matrix_rank(basis) == 3
    assert np.linalg.matrix_rank(np.hstack([basis, open_space]), tol=1e-9) == 3


@pytest.mark.parametrize("name", NAMES)
def test_constraint_forces_balance(name: str) -> None:
    robot = to_pinocchio(reduction(name))
    for q, v, tau in states(robot, 2):
        forces = robot.constraint_forces(q, v, tau)
        a = robot.forward_dynamics(q, v, tau)
        needed = pin.rnea(robot.model, robot.data, q, v, a) - tau
        assert np.allclose(robot.jacobian(q).T @ forces.multipliers, needed, atol=1e-9)


@pytest.mark.parametrize("name", ["tilted", "RSSR"])
def test_wrenches_at_the_cuts_replace_the_constraints(name: str) -> None:
    """The open tree under the cut wrenches as external forces moves like the closed loops."""
    robot = to_pinocchio(reduction(name))
    model, data = robot.model, robot.model.createData()
    for q, v, tau in states(robot, 2):
        forces = robot.constraint_forces(q, v, tau)
        pin.framesForwardKinematics(model, data, q)
        external = [pin.Force.Zero() for _ in range(model.njoints)]
        for loop, closure in zip(forces.loops, robot.constraints.closures, strict=True):
            origin = (data.oMi[closure.second] * closure.T_second_joint).translation
            at_joint = pin.SE3(np.eye(3), origin)
            for joint, sign in ((closure.second, closure.sign), (closure.first, -closure.sign)):
                wrench = pin.Force(sign * loop.wrench)
                external[joint] += data.oMi[joint].actInv(at_joint).act(wrench)
        a = pin.aba(model, data, q, v, tau, external)
        assert np.allclose(a, robot.forward_dynamics(q, v, tau), rtol=1e-9, atol=1e-9)


def test_inverse_dynamics_with_actuators() -> None:
    robot = to_pinocchio(reduction("3-PRRR"))
    actuated = [f"P{k}" for k in range(3)]
    index = [robot.velocity_index(name) for name in actuated]
    rng = np.random.default_rng(3)
    for q, v, _ in states(robot):
        tau = np.zeros(robot.model.nv)
        tau[index] = rng.normal(size=3)
        a = robot.forward_dynamics(q, v, tau)
        inverse = robot.inverse_dynamics(q, v, a, actuated)
        assert inverse.joints == tuple(actuated)
        assert np.allclose(inverse.tau, tau[index], atol=1e-9)
        assert np.max(np.abs(inverse.unmet)) < 1e-9
        residual = pin.rnea(robot.model, robot.data, q, v, a) - inverse.generalized
        assert np.allclose(residual, robot.jacobian(q).T @ inverse.constraint_forces, atol=1e-9)


def test_inverse_dynamics_says_what_too_few_actuators_cannot_do() -> None:
    robot = to_pinocchio(reduction("3-PRRR"))
    for q, v, tau in states(robot, 1):
        a = robot.forward_dynamics(q, v, tau)
        inverse = robot.inverse_dynamics(q, v, a, ["P0"])
        assert np.max(np.abs(inverse.unmet)) > 1e-3


def test_inverse_dynamics_takes_the_joints_that_the_model_marks() -> None:
    with pytest.raises(ModelError, match="actuated"):
        robot = to_pinocchio(reduction("tilted"))
        robot.inverse_dynamics(robot.q0, np.zeros(3), np.zeros(3))
    marked = massive(fourbar())
    joints = tuple(replace(j, actuated=j.name == "j0") for j in marked.joints)
    robot = to_pinocchio(rg.reduce(replace(marked, joints=joints)))
    inverse = robot.inverse_dynamics(robot.q0, np.zeros(3), np.zeros(3))
    held = robot.forward_dynamics(robot.q0, np.zeros(3), inverse.generalized)
    assert inverse.joints == ("j0",)
    assert np.max(np.abs(held)) < 1e-10


def test_baumgarte_terms_let_errors_decay() -> None:
    robot = to_pinocchio(reduction("tilted"))
    rng = np.random.default_rng(4)
    for q, v, tau in states(robot, 2):
        exact = robot.forward_dynamics(q, v, tau)
        assert np.allclose(robot.stabilized_dynamics(q, v, tau, frequency=20.0), exact, atol=1e-9)
        q = pin.integrate(robot.model, q, 1e-3 * rng.normal(size=3))
        v = v + 1e-3 * rng.normal(size=3)
        a = robot.stabilized_dynamics(q, v, tau, frequency=20.0, damping=0.7)
        expected = -2 * 0.7 * 20.0 * robot.jacobian(q) @ v - 400.0 * robot.residual(q)
        assert np.allclose(robot.jacobian(q) @ a + robot.bias(q, v), expected, atol=1e-9)


def constrained(robot: Robot, q: Array, v: Array, tau: Array) -> Array:
    """Acceleration by a dense solution of the whole system."""
    M = mass_matrix(robot.model, robot.data, q)
    jacobian, m = robot.jacobian(q), robot.rows
    system = np.block([[M, jacobian.T], [jacobian, np.zeros((m, m))]])
    force = tau - pin.nonLinearEffects(robot.model, robot.data, q, v)
    return np.linalg.solve(system, np.concatenate([force, -robot.bias(q, v)]))[: len(v)]


@pytest.mark.parametrize("style", ["rows", "anchors", "slack"])
@pytest.mark.parametrize(
    "name", ["tilted", "RSSR", "3-PRRR", "Stewart", "floating Stewart", "RCSE"]
)
def test_derivatives_against_differences(name: str, style: str) -> None:
    robot = to_pinocchio(reduction(name), style)
    h, nv = 1e-6, robot.model.nv
    for q, v, tau in states(robot, 1):
        found = robot.dynamics_derivatives(q, v, tau)
        units = h * np.eye(nv)
        by_q = [
            constrained(robot, pin.integrate(robot.model, q, e), v, tau)
            - constrained(robot, pin.integrate(robot.model, q, -e), v, tau)
            for e in units
        ]
        by_v = [
            constrained(robot, q, v + e, tau) - constrained(robot, q, v - e, tau) for e in units
        ]
        by_tau = [
            constrained(robot, q, v, tau + e) - constrained(robot, q, v, tau) for e in 1e6 * units
        ]
        for exact, differences, step in (
            (found.ddq_dq, by_q, 2 * h),
            (found.ddq_dv, by_v, 2 * h),
            (found.ddq_dtau, by_tau, 1.0),
        ):
            numerical = np.array(differences).T / step
            assert np.max(np.abs(exact - numerical)) < 2e-7 * np.max(np.abs(numerical))


def test_derivatives_with_dependent_rows() -> None:
    """Along the loops the derivative is the change of the acceleration, whatever the rows."""
    robot = to_pinocchio(reduction("Bricard"))
    h = 1e-5
    for q, v, tau in states(robot, 2):
        found = robot.dynamics_derivatives(q, v, tau)
        along = robot.split(q).free[:, 0]
        sides = []
        for sign in (1, -1):
            moved = close_loops(robot, pin.integrate(robot.model, q, sign * h * along))
            rate = robot.project_velocity(moved, v)
            sides.append((moved, rate, robot.forward_dynamics(moved, rate, tau)))
        dq = pin.difference(robot.model, sides[1][0], sides[0][0])
        dv = sides[0][1] - sides[1][1]
        change = found.ddq_dq @ dq + found.ddq_dv @ dv
        assert np.allclose(sides[0][2] - sides[1][2], change, atol=1e-8)


def test_energy_is_the_same_in_every_style() -> None:
    rows, slack = (to_pinocchio(reduction("Sarrus"), style) for style in ("rows", "slack"))
    zero, values = None, []
    for q, v, tau in states(rows):
        (q2, v2, _), _ = carried(rows, slack, q, v, tau)
        pair = rows.energy(q, v), slack.energy(q2, v2)
        zero = pair[1] - pair[0] if zero is None else zero
        values.append(pair[1] - pair[0] - zero)
    assert np.max(np.abs(values)) < 1e-11


def test_every_mechanism_has_independent_rows_after_reduction() -> None:
    for name in MECHANISMS:
        if name != "Bricard":
            robot = to_pinocchio(reduction(name))
            assert robot.rank == robot.rows
