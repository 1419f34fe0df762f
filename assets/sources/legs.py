"""Platforms whose redundancy or passive freedoms lie in how their legs are made."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sources.linkage import GROUND, Axis, Linkage, chain
from sources.vector import Vector, X, Y, Z, add, minus, times, turned, unit


def six_sps() -> Linkage:
    """The platform of Gough and Stewart with ball joints at both ends of its legs."""
    axes: list[Axis] = []
    for k in range(6):
        low = turned((0.5, 0.0, 0.0), Z, math.radians(60.0 * k + 20.0 * (-1) ** k))
        high = turned((0.3, 0.0, 0.5), Z, math.radians(60.0 * k - 20.0 * (-1) ** k + 5.0))
        axes += chain(
            [GROUND, f"lower_{k + 1}", f"upper_{k + 1}", "platform"],
            [f"{letter}{k + 1}" for letter in "SPT"],
            [Z, unit(minus(high, low)), Z],
            [low, times(0.5, add(low, high)), high],
            kinds="SPS",
            closes=k > 0,
            driven=1,
        )
    return Linkage(
        "six_sps",
        (
            "Platform of Gough and Stewart with a ball joint at both ends of each leg: 6-SPS.",
            "Every leg spins about the line of its balls.",
        ),
        tuple(axes),
        0.01,
    )


def rspsr() -> Linkage:
    """A crank and a rocker joined by a telescope between ball joints."""
    crank, low, high, rocker = ((0.0, 0.0, 0.0), (0.1, 0.05, 0.0), (0.5, 0.2, 0.2), (0.6, 0.0, 0.0))
    axes = chain(
        [GROUND, "crank", "cylinder", "piston", "rocker", GROUND],
        ["A", "B", "C", "D", "E"],
        [Z, Z, unit(minus(high, low)), Z, Y],
        [crank, low, times(0.5, add(low, high)), high, rocker],
        kinds="RSPSR",
    )
    return Linkage(
        "rspsr",
        (
            "R-S-P-S-R: a crank and a rocker joined by a telescope between ball joints, which",
            "spins as a whole about the line of the balls.",
        ),
        tuple(axes),
    )


def _schoenflies(
    name: str, about: tuple[str, ...], kinds: str, feet: Sequence[Sequence[Vector]], axes: str
) -> Linkage:
    """Four legs of five single joints: z vertical, u horizontal, t tilted, the last two by leg."""
    joints: list[Axis] = []
    for k, points in enumerate(feet):
        across = turned(X, Z, 0.3 + 1.45 * k)
        tilted = unit(add(turned(Y, Z, 1.1 * k), times(0.4, Z)))
        ways = [{"z": Z, "u": across, "t": tilted}[letter] for letter in axes]
        links = [f"link_{k + 1}_{i}" for i in range(1, len(kinds))]
        joints += chain(
            [GROUND, *links, "platform"],
            [f"{letter}{k + 1}" for letter in "ABCDE"],
            ways,
            list(points),
            kinds=kinds,
            closes=k > 0,
        )
    return Linkage(name, about, tuple(joints), 0.01)


def four_ruu() -> Linkage:
    """Four legs that translate and turn a platform about the vertical."""
    feet = []
    for k in range(4):
        base, elbow, wrist = (
            turned(p, Z, 0.5 * math.pi * k + 0.1 * k)
            for p in ((0.4, 0.05 * k, 0.0), (0.45, 0.2, 0.05), (0.15, 0.1, 0.4))
        )
        feet.append((base, elbow, elbow, wrist, wrist))
    return _schoenflies(
        "four_ruu",
        (
            "4-RUU with Schoenflies motion (Kong and Gosselin 2004): the outer axes of all legs",
            "are vertical, the two in the middle of each leg parallel.",
        ),
        "RRRRR",
        feet,
        "zzuuz",
    )


def four_prrrr() -> Linkage:
    """Four legs, each with a slide, two hinges and two more across them."""
    feet = []
    for k in range(4):
        places = ((0.5, 0.0, 0.0), (0.5, 0.1, 0.1), (0.4, 0.2, 0.2), (0.2, 0.15, 0.3))
        slide, first, second, third = (
            turned(p, Z, 0.5 * math.pi * k + 0.07 * k * k) for p in places
        )
        feet.append((slide, first, second, third, turned((0.1, 0.0, 0.35), Z, 1.6 * k)))
    return _schoenflies(
        "four_prrrr",
        (
            "4-PRRRR with Schoenflies motion (Kong and Gosselin 2004): slides in any direction,",
            "then three parallel horizontal hinges and a vertical one.",
        ),
        "PRRRR",
        feet,
        "tuuuz",
    )


def exechon() -> Linkage:
    """The parallel part of an Exechon machine."""
    axes: list[Axis] = []
    for k, side in enumerate((-1.0, 1.0)):
        low, high = (0.4 * side, 0.0, 0.0), (0.12 * side, 0.0, -0.6)
        axes += chain(
            [GROUND, f"cross_{k + 1}", f"lower_{k + 1}", f"upper_{k + 1}", "platform"],
            [f"{letter}{k + 1}" for letter in "UVPR"],
            [X, Y, unit(minus(high, low)), Y],
            [low, low, times(0.5, add(low, high)), high],
            kinds="RRPR",
            closes=k > 0,
            driven=2,
        )
    low, high = (0.0, 0.45, 0.0), (0.0, 0.15, -0.6)
    axes += chain(
        [GROUND, "lower_3", "upper_3", "platform"],
        ["S3", "P3", "R3"],
        [Z, unit(minus(high, low)), X],
        [low, times(0.5, add(low, high)), high],
        kinds="SPR",
        driven=1,
    )
    return Linkage(
        "exechon",
        (
            "Parallel part of an Exechon machine (Neumann 2006): two legs U-P-R in a plane that",
            "turns about the line of their feet, and a third one S-P-R.",
        ),
        tuple(axes),
        0.01,
    )
