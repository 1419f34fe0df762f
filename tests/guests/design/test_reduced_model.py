"""Reduced models: H, D and p against finite differences of energies and against Pinocchio."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pinocchio as pin
import pytest
from parallel_robots import asset

import regularize as rg


def products(rates: np.ndarray) -> np.ndarray:
    """Products of two rates each, in the order of the columns of D, shape (..., pairs)."""
    first, second = np.triu_indices(rates.shape[-1])
    return np.asarray(rates[..., first] * rates[..., second])


ASSETS = Path(__file__).resolve().parents[3] / "assets"
X, Y, Z = np.eye(3)


def with_masses(mechanism: rg.Mechanism, seed: int) -> rg.Mechanism:
    """Random physical mass properties for every moving body."""
    rng, bodies = np.random.default_rng(seed), []
    for body in mechanism.bodies:
        if body.name != mechanism.ground:
            a = rng.normal(size=(3, 3))
            # Second moments of some masses: positive, and the triangle inequality holds.
            second = 0.003 * a @ a.T
            matrix = np.trace(second) * np.eye(3) - second
            mass, center = rng.uniform(0.5, 3.0), rng.normal(scale=0.1, size=3)
            body = rg.Body(body.name, rg.Inertia(mass, center, matrix))
        bodies.append(body)
    return replace(mechanism, bodies=tuple(bodies))


def planar(*points: tuple[float, float]) -> rg.Mechanism:
    """A loop of hinges A, B, C ... about Y through points of the plane of X and Z."""
    places = [(x, 0.0, z) for x, z in points]
    return mechanisms.single_loop("loop", "R" * len(points), [Y] * len(points), places)


def four_bar() -> rg.Mechanism:
    return planar((0, 0), (0, 0.3), (0.4, 0.35), (0.6, 0))


def five_bar() -> rg.Mechanism:
    return planar((-0.1, 0), (-0.25, 0.15), (0, 0.4), (0.25, 0.15), (0.1, 0))


def delta(rods: bool = False) -> rg.Mechanism:
    """A Delta whose forearms turn in universal joints, or are pairs of rods between balls."""
    joints = []
    bodies = [rg.Body("ground"), rg.Body("platform", rg.Inertia(1.0, -0.45 * Z, 0.01 * np.eye(3)))]
    for i in range(3):
        angle = 2 * np.pi * i / 3
        radial = np.array([np.cos(angle), np.sin(angle), 0.0])
        tangent = np.cross(Z, radial)
        hip, ankle = 0.2 * radial, 0.05 * radial - 0.45 * Z
        knee = hip + 0.25 * (np.cos(0.5) * radial - np.sin(0.5) * Z)
        arm, along = f"arm{i}", (ankle - knee) / np.linalg.norm(ankle - knee)
        hinge = rg.Joint.in_world(f"hip{i}", "ground", arm, "revolute", tangent, hip, actuated=True)
        joints.append(hinge)
        bodies.append(rg.Body(arm, rg.Inertia(0.5, 0.5 * (hip + knee), 0.003 * np.eye(3))))
        # A slender rod: hardly any inertia about its own line.
        matrix = 1e-3 * (np.eye(3) - np.outer(along, along)) + 1e-8 * np.outer(along, along)
        for k, offset in enumerate((-0.05 * tangent, 0.05 * tangent) if rods else (0.0 * Z,)):
            rod, far = (f"rod{i}{k}" if rods else f"rod{i}"), 0.5 * (knee + ankle) + offset
            ends = [(f"knee{i}", arm, rod, knee), (f"ankle{i}", rod, "platform", ankle)]
            axes = [tangent, np.cross(ankle - knee, tangent)]
            for (name, one, two, at), (axis, axis2) in zip(ends, (axes, axes[::-1]), strict=True):
                if rods:
                    more, kind = {"closure": "ankle" in name}, "spherical"
                else:
                    more, kind = {"axis": axis, "axis2": axis2}, "universal"
                name = f"{name}{k}" if rods else name
                joints.append(rg.Joint.in_world(name, one, two, kind, point=at + offset, **more))
            bodies.append(rg.Body(rod, rg.Inertia(0.1, far, matrix)))
    return rg.Mechanism("Delta", tuple(bodies), tuple(joints))


def geared_five_bar() -> rg.Mechanism:
    """A five-bar with one freedom left: the right crank turns twice as fast as the left one."""
    gear = rg.Coupling("gear", "gear", (("E", 0, 1.0), ("A", 0, 2.0)))
    return replace(five_bar(), couplings=(gear,))


ZOO = {
    "four-bar": (four_bar, ["A"]),
    "five-bar": (five_bar, ["A", "E"]),
    "geared five-bar": (geared_five_bar, ["A"]),
    "3-PRRR": (mechanisms.three_prrr, ["a1", "b1", "c1"]),
    "Agile Eye": (mechanisms.spherical_9r, ["a1", "b1", "c1"]),
    "Delta": (delta, ["hip0", "hip1", "hip2"]),
    # Three rows depend on the others by special dimensions or parallelograms, and stay.
    "Bennett": (asset("bennett"), ["A"]),
    "Orthoglide": (asset("metamodel/orthoglide_long_rods"), ["M1", "M2", "M3"]),
}
NAMES = list(ZOO)


@lru_cache
def reduced(name: str) -> tuple[Any, rg.Reduction]:
    build, inputs = ZOO[name]
    reduction = rg.reduce(with_masses(build(), 7))
    return rg.reduced_model(reduction, inputs), reduction


def states(
    model: Any, count: int, spread: float = 0.1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    s = len(model.inputs)
    theta = model.theta + rng.uniform(-spread, spread, size=(count, s))
    return theta, rng.normal(size=(count, s)), rng.normal(size=(count, s))


def _columns(reduction: rg.Reduction, joint: str) -> list[int]:
    return [c for e in reduction.graph.edges if e.joint.name == joint for c in e.columns]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_equal_pinocchio_matrices_projected(name: str) -> None:
    """H, D and p from Pinocchio's crba and rnea of the open tree, by eqs. 16, 18 and 19."""
    model, reduction = reduced(name)
    robot = rg.to_pinocchio(reduction)
    theta, rate, _ = states(model, 10)
    q, V, B = model.configuration(theta), model.q_theta(theta), model.B(theta)
    H, D, p = model.H(theta), model.D(theta), model.p(theta)
    data = robot.model.createData()
    order = [0] * robot.model.nv
    for edge in reduction.graph.edges:
        for c in edge.columns if edge.index in reduction.tree else ():
            first = min(_columns(reduction, edge.joint.name))
            order[robot.velocity_index(edge.joint.name, c - first)] = c
    for i in range(len(theta)):
        q_pin = robot.configuration(q[i])
        M = np.array(pin.crba(robot.model, data, q_pin))
        M = np.triu(M) + np.triu(M, 1).T
        v, drift = V[i][order] @ rate[i], B[i][order] @ products(rate[i])
        gravity = pin.computeGeneralizedGravity(robot.model, data, q_pin)
        h = pin.rnea(robot.model, data, q_pin, v, drift) - gravity
        np.testing.assert_allclose(H[i], V[i][order].T @ M @ V[i][order], atol=1e-9)
        np.testing.assert_allclose(D[i] @ products(rate[i]), V[i][order].T @ h, atol=1e-8)
        np.testing.assert_allclose(p[i], -V[i][order].T @ gravity, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_equal_finite_differences_of_energies(name: str) -> None:
    """Lagrange's equations: D from the gradient of H, p from that of the potential energy."""
    model, reduction = reduced(name)
    robot = rg.to_pinocchio(reduction)
    data = robot.model.createData()
    theta, rate, _ = states(model, 4)
    h = 1e-3
    s = len(model.inputs)
    # Central differences of sixth order: truncation and rounding both stay below 1e-8.
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}

    def potential(point: np.ndarray) -> np.ndarray:
        q = [robot.configuration(q) for q in model.configuration(point)]
        return np.array([pin.computePotentialEnergy(robot.model, data, each) for each in q])

    def gradient(function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        parts = [
            [
                w / h * (function(theta + m * step) - function(theta - m * step))
                for m, w in weights.items()
            ]
            for step in h * np.eye(s)
        ]
        return np.stack([sum(part) for part in parts], axis=-1)

    dH = gradient(model.H)
    expected = np.einsum("nijk,nj,nk->ni", dH, rate, rate)
    expected -= 0.5 * np.einsum("njki,nj,nk->ni", dH, rate, rate)
    actual = np.einsum("nip,np->ni", model.D(theta), products(rate))
    scale = max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(actual, expected, atol=1e-8 * scale)
    np.testing.assert_allclose(model.p(theta), -gradient(potential), atol=1e-8 * 50)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_inverse_and_forward_dynamics_undo_each_other(name: str) -> None:
    model, _ = reduced(name)
    theta, rate, acceleration = states(model, 50)
    effort = model.inverse_dynamics(theta, rate, acceleration)
    np.testing.assert_allclose(
        model.forward_dynamics(theta, rate, effort), acceleration, atol=1e-10
    )
    one = model.inverse_dynamics(theta[0], rate[0], acceleration[0])
    np.testing.assert_allclose(one, effort[0], rtol=1e-12)
    grid = model.H(theta[:6].reshape(2, 3, -1))
    np.testing.assert_allclose(grid.reshape(6, *grid.shape[2:]), model.H(theta[:6]), rtol=1e-12)
    q, loops = model.configuration(theta), model.equations.loops
    assert np.max(np.abs(loops.residual(loops.state(q)))) < 1e-11
    np.testing.assert_array_equal(q[:, model.equations.inputs], theta)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "five-bar", "geared five-bar"])
def test_closed_form_and_paths_agree(name: str) -> None:
    model, reduction = reduced(name)
    equations = model.equations
    assert equations.closed is not None
    theta, _, _ = states(model, 200, spread=0.5)
    other = rg.reduced_model(reduction, model.inputs, closed=False).equations
    assert other.closed is None and pickle.loads(pickle.dumps(equations)).closed is None
    by_form, by_path = equations.solve(theta), other.solve(theta)
    np.testing.assert_array_equal(by_form.reached, by_path.reached)
    reached = by_form.reached
    poses = [equations.loops.state(f.q[reached]).T_world_node for f in (by_form, by_path)]
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-10)


@pytest.mark.slow
def test_closed_form_stops_where_the_path_stops() -> None:
    """Beyond a gap the branch is assembled again, but only after being taken apart."""
    model, _ = reduced("four-bar")
    assert model.equations.closed is not None
    theta = np.array([[np.pi], [1.5 * np.pi], [2 * np.pi + 0.1]])
    assert model.solve(theta).reached.tolist() == [True, False, False]


@pytest.mark.slow
def test_redundant_constraints_do_not_disturb() -> None:
    """Three equal cranks: one more row is dependent by special lengths, and goes numerically."""
    joints = []
    for i, x in enumerate((0.0, 0.3, 0.7)):
        joints.append(rg.Joint.in_world(f"A{i}", "ground", f"crank{i}", "revolute", Y, [x, 0, 0]))
        joints.append(
            rg.Joint.in_world(f"B{i}", f"crank{i}", "coupler", "revolute", Y, [x + 0.1, 0, 0.3])
        )
    mechanism = rg.Mechanism.of_joints("parallelogram", joints)
    bodies = [rg.Body("ground"), *(rg.Body(f"crank{i}") for i in range(3))]
    bodies.append(rg.Body("coupler", rg.Inertia(2.0, np.array([0.4, 0, 0.3]), 0.01 * np.eye(3))))
    model = rg.reduced_model(replace(mechanism, bodies=tuple(bodies)), ["A1"])
    theta = np.linspace(-0.3, 0.3, 7)[:, None]
    # The coupler translates on a circle of the cranks' length; the cranks have no mass.
    np.testing.assert_allclose(model.H(theta)[:, 0, 0], 2.0 * (0.1**2 + 0.3**2), rtol=1e-12)
    np.testing.assert_allclose(model.D(theta), 0.0, atol=1e-12)
    angle = np.arctan2(0.3, 0.1) - theta[:, 0]
    slope = 2.0 * 9.81 * np.hypot(0.1, 0.3) * np.cos(angle)
    np.testing.assert_allclose(model.p(theta)[:, 0], slope, rtol=1e-10)
    assert [d.code for d in model.findings] == ["REG303"] * 3


@pytest.mark.slow
def test_idle_rods_are_held_and_named() -> None:
    reduction = rg.reduce(delta(rods=True), keep_cuts=True)
    assert reduction.mobility == 9
    model = rg.reduced_model(reduction, ["hip0", "hip1", "hip2"])
    assert [d.code for d in model.findings] == ["REG311"] * 6
    assert {d.joints for d in model.findings} == {
        (f"knee{i}{k}", f"ankle{i}{k}") for i in range(3) for k in range(2)
    }
    robot = rg.to_pinocchio(reduction)
    rng = np.random.default_rng(0)
    inputs = [robot.velocity_index(name) for name in model.inputs]
    for effort in rng.normal(size=(5, 3)):
        tau = np.zeros(robot.model.nv)
        tau[inputs] = effort
        a = robot.forward_dynamics(robot.q0, np.zeros(robot.model.nv), tau)
        ours = model.forward_dynamics(model.theta, np.zeros(3), effort)
        np.testing.assert_allclose(ours, a[inputs], rtol=1e-5, atol=1e-5)
    theta, rate, acceleration = states(model, 20)
    twin, _ = reduced("Delta")
    # The same closure as with universal joints, so the same platform for the same arms.
    pose = [
        m.equations.loops.state(m.configuration(theta)).T_world_node[
            :, m.equations.loops.row(m.equations.loops.graph.node_of["platform"]), :3, 3
        ]
        for m in (model, twin)
    ]
    np.testing.assert_allclose(pose[0], pose[1], atol=1e-10)
    assert np.isfinite(model.inverse_dynamics(theta, rate, acceleration)).all()


def test_open_chain_equals_rnea() -> None:
    joints = [
        rg.Joint.in_world("a", "ground", "one", "revolute", Z, [0, 0, 0]),
        rg.Joint.in_world("b", "one", "two", "prismatic", X, [0, 0, 0.2]),
        rg.Joint.in_world("c", "two", "three", "cylindrical", Y, [0.1, 0, 0.2]),
    ]
    reduction = rg.reduce(with_masses(rg.Mechanism.of_joints("arm", joints), 1))
    model = rg.reduced_model(reduction, ["a", "b", "c[0]", "c[1]"])
    robot = rg.to_pinocchio(reduction)
    theta, rate, acceleration = states(model, 10, spread=1.0)
    effort = model.inverse_dynamics(theta, rate, acceleration)
    for i in range(10):
        q = robot.configuration(theta[i])
        expected = pin.rnea(robot.model, robot.model.createData(), q, rate[i], acceleration[i])
        np.testing.assert_allclose(effort[i], expected, atol=1e-10)


@pytest.mark.slow
def test_four_bar_bounds_its_workspace() -> None:
    model, _ = reduced("four-bar")
    found = model.solve(np.array([[4.5], [-3.0], [0.1]]))
    assert found.reached.tolist() == [False, False, True]
    a, g, reach = 0.3, 0.6, np.hypot(0.4, 0.05) + np.hypot(0.2, 0.35)
    end = np.arccos((a * a + g * g - reach * reach) / (2 * a * g))
    # The crank points upwards at the reference, and turns about y from z to x.
    expected = [np.pi / 2 + end, np.pi / 2 - end]
    np.testing.assert_allclose(found.stopped[:2, 0], expected, atol=1e-6)
    with pytest.raises(
        rg.SingularConfiguration, match=r"A = 4.5 is out of reach.*A = 3.7.*can move"
    ):
        model.H([4.5])


@pytest.mark.slow
def test_paths_end_where_branches_cross() -> None:
    """A way through a crossing of branches would go on along one of them without a word."""
    build, inputs = ZOO["Agile Eye"]
    model = rg.reduced_model(rg.reduce(build()), inputs, closed=False)
    found = model.solve([[-0.79089648, 0.96296556, -0.74439094]])
    assert not found.reached[0]
    np.testing.assert_allclose(found.stopped[0], [-0.74566705, 0.90789592, -0.70182104], atol=1e-6)
    assert model.equations.clearance(found.q)[0] < 1e-6


@pytest.mark.slow
def test_limits_of_the_workspace() -> None:
    model, _ = reduced("four-bar")
    low, high = model.limits([[-3.0, 4.5]])
    assert low.theta[0] == pytest.approx(model.solve([[-3.0]]).stopped[0, 0], abs=1e-6)
    assert high.theta[0] == pytest.approx(model.solve([[4.5]]).stopped[0, 0], abs=1e-6)
    assert {"B", "C"} <= set(low.joints) and "A" not in low.joints
    assert model.limits([[-0.2, 0.2]]) == ()
    robot, _ = reduced("3-PRRR")
    limits = robot.limits([[-0.6, 0.6]] * 3, rays=12)
    assert limits
    theta = np.array([limit.theta for limit in limits])
    assert np.all(robot.solve(0.99 * theta).reached)
    assert not np.any(robot.solve(1.01 * theta).reached)


@pytest.mark.slow
def test_clearance_falls_towards_a_singularity() -> None:
    model, _ = reduced("four-bar")
    end = float(model.solve(np.array([[-3.0]])).stopped[0, 0])
    theta = np.array([[0.0], [0.9 * end], [0.999 * end], [0.99999 * end]])
    clearance = model.clearance(theta)
    assert np.all(np.diff(clearance) < 0) and clearance[-1] < 0.05 * clearance[0]
    rows = model.sample(theta, clearance=float(clearance[2]) * 1.01)
    assert np.isnan(rows).all(axis=1).tolist() == [False, False, True, True]


def test_singular_reference_is_refused_by_name() -> None:
    """A flat parallelogram: with one crank locked the other can still begin to move."""
    flat = planar((0, 0), (0.3, 0), (1.0, 0), (0.7, 0))
    with pytest.raises(rg.SingularConfiguration, match=r"singular, where .*B.* can move"):
        rg.reduced_model(flat, ["A"])


@pytest.mark.slow
def test_start_chooses_the_branch() -> None:
    mechanism = with_masses(four_bar(), 2)
    up = rg.reduced_model(mechanism, ["A"])
    down = rg.reduced_model(mechanism, ["A"], start={"B": 2.0, "C": -2.5})
    assert not np.allclose(up.configuration([0.2]), down.configuration([0.2]), atol=0.1)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["A"], "2 freedoms, and 1 inputs"),
        (["A", "A"], "named twice"),
        (["A", "nonsense"], "no joint 'nonsense'"),
    ],
)
def test_wrong_inputs(inputs: list[str], message: str) -> None:
    with pytest.raises(rg.ModelError, match=message):
        rg.reduced_model(with_masses(five_bar(), 0), inputs)


def test_spherical_input_is_refused() -> None:
    joint = rg.Joint.in_world("ball", "ground", "body", "spherical")
    mechanism = rg.Mechanism.of_joints("pendulum", [joint])
    with pytest.raises(rg.ModelError, match=r"'ball' has 3 freedoms; name one of them: ball\[0\]"):
        rg.reduced_model(mechanism, ["ball", "ball", "ball"])
    with pytest.raises(rg.ModelError, match="'ball' is spherical"):
        rg.reduced_model(mechanism, ["ball[0]", "ball[1]", "ball[2]"])


@pytest.mark.slow
def test_what_a_reduced_model_cannot_take() -> None:
    """Wrenches of three numbers, a mechanism that cannot be closed, and dry friction, said so."""
    mechanism = with_masses(four_bar(), 2)
    with pytest.raises(
        rg.ModelError, match=r"wrench on body 'ground' has shape \(3,\), not \(6,\)"
    ):
        rg.reduced_model(mechanism, ["A"], wrenches={"ground": [1.0, 2.0, 3.0]})
    first, *others = mechanism.joints
    rough = replace(first, dynamics=replace(first.dynamics, friction=np.array([0.1])))
    model = rg.reduced_model(replace(mechanism, joints=(rough, *others)), ["A"])
    (finding,) = [found for found in model.findings if found.code == "REG325"]
    assert finding.joints == (first.name,)
    T = others[-1].T_parent_joint.copy()
    T[:3, 3] += 9.0
    far = replace(mechanism, joints=(first, *others[:-1], replace(others[-1], T_parent_joint=T)))
    with pytest.raises(
        rg.NotClosed, match=f"loop through joint '{others[-1].name}' cannot be closed"
    ):
        rg.reduced_model(far, ["A"], start={"A": 0.0})


def test_wrong_shape_of_inputs() -> None:
    model, _ = reduced("five-bar")
    with pytest.raises(rg.ModelError, match="last axis of length 2"):
        model.H([0.0, 0.0, 0.0])
    with pytest.raises(rg.NotFinite, match="finite"):
        model.H([0.0, np.nan])


@pytest.mark.slow
@pytest.mark.parametrize("axes", ["ground", "body"])
def test_loads_do_the_work_of_their_points(axes: str) -> None:
    point, force = np.array([[0.1, 0.02, -0.03], [3.0, -2.0, 5.0]])
    moment = [0.3, 0.7, -0.2]
    load = rg.BodyLoad(force=force, moment=moment, point=point, axes=axes)
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    plain = rg.reduced_model(mechanism, ["A"])
    loaded = rg.reduced_model(mechanism, ["A"], loads={"coupler": load})

    def pose(theta: float) -> np.ndarray:
        loops = plain.equations.loops
        row = loops.row(loops.graph.node_of["coupler"])
        return loops.state(plain.configuration([theta])[None]).T_world_node[0, row]

    theta, step = float(plain.theta[0]) + 0.1, 1e-6
    before, here, after = (pose(theta + k * step) for k in (-1, 0, 1))
    velocity = (after - before) @ [*point, 1.0] / (2 * step)
    spin = (after - before)[:3, :3] @ here[:3, :3].T / (2 * step)
    turning = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    R = here[:3, :3] if axes == "body" else np.eye(3)
    wanted = velocity[:3] @ R @ force + turning @ R @ moment
    found = loaded.p([theta]) - plain.p([theta])
    np.testing.assert_allclose(found, [wanted], atol=1e-7)
    wrench = rg.reduced_model(mechanism, ["A"], wrenches={"coupler": [*force, *moment]})
    same = rg.reduced_model(mechanism, ["A"], loads={"coupler": [*force, *moment]})
    np.testing.assert_allclose(wrench.p([theta]), same.p([theta]), rtol=1e-14)


@pytest.mark.slow
def test_more_and_fewer_motors_than_freedoms() -> None:
    """Efforts are those of the full robot, and their power is that of the efforts at the inputs."""
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    theta, rate, acceleration = [0.3], [1.1], [-2.0]
    alone = rg.reduced_model(mechanism, ["A"])
    assert alone.A(theta).tolist() == [[1.0]]
    tau = alone.inverse_dynamics(theta, rate, acceleration)
    both = rg.reduced_model(mechanism, ["A"], motors=["A", "D"])
    efforts, left = both.motor_efforts(theta, rate, acceleration)
    speeds = both.q_theta(theta)[[0, 3], 0]
    assert efforts @ speeds == pytest.approx(tau[0], rel=1e-12) and np.abs(left).max() < 1e-12
    assert efforts == pytest.approx(speeds * tau / (speeds @ speeds))  # the smallest
    weighted, _ = both.motor_efforts(theta, rate, acceleration, [1.0, 1e9])
    assert weighted == pytest.approx([tau[0], 0.0], abs=1e-6 * abs(tau[0]))
    fitted = rg.metamodel(both, [[0.0, 0.5]], tolerance=1e-3)
    assert set(fitted.accuracy.maximal) == {"H", "D", "p", "C", "A"}
    assert fitted.motor_efforts(theta, rate, acceleration)[0] == pytest.approx(efforts, rel=5e-3)
    assert "effort" in fitted.to_c()
    with pytest.raises(rg.ModelError, match="one for each motor"):
        both.motor_efforts(theta, rate, acceleration, [1.0])
    # Two freedoms and a motor: what it cannot do is left, and nothing along what it moves.
    bars = rg.reduced_model(with_masses(five_bar(), 1), motors=["A"], inputs=["A", "E"])
    state = ([0.0, 0.0], [1.0, 0.5], [2.0, 3.0])
    efforts, left = bars.motor_efforts(*state)
    assert efforts == pytest.approx(bars.inverse_dynamics(*state)[:1])
    assert left == pytest.approx([0.0, bars.inverse_dynamics(*state)[1]], abs=1e-12)


@pytest.mark.slow
def test_forces_along_coordinates_by_functions_of_them() -> None:
    """A function that is a spring is the spring; one on a closing joint counts too."""
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    springs = type(mechanism.joints[0].dynamics)(stiffness=[7.0], rest_position=[0.2])
    joints = [replace(j, dynamics=springs) if j.name == "C" else j for j in mechanism.joints]
    expected = rg.reduced_model(replace(mechanism, joints=tuple(joints)), ["A"])
    bare = replace(springs, stiffness=[0.0])
    joints = [replace(j, dynamics=bare) if j.name == "C" else j for j in mechanism.joints]
    model = rg.reduced_model(
        replace(mechanism, joints=tuple(joints)), ["A"], forces={"C": lambda q: -7.0 * (q - 0.2)}
    )
    theta = np.linspace(-0.3, 0.3, 5)[:, None]
    np.testing.assert_allclose(model.p(theta), expected.p(theta), rtol=1e-12)
    wrong = rg.reduced_model(mechanism, ["A"], forces={"C": lambda q: np.zeros((len(q), 2))})
    with pytest.raises(rg.ModelError, match="function of its values"):
        wrong.p([0.1])
