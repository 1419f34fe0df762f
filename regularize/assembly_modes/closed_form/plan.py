"""The order in which the unknowns of a mechanism's loops follow from each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from regularize.assembly_modes.closed_form import vectors
from regularize.assembly_modes.closed_form.equation import size_of
from regularize.assembly_modes.closed_form.motions import Known
from regularize.assembly_modes.closed_form.tape import Scalar, Tape
from regularize.assembly_modes.invariance import AXES, CENTER
from regularize.assembly_modes.loop_chain import LoopChain
from regularize.assembly_modes.loop_projections import LoopProjection
from regularize.manifold.tolerances import EXACT
from regularize.model.cycles import Cycle
from regularize.model.graph import CouplingRow


@dataclass(frozen=True, eq=False)
class Step:
    """One unknown found.

    Attributes:
        joint: Name of the joint.
        kind: ``R``, ``P`` or ``S``; the letter of the motion.
        reason: What it follows from, in words.
        solutions: 1 or 2.
        cycle: The loop that was used.
        discriminant: Positive where two solutions are real; None where there is one.
        size: Size of the discriminant's terms.
        columns: Coordinates that it gives.
        role: What the choice means: ``elbow``, ``shoulder``, ``wrist``, ``stroke`` or empty.
    """

    joint: str
    kind: str
    reason: str
    solutions: int
    cycle: Cycle | None
    columns: tuple[int, ...]
    discriminant: Scalar | None = None
    size: float = 1.0
    role: str = ""


def step_of(
    chain: LoopChain, p: LoopProjection, solutions: int, discriminant: Scalar | None = None
) -> Step:
    """The step that a projection gives."""
    item = chain.items[p.unknown]
    ends = [
        " ".join(
            dict.fromkeys(chain.items[(s.start + k) % len(chain)].name for k in range(s.length))
        )
        for s in p.segments
    ]
    between = " and ".join(end for end in ends if end)
    kinds = {segment.base.kind for segment in p.segments}
    role = ""
    if solutions == 2:
        role = "stroke" if item.kind == "P" else "shoulder"
        if item.kind == "R" and kinds == {"point"}:
            role = "elbow"
        elif item.kind == "R" and kinds == {"direction"}:
            role = "wrist"
    return Step(
        item.name,
        item.kind,
        f"{p.measure} ({between})" if between else p.measure,
        solutions,
        chain.cycle,
        item.columns,
        discriminant,
        chain.size**2 if item.kind == "P" else size_of(chain, p) ** 2,
        role,
    )


@dataclass(frozen=True, eq=False)
class Plan:
    """Program and order of the solution.

    Attributes:
        tape: The program.
        known: What it computes.
        steps: One per unknown found, in order.
        chains: The loops that were looked at.
        divisors: Scaled quantities that unique slides are divided by.
        squares: Squares of scaled vectors that unique angles are seen by.
        gaps: Closure errors of solutions that are not solutions of all equations, if there are.
        inconsistent: Whether no choice of branches closes all loops.
    """

    tape: Tape
    known: Known
    steps: list[Step]
    chains: tuple[LoopChain, ...]
    divisors: tuple[Scalar, ...] = ()
    squares: tuple[Scalar, ...] = ()
    gaps: list[Scalar] = field(default_factory=list)
    inconsistent: bool = False

    @property
    def choices(self) -> list[Step]:
        """Steps with two solutions."""
        return [step for step in self.steps if step.discriminant is not None]


def checked(
    plan: Plan, couplings: Iterable[CouplingRow] = (), plain: Set[int] = frozenset()
) -> Plan:
    """The plan with the errors that do not vanish for all choices of branches.

    Args:
        plan: The plan.
        couplings: Those that gave no coordinate.
        plain: Columns that are no angles up to whole turns.
    """
    gaps = [gap for chain in plan.chains for gap in _gaps(plan.known, chain)]
    rows = [row for row in couplings if set(row.columns) <= set(plan.known.coordinates)]
    direct = [_coupling_gap(plan.known, row, plain) for row in rows if set(row.columns) <= plain]
    gaps += [gap for gap in direct if not float(np.max(np.abs(gap.probe))) <= EXACT.singular]
    turned = [
        _coupling_gap(plan.known, row, plain) for row in rows if not set(row.columns) <= plain
    ]
    if not gaps:
        return replace(plan, gaps=turned)
    worst = reduce(np.maximum, [np.abs(gap.probe) for gap in gaps])
    return replace(plan, gaps=[*gaps, *turned], inconsistent=bool(np.all(worst > EXACT.singular)))


def _coupling_gap(known: Known, coupling: CouplingRow, plain: Set[int]) -> Scalar:
    """Error of a coupling of known coordinates; angles that were found count up to whole turns."""
    total = known.tape.scalar(-coupling.offset)
    turns = []
    for column, k in zip(coupling.columns, coupling.coefficients, strict=True):
        total = total + known.coordinates[column] * k
        if column not in plain and column in known.rotations and k:
            turns.append(abs(k))
    if not turns:
        return total
    # sin(x / 2) vanishes, to first order, at whole turns and nowhere else.
    turn = min(turns)
    return known.tape.cosine_sine(total * (0.5 / turn))[1] * (2.0 * turn)


def _closes(known: Known, chain: LoopChain) -> bool:
    """Whether a loop closes at the random inputs, on all branches."""
    closing = np.eye(4)
    for item, link in zip(chain.items, chain.links, strict=True):
        motion = known.motion(item)
        assert motion is not None
        closing = closing @ motion.probe @ link
    closing[..., :3, 3] /= chain.size
    return bool(np.max(np.abs(closing - np.eye(4))) <= EXACT.singular)


def _gaps(known: Known, chain: LoopChain) -> Iterator[Scalar]:
    """Closure errors of a solved loop, relative to its size, that are more than rounding."""
    if not all(known.has(item) for item in chain.items):
        return
    if _closes(known, chain):
        return
    for place, size in [*((axis, 1.0) for axis in AXES), (CENTER, chain.size)]:
        start, end = (known.seen(chain, place, 0, frame) for frame in (0, 2 * len(chain)))
        of = vectors.direction_of if place.kind == "direction" else vectors.position_of
        for x in of(end) - of(start):
            if not float(np.max(np.abs(x.probe))) <= EXACT.singular * size:
                yield x * (1.0 / size)
