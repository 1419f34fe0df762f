"""Poses of bodies as inputs and as results: platforms, closed forms, ways of assembly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from mechanisms import X, Y, Z, leg
from scipy.spatial.transform import Rotation

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[3] / "assets"
STEWART = ASSETS / "stewart_6ups.urdf"
STROKES = [f"P{k}" for k in range(1, 7)]


def turned(roll: float, pitch: float, yaw: float) -> np.ndarray:
    return np.asarray(Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix())


@pytest.mark.slow
def test_the_legs_of_a_stewart_platform_are_as_long_as_they_have_to_be() -> None:
    form = rg.closed_form(STEWART, pose="platform")
    assert form.inputs == tuple(f"platform.{n}" for n in ("x", "y", "z", "roll", "pitch", "yaw"))
    start = form.graph.position[list(form.columns)]
    given = start + np.array([0.03, -0.02, 0.05, 0.2, -0.1, 0.3])
    found = form.solve(given, branch=form.stored_branch)
    strokes = np.array([found.columns()[name][0] for name in STROKES])
    # Feet and balls at the model's own pose, as the file's comments define them.
    feet, balls = [], []
    for k in range(6):
        third, sign = 2 * np.pi * (k // 2) / 3, 1 if k % 2 else -1
        low, high = third + sign * np.radians(15), third + sign * np.radians(40)
        feet.append([0.4 * np.cos(low), 0.4 * np.sin(low), 0.0])
        balls.append([0.25 * np.cos(high), 0.25 * np.sin(high), 0.4])
    before = np.linalg.norm(np.array(balls) - feet, axis=1)
    moved = (np.array(balls) - start[:3]) @ turned(*given[3:]).T + given[:3]
    assert np.allclose(strokes, np.linalg.norm(moved - feet, axis=1) - before, atol=1e-12)
    T = found.pose("platform")[0]
    assert np.allclose(T[:3, 3], given[:3], atol=1e-12)
    assert np.allclose(T[:3, :3], turned(*given[3:]), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "coordinates"),
    [
        ("delta_universal", "x y z"),
        ("delta_parallelograms", "x y z"),
        ("orthoglide", "x y z"),
        ("mobility/four_ruu", "x y z yaw"),
        ("spherical_9r", "roll pitch yaw"),
        ("mobility/exechon", "x y z"),
    ],
)
def test_a_pose_has_the_coordinates_that_its_body_has(model: str, coordinates: str) -> None:
    form = rg.closed_form(ASSETS / f"{model}.urdf", pose="platform")
    assert form.inputs == tuple(f"platform.{name}" for name in coordinates.split())
    stored = form.graph.position[list(form.columns)]
    given = stored + 2e-5 * np.arange(1, len(stored) + 1)
    found = form.solve(given, branch=form.stored_branch)
    assert found.assembled.all()
    columns = found.columns()
    assert np.allclose([columns[name][0] for name in form.inputs], given)
    assert np.max(form.closure.error(found.q)) < 1e-11


@pytest.mark.slow
def test_the_chain_of_a_pose_changes_nothing() -> None:
    mechanism = rg.load(ASSETS / "delta_universal.urdf")
    whole = rg.closed_form(mechanism, pose="platform").graph.mechanism
    assert len(whole.joints) > len(mechanism.joints)
    assert rg.reduce(whole).mobility == rg.reduce(mechanism).mobility == 3


def test_a_pose_that_the_body_has_not_is_refused() -> None:
    delta = ASSETS / "delta_universal.urdf"
    with pytest.raises(rg.ModelError, match="is the same in all configurations"):
        rg.closed_form(delta, pose=rg.BodyPose("platform", ("x", "y", "roll")))
    with pytest.raises(rg.ModelError, match="did you mean 'platform'"):
        rg.closed_form(delta, pose="plattform")
    with pytest.raises(rg.ModelError, match="does not move"):
        rg.closed_form(delta, pose="ground")
    with pytest.raises(rg.ModelError, match="has 1 of the freedoms"):
        rg.closed_form(ASSETS / "planar_fourbar.urdf", pose=rg.BodyPose("coupler", ("x", "z")))


@pytest.mark.slow
def test_ways_of_assembly_are_counted_by_the_pose_of_the_platform() -> None:
    strokes = [0.02, -0.01, 0.03, 0.0, 0.015, -0.02]
    found = rg.configurations(STEWART, STROKES, strokes, by="platform")
    assert int(found.counts) == 8
    grouped = found.poses("platform")
    assert int(grouped.counts) == 8
    assert grouped.T.shape == (8, 4, 4)
    assert sorted(grouped.group) == list(range(8))


@pytest.mark.slow
def test_many_ways_lead_to_one_pose() -> None:
    form = rg.closed_form(ASSETS / "delta_universal.urdf", pose="platform")
    found = form.solve([[0.06, 0.0, -0.42], [0.07, 0.01, -0.4], [3.0, 0.0, 0.0]])
    grouped = found.poses("platform")
    assert grouped.counts.tolist() == [1, 1, 0]
    assert (grouped.group[2] == -1).all()
    assert (grouped.group[0][found.assembled[0]] == 0).all()


def test_a_body_that_turns_about_a_slanting_axis_has_a_pose_too() -> None:
    joints = leg("a", "ground", "tip", "RR", [X + Y, Z], np.array([[0.0, 0, 0], [0.3, 0, 0.1]]))
    found = rg.closed_form(rg.Mechanism.of_joints("arm", joints), pose="tip")
    assert len(found.inputs) == 2
    assert all(name.startswith("tip.") for name in found.inputs)


@pytest.mark.slow
def test_the_command_takes_and_gives_poses(capsys: pytest.CaptureFixture[str]) -> None:
    delta = str(ASSETS / "delta_universal.urdf")
    assert main(["solve", delta, "--pose", "platform=60mm,0,-0.42"]) == 0
    text = capsys.readouterr().out
    assert "64 ways to assemble, in closed form" in " ".join(text.split())
    assert "as the model stands" not in text.split("\nat ")[1]
    assert "  M1" in text
    assert "and 63 more" in text
    assert main(["solve", delta, "--at", "M1=0", "M2=0deg", "M3=0", "--pose", "platform"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"16 poses of platform by iteration from \d+ random starts, loops", told)
    assert "closed to" in told and "there may be others" in told
    assert main(["solve", delta, "--pose", "platform=0,0,0,0,0,0"]) == 2
    assert "given by platform.x, platform.y, platform.z" in capsys.readouterr().err
