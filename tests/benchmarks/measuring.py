"""What the benchmarks share: CPU seconds of ways that take turns, and how ratios are printed.

CPU time of the process and its threads is measured, not time on the clock, so that neighbours on
the machine disturb little; the best of several runs counts. Absolute times depend on the machine:
read the ratios. The scripts speak the public API, so that they also run on other checkouts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time
from typing import Any, TypeVar

import regularize

#: The checkout that is measured, which need not be the one that the scripts are from.
CHECKOUT = Path(regularize.__file__).resolve().parents[1]
ASSETS = CHECKOUT / "assets"

T = TypeVar("T")


def timed(run: Callable[[], T], runs: int = 1) -> tuple[float, T]:
    """Least CPU seconds of several runs, and the last result."""
    seconds = []
    for _ in range(runs):
        start = process_time()
        found = run()
        seconds.append(process_time() - start)
    return min(seconds), found


def of_process(command: Sequence[str], **options: Any) -> tuple[float, Any]:
    """CPU seconds of a process, and how it ended."""
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, **options)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def per_item(ways: Mapping[str, tuple[Callable[[], object], int]], runs: int) -> dict[str, float]:
    """Least CPU seconds per item of each way, a function and its number of items."""
    seconds = dict.fromkeys(ways, float("inf"))
    for _ in range(runs):
        for name, (run, count) in ways.items():
            seconds[name] = min(seconds[name], timed(run)[0] / count)
    return seconds


def finish(ratios: Mapping[str, float], table: Callable[[], None] | None = None) -> None:
    """Print how many times as quick each is as its peer; with ``--json`` nothing else."""
    if "--json" in sys.argv:
        print(json.dumps({name: float(ratio) for name, ratio in ratios.items()}))
        return
    if table is not None:
        table()
        print()
    for name, ratio in ratios.items():
        print(f"{name:64}{ratio:10.3g} x")
