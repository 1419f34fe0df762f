r"""One closed loop as a cyclic chain of elementary motions and links.

.. math:: M_0 L_0 M_1 L_1 \dots M_{m-1} L_{m-1} = I

as in Klein and Kecskeméthy, eq. 1. The frames before and after a motion have their z axes on the
joint axis and their x axes on the common normals with the neighbouring axes (Denavit and
Hartenberg), so that parallel, perpendicular and intersecting axes show as zeros and ones. All of it
follows from the joints' own geometry; the loop need not be closed at the file's zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize import screw
from regularize.cycles import Cycle
from regularize.joint import perpendiculars
from regularize.screw import Array
from regularize.topology import Edge, Graph

#: Entries of links below this (angles, or lengths by the size of the loop) are rounding.
ROUNDING = 2e-14


@dataclass(frozen=True, eq=False)
class Item:
    """An elementary motion of a loop.

    Attributes:
        kind: ``R``, ``P``, ``S`` (spherical) or ``F`` (free).
        name: Name of the joint.
        columns: Its coordinates among all coordinates of the mechanism.
        sign: +1 where the loop passes from parent to child.
        before: Frame in front of the motion at zero coordinates, in the loop's frame, (4, 4).
        after: Frame behind the motion at zero coordinates, shape (4, 4).
        angle: Rotation about z between the two frames at zero coordinates.
        shift: Translation along z between them, in metres.
        pitch: Translation in metres per radian; zero but for helical joints.
    """

    kind: str
    name: str
    columns: tuple[int, ...]
    sign: int
    before: Array
    after: Array
    angle: float = 0.0
    shift: float = 0.0
    pitch: float = 0.0

    @property
    def axis(self) -> Array:
        """Direction of the joint axis in the loop's frame at zero coordinates, shape (3,)."""
        return np.asarray(self.before[:3, 2])

    @property
    def point(self) -> Array:
        """A point of the joint axis, or the centre, shape (3,)."""
        return np.asarray(self.before[:3, 3])


@dataclass(frozen=True, eq=False)
class Chain:
    """A loop, cut open nowhere.

    Attributes:
        items: The motions in order.
        links: Constant transforms that follow each of them, shape (m, 4, 4).
        size: Largest distance within the loop in metres.
        cycle: Where in the graph it is.
    """

    items: tuple[Item, ...]
    links: Array
    size: float
    cycle: Cycle

    def __len__(self) -> int:
        """Number of motions."""
        return len(self.items)


@dataclass(frozen=True, eq=False)
class _Line:
    """A motion before its frames are chosen; ``point`` is None while it is free to be chosen."""

    kind: str
    name: str
    columns: tuple[int, ...]
    sign: int
    direction: Array | None
    point: Array | None
    frame: Array
    pitch: float = 0.0


def chain_of(graph: Graph, cycle: Cycle) -> Chain:
    """The chain of a cycle of the graph."""
    lines, closing = _lines(graph, cycle)
    first = next((i for i, line in enumerate(lines) if line.point is not None), 0)
    # The chain starts at a motion with a place, so that translations can take theirs from it.
    moved = [_moved(closing, line) for line in lines[:first]]
    lines, m = lines[first:] + moved, len(lines)
    points: list[Array] = []
    for line in lines:
        previous = points[-1] if points else np.zeros(3)
        points.append(previous if line.point is None else line.point)
    size = float(np.max(np.ptp(np.array([*points, (closing @ [*points[0], 1.0])[:3]]), axis=0)))
    size = size if size > 0.0 else 1.0
    lines = [_placed(line, point) for line, point in zip(lines, points, strict=True)]
    befores, afters = _frames(lines, closing, size)
    items, links = [], np.zeros((m, 4, 4))
    for i, line in enumerate(lines):
        relative = screw.inverse(befores[i]) @ afters[i]
        angle = float(np.arctan2(relative[1, 0], relative[0, 0])) if line.kind in "RP" else 0.0
        shift = float(relative[2, 3]) if line.kind in "RP" else 0.0
        following = befores[i + 1] if i + 1 < m else closing @ befores[0]
        links[i] = _snapped(screw.inverse(afters[i]) @ following, size)
        items.append(
            Item(
                line.kind,
                line.name,
                line.columns,
                line.sign,
                befores[i],
                afters[i],
                _snap_angle(angle),
                0.0 if abs(shift) <= ROUNDING * size else shift,
                line.pitch,
            )
        )
    return Chain(tuple(items), links, size, cycle)


def _lines(graph: Graph, cycle: Cycle) -> tuple[list[_Line], Array]:
    """The motions at zero coordinates in the frame of the first node, and the loop's gap."""
    T = np.eye(4)
    lines: list[_Line] = []
    for index, node in zip(cycle.edges, cycle.nodes, strict=True):
        edge = graph.edges[index]
        forward = node == edge.parent
        into, out = (edge.T_parent, edge.T_child) if forward else (edge.T_child, edge.T_parent)
        frame = T @ into
        lines += _edge_lines(edge, frame, 1 if forward else -1)
        T = frame @ screw.inverse(out)
    return lines, T


def _edge_lines(edge: Edge, frame: Array, sign: int) -> list[_Line]:
    name = edge.joint.name
    if edge.group:
        kind = "S" if edge.joint.kind == "spherical" else "F"
        return [_Line(kind, name, edge.columns, sign, None, frame[:3, 3], frame)]
    lines = []
    order = range(edge.freedoms) if sign > 0 else reversed(range(edge.freedoms))
    for k in order:
        world = screw.adjoint(frame) @ edge.screws[:, k]
        direction, point, pitch = screw.axis_of(world)
        length = float(np.linalg.norm(world[3:])) or float(np.linalg.norm(world[:3]))
        # Traversed backwards, a joint turns about the opposite axis; its coordinate stays.
        column = (edge.columns[k],)
        if not np.isclose(length, 1.0, rtol=0.0, atol=1e-14):
            lines.append(_Line("F", name, column, sign, None, frame[:3, 3], frame))
        elif point is None:
            lines.append(_Line("P", name, column, sign, sign * direction, None, frame))
        else:
            point = frame[:3, 3] if _on_line(frame[:3, 3], point, direction) else point
            pitch = 0.0 if pitch is None or abs(pitch) < 1e-14 else pitch
            lines.append(_Line("R", name, column, sign, sign * direction, point, frame, pitch))
    return lines


def _on_line(q: Array, point: Array, direction: Array) -> bool:
    off = np.linalg.norm(np.cross(q - point, direction))
    return bool(off <= 1e-14 * max(1.0, float(np.linalg.norm(q))))


def _moved(T: Array, line: _Line) -> _Line:
    return _Line(
        line.kind,
        line.name,
        line.columns,
        line.sign,
        None if line.direction is None else T[:3, :3] @ line.direction,
        None if line.point is None else T[:3, :3] @ line.point + T[:3, 3],
        T @ line.frame,
        line.pitch,
    )


def _placed(line: _Line, point: Array) -> _Line:
    return _Line(
        line.kind,
        line.name,
        line.columns,
        line.sign,
        line.direction,
        point,
        line.frame,
        line.pitch,
    )


def _frames(lines: list[_Line], closing: Array, size: float) -> tuple[list[Array], list[Array]]:
    """Frames before and after every motion, from the common normals around the loop."""
    m = len(lines)
    normals: list[tuple[Array, Array, Array] | None] = []
    for i, line in enumerate(lines):
        following = lines[i + 1] if i + 1 < m else _moved(closing, lines[0])
        normals.append(_common_normal(line, following, size))
    # Parallel axes leave the normal free along them: it starts where the one before arrived.
    start = next((i for i in range(m) if normals[i] is not None), None)
    if start is None:
        start, line = m - 1, lines[m - 1]
        back = screw.inverse(closing)
        following = _moved(closing, lines[0])
        normals[start] = _parallel_normal(line, following, line.point, None, size)
    for k in range(1, m):
        i = (start + k) % m
        if normals[i] is not None:
            continue
        x, _, foot = normals[i - 1] or (None, None, None)
        if i == 0 and x is not None and foot is not None:
            back = screw.inverse(closing)
            x, foot = back[:3, :3] @ x, back[:3, :3] @ foot + back[:3, 3]
        following = lines[i + 1] if i + 1 < m else _moved(closing, lines[0])
        normals[i] = _parallel_normal(lines[i], following, foot, x, size)
    back = screw.inverse(closing)
    befores, afters = [], []
    for i, line in enumerate(lines):
        out, into = normals[i], normals[i - 1]
        if line.direction is None or out is None or into is None:
            befores.append(line.frame)
            afters.append(line.frame)
            continue
        x, _, foot = into
        if i == 0:
            x, foot = back[:3, :3] @ x, back[:3, :3] @ foot + back[:3, 3]
        befores.append(_frame(line.direction, x, foot))
        afters.append(_frame(line.direction, out[0], out[1]))
    return befores, afters


def _frame(z: Array, x: Array, origin: Array) -> Array:
    x = screw.unit(x - (x @ z) * z)
    return screw.transform(np.column_stack([x, np.cross(z, x), z]), origin)


def _common_normal(line: _Line, following: _Line, size: float) -> tuple[Array, Array, Array] | None:
    """Direction of the normal and its feet on both axes; None where the axes are parallel."""
    p, q = line.point, following.point
    if p is None or q is None:
        return None
    u, w = line.direction, following.direction
    if u is None and w is None:
        return _or_any(q - p, None, size), p, q
    if u is None or w is None:
        axis, on, center = (w, q, p) if u is None else (u, p, q)
        assert axis is not None
        foot = on + ((center - on) @ axis) * axis
        offset = foot - center if u is None else center - foot
        if np.linalg.norm(offset) <= ROUNDING * size:
            return None
        return (offset, p, foot) if u is None else (offset, foot, q)
    normal = np.cross(u, w)
    square = float(normal @ normal)
    if square <= (1e-12) ** 2:
        return None
    gap = q - p
    s, t = (float(np.cross(gap, other) @ normal) / square for other in (w, u))
    return normal, p + s * u, q + t * w


def _parallel_normal(
    line: _Line, following: _Line, foot: Array | None, x: Array | None, size: float
) -> tuple[Array, Array, Array]:
    """Normal of two parallel axes, or of an axis and a centre on it, that starts at ``foot``."""
    p, q = line.point, following.point
    assert p is not None and q is not None
    axis = line.direction if line.direction is not None else following.direction
    assert axis is not None
    if line.direction is None:
        return _or_any(np.zeros(3), axis, size), p, p
    if following.direction is None:
        return _or_any(np.zeros(3) if x is None else x, axis, size), q, q
    foot = p if foot is None else foot
    other = q + ((foot - q) @ axis) * axis
    gap = other - foot
    if np.linalg.norm(gap) <= ROUNDING * size:
        return _or_any(np.zeros(3) if x is None else x, axis, size), foot, foot
    return gap, foot, other


def _or_any(x: Array, axis: Array | None, size: float) -> Array:
    """``x`` where it has a length, else any direction across the axis."""
    if np.linalg.norm(x) > ROUNDING * size:
        return x
    return perpendiculars(np.array([0.0, 0.0, 1.0]) if axis is None else axis)[0]


def _snap_angle(angle: float) -> float:
    quarter = np.round(angle / (np.pi / 2)) * np.pi / 2
    return float(quarter) if abs(angle - quarter) <= ROUNDING else angle


def _snapped(T: Array, size: float) -> Array:
    T = T.copy()
    rotation = T[:3, :3]
    near = np.abs(rotation - np.round(rotation)) <= ROUNDING
    rotation[near] = np.round(rotation[near])
    small = np.abs(T[:3, 3]) <= ROUNDING * size
    T[:3, 3][small] = 0.0
    return T
