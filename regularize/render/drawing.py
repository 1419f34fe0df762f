"""What there is to draw of a mechanism: pieces with a mesh, a colour and the body they move with.

Bodies are drawn by the shapes of the model where it has some. Bars between the joints carry the
colours of the loops that run through them; joint axes are arrows, redundant equations are drawn at
the closing joint: a straight double arrow for a force, a ring for a moment that nothing determines.
Where several motions meet at the pose, bent arrows show where joints go on each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.manifold.extent import center_and_length
from regularize.model.graph import Edge, EdgeId, NodeId
from regularize.render import glyphs
from regularize.render.bifurcation import traces
from regularize.render.shapes import mesh_of
from regularize.report.analysis import Analysis
from regularize.report.loop_report import LoopReport

Color = tuple[int, int, int, int]

#: Colours of loops, told apart by people with any colour vision (after Okabe and Ito 2008).
PALETTE: tuple[Color, ...] = (
    (0, 114, 178, 255),
    (0, 158, 115, 255),
    (230, 159, 0, 255),
    (153, 102, 204, 255),
    (86, 180, 233, 255),
    (140, 96, 52, 255),
)
REDUNDANT: Color = (204, 20, 72, 255)
AXIS: Color = (96, 102, 112, 255)
GROUND: Color = (128, 134, 142, 255)
PLAIN: Color = (170, 176, 184, 255)


@dataclass(frozen=True, eq=False)
class Piece:
    """One thing to draw.

    Attributes:
        name: Unique name, such as ``body/crank/0`` or ``redundant/L1/2``.
        kind: ``shape``, ``bar``, ``line`` (a thin bar where there are shapes), ``joint``, ``axis``,
            ``redundant`` or ``branch``.
        node: Node of the graph that it moves with.
        mesh: Triangles in the frame of the node.
        color: Red, green, blue, opacity, 0 to 255.
    """

    name: str
    kind: str
    node: NodeId
    mesh: Any
    color: Color


@dataclass(frozen=True, eq=False)
class Label:
    """The name of a joint, or of a branch, at a point of a body.

    Attributes:
        text: The name.
        node: Node that it moves with.
        point: In the frame of the node, metres, shape (3,).
        cut: Whether the joint closes a loop.
        color: That of the branch.
    """

    text: str
    node: NodeId
    point: Array
    cut: bool
    color: Color | None = None


@dataclass(frozen=True, eq=False)
class Drawing:
    """All pieces and labels of a mechanism.

    Attributes:
        report: What is drawn.
        length: Size of the mechanism in metres.
        pieces: What to draw.
        labels: Names of joints.
        loop_colors: Colour of each loop by name.
        branch_colors: Colour of each branch by its name, where several meet at the pose.
    """

    report: Analysis
    length: float
    pieces: tuple[Piece, ...]
    labels: tuple[Label, ...]
    loop_colors: dict[str, Color]
    branch_colors: dict[str, Color]


def draw(report: Analysis) -> Drawing:
    """The drawing of a mechanism at any configuration: pieces stay where they are on their body."""
    return _Artist(report).drawing()


class _Artist:
    """Collects the pieces."""

    def __init__(self, report: Analysis) -> None:
        self.report, self.graph = report, report.reduction.graph
        self.shapes = tuple(self._shapes())
        self.length = self._size()
        self.radius = 0.014 * self.length
        self.colors = {loop.name: PALETTE[i % len(PALETTE)] for i, loop in enumerate(report.loops)}

    def drawing(self) -> Drawing:
        """Shapes, bars, joints, axes and redundant directions of all loops, with labels."""
        shaped = {piece.node for piece in self.shapes}
        pieces = [*self.shapes, *self.bars(shaped), *self.joints(), *self.redundant()]
        labels = list(self.labels())
        branches: dict[str, Color] = {}
        for trace in traces(self.report.reduction, self.radius):
            color = PALETTE[(len(self.colors) + len(branches)) % len(PALETTE)]
            branches[trace.name] = color
            ways = [self._on_ground(way) for way in trace.ways]
            for i, way in enumerate(ways):
                mesh = glyphs.path(way, 0.4 * self.radius)
                if mesh is not None:
                    name = f"branch/{trace.number}/{i}"
                    pieces.append(Piece(name, "branch", self.graph.ground, mesh, color))
            for way in ways[:1]:
                labels.append(Label(trace.name, self.graph.ground, way[-1], False, color))
        return Drawing(
            self.report, self.length, tuple(pieces), tuple(labels), self.colors, branches
        )

    def _on_ground(self, points: Array) -> Array:
        """Points (n, 3) of the world in the frame of the ground."""
        r = self.report.reduction
        T = screw.inverse(r.reference.T_world_node[0, r.loops.row(self.graph.ground)])
        return np.asarray(points @ T[:3, :3].T + T[:3, 3])

    def _size(self) -> float:
        """Largest distance of a joint from the middle of all; of the shapes if all joints meet."""
        r = self.report.reduction
        if len(self.graph.edges) > 1:
            center, length = center_and_length(r.loops, r.q)
            if length > 1e-6 * max(1.0, float(np.linalg.norm(center))):
                return length
        return max((0.5 * float(piece.mesh.scale) for piece in self.shapes), default=1.0)

    def _shapes(self) -> Iterator[Piece]:
        """Shapes of the model, visual ones where there are any."""
        mechanism = self.report.mechanism
        # Without joints there are no poses to draw anything at.
        for body in mechanism.bodies if self.graph.edges else ():
            visual = [g for g in body.geometry if not g.collision]
            node = self.graph.node_of[body.name]
            for i, geometry in enumerate(visual or body.geometry):
                mesh = mesh_of(geometry, mechanism.path)
                if mesh is None:
                    continue
                mesh.apply_transform(self.graph.T_node_body[body.name])
                color = PLAIN
                if geometry.color is not None:
                    r, g, b, a = (round(255 * min(max(c, 0.0), 1.0)) for c in geometry.color)
                    color = (r, g, b, a)
                yield Piece(f"body/{body.name}/{i}", "shape", node, mesh, color)

    def bars(self, shaped: set[NodeId]) -> Iterator[Piece]:
        """Bars between the joints of each body, in the colours of the loops through them."""
        done: set[tuple[NodeId, EdgeId, EdgeId]] = set()
        for loop in self.report.loops:
            cycle = loop.cut.cycle
            for k, node in enumerate(cycle.nodes):
                yield from self._bar(
                    node, cycle.edges[k - 1], cycle.edges[k], self.colors[loop.name], shaped, done
                )
        for node in self.graph.every_node:
            incident = self.graph.adjacency[node]
            linked = {e for n, a, b in done if n == node for e in (a, b)}
            loose = [e for e in incident if e not in linked]
            if node == self.graph.ground or not loose:
                continue
            hub = next((e for e in incident if e not in loose), loose[0])
            for e in loose:
                if e != hub:
                    yield from self._bar(node, hub, e, PLAIN, shaped, done)

    def _bar(
        self,
        node: NodeId,
        a: EdgeId,
        b: EdgeId,
        color: Color,
        shaped: set[NodeId],
        done: set[tuple[NodeId, EdgeId, EdgeId]],
    ) -> Iterator[Piece]:
        key = (node, min(a, b), max(a, b))
        if key in done:
            return
        done.add(key)
        thin = node in shaped or node == self.graph.ground
        mesh = glyphs.bar(
            self.point(node, a), self.point(node, b), (0.4 if thin else 1.0) * self.radius
        )
        if mesh is not None:
            drawn = GROUND if node == self.graph.ground else color
            name = f"bar/{self.graph.nodes[node]}/{key[1]}-{key[2]}"
            yield Piece(name, "line" if thin else "bar", node, mesh, drawn)

    def point(self, node: NodeId, e: EdgeId) -> Array:
        """Where a joint sits on a body, in the frame of its node."""
        edge = self.graph.edges[e]
        T = edge.T_parent if edge.parent == node else edge.T_child
        return np.asarray(T[:3, 3])

    def joints(self) -> Iterator[Piece]:
        """A body for every joint and an arrow for every axis."""
        redundant = {loop.cut.edge.index for loop in self.report.loops if loop.redundant}
        for edge in self.graph.edges:
            if edge.joint.kind == "free":
                continue
            color = REDUNDANT if edge.index in redundant else AXIS
            center = edge.T_parent[:3, 3]
            name = edge.name
            if edge.freedoms == 0 or edge.group:
                mesh = glyphs.ball(center, 1.8 * self.radius)
                yield Piece(f"joint/{name}", "joint", edge.parent, mesh, color)
                continue
            for k in range(edge.freedoms):
                yield from self._axis(edge, k, color)

    def _axis(self, edge: Edge, k: int, color: Color) -> Iterator[Piece]:
        R, center = edge.T_parent[:3, :3], edge.T_parent[:3, 3]
        freedom, r = edge.screws[:, k], self.radius
        name = f"{edge.name}/{k}" if edge.freedoms > 1 else edge.name
        if np.any(freedom[3:]):
            axis, point, _ = screw.axis_of(freedom)
            on = center + R @ (np.zeros(3) if point is None else point)
            if np.linalg.norm(on - center) > 10 * self.length:
                on = center
            mesh = glyphs.barrel(on, R @ axis, 5 * r, 1.7 * r)
            shaft = glyphs.arrow(on, R @ axis, 14 * r, 0.35 * r)
        else:
            axis = R @ freedom[:3]
            mesh = glyphs.block(center, axis, 8 * r, 2.8 * r)
            shaft = glyphs.arrow(center, axis, 24 * r, 0.35 * r, both=True)
        yield Piece(f"joint/{name}", "joint", edge.parent, mesh, color)
        yield Piece(f"axis/{name}", "axis", edge.parent, shaft, color)

    def redundant(self) -> Iterator[Piece]:
        """Redundant directions of every loop as the wrenches that nothing determines."""
        for loop in self.report.loops:
            yield from self._wrenches(loop)

    def _wrenches(self, loop: LoopReport) -> Iterator[Piece]:
        reduction = self.report.reduction
        node = loop.cut.edge.parent
        T_node_world = screw.inverse(reduction.reference.T_world_node[0, reduction.loops.row(node)])
        # Drawn at the joint itself: the point of reference may be a centre far away.
        point = loop.cut.edge.T_parent[:3, 3]
        r = self.radius
        for i, equation in enumerate(loop.removed):
            direction = equation.direction
            linear = T_node_world[:3, :3] @ direction.covector[:3]
            angular = T_node_world[:3, :3] @ direction.covector[3:]
            name = f"redundant/{loop.name}/{i}"
            if direction.kind != "angular":
                mesh = glyphs.arrow(point, linear, 26 * r, 0.55 * r, both=True)
                yield Piece(name, "redundant", node, mesh, REDUNDANT)
            if direction.kind != "linear":
                mesh = glyphs.ring(point, angular, 7 * r, 0.45 * r)
                yield Piece(f"{name}/moment", "redundant", node, mesh, REDUNDANT)

    def labels(self) -> Iterator[Label]:
        """Names of the joints."""
        cuts = {cut.edge.index for cut in self.report.reduction.cuts}
        seen: set[str] = set()
        for edge in self.graph.edges:
            if edge.joint.name in seen or edge.joint.kind == "free":
                continue
            seen.add(edge.joint.name)
            yield Label(edge.joint.name, edge.parent, edge.T_parent[:3, 3], edge.index in cuts)
