"""Rounded geometry: the mechanism that was meant is found again, about as far away as the noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mechanisms
import noise_table
import numpy as np
import pytest

import regularize as rg
from regularize.as_designed.nearest import nearest
from regularize.as_designed.places import JointPlaces
from regularize.lie import screw
from regularize.manifold.assembly import assemble
from regularize.manifold.extent import sized_loops
from regularize.manifold.projection import project
from regularize.model.graph_building import build
from regularize.model.mechanism import Body

ASSETS = Path(__file__).resolve().parents[1] / "assets"


@pytest.mark.parametrize("make", [mechanisms.three_prrr, mechanisms.sarrus, mechanisms.bennett])
def test_derivatives_by_places(make) -> None:
    mechanism = make()
    graph = build(mechanism)
    q = assemble(graph).q
    loops = sized_loops(graph, q)
    places = JointPlaces(loops, loops.state(q))
    rng = np.random.default_rng(0)
    elsewhere = project(loops, (q + 0.2 * rng.normal(size=len(q)))[None]).q
    derivative = places.derivative(loops.state(elsewhere))[0]
    moves = 1e-6 * rng.normal(size=derivative.shape[1])

    def errors(moves: np.ndarray) -> np.ndarray:
        moved = sized_loops(build(places.moved(mechanism, moves)), q)
        moved = moved.measured(loops.length, loops.center)
        return moved.residual(moved.state(elsewhere))[0]

    difference = 0.5 * (errors(moves) - errors(-moves))
    assert np.allclose(derivative @ moves, difference, atol=1e-14)


CASES = [
    ("planar_fourbar", 1e-3),
    ("spherical_fourbar", 1e-4),
    ("bennett", 1e-3),
    ("bricard", 1e-4),
    ("schatz", 1e-4),
    ("three_prrr", 1e-4),
    ("three_cranks", 1e-4),
    ("roberval_balance", 1e-4),
]


@pytest.mark.parametrize(("name", "noise"), CASES, ids=lambda value: f"{value}")
def test_what_was_meant_is_found(name: str, noise: float) -> None:
    mechanism = noise_table.MECHANISMS[name]()
    exact = rg.reduce(mechanism, configurations=0)
    found = rg.idealise(noise_table.noisy(mechanism, noise))
    assert found.changed
    assert found.written.finite_mobility != exact.finite_mobility
    assert found.reduction.mobility == exact.mobility
    assert found.reduction.finite_mobility == exact.finite_mobility
    translation, rotation = found.distance
    distance = max(translation / noise_table.size(mechanism), rotation)
    assert noise / 3 <= distance <= 3 * noise


def test_what_is_not_found_is_said_to_be_undecided() -> None:
    report = rg.check(noise_table.noisy(mechanisms.bennett(), 1e-2))
    assert report.as_dict()["as_designed"] is None
    (finding,) = [d for d in report.diagnostics if d.code == "REG223"]
    assert finding.severity == "note"
    assert "A, B, C and D" in finding.message.replace("`", "")


@pytest.mark.parametrize(
    "mechanism",
    [mechanisms.planar_fourbar(), mechanisms.bennett(), mechanisms.three_prrr(), mechanisms.rssr()],
    ids=lambda mechanism: mechanism.name,
)
def test_exact_geometry_is_left_alone(mechanism: rg.Mechanism) -> None:
    found = rg.idealise(mechanism)
    assert not found.changed
    assert found.mechanism is mechanism
    assert found.distance == (0.0, 0.0)


def test_what_is_far_from_moving_is_left_alone() -> None:
    rng = np.random.default_rng(5)
    rigid = mechanisms.single_loop(
        "rigid", "RRRRR", rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    )
    assert not rg.idealise(rigid).changed


def test_relations_are_named() -> None:
    off = mechanisms.planar_fourbar()
    tilt = screw.exp(np.array([0.0, 0.0, 0.0, 2e-4, 0.0, 0.0]))
    first, *rest = off.joints
    first = replace(
        first,
        T_parent_joint=first.T_parent_joint @ tilt,
        T_child_joint=first.T_child_joint @ tilt,
    )
    found = rg.idealise(replace(off, joints=(first, *rest)))
    (relation,) = [r for r in found.relations if r.kind == "parallel axes"]
    assert set(relation.joints) == {joint.name for joint in off.joints}
    assert relation.rotation == pytest.approx(2e-4, rel=1e-3)


def test_arguments() -> None:
    with pytest.raises(rg.ModelError, match="near"):
        rg.idealise(mechanisms.bennett(), near=float("nan"))


def test_nearest_moves_nothing_where_nothing_is_off() -> None:
    mechanism = mechanisms.bennett()
    graph = build(mechanism)
    found = nearest(mechanism, graph.every_edge, assemble(graph).q, 1)
    assert np.abs(found.moves).max() < 1e-12


def test_a_weld_that_closes_the_loop_changes_nothing() -> None:
    whole = rg.load(str(ASSETS / "nearly_planar_fourbar.urdf"))
    *others, last = whole.joints
    here = {"T_parent_joint": np.eye(4), "T_child_joint": np.eye(4), "position": np.zeros(0)}
    weld = replace(last, name="weld", kind="fixed", screws=np.zeros((6, 0)), parent="twin", **here)
    divided = replace(
        whole,
        bodies=(*whole.bodies, Body("twin")),
        joints=(*others, replace(last, child="twin", closure=False), weld),
    )
    one, two = (rg.idealise(each, near=1e-2) for each in (whole, divided))
    # A weld has places too, and they share what has to be moved.
    assert 1e-4 < two.distance[1] <= 1.1 * one.distance[1] < 1e-3
    assert one.reduction.redundant == two.reduction.redundant == 3
