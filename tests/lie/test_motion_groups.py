"""Compositions and intersections of motion groups, against what Hervé's tables say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import regularize as rg

G = rg.motion_group


@pytest.mark.parametrize(
    ("a", "b", "composed", "met"),
    [
        (G("revolute"), G("revolute"), "revolute", "revolute"),
        (G("revolute"), G("revolute", point=(1, 0, 0)), "planar", "immobile"),
        (G("revolute"), G("revolute", (1, 0, 0)), "spherical", "immobile"),
        (G("revolute"), G("revolute", (1, 0, 0), (0, 1, 0)), "full", "immobile"),
        (G("revolute"), G("translation"), "cylindrical", "immobile"),
        (G("revolute"), G("translation", (1, 0, 0)), "planar", "immobile"),
        (G("planar"), G("translation"), "Schoenflies", "immobile"),
        (G("planar"), G("planar", (1, 0, 0)), "full", "translation"),
        (G("planar"), G("spherical", point=(1, 0, 0)), "full", "revolute"),
        (G("spherical"), G("spherical", point=(0, 0, 2)), "full", "revolute"),
        (G("Schoenflies"), G("Schoenflies", (1, 0, 0)), "full", "spatial translations"),
        (G("cylindrical"), G("spherical"), "full", "revolute"),
        (G("cylindrical"), G("cylindrical", point=(1, 0, 0)), "Schoenflies", "translation"),
        (G("helical", pitch=0.1), G("helical", pitch=0.2), "cylindrical", "immobile"),
        (G("planar with pitch"), G("translation"), "Schoenflies", "immobile"),
    ],
)
def test_tables(a, b, composed, met):
    for one, two in ((a, b), (b, a)):
        assert rg.compose(one, two).name == composed
        assert rg.meet(one, two).name == met


def test_lattice_laws_and_bounds_of_dimensions():
    names = ("translation", "revolute", "helical", "cylindrical", "planar", "spherical")
    for x, y in itertools.product(names, repeat=2):
        a, b = G(x), G(y, (0.6, 0, 0.8), (0.2, 0, 0.1))
        join, met = rg.compose(a, b), rg.meet(a, b)
        assert join.dimension >= a.dimension + b.dimension - met.dimension
        assert rg.meet(a, join).name == a.name
        assert rg.compose(a, met).name == a.name


def test_screws_names_and_what_is_none():
    screws = np.array([[0, 0, 0, 0, 0, 1.0], [0, -1, 0, 0, 0, 1]]).T
    assert rg.compose(screws, "revolute").name == "planar"
    with pytest.raises(rg.ModelError, match="did you mean 'planar'"):
        rg.meet("planer", "revolute")
    with pytest.raises(rg.ModelError, match="shape"):
        rg.meet(np.zeros(6), "revolute")
    with pytest.raises(rg.ModelError, match="no length"):
        G("revolute", (0, 0, 0))
