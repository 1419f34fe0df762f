r"""Arithmetic expressions of the time, with their first two derivatives.

Expressions are evaluated in Taylor arithmetic: numbers :math:`(f, \dot f, \ddot f)` that are
added, multiplied and put into functions by the chain rule (Griewank and Walther, Evaluating
Derivatives, section 13.2).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regularize.errors import ModelError


@dataclass(frozen=True)
class Taylor:
    """A value that changes over time.

    Attributes:
        value: What it is.
        rate: Its derivative by the time.
        acceleration: Its second derivative.
    """

    value: float
    rate: float = 0.0
    acceleration: float = 0.0

    def through(self, value: float, slope: float, bend: float) -> Taylor:
        """A function of this value by its value and its derivatives there."""
        bent = bend * self.rate**2 if self.rate else 0.0
        moved = slope * self.acceleration if self.acceleration else 0.0
        return Taylor(value, slope * self.rate if self.rate else 0.0, bent + moved)

    def __neg__(self) -> Taylor:
        """The negative."""
        return Taylor(-self.value, -self.rate, -self.acceleration)

    def __add__(self, other: Taylor) -> Taylor:
        """Sum."""
        return Taylor(
            self.value + other.value,
            self.rate + other.rate,
            self.acceleration + other.acceleration,
        )

    def __sub__(self, other: Taylor) -> Taylor:
        """Difference."""
        return self + -other

    def __mul__(self, other: Taylor) -> Taylor:
        """Product."""
        return Taylor(
            self.value * other.value,
            self.rate * other.value + self.value * other.rate,
            self.acceleration * other.value
            + 2.0 * self.rate * other.rate
            + self.value * other.acceleration,
        )

    def __truediv__(self, other: Taylor) -> Taylor:
        """Quotient."""
        x = other.value
        return self * other.through(1.0 / x, -1.0 / x**2, 2.0 / x**3)

    def __pow__(self, other: Taylor) -> Taylor:
        """Power; the exponent may change over time where the base is positive."""
        x, n = self.value, other.value
        if other.rate or other.acceleration:
            return FUNCTIONS["exp"](other * FUNCTIONS["log"](self))
        slope = n * x ** (n - 1.0) if n and self != Taylor(x) else 0.0
        bend = n * (n - 1.0) * x ** (n - 2.0) if n not in (0.0, 1.0) and self.rate else 0.0
        return self.through(x**n, slope, bend)


def _function(
    value: Callable[[float], float],
    slope: Callable[[float], float],
    bend: Callable[[float], float],
) -> Callable[[Taylor], Taylor]:
    """A function of changing values by its derivatives."""
    return lambda x: x.through(value(x.value), slope(x.value), bend(x.value))


#: Functions that expressions may use.
FUNCTIONS: dict[str, Callable[[Taylor], Taylor]] = {
    "sin": _function(math.sin, math.cos, lambda x: -math.sin(x)),
    "cos": _function(math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x)),
    "tan": _function(
        math.tan, lambda x: 1 / math.cos(x) ** 2, lambda x: 2 * math.tan(x) / math.cos(x) ** 2
    ),
    "asin": _function(math.asin, lambda x: (1 - x * x) ** -0.5, lambda x: x * (1 - x * x) ** -1.5),
    "acos": _function(
        math.acos, lambda x: -((1 - x * x) ** -0.5), lambda x: -x * (1 - x * x) ** -1.5
    ),
    "atan": _function(math.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
    "sinh": _function(math.sinh, math.cosh, math.sinh),
    "cosh": _function(math.cosh, math.sinh, math.cosh),
    "tanh": _function(
        math.tanh, lambda x: math.cosh(x) ** -2, lambda x: -2 * math.tanh(x) * math.cosh(x) ** -2
    ),
    "exp": _function(math.exp, math.exp, math.exp),
    "log": _function(math.log, lambda x: 1 / x, lambda x: -1 / x**2),
    "sqrt": _function(math.sqrt, lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5),
    "abs": _function(abs, lambda x: math.copysign(1.0, x), lambda x: 0.0),
}

#: Operations on two values.
_BINARY: dict[str, Callable[[Taylor, Taylor], Taylor]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
_UNARY: dict[str, Callable[[Taylor], Taylor]] = {"negative": operator.neg, **FUNCTIONS}
#: All operations on a stack, in the order of their codes in ``drives.c``.
OPERATIONS = ("number", "time", *_BINARY, *_UNARY)

_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
#: Names of the time.
_TIME = ("t", "time")


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression of the time, as operations on a stack.

    Attributes:
        text: What was written.
        operations: Each an operation, and the number where it is one.
    """

    text: str
    operations: tuple[tuple[str, float], ...]

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at a time.

        Raises:
            ModelError: There are none.
        """
        try:
            found = self._at(Taylor(float(t), 1.0))
            return float(found.value), float(found.rate), float(found.acceleration)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise ModelError(
                f"{self.text!r} has no value or no rates at t = {t:g}: {error}"
            ) from error

    def _at(self, time: Taylor) -> Taylor:
        stack: list[Taylor] = []
        for operation, number in self.operations:
            if operation in _BINARY:
                last = stack.pop()
                stack.append(_BINARY[operation](stack.pop(), last))
            elif operation in _UNARY:
                stack.append(_UNARY[operation](stack.pop()))
            else:
                stack.append(time if operation == "time" else Taylor(number))
        return stack[0]

    def numbers(self, deepest: int = 32) -> list[float] | None:
        """Codes of the operations, and behind those of numbers the numbers.

        Args:
            deepest: How many values the stack of ``drives.c`` has.

        Returns:
            None where it needs more.
        """
        depth = most = 0
        result: list[float] = []
        for operation, number in self.operations:
            depth += 1 if operation in ("number", "time") else -1 if operation in _BINARY else 0
            most = max(most, depth)
            result.append(float(OPERATIONS.index(operation)))
            result += [number] if operation == "number" else []
        return result if most <= deepest else None


def parse(text: str) -> Expression:
    """An expression as a function of the time: value, rate and acceleration.

    Args:
        text: Numbers, ``t`` or ``time``, ``pi``, ``e``, ``+ - * / **``, brackets and ``FUNCTIONS``.

    Raises:
        ModelError: Saying which part of it is none of these.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise ModelError(f"{text!r} is no arithmetic expression of the time t") from error
    return Expression(text, tuple(_operations(tree.body, text)))


def _operations(node: ast.expr, text: str) -> Iterator[tuple[str, float]]:
    """Operations that leave a part of an expression on the stack."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "number", float(node.value)
    elif isinstance(node, ast.Name) and node.id in _TIME:
        yield "time", 0.0
    elif isinstance(node, ast.Name) and node.id in _CONSTANTS:
        yield "number", _CONSTANTS[node.id]
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield from _operations(node.left, text)
        yield from _operations(node.right, text)
        yield _OPERATORS[type(node.op)], 0.0
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        yield from _operations(node.operand, text)
        if isinstance(node.op, ast.USub):
            yield "negative", 0.0
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and not node.keywords
        and node.func.id in FUNCTIONS
        and len(node.args) == 1
    ):
        yield from _operations(node.args[0], text)
        yield node.func.id, 0.0
    else:
        raise ModelError(
            f"{ast.unparse(node)!r} in {text!r} is not understood; known are numbers, the time t, "
            f"pi, e, + - * / ** and {', '.join(FUNCTIONS)}"
        )
