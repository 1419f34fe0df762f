"""The table of ``regularize check`` for several models: counts and worst findings, a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.table import Table
from rich.text import Text

from regularize.escape import displayed
from regularize.report.analysis import Analysis
from regularize.report.forms.text import printed
from regularize.words import counted, listed

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan", "": "green"}
#: Loops, what counting says, what is true, redundant equations, those that can always be dropped.
COLUMNS = ("loops", "Grübler", "mobility", "redundant", "droppable")
#: Columns of text that the table takes beside the paths.
BESIDE = 74


@dataclass(frozen=True)
class SummaryLine:
    """What the table says of one model.

    Attributes:
        path: The file as the user named it.
        error: Why it cannot be read, in one line, or None.
        numbers: Its columns of numbers, by their titles; none where it cannot be read.
        worst: Most severe finding, or an empty string.
        codes: Codes of the findings of that severity.
    """

    path: str
    error: str | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)
    worst: str = ""
    codes: tuple[str, ...] = ()


def line_of(path: str, report: Analysis) -> SummaryLine:
    """The line of a report."""
    r = report.reduction
    worst = report.diagnostics[0].severity if report.diagnostics else ""
    mobility = r.mobility if r.finite_mobility is None else r.finite_mobility
    numbers = (r.graph.loops, r.gruebler, mobility, r.redundant, r.removed)
    return SummaryLine(
        displayed(path),
        None,
        dict(zip(COLUMNS, numbers, strict=True)),
        worst,
        tuple(dict.fromkeys(d.code for d in report.diagnostics if d.severity == worst)),
    )


def render(
    lines: Sequence[SummaryLine], width: int, color: bool, fragments: Sequence[str] = ()
) -> str:
    """The table, fragments and one sentence that adds it up; ``width`` is in columns of text.

    Paths are not broken over lines: a longer one makes the table wider.
    """
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
            *(str(n) for n in line.numbers.values()),
            Text(codes or "none", STYLES[line.worst]),
        )
    named = [Text(f"  {fragment}", no_wrap=True) for fragment in fragments]
    if named:
        named = [Text(), Text("No models of their own, but fragments:", "dim"), *named]
    return printed([table, *named, Text(), _sentence(lines)], max(width, longest + BESIDE), color)


def _sentence(lines: Sequence[SummaryLine]) -> Text:
    read = [line for line in lines if line.error is None]
    parts = [f"{counted(len(read), 'model')} checked"]
    for worst, words in (("error", "with errors"), ("warning", "with warnings")):
        number = sum(line.worst == worst for line in read)
        if number:
            parts.append(f"{number} {words}")
    redundant = sum(line.numbers["redundant"] for line in read)
    if redundant:
        parts.append(f"{counted(redundant, 'redundant equation')} in all")
    unreadable = len(lines) - len(read)
    if unreadable:
        parts.append(f"{unreadable} could not be read")
    return Text(listed(parts) + ".")
