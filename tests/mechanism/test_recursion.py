"""Loops that are solved one after the other by eigenvalues, compared with closed forms.

Bodies that spin idly count once.
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
from regularize.guests.modes.loop_system import LoopSystem, Multistart, searched
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
    angles = np.linspace(-0.3, 0.3, 15)
    found = rg.configurations(two_loops(4), ["j0"], angles[:, None])
    assert found.method == "eigenvalues" and found.complete.all()
    assert len(found.evidence.loops) == 2 and "by eigenvalues" in found.evidence.loops[1]
    assert np.nanmax(found.residual) < 1e-11
    assert np.allclose(found.q[found.found][:, 0], np.repeat(angles, found.counts))
    assert np.nanmax(found.evidence.certificate) <= 0.5
    # The configuration of the drawing is among those at zero.
    assert np.min(np.max(np.abs(found.q[7][found.found[7]]), axis=1)) < 1e-9
    assert np.all(found.counts % 2 == 0) and found.counts.max() == 8


@pytest.mark.slow
def test_couplings_between_inputs_and_unknowns_come_first():
    gear = rg.Coupling("gear", "gear", (("j0", 0, 1.0), ("j1", 0, -2.0)), 0.02)
    mechanism = replace(random_ring("RRRRRRRR", 3), couplings=(gear,))
    found = rg.configurations(mechanism, ["j0"], [[0.0], [0.1], [0.2]])
    assert found.method == "eigenvalues"
    q = found.q[found.found]
    assert len(q) and np.allclose(q[:, 0] - 2 * q[:, 1], 0.02)


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
    found = rg.configurations(triangle, [], np.zeros(0))
    assert found.complete and found.counts == 2
