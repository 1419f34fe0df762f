"""Builders of Newton, plants of Drake and Pinocchio's constraint models through the one door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
pin = pytest.importorskip("pinocchio")


def builder_of(name: str, suffix: str, folder: Path) -> tuple[Any, Path]:
    newton = pytest.importorskip("newton")
    pytest.importorskip("newton_usd_schemas")
    path = folder / f"{name}{suffix}"
    rg.save(rg.load(ASSETS / f"{name}.urdf"), path)
    builder = newton.ModelBuilder()
    {".usda": builder.add_usd, ".xml": builder.add_mjcf}[suffix](str(path))
    return builder, path


def counts(model: Any) -> tuple[int, int, int]:
    found = rg.reduce(model)
    return found.constraints, found.redundant, found.mobility


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["planar_fourbar", "slider_crank", "knee_leg", "gripper"])
def test_builders_from_usd_are_what_their_files_are(name: str, tmp_path: Path) -> None:
    builder, path = builder_of(name, ".usda", tmp_path)
    assert counts(builder) == counts(path)
    closing, named = ({j.name for j in rg.load(m).joints if j.closure} for m in (builder, path))
    assert closing == named
    of_builder, of_file = (
        {frozenset(d.joints) for d in rg.check(m).diagnostics if d.code == "REG201"}
        for m in (builder, path)
    )
    assert of_builder == of_file
    before = list(builder.joint_type), list(builder.joint_q)
    if name in (
        "slider_crank",
        "knee_leg",
    ):  # a slide is dropped; one connect is three times softer
        with pytest.raises(rg.ModelError, match="in Newton"):
            rg.fix(builder)
        return
    fixed = rg.fix(builder)
    assert type(fixed.object) is type(builder)
    assert (list(builder.joint_type), list(builder.joint_q)) == before
    assert rg.reduce(fixed.object).redundant == 0
    assert rg.reduce(fixed.object).mobility == rg.reduce(path).mobility
    assert fixed.object.joint_label == builder.joint_label
    assert fixed.object.body_label == builder.body_label


@pytest.mark.filterwarnings("ignore")
def test_newton_holds_the_loop_of_a_fixed_builder_in_motion(tmp_path: Path) -> None:
    from test_newton import gaps, stepped  # it is skipped without Newton

    builder, _ = builder_of("gripper", ".usda", tmp_path)
    fixed = rg.fix(builder)
    assert fixed.engine is not None and fixed.engine["moved"]
    assert fixed.engine["freedoms"] == [1, 1]
    assert fixed.engine["gap"][1] < 2 * fixed.engine["gap"][0]
    (_, start, before), (model, _, after) = (stepped(b) for b in (builder, fixed.object))
    assert np.max(np.abs(before - start)) > 1e-3
    assert np.max(np.abs(after - before)) < 0.25 * np.max(np.abs(before - start))  # it is soft
    assert np.max(gaps(model, after)) < 1e-3
    with pytest.raises(rg.ModelError, match="cannot become point_on_line for Newton"):
        rg.fix(builder, {"pin_left": "point_on_line"})


@pytest.mark.filterwarnings("ignore")
def test_attributes_of_other_freedoms_stay_with_their_joints(tmp_path: Path) -> None:
    newton = pytest.importorskip("newton")

    builder, _ = builder_of("planar_fourbar", ".usda", tmp_path)
    builder.add_custom_attribute(
        newton.ModelBuilder.CustomAttribute(
            name="marked",
            frequency=newton.Model.AttributeFrequency.JOINT_DOF,
            dtype=float,
            default=0.0,
            values={dof: 1.0 + dof for dof in range(builder.joint_dof_count)},
        )
    )
    fixed = rg.fix(builder)
    made, changed = fixed.object, {each.joint.name for each in fixed.changes}
    old, new = (b.custom_attributes["marked"].values for b in (builder, made))
    for j, label in enumerate(builder.joint_label):
        if label.rpartition("/")[2] not in changed and sum(builder.joint_dof_dim[j]):
            assert new[made.joint_qd_start[j]] == old[builder.joint_qd_start[j]]


@pytest.mark.filterwarnings("ignore")
def test_two_connects_of_mjcf_are_two_balls_in_a_builder(tmp_path: Path) -> None:
    """Newton makes a joint of each; the builder really has one equation more than the hinge."""
    builder, path = builder_of("planar_fourbar", ".xml", tmp_path)
    assert counts(path) == (5, 3, 1) and counts(builder)[1:] == (4, 1)
    fixed = rg.fix(builder)  # its loops hold hinges, balls and welds alone
    assert counts(fixed.object)[1:] == (1, 1)
    assert any(f.code == "REG202" and "1 of 4" in f.message for f in fixed.findings)


def hinge(plant: Any, name: str, first: Any, at: Any, second: Any, on: Any) -> None:
    from pydrake.math import RigidTransform
    from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint

    frames = [
        plant.AddFrame(FixedOffsetFrame(f"{name}{k}", body.body_frame(), RigidTransform(place)))
        for k, (body, place) in enumerate(((first, at), (second, on)))
    ]
    plant.AddJoint(RevoluteJoint(name, *frames, [0, 1, 0]))


def four_bar(closing: bool) -> tuple[Any, list[Any]]:
    plants = pytest.importorskip("pydrake.multibody.plant")
    tree = pytest.importorskip("pydrake.multibody.tree")
    plant = plants.MultibodyPlant(0.001)
    mass = tree.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3)
    crank, coupler, rocker = (plant.AddRigidBody(n, mass) for n in ("crank", "coupler", "rocker"))
    world = plant.world_body()
    hinge(plant, "A", world, [0, 0, 0], crank, [0, 0, 0])
    hinge(plant, "B", crank, [0, 0, 1], coupler, [0, 0, 0])
    hinge(plant, "C", coupler, [2, 0, 0.5], rocker, [0, 0, 1.5])
    if closing:
        hinge(plant, "D", world, [2, 0, 0], rocker, [0, 0, 0])
    return plant, [world, rocker]


def test_a_plant_with_a_loop_of_joints_before_drake_refuses_it() -> None:
    plant, _ = four_bar(closing=True)
    report = rg.check(plant)
    assert (report.reduction.redundant, report.reduction.mobility) == (3, 1)
    (found,) = [d for d in report.diagnostics if d.code == "REG201"]
    assert found.source is not None and "::D" in str(found.source.element)
    body = rg.load(plant).body("crank").inertia
    assert body is not None and body.mass == 1.0
    assert body.matrix == pytest.approx(np.diag([0.13, 0.1, 0.05]) / 12)
    with pytest.raises(rg.UnsupportedExport, match="finished"):
        rg.fix(plant)
    robot = rg.to_pinocchio(plant)
    assert robot.residual(robot.q0).shape == (2,)


def discrete(closing: bool) -> tuple[Any, list[Any]]:
    """A plant that takes constraints."""
    plant, bodies = four_bar(closing)
    sap = pytest.importorskip("pydrake.multibody.plant").DiscreteContactApproximation.kSap
    plant.set_discrete_contact_approximation(sap)
    return plant, bodies


def test_constraints_of_a_plant_are_given_once_more_or_it_is_refused() -> None:
    plant, (world, rocker) = discrete(closing=False)
    ball = (world, np.array([2.0, 0, 0]), rocker, np.zeros(3))
    plant.AddBallConstraint(*ball)
    plant.Finalize()
    for verb in (rg.load, rg.check, rg.reduce, rg.to_pinocchio, rg.fix):
        with pytest.raises(rg.ReadError, match=r"couplers \(1\).*constraints=\[") as refused:
            verb(plant)
        assert "\n" not in str(refused.value) and "<MultibodyPlant>" in str(refused.value)
    for given in (ball, ball[:3], ("world", [2.0, 0, 0], "rocker", [0, 0, 0])):
        mechanism = rg.load(plant, constraints=[given])
        assert mechanism.findings == ()
        found = rg.reduce(mechanism)
        assert (found.constraints, found.redundant, found.mobility) == (3, 1, 1)
    with pytest.raises(rg.ReadError, match="no link `nobody`"):
        rg.load(plant, constraints=[(world, np.zeros(3), "nobody", np.zeros(3))])
    for wrong in ((world,), (world, 3, rocker, None), (3, 4, 5, 6), ("A", "nix", 2.0)):
        with pytest.raises(rg.ReadError, match="constraint_0"):
            rg.load(plant, constraints=[wrong])


def test_couplers_are_given_and_rods_are_read() -> None:
    plant, (world, rocker) = discrete(closing=False)
    joints = [plant.GetJointByName(name) for name in "AB"]
    plant.AddCouplerConstraint(*joints, 2.0, 0.25)
    crank = plant.GetBodyByName("crank")
    # A rod from the tip of the rocker, and a coupler: of three freedoms one is left.
    plant.AddDistanceConstraint(world, np.array([2.0, 0, 3]), rocker, np.zeros(3), 3.0)
    plant.AddDistanceConstraint(world, np.zeros(3), crank, np.ones(3), 1.0, 100.0, 1.0)  # a spring
    before = rg.load(plant, constraints=[(*joints, 2.0, 0.25)])
    plant.Finalize()
    mechanism = rg.load(plant, constraints=[("A", "B", 2.0, 0.25)])
    assert (coupling := mechanism.couplings[0]).terms == (("A", 0, 1.0), ("B", 0, -2.0))
    assert coupling.offset == 0.25 and before.couplings == mechanism.couplings
    assert ["spring" in d.message for d in mechanism.findings] == [True]
    for model in (before, mechanism):
        found = rg.reduce(model)
        assert (found.mobility, found.redundant) == (1, 0)


def jacobian(model: Any, constraints: Any, q: Any) -> Any:
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    pin.computeJointJacobians(model, data, q)
    return np.vstack(
        [pin.getConstraintJacobian(model, data, c, c.createData()) for c in constraints]
    )


@pytest.mark.parametrize("name", ["planar_fourbar", "gripper", "knee_leg", "spherical_fourbar"])
@pytest.mark.parametrize("style", ["legacy", "anchors"])
def test_a_pair_is_fixed_to_rows_that_pinocchio_finds_independent(name: str, style: str) -> None:
    robot = rg.to_pinocchio(ASSETS / f"{name}.urdf", style=style)
    pair = (robot.model, list(robot.constraint_models))
    before = rg.reduce(pair)
    assert before.redundant > 0
    fixed = rg.fix(pair)
    model, constraints = fixed.object
    assert type(fixed.object) is tuple
    assert [type(c) for c in constraints] == [type(c) for c in pair[1]]
    assert list(model.names) == list(pair[0].names)
    assert [f.name for f in model.frames] == [f.name for f in pair[0].frames]
    total = sum(i.mass for i in model.inertias)
    assert total == pytest.approx(sum(i.mass for i in pair[0].inertias))
    after = rg.reduce(fixed.object)
    assert (after.redundant, after.mobility) == (0, before.mobility)
    if style == "legacy":
        old = jacobian(*pair, robot.q0)
        assert np.linalg.matrix_rank(old, 1e-8) < len(old)
        # At the reference pose rows of a flat mechanism may meet; a step aside they do not.
        new = jacobian(model, constraints, pin.neutral(model))
        assert np.linalg.matrix_rank(new, 1e-8) == len(new)
        assert model.nv - len(new) == after.mobility


def test_limits_and_configurations_of_a_pair_go_along() -> None:
    robot = rg.to_pinocchio(ASSETS / "planar_fourbar.urdf", style="legacy")
    model = robot.model.copy()
    model.armature = np.arange(1.0, model.nv + 1)
    model.referenceConfigurations["home"] = np.array(robot.q0)
    made, _ = rg.fix((model, list(robot.constraint_models))).object
    for name in list(model.names)[1:]:
        one, other = (m.joints[m.getJointId(name)] for m in (model, made))
        if one.nv == other.nv:
            assert made.armature[other.idx_v] == model.armature[one.idx_v]
    assert made.referenceConfigurations["home"].shape == (made.nq,)


def test_closures_of_our_own_in_a_pair_can_be_any_kind() -> None:
    model = pin.Model()
    last = 0
    for k, x in enumerate((0.0, 0.0, 2.0)):
        place = pin.SE3(np.eye(3), np.array([x if k < 2 else 2.0, 0, 1.0 if k == 1 else 0.0]))
        last = model.addJoint(last, pin.JointModelRY(), place, f"j{k}")
        model.appendBodyToJoint(last, pin.Inertia.Random(), pin.SE3.Identity())
    end = pin.SE3(np.eye(3), np.array([0.0, 0, -1.0]))
    ground = pin.SE3(np.eye(3), np.array([2.0, 0, 0]))
    pair = (model, [rg.Closure("j2", end, 0, ground, axis=(0, 1, 0), name="foot")])
    assert rg.reduce(pair).redundant == 3
    assert [d.joints for d in rg.check(pair).diagnostics if d.code == "REG201"] == [
        ("j0", "j1", "j2", "foot")
    ]
    (where,) = {d.source for d in rg.check(pair).diagnostics if d.code == "REG201"}
    assert where is not None and where.element == "constraint_models[0]"
    fixed = rg.fix(pair)
    made, (closure,) = fixed.object
    assert isinstance(closure, rg.Closure) and rg.reduce(fixed.object).redundant == 0
    assert rg.augment(made, [closure]).model is made


@pytest.mark.parametrize("kind", ["Constraints", "LegacyConstraints"])
def test_what_readers_of_pinocchio_return_is_taken_as_it_is(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "model.xml"
    rg.save(ASSETS / "planar_fourbar.urdf", path)
    found = getattr(pin, f"buildModelAnd{kind}FromMJCF")(str(path))
    before = rg.reduce(found)
    assert before.redundant > 0 and before.mobility == 1
    assert rg.reduce(rg.fix(found).object).redundant < before.redundant
