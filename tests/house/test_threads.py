"""One robot in many threads and processes; what is pickled and copied stays the same."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_cases import MECHANISMS, massive
from test_augment import mimicking, spatial
from test_pinocchio_import import GROUND_PIVOT, open_fourbar

import regularize as rg

NAMES = ("anchors", "slack", "legacy", "augmented", "in space", "mimic", "two mimics")


@cache
def robots() -> dict[str, Any]:
    """Robots of every way to compute an acceleration."""
    reduction = rg.reduce(massive(MECHANISMS["tilted"]()))
    found = {style: rg.to_pinocchio(reduction, style) for style in ("anchors", "slack", "legacy")}
    model, tip, end = open_fourbar()
    found["augmented"] = rg.augment(model, [rg.Closure(tip, end, 0, GROUND_PIVOT)])
    model, closure, q0 = spatial("spherical")
    found["in space"] = rg.augment(model, [closure], q0)
    found["mimic"] = rg.augment(mimicking(1.5, 0.1)[1], [])
    twice = pin.transformJointIntoMimic(mimicking(-0.7, 0.2)[1], 2, 4, 2.0, 0.0)
    found["two mimics"] = rg.augment(twice, [])
    assert tuple(found) == NAMES
    return found


def states(robot: rg.Robot, count: int) -> tuple[Any, Any, Any]:
    """States on the loops, all over a walk from the reference configuration."""
    rng = np.random.default_rng(1)
    nv, q, walk = robot.model.nv, robot.q0, []
    for _ in range(20):
        v = robot.project_velocity(q, rng.normal(size=nv))
        q = robot.project(pin.integrate(robot.model, q, 0.1 * v / (1.0 + np.linalg.norm(v))))
        walk.append((q, robot.project_velocity(q, rng.normal(size=nv))))
    chosen = [walk[k % 20] for k in range(count)]
    return (
        np.array([q for q, _ in chosen]),
        np.array([v for _, v in chosen]),
        rng.normal(size=(count, nv)),
    )


def coded(robot: rg.Robot, name: str) -> bool:
    """Whether code of the robot takes over where many accelerations are asked for."""
    own = robot.computed_by != "Python" and "mimic" not in name
    return own and find_spec("llvmlite") is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_method_in_threads(name: str) -> None:
    """Threads that do different things at once get what one alone gets."""
    robot = robots()[name]
    q, v, tau = states(robot, 60)
    work = [
        lambda k: robot.forward_dynamics(q[k], v[k], tau[k]),
        lambda k: robot.residual(q[k]),
        lambda k: robot.jacobian(q[k]),
        lambda k: robot.bias(q[k], v[k]),
        lambda k: robot.constraint_forces(q[k], v[k], tau[k]).generalized,
        lambda k: robot.project_velocity(q[k], tau[k]),
        lambda k: robot.coordinates(q[k]),
        lambda k: robot.forward_dynamics(q[k], v[k], tau[k], compile=False),
    ]
    tasks = [(each, k) for k in range(60) for each in work]
    first, _, serial = ([each(k) for each, k in tasks] for _ in range(3))
    assert (robot.computed_by == "llvm") == coded(robot, name)
    # Code of the robot takes over at the hundredth call, which rounding alone may tell.
    for a, b in zip(first, serial, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-12 * (1.0 + np.linalg.norm(b)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda task: task[0](task[1]), tasks))
    assert all(np.array_equal(a, b) for a, b in zip(found, serial, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_batches_on_executors(kind: type[Executor]) -> None:
    robot = robots()["in space"]
    q, v, tau = states(robot, 50)
    serial = robot.forward_dynamics(q, v, tau, compile=False)
    with kind(2) as pool:  # type: ignore[call-arg]
        found = robot.forward_dynamics(q, v, tau, executor=pool)
    # Here code of the robot may compute, and tables in a process that has just got it.
    np.testing.assert_allclose(found, serial, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_shapes_of_batches() -> None:
    robot = robots()["augmented"]
    q, v, tau = states(robot, 5)
    each = [robot.forward_dynamics(q[k], v[k], tau[0]) for k in range(5)]
    assert np.array_equal(robot.forward_dynamics(q, v, tau[0]), each)
    assert robot.forward_dynamics(q[:0], v[:0], tau[:0]).shape == (0, 3)
    with pytest.raises(rg.ModelError, match="different lengths"):
        robot.forward_dynamics(q, v[:3], tau)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_robots_are_copied(name: str) -> None:
    robot = robots()[name]
    q, v, tau = states(robot, 3)
    expected = robot.forward_dynamics(q, v, tau, compile=False)
    copies = [copy.copy(robot), copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))]
    assert name != "augmented" or copies[0].model is robot.model
    for other in copies:
        assert other.style == robot.style and np.array_equal(other.q0, robot.q0)
        assert other.data is not robot.data
        # What mimics is told from its motion, to rounding; everything else comes back as it was.
        error = np.abs(other.forward_dynamics(q, v, tau, compile=False) - expected)
        assert np.max(error) <= (1e-12 if "mimic" in name else 0.0)
        assert [f.code for f in other.findings] == [f.code for f in robot.findings]
        # A copy makes code of its own after as many calls.
        assert repr(other) == repr(robot).replace("llvm", "compiled")
        assert len(repr(robot)) < 200 and "\n" not in repr(robot)


def test_closures_in_one_line() -> None:
    closure = rg.Closure("hinge", pin.SE3.Random(), 0, np.eye(4), name="pivot")
    assert repr(closure) == "<Closure 'pivot': revolute between 'hinge' and 0>"
    assert repr(pickle.loads(pickle.dumps(closure))) == repr(closure)
