"""Paints mechanisms: shaded triangles in the order of their depth, names beside joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.render.artist import draw
from regularize.render.camera import camera
from regularize.render.drawing import REDUNDANT, Drawing
from regularize.render.label_places import reach_at, size_of, spread
from regularize.render.picture import PLAIN_TEXT, SHEET, Picture, PlacedLabel
from regularize.render.scene import ghost_poses
from regularize.report.analysis import Analysis
from regularize.report.words import counted

#: Direction towards the light in the picture's axes: from above, the left and the front.
LIGHT = screw.unit([-0.45, 0.75, 0.8])
#: Share of white in the colour of ghosts.
PALE = 0.78
#: Where there are more joints, only closing ones are named, and no more of them than this.
MOST_LABELS = 16
#: Steps of brightness, few enough for neighbouring triangles to share a colour.
SHADES = 24


def picture(report: Analysis, *, ghosts: int = 3, drawing: Drawing | None = None) -> Picture:
    """The assembled mechanism with faint poses of its first motion.

    Args:
        report: From ``regularize.check``.
        ghosts: Number of faint poses.
        drawing: The drawing of the same report, if there is one already.
    """
    r = report.reduction
    return Painter(drawing or draw(report)).paint(r.q, ghost_poses(r, ghosts))


class Painter:
    """Paints one mechanism at any configuration, seen by one camera.

    Args:
        drawing: What to paint.
        within: Configurations that the picture has room for, shape (k, n); by default those that
            it shows.
    """

    def __init__(self, drawing: Drawing, within: Array | None = None) -> None:
        """Put all triangles in a row, and look at them from as far as there has to be room."""
        self.drawing, self.view = drawing, camera(drawing)
        graph, loops = drawing.report.reduction.graph, drawing.report.reduction.loops
        wrenches = {wrench.name: k for k, wrench in enumerate(drawing.wrenches)}
        corners, numbers = [np.zeros((0, 3, 3))], [np.zeros(0, dtype=np.intp)]
        pieces = [p for p in drawing.pieces if p.kind != "line" or p.node == graph.ground]
        for number, piece in enumerate(pieces):
            divided = _divided(piece.mesh.triangles, 0.3 * drawing.length)
            corners.append(divided)
            numbers.append(np.full(len(divided), number))
        of = np.concatenate(numbers)
        still = ("axis", "redundant", "joint", "pedestal")
        self._corners = np.concatenate(corners)
        self._row = np.array([loops.row(p.node) for p in pieces], dtype=np.intp)[of]
        self._rgba = np.array([p.color for p in pieces]).reshape(-1, 4)[of] / 255
        self._wrench = np.array([wrenches.get(p.name, -1) for p in pieces], dtype=np.intp)[of]
        moves = [p.kind not in still and p.node != graph.ground for p in pieces]
        self._moves = np.array(moves, dtype=bool)[of]
        self._offsets: dict[str, tuple[float, float]] = {}
        self._bounds = None
        if within is not None:
            self._bounds = _box(np.concatenate([self._seen(self._poses(q))[0] for q in within]))

    def _poses(self, q: Array) -> Array:
        return np.asarray(self.drawing.report.reduction.loops.state(q).T_world_node[0])

    def paint(self, q: Array, ghosts: Sequence[Array] = ()) -> Picture:
        """The mechanism at a configuration, and faintly at others.

        Args:
            q: Coordinates of all joints, shape (n,).
            ghosts: Further ones.
        """
        poses = self._poses(q)
        layers = [self._ghost(self._poses(ghost)) for ghost in ghosts]
        layers.append(self._seen(poses))
        triangles, colors, over = map(np.concatenate, zip(*layers, strict=True))
        order = np.lexsort((triangles[..., 2].mean(axis=1), over))
        low, high = self._bounds or _box(triangles)
        size = np.array([SHEET.width, SHEET.height])
        scale = float(np.min((size - 2 * SHEET.margin) / np.maximum(high - low, 1e-9)))
        shift = 0.5 * size - 0.5 * (low + high) * [scale, -scale]
        report = self.drawing.report
        labels, leaders = self._labels(poses, scale, shift, layers[-1][0])
        return Picture(
            triangles[order][..., :2] * [scale, -scale] + shift,
            colors[order, :3],
            colors[order, 3],
            tuple(labels),
            leaders,
            f"{report.mechanism.name} with {counted(len(report.loops), 'loop')}",
        )

    def _ghost(self, poses: Array) -> tuple[Array, Array, NDArray[np.intp]]:
        """Moving bodies, pale and behind everything."""
        triangles, colors, _ = self._seen(poses, self._moves, pale=True)
        return triangles, colors, np.full(len(triangles), -1)

    def _seen(
        self, poses: Array, which: NDArray[np.bool_] | None = None, *, pale: bool = False
    ) -> tuple[Array, Array, NDArray[np.intp]]:
        """Visible triangles in the picture's axes, their colours, and what lies over what."""
        chosen = np.ones(len(self._row), dtype=bool) if which is None else which
        corners = self._corners
        if self.drawing.wrenches:
            at, factors = self._sizes(poses)
            on = self._wrench >= 0
            k = self._wrench[on]
            corners = corners.copy()
            corners[on] = at[k, None] + factors[k, None, None] * (corners[on] - at[k, None])
            chosen = chosen & (~on | (factors[self._wrench] > 0.0))
        T = (self.view.rotation @ poses[:, :3])[self._row[chosen]]
        corners = corners[chosen] @ np.swapaxes(T[..., :3], 1, 2) + T[:, None, :, 3]
        normals = screw.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.linalg.norm(normals, axis=1)
        front = normals[:, 2] > 1e-9 * np.max(size, initial=1e-300)
        colors = self._rgba[chosen][front]
        if pale:
            colors[:, :3] = PALE + (1 - PALE) * colors[:, :3]
        else:
            light = np.clip((normals[front] / size[front, None]) @ LIGHT, 0.0, 1.0)
            colors[:, :3] *= (np.round(SHADES * (0.55 + 0.45 * light)) / SHADES)[:, None]
        over = np.asarray(self._wrench[chosen][front] >= 0, dtype=np.intp)
        return corners[front], colors, over

    def _closings(self, poses: Array) -> dict[tuple[str, str], Array]:
        """Where redundant directions are drawn, in the picture's axes, by loop and joint."""
        loops = self.drawing.report.reduction.loops
        places: dict[tuple[str, str], Array] = {}
        for wrench in self.drawing.wrenches:
            T = self.view.rotation @ poses[loops.row(wrench.node)][:3]
            places.setdefault((wrench.loop, wrench.joint), T[:, :3] @ wrench.point + T[:, 3])
        return places

    def _sizes(self, poses: Array) -> tuple[Array, Array]:
        """Centres of redundant directions and how much smaller they are drawn, (k, 3), (k,).

        Of those that lie behind each other the first is drawn alone.
        """
        places = self._closings(poses)

        def gap(one: tuple[str, str], other: tuple[str, str]) -> float:
            return float(np.linalg.norm((places[one] - places[other])[:2]))

        shown: list[tuple[str, str]] = []
        for key in sorted(places, key=lambda key: -places[key][2]):
            if min((gap(key, o) for o in shown), default=np.inf) > 0.06 * self.drawing.length:
                shown.append(key)
        factors = []
        for wrench in self.drawing.wrenches:
            key = (wrench.loop, wrench.joint)
            room = 0.95 * min((gap(key, o) for o in shown if o != key), default=np.inf)
            factors.append(min(1.0, room / wrench.size) if key in shown else 0.0)
        return np.array([wrench.point for wrench in self.drawing.wrenches]), np.array(factors)

    def _labels(
        self, poses: Array, scale: float, shift: Array, triangles: Array
    ) -> tuple[list[PlacedLabel], Array]:
        """Names beside their points, where they were put when the first picture was painted.

        With them lines to those that are farther away, shape (k, 2, 2).
        """
        named, labels = self.drawing.labels, []
        if len(named) > MOST_LABELS:
            named = tuple(label for label in named if label.cut or label.color)[-MOST_LABELS:]
        for label in named:
            T = self.view.rotation @ poses[self.drawing.report.reduction.loops.row(label.node)][:3]
            x, y = (T[:, :3] @ label.point + T[:, 3])[:2] * [scale, -scale] + shift
            color = PLAIN_TEXT
            if label.cut or label.color:
                color = "#{:02x}{:02x}{:02x}".format(*(label.color or REDUNDANT)[:3])
            labels.append((label.text, float(x), float(y), color))
        discs = [
            (scale * x + shift[0], shift[1] - scale * y, 0.9 * scale * reach)
            for x, y, reach in self.discs(poses)
        ]
        if not self._offsets:
            triangles = triangles[..., :2] * [scale, -scale] + shift
            for (text, x, y, _), (left, top) in zip(
                labels, spread(labels, discs, triangles), strict=True
            ):
                self._offsets[text] = (left - x, top - y)
        placed, leaders = [], []
        for text, x, y, color in labels:
            dx, dy = self._offsets[text]
            placed.append((text, x + dx, y + dy, color))
            w, h = size_of(text)
            end = np.clip([x, y], [x + dx, y + dy - 0.8 * h], [x + dx + w, y + dy])
            way, own = end - [x, y], reach_at(x, y, discs)
            if (far := float(np.hypot(*way))) > own + 8.0:
                leaders.append([[x, y] + way * own / far, end])
        return placed, np.array(leaders).reshape(-1, 2, 2)

    def discs(self, poses: Array) -> list[tuple[float, float, float]]:
        """Centres and reach of redundant directions that are drawn, in the picture's axes, metres.

        Args:
            poses: Of all nodes, shape (nodes, 4, 4).
        """
        if not self.drawing.wrenches:
            return []
        _, factors = self._sizes(poses)
        places, found = self._closings(poses), {}
        for wrench, factor in zip(self.drawing.wrenches, factors, strict=True):
            x, y, _ = places[wrench.loop, wrench.joint]
            found[wrench.loop, wrench.joint] = float(x), float(y), 0.5 * wrench.size * factor
        return [disc for disc in found.values() if disc[2] > 0.0]


def _box(corners: Array) -> tuple[Array, Array]:
    """Lower and upper corner of a box around points of a picture, shape (..., 2 or more)."""
    points = corners[..., :2].reshape(-1, 2) if corners.size else np.zeros((1, 2))
    return points.min(axis=0), points.max(axis=0)


def _divided(corners: Array, longest: float) -> Array:
    """Triangles halved along their longest edges: long ones cannot be sorted by depth."""
    corners = np.asarray(corners)
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
    return corners
