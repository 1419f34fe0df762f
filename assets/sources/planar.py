"""Planar linkages, special or not."""

from __future__ import annotations

import math

from sources.linkage import GROUND, Axis, Linkage, single_loop
from sources.vector import Vector, X, Y, add, combine, meeting_point, minus, times, turned


def pin(name: str, parent: str, child: str, point: Vector, **attributes: bool) -> Axis:
    """A revolute joint of a mechanism in the vertical X-Z plane."""
    return Axis(name, parent, child, "revolute", point, Y, **attributes)


def planar_fourbar() -> Linkage:
    """Four-bar of no special lengths in a tilted plane."""
    # Rows of a rotation matrix with rational entries: the plane is exact, yet no coordinate plane.
    along, across = (6 / 7, 2 / 7, -3 / 7), (2 / 7, 3 / 7, 6 / 7)
    normal = (3 / 7, -6 / 7, 2 / 7)
    a, d = (0.0, 0.0, 0.0), times(0.5, along)
    b = combine((0.12, 0.16), along, across)
    c = meeting_point(b, d, 0.45, 0.35, times(-1.0, normal), -1)
    return single_loop(
        "planar_fourbar",
        [
            "Planar four-bar in a tilted plane:",
            "crank 0.2 m, coupler 0.45 m, rocker 0.35 m, base 0.5 m.",
        ],
        [normal] * 4,
        [a, b, c, d],
        links=["crank", "coupler", "rocker"],
    )


def nearly_planar_fourbar() -> Linkage:
    """Four-bar in which one axis is out of line by half a milliradian."""
    tilted = (0.0, math.cos(5e-4), math.sin(5e-4))
    b = (0.12, 0.0, 0.16)
    d = (0.5, 0.0, 0.0)
    return single_loop(
        "nearly_planar_fourbar",
        [
            "Four-bar that looks planar, but the axis of joint C is tilted by 0.5 mrad:",
            "it cannot move.",
        ],
        [Y, Y, tilted, Y],
        [(0.0, 0.0, 0.0), b, meeting_point(b, d, 0.45, 0.35, Y, -1), d],
        links=["crank", "coupler", "rocker"],
    )


def slider_crank() -> Linkage:
    """Slider-crank with an offset."""
    return single_loop(
        "slider_crank",
        ["Slider-crank: crank 0.1 m, connecting rod 0.25 m, offset 0.01 m."],
        [Y, Y, Y, X],
        [(0.0, 0.0, 0.0), (0.06, 0.0, 0.08), (0.3, 0.0, 0.01), (0.3, 0.0, 0.01)],
        kinds="RRRP",
        links=["crank", "rod", "slider"],
    )


def three_cranks() -> Linkage:
    """Parallelogram with a third crank."""
    axes = []
    for k, x in enumerate((0.0, 0.5, 0.2)):
        foot, head = (x, 0.0, 0.0), (x + 0.1, 0.0, 0.25)
        axes.append(pin(f"A{k + 1}", GROUND, f"crank_{k + 1}", foot, driven=k == 0))
        axes.append(pin(f"B{k + 1}", f"crank_{k + 1}", "coupler", head, closes=k > 0))
    return Linkage(
        "three_cranks",
        (
            "Parallelogram with a third crank of equal length, the double four-bar of figure 3 in",
            "Müller (2014): it moves only because the three cranks are equal.",
        ),
        tuple(axes),
    )


def n_fourbar(windows: int) -> Linkage:
    """Row of four-bars with unit links, cranks upright (IFToMM benchmark problem A02)."""
    axes = [pin("A0", GROUND, "crank_0", (0.0, 0.0, 0.0), driven=True)]
    for k in range(windows):
        here, there = float(k), float(k + 1)
        axes.append(pin(f"B{k}", f"crank_{k}", f"rod_{k}", (here, 0.0, 1.0)))
        axes.append(pin(f"C{k}", f"rod_{k}", f"crank_{k + 1}", (there, 0.0, 1.0)))
        axes.append(pin(f"A{k + 1}", f"crank_{k + 1}", GROUND, (there, 0.0, 0.0), closes=True))
    return Linkage(
        f"n_fourbar_{windows}",
        (f"IFToMM benchmark problem A02 with {windows} window(s): thin rods of 1 m and 1 kg.",),
        tuple(axes),
        section=0.04,
        thin=True,
    )


def braced_fourbar() -> Linkage:
    """Four-bar whose coupler is a frame with one brace too many."""
    a, b = (0.0, 0.0, 0.0), (-0.1, 0.0, 0.3)
    corners: dict[str, Vector] = {
        "P": b,
        "Q": (0.35, 0.0, 0.35),
        "R": (0.4, 0.0, 0.7),
        "S": (-0.05, 0.0, 0.65),
    }
    end = (0.6, 0.0, 0.0)
    sides = ("lower", "right", "upper", "left")
    axes = [
        pin("A", GROUND, "crank", a, driven=True),
        pin("B", "crank", "lower", b),
        pin("Q", sides[0], sides[1], corners["Q"]),
        pin("R", sides[1], sides[2], corners["R"]),
        pin("S", sides[2], sides[3], corners["S"]),
        pin("P", sides[3], sides[0], corners["P"], closes=True),
        pin("P5", "lower", "brace_5", corners["P"]),
        pin("R5", "brace_5", "upper", corners["R"], closes=True),
        pin("Q6", "lower", "brace_6", corners["Q"]),
        pin("S6", "brace_6", "upper", corners["S"], closes=True),
        pin("C", "right", "rocker", corners["Q"]),
        pin("D", "rocker", GROUND, end, closes=True),
    ]
    return Linkage(
        "braced_fourbar",
        (
            "Planar mechanism of the kind of figure 1a in Müller (2014): the coupler is a four-bar",
            "frame braced by links 5 and 6, one more than it takes, whatever their lengths.",
        ),
        tuple(axes),
    )


def focal_mechanism() -> Linkage:
    """Focal mechanism of Kempe and Burmester."""
    # Four small quadrilaterals meet in F. Opposite ones are similar: the one at C is k times that
    # at A, the one at D is m times that at B.
    ap, pf, sf, k, m = 0.3, 0.25, 0.3, 1.2, 0.9
    square = k * (k + m) * ap * ap + m * (k + m) * pf * pf - (1 + k * m) * sf * sf
    sa = math.sqrt(square / (k * m * (k * m + 1)))
    qf = k * sa
    a, p = (0.0, 0.0, 0.0), (ap, 0.0, 0.0)
    b = (ap + k * ap / m, 0.0, 0.0)
    f = add(p, times(pf, turned(X, times(-1.0, Y), math.radians(100.0))))
    s = meeting_point(a, f, sa, sf, times(-1.0, Y), 1)
    q = meeting_point(b, f, sf / m, qf, times(-1.0, Y), -1)
    d = times((sa + m * qf) / sa, s)
    c = add(b, times((sf / m + k * sf) * m / sf, minus(q, b)))
    r = add(d, times(m / (k + m), minus(c, d)))
    axes = [
        pin("A", GROUND, "side_da", a, driven=True),
        pin("D", "side_da", "side_cd", d),
        pin("C", "side_cd", "side_bc", c),
        pin("B", "side_bc", GROUND, b, closes=True),
        pin("P", GROUND, "link_p", p),
        pin("Q", "side_bc", "link_q", q),
        pin("R", "side_cd", "link_r", r),
        pin("S", "side_da", "link_s", s),
        pin("F1", "link_p", "link_q", f, closes=True),
        pin("F2", "link_p", "link_r", f, closes=True),
        pin("F3", "link_p", "link_s", f, closes=True),
    ]
    return Linkage(
        "focal_mechanism",
        (
            "Focal mechanism (Kempe 1878, Burmester 1893): a four-bar with a point F that keeps",
            "its distances from one point of each side. By the planar count it cannot move.",
        ),
        tuple(axes),
        section=0.012,
    )


def roberval_balance() -> Linkage:
    """Balance of Roberval."""
    axes = []
    for name, z in (("upper", 0.3), ("lower", 0.15)):
        axes.append(pin(f"pivot_{name}", GROUND, f"beam_{name}", (0.0, 0.0, z), driven=z > 0.2))
    tips = []
    for side, x in (("left", -0.2), ("right", 0.2)):
        tilt = 0.05 if side == "right" else -0.05
        for name, z in (("upper", 0.3), ("lower", 0.15)):
            point = (x, 0.0, z + tilt)
            beam, pan = f"beam_{name}", f"pan_{side}"
            axes.append(pin(f"{side}_{name}", beam, pan, point, closes=name == "lower"))
        tips.append((f"pan_{side}", (x, 0.0, 0.4 + tilt)))
    return Linkage(
        "roberval_balance",
        (
            "Balance of Roberval (1669): two equal beams on one pillar keep both pans upright.",
            "By the planar count it is a rigid structure.",
        ),
        tuple(axes),
        section=0.015,
        tips=tuple(tips),
    )
