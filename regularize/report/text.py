"""The report for people at a terminal: verdict first, in the user's names."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regularize.mechanism.diagnostic import Diagnostic
from regularize.report import loop_view, view
from regularize.report.analysis import Analysis
from regularize.report.loop_report import LoopReport
from regularize.words import counted, listed

COLORS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan", "good": "bold green"}
STATUS = {"kept": "green", "redundant": "yellow", "free": "dim"}
#: Columns where there is no terminal to ask.
WIDTH = 100
INDENT = (0, 0, 0, 2)
#: What was meant by the numbers: told whatever else is left out.
NEVER_FOLDED = ("REG219", "REG223")
#: Lines of a report: what somebody reads, and what one screen or two hold.
LINES = 59


@dataclass(frozen=True)
class Detail:
    """Limits on how much the text report says of each thing."""

    loops: int  # kinds of loops shown in full
    findings: int = 1000  # errors and warnings that are told; the others are counted
    moves: int = 10  # kinds of motion
    rows: int = 1000  # of the table of loops; with more there are sums alone
    helped: int = 2  # 2: notes have place and help; 1: errors and warnings alone
    names: int = 5  # in a list


#: The usual report, and what is left out of it where it is too long: the most readable first.
DETAILS = (
    Detail(loop_view.SHOWN),
    Detail(2),
    Detail(1),
    Detail(1, helped=1),
    Detail(1, findings=6, moves=5, rows=6, helped=1),
    Detail(0, findings=4, moves=4, rows=6, helped=1),
    Detail(0, findings=4, moves=3, rows=1, helped=0, names=2),
    Detail(0, findings=2, moves=2, rows=1, helped=0, names=1),
    Detail(0, findings=1, moves=1, rows=1, helped=0, names=1),
)
EVERY = Detail(1000, moves=1000, names=1000)


def render(
    report: Analysis,
    width: int = WIDTH,
    color: bool = False,
    top: int | None = None,
    verbosity: int = 0,
) -> str:
    """Return the report as text; without ``top`` or ``verbosity`` it fits into 60 lines."""
    details = DETAILS if top is None else (replace(DETAILS[0], loops=top),)
    for detail in (EVERY,) if verbosity > 0 else details:
        text = printed(blocks(report, detail, verbosity), width, color)
        if text.count("\n") <= LINES:
            break
    return text


def printed(parts: Iterable[RenderableType], width: int, color: bool) -> str:
    """Lay out parts below each other as lines without trailing blanks."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for block in parts:
        # A command is there to be copied, so it is never broken over lines.
        console.print(block, soft_wrap=isinstance(block, Text) and bool(block.no_wrap))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def blocks(report: Analysis, detail: Detail, verbosity: int) -> Iterator[RenderableType]:
    """Yield the parts of the report in order."""
    name, counts = view.headline(report)
    yield Text.assemble((name, "bold"), "  ", (counts, "dim"))
    level, sentence = view.verdict(report)
    yield Text(sentence, COLORS[level])
    yield from map(Text, filter(None, (view.counts(report, verbosity), *view.reading(report))))
    yield from (Text(f"{platform.words}.") for platform in report.platforms)
    if verbosity >= 0:
        yield Text()
        yield from _ways("What to change", view.ways(report))
        yield from _ways("What next", view.next_steps(report))
        yield from _findings(report, detail, verbosity)
        bodies = "kinds of motion"
        yield from _named("What moves", view.moves(report), detail.names, detail.moves, bodies)
        for subject, text in view.why(report):
            yield from (Text(f"Why {subject}", "bold"), Padding(Text(text), INDENT), Text())
        title, most = "Reactions that cannot be trusted (REG220)", 2 * detail.moves
        few = min(detail.names, 5)
        yield from _named(title, view.untrusted(report), few, most, "groups of joints")
        yield from _section(*view.lack_of_fit(report))
        yield from _notes(report, detail, verbosity)
        if not view.plain(report, verbosity):
            yield from _loops(report, detail, verbosity)
    yield _footer(report, detail, verbosity)


def _grouped_findings(
    report: Analysis, verbosity: int
) -> list[tuple[Diagnostic, tuple[Diagnostic, ...]]]:
    """Return findings, each with similar ones, or alone where all are to be shown."""
    return [(d, ()) for d in report.diagnostics] if verbosity > 0 else view.merged(report)


def _findings(report: Analysis, detail: Detail, verbosity: int) -> Iterator[RenderableType]:
    """Yield errors and warnings, each with the loop that it is about."""
    shown: set[str] = set()
    entries = [e for e in _grouped_findings(report, verbosity) if e[0].severity != "note"]
    entries.sort(key=lambda entry: entry[0].code not in NEVER_FOLDED)
    loops = {loop.name: loop for loop in report.loops}
    for first, others in entries[: detail.findings]:
        loop = loops.get(first.loop or "")
        sourced = detail.helped > 0
        yield from _diagnostic(report, first, others, sourced=sourced, verbosity=verbosity)
        if loop is not None and loop.name not in shown and len(shown) < detail.loops:
            shown.add(loop.name)
            yield Padding(_loop(loop, report.mechanism.ground), INDENT)
        if first.code not in ("REG201", "REG202", "REG230") and detail.helped > 0:
            yield from _help(first)
        if detail.helped > 0:
            yield Text()
    rest = entries[detail.findings :]
    if rest:
        codes = listed([*dict.fromkeys(first.code for first, _ in rest)])
        yield Text(f"… {counted(len(rest), 'more finding')}: {codes} (-v shows all)")
    if rest or (entries and not detail.helped):
        yield Text()


def _help(diagnostic: Diagnostic) -> Iterator[RenderableType]:
    """Yield the help of a finding."""
    for line in diagnostic.help:
        yield Padding(Text.assemble(("= help: ", "green"), line), INDENT)


def _diagnostic(
    report: Analysis,
    diagnostic: Diagnostic,
    others: Sequence[Diagnostic],
    *,
    sourced: bool,
    verbosity: int = 0,
) -> Iterator[RenderableType]:
    """Yield a finding with its place, and where there are others of its kind."""
    severity, source = diagnostic.severity, diagnostic.source
    head = (f"{severity}[{diagnostic.code}]", COLORS[severity])
    yield Text.assemble(head, f": {view.message(report, diagnostic, verbosity)}")
    if source is not None and sourced:
        element = f"  {source.element}" if source.element else ""
        yield _labelled("  --> ", f"{source}{element}", "dim")
    if others:
        yield Padding(Text(f"{view.likewise(report, others)} (-v shows each)"), INDENT)


def _loop(loop: LoopReport, ground: str) -> Group:
    """Return a loop as a chain, its motion, and the directions at its closing joint."""
    table = _grid(f"at {loop.closing}", "status", "already fixed by", "residual")
    for direction, status, because, residual in loop_view.rows(loop):
        table.add_row(direction, Text(status, STATUS[status]), Text(because), residual)
    facts: list[RenderableType] = [
        _chain(loop, ground),
        Text.assemble(("motion  ", "dim"), loop_view.motion(loop)),
        Text(),
        table,
    ]
    reasons = [("why     ", sentence) for sentence in loop_view.reasons(loop)]
    if loop.claims and loop.claims != (f"cut {loop.cut.edge.name}",):
        # That its rows rest on the step of its own cut goes without saying.
        claims = listed([f"`{claim}`" for claim in loop.claims], most=2)
        code = "REG230" if f"motion {loop.cut.edge.name}" in loop.claims else "REG201"
        reasons.append(("proof   ", f"{claims}; in words: regularize explain {code}"))
    choice = loop_view.choices(loop)
    if choice is not None:
        reasons.append(("choice  ", choice))
    if reasons:
        facts += [Text(), *(_labelled(label, text) for label, text in reasons)]
    return Group(*facts)


def _chain(loop: LoopReport, ground: str) -> Text:
    """Return ``ground ─A─ crank ─B─ coupler ─C─ rocker ═D═ ground``, the cut doubled."""
    styles = {"body": "", "joint": "cyan", "cut": "bold yellow"}
    bars = {"body": "", "joint": "─", "cut": "═"}
    text = Text()
    for kind, name in loop_view.chain(loop, ground):
        text.append(" " if text else "")
        text.append(f"{bars[kind]}{name}{bars[kind]}", styles[kind])
    return text


def _labelled(label: str, text: str, style: str = "") -> Table:
    """Return a label with text that wraps beside it."""
    grid = Table.grid(padding=0)
    grid.add_column(style="dim", width=len(label))
    grid.add_column(overflow="fold")
    grid.add_row(label, Text(text, style))
    return grid


def _grid(*headers: str) -> Table:
    """Return an empty table with these headers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _section(title: str, pairs: Iterable[tuple[str, str]]) -> Iterator[RenderableType]:
    """Yield a title and a table of two columns, unless it is empty."""
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3)
    for left, right in pairs:
        table.add_row(Text(left), Text(right))
    if table.row_count:
        yield Text(title, "bold")
        yield Padding(table, INDENT)
        yield Text()


def _named(
    title: str, rows: Sequence[tuple[list[str], str]], names: int, most: int, what: str
) -> Iterator[RenderableType]:
    """Yield a section of text about groups of names, cut after the first ``most``."""
    pairs = [(listed(group, most=names), words) for group, words in rows]
    rest = len(pairs) - most
    if rest > 1:
        pairs = [*pairs[:most], (f"{rest} more {what}", "-v shows all")]
    yield from _section(title, pairs)


def _ways(title: str, ways: Sequence[view.Way]) -> Iterator[RenderableType]:
    """Yield proposals in words, numbered as ``fix --advice`` counts them, each with its command."""
    if not ways:
        return
    yield Text(title, "bold")
    for words, command, number in ways:
        words += ":" if command else ""
        yield Padding(_labelled(f"{number}. ", words) if number else Text(words), INDENT)
        if command:
            yield Text(f"    {' ' * bool(number)}{command}", "green", no_wrap=True)
    yield Text()


def _notes(report: Analysis, detail: Detail, verbosity: int) -> Iterator[RenderableType]:
    """Yield the notes that no other section covers."""
    notes = [e for e in _grouped_findings(report, verbosity) if e[0].severity == "note"]
    notes = [(note, others) for note, others in notes if note.code != "REG220"]
    folded = not detail.helped and len(notes) >= 4
    for note, others in notes:
        if folded and note.code not in NEVER_FOLDED:
            continue
        yield from _diagnostic(report, note, others, sourced=detail.helped > 1)
        if detail.helped > 1:
            yield from _help(note)
    if folded:
        codes = listed([note.code for note, _ in notes])
        yield Text(f"… {counted(len(notes), 'kind')} of notes: {codes} (-v shows all)")
    if notes:
        yield Text()


def _loops(report: Analysis, detail: Detail, verbosity: int) -> Iterator[RenderableType]:
    """Yield the table of all loops, by component, similar ones in one row."""
    if not report.loops:
        return
    table = _grid("loop", "closed at", "motion", "kind")
    for column in ("joints", "equations", "kept", "redundant"):
        table.add_column(column, justify="right", no_wrap=True)
    alike = loop_view.groups(report.loops)
    # Components by themselves where that is no longer than the loops.
    apart = verbosity > 0 or len(report.components) + len(alike) <= min(detail.rows, 12)
    several = len(report.components) > 1
    for component in report.components if apart else ():
        single = [[loop] for loop in component.loops]
        for group in single if verbosity > 0 else loop_view.groups(component.loops):
            _group_row(table, group, report.kinds[group[0].name])
        if several:
            values = [str(n) for n in view.equations(component.part)]
            table.add_row(component.name, "", "", "", "", *values, style="dim")
    for group in alike if not apart and len(alike) <= detail.rows else ():
        _group_row(table, group, report.kinds[group[0].name])
    every = view.equations(report.reduction)
    table.add_row("all", "", "", "", "", *map(str, every), style="bold")
    words = "{} constraint equations at {}: {} kept, {} redundant (-v shows each loop)"
    closings = counted(len(report.loops), "closing joint")
    alone = Text(words.format(every[0], closings, *every[1:]))
    yield table if table.row_count > 1 else alone
    yield Text()


def _group_row(table: Table, group: Sequence[LoopReport], kind: str) -> None:
    """Add a row for loops that are alike."""
    loop, count = group[0], len(group)
    values = (loop.cut.constraints, loop.cut.kept, loop.redundant)
    suffix = "" if count == 1 else f" and {count - 1} more"
    table.add_row(
        f"{loop.name}{suffix}",
        loop.closing if count == 1 else f"{loop.closing} …",
        loop_view.SPATIAL.get(loop.motion.name, loop.motion.name),
        "" if kind == "regular" else kind,
        str(len(dict.fromkeys(loop.joints))),
        *(str(count * value) for value in values),
    )


def _footer(report: Analysis, detail: Detail, verbosity: int) -> Text:
    """Return kinds of redundancy, evidence, accepted findings and counts."""
    sentences = {
        "Redundant": "" if view.plain(report, verbosity) else view.kinds(report),
        "Checked": view.evidence(report),
        "Accepted": view.accepted(report) if report.suppressed else "",
    }
    lines = [f"{title}: {words}." for title, words in sentences.items() if words]
    lines.append(f"Found {view.found(report)} in {report.seconds:.2f} s.")
    codes = sorted({d.code for d in report.diagnostics})
    if codes:
        less = detail not in (DETAILS[0], EVERY)
        explain = f"regularize explain {codes[-1] if len(codes) == 1 else 'CODE'}"
        lines[-1] += f" More: {'-v, ' if less else ''}{explain}"
    return Text("\n".join(lines))
