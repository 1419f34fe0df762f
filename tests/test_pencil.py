"""The matrix polynomial of a loop: singular at every solution, whatever the arrangement."""

from __future__ import annotations

import numpy as np
import pytest
from loop_samples import closed_by, pencil, random_constants

from regularize.assembly_modes.six_motions.closure import product
from regularize.assembly_modes.six_motions.pencil import (
    arrangements,
    eigenvalues,
    turned,
)

OFFSETS = np.array([0.4, -1.3, 2.2])


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["RRRRRR", "PRRRRR", "RPRPRR", "RRPPRR", "PPRRRR", "RPRPRP"])
def test_every_arrangement_is_singular_at_solutions(kinds):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(5, 6))
    C = closed_by(kinds, random_constants(rng, 5), x)
    count = 0
    for arrangement in arrangements(kinds):
        P = pencil(kinds, C, arrangement, OFFSETS)
        hidden = x[:, arrangement.order[arrangement.roles[0]]]
        sizes = np.linalg.svd(P.at(P.angle(0, hidden)), compute_uv=False)
        assert np.max(sizes[:, -1] / sizes[:, 0]) < 1e-11
        assert np.allclose(np.sin(P.value(0, P.angle(0, hidden)) - hidden), 0.0, atol=1e-12)
        count += 1
    assert count == 12 * kinds.count("R")


def test_arranged_loops_are_the_same_loop():
    rng = np.random.default_rng(1)
    kinds = "RPRRPR"
    x = rng.uniform(-2, 2, size=(1, 6))
    C = closed_by(kinds, random_constants(rng, 1), x)
    for arrangement in arrangements(kinds):
        arranged_kinds, arranged = arrangement.arranged(kinds, C)
        T, _, _ = product(arranged_kinds, arranged, x[:, list(arrangement.order)])
        assert np.allclose(T, np.eye(4), atol=1e-13)


def test_a_general_loop_has_sixteen_eigenvalues_and_the_imaginary_points():
    """Raghavan and Roth: degree 24 with the factor (1 + t²)⁴ of the third angle."""
    rng = np.random.default_rng(2)
    C = random_constants(rng, 10)
    first = next(a for a in arrangements("RRRRRR") if a.hidden == 0)
    P = pencil("RRRRRR", C, first, OFFSETS)
    angles = eigenvalues(P.A)
    # The points of the half angle's tangent at +i and -i are infinitely far up and down.
    far = np.abs(angles.imag) > 6.0
    assert np.array_equal(far.sum(axis=1), np.full(10, 8))


def test_the_circle_may_start_anywhere():
    rng = np.random.default_rng(3)
    C = random_constants(rng, 4)
    P = pencil("RRRRRR", C, next(arrangements("RRRRRR")), OFFSETS)
    moved = np.einsum("nhij,hk->nkij", P.A, turned(np.array(0.9)))
    c, s = np.cos(0.3), np.sin(0.3)
    at = c * c * moved[:, 0] + c * s * moved[:, 1] + s * s * moved[:, 2]
    assert np.allclose(at, P.at(np.array([0.6 + 0.9])), atol=1e-14)
    a, b = eigenvalues(P.A), eigenvalues(moved) + 0.9
    near = (np.abs(a.imag) < 2.0) & np.isfinite(a)
    for n in range(4):
        distance = np.abs(np.exp(1j * a[n][near[n]])[:, None] - np.exp(1j * b[n])[None])
        assert np.max(distance.min(axis=1)) < 1e-6


def test_three_slides_in_turn_with_three_turns_are_singular_at_all_angles():
    rng = np.random.default_rng(4)
    C = random_constants(rng, 3)
    angles = np.linspace(-3, 3, 7)
    for arrangement in arrangements("PRPRPR"):
        assert pencil("PRPRPR", C, arrangement, OFFSETS).regularity(angles).max() < 1e-13
