"""One line per finding, for grep and for editors."""

from __future__ import annotations

from regularize.report.report import Report


def render(report: Report) -> str:
    """Lines ``path:line: CODE message``."""
    path = report.mechanism.path or report.mechanism.name
    return "".join(f"{d.source or path}: {d.code} {d.message}\n" for d in report.diagnostics)
