"""Independent and dependent coordinates by LU with complete pivoting (Paul 2020, 3.2.3 and 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError, NotClosed, RegularizeError, SingularConfiguration
from regularize.lie.arrays import Array, read_only
from regularize.lie.subalgebra import Rank, decide_rank
from regularize.loops.assembly import assemble
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.graph import Graph, actuated_coordinates, columns_of, coordinate_names
from regularize.mechanism.graph_building import as_graph
from regularize.mechanism.mechanism import Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.mobility import generic_configurations
from regularize.reduction.reduce import Reduction
from regularize.tolerances import REGULAR, RTOL, TINY, UNNOTICED, Tolerances
from regularize.validation import ARRAY, FLAG, NAMES, POSITIVE, WHOLE, validated
from regularize.words import listed


class NotIndependent(ModelError):
    """Coordinates that were to be independent determine each other; they are named."""

    def __init__(self, coordinates: Sequence[str], mobility: int) -> None:
        """Name the coordinates and the way out."""
        self.coordinates, self.mobility = tuple(coordinates), mobility
        listed = ", ".join(repr(name) for name in coordinates)
        reason = (
            f"{listed} cannot move"
            if len(coordinates) == 1
            else f"{listed} depend on each other: when all but one are given, so is the last"
        )
        super().__init__(
            f"{reason}; leave {'it' if len(coordinates) == 1 else 'one of them'} out "
            f"(the mechanism has {mobility} independent coordinates here)"
        )


@dataclass(frozen=True, eq=False)
class Pivots:
    """Outcome of an LU factorisation with complete pivoting: pivots first, locked columns last."""

    rank: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: Array  #: absolute values of the pivots, shape (rank,)


def complete_pivoting(
    matrix: Array, locked: Iterable[int] = (), rtol: float = RTOL, first: Iterable[int] = ()
) -> Pivots:
    """Factorise with the largest remaining entry as pivot (thesis, figures 9 to 11).

    Locked columns never become pivots, the ``first`` ones do before others.
    """
    early = set(first)
    work = np.array(matrix, dtype=np.float64)
    m, n = work.shape
    fixed = sorted(set(locked))
    rows = np.arange(m)
    columns = np.array([c for c in range(n) if c not in set(fixed)], dtype=int)
    work = work[:, columns]
    values: list[float] = []
    while len(values) < min(work.shape):
        k = len(values)
        remaining = np.abs(work[k:, k:])
        late = [c not in early for c in columns[k:].tolist()]
        if np.where(late, 0.0, remaining).max() > rtol * max([TINY, *values]):
            remaining = np.where(late, 0.0, remaining)
        i, j = np.unravel_index(int(np.argmax(remaining)), remaining.shape)
        value = float(remaining[i, j])
        if value <= rtol * (values[0] if values else TINY):
            break
        for order, axis, pivot in ((rows, 0, k + int(i)), (columns, 1, k + int(j))):
            order[[k, pivot]] = order[[pivot, k]]
            swapped = np.swapaxes(work, 0, axis)
            swapped[[k, pivot]] = swapped[[pivot, k]]
        work[k + 1 :, k:] -= np.outer(work[k + 1 :, k] / work[k, k], work[k, k:])
        values.append(value)
    return Pivots(
        len(values),
        tuple(int(r) for r in rows),
        (*(int(c) for c in columns), *fixed),
        read_only(values),
    )


@dataclass(frozen=True, eq=False)
class Choice:
    """Columns and rows of a Jacobian that separate dependent from independent coordinates."""

    independent: tuple[int, ...]  #: columns, increasing
    dependent: tuple[int, ...]  #: columns, in the order of their pivots
    rows: tuple[int, ...]  #: those that determine them
    redundant: tuple[int, ...]  #: the other rows
    condition: float  #: of the dependent columns of those rows; 1 where there are none
    rank: Rank


def choose(
    jacobian: Array,
    names: Sequence[str],
    locked: Iterable[int] = (),
    rtol: float = RTOL,
    preferred: Iterable[int] = (),
    cut: Iterable[int] = (),
) -> Choice:
    """Split the columns of a Jacobian of closed loops, lengths scaled.

    Locked columns are independent, preferred ones where they clearly can be, ``cut`` ones at last.
    """
    jacobian = np.asarray(jacobian).reshape(-1, len(names))
    _, s, vt = np.linalg.svd(jacobian, full_matrices=True)
    rank = decide_rank(s, rtol)
    locked = sorted(set(locked))
    allowed = vt[rank.rank :].T
    dependent_ones = dependent_rows(allowed[locked], rtol)
    if dependent_ones:
        raise NotIndependent([names[locked[i]] for i in dependent_ones], allowed.shape[1])
    for column in preferred:
        wanted = [*locked, column]
        if column not in locked and not dependent_rows(allowed[wanted], max(rtol, REGULAR)):
            locked = wanted
    pivots = complete_pivoting(jacobian, locked, rtol * 1e-2, cut)
    # The rank is that of the singular values: growing rounding errors are no pivots.
    dependent, rows = pivots.columns[: rank.rank], pivots.rows[: rank.rank]
    return Choice(
        independent=tuple(sorted(pivots.columns[rank.rank :])),
        dependent=dependent,
        rows=rows,
        redundant=tuple(sorted(pivots.rows[rank.rank :])),
        condition=float(np.linalg.cond(jacobian[np.ix_(rows, dependent)])) if dependent else 1.0,
        rank=rank,
    )


def dependent_rows(rows: Array, rtol: float) -> list[int]:
    """Return rows of a minimal dependent set; empty where all are independent."""
    for k in range(len(rows)):
        u, s, _ = np.linalg.svd(rows[: k + 1], full_matrices=True)
        if k + 1 > rows.shape[1] or s[-1] <= rtol:
            weights = np.abs(u[:, -1])
            return [i for i in range(k + 1) if weights[i] > UNNOTICED]
    return []


#: Names of the six closure equations of a loop, in order.
_MOVES = "translation along", "rotation about"
COMPONENTS = [f"{move} {axis}" for move in _MOVES for axis in "XYZ"]


@dataclass(frozen=True, eq=False, repr=False)
class Partition(ShortRepr):
    """Independent and dependent coordinates of a mechanism (coordinate partitioning).

    Example:
        >>> split = rg.partition("assets/walker.urdf")
        >>> print(split.independent, split.rank, len(split.redundant_rows), split.condition)

    Attributes:
        independent: Names of the independent coordinates, in the mechanism's order.
        dependent: Names of the dependent ones, in the order of their pivots.
        forced: Names of those that follow a prescribed motion; they count as known.
        rank: Rank of the Jacobian.
        redundant_rows: Closure equations that follow from the others, as ``loop: component``.
        condition: Condition number of the Jacobian of the dependent coordinates.
        q: Configuration at which they were chosen, radians and metres, shape (n,).
        singular_values: Of the whole Jacobian, lengths scaled, largest first.
    """

    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    forced: tuple[str, ...]
    rank: int
    redundant_rows: tuple[str, ...]
    condition: float
    q: Array
    singular_values: Array


#: Largest moves of zeros, in radians and sizes of the mechanism, one after another.
ZEROS_MOVED = (0.1, 0.3, 0.9)


def _rank_elsewhere(loops: LoopKinematics, q: Array, rtol: float, seed: int) -> int:
    """Return the largest rank of the closure equations at configurations walked to from one."""
    rng = np.random.default_rng(seed)
    exact = Tolerances.of(rtol)
    visited = generic_configurations(loops, q, exact, rng=rng, walkers=3, steps=2)
    rows = loops.residual_jacobian(loops.state(visited.reshape(-1, loops.freedoms)))
    values = np.linalg.svd(rows * loops.units, compute_uv=False)
    return max((decide_rank(s, rtol).rank for s in values), default=0)


@validated(q=ARRAY, independent=NAMES, forced=NAMES, close=FLAG, rtol=POSITIVE, seed=WHOLE)
def partition(
    model: Model | Graph,
    q: Array | None = None,
    independent: Iterable[str] = (),
    *,
    forced: Iterable[str] = (),
    close: bool = True,
    rtol: float = RTOL,
    seed: int = 0,
) -> Partition:
    """Choose independent coordinates.

    Args:
        model: The mechanism, its graph or its reduction.
        q: Coordinates of all joints to start from, shape (n,); by default the reduction's or the
            file's, where zeros are moved at random if loops are singular there, for they are often
            no choice (Paul 2020, section 3.2.3, step 3).
        independent: Coordinates that have to be independent; the others are chosen, those of
            actuated joints before others, and none of a joint at which a loop is cut.
        forced: Coordinates whose motion is prescribed.
        close: Close the loops first, with those coordinates held. Without it the Jacobian is taken
            at ``q`` as it is, and too high a rank may leave no independent coordinates.
        rtol: Relative tolerance of the rank.
        seed: Seed of the assembly, and of what moves zeros.

    Raises:
        ModelError: A name is unknown.
        NotClosed: The loops cannot be closed.
        NotIndependent: The coordinates asked for depend on each other.
        SingularConfiguration: More coordinates would be independent at ``q`` than the mechanism has
            freedoms (step 7).
    """
    reduction = model if isinstance(model, Reduction) else None
    graph = as_graph(model) if reduction is None else reduction.graph
    names = coordinate_names(graph.mechanism)
    wanted, prescribed = tuple(independent), tuple(forced)
    locked = columns_of(names, (*wanted, *prescribed))
    stored = graph.position if reduction is None else reduction.q
    start = np.asarray(stored if q is None else q, dtype=np.float64)
    tree = graph.tree if reduction is None else reduction.tree
    motors = columns_of(names, actuated_coordinates(graph.mechanism))

    def split(q: Array) -> tuple[Array, LoopKinematics, Choice]:
        """Close the loops from a start, and split the coordinates there."""
        if close:
            assembly = assemble(graph, q, (*wanted, *prescribed), seed=seed)
            if not assembly.closed:
                worst = max(assembly.after, key=lambda gap: gap.translation + gap.rotation)
                raise NotClosed(worst.joint, worst.translation, worst.rotation)
            q = assembly.q
        loops = sized_loops(graph, q, tree=tree)
        jacobian = loops.residual_jacobian(loops.state(q))[0] * loops.units
        cut = graph.columns(loops.chords)
        choice = choose(jacobian, names, locked, rtol, [c for c in motors if c not in cut], cut)
        if close and _rank_elsewhere(loops, q, rtol, seed) > choice.rank.rank:
            left = [names[c] for c in choice.independent]
            raise SingularConfiguration(
                f"the configuration is singular: {len(left)} coordinates are independent there, "
                f"{listed(left)}, more than elsewhere; give a q beside it",
                left,
            )
        return q, loops, choice

    try:
        q, loops, choice = split(start)
    except (NotIndependent, SingularConfiguration):
        # Motors at zeros that nobody chose may be at a dead centre.
        rng, units = np.random.default_rng(seed), sized_loops(graph, start, tree=tree).units
        for size in ZEROS_MOVED if q is None and close else ():
            aside = size * units * rng.uniform(-1.0, 1.0, start.shape)
            with suppress(RegularizeError):
                q, loops, choice = split(np.where(start == 0.0, aside, start))
                break
        else:
            raise
    rows = [
        f"{graph.edges[chord].joint.name}: {component}"
        for chord in loops.chords
        for component in COMPONENTS
    ] + [coupling.name for coupling in graph.couplings]
    prescribed_columns = set(columns_of(names, prescribed))
    return Partition(
        independent=tuple(names[c] for c in choice.independent if c not in prescribed_columns),
        dependent=tuple(names[c] for c in choice.dependent),
        forced=prescribed,
        rank=choice.rank.rank,
        redundant_rows=tuple(rows[r] for r in choice.redundant),
        condition=choice.condition,
        q=read_only(q),
        singular_values=choice.rank.singular_values,
    )
