"""One line per finding, for grep and for editors."""

from __future__ import annotations

from regularize.displayed import displayed
from regularize.report.analysis import Analysis


def render(report: Analysis) -> str:
    """Lines ``path:line: CODE message``."""
    path = displayed(report.mechanism.path or report.mechanism.name)
    return "".join(f"{d.source or path}: {d.code} {d.message}\n" for d in report.diagnostics)
