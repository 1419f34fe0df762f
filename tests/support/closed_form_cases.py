"""Mechanisms of engineering practice whose loops have a closed-form solution, with their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import screws
from screws import joint_screws

import regularize as rg

X, Y, Z = np.eye(3)

Case = tuple[rg.Mechanism, list[str]]


def ring(name: str, *joints: tuple[str, str, Any, Any]) -> rg.Mechanism:
    """One loop of joints (name, kind, axis, point) that starts and ends at the ground."""
    bodies = ["ground", *(f"b{i}" for i in range(len(joints) - 1)), "ground"]
    return rg.Mechanism.of_joints(
        name,
        [
            rg.Joint.in_world(label, bodies[i], bodies[i + 1], kind, axis, point)
            for i, (label, kind, axis, point) in enumerate(joints)
        ],
    )


def closure_errors(solution: Any, q: np.ndarray) -> np.ndarray:
    """Largest gap of any loop at configurations (..., n), shape (N,)."""
    loops = rg.reduce(solution.graph.mechanism).loops
    residual = loops.residual(loops.state(q.reshape(-1, q.shape[-1])))
    return np.max(np.abs(residual[:, : 6 * len(loops.chords)]), axis=1)


def newton_from_everywhere(
    solution: Any, x: np.ndarray, starts: int, seed: int = 7
) -> tuple[np.ndarray, np.ndarray]:
    """Configurations that Newton's method finds from random starts, and singular values there."""
    loops, rng = rg.reduce(solution.graph.mechanism).loops, np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, size=(starts, loops.freedoms))
    q[:, list(solution.columns)] = x
    free = np.setdiff1d(np.arange(loops.freedoms), solution.columns)
    for _ in range(60):
        state = loops.state(q)
        jacobian, step = loops.residual_jacobian(state)[:, :, free], np.zeros_like(q)
        found = np.linalg.pinv(jacobian, rcond=1e-9) @ loops.residual(state)[..., None]
        step[:, free] = -found[..., 0]
        step /= np.maximum(1.0, np.max(np.abs(step), axis=1, keepdims=True) / 0.7)
        q = loops.integrate(q, step)
        q[:, list(solution.columns)] = x
    closed = np.max(np.abs(loops.residual(loops.state(q))), axis=1) < 1e-11
    return q[closed], np.linalg.svd(jacobian[closed], compute_uv=False)


def written_out(solution: Any) -> Any:
    """The function of a solution's Python source."""
    space: dict[str, Any] = {}
    exec(solution.to_python(), space)
    return space["solve"]


def wheel_suspension() -> Case:
    """The trailer's wheel suspension with the numbers of Klein and Kecskeméthy's listing."""
    l1, l2y, l2z, l3y, l3z = 2 * 0.73, 2 * 0.31, 2 * 0.06, 2 * 0.425, 2 * 0.065

    def joint(name: str, parent: str, child: str, kind: str, axis: Any, offset: Any) -> rg.Joint:
        T = screws.transform(None, offset)
        return rg.Joint(name, parent, child, kind, joint_screws(kind, axis), T)

    joints = [
        joint("ang0", "ground", "K1", "revolute", X, (0, 0, 0)),
        joint("ang1", "K1", "K3", "revolute", X, (0, l1 - l2y, l2z)),
        joint("ang2", "K3", "K5", "revolute", X, (0, -l3y, l3z)),
        joint("lin", "K5", "ground", "prismatic", Z, (0, 0, 0)),
    ]
    return rg.Mechanism.of_joints("wheel suspension", joints), ["lin"]


def planar(kinds: str, driven: int) -> Case:
    """A planar four-joint loop, such as RRRP."""
    points = [(0, 0, 0), (0, 0, 0.2), (0.5, 0, 0.45), (0.45, 0, -0.05)]
    slides = [(1, 0, 0.3), (0.2, 0, 1), (1, 0, -0.4), (0.3, 0, 1)]
    joints = [
        (f"{kind}{i}", "revolute", Y, points[i])
        if kind == "R"
        else (f"{kind}{i}", "prismatic", slides[i], points[i])
        for i, kind in enumerate(kinds)
    ]
    return ring(kinds, *joints), [joints[driven][0]]


def spherical_4r() -> Case:
    axes = np.array([(0, 0, 1), (0.3, 0.1, 1), (1, 0.2, 0.5), (1, -0.4, 0.1)])
    center = np.array([0.1, 0.2, 0.3])
    joints = [(f"R{i}", "revolute", a, center + 0.3 * i * a) for i, a in enumerate(axes)]
    return ring("spherical 4R", *joints), ["R0"]


def spatial(name: str, *kinds: str) -> Case:
    """A spatial loop of four joints in general position whose first joint is driven."""
    axes = [(0, 0.1, 1), (0.3, 1, 0.2), (1, 0.2, -0.3), (-0.2, 0.7, 0.8)]
    points = [(0, 0, 0), (0.2, 0, 0.1), (0.7, 0.3, 0.2), (0.8, 0, 0)]
    joints = [(f"J{i}", kind, axes[i], points[i]) for i, kind in enumerate(kinds)]
    return ring(name, *joints), ["J0"]


def rrsc() -> Case:
    """A four-bar linkage with joints that align themselves."""
    mechanism = ring(
        "RRSC",
        ("A", "revolute", Y, (0, 0, 0)),
        ("B", "revolute", Y, (0, 0, 0.2)),
        ("C", "spherical", Z, (0.5, 0, 0.4)),
        ("D", "cylindrical", Y, (0.45, 0, 0)),
    )
    return mechanism, ["A"]


def five_bar() -> Case:
    mechanism = ring(
        "five-bar",
        ("A", "revolute", Z, (0, 0, 0)),
        ("B", "revolute", Z, (-0.1, 0.2, 0)),
        ("C", "revolute", Z, (0.15, 0.5, 0)),
        ("D", "revolute", Z, (0.4, 0.2, 0)),
        ("E", "revolute", Z, (0.3, 0, 0)),
    )
    return mechanism, ["A", "E"]


def planar_5r_p() -> Case:
    """Five revolute joints and a prismatic one in the plane, three of them driven."""
    mechanism = ring(
        "5R with prismatic",
        ("A", "revolute", Z, (0, 0, 0)),
        ("B", "revolute", Z, (-0.1, 0.2, 0)),
        ("C", "revolute", Z, (0.15, 0.5, 0)),
        ("D", "revolute", Z, (0.4, 0.2, 0)),
        ("P", "prismatic", (1, 0.3, 0), (0, 0, 0)),
        ("E", "revolute", Z, (0.3, 0, 0)),
    )
    return mechanism, ["A", "B", "E"]


#: Axes of serial arms, those of slides in small letters, and points on them.
ARMS: dict[str, tuple[str, list[tuple[float, float, float]]]] = {
    "elbow manipulator": ("ZYYXYX", [(0, 0, 0), (0, 0, 0.4), (0.5, 0, 0.6), *3 * [(0.9, 0, 0.6)]]),
    "PUMA": (
        "ZYYZYZ",
        [(0, 0, 0), (0, 0.15, 0.67), (0.43, 0.15, 0.67), (0.41, 0.15, 0.67)]
        + 2 * [(0.41, 0.15, 1.1)],
    ),
    # Three parallel axes in the middle and no common point of the last three.
    "three parallel axes": (
        "ZYYYZY",
        [
            *((0, 0, 0), (0, 0.13, 0.09), (0.42, 0.02, 0.1)),
            *((0.8, 0.1, 0.12), (0.8, 0.1, 0.2), (0.8, 0.1, 0.02)),
        ],
    ),
    "SCARA": ("ZZZz", [(0, 0, 0), (0.3, 0.1, 0.2), (0.5, -0.1, 0.2), (0.5, -0.1, 0.1)]),
    "Stanford arm": ("ZYxXYX", [(0, 0, 0), (0, 0, 0.4), (0, 0.15, 0.4), *3 * [(0.5, 0.15, 0.4)]]),
}


def arm(name: str, pose: str = "xyzabc") -> Case:
    """A serial arm whose hand is tied to the ground by driven translations and rotations."""
    axes = {"x": X, "y": Y, "z": Z, "a": X, "b": Y, "c": Z}
    letters, points = ARMS[name]
    links = [
        rg.Joint.in_world(
            f"J{i + 1}",
            f"l{i}" if i else "ground",
            f"l{i + 1}",
            "revolute" if letter.isupper() else "prismatic",
            axes[letter.lower()],
            point,
        )
        for i, (letter, point) in enumerate(zip(letters, points, strict=True))
    ]
    driven = []
    for i, letter in enumerate(pose):
        child = links[-1].child if i == len(pose) - 1 else f"e{i}"
        kind = "prismatic" if letter in "xyz" else "revolute"
        parent = f"e{i - 1}" if i else "ground"
        driven.append(rg.Joint.in_world(letter, parent, child, kind, axes[letter], points[-1]))
    return rg.Mechanism.of_joints(name, [*links, *driven]), [*pose]


def delta() -> Case:
    """Three arms, six rods with ball joints, and the platform's place as input."""
    joints = [
        rg.Joint.in_world("x", "ground", "e0", "prismatic", X),
        rg.Joint.in_world("y", "e0", "e1", "prismatic", Y),
        rg.Joint.in_world("z", "e1", "platform", "prismatic", Z),
    ]
    for i in range(3):
        angle = 2 * np.pi * i / 3
        r = np.array([np.cos(angle), np.sin(angle), 0])
        t = np.array([-np.sin(angle), np.cos(angle), 0])
        joints.append(rg.Joint.in_world(f"R{i}", "ground", f"arm{i}", "revolute", t, 0.2 * r))
        for k, side in enumerate((-0.05, 0.05)):
            upper = 0.35 * r + side * t + [0, 0, -0.1]
            lower = 0.05 * r + side * t + [0, 0, -0.5]
            rod = f"rod{i}{k}"
            joints.append(rg.Joint.in_world(f"U{i}{k}", f"arm{i}", rod, "spherical", point=upper))
            joints.append(rg.Joint.in_world(f"L{i}{k}", rod, "platform", "spherical", point=lower))
    return rg.Mechanism.of_joints("Delta", joints), ["x", "y", "z"]


def stewart() -> Case:
    """Six legs spherical, prismatic, spherical; the platform's pose is the input."""
    joints = [rg.Joint.in_world("pose", "ground", "platform", "free", point=(0, 0, 0.8))]
    for i in range(6):
        angle, side = i * np.pi / 3, (-1) ** i
        base = np.array([np.cos(angle + 0.2 * side), np.sin(angle + 0.2 * side), 0])
        top = np.array([np.cos(angle - 0.3 * side), np.sin(angle - 0.3 * side), 0]) * 0.6
        top[2] = 0.8
        joints += [
            rg.Joint.in_world(f"B{i}", "ground", f"lower{i}", "spherical", point=base),
            rg.Joint.in_world(f"P{i}", f"lower{i}", f"upper{i}", "prismatic", top - base),
            rg.Joint.in_world(f"T{i}", f"upper{i}", "platform", "spherical", point=top),
        ]
    return rg.Mechanism.of_joints("Stewart platform", joints), ["pose"]


#: Mechanism and inputs, number of branches.
CASES: dict[str, tuple[Case, int]] = {
    "wheel suspension": (wheel_suspension(), 2),
    "planar 4R": (planar("RRRR", 0), 2),
    "planar RRRP": (planar("RRRP", 0), 2),
    "planar RRPR": (planar("RRPR", 0), 2),
    "planar RPRP": (planar("RPRP", 0), 1),
    "planar RPRP, slider driven": (planar("RPRP", 1), 2),
    "spherical 4R": (spherical_4r(), 2),
    "RSSP": (spatial("RSSP", "revolute", "spherical", "spherical", "prismatic"), 2),
    "RSSR": (spatial("RSSR", "revolute", "spherical", "spherical", "revolute"), 2),
    "RSCP": (spatial("RSCP", "revolute", "spherical", "cylindrical", "prismatic"), 2),
    "RCCC": (spatial("RCCC", "revolute", "cylindrical", "cylindrical", "cylindrical"), 2),
    "RRSC": (rrsc(), 2),
    "five-bar": (five_bar(), 2),
    "5R with prismatic": (planar_5r_p(), 2),
    "elbow manipulator": (arm("elbow manipulator"), 8),
    "PUMA": (arm("PUMA"), 8),
    "three parallel axes": (arm("three parallel axes"), 8),
    "SCARA": (arm("SCARA", "xyzc"), 2),
    "Stanford arm": (arm("Stanford arm"), 8),
    "Delta": (delta(), 8),
    "Stewart platform": (stewart(), 64),
}
