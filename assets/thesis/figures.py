"""Plot the simulations of Paul (2020): figures 23, 25 and 26.

    python assets/thesis/figures.py [FOLDER]

The thesis prints no torques; 0.05 N m at 1 Hz are taken here, and 0.02 N m for the third motor of
the second simulation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import regularize as rg
from regularize.lie.screw import Array
from regularize.loops.assembly import with_coordinates
from regularize.mechanism.graph import coordinate_names

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
MOTORS = ("q9", "q18", "q27")


def closed(name: str) -> rg.Mechanism:
    """A mechanism of the thesis, closed from its start values with the independents held."""
    mechanism = rg.load(str(HERE / f"{name}.urdf"))
    answer, names = ANSWERS[name], coordinate_names(mechanism)
    q = np.zeros(mechanism.freedoms)
    for joint, value in answer.get("start", {}).items():
        q[names.index(joint)] = value
    assembly = rg.assemble(mechanism, q, answer.get("independent", ()))
    return with_coordinates(mechanism, assembly.q)


def simulated(
    reduction: rg.Reduction, duration: float, samples: int, names: Sequence[str], **options: Any
) -> tuple[Array, Array]:
    """Times and joint coordinates of a motion in minimal coordinates, shapes (N,), (N, names)."""
    times = np.linspace(0.0, duration, samples)
    motion = rg.simulate(reduction, duration=duration, times=times, **options)
    return motion.time, motion.coordinates[:, [motion.names.index(name) for name in names]]


def oscillation(duration: float = 5.0) -> tuple[Array, Array]:
    """Section 6.1.3: times and q1 to q4 of the hanging four-bar."""
    reduction = rg.reduce(closed("redundant_four_bar"))
    solver = rg.Solver("minimal", independent=["q1"])
    return simulated(reduction, duration, 251, ("q1", "q2", "q3", "q4"), solver=solver)


def orientation(torques: Sequence[float], duration: float = 4.0) -> tuple[Array, Array]:
    """Section 6.2.3: times and the eye's three rotations under sinusoidal motor torques."""
    reduction = rg.reduce(closed("agile_eye"), keep_cuts=True)
    motors = {
        name: lambda t, torque=torque: torque * np.sin(2 * np.pi * t)
        for name, torque in zip(MOTORS, torques, strict=True)
    }
    solver = rg.Solver("minimal", independent=MOTORS)
    eye = ("q4", "q5", "q6")
    return simulated(reduction, duration, 201, eye, torques=motors, solver=solver)


def plot(path: Path, title: str, t: Array, curves: Array, labels: Sequence[str]) -> None:
    """Angles through time."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for curve, label in zip(curves.T, labels, strict=True):
        axes.plot(t, curve, label=label)
    axes.set(title=title, xlabel="time [s]", ylabel="angle [rad]")
    axes.legend(loc="upper right")
    axes.grid(alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


def main(folder: Path) -> None:
    """Write the three figures."""
    folder.mkdir(parents=True, exist_ok=True)
    bars, eye = ("q1", "q2", "q3", "q4"), ("about X", "about Y", "about Z (vertical)")
    plot(folder / "figure23.svg", "Redundant four-bar", *oscillation(), bars)
    equal, unequal = (0.05, 0.05, 0.05), (0.05, 0.05, 0.02)
    plot(folder / "figure25.svg", "Agile Eye, equal torques", *orientation(equal), eye)
    plot(folder / "figure26.svg", "Agile Eye, unequal torques", *orientation(unequal), eye)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
