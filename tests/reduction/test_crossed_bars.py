"""Antiparallelograms and lines across their bars: redundancy that is proved by their motion."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mechanisms import moved
from noise_table import noisy
from screws import exp

import regularize as rg
from regularize.guests.special.planar import similar_triangles
from regularize.mechanism.graph import EdgeId
from regularize.proofs.special import special_lengths
from regularize.proofs.verifier import Space

ANYWHERE = exp(np.array([0.1, 2.0, 0.3, 0.7, -0.4, 1.1]))


def guide(
    base: float, crank: float, angle: float, ratio: float, aside: float = 0.0
) -> rg.Mechanism:
    """Hart's line: a slot about O that guides P and Q on the cranks of an antiparallelogram.

    Args:
        base: Length of the bars A B and C D.
        crank: Length of the bars A D and B C.
        angle: Of the crank A D.
        ratio: Where the slot cuts A B, A D and C B.
        aside: By how much Q misses the line, along its bar.
    """
    A, B = np.zeros(2), np.array([base, 0.0])
    D = crank * np.array([np.cos(angle), np.sin(angle)])
    n = (D - B) / np.linalg.norm(D - B)
    C = A - 2.0 * ((A - (B + D) / 2.0) @ n) * n
    start, P, Q = A + ratio * (B - A), A + ratio * (D - A), C + (ratio + aside) * (B - C)
    slot = (*(P - start) / np.linalg.norm(P - start), 0.0)
    hinges = [
        ("A", "ground", "ad", A),
        ("B", "ground", "bc", B),
        ("C", "bc", "cd", C),
        ("D", "ad", "cd", D),
        ("O", "ground", "slot", start),
        ("P", "ad", "first", P),
        ("Q", "bc", "second", Q),
    ]
    joints = [
        rg.Joint.in_world(name, one, two, "revolute", (0, 0, 1), point=(*place, 0.0))
        for name, one, two, place in hinges
    ]
    joints += [
        rg.Joint.in_world("S", "slot", "first", "prismatic", slot, point=(*P, 0.0)),
        rg.Joint.in_world("T", "slot", "second", "prismatic", slot, point=(*Q, 0.0)),
    ]
    return moved(rg.Mechanism.of_joints("Hart's line", joints), ANYWHERE)


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [(0.5, 0.2, 2.1, 0.7), (1.0, np.sqrt(2.0), -1.3, 1.0 / 3.0)])
def test_lines_across_antiparallelograms_are_proved(lengths: tuple[float, ...]) -> None:
    reduction = rg.reduce(guide(*lengths), configurations=5)
    assert (reduction.mobility, reduction.redundant, reduction.remaining) == (1, 10, 1)
    (special,) = special_lengths(reduction)
    assert (special.family, special.rows) == ("similar triangles", 1)
    assert special.distance < 1e-8
    document = json.loads(json.dumps(rg.prove(rg.reduce(guide(*lengths), numerical="anyway"))))
    verdict = rg.verify(document)
    assert verdict.holds and document["undecided"] == []
    assert any("lose their rank" in claim for claim in verdict.claims)


@pytest.mark.slow
def test_numbers_that_are_a_little_off_mean_the_same() -> None:
    mechanism = noisy(guide(2.0, 3.0, 0.9, 0.4), 1e-9, seed=1)
    (special,) = special_lengths(rg.reduce(mechanism, configurations=5))
    assert special.family == "similar triangles" and 1e-10 < special.distance < 1e-7


def test_a_line_that_cuts_in_another_ratio_is_none() -> None:
    """It locks the bars: nothing moves, and nothing is owed to its lengths."""
    reduction = rg.reduce(guide(2.0, 3.0, 0.9, 0.4, aside=0.05), configurations=5)
    assert special_lengths(reduction) == ()
    assert reduction.mobility == 0


@pytest.mark.slow
def test_what_walks_leave_is_not_removed_and_what_is_proved_is() -> None:
    """Where all bars are in line the slot may leave them: a row is needed there."""
    reduction = rg.reduce(guide(2.0, 3.0, 0.9, 0.4), numerical="anyway")
    assert (reduction.removed, reduction.remaining) == (9, 1)
    assert reduction.certificate.holds
    (special,) = special_lengths(reduction)
    assert (special.family, special.rows) == ("similar triangles", 1)


@pytest.mark.parametrize(
    "corners", [((0, 0), (2, 1), (0, 0), (2, 1)), ((0, 0), (0, 0), (3, 1), (3, 1)), ((1, 1),) * 4]
)
def test_corners_that_coincide_are_no_antiparallelogram(
    corners: tuple[tuple[int, int], ...],
) -> None:
    hinges: dict[EdgeId, Space] = {
        EdgeId(i): ((y, -x, 0, 0, 0, 1),) for i, (x, y) in enumerate(corners)
    }
    assert similar_triangles(hinges, 1e-6, 1e-10) is None
