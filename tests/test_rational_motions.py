"""Loops and networks from random motion polynomials: proved, and not where they are off."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.proofs.dual_quaternions import (
    Dual,
    conjugated,
    line_of,
    multiplied,
    norm_of,
    product_of,
    split_right,
)
from regularize.proofs.matching import match
from regularize.proofs.special import SpecialLengths, special_lengths
from regularize.proofs.verifier import fingerprint, verify

#: A chain of factors from one body to another.
Chain = Sequence[Dual]


def random_factors(rng: np.random.Generator, count: int, slides: Sequence[int] = ()) -> list[Dual]:
    """Some t - h whose products are rational motion polynomials in general position."""

    def vector() -> Any:
        return np.array([Fraction(int(x), 12) for x in rng.integers(-20, 21, size=3)])

    found = []
    for k in range(count):
        direction = vector() + Fraction(1, 24)
        unit = np.eye(8, dtype=int)[0] * Fraction(int(rng.integers(-12, 13)), 12)
        line = line_of(direction, np.cross(vector(), direction))
        found.append((line_of(0 * direction, direction) if k in slides else line) + unit)
    return found


def reordered(factors: Chain, order: Sequence[int]) -> list[Dual]:
    """Factors of the same product, with the norms of others at their places."""
    rest, found = product_of(factors), []
    for k in reversed(order):
        rest, last = split_right(rest, norm_of(factors[k]))
        found.append(last)
    return found[::-1]


def network(
    name: str, hinges: dict[tuple[str, str], Dual], noise: float = 0.0, seed: int = 0
) -> rg.Mechanism:
    """Bodies joined by hinges, whose places and directions are off by so much."""
    rng, joints = np.random.default_rng(seed), []
    for i, ((one, other), h) in enumerate(hinges.items()):
        w, v = (np.array(x, dtype=float) for x in (h[1:4], h[5:]))
        kind, way = ("revolute", w) if w.any() else ("prismatic", v)
        point = np.cross(w, v) / (way @ way) + noise * rng.normal(size=3)
        way = way / np.linalg.norm(way) + noise * rng.normal(size=3)
        joints.append(rg.Joint.in_world(f"J{i}", one, other, kind, way, point))
    return rg.Mechanism.of_joints(name, joints)


def chains(*found: Chain) -> dict[tuple[str, str], Dual]:
    """The hinges of several chains between the ground and a tool."""
    hinges: dict[tuple[str, str], Dual] = {}
    for k, chain in enumerate(found):
        bodies = ["ground", *(f"c{k}_{i}" for i in range(1, len(chain))), "tool"]
        hinges |= dict(zip(pairwise(bodies), chain, strict=True))
    return hinges


def cube(factors: Chain) -> dict[tuple[str, str], Dual]:
    """All factorisations of a cubic: hinges are edges of a cube, and its faces Bennett's."""
    hinges = {}
    for order in permutations(range(3)):
        done: frozenset[int] = frozenset()
        for k, h in zip(order, reordered(factors, order), strict=True):
            ends = ["".join(map(str, sorted(s))) or "ground" for s in (done, done | {k})]
            hinges[ends[0], ends[1]] = h
            done |= {k}
    return dict(sorted(hinges.items(), key=lambda item: (item[0][0] != "ground", item[0])))


def proved(mechanism: rg.Mechanism) -> tuple[rg.Reduction, tuple[SpecialLengths, ...]]:
    reduction = rg.reduce(mechanism, configurations=0)
    return reduction, special_lengths(reduction)


def test_factors_can_be_had_in_any_order_of_their_norms() -> None:
    factors = random_factors(np.random.default_rng(0), 4)
    for order in ((3, 1, 0, 2), (1, 2, 3, 0)):
        others = reordered(factors, order)
        assert [norm_of(h) for h in others] == [norm_of(factors[k]) for k in order]
        for a, b in zip(product_of(factors), product_of(others), strict=True):
            assert (a == b).all()
    closed = product_of([*factors, *map(conjugated, reversed(others))])
    assert not any(c[1:].any() for c in closed) and closed[-1][0] == 1
    for h in others:  # turns about lines: directions are at right angles to moments
        assert h[1:4] @ h[5:] == 0 and (multiplied(h, conjugated(h))[1:] == 0).all()


def test_no_factor_is_found_where_there_is_none() -> None:
    factors = random_factors(np.random.default_rng(1), 3)
    with pytest.raises(ZeroDivisionError):
        split_right(product_of(factors), (Fraction(1, 7), Fraction(5, 3)))


@pytest.mark.parametrize(("seed", "noise"), [(0, 0.0), (0, 1e-12), (1, 0.0), (1, 1e-12)])
def test_loops_from_random_cubics_are_proved(seed: int, noise: float) -> None:
    factors = random_factors(np.random.default_rng(seed), 3)
    order, family = (((0, 1, 2)[::-1], "rational 6R"), ((2, 0, 1), "Waldron 6R"))[seed]
    mechanism = network("cubic", chains(factors, reordered(factors, order)), noise)
    reduction, (found,) = proved(mechanism)
    assert (found.rows, found.family) == (reduction.remaining, family)
    assert found.rows == 1 and found.distance < 1e-7


def test_slides_may_be_among_the_hinges() -> None:
    factors = random_factors(np.random.default_rng(3), 3, slides=[1])
    others = reordered(factors, (2, 1, 0))
    reduction, (found,) = proved(network("slides", chains(factors, others)))
    assert (found.rows, found.family) == (reduction.remaining, "rational loop with slides")
    assert found.rows == 1 and found.distance < 1e-7


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_proved_of_what_is_off(seed: int) -> None:
    factors = random_factors(np.random.default_rng(seed), 3)
    mechanism = network("off", chains(factors, reordered(factors, (2, 1, 0))), noise=1e-4)
    assert proved(mechanism)[1] == ()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-4])
def test_a_cube_of_linkages_of_bennett_is_proved(noise: float) -> None:
    mechanism = network("cube", cube(random_factors(np.random.default_rng(4), 3)), noise)
    reduction, found = proved(mechanism)
    if noise > 1e-6:
        assert found == ()
        return
    (special,) = found
    assert special.family == "network of rational linkages"
    assert (reduction.mobility, reduction.removed, special.rows) == (1, 5, 14)
    assert reduction.remaining == 14 and special.distance < 1e-6


@pytest.mark.slow
def test_three_chains_from_a_quartic_are_proved() -> None:
    factors = random_factors(np.random.default_rng(2), 4)
    others = [reordered(factors, order) for order in ((3, 2, 1, 0), (1, 3, 0, 2))]
    reduction, (special,) = proved(network("quartic", chains(factors, *others)))
    assert (reduction.mobility, reduction.remaining, special.rows) == (1, 1, 1)


@pytest.fixture(scope="module")
def honest() -> tuple[Any, rg.Mechanism]:
    factors = random_factors(np.random.default_rng(0), 3)
    mechanism = network("cubic", chains(factors, reordered(factors, (2, 1, 0))))
    document = rg.prove(rg.reduce(mechanism, numerical="anyway"))
    return json.loads(json.dumps(document)), mechanism


def test_what_is_forged_by_meaning_is_refused(honest: tuple[Any, rg.Mechanism]) -> None:
    """Moves of another joint, turned, faster; rows more or others; axes that are elsewhere."""
    document, mechanism = honest
    assert match(document, verify(document), mechanism).holds
    forged = []

    def change(edit: Any) -> None:
        other = copy.deepcopy(document)
        (part,) = other["parts"]
        (step,) = (step for step in part["steps"] if step["because"] == "motion")
        edit(part, step)
        if other != document:
            forged.append(other | {"fingerprint": fingerprint(other)})

    names = [f"J{i}" for i in range(6)]
    (cut,) = next(s for s in document["parts"][0]["steps"] if s["because"] == "motion")["loops"]
    for a, b in permutations(names, 2):
        if a < b:
            change(lambda p, s, a=a, b=b: s["moves"].update({a: s["moves"][b], b: s["moves"][a]}))
        space = next(j for j in document["parts"][0]["joints"] if j["name"] == b)["space"]
        change(
            lambda p, s, a=a, space=space: next(j for j in p["joints"] if j["name"] == a).update(
                space=space
            )
        )
    for name, factor in product(names, (-1, 2)):

        def faster(p: Any, s: Any, name: str = name, factor: int = factor) -> None:
            below, above = s["moves"][name]
            s["moves"][name] = [below, {at: str(factor * int(c)) for at, c in above.items()}]

        change(faster)
        change(lambda p, s, name=name: s["moves"].pop(name))
        change(lambda p, s, name=name: s["moves"].update({name: [{"0 0 0": "1"}, {}]}))
    for k in range(4):

        def less(p: Any, s: Any, k: int = k) -> None:
            del s["kept"][cut][k]
            p["conclusion"]["kept"] -= 1
            p["conclusion"]["removed"] += 1

        change(less)
    change(lambda p, s: s["loops"].update({cut: s["loops"][cut][:-1]}))
    change(lambda p, s: s["curve"].reverse())
    change(lambda p, s: s["curve"][0].pop("0 1 0"))
    assert len(forged) > 60
    for k, other in enumerate(forged):
        assert not match(other, verify(other), mechanism).holds, k
