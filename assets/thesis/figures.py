"""Draw figures 15 to 21, 23, 25 and 26 of Paul (2020) anew, and a study over two lengths.

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
from scipy import optimize

import regularize as rg
from regularize.lie.arrays import Array
from regularize.loops.assembly import with_coordinates
from regularize.mechanism.graph import coordinate_names

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
MOTORS = ("q9", "q18", "q27")
#: Number of the first figure of section 5.4, samples and seconds. The suspension falls freely: its
#: arm turns back after 0.3 s, and from there on each value of its angle closes loops in two ways.
CLOSINGS = {"three_bar": (16, 51, 1.0), "five_point_suspension": (20, 21, 0.2)}


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


def closing(name: str, samples: int, duration: float) -> tuple[Array, dict[str, Array]]:
    """Section 5.4: how far two least squares closings are from Newton's along a motion.

    At each time the independent coordinates are held, and the others begin where they were before.

    Returns:
        Times (N,), and by method the dependent coordinates less those of Newton's, (N, dependent).
    """
    reduction = rg.reduce(closed(name), keep_cuts=True)
    free = ANSWERS[name].get("independent") or rg.partition(reduction).independent
    loops, known = reduction.loops, coordinate_names(reduction.mechanism)
    cut = {column for cut in reduction.cuts for column in cut.edge.columns}
    given = np.array([known[c] in free or int(c) in cut for c in loops.columns])
    _, q = simulated(reduction, duration, samples, known, rtol=1e-10)
    q = q[:, loops.columns]

    def gaps(x: Array, held: Array) -> Array:
        """What is missing between both sides of each cut, which are points."""
        full = np.array(held)
        full[~given] = x
        return loops.residual(loops.state(full[None]))[0].reshape(-1, 6)[:, :3].ravel()

    exact = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    simplex = {"xatol": 1e-11, "fatol": 1e-24, "adaptive": True, "maxfev": 100_000}
    errors: dict[str, list[Array]] = {"fminsearch": [], "lsqnonlin": []}
    before = dict.fromkeys(errors, q[0, ~given])
    for now in q:
        for method in errors:
            if method == "lsqnonlin":
                found = optimize.least_squares(gaps, before[method], args=(now,), **exact)
            else:
                found = optimize.minimize(
                    lambda x, held=now: float(np.sum(gaps(x, held) ** 2)),
                    before[method],
                    method="Nelder-Mead",
                    options=simplex,
                )
            before[method] = found.x
            errors[method].append(found.x - now[~given])
    return np.linspace(0.0, duration, samples), {m: np.array(e) for m, e in errors.items()}


def lengths(bars: Sequence[float] = (0.4, 0.45, 0.5, 0.55), body1: Sequence[float] = (0.5,)) -> Any:
    """Section 4.1: what of the second bar is redundant while it is as long as the others, or not.

    ``.save`` writes the table, ``.plot`` a curve over one parameter or a map over two.
    """
    given = {"body4.length": bars, **({"body1.length": body1} if len(body1) > 1 else {})}
    return rg.sweep(closed("redundant_four_bar"), given)


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


def plot(
    path: Path,
    title: str,
    t: Array,
    curves: Array,
    labels: Sequence[str],
    what: str = "angle [rad]",
) -> None:
    """Angles through time, or something else."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for curve, label in zip(curves.T, labels, strict=True):
        axes.plot(t, curve, label=label)
    axes.set(title=title, xlabel="time [s]", ylabel=what)
    axes.legend(loc="upper right")
    axes.grid(alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


def main(folder: Path) -> None:
    """Write the figures; 15, 18 and 19 are the models themselves."""
    folder.mkdir(parents=True, exist_ok=True)
    study = lengths(body1=(0.45, 0.5, 0.55))
    study.save(folder / "lengths.csv")
    study.plot(folder / "lengths.svg", "redundant")
    for name, (first, samples, duration) in CLOSINGS.items():
        t, errors = closing(name, samples, duration)
        for k, (method, found) in enumerate(errors.items()):
            labels = [f"{i + 1}" for i in range(found.shape[1])]
            path = folder / f"figure{first + k}.svg"
            plot(path, f"{name}: {method}", t, found, labels, "difference to Newton's")
    for numbers, name in (((15,), "three_bar"), ((18, 19), "five_point_suspension")):
        for number in numbers:
            rg.show(closed(name)).save(folder / f"figure{number}.svg")
    bars, eye = ("q1", "q2", "q3", "q4"), ("about X", "about Y", "about Z (vertical)")
    plot(folder / "figure23.svg", "Redundant four-bar", *oscillation(), bars)
    equal, unequal = (0.05, 0.05, 0.05), (0.05, 0.05, 0.02)
    plot(folder / "figure25.svg", "Agile Eye, equal torques", *orientation(equal), eye)
    plot(folder / "figure26.svg", "Agile Eye, unequal torques", *orientation(unequal), eye)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
