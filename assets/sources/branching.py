"""Mechanisms at poses where several motions meet."""

from __future__ import annotations

import math

from sources.frames import bars, platform_on_rods
from sources.linkage import GROUND, Axis, Linkage, chain, single_loop
from sources.rigid import watt_chain
from sources.vector import Vector, X, Y, Z, add, times, turned


def rhombus_stretched() -> Linkage:
    """A rhombus with two of its corners on top of each other."""
    return single_loop(
        "rhombus_stretched",
        [
            "Four equal links, stretched: the corners B and D coincide. Either the rhombus opens,",
            "or the two links between them turn together.",
        ],
        [Y] * 4,
        [(0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.6, 0.0, 0.0), (0.3, 0.0, 0.0)],
    )


def parallelogram_flat() -> Linkage:
    """A parallelogram lying down."""
    return single_loop(
        "parallelogram_flat",
        ["Parallelogram with all hinges on a line: it goes on as parallelogram or crossed."],
        [Y] * 4,
        [(0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.7, 0.0, 0.0), (0.5, 0.0, 0.0)],
    )


def two_windows_flat() -> Linkage:
    """Two parallelograms in a row, lying down."""
    points = {f"A{k}": (0.5 * k, 0.0) for k in range(3)}
    points |= {f"B{k}": (0.5 * k + 0.2, 0.0) for k in range(3)}
    return bars(
        "two_windows_flat",
        [
            "N-four-bar with two windows (IFToMM benchmark problem A02, other lengths) lying down:",
            "each window goes on as parallelogram or crossed.",
        ],
        points,
        [("A0", "A1", "A2"), ("A0", "B0"), ("A1", "B1"), ("A2", "B2"), ("B0", "B1"), ("B1", "B2")],
    )


def rhombus_on_a_sphere() -> Linkage:
    """Four equal spherical links in one plane."""
    angles = (0.0, 1.0, 2.0, 1.0)
    axes = [(math.cos(a), math.sin(a), 0.0) for a in angles]
    return single_loop(
        "rhombus_on_a_sphere",
        [
            "Spherical four-bar with equal links, stretched: all axes in a plane, two of them the",
            "same.",
        ],
        axes,
        [times(r, axis) for r, axis in zip((0.3, 0.3, 0.3, 0.4), axes, strict=True)],
    )


def origami_vertex_flat() -> Linkage:
    """Four creases that meet in a flat sheet."""
    angles = [math.radians(a) for a in (0.0, 50.0, 120.0, 250.0)]
    axes = [(math.cos(a), math.sin(a), 0.0) for a in angles]
    return single_loop(
        "origami_vertex_flat",
        [
            "Four creases in a flat sheet whose opposite angles add up to half a turn (Kawasaki):",
            "the sheet folds in two ways.",
        ],
        axes,
        [times(0.2, axis) for axis in axes],
    )


def double_watt() -> Linkage:
    """Two linkages of Watt, mirror images, joined by a bar across the lines that they draw."""
    points = watt_chain("1", 1.0, 0.0) | watt_chain("2", -1.0, 1.0)
    return bars(
        "double_watt",
        [
            "Two linkages of Watt, mirror images, joined by a bar across the lines that they guide",
            "points along: the configurations have a cusp here (Connelly and Servatius 1994).",
        ],
        points,
        [
            ("D1", "E1", "D2", "E2"),
            ("D1", "F1"),
            ("F1", "M1", "G1"),
            ("E1", "G1"),
            ("D2", "F2"),
            ("F2", "M2", "G2"),
            ("E2", "G2"),
            ("M1", "M2"),
        ],
    )


def _flat_guides(name: str, about: list[str], gap: float) -> Linkage:
    """Two symmetric four-bars whose coupler points leave their tangents in fourth order alone.

    The second is the first turned by half a turn, so that the points are ``gap`` apart, above the
    first where it is positive; a bar joins them.
    """
    base, crank, half = 1.0, 1.3, 0.45
    side = base - half
    height = math.sqrt(crank * crank - side * side)
    # The coupler point of no curvature, from the coupler's motion as a function of its angle.
    up = -half * (base + height * height * half / (side * side)) / height
    own = {
        "A0": (-base, -height - up),
        "B0": (base, -height - up),
        "A": (-half, -up),
        "B": (half, -up),
        "P": (0.0, 0.0),
    }
    points = {f"{k}1": p for k, p in own.items()}
    points |= {f"{k}2": (-x, gap - z) for k, (x, z) in own.items()}
    edges = [("A01", "B01", "A02", "B02")]
    for k in "12":
        edges += [(f"A0{k}", f"A{k}"), (f"B0{k}", f"B{k}"), (f"A{k}", f"B{k}", f"P{k}")]
    return bars(name, about, points, [*edges, ("P1", "P2")])


def flat_guides_touching() -> Linkage:
    """Two motions with one tangent: the bar tilts by either of two angles of second order."""
    return _flat_guides(
        "flat_guides_touching",
        [
            "Two flat guides of fourth order, one turned by half a turn, joined by a bar: two",
            "motions touch here (after Lopez-Custodio and Mueller 2020).",
        ],
        1.5,
    )


def flat_guides_apart() -> Linkage:
    """The same turned the other way: rigid, which only terms of fourth order tell."""
    return _flat_guides(
        "flat_guides_apart",
        [
            "Two flat guides of fourth order that turn away from each other, joined by a bar:",
            "rigid at fourth order (after Lopez-Custodio and Mueller 2020).",
        ],
        -1.5,
    )


def _cube_of_bars(name: str, about: list[str], angles: tuple[float, float, float]) -> Linkage:
    """The twelve bars of Wunderlich as a projected box, edges 0.9, 0.6 and 0.3 m."""
    ways = [
        (length * math.cos(a), length * math.sin(a))
        for length, a in zip((0.9, 0.6, 0.3), angles, strict=True)
    ]
    points = {}
    for k in range(8):
        chosen = [way for bit, way in enumerate(ways) if k >> bit & 1]
        points[f"P{k}"] = (sum(x for x, _ in chosen), sum(z for _, z in chosen))
    edges = [
        (f"P{k}", f"P{k | 1 << bit}") for bit in range(3) for k in range(8) if not k >> bit & 1
    ]
    return bars(name, about, points, edges)


def wunderlich_12_bar() -> Linkage:
    """The twelve-bar of Wunderlich with six parallelograms."""
    return _cube_of_bars(
        "wunderlich_12_bar",
        [
            "Twelve-bar of Wunderlich (1954), the edges of a box in a plane, with six",
            "parallelograms.",
        ],
        (0.1, 1.0, 2.2),
    )


def wunderlich_12_bar_turning() -> Linkage:
    """The same where two of its parallelograms are flat."""
    return _cube_of_bars(
        "wunderlich_12_bar_turning",
        [
            "Twelve-bar of Wunderlich (1954) where two of its six parallelograms lie flat: they go",
            "on as parallelograms or crossed.",
        ],
        (0.1, 0.1, 1.5),
    )


def plate_on_four_rods() -> Linkage:
    """A plate on four equal parallel rods whose feet lie on no circle."""
    base: list[Vector] = [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.6, 0.4, 0.0), (-0.1, 0.7, 0.0)]
    return platform_on_rods(
        "plate_on_four_rods",
        [
            "A plate on four equal parallel rods whose feet lie on no circle: it translates with",
            "two freedoms and is shaky all the way, for it turns about the rods to first order.",
        ],
        base,
        [add(foot, (0.1, 0.05, 0.45)) for foot in base],
    )


def three_upu_snu() -> Linkage:
    """The 3-UPU of Seoul National University at its home pose."""
    axes: list[Axis] = []
    for k in range(3):
        angle = 2.0 * math.pi * k / 3.0
        base, top = (turned(p, Z, angle) for p in ((0.3, 0.0, 0.0), (0.3, 0.0, 0.5)))
        along, outward = turned(Y, Z, angle), turned(X, Z, angle)
        axes += chain(
            [GROUND, f"cross_{k + 1}", f"lower_{k + 1}", f"upper_{k + 1}", f"fork_{k + 1}", "top"],
            [f"{letter}{k + 1}" for letter in "ABPCD"],
            [outward, along, Z, along, outward],
            [base, base, times(0.5, add(base, top)), top, top],
            kinds="RRPRR",
            closes=k > 0,
            driven=2,
        )
    return Linkage(
        "three_upu_snu",
        (
            "3-UPU of Seoul National University (2002) at its home pose: the outer axes of its",
            "universal joints meet in the middle.",
        ),
        tuple(axes),
        0.01,
    )


def wren_platform() -> Linkage:
    """A platform on six equal parallel rods whose feet lie on a circle."""
    base = [turned((0.4, 0.0, 0.0), Z, math.radians(60.0 * k)) for k in range(6)]
    return platform_on_rods(
        "wren_platform",
        [
            "Platform of Wren (1668): six equal upright rods between equal hexagons. It translates",
            "with two freedoms, or it screws about the middle with one.",
        ],
        base,
        [add(foot, (0.0, 0.0, 0.5)) for foot in base],
    )


def squares_folded() -> Linkage:
    """Two rhombi of different size on the same two arms, folded."""
    arm = {f"{letter}{k}": (0.2 * k, 0.0) for letter in "BD" for k in (1, 2)}
    points = {"A": (0.0, 0.0), **arm, "C1": (0.4, 0.0), "C2": (0.8, 0.0)}
    return bars(
        "squares_folded",
        [
            "Two squares on the same two arms, folded flat. Either the arms open and both squares",
            "with them, or the arms stay together and the outer bars of each square turn by",
            "themselves: a plane kinematotropic linkage, in place of Wohlhart's queer-square.",
        ],
        points,
        [
            ("A", "B1", "B2"),
            ("A", "D1", "D2"),
            ("B1", "C1"),
            ("C1", "D1"),
            ("B2", "C2"),
            ("C2", "D2"),
        ],
    )
