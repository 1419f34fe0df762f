#!/usr/bin/env python3
"""All benchmarks in one run: how many times as quick each is as its peer.

    python tests/benchmarks/all.py [--json | --markdown] [--against CHECKOUT] [SCRIPT ...]

Every script runs in a process of its own with one thread. With ``--against`` it runs on the package
of another checkout as well, and the last column says by what factor the ratio changed. A ratio
compares two ways within one process, so the machine plays no part in it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from measuring import of_process

HERE = Path(__file__).resolve().parent
SCRIPTS = sorted(HERE.glob("*_speed.py"))
THREADS = "1"


def ratios(script: Path, checkout: Path) -> tuple[dict[str, float], float]:
    """What a script measures on a checkout, and the CPU seconds that it takes to do so."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(threads, THREADS), "PYTHONPATH": str(checkout)}
    command = [sys.executable, str(script), "--json"]
    seconds, done = of_process(command, env=environment, cwd=checkout)
    if done.returncode:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        print(f"{script.stem} on {checkout}: {reason}", file=sys.stderr)
        return {}, seconds
    return json.loads(done.stdout), seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print; 1 where a script failed on this checkout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", action="store_true", help="print tables for the handbook")
    parser.add_argument("scripts", nargs="*", help="such as step_speed; by default all")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="measure this one too")
    options = parser.parse_args(arguments)
    checkouts = [HERE.parents[1], *([options.against.resolve()] if options.against else [])]
    results: dict[str, dict[str, list[float]]] = {}
    cpu: dict[str, list[float]] = {}
    for script in SCRIPTS:
        if options.scripts and script.stem not in options.scripts:
            continue
        found = [ratios(script, checkout) for checkout in checkouts]
        cpu[script.stem] = [seconds for _, seconds in found]
        results[script.stem] = {
            name: [values.get(name, float("nan")) for values, _ in found]
            for name in dict.fromkeys(name for values, _ in found for name in values)
        }
    machine = {
        "threads": int(THREADS),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "pin": version("pin"),
    }
    if options.json:
        print(json.dumps({**machine, "cpu_seconds": cpu, "ratios": results}))
    elif options.markdown:
        print(" · ".join(f"{key} {value}" for key, value in machine.items()))
        for stem, rows in results.items():
            print(f"\n| {stem.replace('_', ' ')} | times as quick |\n|---|---|")
            for name, values in rows.items():
                print(f"| {name} | {values[0]:.3g} |")
    else:
        print(" · ".join(f"{key} {value}" for key, value in machine.items()))
        heads = ["this", "other", "this/other"][: 1 if len(checkouts) == 1 else 3]
        for stem, rows in results.items():
            taken = " and ".join(f"{seconds:.0f} s" for seconds in cpu[stem])
            print(f"\n{f'{stem}, CPU time {taken}':66}" + "".join(f"{h:>11}" for h in heads))
            for name, values in rows.items():
                both = [*values, values[0] / values[-1]] if len(values) > 1 else values
                print(f"{name:66}" + "".join(f"{value:11.3g}" for value in both))
    return int(any(not rows for rows in results.values()))


if __name__ == "__main__":
    sys.exit(main())
