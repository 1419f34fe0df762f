"""Exact axes near measured ones: relations hold exactly, wherever a linkage stands."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mechanisms import moved

import regularize as rg
from regularize.lie.screw import Array, exp, transform, unit
from regularize.proofs.bennett import Dual, multiplied
from regularize.proofs.exact_spaces import FULL
from regularize.proofs.focal import focal
from regularize.proofs.geometry import UNITS, Precision, exact_freedoms, integral
from regularize.proofs.incidence import (
    Directions,
    Incidences,
    NotExact,
    cross,
    dot,
    orthogonal,
)
from regularize.proofs.symmetric import symmetric
from regularize.proofs.verifier import distance, reduced

ASSETS = Path(__file__).resolve().parents[1] / "assets"
#: A plane whose normal is no axis of the ground, and whose bases are longer than one.
ASKEW = transform(np.array([[2, -2, 1], [1, 2, 2], [-2, -1, 2]]).T / 3, [0.1, -0.7, 0.4])


def hinge(direction: Array, point: Array) -> Array:
    w = unit(direction)
    return np.concatenate([np.cross(point, w), w])


def trihedral_axes(rng: np.random.Generator) -> list[Array]:
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
    rng: np.random.Generator, map_: Array, pairs: Sequence[tuple[int, int]]
) -> list[Array]:
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


def products(one: Dual, two: Dual) -> tuple[Fraction, Fraction]:
    """Cosine and moment of two lines, squared, of unit directions."""
    sizes = [multiplied(line, line)[0] for line in (one, two)]
    cosine, moment = (multiplied(one, two)[k] for k in (0, 4))
    return tuple(x * x / (sizes[0] * sizes[1]) for x in (cosine, moment))


def found_near(axes: Sequence[Array], kind: str) -> list[Dual]:
    """The exact lines, which lie near the axes."""
    (lines,) = (lines for name, lines in symmetric(axes, 1e-9, 1e-11) if name == kind)
    assert all(line[0] == line[4] == 0 for line in lines)
    rows = [tuple(int(x * 10**30) for x in (*line[5:], *line[1:4])) for line in lines]
    assert max(distance([*x], (row,)) for x, row in zip(axes, rows, strict=True)) < 1e-9
    return lines


@pytest.mark.parametrize("seed", range(3))
def test_what_a_half_turn_maps_has_equal_angles_and_distances(seed: int) -> None:
    """Of Bricard's line-symmetric loop, about a line that does not pass the origin."""
    rng = np.random.default_rng(seed)
    n, p = unit(rng.normal(size=3)), rng.normal(size=3)
    R = 2.0 * np.outer(n, n) - np.eye(3)
    axes = mapped_axes(rng, transform(R, p - R @ p), [(0, 3), (1, 4), (2, 5)])
    lines = found_near([-axes[0], *axes[1:]], "line-symmetric Bricard")
    for i in range(3):
        assert products(lines[i], lines[i + 1]) == products(lines[i + 3], lines[(i + 4) % 6])


@pytest.mark.parametrize("first", range(3))
def test_what_a_reflection_maps_has_equal_angles_and_distances(first: int) -> None:
    """Of Bricard's plane-symmetric loop: two opposite hinges lie in the plane."""
    rng = np.random.default_rng(first)
    n, p = unit(rng.normal(size=3)), rng.normal(size=3)
    R = np.eye(3) - 2.0 * np.outer(n, n)
    pairs = [(first + k, (first - k) % 6) for k in (1, 2)]
    lines = found_near(mapped_axes(rng, transform(R, p - R @ p), pairs), "plane-symmetric Bricard")
    for k in range(3):
        one, two = ([lines[(first + s * i) % 6] for i in (k, k + 1)] for s in (1, -1))
        assert products(*one) == products(*two)


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_of_the_trihedral_are_exactly_at_right_angles(seed: int) -> None:
    """And Bricard's condition on the offsets: the common normals of each meet on it."""
    axes = trihedral_axes(np.random.default_rng(seed))
    lines = found_near(axes, "trihedral Bricard")
    for i in range(6):
        assert multiplied(lines[i], lines[i - 1])[0] == 0
    for i, line in enumerate(lines):
        w = line[1:4]
        feet = []
        for other in (lines[i - 1], lines[(i + 1) % 6]):
            d = other[1:4]
            ends = [np.cross(x[1:4], x[5:]) / np.dot(x[1:4], x[1:4]) for x in (line, other)]
            normal = np.cross(w, d)
            feet.append(np.dot(np.cross(ends[1] - ends[0], d), normal) / np.dot(normal, normal))
        assert feet[0] == feet[1]
    off = hinge(axes[0][3:], np.cross(axes[0][3:], axes[0][:3]) + 1e-3 * axes[1][3:])
    assert "trihedral Bricard" not in [name for name, _ in symmetric([off, *axes[1:]], 1e-9, 1e-11)]


def test_right_angles_in_two_directions_alone_make_no_trihedral() -> None:
    """A closed chain of hinges along X and Y in turn: no three planes in a row meet in a point."""
    points = np.random.default_rng(4).normal(size=(6, 3))
    points[:, 2] = 0.0
    axes = [hinge(np.eye(3)[i % 2], point) for i, point in enumerate(points)]
    assert "trihedral Bricard" not in [name for name, _ in symmetric(axes, 1e-9, 1e-11)]


def test_the_focal_mechanism_is_known_in_every_plane() -> None:
    reduction = rg.reduce(moved(rg.load(ASSETS / "focal_mechanism.urdf"), ASKEW), configurations=0)
    (part,) = reduction.parts
    found = focal(reduction.graph, part, 1e-6, 1e-11)
    assert found is not None
    off = [distance([*part.screws[e][:, 0]], space) for e, space in found.items()]
    assert max(off) < 1e-8


def test_lines_meet_in_points_unless_they_are_parallel_or_skew() -> None:
    """Three lines through a point, one parallel to the first, one that passes by."""
    directions = Directions(1e-6, 1e-9)
    ways = [(1, 0, 0), (1, 2, 0), (-2, 1, 3)]
    numbers = [directions.add(np.array(way, dtype=float)) for way in ways]
    assert directions.add(np.array([-3.0, 0.0, 1e-8])) == numbers[0]
    exact = directions.exact()
    lines = Incidences(exact, 1e-6, 1e-9)
    point = np.array([0.25, -0.5, 2.0])
    through = [
        lines.add_line(n, point + 1.5 * np.array(w)) for n, w in zip(numbers, ways, strict=True)
    ]
    assert lines.add_line(numbers[1], point - np.array(ways[1])) == through[1]
    lines.add_line(numbers[0], point + np.array([0.0, 1.0, 0.0]))
    lines.add_line(numbers[2], point + np.array([0.0, 0.0, 0.5]))
    lines.add_intersections([(0, 3), (0, 4), (1, 4)])
    assert lines.centres == []
    lines.add_intersections([(0, 1), (1, 2), (0, 2), (1, 3)])
    np.testing.assert_allclose(lines.centres, [point, [0.75, 0.5, 2.0]], atol=1e-12)
    on_line, centres = lines.exact()
    met = [
        sum(not any(cross(minus(c, place), exact[number])) for c in centres)
        for place, (number, _) in zip(on_line, lines.lines, strict=True)
    ]
    assert met == [1, 2, 1, 1, 0]


def minus(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    return [x - y for x, y in zip(a, b, strict=True)]


def test_directions_keep_right_angles_and_planes_exactly() -> None:
    """Two at right angles, and a third in their plane, turned so that no number is simple."""
    turn = exp(np.array([0, 0, 0, 0.3, -1.1, 0.4]))[:3, :3]
    directions = Directions(1e-6, 1e-9)
    for way in ((1, 0, 0), (0, 1, 0), (3, 4, 0), (1, 1, 1)):
        directions.add(turn @ way)
    a, b, c, d, *_ = directions.exact()
    assert dot(a, b) == 0 and dot(c, cross(a, b)) == 0 and dot(d, cross(a, b)) != 0
    for exact, measured in zip((a, b, c, d), directions.measured, strict=False):
        off = np.cross(unit(np.array(exact, dtype=float)), measured)
        assert np.linalg.norm(off) < 1e-8


def test_what_is_normal_to_vectors_is_a_basis_of_it() -> None:
    x, y = [Fraction(1), Fraction(-2), Fraction(0)], [Fraction(3), Fraction(1), Fraction(-4)]
    for vectors, count in (([], 3), ([x], 2), ([x, x], 2), ([x, y], 1), ([x, y, minus(x, y)], 1)):
        basis = orthogonal([(v[0], v[1], v[2]) for v in vectors])
        assert len(basis) == count == np.linalg.matrix_rank(np.array(basis, dtype=float))
        assert not any(dot(v, b) for v in vectors for b in basis)
    whole = [(Fraction(i == 0), Fraction(i == 1), Fraction(i == 2)) for i in range(3)]
    assert orthogonal(whole) == []


#: A direction, a point of an axis along it, next to the origin, and no direction at all.
ALONG = tuple(map(Fraction, (2, -1, 2)))
POINT = (Fraction(1, 2), Fraction(1, 2), Fraction(-1, 4))
NONE = (Fraction(0),) * 3
ABOUT = (*cross(POINT, ALONG), *ALONG)
SLIDES = tuple((*e, *NONE) for e in UNITS)
FLAT = ((1, 2, 0, 0, 0, 0), (0, 2, 1, 0, 0, 0))
EXACT: dict[str, tuple[Sequence[Fraction | int], ...]] = {
    "none": (),
    "hinge": (ABOUT,),
    "slide": ((*ALONG, *NONE),),
    "screw": ((*(x + y / 4 for x, y in zip(ABOUT, ALONG, strict=False)), *ALONG),),
    "cylinder": (ABOUT, (*ALONG, *NONE)),
    "ball": tuple((*cross(POINT, e), *e) for e in UNITS),
    "plane": (*FLAT, (*NONE, *ALONG)),
    "translations in a plane": FLAT,
    "translations": SLIDES,
    "Schoenflies": (*SLIDES, (*NONE, *ALONG)),
    "free": FULL,
}


def measured(spaces: Sequence[Sequence[Fraction | int]]) -> Array:
    """The span of rows by other vectors, which are known to ten digits."""
    rng = np.random.default_rng(5)
    rows = np.array([[float(x) for x in row] for row in spaces]).reshape(-1, 6).T
    found = np.asarray(rows @ rng.normal(size=(rows.shape[1],) * 2))
    return found + 1e-11 * rng.normal(size=rows.shape)


@pytest.mark.parametrize("name", EXACT)
def test_spans_of_joints_in_integers(name: str) -> None:
    graph = rg.reduce(rg.load(ASSETS / "planar_fourbar.urdf")).graph
    precision = Precision(1e-6, 1e-8, everywhere=True)
    found = exact_freedoms(graph, {graph.edges[0].index: measured(EXACT[name])}, precision)
    (span,) = found.values()
    assert reduced(span) == reduced(integral(EXACT[name]))


@pytest.mark.parametrize(
    "rows", [(*FLAT, (*ALONG, *ALONG)), ((1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1), ABOUT)]
)
def test_spans_without_an_exact_form(rows: Sequence[Sequence[Fraction | int]]) -> None:
    graph = rg.reduce(rg.load(ASSETS / "planar_fourbar.urdf")).graph
    with pytest.raises(NotExact, match=r"no exact form .* is (planar|no sub)"):
        exact_freedoms(graph, {graph.edges[0].index: measured(rows)}, Precision(1e-6, 1e-8, True))
