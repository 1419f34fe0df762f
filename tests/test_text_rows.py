"""Rows of the texts that were met last, and which tests they rest on.

Müller 2014 (M), Klein and Kecskeméthy (K), Paul 2020 (P), Brüls, Duysinx, Golinval 2003 (B),
Hervé 1978 (H). One row is open: a metamodel with more or fewer motors than freedoms (Brüls).
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

#: By row: what the text has, and the test.
ROWS = {
    "M relative or absolute coordinates": "test_absolute_rows::test_full_rank_and_nothing_lost",
    "M absolute coordinates by another code": "test_exudyn::test_no_redundant_equation",
    "P own choice among the coordinates of the tree": (
        "test_partition::test_no_coordinate_of_a_cut_is_independent"
    ),
    "P a door with hinges": "test_advice::test_a_door_is_mended_as_far_as_its_file_goes",
    "P redundant is what can be removed": (
        "test_shaky::test_velocities_and_motions_are_counted_apart"
    ),
    "P effect of parameters": "test_sweep::test_arguments_of_a_builder_on_a_grid",
    "K in CAD systems": "test_freecad_macro::test_findings_are_said_and_their_joints_selected",
    "B external forces of any kind": "test_reduced_model::test_loads_do_the_work_of_their_points",
    "B flexible links": "test_elastic::test_first_three_frequencies_of_a_cantilever",
    "B flexible links in loops": (
        "test_elastic::test_four_bar_with_an_elastic_coupler_as_exudyn_has_it"
    ),
    "H tables of compositions and intersections": "test_motion_groups::test_tables",
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_a_test(row: str) -> None:
    module, _, name = ROWS[row].partition("::")
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
