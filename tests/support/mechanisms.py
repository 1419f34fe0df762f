"""Textbook mechanisms written down by their joint axes, and changes that alter nothing but names.

All bodies have frames that coincide with the world at the reference pose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from string import ascii_uppercase

import numpy as np
import screws
from numpy.typing import ArrayLike

import regularize as rg

X, Y, Z = np.eye(3)


WORDS = {"R": "revolute", "P": "prismatic", "S": "spherical"}


def chain(
    names: Iterable[str],
    bodies: Sequence[str],
    kinds: str,
    axes: Sequence[ArrayLike],
    points: Sequence[ArrayLike] | np.ndarray,
) -> list[rg.Joint]:
    """Joints from body to body; one letter R, P or S each."""
    ends = zip(names, bodies, bodies[1:], kinds, axes, points, strict=False)
    return [rg.Joint.in_world(n, a, b, WORDS[kind], *at) for n, a, b, kind, *at in ends]


def single_loop(
    name: str, kinds: str, directions: Sequence[ArrayLike], points: Sequence[ArrayLike]
) -> rg.Mechanism:
    """A closed chain. The joints are A, B, C, … in turn."""
    bodies = ["ground", *(f"link {i}" for i in range(1, len(kinds))), "ground"]
    return rg.Mechanism.of_joints(name, chain(ascii_uppercase, bodies, kinds, directions, points))


def leg(
    tag: str, base: str, platform: str, kinds: str, axes: Sequence[ArrayLike], points: np.ndarray
) -> list[rg.Joint]:
    """A serial chain between two bodies."""
    bodies = [base, *(f"{tag} link {i}" for i in range(1, len(kinds))), platform]
    return chain((f"{tag}{i + 1}" for i in range(len(kinds))), bodies, kinds, axes, points)


def planar_fourbar(tilt: float = 0.0) -> rg.Mechanism:
    """Planar four-bar; the axis of joint C may be tilted by an angle in radians."""
    axis = (0.0, np.sin(tilt), np.cos(tilt))
    points = [(0, 0, 0), (0.1, 0.3, 0), (0.9, 0.5, 0), (1, 0, 0)]
    return single_loop("planar four-bar", "RRRR", [Z, Z, axis, Z], points)


def spherical_fourbar() -> rg.Mechanism:
    """Spherical four-bar with axes along the diagonals of a cube (Müller 2014, 7.1)."""
    corners = np.array([(1, 1, -1), (-1, 1, -1), (1, 1, 1), (1, -1, -1)], dtype=float)
    return single_loop("spherical four-bar", "RRRR", [*corners], [*corners])


def spherical_fourbar_flat() -> rg.Mechanism:
    """The same links with all axes in the X-Y plane; joints at a distance of sqrt(3)."""
    side = np.arccos(1 / 3)
    points = np.sqrt(3) * np.array([(np.cos(a), np.sin(a), 0.0) for a in (0.0, -side, np.pi, side)])
    return single_loop("flat spherical four-bar", "RRRR", [*points], [*points])


def slider_crank() -> rg.Mechanism:
    return single_loop(
        "slider-crank", "RRRP", [Z, Z, Z, X], [(0, 0, 0), (0.3, 0.1, 0), (1, 0, 0), (1, 0, 0)]
    )


def sarrus() -> rg.Mechanism:
    return rg.Mechanism.of_joints(
        "Sarrus",
        [
            *leg("a", "ground", "table", "RRR", [Y] * 3, np.array([X, X * 1.3 + Z / 2, X + Z])),
            *leg("b", "ground", "table", "RRR", [X] * 3, np.array([Y, Y * 1.4 + Z / 2, Y + Z])),
        ],
    )


def three_prrr() -> rg.Mechanism:
    """Three mutually orthogonal legs."""
    joints: list[rg.Joint] = []
    for k in range(3):
        e, f, g = np.roll(np.eye(3), -k, axis=0)
        points = np.array([0.3 * e, 0.8 * f + 0.9 * g, 1.1 * f + 0.2 * g, 0.2 * f - 0.1 * k * g])
        joints += leg("abc"[k], "ground", "platform", "PRRR", [e] * 4, points)
    return rg.Mechanism.of_joints("3-PRRR", joints)


def spherical_9r() -> rg.Mechanism:
    """Agile Eye: three spherical legs with right angles."""
    joints: list[rg.Joint] = []
    for k in range(3):
        axes = np.roll(np.eye(3), -k, axis=0)
        joints += leg("abc"[k], "ground", "eye", "RRR", [*axes], axes)
    return rg.Mechanism.of_joints("Agile Eye", joints)


def three_cranks(third: float = 0.5) -> rg.Mechanism:
    """Parallelogram with a third crank, equal to the others when its height is 0.5 m."""
    joints: list[rg.Joint] = []
    for k, (foot, height) in enumerate(((0.0, 0.5), (1.0, 0.5), (0.4, third))):
        points = np.array([(foot, 0, 0), (foot + 0.2, height, 0)])
        joints += leg("abc"[k], "ground", "coupler", "RR", [Z, Z], points)
    return rg.Mechanism.of_joints("three cranks", joints)


def bennett(first: float = 0.6, second: float = 1.1, turn: float = 0.7) -> rg.Mechanism:
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
        T = T @ screws.exp(angle * screws.revolute(Z))
        T = T @ screws.exp(twist * screws.revolute(X) + np.sin(twist) * screws.prismatic(X))
    return single_loop("Bennett", "RRRR", axes, points)


def bricard() -> rg.Mechanism:
    """Orthogonal linkage of Bricard, IFToMM benchmark problem A04."""
    points = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
    return single_loop("Bricard", "RRRRRR", [Y, Z, X, Y, Z, X], points)


def rssr() -> rg.Mechanism:
    points = [(0, 0, 0), (0.3, 0.1, 0), (0.9, 0.6, 0.4), (1, 0, 0)]
    return single_loop("RSSR", "RSSR", [Z, Z, Z, Y], points)


def shaky_7r() -> rg.Mechanism:
    """Two spherical chains and a hinge (joint D), both centres and the hinge axis in one plane."""
    near = np.array([(1, 2, 2), (2, 1, -2), (2, -2, 1)]) / 3
    far = np.array([(-2, 1, 2), (1, -2, 2), (-2, -2, 1)]) / 3
    return single_loop(
        "shaky",
        "RRRRRRR",
        [*near, (0.6, 0, 0.8), *far],
        [(0, 0, 0)] * 3 + [(0.25, 0, 0.3)] + [(0.6, 0, 0)] * 3,
    )


def n_fourbar(windows: int, *, flat: bool = False) -> rg.Mechanism:
    """Row of four-bars with unit links, cranks upright or all lying down (IFToMM A02)."""
    arm = X if flat else Y
    joints = [rg.Joint.in_world("A0", "ground", "crank 0", "revolute", Z)]
    for k in range(windows):
        here, there = k * X, (k + 1) * X
        joints += [
            rg.Joint.in_world(f"A{k + 1}", "ground", f"crank {k + 1}", "revolute", Z, there),
            rg.Joint.in_world(f"B{k}", f"crank {k}", f"rod {k}", "revolute", Z, here + arm),
            rg.Joint.in_world(f"C{k}", f"rod {k}", f"crank {k + 1}", "revolute", Z, there + arm),
        ]
    return rg.Mechanism.of_joints(f"{windows} four-bars", joints)


def on_rods(base: np.ndarray, plate: np.ndarray, lower: str) -> rg.Mechanism:
    """A plate on rods with a ball at the plate."""
    joints = []
    for i, (a, b) in enumerate(zip(base, plate, strict=True)):
        axes = {"axis2": (0, 1, 0)} if lower == "universal" else {}
        joints.append(rg.Joint.in_world(f"L{i}", "ground", f"rod {i}", lower, (1, 0, 0), a, **axes))
        joints.append(rg.Joint.in_world(f"U{i}", f"rod {i}", "plate", "spherical", Z, b))
    return rg.Mechanism.of_joints("rods", joints)


def braced_quadrilateral() -> rg.Mechanism:
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
    return rg.Mechanism.of_joints(
        "braced quadrilateral",
        [rg.Joint.in_world(name, a, b, "revolute", Z, point) for name, a, b, point in bars],
    )


def moved(mechanism: rg.Mechanism, T: np.ndarray) -> rg.Mechanism:
    """The mechanism carried to another place: only the frames on the ground change."""
    joints = []
    for joint in mechanism.joints:
        if joint.parent == mechanism.ground:
            joint = replace(joint, T_parent_joint=T @ joint.T_parent_joint)
        elif joint.child == mechanism.ground:
            joint = replace(joint, T_child_joint=T @ joint.T_child_joint)
        joints.append(joint)
    return replace(mechanism, joints=tuple(joints))


def scaled(mechanism: rg.Mechanism, factor: float) -> rg.Mechanism:
    """The mechanism built larger or smaller."""
    joints = []
    for joint in mechanism.joints:
        frames = [np.array(joint.T_parent_joint), np.array(joint.T_child_joint)]
        freedoms = np.array(joint.screws)
        position = np.array(joint.position)
        for T in frames:
            T[:3, 3] *= factor
        turning = np.linalg.norm(freedoms[3:], axis=0) > 0.0
        freedoms[:3, turning] *= factor
        position[~turning] *= factor
        joints.append(
            replace(
                joint,
                screws=freedoms,
                T_parent_joint=frames[0],
                T_child_joint=frames[1],
                position=position,
            )
        )
    return replace(mechanism, joints=tuple(joints))


def turned_round(joint: rg.Joint) -> rg.Joint:
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


def coordinate_names(mechanism: rg.Mechanism) -> list[str]:
    """The joint's name for every joint coordinate, numbered where it has several freedoms."""
    return [
        joint.name if joint.freedoms == 1 else f"{joint.name}[{i}]"
        for joint in mechanism.joints
        for i in range(joint.freedoms)
    ]


def with_coordinates(mechanism: rg.Mechanism, q: np.ndarray) -> rg.Mechanism:
    """The mechanism with other stored coordinates, those of all joints in order, shape (n,)."""
    ends = np.cumsum([joint.freedoms for joint in mechanism.joints])
    parts = np.split(q, ends[:-1])
    names = [joint.name for joint in mechanism.joints]
    return mechanism.with_positions(dict(zip(names, parts, strict=True)))


def acted(joint: rg.Joint, **forces: ArrayLike) -> rg.Joint:
    """The joint with damping, friction, springs or rotors, named as in ``rg.assembly``."""
    return replace(joint, dynamics=replace(joint.dynamics, **forces))


def bounded(joint: rg.Joint, limits: ArrayLike, **rates: ArrayLike) -> rg.Joint:
    """The joint with bounds of its coordinates, and with ``velocity`` and ``effort``."""
    joint = replace(joint, limits=np.reshape(limits, (-1, 2)))
    return replace(joint, limits=replace(joint.limits, **rates))
