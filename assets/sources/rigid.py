"""Structures that cannot move although velocities look possible."""

from __future__ import annotations

import math

from sources.frames import bars, plates, platform_on_rods
from sources.linkage import Linkage, single_loop
from sources.vector import Vector, Y, Z, add, times, turned


def rigid_triangle() -> Linkage:
    """Three bars, no three points on a line."""
    return bars(
        "rigid_triangle",
        ["Triangle of three hinged bars: rigid, and not even shaky."],
        {"A": (0.0, 0.0), "B": (0.5, 0.0), "C": (0.2, 0.4)},
        [("A", "B"), ("B", "C"), ("A", "C")],
    )


def hinges_on_a_line_3() -> Linkage:
    """A flat triangle."""
    return single_loop(
        "hinges_on_a_line_3",
        ["Three parallel hinges in one plane: a triangle of no height."],
        [Y] * 3,
        [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)],
    )


def hinges_on_a_line_4() -> Linkage:
    """A flat quadrilateral, stretched."""
    return single_loop(
        "hinges_on_a_line_4",
        ["Four parallel hinges in one plane; the base is as long as the three other links."],
        [Y] * 4,
        [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (3.0, 0.0, 0.0), (6.0, 0.0, 0.0)],
    )


def hinges_in_a_plane() -> Linkage:
    """A flat spherical triangle."""
    angles = (0.0, 0.7, 1.9)
    axes = [(math.cos(a), math.sin(a), 0.0) for a in angles]
    return single_loop(
        "hinges_in_a_plane",
        ["Three hinges through one point and in one plane: a spherical triangle of no height."],
        axes,
        [times(0.3, axis) for axis in axes],
    )


def plate_on_concurrent_bars() -> Linkage:
    """A plate on three bars whose lines meet in one point."""
    # The lines through the feet and the plate's corners meet in (0, 2).
    feet = {"A": (-1.0, 0.0), "B": (0.2, 0.0), "C": (1.2, 0.0)}
    shares = {"A": 0.4, "B": 0.5, "C": 0.3}
    tops = {
        f"{k}1": (x + shares[k] * (0.0 - x), z + shares[k] * (2.0 - z))
        for k, (x, z) in feet.items()
    }
    return bars(
        "plate_on_concurrent_bars",
        [
            "A plate on three bars whose lines meet in one point: it turns about that point to",
            "first order, and no further.",
        ],
        {**feet, **tops},
        [("A", "B", "C"), ("A1", "B1", "C1"), ("A", "A1"), ("B", "B1"), ("C", "C1")],
    )


def plate_on_parallel_bars() -> Linkage:
    """A plate on three parallel bars of different lengths."""
    points = {"A": (0.0, 0.0), "B": (0.5, 0.0), "C": (1.2, 0.0)}
    points |= {"A1": (0.0, 0.5), "B1": (0.5, 0.8), "C1": (1.2, 0.6)}
    return bars(
        "plate_on_parallel_bars",
        [
            "A plate on three parallel bars of different lengths: it slides across them to first",
            "order, and no further.",
        ],
        points,
        [("A", "B", "C"), ("A1", "B1", "C1"), ("A", "A1"), ("B", "B1"), ("C", "C1")],
    )


def k33_on_an_ellipse() -> Linkage:
    """Nine bars between two triples of joints on one conic."""
    angles = {"A": 0.2, "B": 2.3, "C": 4.1, "P": 1.1, "Q": 3.3, "R": 5.4}
    points = {k: (math.cos(a), 0.6 * math.sin(a)) for k, a in angles.items()}
    return bars(
        "k33_on_an_ellipse",
        ["Nine bars between two triples of joints, all six on an ellipse."],
        points,
        [(a, b) for a in "ABC" for b in "PQR"],
    )


def six_rods_that_meet_a_line() -> Linkage:
    """A platform on six rods whose lines all meet one line."""
    # The line is that of Y through (0, 0, 1.2): every rod points at one of its points.
    heights = (-0.9, -0.4, 0.3, 0.8, 0.1, 1.1)
    feet = ((1.0, 0.2), (0.4, 0.9), (-0.7, 0.8), (-1.1, -0.1), (-0.3, -0.9), (0.8, -0.8))
    base: list[Vector] = [(x, y, 0.0) for x, y in feet]
    shares = (0.4, 0.45, 0.5, 0.42, 0.55, 0.48)
    top = [
        add(times(1.0 - s, low), times(s, (0.0, y, 1.2)))
        for low, y, s in zip(base, heights, shares, strict=True)
    ]
    return platform_on_rods(
        "six_rods_that_meet_a_line",
        [
            "A platform on six rods whose lines all meet one line: it turns about that line to",
            "first order, and no further.",
        ],
        base,
        top,
    )


def stewart_turned() -> Linkage:
    """A hexapod with locked legs, its platform turned by a right angle."""
    corners = [math.radians(a) for a in (10.0, 110.0, 130.0, 230.0, 250.0, 350.0)]
    above = [math.radians(a) for a in (50.0, 70.0, 170.0, 190.0, 290.0, 310.0)]
    base: list[Vector] = [(0.5 * math.cos(a), 0.5 * math.sin(a), 0.0) for a in corners]
    # Leg k of the neutral pose leads to the corner k + 1 above; then the platform is turned.
    top: list[Vector] = [
        turned((0.3 * math.cos(a), 0.3 * math.sin(a), 0.5), Z, 0.5 * math.pi) for a in above
    ]
    return platform_on_rods(
        "stewart_turned",
        [
            "Platform of Gough and Stewart with locked legs, turned by a right angle: the singular",
            "pose of Fichter (1986).",
        ],
        base,
        top,
    )


def delta_stretched() -> Linkage:
    """A Delta robot with locked arms and all rods in the plane of its platform."""
    base, top = [], []
    for k in range(3):
        for side in (-0.05, 0.05):
            angle = 2.0 * math.pi * k / 3.0
            base.append(turned((0.4, side, 0.0), Z, angle))
            top.append(turned((0.08, side, 0.0), Z, angle))
    return platform_on_rods(
        "delta_stretched",
        [
            "Delta robot (Clavel 1988) with locked arms, its three pairs of rods stretched in the",
            "plane of the platform.",
        ],
        base,
        top,
    )


def shaky_octahedron() -> Linkage:
    """An octahedron twisted by a right angle."""
    points: dict[str, Vector] = {}
    for k in range(3):
        points["ABC"[k]] = turned((0.4, 0.0, 0.0), Z, math.radians(120.0 * k))
        points["PQR"[k]] = turned((0.4, 0.0, 0.35), Z, math.radians(120.0 * k + 150.0))
    return plates(
        "shaky_octahedron",
        [
            "Octahedron of eight hinged triangles, an antiprism twisted by a right angle: the",
            "planes of four faces, no two of which share an edge, meet in one point (Blaschke",
            "1920).",
        ],
        points,
        OCTAHEDRON,
    )


#: Faces of an octahedron with the opposite corners A and Q, B and R, C and P.
OCTAHEDRON = (
    ("A", "B", "C"),
    ("P", "Q", "R"),
    ("A", "B", "P"),
    ("B", "P", "Q"),
    ("B", "C", "Q"),
    ("C", "Q", "R"),
    ("C", "A", "R"),
    ("A", "R", "P"),
)


def jessen_icosahedron() -> Linkage:
    """The orthogonal icosahedron of Jessen."""
    points: dict[str, Vector] = {}
    for axis in range(3):
        for long in (-2, 2):
            for short in (-1, 1):
                place = [0.0, 0.0, 0.0]
                place[axis], place[(axis + 1) % 3] = 0.1 * long, 0.1 * short
                label = "xyz"[axis] + "nm"[long > 0] + "nm"[short > 0]
                points[label] = (place[0], place[1], place[2])
    faces: list[tuple[str, ...]] = []
    for x in "nm":
        for y in "nm":
            for z in "nm":
                faces.append(("x" + x + y, "y" + y + z, "z" + z + x))
    for axis in range(3):
        after = (axis + 1) % 3
        for side in "nm":
            ends = tuple("xyz"[axis] + end + side for end in "nm")
            faces += [(*ends, "xyz"[after] + side + other) for other in "nm"]
    return plates(
        "jessen_icosahedron",
        ["Orthogonal icosahedron of Jessen (1967): twenty hinged triangles, shaky but rigid."],
        points,
        faces,
    )


def watt_chain(tag: str, mirror: float, shift: float) -> dict[str, tuple[float, float]]:
    """Joints of a linkage of Watt whose middle point M moves along Z, to second order.

    Pivots D and E, coupler F, M, G. To third order M leaves the line by ``mirror`` times a cube.
    """
    arm, rise, lean = 0.4, 0.2, 0.1
    places = {"D": (lean - arm, rise), "F": (lean, rise), "M": (0.0, 0.0)}
    places |= {"G": (-lean, -rise), "E": (arm - lean, -rise)}
    return {k + tag: (shift + mirror * x, z) for k, (x, z) in places.items()}


def watt_against_watt() -> Linkage:
    """Two linkages of Watt, mirror images, that share their middle point."""
    points = watt_chain("1", 1.0, 0.0) | watt_chain("2", -1.0, 0.0)
    del points["M2"]
    return bars(
        "watt_against_watt",
        [
            "Two linkages of Watt, mirror images of each other, hinged together at the points that",
            "they guide: to second order both go straight, to third order they part.",
        ],
        points,
        [
            ("D1", "E1", "D2", "E2"),
            ("D1", "F1"),
            ("F1", "M1", "G1"),
            ("E1", "G1"),
            ("D2", "F2"),
            ("F2", "M1", "G2"),
            ("E2", "G2"),
        ],
    )
