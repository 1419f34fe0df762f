"""Points and lines in fifteen coordinates on which rigid motions act linearly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from regularize.assembly_modes.six_motions.line_motions import (
    AXIS,
    BASIS,
    INVERSE,
    UNMOVED,
    carried,
    elementary,
    functions,
)
from regularize.lie import screw

TWISTS = arrays(np.float64, 6, elements=st.floats(-2, 2))


def coordinates(p: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The fifteen coordinates written out."""
    pairs = {
        (0, 1): direction[0],
        (0, 2): direction[1],
        (0, 3): direction[2],
        (0, 4): p @ direction,
        (1, 2): np.cross(p, direction)[2],
        (1, 3): -np.cross(p, direction)[1],
        (2, 3): np.cross(p, direction)[0],
    }
    inverted = (p @ direction) * p - 0.5 * (p @ p) * direction
    pairs |= {(k + 1, 4): inverted[k] for k in range(3)}
    return np.array([1.0, *p, 0.5 * p @ p, *(pairs[key] for key in sorted(pairs))])


@given(TWISTS, arrays(np.float64, 3, elements=st.floats(-2, 2)))
def test_a_motion_carries_point_and_line(twist, p):
    T = screw.exp(twist)
    direction = screw.unit([0.3, -0.5, 0.9])
    moved = coordinates(T[:3, :3] @ p + T[:3, 3], T[:3, :3] @ direction)
    assert np.allclose(carried(T) @ coordinates(p, direction), moved, atol=1e-11)


@given(TWISTS, TWISTS)
def test_motions_in_a_row_are_products_of_matrices(a, b):
    A, B = screw.exp(a), screw.exp(b)
    assert np.allclose(carried(A @ B), carried(A) @ carried(B), atol=1e-10)


@pytest.mark.parametrize("kind", ["R", "P"])
def test_elementary_motions_are_linear_in_their_functions(kind):
    x = np.linspace(-3, 3, 13)
    f = functions(kind, x)
    assert np.allclose(np.einsum("nh,hij->nij", f, BASIS[kind]), carried(elementary(kind, x)))
    assert np.allclose(np.einsum("nh,hij->nij", f, INVERSE[kind]), carried(elementary(kind, -x)))
    # Exact: multiples of one half.
    assert np.array_equal(2 * BASIS[kind], np.round(2 * BASIS[kind]))


def test_what_motions_leave_alone():
    turns, slides = carried(elementary("R", np.array(0.7))), carried(elementary("P", np.array(0.7)))
    assert np.allclose(turns @ AXIS, AXIS, atol=1e-15)
    assert not np.allclose(slides @ AXIS, AXIS)
    assert len(UNMOVED["R"]) == len(UNMOVED["P"]) == 6
    for kind, matrix in (("R", turns), ("P", slides)):
        assert np.array_equal(matrix[UNMOVED[kind]], np.eye(15)[UNMOVED[kind]])
