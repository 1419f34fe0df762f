"""Parallel robots of the literature, and towers of linkages, with their mobility."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import screws
from mechanisms import X, Y, Z, leg

import regularize as rg

ASSETS = Path(__file__).parents[2] / "assets"


def turned(v: np.ndarray, angle: float) -> np.ndarray:
    """A vector turned about Z."""
    return np.asarray(screws.exp(angle * screws.revolute(Z))[:3, :3] @ v)


def hinge(name: str, parent: str, child: str, point: np.ndarray, axis: np.ndarray) -> rg.Joint:
    return rg.Joint.in_world(name, parent, child, "revolute", axis, point)


def parallelogram_leg(
    tag: str, platform: str, wrist: np.ndarray, along: np.ndarray, first: str
) -> list[rg.Joint]:
    """Motor, hinge, parallelogram of four hinges, hinge; all axes but those of the bars along."""
    out = np.cross(along, Z)
    base, elbow = wrist + 0.25 * out + 0.35 * Z, wrist + 0.3 * out + 0.2 * Z
    half = 0.05 * along
    across = np.cross(wrist - elbow, along)
    across = across / np.linalg.norm(across)
    arm, upper, lower = f"{tag} arm", f"{tag} upper", f"{tag} lower"
    return [
        rg.Joint.in_world(
            f"{tag}M", "ground", arm, first, along if first == "revolute" else out, base
        ),
        hinge(f"{tag}E", arm, upper, elbow, along),
        hinge(f"{tag}G", upper, f"{tag} front", elbow + half, across),
        hinge(f"{tag}H", upper, f"{tag} back", elbow - half, across),
        hinge(f"{tag}J", f"{tag} front", lower, wrist + half, across),
        hinge(f"{tag}K", f"{tag} back", lower, wrist - half, across),
        hinge(f"{tag}W", lower, platform, wrist, along),
    ]


def _four_arms(plate: list[rg.Joint], name: str) -> rg.Mechanism:
    joints = []
    for k, half in enumerate(("left", "left", "right", "right")):
        angle = 0.4 + k * np.pi / 2 + 0.07 * k
        wrist = (-0.1 if half == "left" else 0.1) * X + 0.05 * turned(X, angle)
        joints += parallelogram_leg("abcd"[k], half, wrist, turned(Y, angle), "revolute")
    return rg.Mechanism.of_joints(name, [*joints, *plate])


def h4() -> rg.Mechanism:
    """Two halves of the nacelle that only translate, and a bar between them (Company, Pierrot)."""
    plate = [hinge("L", "left", "bar", -0.1 * X, Z), hinge("R", "right", "bar", 0.1 * X, Z)]
    return _four_arms(plate, "H4")


def par4() -> rg.Mechanism:
    """A travelling plate that is a parallelogram (Nabat, Pierrot and others 2005)."""
    corners = {"L": -0.1 * X, "R": 0.1 * X}
    plate = [
        hinge(f"{side}{bar}", half, f"bar {bar}", corners[side] + (0.06 if bar else -0.06) * Y, Z)
        for bar in (0, 1)
        for side, half in (("L", "left"), ("R", "right"))
    ]
    return _four_arms(plate, "Par4")


def tricept() -> rg.Mechanism:
    """Three legs UPS and one UP that is part of the platform (Neumann 1988)."""
    joints = []
    for k in range(3):
        angle = 2 * np.pi * k / 3 + 0.1
        base, top = turned(0.5 * X, angle), turned(0.15 * X, angle) - Z
        way = (top - base) / np.linalg.norm(top - base)
        first = turned(Y, angle)
        second = np.cross(first, way)
        kinds, axes = "RRPS", [first, second / np.linalg.norm(second), way, Z]
        joints += leg("abc"[k], "ground", "platform", kinds, axes, np.array([base, base, top, top]))
    joints += leg("m", "ground", "platform", "RRP", [X, Y, Z], np.zeros((3, 3)))
    return rg.Mechanism.of_joints("Tricept", joints)


def isoglide() -> rg.Mechanism:
    """Isoglide4-T3R1: three legs P R R R R and one P R R R (Gogu 2004)."""
    joints = []
    for k, e in enumerate((X, Y, X, Z)):
        f, g = (Y, Z) if e is X else (Z, X) if e is Y else (X, Y)
        side = -1.0 if k == 2 else 1.0
        points = np.array(
            [side * 0.6 * f, side * 0.6 * f, side * 0.4 * f + 0.3 * g, 0.1 * f + 0.1 * k * e]
        )
        kinds, axes = "PRRR", [e] * 4
        if e is not Z:
            kinds, axes = "PRRRR", [e] * 4 + [Z]
            points = np.vstack([points, 0.1 * f + 0.05 * k * X])
        joints += leg("abcd"[k], "ground", "platform", kinds, axes, points)
    return rg.Mechanism.of_joints("Isoglide4-T3R1", joints)


def pantopteron() -> rg.Mechanism:
    """Three slides with pantographs in place of two links (after Briot and Bonev 2009)."""
    joints = []
    for k in range(3):
        e, f, g = np.roll(np.eye(3), -k, axis=0)
        tag = "abc"[k]
        pivot, tip = 0.1 * e + 0.6 * f, 0.1 * f - 0.1 * g
        knee = 0.5 * (pivot + tip) + 0.35 * g
        on_first, on_second = 0.6 * pivot + 0.4 * knee, 0.4 * knee + 0.6 * tip
        # The small parallelogram at the knee: on_first, knee, on_second, and its fourth corner.
        corner = on_first + on_second - knee
        joints += [
            rg.Joint.in_world(f"{tag}P", "ground", f"{tag} carriage", "prismatic", e, pivot),
            hinge(f"{tag}A", f"{tag} carriage", f"{tag} first", pivot, e),
            hinge(f"{tag}B", f"{tag} first", f"{tag} second", knee, e),
            hinge(f"{tag}C", f"{tag} first", f"{tag} short", on_first, e),
            hinge(f"{tag}D", f"{tag} short", f"{tag} long", corner, e),
            hinge(f"{tag}E", f"{tag} long", f"{tag} second", on_second, e),
            hinge(f"{tag}F", f"{tag} second", "platform", tip, e),
        ]
    return rg.Mechanism.of_joints("Pantopteron", joints)


def sarrus_tower(storeys: int, legs: int = 3) -> rg.Mechanism:
    """Plates over each other, each on planar legs of three hinges."""
    joints = []
    for n in range(storeys):
        below = "ground" if n == 0 else f"plate {n}"
        for k in range(legs):
            angle = 2 * np.pi * k / legs + 0.2 * n
            out = turned(X, angle)
            points = np.array([out + n * Z, 1.3 * out + (n + 0.5) * Z, out + (n + 1) * Z])
            axes = [turned(Y, angle)] * 3
            joints += leg(f"{'abcd'[k]}{n}.", below, f"plate {n + 1}", "RRR", axes, points)
    return rg.Mechanism.of_joints(f"Sarrus tower of {storeys}", joints)


def scissors(cells: int) -> rg.Mechanism:
    """A lift: crossed bars over each other, one foot and one head on slides."""
    x, z = 1.0, 0.6
    joints = [
        hinge("foot", "ground", "up 0", np.zeros(3), Y),
        rg.Joint.in_world("slide", "ground", "shoe", "prismatic", X, x * X),
        hinge("shoe", "shoe", "down 0", x * X, Y),
    ]
    for n in range(cells):
        middle = 0.5 * x * X + (n + 0.5) * z * Z
        joints.append(hinge(f"cross {n}", f"up {n}", f"down {n}", middle, Y))
        if n:
            joints.append(hinge(f"left {n}", f"down {n - 1}", f"up {n}", n * z * Z, Y))
            joints.append(hinge(f"right {n}", f"up {n - 1}", f"down {n}", x * X + n * z * Z, Y))
    top = cells * z * Z
    joints += [
        hinge("head", f"down {cells - 1}", "table", top, Y),
        hinge("cap", f"up {cells - 1}", "runner", x * X + top, Y),
        rg.Joint.in_world("top slide", "table", "runner", "prismatic", X, x * X + top),
    ]
    return rg.Mechanism.of_joints(f"scissors of {cells}", joints)


def hoberman_ring(pairs: int = 6) -> rg.Mechanism:
    """A ring of angulated scissors that opens like an iris (Hoberman 1990)."""
    step, arm = 2 * np.pi / pairs, 0.8
    ways = [turned(X, k * step) for k in range(pairs)]
    between = [turned(X, (k + 0.5) * step) for k in range(pairs)]
    height = np.sqrt(arm**2 - np.sin(step / 2) ** 2)
    joints = []
    for k in range(pairs):
        n = (k + 1) % pairs
        # Each bar leads from an inner point over the middle of its pair to the next outer one.
        joints.append(hinge(f"M{k}", f"bar {k}", f"kink {k}", ways[k], Z))
        inner, outer = np.cos(step / 2) - height, np.cos(step / 2) + height
        joints.append(hinge(f"I{k}", f"bar {n}", f"kink {k}", inner * between[k], Z))
        joints.append(hinge(f"O{k}", f"bar {k}", f"kink {n}", outer * between[k], Z))
    return rg.Mechanism.of_joints("Hoberman ring", joints, ground="bar 0")


def asset(name: str) -> Callable[[], rg.Mechanism]:
    return lambda: rg.load(ASSETS / f"{name}.urdf")


#: Builder, mobility, redundant equations, and how many of these are owed to lengths alone.
ROBOTS: dict[str, tuple[Callable[[], rg.Mechanism], int, int, int]] = {
    "4-RUU": (asset("mobility/four_ruu"), 4, 2, 0),
    "4-PRRRR": (asset("mobility/four_prrrr"), 4, 2, 0),
    "Quadrupteron": (asset("quadrupteron"), 4, 2, 0),
    "H4": (h4, 4, 16, 0),
    "Par4": (par4, 4, 20, 0),
    "Exechon": (asset("mobility/exechon"), 3, 2, 0),
    "Tricept": (tricept, 3, 0, 0),
    "Delta with parallelograms": (asset("delta_parallelograms"), 3, 12, 0),
    "Orthoglide": (asset("orthoglide"), 3, 12, 0),
    "3-UPU": (asset("three_upu"), 3, 0, 0),
    "Isoglide4-T3R1": (isoglide, 4, 3, 0),
    "Pantopteron": (pantopteron, 3, 12, 0),
    "Tripteron": (asset("three_prrr"), 3, 3, 0),
    "Sarrus tower of 3": (lambda: sarrus_tower(3), 3, 12, 0),
    "scissors of 2": (lambda: scissors(2), 1, 9, 0),
    "scissors of 5": (lambda: scissors(5), 1, 18, 0),
    "Hoberman ring": (hoberman_ring, 1, 25, 4),
}
