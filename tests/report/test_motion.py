"""What moves, how it moves, and motions as sequences of configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg


def moving(mechanism: rg.Mechanism) -> list[dict[str, Any]]:
    """What the report says of the bodies that move."""
    found: list[dict[str, Any]] = rg.check(mechanism).as_dict()["moving"]
    return found


def words(mechanism: rg.Mechanism) -> dict[str, str]:
    return {body["body"]: body["motion"] for body in moving(mechanism)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "sarrus",
            {
                "lower_1": "rotates about A1 (axis along Y)",
                "upper_1": "moves in the plane normal to Y",
                "platform": "slides along Z",
            },
        ),
        ("three_prrr", {"platform": "translates in space without turning"}),
        ("orthoglide", {"platform": "translates in space without turning"}),
        ("bennett", {"link_BC": "moves in space"}),
        ("stewart_6ups", {"platform": "moves in space"}),
        ("nearly_planar_fourbar", {"crank": "stays at rest", "coupler": "stays at rest"}),
    ],
)
def test_known_motions(name: str, expected: dict[str, str], assets: Path) -> None:
    found = words(rg.load(assets / f"{name}.urdf"))
    assert {body: found[body] for body in expected} == expected


@pytest.mark.slow
def test_platform_of_the_spherical_mechanism_turns_about_its_centre(assets: Path) -> None:
    bodies = moving(rg.load(assets / "spherical_9r.urdf"))
    most = max(bodies, key=lambda body: body["freedoms"])
    assert most["freedoms"] == 3 and most["motion_algebra"]["type"] == "spherical"
    assert most["motion"].startswith("turns about the point")


def test_one_loop_may_have_more_freedoms_than_its_samples_have_twists() -> None:
    count = 45
    angles = np.cumsum(np.random.default_rng(3).uniform(0.5, 1.5, count))
    angles *= 2 * np.pi / angles[-1]
    joints = [
        rg.Joint.in_world(
            f"J{i}",
            f"b{i}",
            f"b{(i + 1) % count}",
            "revolute",
            (0, 0, 1),
            (np.cos(a), np.sin(a), 0),
        )
        for i, a in enumerate(angles)
    ]
    found = words(rg.Mechanism.of_joints("polygon", joints))
    assert found["b1"] == "rotates about J0 (axis along Z)"
    assert found["b20"] == "moves in the plane normal to Z"


def test_a_parallelogram_coupler_translates_without_turning() -> None:
    points = [(0, 0, 0), (0.1, 0.3, 0), (0.6, 0.3, 0), (0.5, 0, 0)]
    bodies = ["ground", "crank", "coupler", "rocker"]
    joints = [
        rg.Joint.in_world(
            "ABCD"[i], bodies[i], bodies[(i + 1) % 4], "revolute", (0, 0, 1), point=points[i]
        )
        for i in range(4)
    ]
    found = words(rg.Mechanism.of_joints("parallelogram", joints))
    assert found["coupler"] == "translates in the plane normal to Z without turning"
    assert found["crank"] == "rotates about A (axis along Z)"


def test_a_floating_base_is_held() -> None:
    mechanism = rg.Mechanism.of_joints(
        "robot",
        [
            rg.Joint.in_world("base_joint", "world", "base", "free"),
            rg.Joint.in_world("hip", "base", "leg", "revolute", (0, 1, 0)),
        ],
    )
    found = words(mechanism)
    assert found == {"base": "floats freely", "leg": "rotates about hip (axis along Y)"}
