"""Walking, ranks and mobility on cases with nasty poses."""

from __future__ import annotations

import numpy as np
import pytest
import screws

import regularize as rg
from regularize.lie.subalgebra import decide_rank
from regularize.loops.block_rows import BlockRows, Blocks
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import least_norm, project, ranks_of
from regularize.mechanism.graph import spanning_tree
from regularize.mechanism.graph_building import build


def ring(name: str, axes: np.ndarray, points: np.ndarray) -> rg.Mechanism:
    """A single loop of hinges."""
    bodies = ["ground", *(f"b{i}" for i in range(len(axes) - 1)), "ground"]
    return rg.Mechanism.of_joints(
        name,
        [
            rg.Joint.in_world(f"j{i}", bodies[i], bodies[i + 1], "revolute", axis, point)
            for i, (axis, point) in enumerate(zip(axes, points, strict=True))
        ],
    )


def planar_ring(count: int) -> rg.Mechanism:
    points = np.random.default_rng(count).normal(size=(count, 3)) * (1, 1, 0)
    return ring(f"planar {count}R", np.tile((0.0, 0.0, 1.0), (count, 1)), points)


def kinematics(mechanism: rg.Mechanism) -> LoopKinematics:
    graph = build(mechanism)
    return LoopKinematics(graph, range(len(graph.edges)), spanning_tree(graph))


def test_a_rank_comes_with_its_evidence():
    rank = decide_rank(np.array([2.0, 1.0, 1e-4, 1e-12]), 1e-5)
    assert (rank.rank, rank.lowest, rank.highest) == (3, 2, 3)
    assert rank.gap == pytest.approx(1e8)
    assert decide_rank(np.zeros(3), 1e-5).rank == 0
    assert decide_rank(np.array([1.0, 1.0]), 1e-5).gap == np.inf
    assert decide_rank(np.zeros(0), 1e-5).rank == 0
    small = decide_rank(np.array([1e-9, 1e-12, 1e-15]), 1e-2)  # what counts is how they compare
    assert (small.rank, small.lowest, small.highest) == (1, 0, 2)
    near = decide_rank(np.array([1.0, 1.005e-3, 0.995e-7]), 1e-5)
    assert (near.rank, near.lowest, near.highest) == (2, 2, 2)


@pytest.mark.parametrize(
    ("rows", "columns", "rank"), [(5, 9, 5), (9, 9, 6), (80, 100, 80), (80, 100, 50), (100, 80, 80)]
)
def test_shortest_solutions_are_those_of_the_pseudo_inverse(rows, columns, rank):
    rng = np.random.default_rng(rows)
    matrices = rng.normal(size=(3, rows, rank)) @ rng.normal(size=(3, rank, columns))
    values = rng.normal(size=(3, rows))
    expected = (np.linalg.pinv(matrices, rcond=1e-8) @ values[..., None])[..., 0]
    assert np.allclose(least_norm(matrices, values, 1e-8), expected, atol=1e-7)


def block_rows(shape, *loops):
    """Sparse rows of loops, each of rows, columns, and values at all configurations."""
    blocks = [Blocks(np.array([r]), np.array([c]), np.array(v)[:, None]) for r, c, v in loops]
    return BlockRows(shape, blocks)


@pytest.mark.parametrize(
    ("rows", "good", "rank"),
    [
        # Two loops that share a coordinate and go together: sparse factors do.
        (block_rows((2, 3), ([0], [0, 1], [[[1, 2]]]), ([1], [1, 2], [[[3, 1]]])), True, 2),
        # Both say the same, or almost; a loop has more rows than coordinates; there is no loop.
        (block_rows((2, 2), ([0], [0, 1], [[[1, 2]]]), ([1], [0, 1], [[[2, 4]]])), False, 1),
        (block_rows((2, 2), ([0], [0, 1], [[[1, 2]]]), ([1], [0, 1], [[[1, 2 + 1e-5]]])), False, 2),
        (block_rows((2, 1), ([0, 1], [0], [[[1], [2]]])), False, 1),
    ],
)
def test_rows_of_many_loops_are_solved_as_dense_ones(rows, good, rank):
    dense = rows.dense()
    values = dense @ np.arange(1.0, rows.shape[1] + 1)
    assert rows.least_norm(values)[1].tolist() == [good]
    assert rows.independent() is good
    assert ranks_of(rows, 1e-8).tolist() == [rank]
    expected = np.linalg.pinv(dense[0], rcond=1e-8) @ values[0]
    for ranks in (None, np.array([rank])):
        assert np.allclose(least_norm(rows, values, 1e-8, ranks=ranks)[0], expected, atol=1e-7)
    held = np.arange(rows.shape[1]) == 0
    assert ranks_of(rows, 1e-8, held).tolist() == [np.linalg.matrix_rank(dense[0][:, 1:])]
    expected = np.linalg.pinv(dense[0] * ~held, rcond=1e-8) @ values[0]
    assert np.allclose(least_norm(rows, values, 1e-8, held)[0], expected)
    assert BlockRows((0, 3), []).factors(0) is None


def test_systems_are_solved_where_the_quick_decomposition_does_not_converge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrices = np.random.default_rng(0).normal(size=(3, 4, 6))
    matrices[:, 3] = matrices[:, 0]
    values = matrices @ np.arange(6.0)
    expected = least_norm(matrices, values, 1e-8)

    def refuse(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", refuse)
    assert np.allclose(least_norm(matrices, values, 1e-8), expected)


def test_walkers_stay_on_the_loops_and_go_somewhere():
    loops = kinematics(planar_ring(6))
    start = np.zeros(6)
    rng = np.random.default_rng(0)
    visited = random_walks(Continuation(loops), start, walkers=10, steps=5, rng=rng)
    assert visited.shape == (5, 10, 6)
    errors = loops.residual(loops.state(visited.reshape(-1, 6)))
    assert np.max(np.abs(errors)) < 1e-11
    assert np.all(np.max(np.abs(visited[-1]), axis=1) > 0.1)


def test_corrections_tell_which_configurations_are_closed():
    loops = kinematics(planar_ring(4))
    far = np.zeros((2, 4))
    far[1] = (0.02, -0.01, 0.02, 0.01)
    found = project(loops, far)
    q = found.q
    assert found.closed.all() and np.max(np.abs(q[1])) < 0.1
    heading = Continuation(loops).tangents(q, np.ones((2, 4)))
    rates = loops.residual_jacobian(loops.state(q)) @ heading[..., None]
    assert np.max(np.abs(rates)) < 1e-9


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7])
def test_planar_rings(count):
    reduction = rg.reduce(planar_ring(count))
    assert reduction.mobility == reduction.finite_mobility == count - 3
    assert (reduction.kept, reduction.removed, reduction.remaining) == (2, 3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 4, 5, 6])
def test_dead_loops_of_skew_hinges_are_thinned_to_independent_rows(count):
    rng = np.random.default_rng(count)
    reduction = rg.reduce(ring("dead", rng.normal(size=(count, 3)), rng.normal(size=(count, 3))))
    assert reduction.mobility == reduction.finite_mobility == 0
    assert reduction.remaining == 0 and reduction.kept == count - 1
    (part,) = reduction.parts
    assert part.locked == tuple(range(count))


@pytest.mark.slow
def test_results_repeat_by_seed():
    first, second = (rg.reduce(planar_ring(5), seed=3) for _ in range(2))
    assert np.array_equal(first.cells[0].configurations, second.cells[0].configurations)
    other = rg.reduce(planar_ring(5), seed=4)
    assert not np.array_equal(first.cells[0].configurations, other.cells[0].configurations)


def test_rounding_of_the_file_does_not_hide_a_planar_loop():
    axes = np.tile((0.0, 0.0, 1.0), (4, 1))
    axes[2] = screws.exp(np.array([0, 0, 0, 3.7e-6, 0, 0]))[:3, 2]
    points = np.array([[0, 0, 0], [0.2, 0.3, 0], [0.9, 0.5, 0], [1, 0, 0]])
    reduction = rg.reduce(ring("rounded", axes, points))
    assert (reduction.mobility, reduction.removed) == (1, 3)
    assert reduction.cells[0].generic.highest == 4
