"""Names of functions that are written out: what compiles is allowed, what does not is refused."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from closed_form_cases import CASES

from regularize.assembly_modes.closed_form import ClosedForm, closed_form
from regularize.assembly_modes.closed_form.function_names import (
    C_KEYWORDS,
    C_RESERVED,
    c_name,
    python_name,
)
from regularize.assembly_modes.closed_form.runtime_c import c_functions, names_used
from regularize.errors import ModelError

pytest.importorskip("sympy")

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
