"""Public names, arguments, one-line representations, tables: the same everywhere."""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SLIDER, KNEE = ASSETS / "slider_crank.urdf", ASSETS / "knee_leg.urdf"
FUNCTIONS = {n: f for n in rg.__all__ if inspect.isfunction(f := getattr(rg, n))}
#: Arguments that share a name and not a type, each with why.
HOMONYMS = {
    "model": "a path, a mechanism, what was made of one; a graph too, or a `pinocchio.Model`",
    "options": "of a reader, or of ``reduce``",
    "tolerance": "of a metamodel it is a relative error, else how far joints are off",
    "stiffness": "of `joint_forces` by joint as matrices, else by joint as a pair",
    "kinds": "one kind for each joint, or for `cures` those that may be tried",
    "forced": "with their motions where these are computed, else their names alone",
    "progress": "a bar on the terminal, or for `simulate` a function",
    "source": "of `load` an object of another library too",
    "limits": "of `workspace` bounds by joint, of `closed_states` whether those of the model hold",
    "joints": "of `fix` kinds by joint, else names",
    "loads": "six numbers, or for `simulate` also at a point and along axes of the body",
}


TOPICS = ("design", "study", "groups", "errors")


def test_all_names_are_there_and_public() -> None:
    assert len(set(rg.__all__)) == len(rg.__all__)
    for name in rg.__all__:
        assert getattr(rg, name) is not None
    assert len(dir(rg)) < 42 and {"check", "fix", "design"} < {*dir(rg)} <= {*rg.__all__, *TOPICS}
    assert rg.design.sweep is rg.sweep and "compose" in dir(rg.groups)


def core(annotation: object) -> str:
    """A type without whether it may be left out, and whether one or several forms are taken."""
    text = str(annotation).replace("'", "")
    parts = {part.strip() for part in re.split(r"\|(?![^\[]*\])", text)} - {"None"}
    return " | ".join(sorted(parts))


def test_one_name_means_one_thing() -> None:
    seen: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, function in FUNCTIONS.items():
        parameters = list(inspect.signature(function).parameters.values())
        for parameter in parameters:
            seen[parameter.name][core(parameter.annotation)].append(name)
    several = {n: dict(kinds) for n, kinds in seen.items() if len(kinds) > 1}
    assert set(several) <= set(HOMONYMS), several


def test_choices_are_given_by_name() -> None:
    """Numbers and switches never stand without their names, but for few that always could."""
    allowed = {("fix", "absorb_gaps"), ("fix", "as_designed"), ("closed_states", "n")}
    for name, function in FUNCTIONS.items():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                plain = core(parameter.annotation) in ("bool", "int", "float")
                assert not plain or (name, parameter.name) in allowed, (name, parameter.name)


def test_unknown_words_are_answered_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"argument 'rtoll'"):
        rg.check(SLIDER, rtoll=1e-5)
    with pytest.raises(AttributeError, match=r"did you mean 'check'\?"):
        rg.chek  # noqa: B018
    with pytest.raises(rg.ModelError, match=r"there is no joint 'Crnak'; known are A, B, C, D"):
        rg.load(SLIDER).joint("Crnak")
    with pytest.raises(rg.ModelError, match=r"did you mean 'crank'\?"):
        rg.load(SLIDER).body("Crank")
    with pytest.raises(rg.ModelError, match="known are A, B, C, D"):
        rg.closed_form(SLIDER, ["E"])


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    mechanism, leg = rg.load(SLIDER), rg.load(KNEE)
    form = rg.closed_form(mechanism, ["A"])
    return {
        "mechanism": mechanism,
        "joint": mechanism.joints[0],
        "body": mechanism.bodies[1],
        "reduction": rg.reduce(mechanism),
        "report": rg.check(mechanism),
        "loop": rg.check(mechanism).loops[0],
        "assembly": rg.assemble(mechanism),
        "idealised": rg.idealise(mechanism),
        "misfit": rg.misfit(mechanism, "0.1mm,0.1deg"),
        "robot": rg.to_pinocchio(leg),
        "simulation": rg.simulate(leg, duration=0.01),
        "verdict": rg.verify(rg.prove(mechanism)),
        "form": form,
        "solutions": form.solve([[0.1], [0.2]]),
        "poses": form.solve([0.1]).poses("slider"),
        "track": form.track([0.1, 0.2]),
        "modes": rg.configurations(mechanism, ["A"], [0.1]),
        "map": rg.workspace(mechanism, {"A": (-1.0, 1.0, 3)}),
        "pose": rg.BodyPose("slider"),
        "minimal": rg.minimal_dynamics(leg),
        "reduced": rg.reduced_model(mechanism, ["A"]),
        "metamodel": rg.metamodel(rg.reduced_model(mechanism, ["A"]), [(-0.1, 0.1)], size=0.2),
        "isostatic": rg.isostatic(mechanism),
        "reaction": rg.reactions(mechanism)[0],
        "cure": rg.cures(mechanism)[0],
        "stress": rg.self_stress(mechanism)[0],
        "forces": rg.joint_forces(mechanism, held=["A"]),
        "partition": rg.partition(mechanism),
        "absorbed": rg.absorb_gaps(mechanism),
        "fix": rg.fix(SLIDER),
    }


@pytest.mark.slow
def test_everything_shows_itself_in_one_line(results: dict[str, Any]) -> None:
    for name, value in results.items():
        shown = repr(value)
        assert len(shown) <= 200, name
        assert "\n" not in shown, name
        assert " object at 0x" not in shown, name
    named = rg.load(SLIDER, as_designed=False)
    long = replace(named, name="a very long name " * 30)
    assert len(repr(long)) <= 200 and "4 bodies, 4 joints" in repr(long)
    assert "kept, 3 redundant, mobility 1" in repr(results["reduction"])


@pytest.mark.slow
def test_notebooks_show_tables(results: dict[str, Any]) -> None:
    for name in ("mechanism", "reduction", "report", "simulation"):
        shown = results[name]._repr_html_()
        assert shown.startswith("<table>"), name
        assert shown.count("<tr>") >= 3, name
    shown = results["report"]._repr_html_()
    assert "3 redundant constraint equations" in shown.split("<iframe")[0]
    assert shown.count("<iframe srcdoc=") == 1 and shown.endswith("</iframe>")


def test_names_of_strangers_are_escaped() -> None:
    wild = rg.load(SLIDER)
    assert "<b>" not in replace(wild, name="<b>x</b>")._repr_html_()


@pytest.mark.slow
def test_results_have_named_columns(results: dict[str, Any]) -> None:
    columns = results["solutions"].columns()
    assert list(columns) == ["A", "B", "C", "D"]
    assert columns["D"].shape == (2, 2)
    moved = results["simulation"].columns()
    assert moved["time"].shape == moved["energy"].shape == moved["knee_front"].shape
    assert list(results["map"].columns())[:3] == ["A", "assembled", "reachable"]
    assert np.array_equal(results["modes"].columns()["A"], [0.1, 0.1])


class Frame:
    """What stands in for a table of pandas or xarray."""

    def __init__(self, data: dict[str, Any], index: Any = None) -> None:
        self.data, self.index = data, index


@pytest.mark.slow
def test_tables_of_pandas_and_xarray(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class MultiIndex:
        @staticmethod
        def from_product(places: list[range], names: list[str]) -> tuple[list[range], list[str]]:
            return places, names

    pandas = types.SimpleNamespace(DataFrame=Frame, MultiIndex=MultiIndex)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    monkeypatch.setitem(sys.modules, "xarray", types.SimpleNamespace(Dataset=Frame))
    table = results["solutions"].to_pandas()
    assert table.data["D"].shape == (4,)
    assert table.index == ([range(2), range(2)], ["sample", "solution"])
    assert results["simulation"].to_pandas().index is None
    assert results["map"].to_xarray().data["clearance"][0] == ["A"]
    assert results["solutions"].to_xarray().data["D"][0] == ["sample", "solution"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(rg.RegularizeError, match="pip install pandas"):
        results["solutions"].to_pandas()
