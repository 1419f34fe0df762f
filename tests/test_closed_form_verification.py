"""No solution is called one that does not close the loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from closed_form_cases import CASES, Z, ring

import regularize as rg
from regularize.assembly_modes.closed_form import closed_form
from regularize.assembly_modes.closed_form.evaluation import Evaluation
from regularize.assembly_modes.closed_form.verification import unclosed_branch
from regularize.errors import ModelError
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import coordinate_names, spanning_tree
from regularize.model.graph_building import build

ASSETS = Path(__file__).resolve().parents[1] / "assets"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["n_fourbar_5", "three_cranks", "roberval_balance", "knee_leg"])
def test_whatever_is_called_solved_closes_the_loops(name):
    """Rows of equal links, where much that holds on most branches does not hold on all."""
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    solved = 0
    for column in coordinate_names(mechanism):
        solution = closed_form(mechanism, [column])
        if not solution.solved:
            with pytest.raises(ModelError, match="no closed form"):
                solution.solve(0.1)
            continue
        solved += 1
        found = solution.solve(np.linspace(-2.0, 2.0, 20))
        graph = solution.graph
        loops = LoopKinematics(graph, range(len(graph.edges)), spanning_tree(graph))
        residual = loops.residual(loops.state(found.q[found.assembled]))
        assert np.max(np.abs(residual[:, : 6 * len(loops.chords)])) < 1e-9, column
    assert solved


def test_formulas_of_another_mechanism_are_found_out():
    points = {"A": (0, 0, 0), "B": (0, 0.3, 0), "C": (1, 0.4, 0), "D": (1, 0, 0)}
    solution = closed_form(ring("4R", *((n, "revolute", Z, p) for n, p in points.items())), ["A"])
    assert solution.solved
    right = Evaluation(solution._plan, solution.graph, solution.columns)
    stored, units = np.zeros(1), np.ones(1)
    assert unclosed_branch(right, solution.branches, stored, units) is None
    points["C"] = (1, 0.41, 0)
    other = build(ring("4R", *((n, "revolute", Z, p) for n, p in points.items())))
    wrong = Evaluation(solution._plan, other, solution.columns)
    assert unclosed_branch(wrong, solution.branches, stored, units) in solution.branches


def test_many_branches_are_tried_one_by_one():
    (mechanism, inputs), count = CASES["Stewart platform"]
    solution = closed_form(mechanism, inputs)
    assert len(solution.branches) == count == 64 and solution.solved
    evaluation = Evaluation(solution._plan, solution.graph, solution.columns)
    more = solution.branches * 2
    assert unclosed_branch(evaluation, more, np.zeros(6), np.ones(6)) is None
