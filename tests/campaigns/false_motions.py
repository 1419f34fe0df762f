"""Random networks of bars at all tolerances: does any motion go wrong without saying so?

python false_motions.py 2000
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import regularize as rg

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
from families import FAMILIES

#: Families and numbers of their loops.
CASES = (("windows", 2), ("windows", 5), ("scissor", 3), ("comb", 3), ("tree", 3))
TOLERANCES = (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
#: Error by what the tolerance becomes in regular motions, and part of the energy that may be lost.
WRONG, LOST = 1e4, 1e-2


def off(rng: np.random.Generator, size: float) -> np.ndarray:
    """A random vector in the plane."""
    return size * rng.standard_normal(3) * [1, 0, 1]


def network(family: str, loops: int, seed: int) -> rg.Mechanism:
    """Bars in general position with random masses, in the plane in which gravity pulls."""
    rng = np.random.default_rng([seed, loops, sum(map(ord, family))])
    joints, corners = [], dict[str, list[np.ndarray]]()
    plain = FAMILIES[family](loops)
    for joint in plain.joints:
        x, z, _ = joint.T_parent_joint[:3, 3]
        point, ends = np.array([x, 0.0, z]) + off(rng, 0.1), (joint.parent, joint.child)
        joints.append(rg.Joint.in_world(joint.name, *ends, "revolute", (0, 1, 0), point))
        for body in ends:
            corners.setdefault(body, []).append(point)
    made = rg.Mechanism.of_joints(f"{family} of {loops}", joints)
    bodies = []
    for body in made.bodies:
        if body.name == "ground":
            bodies.append(body)
            continue
        points = np.array(corners[body.name])
        mass, length = rng.uniform(0.5, 2.0), max(float(np.ptp(points, axis=0).max()), 0.1)
        centre = points.mean(axis=0) + off(rng, 0.05)
        turned = mass * length**2 / 12 * np.eye(3)
        bodies.append(rg.Body(body.name, rg.Inertia(mass, centre, turned)))
    return replace(made, bodies=tuple(bodies))


def judged(robot: rg.Robot, duration: float) -> Iterator[tuple[float, str]]:
    """Each tolerance with what is wrong with its motion: nothing, or a sentence."""
    times = np.linspace(0.0, duration, 21)
    finest, fine = (
        rg.simulate(robot, duration=duration, times=times, rtol=rtol) for rtol in (1e-12, 1e-11)
    )
    # By how much errors grow on the way; where that is much, the end is not determined.
    growth = max(1.0, float(np.abs(fine.q - finest.q).max()) / 1e-11)
    energies = [robot.energies(q, v) for q, v in zip(finest.q, finest.v, strict=True)]
    kinetic = max(energy[0] for energy in energies)
    for rtol in TOLERANCES:
        try:
            motion = rg.simulate(robot, duration=duration, times=times, rtol=rtol)
        except rg.RegularizeError as error:
            yield rtol, f"{type(error).__name__}: {error}, where a tighter one goes on"
            continue
        said = any(finding.severity == "error" for finding in motion.findings)
        wrong, away = "", float(np.abs(motion.q - finest.q).max())
        if not np.isfinite(motion.q).all():
            wrong = "numbers that are none"
        elif motion.energy_drift > LOST * kinetic or motion.closure_drift > 1e-9:
            wrong = f"{motion.energy_drift:.2g} of {kinetic:.2g} J, open {motion.closure_drift:.2g}"
        elif away > WRONG * growth * rtol + 1e-6 and WRONG * growth * rtol < 0.1:
            wrong = f"{away:.2g} rad away"
        yield rtol, "" if said else wrong


def survey(count: int, duration: float = 2.0) -> tuple[int, list[str]]:
    """Number of motions computed, and what was wrong with some of them."""
    done, seed, wrong = 0, 0, list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while done < count:
            for family, loops in CASES:
                robot = rg.to_pinocchio(rg.reduce(network(family, loops, seed)))
                for rtol, what in judged(robot, duration):
                    done += 1
                    if what:
                        wrong.append(f"{family} of {loops}, seed {seed}, rtol {rtol:g}: {what}")
                if done >= count:
                    break
            seed += 1
    return done, wrong


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("motions", type=int, nargs="?", default=2000)
    parser.add_argument("--duration", type=float, default=2.0, help="of each, in seconds")
    options = parser.parse_args()
    done, wrong = survey(options.motions, options.duration)
    print(f"{done} motions, {len(wrong)} false without an error", *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
