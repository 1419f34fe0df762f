"""Arithmetic expressions of the time, with their first two derivatives.

An expression is differentiated as it is written, by the chain rule; what is evaluated then, here or
by ``drives.c``, is plain arithmetic: operations on a stack.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regularize.errors import ModelError

#: Slopes of the functions that expressions may use.
SLOPES = {
    "sin": "cos(t)",
    "cos": "-sin(t)",
    "tan": "1/cos(t)**2",
    "asin": "(1 - t**2)**-0.5",
    "acos": "-(1 - t**2)**-0.5",
    "atan": "1/(1 + t**2)",
    "sinh": "cosh(t)",
    "cosh": "sinh(t)",
    "tanh": "1 - tanh(t)**2",
    "exp": "exp(t)",
    "log": "1/t",
    "sqrt": "0.5*t**-0.5",
}
#: Functions that expressions may use.
FUNCTIONS = (*SLOPES, "abs")
_BINARY: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": math.pow,
}
_UNARY: dict[str, Callable[[float], float]] = {
    "negative": operator.neg,
    **{name: getattr(math, name) for name in SLOPES},
    "abs": math.fabs,
    "sign": lambda x: math.copysign(1.0, x),
}
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
#: Values that the stack of ``drives.c`` holds.
DEEPEST = 32


@dataclass(frozen=True)
class Term:
    """A part of an expression.

    Attributes:
        operation: One of ``OPERATIONS``.
        parts: What it operates on.
        number: The number where it is one.
    """

    operation: str
    parts: tuple[Term, ...] = ()
    number: float = 0.0

    def program(self) -> Iterator[tuple[str, float]]:
        """Operations that leave its value on a stack."""
        for part in self.parts:
            yield from part.program()
        yield self.operation, self.number


TIME, ZERO, ONE = Term("time"), Term("number"), Term("number", number=1.0)


def _made(operation: str, *parts: Term) -> Term:
    """The term without what adds nothing: sums with 0, products with 0 and 1, known numbers."""
    if all(part.operation == "number" for part in parts):
        known = _BINARY.get(operation) or _UNARY[operation]
        try:
            return Term("number", number=known(*(part.number for part in parts)))
        except (ArithmeticError, ValueError):
            return Term(operation, parts)  # it has no value, which is said when it is asked for
    first, last = parts[0], parts[-1]
    if (operation in ("*", "/") and first == ZERO) or (operation == "*" and last == ZERO):
        return ZERO
    if last == {"+": ZERO, "-": ZERO, "*": ONE, "/": ONE, "**": ONE}.get(operation):
        return first
    return last if first == {"+": ZERO, "*": ONE}.get(operation) else Term(operation, parts)


def _slope(term: Term) -> Term:
    """The derivative of a term by the time."""
    if not term.parts:
        return ONE if term == TIME else ZERO
    a, b, operation = term.parts[0], term.parts[-1], term.operation
    da, db = _slope(a), _slope(b)
    if operation in ("+", "-", "negative"):
        return _made(operation, *(da, db)[: len(term.parts)])
    if operation == "*":
        return _made("+", _made("*", da, b), _made("*", a, db))
    if operation == "/":
        return _made("/", _made("-", da, _made("*", term, db)), b)
    if operation == "**" and db == ZERO:
        return _made("*", _made("*", b, _made("**", a, _made("-", b, ONE))), da)
    if operation == "**":
        return _made("*", term, _slope(_made("*", b, _made("log", a))))
    if operation == "abs":
        return _made("*", _made("sign", a), da)
    return _made("*", _term(_body(SLOPES.get(operation, "0")), operation, a), da)


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression of the time.

    Attributes:
        text: What was written.
        programs: Operations that leave its value, rate and acceleration on a stack, and of each
            the number where it is one.
    """

    text: str
    programs: tuple[tuple[tuple[str, float], ...], ...]

    @classmethod
    def of(cls, text: str, term: Term) -> Expression:
        """A term with its derivatives."""
        rate = _slope(term)
        return cls(text, tuple(tuple(each.program()) for each in (term, rate, _slope(rate))))

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at a time.

        Raises:
            ModelError: There are none.
        """
        try:
            value, rate, acceleration = (_evaluated(each, float(t)) for each in self.programs)
        except (ArithmeticError, ValueError) as error:
            raise ModelError(
                f"{self.text!r} has no value or no rates at t = {t:g}: {error}"
            ) from error
        return value, rate, acceleration

    def numbers(self) -> list[float] | None:
        """Lengths of the programs, and behind them codes, those of numbers with the number.

        Returns:
            None where they need more room than ``drives.c`` has.
        """
        lengths: list[float] = []
        codes: list[float] = []
        for program in self.programs:
            depth, before = 0, len(codes)
            for operation, number in program:
                depth += 1 if operation in ("number", "time") else -(operation in _BINARY)
                if depth > DEEPEST:
                    return None
                codes += [float(OPERATIONS.index(operation))]
                codes += [number] if operation == "number" else []
            lengths.append(float(len(codes) - before))
        return lengths + codes


def _evaluated(program: tuple[tuple[str, float], ...], t: float) -> float:
    stack: list[float] = []
    for operation, number in program:
        if operation in _BINARY:
            last = stack.pop()
            stack.append(_BINARY[operation](stack.pop(), last))
        elif operation in _UNARY:
            stack.append(_UNARY[operation](stack.pop()))
        else:
            stack.append(t if operation == "time" else number)
    return stack[0]


def constant(value: float) -> Expression:
    """What never changes."""
    return Expression.of(str(value), Term("number", number=float(value)))


def parse(text: str) -> Expression:
    """An expression as a function of the time: value, rate and acceleration.

    Args:
        text: Numbers, ``t`` or ``time``, ``pi``, ``e``, ``+ - * / **``, brackets and ``FUNCTIONS``.

    Raises:
        ModelError: Saying which part of it is none of these.
    """
    return Expression.of(text, _term(_body(text), text))


def _body(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ModelError(f"{text!r} is no arithmetic expression of the time t") from error


def _term(node: ast.expr, text: str, time: Term = TIME) -> Term:
    """The term that a part of an expression is, with something in place of the time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Term("number", number=float(node.value))
    if isinstance(node, ast.Name) and node.id in _TIME:
        return time
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return Term("number", number=_CONSTANTS[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        parts = (_term(part, text, time) for part in (node.left, node.right))
        return _made(_OPERATORS[type(node.op)], *parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        part = _term(node.operand, text, time)
        return _made("negative", part) if isinstance(node.op, ast.USub) else part
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and not node.keywords
        and node.func.id in FUNCTIONS
        and len(node.args) == 1
    ):
        return _made(node.func.id, _term(node.args[0], text, time))
    raise ModelError(
        f"{ast.unparse(node)!r} in {text!r} is not understood; known are numbers, the time t, "
        f"pi, e, + - * / ** and {', '.join(FUNCTIONS)}"
    )
