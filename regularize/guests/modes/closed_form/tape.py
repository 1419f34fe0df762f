"""A straight-line program of scalars, recorded once and evaluated for any number of inputs.

Every quantity carries its values at a few random complex inputs, on all branches that it knows of:
the choice between two solutions is one more axis of the array. An operation whose result is always
the same is a constant, two operations with the same results are one operation: what algebra
packages find by trigonometric simplification falls out of arithmetic. Complex inputs are taken
because over them every loop closes, so that no square root can fail. The values serve to simplify
and to tell vanishing coefficients only; they never enter a solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Probe: TypeAlias = NDArray[np.complex128]

#: Number of random inputs at which every operation is known, the last axis of a probe: that four
#: values agree by chance does not happen, and fewer cost no less.
PROBES = 4
#: Choices with an axis of their own, a million values; those beyond are made at random.
AXES = 20
#: Relative differences of equal products: a few roundings. Sums lose a digit more.
EQUAL = 1e-13


@dataclass(frozen=True)
class Operation:
    """One line of the program.

    Attributes:
        name: What is done.
        arguments: Positions of the quantities that it is done to.
        data: A number or an index that belongs to the operation.
    """

    name: str
    arguments: tuple[int, ...] = ()
    data: float | None = None


@dataclass(frozen=True, eq=False)
class Scalar:
    """One quantity of the program; combines with others and with numbers by + - * and /.

    Attributes:
        tape: The program that it belongs to.
        index: Its position there.
        operation: What gives it.
        probe: Its values at the random inputs, shape (..., PROBES).
        size: The largest of them.
        constant: Its value, where it is the same at all inputs.
    """

    tape: Tape
    index: int
    operation: Operation
    probe: Probe
    size: float
    constant: float | None

    def __add__(self, other: Scalar | float) -> Scalar:
        return self.tape.add(self, self.tape.scalar(other), 1.0)

    def __sub__(self, other: Scalar | float) -> Scalar:
        return self.tape.add(self, self.tape.scalar(other), -1.0)

    def __mul__(self, other: Scalar | float) -> Scalar:
        return self.tape.multiply(self, self.tape.scalar(other))

    def __truediv__(self, other: Scalar | float) -> Scalar:
        return self.tape.divide(self, self.tape.scalar(other))

    def __neg__(self) -> Scalar:
        return self.tape.scalar(0.0) - self

    __radd__ = __add__
    __rmul__ = __mul__


class Tape:
    """The program; quantities are created by its methods and by arithmetic on ``Scalar``.

    Solutions of equations are entered by the functions of ``operations``.
    """

    def __init__(self, seed: int = 0) -> None:
        self.quantities: list[Scalar] = []
        self.inputs = 0
        self.signs = 0
        self.rng = np.random.default_rng(seed)
        self._known: dict[Operation, Scalar] = {}
        self._constants: dict[float, Scalar] = {}
        self._by_value: dict[tuple[complex, complex], Scalar] = {}
        self._results: dict[Operation, tuple[Probe, ...]] = {}

    # Sources -------------------------------------------------------------------------------------

    def scalar(self, value: Scalar | float) -> Scalar:
        """A number as a quantity; quantities pass through."""
        if isinstance(value, Scalar):
            return value
        known = self._constants.get(value)
        if known is None:
            probe = np.full(PROBES, value, dtype=complex)
            known = self.enter(Operation("constant", (), float(value)), probe)
            self._constants[value] = known
        return known

    def input(self, scale: float = 1.0) -> Scalar:
        """A new input; ``scale`` is the size of its random values."""
        probe = scale * (
            self.rng.uniform(-1.5, 1.5, PROBES) + 1j * self.rng.uniform(-0.3, 0.3, PROBES)
        )
        self.inputs += 1
        return self.enter(Operation("input", (), self.inputs - 1), probe.astype(complex))

    def sign(self) -> Scalar:
        """A new choice between two branches: +1 or -1."""
        probe = self.rng.choice([-1.0, 1.0], PROBES).astype(complex)
        if self.signs < AXES:
            probe = np.array([1.0, -1.0], dtype=complex).reshape(2, *(self.signs * [1]), 1)
        self.signs += 1
        return self.enter(Operation("sign", (), self.signs - 1), probe)

    # Arithmetic ----------------------------------------------------------------------------------

    def add(self, a: Scalar, b: Scalar, sign: float) -> Scalar:
        """A + b or a - b."""
        x, y = a.constant, b.constant
        if y == 0.0:
            return a
        if x is not None and y is not None:
            total = x + sign * y
            return self.scalar(total if abs(total) > 10 * EQUAL * (abs(x) + abs(y)) else 0.0)
        probe = a.probe + sign * b.probe
        size = a.size + b.size
        cancelled = 10 * EQUAL * size
        if abs(probe.flat[0]) <= cancelled and np.max(np.abs(probe)) <= cancelled:
            return self.scalar(0.0)
        folded = self._folded(probe, EQUAL * size)
        if folded is not None:
            return folded
        if (inner := self._negated(b)) is not None:
            return self.add(a, inner, -sign)
        if x == 0.0:
            return b if sign > 0 else self.enter(Operation("negative", (b.index,)), probe)
        if sign > 0 and (inner := self._negated(a)) is not None:
            return self.add(b, inner, -1.0)
        if sign > 0:
            return self.enter(Operation("add", tuple(sorted((a.index, b.index)))), probe)
        return self.enter(Operation("subtract", (a.index, b.index)), probe)

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        """A b."""
        x, y = a.constant, b.constant
        if x is not None and y is not None:
            return self.scalar(x * y)
        for one, value, other in ((a, x, b), (b, y, a)):
            if value == 0.0:
                return self.scalar(0.0)
            if value == 1.0:
                return other
            if value == -1.0:
                return -other
            if (inner := self._negated(one)) is not None:
                return -(inner * other)
        operation = Operation("multiply", tuple(sorted((a.index, b.index))))
        return self._entered(operation, a.probe * b.probe, a.size * b.size)

    def divide(self, a: Scalar, b: Scalar) -> Scalar:
        """A / b."""
        if b.constant is not None:
            return a * (1.0 / b.constant)
        return self._entered(Operation("divide", (a.index, b.index)), a.probe / b.probe)

    def cosine_sine(self, angle: Scalar) -> tuple[Scalar, Scalar]:
        """Cosine and sine of an angle."""
        return (
            self.enter(Operation("cos", (angle.index,)), np.cos(angle.probe)),
            self.enter(Operation("sin", (angle.index,)), np.sin(angle.probe)),
        )

    # Bookkeeping ---------------------------------------------------------------------------------

    def needed(self, results: Iterable[Scalar]) -> list[Scalar]:
        """The quantities that the results depend on, in order."""
        of = self.quantities
        places = needed((x.index for x in results), lambda k: of[k].operation.arguments)
        return [of[k] for k in places]

    def several(
        self,
        name: str,
        arguments: Iterable[Scalar],
        results: tuple[Probe, ...],
        data: float | None = None,
    ) -> tuple[Scalar, ...]:
        """The quantities that one operation with several results gives."""
        operation = Operation(name, tuple(a.index for a in arguments), data)
        known = self._known.get(operation)
        if known is None:
            known = self._append(operation, np.full(PROBES, np.nan, dtype=complex))
            self._results[operation] = results
        return tuple(
            self._entered(Operation("item", (known.index,), k), probe)
            for k, probe in enumerate(self._results[operation])
        )

    def enter(self, operation: Operation, probe: Probe) -> Scalar:
        """The quantity that an operation gives, an earlier one where it is the same."""
        known = self._known.get(operation)
        if known is not None:
            return known
        key = (_rounded(probe.flat[0]), _rounded(probe.flat[-1]))
        same = self._by_value.get(key)
        if (
            same is not None
            and operation.name not in ("input", "sign", "constant")
            and np.allclose(same.probe, probe, rtol=10 * EQUAL, atol=0.0)
        ):
            return same
        entered = self._append(operation, probe)
        self._by_value.setdefault(key, entered)
        return entered

    def _entered(self, operation: Operation, probe: Probe, size: float | None = None) -> Scalar:
        """The same, a number where the values agree but for rounding of terms of some size."""
        size = float(np.max(np.abs(probe))) if size is None else size
        return self._folded(probe, EQUAL * size) or self.enter(operation, probe)

    def _negated(self, a: Scalar) -> Scalar | None:
        negative = a.operation.name == "negative"
        return self.quantities[a.operation.arguments[0]] if negative else None

    def _folded(self, probe: Probe, tolerance: float) -> Scalar | None:
        # Two values tell most quantities from constants, at a fraction of the cost of all.
        if not abs(probe.flat[-1] - probe.flat[0]) <= 2 * tolerance:
            return None
        value = complex(np.mean(probe))
        if np.max(np.abs(probe - value)) > tolerance or abs(value.imag) > tolerance:
            return None
        return self.scalar(value.real)

    def _append(self, operation: Operation, probe: Probe) -> Scalar:
        constant = operation.data if operation.name == "constant" else None
        size = float(np.max(np.abs(probe)))
        scalar = Scalar(self, len(self.quantities), operation, probe, size, constant)
        self.quantities.append(scalar)
        self._known[operation] = scalar
        return scalar


def needed(results: Iterable[int], arguments: Callable[[int], Iterable[int]]) -> list[int]:
    """Positions that results depend on, in order, from the positions that each one is made of."""
    found: set[int] = set()
    stack = list(results)
    while stack:
        index = stack.pop()
        if index not in found:
            found.add(index)
            stack.extend(arguments(index))
    return sorted(found)


def _rounded(value: Any) -> complex:
    """The number to eleven digits, so that equal quantities share a key."""
    return complex(f"{value:.10e}") if np.isfinite(value) else complex("nan")
