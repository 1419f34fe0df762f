"""Straight-line programs: operations on numbered values, recorded by arithmetic on ``Number``.

Constants are folded, an operation is recorded once, and signs stand outermost. Each number carries
its value at one sample of the variables, where there is one: orders of elimination are chosen by
it, and nothing is computed from it.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from regularize.errors import UnsupportedExport

Functions: TypeAlias = Mapping[str, Callable[..., Any]]

#: Operations that everything that adds and multiplies has.
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
}
#: All operations on numbers of Python.
ON_NUMBERS: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(math, name) for name in ("sinh", "cosh", "tanh", "exp", "log")},
    **{name: getattr(math, name) for name in ("atan2", "remainder")},
    "power": math.pow,
    "sign": lambda a: math.copysign(1.0, a),
    "root": lambda a: math.sqrt(a) if a >= 0.0 else math.nan,
    "absolute": abs,
    "minimum": min,
    "maximum": max,
    "at_most": operator.le,
    "less": operator.lt,
    "both": operator.and_,
    "either": operator.or_,
    "where": lambda condition, yes, no: yes if condition else no,
}


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Number:
    """One value of a program; combines with others and with plain numbers by arithmetic.

    ``arguments`` are indices of earlier numbers, ``data`` is the name of a variable or a parameter
    of the operation, ``value`` is the value at the sample, and ``constant`` the value of constants.
    """

    recording: Recording
    index: int
    operation: str
    arguments: tuple[int, ...]
    data: float | str | None
    value: Any
    constant: float | None

    def __add__(self, other: Number | float) -> Number:
        return self.recording.add(self, self.recording.number(other))

    def __sub__(self, other: Number | float) -> Number:
        return self.recording.subtract(self, self.recording.number(other))

    def __mul__(self, other: Number | float) -> Number:
        return self.recording.multiply(self, self.recording.number(other))

    def __truediv__(self, other: Number | float) -> Number:
        return self.recording.divide(self, self.recording.number(other))

    def __rsub__(self, other: float) -> Number:
        return self.recording.subtract(self.recording.number(other), self)

    def __rtruediv__(self, other: float) -> Number:
        return self.recording.divide(self.recording.number(other), self)

    def __neg__(self) -> Number:
        return self.recording.negative(self)

    __radd__ = __add__
    __rmul__ = __mul__

    def __le__(self, other: Number | float) -> Number:
        return self.recording.enter("at_most", self, self.recording.number(other))

    def __lt__(self, other: Number | float) -> Number:
        return self.recording.enter("less", self, self.recording.number(other))

    def __and__(self, other: Number) -> Number:
        return self.recording.enter("both", self, other)

    def __or__(self, other: Number) -> Number:
        return self.recording.enter("either", self, other)

    def __abs__(self) -> Number:
        return self.recording.function("absolute", self)

    def root(self) -> Number:
        """Square root, NaN of negative numbers."""
        return self.recording.function("root", self)

    def where(self, yes: Number | float, no: Number | float) -> Number:
        """The first where this is true, else the second."""
        of = self.recording
        return of.enter("where", self, of.number(yes), of.number(no))


#: Kind of an equation, the numbers it is made of with its results last, which result a number is,
#: and its sign.
Equation: TypeAlias = "tuple[str, tuple[Number, ...], int, float]"


#: Numbers beyond which no program is made.
MOST_NUMBERS = 400_000


class Recording:
    """The numbers of a program in order; made by ``number``, ``variable`` and arithmetic.

    ``implicit`` holds the equations that numbers solve, by their indices: an equation tells
    more of a derivative than the formula of its solution.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most or MOST_NUMBERS
        self.numbers: list[Number] = []
        self.implicit: dict[int, Equation] = {}
        self._known: dict[tuple[object, ...], Number] = {}

    def enter(
        self, operation: str, *arguments: Number, data: float | str | None = None, value: Any = None
    ) -> Number:
        """Return the number that an operation gives, recorded as it is."""
        places = tuple(x.index for x in arguments)
        key = (operation, places, data)
        number = self._known.get(key)
        if number is None:
            if value is None:
                value = _value(operation, arguments)
            number = self._known[key] = self._append(operation, places, data, value)
        return number

    def _append(
        self, operation: str, places: tuple[int, ...], data: float | str | None, value: Any
    ) -> Number:
        """Append an operation as a new number; raise where the program grows too long."""
        if len(self.numbers) >= self.most:
            raise UnsupportedExport(
                f"straight-line code of this tree would have more than {self.most} operations; "
                "forward_dynamics(..., threads=) computes many states of such a robot"
            )
        constant = float(data or 0.0) if operation == "constant" else None
        number = Number(self, len(self.numbers), operation, places, data, value, constant)
        self.numbers.append(number)
        return number

    def number(self, value: Number | float) -> Number:
        """Return a constant; numbers of the program pass through."""
        if isinstance(value, Number):
            return value
        value = float(value) + 0.0  # no negative zero
        return self.enter("constant", data=value, value=value)

    def variable(self, name: str, sample: Any = math.nan) -> Number:
        """Return the input of a name, with its value at the sample."""
        return self.enter("variable", data=name, value=sample)

    def variables(self, name: str, sample: Iterable[float]) -> list[Number]:
        """Return the entries ``name_0``, ``name_1``, ... of an input."""
        return [self.variable(f"{name}_{i}", float(x)) for i, x in enumerate(sample)]

    def function(self, name: str, *arguments: Number) -> Number:
        """Return a function of numbers, folded where all are constants."""
        if all(x.constant is not None for x in arguments):
            value = _value(name, arguments)
            if math.isfinite(value):
                return self.number(value)
        if name in ("cos", "sin", "absolute") and (inner := self._negated(arguments[0])):
            result = self.function(name, inner)
            return -result if name == "sin" else result
        if name in ("add", "multiply", "minimum", "maximum"):
            arguments = tuple(sorted(arguments, key=_index))
        return self.enter(name, *arguments)

    def solve(self, kind: str, made_of: Iterable[Number], *results: Number) -> tuple[Number, ...]:
        """Note the equation that some numbers solve, and return them."""
        parts = (*made_of, *results)
        for place, x in enumerate(results):
            self.note(x, (kind, parts, place, 1.0))
        return results

    def note(self, x: Number, equation: Equation) -> None:
        """Note the equation that a number solves, and its negative where it has one."""
        self.implicit.setdefault(x.index, equation)
        if (inner := self._negated(x)) is not None:
            self.implicit.setdefault(inner.index, (*equation[:3], -equation[3]))

    def _negated(self, a: Number) -> Number | None:
        """Return the number that this is the negative of, if it is one."""
        return self.numbers[a.arguments[0]] if a.operation == "negative" else None

    def negative(self, a: Number) -> Number:
        """Return -a."""
        if (inner := self._negated(a)) is not None:
            return inner
        if a.operation == "subtract":
            return self.function("subtract", *(self.numbers[i] for i in a.arguments[::-1]))
        return self.function("negative", a)

    def add(self, a: Number, b: Number) -> Number:
        """Return a + b."""
        if a.constant == 0.0:
            return b
        if b.constant == 0.0:
            return a
        if (inner := self._negated(b)) is not None:
            return self.subtract(a, inner)
        if (inner := self._negated(a)) is not None:
            return self.subtract(b, inner)
        return self.function("add", a, b)

    def subtract(self, a: Number, b: Number) -> Number:
        """Return a - b."""
        if b.constant == 0.0:
            return a
        if a.constant == 0.0:
            return -b
        if a is b:
            return self.number(0.0)
        if (inner := self._negated(b)) is not None:
            return self.add(a, inner)
        if (inner := self._negated(a)) is not None:
            return -self.add(inner, b)
        return self.function("subtract", a, b)

    def multiply(self, a: Number, b: Number) -> Number:
        """Return a b."""
        for one, other in ((a, b), (b, a)):
            if one.constant is not None:
                if one.constant in (0.0, 1.0, -1.0):
                    return (self.number(0.0), other, -other)[int(one.constant)]
                if one.constant < 0.0 and other.constant is None:
                    return -self.multiply(self.number(-one.constant), other)
            elif (inner := self._negated(one)) is not None:
                return -self.multiply(inner, other)
        return self.function("multiply", a, b)

    def divide(self, a: Number, b: Number) -> Number:
        """Return a / b."""
        if a.constant == 0.0:
            return a
        if b.constant:
            return self.multiply(a, self.number(1.0 / b.constant))
        if (inner := self._negated(a)) is not None:
            return -self.divide(inner, b)
        if (inner := self._negated(b)) is not None:
            return -self.divide(a, inner)
        return self.function("divide", a, b)

    def sum(self, terms: Sequence[Number]) -> Number:
        """Return the sum of some numbers."""
        return sum(terms, start=self.number(0.0))


def _index(x: Number) -> int:
    """Return the index of a number, to sort by."""
    return x.index


def _value(operation: str, arguments: Sequence[Number]) -> Any:
    """Return the value of an operation at the sample, NaN where it has none."""
    try:
        return ON_NUMBERS[operation](*(x.value for x in arguments))
    except (ArithmeticError, ValueError):
        return math.nan


def needed(results: Iterable[Number]) -> list[Number]:
    """Return the numbers that results depend on, in order."""
    stack = list(results)
    numbers = stack[0].recording.numbers if stack else []
    indices: set[int] = set()
    places = [x.index for x in stack]
    while places:
        index = places.pop()
        if index not in indices:
            indices.add(index)
            places.extend(numbers[index].arguments)
    return [numbers[i] for i in sorted(indices)]


def evaluate(
    lines: Iterable[Number],
    variables: Mapping[str, Any],
    functions: Functions,
    constant: Callable[[float], Any] = float,
) -> dict[int, Any]:
    """Return the values of numbers by index, from those of variables by name.

    Values are whatever adds and multiplies, and ``functions`` are the operations besides.
    """
    operations = {**ARITHMETIC, **functions}
    values: dict[int, Any] = {}
    for x in lines:
        if x.constant is not None:
            values[x.index] = constant(x.constant)
        elif x.operation == "variable":
            values[x.index] = variables[str(x.data)]
        else:
            values[x.index] = operations[x.operation](*(values[i] for i in x.arguments))
    return values


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A program from some variables to some results."""

    variables: tuple[Number, ...]
    results: tuple[Number, ...]

    @cached_property
    def lines(self) -> list[Number]:
        """All numbers that results depend on, in order."""
        return needed(self.results)

    @cached_property
    def counts(self) -> Counter[str]:
        """How many operations of each name there are."""
        return Counter(x.operation for x in self.lines)

    @property
    def work(self) -> int:
        """How many additions, multiplications and divisions there are."""
        return sum(self.counts[name] for name in ("add", "subtract", "multiply", "divide"))

    def first(self, count: int) -> Program:
        """Return the program of the first results alone."""
        return Program(self.variables, self.results[:count])
