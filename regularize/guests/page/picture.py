"""Pictures of a model: its page shown or saved, 3D scenes, and flat drawings by matplotlib."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.checking import Report, check
from regularize.dynamics.simulation.simulation import Simulation
from regularize.errors import MissingExtra, UnsupportedExport
from regularize.escape import as_utf8
from regularize.guests.page import html
from regularize.guests.page.animation import PlayedMotion, motions
from regularize.guests.page.artist import draw
from regularize.guests.page.drawing import REDUNDANT, Drawing, camera, web
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.graph import NodeId
from regularize.mechanism.mechanism import Model, as_mechanism
from regularize.output_files import write_file
from regularize.reduction.reduce import Reduction
from regularize.tolerances import TINY, VANISHING
from regularize.validation import PATH, POSITIVE, validated
from regularize.words import counted

#: Width and height of a picture in pixels at the scale 1, and what is kept free for names.
SHEET, MARGIN = np.array([720.0, 480.0]), 36.0
#: Direction towards the light in the picture's axes: from above, the left and the front.
LIGHT = screw.unit([-0.45, 0.75, 0.8])
#: Arrow of the largest force of a motion, in sizes of the mechanism.
LONGEST = 0.5
#: Share of white in the colour of ghosts.
PALE = 0.78
#: Where there are more joints, only closing ones are named, and no more of them than this.
MOST_LABELS = 16
#: Colours of names and of the lines that lead to them.
TEXT, LEADER = "#20242a", "#8a919b"


def picture(report: Report, *, ghosts: int = 3, drawing: Drawing | None = None) -> Any:
    """Return a matplotlib figure of the mechanism, with faint poses of its first motion."""
    r = report.reduction
    return Painter(drawing or draw(report)).paint(r.q, ghost_poses(r, ghosts))


def saved(figure: Any, kind: str, scale: float = 2.0) -> bytes:
    """Return a figure as the bytes of a file: ``png``, ``svg``, or ``raw`` RGBA."""
    from matplotlib import rc_context

    stream, about = io.BytesIO(), {"Title": figure.get_label(), "Date": None}
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "regularize"}):
        more = {"metadata": about} if kind == "svg" else {}
        figure.savefig(stream, format=kind, dpi=100 * scale, **more)
    return stream.getvalue()


def content(
    report: Report,
    suffix: str,
    ghosts: int,
    meshes: bool = True,
    trajectory: PlayedMotion | None = None,
) -> bytes:
    """Return the bytes of a page or picture; the ending of the file says which."""
    if suffix == ".html":
        return as_utf8(html.render(report, meshes=meshes, trajectory=trajectory)).encode()
    drawing = draw(report, meshes=meshes)
    for note in drawing.notes:
        sys.stderr.write(f"regularize: {note}; a bar stands for the shape\n")
    if suffix == ".glb":
        if not report.reduction.graph.edges:
            raise UnsupportedExport("the model has no joints, so that there is no scene to draw")
        return bytes(scene(report, ghosts=ghosts, drawing=drawing).export(file_type="glb"))
    return saved(picture(report, ghosts=ghosts, drawing=drawing), suffix[1:])


class Painter:
    """Paints one mechanism at any configuration, seen by one camera, always on the same figure."""

    def __init__(self, drawing: Drawing, within: Array | None = None) -> None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtra("a picture", "matplotlib", "viz") from error
        report = drawing.report
        title = f"{report.mechanism.name} with {counted(len(report.loops), 'loop')}"
        self._figure = Figure(figsize=tuple(SHEET / 100), dpi=100, label=title)
        self._canvas = FigureCanvasAgg(self._figure)
        self.drawing, self.view = drawing, camera(drawing)
        ground, loops = report.reduction.graph.ground, report.reduction.loops
        wrenches = {wrench.name: k for k, wrench in enumerate(drawing.wrenches)}
        pieces = [p for p in drawing.pieces if p.kind != "line" or p.node == ground]
        corners = [_subdivided(piece.mesh.triangles, 0.3 * drawing.length) for piece in pieces]
        of = np.repeat(np.arange(len(pieces)), [len(each) for each in corners])
        still = ("axis", "redundant", "joint", "pedestal")
        moves = [p.kind not in still and p.node != ground for p in pieces]
        self._corners = np.concatenate([np.zeros((0, 3, 3)), *corners])
        self._row = np.array([loops.row(p.node) for p in pieces], dtype=np.intp)[of]
        self._rgba = np.array([p.color for p in pieces]).reshape(-1, 4)[of] / 255
        self._wrench = np.array([wrenches.get(p.name, -1) for p in pieces], dtype=np.intp)[of]
        self._moves = np.array(moves, dtype=bool)[of]
        self._offsets: dict[str, tuple[float, float]] = {}
        self._bounds = None
        if within is not None:
            self._bounds = _box(
                np.concatenate([self._visible_triangles(self._poses(q))[0] for q in within])
            )

    def _poses(self, q: Array) -> Array:
        """Return the poses of all nodes at a configuration."""
        return np.asarray(self.drawing.report.reduction.loops.state(q).T_world_node[0])

    def paint(self, q: Array, ghosts: Sequence[Array] = (), pushes: Array | None = None) -> Any:
        """Paint the mechanism at a configuration (n,), and faintly at others; return the figure."""
        from matplotlib.collections import PolyCollection

        poses = self._poses(q)
        layers = [self._visible_triangles(self._poses(ghost), ghost=True) for ghost in ghosts]
        layers.append(self._visible_triangles(poses))
        triangles, colors, over = map(np.concatenate, zip(*layers, strict=True))
        order = np.lexsort((triangles[..., 2].mean(axis=1), over))
        low, high = self._bounds or _box(triangles)
        scale = float(np.min((SHEET - 2 * MARGIN) / np.maximum(high - low, VANISHING)))
        shift = 0.5 * SHEET - 0.5 * scale * (low + high)
        self._figure.clear()
        axes = self._figure.add_axes((0, 0, 1, 1), xlim=(0, SHEET[0]), ylim=(0, SHEET[1]))
        axes.set_axis_off()
        flat: Any = scale * triangles[order][..., :2] + shift
        edges = {"edgecolors": "face", "linewidths": 0.3, "clip_on": False}
        axes.add_collection(PolyCollection(flat, facecolors=colors[order], **edges))
        for push in () if pushes is None else pushes:
            tail, head = push[:3], push[:3] + LONGEST * self.drawing.length * push[3:]
            ends = [scale * (self.view @ end)[:2] + shift for end in (head, tail)]
            look = {"arrowstyle": "->", "color": web(REDUNDANT), "linewidth": 1.6}
            axes.annotate("", *ends, arrowprops=look, annotation_clip=False)
        self._write_names(axes, poses, scale, shift, layers[-1][0])
        return self._figure

    def _visible_triangles(
        self, poses: Array, *, ghost: bool = False
    ) -> tuple[Array, Array, NDArray[np.intp]]:
        """Return visible triangles in the picture's axes, their colours and their layers."""
        chosen = self._moves if ghost else np.ones(len(self._row), dtype=bool)
        corners = self._corners
        if self.drawing.wrenches:
            shown, wrenches = self._drawn_directions(poses), self.drawing.wrenches
            at = np.array([wrench.point for wrench in wrenches])[self._wrench]
            factors = [
                shown[w.loop, w.joint][1] if (w.loop, w.joint) in shown else 0.0 for w in wrenches
            ]
            factor = np.where(self._wrench < 0, 1.0, np.array(factors)[self._wrench])
            corners = at[:, None] + factor[:, None, None] * (corners - at[:, None])
            chosen = chosen & (factor > 0.0)
        T = (self.view @ poses[:, :3])[self._row[chosen]]
        corners = corners[chosen] @ np.swapaxes(T[..., :3], 1, 2) + T[:, None, :, 3]
        normals = screw.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.linalg.norm(normals, axis=1)
        front = normals[:, 2] > VANISHING * np.max(size, initial=TINY)
        colors = self._rgba[chosen][front]
        if ghost:
            colors[:, :3] = PALE + (1 - PALE) * colors[:, :3]
            return corners[front], colors, np.full(len(colors), -1)
        light = np.clip((normals[front] / size[front, None]) @ LIGHT, 0.0, 1.0)
        colors[:, :3] *= (0.55 + 0.45 * light)[:, None]
        return corners[front], colors, np.asarray(self._wrench[chosen][front] >= 0, dtype=np.intp)

    def _in_picture(self, poses: Array, node: NodeId, point: Array) -> Array:
        """Return a point of a body in the picture's axes, shape (3,)."""
        T = self.view @ poses[self.drawing.report.reduction.loops.row(node)][:3]
        return np.asarray(T[:, :3] @ point + T[:, 3])

    def _drawn_directions(self, poses: Array) -> dict[tuple[str, str], tuple[Array, float]]:
        """Choose the redundant directions to draw; return place and shrink factor of each."""
        places, sizes = dict[tuple[str, str], Array](), dict[tuple[str, str], float]()
        shown = list[tuple[str, str]]()
        for wrench in self.drawing.wrenches:
            key = wrench.loop, wrench.joint
            places[key] = self._in_picture(poses, wrench.node, wrench.point)
            sizes[key] = wrench.size

        def room(key: tuple[str, str]) -> float:
            others = [places[key] - places[other] for other in shown if other != key]
            return min((float(np.hypot(x, y)) for x, y, _ in others), default=np.inf)

        for key in sorted(places, key=lambda key: -places[key][2]):
            if room(key) > 0.06 * self.drawing.length:
                shown.append(key)
        return {key: (places[key], min(1.0, 0.95 * room(key) / sizes[key])) for key in shown}

    def discs(self, poses: Array) -> Array:
        """Return x, y and radius of the drawn redundant directions, metres, shape (k, 3)."""
        sizes = {(wrench.loop, wrench.joint): wrench.size for wrench in self.drawing.wrenches}
        shown = self._drawn_directions(poses).items()
        rows = [(*place[:2], 0.5 * sizes[key] * factor) for key, (place, factor) in shown]
        return np.array(rows).reshape(-1, 3)

    def _write_names(
        self, axes: Any, poses: Array, scale: float, shift: Array, triangles: Array
    ) -> None:
        """Write names beside their points; offsets are chosen once, for the first picture."""
        from matplotlib.transforms import Bbox

        named = self.drawing.labels
        if len(named) > MOST_LABELS:
            named = tuple(label for label in named if label.cut or label.color)[-MOST_LABELS:]
        discs = scale * self.discs(poses) + [*shift, 0.0]
        taken = [Bbox.from_extents(x - r, y - r, x + r, y + r) for x, y, r in discs]
        drawn = scale * np.concatenate([triangles, triangles.mean(axis=1)[:, None]], axis=1)
        drawn = drawn[..., :2].reshape(-1, 2) + shift
        for label in named:
            point = scale * self._in_picture(poses, label.node, label.point)[:2] + shift
            reach = max((r for x, y, r in discs if np.hypot(*(point - [x, y])) < 1.0), default=6.0)
            strong = label.cut or label.color is not None
            text = axes.text(
                *point,
                label.text,
                ha="center",
                va="center",
                size=9.2,
                color=web(label.color or REDUNDANT) if strong else TEXT,
                parse_math=False,
                bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5},
            )
            half = 0.5 * text.get_window_extent(self._canvas.get_renderer()).size
            if label.text not in self._offsets:
                boxes = {
                    offset: Bbox([point + offset - half, point + offset + half])
                    for offset in _label_places(reach, half)
                }
                costs = {offset: _label_cost(box, taken, drawn) for offset, box in boxes.items()}
                self._offsets[label.text] = min(costs, key=costs.__getitem__)
            center = point + self._offsets[label.text]
            taken.append(Bbox([center - half, center + half]))
            text.set_position(center)
            leader = np.clip(point, center - half, center + half) - point
            far = float(np.hypot(*leader))
            if far > reach + 8.0:
                ends = np.array([point + leader * reach / far, point + leader])
                axes.plot(*ends.T, color=LEADER, linewidth=0.8)


def _label_places(reach: float, half: Array) -> Iterator[tuple[float, float]]:
    """Yield places for a name around a disc, the best ones first."""
    ways = np.array([(7, 7), (7, -7), (-7, 7), (-7, -7), (10, 0), (-10, 0), (0, 10), (0, -10)]) / 10
    for distance in (4, 16, 30, 46):
        for way in ways:
            x, y = (reach + distance) * way + np.sign(way) * half
            yield float(x), float(y)


def _label_cost(box: Any, taken: Sequence[Any], drawn: Array) -> tuple[bool, int, int]:
    """Return the cost of a label's box: outside the sheet, over labels, over the drawing."""
    outside = bool(np.any(box.min < 2) or np.any(box.max > SHEET - 2))
    return outside, box.count_overlaps(taken), min(4, box.count_contains(drawn) // 4)


def _box(corners: Array) -> tuple[Array, Array]:
    """Return lower and upper corner of the box around points of a picture."""
    points = corners[..., :2].reshape(-1, 2) if corners.size else np.zeros((1, 2))
    return points.min(axis=0), points.max(axis=0)


def _subdivided(corners: Array, longest: float) -> Array:
    """Halve triangles along their longest edges, since long ones cannot be sorted by depth."""
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


def scene(
    report: Report, q: Array | None = None, *, ghosts: int = 0, drawing: Drawing | None = None
) -> Any:
    """Return the mechanism at a configuration as a ``trimesh.Scene``, one frame for each body."""
    import trimesh  # slow to load, and pages do without

    drawing, r = drawing or draw(report), report.reduction
    result = trimesh.Scene(base_frame="ground")
    _add_pieces(result, drawing, r.loops.state(r.q if q is None else q).T_world_node[0], "", 1.0)
    for number, ghost in enumerate(ghost_poses(r, ghosts), start=1):
        pose = r.loops.state(ghost).T_world_node[0]
        _add_pieces(result, drawing, pose, f"ghost{number}/", 0.25)
    return result


def ghost_poses(reduction: Reduction, count: int) -> list[Array]:
    """Return configurations spread over the first motion, without the assembled one."""
    moving = motions(reduction, most=1) if count > 0 else ()
    if not moving:
        return []
    motion = moving[0]
    if motion.cyclic:
        picked = np.linspace(0, len(motion.q), count + 2)[1:-1].astype(int)
    else:
        # Nearby poses show where a motion leads; its ends may lie far away.
        reach = min(len(motion.q) - 1, 10)
        low = max(0, min(motion.start - reach // 2, len(motion.q) - 1 - reach))
        picked = np.linspace(low, low + reach, count).astype(int)
    return [motion.q[i] for i in dict.fromkeys(int(p) for p in picked) if i != motion.start]


def _add_pieces(result: Any, drawing: Drawing, poses: Array, prefix: str, opacity: float) -> None:
    """Add the pieces of a drawing to a scene, one frame ``body/…`` for each body."""
    from trimesh import Trimesh
    from trimesh.visual import TextureVisuals
    from trimesh.visual.material import PBRMaterial

    r = drawing.report.reduction
    ground = r.graph.ground
    framed = set()
    for piece in drawing.pieces:
        if prefix and (piece.kind in ("axis", "redundant", "pedestal") or piece.node == ground):
            continue
        frame = f"{prefix}body/{r.graph.nodes[piece.node]}"
        if frame not in framed:
            framed.add(frame)
            result.graph.update(
                frame_to=frame, frame_from="ground", matrix=poses[r.loops.row(piece.node)]
            )
        red, green, blue, alpha = piece.color
        material = PBRMaterial(
            baseColorFactor=[red, green, blue, round(opacity * alpha)],
            alphaMode="OPAQUE" if opacity * alpha > 254 else "BLEND",
            metallicFactor=0.0,
            roughnessFactor=0.7,
            doubleSided=True,
        )
        visual = TextureVisuals(material=material)
        mesh = Trimesh(piece.mesh.vertices, piece.mesh.faces, visual=visual, process=False)
        name = f"{prefix}{piece.name}"
        result.add_geometry(mesh, node_name=name, geom_name=name, parent_node_name=frame)


@dataclass(frozen=True, eq=False, repr=False)
class ShownPage:
    """The page of a model: notebooks display it, and it can be saved.

    Attributes:
        report: What it shows.
        motion: The motion that it plays, or None.
        height: Of its frame in a notebook, pixels.
    """

    report: Report
    motion: PlayedMotion | None
    height: float

    def __repr__(self) -> str:
        """One line."""
        return f"<Page of {self.report.mechanism.name[:80]!r}: notebooks show it; .save(path)>"

    def _repr_html_(self) -> str:
        """The page in a frame, with nothing from elsewhere."""
        return html.frame(self.report, height=round(self.height), trajectory=self.motion)

    @validated(path=PATH)
    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page, or a picture: ``.html``, ``.glb``, ``.svg`` or ``.png``."""
        place = Path(path)
        write_file(place, content(self.report, place.suffix.lower(), 3, True, self.motion))
        return place


@validated(height=POSITIVE)
def show(model: Model, *, motion: Simulation | None = None, height: float = 720) -> ShownPage:
    """Show a model: its picture, a slider for each freedom, and the report.

    In a notebook the page is displayed where ``show`` is the last line of a cell.

    Example:
        >>> rg.show("robot.urdf").save("robot.html")  # doctest: +SKIP

    Args:
        model: A file, a mechanism, what was made of one, or an object that ``load`` takes.
        motion: A simulation of that model to be played.
        height: Of the page in a notebook, pixels.
    """
    if motion is not None and not isinstance(motion, Simulation):
        raise TypeError(f"show: motion is a Simulation; got {motion!r:.60}")
    known = model if isinstance(model, Report) else getattr(model, "report", None)
    report = known if isinstance(known, Report) else check(as_mechanism(model))
    return ShownPage(report, None if motion is None else PlayedMotion.of(motion), height)
