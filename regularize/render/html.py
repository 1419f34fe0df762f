"""The report as one HTML file: scripts, styles and data inside, in light and dark colours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from pathlib import PurePath

import regularize
from regularize.model.diagnostic import Diagnostic
from regularize.render import loop_view, misfit_view, view
from regularize.render.drawing import Drawing, draw
from regularize.render.loop_view import Group
from regularize.render.picture import picture, svg
from regularize.render.scene_data import scene_data
from regularize.render.summary import SummaryLine
from regularize.report.analysis import Analysis
from regularize.report.rules import rule
from regularize.report.words import LISTED, listed

#: Kinds of loops that get a table, nearly all of them folded.
MOST_LOOPS = 10 * loop_view.SHOWN
#: Names in a list before the rest is only counted: two lines of a page.
MOST_NAMES = 2 * LISTED


def render(report: Analysis, panel: str = "", script: str = "") -> str:
    """The page of one model.

    Args:
        report: Of the model.
        panel: HTML that stands below the picture.
        script: What brings it to life.
    """
    drawing = draw(report)
    scene = scene_data(drawing)
    name, counts = view.headline(report)
    level, sentence = view.verdict(report)
    body = [
        f"<header><h1>{escape(PurePath(name).name)}</h1>",
        f'<p class="meta">{escape(name)} · {escape(counts)}</p>',
        f'<p class="verdict {level}">{escape(sentence)}</p>',
        f"<p>{escape(view.counts(report))}</p></header><main>",
        *_figure(report, drawing, [motion["name"] for motion in scene["motions"]]),
        panel,
        *_numbers(report),
        *_findings(report),
        *_loops(report, drawing),
        *_pairs("What moves", ("body", "motion"), view.moves(report, most=MOST_NAMES)),
        *_pairs("Why", ("what", "reason"), view.why(report)),
        *_pairs(
            "Reactions that cannot be trusted",
            ("joint", "undetermined"),
            view.untrusted(report, most=MOST_NAMES),
        ),
        *_pairs(
            misfit_view.title(report), ("redundant direction", "misfit"), misfit_view.rows(report)
        ),
        misfit_view.bars(report),
        *_remedies(report),
        "</main>",
        *_footer(report),
        f'<script type="application/json" id="report">{_json(report.as_dict())}</script>',
        f'<script type="application/json" id="scene">{_json(scene)}</script>',
        f"<script>{_asset('viewer.js')}</script>",
        *([f"<script>{script}</script>"] if script else ()),
    ]
    return _page(f"{PurePath(name).name}: {sentence}", body)


def index(lines: Mapping[str, SummaryLine]) -> str:
    """The page of many models, with a link to each."""
    rows = []
    for page, line in lines.items():
        level = line.worst or "good"
        cells = "".join(f'<td class="number">{n}</td>' for n in line.numbers)
        codes = " ".join(line.codes) or "none"
        rows.append(
            f'<tr><th scope="row"><a href="{escape(page)}">{escape(line.path)}</a></th>{cells}'
            f'<td class="{level}">{escape(codes)}</td></tr>'
        )
    head = "".join(
        f'<th scope="col" class="number">{title}</th>'
        for title in ("loops", "Grübler count", "mobility", "redundant", "droppable")
    )
    body = [
        f"<header><h1>{len(rows)} models</h1></header><main>",
        f'<div class="scroll"><table><thead><tr><th scope="col">model</th>{head}'
        f'<th scope="col">findings</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>',
        "</main>",
    ]
    return _page(f"{len(rows)} models", body)


def _page(title: str, body: Iterable[str]) -> str:
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>{_asset('page.css')}</style></head><body>",
            *body,
            "</body></html>\n",
        ]
    )


def _asset(name: str) -> str:
    return files("regularize.render").joinpath(name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """JSON that cannot end the script element that it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def _figure(report: Analysis, drawing: Drawing, drivers: list[str]) -> Iterator[str]:
    flat = picture(report, ghosts=0, drawing=drawing)
    label = escape(flat.title, quote=True)
    yield f'<figure><div class="stage" id="stage" data-label="{label}">'
    yield svg(flat, background=None)
    yield '</div><div class="controls" id="motion" hidden>'
    yield '<button type="button" id="play" aria-pressed="false">Play</button>'
    yield '<label>driven by <select id="driver">'
    yield from (f"<option>{escape(driver)}</option>" for driver in drivers)
    yield '</select></label><label><span class="quiet">motion</span>'
    yield '<input type="range" id="time" min="0" max="1" step="any" value="0"></label>'
    yield '<output id="value" for="time"></output></div>'
    yield '<div class="controls" id="layers" hidden>'
    layers = {"bodies": "bodies", "joints": "joints and axes", "redundant": "redundant directions"}
    if drawing.branch_colors:
        layers["branches"] = "branches"
    for value, words in (layers | {"names": "names"}).items():
        yield f'<label><input type="checkbox" value="{value}" checked>{words}</label>'
    yield "</div><figcaption>Arrows are joint axes. "
    if report.reduction.removed:
        yield (
            '<span class="swatch" style="background:#cc1448"></span>Redundant equations at the '
            "closing joints: a straight double arrow is a force, a ring a moment, that the model "
            "leaves undetermined. "
        )
    if drawing.branch_colors:
        yield "Bent arrows show where joints go on each motion that meets here: "
        yield ", ".join(
            f'<span class="swatch" style="background:rgb{color[:3]}"></span>{escape(name)}'
            for name, color in drawing.branch_colors.items()
        )
        yield "."
    yield "</figcaption></figure>"


def _numbers(report: Analysis) -> Iterator[str]:
    r = report.reduction
    entries = [
        ("true mobility", view.mobility_words(report) if r.assembly.closed else "?"),
        ("Grübler count", r.gruebler),
        ("loops", r.graph.loops),
        ("constraint equations", r.constraints),
        ("kept", r.kept),
        ("redundant", r.redundant if r.assembly.closed else "?"),
    ]
    cells = "".join(f"<div><dt>{term}</dt><dd>{value}</dd></div>" for term, value in entries)
    yield f'<dl class="numbers">{cells}</dl>'


def _findings(report: Analysis) -> Iterator[str]:
    yield f"<section><h2>Findings</h2><p>{escape(view.found(report).capitalize())}.</p>"
    yield '<ul class="findings">'
    for first, others in view.merged(report):
        yield f"<li>{_finding(first)}"
        if others:
            closing = listed([str(d.loop) for d in others], most=MOST_NAMES)
            yield f'<p class="quiet">Likewise {escape(closing)}.</p>'
        yield "</li>"
    yield "</ul></section>"


def _finding(diagnostic: Diagnostic) -> str:
    parts = [
        f'<p><span class="badge {diagnostic.severity}">{diagnostic.code} {diagnostic.severity}'
        f"</span> {_marked(diagnostic.message)}</p>"
    ]
    if diagnostic.source is not None:
        where = " ".join(filter(None, [str(diagnostic.source), diagnostic.source.element]))
        parts.append(f'<p class="quiet"><code>{escape(where)}</code></p>')
    parts += [f"<p>→ {escape(line)}</p>" for line in diagnostic.help]
    known = rule(diagnostic.code)
    if known is not None:
        parts.append(
            f"<details><summary>What {diagnostic.code} means</summary>"
            f"<p>{escape(known.what)}</p><p>{escape(known.why)}</p>"
            f"<p>What to do: {escape(known.fix)}</p></details>"
        )
    return "".join(parts)


def _marked(message: str) -> str:
    """A message with what stands in backquotes as code."""
    pieces = escape(message).split("`")
    return "".join(p if i % 2 == 0 else f"<code>{p}</code>" for i, p in enumerate(pieces))


def _loops(report: Analysis, drawing: Drawing) -> Iterator[str]:
    groups = loop_view.groups(report.loops)
    if not groups:
        return
    yield "<section><h2>Loops</h2>"
    for i, group in enumerate(groups[:MOST_LOOPS]):
        yield from _loop(report, drawing, group, is_open=i < loop_view.SHOWN)
    if len(groups) > MOST_LOOPS:
        yield f'<p class="quiet">{len(groups) - MOST_LOOPS} more are in the embedded data.</p>'
    yield "</section>"


def _loop(report: Analysis, drawing: Drawing, group: Group, *, is_open: bool) -> Iterator[str]:
    loop = group.first
    red, green, blue, _ = drawing.loop_colors[loop.name]
    kind = "" if loop.category == "regular" else f", {loop.category}"
    yield f'<details class="loop"{" open" if is_open else ""}><summary><h3>'
    yield f'<span class="swatch" style="background:rgb({red},{green},{blue})"></span>'
    yield f"{escape(group.name)}</h3> <span class='quiet'>{escape(loop_view.motion(loop))}{kind}; "
    yield f"{loop.redundant} of {loop.cut.constraints} equations redundant</span></summary>"
    links = " ".join(
        f'<span class="{kind}">{escape(name)}</span>'
        for kind, name in loop_view.chain(loop, report.mechanism.ground)
    )
    yield f'<p class="chain">{links}</p>'
    yield (
        f'<div class="scroll"><table><caption>Constraint equations at {escape(loop.closing)}'
        '</caption><thead><tr><th scope="col">direction</th><th scope="col">status</th>'
        '<th scope="col">already fixed by</th><th scope="col">residual</th></tr></thead><tbody>'
    )
    for row in loop_view.rows(loop):
        yield (
            f'<tr><th scope="row">{escape(row.direction)}</th>'
            f'<td class="status-{row.status}">{row.status}</td>'
            f"<td>{escape(row.because)}</td><td>{escape(row.residual)}</td></tr>"
        )
    yield "</tbody></table></div>"
    yield from (f"<p>Why: {escape(sentence)}.</p>" for sentence in loop_view.reasons(loop))
    choice = loop_view.choices(loop)
    if choice is not None:
        yield f"<p>Choice: {escape(choice)}.</p>"
    yield "</details>"


def _pairs(title: str, heads: tuple[str, str], pairs: list[tuple[str, str]]) -> Iterator[str]:
    if not pairs:
        return
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    yield f'<section><h2>{title}</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
    rows = "".join(
        f'<tr><th scope="row">{escape(left)}</th><td>{escape(right)}</td></tr>'
        for left, right in pairs
    )
    yield f"<tbody>{rows}</tbody></table></div></section>"


def _remedies(report: Analysis) -> Iterator[str]:
    remedies = view.remedies(report)
    if remedies:
        yield "<section><h2>What to do</h2>"
        for words, command in remedies:
            text = escape(words[0].upper() + words[1:])
            if command:
                yield f"<p>{text}:</p><pre><code>{escape(command)}</code></pre>"
            else:
                yield f"<p>{text}.</p>"
        yield "</section>"


def _footer(report: Analysis) -> Iterator[str]:
    r = report.reduction
    sentences = [f"regularize {regularize.__version__}", f"tolerance {r.rtol:g}", f"seed {r.seed}"]
    for text in (view.kinds(report), view.evidence(report)):
        if text:
            sentences.append(text)
    yield f'<footer class="quiet"><p>{escape("; ".join(sentences))}.</p></footer>'
