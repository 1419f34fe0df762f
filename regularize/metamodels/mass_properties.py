"""Mass properties of the moving bodies in the world, vectorised over configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from regularize.lie.screw import Array, read_only
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import Graph
from regularize.model.mechanism import Inertia
from regularize.statics.equilibrium import node_incidence


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties of all nodes that move and have some.

    Attributes:
        rows: Positions of the nodes in ``State.T_world_node``, shape (b,).
        mass: Masses in kilograms, shape (b,).
        center: Centres of mass in the nodes' frames in metres, shape (b, 3).
        matrix: Rotational inertias about the centres, nodes' axes, kg m², shape (b, 3, 3).
        incidence: Sign with which each coordinate moves each node, shape (b, n).
        missing: Names of moving nodes without stated mass properties.
    """

    rows: tuple[int, ...]
    mass: Array
    center: Array
    matrix: Array
    incidence: Array
    missing: tuple[str, ...]

    def in_world(self, T_world_node: Array) -> tuple[Array, Array]:
        """Centres (N, b, 3) and rotational inertias (N, b, 3, 3) in world axes."""
        T = T_world_node[:, list(self.rows)]
        R = T[..., :3, :3]
        center = (R @ self.center[..., None])[..., 0] + T[..., :3, 3]
        return center, R @ self.matrix @ np.swapaxes(R, -1, -2)


def mass_properties(
    loops: LoopKinematics, payloads: Mapping[str, Inertia] = MappingProxyType({})
) -> MassProperties:
    """Mass properties of the nodes that the loops' tree moves, with what bodies carry beside.

    Raises:
        ModelError: There is no body of such a name.
    """
    graph = loops.graph
    loaded = {graph.node_of[graph.mechanism.body(name).name] for name in payloads}
    nodes = [
        n for n in loops.nodes if n != graph.ground and (graph.inertia_known(n) or n in loaded)
    ]
    inertias = [_node_inertia(graph, n, payloads) for n in nodes]
    rows = tuple(loops.row(n) for n in nodes)
    return MassProperties(
        rows=rows,
        mass=read_only([i.mass for i in inertias]),
        center=read_only(np.array([i.center for i in inertias]).reshape(-1, 3)),
        matrix=read_only(np.array([i.matrix for i in inertias]).reshape(-1, 3, 3)),
        incidence=read_only(node_incidence(loops)[list(rows)]),
        missing=tuple(
            graph.nodes[n]
            for n in loops.nodes
            if n != graph.ground and graph.members[n] and n not in nodes
        ),
    )


def _node_inertia(graph: Graph, node: int, payloads: Mapping[str, Inertia]) -> Inertia:
    """Mass properties of all bodies of a node, in the node's frame."""
    parts = []
    for name in graph.members[node]:
        for inertia in (graph.mechanism.body(name).inertia, payloads.get(name)):
            if inertia is not None:
                parts.append(inertia.transformed(graph.T_node_body[name]))
    return Inertia.total(parts)
