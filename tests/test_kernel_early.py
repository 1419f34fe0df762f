"""Loops that share a crank are eliminated one by one, also where a leg alone would be singular."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics_table import weighed
from mechanisms import n_fourbar
from test_kernel import of_dense_algebra

import regularize as rg
from regularize.kernel.compiled import Kernel
from regularize.kernel.elimination import step_sections
from regularize.model.mechanism import Mechanism, joint_in_world, mechanism_of
from regularize.pinocchio_model.constraints import close_loops
from regularize.pinocchio_model.machine_reading import machine_of

pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")


def star(legs: int, base: str, straight: bool) -> Mechanism:
    """Legs of two bars between a crank and its base; the first one may be straight."""
    z, joints = (0, 0, 1), []
    if base != "ground":
        joints.append(joint_in_world("turret", "ground", base, "revolute", (1, 0, 0)))
    joints.append(joint_in_world("crank", base, "crank", "revolute", z))
    for k in range(legs):
        turn = 2.0 * np.pi * k / legs
        begin = np.array([0.5 + 0.1 * np.cos(turn), 0.2 + 0.1 * np.sin(turn), 0.0])
        end = begin + np.array([1.0 + 0.1 * k, 0.5 - 0.2 * k, 0.0])
        knee = begin + 0.6 * (end - begin)
        if k > 0 or not straight:
            knee = knee + np.array([0.1, 0.3, 0.0])
        joints += [
            joint_in_world(f"hip {k}", "crank", f"thigh {k}", "revolute", z, begin),
            joint_in_world(f"knee {k}", f"thigh {k}", f"shank {k}", "revolute", z, knee),
            joint_in_world(f"foot {k}", f"shank {k}", base, "revolute", z, end),
        ]
    return mechanism_of("star", joints)


def comes_early(robot: rg.Robot) -> bool:
    """Whether rows of a cluster come before some of their columns."""
    found = machine_of(robot.tree, robot.constraints, robot.rank, robot.massive)
    assert found is not None
    step = step_sections(found[0])
    assert step is not None
    return any(step[1]["early"])


@pytest.mark.parametrize("base", ["ground", "turret"])
@pytest.mark.parametrize("straight", [False, True])
def test_legs_on_a_crank_are_those_of_dense_algebra(base: str, straight: bool) -> None:
    """A straight leg holds no crank: its rows have no pivot of their own, but others with it."""
    robot = rg.to_pinocchio(rg.reduce(weighed(star(8, base, straight))))
    assert comes_early(robot)
    tau = np.linspace(-1.0, 2.0, robot.model.nv)
    for change in (0.0, 1e-9, 1e-6, 1e-4, 0.02):
        free = robot.split(robot.q0).free
        q = close_loops(robot, robot.q0 + change * free.sum(axis=1))
        free = robot.split(q).free
        v = free.sum(axis=1)
        a, multipliers = robot.kernel.constrained_dynamics(q, v, tau)
        expected, forces = of_dense_algebra(robot, q, v, tau)
        assert np.max(np.abs(a - expected)) < 1e-10 * np.max(np.abs(expected))
        assert np.max(np.abs(multipliers - forces)) < 1e-10 * np.max(np.abs(forces))
        np.testing.assert_array_equal(robot.kernel.forward_dynamics(q, v, tau), a)


def test_loops_that_share_little_keep_the_order_that_needs_no_watching() -> None:
    joints = [joint_in_world("A0", "ground", "crank 0", "revolute")]
    for k in range(6):
        places = [(k + 1.0, 0.0, 0.0), (k, 1.0, 0.0), (k + 1.0, 1.0, 0.0)]
        ends = [("ground", f"crank {k + 1}"), (f"crank {k}", f"rod {k}")]
        ends.append((f"rod {k}", f"crank {k + 1}"))
        joints += [
            joint_in_world(f"{name}{k}", *pair, "revolute", (0, 0, 1), place)
            for name, pair, place in zip("BCD", ends, places, strict=True)
        ]
    robot = rg.to_pinocchio(rg.reduce(weighed(mechanism_of("windows", joints))))
    assert not comes_early(robot)


def test_an_order_that_leaves_a_row_without_a_pivot_is_none() -> None:
    """A loop that holds a driven crank would leave the row of the drive nothing."""
    robot = rg.to_pinocchio(rg.reduce(weighed(n_fourbar(10))))
    found = machine_of(robot.tree, robot.constraints, robot.rank, robot.massive)
    assert found is not None
    driven = found[0].driven([0])
    step = step_sections(driven)
    assert step is not None and not any(step[1]["early"])
    q, v = robot.q0, robot.admissible_velocity(robot.q0, {robot.model.names[1]: 0.7})
    wanted = np.append(np.zeros(robot.rows), -0.4)
    a = robot.driven_kernel((0,)).stabilized_dynamics(q, v, np.zeros(len(v)), wanted)
    assert a[0] == pytest.approx(0.4, abs=1e-12)
    rows, bias = robot.constraints.jacobian_and_bias(robot.data, q, v)
    assert rows @ a + bias == pytest.approx(0.0, abs=1e-10)
