"""Closure equations: values, derivatives and rates against finite differences and Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from test_assembly import Points, four_bar, moved

import regularize as rg
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import project
from regularize.mechanism.graph import spanning_tree
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import joint_position, motion


def zoo() -> rg.Mechanism:
    """One loop with every kind of joint, and a coupling."""
    names = ["ground", "a", "b", "c", "d", "e", "f", "ground"]
    kinds = ["revolute", "universal", "spherical", "cylindrical", "planar", "helical", "prismatic"]
    rng = np.random.default_rng(5)
    joints = [
        rg.Joint.in_world(
            kind,
            names[i],
            names[i + 1],
            kind,
            rng.normal(size=3),
            rng.normal(size=3),
            axis2=rng.normal(size=3),
            pitch=0.2,
        )
        for i, kind in enumerate(kinds)
    ]
    gear = rg.Coupling("gear", "gear", (("revolute", 0, 2.0), ("helical", 0, -1.0)), 0.3)
    return rg.Mechanism.of_joints("zoo", joints, couplings=(gear,))


@pytest.fixture(params=[None, "spherical", "universal", "prismatic"])
def loops(request: pytest.FixtureRequest) -> LoopKinematics:
    graph = build(zoo())
    order = [e.index for e in graph.edges if e.joint.name != request.param]
    tree = spanning_tree(graph, order + [e.index for e in graph.edges])
    return LoopKinematics(
        graph, range(len(graph.edges)), tree, length=0.7, center=np.array([0.1, -0.2, 0.3])
    )


def configurations(loops: LoopKinematics, count: int = 4) -> np.ndarray:
    return 0.4 * np.random.default_rng(1).normal(size=(count, loops.freedoms))


def differences(loops: LoopKinematics, values, q: np.ndarray) -> np.ndarray:
    h = 1e-6
    slopes = []
    for direction in np.eye(loops.freedoms):
        plus, minus = (values(loops.integrate(q, s * h * direction[None])) for s in (1, -1))
        slopes.append((plus - minus) / (2 * h))
    return np.stack(slopes, axis=-1)


def test_the_residual_vanishes_where_the_mechanism_was_written_down(loops):
    residual = loops.residual(loops.state(np.zeros((1, loops.freedoms))))
    assert np.allclose(residual[0, :6], 0.0, atol=1e-14)
    assert residual[0, 6] == pytest.approx(-0.3 / np.sqrt(5))


@pytest.mark.slow
def test_residual_jacobian_is_exact_on_open_loops(loops):
    q = configurations(loops)
    expected = differences(loops, lambda q: loops.residual(loops.state(q)), q)
    assert np.allclose(loops.residual_jacobian(loops.state(q)), expected, atol=1e-7)


def test_bias_is_the_rate_of_the_jacobian(loops):
    q = configurations(loops)
    v = np.random.default_rng(2).normal(size=q.shape)
    h = 1e-6
    plus, minus = (loops.jacobian(loops.state(loops.integrate(q, s * h * v))) for s in (1, -1))
    expected = np.einsum("nij,nj->ni", (plus - minus) / (2 * h), v)
    assert np.allclose(loops.bias(loops.state(q), v), expected, atol=1e-7)


def test_the_choice_of_chord_does_not_change_the_velocities_allowed():
    graph = build(zoo())
    spaces = []
    for cut in ("revolute", "spherical", "helical"):
        order = [e.index for e in graph.edges if e.joint.name != cut]
        tree = spanning_tree(graph, order + [e.index for e in graph.edges])
        loops = LoopKinematics(graph, range(len(graph.edges)), tree)
        _, s, vt = np.linalg.svd(loops.jacobian(loops.state(np.zeros(loops.freedoms)))[0])
        allowed = vt[int(np.sum(s > 1e-9)) :]
        spaces.append(allowed.T @ allowed)
    assert np.allclose(spaces[0], spaces[1]) and np.allclose(spaces[0], spaces[2])


@pytest.mark.parametrize("index", range(8))
def test_the_nearest_joint_motion_gives_its_coordinates_back(index):
    edge = build(zoo()).edges[index]
    q = 0.5 * np.random.default_rng(index).normal(size=edge.freedoms)
    found = joint_position(edge, motion(edge, q))
    assert np.allclose(found, q, atol=1e-10)
    assert np.allclose(motion(edge, found), motion(edge, q), atol=1e-12)


def test_spherical_coordinates_integrate_as_pinocchio_integrates_quaternions():
    joints = [
        rg.Joint.in_world("ball", "ground", "a", "spherical"),
        rg.Joint.in_world("back", "ground", "a", "free"),
    ]
    graph = build(rg.Mechanism.of_joints("ball", joints))
    loops = LoopKinematics(graph, [0, 1], [0])
    q, v = configurations(loops, 2)
    ball = loops.local(0)
    model = pin.Model()
    model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    start = pin.Quaternion(pin.exp3(q[ball])).coeffs()
    end = pin.Quaternion(pin.integrate(model, start, v[ball])).toRotationMatrix()
    ours = loops.integrate(q[None], v[None])[0][ball]
    assert np.allclose(pin.exp3(ours), end)


def test_leaves_a_singular_start_with_an_error_across_the_plane_of_motion() -> None:
    """At a stretched start every small change is orthogonal to the error: step 3 of the thesis."""
    points: Points = {"A": (0, 0, 0), "B": (0, 0, 1), "C": (0, 0, 2), "D": (0, 0, 3)}
    y = (0, 1, 0)
    joints = [
        rg.Joint.in_world("A", "ground", "one", "revolute", y, points["A"]),
        rg.Joint.in_world("B", "one", "two", "revolute", y, points["B"]),
        rg.Joint.in_world("C", "two", "three", "revolute", y, points["C"]),
        rg.Joint.in_world("D", "three", "ground", "revolute", y, points["D"]),
    ]
    # The far end of the chain belongs 1 m lower: the straight chain cannot bend by Newton alone.
    shifted = np.eye(4)
    shifted[:3, 3] = (0, 0, 2)
    mechanism = rg.Mechanism.of_joints(
        "straight", [*joints[:3], replace(joints[3], T_child_joint=shifted)]
    )
    graph = build(mechanism)
    loops = LoopKinematics(graph, graph.cells[0], spanning_tree(graph))
    stuck = project(loops, np.zeros((1, 4))).q[0]
    assert np.max(np.abs(loops.residual(loops.state(stuck)))) > 0.5
    assembly = rg.assemble(mechanism)
    assert assembly.closed and assembly.starts > 1


def test_coordinates_can_be_stored() -> None:
    mechanism = four_bar()
    q = rg.assemble(mechanism, moved(mechanism)).q
    np.testing.assert_array_equal(build(with_coordinates(mechanism, q)).position, q)
