"""The coupled components of a mechanism: mobility, reduced blocks and the certificate of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from regularize import services
from regularize.lie.arrays import Array, Coordinates
from regularize.loops.assembly import CLOSED
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import CHUNK, in_parts, least_norm
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import EdgeId
from regularize.reduction.block import (
    Block,
    Descents,
    reduce_part,
    searched,
    thinned,
    with_rank,
    with_rigid_joints,
)
from regularize.reduction.context import Context
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.mobility import CellMobility, cell_mobility, generic_configurations

if TYPE_CHECKING:
    from regularize.loops.projection import ConstraintSet
    from regularize.reduction.descent import Lowest
    from regularize.reduction.many_loops import ShortLoops
    from regularize.reduction.numerical import Numerical

#: The kept rows of few or of many loops.
KeptEquations: TypeAlias = "ReducedLoops | ShortLoops"

#: Steps of each walker.
STEPS = 2
#: Configurations of a certificate by default, and those that are always walked to.
CONFIGURATIONS = 50
#: Configurations for which a closed form is looked for, per square of the number of loops: below,
#: the walk is over sooner.
MANY = 400


@dataclass(frozen=True)
class Certificate:
    """How well the kept rows alone kept all loops closed along walks."""

    configurations: int  # number of configurations that were checked
    worst: float  # largest closure error met, of configurations or velocities, lengths scaled
    holds: bool  # whether every closure equation stayed fulfilled
    #: How many of the configurations come from the closed form of the loops. At those the
    #: velocities that the kept rows allow were checked; the others were walked to.
    solved: int = 0
    distinct: int = 0  # how many of the configurations are different ones
    #: Largest way of a joint, in metres, and largest turn of a body, in radians, from the assembled
    #: pose to any of them.
    travelled: tuple[float, float] = (0.0, 0.0)
    #: From where the walks ended, to places where kept rows let go what all hold.
    descents: tuple[Descents, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def nearest(self) -> Lowest | None:
        """Where kept rows are nearest to losing rank; None where that needs or allows no search."""
        places = [place for down in self.descents if (place := down.lowest) is not None]
        return min(places, key=lambda place: place.ratio, default=None)

    @classmethod
    def of_all(cls, cells: Sequence[Certificate], mobile: Sequence[Certificate]) -> Certificate:
        """Summarise certificates of coupled components; ``mobile`` ones count for ``distinct``."""
        if len(cells) == 1:
            return cells[0]
        far = [max((c.travelled[i] for c in cells), default=0.0) for i in (0, 1)]
        return cls(
            min((c.configurations for c in cells), default=0),
            max((c.worst for c in cells), default=0.0),
            all(c.holds for c in cells),
            max((c.solved for c in cells), default=0),
            min((c.distinct for c in mobile), default=0),
            (far[0], far[1]),
            tuple(descents for c in cells for descents in c.descents),
        )


class Certifier:
    """Checks at a number of configurations that kept rows of a component imply all others."""

    def __init__(self, context: Context, edges: Sequence[EdgeId], configurations: int) -> None:
        self.context, self.edges, self.configurations = context, edges, configurations
        self._solutions: Coordinates | None = None

    def rows(self, cuts: Iterable[Cut]) -> KeptEquations:
        """Return the equations of the component that the kept rows of some cuts make."""
        loops, ordered = self.context.loops(self.edges, cuts)
        if len(loops.chords) <= MANY_LOOPS:
            return ReducedLoops(loops, ordered)
        from regularize.reduction.many_loops import ShortLoops  # where there are many

        return ShortLoops(loops, ordered)

    def __call__(self, rows: KeptEquations) -> tuple[Coordinates, Certificate]:
        """Walk along the kept rows; return configurations (steps, walkers, n) and certificate."""
        loops, rng = rows.loops, self.context.rng()
        many = self.configurations >= MANY * max(1, len(loops.chords)) ** 2
        sampler = services.service("spread configurations") if many else None
        count = self.configurations if sampler is None else CONFIGURATIONS
        visited = self._walked(rows, count, rng)
        solved, largest = visited[0, :0], self._largest(loops, _flat(visited))
        # Up to this multiple of the tolerance it is the file's rounding.
        rounding = 20.0 * self.context.rtol
        if sampler is not None and largest[0] <= rounding:
            solved = self._solved(loops, visited, sampler)
            largest = np.maximum(largest, self._largest(loops, solved))
            largest[0] = max(largest[0], self._velocity_error(rows, solved, rng))
            missing = self.configurations - len(solved) - len(_flat(visited))
            if missing > 0:
                visited = np.hstack([visited, self._walked(rows, missing, rng)])
                largest = np.maximum(largest, self._largest(loops, _flat(visited)))
        worst, path, turn = largest.tolist()
        if self.configurations == 0:
            return visited, Certificate(0, worst, worst <= rounding)
        checked = np.concatenate([_flat(visited), solved])
        distinct, count = self._distinct(loops, checked), len(checked)
        numbers = (count, worst, worst <= rounding, len(solved), distinct, (path, turn))
        return visited, Certificate(*numbers)

    def _distinct(self, loops: LoopKinematics, q: Coordinates) -> int:
        """Count the different ones of some configurations (N, n)."""
        start, tolerances = self.context.assembly.q[loops.columns], self.context.tolerances
        steps = (q - start) / loops.units
        steps[np.max(np.abs(steps), axis=1, initial=0.0) <= tolerances.apart] = 0.0
        # Zeros of either sign are the same.
        return len({row.tobytes() for row in np.round(steps / tolerances.same) + 0.0})

    def _largest(self, loops: LoopKinematics, q: Coordinates) -> Array:
        """Return the largest closure error, path of a joint and turn of a body, shape (3,)."""
        home = loops.state(self.context.assembly.q[loops.columns])

        def measured(q: Coordinates) -> Array:
            state = loops.state(q)
            error = np.abs(loops.residual(state)).max(axis=1, initial=0.0)
            return np.column_stack([error, loops.displacements(home, state)])

        return np.asarray(in_parts(measured, q).max(axis=0, initial=0.0))

    def _walked(self, rows: KeptEquations, count: int, rng: np.random.Generator) -> Coordinates:
        """Walk along the kept rows to ``count`` configurations or more."""
        # Even without a certificate the rank needs a few generic configurations.
        walkers = max(4, -(-count // STEPS))
        start = self.context.assembly.q[rows.loops.columns]
        # Sparse rows are asked for no more than what steps of a walk need.
        continuation = Continuation(cast("ConstraintSet", rows), self.context.tolerances)
        sizes = [min(CHUNK, walkers - first) for first in range(0, walkers, CHUNK)]
        parts = [random_walks(continuation, start, walkers=n, steps=STEPS, rng=rng) for n in sizes]
        return np.concatenate(parts, axis=1)

    def _solved(
        self, loops: LoopKinematics, visited: Coordinates, sampler: Callable[..., Coordinates]
    ) -> Coordinates:
        """Return configurations from closed forms, found once and used for any kept rows."""
        if self._solutions is None:
            starts = np.concatenate([self.context.assembly.q[None, loops.columns], visited[-1, :4]])
            count = self.configurations - len(_flat(visited))
            rng, rtol = self.context.rng(), self.context.rtol
            self._solutions = sampler(loops, starts, count, rtol, rng)
        return self._solutions

    def _velocity_error(
        self, rows: KeptEquations, solutions: Coordinates, rng: np.random.Generator
    ) -> float:
        """Return the largest rate of a closure error at random velocities that kept rows allow."""
        constraints, loops = cast("ConstraintSet", rows), rows.loops

        def rates(q: Coordinates) -> Array:
            kept = constraints.residual_jacobian(constraints.state(q)) * loops.units
            velocities = rng.normal(size=q.shape)
            forbidden = (kept @ velocities[..., None])[..., 0]
            velocities -= least_norm(kept, forbidden, self.context.tolerances.singular)
            return (loops.jacobian(loops.state(q)) * loops.units) @ velocities[..., None]

        return float(np.abs(in_parts(rates, solutions)).max(initial=0.0))


def _flat(visited: Coordinates) -> Coordinates:
    """Return configurations (steps, walkers, n) in the shape (N, n); n may be 0."""
    return visited.reshape(int(np.prod(visited.shape[:-1])), visited.shape[-1])


#: Mobility of a coupled component, its reduced blocks, and what following the kept rows found.
ReducedCell: TypeAlias = tuple[CellMobility, tuple[Block, ...], Certificate]


def reduce_cell(
    context: Context, edges: Sequence[EdgeId], *, numerical: Numerical, configurations: int
) -> ReducedCell:
    """Reduce a component's blocks and check their rows; else try smaller tolerances, then none."""
    context = context.of_cell(edges)
    component = set(edges)
    blocks = sorted(block for block in context.graph.blocks if block[0] in component)
    certify = Certifier(context, edges, configurations)
    for share in (1.0, 0.1, 0.01) if _closed(context, edges) else ():
        parts = [reduce_part(context, block, share * context.rtol) for block in blocks]
        context.done(0.4)
        rows = certify.rows(_cuts(parts))
        visited, certificate = certify(rows)
        if not certificate.holds:
            continue
        mobility = _mobility(context, rows.loops, parts, visited)
        context.done(0.8)
        parts = [with_rank(context, part, mobility) for part in parts]
        if any(part.dimension < part.rank for part in parts):
            continue
        for kept in _candidates(context, parts, mobility, numerical):
            checked = certificate
            if any(new.cuts is not old.cuts for new, old in zip(kept, parts, strict=True)):
                held = [row for part in kept for row in part.rows]
                coupled = replace(context, graph=context.graph.coupled_by(held))
                certifier = Certifier(coupled, edges, configurations) if held else certify
                _, checked = certifier(certifier.rows(_cuts(kept)))
            searches = Descents(context.graph, context.assembly.q, tuple(kept), mobility)
            if checked.holds and searches.firm(context.rtol):
                return mobility, searches.parts, replace(checked, descents=(searches,))
    return _unreduced(context, edges, blocks)


def _candidates(
    context: Context, parts: Sequence[Block], mobility: CellMobility, numerical: Numerical
) -> Iterator[Sequence[Block]]:
    """Yield choices of the rows to keep in each block, the smallest choice first."""
    if all(part.dimension == part.rank for part in parts):
        yield [with_rigid_joints(context, part) for part in parts]
        return
    by_loops = [searched(context, part) for part in parts]
    by_groups = by_loops
    if any(part.dimension != part.rank for part in by_loops):
        from regularize.reduction.groups import grouped  # where rows are left over

        by_groups = [grouped(context, part, mobility) for part in by_loops]
    for blocks in (by_groups, by_loops) if by_groups != by_loops else (by_loops,):
        proved = [thinned(context, with_rigid_joints(context, part)) for part in blocks]
        # What depends on other rows to first order only holds a shaky mechanism.
        if not numerical or mobility.finite != mobility.actual:
            yield proved
            continue
        from regularize.reduction.numerical import numerically_reduced  # on evidence alone

        reduced = numerically_reduced(context, proved, mobility, anyway=numerical == "anyway")
        yield reduced
        # Where walks leave what the evidence says, what is proved still holds.
        if any(cut.numerical.size for cut in _cuts(reduced)):
            yield proved


def _unreduced(
    context: Context, edges: Sequence[EdgeId], blocks: Sequence[Sequence[EdgeId]]
) -> ReducedCell:
    """Keep every constraint of a component whose loops are open or that no reduction holds."""
    parts = [reduce_part(context, block, 0.0) for block in blocks]
    loops, _ = context.loops(edges, _cuts(parts))
    closed = _closed(context, edges)
    visited = np.zeros((0, 0, loops.freedoms))
    if closed:
        q = context.assembly.q[loops.columns]
        visited = generic_configurations(loops, q, context.tolerances, rng=context.rng())
    mobility = _mobility(context, loops, parts, visited)
    parts = [with_rank(context, part, mobility) for part in parts]
    return mobility, tuple(parts), Certificate(0, 0.0, closed)


def _cuts(parts: Sequence[Block]) -> list[Cut]:
    return [cut for part in parts for cut in part.cuts]


def _closed(context: Context, edges: Sequence[EdgeId]) -> bool:
    """Return whether all loops of a component are closed at the assembled pose."""
    if context.assembly.closed:
        return True
    names = {context.graph.edges[e].joint.name for e in edges}
    _, length = context.frame(edges)
    return all(
        gap.translation <= 2 * CLOSED * length and gap.rotation <= 2 * CLOSED
        for gap in context.assembly.after
        if gap.joint in names
    )


def _mobility(
    context: Context, loops: LoopKinematics, parts: Sequence[Block], visited: Coordinates
) -> CellMobility:
    q = context.assembly.q[loops.columns]
    cycles = [cycle for part in parts for cycle in part.cycles]
    return cell_mobility(loops, q, visited, cycles, context.tolerances, context.rng())
