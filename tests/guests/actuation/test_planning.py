"""Order and equations of closed forms: linkages that fold, loops that cannot close."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from closed_form_cases import closure_errors, newton_from_everywhere

import regularize as rg

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.slow]

ASSETS = Path(__file__).resolve().parents[3] / "assets"

#: Linkages with pairs of legs that can fold on themselves, and inputs in the plane of one leg.
FOLDING = [
    ("sarrus", ("A1",)),
    ("sarrus", ("C1",)),
    ("sarrus", ("A2",)),
    ("three_leg_sarrus", ("C1",)),
    ("double_sarrus", ("Alow_1", "Ahigh_1")),
]


def solution_of(name: str, inputs: tuple[str, ...]) -> tuple[Any, Any]:
    """The closed form of a shipped model and the kinematics of all its loops."""
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    return rg.closed_form(mechanism, list(inputs)), rg.reduce(mechanism).loops


@pytest.mark.parametrize(("name", "inputs"), FOLDING)
def test_legs_that_fold(name: str, inputs: tuple[str, ...]) -> None:
    """Folded, a leg turns about one line as it likes; unfolded, all its poses are found."""
    solution, loops = solution_of(name, inputs)
    assert solution.solved
    rng = np.random.default_rng(5)
    for x in rng.uniform(-1.0, 1.0, size=(2, len(inputs))):
        found = solution.solve(x)
        ours = found.q[found.assembled]
        assert len(ours)
        assert np.max(closure_errors(solution, ours)) < 1e-12
        # Where axes coincide the ends of Newton's method are a continuum.
        q, values = newton_from_everywhere(solution, x, 600)
        theirs = q[np.sum(values > 1e-5, axis=1) == loops.freedoms - len(inputs)]
        gaps = np.abs(np.exp(1j * theirs[:, None]) - np.exp(1j * ours[None])).max(axis=2)
        assert np.max(np.min(gaps, axis=1), initial=0.0) < 1e-6


@pytest.mark.parametrize(
    ("name", "inputs"), [("nearly_planar_fourbar", ("D",)), ("n_fourbar_5", ("A1", "A2", "A3"))]
)
def test_inputs_that_contradict_each_other(name: str, inputs: tuple[str, ...]) -> None:
    with pytest.raises(rg.ModelError, match="cannot be chosen freely"):
        solution_of(name, inputs)


@pytest.mark.parametrize("crank", ["A0", "A3", "B1", "C0"])
def test_a_row_of_parallelograms(crank: str) -> None:
    """Each of five windows folds: parallel is one of 32 ways that depends on all choices."""
    solution, loops = solution_of("n_fourbar_5", (crank,))
    (column,) = solution.columns
    for configuration in rg.reduce(loops.graph).cells[0].configurations[1:10]:
        found = solution.solve(configuration[[column]])
        gaps = np.abs(np.exp(1j * found.q) - np.exp(1j * configuration)).max(axis=1)
        assert np.min(gaps) < 1e-9
