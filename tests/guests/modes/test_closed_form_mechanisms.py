"""Closed forms of the mechanisms of engineering practice: complete, exact, and written out."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from closed_form_cases import CASES, Z, closure_errors, newton_from_everywhere, ring

import regularize as rg

pytestmark = pytest.mark.filterwarnings("error")


@cache
def solver(case: str) -> Any:
    (mechanism, inputs), _ = CASES[case]
    return rg.closed_form(mechanism, inputs)


def kinematics(solution: Any) -> Any:
    return rg.reduce(solution.graph.mechanism).loops


def singles(solution: Any) -> tuple[np.ndarray, np.ndarray]:
    """Columns of joints with one freedom at a time, and which of them are angles."""
    edges = [e for e in solution.graph.edges if not e.group]
    columns = [c for e in edges for c in e.columns]
    turning = [bool(np.any(e.screws[3:, k])) for e in edges for k in range(e.freedoms)]
    return np.array(columns), np.array(turning)


def apart(a: np.ndarray, b: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """Largest difference of configurations, angles up to whole turns."""
    difference = a - b
    turns = 2 * np.pi * np.round(difference / (2 * np.pi))
    return np.max(np.abs(difference - np.where(turning, turns, 0.0)), axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_solution_closes_every_loop(case):
    solution = solver(case)
    assert solution.solved
    assert len(solution.branches) == CASES[case][1]
    x = np.random.default_rng(0).uniform(-0.3, 0.3, size=(300, len(solution.inputs)))
    x[0] = 0.0  # rods of negative stroke are opposite to where they are drawn
    found = solution.solve(x)
    assert found.assembled.any()
    assert np.array_equal(np.isfinite(found.q).all(axis=-1), found.assembled)
    loops = kinematics(solution)
    q = found.q[found.assembled]
    errors = loops.residual(loops.state(q)) / max(1.0, float(np.max(np.abs(q))))
    assert np.max(np.abs(errors)) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_branch_is_missed(case):
    """Newton's method from hundreds of random starts finds the same configurations, no other."""
    solution = solver(case)
    columns, turning = singles(solution)
    for seed in (1, 2):
        inputs = np.random.default_rng(seed).uniform(-0.4, 0.4, size=(100, len(solution.inputs)))
        x = inputs[int(solution.solve(inputs).assembled.any(axis=1).argmax())]
        found = solution.solve(x)
        ours = found.q[found.assembled][:, columns]
        theirs = newton_from_everywhere(solution, x, 400)[0][:, columns]
        assert len(ours) and len(theirs)
        distances = apart(theirs[:, None], ours[None], turning)
        assert np.max(np.min(distances, axis=1)) < 1e-6
        # And the search is dense enough to mean something: it finds our branches too. Legs that
        # do not depend on each other need not be met in all combinations.
        if case == "Stewart platform":
            each = np.abs(theirs[:, None] - ours[None])
            assert np.max(np.min(each, axis=0)) < 1e-6
        else:
            assert np.max(np.min(distances, axis=0)) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_velocities_and_accelerations_keep_the_loops_closed(case):
    solution = solver(case)
    rng = np.random.default_rng(3)
    x, dx, ddx = rng.uniform(-0.2, 0.2, size=(3, 50, len(solution.inputs)))
    found = solution.solve(x)
    regular = found.assembled & (np.abs(found.margin) > 1e-2).all(axis=-1)
    loops = kinematics(solution)
    state = loops.state(found.q[regular])
    v = solution.velocities(x, dx)[regular]
    a = solution.accelerations(x, dx, ddx)[regular]
    given = np.broadcast_to(dx[:, None], (*regular.shape, dx.shape[1]))[regular]
    assert np.allclose(v[:, list(solution.columns)], given)
    jacobian = loops.jacobian(state)
    assert np.max(np.abs(np.einsum("nij,nj->ni", jacobian, v))) < 1e-9
    error = np.einsum("nij,nj->ni", jacobian, a) + loops.bias(state, v)
    assert np.max(np.abs(error)) < 1e-8 * max(1.0, float(np.max(np.abs(a))))


def test_wheel_suspension_of_the_listing():
    """Two configurations at lin = 0.2; fewer operations than both published programs."""
    solution = solver("wheel suspension")
    found = solution.solve(0.2)
    assert found.assembled.tolist() == [True, True]
    # The loop in the plane: y and z of K[0] seen around the chain vanish.
    l1, l2y, l2z, l3y, l3z = 1.46, 0.62, 0.12, 0.85, 0.13
    for a, b, c, s in found.q:
        y = (l1 - l2y) * np.cos(a) - l2z * np.sin(a) - l3y * np.cos(a + b) - l3z * np.sin(a + b)
        z = (l1 - l2y) * np.sin(a) + l2z * np.cos(a) - l3y * np.sin(a + b) + l3z * np.cos(a + b)
        assert abs(y) < 1e-14
        assert abs(z + s) < 1e-14
        assert abs(np.remainder(a + b + c + np.pi, 2 * np.pi) - np.pi) < 1e-14
    count = solution.operations
    assert count.additions <= 69
    assert count.multiplications <= 78
    assert count.square_roots + count.sines + count.cosines + count.arctangents <= 11


ARMS = ["elbow manipulator", "PUMA", "three parallel axes", "SCARA", "Stanford arm"]


@pytest.mark.slow
@pytest.mark.parametrize("case", ARMS)
def test_arms_are_solved_in_singular_poses(case):
    """Stretched and folded elbows, aligned wrists, and wrists on the first axis."""
    solution = solver(case)
    (mechanism, _), _ = CASES[case]
    joints = [joint.name for joint in mechanism.joints if joint.name.startswith("J")]
    angles = np.array([0.0, np.pi / 2, -np.pi / 2, np.pi, 0.3, -1.1])
    theta = np.random.default_rng(0).choice(angles, size=(1000, len(joints)))
    reached = rg.closed_form(mechanism, joints).solve(theta)
    assert reached.assembled.any(axis=1).all()
    first = reached.assembled.argmax(axis=1)
    poses = reached.q[np.arange(len(theta)), first][:, list(solution.columns)]
    found = solution.solve(poses)
    assert found.assembled.any(axis=1).all()
    assert np.max(closure_errors(solution, found.q[found.assembled])) < 1e-12
    # One pose at a time is looked at as closely.
    for pose, assembled in zip(poses[:40], found.assembled, strict=False):
        assert np.array_equal(solution.solve(pose).assembled, assembled)


def test_an_angle_that_any_value_solves():
    """A kite folds: two of its joints meet, and the links between turn freely about them."""
    A, B, C, D = (0, 0, 0), (0, 1, 0), (1.2, 1.2, 0), (1, 0, 0)
    mechanism = ring(
        "kite", *((n, "revolute", Z, p) for n, p in zip("ABCD", (A, B, C, D), strict=True))
    )
    solution = rg.closed_form(mechanism, ["A"])
    assert solution.solve(-np.pi / 2).assembled.any()
    for found in map(solution.solve, (-np.pi / 2, np.linspace(-np.pi, np.pi, 721))):
        assert np.max(closure_errors(solution, found.q[found.assembled])) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_written_out_as_python_and_as_c(case, tmp_path: Path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    solution = solver(case)
    (tmp_path / "loop.c").write_text(solution.to_c("loop"))
    library = tmp_path / "loop.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
    command = [compiler, *flags, "-o", str(library), str(tmp_path / "loop.c"), "-lm"]
    subprocess.run(command, check=True)
    in_c = ctypes.CDLL(str(library)).loop
    namespace: dict[str, object] = {}
    exec(solution.to_python("loop"), namespace)
    x = np.random.default_rng(5).uniform(-0.4, 0.4, size=(20, len(solution.inputs)))
    found = solution.solve(x)
    n = found.q.shape[-1]
    columns, turning = singles(solution)
    for values, q, assembled in zip(x, found.q, found.assembled, strict=True):
        given = (ctypes.c_double * len(values))(*values)
        for branch in range(len(q)):
            result = (ctypes.c_double * n)()
            assert bool(in_c(given, branch, result)) == assembled[branch]
            python = np.array(namespace["loop"](values.tolist(), branch))
            assert np.isfinite(python).all() == assembled[branch]
            if assembled[branch]:
                for other in (np.array(result), python):
                    assert apart(other[columns], q[branch][columns], turning) < 1e-9
