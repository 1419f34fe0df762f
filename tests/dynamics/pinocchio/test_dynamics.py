"""Projections, forces, inverse dynamics, stabilisation and derivatives."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from dynamics_table import by_differences, weighed
from dynamics_table import errors as dynamics_errors
from mechanisms import acted
from pinocchio_cases import fourbar, mass_matrix, massive, placed
from test_pinocchio import CORPUS, reduction, states

import regularize as rg

ASSETS = Path(__file__).resolve().parents[3] / "assets"
NAMES = ["tilted", "RSSR", "3-PRRR", "Stewart", "Bricard", "RCSE"]
#: Robots of others, and whether their base floats.
FIELD = {
    "gepetto_yaml/robot_delta/robot.urdf": {},
    "gepetto_yaml/digit_like/robot.urdf": {"floating": True},
    "urdf_plus/planar_leg_linkage/planar_leg_linkage.urdf": {"floating": True},
    "mjcf/menagerie_agility_cassie/cassie.xml": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("style", ["rows", "anchors"])
@pytest.mark.parametrize("name", NAMES)
def test_close_loops_and_project(name: str, style: str) -> None:
    robot = rg.to_pinocchio(reduction(name), style)
    rng = np.random.default_rng(2)
    for q, _, _ in states(robot, 2):
        near = pin.integrate(robot.model, q, 0.01 * rng.normal(size=robot.model.nv))
        assert np.max(np.abs(robot.residual(near))) > 1e-4
        closed = robot.project(near)
        assert np.max(np.abs(robot.residual(closed))) <= 1e-12
        wild = rng.normal(size=robot.model.nv)
        v = robot.project_velocity(q, wild)
        assert np.max(np.abs(robot.jacobian(q) @ v)) < 1e-12
        # Nearest in kinetic energy: the change is orthogonal to every admissible velocity.
        M = mass_matrix(robot.model, robot.data, q)
        assert np.allclose(robot.split(q).free.T @ M @ (wild - v), 0.0, atol=1e-11)


def test_loops_that_cannot_be_closed_are_named() -> None:
    robot = rg.to_pinocchio(reduction("planar"))
    q = np.array(robot.q0)
    held = [name for name in ("j0", "j1", "j2", "j3") if name != robot.reduction.cuts[0].edge.name]
    q[robot.velocity_index(held[0])] += 0.3
    with pytest.raises(
        rg.NotClosed, match=f"loop through joint '{robot.reduction.cuts[0].edge.name}'"
    ):
        robot.project(q, hold=held)


def test_couplings_that_cannot_hold_are_named() -> None:
    joints = [
        rg.Joint.in_world("one", "ground", "a", "revolute", (0, 0, 1)),
        rg.Joint.in_world("two", "a", "b", "revolute", (0, 0, 1), (1, 0, 0)),
    ]
    gear = rg.Coupling("gear", "gear", (("one", 0, 1.0), ("two", 0, 2.0)))
    robot = rg.to_pinocchio(
        rg.reduce(massive(rg.Mechanism.of_joints("arm", joints, couplings=(gear,))))
    )
    q = np.array([0.2, 0.4])
    assert robot.residual(q, robot.model.createData()) == pytest.approx([1.0])
    assert robot.project(q, hold=["one"]) == pytest.approx([0.2, -0.1])
    with pytest.raises(rg.NotClosed, match="'of a coupling'"):
        robot.project(q, hold=["one", "two"])
    pytest.importorskip("mujoco")
    with pytest.raises(rg.UnsupportedExport, match="couplings are not carried over to MuJoCo"):
        rg.simulate(robot, duration=0.1, solver=rg.MuJoCo())


def test_admissible_velocity() -> None:
    robot = rg.to_pinocchio(reduction("tilted"))
    v = robot.admissible_velocity(robot.q0, {"j0": 2.0})
    assert v[robot.velocity_index("j0")] == pytest.approx(2.0)
    assert np.max(np.abs(robot.jacobian(robot.q0) @ v)) < 1e-12
    with pytest.raises(rg.ModelError, match="do not let"):
        robot.admissible_velocity(robot.q0, {"j0": 2.0, "j1": 5.0})


def held_crank() -> rg.Robot:
    """A horizontal bar of 2 kg between two hinges, the loop closed at the right one."""
    bar = rg.Inertia(2.0, np.array([0.5, 0.0, 0.0]), np.diag([0.01, 0.2, 0.2]))
    joints = [
        rg.Joint.in_world("left", "ground", "bar", "revolute", (0, 1, 0), (0, 0, 0)),
        rg.Joint.in_world("right", "bar", "slider", "revolute", (0, 1, 0), (1, 0, 0)),
        rg.Joint.in_world("rail", "slider", "ground", "prismatic", (1, 0, 0), (1, 0, 0)),
    ]
    mechanism = rg.Mechanism.of_joints("bar", joints)
    light = rg.Inertia(1e-9, np.array([1.0, 0.0, 0.0]), 1e-9 * np.eye(3))
    masses = {"bar": bar, "slider": light}
    bodies = tuple(replace(b, inertia=masses.get(b.name)) for b in mechanism.bodies)
    return rg.to_pinocchio(rg.reduce(replace(mechanism, bodies=bodies), cuts=["right"]))


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
    assert loop.determined["force along Z"] == pytest.approx(-9.81, abs=1e-6)
    assert loop.determined["moment about Y"] == pytest.approx(0.0, abs=1e-9)
    # Held by the motor at its left end, with the slider free along its rail.
    (loop,) = robot.inverse_dynamics(robot.q0, zero, zero, ["left"]).loops
    assert loop.joint == "right"
    assert set(loop.determined) == {"force along X", "force along Z", "moment about Y"}


@pytest.mark.parametrize("name", NAMES)
def test_wrenches_at_the_cuts_replace_the_constraints(name: str) -> None:
    robot = rg.to_pinocchio(reduction(name))
    model, data = robot.model, robot.model.createData()
    for q, v, tau in states(robot, 2):
        forces = robot.constraint_forces(q, v, tau)
        pin.framesForwardKinematics(model, data, q)
        external = [pin.Force.Zero() for _ in range(model.njoints)]
        for loop, closure in zip(forces.loops, robot.constraints.closures, strict=True):
            origin = (data.oMi[closure.second] * pin.SE3(closure.second_frame)).translation
            at_joint = pin.SE3(np.eye(3), origin)
            for joint, sign in ((closure.second, closure.sign), (closure.first, -closure.sign)):
                wrench = pin.Force(sign * loop.wrench)
                external[joint] += data.oMi[joint].actInv(at_joint).act(wrench)
        a = robot.forward_dynamics(q, v, tau)
        assert np.allclose(pin.aba(model, data, q, v, tau, external), a, rtol=1e-9, atol=1e-9)
        needed = pin.rnea(model, data, q, v, a) - tau
        assert np.allclose(robot.jacobian(q).T @ forces.multipliers, needed, atol=1e-9)


def test_inverse_dynamics_with_actuators() -> None:
    robot = rg.to_pinocchio(reduction("3-PRRR"))
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


def test_weights_and_redundant_actuators() -> None:
    """Of all torques for a motion the cheapest ones; the same as by a constrained minimisation."""
    robot = rg.to_pinocchio(reduction("3-PRRR"))
    actuated = [f"P{k}" for k in range(3)] + ["R00", "R10"]
    index = robot.velocity_indices(actuated)
    weights = np.array([1.0, 2.0, 0.5, 4.0, 3.0])
    for q, v, tau in states(robot, 2):
        a = robot.forward_dynamics(q, v, tau)
        found = robot.inverse_dynamics(q, v, a, actuated, weights=weights)
        assert np.max(np.abs(found.unmet)) < 1e-9
        again = robot.forward_dynamics(q, v, found.generalized)
        assert np.allclose(again, a, atol=1e-8 * np.max(np.abs(a)))
        # Where the cost is least, the weighted torques are rates of a motion of the closed loops.
        free = robot.split(q).free
        rates = np.linalg.lstsq(free[index], weights * found.tau)[0]
        assert np.allclose(free[index] @ rates, weights * found.tau, atol=1e-9)
    with pytest.raises(rg.ModelError, match="named twice"):
        robot.inverse_dynamics(q, v, a, ["P0", "P0"])
    with pytest.raises(rg.ModelError, match="one positive number"):
        robot.inverse_dynamics(q, v, a, actuated, weights=[1.0, -1.0, 1.0, 1.0, 1.0])


@pytest.mark.slow
def test_a_floating_platform_carries_its_own_weight_only_by_its_legs() -> None:
    """Six legs make any motion of the platform against the base, none of the two together."""
    robot = rg.to_pinocchio(reduction("floating Stewart"))
    legs = [f"P{k}" for k in range(6)]
    index = robot.velocity_indices(legs)
    for q, v, tau in states(robot, 2):
        a = robot.forward_dynamics(q, v, np.where(np.isin(np.arange(len(v)), index), tau, 0.0))
        found = robot.inverse_dynamics(q, v, a, legs)
        assert np.allclose(found.tau, tau[index], atol=1e-9 * np.max(np.abs(tau)))
        held = robot.inverse_dynamics(q, v, 0.0 * a, legs)
        # In the twists that lock the legs: the weight of the whole.
        locked = robot.project_velocity(q, np.zeros(len(v)))
        assert np.max(np.abs(held.unmet)) > 1.0 and np.max(np.abs(locked)) == 0.0
        assert np.allclose(robot.jacobian(q) @ held.unmet, 0.0, atol=1e-9)
        assert np.allclose(held.unmet[index], 0.0, atol=1e-9)


def test_actuators_overcome_friction_in_the_loops() -> None:
    """All joints resist, the one that closes the loop too; the acceleration is met nevertheless."""
    plain = massive(fourbar(0.4))
    joints = tuple(acted(joint, damping=0.3, friction=0.7) for joint in plain.joints)
    robot = rg.to_pinocchio(rg.reduce(replace(plain, joints=joints)))
    for q, v, tau in states(robot, 2):
        a = robot.forward_dynamics(q, v, tau)
        free, held = (robot.inverse_dynamics(q, v, a, ["j0"], passive=p) for p in (False, True))
        resisted = held.generalized + robot.passive_forces(q, v)
        assert np.allclose(robot.forward_dynamics(q, v, resisted), a, atol=1e-9)
        # What the motor adds is what all four joints take, and no less.
        work = (held.generalized - free.generalized) @ v
        assert work == pytest.approx(-robot.passive_forces(q, v) @ v, abs=1e-9)
        own = 0.3 * v @ v + 0.7 * np.abs(v).sum()
        assert work > own + 1e-6  # the joint of the cut has no coordinate, and resists as well


def test_inverse_dynamics_takes_the_joints_that_the_model_marks() -> None:
    with pytest.raises(rg.ModelError, match="actuated"):
        robot = rg.to_pinocchio(reduction("tilted"))
        robot.inverse_dynamics(robot.q0, np.zeros(3), np.zeros(3))
    marked = massive(fourbar())
    joints = tuple(replace(j, actuated=j.name == "j0") for j in marked.joints)
    robot = rg.to_pinocchio(rg.reduce(replace(marked, joints=joints)))
    inverse = robot.inverse_dynamics(robot.q0, np.zeros(3), np.zeros(3))
    held = robot.forward_dynamics(robot.q0, np.zeros(3), inverse.generalized)
    assert inverse.joints == ("j0",)
    assert np.max(np.abs(held)) < 1e-10


def test_baumgarte_terms_let_errors_decay() -> None:
    robot = rg.to_pinocchio(reduction("tilted"))
    rng = np.random.default_rng(4)
    for q, v, tau in states(robot, 2):
        exact = robot.forward_dynamics(q, v, tau)
        assert np.allclose(robot.stabilized_dynamics(q, v, tau, frequency=20.0), exact, atol=1e-9)
        q = pin.integrate(robot.model, q, 1e-3 * rng.normal(size=3))
        v = v + 1e-3 * rng.normal(size=3)
        a = robot.stabilized_dynamics(q, v, tau, frequency=20.0, damping=0.7)
        expected = -2 * 0.7 * 20.0 * robot.jacobian(q) @ v - 400.0 * robot.residual(q)
        assert np.allclose(robot.jacobian(q) @ a + robot.bias(q, v), expected, atol=1e-9)


def constrained(robot: rg.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
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
    robot = rg.to_pinocchio(reduction(name), style)
    ((q, v, tau),), h = states(robot, 1), 1e-6
    found = robot.dynamics_derivatives(q, v, tau)
    changes = {
        "ddq_dq": lambda e: (pin.integrate(robot.model, q, e), v, tau),
        "ddq_dv": lambda e: (q, v + e, tau),
        "ddq_dtau": lambda e: (q, v, tau + e),
    }
    for name, change in changes.items():
        step = 1.0 if name == "ddq_dtau" else h
        ends = [
            np.array([constrained(robot, *change(s * e)) for e in step * np.eye(robot.nv)])
            for s in (1, -1)
        ]
        numerical = (ends[0] - ends[1]).T / (2 * step)
        error = np.max(np.abs(getattr(found, name) - numerical))
        assert error < 2e-7 * np.max(np.abs(numerical))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "floating Stewart", "welded", "spherical"])
def test_both_derivatives_along_the_loops(name: str) -> None:
    """Against differences along the loops; the torques are exactly those that were applied."""
    count, identity, forward, inverse = dynamics_errors(rg.to_pinocchio(reduction(name)))
    assert count > 0
    assert identity < 1e-9
    assert max(forward, inverse) < 1e-7


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.exists(), reason="the model collection is not here")
@pytest.mark.parametrize("path", FIELD)
def test_both_derivatives_of_robots_in_the_field(path: str) -> None:
    mechanism = weighed(rg.load(CORPUS / path, **FIELD[path]))
    _, identity, *others = dynamics_errors(rg.to_pinocchio(rg.reduce(mechanism)), 1)
    assert identity < 1e-9 and max(others) < 1e-7


@pytest.mark.slow
def test_derivatives_of_redundant_and_of_too_few_actuators() -> None:
    """Where torques are a choice, or something stays unmet, they are differentiated as chosen."""
    robot = rg.to_pinocchio(reduction("3-PRRR"))
    for actuated, weights in (
        ([f"P{k}" for k in range(3)] + ["R00", "R10"], [1.0, 2.0, 0.5, 4.0, 3.0]),
        (["P0", "R11"], [1.0, 3.0]),
        (["P0", "R01", "R02"], [1.0, 3.0, 2.0]),  # two of the three would do for two freedoms
    ):
        for q, v, tau in states(robot, 1):
            a = robot.forward_dynamics(q, v, tau)
            exact = robot.inverse_dynamics_derivatives(q, v, a, actuated, weights=weights)

            def torques(
                q: np.ndarray,
                v: np.ndarray,
                a: np.ndarray = a,
                names: object = actuated,
                cost: object = weights,
            ) -> np.ndarray:
                return np.array(robot.inverse_dynamics(q, v, a, names, weights=cost).tau)

            assert np.allclose(exact.tau, torques(q, v), atol=1e-9)
            error = by_differences(robot, q, v, torques, exact.dtau_dq, exact.dtau_dv)
            assert error < 1e-7
            steps = np.random.default_rng(5).normal(size=(len(a), 2))
            changes = [torques(q, v, a + step) - torques(q, v, a) for step in steps.T]
            assert np.allclose(exact.dtau_da @ steps, np.array(changes).T, atol=1e-9)


def test_stabilized_derivatives_on_the_loops() -> None:
    robot = rg.to_pinocchio(reduction("RSSR"))
    rng, h = np.random.default_rng(6), 1e-6
    for q, v, tau in states(robot, 1):
        exact = robot.dynamics_derivatives(q, v, tau, frequency=7.0, damping=0.6)

        def stabilized(q: np.ndarray, v: np.ndarray, tau: np.ndarray = tau) -> np.ndarray:
            return robot.stabilized_dynamics(q, v, tau, frequency=7.0, damping=0.6)

        assert np.allclose(exact.a, stabilized(q, v), atol=1e-9)
        for _ in range(3):  # in any direction, off the loops as well
            step, turn = h * rng.normal(size=(2, len(v)))
            ends = [
                stabilized(pin.integrate(robot.model, q, s * step), v + s * turn) for s in (1, -1)
            ]
            change = 2.0 * (exact.ddq_dq @ step + exact.ddq_dv @ turn)
            assert np.allclose(ends[0] - ends[1], change, atol=1e-6 * np.max(np.abs(change)))


@pytest.mark.slow
def test_actuator_jacobian_is_what_a_frame_does_when_actuators_move() -> None:
    robot = rg.to_pinocchio(rg.reduce(rg.load(ASSETS / "delta_universal.urdf")))
    data, h = robot.model.createData(), 1e-5
    frame = robot.model.getFrameId("platform")
    motors = {"M1": 0.1, "M2": -0.2, "M3": 0.15}
    q = robot.follow(robot.q0, motors)
    jacobian = robot.actuator_jacobian(q, "platform")
    motions = robot.actuator_motions(q)
    assert np.allclose(motions[robot.velocity_indices(list(motors))], np.eye(3), atol=1e-12)
    for k, name in enumerate(motors):
        ends = []
        for sign in (1, -1):
            moved = robot.follow(q, {**motors, name: motors[name] + sign * h})
            pin.framesForwardKinematics(robot.model, data, moved)
            ends.append((data.oMf[frame].copy(), moved))
        speed = (ends[0][0].translation - ends[1][0].translation) / (2 * h)
        assert np.allclose(jacobian[:3, k], speed, atol=1e-8)
        assert np.allclose(jacobian[3:, k], 0.0, atol=1e-10)  # a Delta does not turn
        assert np.allclose(motions[:, k], (ends[0][1] - ends[1][1]) / (2 * h), atol=1e-7)
    with pytest.raises(rg.ModelError, match=r"do not determine how frame 'platform' moves.*M3"):
        robot.actuator_jacobian(q, "platform", ["M1", "M2"])
    with pytest.raises(rg.ModelError, match="no frame 'hand'"):
        robot.actuator_jacobian(q, "hand")


@pytest.mark.slow
def test_actuator_jacobian_against_a_base_that_floats() -> None:
    robot = rg.to_pinocchio(reduction("floating Stewart"))
    legs = [f"P{k}" for k in range(6)]
    with pytest.raises(rg.ModelError, match="can still move"):
        robot.actuator_jacobian(robot.q0, "p", legs)
    fixed = rg.to_pinocchio(reduction("Stewart"))
    relative = robot.actuator_jacobian(robot.q0, "p", legs, relative_to="base")
    assert np.allclose(relative, fixed.actuator_jacobian(fixed.q0, "p", legs), atol=1e-9)


@pytest.mark.slow
def test_joints_follow_on_their_branch() -> None:
    robot = rg.to_pinocchio(reduction("tilted"))
    q = np.array(robot.q0)
    for angle in (0.3, -0.4, 0.0):
        q = robot.follow(q, {"j0": angle})
        assert q[robot.velocity_index("j0")] == pytest.approx(angle, abs=1e-15)
        assert np.max(np.abs(robot.residual(q))) < 1e-12
    assert np.allclose(q, robot.q0, atol=1e-9)
    knee = rg.to_pinocchio(rg.reduce(rg.load(ASSETS / "knee_leg.urdf")))
    with pytest.raises(rg.ClosureLost, match=r"do not follow the joints to \{'knee_front': 3"):
        knee.follow(knee.q0, {"knee_front": 3.0})


def test_one_velocity_under_the_rows() -> None:
    """A hinge that a weld holds: Pinocchio gives vectors instead of matrices of one column."""
    welded = rg.Mechanism.of_joints(
        "held",
        [
            rg.Joint.in_world("hinge", "ground", "bar", "revolute", (0, 1, 0), (0, 0, 0)),
            rg.Joint.in_world("weld", "bar", "ground", "fixed", point=(1, 0, 0), closure=True),
        ],
    )
    robot = rg.to_pinocchio(rg.reduce(massive(welded), cuts=["weld"]))
    one = np.ones(1)
    assert robot.jacobian(robot.q0).shape == (robot.rows, 1)
    found = robot.dynamics_derivatives(robot.q0, 0.0 * one, one)
    assert np.max(np.abs([found.a, found.ddq_dq[0], found.ddq_dtau[0]])) < 1e-12


JOINTS = {
    "universal": lambda: pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
    "three angles": pin.JointModelSphericalZYX,
    "ball": pin.JointModelSpherical,
    "planar": pin.JointModelPlanar,
    "slides": pin.JointModelTranslation,
    "endless hinge": pin.JointModelRUBZ,
    "screw": lambda: pin.JointModelHX(0.1),
    "free": pin.JointModelFreeFlyer,
}


def closed_chain(joints: list[Any], rng: Any, mimics: bool = False) -> Any:
    """Balls in a row, the last of them held at its centre, and where they are."""
    model, joint = pin.Model(), 0
    for k, joint_model in enumerate(joints):
        place = pin.SE3(pin.SE3.Random().rotation, rng.uniform(-0.4, 0.4, 3))
        joint = model.addJoint(joint, joint_model, place, f"joint {k}")
        centre = pin.SE3(np.eye(3), rng.uniform(-0.2, 0.2, 3))
        model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.2), centre)
    if mimics:
        model = pin.transformJointIntoMimic(model, 1, 6, -1.3, 0.2)
    q0 = pin.integrate(model, pin.neutral(model), 0.3 * rng.normal(size=model.nv))
    there = placed(model, joint, q0)
    return model, [rg.Closure(joint, pin.SE3.Identity(), 0, there, kind="spherical")], q0


@pytest.mark.slow
@pytest.mark.parametrize("kind", JOINTS)
def test_inverse_dynamics_and_derivatives_with_every_joint(kind: str) -> None:
    """Universal joints and those of three angles too, which Pinocchio's derivatives get wrong."""
    pin.seed(3)
    hinges = [pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX(), pin.JointModelRZ()]
    joints = [hinges[0], JOINTS[kind](), *hinges[1:]]
    robot = rg.augment(*closed_chain(joints, np.random.default_rng(0)))
    count, identity, forward, inverse = dynamics_errors(robot, 1)
    assert count > 1
    assert identity < 1e-9
    assert max(forward, inverse) < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("closed", [True, False])
def test_derivatives_where_mimic_joints_lack_coordinates(closed: bool) -> None:
    pin.seed(5)
    kinds = [pin.JointModelRZ, pin.JointModelRY, pin.JointModelRX, pin.JointModelSpherical]
    kinds += [pin.JointModelRZ, pin.JointModelRY, pin.JointModelPX]
    joints = [kind() for kind in kinds]
    model, closures, q0 = closed_chain(joints, np.random.default_rng(6), mimics=True)
    robot = rg.augment(model, closures if closed else [], q0)
    count, identity, forward, inverse = dynamics_errors(robot, 1)
    assert count > 1
    assert identity < 1e-9
    assert max(forward, inverse) < 1e-7
    q, v, tau = next(states(robot))
    found = robot.dynamics_derivatives(q, v, tau)
    assert np.allclose(found.a, robot.forward_dynamics(q, v, tau), atol=1e-9)
    more = robot.forward_dynamics(q, v, tau + np.ones_like(tau))
    assert np.allclose(found.ddq_dtau @ np.ones_like(tau), more - found.a, atol=1e-8)
