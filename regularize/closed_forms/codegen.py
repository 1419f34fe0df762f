"""Solutions written out as Python and C99, through SymPy's common subexpressions and printers.

Sums, products, sines and cosines are handed to SymPy; the solutions of the equations themselves
are calls of the functions in ``runtime`` and ``runtime_c``, which are written out with them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from regularize.closed_forms import runtime
from regularize.closed_forms.runtime_c import SOURCE
from regularize.closed_forms.tape import Scalar, Tape
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
        self.sympy = _sympy()
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


def python_source(
    listing: Listing, inputs: Sequence[str], names: Sequence[str], checks: int, name: str
) -> str:
    """A Python module with one function, which needs only ``math``.

    Args:
        listing: The program; its results are the coordinates, then closure errors to be checked.
        inputs: Names of the inputs.
        names: Names of the coordinates.
        checks: Number of closure errors.
        name: Name of the function.
    """
    from sympy.printing.pycode import PythonCodePrinter

    printer = PythonCodePrinter({"fully_qualified_modules": True})
    lines = [f"def {name}(x, branch=0):"]
    lines += [f'    """Coordinates {", ".join(names)}; NaN where the branch cannot be assembled.']
    lines += ["", f"    x: {', '.join(inputs)}.", f"    branch: 0 to {_branches(listing) - 1}."]
    lines += ['    """']
    lines += [f"    {symbol} = x[{i}]" for i, symbol in enumerate(_inputs(inputs))]
    lines += [f"    {symbol} = 1 - 2 * ({shift})" for symbol, shift in _signs(listing)]
    for statement in listing.statements:
        if isinstance(statement, Call):
            arguments = ", ".join(printer.doprint(a) for a in statement.arguments)
            targets = "".join(
                f"{statement.target}_{k}, " for k in range(RESULTS[statement.function])
            )
            if RESULTS[statement.function] == 1:
                targets = f"{statement.target}_0"
            lines.append(f"    {targets.rstrip(', ')} = {statement.function}({arguments})")
        else:
            lines.append(f"    {statement.name} = {printer.doprint(statement.expression)}")
    values = [printer.doprint(result) for result in listing.results]
    coordinates = values[: len(values) - checks]
    lines.append(f"    q = ({''.join(f'{value}, ' for value in coordinates)})")
    conditions = [f"abs({value}) <= 1e-9" for value in values[len(coordinates) :]]
    conditions.insert(0, "all(map(math.isfinite, q))")
    lines.append(f"    return q if {' and '.join(conditions)} else (NAN,) * {len(coordinates)}")
    return "\n".join([inspect.getsource(runtime), "", *lines, ""])


def c_source(
    listing: Listing, inputs: Sequence[str], names: Sequence[str], checks: int, name: str
) -> str:
    """C99 source with one public function, which needs only ``math.h``; arguments alike."""
    from sympy.printing.c import C99CodePrinter

    printer = C99CodePrinter()
    used = {s.function for s in listing.statements if isinstance(s, Call)}
    lines = [
        f"/* x: {', '.join(inputs)}",
        f"   branch: 0 to {_branches(listing) - 1}",
        f"   q: {', '.join(names)}",
        "   Returns 1 where the branch can be assembled, else 0. */",
        f"int {name}(const double *x, int branch, double *q)",
        "{",
    ]
    lines += [f"    const double {symbol} = x[{i}];" for i, symbol in enumerate(_inputs(inputs))]
    lines += [
        f"    const double {symbol} = 1 - 2 * ({shift});" for symbol, shift in _signs(listing)
    ]
    if not _signs(listing):
        lines.append("    (void)branch;")

    def printed(expression: Any) -> str:
        # Results of calls are arrays in C.
        text = str(printer.doprint(expression))
        for symbol in sorted(map(str, expression.free_symbols), key=len, reverse=True):
            if symbol.startswith("r"):
                text = _word(text, symbol, symbol.replace("_", "[") + "]")
        return text

    for statement in listing.statements:
        if isinstance(statement, Call):
            arguments = ", ".join(printed(a) for a in statement.arguments)
            lines.append(f"    double {statement.target}[{RESULTS[statement.function]}];")
            lines.append(f"    {statement.function}({arguments}, {statement.target});")
        else:
            lines.append(f"    const double {statement.name} = {printed(statement.expression)};")
    count = len(listing.results) - checks
    lines += [f"    q[{i}] = {printed(r)};" for i, r in enumerate(listing.results[:count])]
    for result in listing.results[count:]:
        lines += [f"    if (!(fabs({printed(result)}) <= 1e-9))", "        return 0;"]
    lines += [f"    for (int i = 0; i < {count}; i++)", "        if (!isfinite(q[i]))"]
    lines += ["            return 0;", "    return 1;", "}", ""]
    return "\n".join([_functions(used), *lines])


def _functions(used: set[str]) -> str:
    """The C functions that are called, each with the comment above it."""
    parts = SOURCE.split("\n\n")
    kept = [parts[0]]
    if "angle_from" in used:
        kept.append(parts[1])
    for part in parts[2:]:
        if any(f" {name}(double" in part for name in used):
            kept.append(part.rstrip())
    return "\n\n".join(kept) + "\n"


def _word(text: str, old: str, new: str) -> str:
    """Replace a whole identifier."""
    import re

    return re.sub(rf"\b{re.escape(old)}\b", new, text)


def _inputs(inputs: Sequence[str]) -> list[str]:
    return [f"x{i}" for i in range(len(inputs))]


def _signs(listing: Listing) -> list[tuple[str, str]]:
    """Each sign with the bit of the branch's index that gives it."""
    count = sum(call.function in ("circle", "quadratic") for call in listing.calls)
    return [(f"s{i}", f"branch >> {count - 1 - i} & 1") for i in range(count)]


def _branches(listing: Listing) -> int:
    return int(2 ** len(_signs(listing)))


def _sympy() -> ModuleType:
    try:
        import sympy
    except ImportError as error:
        raise MissingExtra("writing solutions out", "sympy", "codegen") from error
    module: ModuleType = sympy
    return module
