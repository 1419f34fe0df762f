"""Programs written in languages, compiled for arrays, and as functions of CasADi and SymPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from regularize.dynamics.tape.program import (
    ARITHMETIC,
    Functions,
    Number,
    Program,
    evaluate,
    needed,
)
from regularize.lie.arrays import Array

#: A compiled program: a function of its variables that returns all results.
Compiled: TypeAlias = Callable[..., tuple[Any, ...]]

_INFIX = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "at_most": "{} <= {}",
    "less": "{} < {}",
}


@dataclass(frozen=True)
class Language:
    """How operations and constants are written; other operations are calls of their own name."""

    operations: Mapping[str, str]
    constant: str = "({!r})"

    def name(self, x: Number) -> str:
        """Return how a number is written where it is used: ``(2.0)``, a variable, or ``v7``."""
        if x.constant is not None:
            return self.constant.format(x.constant)
        return str(x.data) if x.operation == "variable" else f"v{x.index}"

    def assignment(self, x: Number) -> str | None:
        """Return the assignment of a number, such as ``v7 = x0 * v3``; constants have none."""
        if x.operation in ("constant", "variable"):
            return None
        names = [self.name(x.recording.numbers[i]) for i in x.arguments]
        template = self.operations.get(x.operation)
        call = template.format(*names) if template else f"{x.operation}({', '.join(names)})"
        return f"{self.name(x)} = {call}"

    def assignments(self, lines: Iterable[Number]) -> list[str]:
        """Return the assignments of all numbers that have one."""
        return [text for x in lines if (text := self.assignment(x)) is not None]

    def listed(self, numbers: Iterable[Number]) -> str:
        """Return numbers with a comma behind each."""
        return "".join(f"{self.name(x)}, " for x in numbers)


#: Numbers of Python, arrays with ``array_functions``, and numbers of C. The square root of a
#: negative number is NaN in all of them.
PYTHON = Language(
    {
        **_INFIX,
        "root": "sqrt({0}) if {0} >= 0.0 else nan",
        "absolute": "abs({})",
        "both": "{} and {}",
        "either": "{} or {}",
        "where": "{1} if {0} else {2}",
    }
)
ARRAYS = Language({**_INFIX, "both": "{} & {}", "either": "{} | {}"})
C99 = Language(
    {
        **_INFIX,
        "root": "sqrt({})",
        "absolute": "fabs({})",
        "both": "{} && {}",
        "either": "{} || {}",
        "where": "{} ? {} : {}",
    }
)
#: Numbers of several states side by side, by the functions of ``lanes.c``.
LANES = Language({**_INFIX, "atan2": "turn_of({}, {})"}, "K({!r})")
WARP = Language(
    {
        **_INFIX,
        "root": "wp.sqrt({})",
        "absolute": "wp.abs({})",
        "sin": "wp.sin({})",
        "cos": "wp.cos({})",
        "minimum": "wp.min({}, {})",
        "maximum": "wp.max({}, {})",
        "atan2": "wp.atan2({}, {})",
    },
    "wp.float64({!r})",
)


_COMPARISONS = {"at_most": operator.le, "less": operator.lt}


def array_functions(xp: Any) -> dict[str, Callable[..., Any]]:
    """Return the operations besides arithmetic by the functions of NumPy, JAX or PyTorch."""
    return {
        **{name: getattr(xp, name) for name in ("sin", "cos", "minimum", "maximum", "where")},
        "root": xp.sqrt,
        "atan2": xp.arctan2,
        "absolute": abs,
        "remainder": lambda x, turn: x - turn * xp.round(x / turn),
        **_COMPARISONS,
        "both": operator.and_,
        "either": operator.or_,
    }


NUMPY = array_functions(np)


def compiled(
    results: Sequence[Number], variables: Sequence[Number | str], functions: Functions = NUMPY
) -> Compiled:
    """Return a function of variables that returns all results, on arrays."""
    inputs = [x if isinstance(x, str) else str(x.data) for x in variables]
    body = [f"return ({ARRAYS.listed(results)})"]
    used = {x.index for x in results}
    for x in reversed(needed(results)):
        assignment = ARRAYS.assignment(x)
        if assignment is not None:
            # What is not used again makes room in the processor's cache.
            last = {i for i in x.arguments if i not in used}
            used |= last
            numbers = (x.recording.numbers[i] for i in sorted(last))
            names = [ARRAYS.name(y) for y in numbers if y.arguments]
            body += [f"del {', '.join(names)}"] if names else []
            body.append(assignment)
    source = [f"def program({', '.join(inputs)}):", *(f"    {line}" for line in reversed(body))]
    return executed(source, functions)


def executed(source: Iterable[str], functions: Functions) -> Compiled:
    """Compile Python source and return its function ``program``."""
    namespace = dict(functions)
    exec(compile("\n".join([*source, ""]), "<straight-line program>", "exec"), namespace)
    program: Compiled = namespace["program"]
    return program


def columns(program: Compiled, x: Array) -> Array:
    """Return results of a program at variables (N, k), shape (N, results), NaN where none is."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        results = program(*np.ascontiguousarray(x.T))
    return np.stack([np.broadcast_to(y, len(x)) for y in results], axis=-1)


def casadi_functions() -> dict[str, Callable[..., Any]]:
    """Return the operations besides arithmetic of CasADi."""
    import casadi as ca

    return {
        **{name: getattr(ca, name) for name in ("sin", "cos", "atan2")},
        "root": ca.sqrt,
        "absolute": ca.fabs,
        "minimum": ca.fmin,
        "maximum": ca.fmax,
        "where": ca.if_else,
        "remainder": lambda x, turn: x - turn * ca.floor(x / turn + 0.5),
        **_COMPARISONS,
        "both": ca.logic_and,
        "either": ca.logic_or,
    }


def to_casadi(program: Program, parts: Mapping[str, int], result: str, name: str) -> Any:
    """Return a ``casadi.Function`` of vectors of so many variables each."""
    import casadi as ca

    vectors = [ca.SX.sym(key, length) for key, length in parts.items()]
    entries = [x[i] for x in vectors for i in range(x.numel())]
    variables = {str(x.data): y for x, y in zip(program.variables, entries, strict=True)}
    values = evaluate(program.lines, variables, casadi_functions(), ca.SX)
    result_vector = ca.vertcat(*(values[x.index] for x in program.results))
    return ca.Function(name, vectors, [result_vector], list(parts), [result])


def to_sympy(program: Program, symbols: Sequence[Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return assignments of symbols to expressions, and the results, as ``sympy.cse`` does."""
    import sympy

    functions = {
        "sin": sympy.sin, "cos": sympy.cos, "root": sympy.sqrt, "absolute": sympy.Abs,
        "minimum": sympy.Min, "maximum": sympy.Max, "atan2": sympy.atan2,
    }  # fmt: skip
    operations = {**ARITHMETIC, **functions}
    variables = {str(x.data): s for x, s in zip(program.variables, symbols, strict=True)}
    values: dict[int, Any] = {}
    assignments: list[tuple[Any, Any]] = []
    for x in program.lines:
        if x.operation == "variable":
            values[x.index] = variables[str(x.data)]
        elif x.constant is not None:
            c = x.constant
            values[x.index] = sympy.Float(c, 17) if c % 1 else sympy.Integer(int(c))
        else:
            expression = operations[x.operation](*(values[i] for i in x.arguments))
            values[x.index] = sympy.Symbol(f"x{x.index}", real=True)
            assignments.append((values[x.index], expression))
    return assignments, [values[x.index] for x in program.results]
