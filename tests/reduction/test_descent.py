"""Descents to where kept rows are nearly dependent: derivatives, the certificate, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from descent_table import lowest, missing, ranks_agree
from mechanisms import sarrus, three_prrr
from noise_table import noisy
from parallel_robots import ROBOTS
from random_mechanisms import random_network

import regularize as rg
from regularize.dynamics.simulation.recording import near_limits
from regularize.loops.kinematics import sized_loops
from regularize.reduction.cuts import without_rows
from regularize.reduction.descent import THOROUGH, Descent, slope_of_all, slope_of_kept
from regularize.reduction.rank_loss import place_words, rank_losses
from regularize.tolerances import EXACT

pytestmark = pytest.mark.slow
ASSETS = Path(__file__).parents[2] / "assets"


def of(reduction: rg.Reduction) -> tuple[Descent, np.ndarray]:
    """A descent over the only cell, and configurations to begin at."""
    (cell,) = reduction.cells
    flat = [loop for part in reduction.parts for loop in part.parallelograms]
    graphs = reduction.graph, reduction.coupled
    return Descent(*graphs, reduction.q, cell, reduction.cuts, flat), cell.configurations


@pytest.mark.parametrize("name", ["three_upu", "delta_parallelograms", "rssr"])
def test_slopes_are_derivatives(name: str) -> None:
    """Of rows on moving bodies, of twists in the root's frame; balls, hinges and slides."""
    descent, q = of(rg.reduce(rg.load(ASSETS / f"{name}.urdf")))
    q, loops, rng = q[-3:], descent.plain, np.random.default_rng(0)
    state = loops.state(q)
    kept, every = descent.rows.residual_jacobian(state), loops.jacobian(state)
    right, one, other = (rng.normal(size=s) for s in (q.shape, kept.shape[:2], every.shape[:2]))
    along = descent.machine.tangents(q, rng.normal(size=q.shape)) * loops.units

    def products(q: np.ndarray) -> np.ndarray:
        state = loops.state(q)
        kept, every = descent.rows.residual_jacobian(state), loops.jacobian(state)
        return np.array(
            [
                np.einsum("nm,nmk,nk->n", left, rows, right)
                for left, rows in ((one, kept), (other, every))
            ]
        )

    step = 1e-6
    ahead, behind = (products(loops.integrate(q, s * step * along)) for s in (1.0, -1.0))
    slopes = [
        slope_of_kept(descent.rows, state, one, right),
        slope_of_all(loops, state, other, right),
    ]
    rates = [np.sum(slope * along, axis=1) for slope in slopes]
    np.testing.assert_allclose(rates, (ahead - behind) / (2 * step), atol=1e-7)


def test_every_certificate_says_how_near_rows_came_to_be_missed() -> None:
    report = rg.check(rg.load(ASSETS / "planar_fourbar.urdf"))
    place = report.reduction.certificate.nearest
    assert place is not None and place.ratio > 0.5 and not place.missing
    entry = report.as_dict()["reduction"]["nearest"]
    assert list(entry["configuration"]) == ["A", "B", "C", "D"]
    q = np.array(list(entry["configuration"].values()))
    loops = report.reduction.loops
    assert np.max(np.abs(loops.residual(loops.state(q)))) < 1e-9
    # All equations are kept: nothing to look for.
    assert rg.check(rg.load(ASSETS / "bricard.urdf")).as_dict()["reduction"]["nearest"] is None


def test_random_networks_miss_no_row() -> None:
    """A few of those that ``descent_table`` goes through, by long walks and descents."""
    moving = 0
    for seed in range(8):
        reduction = rg.reduce(random_network(np.random.default_rng(1000 + seed)))
        place = lowest(reduction)
        moving += place is not None
        assert not missing(place, reduction) and ranks_agree(reduction), seed
    assert moving >= 3


def test_rows_that_can_be_spared_at_one_place_are_missed_at_another() -> None:
    """A network whose four dependent rows are chosen where walks came by; some choices fail."""
    reduction = rg.reduce(random_network(np.random.default_rng(2)))
    (cell,), (part,) = reduction.cells, reduction.parts
    everywhere = range(len(part.cuts))
    loops = sized_loops(reduction.graph, reduction.q, tree=reduction.tree)
    ratios = []
    for q in cell.configurations:
        cuts = without_rows(part.cuts, loops, q, everywhere, part.surplus, "numerical", EXACT.rtol)
        descent = Descent(reduction.graph, reduction.graph, reduction.q, cell, cuts)
        place = descent.lowest(cell.configurations, THOROUGH)
        assert place is not None and place.firm > 0.5
        ratios.append(place.ratio)
    # Which choice goes with which place, and whether one serves, is for rounding to say.
    assert min(ratios) < EXACT.rank
    assert all(ratio < EXACT.rank or ratio > 0.3 for ratio in ratios)
    chosen = rg.reduce(reduction.mechanism, numerical=True)
    place = chosen.certificate.nearest
    assert chosen.remaining == 0 and place is not None and place.ratio > 0.5


@pytest.mark.parametrize("name", ["bennett", "roberval_balance"])
def test_numerical_reductions_choose_rows_that_serve_everywhere(name: str) -> None:
    reduction = rg.reduce(rg.load(ASSETS / f"{name}.urdf"), numerical=True)
    place = reduction.certificate.nearest
    assert reduction.remaining == 0 and place is not None and place.ratio > 0.1
    assert list(rank_losses(reduction)) == []


def test_rows_that_are_missed_elsewhere_are_named_with_the_place() -> None:
    """The same place with another ratio: rows that are proved to be removed are none of them."""
    for name, numerical in (("bennett", True), ("planar_fourbar", False)):
        reduction = rg.reduce(rg.load(ASSETS / f"{name}.urdf"), numerical=numerical)
        certificate, place = reduction.certificate, reduction.certificate.nearest
        assert place is not None
        (descents,) = certificate.descents
        vars(missing := replace(descents))["lowest"] = replace(place, ratio=1e-9)
        certificate = replace(certificate, descents=(missing,))
        found = list(rank_losses(replace(reduction, certificate=certificate)))
        assert [f.code for f in found] == ["REG233"] * numerical
        for finding in found:
            assert set(finding.joints) == {joint.name for joint in reduction.mechanism.joints}
            assert f"near {finding.joints[0]} = " in finding.message
    many = rg.reduce(sarrus(), configurations=0)
    words = place_words(many, many.graph.every_edge, replace(place, q=many.q))
    assert words == "a1 = 0, a2 = 0, a3 = 0, b1 = 0, …"


def test_no_fixed_choice_of_couples_is_taken_for_four_legs() -> None:
    """Which two of the four couples of 4-RUU determine the others changes with the pose."""
    mechanism = ROBOTS["4-RUU"][0]()
    refused = rg.reduce(mechanism, numerical=True, groups=False)
    (part,) = refused.parts
    assert refused.remaining == 2 and part.needed_at is not None and part.needed_at.missing
    (finding,) = rank_losses(refused)
    assert finding.code == "REG233" and "A1" in finding.message
    with_groups = rg.reduce(mechanism, numerical=True)
    assert with_groups.remaining == 0 and list(rank_losses(with_groups)) == []


def test_rounding_makes_the_rank_no_larger_than_the_kept_rows_are_many() -> None:
    reduction = rg.reduce(noisy(three_prrr(), 1e-5, seed=1), configurations=10)
    (cell,) = reduction.cells
    assert reduction.kept >= cell.generic.rank and reduction.mobility == 3


@pytest.mark.parametrize("name", ["4-RUU", "Delta with parallelograms"])
def test_kept_rows_are_independent_wherever_the_machine_is_firm(name: str) -> None:
    found, starts = of(rg.reduce(ROBOTS[name][0]()))
    place = found.lowest(starts, THOROUGH)
    assert place is not None and place.ratio > 0.05


def test_a_simulation_says_when_it_comes_near_the_end() -> None:
    """All horizontal axes parallel: the legs of the 4-RUU hold one couple together."""
    reduction = rg.reduce(ROBOTS["4-RUU"][0]())
    q = np.array(reduction.q)
    for k in range(4):
        q[
            reduction.graph.columns(
                [e.index for e in reduction.graph.edges if e.name == f"B{k + 1}"]
            )
        ] -= 1.45 * k
    time, coordinates = np.array([0.0, 1.0]), np.array([reduction.q, q])
    assert list(near_limits(reduction, time[:1], coordinates[:1])) == []
    (finding,) = near_limits(reduction, time, coordinates)
    assert finding.code == "REG228" and finding.message.startswith("at 1 s")
