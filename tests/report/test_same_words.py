"""One machine in several formats gets the same words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regularize as rg

TURN = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.diag([1.0, 2.0, 4.0]))[0]


def spatial_four_bar(balls: bool, *, driven: bool = False, apart: float = 0.0) -> rg.Mechanism:
    """A crank, a rod and a rocker; the rod's balls as such, or as three hinges each."""
    a = rg.assembly("four-bar")
    places = {"crank": (0.0, 0.1, 0.0), "rod": (0.3, 0.2, 0.2), "rocker": (0.6, 0.2, 0.2)}
    for name, com in places.items():
        a.body(name, mass=1.0, com=com, inertia=0.01 * np.eye(3))
    a.hinge("input", "ground", "crank", at=(0, 0, 0), axis=(1, 0, 0), actuated=True)
    a.hinge("output", "ground", "rocker", at=(0.6, 0, 0), axis=(0, 0.3, 1))
    joined = (("P", "crank", "rod", (0, 0.2, 0)), ("Q", "rocker", "rod", (0.6, 0.3, 0.4)))
    for name, one, other, at in joined:
        if balls:
            a.ball(name, one, other, at=at)
            continue
        bodies = [one, f"{name}_1", f"{name}_2", other]
        for frame in bodies[1:3]:
            a.body(frame, mass=0.0, com=at, inertia=np.zeros((3, 3)))
        for k, axis in enumerate(TURN):
            place = np.array(at) + (apart * TURN[1] if k == 0 else 0.0)
            ends = bodies[k : k + 2]
            a.hinge(f"{name}{k}", *ends, at=place, axis=axis, actuated=driven and k == 1)
    return a.mechanism()


def words(report: rg.Report) -> tuple[object, ...]:
    numbers = report.as_dict()["mobility"]
    spins = [(row.bodies, row.slides, np.round(row.axis, 9).tolist()) for row in report.passive]
    return numbers["actual"], numbers["redundant"], numbers["passive"], spins


def test_three_hinges_through_one_point_are_a_ball() -> None:
    ball, hinges = (rg.check(spatial_four_bar(balls)) for balls in (True, False))
    assert words(ball)[:3] == (2, 0, 1)
    assert words(hinges) == words(ball)
    (spin,) = (each for each in hinges.diagnostics if each.code == "REG207")
    assert spin.joints == ("P2", "P1", "P0", "Q2", "Q1", "Q0")


@pytest.mark.parametrize("options", [{"driven": True}, {"apart": 0.02}])
def test_driven_hinges_and_those_that_miss_each_other_are_none(options: dict[str, float]) -> None:
    assert rg.check(spatial_four_bar(False, **options)).passive == ()  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_platform_that_turns_about_one_point_is_not_passive() -> None:
    """Three legs of hinges through one point, nothing with a mass: what it does is its motion."""
    for skew in (0.0, 0.3):
        joints = []
        for leg in range(3):
            bodies = ["ground", f"crank {leg}", f"rod {leg}", "platform"]
            axes = np.roll(TURN, leg, axis=0) @ [np.eye(3), TURN, TURN.T][leg]
            axes += skew * np.roll(axes, 1, axis=0)
            joints += [
                rg.Joint.in_world(
                    f"J{leg}{k}", *bodies[k : k + 2], "revolute", axes[k], np.zeros(3)
                )
                for k in range(3)
            ]
        report = rg.check(rg.Mechanism.of_joints("spherical platform", joints))
        assert words(report) == (3, 6, 0, [])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["urdf", "xml", "sdf"])
def test_formats_say_the_same(tmp_path: Path, suffix: str) -> None:
    machine = spatial_four_bar(True)
    rg.save(machine, tmp_path / f"machine.{suffix}")
    assert words(rg.check(tmp_path / f"machine.{suffix}")) == words(rg.check(machine))


def test_as_many_rows_of_a_truss_go_in_every_format(tmp_path: Path) -> None:
    """A square with both diagonals: one bar more than it takes."""
    corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
    bars = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)]
    truss = rg.assembly("truss")
    for k in range(1, 6):
        truss.body(f"bar {k}", mass=1.0, inertia=0.01 * np.eye(3))
    for corner, (x, y) in enumerate(corners):
        ends = [f"bar {k}" if k else "ground" for k, bar in enumerate(bars) if corner in bar]
        for end in ends[1:]:
            truss.hinge(f"{corner} {end}", ends[0], end, at=(x, y, 0), axis=(0, 0, 1))
    machine = truss.mechanism()
    rg.save(machine, path := tmp_path / "truss.urdf", format="urdf+")
    models = [machine, path]
    for suffix in ("xml", "sdf"):
        rg.save(machine, path := tmp_path / f"truss.{suffix}")
        models.append(path)
    found = [rg.reduce(model, configurations=2) for model in models]
    assert {(each.mobility, each.redundant, each.removed) for each in found} == {(0, 10, 9)}
