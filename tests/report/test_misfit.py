"""Misfit of redundant directions, and the forces that close it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import mechanisms
import numpy as np
import pytest
import screws
from perturbed_loops import CASES, STIFFNESS, TOLERANCE, compare
from report_pages import page_of

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FOURBAR = ASSETS / "planar_fourbar.urdf"
SCHEMA = json.loads((ASSETS.parent / "regularize/schema/report-1.json").read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_perturbed_loops_agree(name: str) -> None:
    seen = compare(CASES[name], 120, balanced=True)
    assert seen.gaps == pytest.approx(1.0, rel=5e-3)
    assert seen.forces == pytest.approx(1.0, rel=1e-2)
    assert seen.worst == pytest.approx(1.0, rel=2e-2)
    assert seen.each < 0.03


def test_a_planar_fourbar_by_hand() -> None:
    found = rg.misfit(rg.reduce(mechanisms.planar_fourbar(), cuts=["D"]), (1e-4, 1e-3))
    across, *turns = found.entries
    assert across.as_dict()["direction"] == "translation along Z of the ground"
    assert across.covector == pytest.approx([0, 0, 1, 0, 0, 0])
    points = np.array([joint.T_parent_joint[:2, 3] for joint in mechanisms.planar_fourbar().joints])
    arms = points - points[3]
    assert across.std == pytest.approx(np.sqrt(4 * 1e-8 + 1e-6 * np.sum(arms**2)))
    assert across.worst == pytest.approx(4e-4 + 1e-3 * np.abs(arms).sum())
    for turn in turns:
        assert (turn.std, turn.worst) == pytest.approx((2e-3, 4e-3))
    assert found.stress() is None and found.loads == ()


def test_stiffness_of_a_series_of_springs() -> None:
    found = rg.misfit(mechanisms.sarrus(), (1e-4, 1e-3), (1e6, 100.0))
    (entry,) = found.entries
    # Six hinges of 100 N m/rad one after the other, misfit of six angles: each may turn freely
    # about its own axis, which is normal to the redundant one.
    assert entry.std == pytest.approx(np.sqrt(6) * 1e-3)
    assert entry.force_std == pytest.approx(100 / 6 * np.sqrt(6) * 1e-3)
    assert entry.energy == pytest.approx(0.5 * 100 / 6 * 6 * 1e-6)


@pytest.mark.slow
def test_the_third_crank_hurts() -> None:
    found = rg.misfit(mechanisms.three_cranks(), "0.05mm,0.1deg", "50N/um,2000Nm/rad")
    energy = [entry.energy or 0.0 for entry in found.entries]
    worst = found.entries[int(np.argmax(energy))]
    assert len(found.entries) == 7
    assert max(energy) > 0.5 * sum(energy)
    assert np.abs(worst.covector[:2]).max() > 0.9, "in the plane, where lengths are special"


def moved(mechanism: rg.Mechanism, slide: float) -> rg.Mechanism:
    """Every joint's frames slid along its axis."""
    joints = []
    for joint in mechanism.joints:
        shift = screws.transform(None, slide * joint.screws[3:, 0])
        frames = (joint.T_parent_joint @ shift, joint.T_child_joint @ shift)
        joints.append(replace(joint, T_parent_joint=frames[0], T_child_joint=frames[1]))
    return replace(mechanism, joints=tuple(joints))


@pytest.mark.slow
@pytest.mark.parametrize("make", [mechanisms.planar_fourbar, mechanisms.sarrus])
@pytest.mark.parametrize("slide", [0.5, 1e3])
def test_where_frames_lie_on_parallel_axes_changes_nothing(
    make: Callable[[], rg.Mechanism], slide: float
) -> None:
    here, there = (rg.misfit(each, TOLERANCE, STIFFNESS) for each in (make(), moved(make(), slide)))
    for name in ("std", "worst", "force_std"):
        one, other = ([getattr(e, name) for e in found.entries] for found in (here, there))
        assert other == pytest.approx(one, rel=1e-6)


def test_two_hinges_of_a_door() -> None:
    height, (t, r), (k, c) = 2.0, TOLERANCE, STIFFNESS
    hinges = [
        rg.Joint.in_world(name, "wall", "door", "revolute", mechanisms.Z, (0, 0, z))
        for name, z in (("low", 0.0), ("high", height))
    ]
    found = rg.misfit(
        rg.reduce(rg.Mechanism.of_joints("door", hinges, ground="wall")), (t, r), (k, c)
    )
    # Both hinges' errors and compliances seen from the upper one; the door may turn about Z.
    errors, soft = np.zeros((2, 6, 6))
    for z in (height, 0.0):
        seen = screws.adjoint(screws.transform(None, (0, 0, -z)))
        errors += seen @ np.diag(np.repeat([t, r], 3) ** 2) @ seen.T
        soft += seen @ np.diag(1.0 / np.repeat([k, c], 3)) @ seen.T
    expected = 0.5 * np.trace(np.linalg.solve(soft[:5, :5], errors[:5, :5]))
    assert sum(entry.energy or 0.0 for entry in found.entries) == pytest.approx(expected)


def test_a_tilt_moves_the_axis_where_it_is_needed() -> None:
    t, r = 1e-4, 1e-3
    found = rg.misfit(mechanisms.spherical_fourbar(), (t, r))
    # Axes have to meet at the centre, at a distance of sqrt(3) from all frames.
    total = sum(entry.std**2 for entry in found.entries)
    assert total == pytest.approx(4 * (3 * t**2 + 2 * 3.0 * r**2))


def test_nothing_redundant_nothing_misfits() -> None:
    found = rg.misfit(mechanisms.rssr(), "0.05mm,0.1deg", "50N/um,2000Nm/rad")
    assert found.as_dict() == [] and found.stress() is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spherical_fourbar_flat", "mobility/squares_folded"])
def test_a_singular_pose_has_the_directions_of_the_others(name: str) -> None:
    flat = rg.reduce(rg.load(ASSETS / f"{name}.urdf"), configurations=0)
    assert len(rg.misfit(flat, TOLERANCE).entries) == flat.redundant


TABLES = {
    "t.csv": "joint, translation, rotation\nA, 0.1mm, 0.2deg\nB, 1e-4, 1mrad\n",
    "u.csv": "joint;translation;rotation\nA;0.1mm;0.2deg\nB;100um;1e-3\n",
    "t.json": '{"A": ["0.1mm", "0.2deg"], "B": {"translation": 1e-4, "rotation": 1e-3}}',
    "t.yaml": "- {joint: A, translation: 0.1mm, rotation: 0.2°}\n"
    "- {joint: B, translation: 0.01cm, rotation: 0.001}\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str, tmp_path: Path) -> None:
    table = tmp_path / name
    table.write_text(TABLES[name], encoding="utf-8")
    given = {"A": (1e-4, np.deg2rad(0.2)), "B": (1e-4, 1e-3)}
    said = [rg.misfit(mechanisms.planar_fourbar(), each).as_dict() for each in (table, given)]
    assert said[0] == said[1]
    rest = rg.misfit(mechanisms.planar_fourbar(), [table, "0.1mm,0.2deg"])
    alone = rg.misfit(mechanisms.planar_fourbar(), str(table))
    assert rest.entries[0].std > alone.entries[0].std


def stating(mechanism: rg.Mechanism, **tolerances: tuple[float | str, float | str]) -> rg.Mechanism:
    """The mechanism with tolerances of its own."""
    joints = [replace(j, tolerance=tolerances.get(j.name)) for j in mechanism.joints]  # type: ignore[arg-type]
    return replace(mechanism, joints=tuple(joints))


@pytest.mark.slow
def test_the_model_states_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair, other = ("0.1mm", "0.2deg"), (3e-4, 1e-3)
    fourbar = stating(mechanisms.planar_fourbar(), A=pair, B=pair)
    path = tmp_path / "model.json"
    rg.save(fourbar, path)
    found = rg.misfit(path)
    assert found.as_dict() == rg.misfit(fourbar, {"A": pair, "B": pair}).as_dict()
    assert rg.check(path).as_dict()["misfit"] == found.as_dict()
    # A pair for all stands in its place, a table before it, and with it a pair is for the others.
    plain = mechanisms.planar_fourbar()
    for given, same in (
        (other, other),
        (["file", other], [{"A": pair, "B": pair}, other]),
        (["file", {"B": other}], {"A": pair, "B": other}),
    ):
        assert rg.misfit(fourbar, given).as_dict() == rg.misfit(plain, same).as_dict()
    with pytest.raises(rg.ModelError, match="no joint of the model states a tolerance"):
        rg.misfit(plain)
    assert rg.check(plain).as_dict()["misfit"] is None
    main(["check", str(path), "--tolerance", "file", "--output", "json", "--fail-on", "never"])
    assert json.loads(capsys.readouterr().out)["misfit"] == found.as_dict()


@pytest.mark.slow
def test_a_tolerance_that_a_format_cannot_hold_is_named(tmp_path: Path) -> None:
    fourbar = stating(mechanisms.planar_fourbar(), B=(1e-4, 1e-3))
    (finding,) = [d for d in rg.save(fourbar, tmp_path / "m.urdf") if d.code == "REG329"]
    assert "tolerances of `B` are lost" in finding.message
    assert not [d for d in rg.save(fourbar, tmp_path / "m.json") if d.code == "REG329"]


@pytest.mark.parametrize("wrong", [(0.0, 1e-3), (1e-4, -1.0), (float("nan"), 1.0), ("1deg", 1)])
def test_a_model_with_wrong_tolerances_is_refused(wrong: tuple[float, float]) -> None:
    with pytest.raises(rg.ModelError, match="tolerance"):
        stating(mechanisms.planar_fourbar(), A=wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nan,0.1deg", "not a positive"),
        ("0.1mm,-1deg", "not a positive"),
        ("0,1", "not a positive"),
        ((1e-4, float("inf")), "not a positive"),
        ("0.1furlong,1deg", "unit 'furlong'"),
        ("0.1deg,1mm", "unit 'deg'"),
        ("0.1mm", "one of rotation"),
        ((1e-4, True), "no number"),
        ({"Q": (1e-4, 1e-3)}, "no such joint"),
        ({"A": (1e-4, 0.0)}, "joint 'A': .*not a positive"),
        (["1mm,1deg", "2mm,1deg"], "given already"),
    ],
)
def test_wrong_tolerances(given: object, words: str) -> None:
    with pytest.raises(rg.ModelError, match=words):
        rg.misfit(mechanisms.planar_fourbar(), given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("suffix", "text", "words"),
    [
        ("csv", "joint,translation\nA,1\n", ":1: expected the columns"),
        ("csv", "joint,translation,rotation\nA,1mm\n", ":2: expected three"),
        ("csv", "joint,translation,rotation\nA,1mm,1deg\nZ,1,1\n", ":3: .*no such joint"),
        ("csv", "joint,translation,rotation\nA,1mm,1deg\nA,1,1\n", ":3: .*twice"),
        ("json", "5", "t.json: .*expected one entry for each joint"),
        ("json", "[5]", "expected joint, translation and rotation, found 5"),
        ("json", '[{"joint": "Z", "translation": 1, "rotation": 1}]', "no such joint"),
        ("json", '{"Z": [1, 1]}', "no such joint"),
        ("json", "{", "cannot be read as a table of joints"),
    ],
)
def test_wrong_tables(suffix: str, text: str, words: str, tmp_path: Path) -> None:
    table = tmp_path / f"t.{suffix}"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(rg.RegularizeError, match=words):
        rg.misfit(mechanisms.planar_fourbar(), table)


def test_what_is_rigid_cannot_be_closed() -> None:
    stiff = {"A": (1e6, 100.0)}
    found = rg.misfit(mechanisms.planar_fourbar(), (1e-4, 1e-3), stiff)
    assert found.entries[0].force_std is not None
    with pytest.raises(rg.ModelError, match="gives way"):
        rg.misfit(mechanisms.sarrus(), (1e-4, 1e-3), {})


def test_open_loops_are_named() -> None:
    *others, last = mechanisms.planar_fourbar().joints
    off = replace(last, T_child_joint=last.T_child_joint @ screws.transform(None, (0, 0, 2e-3)))
    with pytest.raises(rg.RegularizeError, match=r"cannot be closed: 2 mm"):
        rg.misfit(replace(mechanisms.planar_fourbar(), joints=(*others, off)), (1e-4, 1e-3))


@pytest.mark.slow
def test_without_stiffness_no_force_is_told_or_drawn() -> None:
    report = rg.check(mechanisms.planar_fourbar(), tolerance=(1e-4, 1e-3))
    drawn = page_of(report)
    pairs = re.findall(r"<td>([^<]* at most [^<]*)", drawn)
    assert len(pairs) == report.reduction.redundant
    assert all("N" not in words for words in pairs)
    assert str(report).count("(1σ), at most") == len(pairs)
    bars = re.findall(
        r'class="bar (\w+)"><i style="width:([\d.]+)%"></i><b style="width:([\d.]+)%"', drawn
    )
    assert len(bars) == len(pairs) and {what for what, *_ in bars} == {"gap"}
    assert all(float(solid) <= float(faint) <= 100.0 for _, solid, faint in bars)
    longest = [
        max(e.worst for e in report.misfit.entries if e.angular == kind) for kind in (False, True)
    ]
    assert [float(faint) for *_, faint in bars] == pytest.approx(
        [100.0 * e.worst / longest[e.angular] for e in report.misfit.entries], abs=0.06
    )


@pytest.mark.slow
def test_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ["--tolerance", "0.05mm,0.1deg", "--stiffness", "50N/um,2000Nm/rad"]
    main(["check", str(FOURBAR), *options, "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    assert len(report["misfit"]) == report["mobility"]["redundant"]
    assert {*report["misfit"][0]} == {"loop", "joint", "direction", "covector", "std", "worst"}
    assert len(report["stress"]["joints"]) == 4
    main(["check", str(FOURBAR), *options])
    assert "Lack of fit in redundant directions" in capsys.readouterr().out
    page = tmp_path / "page.html"
    main(["check", str(FOURBAR), *options, "--output", "html", "-o", str(page)])
    assert 'class="bar force"' in page.read_text(encoding="utf-8")
    assert main(["check", str(FOURBAR), "--tolerance", "0.05mm,-1deg"]) == 2
    assert main(["check", str(FOURBAR), "--stiffness", "1,1"]) == 2


@pytest.mark.slow
def test_loops_that_stay_open_have_no_misfit_but_the_names_are_checked() -> None:
    """The errors of their joints are no reason to refuse the report on what else there is."""
    arm = rg.Joint.in_world("A", "ground", "arm", "revolute", (0, 1, 0))
    far = rg.Joint.in_world("B", "ground", "arm", "spherical", point=(1, 0, 0), closure=True)
    shift = np.eye(4)
    shift[0, 3] = 5.0
    far = replace(far, T_parent_joint=far.T_parent_joint @ shift)
    mechanism = rg.Mechanism.of_joints("open", [arm, far])
    assert rg.check(mechanism, tolerance={"A": (1e-4, 1e-3)}).misfit is None
    with pytest.raises(rg.RegularizeError, match="C"):
        rg.check(mechanism, tolerance={"C": (1e-4, 1e-3)}, stiffness={"A": (1e6, 1e6)})
