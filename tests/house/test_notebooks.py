"""Notebooks run from top to bottom, and generated files are what their sources say."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from regularize.cli import main

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "assets" / "examples").glob("*.ipynb"))


def maker() -> ModuleType:
    """The script that writes pages and notebooks."""
    path = ROOT / "assets" / "make_handbook.py"
    spec = importlib.util.spec_from_file_location("make_handbook", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_generated_files_are_not_stale() -> None:
    files = maker().made()
    assert {path for path in files if path.suffix == ".ipynb"} == set(NOTEBOOKS)
    stale = [p.name for p, text in files.items() if p.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python assets/make_handbook.py"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Converted matrix")  # of OSQP, which takes sparse matrices
@pytest.mark.filterwarnings("ignore:The default value of raise_error")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells in order, as a kernel runs them; lines with `!` go to the command line."""
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    namespace: dict[str, object] = {"__name__": "__main__"}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert any(cell["cell_type"] == "markdown" for cell in cells)
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        code = "".join(cell["source"])
        assert cell["outputs"] == []
        if not code.startswith("!"):
            for name in re.findall(r"^(?:import|from) (\w+)", code, re.M):
                pytest.importorskip(name)
            exec(compile(code, path.name, "exec"), namespace)
            continue
        for line in code.splitlines():
            program, *arguments = shlex.split(line.removeprefix("!"), comments=True)
            if program == "regularize":
                assert main(arguments) == 0, line
            else:
                assert (program, arguments[0]) == ("pip", "install"), line


def test_every_public_name_is_in_the_reference() -> None:
    import regularize as rg

    names = [name for name in rg.__all__ if not name.startswith("_")]
    pages = [*(ROOT / "assets" / "handbook").glob("api*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [n for n in names if f"\n### {n}\n" not in text or f"\n## {n}\n" not in text] == []
