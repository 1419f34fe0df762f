"""Tables that are not as they were made are refused, whatever was changed in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_kernel import robot_of, tables_of_every_joint

from regularize.kernel.compiled import Kernel, compiled
from regularize.kernel.sections import Tables

pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")

Changed = tuple[Any, Any]


@pytest.mark.parametrize(
    "tampered",
    [
        lambda integers, reals: (integers.astype(np.int64), reals),
        lambda integers, reals: (integers, reals.astype(np.float32)),
        lambda integers, reals: (integers, np.zeros(8 * len(reals) + 1, np.uint8)[1:].view("d")),
        lambda integers, reals: (integers[:40], reals),
        lambda integers, reals: (integers[:0], reals[:0]),
        lambda integers, reals: (integers, reals[: len(reals) // 2]),
        lambda integers, reals: (integers, robot_of("planar_fourbar").tables.reals),
        lambda integers, reals: (np.roll(integers, 1), reals),
    ],
)
def test_other_arrays_are_no_tables(tampered: Callable[[Any, Any], Changed]) -> None:
    tables = tables_of_every_joint()
    integers, reals = tampered(tables.integers, tables.reals)
    with pytest.raises(ValueError, match="no tables"):
        compiled(Tables(integers, reals, tables.sizes))


@settings(deadline=None, max_examples=300)
@given(
    name=st.sampled_from(["planar_fourbar", "bricard", "delta_parallelograms"]),
    flips=st.lists(
        st.tuples(st.floats(0.0, 1.0), st.integers(0, 7), st.integers(1, 255)),
        min_size=1,
        max_size=4,
    ),
)
def test_flipped_bits_are_found_or_mean_nothing(
    name: str, flips: list[tuple[float, int, int]]
) -> None:
    """Anywhere in the tables: in indices, in the programs made of them, in masses."""
    robot = robot_of(name)
    tables = robot.tables
    assert tables is not None
    arrays = tables.integers.copy(), tables.reals.copy()
    whole, real = (array.view(np.uint8) for array in arrays)
    for where, byte, bits in flips:
        place = int(where * (len(whole) + len(real) - 9)) + byte
        part, at = (whole, place) if place < len(whole) else (real, place - len(whole))
        part[at] ^= bits
    same = whole.tobytes() == tables.integers.tobytes() and real.tobytes() == tables.reals.tobytes()
    if not same:
        with pytest.raises(ValueError, match="no tables"):
            compiled(Tables(*arrays, tables.sizes))
        return
    state = robot.q0, np.zeros(robot.model.nv), np.ones(robot.model.nv)
    found = compiled(Tables(*arrays, tables.sizes)).forward_dynamics(*state)
    np.testing.assert_array_equal(found, robot.kernel.forward_dynamics(*state))


def test_arrays_that_change_later_change_nothing() -> None:
    robot = robot_of("planar_fourbar")
    assert robot.tables is not None
    integers, reals = robot.tables.integers.copy(), robot.tables.reals.copy()
    kernel = compiled(Tables(integers, reals, robot.tables.sizes))
    integers[:], reals[:] = -1, np.nan
    state = robot.q0, np.zeros(3), np.ones(3)
    found = kernel.forward_dynamics(*state)
    np.testing.assert_array_equal(found, robot.kernel.forward_dynamics(*state))
