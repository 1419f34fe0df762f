r"""Müller (2014), sections 5 and 6: the constraints of one loop that its joint screws leave.

Joint α, with screws Z between bodies k and l, closes a loop. Any body b of the rest splits the
other joints into the chains from b to k and to l. With the algebras of their screws (eq. 25)

.. math:: \bar D = Lie(Y_1, \dots, Y_i) = span(Y_j, [Y_j, Y_k], [Y_j, [Y_k, Y_l]], \dots)

the twists of l relative to k are always in the space (eq. 27)

.. math:: \Delta = \bar D_k + Sat_Z(\bar D_l) + span Z

in a frame fixed on k. The text has :math:`\bar D_l` itself. It has to stand still while the joint
moves: :math:`Sat_Z` is the smallest superspace with :math:`[Z, Sat_Z] \subseteq Sat_Z`. For the
same reason a chain's algebra may give way to the smaller

.. math:: P_i = Sat_{Y_i}(P_{i-1}) + span Y_i,

which holds the twists of its last body as seen from there: in a linkage of Bennett it leaves a row
out that the algebras keep. Of all bodies b the intersection holds. With W, which takes the joint's
own freedoms away, the decomposition of a basis of Δ (eq. 28)

.. math:: W B_\Delta = U^T \Sigma V

leaves the rows :math:`\bar U W` (eq. 29) of the nonzero singular values. All others can never
matter on the set of configurations that is connected with the assembled one; ``propagation`` has
the same for several loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import (
    Array,
    Coordinates,
    Indices,
    Jacobian,
    Rates,
    Residual,
    Rows,
    Screw,
    Space,
    Transform,
    Wrench,
    read_only,
)
from regularize.loops.kinematics import LoopKinematics, State
from regularize.loops.projection import clearest_columns
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import Edge, NodeId
from regularize.tolerances import TINY, VANISHING

Kind = Literal["thinned", "numerical"]


@dataclass(frozen=True, eq=False)
class Cut:
    """One loop's closing joint with the rows that are kept of it, and those that are not.

    Its *cut frame*, fixed on one of its two bodies, has the axes of the ground, and its origin at
    the centre of the block, at the assembled configuration. Covectors are columns; they act on
    twists in that frame whose linear part is divided by ``length``.
    """

    edge: Edge  # the cut joint
    cycle: Cycle  # the loop that it closes
    node: NodeId  # the body that carries the cut frame
    T_node_frame: Transform  # the cut frame in that body's frame
    length: float  # in metres
    freedoms: Space  # orthonormal basis of the joint's own freedoms
    rows: Space  # kept covectors, orthonormal
    removed: Space  # covectors that can never matter, orthonormal
    #: Covectors removed because the joints concerned are locked; then on numerical evidence only.
    thinned: Space = field(default_factory=lambda: subalgebra.ZERO)
    numerical: Space = field(default_factory=lambda: subalgebra.ZERO)

    @property
    def constraints(self) -> int:
        """Number of rows of the cut joint before the reduction."""
        return 6 - self.edge.freedoms

    @property
    def kept(self) -> int:
        """Number of rows that are kept."""
        return int(self.rows.shape[1])

    @property
    def on_child(self) -> bool:
        """Whether the cut frame is fixed on the child body."""
        return self.node == self.edge.child

    @property
    def equations(self) -> Rows:
        """Kept rows and, for the joint's own coordinates, its freedoms, shape (k, 6)."""
        return np.hstack([self.rows, self.freedoms]).T


def best_cut(screws: Sequence[Screw], cuts: Iterable[int], rtol: float) -> tuple[int, int, Space]:
    """Return the joint whose cut keeps the fewest rows, its body (0 before, 1 behind), and Δ."""
    # While the loop is open, all joints move freely: no space is smaller than what they span. Where
    # that is a subalgebra, none is larger either, whatever is cut.
    every = np.hstack(screws)
    algebra, least = subalgebra.lie_closure(every, rtol), subalgebra.span(every, rtol).shape[1]
    if algebra.shape[1] == least:
        return next(iter(cuts)), 0, algebra
    tried, chains = list[tuple[int, int, Space]](), Chains(screws, rtol)
    for joint in cuts:
        for end in (0, 1):
            tried.append((joint, end, relative_twists(chains, joint, end, least)))
            if tried[-1][2].shape[1] == least:
                return tried[-1]
    return min(tried, key=lambda cut: cut[2].shape[1])


class Chains:
    """Spaces of relative twists along the chains of a loop's joints, each computed once."""

    def __init__(self, screws: Sequence[Screw], rtol: float) -> None:
        self.freedoms, self.rtol = [subalgebra.span(each) for each in screws], rtol
        self._spaces: dict[tuple[int, int], list[Space]] = {}

    def walked(self, first: int, count: int, step: int) -> Space:
        """Return twists of a chain's last body relative to the first, walked by steps 1 or -1."""
        places = len(self.freedoms)
        spaces = self._spaces.setdefault((first % places, step), [subalgebra.ZERO])
        while len(spaces) <= count and spaces[-1].shape[1] < 6:
            Z = self.freedoms[(first + step * (len(spaces) - 1)) % places]
            moved = subalgebra.saturation(spaces[-1], Z, self.rtol)
            spaces.append(subalgebra.sum_(moved, Z, self.rtol))
        return spaces[count] if count < len(spaces) else subalgebra.FULL


def relative_twists(chains: Chains, joint: int, end: int, least: int = 0) -> Space:
    """Return the space Δ (eq. 27) of a cut as seen from one of its bodies."""
    Z, rtol, others = chains.freedoms[joint], chains.rtol, len(chains.freedoms) - 1
    space = subalgebra.FULL
    for b in range(others + 1):
        sides = chains.walked(joint + 1 + b, others - b, 1), chains.walked(joint + b, b, -1)
        near, far = sides if end == 0 else sides[::-1]
        moving = subalgebra.sum_(subalgebra.saturation(far, Z, rtol), Z, rtol)
        space = subalgebra.intersection(space, subalgebra.sum_(near, moving, rtol), rtol)
        if space.shape[1] <= least:
            break
    return space


def kept_rows(space: Space, freedoms: Space) -> Space:
    """Return orthonormal kept covectors (eqs. 28 and 29) by Δ and the cut joint's own screws."""
    U, _, _ = np.linalg.svd(subalgebra.residual(freedoms, space), full_matrices=False)
    return np.asarray(U[:, : space.shape[1] - freedoms.shape[1]])


class ReducedLoops:
    """The reduced closure equations of loops whose chords are the cuts, in the same order."""

    def __init__(self, loops: LoopKinematics, cuts: Sequence[Cut]) -> None:
        self.loops, self.cuts, self.units = loops, tuple(cuts), loops.units
        self.state, self.integrate = loops.state, loops.integrate
        self._projections = [cut.equations for cut in cuts]
        self._nodes = np.array([loops.row(cut.node) for cut in cuts], dtype=int)
        self._frames = np.array([cut.T_node_frame for cut in cuts]).reshape(-1, 4, 4)
        self._lengths = np.array([cut.length for cut in cuts])

    def residual(self, state: State) -> Residual:
        """Return the kept components of the closure errors as twists, then the couplings'."""
        error = screw.log(state.T_world_target @ screw.inverse(state.T_world_chord))
        errors = np.moveaxis(error, 1, 0)[..., None]
        coupled = self.loops.coupling_errors(state.q)
        return self._rows(state, errors, coupled[..., None])[..., 0]

    def residual_jacobian(self, state: State) -> Jacobian:
        """Return the kept rows on velocities, exact where the loops are closed."""
        twists = np.swapaxes(state.screws, -1, -2)
        coupling = self.loops.coupling_rows(state.q)
        return self._rows(state, (signs * twists for signs in self.loops.incidence), coupling)

    jacobian = residual_jacobian  # the rows act on twists around the loops

    def bias(self, state: State, velocity: Rates) -> Residual:
        """Return the rate of the rows times the velocity, where the loops are closed."""
        rates = self.loops.screw_rates(state.screws, velocity) * velocity[..., None]
        twists = np.einsum("lk,nki->nli", self.loops.incidence, rates)
        coupling = self.loops.coupling_bias(state.q, np.atleast_2d(velocity))
        return self._rows(state, np.moveaxis(twists[..., None], 1, 0), coupling[..., None])[..., 0]

    def loop_rows(self, state: State, twists: Array) -> Jacobian:
        """Return the kept components of k twists around each loop, (N, L, 6, k); couplings zero."""
        coupling = np.zeros((len(state.q), len(self.loops.coupling), twists.shape[-1]))
        return self._rows(state, np.moveaxis(twists, 1, 0), coupling)

    def wrenches(self, state: State, multipliers: Residual) -> Wrench:
        """Return the wrenches in the loops that multipliers of the kept rows exert, (N, L, 6)."""
        ends = np.cumsum([kept.shape[-2] for kept in self._projections])
        to_cuts = np.moveaxis(self._to_cuts(state), 1, 0)
        parts = np.split(multipliers, ends, axis=1)  # the last ones are the couplings'
        wrenches = [
            part[:, None] @ kept @ to_cut
            for kept, part, to_cut in zip(self._projections, parts, to_cuts, strict=False)
        ]
        return np.concatenate([np.zeros((len(state.q), 0, 6)), *wrenches], axis=1)

    def _to_cuts(self, state: State) -> Array:
        """Return matrices from root-frame twists to scaled ones in the cut frames, (N, L, 6, 6)."""
        poses = state.T_world_node[:, self._nodes] @ self._frames
        result = screw.adjoint(screw.inverse(poses))
        result[..., :3, :] /= self._lengths[..., None, None]
        return result

    def _rows(self, state: State, twists: Iterable[Array], coupling: Array) -> Array:
        """Project root-frame twists around each loop, (N, 6, k), and append the couplings."""
        to_cuts = np.moveaxis(self._to_cuts(state), 1, 0)
        parts = [
            kept @ to_cut @ around
            for kept, to_cut, around in zip(self._projections, to_cuts, twists, strict=True)
        ]
        return np.concatenate([*parts, coupling], axis=1)


def independent_rows(jacobian: Jacobian, count: int) -> Indices:
    """Return the places of ``count`` well-conditioned independent rows, increasing."""
    return np.sort(clearest_columns(jacobian.T, count))


def without_rows(
    cuts: Sequence[Cut],
    loops: LoopKinematics,
    q: Coordinates,
    chosen: Sequence[int],
    count: int,
    kind: Kind,
    rtol: float,
) -> list[Cut]:
    """Drop up to ``count`` kept rows of chosen cuts that depend on others at a configuration."""
    reduced = ReducedLoops(loops, cuts)
    jacobian = reduced.residual_jacobian(loops.state(q))[0] * loops.units
    owner = [(i, k) for i, cut in enumerate(cuts) for k in range(cut.kept + cut.edge.freedoms)]
    free = [r for r, (i, k) in enumerate(owner) if i in chosen and k < cuts[i].kept]
    # Thinning looks at chosen cuts alone: what moving loops say here they need not say elsewhere.
    stay = set(range(len(jacobian))) - set(free)
    fixed = [r for r in stay if kind == "numerical" or (r < len(owner) and owner[r][0] in chosen)]
    # What the rows that stay anyway say already is projected out before rows are picked.
    independent_parts = outside(jacobian[fixed], jacobian[free], rtol)
    size = float(np.max(np.linalg.norm(jacobian, axis=1), initial=0.0))
    needed = int(np.linalg.matrix_rank(independent_parts, tol=rtol * size))
    picked = {free[i] for i in independent_rows(independent_parts, max(len(free) - count, needed))}
    result = list(cuts)
    for i in chosen:
        rows_of_cut = [r for r in free if owner[r][0] == i]
        keep = [owner[r][1] for r in rows_of_cut if r in picked]
        drop = [owner[r][1] for r in rows_of_cut if r not in picked]
        gone = np.hstack([getattr(cuts[i], kind), cuts[i].rows[:, drop]])
        changed: dict[str, Any] = {"rows": read_only(cuts[i].rows[:, keep]), kind: read_only(gone)}
        result[i] = replace(cuts[i], **changed)
    return result


def outside(fixed: Jacobian, rows: Jacobian, rtol: float = VANISHING) -> Jacobian:
    """Return the parts of some rows that lie outside the row space of others."""
    if not len(fixed):
        return rows
    _, s, vt = np.linalg.svd(fixed, full_matrices=False)
    basis = vt[s > rtol * max(float(np.max(s, initial=0.0)), TINY)]
    return np.asarray(rows - (rows @ basis.T) @ basis)
