"""Parallel robots."""

from __future__ import annotations

import math
from collections.abc import Callable

from sources.linkage import GROUND, Axis, Linkage, chain
from sources.vector import Vector, X, Y, Z, add, cross, minus, times, turned, unit

THIRDS = tuple(2 * math.pi * k / 3 for k in range(3))


def three_prrr() -> Linkage:
    """Translational robot with three orthogonal legs."""
    cycle = (X, Y, Z)
    axes: list[Axis] = []
    for k in range(3):
        e, f, g = cycle[k], cycle[(k + 1) % 3], cycle[(k + 2) % 3]
        points = [
            add(times(along, e), times(0.45 - 0.02 * k, f), times(side, g))
            for along, side in ((0.1, 0.45), (0.1, 0.45))
        ]
        points.append(add(times(0.1, e), times(0.4, f), times(0.15, g)))
        points.append(add(times(0.1, e), times(0.1, f), times(0.1 + 0.02 * k, g)))
        axes += chain(
            [GROUND, *(f"{part}_{k + 1}" for part in ("carriage", "upper", "lower")), "platform"],
            [f"{letter}{k + 1}" for letter in "PABC"],
            [e] * 4,
            points,
            kinds="PRRR",
            closes=k > 0,
        )
    return Linkage(
        "three_prrr",
        (
            "3-PRRR translational robot with orthogonal legs (Kim and Tsai 2002, Kong and Gosselin",
            "2002), the second example of Müller (2014).",
        ),
        tuple(axes),
    )


def _parallelogram_leg(
    k: int, first: Axis, elbow: Vector, wrist: Vector, along: Vector
) -> list[Axis]:
    """A leg from its first joint over a hinge, a parallelogram and a hinge to the platform."""
    half = times(0.05, along)
    normal = unit(cross(minus(wrist, elbow), along))
    n = k + 1
    upper, lower, front, back = (f"{part}_{n}" for part in ("upper", "lower", "front", "back"))
    return [
        first,
        Axis(f"E{n}", first.child, upper, "revolute", elbow, along),
        Axis(f"G{n}", upper, front, "revolute", add(elbow, half), normal),
        Axis(f"H{n}", upper, back, "revolute", minus(elbow, half), normal),
        Axis(f"J{n}", front, lower, "revolute", add(wrist, half), normal),
        Axis(f"K{n}", back, lower, "revolute", minus(wrist, half), normal, closes=True),
        Axis(f"W{n}", lower, "platform", "revolute", wrist, along, closes=k > 0),
    ]


def delta_parallelograms() -> Linkage:
    """Delta robot with hinged parallelograms."""
    axes: list[Axis] = []
    for k, angle in enumerate(THIRDS):
        base, elbow, wrist = (
            turned(p, Z, angle) for p in ((0.15, 0.0, 0.0), (0.32, 0.0, -0.08), (0.06, 0.0, -0.42))
        )
        along = turned(Y, Z, angle)
        motor = Axis(f"M{k + 1}", GROUND, f"arm_{k + 1}", "revolute", base, along, driven=True)
        axes += _parallelogram_leg(k, motor, elbow, wrist, along)
    return Linkage(
        "delta_parallelograms",
        (
            "Delta robot (Clavel 1988) with hinges only: each leg has an arm, a hinge, a",
            "parallelogram of four hinges and a hinge on the platform.",
        ),
        tuple(axes),
        section=0.015,
    )


def orthoglide() -> Linkage:
    """Orthoglide."""
    cycle = (X, Y, Z)
    axes: list[Axis] = []
    for k in range(3):
        e, along = cycle[k], cycle[(k + 1) % 3]
        wrist, elbow = times(-0.08, e), times(-0.39, e)
        outward = times(-1, e)  # as the machine counts: -0.26 to 0.06 m is free of singularities
        motor = Axis(
            f"M{k + 1}", GROUND, f"slide_{k + 1}", "prismatic", elbow, outward, driven=True
        )
        axes += _parallelogram_leg(k, motor, elbow, wrist, along)
    return Linkage(
        "orthoglide",
        (
            "Orthoglide (Wenger and Chablat 2000) at its isotropic pose: three orthogonal slides,",
            "each with a hinge, a parallelogram of four hinges and a hinge on the platform.",
        ),
        tuple(axes),
        section=0.015,
    )


def delta_universal() -> Linkage:
    """Delta robot with universal joints."""
    axes: list[Axis] = []
    for k, angle in enumerate(THIRDS):
        base, elbow, wrist = (
            turned(p, Z, angle) for p in ((0.15, 0.0, 0.0), (0.32, 0.0, -0.08), (0.06, 0.0, -0.42))
        )
        along = turned(Y, Z, angle)
        across = unit(cross(along, minus(wrist, elbow)))
        n = k + 1
        axes += chain(
            [GROUND, f"arm_{n}", f"cross_{n}", f"rod_{n}", f"wrist_{n}", "platform"],
            [f"{name}{n}" for name in ("M", "E", "F", "V", "W")],
            [along, along, across, across, along],
            [base, elbow, elbow, wrist, wrist],
            closes=k > 0,
        )
    return Linkage(
        "delta_universal",
        (
            "Translational robot 3-RUU: a Delta whose parallelograms are single rods between two",
            "universal joints, each of two hinges and a cross (Tsai 1999).",
        ),
        tuple(axes),
        section=0.015,
    )


def three_upu() -> Linkage:
    """Translational robot with three telescopic legs."""
    axes: list[Axis] = []
    for k, angle in enumerate(THIRDS):
        base, top = (turned(p, Z, angle) for p in ((0.3, 0.0, 0.0), (0.12, 0.0, 0.45)))
        along = turned(Y, Z, angle)
        way = unit(minus(top, base))
        across = unit(cross(along, way))
        n = k + 1
        axes += chain(
            [GROUND, *(f"{b}_{n}" for b in ("foot", "tube", "rod", "head")), "platform"],
            [f"{name}{n}" for name in ("A", "B", "P", "C", "D")],
            [along, across, way, across, along],
            [base, base, add(times(0.5, base), times(0.5, top)), top, top],
            kinds="RRPRR",
            closes=k > 0,
            driven=2,
        )
    return Linkage(
        "three_upu",
        (
            "Translational robot 3-UPU (Tsai 1996): telescopic legs between universal joints, the",
            "outer axes of each leg parallel, and likewise the inner ones.",
        ),
        tuple(axes),
        section=0.015,
    )


def stewart_6ups() -> Linkage:
    """Stewart platform with six telescopic legs."""
    axes: list[Axis] = []
    for k in range(6):
        third, sign = THIRDS[k // 2], 1 if k % 2 else -1
        base = turned((0.4, 0.0, 0.0), Z, third + sign * math.radians(15.0))
        top = turned((0.25, 0.0, 0.4), Z, third + sign * math.radians(40.0))
        way = unit(minus(top, base))
        along = unit(cross(Z, base))
        across = unit(cross(along, way))
        first = unit(cross(way, across))
        n = k + 1
        axes += chain(
            [GROUND, f"foot_{n}", f"tube_{n}", f"rod_{n}", "platform"],
            [f"{name}{n}" for name in ("A", "B", "P", "S")],
            [first, across, way, Z],
            [base, base, add(times(0.5, base), times(0.5, top)), top],
            kinds="RRPS",
            closes=k > 0,
            driven=2,
        )
    return Linkage(
        "stewart_6ups",
        ("Stewart platform 6-UPS (Gough 1956, Stewart 1965) with six telescopic legs.",),
        tuple(axes),
        section=0.015,
    )


def _four_legs(leg: Callable[[int, float], list[Axis]]) -> tuple[Axis, ...]:
    return tuple(axis for k in range(4) for axis in leg(k, k * math.pi / 2 + 0.1 * k))


def schoenflies_four_legs() -> Linkage:
    """Four SCARA legs on one platform."""

    def leg(k: int, angle: float) -> list[Axis]:
        reach = ((0.5, 0.0, 0.2), (0.5, 0.0, 0.3), (0.38, 0.22, 0.3), (0.12, 0.0, 0.3))
        points = [turned(p, Z, angle) for p in reach]
        n = k + 1
        return chain(
            [GROUND, f"carriage_{n}", f"upper_{n}", f"lower_{n}", "platform"],
            [f"{letter}{n}" for letter in "PABC"],
            [Z] * 4,
            points,
            kinds="PRRR",
            closes=k > 0,
        )

    return Linkage(
        "schoenflies_four_legs",
        (
            "Robot for Schoenflies motions (three translations, one rotation about Z) with four",
            "PRRR legs, each of which allows these motions by itself (Hervé 1999).",
        ),
        _four_legs(leg),
    )


def quadrupteron() -> Linkage:
    """Quadrupteron."""

    def leg(k: int, angle: float) -> list[Axis]:
        out = turned(X, Z, angle)
        side, n = cross(Z, out), k + 1
        places = ((0.0, 0.5, 0.0), (0.0, 0.5, 0.0), (0.0, 0.4, 0.25), (0.0, 0.15, 0.3))
        points = [add(times(p[0], out), times(p[1], side), times(p[2], Z)) for p in places]
        return chain(
            [GROUND, *(f"{b}_{n}" for b in ("carriage", "upper", "lower", "wrist")), "platform"],
            [f"{name}{n}" for name in ("P", "A", "B", "C", "D")],
            [out, out, out, out, Z],
            [*points, points[-1]],
            kinds="PRRRR",
            closes=k > 0,
        )

    return Linkage(
        "quadrupteron",
        (
            "Quadrupteron 4-PRRU for Schoenflies motions (Richard, Gosselin and Kong 2007): the",
            "last axes of all legs are parallel, the others of each leg are parallel to its slide.",
        ),
        _four_legs(leg),
    )
