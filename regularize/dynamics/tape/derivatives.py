"""Derivatives of programs, programs within programs, and linear equations of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from regularize.dynamics.tape.program import (
    ARITHMETIC,
    ON_NUMBERS,
    Number,
    Recording,
    evaluate,
    needed,
)
from regularize.lie.arrays import Array


def copied(
    numbers: Sequence[Number], recording: Recording, variables: Mapping[str, Number]
) -> list[Number]:
    """Return copies of numbers in another recording, with its numbers in place of variables."""
    if not numbers:
        return []
    lines, implicit = _with_equations(numbers), numbers[0].recording.implicit
    functions = {
        name: partial(recording.function, name) for name in ON_NUMBERS if name not in ARITHMETIC
    }
    copies = evaluate(lines, variables, functions, recording.number)
    for x in lines:
        if x.index in implicit:
            kind, parts, place, sign = implicit[x.index]
            copied_parts = tuple(copies[y.index] for y in parts)
            recording.note(copies[x.index], (kind, copied_parts, place, sign))
    return [copies[x.index] for x in numbers]


def _with_equations(numbers: Sequence[Number]) -> list[Number]:
    """Return the numbers that some depend on, and those of the equations that they solve.

    Signs and constants are folded: a solution need not depend on each coefficient as it is.
    """
    lines, count = needed(numbers), 0
    while len(lines) > count:
        count, implicit = len(lines), lines[0].recording.implicit
        parts = [y for x in lines if x.index in implicit for y in implicit[x.index][1]]
        lines = needed([*numbers, *parts])
    return lines


#: Derivative of a function by its arguments, from itself, these and their derivatives.
Rule = Callable[[Number, Sequence[Number], Sequence[Number]], Number]


def derivatives(
    numbers: Sequence[Number], variables: Sequence[Number], rules: Mapping[str, Rule] | None = None
) -> list[list[Number]]:
    """Return derivatives of numbers by variables; ``rules`` are of unknown functions."""
    columns, lines = [], _with_equations(numbers)
    for variable in variables:
        recording = variable.recording
        zero, rate = recording.number(0.0), {variable.index: recording.number(1.0)}
        for x in lines:
            arguments = [recording.numbers[i] for i in x.arguments]
            rates = [rate.get(i, zero) for i in x.arguments]
            if any(r.constant != 0.0 for r in rates):
                rate[x.index] = _solution_rate(x, rate, zero) or (
                    rules[x.operation](x, arguments, rates)
                    if rules and x.operation in rules
                    else _rate(x, arguments, rates)
                )
        columns.append([rate.get(x.index, zero) for x in numbers])
    return [list(row) for row in zip(*columns, strict=True)]


def _solution_rate(x: Number, rate: Mapping[int, Number], zero: Number) -> Number | None:
    """Return the derivative of the solution of an equation by the equation; None for all else.

    The angle of A cos x + B sin x + C = 0 turns by (cos x dA + sin x dB + dC) / r, where r is the
    root of the discriminant, and the one towards (x, y) by (x dy - y dx) / r².
    """
    recording, is_angle = x.recording, x.operation == "atan2"
    index = x.arguments[1] if is_angle else x.index
    if index not in recording.implicit:
        return None
    kind, parts, place, sign = recording.implicit[index]
    pair = tuple(y.index for y in parts[:-3:-1])
    if is_angle and (kind == "quadratic" or pair != x.arguments):
        return None
    rates = [rate.get(y.index, zero) for y in parts]
    if kind == "quadratic":
        *_, root, s = parts
        dA, dB, dC = rates[:3]
        return ((dA * s + dB * 2.0) * s + dC) / (root * -2.0) * sign
    cosine, sine = parts[-2:]
    if kind == "circle":
        turn = (cosine * rates[0] + sine * rates[1] + rates[2]) / parts[3]
    else:
        turn = (cosine * rates[1] - sine * rates[0]) / parts[2]
    if is_angle:
        return turn
    return sine * turn * -sign if place == 0 else cosine * turn * sign


def _rate(x: Number, arguments: Sequence[Number], rates: Sequence[Number]) -> Number:
    """Return the derivative of an operation from those of its arguments."""
    recording, (a, b), (da, db) = x.recording, (arguments[0], arguments[-1]), (rates[0], rates[-1])
    match x.operation:
        case "add":
            return da + db
        case "subtract":
            return da - db
        case "multiply":
            return da * b + a * db
        case "divide":
            return (da - x * db) / b
        case "negative":
            return -da
        case "sin":
            return recording.function("cos", a) * da
        case "cos":
            return -(recording.function("sin", a) * da)
        case "root":
            return da * 0.5 / x
        case "atan2":
            return (b * da - a * db) / (b * b + a * a)
        case "remainder":
            return da
        case "absolute":
            return (a < 0.0).where(-da, da)
        case "where":
            return a.where(rates[1], db)
        case _:  # comparisons do not change
            return recording.number(0.0)


def solved(
    rows: Sequence[Sequence[Number]], right: Sequence[Number], inverse: Array
) -> list[Number]:
    """Return the solution of k linear equations without search for pivots."""
    k, recording = len(rows), right[0].recording
    if k <= 3:
        divisor = _determinant(rows)
        exchanged = (
            [[right[i] if j == c else rows[i][j] for j in range(k)] for i in range(k)]
            for c in range(k)
        )
        return [_determinant(matrix) / divisor for matrix in exchanged]

    def weighted(weights: Array, numbers: Sequence[Number]) -> Number:
        return recording.sum([x * float(w) for w, x in zip(weights, numbers, strict=True)])

    a = [[weighted(w, [row[j] for row in rows]) for j in range(k)] for w in inverse]
    b = [weighted(w, right) for w in inverse]
    for i in range(k):
        for r in range(i + 1, k):
            f = a[r][i] / a[i][i]
            a[r] = [x - f * y for x, y in zip(a[r], a[i], strict=True)]
            b[r] = b[r] - f * b[i]
    solution: list[Number] = []
    for i in reversed(range(k)):
        remainder = recording.sum([x * y for x, y in zip(a[i][i + 1 :], solution, strict=True)])
        solution.insert(0, (b[i] - remainder) / a[i][i])
    return solution


def _determinant(m: Sequence[Sequence[Number]]) -> Number:
    """Return the determinant of a matrix of numbers by its first row."""
    if len(m) == 1:
        return m[0][0]
    terms = []
    for j, factor in enumerate(m[0]):
        minor = [[*row[:j], *row[j + 1 :]] for row in m[1:]]
        terms.append(factor * _determinant(minor) * (-1.0) ** j)
    return m[0][0].recording.sum(terms)
