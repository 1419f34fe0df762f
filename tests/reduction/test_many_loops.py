"""Many loops: what is told loop by loop is what the whole equations say."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from mechanisms import n_fourbar

import regularize as rg
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.cycles import minimum_cycle_basis
from regularize.mechanism.graph_building import build
from regularize.reduction.many_loops import LoopRanks, ShortLoops
from regularize.reduction.mobility import cycle_incidence

WINDOWS = 45
PACKAGE = Path(rg.__file__).parent


@pytest.fixture(scope="module")
def report() -> rg.Report:
    return rg.check(n_fourbar(WINDOWS))


@pytest.mark.slow
def test_many_windows_are_what_few_are(report: rg.Report) -> None:
    reduction = report.reduction
    assert (reduction.mobility, reduction.finite_mobility) == (1, 1)
    assert (reduction.redundant, reduction.removed) == (3 * WINDOWS, 3 * WINDOWS)
    assert reduction.certificate.holds and reduction.certificate.distinct == 50
    few = rg.check(n_fourbar(3))
    codes = {d.code for d in few.diagnostics}
    assert {d.code for d in report.diagnostics} == codes
    assert report.loops[7].removed[0].label == few.loops[1].removed[0].label
    moves = {body.body: body.words for body in report.moving}
    assert moves["crank 7"].startswith("rotates about A7")
    assert moves["rod 7"] == {b.body: b.words for b in few.moving}["rod 1"]


def lines_run(function: Callable[[], object]) -> int:
    """How many lines of the package a call runs: time that does not depend on the clock."""
    count = 0

    def line(_: FrameType, event: str, __: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, event: str, argument: object) -> Any:
        return line if str(PACKAGE) in frame.f_code.co_filename else None

    sys.settrace(call)
    try:
        function()
    finally:
        sys.settrace(None)
    return count


@pytest.mark.slow
def test_reading_takes_in_proportion(tmp_path: Path) -> None:
    """Names were once looked for in lists, and joints above joints."""
    read = []
    for windows in (12, 24):
        path = tmp_path / f"{windows}.urdf"
        rg.save(n_fourbar(windows), path)
        read.append(lines_run(lambda path=path: rg.load(path)))
    assert read[1] < 2.3 * read[0]


@pytest.mark.slow
def test_ranks_and_self_stress_add_up(report: rg.Report) -> None:
    graph = build(n_fourbar(WINDOWS))
    (block,) = graph.blocks
    cycles = minimum_cycle_basis(graph, block)
    loops = sized_loops(graph, graph.position, block)
    state = loops.state(graph.position[loops.columns])
    ranks = LoopRanks(loops, cycles, state, 1e-5)
    dense = loops.jacobian(state, cycle_incidence(loops, cycles))[0] * loops.units
    assert ranks.rank == np.linalg.matrix_rank(dense, tol=1e-6) == 3 * WINDOWS
    screws = loops.scaled(state.screws[0])
    for e in block:
        # Nothing gives way: the wrenches do no work on what the joint frees.
        np.testing.assert_allclose(
            ranks.self_stress(e).T @ screws[loops.local(e)].T, 0.0, atol=1e-12
        )
    assert ranks.factors is not None
    velocity = ranks.factors.allowed(np.ones((loops.freedoms, 1)))
    np.testing.assert_allclose(dense @ velocity, 0.0, atol=1e-10)
    assert np.linalg.norm(velocity) > 0.1
    few = {r.joint: r for r in rg.reactions(rg.reduce(n_fourbar(3)))}
    many = {r.joint: r for r in report.reactions}
    assert [d.kind for d in many["B7"].indeterminate] == [d.kind for d in few["B1"].indeterminate]


def test_short_loops_have_the_derivatives_of_their_errors(report: rg.Report) -> None:
    reduction = report.reduction
    cuts = {cut.edge.index: cut for cut in reduction.cuts}
    loops = reduction.loops
    short = ShortLoops(loops, [cuts[chord] for chord in loops.chords])
    rng = np.random.default_rng(0)
    q = reduction.q[None] + 0.0
    velocity = rng.normal(size=q.shape)
    step = 1e-6
    ahead, behind = (
        short.residual(short.state(short.integrate(q, sign * step * velocity)))
        for sign in (1.0, -1.0)
    )
    rates = (short.residual_jacobian(short.state(q)) @ velocity[..., None])[..., 0]
    np.testing.assert_allclose((ahead - behind) / (2 * step), rates, atol=1e-7)
    dense = short.residual_jacobian(short.state(q)).dense()
    np.testing.assert_allclose(dense @ velocity[..., None], rates[..., None], atol=1e-12)


def test_couplings_add_their_rows(report: rg.Report) -> None:
    mechanism = n_fourbar(WINDOWS)
    names = [joint.name for joint in mechanism.joints if joint.freedoms == 1][:2]
    tied = rg.Coupling("G", "gear", ((names[0], 0, 1.0), (names[1], 0, -3.0)))
    graph = build(replace(mechanism, couplings=(tied,)))
    (block,) = graph.blocks
    cycles = minimum_cycle_basis(graph, block)
    loops = sized_loops(graph, graph.position, block)
    state = loops.state(graph.position[loops.columns])
    ranks = LoopRanks(loops, cycles, state, 1e-5)
    assert ranks.rank == 3 * WINDOWS + 1
    assert ranks.factors is not None
    velocity = ranks.factors.allowed(np.ones((loops.freedoms, 1)))
    np.testing.assert_allclose(loops.coupling @ (loops.units[:, None] * velocity), 0.0, atol=1e-10)
