#!/usr/bin/env python3
"""Simulation in fewer coordinates against all coordinates of the tree.

    python tests/benchmarks/simulation_speed.py [--json]

Both keep an error of 1e-9 per step. The reduction is not counted, tables and partitions are.
"""

from __future__ import annotations

import numpy as np
from measuring import ASSETS, finish, timed

import regularize as rg

#: Mechanism, seconds, and the ways to integrate it.
CASES = {
    "n_fourbar_2": (2.0, ("minimal",)),
    "andrews": (0.05, ("minimal", "path")),
    "bricard": (10.0, ("minimal", "path")),
    "governor": (1.0, ("minimal",)),
}
RUNS = 2


def seconds(robot: rg.Robot, duration: float, coordinates: str) -> float:
    """CPU time of the simulation."""

    def run() -> rg.Simulation:
        times = np.array([duration])
        return rg.simulate(robot, duration=duration, times=times, coordinates=coordinates)

    return timed(run, RUNS)[0]


def main() -> None:
    """Measure and print."""
    ratios = {}
    for name, (duration, ways) in CASES.items():
        robot = rg.to_pinocchio(rg.reduce(rg.load(ASSETS / "benchmarks" / f"{name}.json")))
        everything = seconds(robot, duration, "all")
        for way in ways:
            ratios[f"{name}: coordinates {way} instead of all"] = everything / seconds(
                robot, duration, way
            )
    finish(ratios)


if __name__ == "__main__":
    main()
