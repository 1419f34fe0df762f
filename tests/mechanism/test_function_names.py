"""Names of functions that are written out: what compiles is allowed, what does not is refused."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from closed_form_cases import CASES

import regularize as rg

NO_NAMES = ["", "2a", "a b", "a-b", "solve\n", None, 3, "a.b"]


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
