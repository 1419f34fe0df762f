"""Closure of six elementary motions: derivative, Newton's method, what its certificate proves."""

from __future__ import annotations

import numpy as np
import pytest
from loop_samples import closed_by, random_constants

from regularize.assembly_modes.six_motions.closure import (
    certified,
    error_and_derivative,
    newton,
    product,
    screws_of,
)


@pytest.mark.parametrize("kinds", ["RRRRRR", "RPRRPR", "PPPRRR"])
def test_the_derivative_against_differences(kinds):
    rng = np.random.default_rng(0)
    C, x = random_constants(rng, 20), rng.normal(size=(20, 6))
    _, derivative, _ = error_and_derivative(kinds, C, x)
    for i, step in enumerate(1e-6 * np.eye(6)):
        ahead = error_and_derivative(kinds, C, x + step)[0]
        behind = error_and_derivative(kinds, C, x - step)[0]
        assert np.allclose(derivative[:, :, i], (ahead - behind) / 2e-6, atol=1e-8)


@pytest.mark.parametrize("kinds", ["RRRRRR", "RPRRPR"])
def test_certificates_of_approximate_solutions_name_the_true_one(kinds):
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=(200, 6))
    C = closed_by(kinds, random_constants(rng, 200), x)
    rough = x + 1e-7 * rng.normal(size=x.shape)
    closed = certified(kinds, C, rough)
    proved = closed.h <= 0.5
    assert proved.mean() > 0.9
    # The zero is inside the radius of uniqueness, and Newton's method goes there.
    assert np.all(np.linalg.norm(rough - x, axis=1)[proved] < closed.radius[proved])
    assert np.max(np.abs(newton(kinds, C, rough) - x)[proved]) < 1e-9


def test_radii_never_hold_two_solutions():
    rng = np.random.default_rng(2)
    kinds, starts = "RRRRRR", 400
    x = rng.uniform(-2, 2, size=(1, 6))
    C = np.repeat(closed_by(kinds, random_constants(rng, 1), x), starts, axis=0)
    closed = certified(kinds, C, newton(kinds, C, rng.uniform(-3, 3, size=(starts, 6)), steps=80))
    good = (closed.error < 1e-12) & (closed.h <= 0.5)
    found, radius = closed.x[good], closed.radius[good]
    difference = found[:, None] - found[None]
    difference -= 2 * np.pi * np.round(difference / (2 * np.pi))
    distance = np.linalg.norm(difference, axis=-1)
    assert len(found) > 10
    inside = distance < radius[:, None]
    assert np.max(distance[inside]) < 1e-9
    assert np.any(distance > 0.1), "several solutions take part"


def test_nothing_is_proved_of_singular_configurations():
    kinds = "RRRRRR"
    C = np.repeat(np.eye(4)[None, None], 6, axis=1)  # six turns about one axis
    closed = certified(kinds, C, np.zeros((1, 6)))
    assert closed.error[0] == 0.0
    assert closed.h[0] == np.inf and closed.radius[0] == 0.0


def test_screws_of_a_product():
    rng = np.random.default_rng(3)
    kinds, C, x = "RPRRPR", random_constants(rng, 5), rng.normal(size=(5, 6))
    screws = screws_of(kinds, C, x)
    for i, step in enumerate(1e-6 * np.eye(6)):
        T, _, _ = product(kinds, C, x)
        rate = (product(kinds, C, x + step)[0] - product(kinds, C, x - step)[0]) / 2e-6
        twist = rate @ np.linalg.inv(T)
        assert np.allclose(twist[:, :3, 3], screws[:, :3, i], atol=1e-8)
        assert np.allclose(twist[:, [2, 0, 1], [1, 2, 0]], screws[:, 3:, i], atol=1e-8)
