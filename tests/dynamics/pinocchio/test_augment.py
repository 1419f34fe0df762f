"""Loops in the caller's own Pinocchio model, which is not changed."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_cases import chain, mass_matrix, placed
from test_pinocchio_import import GROUND_PIVOT, joint_models, open_fourbar

import regularize as rg

#: Rows of a weld that each kind leaves out, in its own frame with the axis along Y.
FREE = {
    "fixed": (),
    "revolute": (4,),
    "prismatic": (1,),
    "cylindrical": (1, 4),
    "spherical": (3, 4, 5),
    "planar": (0, 2, 4),
}


def rows_of(model: Any, models: Any, q: Any, v: Any) -> tuple[Any, ...]:
    """Data of the model and of constraints, their Jacobian, and their drift, all by Pinocchio."""
    data, datas = model.createData(), pin.StdVec_ConstraintData()
    pin.crba(model, data, q, pin.Convention.WORLD)
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.computeJointJacobians(model, data)
    for constraint in models:
        datas.append(constraint.createData())
        constraint.calc(model, data, datas[len(datas) - 1])
    J = pin.getConstraintsJacobian(model, data, models, datas)
    drift = [each.extract().constraint_acceleration_error for each in datas]
    return data, datas, J, np.concatenate(drift)


def dense_acceleration(
    model: Any, anchor: Any, rows: list[int], q: Any, v: Any, tau: Any
) -> np.ndarray[Any, Any]:
    """Least squares on the equations of motion with all rows of a closure."""
    models = pin.StdVec_ConstraintModel()
    models.append(pin.ConstraintModel(anchor))
    data, _, J, drift = rows_of(model, models, q, v)
    J, drift = J[rows], drift[rows]
    M = mass_matrix(model, data, q)
    force = tau - pin.nonLinearEffects(model, data, q, v)
    kkt = np.block([[M, J.T], [J, np.zeros((len(rows), len(rows)))]])
    return np.linalg.lstsq(kkt, np.concatenate([force, -drift]), rcond=1e-11)[0][: model.nv]


def state(robot: rg.Robot, seed: int = 0) -> tuple[Any, Any, Any]:
    """A state on the loops away from the reference configuration."""
    rng = np.random.default_rng(seed)
    v = robot.project_velocity(robot.q0, rng.normal(size=robot.model.nv))
    q = robot.project(pin.integrate(robot.model, robot.q0, 0.3 * v / (1 + np.linalg.norm(v))))
    v = robot.project_velocity(q, rng.normal(size=robot.model.nv))
    return q, v, rng.normal(size=robot.model.nv)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FREE)
def test_the_model_stays_and_the_motion_is_that_of_all_equations(kind: str) -> None:
    model, tip, end = open_fourbar()
    before = model.copy()
    robot = rg.augment(model, [rg.Closure(tip, end, 0, GROUND_PIVOT, kind=kind, axis=(0, 1, 0))])
    assert robot.model is model and model == before
    q, v, tau = state(robot)
    assert np.max(np.abs(robot.residual(q)), initial=0.0) < 1e-12
    anchor = pin.FrameAnchorConstraintModel(model, 0, GROUND_PIVOT, tip, end)
    rows = [row for row in range(6) if row not in FREE[kind]]
    expected = dense_acceleration(model, anchor, rows, q, v, tau)
    scale = 1.0 + np.max(np.abs(expected))
    assert np.max(np.abs(robot.forward_dynamics(q, v, tau) - expected)) < 1e-12 * scale
    a = robot.forward_dynamics(q, v, tau)
    assert np.max(np.abs(robot.jacobian(q) @ a + robot.bias(q, v)), initial=0.0) < 1e-11 * scale


@pytest.mark.slow
def test_joints_and_frames_by_name_and_id() -> None:
    model, tip, end = open_fourbar()
    frame = model.addFrame(pin.Frame("tip", tip, end, pin.FrameType.OP_FRAME))
    identity = np.eye(4)
    same = [
        rg.Closure(tip, end, 0, GROUND_PIVOT),
        rg.Closure(str(model.names[tip]), end.homogeneous, "universe", GROUND_PIVOT),
        rg.Closure("tip", identity, "universe", GROUND_PIVOT.homogeneous),
        rg.Closure(frame, identity, 0, GROUND_PIVOT, frames=True),
    ]
    robots = [rg.augment(model, [closure]) for closure in same]
    q, v, tau = state(robots[0])
    first = robots[0].forward_dynamics(q, v, tau)
    for robot in robots[1:]:
        assert robot.forward_dynamics(q, v, tau) == pytest.approx(first, abs=1e-12)


@pytest.mark.parametrize(
    ("closure", "message"),
    [
        (("nowhere", np.eye(4), 0, np.eye(4)), "no joint and no frame 'nowhere'"),
        ((9, np.eye(4), 0, np.eye(4)), "no joint 9"),
        ((1, np.eye(3), 0, np.eye(4)), "placement"),
    ],
)
def test_what_is_no_closure_is_refused(closure: Any, message: str) -> None:
    with pytest.raises(rg.ModelError, match=message):
        rg.augment(open_fourbar()[0], [rg.Closure(*closure)])
    with pytest.raises(rg.ModelError, match="free"):
        rg.Closure(*closure, kind="free")


@pytest.mark.slow
@pytest.mark.parametrize("name", joint_models())
def test_every_type_of_joint_in_a_loop(name: str) -> None:
    pin.seed(3)
    rng = np.random.default_rng(4)
    axis = np.array([0.0, 0.6, 0.8])
    hinges = [pin.JointModelRX(), pin.JointModelRevoluteUnaligned(axis), pin.JointModelRZ()]
    model = chain([*hinges[:2], joint_models()[name], hinges[2]])
    q0 = pin.integrate(model, pin.neutral(model), 0.5 * rng.normal(size=model.nv))
    end = pin.SE3.Random()
    point = placed(model, 4, q0) * end
    robot = rg.augment(model, [rg.Closure(0, point, 4, end, kind="spherical")], q0)
    assert robot.q0 == pytest.approx(q0, abs=1e-12)
    q, v, tau = state(robot)
    anchor = pin.FrameAnchorConstraintModel(model, 0, point, 4, end)
    expected = dense_acceleration(model, anchor, [0, 1, 2], q, v, tau)
    a = robot.forward_dynamics(q, v, tau)
    assert a == pytest.approx(expected, abs=1e-10 * (1.0 + np.max(np.abs(expected))))


def hinges(count: int, seed: int) -> Any:
    """A chain of hinges in random directions."""
    rng, joints = np.random.default_rng(seed), []
    for _ in range(count):
        axis = rng.normal(size=3)
        joints.append(pin.JointModelRevoluteUnaligned(axis / np.linalg.norm(axis)))
    return chain(joints), 0.5 * rng.normal(size=count)


def test_universal_closures_are_refused_with_two_ways_out() -> None:
    """A small body between two hinges, or a tree that is built here, move as the joint would."""
    pin.seed(7)
    (model, q0), parent, end = hinges(6, 8), 6, pin.SE3.Random()
    here = placed(model, parent, q0) * end
    closure = rg.Closure(0, here, parent, end, kind="universal", axis=(1, 0, 0), axis2=(0, 0, 1))
    with pytest.raises(rg.ModelError, match="two revolute closures with a small body between"):
        rg.augment(model, [closure], q0)
    built = rg.to_pinocchio(rg.from_pinocchio(model, [closure], q0))
    cross = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "cross")
    none = pin.SE3.Identity()
    halves = [
        rg.Closure(0, here, cross, none, axis=(1, 0, 0)),
        rg.Closure(cross, none, parent, end, axis=(0, 0, 1)),
    ]
    middle = np.concatenate([here.translation, pin.Quaternion(here.rotation).coeffs()])
    own = rg.augment(model, halves, np.concatenate([q0, middle]))
    assert own.reduction.mobility == built.reduction.mobility == 2
    one, other = (
        robot.forward_dynamics(robot.q0, *np.zeros((2, robot.nv))) for robot in (own, built)
    )
    chain = [name for name in built.model.names if name.startswith("joint ")]
    expected = other[[built.velocity_index(name) for name in chain]]
    assert len(chain) > 3
    assert one[[own.velocity_index(name) for name in chain]] == pytest.approx(expected, abs=1e-8)


def spatial(kind: str) -> tuple[Any, rg.Closure, Any]:
    """Seven hinges in space, closed by a joint of some kind at a pose where they meet."""
    pin.seed(9)
    (model, q0), end = hinges(7, 10), pin.SE3.Random()
    axis = (0.6, 0.0, 0.8)
    return model, rg.Closure(0, placed(model, 7, q0) * end, 7, end, kind=kind, axis=axis), q0


def flat(kind: str) -> tuple[Any, rg.Closure, Any]:
    model, tip, end = open_fourbar()
    return model, rg.Closure(tip, end, 0, GROUND_PIVOT, kind=kind, axis=(0, 1, 0)), None


@pytest.mark.slow
@pytest.mark.parametrize("plane", [True, False])
@pytest.mark.parametrize("kind", FREE)
def test_pinocchios_own_solvers(kind: str, plane: bool) -> None:
    model, closure, q0 = flat(kind) if plane else spatial(kind)
    before = model.copy()
    robot = rg.augment(model, [closure], q0)
    q, v, tau = state(robot)
    expected = robot.forward_dynamics(q, v, tau)
    bound = 1e-9 * (1.0 + np.max(np.abs(expected)))
    anchored = rg.augment(model, [closure], q0, style="anchors")
    assert {f.code for f in anchored.findings} <= {"REG218"}
    assert len(anchored.constraint_models) >= (robot.rows > 0)
    assert anchored.forward_dynamics(q, v, tau) == pytest.approx(expected, abs=bound)
    if kind in ("fixed", "revolute", "spherical"):
        rigid = rg.augment(model, [closure], q0, style="legacy")
        assert rigid.forward_dynamics(q, v, tau) == pytest.approx(expected, abs=1e3 * bound)
        data, datas = model.createData(), pin.StdVec_RigidConstraintData()
        for constraint in rigid.constraint_models:
            datas.append(constraint.createData())
        pin.computeJointMinimalOrdering(model, data, rigid.constraint_models)
        given = (rigid.constraint_models, datas, rigid.proximal_settings)
        assert pin.lcaba(model, data, q, v, tau, *given) == pytest.approx(expected, abs=1e3 * bound)
    assert model == before


@pytest.mark.slow
@pytest.mark.parametrize("closed", [flat, spatial])
def test_pinocchios_admm_solver_converges_on_the_anchors_of_a_hinge(closed: Any) -> None:
    """Its forces give the acceleration of the rows."""
    model, closure, q0 = closed("revolute")
    robot = rg.augment(model, [closure], q0, style="anchors")
    q, v, tau = state(robot)
    models = robot.constraint_models
    data, datas, J, drift = rows_of(model, models, q, v)
    cholesky = pin.ConstraintCholeskyDecomposition(model, data, models, datas)
    cholesky.compute(model, data, models, datas, 0.0)
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-12
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 1e-14
    settings.max_iterations, settings.solve_ncp = 5000, False
    delassus = cholesky.getDelassusOperatorCholeskyExpression()
    free = pin.aba(model, model.createData(), q, v, tau)
    given = (delassus, J @ free + drift, models, datas, settings, result)
    assert pin.ADMMConstraintSolver().solve(*given)
    force = J.T @ result.retrieveConstraintImpulses()
    a = free + np.linalg.solve(mass_matrix(model, model.createData(), q), force)
    assert a == pytest.approx(robot.forward_dynamics(q, v, tau), abs=1e-8 * (1 + np.abs(a).max()))


def test_rigid_constraints_cannot_slide() -> None:
    model, closure, q0 = spatial("prismatic")
    with pytest.raises(rg.UnsupportedExport, match="prismatic"):
        rg.augment(model, [closure], q0, style="legacy")
    with pytest.raises(rg.UnsupportedExport, match="known: rows, anchors, legacy"):
        rg.augment(model, [closure], q0, style="slack")


@pytest.mark.slow
def test_screws_close_loops() -> None:
    model, closure, q0 = spatial("revolute")
    screw = replace(closure, kind="helical", pitch=0.2)
    robot = rg.augment(model, [screw], q0)
    q, v, tau = state(robot)
    assert robot.rows == 5 and np.max(np.abs(robot.residual(q))) < 1e-12
    a = robot.forward_dynamics(q, v, tau)
    # The twist at the closure is along the screw: turning and sliding go together.
    data = model.createData()
    pin.forwardKinematics(model, data, q, v)
    tip = int(closure.joint2)
    twist = (closure.placement1.inverse() * data.oMi[tip]).act(data.v[tip]).vector
    axis = np.array(closure.axis, dtype=float)
    assert twist[:3] @ axis == pytest.approx(0.2 * (twist[3:] @ axis), abs=1e-12)
    assert np.max(np.abs(robot.jacobian(q) @ a + robot.bias(q, v))) < 1e-10
    with pytest.raises(rg.UnsupportedExport, match="helical joint; use the style 'rows', or put"):
        rg.augment(model, [screw], q0, style="anchors")


def test_names_are_the_callers() -> None:
    model, tip, end = open_fourbar()
    robot = rg.augment(model, [rg.Closure(tip, end, 0, GROUND_PIVOT, name="pivot")])
    assert [robot.velocity_index(name) for name in list(model.names)[1:]] == [0, 1, 2]
    assert [loop.joint for loop in robot.constraint_forces(*state(robot)).loops] == ["pivot"]


@pytest.mark.slow
def test_faults_of_closures_and_of_what_they_become() -> None:
    model, tip, end = open_fourbar()
    closure = rg.Closure(tip, end, 0, GROUND_PIVOT, name="pivot")
    for frames, what in ((False, "joint"), (True, "frame")):
        with pytest.raises(rg.ModelError, match=f"'pivot': the model has no {what} 99 of"):
            rg.augment(model, [replace(closure, joint1=99, frames=frames)])
    with pytest.raises(
        rg.ModelError, match="let nothing move that is locked: pivot: revolute to sph"
    ):
        rg.augment(model, [closure], kinds={"pivot": "spherical"})


def mimicking(scaling: float, offset: float) -> tuple[Any, Any]:
    """A tree of five joints, and the same where the last one follows the first."""
    pin.seed(5)
    joints = [pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelPX(), pin.JointModelRX()]
    model = chain([*joints, pin.JointModelRevoluteUnaligned(np.array([0.6, 0, 0.8]))])
    return model, pin.transformJointIntoMimic(model, 1, 5, scaling, offset)


@pytest.mark.parametrize("closed", [True, False])
def test_mimic_joints(closed: bool) -> None:
    """They move as the same joints with a coupling do, to which a dense solution is compared."""
    scaling, offset = -1.7, 0.3
    free, model = mimicking(scaling, offset)
    G, start = np.vstack([np.eye(4), [scaling, 0, 0, 0]]), np.array([0, 0, 0, 0, offset])
    rng = np.random.default_rng(6)
    q0 = 0.4 * rng.normal(size=4)
    end = pin.SE3.Random()
    point = placed(free, 5, G @ q0 + start) * end
    robot = rg.augment(
        model, [rg.Closure(0, point, 5, end, kind="spherical")] if closed else [], q0
    )
    assert robot.model is model and robot.q0 == pytest.approx(q0, abs=1e-12)
    assert robot.reduction.mobility == (1 if closed else 4)
    q, v, tau = state(robot)
    # The coupling of the free tree eliminated by G, the loop by least squares.
    frame = free.addFrame(pin.Frame("end", 5, end, pin.FrameType.OP_FRAME))
    data, axes = free.createData(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    whole, rates = G @ q + start, G @ v
    M = G.T @ mass_matrix(free, data, whole) @ G
    force = tau - G.T @ pin.nonLinearEffects(free, data, whole, rates)
    J = pin.computeFrameJacobian(free, data, whole, frame, axes)[:3] @ G
    pin.forwardKinematics(free, data, whole, rates, 0 * rates)
    drift = pin.getFrameClassicalAcceleration(free, data, frame, axes).linear
    J, drift = (J, drift) if closed else (J[:0], drift[:0])
    kkt = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    expected = np.linalg.lstsq(kkt, np.concatenate([force, -drift]), rcond=1e-9)[0][:4]
    a = robot.forward_dynamics(q, v, tau)
    assert a == pytest.approx(expected, abs=1e-9 * (1.0 + np.max(np.abs(expected))))


def test_two_mimic_joints_follow_their_own_joints() -> None:
    free, first = mimicking(-0.7, 0.2)
    model = pin.transformJointIntoMimic(first, 2, 4, 2.0, 0.1)
    robot, q = rg.augment(model, []), np.array([0.3, -0.4, 0.5])
    whole = np.array([*q, 2.0 * q[1] + 0.1, -0.7 * q[0] + 0.2])
    assert robot.coordinates(q) == pytest.approx(whole, abs=1e-12)
    assert placed(model, 5, q).isApprox(placed(free, 5, whole))
    for style in ("anchors", "legacy"):
        with pytest.raises(rg.UnsupportedExport, match=r"mimic joints \('joint"):
            rg.augment(first, [], style=style)


def test_a_mimic_joint_of_scaling_zero_rests_at_its_offset() -> None:
    """As a weld would, where the joint that it follows may be; it cannot be sent elsewhere."""
    free, model = mimicking(0.0, 0.3)
    robot = rg.augment(model, [])
    assert (robot.model.nv, robot.reduction.mobility) == (4, 4)
    rng = np.random.default_rng(8)
    q, v, tau = rng.normal(size=(3, 4))
    G, whole = np.eye(5)[:, :4], np.append(q, 0.3)
    data = free.createData()
    M = G.T @ mass_matrix(free, data, whole) @ G
    expected = np.linalg.solve(M, tau - G.T @ pin.nonLinearEffects(free, data, whole, G @ v))
    assert robot.forward_dynamics(q, v, tau) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(pickle.PicklingError, match="'joint 4' mimics with a scaling of zero"):
        pickle.dumps(robot)


def test_a_joint_that_turns_without_end_has_no_coordinate_to_prescribe() -> None:
    robot = rg.augment(chain([pin.JointModelRY(), pin.JointModelRUBY()]), [])
    assert robot.position_index(0) == 0
    with pytest.raises(rg.ModelError, match="the motion of 'joint 1' cannot be prescribed"):
        robot.position_index(1)


@pytest.mark.slow
def test_a_configuration_with_open_loops_is_closed_and_said() -> None:
    model, tip, end = open_fourbar()
    closure = rg.Closure(tip, end, 0, GROUND_PIVOT)
    robot = rg.augment(model, [closure], np.array([0.2, 0.0, 0.0]))
    assert [f.code for f in robot.findings] == ["REG104"]
    assert np.max(np.abs(robot.residual(robot.q0))) < 1e-12
    far = rg.Closure(tip, end, 0, pin.SE3(np.eye(3), np.array([9.0, 0.0, 0.0])))
    assert [f.code for f in rg.augment(model, [far]).findings] == ["REG101"]


def test_the_callers_data() -> None:
    model, tip, end = open_fourbar()
    robot, data = rg.augment(model, [rg.Closure(tip, end, 0, GROUND_PIVOT)]), model.createData()
    q, v, _ = state(robot)
    assert robot.jacobian(q, data) == pytest.approx(robot.jacobian(q), abs=1e-14)
    assert robot.residual(q, data) == pytest.approx(robot.residual(q), abs=1e-14)
    assert robot.bias(q, v, data) == pytest.approx(robot.bias(q, v), abs=1e-14)
    assert data.oMi[tip].isApprox(placed(model, tip, q))


def test_a_model_in_series_has_the_same_coordinates_and_inertia() -> None:
    """Joints of several axes become hinges and slides in a row; the last one carries the body."""
    both = pin.JointModelComposite(pin.JointModelRX())
    both.addJoint(pin.JointModelPY(), pin.SE3.Random())
    model = chain([both, pin.JointModelPlanar(), pin.JointModelRY()])
    model.damping[:] = np.random.default_rng(3).uniform(size=model.nv)
    q0 = pin.neutral(model)
    closure = rg.Closure(3, pin.SE3.Identity(), 0, placed(model, 3, q0), kind="spherical")
    series = rg.augment(model, [closure], q0).expanded.model
    assert series.njoints > model.njoints and (series.nq, series.nv) == (model.nq, model.nv)
    np.testing.assert_array_equal(series.damping, model.damping)
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    for compute in (pin.crba, pin.computeGeneralizedGravity):
        expected = compute(model, model.createData(), q)
        found = compute(series, series.createData(), q)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_screw_without_a_pitch_is_refused() -> None:
    """Pinocchio's default leaves the pitch to what stood in memory, so one is written here."""
    model, here = chain([pin.JointModelHZ(1e-315)]), pin.SE3.Identity()
    with pytest.raises(rg.ModelError, match="'joint 0' is a screw with the pitch"):
        rg.augment(model, [rg.Closure(1, here, 0, here)])
