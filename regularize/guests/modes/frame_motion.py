"""Poses of bodies in configurations, and how a body can move at generic ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.grouping import labels_of, table_of
from regularize.guests.modes.inputs import clearest, node_of
from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Indices, Jacobian, Transform, read_only
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.loops.projection import in_parts, project
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.mechanism.named_columns import NamedColumns, ShortRepr, coordinate_columns
from regularize.reduction.mobility import generic_configurations
from regularize.tolerances import EXACT, Tolerances


def frames_of(graph: Graph, loops: LoopKinematics, state: State, body: str) -> Transform:
    """Return a body's frame seen from the ground's at N configurations."""
    node = graph.node_of[body]
    if node not in loops.nodes:
        return np.broadcast_to(graph.T_node_body[body], (len(state.q), 4, 4))
    posed = state.T_world_node[:, loops.row(node)] @ graph.T_node_body[body]
    return np.asarray(screw.inverse(graph.T_node_body[graph.mechanism.ground]) @ posed)


def body_jacobian(graph: Graph, loops: LoopKinematics, state: State, body: str) -> Jacobian:
    """Return twists of a body about the centre of the loops, lengths scaled, shape (N, 6, n)."""
    signs = np.zeros(loops.freedoms)
    for edge, sign in loops.path_to_root(graph.node_of[body]):
        signs[loops.local(edge)] = sign
    return np.swapaxes(loops.scaled(state.screws), -1, -2) * signs


def generic_samples(loops: LoopKinematics) -> Coordinates:
    """Return closed configurations met on walks, the stored one first."""
    stored = project(loops, loops.graph.position[None], steps=30).q
    rng = np.random.default_rng(0)
    walked = generic_configurations(loops, stored[0], Tolerances.of(), rng=rng)
    return np.concatenate([stored, walked.reshape(-1, loops.freedoms)])


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """How a body moves: sampled on walks from the stored configuration."""

    graph: Graph
    body: str

    @cached_property
    def loops(self) -> LoopKinematics:
        """Kinematics of all joints."""
        return sized_loops(self.graph, self.graph.position)

    @cached_property
    def samples(self) -> Coordinates:
        """Closed configurations, the stored one first."""
        return generic_samples(self.loops)

    @cached_property
    def twists(self) -> Array:
        """Velocities of the body's frame, lengths scaled, spanned by columns, shape (N, 6, k)."""
        state = self.loops.state(self.samples)
        _, motions = clearest(self.loops, self.samples, EXACT.same)
        jacobian = self.loops.jacobian(state) * self.loops.units
        _, _, vectors = np.linalg.svd(jacobian)
        free = np.swapaxes(vectors[:, self.loops.freedoms - motions.shape[1] :], 1, 2)
        jacobian = body_jacobian(self.graph, self.loops, state, self.body) * self.loops.units
        twists = jacobian @ free
        origin = frames_of(self.graph, self.loops, state, self.body)[:, :3, 3]
        arm = (origin - self.loops.center) / self.loops.length
        turning = np.swapaxes(twists[:, 3:], 1, 2)
        carried = np.swapaxes(screw.cross(turning, arm[:, None]), 1, 2)
        return np.concatenate([twists[:, :3] + carried, twists[:, 3:]], axis=1)

    @cached_property
    def freedoms(self) -> int:
        """Number of independent velocities of the body at a generic configuration."""
        return int(np.max(np.linalg.matrix_rank(self.twists, tol=EXACT.same)))

    @cached_property
    def varying(self) -> tuple[bool, ...]:
        """Whether the frame moves along X, Y, Z of the ground and turns about X, Y, Z, (6,)."""
        moves = np.max(np.abs(self.twists), axis=(0, 2)) > EXACT.same
        if np.sum(moves[3:]) > 1:  # about slanting or several axes: about all three
            moves[3:] = True
        return tuple(map(bool, moves))

    @cached_property
    def clearest_twists(self) -> Array:
        """The twists of the sample at which they are most independent, shape (6, k)."""
        sizes = np.linalg.svd(self.twists, compute_uv=False)
        return np.asarray(self.twists[int(np.argmax(sizes[:, self.freedoms - 1]))])


@dataclass(frozen=True, eq=False, repr=False)
class DistinctPoses(ShortRepr):
    """The different poses of one body among several configurations.

    Attributes:
        T: Poses in the ground's frame, filled up with NaN, shape (..., poses, 4, 4).
        group: Which of them each configuration has, -1 where there is none, (..., solutions).
        counts: Number of different poses, shape (...).
    """

    T: Transform
    group: Indices
    counts: Indices


class Configurations(NamedColumns):
    """Coordinates of all joints in ``q``, shape (..., solutions, n), of the ``graph``."""

    graph: Graph
    q: Coordinates

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every coordinate, shape (n,)."""
        return coordinate_names(self.graph.mechanism)

    @property
    def axes(self) -> Sequence[str]:
        """The last axis tells the solutions apart."""
        return ("solution",)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every coordinate by its name, radians and metres, shape (..., solutions) each."""
        return coordinate_columns(self.names, self.q)

    def pose(self, body: str) -> Transform:
        """Return a body's frame seen from the ground's, shape (..., solutions, 4, 4).

        Raises:
            ModelError: There is no such body.
        """
        graph = self.graph
        node_of(graph, body)
        loops = sized_loops(graph, graph.position)
        flat = self.q.reshape(-1, self.q.shape[-1])
        frames = np.full((len(flat), 4, 4), np.nan)
        known = np.flatnonzero(np.isfinite(flat).all(axis=1))
        frames[known] = in_parts(
            lambda q: frames_of(graph, loops, loops.state(q), body), flat[known]
        )
        return read_only(frames.reshape(*self.q.shape[:-1], 4, 4))

    def poses(self, body: str) -> DistinctPoses:
        """Return the different poses of a body: many ways to assemble may lead to one of them.

        Raises:
            ModelError: There is no such body.
        """
        T = self.pose(body)
        shape, most = T.shape[:-3], T.shape[-3]
        flat = T[..., :3, :].reshape(-1, 12)
        known = np.flatnonzero(np.isfinite(flat).all(axis=1))
        rows = known // max(1, most)
        length = sized_loops(self.graph, self.graph.position).length
        scaled = flat[known] * np.where(np.arange(12) % 4 == 3, 1.0 / length, 1.0)
        label = labels_of(rows, scaled, EXACT.same)
        first = np.flatnonzero(label == np.arange(len(label)))
        samples = int(np.prod(shape, dtype=int))
        counts = np.bincount(rows[first], minlength=samples)
        number = np.zeros(len(label), dtype=np.intp)
        number[first] = np.arange(len(first)) - (np.cumsum(counts) - counts)[rows[first]]
        group = np.full(len(flat), -1, dtype=np.intp)
        group[known] = number[label]
        distinct = table_of(rows[first], T.reshape(-1, 4, 4)[known[first]], samples)
        return DistinctPoses(
            read_only(distinct.reshape(*shape, *distinct.shape[1:])),
            group.reshape(*shape, most),
            counts.reshape(shape).astype(np.intp),
        )
