"""Loops of mechanisms as six turns and slides: same motion, same coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from closed_form_cases import ring
from loop_samples import apart
from mechanisms import bennett, turned_round

from regularize.assembly_modes.loop_chain import chain_of
from regularize.assembly_modes.loops import loops_of
from regularize.assembly_modes.six_motions.closure import product
from regularize.assembly_modes.six_motions.elementary_loop import ElementaryLoop, NotElementary
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import spanning_tree
from regularize.model.graph_building import build
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Mechanism

WORDS = {
    "R": "revolute",
    "P": "prismatic",
    "S": "spherical",
    "C": "cylindrical",
    "U": "universal",
    "F": "free",
    "H": "helical",
}


def random_ring(kinds: str, seed: int) -> Mechanism:
    rng = np.random.default_rng(seed)
    return ring(
        kinds,
        *[
            (f"j{i}", WORDS[kind], rng.normal(size=3), tuple(rng.normal(size=3)))
            for i, kind in enumerate(kinds)
        ],
    )


def loop_of(
    mechanism: Mechanism, known: tuple[int, ...], *, exchanged: bool = False
) -> ElementaryLoop:
    graph = build(mechanism)
    (cycle,), _ = loops_of(graph)
    return ElementaryLoop(graph, chain_of(graph, cycle), frozenset(known), exchanged=exchanged)


@pytest.mark.parametrize(
    ("kinds", "known", "motions"),
    [
        ("RRRRRRR", (0,), "RRRRRR"),
        ("RPRRRPR", (2,), "RPRRPR"),
        ("RSRRR", (0,), "RRRRRR"),
        ("SRRRR", (3,), "RRRRRR"),
        ("RURC", (0,), "RRRPRR"),
        ("RCRP", (0,), "PRRPRR"),
        ("RRR", (0,), "RRRRRR"),
        ("RF", (0,), "PPPRRR"),
        ("SRRR", (0, 1, 2), "RRRRRR"),
    ],
)
def test_the_six_motions_are_those_of_the_loop(kinds, known, motions):
    mechanism = random_ring(kinds, 5)
    loop = loop_of(mechanism, known)
    assert sorted(loop.kinds) == sorted(motions)
    assert_same_motion(mechanism, known, loop)


@pytest.mark.parametrize("turned", [(), (1,), (2,), (1, 2)])
def test_cylindrical_joints_may_slide_first_or_turn_first(turned):
    mechanism = random_ring("RCCR", 5)
    joints = [turned_round(j) if k in turned else j for k, j in enumerate(mechanism.joints)]
    mechanism = replace(mechanism, joints=tuple(joints))
    plain, other = (loop_of(mechanism, (0,), exchanged=e) for e in (False, True))
    assert plain.kinds != other.kinds
    for loop in (plain, other):
        assert_same_motion(mechanism, (0,), loop)


def assert_same_motion(mechanism: Mechanism, known: tuple[int, ...], loop: ElementaryLoop) -> None:
    """The product of all motions turns as much as the gap of the loop, at random coordinates."""
    graph = build(mechanism)
    kinematics = LoopKinematics(graph, range(len(graph.edges)), spanning_tree(graph))
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(20, 6))
    auxiliary = [k for k, motion in enumerate(loop.motions) if motion.of is None]
    x[:, auxiliary] = 0.0
    q = rng.uniform(-1, 1, size=(20, graph.freedoms))
    C = loop.constants(q)
    T, _, _ = product(loop.kinds, C, x)
    full = loop.coordinates(x, q)
    assert np.array_equal(full[:, list(known)], q[:, list(known)])
    residual = kinematics.residual(kinematics.state(full))
    angle = np.arccos(np.clip(0.5 * (np.trace(T[:, :3, :3], axis1=1, axis2=2) - 1), -1, 1))
    assert np.allclose(np.linalg.norm(residual[:, 3:], axis=1), angle, atol=1e-7)
    assert loop.closes(x).all()
    bent = x.copy()
    bent[:, auxiliary] = 0.3
    assert loop.closes(bent).all() == (not auxiliary)


def test_lengths_are_in_sizes_of_the_loop():
    small, large = (loop_of(random_ring("RRRRRRR", 5), (0,)) for _ in range(2))
    C = small.constants(np.zeros((1, 7)))
    assert np.max(np.linalg.norm(C[..., :3, 3], axis=-1)) == pytest.approx(1.0)
    assert small.size == large.size > 0.5


def test_ball_joints_come_back_from_three_turns():
    loop = loop_of(random_ring("RSRRR", 2), (0,))
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=(50, 6))
    q = loop.coordinates(x, np.zeros((50, 7)))
    balls = [k for k, motion in enumerate(loop.motions) if motion.of and motion.of.kind == "S"]
    assert len(balls) == 3
    # The other set of three angles of the same rotation gives the same coordinates.
    first, second, third = (x[:, k] for k in balls)
    other = x.copy()
    other[:, balls] = np.stack([first + np.pi, np.pi - second, third + np.pi], axis=1)
    again = loop.coordinates(other, np.zeros((50, 7)))
    turns = [k for k in range(7) if k not in (1, 2, 3)]
    assert np.max(apart("R" * 4, q[:, turns], again[:, turns])) < 1e-12
    assert np.max(np.abs(q - again)) < 1e-6


@pytest.mark.parametrize(
    ("kinds", "known", "reason"),
    [
        ("RRRRRRRR", (0,), "7 unknown"),
        ("RSSSR", (0,), "9 unknown"),
        ("RRHRRRR", (0,), "helical"),
        ("SRRRRR", (0,), "in part"),
        ("RRR", (0, 1, 2), "0 unknown"),
    ],
)
def test_other_loops_are_refused_with_a_reason(kinds, known, reason):
    mechanism = random_ring(kinds, 1)
    if "H" in kinds:
        screws = joint_screws("helical", pitch=0.1)
        joints = [replace(j, screws=screws) if j.name == "j2" else j for j in mechanism.joints]
        mechanism = replace(mechanism, joints=tuple(joints))
    with pytest.raises(NotElementary, match=reason):
        loop_of(mechanism, known)


def test_overconstrained_loops_get_auxiliary_turns():
    loop = loop_of(bennett(), (0,))
    assert loop.kinds == "RRRRRR"
    assert [motion.of is None for motion in loop.motions].count(True) == 3
    assert loop.columns == (1, 2, 3)
