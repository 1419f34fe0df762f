"""Solutions of equations, directions and rotations: operations with several results.

Each is entered into a tape with its values at the probes, and written in elementary operations that
are the same for every language. An operation that solves an equation has a plain formula for
generic inputs. Where solutions meet, or where nothing is left of a vector, it needs a closer look:
``careful`` code decides there by selections, so that it has no branches and never divides by zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.tape.program import ARITHMETIC, Number, Recording, needed
from regularize.guests.modes.closed_form.tape import PROBES, Probe, Tape
from regularize.tolerances import VANISHING

#: Coefficients that vanish at random inputs come with this multiple of the rounding of one term.
FREE = 1e5


def circle(
    tape: Tape, A: Number, B: Number, C: Number, sign: Number, slack: float
) -> tuple[Number, Number, Number]:
    """Enter cosine, sine and discriminant of the solutions of A cos + B sin + C = 0."""
    free = np.maximum(np.abs(A.value), np.abs(B.value)) <= FREE * slack
    square = np.where(free, 1.0, A.value**2 + B.value**2)
    discriminant = np.where(free, 0.0, square - C.value**2)
    root = sign.value * np.sqrt(discriminant)
    results = (
        np.where(free, 1.0, (-A.value * C.value - B.value * root) / square),
        np.where(free, 0.0, (-B.value * C.value + A.value * root) / square),
        discriminant,
    )
    c, s, d = tape.several("circle", (A, B, C, sign), results, slack)
    return c, s, d


def quadratic(
    tape: Tape, A: Number, B: Number, C: Number, sign: Number, slack: float
) -> tuple[Number, Number]:
    """Enter solution and discriminant of A s² + 2 B s + C = 0; ``slack`` in units of C."""
    discriminant = B.value**2 - A.value * C.value
    results = ((-B.value + sign.value * np.sqrt(discriminant)) / A.value, discriminant)
    s, d = tape.several("quadratic", (A, B, C, sign), results, slack)
    return s, d


def unit(tape: Tape, x: Number, y: Number, size: Probe, slack: float) -> tuple[Number, Number]:
    """Enter (x, y) of about a ``size`` scaled to length one; (1, 0) if below ``slack``."""
    for a, b in ((x, y), (y, x)):
        if a.constant == 0.0 and b.constant is not None:
            one = float(np.sign(b.constant))
            return (tape.number(one), a) if b is x else (a, tape.number(one))
    root = np.sqrt(x.value**2 + y.value**2)
    root = np.where(np.abs(root - size) <= np.abs(root + size), root, -root)
    free = np.abs(root) <= VANISHING * np.max(np.abs(root))
    root = np.where(free, 1.0, root)
    results = np.where(free, 1.0, x.value / root), np.where(free, 0.0, y.value / root)
    c, s = tape.several("unit", (x, y), results, slack)
    return c, s


def across(tape: Tape, m: Sequence[Number], d: Sequence[Number]) -> tuple[Number, Number, Number]:
    """Enter the unit vector along m, perpendicular to d; any such where m is zero."""
    length = np.sqrt(sum(a.value**2 for a in m))
    x, y, z = tape.several("across", (*m, *d), tuple(a.value / length for a in m))
    return x, y, z


def rotation_vector(tape: Tape, R: NDArray[np.object_]) -> tuple[Number, Number, Number]:
    """Enter the rotation vector of a rotation matrix; a result only."""
    nothing = tape.rng.normal(size=(3, PROBES)).astype(complex)
    x, y, z = tape.several("rotation_vector", R.ravel().tolist(), tuple(nothing))
    return x, y, z


def exponential(tape: Tape, twist: Sequence[Number]) -> list[Number]:
    """Enter rotation matrix by rows, then translation, of the exponential of a twist (v, w)."""
    given = [x.value for x in twist]
    x, y, z = given[3:]
    square = x * x + y * y + z * z
    r: Probe = np.sqrt(square)
    factors = np.sin(r) / r, (1 - np.cos(r)) / square, (r - np.sin(r)) / (r * square)
    return [*tape.several("exponential", twist, _exponential(given, square, *factors))]


def angle(tape: Tape, c: Number, s: Number, offset: float) -> Number:
    """Enter atan2(s, c) - offset between -pi and pi; a result only."""
    constant = c.constant, s.constant
    if constant[0] is not None and constant[1] is not None:
        value = np.arctan2(constant[1], constant[0]) - offset
        return tape.number(float(np.arctan2(np.sin(value), np.cos(value))))
    probe = np.arctan2(s.value.real, c.value.real) + tape.rng.normal(size=PROBES)
    return tape.enter("angle", s, c, data=float(offset), value=probe.astype(complex))


Numbers: TypeAlias = Sequence[Number]
Entry = TypeVar("Entry", Probe, Number)


def _exponential(
    twist: Sequence[Entry], t: Entry, a: Entry, b: Entry, c: Entry
) -> tuple[Entry, ...]:
    """Return a twist's exponential by t = r² and sin r/r, (1 - cos r)/r² and (r - sin r)/r³."""
    u, v, w, x, y, z = twist
    d = x * u + y * v + z * w
    return (
        1.0 + b * (x * x - t),
        b * x * y - a * z,
        b * x * z + a * y,
        b * x * y + a * z,
        1.0 + b * (y * y - t),
        b * y * z - a * x,
        b * x * z - a * y,
        b * y * z + a * x,
        1.0 + b * (z * z - t),
        u + b * (y * w - z * v) + c * (d * x - t * u),
        v + b * (z * u - x * w) + c * (d * y - t * v),
        w + b * (x * v - y * u) + c * (d * z - t * w),
    )


#: Squares of vectors that are nothing but rounding, by those that they are the difference of.
NOTHING = 1e-28


class Lowering:
    """Writes the operations of a tape in elementary ones; careful code solves at meetings too."""

    def __init__(self, *, careful: bool = True, free: tuple[str, str] | None = None) -> None:
        self.code, self._careful = Recording(), careful
        self._free = self.code.number(1.0), self.code.number(0.0)
        if free is not None:
            cosine, sine = free
            self._free = self.code.variable(cosine), self.code.variable(sine)
        self._several: dict[int, Numbers] = {}
        self._lines: dict[int, Number] = {}
        self._functions: dict[str, Callable[[Numbers, float], Numbers]] = {
            "circle": self._circle,
            "quadratic": self._quadratic,
            "unit": self._unit,
            "across": self._across,
            "angle": self._angle,
            "exponential": self._exponential,
            "rotation_vector": self._rotation_vector,
        }

    def lines(self, tape: Tape, results: Iterable[Number]) -> list[Number]:
        """Return the elementary numbers of some numbers of a tape."""
        wanted = list(results)
        for x in needed(wanted):
            self._enter(x)
        return [self._lines[x.index] for x in wanted]

    def _enter(self, x: Number) -> None:
        """Record the elementary operations of one number."""
        name = x.operation
        if name == "item":
            self._lines[x.index] = self._several[x.arguments[0]][int(x.data or 0)]
        elif x.constant is not None:
            self._lines[x.index] = self.code.number(x.constant)
        elif name == "variable":
            self._lines[x.index] = self.code.variable(str(x.data))
        else:
            arguments = [self._lines[a] for a in x.arguments]
            if name in self._functions:
                several = self._functions[name](arguments, float(x.data or 0.0))
                self._several[x.index], self._lines[x.index] = several, several[0]
            else:
                operation = ARITHMETIC.get(name) or partial(self.code.function, name)
                self._lines[x.index] = operation(*arguments)

    def _if(self, special: Number, there: Number | float, else_: Number) -> Number:
        """Return a choice between two numbers in careful code; plain code takes the second one."""
        return special.where(there, else_) if self._careful else else_

    def _circle(self, given: Numbers, slack: float) -> Numbers:
        """Return cosine, sine and discriminant of a solution of A cos x + B sin x + C = 0."""
        A, B, C, sign = given
        square = A * A + B * B
        discriminant = square - C * C
        free = (square <= slack * slack) & (abs(C) <= slack)
        rounding = free | (discriminant <= 0.0) & (-discriminant <= abs(C) * slack)
        length = square.root()
        C = self._if(rounding, (C < 0.0).where(-length, length), C)
        discriminant = self._if(rounding, 0.0, discriminant)
        root, divisor = sign * discriminant.root(), self._if(free, 1.0, square)
        cosine, sine = self.code.solve(
            "circle", (A, B, C, root), -(A * C + B * root) / divisor, (A * root - B * C) / divisor
        )
        chosen, across = self._free
        return self._if(free, chosen, cosine), self._if(free, across, sine), discriminant

    def _quadratic(self, given: Numbers, slack: float) -> Numbers:
        """Return solution and discriminant of A s² + 2 B s + C = 0; ``slack`` in units of C."""
        A, B, C, sign = given
        discriminant = B * B - A * C
        rounding, linear = (discriminant < 0.0) & (-discriminant <= A * slack), abs(A) <= 0.0
        discriminant = self._if(rounding, 0.0, discriminant)
        root = sign * discriminant.root()
        numerator = self._if(linear, C * -0.5, root - B)
        solution = numerator / self._if(linear, B, A)
        return *self.code.solve("quadratic", (A, B, C, root), solution), discriminant

    def _unit(self, given: Numbers, slack: float) -> Numbers:
        """Return (x, y) scaled to length one; (1, 0) where both vanish."""
        x, y = given
        length = (x * x + y * y).root()
        nothing = length <= slack
        length = self._if(nothing, 1.0, length)
        cosine, sine = self.code.solve("unit", (x, y, length), x / length, y / length)
        return self._if(nothing, 1.0, cosine), self._if(nothing, 0.0, sine)

    def _across(self, given: Numbers, _: float) -> Numbers:
        """Return the unit vector along (x, y, z), perpendicular to (u, v, w)."""
        x, y, z, u, v, w = given
        square, other = x * x + y * y + z * z, u * u + v * v + w * w
        # Sum and difference of vectors of equal length: rounding matters where the sum is shorter.
        shorter = square < other
        part = shorter.where(x * u + y * v + z * w, 0.0) / shorter.where(other, 1.0)
        x, y, z = x - part * u, y - part * v, z - part * w
        if self._careful:
            nothing = square <= other * NOTHING
            first = (abs(u) <= abs(v)) & (abs(u) <= abs(w))
            second = abs(v) <= abs(w)
            x = nothing.where(first.where(0.0, second.where(w, -v)), x)
            y = nothing.where(first.where(-w, second.where(0.0, u)), y)
            z = nothing.where(first.where(v, second.where(-u, 0.0)), z)
        length = (x * x + y * y + z * z).root()
        return x / length, y / length, z / length

    def _angle(self, given: Numbers, offset: float) -> Numbers:
        """Return the angle with a sine and cosine less an offset, between -pi and pi."""
        angle = self.code.function("atan2", *given)
        if not offset:
            return (angle,)
        return (self.code.function("remainder", angle - offset, self.code.number(2.0 * math.pi)),)

    def _exponential(self, given: Numbers, _: float) -> Numbers:
        """Return rotation by rows, then translation, of the twist ((u, v, w), (x, y, z))."""
        x, y, z = given[3:]
        t = x * x + y * y + z * z
        still = t <= 0.0
        square = self._if(still, 1.0, t)
        r = square.root()
        half = self.code.function("sin", r * 0.5)
        sine = self.code.function("sin", r)
        a = self._if(still, 1.0, sine / r)
        b = self._if(still, 0.5, half * half * 2.0 / square)
        c = self._if(still, 1 / 6, (r - sine) / (r * square))
        return _exponential(given, t, a, b, c)

    def _rotation_vector(self, given: Numbers, _: float) -> Numbers:
        """Return the rotation vector of a matrix, by the quaternion with its largest entry."""
        a, b, c, d, e, f, g, h, i = given
        t = a + e + i
        plain = (a < t) & (e < t) & (i < t)
        first, second = (e <= a) & (i <= a), i <= e
        quaternions = zip(
            (t + 1.0, h - f, c - g, d - b),
            (h - f, a * 2.0 - t + 1.0, b + d, c + g),
            (c - g, b + d, e * 2.0 - t + 1.0, f + h),
            (d - b, c + g, f + h, i * 2.0 - t + 1.0),
            strict=True,
        )
        w, x, y, z = (
            plain.where(p, first.where(q, second.where(r, s))) for p, q, r, s in quaternions
        )
        sine = (x * x + y * y + z * z).root()
        still = sine <= 0.0
        angle = self.code.function("atan2", sine, abs(w)) * 2.0
        factor = angle / still.where(1.0, (w < 0.0).where(-sine, sine))
        return factor * x, factor * y, factor * z
