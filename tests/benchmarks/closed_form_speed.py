#!/usr/bin/env python3
"""Closed form against MINPACK in one run.

    python tests/benchmarks/closed_form_speed.py

300,000 positions of the wheel suspension of Klein and Kecskeméthy (their table 3: 13 s in closed
form by projections, 47 s by iteration). MINPACK's ``hybr`` gets the planar closure equations and
their Jacobian written by hand, tolerance 1e-8, and the neighbouring solution as its start, so that
nothing but the method is compared; it finds one configuration. Absolute times depend on the
machine: read the ratios.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from math import cos, sin
from pathlib import Path

import numpy as np
from scipy.optimize import root

from regularize.assembly_modes.closed_form import ClosedForm, closed_form

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from closed_form_cases import CASES, wheel_suspension

SAMPLES = 300_000
RUNS = 7
A, B, C, D = 1.46 - 0.62, 0.12, 0.85, 0.13


def equations(x: np.ndarray, lin: float) -> list[float]:
    """The loop in the plane: y, z and the angle seen around it."""
    a, ab = x[0], x[0] + x[1]
    return [
        A * cos(a) - B * sin(a) - C * cos(ab) - D * sin(ab),
        A * sin(a) + B * cos(a) - C * sin(ab) + D * cos(ab) + lin,
        ab + x[2],
    ]


def jacobian(x: np.ndarray, lin: float) -> list[list[float]]:
    """Its derivatives."""
    a, ab = x[0], x[0] + x[1]
    dy, dz = C * sin(ab) - D * cos(ab), -C * cos(ab) - D * sin(ab)
    return [
        [-A * sin(a) - B * cos(a) + dy, dy, 0.0],
        [A * cos(a) - B * sin(a) + dz, dz, 0.0],
        [1.0, 1.0, 1.0],
    ]


def best(ways: dict[str, tuple[Callable[[], object], int]]) -> dict[str, float]:
    """Shortest time of several runs, per solution; the ways take turns on the same machine."""
    seconds = dict.fromkeys(ways, np.inf)
    for _ in range(RUNS):
        for name, (run, count) in ways.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], (time.perf_counter() - start) / count)
    return seconds


def measure(solution: ClosedForm, samples: int = SAMPLES, calls: int = 2_000) -> dict[str, float]:
    """Seconds per solution of each way, of the wheel suspension."""
    lin = np.linspace(0.15, 0.45, samples)
    some = lin[:: samples // calls].tolist()
    found = solution.solve(lin)
    assert found.assembled.all()

    def one_at_a_time(branch: int | None) -> Callable[[], None]:
        def run() -> None:
            for value in some:
                solution.solve(value, branch)

        return run

    def iterated() -> None:
        x = found.q[0, 0, :3]
        for value in some:
            result = root(equations, x, args=(value,), jac=jacobian, method="hybr", tol=1e-8)
            assert result.success
            x = result.x

    return best(
        {
            "closed form, vectorised, both branches": (lambda: solution.solve(lin), samples),
            "closed form, vectorised, one branch": (lambda: solution.solve(lin, 0), samples),
            "closed form, one call at a time, both branches": (one_at_a_time(None), len(some)),
            "closed form, one call at a time, one branch": (one_at_a_time(0), len(some)),
            "MINPACK hybr, analytic Jacobian, one branch": (iterated, len(some)),
        }
    )


def main() -> None:
    """Measure and print."""
    mechanism, inputs = wheel_suspension()
    start = time.perf_counter()
    solution = closed_form(mechanism, inputs)
    solution.solve(0.2)
    if "--json" in sys.argv:
        print(json.dumps(measure(solution)))
        return
    print(f"solution found and compiled in {1e3 * (time.perf_counter() - start):.0f} ms")
    print(f"{solution.operations}")
    print("published additions and multiplications: 236, 307 by projections; 69, 78 symbolic")
    seconds = measure(solution)
    iterative = seconds["MINPACK hybr, analytic Jacobian, one branch"]
    for name, each in seconds.items():
        print(f"{name:48}{each * SAMPLES:9.3f} s for {SAMPLES}{iterative / each:9.1f} x")
    print(f"\n{'mechanism':30}{'branches':>9}{'operations':>12}{'µs each':>9}")
    for name, ((mechanism, inputs), branches) in CASES.items():
        solution = closed_form(mechanism, inputs)
        x = np.random.default_rng(0).uniform(-0.2, 0.2, size=(20_000, len(solution.inputs)))
        (each,) = best({name: (lambda s=solution, x=x: s.solve(x), len(x))}).values()
        print(f"{name:30}{branches:9}{solution.operations.total:12}{1e6 * each:9.2f}")


if __name__ == "__main__":
    main()
