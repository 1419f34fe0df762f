"""Straight-line code of a robot against the table kernel, and against its derivatives."""

from __future__ import annotations

import copy
import ctypes
import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import mechanisms
import numpy as np
import pytest
from test_compiled_steps import on_a_base
from test_environments import H, states
from test_environments import robot as shared

import regularize as rg
from regularize.dynamics.step.compiled import Kernel
from regularize.dynamics.step.compiled import which as which_kernel
from regularize.dynamics.tape import jit
from regularize.dynamics.tape.robot_programs import RobotPrograms

ASSETS = Path(__file__).resolve().parents[3] / "assets"
CC = which("gcc") or which("clang") or which("cc")
by_llvm = pytest.mark.skipif(
    not jit.available() or not hasattr(Kernel, "use"), reason="without llvmlite"
)
by_compiler = pytest.mark.skipif(CC is None, reason="without a C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def robot(name: str) -> rg.Robot:
    """A robot that nobody has used."""
    return copy.deepcopy(shared(name))


def close(found: rg.SteppedStates, known: rg.SteppedStates) -> bool:
    """Whether steps are sound, and lead to where others do."""
    off = max(np.abs(found.q - known.q).max(), np.abs(found.v - known.v).max())
    sound = bool(found.ok.all()) and found.residual.max() < 1e-9
    return sound and bool(off < 1e-9 * (1.0 + np.abs(known.v).max()))


@by_llvm
@pytest.mark.parametrize("name", ["planar_fourbar", "knee_leg", "stewart_6ups"])
def test_many_states_and_the_hundredth_one_are_computed_by_llvm_unasked(name: str) -> None:
    r, alone = robot(name), robot(name)
    q, v, tau = states(r, 67)
    tables = r.forward_dynamics(q, v, tau, compile=False)
    steps = r.rollout(q, v, tau, H, 3, compile=False)
    assert r.computed_by == "compiled"
    a = r.forward_dynamics(q, v, tau)
    assert r.computed_by == "llvm" and "llvm" in repr(r)
    assert np.abs(a - tables).max() <= 1e-11 * np.abs(tables).max()
    assert np.array_equal(r.forward_dynamics(q, v, tau, threads=3), a)
    assert np.array_equal(copy.deepcopy(r).forward_dynamics(q, v, tau), a)
    assert close(r.rollout(q, v, tau, H, 3), steps)
    assert close(r.step(q, v, tau, H, threads=2), r.step(q, v, tau, H, compile=False))
    decayed = [alone.stabilized_dynamics(*x, frequency=9.0) for x in zip(q, v, tau, strict=True)]
    assert r.stabilized_dynamics(q, v, tau, frequency=9.0) == pytest.approx(np.array(decayed))
    few, one = (q[:5], v[:5], tau[:5]), (q[0], v[0], tau[0])
    assert np.array_equal(alone.forward_dynamics(*few), tables[:5])
    found = [alone.forward_dynamics(*one) for _ in range(102)]
    assert np.array_equal(found[98], tables[0]) and alone.computed_by == "llvm"
    assert np.abs(found[-1] - tables[0]).max() <= 1e-11 * np.abs(tables[0]).max()
    last = [alone.step(*one, H) for _ in range(102)][-1]
    assert close(last, alone.step(*one, H, compile=False))
    assert any(stepper.coded for stepper in alone._steppers.values())


@by_llvm
@pytest.mark.parametrize("name", ["planar_fourbar", "knee_leg", "free", "planar", "geared", "cam"])
def test_derivatives_of_many_states_are_computed_by_llvm(name: str) -> None:
    r = cam(CAMS[0]) if name == "cam" else on_base(name) if name in BASES else robot(name)
    q, v, tau = states(r, 65)
    for options in ({}, {"frequency": 9.0}):
        known = [r.dynamics_derivatives(*x, **options) for x in zip(q, v, tau, strict=True)]
        assert options or r.computed_by == "compiled"  # tables compute single states
        found = r.dynamics_derivatives(q, v, tau, **options)
        assert r.computed_by == "llvm"
        for field in ("a", "ddq_dq", "ddq_dv", "ddq_dtau"):
            expected = np.array([getattr(x, field) for x in known])
            assert np.abs(getattr(found, field) - expected).max() <= 1e-10 * np.abs(expected).max()
    one = r.compiled().dynamics_derivatives(q[1], v[1], tau[1])
    along, h = r.split(q[1]).free[:, 0], 1e-6
    ends = [r.project(r.tree.space.integrate(q[1], s * along)) for s in (h, -h)]
    rates = [r.project_velocity(end, v[1]) for end in ends]
    a = [r.forward_dynamics(x, u, tau[1]) for x, u in zip(ends, rates, strict=True)]
    slope, turning = (a[0] - a[1]) / (2 * h), (rates[0] - rates[1]) / (2 * h)
    off = slope - one.ddq_dq @ along - one.ddq_dv @ turning
    assert np.abs(off).max() <= 1e-5 * (1.0 + np.abs(slope).max())


@by_llvm
def test_code_is_kept_for_later_processes_and_made_anew_where_it_was_damaged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    r, given = robot("planar_fourbar"), states(robot("planar_fourbar"), 64)
    a = r.forward_dynamics(*given)
    (kept,) = tmp_path.rglob("*.o")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-8])
    monkeypatch.setattr(jit, "_USED", {})
    assert np.array_equal(robot("planar_fourbar").forward_dynamics(*given), a)
    assert kept.read_bytes() == whole
    monkeypatch.setattr(jit, "_USED", {})
    with monkeypatch.context() as m:
        m.setattr(RobotPrograms, "routine", None)  # nothing is recorded again
        assert np.array_equal(robot("planar_fourbar").forward_dynamics(*given), a)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")  # nothing can be kept there
    monkeypatch.setattr(jit, "_USED", {})
    assert np.array_equal(robot("planar_fourbar").forward_dynamics(*given), a)


def test_without_llvmlite_tables_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "available", lambda: False)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    jit._llvm.cache_clear()
    r = robot("planar_fourbar")
    q, v, tau = states(r, 64)
    assert np.isfinite(r.forward_dynamics(q, v, tau)).all() and r.step(q, v, tau, H).ok.all()
    assert r.computed_by == which_kernel()
    with pytest.raises(rg.UnsupportedExport, match=r"pin-regularize\[jit\]|compiled kernel"):
        r.compiled()


@by_llvm
def test_bad_states_and_wide_steps_are_masked() -> None:
    r = robot("planar_fourbar")
    q, v, tau = states(r, 70)
    q[4], tau[7] = np.nan, np.inf
    good = [n for n in range(70) if n not in (4, 7)]
    a = r.forward_dynamics(q, v, tau)
    assert np.isnan(a[[4, 7]]).all() and np.isfinite(a[good]).all()
    for h, steps in ((H, 30), (0.05, 8)):  # the second is more than two rounds are enough for
        found = r.rollout(q, v, tau, h, steps)
        known = r.rollout(q, v, tau, h, steps, compile=False)
        # Wide steps are chaotic: at first both are the same.
        same = slice(None) if h == H else slice(2)
        assert np.array_equal(found.ok[:, same], known.ok[:, same])
        assert found.ok[good, 1].all() and not found.ok[[4, 7], 1:].any()
        assert np.array_equal(found.ok[good], np.isfinite(found.q[good]).all(axis=2))
        assert np.nanmax(found.residual) < 1e-9
        assert found.q[good, 1] == pytest.approx(known.q[good, 1], abs=1e-9)


@pytest.mark.slow
@by_llvm
@pytest.mark.parametrize(
    ("name", "count", "borne"),
    [
        ("planar_fourbar", 20_000, 1e-11),
        ("gripper", 20_000, 1e-9),  # its equations' condition is 1e6 where nothing is singular
        ("planar_fourbar", 1_000_000, 1e-11),
        ("walker", 1_000_000, 1e-11),
    ],
)
def test_random_states_are_as_of_the_tables(name: str, count: int, borne: float) -> None:
    r, rng = robot(name), np.random.default_rng(3)
    q = rng.uniform(-np.pi, np.pi, size=(count, r.nq))
    v, tau = rng.normal(size=(2, count, r.nv))
    # Stretched, or on top of each other: rows depend on each other or, farther away, nearly so.
    many = count // 50
    q[:many] = np.pi * rng.integers(0, 2, size=(many, r.nq))
    q[: many // 2] += 10.0 ** rng.uniform(-13, -2, size=(many // 2, 1)) * v[: many // 2]
    q[many : many + 20], v[many + 20], tau[many + 21] = np.inf, np.nan, -np.inf
    a, known = (r.forward_dynamics(q, v, tau, compile=x) for x in (True, False))
    found = np.isfinite(a).all(axis=1)
    assert found.mean() > 0.9 and not found[many : many + 22].any()
    error = np.abs(a - known)[found].max(axis=1) / (1.0 + np.abs(known[found]).max(axis=1))
    assert error.max() <= borne


BASES = ["free", "planar", "geared"]


def on_base(kind: str) -> rg.Robot:
    """A four-bar on a joint of a kind, or geared to a hinge that carries it."""
    mechanism = on_a_base("revolute" if kind == "geared" else kind)
    gear = rg.Coupling("gear", "gear", (("base", 0, 1.0), ("A", 0, -2.0)))
    mechanism = replace(mechanism, couplings=(gear,) if kind == "geared" else ())
    return rg.to_pinocchio(rg.reduce(mechanism))


@by_llvm
@pytest.mark.parametrize("kind", BASES)
def test_generated_steps_on_moving_bases_and_with_gears_are_the_tables(kind: str) -> None:
    r = on_base(kind)
    fast = r.compiled(lanes=2)
    assert fast.computed_by == "llvm" and r.computed_by == "compiled"
    q, v, tau = states(r, 5)
    assert close(fast.rollout(q, v, tau, H, 20), r.rollout(q, v, tau, H, 20, compile=False))


@by_llvm
def test_dependent_rows_are_refused_with_a_way_out() -> None:
    with pytest.raises(rg.UnsupportedExport, match="independent rows"):
        rg.to_pinocchio(rg.reduce(rg.load(ASSETS / "bricard.urdf"))).compiled()
    legacy = rg.to_pinocchio(rg.reduce(mechanisms.bennett()), style="legacy")
    with pytest.raises(rg.UnsupportedExport, match="'rows'"):
        legacy.compiled()


def load(path: Path, *flags: str) -> ctypes.CDLL:
    built = path.with_suffix(".so")
    command = [str(CC), "-O1", *flags, "-shared", "-fPIC", "-o", str(built), str(path), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(built))


@pytest.mark.slow
@by_compiler
@pytest.mark.parametrize(
    ("lanes", "flags"),
    [(1, ["-std=c99", "-pedantic", "-Wall"]), (4, ["-march=native"]), (4, ["-Wall"]), (8, [])],
)
def test_straight_c(lanes: int, flags: list[str], tmp_path: Path) -> None:
    """Vectors are taken whatever the processor is said to have."""
    r = robot("knee_leg")
    path = r.to_c(tmp_path / "knee.c", lanes=lanes)
    library = load(path, *flags, "-Werror")
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


def cam(function: Any) -> rg.Robot:
    """A four-bar whose crank lifts a slide by a function."""
    a, bodies = rg.assembly("cam"), ("ground", "crank", "rod", "rocker", "ground")
    pins = ((0.0, 0, 0), (0, 0, 0.2), (0.4, 0, 0.3), (0.4, 0, 0))
    for name, at in zip((*bodies[1:4], "cam"), pins, strict=True):
        a.body(name, mass=1.0, com=at, inertia=0.01 * np.eye(3))
    for name, one, other, at in zip("ABCD", bodies, bodies[1:], pins, strict=False):
        a.hinge(name, one, other, at=at, axis=(0, 1, 0))
    a.slider("S", "ground", "cam", at=(0, 0, 1), axis=(0, 0, 1))
    a.coupling("c", {"S": 2.0, "A": -1.0}, **function)
    return rg.to_pinocchio(rg.reduce(a.mechanism()))


@pytest.mark.slow
@by_compiler
@pytest.mark.parametrize("function", CAMS, ids=["polynomial", "table"])
def test_couplings_by_functions_in_straight_c(function: Any, tmp_path: Path) -> None:
    r = cam(function)
    states = r.rollout(r.q0, np.zeros(r.nv), np.zeros(r.nv), 5e-3, 60)
    assert states.ok.all()
    q, v = np.ascontiguousarray(states.q[::6]), np.ascontiguousarray(states.v[::6])
    tau, found = np.random.default_rng(0).normal(size=v.shape), np.empty_like(v)
    library = load(r.to_c(tmp_path / "cam.c", lanes=1))
    given = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, tau, found)]
    assert library.cam_forward_dynamics_batch(len(q), *given) == 0
    expected = r.forward_dynamics(q, v, tau)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if jit.available() and hasattr(Kernel, "use"):
        assert close(r.compiled().rollout(r.q0, 0 * r.q0, 0 * r.q0, 5e-3, 60), states)


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
