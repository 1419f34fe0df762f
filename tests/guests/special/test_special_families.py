"""Named linkages with special lengths: exact axes near theirs, and proofs by their motion."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import metamorphic
import numpy as np
import pytest
from mechanisms import moved, single_loop
from noise_table import noisy, schmidt
from parallel_robots import asset, hoberman_ring
from screws import exp, transform, unit
from screws import revolute as hinge

import regularize as rg
from regularize.checking import Report
from regularize.proofs.curves import Series, Terms, relation_of
from regularize.proofs.rational_motions import Dual, line_of, norm_of, product_of, split_right
from regularize.proofs.special import SpecialLengths, special_lengths
from regularize.proofs.verifier import fingerprint

ASSETS = Path(__file__).resolve().parents[3] / "assets"
#: A plane whose normal is no axis of the ground, and whose bases are longer than one.
ASKEW = transform(np.array([[2, -2, 1], [1, 2, 2], [-2, -1, 2]]).T / 3, [0.1, -0.7, 0.4])


def trihedral_axes(rng: np.random.Generator) -> list[np.ndarray]:
    """Each axis at right angles to its neighbours, through the point of three planes in a row."""
    normals = dict(zip((0, 2, 4), rng.normal(size=(3, 3)), strict=True))
    normals |= {i: np.cross(normals[i - 1], normals[(i + 1) % 6]) for i in (1, 3, 5)}
    planes, heights = np.array([unit(normals[i]) for i in range(6)]), rng.normal(size=6)
    rows = [[i - 1, i, (i + 1) % 6] for i in range(6)]
    return [
        hinge(planes[i], np.linalg.solve(planes[three], heights[three]))
        for i, three in enumerate(rows)
    ]


def mapped_axes(
    rng: np.random.Generator, map_: np.ndarray, pairs: Sequence[tuple[int, int]]
) -> list[np.ndarray]:
    """Random axes and their images; those that have none lie in the plane of a reflection."""
    axes = {i: hinge(*rng.normal(size=(2, 3))) for i in range(6)}
    R, t = map_[:3, :3], map_[:3, 3]
    for i, j in pairs:
        w = axes[i][3:]
        axes[j] = hinge(R @ w, R @ np.cross(w, axes[i][:3]) + t)
    for i in {*range(6)} - {i for pair in pairs for i in pair}:
        way, point = rng.normal(size=(2, 3))
        axes[i] = hinge(way + R @ way, (point + R @ point + t) / 2)
    return [axes[i] for i in range(6)]


def loop_on(axes: Sequence[np.ndarray]) -> rg.Mechanism:
    """The closed chain of hinges on such axes."""
    moments, ways = np.split(np.array(axes), 2, axis=1)
    return single_loop("loop", "RRRRRR", ways, np.cross(ways, moments))


def bricards() -> Iterator[Any]:
    """Axes in no special place that a half turn or a reflection maps on each other, and others."""
    rng = np.random.default_rng(0)
    n, p = unit(rng.normal(size=3)), rng.normal(size=3)
    half_turn = 2.0 * np.outer(n, n) - np.eye(3)
    map_ = transform(half_turn, p - half_turn @ p)
    first, *others = mapped_axes(rng, map_, [(0, 3), (1, 4), (2, 5)])
    yield pytest.param("line-symmetric Bricard", [-first, *others], id="line")
    map_ = transform(-half_turn, p + half_turn @ p)
    for first in range(3):
        pairs = [(first + k, (first - k) % 6) for k in (1, 2)]
        axes = mapped_axes(rng, map_, pairs)
        yield pytest.param("plane-symmetric Bricard", axes, id=f"plane {first}")
    yield pytest.param("trihedral Bricard", trihedral_axes(rng), id="trihedral")


@pytest.mark.slow
@pytest.mark.parametrize(("family", "axes"), [*bricards()])
def test_loops_of_bricard_are_known_by_their_axes(family: str, axes: list[np.ndarray]) -> None:
    (found,) = special_lengths(rg.reduce(loop_on(axes), configurations=0))
    assert found.family == family and found.distance < 1e-8
    off = hinge(axes[0][3:], np.cross(axes[0][3:], axes[0][:3]) + 1e-3 * axes[1][3:])
    assert special_lengths(rg.reduce(loop_on([off, *axes[1:]]), configurations=0)) == ()


def test_right_angles_in_two_directions_alone_make_no_trihedral() -> None:
    """A closed chain of hinges along X and Y in turn: no three planes in a row meet in a point."""
    points = np.random.default_rng(4).normal(size=(6, 3))
    points[:, 2] = 0.0
    axes = [hinge(np.eye(3)[i % 2], point) for i, point in enumerate(points)]
    assert special_lengths(rg.reduce(loop_on(axes), configurations=0)) == ()


def test_the_focal_mechanism_is_known_in_every_plane() -> None:
    reduction = rg.reduce(moved(rg.load(ASSETS / "focal_mechanism.urdf"), ASKEW), configurations=0)
    (found,) = special_lengths(reduction)
    assert found.family == "focal mechanism" and found.distance < 1e-8


def schatz_loop(p: float = 0.3) -> rg.Mechanism:
    """The linkage of Schatz by the sine of one of its angles, in no special place."""
    q, cosine = p / (1 - p), np.sqrt(1 - p * p)
    B, E = np.array([0, cosine, p]), np.array([np.sqrt(1 - q * q), 0, q])
    shaft = np.array([E[0], cosine / (1 - p), q])
    axes = [shaft, [0, -p, cosine], [1, 0, 0], [0, 1, 0], [-q, 0, E[0]], shaft]
    points = [B, B, np.zeros(3), np.eye(3)[2], E + np.eye(3)[2], E + np.eye(3)[2]]
    loop = single_loop("Schatz", "RRRRRR", axes, points)
    return moved(loop, exp(np.array([0.1, 2, 0.3, 0.7, -0.4, 1.1])))


def trihedral() -> rg.Mechanism:
    return loop_on(trihedral_axes(np.random.default_rng(11)))


@pytest.mark.slow
@pytest.mark.parametrize("p", [-1.0, -0.41, 0.0, 0.123456789, 0.49])
def test_the_linkage_of_schatz_has_rational_axes_at_every_pose(p: float) -> None:
    loop = schatz_loop(p)
    (found,) = special_lengths(rg.reduce(loop, configurations=0))
    assert found.family == "Schatz" and found.distance < 1e-9
    # The same right angles at other places are those of no such linkage.
    T = loop.joints[1].T_parent_joint.copy()
    T[:3, 3] += [0.1, 0.2, 0.3]
    other = replace(loop.joints[1], T_parent_joint=T, T_child_joint=T)
    joints = (loop.joints[0], other, *loop.joints[2:])
    assert special_lengths(rg.reduce(replace(loop, joints=joints), configurations=0)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "family", "roots"), [(schatz_loop, "Schatz", 1), (trihedral, "trihedral Bricard", 2)]
)
def test_curves_that_are_not_rational_are_proved_at_any_pose(
    build: Callable[[], rg.Mechanism], family: str, roots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half angles are functions of one of them and of one square root or two."""

    def determined(values: Sequence[Series], terms: Terms, *others: Any) -> list[int] | None:
        assert len(values[0]) > len(terms) + 5  # what any series fulfil is none of the curve's
        return relation_of(values, terms, *others)

    monkeypatch.setattr("regularize.proofs.curves.relation_of", determined)
    mechanism = build()
    reduction = rg.reduce(mechanism, numerical="anyway", configurations=5)
    document = json.loads(json.dumps(rg.prove(reduction)))
    verdict = rg.verify(document)
    assert verdict.holds and document["undecided"] == [] and reduction.remaining == 0
    (step,) = (s for s in document["parts"][0]["steps"] if s["because"] == "motion")
    assert step["family"] == family
    assert sum(len(terms) > 1 for terms in step["curve"]) == roots
    assert all(j["distance"] < 1e-8 for part in document["parts"] for j in part["joints"])
    # Other coefficients are another curve, or one that does not pass the pose.
    for k, at in ((roots - 1, "1 0 0"), (1, "0 0 0"), (0, "2 0 0")):
        changed = copy.deepcopy(document)
        terms = changed["parts"][0]["steps"][-1]["curve"][k]
        terms[at] = str(int(terms.get(at, "0")) + 1)
        changed["fingerprint"] = fingerprint(changed)
        assert not rg.verify(changed).holds


@pytest.mark.slow
def test_reports_tell_proved_families_from_what_was_only_seen() -> None:
    mechanism = rg.load(ASSETS / "goldberg_5r.urdf")
    kept, removed = rg.check(mechanism), Report.of(rg.reduce(mechanism, numerical="anyway"))
    for report in (kept, removed):
        (entry,) = report.as_dict()["reduction"]["special_lengths"]
        assert (entry["family"], entry["rows"]) == ("Goldberg 5R", 2) and entry["distance"] < 1e-8
        codes = {finding.code for finding in report.diagnostics}
        assert "REG230" in codes and "REG202" not in codes
        assert report.redundancy["paradoxical"] == 2 and report.redundancy["exceptional"] == 0
        told = "2 paradoxical (these lengths only; 2 proved by family: Goldberg 5R)"
        assert told in str(report).replace("\n", " ")
    assert removed.loops[0].claims == ("motion E",) and kept.loops[0].claims == ()
    seen = rg.check(rg.load(ASSETS / "mobility/dixon_first.urdf"))
    assert seen.as_dict()["reduction"]["special_lengths"] == []
    assert "REG202" in {finding.code for finding in seen.diagnostics}


@pytest.mark.slow
def test_noise_is_part_of_what_is_said() -> None:
    mechanism = noisy(rg.load(ASSETS / "bennett.urdf"), 1e-7)
    (found,) = special_lengths(rg.reduce(mechanism))
    assert found.family == "Bennett" and 1e-8 < found.distance < 1e-5


@pytest.mark.slow
def test_a_ring_of_angulated_scissors_is_proved() -> None:
    """Of its bars every second one stays parallel to itself."""
    reduction = rg.reduce(hoberman_ring(), configurations=5)
    (special,) = special_lengths(reduction)
    assert (special.family, special.rows) == ("angulated scissors", reduction.remaining)
    assert special.rows == 4 and special.distance < 1e-8


@pytest.mark.parametrize("make", [schmidt, asset("mobility/wunderlich_12_bar")])
def test_loops_of_many_bars_without_scissors_are_called_by_their_parallelograms(
    make: Callable[[], rg.Mechanism],
) -> None:
    (special,) = special_lengths(rg.reduce(make(), configurations=2))
    assert special.family == "parallelograms"


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


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-12])
@pytest.mark.parametrize(
    ("seed", "order", "slides", "family"),
    [
        (0, (2, 1, 0), [], "rational 6R"),
        (1, (2, 0, 1), [], "Waldron 6R"),
        (3, (2, 1, 0), [1], "rational loop with slides"),
    ],
)
def test_loops_from_random_cubics_are_proved(
    seed: int, order: tuple[int, ...], slides: list[int], family: str, noise: float
) -> None:
    factors = random_factors(np.random.default_rng(seed), 3, slides)
    mechanism = network("cubic", chains(factors, reordered(factors, order)), noise)
    reduction, (found,) = proved(mechanism)
    assert (found.rows, found.family) == (reduction.remaining, family)
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
def test_what_spaces_leave_out_to_a_tolerance_alone_is_proved_by_the_motion() -> None:
    """The axes of one linkage in the cube are nearly the same: its space seems to be smaller."""
    mechanism = network("cube", cube(random_factors(np.random.default_rng(3005), 3)))
    reduction, (special,) = proved(mechanism)
    assert (reduction.removed, special.rows) == (6, 13) and reduction.remaining == 13
    assert rg.reduce(mechanism, configurations=0, rtol=1e-7).removed == 5


@pytest.mark.slow
def test_three_chains_from_a_quartic_are_proved() -> None:
    factors = random_factors(np.random.default_rng(2), 4)
    others = [reordered(factors, order) for order in ((3, 2, 1, 0), (1, 3, 0, 2))]
    reduction, (special,) = proved(network("quartic", chains(factors, *others)))
    assert (reduction.mobility, reduction.remaining, special.rows) == (1, 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["schatz", "focal_mechanism"])
def test_joints_that_a_format_welds_hide_no_family(name: str) -> None:
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    (welded,) = metamorphic.written(mechanism, ".urdf").values()
    assert any(joint.kind == "fixed" for joint in welded.joints)
    found, usual = (special_lengths(rg.reduce(m, configurations=2)) for m in (welded, mechanism))
    assert [(s.family, s.rows) for s in found] == [(s.family, s.rows) for s in usual] != []


@pytest.mark.slow
def test_the_search_for_a_motion_ends_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regularize.proofs.prove.WORK", 1e4)
    mechanism = rg.load(ASSETS / "mobility/dixon_first.urdf")
    document = rg.prove(rg.reduce(mechanism, numerical=True))
    (undecided,) = document["undecided"]
    assert "bound of work" in undecided["reason"]
    assert rg.verify(document).holds
