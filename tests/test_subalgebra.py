"""Subspaces of se(3): closure, lattice operations, names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regularize.lie import screw, subalgebra
from regularize.lie.motion_type import motion_type
from regularize.lie.subalgebra import (
    complement,
    contains,
    intersection,
    lie_closure,
    saturation,
    span,
    sum_,
)
from regularize.reduction.motion_spaces import MotionSpaces, brackets

X, Y, Z = np.eye(3)
ORIGIN = np.zeros(3)

#: One representative of every conjugacy class of connected subgroups, by name.
CLASSES = {
    "revolute": [screw.revolute(Z)],
    "helical": [screw.helical(Z, ORIGIN, 0.3)],
    "translation": [screw.prismatic(Z)],
    "translations in a plane": [screw.prismatic(X), screw.prismatic(Y)],
    "cylindrical": [screw.prismatic(Z), screw.revolute(Z)],
    "spherical": [screw.revolute(X), screw.revolute(Y)],
    "planar": [screw.revolute(Z), screw.revolute(Z, X)],
    "planar with pitch": [screw.helical(Z, ORIGIN, 0.3), screw.helical(Z, X, 0.3)],
    "spatial translations": [screw.prismatic(a) for a in (X, Y, Z)],
    "Schoenflies": [screw.revolute(Z), screw.revolute(Z, X), screw.prismatic(Z)],
    "full": [screw.revolute(X), screw.revolute(Y, Z), screw.revolute(Z, X)],
}
DIMENSIONS = {
    "revolute": 1,
    "helical": 1,
    "translation": 1,
    "translations in a plane": 2,
    "cylindrical": 2,
    "spherical": 3,
    "planar": 3,
    "planar with pitch": 3,
    "spatial translations": 3,
    "Schoenflies": 4,
    "full": 6,
}
seeds = st.integers(0, 10**6)


def motion(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return screw.exp(np.concatenate([rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3)]))


def columns(name: str) -> np.ndarray:
    return np.column_stack(CLASSES[name])


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_is_named(name):
    kind = motion_type(lie_closure(columns(name)))
    assert (kind.name, kind.dimension) == (name, DIMENSIONS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
@given(seed=seeds)
def test_names_move_with_the_mechanism(name, seed):
    T = motion(seed)
    kind = motion_type(lie_closure(screw.adjoint(T) @ columns(name)))
    assert (kind.name, kind.dimension) == (name, DIMENSIONS[name])
    if kind.direction is not None:
        assert abs(kind.direction @ T[:3, :3] @ Z) == pytest.approx(1.0)
    if name == "spherical":
        assert np.allclose(kind.point, T[:3, 3])
    if name in ("revolute", "cylindrical", "helical"):
        assert np.allclose(np.cross(kind.point - T[:3, 3], T[:3, 2]), 0.0, atol=1e-9)
    if kind.pitch is not None:
        assert kind.pitch == pytest.approx(0.3)


@given(seeds, st.integers(1, 5))
def test_closure_is_closed_idempotent_and_of_a_possible_dimension(seed, count):
    rng = np.random.default_rng(seed)
    screws = rng.normal(size=(6, count))
    screws[:, rng.random(count) < 0.3] *= [[1], [1], [1], [0], [0], [0]]
    closure = lie_closure(screws)
    assert closure.shape[1] in (0, 1, 2, 3, 4, 6)
    assert contains(closure, span(screws))
    again = lie_closure(closure)
    assert contains(again, closure) and contains(closure, again)
    for a in closure.T:
        for b in closure.T:
            assert contains(closure, screw.bracket(a, b)[:, None])


@given(seeds, st.integers(0, 6), st.integers(0, 6))
def test_dimension_formula(seed, a, b):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(6, min(a, b) // 2))
    A = span(np.hstack([common, rng.normal(size=(6, a - common.shape[1]))]))
    B = span(np.hstack([common, rng.normal(size=(6, b - common.shape[1]))]))
    both, either = intersection(A, B), sum_(A, B)
    assert both.shape[1] + either.shape[1] == A.shape[1] + B.shape[1]
    assert contains(A, both) and contains(B, both) and contains(either, A)
    assert complement(A).shape[1] == 6 - A.shape[1]
    assert np.allclose(A.T @ complement(A), 0.0)


@given(seeds)
def test_saturation_holds_the_space_while_the_joint_moves(seed):
    rng = np.random.default_rng(seed)
    space = span(rng.normal(size=(6, 2)))
    hinge = screw.revolute(rng.normal(size=3), rng.normal(size=3))[:, None]
    larger = saturation(space, hinge)
    assert contains(larger, space)
    for angle in (0.3, 1.7, -2.5):
        moved = screw.adjoint(screw.exp(angle * hinge[:, 0])) @ space
        assert contains(larger, moved)


@given(seeds)
def test_closure_of_a_conjugate_is_the_conjugate_of_the_closure(seed):
    T = motion(seed)
    planar = columns("planar")
    moved = span(screw.adjoint(T) @ lie_closure(planar))
    closure = lie_closure(screw.adjoint(T) @ planar)
    assert contains(moved, closure) and contains(closure, moved)


@pytest.mark.parametrize("rtol", [1e-12, 1e-5, 0.1, 0.9])
@given(seed=seeds)
def test_there_is_no_subalgebra_of_dimension_five(seed, rtol):
    """However coarse the tolerance: some bracket always points straight out of five dimensions."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(6, 1))
    normal[:3] *= 10.0 ** rng.uniform(-3, 3)
    five = complement(span(normal / np.linalg.norm(normal), rtol=1e-9))
    assert five.shape[1] == 5
    assert lie_closure(five, rtol).shape[1] == 6


@given(seeds)
def test_spaces_meet_to_their_tolerance(seed):
    """Two planes through one line; a second direction is common below the angle, not above."""
    rng = np.random.default_rng(seed)
    rtol = 1e-5
    frame, _ = np.linalg.qr(rng.normal(size=(6, 3)))
    line, across, out = frame.T
    for share, expected in ((0.5, 2), (2.0, 1)):
        tilted = np.cos(share * rtol) * across + np.sin(share * rtol) * out
        plane, other = np.column_stack([line, across]), np.column_stack([line, tilted])
        both = intersection(plane, other, rtol)
        assert both.shape[1] == expected
        assert contains(both, line[:, None], rtol)


def test_planar_normal_and_translation_normals_are_told():
    assert np.allclose(motion_type(lie_closure(columns("planar"))).direction, Z)
    kind = motion_type(lie_closure(columns("translations in a plane")))
    assert np.allclose(kind.direction, Z)


def test_nothing_is_immobile():
    assert motion_type(subalgebra.ZERO).name == "immobile"


def test_the_store_gives_equal_spaces_equal_numbers():
    spaces = MotionSpaces(1e-5)
    same = columns("planar"), np.column_stack([screw.revolute(Z, Y), screw.prismatic(X)])
    one, other, x, z = (spaces.number(lie_closure(c)) for c in (*same, X_TURN, Z_TURN))
    assert one == other
    assert spaces.dimension(spaces.join(x, z)) == 3
    assert spaces.dimension(spaces.add(x, z)) == 2
    assert spaces.meet(x, z) == MotionSpaces.ZERO
    assert spaces.join(x, MotionSpaces.FULL) == MotionSpaces.FULL
    assert spaces.dimension(spaces.saturate(x, z)) == 2
    assert spaces.contains(spaces.join(x, z), x) and not spaces.contains(x, z)


X_TURN = screw.revolute(X)[:, None]
Z_TURN = screw.revolute(Z)[:, None]


@given(seeds, st.sampled_from([*CLASSES]), st.sampled_from([*CLASSES]))
def test_the_store_knows_what_decompositions_know(seed: int, one: str, other: str) -> None:
    """Also where one space lies in the other, which it tells without any."""
    spaces, move = MotionSpaces(subalgebra.RTOL), screw.adjoint(motion(seed))
    bases = [lie_closure(np.array(CLASSES[name]).T) for name in (one, other)]
    if seed % 3:
        bases = [move @ bases[0], move @ bases[1]]
    elif seed % 2:
        bases[1] = move @ bases[1]
    a, b = (span(basis) for basis in bases)
    for found, expected in (
        (spaces.join(spaces.number(a), spaces.number(b)), lie_closure(np.hstack([a, b]))),
        (spaces.add(spaces.number(a), spaces.number(b)), sum_(a, b)),
        (spaces.meet(spaces.number(a), spaces.number(b)), intersection(a, b)),
    ):
        basis = spaces.basis(found)
        assert np.allclose(basis @ basis.T, expected @ expected.T, atol=1e-9)


@pytest.mark.parametrize("dimension", range(7))
def test_a_space_and_its_complement_make_up_the_whole(dimension: int) -> None:
    columns = np.random.default_rng(dimension).normal(size=(6, dimension))
    basis = span(columns)
    other = complement(basis)
    both = np.hstack([basis, other])
    np.testing.assert_allclose(both.T @ both, np.eye(6), atol=1e-12)
    assert contains(basis, columns) is True
    assert contains(basis, both) is (dimension == 6)
    assert contains(basis, columns + 1e-7) and contains(basis, other[:, :0])
    # Many columns of which each is within the tolerance, and out of it.
    for off, inside in ((0.8, True), (1.2, dimension == 6)):
        assert contains(basis, np.tile(off * subalgebra.RTOL * other[:, :1], 50)) is inside


@pytest.mark.parametrize("point", [(0.4, -0.2, 0.0), (2e-4, 0.0, 0.0), (1e-6, 0.0, 0.0)])
@pytest.mark.parametrize("turn", [0.0, 0.6])
def test_known_algebras_are_what_screws_generate(
    point: tuple[float, float, float], turn: float
) -> None:
    spaces = MotionSpaces(subalgebra.RTOL)
    center = np.zeros(3) if turn else np.array(point)
    axes = [(0, 0, 1), (0, np.sin(turn), np.cos(turn)), (np.sin(turn), 0, np.cos(turn))]
    hinges = [
        screw.helical(axis, k * center, 0.0 if k < 3 else 0.3)[:, None]
        for k, axis in enumerate([*axes, axes[0]])
    ]
    numbers = [spaces.number(subalgebra.span(hinge)) for hinge in hinges]
    for a, one in zip(numbers, hinges, strict=True):
        for b, other in zip(numbers, hinges, strict=True):
            unit, freedom = subalgebra.span(one), subalgebra.span(other)
            crossed = brackets(unit, freedom, subalgebra.RTOL)
            for found, wanted in (
                (spaces.join(a, b), subalgebra.lie_closure(np.hstack([unit, freedom]))),
                (spaces.saturate(a, b), subalgebra.saturation(unit, freedom)),
                (spaces.add(a, b), sum_(unit, freedom)),
                (spaces.meet(a, b), intersection(unit, freedom)),
                (spaces.carried(a, b), subalgebra.saturation(crossed, freedom)),
            ):
                basis = spaces.basis(found)
                assert basis.shape == wanted.shape
                assert subalgebra.contains(basis, wanted) and subalgebra.contains(wanted, basis)
