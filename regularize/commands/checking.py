"""The work of `regularize check`: analyse each model, then compose one report."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regularize.adapters.common.console import delayed_progress, write_json
from regularize.checking import Report, check
from regularize.commands.files import WouldBeLost, load_model
from regularize.commands.verify import write_proof
from regularize.errors import ReadError, RegularizeError
from regularize.escape import displayed, json_text
from regularize.report import listing, text
from regularize.report.listing import SummaryLine
from regularize.report.suppression import (
    Configuration,
    Suppression,
    baseline_entries,
    configuration,
    known_before,
)
from regularize.services import guest
from regularize.version import SCHEMAS, __version__

if TYPE_CHECKING:
    from regularize.adapters.repository import Repository
    from regularize.mechanism.diagnostic import Diagnostic
    from regularize.mechanism.mechanism import Mechanism

ANALYSIS = (
    *("rtol", "near", "length_scale", "keep_cuts", "configurations", "seed"),
    *("tolerance", "stiffness", "load_limit", "engine"),
)
TOOL = {"name": "regularize", "version": __version__}
FORMS = {"concise": listing.concise, "github": listing.github}
#: Libraries for linear algebra that would start threads of their own in every process.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome:
    """The result of checking one model, as plain values that can be sent between processes."""

    line: SummaryLine
    status: int
    failure: Diagnostic | None = None  # where the model cannot be read
    body: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[Mapping[str, str], ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checking:
    """The options of a check with the configuration, and the work for one or many models."""

    arguments: argparse.Namespace
    folders: tuple[Repository, ...]
    single: bool
    width: int
    color: bool
    configuration: Configuration
    accepted: tuple[Suppression, ...]

    @classmethod
    def of(
        cls, arguments: argparse.Namespace, folders: Sequence[Repository] = (), *, single: bool
    ) -> Checking:
        """Return the work for parsed options, with width and colours of standard output."""
        terminal = arguments.out is None and sys.stdout.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        asked = terminal or bool(os.environ.get("FORCE_COLOR"))
        color = arguments.color == "always" or (arguments.color == "auto" and asked and not plain)
        columns = os.environ.get("COLUMNS", "")
        width = text.WIDTH
        if columns.isdigit() and int(columns) >= 40:
            width = int(columns)
        elif terminal:  # a terminal that does not know its width says 0
            width = os.get_terminal_size().columns or text.WIDTH
        # The function of a verb is of no use to other processes and cannot always be sent there.
        options = argparse.Namespace(**{k: v for k, v in vars(arguments).items() if k != "run"})
        agreed = configuration(arguments.config)
        baseline = arguments.baseline or agreed.baseline
        accepted = agreed.suppressions
        if baseline is not None:
            accepted += known_before(baseline)
        return cls(options, tuple(folders), single, width, color, agreed, accepted)

    def outcomes(self, paths: Sequence[str]) -> list[Outcome]:
        """Check all models, with progress on standard error."""
        numbered: list[tuple[int, Outcome]] = []
        jobs = self.arguments.jobs
        with delayed_progress("checking") as bar:
            # What goes to other processes cannot tell how far it is.
            alone = self.single and (jobs or 1) == 1
            work = partial(self.one, progress=bar) if alone else self.one
            for index, outcome in in_parallel(work, self.failed, paths, jobs):
                if self.streams:
                    write_json(_line(outcome.data))
                    sys.stdout.flush()
                numbered.append((index, outcome))
                bar(len(numbered) / len(paths))
        return [outcome for _, outcome in sorted(numbered, key=lambda entry: entry[0])]

    @property
    def streams(self) -> bool:
        """Return whether results are written in the order in which they are ready."""
        return self.arguments.output == "jsonl" and self.arguments.out is None

    def failed(self, path: str, error: RegularizeError) -> Outcome:
        """Return the outcome of a model that cannot be read, in the form asked for."""
        inside = any(path in folder.models for folder in self.folders)  # found there, not named
        line = SummaryLine(displayed(path), displayed(str(error)))
        finding = listing.unreadable(path, error)
        form = FORMS.get(self.arguments.output)
        body = form([finding], path) if form else ""
        tool, summary = TOOL, {"error": 1, "warning": 0, "note": 0}
        data = {
            **{"schema_version": SCHEMAS["report"], "tool": tool, "model": {"path": line.path}},
            **{"unreadable": line.error, "summary": summary, "diagnostics": [finding.as_dict()]},
        }
        return Outcome(line, 1 if inside else 2, finding, body, data, files=(path,))

    def one(self, path: str, progress: Callable[[float], None] | None = None) -> Outcome:
        """Check one model."""
        chosen = {
            name: getattr(self.arguments, name)
            for name in ANALYSIS
            if getattr(self.arguments, name) is not None
        }
        if self.arguments.everywhere:
            chosen["groups"] = False
        try:
            trials = self.arguments.output == "html" or self._shows_text
            report = check(self._loaded(path), progress=progress, trials=trials, **chosen)
            if progress is not None and not self.arguments.watch:
                # Starting and reading are part of what the user waits for.
                report = replace(report, seconds=time.perf_counter() - self.arguments.began)
            if self.arguments.proof is not None:
                write_proof(report.reduction, self.arguments.proof)
        except WouldBeLost:
            raise
        except RegularizeError as error:
            return self.failed(path, error)
        agreed = self.configuration
        report = report.selected(
            self.arguments.select or agreed.select, [*self.arguments.ignore, *agreed.ignore]
        ).accepting(self.accepted)
        body, data = self._render(report)
        status = report.exit_status(self.arguments.fail_on or agreed.fail_on)
        line, files = listing.line_of(path, report), (path, *report.mechanism.files)
        known = baseline_entries(report.mechanism.name, report.diagnostics)
        return Outcome(line, status, None, body, data, known, files)

    def _loaded(self, path: str) -> Mechanism:
        """Read a model, with the packages that its folder holds."""
        arguments = argparse.Namespace(**vars(self.arguments))
        for folder in self.folders:
            if path in folder.models and path.endswith((".xacro", ".urdf")):
                lent = [f"{name}={place}" for name, place in folder.packages(path).items()]
                arguments.package = [*lent, *arguments.package]
        return load_model(path, arguments, quiet=True)

    @property
    def _shows_text(self) -> bool:
        """Return whether reports are printed in full, not only as rows of a table."""
        return self.arguments.output == "text" and (self.single or self.arguments.verbose)

    def _render(self, report: Report) -> tuple[str, Mapping[str, Any]]:
        """Return the report in the form asked for: its text, or its plain values."""
        output = self.arguments.output
        if output in ("json", "jsonl", "sarif"):
            return "", listing.as_sarif([report]) if output == "sarif" else report.as_dict()
        if form := FORMS.get(output):
            return form(report.diagnostics, report.mechanism.path or report.mechanism.name), {}
        if output == "html":
            return guest("page.html").render(report, meshes=not self.arguments.no_meshes), {}
        if not self._shows_text:
            return "", {}
        verbosity = int(self.arguments.verbose and self.single) - int(self.arguments.quiet)
        return text.render(report, self.width, self.color, self.arguments.top, verbosity), {}

    def compose(self, outcomes: Sequence[Outcome]) -> dict[Path | None, str]:
        """Return the text to write to each path; None stands for standard output."""
        output, out = self.arguments.output, self.arguments.out
        read = [outcome for outcome in outcomes if outcome.line.error is None]
        if not read and self.single and not self.folders and output in ("text", "html"):
            return {}
        if output == "html" and not self.single:
            return self._pages(read, out)
        if output == "json":
            reports = [outcome.data for outcome in read]
            whole = {"schema_version": SCHEMAS["report"], "tool": TOOL, "reports": reports}
            # The entries of a single report also stand on top.
            alone = reports[0] if len(reports) == 1 else {}
            return {out: _json({**alone, **whole, **self._found(outcomes)})}
        if self.streams:
            return {}
        if output == "jsonl":
            return {out: "".join(_line(outcome.data) for outcome in outcomes)}
        if output == "sarif":
            failures = [outcome.failure for outcome in outcomes if outcome.failure is not None]
            return {out: _json(listing.merged([outcome.data for outcome in read], failures))}
        body = "".join(outcome.body for outcome in outcomes)
        if output == "text" and (self.folders or not self.single):
            body = "\n".join(outcome.body for outcome in read if outcome.body)
            lines = [outcome.line for outcome in outcomes]
            fragments = [fragment for folder in self.folders for fragment in folder.fragments]
            table = listing.table(lines, self.width, self.color, list(map(str, fragments)))
            body = f"{body}\n{table}" if body else table
        return {out: body}

    def _found(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Return the fragments of folders and the models that cannot be read, for JSON."""
        fragments = [
            {"path": fragment.path, "of": list(fragment.of), "reason": fragment.reason}
            for folder in self.folders
            for fragment in folder.fragments
        ]
        lines = [outcome.line for outcome in outcomes if outcome.line.error is not None]
        failed = [{"path": line.path, "reason": line.error} for line in lines]
        if self.folders:
            return {"fragments": fragments, "unreadable": failed}
        return {"unreadable": failed} if failed else {}

    def _pages(self, read: Sequence[Outcome], folder: Path) -> dict[Path | None, str]:
        """Return one page per model and one with the table of all."""
        names: dict[str, Outcome] = {}
        for outcome in read:
            stem = Path(outcome.line.path).resolve().stem
            name, number = stem, 1
            while name in names:
                number += 1
                name = f"{stem}-{number}"
            names[name] = outcome
        pages: dict[Path | None, str] = {
            folder / f"{name}.html": outcome.body for name, outcome in names.items()
        }
        lines = {f"{name}.html": outcome.line for name, outcome in names.items()}
        pages[folder / "index.html"] = guest("page.html").index(lines)
        return pages


def _line(data: object) -> str:
    """Return data as a line of JSON."""
    return json_text(data) + "\n"


def _json(data: object) -> str:
    """Return data as indented JSON."""
    return json_text(data, indent=2) + "\n"


def in_parallel(
    work: Callable[[str], Result],
    failed: Callable[[str, RegularizeError], Result],
    paths: Sequence[str],
    jobs: int | None = None,
) -> Iterator[tuple[int, Result]]:
    """Apply a function to every path in processes; yield index and result as they are ready."""
    jobs = jobs or min(len(paths) // 2, os.cpu_count() or 1)
    if jobs <= 1:
        for i, path in enumerate(paths):
            yield i, work(path)
        return
    with _environment(dict.fromkeys(THREADS, "1")):
        lost: dict[int, str] = {}
        yield from _in_pool(work, dict(enumerate(paths)), jobs, lost)
        # A parser that crashes takes its pool along: which it was shows when each has its own.
        for i, path in sorted(lost.items()):
            crashed: dict[int, str] = {}
            yield from _in_pool(work, {i: path}, 1, crashed)
            if crashed:
                yield i, failed(path, ReadError(path, "the parser crashed on this file"))


def _in_pool(
    work: Callable[[str], Result], paths: Mapping[int, str], jobs: int, lost: dict[int, str]
) -> Iterator[tuple[int, Result]]:
    """Yield results as they are ready; note the paths that a broken pool loses in ``lost``."""
    from concurrent.futures import as_completed  # one model needs no other processes
    from concurrent.futures.process import BrokenProcessPool

    from regularize.adapters.common.worker_processes import WorkerProcesses

    with WorkerProcesses(jobs) as pool:
        running = {pool.submit(work, path): i for i, path in paths.items()}
        for future in as_completed(running):
            i = running[future]
            try:
                outcome = future.result()
            except BrokenProcessPool:
                lost[i] = paths[i]
                continue
            yield i, outcome


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within a block, for processes that are started there."""
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        os.environ.setdefault(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
