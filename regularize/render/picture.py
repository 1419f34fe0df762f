"""Flat pictures of a mechanism: shaded polygons in painter's order, as SVG or PNG."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from regularize.errors import MissingExtra
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.render.camera import Camera, camera
from regularize.render.drawing import REDUNDANT, Drawing, draw
from regularize.render.scene import ghost_poses
from regularize.report.analysis import Analysis
from regularize.report.words import counted

#: Direction towards the light in the picture's axes: from above, the left and the front.
LIGHT = screw.unit([-0.45, 0.75, 0.8])
#: Share of white in the colour of ghosts.
PALE = 0.78
#: Colour of names.
PLAIN_TEXT = "#20242a"
#: Where there are more joints, only closing ones are named, and no more of them than this.
MOST_LABELS = 16
#: Steps of brightness, few enough for neighbouring triangles to share a colour.
SHADES = 24


@dataclass(frozen=True)
class Sheet:
    """What a picture is drawn on; lengths in pixels.

    Attributes:
        width: Of the whole SHEET.
        height: Of the whole SHEET.
        margin: Kept free on every side, for the labels.
        font: Height of the letters.
        detail: Units of an SVG path in a pixel; whole ones keep the file small.
    """

    width: int = 720
    height: int = 480
    margin: int = 36
    font: int = 13
    detail: int = 4

    def __contains__(self, box: tuple[float, float, float, float]) -> bool:
        """Whether a box, its left and lower edge and its size, has at least two pixels around."""
        x, y, w, h = box
        return 2 <= x <= self.width - 2 - w and 2 + h <= y <= self.height - 2


@dataclass(frozen=True, eq=False)
class Picture:
    """Polygons and labels in pixels.

    Attributes:
        polygons: Corners of triangles, back to front, shape (n, 3, 2).
        colors: Red, green, blue of each between 0 and 1, shape (n, 3).
        opacity: Of each between 0 and 1, shape (n,).
        labels: Text, place and colour.
        title: What the picture shows, for those who cannot see it.
    """

    polygons: Array
    colors: Array
    opacity: Array
    labels: tuple[tuple[str, float, float, str], ...]
    title: str


#: What every picture is drawn on.
SHEET = Sheet()


def picture(report: Analysis, *, ghosts: int = 3, drawing: Drawing | None = None) -> Picture:
    """The assembled mechanism with faint poses of its first motion.

    Args:
        report: From ``regularize.check``.
        ghosts: Number of faint poses.
        drawing: The drawing of the same report, if there is one already.
    """
    drawing = drawing or draw(report)
    view = camera(report)
    r = report.reduction
    layers = [
        _layer(drawing, r.loops.state(ghost).T_world_node[0], view, ghost=True)
        for ghost in ghost_poses(r, ghosts)
    ]
    poses = r.reference.T_world_node[0]
    layers.append(_layer(drawing, poses, view, ghost=False))
    triangles, colors, opacity = map(np.concatenate, zip(*layers, strict=True))
    order = np.argsort(triangles[..., 2].mean(axis=1))
    # Ghosts lie behind everything, as a hint and not as bodies.
    ghosts_end = sum(len(layer[0]) for layer in layers[:-1])
    order = np.concatenate([order[order < ghosts_end], order[order >= ghosts_end]])
    corners = triangles[..., :2]
    low = corners.min(axis=(0, 1), initial=np.inf if len(corners) else 0.0)
    high = corners.max(axis=(0, 1), initial=-np.inf if len(corners) else 0.0)
    size = np.array([SHEET.width, SHEET.height])
    scale = float(np.min((size - 2 * SHEET.margin) / np.maximum(high - low, 1e-9)))
    middle = 0.5 * (low + high)

    def place(points: Array) -> Array:
        moved = (points - middle) * [scale, -scale] + 0.5 * size
        return np.asarray(moved)

    labels = []
    named = drawing.labels
    if len(named) > MOST_LABELS:
        named = tuple(label for label in named if label.cut or label.color)[-MOST_LABELS:]
    for label in named:
        pose = poses[r.loops.row(label.node)]
        point = view.rotation @ (pose[:3, :3] @ label.point + pose[:3, 3])
        x, y = place(point[:2])
        color = PLAIN_TEXT
        if label.cut or label.color:
            color = "#{:02x}{:02x}{:02x}".format(*(label.color or REDUNDANT)[:3])
        labels.append((label.text, float(x), float(y), color))
    name = report.mechanism.name
    return Picture(
        place(corners[order]),
        colors[order],
        opacity[order],
        tuple(_spread(labels)),
        f"{name} with {counted(len(report.loops), 'loop')}",
    )


def _layer(
    drawing: Drawing, poses: Array, view: Camera, *, ghost: bool
) -> tuple[Array, Array, Array]:
    """Visible triangles in the picture's axes with their colours and opacities."""
    r = drawing.report.reduction
    triangles, colors, opacity = [np.zeros((0, 3, 3))], [np.zeros((0, 3))], [np.zeros(0)]
    for piece in drawing.pieces:
        still = piece.kind in ("axis", "redundant", "joint") or piece.node == r.graph.ground
        if (ghost and still) or (piece.kind == "line" and piece.node != r.graph.ground):
            continue
        pose = view.rotation @ poses[r.loops.row(piece.node)][:3]
        corners = piece.mesh.triangles @ pose[:, :3].T + pose[:, 3]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.linalg.norm(normals, axis=1)
        seen = normals[:, 2] > 1e-9 * np.max(size, initial=1e-300)
        corners = corners[seen]
        shade = 0.55 + 0.45 * np.clip((normals[seen] / size[seen, None]) @ LIGHT, 0.0, 1.0)
        base = np.array(piece.color[:3]) / 255
        shaded = base * (np.round(SHADES * shade) / SHADES)[:, None]
        if ghost:
            shaded = PALE + (1 - PALE) * np.broadcast_to(base, shaded.shape)
        else:
            corners, shaded = _divided(corners, shaded, 0.3 * drawing.length)
        triangles.append(corners)
        colors.append(shaded)
        opacity.append(np.full(len(corners), piece.color[3] / 255))
    return np.concatenate(triangles), np.concatenate(colors), np.concatenate(opacity)


def _divided(corners: Array, colors: Array, longest: float) -> tuple[Array, Array]:
    """Triangles halved along their longest edges: long ones cannot be sorted by depth."""
    for _ in range(6):
        edges = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
        long = edges.max(axis=1) > longest
        if not long.any():
            break
        k = edges[long].argmax(axis=1)
        rows = np.arange(len(k))
        a, b, c = (corners[long][rows, (k + i) % 3] for i in range(3))
        m = 0.5 * (a + b)
        halves = np.concatenate([np.stack([a, m, c], axis=1), np.stack([m, b, c], axis=1)])
        corners = np.concatenate([corners[~long], halves])
        colors = np.concatenate([colors[~long], colors[long], colors[long]])
    return corners, colors


def _spread(
    labels: Sequence[tuple[str, float, float, str]],
) -> Iterator[tuple[str, float, float, str]]:
    """Labels beside their points, each where it covers none that was placed before it."""
    boxes: list[tuple[float, float, float, float]] = []
    for text, x, y, color in labels:
        w, h = 0.62 * SHEET.font * len(text), 1.15 * SHEET.font
        places = [(x + dx, y + dy) for r in (10, 22, 36) for dx, dy in _around(r, w, h)]
        chosen = next(
            (p for p in places if (*p, w, h) in SHEET and not _covers((*p, w, h), boxes)), places[0]
        )
        boxes.append((chosen[0], chosen[1], w, h))
        yield text, chosen[0], chosen[1], color


def _around(r: float, w: float, h: float) -> list[tuple[float, float]]:
    return [(r, -r), (r, r + 0.5 * h), (-r - w, -r), (-r - w, r + 0.5 * h), (-0.5 * w, -1.6 * r)]


def _covers(
    box: tuple[float, float, float, float], boxes: Sequence[tuple[float, float, float, float]]
) -> bool:
    x, y, w, h = box
    return any(
        x < bx + bw and bx < x + w and y - h < by and by - bh < y for bx, by, bw, bh in boxes
    )


def svg(drawn: Picture, *, background: str | None = "#ffffff") -> str:
    """The picture as an SVG document."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SHEET.width} {SHEET.height}" '
        f'width="{SHEET.width}" height="{SHEET.height}" role="img">',
        f"<title>{escape(drawn.title)}</title>",
    ]
    if background:
        parts.append(f'<rect width="100%" height="100%" fill="{background}"/>')
    parts.append(
        f'<g transform="scale({1 / SHEET.detail:g})" stroke-width="{0.5 * SHEET.detail:g}" '
        'stroke-linejoin="round">'
    )
    corners = np.round(SHEET.detail * drawn.polygons).astype(int)
    colors = np.round(255 * drawn.colors).astype(int)
    last, path = None, ""
    for (a, b, c), (red, green, blue), alpha in zip(corners, colors, drawn.opacity, strict=True):
        style = (red, green, blue, alpha)
        if last is not None and style != last:
            parts.append(_path(path, last))
            path = ""
        last = style
        path += f"M{a[0]} {a[1]}l{_step(a, b)} {_step(b, c)}z"
    if last is not None:
        parts.append(_path(path, last))
    parts.append("</g>")
    parts.append(
        f'<g font-family="system-ui, sans-serif" font-size="{SHEET.font}" stroke="#fff" '
        'stroke-width="3" stroke-linejoin="round" paint-order="stroke">'
    )
    for text, x, y, color in drawn.labels:
        weight = "" if color == PLAIN_TEXT else ' font-weight="700"'
        place = f'<text x="{x:.1f}" y="{y:.1f}"{weight} fill="{color}">'
        parts.append(f"{place}{escape(text)}</text>")
    parts.append("</g></svg>")
    return "\n".join(parts) + "\n"


def _step(start: Array, end: Array) -> str:
    """A relative line of a path, as short as it can be written."""
    dx, dy = end - start
    return f"{dx}{dy}" if dy < 0 else f"{dx} {dy}"


def _path(path: str, style: tuple[Any, ...]) -> str:
    red, green, blue, alpha = style
    color = f"#{red:02x}{green:02x}{blue:02x}"
    opacity = "" if alpha > 0.99 else f' opacity="{alpha:.2f}"'
    return f'<path d="{path}" fill="{color}" stroke="{color}"{opacity}/>'


def png(drawn: Picture, *, scale: float = 2.0) -> bytes:
    """The picture as a PNG file.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure
        from matplotlib.patheffects import withStroke
    except ImportError as error:
        raise MissingExtra("a PNG picture", "matplotlib", "viz") from error
    dpi = 100.0
    figure = Figure(figsize=(scale * SHEET.width / dpi, scale * SHEET.height / dpi), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, SHEET.width)
    axes.set_ylim(SHEET.height, 0)
    rgba = np.column_stack([drawn.colors, drawn.opacity])
    axes.add_collection(
        PolyCollection(list(drawn.polygons), facecolors=rgba, edgecolors=rgba, linewidths=0.4)
    )
    points = scale * SHEET.font * 72 / dpi
    for text, x, y, color in drawn.labels:
        axes.text(
            x,
            y,
            text,
            size=points,
            color=color,
            weight="normal" if color == PLAIN_TEXT else "bold",
            path_effects=[withStroke(linewidth=scale * 2, foreground="white")],
        )
    stream = io.BytesIO()
    canvas.print_png(stream)
    return stream.getvalue()
