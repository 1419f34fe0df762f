"""Prints what is proved redundant in parallel robots, and where kept rows are nearly dependent.

Usage: ``python tests/parallel_table.py [NAME …]``. Rows removed, proved, and rows left, by the axes
alone and with groups; of those left, how many the motion of the special lengths proves. Then two
kinds of places by descents from long walks. *Firm*: the lowest ratio of smallest singular values,
kept rows to all equations, where these are firm. *Alone*: where the kept rows by themselves are
nearly dependent, how small both became, over what all equations usually have, and how many of each
are independent there. ``none`` stands where no start led below a hundredth: the kept rows are
uniformly independent as far as one came. The exit status is 1 where more is left over than lengths
explain, a row is missing, or ranks differ.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from descent_table import descents, lowest, missing, walked
from parallel_robots import ROBOTS

import regularize as rg
from regularize.proofs.special import special_lengths
from regularize.reduction.descent import Descent, Effort

#: Below this part of what is usual, rows count as nearly dependent.
NEAR = 1e-2


def counted(descent: Descent, q: np.ndarray, typical: float) -> tuple[int, int]:
    """How many kept rows and how many of all equations are clearly independent at a place."""
    state = descent.plain.state(q[None])
    both = descent.rows.residual_jacobian(state), descent.plain.jacobian(state)
    values = (np.linalg.svd(rows[0] * descent.plain.units, compute_uv=False) for rows in both)
    kept, every = (int(np.sum(s > NEAR * typical)) for s in values)
    return kept, every


def alone(reduction: rg.Reduction) -> tuple[str, bool]:
    """Where kept rows by themselves are nearly dependent, and whether ranks agree there."""
    found = []
    for descent, q in descents(reduction):
        starts = walked(descent, q[0], 8, 40)
        typical = float(np.median(descent.smallest(starts)[1]))
        for effort, largest in ((Effort(12, 150, 1e3), 0.25), (Effort(40, 200, 1e6), 0.5)):
            place = descent.lowest(starts, effort, largest=largest, alone=True)
            if place is not None:
                kept, every = (float(s[0]) / typical for s in descent.smallest(place.q[None]))
                ranks = counted(descent, place.q, typical)
                found.append((kept, every, ranks, len(starts), descent.rank))
            if found and min(found)[0] < NEAR:
                break
    kept, every, (one, other), tried, rank = min(found)
    if kept >= NEAR:
        words = f"none: {kept:.2f} (all: {every:.2f}) is the least from {tried} starts"
        return words, one == other
    return f"{kept:.0e} {every:.0e}   {one} and {other} of {rank}", one == other


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[*ROBOTS])
    wrong = False
    print(" " * 53 + "| axes alone   | with groups            | firm        | alone")
    print(
        "robot".ljust(27) + "loops mobility redundant  | removed left | removed left by motion | "
        "ratio  firm | kept  all     ranks"
    )
    for name in parser.parse_args(arguments).names:
        build, _, _, by_lengths = ROBOTS[name]
        before, now = rg.reduce(build(), groups=False), rg.reduce(build())
        moved = sum(each.rows for each in special_lengths(now))
        place, (words, agree) = lowest(now), alone(now)
        assert place is not None
        wrong |= now.remaining > by_lengths or missing(place, now) or not agree
        print(
            f"{name:<27}{now.graph.loops:>5}{now.mobility:>9}{now.redundant:>10}  |"
            f"{before.removed:>8}{before.remaining:>5} |{now.removed:>8}{now.remaining:>5}"
            f"{moved:>10} |{place.ratio:6.2f}{place.firm:6.2f} | {words}",
            flush=True,
        )
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
