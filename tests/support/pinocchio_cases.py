"""Textbook mechanisms with random inertias, for the tests of everything built on Pinocchio."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

import regularize as rg

FOURBAR = [(0, 0, 0), (0.1, 0.35, 0), (0.9, 0.6, 0), (1, 0, 0)]


def massive(mechanism: rg.Mechanism, seed: int = 7) -> rg.Mechanism:
    rng = np.random.default_rng(seed)
    return replace(
        mechanism,
        bodies=tuple(
            replace(
                body,
                inertia=rg.Inertia(
                    rng.uniform(0.5, 2),
                    0.3 * rng.normal(size=3),
                    np.diag(rng.uniform(0.1, 0.2, 3)),
                ),
            )
            for body in mechanism.bodies
        ),
    )


def rotation(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def fourbar(tilt: float = 0.0, coupler: str = "revolute") -> rg.Mechanism:
    R, names = rotation(tilt), "gabcg"
    return rg.Mechanism.of_joints(
        "four-bar",
        [
            rg.Joint.in_world(
                f"j{i}",
                names[i],
                names[i + 1],
                coupler if i == 2 else "revolute",
                R @ [0, 0, 1],
                R @ np.array(p),
            )
            for i, p in enumerate(FOURBAR)
        ],
    )


def welded_fourbar() -> rg.Mechanism:
    names = "gabcd"
    joints = [
        rg.Joint.in_world(f"j{i}", names[i], names[i + 1], "revolute", (0, 0, 1), p)
        for i, p in enumerate(FOURBAR)
    ]
    return rg.Mechanism.of_joints(
        "four-bar 6d", [*joints, rg.Joint.in_world("w", "d", "g", "fixed", closure=True)]
    )


def single_loop(name: str, kind: str, axes: np.ndarray, points: np.ndarray) -> rg.Mechanism:
    bodies = ["g", *(f"b{i}" for i in range(1, len(axes))), "g"]
    return rg.Mechanism.of_joints(
        name,
        [
            rg.Joint.in_world(f"j{i}", bodies[i], bodies[i + 1], kind, axis, point)
            for i, (axis, point) in enumerate(zip(axes, points, strict=True))
        ],
    )


def spherical_fourbar() -> rg.Mechanism:
    axes = np.random.default_rng(3).normal(size=(4, 3))
    return single_loop("spherical four-bar", "revolute", axes, axes)


def bricard() -> rg.Mechanism:
    points = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    return single_loop("Bricard", "revolute", axes, np.array(points, dtype=float))


def sarrus() -> rg.Mechanism:
    legs: dict[str, tuple[tuple[int, int, int], list[tuple[float, float, float]]]] = {
        "a": ((0, 1, 0), [(1, 0, 0), (1.3, 0, 0.5), (1, 0, 1)]),
        "b": ((1, 0, 0), [(0, 1, 0), (0, 1.4, 0.5), (0, 1, 1)]),
    }
    joints: list[rg.Joint] = []
    for leg, (axis, points) in legs.items():
        bodies = ["g", f"{leg}1", f"{leg}2", "p"]
        joints += [
            rg.Joint.in_world(f"{leg}{i}", bodies[i], bodies[i + 1], "revolute", axis, point)
            for i, point in enumerate(points)
        ]
    return rg.Mechanism.of_joints("Sarrus", joints)


def rssr() -> rg.Mechanism:
    return rg.Mechanism.of_joints(
        "RSSR",
        [
            rg.Joint.in_world("A", "g", "a", "revolute", (0, 0, 1), (0, 0, 0)),
            rg.Joint.in_world("B", "a", "b", "spherical", point=(0.3, 0.1, 0)),
            rg.Joint.in_world("C", "b", "c", "spherical", point=(0.9, 0.6, 0.4)),
            rg.Joint.in_world("D", "c", "g", "revolute", (0, 1, 0), (1, 0, 0)),
        ],
    )


def three_prrr() -> rg.Mechanism:
    rng, joints = np.random.default_rng(0), []
    for k, e in enumerate(np.eye(3)):
        bodies = ["g", f"s{k}", f"u{k}", f"v{k}", "p"]
        points = 0.3 * e + rng.normal(size=(3, 3))
        joints.append(rg.Joint.in_world(f"P{k}", bodies[0], bodies[1], "prismatic", e))
        joints += [
            rg.Joint.in_world(f"R{k}{i}", bodies[i + 1], bodies[i + 2], "revolute", e, points[i])
            for i in range(3)
        ]
    return rg.Mechanism.of_joints("3-PRRR", joints)


def stewart(floating: bool = False) -> rg.Mechanism:
    rng, joints = np.random.default_rng(5), []
    base = "base" if floating else "g"
    if floating:
        joints.append(rg.Joint.in_world("float", "g", "base", "free"))
    for k in range(6):
        a = rng.normal(size=3) * [1, 1, 0.1]
        b = rng.normal(size=3) * [0.5, 0.5, 0.1] + [0, 0, 1]
        along = (b - a) / np.linalg.norm(b - a)
        x = np.cross(along, [1, 0, 0])
        y = np.cross(along, x)
        joints += [
            rg.Joint.in_world(f"U{k}", base, f"a{k}", "universal", x, a, axis2=y),
            rg.Joint.in_world(f"P{k}", f"a{k}", f"b{k}", "prismatic", along, a),
            rg.Joint.in_world(f"S{k}", f"b{k}", "p", "spherical", point=b),
        ]
    return rg.Mechanism.of_joints("Stewart", joints)


def helices() -> rg.Mechanism:
    """Three screws of one axis and one pitch: the loop's algebra is helical."""
    names = "gxyg"
    return rg.Mechanism.of_joints(
        "helices",
        [
            rg.Joint.in_world(
                f"h{i}", names[i], names[i + 1], "helical", point=(0.3, 0, 0), pitch=0.1
            )
            for i in range(3)
        ],
    )


def skew_fourbar() -> rg.Mechanism:
    """Cylindrical, spherical, revolute and planar joints in one loop."""
    return rg.Mechanism.of_joints(
        "RCSP",
        [
            rg.Joint.in_world("R", "g", "a", "revolute", (0, 0.2, 1), (0, 0, 0)),
            rg.Joint.in_world("C", "a", "b", "cylindrical", (0.3, 1, 0.1), (0.3, 0.1, 0)),
            rg.Joint.in_world("S", "b", "c", "spherical", point=(0.9, 0.6, 0.4)),
            rg.Joint.in_world("E", "c", "g", "planar", (0.1, 1, 0.4), (1, 0, 0)),
        ],
    )


MECHANISMS = {
    "planar": fourbar,
    "tilted": lambda: fourbar(0.4),
    "ball in plane": lambda: fourbar(coupler="spherical"),
    "welded": welded_fourbar,
    "spherical": spherical_fourbar,
    "Sarrus": sarrus,
    "RSSR": rssr,
    "3-PRRR": three_prrr,
    "Stewart": stewart,
    "floating Stewart": lambda: stewart(floating=True),
    "Bricard": bricard,
    "helices": helices,
    "RCSE": skew_fourbar,
}


def chain(joints: Iterable[Any]) -> Any:
    """A model of joints in a row, with random places and bodies."""
    model, parent = pin.Model(), 0
    for k, joint in enumerate(joints):
        parent = model.addJoint(parent, joint, pin.SE3.Random(), f"joint {k}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Random())
    return model


def placed(model: Any, joint: int, q: np.ndarray) -> Any:
    """The pose of a joint of the model at a configuration."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    return data.oMi[joint].copy()


def mass_matrix(model: Any, data: Any, q: np.ndarray) -> np.ndarray:
    """The full symmetric mass matrix, shape (nv, nv)."""
    if len(model.mimicking_joints):
        # Pinocchio's own is not right where joints follow a mimic joint (4.1.0); rnea is.
        rest, still = np.zeros(model.nv), pin.computeGeneralizedGravity(model, data, q)
        columns = [pin.rnea(model, data, q, rest, unit) - still for unit in np.eye(model.nv)]
        return np.array(columns).T
    upper = np.triu(pin.crba(model, data, q))
    return np.asarray(upper + np.triu(upper, 1).T)
