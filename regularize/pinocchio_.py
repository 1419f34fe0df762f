r"""Reduced loop constraints in Pinocchio.

The spanning tree that is left when the cuts are open becomes a ``pinocchio.Model``, joints added
depth-first; the kept rows of the cuts become a constraint Jacobian with its bias. Everything is
computed by Pinocchio from the model; nothing is decomposed at run time.

The row of a covector :math:`w` at a cut is :math:`w^T\,(V_{child} - V_{parent})` in the cut frame,
which is fixed on one of the two bodies, with the linear part of the twist divided by the length of
the part (see ``reduction.Cut``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

from regularize import screw
from regularize.analysis import Reduction
from regularize.diagnostic import Diagnostic
from regularize.errors import UnsupportedExport
from regularize.kinematics import fit_joint
from regularize.mechanism import IDENTITY, Inertia
from regularize.reduction import Cut
from regularize.screw import Array, read_only
from regularize.topology import Edge, Graph


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """One joint of the Pinocchio model and the edges that it stands for.

    Attributes:
        index: Index of the joint in the model.
        edges: Elementary joints in the order in which the model applies them.
        reversed: Whether the model runs from their child to their parent.
    """

    index: int
    edges: tuple[Edge, ...]
    reversed: bool


@dataclass(frozen=True, eq=False)
class _RowFrames:
    """Where the rows of one cut are evaluated: frame indices in the model."""

    cut: Cut
    own: int
    parent: int
    child: int
    projection: Array


@dataclass(frozen=True, eq=False)
class Robot:
    """A Pinocchio model of a closed-loop mechanism with its reduced constraints.

    Attributes:
        model: The spanning tree.
        reduction: What it was made from.
        constraint_models: Constraints for Pinocchio's own solvers; empty in the style ``rows``.
        q0: Assembled reference configuration, shape (nq,).
        joints: How the model's joints stand for the mechanism's.
        findings: What could not be carried over.
    """

    model: Any
    reduction: Reduction
    constraint_models: list[Any]
    q0: Array
    joints: tuple[TreeJoint, ...]
    findings: tuple[Diagnostic, ...]
    _data: Any = field(repr=False)
    _frames: tuple[_RowFrames, ...] = field(repr=False)
    _coupling: Array = field(repr=False)
    _coupling_offset: Array = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of kept rows, couplings included."""
        return sum(f.cut.kept for f in self._frames) + len(self._coupling)

    def residual(self, q: Array) -> Array:
        """Errors of the kept rows, zero where the loops are closed, shape (m,)."""
        pin.framesForwardKinematics(self.model, self._data, q)
        parts = [f.projection @ self._closure_error(f) for f in self._frames]
        coordinates = self.coordinates(q) if len(self._coupling) else np.zeros(0)
        coupled = self._coupled(coordinates)
        return np.concatenate([*parts, coupled])

    def jacobian(self, q: Array) -> Array:
        """Kept rows, shape (m, nv)."""
        pin.computeJointJacobians(self.model, self._data, q)
        pin.updateFramePlacements(self.model, self._data)
        parts = [f.projection @ self._relative_jacobian(f) for f in self._frames]
        return np.vstack([*parts, self._coupling_rows()])

    def bias(self, q: Array, v: Array) -> Array:
        """The part of the rows' time derivative that is left at zero acceleration, shape (m,).

        On the loops ``jacobian(q) @ a + bias(q, v) = 0``.
        """
        pin.forwardKinematics(self.model, self._data, q, v, np.zeros(self.model.nv))
        pin.updateFramePlacements(self.model, self._data)
        parts = [f.projection @ self._relative_bias(f) for f in self._frames]
        return np.concatenate([*parts, np.zeros(len(self._coupling))])

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Acceleration under the kept rows, shape (nv,).

        Exact for any torque, without damping or iteration, as long as the kept rows are
        independent (``reduction.remaining`` is zero) and no massless body ends a chain.
        """
        J, gamma = self.jacobian(q), self.bias(q, v)
        if len(J) == 0:
            return np.array(pin.aba(self.model, self._data, q, v, tau))
        return np.array(pin.forwardDynamics(self.model, self._data, q, v, tau, J, gamma, 0.0))

    def configuration(self, coordinates: Array) -> Array:
        """Configuration of the model from the mechanism's joint coordinates (n,), shape (nq,)."""
        q = pin.neutral(self.model)
        for joint in self.joints:
            start = self.model.idx_qs[joint.index]
            for edge in joint.edges:
                values = np.asarray(coordinates)[list(edge.columns)]
                if not edge.group:
                    values = values[::-1] if joint.reversed else values
                    q[start : start + edge.freedoms] = values
                    start += edge.freedoms
                    continue
                pose = screw.exp(edge.screws @ values)
                pose = screw.inverse(pose) if joint.reversed else pose
                if edge.freedoms == 6:
                    q[start : start + 7] = pin.SE3ToXYZQUAT(pin.SE3(pose))
                else:
                    q[start : start + 4] = pin.Quaternion(pose[:3, :3]).coeffs()
        return np.asarray(q)

    def coordinates(self, q: Array) -> Array:
        """The mechanism's joint coordinates, those of the cuts included, shape (n,)."""
        result = np.zeros(self.reduction.freedoms)
        for joint in self.joints:
            start = self.model.idx_qs[joint.index]
            for edge in joint.edges:
                columns = list(edge.columns)
                if not edge.group:
                    values = q[start : start + edge.freedoms]
                    result[columns] = values[::-1] if joint.reversed else values
                    start += edge.freedoms
                    continue
                if edge.freedoms == 6:
                    pose = pin.XYZQUATToSE3(q[start : start + 7]).homogeneous
                else:
                    pose = np.eye(4)
                    pose[:3, :3] = pin.Quaternion(q[start : start + 4]).toRotationMatrix()
                pose = screw.inverse(pose) if joint.reversed else pose
                result[columns] = edge.screws.T @ screw.log(pose)
        pin.framesForwardKinematics(self.model, self._data, q)
        for frames in self._frames:
            edge = frames.cut.edge
            result[list(edge.columns)] = fit_joint(edge, self._relative_pose(frames))[1]
        return result

    def velocity_index(self, joint: str, freedom: int = 0) -> int:
        """Index in v, a and tau of a joint's freedom.

        Raises:
            UnsupportedExport: The joint is a cut, so the model has no coordinate for it.
        """
        for tree_joint in self.joints:
            start = self.model.idx_vs[tree_joint.index]
            edges = [e for e in tree_joint.edges if e.joint.name == joint]
            if not edges:
                continue
            columns = [c for e in tree_joint.edges for c in e.columns]
            first = min(
                c for e in self.reduction.graph.edges if e.joint.name == joint for c in e.columns
            )
            if tree_joint.reversed and not tree_joint.edges[0].group:
                columns = columns[::-1]
            return int(start + columns.index(first + freedom))
        raise UnsupportedExport(
            f"joint {joint!r} closes a loop and has no coordinate in the model; "
            "choose other cuts: reduce(mechanism, cuts=[...])"
        )

    def _relative_pose(self, frames: _RowFrames) -> Array:
        T_world_parent = self._data.oMf[frames.parent].homogeneous
        T_world_child = self._data.oMf[frames.child].homogeneous
        return np.asarray(screw.inverse(T_world_parent) @ T_world_child)

    def _closure_error(self, frames: _RowFrames) -> Array:
        """Twist in the cut frame that would close the loop's gap."""
        motion, _ = fit_joint(frames.cut.edge, self._relative_pose(frames))
        T_world_parent = self._data.oMf[frames.parent].homogeneous
        expected = T_world_parent @ motion
        error = screw.log(self._data.oMf[frames.child].homogeneous @ screw.inverse(expected))
        T_world_cut = self._data.oMf[frames.own].homogeneous
        return np.asarray(screw.adjoint(screw.inverse(T_world_cut)) @ error)

    def _relative_jacobian(self, frames: _RowFrames) -> Array:
        local = pin.ReferenceFrame.LOCAL
        cut = self._data.oMf[frames.own]
        jacobians = [
            cut.actInv(self._data.oMf[f]).toActionMatrix()
            @ pin.getFrameJacobian(self.model, self._data, f, local)
            for f in (frames.parent, frames.child)
        ]
        return np.asarray(jacobians[1] - jacobians[0])

    def _relative_bias(self, frames: _RowFrames) -> Array:
        r"""Rate of the relative twist seen from the cut frame.

        With the cut frame on body k, l the other body and all in the cut frame:
        :math:`\frac{d}{dt}(Ad\,v_l - v_k) = Ad\,a_l - a_k - [v_k, Ad\,v_l]`.
        """
        local = pin.ReferenceFrame.LOCAL
        cut = self._data.oMf[frames.own]
        v, a = [], []
        for f in (frames.parent, frames.child):
            to_cut = cut.actInv(self._data.oMf[f])
            v.append(to_cut.act(pin.getFrameVelocity(self.model, self._data, f, local)))
            a.append(to_cut.act(pin.getFrameAcceleration(self.model, self._data, f, local)))
        # The bracket changes its sign together with the roles of the two bodies.
        turn = v[0].cross(v[1])
        return np.asarray(a[1].vector - a[0].vector - turn.vector)

    def _coupled(self, coordinates: Array) -> Array:
        if not len(self._coupling):
            return np.zeros(0)
        return np.asarray(self._coupling @ coordinates - self._coupling_offset)

    def _coupling_rows(self) -> Array:
        rows = np.zeros((len(self._coupling), self.model.nv))
        for joint in self.joints:
            start = self.model.idx_vs[joint.index]
            columns = [c for e in joint.edges for c in e.columns]
            columns = columns[::-1] if joint.reversed else columns
            rows[:, start : start + len(columns)] = self._coupling[:, columns]
        return rows


def tree_robot(reduction: Reduction) -> Robot:
    """The spanning tree as a Pinocchio model with the kept rows."""
    builder = _Builder(reduction.graph, set(reduction.tree))
    frames = tuple(builder.row_frames(cut, i) for i, cut in enumerate(reduction.cuts))
    coupling, offset = _couplings(reduction)
    robot = Robot(
        model=builder.model,
        reduction=reduction,
        constraint_models=[],
        q0=np.zeros(0),
        joints=tuple(builder.joints),
        findings=tuple(builder.findings),
        _data=builder.model.createData(),
        _frames=frames,
        _coupling=coupling,
        _coupling_offset=offset,
    )
    object.__setattr__(robot, "q0", read_only(robot.configuration(reduction.q)))
    return robot


def to_pinocchio(reduction: Reduction, style: str = "rows") -> Robot:
    """A Pinocchio model with the reduced constraints.

    Args:
        reduction: From ``regularize.reduce``.
        style: ``rows``: the kept rows themselves, through ``Robot.jacobian``, ``Robot.bias`` and
            ``Robot.forward_dynamics``.

    Raises:
        UnsupportedExport: The style is unknown or cannot express the rows.
    """
    if style != "rows":
        raise UnsupportedExport(f"unknown style {style!r}; known: rows")
    return tree_robot(reduction)


def _couplings(reduction: Reduction) -> tuple[Array, Array]:
    """Coupling rows over all joint coordinates, and their right-hand sides."""
    graph = reduction.graph
    rows = np.zeros((len(graph.couplings), graph.freedoms))
    cut_columns = {c: cut.edge.name for cut in reduction.cuts for c in cut.edge.columns}
    for row, coupling in zip(rows, graph.couplings, strict=True):
        for column, coefficient in zip(coupling.columns, coupling.coefficients, strict=True):
            if column in cut_columns:
                raise UnsupportedExport(
                    f"coupling {coupling.name!r} acts on joint {cut_columns[column]!r}, which is "
                    "a cut and has no coordinate; choose other cuts: reduce(mechanism, cuts=[...])"
                )
            row[column] += coefficient
    return read_only(rows), read_only([c.offset for c in graph.couplings])


class _Builder:
    """Adds the joints of a spanning tree to a Pinocchio model, depth-first."""

    def __init__(self, graph: Graph, tree: set[int]) -> None:
        self.graph, self.tree = graph, tree
        self.model = pin.Model()
        self.model.name = graph.mechanism.name
        self.model.gravity.linear = np.array(graph.mechanism.gravity)
        self.joints: list[TreeJoint] = []
        self.findings: list[Diagnostic] = []
        self.place: dict[int, tuple[int, Array]] = {graph.ground: (0, np.eye(4))}
        self._add_bodies(graph.ground)
        self._descend(graph.ground)

    def _descend(self, root: int) -> None:
        """Visit nodes depth-first: Pinocchio's algorithms rely on that order."""
        stack = [(root, iter(self._downward(root)))]
        while stack:
            node, edges = stack[-1]
            edge = next(edges, None)
            if edge is None:
                stack.pop()
                continue
            child = self._add_joint(node, self._series(node, edge))
            self._add_bodies(child)
            stack.append((child, iter(self._downward(child))))

    def _downward(self, node: int) -> list[Edge]:
        return [
            self.graph.edges[e]
            for e in self.graph.adjacency[node]
            if e in self.tree and self.graph.edges[e].other(node) not in self.place
        ]

    def _series(self, node: int, edge: Edge) -> list[Edge]:
        """The edge with the following parts of the same joint, where they hang on each other."""
        series = [edge]
        while True:
            node = series[-1].other(node)
            following = [
                e
                for e in self._downward(node)
                if e.joint is edge.joint and e.index not in {s.index for s in series}
            ]
            if self.graph.members[node] or not following:
                return series
            series.append(following[0])

    def _add_joint(self, node: int, series: Sequence[Edge]) -> int:
        """Add one joint for a series of edges; returns the node at its end."""
        parent, T_joint_node = self.place[node]
        backwards = node == series[0].child
        first, last = series[0], series[-1]
        T_start = T_joint_node @ (first.T_child if backwards else first.T_parent)
        T_end = last.T_parent if backwards else last.T_child
        parts: list[tuple[Any, Array]] = []
        before = np.eye(4)
        for edge in series:
            steps, before = _elementary_models(edge, backwards, before)
            parts += steps
        placement = pin.SE3(T_start @ parts[0][1])
        if len(parts) == 1:
            joint_model = parts[0][0]
        else:
            joint_model = pin.JointModelComposite()
            joint_model.addJoint(parts[0][0])
            for part, T in parts[1:]:
                joint_model.addJoint(part, pin.SE3(T))
        whole = len(series) == sum(e.joint is first.joint for e in self.graph.edges)
        name = first.joint.name if whole else first.name
        index = self.model.addJoint(parent, joint_model, placement, name)
        self.model.addJointFrame(index)
        self.joints.append(TreeJoint(index, tuple(series), backwards))
        end = last.parent if backwards else last.child
        for edge in series:
            # Massless nodes inside the joint have no place of their own, but are passed.
            self.place[edge.parent if backwards else edge.child] = (index, IDENTITY)
        self.place[end] = (index, before @ screw.inverse(T_end))
        return end

    def _add_bodies(self, node: int) -> None:
        index, T_joint_node = self.place[node]
        for name in self.graph.members[node]:
            T = T_joint_node @ self.graph.T_node_body[name]
            body = self.graph.mechanism.body(name)
            if body.inertia is not None and index > 0:
                self.model.appendBodyToJoint(index, _inertia(body.inertia), pin.SE3(T))
            elif body.inertia is None and index > 0 and not self._massive(node):
                self.findings.append(
                    Diagnostic(
                        "REG303",
                        "note",
                        f"body `{name}` states no mass properties and moves without mass",
                        source=body.source,
                    )
                )
            self.model.addFrame(
                pin.Frame(self._unused(name), index, pin.SE3(T), pin.FrameType.BODY), False
            )

    def _massive(self, node: int) -> bool:
        return self.graph.inertia_known(node)

    def _unused(self, name: str) -> str:
        taken = {frame.name for frame in self.model.frames}
        return name if name not in taken else f"{name}/body"

    def row_frames(self, cut: Cut, i: int) -> _RowFrames:
        """Add the frames in which the rows of a cut are evaluated."""
        edge = cut.edge
        own = self._frame(f"cut {i} {edge.name}", cut.node, cut.T_node_frame)
        parent = self._frame(f"cut {i} {edge.name} parent", edge.parent, edge.T_parent)
        child = self._frame(f"cut {i} {edge.name} child", edge.child, edge.T_child)
        projection = cut.rows.T.copy()
        projection[:, :3] /= cut.length
        return _RowFrames(cut, own, parent, child, read_only(projection))

    def _frame(self, name: str, node: int, T_node_frame: Array) -> int:
        index, T_joint_node = self.place[node]
        frame = pin.Frame(name, index, pin.SE3(T_joint_node @ T_node_frame), pin.FrameType.OP_FRAME)
        return int(self.model.addFrame(frame))


def _inertia(inertia: Inertia) -> Any:
    return pin.Inertia(inertia.mass, np.array(inertia.center), np.array(inertia.matrix))


def _elementary_models(
    edge: Edge, backwards: bool, before: Array
) -> tuple[list[tuple[Any, Array]], Array]:
    """Pinocchio joint models of an edge, each with its placement after the one before.

    Args:
        edge: The elementary joint.
        backwards: Whether its motion is to be inverted.
        before: Placement accumulated since the last joint model, shape (4, 4).

    Returns:
        The models with placements, and the placement left over after the last one.
    """
    if edge.group:
        model = pin.JointModelFreeFlyer() if edge.freedoms == 6 else pin.JointModelSpherical()
        return [(model, before)], np.eye(4)
    order = range(edge.freedoms - 1, -1, -1) if backwards else range(edge.freedoms)
    models = []
    for k in order:
        direction, point, pitch = screw.axis_of(edge.screws[:, k])
        axis = -direction if backwards else direction
        # A joint model turns about its own origin: go to a point of the axis and back again.
        to_axis = screw.transform(None, point)
        letter = "P" if pitch is None else "R" if pitch == 0.0 else "H"
        models.append((_aligned(letter, axis, pitch or 0.0), before @ to_axis))
        before = screw.inverse(to_axis)
    return models, before


def _aligned(letter: str, axis: Array, pitch: float) -> Any:
    """The joint model about a coordinate axis where possible, else the one for any axis."""
    for name, e in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, e):
            model = getattr(pin, f"JointModel{letter}{name}")
            return model(pitch) if letter == "H" else model()
    general = {
        "R": "JointModelRevoluteUnaligned",
        "P": "JointModelPrismaticUnaligned",
        "H": "JointModelHelicalUnaligned",
    }[letter]
    return getattr(pin, general)(axis, pitch) if letter == "H" else getattr(pin, general)(axis)
