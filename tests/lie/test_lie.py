"""Screws and their exponentials; subspaces of se(3): closure, lattice operations, names."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm
from scipy.optimize import nnls

from regularize.lie import screw, subalgebra
from regularize.lie.motion_type import motion_type
from regularize.lie.screw import OneScrew, smallest_ball_center
from regularize.lie.subalgebra import (
    complement,
    contains,
    intersection,
    lie_closure,
    saturation,
    span,
    sum_,
)
from regularize.words import Direction, axis_words, directions

X, Y, Z = np.eye(3)
ORIGIN = np.zeros(3)

#: Names of subgroups by their dimension.
DIMENSIONS = {
    **dict.fromkeys(("revolute", "helical", "translation"), 1),
    **dict.fromkeys(("translations in a plane", "cylindrical"), 2),
    **dict.fromkeys(("spherical", "planar", "planar with pitch", "spatial translations"), 3),
    "Schoenflies": 4,
    "full": 6,
}
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_nothing_is_immobile():
    assert motion_type(subalgebra.ZERO).name == "immobile"


components = st.floats(-3, 3, allow_nan=False)


screws = arrays(np.float64, 6, elements=components)


@pytest.mark.slow
@given(screws, screws, screws)
def test_bracket_is_a_lie_bracket(a, b, c):
    assert np.allclose(screw.bracket(a, b), -screw.bracket(b, a))
    jacobi = (
        screw.bracket(a, screw.bracket(b, c))
        + screw.bracket(b, screw.bracket(c, a))
        + screw.bracket(c, screw.bracket(a, b))
    )
    assert np.allclose(jacobi, 0.0, atol=1e-10)
    assert np.allclose(screw.ad(a) @ b, screw.bracket(a, b))


@pytest.mark.slow
@given(screws)
def test_exponential_is_the_matrix_exponential(a):
    for scale, atol in ((1.0, 1e-9), (1e-5, 1e-15)):
        assert np.allclose(screw.exp(scale * a), expm(screw.hat(scale * a)), atol=atol)


@pytest.mark.slow
@given(screws.map(lambda s: s * 0.9))
def test_logarithm_inverts_the_exponential(a):
    if np.linalg.norm(a[3:]) < 3.1:
        assert np.allclose(screw.log(screw.exp(a)), a, atol=1e-7)


@pytest.mark.slow
@given(screws, screws)
def test_adjoint_carries_screws_as_pinocchio_does(a, b):
    T = screw.exp(a)
    assert np.allclose(screw.adjoint(T) @ b, pin.SE3(T).act(pin.Motion(b)).vector, atol=1e-9)
    assert np.allclose(T @ screw.inverse(T), np.eye(4), atol=1e-9)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 9e-4, 1.1e-3, 1.0, 3.0])
def test_inverse_left_jacobian_of_any_size(size):
    """Against the closed form of the left Jacobian (Barfoot 2017, eq. 7.77), small angles too."""
    axis = np.array([1.0, -2.0, 2.0]) / 3
    w, W = size * axis, screw.cross_matrix(axis)
    slope = 2 * np.sin(size / 2) ** 2 / size
    jacobian = np.eye(3) + slope * W + (1 - np.sin(size) / size) * W @ W
    np.testing.assert_allclose(screw.inverse_left_jacobian(w) @ jacobian, np.eye(3), atol=1e-11)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 0.199, 0.201, 1.0, 3.0, np.pi, 4.0])
def test_wrench_of_twist_forces_of_any_size(size):
    """The forces are those of the wrench by the twists of steps, a series of brackets."""
    rng = np.random.default_rng(2)
    twists, wrenches = rng.normal(size=(2, 5, 6))
    twists[:, 3:] *= size / np.linalg.norm(twists[:, 3:], axis=1, keepdims=True)
    minus, by_step = -screw.ad(twists), np.eye(6)
    for k in range(60, 1, -1):
        by_step = np.eye(6) + minus @ by_step / k
    forces = (np.swapaxes(by_step, 1, 2) @ wrenches[..., None])[..., 0]
    found = screw.wrench_of_twist_forces(twists, forces)
    np.testing.assert_allclose(found, wrenches, atol=2e-13)


def test_leading_axes_are_configurations():
    twists = np.linspace(-1, 1, 5 * 7 * 6).reshape(5, 7, 6)
    many = screw.exp(twists)
    assert many.shape == (5, 7, 4, 4)
    assert np.allclose(many[2, 3], screw.exp(twists[2, 3]))
    assert np.allclose(
        screw.cross(twists[..., :3], twists[0, 0, 3:]), np.cross(twists[..., :3], twists[0, 0, 3:])
    )


def test_named_screws_and_their_axes():
    turning = screw.revolute((0, 0, 2), (1, 2, 3))
    assert np.allclose(turning, (2, -1, 0, 0, 0, 1))
    direction, point, pitch = screw.axis_of(screw.prismatic((0, 0, -2)))
    assert np.allclose(direction, (0, 0, -1)) and point is None and pitch is None
    with pytest.raises(ValueError, match="length"):
        screw.revolute((0, 0, 0))


@given(st.integers(-12, 12))
def test_what_counts_as_a_rotation_does_not_depend_on_the_length_of_the_screw(exponent):
    """A screw and its multiples have one axis, and a turning lost in rounding is none."""
    size = 10.0**exponent
    direction, point, pitch = screw.axis_of(size * screw.helical((0, 3, 0), (1, 5, 2), 0.1))
    assert np.allclose(direction, (0, 1, 0)) and np.allclose(point, (1, 0, 2))
    assert pitch == pytest.approx(0.1)
    rounded = size * np.array([0.0, 0.0, 1.0, 1e-14, 0.0, 0.0])
    direction, point, pitch = screw.axis_of(rounded)
    assert np.allclose(direction, (0, 0, 1)) and point is None and pitch is None


def test_directions_in_words() -> None:
    assert axis_words(np.array([0.0, -2.0, 0.0])) == "Y"
    assert axis_words(np.array([0.0, 1.0, 0.0005])) == "Y tilted by 0.5 mrad"
    assert axis_words(np.array([-3.0, 0.0, -4.0])) == "(0.6, 0, 0.8)"
    (slight,) = directions(np.array([[1.0, 0, 0, 0, 1.5e-4, 0]]).T[[0, 4, 2, 3, 1, 5]])
    assert slight.words("force", "moment") == "force along X tilted by 0.15 mrad"
    linear, angular = np.array([0.0, 0, 1, 0, 0, 0]), np.array([0.0, 0, 0, 1, 0, 0])
    assert Direction("linear", linear).words("force", "moment") == "force along Z"
    assert Direction("angular", angular).words("force", "moment") == "moment about X"
    for sign, word in ((1.0, "with"), (-1.0, "against")):
        mixed = Direction("mixed", linear + sign * angular).words("force", "moment")
        assert mixed == f"force along Z {word} moment about X"


@pytest.mark.parametrize("dimension", range(1, 6))
def test_directions_are_a_basis_that_depends_on_the_space_alone(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    basis = np.linalg.qr(rng.normal(size=(6, dimension)))[0]
    found = [
        np.array([direction.covector for direction in directions(columns)])
        for columns in (basis, basis @ rng.normal(size=(dimension, dimension)))
    ]
    np.testing.assert_allclose(np.linalg.norm(found[0], axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(found[0] @ basis @ basis.T, found[0], atol=1e-9)
    assert np.linalg.matrix_rank(found[0], tol=1e-6) == dimension
    np.testing.assert_allclose(found[1], found[0], atol=1e-8)
    (clean,) = directions(np.array([[1.0, 1e-10, 0.0, 0.0, 0.0, 0.0]]).T)
    np.testing.assert_array_equal(clean.covector, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("twist", [(0.3, -0.2, 0.5, 0, 0, 0), (0.4, 1.0, -0.3, 0.6, 0.0, 0.8)])
def test_motions_about_one_screw_stay_rigid_however_far_they_go(twist: tuple[float, ...]) -> None:
    one = np.array(twist)
    q = np.array([[0.0], [1e-9], [-0.7], [np.pi], [4.0], [500.0]])
    moved = OneScrew(one[None]).motions(q)[:, 0]
    np.testing.assert_allclose(moved, screw.exp(q * one), rtol=1e-12, atol=1e-13)
    R = moved[:, :3, :3]
    assert np.max(np.abs(R @ R.swapaxes(1, 2) - np.eye(3))) < 1e-15
    np.testing.assert_array_equal(moved[:, 3], np.broadcast_to([0.0, 0.0, 0.0, 1.0], (6, 4)))


@pytest.mark.parametrize("seed", range(30))
def test_no_smaller_ball_holds_the_points(seed: int) -> None:
    """The centre of the smallest one is a mean of points that it rests on."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(1, 40), 3)) * [1.0, seed % 3 > 0, seed % 4 > 0]
    points = np.round(points) if seed % 5 == 0 else points
    center = smallest_ball_center(points)
    away = np.linalg.norm(points - center, axis=1)
    on = points[away >= away.max() - 1e-9]
    _, rest = nnls(np.vstack([on.T, np.ones(len(on))]), np.append(center, 1.0))
    assert rest < 1e-9
