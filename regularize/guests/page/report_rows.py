"""The report as rows of a page that know which parts of the picture they speak of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, TypeAlias

from regularize.checking import Report
from regularize.guests.page.drawing import Drawing
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint
from regularize.report import loop_view, view
from regularize.report.loop_report import LoopReport
from regularize.report.rules import rule
from regularize.version import __version__
from regularize.words import LISTED, counted, directions_words, listed

#: Kinds of loops that get a table, nearly all of them folded.
MOST_LOOPS = 10 * loop_view.SHOWN
#: Names in a list before the rest is only counted: two lines of a page.
MOST_NAMES = 2 * LISTED
#: HTML in a cell of a table, or the class of the cell and that.
Cell: TypeAlias = "str | tuple[str, str]"


def report_rows(report: Report, drawing: Drawing, references: References) -> Iterator[str]:
    """Yield the report's sections as HTML, changes of joints first."""
    yield from section("What to change", _ways(view.ways(report), report, references))
    yield from section("What next", _ways(view.next_steps(report), report, references))
    yield _numbers(report)
    yield from section("Findings", _findings(report, references))
    yield from section("Loops", _loops(report, drawing, references))
    named = (
        ("What moves", ("body", "motion"), view.moves(report)),
        ("Why", ("what", "reason"), view.why(report)),
        ("Reactions that cannot be trusted", ("joint", "undetermined"), view.untrusted(report)),
    )
    for title, heads, rows in named:
        cells = [
            (escape(key) if isinstance(key, str) else references.listed(key), escape(words))
            for key, words in rows
        ]
        yield from section(title, table(heads, cells) if cells else ())
    title, bars = view.lack_of_fit(report)[0], _lack_of_fit(report)
    yield from section(title, table(("redundant direction", "lack of fit"), bars) if bars else ())
    if bars:
        yield (
            '<p class="quiet">Bars are solid to one standard deviation and faint to the worst that '
            "the tolerances allow; the longest of each unit fills the line.</p>"
        )
    yield from _joints(report, references)
    if drawing.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in drawing.notes[:MOST_NAMES])
        words = f"{counted(len(drawing.notes), 'file')} could not be read; bars stand for them"
        shapes = "Shapes that are not shown"
        yield from section(shapes, (folded(words, f"<ul>{notes}</ul>"),))


def section(title: str, parts: Iterable[str]) -> Iterator[str]:
    """Yield a section with a heading, unless it is empty."""
    rows = [*parts]
    if rows:
        yield from (f"<section><h2>{title}</h2>", *rows, "</section>")


def table(
    heads: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, caption: str = ""
) -> Iterator[str]:
    """Yield an HTML table whose first column holds the headings of its rows."""
    head = "".join(_cell(cell, "th", "col") for cell in heads)
    caption = f"<caption>{caption}</caption>" if caption else ""
    yield f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>'
    for first, *cells in rows:
        yield f"<tr>{_cell(first, 'th', 'row')}{''.join(map(_cell, cells))}</tr>"
    yield "</tbody></table></div>"


def _cell(cell: Cell, tag: str = "td", scope: str = "") -> str:
    """Return a cell of a table."""
    kind, inner = ("", cell) if isinstance(cell, str) else cell
    scope = f' scope="{scope}"' if scope else ""
    return f"<{tag}{scope}{_class(kind)}>{inner}</{tag}>"


def _class(kind: str) -> str:
    """Return an element's class as HTML, or nothing."""
    return f' class="{kind}"' if kind else ""


def folded(summary: str, inner: str) -> str:
    """Return HTML of a section that opens when its summary is clicked."""
    return f"<details><summary>{summary}</summary>{inner}</details>"


def _numbers(report: Report) -> str:
    """Return mobility and counts as a list of terms."""
    r = report.reduction
    entries = [
        ("true mobility", view.mobility_words(report) if r.assembly.closed else "?"),
        ("Grübler count", view.signed(r.gruebler)),
        ("loops", r.graph.loops),
        ("equations", r.constraints),
        ("kept", r.kept),
        ("redundant", r.redundant if r.assembly.closed else "?"),
    ]
    cells = "".join(f"<div><dt>{term}</dt><dd>{value}</dd></div>" for term, value in entries)
    return f'<dl class="numbers">{cells}</dl>'


def _ways(ways: Sequence[view.Way], report: Report, references: References) -> Iterator[str]:
    """Yield what can be done, joint changes with a table each; the first is open."""
    if any(way.number for way in ways):
        yield '<p class="quiet">Point at a change: the picture moves what it sets free.</p>'
    for k, (words, command, number) in enumerate(ways):
        changes = report.advice[number - 1].changes if number else ()
        rows = [
            (
                references.element(change.joint),
                escape(change.before),
                escape(change.words),
                escape(directions_words(change.freedoms, "slide", "turn")),
            )
            for change in changes
        ]
        cells = "\n".join(table(("joint", "before", "after", "gains"), rows)) if rows else ""
        if len(rows) > LISTED:
            cells = folded(f"all {len(rows)} joints", cells)
        title = escape(f"{number}. {words}" if number else words[0].upper() + words[1:])
        copy = '<button type="button" data-copy>Copy</button>'
        code = f'<p class="command"><code>{escape(command)}</code>{copy}</p>' if command else ""
        if not code and not cells:
            yield f"<p>{title}.</p>"
            continue
        place = f' data-advice="{number - 1}"' if number else ""
        yield f'<details class="way"{place}{" open" * (k == 0)}><summary>{title}</summary>'
        yield f"{code}{cells}</details>"


def _findings(report: Report, references: References) -> Iterator[str]:
    """Yield all findings, those about similar loops together."""
    yield f"<p>{escape(view.found(report).capitalize())}.</p>"
    yield '<ul class="findings">'
    for first, others in view.merged(report):
        refs = " ".join(references.finding(finding) for finding in (first, *others))
        yield f'<li data-refs="{refs}">{_finding(first, references.marked(first.message))}'
        if others and first.code == "REG201":
            closing = references.listed([str(finding.loop) for finding in others])
            yield f'<p class="quiet">Likewise {closing}.</p>'
        elif others:
            messages = "\n".join(f"<p>{references.marked(other.message)}</p>" for other in others)
            yield folded(f"{len(others)} more of this kind", messages)
        yield "</li>"
    yield "</ul>"


def _finding(diagnostic: Diagnostic, message: str) -> str:
    """Return a finding with its badge, place, help and the explanation of its code."""
    parts = [
        f'<p><span class="badge {diagnostic.severity}">{diagnostic.code} {diagnostic.severity}'
        f"</span> {message}</p>"
    ]
    if diagnostic.source is not None:
        where = " ".join(filter(None, [str(diagnostic.source), diagnostic.source.element]))
        parts.append(f'<p class="quiet"><code>{escape(where)}</code></p>')
    parts += [f"<p>→ {_help_line(line)}</p>" for line in diagnostic.help]
    about = rule(diagnostic.code)
    if about is not None:
        texts = (escape(about.what), escape(about.why), f"What to do: {escape(about.fix)}")
        explained = "".join(f"<p>{text}</p>" for text in texts)
        parts.append(folded(f"What {diagnostic.code} means", explained))
    return "".join(parts)


def _help_line(line: str) -> str:
    """Return a line of help; its command is set as code that no line breaks within an option."""
    words, found, command = line.partition(": regularize ")
    if not found:
        return escape(line)
    options = re.sub(r"(?<!\S)--?[\w-]+", r'<span class="option">\g<0></span>', escape(command))
    return f"{escape(words)}: <code>regularize {options}</code>"


def _loops(report: Report, drawing: Drawing, references: References) -> Iterator[str]:
    """Yield the loops, similar ones together."""
    groups = loop_view.groups(report.loops)
    for i, group in enumerate(groups[:MOST_LOOPS]):
        yield from _loop(report, drawing, references, group, is_open=i < loop_view.SHOWN)
    if len(groups) > MOST_LOOPS:
        yield f'<p class="quiet">{len(groups) - MOST_LOOPS} more are in the embedded data.</p>'


def _loop(
    report: Report,
    drawing: Drawing,
    references: References,
    group: Sequence[LoopReport],
    *,
    is_open: bool,
) -> Iterator[str]:
    """Yield one loop: its chain, the equations of its closing joint and their reasons."""
    loop = group[0]
    red, green, blue, _ = drawing.loop_colors[loop.name]
    kind = report.kinds[loop.name]
    kind = "" if kind == "regular" else f", {kind}"
    refs = " ".join(references.loops[member.name] for member in group)
    yield f'<details class="loop" data-refs="{refs}"{" open" if is_open else ""}><summary><h3>'
    yield f'<span class="swatch" style="background:rgb({red},{green},{blue})"></span>'
    motion = escape(loop_view.motion(loop))
    yield f"{escape(loop_view.group_name(group))}</h3> <span class='quiet'>{motion}{kind}; "
    yield f"{loop.redundant} of {loop.cut.constraints} equations redundant</span></summary>"
    links = loop_view.chain(loop, report.mechanism.ground)
    yield f'<p class="chain">{" ".join(references.element(name, kind) for kind, name in links)}</p>'
    rows = [
        (escape(direction), (f"status-{status}", status), escape(because), escape(residual))
        for direction, status, because, residual in loop_view.rows(loop)
    ]
    caption = f"Constraint equations at {escape(loop.closing)}"
    heads = ("direction", "status", "already fixed by", "residual")
    yield from table(heads, rows, caption=caption)
    yield from (f"<p>Why: {escape(sentence)}.</p>" for sentence in loop_view.reasons(loop))
    choice = loop_view.choices(loop)
    if choice is not None:
        yield f"<p>Choice: {escape(choice)}.</p>"
    yield "</details>"


def _lack_of_fit(report: Report) -> list[tuple[str, str]]:
    """Return misfits with bars: solid for one standard deviation, faint for the worst."""
    pairs = view.lack_of_fit(report)[1]
    cells = [escape(words) for _, words in pairs]
    entries = () if report.misfit is None else report.misfit.entries
    for kind, std, worst in (
        ("gap", [e.std for e in entries], [e.worst for e in entries]),
        ("force", [e.force_std for e in entries], [e.force_worst for e in entries]),
    ):
        for angular in (False, True):
            places = [k for k, entry in enumerate(entries) if entry.angular == angular]
            longest = max((worst[k] or 0.0 for k in places), default=0.0) or 1.0
            for k in places if worst and worst[0] is not None else ():
                solid, faint = (100.0 * (size[k] or 0.0) / longest for size in (std, worst))
                cells[k] += f'<div class="bar {kind}"><i style="width:{solid:.1f}%"></i>'
                cells[k] += f'<b style="width:{faint:.1f}%"></b></div>'
    return [(escape(name), cell) for (name, _), cell in zip(pairs, cells, strict=True)]


def _joints(report: Report, references: References) -> Iterator[str]:
    """Yield a folded table of all joints."""
    joints, element = report.mechanism.joints, references.element
    rows = [
        (element(j.name), j.kind, f"{element(j.parent)} and {element(j.child)}") for j in joints
    ]
    if joints:
        cells = "\n".join(table(("joint", "kind", "between"), rows))
        title = f"<h2>{counted(len(joints), 'joint')}</h2>"
        yield f"<section>{folded(title, cells)}</section>"


def footer(report: Report) -> str:
    """Return the version, the settings and the evidence behind the report."""
    r = report.reduction
    sentences = [f"regularize {__version__}", f"tolerance {r.rtol:g}", f"seed {r.seed}"]
    sentences += filter(None, (view.kinds(report), view.evidence(report)))
    return f'<footer class="quiet"><p>{escape("; ".join(sentences))}.</p></footer>'


class References:
    """Short references (``j3``, ``b0``, ``l1``) of joints, bodies and loops by their names."""

    def __init__(self, report: Report) -> None:
        self.report = report
        mechanism = report.mechanism
        self.joints = _numbered("j", (joint.name for joint in mechanism.joints))
        for edge in report.reduction.graph.edges:  # parts of joints that are split
            self.joints.setdefault(edge.name, self.joints[edge.joint.name])
        self.bodies = _numbered("b", (body.name for body in mechanism.bodies))
        self.loops = _numbered("l", (loop.name for loop in report.loops))

    def finding(self, finding: Diagnostic) -> str:
        """Return the reference of a finding."""
        return f"f{self.report.diagnostics.index(finding)}"

    def element(self, name: str, kind: str = "", tag: str = "span") -> str:
        """Return the name of a joint, body or loop as an element that refers to the picture."""
        ref = next((of[name] for of in (self.joints, self.bodies, self.loops) if name in of), "")
        refs = f' data-refs="{ref}"' if ref else ""
        return f"<{tag}{_class(kind)}{refs}>{escape(name)}</{tag}>"

    def listed(self, names: Sequence[str]) -> str:
        """Return names as a list, folded after the first few."""
        elements = [self.element(name) for name in names]
        if len(elements) <= MOST_NAMES + 1:
            return listed(elements, most=len(elements))
        rest = folded(f"and {len(elements) - MOST_NAMES} more", ", ".join(elements[MOST_NAMES:]))
        return f"{', '.join(elements[:MOST_NAMES])} {rest}"

    def marked(self, message: str) -> str:
        """Return a message with backquoted words as code, and names among them as references."""
        return "".join(
            self.element(part, tag="code") if i % 2 else escape(part)
            for i, part in enumerate(message.split("`"))
        )

    def data(self) -> dict[str, Any]:
        """Return the cards of joints, bodies, loops and findings by reference."""
        report = self.report
        return {
            "joints": [self._joint(joint) for joint in report.mechanism.joints],
            "bodies": list(self._body_entries()),
            "loops": [self._loop(loop) for loop in report.loops],
            "findings": [self._finding(finding) for finding in report.diagnostics],
        }

    def _joint(self, joint: Joint) -> dict[str, Any]:
        """Return the card of a joint."""
        closing = [loop for loop in self.report.loops if loop.closing == joint.name]
        on = [loop.name for loop in self.report.loops if joint.name in loop.joints]
        lines = [f"{joint.kind}, {joint.parent} to {joint.child}"]
        for loop in closing:
            lines.append(
                f"closes {loop.name}: {loop.redundant} of {loop.cut.constraints} equations are "
                "redundant"
            )
            removed = directions_words(
                [equation.direction for equation in loop.removed], "force", "moment"
            )
            if removed:
                lines.append(f"undetermined: {removed}")
        if on and not closing:
            lines.append(f"on {listed(on, most=4)}")
        bodies = [self.bodies[joint.parent], self.bodies[joint.child]]
        title = f"Joint {joint.name}"
        return {"name": joint.name, "title": title, "lines": lines, "bodies": bodies}

    def _loop(self, loop: LoopReport) -> dict[str, Any]:
        """Return the card of a loop."""
        count = f"{loop.redundant} of {loop.cut.constraints} equations at {loop.closing} redundant"
        # Between parts of joints that are split there is no body of the model's.
        bodies = [self.bodies[n] for parts in loop.parts for n in parts if n in self.bodies]
        refs = [*(self.joints[name] for name in loop.joints), *bodies]
        lines = [loop_view.motion(loop), count]
        return {"title": f"Loop {loop.name}", "lines": lines, "refs": refs}

    def _body_entries(self) -> Iterator[dict[str, Any]]:
        """Yield the cards of all bodies."""
        report = self.report
        moves = {motion.body: motion.words for motion in report.moving}
        nodes = report.reduction.graph.node_of
        first = report.reduction.graph.nodes
        joints: dict[str, list[str]] = {}
        for joint in report.mechanism.joints:
            for name in {joint.parent, joint.child}:
                joints.setdefault(name, []).append(joint.name)
        for body in report.mechanism.bodies:
            words = "the ground" if body.name == report.mechanism.ground else ""
            words = words or moves.get(body.name) or moves.get(first[nodes[body.name]], "")
            on = joints.get(body.name, [])
            lines = [words, f"{counted(len(on), 'joint')}: {listed(on)}" if on else ""]
            yield {"title": f"Body {body.name}", "lines": [line for line in lines if line]}

    def _finding(self, finding: Diagnostic) -> dict[str, Any]:
        """Return the card of a finding."""
        refs = [] if finding.loop is None else [self.loops[finding.loop]]
        refs += [self.joints[name] for name in finding.joints if name in self.joints]
        title, line = f"{finding.code} {finding.severity}", finding.message.replace("`", "")
        return {"title": title, "lines": [line], "refs": refs}


def _numbered(letter: str, names: Iterable[str]) -> dict[str, str]:
    """Return a reference for each name: a letter and its position."""
    references: dict[str, str] = {}
    for place, name in enumerate(names):
        references.setdefault(name, f"{letter}{place}")
    return references
