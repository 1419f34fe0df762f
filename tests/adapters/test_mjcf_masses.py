"""Masses of MJCF bodies, from meshes and primitive shapes, against MuJoCo's own compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import regularize as rg
from regularize.cli import main

mujoco = pytest.importorskip("mujoco")

MODEL = Path(__file__).with_name("masses.xml").read_text()


def write(folder: Path, compiler: str = "") -> Path:
    parts = folder / "parts"
    parts.mkdir()
    wedge = trimesh.Trimesh(
        [[0, 0, 0], [100, 0, 0], [0, 70, 0], [0, 0, 50], [100, 0, 50], [0, 70, 50]],
        [
            *([0, 2, 1], [3, 4, 5], [0, 1, 4], [0, 4, 3]),
            *([1, 2, 5], [1, 5, 4], [2, 0, 3], [2, 3, 5]),
        ],
    )
    wedge.export(parts / "wedge.stl")
    cup = trimesh.creation.box((0.1, 0.2, 0.3))
    cup.update_faces(np.arange(len(cup.faces)) > 1)
    cup.export(parts / "open.obj")
    path = folder / "model.xml"
    path.write_text(MODEL.format(compiler=compiler))
    return path


@pytest.mark.parametrize(
    "compiler",
    [
        "",
        'inertiafromgeom="true"',
        'inertiagrouprange="0 2"',
        'boundmass="0.5" boundinertia="0.01"',
        'balanceinertia="true"',
    ],
)
def test_masses_are_those_that_mujoco_compiles(compiler: str, tmp_path: Path) -> None:
    path = write(tmp_path, compiler)
    m = mujoco.MjModel.from_xml_path(str(path))
    mechanism = rg.load(path)
    for name in ("scaled", "mixed", "shell", "stated", "welded"):
        i, found = m.body(name).id, mechanism.body(name).inertia
        assert found is not None
        w, x, y, z = (float(value) for value in m.body_iquat[i])
        R = Rotation.from_quat([x, y, z, w]).as_matrix()
        assert found.mass == pytest.approx(m.body_mass[i], rel=1e-12)
        np.testing.assert_allclose(found.center, m.body_ipos[i], atol=1e-12)
        expected = R @ np.diag(m.body_inertia[i]) @ R.T
        np.testing.assert_allclose(found.matrix, expected, rtol=1e-9, atol=1e-12)


def test_shapes_stay_where_the_file_places_them(tmp_path: Path) -> None:
    """MuJoCo moves meshes to their centres of mass; the model names them where they are written."""
    mechanism = rg.load(write(tmp_path))
    shape = next(g for g in mechanism.body("scaled").geometry if g.kind == "mesh")
    np.testing.assert_allclose(shape.T_body_geometry[:3, 3], [0.1, 0.0, 0.0])
    np.testing.assert_allclose(shape.size, [0.001, 0.002, 0.001])


def test_a_mesh_that_is_not_there_leaves_its_body_without_mass(tmp_path: Path) -> None:
    path = write(tmp_path)
    whole = rg.load(path)
    (tmp_path / "parts" / "open.obj").unlink()
    mechanism = rg.load(path)
    assert mechanism.body("shell").inertia is None
    for name in ("scaled", "mixed", "stated"):
        one, other = mechanism.body(name).inertia, whole.body(name).inertia
        assert one is not None and other is not None
        np.testing.assert_allclose(one.matrix, other.matrix, rtol=1e-12)
    (finding,) = (f for f in mechanism.findings if f.code == "REG014")
    assert "not found or have no volume: `shell`" in finding.message


@pytest.mark.slow
def test_plugins_that_are_not_installed_leave_the_kinematics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plugin.xml"
    (tmp_path / "more.xml").write_text(
        '<mujoco><actuator><plugin plugin="lab.drive" joint="a"/></actuator></mujoco>'
    )
    path.write_text("""<mujoco><include file="more.xml"/>
  <extension><plugin plugin="lab.bolt"><instance name="m8"/></plugin></extension>
  <asset><mesh name="bolt"><plugin instance="m8"/></mesh></asset>
  <worldbody>
    <body name="one"><joint name="a" axis="0 0 1"/>
      <geom type="sdf" mesh="bolt"><plugin instance="m8"/></geom>
      <geom type="box" size=".1 .1 .1"/>
      <body name="two" pos="1 0 0"><joint name="b" axis="0 0 1"/><geom size=".1"/></body>
    </body>
  </worldbody>
  <equality><connect body1="two" body2="world" anchor="0 1 0"/></equality>
</mujoco>""")
    mechanism = rg.load(path)
    assert [j.name for j in mechanism.joints] == ["a", "b", "connect_two_world"]
    messages = [f.message for f in mechanism.findings]
    assert any("plugins that are not installed (`lab." in words for words in messages)
    # What the plugin's shape weighs is not known; the other body is a ball of water.
    assert mechanism.body("one").inertia is None
    two = mechanism.body("two").inertia
    assert two is not None
    assert two.mass == pytest.approx(1000 * 4 / 3 * np.pi * 0.1**3)
    assert main(["check", str(path), "--fail-on", "never"]) == 0
    assert main(["simulate", str(path), "--duration", "0.1"]) == 0
    assert "body `one` states no mass properties" in capsys.readouterr().out
