"""Programs as functions of other packages, and as lines of source: CasADi, SymPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from regularize.dynamics.tape.graph import StraightLine

#: What operations are in a language of infix operators.
_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def evaluate(
    program: StraightLine,
    inputs: Sequence[Any],
    functions: Mapping[str, Callable[..., Any]],
    constant: Callable[[float], Any] = float,
) -> list[Any]:
    """Results of a program.

    Args:
        program: The program.
        inputs: Values of its inputs: whatever adds and multiplies.
        functions: What else there is besides arithmetic: ``sin``, ``cos``, ``sqrt``, ``absolute``,
            ``minimum``, ``maximum`` and ``atan2``.
        constant: What makes values of constants.
    """
    values: list[Any] = []
    for line in program.lines:
        arguments = [values[i] for i in line.arguments]
        match line.name:
            case "input":
                values.append(inputs[int(line.data)])
            case "constant":
                values.append(constant(line.data))
            case "add":
                values.append(arguments[0] + arguments[1])
            case "subtract":
                values.append(arguments[0] - arguments[1])
            case "multiply":
                values.append(arguments[0] * arguments[1])
            case "divide":
                values.append(arguments[0] / arguments[1])
            case "negative":
                values.append(-arguments[0])
            case _:
                values.append(functions[line.name](*arguments))
    return [values[i] for i in program.outputs]


def to_casadi(program: StraightLine, parts: Mapping[str, int], result: str, name: str) -> Any:
    """A ``casadi.Function`` of vectors of so many inputs each."""
    import casadi

    functions = {
        "sin": casadi.sin, "cos": casadi.cos, "sqrt": casadi.sqrt, "absolute": casadi.fabs,
        "minimum": casadi.fmin, "maximum": casadi.fmax, "atan2": casadi.atan2,
    }  # fmt: skip
    vectors = [casadi.SX.sym(key, length) for key, length in parts.items()]
    inputs = [x[i] for x in vectors for i in range(x.numel())]
    found = casadi.vertcat(*evaluate(program, inputs, functions, casadi.SX))
    return casadi.Function(name, vectors, [found], list(parts), [result])


def to_sympy(
    program: StraightLine, symbols: Sequence[Any]
) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Assignments of symbols to expressions, and the results, as ``sympy.cse`` has them."""
    import sympy

    functions = {
        "sin": sympy.sin, "cos": sympy.cos, "sqrt": sympy.sqrt, "absolute": sympy.Abs,
        "minimum": sympy.Min, "maximum": sympy.Max, "atan2": sympy.atan2,
    }  # fmt: skip
    assignments: list[tuple[Any, Any]] = []
    values: list[Any] = []
    for k, line in enumerate(program.lines):
        one = StraightLine((*_own(line, program),), (len(line.arguments),), len(line.arguments))
        if line.name == "input":
            values.append(symbols[int(line.data)])
        elif line.name == "constant":
            values.append(
                sympy.Float(line.data, 17) if line.data % 1 else sympy.Integer(int(line.data))
            )
        else:
            expression = evaluate(one, [values[i] for i in line.arguments], functions)[0]
            values.append(sympy.Symbol(f"x{k}", real=True))
            assignments.append((values[-1], expression))
    return assignments, [values[i] for i in program.outputs]


def _own(line: Any, program: StraightLine) -> Iterator[Any]:
    """One line as a program of its arguments."""
    kind = type(line)
    for k in range(len(line.arguments)):
        yield kind("input", (), k)
    yield kind(line.name, tuple(range(len(line.arguments))), line.data)


def statements(
    program: StraightLine,
    place: Callable[[int], str],
    constant: Callable[[float], str],
    functions: Mapping[str, str],
    assign: str,
) -> tuple[list[str], list[str]]:
    """Lines of source, and what the results are called.

    Args:
        program: The program.
        place: Where each input is.
        constant: A constant.
        functions: What functions are called.
        assign: What stands before and behind a line's number, and the expression: a template.
    """
    names: list[str] = []
    lines: list[str] = []
    for k, line in enumerate(program.lines):
        arguments = [names[i] for i in line.arguments]
        if line.name == "constant":
            names.append(constant(line.data))
            continue
        if line.name == "input":
            expression = place(int(line.data))
        elif line.name in _INFIX:
            expression = f" {_INFIX[line.name]} ".join(arguments)
        elif line.name == "negative":
            expression = f"-{arguments[0]}"
        else:
            expression = f"{functions[line.name]}({', '.join(arguments)})"
        lines.append(assign.format(k, expression))
        names.append(f"x{k}")
    return lines, [names[i] for i in program.outputs]
