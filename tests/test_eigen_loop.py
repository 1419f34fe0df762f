"""All configurations of six turns and slides: none missed, each proved, doubt admitted."""

from __future__ import annotations

import numpy as np
import pytest
from loop_samples import (
    ARMS,
    HAND,
    apart,
    arm_constants,
    closed_by,
    dense_search,
    random_constants,
)
from mechanisms import sarrus

from regularize.assembly_modes.loop_chain import chain_of
from regularize.assembly_modes.loops import loops_of
from regularize.assembly_modes.six_motions.closure import error_and_derivative
from regularize.assembly_modes.six_motions.eigen_loop import EigenLoop
from regularize.assembly_modes.six_motions.elementary_loop import ElementaryLoop
from regularize.assembly_modes.six_motions.pencil import arrangements
from regularize.lie import screw
from regularize.model.graph_building import build

KINDS = ["RRRRRR", "PRRRRR", "RRRPRR", "PPRRRR", "RPRPRR", "RPRRPR", "RPPPRR", "RPRPPR"]


@pytest.mark.slow
@pytest.mark.parametrize("kinds", KINDS)
def test_random_loops_are_solved_completely(kinds):
    """Each of 200 loops with a known configuration; with slides in all kinds of places."""
    rng = np.random.default_rng(KINDS.index(kinds))
    solver = EigenLoop(kinds, random_constants(rng, 3))
    x = rng.uniform(-3, 3, size=(200, 6))
    found = solver.solve(closed_by(kinds, random_constants(rng, 200), x))
    counts = np.bincount(found.rows, minlength=200)
    assert found.complete.mean() > 0.98
    assert np.all(counts[found.complete] % 2 == 0)
    assert counts.max() <= 16
    assert np.max(found.closed.error) < 1e-12
    assert np.all(found.closed.h[found.complete[found.rows]] <= 0.5)
    hit = np.zeros(200, dtype=bool)
    hit[found.rows[apart(kinds, found.closed.x, x[found.rows]) < 1e-5]] = True
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
        ours = found.closed.x[found.rows == n]
        theirs = dense_search(kinds, C[n], rng, 150)
        distance = apart(kinds, theirs[:, None], ours[None])
        assert np.max(distance.min(axis=1), initial=0.0) < 1e-7
        total += len(ours)
        reached += int(np.sum(distance.min(axis=0, initial=9.0) < 1e-7))
    # The search is dense enough to mean something.
    assert reached > 0.6 * total


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
    hit[found.rows[apart("RRRRRR", found.closed.x, x[found.rows]) < 1e-4]] = True
    assert hit.all()
    if name == "almost spherical wrist":
        assert np.all(counts == 8)
    if name in ("Manseur and Doty", "offset wrist"):
        assert counts.max() == 16


def test_sixteen_configurations_of_manseur_and_doty():
    U, _, V = np.linalg.svd(HAND[:3, :3])
    hand = screw.transform(U @ V, HAND[:3, 3])  # the printed digits are no rotation exactly
    C = arm_constants("Manseur and Doty")[None].copy()
    C[:, 5] = C[:, 5] @ screw.inverse(hand)
    found = EigenLoop("RRRRRR", C).solve(C)
    assert len(found.rows) == 16
    assert found.complete.all()
    assert np.max(found.closed.error) < 1e-13
    assert np.max(found.closed.h) < 1e-6
    distance = apart("RRRRRR", found.closed.x[:, None], found.closed.x[None])
    assert np.min(distance + 9 * np.eye(16)) > 1e-2
    theirs = dense_search("RRRRRR", C[0], np.random.default_rng(0), 500)
    assert np.max(apart("RRRRRR", theirs[:, None], found.closed.x[None]).min(axis=1)) < 1e-8


@pytest.mark.slow
def test_every_regular_arrangement_finds_the_same():
    rng = np.random.default_rng(5)
    kinds = "RRRRRR"
    C = closed_by(kinds, random_constants(rng, 5), rng.uniform(-2, 2, size=(5, 6)))
    solver = EigenLoop(kinds, C, attempts=1)
    reference = solver.solve(C)
    assert reference.complete.all()
    regular = 0
    for arrangement in arrangements(kinds):
        attempt = EigenLoop(kinds, C, attempts=1)
        attempt.choices = [(arrangement, 1.0)]
        found = attempt.solve(C)
        regular += int(found.complete.all())
        for n in range(5):
            ours = reference.closed.x[reference.rows == n]
            theirs = found.closed.x[found.rows == n]
            if found.complete[n]:
                assert len(ours) == len(theirs)
                assert apart(kinds, theirs[:, None], ours[None]).min(axis=1).max() < 1e-8
    assert regular == 72


def test_results_do_not_depend_on_the_company():
    rng = np.random.default_rng(6)
    kinds = "RRRRPR"
    C = closed_by(kinds, random_constants(rng, 10), rng.uniform(-2, 2, size=(10, 6)))
    solver = EigenLoop(kinds, C[:2])
    together = solver.solve(C)
    for n in range(10):
        alone = solver.solve(C[n : n + 1])
        ours = together.closed.x[together.rows == n]
        assert len(alone.rows) == len(ours)
        assert apart(kinds, alone.closed.x[:, None], ours[None]).min(axis=1).max() < 1e-10


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
