#!/usr/bin/env python3
"""Motion along the path against all coordinates, under constant forces and under a changing torque.

    python tests/benchmarks/path_speed.py [--json]

Constant forces leave quadrature, a torque over time is for collocation. Both ways are asked for
errors of 1e-9, of which the path keeps a thousandth. The reduction is not counted; what is done
once per mechanism is counted where it says ``prepared``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from measuring import ASSETS, finish, timed

import regularize as rg

#: File, torque in N m at the first joint, its radians per second, and seconds of motion.
CASES = (
    ("benchmarks/bricard.json", 1.0, 3.0, 10.0),
    ("benchmarks/andrews.json", 0.033, 40.0, 0.1),
    ("benchmarks/n_fourbar_40.json", 5.0, 3.0, 1.0),
)
RUNS = 3


def seconds(path: rg.Path, actuation: object, duration: float) -> tuple[float, float]:
    """CPU time along the path, and in all coordinates."""
    options: dict[str, Any] = {
        "torques": {path.names[0]: actuation},
        "times": np.array([duration]),
    }
    mine, _ = timed(lambda: path.simulate(duration, **options), RUNS)
    return mine, timed(lambda: rg.simulate(path.robot, duration=duration, **options))[0]


def main() -> None:
    """Measure and print."""
    ratios = {}
    for file, torque, frequency, duration in CASES:
        robot = rg.to_pinocchio(rg.reduce(rg.load(ASSETS / file)))
        preparation, path = timed(partial(rg.path, robot, through=True), 2)

        def over_time(t: float, torque: float = torque, frequency: float = frequency) -> float:
            return torque * float(np.sin(frequency * t))

        for kind, actuation in (("constant torque", torque), ("torque over time", over_time)):
            mine, other = seconds(path, actuation, duration)
            name = f"{robot.reduction.mechanism.name}, {kind}: path instead of all"
            ratios[name] = other / mine
            ratios[f"{name}, prepared"] = other / (mine + preparation)
    finish(ratios)


if __name__ == "__main__":
    main()
