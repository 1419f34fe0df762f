"""An adapter of another distribution, installed beside the package and found by its entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # it is installed by pip

EXAMPLE = Path(__file__).parents[1] / "example_adapter"
FOUR_BAR = """sticks 1
A ground crank 0 0
B crank coupler 0.1 0.3
C coupler rocker 0.9 0.5
D rocker ground 1 0
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "regularize_sticks.py"):
        (source / name).write_text((EXAMPLE / name).read_text())
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    if find_spec("setuptools"):
        command.insert(-1, "--no-build-isolation")
    done = subprocess.run([*command, str(target), str(source)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the example cannot be installed here: {done.stderr[-200:]}")
    paths = [str(target), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "120"}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "regularize", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_it_is_listed(environment: dict[str, str]) -> None:
    assert "sticks" in run(environment, "formats").stdout


def test_its_files_are_checked(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "linkage.txt"
    path.write_text(FOUR_BAR)
    done = run(environment, "check", str(path), "--output", "json")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["model"]["format"] == "sticks"
    assert (report["mobility"]["redundant"], report["reduction"]["kept"]) == (3, 2)


def test_its_errors_are_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "broken.sticks"
    path.write_text("sticks 1\nA ground crank 0\n")
    done = run(environment, "check", str(path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "broken.sticks:2" in done.stderr
