"""Single spatial loops that are explained by motion groups, or that are not redundant."""

from __future__ import annotations

import math

from sources.linkage import GROUND, Axis, Linkage, chain, single_loop
from sources.vector import Vector, X, Y, Z, add, cross, times, turned, unit

#: Corners of a cube by which the four axes of the text's spherical four-bar pass.
CORNERS: tuple[Vector, ...] = (
    (1.0, 1.0, -1.0),
    (-1.0, 1.0, -1.0),
    (1.0, 1.0, 1.0),
    (1.0, -1.0, -1.0),
)


def spherical_fourbar() -> Linkage:
    """Spherical four-bar of Müller (2014), section 7.1."""
    return single_loop(
        "spherical_fourbar",
        [
            "Spherical four-bar of Müller (2014), section 7.1. Columns 1 and 3 of the Jacobian",
            "printed there belong to axes along the diagonals of a cube, with the joints in its",
            "corners at a distance of sqrt(3) from the centre.",
        ],
        [unit(corner) for corner in CORNERS],
        list(CORNERS),
        links=["body_1", "body_2", "body_3"],
        section=0.08,
    )


def spherical_fourbar_flat() -> Linkage:
    """The same links folded flat: all axes in one plane, the reference pose of the text."""
    first, last = CORNERS[0], CORNERS[3]
    normal = unit(cross(first, last))
    side = math.acos(1 / 3)
    points = [first, turned(first, normal, -side), times(-1.0, first), last]
    return single_loop(
        "spherical_fourbar_flat",
        [
            "The links of spherical_fourbar.urdf in their flattened pose, which is singular:",
            "all four axes lie in one plane.",
        ],
        [unit(point) for point in points],
        points,
        links=["body_1", "body_2", "body_3"],
        section=0.08,
    )


def spherical_9r() -> Linkage:
    """Three spherical legs with right angles, as in the Agile Eye."""
    cycle = (X, Y, Z)
    axes: list[Axis] = []
    for k in range(3):
        directions = [cycle[k], cycle[(k + 1) % 3], cycle[(k + 2) % 3]]
        radii = (0.3, -0.25, 0.2)
        axes += chain(
            [GROUND, f"proximal_{k + 1}", f"distal_{k + 1}", "platform"],
            [f"{letter}{k + 1}" for letter in "ABC"],
            directions,
            [times(r, d) for r, d in zip(radii, directions, strict=True)],
            closes=k > 0,
        )
    return Linkage(
        "spherical_9r",
        (
            "Nine revolute joints whose axes all meet in one point: three legs with right angles,",
            "the arrangement of the Agile Eye (Gosselin and Hamel 1994) at its isotropic pose.",
        ),
        tuple(axes),
    )


def sarrus_legs(
    angles: tuple[float, ...], base: str, platform: str, low: float, high: float, tag: str
) -> list[Axis]:
    """Legs of three parallel horizontal hinges that guide a platform along Z."""
    axes: list[Axis] = []
    for k, angle in enumerate(angles):
        out, along = turned(X, Z, angle), turned(Y, Z, angle)
        middle = 0.5 * (low + high)
        reach = (0.2, 0.3 + 0.02 * k, 0.2)
        points = [
            add(times(r, out), (0.0, 0.0, z))
            for r, z in zip(reach, (low, middle, high), strict=True)
        ]
        axes += chain(
            [base, f"lower_{tag}{k + 1}", f"upper_{tag}{k + 1}", platform],
            [f"{letter}{tag}{k + 1}" for letter in "ABC"],
            [along] * 3,
            points,
            closes=k > 0,
            driven=0 if k == 0 else None,
        )
    return axes


def sarrus() -> Linkage:
    """Linkage of Sarrus."""
    return Linkage(
        "sarrus",
        ("Linkage of Sarrus (1853): two legs of three parallel hinges guide a platform straight.",),
        tuple(sarrus_legs((0.0, math.pi / 2), GROUND, "platform", 0.0, 0.3, "")),
    )


def three_leg_sarrus() -> Linkage:
    """Linkage of Sarrus with a third leg."""
    angles = (0.0, 2 * math.pi / 3, 4 * math.pi / 3)
    return Linkage(
        "three_leg_sarrus",
        ("Linkage of Sarrus with three legs.",),
        tuple(sarrus_legs(angles, GROUND, "platform", 0.0, 0.3, "")),
    )


def double_sarrus() -> Linkage:
    """Two storeys of Sarrus linkages."""
    angles = (0.0, math.pi / 2)
    low = sarrus_legs(angles, GROUND, "table", 0.0, 0.3, "low_")
    high = sarrus_legs(angles, "table", "platform", 0.32, 0.6, "high_")
    return Linkage(
        "double_sarrus", ("Two linkages of Sarrus, one on top of the other.",), (*low, *high)
    )


def rssr() -> Linkage:
    """Spatial crank and rocker with a rod between two ball joints."""
    return Linkage(
        "rssr",
        ("RSSR: the rod between the two ball joints also spins about itself.",),
        (
            Axis("A", GROUND, "crank", "revolute", (0.0, 0.0, 0.0), Z, driven=True),
            Axis("B", "crank", "rod", "spherical", (0.15, 0.05, 0.0)),
            Axis("D", GROUND, "rocker", "revolute", (0.5, 0.3, 0.0), Y),
            Axis("C", "rod", "rocker", "spherical", (0.45, 0.3, 0.2), closes=True),
        ),
    )


def shaky_7r() -> Linkage:
    """Two spherical chains and a hinge in one plane."""
    p, q = (0.0, 0.0, 0.0), (0.6, 0.0, 0.0)
    hinge_point, hinge = (0.25, 0.0, 0.3), unit((0.6, 0.0, 0.8))
    near = [unit(d) for d in ((1.0, 2.0, 2.0), (2.0, 1.0, -2.0), (2.0, -2.0, 1.0))]
    far = [unit(d) for d in ((-2.0, 1.0, 2.0), (1.0, -2.0, 2.0), (-2.0, -2.0, 1.0))]
    return single_loop(
        "shaky_7r",
        [
            "Loop of seven hinges: two spherical chains and a hinge D, with both centres and the",
            "axis of D in one plane. A velocity of D is possible, a motion of D is not.",
        ],
        [*near, hinge, *far],
        [add(p, times(0.1, d)) for d in near]
        + [hinge_point]
        + [add(q, times(0.1, d)) for d in far],
    )
