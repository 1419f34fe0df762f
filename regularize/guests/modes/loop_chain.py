r"""Independent loops of a mechanism, their couplings, and each loop as a chain of motions.

A loop is a cyclic chain of elementary motions and links,

.. math:: M_0 L_0 M_1 L_1 \dots M_{m-1} L_{m-1} = I

as in Klein and Kecskeméthy, eq. 1. The frames before and after a motion have their z axes on the
joint axis and their x axes on the common normals with the neighbouring axes (Denavit and
Hartenberg), so that parallel, perpendicular and intersecting axes show as zeros and ones. All of it
follows from the joints' own geometry; the loop need not be closed at the file's zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Direction, Point, Transform
from regularize.mechanism.cycles import Cycle, minimum_cycle_basis, walk
from regularize.mechanism.graph import ColumnId, CouplingRow, Edge, EdgeId, Graph, nodes_of
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.tolerances import EXACT, ROUNDING

#: Loops with more elementary joints than this are left out when loops are added to each other.
LONGEST = 16
#: Entries of links below this (angles, or lengths by the size of the loop) are rounding.
SNAP = 2 * ROUNDING

#: Direction of a common normal of two axes, and its feet on both.
Normal: TypeAlias = tuple[Direction, Point, Point]


@dataclass(frozen=True)
class LoopSolution:
    """The solution of one loop in words, or the reason why there is none.

    Attributes:
        joints: Its joints in order.
        solved: Whether all its coordinates follow from the inputs in closed form.
        steps: One sentence per unknown found with this loop.
        reason: Why it is not solved; empty where it is.
    """

    joints: tuple[str, ...]
    solved: bool
    steps: tuple[str, ...]
    reason: str = ""

    def __str__(self) -> str:
        parts = [*self.steps, self.reason] if self.reason else self.steps
        return f"{' '.join(self.joints)}: {'; '.join(parts) or 'nothing left to solve'}"


def loops_of(graph: Graph) -> tuple[list[Cycle], list[Cycle]]:
    """Return a basis of independent loops, and further loops that two or three add up to."""
    basis = [cycle for block in graph.blocks for cycle in minimum_cycle_basis(graph, block)]
    further: dict[frozenset[int], Cycle] = {}
    sets = [frozenset(cycle.edges) for cycle in basis]
    for count in (2, 3):
        if len(basis) > (24 if count == 2 else 8):
            break
        for group in combinations(sets, count):
            total: frozenset[EdgeId] = frozenset()
            for edges in group:
                total = total ^ edges
            if 1 < len(total) <= LONGEST and total not in further and _simple(graph, total):
                further[total] = walk(graph, sorted(total))
    return basis, sorted(further.values(), key=lambda cycle: (cycle.length, cycle.edges))


def _simple(graph: Graph, edges: frozenset[EdgeId]) -> bool:
    """Tell whether the edges form one simple cycle."""
    ends = Counter(n for e in edges for n in (graph.edges[e].parent, graph.edges[e].child))
    if any(count != 2 for count in ends.values()):
        return False
    return len(walk(graph, sorted(edges)).edges) == len(edges) == len(nodes_of(graph, edges))


def next_coupled(
    couplings: Sequence[CouplingRow], known: Set[int], plain: Set[int]
) -> tuple[CouplingRow, int] | None:
    """Return a coupling with a single unknown coordinate, and that one; None without any."""
    for coupling in couplings:
        left = set(coupling.columns) - known
        if len(left) == 1 and set(coupling.columns) - left <= plain:
            (column,) = left
            argument = coupling.curve is not None and column == coupling.columns[-1]
            if _factor(coupling, column) != 0.0 and not argument:
                return coupling, column
    return None


def coupled(coupling: CouplingRow, column: int, values: Mapping[int, Any], zero: Any) -> Any:
    """Solve a coupling for one coordinate; ``zero`` is a zero of the values' type."""
    total = zero + coupling.offset
    for other, k in linear_terms(coupling):
        if other != column:
            total = total - values[other] * k
    if coupling.curve is not None:
        x = values[coupling.columns[-1]]
        total = total - (coupling.curve(x) if isinstance(x, np.ndarray) else coupling.curve.of(x))
    return total * (1.0 / _factor(coupling, column))


def linear_terms(coupling: CouplingRow) -> list[tuple[ColumnId, float]]:
    """Return columns and coefficients of a coupling's linear terms."""
    terms = [*zip(coupling.columns, coupling.coefficients, strict=True)]
    return terms if coupling.curve is None else terms[:-1]


def _factor(coupling: CouplingRow, column: int) -> float:
    """Return the coefficient of a column."""
    terms = zip(coupling.columns, coupling.coefficients, strict=True)
    return float(sum(k for c, k in terms if c == column))


@dataclass(frozen=True, eq=False)
class ElementaryMotion:
    """An elementary motion of a loop; its frames are at zero coordinates, in the loop's frame."""

    kind: str  # ``R``, ``P``, ``S`` (spherical) or ``F`` (free)
    edge: Edge
    columns: tuple[int, ...]  # its coordinates among all of the mechanism
    sign: int  # +1 where the loop passes from parent to child
    before: Transform  # the frame in front of the motion
    after: Transform  # the frame behind it
    angle: float = 0.0  # about z between the two frames
    shift: float = 0.0  # along z between them, in metres
    pitch: float = 0.0  # metres per radian of a helical joint
    scale: float = 1.0  # radians or metres per unit of the coordinate of a composite joint

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self.edge.joint.name

    @property
    def simple(self) -> bool:
        """Whether it turns or slides by its coordinate itself, without pitch or scale."""
        return self.kind in "RP" and self.pitch == 0.0 and self.scale == 1.0

    def transforms(self, q: Coordinates) -> Transform:
        """Return the motion between the frames at coordinates of all joints."""
        if self.kind in "SF":
            T = screw.exp(q[:, list(self.columns)] @ self.edge.screws.T)
            return T if self.sign > 0 else screw.inverse(T)
        x = q[:, self.columns[0]] * self.scale
        if self.kind == "P":
            return about_z(np.full_like(x, self.angle), self.shift + x)
        return about_z(self.angle + x, self.shift + self.pitch * x)


@dataclass(frozen=True, eq=False)
class LoopChain:
    """A loop as motions in order, each followed by a constant link; it is cut open nowhere."""

    items: tuple[ElementaryMotion, ...]
    links: Transform
    size: float  # largest distance within the loop in metres
    cycle: Cycle

    def __len__(self) -> int:
        return len(self.items)


def chain_of(graph: Graph, cycle: Cycle) -> LoopChain:
    """Return the chain of a cycle of the graph."""
    lines, closing = _lines(graph, cycle)
    first = next((i for i, line in enumerate(lines) if line.point is not None), 0)
    # The chain starts at a motion with a place, so that translations can take theirs from it.
    moved = [line.moved(closing) for line in lines[:first]]
    lines, m = lines[first:] + moved, len(lines)
    points: list[Point] = []
    for line in lines:
        previous = points[-1] if points else np.zeros(3)
        points.append(previous if line.point is None else line.point)
    places = np.array([*points, (closing @ [*points[0], 1.0])[:3]])
    size = float(np.max(np.ptp(places, axis=0)))
    # Where all axes meet in one point, what is left of their distances is rounding.
    edges = [graph.edges[e] for e in cycle.edges]
    reach = max(np.max(np.abs(T[:3, 3])) for e in edges for T in (e.T_parent, e.T_child))
    size = size if size > EXACT.closed * reach else 1.0
    lines = [replace(line, point=point) for line, point in zip(lines, points, strict=True)]
    befores, afters = frames(lines, closing, size)
    items, links = [], np.zeros((m, 4, 4))
    for i, line in enumerate(lines):
        relative = screw.inverse(befores[i]) @ afters[i]
        angle = shift = 0.0
        if line.kind in "RP":
            angle, shift = np.arctan2(relative[1, 0], relative[0, 0]), float(relative[2, 3])
        quarter = np.round(angle / (np.pi / 2)) * np.pi / 2
        following = befores[i + 1] if i + 1 < m else closing @ befores[0]
        links[i] = _snapped(screw.inverse(afters[i]) @ following, size)
        angle = float(quarter if abs(angle - quarter) <= SNAP else angle)
        shift, pitch = (0.0 if abs(x) <= SNAP * size else x for x in (shift, line.pitch))
        own, ends = (line.kind, line.edge, line.columns, line.sign), (befores[i], afters[i])
        items.append(ElementaryMotion(*own, *ends, angle, shift, pitch, line.scale))
    return LoopChain(tuple(items), links, size, cycle)


def _lines(graph: Graph, cycle: Cycle) -> tuple[list[AxisLine], Transform]:
    """Return the motions at zero coordinates in the first joint's frame, and the loop's gap."""
    lines: list[AxisLine] = []
    frame, behind = np.eye(4), _ends(graph, cycle, 0)[0]
    for k, node in enumerate(cycle.nodes):
        edge = graph.edges[cycle.edges[k]]
        into, out = _ends(graph, cycle, k)
        frame = frame @ _relative(behind, into)
        lines += _edge_lines(edge, frame, 1 if node == edge.parent else -1)
        behind = out
    return lines, frame @ _relative(behind, _ends(graph, cycle, 0)[0])


def _ends(graph: Graph, cycle: Cycle, k: int) -> tuple[Transform, Transform]:
    """Return the frames of joint k on the bodies in front of it and behind it."""
    edge = graph.edges[cycle.edges[k]]
    ends = edge.T_parent, edge.T_child
    return ends if cycle.nodes[k] == edge.parent else ends[::-1]


def _relative(a: Transform, b: Transform) -> Transform:
    """Return frame b seen from frame a, with exact differences where both are far away."""
    rotation = a[:3, :3].T
    return screw.transform(rotation @ b[:3, :3], rotation @ (b[:3, 3] - a[:3, 3]))


def _edge_lines(edge: Edge, frame: Transform, sign: int) -> list[AxisLine]:
    """Return the motions of one joint, given its frame, in the order in which they are passed."""
    if edge.group:
        kind = "S" if edge.joint.kind == "spherical" else "F"
        return [AxisLine(kind, edge, edge.columns, sign, None, frame[:3, 3], frame)]
    lines = []
    order = range(edge.freedoms) if sign > 0 else reversed(range(edge.freedoms))
    for k in order:
        world = screw.adjoint(frame) @ edge.screws[:, k]
        direction, point, _ = screw.axis_of(world)
        # In the joint's own frame, where it is exact.
        v, w = edge.screws[:3, k], edge.screws[3:, k]
        length = float(np.linalg.norm(v if point is None else w))
        length = 1.0 if np.isclose(length, 1.0, rtol=0.0, atol=ROUNDING) else length
        # Traversed backwards, a joint turns about the opposite axis; its coordinate stays.
        column, along = (edge.columns[k],), sign * direction
        if point is None:
            lines.append(AxisLine("P", edge, column, sign, along, None, frame, 0.0, length))
        else:
            off = np.linalg.norm(screw.cross(frame[:3, 3] - point, direction))
            if off <= ROUNDING * max(1.0, float(np.linalg.norm(frame[:3, 3]))):
                point = frame[:3, 3]
            pitch = float(v @ w) / length**2
            lines.append(AxisLine("R", edge, column, sign, along, point, frame, pitch, length))
    return lines


def about_z(angle: Array, shift: Array) -> Transform:
    """Return turns about and slides along z."""
    T = np.zeros((*np.shape(angle), 4, 4))
    T[..., 2, 2] = T[..., 3, 3] = 1.0
    T[..., 0, 0] = T[..., 1, 1] = np.cos(angle)
    T[..., 1, 0] = np.sin(angle)
    T[..., 0, 1] = -T[..., 1, 0]
    T[..., 2, 3] = shift
    return T


def _snapped(T: Transform, size: float) -> Transform:
    """Round entries that are zero or one but for rounding."""
    T, near = T.copy(), np.abs(T - np.round(T)) <= SNAP
    near[:, 3] = False
    T[near] = np.round(T[near])
    T[:3, 3][np.abs(T[:3, 3]) <= SNAP * size] = 0.0
    return T


@dataclass(frozen=True, eq=False)
class AxisLine:
    """A motion before its frames are chosen; ``point`` is None while it is free to be chosen."""

    kind: str
    edge: Edge
    columns: tuple[int, ...]
    sign: int
    direction: Direction | None
    point: Point | None
    frame: Transform
    pitch: float = 0.0
    scale: float = 1.0

    def moved(self, T: Transform) -> AxisLine:
        """Return the motion expressed in frame a, given ``T_a_loop``."""
        return replace(
            self,
            direction=None if self.direction is None else T[:3, :3] @ self.direction,
            point=None if self.point is None else T[:3, :3] @ self.point + T[:3, 3],
            frame=T @ self.frame,
        )


def frames(
    lines: list[AxisLine], closing: Transform, size: float
) -> tuple[list[Transform], list[Transform]]:
    """Choose the frames before and after every motion by the common normals around the loop."""
    m, back = len(lines), screw.inverse(closing)
    ring = [*lines, lines[0].moved(closing)]
    normals = [_common_normal(ring[i], ring[i + 1], size) for i in range(m)]

    def arriving(i: int) -> Normal | None:
        """Return the common normal of an axis and the one before it, around the loop."""
        normal = normals[i - 1]
        if i or normal is None:
            return normal
        x, start, foot = normal
        return back[:3, :3] @ x, start, back[:3, :3] @ foot + back[:3, 3]

    # Parallel axes leave the normal free along them: it starts where the one before arrived.
    begin = next((i for i in range(m) if normals[i] is not None), m - 1)
    if normals[begin] is None:
        normals[begin] = _parallel_normal(ring[m - 1], ring[m], ring[m - 1].point, None, size)
    for i in (k % m for k in range(begin + 1, begin + m)):
        if normals[i] is None:
            x, _, foot = arriving(i) or (None, None, None)
            normals[i] = _parallel_normal(ring[i], ring[i + 1], foot, x, size)
    befores, afters = [], []
    for i, line in enumerate(lines):
        into, out = arriving(i), normals[i]
        if line.direction is None or out is None or into is None:
            befores.append(line.frame)
            afters.append(line.frame)
        else:
            befores.append(_frame(line.direction, into[0], into[2]))
            afters.append(_frame(line.direction, out[0], out[1]))
    return befores, afters


def _frame(z: Direction, x: Direction, origin: Point) -> Transform:
    """Return the frame at a point with a z axis, and an x axis near a given one."""
    x = screw.unit(x - (x @ z) * z)
    return screw.transform(np.column_stack([x, screw.cross(z, x), z]), origin)


def _common_normal(line: AxisLine, following: AxisLine, size: float) -> Normal | None:
    """Return the normal of two axes; None where they are parallel, or a place is not chosen."""
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
        if np.linalg.norm(offset) <= SNAP * size:
            return None
        return (offset, p, foot) if u is None else (offset, foot, q)
    normal = screw.cross(u, w)
    square = float(normal @ normal)
    if square <= EXACT.closed**2:
        return None
    gap = q - p
    s, t = (float(screw.cross(gap, other) @ normal) / square for other in (w, u))
    return normal, p + s * u, q + t * w


def _parallel_normal(
    line: AxisLine, following: AxisLine, foot: Point | None, x: Direction | None, size: float
) -> Normal:
    """Return the normal that starts at ``foot`` of parallel axes, or of an axis and a centre."""
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
    if np.linalg.norm(gap) <= SNAP * size:
        return _or_any(np.zeros(3) if x is None else x, axis, size), foot, foot
    return gap, foot, other


def _or_any(x: Direction, axis: Direction | None, size: float) -> Direction:
    """Return ``x`` where it has a length, else any direction across the axis."""
    if np.linalg.norm(x) > SNAP * size:
        return x
    return perpendiculars(np.array([0.0, 0.0, 1.0]) if axis is None else axis)[0]
