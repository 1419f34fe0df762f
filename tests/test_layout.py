"""Imports go one way: modules on modules below them, packages on packages below them."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1] / "regularize"

#: Where the library reaches for everything.
DOORS = {"__init__", "__main__", "cli", "density", "loading", "reduction_file", "saving"}


def imports() -> nx.DiGraph:
    """Which module imports which when it is loaded, names as in ``regularize.screw``."""
    graph = nx.DiGraph()
    for path in [*ROOT.glob("*.py"), *ROOT.glob("*/*.py")]:
        parts = [ROOT.name, *path.relative_to(ROOT).with_suffix("").parts]
        module = ".".join(part for part in parts if part != "__init__")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ROOT.name):
                for alias in node.names:
                    needed = f"{node.module}.{alias.name}"
                    graph.add_edge(module, needed if is_module(needed) else node.module)
    return graph


def is_module(name: str) -> bool:
    """Whether a name is a module or a package, and not something in one."""
    path = ROOT.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def package_of(module: str) -> str:
    """The package, or the module itself where it lies at the top."""
    return module.split(".")[1] if "." in module else "__init__"


def test_no_module_needs_one_that_needs_it() -> None:
    graph = imports()
    assert graph.number_of_edges() > 400
    assert [c for c in nx.strongly_connected_components(graph) if len(c) > 1] == []


def test_no_package_needs_one_that_needs_it() -> None:
    pairs = ((package_of(a), package_of(b)) for a, b in imports().edges)
    graph = nx.DiGraph((a, b) for a, b in pairs if a != b)
    assert [c for c in nx.strongly_connected_components(graph) if len(c) > 1] == []


def test_the_ground_floor_needs_no_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    for module, needed in imports().edges:
        if module.count(".") == 1 and package_of(module) not in DOORS | packages:
            assert package_of(needed) not in packages, f"{module} imports {needed}"


@pytest.mark.parametrize("package", ["closed_forms", "reducing", "assembling"])
def test_mathematics_needs_no_simulation_and_no_words(package: str) -> None:
    above = {"adapters", "commands", "render", "reporting", "robots", "simulating", "minimal"}
    for module, needed in imports().edges:
        if package_of(module) == package:
            assert package_of(needed) not in above, f"{module} imports {needed}"
