"""Writes mechanisms down differently and compares verdicts, counts and codes.

Usage: ``python metamorphic.py [N] [SEED] [MOST]``. Each of N mechanisms, random ones and
assets, is scaled (1e-6 to 1e6), moved, mirrored, written in another order, from another ground,
with joints turned round, with other names, with other joints marked as closures and in another
format: nine rewritings, where the format can hold it. What differs is printed; the exit status is 1
where anything does. With MOST, mechanisms of more joints are left out.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import rooms  # noqa: F401

import mechanisms
import networkx as nx
import numpy as np
import random_mechanisms
import screws

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FILES = sorted([*ASSETS.glob("*.urdf"), *ASSETS.glob("mobility/*.urdf")])
RANDOM = (
    random_mechanisms.random_single_loop,
    random_mechanisms.random_legs,
    random_mechanisms.random_network,
)
#: Joints up to which an asset is analysed in a second or two.
SMALL = 9
#: Suffixes of the formats that a mechanism is written in; those that cannot hold it are left out.
FORMATS = (".json", ".urdf", ".sdf", ".xml", ".usda")
#: What no finding that is compared rests on, and what takes half of the time.
UNASKED = ("advise", "verified_cures", "moving", "reasons")
COUNTS = ("gruebler", "mobility", "finite_mobility", "finite_evidence", "redundant", "removed")
#: Where they are written to.
FOLDER = tempfile.TemporaryDirectory()


def drawn(rng: np.random.Generator, most: int = 99) -> rg.Mechanism:
    """A random mechanism of at most so many joints, or an asset of few."""
    while True:
        kind = int(rng.integers(len(RANDOM) + 1))
        random = kind < len(RANDOM)
        mechanism = RANDOM[kind](rng) if random else rg.load(FILES[rng.integers(len(FILES))])
        if len(mechanism.joints) <= (most if random else min(SMALL, most)):
            return mechanism


def checked(mechanism: rg.Mechanism, configurations: int, unasked: Sequence[str]) -> rg.Report:
    """The report without what is not asked for."""
    with mock.patch.multiple(
        "regularize.report.analysis", **dict.fromkeys(unasked, lambda *_, **__: ())
    ):
        report = rg.check(mechanism, configurations=configurations)
        report.advice  # noqa: B018, it is kept
    return report


def said(mechanism: rg.Mechanism) -> dict[str, Any]:
    """Verdict, counts, proved rows and codes."""
    report = checked(mechanism, 2, UNASKED)
    # Of readers, and of what formats do not say (masses, springs), are those of other hundreds.
    # REG211 is about two closures that a format has instead of one.
    codes = {d.code for d in report.diagnostics if d.code.startswith(("REG1", "REG2"))} - {"REG211"}
    found = report.reduction
    if "REG210" in codes:
        assert report.redundancy["topological"], "REG210 where nothing is topological"
    return {
        "closed": found.assembly.closed,
        **{name: getattr(found, name) for name in COUNTS},
        "redundancy": report.redundancy,
        "meant": report.meant and (report.meant.reduction.mobility, report.meant.reduction.removed),
        "codes": sorted(codes),
    }


def rewritten(mechanism: rg.Mechanism, rng: np.random.Generator) -> dict[str, rg.Mechanism]:
    """The same mechanism, written down differently, by what was changed."""
    turn = rng.normal(size=3)
    turn *= rng.uniform(0.0, np.pi) / np.linalg.norm(turn)
    T = screws.transform(translation=rng.uniform(-1.0, 1.0, size=3))
    T = T @ screws.exp(np.array([0.0, 0.0, 0.0, *turn]))
    factor = 10.0 ** rng.uniform(-6.0, 6.0)
    bodies = [mechanism.bodies[i] for i in rng.permutation(len(mechanism.bodies))]
    joints = [mechanism.joints[i] for i in rng.permutation(len(mechanism.joints))]
    turned = [
        mechanisms.turned_round(joint) if rng.random() < 0.5 and not joint.limits else joint
        for joint in mechanism.joints
    ]
    ground = mechanism.bodies[rng.integers(len(mechanism.bodies))].name
    return {
        f"scaled by {factor:.3g}": mechanisms.scaled(mechanism, factor),
        "moved": mechanisms.moved(mechanism, T),
        "order": replace(mechanism, bodies=tuple(bodies), joints=tuple(joints)),
        f"ground {ground}": replace(mechanism, ground=ground),
        "turned round": replace(mechanism, joints=tuple(turned)),
        "mirrored": mirrored(mechanism),
        "names": renamed(mechanism, rng),
        "tree": closed_elsewhere(mechanism, rng),
        **written(mechanism, FORMATS[rng.integers(len(FORMATS))]),
    }


def mirrored(mechanism: rg.Mechanism) -> rg.Mechanism:
    """Seen in the mirror z = 0."""
    M = np.diag([1.0, 1.0, -1.0, 1.0])
    twists = np.diag([1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
    joints = [
        replace(
            joint,
            screws=twists @ joint.screws,
            T_parent_joint=M @ joint.T_parent_joint @ M,
            T_child_joint=M @ joint.T_child_joint @ M,
        )
        for joint in mechanism.joints
    ]
    return replace(mechanism, joints=tuple(joints))


def renamed(mechanism: rg.Mechanism, rng: np.random.Generator) -> rg.Mechanism:
    """With other names, in another alphabetical order."""
    body, joint = (
        dict(zip([each.name for each in things], (f"n{i}" for i in order), strict=True))
        for things in (mechanism.bodies, mechanism.joints)
        for order in [rng.permutation(len(things)) + 100]
    )
    return replace(
        mechanism,
        ground=body[mechanism.ground],
        bodies=tuple(replace(b, name=body[b.name]) for b in mechanism.bodies),
        joints=tuple(
            replace(j, name=joint[j.name], parent=body[j.parent], child=body[j.child])
            for j in mechanism.joints
        ),
        couplings=tuple(
            replace(c, terms=tuple((joint[name], *rest) for name, *rest in c.terms))
            for c in mechanism.couplings
        ),
    )


def closed_elsewhere(mechanism: rg.Mechanism, rng: np.random.Generator) -> rg.Mechanism:
    """With other joints marked as those that close loops."""
    together, joints = nx.utils.UnionFind(), list(mechanism.joints)
    for i in rng.permutation(len(joints)):
        closes = together[joints[i].parent] == together[joints[i].child]
        together.union(joints[i].parent, joints[i].child)
        joints[i] = replace(joints[i], closure=bool(closes))
    return replace(mechanism, joints=tuple(joints))


def written(mechanism: rg.Mechanism, suffix: str) -> dict[str, rg.Mechanism]:
    """Written in a format and read again, where that can hold it."""
    path = Path(FOLDER.name) / f"model{suffix}"
    try:
        rg.save(mechanism, path)
    except rg.RegularizeError:
        return {}
    other = rg.load(path)
    # A screw that is written as a turn and a slide that follows it is another set of equations.
    return {suffix: other} if len(other.couplings) == len(mechanism.couplings) else {}


def differences(seed: int, chosen: int | None = None, most: int = 99) -> list[str]:
    """What is said otherwise of a mechanism; one way of writing it differently, or all."""
    return _compared(seed, chosen, most)[1]


def _compared(seed: int, chosen: int | None, most: int) -> tuple[int, list[str]]:
    """How many rewritings were compared, and what differs."""
    rng = np.random.default_rng(seed)
    mechanism = drawn(rng, most)
    ways = list(rewritten(mechanism, rng).items())
    ways = ways if chosen is None else [ways[chosen % len(ways)]]
    usual, found = said(mechanism), []
    for way, other in ways:
        new = said(other)
        off = {key: (usual[key], new[key]) for key in usual if usual[key] != new[key]}
        found += [f"{seed} {mechanism.name}, {way}: {off}"] if off else []
    return len(ways), found


def main(arguments: list[str]) -> int:
    """Print what differs."""
    count, seed, most = (int(e) for e in [*arguments, *("100", "0", "99")[len(arguments) :]])
    wrong, ways = 0, 0
    for k in range(seed, seed + count):
        compared, lines = _compared(k, None, most)
        wrong, ways = wrong + len(lines), ways + compared
        for line in lines:
            print(line, flush=True)
        if k % 10 == 9:
            print(f"{ways} rewritings, {wrong} differences", file=sys.stderr, flush=True)
    print(f"{count} mechanisms from {seed}, {ways} rewritings: {wrong} differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
