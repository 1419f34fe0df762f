"""Imports go one way, wherever they stand: modules on modules below them, packages likewise."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest
from test_door import TAKE_MODELS

import regularize
import regularize.adapters

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2] / "regularize"
#: Verbs that guests bring along: they are of the command line.
VERBS = {
    "regularize.guests.actuation.commands",
    "regularize.guests.design.metamodel_command",
    "regularize.guests.design.workspace_command",
    "regularize.guests.editor",
    "regularize.guests.modes.solve_command",
}

TESTS = Path(__file__).resolve().parents[1]
APART = ("benchmarks", "campaigns", "peers")  # scripts, and what needs large programs
FILES = sorted(path for path in TESTS.rglob("*.py") if path.parent.name not in APART)
HELPERS = {path.stem: path for path in FILES}
#: So many files of the tests look inside of the package.
INSIDE = 60
OPEN = ("regularize", "regularize.adapters")


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


#: The storeys of the house from the ground up; files beside them are taken as rooms of their own.
STOREYS = ("lie", "mechanism", "loops", "reduction", "proofs", "adapters", "repair")
USES = ("dynamics", "report", "commands")
#: Packages whose folders are rooms.
HALLS = ("repair", "dynamics", "guests")


def package_of(module: str) -> str:
    """The storey, or the module itself where it lies at the top."""
    return module.split(".")[1] if "." in module else "__init__"


def room_of(module: str) -> str:
    """The room: a storey, or a folder of a storey that has some."""
    parts = module.split(".")
    return ".".join(parts[1:3]) if len(parts) > 3 and parts[1] in HALLS else package_of(module)


@cache
def package_imports() -> nx.DiGraph:
    """Which package imports which."""
    pairs = ((package_of(a), package_of(b)) for a, b in imports().edges if a not in VERBS)
    return nx.DiGraph((a, b) for a, b in pairs if a != b)


@cache
def room_imports() -> nx.DiGraph:
    """Which room imports which."""
    pairs = ((room_of(a), room_of(b)) for a, b in imports().edges if a not in VERBS)
    return nx.DiGraph((a, b) for a, b in pairs if a != b)


def test_the_model_needs_no_more_than_screws() -> None:
    graph = package_imports()
    assert nx.descendants(graph, "lie") == {"errors", "escape", "tolerances"}
    below = {"errors", "escape", "lie", "output_files", "services", "tolerances"}
    assert nx.descendants(graph, "mechanism") == below


@pytest.mark.parametrize("storey", [*STOREYS, *USES, "guests"])
def test_imports_go_down_a_storey_only(storey: str) -> None:
    graph = package_imports()
    lower = STOREYS[: STOREYS.index(storey)] if storey in STOREYS else (*STOREYS, *USES)
    above = {*STOREYS, *USES, "guests", "page"} - {storey, *lower}
    assert nx.descendants(graph, storey) & above == set()


MODES = pytest.param("guests.modes", marks=pytest.mark.guests("modes"))


@pytest.mark.parametrize("room", ["repair.verification", MODES])
def test_what_needs_no_words_and_no_simulation(room: str) -> None:
    above = {"commands", "report", "dynamics.simulation", "dynamics.pinocchio"}
    assert nx.descendants(room_imports(), room) & above == set()


@pytest.mark.guests("integrations")
def test_other_programs_need_no_more_than_the_robot() -> None:
    graph = room_imports()
    assert {*graph.successors("guests.integrations")} <= {"errors", "lie", "dynamics.pinocchio"}
    assert {*graph.predecessors("guests.integrations")} == set()


@pytest.mark.parametrize(
    ("graph", "least"), [(room_imports, 100), (package_imports, 50), (imports, 1000)]
)
def test_nothing_needs_what_needs_it(graph: Callable[[], nx.DiGraph], least: int) -> None:
    """Neither rooms, nor packages, nor modules."""
    assert graph().number_of_edges() > least
    assert [c for c in nx.strongly_connected_components(graph()) if len(c) > 1] == []


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
    rooms = {"guests", "lie", "loops", "mechanism", "reduction"}
    files = {"errors", "escape", "services", "tolerances", "validation", "version"}
    files |= {"design", "groups", "study"}  # topics of names, not files
    assert loaded == rooms | files


@cache
def inner(path: Path) -> frozenset[str]:
    """What a file of the tests names inside of the package, but for what is open to everyone.

    What it imports from a file beside it that has it from there is no less inside.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            if beside := HELPERS.get(node.module):
                passed_on = {name.rpartition(".")[2]: name for name in inner(beside)}
                names = {passed_on[each.name] for each in node.names if each.name in passed_on}
            elif node.module not in OPEN:
                names = {name for name in names if name != "regularize.cli.main"}
            elif node.module == "regularize":
                names -= {f"regularize.{name}" for name in (*regularize.__all__, "adapters")}
            else:
                names -= {f"regularize.adapters.{name}" for name in regularize.adapters.__all__}
            found |= names
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name not in OPEN}
        elif isinstance(node, ast.Call) and node.args:
            (target, *_) = node.args  # what is patched, or imported by its name
            called = ast.unparse(node.func)
            if called.endswith(("setattr", "import_module", "importorskip")):
                found |= {target.value} if isinstance(target, ast.Constant) else set()
    named = (name for name in found if isinstance(name, str))
    return frozenset(name for name in named if name.startswith("regularize."))


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: not what stands in functions."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        children: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
    else:
        children = [] if isinstance(node, ast.Lambda) else [*ast.iter_child_nodes(node)]
    for child in children:
        yield from at_import(child)


def test_collecting_tests_computes_nothing() -> None:
    computing = {f"rg.{name}" for name in (*TAKE_MODELS, "load")}
    computed = [
        f"{path.name}:{node.lineno}"
        for path in FILES
        for node in at_import(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in computing
    ]
    assert computed == []


def test_tests_speak_the_public_api() -> None:
    """Those that look inside are tests of what cannot be said from outside; they get no more."""
    assert len(FILES) > 100
    inside = {path.name: sorted(names) for path in FILES if (names := inner(path))}
    assert len(inside) <= INSIDE, "\n".join(f"{name}: {inside[name]}" for name in inside)
