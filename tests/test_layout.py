"""Imports go one way, wherever they stand: modules on modules below them, packages likewise."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1] / "regularize"


def modules() -> dict[str, Path]:
    """Every module of the library with its file, names as in ``regularize.lie.screw``."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")) + sorted((ROOT / "adapters").rglob("*.py")):
        parts = [ROOT.name, *path.relative_to(ROOT).with_suffix("").parts]
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


@cache
def imports() -> nx.DiGraph:
    """Which module imports which: at its top, in functions, or for type checkers alone."""
    found, graph = modules(), nx.DiGraph()
    for module, path in found.items():
        if module == ROOT.name:
            continue  # the door, which opens to everything
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ROOT.name):
                for alias in node.names:
                    needed = f"{node.module}.{alias.name}"
                    graph.add_edge(module, needed if needed in found else node.module)
    return graph


def package_of(module: str) -> str:
    """The package, or the module itself where it lies at the top."""
    return module.split(".")[1] if "." in module else "__init__"


@cache
def package_imports() -> nx.DiGraph:
    """Which package imports which."""
    pairs = ((package_of(a), package_of(b)) for a, b in imports().edges)
    return nx.DiGraph((a, b) for a, b in pairs if a != b)


def test_the_model_needs_no_more_than_screws() -> None:
    graph = package_imports()
    assert nx.descendants(graph, "lie") == set()
    assert nx.descendants(graph, "model") == {"displayed", "errors", "input_files", "lie"}


@pytest.mark.slow
@pytest.mark.parametrize("package", ["manifold", "local_geometry", "reduction", "assembly_modes"])
def test_mathematics_needs_no_simulation_and_no_words(package: str) -> None:
    above = {"adapters", "commands", "render", "report", "pinocchio_model", "dynamics"}
    assert nx.descendants(package_imports(), package) & above == set()


def test_what_is_written_is_verified_without_words_and_pictures() -> None:
    """It stands beside the report: on adapters and the reduction, below the commands."""
    graph = package_imports()
    above = {"commands", "render", "report", "dynamics", "metamodels", "pinocchio_model"}
    assert nx.descendants(graph, "verification") & above == set()


def test_other_programs_need_no_more_than_the_robot() -> None:
    graph = package_imports()
    assert set(graph.successors("integrations")) <= {"errors", "lie", "pinocchio_model"}
    assert set(graph.predecessors("integrations")) == set()


def test_no_package_needs_one_that_needs_it() -> None:
    graph = package_imports()
    assert graph.number_of_edges() > 50
    assert [c for c in nx.strongly_connected_components(graph) if len(c) > 1] == []


def test_no_module_needs_one_that_needs_it() -> None:
    graph = imports()
    assert graph.number_of_edges() > 1000
    assert [c for c in nx.strongly_connected_components(graph) if len(c) > 1] == []


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, str] = {}
    for module, path in modules().items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                assert homes.setdefault(node.name, module) == module, node.name


def test_the_reduction_stands_on_its_own() -> None:
    """It takes formulas where they are offered, and loads none."""
    code = "import sys, regularize.reduction.reduce; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[1] for name in run.stdout.split() if name.startswith("regularize.")}
    assert loaded == {
        "arguments",
        "displayed",
        "errors",
        "lie",
        "manifold",
        "model",
        "reduction",
        "version",
    }
