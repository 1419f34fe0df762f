"""What assembly modes are found with: branches, evaluations of plans, freedoms, searches."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest
from closed_form_cases import Z, ring
from test_assembly import four_bar

import regularize as rg
from regularize.guests.modes.configurations import ConfigurationFinder
from regularize.guests.modes.inputs import inputs_of
from regularize.guests.modes.loop_system import Multistart, searched
from regularize.guests.modes.sampling import ClosedBranch, closed_branch, nearest_modes
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.graph import spanning_tree
from regularize.mechanism.graph_building import build

X, Y, _ = np.eye(3)


def through_reference(mechanism: rg.Mechanism) -> ClosedBranch:
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


@pytest.mark.slow
@pytest.mark.parametrize("reach", [0.0, 0.05, 0.3, 3.0])
def test_what_meets_no_other_branch_is_reached(reach):
    branch = through_reference(mechanisms.planar_fourbar())
    q, good = branch(np.array([[reach], [-reach]]))
    expected = branch._solution.solve(np.array([[reach], [-reach]]), branch._branch)
    assert np.array_equal(good, expected.assembled[:, 0])
    assert good.all()
    assert np.allclose(q[good], expected.q[good, 0])


def test_a_weld_is_no_input_and_a_mechanism_without_inputs_takes_no_values():
    pin = [
        rg.Joint.in_world("A", "ground", "a", "fixed"),
        rg.Joint.in_world("B", "ground", "a", "fixed"),
    ]
    graph = build(rg.Mechanism.of_joints("pin", pin))
    with pytest.raises(rg.ModelError, match="joint 'B' cannot move: it is no input"):
        inputs_of(graph, ["B"])
    assert inputs_of(graph, []).values({}).shape == (0,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value")
def test_closed_forms_that_do_not_close_in_special_dimensions_are_not_used():
    """A ball joint on a line with axes at right angles, where a projection determines nothing."""
    mechanism = ring(
        "special RSPRR",
        ("A", "revolute", Y, (0.5, 1.0, -0.5)),
        ("B", "spherical", Y, (0.5, -0.5, 1.0)),
        ("C", "prismatic", Z, (0.0, -0.5, -0.5)),
        ("D", "revolute", X, (-0.5, 1.0, 1.0)),
        ("E", "revolute", Y, (1.0, -0.5, 0.0)),
    )
    finder = ConfigurationFinder(mechanism, ["A"])
    x = np.array([-0.3, 0.1, 0.35])
    found = finder.find(x)
    assert found.complete.all() and np.all(found.counts == 4)
    assert np.nanmax(found.residual) < 1e-12
    q = np.zeros((3, 7))
    q[:, 0] = x
    known = np.nonzero(found.found)[0], found.q[found.found]
    assert len(searched(finder._system, q, known, Multistart(starts=64, rounds=4))[0]) == 12


def ways_to_assemble(mechanism: rg.Mechanism, q: np.ndarray, held: int) -> np.ndarray:
    """What the search tries in closed form, in order, shape (k, n)."""
    graph = build(mechanism)
    loops = sized_loops(graph, q, graph.cells[0])
    free = np.arange(graph.freedoms) != held
    ways = nearest_modes(loops, q[loops.columns], ~free[loops.columns])
    assert ways is not None
    return ways[:, np.argsort(loops.columns)]


@pytest.mark.slow
def test_the_nearest_way_to_assemble_is_told_up_to_whole_turns() -> None:
    mechanism = four_bar()
    found = rg.closed_form(mechanism, ["A"]).solve(0.1)
    for q in found.q:
        turned = q + 2 * np.pi * np.array([0, 1, -2, 0]) + 0.02 * np.array([0, 1, -1, 0])
        ways = ways_to_assemble(mechanism, turned, 0)
        assert len(ways) == 2
        assert np.max(np.abs(ways[0] - turned)) < 0.1
        assert np.max(np.abs(ways[1] - turned)) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_nearest_way_to_assemble_does_not_depend_on_the_unit_of_length(factor: float) -> None:
    """Joints that are where they belong tell the way, and not a slide in millimetres."""
    A, B, C = (factor * np.array(p) for p in ((0, 0, 0), (0.3, 0.2, 0), (1.0, 0.1, 0)))
    z, x = (0, 0, 1), (1, 0, 0)
    slider = rg.Mechanism.of_joints(
        "slider",
        [
            rg.Joint.in_world("A", "ground", "crank", "revolute", z, A),
            rg.Joint.in_world("P", "ground", "block", "prismatic", x),
            rg.Joint.in_world("B", "crank", "rod", "revolute", z, B),
            rg.Joint.in_world("C", "rod", "block", "revolute", z, C, closure=True),
        ],
    )
    solution = rg.closed_form(slider, ["A"])
    found = solution.solve(0.2)
    assert found.assembled.all()
    for q, other in zip(found.q, found.q[::-1], strict=True):
        start = q.copy()
        start[1] += 0.6 * (other[1] - q[1])
        assert np.allclose(ways_to_assemble(slider, start, 0)[0], q, rtol=1e-9, atol=1e-9)
