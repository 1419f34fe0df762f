"""``robot_data.yaml``, the closing joints that an exporter of Fusion 360 writes beside a URDF."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from simulation_cases import assert_one_redundant_loop, read
from test_adapters_urdf_more import CLOSURES, four_bar

import regularize as rg

HINGE = Path(__file__).with_name("closing_hinge.yaml").read_text()


def test_closing_joint_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "robot_data.yaml").write_text(HINGE)
    mechanism = read(four_bar(tmp_path / "urdf"))
    assert_one_redundant_loop(mechanism)
    joint = mechanism.joint("D")
    assert (joint.parent, joint.child, joint.closure) == ("ground", "rocker", True)
    np.testing.assert_allclose(joint.T_child_joint[:3, 3], [-0.3, 0, -0.9], atol=1e-12)
    np.testing.assert_allclose(joint.limits, [[-0.5, 0.1]])
    assert (joint.source.line, joint.source.element) == (8, "closing_joints[0]")
    assert [j.actuated for j in mechanism.joints] == [None, False, None, None]
    assert mechanism.files == (str(tmp_path / "urdf" / ".." / "robot_data.yaml"),)
    assert [each.code for each in mechanism.findings] == ["REG021"]  # it lies above the model
    assert read(four_bar(tmp_path / "urdf"), loops=False).files == ()


def test_axis_is_given_in_the_child_link(tmp_path: Path) -> None:
    # The coupler is turned by a quarter about Z, so the hinges' axis Y of the ground is its X.
    text = HINGE.replace("child: rocker", "child: coupler").replace(
        "origin_rpy_rad: [0.000000, 0.000000, 0.000000]",
        "origin_rpy_rad: [0.000000, 0.000000, 1.570796]",
    )
    (tmp_path / "robot_data.yaml").write_text(text.replace("[0.0000, 1.0000,", "[1.0000, 0.0000,"))
    mechanism = read(four_bar(tmp_path))
    axis = mechanism.joint("D").T_parent_joint[:3, :3] @ mechanism.joint("D").screws[3:, 0]
    np.testing.assert_allclose(axis, [0, 1, 0], atol=1e-6)
    assert mechanism.findings == ()


def test_rounded_axis_is_as_parallel_as_it_was(tmp_path: Path) -> None:
    """The URDF file has axes of six decimals, this one of four: 0.003 degrees apart."""
    path = four_bar(tmp_path)
    # The coupler's frame is turned by a quarter about Z.
    text = path.read_text().replace('xyz="0 1 0"', 'xyz="0.424264 0.565685 0.707107"')
    path.write_text(text.replace('xyz="1 0 0"', 'xyz="0.565685 -0.424264 0.707107"'))
    axis = HINGE.replace("[0.0000, 1.0000, 0.0000]", "[-0.4243, -0.5657, -0.7071]")
    (tmp_path / "robot_data.yaml").write_text(axis)
    mechanism = read(path)
    own = mechanism.joint("A").screws[3:, 0]
    np.testing.assert_allclose(mechanism.joint("D").screws[3:, 0], -own, atol=1e-12)
    # Two degrees are meant as they are written.
    (tmp_path / "robot_data.yaml").write_text(axis.replace("-0.4243", "-0.4643"))
    other = read(path).joint("D").screws[3:, 0]
    assert np.linalg.norm(np.cross(other, own)) > 0.03


def test_half_a_range_bounds_nothing(tmp_path: Path) -> None:
    (tmp_path / "robot_data.yaml").write_text(HINGE.replace("      upper: 1e-1\n", ""))
    assert read(four_bar(tmp_path)).joint("D").limits is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "kind", "mobility"),
    [("continuous", "revolute", 1), ("prismatic", "prismatic", 1), ("ball", "spherical", 1)],
)
def test_types_of_closing_joints(written: str, kind: str, mobility: int, tmp_path: Path) -> None:
    text = HINGE.replace("type: revolute", f"type: {written}")
    if written == "prismatic":
        text = text.replace("axis: [0.0000, 1.0000,", "axis: [1.0000, 0.0000,")
    (tmp_path / "robot_data.yaml").write_text(text)
    mechanism = read(four_bar(tmp_path))
    assert mechanism.joint("D").kind == kind
    assert (mechanism.joint("D").limits is None) == (written != "prismatic")
    assert rg.reduce(mechanism).mobility == mobility


def test_a_fixed_closing_joint_may_stand_for_a_ball_joint(tmp_path: Path) -> None:
    (tmp_path / "robot_data.yaml").write_text(HINGE.replace("type: revolute", "type: fixed"))
    mechanism = read(four_bar(tmp_path))
    assert mechanism.joint("D").kind == "fixed"
    [finding] = mechanism.findings
    assert (finding.code, finding.severity) == ("REG013", "note")
    assert "ball joints" in finding.message
    assert rg.reduce(mechanism).mobility == 0


def test_a_file_of_another_state_of_the_assembly_is_reported(tmp_path: Path) -> None:
    (tmp_path / "robot_data.yaml").write_text(
        HINGE.replace("origin_rpy_rad: [0.0", "origin_rpy_rad: [0.1")
    )
    [finding] = read(four_bar(tmp_path)).findings
    assert (finding.code, finding.severity, finding.joints) == ("REG015", "warning", ("D",))
    assert "5.73 degrees" in finding.message
    assert str(finding.source).endswith("robot_data.yaml:8")


@pytest.mark.parametrize("empty", ["[]", "{}", "null", "[]  "])
def test_a_tree_has_an_empty_list(empty: str, tmp_path: Path) -> None:
    (tmp_path / "robot_data.yaml").write_text(f"links: {{}}\nclosing_joints: {empty}\n\nx: 1\n")
    mechanism = read(four_bar(tmp_path))
    assert (mechanism.files, mechanism.findings) == ((), ())


def test_named_by_the_user(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(HINGE)
    assert read(four_bar(tmp_path), loops=other).files == (str(other),)
    other.write_text("links: {}\n")
    with pytest.raises(rg.ReadError, match=r"has no `closed_loop`, nor .*`closing_joints`"):
        read(four_bar(tmp_path), loops=other)


def test_one_of_two_files_counts_and_it_is_said_which(tmp_path: Path) -> None:
    (tmp_path / "robot_data.yaml").write_text(HINGE)
    (tmp_path / "loop_closures.yaml").write_text(CLOSURES)
    mechanism = read(four_bar(tmp_path))
    assert mechanism.files == (str(tmp_path / "loop_closures.yaml"),)
    [finding] = mechanism.findings
    assert "`robot_data.yaml` lists closing joints too, and is not read" in finding.message
    (tmp_path / "robot.yaml").write_text("closed_loop: [[ground, rocker]]\n")
    assert len(read(four_bar(tmp_path)).findings) == 2


FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())["robot_data"]


@pytest.mark.parametrize(("old", "new", "line", "words"), [[*fault.values()] for fault in FAULTS])
def test_faults(old: str, new: str, line: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "robot_data.yaml").write_text(HINGE.replace(old, new, 1))
    with pytest.raises(rg.ReadError, match=words) as caught:
        read(four_bar(tmp_path))
    assert caught.value.path.endswith("robot_data.yaml")
    if words != "not YAML":
        assert caught.value.line == line


def test_links_of_different_trees_cannot_be_placed(tmp_path: Path) -> None:
    (tmp_path / "robot_data.yaml").write_text(HINGE.replace("child: rocker", "child: other"))
    with pytest.raises(rg.ReadError, match="hang on different roots"):
        read(four_bar(tmp_path, '<link name="other"/>'))
