r"""Which joint reactions the model determines, and which it leaves open.

In equilibrium the wrenches in the joints of a loop may be changed by a wrench that circulates
around it, as long as no joint has a freedom that would give way. Such *self-stress* states form the
left null space of the loops' closure equations; their number is the number of redundant equations.
A reaction is unique exactly where no self-stress state has a component (Wojtyra 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie.directions import Direction, directions
from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import EdgeId, NodeId
from regularize.reduction.mobility import decide_rank
from regularize.reduction.reduce import Reduction


@dataclass(frozen=True, eq=False)
class Reaction:
    """What is known of the wrench that a joint transmits.

    Attributes:
        joint: Name of the joint.
        indeterminate: Directions in which self-stress is possible, about the joint's origin, ground
            axes; empty where the reaction is unique.
    """

    joint: str
    indeterminate: tuple[Direction, ...]

    @property
    def unique(self) -> bool:
        """Whether the model determines the whole reaction."""
        return not self.indeterminate


def self_stress(loops: LoopKinematics, q: Array, rtol: float) -> Array:
    """Basis of the circulating wrenches at a configuration, shape (6 L + C, states).

    Rows are covectors of the twists of ``LoopKinematics.jacobian``.
    """
    jacobian = loops.jacobian(loops.state(q[None]))[0] * loops.units
    u, s, _ = np.linalg.svd(jacobian, full_matrices=True)
    return np.asarray(u[:, decide_rank(s, rtol).rank :])


def reactions(reduction: Reduction) -> tuple[Reaction, ...]:
    """Uniqueness of every joint's reaction, at the assembled pose unless that is singular."""
    graph = reduction.graph
    found: dict[str, tuple[Direction, ...]] = {}
    for cell in reduction.cells:
        loops = sized_loops(graph, reduction.q, cell.edges, reduction.tree)
        q = reduction.q[loops.columns]
        singular = cell.here.rank < cell.generic.rank
        at = cell.configurations[-1] if singular else q
        stress = self_stress(loops, at, reduction.rtol)
        for e in cell.edges:
            edge = graph.edges[e]
            through = _through(loops, e, stress)
            if np.max(np.abs(through), initial=0.0) < 1e-6:
                continue
            T_world = reduction.reference.T_world_node[0, reduction.loops.row(edge.parent)]
            root = reduction.reference.T_world_node[
                0, reduction.loops.row(_root(loops, edge.parent))
            ]
            origin = (T_world @ edge.T_parent)[:3, 3]
            center = root[:3, :3] @ loops.center + root[:3, 3]
            force = root[:3, :3] @ through[:3]
            # The covector was taken about the centre of the cell with scaled lengths.
            moment = root[:3, :3] @ through[3:] + np.cross(
                (center - origin) / loops.length, force, axisb=0, axisc=0
            )
            found[edge.joint.name] = tuple(directions(np.vstack([force, moment])))
    return tuple(
        Reaction(joint.name, found.get(joint.name, ()))
        for joint in graph.mechanism.joints
        if joint.kind != "fixed" or joint.closure
    )


def _root(loops: LoopKinematics, node: NodeId) -> NodeId:
    path = loops.path_to_root(node)
    for e, _ in path:
        node = loops.graph.edges[e].other(node)
    return node


def _through(loops: LoopKinematics, e: EdgeId, stress: Array) -> Array:
    """Wrench of each self-stress state in one joint, shape (6, states)."""
    signs = loops.edge_incidence[:, loops.edges.index(e)]
    wrenches = stress[: 6 * len(signs)].reshape(len(signs), 6, stress.shape[1])
    return np.asarray(np.einsum("l,lik->ik", signs, wrenches))
