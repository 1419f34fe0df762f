"""Gaps in redundant directions, closed by the least change of joint frames."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mechanisms
import noise_table
import numpy as np
import pytest
import screws
from numpy.typing import ArrayLike

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[3] / "assets"
NONE = (0.0, 0.0, 0.0)


def off(
    mechanism: rg.Mechanism, name: str, shift: ArrayLike, turn: ArrayLike = NONE
) -> rg.Mechanism:
    """The frame of a joint on its child moved in the world, at the reference pose."""
    T = screws.exp(np.append(shift, turn).astype(float))
    joints = [
        replace(joint, T_child_joint=T @ joint.T_child_joint) if joint.name == name else joint
        for joint in mechanism.joints
    ]
    return replace(mechanism, joints=tuple(joints))


def triangle() -> rg.Mechanism:
    return mechanisms.single_loop(
        "triangle", "RRR", [mechanisms.Z] * 3, [NONE, (1, 0, 0), (0, 1, 0)]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "joint", "shift", "turn", "redundant", "removed", "mobility"),
    [
        (mechanisms.planar_fourbar, "B", (0, 0, 2e-3), (5e-3, 3e-3, 0), 3, 3, 1),
        (mechanisms.spherical_fourbar, "D", (1e-3, 0, 5e-4), NONE, 3, 3, 1),
        (mechanisms.three_cranks, "c2", (0, 0, 2e-3), (3e-3, 0, 0), 7, 6, 1),
        (mechanisms.bennett, "D", (1e-3, 0, 5e-4), NONE, 3, 1, 1),
        (triangle, "C", (0, 0, 2e-3), NONE, 3, 3, 0),
    ],
)
def test_loops_close_and_move(
    make: Callable[[], rg.Mechanism],
    joint: str,
    shift: ArrayLike,
    turn: ArrayLike,
    redundant: int,
    removed: int,
    mobility: int,
) -> None:
    mechanism = off(make(), joint, shift, turn)
    found = rg.absorb_gaps(mechanism)
    assert found.changed and not found.left
    size = np.hypot(np.linalg.norm(shift), np.linalg.norm(turn))
    assert max(np.hypot(*move) for move in found.moves.values()) < 1.5 * size
    reduction = rg.reduce(found.mechanism, configurations=0)
    assert reduction.assembly.closed
    assert (reduction.mobility, reduction.finite_mobility) == (mobility, mobility)
    assert (reduction.redundant, reduction.removed) == (redundant, removed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "joint", "shift", "turn"),
    [
        # Coordinates take most of it up, and could close the rest far away.
        (mechanisms.bennett, "B", (8.2e-4, 3.3e-4, -1.3e-3), (9e-4, 4.5e-4, -5.4e-4)),
        # Flat and singular: solved far away from where it is drawn.
        (
            noise_table.asset("roberval_balance.urdf"),
            "right_lower",
            (-5e-4, -4e-4, -2.4e-3),
            (1.8e-3, 1.1e-3, -3e-4),
        ),
        # All that the axes miss each other by.
        (mechanisms.spherical_fourbar, "B", (8.2e-4, 3.3e-4, -1.3e-3), (9e-4, 4.5e-4, -5.4e-4)),
    ],
    ids=["bennett", "roberval", "spherical"],
)
def test_the_machine_stays_the_one_that_was_meant(
    make: Callable[[], rg.Mechanism], joint: str, shift: ArrayLike, turn: ArrayLike
) -> None:
    exact = rg.reduce(make(), configurations=0)
    found = rg.absorb_gaps(off(make(), joint, shift, turn))
    (loops,) = found.closed
    assert (loops.motions, loops.meant) == (exact.finite_mobility, exact.finite_mobility)
    after = rg.reduce(found.mechanism, configurations=0)
    for name in ("mobility", "finite_mobility", "redundant", "removed"):
        assert getattr(after, name) == getattr(exact, name), name
    (finding,) = found.findings()
    assert f"then {exact.mobility}, and {exact.redundant} of their" in finding.message


@pytest.mark.slow
def test_a_gap_that_is_smaller_than_what_locks_says_so() -> None:
    locked = rg.load(ASSETS / "nearly_planar_fourbar.urdf")
    found = rg.absorb_gaps(off(locked, "D", NONE, (4e-5, 0, 0)))
    assert found.changed
    assert rg.reduce(found.mechanism, configurations=0).finite_mobility == 0
    codes = [finding.code for finding in found.findings()]
    assert codes == ["REG225", "REG229"]


@pytest.mark.slow
def test_what_cannot_be_assembled_stays_open() -> None:
    longer, across = 1e-3, 1e-3
    stretched = mechanisms.single_loop(
        "stretched", "RRRR", [mechanisms.Z] * 4, [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)]
    )
    mechanism = off(stretched, "D", (longer, 0, across))
    found = rg.absorb_gaps(mechanism)
    assert found.mechanism is mechanism and not found.changed
    (gap,) = found.left
    assert gap.translation == pytest.approx(np.hypot(longer, across), rel=1e-3)
    (finding,) = found.findings()
    assert finding.code == "REG226" and "not absorbed" in finding.message


def test_closed_loops_are_left_alone() -> None:
    mechanism = mechanisms.planar_fourbar()
    found = rg.absorb_gaps(mechanism)
    assert found.mechanism is mechanism
    assert not [*found.findings()]


def urdf() -> str:
    """A tilted four-bar with its last hinge 2 mm off along its axis."""
    text = (ASSETS / "planar_fourbar.urdf").read_text(encoding="utf-8")
    origin = '<successor link="ground"><origin xyz="'
    start = text.index(origin) + len(origin)
    end = text.index('"', start)
    xyz = np.array(text[start:end].split(), dtype=float) + 2e-3 * np.array([3, -6, 2]) / 7
    return text[:start] + " ".join(map(str, xyz)) + text[end:]


MJCF = """<mujoco>
  <!-- 2 mm off -->
  <worldbody>
    <site name="foot1" pos="1 0 0.002"/> <site name="foot2" pos="1 0 0.102"/>
    <body name="crank">
      <joint name="A" axis="0 0 1"/><geom type="sphere" size="0.05" mass="1"/>
      <body name="coupler" pos="0.1 0.3 0">
        <joint name="B" axis="0 0 1"/><geom type="sphere" size="0.05" mass="1"/>
        <body name="rocker" pos="0.8 0.2 0" euler="0 0 10">
          <joint name="C" axis="0 0 1"/><geom type="sphere" size="0.05" mass="1"/>
          <site name="end1" pos="0.01 -0.51 0"/> <site name="end2" pos="0.01 -0.51 0.1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect name="D" site1="end1" site2="foot1"/><connect name="D2" site1="end2" site2="foot2"/>
  </equality>
</mujoco>
"""
SDF = """<sdf version="1.9">
  <model name="linkage">
    <link name="base"/><link name="crank"/><link name="coupler"/><link name="rocker"/>
    <frame name="foot" attached_to="base"><pose>1 0 0.002 0.002 0 0</pose></frame>
    <frame name="tip" attached_to="crank"><pose>0.1 0.3 0 0 0 0</pose></frame>
    <frame name="top" attached_to="coupler"><pose>0.8 0.2 0 0 0 0</pose></frame>
    <frame name="end" attached_to="rocker"><pose>0.1 -0.5 0 0 0 0</pose></frame>
    <joint name="W" type="fixed"><parent>world</parent><child>base</child></joint>
    <joint name="A" type="revolute"><parent>base</parent><child>crank</child><axis/></joint>
    <joint name="B" type="revolute"><parent>tip</parent><child>coupler</child><axis/></joint>
    <joint name="C" type="revolute"><parent>top</parent><child>rocker</child><axis/></joint>
    <joint name="D" type="revolute"><parent>foot</parent><child>end</child><axis/></joint>
  </model>
</sdf>
""".replace("<axis/>", "<axis><xyz>0 0 1</xyz></axis>")


def written(kind: str, folder: Path) -> Path:
    path = folder / f"gap.{kind}"
    if kind == "json":
        rg.save(off(mechanisms.planar_fourbar(), "D", (0, 0, 2e-3)), path)
        return path
    path.write_text({"urdf": urdf, "xml": lambda: MJCF, "sdf": lambda: SDF}[kind](), "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["urdf", "xml", "sdf", "json"])
def test_files_get_the_changed_frames(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path)
    fix = rg.fix(path, {}, absorb_gaps=True)
    assert fix.moves and not fix.changes
    assert all(max(move) < 5e-3 for move in fix.moves.values())
    closed = rg.load(fix.write(tmp_path / f"closed.{kind}"))
    reduction = rg.reduce(closed, configurations=0)
    assert reduction.assembly.closed
    assert (reduction.mobility, reduction.redundant) == (1, 3)


@pytest.mark.slow
def test_a_file_is_closed_and_made_isostatic(tmp_path: Path) -> None:
    fix = rg.fix(written("json", tmp_path), absorb_gaps=True)
    assert fix.moves and fix.changes
    assert fix.reduction.redundant == 0 and fix.reduction.assembly.closed


def across(folder: Path) -> Path:
    """The FreeCAD assembly of a crank and a slider, one hinge 2 mm off across the plane."""
    path = folder / "crank_slider.FCStd"
    with zipfile.ZipFile(ASSETS / path.name) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member == "Document.xml":
                head, name, text = data.decode().partition('<Object name="C">')
                data = (head + name + text.replace('Py="12.', 'Py="14.', 1)).encode()
            new.writestr(member, data)
    return path


@pytest.mark.slow
@pytest.mark.formats("freecad")
def test_what_a_file_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    path = across(tmp_path)
    with pytest.raises(
        rg.UnsupportedExport, match="2 mm stay open at joint 'D', and no joint frame"
    ):
        rg.fix(path, absorb_gaps=True)
    reduction = rg.reduce(rg.load(path, absorb_gaps=True), configurations=0)
    assert (reduction.mobility, reduction.redundant, reduction.removed) == (1, 3, 3)


@pytest.mark.slow
def test_every_verb_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written("urdf", tmp_path))
    assert main(["check", path]) == 1
    said = capsys.readouterr().out
    assert "error[REG205]" in said and "--absorb-gaps" in said
    main(["check", path, "--absorb-gaps", "-v"])
    said = capsys.readouterr().out
    assert "note[REG225]" in said and "`D`: 0.25 mm" in said and "REG205" not in said
    folder = f"{tmp_path / 'reduced'}/"
    assert main(["reduce", path, "-o", folder, "--absorb-gaps"]) == 0
    assert "REG225" in capsys.readouterr().err
    assert main(["fix", path, "--in-place", "--absorb-gaps"]) == 0
    assert "D: frame moved by 0.4 mm" in capsys.readouterr().out
    assert rg.reduce(rg.load(path)).assembly.closed
