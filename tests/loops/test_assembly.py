"""Closing loops: start values, fixed coordinates, continuation, and loops that cannot be closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from screws import joint_screws

import regularize as rg

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
THESIS = Path(__file__).resolve().parents[2] / "assets" / "thesis"

Points = dict[str, tuple[float, float, float]]
POINTS: Points = {"A": (0, 0, 0), "B": (0.3, 0, 0.4), "C": (1.2, 0, 0.6), "D": (1, 0, 0)}


def four_bar(points: Points = POINTS, closure: str = "revolute") -> rg.Mechanism:
    """A planar four-bar across Y, assembled as it is written."""
    y = (0, 1, 0)
    return rg.Mechanism.of_joints(
        "four_bar",
        [
            rg.Joint.in_world("A", "ground", "crank", "revolute", y, points["A"]),
            rg.Joint.in_world("B", "crank", "coupler", "revolute", y, points["B"]),
            rg.Joint.in_world("C", "coupler", "rocker", "revolute", y, points["C"]),
            rg.Joint.in_world("D", "ground", "rocker", closure, y, points["D"], closure=True),
        ],
    )


def moved(mechanism: rg.Mechanism, scale: float = 0.3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=mechanism.freedoms)


def test_closes_what_was_saved_open_and_says_by_how_much() -> None:
    mechanism = four_bar()
    assembly = rg.assemble(mechanism, moved(mechanism))
    assert assembly.closed
    assert assembly.residual_before[0] > 1e-2
    assert max(assembly.residual_after) < 1e-12
    assert assembly.obstacles == ()


def test_holds_fixed_coordinates_by_value_and_by_name() -> None:
    mechanism = four_bar()
    start = moved(mechanism, 0.05)
    by_value = rg.assemble(mechanism, start, {"A": 0.3})
    assert by_value.closed and by_value.q[0] == 0.3
    by_name = rg.assemble(mechanism, start, ["A"])
    assert by_name.closed and by_name.q[0] == start[0]


def test_refuses_unknown_names_and_whole_joints_of_several_freedoms() -> None:
    mechanism = four_bar(closure="spherical")
    with pytest.raises(rg.ModelError, match="no joint 'Z'"):
        rg.assemble(mechanism, fixed={"Z": 0.0})
    with pytest.raises(rg.ModelError, match=r"name one of them: D\[0\]"):
        rg.assemble(mechanism, fixed={"D": 0.0})
    with pytest.raises(rg.ModelError, match="fixed is names, each with a finite number"):
        rg.assemble(mechanism, fixed={"A": np.nan})
    with pytest.raises(rg.ModelError, match="one entry per joint freedom, 6"):
        rg.assemble(mechanism, np.zeros(3))


def test_what_is_held_altogether_stays_where_it_is() -> None:
    """Closed or open; what is open is named at once."""
    mechanism = four_bar()
    closed = rg.assemble(mechanism, np.zeros(4), list("ABCD"))
    assert closed.closed and closed.q.tolist() == [0.0] * 4
    opened = rg.assemble(
        mechanism, np.zeros(4), dict(zip("ABCD", (0.3, 0.0, 0.0, 0.0), strict=True))
    )
    assert not opened.closed and opened.q.tolist() == [0.3, 0.0, 0.0, 0.0]
    ((loop, gap),) = [(found.joints, found.gap) for found in opened.obstacles]
    assert loop == tuple("ABCD") and gap.rotation == pytest.approx(0.3)


def test_seeded_searches_are_repeatable() -> None:
    mechanism = rg.load(str(THESIS / "agile_eye.urdf"))
    start = moved(mechanism, 0.8, 3)
    first, second = (rg.assemble(mechanism, start, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)


@pytest.mark.slow
def test_continuation_carries_a_crank_around() -> None:
    """From far away least squares ends on no configuration; step by step the crank arrives."""
    mechanism = rg.load(str(THESIS / "agile_eye.urdf"))
    q = np.zeros(mechanism.freedoms)
    q[:3] = 0.5, 0.2887, 0.5774
    q[6::3], q[7::3], q[8::3] = -0.68471920311242, 0.2014, 2.2555
    closed = rg.assemble(mechanism, q)
    motors = ("q9", "q18", "q27")
    for angle in np.linspace(-0.7, 0.9, 5):
        assembly = rg.assemble(mechanism, closed.q, dict.fromkeys(motors, angle))
        assert assembly.closed
        assert assembly.reached == {}


@pytest.mark.slow
def test_says_how_far_a_fixed_coordinate_gets() -> None:
    """A rocker that swings between two dead points cannot be turned further."""
    assembly = rg.assemble(four_bar(), fixed={"D": 1.0})
    assert not assembly.closed
    assert assembly.q[3] == 1.0
    (reached,) = assembly.reached.values()
    # Dead point: crank and coupler in one line; the rocker's angle is that of the law of cosines.
    ground, rocker, reach = 1.0, np.hypot(0.2, 0.6), 0.5 + np.hypot(0.9, 0.2)
    limit = np.arccos((ground**2 + rocker**2 - reach**2) / (2 * ground * rocker))
    assert reached == pytest.approx(limit - np.arctan2(0.6, -0.2), abs=1e-3)


@pytest.mark.slow
def test_closed_forms_end_the_search_where_there_is_nothing_to_find() -> None:
    """All configurations are known in closed form, so no random start is tried in vain."""
    assert rg.assemble(four_bar(), fixed={"D": 1.0}).starts == 2
    # Where the nearest way to assemble is far away, it is found all the same.
    solution = rg.closed_form(four_bar(), ["A"])
    for angle in np.linspace(-np.pi, np.pi, 25):
        found = solution.solve(float(angle))
        assert rg.assemble(four_bar(), fixed={"A": angle}).closed == found.assembled.any()


def too_short(closure: str = "revolute") -> rg.Mechanism:
    """A four-bar whose coupler is 0.5 m too short to reach."""
    mechanism = four_bar({**POINTS, "C": (1.0, 0, 0.3)}, closure)
    frame = np.eye(4)
    frame[:3, 3] = (2.5, 0, 0)
    return replace(
        mechanism,
        joints=tuple(
            replace(j, T_parent_joint=frame) if j.name == "D" else j for j in mechanism.joints
        ),
    )


@pytest.mark.slow
def test_names_the_loop_that_cannot_close_and_by_how_much() -> None:
    assembly = rg.assemble(too_short())
    assert not assembly.closed
    (obstacle,) = assembly.obstacles
    assert obstacle.alone and not obstacle.as_point
    assert obstacle.loop == "D" and set(obstacle.joints) == set("ABCD")
    length = 0.5 + np.hypot(0.7, 0.1) + 0.3
    assert obstacle.gap.translation == pytest.approx(2.5 - length, abs=1e-6)
    assert f"{1e3 * (2.5 - length):.3g} mm" in str(obstacle)


@pytest.mark.slow
def test_names_the_one_bad_loop_of_several() -> None:
    good, bad = four_bar(), too_short()
    y = (0, 1, 0)
    joints = [
        *good.joints,
        *(
            replace(j, name=f"{j.name}2", parent=j.parent + "2", child=j.child + "2")
            for j in bad.joints
        ),
        rg.Joint.in_world("hinge", "ground", "ground2", "revolute", y),
    ]
    assembly = rg.assemble(rg.Mechanism.of_joints("two", joints), np.zeros(9))
    assert [obstacle.loop for obstacle in assembly.obstacles] == ["D2"]
    assert [gap.translation < 1e-9 for gap in assembly.after] == [True, False]


@pytest.mark.slow
def test_loops_that_close_alone_but_not_together() -> None:
    """Two couplers of different length on the same two equal cranks fight each other."""
    y = (0, 1, 0)
    joints = [
        rg.Joint.in_world("A", "ground", "one", "revolute", y, (0, 0, 0)),
        rg.Joint.in_world("B", "ground", "two", "revolute", y, (1, 0, 0)),
        rg.Joint.in_world("C", "one", "coupler", "revolute", y, (0, 0, 1)),
        rg.Joint.in_world("D", "coupler", "two", "revolute", y, (1, 0, 1)),
    ]
    rigid = [
        rg.Joint.in_world("E", "one", "strut", "revolute", y, (0, 0, 0.5)),
        rg.Joint.in_world("F", "strut", "two", "revolute", y, (1, 0, 0.5)),
        rg.Joint.in_world("G", "ground", "prop", "revolute", y, (-1, 0, 0)),
        rg.Joint.in_world("H", "prop", "one", "revolute", y, (0, 0, 1)),
    ]
    longer = np.eye(4)
    longer[:3, 3] = (1.3, 0, 0.5)
    rigid[1] = replace(rigid[1], T_parent_joint=longer)
    assembly = rg.assemble(rg.Mechanism.of_joints("fight", [*joints, *rigid]))
    assert not assembly.closed
    (obstacle,) = assembly.obstacles
    assert not obstacle.alone
    assert "together with the loops before it" in str(obstacle)


@pytest.mark.slow
def test_a_weld_that_would_close_as_a_point_is_said_so() -> None:
    """Three hinges in a plane with the last one welded: only the angle is in the way."""
    mechanism = four_bar(closure="fixed")
    turned = np.eye(4)
    turned[:2, :2] = [[0, -1], [1, 0]]
    joints = [
        replace(j, T_child_joint=j.T_child_joint @ turned) if j.name == "D" else j
        for j in mechanism.joints
    ]
    (obstacle,) = rg.assemble(replace(mechanism, joints=tuple(joints))).obstacles
    assert obstacle.as_point
    assert str(obstacle).endswith("it closes if only a point is held")


def test_couplings_are_closed_too() -> None:
    mechanism = replace(
        four_bar(), couplings=(rg.Coupling("pair", "gear", (("A", 0, 1.0), ("D", 0, -1.0)), 0.1),)
    )
    assembly = rg.assemble(mechanism)
    assert assembly.closed
    assert assembly.q[0] - assembly.q[3] == pytest.approx(0.1, abs=1e-9)


KANGAROO = CORPUS / "gepetto_yaml" / "kangaroo_like" / "robot.urdf"
kangaroo = pytest.mark.skipif(not KANGAROO.exists(), reason="corpus not at hand")


@pytest.mark.slow
@kangaroo
def test_kangaroo_cannot_be_closed_as_written_and_every_culprit_is_named() -> None:
    """Five of its eleven welds stay open even alone, each with all other loops left open."""
    assembly = rg.assemble(rg.load(str(KANGAROO)))
    assert not assembly.closed
    assert len(assembly.obstacles) == 5
    assert all(obstacle.alone and obstacle.as_point for obstacle in assembly.obstacles)
    numbers = sorted(o.loop.removeprefix("closedloop").split("_")[0] for o in assembly.obstacles)
    assert numbers == ["10", "2", "7", "8", "9"]


@pytest.mark.slow
@kangaroo
def test_kangaroo_closes_with_points_instead_of_welds() -> None:
    mechanism = rg.load(str(KANGAROO))
    joints = [
        replace(j, kind="spherical", screws=joint_screws("spherical"), position=np.zeros(3))
        if j.closure
        else j
        for j in mechanism.joints
    ]
    assembly = rg.assemble(replace(mechanism, joints=tuple(joints)))
    assert assembly.closed and max(assembly.residual_after) < 1e-12
