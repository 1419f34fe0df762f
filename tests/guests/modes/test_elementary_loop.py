"""Single loops as six motions: what is one, and its configurations by eigenvalues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from closed_form_cases import ring
from loop_samples import ARMS, apart, arm_constants, closed_by, dense_search, random_constants
from mechanisms import bennett, sarrus, turned_round
from screws import joint_screws

import regularize as rg
from regularize.guests.modes.eigen_loop import EigenLoop
from regularize.guests.modes.elementary_loop import (
    ElementaryLoop,
    NotElementary,
    certified,
    error_and_derivative,
    product,
)
from regularize.guests.modes.loop_chain import chain_of, loops_of
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import spanning_tree
from regularize.mechanism.graph_building import build

KINDS = "revolute prismatic spherical cylindrical universal free helical"
WORDS = {kind[0].upper(): kind for kind in KINDS.split()}


def random_ring(kinds: str, seed: int) -> rg.Mechanism:
    rng = np.random.default_rng(seed)
    return ring(
        kinds,
        *[
            (f"j{i}", WORDS[kind], rng.normal(size=3), tuple(rng.normal(size=3)))
            for i, kind in enumerate(kinds)
        ],
    )


def loop_of(
    mechanism: rg.Mechanism, known: tuple[int, ...], *, exchanged: bool = False
) -> ElementaryLoop:
    graph = build(mechanism)
    (cycle,), _ = loops_of(graph)
    return ElementaryLoop(graph, chain_of(graph, cycle), frozenset(known), exchanged=exchanged)


@pytest.mark.parametrize(
    ("kinds", "known", "motions"),
    [
        ("RRRRRRR", (0,), "RRRRRR"),
        ("RPRRRPR", (2,), "RPRRPR"),
        ("RSRRR", (0,), "RRRRRR"),
        ("SRRRR", (3,), "RRRRRR"),
        ("RURC", (0,), "RRRPRR"),
        ("RCRP", (0,), "PRRPRR"),
        ("RRR", (0,), "RRRRRR"),
        ("RF", (0,), "PPPRRR"),
        ("SRRR", (0, 1, 2), "RRRRRR"),
    ],
)
def test_the_six_motions_are_those_of_the_loop(kinds, known, motions):
    mechanism = random_ring(kinds, 5)
    loop = loop_of(mechanism, known)
    assert sorted(loop.kinds) == sorted(motions)
    assert_same_motion(mechanism, known, loop)


@pytest.mark.parametrize("turned", [(), (1,), (2,), (1, 2)])
def test_cylindrical_joints_may_slide_first_or_turn_first(turned):
    mechanism = random_ring("RCCR", 5)
    joints = [turned_round(j) if k in turned else j for k, j in enumerate(mechanism.joints)]
    mechanism = replace(mechanism, joints=tuple(joints))
    plain, other = (loop_of(mechanism, (0,), exchanged=e) for e in (False, True))
    assert plain.kinds != other.kinds
    for loop in (plain, other):
        assert_same_motion(mechanism, (0,), loop)


def assert_same_motion(
    mechanism: rg.Mechanism, known: tuple[int, ...], loop: ElementaryLoop
) -> None:
    """The product of all motions turns as much as the gap of the loop, at random coordinates."""
    graph = build(mechanism)
    kinematics = LoopKinematics(graph, range(len(graph.edges)), spanning_tree(graph))
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(20, 6))
    auxiliary = [k for k, motion in enumerate(loop.motions) if motion.of is None]
    x[:, auxiliary] = 0.0
    q = rng.uniform(-1, 1, size=(20, graph.freedoms))
    C = loop.constants(q)
    T, _, _ = product(loop.kinds, C, x)
    full = loop.coordinates(x, q)
    assert np.array_equal(full[:, list(known)], q[:, list(known)])
    residual = kinematics.residual(kinematics.state(full))
    angle = np.arccos(np.clip(0.5 * (np.trace(T[:, :3, :3], axis1=1, axis2=2) - 1), -1, 1))
    assert np.allclose(np.linalg.norm(residual[:, 3:], axis=1), angle, atol=1e-7)
    assert loop.closes(x).all()
    bent = x.copy()
    bent[:, auxiliary] = 0.3
    assert loop.closes(bent).all() == (not auxiliary)


def test_ball_joints_come_back_from_three_turns():
    loop = loop_of(random_ring("RSRRR", 2), (0,))
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=(50, 6))
    q = loop.coordinates(x, np.zeros((50, 7)))
    balls = [k for k, motion in enumerate(loop.motions) if motion.of and motion.of.kind == "S"]
    assert len(balls) == 3
    # The other set of three angles of the same rotation gives the same coordinates.
    first, second, third = (x[:, k] for k in balls)
    other = x.copy()
    other[:, balls] = np.stack([first + np.pi, np.pi - second, third + np.pi], axis=1)
    again = loop.coordinates(other, np.zeros((50, 7)))
    turns = [k for k in range(7) if k not in (1, 2, 3)]
    assert np.max(apart("R" * 4, q[:, turns], again[:, turns])) < 1e-12
    assert np.max(np.abs(q - again)) < 1e-6


@pytest.mark.parametrize(
    ("kinds", "known", "reason"),
    [
        ("RRRRRRRR", (0,), "7 unknown"),
        ("RSSSR", (0,), "9 unknown"),
        ("RRHRRRR", (0,), "helical"),
        ("SRRRRR", (0,), "in part"),
        ("RRR", (0, 1, 2), "0 unknown"),
    ],
)
def test_other_loops_are_refused_with_a_reason(kinds, known, reason):
    mechanism = random_ring(kinds, 1)
    if "H" in kinds:
        screws = joint_screws("helical", pitch=0.1)
        joints = [replace(j, screws=screws) if j.name == "j2" else j for j in mechanism.joints]
        mechanism = replace(mechanism, joints=tuple(joints))
    with pytest.raises(NotElementary, match=reason):
        loop_of(mechanism, known)


def test_overconstrained_loops_get_auxiliary_turns():
    loop = loop_of(bennett(), (0,))
    assert loop.kinds == "RRRRRR"
    assert [motion.of is None for motion in loop.motions].count(True) == 3
    assert loop.columns == (1, 2, 3)


ORDERS = ["RRRRRR", "PRRRRR", "RRRPRR", "PPRRRR", "RPRPRR", "RPRRPR", "RPPPRR", "RPRPPR"]


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ORDERS)
def test_random_loops_are_solved_completely(kinds):
    """Each of 200 loops with a known configuration; with slides in all kinds of places."""
    rng = np.random.default_rng(ORDERS.index(kinds))
    solver = EigenLoop(kinds, random_constants(rng, 3))
    x = rng.uniform(-3, 3, size=(200, 6))
    C = closed_by(kinds, random_constants(rng, 200), x)
    found = solver.solve(C)
    assert np.max(certified(kinds, C[found.rows], found.x)[0]) < 1e-12
    counts = np.bincount(found.rows, minlength=200)
    assert found.complete.mean() > 0.98
    assert np.all(counts[found.complete] % 2 == 0)
    assert counts.max() <= 16
    assert np.all(found.h[found.complete[found.rows]] <= 0.5)
    hit = np.zeros(200, dtype=bool)
    hit[found.rows[apart(kinds, found.x, x[found.rows]) < 1e-5]] = True
    assert hit.all()


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["RRRRRR", "PRRRRR", "RPRPRR", "RRPPRR"])
def test_a_dense_search_finds_nothing_else(kinds):
    rng = np.random.default_rng(7)
    count = 24 if kinds == "RRRRRR" else 8
    solver = EigenLoop(kinds, random_constants(rng, 3))
    x = rng.uniform(-2, 2, size=(count, 6))
    C = closed_by(kinds, random_constants(rng, count), x)
    found = solver.solve(C)
    assert found.complete.all()
    total = reached = 0
    for n in range(count):
        ours = found.x[found.rows == n]
        theirs = dense_search(kinds, C[n], rng, 150)
        distance = apart(kinds, theirs[:, None], ours[None])
        assert np.max(distance.min(axis=1), initial=0.0) < 1e-7
        total += len(ours)
        reached += int(np.sum(distance.min(axis=0, initial=9.0) < 1e-7))
    # The search is dense enough to mean something.
    assert reached > 0.6 * total


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_arms_in_random_poses(name):
    rng = np.random.default_rng(3)
    x = rng.uniform(-3, 3, size=(60, 6))
    C = closed_by("RRRRRR", np.repeat(arm_constants(name)[None], 60, axis=0), x)
    found = EigenLoop("RRRRRR", C[:3]).solve(C)
    counts = np.bincount(found.rows, minlength=60)
    assert found.complete.all()
    assert np.all(counts % 2 == 0)
    hit = np.zeros(60, dtype=bool)
    hit[found.rows[apart("RRRRRR", found.x, x[found.rows]) < 1e-4]] = True
    assert hit.all()
    if name == "almost spherical wrist":
        assert np.all(counts == 8)
    if name in ("Manseur and Doty", "offset wrist"):
        assert counts.max() == 16


@pytest.mark.slow
def test_where_two_solutions_meet_the_list_is_not_called_complete():
    """A double solution, found by bisection of the determinant along a path of closed loops."""
    rng = np.random.default_rng(8)
    kinds = "RRRRRR"
    C = random_constants(rng, 1)
    x = rng.uniform(-2, 2, size=(1, 6))

    def determinant(t: float) -> float:
        y = x + t * np.array([[0.0, 1.0, -1.0, 0.5, 1.5, 0.0]])
        return float(np.linalg.det(error_and_derivative(kinds, closed_by(kinds, C, y), y)[1])[0])

    grid = np.linspace(0, 3, 61)
    values = [determinant(t) for t in grid]
    k = next(i for i in range(60) if values[i] * values[i + 1] < 0)
    low, high = grid[k], grid[k + 1]
    for _ in range(80):
        middle = 0.5 * (low + high)
        if determinant(middle) * values[k] > 0:
            low = middle
        else:
            high = middle
    y = x + low * np.array([[0.0, 1.0, -1.0, 0.5, 1.5, 0.0]])
    singular = closed_by(kinds, C, y)
    solver = EigenLoop(kinds, C)
    found = solver.solve(singular)
    assert not found.complete[0]
    assert found.regularity[0] > 1e-8
    beside = closed_by(kinds, C, y + 0.05)
    assert solver.solve(beside).complete[0]


def test_loops_that_move_have_a_singular_polynomial():
    """Six turns about two families of parallel axes, Sarrus' linkage."""
    graph = build(sarrus())
    (cycle,), _ = loops_of(graph)
    loop = ElementaryLoop(graph, chain_of(graph, cycle), frozenset())
    solver = EigenLoop(loop.kinds, loop.constants(np.zeros((1, 6))))
    assert solver.choices == []
    found = solver.solve(loop.constants(np.zeros((2, 6))))
    assert not found.complete.any() and len(found.rows) == 0
