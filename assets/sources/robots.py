"""Machines with linkages as people build them."""

from __future__ import annotations

from sources.linkage import GROUND, Axis, Linkage, chain
from sources.planar import pin
from sources.vector import Vector, X, Y, Z, add, meeting_point, times

#: Link lengths of a walker's leg in metres.
ROCKER_UP, ROCKER_DOWN, ROCKER_OUT, ROCKER_EDGE = 0.40, 0.38, 0.40, 0.54
ROD_UP, ROD_DOWN, LINK = 0.50, 0.60, 0.39
FOOT_EDGE, FOOT_REACH, FOOT_BACK = 0.36, 0.50, 0.64


def _walking_leg(tag: str, side: int, pin_point: Vector, depth: float) -> tuple[list[Axis], Vector]:
    """A leg of eight links that a crank pin drives.

    Args:
        tag: Suffix of all names.
        side: 1 for a leg on the left, seen from the front, -1 for its mirror image.
        pin_point: The crank pin.
        depth: Position along the crank shaft in metres.
    """
    shoulder = (-0.37 * side, depth, -0.08)
    normal = (0.0, -1.0, 0.0)  # X to the right and Z up, seen from the front
    top = meeting_point(pin_point, shoulder, ROD_UP, ROCKER_UP, normal, -side)
    knee = meeting_point(pin_point, shoulder, ROD_DOWN, ROCKER_DOWN, normal, side)
    out = meeting_point(top, shoulder, ROCKER_EDGE, ROCKER_OUT, normal, -side)
    ankle = meeting_point(out, knee, LINK, FOOT_EDGE, normal, -side)
    toe = meeting_point(ankle, knee, FOOT_REACH, FOOT_BACK, normal, -side)
    axes = [
        pin(f"crank_up_{tag}", "crank", f"rod_up_{tag}", pin_point),
        pin(f"crank_down_{tag}", "crank", f"rod_down_{tag}", pin_point),
        pin(f"top_{tag}", f"rod_up_{tag}", f"rocker_{tag}", top),
        pin(f"shoulder_{tag}", f"rocker_{tag}", GROUND, shoulder, closes=True),
        pin(f"hip_{tag}", GROUND, f"strut_{tag}", shoulder),
        pin(f"knee_{tag}", f"strut_{tag}", f"rod_down_{tag}", knee, closes=True),
        pin(f"shin_{tag}", f"strut_{tag}", f"foot_{tag}", knee),
        pin(f"out_{tag}", f"rocker_{tag}", f"link_{tag}", out),
        pin(f"ankle_{tag}", f"link_{tag}", f"foot_{tag}", ankle, closes=True),
    ]
    return axes, toe


def walker() -> Linkage:
    """Walking machine with two pairs of legs on one crank shaft."""
    axes = [pin("shaft", GROUND, "crank", (0.0, 0.0, 0.0), driven=True)]
    tips: list[tuple[str, Vector]] = []
    for row, depth, crank in ((1, -0.1, (0.09, 0.0, 0.12)), (2, 0.1, (-0.09, 0.0, -0.12))):
        pin_point = add(crank, (0.0, depth, 0.0))
        for side, name in ((1, "left"), (-1, "right")):
            leg, toe = _walking_leg(f"{name}_{row}", side, pin_point, depth)
            axes += leg
            tips.append((f"foot_{name}_{row}", toe))
    return Linkage(
        "walker",
        (
            "Walking machine with four legs of eight links on one crank shaft, of the kind that",
            "Theo Jansen builds, with link lengths of its own.",
        ),
        tuple(axes),
        section=0.02,
        tips=tuple(tips),
    )


def gripper() -> Linkage:
    """Gripper with two fingers that stay parallel."""
    axes = [Axis("plunger", GROUND, "slider", "prismatic", (0.0, 0.0, 0.02), Z, driven=True)]
    tips: list[tuple[str, Vector]] = []
    for s, name in ((-1.0, "left"), (1.0, "right")):
        points = {
            "eye": (s * 0.012, 0.0, 0.02),
            "pin": (s * 0.026, 0.0, 0.042),
            "pivot": (s * 0.045, 0.0, 0.05),
            "tip": (s * 0.07, 0.0, 0.1),
            "guide": (s * 0.02, 0.0, 0.065),
            "heel": (s * 0.045, 0.0, 0.115),
        }
        crank, link, finger, arm = (f"{b}_{name}" for b in ("crank", "link", "finger", "arm"))
        axes += [
            pin(f"eye_{name}", "slider", link, points["eye"]),
            pin(f"pivot_{name}", GROUND, crank, points["pivot"]),
            pin(f"pin_{name}", link, crank, points["pin"], closes=True),
            pin(f"tip_{name}", crank, finger, points["tip"]),
            pin(f"guide_{name}", GROUND, arm, points["guide"]),
            pin(f"heel_{name}", arm, finger, points["heel"], closes=True),
        ]
        tips.append((finger, (s * 0.03, 0.0, 0.19)))
    return Linkage(
        "gripper",
        ("Gripper: a plunger drives two fingers, each of which a parallelogram keeps upright.",),
        tuple(axes),
        section=0.006,
        tips=tuple(tips),
    )


def knee_leg() -> Linkage:
    """Leg with a crossed four-bar for a knee."""
    hip = (0.0, 0.0, 0.9)
    axes = chain(
        [GROUND, "hip", "bracket", "thigh"],
        ["hip_yaw", "hip_roll", "hip_pitch"],
        [Z, X, Y],
        [hip, hip, hip],
        closes=False,
    )
    axes += [
        pin("knee_front", "thigh", "front_link", (-0.02, 0.0, 0.5), driven=True),
        pin("knee_rear", "thigh", "rear_link", (0.022, 0.0, 0.498)),
        pin("knee_front_low", "front_link", "shank", (0.026, 0.0, 0.458)),
        pin("knee_rear_low", "rear_link", "shank", (-0.015, 0.0, 0.45), closes=True),
        pin("ankle_pitch", "shank", "ankle", (0.0, 0.0, 0.08)),
        Axis("ankle_roll", "ankle", "foot", "revolute", (0.0, 0.0, 0.08), X),
    ]
    foot = [times(1.0, p) for p in ((-0.06, 0.0, 0.0), (0.14, 0.0, 0.0))]
    return Linkage(
        "knee_leg",
        ("Leg with three hinges in the hip, a crossed four-bar for a knee, and two in the ankle.",),
        tuple(axes),
        section=0.015,
        tips=tuple(("foot", point) for point in foot),
    )
