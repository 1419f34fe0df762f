"""The compiled kernel against Pinocchio and dense algebra."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from shutil import which as which_program
from typing import Any

import families
import fuzz_kernel
import numpy as np
import pinocchio as pin
import pytest
from dynamics_table import states, weighed
from pinocchio_cases import mass_matrix
from pinocchio_rows import rows_of_pinocchio
from test_packaging import loaded_by

import regularize as rg
from regularize.cli import main
from regularize.dynamics.pinocchio.closure_rows import ConstraintRows
from regularize.dynamics.pinocchio.multibody_reading import multibody_tree_of, tree_of
from regularize.dynamics.pinocchio.tree_states import Split
from regularize.dynamics.step import compiled as compiled_module
from regularize.dynamics.step.compiled import Kernel, Tables, compiled, which
from regularize.dynamics.step.elimination import tables_of
from regularize.dynamics.step.multibody import MultibodyTree
from regularize.validation import numbers

ASSETS = Path(__file__).resolve().parents[3] / "assets"
pytestmark = pytest.mark.skipif(Kernel is None, reason="without a compiled kernel")


def unit(rng: np.random.Generator) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


@cache
def every_joint() -> pin.Model:
    """A tree in which every type of joint carries a body."""
    rng = np.random.default_rng(4)
    composite = pin.JointModelComposite(pin.JointModelRX())
    composite.addJoint(pin.JointModelPZ(), pin.SE3.Random())
    composite.addJoint(pin.JointModelSpherical(), pin.SE3.Random())
    joints = [
        pin.JointModelFreeFlyer(),
        pin.JointModelRX(),
        pin.JointModelRevoluteUnaligned(unit(rng)),
        pin.JointModelRUBY(),
        pin.JointModelPY(),
        pin.JointModelPrismaticUnaligned(unit(rng)),
        pin.JointModelHX(0.3),
        pin.JointModelHelicalUnaligned(unit(rng), -0.2),
        pin.JointModelSpherical(),
        pin.JointModelSphericalZYX(),
        pin.JointModelTranslation(),
        pin.JointModelPlanar(),
        pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])),
        composite,
    ]
    model = pin.Model()
    pin.seed(1)
    for k, joint in enumerate(joints):
        j = model.addJoint(max(0, k - k % 3), joint, pin.SE3.Random(), f"joint {k}")
        model.appendBodyToJoint(j, pin.Inertia.Random(), pin.SE3.Random())
    return model


def closed_chains(kind: str, size: float, letters: str) -> Iterator[rg.Robot]:
    """Eight hinges R and slides P in series, closed by a joint that stands either way round."""
    model, q0, count = pin.Model(), np.zeros(8), len(letters)
    pin.seed(5)

    def placed() -> pin.SE3:
        T = pin.SE3.Random()
        return pin.SE3(T.rotation, size * T.translation)

    for k in range(8):
        joint = getattr(pin, f"JointModel{letters[k % count]}{'XYZY'[k % count]}")()
        model.addJoint(k, joint, placed(), f"joint {k}")
        own = pin.Inertia.Random()
        body = pin.Inertia(own.mass, size * own.lever, size * size * own.inertia)
        model.appendBodyToJoint(k + 1, body, pin.SE3.Identity())
    model.gravity.linear *= size
    data, T = model.createData(), placed()
    pin.forwardKinematics(model, data, q0)
    ground = data.oMi[8] * T
    for ends in ((8, T, 0, ground), (0, ground, 8, T)):
        closure = rg.Closure(*ends, kind=kind, axis=(0.6, 0.0, 0.8), pitch=0.1 * size)
        yield rg.augment(model, [closure], q0)


def tree_alone(model: pin.Model) -> tuple[MultibodyTree, Any]:
    """A tree without loops as the kernel has it, and the link of each joint."""
    rows = ConstraintRows([], np.zeros((0, model.nv)), np.zeros(0))
    return multibody_tree_of(tree_of(model), rows, 0, True)


@cache
def tables_of_every_joint() -> Tables:
    return tables_of(tree_alone(every_joint())[0])


def test_without_a_compiler_python_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tables = every_joint(), tables_of_every_joint()
    assert tables is not None and compiled(tables) is not None
    monkeypatch.setattr(compiled_module, "Kernel", None)
    assert compiled(tables) is None
    robot = rg.augment(model, [])
    assert robot.computed_by == "Python" and robot.kernel is None
    q, v, tau = pin.neutral(model), np.ones(model.nv), np.ones(model.nv)
    data = model.createData()
    expected = np.linalg.solve(
        mass_matrix(model, data, q), tau - pin.rnea(model, data, q, v, 0 * v)
    )
    assert robot.forward_dynamics(q, v, tau) == pytest.approx(expected, rel=1e-8)


def test_parts_are_and_move_where_the_bodies_of_pinocchio_are_and_move() -> None:
    model = every_joint()
    data = model.createData()
    machine, link_of = tree_alone(model)
    kernel = compiled(tables_of(machine))
    rng = np.random.default_rng(2)
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), 3.0 * rng.normal(size=model.nv))
        v = rng.normal(size=model.nv)
        kinetic = pin.computeKineticEnergy(model, data, q, v)
        kinetic += 0.5 * float(model.armature @ (v * v))
        potential = pin.computePotentialEnergy(model, data, q)
        places = kernel.link_poses(q).reshape(-1, 12)
        for j in range(1, model.njoints):
            expected = data.oMi[j].translation
            assert places[link_of[j], 9:] == pytest.approx(expected, abs=1e-12)
        assert kernel.energies(q, v) == pytest.approx([kinetic, potential], abs=1e-10)


def assert_accelerates_as_pinocchio(model: pin.Model) -> None:
    """At random states far from zero, with rotors."""
    model.armature = np.linspace(0.0, 0.3, model.nv)
    data, rng = model.createData(), np.random.default_rng(3)
    kernel = compiled(tables_of(tree_alone(model)[0]))
    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), 3.0 * rng.normal(size=model.nv))
        v, tau = rng.normal(size=(2, model.nv))
        expected = pin.aba(model, data, q, v, tau)
        assert kernel.forward_dynamics(q, v, tau) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_a_tree_of_every_joint_accelerates_as_that_of_pinocchio() -> None:
    assert_accelerates_as_pinocchio(every_joint().copy())


def test_numbers_that_are_not_aligned_are_copied() -> None:
    kernel = compiled(tables_of_every_joint())
    q = np.array([pin.neutral(every_joint())] * 2)
    shifted = np.zeros(q.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(q.shape)
    shifted[:] = q
    assert not shifted.flags.aligned
    assert numbers(shifted).flags.aligned and numbers(q) is q
    for one, two in ((shifted, q), (shifted[0], q[0])):
        np.testing.assert_array_equal(kernel.link_poses(one), kernel.link_poses(two))


def test_batches_are_the_states_one_by_one_in_any_number_of_threads() -> None:
    model = every_joint()
    kernel = compiled(tables_of_every_joint())
    q = np.array(
        [pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)) for _ in range(9)]
    )
    one = [kernel.link_poses(x) for x in q]
    for threads in (1, 2, 5, 20, np.int64(2), np.uint8(2), True):
        np.testing.assert_array_equal(kernel.link_poses(q, threads), one)
    for wrong in (2.0, np.float64(2.0), "2", None):
        with pytest.raises(TypeError, match="threads is a whole number"):
            kernel.link_poses(q, wrong)
    with pytest.raises(rg.ModelError, match="link_poses: argument 1 must have shape"):
        kernel.link_poses(q[:, 1:])
    with pytest.raises(rg.ModelError, match="threads"):
        kernel.link_poses(q, 0)


NAMES = [
    "planar_fourbar",  # one cluster on the ground
    "knee_leg",  # a loop that hangs on a chain
    "stewart_6ups",  # ball joints and composites
    "three_upu",
    "bricard",  # rows that depend on each other
    "delta_parallelograms",
    "walker",
]


@cache
def robot_of(name: str, **options: bool) -> rg.Robot:
    return rg.to_pinocchio(rg.reduce(weighed(rg.load(ASSETS / f"{name}.urdf", **options))))


def of_dense_algebra(
    robot: rg.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and multipliers from singular values of all rows."""
    model, data = robot.model, robot.data
    jacobian, bias = rows_of_pinocchio(robot, q, v)
    parts = Split.of(jacobian, robot.rank)
    M, n = mass_matrix(model, data, q), pin.nonLinearEffects(model, data, q, v)
    a = parts.response(M, tau - n, -bias)
    return a, parts.solve_transposed(M @ a + n - tau)


def assert_equal_to_dense(robot: rg.Robot, count: int = 2) -> None:
    rng = np.random.default_rng(5)
    for q, v in states(robot, count):
        tau = 10.0 * rng.normal(size=robot.model.nv)
        a, multipliers = robot.kernel.constrained_dynamics(q, v, tau)
        expected, forces = of_dense_algebra(robot, q, v, tau)
        size = np.max(np.abs(expected))
        assert np.max(np.abs(a - expected)) < 1e-10 * size
        if robot.rank < robot.rows:  # any multipliers with these joint forces will do
            J = robot.jacobian(q)
            multipliers, forces = J.T @ multipliers, J.T @ forces
        weight = np.max(np.abs(forces), initial=1.0)
        assert np.max(np.abs(multipliers - forces), initial=0.0) < 1e-9 * weight
        np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau), a)
        # What there is without a compiler.
        assert np.max(np.abs(robot._accelerate(q, v, tau) - expected)) < 1e-9 * size


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_accelerations_and_forces_are_those_of_dense_algebra(name: str) -> None:
    robot = robot_of(name)
    assert robot.computed_by == "compiled" and "compiled" in repr(robot)
    assert_equal_to_dense(robot)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "walker"])
def test_a_floating_base_is_one_more_body(name: str) -> None:
    assert_equal_to_dense(robot_of(name, floating=True))


def scissor(base: str, pairs: int) -> rg.Robot:
    """Crossed bars, on the ground or on a carriage: those near the end hang on all before them."""
    foot, *pins = families.scissor(pairs - 1).joints
    slide = rg.Joint.in_world("slide", "ground", "carriage", "prismatic", (0, 0, 1))
    joints = [slide, replace(foot, name="foot", parent=base), *pins][base == "ground" :]
    return rg.to_pinocchio(rg.reduce(weighed(rg.Mechanism.of_joints("scissor", joints))))


@pytest.mark.slow
@pytest.mark.parametrize(("base", "pairs"), [("ground", 24), ("carriage", 24), ("ground", 51)])
def test_deep_loops_are_solved_in_body_coordinates(base: str, pairs: int) -> None:
    robot = scissor(base, pairs)
    assert robot.tables is not None and robot.tables.sizes["cells"] > 0
    assert_equal_to_dense(robot)


@pytest.mark.slow
def test_shortest_steps_onto_deep_loops() -> None:
    """Newton steps are those of the pseudoinverse; joints that are held stay."""
    robot = scissor("carriage", 21)
    assert robot.tables is not None and robot.tables.sizes["near_cells"] > 0
    rng = np.random.default_rng(8)
    for size in (1e-6, 1e-3):
        q = robot.q0 + size * rng.normal(size=robot.model.nv)
        reached, errors = robot.kernel.newton_step(q)
        expected = -np.linalg.pinv(robot.jacobian(q)) @ robot.residual(q)
        assert errors == pytest.approx(robot.residual(q), abs=1e-15)
        assert reached - q == pytest.approx(expected, abs=1e-10 * size + 1e-15)
    held = robot.project(q, hold=["foot", "top 3"])
    assert np.max(np.abs(robot.residual(held))) < 1e-12
    index = robot.velocity_indices(["foot", "top 3"])
    np.testing.assert_array_equal(held[index], q[index])


def test_mimic_joints_and_couplings_are_rows() -> None:
    """A four-bar of the caller whose last joint mimics, and one with a coupling between joints."""
    model = pin.Model()
    for k, parent in enumerate((0, 1, 2, 0)):
        place = pin.SE3(np.eye(3), np.array([[0, 0, 0], [0.4, 0, 0], [1.0, 0.1, 0], [2, 0, 0]][k]))
        model.addJoint(parent, pin.JointModelRZ(), place, f"j{k}")
        model.appendBodyToJoint(k + 1, pin.Inertia.Random(), pin.SE3.Random())
    model = pin.transformJointIntoMimic(model, 3, 4, -2.0, 0.3)
    rows = ConstraintRows([], np.array([[1.0, 3.0, 0.0]]), np.zeros(1))
    found = multibody_tree_of(tree_of(model), rows, 1, True)
    kernel = compiled(tables_of(found[0]))
    rng = np.random.default_rng(6)
    q, v, tau = rng.normal(size=(3, model.nv))
    v[0] = -3.0 * v[1]
    a, multipliers = kernel.constrained_dynamics(q, v, tau)
    data, row = model.createData(), rows.coupling
    M, n = mass_matrix(model, data, q), pin.rnea(model, data, q, v, np.zeros(model.nv))
    system = np.block([[M, -row.T], [row, np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.concatenate([tau - n, [0.0]]))
    assert np.concatenate([a, multipliers]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_states_that_are_not_finite_are_refused(number: float) -> None:
    robot = robot_of("planar_fourbar")
    state = [robot.q0, np.zeros(3), np.zeros(3)]
    for k in range(3):
        wrong = np.array([0.0, number, 0.0])
        with pytest.raises(rg.NotFinite, match=f"argument {k + 1} must consist of finite numbers"):
            robot.kernel.forward_dynamics(*state[:k], wrong, *state[k + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "optimised"), [("planar_fourbar", "-O1"), ("bricard", "-O3")])
def test_exported_source_computes_the_same_to_the_last_bit(
    name: str, optimised: str, tmp_path: Path
) -> None:
    compiler = which_program("gcc")
    if compiler is None:
        pytest.skip("without a C compiler")
    robot = robot_of(name)
    source = robot.to_c(tmp_path / "machine.c")
    library = tmp_path / "machine.so"
    flags = ["-std=c99", optimised, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", str(library), "-lm"], check=True)
    run = ctypes.CDLL(str(library)).machine_constrained_dynamics
    pointer = np.ctypeslib.ndpointer(np.float64, flags="C")
    run.argtypes = [pointer] * 5
    for q, v in states(robot, 2):
        tau = np.linspace(-1.0, 1.0, robot.model.nv)
        a, multipliers = np.empty(robot.model.nv), np.empty(robot.rows)
        assert run(np.array(q), v, tau, a, multipliers) == 0
        expected = robot.kernel.constrained_dynamics(q, v, tau)
        assert np.concatenate([a, multipliers]) == pytest.approx(
            np.concatenate(expected), rel=1e-13
        )


def test_exported_headers_are_c_and_names_are_checked(tmp_path: Path) -> None:
    assert main(
        ["export", str(ASSETS / "slider_crank.urdf"), "--to", "c", "-o", str(tmp_path / "crank.c")]
    ) in (0, 1)
    assert "int crank_forward_dynamics(" in (tmp_path / "crank.h").read_text()
    robot = robot_of("planar_fourbar")
    for wrong in ("4bar.c", "fourbar.txt"):
        with pytest.raises(rg.UnsupportedExport):
            robot.to_c(tmp_path / wrong)


def test_dynamics_are_computed_by_what_was_built() -> None:
    """Where a run says what it expects: compiled code, or Python where there is no compiler."""
    assert which() == os.environ.get("REGULARIZE_EXPECTED", which())


@pytest.mark.slow
@pytest.mark.skipif(which() != "compiled", reason="without a compiled kernel")
def test_compiled_steps_simulate_without_pinocchio() -> None:
    model = Path(__file__).parents[3] / "assets" / "benchmarks" / "bricard.json"
    code = f"import regularize; regularize.simulate({str(model)!r}, duration=0.01)"
    assert loaded_by(code, {"pinocchio", "coal"}) == set()


@pytest.mark.parametrize("name", ["three_prrr", "delta_universal"])
def test_what_goes_with_a_step_is_no_dense_algebra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces at cuts, energies and admissible velocities come of the step's own elimination."""
    robot = rg.to_pinocchio(ASSETS / f"{name}.urdf")
    v, tau = np.random.default_rng(0).normal(size=(2, robot.nv))
    expected = robot.split(robot.q0).free  # by dense algebra
    M = robot.states.terms(robot.q0, v).M

    def dense(*_: object, **__: object) -> None:
        raise AssertionError("a dense matrix of the whole robot was factorized")

    monkeypatch.setattr("regularize.dynamics.pinocchio.tree_states.TreeStates.terms", dense)
    monkeypatch.setattr("regularize.dynamics.pinocchio.tree_states.TreeStates.dense", dense)
    for solver in ("solve", "lstsq", "svd", "qr", "inv", "pinv"):
        monkeypatch.setattr(f"numpy.linalg.{solver}", dense)
    u = robot.project_velocity(robot.q0, v)
    kinetic, _ = robot.energies(robot.q0, u)
    forces = robot.constraint_forces(robot.q0, u, tau).generalized
    a = robot.forward_dynamics(robot.q0, u, tau)
    monkeypatch.undo()
    assert kinetic == pytest.approx(0.5 * u @ M @ u)
    admissible = expected @ np.linalg.solve(expected.T @ M @ expected, expected.T @ (M @ v))
    np.testing.assert_allclose(u, admissible, rtol=1e-9, atol=1e-9)
    left = M @ a + robot.states.terms(robot.q0, u).needed - tau
    np.testing.assert_allclose(forces, left, atol=1e-8 * np.abs(left).max())


def test_every_entry_asks_for_arrays_of_its_lengths() -> None:
    """Counts are read from arrays: no entry takes one that ends before, or goes on."""
    kernel = rg.to_pinocchio(ASSETS / "planar_fourbar.urdf").kernel
    entries = {name: getattr(kernel, name) for name in dir(kernel) if not name.startswith("_")}
    known = {name: fuzz_kernel.lengths(each) for name, each in entries.items() if callable(each)}
    asked = 0
    for name, lengths in known.items():
        for k, length in enumerate(lengths or ()):
            for wrong in {0, 1, length + 1} - {length} if length >= 0 else ():
                given = [np.zeros(n) if n >= 0 else () for n in lengths or ()]
                given[k] = np.zeros(wrong)
                with pytest.raises(rg.ModelError, match=rf"^{name}: argument \d+ "):
                    entries[name](*given)
                asked += 1
    assert asked > 100 and {"step_terms", "motion_between"} <= known.keys()


#: The kernel from elsewhere, and tests that use it.
TESTED_ELSEWHERE = """
import importlib.util, sys, pytest
name = "regularize.dynamics.step._compiled"
spec = importlib.util.spec_from_file_location(name, sys.argv[1])
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
sys.exit(pytest.main(sys.argv[2:]))
"""


@pytest.mark.slow
def test_the_quick_tests_of_the_kernel_pass_under_sanitizers(tmp_path: Path) -> None:
    """Of addresses and undefined behaviour; the others do in an environment of their own."""
    environment = fuzz_kernel.watched()
    if environment is None:
        pytest.skip("GCC and its sanitizers are not installed")
    library = fuzz_kernel.build(tmp_path, "-O0", led=False)
    names = ("kernel", "compiled_drives", "compiled_forces", "compiled_steps")
    tests = [str(Path(__file__).with_name(f"test_{name}.py")) for name in names]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    command = [sys.executable, "-c", TESTED_ELSEWHERE, str(library), *options, *tests]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed and int(passed[1]) > 20
