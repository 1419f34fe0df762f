#!/usr/bin/env python3
"""Certificates of many configurations: solved in closed form against walked to.

    python tests/benchmarks/certificate_speed.py [--json]

Few configurations are all walked to; of many, most are solved for where the loops have a closed
form. The time for one more configuration is compared; the search for the closed form counts.
"""

from __future__ import annotations

from measuring import ASSETS, finish, timed

import regularize as rg

MODELS = ("planar_fourbar", "knee_leg", "sarrus", "spherical_9r")
FEW, SOME, MANY = 50, 350, 10_050
RUNS = 2


def seconds(mechanism: rg.Mechanism, count: int) -> float:
    """CPU time of a reduction that is certified at so many configurations."""
    taken, reduction = timed(lambda: rg.reduce(mechanism, configurations=count), RUNS)
    assert reduction.certificate.holds
    assert bool(reduction.certificate.solved) == (count == MANY)
    return taken


def main() -> None:
    ratios = {}
    for name in MODELS:
        mechanism = rg.load(ASSETS / f"{name}.urdf")
        few, some, many = (seconds(mechanism, count) for count in (FEW, SOME, MANY))
        walked, solved = (some - few) / (SOME - FEW), (many - few) / (MANY - FEW)
        ratios[f"{name}: solved for instead of walked to"] = walked / solved
    finish(ratios)


if __name__ == "__main__":
    main()
