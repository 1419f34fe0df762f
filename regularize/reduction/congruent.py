r"""Congruent loops: what walks found of one coupled component holds of all that are like it.

Closure equations follow from the screws at one configuration: with joints moved by
:math:`\delta q`, a loop of hinges, slides and screws closes where
:math:`\prod_i \exp(\hat S_i\,\delta q_i) = I`. A rigid motion and a scale that carry the screws
of a component to those of another, and the kept rows too, carry its closed configurations as well.
What differs by no more than what counts as closed is congruent; that these configurations are
closed is checked once more. Mirror images are not looked for: those of real machines differ in
their last digits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.loops.finite import LocalMobility
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import NodeId
from regularize.reduction.block import Block
from regularize.reduction.certificate import Certificate
from regularize.reduction.context import Context
from regularize.reduction.cuts import ReducedLoops
from regularize.reduction.mobility import CellMobility
from regularize.tolerances import EXACT

if TYPE_CHECKING:
    from regularize.reduction.certificate import Rows

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Figure:
    """A coupled component as its screws and kept rows draw it, wherever it is and however large.

    Attributes:
        pattern: What has to be equal: how joints, bodies and cuts hang together.
        loops: Its kinematics, the cuts being its chords.
        q: Its assembled coordinates, shape (n,).
        size: Root mean square distance of the axes from the point next to all of them, metres; the
            coupled component's own size where they meet there.
        screws: At the assembled pose about that point and in that size; slides have length one.
            Shape (n, 6).
        feet: Points of the axes next to it, in the same measures, zero for slides, shape (n, 3).
        rows: Removed rows of each cut in the same measures, orthonormal, shape (6, k). Which rows
            of those that are left stand for the others depends on where the axes are drawn.
    """

    pattern: tuple[object, ...]
    loops: LoopKinematics
    q: Array
    size: float
    screws: Array
    feet: Array
    rows: tuple[Array, ...]

    @classmethod
    def of(cls, context: Context, reduced: ReducedLoops, parts: Sequence[Block]) -> Figure:
        """Draw a coupled component with its blocks reduced."""
        loops, cuts = reduced.loops, reduced.cuts
        q = context.assembly.q[loops.columns]
        state = loops.state(q)
        screws = loops.scaled(state.screws[0]) * loops.units[:, None]
        turning = np.any(screws[:, 3:] != 0.0, axis=1)
        v, w = screws[:, :3], screws[:, 3:]
        across = turning[:, None, None] * (np.eye(3) - w[:, :, None] * w[:, None])
        points = screw.cross(w, v)
        middle = np.linalg.lstsq(across.sum(axis=0), points.sum(axis=0), rcond=EXACT.same)[0]
        feet = points - across @ middle
        size = float(np.sqrt(np.mean(np.sum(feet**2, axis=1)))) if len(feet) else 0.0
        size = size if size > EXACT.same else 1.0
        about = np.where(turning[:, None], (v + screw.cross(w, middle)) / size, v)
        center, length = loops.center + loops.length * middle, loops.length * size
        rows = []
        for cut, to_cut in zip(cuts, reduced.to_cuts(state)[0], strict=True):
            removed = cut.removed.T @ to_cut
            moment = removed[:, 3:] - screw.cross(center, removed[:, :3])
            rows.append(np.linalg.qr(np.hstack([length * removed[:, :3], moment]).T)[0])
        joints = [context.graph.edges[e] for e in loops.edges]
        nodes: dict[NodeId, int] = {}
        for joint in joints:
            nodes.setdefault(joint.parent, len(nodes))
            nodes.setdefault(joint.child, len(nodes))
        pattern = (
            *((nodes[e.parent], nodes[e.child], e.freedoms, e.group) for e in joints),
            *((loops.edges.index(cut.edge.index), nodes[cut.node], cut.kept) for cut in cuts),
            tuple(turning.tolist()),
            len(loops.coupling),
            (context.rtol, *(part.rtol for part in parts)),
        )
        return cls(pattern, loops, q, length, np.hstack([about, w]), feet / size, tuple(rows))

    def carries(self, other: Figure, off: float) -> bool:
        """Whether a rigid motion and a scale carry it to another of the same pattern.

        Args:
            other: The other one.
            off: By how much they may differ, radians and sizes.
        """
        own, wanted = (np.vstack([f.feet, f.screws[:, 3:], f.slides]) for f in (self, other))
        u, _, vt = np.linalg.svd(own.T @ wanted)
        turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
        turns = np.kron(np.eye(2), turn)
        if not np.abs(self.screws @ turns - other.screws).max(initial=0.0) <= off:
            return False
        if self.manifold and not self._same_measures(other, off):
            return False
        own_length, length = self.loops.length / self.size, other.loops.length / other.size
        if self.slides.any() and abs(own_length - length) > off:
            return False  # units of slides do not grow with the coupled component
        rows = zip(self.rows, other.rows, strict=True)
        return all(_outside(turns.T @ mine, theirs) <= EXACT.singular for mine, theirs in rows)

    @cached_property
    def spread(self) -> float:
        """Distances of its screws from each other, weighted and added up: no motion changes it.

        Screws that differ by ``off`` at most change it by less than ``off * screws.size**2``.
        """
        steps = np.linalg.norm(self.screws - np.roll(self.screws, 1, axis=0), axis=1)
        return float(steps @ np.arange(1, len(steps) + 1))

    @property
    def slides(self) -> Array:
        """Directions of the slides, zero for other joints, shape (n, 3)."""
        return np.where(np.any(self.screws[:, 3:], axis=1)[:, None], 0.0, self.screws[:, :3])

    @property
    def manifold(self) -> bool:
        """Whether coordinates are more than angles and lengths that add up, or tied together."""
        several = any(self.loops.graph.edges[e].freedoms > 1 for e in self.loops.edges)
        return several or len(self.loops.coupling) > 0

    def _same_measures(self, other: Figure, off: float) -> bool:
        """Whether sizes, couplings and coordinates are the same ones, number by number."""
        sizes = abs(self.size - other.size), abs(self.loops.length - other.loops.length)
        alike = max(sizes) <= off * self.size
        alike &= bool(np.abs(self.loops.coupling - other.loops.coupling).max(initial=0.0) <= off)
        alike &= self.loops.curves == other.loops.curves
        return alike and bool((np.abs(self.q - other.q) / self.loops.units).max(initial=0.0) <= off)


def _outside(space: Array, columns: Array) -> float:
    """Largest part of some unit vectors outside a space with an orthonormal basis."""
    rest = columns - space @ (space.T @ columns)
    return float(np.linalg.norm(rest, axis=0).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Walked:
    """What walks and descents found of a coupled component.

    Attributes:
        figure: The coupled component with the rows that were followed.
        noise: Errors of its equations that could not be told from zero.
        certificate: Outcome of following these rows.
        mobility: Ranks and configurations.
        settled: Whether these rows are what is kept in the end.
    """

    figure: Figure
    noise: float
    certificate: Certificate
    mobility: CellMobility
    settled: bool


class FiguresBySpread(Generic[Value]):
    """Figures with what is known of each, found again by one that a figure is congruent to."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[tuple[object, ...], tuple[list[float], list[tuple[Figure, Value]]]] = {}

    def add(self, figure: Figure, value: Value) -> None:
        """Keep what is known of a figure."""
        spreads, known = self._known.setdefault(figure.pattern, ([], []))
        place = bisect_right(spreads, figure.spread)
        spreads.insert(place, figure.spread)
        known.insert(place, (figure, value))

    def carried(self, figure: Figure, off: float) -> Iterator[Value]:
        """What is known of those that a rigid motion and a scale carry to a figure."""
        spreads, known = self._known.get(figure.pattern, ([], []))
        reach = off * figure.screws.size**2
        first = bisect_left(spreads, figure.spread - reach)
        last = bisect_right(spreads, figure.spread + reach)
        for other, value in known[first:last]:
            if other.carries(figure, off):
                yield value


class CongruentComponents:
    """What is known of the coupled components of a mechanism, of one of all that are congruent."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known = FiguresBySpread[Walked]()

    def figure(self, context: Context, rows: Rows | None, parts: Sequence[Block]) -> Figure | None:
        """What a component is recognised by; None where walks say less of it."""
        return Figure.of(context, rows, parts) if isinstance(rows, ReducedLoops) else None

    def first_of_each(self, figures: Sequence[Figure | None]) -> list[int]:
        """Numbers of the figures that none before them is congruent to."""
        seen, found = FiguresBySpread[int](), list[int]()
        for i, figure in enumerate(figures):
            if figure is not None and next(seen.carried(figure, EXACT.singular), None) is None:
                seen.add(figure, i)
                found.append(i)
        return found

    def remember(
        self,
        figure: Figure | None,
        context: Context,
        certificate: Certificate,
        mobility: CellMobility,
        settled: bool,
    ) -> None:
        """Keep what was found of a coupled component, where it can be carried to others."""
        every = (mobility.local, *(branch.local for branch in mobility.branches))
        stressed = any(local.stress is not None for local in every)
        if figure is not None and not stressed and not certificate.solved:
            self._known.add(figure, Walked(figure, context.noise, certificate, mobility, settled))

    def recall(self, context: Context, figure: Figure | None) -> Walked | None:
        """What is known of a component from one congruent to it and no less exact, if any."""
        if figure is None:
            return None
        # However far the numbers of a file are off, those of a copy are not.
        off = min(context.tolerances.closed, EXACT.singular)
        for known in self._known.carried(figure, off):
            if known.noise <= context.noise:
                return _carried(context, known, figure)
        return None


def _carried(context: Context, known: Walked, figure: Figure) -> Walked | None:
    """What is known of one said of another; None where its configurations are open."""
    loops, mobility, certificate = figure.loops, known.mobility, known.certificate

    ratio = loops.units / known.figure.loops.units

    def at(q: Array) -> Array:
        return read_only(figure.q + ratio * (q - known.figure.q))

    q = at(mobility.configurations)
    state, home = loops.state(q), loops.state(figure.q)
    worst = float(np.abs(loops.residual(state)).max(initial=0.0))
    if worst > max(certificate.worst, context.tolerances.closed):
        return None

    def moved(local: LocalMobility) -> LocalMobility:
        return replace(local, q=at(local.q))

    mobility = replace(
        mobility,
        edges=loops.edges,
        local=moved(mobility.local),
        branches=tuple(
            replace(branch, local=moved(branch.local), ends=at(branch.ends))
            for branch in mobility.branches
        ),
        configurations=q,
        tolerances=context.tolerances,
    )
    way, turn = loops.displacements(home, state).max(axis=0)
    travelled = (float(way), float(turn)) if certificate.configurations else (0.0, 0.0)
    certificate = replace(certificate, worst=worst, travelled=travelled)
    return Walked(figure, context.noise, certificate, mobility, known.settled)
