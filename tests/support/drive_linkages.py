"""Drives of robots with closed loops, as they are built: motors, what they drive, and bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import regularize as rg
from regularize import AssemblyBuilder, Mechanism

X, Y, Z = np.eye(3)
#: What linkages are there to move; the rest is light.
HEAVY = ("shank", "foot", "hand", "lever", "platform", "thigh", "finger")


class Drive(NamedTuple):
    """A mechanism, its motors and its joints."""

    mechanism: Mechanism
    motors: list[str]
    joints: list[str]


def _bodies(a: AssemblyBuilder, **places: object) -> None:
    for name, at in places.items():
        heavy = any(word in name for word in HEAVY)
        mass, inertia = (2.0, 0.02) if heavy else (0.05, 1e-5)
        a.body(name, mass=mass, com=at, inertia=inertia * np.eye(3))  # type: ignore[arg-type]


def motor(lower: float = -0.7, upper: float = 0.7) -> dict[str, object]:
    """What a motor's joint is given."""
    return {"actuated": True, "limits": [lower, upper], "effort": 50.0, "velocity": 10.0}


def four_bar_knee() -> Drive:
    """A crank on the thigh, a rod, and the shank."""
    a = rg.assembly("four-bar knee")
    _bodies(a, crank=(0.05, 0, 0), rod=(0.1, 0, -0.2), shank=(0, 0, -0.5))
    a.hinge("m", "ground", "crank", at=(0, 0, 0), axis=Y, **motor())
    a.hinge("crank_rod", "crank", "rod", at=(0.1, 0, 0.02), axis=Y)
    a.hinge("rod_shank", "rod", "shank", at=(0.08, 0, -0.38), axis=Y)
    a.hinge("knee", "ground", "shank", at=(0, 0, -0.4), axis=Y)
    return Drive(a.mechanism(), ["m"], ["knee"])


def strut_knee() -> Drive:
    """A linear actuator between thigh and shank, behind the knee."""
    a = rg.assembly("strut knee")
    _bodies(a, case=(0.05, 0, -0.1), piston=(0.06, 0, -0.3), shank=(0, 0, -0.5))
    a.hinge("pivot", "ground", "case", at=(0.06, 0, 0), axis=Y)
    a.slider("m", "case", "piston", at=(0.06, 0, -0.2), axis=(0.0, 0, -1), **motor(-0.05, 0.03))
    a.hinge("end", "piston", "shank", at=(0.06, 0, -0.42), axis=Y)
    a.hinge("knee", "ground", "shank", at=(0, 0, -0.4), axis=Y)
    return Drive(a.mechanism(), ["m"], ["knee"])


def nut_knee() -> Drive:
    """A nut on a screw along the thigh, a rod, and the shank: a slider-crank."""
    a = rg.assembly("nut knee")
    _bodies(a, nut=(0.05, 0, -0.1), rod=(0.06, 0, -0.3), shank=(0, 0, -0.5))
    a.slider("m", "ground", "nut", at=(0.05, 0, -0.1), axis=Z, **motor(-0.02, 0.03))
    a.hinge("nut_rod", "nut", "rod", at=(0.05, 0, -0.1), axis=Y)
    a.hinge("rod_shank", "rod", "shank", at=(0.06, 0, -0.38), axis=Y)
    a.hinge("knee", "ground", "shank", at=(0, 0, -0.4), axis=Y)
    return Drive(a.mechanism(), ["m"], ["knee"])


def six_bar() -> Drive:
    """Two four-bars one after the other."""
    a = rg.assembly("six-bar")
    _bodies(a, crank=(0, 0, 0.1), rod=(0.2, 0, 0.2), bell=(0.4, 0, 0.1), second=(0.6, 0, 0.2))
    _bodies(a, lever=(0.8, 0, 0.1))
    a.hinge("m", "ground", "crank", at=(0, 0, 0), axis=Y, **motor())
    a.hinge("b", "crank", "rod", at=(0.02, 0, 0.1), axis=Y)
    a.hinge("c", "rod", "bell", at=(0.4, 0, 0.15), axis=Y)
    a.hinge("d", "ground", "bell", at=(0.4, 0, 0), axis=Y)
    a.hinge("e", "bell", "second", at=(0.45, 0, 0.12), axis=Y)
    a.hinge("f", "second", "lever", at=(0.8, 0, 0.14), axis=Y)
    a.hinge("out", "ground", "lever", at=(0.8, 0, 0), axis=Y)
    return Drive(a.mechanism(), ["m"], ["out"])


def five_bar() -> Drive:
    """Two motors on the hip, a planar leg: hip and knee."""
    a = rg.assembly("five-bar leg")
    _bodies(a, thigh=(-0.1, 0, -0.1), back=(0.1, 0, -0.1), shank=(0, 0, -0.35), rod=(0, 0, -0.3))
    a.hinge("m1", "ground", "thigh", at=(-0.05, 0, 0), axis=Y, **motor())
    a.hinge("m2", "ground", "back", at=(0.05, 0, 0), axis=Y, **motor())
    a.hinge("knee", "thigh", "shank", at=(-0.2, 0, -0.2), axis=Y)
    a.hinge("elbow", "back", "rod", at=(0.2, 0, -0.2), axis=Y)
    a.hinge("foot", "rod", "shank", at=(0, 0, -0.45), axis=Y)
    return Drive(a.mechanism(), ["m1", "m2"], ["m1", "knee"])


def rsu_ankle() -> Drive:
    """Two cranks beside the shank, rods with a ball and a universal joint, and the foot."""
    a = rg.assembly("2-RSU ankle")
    _bodies(a, cross=(0, 0, 0), foot=(0.05, 0, -0.05))
    a.hinge("pitch", "ground", "cross", at=(0, 0, 0), axis=Y)
    a.hinge("roll", "cross", "foot", at=(0, 0, 0), axis=X)
    for k, (y, z) in enumerate(((0.05, 0.25), (-0.05, 0.18)), 1):
        crank, rod = f"crank{k}", f"rod{k}"
        _bodies(a, **{crank: (-0.03, y, z), rod: (-0.05, y, z / 2)})
        a.hinge(f"m{k}", "ground", crank, at=(0, y, z), axis=Y, **motor())
        a.ball(f"ball{k}", crank, rod, at=(-0.06, y, z + 0.005))
        a.universal(f"end{k}", rod, "foot", at=(-0.06, y * 0.9, 0.01), axes=(X, Y))
    return Drive(a.mechanism(), ["m1", "m2"], ["pitch", "roll"])


def strut_platform(name: str, first: str, second: str) -> Drive:
    """A universal joint, and two struts whose ends are given: an ankle or a waist."""
    a = rg.assembly(name)
    _bodies(a, foot=(0.03, 0, -0.05))
    a.universal("wrist", "ground", "foot", at=(0, 0, 0), axes=(Y, X))
    for k, y in enumerate((0.05, -0.06), 1):
        case, piston = f"case{k}", f"piston{k}"
        _bodies(a, **{case: (-0.05, y, 0.2), piston: (-0.05, y, 0.1)})
        ends = {
            "ball": lambda n, p, c, at: a.ball(n, p, c, at=at),
            "universal": lambda n, p, c, at: a.universal(n, p, c, at=at, axes=(X, Y)),
        }
        top, foot = np.array([-0.04, y * 0.8, 0.25]), np.array([-0.06, y, 0.0])
        ends[first](f"top{k}", "ground", case, top)
        a.slider(
            f"m{k}", case, piston, at=0.5 * (top + foot), axis=foot - top, **motor(-0.03, 0.03)
        )
        ends[second](f"end{k}", piston, "foot", foot)
    return Drive(a.mechanism(), ["m1", "m2"], ["wrist[0]", "wrist[1]"])


def spu_ankle() -> Drive:
    """Two linear actuators with a ball above and a universal joint at the foot."""
    return strut_platform("2-SPU ankle", "ball", "universal")


def ups_waist() -> Drive:
    """Two linear actuators with a universal joint below and a ball at the chest."""
    return strut_platform("2-UPS-U waist", "universal", "ball")


def differential() -> Drive:
    """Two motors and bevel gears: pitch is their mean, roll half their difference."""
    a = rg.assembly("differential")
    _bodies(a, rotor1=(0, 0.1, 0), rotor2=(0, -0.1, 0), cross=(0, 0, 0), hand=(0.1, 0, 0))
    a.hinge("m1", "ground", "rotor1", at=(0, 0.1, 0), axis=Y, **motor(-1.0, 1.0))
    a.hinge("m2", "ground", "rotor2", at=(0, -0.1, 0), axis=Y, **motor(-1.0, 1.0))
    a.hinge("pitch", "ground", "cross", at=(0, 0, 0), axis=Y)
    a.hinge("roll", "cross", "hand", at=(0, 0, 0), axis=X)
    a.coupling("sum", {"pitch": 2.0, "m1": -1.0, "m2": -1.0})
    a.coupling("difference", {"roll": 2.0, "m1": -1.0, "m2": 1.0})
    return Drive(a.mechanism(), ["m1", "m2"], ["pitch", "roll"])


def spherical_wrist() -> Drive:
    """Three RRR legs whose axes all meet, and what their platform turns by."""
    a = rg.assembly("3-RRR wrist")
    _bodies(a, yoke=(0, 0, 0), ring=(0, 0, 0), hand=(0, 0, 0.1))
    a.hinge("yaw", "ground", "yoke", at=(0, 0, 0), axis=Z)
    a.hinge("pitch", "yoke", "ring", at=(0, 0, 0), axis=Y)
    a.hinge("roll", "ring", "hand", at=(0, 0, 0), axis=X)
    for k, (u, v, w) in enumerate(((X, Y, Z), (Y, Z, X), (Z, X, Y)), 1):
        _bodies(a, **{f"proximal{k}": 0.05 * u, f"distal{k}": 0.05 * v})
        a.hinge(f"m{k}", "ground", f"proximal{k}", at=(0, 0, 0), axis=u, **motor(-0.4, 0.4))
        a.hinge(f"b{k}", f"proximal{k}", f"distal{k}", at=(0, 0, 0), axis=v)
        a.hinge(f"c{k}", f"distal{k}", "hand", at=(0, 0, 0), axis=w)
    return Drive(a.mechanism(), ["m1", "m2", "m3"], ["yaw", "pitch", "roll"])


def gripper() -> Drive:
    """Two fingers on parallelograms whose cranks are geared."""
    a = rg.assembly("gripper")
    for side, s in (("left", 1.0), ("right", -1.0)):
        _bodies(a, **{f"{side}_{n}": (0.05, s * 0.05, 0) for n in ("crank", "rocker", "finger")})
        more = motor() if side == "left" else {}
        low, high = (0, s * 0.02, 0), (0, s * 0.04, 0)
        a.hinge(f"{side}_a", "ground", f"{side}_crank", at=low, axis=s * Z, **more)
        a.hinge(f"{side}_b", "ground", f"{side}_rocker", at=high, axis=s * Z)
        a.hinge(f"{side}_c", f"{side}_crank", f"{side}_finger", at=(0.05, s * 0.05, 0), axis=s * Z)
        a.hinge(f"{side}_d", f"{side}_rocker", f"{side}_finger", at=(0.05, s * 0.07, 0), axis=s * Z)
    a.coupling("gear", {"left_a": 1.0, "right_a": -1.0})
    return Drive(a.mechanism(), ["left_a"], ["right_c"])


def planar_platform() -> Drive:
    """A planar 3-RRR, and how far its platform is and turns."""
    a = rg.assembly("planar 3-RRR")
    _bodies(a, row=(0, 0, 0), column=(0, 0, 0), platform=(0, 0, 0))
    a.slider("x", "ground", "row", axis=X)
    a.slider("y", "row", "column", axis=Y)
    a.hinge("turn", "column", "platform", at=(0, 0, 0), axis=Z)
    for k in range(3):
        t = np.deg2rad(90 + 120 * k)
        base = 0.5 * np.array([np.cos(t), np.sin(t), 0])
        tip = 0.1 * np.array([np.cos(t), np.sin(t), 0])
        elbow = 0.5 * (base + tip) + 0.2 * np.array([-np.sin(t), np.cos(t), 0])
        _bodies(a, **{f"arm{k}": base, f"rod{k}": elbow})
        a.hinge(f"m{k}", "ground", f"arm{k}", at=base, axis=Z, **motor(-0.3, 0.3))
        a.hinge(f"e{k}", f"arm{k}", f"rod{k}", at=elbow, axis=Z)
        a.hinge(f"p{k}", f"rod{k}", "platform", at=tip, axis=Z)
    return Drive(a.mechanism(), ["m0", "m1", "m2"], ["x", "y", "turn"])


def lever_ankle() -> Drive:
    """A linear actuator, a bell crank, and a rod to the foot."""
    a = rg.assembly("lever ankle")
    _bodies(a, case=(0, 0, 0.4), piston=(0, 0, 0.3), bell=(-0.02, 0, 0.2), rod=(-0.05, 0, 0.1))
    _bodies(a, foot=(0.03, 0, -0.05))
    a.hinge("pivot", "ground", "case", at=(0.03, 0, 0.45), axis=Y)
    a.slider("m", "case", "piston", at=(0.03, 0, 0.3), axis=-Z, **motor(-0.02, 0.02))
    a.hinge("end", "piston", "bell", at=(0.03, 0, 0.22), axis=Y)
    a.hinge("bell_axis", "ground", "bell", at=(0, 0, 0.2), axis=Y)
    a.hinge("top", "bell", "rod", at=(-0.05, 0, 0.2), axis=Y)
    a.hinge("heel", "rod", "foot", at=(-0.06, 0, 0), axis=Y)
    a.hinge("ankle", "ground", "foot", at=(0, 0, 0), axis=Y)
    return Drive(a.mechanism(), ["m"], ["ankle"])


def seven_hinges(seed: int = 2) -> Drive:
    """One loop of seven hinges in no special place, of which nothing is a formula of one angle."""
    rng, a, n = np.random.default_rng(seed), rg.assembly("7R"), 7
    turns = np.linspace(0, 2 * np.pi, n, endpoint=False)
    places = np.c_[np.cos(turns), np.sin(turns), 0 * turns] + 0.25 * rng.normal(size=(n, 3))
    axes = rng.normal(size=(n, 3))
    bodies = ["ground", *(f"link{i}" for i in range(1, n))]
    _bodies(a, **dict(zip(bodies[1:], places, strict=False)))
    for i, (at, axis) in enumerate(zip(places, axes, strict=True)):
        more = motor(-0.25, 0.25) if i == 0 else {}
        a.hinge(f"j{i}", bodies[i], bodies[(i + 1) % n], at=at, axis=axis, **more)
    return Drive(a.mechanism(), ["j0"], ["j6"])


DRIVES: dict[str, Callable[[], Drive]] = {
    make.__name__: make
    for make in (
        *(four_bar_knee, strut_knee, nut_knee, six_bar, five_bar, rsu_ankle, spu_ankle),
        *(ups_waist, differential, spherical_wrist, gripper, planar_platform, lever_ankle),
    )
}
