"""Springs in ball joints and free ones: forces are those that the energy has, wherever they are."""

from __future__ import annotations

from dataclasses import replace

import mechanisms
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_compiled_steps import compiled, moved

import regularize as rg

AXIS, PLACE = (0.3, 1.0, 0.2), (0.1, 0.2, 0.3)
FREEDOMS = {"spherical": 3, "free": 6}
#: Without correction of the energy.
EXACT: dict[str, object] = {"rtol": 1e-12, "solver": rg.Solver(conserve=False)}
kinds = pytest.mark.parametrize("kind", ["spherical", "free"])
placings = pytest.mark.parametrize(
    "placing", ["tree", "tree backwards", "closing", "closing backwards"]
)


def sprung(kind: str, placing: str, seed: int, turned: float = 1.0) -> rg.Robot:
    """A body on one joint with unequal springs, which the tree has, has backwards, or lacks."""
    rng, freedoms = np.random.default_rng(seed), FREEDOMS[kind]
    law = {"stiffness": rng.uniform(1.0, 9.0, freedoms)}
    law["rest_position"] = turned * rng.normal(size=freedoms)
    bodies = ("body", "ground") if placing.endswith("backwards") else ("ground", "body")
    joints = [mechanisms.acted(rg.Joint.in_world("sprung", *bodies, kind, AXIS, PLACE), **law)]
    if placing.startswith("closing"):
        joints.insert(0, rg.Joint.in_world("base", "ground", "body", "free", AXIS, (0.0, 0.3, 0.1)))
    mechanism = rg.Mechanism.of_joints(f"{kind}, {placing}", joints, ground="ground")
    inertia = rg.Inertia(2.0, np.array([0.2, 0.1, 0.4]), np.diag([0.9, 1.0, 1.1]))
    given = [replace(b, inertia=inertia if b.name == "body" else None) for b in mechanism.bodies]
    cuts = ["sprung"] if placing.startswith("closing") else []
    robot = rg.to_pinocchio(rg.reduce(replace(mechanism, bodies=tuple(given)), cuts=cuts))
    assert [j.reversed for j in robot.joints] == [placing == "tree backwards"]
    return robot


@pytest.mark.slow
@kinds
@placings
@settings(deadline=None, max_examples=4)
@given(seed=st.integers(0, 10**6), turned=st.floats(0.0, 1.2))
def test_forces_are_the_slope_of_the_energy(
    kind: str, placing: str, seed: int, turned: float
) -> None:
    robot = sprung(kind, placing, seed, turned)
    passive, space = robot.passive, robot.tree.space
    step = turned * np.random.default_rng(seed + 1).normal(size=robot.nv)
    q = space.integrate(space.neutral, step)
    stretch = passive.joints.stretch(passive._positions(q))[-FREEDOMS[kind] :]
    assume(np.linalg.norm(stretch[-3:]) < 3.1)  # beyond half a turn the energy has an edge

    def energy(of: np.ndarray) -> float:
        return passive.energy(space.integrate(q, of))

    h = 2e-3
    slopes = [
        (8.0 * (energy(h * e) - energy(-h * e)) - energy(2 * h * e) + energy(-2 * h * e)) / (12 * h)
        for e in np.eye(robot.nv)
    ]
    assert passive.springs(q) == pytest.approx(-np.array(slopes), abs=1e-8)


@pytest.mark.slow
@kinds
@placings
@pytest.mark.parametrize("compiled", [pytest.param(True, marks=compiled), False])
def test_energy_is_kept_without_correction(
    kind: str, placing: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = sprung(kind, placing, 1)
    v = robot.project_velocity(robot.q0, np.linspace(0.5, 1.5, robot.nv))
    motion = moved(robot, monkeypatch, compiled, v=v, duration=0.1, **EXACT)
    assert np.ptp(motion.energy) < 1e-10
    assert np.abs(motion.v[-1] - v).max() > 0.1


@compiled
@kinds
@placings
def test_forces_of_the_kernel_are_those_of_python(
    kind: str, placing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the velocity after so short a time that integration has no error."""
    robot, short = sprung(kind, placing, 4, 0.1 if placing in ("tree", "closing") else 1.0), 1e-3
    ours, python = (
        moved(robot, monkeypatch, way, duration=short, **EXACT) for way in (True, False)
    )
    assert ours.v[-1] / short == pytest.approx(python.v[-1] / short, abs=1e-12)
    assert np.abs(ours.v[-1]).max() > 0.0
