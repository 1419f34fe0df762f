"""Parts of reduced models, metamodels and maps by themselves: coefficients, pictures, limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mechanisms import coordinate_names
from test_metamodel import four_bar, sixteen

import regularize as rg
from regularize.guests.design.plot import metamodel_figure
from regularize.guests.design.workspace import followed, from_limits

ASSETS = Path(__file__).resolve().parents[1] / "assets"


@pytest.mark.slow
def test_picture_has_full_model_metamodel_and_error() -> None:
    pytest.importorskip("matplotlib")
    picture = metamodel_figure(sixteen(), four_bar())
    axes = np.array(picture.axes).reshape(3, 3)
    assert [a.get_title() for a in axes[0]] == ["H", "D", "p"]
    assert [a.get_ylabel() for a in axes[:, 0]] == [
        "reduced model",
        "metamodel",
        "relative error, %",
    ]
    full, fitted = (axes[row, 0].lines[0].get_ydata() for row in (0, 1))
    x = axes[0, 0].lines[0].get_xdata()
    np.testing.assert_allclose(full, four_bar().H(x[:, None])[:, 0, 0])
    np.testing.assert_allclose(fitted, sixteen().H(x[:, None])[:, 0, 0])


def test_limits_are_measured_from_the_middle_of_the_range() -> None:
    bounds = np.array([[-1.0, 3.0], [-np.inf, np.inf], [0.0, np.inf]])
    turns = np.array([True, True, False])
    q = np.array([[1.0, 9.0, 5.0], [3.0, 0.0, 5.0], [1.0 + 2 * np.pi, 0.0, -0.5]])
    units = np.array([1.0, 1.0, 0.5])
    assert np.allclose(from_limits(q, bounds, turns, units), [1.0, 0.0, -1.0])
    assert np.isinf(from_limits(q, np.tile([-np.inf, np.inf], (3, 1)), turns, units)).all()


@pytest.mark.slow
def test_what_lies_behind_a_singularity_is_not_reached() -> None:
    """A slider-crank driven by its slide, followed: its strokes end at the dead centres."""
    mechanism = rg.load(ASSETS / "slider_crank.urdf")
    stroke = rg.workspace(mechanism, {"A": (-np.pi, np.pi, 181)}).columns()["D"]
    graph = rg.reduce(mechanism).graph
    column = coordinate_names(mechanism).index("D")
    x = np.linspace(np.min(stroke) - 0.05, np.max(stroke) + 0.05, 61)[:, None]
    q = followed(graph, [column], x, (61,))
    there = np.isfinite(q[:, 0])
    inside = (x[:, 0] > np.min(stroke)) & (x[:, 0] < np.max(stroke))
    assert np.array_equal(there, inside)
    assert np.allclose(q[there, column], x[there, 0])
