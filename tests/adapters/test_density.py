import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from screws import transform
from simulation_cases import Body, Inertia, Mechanism, with_density

import regularize as rg
from regularize.adapters.shapes import solids
from regularize.adapters.shapes.density import _weighed, shape_inertia
from regularize.adapters.shapes.meshes import _of_stage
from regularize.mechanism.body import Geometry

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def mechanism(*shapes: Any, inertia: Any = None, path: Any = None) -> Any:
    bodies = (Body("ground", geometry=shapes), Body("part", inertia, shapes))
    return Mechanism(
        "m", bodies, (rg.Joint.in_world("j", "ground", "part", "revolute"),), path=path
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "size", "finely"),
    [
        ("box", (1.0, 2.0, 3.0), lambda: trimesh.creation.box((1, 2, 3))),
        ("sphere", (0.7,), lambda: trimesh.creation.icosphere(6, 0.7)),
        (
            "ellipsoid",
            (0.5, 0.7, 0.9),
            lambda: trimesh.creation.icosphere(6, 1.0).apply_scale((0.5, 0.7, 0.9)),
        ),
        ("cylinder", (0.4, 3.0), lambda: trimesh.creation.cylinder(0.4, 3.0, sections=2000)),
        ("capsule", (0.4, 3.0), lambda: trimesh.creation.capsule(3.0, 0.4, count=(400, 400))),
    ],
)
def test_solids_agree_with_fine_meshes(kind: str, size: Any, finely: Any) -> None:
    fine = finely()
    fine.apply_translation(-fine.center_mass)
    fine.density = 800.0
    solid = shape_inertia(Geometry(kind, size), 800.0)
    assert solid.mass == pytest.approx(fine.mass, rel=1e-3)
    np.testing.assert_allclose(
        solid.matrix, fine.moment_inertia, rtol=2e-3, atol=1e-4 * np.max(fine.moment_inertia)
    )


def test_two_boxes_are_one_body() -> None:
    # Two halves of a box of 2 x 1 x 1 m, the second one turned.
    halves = (
        Geometry("box", (1, 1, 1), transform(translation=[0.5, 0, 0])),
        Geometry("box", (1, 1, 1), transform(TURN, [1.5, 0, 0])),
    )
    inertia = with_density(mechanism(*halves), 10.0).body("part").inertia
    assert inertia.mass == pytest.approx(20)
    np.testing.assert_allclose(inertia.center, [1, 0, 0])
    np.testing.assert_allclose(inertia.matrix, 20 / 12 * np.diag([2, 5, 5]), atol=1e-12)


def test_stated_mass_and_ground_stay_and_collision_shapes_are_second() -> None:
    stated = Inertia(1.0, np.zeros(3), np.eye(3))
    box = Geometry("box", (1, 1, 1))
    same = with_density(mechanism(box, inertia=stated), 10.0)
    assert same.body("part").inertia is stated
    assert same.body("ground").inertia is None
    assert same.findings == ()
    both = with_density(mechanism(box, Geometry("box", (2, 2, 2), collision=True)), 10.0)
    assert both.body("part").inertia.mass == pytest.approx(10)
    only = with_density(mechanism(replace(box, collision=True)), 10.0)
    assert only.body("part").inertia.mass == pytest.approx(10)
    [finding] = only.findings
    assert (finding.code, finding.severity) == ("REG018", "note")
    assert "10 kg/m³: 10 kg" in finding.message


def test_nothing_is_computed_without_shapes() -> None:
    result = with_density(mechanism(), 10.0)
    assert result.body("part").inertia is None
    assert "neither mass properties nor shapes" in result.findings[0].message


@pytest.mark.parametrize("density", [0.0, -1.0, float("nan"), float("inf")])
def test_density_is_positive(density: Any) -> None:
    with pytest.raises(rg.ModelError, match="positive number"):
        with_density(mechanism(), density)


def test_a_density_is_a_number_and_its_body_has_none_yet() -> None:
    box = Geometry("box", (1, 1, 1))
    with pytest.raises(TypeError, match="positive number of kg/m³; got 'steel'"):
        with_density(mechanism(box), "steel")  # type: ignore[arg-type]
    stated = mechanism(box, inertia=Inertia(1.0, np.zeros(3), np.eye(3)))
    for name, why in (("part", "states its mass properties"), ("ground", "is the ground")):
        (finding,) = with_density(stated, {name: 5.0}).findings
        assert finding.message == f"`{name}` {why}: its density is not used"
    own = mechanism(replace(box, density=7.0), replace(box, density=None))
    assert with_density(own, {}).body("part").inertia is None


def test_what_has_no_density_has_no_mass(tmp_path: Path) -> None:
    shapes = (Geometry("box", (1, 1, 1)), Geometry("mesh", (1, 1, 1), uri="nowhere.stl"))
    for shape in shapes:
        assert shape_inertia(shape, None, str(tmp_path / "m.urdf")) is None
    body = mechanism(*shapes).body("part")
    assert _weighed(body, None, None) == (None, [])


def test_a_mesh_of_a_stage_has_points(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    stage = tmp_path / "m.usda"
    stage.write_text('#usda 1.0\ndef Mesh "Part" {}\n')
    for prim in ("/Part", "/Nothing"):
        with pytest.raises(rg.ReadError, match=f"the mesh `{prim}` has no points there"):
            _of_stage(prim, str(stage))


def test_a_mesh_turned_inside_out_weighs_the_same(tmp_path: Path) -> None:
    box = trimesh.creation.box((1, 1, 1))
    box.invert()
    box.export(tmp_path / "part.stl")
    shape = Geometry("mesh", (1, 1, 1), uri="part.stl")
    found = with_density(mechanism(shape, path=str(tmp_path / "m.urdf")), 7.0)
    assert found.body("part").inertia.mass == pytest.approx(7.0)
    np.testing.assert_allclose(found.body("part").inertia.matrix, 7 / 6 * np.eye(3), atol=1e-9)


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".glb", ".ply"])
def test_mesh_in_millimetres_beside_the_model(suffix: str, tmp_path: Path) -> None:
    box = trimesh.creation.box((1000, 2000, 3000))
    box.apply_translation([500, 0, 0])
    (tmp_path / "meshes").mkdir()
    box.export(tmp_path / "meshes" / f"part{suffix}")
    scale = (1e-3, 1e-3, 1e-3)
    model = tmp_path / "urdf" / "robot.urdf"
    model.parent.mkdir()
    shape = Geometry("mesh", scale, transform(TURN), f"package://robot/meshes/part{suffix}")
    inertia = with_density(mechanism(shape, path=str(model)), 7.0).body("part").inertia
    assert inertia.mass == pytest.approx(42)
    np.testing.assert_allclose(inertia.center, [0, 0.5, 0], atol=1e-9)
    np.testing.assert_allclose(
        inertia.matrix, 3.5 * np.diag([1 + 9, 4 + 9, 1 + 4]), rtol=1e-9, atol=1e-9
    )


def test_mesh_that_is_not_closed_gives_no_mass(tmp_path: Path) -> None:
    box = trimesh.creation.box((1, 1, 1))
    box.update_faces(np.arange(len(box.faces)) > 0)
    box.export(tmp_path / "open.stl")
    shape = Geometry("mesh", (1, 1, 1), uri="open.stl")
    result = with_density(mechanism(shape, path=str(tmp_path / "m.urdf")), 7.0)
    assert result.body("part").inertia is None
    [finding] = result.findings
    assert finding.severity == "warning"
    assert "not closed" in finding.message


def test_missing_and_broken_meshes_are_errors(tmp_path: Path) -> None:
    model = str(tmp_path / "m.urdf")
    with pytest.raises(rg.ReadError, match=r"`none\.stl` is not found"):
        with_density(mechanism(Geometry("mesh", (1, 1, 1), uri="none.stl"), path=model), 1.0)
    (tmp_path / "bad.glb").write_bytes(b"not a mesh")
    with pytest.raises(rg.ReadError, match="is not a mesh"):
        with_density(mechanism(Geometry("mesh", (1, 1, 1), uri="bad.glb"), path=model), 1.0)


def test_formats_of_extras_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part.dae").write_text("<COLLADA/>")

    def load(*_: Any, **__: Any) -> Any:
        raise ValueError("no loader")

    monkeypatch.setattr("trimesh.util.has_module", lambda module: False)
    monkeypatch.setattr(trimesh, "load", load)
    shape = Geometry("mesh", (1, 1, 1), uri="part.dae")
    with pytest.raises(rg.MissingExtra, match=r"pip install 'pin-regularize\[meshes\]'"):
        with_density(mechanism(shape, path=str(tmp_path / "m.urdf")), 1.0)


def test_sdf_computes_mass_from_collisions(tmp_path: Path) -> None:
    """``auto`` inertials: the collision's density, else the link's, else 1000 kg/m³ as SDF says."""
    box = "<geometry><box><size>1 1 1</size></box></geometry>"
    links = "".join(
        f'<link name="{name}"><pose>{k} 0 0 0 0 0</pose><inertial auto="{auto}">{own}</inertial>'
        f'<visual name="v">{box}</visual><collision name="c">{shape}{box}</collision></link>'
        for k, (name, auto, own, shape) in enumerate(
            [
                ("shape", "true", "<density>5</density>", "<density>7</density>"),
                ("link", "true", "<density>5</density>", ""),
                ("default", "true", "", ""),
                ("silent", "false", "", "<density>7</density>"),
            ]
        )
    )
    path = tmp_path / "model.sdf"
    path.write_text(f'<sdf version="1.11"><model name="m">{links}</model></sdf>')
    found = {b.name: b.inertia and b.inertia.mass for b in rg.load(path).bodies}
    assert found == {"world": None, "shape": 7, "link": 5, "default": 1000, "silent": None}


def test_usd_computes_mass_from_the_density_of_colliders() -> None:
    pytest.importorskip("pxr")
    bodies = {
        b.name.rsplit("/", 1)[-1]: b.inertia
        for b in rg.load(Path(__file__).with_name("densities.usda")).bodies
    }
    assert bodies["A"].mass == pytest.approx(8000 * 0.2**3)
    assert bodies["A"].matrix[0, 0] == pytest.approx(64 * 0.2**2 / 6)
    assert bodies["B"].mass == pytest.approx(2000 * 4 / 3 * np.pi * 0.1**3)
    assert bodies["C"] is None


def test_usd_meshes_weigh_by_their_density_in_the_units_of_the_stage(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    box = trimesh.creation.box((20.0, 10.0, 4.0))
    points = ", ".join(f"({x}, {y}, {z})" for x, y, z in np.add(box.vertices, [3.0, 0.0, 0.0]))
    corners = ", ".join(str(i) for i in box.faces.ravel())
    path = tmp_path / "mesh.usda"
    path.write_text(f"""#usda 1.0
(
    metersPerUnit = 0.01
)
def Xform "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
{{
    def Mesh "part" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])
    {{
        float physics:density = 0.001
        int[] faceVertexCounts = [{", ".join("3" for _ in box.faces)}]
        int[] faceVertexIndices = [{corners}]
        point3f[] points = [{points}]
    }}
}}
""")
    [inertia] = [b.inertia for b in rg.load(path).bodies if b.inertia]
    assert inertia.mass == pytest.approx(1000 * 0.2 * 0.1 * 0.04, rel=1e-6)
    assert inertia.center == pytest.approx([0.03, 0, 0], abs=1e-8)
    expected = inertia.mass / 12 * np.array([0.1**2 + 0.04**2, 0.2**2 + 0.04**2, 0.2**2 + 0.1**2])
    assert np.diag(inertia.matrix) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [(-1.0, 1.0, 2.0), (1.0, -1.0, 1.0), (-1.0, -1.0, -1.0)])
def test_mirrored_meshes_stay_mirrored_in_a_stage(
    scale: tuple[float, float, float], tmp_path: Path
) -> None:
    pytest.importorskip("pxr")
    box = trimesh.creation.box((0.2, 0.1, 0.04))
    box.apply_translation([0.1, 0.05, 0.02])
    box.export(tmp_path / "part.stl")
    words = " ".join(map(str, scale))
    path = tmp_path / "robot.urdf"
    path.write_text(
        '<robot name="r"><link name="base"/><link name="arm"><visual><origin xyz="1 0 0"/>'
        f'<geometry><mesh filename="part.stl" scale="{words}"/></geometry></visual></link>'
        '<joint name="J" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>'
    )
    written = rg.save(rg.with_density(rg.load(path), 1000.0), tmp_path / "robot.usda")
    [shape] = rg.load(tmp_path / "robot.usda").body("arm").geometry
    assert shape.size == pytest.approx(scale)
    assert shape.T_body_geometry[:3, 3] == pytest.approx([1, 0, 0])
    assert shape.T_body_geometry[:3, :3] == pytest.approx(np.eye(3))
    assert "REG328" not in {finding.code for finding in written}


@pytest.mark.skipif(sys.platform != "linux", reason="copies no process")
@pytest.mark.parametrize(
    ("function", "survived"),
    [
        (lambda: None, True),
        (lambda: 1 / 0, True),
        (lambda: os.kill(os.getpid(), 11), False),
        (os.abort, False),
    ],
)
def test_what_ends_a_process_ends_a_copy(function: object, survived: bool) -> None:
    assert callable(function)
    assert solids.survives(function) is survived
