"""Topological or paradoxical: whether redundancy stays when lengths are drawn anew."""

from __future__ import annotations

from pathlib import Path

import mechanisms
import numpy as np
import pytest
from random_mechanisms import random_network

import regularize as rg
from regularize.reduction.axis_relations import AxisRelations, elements

ASSETS = Path(__file__).resolve().parents[1] / "assets"


def named(mechanism: rg.Mechanism) -> tuple[int, int, int]:
    """Topological, paradoxical, and the lengths tried."""
    report = rg.check(mechanism).as_dict()
    kinds, reduction = report["redundancy"], report["reduction"]
    assert kinds["topological"] + kinds["paradoxical"] == reduction["remaining_redundant"]
    return kinds["topological"], kinds["paradoxical"], reduction["lengths_tried"]


@pytest.fixture
def by_axes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that only several legs together make are left to other lengths."""
    monkeypatch.setattr("regularize.reduction.cell.grouped", lambda setting, part, mobility: part)


@pytest.mark.parametrize("name", ["quadrupteron", "mobility/four_ruu", "mobility/four_prrrr"])
@pytest.mark.usefixtures("by_axes_alone")
def test_legs_that_only_need_parallel_axes_are_not_paradoxical(name: str) -> None:
    topological, paradoxical, tried = named(rg.load(ASSETS / f"{name}.urdf"))
    assert (topological, paradoxical) == (2, 0) and tried > 0


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("bennett", 3),
        ("bricard", 1),
        ("goldberg_5r", 2),
        ("schatz", 1),
        ("focal_mechanism", 2),
        ("mobility/altmann_6r", 1),
        ("mobility/bricard_octahedron_2", 1),
        ("mobility/dixon_second", 4),
        ("mobility/kaleidocycle_6", 1),
    ],
)
def test_what_special_lengths_make_is_paradoxical(name: str, count: int) -> None:
    topological, paradoxical, tried = named(rg.load(ASSETS / f"{name}.urdf"))
    assert (topological, paradoxical) == (0, count) and tried > 0


def test_a_rigid_polyhedron_has_one_state_of_stress_of_its_shape_alone() -> None:
    """Jessen's icosahedron: 66 equations on 30 hinges, of which 29 are independent here."""
    report = rg.check(rg.load(ASSETS / "mobility" / "jessen_icosahedron.urdf")).as_dict()
    assert report["mobility"]["redundant"] == 66 - 29
    assert report["redundancy"]["paradoxical"] == 1


@pytest.mark.parametrize("seed", [2, 8, 19])
def test_random_networks_need_no_special_lengths(seed: int) -> None:
    """They are drawn from groups, so what is redundant in them is owed to these."""
    topological, paradoxical, _ = named(random_network(np.random.default_rng(seed)))
    assert paradoxical == 0 < topological


def test_what_is_not_redundant_is_not_tried() -> None:
    assert named(mechanisms.planar_fourbar()) == (0, 0, 0)


@pytest.mark.usefixtures("by_axes_alone")
def test_the_words_say_how_it_was_told() -> None:
    held = str(rg.check(rg.load(ASSETS / "quadrupteron.urdf")))
    assert "redundant for all lengths tried (4 sets" in held.replace("\n", " ")
    assert "2 topological (all lengths tried)" in held and "paradoxical" not in held
    (why,) = rg.check(rg.load(ASSETS / "mobility" / "four_ruu.urdf")).as_dict()["why"]
    assert "as long as axes stay parallel: those of `A1`, `B1`, `E1`, `A2`" in why["text"]
    ring = rg.load(ASSETS / "mobility" / "wunderlich_12_bar.urdf")
    special = str(rg.check(ring)).replace("\n", " ")
    assert "not with 4 other sets of lengths" in special
    assert "1 paradoxical (these lengths only)" in special
    proved = str(rg.check(rg.load(ASSETS / "bennett.urdf"))).replace("\n", " ")
    assert "3 paradoxical (these lengths only; 3 proved by family: Bennett)" in proved


def relations_of(reduction: rg.Reduction) -> AxisRelations:
    """Relations of the axes of hinges as they are assembled."""
    (part,) = reduction.parts
    edges = [reduction.graph.edges[e] for e in part.edges]
    columns = [reduction.loops.local(e)[k] for e, k in elements(edges)]
    ways = reduction.reference.screws[:, columns, 3:]
    return AxisRelations.of(edges, part.screws, ways, reduction.rtol)


def test_axes_that_meet_at_any_angle_still_do_when_redrawn() -> None:
    """A spherical four-bar whose hinges are at different distances from its centre stays one."""
    axes = np.array([(1, 1, -1), (-1, 1, -1), (1, 1, 1), (1, -1, -1)])
    points = axes * np.array([[1.0], [0.3], [2.0], [0.7]])
    reduction = rg.reduce(mechanisms.single_loop("spherical", "RRRR", [*axes], [*points]))
    relations, (part,) = relations_of(reduction), reduction.parts
    np.testing.assert_allclose(relations.geometry.meeting, [-part.center / part.length])
    drawn = rg.reduce(relations.redrawn(np.random.default_rng(2)))
    assert (drawn.mobility, drawn.redundant, drawn.removed) == (1, 3, 3)


def test_redrawn_axes_keep_their_relations() -> None:
    """A universal joint, a ball on a hinge's axis, and hinges that stay parallel."""
    reduction = rg.reduce(rg.load(ASSETS / "mobility" / "four_ruu.urdf"))
    (part,) = reduction.parts
    edges = [reduction.graph.edges[e] for e in part.edges]
    drawn = relations_of(reduction).redrawn(np.random.default_rng(1))
    assert rg.assemble(drawn).worst_before == (0.0, 0.0)
    by_name = {joint.name: joint.screws[:, 0] for joint in drawn.joints}
    legs = [[by_name[f"{edge.index}"] for edge in edges if edge.name[1] == k] for k in "1234"]
    vertical = legs[0][0][3:]
    for a, b, c, d, e in legs:
        assert all(np.linalg.norm(np.cross(s[3:], vertical)) < 1e-12 for s in (a, b, e))
        assert np.linalg.norm(np.cross(c[3:], d[3:])) < 1e-12
        assert abs(c[3:] @ vertical) < 1e-12
        # Axes that meet have no moment about each other.
        for one, other in ((b, c), (d, e)):
            assert abs(one[:3] @ other[3:] + one[3:] @ other[:3]) < 1e-12
    before = list(part.screws.values())
    assert np.max(np.abs(np.hstack(before)[:3] - np.array([*by_name.values()]).T[:3])) > 0.05
