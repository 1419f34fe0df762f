"""What is given to a closed form: every value that is none is refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from closed_form_cases import CASES

import regularize as rg


@cache
def five_bar() -> Any:
    (mechanism, inputs), _ = CASES["five-bar"]
    return rg.closed_form(mechanism, inputs)


NO_NUMBERS = [
    "0.1",
    None,
    1j,
    True,
    [0.1, None],
    ["0.1", "0.2"],
    [[0.1], [0.2, 0.3]],
    {"A": "x", "E": 0.1},
    {"A": 0.1},
    object(),
    10**400,
    np.array(["2020-01-01"], dtype="M8[D]"),
]


@pytest.mark.parametrize("values", NO_NUMBERS, ids=range(len(NO_NUMBERS)))
def test_values_that_are_no_numbers(values):
    for call in (
        lambda: five_bar().solve(values),
        lambda: five_bar().track(values),
        lambda: five_bar().velocities([0.1, 0.1], values),
        lambda: five_bar().accelerations([0.1, 0.1], [0.0, 0.0], values),
    ):
        with pytest.raises(rg.ModelError) as error:
            call()
        assert "\n" not in str(error.value) and len(str(error.value)) < 120


WRONG: dict[str, Callable[[Any], object]] = {
    r"rates: 'x' \(str\) is no real number": lambda f: f.velocities([0.1, 0.1], ["x", "y"]),
    "values of 'E': None": lambda f: f.solve({"A": 0.1, "E": None}),
    r"rates for \['B'\]; inputs are \['A', 'E'\]": lambda f: f.velocities([0.1, 0.1], {"B": 0.0}),
    r"values \(3, 2\), rates \(4, 2\)": lambda f: f.velocities(np.zeros((3, 2)), np.zeros((4, 2))),
    r"'A' \(2,\), 'E' \(3,\)|values of 'A'|A \(2,\)": lambda f: f.solve(
        {"A": [0.1, 0.2], "E": [0.1, 0.2, 0.3]}
    ),
    r"\(3,\); the last axis needs 2 inputs: A, E": lambda f: f.solve(np.zeros(3)),
    r"needs one, of shape \(samples, 2\)": lambda f: f.track(np.zeros((3, 4, 2))),
}


@pytest.mark.parametrize("told", WRONG)
def test_the_message_says_which_argument_and_what_shape(told):
    with pytest.raises(rg.ModelError, match=told):
        WRONG[told](five_bar())


@pytest.mark.parametrize(
    "branch", [True, np.True_, 1.0, 0.5, "0", [0], -1, 2, np.array(0)], ids=repr
)
def test_branches_are_whole_numbers(branch):
    with pytest.raises(rg.ModelError, match="branch"):
        five_bar().solve([0.1, 0.1], branch)
    with pytest.raises(rg.ModelError, match="branch"):
        five_bar().track([[0.1, 0.1]], branch)
    assert five_bar().solve([0.1, 0.1], np.int32(1)).q.shape == (1, 5)
    assert five_bar().track([[0.1, 0.1]], np.int64(1)).branch == 1


@pytest.mark.parametrize(
    "tolerance", [None, "x", -1e-9, np.nan, np.inf, True, 1j, [1e-8]], ids=repr
)
def test_tolerances_are_numbers(tolerance):
    (mechanism, inputs), _ = CASES["five-bar"]
    with pytest.raises(rg.ModelError, match="tolerance needs"):
        five_bar().track([[0.1, 0.1]], tolerance=tolerance)
    with pytest.raises((rg.ModelError, TypeError), match="rtol is a positive number"):
        rg.closed_form(mechanism, inputs, rtol=tolerance)


@pytest.mark.parametrize("inputs", [None, 3, [None], [["A"]], ["A", "A"], ["Z"], "A"], ids=repr)
def test_inputs_are_names(inputs):
    (mechanism, _), _ = CASES["five-bar"]
    with pytest.raises((rg.ModelError, TypeError), match=r"input|joint"):
        rg.closed_form(mechanism, inputs)


def test_a_mechanism_may_be_a_path_and_has_to_move():
    welds = [rg.Joint.in_world(name, "ground", "a", "fixed") for name in "AB"]
    with pytest.raises(rg.ModelError, match="no joint of this mechanism moves"):
        rg.closed_form(rg.Mechanism.of_joints("welds", welds, ground="ground"), [])
    with pytest.raises(rg.ReadError, match=r"robot\.urdf"):
        rg.closed_form("robot.urdf", ["A"])


def test_coordinates_of_a_ball_joint_are_given_together():
    (mechanism, _), _ = CASES["RSSR"]
    with pytest.raises(rg.ModelError, match="give them all: 'J1'"):
        rg.closed_form(mechanism, ["J0", "J1[0]"])
    (mechanism, _), _ = CASES["RSCP"]
    assert rg.closed_form(mechanism, ["J2[0]"]).inputs == ("J2[0]",)


def test_masked_values_are_not_known():
    x = np.ma.array([0.1, 0.2], mask=[False, True])
    (mechanism, inputs), _ = CASES["planar 4R"]
    found = rg.closed_form(mechanism, inputs).solve(x)
    assert found.assembled.any(axis=1).tolist() == [True, False]


@pytest.mark.slow
def test_joints_with_several_freedoms_are_given_as_a_whole_or_in_parts():
    (mechanism, inputs), _ = CASES["Stewart platform"]
    whole = rg.closed_form(mechanism, inputs)
    assert inputs == ["pose"] and len(whole.inputs) == 6
    x = np.random.default_rng(0).uniform(-0.1, 0.1, size=(3, 6))
    expected = whole.solve(x).q
    for values in ({"pose": x}, {f"pose[{k}]": x[:, k] for k in range(6)}):
        assert np.array_equal(whole.solve(values).q, expected, equal_nan=True)
    with pytest.raises(rg.ModelError, match=r"shape \(3,\); the last axis needs 6: pose\[0\]"):
        whole.solve({"pose": np.zeros(3)})
    with pytest.raises(rg.ModelError, match="inputs are"):
        whole.solve({"pose[0]": 0.1})


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 3)])
def test_one_branch_is_what_all_say_of_it(shape):
    rng = np.random.default_rng(1)
    x, v, a = rng.uniform(-0.2, 0.2, size=(3, *shape, 2))
    for branch in (0, 1):
        one = five_bar().velocities(x, v, branch)
        assert one.shape == (*shape, 1, 5) and not one.flags.writeable
        np.testing.assert_allclose(
            one[..., 0, :], five_bar().velocities(x, v)[..., branch, :], rtol=1e-12, atol=1e-14
        )
        one = five_bar().accelerations(x, {"A": v[..., 0], "E": v[..., 1]}, a, branch=branch)
        every = five_bar().accelerations(x, v, a)[..., branch, :]
        np.testing.assert_allclose(one[..., 0, :], every, rtol=1e-12, atol=1e-14)
        assert not five_bar().solve(x, branch).q.flags.writeable
    with pytest.raises(rg.ModelError, match="branch"):
        five_bar().velocities(x, v, True)
