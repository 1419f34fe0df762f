"""A straight-line program of scalars: constants folded, equal operations one, signs outermost.

A program is recorded by arithmetic on ``Number``. What every number is at one sample of the inputs
is kept beside it: orders of elimination are chosen by it, and never what is computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from regularize.errors import UnsupportedExport

_FOLDED = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b if b else math.inf,
    "minimum": min,
    "maximum": max,
    "atan2": math.atan2,
    "negative": lambda a: -a,
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": lambda a: math.sqrt(max(a, 0.0)),
    "absolute": abs,
}


@dataclass(frozen=True)
class CodeLine:
    """One line of a program.

    Attributes:
        name: An operation of ``_FOLDED``, or ``input`` or ``constant``.
        arguments: Indices of earlier lines.
        data: The constant, or which input it is.
    """

    name: str
    arguments: tuple[int, ...] = ()
    data: float = 0.0


@dataclass(frozen=True, eq=False)
class Number:
    """A quantity of a program.

    Attributes:
        tape: The program.
        index: Its line.
        value: What it is at the sample.
        constant: Whether it is that at all inputs.
    """

    tape: Recording
    index: int
    value: float
    constant: bool

    def __add__(self, other: Number | float) -> Number:
        return self.tape.add(self, self.tape.number(other))

    def __sub__(self, other: Number | float) -> Number:
        return self.tape.subtract(self, self.tape.number(other))

    def __mul__(self, other: Number | float) -> Number:
        return self.tape.multiply(self, self.tape.number(other))

    def __truediv__(self, other: Number | float) -> Number:
        return self.tape.divide(self, self.tape.number(other))

    def __rsub__(self, other: float) -> Number:
        return self.tape.subtract(self.tape.number(other), self)

    def __rtruediv__(self, other: float) -> Number:
        return self.tape.divide(self.tape.number(other), self)

    def __neg__(self) -> Number:
        return self.tape.unary("negative", self)

    __radd__ = __add__
    __rmul__ = __mul__

    def is_number(self, value: float) -> bool:
        """Whether it is always this."""
        return self.constant and self.value == value


class Recording:
    """A program that is recorded; ``number``, ``input`` and arithmetic make its quantities."""

    def __init__(self) -> None:
        self.operations: list[CodeLine] = []
        self._numbers: list[Number] = []
        self._known: dict[CodeLine, Number] = {}
        self._inputs = 0

    #: Lines beyond which no program is made.
    most = 400_000

    def _enter(self, operation: CodeLine, value: float, constant: bool = False) -> Number:
        known = self._known.get(operation)
        if known is None:
            known = Number(self, len(self.operations), value, constant)
            if len(self.operations) >= self.most:
                raise UnsupportedExport(
                    f"straight-line code of this tree would have more than {self.most} operations; "
                    "forward_dynamics(..., threads=) computes many states of such a robot"
                )
            self._known[operation] = known
            self.operations.append(operation)
            self._numbers.append(known)
        return known

    def number(self, value: Number | float) -> Number:
        """A constant; quantities pass through."""
        if isinstance(value, Number):
            return value
        value = float(value) + 0.0  # no negative zero
        return self._enter(CodeLine("constant", (), value), value, True)

    def inputs(self, sample: Iterable[float]) -> list[Number]:
        """New inputs, by what they are at the sample."""
        made = []
        for value in sample:
            made.append(self._enter(CodeLine("input", (), self._inputs), float(value)))
            self._inputs += 1
        return made

    def unary(self, name: str, a: Number) -> Number:
        """A function of one number."""
        if a.constant:
            return self.number(_FOLDED[name](a.value))  # type: ignore[operator]
        inner = self.operations[a.index]
        if name == "negative":
            if inner.name == "negative":
                return self._numbers[inner.arguments[0]]
            if inner.name == "subtract":
                return self._binary("subtract", *(self._numbers[i] for i in inner.arguments[::-1]))
        elif inner.name == "negative" and name in ("cos", "sin", "absolute"):
            result = self.unary(name, self._numbers[inner.arguments[0]])
            return -result if name == "sin" else result
        return self._enter(CodeLine(name, (a.index,)), _FOLDED[name](a.value))  # type: ignore[operator]

    def _binary(self, name: str, a: Number, b: Number) -> Number:
        value = _FOLDED[name](a.value, b.value)  # type: ignore[operator]
        if a.constant and b.constant:
            return self.number(value)
        places = (a.index, b.index)
        if name in ("add", "multiply", "minimum", "maximum"):
            places = (min(places), max(places))
        return self._enter(CodeLine(name, places), value)

    def binary(self, name: str, a: Number, b: Number) -> Number:
        """A function of two numbers that is none of arithmetic."""
        return self._binary(name, a, b)

    def _inner(self, a: Number) -> Number | None:
        """What a number is the negative of, where it is one."""
        operation = self.operations[a.index]
        return self._numbers[operation.arguments[0]] if operation.name == "negative" else None

    def add(self, a: Number, b: Number) -> Number:
        """A + b."""
        if a.is_number(0.0):
            return b
        if b.is_number(0.0):
            return a
        if (inner := self._inner(b)) is not None:
            return self.subtract(a, inner)
        if (inner := self._inner(a)) is not None:
            return self.subtract(b, inner)
        return self._binary("add", a, b)

    def subtract(self, a: Number, b: Number) -> Number:
        """A - b."""
        if b.is_number(0.0):
            return a
        if a.is_number(0.0):
            return -b
        if a is b:
            return self.number(0.0)
        if (inner := self._inner(b)) is not None:
            return self.add(a, inner)
        if (inner := self._inner(a)) is not None:
            return -self.add(inner, b)
        return self._binary("subtract", a, b)

    def multiply(self, a: Number, b: Number) -> Number:
        """A b."""
        for one, other in ((a, b), (b, a)):
            if one.constant and one.value in (0.0, 1.0, -1.0):
                return (self.number(0.0), other, -other)[int(one.value)]
            if one.constant and one.value < 0.0 and not other.constant:
                return -self.multiply(self.number(-one.value), other)
            if (inner := self._inner(one)) is not None:
                return -self.multiply(inner, other)
        return self._binary("multiply", a, b)

    def divide(self, a: Number, b: Number) -> Number:
        """A / b."""
        if a.is_number(0.0):
            return a
        if b.constant and b.value:
            return self.multiply(a, self.number(1.0 / b.value))
        for one, pair in ((a, lambda x: (x, b)), (b, lambda x: (a, x))):
            if (inner := self._inner(one)) is not None:
                return -self.divide(*pair(inner))
        return self._binary("divide", a, b)

    def sum(self, terms: Sequence[Number]) -> Number:
        """The sum of some numbers."""
        total = self.number(0.0)
        for term in terms:
            total = self.add(total, term)
        return total

    def program(self, outputs: Sequence[Number]) -> StraightLine:
        """The lines that some results need, in order."""
        places = tuple(x.index for x in outputs)
        return StraightLine(tuple(self.operations), places, self._inputs).first(len(outputs))


@dataclass(frozen=True, eq=False, repr=False)
class StraightLine:
    """A straight-line program that is complete.

    Attributes:
        lines: What is computed, each line from earlier ones.
        outputs: Lines of the results.
        inputs: How many inputs there are.
    """

    lines: tuple[CodeLine, ...]
    outputs: tuple[int, ...]
    inputs: int

    @property
    def counts(self) -> Counter[str]:
        """How many operations of each name there are."""
        return Counter(line.name for line in self.lines)

    @property
    def work(self) -> int:
        """How many additions, multiplications and divisions there are."""
        counts = self.counts
        return sum(counts[name] for name in ("add", "subtract", "multiply", "divide"))

    def first(self, count: int) -> StraightLine:
        """The program of the first results alone."""
        needed = bytearray(len(self.lines))
        for k in self.outputs[:count]:
            needed[k] = 1
        for k in range(len(needed) - 1, -1, -1):
            if needed[k]:
                for argument in self.lines[k].arguments:
                    needed[argument] = 1
        places: dict[int, int] = {}
        lines: list[CodeLine] = []
        for k, line in enumerate(self.lines):
            if needed[k]:
                places[k] = len(lines)
                lines.append(replace(line, arguments=tuple(places[i] for i in line.arguments)))
        outputs = tuple(places[k] for k in self.outputs[:count])
        return StraightLine(tuple(lines), outputs, self.inputs)
