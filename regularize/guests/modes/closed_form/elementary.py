"""Straight-line code of elementary operations: written once, and printed in any language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from regularize.guests.modes.closed_form.tape import needed

_INFIX = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "at_most": "{} <= {}",
    "less": "{} < {}",
    "sin": "sin({})",
    "cos": "cos({})",
    "atan2": "atan2({}, {})",
    "remainder": "remainder({}, {})",
}
#: How numbers in Python, arrays of numpy and numbers in C are computed with. The square root of a
#: negative number is NaN in all of them.
PYTHON = {
    **_INFIX,
    "root": "sqrt({0}) if {0} >= 0.0 else nan",
    "absolute": "abs({})",
    "both": "{} and {}",
    "either": "{} or {}",
    "where": "{1} if {0} else {2}",
}
ARRAYS = {
    **_INFIX,
    "root": "sqrt({})",
    "absolute": "abs({})",
    "both": "{} & {}",
    "either": "{} | {}",
    "where": "where({}, {}, {})",
}
C99 = {
    **_INFIX,
    "root": "sqrt({})",
    "absolute": "fabs({})",
    "both": "{} && {}",
    "either": "{} || {}",
    "where": "{} ? {} : {}",
}


@dataclass(frozen=True, eq=False)
class Line:
    """One operation, and what comes of it; combines with others and with numbers.

    Attributes:
        code: What it belongs to.
        index: Its position there.
        operation: What is done.
        arguments: Positions of the lines that it is done to.
        data: A number, or the name of a variable that is given.
    """

    code: Code
    index: int
    operation: str
    arguments: tuple[int, ...]
    data: float | str | None

    def __add__(self, other: Line | float) -> Line:
        return self.code.enter("add", self, self.code.scalar(other))

    def __sub__(self, other: Line | float) -> Line:
        return self.code.enter("subtract", self, self.code.scalar(other))

    def __mul__(self, other: Line | float) -> Line:
        return self.code.enter("multiply", self, self.code.scalar(other))

    def __truediv__(self, other: Line | float) -> Line:
        return self.code.enter("divide", self, self.code.scalar(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Line:
        return self.code.enter("negative", self)

    def __le__(self, other: Line | float) -> Line:
        return self.code.enter("at_most", self, self.code.scalar(other))

    def __lt__(self, other: Line | float) -> Line:
        return self.code.enter("less", self, self.code.scalar(other))

    def __and__(self, other: Line) -> Line:
        return self.code.enter("both", self, other)

    def __or__(self, other: Line) -> Line:
        return self.code.enter("either", self, other)

    def __abs__(self) -> Line:
        return self.code.enter("absolute", self)

    def root(self) -> Line:
        """Square root, NaN of negative numbers."""
        return self.code.enter("root", self)

    def where(self, yes: Line | float, no: Line | float) -> Line:
        """The first where this is true, else the second."""
        return self.code.enter("where", self, self.code.scalar(yes), self.code.scalar(no))

    @property
    def name(self) -> str:
        """How it is written where it is used: a number, a given variable, or ``v7``."""
        if self.operation == "constant":
            return f"({self.data!r})"
        return str(self.data) if self.operation == "variable" else f"v{self.index}"

    @property
    def used(self) -> list[str]:
        """Names of what it is done to."""
        return [self.code.lines[a].name for a in self.arguments]

    def assignment(self, language: Mapping[str, str]) -> str | None:
        """The assignment that it is, such as ``v7 = x0 * v3``, if it is one."""
        if self.operation in ("constant", "variable"):
            return None
        text = language[self.operation].format(*self.used)
        return f"{self.name} = {text}"


class Code:
    """Lines in order, none of them twice.

    Attributes:
        lines: All of them.
        implicit: Lines that solve an equation, by their positions: its kind, the lines that it is
            made of, and which of its results they are. What is known of the equation says more of
            a derivative than the formula.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.implicit: dict[int, tuple[str, tuple[Line, ...], int]] = {}
        self._known: dict[tuple[object, ...], Line] = {}

    def enter(self, operation: str, *arguments: Line, data: float | str | None = None) -> Line:
        """The line of an operation."""
        places = tuple(line.index for line in arguments)
        key = (operation, places, data)
        if key not in self._known:
            self._known[key] = Line(self, len(self.lines), operation, places, data)
            self.lines.append(self._known[key])
        return self._known[key]

    def solve(self, kind: str, made_of: Iterable[Line], *results: Line) -> tuple[Line, ...]:
        """Results of an equation, and what it is made of; they are the last of that."""
        for place, line in enumerate(results):
            self.implicit.setdefault(line.index, (kind, (*made_of, *results), place))
        return results

    def variable(self, name: str) -> Line:
        """A number that is given."""
        return self.enter("variable", data=name)

    def needed(self, results: Iterable[Line]) -> list[Line]:
        """The lines that results depend on, in order."""
        of = self.lines
        return [of[k] for k in needed((x.index for x in results), lambda k: of[k].arguments)]

    def statements(self, results: Sequence[Line], language: Mapping[str, str]) -> list[str]:
        """The body of a function in Python that returns results, in order."""
        body = [f"return ({''.join(f'{line.name}, ' for line in results)})"]
        used = {line.name for line in results}
        for line in reversed(self.needed(results)):
            assignment = line.assignment(language)
            if assignment is not None:
                # What is not used again makes room in the processor's cache.
                last = {x for x in line.used if x.startswith("v")} - used
                used |= last
                body += [f"del {', '.join(sorted(last))}"] if last else []
                body.append(assignment)
        return body[::-1]

    def scalar(self, value: Line | float) -> Line:
        """A number as a line; lines pass through."""
        return value if isinstance(value, Line) else self.enter("constant", data=float(value))


#: Which kind of operation those are that are counted.
_KINDS = {
    **{"add": 0, "subtract": 0, "negative": 0, "remainder": 0, "multiply": 1, "divide": 2},
    **{"root": 3, "sin": 4, "cos": 5, "atan2": 6},
}


@dataclass(frozen=True)
class Operations:
    """Number of operations for one solution.

    Attributes:
        additions: Additions, subtractions and changes of sign.
        multiplications: Multiplications, squares included.
        divisions: Divisions.
        square_roots: Square roots.
        sines: Sines.
        cosines: Cosines.
        arctangents: Arctangents of two arguments.
    """

    additions: int
    multiplications: int
    divisions: int
    square_roots: int
    sines: int
    cosines: int
    arctangents: int

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Operations:
        """Those of some lines."""
        kinds = [_KINDS[line.operation] for line in lines if line.operation in _KINDS]
        return cls(*np.bincount(kinds, minlength=7).tolist())

    def __str__(self) -> str:
        counts = (
            f"{count} {name.replace('_', ' ')}" for name, count in vars(self).items() if count
        )
        return ", ".join(counts) or "none"

    @property
    def total(self) -> int:
        """All of them together."""
        return sum(astuple(self))
