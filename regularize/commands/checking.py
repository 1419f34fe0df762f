"""The work behind `regularize check`: models to outcomes, outcomes to one report."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from regularize.checking import Report, check
from regularize.commands.configuration import (
    Configuration,
    configuration,
    entries_of,
    known_before,
)
from regularize.commands.files import load_model
from regularize.commands.late_bar import LateBar
from regularize.commands.outputs import WouldBeLost
from regularize.commands.verify import write_proof
from regularize.displayed import displayed
from regularize.errors import RegularizeError
from regularize.render import (
    concise,
    github,
    sarif,
    summary,
    text,
)
from regularize.render.summary import SummaryLine
from regularize.report.batch import in_parallel
from regularize.report.suppression import Suppression
from regularize.version import SCHEMAS, __version__

ANALYSIS = (
    *("rtol", "near", "length_scale", "keep_cuts", "configurations", "seed"),
    *("tolerance", "stiffness"),
)


@dataclass(frozen=True)
class Outcome:
    """The result of checking one model, in plain values that can be sent between processes.

    Attributes:
        line: Its line of the summary, with why it cannot be read if that is so.
        status: Exit status for it alone.
        body: Its report in the form asked for.
        data: The same as plain values where the form is JSON or SARIF.
        known: Its findings as entries of a baseline.
        files: All files that it was read from.
    """

    line: SummaryLine
    status: int
    body: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[Mapping[str, str], ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checking:
    """The options of a check, and what follows from them.

    Attributes:
        arguments: The command line.
        single: Whether there is only one model.
        width: Columns of the text.
        color: Whether to use terminal colours.
        configuration: What the project has agreed on; the command line goes before it.
        accepted: Findings that are accepted.
    """

    arguments: argparse.Namespace
    single: bool
    width: int
    color: bool
    configuration: Configuration
    accepted: tuple[Suppression, ...]

    @classmethod
    def of(cls, arguments: argparse.Namespace, *, single: bool) -> Checking:
        """The work for parsed options, with the width and colours that standard output takes."""
        terminal = arguments.out is None and sys.stdout.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        color = arguments.color == "always" or (
            arguments.color == "auto" and terminal and not plain
        )
        columns = os.environ.get("COLUMNS", "")
        width = text.WIDTH
        if columns.isdigit() and int(columns) >= 40:
            width = int(columns)
        elif terminal:  # a terminal that does not know its width says 0
            width = os.get_terminal_size().columns or text.WIDTH
        # The function of a verb is of no use to other processes and cannot always be sent there.
        options = argparse.Namespace(**{k: v for k, v in vars(arguments).items() if k != "run"})
        agreed = configuration(arguments.config)
        known = arguments.baseline or agreed.baseline
        accepted = agreed.suppressions()
        if known is not None:
            accepted += known_before(known)
        return cls(options, single, width, color, agreed, accepted)

    def outcomes(self, paths: Sequence[str]) -> list[Outcome]:
        """Check all models; progress goes to standard error."""
        found: list[tuple[int, Outcome]] = []
        jobs = self.arguments.jobs
        with LateBar("checking") as bar:
            # What goes to other processes cannot tell how far it is.
            alone = self.single and (jobs or 1) == 1
            work = partial(self.one, progress=bar) if alone else self.one
            for index, outcome in in_parallel(work, self.failed, paths, jobs):
                if self.streams and outcome.line.error is None:
                    sys.stdout.write(_line(outcome.data))
                    sys.stdout.flush()
                found.append((index, outcome))
                bar(len(found) / len(paths))
        return [outcome for _, outcome in sorted(found, key=lambda entry: entry[0])]

    @property
    def streams(self) -> bool:
        """Whether results are written as they come, in the order in which they are ready."""
        return self.arguments.output == "jsonl" and self.arguments.out is None

    def failed(self, path: str, reason: str) -> Outcome:
        """The outcome of a model that cannot be read."""
        return Outcome(SummaryLine(displayed(path), displayed(reason)), 2, files=(path,))

    def one(self, path: str, progress: Callable[[float], None] | None = None) -> Outcome:
        """Check one model."""
        chosen = {
            name: getattr(self.arguments, name)
            for name in ANALYSIS
            if getattr(self.arguments, name) is not None
        }
        try:
            report = check(
                load_model(path, self.arguments, quiet=True), progress=progress, **chosen
            )
            if self.arguments.proof is not None:
                write_proof(report.reduction, self.arguments.proof)
        except WouldBeLost:
            raise
        except RegularizeError as error:
            return self.failed(path, str(error))
        agreed = self.configuration
        report = report.selected(
            self.arguments.select or agreed.select, [*self.arguments.ignore, *agreed.ignore]
        ).accepting(self.accepted)
        body, data = self._render(report)
        status = report.exit_status(self.arguments.fail_on or agreed.fail_on)
        line, files = summary.line_of(path, report), (path, *report.mechanism.files)
        return Outcome(line, status, body, data, entries_of(report), files)

    def _render(self, report: Report) -> tuple[str, Mapping[str, Any]]:
        output = self.arguments.output
        if output in ("json", "jsonl"):
            return "", report.as_dict()
        if output == "sarif":
            return "", sarif.as_sarif([report])
        if output == "concise":
            return concise.render(report), {}
        if output == "github":
            return github.render(report), {}
        if output == "html":
            from regularize.render import html

            return html.render(report, meshes=not self.arguments.no_meshes), {}
        if not self.single and not self.arguments.verbose:
            return "", {}
        verbosity = int(self.arguments.verbose and self.single) - int(self.arguments.quiet)
        return text.render(report, self.width, self.color, self.arguments.top, verbosity), {}

    def compose(self, outcomes: Sequence[Outcome]) -> dict[Path | None, str]:
        """What to write where; None stands for standard output."""
        output, out = self.arguments.output, self.arguments.out
        read = [outcome for outcome in outcomes if outcome.line.error is None]
        if not read and self.single:
            return {}
        if output == "html" and not self.single:
            return self._pages(read, out)
        if output == "json":
            return {out: _json(_reports([outcome.data for outcome in read]))}
        if self.streams:
            return {}
        if output == "jsonl":
            return {out: "".join(_line(outcome.data) for outcome in read)}
        if output == "sarif":
            return {out: _json(sarif.merged([outcome.data for outcome in read]))}
        body = "".join(outcome.body for outcome in read)
        if output == "text" and not self.single:
            body = "\n".join(outcome.body for outcome in read if outcome.body)
            lines = [outcome.line for outcome in outcomes]
            table = summary.render(lines, self.width, self.color)
            body = f"{body}\n{table}" if body else table
        return {out: body}

    def _pages(self, read: Sequence[Outcome], folder: Path) -> dict[Path | None, str]:
        """One page per model and one with the table of all."""
        from regularize.render import html

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
        pages[folder / "index.html"] = html.index(lines)
        return pages


def _reports(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Reports under ``reports``, however many; a single one's own entries stand at the top too."""
    tool = {"name": "regularize", "version": __version__}
    whole = {"schema_version": SCHEMAS["report"], "tool": tool, "reports": reports}
    return {**reports[0], **whole} if len(reports) == 1 else whole


def _line(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def _json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
