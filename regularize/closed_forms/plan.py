"""The order in which the unknowns of a mechanism's loops follow from each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from regularize.closed_forms import vectors
from regularize.closed_forms.chain import Chain
from regularize.closed_forms.motions import Known
from regularize.closed_forms.tape import Scalar, Tape
from regularize.cycles import Cycle

#: Closure errors below this, relative to the size of a loop, are rounding.
CLOSED = 1e-7


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


@dataclass(frozen=True, eq=False)
class Plan:
    """Program and order of the solution.

    Attributes:
        tape: The program.
        known: What it computes.
        steps: One per unknown found, in order.
        chains: The loops that were looked at.
        gaps: Closure errors of solutions that are not solutions of all equations, if there are.
        inconsistent: Whether no choice of branches closes all loops.
    """

    tape: Tape
    known: Known
    steps: list[Step]
    chains: tuple[Chain, ...]
    gaps: list[Scalar] = field(default_factory=list)
    inconsistent: bool = False

    @property
    def choices(self) -> list[Step]:
        """Steps with two solutions."""
        return [step for step in self.steps if step.discriminant is not None]


def checked(plan: Plan) -> Plan:
    """The plan with the closure errors that do not vanish for all choices of branches."""
    gaps = [gap for chain in plan.chains for gap in _gaps(plan.known, chain)]
    if not gaps:
        return plan
    worst = np.max([np.abs(gap.probe) for gap in gaps], axis=0)
    return replace(plan, gaps=gaps, inconsistent=bool(np.all(worst > CLOSED)))


def _gaps(known: Known, chain: Chain) -> Iterator[Scalar]:
    """Closure errors of a solved loop, relative to its size, that are more than rounding."""
    if not all(known.has(item) for item in chain.items):
        return
    starts = [
        *((known.element("direction", None, e), 1.0) for e in np.eye(3)),
        (known.element("point", np.zeros(3), None), chain.size),
    ]
    for start, size in starts:
        end = known.carried(chain, start, 0, 2 * len(chain))
        of = vectors.direction_of if start.kind == "direction" else vectors.position_of
        for x in vectors.subtract(of(end), of(start)):
            if not float(np.max(np.abs(x.probe))) <= CLOSED * size:
                yield x * (1.0 / size)
