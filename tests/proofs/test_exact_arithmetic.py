"""Exact arithmetic of proofs: spaces and polynomials of the verifier, axes as integers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import screws
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from screws import unit

import regularize as rg
from regularize.lie import subalgebra
from regularize.proofs.geometry import FULL, UNITS, Precision, equal_bars, exact_freedoms, integral
from regularize.proofs.incidence import NotExact, cross
from regularize.proofs.rational_motions import multiplied
from regularize.proofs.verifier import (
    BITS,
    Polynomial,
    Space,
    annihilator,
    arcs,
    bracket,
    distance,
    integers,
    meet,
    polynomial,
    product,
    reduced,
    remainder,
    saturated,
)

small = st.integers(min_value=-4, max_value=4)
rows = st.lists(st.tuples(*[small] * 6), max_size=4)

few = settings(max_examples=30)


def floats(space: Space) -> np.ndarray:
    return np.array(space, dtype=float).reshape(-1, 6)


def rank(*spaces: Space) -> int:
    return int(np.linalg.matrix_rank(np.vstack([np.zeros((1, 6)), *map(floats, spaces)])))


@pytest.mark.slow
@few
@given(rows)
def test_a_space_has_one_form_however_it_is_spanned(vectors: list[tuple[int, ...]]) -> None:
    space = reduced(vectors)
    assert len(space) == rank(tuple(vectors)) == rank(space, tuple(vectors))
    leads = [next(i for i, x in enumerate(row) if x) for row in space]
    assert leads == sorted({*leads}) and all(
        row[i] > 0 for row, i in zip(space, leads, strict=True)
    )
    assert all(not row[i] for row in space for i in leads if row is not space[leads.index(i)])
    assert all(np.gcd.reduce(row) == 1 for row in space)
    mixed = [
        tuple(2 * x - 3 * y for x, y in zip(a, b, strict=True))
        for a in space
        for b in space
        if a != b
    ]
    assert reduced([*mixed, *space, *vectors[::-1]]) == space


@pytest.mark.slow
@few
@given(rows, rows)
def test_intersections_and_what_vanishes_on_spaces(
    one: list[tuple[int, ...]], two: list[tuple[int, ...]]
) -> None:
    a, b = reduced(one), reduced(two)
    assert len(annihilator(a)) == 6 - len(a) and annihilator(annihilator(a)) == a
    assert not np.any(floats(annihilator(a)) @ floats(a).T)
    both = meet(a, b)
    assert len(both) == len(a) + len(b) - len(reduced([*a, *b]))
    assert rank(a, both) == len(a) and rank(b, both) == len(b)


@pytest.mark.slow
@few
@given(rows, rows)
def test_brackets_and_closures_are_those_of_screws(
    one: list[tuple[int, ...]], two: list[tuple[int, ...]]
) -> None:
    for x, y in zip(one, two, strict=False):
        expected = screws.bracket(np.array(x, dtype=float), np.array(y, dtype=float))
        assert [*bracket(x, y)] == expected.tolist()
    a, b = reduced(one), reduced(two)
    assume(all(np.linalg.svd(floats(s), compute_uv=False).min(initial=1) > 1e-2 for s in (a, b)))
    A, B = (subalgebra.span(floats(space).T) for space in (a, b))
    assert len(saturated(a)) == subalgebra.lie_closure(A, 1e-9).shape[1]
    moved = saturated(a, b)
    assert len(moved) == subalgebra.saturation(A, B, 1e-9).shape[1] == rank(moved, a)


def hinges(way: tuple[int, ...], places: list[tuple[int, ...]], *sizes: int) -> list[Space]:
    """Parallel hinges, each written as some multiple of its unit screw."""
    return [
        (tuple(s * int(x) for x in (*np.cross(place, way), *way)),)
        for place, s in zip(places, sizes or (1,) * len(places), strict=True)
    ]


@pytest.mark.parametrize("way", [(0, 0, 1), (0, -2, 3), (1, 2, 2)])
def test_opposite_sides_of_a_parallelogram_move_in_its_plane(way: tuple[int, ...]) -> None:
    """Wherever its hinges are along their axes; not in one plane, of other bars or of screws."""
    u, v = (np.array(each) for each in ((3, 1, 2), (-1, 4, 1)))
    corners = [(0, 0, 0), u, u + v + way, v]
    plane = arcs(hinges(way, corners, 1, -2, 3, 1))
    assert plane == reduced([(*np.cross(way, e).tolist(), 0, 0, 0) for e in np.eye(3, dtype=int)])
    loop = hinges(way, corners)
    bad = [hinges(way, [*corners[:3], v + u]), hinges(way, [(0, 0, 0), u, 3 * u, 2 * u])]
    bad += [hinges(way, corners[:3]), hinges(way, [*corners, u, v])]
    screws = [(tuple(map(sum, zip(s, (*way, 0, 0, 0), strict=True))),) for (s,) in loop]
    slides = [((*s[0][:3], 0, 0, 0),) for s in hinges(way, [corners[1], *corners[1:]])]
    turned = loop[:3] + hinges(way[::-1], [v])
    for other in (*bad, screws, slides, turned):
        with pytest.raises(ValueError, match="no such parallelogram"):
            arcs(other)


def dual(values: Sequence[int]) -> Polynomial:
    """A dual quaternion as a polynomial without variables."""
    return {k: x for k, x in enumerate(values) if x}


def test_units_of_dual_quaternions_multiply_as_hamilton_had_it() -> None:
    i, j, k, e = (dual(np.eye(8, dtype=int)[n].tolist()) for n in (1, 2, 3, 4))
    minus = dual([-1])
    assert [product((a, a)) for a in (i, j, k, e)] == [minus, minus, minus, {}]
    assert (product((i, j)), product((j, k)), product((k, i))) == (k, i, j)
    assert product((j, i)) == product((minus, k)) and product((e, i)) == product((i, e)) != {}


@few
@given(*[st.lists(small, min_size=8, max_size=8)] * 3)
def test_products_of_dual_quaternions(a: list[int], b: list[int], c: list[int]) -> None:
    f, g, h = map(dual, (a, b, c))
    assert product((f, g)) == dual([*multiplied(tuple(a), tuple(b))])
    assert product((product((f, g)), h)) == product((f, product((g, h))))
    both = dual([x + y for x, y in zip(b, c, strict=True)])
    assert product((f, g), (f, h)) == product((f, both))


def powers_of(at: int) -> list[int]:
    return [at >> 4 + BITS * v & (1 << BITS) - 1 for v in range(3)]


def value(f: Polynomial, at: Sequence[Fraction]) -> Fraction:
    terms = (
        c * np.prod([x**n for x, n in zip(at, powers_of(e), strict=True)]) for e, c in f.items()
    )
    return sum(terms, Fraction(0))


#: Equations, the variable in which they divide, and points of the curve by a parameter.
CURVES = [
    ({"0 2 0": 1, "1 0 0": -1}, 1, lambda t: (t * t, t, Fraction(2))),
    ({"1 1 0": 1, "0 0 0": -1}, 1, lambda t: (t, 1 / t, Fraction(3))),
    ({"0 1 1": 1, "1 0 1": 1, "0 0 0": 2}, 2, lambda t: (t, Fraction(1), -2 / (1 + t))),
    ({"0 0 2": 1, "0 1 0": -1}, 2, lambda t: (Fraction(5), t * t, t)),
]
terms = st.dictionaries(
    st.tuples(*[st.integers(0, 3)] * 3).map(lambda at: " ".join(map(str, at))),
    small.filter(bool),
    max_size=6,
)


@pytest.mark.slow
@few
@given(terms, st.sampled_from(CURVES), st.integers(2, 9))
def test_remainders_are_the_polynomial_where_the_divisor_vanishes(
    written: dict[str, int], curve: Any, t: int
) -> None:
    """Times powers of its leading coefficient; and of a lower degree."""
    equation, v, point = curve
    p, f, at = polynomial(equation, 3), polynomial(written, 3), point(Fraction(t))
    assert value(p, at) == 0
    left = remainder(f, p, v)
    degree = max(powers_of(e)[v] for e in p)
    assert all(powers_of(e)[v] < degree for e in left)
    top = {e - (degree << 4 + BITS * v): c for e, c in p.items() if powers_of(e)[v] == degree}
    assert value(left, at) in [value(f, at) * value(top, at) ** n for n in range(6)]


@few
@given(rows, st.tuples(*[small] * 6))
def test_distances_are_what_is_left_outside(
    vectors: list[tuple[int, ...]], written: tuple[int, ...]
) -> None:
    space = reduced(vectors)
    basis = subalgebra.span(floats(space).T)
    outside = np.linalg.norm(subalgebra.residual(basis, np.array(written, dtype=float)[:, None]))
    assert distance([*map(float, written)], space) == pytest.approx(outside, abs=1e-12)


def test_spaces_are_written_in_one_way_only() -> None:
    good = [["1", "0", "0", "0", "0", "-2"], ["0", "3", "0", "0", "0", "1"]]
    assert integers(good) == ((1, 0, 0, 0, 0, -2), (0, 3, 0, 0, 0, 1))
    assert integers([]) == ()
    bad = [
        good[::-1],
        [["2", "0", "0", "0", "0", "-4"]],
        [["-1", "0", "0", "0", "0", "2"]],
        [["+1", "0", "0", "0", "0", "-2"]],
        [["1", "0", "0", "0", "0"]],
        [["1", "0", "0", "0", "0", "0", "0"]],
        [["0"] * 6],
        [[1, 0, 0, 0, 0, -2]],
    ]
    for space in bad:
        with pytest.raises(ValueError, match="not in canonical form"):
            integers(space)


ASSETS = Path(__file__).resolve().parents[2] / "assets"


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


def measured(spaces: Sequence[Sequence[Fraction | int]]) -> np.ndarray:
    """The span of rows by other vectors, which are known to ten digits."""
    rng = np.random.default_rng(5)
    rows = np.array([[float(x) for x in row] for row in spaces]).reshape(-1, 6).T
    found = np.asarray(rows @ rng.normal(size=(rows.shape[1],) * 2))
    return found + 1e-11 * rng.normal(size=rows.shape)


@pytest.mark.slow
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


@pytest.mark.parametrize("direction", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.02, 0.0, 1.0)])
def test_bars_are_as_equal_in_every_attitude(direction: tuple[float, float, float]) -> None:
    """What is missed counts against the whole direction, not against its first component."""
    axis, across = unit(np.array(direction)), unit(np.cross(direction, (0.3, 1.0, 0.2)))
    along = np.cross(axis, across)
    corners = [0.0 * across, across, across + (1.0 + 7e-6) * along, along]
    hinges = {
        e: integral([[Fraction(float(x)) for x in (*np.cross(corner, axis), *axis)]])
        for e, corner in enumerate(corners)
    }
    assert equal_bars(hinges, 1e-5) == [(0, 1, 2, 3)]
    assert equal_bars(hinges, 5e-6) == []
