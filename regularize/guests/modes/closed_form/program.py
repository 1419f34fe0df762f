"""A recorded program as compiled Python lines, on numbers or on arrays.

Where solutions meet, or digits are lost, plain formulas are not enough: such inputs are solved
again by careful ones, on arrays alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.closed_form.branches import Branch
from regularize.guests.modes.closed_form.elementary import ARRAYS, PYTHON, Line
from regularize.guests.modes.closed_form.operations import Lowering
from regularize.guests.modes.closed_form.plan import Plan
from regularize.lie.arrays import Array
from regularize.tolerances import EXACT

Function: TypeAlias = Callable[..., Any]

#: Closure errors of solutions that are checked: roots near zero leave half the digits.
CLOSED = 1e-9
#: Divisors below this, and squares of lengths, lose digits of what they divide.
LOST = 1e-4


_ON_NUMBERS = {name: getattr(math, name) for name in ("atan2", "cos", "isfinite", "nan", "sin")}
_ON_NUMBERS |= {"sqrt": math.sqrt, "remainder": math.remainder}
_ON_ARRAYS = {
    **{"atan2": np.arctan2, "abs": np.abs, "cos": np.cos, "sin": np.sin, "sqrt": np.sqrt},
    **{"where": np.where, "remainder": lambda x, turn: x - turn * np.round(x / turn)},
}


class Programs:
    """The compiled programs of a plan that finds every coordinate.

    Their results are coordinates, margins (scaled discriminants), closure errors, and pivots.

    Attributes:
        pivots: Divisors and squares of lengths that lose digits where they are small.
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
        """Everything but the compiled programs, which are made again."""
        compiled = ("nested", "plain", "careful")
        return {k: value for k, value in vars(self).items() if k not in compiled}

    @cached_property
    def nested(self) -> Function:
        """One input: all branches in loops within each other, on numbers.

        A function of the inputs and the signs to try for every choice. What an earlier choice
        settles is not computed again for a later one; the last choice runs fastest. It returns
        coordinates and margins of each branch, whether it is assembled, and whether any needs a
        closer look.
        """
        lowering, tape, signs = Lowering(careful=False), self._plan.tape, self._plan.tape.signs
        results, gaps, margins, pivots = (
            lowering.lines(tape, each)
            for each in (self._coordinates, self._plan.gaps, self._margins, self.pivots)
        )
        text: list[list[str]] = [[] for _ in range(signs + 1)]
        levels: dict[int, int] = {}
        for line in lowering.code.needed([*results, *margins, *gaps, *pivots]):
            levels[line.index] = max((levels[a] for a in line.arguments), default=0)
            if line.name.startswith("s"):
                levels[line.index] = int(line.name[1:]) + 1
            if (assignment := line.assignment(PYTHON)) is not None:
                text[levels[line.index]].append(assignment)
        head = ", ".join([*self._inputs, *(f"signs{i}" for i in range(signs))])
        source = [f"def program({head}):", "    rows, assembled, near = [], [], False"]
        for level, lines in enumerate(text):
            if level:
                source.append("    " * level + f"for s{level - 1} in signs{level - 1}:")
            source += ["    " * (level + 1) + line for line in lines]
        # A sum is finite where all its terms are.
        total = " + ".join(line.name for line in results)
        closed = [f"-{CLOSED} <= {line.name} <= {CLOSED}" for line in gaps]
        limits = [*((m, EXACT.same) for m in margins), *((p, LOST) for p in pivots)]
        close = [f"-{limit} < {line.name} < {limit}" for line, limit in limits]
        inner = "    " * (signs + 1)
        source += [
            f"{inner}rows.append(({_listed([*results, *margins])}))",
            f"{inner}assembled.append({' and '.join([f'isfinite({total})', *closed])})",
            f"{inner}near = near or {' or '.join(close) or False}",
            "    return rows, assembled, near",
        ]
        return _compiled(source, _ON_NUMBERS)

    @cached_property
    def plain(self) -> Function:
        """Many inputs: a function of inputs and signs that returns all results, on arrays."""
        return self._on_arrays(Lowering(careful=False), [])

    @cached_property
    def careful(self) -> Function:
        """The same where solutions meet; cosine and sine of an angle that is free come first."""
        free = ("free_cosine", "free_sine")
        return self._on_arrays(Lowering(free=free), [*free])

    def _on_arrays(self, lowering: Lowering, first: Sequence[str]) -> Function:
        tape = self._plan.tape
        found = [*self._coordinates, *self._margins, *self._plan.gaps, *self.pivots]
        results = lowering.lines(tape, found)
        head = ", ".join([*first, *self._inputs, *(f"s{i}" for i in range(tape.signs))])
        lines = [f"    {line}" for line in lowering.code.statements(results, ARRAYS)]
        return _compiled([f"def program({head}):", *lines], _ON_ARRAYS)

    def evaluate(self, inputs: Array, branch: Branch | None, results: Array) -> None:
        """Enter results of plain formulas at inputs (N, inputs), (results, branches, N)."""
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
        """Results of careful formulas at inputs (N, inputs), shape (results, N).

        Each has its branch, shape (N,); the free angle is taken where any solves an equation.
        """
        k = self._steps
        signs = [1.0 - 2.0 * (branches >> (k - 1 - i) & 1) for i in range(k)]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = self.careful(math.cos(free), math.sin(free), *inputs.T, *signs)
            return np.stack([np.broadcast_to(result, len(inputs)) for result in found])


def _listed(results: Sequence[Line]) -> str:
    return "".join(f"{line.name}, " for line in results)


def _compiled(source: Sequence[str], functions: dict[str, Any]) -> Function:
    namespace = dict(functions)
    exec(compile("\n".join([*source, ""]), "<closed form>", "exec"), namespace)
    program: Function = namespace["program"]
    return program
