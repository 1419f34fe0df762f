from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import regularize as rg
from regularize.adapters import read

URDF = """<robot name="m">
<link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
<joint name="j1" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
  <origin xyz="1 0 0"/><limit lower="-1" upper="1"/></joint>
<joint name="j2" type="revolute"><parent link="b"/><child link="c"/></joint>
<joint name="j3" type="revolute"><parent link="a"/><child link="d"/></joint>
<joint name="weld" type="fixed"><parent link="d"/><child link="e"/></joint>
</robot>"""

Model = Callable[..., rg.Mechanism]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Read the robot above with the YAML given beside it."""

    def build(text: str, name: str = "robot.yaml", **options: Any) -> rg.Mechanism:
        (tmp_path / "robot.urdf").write_text(URDF)
        (tmp_path / name).write_text(text)
        return read(tmp_path / "robot.urdf", **options)

    return build


def fails(build: Callable[[], object], *parts: str) -> None:
    with pytest.raises(rg.ReadError) as caught:
        build()
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def closures(mechanism: rg.Mechanism) -> list[tuple[str, str, str, str]]:
    return [(j.name, j.kind, j.parent, j.child) for j in mechanism.joints if j.closure]


def test_closures_between_links_and_joints(model: Model) -> None:
    mechanism = model("closed_loop: [[c, e], [j2, weld]]\ntype: ['6D', '3d']\n")
    assert closures(mechanism) == [("c-e", "fixed", "c", "e"), ("j2-weld", "spherical", "c", "e")]
    assert mechanism.files == (str(Path(mechanism.path or "").with_name("robot.yaml")),)
    assert mechanism.format == "urdf"
    closing = mechanism.joint("j2-weld")
    assert (closing.source.line, closing.source.element) == (1, "closed_loop[1][0]")
    assert closing.source.path.endswith("robot.yaml")
    assert [j.actuated for j in mechanism.joints] == [None] * 6


def test_type_left_out_means_6d(model: Model) -> None:
    assert closures(model("closed_loop: [[c, e], [c, e]]"))[1] == ("c-e_2", "fixed", "c", "e")


def test_motors(model: Model) -> None:
    mechanism = model("closed_loop: [[c, e]]\nname_mot: [j1, j3]")
    assert [j.name for j in mechanism.joints if j.actuated] == ["j1", "j3"]
    assert [j.name for j in mechanism.joints if j.actuated is False] == ["j2", "weld", "c-e"]


def test_joint_types(model: Model) -> None:
    mechanism = model(
        "closed_loop: []\njoint_name: [j1, j2, j3]\njoint_type: [UJOINT_ZX, SPHERICAL, FIXED]"
    )
    universal = mechanism.joint("j1")
    assert universal.kind == "universal"
    assert universal.limits is None
    np.testing.assert_array_equal(universal.screws.T, [[0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0]])
    np.testing.assert_array_equal(universal.T_parent_joint[:3, 3], [1, 0, 0])
    assert [mechanism.joint(name).kind for name in ("j2", "j3")] == ["spherical", "fixed"]
    cardan = model("closed_loop: []\njoint_name: [j1]\njoint_type: [CARDAN]").joint("j1")
    np.testing.assert_array_equal(cardan.screws.T, [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]])


def test_names_that_the_urdf_lacks_are_warned_about(model: Model) -> None:
    mechanism = model(
        "closed_loop: []\njoint_name: [j1x]\njoint_type: [FIXED]\nname_mot: [j2, gone]"
    )
    assert [(d.code, d.severity, d.source.line) for d in mechanism.findings if d.source] == [
        ("REG013", "warning", 2),
        ("REG013", "warning", 4),
    ]
    assert mechanism.findings[0].message == (
        "`joint_name` names the joint `j1x`, which the URDF file does not have: entry ignored"
    )
    assert mechanism.findings[0].help == ("correct the name; did you mean `j1`?",)
    assert mechanism.joint("j2").actuated


FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())["gepetto"]


@pytest.mark.parametrize(("text", "parts"), [(fault["text"], fault["says"]) for fault in FAULTS])
def test_faults(model: Model, text: str, parts: tuple[str, ...]) -> None:
    fails(lambda: model(text), *parts)


def test_name_of_a_link_and_of_another_joint(tmp_path: Path) -> None:
    (tmp_path / "robot.urdf").write_text(URDF.replace('"j3"', '"e"'))
    (tmp_path / "robot.yaml").write_text("closed_loop: [[c, e]]")
    fails(lambda: read(tmp_path), "both a link and a joint that leads to link `d`")
    (tmp_path / "robot.urdf").write_text(URDF.replace('"weld"', '"e"'))
    assert closures(read(tmp_path)) == [("c-e", "fixed", "c", "e")]


def test_sidecar_is_found_or_named_or_refused(model: Model, tmp_path: Path) -> None:
    text = "closed_loop: [[c, e]]"
    assert len(closures(model(text))) == 1
    assert closures(model(text, loops=False)) == []
    (tmp_path / "other.yaml").write_text("closed_loop: [[c, d]]")
    for loops in (tmp_path / "other.yaml", str(tmp_path / "other.yaml")):
        mechanism = model(text, loops=loops)
        assert closures(mechanism) == [("c-d", "fixed", "c", "d")]
        assert mechanism.files == (str(tmp_path / "other.yaml"),)
    fails(lambda: model(text, loops=tmp_path / "none.yaml"), "there is no such file")
    (tmp_path / "other.yaml").write_text("x: 1")
    fails(lambda: model(text, loops=tmp_path / "other.yaml"), "has no `closed_loop`")
    (tmp_path / "other.yaml").write_text("- 1")
    fails(lambda: model(text, loops=tmp_path / "other.yaml"), "expected `closed_loop:")


@pytest.mark.parametrize(
    "text", ["x: [", "gains:\n  closed_loop: true", "- closed_loop", "# closed_loop: []", ""]
)
def test_other_yaml_beside_the_model_is_left_alone(model: Model, text: str) -> None:
    mechanism = model(text)
    assert closures(mechanism) == []
    assert mechanism.files == ()
    fails(lambda: model(text, loops=True), "no loop description robot.yaml or robot.yml")


def test_name_of_the_sidecar(tmp_path: Path) -> None:
    text = "closed_loop: [[c, e]]"
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "robot.yaml").write_text(text)
    assert len(closures(read(tmp_path / "arm.urdf"))) == 1
    (tmp_path / "robot.urdf").write_text(URDF)
    assert closures(read(tmp_path / "arm.urdf")) == []
    (tmp_path / "arm.yml").write_text("{closed_loop: [[c, d], [c, e]]}")
    assert len(closures(read(tmp_path / "arm.urdf"))) == 2


def test_path_is_kept_as_the_user_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "robot.urdf").write_text(URDF)
    (tmp_path / "robot.yaml").write_text("closed_loop: [[c, e]]")
    monkeypatch.chdir(tmp_path)
    mechanism = read("robot.urdf")
    assert (mechanism.path, mechanism.files) == ("robot.urdf", ("robot.yaml",))
