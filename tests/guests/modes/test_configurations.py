"""All configurations of mechanisms through the public function."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pytest
import screws
from closed_form_cases import CASES, ring
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_samples import HAND, apart, arm_mechanism
from screws import joint_screws
from test_elementary_loop import random_ring

import regularize as rg

X, Y, Z = np.eye(3)


def solutions(found: Any) -> np.ndarray:
    """The configurations at a single input, shape (k, n)."""
    assert found.found.ndim == 1
    return found.q[found.found]


def test_sixteen_configurations_of_an_arm_with_a_driven_pose():
    """Manseur and Doty 1989; the hand's pose by a free joint."""
    U, _, V = np.linalg.svd(HAND[:3, :3])
    pose = screws.log(screws.transform(U @ V, HAND[:3, 3]))
    found = rg.configurations(arm_mechanism("Manseur and Doty"), ["pose"], pose)
    assert found.method == "eigenvalues"
    assert found.complete and found.counts == 16
    assert np.max(found.residual) < 1e-12
    assert np.max(found.evidence.certificate) < 1e-6
    q = solutions(found)[:, :6]
    assert np.min(apart("R" * 6, q[:, None], q[None]) + 9 * np.eye(16)) > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("turns", [0, 1, -1])
def test_inputs_keep_every_digit(turns):
    pose = np.array([-0.4, 0.3, 0.2, 0.3, -0.2, 0.4])
    pose[3:] *= 1.0 + turns * 2 * np.pi / np.linalg.norm(pose[3:])
    (elbow, inputs), _ = CASES["elbow manipulator"]
    for mechanism, names in ((arm_mechanism("orthogonal"), ["pose"]), (elbow, inputs)):
        x = pose if names == ["pose"] else 0.1 * pose
        found = rg.configurations(mechanism, names, x)
        columns = list(rg.closed_form(mechanism, names).columns)
        assert np.all(solutions(found)[:, columns] == x)
        assert found.complete


@pytest.mark.slow
def test_bricard_linkage():
    """Alternate angles are equal; cos θ + cos φ + cos θ cos φ = 0 (Chen, You and Tarnai 2005)."""
    x = np.linspace(-0.4, 2.0, 25)
    found = rg.configurations(mechanisms.bricard(), ["A"], x)
    assert found.method == "eigenvalues"
    assert found.complete.all() and np.all(found.counts == 2)
    assert np.nanmax(found.residual) < 1e-12
    q = found.q[found.found]
    assert np.max(apart("RR", q[:, [2, 4]], q[:, [0]])) < 1e-10
    assert np.max(apart("RR", q[:, [3, 5]], q[:, [1]])) < 1e-10
    theta, phi = q[:, 0] - np.pi / 2, q[:, 1] - np.pi / 2
    assert np.max(np.abs(np.cos(theta) + np.cos(phi) + np.cos(theta) * np.cos(phi))) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [
        "RRRRRRR",
        "RSRRR",
        "RURRRR",
        "RUURR",
        "RRCRRR",
        "RSPRR",
        "RUCC",
        "RSCR",
        "RPPRRRR",
        "RRRRRRP",
    ],
)
def test_single_loops_driven_by_one_joint(kinds):
    mechanism = random_ring(kinds, 3)
    found = rg.configurations(mechanism, ["j0"], np.linspace(-0.5, 0.5, 21))
    assert found.method == "eigenvalues"
    assert found.complete.all()
    assert np.all(found.counts % 2 == 0) and found.counts.max() >= 2
    assert np.nanmax(found.residual) < 1e-12
    # The drawing is one of the configurations at zero.
    assert np.min(np.max(np.abs(found.q[10][found.found[10]]), axis=1)) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [mechanisms.spherical_9r, mechanisms.three_prrr])
def test_three_legs_by_iteration(mechanism):
    """Eight: the root of a polynomial (Gosselin, Sefrioui and Richard 1994), elbows of 3-PRRR."""
    x = np.random.default_rng(0).uniform(-0.05, 0.05, size=(2, 3))
    found = rg.configurations(mechanism(), ["a1", "b1", "c1"], x)
    assert found.method == "iteration"
    assert not found.complete.any()
    assert np.all(found.counts == 8)
    assert np.nanmax(found.residual) < 1e-12
    assert np.all(found.evidence.starts >= 3 * 64)
    assert all("independent" in told for told in found.evidence.loops)


@pytest.mark.slow
def test_forward_kinematics_of_a_stewart_platform_by_iteration():
    """Up to forty poses (Raghavan 1993); lengths of six legs are given, rods spin idly."""
    (mechanism, _), _ = CASES["Stewart platform"]
    legs = [f"P{i}" for i in range(6)]
    pose = rg.closed_form(mechanism, ["pose"]).solve(np.array([0.05, 0.02, -0.03, 0.1, -0.1, 0.05]))
    q = pose.q[pose.assembled][0]
    columns = list(rg.closed_form(mechanism, legs).columns)
    found = rg.configurations(mechanism, legs, q[columns], starts=32, rounds=8)
    assert found.method == "iteration" and not found.complete
    poses = solutions(found)[:, :6]
    assert 2 <= len(poses) <= 40
    assert np.min(np.max(np.abs(poses - q[:6]), axis=1)) < 1e-7, "the pose that gave the lengths"
    assert np.min(np.max(np.abs(poses[:, None] - poses[None]), axis=2) + np.eye(len(poses))) > 1e-3


@pytest.mark.slow
def test_closed_forms_are_used_where_they_exist():
    (mechanism, inputs), _ = CASES["elbow manipulator"]
    x = np.random.default_rng(0).uniform(-0.2, 0.2, size=(30, 6))
    found = rg.configurations(mechanism, inputs, x)
    assert found.method == "closed form"
    assert found.complete.all()
    exact = rg.closed_form(mechanism, inputs).solve(x)
    assert np.array_equal(found.counts, exact.assembled.sum(axis=1))
    assert np.isnan(found.evidence.certificate).all() and np.isnan(found.evidence.regularity).all()


@pytest.mark.slow
def test_shapes_of_values():
    find = partial(rg.configurations, random_ring("RRRRRRR", 3), ["j0"])
    assert find(0.1).q.shape == (find(0.1).counts, 7)
    found = find(np.zeros((2, 3, 1)))
    assert found.complete.shape == found.counts.shape == (2, 3)
    assert found.q.shape[:2] == found.residual.shape[:2] == (2, 3)
    assert found.evidence.certificate.shape == found.found.shape
    assert np.array_equal(np.isnan(found.q).any(axis=-1), ~found.found)
    assert find(np.zeros((0, 1))).q.shape == (0, 0, 7)
    by_name = find({"j0": [0.1, 0.2]})
    assert np.array_equal(by_name.q, find([0.1, 0.2]).q, equal_nan=True)
    for array in (found.q, found.residual, found.evidence.regularity):
        assert not array.flags.writeable


def test_faults_of_the_call():
    mechanism = random_ring("RRRRRRR", 3)
    with pytest.raises(rg.ModelError, match="last axis needs 2"):
        rg.configurations(random_ring("RRRRRRRR", 3), ["j0", "j1"], np.zeros((2, 3)))
    with pytest.raises(rg.ModelError, match="inputs are"):
        rg.configurations(mechanism, ["j0"], {"j1": 0.0})
    with pytest.raises(rg.ModelError, match="finite"):
        rg.configurations(mechanism, ["j0"], np.nan)
    with pytest.raises(rg.ModelError):
        rg.configurations(mechanism, ["nobody"], 0.0)


@pytest.mark.slow
def test_structures_and_open_chains():
    found = rg.configurations(random_ring("RRRRRR", 4), [], np.zeros(0))
    assert found.method == "eigenvalues" and found.complete
    assert np.min(np.max(np.abs(solutions(found)), axis=1)) < 1e-9
    points = [(0, 0, 0), (1, 0, 0), (0.3, 0.7, 0)]
    triangle = ring("triangle", *[(f"j{i}", "revolute", Z, p) for i, p in enumerate(points)])
    assert rg.configurations(triangle, [], np.zeros((4, 0))).counts.tolist() == [2] * 4
    chain = replace(triangle, joints=triangle.joints[:2])
    stored = chain.with_positions({"j1": np.array([0.4])})
    found = rg.configurations(stored, ["j0"], [0.1, 0.2])
    assert found.q.tolist() == [[[0.1, 0.4]], [[0.2, 0.4]]]


@pytest.mark.slow
def test_helical_joints_go_to_the_iteration():
    mechanism = random_ring("RRRRRRR", 3)
    screws = joint_screws("helical", pitch=0.1)
    joints = [
        replace(j, kind="helical", screws=screws) if j.name == "j3" else j for j in mechanism.joints
    ]
    found = rg.configurations(replace(mechanism, joints=tuple(joints)), ["j0"], 0.0)
    assert found.method == "iteration" and "helical" in found.evidence.loops[0]
    assert np.min(np.max(np.abs(solutions(found)), axis=1)) < 1e-9


def sorted_solutions(mechanism: rg.Mechanism, names: list[str]) -> np.ndarray:
    """Configurations at j0 = 0.15 by the names of the joints, one row each, in order."""
    found = rg.configurations(mechanism, ["j0"], 0.15)
    assert found.complete
    order = [[j.name for j in mechanism.joints].index(name) for name in names]
    q = solutions(found)[:, order]
    return q[np.lexsort(np.round(q, 6).T)]


NAMES = [f"j{i}" for i in range(7)]
#: One slide in a general loop of seven.
LOOP = random_ring("RRRPRRR", 3)


@cache
def reference() -> np.ndarray:
    return sorted_solutions(LOOP, NAMES)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=6, max_size=6))
def test_rigid_motions_of_the_ground_change_nothing(twist):
    moved = mechanisms.moved(LOOP, screws.exp(np.array(twist)))
    assert np.allclose(sorted_solutions(moved, NAMES), reference(), atol=1e-8)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.lists(st.booleans(), min_size=7, max_size=7), st.permutations(range(7)))
def test_direction_and_order_of_the_joints_change_nothing(turned, order):
    joints = [
        mechanisms.turned_round(joint) if turn else joint
        for joint, turn in zip(LOOP.joints, turned, strict=True)
    ]
    changed = replace(LOOP, joints=tuple(joints[k] for k in order))
    assert np.allclose(sorted_solutions(changed, NAMES), reference(), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_other_units_of_length_change_nothing(factor):
    scaled = sorted_solutions(mechanisms.scaled(LOOP, factor), NAMES)
    scaled[:, 3] /= factor
    scaled = scaled[np.lexsort(np.round(scaled, 6).T)]
    assert np.allclose(scaled, reference(), atol=1e-8)


@pytest.mark.slow
def test_angles_are_within_a_turn() -> None:
    mechanism = rg.load(Path(__file__).resolve().parents[3] / "assets" / "delta_universal.urdf")
    found = rg.configurations(mechanism, ["M1", "M2", "M3"], [0.1, 0.2, 0.1], rounds=4)
    assert found.method == "iteration"
    q = found.q[found.found]
    assert len(q) > 8
    assert np.max(np.abs(q)) <= np.pi + 1e-12
    assert np.nanmax(found.residual) < 1e-12
