"""`build_model` against Pinocchio's own readers: frames, shapes, values, from every format."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from screws import joint_screws

import regularize as rg

ASSETS = Path(__file__).resolve().parents[3] / "assets"

TREE = Path(__file__).with_name("tree.urdf").read_text()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A robot without loops, with every shape and a mesh in a package elsewhere."""
    meshes = tmp_path / "share" / "parts" / "meshes"
    meshes.mkdir(parents=True)
    trimesh.creation.box((0.1, 0.2, 0.3)).export(meshes / "part.stl")
    path = tmp_path / "model" / "tree.urdf"
    path.parent.mkdir()
    path.write_text(TREE)
    return path


def shapes(model: Any, geometry: Any, q: Any) -> dict[str, tuple[Any, ...]]:
    """World pose, type and what else is said of every shape."""
    data, places = model.createData(), geometry.createData()
    pin.updateGeometryPlacements(model, data, geometry, places, q)
    return {
        item.name: (
            np.round(places.oMg[k].homogeneous, 9).tolist(),
            type(item.geometry),
            item.meshPath,
            list(item.meshScale),
            list(item.meshColor),
            item.overrideMaterial,
            model.names[item.parentJoint],
            model.frames[item.parentFrame].name,
        )
        for k, item in enumerate(geometry.geometryObjects)
    }


def test_urdf_as_pinocchio_reads_it(tree: Path) -> None:
    share = str(tree.parents[1] / "share")
    robot = rg.build_model(tree, package_dirs=share)
    model, expected = robot.model, pin.buildModelFromUrdf(str(tree))
    assert robot.findings == () and list(model.names) == list(expected.names)
    q, v = np.array([0.4, 0.1]), np.array([0.3, -0.2])
    data, own = expected.createData(), model.createData()
    pin.framesForwardKinematics(expected, data, q)
    pin.framesForwardKinematics(model, own, q)
    for k, frame in enumerate(expected.frames):
        mine = model.getFrameId(frame.name, frame.type)
        assert own.oMf[mine].isApprox(data.oMf[k])
        above = expected.frames[frame.parentFrame].name
        assert model.frames[model.frames[mine].parentFrame].name == above
    assert pin.rnea(model, own, q, v, v) == pytest.approx(pin.rnea(expected, data, q, v, v))
    for mine, kind in (
        (robot.visual_model, pin.GeometryType.VISUAL),
        (robot.collision_model, pin.GeometryType.COLLISION),
    ):
        theirs = pin.buildGeomFromUrdf(expected, str(tree), kind, package_dirs=[share])
        assert shapes(model, mine, q) == shapes(expected, theirs, q)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["sdf", "xml", "json"])
def test_the_same_from_other_formats(tree: Path, suffix: str) -> None:
    """Written in another format and built from there, every shape stands where it stood."""
    if suffix == "xml":
        pytest.importorskip("mujoco")
    first = rg.build_model(tree, [tree.parents[1] / "share"])
    path = tree.with_name(f"tree.{suffix}")
    located = rg.load(tree)
    rg.save(located, path, format="mjcf" if suffix == "xml" else None)
    second = rg.build_model(path, [tree.parents[1] / "share"])
    q = np.array([0.4, 0.1])
    for which in ("visual_model", "collision_model"):
        one = shapes(first.model, getattr(first, which), q)
        two = shapes(second.model, getattr(second, which), q)
        # MJCF knows no packages, so the mesh is not found from there.
        missing = coal.BVHModelOBBRSS if suffix == "xml" else None
        poses = {(str(e[0]), e[1]) for e in one.values() if e[1] is not missing}
        assert {(str(e[0]), e[1]) for e in two.values() if e[1] is not missing} == poses


def test_mjcf_as_pinocchio_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco model="arm"><worldbody>
<body name="a" pos="0 0 1" euler="0 30 0"><joint name="j" axis="0 1 0"/>
<geom name="rod" type="capsule" size="0.02 0.2" pos="0 0 0.2"/>
<body name="b" pos="0 0 0.4"><joint name="k" type="slide" axis="1 0 0"/>
<geom name="block" type="box" size="0.1 0.2 0.3"/></body></body>
</worldbody></mujoco>"""
    )
    robot = rg.build_model(path)
    theirs = pin.buildModelFromMJCF(str(path))
    assert list(robot.model.names) == list(theirs.names)
    q = np.array([0.3, 0.05])
    geometry = pin.buildGeomFromMJCF(theirs, str(path), pin.GeometryType.COLLISION)
    mine = shapes(robot.model, robot.collision_model, q)
    other = shapes(theirs, geometry, q)
    assert [e[:2] for e in mine.values()] == [e[:2] for e in other.values()]
    assert pin.crba(robot.model, robot.data, q) == pytest.approx(
        pin.crba(theirs, theirs.createData(), q), rel=1e-6
    )


def test_loops_with_shapes(tmp_path: Path) -> None:
    robot = rg.build_model(ASSETS / "planar_fourbar.urdf")
    assert (robot.rows, robot.rank, robot.model.nv) == (2, 2, 3)
    assert np.max(np.abs(robot.residual(robot.q0))) < 1e-12
    assert len(robot.visual_model.geometryObjects) == 8
    for other in (copy.copy(robot), pickle.loads(pickle.dumps(robot))):
        assert shapes(other.model, other.visual_model, robot.q0) == shapes(
            robot.model, robot.visual_model, robot.q0
        )
    closing = robot.reduction.cuts[0].edge.joint
    assert closing.closure, "the file's own closure is the cut"


def test_bodies_collide(tmp_path: Path) -> None:
    """The collision model is one that Pinocchio computes with."""
    path = tmp_path / "two.urdf"
    path.write_text(TREE.replace("package://parts/meshes/part.stl", "part.stl"))
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "part.stl")
    robot = rg.build_model(path)
    geometry = robot.collision_model
    geometry.addAllCollisionPairs()
    places = geometry.createData()
    pin.updateGeometryPlacements(robot.model, robot.data, geometry, places, robot.q0)
    distances = [
        pin.computeDistance(geometry, places, k).min_distance
        for k in range(len(geometry.collisionPairs))
    ]
    assert len(distances) == 3 and max(distances) > 0.5
    assert isinstance(geometry.geometryObjects[1].geometry, coal.BVHModelOBBRSS)


def test_a_missing_mesh_is_a_finding(tree: Path) -> None:
    robot = rg.build_model(tree)
    missing = [f for f in robot.findings if f.code == "REG013"]
    assert len(missing) == 2 and "package://parts/meshes/part.stl" in missing[0].message
    assert len(robot.visual_model.geometryObjects) == 3


def test_options_of_the_reader() -> None:
    floating = rg.build_model(ASSETS / "planar_fourbar.urdf", floating=True)
    assert floating.model.nv == 9 and floating.model.nq == 10


def test_frames_are_found_by_name_and_number() -> None:
    robot = rg.to_pinocchio(rg.reduce(rg.load(ASSETS / "slider_crank.urdf")))
    motor = [robot.model.names[1]]
    twists = [
        robot.actuator_jacobian(robot.q0, frame, motor) for frame in (robot.model.frames[2].name, 2)
    ]
    np.testing.assert_array_equal(*twists)
    for frame in ("nowhere", robot.model.nframes):
        with pytest.raises(rg.ModelError, match=f"the model has no frame '?{frame}'?; it has"):
            robot.actuator_jacobian(robot.q0, frame, motor)
    with pytest.raises(rg.ModelError, match="not negative; got -1"):
        robot.actuator_jacobian(robot.q0, -1, motor)


def test_joints_say_which_shapes_are_wrong() -> None:
    hinge = rg.Joint.in_world("A", "a", "b", "revolute")
    with pytest.raises(rg.ModelError, match="joint 'A': spherical needs 3 screws, got 1"):
        replace(hinge, kind="spherical")
    with pytest.raises(rg.ModelError, match="joint 'A': lower has 2 values for 1 freedoms"):
        replace(hinge, limits=np.array([[-1.0, 1.0], [-2.0, 2.0]]))
    with pytest.raises(ValueError, match="joint kind 'composite' has no standard screws"):
        joint_screws("composite")
    np.testing.assert_array_equal(joint_screws("free"), np.eye(6))
