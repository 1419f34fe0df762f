"""Steps of machines that move in a plane, against Pinocchio and dense algebra."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from dynamics_table import states

import regularize as rg
from regularize.kernel.compiled import Kernel, compiled
from regularize.kernel.elimination import tables_of
from regularize.kernel.machine import Machine
from regularize.kernel.plane import plane_sections
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.body import Body, Inertia
from regularize.model.mechanism import Mechanism, joint_in_world
from regularize.pinocchio_model.machine_reading import machine_of, tree_of
from regularize.pinocchio_model.rows import ConstraintRows
from regularize.pinocchio_model.split import Split, mass_matrix

pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")


def without_loops(model: pin.Model) -> Machine:
    """The machine of a tree."""
    rows = ConstraintRows(tree_of(model), [], np.zeros((0, model.nv)), np.zeros(0))
    found = machine_of(rows.tree, rows, 0, True)
    assert found is not None
    return found[0]


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
    model.armature = np.linspace(0.0, 0.3, model.nv)
    return model


@pytest.mark.parametrize("tilted", [0.0, 1e-6])
def test_a_tree_of_planar_joints_accelerates_as_that_of_pinocchio(tilted: float) -> None:
    """A tilted joint leaves the plane, and the step is the general one."""
    model = planar_tree(tilted)
    machine, data = without_loops(model), model.createData()
    assert (plane_sections(machine) is None) == (tilted > 0.0)
    kernel, rng = compiled(tables_of(machine)), np.random.default_rng(3)
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), 3.0 * rng.normal(size=model.nv))
        v, tau = rng.normal(size=(2, model.nv))
        expected = pin.aba(model, data, q, v, tau)
        assert kernel.forward_dynamics(q, v, tau) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_slides_alone_turn_nothing_and_have_no_plane() -> None:
    model = pin.Model()
    model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "slide")
    model.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
    assert plane_sections(without_loops(model)) is None


def tilted_press(R: Array) -> Mechanism:
    """A crank and a rod that move a ram, which carries a four-bar: axes point to either side."""

    def at(*place: float) -> Array:
        return R @ np.array(place)

    z, inertia = at(0, 0, 1), Inertia(2.0, at(0.2, 0.1, 0.4), np.diag([0.3, 0.2, 0.4]))
    joints = [
        joint_in_world("A", "ground", "crank", "revolute", z, at(0, 0, 0.1)),
        joint_in_world("B", "crank", "rod", "revolute", -z, at(0.3, 0.4, 0)),
        joint_in_world("C", "rod", "ram", "revolute", z, at(1.5, 0.1, -0.2)),
        joint_in_world("D", "ground", "ram", "prismatic", at(0.8, 0.6, 0), at(1.5, 0.1, 0)),
        joint_in_world("E", "ram", "left", "revolute", -z, at(1.5, 0.3, 0)),
        joint_in_world("F", "left", "bar", "revolute", z, at(1.6, 1.0, 0)),
        joint_in_world("G", "bar", "right", "revolute", -z, at(2.2, 1.1, 0)),
        joint_in_world("H", "ram", "right", "revolute", z, at(2.1, 0.2, 0)),
    ]
    names = ["crank", "rod", "ram", "left", "bar", "right"]
    bodies = [Body("ground"), *(Body(name, inertia=inertia) for name in names)]
    return Mechanism("press", tuple(bodies), tuple(joints), ground="ground")


@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (0.3, -1.1, 0.7)])
def test_loops_in_a_plane_are_those_of_dense_algebra(axis: tuple[float, ...]) -> None:
    R = screw.exp(np.array([0.0, 0.0, 0.0, *axis]))[:3, :3]
    robot = rg.to_pinocchio(rg.reduce(tilted_press(R)))
    found = machine_of(robot.tree, robot.constraints, robot.rank, robot.massive)
    assert found is not None and plane_sections(found[0]) is not None
    rng, model, data = np.random.default_rng(5), robot.model, robot.model.createData()
    for q, v in states(robot, 3):
        tau = 10.0 * rng.normal(size=model.nv)
        parts = Split.of(robot.constraints.jacobian(data, q), robot.rank)
        M, n = mass_matrix(model, data, q), pin.nonLinearEffects(model, data, q, v)
        expected = parts.response(M, tau - n, -robot.constraints.bias(data, q, v))
        a, multipliers = robot.kernel.constrained_dynamics(q, v, tau)
        assert a == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.max(np.abs(expected)))
        forces = parts.solve_transposed(M @ a + n - tau)
        assert multipliers == pytest.approx(forces, rel=1e-9, abs=1e-9 * np.max(np.abs(forces)))
