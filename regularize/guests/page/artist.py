"""Draws a mechanism: collects the pieces of a drawing from a report."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from regularize.checking import Report
from regularize.errors import RegularizeError
from regularize.guests.page import meshes
from regularize.guests.page.animation import branch_name, traces
from regularize.guests.page.drawing import (
    AXIS,
    GROUND,
    PALETTE,
    PLAIN,
    REDUNDANT,
    Color,
    Drawing,
    Label,
    Piece,
    Wrench,
    upwards,
)
from regularize.guests.page.meshes import mesh_of
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.kinematics import center_and_length
from regularize.mechanism.graph import DisjointSets, Edge, EdgeId, NodeId
from regularize.report.loop_report import LoopReport
from regularize.tolerances import UNNOTICED, UNSEEN


def draw(report: Report, *, meshes: bool = True) -> Drawing:
    """Return the drawing of a mechanism; each piece is fixed to its body."""
    return _Artist(report, meshes).drawing()


class _Artist:
    """Builds the drawing of a report: shapes, bars, joints, axes, wrenches and labels."""

    def __init__(self, report: Report, meshes: bool) -> None:
        self.report, self.graph = report, report.reduction.graph
        self.notes: dict[str, None] = {}
        self.links: list[tuple[NodeId, Array, Array, Color]] = []
        self.shapes = tuple(self._shapes(meshes))
        #: Joints at the assembled pose, in the world frame, shape (edges, 3).
        self.points = report.reduction.loops.joint_places(report.reduction.reference)
        self.length = self._size()
        self.radius = self._radius()
        self.colors = {loop.name: PALETTE[i % len(PALETTE)] for i, loop in enumerate(report.loops)}

    def drawing(self) -> Drawing:
        """Return shapes, bars, joints, axes and redundant directions of all loops, with labels."""
        shaped = {piece.node for piece in self.shapes}
        wrenches = tuple(self.wrenches())
        pieces = [*self.shapes, *self.bars(shaped), *self.rods(shaped), *self.ends(shaped)]
        pieces += [*self.joints(), *map(_wrench_piece, wrenches)]
        if self.graph.ground not in shaped:
            pieces += self.pedestals()
        labels = list(self.labels())
        branches: dict[str, Color] = {}
        r = self.report.reduction
        for number, traced in traces(r, self.radius):
            branch = branch_name(r, number)
            color = PALETTE[(len(self.colors) + len(branches)) % len(PALETTE)]
            branches[branch] = color
            T = screw.inverse(r.reference.T_world_node[0, r.loops.row(self.graph.ground)])
            curves = [curve @ T[:3, :3].T + T[:3, 3] for curve in traced]
            for i, curve in enumerate(curves):
                mesh = meshes.path(curve, 0.4 * self.radius)
                if mesh is not None:
                    name = f"branch/{number}/{i}"
                    pieces.append(Piece(name, "branch", self.graph.ground, mesh, color))
            for curve in curves[:1]:
                labels.append(Label(branch, self.graph.ground, curve[-1], False, color))
        drawn = tuple(pieces), tuple(labels), wrenches, tuple(self.links)
        colors = self.colors, branches
        return Drawing(self.report, self.length, *drawn, *colors, tuple(self.notes))

    def _size(self) -> float:
        """Return the largest distance of a joint from the centre of all joints."""
        r = self.report.reduction
        if len(self.graph.edges) > 1:
            center, length = center_and_length(r.loops, r.q)
            if length > UNNOTICED * max(1.0, float(np.linalg.norm(center))):
                return length
        shapes = max((0.5 * piece.mesh.diagonal for piece in self.shapes), default=0.0)
        return shapes or self._mass_distance() or 1.0

    def _mass_distance(self) -> float:
        """Return the largest distance of a mass from the joints of its body, or 0."""
        graph, distances = self.graph, [0.0]
        for body in self.report.mechanism.bodies:
            node, T = graph.node_of[body.name], graph.T_node_body[body.name]
            if body.inertia is not None and node != graph.ground:
                at = T[:3, :3] @ body.inertia.center + T[:3, 3]
                apart = [np.linalg.norm(at - self.point(node, e)) for e in graph.adjacency[node]]
                distances += [float(distance) for distance in apart if distance > UNNOTICED]
        return max(distances)

    def _radius(self) -> float:
        """Return the radius of bars: proportional to the size, thin where joints are close."""
        largest = 0.014 * self.length
        if len(self.points) < 3:
            return largest
        # Of many joints some hundreds tell it.
        some = self.points[:: -(-len(self.points) // 500)]
        apart = [np.linalg.norm(self.points - point, axis=1) for point in some]
        near = np.partition(apart, 1, axis=1)[:, 1]
        near = near[near > UNSEEN * self.length]
        return float(
            np.clip(0.07 * np.median(near if len(near) else [np.inf]), 0.4 * largest, largest)
        )

    def _shapes(self, meshes: bool) -> Iterator[Piece]:
        """Yield the shapes of the model, visual ones where there are any."""
        mechanism = self.report.mechanism
        # Without joints there are no poses to draw anything at.
        for body in mechanism.bodies if self.graph.edges else ():
            visual = [g for g in body.geometry if not g.collision]
            node = self.graph.node_of[body.name]
            for i, geometry in enumerate(visual or body.geometry):
                if geometry.kind == "mesh" and not meshes:
                    continue
                try:
                    T = self.graph.T_node_body[body.name]
                    mesh = mesh_of(geometry, mechanism.path).moved(T)
                except RegularizeError as error:
                    self.notes[f"{body.name}: {error}"] = None
                    continue
                r, g, b, a = PALETTE[node % len(PALETTE)]
                color = (r + 380) // 3, (g + 380) // 3, (b + 380) // 3, a  # muted
                if node == self.graph.ground:
                    color = PLAIN
                if geometry.color is not None:
                    r, g, b, a = (round(255 * min(max(c, 0.0), 1.0)) for c in geometry.color)
                    color = (r, g, b, a)
                yield Piece(f"body/{body.name}/{i}", "shape", node, mesh, color, body.name)

    def bars(self, shaped: set[NodeId]) -> Iterator[Piece]:
        """Yield bars between the joints of each body, in the colours of their loops."""
        done: set[tuple[NodeId, EdgeId, EdgeId]] = set()
        for loop in self.report.loops:
            cycle = loop.cut.cycle
            for k, node in enumerate(cycle.nodes):
                yield from self._bar(
                    node, cycle.edges[k - 1], cycle.edges[k], self.colors[loop.name], shaped, done
                )
        for node in self.graph.every_node:
            incident = self.graph.adjacency[node]
            linked = [(a, b) for n, a, b in done if n == node]
            if node == self.graph.ground or not incident:
                continue
            sets = DisjointSets(incident)
            for pair in linked:
                sets.union(*pair)
            hub = next((e for e in incident for pair in linked if e in pair), incident[0])
            # Loops that pass through a body by joints of their own do not cut it in pieces.
            for e in incident:
                if sets[e] != sets[hub]:
                    own = [f for f in incident if sets[f] == sets[e]]
                    ends = [f for f in incident if sets[f] == sets[hub]] if own[1:] else [hub]
                    a, b = min(product(ends, own), key=lambda pair: self._apart(node, *pair))
                    yield from self._bar(node, a, b, PLAIN, shaped, done)
                    sets.union(a, b)

    def rods(self, shaped: set[NodeId]) -> Iterator[Piece]:
        """Yield bars along the extended part of slides, moving with the sliding body."""
        r, graph = self.report.reduction, self.graph
        for edge in graph.edges:
            node = edge.child if edge.child != graph.ground else edge.parent
            if edge.joint.kind == "free" or node in shaped or not np.any(edge.screws[:3]):
                continue
            world = r.reference.T_world_node[0, r.loops.row(edge.other(node))]
            T_node_world = screw.inverse(r.reference.T_world_node[0, r.loops.row(node)])
            far = T_node_world @ world @ np.append(self.point(edge.other(node), edge.index), 1.0)
            start, end = far[:3], self.point(node, edge.index)
            if self.radius < np.linalg.norm(end - start) < 10 * self.length:
                self.links.append((node, start, end, PLAIN))
                owner = graph.nodes[node] if graph.members[node] else ""
                mesh = meshes.bar(start, end, self.radius)
                yield Piece(f"rod/{edge.name}", "bar", node, mesh, PLAIN, owner)

    def _apart(self, node: NodeId, a: EdgeId, b: EdgeId) -> float:
        """Return the distance of two joints on a body."""
        return float(np.linalg.norm(self.point(node, a) - self.point(node, b)))

    def ends(self, shaped: set[NodeId]) -> Iterator[Piece]:
        """Yield bars, on bodies without shape, to fixed bodies and to masses at chain ends."""
        graph = self.graph
        drawn = shaped | {node for node, *_ in self.links} | {graph.ground}
        for body in self.report.mechanism.bodies:
            node = graph.node_of[body.name]
            joints = [self.point(node, e) for e in graph.adjacency[node]]
            if node == graph.ground or node in shaped or not joints:
                continue
            T = graph.T_node_body[body.name]
            fixed = body.name != graph.members[node][0]
            places = [T[:3, 3]] if fixed else []
            if len(joints) == 1 and body.inertia is not None:
                places.append(T[:3, :3] @ body.inertia.center + T[:3, 3])
            for k, place in enumerate(places):
                gaps = [float(np.linalg.norm(place - point)) for point in joints]
                far = min(gaps)
                near = joints[gaps.index(far)]
                if not self.radius < far < 10 * self.length:
                    continue
                mesh = meshes.bar(near, place, self.radius)
                self.links.append((node, near, place, PLAIN))
                drawn.add(node)
                yield Piece(f"end/{body.name}/{k}", "bar", node, mesh, PLAIN, body.name)
        for body in self.report.mechanism.bodies:
            node = graph.node_of[body.name]
            if node not in drawn and graph.adjacency[node]:
                drawn.add(node)
                at = self.point(node, graph.adjacency[node][0])
                size = (14 if len(self.points) < 4 else 5) * self.radius
                mesh = meshes.block(at, np.eye(3)[2], size, size)
                yield Piece(f"end/{body.name}", "bar", node, mesh, PLAIN, body.name)

    def _bar(
        self,
        node: NodeId,
        a: EdgeId,
        b: EdgeId,
        color: Color,
        shaped: set[NodeId],
        done: set[tuple[NodeId, EdgeId, EdgeId]],
    ) -> Iterator[Piece]:
        """Yield a bar between two joints of a body, unless ``done`` has it."""
        key = (node, min(a, b), max(a, b))
        if key in done:
            return
        done.add(key)
        thin = node in shaped or node == self.graph.ground
        start, end = self.point(node, a), self.point(node, b)
        radius = (0.4 if thin else 1.0) * self.radius
        if np.linalg.norm(end - start) >= UNSEEN * radius:
            mesh = meshes.bar(start, end, radius)
            drawn = GROUND if node == self.graph.ground else color
            self.links.append((node, start, end, drawn))
            name = f"bar/{self.graph.nodes[node]}/{key[1]}-{key[2]}"
            owner = self.graph.nodes[node] if self.graph.members[node] else ""
            yield Piece(name, "line" if thin else "bar", node, mesh, drawn, owner)

    def point(self, node: NodeId, e: EdgeId) -> Array:
        """Return the position of a joint on a body, in the frame of its node."""
        edge = self.graph.edges[e]
        T = edge.T_parent if edge.parent == node else edge.T_child
        return np.asarray(T[:3, 3])

    def joints(self) -> Iterator[Piece]:
        """Yield a solid for every joint and an arrow for every axis."""
        redundant = {loop.cut.edge.index for loop in self.report.loops if loop.redundant}
        for edge in self.graph.edges:
            if edge.joint.kind == "free":
                continue
            color = REDUNDANT if edge.index in redundant else AXIS
            center = edge.T_parent[:3, 3]
            name = edge.name
            if edge.freedoms == 0 or edge.group:
                mesh = meshes.ball(center, 1.8 * self.radius)
                yield Piece(f"joint/{name}", "joint", edge.parent, mesh, color, edge.joint.name)
                continue
            for k in range(edge.freedoms):
                yield from self._axis(edge, k, color)

    def _axis(self, edge: Edge, k: int, color: Color) -> Iterator[Piece]:
        """Yield the solid and the arrow for one freedom of a joint."""
        R, center = edge.T_parent[:3, :3], edge.T_parent[:3, 3]
        freedom, r = edge.screws[:, k], self.radius
        name = f"{edge.name}/{k}" if edge.freedoms > 1 else edge.name
        if np.any(freedom[3:]):
            axis, point, _ = screw.axis_of(freedom)
            on = center + R @ (np.zeros(3) if point is None else point)
            if np.linalg.norm(on - center) > 10 * self.length:
                on = center
            half = 2.5 * r * screw.unit(R @ axis)
            mesh = meshes.bar(on - half, on + half, 1.7 * r)
            shaft = meshes.arrow(on, R @ axis, 14 * r, 0.35 * r)
        else:
            axis = R @ freedom[:3]
            mesh = meshes.block(center, axis, 8 * r, 2.8 * r)
            shaft = meshes.arrow(center, axis, 24 * r, 0.35 * r, both=True)
        owner = edge.joint.name
        yield Piece(f"joint/{name}", "joint", edge.parent, mesh, color, owner)
        yield Piece(f"axis/{name}", "axis", edge.parent, shaft, color, owner)

    def pedestals(self) -> Iterator[Piece]:
        """Yield a pedestal under each joint on the ground, or above it if the mechanism hangs."""
        ground, up = self.graph.ground, upwards(self.report.mechanism)
        middle = self.points.mean(axis=0) if len(self.points) else np.zeros(3)
        for e in self.graph.adjacency[ground]:
            if self.graph.edges[e].joint.kind == "free":
                continue
            hangs = (self.points[e] - middle) @ up > 0.5 * self.radius + 0.2 * self.length
            mesh = meshes.pedestal(self.point(ground, e), -up if hangs else up, 4.0 * self.radius)
            owner = self.graph.nodes[ground]
            yield Piece(f"pedestal/{e}", "pedestal", ground, mesh, GROUND, owner)

    def wrenches(self) -> Iterator[Wrench]:
        """Yield the redundant directions of every loop as wrenches to draw."""
        closings = [loop.cut.edge.index for loop in self.report.loops if loop.redundant]
        for loop in self.report.loops:
            # Neighbours leave each other room.
            others = [e for e in closings if e != loop.cut.edge.index]
            gaps = np.linalg.norm(self.points[others] - self.points[loop.cut.edge.index], axis=1)
            room = np.min(gaps[gaps > UNSEEN * self.length], initial=np.inf)
            yield from self._wrenches(loop, min(0.36 * self.length, 0.9 * float(room)))

    def _wrenches(self, loop: LoopReport, size: float) -> Iterator[Wrench]:
        """Yield a force and a moment for each redundant equation of a loop."""
        reduction = self.report.reduction
        node = loop.cut.edge.parent
        T_node_world = screw.inverse(reduction.reference.T_world_node[0, reduction.loops.row(node)])
        # Drawn at the joint itself: the point of reference may be a centre far away.
        point = loop.cut.edge.T_parent[:3, 3]
        for i, equation in enumerate(loop.removed):
            direction = equation.direction
            for turns, absent in ((False, "angular"), (True, "linear")):
                if direction.kind == absent:
                    continue
                part = direction.covector[3:] if turns else direction.covector[:3]
                name = f"redundant/{loop.name}/{i}{'/moment' if turns else ''}"
                along = T_node_world[:3, :3] @ part
                yield Wrench(name, loop.name, loop.closing, node, point, along, turns, size)

    def labels(self) -> Iterator[Label]:
        """Yield a label with the name of each joint."""
        cuts = {loop.cut.edge.index for loop in self.report.loops if loop.redundant}
        labelled: set[str] = set()
        for edge in self.graph.edges:
            if edge.joint.name in labelled or edge.joint.kind == "free":
                continue
            labelled.add(edge.joint.name)
            yield Label(edge.joint.name, edge.parent, edge.T_parent[:3, 3], edge.index in cuts)


def _wrench_piece(wrench: Wrench) -> Piece:
    """Return a wrench as a straight double arrow (force) or a ring (moment)."""
    make = meshes.moment if wrench.turns else meshes.force
    mesh = make(wrench.point, wrench.direction, wrench.size)
    return Piece(wrench.name, "redundant", wrench.node, mesh, REDUNDANT, wrench.joint)
