r"""True mobility: ranks at generic configurations, never at the pose as given alone.

With n joint freedoms and L loops, ``gruebler`` = n - 6 L - couplings and ``actual`` = n - rank,
where the rank of the 6 L + C closure equations is taken at configurations reached by walking along
the loops. ``finite`` is the dimension of the set of configurations itself, which is smaller where
the mechanism is shaky: tangent directions that no motion follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.lie.screw import Array, read_only
from regularize.manifold.batches import in_parts
from regularize.manifold.continuation import Continuation, random_walks
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask, moved, project
from regularize.manifold.tolerances import EXACT, Tolerances
from regularize.model.cycles import Cycle
from regularize.model.graph import EdgeId

#: Loops of one cell above which the rank is taken at a few configurations only.
MANY_LOOPS = 40
FEW = 3


@dataclass(frozen=True, eq=False)
class Rank:
    """A rank and the evidence for it.

    Attributes:
        rank: The decision.
        singular_values: Largest first, shape (k,).
        gap: Ratio of the last singular value counted to the first one not counted (inf: none).
        lowest: Rank with a tolerance a hundred times larger.
        highest: Rank with a tolerance a hundred times smaller.
    """

    rank: int
    singular_values: Array
    gap: float
    lowest: int
    highest: int


def decide_rank(singular_values: Array, rtol: float) -> Rank:
    """Rank by a relative tolerance, with the gap and the spread over tolerances as evidence."""
    s = np.asarray(singular_values, dtype=np.float64)
    largest = float(s[0]) if len(s) else 0.0
    counts = [int(np.sum(s > tolerance * largest)) for tolerance in (rtol, 100 * rtol, rtol / 100)]
    rank = counts[0] if largest > 0.0 else 0
    dropped = float(s[rank]) if rank < len(s) else 0.0
    gap = float(s[rank - 1]) / dropped if rank and dropped > 0.0 else float("inf")
    return Rank(rank, read_only(s), gap, counts[1], counts[2])


@dataclass(frozen=True, eq=False)
class CellMobility:
    """Mobility of one cell of loops.

    Attributes:
        edges: The edges concerned.
        freedoms: Sum of their freedoms.
        equations: Six per loop and one per coupling.
        here: Rank at the assembled pose.
        generic: Rank at generic configurations.
        finite: Dimension of the set of configurations.
        modes: Mobility of each kind of configuration found and the number of walkers on it.
        configurations: Those that were visited, the assembled one first, shape (N, n).
    """

    edges: tuple[EdgeId, ...]
    freedoms: int
    equations: int
    here: Rank
    generic: Rank
    finite: int
    modes: tuple[tuple[int, int], ...]
    configurations: Array

    @property
    def actual(self) -> int:
        """Freedoms minus generic rank."""
        return self.freedoms - self.generic.rank

    @property
    def redundant(self) -> int:
        """Equations minus generic rank."""
        return self.equations - self.generic.rank


def cycle_incidence(loops: LoopKinematics, cycles: Sequence[Cycle]) -> Array:
    """Signs of every coordinate in some loops, shape (loops, n)."""
    signs = np.zeros((len(cycles), loops.freedoms))
    for row, cycle in zip(signs, cycles, strict=True):
        for e in cycle.edges:
            row[loops.local(e)] = cycle.direction(loops.graph, e)
    return signs


def singular_values(
    loops: LoopKinematics, q: Array, cycles: Sequence[Cycle], *, couplings: bool = True
) -> Array:
    """Singular values of the scaled closure equations of independent loops, shape (N, k).

    The loops are the short ones whatever the spanning tree: along the tree of a long row of loops
    the equations get worse conditioned with every loop, and a rank is harder to tell.
    """
    signs = cycle_incidence(loops, cycles)
    rows = None if couplings else 6 * len(cycles)

    def values(q: Array) -> Array:
        jacobian = loops.jacobian(loops.state(q), signs)[:, :rows] * loops.units
        return np.asarray(np.linalg.svd(jacobian, compute_uv=False))

    return in_parts(values, q)


def cell_mobility(
    loops: LoopKinematics,
    q: Array,
    configurations: Array,
    cycles: Sequence[Cycle],
    *,
    rtol: float,
    rng: np.random.Generator,
) -> CellMobility:
    """Mobility of the loops of one cell.

    Args:
        loops: Kinematics of the cell.
        q: Assembled configuration of the cell, shape (n,).
        configurations: Closed configurations of walkers, shape (steps, walkers, n).
        cycles: Its short independent loops.
        rtol: Relative tolerance of ranks.
        rng: Source of the random directions.
    """
    walkers = configurations.shape[1]
    if len(loops.chords) > MANY_LOOPS:
        # A few generic configurations tell the rank as well, and each costs seconds here.
        configurations, walkers = configurations[-1:, :FEW], min(walkers, FEW)
    every = int(np.prod(configurations.shape[:-1]))
    flat = np.concatenate([q[None], configurations.reshape(every, loops.freedoms)])
    values = singular_values(loops, flat, cycles)
    ranks = np.sum(values > rtol * values[:, :1], axis=1)
    # The rank can only drop at special configurations, so the largest one is generic; the
    # configuration where its last singular value is largest tells it most clearly.
    largest = int(np.max(ranks))
    clearest = 0
    if largest > 0:
        last_counted = values[:, largest - 1] / values[:, 0]
        clearest = int(np.argmax(np.where(ranks == largest, last_counted, 0.0)))
    found = [loops.freedoms - int(rank) for rank in ranks[-walkers:]] if walkers else []
    return CellMobility(
        edges=loops.edges,
        freedoms=loops.freedoms,
        equations=6 * len(loops.chords) + len(loops.coupling),
        here=decide_rank(values[0], rtol),
        generic=decide_rank(values[clearest], rtol),
        finite=finite_mobility(loops, flat[clearest], largest, cycles, rtol, rng),
        modes=tuple(sorted({m: found.count(m) for m in found}.items())),
        configurations=read_only(flat),
    )


def generic_configurations(
    loops: LoopKinematics,
    q: Array,
    *,
    rtol: float,
    rng: np.random.Generator,
    walkers: int = 8,
    steps: int = 4,
) -> Array:
    """Configurations met on random walks, shape (steps, walkers, n).

    Where no walker can move although velocities are allowed, the geometry may be special only up
    to the rounding of the file; the walk is then repeated with errors up to ``rtol`` accepted.
    """
    exact = Tolerances.of(rtol)
    for tolerances in (exact, replace(exact, closed=rtol, singular=rtol)):
        along = Continuation(loops, tolerances)
        visited = random_walks(along, q, walkers=walkers, steps=steps, rng=rng)
        if np.any(np.abs(visited[-1] - q) > 1e-3 * loops.units):
            return visited
    # Nothing moves: the assembled configuration is the only one.
    visited[:] = q
    return visited


def finite_mobility(
    loops: LoopKinematics,
    q: Array,
    rank: int,
    cycles: Sequence[Cycle],
    rtol: float,
    rng: np.random.Generator,
) -> int:
    """Dimension of the set of configurations near a generic one.

    Where the rank stays the same off the closed configurations too, it follows from the theorem of
    constant rank. Elsewhere small steps are corrected back onto the loops without any truncation:
    directions in which nothing really moves shrink with the square of the step.
    """
    tangent_dimension = loops.freedoms - rank
    if tangent_dimension == 0:
        return 0
    nearby = loops.integrate(
        np.repeat(q[None], 3, axis=0), 0.05 * rng.normal(size=(3, loops.freedoms)) * loops.units
    )
    off_loop = [decide_rank(s, rtol).rank for s in singular_values(loops, nearby, cycles)]
    if max(off_loop) == rank:
        return tangent_dimension
    start = np.repeat(q[None], 3 * tangent_dimension + 6, axis=0)
    along = Continuation(loops, Tolerances.of(rtol))
    headings = along.tangents(start, rng.normal(size=start.shape))
    return min(tangent_dimension, len(followed_velocities(loops, q, headings)))


def followed_velocities(
    loops: LoopKinematics, q: Array, headings: Array, held: Mask | None = None
) -> Array:
    """A basis of the velocities that motions really follow, scaled, shape (k, n).

    Where a mechanism is shaky, loops allow velocities that no motion follows: corrections of small
    steps take nearly all of them back.

    Args:
        loops: Kinematics of the loops.
        q: A closed configuration, shape (n,).
        headings: Velocities that the loops allow, in general position among them, largest entry
            one, scaled, shape (m, n).
        held: Velocities that stay zero, shape (n,).
    """
    step = 0.01
    start = np.repeat(q[None], len(headings), axis=0)
    untruncated = replace(EXACT, singular=1e-13)
    ends = moved(loops, start, step * headings)
    reached = project(loops, ends, held=held, tolerances=untruncated)
    followed = (reached.q - start)[reached.closed] / (step * loops.units)
    if len(followed) == 0:
        return followed
    _, sizes, V = np.linalg.svd(followed / np.sqrt(len(followed)), full_matrices=False)
    return np.asarray(V[sizes > 0.1 * max(1.0 / np.sqrt(loops.freedoms), float(sizes[0]))])
