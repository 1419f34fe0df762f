"""Names of functions that are written out: what compiles is allowed, what does not is refused."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import screws
from closed_form_cases import CASES

import regularize as rg
from regularize.dynamics.tape.languages import ARRAYS, C99, NUMPY, PYTHON, Language
from regularize.dynamics.tape.program import needed
from regularize.guests.modes.closed_form.codegen import C_KEYWORDS, C_RESERVED, c_name, python_name
from regularize.guests.modes.closed_form.evaluation import ON_NUMBERS
from regularize.guests.modes.closed_form.operations import Lowering

NO_NAMES = ["", "2a", "a b", "a-b", "solve\n", None, 3, "a.b"]
FUNCTIONS = {
    "circle": 4,
    "quadratic": 4,
    "unit": 2,
    "across": 6,
    "angle": 2,
    "exponential": 6,
    "rotation_vector": 9,
}


@cache
def elbow() -> Any:
    (mechanism, inputs), _ = CASES["elbow manipulator"]
    return rg.closed_form(mechanism, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NO_NAMES, "int", "main", "sin", "NAN", "π"])
def test_names_that_c_does_not_allow(name):
    with pytest.raises(rg.ModelError, match="name"):
        elbow().to_c(name)


@pytest.mark.parametrize("name", [*NO_NAMES, "math", "nan", "sqrt", "class", "None", "abs"])
def test_names_that_python_does_not_allow(name):
    with pytest.raises(rg.ModelError, match="name"):
        elbow().to_python(name)


@pytest.mark.parametrize("name", ["x", "q", "branch", "t0", "r0", "i", "_x", "lösung", "match"])
def test_names_that_python_allows_work(name):
    namespace: dict[str, object] = {}
    exec(elbow().to_python(name), namespace)
    assert len(namespace[name]([-0.2, 0.1, -0.1, 0.2, 0.3, -0.1], 3)) == 12


def compiled(tmp_path: Path, source: str) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "loop.c").write_text(source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    command = [compiler, *flags, str(tmp_path / "loop.c")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["x", "q", "branch", "t0", "r0", "i", "_x", "class", "solve2"])
def test_names_that_c_allows_compile(name, tmp_path):
    assert compiled(tmp_path, elbow().to_c(name)).stderr == ""


@pytest.mark.slow
def test_what_is_refused_for_c_does_not_compile(tmp_path):
    """Keywords of C99, and what its mathematics declares: none could be allowed after all."""
    c99 = C_KEYWORDS - {"alignas", "alignof", "bool", "constexpr", "nullptr", "static_assert"}
    c99 -= {"asm", "false", "thread_local", "true", "typeof", "typeof_unqual"}
    for name in sorted(c99):
        assert compiled(tmp_path, f"int {name}(int x);\n").returncode
    source = "#include <math.h>\n#include <stdlib.h>\n#include <stdio.h>\n"
    for name in ("sin", "remainderl", "isfinite", "abs", "printf", "INFINITY", "qsort"):
        assert name in C_RESERVED
        declared = f"{source}int {name}(const double *x, int branch, double *q);\n"
        assert compiled(tmp_path, declared).returncode


def test_checks_on_their_own():
    assert c_name("loop") == python_name("loop", ["circle"]) == "loop"
    with pytest.raises(rg.ModelError, match="belongs to C"):
        c_name("_Loop")


def test_joints_may_have_any_name(tmp_path):
    """Comments do not end early, nor strings, whatever the user's names are."""
    (mechanism, _), _ = CASES["planar 4R"]
    odd = ["*/ int x; /*", '"""\\', "a\nb??/", "Gelenk ä"]
    joints = tuple(
        replace(joint, name=name) for joint, name in zip(mechanism.joints, odd, strict=True)
    )
    solution = rg.closed_form(replace(mechanism, joints=joints), [odd[0]])
    result = compiled(tmp_path, solution.to_c())
    assert result.stderr == ""
    namespace: dict[str, object] = {}
    exec(solution.to_python(), namespace)
    assert namespace["solve"]([0.1], 0) == pytest.approx(solution.solve(0.1, 0).q[0])


def written(name: str, slack: float, language: Language, lowering: Lowering) -> tuple:
    """Arguments, assignments and results of one function of a tape."""
    arguments = [f"a{i}" for i in range(FUNCTIONS[name])]
    given = [lowering.code.variable(a) for a in arguments]
    results = lowering._functions[name](given, slack)
    lines = language.assignments(needed(results))
    return arguments, lines, [language.name(r) for r in results]


def in_python(
    name: str, slack: float, language: Language, names: dict[str, Any], **options: Any
) -> Any:
    arguments, lines, results = written(name, slack, language, Lowering(**options))
    body = "".join(f"    {line}\n" for line in [*lines, f"return ({', '.join(results)},)"])
    namespace = dict(names)
    exec(f"def function({', '.join(arguments)}):\n{body}", namespace)
    return namespace["function"]


def arguments_of(name: str, rng: np.random.Generator) -> np.ndarray:
    """Random arguments of a function, and those where it decides otherwise."""
    count = FUNCTIONS[name]
    chosen = rng.normal(size=(50, count))
    chosen[10:20] = np.round(chosen[10:20])
    chosen[20:25] *= 1e-5
    if name in ("circle", "quadratic", "unit"):
        chosen[25:30, :2], chosen[30:35, :3], chosen[35:40, 0] = 0.0, 0.0, 0.0
        chosen[40:45] = [0.6, 0.8, 1.0, 1.0][:count]
        chosen[45:48] = [0.6, 0.8, 1.0 + 1e-14, 1.0][:count]
    if name in ("circle", "quadratic"):
        chosen[:, 3] = np.sign(chosen[:, 3]) + (chosen[:, 3] == 0.0)
    if name == "across":
        # Sum and difference of two of equal length.
        first, second = rng.normal(size=(2, 50, 3))
        second[30:35], second[35:40] = -first[30:35], -first[35:40] + 1e-4
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        second /= np.linalg.norm(second, axis=1, keepdims=True)
        chosen = np.concatenate([first + second, first - second], axis=1)
    if name == "rotation_vector":
        turns = screws.exp(
            np.concatenate([np.zeros((50, 3)), 3 * rng.normal(size=(50, 3))], axis=1)
        )
        turns[10] = np.eye(4)
        turns[11:14, :3, :3] = [np.diag(d) for d in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
        chosen = turns[:, :3, :3].reshape(50, 9)
    return chosen


@np.errstate(all="ignore")
def fulfilled(name: str, given: np.ndarray, found: np.ndarray, slack: float) -> np.ndarray:
    """Whether results are what they are meant to be, shape (N,)."""
    if name == "circle":
        (A, B, C, sign), (c, s, d) = given.T, found
        size = np.abs(A) + np.abs(B) + np.abs(C)
        solved = np.abs(A * c + B * s + C) <= 1e-7 * size + slack
        sided = sign * (A * s - B * c) >= -1e-7 * size
        return np.where(np.isnan(c), d < 0.0, solved & sided & (np.abs(c * c + s * s - 1) < 1e-7))
    if name == "quadratic":
        (A, B, C, _), (x, d) = given.T, found
        solved = np.abs(A * x * x + 2 * B * x + C) <= 1e-7 * (1 + x * x)
        return np.where(np.isfinite(x), solved, (d < 0.0) | (A == 0.0) & (B == 0.0))
    if name == "unit":
        length = np.linalg.norm(given, axis=1)
        expected = np.where(length <= slack, [[1.0], [0.0]], given.T / np.maximum(length, slack))
        return np.all(np.abs(found - expected) < 1e-12, axis=0)
    if name == "across":
        m, d = given[:, :3], given[:, 3:]
        across = np.abs(np.sum(found.T * d, axis=1)) <= 1e-12
        along = np.linalg.norm(np.cross(found.T, m), axis=1) <= 1e-7
        return across & along & (np.abs(np.linalg.norm(found, axis=0) - 1.0) < 1e-12)
    if name == "angle":
        turn = found[0] + slack - np.arctan2(*given.T)
        return (np.abs(found[0]) <= np.pi) & (np.abs(np.sin(turn / 2)) < 1e-12)
    if name == "exponential":
        T = screws.exp(given)
        expected = np.concatenate([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]], axis=1).T
        return np.all(np.abs(found - expected) < 1e-9, axis=0)
    T = screws.exp(np.concatenate([np.zeros((3, found.shape[1])), found]).T)
    return np.all(np.abs(T[:, :3, :3].reshape(-1, 9) - given) < 1e-7, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("slack", [1e-14, 0.5])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_the_same_in_python_on_arrays_and_in_c(name, slack, tmp_path):
    """One definition for all languages, and what it is meant to be at special arguments."""
    if slack == 0.5 and name != "angle":
        slack = 1e-13
    given = arguments_of(name, np.random.default_rng(1))
    with np.errstate(all="ignore"):
        on_arrays = in_python(name, slack, ARRAYS, NUMPY)(*given.T)
        plain = in_python(name, slack, ARRAYS, NUMPY, careful=False)(*given.T)
        found, plain = (np.array(np.broadcast_arrays(*x), dtype=float) for x in (on_arrays, plain))
    assert fulfilled(name, given, found, slack).all()
    generic = np.abs(plain - found).max(axis=0) < 1e-9
    assert generic[:10].any() and generic.sum() > 20
    scalar = in_python(name, slack, PYTHON, ON_NUMBERS)
    arguments, lines, results = written(name, slack, C99, Lowering())
    parameters = ", ".join([*(f"double {a}" for a in arguments), "double *r"])
    body = [*(f"const double {line};" for line in lines)]
    body += [f"r[{k}] = {result};" for k, result in enumerate(results)]
    source, library = tmp_path / "function.c", tmp_path / "function.so"
    source.write_text(
        f"#include <math.h>\nvoid f({parameters});\nvoid f({parameters}) {{ {' '.join(body)} }}\n"
    )
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", str(library), str(source), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).f
    for k, numbers in enumerate(given.tolist()):
        result = (ctypes.c_double * len(results))()
        function(*map(ctypes.c_double, numbers), result)
        assert np.allclose(list(result), found[:, k], rtol=1e-9, atol=1e-12, equal_nan=True)
        try:
            expected = scalar(*numbers)
        except ZeroDivisionError:
            assert not np.isfinite(found[:, k]).all()
            continue
        assert np.allclose(expected, found[:, k], rtol=1e-9, atol=1e-12, equal_nan=True)
