"""Writes exact mechanisms with few digits and compares headlines, first advice and exit status.

Usage: ``python rounding_table.py [N] [SEED]``. Each of N mechanisms, special ones and others of
random size, place and attitude, whose bodies have frames of any attitude, is written in five
formats with 3 to 7 decimals, zeros stripped, and 6 significant digits; 2 cm large; with one joint
that is off on purpose by 0.05° to 0.2° or 1 mm; and by hand, on a grid of 1 cm with angles such as
1.57. Said has to be what is said of the exact one, or that it is undecided: at most for a tenth
with 3 decimals, and 3 in 100 with more. The first advice is tried on the exact file. What differs
is printed; the exit status is 1 where something is wrong.
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import rooms  # noqa: F401

import cad_fixtures
import mechanisms
import noise_table
import numpy as np
import parallel_robots
import screws
from mechanisms import Y, Z
from pinocchio_cases import massive
from scipy.spatial.transform import Rotation

import regularize as rg
from regularize.lie.screw import adjoint
from regularize.mechanism.mechanism import Mechanism
from regularize.report.view import verdict

OFF = tuple(10.0**k for k in range(-17, -5))
#: Formats and the suffixes of their files.
FORMATS = {"urdf+": ".urdf", "sdf": ".sdf", "mjcf": ".xml", "usd": ".usda", "asmt": ".asmt"}
#: How numbers are written: so many decimals, zeros stripped or not, or significant digits.
STYLES = ("3f", "4f", "4r", "5f", "6f", "7f", "6g")
#: How hands write angles: 1.57, 1.571, 1.5708.
BY_HAND = ("2r", "3r", "4r")
#: Turns and moves on purpose, in degrees and metres.
DEVIATIONS = ((0.05, 0.0), (0.1, 0.0), (0.2, 0.0), (0.0, 1e-3))


def fourbar(rng: np.random.Generator) -> rg.Mechanism:
    """A planar four-bar."""
    corners = np.array([[0.0, 0.0], [0.2, 0.8], [1.2, 1.1], [1.4, 0.1]])
    points = np.insert(corners + rng.uniform(-0.15, 0.15, size=(4, 2)), 1, 0.0, axis=1)
    return mechanisms.single_loop("four-bar", "RRRR", [Y] * 4, points)


def bennett(rng: np.random.Generator) -> rg.Mechanism:
    """A linkage of Bennett."""
    return mechanisms.bennett(rng.uniform(0.4, 0.7), rng.uniform(1.0, 1.3), rng.uniform(0.5, 0.9))


def slider(rng: np.random.Generator) -> rg.Mechanism:
    """A slider-crank."""
    knee, end = rng.uniform(0.2, 0.4, size=2), rng.uniform(0, 0.2)
    points = [(0, 0, 0), (*knee, 0), (1.2, end, 0), (2, 0, 0)]
    return mechanisms.single_loop("slider-crank", "RRRP", [Z, Z, Z, (1, 0, 0)], points)


def spherical(rng: np.random.Generator) -> rg.Mechanism:
    """A spherical four-bar with all frames in its centre."""
    axes = np.eye(4, 3) + rng.uniform(-0.2, 0.2, size=(4, 3))
    axes[3] = (-0.6, 0.5, 0.7)
    return mechanisms.single_loop("spherical", "RRRR", axes, np.zeros((4, 3)))


FAMILIES: tuple[Callable[[np.random.Generator], rg.Mechanism], ...] = (
    fourbar,
    lambda rng: mechanisms.three_cranks(),
    bennett,
    slider,
    spherical,
    lambda rng: mechanisms.sarrus(),
    lambda rng: noise_table.schmidt(),
)
#: More, the last of them without redundancy.
OTHERS: tuple[Callable[[np.random.Generator], rg.Mechanism], ...] = (
    lambda rng: mechanisms.three_prrr(),
    lambda rng: parallel_robots.scissors(2),
    lambda rng: mechanisms.rssr(),
)


def drawn(seed: int, families: tuple[Callable[..., rg.Mechanism], ...] = FAMILIES) -> rg.Mechanism:
    """An exact mechanism, in some size, place and attitude."""
    rng = np.random.default_rng(seed)
    mechanism = families[seed % len(families)](rng)
    T = screws.transform(translation=rng.uniform(-1.0, 1.0, size=3))
    T = T @ screws.exp(np.array([0.0, 0.0, 0.0, *rng.normal(size=3)]))
    return mechanisms.scaled(mechanisms.moved(mechanism, T), 10.0 ** rng.uniform(-0.5, 0.5))


def places(mechanism: rg.Mechanism) -> np.ndarray:
    """Where joints are in the world."""
    world = screws.body_poses(mechanism)
    return np.array([(world[j.parent] @ j.T_parent_joint)[:3, 3] for j in mechanism.joints])


def one_off(mechanism: rg.Mechanism, off: float, rng: np.random.Generator) -> rg.Mechanism:
    """One origin is off in one direction."""
    joints = list(mechanism.joints)
    k = int(rng.integers(len(joints)))
    T = np.array(joints[k].T_child_joint)
    T[rng.integers(3), 3] += off
    joints[k] = replace(joints[k], T_child_joint=T)
    return replace(mechanism, joints=tuple(joints))


def turned(
    mechanism: rg.Mechanism, rng: np.random.Generator, *, quarters: bool = False
) -> rg.Mechanism:
    """The same mechanism with frames of bodies and joints in any attitude, or by quarter turns."""

    def attitude() -> np.ndarray:
        if not quarters:
            return screws.exp(np.array([0.0, 0.0, 0.0, *rng.normal(size=3)]))
        T = np.eye(4)
        T[:3, :3] = Rotation.create_group("O")[int(rng.integers(24))].as_matrix().round(15)
        return T

    bodies = {body.name: attitude() for body in mechanism.bodies}
    bodies[mechanism.ground] = np.eye(4)
    joints = []
    for joint in mechanism.joints:
        F = attitude() if joint.freedoms == 1 else np.eye(4)
        frames = [
            screws.inverse(bodies[body]) @ T @ F
            for body, T in (
                (joint.parent, joint.T_parent_joint),
                (joint.child, joint.T_child_joint),
            )
        ]
        own = adjoint(screws.inverse(F)) @ joint.screws
        joints.append(replace(joint, T_parent_joint=frames[0], T_child_joint=frames[1], screws=own))
    return replace(mechanism, joints=tuple(joints))


def by_hand(rng: np.random.Generator) -> rg.Mechanism:
    """A four-bar or slider-crank on a grid of 1 cm, whose frames are turned by quarter turns."""
    mechanism = FAMILIES[3 * int(rng.integers(2))](rng)
    frames = ("T_parent_joint", "T_child_joint")
    joints = [
        replace(joint, **{key: np.round(getattr(joint, key), 2) for key in frames})
        for joint in mechanism.joints
    ]
    return turned(replace(mechanism, joints=tuple(joints)), rng, quarters=True)


def deviating(
    mechanism: rg.Mechanism, deviation: tuple[float, float], rng: np.random.Generator
) -> rg.Mechanism:
    """One joint turned by degrees and moved by metres on both of its bodies, across its axis."""
    joints = list(mechanism.joints)
    k = int(rng.integers(len(joints)))
    own = joints[k].screws[:, 0]
    axis = own[3:] if own[3:].any() else own[:3]
    across = np.cross(axis, rng.normal(size=3))
    across /= np.linalg.norm(across)
    degrees, metres = deviation
    T = screws.exp(np.concatenate([metres * across, np.radians(degrees) * across]))
    joints[k] = replace(
        joints[k],
        T_parent_joint=joints[k].T_parent_joint @ T,
        T_child_joint=joints[k].T_child_joint @ T,
    )
    return replace(mechanism, joints=tuple(joints))


def in_style(style: str) -> Callable[[re.Match[str]], str]:
    """How a number of a text is written."""
    digits, kind = int(style[:-1]), style[-1]

    def written(match: re.Match[str]) -> str:
        number = float(match[0])
        return repr(round(number, digits) + 0.0) if kind == "r" else f"{number:.{digits}{kind}}"

    return written


def write(mechanism: rg.Mechanism, path: Path, format: str | None, style: str = "") -> Path:
    """Write a mechanism, with numbers in a style."""
    if format == "asmt":
        world = screws.body_poses(mechanism)
        links, names = [], {mechanism.ground: cad_fixtures.BASE}
        for joint in mechanism.joints:
            own = joint.screws[:, 0]
            axis = own[3:] if own[3:].any() else own[:3]
            turn = cad_fixtures.frame(np.zeros(3), axis)
            T = world[joint.parent] @ joint.T_parent_joint @ turn
            ends = [names.get(body, body) for body in (joint.parent, joint.child)]
            links.append(cad_fixtures.Link(joint.name, joint.kind, *ends, T))
        parts = {names.get(body, body): T for body, T in world.items()}
        path.write_text(cad_fixtures.asmt(cad_fixtures.Skeleton("model", parts, links)))
    else:
        rg.save(mechanism, path, format=format)
    if style:
        number = r"(?<!#usda )(?<![\w.])-?\d+\.\d+(?:e-?\d+)?|(?<![\w.])-?\d+e-\d+"
        path.write_text(re.sub(number, in_style(style), path.read_text("utf-8")), "utf-8")
    return path


def rounded(mechanism: rg.Mechanism, decimals: int, suffix: str) -> Mechanism:
    """Written with few decimals in the format of a suffix, and read again."""
    with tempfile.TemporaryDirectory() as folder:
        return rg.load(write(mechanism, Path(folder) / f"model{suffix}", None, f"{decimals}f"))


def said(report: rg.Report) -> tuple[bool, int, int, int]:
    """What the headline says, and the exit status."""
    found = report.as_dict()
    counts = found["mobility"]["actual"], found["mobility"]["redundant"]
    return found["assembly"]["closed"], *counts, report.exit_status()


def advice_holds(report: rg.Report, exact: Path) -> bool:
    """Whether the first advice does to the exact file what it says."""
    if not report.advice or not report.advice[0].in_file:
        return True
    entry = report.advice[0]
    kinds = dict(text.split("=", 1) for text in entry.arguments[1::2])
    try:
        after = rg.fix(exact, kinds).reduction
    except rg.ModelError as error:  # of the engine, which is not asked about rounding
        print(f"refused: {error}", flush=True)
        return True
    return (after.mobility, after.redundant) == (entry.mobility, entry.left)


def judged(mechanism: rg.Mechanism, format: str, style: str, folder: Path) -> tuple[str, str]:
    """``right``, ``undecided`` or ``WRONG``, and what was said."""
    exact = write(mechanism, folder / f"exact{FORMATS[format]}", format)
    file = write(mechanism, folder / f"rounded{FORMATS[format]}", format, style)
    report, twin = rg.check(file), rg.check(exact)
    reading = report.as_dict()["reading"]
    words = f"{said(report)} for {said(twin)}, {reading['as']} {reading['moved']['share']:.2f}"
    if reading["as"] == "undecided":
        return "undecided", words
    if said(report) != said(twin):
        return "WRONG", f"{words}: {verdict(report)[1]}"
    return ("right" if advice_holds(report, exact) else "WRONG"), words


def main(arguments: list[str]) -> int:
    """Print what differs."""
    count, seed = (int(each) for each in [*arguments, *("40", "0")[len(arguments) :]])
    total: Counter[str] = Counter()
    formats = list(FORMATS)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(seed, seed + count):
            rng = np.random.default_rng(k)
            exact = massive(turned(drawn(k, (*FAMILIES, *OTHERS)), rng))
            ways = [(exact, style, "rounded") for style in STYLES]
            for style, by in itertools.product(("4f", "5f"), DEVIATIONS):
                ways.append((deviating(exact, by, rng), style, f"off by {by}"))
            ways.append((mechanisms.scaled(exact, 0.02 / np.ptp(places(exact))), "6f", "small"))
            hand = massive(by_hand(rng))
            ways += [(hand, style, "hand") for style in BY_HAND]
            for i, (mechanism, style, words) in enumerate(ways):
                among = formats[:2] if words == "hand" else formats
                format = among[(k + i) % len(among)]
                result, what = judged(mechanism, format, style, Path(folder))
                group = "rough" if style == "3f" else words.split()[0]
                total[f"{group} {result}"] += 1
                if result != "right":
                    name = mechanism.name
                    print(f"{result} {k} {name}, {words}, {style} {format}: {what}", flush=True)
    print(f"{count} mechanisms from {seed}: {dict(total)}")
    wrong = sum(number for kind, number in total.items() if kind.endswith("WRONG"))
    few = total["rough undecided"] <= 0.1 * count and total["rounded undecided"] <= 0.18 * count
    few &= total["hand undecided"] <= 0.15 * count
    return int(wrong > 0 or not few)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
