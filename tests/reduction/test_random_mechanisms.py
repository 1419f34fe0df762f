"""Five hundred random mechanisms: what is kept is enough, and not more than can be helped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from random_mechanisms import random_legs, random_network, random_single_loop
from walks import kept_rows, walked

import regularize as rg

pytestmark = pytest.mark.slow
KINDS: dict[str, Callable[[np.random.Generator], rg.Mechanism]] = {
    "single loop": random_single_loop,
    "legs": random_legs,
    "network": random_network,
}
CHUNK = 24
CASES = [(kind, first) for kind in KINDS for first in range(0, 7 * CHUNK, CHUNK)]


def independent_walk(reduction: rg.Reduction) -> np.ndarray:
    """Configurations on the kept rows alone, other ones than those of the certificate."""
    return walked(reduction, walkers=6, steps=3, seed=99)


def largest_rank(rows: np.ndarray, rtol: float) -> int:
    """Largest rank of several matrices, shape (N, m, n)."""
    s = np.linalg.svd(rows, compute_uv=False)
    return int(np.max(np.sum(s > rtol * np.maximum(s[:, :1], 1e-300), axis=1), initial=0))


def examine(mechanism: rg.Mechanism, where: str) -> rg.Reduction:
    """Reduce a mechanism and check everything that has to hold for any mechanism."""
    reduction = rg.reduce(mechanism)
    assert reduction.certificate.holds, where
    assert all(part.proved for part in reduction.parts), where
    loops, reduced = reduction.loops, kept_rows(reduction)

    # Sufficient: on the kept rows alone all loops stay closed.
    q = independent_walk(reduction)
    state = loops.state(q)
    assert np.max(np.abs(loops.residual(state)), initial=0.0) < 1e-9, where

    # As many independent rows as all equations have, here and there.
    units, rtol = loops.units, reduction.rtol
    kept_rank = largest_rank(reduced.residual_jacobian(state) * units, rtol)
    assert kept_rank == largest_rank(loops.jacobian(state) * units, rtol) == reduction.rank, where

    # Independent, where nothing is said to be left over.
    rows = sum(cut.kept + cut.edge.freedoms for cut in reduction.cuts)
    assert reduction.remaining == rows - reduction.rank >= 0, where

    # Nowhere found to let go what all equations hold.
    place = reduction.certificate.nearest
    assert place is None or place.ratio > 1e-3, where

    # The counts add up.
    assert reduction.redundant == reduction.mobility - reduction.gruebler, where
    assert reduction.redundant == reduction.removed + reduction.remaining, where
    assert reduction.kept + reduction.removed == reduction.constraints, where
    assert 0 <= sum(part.trivial for part in reduction.parts) <= reduction.removed, where
    assert 0 <= reduction.finite_mobility <= reduction.mobility, where
    for cell in reduction.cells:
        assert cell.here.rank <= cell.generic.rank, where
    return reduction


@pytest.mark.parametrize(("kind", "first"), CASES)
def test_kept_rows_are_sufficient_and_independent(kind: str, first: int) -> None:
    for seed in range(first, first + CHUNK):
        examine(KINDS[kind](np.random.default_rng(seed)), f"{kind}, seed {seed}")


def test_the_sample_is_varied() -> None:
    """Mechanisms that move and lose rows, that are locked, and that keep redundant rows."""
    found: Counter[str] = Counter()
    for seed in range(40):
        reduction = rg.reduce(random_single_loop(np.random.default_rng(seed)))
        found["moves and loses rows"] += reduction.mobility > 0 and reduction.removed > 0
        found["locked joints"] += any(part.locked for part in reduction.parts)
        found["regular"] += reduction.redundant == 0
    assert min(found.values()) >= 4 and len(found) == 3, found


@pytest.mark.parametrize("seed", range(10))
def test_a_report_names_every_redundancy(seed: int) -> None:
    for build in KINDS.values():
        report = rg.check(build(np.random.default_rng(seed))).as_dict()
        assert sum(report["redundancy"].values()) == report["mobility"]["redundant"]
        assert min(report["redundancy"].values()) >= 0
        removed = sum(loop["removed"] for loop in report["loops"])
        assert removed == report["reduction"]["removed"]
        assert len(report["loops"]) == report["model"]["loops"]
