"""Rows of closures as forces through a point and couples: results are those of the given rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from dynamics_table import weighed

import regularize as rg
from regularize.kernel.compiled import Kernel, compiled
from regularize.kernel.elimination import step_sections, tables_of
from regularize.kernel.machine import Machine
from regularize.lie.screw import Array
from regularize.pinocchio_model.machine_reading import machine_of
from regularize.pinocchio_model.split import Split, mass_matrix

ASSETS = Path(__file__).resolve().parents[1] / "assets"
pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")

#: Forces among the rows of closing joints; -1 where those are of another kind.
FORCES = {
    "revolute": 3,
    "prismatic": 2,
    "helical": -1,
    "cylindrical": 2,
    "spherical": 3,
    "planar": 1,
    "fixed": 3,
}


def mixed(robot: rg.Robot, seed: int) -> Machine:
    """The robot for the kernel with other rows that say the same."""
    found = machine_of(robot.tree, robot.constraints, robot.rank, robot.massive)
    assert found is not None
    rng, loops = np.random.default_rng(seed), []
    for loop in found[0].loops:
        m = len(loop.covectors)
        turn, _ = np.linalg.qr(rng.normal(size=(m, m)))
        mixing = turn * rng.uniform(0.5, 2.0, m)
        loops.append(replace(loop, covectors=mixing @ loop.covectors))
    return replace(found[0], loops=loops)


def assert_those_of_its_rows(machine: Machine, robot: rg.Robot, q0: Array, change: float) -> None:
    """Accelerations and multipliers against dense algebra with the rows that the kernel states."""
    tables = tables_of(machine)
    assert tables is not None
    kernel, model, data = compiled(tables), robot.model, robot.model.createData()
    rng = np.random.default_rng(2)
    for _ in range(2):
        v, tau = rng.normal(size=(2, model.nv))
        q = pin.integrate(model, q0, change * rng.normal(size=model.nv))
        J, bias, wanted = kernel.jacobian(q), kernel.bias(q, v), rng.normal(size=machine.rows)
        M, n = mass_matrix(model, data, q), pin.nonLinearEffects(model, data, q, v)
        parts = Split.of(J, machine.rank)
        a, multipliers = kernel.constrained_dynamics(q, v, tau)
        expected = parts.response(M, tau - n, -bias)
        forces = parts.solve_transposed(M @ expected + n - tau)
        assert a == pytest.approx(expected, rel=1e-9, abs=1e-10 * np.max(np.abs(expected)))
        assert multipliers == pytest.approx(forces, rel=1e-8, abs=1e-9 * np.max(np.abs(forces)))
        a = kernel.stabilized_dynamics(q, v, tau, wanted)
        expected = parts.response(M, tau - n, -bias - wanted)
        assert a == pytest.approx(expected, rel=1e-9, abs=1e-10 * np.max(np.abs(expected)))
        # What was wanted before is forgotten.
        np.testing.assert_array_equal(kernel.constrained_dynamics(q, v, tau)[1], multipliers)


def forces_of(machine: Machine) -> Sequence[int]:
    step = step_sections(machine)
    assert step is not None
    return list(step[1]["forces"])


def placed(size: float) -> pin.SE3:
    T = pin.SE3.Random()
    return pin.SE3(T.rotation, size * T.translation)


@pytest.mark.parametrize("size", [1.0, 1e-3])
@pytest.mark.parametrize("kind", FORCES)
def test_every_closing_joint_in_open_loops(kind: str, size: float) -> None:
    model, q0 = pin.Model(), np.zeros(8)
    pin.seed(5)
    kinds = [pin.JointModelRX, pin.JointModelPY, pin.JointModelRZ, pin.JointModelRY]
    for k in range(8):
        model.addJoint(k, kinds[k % 4](), placed(size), f"joint {k}")
        own = pin.Inertia.Random()
        body = pin.Inertia(own.mass, size * own.lever, size * size * own.inertia)
        model.appendBodyToJoint(k + 1, body, pin.SE3.Identity())
    model.gravity.linear *= size
    data = model.createData()
    pin.forwardKinematics(model, data, q0)
    T = placed(size)
    ground = data.oMi[8] * T
    for ends in ((8, T, 0, ground), (0, ground, 8, T)):
        closure = rg.Closure(*ends, kind=kind, axis=(0.6, 0.0, 0.8), pitch=0.1 * size)
        robot = rg.augment(model, [closure], q0)
        machine = mixed(robot, 3)
        assert forces_of(machine) == [FORCES[kind]]
        assert_those_of_its_rows(machine, robot, q0, 0.1)


@pytest.mark.parametrize(
    ("name", "forces"),
    [
        ("delta_universal", {3}),
        ("gripper", {2}),  # in a plane
        ("spherical_fourbar", {0}),
        ("stewart_6ups", {3}),
        ("quadrupteron", {-1}),  # couples, and forces that do not pass through a point
        ("walker", {-1}),  # its rows come early
    ],
)
def test_reduced_rows(name: str, forces: set[int]) -> None:
    robot = rg.to_pinocchio(rg.reduce(weighed(rg.load(ASSETS / f"{name}.urdf"))))
    machine = mixed(robot, 7)
    assert {*forces_of(machine)} == forces
    assert_those_of_its_rows(machine, robot, robot.q0, 1e-2)
