"""Findings as workflow commands, which GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from regularize.report.analysis import Analysis
from regularize.report.rules import rule

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Analysis) -> str:
    """Lines ``::warning file=…,line=…,title=…::message``."""
    lines = []
    for d in report.diagnostics:
        known = rule(d.code)
        properties = {"title": f"{d.code} {known.name}" if known else d.code}
        path = d.source.path if d.source else report.mechanism.path
        if path:
            properties["file"] = path
        if d.source and d.source.line:
            properties["line"] = str(d.source.line)
        listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        message = "\n".join([d.message, *d.help])
        lines.append(f"::{LEVELS[d.severity]} {listed}::{_data(message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    """Text with the characters escaped that end a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
