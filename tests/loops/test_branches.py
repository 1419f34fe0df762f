"""Motions that branch or end at a pose: how many there are, and what they rest on."""

from __future__ import annotations

import math
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import Z, on_rods, single_loop
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import regularize as rg
from regularize.guests.page import html
from regularize.guests.page.animation import motions
from regularize.guests.page.artist import draw
from regularize.guests.page.picture import picture, saved
from regularize.loops.kinematics import sized_loops
from regularize.reduction.reduce import on_branch
from regularize.report.mobility_findings import mobility_findings
from regularize.report.rules import rule

pytestmark = pytest.mark.slow
ASSETS = Path(__file__).parents[2] / "assets"
#: Links of a four-bar: crank, coupler, rocker, frame; and a point of the coupler.
CRANK, COUPLER, ROCKER, FRAME, POINT = 0.5, 1.1, 0.9, 1.2, 0.6 + 0.5j


def coupler_point(angle: float) -> tuple[complex, ...]:
    """Both moving pivots, the point, and its first three derivatives by the angle of the crank."""
    A = CRANK * np.exp(1j * angle)
    to_frame = FRAME - A
    r = abs(to_frame)
    x = (r**2 + COUPLER**2 - ROCKER**2) / (2 * r)
    B = A + to_frame / r * (x + 1j * np.sqrt(COUPLER**2 - x**2))
    u, w = B - A, B - FRAME

    def rates(right: complex) -> np.ndarray:
        columns = np.array([1j * u, -1j * w])
        return np.linalg.solve(np.array([columns.real, columns.imag]), [right.real, right.imag])

    b1, c1 = rates(-1j * A)
    b2, c2 = rates(A + u * b1**2 - w * c1**2)
    b3, _ = rates(1j * A + u * (3 * b1 * b2 + 1j * b1**3) - w * (3 * c1 * c2 + 1j * c1**3))
    p = POINT * u / COUPLER
    return (
        A,
        B,
        A + p,
        1j * A + 1j * p * b1,
        -A + p * (1j * b2 - b1**2),
        -1j * A + p * (1j * b3 - 3 * b1 * b2 - 1j * b1**3),
    )


def cross(a: complex, b: complex) -> float:
    return float((a.conjugate() * b).imag)


def curvature_rate(angle: float) -> float:
    """Change of the curvature of the point's path."""
    *_, v, a, jerk = coupler_point(angle)
    along = (v.conjugate() * a).real
    return float(cross(v, jerk) / abs(v) ** 3 - 3 * cross(v, a) * along / abs(v) ** 5)


def held_by_a_bar(angle: float) -> rg.Mechanism:
    """A four-bar whose coupler point is held at the centre of curvature of its path."""
    A, B, P, v, a, _ = coupler_point(angle)
    pivots = {
        "O": ("ground", "crank", 0),
        "A": ("crank", "coupler", A),
        "B": ("coupler", "rocker", B),
        "D": ("rocker", "ground", FRAME),
        "P": ("coupler", "bar", P),
        "C": ("bar", "ground", P + 1j * v * abs(v) ** 2 / cross(v, a)),
    }
    return rg.Mechanism.of_joints(
        "held by a bar",
        [
            rg.Joint.in_world(name, one, other, "revolute", Z, (np.real(z), np.imag(z), 0))
            for name, (one, other, z) in pivots.items()
        ],
    )


@pytest.mark.parametrize("stationary", [False, True])
def test_a_bar_at_the_centre_of_curvature_locks_in_third_or_fourth_order(stationary: bool) -> None:
    angle = brentq(curvature_rate, 0.6, 1.0) if stationary else 1.0
    reduction = rg.reduce(held_by_a_bar(angle))
    assert (reduction.mobility, reduction.finite_mobility) == (1, 0)
    assert reduction.finite_evidence == ("order 4" if stationary else "order 3")


def test_two_linkages_of_watt_joined_move_from_a_cusp() -> None:
    """The double Watt mechanism (Connelly and Servatius 1994) moves, on one side of its pose."""
    reduction = rg.reduce(rg.load(ASSETS / "mobility" / "double_watt.urdf"))
    assert (reduction.mobility, reduction.finite_mobility) == (1, 1)
    assert reduction.components == ((1, 9),) and reduction.components_complete
    (branch,) = reduction.cells[0].branches
    assert len(branch.ends) == 1  # a cusp has one side


def folded(*lengths: float) -> rg.Mechanism:
    """A four-bar with all hinges on a line."""
    points = [(x, 0, 0) for x in (0.0, lengths[0], lengths[0] + lengths[1], lengths[3])]
    return single_loop("folded", "RRRR", [Z] * 4, points)


def upright(points: list[tuple[float, float]]) -> rg.Mechanism:
    """A plate on upright rods of the same length between universal joints and balls."""
    base = np.array([(x, y, 0.0) for x, y in points])
    return on_rods(base, base + Z, "universal")


@pytest.mark.parametrize(
    ("mechanism", "components", "complete"),
    [
        (folded(1, 2, 1, 2), [(1, 3), (1, 3)], True),
        (folded(1, 1, 1, 1), [(1, 3), (1, 3)], True),
        (folded(1, 2, -2, 1), [(1, 3), (1, 3)], True),
        (mechanisms.spherical_fourbar_flat(), [(1, 3), (1, 3)], True),
        # All cranks turn, or all but the first, or the last alone: there forms vanish twice.
        (mechanisms.n_fourbar(2, flat=True), [(1, 6), (1, 6), (1, 5)], False),
        # Rods stay parallel, or the plate turns about axes in one of its two planes of symmetry.
        (upright([(0, 0), (1, 0), (1, 1), (0, 1)]), [(2, 18), (2, 18), (2, 17)], False),
        (mechanisms.planar_fourbar(), [(1, 3)], True),
    ],
    ids=[
        "parallelogram",
        "rhombus",
        "kite",
        "spherical",
        "two windows",
        "square of rods",
        "ordinary",
    ],
)
def test_components_that_meet(
    mechanism: rg.Mechanism, components: list[tuple[int, int]], complete: bool
) -> None:
    reduction = rg.reduce(mechanism)
    assert list(reduction.components) == components
    assert reduction.components_complete == complete
    assert reduction.finite_evidence != "undecided"
    assert reduction.finite_mobility in {mobility for mobility, _ in components}


@given(
    lengths=st.tuples(*[st.floats(0.3, 2.0)] * 2).filter(lambda ab: abs(ab[0] - ab[1]) > 0.1),
    turn=st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: math.hypot(*q) > 0.1),
    noise=st.sampled_from((0.0, 1e-9, 1e-7)),
    seed=st.integers(0, 99),
)
@settings(max_examples=5)
def test_flat_parallelograms_go_on_in_exactly_two_ways(
    lengths: tuple[float, float], turn: tuple[float, ...], noise: float, seed: int
) -> None:
    R = Rotation.from_quat(turn).as_matrix()
    a, b = lengths
    points = np.array([0.0, a, a + b, b])[:, None] * R[:, 0]
    points += noise * np.random.default_rng(seed).normal(size=points.shape)
    mechanism = single_loop("flat", "RRRR", [R[:, 2]] * 4, [tuple(p) for p in points])
    reduction = rg.reduce(mechanism, configurations=0)
    assert reduction.components in (((1, 3), (1, 3)), ((1, 3),))
    # Off by more than is taken for noise, there are two motions that pass each other.
    assert reduction.components_complete and (noise or len(reduction.components) == 2)


def test_branches_that_part_at_fourth_order() -> None:
    """A plate on rods round a circle translates, or screws about the middle (Wren 1668).

    The rank is the same on both, and at the pose all forms of second order vanish.
    """
    angles = np.array([0.0, 0.7, 1.9, 3.0, 4.6])
    mechanism = upright([(float(np.cos(a)), float(np.sin(a))) for a in angles])
    reduction = rg.reduce(mechanism, configurations=0)
    assert reduction.components == ((2, 22), (1, 22)) and not reduction.components_complete
    (found,) = (d for d in mobility_findings(reduction, ()) if d.code == "REG221")
    assert "at least 2 motions meet at the assembled pose, of mobility 2" in found.message
    assert reduction.finite_evidence == "second order"
    (cell,) = reduction.cells
    loops = sized_loops(reduction.graph, reduction.q, cell.edges, reduction.tree)
    plate = loops.row(reduction.graph.nodes.index("plate"))
    for branch, turns in zip(cell.branches, (False, True), strict=True):
        T = loops.state(branch.ends).T_world_node[:, plate]
        assert len(T) == 2  # both ways from the pose
        assert np.allclose(T[:, :2, 3], 0.0, atol=1e-4) == turns
        assert np.allclose(T[:, :3, :3], np.eye(3), atol=1e-4) != turns


def test_components_of_different_mobility_are_called_kinematotropic() -> None:
    """Arms open with both squares on them, or the outer bars of each turn by themselves."""
    report = rg.check(rg.load(ASSETS / "mobility" / "squares_folded.urdf"))
    mobility = report.as_dict()["mobility"]
    assert mobility["components"] == [
        {"mobility": 2, "rank": 5, "redundant": 7, "removed": 6, "remaining": 1},
        {"mobility": 1, "rank": 6, "redundant": 6, "removed": 6, "remaining": 0},
    ]
    assert mobility["finite"] == 2
    assert mobility["kinematotropic"] and not mobility["shaky"]
    (found,) = (d for d in report.diagnostics if d.code in ("REG213", "REG221"))
    assert found.message.startswith(
        "kinematotropic: exactly 2 motions meet at the assembled pose (second order, told to "
        "3e-03, has no room for another), of mobility 2 (rank 5, counted; 7 redundant, 6 removed) "
        "on branch 1, 1 (rank 6, counted; 6 redundant, 6 removed) on branch 2: `A`,"
    )
    assert "True mobility 2 or 1, by the branch that is taken (kinematotropic)," in str(report)
    assert rule("kinematotropic") is rule(found.code)
    moves = {body.body: body.words for body in report.moving}
    assert moves["A_D1_D2"] == "rotates about A (axis along Y)"  # on the second branch alone
    assert moves["C1_D1"] == "moves in the plane normal to Y"


@pytest.mark.parametrize("count", [3, 4])
def test_what_is_redundant_is_said_of_each_branch(count: int) -> None:
    """Bars on a line from two hinges that coincide: arms turn together, or each by itself."""
    places = [1.3, -0.8, 1.7, 0.9][:count]
    pivots = {"first": ("ground", "b0", (places[0], 0, 0))}
    for i, place in enumerate(places[1:], start=1):
        pivots |= {
            f"arm_{i}": ("ground", f"a{i}", (0, 0, 0)),
            f"elbow_{i}": (f"a{i}", f"b{i}", (place, 0, 0)),
            f"tip_{i}": ("b0", f"b{i}", (0, 0, 0)),
        }
    mechanism = rg.Mechanism.of_joints(
        "K(2, n)", [rg.Joint.in_world(n, a, b, "revolute", Z, p) for n, (a, b, p) in pivots.items()]
    )
    report = rg.check(mechanism)
    mobility, loops = report.as_dict()["mobility"], count - 1
    found = mobility["components"]
    assert mobility["finite"] == max(each["mobility"] for each in found) == loops
    assert {each["redundant"] + each["rank"] for each in found} == {6 * loops}
    assert {each["removed"] for each in found} == {3 * loops}
    assert [each["remaining"] for each in found] == [count - 2, 0]
    assert mobility["redundant"] == found[1]["redundant"] == 3 * loops
    verb = "is" if count == 3 else "are"
    more = f"On branch 1 {count - 2} more {verb} redundant, and kept."
    text = " ".join(str(report).split())
    assert f"all can be dropped in every configuration. {more}" in text
    alone = rg.check(mechanism, branch=1).as_dict()["mobility"]
    assert [alone["finite"], alone["redundant"]] == [loops, 3 * loops + count - 2]


def test_on_one_branch_nothing_meets() -> None:
    mechanism = folded(1, 2, 1, 2)
    report = rg.check(mechanism)
    component = {"mobility": 1, "rank": 3, "redundant": 3, "removed": 3, "remaining": 0}
    assert report.as_dict()["mobility"]["components"] == 2 * [component]
    (meeting,) = (d for d in report.diagnostics if d.code == "REG213")
    assert (
        "exactly 2 motions meet at the assembled pose (second order, told to 3e-03, has no room "
        "for another), of mobility 1 (rank 3, counted; 3 redundant, 3 removed) each"
        in meeting.message
    )
    turns = []
    for number in (1, 2):
        report = rg.check(mechanism, branch=number)
        mobility = report.as_dict()["mobility"]
        assert not mobility["here"]["singular"]
        assert mobility["components"] == [component]
        q = report.reduction.q - rg.reduce(mechanism).q
        assert 0.01 < np.max(np.abs(q)) < 1.0
        turns.append(q[0] * q[3] < 0.0)
    # The frame's two joints turn alike on a parallelogram, in the two senses of their chain.
    assert sorted(turns) == [False, True]
    with pytest.raises(rg.ModelError, match="there are 2"):
        rg.check(mechanism, branch=3)
    with pytest.raises(rg.ModelError, match="there is one alone"):
        on_branch(mechanisms.planar_fourbar(), 2)


def test_branches_of_many_cells_multiply() -> None:
    """Twenty folded four-bars have a million motions, of which one is asked for."""
    joints = []
    for k in range(20):
        bodies = ["ground", f"crank {k}", f"coupler {k}", f"rocker {k}", "ground"]
        for i, x in enumerate((0, 1, 3, 2)):
            name = f"{'ABCD'[i]}{k}"
            one, other = bodies[i : i + 2]
            joints.append(rg.Joint.in_world(name, one, other, "revolute", Z, (x, k, 0)))
    reduction = rg.reduce(rg.Mechanism.of_joints("many", joints), configurations=0)
    assert reduction.components == ((20, 60),)
    assert list(reduction.branch_numbers(reduction.cells[-1])) == [1, 2]
    assert list(reduction.branch_numbers(reduction.cells[0])) == [1, 1 + 2**19]
    first, last = (reduction.on_branch(number) for number in (1, 2**20))
    assert np.all(np.abs(first - last).reshape(20, 4).max(axis=1) > 0.01)


def test_a_simulation_begins_on_the_branch_asked_for() -> None:
    mechanism = rg.load(ASSETS / "spherical_fourbar_flat.urdf")
    begun = [rg.simulate(mechanism, duration=0.02, branch=number).q[0] for number in (1, 2)]
    assert np.linalg.norm(begun[0] - begun[1]) > 0.05
    with pytest.raises(rg.ModelError, match="pass the mechanism itself"):
        rg.simulate(rg.reduce(mechanism), duration=0.02, branch=1)


def test_the_picture_shows_where_joints_go_on_every_branch() -> None:
    report = rg.check(folded(1, 2, 1, 2))
    drawing = draw(report)
    names = ["branch 1: mobility 1", "branch 2: mobility 1"]
    assert list(drawing.branch_colors) == names
    assert [label.text for label in drawing.labels if label.color] == names
    assert len(set(drawing.branch_colors.values()) | set(drawing.loop_colors.values())) == 3
    paths = [piece for piece in drawing.pieces if piece.kind == "branch"]
    for number, color in enumerate(drawing.branch_colors.values(), start=1):
        own = [piece for piece in paths if piece.name.startswith(f"branch/{number}/")]
        assert {piece.color for piece in own} == {color}
        # Both moving joints, both ways, from the pose on circles about the fixed ones.
        assert len(own) == 4
        center = report.reduction.graph.edges[0].T_parent[:3, 3]
        reach = [float(np.linalg.norm(piece.mesh.vertices - center, axis=1).max()) for piece in own]
        assert min(reach) == pytest.approx(1.0, abs=0.1)
    flat = saved(picture(report, ghosts=0, drawing=drawing), "svg").decode()
    page = html.render(report)
    for name, color in drawing.branch_colors.items():
        assert name in flat and "#{:02x}{:02x}{:02x}".format(*color[:3]) in flat
        assert name in page and f"rgb{color[:3]}" in page
    assert 'value="branches"' in page
    plain = rg.check(mechanisms.planar_fourbar())
    assert not draw(plain).branch_colors and 'value="branches"' not in html.render(plain)


def test_a_cusp_has_a_way_out() -> None:
    (motion,) = motions(
        rg.reduce(rg.load(ASSETS / "mobility" / "double_watt.urdf"), configurations=0)
    )
    assert motion.name == "E2" and len(motion.q) > 20
    assert motion.start in (0, len(motion.q) - 1)
