"""Findings for other programs: lines, commands of GitHub, SARIF 2.1.0, and a table of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.table import Table
from rich.text import Text

from regularize.errors import ReadError, RegularizeError
from regularize.escape import displayed
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.report import rules
from regularize.report.analysis import Analysis
from regularize.report.rules import rule
from regularize.report.suppression import Suppressed, fingerprint
from regularize.report.text import printed
from regularize.version import __version__
from regularize.words import counted, listed

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def unreadable(path: str, error: RegularizeError) -> Diagnostic:
    """Return the finding on a model that cannot be read, at the line that the error names."""
    if not isinstance(error, ReadError):
        return Diagnostic("REG000", "error", str(error), source=Source(displayed(path)))
    source = Source(displayed(error.path), error.line, error.element)
    return Diagnostic("REG000", "error", error.reason, source=source)


def github(findings: Iterable[Diagnostic], path: str | None) -> str:
    """Return findings as GitHub's ``::warning file=…,line=…,title=…::message`` lines."""
    lines = []
    for d in findings:
        known = rule(d.code)
        properties = {"title": f"{d.code} {known.name}" if known else d.code}
        file = d.source.path if d.source else path
        if file:
            properties["file"] = displayed(file)
        if d.source and d.source.line:
            properties["line"] = str(d.source.line)
        values = [_escaped(v).replace(":", "%3A").replace(",", "%2C") for v in properties.values()]
        listed = ",".join(map("{}={}".format, properties, values))
        message = _escaped("\n".join([d.message, *d.help]))
        lines.append(f"::{LEVELS[d.severity]} {listed}::{message}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    """Escape the characters that end a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def concise(findings: Iterable[Diagnostic], path: str) -> str:
    """Return findings as lines ``path:line: CODE message``."""
    return "".join(f"{d.source or displayed(path)}: {d.code} {d.message}\n" for d in findings)


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(reports: Sequence[Analysis]) -> dict[str, Any]:
    """Return one SARIF run with the findings of all models."""
    return _sarif_log(
        [_sarif_result(report, d) for report in reports for d in report.diagnostics]
        + [_suppressed_result(report, each) for report in reports for each in report.suppressed]
    )


def merged(
    logs: Sequence[Mapping[str, Any]], failures: Sequence[Diagnostic] = ()
) -> dict[str, Any]:
    """Join logs of models that were checked one by one, and models that cannot be read."""
    results = [finding for log in logs for finding in log["runs"][0]["results"]]
    return _sarif_log([*results, *map(_unread_result, failures)], failures)


def _unread_result(failure: Diagnostic) -> dict[str, Any]:
    """Return a model that cannot be read as a SARIF result."""
    path, line = (failure.source.path, failure.source.line) if failure.source else ("", None)
    return {
        "ruleId": failure.code,
        "level": failure.severity,
        "message": {"text": failure.message},
        "locations": [{"physicalLocation": _physical(path, line)}],
        "partialFingerprints": {"findingHash/v1": fingerprint(path, failure)},
    }


def _physical(path: str, line: int | None) -> dict[str, Any]:
    """Return a place in a file as SARIF has it."""
    place = Path(path)
    text = "file://" * place.is_absolute() + quote(place.as_posix(), errors="surrogateescape")
    uri = place.as_uri() if place.drive and place.is_absolute() else text
    return {"artifactLocation": {"uri": uri}} | ({"region": {"startLine": line}} if line else {})


def _sarif_log(
    findings: Sequence[Mapping[str, Any]], failures: Sequence[Diagnostic] = ()
) -> dict[str, Any]:
    """Return a SARIF log with these results and the rules that they use."""
    known = [rule for rule in rules.all_rules() if any(f["ruleId"] == rule.code for f in findings)]
    index = {rule.code: i for i, rule in enumerate(known)}
    driver = {
        "name": "regularize",
        "semanticVersion": __version__,
        "rules": [_sarif_rule(rule) for rule in known],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [{**finding, "ruleIndex": index[finding["ruleId"]]} for finding in findings],
        "invocations": [
            {
                "executionSuccessful": not failures,
                "toolExecutionNotifications": [
                    {key: _unread_result(failure)[key] for key in ("level", "message", "locations")}
                    for failure in failures
                ],
            }
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_rule(rule: rules.Rule) -> dict[str, Any]:
    """Return a rule as SARIF describes it."""
    (_, what), (_, why), *others = rule.sections.items()
    help_ = "\n\n".join([why, *(f"{title}: {text}" for title, text in others)])
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ")},
        "fullDescription": {"text": what},
        "help": {"text": help_},
        "defaultConfiguration": {"level": rule.severity},
    }


def _sarif_result(report: Analysis, diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a finding as a SARIF result."""
    mechanism = report.mechanism
    path = diagnostic.source.path if diagnostic.source else mechanism.path
    name = "/".join(part for part in (mechanism.name, diagnostic.loop) if part)
    location: dict[str, Any] = {
        "logicalLocations": [
            {"fullyQualifiedName": f"{name}/{joint}", "name": joint, "kind": "member"}
            for joint in diagnostic.joints
        ]
        or [{"fullyQualifiedName": name, "name": mechanism.name, "kind": "module"}]
    }
    if path:
        line = diagnostic.source.line if diagnostic.source else None
        location["physicalLocation"] = _physical(path, line)
    claims = [
        [*loop.claims]
        for loop in report.loops
        if diagnostic.code == "REG201" and loop.name == diagnostic.loop
    ]
    return {
        "ruleId": diagnostic.code,
        "level": diagnostic.severity,
        "message": {"text": "\n".join([diagnostic.message, *diagnostic.help])},
        "locations": [location],
        "partialFingerprints": {"findingHash/v1": fingerprint(mechanism.name, diagnostic)},
        **({"properties": {"claims": claims[0]}} if claims else {}),
    }


def _suppressed_result(report: Analysis, accepted: Suppressed) -> dict[str, Any]:
    """Return an accepted finding as a suppressed SARIF result."""
    kind = "inSource" if accepted.suppression.by == "comment" else "external"
    said = {"kind": kind, "status": "accepted", "justification": accepted.suppression.reason}
    return {**_sarif_result(report, accepted.finding), "suppressions": [said]}


STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan", "": "green"}
#: Loops, what counting says, what is true, redundant equations, those that can always be dropped.
COLUMNS = ("loops", "Grübler", "mobility", "redundant", "droppable")
#: Columns of text that the table takes beside the paths.
BESIDE = 74


@dataclass(frozen=True)
class SummaryLine:
    """A row of the table of several models: the numbers of one, or why it is unreadable."""

    path: str
    error: str | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)
    worst: str = ""
    codes: tuple[str, ...] = ()
    complete: bool = True  # whether its numbers are those of the whole model


def line_of(path: str, report: Analysis) -> SummaryLine:
    """Return the summary line of a report."""
    r = report.reduction
    worst = report.diagnostics[0].severity if report.diagnostics else ""
    mobility = r.mobility if r.finite_mobility is None else r.finite_mobility
    numbers = (r.graph.loops, r.gruebler, mobility, r.redundant - report.needed, r.removed)
    named = dict(zip(COLUMNS, numbers, strict=True))
    codes = tuple(dict.fromkeys(d.code for d in report.diagnostics if d.severity == worst))
    return SummaryLine(displayed(path), None, named, worst, codes, report.mechanism.complete)


def table(
    lines: Sequence[SummaryLine], width: int, color: bool, fragments: Sequence[str] = ()
) -> str:
    """Return a table of models, then fragments and a sentence with the totals."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    longest = max((len(line.path) for line in lines), default=0)
    table.add_column("model", overflow="fold", min_width=max(24, longest))
    for column in COLUMNS:
        table.add_column(column, justify="right")
    table.add_column("findings", overflow="fold")
    for line in lines:
        if line.error is not None:
            table.add_row(line.path, *[""] * len(COLUMNS), Text("unreadable", STYLES["error"]))
            continue
        codes = " ".join(line.codes[:3]) + (" …" if len(line.codes) > 3 else "")
        table.add_row(
            line.path,
            *(str(n) if line.complete else f"{n}?" for n in line.numbers.values()),
            Text(codes or "none", STYLES[line.worst]),
        )
    named = [Text(f"  {fragment}", no_wrap=True) for fragment in fragments]
    if named:
        named = [Text(), Text("No models of their own, but fragments:", "dim"), *named]
    return printed([table, *named, Text(), _sentence(lines)], max(width, longest + BESIDE), color)


def _sentence(lines: Sequence[SummaryLine]) -> Text:
    """Return the totals of the table in one sentence."""
    read = [line for line in lines if line.error is None]
    redundant = sum(line.numbers["redundant"] for line in read)
    numbers = {
        "with errors": sum(line.worst == "error" for line in read),
        "with warnings": sum(line.worst == "warning" for line in read),
        "not read whole (?)": sum(not line.complete for line in read),
        f"redundant equation{'s' * (redundant > 1)} in all": redundant,
        "could not be read": len(lines) - len(read),
    }
    parts = [f"{number} {words}" for words, number in numbers.items() if number]
    return Text(listed([f"{counted(len(read), 'model')} checked", *parts]) + ".")
