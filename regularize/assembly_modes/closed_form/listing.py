"""A program in SymPy's terms, its common subexpressions eliminated.

Sums, products, sines and cosines are handed to SymPy; the solutions of the equations themselves
are calls of the functions of ``runtime``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from graphlib import TopologicalSorter
from types import ModuleType
from typing import Any

from regularize.assembly_modes.closed_form.tape import Scalar, Tape
from regularize.errors import MissingExtra

#: Number of results of the functions that are called; then additions, multiplications, divisions,
#: square roots, sines, cosines, arctangents of each.
FUNCTIONS = {
    "circle": (3, (5, 8, 2, 1, 0, 0, 0)),
    "quadratic": (2, (2, 3, 1, 1, 0, 0, 0)),
    "unit": (2, (1, 2, 2, 1, 0, 0, 0)),
    "across": (3, (11, 15, 4, 1, 0, 0, 0)),
    "angle": (1, (0, 0, 0, 0, 0, 0, 1)),
    "angle_from": (1, (2, 1, 0, 0, 0, 0, 1)),
    "exponential": (12, (43, 56, 4, 1, 1, 1, 0)),
    "rotation_vector": (3, (11, 8, 1, 1, 0, 0, 1)),
}
#: What SymPy calls these operations.
_KINDS = ("ADD", "SUB", "NEG"), ("MUL", "POW"), ("DIV",), (), ("SIN",), ("COS",), ("ATAN2",)


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
        return sum(astuple(self))


@dataclass(frozen=True)
class Statement:
    """A common subexpression, or a call of a function of ``runtime``.

    Attributes:
        name: The symbol of its result, or of the array of its results.
        values: SymPy expressions: one, or the arguments of the call.
        function: Name of the function; empty for a subexpression.
    """

    name: str
    values: tuple[Any, ...]
    function: str = ""


class Listing:
    """A program in SymPy's terms: statements in an order in which they can be done.

    Args:
        tape: The program.
        results: What it has to compute.

    Attributes:
        signs: Number of choices between two branches.
        statements: What is computed before the results.
        results: SymPy expressions.
    """

    def __init__(self, tape: Tape, results: Sequence[Scalar]) -> None:
        """Translate, eliminate common subexpressions and put in order."""
        self._sympy, self.signs = _sympy(), tape.signs
        expressions: dict[int, Any] = {}
        calls: list[Statement] = []
        for x in tape.needed(results):
            arguments = [expressions[a] for a in x.operation.arguments]
            if x.operation.name in FUNCTIONS:
                name, data = f"r{len(calls)}", x.operation.data
                given = arguments if data is None else [*arguments, self._sympy.Float(data, 17)]
                calls.append(Statement(name, tuple(given), x.operation.name))
                count = FUNCTIONS[x.operation.name][0]
                array = self._sympy.IndexedBase(name, shape=(count,))
                expressions[x.index] = array if count > 1 else self._sympy.Symbol(name)
            else:
                expressions[x.index] = self._translated(x, arguments)
        wanted = [expressions[result.index] for result in results]
        flat = [value for call in calls for value in call.values] + wanted
        shared, reduced = self._sympy.cse(flat, symbols=self._sympy.numbered_symbols("t"))
        self.results = reduced[len(flat) - len(wanted) :]
        rest = iter(reduced)
        pending = {
            c.name: Statement(c.name, tuple(next(rest) for _ in c.values), c.function)
            for c in calls
        }
        pending.update((str(symbol), Statement(str(symbol), (value,))) for symbol, value in shared)
        order = TopologicalSorter({name: _names(s.values) for name, s in pending.items()})
        self.statements = [pending[name] for name in order.static_order() if name in pending]

    @property
    def _expressions(self) -> list[Any]:
        return [value for s in self.statements for value in s.values] + list(self.results)

    @property
    def symbols(self) -> list[str]:
        """Names of all inputs, signs and results that are used."""
        return _names(self._expressions)

    @property
    def operations(self) -> Operations:
        """Operations of all statements, and of the results."""
        counted = sum(
            (self._sympy.sympify(e).count_ops(visual=True) for e in self._expressions),
            self._sympy.Integer(0),
        )
        called = [FUNCTIONS[s.function][1] for s in self.statements if s.function]
        return Operations(
            *(
                sum(int(counted.coeff(self._sympy.Symbol(kind))) for kind in kinds)
                + sum(counts[k] for counts in called)
                for k, kinds in enumerate(_KINDS)
            )
        )

    def _translated(self, x: Scalar, arguments: Sequence[Any]) -> Any:
        sympy, name, data = self._sympy, x.operation.name, x.operation.data
        if x.constant is not None:
            value = x.constant
            return sympy.Integer(int(value)) if value == int(value) else sympy.Float(value, 17)
        if name in ("input", "sign"):
            return sympy.Symbol(f"{'x' if name == 'input' else 's'}{data}")
        if name in ("sin", "cos"):
            return getattr(sympy, name)(*arguments)
        if name in ("item", "negative"):
            return arguments[0][data] if name == "item" else -arguments[0]
        a, b = arguments
        if name == "divide":
            return a / b
        return a * b if name == "multiply" else a + b if name == "add" else a - b


def _names(expressions: Iterable[Any]) -> list[str]:
    """Names of the symbols in some expressions, in an order that is always the same."""
    return sorted({str(symbol) for e in expressions for symbol in e.free_symbols})


def _sympy() -> ModuleType:
    try:
        import sympy
    except ImportError as error:
        raise MissingExtra("writing solutions out", "sympy", "codegen") from error
    module: ModuleType = sympy
    return module
