"""Names of functions that are written out: what compiles is allowed, what does not is refused."""

from __future__ import annotations

import ast
import ctypes
import inspect
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from closed_form_cases import CASES

from regularize.assembly_modes.closed_form import ClosedForm, closed_form, runtime
from regularize.assembly_modes.closed_form.array_runtime import ARRAY, _rotation_vectors
from regularize.assembly_modes.closed_form.function_names import (
    C_KEYWORDS,
    C_RESERVED,
    c_name,
    python_name,
)
from regularize.assembly_modes.closed_form.runtime_c import _statements, c_functions, names_used
from regularize.errors import ModelError
from regularize.lie import screw

NO_NAMES = ["", "2a", "a b", "a-b", "solve\n", None, 3, "a.b"]
HELPERS = ["circle", "quadratic", "unit", "across", "angle", "angle_from", "exponential"]


def elbow() -> ClosedForm:
    (mechanism, inputs), _ = CASES["elbow manipulator"]
    return closed_form(mechanism, inputs)


ELBOW = elbow()


@pytest.mark.parametrize("name", [*NO_NAMES, *HELPERS, "PI", "int", "main", "sin", "NAN", "π"])
def test_names_that_c_does_not_allow(name):
    with pytest.raises(ModelError, match="name"):
        ELBOW.to_c(name)


@pytest.mark.parametrize("name", [*NO_NAMES, *HELPERS, "math", "NAN", "class", "None", "abs"])
def test_names_that_python_does_not_allow(name):
    with pytest.raises(ModelError, match="name"):
        ELBOW.to_python(name)


def test_equations_at_the_edge_of_having_a_solution() -> None:
    """Two solutions that nearly coincide, one by rounding, none that is known."""
    c, s, discriminant = runtime.circle(1.0, 0.0, 1.0 - 1e-7, 1.0, 1e-3)
    assert 0.0 < discriminant < 1e-6
    assert (c, s) == pytest.approx((-1.0 + 1e-7, np.sqrt(discriminant)))
    assert runtime.quadratic(1.0, 1.0, 1.0 + 1e-9, 1.0, 1e-6) == (-1.0, 0.0)
    assert np.isnan(_rotation_vectors(*np.full((9, 2), np.nan))).all()


def test_statements_that_c_has_not_are_refused() -> None:
    with pytest.raises(TypeError, match="this statement has no translation to C: del x"):
        _statements(ast.parse("del x").body, "")


@pytest.mark.parametrize("name", ["x", "q", "branch", "t0", "r0", "i", "_x", "lösung", "match"])
def test_names_that_python_allows_work(name):
    namespace: dict[str, object] = {}
    exec(ELBOW.to_python(name), namespace)
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
    assert compiled(tmp_path, ELBOW.to_c(name)).stderr == ""


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


def test_every_helper_is_known():
    for word in c_functions(names_used()).split():
        name = word.partition("(")[0]
        if "(double" in word:
            with pytest.raises(ModelError, match="itself"):
                ELBOW.to_c(name)


def test_checks_on_their_own():
    assert c_name("loop", ["circle"]) == python_name("loop", ["circle"]) == "loop"
    with pytest.raises(ModelError, match="belongs to C"):
        c_name("_Loop", [])


def test_joints_may_have_any_name(tmp_path):
    """Comments do not end early, nor strings, whatever the user's names are."""
    (mechanism, _), _ = CASES["planar 4R"]
    odd = ["*/ int x; /*", '"""\\', "a\nb??/", "Gelenk ä"]
    joints = tuple(
        replace(joint, name=name) for joint, name in zip(mechanism.joints, odd, strict=True)
    )
    solution = closed_form(replace(mechanism, joints=joints), [odd[0]])
    result = compiled(tmp_path, solution.to_c())
    assert result.stderr == ""
    namespace: dict[str, object] = {}
    exec(solution.to_python(), namespace)
    assert namespace["solve"]([0.1], 0) == pytest.approx(solution.solve(0.1, 0).q[0])


def arguments_of(name: str, rng: np.random.Generator) -> list[list[float]]:
    """Random arguments of a helper, and those where it decides otherwise."""
    count = len(inspect.signature(getattr(runtime, name)).parameters)
    chosen = rng.normal(size=(50, count))
    chosen[10:20] = np.round(chosen[10:20])
    chosen[20:25] *= 1e-5
    if name in ("circle", "quadratic", "unit"):
        chosen[:, -1] = 1e-14
        chosen[25:30, :2], chosen[30:35, :3], chosen[35:40, 0] = 0.0, 0.0, 0.0
        chosen[40:45] = [*[0.6, 0.8, 1.0, 1.0][: count - 1], 1e-14]
    if name == "across":
        chosen[30:35, :3], chosen[35:40, :3] = 0.0, 1e-3 * chosen[35:40, 3:]
    if name == "rotation_vector":
        turns = screw.exp(np.concatenate([np.zeros((50, 3)), 3 * rng.normal(size=(50, 3))], axis=1))
        turns[10] = np.eye(4)
        turns[11:14, :3, :3] = [np.diag(d) for d in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
        chosen = turns[:, :3, :3].reshape(50, 9)
    return chosen.tolist()


@pytest.mark.parametrize("name", [*HELPERS, "rotation_vector"])
def test_helpers_in_c_and_on_arrays_are_those_in_python(name, tmp_path):
    """One definition: what is translated, and what is written for arrays, gives the same."""
    given = arguments_of(name, np.random.default_rng(1))
    expected = []
    for arguments in given:
        try:
            result = getattr(runtime, name)(*arguments)
        except ZeroDivisionError:
            result = ()
        expected.append(np.atleast_1d(result))
    kept = [k for k, result in enumerate(expected) if len(result)]
    assert len(kept) > 25
    columns: list[Any] = [*np.array(given).T]
    if name in ("circle", "quadratic", "unit"):
        columns[-1] = 1e-14
    with np.errstate(all="ignore"):
        on_arrays = np.array(ARRAY[name](*columns))
    on_arrays = np.atleast_2d(np.where(np.isinf(on_arrays), np.nan, on_arrays))
    for k in kept:
        assert np.allclose(on_arrays[:, k], expected[k], rtol=1e-9, atol=1e-12, equal_nan=True)
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "helpers.c", tmp_path / "helpers.so"
    source.write_text(re.sub("static (void|double)", r"\1", c_functions(names_used())))
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", str(library), str(source), "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = ctypes.c_double
    for k in kept:
        numbers = [ctypes.c_double(x) for x in given[k]]
        if len(expected[k]) == 1:
            result = [function(*numbers)]
        else:
            result = (ctypes.c_double * len(expected[k]))()
            function(*numbers, result)
        assert np.allclose(list(result), expected[k], rtol=1e-12, atol=1e-15, equal_nan=True)
