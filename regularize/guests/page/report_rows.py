"""The report as rows of a page that know which parts of the picture they speak of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from regularize.guests.page.drawing import Drawing
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint
from regularize.report import loop_view, view
from regularize.report.loop_view import Group
from regularize.report.report import Report
from regularize.report.rules import rule
from regularize.version import __version__
from regularize.words import LISTED, counted, directions_words, listed

#: Kinds of loops that get a table, nearly all of them folded.
MOST_LOOPS = 10 * loop_view.SHOWN
#: Names in a list before the rest is only counted: two lines of a page.
MOST_NAMES = 2 * LISTED


def report_rows(report: Report, drawing: Drawing, references: References) -> Iterator[str]:
    """Yield the report's sections as HTML, what to change first."""
    rows = _Rows(report, references)
    yield from rows.advice()
    yield from _numbers(report)
    yield from _ways("What to do", view.remedies(report))
    yield from rows.findings()
    yield from rows.loops(drawing)
    yield from rows.named("What moves", ("body", "motion"), view.moves(report))
    why = [[*map(escape, pair)] for pair in view.why(report)]
    yield from _table_section("Why", ("what", "reason"), why)
    untrusted = view.untrusted(report)
    yield from rows.named("Reactions that cannot be trusted", ("joint", "undetermined"), untrusted)
    yield from _lack_of_fit(report)
    yield from rows.joints()
    yield from _notes(drawing.notes)


def _numbers(report: Report) -> Iterator[str]:
    """Yield mobility and counts as a list of terms."""
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
    yield f'<dl class="numbers">{cells}</dl>'


class _Rows:
    """Sections of HTML whose names point at the picture."""

    def __init__(self, report: Report, references: References) -> None:
        self.report, self.references = report, references

    def advice(self) -> Iterator[str]:
        """Yield the ways to change joints, each with a table of its changes."""
        ways = view.advice(self.report)
        if not ways:
            return
        yield "<section><h2>What to change</h2>"
        yield '<p class="quiet">Point at a way: the picture moves the freedoms that it gives.</p>'
        entries = [entry.changes for entry in self.report.advice]
        for k, (words, command) in enumerate(ways):
            yield f'<div class="way" data-advice="{k}" tabindex="0">'
            yield _way(words, command)
            heads = ("joint", "before", "after", "gains")
            rows = [
                (
                    self.name(change.joint),
                    escape(change.before),
                    escape(change.words),
                    escape(directions_words(change.freedoms, "slide", "turn")),
                )
                for change in (entries[k] if k < len(entries) else ())
            ]
            if len(rows) > MOST_NAMES:
                yield f"<details><summary>all {len(rows)} joints</summary>"
            yield from _table(heads, rows) if rows else ()
            yield "</details></div>" if len(rows) > MOST_NAMES else "</div>"
        yield "</section>"

    def findings(self) -> Iterator[str]:
        """Yield all findings, those about similar loops together."""
        yield f"<section><h2>Findings</h2><p>{escape(view.found(self.report).capitalize())}.</p>"
        yield '<ul class="findings">'
        for first, others in view.merged(self.report):
            refs = " ".join(self.references.finding(each) for each in (first, *others))
            yield f'<li data-refs="{refs}">'
            yield _finding(first, self.marked(first.message))
            if others and first.code == "REG201":
                closing = self.names([str(d.loop) for d in others])
                yield f'<p class="quiet">Likewise {closing}.</p>'
            elif others:
                yield f"<details><summary>{len(others)} more of this kind</summary>"
                yield from (f"<p>{self.marked(each.message)}</p>" for each in others)
                yield "</details>"
            yield "</li>"
        yield "</ul></section>"

    def marked(self, message: str) -> str:
        """Return a message with backquoted words as code, and names among them as references."""
        pieces = message.split("`")
        return "".join(
            escape(p) if i % 2 == 0 else self.name(p, "code") for i, p in enumerate(pieces)
        )

    def name(self, name: str, tag: str = "span", kind: str = "") -> str:
        """Return the name of a joint, body or loop as an element that refers to the picture."""
        ref = self.references.named(name)
        refs = f' data-refs="{ref}"' if ref else ""
        style = f' class="{kind}"' if kind else ""
        return f"<{tag}{style}{refs}>{escape(name)}</{tag}>"

    def names(self, names: Sequence[str]) -> str:
        """Return names as a list, folded after the first few."""
        found = [self.name(name) for name in names]
        if len(found) <= MOST_NAMES + 1:
            return listed(found, most=len(found))
        more = ", ".join(found[MOST_NAMES:])
        return (
            f"{', '.join(found[:MOST_NAMES])} <details><summary>and {len(found) - MOST_NAMES} more"
            f"</summary>{more}</details>"
        )

    def named(
        self, title: str, heads: tuple[str, str], rows: Sequence[tuple[Sequence[str], str]]
    ) -> Iterator[str]:
        """Yield a table with a list of names in the first column and words in the second."""
        yield from _table_section(
            title, heads, [(self.names(names), escape(text)) for names, text in rows]
        )

    def joints(self) -> Iterator[str]:
        """Yield a folded table of all joints."""
        joints = self.report.mechanism.joints
        if not joints:
            return
        yield f"<section><details><summary><h2>{counted(len(joints), 'joint')}"
        yield "</h2></summary>"
        rows = (
            (self.name(j.name), j.kind, f"{self.name(j.parent)} and {self.name(j.child)}")
            for j in joints
        )
        yield from _table(("joint", "kind", "between"), rows)
        yield "</details></section>"

    def loops(self, drawing: Drawing) -> Iterator[str]:
        """Yield the loops, similar ones together."""
        groups = loop_view.groups(self.report.loops)
        if not groups:
            return
        yield "<section><h2>Loops</h2>"
        for i, group in enumerate(groups[:MOST_LOOPS]):
            yield from self._loop(drawing, group, is_open=i < loop_view.SHOWN)
        if len(groups) > MOST_LOOPS:
            yield f'<p class="quiet">{len(groups) - MOST_LOOPS} more are in the embedded data.</p>'
        yield "</section>"

    def _loop(self, drawing: Drawing, group: Group, *, is_open: bool) -> Iterator[str]:
        """Yield one loop: its chain, the equations of its closing joint and their reasons."""
        loop = group.first
        red, green, blue, _ = drawing.loop_colors[loop.name]
        kind = self.report.kinds[loop.name]
        kind = "" if kind == "regular" else f", {kind}"
        refs = " ".join(self.references.loops[each.name] for each in group.loops)
        opened = " open" if is_open else ""
        yield f'<details class="loop" data-refs="{refs}"{opened}><summary><h3>'
        yield f'<span class="swatch" style="background:rgb({red},{green},{blue})"></span>'
        motion = escape(loop_view.motion(loop))
        yield f"{escape(group.name)}</h3> <span class='quiet'>{motion}{kind}; "
        yield f"{loop.redundant} of {loop.cut.constraints} equations redundant</span></summary>"
        links = " ".join(
            self.name(name, kind=kind)
            for kind, name in loop_view.chain(loop, self.report.mechanism.ground)
        )
        yield f'<p class="chain">{links}</p>'
        yield (
            f'<div class="scroll"><table><caption>Constraint equations at {escape(loop.closing)}'
            '</caption><thead><tr><th scope="col">direction</th><th scope="col">status</th>'
            '<th scope="col">already fixed by</th><th scope="col">residual</th></tr></thead><tbody>'
        )
        for direction, status, because, residual in loop_view.rows(loop):
            yield (
                f'<tr><th scope="row">{escape(direction)}</th>'
                f'<td class="status-{status}">{status}</td>'
                f"<td>{escape(because)}</td><td>{escape(residual)}</td></tr>"
            )
        yield "</tbody></table></div>"
        yield from (f"<p>Why: {escape(sentence)}.</p>" for sentence in loop_view.reasons(loop))
        choice = loop_view.choices(loop)
        if choice is not None:
            yield f"<p>Choice: {escape(choice)}.</p>"
        yield "</details>"


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
    known = rule(diagnostic.code)
    if known is not None:
        parts.append(
            f"<details><summary>What {diagnostic.code} means</summary>"
            f"<p>{escape(known.what)}</p><p>{escape(known.why)}</p>"
            f"<p>What to do: {escape(known.fix)}</p></details>"
        )
    return "".join(parts)


def _help_line(line: str) -> str:
    """Return a line of help; its command is set as code that no line breaks within an option."""
    words, found, command = line.partition(": regularize ")
    if not found:
        return escape(line)
    options = re.sub(r"(?<!\S)--?[\w-]+", r'<span class="option">\g<0></span>', escape(command))
    return f"{escape(words)}: <code>regularize {options}</code>"


def _table_section(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield a section with a table, unless it has no rows."""
    if rows:
        yield f"<section><h2>{title}</h2>"
        yield from _table(heads, rows)
        yield "</section>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table whose first column names what the others are about."""
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    yield f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>'
    for first, *others in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in others)
        yield f'<tr><th scope="row">{first}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _lack_of_fit(report: Report) -> Iterator[str]:
    """Yield the lack of fit with bars: solid for one standard deviation, faint for the worst."""
    title, pairs = view.lack_of_fit(report)
    cells = [escape(words) for _, words in pairs]
    entries = () if report.misfit is None else report.misfit.entries
    for what, std, worst in (
        ("gap", [e.std for e in entries], [e.worst for e in entries]),
        ("force", [e.force_std for e in entries], [e.force_worst for e in entries]),
    ):
        for angular in (False, True):
            own = [k for k, entry in enumerate(entries) if entry.angular == angular]
            longest = max((worst[k] or 0.0 for k in own), default=0.0) or 1.0
            for k in own if worst and worst[0] is not None else ():
                solid, faint = (100.0 * (size[k] or 0.0) / longest for size in (std, worst))
                cells[k] += f'<div class="bar {what}"><i style="width:{solid:.1f}%"></i>'
                cells[k] += f'<b style="width:{faint:.1f}%"></b></div>'
    rows = [(escape(name), cell) for (name, _), cell in zip(pairs, cells, strict=True)]
    yield from _table_section(title, ("redundant direction", "lack of fit"), rows)
    if rows:
        yield (
            '<p class="quiet">Bars are solid to one standard deviation and faint to the worst that '
            "the tolerances allow; the longest of each unit fills the line.</p>"
        )


def _notes(notes: Sequence[str]) -> Iterator[str]:
    """Yield the shapes that could not be read."""
    if notes:
        yield f"<section><h2>Shapes that are not shown</h2><p>{len(notes)} could not be read; bars "
        yield "stand for them.</p><ul>"
        yield from (f"<li>{escape(note)}</li>" for note in notes[:MOST_NAMES])
        yield "</ul></section>"


def _ways(title: str, ways: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a section of sentences with their commands, unless it is empty."""
    if ways:
        yield f"<section><h2>{title}</h2>"
        yield from (_way(*each) for each in ways)
        yield "</section>"


def _way(words: str, command: str) -> str:
    """Return what can be done as a sentence, and the command that does it."""
    text = escape(words[0].upper() + words[1:])
    code = f"<pre><code>{escape(command)}</code></pre>" if command else ""
    return f"<p>{text}{':' if code else '.'}</p>{code}"


def footer(report: Report) -> Iterator[str]:
    """Yield the version, the settings and the evidence behind the report."""
    r = report.reduction
    sentences = [f"regularize {__version__}", f"tolerance {r.rtol:g}", f"seed {r.seed}"]
    for text in (view.kinds(report), view.evidence(report)):
        if text:
            sentences.append(text)
    yield f'<footer class="quiet"><p>{escape("; ".join(sentences))}.</p></footer>'


class References:
    """Short references of joints, bodies and loops, by their names."""

    def __init__(self, report: Report) -> None:
        self.report = report
        mechanism = report.mechanism
        self.joints = _numbered("j", (joint.name for joint in mechanism.joints))
        for edge in report.reduction.graph.edges:  # parts of joints that are split
            self.joints.setdefault(edge.name, self.joints[edge.joint.name])
        self.bodies = _numbered("b", (body.name for body in mechanism.bodies))
        self.loops = _numbered("l", (loop.name for loop in report.loops))

    def finding(self, finding: Diagnostic) -> str:
        """Reference of a finding."""
        return f"f{self.report.diagnostics.index(finding)}"

    def named(self, name: str) -> str:
        """Return the reference of the joint, body or loop with this name, or nothing."""
        every = (self.joints, self.bodies, self.loops)
        return next((references[name] for references in every if name in references), "")

    def data(self) -> dict[str, Any]:
        """Return the cards of all joints, bodies, loops and findings, which references lead to."""
        report = self.report
        return {
            "joints": [self._joint(joint) for joint in report.mechanism.joints],
            "bodies": list(self._body_entries()),
            "loops": [
                {
                    "title": f"Loop {loop.name}",
                    "lines": [
                        loop_view.motion(loop),
                        f"{loop.redundant} of {loop.cut.constraints} equations at {loop.closing} "
                        "redundant",
                    ],
                    "refs": [
                        *(self.joints[name] for name in loop.joints),
                        # Between parts of joints that are split there is no body of the model's.
                        *(self.bodies[name] for name in loop.bodies if name in self.bodies),
                    ],
                }
                for loop in report.loops
            ],
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
        return {
            "name": joint.name,
            "title": f"Joint {joint.name}",
            "lines": lines,
            "bodies": [self.bodies[joint.parent], self.bodies[joint.child]],
        }

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
            own = joints.get(body.name, [])
            lines = [words, f"{counted(len(own), 'joint')}: {listed(own)}" if own else ""]
            yield {"title": f"Body {body.name}", "lines": [line for line in lines if line]}

    def _finding(self, finding: Diagnostic) -> dict[str, Any]:
        """Return the card of a finding."""
        refs = [] if finding.loop is None else [self.loops[finding.loop]]
        refs += [self.joints[name] for name in finding.joints if name in self.joints]
        return {
            "title": f"{finding.code} {finding.severity}",
            "lines": [finding.message.replace("`", "")],
            "refs": refs,
        }


def _numbered(letter: str, names: Iterable[str]) -> dict[str, str]:
    """Return references for names: a letter and the place of each."""
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        found.setdefault(name, f"{letter}{place}")
    return found
