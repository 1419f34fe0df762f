"""Algebras in canonical form: their sums and intersections are those that singular values find."""

from __future__ import annotations

import numpy as np
import pytest
import screws
from hypothesis import given
from hypothesis import strategies as st

from regularize.lie import subalgebra
from regularize.lie.algebra_lattice import AlgebraLattice, NearTolerance, form_of, generated_form
from regularize.lie.motion_algebra import ORIGIN, MotionAlgebra
from regularize.lie.motion_type import GeneratedAlgebra, motion_type
from regularize.reduction.motion_spaces import MotionSpaces
from regularize.tolerances import RTOL

#: Independent rotations and translations of every class of subalgebras.
KINDS = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (3, 0), (3, 3)]
kinds = st.sampled_from(KINDS)
seeds = st.integers(0, 10**6)
#: How the second of two algebras lies: its direction, its point and its pitch beside the first.
directions = st.sampled_from(["same", "against", "across", "tilted", "anywhere"])
points = st.sampled_from(["same", "on the axis", "aside", "anywhere"])
pitches = st.sampled_from(["same", "none", "another"])
operations = st.sampled_from(["join", "meet", "add", "saturate"])
GENERAL = {
    "join": lambda a, b, rtol: subalgebra.lie_closure(np.hstack([a, b]), rtol),
    "meet": subalgebra.intersection,
    "add": subalgebra.sum_,
    "saturate": subalgebra.saturation,
}


def algebra(kind: tuple[int, int], e: np.ndarray, p: np.ndarray, pitch: float) -> MotionAlgebra:
    turns, slides = kind
    x, y, z = e.tolist()
    if turns == 1:
        foot = p - (p @ e) * e
        return MotionAlgebra.one_rotation(slides, (x, y, z), tuple(foot.tolist()), pitch)
    if turns == 0:
        return MotionAlgebra(0, slides, (x, y, z) if slides in (1, 2) else ORIGIN)
    return MotionAlgebra(3, slides, point=ORIGIN if slides else tuple(p.tolist()))


def pair(
    one: tuple[int, int], other: tuple[int, int], way: tuple[str, str, str], off: float, seed: int
) -> tuple[MotionAlgebra, MotionAlgebra]:
    """Two algebras of given kinds that lie to each other in a given way, some of it by so much."""
    rng = np.random.default_rng(seed)
    e, p, pitch = screws.unit(rng.normal(size=3)), rng.uniform(-0.6, 0.6, 3), rng.choice([0.0, 0.3])
    random, aside = screws.unit(rng.normal(size=3)), screws.unit(np.cross(e, rng.normal(size=3)))
    direction, point, turn = way
    f = {"same": e, "against": -e, "across": aside, "anywhere": random}.get(
        direction, screws.unit(e + off * aside)
    )
    q = {"same": p, "on the axis": p + 0.3 * e, "anywhere": rng.uniform(-0.6, 0.6, 3)}.get(
        point, p + off * screws.unit(np.cross(e, random))
    )
    h = {"same": pitch, "none": 0.0}.get(turn, pitch + off)
    return algebra(one, e, p, float(pitch)), algebra(other, f, q, float(h))


ways = st.tuples(directions, points, pitches)


@given(kinds, kinds, ways, st.floats(-6.5, 0.0), operations, seeds)
def test_canonical_forms_tell_what_singular_values_tell(
    one: tuple[int, int],
    other: tuple[int, int],
    way: tuple[str, str, str],
    exponent: float,
    operation: str,
    seed: int,
) -> None:
    """Wherever they decide; and where things clearly differ or are equal, they do."""
    a, b = pair(one, other, way, 10.0**exponent, seed)
    rtol = RTOL
    try:
        found = getattr(AlgebraLattice(rtol), operation)(a, b).basis()
    except NearTolerance:
        decided = operation in ("join", "meet") and "tilted" not in way
        assert not decided or exponent < -1.0 or "anywhere" in way
        return
    wanted = GENERAL[operation](a.basis(), b.basis(), rtol)
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-9)


@given(kinds, kinds, ways, st.floats(-7.0, -3.0), seeds)
def test_the_store_decides_near_the_tolerance_as_singular_values_do(
    one: tuple[int, int],
    other: tuple[int, int],
    way: tuple[str, str, str],
    exponent: float,
    seed: int,
) -> None:
    """Dimensions are the same whatever the differences are."""
    a, b = (form.basis() for form in pair(one, other, way, 10.0**exponent, seed))
    spaces = MotionSpaces(RTOL)
    i, j = spaces.number(a), spaces.number(b)
    for operation, general in GENERAL.items():
        found = spaces.dimension(getattr(spaces, operation)(i, j))
        assert found == general(a, b, RTOL).shape[1], operation


@given(kinds, seeds)
def test_a_canonical_form_is_seen_in_any_basis(kind: tuple[int, int], seed: int) -> None:
    form, _ = pair(kind, kind, ("same", "same", "same"), 0.0, seed)
    basis = form.basis()
    np.testing.assert_allclose(basis.T @ basis, np.eye(form.dimension), atol=1e-12)
    turned, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(form.dimension,) * 2))
    again = form_of(basis @ turned, RTOL)
    assert again is not None and (again.turns, again.slides) == kind
    seen = again.basis()
    np.testing.assert_allclose(seen @ seen.T, basis @ basis.T, atol=1e-12)


@pytest.mark.parametrize("off", [3e-5, 1e-9])
def test_what_is_near_the_tolerance_is_left_to_singular_values(off: float) -> None:
    hinges = np.column_stack([screws.revolute((0, 0, 1)), screws.revolute((0, 0, 1), (off, 0, 0))])
    assert generated_form(hinges, RTOL) is None
    closure = GeneratedAlgebra(hinges)
    assert closure.dimension == closure.basis.shape[1] == (3 if off > RTOL else 1)
    assert closure.type.name == motion_type(subalgebra.lie_closure(hinges)).name


def test_what_is_finer_than_rounding_is_told_where_it_is_asked_for() -> None:
    hinges = np.column_stack(
        [screws.revolute((0, 0, 1)), screws.revolute((0, 0, 1), (5e-11, 0, 0))]
    )
    assert GeneratedAlgebra(hinges).dimension == 1
    assert GeneratedAlgebra(hinges, 1e-12).dimension == 3


@pytest.mark.parametrize("far", [2.0, 50.0])
def test_axes_far_from_the_origin_have_no_canonical_form(far: float) -> None:
    hinge = screws.revolute((0, 0, 1), (far, 0, 0))[:, None]
    assert form_of(subalgebra.span(hinge), RTOL) is None
    assert generated_form(hinge, RTOL) is None


def test_screws_of_no_order_one_have_no_canonical_form() -> None:
    assert generated_form(np.zeros((6, 1)), RTOL) is None
    assert generated_form(1e-3 * screws.revolute((0, 0, 1))[:, None], RTOL) is None


def test_five_dimensions_are_no_algebra() -> None:
    assert form_of(np.eye(6)[:, :5], RTOL) is None
    assert motion_type(np.eye(6)[:, 1:]).name == "no subalgebra"
