r"""Write the mechanisms of Paul (2020) as URDF+ files, with their known answers.

Every number of the thesis' tables stands here once. Joints that the thesis calls *forced* hold the
value of the table for ever; they become fixed joints of the same name. Where the thesis prints no
dimensions (the suspension), the ones below were chosen for this file.

    python assets/thesis/make.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import asin, cos, pi, sin, sqrt
from pathlib import Path

HERE = Path(__file__).parent
AXES = {"1": (1, 0, 0), "2": (0, 1, 0), "3": (0, 0, 1)}

Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


@dataclass
class Model:
    """A URDF+ file in the making."""

    name: str
    lines: list[str] = field(default_factory=list)

    def link(
        self, name: str, mass: float = 0.0, center: Vector = ZERO, inertia: float = 0.0
    ) -> None:
        """A link; one without mass has no mass properties at all."""
        if mass == 0.0:
            self.lines.append(f'  <link name="{name}"/>')
            return
        diagonal = " ".join(f'{key}="{inertia:.10g}"' for key in ("ixx", "iyy", "izz"))
        self.lines += [
            f'  <link name="{name}">',
            "    <inertial>",
            f'      <origin xyz="{_text(center)}"/>',
            f'      <mass value="{mass:.10g}"/>',
            f'      <inertia {diagonal} ixy="0" ixz="0" iyz="0"/>',
            "    </inertial>",
            "  </link>",
        ]

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        at: Vector = ZERO,
        *,
        rpy: Vector = ZERO,
        axis: Vector | None = None,
        motor: bool = False,
    ) -> None:
        """A joint; ``kind`` as URDF writes it."""
        independent = ' independent="true"' if motor else ""
        self.lines.append(f'  <joint name="{name}" type="{kind}"{independent}>')
        self.lines.append(f'    <parent link="{parent}"/>')
        self.lines.append(f'    <child link="{child}"/>')
        self.lines.append(f'    <origin xyz="{_text(at)}" rpy="{_text(rpy)}"/>')
        if axis is not None:
            self.lines.append(f'    <axis xyz="{_text(axis)}"/>')
        self.lines.append("  </joint>")

    def motion(
        self,
        name: str,
        motion: str,
        parent: str,
        child: str,
        at: Vector = ZERO,
        *,
        forced: float | None = None,
        motor: bool = False,
    ) -> None:
        """A joint in Robotran's notation: T or R and the number of the axis."""
        axis = AXES[motion[1]]
        if forced is not None:
            rpy = (axis[0] * forced, axis[1] * forced, axis[2] * forced)
            self.joint(name, "fixed", parent, child, at, rpy=rpy)
            return
        kind = "continuous" if motion[0] == "R" else "prismatic"
        self.joint(name, kind, parent, child, at, axis=axis, motor=motor)

    def loop(
        self,
        name: str,
        kind: str,
        first: str,
        second: str,
        at: Vector = ZERO,
        end: Vector = ZERO,
        axis: Vector | None = None,
    ) -> None:
        """A cut: ``spherical`` (Robotran's ball), ``fixed`` (its solid cut) or ``revolute``."""
        self.lines += [
            f'  <loop name="{name}" type="{kind}">',
            f'    <predecessor link="{first}"><origin xyz="{_text(at)}"/></predecessor>',
            f'    <successor link="{second}"><origin xyz="{_text(end)}"/></successor>',
            *([] if axis is None else [f'    <axis xyz="{_text(axis)}"/>']),
            "  </loop>",
        ]

    def write(self) -> None:
        """Write ``name.urdf`` beside this script."""
        text = [f'<robot name="{self.name}">', *self.lines, "</robot>", ""]
        (HERE / f"{self.name}.urdf").write_text("\n".join(text), encoding="utf-8")


def _text(vector: Sequence[float]) -> str:
    return " ".join(f"{x:.16g}" for x in vector)


def door() -> None:
    """The introduction's first example: hinges that restrain the same, to share the effort."""
    model = Model("door")
    model.link("wall")
    model.link("door", 30.0, (0.4, 0.0, 1.0), 10.0)
    model.motion("q1", "R3", "wall", "door")
    for i, height in enumerate((1.0, 1.8), start=2):
        place = (0.0, 0.0, height)
        model.loop(f"hinge{i}", "revolute", "wall", "door", place, place, AXES["3"])
    model.write()


#: Section 6.1.2: lengths along the bodies, from joint to joint.
D01, D02, D11, D21, D22, D31, D41 = 1.0, 0.5, 0.5, 1.0, 0.5, 0.5, 0.5
BAR_MASS = 1.0


def _hanging(name: str) -> Model:
    """The ceiling: the thesis turns its drawing upside down, so that the bars hang."""
    model = Model(name)
    model.link("ceiling")
    model.link("body0")
    model.joint("upside_down", "fixed", "ceiling", "body0", rpy=(pi, 0.0, 0.0))
    model.link("body1", BAR_MASS, (0.0, 0.0, D11 / 2))
    model.link("body2", BAR_MASS, (0.0, 0.0, D21 / 2))
    model.link("body3", BAR_MASS, (D31 / 2, 0.0, 0.0))
    model.motion("q1", "R2", "body0", "body1")
    model.motion("q2", "R2", "body1", "body2", (0.0, 0.0, D11))
    model.motion("q3", "R2", "body2", "body3", (0.0, 0.0, D21))
    return model


def three_bar() -> None:
    """Section 5.4.1, figure 15; lengths of section 6.1.2, which fulfil its two conditions."""
    model = _hanging("three_bar")
    model.loop("cut1", "spherical", "body0", "body3", (D01, 0.0, 0.0), (D31, 0.0, 0.0))
    model.write()


def redundant_four_bar() -> None:
    """Section 6.1, figure 22 and its tables."""
    model = _hanging("redundant_four_bar")
    model.link("body4", BAR_MASS, (D41 / 2, 0.0, 0.0))
    model.motion("q4", "R2", "body2", "body4", (0.0, 0.0, D22))
    model.loop("cut1", "spherical", "body0", "body3", (D01, 0.0, 0.0), (D31, 0.0, 0.0))
    model.loop("cut2", "spherical", "body0", "body4", (D02, 0.0, 0.0), (D41, 0.0, 0.0))
    model.write()


#: Chassis and carrier points of the five bars in metres: not from the thesis, which prints none.
BARS: Mapping[str, tuple[Vector, Vector]] = {
    "bar1": ((0.12, 0.36, 0.02), (0.03, 0.72, -0.04)),
    "bar2": ((-0.16, 0.34, 0.00), (-0.05, 0.71, -0.07)),
    "bar3": ((0.15, 0.43, 0.21), (0.05, 0.69, 0.17)),
    "bar4": ((-0.14, 0.41, 0.24), (-0.02, 0.68, 0.19)),
    "bar5": ((-0.29, 0.38, 0.08), (-0.14, 0.73, 0.03)),
}
WHEEL_CENTER: Vector = (0.0, 0.77, 0.05)


def five_point_suspension() -> None:
    """Section 5.4.2, figure 19: chassis, five bars, wheel carrier and wheel.

    Universal joints at the chassis (10 freedoms), a ball joint from the first bar to the carrier
    (3), the wheel's hinge (1), and four ball cuts (12 constraints).
    """
    model = Model("five_point_suspension")
    model.link("chassis")
    for name, (inner, outer) in BARS.items():
        along = _minus(outer, inner)
        model.link(f"{name}_cross")
        model.link(name, 1.5, (along[0] / 2, along[1] / 2, along[2] / 2), 0.02)
        model.motion(f"{name}_R1", "R1", "chassis", f"{name}_cross", inner)
        model.motion(f"{name}_R3", "R3", f"{name}_cross", name)
    first = BARS["bar1"][1]
    model.link("ball_1")
    model.link("ball_2")
    model.link("carrier", 12.0, _minus((0.0, 0.71, 0.05), first), 0.2)
    model.motion("carrier_R1", "R1", "bar1", "ball_1", _minus(first, BARS["bar1"][0]))
    model.motion("carrier_R2", "R2", "ball_1", "ball_2")
    model.motion("carrier_R3", "R3", "ball_2", "carrier")
    model.link("wheel", 15.0, ZERO, 0.6)
    model.motion("wheel_R2", "R2", "carrier", "wheel", _minus(WHEEL_CENTER, first))
    for name, (inner, outer) in list(BARS.items())[1:]:
        cut = (name, "carrier", _minus(outer, inner), _minus(outer, first))
        model.loop(f"{name}_ball", "spherical", *cut)
    model.write()


def _minus(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


#: Section 6.2.2.
LENGTH, THETA = 1.0, pi / 4
BETA = 2 * asin(3 * cos(THETA) / (2 * sqrt(3)))
MOTORS: tuple[Vector, ...] = (ZERO, (LENGTH, 0.0, 0.0), (LENGTH / 2, sqrt(3) * LENGTH / 2, 0.0))
TOWARDS_CENTER = (pi / 6, 5 * pi / 6, -pi / 2)
AROUND = (0.0, -2 * pi / 3, 2 * pi / 3)
D_ARM: Vector = (LENGTH * cos((pi - BETA) / 2), 0.0, -LENGTH * sin((pi - BETA) / 2))
D_ARM2: Vector = (
    (2 + cos(BETA)) * LENGTH * sqrt(3) / (6 * cos(THETA)),
    -sin(BETA) * LENGTH * sqrt(3) / (6 * cos(THETA)),
    0.0,
)
D_EYE: Vector = (0.0, LENGTH * sqrt(3) / (6 * cos(THETA)), 0.0)
EYE_MASS, EYE_RADIUS = 4.0, 0.2


def agile_eye() -> None:
    """Section 6.2, figure 24: the eye is a free body, welded to the ends of three branches."""
    model = Model("agile_eye")
    model.link("base")
    before = "base"
    for i, motion in enumerate(("T1", "T2", "T3", "R1", "R2", "R3"), start=1):
        name = "eye" if i == 6 else f"eye_{motion}"
        model.link(name, *((EYE_MASS, ZERO, 0.4 * EYE_MASS * EYE_RADIUS**2) if i == 6 else ()))
        model.motion(f"q{i}", motion, before, name)
        before = name
    for k in range(3):
        first = 7 + 9 * k
        steps: tuple[tuple[str, float | None, Vector, str], ...] = (
            ("R3", TOWARDS_CENTER[k], MOTORS[k], "heading"),
            ("R2", -THETA, ZERO, "motor"),
            ("R1", None, ZERO, "arm"),
            ("R2", -BETA, D_ARM, "arm_end"),
            ("R1", None, ZERO, "link"),
            ("R3", pi / 2 - BETA, D_ARM2, "link_end"),
            ("R2", None, ZERO, "eye_arm"),
            ("R1", THETA, D_EYE, "eye_arm_end"),
            ("R3", AROUND[k], ZERO, "phantom_eye"),
        )
        before = "base"
        for i, (motion, forced, at, body) in enumerate(steps):
            name = f"{body}{k + 1}"
            model.link(name)
            motor = i == 2
            model.motion(f"q{first + i}", motion, before, name, at, forced=forced, motor=motor)
            before = name
        model.loop(f"cut{k + 1}", "fixed", "eye", f"phantom_eye{k + 1}")
    model.write()


#: Counts of the thesis where it gives them, and start values of its tables. The bars of the plane
#: mechanisms are cut by balls: in space each cut has one more constraint, across the plane.
ANSWERS = {
    "door": {"gruebler": -9, "mobility": 1, "redundant": 10},
    "three_bar": {
        "gruebler": 0,
        "mobility": 1,
        "redundant": 1,
        "plane_constraints": 2,
        "plane_redundant": 0,
        "start": {"q1": pi / 4, "q2": 1.0, "q3": 0.1},
        "independent": ["q1"],
    },
    "five_point_suspension": {
        "joint_freedoms": 14,
        "cut_constraints": 12,
        "gruebler": 2,
        "mobility": 2,
        "redundant": 0,
    },
    "redundant_four_bar": {
        "gruebler": -2,
        "mobility": 1,
        "redundant": 3,
        "plane_constraints": 4,
        "plane_redundant": 1,
        "start": {"q1": 0.78539816339, "q2": 1.0, "q3": 0.1, "q4": 0.4},
        "independent": ["q1"],
        "closed": {"q1": 0.78539816339, "q2": pi / 2 - 0.78539816339},
        "pendulum": {
            "equation": "inertia * ddq1 = -9.81 * moment * sin(q1)",
            "inertia": BAR_MASS * (3 * 0.25**2 + 0.5**2),
            "moment": BAR_MASS * (3 * 0.25 + 0.5),
        },
    },
    "agile_eye": {
        "joint_freedoms": 15,
        "cut_constraints": 18,
        "gruebler": -3,
        "mobility": 3,
        "redundant": 6,
        "center": [LENGTH / 2, LENGTH / (2 * sqrt(3)), LENGTH / sqrt(3)],
        "start": {
            "q1": 0.4,
            "q2": 0.28,
            "q3": 0.55,
            **{f"q{first}": -0.68471920311242 for first in (9, 18, 27)},
            **{f"q{first}": 0.2 for first in (11, 20, 29)},
            **{f"q{first}": 2.25 for first in (13, 22, 31)},
        },
        "independent": ["q9", "q18", "q27"],
    },
}


def main() -> None:
    """Write all files."""
    door()
    three_bar()
    five_point_suspension()
    redundant_four_bar()
    agile_eye()
    answers = json.dumps(ANSWERS, indent=2)
    (HERE / "answers.json").write_text(answers + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
