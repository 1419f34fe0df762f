"""Textbook mechanisms with random inertias, for the tests of everything built on Pinocchio."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import mechanisms
import numpy as np
import pinocchio as pin
from screws import exp, revolute

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
                    rng.uniform(0.5, 2), 0.3 * rng.normal(size=3), np.diag(rng.uniform(0.1, 0.2, 3))
                ),
            )
            for body in mechanism.bodies
        ),
    )


def closed(name: str, kinds: str, axes: Any, points: Any, last: str = "g") -> rg.Mechanism:
    """A chain of the joints j0, j1, … from the ground to its last body, by default the ground."""
    names = [f"j{i}" for i in range(len(kinds))]
    bodies = [*"gabcdef"[: len(kinds)], last]
    return rg.Mechanism.of_joints(name, mechanisms.chain(names, bodies, kinds, axes, points))


def fourbar(tilt: float = 0.0, kinds: str = "RRRR") -> rg.Mechanism:
    R = exp(tilt * revolute((1, 0, 0)))[:3, :3]
    return closed("four-bar", kinds, [R[:, 2]] * 4, np.array(FOURBAR) @ R.T)


def welded_fourbar() -> rg.Mechanism:
    opened = closed("four-bar 6d", "RRRR", [mechanisms.Z] * 4, FOURBAR, "d")
    weld = rg.Joint.in_world("w", "d", "g", "fixed", closure=True)
    return rg.Mechanism.of_joints(opened.name, [*opened.joints, weld])


def spherical_fourbar() -> rg.Mechanism:
    axes = np.random.default_rng(3).normal(size=(4, 3))
    return closed("spherical four-bar", "RRRR", axes, axes)


def three_prrr() -> rg.Mechanism:
    rng, joints = np.random.default_rng(0), []
    for k, e in enumerate(np.eye(3)):
        names, bodies = (
            [f"P{k}", *(f"R{k}{i}" for i in range(3))],
            ["g", *(f"{x}{k}" for x in "suv")],
        )
        points = np.vstack([0 * e, 0.3 * e + rng.normal(size=(3, 3))])
        joints += mechanisms.chain(names, [*bodies, "p"], "PRRR", [e] * 4, points)
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
    at: dict[str, Any] = {"point": (0.3, 0, 0), "pitch": 0.1}
    ends = zip(("h0", "h1", "h2"), names, names[1:], strict=False)
    return rg.Mechanism.of_joints("helices", [rg.Joint.in_world(*e, "helical", **at) for e in ends])


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
    "ball in plane": lambda: fourbar(kinds="RRSR"),
    "welded": welded_fourbar,
    "spherical": spherical_fourbar,
    "Sarrus": mechanisms.sarrus,
    "RSSR": mechanisms.rssr,
    "3-PRRR": three_prrr,
    "Stewart": stewart,
    "floating Stewart": lambda: stewart(floating=True),
    "Bricard": mechanisms.bricard,
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
