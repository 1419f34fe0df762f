"""Solutions written out as Python and C99: the lines of their program, which both languages read.

The functions in ``runtime`` that they call are written out with them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from regularize.assembly_modes.closed_form import runtime
from regularize.assembly_modes.closed_form.branches import branch_words
from regularize.assembly_modes.closed_form.function_names import (
    c_name,
    in_comment,
    in_docstring,
    python_name,
)
from regularize.assembly_modes.closed_form.operation_counts import FUNCTIONS, Operations
from regularize.assembly_modes.closed_form.plan import Plan
from regularize.assembly_modes.closed_form.program import CLOSED, line_of, name_of
from regularize.assembly_modes.closed_form.runtime_c import c_functions, names_used
from regularize.assembly_modes.closed_form.tape import Scalar


@dataclass(frozen=True, eq=False)
class Listing:
    """The solution of a plan for one branch.

    Attributes:
        plan: The plan, which finds every coordinate.
        inputs: Names of the inputs.
        names: Names of the coordinates.
    """

    plan: Plan
    inputs: Sequence[str]
    names: Sequence[str]

    @cached_property
    def program(self) -> list[Scalar]:
        """What is computed, in order."""
        plan = self.plan
        return plan.tape.needed([*self._coordinates, *plan.gaps, *plan.divisors])

    @property
    def operations(self) -> Operations:
        """Number of operations."""
        return Operations.of(self.program)

    def python(self, name: str) -> str:
        """A Python module with one function, which needs only ``math``.

        Raises:
            ModelError: The language does not allow the name, or the source uses it itself.
        """
        used = [n for n in vars(runtime) if not n.startswith("__")]
        name = python_name(name, [*used, "abs", "all", "map"])
        told, given = (in_docstring(", ".join(names)) for names in (self.names, self.inputs))
        body = [line for x in self.program for line in line_of(x)]
        body.append(f"q = ({''.join(f'{name_of(x)}, ' for x in self._coordinates)})")
        holds = ["all(map(math.isfinite, q))"]
        holds += [f"abs({value}) {relation} {CLOSED}" for value, relation in self._checks]
        nothing = f"(NAN,) * {len(self.names)}"
        lines = [
            f"def {name}(x, branch=0):",
            f'    """Coordinates {told}; NaN where the branch cannot be assembled.',
            "",
            f"    x: {given or 'nothing'}.",
            f"    branch: 0 to {2**self.plan.tape.signs - 1}.",
            *(f"        {in_docstring(line)}" for line in branch_words(self.plan.choices)),
            "",
            f"    Operations: {self.operations}.",
            '    """',
            *(f"    x{i} = x[{i}]" for i in range(len(self.inputs))),
            *(f"    {symbol} = {value}" for symbol, value in self._signs),
            "    try:  # at some inputs formulas divide by zero",
            *(f"        {line}" for line in body),
            "    except ZeroDivisionError:",
            f"        return {nothing}",
            f"    return q if {' and '.join(holds)} else {nothing}",
        ]
        return "\n".join([inspect.getsource(runtime), "", *lines, ""])

    def c(self, name: str) -> str:
        """C99 source with one public function, which needs only ``math.h``; errors alike."""
        name, count = c_name(name, names_used()), len(self.names)
        body = [f"const double x{i} = x[{i}];" for i in range(len(self.inputs))]
        body += [f"const double {symbol} = {value};" for symbol, value in self._signs]
        body += [] if self.inputs else ["(void)x;"]
        body += [] if self._signs else ["(void)branch;"]
        for x in self.program:
            results = FUNCTIONS.get(x.operation.name, (1,))[0]
            for line in line_of(x):
                if results > 1:  # the array for them is the last argument
                    variable, call = line.split(" = ")
                    body += [f"double {variable}[{results}];", f"{call[:-1]}, {variable});"]
                else:
                    body.append(f"const double {line};")
        body += [f"q[{i}] = {name_of(x)};" for i, x in enumerate(self._coordinates)]
        for value, relation in self._checks:
            body += [f"if (!(fabs({value}) {relation} {CLOSED}))", "    return 0;"]
        body += [f"for (int i = 0; i < {count}; i++)", "    if (!isfinite(q[i]))"]
        body += ["        return 0;", "return 1;"]
        lines = [
            f"/* x: {in_comment(', '.join(self.inputs)) or 'nothing'}",
            f"   branch: 0 to {2**self.plan.tape.signs - 1}",
            *(f"      {in_comment(line)}" for line in branch_words(self.plan.choices)),
            f"   q: {in_comment(', '.join(self.names))}",
            f"   Operations: {self.operations}.",
            "   Returns 1 where the branch can be assembled, else 0. */",
            f"int {name}(const double *x, int branch, double *q)",
            "{",
            *(f"    {line}" for line in body),
            "}",
            "",
        ]
        return "\n".join([c_functions({x.operation.name for x in self.program}), *lines])

    @property
    def _coordinates(self) -> list[Scalar]:
        return [self.plan.known.coordinates[c] for c in range(len(self.names))]

    @property
    def _checks(self) -> list[tuple[str, str]]:
        """Closure errors that have to vanish, and divisors that must not."""
        checks = [(name_of(gap), "<=") for gap in self.plan.gaps]
        return checks + [(name_of(divisor), ">") for divisor in self.plan.divisors]

    @property
    def _signs(self) -> list[tuple[str, str]]:
        """Each sign that is used, and what gives it: a bit of the branch's index."""
        last = self.plan.tape.signs - 1
        used = [int(x.operation.data or 0) for x in self.program if x.operation.name == "sign"]
        return [(f"s{i}", f"1 - 2 * (branch >> {last - i} & 1)") for i in used]
