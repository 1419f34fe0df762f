"""The theorem on one page as an oracle: it keeps as many rows as the reduction, or a few more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.reduction import small
from regularize.reduction.block import Block

ASSETS = Path(__file__).parents[2] / "assets"
MODELS = sorted([*ASSETS.glob("*.urdf"), *(ASSETS / "mobility").rglob("*.urdf")])


def least(reduction: rg.Reduction, part: Block, orders: int = 14) -> int:
    """The smallest dimension that is no less than the rank, over a few orders of short loops."""
    cycles, rng = sorted(part.cycles, key=lambda c: c.length), np.random.default_rng(0)
    best = 6 * len(cycles)
    for _ in range(orders):
        found = small.dimension(reduction.graph, part.screws, cycles, part.rtol)
        best = min(best, found) if found is not None and found >= part.rank else best
        if best <= part.dimension:
            break
        cycles = [cycles[i] for i in rng.permutation(len(cycles))]
    return best


@pytest.mark.slow
def test_the_page_keeps_no_fewer_rows_than_the_reduction_and_mostly_as_many() -> None:
    same = 0
    for path in MODELS:
        reduction = rg.reduce(path, groups=False, configurations=0)
        parts = [part for part in reduction.parts if part.proved]
        surplus = [least(reduction, part) - part.dimension for part in parts]
        assert all(more >= 0 for more in surplus), path.stem
        same += not any(surplus)
    assert len(MODELS) >= 76 and same >= 71


@pytest.mark.parametrize("name", ["three_prrr", "double_sarrus", "slider_crank", "knee_leg"])
def test_the_page_keeps_what_the_reduction_keeps(name: str) -> None:
    reduction = rg.reduce(ASSETS / f"{name}.urdf")
    assert [least(reduction, part) for part in reduction.parts] == [
        part.dimension for part in reduction.parts
    ]
