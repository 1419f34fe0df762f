"""The motion of platforms by name, as Merlet, and Kong and Gosselin, classify parallel robots."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import leg, moved, spherical_9r, three_prrr
from parallel_robots import asset, tricept, turned
from scipy.spatial.transform import Rotation
from screws import transform

import regularize as rg

pytestmark = pytest.mark.slow
X, Y, Z = np.eye(3)


def three_legs(kinds: str, lean: float = 0.0) -> rg.Mechanism:
    """Three legs of a hinge across the plane of the leg, a slide and a ball, in some order."""
    joints = []
    for k in range(3):
        angle = 2 * np.pi * k / 3
        base, top = turned(0.5 * X, angle), turned(0.3 * X, angle) + Z + lean * np.array([0, 0, k])
        across, way = turned(Y, angle), top - base
        axes = [across if kind == "R" else way / np.linalg.norm(way) for kind in kinds]
        middle = (base + top) / 2
        if kinds == "PRS":
            axes[0] = Z
        joints += leg("abc"[k], "ground", "plate", kinds, axes, np.array([base, middle, top]))
    return rg.Mechanism.of_joints(kinds, joints)


def planar_3rrr() -> rg.Mechanism:
    joints = []
    for k in range(3):
        base, top = turned(X, 2.1 * k), turned(0.3 * X, 2.1 * k + 0.2)
        elbow = (base + top) / 2 + turned(0.4 * Y, 2.1 * k)
        joints += leg("abc"[k], "ground", "plate", "RRR", [Z] * 3, np.array([base, elbow, top]))
    return rg.Mechanism.of_joints("3-RRR", joints)


PROVED = {
    "planar 3-RRR": (planar_3rrr, "2T1R"),
    "spherical 3-RRR": (spherical_9r, "3R"),
    "3-PRRR": (three_prrr, "3T"),
    "Schoenflies": (asset("schoenflies_four_legs"), "3T1R"),
    "Stewart": (asset("stewart_6ups"), "3T3R"),
}
SEEN = {
    "Delta": (asset("delta_parallelograms"), "3T"),
    "Delta with universal joints": (asset("delta_universal"), "3T"),
    "4-RUU": (asset("mobility/four_ruu"), "3T1R"),
    "Quadrupteron": (asset("quadrupteron"), "3T1R"),
    "Exechon": (asset("mobility/exechon"), "2R1T"),
    "Tricept": (tricept, "2R1T"),
    "3-RPS": (lambda: three_legs("RPS"), "2R1T"),
    "3-RPS, tilted": (lambda: three_legs("RPS", 0.05), "2R1T"),
    "3-PRS": (lambda: three_legs("PRS"), "2R1T"),
    "3-SPR": (lambda: three_legs("SPR"), "2R1T"),
}
ALL = [(name, *pair, True) for name, pair in PROVED.items()]
ALL += [(name, *pair, False) for name, pair in SEEN.items()]


@pytest.mark.parametrize(("make", "name", "proved"), [e[1:] for e in ALL], ids=[e[0] for e in ALL])
def test_platforms_move_as_the_literature_calls_it(
    make: Callable[[], rg.Mechanism], name: str, proved: bool
) -> None:
    report = rg.check(make())
    (platform,) = report.as_dict()["platforms"]
    assert report.as_dict()["platform"] == [platform] and platform["motion"] == name
    assert (
        platform["rotations"] + platform["translations"] == report.as_dict()["mobility"]["finite"]
    )
    where = f"at {platform['configurations']} configurations"
    assert f"{name} (" in str(report)
    assert (", and never otherwise" if proved else where) in " ".join(str(report).split())
    assert (platform["evidence"], platform["configurations"] > 1) == (
        "proved" if proved else "moved",
        True,
    )


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**20))
def test_names_do_not_depend_on_where_a_robot_stands(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = transform(Rotation.random(random_state=seed).as_matrix(), rng.normal(size=3))
    for mechanism, name in ((three_legs("RPS"), "2R1T"), (planar_3rrr(), "2T1R")):
        (platform,) = rg.check(moved(mechanism, T)).as_dict()["platforms"]
        assert (platform["body"], platform["legs"], platform["motion"]) == ("plate", 3, name)


@pytest.mark.parametrize(
    ("name", "motions"), [("three_upu_snu", ["3T", "2R1T"]), ("wren_platform", ["2T", None])]
)
def test_each_branch_has_its_own_platform(name: str, motions: list[str], assets: Path) -> None:
    """Of the second branch of Wren's platform the motion has one freedom."""
    report = rg.check(assets / "mobility" / f"{name}.urdf")
    assert [entry and entry["motion"] for entry in report.as_dict()["platform"]] == motions
    assert f"{motions[0]} (" in str(report) and "on branch 1 at" in str(report)
    branch = rg.check(report.mechanism, branch=1).as_dict()["platform"]
    assert [entry["motion"] for entry in branch] == motions[:1]


@pytest.mark.parametrize("name", ["planar_fourbar", "sarrus", "walker"])
def test_what_has_one_freedom_or_no_platform_has_no_name(name: str, assets: Path) -> None:
    assert json.loads(json.dumps(rg.check(assets / f"{name}.urdf").as_dict()))["platforms"] == []


def test_of_equal_bodies_none_is_the_platform() -> None:
    """Both couplers of a five-bar have two freedoms."""
    points = np.array([[0, 0], [-0.3, 0.6], [0.4, 1.1], [1.2, 0.7], [1, 0]]) @ np.eye(2, 3)
    bodies = ["ground", "left", "one", "two", "right"]
    joints = [
        rg.Joint.in_world(f"J{k}", bodies[k], bodies[(k + 1) % 5], "revolute", Z, point)
        for k, point in enumerate(points)
    ]
    report = rg.check(rg.Mechanism.of_joints("five-bar", joints)).as_dict()
    assert report["mobility"]["finite"] == 2 and report["platforms"] == []
