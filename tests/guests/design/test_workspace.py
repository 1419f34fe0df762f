"""Maps of the reach: known singularities, limits, axes, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mechanisms import Y, coordinate_names, leg

import regularize as rg
from regularize.cli import main
from regularize.guests.design.workspace import followed, from_limits
from regularize.guests.modes.closed_form.solver import ClosedForm

ASSETS = Path(__file__).resolve().parents[3] / "assets"
DELTA = ASSETS / "delta_universal.urdf"


def five_bar() -> rg.Mechanism:
    """Two cranks of 1 on a base of 1, and two rods that meet at the tip (RRRRR)."""
    points = np.array([[-0.5, 0, 0], [-0.5, 0, 1.0], [0.7, 0, 1.8]])
    other = np.array([[0.5, 0, 0], [1.5, 0, 0.0]])
    joints = [
        *leg("a", "ground", "tip", "RRR", [Y] * 3, points),
        *leg("b", "ground", "tip", "RR", [Y] * 2, other),
    ]
    return rg.Mechanism.of_joints("five-bar", joints)


def test_a_slider_crank_is_singular_where_crank_and_rod_are_in_line() -> None:
    mechanism = rg.load(ASSETS / "slider_crank.urdf")
    over = {"A": (-np.pi, np.pi, 721)}
    by_slide = rg.workspace(mechanism, over, pose="slider", actuated=["D"])
    by_crank = rg.workspace(mechanism, over, pose="slider", actuated=["A"])
    assert by_slide.assembled.all()
    slide = by_slide.columns()["D"][:-1]
    for dead in (int(np.argmin(slide)), int(np.argmax(slide))):
        assert by_slide.forward[dead] < 0.01
        assert by_crank.inverse[dead] < 0.01
    # Only there; the crank as motor holds everything everywhere.
    assert np.sum(by_slide.forward < 0.01) < 40
    assert np.min(by_crank.forward) > 0.05
    assert np.min(by_crank.constraint) > 0.05


@pytest.mark.slow
def test_what_is_reached_is_what_the_arms_reach() -> None:
    bar = five_bar()
    tip = rg.BodyPose("tip", ("x", "z"), point=bar.joint("a3").T_parent_joint[:3, 3])
    found = rg.workspace(bar, {"x": (-2.6, 2.6, 53), "z": (0.1, 2.4, 24)}, pose=tip)
    assert found.method == "closed form"
    x, z = np.meshgrid(*found.values, indexing="ij")
    within = [
        (np.hypot(x - foot, z) <= 1.0 + rod) & (np.hypot(x - foot, z) >= rod - 1.0)
        for foot, rod in ((-0.5, np.hypot(1.2, 0.8)), (0.5, np.hypot(0.8, 1.8)))
    ]
    assert np.array_equal(found.assembled, within[0] & within[1])


@pytest.mark.slow
def test_limits_may_be_given() -> None:
    over, limits = {"z": (-0.5, -0.3, 41)}, {"M?": (-0.2, 0.2)}
    found = rg.workspace(DELTA, over, pose="platform", limits=limits)
    inside = np.all([np.abs(found.columns()[f"M{k}"]) <= 0.2 for k in range(1, 4)], axis=0)
    assert np.array_equal(found.reachable, inside)
    assert found.assembled.all()
    assert 3 < np.sum(inside) < 38
    with pytest.raises(rg.ModelError, match="there is no coordinate 'Q1'"):
        rg.workspace(DELTA, over, pose="platform", limits={"Q1": (0.0, 1.0)})
    with pytest.raises(rg.ModelError, match="is above"):
        rg.workspace(DELTA, over, pose="platform", limits={"M1": (1.0, 0.0)})


@pytest.mark.slow
def test_ranges_that_are_not_given_are_found() -> None:
    found = rg.workspace(DELTA, ["x", "y"], at={"z": -0.42}, pose="platform")
    assert found.q.shape == (41, 41, 15)
    assert 0.4 < float(np.mean(found.reachable)) < 0.95
    assert found.held == {"platform.z": -0.42}
    assert np.nanmin(found.clearance) >= 0.0
    assert "reachable" in repr(found)
    assert np.allclose(found.columns()["platform.x"][:, 0], found.values[0])


@pytest.mark.slow
def test_forward_kinematics_is_followed_where_there_is_no_formula() -> None:
    over = {"M1": (-0.1, 0.1, 5), "M2": (-0.1, 0.1, 3)}
    found = rg.workspace(DELTA, over, pose="platform")
    assert found.method == "followed"
    assert found.assembled.all()
    assert np.isfinite(found.inverse).all()
    loops = rg.reduce(rg.load(DELTA)).loops
    assert np.max(np.abs(loops.residual(loops.state(found.q.reshape(15, -1))))) < 1e-9
    assert np.allclose(found.columns()["M1"][:, 0], found.values[0])


@pytest.mark.slow
def test_a_name_that_is_no_input_is_refused() -> None:
    with pytest.raises(rg.ModelError, match=r"known are platform\.x, platform\.y"):
        rg.workspace(DELTA, ["w"], pose="platform")
    with pytest.raises(rg.ModelError, match="name the body, as in `--pose platform`"):
        rg.workspace(DELTA, ["x"])
    with pytest.raises(rg.ModelError, match="nothing is varied"):
        rg.workspace(DELTA, [])
    with pytest.raises(rg.ModelError, match="a range"):
        rg.workspace(DELTA, {"x": "wide"}, pose="platform")


def test_where_nothing_ends_the_way_bounds_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of following slides without limits for ever, where there is no formula."""
    monkeypatch.setattr("regularize.guests.design.workspace.FAR", 1.0)
    monkeypatch.setattr(ClosedForm, "solved", False)
    open_ended = rg.load(ASSETS / "stewart_6ups.urdf")
    joints = [replace(joint, limits=None) for joint in open_ended.joints]
    with pytest.raises(rg.ModelError, match=r"give bounds, as --over platform.z=LOWER:UPPER"):
        rg.workspace(replace(open_ended, joints=tuple(joints)), ["z"], pose="platform", samples=9)


@pytest.mark.slow
def test_the_command_writes_arrays_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["workspace", str(DELTA), "--pose", "platform", "--at", "z=-420mm"]
    for name in ("map.npz", "map.csv", "map.svg"):
        over = ["--over", "x=-100mm:100mm:5", "y=-0.1:0.1:4", "-o", str(tmp_path / name)]
        assert main([*common, *over]) == 0
    text = capsys.readouterr().out
    assert "5 x 4 points over platform.x, platform.y at platform.z = -0.42, closed form" in text
    assert "least distance from forward singularities" in text
    with np.load(tmp_path / "map.npz") as arrays:
        assert arrays["clearance"].shape == (5, 4)
        assert arrays["M1"].shape == (5, 4)
    rows = (tmp_path / "map.csv").read_text().splitlines()
    assert len(rows) == 21
    assert rows[0].startswith("platform.x,platform.y,assembled,reachable,clearance")
    assert "<svg" in (tmp_path / "map.svg").read_text()
    assert main([*common, "--over", "x,y", "-o", str(tmp_path / "map.txt")]) == 2
    assert "unknown kind of file" in capsys.readouterr().err


def test_limits_are_measured_from_the_middle_of_the_range() -> None:
    bounds = np.array([[-1.0, 3.0], [-np.inf, np.inf], [0.0, np.inf]])
    turns = np.array([True, True, False])
    q = np.array([[1.0, 9.0, 5.0], [3.0, 0.0, 5.0], [1.0 + 2 * np.pi, 0.0, -0.5]])
    units = np.array([1.0, 1.0, 0.5])
    assert np.allclose(from_limits(q, bounds, turns, units), [1.0, 0.0, -1.0])
    assert np.isinf(from_limits(q, np.tile([-np.inf, np.inf], (3, 1)), turns, units)).all()


@pytest.mark.slow
def test_what_lies_behind_a_singularity_is_not_reached() -> None:
    """A slider-crank driven by its slide, followed: its strokes end at the dead centres."""
    mechanism = rg.load(ASSETS / "slider_crank.urdf")
    stroke = rg.workspace(mechanism, {"A": (-np.pi, np.pi, 181)}).columns()["D"]
    graph = rg.reduce(mechanism).graph
    column = coordinate_names(mechanism).index("D")
    x = np.linspace(np.min(stroke) - 0.05, np.max(stroke) + 0.05, 61)[:, None]
    q = followed(graph, [column], x, (61,))
    there = np.isfinite(q[:, 0])
    inside = (x[:, 0] > np.min(stroke)) & (x[:, 0] < np.max(stroke))
    assert np.array_equal(there, inside)
    assert np.allclose(q[there, column], x[there, 0])
