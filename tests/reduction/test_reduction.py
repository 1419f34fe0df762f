"""Kept rows: sufficient, constant in the cut frame, chosen where asked."""

from __future__ import annotations

from dataclasses import replace

import mechanisms
import numpy as np
import pytest
from walks import kept_rows

import regularize as rg

X, Y, Z = np.eye(3)


def four_bar() -> rg.Mechanism:
    bodies = ["ground", "crank", "coupler", "rocker", "ground"]
    points = [(0, 0, 0), (0.2, 0.3, 0), (0.9, 0.5, 0), (1, 0, 0)]
    return rg.Mechanism.of_joints(
        "four-bar",
        [
            rg.Joint.in_world(
                "ABCD"[i],
                bodies[i],
                bodies[i + 1],
                "revolute",
                Z,
                points[i],
                actuated=i == 3 or None,
            )
            for i in range(4)
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_other_orders_than_that_of_the_shortest_loops_are_tried(seed):
    """Five rows if the shortest loop, B-E-F, or the cheapest comes first; four in another order."""
    joints = [
        rg.Joint.in_world("A", "ground", "arm", "revolute", (1, -2, -2), (7, -9, 2)),
        rg.Joint.in_world("B", "arm", "slide", "prismatic", (-4, -2, 9)),
        rg.Joint.in_world("C", "slide", "carriage", "prismatic", (-5, -7, -4)),
        rg.Joint.in_world("D", "carriage", "ground", "prismatic", (-5, 1, -9)),
        rg.Joint.in_world("E", "slide", "rod", "revolute", X, (-3, 6, -8)),
        rg.Joint.in_world("F", "rod", "arm", "revolute", X, (-8, 4, -3)),
    ]
    reduction = rg.reduce(rg.Mechanism.of_joints("slides", joints), seed=seed)
    assert (reduction.kept, reduction.remaining) == (4, 0)


@pytest.mark.slow
def test_a_loop_that_meets_closed_ones_in_one_body_is_judged_by_itself():
    """A linkage of Bennett loses one row beside a four-bar too that it shares the ground with."""
    four_bar, bennett = mechanisms.planar_fourbar(), mechanisms.bennett()
    rng, count = np.random.default_rng(0), 6
    own = {"ground": "ground", **{f"link {i}": f"bennett {i}" for i in (1, 2, 3)}}
    beside = [
        replace(j, name=f"{j.name}'", parent=own[j.parent], child=own[j.child])
        for j in bennett.joints
    ]
    bodies = ["link 2", *(f"tie {i}" for i in range(1, count)), "bennett 2"]
    tie = [
        rg.Joint.in_world(f"T{i}", *bodies[i : i + 2], "revolute", *rng.normal(size=(2, 3)))
        for i in range(count)
    ]
    joints = [
        replace(j, closure=j.name in ("D", "D'", f"T{count - 1}"))
        for j in (*four_bar.joints, *beside, *tie)
    ]
    reduction = rg.reduce(rg.Mechanism.of_joints("tied", joints, ground="ground"), keep_cuts=True)
    assert {cut.edge.name: cut.kept for cut in reduction.cuts} == {"D": 2, "D'": 4, "T5": 5}


def test_kept_rows_have_the_null_space_of_all_rows_everywhere():
    reduction = rg.reduce(mechanisms.three_prrr())
    loops, reduced = reduction.loops, kept_rows(reduction)
    q = reduction.cells[0].configurations
    everything = loops.jacobian(loops.state(q))
    kept = reduced.residual_jacobian(loops.state(q))
    for all_rows, few in zip(everything, kept, strict=True):
        s = np.linalg.svd(few, compute_uv=False)
        assert s[-1] > 1e-6, "the kept rows are independent"
        both = np.linalg.svd(np.vstack([all_rows, few]), compute_uv=False)
        assert np.sum(both > 1e-9) == len(few), "the others add nothing"


def test_reduced_residual_jacobian_against_differences_on_the_loops():
    reduction = rg.reduce(mechanisms.three_prrr())
    loops, reduced = reduction.loops, kept_rows(reduction)
    q = reduction.cells[0].configurations[-1:]
    h = 1e-6
    columns = []
    for direction in np.eye(loops.freedoms):
        plus, minus = (
            reduced.residual(loops.state(loops.integrate(q, s * h * direction[None])))
            for s in (1, -1)
        )
        columns.append((plus - minus)[0] / (2 * h))
    exact = reduced.residual_jacobian(loops.state(q))[0]
    assert np.allclose(exact, np.stack(columns, axis=-1), atol=1e-7)


def test_actuated_joints_are_not_cut_of_their_own_accord():
    assert rg.reduce(four_bar()).cuts[0].edge.name == "C"


def test_impossible_cuts_are_refused_by_name():
    with pytest.raises(rg.ModelError, match="does not open each of the 1 loops"):
        rg.reduce(four_bar(), cuts=["A", "B"])
    with pytest.raises(rg.ModelError, match="no joint 'E'"):
        rg.reduce(four_bar(), cuts=["E"])


def test_coupled_joints_keep_their_coordinates():
    mechanism = four_bar()
    gear = rg.Coupling("gear", "gear", (("A", 0, 1.0), ("C", 0, 0.0)))
    reduction = rg.reduce(rg.Mechanism.of_joints("geared", mechanism.joints, couplings=(gear,)))
    assert reduction.cuts[0].edge.name == "B"
    assert reduction.gruebler == -3 and reduction.mobility == 0


@pytest.mark.slow
def test_rows_removed_on_numerical_evidence_are_labelled_and_monitored():
    mechanism = mechanisms.three_cranks()
    proved, numerical = rg.reduce(mechanism), rg.reduce(mechanism, numerical="anyway")
    assert (proved.removed, proved.remaining) == (6, 1)
    assert (numerical.removed, numerical.remaining) == (7, 0)
    assert sum(cut.numerical.shape[1] for cut in numerical.cuts) == 1
    assert numerical.certificate.holds
    conditions = numerical.condition(numerical.cells[0].configurations)
    assert np.all(conditions < 1e4) and proved.condition()[0] > 1e9


def test_a_model_without_loops_has_nothing_to_reduce():
    reduction = rg.reduce(
        rg.Mechanism.of_joints("arm", [rg.Joint.in_world("j", "ground", "a", "revolute")])
    )
    assert (reduction.kept, reduction.removed, reduction.mobility) == (0, 0, 1)
    assert reduction.condition()[0] == 1.0


def test_a_coupling_between_two_joints_of_a_loop_does_not_hide_its_redundancy():
    points = [(0, 0, 0), (0.2, 0.5, 0), (0.6, 0.8, 0), (1, 0.4, 0), (1.1, 0, 0)]
    bodies = ["ground", "a", "b", "c", "d", "ground"]
    joints = [
        rg.Joint.in_world(f"j{i}", bodies[i], bodies[i + 1], "revolute", Z, points[i])
        for i in range(5)
    ]
    gear = rg.Coupling("gear", "gear", (("j0", 0, 1.0), ("j4", 0, 1.0)))
    reduction = rg.reduce(rg.Mechanism.of_joints("geared five-bar", joints, couplings=(gear,)))
    assert (reduction.gruebler, reduction.mobility) == (-2, 1)
    assert (reduction.kept, reduction.removed, reduction.remaining) == (2, 3, 0)
