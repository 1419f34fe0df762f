"""Findings, one line each: for grep and editors, or as workflow commands of GitHub.

GitHub shows these beside the lines of a pull request.
"""

from __future__ import annotations

from regularize.escape import displayed
from regularize.report.analysis import Analysis
from regularize.report.rules import rule

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
