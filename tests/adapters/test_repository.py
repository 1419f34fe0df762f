"""Folders as people have them: which files are models, where packages are, what belongs to what."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).parents[2] / "assets"
ROBOT = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'
LEG = """<xacro:macro name="leg" params="name">
  <link name="${name}"/>
  <joint name="hip_${name}" type="continuous"><parent link="base"/><child link="${name}"/></joint>
</xacro:macro>"""
BODY = '<body name="{0}"><joint name="j_{0}"/><geom size=".1"/></body>'
MODEL = """<sdf version="1.7"><model name="{0}">
<link name="a"><inertial><mass>1</mass></inertial></link>
<joint name="j" type="revolute"><parent>world</parent><child>a</child>
<axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>"""


def include(file: str) -> str:
    return f'<xacro:include filename="{file}"/>'


def package(name: str) -> str:
    return f"<?xml version='1.0'?><package><!-- <name>no</name> --><name>{name}</name></package>"


def laid_out(folder: Path, files: dict[str, str]) -> Path:
    """Files under a folder, made with the folders that they need."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def workspace(*, beside: str = "src/legs_of_robots", other: str = "legs") -> dict[str, str]:
    """Two packages, one of which is not called as its folder is."""
    called = include("$(find walker)/urdf/body.xacro") + include(f"$(find {other})/leg.xacro")
    legs = "".join(f'<xacro:leg name="{side}"/>' for side in ("left", "right"))
    return {
        "src/walker_description/package.xml": package("walker"),
        "src/walker_description/urdf/walker.urdf.xacro": ROBOT.format(called + legs),
        "src/walker_description/urdf/body.xacro": ROBOT.format('<link name="base"/>'),
        f"{beside}/package.xml": package("legs"),
        f"{beside}/leg.xacro": ROBOT.format(LEG),
    }


WALKER = "src/walker_description/urdf/walker.urdf.xacro"


@pytest.mark.slow
@pytest.mark.parametrize(
    "beside",
    [
        "src/legs_of_robots",
        "src/common/parts/legs",
        "install/share/legs",
        "install/legs/share/legs",
    ],
)
def test_packages_are_found_by_the_names_that_they_state(tmp_path: Path, beside: str) -> None:
    laid_out(tmp_path, workspace(beside=beside))
    assert rg.check(tmp_path / WALKER).reduction.mobility == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "place"), [("AMENT_PREFIX_PATH", "share/legs"), ("ROS_PACKAGE_PATH", "a/legs_v2")]
)
def test_packages_are_found_by_the_environment(
    tmp_path: Path, variable: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out(tmp_path / "ws", workspace(beside=f"../far/{place}"))
    with pytest.raises(rg.RegularizeError, match="legs"):
        rg.load(tmp_path / "ws" / WALKER)
    monkeypatch.setenv(variable, f"/nowhere:{tmp_path / 'far'}")
    assert rg.check(tmp_path / "ws" / WALKER).reduction.mobility == 2


def test_meshes_are_found_in_packages_by_the_names_that_these_state(tmp_path: Path) -> None:
    text = "src/robot/package.xml", "src/far/away/parts_v2/package.xml"
    mesh = '<visual><geometry><mesh filename="package://parts/m/a.stl"/></geometry></visual>'
    files = dict(zip(text, (package("robot"), package("parts")), strict=True))
    files["src/robot/urdf/r.urdf"] = ROBOT.format(f'<link name="base">{mesh}</link>')
    laid_out(tmp_path, files)
    model = tmp_path / "src/robot/urdf/r.urdf"
    lost = rg.save(rg.load(model), tmp_path / "out.xml")
    assert "REG328" in [f.code for f in lost]
    corners = np.eye(4, 3)
    faces = np.array([np.vstack([np.zeros(3), np.delete(corners, k, 0)]) for k in range(4)])
    rows = b"".join(face.astype("<f4").tobytes() + bytes(2) for face in faces)
    place = tmp_path / "src/far/away/parts_v2/m/a.stl"
    place.parent.mkdir()
    place.write_bytes(bytes(80) + np.uint32(4).tobytes() + rows)
    found = rg.save(rg.load(model), tmp_path / "out.xml")
    assert "REG328" not in [f.code for f in found]
    assert 'file="src/far/away/parts_v2/m/a.stl"' in (tmp_path / "out.xml").read_text()


@pytest.mark.slow
def test_nothing_outside_a_workspace_is_taken_for_a_package(tmp_path: Path) -> None:
    laid_out(tmp_path, workspace(beside="elsewhere/legs"))
    near = workspace(beside="src/other")
    near["src/other/package.xml"] = package("other")
    laid_out(tmp_path / "mine", near)
    with pytest.raises(rg.RegularizeError, match="--package legs=PATH"):
        rg.load(tmp_path / "mine" / WALKER)


@pytest.mark.slow
def test_all_missing_packages_are_named_at_once(tmp_path: Path) -> None:
    files = workspace(other="limbs")
    files["src/walker_description/urdf/body.xacro"] = ROBOT.format(
        include("$(find materials)/colors.xacro") + '<link name="base"/>'
    )
    laid_out(tmp_path, files)
    with pytest.raises(rg.RegularizeError) as caught:
        rg.load(tmp_path / WALKER)
    assert "--package limbs=PATH --package materials=PATH" in str(caught.value)
    assert "walker" not in str(caught.value).split("not found")[1]
    lent = laid_out(
        tmp_path / "far", {"leg.xacro": ROBOT.format(LEG), "colors.xacro": ROBOT.format("")}
    )
    found = rg.load(tmp_path / WALKER, packages={"limbs": lent, "materials": lent})
    assert len(found.joints) == 2


@pytest.mark.slow
def test_macros_say_what_they_are_and_who_calls_them(tmp_path: Path) -> None:
    laid_out(tmp_path, workspace(beside="src/walker_description/legs"))
    (tmp_path / "src/walker_description/legs/package.xml").unlink()
    with pytest.raises(
        rg.RegularizeError, match=r"the macro `leg` .*`\.\./urdf/walker\.urdf\.xacro`"
    ):
        rg.load(tmp_path / "src/walker_description/legs/leg.xacro")


def told(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    status = main(["check", str(folder), *options])
    return status, capsys.readouterr().out


@pytest.mark.slow
def test_a_folder_is_checked_line_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = workspace(beside="third_party/legs")  # found since the folder as a whole is asked for
    files["src/press/press.urdf"] = (ASSETS / "planar_fourbar.urdf").read_text()
    laid_out(tmp_path, files)
    status, out = told(tmp_path, capsys)
    assert status == 1
    lines = [line.split() for line in out.splitlines()]
    numbers = {line[0]: line[1:6] for line in lines if len(line) > 5 and line[1].isdigit()}
    expected = rg.check(ASSETS / "planar_fourbar.urdf").reduction
    assert numbers[str(tmp_path / "src/press/press.urdf")][2:4] == ["1", str(expected.redundant)]
    assert numbers[str(tmp_path / WALKER)][2:4] == ["2", "0"]
    assert len(numbers) == 2
    assert f"leg.xacro: part of `{tmp_path / WALKER}`" in out
    (tmp_path / "src/press/press.urdf").unlink()
    assert told(tmp_path, capsys)[0] == 0
    _, out = told(tmp_path, capsys, "--output", "json")
    data = json.loads(out)
    assert {Path(each["path"]).name for each in data["fragments"]} == {"body.xacro", "leg.xacro"}
    assert data["unreadable"] == [] and len(data["reports"]) == 1


def test_a_model_that_cannot_be_read_is_a_finding_of_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    laid_out(
        tmp_path, {"a.urdf": ROBOT.format("<link/>"), "b.urdf": ROBOT.format('<link name="b"/>')}
    )
    status, out = told(tmp_path, capsys)
    assert status == 1 and "unreadable" in out and "1 could not be read" in out
    status, out = told(tmp_path, capsys, "--output", "json")
    assert json.loads(out)["unreadable"][0]["path"] == str(tmp_path / "a.urdf")


def test_a_folder_without_models_says_what_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    laid_out(tmp_path, {"leg.xacro": ROBOT.format(LEG), "readme.md": "", "launch.xml": "<launch/>"})
    assert main(["check", str(tmp_path)]) == 2
    assert "only defines the macro `leg`" in capsys.readouterr().err


def scenes() -> dict[str, str]:
    inside = f"<include file='parts/arm.xml'/><worldbody>{BODY.format('base')}</worldbody>"
    return {
        "robot/scene.xml": "<mujoco><include file='robot.xml'/></mujoco>",
        "robot/robot.xml": f"<mujoco>{inside}</mujoco>",
        "robot/parts/arm.xml": f"<mujoco><worldbody>{BODY.format('arm')}</worldbody></mujoco>",
        "robot/floor.xml": "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>",
    }


def worlds() -> dict[str, str]:
    world = (
        "<sdf version='1.7'><world name='w'><include><uri>model://{}</uri></include></world></sdf>"
    )
    return {
        "worlds/yard.world": world.format("arm"),
        "models/arm/model.config": "<model><name>An arm</name></model>",
        "models/arm/model.sdf": MODEL.format("arm"),
        "models/lone/model.config": "<model/>",
        "models/lone/model.sdf": MODEL.format("lone"),
        ".git/HEAD": "",
    }


def stages() -> dict[str, str]:
    part = '#usda 1.0\n(defaultPrim = "A")\ndef Xform "A" {}\n'
    top = "#usda 1.0\n(subLayers = [@parts/a.usda@])\n"
    return {"top.usda": top, "parts/a.usda": part}


def products() -> dict[str, str]:
    places = ("build/walker.urdf", "src/a.urdf", "install/share/a/a.urdf", ".cache/a.urdf")
    return dict.fromkeys(places, ROBOT.format('<link name="a"/>'))


def circle() -> dict[str, str]:
    pairs = (("a", "b"), ("b", "a"))
    return {
        f"{one}.xacro": ROBOT.format(include(f"{other}.xacro") + f'<link name="{one}"/>')
        for one, other in pairs
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "models", "fragments"),
    [
        (scenes, ["robot/scene.xml"], {"robot.xml", "arm.xml", "floor.xml"}),
        (worlds, ["models/lone/model.sdf", "worlds/yard.world"], {"model.sdf"}),
        (stages, ["top.usda"], {"a.usda"}),
        (products, ["src/a.urdf"], set()),
        (circle, ["a.xacro"], {"b.xacro"}),
    ],
)
def test_models_are_those_at_the_top(
    tmp_path: Path,
    layout: Callable[[], dict[str, str]],
    models: list[str],
    fragments: set[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    laid_out(tmp_path, layout())
    data = json.loads(told(tmp_path, capsys, "--output", "json")[1])
    found = [each["model"]["path"] for each in data["reports"]]
    found += [each["path"] for each in data["unreadable"]]
    assert [Path(each).relative_to(tmp_path).as_posix() for each in found] == models
    assert {Path(each["path"]).name for each in data["fragments"]} == fragments


def test_included_mjcf_resolves_as_in_mujoco_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mujoco = pytest.importorskip("mujoco")
    files = scenes()
    mesh = "<mesh name='m' file='tetra.obj'/>"
    files["robot/parts/arm.xml"] = (
        f"<mujoco><compiler meshdir='meshes'/><asset>{mesh}</asset><worldbody><body name='arm'>"
        "<joint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>"
    )
    files["robot/robot.xml"] = files["robot/robot.xml"].replace("parts/arm.xml", "parts/more.xml")
    files["robot/parts/more.xml"] = (
        "<mujoco><include file='arm.xml'/></mujoco>"  # of its own folder
    )
    files["robot/meshes/tetra.obj"] = (
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    )
    laid_out(tmp_path, files)
    expected = mujoco.MjModel.from_xml_path(str(tmp_path / "robot/scene.xml"))
    masses = []
    for place, name in (
        (tmp_path, "robot/scene.xml"),
        (tmp_path / "robot", "scene.xml"),
        (tmp_path / "robot/parts", "../scene.xml"),
    ):
        monkeypatch.chdir(place)
        (body,) = (body for body in rg.load(name).bodies if body.name == "arm")
        assert body.inertia is not None
        masses.append(body.inertia.mass)
    assert masses == pytest.approx([expected.body("arm").mass[0]] * 3, rel=1e-12)
