"""A straight-line program of scalars, recorded once and evaluated for any number of inputs.

Every quantity carries its values at a few random complex inputs, on all branches that it knows of:
the choice between two solutions is one more axis of the array. An operation whose result is always
the same is a constant, two operations with the same results are one operation: what algebra
packages find by trigonometric simplification falls out of arithmetic. Complex inputs are taken
because over them every loop closes, so that no square root can fail. The values serve to simplify
and to tell vanishing coefficients only; they never enter a solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Probe: TypeAlias = NDArray[np.complex128]

#: Number of random inputs at which every operation is known, the last axis of a probe.
PROBES = 4
#: Choices with an axis of their own; those beyond are made at random, for want of axes.
AXES = 20
#: Relative differences that count as rounding, in sums and in products.
CANCELLED = 1e-12
EQUAL = 1e-13


@dataclass(frozen=True, eq=False)
class Scalar:
    """One quantity of the program; combines with others and with numbers by + - * and /.

    Attributes:
        tape: The program that it belongs to.
        index: Its position there.
    """

    tape: Tape
    index: int

    @property
    def probe(self) -> Probe:
        """Its values at the random inputs, shape (..., PROBES)."""
        return self.tape.probes[self.index]

    @property
    def constant(self) -> float | None:
        """Its value, where it is the same at all inputs."""
        return self.tape.values[self.index]

    def __add__(self, other: Scalar | float) -> Scalar:
        """Sum."""
        return self.tape.add(self, self.tape.scalar(other), 1.0)

    def __sub__(self, other: Scalar | float) -> Scalar:
        """Difference."""
        return self.tape.add(self, self.tape.scalar(other), -1.0)

    def __mul__(self, other: Scalar | float) -> Scalar:
        """Product."""
        return self.tape.multiply(self, self.tape.scalar(other))

    def __truediv__(self, other: Scalar | float) -> Scalar:
        """Quotient; the divisor is never zero at generic inputs."""
        return self.tape.divide(self, self.tape.scalar(other))

    def __neg__(self) -> Scalar:
        """Negative."""
        return self.tape.scalar(0.0) - self

    __radd__ = __add__
    __rmul__ = __mul__


@dataclass(frozen=True)
class Operation:
    """One line of the program.

    Attributes:
        name: What is done.
        arguments: Positions of the quantities that it is done to.
        data: A number, an index or a name that belongs to the operation.
    """

    name: str
    arguments: tuple[int, ...] = ()
    data: float | int = 0


class Tape:
    """The program; quantities are created by its methods and by arithmetic on ``Scalar``.

    Solutions of equations are entered by the functions of ``equations``.
    """

    def __init__(self, seed: int = 0) -> None:
        """Start with nothing but the random number generator of the probes."""
        self.operations: list[Operation] = []
        self.probes: list[Probe] = []
        self.values: list[float | None] = []
        self.inputs = 0
        self.signs = 0
        self._known: dict[Operation, int] = {}
        self._constants: dict[float, Scalar] = {}
        self._sizes: list[float] = []
        self._by_value: dict[tuple[complex, complex], int] = {}
        self._tuples: dict[int, tuple[Probe, ...]] = {}
        self.rng = np.random.default_rng(seed)

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
            return self.scalar(total if abs(total) > CANCELLED * (abs(x) + abs(y)) else 0.0)
        probe = a.probe + sign * b.probe
        size = self._sizes[a.index] + self._sizes[b.index]
        if abs(probe.flat[0]) <= CANCELLED * size and np.max(np.abs(probe)) <= CANCELLED * size:
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
        probe = a.probe * b.probe
        folded = self._folded(probe, EQUAL * self._sizes[a.index] * self._sizes[b.index])
        if folded is not None:
            return folded
        return self.enter(Operation("multiply", tuple(sorted((a.index, b.index)))), probe)

    def divide(self, a: Scalar, b: Scalar) -> Scalar:
        """A / b."""
        if b.constant is not None:
            return a * (1.0 / b.constant)
        probe = a.probe / b.probe
        folded = self._folded(probe, EQUAL * float(np.max(np.abs(probe))))
        if folded is not None:
            return folded
        return self.enter(Operation("divide", (a.index, b.index)), probe)

    def cosine_sine(self, angle: Scalar) -> tuple[Scalar, Scalar]:
        """Cosine and sine of an angle."""
        return (
            self.enter(Operation("cos", (angle.index,)), np.cos(angle.probe)),
            self.enter(Operation("sin", (angle.index,)), np.sin(angle.probe)),
        )

    # Bookkeeping ---------------------------------------------------------------------------------

    def needed(self, results: Iterable[Scalar]) -> list[int]:
        """Positions of the operations that the results depend on, in order."""
        found: set[int] = set()
        stack = [result.index for result in results]
        while stack:
            index = stack.pop()
            if index not in found:
                found.add(index)
                stack.extend(self.operations[index].arguments)
        return sorted(found)

    def several(
        self,
        name: str,
        arguments: tuple[Scalar, ...],
        data: float,
        results: tuple[Probe, ...],
    ) -> tuple[Scalar, ...]:
        """The quantities that one operation with several results gives."""
        operation = Operation(name, tuple(a.index for a in arguments), data)
        index = self._known.get(operation)
        if index is None:
            index = self._append(operation, np.full(PROBES, np.nan, dtype=complex))
            self._tuples[index] = results
        items = []
        for k, probe in enumerate(self._tuples[index]):
            folded = self._folded(probe, EQUAL * float(np.max(np.abs(probe))))
            items.append(folded or self.enter(Operation("item", (index,), k), probe))
        return tuple(items)

    def _negated(self, a: Scalar) -> Scalar | None:
        operation = self.operations[a.index]
        return Scalar(self, operation.arguments[0]) if operation.name == "negative" else None

    def _folded(self, probe: Probe, tolerance: float) -> Scalar | None:
        # Two values tell most quantities from constants, at a fraction of the cost of all.
        if not abs(probe.flat[-1] - probe.flat[0]) <= 2 * tolerance:
            return None
        value = complex(np.mean(probe))
        if np.max(np.abs(probe - value)) > tolerance or abs(value.imag) > tolerance:
            return None
        return self.scalar(value.real)

    def enter(self, operation: Operation, probe: Probe) -> Scalar:
        """The quantity that an operation gives, an earlier one where it is the same."""
        index = self._known.get(operation)
        if index is not None:
            return Scalar(self, index)
        key = (_rounded(probe.flat[0]), _rounded(probe.flat[-1]))
        if key in self._by_value and operation.name not in ("input", "sign", "constant"):
            same = self._by_value[key]
            if np.allclose(self.probes[same], probe, rtol=10 * EQUAL, atol=0.0):
                return Scalar(self, same)
        index = self._append(operation, probe)
        self._by_value.setdefault(key, index)
        return Scalar(self, index)

    def _append(self, operation: Operation, probe: Probe) -> int:
        self.operations.append(operation)
        self.probes.append(probe)
        self.values.append(float(operation.data) if operation.name == "constant" else None)
        self._sizes.append(float(np.max(np.abs(probe))))
        self._known[operation] = len(self.operations) - 1
        return len(self.operations) - 1


def _rounded(value: Any) -> complex:
    """The number to eleven digits, so that equal quantities share a key."""
    return complex(f"{value:.10e}") if np.isfinite(value) else complex("nan")
