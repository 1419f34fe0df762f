"""Five repositories by their likeness, laid out as found, against engines that read their files.

Models are generated: nothing of theirs is copied but the forms of names, folders and joints. Counts
are those of MuJoCo's and Pinocchio's own Jacobians.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mujoco_rows import equalities

import regularize as rg
from regularize.cli import main

mujoco = pytest.importorskip("mujoco")
pin = pytest.importorskip("pinocchio")
pytest.importorskip("xacrodoc")
XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
GEOM = '<geom type="capsule" size=".02 .05" mass="{}" contype="0" conaffinity="0"/>'
INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)


def laid_out(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def checked(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """The one report on a clone without a flag, and which file it is about."""
    main(["check", str(folder), "--output", "json", *options])
    data = json.loads(capsys.readouterr().out)
    if "reports" in data:
        assert data.get("unreadable", []) == []
        (data,) = data["reports"]
    return data


def rank_of(path: Path) -> tuple[Any, int]:
    """MuJoCo's model and the rank of its equalities where they hold."""
    m = mujoco.MjModel.from_xml_path(str(path))
    data, rng = mujoco.MjData(m), np.random.default_rng(0)
    mujoco.mj_integratePos(m, data.qpos, 0.05 * rng.normal(size=m.nv), 1.0)
    for _ in range(50):
        mujoco.mj_fwdPosition(m, data)
        J, error = equalities(m, data)
        step = np.ascontiguousarray(-np.linalg.pinv(J, rcond=1e-9) @ error)
        mujoco.mj_integratePos(m, data.qpos, step, 1.0)
    assert np.abs(error).max() < 1e-10
    return m, int(np.linalg.matrix_rank(J, tol=1e-7))


def musculoskeletal_legs(rng: np.random.Generator) -> str:
    """A free pelvis and two legs, whose knees glide by seven polynomials each, and muscles."""
    bodies = equalities = muscles = ropes = ""
    for side in "rl":
        knee = "".join(
            f'<joint name="knee_{side}_{name}" type="{kind}" axis="{axis}" ref="0"/>'
            for name, kind, axis in (
                *(
                    (f"t{k}", "slide", " ".join(np.eye(3, dtype=int)[k].astype(str)))
                    for k in range(3)
                ),
                *(
                    ("beta", "hinge", "1 0 0"),
                    ("rot", "hinge", "0 1 0"),
                    ("angle", "hinge", "0 0 1"),
                ),
            )
        )
        patella = "".join(
            f'<joint name="patella_{side}_{k}" type="{kind}" axis="{axis}"/>'
            for k, (kind, axis) in enumerate((("slide", "1 0 0"), ("hinge", "0 0 1")))
        )
        foot = f'<joint name="ankle_{side}" axis="0 0 1"/><joint name="toes_{side}" axis="1 0 1"/>'
        hip = "".join(
            f'<joint name="hip_{side}_{k}" axis="{a}"/>'
            for k, a in enumerate(("0 0 1", "1 0 0", "0 1 0"))
        )
        bodies += (
            f'<body name="femur_{side}" pos="0 0 .1">{hip}{GEOM.format(2)}<site name="a_{side}"/>'
            f'<body name="tibia_{side}" pos="0 -.4 0">{knee}{GEOM.format(1)}<site name="b_{side}"/>'
            f'<body name="foot_{side}" pos="0 -.4 0">{foot}{GEOM.format(0.5)}</body></body>'
            f'<body name="patella_{side}" pos="0 -.35 0">{patella}{GEOM.format(0.1)}</body></body>'
        )
        followers = [f"knee_{side}_{name}" for name in ("t0", "t1", "t2", "beta", "rot")]
        for name in (*followers, f"patella_{side}_0", f"patella_{side}_1"):
            row = " ".join(map(str, [0.0, *rng.uniform(-0.1, 0.1, 4).round(5)]))
            equalities += f'<joint joint1="{name}" joint2="knee_{side}_angle" polycoef="{row}"/>'
        ropes += (
            f'<spatial name="rope_{side}"><site site="a_{side}"/><site site="b_{side}"/></spatial>'
        )
        muscles += f'<muscle name="vasti_{side}" tendon="rope_{side}" lengthrange=".1 1"/>'
    return (
        '<mujoco><worldbody><body name="pelvis" pos="0 0 1"><freejoint name="root"/>'
        f"{GEOM.format(9)}{bodies}</body></worldbody><equality>{equalities}</equality><tendon>{ropes}</tendon>"
        f"<actuator>{muscles}</actuator></mujoco>"
    )


def test_legs_with_muscles_and_gliding_knees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = musculoskeletal_legs(np.random.default_rng(0))
    scene = '<mujoco><include file="legs.xml"/><worldbody><light pos="0 0 3"/></worldbody></mujoco>'
    laid_out(tmp_path, {"leg/scene.xml": scene, "leg/legs.xml": text, "README.md": ""})
    m, rank = rank_of(tmp_path / "leg/scene.xml")
    assert (m.nv, m.neq, rank) == (32, 14, 14)
    report = checked(tmp_path, capsys)
    assert report["model"]["path"].endswith("scene.xml")
    assert (report["mobility"]["actual"], report["mobility"]["redundant"]) == (m.nv - rank, 0)
    rg.save(rg.load(tmp_path / "leg/scene.xml"), tmp_path / "again.xml")
    again, same = rank_of(tmp_path / "again.xml")
    assert (again.neq, same) == (14, 14)
    rows = [sorted(each.eq_data[:, :5].tolist()) for each in (m, again)]
    np.testing.assert_allclose(rows[1], rows[0], atol=1e-12)


def test_a_head_on_six_rods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rods = ""
    for k in range(6):
        a = np.pi / 3 * k
        x, y = 0.1 * np.cos(a), 0.1 * np.sin(a)
        rods += (
            f'<body name="horn_{k}" pos="{x:.6f} {y:.6f} 0"><joint name="motor_{k}" '
            f'axis="{-np.sin(a):.6f} {np.cos(a):.6f} 0"/>{GEOM.format(0.1)}<body name="rod_{k}" '
            f'pos="{0.03 * np.cos(a):.6f} {0.03 * np.sin(a):.6f} 0"><joint name="ball_{k}" '
            f'type="ball"/>{GEOM.format(0.1)}</body></body>'
        )
    sites = "".join(
        f'<connect name="closing_{k}" body1="rod_{k}" body2="head" '
        f'anchor="{0.04 * np.cos(np.pi / 3 * k + 0.4) - 0.13 * np.cos(np.pi / 3 * k):.6f} '
        f'{0.04 * np.sin(np.pi / 3 * k + 0.4) - 0.13 * np.sin(np.pi / 3 * k):.6f} .2"/>'
        for k in range(6)
    )
    robot = (
        f'<mujoco><worldbody>{rods}<body name="head" pos="0 0 .2"><freejoint name="head"/>'
        f"{GEOM.format(0.5)}</body></worldbody><equality>{sites}</equality></mujoco>"
    )
    laid_out(
        tmp_path,
        {
            "mini/mjcf/robot.xml": robot,
            "mini/mjcf/scenes/empty.xml": '<mujoco><include file="../robot.xml"/></mujoco>',
        },
    )
    m, rank = rank_of(tmp_path / "mini/mjcf/robot.xml")
    report = checked(tmp_path, capsys)["mobility"]
    assert (report["actual"], report["redundant"], report["passive"]) == (m.nv - rank, 0, 6)
    assert m.nv - rank == 12


def link(name: str, parent: str | None = None, xyz: str = "0 0 0", more: str = "") -> str:
    """A link, and the hinge about z that it hangs on."""
    text = f'<link name="{name}">{INERTIA}</link>'
    if parent is not None:
        text += (
            f'<joint name="j_{name}" type="continuous"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{xyz}"/><axis xyz="0 0 1"/>{more}</joint>'
        )
    return text


def rank_of_pairs(urdf: str, pairs: list[tuple[str, str]], held: int = 6) -> tuple[int, int]:
    """Freedoms of Pinocchio's tree, and the rank of the relative twists of links that are one.

    Of each pair as many of vx, vy, vz, wx, wy, wz as are held.
    """
    model = pin.buildModelFromXML(urdf)
    data, q = model.createData(), pin.neutral(model)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    rows = []
    for one, other in pairs:
        J = [
            pin.getFrameJacobian(model, data, model.getFrameId(name), pin.LOCAL_WORLD_ALIGNED)
            for name in (one, other)
        ]
        rows.append((J[0] - J[1])[:held])
    return model.nv, int(np.linalg.matrix_rank(np.vstack(rows), tol=1e-7))


def test_an_arm_whose_loop_a_plugin_closes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = link("base") + link("left", "base") + link("elbow", "left", "0 .3 0")
    arms += link("pin", "elbow", ".25 .1 0") + link("right", "base", ".4 0 0")
    arms += link("forearm", "right", "0 .3 0")
    hand = '<link name="tool"/><joint name="at_tool" type="fixed"><parent link="forearm"/>'
    hand += '<child link="tool"/><origin xyz="-.15 .1 0"/></joint>'
    plugin = (
        '<gazebo><plugin filename="libgz-sim-detachable-joint-system.so" '
        'name="gz::sim::systems::DetachableJoint"><parent_link>tool</parent_link>'
        "<child_model>arm</child_model><child_link>pin</child_link></plugin></gazebo>"
    )
    macro = f'<xacro:macro name="arm">{arms}{hand}</xacro:macro>'
    found = "".join(
        f'<xacro:include filename="$(find arm_{name})/urdf/{file}.xacro"/>'
        for name, file in (("description", "arm"), ("controllers", "loop"))
    )
    package = "<package><name>{}</name></package>"
    laid_out(
        tmp_path,
        {
            "ws/src/arm/package.xml": package.format("arm_description"),
            "ws/src/arm/urdf/arm.xacro": f"<robot {XACRO}>{macro}</robot>",
            "ws/src/arm/robots/arm.urdf.xacro": (
                f'<robot name="arm" {XACRO}>{found}<xacro:arm/></robot>'
            ),
            "ws/src/control/package.xml": package.format("arm_controllers"),
            "ws/src/control/urdf/loop.xacro": f"<robot {XACRO}>{plugin}</robot>",
        },
    )
    nv, rank = rank_of_pairs(f'<robot name="arm">{arms}{hand}</robot>', [("tool", "pin")])
    report = checked(tmp_path, capsys)["mobility"]
    assert (nv, rank) == (5, 3)
    assert (report["actual"], report["redundant"]) == (nv - rank, 6 - rank)


def test_legs_whose_pairs_of_frames_mark_their_loops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, pairs, apart = link("body"), [], 0
    for leg in range(4):
        for loop in range(4):
            tag, z = f"l{leg + 1}_cl{loop + 1}", 0.1 * (4 * leg + loop)
            off = 0.003 + 0.0005 * apart if (4 * leg + loop) % 3 == 2 else 0.0
            apart += off > 0.0
            text += link(f"{tag}_a", "body", f"0 0 {z}") + link(f"{tag}_b", f"{tag}_a", "0 .3 0")
            text += link(f"{tag}_c", "body", f".4 0 {z}")
            ends = (
                (f"{tag}_1", f"{tag}_b", ".4 0 0"),
                (f"{tag}_2", f"{tag}_c", f"0 {0.3 + off} 0"),
            )
            for name, on, xyz in ends:
                text += (
                    f'<link name="{name}"/><joint name="at_{name}" type="fixed">'
                    f'<parent link="{on}"/><child link="{name}"/><origin xyz="{xyz}"/></joint>'
                )
            pairs.append((f"{tag}_1", f"{tag}_2"))
    urdf = f'<robot name="mega">{text}</robot>'
    laid_out(tmp_path, {"mega/robot.urdf": urdf, "mega/config.json": "{}"})
    (found,) = (d for d in rg.load(tmp_path / "mega/robot.urdf").findings if d.code == "REG019")
    assert found.message.startswith("16 pairs") and found.message.count(" mm") == apart == 5
    assert "--close '*_1=*_2:hinge'" in found.help[0]
    closed = checked(tmp_path / "mega/robot.urdf", capsys, "--close", "*_1=*_2:hinge")["mobility"]
    nv, rank = rank_of_pairs(urdf, pairs, 5)
    assert (closed["actual"], closed["redundant"]) == (nv - rank, 5 * 16 - rank) == (16, 48)


def test_an_arm_of_mimic_joints_beside_an_old_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bars = link("base") + link("yaw", "base")
    signs = (("pitch_1", "yaw", None), ("pitch_2", "pitch_1", -1), ("pitch_3", "pitch_2", 1))
    for name, parent, sign in (*signs, ("pitch_4", "pitch_1", -1), ("tool", "pitch_3", None)):
        mimic = "" if sign is None else f'<mimic joint="j_pitch_1" multiplier="{sign}"/>'
        bars += link(name, parent, ".1 .2 0", mimic)
    macro = f'<robot {XACRO}><xacro:macro name="arm">{bars}</xacro:macro></robot>'
    called = '<xacro:include filename="$(find surgical_description)/arm/common.urdf.xacro"/>'
    laid_out(
        tmp_path,
        {
            "surgical/package.xml": "<package><name>surgical_description</name></package>",
            "surgical/arm/manifest.xml": "<package/>",
            "surgical/arm/common.urdf.xacro": macro,
            "surgical/arm/psm.urdf.xacro": f'<robot name="a" {XACRO}>{called}<xacro:arm/></robot>',
        },
    )
    model = pin.buildModelFromXML(f'<robot name="a">{bars}</robot>', mimic=True)
    report = checked(tmp_path, capsys)
    assert report["mobility"]["actual"] == model.nv == 3
    assert report["model"]["path"].endswith("psm.urdf.xacro")
