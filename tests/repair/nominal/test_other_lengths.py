"""Topological or paradoxical: whether redundancy stays when lengths are drawn anew."""

from __future__ import annotations

from pathlib import Path

import mechanisms
import numpy as np
import pytest
from random_mechanisms import random_network

import regularize as rg

ASSETS = Path(__file__).resolve().parents[3] / "assets"


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
    ],
)
def test_what_special_lengths_make_is_paradoxical(name: str, count: int) -> None:
    topological, paradoxical, tried = named(rg.load(ASSETS / f"{name}.urdf"))
    assert (topological, paradoxical) == (0, count) and tried > 0


@pytest.mark.slow
def test_a_rigid_polyhedron_has_one_state_of_stress_of_its_shape_alone() -> None:
    """Jessen's icosahedron: 66 equations on 30 hinges, of which 29 are independent here."""
    report = rg.check(rg.load(ASSETS / "mobility" / "jessen_icosahedron.urdf")).as_dict()
    assert report["mobility"]["redundant"] == 66 - 29
    assert report["redundancy"]["paradoxical"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 8, 19])
def test_random_networks_need_no_special_lengths(seed: int) -> None:
    """They are drawn from groups, so what is redundant in them is owed to these."""
    topological, paradoxical, _ = named(random_network(np.random.default_rng(seed)))
    assert paradoxical == 0 < topological


def test_what_is_not_redundant_is_not_tried() -> None:
    assert named(mechanisms.planar_fourbar()) == (0, 0, 0)
