"""Structures that move because of special dimensions, in a plane and as hinged plates."""

from __future__ import annotations

import math

from sources.frames import bars, plates
from sources.linkage import Linkage, single_loop
from sources.paradoxical import Frame, bennett_hinges
from sources.rigid import OCTAHEDRON
from sources.vector import Vector, X, Y, Z, add, cross, dot, minus, norm, times, turned, unit


def dixon_first() -> Linkage:
    """Nine bars between three joints on one line and three on another at a right angle."""
    points = {k: (x, 0.0) for k, x in {"A": -0.5, "B": 0.3, "C": 0.8}.items()}
    points |= {k: (0.0, z) for k, z in {"P": -0.6, "Q": 0.4, "R": 0.9}.items()}
    return bars(
        "dixon_first",
        [
            "First mechanism of Dixon (1899): three joints on one line, three on another at right",
            "angles to it, and all nine bars between them.",
        ],
        points,
        [(a, b) for a in "ABC" for b in "PQR"],
    )


def dixon_second() -> Linkage:
    """Sixteen bars between the corners of two rectangles."""
    points, signs = {}, ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
    for letters, width, height in (("ABCD", 0.3, 0.5), ("PQRS", 0.7, 0.2)):
        points |= {k: (s * width, t * height) for k, (s, t) in zip(letters, signs, strict=True)}
    return bars(
        "dixon_second",
        [
            "Second mechanism of Dixon (1899): the corners of two rectangles with common axes, and",
            "all sixteen bars between them.",
        ],
        points,
        [(a, b) for a in "ABCD" for b in "PQRS"],
    )


def _octahedron(name: str, about: list[str], corners: dict[str, Vector]) -> Linkage:
    return plates(name, about, corners, OCTAHEDRON)


def bricard_octahedron_1() -> Linkage:
    """The octahedron with an axis of symmetry."""
    corners: dict[str, Vector] = {
        "A": (0.4, 0.1, 0.0),
        "B": (-0.1, 0.5, 0.2),
        "C": (0.2, -0.3, 0.5),
    }
    for one, other in ("AQ", "BR", "CP"):
        x, y, z = corners[one]
        corners[other] = (-x, -y, z)
    return _octahedron(
        "bricard_octahedron_1",
        [
            "Flexible octahedron of Bricard (1897), first type: opposite corners are images of",
            "each other by a half-turn about Z.",
        ],
        corners,
    )


def bricard_octahedron_2() -> Linkage:
    """The octahedron with a plane of symmetry."""
    corners: dict[str, Vector] = {"A": (0.5, 0.0, 0.1), "Q": (-0.3, 0.0, 0.35)}
    corners |= {"B": (0.1, 0.4, 0.0), "C": (0.2, 0.25, 0.6)}
    for one, other in ("BR", "CP"):
        x, y, z = corners[one]
        corners[other] = (x, -y, z)
    return _octahedron(
        "bricard_octahedron_2",
        [
            "Flexible octahedron of Bricard (1897), second type: two pairs of opposite corners are",
            "mirror images in the plane of X and Z, which holds the third pair.",
        ],
        corners,
    )


def _tangents(point: tuple[float, float], radius: float) -> list[tuple[float, float, float]]:
    """Both tangents from a point to a circle about the origin: lines x c + y s = radius."""
    distance, azimuth = math.hypot(*point), math.atan2(point[1], point[0])
    half = math.acos(radius / distance)
    return [(math.cos(azimuth + s * half), math.sin(azimuth + s * half), radius) for s in (1, -1)]


def _crossing(a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, float]:
    """Point of two lines."""
    d = a[0] * b[1] - a[1] * b[0]
    return (a[2] * b[1] - b[2] * a[1]) / d, (a[0] * b[2] - b[0] * a[2]) / d


def _beyond(corners: dict[str, Vector], edge: str, lengths: list[float], turn: float) -> Vector:
    """Corner at given distances from the ends of an edge, turned about it from the ground face."""
    first, second = (corners[end] for end in edge)
    along = minus(second, first)
    length = norm(along)
    axis = times(1.0 / length, along)
    forward = (lengths[0] ** 2 - lengths[1] ** 2 + length**2) / (2.0 * length)
    aside = math.sqrt(lengths[0] ** 2 - forward**2)
    # The ground face lies in the plane of X and Y.
    return add(first, times(forward, axis), times(aside, turned(cross(Z, axis), axis, turn)))


def _above(base: list[Vector], lengths: list[float]) -> Vector:
    """Corner at given distances from three points, seen from which they turn to the left."""
    origin, one, two = base
    far = minus(one, origin)
    x = unit(far)
    across = minus(minus(two, origin), times(dot(minus(two, origin), x), x))
    y = unit(across)
    first = (lengths[0] ** 2 - lengths[1] ** 2 + dot(far, far)) / (2.0 * norm(far))
    wide = minus(two, origin)
    second = (lengths[0] ** 2 - lengths[2] ** 2 + dot(wide, wide)) / 2.0 - first * dot(wide, x)
    second /= norm(across)
    third = math.sqrt(lengths[0] ** 2 - first**2 - second**2)
    return add(origin, times(first, x), times(second, y), times(third, cross(x, y)))


def bricard_octahedron_3() -> Linkage:
    """The octahedron with two flat positions."""
    # Flat, the edges touch three circles about one centre: those of two of the quadrilaterals of
    # edges by construction, those of the third by a theorem.
    flat = {"A": (0.4, 0.08), "Q": (-0.2, 0.36)}
    for radius, pair in ((0.12, "BR"), (0.18, "CP")):
        one, two = _tangents(flat["A"], radius), _tangents(flat["Q"], radius)
        flat[pair[0]], flat[pair[1]] = _crossing(one[0], two[0]), _crossing(one[1], two[1])

    def lengths(corner: str, others: str) -> list[float]:
        return [math.dist(flat[corner], flat[other]) for other in others]

    # The pose is a point: one angle is given, the other corners follow by roots, and the last
    # edge, PR, keeps its length because the octahedron is flexible.
    corners: dict[str, Vector] = {k: (*flat[k], 0.0) for k in "ABC"}
    corners["Q"] = _beyond(corners, "BC", lengths("Q", "BC"), -0.25)
    corners["R"] = _above([corners[k] for k in "ACQ"], lengths("R", "ACQ"))
    corners["P"] = _above([corners[k] for k in "ABQ"], lengths("P", "ABQ"))
    return _octahedron(
        "bricard_octahedron_3",
        [
            "Flexible octahedron of Bricard (1897), third type, away from its flat poses: when",
            "flat its edges touch three circles about one centre.",
        ],
        corners,
    )


def _ring(name: str, about: list[str], count: int, tilt: float) -> Linkage:
    """A ring of equal tetrahedra: neighbouring hinges at right angles, no offsets."""
    step = 2.0 * math.pi / count
    slope, rise = math.tan(tilt), 0.2
    other = -math.cos(step) / slope
    # Both hinges of a link stand at right angles on the line between them.
    c, a, b = math.cos(step), rise * slope, -rise * other
    inner = (a + c * b) / (1.0 - c * c)
    outer = (b + c * a) / (1.0 - c * c)
    axes, points = [], []
    for k in range(count):
        angle = math.atan(other) if k % 2 else tilt
        radius, height = (outer, rise) if k % 2 else (inner, 0.0)
        axes.append(turned((math.cos(angle), 0.0, math.sin(angle)), Z, step * k))
        points.append(turned((radius, 0.0, height), Z, step * k))
    return single_loop(name, about, axes, points, section=0.01)


def kaleidocycle_6() -> Linkage:
    """A ring of six tetrahedra."""
    return _ring(
        "kaleidocycle_6",
        [
            "Ring of six equal tetrahedra (Schatz 1929, Schattschneider and Walker 1977), a",
            "trihedral linkage of Bricard.",
        ],
        6,
        0.5,
    )


def kaleidocycle_8() -> Linkage:
    """A ring of eight tetrahedra."""
    return _ring(
        "kaleidocycle_8",
        ["Ring of eight equal tetrahedra (Schattschneider and Walker 1977)."],
        8,
        0.5,
    )


def miura_fold() -> Linkage:
    """Nine parallelograms of a folded sheet."""
    a, b, sector, fold = 0.3, 0.25, math.radians(65.0), 0.7
    slope = math.cos(fold) * math.tan(sector)
    across = b * slope / math.sqrt(1.0 + slope * slope)
    shift = b / math.sqrt(1.0 + slope * slope)
    height = a * math.sin(fold) * math.sin(sector)
    along = a * math.sqrt(1.0 - (math.sin(fold) * math.sin(sector)) ** 2)
    corners: dict[str, Vector] = {
        f"p{i}{j}": (i * across, j * along + (i % 2) * shift, (j % 2) * height)
        for i in range(4)
        for j in range(4)
    }
    faces = [
        (f"p{i}{j}", f"p{i + 1}{j}", f"p{i + 1}{j + 1}", f"p{i}{j + 1}")
        for i in range(3)
        for j in range(3)
    ]
    return plates(
        "miura_fold",
        ["Fold of Miura (1970): nine equal parallelograms, half folded."],
        corners,
        faces,
    )


def myard_5r() -> Linkage:
    """Two mirror images of a linkage of Bennett without the link that they share."""
    one = bennett_hinges(Frame(Z, X, (0.0, 0.0, 0.0)), 0.5 * math.pi, 0.9, 0.8)
    normal, place = one[3].axis, one[2].foot

    def mirrored(frame: Frame) -> Frame:
        foot = minus(frame.foot, times(2.0 * dot(normal, minus(frame.foot, place)), normal))
        axis = minus(times(2.0 * dot(normal, frame.axis), normal), frame.axis)
        return Frame(axis, frame.forward, foot)

    hinges = [one[0], one[1], one[2], mirrored(one[1]), mirrored(one[0])]
    return single_loop(
        "myard_5r",
        [
            "Five-bar of Myard (1931) with a plane of symmetry: a linkage of Bennett with links of",
            "a right angle and its mirror image, without the link that they share.",
        ],
        [h.axis for h in hinges],
        [h.foot for h in hinges],
    )


def altmann_6r() -> Linkage:
    """A linkage of Altmann."""
    short, long, right, first = 0.2, 0.3, 0.5 * math.pi, 0.8
    # Half of the loop is a half-turn about the line of symmetry. Its trace is -1, and it moves
    # nothing along that line: two equations for the other two turns.
    sine, cosine = math.sin(first), math.cos(first)
    second = math.pi - math.asin(short * sine / (short + long * cosine))
    a, b = cosine * math.cos(second), sine - math.sin(second)
    c = sine * math.sin(second) - 1.0
    third = math.atan2(b, a) - math.acos(c / math.hypot(a, b))
    hinges = [Frame(Z, X, (0.0, 0.0, 0.0))]
    for turn, length, twist in [
        (first, short, right),
        (second, 0.0, right),
        (third, long, -right),
    ] * 2:
        hinges.append(hinges[-1].after(turn, length, twist))
    return single_loop(
        "altmann_6r",
        [
            "Six-bar of Altmann (1954), a linkage of Bricard with a line of symmetry: twists of a",
            "right angle, links of 0.2, 0 and 0.3 m, each twice.",
        ],
        [h.axis for h in hinges[:-1]],
        [h.foot for h in hinges[:-1]],
    )


def bricard_line_symmetric() -> Linkage:
    """Six hinges, three of them images of the others by a half-turn."""
    axes: list[Vector] = [(2 / 3, -1 / 3, 2 / 3), (0.6, 0.0, 0.8), (2 / 7, 6 / 7, 3 / 7)]
    points: list[Vector] = [(0.3, -0.1, 0.0), (0.35, 0.2, 0.15), (0.1, 0.3, -0.1)]
    axes += [(-a[0], -a[1], a[2]) for a in axes]
    points += [(-p[0], -p[1], p[2]) for p in points]
    return single_loop(
        "bricard_line_symmetric",
        [
            "Linkage of Bricard (1927) with a line of symmetry: the last three hinges are images",
            "of the first three by a half-turn about Z.",
        ],
        axes,
        points,
    )


def hooke_double_joint() -> Linkage:
    """Two universal joints with an intermediate shaft without bearings."""
    c, s = math.cos(0.5), math.sin(0.5)
    near, far = (0.0, 0.0, 0.0), (0.3, 0.0, 0.0)
    into, out = (-c, 0.0, s), (c, 0.0, s)
    return single_loop(
        "hooke_double_joint",
        [
            "Double joint of Hooke: shafts that meet the intermediate shaft at equal angles, forks",
            "in phase.",
        ],
        [into, (s, 0.0, c), Y, Y, (-s, 0.0, c), out],
        [add(near, times(0.2, into)), near, near, far, far, add(far, times(0.2, out))],
        links=["input", "cross_1", "shaft", "cross_2", "output"],
    )
