"""Bodies that legs hold in a group only together, and parallelograms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from parallel_robots import ROBOTS

import regularize as rg
from regularize.manifold.extent import sized_loops
from regularize.manifold.tolerances import Tolerances
from regularize.reduction.descent import Descent
from regularize.reduction.reduce import Reduction


@cache
def reduced(name: str) -> Reduction:
    return rg.reduce(ROBOTS[name][0]())


def descent(reduction: Reduction) -> tuple[Descent, list[np.ndarray]]:
    """A descent over the only cell, and configurations to begin at."""
    (cell,) = reduction.cells
    tree = [e for e in cell.edges if e in reduction.tree]
    loops, plain = (
        sized_loops(graph, reduction.q, cell.edges, tree)
        for graph in (reduction.coupled, reduction.graph)
    )
    cuts = {cut.edge.index: cut for cut in reduction.cuts}
    chosen = [cuts[chord] for chord in loops.chords]
    found = Descent(loops, chosen, plain, cell.generic.rank, Tolerances.of(reduction.rtol))
    return found, [*cell.configurations[-3:]]


@pytest.mark.parametrize("name", ROBOTS)
def test_nothing_is_left_over_but_what_lengths_make(name: str) -> None:
    _, mobility, redundant, by_lengths = ROBOTS[name]
    found = reduced(name)
    assert (found.mobility, found.finite_mobility) == (mobility, mobility)
    assert (found.redundant, found.remaining) == (redundant, by_lengths)
    assert found.kept + found.removed == found.constraints
    assert found.certificate.holds


@pytest.mark.parametrize("name", ["4-RUU", "4-PRRRR", "Quadrupteron"])
def test_one_row_on_the_joints_of_one_leg_holds_the_platform(name: str) -> None:
    (held,) = reduced(name).held
    (row,) = held.rows
    assert held.space.shape[1] == 4 and set(row.coefficients) == {1.0}
    leg = {c for e in held.over for c in reduced(name).graph.edges[e].columns}
    assert set(row.columns) < leg
    # All legs that are cut lose one row each, and the sums of angles are one row for these three.
    assert sorted(cut.constraints - cut.kept for cut in reduced(name).cuts) == [1, 1, 1]


@pytest.mark.parametrize("name", ["4-RUU", "Delta with parallelograms"])
def test_kept_rows_are_independent_wherever_the_machine_is_firm(name: str) -> None:
    found, starts = descent(reduced(name))
    for q in starts:
        assert found.from_start(q, steps=20).ratio > 0.2


def test_a_fixed_choice_of_legs_fails_where_two_couples_align() -> None:
    """Without groups two of the legs lose their couples on numerical evidence."""
    fixed = rg.reduce(ROBOTS["4-RUU"][0](), numerical=True, groups=False)
    assert fixed.remaining == 0 and fixed.certificate.holds
    found, starts = descent(fixed)
    places = [found.from_start(q) for q in starts]
    place = min(places, key=lambda place: place.ratio)
    assert place.ratio < 0.02 and place.smallest > 0.2


def test_the_file_s_own_closures_lose_as_many_rows() -> None:
    mechanism = ROBOTS["Quadrupteron"][0]()
    found = rg.reduce(mechanism, keep_cuts=True)
    assert {c.edge.joint.name for c in found.cuts} == {
        j.name for j in mechanism.joints if j.closure
    }
    assert (found.removed, found.remaining) == (2, 0)


def test_accelerations_are_those_on_all_rows() -> None:
    """The kept rows and the one that holds the platform say what all equations say."""
    rows, every = (rg.to_pinocchio(reduced("4-RUU"), style) for style in ("rows", "legacy"))
    assert rows.rows == rows.rank == 13 and every.rank == 16
    rng = np.random.default_rng(1)
    q = rows.q0
    v = rows.split(q).free @ rng.normal(size=4)
    tau = rng.normal(size=rows.model.nv)
    same = every.joint_map @ rows.joint_map.T
    ours = rows.forward_dynamics(q, v, tau)
    theirs = every.forward_dynamics(
        every.q0,
        every.split(every.q0).free
        @ np.linalg.lstsq(
            rows.joint_map @ every.joint_map.T @ every.split(every.q0).free, v, rcond=None
        )[0],
        same @ tau,
    )
    assert np.allclose(rows.joint_map @ every.joint_map.T @ theirs, ours, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("style", ["anchors", "slack", "legacy"])
def test_constraint_models_keep_the_rows_of_all_legs(style: str) -> None:
    robot = rg.to_pinocchio(reduced("4-RUU"), style)
    assert robot.rank == 16 and not len(robot.constraints.coupling)
    assert style == "legacy" or [f.code for f in robot.findings] == ["REG304"]


def test_the_report_names_the_group_its_row_and_its_end() -> None:
    report = rg.check(ROBOTS["4-RUU"][0]())
    (finding,) = [d for d in report.diagnostics if d.code == "REG227"]
    assert "Schoenflies, axis along Z" in finding.message
    assert "`C1` + `D1` = const" in finding.message and "below 16" in finding.message
    (held,) = report.as_dict()["reduction"]["held"]
    assert held["motion_algebra"]["type"] == "Schoenflies" and held["rank"] == 16
    loops = rg.check(ROBOTS["Orthoglide"][0]()).as_dict()["reduction"]["parallelograms"]
    assert sorted(map(sorted, loops))[0] == ["G1", "H1", "J1", "K1"]
