"""Evaluation of a recorded program: as compiled Python lines, on numbers or on arrays.

The same lines run with two sets of functions: those of ``math`` for one configuration at a time,
and those of numpy for arrays, where the choices of branches are further leading axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from regularize.assembly_modes.closed_form import runtime
from regularize.assembly_modes.closed_form.tape import Operation, Scalar, Tape
from regularize.lie import screw
from regularize.lie.screw import Array

Function: TypeAlias = Callable[..., Any]

#: Closure errors of solutions that are checked, lengths divided by the size of the loop.
CLOSED = 1e-9

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def lines(tape: Tape, results: Sequence[Scalar]) -> list[str]:
    """One assignment per operation that the results need."""
    text = []
    for index in tape.needed(results):
        operation = tape.operations[index]
        if operation.name not in ("constant", "input", "sign"):
            text.append(f"v{index} = {_expression(tape, operation)}")
    return text


def name_of(tape: Tape, index: int) -> str:
    """How a quantity is written: a number, an input ``x0``, a sign ``s0`` or a variable ``v7``."""
    operation = tape.operations[index]
    if operation.name == "constant":
        return f"({operation.data!r})"
    prefix = {"input": "x", "sign": "s"}.get(operation.name)
    return f"v{index}" if prefix is None else f"{prefix}{operation.data}"


def _expression(tape: Tape, operation: Operation) -> str:
    arguments = [name_of(tape, a) for a in operation.arguments]
    if operation.name in _INFIX:
        return f" {_INFIX[operation.name]} ".join(arguments)
    if operation.name == "negative":
        return f"-{arguments[0]}"
    if operation.name == "item":
        return f"{arguments[0]}[{operation.data}]"
    if operation.name in ("angle_from", "circle", "quadratic", "unit"):
        arguments.append(repr(operation.data))
    return f"{operation.name}({', '.join(arguments)})"


def compiled(
    tape: Tape, results: Sequence[Scalar], functions: dict[str, Function], inputs: int
) -> Function:
    """A function of the first inputs and all signs that returns the results as a tuple."""
    arguments = [f"x{i}" for i in range(inputs)] + [f"s{i}" for i in range(tape.signs)]
    returned = "".join(f"{name_of(tape, r.index)}, " for r in results)
    body = [*lines(tape, results), f"return ({returned})"]
    source = f"def program({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in body)
    return _executed(source, functions)


def compiled_branches(
    tape: Tape,
    results: Sequence[Scalar],
    conditions: tuple[Sequence[Scalar], Sequence[Scalar], Sequence[tuple[Scalar, float]]],
    inputs: int,
) -> Function:
    """A function of the first inputs and the signs to try for every choice.

    One loop over the signs of every choice within the other: what an earlier choice settles is not
    computed again for a later one. The last choice runs fastest.

    Args:
        tape: The program.
        results: What is wanted of every branch.
        conditions: What has to be finite and what has to vanish where a branch is assembled, and
            what is not below a limit unless the solution needs a closer look.
        inputs: Number of inputs.

    Returns:
        The function; it returns the results of each branch, whether it is assembled, and whether
        any needs a closer look.
    """
    finite, vanishing, margins = conditions
    levels: dict[int, int] = {}
    text: list[list[str]] = [[] for _ in range(tape.signs + 1)]
    for index in tape.needed([*results, *finite, *vanishing, *(m for m, _ in margins)]):
        operation = tape.operations[index]
        if operation.name == "sign":
            levels[index] = int(operation.data) + 1
        else:
            levels[index] = max((levels[a] for a in operation.arguments), default=0)
        if operation.name not in ("constant", "input", "sign"):
            text[levels[index]].append(f"v{index} = {_expression(tape, operation)}")
    arguments = [f"x{i}" for i in range(inputs)] + [f"signs{i}" for i in range(tape.signs)]
    source = [f"def program({', '.join(arguments)}):", "    rows, assembled, near = [], [], False"]
    for level, lines_ in enumerate(text):
        if level:
            source.append("    " * level + f"for s{level - 1} in signs{level - 1}:")
        source += ["    " * (level + 1) + line for line in lines_]
    inner = "    " * (tape.signs + 1)
    returned = "".join(f"{name_of(tape, r.index)}, " for r in results)
    # A sum is finite where all its terms are.
    total = " + ".join(name_of(tape, r.index) for r in finite)
    closed = [f"-{CLOSED} <= {name_of(tape, r.index)} <= {CLOSED}" for r in vanishing]
    source.append(f"{inner}rows.append(({returned}))")
    source.append(f"{inner}assembled.append({' and '.join([f'isfinite({total})', *closed])})")
    close = [f"-{limit} < {name_of(tape, r.index)} < {limit}" for r, limit in margins]
    if close:
        source.append(f"{inner}near = near or {' or '.join(close)}")
    return _executed("\n".join([*source, "    return rows, assembled, near", ""]), SCALAR)


def _executed(source: str, functions: dict[str, Function]) -> Function:
    namespace: dict[str, Any] = dict(functions)
    exec(_code(source), namespace)
    program: Function = namespace["program"]
    return program


@lru_cache(maxsize=16)
def _code(source: str) -> CodeType:
    """Compiled once for several sets of functions."""
    return compile(source, "<closed form>", "exec")


#: Functions of ``math``.
SCALAR: dict[str, Function] = {
    "isfinite": math.isfinite,
    "sin": math.sin,
    "cos": math.cos,
    **{
        name: getattr(runtime, name)
        for name in (
            "angle",
            "angle_from",
            "circle",
            "quadratic",
            "unit",
            "across",
            "exponential",
            "rotation_vector",
        )
    },
}


# Arrays ------------------------------------------------------------------------------------------


def _circles(
    A: Array, B: Array, C: Array, sign: Array, slack: float, free_angle: float = 0.0
) -> tuple[Array, ...]:
    square = np.asarray(A * A + B * B)
    C = np.asarray(C, dtype=np.float64)
    discriminant = square - C * C
    touching = bool(np.any(discriminant <= slack * slack))
    if touching:
        free = (square <= slack * slack) & (np.abs(C) <= slack)
        rounding = free | (discriminant <= 0.0) & (-discriminant <= slack * np.abs(C))
        C = np.where(rounding, np.copysign(np.sqrt(square), C), C)
        discriminant = np.where(rounding, 0.0, discriminant)
    root = sign * np.sqrt(discriminant)
    cosine, sine = -(A * C + B * root) / square, (A * root - B * C) / square
    if touching:
        cosine = np.where(free, math.cos(free_angle), cosine)
        sine = np.where(free, math.sin(free_angle), sine)
    return cosine, sine, discriminant


def _quadratics(A: Array, B: Array, C: Array, sign: Array, slack: float) -> tuple[Array, ...]:
    discriminant = B * B - A * C
    rounding = (discriminant < 0.0) & (-discriminant <= slack * A)
    discriminant = np.where(rounding, 0.0, discriminant)
    solution = (sign * np.sqrt(discriminant) - B) / A
    linear = A == 0.0
    if np.any(linear):
        solution = np.where(linear, -0.5 * C / B, solution)
    return solution, discriminant


def _units(x: Array, y: Array, slack: float) -> tuple[Array, Array]:
    length = np.sqrt(x * x + y * y)
    free = length <= slack
    if np.any(free):
        return np.where(free, 1.0, x / length), np.where(free, 0.0, y / length)
    return x / length, y / length


def _across(x: Array, y: Array, z: Array, u: Array, v: Array, w: Array) -> tuple[Array, ...]:
    square, other = x * x + y * y + z * z, u * u + v * v + w * w
    part = np.where(square < other, (x * u + y * v + z * w) / other, 0.0)
    found = [x - part * u, y - part * v, z - part * w]
    vanishing = square <= 1e-28 * other
    if np.any(vanishing & (other > 0.0)):
        size = np.abs(np.broadcast_arrays(u, v, w))
        first = (size[0] <= size[1]) & (size[0] <= size[2])
        second = ~first & (size[1] <= size[2])
        choices = (0.0, w, -v), (-w, 0.0, u), (v, -u, 0.0)
        any_ = [np.where(first, a, np.where(second, b, c)) for a, b, c in choices]
        found = [np.where(vanishing, a, f) for a, f in zip(any_, found, strict=True)]
    length = np.sqrt(found[0] ** 2 + found[1] ** 2 + found[2] ** 2)
    return tuple(f / length for f in found)


def _angles_from(s: Array, c: Array, offset: float) -> Array:
    angle = np.arctan2(s, c) - offset
    return np.asarray(angle - 2 * np.pi * np.round(angle / (2 * np.pi)))


def _exponentials(*twist: Array) -> tuple[Array, ...]:
    T = screw.exp(np.stack(np.broadcast_arrays(*twist), axis=-1))
    return (*(T[..., i, k] for i in range(3) for k in range(3)), *(T[..., i, 3] for i in range(3)))


def _rotation_vectors(*R: Array) -> tuple[Array, Array, Array]:
    entries = np.stack(np.broadcast_arrays(*R), axis=-1)
    shape = entries.shape[:-1]
    matrices = entries.reshape(-1, 3, 3)
    vectors = np.full((len(matrices), 3), np.nan)
    known = np.isfinite(matrices).all(axis=(1, 2))
    if known.any():
        vectors[known] = screw.log_rotation(matrices[known])
    x, y, z = (vectors[:, k].reshape(shape) for k in range(3))
    return x, y, z


def array_functions(free_angle: float) -> dict[str, Function]:
    """Functions of numpy; an angle that any value solves takes the one that is given."""
    return {**ARRAY, "circle": partial(_circles, free_angle=free_angle)}


#: Functions of numpy.
ARRAY: dict[str, Function] = {
    "sin": np.sin,
    "cos": np.cos,
    "angle": np.arctan2,
    "angle_from": _angles_from,
    "circle": _circles,
    "quadratic": _quadratics,
    "unit": _units,
    "across": _across,
    "exponential": _exponentials,
    "rotation_vector": _rotation_vectors,
}
