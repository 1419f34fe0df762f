"""Loops that are solved one after the other by eigenvalues, and any loops by iteration.

Both are compared with closed forms; bodies that spin idly count once.
"""

from __future__ import annotations

from dataclasses import replace

import mechanisms
import numpy as np
import pytest
from closed_form_cases import CASES, ring
from test_elementary_loop import random_ring

import regularize as rg
from regularize.guests.modes.assembly_plan import AssemblyPlan
from regularize.guests.modes.configurations import ConfigurationFinder
from regularize.guests.modes.loop_system import LoopSystem, Multistart, searched
from regularize.mechanism.graph import Graph
from regularize.mechanism.graph_building import build


def two_loops(seed: int) -> rg.Mechanism:
    """A general 7R loop whose fourth body drives another one."""
    rng = np.random.default_rng(seed)
    axes, points = rng.normal(size=(2, 13, 3))

    def joint(i: int, parent: str, child: str) -> rg.Joint:
        return rg.Joint.in_world(f"j{i}", parent, child, "revolute", axes[i], points[i])

    first = ["ground", *(f"a{i}" for i in range(6)), "ground"]
    second = ["a3", *(f"b{i}" for i in range(5)), "ground"]
    joints = [joint(i, first[i], first[i + 1]) for i in range(7)]
    joints += [joint(7 + i, second[i], second[i + 1]) for i in range(6)]
    return rg.Mechanism.of_joints("two loops", joints)


@pytest.mark.slow
def test_two_general_loops_in_a_row():
    graph = build(two_loops(4))
    plan = AssemblyPlan(graph, np.arange(1, 13))
    assert plan.method == "eigenvalues" and len(plan.steps) == 2
    assert len(plan.sentences) == 2 and "by eigenvalues" in plan.sentences[1]
    q = np.zeros((15, 13))
    q[:, 0] = np.linspace(-0.3, 0.3, 15)
    found = plan.run(q, Multistart())
    assert found.complete.all()
    assert np.max(LoopSystem(graph, np.arange(1, 13)).error(found.q)) < 1e-11
    assert np.allclose(found.q[:, 0], q[found.rows, 0])
    assert np.max(found.certificate) <= 0.5
    # The configuration of the drawing is among those at zero.
    assert np.min(np.max(np.abs(found.q[found.rows == 7]), axis=1)) < 1e-9
    counts = np.bincount(found.rows)
    assert np.all(counts % 2 == 0) and counts.max() == 8


@pytest.mark.slow
def test_a_closed_form_and_a_general_loop_side_by_side():
    """A loop with a rod that spins idly beside one without closed form."""
    first, second = mechanisms.rssr(), random_ring("RRRRRRR", 3)
    joints = [
        replace(joint, name=f"r{joint.name}", parent=f"r{joint.parent}", child=f"r{joint.child}")
        for joint in first.joints
    ]
    ends = {"rground": "ground"}
    joints = [
        replace(j, parent=ends.get(j.parent, j.parent), child=ends.get(j.child, j.child))
        for j in joints
    ]
    mechanism = rg.Mechanism.of_joints("side by side", [*joints, *second.joints])
    finder = ConfigurationFinder(mechanism, ["rA", "j0"])
    assert finder.method == "eigenvalues"
    found = finder.find([0.2, 0.1])
    alone = [
        ConfigurationFinder(first, ["A"]).find(0.2).counts,
        ConfigurationFinder(second, ["j0"]).find(0.1).counts,
    ]
    assert found.complete and found.counts == alone[0] * alone[1] > 2
    assert np.max(found.residual) < 1e-12


@pytest.mark.slow
def test_couplings_between_inputs_and_unknowns_come_first():
    gear = rg.Coupling("gear", "gear", (("j0", 0, 1.0), ("j1", 0, -2.0)), 0.02)
    mechanism = replace(random_ring("RRRRRRRR", 3), couplings=(gear,))
    plan = AssemblyPlan(build(mechanism), np.arange(1, 8))
    assert plan.method == "eigenvalues"
    q = np.zeros((3, 8))
    q[:, 0] = [0.0, 0.1, 0.2]
    found = plan.run(q, Multistart())
    assert len(found.q) and np.allclose(found.q[:, 0] - 2 * found.q[:, 1], 0.02)


def test_couplings_between_unknowns_are_refused():
    gear = rg.Coupling("gear", "gear", (("j3", 0, 1.0), ("j4", 0, -2.0)))
    mechanism = replace(random_ring("RRRRRRRR", 3), couplings=(gear,))
    plan = AssemblyPlan(build(mechanism), np.arange(1, 8))
    assert plan.method == "iteration"
    assert "coupling 'gear'" in plan.sentences[0]


@pytest.mark.parametrize(
    ("mechanism", "known", "reason"),
    [
        (mechanisms.spherical_9r, (0, 3, 6), "4 unknown motions of which 3 are independent"),
        (mechanisms.sarrus, (), "6 unknown motions of which 5 are independent"),
        (mechanisms.shaky_7r, (), "7 unknown elementary motions"),
    ],
)
def test_reasons_are_told(mechanism, known, reason):
    graph = build(mechanism())
    plan = AssemblyPlan(graph, np.setdiff1d(np.arange(graph.freedoms), known))
    assert plan.method == "iteration"
    assert all(reason in told for told in plan.sentences)


#: Single loops with at most six unknown motions, a spinning rod not counted.
SINGLE = [case for case in CASES if case not in ("Delta", "Stewart platform")]


@pytest.mark.slow
@pytest.mark.parametrize("case", SINGLE)
def test_eigenvalues_give_what_the_closed_form_gives(case):
    (mechanism, inputs), _ = CASES[case]
    form = rg.closed_form(mechanism, inputs)
    graph = form.graph
    unknown = np.setdiff1d(np.arange(graph.freedoms), form.columns)
    system, plan = LoopSystem(graph, unknown), AssemblyPlan(graph, unknown)
    assert plan.method == "eigenvalues"
    x = np.random.default_rng(1).uniform(-0.3, 0.3, size=(40, len(form.columns)))
    q = np.repeat(graph.position[None], 40, axis=0)
    q[:, list(form.columns)] = x
    found = plan.run(q, Multistart())
    assert found.complete.all()
    ours, _ = system.projected(found.q)
    exact = form.solve(x)
    rows, branch = np.nonzero(exact.assembled)
    theirs = exact.q[rows, branch]
    # One list after the other: nothing in the second that is not in the first, both ways.
    for one, other in (((found.rows, ours), (rows, theirs)), ((rows, theirs), (found.rows, ours))):
        both = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
        assert np.max(system.distinct(*both)) < len(one[0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 6, 8, 17, 21, 25, 26, 35, 37])
def test_axes_along_a_grid(seed):
    """Parallel, crossing and coinciding axes: complete lists miss nothing, doubt is admitted."""
    rng = np.random.default_rng(seed)
    kinds = ["R", *rng.choice(list("RRRP"), size=6)]
    axes, points = np.eye(3)[rng.integers(3, size=7)], 0.5 * rng.integers(-1, 3, size=(7, 3))
    words = {"R": "revolute", "P": "prismatic"}
    joints = [(f"j{i}", words[kinds[i]], axes[i], tuple(points[i])) for i in range(7)]
    graph = build(ring("grid", *joints))
    unknown = np.arange(1, 7)
    plan, system = AssemblyPlan(graph, unknown), LoopSystem(graph, unknown)
    assert plan.method == "eigenvalues"
    q = np.zeros((4, 7))
    q[:, 0] = rng.uniform(-0.4, 0.4, size=4)
    found = plan.run(q, Multistart())
    ours, _ = system.projected(found.q)
    kept = system.distinct(found.rows, ours)
    known = found.rows[kept], ours[kept]
    rows, _, _ = searched(system, q, known, Multistart(starts=64, rounds=3))
    before, after = (np.bincount(r, minlength=4) for r in (known[0], rows))
    assert np.array_equal(before[found.complete], after[found.complete])
    # These loops move on, or are singular, at some inputs.
    assert found.complete.all() == (seed not in (8, 25, 37))


@pytest.mark.slow
def test_bennett_linkage_by_eigenvalues():
    """The tangents of half the angles keep their product (Bennett 1914)."""
    first, second, turn = 0.6, 1.1, 0.7
    graph = build(mechanisms.bennett(first, second, turn))
    plan = AssemblyPlan(graph, np.array([1, 2, 3]))
    q = np.zeros((41, 4))
    q[:, 0] = np.linspace(-0.6, 1.5, 41)
    found = plan.run(q, Multistart())
    assert found.complete.all()
    assert np.array_equal(found.rows, np.arange(41)), "one configuration for every angle"
    product = np.sin(0.5 * (second + first)) / np.sin(0.5 * (second - first))
    other = 2.0 * np.arctan(product / np.tan(0.5 * turn))
    theta, phi = turn + found.q[:, 0], other + found.q[:, 1]
    assert np.allclose(np.tan(0.5 * theta) * np.tan(0.5 * phi), product)
    assert np.allclose(found.q[:, 2], -found.q[:, 0], atol=1e-9)
    assert np.allclose(np.sin(found.q[:, 3] + found.q[:, 1]), 0.0, atol=1e-9)


def test_a_structure_without_inputs():
    points = [(0, 0, 0), (1, 0, 0), (0.3, 0.7, 0)]
    triangle = ring(
        "triangle", *[(f"j{i}", "revolute", (0, 0, 1), p) for i, p in enumerate(points)]
    )
    plan = AssemblyPlan(build(triangle), np.arange(3))
    found = plan.run(np.zeros((1, 3)), Multistart())
    assert found.complete[0] and len(found.rows) == 2


def system_of(graph: Graph, known: list[int]) -> LoopSystem:
    unknown = np.setdiff1d(np.arange(graph.freedoms), known)
    return LoopSystem(graph, unknown)


def search(system: LoopSystem, q: np.ndarray):
    none = np.zeros(0, dtype=int), np.zeros((0, q.shape[1]))
    return searched(system, q, none, Multistart(starts=48))


@pytest.mark.slow
def test_a_rod_that_spins_idly_does_not_count():
    graph = build(mechanisms.rssr())
    system = system_of(graph, [0])
    q = np.zeros((1, graph.freedoms))
    q[0, 0] = 0.3
    rows, found, _ = search(system, q)
    assert len(rows) == 2
    _, jacobian = system.equations(found)
    sizes = np.linalg.svd(jacobian, compute_uv=False)
    # Seven unknown coordinates, six equations: the spin is in the null space.
    assert jacobian.shape[1:] == (6, 7) and np.all(sizes[:, -1] > 1e-3)
