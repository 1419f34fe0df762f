"""Loops of several chains between two bodies: also those of the longer chains are candidates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import X, Y, Z, leg

import regularize as rg
from regularize.lie.screw import unit
from regularize.model.cycles import candidate_cycles, minimum_cycle_basis, summed_cycles
from regularize.model.graph_building import build
from regularize.model.mechanism import Mechanism, joint_in_world, mechanism_of


def exechon(order: tuple[int, ...] = (0, 1, 2)) -> Mechanism:
    """2-UPR + SPR; Bi, Chen, Zhao and Chen, Robotica 2013: mobility 3 with 13 freedoms."""
    legs = []
    for tag, side in (("A", 1.0), ("B", -1.0)):
        base, tip = side * 0.9 * X, side * 0.3 * X - 0.8 * Z
        legs.append(
            [
                joint_in_world(f"{tag}1", "ground", f"{tag} fork", "revolute", X, base),
                joint_in_world(f"{tag}2", f"{tag} fork", f"{tag} outer", "revolute", Y, base),
                joint_in_world(
                    f"{tag}3", f"{tag} outer", f"{tag} rod", "prismatic", unit(tip - base), base
                ),
                joint_in_world(f"{tag}4", f"{tag} rod", "platform", "revolute", Y, tip),
            ]
        )
    base, tip = 0.8 * Y + 0.1 * Z, 0.3 * Y - 0.8 * Z
    legs.append(
        leg("C", "ground", "platform", "SPR", [X, unit(tip - base), X], np.array([base, base, tip]))
    )
    return mechanism_of("Exechon", list(itertools.chain(*(legs[i] for i in order))))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_exechon_is_proved(order: tuple[int, ...]) -> None:
    reduction = rg.reduce(exechon(order))
    assert (reduction.mobility, reduction.finite_mobility) == (3, 3)
    assert (reduction.redundant, reduction.removed, reduction.remaining) == (2, 2, 0)


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
    graph = build(mechanism_of("theta", joints))
    (block,) = graph.blocks
    basis, shortest = minimum_cycle_basis(graph, block), candidate_cycles(graph, block)
    found = {frozenset(c.edges) for c in summed_cycles(graph, basis, shortest)}
    assert len(found) == len(lengths) * (len(lengths) - 1) // 2
