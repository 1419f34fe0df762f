r"""Cells that are alike: what walks found of one holds of all that a rigid motion carries it to.

Closure equations follow from the screws at one configuration: with joints moved by
:math:`\delta q`, a loop of hinges, slides and screws closes where
:math:`\prod_i \exp(\hat S_i\,\delta q_i) = I`. A rigid motion and a scale that carry the screws
of a cell to those of another, and the kept rows too, carry its closed configurations as well. What
differs by no more than what counts as closed is alike; that these configurations are closed is seen
once more. Mirror images are not looked for: those of real machines differ in their last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.local_mobility import LocalMobility
from regularize.manifold.tolerances import EXACT
from regularize.model.cycles import MANY_LOOPS
from regularize.model.graph import EdgeId, NodeId
from regularize.reduction.certificate import Certificate
from regularize.reduction.cuts import ReducedLoops
from regularize.reduction.mobility import CellMobility
from regularize.reduction.part import Part
from regularize.reduction.setting import Setting

if TYPE_CHECKING:
    from regularize.reduction.descent import Lowest


@dataclass(frozen=True, eq=False)
class Figure:
    """A cell as its screws and kept rows draw it, wherever it is and however large.

    Attributes:
        pattern: What has to be equal: how joints, bodies and cuts hang together.
        loops: Its kinematics, the cuts being its chords.
        q: Its assembled coordinates, shape (n,).
        size: Root mean square distance of the axes from the point next to all of them, metres; the
            cell's own size where they meet there.
        screws: At the assembled pose about that point and in that size; slides have length one.
            Shape (n, 6).
        feet: Points of the axes next to it, in the same measures, zero for slides, shape (n, 3).
        rows: Kept rows and freedoms of each cut in the same measures, orthonormal, shape (6, k).
    """

    pattern: tuple[object, ...]
    loops: LoopKinematics
    q: Array
    size: float
    screws: Array
    feet: Array
    rows: tuple[Array, ...]

    @classmethod
    def of(cls, setting: Setting, edges: Sequence[EdgeId], parts: Sequence[Part]) -> Figure:
        """Draw a cell with its parts reduced."""
        loops, cuts = setting.loops(edges, [cut for part in parts for cut in part.cuts])
        q = setting.assembly.q[loops.columns]
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
        for cut, to_cut in zip(cuts, ReducedLoops(loops, cuts).to_cuts(state)[0], strict=True):
            kept = np.hstack([cut.rows, cut.freedoms]).T @ to_cut
            moment = kept[:, 3:] - screw.cross(center, kept[:, :3])
            rows.append(np.linalg.qr(np.hstack([length * kept[:, :3], moment]).T)[0])
        joints = [setting.graph.edges[e] for e in loops.edges]
        nodes: dict[NodeId, int] = {}
        for joint in joints:
            nodes.setdefault(joint.parent, len(nodes))
            nodes.setdefault(joint.child, len(nodes))
        pattern = (
            *((nodes[e.parent], nodes[e.child], e.freedoms, e.group) for e in joints),
            *((loops.edges.index(cut.edge.index), nodes[cut.node], cut.kept) for cut in cuts),
            tuple(turning.tolist()),
            len(loops.coupling),
            (setting.rtol, *(part.rtol for part in parts)),
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
            return False  # units of slides do not grow with the cell
        rows = zip(self.rows, other.rows, strict=True)
        return all(_outside(turns.T @ mine, theirs) <= EXACT.singular for mine, theirs in rows)

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
        return alike and bool(np.abs(self.q - other.q).max(initial=0.0) <= off)


def _outside(space: Array, columns: Array) -> float:
    """Largest part of some unit vectors outside a space with an orthonormal basis."""
    rest = columns - space @ (space.T @ columns)
    return float(np.linalg.norm(rest, axis=0).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Walked:
    """What walks and descents found of a cell.

    Attributes:
        figure: The cell with the rows that were followed.
        noise: Errors of its equations that could not be told from zero.
        certificate: Outcome of following these rows.
        mobility: Ranks and configurations.
        settled: Whether these rows are what is kept in the end.
        place: The place where they are the weakest, if so; None where none was looked for.
    """

    figure: Figure
    noise: float
    certificate: Certificate
    mobility: CellMobility
    settled: bool
    place: Lowest | None


class AlikeCells:
    """What is known of the cells of a mechanism, of one of all that are alike."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[tuple[object, ...], list[Walked]] = {}

    def figure(
        self, setting: Setting, edges: Sequence[EdgeId], parts: Sequence[Part]
    ) -> Figure | None:
        """What a cell is recognised by; None where none can be alike, or walks say less of it."""
        many = sum(len(part.cuts) for part in parts) > MANY_LOOPS
        return None if many else Figure.of(setting, edges, parts)

    def remember(
        self,
        figure: Figure | None,
        setting: Setting,
        certificate: Certificate,
        mobility: CellMobility,
        settled: bool,
        place: Lowest | None,
    ) -> None:
        """Keep what was found of a cell, where it can be carried to others."""
        every = (mobility.local, *(branch.local for branch in mobility.branches))
        stressed = any(local.stress is not None for local in every)
        if figure is not None and not stressed and not certificate.solved:
            found = Walked(figure, setting.noise, certificate, mobility, settled, place)
            self._known.setdefault(figure.pattern, []).append(found)

    def recall(self, setting: Setting, figure: Figure | None) -> Walked | None:
        """What is known of a cell from one that is alike and no less exact; None: nothing."""
        if figure is None:
            return None
        # However far the numbers of a file are off, those of a copy are not.
        off = min(setting.tolerances.closed, EXACT.singular)
        for known in self._known.get(figure.pattern, ()):
            if known.noise <= setting.noise and known.figure.carries(figure, off):
                return _carried(setting, known, figure)
        return None


def _carried(setting: Setting, known: Walked, figure: Figure) -> Walked | None:
    """What is known of a cell said of another; None where its configurations are not closed."""
    loops, mobility, certificate = figure.loops, known.mobility, known.certificate

    ratio = loops.units / known.figure.loops.units

    def at(q: Array) -> Array:
        return read_only(figure.q + ratio * (q - known.figure.q))

    q = at(mobility.configurations)
    state, home = loops.state(q), loops.state(figure.q)
    worst = float(np.abs(loops.residual(state)).max(initial=0.0))
    if worst > max(certificate.worst, setting.tolerances.closed):
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
        tolerances=setting.tolerances,
    )
    way, turn = loops.displacements(home, state).max(axis=0)
    travelled = (float(way), float(turn)) if certificate.configurations else (0.0, 0.0)
    certificate = replace(certificate, worst=worst, travelled=travelled)
    place = known.place
    if place is not None and known.settled:
        whole = np.array(setting.assembly.q)
        whole[loops.columns] = at(place.q[known.figure.loops.columns])
        place = replace(place, q=read_only(whole))
    return Walked(figure, setting.noise, certificate, mobility, known.settled, place)
