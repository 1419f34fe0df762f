"""The graph: merged bodies, split joints, parts, cells, short loops, and parallel chains."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
import screws
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import X, Y, Z, leg
from screws import joint_screws, unit

import regularize as rg
from regularize.mechanism.cycles import (
    _is_cycle,
    candidate_cycles,
    minimum_cycle_basis,
    summed_cycles,
)
from regularize.mechanism.graph import coordinate_names, loop_count, part_of, spanning_tree
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Actuator


def ladder(windows: int) -> rg.Mechanism:
    """Ground, posts and rungs: a planar structure of that many loops in a row."""
    joints = [rg.Joint.in_world("A0", "ground", "post0", "revolute")]
    for k in range(windows):
        joints += [
            rg.Joint.in_world(
                f"A{k + 1}", "ground", f"post{k + 1}", "revolute", point=(k + 1, 0, 0)
            ),
            rg.Joint.in_world(f"B{k}", f"post{k}", f"rung{k}", "revolute", point=(k, 1, 0)),
            rg.Joint.in_world(f"C{k}", f"rung{k}", f"post{k + 1}", "revolute", point=(k + 1, 1, 0)),
        ]
    return rg.Mechanism.of_joints(f"ladder {windows}", joints)


def test_bodies_joined_by_fixed_joints_are_one_node():
    shift = screws.transform(None, (0, 0, 2))
    mechanism = rg.Mechanism(
        "welded",
        tuple(rg.Body(name) for name in ("ground", "a", "b")),
        (
            rg.Joint("weld", "a", "b", "fixed", joint_screws("fixed"), shift),
            rg.Joint("hinge", "ground", "b", "revolute", joint_screws("revolute")),
        ),
    )
    graph = build(mechanism)
    assert graph.members == (("ground",), ("a", "b"))
    (edge,) = graph.edges
    assert np.allclose(edge.T_child, shift)


def test_a_weld_that_closes_a_loop_stays_a_joint_and_a_second_weld_is_noticed():
    joints = [
        rg.Joint.in_world("A", "ground", "a", "revolute"),
        rg.Joint.in_world("B", "ground", "b", "revolute", point=(1, 0, 0)),
        rg.Joint.in_world("closure", "a", "b", "fixed", closure=True),
    ]
    graph = build(rg.Mechanism.of_joints("weld", joints))
    assert [e.freedoms for e in graph.edges] == [1, 1, 0]
    assert graph.loops == 1
    doubled = [
        rg.Joint.in_world("w1", "ground", "a", "fixed"),
        rg.Joint.in_world("w2", "ground", "a", "fixed"),
    ]
    assert [j.name for j in build(rg.Mechanism.of_joints("twice", doubled)).rigid_loops] == ["w2"]


def test_universal_joints_are_split_and_keep_their_coordinates_together():
    joints = [
        rg.Joint.in_world("U", "ground", "a", "universal", (1, 0, 0), axis2=(0, 1, 0)),
        rg.Joint.in_world("S", "a", "b", "spherical", point=(0, 0, 1)),
    ]
    graph = build(rg.Mechanism.of_joints("shaft", joints))
    assert [e.name for e in graph.edges] == ["U/1", "U/2", "S"]
    assert [e.columns for e in graph.edges] == [(0,), (1,), (2, 3, 4)]
    assert graph.members[graph.edges[0].child] == ()
    assert coordinate_names(graph.mechanism) == ("U[0]", "U[1]", "S[0]", "S[1]", "S[2]")


def test_parts_do_not_share_loops_and_couplings_tie_them_into_cells():
    first, second = ladder(1), ladder(2)
    renamed = [
        rg.Joint.in_world(
            f"second {j.name}",
            f"second {j.parent}" if j.parent != "ground" else "ground",
            f"second {j.child}",
            "revolute",
            point=j.T_parent_joint[:3, 3],
        )
        for j in second.joints
    ]
    joints = [*first.joints, *renamed]
    graph = build(rg.Mechanism.of_joints("two", joints))
    assert [loop_count(graph, block) for block in graph.blocks] == [1, 2]
    assert len(graph.cells) == 2
    coupling = rg.Coupling("gear", "gear", (("A0", 0, 1.0), ("second A0", 0, -2.0)))
    tied = build(rg.Mechanism.of_joints("tied", joints, couplings=(coupling,)))
    assert len(tied.cells) == 1 and len(tied.blocks) == 2


def test_two_joints_between_the_same_bodies_are_a_loop():
    joints = [
        rg.Joint.in_world("upper", "ground", "door", "revolute", point=(0, 0, 2)),
        rg.Joint.in_world("lower", "ground", "door", "revolute", point=(0, 0, 0)),
    ]
    graph = build(rg.Mechanism.of_joints("door", joints))
    (cycle,) = minimum_cycle_basis(graph, graph.blocks[0])
    assert set(cycle.edges) == {0, 1} and graph.loops == 1


@pytest.mark.parametrize("windows", [1, 2, 7, 30])
def test_short_loops_of_a_ladder_are_its_windows(windows):
    graph = build(ladder(windows))
    (block,) = graph.blocks
    basis = minimum_cycle_basis(graph, block)
    assert [c.length for c in basis] == [4] * windows
    for cycle in basis:
        for i, e in enumerate(cycle.edges):
            following = cycle.nodes[(i + 1) % cycle.length]
            assert graph.edges[e].other(cycle.nodes[i]) == following
            assert cycle.direction(graph, e) == (1 if graph.edges[e].child == following else -1)
        others = {edge.index for edge in graph.edges} - {*cycle.edges}
        assert {cycle.direction(graph, e) for e in others} <= {0}


def test_long_loops_are_found_where_there_are_no_short_ones():
    names = ["ground", *(f"b{i}" for i in range(19)), "ground"]
    joints = [
        rg.Joint.in_world(f"j{i}", names[i], names[i + 1], "revolute", point=(i, i * i, 0))
        for i in range(20)
    ]
    graph = build(rg.Mechanism.of_joints("ring", joints))
    assert [c.length for c in minimum_cycle_basis(graph, graph.blocks[0])] == [20]
    assert len(candidate_cycles(graph, graph.blocks[0])) == 1


def test_a_part_has_all_edges_of_its_joints():
    pin = rg.Joint.in_world("U", "ground", "a", "universal")
    graph = build(rg.Mechanism.of_joints("pin", [pin]))
    assert part_of(graph, [graph.edges[0].index]) is None
    whole = part_of(graph, [edge.index for edge in graph.edges])
    assert whole is not None and whole.mechanism.joints == (pin,)


def test_a_cut_joint_has_independent_freedoms():
    joints = [rg.Joint.in_world(f"{p}{c}", p, c, "revolute", Y) for p, c in ("ga", "ab")]
    twice = np.repeat(screws.prismatic(X)[:, None], 2, axis=1)
    joints.append(rg.Joint("C", "b", "g", "cylindrical", twice))
    with pytest.raises(rg.ModelError, match="joint 'C': its freedoms are not independent"):
        rg.reduce(rg.Mechanism.of_joints("ring", joints), cuts=["C"])


def test_the_one_branch_of_a_regular_pose_is_where_it_is():
    reduction = rg.reduce(ladder(1))
    np.testing.assert_array_equal(reduction.on_branch(1), reduction.q)
    with pytest.raises(rg.ModelError, match="there is one alone"):
        reduction.on_branch(2)


def test_sums_of_loops_that_touch_a_body_twice_are_no_cycles():
    """Two triangles with a common corner: an eight."""
    pairs = ["ab", "bc", "ca", "ad", "de", "ea"]
    hinges = [
        rg.Joint.in_world(f"J{k}", *pair, "revolute", point=(k, k * k, 0))
        for k, pair in enumerate(pairs)
    ]
    graph = build(rg.Mechanism.of_joints("eight", hinges, ground="a"))
    edges = [edge.index for edge in graph.edges]
    assert _is_cycle(graph, frozenset(edges[:3]))
    assert not _is_cycle(graph, frozenset(edges))


def test_the_file_s_own_closures_are_left_out_of_the_tree():
    joints = [
        rg.Joint.in_world("first", "ground", "a", "revolute", closure=True),
        rg.Joint.in_world("second", "ground", "b", "revolute", point=(1, 0, 0)),
        rg.Joint.in_world("third", "a", "b", "revolute", point=(0, 1, 0)),
    ]
    graph = build(rg.Mechanism.of_joints("closure first", joints))
    assert spanning_tree(graph) == (1, 2)


def test_a_part_without_a_path_to_ground_is_an_error_with_its_name():
    mechanism = rg.Mechanism("apart", (rg.Body("ground"), rg.Body("lonely")), ())
    with pytest.raises(rg.ModelError, match="lonely"):
        build(mechanism)


HINGE = rg.Joint.in_world("hinge", "ground", "a", "revolute")


def gear(joint: str, freedom: int = 0) -> tuple[rg.Coupling, ...]:
    return (rg.Coupling("g", "gear", ((joint, freedom, 1.0),)),)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"ground": "b"}, "the ground 'b' is not one of the bodies ['ground', 'a']"),
        ({"couplings": gear("hinge", 1)}, "coupling 'g': joint 'hinge' has no freedom 1"),
        ({"couplings": gear("nothing")}, "coupling 'g' names unknown joint 'nothing'"),
        ({"actuators": (Actuator("m", "hinge", 2),)}, "'m': joint 'hinge' has no freedom 2"),
        ({"joints": (HINGE, HINGE)}, "two joint entries are named 'hinge'"),
        ({"joints": (replace(HINGE, child="ground"),)}, "connects body 'ground' to itself"),
        ({"bodies": (rg.Body("ground"),)}, "joint 'hinge' names the unknown body 'a'"),
    ],
)
def test_inconsistent_mechanisms_are_refused(attributes, message):
    mechanism = rg.Mechanism.of_joints("m", [HINGE])
    with pytest.raises(rg.ModelError, match="no joint 'other'"):
        mechanism.joint("other")
    with pytest.raises(rg.ModelError, match=re.escape(message)):
        replace(mechanism, **attributes)


def exechon(order: tuple[int, ...] = (0, 1, 2)) -> rg.Mechanism:
    """2-UPR + SPR; Bi, Chen, Zhao and Chen, Robotica 2013: mobility 3 with 13 freedoms."""
    legs = []
    for tag, side in (("A", 1.0), ("B", -1.0)):
        base, tip = side * 0.9 * X, side * 0.3 * X - 0.8 * Z
        legs.append(
            [
                rg.Joint.in_world(f"{tag}1", "ground", f"{tag} fork", "revolute", X, base),
                rg.Joint.in_world(f"{tag}2", f"{tag} fork", f"{tag} outer", "revolute", Y, base),
                rg.Joint.in_world(
                    f"{tag}3", f"{tag} outer", f"{tag} rod", "prismatic", unit(tip - base), base
                ),
                rg.Joint.in_world(f"{tag}4", f"{tag} rod", "platform", "revolute", Y, tip),
            ]
        )
    base, tip = 0.8 * Y + 0.1 * Z, 0.3 * Y - 0.8 * Z
    legs.append(
        leg("C", "ground", "platform", "SPR", [X, unit(tip - base), X], np.array([base, base, tip]))
    )
    return rg.Mechanism.of_joints("Exechon", list(itertools.chain(*(legs[i] for i in order))))


@pytest.mark.slow
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_exechon_is_proved(order: tuple[int, ...]) -> None:
    reduction = rg.reduce(exechon(order))
    assert (reduction.mobility, reduction.finite_mobility) == (3, 3)
    assert (reduction.redundant, reduction.removed, reduction.remaining) == (2, 2, 0)


@pytest.mark.slow
@given(lengths=st.lists(st.integers(1, 5), min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_every_two_chains_make_a_candidate(lengths: list[int]) -> None:
    joints = [
        joint
        for i, n in enumerate(lengths)
        for joint in leg(
            f"L{i}", "a", "b", "R" * n, [Z] * n, np.random.default_rng(i).random((n, 3))
        )
    ]
    graph = build(rg.Mechanism.of_joints("theta", joints))
    (block,) = graph.blocks
    basis, shortest = minimum_cycle_basis(graph, block), candidate_cycles(graph, block)
    found = {frozenset(c.edges) for c in summed_cycles(graph, basis, shortest)}
    assert len(found) == len(lengths) * (len(lengths) - 1) // 2
