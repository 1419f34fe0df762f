"""Findings for other programs, beside the lines that they are about.

One line each for grep and editors, workflow commands of GitHub, which shows them in pull requests,
and the Static Analysis Results Interchange Format, version 2.1.0 (OASIS 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from regularize.escape import displayed
from regularize.mechanism.diagnostic import Diagnostic
from regularize.report import rules
from regularize.report.analysis import Analysis
from regularize.report.rules import rule
from regularize.report.suppression import Suppressed, fingerprint
from regularize.version import __version__

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def github(report: Analysis) -> str:
    """Lines ``::warning file=…,line=…,title=…::message``."""
    lines = []
    for d in report.diagnostics:
        known = rule(d.code)
        properties = {"title": f"{d.code} {known.name}" if known else d.code}
        path = d.source.path if d.source else report.mechanism.path
        if path:
            properties["file"] = displayed(path)
        if d.source and d.source.line:
            properties["line"] = str(d.source.line)
        listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        said = "\n".join([d.message, *d.help]).split("\n")
        message = "\n".join(map(displayed, said))
        lines.append(f"::{LEVELS[d.severity]} {listed}::{_data(message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    """Text with the characters escaped that end a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def concise(report: Analysis) -> str:
    """Lines ``path:line: CODE message``."""
    path = displayed(report.mechanism.path or report.mechanism.name)
    return "".join(
        f"{d.source or path}: {d.code} {displayed(d.message)}\n" for d in report.diagnostics
    )


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(reports: Sequence[Analysis]) -> dict[str, Any]:
    """One run with the findings of all models."""
    return _log(
        [_result(report, d) for report in reports for d in report.diagnostics]
        + [_accepted(report, each) for report in reports for each in report.suppressed]
    )


def merged(logs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One log with the findings of several, for models that were checked one by one."""
    return _log([finding for log in logs for finding in log["runs"][0]["results"]])


def _log(findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    used = {finding["ruleId"] for finding in findings}
    known = [rule for rule in rules.all_rules() if rule.code in used]
    index = {rule.code: i for i, rule in enumerate(known)}
    driver = {
        "name": "regularize",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in known],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [{**finding, "ruleIndex": index[finding["ruleId"]]} for finding in findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: rules.Rule) -> dict[str, Any]:
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


def _result(report: Analysis, diagnostic: Diagnostic) -> dict[str, Any]:
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
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(path)}}
        if diagnostic.source and diagnostic.source.line:
            location["physicalLocation"]["region"] = {"startLine": diagnostic.source.line}
    return {
        "ruleId": diagnostic.code,
        "level": diagnostic.severity,
        "message": {"text": "\n".join([diagnostic.message, *diagnostic.help])},
        "locations": [location],
        "partialFingerprints": {"findingHash/v1": fingerprint(mechanism.name, diagnostic)},
        **_claims(report, diagnostic),
    }


def _claims(report: Analysis, diagnostic: Diagnostic) -> dict[str, Any]:
    """What the removed rows of a loop rest on, where the finding is about these."""
    claims = [
        [*loop.claims]
        for loop in report.loops
        if diagnostic.code == "REG201" and loop.name == diagnostic.loop
    ]
    return {"properties": {"claims": claims[0]}} if claims else {}


def _accepted(report: Analysis, each: Suppressed) -> dict[str, Any]:
    """A finding that is accepted, as the format has it."""
    kind = "inSource" if each.suppression.by == "comment" else "external"
    said = {"kind": kind, "status": "accepted", "justification": each.suppression.reason}
    return {**_result(report, each.finding), "suppressions": [said]}


def _uri(path: str) -> str:
    """A relative reference for relative paths, else a ``file`` URI."""
    found = Path(path)
    return found.as_uri() if found.is_absolute() else quote(found.as_posix())
