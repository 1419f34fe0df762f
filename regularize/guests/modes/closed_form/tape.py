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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.tape.program import Number, Recording

Probe: TypeAlias = NDArray[np.complex128]

#: Number of random inputs at which every operation is known, the last axis of a probe: that four
#: values agree by chance does not happen, and fewer cost no less.
PROBES = 4
#: Choices with an axis of their own, a million values; those beyond are made at random.
AXES = 20
#: Relative differences of equal products: a few roundings. Sums lose a digit more.
EQUAL = 1e-13


class Tape(Recording):
    """A program whose numbers know their values at random inputs."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.inputs = 0
        self.signs = 0
        self.rng = np.random.default_rng(seed)
        self._constants: dict[float, Number] = {}
        self._by_value: dict[tuple[complex, complex], Number] = {}
        self._results: dict[int, tuple[Probe, ...]] = {}
        self._sizes: list[float] = []

    def number(self, value: Number | float) -> Number:
        """Return a constant; numbers of the program pass through."""
        if isinstance(value, Number):
            return value
        known = self._constants.get(value)
        if known is None:
            probe = np.full(PROBES, value, dtype=complex)
            known = self.enter("constant", data=float(value), value=probe)
            self._constants[value] = known
        return known

    def input(self, scale: float = 1.0) -> Number:
        """Return a new input; ``scale`` is the size of its random values."""
        probe = scale * (
            self.rng.uniform(-1.5, 1.5, PROBES) + 1j * self.rng.uniform(-0.3, 0.3, PROBES)
        )
        self.inputs += 1
        return self.variable(f"x{self.inputs - 1}", probe.astype(complex))

    def sign(self) -> Number:
        """Return a new choice between two branches: +1 or -1."""
        probe = self.rng.choice([-1.0, 1.0], PROBES).astype(complex)
        if self.signs < AXES:
            probe = np.array([1.0, -1.0], dtype=complex).reshape(2, *(self.signs * [1]), 1)
        self.signs += 1
        return self.variable(f"s{self.signs - 1}", probe)

    def add(self, a: Number, b: Number) -> Number:
        """Return a + b."""
        return self._sum(a, b, 1.0)

    def subtract(self, a: Number, b: Number) -> Number:
        """Return a - b."""
        return self._sum(a, b, -1.0)

    def negative(self, a: Number) -> Number:
        """Return -a."""
        return self._sum(self.number(0.0), a, -1.0)

    def _sum(self, a: Number, b: Number, sign: float) -> Number:
        x, y = a.constant, b.constant
        if y == 0.0:
            return a
        if x is not None and y is not None:
            total = x + sign * y
            return self.number(total if abs(total) > 10 * EQUAL * (abs(x) + abs(y)) else 0.0)
        probe = a.value + sign * b.value
        size = self._sizes[a.index] + self._sizes[b.index]
        cancelled = 10 * EQUAL * size
        if abs(probe.flat[0]) <= cancelled and np.max(np.abs(probe)) <= cancelled:
            return self.number(0.0)
        folded = self._folded(probe, EQUAL * size)
        if folded is not None:
            return folded
        if (inner := self._negated(b)) is not None:
            return self._sum(a, inner, -sign)
        if x == 0.0:
            return b if sign > 0 else self.enter("negative", b, value=probe)
        if sign > 0 and (inner := self._negated(a)) is not None:
            return self._sum(b, inner, -1.0)
        if sign > 0:
            return self.enter("add", *_in_order(a, b), value=probe)
        return self.enter("subtract", a, b, value=probe)

    def multiply(self, a: Number, b: Number) -> Number:
        """Return a b."""
        x, y = a.constant, b.constant
        if x is not None and y is not None:
            return self.number(x * y)
        for one, value, other in ((a, x, b), (b, y, a)):
            if value == 0.0:
                return self.number(0.0)
            if value == 1.0:
                return other
            if value == -1.0:
                return -other
            if (inner := self._negated(one)) is not None:
                return -(inner * other)
        size = self._sizes[a.index] * self._sizes[b.index]
        probe = a.value * b.value
        return self._folded(probe, EQUAL * size) or self.enter(
            "multiply", *_in_order(a, b), value=probe
        )

    def divide(self, a: Number, b: Number) -> Number:
        """Return a / b."""
        if b.constant is not None:
            return a * (1.0 / b.constant)
        return self._entered("divide", a, b, value=a.value / b.value)

    def cosine_sine(self, angle: Number) -> tuple[Number, Number]:
        """Return cosine and sine of an angle."""
        return (
            self.enter("cos", angle, value=np.cos(angle.value)),
            self.enter("sin", angle, value=np.sin(angle.value)),
        )

    def several(
        self,
        name: str,
        arguments: Iterable[Number],
        results: tuple[Probe, ...],
        data: float | None = None,
    ) -> tuple[Number, ...]:
        """Return the numbers that one operation with several results gives."""
        nothing = np.full(PROBES, np.nan, dtype=complex)
        known = super().enter(name, *arguments, data=data, value=nothing)
        probes = self._results.setdefault(known.index, results)
        return tuple(
            self._entered("item", known, data=k, value=probe) for k, probe in enumerate(probes)
        )

    def enter(
        self, operation: str, *arguments: Number, data: float | str | None = None, value: Any = None
    ) -> Number:
        """Return the number of an operation, an earlier one where its values are the same."""
        key = (operation, tuple(x.index for x in arguments), data)
        known = self._known.get(key)
        if known is not None:
            return known
        ends = (_rounded(value.flat[0]), _rounded(value.flat[-1]))
        same = self._by_value.get(ends)
        if (
            same is not None
            and operation not in ("variable", "constant")
            and np.allclose(same.value, value, rtol=10 * EQUAL, atol=0.0)
        ):
            return same
        entered = super().enter(operation, *arguments, data=data, value=value)
        self._by_value.setdefault(ends, entered)
        return entered

    def _entered(
        self, operation: str, *arguments: Number, value: Probe, data: float | None = None
    ) -> Number:
        """Return a number, a constant where its values agree but for rounding."""
        tolerance = EQUAL * float(np.max(np.abs(value)))
        return self._folded(value, tolerance) or self.enter(
            operation, *arguments, data=data, value=value
        )

    def _folded(self, probe: Probe, tolerance: float) -> Number | None:
        """Return the constant that values are within a tolerance, if they are one."""
        # Two values tell most quantities from constants, at a fraction of the cost of all.
        if not abs(probe.flat[-1] - probe.flat[0]) <= 2 * tolerance:
            return None
        value = complex(np.mean(probe))
        if np.max(np.abs(probe - value)) > tolerance or abs(value.imag) > tolerance:
            return None
        return self.number(value.real)

    def _append(
        self, operation: str, places: tuple[int, ...], data: float | str | None, value: Any
    ) -> Number:
        self._sizes.append(float(np.max(np.abs(value))))
        return super()._append(operation, places, data, value)


def _in_order(a: Number, b: Number) -> tuple[Number, Number]:
    return (a, b) if a.index <= b.index else (b, a)


def _rounded(value: Any) -> complex:
    """Return the number to eleven digits, so that equal quantities share a key."""
    return complex(f"{value:.10e}") if np.isfinite(value) else complex("nan")
