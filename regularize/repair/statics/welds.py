"""Coordinate rows of frames that stand for the kept rows of every cut.

Rows along the axes of a frame are other rows than those that a reduction keeps. Where rows were
dropped for what was seen at some configurations, which ones may go is a choice of its own, so it is
made and looked at as that of the reduction was: by descents to where the rest is dependent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, Rotation, Rows, Space, Transform
from regularize.reduction.block import Block
from regularize.reduction.cuts import Cut, independent_rows, outside
from regularize.reduction.descent import THOROUGH, Descent, Lowest
from regularize.reduction.rank_loss import place_words
from regularize.reduction.reduce import Reduction
from regularize.tolerances import PARALLEL


@dataclass(frozen=True, eq=False)
class Weld:
    """A cut closed by rows along the axes of one frame on its body, or of one point."""

    cut: Cut
    T_node_frame: Transform
    #: Rows that are kept, of six, or of three for a point.
    rows: tuple[int, ...]
    #: Whether the joint's centre is held instead of a frame.
    point: bool

    @property
    def size(self) -> int:
        """Number of rows of the anchor."""
        return 3 if self.point else 6

    @property
    def implied(self) -> tuple[int, ...]:
        """Rows that follow from the others."""
        return tuple(i for i in range(self.size) if i not in self.rows)

    def covectors(self, rows: Sequence[int]) -> Rows:
        """Return rows in the weld's frame, lengths scaled."""
        selected = np.eye(6)[list(rows)]
        selected[:, :3] /= self.cut.length
        return selected


def chosen_welds(reduction: Reduction, *, anyway: bool = True) -> list[Weld]:
    """Choose, for each cut, coordinate rows equivalent to the rows that the reduction keeps."""
    welds = [_weld(cut) for cut in reduction.cuts]
    for part in reduction.parts:
        cuts = enumerate(reduction.cuts)
        shortened = [i for i, cut in cuts if cut.edge.index in part.edges and _dropped(cut)]
        if not any(reduction.cuts[i].numerical.size for i in shortened):
            welds = _shortened(reduction, part, welds, shortened, reduction.q)
            continue
        welds, place = _serving(reduction, part, welds, shortened)
        nearest = reduction.certificate.nearest
        if place is not None and place.missing and not anyway and not (nearest and nearest.missing):
            raise UnsupportedExport(
                "rows along the axes of frames cannot stand for those that were kept on numerical "
                f"evidence: near {place_words(reduction, part.edges, place)} they depend on each "
                'other, and the kept ones do not; use style="rows", or keep all rows'
            )
    return welds


def _weld(cut: Cut) -> Weld:
    """Return a cut closed by coordinate rows of one frame."""
    edge = cut.edge
    if edge.group and edge.freedoms == 3:
        T_joint = edge.T_child if cut.on_child else edge.T_parent
        center = screw.inverse(cut.T_node_frame) @ T_joint
        frame, rows = point_frame(cut, center)
        return Weld(cut, cut.T_node_frame @ frame, tuple(rows), True)
    frame = coordinate_frame(cut)
    space = seen_from(cut, frame)
    rows = [int(i) for i in independent_rows(space, space.shape[1])]
    return Weld(cut, cut.T_node_frame @ frame, tuple(rows), False)


def _dropped(cut: Cut) -> int:
    """Count the rows of a cut that were dropped on evidence other than motion algebras."""
    return int(cut.thinned.shape[1] + cut.numerical.shape[1])


def _serving(
    reduction: Reduction, part: Block, welds: list[Weld], chosen: Sequence[int]
) -> tuple[list[Weld], Lowest | None]:
    """Return rows for the chosen welds independent at all places tried, and the worst place."""
    graph = reduction.graph
    cell = reduction.cell_at[part.edges[0]]
    flat = [loop for each in reduction.parts for loop in each.parallelograms]
    found: list[tuple[list[Weld], Lowest | None]] = []
    rng = np.random.default_rng(reduction.seed)
    for q in cell.configurations[:: -max(1, len(cell.configurations) // 12)]:
        at = np.array(reduction.q)
        at[graph.columns(cell.edges)] = q
        fewer = _shortened(reduction, part, welds, chosen, at)
        welds = [_turned(weld, rng) if i in chosen else weld for i, weld in enumerate(welds)]
        cuts = [_as_cut(weld) for weld in fewer]
        down = Descent(graph, reduction.coupled, reduction.q, cell, cuts, flat)
        place = down.lowest(cell.configurations, THOROUGH)
        if place is None or not place.missing:
            return fewer, place
        at[graph.columns(cell.edges)] = place.q
        found.append((fewer, replace(place, q=at)))
    return max(found, key=lambda each: each[1].ratio if each[1] else 0.0)


def _turned(weld: Weld, rng: np.random.Generator) -> Weld:
    """Return a weld in a random frame at the same place, with all rows that imply the others."""
    cut, axes = weld.cut, np.linalg.qr(rng.normal(size=(3, 3)))[0]
    frame = weld.T_node_frame @ screw.transform(axes * np.sign(np.linalg.det(axes)))
    seen = seen_from(cut, screw.inverse(cut.T_node_frame) @ frame)
    rows = independent_rows(seen[: weld.size], seen.shape[1] - 6 + weld.size)
    return replace(weld, T_node_frame=frame, rows=tuple(int(i) for i in rows))


def _as_cut(weld: Weld) -> Cut:
    """Return the cut with the rows of its weld, less those that its own freedoms fulfil."""
    cut = weld.cut
    T_cut_frame = screw.inverse(cut.T_node_frame) @ weld.T_node_frame
    rows = weld.covectors(weld.rows) @ screw.adjoint(screw.inverse(T_cut_frame))
    rows[:, :3] *= cut.length
    u, s, _ = np.linalg.svd(rows @ cut.freedoms)
    free = u[:, int(np.sum(s > PARALLEL)) :]
    return replace(cut, rows=np.linalg.qr((free.T @ rows).T)[0])


def _shortened(
    reduction: Reduction, part: Block, welds: list[Weld], chosen: Sequence[int], q: Array
) -> list[Weld]:
    """Drop as many rows of the chosen welds as the reduction dropped, by their rank at q."""
    if not chosen:
        return welds
    loops = reduction.loops
    mine = [i for i, weld in enumerate(welds) if weld.cut.edge.index in part.edges]
    state = loops.state(q)
    twists = state.screws[0].T.copy()
    translates = ~np.any(twists[3:] != 0.0, axis=0)
    twists[:, translates] *= part.length

    def rows_of(i: int) -> Array:
        weld = welds[i]
        T_world_frame = state.T_world_node[0, loops.row(weld.cut.node)] @ weld.T_node_frame
        to_frame = weld.covectors(weld.rows) @ screw.adjoint(screw.inverse(T_world_frame))
        return np.asarray(to_frame @ (loops.incidence[i] * twists))

    fixed = np.vstack(
        [loops.coupling_rows(q[None])[0], *(rows_of(i) for i in mine if i not in chosen)]
    )
    rest = outside(fixed, np.vstack([rows_of(i) for i in chosen]))
    owner = [(i, row) for i in chosen for row in welds[i].rows]
    count = len(owner) - sum(_dropped(reduction.cuts[i]) for i in chosen)
    picked = {owner[k] for k in independent_rows(rest, count)}
    found = list(welds)
    for i in chosen:
        kept = tuple(row for row in welds[i].rows if (i, row) in picked)
        found[i] = replace(welds[i], rows=kept)
    return found


def twist_space(cut: Cut) -> Space:
    """Return a basis of the relative twists that the tree admits at a cut, cut frame, scaled."""
    return subalgebra.complement(cut.removed)


def _common_axes(first: Array, second: Array) -> Rotation | None:
    """Return a rotation that diagonalises two projectors, ground axes if they do; or None."""
    for matrix in (np.eye(3), np.linalg.eigh(first + 0.6 * second)[1]):
        matrix = matrix * np.sign(np.linalg.det(matrix))
        seen = [matrix.T @ projector @ matrix for projector in (first, second)]
        if all(np.max(np.abs(m - np.diag(np.round(np.diag(m))))) < PARALLEL for m in seen):
            return np.asarray(matrix)
    return None


def coordinate_frame(cut: Cut) -> Transform:
    """Return a frame in the cut frame where rows are coordinate rows; the identity without any."""
    covectors, nowhere = cut.removed, np.eye(4)
    if covectors.shape[1] in (0, 6):
        return nowhere
    u, s, vt = np.linalg.svd(covectors[:3])
    rank = int(np.sum(s > PARALLEL))
    pure = covectors[3:] @ vt[rank:].T
    moments = pure @ np.linalg.pinv(pure, rcond=PARALLEL) if pure.shape[1] else np.zeros((3, 3))
    axes = _common_axes(u[:, :rank] @ u[:, :rank].T, moments)
    if axes is None or not rank:
        return nowhere if axes is None else screw.transform(axes)
    # A force along the axis e through the frame's origin p has the moment p x e about zero; what
    # the pure moments of the space contain does not matter.
    forces, about_zero = covectors[:3] @ vt[:rank].T, covectors[3:] @ vt[:rank].T
    rest = np.eye(3) - moments
    system = np.vstack([-rest @ screw.cross_matrix(f) for f in forces.T])
    target = np.concatenate([rest @ m for m in about_zero.T])
    # Directions in which the origin may lie anywhere leave singular values of rounding size.
    su, ss, svt = np.linalg.svd(system, full_matrices=False)
    used = ss > PARALLEL
    point = svt[used].T @ ((su[:, used].T @ target) / ss[used])
    if np.max(np.abs(system @ point - target)) > PARALLEL:
        return nowhere
    return screw.transform(axes, cut.length * point)


def seen_from(cut: Cut, T_cut_frame: Transform) -> Space:
    """Return a basis of ``twist_space`` in a frame given in the cut frame, scaled."""
    T = np.array(T_cut_frame)
    T[:3, 3] /= cut.length
    return np.asarray(screw.adjoint(screw.inverse(T)) @ twist_space(cut))


def point_frame(cut: Cut, T_cut_center: Transform) -> tuple[Transform, list[int]]:
    """Return a frame at the centre of a spherical cut, and the rows there that imply all others."""
    space = seen_from(cut, T_cut_center)[:3]
    u, s, _ = np.linalg.svd(space)
    count = int(np.sum(s > PARALLEL))
    axes = _common_axes(u[:, :count] @ u[:, :count].T, np.zeros((3, 3)))
    rotation = np.eye(3) if axes is None else axes
    rows = independent_rows(rotation.T @ space, count)
    return T_cut_center @ screw.transform(rotation), [int(i) for i in rows]
