"""Mutants of the core: one operator, number, condition or statement is changed; does a test notice?

python mutation.py --count 200 --seed 1 regularize/lie regularize/reduction regularize/proofs

Each mutant is run by the tests that came by its line, the quickest first, until one fails. Those
that none notices are printed, but for the ones in ``SAME``, which mean the same as the original.
Which test comes by which line is kept in a file; tests that change are followed anew.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).resolve().parents[2]
#: The core: what the survey follows, and what is changed if nothing else is named.
CORE = ("lie", "loops", "reduction", "proofs", "repair/verification", "mechanism")
#: The tests of the core; slow ones are left out.
TESTS = """
lie groups topology freedoms six_motions reduction partition mobility mobility_answers
known_mechanisms slack_recognised proofs exact_arithmetic forged_proofs crossed_bars literature
certificate descent noise invariance many_loops quantities isostatic special_cases mode_search
locked_loops other_lengths mates local_geometry shaky random_mechanisms reasons motion passage
misfit verification written_files writers fix branches spanning_tree
"""
#: How a copy of the process ends in which a test fails.
NOTICED = 3
#: CPU seconds of tests that a mutant meets at most.
SECONDS = 10
#: Mutants that no test notices and that are as good: why, then module, line's beginning, change.
SAME = """
no direction that is computed lies on the bound itself
    lie/directions.py | if tilt < SLIGHT | tilt < SLIGHT → tilt <= SLIGHT
a projector is symmetric
    lie/directions.py | near = | 0 → 1
no length that is computed is the bound itself
    lie/subalgebra.py | return bool(np.all( | np.linalg.norm(residual(basis, columns), axis=0) <= rtol → np.linalg.norm(residual(basis, columns), axis=0) < rtol
nothing lies outside of the whole space
    lie/subalgebra.py | while | 6 → 7
where they begin is chance, and where they come to is looked at
    loops/branches.py | beside = | 0.02 → 1.02
no smallest eigenvalue is above the distance: none would be better
    loops/second_order.py | if distance <= least | distance <= least → distance < least
only degrees are asked for, of series that are longer than these need
    proofs/curves.py | yield from beyond((), {}, | 1 → 2
longer series say the same of what shorter ones determine
    proofs/curves.py | order = 2 ** max | 1 → 2
    proofs/curves.py | order = 2 ** max | 2 → 3
    proofs/curves.py | order = 2 ** max | 6 → 7
any configurations that were visited will do to begin at
    reduction/certificate.py | starts = | -1 → 1
rows have lengths of order one, and their rank has a gap
    reduction/cuts.py | needed = | rtol * size → rtol / size
whichever negative number stands there, numpy finds the size
    reduction/numerical.py | chosen = independent_rows(parts.reshape( | 1 → 2
no shift that is computed is the tolerance itself
    repair/verification/comparison.py | return np.asarray(np.where( | np.abs(shifts) > self.rtol → np.abs(shifts) >= self.rtol
no error that is computed is the bound itself
    repair/verification/preparing.py | if max(translation, rotation) | max(translation, rotation) < EXACT.closed → max(translation, rotation) <= EXACT.closed
"""  # noqa: E501

#: Operators, and what stands in the place of each in a mutant.
OPERATORS = """
Lt LtE, LtE Lt, Gt GtE, GtE Gt, Eq NotEq, NotEq Eq, In NotIn, NotIn In, Is IsNot, IsNot Is,
Add Sub, Sub Add, Mult Div, Div Mult, FloorDiv Mult, Mod Mult, Pow Mult, BitAnd BitOr,
BitOr BitAnd, And Or, Or And
"""
SWAPPED: dict[type, type] = {
    getattr(ast, old): getattr(ast, new) for old, new in map(str.split, OPERATORS.split(","))
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
        new.value = not value if isinstance(value, bool) else value + 1  # 3 and -3 slice six alike
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


def put_on(mutant: Mutant) -> None:
    """Let the loaded module be as a mutant has it, for all who hold its functions and numbers."""
    module = importlib.import_module(".".join(Path(mutant.module).with_suffix("").parts))
    tree = ast.parse((ROOT / mutant.module).read_text())
    node, put = list(sites(tree))[mutant.site]
    new = changed(node)
    assert new is not None
    put(new)
    made = ModuleType(module.__name__)
    made.__file__ = module.__file__
    try:
        exec(compile(tree, str(module.__file__), "exec"), made.__dict__)
    except Exception:
        os._exit(NOTICED)  # it cannot even be loaded
    _transplant(module, made, module.__name__)


def _transplant(old: Any, new: Any, module: str) -> None:
    """Code, defaults and values of a module or class, from one that was made anew."""
    for name, value in list(vars(old).items()):
        other, function = vars(new).get(name), _function(value)
        # Properties that are kept are instances of functools'.
        home = getattr(function or value, "__module__", module)
        if home != module or name.startswith("__module__"):
            continue
        if isinstance(value, type):
            _transplant(value, other, module)
        elif function is not None:
            made = _function(other)
            function.__code__ = made.__code__
            function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        elif not name.startswith("__") and " at 0x" not in repr(value) != repr(other):
            for holder in {id(each): each for each in (old, *sys.modules.values())}.values():
                if vars(holder).get(name) is value:
                    setattr(holder, name, other)


def _function(value: Any) -> Any:
    """The function in a method, a property or what remembers its results."""
    for inside in ("__func__", "fget", "func", "__wrapped__"):
        value = getattr(value, inside, value)
    return value if isinstance(value, FunctionType) else None


class Seen:
    """Which tests of a file come by which line, and how long they take."""

    def __init__(self) -> None:
        import coverage

        self.modules = modules_of(f"regularize/{name}" for name in CORE)
        included = [str(ROOT / module) for module in self.modules]
        self.measured = coverage.Coverage(data_file=None, include=included)
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.measured.switch_context(item.nodeid)
        started = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - started
        self.measured.switch_context("")

    def lines(self) -> dict[str, dict[str, list[str]]]:
        """Tests by module and line; lines by what they say."""
        data, found = self.measured.get_data(), {}
        for module in self.modules:
            names = named_lines(module)
            contexts = data.contexts_by_lineno(str(ROOT / module)).items()
            found[module] = {names[line - 1]: [t for t in tests if t] for line, tests in contexts}
        return found


def modules_of(paths: Iterable[str]) -> list[str]:
    """Files of the library in these folders."""
    files = (file for path in paths for file in sorted(Path(path).rglob("*.py")) or [Path(path)])
    return [str(file) for file in files if file.name != "__init__.py"]


def named_lines(module: str) -> list[str]:
    """What a line is known by while others change: its text, and how often it stood above."""
    above: Counter[str] = Counter()
    names = []
    for line in (ROOT / module).read_text().splitlines():
        names.append(f"{above[line]} {line}")
        above[line] += 1
    return names


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
            signal.alarm(20 * seconds)  # who waits for another process needs no CPU
            status = work()
        finally:
            os._exit(status)
    ended = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(ended) if os.WIFEXITED(ended) else None


def run(*arguments: str, plugins: tuple[Any, ...] = ()) -> int:
    """Pytest in this process; what fails need not be made small."""
    settings.register_profile(
        "mutants", settings.get_profile("default"), phases=[Phase.explicit, Phase.generate],
        database=None, deadline=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    calm = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0")
    loaded = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # hypothesis is, before pytest
    chosen = ("--hypothesis-profile=mutants", "-m", "not slow", *arguments)
    return int(pytest.main([*calm, *loaded, *chosen], plugins=list(plugins)))


def survey(kept: Path) -> dict[str, Any]:
    """What each file of tests comes by; kept in a file, and made anew of tests that changed."""
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for file in (f"tests/test_{name}.py" for name in TESTS.split()):
        digest = hashlib.sha256((ROOT / file).read_bytes()).hexdigest()
        if found.get(file, {}).get("digest") == digest:
            continue
        with tempfile.NamedTemporaryFile() as written:

            def measure(file: str = file, name: str = written.name) -> int:
                seen = Seen()
                seen.measured.start()
                status = run(file, plugins=(seen,))
                seen.measured.stop()
                Path(name).write_text(json.dumps({"seconds": seen.seconds, "lines": seen.lines()}))
                return status

            # without a mutant all pass, or all are slow
            assert alone(measure, 3600) in (0, 5), f"{file} fails without a mutant"
            found[file] = {"digest": digest, **json.loads(Path(written.name).read_text())}
        kept.write_text(json.dumps(found))
    return found


def concerned(found: dict[str, Any], mutant: Mutant) -> tuple[list[str], float]:
    """Tests that come by the line of a mutant, the quickest first, and their seconds."""
    name = named_lines(mutant.module)[mutant.line - 1]
    every: dict[str, float] = {}
    loaded: dict[str, float] = {}
    for survey in found.values():
        lines, seconds = survey["lines"].get(mutant.module, {}), survey["seconds"]
        every |= {test: seconds[test] for test in lines.get(name, ())}
        if name in lines:  # what runs when the module is loaded concerns all of its tests
            loaded |= {test: seconds[test] for tests in lines.values() for test in tests}
    chosen, spent = [], 0.0
    for test, needed in sorted((every or loaded).items(), key=lambda item: item[1]):
        if chosen and spent + needed > SECONDS:
            break
        chosen.append(test)
        spent += needed
    return chosen, spent


def explained(mutant: Mutant) -> bool:
    """Whether ``SAME`` has the reason why it is none."""
    line = (ROOT / mutant.module).read_text().splitlines()[mutant.line - 1].strip()
    module = mutant.module.removeprefix("regularize/")
    entries = [entry.strip().split(" | ") for entry in SAME.splitlines() if " | " in entry]
    return any(
        (module, mutant.change) == (where, change) and line.startswith(begins)
        for where, begins, change in entries
    )


class Meeting:
    """Lets mutants meet the tests that were collected, each in a copy of this process."""

    def __init__(self, chosen: Sequence[Mutant], found: dict[str, Any]) -> None:
        self.chosen, self.found = chosen, found
        self.counts: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(NOTICED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for mutant in self.chosen:
            tests, seconds = concerned(self.found, mutant)
            met = [items[test] for test in tests if test in items]
            same = explained(mutant)
            what = "the same" if same else self.outcome(mutant, met, seconds)
            self.counts[what] += 1
            if what in ("alive", "unseen"):
                print(f"{what:<7} {mutant.module}:{mutant.line}: {mutant.change}", flush=True)
            if self.counts.total() % 10 == 0:
                print(f"{self.counts.total()} of {len(self.chosen)}: {dict(self.counts)}")
        return True

    def outcome(self, mutant: Mutant, met: list[pytest.Item], seconds: float) -> str:
        """What becomes of a mutant: noticed, endless, alive or unseen."""
        if not met:
            return "unseen"

        def meet() -> int:
            put_on(mutant)
            for item, after in zip(met, [*met[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            return 0

        status = alone(meet, int(3 * seconds + 10))
        assert status in (0, NOTICED, None), f"{mutant} could not be tried"
        return "endless" if status is None else "noticed" if status else "alive"


def main() -> int:
    """Print who survives; 1 where somebody does."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    core = [f"regularize/{name}" for name in CORE]
    parser.add_argument("paths", nargs="*", default=core, help="files or folders of the library")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="mutants to leave out")
    parser.add_argument("--line", type=int, help="all mutants of one line of the files")
    parser.add_argument("--survey", type=Path, default=Path("mutation.json"))
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    found = survey(options.survey)
    every = [mutant for module in modules_of(options.paths) for mutant in mutants(module)]
    chosen = random.Random(options.seed).sample(every, min(len(every), options.count))
    if options.line is not None:
        chosen = [mutant for mutant in every if mutant.line == options.line]
    chosen = chosen[options.first :]
    files = {test.split("::")[0] for mutant in chosen for test in concerned(found, mutant)[0]}
    meeting = Meeting(chosen, found)
    run("-s", *sorted(files), plugins=(meeting,))
    counts = meeting.counts
    print(f"{len(every)} mutants, of which: {dict(counts)}")
    return int(bool(counts["alive"] + counts["unseen"]))


if __name__ == "__main__":
    sys.exit(main())
