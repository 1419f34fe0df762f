"""The report for people: verdict first, in the user's names."""

from __future__ import annotations

import io
from collections.abc import Iterable

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regularize.check import Report
from regularize.diagnostic import Diagnostic
from regularize.directions import Direction
from regularize.findings import counted, motion_words
from regularize.loop_report import LoopReport

COLORS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
#: Loops shown in full before only the table is left.
MOST_LOOPS = 4


def render(
    report: Report, width: int | None = None, color: bool = False, top: int = MOST_LOOPS
) -> str:
    """The report as text.

    Args:
        report: From ``regularize.check``.
        width: Columns of the terminal; by default 100.
        color: Whether to use terminal colours.
        top: Number of loops shown in full.
    """
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width or 100,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        soft_wrap=False,
    )
    for block in blocks(report, top):
        console.print(block)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def blocks(report: Report, top: int = MOST_LOOPS) -> Iterable[RenderableType]:
    """The parts of the report in order."""
    yield _headline(report)
    yield _verdict(report)
    yield Text()
    shown = 0
    for diagnostic in report.diagnostics:
        loop = next((x for x in report.loops if x.name == diagnostic.loop), None)
        yield _diagnostic(diagnostic)
        if loop is not None and diagnostic.code == "REG201" and shown < top:
            shown += 1
            yield Padding(_loop(loop), (0, 0, 0, 2))
        for line in diagnostic.help:
            yield Padding(Text.assemble(("= help: ", "green"), line), (0, 0, 0, 2))
        yield Text()
    if report.loops:
        yield _table(report)
        yield Text()
    yield _footer(report)


def _headline(report: Report) -> Text:
    model = report.as_dict()["model"]
    counts = [
        counted(model["bodies"], "body").replace("bodys", "bodies"),
        counted(model["joints"], "joint"),
        counted(model["loops"], "loop"),
    ]
    if model["couplings"]:
        counts.append(counted(model["couplings"], "coupling"))
    name = report.mechanism.path or report.mechanism.name
    return Text.assemble((name, "bold"), "  ", model["format"], " · ", " · ".join(counts))


def _verdict(report: Report) -> Text:
    r = report.reduction
    mobility = f"mobility {r.mobility}"
    if r.finite_mobility != r.mobility:
        mobility += f" (only {r.finite_mobility} finite)"
    if not r.assembly.closed:
        words = ("The loops cannot be closed.", "bold red")
    elif r.redundant == 0:
        words = ("No redundant constraints.", "bold green")
    else:
        sentence = f"{counted(r.redundant, 'redundant constraint equation')}, "
        if r.removed == r.redundant:
            sentence += "all removable in every configuration."
        elif r.removed:
            sentence += f"{r.removed} removable in every configuration, {r.remaining} kept."
        else:
            sentence += "none of which geometry proves removable."
        words = (sentence, "bold yellow")
    return Text.assemble(
        words, f"  {mobility[0].upper()}{mobility[1:]}, Grübler count {r.gruebler}."
    )


def _diagnostic(diagnostic: Diagnostic) -> Text:
    text = Text.assemble(
        (f"{diagnostic.severity}[{diagnostic.code}]", COLORS[diagnostic.severity]),
        f": {diagnostic.message}",
    )
    if diagnostic.source is not None:
        element = f"  {diagnostic.source.element}" if diagnostic.source.element else ""
        text.append(f"\n  --> {diagnostic.source}{element}", "dim")
    return text


def _loop(loop: LoopReport) -> Group:
    """The loop as a chain, its motion, and a table of the directions at its cut."""
    chain = loop.bodies[0]
    for joint, body in zip(loop.joints, (*loop.bodies[1:], loop.bodies[0]), strict=True):
        chain += f" ─{joint}─ {body}"
    cut = loop.cut.edge.joint.name
    others = ", ".join(dict.fromkeys(j for j in loop.joints if j != cut))
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column(f"constraint at {cut}", overflow="fold")
    table.add_column("status")
    table.add_column("because", overflow="fold")
    for status, style, directions, because in (
        ("kept", "green", loop.kept, ""),
        ("redundant", "yellow", loop.removed, f"already fixed by {others}"),
        ("free", "dim", loop.free, f"joint {cut} moves here"),
    ):
        for direction in directions:
            words = _direction_words(direction)
            table.add_row(words, Text(status, style), Text(because, "dim"))
    return Group(
        Text.assemble((chain, "cyan"), f"   (cut at {cut})"),
        Text(f"motion: {motion_words(loop.motion)}"),
        table,
    )


def _direction_words(direction: Direction) -> str:
    return direction.words("translation", "rotation")


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for column in ("loop", "joints", "motion", "class"):
        table.add_column(column, overflow="fold")
    for column in ("constraints", "kept", "redundant"):
        table.add_column(column, justify="right")
    for loop in report.loops:
        cut = loop.cut
        joints = " ".join(dict.fromkeys(loop.joints[:-1])) + f" ({loop.joints[-1]})"
        table.add_row(
            loop.name,
            joints,
            loop.motion.name,
            loop.category,
            str(cut.constraints),
            str(cut.kept),
            str(cut.constraints - cut.kept),
        )
    r = report.reduction
    table.add_row("all", "", "", "", str(r.constraints), str(r.kept), str(r.removed), style="bold")
    return table


def _footer(report: Report) -> Text:
    r, redundancy = report.reduction, report.redundancy
    kinds = [f"{n} {kind}" for kind, n in redundancy.items() if n]
    lines = []
    if kinds:
        lines.append("Redundant equations: " + ", ".join(kinds) + ".")
    if r.certificate.configurations and r.removed:
        lines.append(
            f"Checked: on the kept rows alone every loop stayed closed at "
            f"{r.certificate.configurations} configurations "
            f"(largest error {_tiny(r.certificate.worst)})."
        )
    summary = report.summary
    found = ", ".join(counted(summary[s], s) for s in ("error", "warning", "note") if summary[s])
    lines.append(f"Found {found or 'nothing to report'} in {report.seconds:.2f} s.")
    return Text("\n".join(lines))


def _tiny(value: float) -> str:
    return "0" if value < 1e-9 else f"{np.format_float_scientific(value, precision=1)}"
