"""A recorded program as compiled Python lines, on numbers or on arrays.

Where solutions meet, or digits are lost, plain formulas are not enough: such inputs are solved
again by careful ones, on arrays alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.tape.languages import PYTHON, Compiled, compiled, executed
from regularize.dynamics.tape.program import needed
from regularize.guests.modes.closed_form.branches import Branch
from regularize.guests.modes.closed_form.operations import Lowering
from regularize.guests.modes.closed_form.plan import Plan
from regularize.lie.arrays import Array
from regularize.tolerances import EXACT

#: Closure errors of solutions that are checked: roots near zero leave half the digits.
CLOSED = 1e-9
#: Divisors below this, and squares of lengths, lose digits of what they divide.
LOST = 1e-4


#: What compiled lines on numbers call.
ON_NUMBERS = {
    name: getattr(math, name)
    for name in ("atan2", "cos", "isfinite", "nan", "remainder", "sin", "sqrt")
}


class Programs:
    """The compiled programs of a plan: coordinates, margins, closure errors, and pivots.

    Margins are scaled discriminants, and pivots are divisors and squares of lengths that lose
    digits where they are small.
    """

    def __init__(self, plan: Plan, coordinates: int, inputs: int) -> None:
        self._plan, self._steps = plan, len(plan.choices)
        self._inputs = [f"x{i}" for i in range(inputs)]
        self._coordinates = [plan.known.coordinates[c] for c in range(coordinates)]
        self._margins = [
            step.discriminant * (1.0 / step.size)
            for step in plan.choices
            if step.discriminant is not None
        ]
        self.pivots = [*plan.divisors, *plan.squares]

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the compiled programs, which are made again."""
        compiled = ("nested", "plain", "careful")
        return {k: value for k, value in vars(self).items() if k not in compiled}

    @cached_property
    def nested(self) -> Compiled:
        """Program of one input: all branches in loops within each other, on numbers.

        A function of the inputs and the signs to try for every choice. What an earlier choice
        settles is not computed again for a later one. It returns coordinates and margins of each
        branch, whether it is assembled, and whether any needs a closer look.
        """
        lowering, tape, signs = Lowering(careful=False), self._plan.tape, self._plan.tape.signs
        results, gaps, margins, pivots = (
            lowering.lines(tape, each)
            for each in (self._coordinates, self._plan.gaps, self._margins, self.pivots)
        )
        text: list[list[str]] = [[] for _ in range(signs + 1)]
        levels: dict[int, int] = {}
        for x in needed([*results, *margins, *gaps, *pivots]):
            levels[x.index] = max((levels[a] for a in x.arguments), default=0)
            if (name := PYTHON.name(x)).startswith("s"):
                levels[x.index] = int(name[1:]) + 1
            if (assignment := PYTHON.assignment(x)) is not None:
                text[levels[x.index]].append(assignment)
        head = ", ".join([*self._inputs, *(f"signs{i}" for i in range(signs))])
        source = [f"def program({head}):", "    rows, assembled, near = [], [], False"]
        for level, lines in enumerate(text):
            if level:
                source.append("    " * level + f"for s{level - 1} in signs{level - 1}:")
            source += ["    " * (level + 1) + line for line in lines]
        # A sum is finite where all its terms are.
        total = " + ".join(map(PYTHON.name, results))
        closed = [f"-{CLOSED} <= {PYTHON.name(line)} <= {CLOSED}" for line in gaps]
        limits = [*((m, EXACT.same) for m in margins), *((p, LOST) for p in pivots)]
        close = [f"-{limit} < {PYTHON.name(line)} < {limit}" for line, limit in limits]
        inner = "    " * (signs + 1)
        source += [
            f"{inner}rows.append(({PYTHON.listed([*results, *margins])}))",
            f"{inner}assembled.append({' and '.join([f'isfinite({total})', *closed])})",
            f"{inner}near = near or {' or '.join(close) or False}",
            "    return rows, assembled, near",
        ]
        return executed(source, ON_NUMBERS)

    @cached_property
    def plain(self) -> Compiled:
        """Program of inputs and signs that returns all results, on arrays."""
        return self._on_arrays(Lowering(careful=False), [])

    @cached_property
    def careful(self) -> Compiled:
        """Program that also solves where solutions meet; it takes a free cosine and sine first."""
        free = ("free_cosine", "free_sine")
        return self._on_arrays(Lowering(free=free), [*free])

    def _on_arrays(self, lowering: Lowering, first: Sequence[str]) -> Compiled:
        tape = self._plan.tape
        found = [*self._coordinates, *self._margins, *self._plan.gaps, *self.pivots]
        names = [*first, *self._inputs, *(f"s{i}" for i in range(tape.signs))]
        return compiled(lowering.lines(tape, found), names)

    def evaluate(self, inputs: Array, branch: Branch | None, results: Array) -> None:
        """Enter results (results, branches, N) of plain formulas at inputs (N, inputs)."""
        k = self._steps
        values = [[1.0, -1.0]] * k if branch is None else [[float(s)] for s in branch.signs]
        signs = [
            np.reshape(v, [*(len(v) if j == i else 1 for j in range(k)), 1])
            for i, v in enumerate(values)
        ]
        # A view: one axis is split.
        each = results.reshape(len(results), *map(len, values), len(inputs))
        columns = [np.ascontiguousarray(x) for x in inputs.T]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for i, result in enumerate(self.plain(*columns, *signs)):
                each[i] = result

    def at(self, inputs: Array, branches: NDArray[np.intp], free: float = 0.0) -> Array:
        """Return results of careful formulas at inputs (N, inputs), shape (results, N).

        Each has its branch, shape (N,); the free angle is taken where any solves an equation.
        """
        k = self._steps
        signs = [1.0 - 2.0 * (branches >> (k - 1 - i) & 1) for i in range(k)]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = self.careful(math.cos(free), math.sin(free), *inputs.T, *signs)
            return np.stack([np.broadcast_to(result, len(inputs)) for result in found])
