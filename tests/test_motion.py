"""What moves, how it moves, and motions as sequences of configurations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.assembly_modes.closed_form.closed_branch import SPACING
from regularize.lie.motion_type import MotionType
from regularize.manifold.continuation import Continuation
from regularize.manifold.projection import project
from regularize.model.mechanism import joint_in_world, mechanism_of
from regularize.reduction.reduce import Reduction
from regularize.render.animation import motions
from regularize.report.motion import moving
from regularize.report.words import motion_words, plural


def words(reduction: Reduction) -> dict[str, str]:
    return {body.body: body.words for body in moving(reduction)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "sarrus",
            {
                "lower_1": "rotates about A1 (axis along Y)",
                "upper_1": "moves in the plane normal to Y",
                "platform": "slides along Z",
            },
        ),
        ("three_prrr", {"platform": "translates in space without turning"}),
        ("orthoglide", {"platform": "translates in space without turning"}),
        ("bennett", {"link_BC": "moves in space"}),
        ("stewart_6ups", {"platform": "moves in space"}),
        ("nearly_planar_fourbar", {"crank": "stays at rest", "coupler": "stays at rest"}),
    ],
)
def test_known_motions(name: str, expected: dict[str, str], assets: Path) -> None:
    found = words(rg.reduce(rg.load(assets / f"{name}.urdf")))
    assert {body: found[body] for body in expected} == expected


def test_platform_of_the_spherical_mechanism_turns_about_its_centre(assets: Path) -> None:
    bodies = moving(rg.reduce(rg.load(assets / "spherical_9r.urdf")))
    most = max(bodies, key=lambda body: body.freedoms)
    assert most.freedoms == 3 and most.motion.name == "spherical"
    assert most.words.startswith("turns about the point")


def test_one_loop_may_have_more_freedoms_than_its_samples_have_twists() -> None:
    count = 45
    angles = np.cumsum(np.random.default_rng(3).uniform(0.5, 1.5, count))
    angles *= 2 * np.pi / angles[-1]
    joints = [
        joint_in_world(
            f"J{i}",
            f"b{i}",
            f"b{(i + 1) % count}",
            "revolute",
            (0, 0, 1),
            (np.cos(a), np.sin(a), 0),
        )
        for i, a in enumerate(angles)
    ]
    found = words(rg.reduce(mechanism_of("polygon", joints)))
    assert found["b1"] == "rotates about J0 (axis along Z)"
    assert found["b20"] == "moves in the plane normal to Z"


def test_a_parallelogram_coupler_translates_without_turning() -> None:
    points = [(0, 0, 0), (0.1, 0.3, 0), (0.6, 0.3, 0), (0.5, 0, 0)]
    bodies = ["ground", "crank", "coupler", "rocker"]
    joints = [
        joint_in_world(
            "ABCD"[i], bodies[i], bodies[(i + 1) % 4], "revolute", (0, 0, 1), point=points[i]
        )
        for i in range(4)
    ]
    found = words(rg.reduce(mechanism_of("parallelogram", joints)))
    assert found["coupler"] == "translates in the plane normal to Z without turning"
    assert found["crank"] == "rotates about A (axis along Z)"


def test_a_floating_base_is_held() -> None:
    mechanism = mechanism_of(
        "robot",
        [
            joint_in_world("base_joint", "world", "base", "free"),
            joint_in_world("hip", "base", "leg", "revolute", (0, 1, 0)),
        ],
    )
    found = words(rg.reduce(mechanism))
    assert found == {"base": "floats freely", "leg": "rotates about hip (axis along Y)"}


def test_said_of_several() -> None:
    assert plural("stays at rest") == "stay at rest"
    assert plural("translates in space and turns about X") == "translate in space and turn about X"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "sarrus", "gripper", "spherical_9r", "rssr"])
def test_motions_keep_the_loops_closed_and_are_smooth(name: str, assets: Path) -> None:
    reduction = rg.reduce(rg.load(assets / f"{name}.urdf"))
    found = motions(reduction)
    assert len(found) == min(reduction.mobility, 6)
    loops = reduction.loops
    for motion in found:
        state = loops.state(motion.q)
        assert np.max(np.abs(loops.residual(state))) < 1e-6
        assert np.allclose(motion.q[motion.start], reduction.q)
        assert np.max(np.abs(np.diff(state.T_world_node, axis=0))) < 6 * SPACING
        assert np.max(np.abs(state.T_world_node - state.T_world_node[:1])) > SPACING


def test_a_crank_turns_once(assets: Path) -> None:
    (motion,) = motions(rg.reduce(rg.load(assets / "planar_fourbar.urdf")))
    assert motion.name == "A" and motion.cyclic
    assert abs(motion.q[-1, 0] - motion.q[0, 0]) == pytest.approx(2 * np.pi, abs=0.2)


def test_one_motion_holds_the_other_drivers(assets: Path) -> None:
    reduction = rg.reduce(rg.load(assets / "three_prrr.urdf"))
    found = motions(reduction)
    columns = [
        next(e.columns[0] for e in reduction.graph.edges if e.joint.name == m.name) for m in found
    ]
    for motion, own in zip(found, columns, strict=True):
        still = [c for c in columns if c != own]
        assert np.max(np.abs(motion.q[:, still] - reduction.q[still])) < 1e-9
        assert np.ptp(motion.q[:, own]) > 0.01


def test_what_cannot_move_has_no_motions(assets: Path) -> None:
    assert motions(rg.reduce(rg.load(assets / "nearly_planar_fourbar.urdf"))) == ()


def test_motions_of_open_loops_and_no_motions_at_all(assets: Path) -> None:
    bars = rg.load(assets / "planar_fourbar.urdf")
    assert motions(rg.reduce(bars), most=0) == ()
    shift = np.eye(4)
    shift[0, 3] = 50.0
    joints = [
        replace(joint, T_parent_joint=joint.T_parent_joint @ shift) if joint.closure else joint
        for joint in bars.joints
    ]
    assert motions(rg.reduce(replace(bars, joints=tuple(joints)))) == ()


def test_a_screw_is_told_with_its_pitch() -> None:
    found = MotionType("helical", 1, np.array([0.0, 0.0, 1.0]), np.zeros(3), 0.005)
    assert motion_words(found) == "helical, axis along Z, pitch 5 mm/rad"


@pytest.mark.slow
def test_newton_converges_quadratically_where_a_part_of_a_ball_joint_is_held(
    assets: Path,
) -> None:
    """Held are velocities: a ball joint's coordinates all change when it turns about other axes."""
    reduction = rg.reduce(rg.load(assets / "rssr.urdf"))
    turned = motions(reduction)[0].q[-20:]
    loops = reduction.loops
    ball = next(e.index for e in reduction.graph.edges if e.joint.name == "B")
    held = np.zeros(loops.freedoms, dtype=bool)
    held[loops.local(ball)[0]] = True
    along = Continuation(loops, held=held)
    heading = along.tangents(turned, np.ones_like(turned))
    found = project(loops, loops.integrate(turned, 0.05 * heading * loops.units), held=held)
    assert found.closed.all() and found.first.min() > 1e-4
    assert found.contraction.max() < 0.02
