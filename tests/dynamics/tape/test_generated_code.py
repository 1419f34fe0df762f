"""Straight-line code of a robot against the table kernel, and against its derivatives."""

from __future__ import annotations

import copy
import ctypes
import importlib.util
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import mechanisms
import numpy as np
import pytest
from test_environments import H, robot, states

import regularize as rg

CC = which("gcc") or which("clang") or which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="without a C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "knee_leg"])
def test_generated_code_is_the_kernel(name: str) -> None:
    r = robot(name)
    fast = r.compiled(lanes=4)
    assert "generated" in fast.computed_by and r.computed_by == "compiled"
    q, v, tau = states(r, 23)
    a, expected = fast.forward_dynamics(q, v, tau), r.forward_dynamics(q, v, tau)
    assert np.abs(a - expected).max() <= 1e-11 * np.abs(expected).max()
    assert np.array_equal(fast.forward_dynamics(q, v, tau, threads=3), a)
    found, known = fast.rollout(q, v, tau, H, 20), r.rollout(q, v, tau, H, 20)
    assert found.ok.all() and found.residual.max() < 1e-9
    size = 1.0 + np.abs(known.v).max()
    assert np.abs(found.q - known.q).max() < 1e-9 * size
    again = copy.deepcopy(fast)
    assert np.array_equal(again.forward_dynamics(q, v, tau), a)


def test_bad_states_and_wide_steps_are_masked() -> None:
    r = robot("planar_fourbar")
    fast = r.compiled()
    q, v, tau = states(r, 9)
    q[4], tau[7] = np.nan, np.inf
    good = [n for n in range(9) if n not in (4, 7)]
    a = fast.forward_dynamics(q, v, tau)
    assert np.isnan(a[[4, 7]]).all() and np.isfinite(a[good]).all()
    for h, steps in ((H, 30), (0.05, 8)):  # the second is more than two rounds are enough for
        found, known = fast.rollout(q, v, tau, h, steps), r.rollout(q, v, tau, h, steps)
        # Wide steps are chaotic: at first both are the same.
        same = slice(None) if h == H else slice(2)
        assert np.array_equal(found.ok[:, same], known.ok[:, same])
        assert found.ok[good, 1].all() and not found.ok[[4, 7], 1:].any()
        assert np.array_equal(found.ok[good], np.isfinite(found.q[good]).all(axis=2))
        assert np.nanmax(found.residual) < 1e-9
        assert found.q[good, 1] == pytest.approx(known.q[good, 1], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "borne"),
    [
        ("planar_fourbar", 20_000, 1e-11),
        ("gripper", 20_000, 1e-9),  # its equations' condition is 1e6 where nothing is singular
        ("planar_fourbar", 1_000_000, 1e-11),
        ("walker", 1_000_000, 1e-11),
    ],
)
def test_random_states_are_as_of_the_kernel_or_masked(name: str, count: int, borne: float) -> None:
    r = robot(name)
    fast = r.compiled()
    rng = np.random.default_rng(3)
    q = rng.uniform(-np.pi, np.pi, size=(count, r.nq))
    v, tau = rng.normal(size=(2, count, r.nv))
    # Stretched, or on top of each other: rows depend on each other or, farther away, nearly so.
    many = count // 50
    q[:many] = np.pi * rng.integers(0, 2, size=(many, r.nq))
    q[: many // 2] += 10.0 ** rng.uniform(-13, -2, size=(many // 2, 1)) * v[: many // 2]
    q[many : many + 20], v[many + 20], tau[many + 21] = np.inf, np.nan, -np.inf
    a, known = (x.forward_dynamics(q, v, tau) for x in (fast, r))
    found = np.isfinite(a).all(axis=1)
    assert found.mean() > 0.9 and not found[many : many + 22].any()
    error = np.abs(a - known)[found].max(axis=1) / (1.0 + np.abs(known[found]).max(axis=1))
    assert error.max() <= borne
    for n in [*range(0, many, 97), *range(many + 22, count, 9973)]:
        assert np.array_equal(r.forward_dynamics(q[n], v[n], tau[n]), known[n])


def on_a_base(kind: str) -> rg.Mechanism:
    """A four-bar on a body that floats or slides in a plane, or whose crank is geared to it."""
    a, eye = rg.assembly(kind), np.eye(3)
    a.body("base", mass=3.0, inertia=0.1 * eye)
    for name, at in (("crank", (0, 0, -0.1)), ("rod", (0.1, 0, -0.2)), ("lever", (0.25, 0, -0.1))):
        a.body(name, mass=0.4, com=at, inertia=0.01 * eye)
    if kind == "geared":
        a.hinge("mount", "ground", "base", at=(0, 0.1, 0), axis=(0, 1, 0))
    else:
        a.joint(kind, "mount", "ground", "base")
    a.hinge("A", "base", "crank", at=(0, 0, 0), axis=(0, 1, 0))
    a.hinge("B", "crank", "rod", at=(0.02, 0, -0.2), axis=(0, 1, 0))
    a.hinge("C", "rod", "lever", at=(0.25, 0, -0.22), axis=(0, 1, 0))
    a.hinge("D", "base", "lever", at=(0.3, 0, 0), axis=(0, 1, 0))
    if kind == "geared":
        a.coupling("gear", {"mount": 1.0, "A": -2.0})
    return a.mechanism()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["free", "planar", "geared"])
def test_generated_steps_on_moving_bases_and_with_gears_are_the_kernels(kind: str) -> None:
    r = rg.to_pinocchio(rg.reduce(on_a_base(kind)))
    fast = r.compiled(lanes=2)
    assert fast.computed_by == "generated code of 2 lanes"
    q, v, tau = states(r, 5)
    found, known = fast.rollout(q, v, tau, H, 20), r.rollout(q, v, tau, H, 20)
    assert found.ok.all() and found.residual.max() < 1e-9
    assert found.q == pytest.approx(known.q, abs=1e-9)
    assert found.v == pytest.approx(known.v, abs=1e-8 * (1.0 + np.abs(known.v).max()))


def test_dependent_rows_are_refused_with_a_way_out() -> None:
    legacy = rg.to_pinocchio(rg.reduce(mechanisms.bennett()), style="legacy")
    with pytest.raises(rg.UnsupportedExport, match="'rows'"):
        legacy.compiled()


def load(path: Path, *flags: str) -> ctypes.CDLL:
    built = path.with_suffix(".so")
    command = [str(CC), "-O1", *flags, "-shared", "-fPIC", "-o", str(built), str(path), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(built))


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
def test_straight_c(lanes: int, tmp_path: Path) -> None:
    r = robot("knee_leg")
    path = r.to_c(tmp_path / "knee.c", lanes=lanes)
    plain = ("-std=c99", "-pedantic", "-Wall", "-Werror") if lanes == 1 else ("-march=native",)
    library = load(path, *plain)
    q, v, tau = states(r, 7)
    a, one = np.empty_like(v), np.empty(r.nv)

    def at(*arrays: np.ndarray) -> list[Any]:
        return [x.ctypes.data_as(ctypes.c_void_p) for x in arrays]

    assert library.knee_forward_dynamics_batch(7, *at(q, v, tau, a)) == 0
    assert library.knee_forward_dynamics(*at(q[2], v[2], tau[2], one)) == 0
    expected = r.forward_dynamics(q, v, tau)
    assert a == pytest.approx(expected, rel=1e-10) and one == pytest.approx(expected[2], rel=1e-10)
    assert "knee_forward_dynamics_batch" in path.with_suffix(".h").read_text()
    assert path.stat().st_size < 200_000


CAMS: Any = [{"coefficients": (0, 0.1, 0.05, 0.02, -0.03)}]
CAMS += [{"table": [(-1, -0.2), (0, 0), (0.5, 0.1), (1, 0.15)]}]


@pytest.mark.slow
@pytest.mark.parametrize("function", CAMS, ids=["polynomial", "table"])
def test_couplings_by_functions_in_straight_c(function: Any, tmp_path: Path) -> None:
    a, bodies = rg.assembly("cam"), ("ground", "crank", "rod", "rocker", "ground")
    pins = ((0.0, 0, 0), (0, 0, 0.2), (0.4, 0, 0.3), (0.4, 0, 0))
    for name, at in zip((*bodies[1:4], "cam"), pins, strict=True):
        a.body(name, mass=1.0, com=at, inertia=0.01 * np.eye(3))
    for name, one, other, at in zip("ABCD", bodies, bodies[1:], pins, strict=False):
        a.hinge(name, one, other, at=at, axis=(0, 1, 0))
    a.slider("S", "ground", "cam", at=(0, 0, 1), axis=(0, 0, 1))
    a.coupling("c", {"S": 2.0, "A": -1.0}, **function)
    r = rg.to_pinocchio(rg.reduce(a.mechanism()))
    states = r.rollout(r.q0, np.zeros(r.nv), np.zeros(r.nv), 5e-3, 60)
    assert states.ok.all()
    q, v = np.ascontiguousarray(states.q[::6]), np.ascontiguousarray(states.v[::6])
    tau, found = np.random.default_rng(0).normal(size=v.shape), np.empty_like(v)
    library = load(r.to_c(tmp_path / "cam.c", lanes=1))
    given = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, tau, found)]
    assert library.cam_forward_dynamics_batch(len(q), *given) == 0
    expected = r.forward_dynamics(q, v, tau)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    fast = r.compiled(lanes=1).rollout(r.q0, np.zeros(r.nv), np.zeros(r.nv), 5e-3, 60)
    assert fast.ok.all() and fast.q == pytest.approx(states.q, abs=1e-9)


def along_loops(r: rg.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Any:
    """Velocities that the loops allow, and the acceleration's derivatives along them."""
    free = r.split(q).free
    return free, r.dynamics_derivatives(q, v, tau).ddq_dq @ free


@pytest.mark.parametrize("name", ["planar_fourbar", "knee_leg", "walker"])
def test_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    r = robot(name)
    f, (q, v, tau) = r.to_jax(), states(r, 6)
    a = np.asarray(jax.jit(jax.vmap(f))(q, v, tau))
    assert a == pytest.approx(r.forward_dynamics(q, v, tau), rel=1e-9, abs=1e-9)
    free, expected = along_loops(r, q[0], v[0], tau[0])
    found = np.asarray(jax.jit(jax.jacrev(f))(q[0], v[0], tau[0])) @ free
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["planar_fourbar", "knee_leg", "walker"])
def test_casadi(name: str) -> None:
    pytest.importorskip("casadi")
    r = robot(name)
    f, (q, v, tau) = r.to_casadi(), states(r, 2)
    assert f(q[0], v[0], tau[0]).full().ravel() == pytest.approx(
        r.forward_dynamics(q[0], v[0], tau[0]), rel=1e-9, abs=1e-9
    )
    free, expected = along_loops(r, q[0], v[0], tau[0])
    found = f.jacobian()(q[0], v[0], tau[0], 0)[0].full() @ free
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()


def example(name: str) -> Any:
    """A program of ``assets/examples``."""
    path = Path(__file__).resolve().parents[3] / "assets" / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_loops_close_in_a_collocation_in_casadi_as_steps_get_shorter() -> None:
    pytest.importorskip("casadi")
    bend, errors = example("knee_leg_collocation").bend, []
    for steps in (6, 12):
        r, path = bend(0.1, steps=steps, h=0.18 / steps)
        assert path[-1, r.velocity_indices(["knee_front"])[0]] == pytest.approx(0.1, abs=1e-6)
        errors.append(np.abs(r.residual(path)).max())
    assert errors[1] < 0.4 * errors[0] < 0.01  # of second order, as the rule is


def test_many_robots_move_in_one_jax_program() -> None:
    pytest.importorskip("jax")
    assert example("thousand_robots").fall(count=20, steps=10) < 1e-6


@pytest.mark.parametrize("name", ["planar_fourbar", "knee_leg", "walker"])
def test_warp(name: str) -> None:
    wp = pytest.importorskip("warp")
    r = robot(name)
    given = states(r, 5)
    arrays = [wp.array(x, dtype=wp.float64, device="cpu") for x in given]
    a = r.forward_dynamics(*given)
    found = r.to_warp(backward=False)(*arrays).numpy()
    assert np.abs(found - a).max() <= 1e-9 * np.abs(a).max()


def test_tapes_of_warp_differentiate() -> None:
    wp = pytest.importorskip("warp")
    r = robot("planar_fourbar")
    given = states(r, 1)
    arrays = [wp.array(x, dtype=wp.float64, device="cpu", requires_grad=True) for x in given]
    f, rows = r.to_warp(), []
    for entry in np.eye(r.nv):
        with wp.Tape() as tape:
            a = f(*arrays)
        tape.backward(grads={a: wp.array(entry[None], dtype=wp.float64, device="cpu")})
        rows.append(arrays[0].grad.numpy()[0].copy())
        tape.zero()
    free, expected = along_loops(r, *(x[0] for x in given))
    assert np.abs(np.array(rows) @ free - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["planar_fourbar", "knee_leg", "walker"])
def test_sympy(name: str) -> None:
    sympy = pytest.importorskip("sympy")
    r = robot(name)
    q, v, tau = (x[0] for x in states(r, 1))
    lines, results = r.to_sympy()
    known = {
        sympy.Symbol(f"{k}{i}", real=True): x
        for k, y in zip(("q", "v", "tau"), (q, v, tau), strict=True)
        for i, x in enumerate(y)
    }
    a = sympy.lambdify(list(known), results, "math", cse=lambda _: (lines, results))(
        *known.values()
    )
    expected = r.forward_dynamics(q, v, tau)
    assert np.abs(np.array(a) - expected).max() <= 1e-9 * np.abs(expected).max()
