"""Mechanisms written down in Python by the public builder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
X, Y, Z = np.eye(3)


def with_bodies(name: str, *bodies: str) -> rg.AssemblyBuilder:
    a = rg.assembly(name)
    for body in bodies:
        a.body(body)
    return a


def planar_fourbar() -> rg.Mechanism:
    a = with_bodies("four-bar", "crank", "coupler", "rocker")
    a.hinge("A", "ground", "crank", at=(0, 0, 0), axis=Y)
    a.hinge("B", "crank", "coupler", at=(0.1, 0, 0.3), axis=Y)
    a.hinge("C", "coupler", "rocker", at=(0.9, 0, 0.5), axis=Y)
    a.hinge("D", "rocker", "ground", at=(1, 0, 0), axis=Y)
    return a.mechanism()


def sarrus() -> rg.Mechanism:
    a = with_bodies("Sarrus", "a1", "a2", "b1", "b2", "table")
    for leg, axis, out in (("a", Y, X), ("b", X, Y)):
        a.hinge(f"{leg}1", "ground", f"{leg}1", at=out, axis=axis)
        a.hinge(f"{leg}2", f"{leg}1", f"{leg}2", at=1.3 * out + Z / 2, axis=axis)
        a.hinge(f"{leg}3", f"{leg}2", "table", at=out + Z, axis=axis)
    return a.mechanism()


def stewart() -> rg.Mechanism:
    a = with_bodies("6-UPS", *(f"{part}{k}" for k in range(6) for part in "cr"), "table")
    for k in range(6):
        turn, shift = np.pi / 3 * (k + (-1) ** k * 0.3), np.pi / 3 * (k - (-1) ** k * 0.3)
        foot = np.array([np.cos(turn), np.sin(turn), 0.0])
        top = np.array([0.5 * np.cos(shift), 0.5 * np.sin(shift), 1.0])
        way = top - foot
        across = np.cross(way, Z)
        a.universal(f"U{k}", "ground", f"c{k}", at=foot, axes=(across, np.cross(way, across)))
        a.slider(f"P{k}", f"c{k}", f"r{k}", at=foot, axis=way, actuated=True)
        a.ball(f"S{k}", f"r{k}", "table", at=top)
    return a.mechanism()


def counts(mechanism: rg.Mechanism | str) -> dict[str, object]:
    report = rg.check(mechanism).as_dict()
    return {
        **{key: report["mobility"][key] for key in ("gruebler", "actual", "finite", "redundant")},
        **report["redundancy"],
        "kept": report["reduction"]["kept"],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "asset"),
    [(planar_fourbar, "planar_fourbar"), (sarrus, "sarrus"), (stewart, "stewart_6ups")],
)
def test_textbook_mechanisms_count_as_the_assets(
    made: Callable[[], rg.Mechanism], asset: str
) -> None:
    assert counts(made()) == counts(str(ASSETS / f"{asset}.urdf"))


def closed_by(close: Callable[[rg.AssemblyBuilder], None]) -> dict[str, object]:
    """A planar four-bar whose last joint, at D about Y, is another one."""
    a = with_bodies("four-bar", "crank", "coupler", "rocker")
    a.hinge("A", "ground", "crank", at=(0, 0, 0), axis=Y)
    a.hinge("B", "crank", "coupler", at=(0.1, 0, 0.3), axis=Y)
    a.hinge("C", "coupler", "rocker", at=(0.9, 0, 0.5), axis=Y)
    close(a)
    found = counts(a.mechanism())
    return {key: found[key] for key in ("gruebler", "actual", "redundant")}


D = {"at": (1, 0, 0)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("close", "freedoms", "mobility"),
    [
        (lambda a: a.weld("D", "rocker", "ground"), 0, 0),
        (lambda a: a.hinge("D", "rocker", "ground", axis=Y, **D), 1, 1),
        (lambda a: a.slider("D", "rocker", "ground", axis=X, **D), 1, 1),
        (lambda a: a.screw("D", "rocker", "ground", axis=Y, pitch=0.01, **D), 1, 0),
        (lambda a: a.cylindrical("D", "rocker", "ground", axis=Y, **D), 2, 1),
        (lambda a: a.universal("D", "rocker", "ground", axes=(Y, X), **D), 2, 1),
        (lambda a: a.ball("D", "rocker", "ground", **D), 3, 1),
        (lambda a: a.locating_bearing("D", "rocker", "ground", **D), 3, 1),
        (lambda a: a.planar("D", "rocker", "ground", axis=Y, **D), 3, 3),
        (lambda a: a.floating_bearing("D", "rocker", "ground", axis=Y, **D), 4, 1),
        (lambda a: a.joint("parallel", "D", "rocker", "ground", axis=Y, **D), 4, 3),
    ],
)
def test_every_kind_closes_a_planar_loop_as_the_book_says(
    close: Callable[[rg.AssemblyBuilder], None], freedoms: int, mobility: int
) -> None:
    gruebler = 3 + freedoms - 6
    assert closed_by(close) == {
        "gruebler": gruebler,
        "actual": mobility,
        "redundant": mobility - gruebler,
    }


def test_masses_are_those_of_the_world_frame_at_the_pose_as_drawn() -> None:
    a = rg.assembly("pendulum", gravity=(0, 0, -10.0))
    a.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=np.diag([0.1, 0.2, 0.3]))
    a.hinge("A", "ground", "rod", at=(0, 0, 0.5), axis=Y, actuated=True, damping=0.25, effort=4.0)
    mechanism = a.mechanism()
    joint = mechanism.joint("A")
    assert joint.actuated
    assert joint.limits is not None
    np.testing.assert_array_equal(joint.limits.effort, [4.0])
    np.testing.assert_array_equal(joint.dynamics.damping, [0.25])
    robot = rg.to_pinocchio(mechanism)
    v, tau = np.array([0.0]), np.array([1.0])
    acceleration = robot.forward_dynamics(robot.q0, v, tau)
    np.testing.assert_allclose(acceleration, 1.0 / (0.2 + 2.0 * 1.0**2))
    sideways = rg.to_pinocchio(mechanism.with_positions({"A": np.array([np.pi / 2])}))
    pull = sideways.forward_dynamics(sideways.q0, v, 0.0 * tau)
    np.testing.assert_allclose(pull, -2.0 * 10.0 * 1.0 / 2.2, atol=1e-12)


def test_couplings_tie_coordinates() -> None:
    a = with_bodies("gears", "sun", "planet", "nut")
    a.hinge("A", "ground", "sun", at=(0, 0, 0))
    a.hinge("B", "ground", "planet", at=(1, 0, 0), limits=(-1.0, 2.0), velocity=3.0)
    a.cylindrical("C", "ground", "nut", at=(2, 0, 0))
    a.coupling("mesh", {"A": 2.0, "B": 1.0})
    a.coupling("feed", {"A": -0.1, ("C", 0): 1.0}, offset=0.0)
    mechanism = a.mechanism()
    assert mechanism.couplings[1].terms == (("A", 0, -0.1), ("C", 0, 1.0))
    np.testing.assert_array_equal(mechanism.joint("B").limits, [(-1.0, 2.0)])
    assert counts(mechanism)["actual"] == 2
    assert isinstance(mechanism.couplings[0], rg.Coupling)
    assert isinstance(mechanism.joint("A"), rg.Joint)
    assert isinstance(mechanism.body("sun"), rg.Body)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda a: a.hinge("A", "ground", "crnk", at=X), "'crnk', which is not there.*'crank'"),
        (lambda a: a.hinge("A", "world", "crank", at=X), "body 'world', which is not there"),
        (lambda a: a.hinge("A", "ground", "crank", at=X, axis=(0, 0, 0)), "other than zero"),
        (lambda a: a.hinge("A", "ground", "crank", at=(0, 1)), "at is .* needs three numbers"),
        (lambda a: a.hinge("A", "ground", "crank", at=X, dampng=1), "no 'dampng'.*'damping'"),
        (lambda a: a.hinge("A", "crank", "crank", at=X), "to itself"),
        (lambda a: a.hinge("O", "ground", "crank", at=X), "a joint 'O' already"),
        (lambda a: a.joint("revolut", "A", "ground", "crank"), "no kind 'revolut'.*'revolute'"),
        (lambda a: a.universal("A", "ground", "crank", at=X, axes=(X, -X)), "not parallel"),
        (lambda a: a.universal("A", "ground", "crank", at=X, axes=(X,)), "two axes, got 1"),
        (lambda a: a.body("crank"), "a body 'crank' already"),
        (lambda a: a.body("ground"), "a body 'ground' already"),
        (lambda a: a.body(""), "name of a body is a text"),
        (lambda a: a.body("b", mass=-1.0), "no mass"),
        (lambda a: a.body("b", inertia=np.eye(3)), "no mass"),
        (lambda a: a.body("b", mass=1.0, inertia=(1, 1, 1)), "shape \\(3, 3\\)"),
        (lambda a: a.body("b", mass=1.0, inertia=np.diag([1, 1, -1])), "negative moment -1"),
        (lambda a: a.coupling("c", {"o": 1.0}), "'o', which is not there.*'O'"),
        (lambda a: a.coupling("c", {"S": 1.0}), "3 freedoms; say which, as in \\('S', 0\\)"),
        (lambda a: a.coupling("c", {("S", 3): 1.0}), "has no freedom 3"),
        (lambda a: a.coupling("c", {}), "names no joint"),
    ],
)
def test_mistakes_are_said_at_once(wrong: Callable[[rg.AssemblyBuilder], None], said: str) -> None:
    a = with_bodies("wrong", "crank", "rod")
    a.hinge("O", "ground", "crank", at=(0, 0, 0))
    a.ball("S", "crank", "rod", at=X)
    with pytest.raises(rg.ModelError, match=said):
        wrong(a)
        a.mechanism()


@pytest.mark.parametrize(
    "moments", [(1.0, 2.0, 2.5), (1.0, 2.0, 2.0), (2.0, 2.0, 3.0), (2.0, 2.0, 2.0)]
)
def test_principal_axes_are_not_chosen_by_rounding(moments: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        matrix = turned @ np.diag(moments) @ turned.T
        found, axes = rg.Inertia(1.0, np.zeros(3), matrix).principal
        assert found == pytest.approx(moments, rel=1e-12)
        assert axes @ np.diag(found) @ axes.T == pytest.approx(matrix, abs=1e-12)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        for _ in range(5):
            noise = 1e-15 * rng.normal(size=(3, 3))
            near = rg.Inertia(1.0, np.zeros(3), matrix + noise + noise.T).principal[1]
            assert near == pytest.approx(axes, abs=1e-12)
