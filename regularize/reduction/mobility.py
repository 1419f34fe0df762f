r"""True mobility: ranks at generic configurations, never at the pose as given alone.

With n joint freedoms and L loops, ``gruebler`` = n - 6 L - couplings and ``actual`` = n - rank,
where the rank of the 6 L + C closure equations is taken at configurations reached by walking along
the loops. ``finite`` is the dimension of the set of configurations itself, which is smaller where
the mechanism is shaky: tangent directions that no motion follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array, read_only
from regularize.lie.subalgebra import Rank, decide_rank
from regularize.loops.constraints import in_parts
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.finite import LocalMobility
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import moved
from regularize.mechanism.cycles import MANY_LOOPS, Cycle
from regularize.mechanism.graph import EdgeId
from regularize.tolerances import EXACT, UNNOTICED, Tolerances

if TYPE_CHECKING:
    from regularize.loops.finite import LocalBranch

#: Configurations at which the rank of many loops is taken.
FEW = 3


@dataclass(frozen=True, eq=False)
class CellMobility:
    """Mobility of one coupled component of loops.

    Attributes:
        edges: The edges concerned.
        freedoms: Sum of their freedoms.
        equations: Six per loop and one per coupling.
        here: Rank at the assembled pose.
        generic: Rank at generic configurations.
        local: Dimension of the set of configurations, and what it rests on.
        modes: Mobility of each kind of configuration found and the number of walkers on it.
        branches: Those that meet at the assembled pose, where there may be more than one.
        complete: Whether nothing else meets there: terms of second order or the rank leave no room.
        configurations: Those that were visited, the assembled one first, shape (N, n).
        tolerances: What counted as closed and as dependent.
    """

    edges: tuple[EdgeId, ...]
    freedoms: int
    equations: int
    here: Rank
    generic: Rank
    local: LocalMobility
    modes: tuple[tuple[int, int], ...]
    branches: tuple[LocalBranch, ...]
    complete: bool
    configurations: Array
    tolerances: Tolerances = EXACT

    @property
    def finite(self) -> int | None:
        """Dimension of the set of configurations; None where it is not known."""
        return self.local.mobility

    @property
    def components(self) -> tuple[tuple[int | None, int], ...]:
        """Mobility (None: not known) and rank of the components that meet at the assembled pose."""
        found = tuple((branch.mobility, branch.rank) for branch in self.branches)
        return found or ((self.finite, self.generic.rank),)

    @property
    def kinematotropic(self) -> bool:
        """Whether components of different mobility meet at the assembled pose (Wohlhart 1996)."""
        return len({branch.mobility for branch in self.branches} - {None}) > 1

    @property
    def shaky(self) -> bool:
        """Whether velocities are possible all along a component that no motion follows."""
        return any(m is not None and m < self.freedoms - rank for m, rank in self.components)

    @property
    def actual(self) -> int:
        """Freedoms minus generic rank."""
        return self.freedoms - self.generic.rank

    @property
    def redundant(self) -> int:
        """Equations minus generic rank."""
        return self.equations - self.generic.rank


@dataclass(frozen=True, eq=False)
class Trail:
    """A walk along the kept rows of a component, and what was met on it.

    Attributes:
        visited: Its configurations, shape (steps, walkers, n).
        worst: Largest closure error there, lengths scaled.
        farthest: Largest way of a joint, in metres, and largest turn of a body, shape (2,).
        values: Singular values of all closure equations, at the pose first, shape (1 + N, k).
        beside: The same a little off where the rank is clearest, shape (3, k).
    """

    visited: Array
    worst: float
    farthest: Array
    values: Array
    beside: Array


def cycle_incidence(loops: LoopKinematics, cycles: Sequence[Cycle]) -> Array:
    """Signs of every coordinate in some loops, shape (loops, n)."""
    signs = np.zeros((len(cycles), loops.freedoms))
    for row, cycle in zip(signs, cycles, strict=True):
        for e in cycle.edges:
            row[loops.local(e)] = cycle.direction(loops.graph, e)
    return signs


def normal_incidence(loops: LoopKinematics, signs: Array) -> Array:
    """Combinations of independent loops (L, n) that are normal to each other, as large on average.

    Singular values of their equations are the same whichever loops were chosen.
    """
    joints = [loops.local(e)[0] for e in loops.edges if loops.local(e)]
    if not 1 < len(signs) <= min(MANY_LOOPS, len(joints)):
        return signs
    _, triangle = np.linalg.qr(signs[:, joints].T)
    if np.min(np.abs(np.diag(triangle))) < UNNOTICED:  # welds alone tell them from each other
        return signs
    size = np.linalg.norm(triangle) / np.sqrt(len(signs))
    return np.asarray(size * np.linalg.solve(triangle.T, signs))


def short_incidence(loops: LoopKinematics, cycles: Sequence[Cycle]) -> Array:
    """Signs of every coordinate in independent short loops, normal to each other, shape (L, n)."""
    return normal_incidence(loops, cycle_incidence(loops, cycles))


def singular_values(
    loops: LoopKinematics, q: Array, cycles: Sequence[Cycle], *, couplings: bool = True
) -> Array:
    """Singular values of the scaled closure equations of independent loops, shape (N, k).

    The loops are the short ones whatever the spanning tree: along the tree of a long row of loops
    the equations get worse conditioned with every loop, and a rank is harder to tell.
    """
    signs = short_incidence(loops, cycles)
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
    tolerances: Tolerances,
    *,
    rng: np.random.Generator,
    trail: Trail | None = None,
) -> CellMobility:
    """Mobility of the loops of one coupled component.

    Args:
        loops: Kinematics of the coupled component.
        q: Assembled configuration of the coupled component, shape (n,).
        configurations: Closed configurations of walkers, shape (steps, walkers, n).
        cycles: Its short independent loops.
        tolerances: What counts as closed and as dependent.
        rng: Source of the random directions.
        trail: What is known of these configurations.
    """
    rtol = tolerances.rtol
    walkers, small = configurations.shape[1], len(loops.chords) <= MANY_LOOPS
    if not small:
        # A few generic configurations tell the rank as well, and each costs seconds here.
        configurations, walkers = configurations[-1:, :FEW], min(walkers, FEW)
    every = int(np.prod(configurations.shape[:-1]))
    flat = np.concatenate([q[None], configurations.reshape(every, loops.freedoms)])
    # Where walkers come to rest that cannot move at all is the assembled pose and rounding.
    away = np.max(np.abs(flat - q) / loops.units, axis=1, initial=0.0) > EXACT.apart
    flat[~away] = q
    added = None if small else _added_up(loops, flat, cycles, rtol, rng)
    if added is not None:
        return added
    trail = trail if away[1:].all() else None
    values = singular_values(loops, flat, cycles) if trail is None else trail.values
    best, rank = clearest(values, rtol)
    nearby = None if trail is None else trail.beside
    local = local_mobility(loops, flat[best], rank, cycles, tolerances, rng, nearby)
    here = decide_rank(values[0], rtol)
    branches: tuple[LocalBranch, ...] = ()
    complete = local.mobility == loops.freedoms - here.rank
    if small and not complete:
        local, branches, complete = meeting(loops, q, here.rank, local, cycles, tolerances, rng)
    if branches:
        near = np.concatenate([branch.ends for branch in branches])
        far = np.array([branch.local.q for branch in branches])
        flat = np.concatenate([q[None], near, far, flat[1:]])  # what comes last is a walk's end
        values = singular_values(loops, flat, cycles)
        best, rank = clearest(values, rtol)
    last = values[len(values) - walkers :]
    found = [loops.freedoms - int(r) for r in np.sum(last > rtol * last[:, :1], axis=1)]
    return CellMobility(
        edges=loops.edges,
        freedoms=loops.freedoms,
        equations=6 * len(loops.chords) + len(loops.coupling),
        here=here,
        generic=decide_rank(values[best], rtol),
        local=local,
        modes=tuple(sorted({m: found.count(m) for m in found}.items())),
        branches=branches,
        complete=complete,
        configurations=read_only(flat),
        tolerances=tolerances,
    )


def _added_up(
    loops: LoopKinematics, q: Array, cycles: Sequence[Cycle], rtol: float, rng: np.random.Generator
) -> CellMobility | None:
    """Mobility of many loops from the ranks of each, at configurations (N, n), the pose first.

    None where they do not add up everywhere: at the pose, on the walks, and beside a configuration
    of the walks, off the closed ones too.
    """
    from regularize.reduction.many_loops import each_configuration  # loaded where there are many

    found = each_configuration(loops, q, cycles, rtol)
    clear = [0.0 if each.factors is None else each.factors.clearness for each in found]
    generic = int(np.argmax(clear))
    # Along a tree that passes all loops small steps add up, and move most what is far away: what
    # counts is how far they open a loop, in its own size.
    steps, start = (
        aside(loops.freedoms, rng) / len(loops.chords),
        np.repeat(q[[generic]], 3, axis=0),
    )
    opened = loops.residual(loops.state(moved(loops, start, steps)))
    far = float(np.abs(opened).max()) * loops.length / found[generic].smallest
    beside = moved(loops, start, steps * 0.05 / max(0.05, far))
    ranks = {each.rank for each in [*found, *each_configuration(loops, beside, cycles, rtol)]}
    if len(ranks) > 1 or None in ranks:
        return None
    rank = found[generic].rank or 0
    evidence = Rank(rank, read_only(np.zeros(0)), float("inf"), rank, rank)
    return CellMobility(
        edges=loops.edges,
        freedoms=loops.freedoms,
        equations=6 * len(loops.chords) + len(loops.coupling),
        here=evidence,
        generic=evidence,
        local=_counted(loops, q[generic], loops.freedoms - rank),
        modes=((loops.freedoms - rank, min(FEW, len(q) - 1)),),
        branches=(),
        complete=True,
        configurations=read_only(q),
    )


def aside(freedoms: int, rng: np.random.Generator) -> Array:
    """Small steps to three configurations off the closed ones, scaled, shape (3, n)."""
    return 0.05 * rng.normal(size=(3, freedoms))


def _counted(loops: LoopKinematics, q: Array, mobility: int) -> LocalMobility:
    """What counting says of the motions at a configuration."""
    nothing = np.zeros((loops.freedoms, 0))
    return LocalMobility(mobility, "counted", read_only(q), nothing, nothing)


def clearest(values: Array, rtol: float) -> tuple[int, int]:
    """Where the rank is told most clearly, and the rank.

    It can only drop at special configurations, so the largest one is generic; where its last
    singular value is largest tells it most clearly.
    """
    ranks = np.sum(values > rtol * values[:, :1], axis=1)
    largest = int(np.max(ranks))
    if largest == 0:
        return 0, 0
    last_counted = values[:, largest - 1] / values[:, 0]
    return int(np.argmax(np.where(ranks == largest, last_counted, 0.0))), largest


def meeting(
    loops: LoopKinematics,
    q: Array,
    rank: int,
    local: LocalMobility,
    cycles: Sequence[Cycle],
    tolerances: Tolerances,
    rng: np.random.Generator,
) -> tuple[LocalMobility, tuple[LocalBranch, ...], bool]:
    """What is known of the motions at a pose where more than one component may meet.

    Args:
        loops: Kinematics of the coupled component.
        q: The pose, shape (n,).
        rank: Rank of the closure equations there.
        local: What is known of the motions of walkers.
        cycles: Short independent loops.
        tolerances: What counts as closed and as dependent.
        rng: Source of random directions.

    Returns:
        What is known of the component of highest rank; the branches that were found, none where
        nothing moves, or one component alone is there; and whether nothing else meets there.
    """
    from regularize.loops.branches import BranchPoint  # needed at special poses alone

    def ranks(q: Array) -> NDArray[np.intp]:
        values = singular_values(loops, q, cycles)
        return np.asarray(np.sum(values > tolerances.rtol * values[:, :1], axis=1))

    here = BranchPoint(loops, q, rank, tolerances, ranks, rng)
    if here.single(local.mobility):
        return local, (), True
    branches, complete = here.branches()
    if branches:
        return max(branches, key=lambda branch: branch.rank).local, branches, complete
    # What walkers did is not undone by series.
    rigid = None if local.mobility else here.rigid()
    return rigid or local, (), rigid is not None


def generic_configurations(
    loops: LoopKinematics,
    q: Array,
    tolerances: Tolerances,
    *,
    rng: np.random.Generator,
    walkers: int = 8,
    steps: int = 4,
) -> Array:
    """Configurations met on random walks, shape (steps, walkers, n).

    Args:
        loops: The loops.
        q: Where the walkers start, shape (n,).
        tolerances: What counts as closed and as dependent.
        rng: Source of the random directions.
        walkers: Number of walkers.
        steps: Steps of each.
    """
    along = Continuation(loops, tolerances)
    visited = random_walks(along, q, walkers=walkers, steps=steps, rng=rng)
    if np.all(np.abs(visited[-1] - q) <= tolerances.apart * loops.units):
        # Nothing moves: the assembled configuration is the only one.
        visited[:] = q
    return visited


def local_mobility(
    loops: LoopKinematics,
    q: Array,
    rank: int,
    cycles: Sequence[Cycle],
    tolerances: Tolerances,
    rng: np.random.Generator,
    nearby: Array | None = None,
) -> LocalMobility:
    """Dimension of the set of configurations near a generic one, and what it rests on.

    Where the rank stays the same off the closed configurations too, it follows from the theorem of
    constant rank; where steps in any direction that the equations allow stay closed, from these.
    Elsewhere some velocities may not be followed by any motion.
    """
    k = loops.freedoms - rank
    steps = aside(loops.freedoms, rng)
    start = np.repeat(q[None], 3, axis=0)
    settled = k == 0
    if not settled:
        if nearby is None:  # the singular values of the equations there
            nearby = singular_values(loops, moved(loops, start, steps), cycles)
        settled = max(decide_rank(s, tolerances.rtol).rank for s in nearby) == rank
    if not settled:
        along = Continuation(loops, tolerances)
        steps = 0.05 * along.tangents(start, steps)
        ranks = np.full(3, rank)
        reached = along.corrected(steps, moved(loops, start, steps), along.held, ranks)
        settled = bool(reached.good.all())
    if settled:
        return _counted(loops, q, k)
    from regularize.loops.finite import finite_mobility  # where counts do not settle it

    return finite_mobility(loops, q, rank, tolerances, rng)
