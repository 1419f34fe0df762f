"""Textbook mechanisms written down by their joint axes, and changes that alter nothing but names.

All bodies have frames that coincide with the world at the reference pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.mechanism import (
    Joint,
    Mechanism,
    joint_in_world,
    mechanism_of,
)

X, Y, Z = np.eye(3)


def single_loop(
    name: str, kinds: str, directions: Sequence[ArrayLike], points: Sequence[ArrayLike]
) -> Mechanism:
    """A closed chain; one letter R, P or S per joint. The joints are A, B, C, … in turn."""
    words = {"R": "revolute", "P": "prismatic", "S": "spherical"}
    count = len(kinds)
    bodies = ["ground", *(f"link {i}" for i in range(1, count)), "ground"]
    return mechanism_of(
        name,
        [
            joint_in_world(
                chr(ord("A") + i),
                bodies[i],
                bodies[i + 1],
                words[kinds[i]],
                directions[i],
                points[i],
            )
            for i in range(count)
        ],
    )


def leg(
    tag: str, base: str, platform: str, kinds: str, axes: Sequence[ArrayLike], points: Array
) -> list[Joint]:
    """A serial chain between two bodies."""
    words = {"R": "revolute", "P": "prismatic", "S": "spherical"}
    bodies = [base, *(f"{tag} link {i}" for i in range(1, len(kinds))), platform]
    return [
        joint_in_world(
            f"{tag}{i + 1}", bodies[i], bodies[i + 1], words[kinds[i]], axes[i], points[i]
        )
        for i in range(len(kinds))
    ]


def planar_fourbar(tilt: float = 0.0) -> Mechanism:
    """Planar four-bar; the axis of joint C may be tilted by an angle in radians."""
    axis = (0.0, np.sin(tilt), np.cos(tilt))
    points = [(0, 0, 0), (0.1, 0.3, 0), (0.9, 0.5, 0), (1, 0, 0)]
    return single_loop("planar four-bar", "RRRR", [Z, Z, axis, Z], points)


def spherical_fourbar() -> Mechanism:
    """Spherical four-bar with axes along the diagonals of a cube (Müller 2014, 7.1)."""
    corners = np.array([(1, 1, -1), (-1, 1, -1), (1, 1, 1), (1, -1, -1)], dtype=float)
    return single_loop("spherical four-bar", "RRRR", [*corners], [*corners])


def spherical_fourbar_flat() -> Mechanism:
    """The same links with all axes in the X-Y plane; joints at a distance of sqrt(3)."""
    side = np.arccos(1 / 3)
    points = np.sqrt(3) * np.array([(np.cos(a), np.sin(a), 0.0) for a in (0.0, -side, np.pi, side)])
    return single_loop("flat spherical four-bar", "RRRR", [*points], [*points])


def slider_crank() -> Mechanism:
    return single_loop(
        "slider-crank", "RRRP", [Z, Z, Z, X], [(0, 0, 0), (0.3, 0.1, 0), (1, 0, 0), (1, 0, 0)]
    )


def sarrus() -> Mechanism:
    return mechanism_of(
        "Sarrus",
        [
            *leg("a", "ground", "table", "RRR", [Y] * 3, np.array([X, X * 1.3 + Z / 2, X + Z])),
            *leg("b", "ground", "table", "RRR", [X] * 3, np.array([Y, Y * 1.4 + Z / 2, Y + Z])),
        ],
    )


def three_prrr() -> Mechanism:
    """Three mutually orthogonal legs."""
    joints: list[Joint] = []
    for k in range(3):
        e, f, g = np.roll(np.eye(3), -k, axis=0)
        points = np.array([0.3 * e, 0.8 * f + 0.9 * g, 1.1 * f + 0.2 * g, 0.2 * f - 0.1 * k * g])
        joints += leg("abc"[k], "ground", "platform", "PRRR", [e] * 4, points)
    return mechanism_of("3-PRRR", joints)


def spherical_9r() -> Mechanism:
    """Agile Eye: three spherical legs with right angles."""
    joints: list[Joint] = []
    for k in range(3):
        axes = np.roll(np.eye(3), -k, axis=0)
        joints += leg("abc"[k], "ground", "eye", "RRR", [*axes], axes)
    return mechanism_of("Agile Eye", joints)


def three_cranks(third: float = 0.5) -> Mechanism:
    """Parallelogram with a third crank, equal to the others when its height is 0.5 m."""
    joints: list[Joint] = []
    for k, (foot, height) in enumerate(((0.0, 0.5), (1.0, 0.5), (0.4, third))):
        points = np.array([(foot, 0, 0), (foot + 0.2, height, 0)])
        joints += leg("abc"[k], "ground", "coupler", "RR", [Z, Z], points)
    return mechanism_of("three cranks", joints)


def bennett(first: float = 0.6, second: float = 1.1, turn: float = 0.7) -> Mechanism:
    """Linkage of Bennett by its Denavit-Hartenberg parameters, lengths equal to sines of twists."""
    product = np.sin(0.5 * (second + first)) / np.sin(0.5 * (second - first))
    other = 2.0 * np.arctan(product / np.tan(0.5 * turn))
    T = np.eye(4)
    axes, points = [], []
    for twist, angle in (
        (first, turn),
        (second, other),
        (first, 2 * np.pi - turn),
        (second, 2 * np.pi - other),
    ):
        axes.append(T[:3, 2])
        points.append(T[:3, 3])
        T = T @ screw.exp(angle * screw.revolute(Z))
        T = T @ screw.exp(twist * screw.revolute(X) + np.sin(twist) * screw.prismatic(X))
    return single_loop("Bennett", "RRRR", axes, points)


def bricard() -> Mechanism:
    """Orthogonal linkage of Bricard, IFToMM benchmark problem A04."""
    points = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
    return single_loop("Bricard", "RRRRRR", [Y, Z, X, Y, Z, X], points)


def rssr() -> Mechanism:
    points = [(0, 0, 0), (0.3, 0.1, 0), (0.9, 0.6, 0.4), (1, 0, 0)]
    return single_loop("RSSR", "RSSR", [Z, Z, Z, Y], points)


def shaky_7r() -> Mechanism:
    """Two spherical chains and a hinge (joint D), both centres and the hinge axis in one plane."""
    near = np.array([(1, 2, 2), (2, 1, -2), (2, -2, 1)]) / 3
    far = np.array([(-2, 1, 2), (1, -2, 2), (-2, -2, 1)]) / 3
    return single_loop(
        "shaky",
        "RRRRRRR",
        [*near, (0.6, 0, 0.8), *far],
        [(0, 0, 0)] * 3 + [(0.25, 0, 0.3)] + [(0.6, 0, 0)] * 3,
    )


def n_fourbar(windows: int, *, flat: bool = False) -> Mechanism:
    """Row of four-bars with unit links, cranks upright or all lying down (IFToMM A02)."""
    arm = X if flat else Y
    joints = [joint_in_world("A0", "ground", "crank 0", "revolute", Z)]
    for k in range(windows):
        here, there = k * X, (k + 1) * X
        joints += [
            joint_in_world(f"A{k + 1}", "ground", f"crank {k + 1}", "revolute", Z, there),
            joint_in_world(f"B{k}", f"crank {k}", f"rod {k}", "revolute", Z, here + arm),
            joint_in_world(f"C{k}", f"rod {k}", f"crank {k + 1}", "revolute", Z, there + arm),
        ]
    return mechanism_of(f"{windows} four-bars", joints)


def on_rods(base: Array, plate: Array, lower: str) -> Mechanism:
    """A plate on rods with a ball at the plate."""
    joints = []
    for i, (a, b) in enumerate(zip(base, plate, strict=True)):
        axes = {"axis2": (0, 1, 0)} if lower == "universal" else {}
        joints.append(joint_in_world(f"L{i}", "ground", f"rod {i}", lower, (1, 0, 0), a, **axes))
        joints.append(joint_in_world(f"U{i}", f"rod {i}", "plate", "spherical", Z, b))
    return mechanism_of("rods", joints)


def braced_quadrilateral() -> Mechanism:
    """A hinged quadrilateral with both diagonals, on a pivot: one brace too many."""
    corner = {"P": (0, 0, 0), "Q": (1, 0, 0), "R": (1.2, 1, 0), "S": (0.1, 0.9, 0)}
    bars = [
        ("pivot", "ground", "lower", (-0.5, 0, 0)),
        ("P", "lower", "left", corner["P"]),
        ("Q", "lower", "right", corner["Q"]),
        ("R", "right", "upper", corner["R"]),
        ("S", "left", "upper", corner["S"]),
        ("P5", "lower", "brace 5", corner["P"]),
        ("R5", "brace 5", "upper", corner["R"]),
        ("Q6", "lower", "brace 6", corner["Q"]),
        ("S6", "brace 6", "upper", corner["S"]),
    ]
    return mechanism_of(
        "braced quadrilateral",
        [joint_in_world(name, a, b, "revolute", Z, point) for name, a, b, point in bars],
    )


def moved(mechanism: Mechanism, T: Array) -> Mechanism:
    """The mechanism carried to another place: only the frames on the ground change."""
    joints = []
    for joint in mechanism.joints:
        if joint.parent == mechanism.ground:
            joint = replace(joint, T_parent_joint=T @ joint.T_parent_joint)
        elif joint.child == mechanism.ground:
            joint = replace(joint, T_child_joint=T @ joint.T_child_joint)
        joints.append(joint)
    return replace(mechanism, joints=tuple(joints))


def scaled(mechanism: Mechanism, factor: float) -> Mechanism:
    """The mechanism built larger or smaller."""
    joints = []
    for joint in mechanism.joints:
        frames = [np.array(joint.T_parent_joint), np.array(joint.T_child_joint)]
        screws = np.array(joint.screws)
        position = np.array(joint.position)
        for T in frames:
            T[:3, 3] *= factor
        turning = np.linalg.norm(screws[3:], axis=0) > 0.0
        screws[:3, turning] *= factor
        position[~turning] *= factor
        joints.append(
            replace(
                joint,
                screws=screws,
                T_parent_joint=frames[0],
                T_child_joint=frames[1],
                position=position,
            )
        )
    return replace(mechanism, joints=tuple(joints))


def turned_round(joint: Joint) -> Joint:
    """The same joint with its two bodies exchanged: the inverse motion, at zero coordinates."""
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        T_parent_joint=joint.T_child_joint,
        T_child_joint=joint.T_parent_joint,
        screws=-joint.screws[:, ::-1],
        position=-joint.position[::-1],
    )
