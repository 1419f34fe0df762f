"""The spherical four-bar of Müller (2014), section 7.1: what its printed matrices pin down.

Twists are written here as in the text, angular part first, in the frame of cut joint 3 on body 2:
its Z axis is the joint's axis, and the row of the rotation about Z is left out.
"""

from __future__ import annotations

from collections.abc import Callable

import mechanisms
import numpy as np
import pytest
import screws
from scipy.linalg import null_space
from walks import walked

import regularize as rg

FIRST, SECOND = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(2, 200))

#: The matrix that the text prints after equation 29.
PRINTED_ROWS = np.array(
    [[0.193497, 0.461041, 0.798547, -0.335146, 0.0], [-0.461041, 0.193497, 0.335146, 0.798547, 0.0]]
)


def printed_first_column(q2: np.ndarray) -> np.ndarray:
    """Column 1 of the printed constraint Jacobian, shape (N, 5)."""
    c, s, r2, r3 = np.cos(q2), np.sin(q2), np.sqrt(2.0), np.sqrt(3.0)
    return np.stack(
        [
            r2 / 9 * (r3 * s - 1 - 5 * c),
            (np.sqrt(6.0) * (c - 1) - 3 * r2 * s) / 9,
            r2 / 3 * (c - 1 - r3 * s),
            r2 / 9 * (r3 * (1 + 5 * c) - 3 * s),
            0 * c,
        ],
        axis=-1,
    )


def printed_second_column(q1: np.ndarray, q2: np.ndarray) -> np.ndarray:
    """Column 2 of the printed constraint Jacobian, shape (N, 5)."""
    c1, s1, c2, s2 = np.cos(q1), np.sin(q1), np.cos(q2), np.sin(q2)
    less, more = q1 - q2, q1 + q2
    r2, r3 = np.sqrt(2.0), np.sqrt(3.0)
    first = 1 - 4 * r3 * s1 + c2 * (5 + r3 * s1) - (r3 + 9 * s1) * s2
    first += c1 * (-4 + 7 * c2 + 7 * r3 * s2)
    second = -r3 + 4 * r3 * c1 + r3 * np.cos(less) + r3 * c2 + 4 * r3 * np.cos(more)
    second += 12 * s1 - 3 * np.sin(less) - 3 * s2
    third = -1 + 4 * c1 + np.cos(less) + c2 + 4 * np.cos(more) + 4 * r3 * s1
    third += -r3 * np.sin(less) - r3 * s2
    fourth = r3 + 5 * r3 * c2 - 3 * s2 + c1 * (-4 * r3 + 7 * r3 * c2 + 21 * s2)
    fourth += 3 * s1 * (-4 + c2 - 3 * r3 * s2)
    columns = [first / 27, -second / 27, -third / 9, -fourth / 27, 0 * c1]
    return np.asarray(r2 * np.stack(columns, axis=-1))


PRINTED_THIRD_COLUMN = np.array([-np.sqrt(2) / 3, -np.sqrt(2 / 3), -np.sqrt(2), np.sqrt(2 / 3), 0])


def outside(rows: np.ndarray, columns: np.ndarray) -> float:
    """Largest part of some columns, shape (N, 5), outside the span of the rows, by their length."""
    basis = np.linalg.qr(rows.T)[0]
    size = np.maximum(1.0, np.linalg.norm(columns, axis=1, keepdims=True))
    return float(np.max(np.abs(columns - columns @ basis @ basis.T) / size))


def test_printed_columns_lie_in_the_span_of_the_printed_rows() -> None:
    assert outside(PRINTED_ROWS, printed_first_column(SECOND)) < 5e-7
    assert outside(PRINTED_ROWS, printed_second_column(FIRST, SECOND)) < 5e-7
    assert outside(PRINTED_ROWS, PRINTED_THIRD_COLUMN[None]) < 5e-7


def test_printed_rows_are_orthonormal_to_the_printed_digits() -> None:
    assert np.max(np.abs(PRINTED_ROWS @ PRINTED_ROWS.T - np.eye(2))) < 2e-6


def cut_frame() -> np.ndarray:
    """Frame of joint 3 with X along the projection of the first axis, shape (4, 4)."""
    first, _, third, _ = (joint.T_parent_joint[:3, 3] for joint in MECHANISM.joints)
    z = screws.unit(third)
    x = screws.unit(first - (first @ z) * z)
    return screws.transform(np.column_stack([x, np.cross(z, x), z]), third)


def in_text_order(twists: np.ndarray) -> np.ndarray:
    """World twists, shape (..., 6), in the cut frame as the text writes them, shape (..., 5)."""
    local = twists @ screws.adjoint(screws.inverse(cut_frame())).T
    return np.asarray(local[..., [3, 4, 0, 1, 2]])


MECHANISM = mechanisms.spherical_fourbar()


def world_screws(name: str) -> np.ndarray:
    joint = MECHANISM.joint(name)
    return np.asarray(screws.adjoint(joint.T_parent_joint) @ joint.screws[:, 0])


def test_the_cube_is_the_geometry_of_the_printed_jacobian() -> None:
    """Axes along a cube's diagonals give all three printed columns to the last digit."""
    assert np.max(np.abs(in_text_order(-world_screws("B")) - PRINTED_THIRD_COLUMN)) < 1e-14
    to_body_2 = screws.adjoint(screws.exp(-SECOND[:, None] * world_screws("B")))
    first = in_text_order(-to_body_2 @ world_screws("A"))
    assert np.max(np.abs(first - printed_first_column(SECOND))) < 1e-14
    to_body_2 = to_body_2 @ screws.adjoint(screws.exp(-FIRST[:, None] * world_screws("A")))
    second = in_text_order(to_body_2 @ world_screws("D"))
    assert np.max(np.abs(second - printed_second_column(FIRST, SECOND))) < 1e-14


def own_twists(reduction: rg.Reduction) -> np.ndarray:
    """Twists that the cut can see, in the cut frame as the text writes them, shape (2, 5).

    The kept rows are an orthonormal basis of these twists modulo the joint's own freedom. As
    covectors they depend on the frame in which they are orthonormal; as twists they do not.
    """
    (cut,) = reduction.cuts
    T_world_node = reduction.reference.T_world_node[0, reduction.loops.row(cut.node)]
    T_cut_frame = screws.inverse(cut_frame()) @ T_world_node @ cut.T_node_frame
    metres = np.diag([cut.length] * 3 + [1.0] * 3)
    twists = (screws.adjoint(T_cut_frame) @ metres @ cut.rows).T
    return np.asarray(twists[:, [3, 4, 0, 1, 2]])


def test_our_rows_span_the_printed_ones() -> None:
    ours = own_twists(rg.reduce(MECHANISM, cuts=["C"]))
    assert ours.shape == (2, 5)
    assert outside(ours, PRINTED_ROWS) < 1e-6
    assert outside(PRINTED_ROWS, ours / np.linalg.norm(ours, axis=1, keepdims=True)) < 1e-6


def constraint_columns(reduction: rg.Reduction, q: np.ndarray) -> np.ndarray:
    """Columns of the constraint Jacobian of the cut (text, eq. 23) in its frame, shape (N, 5, 3).

    The frame is that in which the kept rows are constant; row space: everything that the cut
    joint does not allow.
    """
    (cut,) = reduction.cuts
    loops = reduction.loops
    state = loops.state(q)
    pose = state.T_world_node[:, loops.row(cut.node)] @ cut.T_node_frame
    to_frame = screws.adjoint(screws.inverse(pose))
    to_frame[:, :3] /= cut.length
    columns = to_frame @ np.swapaxes(loops.incidence[0][:, None] * state.screws, -1, -2)
    others = [k for k in range(loops.freedoms) if k not in cut.edge.columns]
    return np.asarray(null_space(cut.freedoms.T).T @ columns[:, :, others])


def assembled(reduction: rg.Reduction, count: int) -> np.ndarray:
    """Configurations reached by walking on the kept rows alone, shape (count, 4)."""
    return walked(reduction, walkers=count // 10, steps=10, seed=1)


SPHERICAL: dict[str, Callable[[], rg.Mechanism]] = {
    "generic": mechanisms.spherical_fourbar,
    "flat": mechanisms.spherical_fourbar_flat,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPHERICAL)
@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
def test_two_rows_suffice_at_a_thousand_configurations(name: str, cut: str) -> None:
    reduction = rg.reduce(SPHERICAL[name](), cuts=[cut])
    assert (reduction.kept, reduction.removed) == (2, 3)
    q = assembled(reduction, 1000)
    assert np.ptp(q, axis=0).min() > 1.0  # they are spread over more than a radian
    loops = reduction.loops
    assert np.max(np.abs(loops.residual(loops.state(q)))) < 1e-10


@pytest.mark.slow
def test_the_rank_is_one_at_the_flat_pose_and_two_elsewhere() -> None:
    reduction = rg.reduce(mechanisms.spherical_fourbar_flat(), cuts=["C"])
    here = np.linalg.svd(constraint_columns(reduction, reduction.q[None])[0], compute_uv=False)
    assert here[0] > 0.1 and here[1] < 1e-12
    H = constraint_columns(reduction, assembled(reduction, 1000))
    singular = np.linalg.svd(H, compute_uv=False)
    assert np.max(singular[:, 2]) < 1e-9
    assert np.median(singular[:, 1]) > 0.1
    (cell,) = reduction.cells
    # With the cut joint's own coordinate among the unknowns both ranks are larger by one.
    assert (cell.here.rank, cell.generic.rank) == (2, 3)


@pytest.mark.slow
def test_the_flat_pose_is_reported_as_singular() -> None:
    report = rg.check(mechanisms.spherical_fourbar_flat()).as_dict()
    assert report["mobility"]["here"] == {"mobility": 2, "redundant": 4, "singular": True}
    assert report["mobility"]["actual"] == 1
    assert "REG203" in {d["code"] for d in report["diagnostics"]}
