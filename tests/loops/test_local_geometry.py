"""Mobility near one configuration: rigid although velocities are allowed, shaky, branching.

The structures are those of the theory of frameworks (Connelly and Whiteley 1996, Second-order
rigidity and prestress stability); what is compared with is statics and small steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import mechanisms
import numpy as np
import pytest
from mechanisms import Z, on_rods, single_loop

import regularize as rg
from regularize.loops.branches import BranchTangent, grouped
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.loops.projection import moved
from regularize.loops.second_order import (
    Jets,
    cone,
    definite,
    never_together,
    second_order,
    vanishing_spaces,
)
from regularize.mechanism.graph_building import build
from regularize.reduction.mobility import CellMobility
from regularize.tolerances import EXACT


def collinear(*places: float) -> rg.Mechanism:
    """Hinges with parallel axes in a row."""
    count = len(places)
    return single_loop("collinear", "R" * count, [Z] * count, [(x, 0, 0) for x in places])


def on_bars(
    base: Sequence[tuple[float, float]], plate: Sequence[tuple[float, float]]
) -> rg.Mechanism:
    """A plate on bars with hinges at both ends."""
    joints = []
    for i, (a, b) in enumerate(zip(base, plate, strict=True)):
        joints.append(rg.Joint.in_world(f"A{i}", "ground", f"bar {i}", "revolute", Z, (*a, 0)))
        joints.append(rg.Joint.in_world(f"B{i}", f"bar {i}", "plate", "revolute", Z, (*b, 0)))
    return rg.Mechanism.of_joints("plate", joints)


def bipartite_on_a_conic() -> rg.Mechanism:
    """K(3,3) with its joints on an ellipse (Bolker and Roth 1980): a self-stress, and it bends."""
    angles = np.array([0.1, 1.2, 2.0, 3.3, 4.4, 5.6])
    points = np.column_stack([1.5 * np.cos(angles), np.sin(angles), 0 * angles])
    bars = {(i, j): f"bar {i}{j}" for i in (0, 2, 4) for j in (1, 3, 5)} | {(0, 1): "ground"}
    joints = []
    for node, point in enumerate(points):
        first, *others = (bar for ends, bar in bars.items() if node in ends)
        for bar in others:
            joints.append(rg.Joint.in_world(f"{node}: {bar}", first, bar, "revolute", Z, point))
    return rg.Mechanism.of_joints("K(3,3)", joints)


def through_a_line() -> rg.Mechanism:
    """A platform on six rods whose lines all meet one line, about which it can begin to turn."""
    angles = np.array([0.0, 1.0, 2.1, 3.1, 4.2, 5.3])
    base = np.column_stack([np.cos(angles), np.sin(angles), 0 * angles])
    line = np.column_stack([np.full((6, 2), (0.1, 0.05)), 2 + 0.3 * np.arange(6)])
    share = 0.5 + 0.03 * np.arange(6) * (-1) ** np.arange(6)
    return on_rods(base, base + share[:, None] * (line - base), "spherical")


def parallel_rods(lean: Sequence[float] = (0.3, 0.1, 1.0)) -> rg.Mechanism:
    """A plate on four equal parallel rods between universal joints and balls."""
    base = np.array([(0, 0, 0), (1, 0, 0), (1.1, 0.9, 0), (-0.1, 1.2, 0)])
    return on_rods(base, base + np.array(lean) / np.linalg.norm(lean), "universal")


#: Mobility to first order, finite mobility.
STRUCTURES = {
    "three collinear hinges": (collinear(0, 1, 2), 1, 0),
    "four collinear hinges": (collinear(0, 1, 3, 6), 2, 0),
    "plate on concurrent bars": (
        on_bars([(0.5, 0), (-0.2, 0.4), (-0.3, -0.45)], [(1.5, 0), (-0.6, 1.2), (-0.72, -1.08)]),
        1,
        0,
    ),
    "plate on parallel bars": (
        on_bars([(0, 1), (1, 1.3), (2, 0.8)], [(0, 0), (1, 0), (2, -0.4)]),
        1,
        0,
    ),
    "K(3,3) on an ellipse": (bipartite_on_a_conic(), 1, 0),
    # Each of the six rods spins about its own line.
    "platform on rods through a line": (through_a_line(), 7, 6),
    "two spherical chains and a hinge": (mechanisms.shaky_7r(), 2, 1),
    "plate on four parallel rods": (parallel_rods(), 3, 2),
    "the same, upright": (parallel_rods((0, 0, 1)), 3, 2),
}


def only_cell(mechanism: rg.Mechanism) -> tuple[LoopKinematics, CellMobility]:
    reduction = rg.reduce(mechanism)
    (cell,) = reduction.cells
    return sized_loops(reduction.graph, reduction.q, cell.edges, reduction.tree), cell


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_stress_decides(name: str) -> None:
    mechanism, first_order, finite = STRUCTURES[name]
    reduction = rg.reduce(mechanism)
    (cell,) = reduction.cells
    assert (reduction.mobility, reduction.finite_mobility) == (first_order, finite)
    assert reduction.finite_evidence == "second order"
    assert cell.here.rank == cell.generic.rank
    assert reduction.components == ((finite, cell.generic.rank),)
    # The velocities at the pose are those that motions follow and those that the stress forbids.
    loops, _ = only_cell(mechanism)
    jacobian = loops.jacobian(loops.state(cell.local.q))[0] * loops.units
    both = np.hstack([cell.local.followed, cell.local.cut])
    assert np.linalg.matrix_rank(both, tol=1e-6) == first_order
    assert np.max(np.abs(jacobian @ both)) < EXACT.same
    # The stress balances every body and works on no joint.
    graph, stress = reduction.graph, cell.local.stress
    assert stress is not None and np.max(np.abs(stress)) > 0.1
    balance = np.zeros((len(graph.nodes), 6))
    screws = loops.state(cell.local.q).screws[0]
    for e, wrench in zip(cell.edges, stress, strict=True):
        edge = graph.edges[e]
        balance[edge.child] += wrench
        balance[edge.parent] -= wrench
        assert np.allclose(screws[loops.local(e)] @ wrench, 0.0, atol=1e-6)
    assert np.allclose(balance, 0.0, atol=1e-6)


@pytest.mark.slow
def test_the_forms_are_the_second_derivatives() -> None:
    """Of the closure errors, along straight lines of the coordinates."""
    loops, cell = only_cell(collinear(0, 1, 3, 6))
    q, h = cell.local.q, 1e-4
    found = second_order(loops, q, cell.generic.rank, 1e-6)
    for weights in np.random.default_rng(0).normal(size=(5, 2)):
        t = found.motions @ weights
        ends = moved(loops, np.repeat(q[None], 2, axis=0), h * np.array([t, -t]))
        # The stress is blind to the first derivative, and to the acceleration of the coordinates.
        errors = loops.residual(loops.state(ends)).sum(axis=0) / h**2
        forms = np.einsum("a,pab,b->p", weights, found.forms, weights)
        assert np.allclose(np.abs(errors @ found.stresses), np.abs(forms), atol=1e-5)


def test_series_close_the_loops_to_their_order() -> None:
    loops, cell = only_cell(mechanisms.bennett())
    q = cell.local.q
    found = second_order(loops, q, cell.generic.rank, 1e-6)
    jets, series = Jets(loops, q, found), [found.motions[:, 0]]
    drift = loops.bias(loops.state(q), series[0] * loops.units)
    np.testing.assert_allclose([jets.remainder(series)], drift, atol=1e-12)
    jacobian = loops.jacobian(loops.state(q))[0] * loops.units
    for order in range(1, 6):
        steps = [sum(v * h ** (k + 1) / (k + 1) for k, v in enumerate(series)) for h in (0.2, 0.1)]
        ends = moved(loops, np.repeat(q[None], 2, axis=0), np.array(steps))
        errors = np.max(np.abs(loops.residual(loops.state(ends))), axis=1)
        assert errors[0] / errors[1] == pytest.approx(2.0 ** (order + 1), rel=0.25)
        assert np.max(np.abs(found.states.T @ jets.remainder(series))) < 1e-9
        series.append(-np.linalg.lstsq(jacobian, jets.remainder(series))[0])


def test_a_definite_combination_is_found_where_there_is_one() -> None:
    rng = np.random.default_rng(1)
    for k in (1, 2, 3, 5, 8):
        hidden = rng.normal(size=(k, k))
        forms = np.array([a + a.T for a in rng.normal(size=(3, k, k))])
        # It and multiples of the others add up to a definite one.
        forms[0] = hidden @ hidden.T + 0.1 * np.eye(k) - 2.0 * forms[1] + forms[2]
        weights = definite(forms, 1e-9)
        assert weights is not None
        assert np.linalg.eigvalsh(np.tensordot(weights, forms, 1))[0] > 1e-6
    # Every combination of these two vanishes on the first axis.
    blind = np.array([[[0, 1, 0], [1, 2, 0], [0, 0, -1]], [[0, 0, 1], [0, 1, 1], [1, 1, 3]]])
    assert definite(blind.astype(float), 1e-9) is None


def test_forms_of_which_none_is_definite_may_never_vanish_together() -> None:
    rng = np.random.default_rng(2)
    for k in (2, 3, 4):
        turn = np.linalg.qr(rng.normal(size=(k, k)))[0]
        # Without traces no combination is definite; all of them vanish nowhere but at zero.
        pairs = [np.outer(a, b) + np.outer(b, a) for i, a in enumerate(turn) for b in turn[:i]]
        squares = [np.outer(a, a) - np.outer(b, b) for a, b in itertools.pairwise(turn)]
        assert definite(np.array(pairs + squares), 1e-9) is None
        assert never_together(np.array(pairs + squares), 1e-9)
        # The squares are equal along diagonals, the products vanish along axes.
        assert not never_together(np.array(squares), 1e-9)
        assert not never_together(np.array(pairs), 1e-9)


def products(*pairs: tuple[int, int], k: int) -> np.ndarray:
    """The forms x_i x_j of some pairs."""
    e = np.eye(k)
    return np.array([(np.outer(e[i], e[j]) + np.outer(e[j], e[i])) / 2 for i, j in pairs])


@pytest.mark.parametrize(
    ("forms", "dimensions"),
    [
        (products((0, 1), k=2), [1, 1]),
        (products((0, 1), (0, 2), k=3), [1, 2]),
        (products((0, 1), (0, 2), (1, 2), k=3), [1, 1, 1]),
        (products((0, 2), (0, 3), (1, 2), (1, 3), k=4), [2, 2]),
        (products((0, 0), k=1), []),
        (np.zeros((0, 2, 2)), [2]),
        (np.array([np.diag([1.0, -1.0, 0.0]), np.diag([1.0, 0.0, -1.0])]), [1, 1, 1, 1]),
        # Twice on a line; in planes that meet; on a cone; on lines, one of them twice.
        (products((0, 0), k=2), None),
        (products((0, 1), k=3), None),
        (np.diag([1.0, 1.0, -1.0])[None], None),
        (np.array([np.diag([1.0, -1.0, 0.0]), products((0, 2), k=3)[0]]), None),
        (np.concatenate([products((0, 1), k=3), np.diag([0.0, 1.0, 0.0])[None]]), None),
    ],
)
def test_spaces_in_which_forms_vanish_simply_are_counted(
    forms: np.ndarray, dimensions: list[int] | None
) -> None:
    rng = np.random.default_rng(3)
    p, k = forms.shape[:2]
    for noise in (0.0, 1e-7):
        turn, mixing = np.linalg.qr(rng.normal(size=(k, k)))[0], rng.normal(size=(p, p))
        moved = np.einsum("ab,bij->aij", mixing, turn @ forms @ turn.T)
        off = noise * rng.normal(size=forms.shape)
        off = moved + off + np.swapaxes(off, 1, 2)
        found = vanishing_spaces(off, 1e-6, cone(off, 1e-6, rng))
        counts = None if found is None else sorted(V.shape[1] for V in found)
        assert counts == dimensions


def test_no_configuration_is_counted_twice() -> None:
    """The joints of a triangle stay where they are; those of a four-bar go somewhere."""
    triangle = single_loop("triangle", "RRR", [Z] * 3, [(0, 0, 0), (1, 0, 0), (0.3, 0.8, 0)])
    reduction = rg.check(triangle).as_dict()["reduction"]
    assert (reduction["certified_configurations"], reduction["distinct_configurations"]) == (50, 1)
    assert reduction["travelled"]["rotation_rad"] == pytest.approx(0.0, abs=1e-9)
    assert "no configuration but the assembled one" in str(rg.check(triangle))
    reduction = rg.check(mechanisms.planar_fourbar()).as_dict()["reduction"]
    assert reduction["distinct_configurations"] == 50
    assert 0.1 < reduction["travelled"]["translation_m"] < 2.0
    assert 0.1 < reduction["travelled"]["rotation_rad"] <= np.pi


@pytest.mark.slow
def test_walkers_stay_on_the_component_that_they_are_on() -> None:
    """On rods that stay parallel the plate does not turn; on other components it does."""
    mechanism = parallel_rods()
    graph = build(mechanism)
    loops = sized_loops(graph, graph.position)
    along = Continuation(loops)
    visited = random_walks(
        along, graph.position, walkers=25, steps=4, rng=np.random.default_rng(0)
    ).reshape(-1, loops.freedoms)
    state = loops.state(visited)
    plate = loops.row(graph.nodes.index("plate"))
    assert np.allclose(state.T_world_node[:, plate, :3, :3], np.eye(3), atol=1e-4)
    assert np.ptp(state.T_world_node[:, plate, :3, 3], axis=0).max() > 0.3
    assert set(along.ranks(visited).tolist()) == {loops.freedoms - 3}


def seen(point: Sequence[float], *tangent: Sequence[float], rank: int = 1) -> BranchTangent:
    """What is seen of a branch through the origin at a point in space."""
    far = np.array(point)
    size = float(np.linalg.norm(far))
    return BranchTangent(far, size, rank, far / 2, far / size, np.linalg.qr(np.array(tangent).T)[0])


def test_too_near_to_where_branches_meet_more_seems_to_move() -> None:
    """What a line is seen from afar to lead to is the line, unless its rank is another."""
    x, y, _ = np.eye(3)
    far, near = seen((1, 0, 0), x), seen((0.1, 0, 0), x, y)
    assert grouped([near, far]) == [[far]]
    for other in (seen((0.1, 0, 0), x, y, rank=2), seen((2, 0, 0), x, y), seen((0, 0.1, 0), x, y)):
        assert len(grouped([other, far])) == 2


@pytest.mark.parametrize(
    ("forms", "lines"),
    [
        ([[[1, 0], [0, -1]]], [(1, 1), (1, -1)]),
        ([[[1, 0], [0, -4]]], [(2, 1), (2, -1)]),
        ([[[1, 0], [0, 2]]], []),
        ([np.eye(3)[[1, 0, 2]] - np.diag([0, 0, 1]), np.diag([0, 0, 1])], [(1, 0, 0), (0, 1, 0)]),
        (
            [np.diag([1, -1, 0]), np.diag([0, 1, -1])],
            [(1, 1, 1), (1, 1, -1), (1, -1, 1), (-1, 1, 1)],
        ),
    ],
)
def test_the_cone_is_made_of_the_lines_on_which_all_forms_vanish(
    forms: Sequence[np.ndarray], lines: Sequence[tuple[int, ...]]
) -> None:
    found = cone(np.array(forms, dtype=float), 1e-9, np.random.default_rng(0))
    wanted = np.array(lines, dtype=float).reshape(-1, found.shape[1])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    same = np.abs(found @ wanted.T) > 1 - 1e-6
    assert len(found) == len(wanted)
    assert np.all(same.sum(axis=0) == 1) and np.all(same.sum(axis=1) == 1)
