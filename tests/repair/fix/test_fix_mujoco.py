"""Public MJCF models after `fix`: MuJoCo compiles the same model but for what was changed."""

import re
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import regularize as rg

pytestmark = pytest.mark.slow
ASSETS = Path(__file__).resolve().parents[3] / "assets"
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "mjcf"
#: Arrays of numbers of joints and coordinates, which move up where joints are added.
NUMBERED = (
    *("B_", "D_", "M_", "mapD2M", "mapM2D", "mapM2M", "name_", "names_map", "tree_dof"),
    *("body_dof", "body_jnt", "dof_Madr", "dof_jntid", "dof_parentid", "jnt_dofadr"),
    *("jnt_qposadr", "ten_J_colind", "wrap_objid", "eq_obj", "actuator_trnid", "sensor_objid"),
)
#: What MuJoCo derives from the freedoms of the whole model.
DERIVED = ("body_invweight0", "dof_invweight0", "dof_M0", "tendon_invweight0", "actuator_acc0")
#: Meshes weigh nothing here, bodies have masses of their own.
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.02
FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))


def stand_in(path: Path, scale: float) -> None:
    """A small tetrahedron, or a white pixel, in the place of a file that the corpus leaves out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    points = TETRAHEDRON / scale
    if path.suffix == ".png":
        chunks = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))]
        chunks += [(b"IDAT", zlib.compress(b"\0\xff\xff\xff")), (b"IEND", b"")]
        packed = [
            struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
            for tag, data in chunks
        ]
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(packed))
    elif path.suffix == ".obj":
        lines = ["v {} {} {}".format(*point) for point in points]
        lines += ["f {} {} {}".format(*(i + 1 for i in face)) for face in FACES]
        path.write_text("\n".join(lines))
    else:
        body = b"".join(
            struct.pack("<12fH", 0, 0, 0, *points[list(face)].ravel(), 0) for face in FACES
        )
        path.write_bytes(b"\0" * 80 + struct.pack("<I", len(FACES)) + body)


def copied(folder: str, file: str, tmp_path: Path) -> Path:
    """A model of the corpus with stand-ins for its meshes."""
    if not (CORPUS / folder).is_dir():
        pytest.skip("needs the corpus")
    shutil.copytree(CORPUS / folder, tmp_path / folder, copy_function=shutil.copyfile)
    path = tmp_path / folder / file
    spec = mujoco.MjSpec.from_file(str(path))
    for mesh in spec.meshes:
        stand_in(path.parent / spec.meshdir / mesh.file, float(mesh.scale[0]))
    for texture in spec.textures:
        if texture.file:
            stand_in(path.parent / spec.texturedir / texture.file, 1.0)
    return path


def concerned(old: Any, new: Any) -> list[str]:
    """Arrays of the compiled model that differ beyond the rows of added joints."""
    names = {old.joint(j).name for j in range(old.njnt)}
    joints = [j for j in range(new.njnt) if new.joint(j).name not in names]
    rows = {
        "jnt": joints,
        "dof": [int(new.jnt_dofadr[j]) for j in joints],
        "qpos": [int(new.jnt_qposadr[j]) for j in joints],
    }
    found = []
    for name in (each for each in dir(old) if not each.startswith("_")):
        one = getattr(old, name, None)
        if not isinstance(one, np.ndarray) or name.startswith(NUMBERED) or name in DERIVED:
            continue
        two = np.array(getattr(new, name))
        prefix = {"key_qpos": "qpos", "key_qvel": "dof"}.get(name, name.split("_")[0])
        key = "qpos" if prefix.startswith("qpos") else prefix
        if two.shape != one.shape and key in rows:
            two = np.delete(two, rows[key], 1 if name.startswith("key") else 0)
        if two.shape != one.shape or not np.array_equal(one, two):
            found.append(name)
    return found


def motion(model: Any, names: list[str], seconds: float) -> tuple[Any, float]:
    """Coordinates of some joints under fixed controls, and the largest gap of any equality."""
    data, path, gap = mujoco.MjData(model), [], 0.0
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    low, high = model.actuator_ctrlrange.T
    while data.time < seconds:
        data.ctrl[:] = low + (high - low) * 0.5 * (1 + 0.2 * np.sin(2 * np.pi * data.time))
        mujoco.mj_step(model, data)
        path.append([float(data.joint(name).qpos[0]) for name in names])
        equality = data.efc_type[: data.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        gap = max([gap, *np.abs(data.efc_pos[: data.nefc][equality])])
    return np.array(path), gap


@pytest.mark.parametrize(
    ("folder", "file", "arm"),
    [("robotiq_2f85", "2f85.xml", 0.03), ("agility_cassie", "cassie.xml", 0.05)],
)
def test_nothing_else_of_a_public_model_changes(
    folder: str, file: str, arm: float, tmp_path: Path
) -> None:
    path = copied(f"menagerie_{folder}", file, tmp_path)
    fix = rg.fix(path, as_is=True)
    changed = [line for line in fix.diff.splitlines()[2:] if line[0] in "+-"]
    assert 0 < len(changed) <= 12
    assert fix.reduction.redundant == 0
    written = fix.write(tmp_path / "elsewhere" / file)
    old, new = (mujoco.MjModel.from_xml_path(str(each)) for each in (path, written))
    assert old.nu and old.nu == new.nu and old.nsensor == new.nsensor
    assert concerned(old, new) == []
    names = [old.joint(j).name for j in range(old.njnt) if old.jnt_type[j] >= 2]
    (one, gap), (two, other) = (motion(each, names, 2.0) for each in (old, new))
    # What the soft closures give way, seen from their distance to the joints.
    assert np.max(np.abs(one - two)) < max(gap, other) / arm
    assert np.max(np.abs(one)) > 0.2


def test_included_files_are_changed_where_the_joint_stands(tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip("needs the corpus")
    folder = tmp_path / "gripper"
    shutil.copytree(CORPUS / "menagerie_robotiq_2f85", folder, copy_function=shutil.copyfile)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    fix = rg.fix(folder / "scene.xml")
    assert f"+++ {folder / '2f85.xml'}" in fix.diff
    assert "scene.xml" not in fix.diff
    fix.write(tmp_path / "out" / "scene.xml")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["2f85.xml", "scene.xml"]
    assert rg.fix(tmp_path / "out" / "scene.xml").diff == ""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    fix.write(folder / "scene.xml")
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert [name for name in before if before[name] != after[name]] == ["2f85.xml"]


def test_a_weld_between_bodies_that_are_welded_is_taken_out(tmp_path: Path) -> None:
    source = tmp_path / "welds.xml"
    source.write_text(
        '<mujoco><worldbody><body name="c"><geom size="1"/></body><body name="d"><geom size="1"/>'
        '</body></worldbody><equality><weld body1="c" body2="d"/></equality></mujoco>'
    )
    fix = rg.fix(source, remove=True)
    assert len(fix.slack.removed) == 1 and fix.reduction.redundant == 0
    assert mujoco.MjModel.from_xml_path(str(fix.write(tmp_path / "out.xml"))).neq == 0


SLIDE = """<mujoco><worldbody><body name="a"><geom size=".05"/></body>
<body name="b" pos="0 0 -0.1"><joint type="slide" axis="0 0 1"/><geom size=".05"/>{body}</body>
</worldbody><equality><connect body1="a" body2="{end}" anchor="0 0 0"/></equality></mujoco>"""


def test_what_a_slack_body_would_be_is_said_and_does_it(tmp_path: Path) -> None:
    path = tmp_path / "slide.xml"
    path.write_text(SLIDE.format(body="", end="b"))
    with pytest.raises(rg.UnsupportedExport, match="put a body with some mass into `b`") as caught:
        rg.fix(path, slack=True)
    joints = "".join(re.findall("<joint[^>]*/>", str(caught.value)))
    assert joints.count("slide") == 2
    body = f'<body name="s">{joints}<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>'
    path.write_text(SLIDE.format(body=body, end="s"))
    assert rg.reduce(rg.load(path)).redundant == 0


def opened(path: Path) -> tuple[int, float]:
    """Rows of the loops, and how far they open at worst in 2 s from the pose of the file."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data, worst = mujoco.MjData(model), 0.0
    for _ in range(round(2.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
        worst = max(worst, float(np.abs(data.efc_pos[: data.ne]).max()))
    return data.ne, worst


def test_a_joint_that_gives_way_leaves_its_loop_as_stiff(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body pos="0 0 1"><joint name="A" axis="1 0 0"/>
    <geom size=".05" fromto="0 0 0 0 0 1" type="capsule" contype="0"/>
    <body name="m" pos="0 0 1"><joint name="B" axis="1 0 0"/>
    <geom size=".05" fromto="0 0 0 0 2 .5" type="capsule" contype="0"/>
    <body name="n" pos="0 2 .5"><joint name="C" axis="1 0 0"/>
    <geom size=".05" fromto="0 0 0 0 0 -1.5" type="capsule" contype="0"/>
    </body></body></body></worldbody>
    <equality><connect body1="n" anchor="0 0 -1.5"/></equality></mujoco>"""
    path, fixed = tmp_path / "m.xml", tmp_path / "fixed.xml"
    path.write_text(text)
    found = rg.fix(path)
    assert not any(change.joint.closure for change in found.changes)
    assert {f.code for f in found.findings} >= {"REG341"}
    found.write(fixed)
    assert opened(fixed)[1] <= opened(path)[1]


@pytest.mark.parametrize("name", ["knee_leg", "slider_crank"])
def test_fewer_rows_hold_loops_as_closely(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.xml"
    rg.save(rg.load(ASSETS / f"{name}.urdf"), path)
    found = rg.fix(path)
    fixed, plain = tmp_path / "fixed.xml", tmp_path / "as_is.xml"
    found.write(fixed)
    rg.fix(path, as_is=True).write(plain)
    (rows, before), (less, after), (_, soft) = map(opened, (path, fixed, plain))
    assert less <= rows
    wide = 1.02 * before  # other joints move the bodies a little otherwise
    assert after <= wide
    said = [finding for finding in found.findings if finding.code == "REG341"]
    assert bool(said) == (soft > wide)
    if said:
        assert less < rows
        assert "with the rows alone" in said[0].message
        assert "solref" in fixed.read_text()
        assert "solref" not in plain.read_text()


def test_loops_are_as_soft_in_another_file(tmp_path: Path) -> None:
    text = """<mujoco><default><equality solref="0.005 1"/></default><worldbody>
    <body pos="0 0 1"><joint name="A" axis="1 0 0"/>
    <geom size=".05" fromto="0 0 0 0 0 1" type="capsule" contype="0"/>
    <body name="m" pos="0 0 1"><joint name="B" axis="1 0 0"/>
    <geom size=".05" fromto="0 0 0 0 1 0" type="capsule" contype="0"/></body></body>
    <body name="n" pos="0 1 1"><joint name="C" axis="1 0 0"/>
    <geom size=".05" fromto="0 0 0 0 0 1" type="capsule" contype="0"/></body></worldbody>
    <equality><connect body1="m" body2="n" anchor="0 1 0" solimp=".95 .99 .002"/>
    <connect body1="m" body2="n" anchor=".1 1 0" solimp=".95 .99 .002"/></equality></mujoco>"""
    path, again = tmp_path / "m.xml", tmp_path / "again.xml"
    path.write_text(text)
    rg.save(rg.load(path), again)
    before, after = (mujoco.MjModel.from_xml_path(str(each)) for each in (path, again))
    assert after.neq == before.neq == 2
    assert after.eq_solref == pytest.approx(before.eq_solref)
    assert after.eq_solimp == pytest.approx(before.eq_solimp)
