"""Which branches of the package the tests take: ``pytest --branches 95``.

A branch is a way out of an ``if``, ``for`` or ``while``: the same ones as coverage.py counts. Left
out are ``if TYPE_CHECKING`` and ``while True``. As a module is imported, an assignment is put into
its tree where a branch begins, and notes that it was taken; tracing lines would take two thirds
longer than the tests. What only other processes take does not count, but for those of pytest-xdist.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Folders of the package; the link in the first one to the second one is not followed.
FOLDERS = ("regularize", "adapters")
TAKEN = "__branches__"
#: How many files are named at the end; all of them with ``--verbose``.
LEAST_COVERED = 20


def marked(source: bytes) -> tuple[ast.Module, list[str]]:
    """A module that notes branches as keys of its dict ``__branches__``, and all their names."""
    tree = ast.parse(source)
    names: list[str] = []

    def mark(block: list[ast.stmt], place: ast.AST, way: str) -> None:
        names.append(f"{place.lineno} {way}")
        note = ast.Subscript(ast.Name(TAKEN, ast.Load()), ast.Constant(names[-1]), ast.Store())
        block.insert(0, ast.copy_location(ast.Assign([note], ast.Constant(None)), place))

    for node in list(ast.walk(tree)):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.While(test=ast.Constant()):
                pass
            case ast.If() | ast.While():
                mark(node.body, node, "true")
                mark(node.orelse, node, "false")
            case ast.For() | ast.AsyncFor():
                mark(node.body, node, "next")
                mark(node.orelse, node, "end")
            case ast.Match():
                for each in node.cases:
                    mark(each.body, each.pattern, "case")
    return ast.fix_missing_locations(tree), names


class Marker(SourceFileLoader):
    """Loads a module whose branches are noted."""

    def __init__(self, name: str, path: str, taken: dict[str, None]) -> None:
        super().__init__(name, path)
        self.taken = taken

    def get_code(self, fullname: str) -> CodeType:
        return compile(marked(self.get_data(self.path))[0], self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, TAKEN, self.taken)
        super().exec_module(module)


class Branches(MetaPathFinder):
    """Marks what is imported of the package; gathers at the end, from other workers as well."""

    def __init__(self, bound: float) -> None:
        self.bound = bound
        self.taken: dict[str, dict[str, None]] = defaultdict(dict)
        self.names: dict[str, list[str]] = {}
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != "regularize":
            return None
        found = (f.find_spec(name, path, target) for f in sys.meta_path if f is not self)
        spec = next((spec for spec in found if spec), None)
        if spec and spec.origin and type(spec.loader) is SourceFileLoader:
            file = Path(spec.origin).resolve()
            if file.is_relative_to(ROOT):
                spec.loader = Marker(name, spec.origin, self.taken[str(file.relative_to(ROOT))])
        return spec

    def pytest_testnodedown(self, node: object) -> None:
        for file, names in getattr(node, "workeroutput", {}).get("branches", {}).items():
            self.taken[file].update(dict.fromkeys(names))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sys.meta_path.remove(self)
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["branches"] = {k: [*v] for k, v in self.taken.items()}
            return
        for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
            self.names[str(path.relative_to(ROOT))] = marked(path.read_bytes())[1]
        if session.exitstatus == pytest.ExitCode.OK and self.percent < self.bound:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def missing(self) -> dict[str, list[str]]:
        """Branches of each file that no test took."""
        return {k: [n for n in v if n not in self.taken[k]] for k, v in self.names.items()}

    @property
    def percent(self) -> float:
        total = sum(map(len, self.names.values()))
        return 100 * (1 - sum(map(len, self.missing.values())) / total)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.names:
            return
        terminalreporter.section("branches that no test takes")
        worst = sorted(self.missing.items(), key=lambda item: -len(item[1]))
        for file, names in worst[: None if terminalreporter.verbosity > 0 else LEAST_COVERED]:
            of = f"{len(names)} of {len(self.names[file])}"
            terminalreporter.write_line(f"{file} {of}: {', '.join(names)}")
        terminalreporter.write_line(
            f"{self.percent:.2f} % of {sum(map(len, self.names.values()))} branches are taken, "
            f"at least {self.bound:g} % should be"
        )
