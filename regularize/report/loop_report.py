"""What is known of one loop, in the user's names and in metres."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import GeneratedAlgebra, MotionType
from regularize.mechanism.graph import EdgeId, Graph, NodeId
from regularize.mechanism.joint import Joint
from regularize.mechanism.named_columns import ShortRepr
from regularize.proofs.special import SpecialLengths
from regularize.reduction.block import Block
from regularize.reduction.classification import loop_algebra
from regularize.reduction.cuts import Cut
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.proposals import designed
from regularize.report.nearly import in_world
from regularize.report.reasons import FixingChain, causes
from regularize.words import Direction, directions


@dataclass(frozen=True, eq=False)
class Equation:
    """One constraint equation of a closing joint."""

    direction: Direction
    residual: float
    fixed_by: tuple[FixingChain, ...] = ()
    claim: str = ""

    @property
    def label(self) -> str:
        """Return the direction of the equation in words, such as ``translation along Y``."""
        return self.direction.words("translation", "rotation")


@dataclass(frozen=True, eq=False, repr=False)
class LoopReport(ShortRepr):
    """A loop of joints, its closing joint, and which equations of that are redundant."""

    name: str
    component: str
    part: Block
    cut: Cut
    joints: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]  # of each body those that joints of the loop join
    category: str
    motion: MotionType
    point: Array
    locked: tuple[str, ...]
    interchangeable: tuple[str, ...]
    limits: tuple[str, ...]
    error: Array
    chain: tuple[EdgeId, ...]
    special: bool
    reduction: Reduction

    @cached_property
    def _to_point(self) -> Array:
        """Return the matrix that takes covectors of the part to the loop's point."""
        matrix = np.eye(6)
        matrix[3:, :3] = screw.cross_matrix((self.part.center - self.point) / self.part.length)
        return matrix

    @cached_property
    def _redundant_span(self) -> Array:
        """Return a basis of the covectors that can never matter, at the point, shape (6, k)."""
        cut = self.cut
        return subalgebra.span(
            self._to_point @ np.hstack([cut.removed, cut.thinned, cut.numerical])
        )

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the equations that can never matter, in words."""
        return tuple(Equation(d, 0.0).label for d in directions(self._redundant_span))

    @cached_property
    def removed(self) -> tuple[Equation, ...]:
        """Return the redundant equations with the joints and proof steps behind each."""
        equations, steps = [], _proof_steps(self.part, self.cut, self.special)
        from_point = 2.0 * np.eye(6) - self._to_point
        graph, rtol = self.reduction.graph, self.reduction.tolerances.rtol
        for direction in directions(self._redundant_span):
            covector = screw.unit(from_point @ direction.covector)
            why = causes(graph, self.part, self.cut, self.chain, covector, rtol)
            claim = next(
                (step for step, shown in steps if subalgebra.contains(shown, covector[:, None])), ""
            )
            equations.append(Equation(direction, self._residual(direction), why, claim))
        return tuple(equations)

    @cached_property
    def kept(self) -> tuple[Equation, ...]:
        """Return the equations that are kept."""
        # Any covector that ignores the joint's freedoms may be shown for a kept one, up to removed
        # ones; taking them at the joint itself gives the simplest words.
        kept = subalgebra.complement(
            np.hstack([subalgebra.span(self._freedoms), self._redundant_span])
        )
        return tuple(Equation(d, self._residual(d)) for d in directions(kept))

    @property
    def free(self) -> tuple[Direction, ...]:
        """Return the freedoms of the closing joint."""
        return tuple(directions(self._freedoms))

    @property
    def _freedoms(self) -> Array:
        """Return the freedoms of the closing joint at the point."""
        return np.asarray((2.0 * np.eye(6) - self._to_point).T @ self.cut.freedoms)

    def _residual(self, direction: Direction) -> float:
        """Return the closure error along a direction: metres if it is linear, else radians."""
        error, length = self.error, self.part.length
        scaled = error if direction.kind == "linear" else np.append(error[:3] / length, error[3:])
        return float(abs(direction.covector @ scaled))

    @property
    def singular_values(self) -> Array:
        """Return singular values of the constraint rows on the space of relative twists."""
        joint_rows = subalgebra.complement(self.cut.freedoms)
        values = np.zeros(joint_rows.shape[1])
        space = np.hstack([self.cut.rows, self.cut.freedoms])
        computed = np.linalg.svd(joint_rows.T @ space, compute_uv=False)
        values[: len(computed)] = computed[: len(values)]
        return values

    @property
    def gap(self) -> Array | None:
        """Return the closure error of an open loop as a twist at the point, ground axes (6,)."""
        return self.error if self.category == "open" else None

    @property
    def closing(self) -> str:
        """Return the name of the closing joint."""
        return self.cut.edge.joint.name

    @property
    def claims(self) -> tuple[str, ...]:
        """Return the steps of the proof document that the removed equations rest on."""
        steps = dict.fromkeys(equation.claim for equation in self.removed if equation.claim)
        return (*steps, *self.limits) if steps else ()

    @property
    def redundant(self) -> int:
        """Return the number of redundant equations."""
        return self.cut.constraints - self.cut.kept

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``loops`` in the JSON report."""
        return {
            "name": self.name,
            "component": self.component,
            "joints": list(self.joints),
            "bodies": [parts[0] for parts in self.parts],
            "cut": self.closing,
            "class": None if self.category == "open" else self.category,
            "gap": None
            if self.gap is None
            else {"translation_m": self.gap[:3].tolist(), "rotation_rad": self.gap[3:].tolist()},
            "motion_algebra": self.motion.as_dict(),
            "constraints": self.cut.constraints,
            "kept": self.cut.kept,
            "removed": self.redundant,
            "singular_values": [float(s) for s in self.singular_values],
            "point": [float(x) for x in self.point],
            "removed_directions": [
                _equation(e)
                | {"fixed_by": [list(chain.joints) for chain in e.fixed_by], "claim": e.claim}
                for e in self.removed
            ],
            "claims": list(self.claims),
            "kept_directions": [_equation(e) for e in self.kept],
            "interchangeable": list(self.interchangeable),
            "locked": list(self.locked),
        }


def _equation(equation: Equation) -> dict[str, Any]:
    return {
        "label": equation.label + " of the ground",
        "covector": [float(x) + 0.0 for x in np.round(equation.direction.covector, 12)],
        "residual": equation.residual,
    }


def _cut_last(cut: Cut, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Rotate the entries of a cycle so that the cut comes last."""
    position = cut.cycle.edges.index(cut.edge.index) + 1
    return (*values[position:], *values[:position])


def loop_reports(
    reduction: Reduction, special: Sequence[SpecialLengths] = ()
) -> Iterator[LoopReport]:
    """Yield a report for every loop in the order of the cuts."""
    graph, rtol = reduction.graph, reduction.tolerances.rtol
    special_cuts = {name for proved in special for name in proved.cuts}
    part_of = {c.edge.index: (i, p) for i, p in enumerate(reduction.parts, 1) for c in p.cuts}
    for number, cut in enumerate(reduction.cuts, start=1):
        i, part = part_of[cut.edge.index]
        edges = _cut_last(cut, cut.cycle.edges)
        algebra = loop_algebra(part.screws, cut.cycle, rtol)
        motion = in_world(algebra.type, part.center, part.length)
        T_world = reduction.reference.T_world_node[0, reduction.loops.row(cut.edge.parent)]
        center = motion.point if motion.name == "spherical" else None
        point = (T_world @ cut.edge.T_parent)[:3, 3] if center is None else center
        joints = tuple(graph.edges[e].joint.name for e in edges)
        ends = [graph.edges[e].joint for e in edges]
        parts = [parts_of(graph, n, ends) for n in _cut_last(cut, cut.cycle.nodes)]
        if cut.edge.joint in reduction.idle_joints:
            parts = [(cut.edge.joint.parent,), (cut.edge.joint.child,)]
        trivial = 0 < cut.constraints - cut.kept == 6 - algebra.dimension
        is_open = not (part.proved or reduction.assembly.closed)
        flat = [", ".join(graph.edges[e].name for e in loop) for loop in part.parallelograms]
        yield LoopReport(
            name=f"L{number}",
            component=f"component {i}",
            part=part,
            cut=cut,
            joints=joints,
            parts=tuple(parts),
            category="open" if is_open else _category(part, cut, algebra),
            motion=motion,
            point=point,
            locked=graph.joint_names(e for e in edges if e in part.locked),
            interchangeable=tuple(dict.fromkeys(joints)) if trivial else (),
            limits=(
                *(f"held {held.edge.name}" for held in part.held),
                *(f"parallelogram {names}" for names in flat),
            ),
            error=closure_error(reduction, cut, point),
            chain=edges[:-1],
            special=cut.edge.name in special_cuts,
            reduction=reduction,
        )


def open_parts(reduction: Reduction) -> list[Block]:
    """Return parts whose equations cannot be classified because loops stay open."""
    return [] if reduction.assembly.closed else [p for p in reduction.parts if not p.proved]


def _proof_steps(part: Block, cut: Cut, moves: bool) -> list[tuple[str, Array]]:
    """Return a cut's proof steps by name, each with the covectors it proves redundant."""
    if not part.proved:
        return []
    steps = [("cut", cut.removed[:, :0]), ("rigid", cut.thinned), ("motion", cut.numerical)]
    return [
        (f"{rule} {cut.edge.name}", subalgebra.span(np.hstack([cut.removed, covectors])))
        for rule, covectors in (steps if moves else steps[:-1])
        if rule == "cut" or covectors.shape[1]
    ]


def closure_error(reduction: Reduction, cut: Cut, point: Array) -> Array:
    """Return the closure error at the cut as a twist about a point, ground axes, shape (6,)."""
    error = _closure_twists(reduction)[cut.edge.index]
    return np.concatenate([error[:3] + screw.cross(error[3:], point), error[3:]])


@lru_cache(maxsize=1)  # of all cuts at once
def _closure_twists(reduction: Reduction) -> dict[EdgeId, Array]:
    """Return the closure errors at all chords as twists about the origin."""
    state = reduction.reference
    errors = screw.log(state.T_world_target[0] @ screw.inverse(state.T_world_chord[0]))
    return dict(zip(reduction.loops.chords, errors, strict=True))


def parts_of(graph: Graph, node: NodeId, joints: Sequence[Joint]) -> tuple[str, ...]:
    """Return the first body of a node; of a CAD assembly the parts in it that joints join."""
    ends = [body for joint in joints for body in (joint.parent, joint.child)]
    parts = [body for body in ends if designed(graph.mechanism) and graph.node_of[body] == node]
    return tuple(dict.fromkeys(parts)) or (graph.nodes[node],)


def _category(part: Block, cut: Cut, algebra: GeneratedAlgebra) -> str:
    """Classify a loop by the cause of its redundancy."""
    numerical = cut.numerical.shape[1]
    removed = cut.constraints - cut.kept - numerical
    unproved = part.unproved
    # What is left over is a loop's own where it has no others beside it.
    if removed and (unproved <= 0 or len(part.cuts) > 1):
        return "trivial" if removed <= 6 - algebra.dimension else "exceptional"
    if numerical:
        return "paradoxical"
    if unproved <= 0:
        return "regular"
    return "topological" if part.topological >= unproved else "paradoxical"


@dataclass(frozen=True, eq=False)
class Component:
    """A biconnected part: loops that share bodies, so that their equations interact."""

    name: str
    part: Block
    loops: tuple[LoopReport, ...]

    @property
    def redundant(self) -> int:
        """Redundant equations, removed or not."""
        return 6 * len(self.part.cuts) - self.part.rank

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``components`` in the JSON report."""
        return {
            "name": self.name,
            "loops": [loop.name for loop in self.loops],
            "constraints": self.part.constraints,
            "kept": self.part.kept,
            "removed": self.part.constraints - self.part.kept,
            "redundant": self.redundant,
            "generic": None if self.part.generic is None else asdict(self.part.generic),
        }
