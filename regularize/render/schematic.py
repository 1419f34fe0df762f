"""A mechanism as lines and circles: what a page shows where its scripts do not run."""

from __future__ import annotations

from html import escape

import numpy as np

from regularize.lie.screw import Array
from regularize.render.camera import camera
from regularize.render.drawing import Color, Drawing


def schematic(drawing: Drawing, width: int = 720, height: int = 480, margin: int = 48) -> str:
    """Links as lines, joints as circles, closing joints with redundant equations filled; SVG.

    Args:
        drawing: The drawing at the assembled pose.
        width: Of the picture in pixels.
        height: Of the picture.
        margin: Kept free on every side.
    """
    r = drawing.report.reduction
    poses, view = r.reference.T_world_node[0], camera(drawing).rotation[:2]

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
    scale = float(np.min(room / np.maximum(high - low, 1e-9)))

    def place(point: Array) -> str:
        x, y = (point - 0.5 * (low + high)) * [scale, -scale] + [0.5 * width, 0.5 * height]
        return f"{x:.0f} {y:.0f}"

    title = escape(drawing.report.mechanism.name or "mechanism")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f'<title>{title}</title><g stroke-width="5" stroke-linecap="round">'
    ]
    parts += [f'<path d="M{place(a)}L{place(b)}" stroke="{_hex(color)}"/>' for a, b, color in lines]
    parts.append('</g><g font-size="13" font-family="system-ui, sans-serif">')
    redundant = {wrench.joint for wrench in drawing.wrenches}
    for point, label in names:
        x, y = place(point).split()
        fill = "#cc1448" if label.text in redundant else "#fff"
        parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{fill}" stroke="#666"/>')
        parts.append(f'<text x="{int(x) + 9}" y="{int(y) - 9}">{escape(label.text)}</text>')
    parts.append("</g></svg>")
    return "".join(parts)


def _hex(color: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color[:3])
