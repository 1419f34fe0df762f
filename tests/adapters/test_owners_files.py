"""MJCF written as MJCF is its owner's file; other formats name what they cannot hold of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drive_linkages import DRIVES

import regularize as rg
from regularize.cli import main

mujoco = pytest.importorskip("mujoco")


def ankle(side: str, y: float, servo: str) -> tuple[str, str, str]:
    """A leg whose ankle two cranks move by rods, its closures and its motors."""
    rods = "".join(
        f"""<body name="{side}crank{k}" pos="-.05 {dy} {z}"><geom name="{side}c{k}" size=".01"
        mass=".08" condim="4"/><joint name="{side}m{k}" axis="0 1 0" range="-57 57"/>
        <body name="{side}rod{k}" pos="-.05 0 0"><geom size=".006" mass=".05" contype="0"
        conaffinity="0"/><joint type="ball"/><site name="{side}end{k}" pos="0 0 {-0.4 - z}"/>
        </body></body>"""
        for k, dy, z in ((1, 0.04, -0.1), (2, -0.04, -0.16))
    )
    leg = f"""<body name="{side}shank" pos="0 {y} -.1"><geom size=".04" mass="3"/>
    <!-- the knee is held --> <joint name="{side}hip" axis="0 1 0" range="-60 60"/>{rods}
    <body name="{side}cross" pos="0 0 -.4"><joint name="{side}pitch" axis="0 1 0"/>
    <inertial pos="0 0 0" mass=".05" diaginertia="1e-4 1e-4 1e-4"/>
    <body name="{side}foot"><joint name="{side}roll" axis="1 0 0"/><geom name="{side}sole"
    type="box" size=".12 .05 .015" pos="0 0 -.05" mass=".8" friction="1 .01 .001" solref=".01 1"/>
    <site name="{side}lug1" pos="-.1 .04 0"/><site name="{side}lug2" pos="-.1 -.04 0"/>
    </body></body></body>"""
    closures = "".join(
        f'<connect site1="{side}end{k}" site2="{side}lug{k}" solref=".004 1"/>' for k in (1, 2)
    )
    motors = "".join(servo.format(f"{side}{joint}") for joint in ("hip", "m1", "m2"))
    return leg, closures, motors


SERVO = '<position name="{0}" joint="{0}" kp="400" kv="20" forcerange="-60 60" group="2"/>'
TORQUE = '<motor name="{0}" joint="{0}" ctrlrange="-2 2" gear="30"/>'


def humanoid(path: Path, servo: str = SERVO) -> Path:
    both = [ankle(side, y, servo) for side, y in (("L", 0.1), ("R", -0.1))]
    legs, closures, motors = ("".join(parts) for parts in zip(*both, strict=True))
    world = '<geom name="floor" type="plane" size="5 5 .1" condim="6"/><light pos="0 0 3"/>'
    path.write_text(
        f"""<mujoco><option timestep="0.001" integrator="implicitfast"/><asset>
        <hfield name="hills" nrow="2" ncol="2" size="1 1 .1 .1" elevation="0 0 0 0"/></asset>
        <worldbody>{world}<geom name="hill" type="hfield" hfield="hills" pos="9 0 0"/>
        <body name="pelvis" pos="0 0 .565"><freejoint name="root"/><geom type="box"
        size=".1 .12 .08" mass="8"/>{legs}</body></worldbody>
        <contact><exclude body1="Lcrank1" body2="Lfoot"/></contact>
        <equality>{closures}</equality><actuator>{motors}</actuator>
        <sensor><jointpos joint="Lhip" name="kept"/><jointpos joint="Lm1" name="gone"/></sensor>
        <keyframe><key name="later" ctrl=".1 0 0 0 0 0"/></keyframe></mujoco>"""
    )
    return path


def loaded(path: Path) -> Any:
    return mujoco.MjModel.from_xml_path(str(path))


def test_a_copy_is_the_file_and_includes_come_inside(tmp_path: Path) -> None:
    source = humanoid(tmp_path / "robot.xml")
    assert rg.save(rg.load(source), tmp_path / "copy.xml") == ()
    assert (tmp_path / "copy.xml").read_text() == source.read_text()
    scene = '<mujoco model="scene"><include file="robot.xml"/><option wind="1 0 0"/></mujoco>'
    (tmp_path / "scene.xml").write_text(scene)
    (tmp_path / "far").mkdir()
    rg.save(rg.load(tmp_path / "scene.xml"), tmp_path / "far" / "scene.xml")
    model = loaded(tmp_path / "far" / "scene.xml")
    assert model.opt.wind[0] == 1.0 and model.nhfield == 1 and "floor" in model.names.decode()


@pytest.mark.slow
def test_a_twin_stands_on_the_floor_where_its_original_stands(tmp_path: Path) -> None:
    source, out = humanoid(tmp_path / "robot.xml"), tmp_path / "twin.xml"
    twin = rg.serial_twin(source)
    said = " ".join(d.message for d in rg.save(twin.mechanism, out))
    assert "<position> `Lm1`" in said and "`gone`" in said and "`kept`" not in said
    one, two = loaded(source), loaded(out)
    assert two.neq == 0 and two.opt.timestep == 0.001 and two.nkey == 1 and two.nsensor == 1
    for name in ("floor", "hill", "Lsole", "Lc1"):
        for what in ("type", "condim", "contype", "solref", "friction"):
            a, b = (getattr(m, f"geom_{what}")[m.geom(name).id] for m in (one, two))
            assert np.array_equal(a, b)
    assert "<!-- the knee is held -->" in out.read_text()
    ends, target = [], twin.map.joints(np.full(4, 0.05))
    for model in (one, two):
        data = mujoco.MjData(model)
        for name in twin.map.motor_names if model is one else ():
            data.actuator(name).ctrl = 0.05
        for name, value in zip(twin.map.joint_names, target if model is two else (), strict=False):
            data.actuator(name).ctrl = value
        mujoco.mj_step(model, data, 1000)
        ends.append(data.body("pelvis").xpos.copy())
    assert np.linalg.norm(ends[0] - ends[1]) < 5e-3 and ends[0][2] > 0.5


@pytest.mark.slow
def test_limits_that_stand_at_motors_reach_twins_and_other_formats(tmp_path: Path) -> None:
    source = humanoid(tmp_path / "robot.xml", TORQUE)
    twin = rg.serial_twin(source)
    m, theta = twin.map, twin.map.samples(50)
    assert np.all(m.effort == 60.0)
    corners = m.torque_polygon(theta)
    assert corners.shape == (50, 16, 4)
    assert np.allclose(np.abs(corners @ m.jacobian(theta)), 60.0)
    rg.save(twin.mechanism, tmp_path / "twin.xml")
    model = loaded(tmp_path / "twin.xml")
    efforts = [model.jnt_actfrcrange[model.joint(name).id, 1] for name in m.joint_names]
    highest = np.abs(m.torque_polygon(m.samples(500))).max(axis=1).min(axis=0)
    assert np.allclose(efforts, highest)
    assert [model.actuator(name).ctrlrange[1] for name in m.joint_names] == efforts
    box = m.torque_box()
    assert np.all(box > 0.0) and np.all(np.abs(m.motor_torque(theta, box)) < 60.0)
    main(["export", str(source), "--to", "urdf", "-o", str(tmp_path / "r.urdf")])
    assert rg.load(tmp_path / "r.urdf").joint("Lm1").limits.effort == [60.0]


def schema(tag: str) -> set[str]:
    """Attributes of an element in MuJoCo's own schema, at its first place there."""
    text = mujoco.mj_printSchema(False, False)
    lines = text[text.index(f"\n      {tag} ") :].splitlines()[1:]
    end = next(i for i, line in enumerate(lines) if i and not line.startswith(" " * 30))
    return {word for line in lines[:end] for word in line[30:].split()}


#: A value of each attribute of geoms that no mechanism holds.
OTHERS = {
    **{"name": "n", "condim": "4", "group": "3", "priority": "1", "margin": ".1", "gap": ".01"},
    **{"solmix": "2", "solref": ".01 1", "solimp": ".8 .9 .01", "user": "1", "adhesion": "1"},
    **{"fluidshape": "ellipsoid", "fluidcoef": "1 1 1 1 1", "castshadow": "false"},
    **{"surfacevel": "1 0 0", "fitscale": "2", "contype": "2", "friction": "1 .1 .1"},
}
HELD = "type class size mass density fromto rgba pos quat euler axisangle xyaxes zaxis mesh"
HELD += " hfield material shellinertia conaffinity"


def test_every_attribute_of_a_geom_is_kept_or_named(tmp_path: Path) -> None:
    assert schema("geom") <= {*OTHERS, *HELD.split()}
    text = """<mujoco><size nuser_geom="1"/><worldbody><body name="b"><joint name="j"/>
    <geom size=".1" {}/></body></worldbody></mujoco>"""
    known = {"name", *schema("geom")}
    for name, value in ((n, v) for n, v in OTHERS.items() if n in known):
        source = tmp_path / "one.xml"
        source.write_text(text.format(f'{name}="{value}"'))
        rg.save(rg.load(source), tmp_path / "two.xml")
        assert (tmp_path / "two.xml").read_text() == source.read_text()
        for other in ("urdf", "usda", "sdf"):
            said = rg.save(rg.load(source), tmp_path / f"two.{other}")
            named = [d for d in said if re.search(rf"`{name}`.* of <geom>", d.message)]
            assert len(named) == 1 and named[0].code == "REG329", (name, other)


def test_every_type_of_geom_is_kept_or_named(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="b"><joint name="j"/>
        <geom type="{}" size=".1 .2 .3"/></body></worldbody></mujoco>"""
    for kind in ("sphere", "capsule", "ellipsoid", "cylinder", "box"):
        (tmp_path / "one.xml").write_text(text.format(kind))
        before = rg.load(tmp_path / "one.xml")
        for other in ("urdf", "usda", "sdf"):
            said = " ".join(d.message for d in rg.save(before, tmp_path / f"two.{other}"))
            shapes = rg.load(tmp_path / f"two.{other}").body("b").geometry
            assert "of type plane" in said and (kind in {g.kind for g in shapes} or kind in said)


@pytest.mark.slow
def test_sdf_stays_its_owners_file(tmp_path: Path) -> None:
    drive = DRIVES["rsu_ankle"]()
    source, out = tmp_path / "ankle.sdf", tmp_path / "out.sdf"
    rg.save(drive.mechanism, source)
    plane = "<geometry><plane><normal>0 0 1</normal></plane></geometry>"
    floor = f"""<link name="floor"><!-- here --><collision name="c">{plane}</collision></link>
    <joint name="w" type="fixed"><parent>world</parent><child>floor</child></joint>"""
    seen = """<visual name="v"><pose>.1 0 0 0 0 0</pose><geometry><sphere>
    <radius>.1</radius></sphere></geometry></visual>"""
    plugin = "<plugin name='p' filename='p.so'><joint_name>m1</joint_name></plugin></model>"
    text = source.read_text().replace("</model>", floor + plugin)
    source.write_text(text.replace('<link name="crank1">', f'<link name="crank1">{seen}'))
    assert rg.save(rg.load(source), out) == () and out.read_text() == source.read_text()
    twin = rg.serial_twin(str(source), drive.motors, drive.joints)
    said = [d.message for d in rg.save(twin.mechanism, out) if d.code == "REG329"]
    assert len(said) == 1 and "<plugin> `p`" in said[0] and floor in out.read_text()
    after = rg.load(out)
    assert [b.name for b in after.bodies] == ["world", "ground", "cross", "foot", "floor"]
    assert len(after.body("ground").geometry) == 1 and rg.reduce(after).mobility == 2
    said = " ".join(d.message for d in rg.save(rg.load(source), tmp_path / "out.urdf"))
    assert "`normal` of <geometry>" in said
