"""Configurations on one branch: those to which the straight way leads, and no others."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest
from closed_form_cases import Z, ring

from regularize.assembly_modes.closed_form.closed_branch import ClosedBranch, closed_branch
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import spanning_tree
from regularize.model.graph_building import build
from regularize.model.mechanism import Mechanism


def through_reference(mechanism: Mechanism) -> ClosedBranch:
    graph = build(mechanism)
    loops = LoopKinematics(graph, range(len(graph.edges)), spanning_tree(graph))
    branch = closed_branch(loops, [0], graph.position)
    assert branch is not None
    return branch


def test_a_rhombus_is_not_followed_beyond_its_folded_position():
    """There two ways of moving cross, and the formulas go on with the other one."""
    points = {"A": (0, 0, 0), "B": (0, 1, 0), "C": (1, 1, 0), "D": (1, 0, 0)}
    rhombus = ring("rhombus", *((n, "revolute", Z, p) for n, p in points.items()))
    branch = through_reference(rhombus)
    x = np.array([-2.9, -1.8, -1.4, -0.3, 0.0, 0.5, 1.2, 1.4, 1.58, 1.7, 2.0, 3.0])
    q, good = branch(x[:, None])
    assert not good[np.abs(x) > np.pi / 2].any()
    assert good[np.abs(x) < 1.3].all()
    assert np.allclose(q[good], np.outer(x[good], [1.0, -1.0, 1.0, -1.0]))
    # One at a time the spacing of the points between is another one.
    for value in x:
        _, one = branch(np.array([[value]]))
        assert one[0] or abs(value) > 1.3
        assert not one[0] or abs(value) < np.pi / 2


@pytest.mark.parametrize("reach", [0.0, 0.05, 0.3, 3.0])
def test_what_meets_no_other_branch_is_reached(reach):
    """A crank that goes all the way round: no place on the way is special."""
    branch = through_reference(mechanisms.planar_fourbar())
    q, good = branch(np.array([[reach], [-reach]]))
    expected = branch._solution.solve(np.array([[reach], [-reach]]), branch._branch)
    assert np.array_equal(good, expected.assembled[:, 0])
    assert good.all()
    assert np.allclose(q[good], expected.q[good, 0])
