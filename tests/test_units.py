"""Lengths that cannot be metres."""

from __future__ import annotations

import numpy as np
import pytest

from regularize.adapters.common.units import size, suspect
from regularize.model.mechanism import (
    Body,
    Inertia,
    Joint,
    joint_in_world,
)


def joints(length: float) -> list[Joint]:
    """A link that long between two hinges."""
    return [
        joint_in_world("A", "ground", "link", "revolute", point=(5.0, 5.0, 5.0)),
        joint_in_world("B", "link", "end", "revolute", point=(5.0 + length, 5.0, 5.0)),
    ]


def bodies(mass: float | None) -> list[Body]:
    inertia = None if mass is None else Inertia(mass, np.zeros(3), np.eye(3))
    return [Body("ground"), Body("link", inertia), Body("end")]


def test_size_is_the_distance_of_joints_on_one_body() -> None:
    assert size(joints(0.25)) == pytest.approx(0.25)
    assert size([]) == 0.0


@pytest.mark.parametrize(
    ("length", "mass", "suspected"),
    [
        (0.3, None, False),
        (20.0, None, False),
        (20.0, 5000.0, False),
        (300.0, None, True),
        (20.0, 0.4, True),
        (0.3, 1e-9, False),
        (2e-5, None, True),
    ],
)
def test_millimetres_read_as_metres_are_suspected(
    length: float, mass: float | None, suspected: bool
) -> None:
    found = suspect(bodies(mass), joints(length))
    assert [finding.code for finding in found] == ["REG012"] * suspected
