"""Solutions written out as Python and C99 by SymPy's printers.

The functions in ``runtime`` that they call are written out with them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from regularize.assembly_modes.closed_form import runtime
from regularize.assembly_modes.closed_form.function_names import (
    c_name,
    in_comment,
    in_docstring,
    python_name,
)
from regularize.assembly_modes.closed_form.listing import FUNCTIONS, Listing
from regularize.assembly_modes.closed_form.program import CLOSED
from regularize.assembly_modes.closed_form.runtime_c import c_functions, names_used


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
    name, count = python_name(name, [*used, "abs", "all", "map"]), len(names)
    printed = PythonCodePrinter({"fully_qualified_modules": True}).doprint
    body = []
    for statement in listing.statements:
        values = ", ".join(map(printed, statement.values))
        text = f"{statement.function}({values})" if statement.function else values
        body.append(f"{statement.name} = {text}")
    results = [printed(result) for result in listing.results]
    body.append(f"q = ({''.join(f'{value}, ' for value in results[:count])})")
    conditions = ["all(map(math.isfinite, q))"]
    for k, value in enumerate(results[count:]):
        conditions.append(f"abs({value}) {'<=' if k < checks else '>'} {CLOSED}")
    told, given = in_docstring(", ".join(names)), in_docstring(", ".join(inputs))
    lines = [
        f"def {name}(x, branch=0):",
        f'    """Coordinates {told}; NaN where the branch cannot be assembled.',
        "",
        f"    x: {given or 'nothing'}.",
        f"    branch: 0 to {2**listing.signs - 1}.",
        "",
        f"    Operations: {listing.operations}.",
        '    """',
        *(f"    x{i} = x[{i}]" for i in range(len(inputs))),
        *(f"    {symbol} = {value}" for symbol, value in _signs(listing)),
        "    try:  # at some inputs formulas divide by zero",
        *(f"        {line}" for line in body),
        "    except ZeroDivisionError:",
        f"        return (NAN,) * {count}",
        f"    return q if {' and '.join(conditions)} else (NAN,) * {count}",
    ]
    return "\n".join([inspect.getsource(runtime), "", *lines, ""])


def c_source(
    listing: Listing, inputs: Sequence[str], names: Sequence[str], checks: int, name: str
) -> str:
    """C99 source with one public function, which needs only ``math.h``; arguments alike."""
    from sympy.printing.c import C99CodePrinter

    name, count = c_name(name, names_used()), len(names)
    printed = C99CodePrinter().doprint
    body = [f"const double x{i} = x[{i}];" for i in range(len(inputs))]
    body += [f"const double {symbol} = {value};" for symbol, value in _signs(listing)]
    body += [] if inputs else ["(void)x;"]
    body += [] if _signs(listing) else ["(void)branch;"]
    for statement in listing.statements:
        values = ", ".join(map(printed, statement.values))
        results = FUNCTIONS[statement.function][0] if statement.function else 1
        if results > 1:
            body.append(f"double {statement.name}[{results}];")
            body.append(f"{statement.function}({values}, {statement.name});")
        else:
            text = f"{statement.function}({values})" if statement.function else values
            body.append(f"const double {statement.name} = {text};")
    body += [f"q[{i}] = {printed(result)};" for i, result in enumerate(listing.results[:count])]
    for k, result in enumerate(listing.results[count:]):
        condition = "<=" if k < checks else ">"
        body += [f"if (!(fabs({printed(result)}) {condition} {CLOSED}))", "    return 0;"]
    body += [f"for (int i = 0; i < {count}; i++)", "    if (!isfinite(q[i]))"]
    body += ["        return 0;", "return 1;"]
    lines = [
        f"/* x: {in_comment(', '.join(inputs)) or 'nothing'}",
        f"   branch: 0 to {2**listing.signs - 1}",
        f"   q: {in_comment(', '.join(names))}",
        f"   Operations: {listing.operations}.",
        "   Returns 1 where the branch can be assembled, else 0. */",
        f"int {name}(const double *x, int branch, double *q)",
        "{",
        *(f"    {line}" for line in body),
        "}",
        "",
    ]
    return "\n".join([c_functions({s.function for s in listing.statements}), *lines])


def _signs(listing: Listing) -> list[tuple[str, str]]:
    """Each sign that is used, and what gives it: a bit of the branch's index."""
    last, symbols = listing.signs - 1, set(listing.symbols)
    signs = ((f"s{i}", f"1 - 2 * (branch >> {last - i} & 1)") for i in range(listing.signs))
    return [(symbol, value) for symbol, value in signs if symbol in symbols]
