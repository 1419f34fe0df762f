"""Arguments that make no sense: each is refused in our words, whoever computes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_door import TAKE_MODELS

import regularize as rg
from regularize.dynamics.step import compiled
from regularize.mechanism.joint import JointLimits

FOURBAR = Path(__file__).resolve().parents[2] / "assets" / "planar_fourbar.urdf"
WRONG: tuple[Any, ...] = (
    object(),
    "nobody",
    b"x",
    -1,
    math.nan,
    10**400,
    1j,
    ["nobody"],
    [math.nan],
    {"nobody": 1},
    {1: 1},
    {"A": "x"},
    {"A": math.nan},
    {"A": None},
    np.zeros((2, 2)),
    np.zeros(99),
    np.array(["a"]),
)
#: What a function has to have besides the argument that is wrong.
MORE: dict[str, dict[str, Any]] = {
    "augment": {"closures": []},
    "closed_form": {"inputs": ["A"]},
    "configurations": {"inputs": ["A"], "values": [0.1]},
    "cure": {"kinds": {"A": "spherical"}},
    "metamodel": {"bounds": {"A": (0.0, 0.1)}},
    "misfit": {"tolerance": 1e-4},
    "save": {"path": "/dev/null"},
    "simulate": {"duration": 0.01},
    "sweep": {"parameters": {"A.x": [0.0]}},
    "with_density": {"density": 1000.0},
    "workspace": {"over": ["A"], "samples": 2},
}
#: Values among ``WRONG`` that are right here, or ask for a long computation.
RIGHT = {"progress", "source", "document", "times", "tries", "starts", "rounds", "limit", "idle"}
#: Functions that reduce the model that they take.
OF_REDUCTIONS = {
    *("cure", "cures", "joint_forces", "minimal_dynamics", "prove", "reactions", "self_stress"),
    "to_pinocchio",
}


@cache
def given() -> dict[str, Any]:
    """A mechanism, its reduction, its robot and its model."""
    reduction = rg.reduce(rg.load(FOURBAR))
    robot = rg.to_pinocchio(reduction)
    return {"Mechanism": reduction.mechanism, "Reduction": reduction, "Robot": robot}


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Empty where the function did its work or refused in our words, else what it said."""
    try:
        function(*arguments, **options)
    except rg.RegularizeError:
        return ""
    except TypeError as error:
        return "" if "; got " in str(error) or "threads" in str(error) else f"{error!r}"
    except Exception as error:
        return f"{error!r}"
    return ""


def complaints(
    function: Callable[..., Any], subject: tuple[Any, ...], more: dict[str, Any], skip: set[str]
) -> list[str]:
    """What a function says to wrong arguments, one at a time, where it is not ours to say."""
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [n for n, p in inspect.signature(function).parameters.items() if p.kind in plain]
    found = []
    for name in names[len(subject) :]:
        for wrong in () if name in skip else WRONG:
            said = outcome(function, *subject, **{**more, name: wrong})
            found += [f"{name}={wrong!r:.30}: {said:.150}"] if said else []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TAKE_MODELS, "augment", "from_pinocchio"])
def test_functions(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    first = given()["Reduction" if name in OF_REDUCTIONS else "Mechanism"]
    if name not in TAKE_MODELS:
        first = given()["Robot"].model
    if name == "metamodel":
        first = rg.reduced_model(first)
    skip = {*RIGHT, "tolerance", "stiffness"} if name == "check" else RIGHT  # as of misfit
    assert complaints(getattr(rg, name), (first,), MORE.get(name, {}), skip) == []


def methods(kind: type) -> list[str]:
    return sorted(
        name
        for name in dir(kind)
        if not name.startswith("_") and inspect.isfunction(inspect.getattr_static(kind, name))
    )


def right() -> dict[str, Any]:
    """Arguments of methods that make sense."""
    model = given()["Robot"].model
    return {
        "q": given()["Robot"].q0,
        "v": np.zeros(model.nv),
        "a": np.zeros(model.nv),
        "tau": np.zeros(model.nv),
        "coordinates": np.zeros(given()["Reduction"].graph.freedoms),
        "frame": "crank",
        "rates": {"A": 1.0},
        "targets": {"A": 0.1},
        "velocity": 0,
        "joint": "A",
        "joints": ["A"],
        "frequency": 1.0,
        "actuated": ["A"],
        "path": "nowhere.c",
        "h": 1e-3,
        "steps": 2,
    }


def complaints_of_methods(thing: Any) -> list[str]:
    known, found = right(), []
    for name in methods(type(thing)):
        function = getattr(thing, name)
        more = {n: known[n] for n in inspect.signature(function).parameters if n in known}
        found += [f"{name}: {said}" for said in complaints(function, (), more, set())]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Mechanism", "Reduction", "Robot"])
def test_methods(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaints_of_methods(given()[kind]) == []


@pytest.mark.slow
def test_methods_of_a_robot_without_the_compiled_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regularize.dynamics.step.compiled.Kernel", None)
    robot = rg.to_pinocchio(given()["Reduction"])
    assert robot.computed_by == "Python"
    assert complaints_of_methods(robot) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["build_model", "check_each", "fix", "load", "verify"])
def test_functions_of_files(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    function = getattr(rg, name)

    def each(sources: Any, executor: Any = None, configurations: Any = 1, seed: Any = 0) -> None:
        options = {"configurations": configurations, "seed": seed}
        list(rg.check_each(sources, executor=executor, **options))

    if name == "check_each":
        assert complaints(each, ([str(FOURBAR)],), {}, set()) == []
    elif name != "verify":
        assert complaints(function, (str(FOURBAR),), {}, set()) == []
    for wrong in WRONG:
        said = outcome(lambda: list(function(wrong)) if name == "check_each" else function(wrong))  # noqa: B023
        assert said == "", wrong


@cache
def made() -> dict[str, Any]:
    """Results that compute further things."""
    mechanism = given()["Mechanism"]
    reduced = rg.reduced_model(mechanism)
    return {
        "metamodel": rg.metamodel(reduced, bounds={"A": (0.0, 0.1)}, size=0.1, held_out=10),
        "reduced model": reduced,
        "report": rg.check(mechanism, configurations=1),
        "simulation": rg.simulate(mechanism, duration=0.01),
    }


#: Methods for the fit of a metamodel alone.
OF_THE_FIT = {"checked", "chunk", "relative_errors"}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["metamodel", "reduced model", "report", "simulation"])
def test_methods_of_results(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    thing, found = made()[what], []
    inputs = {key: [0.05] for key in ("theta", "rate", "acceleration", "effort")}
    known = {**right(), **inputs, "coordinates": {"A": 0.1}, "duration": 0.01}
    known |= {"bounds": [[0.0, 0.1]], "path": "nowhere.svg"}
    for name in sorted({*methods(type(thing))} - OF_THE_FIT):
        function = getattr(thing, name)
        more = {n: known[n] for n in inspect.signature(function).parameters if n in known}
        skip = RIGHT - {"progress"}
        found += [f"{name}: {said}" for said in complaints(function, (), more, skip)]
    assert found == []


@pytest.mark.parametrize("kernel", sorted({"Python", compiled.which()}))
@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("forward_dynamics", ("q", "v", "tau")),
        ("accelerations", ("q", "v", "tau")),
        ("residual", ("q",)),
        ("jacobian", ("q",)),
        ("bias", ("q", "v")),
        ("project_velocity", ("q", "v")),
        ("inverse_dynamics", ("q", "v", "a")),
        ("energy", ("q", "v")),
        ("project", ("q",)),
    ],
)
def test_states_that_are_none(
    kernel: str, method: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel == "Python":
        monkeypatch.setattr("regularize.dynamics.step.compiled.Kernel", None)
    robot = rg.to_pinocchio(given()["Reduction"])
    function, known = getattr(robot, method), right()
    state = [known[name] for name in names]
    if method == "accelerations":
        state = [each[None] for each in state]
    extra = {"actuated": ["A"]} if method == "inverse_dynamics" else {}
    function(*state, **extra)
    for k, each in enumerate(state):
        for wrong, error in (
            (each * math.nan, rg.NotFinite),
            (each + math.inf, rg.NotFinite),
            (np.zeros((*each.shape[:-1], 7)), rg.ModelError),
            (each[..., :-1], rg.ModelError),
            (each + 1j, TypeError),
            (np.full(each.shape, "1.0"), TypeError),
        ):
            with pytest.raises(error):
                function(*state[:k], wrong, *state[k + 1 :], **extra)
    if method != "accelerations":  # lists are as good as arrays
        as_lists = function(*(each.tolist() for each in state), **extra)
        if isinstance(as_lists, np.ndarray):
            np.testing.assert_array_equal(as_lists, function(*state))


def test_a_metamodel_of_a_mechanism_is_one_of_its_reduced_model() -> None:
    with pytest.raises(rg.ModelError, match="say when boxes are small enough"):
        rg.metamodel(FOURBAR, bounds={"A": (0.0, 0.1)})


def test_a_default_may_be_said() -> None:
    robot = given()["Robot"]
    v = np.zeros(robot.model.nv)
    said = robot.dynamics_derivatives(robot.q0, v, v, frequency=float("0"))
    assert np.array_equal(said.ddq_dq, robot.dynamics_derivatives(robot.q0, v, v).ddq_dq)
    with pytest.raises(rg.ModelError, match="positive"):
        robot.dynamics_derivatives(robot.q0, v, v, frequency=-1.0)


def with_joint(mechanism: rg.Mechanism, **more: Any) -> rg.Mechanism:
    """The mechanism with other values of its first joint."""
    first, *others = mechanism.joints
    return replace(mechanism, joints=(replace(first, **more), *others))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (
            lambda m: rg.reduce(m, configurations=-1),
            "configurations is a whole number, not negative; got -1",
        ),
        (lambda m: with_joint(m, screws=np.eye(6)[:, :2]), "revolute needs 1 screws, got 2"),
        (lambda m: with_joint(m, limits=np.zeros((2, 2))), "lower has 2 values for 1 freedoms"),
        (lambda m: JointLimits(np.zeros(1), None), "limits state both position bounds or none"),
        (lambda m: JointLimits(None, None), "and at least one bound of any sort"),
        (
            lambda m: rg.closed_form(
                with_joint(m, kind="fixed", screws=np.zeros((6, 0)), position=np.zeros(0)), ["A"]
            ),
            "joint 'A' cannot move: it is no input",
        ),
        (
            lambda m: rg.cure(m, {"A": "cylindrical:1,0,0"}),
            "joint 'A' cannot be made cylindrical along 1,0,0; possible is A=cylindrical",
        ),
        (
            lambda m: rg.cure(m, {"A": "cylindrical:up"}),
            "'up' is no direction; write three numbers",
        ),
    ],
)
def test_refusals_say_what_is_wrong(act: Callable[[rg.Mechanism], object], words: str) -> None:
    with pytest.raises(rg.ModelError, match=words):
        act(given()["Mechanism"])
