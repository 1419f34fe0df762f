"""Whether a proof is about a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.loops.assembly import assemble
from regularize.loops.kinematics import LoopKinematics, center_and_length
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism
from regularize.proofs.verifier import Verdict, distance, shown
from regularize.tolerances import EXACT, RTOL


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
    blocks = {graph.edges[e].name: block for block in graph.blocks for e in block}
    for entry in document["undecided"]:
        if not blocks.keys() >= {*entry["cuts"]}:
            return _refused(verdict, "what is undecided is of no joint in a loop of the model")
    for part in (*document["parts"], *document["bounds"]):
        joints = [joint for joint in part["joints"] if not joint.get("virtual")]
        for joint in joints:
            edge = edges.get(joint["name"])
            if edge is None or edge.name not in blocks:
                return _refused(verdict, f"the model has no joint {shown(joint['name'])} in a loop")
            bodies = [graph.nodes[edge.parent], graph.nodes[edge.child]]
            if bodies != joint["bodies"]:
                return _refused(verdict, f"{edge.name} joins {bodies}, not {joint['bodies']}")
        unit, origin = float(part["unit_m"]), np.array(part["origin_m"], dtype=float)
        if unit <= 0.0:
            return _refused(verdict, "unit_m is no length")
        own = [edges[joint["name"]].index for joint in joints]
        # Of a few loops of several a bound would be true, and be read as one of all of them.
        if "inverse" in part and {*own} != {e for name in joints[:1] for e in blocks[name["name"]]}:
            return _refused(verdict, "a bound leaves out joints that share loops with its own")
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
