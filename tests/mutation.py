"""Mutants of the core: one operator, number, condition or statement is changed; does a test notice?

python tests/mutation.py --count 200 --seed 1 regularize/lie regularize/reduction regularize/proofs

Each mutant is run by the tests that came by its line, the quickest first, until one fails. Those
that none notices are printed, but for the ones in ``SAME``, which mean the same as the original.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: The tests of the core; slow ones are left out.
TESTS = (
    *("screw", "subalgebra", "groups", "topology", "line_motions", "freedoms", "grouping"),
    *(
        "reduction",
        "partition",
        "mobility",
        "mobility_answers",
        "known_mechanisms",
        "slack_recognised",
    ),
    *("proofs", "certificate", "descent", "noise", "invariance", "many_loops", "quantities"),
    *("special_cases", "theta_graphs", "closed_branch", "locked_loops", "other_lengths", "units"),
    *("local_geometry", "shaky", "random_mechanisms", "reasons", "motion", "passage", "misfit"),
    "isostatic",
)
#: What the tests load besides the library.
LOADED = ("lxml.etree", "networkx", "pinocchio", "scipy.optimize", "scipy.linalg")
#: Tests that a mutant meets at most, and CPU seconds that they may take.
MEETS, SECONDS = 40, 20
#: By module and change: why a mutant that no test notices is as good as the original.
SAME: dict[tuple[str, str], str] = {
    (
        "regularize/lie/directions.py",
        "tilt < SLIGHT → tilt <= SLIGHT",
    ): "no direction that is computed lies on the bound itself",
    (
        "regularize/proofs/bounding.py",
        "part.rtol or None → part.rtol and None",
    ): "the rank is a guess that the interval arithmetic of the bound has to confirm",
}

SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        module: Path of the file from the root.
        site: Its number among the nodes of the file.
        line: Where it is.
        change: The statement or expression before and after.
    """

    module: str
    site: int
    line: int
    change: str


def changed(node: ast.AST) -> ast.AST | None:
    """The node as a mutant has it; None where there is nothing to change."""
    new: Any = copy.deepcopy(node)
    if isinstance(node, ast.Compare):
        new.ops[0] = SWAPPED[type(node.ops[0])]()
    elif isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in SWAPPED:
        new.op = SWAPPED[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        new = new.operand
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        new.test = ast.UnaryOp(ast.Not(), new.test)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = node.value
        new.value = (
            not value if isinstance(value, bool) else value + 1 if value in (0, 1) else -value
        )
    elif isinstance(node, ast.Return) and not isinstance(node.value, (ast.Constant, type(None))):
        new.value = ast.Constant(None)
    elif isinstance(node, (ast.Expr, ast.Raise, ast.Continue)):
        new = None if isinstance(getattr(node, "value", None), ast.Constant) else ast.Pass()
    else:
        return None
    return None if new is None else ast.fix_missing_locations(ast.copy_location(new, node))


def sites(tree: ast.AST) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None]]]:
    """Nodes that run when the code does, with what puts another in their place."""
    for name, value in ast.iter_fields(tree):
        checks = isinstance(tree, ast.keyword) and tree.arg == "strict"  # of lengths that agree
        if checks or name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for k, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST):
                continue

            def put(new: ast.AST, k: int = k, name: str = name) -> None:
                held = getattr(tree, name)
                if isinstance(held, list):
                    held[k] = new
                else:
                    setattr(tree, name, new)

            yield child, put
            yield from sites(child)


def mutants(module: str) -> Iterator[Mutant]:
    """All changes of a file."""
    for k, (node, _) in enumerate(sites(ast.parse((ROOT / module).read_text()))):
        new = changed(node)
        if new is not None:
            before, after = (ast.unparse(each).splitlines()[0] for each in (node, new))
            yield Mutant(module, k, node.lineno, f"{before} → {after}")  # type: ignore[attr-defined]


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module as a mutant has it."""

    def __init__(self, mutant: Mutant) -> None:
        self.path = ROOT / mutant.module
        self.name = ".".join(Path(mutant.module).with_suffix("").parts)
        self.site = mutant.site

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)  # type: ignore[arg-type]

    def get_filename(self, name: str) -> str:
        return str(self.path)

    def exec_module(self, module: Any) -> None:
        tree = ast.parse(self.path.read_text())
        node, put = list(sites(tree))[self.site]
        new = changed(node)
        assert new is not None
        put(new)
        exec(compile(tree, str(self.path), "exec"), module.__dict__)


class Seen:
    """Which tests come by which line, and how long they take."""

    def __init__(self, modules: list[str]) -> None:
        import coverage

        self.measured = coverage.Coverage(data_file=None, include=[str(ROOT / m) for m in modules])
        self.modules = modules
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.measured.switch_context(item.nodeid)
        started = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - started
        self.measured.switch_context("")

    def by_line(self) -> dict[str, dict[int, list[str]]]:
        """Tests by module and line, the quickest first."""
        data, found = self.measured.get_data(), {}
        for module in self.modules:
            lines = data.contexts_by_lineno(str(ROOT / module))
            found[module] = {
                line: sorted((t for t in tests if t), key=lambda t: self.seconds[t])
                for line, tests in lines.items()
            }
        return found


def alone(work: Callable[[], int], seconds: int) -> int | None:
    """What a function returns in a copy of this process; None where time is up."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            status = work()
        finally:
            os._exit(status)
    ended = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(ended) if os.WIFEXITED(ended) else None


def run(*arguments: str, plugins: tuple[Any, ...] = ()) -> int:
    """Pytest in this process."""
    calm = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0")
    return int(pytest.main([*calm, "-m", "not slow", *arguments], plugins=list(plugins)))


def survey(modules: list[str], kept: Path) -> dict[str, dict[int, list[str]]]:
    """Which tests concern which lines; kept in a file between rounds."""
    if not kept.exists():

        def measure() -> int:
            seen = Seen(modules)
            seen.measured.start()
            files = [f"tests/test_{name}.py" for name in TESTS]
            status = run(*(name for name in files if (ROOT / name).exists()), plugins=(seen,))
            seen.measured.stop()
            kept.write_text(json.dumps(seen.by_line()))
            return status

        assert alone(measure, 3600) == 0, "the tests fail without a mutant"
    found = json.loads(kept.read_text())
    return {m: {int(k): tests for k, tests in lines.items()} for m, lines in found.items()}


def outcome(mutant: Mutant, tests: list[str]) -> str:
    """What becomes of a mutant: noticed, endless, alive or unseen."""
    if not tests:
        return "unseen"

    def meet() -> int:
        sys.meta_path.insert(0, Loader(mutant))
        return run(*tests[:MEETS])

    status = alone(meet, SECONDS)
    return "endless" if status is None else "alive" if status == 0 else "noticed"


def main() -> int:
    """Print who survives; 1 where somebody does."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("paths", nargs="+", help="files or folders of the library")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="mutants to leave out")
    parser.add_argument("--survey", type=Path, default=Path("mutation.json"))
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    files = (p for name in options.paths for p in sorted(Path(name).rglob("*.py")) or [Path(name)])
    modules = [str(path) for path in files if path.name != "__init__.py"]
    for name in LOADED:
        importlib.import_module(name)  # once, for all copies
    tests = survey(modules, options.survey)
    every = [mutant for module in modules for mutant in mutants(module)]
    chosen = random.Random(options.seed).sample(every, min(len(every), options.count))
    counts: dict[str, int] = {}
    for mutant in chosen[options.first :]:
        by_line = tests[mutant.module]
        met = by_line.get(mutant.line) or []
        if not met:  # what runs when the module is loaded concerns all of its tests
            loaded = mutant.line in by_line
            met = (
                list(dict.fromkeys(t for each in by_line.values() for t in each)) if loaded else []
            )
        what = outcome(mutant, met)
        same = SAME.get((mutant.module, mutant.change))
        what = "the same" if same else what
        counts[what] = counts.get(what, 0) + 1
        if what in ("alive", "unseen"):
            print(f"{what:<7} {mutant.module}:{mutant.line}: {mutant.change}", flush=True)
    print(f"{len(every)} mutants, of which: {counts}")
    return int(bool(counts.get("alive", 0) + counts.get("unseen", 0)))


if __name__ == "__main__":
    sys.exit(main())
