"""Prints what descents find: no needed row is removed, and where kept rows come near dependence.

Usage: ``python descent_table.py [--networks 300] [--locked 1000] [--first 0]``.
Random networks are followed along long walks, on which kept rows and all equations have to have the
same rank, and by descents; networks with loops that lock themselves, and the traps of the corpus,
by descents. The exit status is 1 where a needed row is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import rooms  # noqa: F401

import numpy as np
from random_mechanisms import random_network

import regularize as rg
from regularize.loops.continuation import Continuation, random_walks
from regularize.reduction.descent import THOROUGH, Descent, Lowest

TRAPS = Path(__file__).resolve().parents[3] / "shared/corpus/traps"


def descents(reduction: rg.Reduction) -> Iterator[tuple[Descent, np.ndarray]]:
    """Over every cell that moves and has equations, and configurations to begin at."""
    flat = [loop for part in reduction.parts for loop in part.parallelograms]
    graphs = reduction.graph, reduction.coupled
    for cell in reduction.cells:
        if cell.finite != 0 and cell.generic.rank:
            found = Descent(*graphs, reduction.q, cell, reduction.cuts, flat)
            yield found, cell.configurations


def walked(descent: Descent, q: np.ndarray, walkers: int = 6, steps: int = 25) -> np.ndarray:
    """Configurations of long walks on all equations, shape (N, n)."""
    along = Continuation(descent.plain, descent.machine.tolerances)
    rng = np.random.default_rng(7)
    visited = random_walks(along, q, walkers=walkers, steps=steps, rng=rng)
    return visited.reshape(-1, len(q))


def lowest(reduction: rg.Reduction) -> Lowest | None:
    """The lowest place of all cells."""
    found = [each.lowest(q, THOROUGH) for each, q in descents(reduction)]
    return min((p for p in found if p is not None), key=lambda p: p.ratio, default=None)


def ranks_agree(reduction: rg.Reduction) -> bool:
    """Whether kept rows have the rank of all equations along long walks on all equations."""
    for each, q in descents(reduction):
        kept, every = each.smallest(walked(each, q[0]))
        typical = float(np.median(every))
        if np.any((every > 0.01 * typical) & (kept < reduction.rtol * every)):
            return False
    return True


def missing(place: Lowest | None, reduction: rg.Reduction) -> bool:
    """Whether the kept rows let go there what all equations hold."""
    return place is not None and place.ratio < reduction.rtol


def networks(first: int, count: int) -> int:
    """Random networks, whatever they are; the number of those that miss a row."""
    wrong, left, moving, ratios = 0, 0, 0, []
    for seed in range(first, first + count):
        reduction = rg.reduce(random_network(np.random.default_rng(seed)))
        place = lowest(reduction)
        if missing(place, reduction) or not ranks_agree(reduction):
            wrong += 1
            print(f"  network {seed} misses a row: {place}")
        left += reduction.remaining
        moving += place is not None
        ratios += [] if place is None else [place.ratio]
    spread = ", ".join(f"{x:.2g}" for x in np.quantile(ratios, (0.0, 0.01, 0.1, 0.5)))
    print(
        f"{count} networks: {moving} move, {wrong} miss a row; unproved redundant rows: "
        f"{left / count:.2f} on average; lowest ratios 0, 1, 10, 50 %: {spread}"
    )
    return wrong


def with_locked_loops(first: int) -> Iterator[tuple[str, rg.Mechanism]]:
    """Traps of the corpus, then random networks."""
    for path in sorted(TRAPS.glob("*.urdf")):
        yield path.stem, rg.load(path)
    seed = first
    while True:
        yield f"network {seed}", random_network(np.random.default_rng(seed))
        seed += 1


def locked(first: int, count: int) -> int:
    """Networks with locked joints that move; the number of those that miss a row."""
    wrong, seen, thinned, ratios = 0, 0, 0, []
    for name, mechanism in with_locked_loops(first):
        reduction = rg.reduce(mechanism)
        if not any(part.locked for part in reduction.parts) or reduction.finite_mobility == 0:
            continue
        seen += 1
        place = lowest(reduction)
        thinned += any(cut.thinned.size for cut in reduction.cuts)
        ratios += [] if place is None else [place.ratio]
        if missing(place, reduction):
            wrong += 1
            print(f"  {name} misses a row: {place}")
        if seen == count:
            break
    spread = ", ".join(f"{x:.2g}" for x in np.quantile(ratios, (0.0, 0.01, 0.1, 0.5)))
    print(
        f"{seen} with locked loops that move, {thinned} of them thinned: {wrong} miss a row; "
        f"lowest ratios 0, 1, 10, 50 %: {spread}"
    )
    return wrong


def main(arguments: list[str]) -> int:
    """Print the tables; the exit status is 1 where a row is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--networks", type=int, default=300)
    parser.add_argument("--locked", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args(arguments)
    wrong = networks(given.first, given.networks) if given.networks else 0
    wrong += locked(given.first, given.locked) if given.locked else 0
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
