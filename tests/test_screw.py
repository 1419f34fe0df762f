"""Screws and their exponentials against scipy, Pinocchio and the axioms."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm

from regularize.lie import screw
from regularize.lie.directions import Direction, axis_words, directions
from regularize.manifold.joint_motion import OneScrew

components = st.floats(-3, 3, allow_nan=False)
screws = arrays(np.float64, 6, elements=components)


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


@given(screws)
def test_exponential_is_the_matrix_exponential(a):
    assert np.allclose(screw.exp(a), expm(screw.hat(a)), atol=1e-9)


@given(screws.map(lambda s: s * 1e-5))
def test_exponential_of_tiny_twists(a):
    assert np.allclose(screw.exp(a), expm(screw.hat(a)), atol=1e-15)


@given(screws.map(lambda s: s * 0.9))
def test_logarithm_inverts_the_exponential(a):
    if np.linalg.norm(a[3:]) < 3.1:
        assert np.allclose(screw.log(screw.exp(a)), a, atol=1e-7)


@given(screws, screws)
def test_adjoint_carries_screws_as_pinocchio_does(a, b):
    T = screw.exp(a)
    assert np.allclose(screw.adjoint(T) @ b, pin.SE3(T).act(pin.Motion(b)).vector, atol=1e-9)
    assert np.allclose(T @ screw.inverse(T), np.eye(4), atol=1e-9)


@given(screws.map(lambda s: s * 0.5))
def test_inverse_left_jacobian_against_differences(a):
    w, rate = a[3:], a[:3]
    h = 1e-6
    R = screw.exp(np.concatenate([np.zeros(3), w]))[:3, :3]
    turned = [
        screw.exp(np.concatenate([np.zeros(3), sign * h * rate]))[:3, :3] @ R for sign in (1, -1)
    ]
    difference = (screw.log_rotation(turned[0]) - screw.log_rotation(turned[1])) / (2 * h)
    assert np.allclose(screw.inverse_left_jacobian(w) @ rate, difference, atol=1e-6)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 9e-4, 1.1e-3, 1.0, 3.0])
def test_inverse_left_jacobian_of_any_size(size):
    """Against the closed form of the left Jacobian (Barfoot 2017, eq. 7.77), small angles too."""
    axis = np.array([1.0, -2.0, 2.0]) / 3
    w, W = size * axis, screw.cross_matrix(axis)
    slope = 2 * np.sin(size / 2) ** 2 / size
    jacobian = np.eye(3) + slope * W + (1 - np.sin(size) / size) * W @ W
    np.testing.assert_allclose(screw.inverse_left_jacobian(w) @ jacobian, np.eye(3), atol=1e-11)


def test_inverse_left_jacobian_at_rest():
    np.testing.assert_array_equal(screw.inverse_left_jacobian(np.zeros(3)), np.eye(3))


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
    direction, point, pitch = screw.axis_of(screw.helical((0, 3, 0), (1, 5, 2), 0.1))
    assert np.allclose(direction, (0, 1, 0)) and np.allclose(point, (1, 0, 2))
    assert pitch == pytest.approx(0.1)
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


def test_results_that_are_shared_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        screw.read_only([1.0])[0] = 2.0


def test_a_transform_of_nothing_is_the_identity() -> None:
    np.testing.assert_array_equal(screw.transform(), np.eye(4))


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
