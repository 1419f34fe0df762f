"""Mass properties of the bodies that loops move, as an equation of motion needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Transform, read_only
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.body import Inertia


@dataclass(frozen=True, eq=False)
class MovingMasses:
    """Mass properties of the b nodes of the graph that move and have some."""

    rows: tuple[int, ...]  # positions of the nodes in ``State.T_world_node``
    spatial: Array  # spatial inertias about the nodes' origins, nodes' axes, shape (b, 6, 6)
    incidence: Array  # sign with which each coordinate moves each node, shape (b, n)
    missing: tuple[str, ...]  # names of moving nodes without stated mass properties

    @classmethod
    def of(cls, loops: LoopKinematics, payloads: Mapping[str, Inertia]) -> MovingMasses:
        """Collect the inertias of the nodes that the loops' tree moves, payloads by body added."""
        graph = loops.graph
        loaded = {graph.node_of[graph.mechanism.body(name).name] for name in payloads}
        moving = [n for n in loops.nodes if n != graph.ground]
        nodes = [n for n in moving if graph.inertia_known(n) or n in loaded]
        spatial = np.zeros((len(nodes), 6, 6))
        for matrix, node in zip(spatial, nodes, strict=True):
            for name in graph.members[node]:
                for inertia in (graph.mechanism.body(name).inertia, payloads.get(name)):
                    if inertia is not None:
                        matrix += inertia.transformed(graph.T_node_body[name]).spatial
        rows = tuple(loops.row(n) for n in nodes)
        missing = tuple(graph.nodes[n] for n in moving if graph.members[n] and n not in nodes)
        return cls(rows, read_only(spatial), read_only(loops.movers[list(rows)]), missing)

    def in_world(self, T_world_node: Transform) -> Array:
        """Return the spatial inertias about the world's origin in its axes, (N, b, 6, 6)."""
        X = screw.adjoint(screw.inverse(T_world_node[:, list(self.rows)]))
        return np.asarray(np.swapaxes(X, -1, -2) @ self.spatial @ X)
