"""Coordinate partitioning: the cases of Paul (2020), section 5.5, and choices that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import regularize as rg
from regularize.errors import ModelError, NotClosed
from regularize.lie.screw import Array
from regularize.manifold.assembly import assemble
from regularize.model.mechanism import (
    Joint,
    Mechanism,
    joint_in_world,
    mechanism_of,
)
from regularize.reduction.partitioning import partition
from regularize.reduction.pivoting import NotIndependent, choose, complete_pivoting

Y = (0, 1, 0)


def five_bars() -> Mechanism:
    """A parallelogram with two more equal cranks: 5 hinges and 6 constraints in the plane.

    The dimensions are those of equation 24 of the thesis: rank 5 open, rank 4 closed.
    """
    joints = [joint_in_world("h0", "ground", "crank0", "revolute", Y, (0, 0, 0))]
    joints.append(joint_in_world("k0", "crank0", "coupler", "revolute", Y, (0.3, 0, 1)))
    for i in (1, 2, 3):
        joints.append(
            joint_in_world(f"k{i}", "coupler", f"crank{i}", "revolute", Y, (i + 0.3, 0, 1))
        )
    for i in (1, 2, 3):
        joints.append(
            joint_in_world(f"h{i}", "ground", f"crank{i}", "revolute", Y, (i, 0, 0), closure=True)
        )
    return mechanism_of("five_bars", joints)


OPEN = np.array([0.1, 0.3, -0.2, 0.4, 0.15, 0.0, 0.0, 0.0])
TREE = ("h0", "k0", "k1", "k2", "k3")


def plane_constraints(mechanism: Mechanism, q: Array) -> Array:
    """Derivative of where the three cranks end by the five hinges of the tree, shape (6, 5)."""

    def ends(x: Array) -> Array:
        crank = x[0]
        frame = x[0] + x[1]
        start = np.array([0.3 * np.cos(crank) + np.sin(crank), np.cos(crank) - 0.3 * np.sin(crank)])
        result = []
        for i in (1, 2, 3):
            along = start + i * np.array([np.cos(frame), -np.sin(frame)])
            angle = frame + x[1 + i]
            down = np.array([-0.3 * np.cos(angle) - np.sin(angle), 0.3 * np.sin(angle)])
            result.append(along + down - [0, np.cos(angle)])
        return np.concatenate(result)

    step = 1e-6
    columns = [(ends(q + step * e) - ends(q - step * e)) / (2 * step) for e in np.eye(5)]
    return np.column_stack(columns)


def closed(mechanism: Mechanism) -> Array:
    return assemble(mechanism, OPEN, ["h0"]).q


def test_rank_falls_from_five_to_four_when_the_constraints_are_solved() -> None:
    """Equations 25 and 26."""
    mechanism = five_bars()
    open_rank = complete_pivoting(plane_constraints(mechanism, OPEN[:5]), rtol=1e-6).rank
    closed_rank = complete_pivoting(plane_constraints(mechanism, closed(mechanism)[:5]), rtol=1e-6)
    assert (open_rank, closed_rank.rank) == (5, 4)


def test_locked_column_loses_rank_only_while_the_constraints_are_unsolved() -> None:
    """Equations 28, 29 and 34: with one column locked the rank is 4, open or closed."""
    mechanism = five_bars()
    for q, whole in ((OPEN[:5], 5), (closed(mechanism)[:5], 4)):
        jacobian = plane_constraints(mechanism, q)
        assert np.linalg.matrix_rank(jacobian, tol=1e-6) == whole
        pivots = complete_pivoting(jacobian, [4], 1e-6)
        assert pivots.rank == 4
        assert pivots.columns[-1] == 4


def test_without_a_choice_the_closed_jacobian_leaves_one_independent_column() -> None:
    """Equations 35 to 37, and 30 to 32: none is left while the constraints are unsolved."""
    mechanism = five_bars()
    solved = choose(plane_constraints(mechanism, closed(mechanism)[:5]), TREE, rtol=1e-6)
    assert len(solved.independent) == 1 and len(solved.redundant) == 2
    unsolved = choose(plane_constraints(mechanism, OPEN[:5]), TREE, rtol=1e-6)
    assert unsolved.independent == ()
    with pytest.raises(NotIndependent):
        choose(plane_constraints(mechanism, OPEN[:5]), TREE, [4], rtol=1e-6)


def test_partition_of_the_whole_mechanism_open_and_closed() -> None:
    mechanism = five_bars()
    unsolved = partition(mechanism, OPEN, close=False)
    assert unsolved.rank == 8 and unsolved.independent == ()
    solved = partition(mechanism, OPEN, ["h0"])
    assert solved.rank == 7
    assert solved.independent == ("h0",)
    assert len(solved.dependent) == 7
    # 3 loops of 6 equations: 3 trivial ones each, and one for each of the two cranks too many.
    assert len(solved.redundant_rows) == 11
    assert solved.q[0] == OPEN[0]
    assert 1.0 < solved.condition < 1e3


def test_pivots_are_the_largest_entries_that_remain() -> None:
    matrix = np.array([[1.0, 2.0, 0.0], [4.0, 8.0, 1.0], [2.0, 4.0, 0.5]])
    pivots = complete_pivoting(matrix)
    assert pivots.rank == 2
    assert pivots.rows[0] == 1 and pivots.columns[0] == 1
    assert pivots.values[0] == 8.0
    assert np.all(np.diff(pivots.values) <= 0)


def test_complete_pivoting_agrees_with_the_rank_of_random_matrices() -> None:
    rng = np.random.default_rng(0)
    for rank in range(1, 6):
        matrix = rng.normal(size=(7, rank)) @ rng.normal(size=(rank, 6))
        pivots = complete_pivoting(matrix, rtol=1e-9)
        assert pivots.rank == rank
        block = matrix[np.ix_(pivots.rows[:rank], pivots.columns[:rank])]
        assert np.linalg.matrix_rank(block) == rank


def test_refuses_coordinates_that_depend_on_each_other_and_names_them() -> None:
    with pytest.raises(NotIndependent, match="'h0', 'k2' depend on each other") as caught:
        partition(five_bars(), closed(five_bars()), ["h0", "k2"])
    assert set(caught.value.coordinates) == {"h0", "k2"}


def test_names_only_those_that_are_tied() -> None:
    """Two four-bars beside each other: the tie is within the first."""

    def four_bar(i: int) -> list[Joint]:
        x = 3.0 * i
        return [
            joint_in_world(f"A{i}", "ground", f"a{i}", "revolute", Y, (x, 0, 0)),
            joint_in_world(f"B{i}", f"a{i}", f"b{i}", "revolute", Y, (x + 0.3, 0, 0.4)),
            joint_in_world(f"C{i}", f"b{i}", f"c{i}", "revolute", Y, (x + 1.2, 0, 0.6)),
            joint_in_world(f"D{i}", "ground", f"c{i}", "revolute", Y, (x + 1, 0, 0)),
        ]

    mechanism = mechanism_of("two", [*four_bar(0), *four_bar(1)])
    assert partition(mechanism, independent=["A0", "C1"]).independent == ("A0", "C1")
    with pytest.raises(NotIndependent) as caught:
        partition(mechanism, independent=["A1", "A0", "B0"])
    assert set(caught.value.coordinates) == {"A0", "B0"}


def test_refuses_a_coordinate_that_cannot_move() -> None:
    rigid = mechanism_of(
        "triangle",
        [
            joint_in_world("A", "ground", "a", "revolute", Y, (0, 0, 0)),
            joint_in_world("B", "a", "b", "revolute", Y, (0, 0, 1)),
            joint_in_world("C", "b", "ground", "revolute", Y, (1, 0, 0)),
        ],
    )
    with pytest.raises(NotIndependent, match="'B' cannot move"):
        partition(rigid, independent=["B"])


def test_forced_coordinates_are_known_but_not_independent() -> None:
    found = partition(five_bars(), OPEN, forced=["h0"])
    assert found.forced == ("h0",) and found.independent == ()
    assert found.rank == 7


@pytest.mark.slow
def test_says_when_the_loops_cannot_be_closed() -> None:
    with pytest.raises(NotClosed, match="cannot be closed"):
        partition(five_bars(), independent=["h0", "k0"], q=OPEN)


def test_unknown_names_are_listed() -> None:
    with pytest.raises(ModelError, match="no coordinate 'nobody'; known are"):
        partition(five_bars(), independent=["nobody"])


def test_a_reduction_is_partitioned_at_its_own_configuration() -> None:
    reduction = rg.reduce(five_bars())
    np.testing.assert_allclose(partition(reduction).q, reduction.q, atol=1e-12)
