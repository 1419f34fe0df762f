"""Arithmetic expressions of the time, with their first two derivatives.

An expression is a recorded program, differentiated by the chain rule. ``drives.c`` evaluates it as
operations on a stack.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regularize.dynamics.tape.derivatives import Rule, derivatives
from regularize.dynamics.tape.program import ON_NUMBERS, Number, Program, Recording, evaluate
from regularize.errors import ModelError

#: Functions that expressions may use, and the operations that they are.
FUNCTIONS = {
    name: name
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log")
}
FUNCTIONS |= {"sqrt": "root", "abs": "absolute"}
_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
#: All operations on a stack, in the order of their codes in ``drives.c``.
OPERATIONS = ("constant", "variable", *_OPERATORS.values(), "negative", *FUNCTIONS.values(), "sign")
#: Derivatives of functions at t.
_SLOPES = {
    "tan": "1/cos(t)**2",
    "asin": "(1 - t**2)**-0.5",
    "acos": "-(1 - t**2)**-0.5",
    "atan": "1/(1 + t**2)",
    "sinh": "cosh(t)",
    "cosh": "sinh(t)",
    "tanh": "1 - tanh(t)**2",
    "exp": "exp(t)",
    "log": "1/t",
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
#: Values that the stack of ``drives.c`` holds.
DEEPEST = 32


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression of the time, as a program of value, rate and acceleration."""

    text: str
    program: Program

    @classmethod
    def of(cls, text: str, time: Number, value: Number) -> Expression:
        """Make an expression of a value, with its derivatives."""
        results = [value]
        for _ in range(2):
            results.append(derivatives(results[-1:], [time], _RULES)[0][0])
        return cls(text, Program((time,), tuple(results)))

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return value, rate and acceleration at a time, or refuse where there are none."""
        functions = {**ON_NUMBERS, "root": math.sqrt}
        try:
            values = evaluate(self.program.lines, {"t": float(t)}, functions)
        except (ArithmeticError, ValueError) as error:
            raise ModelError(
                f"{self.text!r} has no value or no rates at t = {t:g}: {error}"
            ) from error
        value, rate, acceleration = (values[x.index] for x in self.program.results)
        return value, rate, acceleration

    def numbers(self) -> list[float] | None:
        """Return lengths and codes of the stack programs; None where they are too deep for C.

        Each constant follows its code.
        """
        lengths: list[float] = []
        codes: list[float] = []
        for result in self.program.results:
            depth, before = 0, len(codes)
            for x in _on_stack(result):
                depth += 1 - len(x.arguments)
                if depth > DEEPEST:
                    return None
                codes.append(float(OPERATIONS.index(x.operation)))
                codes += [x.constant] if x.constant is not None else []
            lengths.append(float(len(codes) - before))
        return lengths + codes


def _on_stack(x: Number) -> Iterator[Number]:
    """Yield operations that leave a number on a stack."""
    for i in x.arguments:
        yield from _on_stack(x.recording.numbers[i])
    yield x


def _power(a: Number, b: Number) -> Number:
    return a if b.constant == 1.0 else a.recording.function("power", a, b)


def _power_rate(x: Number, arguments: Sequence[Number], rates: Sequence[Number]) -> Number:
    (a, b), (da, db) = arguments, rates
    if db.constant == 0.0:
        return b * _power(a, b - 1.0) * da
    return x * (db * a.recording.function("log", a) + b * (da / a))


def _slope_rule(name: str) -> Rule:
    body = _body(_SLOPES[name])
    return lambda x, arguments, rates: _term(body, name, arguments[0]) * rates[0]


def constant(value: float) -> Expression:
    """Return an expression that never changes."""
    time = Recording().variable("t")
    return Expression.of(str(value), time, time.recording.number(value))


def parse(text: str) -> Expression:
    """Return an expression from numbers, ``t``, ``pi``, ``e``, operators and functions."""
    time = Recording().variable("t")
    return Expression.of(text, time, _term(_body(text), text, time))


def _body(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ModelError(f"{text!r} is no arithmetic expression of the time t") from error


def _term(node: ast.expr, text: str, time: Number) -> Number:
    """Return the number of a part of an expression, with some number as the time."""
    recording = time.recording
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return recording.number(node.value)
    if isinstance(node, ast.Name) and node.id in ("t", "time"):
        return time
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return recording.number(_CONSTANTS[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        a, b = (_term(part, text, time) for part in (node.left, node.right))
        name = _OPERATORS[type(node.op)]
        return _power(a, b) if name == "power" else getattr(recording, name)(a, b)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        part = _term(node.operand, text, time)
        return -part if isinstance(node.op, ast.USub) else part
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and not node.keywords
        and node.func.id in FUNCTIONS
        and len(node.args) == 1
    ):
        return recording.function(FUNCTIONS[node.func.id], _term(node.args[0], text, time))
    raise ModelError(
        f"{ast.unparse(node)!r} in {text!r} is not understood; known are numbers, the time t, "
        f"pi, e, + - * / ** and {', '.join(FUNCTIONS)}"
    )


_RULES: dict[str, Rule] = {name: _slope_rule(name) for name in _SLOPES}
_RULES["power"] = _power_rate
_RULES["absolute"] = lambda x, arguments, rates: (
    x.recording.function("sign", arguments[0]) * rates[0]
)
