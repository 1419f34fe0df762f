"""Solutions written out as Python and C99 by SymPy's printers.

The functions in ``runtime`` and ``runtime_c`` that they call are written out with them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from regularize.assembly_modes.closed_form import runtime
from regularize.assembly_modes.closed_form.function_names import (
    c_name,
    in_comment,
    in_docstring,
    python_name,
)
from regularize.assembly_modes.closed_form.listing import RESULTS, Call, Listing
from regularize.assembly_modes.closed_form.runtime_c import SOURCE


def python_source(
    listing: Listing, inputs: Sequence[str], names: Sequence[str], checks: int, name: str
) -> str:
    """A Python module with one function, which needs only ``math``.

    Args:
        listing: The program; its results are the coordinates, closure errors that have to vanish,
            and divisors that must not.
        inputs: Names of the inputs.
        names: Names of the coordinates.
        checks: Number of closure errors.
        name: Name of the function.

    Raises:
        ModelError: The language does not allow the name, or the source uses it itself.
    """
    from sympy.printing.pycode import PythonCodePrinter

    used = [n for n in vars(runtime) if not n.startswith("__")]
    name = python_name(name, [*used, "abs", "all", "map"])
    printer = PythonCodePrinter({"fully_qualified_modules": True})
    lines = [f"def {name}(x, branch=0):"]
    told, given = in_docstring(", ".join(names)), in_docstring(", ".join(inputs))
    lines += [f'    """Coordinates {told}; NaN where the branch cannot be assembled.']
    lines += ["", f"    x: {given or 'nothing'}.", f"    branch: 0 to {_branches(listing) - 1}."]
    lines += ["", f"    Operations: {listing.operations}.", '    """']
    lines += [f"    {symbol} = x[{i}]" for i, symbol in enumerate(_inputs(inputs))]
    lines += [f"    {symbol} = 1 - 2 * ({shift})" for symbol, shift in _signs(listing)]
    lines.append("    try:  # at some inputs formulas divide by zero")
    start = len(lines)
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
    coordinates, errors = values[: len(names)], values[len(names) : len(names) + checks]
    lines.append(f"    q = ({''.join(f'{value}, ' for value in coordinates)})")
    lines[start:] = [f"    {line}" for line in lines[start:]]
    lines += ["    except ZeroDivisionError:", f"        return (NAN,) * {len(coordinates)}"]
    conditions = ["all(map(math.isfinite, q))", *(f"abs({value}) <= 1e-9" for value in errors)]
    conditions += [f"abs({value}) > 1e-9" for value in values[len(names) + checks :]]
    lines.append(f"    return q if {' and '.join(conditions)} else (NAN,) * {len(coordinates)}")
    return "\n".join([inspect.getsource(runtime), "", *lines, ""])


def c_source(
    listing: Listing, inputs: Sequence[str], names: Sequence[str], checks: int, name: str
) -> str:
    """C99 source with one public function, which needs only ``math.h``; arguments alike."""
    from sympy.printing.c import C99CodePrinter

    printer = C99CodePrinter()
    used = {s.function for s in listing.statements if isinstance(s, Call)}
    name = c_name(name, re.findall(r"\b\w+(?=\(double)|\bPI\b", SOURCE))
    lines = [
        f"/* x: {in_comment(', '.join(inputs)) or 'nothing'}",
        f"   branch: 0 to {_branches(listing) - 1}",
        f"   q: {in_comment(', '.join(names))}",
        f"   Operations: {listing.operations}.",
        "   Returns 1 where the branch can be assembled, else 0. */",
        f"int {name}(const double *x, int branch, double *q)",
        "{",
    ]
    lines += [f"    const double {symbol} = x[{i}];" for i, symbol in enumerate(_inputs(inputs))]
    lines += [
        f"    const double {symbol} = 1 - 2 * ({shift});" for symbol, shift in _signs(listing)
    ]
    if not inputs:
        lines.append("    (void)x;")
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
    count = len(names)
    lines += [f"    q[{i}] = {printed(r)};" for i, r in enumerate(listing.results[:count])]
    for k, result in enumerate(listing.results[count:]):
        condition = "<=" if k < checks else ">"
        lines += [f"    if (!(fabs({printed(result)}) {condition} 1e-9))", "        return 0;"]
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
    return re.sub(rf"\b{re.escape(old)}\b", new, text)


def _inputs(inputs: Sequence[str]) -> list[str]:
    return [f"x{i}" for i in range(len(inputs))]


def _signs(listing: Listing) -> list[tuple[str, str]]:
    """Each sign that is used with the bit of the branch's index that gives it."""
    last = listing.signs - 1
    shifts = ((f"s{i}", f"branch >> {last - i} & 1") for i in range(listing.signs))
    return [(symbol, shift) for symbol, shift in shifts if symbol in listing.symbols]


def _branches(listing: Listing) -> int:
    return int(2**listing.signs)
