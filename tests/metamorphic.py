"""Writes mechanisms down differently and compares verdicts, counts and codes.

Usage: ``python tests/metamorphic.py [N] [SEED]``. Each of N mechanisms, random ones and assets, is
scaled (1e-6 to 1e6), moved, written in another order, from another ground and with joints turned
round. What differs is printed; the exit status is 1 where anything does.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import random_mechanisms
import screws

import regularize as rg

ASSETS = Path(__file__).resolve().parents[1] / "assets"
FILES = sorted([*ASSETS.glob("*.urdf"), *ASSETS.glob("mobility/*.urdf")])
RANDOM = (
    random_mechanisms.random_single_loop,
    random_mechanisms.random_legs,
    random_mechanisms.random_network,
)
#: Joints up to which an asset is analysed in a second or two.
SMALL = 9


def drawn(rng: np.random.Generator) -> rg.Mechanism:
    """A random mechanism, or an asset of few joints."""
    kind = int(rng.integers(len(RANDOM) + 1))
    if kind < len(RANDOM):
        return RANDOM[kind](rng)
    while True:
        mechanism = rg.load(FILES[rng.integers(len(FILES))])
        if len(mechanism.joints) <= SMALL:
            return mechanism


def said(mechanism: rg.Mechanism) -> dict[str, Any]:
    """Verdict, counts and codes."""
    report = rg.check(mechanism, configurations=4)
    found = report.as_dict()
    codes = {d.code for d in report.diagnostics}
    if "REG210" in codes:
        assert found["redundancy"]["topological"], "REG210 where nothing is topological"
    mobility = found["mobility"]
    known = [c["mobility"] for c in mobility["components"] if c["mobility"] is not None]
    assert mobility["finite"] == max(known, default=None)
    return {
        "closed": found["assembly"]["closed"],
        **{name: mobility[name] for name in ("gruebler", "actual", "finite", "redundant")},
        "removed": found["reduction"]["removed"],
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
    }


def differences(seed: int, chosen: int | None = None) -> list[str]:
    """What is said otherwise of a mechanism; one way of writing it differently, or all."""
    rng = np.random.default_rng(seed)
    mechanism = drawn(rng)
    ways = list(rewritten(mechanism, rng).items())
    usual, found = said(mechanism), []
    for way, other in ways if chosen is None else [ways[chosen % len(ways)]]:
        new = said(other)
        # How much is proved depends on the spanning trees that are tried, and they on the order.
        placed = way == "moved" or way.startswith("scaled")
        compared = [key for key in usual if placed or key not in ("removed", "codes")]
        off = {key: (usual[key], new[key]) for key in compared if usual[key] != new[key]}
        found += [f"{seed} {mechanism.name}, {way}: {off}"] if off else []
    return found


def main(arguments: list[str]) -> int:
    """Print what differs."""
    count, seed = (int(each) for each in [*arguments, *("100", "0")[len(arguments) :]])
    wrong = 0
    for k in range(seed, seed + count):
        for line in differences(k):
            wrong += 1
            print(line, flush=True)
    print(f"{count} mechanisms from {seed}: {wrong} differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
