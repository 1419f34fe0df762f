"""A program in SymPy's terms, its common subexpressions eliminated.

Sums, products, sines and cosines are handed to SymPy; the solutions of the equations themselves
are calls of functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from regularize.assembly_modes.closed_form.tape import Scalar, Tape
from regularize.errors import MissingExtra

#: Number of results of the functions that are called.
RESULTS = {
    "circle": 3,
    "quadratic": 2,
    "unit": 2,
    "across": 3,
    "angle": 1,
    "angle_from": 1,
    "exponential": 12,
    "rotation_vector": 3,
}
#: Additions, multiplications, divisions, square roots, sines, cosines, arctangents of each.
COUNTS = {
    "circle": (5, 8, 2, 1, 0, 0, 0),
    "quadratic": (2, 3, 1, 1, 0, 0, 0),
    "unit": (1, 2, 2, 1, 0, 0, 0),
    "across": (11, 15, 4, 1, 0, 0, 0),
    "angle": (0, 0, 0, 0, 0, 0, 1),
    "angle_from": (2, 1, 0, 0, 0, 0, 1),
    "exponential": (43, 56, 4, 1, 1, 1, 0),
    "rotation_vector": (11, 8, 1, 1, 0, 0, 1),
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

    def __str__(self) -> str:
        """Those that there are, in words."""
        counts = (
            f"{count} {name.replace('_', ' ')}" for name, count in vars(self).items() if count
        )
        return ", ".join(counts) or "none"

    @property
    def total(self) -> int:
        """All of them together."""
        return (
            self.additions
            + self.multiplications
            + self.divisions
            + self.square_roots
            + self.sines
            + self.cosines
            + self.arctangents
        )


@dataclass(frozen=True)
class Call:
    """A call of a function of ``runtime``.

    Attributes:
        function: Its name.
        arguments: SymPy expressions.
        target: Name of the array or tuple of its results.
    """

    function: str
    arguments: tuple[Any, ...]
    target: str


@dataclass(frozen=True)
class Assignment:
    """A common subexpression.

    Attributes:
        name: Its symbol.
        expression: SymPy expression.
    """

    name: str
    expression: Any


class Listing:
    """A program in SymPy's terms: assignments and calls in an order in which they can be done.

    Args:
        tape: The program.
        results: What it has to compute.
    """

    def __init__(self, tape: Tape, results: Sequence[Scalar]) -> None:
        """Translate, eliminate common subexpressions and put in order."""
        self.sympy, self.signs = _sympy(), tape.signs
        self._expressions: dict[int, Any] = {}
        calls: list[Call] = []
        items: dict[str, tuple[int, int]] = {}
        for index in tape.needed(results):
            operation = tape.operations[index]
            if operation.name in RESULTS:
                arguments = [self._expressions[a] for a in operation.arguments]
                if operation.name in ("circle", "quadratic", "unit", "angle_from"):
                    arguments.append(self.sympy.Float(operation.data, 17))
                calls.append(Call(operation.name, tuple(arguments), f"r{len(calls)}"))
                self._expressions[index] = self.sympy.Symbol(f"r{len(calls) - 1}_0")
                items[f"r{len(calls) - 1}_0"] = (len(calls) - 1, 0)
            elif operation.name == "item":
                target = str(self._expressions[operation.arguments[0]]).split("_")[0]
                symbol = f"{target}_{operation.data}"
                items[symbol] = (int(target[1:]), int(operation.data))
                self._expressions[index] = self.sympy.Symbol(symbol)
            else:
                self._expressions[index] = self._translated(operation.name, operation)
        wanted = [self._expressions[result.index] for result in results]
        flat = [argument for call in calls for argument in call.arguments] + wanted
        replaced, reduced = self.sympy.cse(flat, symbols=self.sympy.numbered_symbols("t"))
        self.results = reduced[len(flat) - len(wanted) :]
        rest = iter(reduced)
        self.calls = [
            Call(call.function, tuple(next(rest) for _ in call.arguments), call.target)
            for call in calls
        ]
        self.statements: list[Call | Assignment] = []
        self._items = items
        self._pending = {str(symbol): expression for symbol, expression in replaced}
        self._done: set[str] = set()
        for expression in self.results:
            self._require(expression)

    @property
    def symbols(self) -> set[str]:
        """Names of all inputs, signs and results that are used."""
        expressions = list(self.results)
        for each in self.statements:
            expressions += each.arguments if isinstance(each, Call) else [each.expression]
        return {str(symbol) for expression in expressions for symbol in expression.free_symbols}

    @property
    def operations(self) -> Operations:
        """Operations of all statements, and of the results."""
        total = [0] * 7
        expressions = list(self.results)
        for statement in self.statements:
            if isinstance(statement, Call):
                expressions += statement.arguments
                total = [a + b for a, b in zip(total, COUNTS[statement.function], strict=True)]
            else:
                expressions.append(statement.expression)
        names = ("ADD", "SUB", "NEG"), ("MUL", "POW"), ("DIV",), (), ("SIN",), ("COS",), ("ATAN2",)
        for expression in expressions:
            counted = self.sympy.sympify(expression).count_ops(visual=True)
            for k, kinds in enumerate(names):
                total[k] += sum(int(counted.coeff(self.sympy.Symbol(kind))) for kind in kinds)
        return Operations(*total)

    def _translated(self, name: str, operation: Any) -> Any:
        sympy = self.sympy
        if name == "constant":
            value = float(operation.data)
            return sympy.Integer(int(value)) if value == int(value) else sympy.Float(value, 17)
        if name in ("input", "sign"):
            return sympy.Symbol(f"{'x' if name == 'input' else 's'}{operation.data}")
        x = [self._expressions[a] for a in operation.arguments]
        if name == "add":
            return x[0] + x[1]
        if name == "subtract":
            return x[0] - x[1]
        if name == "multiply":
            return x[0] * x[1]
        if name == "divide":
            return x[0] / x[1]
        if name == "negative":
            return -x[0]
        return sympy.sin(x[0]) if name == "sin" else sympy.cos(x[0])

    def _require(self, expression: Any) -> None:
        """Bring forward what an expression needs."""
        for symbol in sorted(map(str, expression.free_symbols)):
            if symbol in self._done:
                continue
            self._done.add(symbol)
            if symbol in self._pending:
                self._require(self._pending[symbol])
                self.statements.append(Assignment(symbol, self._pending[symbol]))
            elif symbol in self._items:
                call = self.calls[self._items[symbol][0]]
                for argument in call.arguments:
                    self._require(argument)
                # All results of a call come at once.
                known = {name for name, (k, _) in self._items.items() if call is self.calls[k]}
                self._done |= known
                self.statements.append(call)


def _sympy() -> ModuleType:
    try:
        import sympy
    except ImportError as error:
        raise MissingExtra("writing solutions out", "sympy", "codegen") from error
    module: ModuleType = sympy
    return module
