r"""True mobility: ranks at generic configurations, never at the pose as given alone.

With n joint freedoms and L loops, ``gruebler`` = n - 6 L - couplings and ``actual`` = n - rank,
where the rank of the 6 L + C closure equations is taken at configurations reached by walking along
the loops. ``finite`` is the dimension of the set of configurations itself, which is smaller where
the mechanism is shaky: tangent directions that no motion follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.arrays import Array, Coordinates, Indices, Jacobian, Space, read_only
from regularize.lie.subalgebra import Rank, decide_rank
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.finite import LocalMobility
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import in_parts, moved
from regularize.mechanism.cycles import MANY_LOOPS, Cycle
from regularize.mechanism.graph import EdgeId, Graph
from regularize.tolerances import EXACT, UNNOTICED, Tolerances


def cycle_incidence(loops: LoopKinematics, cycles: Sequence[Cycle]) -> Array:
    """Return the signs with which loops pass the coordinates, shape (loops, n)."""
    signs = np.zeros((len(cycles), loops.freedoms))
    for row, cycle in zip(signs, cycles, strict=True):
        for e in cycle.edges:
            row[loops.local(e)] = cycle.direction(loops.graph, e)
    return signs


def normal_incidence(loops: LoopKinematics, signs: Array) -> Array:
    """Combine loops (L, n) so that singular values do not depend on which loops were chosen."""
    joints = [loops.local(e)[0] for e in loops.edges if loops.local(e)]
    if not 1 < len(signs) <= min(MANY_LOOPS, len(joints)):
        return signs
    _, triangle = np.linalg.qr(signs[:, joints].T)
    if np.min(np.abs(np.diag(triangle))) < UNNOTICED:  # welds alone tell them from each other
        return signs
    size = np.linalg.norm(triangle) / np.sqrt(len(signs))
    return np.asarray(size * np.linalg.solve(triangle.T, signs))


def singular_values(
    loops: LoopKinematics, q: Coordinates, cycles: Sequence[Cycle], *, couplings: bool = True
) -> Array:
    """Return singular values of the scaled closure equations of independent loops, (N, k)."""
    signs = None  # of a single loop
    if len(cycles) != 1:
        signs = normal_incidence(loops, cycle_incidence(loops, cycles))
    rows = None if couplings else 6 * len(cycles)

    def values(q: Coordinates) -> Array:
        jacobian = loops.jacobian(loops.state(q), signs)[:, :rows] * loops.units
        return np.asarray(np.linalg.svd(jacobian, compute_uv=False))

    return in_parts(values, q)


def clearest(values: Array, rtol: float) -> tuple[int, int]:
    """Return the singular values (of N, k) that show the generic rank best, and that rank."""
    ranks = np.sum(values > rtol * values[:, :1], axis=1)
    largest = int(np.max(ranks))
    if largest == 0:
        return 0, 0
    last_counted = values[:, largest - 1] / values[:, 0]
    return int(np.argmax(np.where(ranks == largest, last_counted, 0.0))), largest


if TYPE_CHECKING:
    from regularize.loops.finite import LocalBranch

#: Configurations at which the rank of many loops is taken.
FEW = 3


@dataclass(frozen=True, eq=False)
class CellMobility:
    """Mobility of one coupled component of loops."""

    edges: tuple[EdgeId, ...]  # the edges concerned
    freedoms: int  # sum of their freedoms
    equations: int  # six per loop and one per coupling
    here: Rank  # rank at the assembled pose
    generic: Rank  # rank at generic configurations
    local: LocalMobility  # dimension of the set of configurations, and what it rests on
    #: Mobility of each kind of configuration found and the number of walkers on it.
    modes: tuple[tuple[int, int], ...]
    #: Those that meet at the assembled pose, where there may be more than one.
    branches: tuple[LocalBranch, ...]
    #: Whether nothing else meets there: terms of second order or the rank leave no room.
    complete: bool
    configurations: Coordinates  # those that were visited, the assembled one first, shape (N, n)
    tolerances: Tolerances = EXACT  # what counted as closed and as dependent
    touching: int | None = None  # order of the closure that parts branches with one tangent

    @property
    def finite(self) -> int | None:
        """Dimension of the set of configurations; None where it is not known."""
        return self.local.mobility

    @property
    def components(self) -> tuple[tuple[int | None, int], ...]:
        """Mobility (None: not known) and rank of the components that meet at the assembled pose."""
        meeting = tuple((branch.mobility, branch.rank) for branch in self.branches)
        return meeting or ((self.finite, self.generic.rank),)

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


def cell_mobility(
    loops: LoopKinematics,
    q: Coordinates,
    configurations: Coordinates,
    cycles: Sequence[Cycle],
    tolerances: Tolerances,
    rng: np.random.Generator,
) -> CellMobility:
    """Return a component's mobility at its pose and visited configurations (steps, walkers, n)."""
    rtol = tolerances.rtol
    walkers, small = configurations.shape[1], len(loops.chords) <= MANY_LOOPS
    if not small:
        # A few generic configurations tell the rank as well, and each costs seconds here.
        configurations, walkers = configurations[-1:, :FEW], min(walkers, FEW)
    count = int(np.prod(configurations.shape[:-1]))
    visited = np.concatenate([q[None], configurations.reshape(count, loops.freedoms)])
    # Where walkers come to rest that cannot move at all is the assembled pose and rounding.
    resting = np.max(np.abs(visited - q) / loops.units, axis=1, initial=0.0) <= EXACT.apart
    visited[resting] = q
    added = None if small else _added_up(loops, visited, cycles, rtol, rng)
    branches: tuple[LocalBranch, ...] = ()
    touching: int | None = None
    if added is not None:
        generic, rank = added
        nothing = read_only(np.zeros(0))
        here = everywhere = Rank(rank, nothing, float("inf"), rank, rank)
        local, complete = _counted(loops, visited[generic], loops.freedoms - rank), True
        mobilities = [loops.freedoms - rank] * walkers
    else:
        values = singular_values(loops, visited, cycles)
        best, rank = clearest(values, rtol)
        local = local_mobility(loops, visited[best], rank, cycles, tolerances, rng)
        here = decide_rank(values[0], rtol)
        complete = local.mobility == loops.freedoms - here.rank
        if small and not complete:
            meeting = _meeting(loops, q, here.rank, local, cycles, tolerances, rng)
            local, branches, complete, touching = meeting
        if branches:
            near = np.concatenate([branch.ends for branch in branches])
            far = np.array([branch.local.q for branch in branches])
            # What comes last is a walk's end.
            visited = np.concatenate([q[None], near, far, visited[1:]])
            values = singular_values(loops, visited, cycles)
            best, _ = clearest(values, rtol)
        everywhere = decide_rank(values[best], rtol)
        ends = values[len(values) - walkers :]
        mobilities = [loops.freedoms - int(r) for r in np.sum(ends > rtol * ends[:, :1], axis=1)]
    modes = tuple(sorted({m: mobilities.count(m) for m in mobilities}.items()))
    equations = 6 * len(loops.chords) + len(loops.coupling)
    return CellMobility(
        *(loops.edges, loops.freedoms, equations, here, everywhere, local, modes),
        *(branches, complete, read_only(visited), tolerances if added is None else EXACT),
        touching=touching,
    )


def _added_up(
    loops: LoopKinematics,
    q: Coordinates,
    cycles: Sequence[Cycle],
    rtol: float,
    rng: np.random.Generator,
) -> tuple[int, int] | None:
    """Return the clearest configuration and the sum of loops' ranks where it is always the same."""
    from regularize.reduction.many_loops import each_configuration  # loaded where there are many

    ranks = each_configuration(loops, q, cycles, rtol)
    clear = [0.0 if each.factors is None else each.factors.clearness for each in ranks]
    generic = int(np.argmax(clear))
    # Along a tree that passes all loops small steps add up, and move most what is far away: what
    # counts is how far they open a loop, in its own size.
    steps = aside(loops.freedoms, rng) / len(loops.chords)
    start = np.repeat(q[[generic]], 3, axis=0)
    opened = loops.residual(loops.state(moved(loops, start, steps)))
    far = float(np.abs(opened).max()) * loops.length / ranks[generic].smallest
    beside = moved(loops, start, steps * 0.05 / max(0.05, far))
    ranks += each_configuration(loops, beside, cycles, rtol)
    rank = ranks[0].rank
    return None if rank is None or any(each.rank != rank for each in ranks) else (generic, rank)


def aside(freedoms: int, rng: np.random.Generator) -> Array:
    """Draw three small random steps, in scaled coordinates, that open the loops, shape (3, n)."""
    return 0.05 * rng.normal(size=(3, freedoms))


def _counted(loops: LoopKinematics, q: Coordinates, mobility: int) -> LocalMobility:
    """Return the mobility of a configuration where freedoms minus rank is certain."""
    nothing = np.zeros((loops.freedoms, 0))
    return LocalMobility(mobility, "counted", read_only(q), nothing, nothing)


def _meeting(
    loops: LoopKinematics,
    q: Coordinates,
    rank: int,
    local: LocalMobility,
    cycles: Sequence[Cycle],
    tolerances: Tolerances,
    rng: np.random.Generator,
) -> tuple[LocalMobility, tuple[LocalBranch, ...], bool, int | None]:
    """Return the best motion at a pose, all that meet there, if no more do, and what parts them."""
    from regularize.loops.branches import BranchPoint  # needed at special poses alone

    def ranks(q: Coordinates) -> Indices:
        values = singular_values(loops, q, cycles)
        return np.asarray(np.sum(values > tolerances.rtol * values[:, :1], axis=1))

    pose = BranchPoint(loops, q, rank, tolerances, ranks, rng)
    if pose.single(local.mobility):
        return local, (), True, None
    branches, complete = pose.branches()
    if branches:
        best = max(branches, key=lambda branch: branch.rank).local
        return best, branches, complete, pose.touching_order
    # What walkers did is not undone by series.
    rigid = None if local.mobility else pose.rigid()
    return rigid or local, (), rigid is not None, None


def generic_configurations(
    loops: LoopKinematics,
    q: Coordinates,
    tolerances: Tolerances,
    *,
    rng: np.random.Generator,
    walkers: int = 8,
    steps: int = 4,
) -> Coordinates:
    """Return the configurations met on random walks from one, shape (steps, walkers, n)."""
    along = Continuation(loops, tolerances)
    visited = random_walks(along, q, walkers=walkers, steps=steps, rng=rng)
    if np.all(np.abs(visited[-1] - q) <= tolerances.apart * loops.units):
        # Nothing moves: the assembled configuration is the only one.
        visited[:] = q
    return visited


def local_mobility(
    loops: LoopKinematics,
    q: Coordinates,
    rank: int,
    cycles: Sequence[Cycle],
    tolerances: Tolerances,
    rng: np.random.Generator,
) -> LocalMobility:
    """Return the dimension of the set of configurations near a generic one, and its evidence."""
    k = loops.freedoms - rank
    steps = aside(loops.freedoms, rng)
    start = np.repeat(q[None], 3, axis=0)
    if k == 0:
        return _counted(loops, q, k)
    # A rank that stays the same off the closed configurations: the theorem of constant rank.
    nearby = singular_values(loops, moved(loops, start, steps), cycles)
    if max(decide_rank(s, tolerances.rtol).rank for s in nearby) == rank:
        return _counted(loops, q, k)
    along = Continuation(loops, tolerances)
    steps = 0.05 * along.tangents(start, steps)
    reached = along.corrected(steps, moved(loops, start, steps), along.held, np.full(3, rank))
    if reached.good.all():
        return _counted(loops, q, k)
    from regularize.loops.finite import finite_mobility  # where counts do not settle it

    return finite_mobility(loops, q, rank, tolerances, rng)


def loop_equations(
    graph: Graph, cycles: Sequence[Cycle], screws: Mapping[EdgeId, Space]
) -> Jacobian:
    """Return the closure equations of loops at the pose, columns in the order of the screws."""
    return np.vstack(
        [np.hstack([c.direction(graph, e) * Z for e, Z in screws.items()]) for c in cycles]
    )
