"""Rows for codes with absolute coordinates: full rank, nothing lost, by dense singular values."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from screws import adjoint, body_poses, exp, inverse

import regularize as rg

ASSETS = Path(__file__).parents[3] / "assets"
#: Whose reductions leave nothing redundant, and two of numerical ones.
NAMES = (
    *("planar_fourbar", "slider_crank", "spherical_fourbar", "spherical_9r", "sarrus", "rssr"),
    *("three_prrr", "three_leg_sarrus", "delta_universal", "delta_parallelograms", "stewart_6ups"),
    *("double_sarrus", "orthoglide", "three_upu", "gripper", "knee_leg", "walker", "quadrupteron"),
    *("schoenflies_four_legs", "bennett", "three_cranks"),
)


@cache
def reduced(name: str) -> rg.Reduction:
    """The reduction, numerical where something else would be left."""
    reduction = rg.reduce(ASSETS / f"{name}.urdf", configurations=10)
    return rg.reduce(reduction.mechanism, numerical="anyway") if reduction.remaining else reduction


def screws_at(joint, q):
    """The screws of a joint in its frame on its parent, shape (6, f)."""
    if joint.group:
        return joint.screws
    T, columns = np.eye(4), []
    for column, value in zip(joint.screws.T, q, strict=True):
        columns.append(adjoint(T) @ column)
        T = T @ exp(column * value)
    return np.reshape(columns, (-1, 6)).T


def walked(reduction: rg.Reduction, count: int = 3) -> list[np.ndarray]:
    """Generic configurations with all loops closed."""
    found = []
    cells = reduction.cells
    for k in range(count):
        q = np.array(reduction.q)
        for cell in cells:
            if len(cell.configurations):
                columns = reduction.graph.columns(cell.edges)
                q[columns] = cell.configurations[-1 - k % len(cell.configurations)]
        found.append(q)
    return found


def absolute_jacobian(mechanism, poses, rows):
    """All kept rows on the six velocities of each body, at its frame and in ground axes."""
    bodies = [body.name for body in mechanism.bodies if body.name != mechanism.ground]
    blocks = []
    for joint in mechanism.joints:
        T = poses[joint.parent] @ joint.T_parent_joint
        to_joint = rows[joint.name].T @ adjoint(inverse(T))
        block = np.zeros((len(to_joint), 6 * len(bodies)))
        for name, sign in ((joint.child, 1.0), (joint.parent, -1.0)):
            if name != mechanism.ground:
                block[:, 6 * (k := bodies.index(name)) : 6 * k + 6] += sign * to_joint
        blocks.append(block)
    return np.vstack(blocks)


def coordinates(mechanism, q):
    """Coordinates of each joint, by its name."""
    ends = np.cumsum([0, *(joint.freedoms for joint in mechanism.joints)])
    return {j.name: q[a : a + j.freedoms] for j, a in zip(mechanism.joints, ends, strict=False)}


def own_rows(mechanism, q):
    """All rows of all joints, nothing reduced: what vanishes on the joint's own screws."""
    rows = {}
    for name, value in coordinates(mechanism, q).items():
        joint = mechanism.joint(name)
        u = np.linalg.svd(np.hstack([screws_at(joint, value), np.zeros((6, 1))]))[0]
        rows[name] = u[:, joint.freedoms :]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_full_rank_and_nothing_lost(name):
    reduction = reduced(name)
    mechanism = reduction.mechanism
    for q in walked(reduction):
        poses = body_poses(mechanism.with_positions(coordinates(mechanism, q)))
        rows = rg.absolute_rows(reduction, q)
        assert list(rows) == [joint.name for joint in mechanism.joints]
        kept = absolute_jacobian(mechanism, poses, rows)
        s = np.linalg.svd(kept, compute_uv=False)
        assert s[-1] > 1e-7 * s[0], s[-3:]
        every = absolute_jacobian(mechanism, poses, own_rows(mechanism, q))
        scale = np.linalg.svd(every, compute_uv=False)
        assert int(np.sum(scale > 1e-7 * scale[0])) == len(kept)
        # Velocities that the kept rows allow are allowed by all of them.
        allowed = np.linalg.svd(kept)[2][len(kept) :]
        assert np.abs(every @ allowed.T).max(initial=0.0) < 1e-6
        coupled = len(reduction.graph.couplings)
        assert kept.shape[1] - len(kept) == reduction.mobility + coupled


@pytest.mark.parametrize("name", ["planar_fourbar", "sarrus", "three_prrr", "spherical_fourbar"])
def test_rows_of_groups_on_the_parent_are_constant(name):
    reduction = reduced(name)
    mine = rg.absolute_rows(reduction)
    for q in walked(reduction):
        there = rg.absolute_rows(reduction, q)
        for cut in reduction.cuts:
            if cut.on_child:
                continue
            one, two = (rows[cut.edge.joint.name] for rows in (mine, there))
            np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-8)


def test_another_shape_is_refused():
    with pytest.raises(rg.ModelError, match="q has shape"):
        rg.absolute_rows(reduced("sarrus"), np.zeros(2))
