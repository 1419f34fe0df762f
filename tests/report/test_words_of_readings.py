"""Words about models as users bring them: held bases, gaps of points, links of two parents."""

from __future__ import annotations

from pathlib import Path

import pytest

import regularize as rg
from regularize.cli import main

BASE = """<mujoco><worldbody><body name="base"><freejoint name="free"/><geom size=".1"/>
<body name="arm" pos="0 0 .1"><joint name="shoulder" axis="0 1 0"/><geom size=".1"/></body></body>
</worldbody>{}</mujoco>"""


@pytest.mark.parametrize(
    ("closure", "words"),
    [
        ("", "floats freely"),
        ('<equality><weld body1="base"/></equality>', "stays at rest"),
        ('<equality><connect body1="base" anchor="0 0 0"/></equality>', "turns about the point"),
    ],
)
def test_a_base_that_closures_hold_does_not_float(closure: str, words: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "m.xml").write_text(BASE.format(closure))
    report = rg.check(tmp_path / "m.xml")
    (base,) = (entry for entry in report.moving if entry.body == "base")
    assert words in base.words
    assert {d.severity for d in report.diagnostics if d.code == "REG206"} <= {"note"}


def test_points_that_miss_each_other_have_no_angle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mujoco")
    bars = ((0.0, "0 0 0", ""), (0.4, "0.4 0 0", "far"))
    bodies = "".join(
        f'<body name="crank{n}" pos="{at}"><joint axis="0 1 0"/><geom size=".1"/>'
        f'<body name="bar{n}" pos="0 0 .3"><joint axis="0 1 0"/><geom size=".1"/>'
        f'<site name="s{n}" pos="{0.2 - x} {0.001 * bool(x)} 0"/></body></body>'
        for x, at, n in bars
    )
    closure = '<equality><connect name="C" site1="s" site2="sfar"/></equality>'
    (tmp_path / "m.xml").write_text(f"<mujoco><worldbody>{bodies}</worldbody>{closure}</mujoco>")
    (error,) = (d for d in rg.check(tmp_path / "m.xml").diagnostics if d.severity == "error")
    assert "1 mm stay open" in error.message and "°" not in error.message + error.help[0]
    for verb in ("simulate", "fix"):
        assert main([verb, str(tmp_path / "m.xml")]) == 2
        assert "--absorb-gaps" in capsys.readouterr().err


def test_a_link_of_two_parents_that_lie_apart(tmp_path: Path) -> None:
    links = "".join(f'<link name="{n}"/>' for n in ("axle", "left", "right", "bar"))
    joints = "".join(
        f'<joint name="{n}" type="continuous"><parent link="{a}"/><child link="{b}"/>'
        f'<origin xyz="{x} {y} 0"/><axis xyz="0 0 1"/></joint>'
        for n, a, b, x, y in (
            ("A", "axle", "left", 0, 0.4),
            ("B", "axle", "right", 0, -0.4),
            ("C", "left", "bar", -0.1, 0),
            ("D", "right", "bar", -0.1, 0),
        )
    )
    (tmp_path / "m.urdf").write_text(f'<robot name="m">{links}{joints}</robot>')
    (error,) = (d for d in rg.check(tmp_path / "m.urdf").diagnostics if d.severity == "error")
    assert "URDF puts both `C` and `D` into the origin of `bar`" in error.help[-1]


def test_loops_are_cut_at_joints_that_nothing_couples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A finger whose joints mimic its crank for one program and whose pins another one closes."""
    rows = (
        ("A", "frame", "crank", "0 0 0", ""),
        ("B", "crank", "coupler", "0 0 .1", '<mimic joint="A" multiplier="-1"/>'),
        ("C", "coupler", "rocker", ".05 0 0", '<mimic joint="A"/>'),
        ("D", "rocker", "foot", "0 0 -.1", '<mimic joint="A" multiplier="-1"/>'),
    )
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    text = "".join(
        f'<joint name="{n}" type="continuous"><parent link="{a}"/><child link="{b}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="0 1 0"/>{mimic}</joint><link name="{b}"><inertial>'
        f'<mass value="1"/>{inertia}</inertial></link>'
        for n, a, b, xyz, mimic in rows
    )
    for name, parent, child, x in (("E", "foot", "crank", -0.05), ("F", "frame", "foot", 0.05)):
        text += f'<loop name="{name}" type="revolute"><predecessor link="{parent}"><origin '
        text += (
            f'xyz="{x} 0 0"/></predecessor><successor link="{child}"/><axis xyz="0 1 0"/></loop>'
        )
    path = tmp_path / "m.urdf"
    path.write_text(f'<robot name="m"><link name="frame"/>{text}</robot>')
    assert {cut.edge.joint.name for cut in rg.reduce(path).cuts} == {"E", "F"}
    assert main(["simulate", str(path)]) == 0
    assert main(["reduce", str(path), "-o", str(tmp_path / "x"), "--fail-on", "error"]) == 0
    assert "10 before, 0 after" in capsys.readouterr().out
    assert rg.reduce(tmp_path / "x" / "m.urdf").mobility == 1


def test_loops_within_an_articulation_are_named(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    four_bar = rg.load(Path(__file__).parents[2] / "assets" / "planar_fourbar.urdf")
    rg.save(four_bar, tmp_path / "m.usda")
    assert not [d for d in rg.load(tmp_path / "m.usda").findings if d.code == "REG010"]
    text = (tmp_path / "m.usda").read_text()
    (tmp_path / "m.usda").write_text(text.replace("excludeFromArticulation = 1", "x = 0"))
    (finding,) = (d for d in rg.load(tmp_path / "m.usda").findings if d.code == "REG010")
    assert "closes a loop of the articulation" in finding.message and finding.help


@pytest.mark.parametrize(("anchor", "notes"), [("-0.01 0.755 -0.015", 1), ("-0.01 0 -0.015", 0)])
def test_anchors_that_were_meant_in_the_world(anchor: str, notes: int) -> None:
    pytest.importorskip("mujoco")
    rod = '<geom type="capsule" fromto="0 0 0 0 {} 0" size=".01"/>'
    model = rg.load(
        '<mujoco><worldbody><body name="wheel" pos="0 .7 0"><joint axis="1 0 0"/>'
        '<geom type="cylinder" size=".1 .01" euler="0 90 0"/><body name="pin" pos="0 .055 0">'
        '<joint axis="1 0 0"/><geom size=".005"/></body></body><body name="lever">'
        f'<joint axis="1 0 0"/>{rod.format(0.4)}<body name="rod" pos="0 .4 0">'
        f'<joint axis="1 0 0"/>{rod.format(0.355)}</body></body></worldbody><equality>'
        f'<connect body1="pin" body2="rod" anchor="{anchor}"/></equality></mujoco>'
    )
    said = [f for f in model.findings if f.code == "REG015"]
    assert len(said) == notes and all('anchor="-0.01 0 -0.015"' in f.help[0] for f in said)
