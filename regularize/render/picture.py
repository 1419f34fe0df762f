"""Flat pictures: shaded polygons, those in front last, with names; as SVG or PNG."""

from __future__ import annotations

import io
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

import numpy as np

from regularize.errors import MissingExtra
from regularize.lie.screw import Array

#: Colour of names.
PLAIN_TEXT = "#20242a"
#: Colour of lines from points to their names.
LEADER = "#8a919b"
#: Text, left and lower edge in pixels, colour.
PlacedLabel: TypeAlias = tuple[str, float, float, str]


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
        leaders: Lines from points to labels that are not beside them, shape (k, 2, 2).
        title: What the picture shows, for those who cannot see it.
    """

    polygons: Array
    colors: Array
    opacity: Array
    labels: tuple[PlacedLabel, ...]
    leaders: Array
    title: str


#: What every picture is drawn on.
SHEET = Sheet()


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
    for (a, b), (c, d) in drawn.leaders:
        line = f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}"
        parts.append(f'<path d="{line}" fill="none" stroke="{LEADER}" stroke-width="1"/>')
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
        MissingExtra: Pillow is not installed.
    """
    stream = io.BytesIO()
    painted(drawn, scale).save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def painted(drawn: Picture, scale: float, finer: int = 2) -> Any:
    """The picture as an image of Pillow.

    Args:
        drawn: The picture.
        scale: Pixels of the image in one of the sheet.
        finer: How many times finer it is painted, for smooth edges.

    Raises:
        MissingExtra: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise MissingExtra("a picture of pixels", "Pillow", "viz") from error
    size = np.round(np.array([SHEET.width, SHEET.height]) * scale).astype(int)
    image = Image.new("RGB", tuple(int(n) for n in finer * size), "white")
    pen = ImageDraw.Draw(image, "RGBA")
    corners = (drawn.polygons * (finer * scale)).reshape(-1, 6).tolist()
    rgba = np.round(255 * np.column_stack([drawn.colors, drawn.opacity])).astype(int).tolist()
    for polygon, color in zip(corners, rgba, strict=True):
        pen.polygon(polygon, fill=tuple(color))
    image = image.resize(tuple(int(n) for n in size), Image.Resampling.BOX)
    pen = ImageDraw.Draw(image)
    for line in drawn.leaders:
        pen.line((line * scale).ravel().tolist(), fill=LEADER, width=max(1, round(scale)))
    font = ImageFont.load_default(SHEET.font * scale)
    for text, x, y, color in drawn.labels:
        pen.text(
            (x * scale, y * scale),
            text,
            fill=color,
            font=font,
            anchor="ls",
            stroke_width=round(1.5 * scale),
            stroke_fill="white",
        )
    return image
