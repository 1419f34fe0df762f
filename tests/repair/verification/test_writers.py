"""Round trips: what is written is read back with the same kinematics, masses and findings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from screws import exp, inverse, joint_screws
from simulation_cases import CORPUS, Body, Inertia, Joint, Mechanism, read
from test_adapter_contract import WRITERS as FORMATS

import regularize as rg
from regularize.adapters import adapters
from regularize.adapters.common.quantities import rotation_rpy
from regularize.adapters.common.serial import serial
from regularize.adapters.common.write import number, reference_poses, rpy, spanning
from regularize.lie.screw import adjoint
from regularize.mechanism.body import Geometry
from regularize.mechanism.joint import JointLimits, reversed_joint
from regularize.mechanism.joint_kinds import KINDS
from regularize.mechanism.mechanism import Actuator, ActuatorGains

HINGE = rg.Joint.in_world("A", "ground", "arm", "revolute", (0, 1, 0))


def round_trip(mechanism: Any, target: Any, tmp_path: Path, **options: Any) -> Any:
    folder = tmp_path / target
    folder.mkdir(exist_ok=True)
    path = folder / f"model{FORMATS[target]}"
    findings = rg.save(mechanism, path, format=target)
    return read(path, **options), findings


def random_transform(rng: Any) -> Any:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    T[:3, 3] = rng.uniform(-1, 1, 3)
    return T


def random_inertia(rng: Any) -> Any:
    R = Rotation.random(random_state=rng).as_matrix()
    moments = R @ np.diag(rng.uniform(1.0, 1.9, 3)) @ R.T
    return Inertia(rng.uniform(1, 2), rng.uniform(-1, 1, 3), (moments + moments.T) / 2)


def chain_of(kinds: Any, rng: Any, *, closed: Any = False) -> Any:
    """A chain of joints of the given kinds with random frames; the last may close it exactly."""
    bodies, joints = [Body("world")], []
    T = np.eye(4)
    for i, kind in enumerate(kinds):
        name = f"b{i}"
        last = closed and i == len(kinds) - 1
        frames = [random_transform(rng), random_transform(rng)]
        if last:
            # The closing joint leads from the last body back to the world.
            frames[1] = T @ frames[0]
        else:
            T = T @ frames[0] @ inverse(frames[1])
            bodies.append(Body(name, random_inertia(rng)))
        joints.append(
            Joint(
                f"j{i}",
                "world" if i == 0 else f"b{i - 1}",
                "world" if last else name,
                kind,
                joint_screws(kind, axis=rng.normal(size=3), pitch=0.01)
                if kind != "universal"
                else joint_screws(kind, [1, 0, 0], [0, 1, 0]),
                *frames,
                closure=last,
            )
        )
    return Mechanism("random", bodies, joints, ground="world")


def world_masses(mechanism: Any) -> Any:
    """Centre of mass and inertia matrix in the world, by body name, at the stored pose."""
    poses = reference_poses(mechanism, spanning(mechanism).tree)
    found = {}
    for body in mechanism.bodies:
        if body.inertia is not None and body.inertia.mass > 0.0:
            placed = body.inertia.transformed(poses[body.name])
            found[body.name] = (placed.mass, placed.center, placed.matrix)
    return found


def world_axes(mechanism: Any) -> Any:
    """World screw of every hinge and slide by joint name."""
    poses = reference_poses(mechanism, spanning(mechanism).tree)
    return {
        joint.name: adjoint(poses[joint.parent] @ joint.T_parent_joint) @ joint.screws[:, 0]
        for joint in mechanism.joints
        if joint.kind in ("revolute", "prismatic")
    }


def assert_same(mechanism: Any, other: Any) -> None:
    masses, others = world_masses(mechanism), world_masses(other)
    for name, (mass, center, matrix) in masses.items():
        if any(other_name.startswith(f"{name}__") for other_name in others):
            continue  # cut in halves
        assert others[name][0] == pytest.approx(mass, rel=1e-14)
        np.testing.assert_allclose(others[name][1], center, atol=1e-12)
        np.testing.assert_allclose(others[name][2], matrix, atol=1e-12)
    axes, other_axes = world_axes(mechanism), world_axes(other)
    screws = {joint.name for joint in mechanism.joints if joint.kind == "helical"}
    for name in (axes.keys() & other_axes.keys()) - screws:
        if mechanism.ground in (m.joint(name).child for m in (mechanism, other)):
            # SDF turns such joints round.
            axes[name] *= np.sign(axes[name] @ other_axes[name])
        np.testing.assert_allclose(other_axes[name], axes[name], atol=1e-12)


def counts(mechanism: Any) -> Any:
    reduction = rg.reduce(mechanism)
    return reduction.redundant, reduction.mobility, reduction.finite_mobility


@pytest.mark.slow
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "composite"])
def test_every_kind_of_tree_joint(kind: str, target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    kinds = ["free"] if kind == "free" else ["revolute", kind, "revolute"]
    mechanism = chain_of(kinds, rng)
    other, findings = round_trip(mechanism, target, tmp_path)
    assert counts(other) == counts(mechanism)
    assert_same(mechanism, other)
    assert {f.code for f in findings} <= {"REG301", "REG302", "REG321"}
    assert all(f.severity == "note" for f in findings if f.code == "REG321")


@pytest.mark.slow
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("composite", "free")])
def test_every_kind_of_closure(kind: str, target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    links = 7 - (KINDS[kind] or 0) + 1
    mechanism = chain_of(["revolute"] * links + [kind], rng, closed=True)
    other, _ = round_trip(mechanism, target, tmp_path)
    assert counts(other) == counts(mechanism) == (0, 2, 2)
    total = sum(mass for mass, _, _ in world_masses(mechanism).values())
    assert sum(m for m, _, _ in world_masses(other).values()) == pytest.approx(total, rel=1e-14)
    assert rg.reduce(other).assembly.worst_before[0] < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("target", ["json", "mjcf"])
def test_stored_positions_are_kept_where_the_format_can(target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    mechanism = chain_of(["free", "revolute", "spherical", "prismatic"], rng)
    positions = {j.name: rng.uniform(-1, 1, j.freedoms) for j in mechanism.joints}
    mechanism = mechanism.with_positions(positions)
    other, findings = round_trip(mechanism, target, tmp_path)
    assert findings == ()
    assert_same(mechanism, other)
    for name in ("j1", "j3"):
        np.testing.assert_allclose(other.joint(name).position, positions[name], atol=1e-15)


@pytest.mark.parametrize("target", ["urdf", "urdf+"])
def test_lost_positions_are_said(target: str, tmp_path: Path) -> None:
    mechanism = chain_of(["revolute"], np.random.default_rng(8)).with_positions({"j0": [0.3]})
    _, findings = round_trip(mechanism, target, tmp_path)
    assert [f.code for f in findings] == ["REG323"]
    assert "stored coordinate of `j0` is lost (0.3)" in findings[0].message


def test_sdf_keeps_the_pose_and_moves_the_zero(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    mechanism = chain_of(["universal", "revolute", "cylindrical"], rng)
    limits = np.array([[-1.0, 2.0]])
    joints = [replace(j, limits=limits) if j.name == "j1" else j for j in mechanism.joints]
    mechanism = replace(mechanism, joints=tuple(joints)).with_positions(
        {j.name: rng.uniform(-1, 1, j.freedoms) for j in mechanism.joints}
    )
    other, _ = round_trip(mechanism, "sdf", tmp_path)
    assert_same(mechanism, other)
    np.testing.assert_allclose(
        other.joint("j1").limits, limits - mechanism.joint("j1").position, atol=1e-15
    )
    # The same motion on top of the pose of the file leads to the same place.
    step = rng.uniform(-1, 1, 2)
    a = mechanism.joint("j0")
    b = other.joint("j0")
    for joint, q in ((a, a.position + step), (b, step)):
        T = joint.T_parent_joint @ exp(joint.screws[:, 0] * q[0]) @ exp(joint.screws[:, 1] * q[1])
        if joint is a:
            expected = T @ inverse(joint.T_child_joint)
        else:
            np.testing.assert_allclose(T @ inverse(joint.T_child_joint), expected, atol=1e-12)


def test_a_body_of_a_reserved_name_is_called_otherwise_with_all_that_names_it(
    tmp_path: Path,
) -> None:
    hinges = [
        rg.Joint.in_world("A", "ground", "world", "revolute", (0, 1, 0)),
        rg.Joint.in_world("B", "world", "tip", "revolute", (0, 1, 0), (1, 0, 0)),
    ]
    mechanism = rg.Mechanism.of_joints("arm", hinges)
    rg.save(mechanism, tmp_path / "arm.sdf")
    back = rg.load(tmp_path / "arm.sdf")
    assert back.ground == "world" and back.joint("A").child == "world_body"
    assert back.joint("B").parent == "world_body"


def test_shapes_of_a_stage(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    glass = Geometry("capsule", [0.5, 2.0], color=(0.25, 0.5, 1.0, 0.5))
    shapes = (Geometry("mesh", [1, 1, 1], uri="gone.stl"), glass)
    mechanism = rg.Mechanism.of_joints("m", [HINGE])
    bodies = tuple(replace(b, geometry=shapes) for b in mechanism.bodies)
    rg.save(replace(mechanism, bodies=bodies), tmp_path / "m.usda")
    (shape,) = rg.load(tmp_path / "m.usda").body("arm").geometry
    assert (shape.kind, shape.size.tolist()) == ("capsule", [0.5, 2.0])
    assert shape.color == (0.25, 0.5, 1.0, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["sdf", "xml", "usda", "json", "urdf"])
def test_ellipsoids_are_kept_or_named(suffix: str, tmp_path: Path) -> None:
    shape = Geometry("ellipsoid", [0.1, 0.2, 0.3], collision=True)
    mechanism = rg.Mechanism.of_joints("m", [HINGE])
    mass = rg.Inertia(1.0, np.zeros(3), np.eye(3))
    bodies = [replace(b, geometry=(shape,), inertia=mass) for b in mechanism.bodies[1:]]
    mechanism = replace(mechanism, bodies=(mechanism.bodies[0], *bodies))
    found = rg.save(mechanism, tmp_path / f"m.{suffix}")
    assert [f.code for f in found if f.code == "REG328"] == ["REG328"] * (suffix == "urdf")
    there = rg.load(tmp_path / f"m.{suffix}").body("arm").geometry
    kept = [("ellipsoid", [0.1, 0.2, 0.3])] * (suffix != "urdf")
    assert [(g.kind, g.size.tolist()) for g in there] == kept


@pytest.mark.slow
@pytest.mark.parametrize("target", FORMATS)
def test_couplings_limits_motors_and_shapes(target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    mechanism = chain_of(["revolute", "prismatic", "revolute"], rng)
    joints = [
        replace(j, limits=np.array([[-0.5, 1.5]]), actuated=j.name == "j1")
        for j in mechanism.joints
    ]
    shapes = (
        Geometry("box", [1, 2, 3], random_transform(rng), color=(1, 0, 0.5, 1)),
        Geometry("cylinder", [0.1, 2], random_transform(rng), collision=True),
        Geometry("sphere", [0.3]),
        Geometry("mesh", [2, 2, 2], uri="there/part.stl"),
    )
    bodies = [replace(b, geometry=shapes) if b.name == "b1" else b for b in mechanism.bodies]
    row = rg.Coupling("c", "mimic", (("j2", 0, 2.0), ("j0", 0, -3.0)), 0.25)
    (tmp_path / "there").mkdir()
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "there" / "part.stl")
    changes = {"joints": joints, "bodies": bodies, "couplings": [row]}
    mechanism = replace(mechanism, path=str(tmp_path / "source.urdf"), **changes)
    other, findings = round_trip(mechanism, target, tmp_path)
    [back] = other.couplings
    scale = row.terms[0][2] / back.terms[0][2]
    assert [(n, i) for n, i, _ in back.terms] == [("j2", 0), ("j0", 0)]
    assert back.terms[1][2] * scale == pytest.approx(-3.0)
    assert back.offset * scale == pytest.approx(0.25)
    for j in other.joints:
        assert j.limits.tolist() == [[-0.5, 1.5]]
        if target != "sdf":
            assert j.actuated == (j.name == "j1")
    if target == "sdf":
        assert [f.joints for f in findings if f.code == "REG326"] == [("j1",)]
    other_shapes = other.body("b1").geometry
    assert [g.kind for g in other_shapes] == [g.kind for g in shapes]
    pose, other_pose = (reference_poses(m, spanning(m).tree)["b1"] for m in (mechanism, other))
    for one, two in zip(shapes, other_shapes, strict=True):
        np.testing.assert_allclose(two.size, one.size)
        assert one.collision == two.collision
        assert (one.uri and "../there/part.stl") == two.uri  # from the file's own place
        np.testing.assert_allclose(
            other_pose @ two.T_body_geometry, pose @ one.T_body_geometry, atol=1e-12
        )
        if one.kind != "mesh" and one.color is not None:
            assert two.color == pytest.approx(one.color, abs=1e-7)


def test_a_universal_joint_askew_is_two_hinges_in_a_stage(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    screws = np.array([[0, 0, 0, 1, 0, 0], [0, 0, 0, 0.6, 0.8, 0]]).T
    joint = Joint("J", "ground", "arm", "universal", screws)
    rg.save(rg.Mechanism.of_joints("odd", [joint]), tmp_path / "odd.usda")
    back = rg.load(tmp_path / "odd.usda")
    assert [each.kind for each in back.joints if each.kind != "fixed"] == ["revolute"] * 2
    assert rg.reduce(back).mobility == 2


def test_limits_of_a_closing_hinge_stay_in_urdf_plus(tmp_path: Path) -> None:
    mechanism = chain_of(["revolute"] * 3, np.random.default_rng(12), closed=True)
    closing = replace(mechanism.joints[-1], limits=np.array([[-0.5, 1.5]]))
    mechanism = replace(mechanism, joints=(*mechanism.joints[:-1], closing))
    other, _ = round_trip(mechanism, "urdf+", tmp_path)
    assert other.joint(closing.name).limits.tolist() == [[-0.5, 1.5]]


def test_a_stage_is_written_to_a_file_of_its_suffixes(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    mechanism = rg.Mechanism.of_joints("m", [HINGE])
    words = r"USD is written to .*\.usda.*, not to .*m\.txt"
    with pytest.raises(rg.UnsupportedExport, match=words):
        rg.save(mechanism, tmp_path / "m.txt", format="usd")


def test_usd_refuses_coordinates_that_it_counts_otherwise(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    for kind, screws in (
        ("revolute", 2.0 * joint_screws("revolute")),
        ("spherical", joint_screws("spherical")[:, [1, 0, 2]]),
    ):
        joint = Joint("A", "ground", "a", kind, screws)
        machine = Mechanism("one", (Body("ground"), Body("a")), (joint,), ground="ground")
        with pytest.raises(rg.UnsupportedExport, match=rf"those of `A` \({kind}\) are others"):
            rg.save(machine, tmp_path / "one.usda")
    assert [*tmp_path.iterdir()] == []


def test_what_motors_of_a_stage_give_beside_what_joints_bear(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    limits = JointLimits(None, None, None, [5.0])
    joint = replace(HINGE, actuated=True, limits=limits)
    motor = Actuator("m", "A", force_range=(-2.0, 2.0), gains=ActuatorGains(None, 30.0, 1.0))
    rg.save(replace(rg.Mechanism.of_joints("m", [joint]), actuators=(motor,)), tmp_path / "m.usda")
    back = rg.load(tmp_path / "m.usda")
    [found] = back.actuators
    assert (found.force_range, found.gains) == ((-2.0, 2.0), motor.gains)
    assert back.joint("A").limits.effort.tolist() == [5.0]


@pytest.mark.slow
def test_three_terms_are_a_tendon_in_mjcf_and_lost_elsewhere(tmp_path: Path) -> None:
    mechanism = chain_of(["revolute"] * 3, np.random.default_rng(11))
    terms = (("j0", 0, 1.0), ("j1", 0, 2.0), ("j2", 0, 3.0))
    mechanism = replace(mechanism, couplings=(rg.Coupling("c", "gear", terms, 0.5),))
    other, findings = round_trip(mechanism, "mjcf", tmp_path)
    assert findings == ()
    assert other.couplings[0].terms == terms
    assert other.couplings[0].offset == 0.5
    for target in ("urdf", "sdf"):
        other, findings = round_trip(mechanism, target, tmp_path)
        assert other.couplings == ()
        assert any(f.code == "REG327" and "`c` is lost" in f.message for f in findings)


@pytest.mark.slow
def test_open_loops_are_said_where_they_are_lost(tmp_path: Path) -> None:
    mechanism = chain_of(["revolute"] * 6 + ["spherical"], np.random.default_rng(12), closed=True)
    closing = mechanism.joints[-1]
    T = np.array(closing.T_child_joint)
    T[0, 3] += 0.01
    joints = (*mechanism.joints[:-1], replace(closing, T_child_joint=T))
    mechanism = replace(mechanism, joints=joints)
    for target in ("urdf", "urdf+", "mjcf", "json"):
        other, _ = round_trip(mechanism, target, tmp_path)
        assert rg.reduce(other).assembly.worst_before[0] == pytest.approx(0.01, rel=1e-9)
    other, findings = round_trip(mechanism, "sdf", tmp_path)
    assert rg.reduce(other).assembly.worst_before[0] < 1e-9
    assert counts(other) == counts(mechanism)
    for words in ("moved to close", "zero of"):
        told = [f.joints for f in findings if words in f.message]
        assert told == [(f"j{k}",) for k in range(6)]
    # Random masses have moments that no body has.
    assert {f.code for f in findings} == {"REG302", "REG323"}


def test_urdf_loads_in_pinocchio(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(14)
    mechanism = chain_of(["revolute", "prismatic", "universal", "helical", "fixed"], rng)
    path = tmp_path / "model.urdf"
    adapters()["urdf"].load_writer()(mechanism, path)
    model = pin.buildModelFromUrdf(str(path))
    assert model.nv == 1 + 1 + 2 + 2  # the screw is a hinge and a slide that mimics it
    data = model.createData()
    center = pin.centerOfMass(model, data, pin.neutral(model))
    masses = world_masses(mechanism)
    total = sum(mass for mass, _, _ in masses.values())
    assert pin.computeTotalMass(model) == pytest.approx(total, rel=1e-14)
    expected = sum(mass * c for mass, c, _ in masses.values()) / total
    np.testing.assert_allclose(center, expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((CORPUS / "sdf/cassie").glob("cassie_[rsv]*.sdf")))
def test_cassie_from_sdf_to_every_format(path: Path, tmp_path: Path) -> None:
    mechanism = read(path)
    for target in FORMATS:
        other, _ = round_trip(mechanism, target, tmp_path)
        assert_same(mechanism, other)
        assert counts(other) == counts(mechanism)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("composite", "fixed")])
def test_serial_and_reversed_joints_move_alike(kind: str) -> Any:
    rng = np.random.default_rng(16)
    [joint] = chain_of([kind], rng).joints
    joint = replace(joint, position=rng.uniform(-1, 1, joint.freedoms))

    def pose(parts: Any) -> Any:
        T = np.eye(4)
        for part in parts:
            if part.group:
                J = exp(part.screws @ part.position)
            else:
                J = np.eye(4)
                for column, q in zip(part.screws.T, part.position, strict=True):
                    J = J @ exp(column * q)
            T = T @ part.T_parent_joint @ J @ inverse(part.T_child_joint)
        return T

    expected = pose([joint])
    np.testing.assert_allclose(pose(serial(joint)), expected, atol=1e-12)
    np.testing.assert_allclose(pose([reversed_joint(joint)]), inverse(expected), atol=1e-12)


def test_angles_are_exact_near_the_poles() -> None:
    rng = np.random.default_rng(17)
    for offset in (0.0, 1e-12, 1e-9, 1e-5, 0.3):
        for sign in (-1, 1):
            R = rotation_rpy(rng.uniform(-3, 3), sign * (np.pi / 2 - offset), rng.uniform(-3, 3))
            np.testing.assert_allclose(rotation_rpy(*rpy(R)), R, atol=1e-15)


def test_numbers_are_read_back_bit_for_bit() -> None:
    for value in (*np.random.default_rng(18).normal(size=50), 1e-300, 1 / 3, 5.0, 1e22, -0.0):
        assert float(number(value)) == value
