"""What is known of one loop, in the user's names and in metres."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize import subalgebra
from regularize.analysis import Part, Reduction
from regularize.classification import loop_algebra
from regularize.directions import Direction, directions
from regularize.nearly import in_world
from regularize.reduction import Cut
from regularize.screw import Array
from regularize.subalgebra import MotionType


@dataclass(frozen=True, eq=False)
class LoopReport:
    """One loop and what became of its constraint equations.

    Attributes:
        name: ``L1``, ``L2``, … in the order of the cuts.
        part: The biconnected part that it belongs to.
        cut: Its closing joint with the rows that are kept.
        joints: Names of its joints in walking order, the cut last.
        bodies: Names of its bodies; ``bodies[i]`` comes before ``joints[i]``.
        category: ``trivial``, ``exceptional``, ``topological``, ``paradoxical`` or ``regular``.
        motion: Motion algebra that its joints generate, world frame.
        point: Point about which directions are given, world frame in metres, shape (3,).
        removed: Directions that can never matter, about ``point``, axes of the ground.
        kept: Directions that are kept, likewise.
        free: Freedoms of the closing joint, likewise.
        singular_values: Of the constraint rows on the space of relative twists.
        locked: Names of its joints that can never move.
    """

    name: str
    part: Part
    cut: Cut
    joints: tuple[str, ...]
    bodies: tuple[str, ...]
    category: str
    motion: MotionType
    point: Array
    removed: tuple[Direction, ...]
    kept: tuple[Direction, ...]
    free: tuple[Direction, ...]
    singular_values: Array
    locked: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``loops`` in the JSON report."""
        return {
            "name": self.name,
            "joints": list(self.joints),
            "cut": self.cut.edge.joint.name,
            "class": self.category,
            "motion_algebra": self.motion.as_dict(),
            "constraints": self.cut.constraints,
            "kept": self.cut.kept,
            "removed": self.cut.constraints - self.cut.kept,
            "singular_values": [float(s) for s in self.singular_values],
            "point": [float(x) for x in self.point],
            "removed_directions": [
                {
                    "label": d.words("translation", "rotation") + " of the ground",
                    "covector": [float(x) + 0.0 for x in np.round(d.covector, 12)],
                }
                for d in self.removed
            ],
            "locked": list(self.locked),
        }


def _from_cut(cut: Cut, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Entries of a cycle turned so that the cut comes last."""
    position = cut.cycle.edges.index(cut.edge.index) + 1
    return (*values[position:], *values[:position])


def loop_reports(reduction: Reduction) -> Iterator[LoopReport]:
    """All loops, in the order of the cuts."""
    part_of = {cut.edge.index: part for part in reduction.parts for cut in part.cuts}
    for number, cut in enumerate(reduction.cuts, start=1):
        yield _loop_report(reduction, part_of[cut.edge.index], cut, f"L{number}")


def _loop_report(reduction: Reduction, part: Part, cut: Cut, name: str) -> LoopReport:
    graph = reduction.graph
    edges = _from_cut(cut, cut.cycle.edges)
    nodes = _from_cut(cut, cut.cycle.nodes)
    algebra = loop_algebra(part.screws, cut.cycle, reduction.rtol)
    motion = in_world(subalgebra.motion_type(algebra, reduction.rtol), part.center, part.length)
    T_world = reduction.reference.T_world_node[0, reduction.loops.row(cut.edge.parent)]
    point = motion.point if motion.name == "spherical" else (T_world @ cut.edge.T_parent)[:3, 3]
    assert point is not None
    space = np.hstack([cut.rows, cut.freedoms])
    joint_rows = subalgebra.complement(cut.freedoms)
    singular = np.zeros(joint_rows.shape[1])
    found = np.linalg.svd(joint_rows.T @ space, compute_uv=False)
    singular[: len(found)] = found[: len(singular)]
    removed = np.hstack([cut.removed, cut.thinned, cut.numerical])
    # Any covector that ignores the joint's freedoms may be shown for a kept one, up to removed ones;
    # taking them at the joint itself gives the simplest words.
    free = _twists_about(part, point) @ cut.freedoms
    never = subalgebra.span(_about(part, point) @ removed)
    kept = subalgebra.complement(np.hstack([subalgebra.span(free), never]))
    return LoopReport(
        name=name,
        part=part,
        cut=cut,
        joints=tuple(graph.edges[e].joint.name for e in edges),
        bodies=tuple(graph.nodes[n] for n in nodes),
        category=_category(reduction, part, cut, algebra),
        motion=motion,
        point=point,
        removed=tuple(directions(never)),
        kept=tuple(directions(kept)),
        free=tuple(directions(free)),
        singular_values=singular,
        locked=tuple(dict.fromkeys(graph.edges[e].joint.name for e in edges if e in part.locked)),
    )


def _about(part: Part, point: Array) -> Array:
    """Matrix that takes covectors of a part to the given point, ground axes, scaled lengths."""
    offset = (part.center - point) / part.length
    matrix = np.eye(6)
    matrix[3:, :3] = np.array(
        [[0, -offset[2], offset[1]], [offset[2], 0, -offset[0]], [-offset[1], offset[0], 0]]
    )
    return matrix


def _twists_about(part: Part, point: Array) -> Array:
    """The same for twists."""
    return np.asarray(np.linalg.inv(_about(part, point)).T)


def _category(reduction: Reduction, part: Part, cut: Cut, algebra: Array) -> str:
    removed = cut.constraints - cut.kept
    if removed:
        return "trivial" if removed <= 6 - algebra.shape[1] else "exceptional"
    left = part.dimension - part.rank
    if left <= 0 or not part.proved:
        return "regular"
    return "topological" if part.topological >= left else "paradoxical"
