"""Prints what is said of special mechanisms whose joints are off: a line each, a column a decade.

Usage: ``python noise_table.py [--noise 1e-6,1e-4] [--seeds 2] [NAME …]``. The frames of every
joint are moved and turned at random; the noise is the standard deviation of each component, in
sizes of the mechanism and radians. ``kept``: the written geometry is told to move as the exact one
does. A number: it is told to move so as designed, and this is the distance in units of the noise.
``said``: undecided, with a finding that says so. ``WRONG``: anything else; the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import rooms  # noqa: F401

import mechanisms
import numpy as np
from mechanisms import Z

import regularize as rg
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.graph_building import build
from regularize.repair.nominal.nearest import JointPlaces
from regularize.report.nearly import NearlySpecial, nearly_special

ASSETS = Path(__file__).resolve().parents[2] / "assets"
DECADES = tuple(10.0**k for k in range(-9, -1))
#: Findings that say that the rank, or what moves, is not decided, or by how much loops stay open:
#: of those no mobility is told.
UNDECIDED = {"REG205", "REG217", "REG223"}


def schmidt() -> rg.Mechanism:
    """Three discs between two shafts that are parallel, three equal cranks between each two."""
    first, second = np.array([0.3, 0.8, 0.0]), np.array([0.7, -0.5, 0.0])
    centers = [np.zeros(3), first, first + second]
    joints = [
        rg.Joint.in_world("in", "ground", "disc 0", "revolute", Z, centers[0]),
        rg.Joint.in_world("out", "disc 2", "ground", "revolute", Z, centers[2]),
    ]
    for k in range(2):
        for i in range(3):
            turn = 2.0 * np.pi * i / 3 + 0.2
            pin = centers[k] + 0.9 * np.array([np.cos(turn), np.sin(turn), 0.0])
            crank, other = f"crank {k}{i}", pin + centers[k + 1] - centers[k]
            joints += [
                rg.Joint.in_world(f"A{k}{i}", f"disc {k}", crank, "revolute", Z, pin),
                rg.Joint.in_world(f"B{k}{i}", crank, f"disc {k + 1}", "revolute", Z, other),
            ]
    return rg.Mechanism.of_joints("Schmidt coupling", joints)


def nearly(reduction: rg.Reduction) -> list[NearlySpecial]:
    """The special positions of axes that a reduction's loops are near."""
    return [s for part in reduction.parts for s in nearly_special(reduction.graph, part)]


def asset(path: str) -> Callable[[], rg.Mechanism]:
    """A model of the repository."""
    return lambda: rg.load(ASSETS / path)


MECHANISMS: dict[str, Callable[[], rg.Mechanism]] = {
    "planar_fourbar": mechanisms.planar_fourbar,
    "spherical_fourbar": mechanisms.spherical_fourbar,
    "slider_crank": mechanisms.slider_crank,
    "bennett": mechanisms.bennett,
    "bricard": mechanisms.bricard,
    "goldberg_5r": asset("goldberg_5r.urdf"),
    "goldberg_6r": asset("goldberg_6r.urdf"),
    "myard_5r": asset("mobility/myard_5r.urdf"),
    "waldron_6r": asset("waldron_6r.urdf"),
    "schatz": asset("schatz.urdf"),
    "sarrus": mechanisms.sarrus,
    "three_leg_sarrus": asset("three_leg_sarrus.urdf"),
    "double_sarrus": asset("double_sarrus.urdf"),
    "three_prrr": mechanisms.three_prrr,
    "agile_eye": asset("thesis/agile_eye.urdf"),
    "three_cranks": mechanisms.three_cranks,
    "roberval_balance": asset("roberval_balance.urdf"),
    "focal_mechanism": asset("focal_mechanism.urdf"),
    "delta_parallelograms": asset("delta_parallelograms.urdf"),
    "schmidt": schmidt,
}


def size(mechanism: rg.Mechanism) -> float:
    """What lengths are measured in, metres."""
    graph = build(mechanism)
    return sized_loops(graph, rg.assemble(graph).q).length


def noisy(mechanism: rg.Mechanism, noise: float, seed: int = 0) -> rg.Mechanism:
    """Every joint frame on every body moved and turned at random."""
    graph = build(mechanism)
    q = rg.assemble(graph).q
    loops = sized_loops(graph, q)
    places = JointPlaces(loops, loops.state(q[loops.columns]))
    moves = np.random.default_rng(seed).normal(size=12 * len(places.joints))
    return places.moved(mechanism, noise * moves)


def in_one_centre(mechanism: rg.Mechanism, off: float) -> rg.Mechanism:
    """A spherical mechanism with all frames in its centre, but for errors (standard deviation)."""
    graph = build(mechanism)
    q = rg.assemble(graph).q
    loops = sized_loops(graph, q)
    frames = loops.state(q).T_world_node[0][loops._parent] @ loops.T_parent
    axes = frames[:, :3, :3] @ np.array([e.screws[3:].sum(axis=1) for e in graph.edges])[..., None]
    across = np.eye(3) - axes @ np.swapaxes(axes, 1, 2)
    points = (across @ frames[:, :3, 3:]).ravel()
    center = np.linalg.lstsq(np.vstack(list(across)), points)[0]
    rng, joints = np.random.default_rng(0), []
    for joint, T in zip(mechanism.joints, frames, strict=True):
        moved = []
        for frame in (joint.T_parent_joint, joint.T_child_joint):
            own = np.array(frame)
            own[:3, 3] += own[:3, :3] @ T[:3, :3].T @ (center - T[:3, 3])
            own[:3, 3] = own[:3, 3].round(12) + off * rng.normal(size=3)
            moved.append(own)
        joints.append(replace(joint, T_parent_joint=moved[0], T_child_joint=moved[1]))
    return replace(mechanism, joints=tuple(joints))


def outcome(mechanism: rg.Mechanism, exact: rg.Reduction, noise: float, length: float) -> str:
    """What a report says of a mechanism that is off by so much."""
    report = rg.check(mechanism, configurations=10)
    written, meant = report.reduction, report.meant
    if meant is not None:
        translation, rotation = meant.distance
        ratio = max(translation / length, rotation) / noise
        right = _moves(meant.reduction, exact) and 1 / 3 <= ratio <= 3
        moved = f"{meant.reduction.mobility}/{meant.reduction.finite_mobility}"
        return f"{ratio:.2g}" if right else f"WRONG {moved} {ratio:.2g}"
    if _moves(written, exact):
        return "kept"
    if UNDECIDED & {d.code for d in report.diagnostics}:
        return "said"
    return f"WRONG {written.mobility}/{written.finite_mobility}"


def _moves(one: rg.Reduction, other: rg.Reduction) -> bool:
    return (one.mobility, one.finite_mobility) == (other.mobility, other.finite_mobility)


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--noise", default=",".join(map(str, DECADES)))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("names", nargs="*", default=[])
    options = parser.parse_args(arguments)
    decades = [float(part) for part in options.noise.split(",")]
    total: Counter[str] = Counter()
    print(f"{'':22}" + "".join(f"{noise:>12.0e}" for noise in decades))
    for name in options.names or MECHANISMS:
        mechanism = MECHANISMS[name]()
        exact, length = rg.reduce(mechanism), size(mechanism)
        for seed in range(options.seeds):
            print(f"{name:22}", end="", flush=True)
            began = time.perf_counter()
            for noise in decades:
                said = outcome(noisy(mechanism, noise, seed), exact, noise, length)
                kind = said.split()[0] if said[0].isalpha() else "as designed"
                total[kind] += 1
                print(f"{said:>12}", end="", flush=True)
            print(f"{time.perf_counter() - began:8.1f} s", flush=True)
    print(", ".join(f"{kind}: {count}" for kind, count in total.items()))
    return int(total["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
