"""Whether a proof is about a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from regularize.lie.subalgebra import RTOL
from regularize.manifold.assembly import assemble
from regularize.manifold.extent import center_and_length
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.tolerances import EXACT
from regularize.model.graph_building import build
from regularize.model.mechanism import Mechanism
from regularize.proofs.verifier import Verdict, distance


def match(
    document: dict[str, Any], verdict: Verdict, mechanism: Mechanism, rtol: float = RTOL
) -> Verdict:
    """The verdict on a proof as one about a model.

    Args:
        document: The proof.
        verdict: What ``verify`` says of it.
        mechanism: The model.
        rtol: How far the model may be from what is proved of exact joints, radians and parts of
            its size.

    Returns:
        The verdict, or that the proof does not hold because its joints are not the model's.
    """
    graph = build(mechanism)
    loops = LoopKinematics(graph, graph.every_edge, graph.tree)
    state = loops.state(assemble(graph).q)
    edges = {edge.name: edge for edge in graph.edges}
    in_loops = {graph.edges[e].name for block in graph.blocks for e in block}
    for part in (*document["parts"], *document["bounds"]):
        joints = [joint for joint in part["joints"] if not joint.get("virtual")]
        for joint in joints:
            edge = edges.get(joint["name"])
            if edge is None or edge.name not in in_loops:
                return _refused(verdict, f"the model has no joint {joint['name']} in a loop")
            bodies = [graph.nodes[edge.parent], graph.nodes[edge.child]]
            if bodies != joint["bodies"]:
                return _refused(verdict, f"{edge.name} joins {bodies}, not {joint['bodies']}")
        try:
            unit, origin = float(part["unit_m"]), np.array(part["origin_m"], dtype=float)
        except (LookupError, TypeError, ValueError):
            unit, origin = math.nan, np.zeros(3)
        if not 0.0 < unit < math.inf or origin.shape != (3,) or not np.isfinite(origin).all():
            return _refused(verdict, "unit_m or origin_m is no length or no point")
        own = [edges[joint["name"]].index for joint in joints]
        # Of a large unit of length small parts cannot be told apart: their own size counts.
        larger = max(1.0, unit / center_and_length(loops, state, own)[1])
        measured = loops.measured(unit, origin)
        for joint in joints:
            edge = edges[joint["name"]]
            local = loops.local(edge.index)
            # Screws of slides are of order one, whatever the unit of length is.
            screws = measured.scaled(state.screws[0, local]) * measured.units[local][:, None]
            stated = np.array(joint["written"], dtype=float).reshape(-1, 6)
            same = stated.shape == screws.shape
            if not (same and np.abs(stated - screws).max(initial=0.0) * larger <= EXACT.same):
                return _refused(verdict, f"{edge.name} stands elsewhere in the model")
            space = tuple(tuple(int(x) for x in row) for row in joint.get("space", ()))
            off = max((distance(row, space) for row in joint["written"]), default=0.0) * larger
            if space and not off <= max(10.0 * EXACT.same, rtol):
                reason = f"{edge.name} is proved for another joint, off by {off:.0e} of the size"
                return _refused(verdict, reason)
    return verdict


def _refused(verdict: Verdict, reason: str) -> Verdict:
    return verdict._replace(holds=False, claims=(), assumptions=(), reason=reason)
