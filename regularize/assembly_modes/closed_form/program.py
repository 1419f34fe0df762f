"""A recorded program as compiled Python lines, on numbers or on arrays.

The same lines run with two sets of functions: those of ``math`` for one configuration at a time,
and those of numpy for arrays, where the choices of branches are further leading axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import numpy as np

from regularize.assembly_modes.closed_form import runtime
from regularize.assembly_modes.closed_form.array_runtime import ARRAY, Function, array_functions
from regularize.assembly_modes.closed_form.branches import Branch
from regularize.assembly_modes.closed_form.plan import Plan
from regularize.assembly_modes.closed_form.tape import Scalar
from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT

#: Closure errors of solutions that are checked: roots near zero leave half the digits.
CLOSED = 1e-9
#: Divisors below this, and squares of lengths, lose digits of what they divide.
LOST = 1e-4

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
#: The functions of ``runtime`` and ``math``.
_SCALAR: dict[str, Function] = {
    "isfinite": math.isfinite,
    **{name: value for name, value in vars(runtime).items() if callable(value)},
}


class Programs:
    """The compiled programs of a plan that finds every coordinate.

    Their results are coordinates, margins (scaled discriminants), closure errors, and pivots.

    Args:
        plan: The plan.
        coordinates: Number of coordinates.
        inputs: Number of inputs.

    Attributes:
        pivots: Divisors and squares of lengths that lose digits where they are small.
    """

    def __init__(self, plan: Plan, coordinates: int, inputs: int) -> None:
        """Gather what has to be computed; programs are compiled when they are asked for."""
        self._plan, self._inputs, self._steps = plan, inputs, len(plan.choices)
        self._coordinates = [plan.known.coordinates[c] for c in range(coordinates)]
        self._margins = [
            step.discriminant * (1.0 / step.size)
            for step in plan.choices
            if step.discriminant is not None
        ]
        self.pivots = [*plan.divisors, *plan.squares]
        self._others: dict[float, Function] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled programs, which are made again."""
        state = {k: value for k, value in vars(self).items() if k not in ("nested", "array")}
        return {**state, "_others": {}}

    @cached_property
    def nested(self) -> Function:
        """One input: all branches in loops within each other, on numbers.

        A function of the inputs and the signs to try for every choice. What an earlier choice
        settles is not computed again for a later one; the last choice runs fastest. It returns
        coordinates and margins of each branch, whether it is assembled, and whether any needs a
        closer look.
        """
        tape, signs = self._plan.tape, self._plan.tape.signs
        results = [*self._coordinates, *self._margins]
        text: list[list[str]] = [[] for _ in range(signs + 1)]
        levels: dict[int, int] = {}
        for x in tape.needed([*results, *self._plan.gaps, *self.pivots]):
            if x.operation.name == "sign":
                levels[x.index] = int(x.operation.data or 0) + 1
            else:
                levels[x.index] = max((levels[a] for a in x.operation.arguments), default=0)
            text[levels[x.index]] += line_of(x)
        head = ", ".join([*_inputs(self._inputs), *(f"signs{i}" for i in range(signs))])
        source = [f"def program({head}):", "    rows, assembled, near = [], [], False"]
        for level, lines in enumerate(text):
            if level:
                source.append("    " * level + f"for s{level - 1} in signs{level - 1}:")
            source += ["    " * (level + 1) + line for line in lines]
        # A sum is finite where all its terms are.
        total = " + ".join(name_of(r) for r in self._coordinates)
        closed = [f"-{CLOSED} <= {name_of(r)} <= {CLOSED}" for r in self._plan.gaps]
        limits = [*((m, EXACT.same) for m in self._margins), *((p, LOST) for p in self.pivots)]
        close = [f"-{limit} < {name_of(r)} < {limit}" for r, limit in limits]
        inner = "    " * (signs + 1)
        source += [
            f"{inner}rows.append(({_listed(results)}))",
            f"{inner}assembled.append({' and '.join([f'isfinite({total})', *closed])})",
            f"{inner}near = near or {' or '.join(close) or False}",
            "    return rows, assembled, near",
        ]
        return _executed(source, _SCALAR)

    @cached_property
    def array(self) -> Function:
        """Many inputs: a function of inputs and signs that returns all results, on arrays."""
        return self._compiled(ARRAY)

    def at_angle(self, angle: float) -> Function:
        """The program with another angle where any one solves its equation."""
        if angle not in self._others:
            self._others[angle] = self._compiled(array_functions(angle))
        return self._others[angle]

    def _compiled(self, functions: dict[str, Function]) -> Function:
        tape = self._plan.tape
        results = [*self._coordinates, *self._margins, *self._plan.gaps, *self.pivots]
        head = ", ".join([*_inputs(self._inputs), *(f"s{i}" for i in range(tape.signs))])
        lines = [line for x in tape.needed(results) for line in line_of(x)]
        body = [f"    {line}" for line in [*lines, f"return ({_listed(results)})"]]
        return _executed([f"def program({head}):", *body], functions)

    def evaluate(
        self, program: Function, inputs: Array, branch: Branch | None, results: Array
    ) -> None:
        """Enter the results of a program at all samples and branches, (results, branches, N)."""
        k = self._steps
        values = [[1.0, -1.0]] * k if branch is None else [[float(s)] for s in branch.signs]
        signs = [
            np.reshape(v, [*(len(v) if j == i else 1 for j in range(k)), 1])
            for i, v in enumerate(values)
        ]
        columns = [np.ascontiguousarray(x) for x in inputs.T]
        # A view: one axis is split.
        each = results.reshape(len(results), *map(len, values), len(inputs))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for i, result in enumerate(program(*columns, *signs)):
                each[i] = result


def name_of(x: Scalar) -> str:
    """How a quantity is written: a number, an input ``x0``, a sign ``s0`` or a variable ``v7``."""
    if x.constant is not None:
        return f"({x.constant!r})"
    prefix = {"input": "x", "sign": "s"}.get(x.operation.name)
    return f"v{x.index}" if prefix is None else f"{prefix}{x.operation.data}"


def line_of(x: Scalar) -> list[str]:
    """The assignment that an operation is, if it is one."""
    operation = x.operation
    if operation.name in ("constant", "input", "sign"):
        return []
    arguments = [name_of(x.tape.quantities[a]) for a in operation.arguments]
    if operation.name in _INFIX:
        text = f" {_INFIX[operation.name]} ".join(arguments)
    elif operation.name == "negative":
        text = f"-{arguments[0]}"
    elif operation.name == "item":
        text = f"{arguments[0]}[{operation.data}]"
    else:
        data = [] if operation.data is None else [repr(operation.data)]
        text = f"{operation.name}({', '.join([*arguments, *data])})"
    return [f"v{x.index} = {text}"]


def _inputs(count: int) -> list[str]:
    return [f"x{i}" for i in range(count)]


def _listed(results: Sequence[Scalar]) -> str:
    return "".join(f"{name_of(r)}, " for r in results)


def _executed(lines: Sequence[str], functions: dict[str, Function]) -> Function:
    namespace: dict[str, Any] = dict(functions)
    exec(_code("\n".join([*lines, ""])), namespace)
    program: Function = namespace["program"]
    return program


@lru_cache(maxsize=16)
def _code(source: str) -> CodeType:
    """Compiled once for several sets of functions."""
    return compile(source, "<closed form>", "exec")
