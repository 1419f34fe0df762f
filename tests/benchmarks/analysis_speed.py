#!/usr/bin/env python3
"""How the analysis of many loops grows: CPU seconds and memory by family and size.

python tests/benchmarks/analysis_speed.py [--json] [SIZE ...]

`check` and its text count. Every size runs in a process of its own. The exponent of growth is the
slope of the seconds from the smallest size to the largest, both on logarithmic scales; one is
proportional to the loops.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

from measuring import finish

FAMILIES = ("windows", "comb", "different", "chain", "scissor", "grid")
SIZES = (50, 200, 1000)
ONE = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
import families, regularize
regularize.check(families.comb(1))
mechanism = families.FAMILIES[sys.argv[2]](int(sys.argv[3]))
start = time.process_time()
report = regularize.check(mechanism)
text = str(report)
seconds = time.process_time() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([report.reduction.graph.loops, seconds, memory]))
"""


def measured(family: str, size: int) -> tuple[int, float, float]:
    """Number of loops, CPU seconds and largest memory in MB."""
    command = [sys.executable, "-c", ONE, str(Path(__file__).parent), family, str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    loops, seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return int(loops), float(seconds), float(memory)


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or list(SIZES)
    found = {family: [measured(family, size) for size in sizes] for family in FAMILIES}

    def table() -> None:
        print(f"{'family':12}{'loops':>8}{'CPU s':>10}{'MB':>8}{'exponent':>10}")
        for family, rows in found.items():
            for loops, seconds, memory in rows:
                grown = loops > rows[0][0]
                slope = (
                    math.log(seconds / rows[0][1]) / math.log(loops / rows[0][0]) if grown else 0
                )
                last = f"{slope:10.2f}" if grown else ""
                print(f"{family:12}{loops:8}{seconds:10.2f}{memory:8.0f}{last}")

    finish(
        {
            f"{family}, a loop of {rows[0][0]} instead of one of {rows[-1][0]}": (
                rows[-1][1] / rows[-1][0] / (rows[0][1] / rows[0][0])
            )
            for family, rows in found.items()
        },
        table,
    )


if __name__ == "__main__":
    main()
