"""How a body can move at generic configurations: the velocities of its frame, and what varies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.assembly_modes.freedoms import clearest
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics, State
from regularize.manifold.projection import project
from regularize.manifold.tolerances import EXACT, Tolerances
from regularize.model.graph import Graph
from regularize.reduction.mobility import generic_configurations


def frames_of(graph: Graph, loops: LoopKinematics, state: State, body: str) -> Array:
    """BodyPose of a body's frame in the ground's frame, shape (N, 4, 4)."""
    node = graph.node_of[body]
    if node not in loops.nodes:
        return np.broadcast_to(graph.T_node_body[body], (len(state.q), 4, 4))
    posed = state.T_world_node[:, loops.row(node)] @ graph.T_node_body[body]
    return np.asarray(screw.inverse(graph.T_node_body[graph.mechanism.ground]) @ posed)


def body_jacobian(graph: Graph, loops: LoopKinematics, state: State, body: str) -> Array:
    """Twists of a body about the centre of the loops, lengths scaled, shape (N, 6, n)."""
    signs = np.zeros(loops.freedoms)
    for edge, sign in loops.path_to_root(graph.node_of[body]):
        signs[loops.local(edge)] = sign
    return np.swapaxes(loops.scaled(state.screws), -1, -2) * signs


def generic_samples(loops: LoopKinematics) -> Array:
    """Closed configurations met on walks, the stored one first, shape (N, n)."""
    stored = project(loops, loops.graph.position[None], steps=30).q
    rng = np.random.default_rng(0)
    walked = generic_configurations(loops, stored[0], Tolerances.of(), rng=rng)
    return np.concatenate([stored, walked.reshape(-1, loops.freedoms)])


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """How a body moves: sampled on walks from the stored configuration.

    Attributes:
        graph: The mechanism's graph.
        body: Name of the body.
    """

    graph: Graph
    body: str

    @cached_property
    def loops(self) -> LoopKinematics:
        """Kinematics of all joints."""
        return sized_loops(self.graph, self.graph.position)

    @cached_property
    def samples(self) -> Array:
        """Closed configurations, the stored one first, shape (N, n)."""
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
        """Whether the frame moves along X, Y, Z of the ground and turns about X, Y, Z, (6,).

        A frame that turns about slanting or several axes turns about all three.
        """
        moves = np.max(np.abs(self.twists), axis=(0, 2)) > EXACT.same
        if np.sum(moves[3:]) > 1:
            moves[3:] = True
        return tuple(map(bool, moves))

    @cached_property
    def clearest_twists(self) -> Array:
        """The twists of the sample at which they are most independent, shape (6, k)."""
        sizes = np.linalg.svd(self.twists, compute_uv=False)
        return np.asarray(self.twists[int(np.argmax(sizes[:, self.freedoms - 1]))])
