"""Prints what is proved redundant in parallel robots, by the axes alone and with groups.

Usage: ``python tests/parallel_table.py``.
"""

from __future__ import annotations

import sys

from parallel_robots import ROBOTS

import regularize as rg


def main() -> int:
    """Print the table; the exit status is 1 where more is left over than lengths explain."""
    worst = 0
    print("robot".ljust(27) + "loops mobility redundant | before: removed left | now: removed left")
    for name, (build, _, _, by_lengths) in ROBOTS.items():
        before, now = rg.reduce(build(), groups=False), rg.reduce(build())
        worst = max(worst, now.remaining - by_lengths)
        print(
            f"{name:<27}{now.graph.loops:>4}{now.mobility:>9}{now.redundant:>10} |"
            f"{before.removed:>16}{before.remaining:>5} |{now.removed:>13}{now.remaining:>5}"
        )
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
