"""Orders of elimination against dense algebra: mixed rows, planes, loops that share a crank.

Rows of every closing joint are mixed anyhow, and results are those of the given rows. Loops that
share a crank are eliminated one by one, also where a leg alone would be singular.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import screws
from dynamics_table import weighed
from mechanisms import n_fourbar
from pinocchio_cases import mass_matrix
from pinocchio_rows import rows_of_pinocchio
from test_kernel import (
    assert_accelerates_as_pinocchio,
    assert_equal_to_dense,
    closed_chains,
    of_dense_algebra,
    tree_alone,
)

import regularize as rg
from regularize.dynamics.pinocchio.multibody_reading import multibody_tree_of
from regularize.dynamics.pinocchio.tree_states import Split
from regularize.dynamics.step.compiled import Kernel, compiled
from regularize.dynamics.step.elimination import plane_sections, tables_of
from regularize.dynamics.step.multibody import MultibodyTree

ASSETS = Path(__file__).resolve().parents[3] / "assets"
pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")

KINDS = ["revolute", "prismatic", "helical", "cylindrical", "spherical", "planar", "fixed"]


def mixed(robot: rg.Robot, seed: int) -> MultibodyTree:
    """The robot for the kernel with other rows that say the same."""
    found = multibody_tree_of(robot.tree, robot.constraints, robot.rank, robot.massive)
    rng, loops = np.random.default_rng(seed), []
    for loop in found[0].loops:
        m = len(loop.covectors)
        turn, _ = np.linalg.qr(rng.normal(size=(m, m)))
        mixing = turn * rng.uniform(0.5, 2.0, m)
        loops.append(replace(loop, covectors=mixing @ loop.covectors))
    return replace(found[0], loops=loops)


def assert_those_of_its_rows(
    machine: MultibodyTree, robot: rg.Robot, q0: np.ndarray, change: float
) -> None:
    """Accelerations and multipliers against dense algebra with the rows that the kernel states."""
    tables = tables_of(machine)
    assert tables is not None
    kernel, model, data = compiled(tables), robot.model, robot.model.createData()
    rng = np.random.default_rng(2)
    for _ in range(2):
        v, tau = rng.normal(size=(2, model.nv))
        q = pin.integrate(model, q0, change * rng.normal(size=model.nv))
        J, bias = kernel.jacobian(q), kernel.bias(q, v)
        M, n = mass_matrix(model, data, q), pin.nonLinearEffects(model, data, q, v)
        parts = Split.of(J, machine.rank)
        a, multipliers = kernel.constrained_dynamics(q, v, tau)
        expected = parts.response(M, tau - n, -bias)
        forces = parts.solve_transposed(M @ expected + n - tau)
        assert a == pytest.approx(expected, rel=1e-9, abs=1e-10 * np.max(np.abs(expected)))
        assert multipliers == pytest.approx(forces, rel=1e-8, abs=1e-9 * np.max(np.abs(forces)))
        a, rates = kernel.decaying_dynamics(q, v, tau, np.array([3.0, 9.0])), J @ v
        expected = parts.response(M, tau - n, -bias - 3.0 * rates - 9.0 * kernel.residual(q))
        assert a == pytest.approx(expected, rel=1e-9, abs=1e-10 * np.max(np.abs(expected)))
        # What was wanted before is forgotten.
        np.testing.assert_array_equal(kernel.constrained_dynamics(q, v, tau)[1], multipliers)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 1e-3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_closing_joint_in_open_loops(kind: str, size: float) -> None:
    for robot in closed_chains(kind, size, "RPRR"):
        assert_those_of_its_rows(mixed(robot, 3), robot, np.zeros(8), 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "delta_universal",
        "gripper",  # in a plane
        "spherical_fourbar",
        "stewart_6ups",
        "quadrupteron",
        "walker",  # its rows come early
    ],
)
def test_reduced_rows(name: str) -> None:
    robot = rg.to_pinocchio(rg.reduce(weighed(rg.load(ASSETS / f"{name}.urdf"))))
    assert_those_of_its_rows(mixed(robot, 7), robot, robot.q0, 1e-2)


def planar_tree(tilted: float = 0.0) -> pin.Model:
    """A tree of all joints that move in a plane, which lies anyhow in space."""
    joints = [
        pin.JointModelPlanar(),
        pin.JointModelRZ(),
        pin.JointModelRUBZ(),
        pin.JointModelRevoluteUnaligned(np.array([0.0, 0.0, -1.0])),
        pin.JointModelPX(),
        pin.JointModelPrismaticUnaligned(np.array([0.6, -0.8, 0.0])),
        pin.JointModelRZ(),
        pin.JointModelRUBX(),  # its axis points to the other side
    ]
    pin.seed(3)
    model, rng = pin.Model(), np.random.default_rng(7)
    for k, joint in enumerate(joints):
        turn = pin.exp3(np.array([tilted * (k == 4), 0.0, rng.uniform(-3.0, 3.0)]))
        turn = turn @ pin.exp3(np.array([0.0, 0.5 * np.pi * (k == 7), 0.0]))
        place = pin.SE3.Random() if k == 0 else pin.SE3(turn, rng.normal(size=3))
        j = model.addJoint(max(min(k, 1), k - k % 2), joint, place, f"joint {k}")
        model.appendBodyToJoint(j, pin.Inertia.Random(), pin.SE3.Random())
    return model


@pytest.mark.parametrize("tilted", [0.0, 1e-6])
def test_a_tree_of_planar_joints_accelerates_as_that_of_pinocchio(tilted: float) -> None:
    """A tilted joint leaves the plane, and the step is the general one."""
    model = planar_tree(tilted)
    assert (plane_sections(tree_alone(model)[0]) is None) == (tilted > 0.0)
    assert_accelerates_as_pinocchio(model)


def test_slides_alone_turn_nothing_and_have_no_plane() -> None:
    model = pin.Model()
    model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "slide")
    model.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
    assert plane_sections(tree_alone(model)[0]) is None


def tilted_press(R: np.ndarray) -> rg.Mechanism:
    """A crank and a rod that move a ram, which carries a four-bar: axes point to either side."""

    def at(*place: float) -> np.ndarray:
        return R @ np.array(place)

    z, inertia = at(0, 0, 1), rg.Inertia(2.0, at(0.2, 0.1, 0.4), np.diag([0.3, 0.2, 0.4]))
    joints = [
        rg.Joint.in_world("A", "ground", "crank", "revolute", z, at(0, 0, 0.1)),
        rg.Joint.in_world("B", "crank", "rod", "revolute", -z, at(0.3, 0.4, 0)),
        rg.Joint.in_world("C", "rod", "ram", "revolute", z, at(1.5, 0.1, -0.2)),
        rg.Joint.in_world("D", "ground", "ram", "prismatic", at(0.8, 0.6, 0), at(1.5, 0.1, 0)),
        rg.Joint.in_world("E", "ram", "left", "revolute", -z, at(1.5, 0.3, 0)),
        rg.Joint.in_world("F", "left", "bar", "revolute", z, at(1.6, 1.0, 0)),
        rg.Joint.in_world("G", "bar", "right", "revolute", -z, at(2.2, 1.1, 0)),
        rg.Joint.in_world("H", "ram", "right", "revolute", z, at(2.1, 0.2, 0)),
    ]
    names = ["crank", "rod", "ram", "left", "bar", "right"]
    bodies = [rg.Body("ground"), *(rg.Body(name, inertia=inertia) for name in names)]
    return rg.Mechanism("press", tuple(bodies), tuple(joints), ground="ground")


@pytest.mark.slow
@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (0.3, -1.1, 0.7)])
def test_loops_in_a_plane_are_those_of_dense_algebra(axis: tuple[float, ...]) -> None:
    R = screws.exp(np.array([0.0, 0.0, 0.0, *axis]))[:3, :3]
    robot = rg.to_pinocchio(rg.reduce(tilted_press(R)))
    found = multibody_tree_of(robot.tree, robot.constraints, robot.rank, robot.massive)
    assert plane_sections(found[0]) is not None
    assert_equal_to_dense(robot, 3)


def star(legs: int, base: str, straight: bool) -> rg.Mechanism:
    """Legs of two bars between a crank and its base; the first one may be straight."""
    z, joints = (0, 0, 1), []
    if base != "ground":
        joints.append(rg.Joint.in_world("turret", "ground", base, "revolute", (1, 0, 0)))
    joints.append(rg.Joint.in_world("crank", base, "crank", "revolute", z))
    for k in range(legs):
        turn = 2.0 * np.pi * k / legs
        begin = np.array([0.5 + 0.1 * np.cos(turn), 0.2 + 0.1 * np.sin(turn), 0.0])
        end = begin + np.array([1.0 + 0.1 * k, 0.5 - 0.2 * k, 0.0])
        knee = begin + 0.6 * (end - begin)
        if k > 0 or not straight:
            knee = knee + np.array([0.1, 0.3, 0.0])
        joints += [
            rg.Joint.in_world(f"hip {k}", "crank", f"thigh {k}", "revolute", z, begin),
            rg.Joint.in_world(f"knee {k}", f"thigh {k}", f"shank {k}", "revolute", z, knee),
            rg.Joint.in_world(f"foot {k}", f"shank {k}", base, "revolute", z, end),
        ]
    return rg.Mechanism.of_joints("star", joints)


@pytest.mark.slow
@pytest.mark.parametrize("base", ["ground", "turret"])
@pytest.mark.parametrize("straight", [False, True])
def test_legs_on_a_crank_are_those_of_dense_algebra(base: str, straight: bool) -> None:
    """A straight leg holds no crank: its rows have no pivot of their own, but others with it."""
    robot = rg.to_pinocchio(rg.reduce(weighed(star(8, base, straight))))
    tau = np.linspace(-1.0, 2.0, robot.model.nv)
    for change in (0.0, 1e-9, 1e-6, 1e-4, 0.02):
        free = robot.split(robot.q0).free
        q = robot.project(robot.q0 + change * free.sum(axis=1))
        free = robot.split(q).free
        v = free.sum(axis=1)
        a, multipliers = robot.kernel.constrained_dynamics(q, v, tau)
        expected, forces = of_dense_algebra(robot, q, v, tau)
        assert np.max(np.abs(a - expected)) < 1e-10 * np.max(np.abs(expected))
        assert np.max(np.abs(multipliers - forces)) < 1e-10 * np.max(np.abs(forces))
        np.testing.assert_array_equal(robot.kernel.forward_dynamics(q, v, tau), a)


def test_an_order_that_leaves_a_row_without_a_pivot_is_none() -> None:
    """A loop that holds a driven crank would leave the row of the drive nothing."""
    robot = rg.to_pinocchio(rg.reduce(weighed(n_fourbar(10))))
    q, v = robot.q0, robot.admissible_velocity(robot.q0, {robot.model.names[1]: 0.7})
    decay = np.array([-0.4 / 0.7, 0.0])  # the rate of the drive's row is 0.7
    a = robot.driven_kernel((0,)).decaying_dynamics(q, v, np.zeros(len(v)), decay)
    assert a[0] == pytest.approx(0.4, abs=1e-10)
    rows, bias = rows_of_pinocchio(robot, q, v)
    assert rows @ a + bias == pytest.approx(0.0, abs=1e-10)
