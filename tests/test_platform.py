"""All poses of platforms on legs: as many as there can be, each proved; fewer are some."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest

import regularize as rg

X, Y, Z = np.eye(3)


def on_legs(name: str, legs: list[list[tuple[str, np.ndarray, np.ndarray]]]) -> rg.Mechanism:
    """A platform on legs of joints in world axes: kind, direction, point."""
    joints = []
    for i, leg in enumerate(legs):
        bodies = ["ground", *(f"{name}{i}{k}" for k in range(len(leg) - 1)), "platform"]
        for k, (kind, axis, point) in enumerate(leg):
            joints.append(
                rg.Joint.in_world(f"J{i}{k}", bodies[k], bodies[k + 1], kind, axis, point)
            )
    return rg.Mechanism.of_joints(name, joints)


def around(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def planar(rng: np.random.Generator) -> rg.Mechanism:
    """3-RRR; the first hinges are driven."""
    legs = []
    for i in range(3):
        base, tip = 1.5 * around(2.1 * i), 0.4 * around(2.1 * i + 0.3 + 0.4 * rng.normal())
        elbow = (base + tip) / 2 + 0.5 * rng.normal(size=3) * (1, 1, 0)
        legs.append([("revolute", Z, p) for p in (base, elbow, tip)])
    return on_legs("3-RRR", legs)


def slides(rng: np.random.Generator) -> rg.Mechanism:
    """3-RPS; the slides are driven."""
    legs = []
    for i in range(3):
        base, tip = around(2.1 * i), 0.6 * around(2.1 * i + 0.2 * rng.normal()) + 1.2 * Z
        axis = np.cross(tip - base, rng.normal(size=3))
        legs.append(
            [("revolute", axis, base), ("prismatic", tip - base, base), ("spherical", Z, tip)]
        )
    return on_legs("3-RPS", legs)


def rods(rng: np.random.Generator) -> rg.Mechanism:
    """6-SPS in general position; the slides are driven."""
    legs = []
    for _ in range(6):
        base, tip = rng.normal(size=3), 0.5 * rng.normal(size=3) + 1.2 * Z
        legs.append(
            [("spherical", Z, base), ("prismatic", tip - base, base), ("spherical", Z, tip)]
        )
    return on_legs("6-SPS", legs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "driven", "most"),
    [
        (planar, ["J00", "J10", "J20"], 6),
        (slides, ["J01", "J11", "J21"], 16),
        pytest.param(rods, [f"J{i}1" for i in range(6)], 40, marks=pytest.mark.slow),
    ],
)
def test_every_pose_is_proved_and_there_are_no_others(family, driven, most):
    """Gosselin and Merlet 1994; Nanua, Waldron and Murthy 1990; Ronga and Vust 1992."""
    rng = np.random.default_rng(5)
    mechanism, x = family(rng), np.zeros((2, len(driven)))
    x[1] = rng.uniform(-0.05, 0.05, size=len(driven))
    found = rg.configurations(mechanism, driven, x, by="platform")
    assert found.method == "homotopy"
    assert f"{most} at most" in found.evidence.loops[0]
    assert found.complete.all()
    assert (found.counts % 2 == 0).all()
    assert (found.counts <= most).all()
    assert np.nanmax(found.evidence.certificate) <= 0.5
    assert np.nanmax(found.residual) < 1e-9
    stored = np.abs(found.pose("platform")[0][found.found[0]] - np.eye(4)).max(axis=(1, 2))
    assert stored.min() < 1e-8, "the pose as stored"


@pytest.mark.slow
def test_legs_with_one_configuration_need_no_platform_named():
    mechanism = slides(np.random.default_rng(1))
    found = rg.configurations(mechanism, ["J01", "J11", "J21"], [0.0, 0.0, 0.0])
    assert found.complete.all()
    assert found.method == "homotopy"
    T = np.array([[0, 1, 0, 3], [0, 0, 1, 1], [1, 0, 0, 2], [0, 0, 0, 1.0]])
    moved = mechanisms.moved(mechanism, T)
    again = rg.configurations(moved, ["J01", "J11", "J21"], [0.0, 0.0, 0.0])
    assert again.counts == found.counts


@pytest.mark.slow
def test_fewer_than_there_can_be_are_not_said_to_be_all():
    """Similar triangles on base and platform: poses are at infinity, so not all are accounted."""
    legs = []
    for i in range(3):
        base, tip = 1.5 * around(2.1 * i), 0.5 * around(2.1 * i)
        elbow = (base + tip) / 2 + 0.5 * np.cross(Z, around(2.1 * i))
        legs.append([("revolute", Z, p) for p in (base, elbow, tip)])
    found = rg.configurations(on_legs("similar", legs), ["J00", "J10", "J20"], [0.0, 0.0, 0.0])
    assert found.counts > 0
    assert not found.complete.any()
