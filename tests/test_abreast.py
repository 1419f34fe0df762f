"""Many coupled components of one shape, whose numbers differ: what is found of all of them at once
is what is found of each.
"""

from __future__ import annotations

import numpy as np
import pytest

import regularize as rg
from regularize.lie import screw
from regularize.reduction.conditioning import lowest_places
from regularize.reduction.one_loop import best_cut, relative_twists
from regularize.report.analysis import Analysis
from regularize.statics.cure import changed

Y = (0.0, 1.0, 0.0)


def different_loops(count: int, seed: int = 0) -> rg.Mechanism:
    """Planar four-bars and slider-cranks of different lengths, side by side on one ground."""
    rng, joints = np.random.default_rng(seed), []
    corners = np.array([(0, 0, 0), (0.3, 0, 0.4), (1.2, 0, 0.6), (1, 0, 0)])
    for k in range(count):
        own = corners * rng.uniform(0.8, 1.2, size=(4, 1)) + (3.0 * k, 0, 0)
        bodies = ["ground", *(f"{name}_{k}" for name in ("crank", "coupler", "last")), "ground"]
        for i, (name, point) in enumerate(zip("ABCD", own, strict=True)):
            kind, axis = ("prismatic", (1, 0, 0)) if i == 3 and k % 3 == 2 else ("revolute", Y)
            ends, at = bodies[i : i + 2], tuple(map(float, point))
            joints.append(rg.Joint.in_world(f"{name}_{k}", *ends, kind, axis, at))
    return rg.Mechanism.of_joints("side by side", joints)


@pytest.fixture(scope="module")
def report() -> Analysis:
    return rg.check(different_loops(5))


def test_advice_for_many_loops_is_what_the_changed_mechanism_is_analysed_to_be(
    report: Analysis,
) -> None:
    assert {len(entry.changes) > 1 for entry in report.advice} == {True, False}
    for entry in report.advice:
        after = rg.reduce(changed(report.reduction, entry.changes))
        assert (after.redundant, after.mobility) == (entry.left, entry.mobility)


def test_places_where_rows_are_weakest_are_those_of_each_loop_by_itself(report: Analysis) -> None:
    every = report.reduction.certificate.descents
    found, alone = lowest_places(every), [down.lowest for down in every]
    assert len(found) == len(every) == 5
    for place, own in zip(found, alone, strict=True):
        assert own is not None
        np.testing.assert_allclose(place.q, own.q, atol=1e-12)
        assert place.ratio == pytest.approx(own.ratio, rel=1e-9)


def test_a_loop_whose_screws_span_a_group_is_cut_anywhere_with_the_same_space() -> None:
    rng = np.random.default_rng(1)
    screws = [screw.revolute(Y, rng.normal(size=3))[:, None] for _ in range(4)]
    joint, end, space = best_cut(screws, [2, 0, 1, 3], 1e-8)
    assert (joint, end) == (2, 0)
    for place in range(4):
        other = relative_twists(screws, place, 0, 1e-8)
        np.testing.assert_allclose(space @ space.T, other @ other.T, atol=1e-12)
