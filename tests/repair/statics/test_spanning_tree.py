"""Within the export: trees without Pinocchio, where their bodies are and what they weigh.

Rows along the axes of frames stand for rows kept on numerical evidence.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from mechanisms import bricard, n_fourbar
from pinocchio_cases import massive
from test_kernel import every_joint
from test_pinocchio import states as states_with_closed_loops

import regularize as rg
from regularize.dynamics.pinocchio.closure_rows import ConstraintRows
from regularize.dynamics.pinocchio.multibody_reading import multibody_tree_of, tree_of
from regularize.dynamics.pinocchio.tree_states import TreeStates
from regularize.dynamics.simulation.equations import acceleration_near
from regularize.dynamics.step.compiled import Kernel, compiled
from regularize.dynamics.step.elimination import tables_of
from regularize.lie import screw
from regularize.repair.statics import welds

ASSETS = Path(__file__).resolve().parents[3] / "assets"
needs_kernel = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")


def states(model: pin.Model) -> tuple[np.ndarray, np.ndarray]:
    """Configurations and velocities."""
    rng = np.random.default_rng(2)
    steps = 3.0 * rng.normal(size=(4, model.nv))
    q = np.array([pin.integrate(model, pin.neutral(model), step) for step in steps])
    return q, rng.normal(size=(*q.shape[:1], model.nv))


@pytest.mark.slow
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


@needs_kernel
def test_the_kernel_knows_bodies_and_energies_as_pinocchio_does() -> None:
    model = every_joint()
    rows = ConstraintRows([], np.zeros((0, model.nv)), np.zeros(0))
    found = multibody_tree_of(tree_of(model), rows, 0, True)
    tables, data = tables_of(found[0]), model.createData()
    assert tables is not None
    bodies = TreeStates(*found, rows, compiled(tables))
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


@pytest.fixture(scope="module")
def bennett() -> rg.Reduction:
    return rg.reduce(rg.load(ASSETS / "bennett.urdf"), numerical=True)


def least(reduction: rg.Reduction, style: str) -> float:
    """The smallest singular value of a style's rows along the motion, over the largest one."""
    robot = rg.to_pinocchio(reduction, style)
    (cell,) = reduction.cells
    ratios = []
    for q in cell.configurations:
        rows = robot.jacobian(robot.configuration(q))
        s = np.linalg.svd(rows, compute_uv=False)
        ratios.append(float(s[robot.rank - 1] / s[0]))
    return min(ratios)


@pytest.mark.slow
@pytest.mark.parametrize("style", ["anchors", "slack"])
def test_rows_of_frames_keep_their_rank_along_the_motion(bennett: rg.Reduction, style: str) -> None:
    assert least(bennett, style) > 0.03 * least(bennett, "rows") > 0.0


@pytest.mark.slow
def test_styles_refuse_where_no_choice_of_rows_serves_everywhere(
    bennett: rg.Reduction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With frames along the ground's axes alone none does, and ``rows`` needs no frames."""
    monkeypatch.setattr(welds, "_turned", lambda weld, rng: weld)
    for style in ("anchors", "slack"):
        with pytest.raises(rg.UnsupportedExport, match=r'near A = .*use style="rows"'):
            rg.to_pinocchio(bennett, style)
    assert rg.to_pinocchio(bennett, "legacy").rank == 1 + rg.to_pinocchio(bennett).rank


@pytest.mark.slow
def test_dependent_rows_are_reported_and_handled() -> None:
    reduced = rg.reduce(massive(bricard()))
    assert reduced.remaining == 1
    robot = rg.to_pinocchio(reduced, "anchors")
    assert "REG304" in {finding.code for finding in robot.findings}
    left = np.linalg.svd(robot.jacobian(robot.q0))[0]
    quick = acceleration_near(robot, left)
    for q, v, tau in states_with_closed_loops(robot):
        assert np.allclose(quick(q, v, tau), robot.forward_dynamics(q, v, tau), rtol=1e-8)
