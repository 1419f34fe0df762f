"""The text report: golden outputs, and what must hold at any width."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.checking import Report
from regularize.model.mechanism import Coupling, joint_in_world, mechanism_of
from regularize.render import view
from regularize.render.text import render
from regularize.report.open_loops import open_loops

TEN = (
    "bennett",
    "delta_parallelograms",
    "gripper",
    "knee_leg",
    "nearly_planar_fourbar",
    "planar_fourbar",
    "rssr",
    "sarrus",
    "three_prrr",
    "walker",
)


@pytest.fixture(scope="module")
def reports(assets: Path) -> Callable[[str], Report]:
    """Reports by name of the asset, each made once; paths are relative."""
    made: dict[str, Report] = {}

    def of(name: str) -> Report:
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(assets)
                made[name] = rg.check(rg.load(f"{name}.urdf"))
        return made[name]

    return of


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", TEN)
def test_golden(
    name: str,
    width: int,
    reports: Callable[[str], Report],
    golden: Callable[[str, str], None],
) -> None:
    golden(f"{name}-{width}.txt", render(reports(name), width=width))


@pytest.mark.parametrize("name", TEN)
@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_but_commands_is_wider_than_the_terminal(
    name: str, width: int, reports: Callable[[str], Report]
) -> None:
    lines = render(reports(name), width=width, verbosity=1).splitlines()
    assert all(len(line) <= width or line.startswith("    regularize") for line in lines)


def test_the_verdict_comes_first(reports: Callable[[str], Report]) -> None:
    lines = render(reports("planar_fourbar"), width=100).splitlines()
    assert lines[1].startswith("3 redundant constraint equations, consistent")
    assert lines[2] == "True mobility 1, Grübler count −2."


def test_quiet_gives_the_verdict_alone(reports: Callable[[str], Report]) -> None:
    lines = render(reports("walker"), verbosity=-1).splitlines()
    assert 3 < len(lines) < 9
    assert "36 redundant constraint equations" in lines[1]


def test_alike_loops_are_told_once_and_verbose_tells_each(
    reports: Callable[[str], Report],
) -> None:
    report = reports("walker")
    usual, verbose = render(report), render(report, verbosity=1)
    assert usual.count("warning[REG201]") == 2
    assert verbose.count("warning[REG201]") == 12
    assert "likewise 7 more loops" in usual
    assert len(usual.splitlines()) < 70


def test_top_limits_the_loops_shown_in_full(reports: Callable[[str], Report]) -> None:
    report = reports("three_prrr")
    assert render(report, top=1).count("already fixed by") == 1
    assert render(report, top=2).count("already fixed by") == 2


def test_every_redundancy_names_the_joints_that_cause_it(
    reports: Callable[[str], Report],
) -> None:
    text = render(reports("sarrus"), width=200)
    assert "B2 and A2 generate planar motion only (normal along X)" in text
    assert "A1, B1 and C1 generate planar motion only (normal along Y)" in text
    others = render(reports("three_prrr"), width=200)
    assert "rotation about X: ruled out by the other loops" in others


def test_names_of_the_moving_bodies(reports: Callable[[str], Report]) -> None:
    moves = dict(view.moves(reports("slider_crank"), most=1))
    assert moves["slider"].startswith("slides along")
    assert moves["crank"].startswith("rotates about")
    moves = dict(view.moves(reports("three_prrr"), most=1))
    assert moves["platform"] == "translates in space without turning"


def test_the_way_out_is_a_command_that_is_never_broken(
    reports: Callable[[str], Report],
) -> None:
    lines = render(reports("planar_fourbar"), width=40).splitlines()
    assert "    regularize reduce planar_fourbar.urdf -o reduced/" in lines


def test_proposed_joints_are_in_the_report(reports: Callable[[str], Report]) -> None:
    words = [words for words, _ in view.remedies(reports("sarrus"))]
    assert any("make C2 universal" in entry for entry in words)


def test_conflicting_loop_names_the_directions() -> None:
    """A hinge that is twisted by a degree against the three others cannot close the loop."""
    points = [(0, 0, 0), (0.1, 0, 0.2), (0.6, 0, 0.3), (0.5, 0, 0)]
    bodies = ["ground", "crank", "coupler", "rocker"]
    joints = [
        joint_in_world(
            "ABCD"[i], bodies[i], bodies[(i + 1) % 4], "revolute", (0, 1, 0), point=points[i]
        )
        for i in range(4)
    ]
    from dataclasses import replace

    angle = np.radians(1.0)
    twist = np.eye(4)
    twist[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    joints[3] = replace(joints[3], T_child_joint=joints[3].T_child_joint @ twist, closure=True)
    report = rg.check(mechanism_of("twisted", joints))
    assert [d.code for d in report.diagnostics if d.severity == "error"] == ["REG205"]
    text = render(report)
    assert "cannot be closed" in text.splitlines()[1]
    assert "rotation about" in text
    assert not report.reduction.assembly.closed


@pytest.mark.parametrize(("count", "each"), [(2, True), (7, False)])
def test_tables_of_several_components(count: int, each: bool) -> None:
    """Each has its rows where they are few; many alike ones share theirs."""
    joints = []
    for k in range(count):
        for name, parent, child, x, z in (
            ("A", "ground", "crank", 0.0, 0.0),
            ("B", "crank", "coupler", 0.3, 0.4),
            ("C", "coupler", "rocker", 1.2, 0.6),
            ("D", "ground", "rocker", 1.0, 0.0),
        ):
            one, other = (p if p == "ground" else f"{p}{k}" for p in (parent, child))
            joints.append(
                joint_in_world(f"{name}{k}", one, other, "revolute", (0, 1, 0), (x, 3.0 * k, z))
            )
    report = rg.check(mechanism_of("bars", joints))
    assert len(report.components) == count
    text = render(report)
    assert f"{count} components" in text
    rows = [line for line in text.splitlines() if report.components[-1].name in line]
    assert bool(rows) == each
    total = next(line for line in text.splitlines() if line.strip().startswith("all "))
    assert str(3 * count) in total.split()


def test_a_mobility_that_is_not_known_is_told_to_first_order() -> None:
    reduction = SimpleNamespace(
        assembly=SimpleNamespace(closed=True),
        mobility=2,
        finite_mobility=None,
        kinematotropic=False,
        gruebler=-1,
    )
    report: Any = SimpleNamespace(reduction=reduction, passive=())
    words = view.counts(report)
    assert words.startswith("True mobility not known, 2 to first order, Grübler count −1.")


def test_loops_without_an_obstacle_are_named_by_their_gaps() -> None:
    mechanism = mechanism_of(
        "two", [joint_in_world(name, "ground", name.lower(), "revolute") for name in "DE"]
    )
    gaps = [
        SimpleNamespace(joint="D", translation=2e-3, rotation=0.0),
        SimpleNamespace(joint="E", translation=1e-5, rotation=0.0),
    ]
    assembly = SimpleNamespace(obstacles=(), worst_after=(2e-3, 0.0), after=gaps)
    reduction: Any = SimpleNamespace(assembly=assembly, mechanism=mechanism)
    (found,) = open_loops(reduction, ())
    assert (found.code, found.joints) == ("REG101", ("D",))
    assert "in which less than 2 mm and 0°" in found.message


def test_a_locked_mechanism_without_redundancy_and_one_with_a_coupling_are_named() -> None:
    gear = Coupling("gear", "gear", (("A", 0, 1.0), ("B", 0, -2.0)))
    hinges = [
        joint_in_world("A", "ground", "a", "revolute", (0, 1, 0)),
        joint_in_world("B", "ground", "b", "revolute", (0, 1, 0), (1, 0, 0)),
    ]
    report = rg.check(mechanism_of("gears", hinges, couplings=[gear]))
    assert "1 coupling" in view.headline(report)[1]
    legs = []
    rng = np.random.default_rng(0)
    for k in range(6):
        for side, parent, child in (("low", "ground", f"leg{k}"), ("high", f"leg{k}", "plate")):
            kind = "universal" if side == "low" else "spherical"
            legs.append(joint_in_world(f"{side}{k}", parent, child, kind, point=rng.normal(size=3)))
    status, words = view.verdict(rg.check(mechanism_of("truss", legs)))
    assert (status, words) == (
        "warning",
        "Locked: the loops allow no motion. No redundant constraints.",
    )
