"""A straight-line program of scalars, recorded once and evaluated for any number of inputs.

Every quantity carries its values at a few random complex inputs. An operation whose result is the
same at all of them is a constant, two operations with the same results are one operation: what
algebra packages find by trigonometric simplification falls out of arithmetic. Complex inputs are
taken because over them every loop closes, so that no square root can fail. The values serve to
simplify and to tell vanishing coefficients only; they never enter a solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Probe: TypeAlias = NDArray[np.complex128]

#: Number of random inputs at which every operation is known.
PROBES = 12
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
        """Its values at the random inputs, shape (PROBES,)."""
        return self.tape.probes[self.index]

    @property
    def constant(self) -> float | None:
        """Its value, where it is the same at all inputs."""
        operation = self.tape.operations[self.index]
        return float(operation.data) if operation.name == "constant" else None

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
    """The program; quantities are created by its methods and by arithmetic on ``Scalar``."""

    def __init__(self, seed: int = 0) -> None:
        """Start with nothing but the random number generator of the probes."""
        self.operations: list[Operation] = []
        self.probes: list[Probe] = []
        self.inputs = 0
        self.signs = 0
        self._known: dict[Operation, int] = {}
        self._constants: dict[float, Scalar] = {}
        self._sizes: list[float] = []
        self._by_value: dict[tuple[complex, complex], int] = {}
        self._tuples: dict[int, tuple[Probe, ...]] = {}
        self._rng = np.random.default_rng(seed)

    # Sources -------------------------------------------------------------------------------------

    def scalar(self, value: Scalar | float) -> Scalar:
        """A number as a quantity; quantities pass through."""
        if isinstance(value, Scalar):
            return value
        known = self._constants.get(value)
        if known is None:
            probe = np.full(PROBES, value, dtype=complex)
            known = self._enter(Operation("constant", (), float(value)), probe)
            self._constants[value] = known
        return known

    def input(self, scale: float = 1.0) -> Scalar:
        """A new input; ``scale`` is the size of its random values."""
        probe = scale * (
            self._rng.uniform(-1.5, 1.5, PROBES) + 1j * self._rng.uniform(-0.3, 0.3, PROBES)
        )
        self.inputs += 1
        return self._enter(Operation("input", (), self.inputs - 1), probe.astype(complex))

    def sign(self) -> Scalar:
        """A new choice between two branches: +1 or -1."""
        probe = self._rng.choice([-1.0, 1.0], PROBES).astype(complex)
        self.signs += 1
        return self._enter(Operation("sign", (), self.signs - 1), probe)

    # Arithmetic ----------------------------------------------------------------------------------

    def add(self, a: Scalar, b: Scalar, sign: float) -> Scalar:
        """A + b or a - b."""
        if b.constant == 0.0:
            return a
        probe = a.probe + sign * b.probe
        size = self._sizes[a.index] + self._sizes[b.index]
        if abs(probe[0]) <= CANCELLED * size and np.max(np.abs(probe)) <= CANCELLED * size:
            return self.scalar(0.0)
        folded = self._folded(probe, EQUAL * size)
        if folded is not None:
            return folded
        if (inner := self._negated(b)) is not None:
            return self.add(a, inner, -sign)
        if a.constant == 0.0:
            return b if sign > 0 else self._enter(Operation("negative", (b.index,)), probe)
        if sign > 0 and (inner := self._negated(a)) is not None:
            return self.add(b, inner, -1.0)
        if sign > 0:
            return self._enter(Operation("add", tuple(sorted((a.index, b.index)))), probe)
        return self._enter(Operation("subtract", (a.index, b.index)), probe)

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        """A b."""
        for one, other in ((a, b), (b, a)):
            if one.constant == 0.0:
                return self.scalar(0.0)
            if one.constant == 1.0:
                return other
            if one.constant == -1.0:
                return -other
            if (inner := self._negated(one)) is not None:
                return -(inner * other)
        probe = a.probe * b.probe
        folded = self._folded(probe, EQUAL * self._sizes[a.index] * self._sizes[b.index])
        if folded is not None:
            return folded
        return self._enter(Operation("multiply", tuple(sorted((a.index, b.index)))), probe)

    def divide(self, a: Scalar, b: Scalar) -> Scalar:
        """A / b."""
        if b.constant is not None:
            return a * (1.0 / b.constant)
        probe = a.probe / b.probe
        folded = self._folded(probe, EQUAL * float(np.max(np.abs(probe))))
        if folded is not None:
            return folded
        return self._enter(Operation("divide", (a.index, b.index)), probe)

    def cosine_sine(self, angle: Scalar) -> tuple[Scalar, Scalar]:
        """Cosine and sine of an angle."""
        return (
            self._enter(Operation("cos", (angle.index,)), np.cos(angle.probe)),
            self._enter(Operation("sin", (angle.index,)), np.sin(angle.probe)),
        )

    # Solutions -----------------------------------------------------------------------------------

    def circle(
        self, A: Scalar, B: Scalar, C: Scalar, sign: Scalar, slack: float
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Cosine, sine and discriminant of the solutions of A cos + B sin + C = 0.

        A discriminant that is negative by rounding (``slack`` in units of C) counts as zero.
        """
        square = A.probe**2 + B.probe**2
        discriminant = square - C.probe**2
        root = sign.probe * np.sqrt(discriminant)
        results = (
            (-A.probe * C.probe - B.probe * root) / square,
            (-B.probe * C.probe + A.probe * root) / square,
            discriminant,
        )
        c, s, d = self._several("circle", (A, B, C, sign), slack, results)
        return c, s, d

    def quadratic(
        self, A: Scalar, B: Scalar, C: Scalar, sign: Scalar, slack: float
    ) -> tuple[Scalar, Scalar]:
        """Solution and discriminant of A s² + 2 B s + C = 0; ``slack`` in units of C."""
        discriminant = B.probe**2 - A.probe * C.probe
        results = ((-B.probe + sign.probe * np.sqrt(discriminant)) / A.probe, discriminant)
        s, d = self._several("quadratic", (A, B, C, sign), slack, results)
        return s, d

    def unit(self, x: Scalar, y: Scalar, size: Probe, slack: float) -> tuple[Scalar, Scalar]:
        """(x, y) scaled to length one; (1, 0) where both vanish (below ``slack``).

        Args:
            x: First component.
            y: Second component.
            size: The length at the probes, whose complex square root is ambiguous.
            slack: Lengths that count as zero.
        """
        for a, b in ((x, y), (y, x)):
            if a.constant == 0.0 and b.constant is not None:
                one = float(np.sign(b.constant))
                return (self.scalar(one), a) if b is x else (a, self.scalar(one))
        c, s = self._several("unit", (x, y), slack, (x.probe / size, y.probe / size))
        return c, s

    def across(self, m: Sequence[Scalar], d: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Unit vector along m, perpendicular to d but for rounding; any such where m is zero."""
        length = np.sqrt(sum(a.probe**2 for a in m))
        x, y, z = self._several("across", (*m, *d), 0.0, tuple(a.probe / length for a in m))
        return x, y, z

    def rotation_vector(self, R: Sequence[Sequence[Scalar]]) -> tuple[Scalar, Scalar, Scalar]:
        """Rotation vector of a rotation matrix; nothing may be computed from it further."""
        entries = tuple(x for row in R for x in row)
        nothing = self._rng.normal(size=(3, PROBES)).astype(complex)
        x, y, z = self._several("rotation_vector", entries, 0.0, tuple(nothing))
        return x, y, z

    def exponential(self, twist: Sequence[Scalar]) -> list[Scalar]:
        """Rotation matrix by rows, then translation, of the exponential of a twist (v, w)."""
        v = np.stack([x.probe for x in twist[:3]], axis=-1)
        w = np.stack([x.probe for x in twist[3:]], axis=-1)
        x = np.sqrt(np.sum(w * w, axis=-1))[:, None]
        factors = np.sin(x) / x, (1 - np.cos(x)) / x**2, (x - np.sin(x)) / x**3
        columns = []
        for e in np.eye(3):
            once = np.cross(w, e)
            columns.append(e + factors[0] * once + factors[1] * np.cross(w, once))
        once = np.cross(w, v)
        shift = v + factors[1] * once + factors[2] * np.cross(w, once)
        entries = [columns[k][:, i] for i in range(3) for k in range(3)] + [*shift.T]
        return [*self._several("exponential", tuple(twist), 0.0, tuple(entries))]

    def angle(self, c: Scalar, s: Scalar, offset: float) -> Scalar:
        """atan2(s, c) - offset between -pi and pi; nothing may be computed from it further."""
        constant = c.constant, s.constant
        if constant[0] is not None and constant[1] is not None:
            value = np.arctan2(constant[1], constant[0]) - offset
            return self.scalar(float(np.arctan2(np.sin(value), np.cos(value))))
        probe = np.arctan2(s.probe.real, c.probe.real).astype(complex)
        probe += self._rng.normal(size=PROBES)
        name = "angle" if offset == 0.0 else "angle_from"
        return self._enter(Operation(name, (s.index, c.index), float(offset)), probe)

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

    def _several(
        self,
        name: str,
        arguments: tuple[Scalar, ...],
        data: float,
        results: tuple[Probe, ...],
    ) -> tuple[Scalar, ...]:
        operation = Operation(name, tuple(a.index for a in arguments), data)
        index = self._known.get(operation)
        if index is None:
            index = self._append(operation, np.full(PROBES, np.nan, dtype=complex))
            self._tuples[index] = results
        items = []
        for k, probe in enumerate(self._tuples[index]):
            folded = self._folded(probe, EQUAL * float(np.max(np.abs(probe))))
            items.append(folded or self._enter(Operation("item", (index,), k), probe))
        return tuple(items)

    def _negated(self, a: Scalar) -> Scalar | None:
        operation = self.operations[a.index]
        return Scalar(self, operation.arguments[0]) if operation.name == "negative" else None

    def _folded(self, probe: Probe, tolerance: float) -> Scalar | None:
        # Two values tell most quantities from constants, at a fraction of the cost of all.
        if not abs(probe[1] - probe[0]) <= 2 * tolerance:
            return None
        value = complex(np.mean(probe))
        if np.max(np.abs(probe - value)) > tolerance or abs(value.imag) > tolerance:
            return None
        return self.scalar(value.real)

    def _enter(self, operation: Operation, probe: Probe) -> Scalar:
        index = self._known.get(operation)
        if index is not None:
            return Scalar(self, index)
        key = (_rounded(probe[0]), _rounded(probe[1]))
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
        self._sizes.append(float(np.max(np.abs(probe))))
        self._known[operation] = len(self.operations) - 1
        return len(self.operations) - 1


def _rounded(value: Any) -> complex:
    """The number to eleven digits, so that equal quantities share a key."""
    return complex(f"{value:.10e}") if np.isfinite(value) else complex("nan")
