"""Closing loops: start values, fixed coordinates, continuation, and loops that cannot be closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.assembly_modes.sampling import nearest_modes
from regularize.lie.screw import Array
from regularize.manifold.assembly import with_coordinates
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import project
from regularize.model.graph import spanning_tree
from regularize.model.graph_building import build
from regularize.model.joint import joint_screws
from regularize.model.mechanism import (
    Coupling,
    Mechanism,
    joint_in_world,
    mechanism_of,
)
from regularize.solving import assemble

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
THESIS = Path(__file__).resolve().parents[1] / "assets" / "thesis"

Points = dict[str, tuple[float, float, float]]
POINTS: Points = {"A": (0, 0, 0), "B": (0.3, 0, 0.4), "C": (1.2, 0, 0.6), "D": (1, 0, 0)}


def four_bar(points: Points = POINTS, closure: str = "revolute") -> Mechanism:
    """A planar four-bar across Y, assembled as it is written."""
    y = (0, 1, 0)
    return mechanism_of(
        "four_bar",
        [
            joint_in_world("A", "ground", "crank", "revolute", y, points["A"]),
            joint_in_world("B", "crank", "coupler", "revolute", y, points["B"]),
            joint_in_world("C", "coupler", "rocker", "revolute", y, points["C"]),
            joint_in_world("D", "ground", "rocker", closure, y, points["D"], closure=True),
        ],
    )


def moved(mechanism: Mechanism, scale: float = 0.3, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(scale=scale, size=mechanism.freedoms)


def test_closes_what_was_saved_open_and_says_by_how_much() -> None:
    mechanism = four_bar()
    assembly = assemble(mechanism, moved(mechanism))
    assert assembly.closed
    assert assembly.residual_before[0] > 1e-2
    assert max(assembly.residual_after) < 1e-12
    assert assembly.obstacles == ()


def test_holds_fixed_coordinates_by_value_and_by_name() -> None:
    mechanism = four_bar()
    start = moved(mechanism, 0.05)
    by_value = assemble(mechanism, start, {"A": 0.3})
    assert by_value.closed and by_value.q[0] == 0.3
    by_name = assemble(mechanism, start, ["A"])
    assert by_name.closed and by_name.q[0] == start[0]


def test_refuses_unknown_names_and_whole_joints_of_several_freedoms() -> None:
    mechanism = four_bar(closure="spherical")
    with pytest.raises(rg.ModelError, match="no joint 'Z'"):
        assemble(mechanism, fixed={"Z": 0.0})
    with pytest.raises(rg.ModelError, match=r"name one of them: D\[0\]"):
        assemble(mechanism, fixed={"D": 0.0})
    with pytest.raises(rg.ModelError, match="joint 'A' cannot be fixed at nan"):
        assemble(mechanism, fixed={"A": np.nan})
    with pytest.raises(rg.ModelError, match="one entry per joint freedom, 6"):
        assemble(mechanism, np.zeros(3))


def test_what_is_held_altogether_stays_where_it_is() -> None:
    """Closed or open; what is open is named at once."""
    mechanism = four_bar()
    closed = assemble(mechanism, np.zeros(4), list("ABCD"))
    assert closed.closed and closed.q.tolist() == [0.0] * 4
    opened = assemble(mechanism, np.zeros(4), dict(zip("ABCD", (0.3, 0.0, 0.0, 0.0), strict=True)))
    assert not opened.closed and opened.q.tolist() == [0.3, 0.0, 0.0, 0.0]
    ((loop, gap),) = [(found.joints, found.gap) for found in opened.obstacles]
    assert loop == tuple("ABCD") and gap.rotation == pytest.approx(0.3)


def test_seeded_searches_are_repeatable() -> None:
    mechanism = rg.load(str(THESIS / "agile_eye.urdf"))
    start = moved(mechanism, 0.8, 3)
    first, second = (assemble(mechanism, start, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three_bar", "five_point_suspension"])
def test_least_squares_agrees_with_newton_on_models_without_redundancy(name: str) -> None:
    """Thesis, section 5.4: both find the same dependent coordinates to 1e-9 all along a motion."""
    graph = build(rg.load(str(THESIS / f"{name}.urdf")))
    loops = LoopKinematics(graph, graph.cells[0], spanning_tree(graph))
    free = np.arange(loops.freedoms) != 0
    q = assemble(graph).q[loops.columns] if name != "three_bar" else closed_three_bar()
    for angle in np.linspace(0.0, 0.2, 21):
        start = np.array(q)
        start[0] = angle + (np.pi / 4 if name == "three_bar" else 0.0)
        by_newton = project(loops, start[None], held=~free).q[0]
        by_least_squares = project(loops, start[None], held=~free, damped=True).q[0]
        assert np.max(np.abs(loops.residual(loops.state(by_newton)))) < 1e-12
        np.testing.assert_allclose(by_least_squares, by_newton, atol=1e-9)
        q = by_newton


def closed_three_bar() -> Array:
    mechanism = rg.load(str(THESIS / "three_bar.urdf"))
    return assemble(mechanism, np.array([np.pi / 4, 1.0, 0.1, 0, 0, 0]), ["q1"]).q


def test_leaves_a_singular_start_with_an_error_across_the_plane_of_motion() -> None:
    """At a stretched start every small change is orthogonal to the error: step 3 of the thesis."""
    points: Points = {"A": (0, 0, 0), "B": (0, 0, 1), "C": (0, 0, 2), "D": (0, 0, 3)}
    y = (0, 1, 0)
    joints = [
        joint_in_world("A", "ground", "one", "revolute", y, points["A"]),
        joint_in_world("B", "one", "two", "revolute", y, points["B"]),
        joint_in_world("C", "two", "three", "revolute", y, points["C"]),
        joint_in_world("D", "three", "ground", "revolute", y, points["D"]),
    ]
    # The far end of the chain belongs 1 m lower: the straight chain cannot bend by Newton alone.
    shifted = np.eye(4)
    shifted[:3, 3] = (0, 0, 2)
    mechanism = mechanism_of("straight", [*joints[:3], replace(joints[3], T_child_joint=shifted)])
    graph = build(mechanism)
    loops = LoopKinematics(graph, graph.cells[0], spanning_tree(graph))
    stuck = project(loops, np.zeros((1, 4))).q[0]
    assert np.max(np.abs(loops.residual(loops.state(stuck)))) > 0.5
    assembly = assemble(mechanism)
    assert assembly.closed and assembly.starts > 1


def test_continuation_carries_a_crank_around() -> None:
    """From far away least squares ends on no configuration; step by step the crank arrives."""
    mechanism = rg.load(str(THESIS / "agile_eye.urdf"))
    q = np.zeros(mechanism.freedoms)
    q[:3] = 0.5, 0.2887, 0.5774
    q[6::3], q[7::3], q[8::3] = -0.68471920311242, 0.2014, 2.2555
    closed = assemble(mechanism, q)
    motors = ("q9", "q18", "q27")
    for angle in np.linspace(-0.7, 0.9, 5):
        assembly = assemble(mechanism, closed.q, dict.fromkeys(motors, angle))
        assert assembly.closed
        assert assembly.reached == {}


@pytest.mark.slow
def test_says_how_far_a_fixed_coordinate_gets() -> None:
    """A rocker that swings between two dead points cannot be turned further."""
    assembly = assemble(four_bar(), fixed={"D": 1.0})
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
    assert assemble(four_bar(), fixed={"D": 1.0}).starts == 2
    # Where the nearest way to assemble is far away, it is found all the same.
    solution = rg.closed_form(four_bar(), ["A"])
    for angle in np.linspace(-np.pi, np.pi, 25):
        found = solution.solve(float(angle))
        assert assemble(four_bar(), fixed={"A": angle}).closed == found.assembled.any()


def ways_to_assemble(mechanism: Mechanism, q: Array, held: int) -> Array:
    """What the search tries in closed form, in order, shape (k, n)."""
    graph = build(mechanism)
    loops = sized_loops(graph, q, graph.cells[0])
    free = np.arange(graph.freedoms) != held
    ways = nearest_modes(loops, q[loops.columns], ~free[loops.columns])
    assert ways is not None
    return ways[:, np.argsort(loops.columns)]


def test_the_nearest_way_to_assemble_is_told_up_to_whole_turns() -> None:
    """Joints that have gone round once or more keep their turns."""
    mechanism = four_bar()
    found = rg.closed_form(mechanism, ["A"]).solve(0.1)
    for q in found.q:
        turned = q + 2 * np.pi * np.array([0, 1, -2, 0]) + 0.02 * np.array([0, 1, -1, 0])
        ways = ways_to_assemble(mechanism, turned, 0)
        assert len(ways) == 2
        assert np.max(np.abs(ways[0] - turned)) < 0.1
        assert np.max(np.abs(ways[1] - turned)) < 4.0


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_nearest_way_to_assemble_does_not_depend_on_the_unit_of_length(factor: float) -> None:
    """Joints that are where they belong tell the way, and not a slide in millimetres."""
    A, B, C = (factor * np.array(p) for p in ((0, 0, 0), (0.3, 0.2, 0), (1.0, 0.1, 0)))
    z, x = (0, 0, 1), (1, 0, 0)
    slider = mechanism_of(
        "slider",
        [
            joint_in_world("A", "ground", "crank", "revolute", z, A),
            joint_in_world("P", "ground", "block", "prismatic", x),
            joint_in_world("B", "crank", "rod", "revolute", z, B),
            joint_in_world("C", "rod", "block", "revolute", z, C, closure=True),
        ],
    )
    solution = rg.closed_form(slider, ["A"])
    found = solution.solve(0.2)
    assert found.assembled.all()
    for q, other in zip(found.q, found.q[::-1], strict=True):
        start = q.copy()
        start[1] += 0.6 * (other[1] - q[1])
        assert np.allclose(ways_to_assemble(slider, start, 0)[0], q, rtol=1e-9, atol=1e-9)


def too_short(closure: str = "revolute") -> Mechanism:
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
    assembly = assemble(too_short())
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
        joint_in_world("hinge", "ground", "ground2", "revolute", y),
    ]
    assembly = assemble(mechanism_of("two", joints), np.zeros(9))
    assert [obstacle.loop for obstacle in assembly.obstacles] == ["D2"]
    assert [gap.translation < 1e-9 for gap in assembly.after] == [True, False]


@pytest.mark.slow
def test_loops_that_close_alone_but_not_together() -> None:
    """Two couplers of different length on the same two equal cranks fight each other."""
    y = (0, 1, 0)
    joints = [
        joint_in_world("A", "ground", "one", "revolute", y, (0, 0, 0)),
        joint_in_world("B", "ground", "two", "revolute", y, (1, 0, 0)),
        joint_in_world("C", "one", "coupler", "revolute", y, (0, 0, 1)),
        joint_in_world("D", "coupler", "two", "revolute", y, (1, 0, 1)),
    ]
    rigid = [
        joint_in_world("E", "one", "strut", "revolute", y, (0, 0, 0.5)),
        joint_in_world("F", "strut", "two", "revolute", y, (1, 0, 0.5)),
        joint_in_world("G", "ground", "prop", "revolute", y, (-1, 0, 0)),
        joint_in_world("H", "prop", "one", "revolute", y, (0, 0, 1)),
    ]
    longer = np.eye(4)
    longer[:3, 3] = (1.3, 0, 0.5)
    rigid[1] = replace(rigid[1], T_parent_joint=longer)
    assembly = assemble(mechanism_of("fight", [*joints, *rigid]))
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
    (obstacle,) = assemble(replace(mechanism, joints=tuple(joints))).obstacles
    assert obstacle.as_point
    assert str(obstacle).endswith("it closes if only a point is held")


def test_couplings_are_closed_too() -> None:
    mechanism = replace(
        four_bar(), couplings=(Coupling("pair", "gear", (("A", 0, 1.0), ("D", 0, -1.0)), 0.1),)
    )
    assembly = assemble(mechanism)
    assert assembly.closed
    assert assembly.q[0] - assembly.q[3] == pytest.approx(0.1, abs=1e-9)


def test_coordinates_can_be_stored() -> None:
    mechanism = four_bar()
    q = assemble(mechanism, moved(mechanism)).q
    np.testing.assert_array_equal(build(with_coordinates(mechanism, q)).position, q)


KANGAROO = CORPUS / "gepetto_yaml" / "kangaroo_like" / "robot.urdf"
kangaroo = pytest.mark.skipif(not KANGAROO.exists(), reason="corpus not at hand")


@pytest.mark.slow
@kangaroo
def test_kangaroo_cannot_be_closed_as_written_and_every_culprit_is_named() -> None:
    """Five of its eleven welds stay open even alone, each with all other loops left open."""
    assembly = assemble(rg.load(str(KANGAROO)))
    assert not assembly.closed
    assert len(assembly.obstacles) == 5
    assert all(obstacle.alone and obstacle.as_point for obstacle in assembly.obstacles)
    numbers = sorted(o.loop.removeprefix("closedloop").split("_")[0] for o in assembly.obstacles)
    assert numbers == ["10", "2", "7", "8", "9"]


@pytest.mark.slow
@kangaroo
def test_kangaroo_loop_of_three_hinges_is_open_at_every_angle() -> None:
    """The loop through closure 7 has three hinges and a weld: its best poses of a whole grid."""
    graph = build(rg.load(str(KANGAROO)))
    names = ("sherical_4bar", "4barlink_knee", "upper_knee")
    tree = [e.index for e in graph.edges if e.joint.name in names]
    chord = next(e.index for e in graph.edges if e.joint.name.startswith("closedloop7"))
    loops = LoopKinematics(graph, [*tree, chord], tree)
    angles = np.linspace(-np.pi, np.pi, 61)[:-1]
    grid = np.stack(np.meshgrid(angles, angles, angles, indexing="ij"), axis=-1).reshape(-1, 3)
    worst = np.zeros(len(grid))
    for part in np.array_split(np.arange(len(grid)), 30):
        errors = loops.residual(loops.state(grid[part]))
        worst[part] = np.linalg.norm(errors[:, :3], axis=1) / 0.02 + np.linalg.norm(
            errors[:, 3:], axis=1
        )
    near = grid[np.argsort(worst)[:20]]
    loops = loops.measured(0.02)
    assert np.min(project(loops, near, damped=True).error) > 1e-2


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
    assembly = assemble(replace(mechanism, joints=tuple(joints)))
    assert assembly.closed and max(assembly.residual_after) < 1e-12
