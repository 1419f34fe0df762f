"""Public functions as people call them: with what they have, and with what they should not."""

from __future__ import annotations

import inspect
import math
import pickle
from pathlib import Path
from typing import Any

import pytest

import regularize as rg

FOURBAR = Path(__file__).resolve().parents[2] / "assets" / "planar_fourbar.urdf"
#: Functions that take a path, a mechanism, or what was made of one.
TAKE_MODELS = (
    *("absolute_rows", "absorb_gaps", "actuation_map", "assemble", "build_model", "check"),
    *("closed_form", "closed_states", "configurations", "cure", "cures", "fix", "idealise"),
    *("isostatic", "joint_forces", "metamodel", "minimal_dynamics", "misfit", "partition"),
    *("prove", "reactions", "reduce", "reduced_model", "save", "self_stress", "serial_twin"),
    *("show", "simulate", "sweep", "to_pinocchio", "with_density", "workspace"),
)
#: Further arguments that a function has to have.
MORE: dict[str, dict[str, Any]] = {
    "cure": {"kinds": {}},
    "closed_form": {"inputs": ["A"]},
    "closed_states": {"n": 3},
    "configurations": {"inputs": ["A"], "values": [0.1]},
    "metamodel": {"bounds": {"A": (0.0, 0.1)}},
    "misfit": {"tolerance": 1e-4},
    "save": {"path": "nowhere.json"},
    "simulate": {"duration": 0.01},
    "sweep": {"parameters": {"A.x": [0.0]}},
    "with_density": {"density": 1000.0},
    "workspace": {"over": ["A"]},
}


def test_no_function_of_models_is_left_out() -> None:
    functions = {n: f for n in rg.__all__ if inspect.isfunction(f := getattr(rg, n))}
    first = {n: next(iter(inspect.signature(f).parameters.values())) for n, f in functions.items()}
    take = {name for name, each in first.items() if str(each.annotation).startswith("Model")}
    assert take == {*TAKE_MODELS} & {*rg.__all__}  # guests may be absent


@pytest.mark.parametrize("name", TAKE_MODELS)
def test_what_is_no_model_is_refused_with_what_was_expected(name: str) -> None:
    function = getattr(rg, name)
    for wrong in (3, None, {}, object()):
        with pytest.raises(TypeError, match=r"a model is a path, a Mechanism.*; got"):
            function(wrong, **MORE.get(name, {}))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cures", "reactions", "prove", "self_stress", "to_pinocchio"])
def test_a_path_a_mechanism_and_a_reduction_are_as_good(name: str) -> None:
    mechanism = rg.load(FOURBAR)
    sources = (str(FOURBAR), FOURBAR, mechanism, rg.reduce(mechanism), rg.check(mechanism))
    function = getattr(rg, name)
    kinds = {repr(type(function(source))) for source in sources}
    assert len(kinds) == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rtol": math.nan}, rg.ModelError),
        ({"rtol": -1.0}, rg.ModelError),
        ({"rtol": 0.0}, rg.ModelError),
        ({"near": math.inf}, rg.ModelError),
        ({"length_scale": 0.0}, rg.ModelError),
        ({"configurations": -1}, rg.ModelError),
        ({"seed": -1}, rg.ModelError),
        ({"rtol": "x"}, TypeError),
        ({"near": None}, TypeError),
        ({"near": [1]}, TypeError),
        ({"seed": 1.5}, TypeError),
        ({"seed": True}, TypeError),
        ({"configurations": None}, TypeError),
        ({"nonsense": 1}, TypeError),
    ],
)
def test_numbers_are_checked_as_on_the_command_line(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(options))):
        rg.check(FOURBAR, **options)


@pytest.mark.parametrize("duration", [0.0, -1.0, math.nan, math.inf])
def test_times_are_checked(duration: float) -> None:
    with pytest.raises(rg.ModelError, match="duration"):
        rg.simulate(FOURBAR, duration=duration)


@pytest.mark.parametrize("density", [0.0, -1.0, math.nan])
def test_densities_are_checked(density: float) -> None:
    with pytest.raises(rg.ModelError, match="density"):
        rg.with_density(FOURBAR, density)


def test_public_functions_can_be_sent_to_other_processes() -> None:
    for name in TAKE_MODELS:
        assert pickle.loads(pickle.dumps(getattr(rg, name))) is getattr(rg, name)
