"""Inputs that are too few or too many for all configurations to be found."""

from __future__ import annotations

import csv
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from closed_form_cases import CASES

import regularize as rg
from regularize.assembly_modes.configurations import ConfigurationFinder
from regularize.assembly_modes.freedoms import freedoms_of
from regularize.assembly_modes.loop_system import LoopSystem
from regularize.errors import ModelError
from regularize.model.graph import coordinate_names
from regularize.model.graph_building import build

ASSETS = Path(__file__).resolve().parents[1] / "assets"

with (ASSETS / "answers.csv").open() as file:
    FINITE = {row["file"]: int(row["finite"]) for row in csv.DictReader(file)}
#: The rod of the RSSR spins about itself; five joints of the knee's leg are in no loop.
FINITE |= {"rssr": 1, "knee_leg": 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", FINITE)
def test_every_mechanism_needs_as_many_inputs_as_it_has_freedoms(name):
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    graph = build(mechanism)
    unknown = np.array(sorted({c for cell in graph.cells for c in graph.columns(cell)}))
    freedoms = freedoms_of(LoopSystem(graph, unknown), [])
    assert freedoms is not None and freedoms.independent == 0
    assert freedoms.left == len(freedoms.further) == FINITE[name]
    # With those given nothing is left, and there are none too many.
    names = coordinate_names(mechanism)
    columns = [names.index(further) for further in freedoms.further]
    rest = LoopSystem(graph, np.setdiff1d(unknown, columns))
    freedoms = freedoms_of(rest, columns)
    assert freedoms is not None
    assert (freedoms.independent, freedoms.left) == (FINITE[name], 0)


def test_too_few_inputs():
    (five_bar, _), _ = CASES["five-bar"]
    with pytest.raises(ModelError) as error:
        rg.configurations(five_bar, ["A"], 0.1)
    assert str(error.value) == (
        "with A given the loops keep 1 of 2 freedoms and their configurations have no end; "
        "give 1 more input, such as E"
    )
    with pytest.raises(ModelError, match="without inputs the loops keep 1 of 1 freedom and"):
        rg.configurations(mechanisms.sarrus(), [], np.zeros(0))
    with pytest.raises(ModelError, match="give 2 more inputs, such as"):
        ConfigurationFinder(mechanisms.spherical_9r(), ["a1"])


def test_too_many_inputs():
    with pytest.raises(ModelError, match=r"cannot be chosen freely: 1 of them .* leave out 1"):
        ConfigurationFinder(mechanisms.bricard(), ["A", "B"])
    with pytest.raises(ModelError, match="cannot be chosen freely"):
        ConfigurationFinder(mechanisms.planar_fourbar(), ["A", "B"])
    with pytest.raises(ModelError, match="cannot be chosen freely"):
        ConfigurationFinder(mechanisms.spherical_9r(), ["a1", "b1", "c1", "a2"])


def test_velocities_that_no_motion_follows_are_no_freedoms():
    """A shaky loop allows two velocities everywhere, and moves in one way."""
    finder = ConfigurationFinder(rg.load(ASSETS / "shaky_7r.urdf"), ["A"])
    assert finder.inputs == ("A",)


def test_rods_that_spin_need_no_input():
    (mechanism, _), _ = CASES["Stewart platform"]
    assert ConfigurationFinder(mechanism, [f"P{i}" for i in range(6)]).method == "iteration"


@pytest.mark.slow
def test_a_bar_shows_how_far_the_search_is(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    x = np.zeros((1, 3))
    found = rg.configurations(mechanisms.three_prrr(), ["a1", "b1", "c1"], x, rounds=4)
    assert capsys.readouterr().err == ""
    shown = rg.configurations(
        mechanisms.three_prrr(), ["a1", "b1", "c1"], x, rounds=4, progress=True
    )
    output = capsys.readouterr()
    assert "configurations" in output.err and output.out == ""
    assert np.array_equal(found.q, shown.q, equal_nan=True)


@pytest.mark.parametrize("name", ["starts", "rounds"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "3"])
def test_numbers_of_starts_and_rounds(name, value):
    finder = ConfigurationFinder(mechanisms.planar_fourbar(), ["A"])
    with pytest.raises(ModelError, match=f"{name} needs to be a whole number"):
        finder.find(0.1, **{name: value})
