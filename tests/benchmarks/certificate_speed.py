#!/usr/bin/env python3
"""Certificates of many configurations: solved in closed form against walked to.

    python tests/benchmarks/certificate_speed.py [COUNT]

The whole reduction is timed, the search for the closed form included. Absolute times depend on the
machine: read the ratios.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

import regularize as rg
from regularize.reduction import certificate

ASSETS = Path(__file__).resolve().parents[2] / "assets"
MODELS = ("planar_fourbar", "knee_leg", "sarrus", "spherical_9r")
RUNS = 2


def seconds(name: str, count: int, threshold: int) -> float:
    """Time of one reduction; ``threshold`` is from where on a closed form is looked for."""
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    usual, certificate.MANY = certificate.MANY, threshold
    start = time.perf_counter()
    reduction = rg.reduce(mechanism, configurations=count)
    taken = time.perf_counter() - start
    certificate.MANY = usual
    assert reduction.certificate.holds
    assert bool(reduction.certificate.solved) == (threshold == usual)
    return taken


def main() -> None:
    """Print how many times faster each model is reduced with its closed form."""
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    count = numbers[0] if numbers else 10_000
    ratios = {}
    for name in MODELS:
        walked = solved = np.inf
        for _ in range(RUNS):
            walked = min(walked, seconds(name, count, sys.maxsize))
            solved = min(solved, seconds(name, count, certificate.MANY))
        ratios[name] = walked / solved
    if "--json" in sys.argv:
        print(json.dumps(ratios))
        return
    for name, ratio in ratios.items():
        print(f"{name:24} {count} configurations: {ratio:.1f} times faster in closed form")


if __name__ == "__main__":
    main()
