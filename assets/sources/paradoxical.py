"""Single loops that move only because of special dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sources.linkage import Linkage, single_loop
from sources.vector import Vector, X, Y, Z, add, cross, times, turned

#: Ratio of length to sine of twist that all links of the loops made of Bennett linkages share.
RATIO = 0.3


@dataclass(frozen=True)
class Frame:
    """A hinge: its axis, the foot of the link that starts there, and that link's direction."""

    axis: Vector
    forward: Vector
    foot: Vector

    def after(self, turn: float, length: float, twist: float) -> Frame:
        """The next hinge: turn about the axis, walk along the link, twist about the link."""
        forward = turned(self.forward, self.axis, turn)
        foot = add(self.foot, times(length, forward))
        return Frame(turned(self.axis, forward, twist), forward, foot)


def bennett_hinges(start: Frame, first: float, second: float, turn: float) -> list[Frame]:
    """The four hinges of a Bennett linkage, the first link lying along ``start.forward``.

    Bennett (1903): opposite links are equal, lengths are as the sines of twists, and the half
    angles at neighbouring hinges have tangents of constant product.

    Args:
        start: The first hinge.
        first: Twist of the first and third link in radians.
        second: Twist of the other two.
        turn: Turn of the first link out of the last one, in radians.
    """
    product = math.sin(0.5 * (second + first)) / math.sin(0.5 * (second - first))
    other = 2.0 * math.atan(product / math.tan(0.5 * turn))
    hinges = [start]
    steps = ((0.0, first), (other, second), (2.0 * math.pi - turn, first))
    for angle, twist in steps:
        hinges.append(hinges[-1].after(angle, RATIO * math.sin(twist), twist))
    return hinges


def _loop(name: str, about: list[str], hinges: list[Frame]) -> Linkage:
    return single_loop(name, about, [h.axis for h in hinges], [h.foot for h in hinges])


def bennett() -> Linkage:
    """Linkage of Bennett."""
    start = Frame(Z, X, (0.0, 0.0, 0.0))
    return _loop(
        "bennett",
        ["Linkage of Bennett (1903): four skew hinges."],
        bennett_hinges(start, 0.6, 1.1, 0.7),
    )


def _on_link(first: Frame, second: Frame) -> Frame:
    """The first hinge seen as the start of the link that leads to the second one."""
    return Frame(first.axis, second.forward, first.foot)


def goldberg_5r() -> Linkage:
    """Two Bennett linkages without the link that they share."""
    one = bennett_hinges(Frame(Z, X, (0.0, 0.0, 0.0)), 0.6, 1.1, 0.7)
    two = bennett_hinges(_on_link(one[2], one[3]), 0.6, 0.9, 2.0)
    # The shared link runs from hinge 2 of the first to hinge 3; hinge 3 becomes rigid.
    return _loop(
        "goldberg_5r",
        [
            "Five-bar of Goldberg (1943): two Bennett linkages share a link, which is taken out;",
            "the two links at one of its hinges are joined for good.",
        ],
        [one[0], one[1], one[2], two[3], two[2]],
    )


def goldberg_6r() -> Linkage:
    """Three Bennett linkages in a row without the links that they share."""
    one = bennett_hinges(Frame(Z, X, (0.0, 0.0, 0.0)), 0.6, 1.1, 0.7)
    two = bennett_hinges(_on_link(one[2], one[3]), 0.6, 0.9, 2.0)
    # The next shared link is the third one of the second linkage, walked backwards.
    back = Frame(two[3].axis, times(-1.0, two[3].forward), two[3].foot)
    three = bennett_hinges(back, 0.6, 0.75, 1.2)
    return _loop(
        "goldberg_6r",
        [
            "Six-bar of Goldberg (1943): a third Bennett linkage joined to the five-bar in the",
            "same way.",
        ],
        [one[0], one[1], one[2], two[3], three[3], three[2]],
    )


def waldron_6r() -> Linkage:
    """Two Bennett linkages with one common axis, which is taken out."""
    one = bennett_hinges(Frame(Z, X, (0.0, 0.0, 0.0)), 0.6, 1.1, 0.7)
    # The second linkage hangs on the same first axis, shifted along it and turned about it.
    start = Frame(Z, turned(X, Z, 2.5), (0.0, 0.0, 0.15))
    two = bennett_hinges(start, 0.8, 1.3, 1.1)
    return _loop(
        "waldron_6r",
        [
            "Hybrid six-bar of Waldron (1968): two Bennett linkages share an axis, and with it the",
            "two bodies that the axis connects; the hinge on that axis is taken out.",
        ],
        [one[1], one[2], one[3], two[3], two[2], two[1]],
    )


def schatz() -> Linkage:
    """Linkage of Schatz."""
    # Three unit links form an orthogonal triad whose sum lies along X.
    a = 0.3
    second = (1 / math.sqrt(3), math.sqrt(2 / 3), 0.0)
    normal = (1 / math.sqrt(3), -1 / math.sqrt(6), 1 / math.sqrt(2))
    third = cross(normal, second)
    middle, last = second, times(-1.0, third)
    fourth = cross(middle, third)
    fifth = cross(last, fourth)
    start = (0.0, 0.0, 0.0)
    points = [start, start, times(a, normal), times(a, add(normal, middle))]
    end = times(a, add(normal, middle, last))
    return single_loop(
        "schatz",
        [
            "Linkage of Schatz (1942), known from the Turbula mixer: two parallel shafts A and F,",
            "sqrt(3) times the length of the three middle links apart; all other twists are right",
            "angles.",
        ],
        [Z, second, third, fourth, fifth, Z],
        [*points, end, end],
    )


def bricard() -> Linkage:
    """Orthogonal linkage of Bricard, IFToMM benchmark problem A04."""
    return single_loop(
        "bricard",
        [
            "Orthogonal linkage of Bricard (1897) with the data of IFToMM benchmark problem A04:",
            "five rods of 1 m, 1 kg and 0.1 m square section. Gravity points along -Y there.",
        ],
        [Y, Z, X, Y, Z, X],
        [
            (0.0, 0.0, 0.0),
            (1.0, 0.0, 0.0),
            (1.0, -1.0, 0.0),
            (1.0, -1.0, 1.0),
            (0.0, -1.0, 1.0),
            (0.0, 0.0, 1.0),
        ],
        section=0.1,
    )
