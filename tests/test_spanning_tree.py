"""What is known of a tree without Pinocchio: where its bodies are, and what they weigh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from mechanisms import n_fourbar
from pinocchio_cases import massive
from test_kernel import every_joint

import regularize as rg
from regularize.kernel.bodies import Bodies
from regularize.kernel.compiled import Kernel, compiled
from regularize.kernel.elimination import tables_of
from regularize.kernel.posing import mass_matrix, poses_of
from regularize.lie import screw
from regularize.pinocchio_model import split
from regularize.pinocchio_model.machine_reading import machine_of, tree_of
from regularize.pinocchio_model.rows import ConstraintRows

ASSETS = Path(__file__).resolve().parents[1] / "assets"
needs_kernel = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")


def states(model: pin.Model) -> tuple[np.ndarray, np.ndarray]:
    """Configurations and velocities."""
    rng = np.random.default_rng(2)
    steps = 3.0 * rng.normal(size=(4, model.nv))
    q = np.array([pin.integrate(model, pin.neutral(model), step) for step in steps])
    return q, rng.normal(size=(*q.shape[:1], model.nv))


def test_bodies_are_where_pinocchio_has_them_and_weigh_as_much() -> None:
    model = every_joint().copy()
    model.armature = np.linspace(0.0, 0.3, model.nv)
    tree, data = tree_of(model), model.createData()
    assert tree.known
    for q in states(model)[0]:
        poses = poses_of(tree.parts, q)
        expected = split.mass_matrix(model, data, q)
        pin.forwardKinematics(model, data, q)
        for j, b in enumerate(tree.part_of):
            assert poses[b] == pytest.approx(data.oMi[j].homogeneous, abs=1e-12)
        M = mass_matrix(tree.weighed(), q, tree.armature)
        assert pytest.approx(expected, rel=1e-10, abs=1e-10) == M


def test_a_mimic_joint_adds_to_the_mass_of_the_other() -> None:
    model = pin.Model()
    for k, parent in enumerate((0, 1, 2)):
        model.addJoint(parent, pin.JointModelRZ(), pin.SE3.Random(), f"j{k}")
        model.appendBodyToJoint(k + 1, pin.Inertia.Random(), pin.SE3.Random())
    model = pin.transformJointIntoMimic(model, 2, 3, -2.0, 0.3)
    tree, q = tree_of(model), np.array([0.3, -0.8])
    expected = split.mass_matrix(model, model.createData(), q)
    assert mass_matrix(tree.weighed(), q, np.zeros(2)) == pytest.approx(expected, rel=1e-10)


def test_steps_between_configurations_are_those_of_pinocchio() -> None:
    model = every_joint()
    space = tree_of(model).space
    assert not space.flat
    assert space.neutral == pytest.approx(pin.neutral(model))
    for q, v in zip(*states(model), strict=True):
        for step in (1e-9 * v, v, 3.0 * v):
            end = pin.integrate(model, q, step)
            assert space.integrate(q, step) == pytest.approx(end, abs=1e-12)
            expected = pin.difference(model, q, end)
            assert space.difference(q, end) == pytest.approx(expected, abs=1e-12)
            both = space.difference(q, np.array([q, end]))
            assert both == pytest.approx(np.array([0.0 * expected, expected]), abs=1e-12)
            rates = pin.dIntegrate(model, q, step, pin.ArgumentPosition.ARG1)
            assert space.velocity_by_step(step) == pytest.approx(rates, abs=1e-12)


@pytest.mark.parametrize(("name", "style"), [("rssr", "slack"), ("delta_universal", "rows")])
def test_the_model_is_read_as_the_tree_that_it_was_made_of(name: str, style: str) -> None:
    robot = rg.to_pinocchio(rg.reduce(massive(rg.load(ASSETS / f"{name}.urdf"))), style)
    read, own = tree_of(robot.model), robot.tree
    for key in ("names", "parents", "idx_qs", "nqs", "idx_vs", "nvs", "part_of", "nq", "nv"):
        assert getattr(read, key) == getattr(own, key)
    assert read.armature == pytest.approx(own.armature)
    for one, other in zip(read.weighed(), own.weighed(), strict=True):
        for key in ("kind", "parent", "coordinate", "rate"):
            assert getattr(one, key) == getattr(other, key)
        assert one.placement == pytest.approx(other.placement, abs=1e-15)
        assert one.axis == pytest.approx(other.axis, abs=1e-15)
        assert one.inertia == pytest.approx(other.inertia, abs=1e-14)


@needs_kernel
def test_the_kernel_knows_bodies_and_energies_as_pinocchio_does() -> None:
    model = every_joint()
    rows = ConstraintRows(tree_of(model), [], np.zeros((0, model.nv)), np.zeros(0))
    found = machine_of(rows.tree, rows, 0, True)
    assert found is not None
    tables, data = tables_of(found[0]), model.createData()
    assert tables is not None
    bodies = Bodies(*found, compiled(tables))
    q, v = states(model)
    poses, energies = bodies.poses(q), np.array(bodies.energies(q, v))
    assert poses.shape == (len(q), model.njoints, 4, 4)
    world = pin.ReferenceFrame.WORLD
    for i in range(len(q)):
        kinetic = pin.computeKineticEnergy(model, data, q[i], v[i])
        potential = pin.computePotentialEnergy(model, data, q[i])
        assert energies[:, i] == pytest.approx([kinetic, potential], rel=1e-10, abs=1e-10)
        assert np.array(bodies.energies(q[i], v[i])) == pytest.approx(energies[:, i])
        pin.computeJointJacobians(model, data, q[i])
        for j in range(model.njoints):
            assert poses[i, j] == pytest.approx(data.oMi[j].homogeneous, abs=1e-12)
        one, two = (pin.getJointJacobian(model, data, j, world) for j in (3, 8))
        assert bodies.between(q[i], 3, 8) == pytest.approx(two - one, abs=1e-10)
        assert bodies.between(q[i], 0, 8) == pytest.approx(two, abs=1e-10)


def test_quaternions_are_those_of_rotations() -> None:
    rng = np.random.default_rng(5)
    turns = [*np.eye(4), *-np.eye(4), *rng.normal(size=(50, 4))]
    turns += [row + 1e-9 * rng.normal(size=4) for row in np.eye(4)]
    for turn in turns:
        R = pin.Quaternion(turn / np.linalg.norm(turn)).matrix()
        found = screw.quaternion_of(R)
        assert found == pytest.approx(pin.Quaternion(R).coeffs(), abs=1e-12)
        assert screw.rotation_of(found) == pytest.approx(R, abs=1e-12)


@needs_kernel
def test_no_data_of_pinocchio_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """They grow with the third power of the velocities: 13 GB for 600."""

    def refused(model: pin.Model) -> None:
        raise MemoryError(f"no room for the data of {model.name}")

    monkeypatch.setattr(pin.Model, "createData", refused)
    robot = rg.to_pinocchio(rg.reduce(massive(n_fourbar(4))))
    q, v = robot.q0, np.zeros(robot.model.nv)
    assert robot.forward_dynamics(q, v, v).shape == v.shape
    assert np.max(np.abs(robot.residual(robot.project(q)))) < 1e-12
    assert robot.jacobian(q).shape == (robot.rows, len(v))
    assert robot.bias(q, v) == pytest.approx(np.zeros(robot.rows))
    motion = rg.simulate(robot, duration=0.1, rates={"A0": 1.0})
    assert np.ptp(motion.energy) < 1e-9
