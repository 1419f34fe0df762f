"""Coordinate partitioning: the cases of Paul (2020), section 5.5, and choices that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regularize as rg

Y = (0, 1, 0)


def five_bars() -> rg.Mechanism:
    """A parallelogram with two more equal cranks: 5 hinges and 6 constraints in the plane.

    The dimensions are those of equation 24 of the thesis: rank 5 open, rank 4 closed.
    """
    joints = [rg.Joint.in_world("h0", "ground", "crank0", "revolute", Y, (0, 0, 0))]
    joints.append(rg.Joint.in_world("k0", "crank0", "coupler", "revolute", Y, (0.3, 0, 1)))
    for i in (1, 2, 3):
        joints.append(
            rg.Joint.in_world(f"k{i}", "coupler", f"crank{i}", "revolute", Y, (i + 0.3, 0, 1))
        )
    for i in (1, 2, 3):
        joints.append(
            rg.Joint.in_world(
                f"h{i}", "ground", f"crank{i}", "revolute", Y, (i, 0, 0), closure=True
            )
        )
    return rg.Mechanism.of_joints("five_bars", joints)


OPEN = np.array([0.1, 0.3, -0.2, 0.4, 0.15, 0.0, 0.0, 0.0])


def closed(mechanism: rg.Mechanism) -> np.ndarray:
    return rg.assemble(mechanism, OPEN, ["h0"]).q


def test_partition_of_the_whole_mechanism_open_and_closed() -> None:
    mechanism = five_bars()
    unsolved = rg.partition(mechanism, OPEN, close=False)
    assert unsolved.rank == 8 and unsolved.independent == ()
    solved = rg.partition(mechanism, OPEN, ["h0"])
    assert solved.rank == 7
    assert solved.independent == ("h0",)
    assert len(solved.dependent) == 7
    # 3 loops of 6 equations: 3 trivial ones each, and one for each of the two cranks too many.
    assert len(solved.redundant_rows) == 11
    assert solved.q[0] == OPEN[0]
    assert 1.0 < solved.condition < 1e3


def test_refuses_coordinates_that_depend_on_each_other_and_names_them() -> None:
    with pytest.raises(rg.ModelError, match="'h0', 'k2' depend on each other") as caught:
        rg.partition(five_bars(), closed(five_bars()), ["h0", "k2"])
    assert set(caught.value.coordinates) == {"h0", "k2"}


def test_a_singular_pose_is_refused_and_stored_zeros_are_moved_off_it() -> None:
    flat = rg.load(Path(__file__).parents[2] / "assets" / "spherical_fourbar_flat.urdf")
    with pytest.raises(rg.SingularConfiguration, match="A and B, more than elsewhere"):
        rg.partition(flat, np.zeros(4))
    assert len(rg.partition(flat).independent) == 1 and rg.partition(flat).q.all()


def test_names_only_those_that_are_tied() -> None:
    """Two four-bars beside each other: the tie is within the first."""

    def four_bar(i: int) -> list[rg.Joint]:
        x = 3.0 * i
        return [
            rg.Joint.in_world(f"A{i}", "ground", f"a{i}", "revolute", Y, (x, 0, 0)),
            rg.Joint.in_world(f"B{i}", f"a{i}", f"b{i}", "revolute", Y, (x + 0.3, 0, 0.4)),
            rg.Joint.in_world(f"C{i}", f"b{i}", f"c{i}", "revolute", Y, (x + 1.2, 0, 0.6)),
            rg.Joint.in_world(f"D{i}", "ground", f"c{i}", "revolute", Y, (x + 1, 0, 0)),
        ]

    mechanism = rg.Mechanism.of_joints("two", [*four_bar(0), *four_bar(1)])
    assert rg.partition(mechanism, independent=["A0", "C1"]).independent == ("A0", "C1")
    with pytest.raises(rg.ModelError) as caught:
        rg.partition(mechanism, independent=["A1", "A0", "B0"])
    assert set(caught.value.coordinates) == {"A0", "B0"}


def test_refuses_a_coordinate_that_cannot_move() -> None:
    rigid = rg.Mechanism.of_joints(
        "triangle",
        [
            rg.Joint.in_world("A", "ground", "a", "revolute", Y, (0, 0, 0)),
            rg.Joint.in_world("B", "a", "b", "revolute", Y, (0, 0, 1)),
            rg.Joint.in_world("C", "b", "ground", "revolute", Y, (1, 0, 0)),
        ],
    )
    with pytest.raises(rg.ModelError, match="'B' cannot move"):
        rg.partition(rigid, independent=["B"])


def test_forced_coordinates_are_known_but_not_independent() -> None:
    found = rg.partition(five_bars(), OPEN, forced=["h0"])
    assert found.forced == ("h0",) and found.independent == ()
    assert found.rank == 7


@pytest.mark.slow
def test_says_when_the_loops_cannot_be_closed() -> None:
    with pytest.raises(rg.NotClosed, match="cannot be closed"):
        rg.partition(five_bars(), independent=["h0", "k0"], q=OPEN)


def test_unknown_names_are_listed() -> None:
    with pytest.raises(rg.ModelError, match="no coordinate 'nobody'; known are"):
        rg.partition(five_bars(), independent=["nobody"])


@pytest.mark.slow
def test_a_reduction_is_partitioned_at_its_own_configuration() -> None:
    reduction = rg.reduce(five_bars())
    np.testing.assert_allclose(rg.partition(reduction).q, reduction.q, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["thesis/three_bar", "thesis/redundant_four_bar", "planar_fourbar", "knee_leg"]
)
def test_no_coordinate_of_a_cut_is_independent(name):
    mechanism = rg.load(Path(__file__).parents[2] / "assets" / f"{name}.urdf")
    for close in (True, False):
        found = rg.partition(mechanism, close=close)
        cut = {joint.name for joint in mechanism.joints if joint.closure}
        assert found.independent or not close
        assert not {name.partition("[")[0] for name in found.independent} & cut
