"""Loops as users close them: plugins of Gazebo, and frames that merely lie in one place."""

import json
import re
import shlex
from pathlib import Path

import pytest

import regularize as rg
from regularize.cli import main

#: An open four-bar in a plane: two cranks of 0.3 m, 0.4 m apart, the left one with a coupler.
LINKS = {"base": (), "left": ("base", 0.0, 0.0), "coupler": ("left", 0.0, 0.3)}
LINKS["right"] = ("base", 0.4, 0.0)
INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)


def urdf(*more: str, names: tuple[str, str] = ("coupler_cl1_1", "right_cl1_2")) -> str:
    """Frames at the free ends of the coupler and of the right crank, which coincide."""
    parts = []
    for name, placed in LINKS.items():
        parts.append(f'<link name="{name}">{INERTIA if placed else ""}</link>')
        if placed:
            parent, x, y = placed
            parts.append(
                f'<joint name="j_{name}" type="continuous"><parent link="{parent}"/>'
                f'<child link="{name}"/><origin xyz="{x} {y} 0"/><axis xyz="0 0 1"/></joint>'
            )
    for frame, parent, xyz in zip(names, ("coupler", "right"), ("0.4 0 0", "0 0.3 0"), strict=True):
        parts.append(
            f'<link name="{frame}"/><joint name="at_{frame}" type="fixed">'
            f'<parent link="{parent}"/><child link="{frame}"/><origin xyz="{xyz}"/></joint>'
        )
    return f'<robot name="bars">{"".join(parts)}{"".join(more)}</robot>'


MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
PLACES = {"left": "0 0", "coupler": "0 .3", "right": ".4 0", "pin": ".4 .3"}
PAIRS = (("base", "left"), ("left", "coupler"), ("base", "right"), ("coupler", "pin"))


def sdf(more: str = "", beside: str = "", *, pin: bool = True) -> str:
    """The same in a world, with a link at the free end of the coupler, or without."""
    links = "".join(
        f'<link name="{name}"><pose>{place} 0 0 0 0</pose>{MASS}</link>'
        for name, place in PLACES.items()
        if pin or name != "pin"
    )
    joints = "".join(
        f'<joint name="j_{child}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
        "<axis><xyz>0 0 1</xyz></axis></joint>"
        for parent, child in PAIRS
        if pin or child != "pin"
    )
    return (
        '<sdf version="1.9"><world name="w"><gravity>0 -9.81 0</gravity><model name="bars">'
        '<link name="base"/><joint name="g" type="fixed"><parent>world</parent><child>base</child>'
        f"</joint>{links}{joints}{more}</model>{beside}</world></sdf>"
    )


def read(folder: Path, text: str) -> rg.Mechanism:
    path = folder / ("model.sdf" if text.startswith("<sdf") else "model.urdf")
    path.write_text(text)
    return rg.load(path)


def offers(mechanism: rg.Mechanism) -> list[tuple[str, ...]]:
    return [finding.help for finding in mechanism.findings if finding.code == "REG019"]


def assert_four_bar(mechanism: rg.Mechanism, closing: str) -> None:
    report = rg.check(mechanism).as_dict()
    assert report["model"]["loops"] == 1
    assert report["mobility"]["actual"] == 1
    assert report["mobility"]["redundant"] == 3
    assert mechanism.joint(closing).closure


@pytest.mark.slow
@pytest.mark.parametrize("names", [("coupler_cl1_1", "right_cl1_2"), ("here", "there")])
def test_frames_that_coincide_are_offered_with_the_line_to_paste(
    names: tuple[str, str], tmp_path: Path
) -> None:
    mechanism = read(tmp_path, urdf(names=names))
    assert not any(joint.closure for joint in mechanism.joints)
    ((hinge, ball, command),) = offers(mechanism)
    closed = read(tmp_path, urdf(re.findall("<.*>", hinge)[0], names=names))
    assert_four_bar(closed, f"{names[0]}-{names[1]}")
    assert offers(closed) == []
    closed = read(tmp_path, urdf(re.findall("<.*>", ball)[0], names=names))
    assert closed.joint(f"{names[0]}-{names[1]}").kind == "spherical"
    close = shlex.split(command)[-1]
    read(tmp_path, urdf(names=names))
    assert_four_bar(rg.load(tmp_path / "model.urdf", close=close), f"{names[0]}-{names[1]}")


def test_frames_apart_or_on_one_body_or_with_mass_mark_nothing(tmp_path: Path) -> None:
    text = urdf()
    apart = text.replace('<origin xyz="0 0.3 0"/>', '<origin xyz="0 0.301 0"/>')
    assert offers(read(tmp_path, apart)) == []
    same = text.replace('<parent link="right"/>', '<parent link="coupler"/>').replace(
        '<origin xyz="0 0.3 0"/>', '<origin xyz="0.4 0 0"/>'
    )
    assert offers(read(tmp_path, same)) == []
    heavy = text.replace('<link name="right_cl1_2"/>', f'<link name="right_cl1_2">{INERTIA}</link>')
    assert offers(read(tmp_path, heavy)) == []


FRAMES = {
    "links": (
        '<link name="{0}"><pose>.4 .3 0 0 0 0</pose></link><joint name="at_{0}" type="fixed">'
        "<parent>{1}</parent><child>{0}</child></joint>"
    ),
    "frames": (
        '<frame name="{0}" attached_to="{1}"><pose relative_to="__model__">.4 .3 0 0 0 0</pose>'
        "</frame>"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_an_sdf_file_are_offered(kind: str, tmp_path: Path) -> None:
    pairs = (("one", "coupler"), ("two", "right"))
    frames = "".join(FRAMES[kind].format(*pair) for pair in pairs)
    ((hinge, _ball, try_it),) = offers(read(tmp_path, sdf(frames, pin=False)))
    asked = shlex.split(try_it)[-1]
    assert asked == "bars::one=bars::two:hinge"
    assert rg.reduce(rg.load(tmp_path / "model.sdf", close=asked)).mobility == 1
    plain = rg.load(tmp_path / "model.sdf", close=asked.removesuffix(":hinge"))
    assert plain.joint("bars::one-bars::two").kind == "spherical"
    text = sdf(frames + re.findall("<.*>", hinge)[0], pin=False)
    assert_four_bar(read(tmp_path, text), "bars::one-two")


def detachable(model: str) -> str:
    return (
        '<plugin filename="libgz-sim-detachable-joint-system.so" '
        'name="gz::sim::systems::DetachableJoint"><parent_link>right</parent_link>'
        f"<child_model>{model}</child_model><child_link>pin</child_link></plugin>"
    )


ATTACH = (
    '<plugin filename="libattach-links.so" name="gz::sim::systems::AttachLinks">'
    "<parent>right</parent><child>pin</child></plugin>"
)


@pytest.mark.slow
@pytest.mark.parametrize("plugin", [detachable("bars"), ATTACH])
def test_plugins_that_weld_two_links_close_the_loop(plugin: str, tmp_path: Path) -> None:
    mechanism = read(tmp_path, sdf(plugin))
    assert_four_bar(mechanism, "bars::right-bars::pin")
    (finding,) = (f for f in mechanism.findings if f.code == "REG015")
    assert "when a simulation starts" in finding.message


def test_a_plugin_in_a_urdf_file_closes_the_loop(tmp_path: Path) -> None:
    pin = (
        f'<link name="pin">{INERTIA}</link><joint name="j_pin" type="continuous"><parent '
        'link="coupler"/><child link="pin"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/></joint>'
    )
    mechanism = read(tmp_path, urdf(pin, f"<gazebo>{detachable('spawned')}</gazebo>"))
    assert_four_bar(mechanism, "right-pin")
    (finding,) = (f for f in mechanism.findings if f.code == "REG015")
    assert finding.help == ("start the model under the name `spawned`, which the plugin looks for",)


def test_a_load_of_another_model_is_no_loop(tmp_path: Path) -> None:
    box = '<model name="box"><pose>2 0 0 0 0 0</pose><link name="pin"/></model>'
    mechanism = read(tmp_path, sdf(detachable("box"), box))
    joint = mechanism.joint("bars::right-box::pin")
    assert (joint.kind, joint.closure) == ("fixed", False)
    assert joint.T_parent_joint[0, 3] == pytest.approx(1.6)
    absent = read(tmp_path, sdf(detachable("box").replace(">pin<", ">lid<")))
    (finding,) = (f for f in absent.findings if f.severity == "warning" and f.code == "REG013")
    assert "joins the link `lid` of the model `box`, which is not in the file" in finding.message


def bench(gap: float) -> str:
    """Three four-bars side by side, whose frames are named alike; those of the last lie apart."""
    one = urdf(names=("leg_cl_1", "leg_cl_2"))
    inside = one.partition('<robot name="bars">')[2].removesuffix("</robot>")
    base, _, rest = inside.partition("</link>")
    parts = [base + "</link>"]
    for k in range(3):
        names = ("left", "coupler", "right", "leg_cl_1", "leg_cl_2")
        own = re.sub(f'"((?:j_|at_)?)({"|".join(names)})"', rf'"\g<1>\g<2>@{k}"', rest)
        own = re.sub(r"leg_cl_([12])@(\d)", r"leg\2_cl_\1", own)
        own = re.sub(r'(link="base"/>.*?xyz="[\d.]+ [\d.]+) 0"', rf'\g<1> {k}"', own)
        parts.append(own.replace('xyz="0 0.3 0"', f'xyz="0 {0.3 + gap} 0"') if k == 2 else own)
    return f'<robot name="bench">{"".join(parts)}</robot>'


@pytest.mark.slow
def test_frames_that_are_named_alike_are_offered_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mechanism = read(tmp_path, bench(2e-3))
    (found,) = (each for each in mechanism.findings if each.code == "REG019")
    assert "3 pairs" in found.message and "2 of them in one place" in found.message
    assert "`leg2_cl_1` and `leg2_cl_2`: 2 mm" in found.message
    command = found.help[0].partition(": ")[2]
    assert command.endswith("--close '*_1=*_2:hinge'")
    verb, *rest = shlex.split(command)[1:]
    main([verb, *rest, "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["mobility"]["actual"], report["mobility"]["redundant"]) == (3, 9)
    closed = rg.load(tmp_path / "model.urdf", close="*_1=*_2")
    assert [j.kind for j in closed.joints if j.closure] == ["spherical"] * 3
    assert offers(closed) == []


def test_names_that_close_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.urdf").write_text(bench(0.0))
    for close in ("*_1=*_3", "*_1", "*_1=*_2:gear"):
        with pytest.raises(rg.RegularizeError, match="close '"):
            rg.load(tmp_path / "model.urdf", close=close)


def mjcf(gap: float) -> str:
    """Three four-bars, open between sites that are named alike; those of the last lie apart."""
    pytest.importorskip("mujoco")
    geom = '<geom size=".02" mass="1" contype="0" conaffinity="0"/>'
    bars = ""
    for k in range(3):
        off = gap if k == 2 else 0.0
        bars += (
            f'<body name="left{k}" pos="0 0 {k}"><joint axis="0 0 1"/>{geom}'
            f'<body name="coupler{k}" pos="0 .3 0"><joint axis="0 0 1"/>{geom}'
            f'<site name="leg{k}_cl_1" pos=".4 0 0"/></body></body>'
            f'<body name="right{k}" pos=".4 0 {k}"><joint axis="0 0 1"/>{geom}'
            f'<site name="leg{k}_cl_2" pos="0 {0.3 + off} 0"/><site name="mark{k}"/></body>'
        )
    return f"<mujoco><worldbody>{bars}</worldbody></mujoco>"


@pytest.mark.slow
def test_sites_that_are_named_alike_are_offered_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "bars.xml"
    path.write_text(mjcf(2e-3))
    (found,) = (each for each in rg.load(path).findings if each.code == "REG019")
    assert "3 pairs" in found.message and "`leg2_cl_1` and `leg2_cl_2`: 2 mm" in found.message
    assert found.help[0].endswith("--close '*_1=*_2:hinge'")
    closed = rg.load(path, close="*_1=*_2:hinge")
    numbers = rg.check(closed).as_dict()["mobility"]
    assert (numbers["actual"], numbers["redundant"]) == (3, 9)
    assert not [each for each in closed.findings if each.code == "REG019"]
    line = re.findall("<connect.*?/>", found.help[1])[0]
    path.write_text(mjcf(0.0).replace("</mujoco>", f"<equality>{line}</equality></mujoco>"))
    first = [each for each in rg.load(path).joints if each.closure]
    assert [(joint.kind, joint.name) for joint in first] == [("spherical", "leg0_cl_1-leg0_cl_2")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (("leg{k}_rod_a", "leg{k}_crank_b"), "*_rod_a=*_crank_b"),
        (("coupler{k}.pin{k}", "right{k}.pin{k}"), "{body}.*={body}.*"),
        (("pin{k}_coupler{k}", "pin{k}_right{k}"), "*_{body}=*_{body}"),
    ],
)
def test_names_that_differ_in_two_words_or_by_their_bodies(
    names: tuple[str, str], pattern: str, tmp_path: Path
) -> None:
    path, text = tmp_path / "bars.xml", mjcf(2e-3)
    for k in range(3):
        for old, new in zip(("1", "2"), names, strict=True):
            text = text.replace(f'"leg{k}_cl_{old}"', f'"{new.format(k=k)}"')
    path.write_text(text)
    (found,) = (each for each in rg.load(path).findings if each.code == "REG019")
    assert "3 pairs" in found.message and "2 of them in one place" in found.message
    command = shlex.split(found.help[0].partition(": ")[2])
    assert command[-1] == f"{pattern}:hinge"
    numbers = rg.check(rg.load(path, close=command[-1])).as_dict()["mobility"]
    assert (numbers["actual"], numbers["redundant"]) == (3, 9)
