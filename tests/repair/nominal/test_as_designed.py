"""Rounded geometry: the mechanism that was meant is found again, about as far away as the noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mechanisms
import noise_table
import numpy as np
import pytest
import screws

import regularize as rg
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import project
from regularize.mechanism.graph_building import build
from regularize.repair.nominal.nearest import JointPlaces
from regularize.repair.nominal.relations import Axes, AxisRelation, missed_relations

ASSETS = Path(__file__).resolve().parents[3] / "assets"


@pytest.mark.parametrize("make", [mechanisms.three_prrr, mechanisms.sarrus, mechanisms.bennett])
def test_derivatives_by_places(make) -> None:
    mechanism = make()
    graph = build(mechanism)
    q = rg.assemble(graph).q
    loops = sized_loops(graph, q)
    places = JointPlaces(loops, loops.state(q))
    rng = np.random.default_rng(0)
    elsewhere = project(loops, (q + 0.2 * rng.normal(size=len(q)))[None]).q
    derivative = places.derivative(loops.state(elsewhere))[0]
    moves = 1e-6 * rng.normal(size=derivative.shape[1])

    def errors(moves: np.ndarray) -> np.ndarray:
        moved = sized_loops(build(places.moved(mechanism, moves)), q)
        moved = moved.measured(loops.length, loops.center)
        return moved.residual(moved.state(elsewhere))[0]

    difference = 0.5 * (errors(moves) - errors(-moves))
    assert np.allclose(derivative @ moves, difference, atol=1e-14)


CASES = [
    ("planar_fourbar", 1e-3),
    ("spherical_fourbar", 1e-4),
    ("spherical_fourbar", 1e-3),
    ("bennett", 1e-3),
    ("bricard", 1e-4),
    ("schatz", 1e-4),
    ("three_prrr", 1e-4),
    ("three_cranks", 1e-4),
    ("roberval_balance", 1e-4),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noise"), CASES, ids=lambda value: f"{value}")
def test_what_was_meant_is_found(name: str, noise: float) -> None:
    mechanism = noise_table.MECHANISMS[name]()
    exact = rg.reduce(mechanism, configurations=0)
    found = rg.idealise(noise_table.noisy(mechanism, noise))
    assert found.changed
    assert found.written.finite_mobility != exact.finite_mobility
    assert found.reduction.mobility == exact.mobility
    assert found.reduction.finite_mobility == exact.finite_mobility
    translation, rotation = found.distance
    distance = max(translation / noise_table.size(mechanism), rotation)
    assert noise / 3 <= distance <= 3 * noise


@pytest.mark.slow
def test_axes_that_are_meant_to_meet_are_an_assumption() -> None:
    """Where frames lie far off along axes that nearly meet, they alone say how large it is."""
    report = rg.check(noise_table.noisy(mechanisms.spherical_fourbar(), 1e-3))
    (finding,) = [d for d in report.diagnostics if d.code == "REG219"]
    assert finding.severity == "note"
    assert "if they are meant to meet there, then as designed" in finding.message
    (assumed,) = report.as_dict()["as_designed"]["assumed"]
    assert assumed["meeting"] == ["A", "B", "C", "D"]
    assert 3e-4 < assumed["missed"] < 3e-3
    report = rg.check(noise_table.noisy(mechanisms.spherical_fourbar(), 1e-4))
    assert report.as_dict()["as_designed"]["assumed"] == []


@pytest.mark.slow
def test_what_is_not_found_is_said_to_be_undecided() -> None:
    noisy = noise_table.noisy(mechanisms.bennett(), 1e-2)
    # Nobody rounds so much who writes all digits: it is only said by how much it stays open.
    in_full = {d.code for d in rg.check(noisy).diagnostics}
    assert "REG205" in in_full and "REG223" not in in_full
    # A loop that was stored open and closes elsewhere, where it is rigid, has such numbers.
    stored_open = noise_table.noisy(mechanisms.sarrus(), 1e-2)
    assert "REG223" in {d.code for d in rg.check(stored_open, configurations=2).diagnostics}


@pytest.mark.slow
def test_two_mechanisms_that_may_have_been_meant_are_named() -> None:
    """A planar five-bar with two hinges that are tilted, one a hundred times as much."""
    points = [(0, 0, 0), (0.2, 0.8, 0), (0.9, 1.1, 0), (1.5, 0.7, 0), (1.4, 0, 0)]
    bodies, tilts = ["ground", "a", "b", "c", "d", "ground"], [0.0, 2e-5, 0.0, 2e-3, 0.0]
    joints = []
    for k, (point, tilt) in enumerate(zip(points, tilts, strict=True)):
        axis = (0.0, -np.sin(tilt), np.cos(tilt))
        joints.append(rg.Joint.in_world(f"J{k}", bodies[k], bodies[k + 1], "revolute", axis, point))
    report = rg.check(rg.Mechanism.of_joints("five-bar", joints), configurations=2)
    said = report.as_dict()["as_designed"]
    (other,) = said["others"]
    assert (said["mobility"], other["mobility"], other["redundant"]) == (1, 2, 3)
    assert 5e-6 < said["distance"]["rotation_rad"] < 2e-5
    assert 5e-4 < other["distance"]["rotation_rad"] < 2e-3
    assert "another mechanism is near as well" in " ".join(str(report).split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [mechanisms.planar_fourbar(), mechanisms.bennett(), mechanisms.three_prrr(), mechanisms.rssr()],
    ids=lambda mechanism: mechanism.name,
)
def test_exact_geometry_is_left_alone(mechanism: rg.Mechanism) -> None:
    found = rg.idealise(mechanism)
    assert not found.changed
    assert found.mechanism is mechanism
    assert found.distance == (0.0, 0.0)


def test_what_is_far_from_moving_is_left_alone() -> None:
    rng = np.random.default_rng(5)
    rigid = mechanisms.single_loop(
        "rigid", "RRRRR", rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    )
    assert not rg.idealise(rigid).changed


def tilted(mechanism: rg.Mechanism, name: str, turn: tuple[float, ...]) -> rg.Mechanism:
    """Both frames of a joint turned a little."""
    T = screws.exp(np.array([0.0, 0.0, 0.0, *turn]))
    joints = (
        replace(j, T_parent_joint=j.T_parent_joint @ T, T_child_joint=j.T_child_joint @ T)
        if j.name == name
        else j
        for j in mechanism.joints
    )
    return replace(mechanism, joints=tuple(joints))


@pytest.mark.slow
def test_relations_are_named() -> None:
    off = mechanisms.planar_fourbar()
    found = rg.idealise(tilted(off, "A", (2e-4, 0.0, 0.0)))
    (relation,) = [r for r in found.relations if r.kind == "parallel axes"]
    assert set(relation.joints) == {joint.name for joint in off.joints}
    assert relation.rotation == pytest.approx(2e-4, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("away", [0.0, 1e4])
def test_hinges_of_a_door_are_coaxial(away: float) -> None:
    """Lengths are measured where the door is, wherever that is."""
    door = rg.assembly("door")
    door.body("leaf")
    door.body("knob")
    door.hinge("lower", "ground", "leaf", at=(0, 0, 0), axis=mechanisms.Z)
    door.hinge("upper", "ground", "leaf", at=(3e-4, 0, 2), axis=mechanisms.Z)
    door.hinge("far", "leaf", "knob", at=(1, 0, 0), axis=mechanisms.Z)
    place = screws.transform(None, [away, -away, 0.5 * away])
    found = rg.idealise(
        mechanisms.moved(tilted(door.mechanism(), "upper", (0.0, 2e-4, 0.0)), place)
    )
    (relation,) = [r for r in found.relations if r.kind == "coaxial joints"]
    assert set(relation.joints) == {"lower", "upper"}
    assert relation.rotation == pytest.approx(2e-4, rel=1e-3)
    # In the middle, and about there: the tilt has moved the upper axis by 2e-4 of the way down.
    assert 1e-5 < relation.translation < 6e-4


def of_links(lines: list[tuple[np.ndarray, list[float], float]], body: int | None = None) -> Axes:
    """Axes of joints in a row, or all of one body: a direction, a point and a pitch each."""
    names = tuple("ABCDEF"[: len(lines)])
    directions = np.array([direction / np.linalg.norm(direction) for direction, _, _ in lines])
    points = np.array([point for _, point, _ in lines])
    points -= np.sum(points * directions, axis=1)[:, None] * directions
    ends = [frozenset((k if body is None else body, k + 1)) for k in range(len(lines))]
    return Axes(names, directions, points, tuple(ends), np.array([h for _, _, h in lines]))


def missed(kind: str, written: Axes, meant: Axes) -> list[AxisRelation]:
    return [r for r in missed_relations(written, meant, 1.0, 1e-2) if r.kind == kind]


def test_axes_of_a_body_in_one_plane() -> None:
    z = mechanisms.Z
    row = [(z, [0.0, 0.0, 0.0], 0.0), (z, [0.4, 0.0, 0.0], 0.0), (z, [1.0, 0.0, 0.0], 0.0)]
    beside = [*row[:2], (z, [1.0, 3e-4, 0.0], 0.0)]
    meant, written = of_links(row, 0), of_links(beside, 0)
    (relation,) = missed("axes in one plane", written, meant)
    assert relation.joints == ("A", "B", "C")
    assert relation.rotation == 0.0
    assert 3e-5 < relation.translation < 3e-4
    assert not missed("axes in one plane", meant, meant)
    assert not missed("axes in one plane", written, written)
    # Of a chain it is the pose that puts them there, and a coaxial one is in every plane.
    assert not missed("axes in one plane", of_links(beside), of_links(row))
    twice = [*row[:2], (z, [0.4, 0.0, 1.0], 0.0)]
    aside = [*row[:2], (z, [0.4, 3e-4, 1.0], 0.0)]
    assert not missed("axes in one plane", of_links(aside, 0), of_links(twice, 0))
    assert missed("coaxial joints", of_links(aside, 0), of_links(twice, 0))
    fan = [(np.array(way), [0.0, 0.3, 0.0], 0.0) for way in ((1, 0, 0), (0, 1, 0), (1, 1, 0))]
    out = [*fan[:2], (np.array([1.0, 1.0, 4e-4]), [0.0, 0.3, 0.0], 0.0)]
    (relation,) = missed("axes in one plane", of_links(out, 0), of_links(fan, 0))
    assert relation.joints == ("A", "B", "C") and 5e-5 < relation.rotation < 4e-4


def test_equal_pitches() -> None:
    places = [[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.7, 0.2, 0.0], [0.2, 0.9, 0.0]]

    def screws(*pitches: float) -> Axes:
        return of_links(
            [(mechanisms.Z, place, h) for place, h in zip(places, pitches, strict=True)]
        )

    meant = screws(0.01, 0.01, -0.01, 0.0)
    (relation,) = missed("equal pitches", screws(0.01, 0.0102, -0.01, 0.0), meant)
    assert relation.joints == ("A", "B")
    assert relation.translation == pytest.approx(2e-4)
    assert relation.rotation == 0.0
    assert not missed("equal pitches", meant, meant)


@pytest.mark.slow
def test_lengths_between_tilted_axes_are_equal() -> None:
    """Axes that are nearly parallel cross far away, or near: that is not how far they are apart."""
    found = rg.idealise(noise_table.noisy(mechanisms.three_cranks(), 1e-4, 3))
    equal = {r.joints: r.translation for r in found.relations if r.kind == "equal lengths"}
    assert ("a1", "a2", "b1", "b2", "c1", "c2") in equal
    assert ("a1", "b1", "a2", "b2") in equal
    assert all(1e-5 < off < 5e-4 for off in equal.values())


@pytest.mark.slow
def test_a_weld_that_closes_the_loop_changes_nothing() -> None:
    whole = rg.load(str(ASSETS / "nearly_planar_fourbar.urdf"))
    *others, last = whole.joints
    here = {"T_parent_joint": np.eye(4), "T_child_joint": np.eye(4), "position": np.zeros(0)}
    weld = replace(last, name="weld", kind="fixed", screws=np.zeros((6, 0)), parent="twin", **here)
    divided = replace(
        whole,
        bodies=(*whole.bodies, rg.Body("twin")),
        joints=(*others, replace(last, child="twin", closure=False), weld),
    )
    one, two = (rg.idealise(each, near=1e-2) for each in (whole, divided))
    # A weld has places too, and they share what has to be moved.
    assert 1e-4 < two.distance[1] <= 1.1 * one.distance[1] < 1e-3
    assert one.reduction.redundant == two.reduction.redundant == 3


def test_couplings_that_contradict_each_other_have_no_loops_to_move() -> None:
    """Three equations between three joints in a row, with constants that no position meets."""
    joints = [
        rg.Joint.in_world(name, parent, child, "revolute", (0, 1, 0), (x, 0, 0))
        for x, (name, parent, child) in enumerate(
            [("a", "ground", "A"), ("b", "A", "B"), ("c", "B", "C")]
        )
    ]
    rows = [
        ({"c": 1, "b": 2, "a": 2}, 0.0),
        ({"a": 1, "b": -1, "c": 2}, 0.3),
        ({"c": 1, "b": 1}, 0.1),
    ]
    couplings = tuple(
        rg.Coupling(f"row {k}", "gear", tuple((name, 0, float(by)) for name, by in row.items()), c)
        for k, (row, c) in enumerate(rows)
    )
    mechanism = replace(rg.Mechanism.of_joints("geared", joints), couplings=couplings)
    assert rg.check(mechanism).as_dict()["mobility"]["actual"] == 0
