"""The order in which the unknowns of a mechanism's loops follow from each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import reduce

import numpy as np

from regularize.dynamics.tape.program import Number
from regularize.guests.modes.closed_form import motions
from regularize.guests.modes.closed_form.equation import size_of
from regularize.guests.modes.closed_form.motions import KnownMotions
from regularize.guests.modes.closed_form.tape import Tape
from regularize.guests.modes.invariance import AXES, CENTER, LoopProjection
from regularize.guests.modes.loop_chain import LoopChain, linear_terms
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import CouplingRow
from regularize.tolerances import EXACT


@dataclass(frozen=True, eq=False)
class Step:
    """One unknown that was found: joint, letter of its motion, and what it follows from.

    ``size`` is that of the discriminant's terms, ``role`` is ``elbow``, ``shoulder``, ``wrist``,
    ``stroke`` or empty.
    """

    joint: str
    kind: str
    reason: str
    solutions: int
    cycle: Cycle | None
    columns: tuple[int, ...]
    discriminant: Number | None = None
    size: float = 1.0
    role: str = ""


def step_of(
    chain: LoopChain, p: LoopProjection, solutions: int, discriminant: Number | None = None
) -> Step:
    """Return the step of a projection."""
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
    """The program of a solution and the order of its steps.

    ``divisors`` and ``squares`` are scaled numbers that unique slides are divided by and unique
    angles are seen by; ``gaps`` are closure errors that not all solutions fulfil.
    """

    tape: Tape
    known: KnownMotions
    steps: list[Step]
    chains: tuple[LoopChain, ...]
    divisors: tuple[Number, ...]
    squares: tuple[Number, ...]
    gaps: list[Number]
    inconsistent: bool

    @property
    def choices(self) -> list[Step]:
        """Steps with two solutions."""
        return [step for step in self.steps if step.discriminant is not None]


def closure_gaps(
    known: KnownMotions,
    chains: Iterable[LoopChain],
    couplings: Iterable[CouplingRow],
    plain: Set[int],
) -> tuple[list[Number], bool]:
    """Return errors that do not vanish for all choices of branches, and whether for none."""
    gaps = [gap for chain in chains for gap in _gaps(known, chain)]
    turned = []
    for row in couplings:
        if set(row.columns) <= set(known.coordinates):
            gap = _coupling_gap(known, row, plain)
            if not set(row.columns) <= plain:
                turned.append(gap)
            elif not float(np.max(np.abs(gap.value))) <= EXACT.singular:
                gaps.append(gap)
    worst = reduce(np.maximum, [np.abs(gap.value) for gap in gaps], np.zeros(1))
    return [*gaps, *turned], bool(np.all(worst > EXACT.singular))


def _coupling_gap(known: KnownMotions, coupling: CouplingRow, plain: Set[int]) -> Number:
    """Return the error of a coupling; angles that were found count up to whole turns."""
    total = known.tape.number(-coupling.offset)
    turns = []
    if coupling.curve is not None:
        total = total + coupling.curve.of(known.coordinates[coupling.columns[-1]])
    for column, k in linear_terms(coupling):
        total = total + known.coordinates[column] * k
        if column not in plain and column in known.rotations and k:
            turns.append(abs(k))
    if not turns:
        return total
    # sin(x / 2) vanishes, to first order, at whole turns and nowhere else.
    turn = min(turns)
    return known.tape.cosine_sine(total * (0.5 / turn))[1] * (2.0 * turn)


def _gaps(known: KnownMotions, chain: LoopChain) -> Iterator[Number]:
    """Yield closure errors of a solved loop, by its size, that are more than rounding."""
    if not all(known.has(item) for item in chain.items):
        return
    # Two axes of a frame tell where the third one is.
    for place, size in ((AXES[0], 1.0), (AXES[2], 1.0), (CENTER, chain.size)):
        start, end = (known.carried(chain, place, 0, frame) for frame in (0, 2 * len(chain)))
        of = motions.direction_of if place.kind == "direction" else motions.position_of
        for x in of(end) - of(start):
            if not float(np.max(np.abs(x.value))) <= EXACT.singular * size:
                yield x * (1.0 / size)
