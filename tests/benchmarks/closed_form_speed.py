#!/usr/bin/env python3
"""Closed form against MINPACK in one run.

    python tests/benchmarks/closed_form_speed.py [--json]

300,000 positions of the wheel suspension of Klein and Kecskeméthy (their table 3: 13 s in closed
form by projections, 47 s by iteration). MINPACK's ``hybr`` gets the planar closure equations and
their Jacobian written by hand, tolerance 1e-8, and the neighbouring solution as its start, so that
nothing but the method is compared; it finds one configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np
from measuring import CHECKOUT, finish, per_item
from scipy.optimize import root

import regularize as rg

sys.path.insert(0, str(CHECKOUT / "tests" / "support"))
from closed_form_cases import wheel_suspension

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


def measure(solution: Any, samples: int = SAMPLES, calls: int = 2_000) -> dict[str, float]:
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

    return per_item(
        {
            "closed form, vectorised, both branches": (lambda: solution.solve(lin), samples),
            "closed form, vectorised, one branch": (lambda: solution.solve(lin, 0), samples),
            "closed form, one call at a time, both branches": (one_at_a_time(None), len(some)),
            "closed form, one call at a time, one branch": (one_at_a_time(0), len(some)),
            "MINPACK hybr, analytic Jacobian, one branch": (iterated, len(some)),
        },
        RUNS,
    )


def main() -> None:
    mechanism, inputs = wheel_suspension()
    solution = rg.closed_form(mechanism, inputs)
    solution.solve(0.2)
    seconds = measure(solution)
    iterative = seconds.pop("MINPACK hybr, analytic Jacobian, one branch")

    def table() -> None:
        print(solution.operations)
        print("published additions and multiplications: 236, 307 by projections; 69, 78 symbolic")
        for name, each in seconds.items():
            print(f"{name:48}{each * SAMPLES:9.3f} s for {SAMPLES}")

    finish({name: iterative / each for name, each in seconds.items()}, table)


if __name__ == "__main__":
    main()
