"""Topological or paradoxical: whether redundancy stays when lengths are drawn anew."""

from __future__ import annotations

from pathlib import Path

import mechanisms
import numpy as np
import pytest
from random_mechanisms import random_network

import regularize as rg

ASSETS = Path(__file__).resolve().parents[3] / "assets"


ENDS = {"A": np.zeros(3), "B": np.array((0.1, 0.2, 3.0))}
TRIANGLE = {
    k: np.array(v)
    for k, v in {"C": (0.6, 0.1, 1.4), "D": (-0.2, 0.6, 1.6), "E": (-0.3, -0.5, 1.5)}.items()
}


def named(mechanism: rg.Mechanism) -> tuple[int, int, int]:
    """Topological, paradoxical, and the lengths tried."""
    report = rg.check(mechanism).as_dict()
    kinds, reduction = report["redundancy"], report["reduction"]
    assert kinds["topological"] + kinds["paradoxical"] == reduction["remaining_redundant"]
    return kinds["topological"], kinds["paradoxical"], reduction["lengths_tried"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("bennett", 2),
        ("bricard", 1),
        ("goldberg_5r", 2),
        ("schatz", 1),
        ("focal_mechanism", 2),
        ("mobility/altmann_6r", 1),
        ("mobility/bricard_octahedron_2", 1),
        ("mobility/dixon_second", 4),
        ("mobility/kaleidocycle_6", 1),
        ("mobility/miura_fold", 1),
    ],
)
def test_what_special_lengths_make_is_paradoxical(name: str, count: int) -> None:
    topological, paradoxical, tried = named(rg.load(ASSETS / f"{name}.urdf"))
    assert (topological, paradoxical) == (0, count) and tried > 0


def bananas() -> rg.Mechanism:
    """Two double tetrahedra of bars on balls with common ends: a graph with an implied hinge."""
    corners = {
        **ENDS,
        **{f"{k}{s}": TRIANGLE[k] + (3.0 * s, 0.2 * s, 0) for k in "CDE" for s in (0, 1)},
    }
    sides = [(a, f"{k}{s}") for s in (0, 1) for k in "CDE" for a in "AB"]
    sides += [(f"{k}{s}", f"{m}{s}") for s in (0, 1) for k, m in ("CD", "DE", "EC")]
    ends = {corner: ["".join(side) for side in sides if corner in side] for corner in corners}
    return rg.Mechanism.of_joints(
        "bananas",
        [
            rg.Joint.in_world(f"{at} {bar}", first, bar, "spherical", point=corners[at])
            for at, (first, *bars) in ends.items()
            for bar in bars
        ],
    )


def test_what_the_graph_has_is_topological() -> None:
    assert named(bananas()) == (1, 0, 0)


def test_what_holds_a_shaky_structure_is_needed() -> None:
    """Panels about a quadrilateral with creases parallel in two families: rigid at second order."""
    corners = np.array([(0, 0, 0), (1, 0.1, 0), (1.2, 1.1, 0), (-0.1, 0.9, 0)])
    creases = np.array([(0.1, -0.1, 0.6), (-0.5, 0.4, 1.3)])
    joints = []
    for k, (at, after) in enumerate(zip(corners, np.roll(corners, -1, 0), strict=True)):
        first, second = creases if k % 2 else creases[::-1]
        joints += [
            rg.Joint.in_world(f"s{k}", "ground", f"e{k}", "revolute", after - at, at),
            rg.Joint.in_world(f"b{k}", f"e{k}", f"c{k}", "revolute", first, at),
            rg.Joint.in_world(f"a{k}", f"c{k}", f"e{(k - 1) % 4}", "revolute", second, at),
        ]
    report = rg.check(rg.Mechanism.of_joints("creases", joints))
    assert (report.reduction.finite_mobility, report.needed) == (0, 1)
    assert report.redundancy["topological"] == 0 and "for all lengths" not in str(report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 8, 19])
def test_random_networks_need_no_special_lengths(seed: int) -> None:
    """They are drawn from groups, so what is redundant in them is owed to these."""
    topological, paradoxical, _ = named(random_network(np.random.default_rng(seed)))
    assert paradoxical == 0 < topological


def test_what_is_not_redundant_is_not_tried() -> None:
    assert named(mechanisms.planar_fourbar()) == (0, 0, 0)
