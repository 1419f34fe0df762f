"""Writes exact overconstrained mechanisms with few decimals and compares what is said of them.

Usage: ``python rounding_table.py [N] [SEED]``. Each of N mechanisms, special ones of random
size, is written with 4 to 7 decimals in two formats, and with a single origin that is off by 1e-17
to 1e-6. Sentences that the exact one does not get, or does not get any more, are printed, but for
those on gaps; a mechanism that is said to move so as designed is asked as designed. The exit status
is 1 where anything differs and nothing says that it is undecided.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import rooms  # noqa: F401

import mechanisms
import metamorphic
import noise_table
import numpy as np
import screws
from mechanisms import Y, Z

import regularize as rg

DECIMALS = (4, 5, 6, 7)
OFF = tuple(10.0**k for k in range(-17, -5))
SUFFIXES = (".urdf", ".json")
#: Decimals and a format, or by how much one origin is off.
Way = tuple[float, str]
WAYS: tuple[Way, ...] = (*product(DECIMALS, SUFFIXES), *((off, "") for off in OFF))
#: What stays open, by how much numbers are off, and what was meant: stated gaps and distances.
GAPS = {f"REG{n}" for n in (101, 104, 204, 205, 214, 217, 219, 223, 224, 234)}
#: Those that say that something is not decided at the numbers as they are, or on these alone.
UNDECIDED = {f"REG{n}" for n in (101, 202, 205, 214, 217, 219, 223)}


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


def drawn(seed: int) -> rg.Mechanism:
    """An exact mechanism, in some size, place and attitude."""
    rng = np.random.default_rng(seed)
    mechanism = FAMILIES[seed % len(FAMILIES)](rng)
    T = screws.transform(translation=rng.uniform(-1.0, 1.0, size=3))
    T = T @ screws.exp(np.array([0.0, 0.0, 0.0, *rng.normal(size=3)]))
    return mechanisms.scaled(mechanisms.moved(mechanism, T), 10.0 ** rng.uniform(-0.5, 0.5))


def rounded(mechanism: rg.Mechanism, decimals: int, suffix: str) -> rg.Mechanism:
    """Written with few decimals in a format, and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        rg.save(mechanism, path)
        number = r"-?\d+\.\d+(?:e-?\d+)?|-?\d+e-\d+"
        text = path.read_text("utf-8")
        path.write_text(re.sub(number, lambda m: f"{float(m[0]):.{decimals}f}", text), "utf-8")
        return rg.load(path)


def one_off(mechanism: rg.Mechanism, off: float, rng: np.random.Generator) -> rg.Mechanism:
    """One origin is off in one direction."""
    joints = list(mechanism.joints)
    k = int(rng.integers(len(joints)))
    T = np.array(joints[k].T_child_joint)
    T[rng.integers(3), 3] += off
    joints[k] = replace(joints[k], T_child_joint=T)
    return replace(mechanism, joints=tuple(joints))


def written(mechanism: rg.Mechanism, way: Way, rng: np.random.Generator) -> rg.Mechanism:
    """Written in one way: so many decimals in a format, or one origin off by so much."""
    amount, suffix = way
    return (
        one_off(mechanism, amount, rng) if not suffix else rounded(mechanism, int(amount), suffix)
    )


def said(report: rg.Report) -> tuple[Counter[str], set[str]]:
    """Counts and sentences of a report, numbers and directions in words left out, and its codes."""
    found = report.as_dict()
    counts = {k: found["mobility"][k] for k in ("gruebler", "actual", "finite", "redundant")}
    facts = [f"{k} {v}" for k, v in (counts | found["redundancy"]).items()]
    facts += [f"removed {found['reduction']['removed']}"]
    for loop in found["loops"]:
        facts.append(f"loop {loop['class']} {loop['motion_algebra']['type']} {loop['kept']}")
        facts += [f"{joint} never moves" for joint in loop["locked"]]
    facts += [f"why: {each['subject']}" for each in found["why"]]
    for body in found["moving"]:
        if "__" not in body["body"]:  # halves of bodies that a tree of links needs
            facts.append(f"{body['body']} {body['freedoms']} {body['motion_algebra']['type']}")
    facts += [f"{d.code} {d.severity}" for d in report.diagnostics if d.code not in GAPS]
    return Counter(facts), {d.code for d in report.diagnostics}


def checked(mechanism: rg.Mechanism) -> rg.Report:
    """The report without proposals of other joints, on which no sentence rests."""
    return metamorphic.checked(mechanism, 4, ("advise", "cures", "freeing"))


def differences(exact: rg.Report, mechanism: rg.Mechanism) -> tuple[list[str], bool]:
    """What is said otherwise, and whether a report says that it is not decided."""
    report = checked(mechanism)
    usual, _ = said(exact)
    new, codes = said(report)
    if new != usual and report.meant is not None:
        new, _ = said(checked(report.meant.mechanism))
    off = [f"-{fact}" for fact in usual - new] + [f"+{fact}" for fact in new - usual]
    return off, bool(codes & UNDECIDED)


def main(arguments: list[str]) -> int:
    """Print what differs."""
    count, seed = (int(each) for each in [*arguments, *("200", "0")[len(arguments) :]])
    total: Counter[str] = Counter()
    for k in range(seed, seed + count):
        mechanism, rng = drawn(k), np.random.default_rng(k)
        exact = checked(mechanism)
        for way in WAYS:
            off, undecided = differences(exact, written(mechanism, way, rng))
            kind = "same" if not off else "undecided" if undecided else "WRONG"
            total[kind] += 1
            if off:
                print(
                    f"{kind} {k} {mechanism.name}, {way[0]}{way[1]}: {', '.join(off)}", flush=True
                )
    print(f"{count} mechanisms from {seed}: {dict(total)}")
    return int(total["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
