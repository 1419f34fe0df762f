"""Parts of the reduction by themselves: the theorem on one loop, pivots, relations of axes.

The spaces of one loop are those of the text, and those that propagation over facts finds.
"""

from __future__ import annotations

from pathlib import Path

import mechanisms
import numpy as np
import pytest
import screws
from random_mechanisms import random_single_loop
from test_shaky import Build, each

import regularize as rg
from regularize.dynamics.simulation.partitioning import complete_pivoting
from regularize.lie import subalgebra
from regularize.mechanism.graph_building import build
from regularize.reduction.block import reduce_part
from regularize.reduction.closed_part import closings
from regularize.reduction.context import Context
from regularize.reduction.cuts import Chains, best_cut, kept_rows, relative_twists
from regularize.reduction.propagation import MotionSpaces, Propagation
from regularize.tolerances import RTOL

ASSETS = Path(__file__).resolve().parents[2] / "assets"
X, Y, Z = np.eye(3)


def hinges(*axes: tuple[np.ndarray, tuple[float, float, float]]) -> list[np.ndarray]:
    return [screws.revolute(axis, point)[:, None] for axis, point in axes]


def test_the_spherical_linkage_of_the_text_keeps_two_rows() -> None:
    """Müller (2014), section 7: the algebras of both sides are so(3), whichever joint is cut."""
    rng = np.random.default_rng(0)
    loop = hinges(*((rng.normal(size=3), (0.0, 0.0, 0.0)) for _ in range(4)))
    for joint in range(4):
        for end in (0, 1):
            space = relative_twists(Chains(loop, RTOL), joint, end)
            np.testing.assert_allclose(space @ space.T, np.diag([0, 0, 0, 1, 1, 1]), atol=1e-9)
            rows = kept_rows(space, subalgebra.span(loop[joint]))
            np.testing.assert_allclose(rows[:3], 0.0, atol=1e-9)
            np.testing.assert_allclose(rows.T @ loop[joint], 0.0, atol=1e-9)
            assert rows.shape == (6, 2)


def test_two_planes_make_a_space_that_is_no_algebra() -> None:
    """Sarrus: three hinges along X and three along Y leave five dimensions, four rows."""
    loop = hinges(
        *((X, (0.0, y, z)) for y, z in ((0, 0), (1, 1), (0, 2))),
        *((Y, (x, 0.0, z)) for x, z in ((0, 2), (1, 1), (0, 0))),
    )
    joint, end, space = best_cut(loop, range(6), RTOL)
    assert (joint, space.shape[1]) == (0, 5)
    assert kept_rows(space, subalgebra.span(loop[joint])).shape[1] == 4
    assert end in (0, 1)


def test_a_joint_that_can_be_cut_alone_is_cut() -> None:
    loop = hinges(*((Z, (x, y, 0.0)) for x, y in ((0, 0), (0.2, 1), (1, 1.3), (1, 0))))
    assert [best_cut(loop, [joint], RTOL)[0] for joint in range(4)] == [0, 1, 2, 3]


def test_a_shaky_loop_keeps_what_moves_with_the_joint() -> None:
    """Without the saturation one row too few is kept where two centres and a hinge are coplanar."""
    center = [np.hstack([screws.revolute(a, c)[:, None] for a in (X, Y, Z)]) for c in (X, -X)]
    loop = [*center, *hinges((Y, (0.0, 0.0, 0.0)))]
    moving = subalgebra.saturation(subalgebra.span(center[1]), subalgebra.span(loop[2]), RTOL)
    assert moving.shape[1] > 3 and relative_twists(Chains(loop, RTOL), 2, 0).shape[1] == 6


def compare(mechanism: rg.Mechanism) -> None:
    """All cuts of a single loop: the spaces are those of facts about pairs of bodies."""
    graph = build(mechanism)
    context = Context(graph, rg.assemble(graph))
    (block,) = graph.blocks
    part = reduce_part(context, block, RTOL)
    (cycle,) = part.cycles
    spaces = MotionSpaces(RTOL)
    numbers = {e: spaces.number(subalgebra.span(own)) for e, own in part.screws.items()}
    propagation = Propagation(graph, spaces, numbers)
    screws = [part.screws[e] for e in cycle.edges]
    dimensions = []
    for joint, e in enumerate(cycle.edges):
        for end, closing in enumerate(closings(propagation, cycle, e)):
            found = relative_twists(Chains(screws, RTOL), joint, end)
            known = spaces.basis(closing.space)
            np.testing.assert_allclose(found @ found.T, known @ known.T, atol=1e-6)
            assert closing.node == cycle.nodes[(joint + end) % cycle.length]
            dimensions.append(known.shape[1])
    assert part.dimension == min(dimensions)
    propagation.close(cycle)
    assert part.locked == tuple(sorted(propagation.lock([cycle])))


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (100, 200, 300))]
)
def test_random_loops_agree_with_propagation(first: int) -> None:
    for seed in range(first, first + 100):
        compare(random_single_loop(np.random.default_rng(seed)))


SINGLE = ("bennett", "bricard", "goldberg_5r", "goldberg_6r", "knee_leg", "nearly_planar_fourbar")
SINGLE += ("planar_fourbar", "rssr", "sarrus", "schatz", "shaky_7r", "slider_crank")
SINGLE += ("spherical_fourbar", "spherical_fourbar_flat", "waldron_6r")


@pytest.mark.slow
@pytest.mark.parametrize("name", SINGLE)
def test_single_loops_among_the_assets_agree_with_propagation(name: str) -> None:
    compare(rg.load(ASSETS / f"{name}.urdf"))


@pytest.fixture
def by_axes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that only several legs together make are left to other lengths."""
    monkeypatch.setattr("regularize.reduction.groups.grouped", lambda context, part, mobility: part)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadrupteron", "mobility/four_ruu", "mobility/four_prrrr"])
@pytest.mark.usefixtures("by_axes_alone")
def test_legs_that_only_need_parallel_axes_keep_their_rows_for_all_lengths(name: str) -> None:
    report = rg.check(rg.load(ASSETS / f"{name}.urdf")).as_dict()
    assert report["redundancy"]["topological"] == 0
    assert report["reduction"]["same_relations"] == 2 and report["reduction"]["lengths_tried"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("by_axes_alone")
def test_the_words_say_how_it_was_told() -> None:
    held = str(rg.check(rg.load(ASSETS / "quadrupteron.urdf")))
    assert "redundant for all lengths tried (4 sets" in held.replace("\n", " ")
    assert "2 by relations of the axes (all lengths tried)" in " ".join(held.split())
    assert "paradoxical" not in held and "topological" not in held
    (why,) = rg.check(rg.load(ASSETS / "mobility" / "four_ruu.urdf")).as_dict()["why"]
    assert "among them parallel: those of `A1`, `B1`, `E1`, `A2`" in why["text"]
    bars = rg.load(ASSETS / "mobility" / "dixon_first.urdf")
    special = str(rg.check(bars)).replace("\n", " ")
    assert "not with 4 other sets of lengths" in special
    assert "1 paradoxical (these lengths only)" in special


def test_pivots_are_the_largest_entries_that_remain() -> None:
    matrix = np.array([[1.0, 2.0, 0.0], [4.0, 8.0, 1.0], [2.0, 4.0, 0.5]])
    pivots = complete_pivoting(matrix)
    assert pivots.rank == 2
    assert pivots.rows[0] == 1 and pivots.columns[0] == 1
    assert pivots.values[0] == 8.0
    assert np.all(np.diff(pivots.values) <= 0)


@pytest.mark.slow
@each
def test_the_certificate_catches_what_saturation_would_have(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unchanged(self: MotionSpaces, space: int, freedoms: int) -> int:
        return space

    monkeypatch.setattr(MotionSpaces, "saturate", unchanged)
    monkeypatch.setattr(subalgebra, "saturation", lambda space, freedoms, rtol: space)
    report = rg.check(build())
    reduction = report.reduction
    assert (reduction.removed, reduction.kept) == (0, reduction.constraints)
    assert not any(part.proved for part in reduction.parts)
    assert "REG215" in {d.code for d in report.diagnostics}
    assert report.as_dict()["reduction"]["certified_configurations"] == 0


@pytest.mark.slow
def test_saturation_costs_nothing_where_nothing_is_shaky(monkeypatch: pytest.MonkeyPatch) -> None:
    builders = (mechanisms.sarrus, mechanisms.three_prrr, mechanisms.spherical_9r)
    with_it = [rg.reduce(build()).kept for build in builders]
    monkeypatch.setattr(MotionSpaces, "saturate", lambda self, space, freedoms: space)
    monkeypatch.setattr(subalgebra, "saturation", lambda space, freedoms, rtol: space)
    assert [rg.reduce(build()).kept for build in builders] == with_it == [4, 7, 4]
