"""Configurations of any loops by iteration: against closed forms, and bodies that spin idly."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest
from closed_form_cases import CASES

from regularize.assembly_modes.closed_form import closed_form
from regularize.assembly_modes.loop_system import LoopSystem
from regularize.assembly_modes.multistart import Multistart, searched
from regularize.manifold.projection import approach
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import Graph
from regularize.model.graph_building import build


def system_of(graph: Graph, known: list[int]) -> LoopSystem:
    unknown = np.setdiff1d(np.arange(graph.freedoms), known)
    return LoopSystem(graph, unknown)


def search(system: LoopSystem, q: np.ndarray):
    none = np.zeros(0, dtype=int), np.zeros((0, q.shape[1]))
    return searched(system, q, none, Multistart(starts=48))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["planar 4R", "spherical 4R", "RSSR", "RSCP", "elbow manipulator"])
def test_the_same_as_the_closed_form(case):
    (mechanism, inputs), _ = CASES[case]
    form = closed_form(mechanism, inputs)
    system = system_of(form.graph, list(form.columns))
    x = np.random.default_rng(2).uniform(-0.2, 0.2, size=(4, len(form.columns)))
    q = np.zeros((4, form.graph.freedoms))
    q[:, list(form.columns)] = x
    rows, found, used = search(system, q)
    exact = form.solve(x)
    assert np.max(system.error(found)) <= EXACT.closed
    assert np.all(used >= 3 * 48)
    for n in range(4):
        ours = exact.q[n][exact.assembled[n]]
        both = np.concatenate([ours, found[rows == n]])
        # Together they are no more than each of them alone.
        kept = system.distinct(np.zeros(len(both), dtype=int), both)
        assert len(kept) == len(ours) == np.sum(rows == n)


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


@pytest.mark.parametrize(
    ("case", "spins"),
    [("RSSR", 1), ("RSSP", 1), ("Delta", 6), ("Stewart platform", 6), ("RSCP", 0), ("PUMA", 0)],
)
def test_legs_that_spin_are_counted(case, spins):
    (mechanism, inputs), _ = CASES[case]
    form = closed_form(mechanism, inputs)
    system = system_of(form.graph, list(form.columns))
    assert system.spins == spins
    q = form.solve(np.full(len(form.columns), 0.05))
    assert system.isolated(q.q[q.assembled]).all()


def test_known_configurations_are_kept_and_stop_the_search_early():
    graph = build(mechanisms.planar_fourbar())
    system = system_of(graph, [0])
    q = np.zeros((1, 4))
    first = search(system, q)
    again = searched(system, q, first[:2], Multistart(starts=16))
    assert len(again[0]) == len(first[0]) == 2
    assert np.array_equal(again[1], first[1])
    assert again[2][0] == 3 * 16


def test_what_cannot_be_assembled_has_no_configuration():
    graph = build(mechanisms.slider_crank())
    system = system_of(graph, [3])
    q = np.zeros((2, 4))
    q[1, 3] = 10.0
    rows, _, _ = search(system, q)
    assert rows.tolist() == [0, 0]


def test_the_damped_iteration_never_raises_the_error():
    graph = build(mechanisms.three_prrr())
    system = system_of(graph, [0, 4, 8])
    rng = np.random.default_rng(0)
    q = system.random(np.zeros((60, graph.freedoms)), rng)
    before = np.sum(system.equations(q)[0] ** 2, axis=1)
    near = approach(system.loops, q, held=system.held)
    assert np.all(np.sum(system.equations(near)[0] ** 2, axis=1) <= before)
    after = np.sum(system.equations(system.projected(q, damped=True)[0])[0] ** 2, axis=1)
    assert np.mean(after < 1e-20) > 0.3
