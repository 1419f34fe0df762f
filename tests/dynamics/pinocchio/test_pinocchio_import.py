"""Pinocchio models with constraints, the other way round."""

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_cases import MECHANISMS, massive

import regularize as rg


def open_fourbar() -> Any:
    """Crank, coupler and rocker in a row, all hinges along Y; the last one ends at (1, 0, 0)."""
    pin.seed(0)  # of the random inertias, whatever ran before
    model = pin.Model()
    points = [(0, 0, 0), (0.1, 0, 0.35), (0.9, 0, 0.6)]
    parent, last = 0, np.zeros(3)
    for k, point in enumerate(points):
        step = pin.SE3(np.eye(3), np.array(point, dtype=float) - last)
        parent = model.addJoint(parent, pin.JointModelRY(), step, f"hinge {k}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
        last = np.array(point, dtype=float)
    return model, parent, pin.SE3(np.eye(3), np.array([1.0, 0, 0]) - last)


GROUND_PIVOT = pin.SE3(np.eye(3), np.array([1.0, 0.0, 0.0]))


def closures(model: Any, tip: int, end: Any) -> dict[str, tuple[Any, int, int]]:
    """Constraint models with the redundancy and mobility that they give."""
    six = (pin.ContactType.CONTACT_6D, model, tip, end, 0, GROUND_PIVOT)
    three = (pin.ContactType.CONTACT_3D, model, tip, end, 0, GROUND_PIVOT)
    point = pin.PointAnchorConstraintModel(model, tip, end, 0, GROUND_PIVOT)
    frame = pin.FrameAnchorConstraintModel(model, tip, end, 0, GROUND_PIVOT)
    return {
        "rigid 6d": (pin.RigidConstraintModel(*six), 3, 0),
        "rigid 3d": (pin.RigidConstraintModel(*three), 1, 1),
        "point": (point, 1, 1),
        "frame": (frame, 3, 0),
        "wrapped": (pin.ConstraintModel(point), 1, 1),
    }


@pytest.mark.parametrize("name", ["rigid 6d", "rigid 3d", "point", "frame", "wrapped"])
def test_every_closure(name: str) -> None:
    model, tip, end = open_fourbar()
    constraint, redundant, mobility = closures(model, tip, end)[name]
    mechanism = rg.from_pinocchio(model, [constraint], pin.neutral(model))
    reduction = rg.reduce(mechanism)
    assert (reduction.redundant, reduction.mobility) == (redundant, mobility)
    assert mechanism.joints[-1].closure and mechanism.format == "pinocchio"


def test_a_vector_of_constraints_and_their_names() -> None:
    model, tip, end = open_fourbar()
    constraints = pin.StdVec_RigidConstraintModel()
    for k in range(2):
        constraints.append(
            pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, tip, end, 0, GROUND_PIVOT)
        )
        constraints[k].name = "pivot"
    mechanism = rg.from_pinocchio(model, constraints)
    assert [j.name for j in mechanism.joints[-2:]] == ["pivot", "pivot 2"]
    assert rg.reduce(mechanism).redundant == 4


@pytest.mark.slow
@pytest.mark.parametrize("style", ["anchors", "slack", "legacy"])
@pytest.mark.parametrize("name", ["tilted", "ball in plane", "3-PRRR", "floating Stewart", "RCSE"])
def test_there_and_back(name: str, style: str) -> None:
    reduction = rg.reduce(massive(MECHANISMS[name]()))
    first = rg.to_pinocchio(reduction, style)
    mechanism = rg.from_pinocchio(first.model, first.constraint_models, first.q0)
    again = rg.reduce(mechanism)
    expected = 0 if style == "slack" else reduction.redundant
    assert (again.mobility, again.redundant) == (reduction.mobility, expected)
    # Cut where the constraints are, the tree is the same again, joint by joint.
    second = rg.to_pinocchio(rg.reduce(mechanism, keep_cuts=True))
    index = [
        second.velocity_index(name, k)
        for i, name in enumerate(first.model.names)
        if i > 0
        for k in range(first.model.joints[i].nv)
    ]
    assert sorted(index) == list(range(first.model.nv))
    tau = np.random.default_rng(2).normal(size=first.model.nv)
    mapped = np.zeros(second.model.nv)
    mapped[index] = tau
    zero = np.zeros(first.model.nv)
    a = first.forward_dynamics(first.q0, zero, tau)
    b = second.forward_dynamics(second.q0, zero, mapped)
    assert np.max(np.abs(a)) > 0.1
    assert np.allclose(b[index], a, rtol=1e-8, atol=1e-8 * np.max(np.abs(a)))


def composite(*joints: Any) -> Any:
    series = pin.JointModelComposite()
    for joint in joints:
        series.addJoint(joint, pin.SE3.Random())
    return series


def joint_models() -> dict[str, Any]:
    axis = np.array([0.6, 0.0, 0.8])
    hinge, slide = pin.JointModelRevoluteUnaligned(axis), pin.JointModelPY()
    inner = composite(pin.JointModelSpherical(), pin.JointModelPX())
    return {
        "nested": composite(inner, slide),
        "rolling": composite(pin.JointModelPlanar(), pin.JointModelRX()),
        "RX": pin.JointModelRX(),
        "PZ": pin.JointModelPZ(),
        "HY": pin.JointModelHY(0.2),
        "revolute": hinge,
        "prismatic": pin.JointModelPrismaticUnaligned(axis),
        "helical": pin.JointModelHelicalUnaligned(axis, 0.3),
        "unbounded": pin.JointModelRUBZ(),
        "spherical": pin.JointModelSpherical(),
        "free": pin.JointModelFreeFlyer(),
        "translation": pin.JointModelTranslation(),
        "ZYX": pin.JointModelSphericalZYX(),
        "planar": pin.JointModelPlanar(),
        "universal": pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
        "composite": composite(pin.JointModelRX(), slide, hinge),
    }


@pytest.mark.parametrize("name", joint_models())
def test_joint_types(name: str) -> None:
    """The body stands where Pinocchio puts it, at any configuration."""
    model = pin.Model()
    placement = pin.SE3.Random()
    joint = model.addJoint(0, joint_models()[name], placement, "joint")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    data = model.createData()
    rng = np.random.default_rng(8)
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
        mechanism = rg.from_pinocchio(model, q=q)
        reduction = rg.reduce(mechanism)
        node = reduction.graph.node_of["joint link"]
        pose = reduction.reference.T_world_node[0, reduction.loops.row(node)]
        pin.forwardKinematics(model, data, q)
        assert np.allclose(pose, data.oMi[joint].homogeneous, atol=1e-12)
        assert mechanism.freedoms == model.nv


def test_body_names_limits_and_gravity() -> None:
    model = pin.buildSampleModelManipulator()
    model.gravity.linear = np.array([0.0, -9.81, 0.0])
    mechanism = rg.from_pinocchio(model)
    assert mechanism.gravity == pytest.approx([0.0, -9.81, 0.0])
    assert len(mechanism.bodies) == model.njoints
    names = {f.name for f in model.frames if f.type == pin.FrameType.BODY}
    assert names & {body.name for body in mechanism.bodies}
    limits = mechanism.joints[0].limits
    assert limits is not None
    assert limits[0] == pytest.approx([model.lowerPositionLimit[0], model.upperPositionLimit[0]])


def test_what_has_no_counterpart_is_refused() -> None:
    model, _, _ = open_fourbar()
    with pytest.raises(rg.ModelError, match="shape"):
        rg.from_pinocchio(model, q=np.zeros(9))
    model.addJoint(0, pin.JointModelEllipsoid(0.1, 0.2, 0.3), pin.SE3.Identity(), "odd")
    with pytest.raises(rg.ModelError, match="series of simpler joints"):
        rg.from_pinocchio(model)


def test_massless_bodies_state_nothing() -> None:
    model = pin.Model()
    model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "bare")
    assert rg.from_pinocchio(model).bodies[1].inertia is None
    assert replace(rg.from_pinocchio(model), name="x").ground == "universe"


@pytest.mark.parametrize("wrapped", [False, True])
def test_contacts_are_no_ball_joints(wrapped: bool) -> None:
    model, _, _ = open_fourbar()
    contact = pin.PointContactConstraintModel(model, 3, pin.SE3.Identity(), 0, pin.SE3.Identity())
    given = pin.ConstraintModel(contact) if wrapped else contact
    for read in (rg.augment, rg.from_pinocchio):
        with pytest.raises(rg.ModelError, match="slides against friction, and closes no loop"):
            read(model, [given])


@pytest.mark.slow
@pytest.mark.guests("contact")
@pytest.mark.parametrize("wrapped", [False, True])
def test_limits_and_friction_of_joints_are_those_of_joints(wrapped: bool) -> None:
    model, tip, end = open_fourbar()
    for k in range(1, 4):  # not as at random
        model.inertias[k] = pin.Inertia(1.0, np.zeros(3), np.eye(3) * 0.01)
    anchor = pin.PointAnchorConstraintModel(model, tip, end, 0, GROUND_PIVOT)
    sides = -0.2 * np.ones(model.nq), 0.1 * np.ones(model.nq)
    limit = pin.JointLimitConstraintModel(model, [1], *sides)
    friction = pin.JointFrictionConstraintModel(model, [2], *np.outer([-0.5, 0.5], np.ones(3)))
    given = [limit, anchor, friction]
    given = [pin.ConstraintModel(each) for each in given] if wrapped else given
    robot = rg.augment(model, given)
    mechanism = robot.reduction.mechanism
    assert mechanism.joints[0].limits[0] == pytest.approx([-0.2, 0.1])
    assert mechanism.joints[1].dynamics.friction == pytest.approx([0.5])
    assert [joint.closure for joint in mechanism.joints] == [False, False, False, True]
    motion = rg.simulate(robot, duration=0.5, h=2e-3, limits=True, rates={"hinge 0": 2.0})
    assert np.max(motion.coordinates[:, 0]) < 0.1 + 1e-6
    assert motion.limited == ("hinge 0",)
    with pytest.raises(rg.ModelError, match="leave them out"):
        rg.fix((model, given))
    uneven = pin.JointFrictionConstraintModel(model, [2], *np.outer([-0.5, 0.6], np.ones(3)))
    with pytest.raises(rg.ModelError, match="the same both ways"):
        rg.from_pinocchio(model, [uneven])
