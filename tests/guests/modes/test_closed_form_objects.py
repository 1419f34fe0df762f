"""What closed forms are as objects: printed, copied, pickled, and protected."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from closed_form_cases import CASES

import regularize as rg

X = np.array([-0.2, 0.1, -0.1, 0.2, 0.3, -0.1])
WAYS = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def elbow() -> Any:
    (mechanism, inputs), _ = CASES["elbow manipulator"]
    return rg.closed_form(mechanism, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("used", [False, True])
def test_copies_give_the_same_results(way, used):
    solution = elbow()
    if used:
        solution.solve(X)
        solution.accelerations(X, X, X)
        assert solution.operations.total
    other = WAYS[way](solution)
    expected = elbow()
    assert np.array_equal(other.solve(X).q, expected.solve(X).q)
    assert np.array_equal(other.solve(X[None]).q, expected.solve(X[None]).q)
    assert np.array_equal(other.velocities(X, X), expected.velocities(X, X))
    assert np.array_equal(other.accelerations(X, X, X), expected.accelerations(X, X, X))
    assert other.to_c() == expected.to_c()
    track = WAYS[way](other.track([X, X]))
    assert np.array_equal(track.q, expected.track([X, X]).q)
    assert np.array_equal(WAYS[way](other.solve(X)).q, expected.solve(X).q)


@pytest.mark.slow
def test_results_cannot_be_written_to():
    solution = elbow()
    for found in (solution.solve(X), solution.solve([X, X]), solution.solve([[X]])):
        for array in (found.q, found.assembled, found.margin):
            assert not array.flags.writeable
    track = solution.track([X, X])
    assert not track.q.flags.writeable and not track.branches.flags.writeable


def test_printed_in_one_line():
    solution = elbow()
    name = "<ClosedForm of 'elbow manipulator' for [x, y, z, a, b, c]: 8 branches>"
    assert repr(solution) == str(solution) == name
    (five_bar, _), _ = CASES["five-bar"]
    assert repr(rg.closed_form(five_bar, ["A"])) == "<ClosedForm of 'five-bar' for [A]: not solved>"


@pytest.mark.slow
def test_many_samples_need_no_more_room_than_their_results():
    import tracemalloc

    (mechanism, inputs), _ = CASES["planar 4R"]
    solution = rg.closed_form(mechanism, inputs)
    x = np.linspace(-0.3, 0.3, 300_000)
    solution.solve(x[:10])
    tracemalloc.start()
    found = solution.solve(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = found.q.nbytes + found.margin.nbytes + found.assembled.nbytes
    assert peak < 1.2 * size + 8 * x.nbytes
