#!/usr/bin/env python3
"""Write the multibody benchmark problems of this folder.

    python assets/benchmarks/make_benchmarks.py [FOLDER]

Rigid bodies and joints only; springs and drives are forces of the simulation. Known answers are in
``answers.json``, which is written by hand from the literature.

- ``n_fourbar_2``, ``n_fourbar_40``, ``bricard``: problems A02 and A04 of the IFToMM library of
  computational benchmark problems.
- ``andrews``: Andrews' squeezer, problem A03 (data of Hairer and Wanner, Solving ODEs II, VII.7).
- ``governor``: flyball governor after problem A05, its springs replaced by rigid rods.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from regularize.adapters.native import write
from regularize.lie.arrays import Array
from regularize.mechanism.body import Inertia
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism, mechanism_of
from regularize.mechanism.mechanism import joint_in_world as joint

DOWN = (0.0, -9.81, 0.0)
X, Y, Z = np.eye(3)
#: Data of Andrews' squeezer in metres, kilograms and kg m².
SQUEEZER = json.loads((Path(__file__).parent / "andrews_data.json").read_text())


def rod(start: Iterable[float], end: Iterable[float], mass: float, width: float = 0.0) -> Inertia:
    """A homogeneous rod of square section between two points."""
    a, b = np.array([*start], dtype=float), np.array([*end], dtype=float)
    length = float(np.linalg.norm(b - a))
    along = np.outer(b - a, b - a) / length**2
    across = mass * (length**2 + width**2) / 12
    matrix = across * (np.eye(3) - along) + mass * width**2 / 6 * along
    return Inertia(mass, (a + b) / 2, matrix)


def with_masses(
    name: str, joints: list[Joint], masses: Mapping[str, Inertia], gravity: tuple[float, ...]
) -> Mechanism:
    """A mechanism whose bodies have the given inertias; the ground is called ``ground``."""
    mechanism = mechanism_of(name, joints, ground="ground", gravity=np.array(gravity))
    bodies = tuple(replace(body, inertia=masses.get(body.name)) for body in mechanism.bodies)
    return replace(mechanism, bodies=bodies)


def n_fourbar(windows: int) -> Mechanism:
    """N square windows of rods of 1 m and 1 kg, cranks upright."""
    joints, masses = [], {}
    for k in range(windows + 1):
        joints.append(joint(f"A{k}", "ground", f"crank_{k}", "revolute", Z, (k, 0, 0)))
        masses[f"crank_{k}"] = rod((k, 0, 0), (k, 1, 0), 1.0)
    for k in range(windows):
        joints += [
            joint(f"B{k}", f"crank_{k}", f"rod_{k}", "revolute", Z, (k, 1, 0)),
            joint(
                f"C{k}", f"rod_{k}", f"crank_{k + 1}", "revolute", Z, (k + 1, 1, 0), closure=True
            ),
        ]
        masses[f"rod_{k}"] = rod((k, 1, 0), (k + 1, 1, 0), 1.0)
    return with_masses(f"n_fourbar_{windows}", joints, masses, DOWN)


def bricard() -> Mechanism:
    """Five rods of 1 m, 1 kg and 0.1 m width with six orthogonal hinges."""
    points = np.array(
        [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float
    )
    bodies = ["ground", *(f"rod_{k}" for k in range(1, 6)), "ground"]
    joints = [
        joint(f"P{k}", bodies[k], bodies[k + 1], "revolute", axis, points[k], closure=k == 5)
        for k, axis in enumerate((Y, Z, X, Y, Z, X))
    ]
    masses = {f"rod_{k}": rod(points[k - 1], points[k], 1.0, 0.1) for k in range(1, 6)}
    return with_masses("bricard", joints, masses, DOWN)


def squeezer_points(angles: Mapping[str, float]) -> dict[str, Array]:
    """Joints, centres of mass and the spring's end for the seven angles of the literature."""
    s = SQUEEZER["lengths"]
    a, b = np.array(SQUEEZER["A"]), np.array(SQUEEZER["B"])

    def turned(angle: float, x: float, y: float) -> Array:
        return np.array(
            [x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)]
        )

    crank, gamma = angles["beta"], angles["gamma"] - np.pi / 2
    arm, delta, epsilon = crank + angles["theta"], angles["delta"], angles["epsilon"] - np.pi / 2
    rocker = angles["phi"] + delta - np.pi / 2
    link = angles["omega"] + angles["epsilon"]
    f = turned(crank, s["rr"], 0.0)
    e = f - turned(arm, s["d"], 0.0)
    g = a + turned(delta, s["zt"], 0.0)
    h = a + turned(epsilon, s["u"], 0.0)
    planar = {
        "O": np.zeros(2),
        "A": a,
        "B": b,
        "C": np.array(SQUEEZER["C"]),
        "D": b + turned(gamma, s["sc"], s["sd"]),
        "E": e,
        "F": f,
        "G": g,
        "H": h,
        "K1": turned(crank, s["ra"], 0.0),
        "K2": f - turned(arm, s["da"], 0.0),
        "K3": b + turned(gamma, s["sa"], s["sb"]),
        "K4": g + turned(rocker, s["e"] - s["ea"], 0.0),
        "K5": a + turned(delta, s["ta"], s["tb"]),
        "K6": h + turned(link, s["zf"] - s["fa"], 0.0),
        "K7": a + turned(epsilon, s["ua"], -s["ub"]),
    }
    return {name: np.append(point, 0.0) for name, point in planar.items()}


def andrews() -> Mechanism:
    """Andrews' squeezer at its start; K1 to K7 in the order of the literature."""
    p = squeezer_points(SQUEEZER["start"])
    hinges = [
        ("beta", "ground", "K1", "O"),
        ("theta", "K1", "K2", "F"),
        ("E3", "K2", "K3", "E"),
        ("gamma", "ground", "K3", "B"),
        ("E4", "K2", "K4", "E"),
        ("phi", "K5", "K4", "G"),
        ("delta", "ground", "K5", "A"),
        ("E6", "K2", "K6", "E"),
        ("omega", "K7", "K6", "H"),
        ("epsilon", "ground", "K7", "A"),
    ]
    joints = [
        joint(name, parent, child, "revolute", Z, p[at], closure=name.startswith("E"))
        for name, parent, child, at in hinges
    ]
    masses = {}
    for k, (mass, inertia) in enumerate(
        zip(SQUEEZER["masses"], SQUEEZER["inertias"], strict=True), start=1
    ):
        # Only the inertia about the normal of the plane is given, and only it matters.
        masses[f"K{k}"] = Inertia(mass, p[f"K{k}"], inertia * np.eye(3))
    return with_masses("andrews", joints, masses, (0.0, 0.0, 0.0))


def governor() -> Mechanism:
    """A shaft along Y, two arms with balls, and rods to a slider; arms at 30 degrees."""
    density, angle = 3000.0, np.pi / 6
    joints = [joint("shaft", "ground", "spindle", "revolute", Y)]
    middle = np.array([0.0, -np.cos(angle), 0.0])
    joints.append(joint("slide", "spindle", "slider", "prismatic", Y, middle))
    masses = {
        "spindle": rod((0, 0, 0), (0, -1, 0), density * 1e-4, 0.01),
        "slider": Inertia(density * 1e-3, middle, density * 1e-3 * 0.01 / 6 * np.eye(3)),
    }
    for side, sign in (("left", -1.0), ("right", 1.0)):
        ball = np.array([sign * np.sin(angle), -np.cos(angle), 0.0])
        joints += [
            joint(f"{side}_arm", "spindle", f"arm_{side}", "revolute", Z),
            joint(f"{side}_rod", f"arm_{side}", f"rod_{side}", "revolute", Z, ball / 2),
            joint(f"{side}_pin", f"rod_{side}", "slider", "revolute", Z, middle, closure=True),
        ]
        arm = rod((0, 0, 0), ball, density * 1e-4, 0.01)
        masses[f"arm_{side}"] = Inertia.total([arm, Inertia(5.0, ball, np.zeros((3, 3)))])
        masses[f"rod_{side}"] = rod(ball / 2, middle, density * 0.5e-4, 0.01)
    return with_masses("governor", joints, masses, DOWN)


def main(folder: Path) -> None:
    """Write every model."""
    for mechanism in (n_fourbar(2), n_fourbar(40), bricard(), andrews(), governor()):
        write(mechanism, str(folder / f"{mechanism.name}.json"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
