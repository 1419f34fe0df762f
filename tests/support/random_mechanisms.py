"""Random mechanisms made of chains that stay in a random group of rigid motions each.

All bodies have frames that coincide with the world at the reference pose, so every chain between
two bodies fits as it is: what is drawn is assembled.
"""

from __future__ import annotations

import numpy as np
from screws import unit

import regularize as rg

#: Groups and their dimensions.
GROUPS = {
    "planar": 3,
    "spherical": 3,
    "Schoenflies": 4,
    "cylindrical": 2,
    "translations": 3,
    "translations in a plane": 2,
    "revolute": 1,
    "full": 6,
}

#: Motion of one joint: kind, axis, point and pitch.
Motion = tuple[str, np.ndarray, np.ndarray, float]


def directions(rng: np.random.Generator) -> np.ndarray:
    """A direction: usually one of the three axes, so that chains meet in special ways."""
    if rng.random() < 0.6:
        return np.asarray(np.eye(3)[rng.integers(3)])
    return unit(rng.normal(size=3))


def chain_in_group(group: str, length: int, rng: np.random.Generator) -> list[Motion]:
    """Joints whose motions all lie in one group of the given name."""
    n, center = directions(rng), rng.uniform(-1, 1, size=3)
    if rng.random() < 0.3:
        center = np.round(center)
    motions: list[Motion] = []
    for _ in range(length):
        somewhere = rng.uniform(-1, 1, size=3)
        any_axis = unit(rng.normal(size=3))
        across = unit(np.cross(n, any_axis))
        slides = rng.random() < 0.3
        if group == "planar":
            motion = ("prismatic", across) if slides else ("revolute", n)
            motions.append((*motion, somewhere, 0.0))
        elif group == "spherical":
            motions.append(("revolute", any_axis, center, 0.0))
        elif group == "Schoenflies":
            if slides:
                motions.append(("prismatic", any_axis, somewhere, 0.0))
            elif rng.random() < 0.3:
                motions.append(("helical", n, somewhere, float(rng.uniform(-0.3, 0.3))))
            else:
                motions.append(("revolute", n, somewhere, 0.0))
        elif group == "cylindrical":
            motions.append(("prismatic" if slides else "revolute", n, center, 0.0))
        elif group == "translations":
            motions.append(("prismatic", any_axis, somewhere, 0.0))
        elif group == "translations in a plane":
            motions.append(("prismatic", across, somewhere, 0.0))
        elif group == "revolute":
            motions.append(("revolute", n, center, 0.0))
        else:
            motions.append(("revolute", any_axis, somewhere, 0.0))
    return motions


def path(length: int, rng: np.random.Generator) -> list[Motion]:
    """About so many joints in one to three groups."""
    motions: list[Motion] = []
    while len(motions) < length:
        group = [*GROUPS][rng.integers(len(GROUPS))]
        most = min(GROUPS[group] + 1, length - len(motions))
        motions += chain_in_group(group, int(rng.integers(1, most + 1)), rng)
    return motions


def connect(
    motions: list[Motion], start: str, end: str, tag: str, rng: np.random.Generator
) -> list[rg.Joint]:
    """Joints for the motions, one after another between two bodies."""
    bodies = [start, *(f"{tag} body {i}" for i in range(1, len(motions))), end]
    joints = []
    for i, (kind, axis, point, pitch) in enumerate(motions):
        a, b = bodies[i], bodies[i + 1]
        if rng.random() < 0.3:
            a, b = b, a
        joints.append(rg.Joint.in_world(f"{tag}{i + 1}", a, b, kind, axis, point, pitch=pitch))
    return joints


def random_single_loop(rng: np.random.Generator) -> rg.Mechanism:
    """A loop of three to nine joints."""
    motions = path(int(rng.integers(3, 10)), rng)
    joints = connect(motions, "ground", "ground", "a", rng)
    return rg.Mechanism.of_joints("loop", joints, ground="ground")


def random_legs(rng: np.random.Generator) -> rg.Mechanism:
    """A platform on two to four legs of two to six joints; some legs are like each other."""
    joints: list[rg.Joint] = []
    motions: list[Motion] = []
    for tag in "abcd"[: rng.integers(2, 5)]:
        if not motions or rng.random() < 0.7:
            motions = path(int(rng.integers(2, 7)), rng)
        else:
            turn = np.eye(3)[[1, 2, 0]]
            motions = [(kind, turn @ axis, turn @ point, h) for kind, axis, point, h in motions]
        joints += connect(motions, "ground", "platform", tag, rng)
    return rg.Mechanism.of_joints("legs", joints, ground="ground")


def random_network(rng: np.random.Generator) -> rg.Mechanism:
    """A loop with one or two further chains between any of its bodies."""
    joints = connect(path(int(rng.integers(4, 8)), rng), "ground", "ground", "a", rng)
    for tag in "bc"[: rng.integers(1, 3)]:
        bodies = sorted({body for joint in joints for body in (joint.parent, joint.child)})
        start, end = rng.choice(bodies, size=2, replace=False)
        motions = path(int(rng.integers(2, 6)), rng)
        joints += connect(motions, str(start), str(end), tag, rng)
    return rg.Mechanism.of_joints("network", joints, ground="ground")
