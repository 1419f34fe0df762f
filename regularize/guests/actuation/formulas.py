"""Lines of elementary operations simplified, differentiated, solved and compiled.

What comes of a line is a line again, so that derivatives, Newton's steps and polynomials are
written in every language by the same printers as closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from regularize.guests.modes.closed_form.elementary import ARRAYS, Code, Line
from regularize.lie.arrays import Array

Program: TypeAlias = Callable[..., tuple[Any, ...]]

NUMPY = {
    **{"atan2": np.arctan2, "abs": np.abs, "cos": np.cos, "sin": np.sin, "sqrt": np.sqrt},
    **{"where": np.where, "remainder": lambda x, turn: x - turn * np.round(x / turn)},
}


def _value(line: Line) -> float | None:
    return float(line.data) if line.operation == "constant" and line.data is not None else None


def total(a: Line, b: Line, sign: float = 1.0) -> Line:
    """A + b or a - b, without what is zero."""
    x, y = _value(a), _value(b)
    if x is not None and y is not None:
        return a.code.scalar(x + sign * y)
    if y == 0.0:
        return a
    if x == 0.0:
        return b if sign > 0 else negated(b)
    return a + b if sign > 0 else a - b


def negated(a: Line) -> Line:
    """-a, without two signs."""
    if (x := _value(a)) is not None:
        return a.code.scalar(-x)
    return a.code.lines[a.arguments[0]] if a.operation == "negative" else -a


def product(a: Line, b: Line) -> Line:
    """A b, without what is zero or one."""
    x, y = _value(a), _value(b)
    if x is not None and y is not None:
        return a.code.scalar(x * y)
    for value, other in ((x, b), (y, a)):
        if value is not None and value in (0.0, 1.0, -1.0):
            return {0.0: a.code.scalar(0.0), 1.0: other}.get(value) or negated(other)
    return a * b


def quotient(a: Line, b: Line) -> Line:
    """A / b, without what is zero or one."""
    x, y = _value(a), _value(b)
    if y is not None:
        return a.code.scalar(x / y) if x is not None else product(a, a.code.scalar(1.0 / y))
    return a if x == 0.0 else a / b


def _known(a: Line, name: str, function: Callable[[float], float]) -> Line:
    """A function of a number is a number."""
    x = _value(a)
    return a.code.enter(name, a) if x is None else a.code.scalar(function(x))


_SIMPLE: dict[str, Callable[..., Line]] = {
    "add": total,
    "subtract": lambda a, b: total(a, b, -1.0),
    "multiply": product,
    "divide": quotient,
    "negative": negated,
    "root": lambda a: _known(a, "root", lambda x: x**0.5 if x >= 0.0 else float("nan")),
    "cos": lambda a: _known(a, "cos", math.cos),
    "sin": lambda a: _known(a, "sin", math.sin),
}


def copied(lines: Sequence[Line], code: Code, known: Mapping[str, Line]) -> list[Line]:
    """The same lines in another code, with variables replaced by lines of it."""
    made: dict[int, Line] = {}
    for line in lines[0].code.needed(lines) if lines else ():
        if line.operation == "constant":
            made[line.index] = code.scalar(_value(line) or 0.0)
        elif line.operation == "variable":
            made[line.index] = known[str(line.data)]
        else:
            own = [made[a] for a in line.arguments]
            simple = _SIMPLE.get(line.operation)
            made[line.index] = simple(*own) if simple else code.enter(line.operation, *own)
    for index, (kind, of, place) in lines[0].code.implicit.items() if lines else ():
        if index in made and all(line.index in made for line in of):
            code.implicit.setdefault(
                made[index].index, (kind, tuple(made[line.index] for line in of), place)
            )
    return [made[line.index] for line in lines]


def derivatives(lines: Sequence[Line], variables: Sequence[Line]) -> list[list[Line]]:
    """Derivatives of lines by variables of their code, one list for each line."""
    columns = []
    for variable in variables:
        code = variable.code
        zero, rate = code.scalar(0.0), {variable.index: code.scalar(1.0)}
        for line in code.needed(lines):
            own = [code.lines[a] for a in line.arguments]
            rates = [rate.get(a, zero) for a in line.arguments]
            if any(_value(r) != 0.0 for r in rates):
                found = _solution_rate(line, rate, zero)
                rate[line.index] = found or _rate(line, own, rates)
        columns.append([rate.get(line.index, zero) for line in lines])
    return [list(row) for row in zip(*columns, strict=True)]


def _solution_rate(line: Line, rate: Mapping[int, Line], zero: Line) -> Line | None:
    """Derivative of what solves an equation, from the equation; None for all else.

    The angle of A cos x + B sin x + C = 0 turns by (cos x dA + sin x dB + dC) / r, where r is the
    root of the discriminant, and the one towards (x, y) by (x dy - y dx) / r².
    """
    code, pair = line.code, line.operation == "atan2"
    index = line.arguments[1] if pair else line.index
    if index not in code.implicit:
        return None
    kind, of, place = code.implicit[index]
    if pair and (kind == "quadratic" or [x.index for x in of[-2:]] != [*reversed(line.arguments)]):
        return None
    rates = [rate.get(x.index, zero) for x in of]
    if kind == "quadratic":
        *_, root, s = of
        dA, dB, dC = rates[:3]
        change = total(product(total(product(dA, s), product(dB, code.scalar(2.0))), s), dC)
        return quotient(negated(change), product(root, code.scalar(2.0)))
    cosine, sine = of[-2:]
    if kind == "circle":
        change = total(product(cosine, rates[0]), product(sine, rates[1]))
        turn = quotient(total(change, rates[2]), of[3])
    else:
        length, (dx, dy) = of[2], rates[:2]
        turn = quotient(total(product(cosine, dy), product(sine, dx), -1.0), length)
    if pair:
        return turn
    return negated(product(sine, turn)) if place == 0 else product(cosine, turn)


def _rate(line: Line, of: Sequence[Line], rates: Sequence[Line]) -> Line:
    """Derivative of an operation from those of what it is done to."""
    code, name, zero = line.code, line.operation, line.code.scalar(0.0)
    if name in ("add", "subtract"):
        return total(rates[0], rates[1], 1.0 if name == "add" else -1.0)
    if name == "multiply":
        return total(product(rates[0], of[1]), product(of[0], rates[1]))
    if name == "divide":
        return quotient(total(rates[0], product(line, rates[1]), -1.0), of[1])
    if name == "negative":
        return negated(rates[0])
    if name == "sin":
        return product(code.enter("cos", of[0]), rates[0])
    if name == "cos":
        return negated(product(code.enter("sin", of[0]), rates[0]))
    if name == "root":
        return quotient(product(rates[0], code.scalar(0.5)), line)
    if name == "atan2":
        (y, x), (dy, dx) = of, rates
        square = total(product(x, x), product(y, y))
        return quotient(total(product(x, dy), product(y, dx), -1.0), square)
    if name == "remainder":
        return rates[0]
    if name == "absolute":
        return (of[0] < 0.0).where(negated(rates[0]), rates[0])
    if name == "where":
        return of[0].where(rates[1], rates[2])
    return zero  # comparisons do not change


def solved(rows: Sequence[Sequence[Line]], right: Sequence[Line], inverse: Array) -> list[Line]:
    """Solution of k linear equations without search for pivots.

    Up to three are solved by determinants; more by elimination, with the rows multiplied by the
    inverse somewhere, shape (k, k), which makes pivots of the diagonal.
    """
    k = len(rows)
    if k <= 3:
        divisor = _determinant(rows)
        exchanged = (
            [[right[i] if j == c else rows[i][j] for j in range(k)] for i in range(k)]
            for c in range(k)
        )
        return [quotient(_determinant(each), divisor) for each in exchanged]
    code = right[0].code
    weights = [[code.scalar(float(x)) for x in row] for row in inverse]
    a = [[_sum(w, [row[j] for row in rows]) for j in range(k)] for w in weights]
    b = [_sum(w, right) for w in weights]
    for i in range(k):
        for r in range(i + 1, k):
            f = quotient(a[r][i], a[i][i])
            a[r] = [total(x, product(f, y), -1.0) for x, y in zip(a[r], a[i], strict=True)]
            b[r] = total(b[r], product(f, b[i]), -1.0)
    found: list[Line] = []
    for i in reversed(range(k)):
        left = total(b[i], _sum(a[i][i + 1 :], found, code), -1.0)
        found.insert(0, quotient(left, a[i][i]))
    return found


def _sum(a: Sequence[Line], b: Sequence[Line], code: Code | None = None) -> Line:
    result = (code or a[0].code).scalar(0.0)
    for x, y in zip(a, b, strict=True):
        result = total(result, product(x, y))
    return result


def _determinant(m: Sequence[Sequence[Line]]) -> Line:
    if len(m) == 1:
        return m[0][0]
    result = m[0][0].code.scalar(0.0)
    for j, factor in enumerate(m[0]):
        minor = [[*row[:j], *row[j + 1 :]] for row in m[1:]]
        result = total(result, product(factor, _determinant(minor)), (-1.0) ** j)
    return result


def compiled(
    results: Sequence[Line],
    given: Sequence[str],
    language: Mapping[str, str] = ARRAYS,
    functions: Mapping[str, Any] = NUMPY,
) -> Program:
    """A function of some variables that returns all results, on arrays."""
    body = results[0].code.statements(results, language)
    source = [f"def program({', '.join(given)}):", *(f"    {line}" for line in body), ""]
    namespace = dict(functions)
    exec(compile("\n".join(source), "<actuation map>", "exec"), namespace)
    program: Program = namespace["program"]
    return program
