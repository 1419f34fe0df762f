"""The report as one HTML file: scripts, styles and data inside, in light and dark colours."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from pathlib import PurePath
from string import Template
from urllib.parse import quote

import numpy as np

from regularize.checking import Report
from regularize.escape import displayed
from regularize.guests.page.animation import PlayedMotion, branch_numbers
from regularize.guests.page.artist import draw
from regularize.guests.page.drawing import Drawing, camera, web
from regularize.guests.page.page_data import page_data
from regularize.guests.page.report_rows import Cell, References, footer, report_rows, table
from regularize.lie.arrays import Array
from regularize.mechanism.graph import actuated_coordinates
from regularize.report import view
from regularize.report.listing import SummaryLine
from regularize.services import present
from regularize.tolerances import VANISHING
from regularize.words import counted

#: Scripts of a page, those that others need first.
SCRIPTS = (
    *("bus", "kinematics", "camera", "scene", "labels", "furniture", "stage"),
    *("motion", "trajectory", "report", "page"),
)


def render(
    report: Report,
    *,
    meshes: bool = True,
    budget: int = 3_000_000,
    trajectory: PlayedMotion | None = None,
) -> str:
    """Return the page of one model; ``budget`` limits the bytes of shapes."""
    drawing, references = draw(report, meshes=meshes), References(report)
    data = page_data(drawing, references, budget=budget, trajectory=trajectory)
    # All scripts are one, in a scope of its own.
    inside = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    runs = f'(function () {{\n"use strict";\n{inside}}})();'
    name, counts = view.headline(report)
    level, sentence = view.verdict(report)
    driven = ["actuation.map_picture"] if actuated_coordinates(report.mechanism) else []
    maps = [figure for of in present(*driven) for figure in of.figures(report.mechanism)]
    body = [
        f"<header><h1>{escape(PurePath(name).name)}</h1>",
        f'<p class="meta">{escape(name)} · {escape(counts)}</p>',
        f'<p class="verdict {level}">{escape(sentence)}</p>',
        *(f"<p>{escape(s)}</p>" for s in (view.counts(report), *view.reading(report)) if s),
        *(f"<p>{escape(each.words)}.</p>" for each in report.platforms),
        "</header>",
        '<div class="page"><div class="view">',
        _figure(report, drawing),
        '</div><main id="report-rows">',
        *report_rows(report, drawing, references),
        *(["<h2>From motors to joints</h2>", *maps] if maps else ()),
        "</main></div>",
        footer(report),
        f'<script type="application/json" id="report">{_json(report.as_dict())}</script>',
        f'<script type="application/json" id="scene">{_json(data)}</script>',
        f"<script>{runs}</script>",
    ]
    title = f"{PurePath(name).name}: {sentence}"
    return _page(title, [_sent(report, part) for part in body], runs)


def _sent(report: Report, text: str) -> str:
    """Return a text without the folders of this machine: a page is made to be sent."""
    own = os.path.dirname(os.path.abspath(report.mechanism.path or "."))
    for folder in (own, os.path.dirname(own), os.getcwd(), os.path.expanduser("~")):
        if len(folder) > 1:
            text = text.replace(displayed(folder) + os.sep, "")
    return text


def frame(report: Report, *, height: int = 720, trajectory: PlayedMotion | None = None) -> str:
    """Return the page in a frame for another page, such as a notebook."""
    page = escape(render(report, budget=1_000_000, trajectory=trajectory), quote=True)
    style = f"width:100%;height:{height}px;border:0"
    return f'<iframe srcdoc="{page}" style="{style}" title="{escape(repr(report))}"></iframe>'


def index(lines: Mapping[str, SummaryLine]) -> str:
    """Return the page of many models, with a link to each."""
    rows: list[tuple[Cell, ...]] = [
        (
            f'<a href="{quote(page)}">{escape(line.path)}</a>',
            *(("number", str(number)) for number in line.numbers.values()),
            (line.worst or "good", escape(" ".join(line.codes) or "none")),
        )
        for page, line in lines.items()
    ]
    titles = ("loops", "Grübler count", "mobility", "redundant", "droppable")
    heads: tuple[Cell, ...] = ("model", *(("number", title) for title in titles), "findings")
    body = [f"<header><h1>{len(rows)} models</h1></header><main>", *table(heads, rows), "</main>"]
    return _page(f"{len(rows)} models", body)


def _page(title: str, body: Iterable[str], runs: str = "") -> str:
    """Return a whole page whose security policy allows only the script that it runs."""
    digest = base64.b64encode(hashlib.sha256(runs.encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if runs else "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
    return Template(asset("page.html")).substitute(
        policy=policy, title=escape(title), style=asset("page.css"), body="\n".join(body)
    )


def asset(name: str) -> str:
    """Return the text of a script or style sheet of the page."""
    return files("regularize.guests.page").joinpath("scripts", name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """Return JSON that cannot end the script element around it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def _figure(report: Report, drawing: Drawing) -> str:
    """Return the picture with its tools, controls and caption."""
    label = f"{report.mechanism.name} with {counted(len(report.loops), 'loop')}"
    layers, caption = "", list[str]()
    if report.reduction.removed:
        caption.append(
            '<span class="swatch" style="background:var(--accent)"></span>Redundant equations at '
            "the closing joints: a straight double arrow is a force, a ring a moment, that the "
            "model leaves undetermined."
        )
    if drawing.branch_colors:
        layers = '<label><input type="checkbox" value="branches" checked>branches</label>'
        names = ", ".join(
            f'<span class="swatch" style="background:rgb{color[:3]}"></span>{escape(name)}'
            for name, color in drawing.branch_colors.items()
        )
        more = len(branch_numbers(report.reduction)) - len(drawing.branch_colors)
        rest = f"; {more} more are in the list." if more > 0 else "."
        caption.append(f"Bent arrows show where joints go on each motion that meets here: {names}")
        caption[-1] += rest
    return Template(asset("figure.html")).substitute(
        label=escape(label, quote=True),
        schematic=schematic(drawing),
        layers=layers,
        caption="\n".join(caption),
    )


def schematic(drawing: Drawing, width: int = 720, height: int = 480, margin: int = 48) -> str:
    """Return a line drawing as SVG; joints with redundant equations are filled. Sizes in pixels."""
    r = drawing.report.reduction
    poses, view = r.reference.T_world_node[0], camera(drawing)[:2]

    def seen(node: int, point: Array) -> Array:
        T = poses[node]
        return np.asarray(view @ (T[:3, :3] @ point + T[:3, 3]))

    lines = [
        (seen(r.loops.row(node), start), seen(r.loops.row(node), end), color)
        for node, start, end, color in drawing.links
    ]
    names = [(seen(r.loops.row(label.node), label.point), label) for label in drawing.labels]
    points = np.array([p for a, b, _ in lines for p in (a, b)] + [p for p, _ in names])
    points = points.reshape(-1, 2) if len(points) else np.zeros((1, 2))
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([width, height]) - 2.0 * margin
    scale = float(np.min(room / np.maximum(high - low, VANISHING)))

    def place(point: Array) -> str:
        x, y = (point - 0.5 * (low + high)) * [scale, -scale] + [0.5 * width, 0.5 * height]
        return f"{x:.0f} {y:.0f}"

    title = escape(drawing.report.mechanism.name or "mechanism")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f'<title>{title}</title><g stroke-width="5" stroke-linecap="round">'
    ]
    parts += [f'<path d="M{place(a)}L{place(b)}" stroke="{web(color)}"/>' for a, b, color in lines]
    parts.append('</g><g font-size="13" font-family="system-ui, sans-serif">')
    redundant = {wrench.joint for wrench in drawing.wrenches}
    for point, label in names:
        x, y = place(point).split()
        fill = "#cc1448" if label.text in redundant else "#fff"
        parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{fill}" stroke="#666"/>')
        parts.append(f'<text x="{int(x) + 9}" y="{int(y) - 9}">{escape(label.text)}</text>')
    parts.append("</g></svg>")
    return "".join(parts)
