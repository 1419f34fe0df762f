"""Reduced loop constraints: the rows that can matter, constant in a frame on one body.

Müller (2014), section 6, generalised to several loops as described in ``propagation`` and
``closing``. The rows act on the relative twist at the cut joint; what they leave out can never
occur on the set of configurations that is connected with the assembled one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regularize.errors import ModelError
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, read_only
from regularize.loops.kinematics import LoopKinematics, State
from regularize.loops.least_norm import clearest_columns
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import Edge, NodeId
from regularize.reduction.one_loop import kept_rows
from regularize.tolerances import TINY, VANISHING

Kind = Literal["thinned", "numerical"]


@dataclass(frozen=True, eq=False)
class Cut:
    """One loop's closing joint with the rows that are kept of it.

    The *cut frame* is fixed on one of the two bodies, has the axes of the ground and its origin at
    the centre of the block at the assembled configuration. Covectors act on twists in that frame
    whose linear part is divided by ``length``.

    Attributes:
        edge: The cut joint.
        cycle: The loop that it closes.
        node: Node that carries the cut frame.
        T_node_frame: The cut frame in that node's frame, shape (4, 4).
        length: Length by which linear parts are divided, in metres.
        freedoms: Orthonormal basis of the joint's own freedoms, shape (6, f).
        rows: Kept covectors, orthonormal, shape (6, kept).
        removed: Covectors that can never matter, orthonormal, shape (6, removed).
        thinned: Covectors removed because the joints concerned are locked, shape (6, t).
        numerical: Covectors removed on numerical evidence only, shape (6, u).
    """

    edge: Edge
    cycle: Cycle
    node: NodeId
    T_node_frame: Array
    length: float
    freedoms: Array
    rows: Array
    removed: Array
    thinned: Array
    numerical: Array

    @property
    def constraints(self) -> int:
        """Rows of the unreduced joint."""
        return 6 - self.edge.freedoms

    @property
    def kept(self) -> int:
        """Rows that are kept."""
        return int(self.rows.shape[1])

    @property
    def on_child(self) -> bool:
        """Whether the cut frame is fixed on the child body."""
        return self.node == self.edge.child


class ReducedLoops:
    """The reduced closure equations of some loops, as a constraint set.

    Args:
        loops: Kinematics whose chords are the cuts.
        cuts: The cuts, in the order of ``loops.chords``.
    """

    geometry = ("_projections", "_frames", "_lengths")  # beside that of the loops

    def __init__(self, loops: LoopKinematics, cuts: Sequence[Cut]) -> None:
        """Collect the projections and frames."""
        self.loops, self.cuts = loops, tuple(cuts)
        # A chord's own freedoms stay as equations: they determine its own coordinates.
        self._projections = [np.hstack([cut.rows, cut.freedoms]).T for cut in cuts]
        self._nodes = np.array([loops.row(cut.node) for cut in cuts], dtype=int)
        self._frames = np.array([cut.T_node_frame for cut in cuts]).reshape(-1, 4, 4)
        self._lengths = np.array([cut.length for cut in cuts])

    @property
    def shape(self) -> tuple[object, ...] | None:
        """What rows that differ in geometry alone have in common; None where more may differ."""
        kept = [projection.shape for projection in self._projections]
        own = self.loops.shape
        return None if own is None else (own, self._nodes.tobytes(), *kept)

    @property
    def units(self) -> Array:
        """One unit of every velocity, shape (n,)."""
        return self.loops.units

    def state(self, q: Array) -> State:
        """Poses and screws at configurations (N, n)."""
        return self.loops.state(q)

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configurations after a unit of time at constant velocities, shape (N, n)."""
        return self.loops.integrate(q, velocity)

    def jacobian(self, state: State) -> Array:
        """The same as ``residual_jacobian``: the rows are twists around the loops."""
        return self.residual_jacobian(state)

    def bias(self, state: State, velocity: Array) -> Array:
        """Rate of the rows times the velocity, where the loops are closed, shape (N, m)."""
        rates = self.loops.screw_rates(state.screws, velocity) * velocity[..., None]
        twists = np.einsum("lk,nki->nli", self.loops.incidence, rates)
        coupling = self.loops.coupling_bias(state.q, np.atleast_2d(velocity))
        return self._rows(state, np.moveaxis(twists[..., None], 1, 0), coupling[..., None])[..., 0]

    def to_cuts(self, state: State) -> Array:
        """Twists in the root frame to those in each cut's frame, scaled, shape (N, L, 6, 6)."""
        poses = state.T_world_node[:, self._nodes] @ self._frames
        result = screw.adjoint(screw.inverse(poses))
        result[..., :3, :] /= self._lengths[..., None, None]
        return result

    def _rows(self, state: State, twists: Iterable[Array], coupling: Array) -> Array:
        """Kept components of twists around each loop, (N, 6, k) in the root frame; couplings."""
        parts = [
            kept @ to_cut @ around
            for kept, to_cut, around in zip(
                self._projections, np.moveaxis(self.to_cuts(state), 1, 0), twists, strict=True
            )
        ]
        return np.concatenate([*parts, coupling], axis=1)

    def residual(self, state: State) -> Array:
        """Kept components of the closure errors as twists, then the couplings', shape (N, m)."""
        error = screw.log(state.T_world_target @ screw.inverse(state.T_world_chord))
        coupled = self.loops.coupling_errors(state.q)
        errors = np.moveaxis(error, 1, 0)[..., None]
        return self._rows(state, errors, coupled[..., None])[..., 0]

    def residual_jacobian(self, state: State) -> Array:
        """Kept rows on velocities, shape (N, m, n); exact where the loops are closed."""
        twists = np.swapaxes(state.screws, -1, -2)
        coupling = self.loops.coupling_rows(state.q)
        return self._rows(state, (signs * twists for signs in self.loops.incidence), coupling)

    def wrenches(self, state: State, multipliers: Array) -> Array:
        """What multipliers of the kept rows are as wrenches around the loops, shape (N, L, 6).

        Args:
            state: State of the loops.
            multipliers: One per row, shape (N, m); those of couplings are left out.
        """
        ends = np.cumsum([kept.shape[-2] for kept in self._projections])
        own = np.split(multipliers, ends, axis=1)
        found = [
            part[:, None] @ kept @ to_cut
            for kept, part, to_cut in zip(
                self._projections, own, np.moveaxis(self.to_cuts(state), 1, 0), strict=False
            )
        ]
        return np.concatenate([np.zeros((len(state.q), 0, 6)), *found], axis=1)

    def loop_rows(self, state: State, twists: Array) -> Array:
        """Kept components of given twists around the loops, shape (N, m, k), couplings zero.

        Args:
            state: State of the loops.
            twists: k twists around each loop in the root frame, shape (N, L, 6, k).
        """
        coupling = np.zeros((len(state.q), len(self.loops.coupling), twists.shape[-1]))
        return self._rows(state, np.moveaxis(twists, 1, 0), coupling)


def cut_of(
    edge: Edge,
    cycle: Cycle,
    node: NodeId,
    space: Array,
    screws: Array,
    *,
    T_world_node: Array,
    center: Array,
    length: float,
) -> Cut:
    """The kept and the removed covectors of one cut.

    Args:
        edge: The cut joint.
        cycle: The loop that it closes.
        node: Node on which the space does not move.
        space: Basis of the space of relative twists, scaled and about the centre, shape (6, d).
        screws: The joint's screws in the same coordinates, shape (6, f).
        T_world_node: Assembled pose of the node, shape (4, 4).
        center: Centre of the block, world coordinates in metres, shape (3,).
        length: Size of the block in metres.

    Raises:
        ModelError: The joint's screws are not independent.
    """
    freedoms = subalgebra.span(screws)
    if freedoms.shape[1] != edge.freedoms:
        raise ModelError(f"joint {edge.name!r}: its freedoms are not independent")
    kept = kept_rows(space, freedoms)
    return Cut(
        edge=edge,
        cycle=cycle,
        node=node,
        T_node_frame=read_only(screw.inverse(T_world_node) @ screw.transform(None, center)),
        length=length,
        freedoms=read_only(freedoms),
        rows=read_only(kept),
        removed=read_only(subalgebra.complement(np.hstack([kept, freedoms]))),
        thinned=subalgebra.ZERO,
        numerical=subalgebra.ZERO,
    )


def independent_rows(jacobian: Array, count: int) -> NDArray[np.intp]:
    """Indices of ``count`` well-conditioned independent rows (QR with pivoting), increasing."""
    return np.sort(clearest_columns(jacobian.T, count))


def without_rows(
    cuts: Sequence[Cut],
    loops: LoopKinematics,
    q: Array,
    chosen: Sequence[int],
    count: int,
    kind: Kind,
    rtol: float,
) -> list[Cut]:
    """Drop kept rows that depend on others at a configuration.

    Rows that may not be dropped can be dependent among themselves; then fewer rows are dropped, for
    none that is independent of the others may go. Thinning looks at the chosen cuts alone: what
    moving loops say at one configuration they need not say at another.

    Args:
        cuts: All cuts of the loops, in the order of ``loops.chords``.
        loops: Kinematics whose chords are the cuts.
        q: The configuration, shape (n,).
        chosen: Indices of the cuts whose rows may be dropped.
        count: Largest number of rows to drop.
        kind: ``thinned`` or ``numerical``: the attribute of ``Cut`` that receives them.
        rtol: Relative tolerance of ranks.
    """
    reduced = ReducedLoops(loops, cuts)
    jacobian = reduced.residual_jacobian(loops.state(q))[0] * loops.units
    owner = [(i, k) for i, cut in enumerate(cuts) for k in range(cut.kept + cut.edge.freedoms)]
    free = [r for r, (i, k) in enumerate(owner) if i in chosen and k < cuts[i].kept]
    stays = set(range(len(jacobian))) - set(free)
    fixed = [r for r in stays if kind == "numerical" or (r < len(owner) and owner[r][0] in chosen)]
    # What the rows that stay anyway say already is projected out before rows are picked.
    rest = outside(jacobian[fixed], jacobian[free], rtol)
    size = float(np.max(np.linalg.norm(jacobian, axis=1), initial=0.0))
    needed = int(np.linalg.matrix_rank(rest, tol=rtol * size))
    picked = {free[i] for i in independent_rows(rest, max(len(free) - count, needed))}
    result = list(cuts)
    for i in chosen:
        mine = [r for r in free if owner[r][0] == i]
        stay = [owner[r][1] for r in mine if r in picked]
        drop = [owner[r][1] for r in mine if r not in picked]
        cut = cuts[i]
        dropped = read_only(cut.rows[:, drop])
        cut = replace(cut, rows=read_only(cut.rows[:, stay]))
        received: dict[str, Any] = {kind: read_only(np.hstack([getattr(cut, kind), dropped]))}
        result[i] = replace(cut, **received)
    return result


def outside(fixed: Array, rows: Array, rtol: float = VANISHING) -> Array:
    """What of some rows lies outside the row space of others."""
    if not len(fixed):
        return rows
    _, s, vt = np.linalg.svd(fixed, full_matrices=False)
    basis = vt[s > rtol * max(float(np.max(s, initial=0.0)), TINY)]
    return np.asarray(rows - (rows @ basis.T) @ basis)
