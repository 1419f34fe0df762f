"""Loops that are nearly special, locked joints, idle bodies, several modes, numerical reduction."""

from __future__ import annotations

from typing import Any

import mechanisms
import numpy as np
import pytest

import regularize as rg


def findings(mechanism: rg.Mechanism, code: str, **options: Any) -> list[Any]:
    return [d for d in rg.check(mechanism, **options).diagnostics if d.code == code]


@pytest.mark.slow
@pytest.mark.parametrize("joint", range(4))
@pytest.mark.parametrize("size", [1e-2, 1.0, 10.0])
def test_a_four_bar_tilted_by_half_a_milliradian_is_nearly_planar(joint: int, size: float) -> None:
    names = ("A", "B", "C", "D")
    axes = [(0.0, np.sin(5e-4), np.cos(5e-4)) if i == joint else (0, 0, 1) for i in range(4)]
    points = [size * np.array(p) for p in ((0, 0, 0), (0.1, 0.3, 0), (0.9, 0.5, 0), (1, 0, 0))]
    mechanism = mechanisms.single_loop("tilted", "RRRR", axes, points)
    (found,) = findings(mechanism, "REG204")
    assert found.severity == "warning"
    assert found.joints == (names[joint],)
    assert "planar" in found.message and "0.5 mrad" in found.message
    # The counts are those of the geometry as given: the loop is rigid.
    reduction = rg.reduce(mechanism)
    assert (reduction.mobility, reduction.finite_mobility, reduction.redundant) == (0, 0, 2)


@pytest.mark.slow
def test_the_tolerance_of_nearly_planar_is_an_argument() -> None:
    tilted = mechanisms.planar_fourbar(tilt=5e-4)
    assert findings(tilted, "REG204")
    assert not findings(tilted, "REG204", near=1e-4)
    assert not findings(mechanisms.planar_fourbar(tilt=0.02), "REG204")
    assert not findings(mechanisms.planar_fourbar(), "REG204")
    # A coarser tolerance of ranks takes the loop for planar, as a drawing of that accuracy would.
    assert rg.reduce(tilted, rtol=2e-3).mobility == 1


@pytest.mark.slow
def test_a_nearly_spherical_four_bar_names_axis_and_distance() -> None:
    corners = np.array([(1, 1, -1), (-1, 1, -1), (1, 1, 1), (1, -1, -1)], dtype=float)
    points = corners.copy()
    points[1] += 2e-3 * np.cross(corners[1], (0.0, 0.0, 1.0)) / np.sqrt(2)
    mechanism = mechanisms.single_loop("off centre", "RRRR", [*corners], [*points])
    (found,) = findings(mechanism, "REG204")
    assert found.joints == ("B",)
    assert "spherical" in found.message and "2 mm" in found.message


def test_locked_joints_are_named() -> None:
    """A five-bar of four parallel hinges and one that is square to them."""
    points = [(0, 0, 0), (0, 1, 0), (1, 1.3, 0), (1.5, 0.5, 0), (1.2, 0, 0)]
    axes = [(0, 0, 1)] * 4 + [(1, 0, 0)]
    mechanism = mechanisms.single_loop("five-bar", "RRRRR", axes, points)
    (found,) = findings(mechanism, "REG206")
    assert found.joints == ("E",)
    reduction = rg.reduce(mechanism)
    assert (reduction.mobility, reduction.redundant) == (1, 2)
    assert reduction.certificate.holds


@pytest.mark.slow
def test_a_structure_of_locked_joints_keeps_what_locks_it() -> None:
    """Four skew hinges: two of the six rows depend on the others at the only configuration."""
    axes = [(1, 0, 0.2), (0.3, 1, 0), (0, 0.4, 1), (1, 1, 1)]
    points = [(0, 0, 0), (1, 0, 0.3), (1.2, 1, 0), (0, 1, 0.5)]
    mechanism = mechanisms.single_loop("skew", "RRRR", axes, points)
    reduction = rg.reduce(mechanism)
    assert (reduction.mobility, reduction.finite_mobility, reduction.remaining) == (0, 0, 0)
    (part,) = reduction.parts
    assert len(part.locked) == 4
    (cut,) = reduction.cuts
    assert (cut.kept, cut.removed.shape[1], cut.thinned.shape[1]) == (3, 0, 2)
    assert {"REG206", "REG209"} <= {d.code for d in rg.check(mechanism).diagnostics}


def test_a_tilted_axis_leaves_what_the_other_three_prove() -> None:
    """Three parallel hinges stay planar whatever the fourth does: the geometry proves two rows."""
    (cut,) = rg.reduce(mechanisms.planar_fourbar(tilt=0.1)).cuts
    assert (cut.kept, cut.removed.shape[1], cut.thinned.shape[1]) == (3, 2, 0)


@pytest.mark.slow
def test_rows_that_are_needed_elsewhere_are_not_thinned_out() -> None:
    """A locked loop that shares a hinge with two loops that move and depend on each other.

    The redundancy of the moving loops must not be made up for by rows of the locked one.
    """
    rng = np.random.default_rng(5)
    Z = (0, 0, 1)
    joints = []
    for tag, foot in (("p", 0.0), ("q", 0.7), ("r", 0.3)):  # three equal cranks
        head = (foot + 0.2, 0.5, 0)
        top = "p head" if tag == "p" else f"{tag} crank"
        joints.append(
            rg.Joint.in_world(f"{tag}1", "ground", f"{tag} crank", "revolute", Z, (foot, 0, 0))
        )
        joints.append(rg.Joint.in_world(f"{tag}2", top, "bar", "revolute", Z, head))
    # A hinge across the first crank cannot move, and neither can the chain that bridges it.
    joints.append(
        rg.Joint.in_world("s", "p crank", "p head", "revolute", (1, 0, 0), (0.1, 0.25, 0))
    )
    bodies = ["p crank", "k1", "k2", "k3", "p head"]
    for i in range(4):
        axis = rng.normal(size=3)
        point = (0.0, -1.0, 0.0) if i < 3 else rng.normal(size=3)
        joints.append(
            rg.Joint.in_world(f"k{i + 1}", bodies[i], bodies[i + 1], "revolute", axis, point)
        )
    reduction = rg.reduce(rg.Mechanism.of_joints("mixed", joints))
    assert {joints[e].name for part in reduction.parts for e in part.locked} == {
        *("s", "k1", "k2", "k3", "k4")
    }
    assert reduction.certificate.holds and all(part.proved for part in reduction.parts)
    assert reduction.mobility == 1
    assert reduction.remaining == 1  # that of the three equal cranks
    assert all(cut.thinned.shape[1] == 0 for cut in reduction.cuts)


def test_the_rod_between_two_ball_joints_is_named_as_idle() -> None:
    (found,) = findings(mechanisms.rssr(), "REG207")
    assert found.severity == "note"
    assert "`link 2`" in found.message
    assert set(found.joints) == {"B", "C"}


@pytest.mark.slow
def test_six_legs_of_two_ball_joints_spin_one_by_one() -> None:
    """Stewart platform with rods of fixed length: a structure with six idle rods."""
    joints = []
    for k in range(6):
        angle = np.deg2rad(120 * (k // 2) + (15 if k % 2 else -15))
        top = np.deg2rad(120 * (k // 2) + (40 if k % 2 else -40))
        low = (0.4 * np.cos(angle), 0.4 * np.sin(angle), 0)
        high = (0.25 * np.cos(top), 0.25 * np.sin(top), 0.4)
        joints.append(rg.Joint.in_world(f"A{k}", "ground", f"rod {k}", "spherical", point=low))
        joints.append(rg.Joint.in_world(f"B{k}", f"rod {k}", "platform", "spherical", point=high))
    mechanism = rg.Mechanism.of_joints("6-SS", joints)
    found = findings(mechanism, "REG207")
    assert sorted(d.message.split("`")[1] for d in found) == [f"rod {k}" for k in range(6)]
    reduction = rg.reduce(mechanism)
    assert (reduction.gruebler, reduction.mobility, reduction.redundant) == (6, 6, 0)


@pytest.mark.slow
def test_motions_of_different_rank_through_one_pose_are_all_reported() -> None:
    """Flat pose of two windows with equal links: both motions, and that of folded links."""
    mechanism = mechanisms.n_fourbar(2, flat=True)
    reduction = rg.reduce(mechanism)
    modes = {mobility for cell in reduction.cells for mobility, _ in cell.modes}
    assert modes == {1, 2}
    (found,) = findings(mechanism, "REG213")
    assert "1 (rank 5, second order; 7 redundant, 6 removed) on branch 3" in found.message
    assert len(findings(mechanism, "REG203")) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "dependent"),
    [(mechanisms.bennett, 2), (mechanisms.bricard, 1), (mechanisms.three_cranks, 1)],
)
def test_numerical_reduction_only_on_request(build: Any, dependent: int) -> None:
    plain, asked = rg.reduce(build()), rg.reduce(build(), numerical="anyway")
    assert (plain.numerical, asked.numerical) == (False, True)
    assert plain.remaining == dependent and asked.remaining == 0
    assert sum(cut.numerical.shape[1] for cut in plain.cuts) == 0
    assert sum(cut.numerical.shape[1] for cut in asked.cuts) == dependent
    assert asked.kept == plain.kept - dependent
    assert asked.mobility == plain.mobility
    assert asked.certificate.holds and asked.certificate.configurations >= 50
    loops = asked.loops
    for cell in asked.cells:
        jacobian = loops.jacobian(loops.state(cell.configurations)) * loops.units
        assert np.linalg.matrix_rank(jacobian[-1], tol=1e-6) == asked.rank


def leg_between_balls(middle: list[rg.Joint]) -> rg.Mechanism:
    """A hinge, a ball, some joints in the middle, a ball and a hinge in a loop."""
    ends = [
        rg.Joint.in_world("A", "ground", "crank", "revolute", (0, 0, 1)),
        rg.Joint.in_world("B", "crank", "first", "spherical", point=(0.1, 0.05, 0)),
        rg.Joint.in_world("D", "last", "rocker", "spherical", point=(0.5, 0.2, 0.2)),
        rg.Joint.in_world("E", "rocker", "ground", "revolute", (0, 1, 0), (0.6, 0, 0)),
    ]
    return rg.Mechanism.of_joints("leg between balls", [*ends[:2], *middle, *ends[2:]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("middle", "bodies"),
    [
        ([("prismatic", (0.4, 0.15, 0.2), (0.2, 0.1, 0.1))], ["first", "last"]),
        ([("universal", (0, 0, 1), (0.3, 0, 0.2))], ["first", "last"]),
        (
            [("revolute", (0, 0, 1), (0.2, 0.2, 0.1)), ("revolute", (1, 0, 1), (0.4, 0.15, 0.1))],
            ["first", "mid", "last"],
        ),
    ],
    ids=["R-S-P-S-R", "R-S-U-S-R", "R-S-R-R-S-R"],
)
def test_a_leg_of_several_bodies_between_balls_spins_as_one(
    middle: list[Any], bodies: list[str]
) -> None:
    joints = []
    for i, (kind, axis, point) in enumerate(middle):
        more = {"axis2": (1, 0, 0)} if kind == "universal" else {}
        ends = bodies[i], bodies[i + 1]
        joints.append(rg.Joint.in_world(f"C{i}", *ends, kind, axis, point, **more))
    mechanism = leg_between_balls(joints)
    (found,) = findings(mechanism, "REG207")
    assert found.joints == ("B", "D") and "spin as one" in found.message
    report = rg.check(mechanism)
    (passive,) = report.as_dict()["passive"]
    assert passive["bodies"] == bodies
    line = np.array([0.4, 0.15, 0.2]) / np.linalg.norm([0.4, 0.15, 0.2])
    assert abs(np.dot(passive["direction"], line)) == pytest.approx(1.0)
    assert "(1 of it passive)" in str(report)


@pytest.mark.slow
def test_links_that_fold_onto_each_other_spin_at_the_pose_alone() -> None:
    """A stretched rhombus: two links may turn about the corners that coincide, but only there."""
    points = [(0, 0, 0), (0.3, 0, 0), (0.6, 0, 0), (0.3, 0, 0)]
    folded = mechanisms.single_loop("rhombus", "RRRR", [(0, 1, 0)] * 4, points)
    assert not findings(folded, "REG207")


def two_five_bars() -> rg.Mechanism:
    """A leg whose two motors turn about one line."""
    a = rg.assembly("coaxial five-bar")
    for body in ("thigh", "shank", "pushrod", "lever"):
        a.body(body)
    a.hinge("hip", "ground", "thigh", at=(0, 0, 0), axis=(0, 1, 0), actuated=True)
    a.hinge("knee motor", "ground", "lever", at=(0, 0, 0), axis=(0, 1, 0), actuated=True)
    a.hinge("knee", "thigh", "shank", at=(0.2, 0, -0.3), axis=(0, 1, 0))
    a.hinge("rod", "lever", "pushrod", at=(-0.1, 0, -0.1), axis=(0, 1, 0))
    a.hinge("end", "pushrod", "shank", at=(0.1, 0, -0.4), axis=(0, 1, 0), closure=True)
    return a.mechanism()


def held_by(kinds: tuple[str, ...], actuated: bool | None = None) -> rg.Mechanism:
    """A door, a lid or a shaft in joints on one line."""
    a = rg.assembly("shaft")
    a.body("shaft")
    for i, kind in enumerate(kinds):
        a.joint(kind, f"J{i}", "ground", "shaft", at=(0, 0, i), axis=(0, 0, 1), actuated=actuated)
    return a.mechanism()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "passive", "words"),
    [
        (held_by(("revolute", "revolute")), 0, ""),
        (held_by(("revolute", "cylindrical")), 0, ""),
        (held_by(("cylindrical", "cylindrical")), 0, ""),
        (held_by(("spherical", "point_on_line")), 0, ""),
        (held_by(("spherical", "spherical")), 1, "spins about the line along Z through"),
        (held_by(("cylindrical", "cylindrical"), actuated=True), 0, ""),
        (two_five_bars(), 0, ""),
        (mechanisms.rssr(), 1, "`link 2` spins"),
    ],
    ids=["door", "lid", "ram", "shaft", "rod", "driven", "five-bar", "RSSR"],
)
def test_only_what_moves_within_joints_of_several_freedoms_is_passive(
    mechanism: rg.Mechanism, passive: int, words: str
) -> None:
    report = rg.check(mechanism)
    assert report.as_dict()["mobility"]["passive"] == len(report.passive) == passive
    assert words in str(report) and ("REG207" in str(report)) == bool(passive)
