"""The mechanism that was meant by rounded numbers, with what it takes to be it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regularize.as_designed.nearest import Nearest, nearest
from regularize.as_designed.relations import Axes, AxisRelation, missed_relations
from regularize.errors import ModelError
from regularize.lie import subalgebra
from regularize.lie.directions import SLIGHT
from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import EdgeId
from regularize.model.mechanism import Mechanism
from regularize.reduction.reduce import Reduction, reduce


@dataclass(frozen=True, eq=False)
class Idealised:
    """A mechanism as it was designed.

    Attributes:
        mechanism: With joints moved as little as possible; what was given where nothing near moves
            more freely.
        reduction: Its reduction.
        written: The reduction of what was given.
        relations: What it fulfils and the written geometry misses.
        distance: Largest move of a joint's place in metres and turn of its frame in radians.
        moves: The same for every joint that is moved.
    """

    mechanism: Mechanism
    reduction: Reduction
    written: Reduction
    relations: tuple[AxisRelation, ...] = ()
    moves: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether a mechanism near the written one moves more freely."""
        return bool(self.moves)

    @property
    def distance(self) -> tuple[float, float]:
        """Largest move of a joint's place in metres and turn of its frame in radians."""
        moves = np.array([*self.moves.values(), (0.0, 0.0)])
        return float(moves[:, 0].max()), float(moves[:, 1].max())

    def as_dict(self) -> dict[str, Any]:
        """The entry ``as_designed`` of the JSON report."""
        translation, rotation = self.distance
        return {
            "mobility": self.reduction.mobility,
            "finite": self.reduction.finite_mobility,
            "redundant": self.reduction.redundant,
            "removed": self.reduction.removed,
            "distance": {"translation_m": translation, "rotation_rad": rotation},
            "relations": [relation.as_dict() for relation in self.relations],
        }


def idealise(
    source: Mechanism | Reduction,
    *,
    near: float = SLIGHT,
    rtol: float = subalgebra.RTOL,
    seed: int = 0,
    shown: float = 4.0,
) -> Idealised:
    """Find the mechanism next to a written one that moves more freely.

    Args:
        source: The mechanism, or its reduction.
        near: Largest change of a joint's place, in sizes of its part, or of its axis, in radians.
        rtol: Tolerance of ranks and relations; see ``reduce``.
        seed: Seed of all random choices.
        shown: What noise shows of itself, in units of the moves that undo it: in singular values
            over the largest, and in angles between axes that are meant to be parallel.

    Raises:
        ModelError: ``near`` is no positive number.
    """
    if not 0.0 < near < np.inf:
        raise ModelError(f"near has to be a positive number, not {near}")
    written = source if isinstance(source, Reduction) else reduce(source, rtol=rtol, seed=seed)
    best = written
    moves: dict[str, tuple[float, float]] = {}
    relations: list[AxisRelation] = []
    for cell in written.cells:
        for motions in _candidates(written, cell.edges, cell.finite, near, shown):
            found = _accepted(best, cell.edges, motions, near, seed, shown)
            if found is None:
                continue
            change, after = found
            linear, angular = change.places.sizes(change.moves)
            names = [joint.name for joint in change.places.joints]
            sizes = zip(linear.tolist(), angular.tolist(), strict=True)
            moves |= dict(zip(names, sizes, strict=True))
            relations += _relations(best, after, cell.edges, near)
            best = after
            break
    return Idealised(best.mechanism, best, written, tuple(relations), moves)


def _candidates(
    reduction: Reduction,
    edges: tuple[EdgeId, ...],
    finite: int | None,
    near: float,
    shown: float,
) -> list[int]:
    """Numbers of motions that noise may have taken away, the largest first.

    Noise makes a gap: singular values that it alone keeps from zero lie well below the others. In
    a long chain small ones follow each other closely and mean nothing.
    """
    loops = _at_pose(reduction, edges)
    rows = loops.residual_jacobian(loops.state(_coordinates(reduction, edges))) * loops.units
    s = np.linalg.svd(rows[0], compute_uv=False)[: loops.freedoms]
    return [
        loops.freedoms - i
        for i in range(1, len(s))
        if EXACT.closed * s[0] < s[i] <= min(shown * near * s[0], s[i - 1] / shown)
        and loops.freedoms - i > (finite or 0)
    ]


def _coordinates(reduction: Reduction, edges: tuple[EdgeId, ...]) -> Array:
    return np.asarray(reduction.q[list(reduction.graph.columns(edges))])


def _at_pose(reduction: Reduction, edges: tuple[EdgeId, ...]) -> LoopKinematics:
    return sized_loops(reduction.graph, _coordinates(reduction, edges), edges)


def _accepted(
    written: Reduction,
    edges: tuple[EdgeId, ...],
    motions: int,
    near: float,
    seed: int,
    shown: float,
) -> tuple[Nearest, Reduction] | None:
    """The nearest mechanism with so many motions, where it is near and has them.

    Axes that are as nearly parallel as the joints had to be moved are parallel in a mechanism that
    is hardly further away: a planar linkage, not a spherical one about a far centre.
    """
    free = _tried(written, edges, motions, near, seed, None)
    if free is None:
        return _tried(written, edges, motions, near, seed, near)
    off = shown * free[0].distance
    tidy = _tried(written, edges, motions, min(near, off), seed, off)
    return free if tidy is None or tidy[1].removed < free[1].removed else tidy


def _tried(
    written: Reduction,
    edges: tuple[EdgeId, ...],
    motions: int,
    near: float,
    seed: int,
    parallel: float | None,
) -> tuple[Nearest, Reduction] | None:
    change = nearest(
        written.mechanism, edges, _coordinates(written, edges), motions, parallel=parallel
    )
    if not change.distance <= near:
        return None
    after = reduce(change.mechanism, rtol=written.rtol, seed=seed)
    finite = {cell.edges: cell.finite for cell in after.cells}
    return (change, after) if finite.get(edges) == motions else None


def _relations(
    before: Reduction, after: Reduction, edges: tuple[EdgeId, ...], near: float
) -> list[AxisRelation]:
    loops, changed = _at_pose(before, edges), _at_pose(after, edges)
    written = Axes.of(loops, loops.state(_coordinates(before, edges)))
    meant = Axes.of(changed, changed.state(_coordinates(after, edges)))
    return missed_relations(written, meant, loops.length, near)
