"""Whether a proof is about a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.manifold.assembly import assemble
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import spanning_tree
from regularize.model.graph_building import build
from regularize.model.mechanism import Mechanism
from regularize.proofs.verifier import Verdict


def match(document: dict[str, Any], verdict: Verdict, mechanism: Mechanism) -> Verdict:
    """The verdict on a proof as one about a model.

    Args:
        document: The proof.
        verdict: What ``verify`` says of it.
        mechanism: The model.

    Returns:
        The verdict, or that the proof does not hold because its joints are not the model's.
    """
    graph = build(mechanism)
    loops = LoopKinematics(graph, graph.every_edge, spanning_tree(graph))
    state = loops.state(assemble(graph).q)
    edges = {edge.name: edge for edge in graph.edges}
    in_loops = {graph.edges[e].name for block in graph.blocks for e in block}
    for part in (*document["parts"], *document["bounds"]):
        measured = loops.measured(part["unit_m"], np.array(part["origin_m"]))
        for joint in (joint for joint in part["joints"] if not joint.get("virtual")):
            edge = edges.get(joint["name"])
            if edge is None or edge.name not in in_loops:
                return _refused(verdict, f"the model has no joint {joint['name']} in a loop")
            bodies = [graph.nodes[edge.parent], graph.nodes[edge.child]]
            if bodies != joint["bodies"]:
                return _refused(verdict, f"{edge.name} joins {bodies}, not {joint['bodies']}")
            own = loops.local(edge.index)
            # Screws of slides are of order one, whatever the unit of length is.
            screws = measured.scaled(state.screws[0, own]) * measured.units[own][:, None]
            stated = np.array(joint["written"]).reshape(-1, 6)
            if (
                stated.shape != screws.shape
                or np.abs(stated - screws).max(initial=0.0) > EXACT.same
            ):
                return _refused(verdict, f"{edge.name} stands elsewhere in the model")
    return verdict


def _refused(verdict: Verdict, reason: str) -> Verdict:
    return verdict._replace(holds=False, claims=(), assumptions=(), reason=reason)
