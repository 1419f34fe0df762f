"""Maps written out as C99 and as Python: positions both ways and the Jacobian, with the domain.

Maps as functions of JAX, PyTorch and CasADi: the same lines, with their operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.output_files import write_text
from regularize.errors import ModelError, RegularizeError
from regularize.escape import in_comment, in_docstring
from regularize.guests.actuation.drive import Subsystems
from regularize.guests.actuation.formulas import Program, compiled, copied, solved
from regularize.guests.actuation.ways import ARRIVED
from regularize.guests.modes.closed_form.codegen import c_name
from regularize.guests.modes.closed_form.elementary import ARRAYS, C99, Code, Line


@dataclass(frozen=True, eq=False)
class Formulas:
    """All subsystems in one code.

    Attributes:
        given: Variables, ``x0`` …: motors, or joints.
        found: The other side.
        steps: Last steps, nearly zero where they have arrived.
        jacobian: Rows of dq/dtheta.
    """

    given: list[Line]
    found: list[Line]
    steps: list[Line]
    jacobian: list[list[Line]]

    @classmethod
    def of(cls, m: Subsystems, back: bool, rates: bool = False) -> Formulas:
        """Those of the way from motors to joints, or back; with the Jacobian where asked for."""
        code, k = Code(), len(m.motor_names)
        given = [code.variable(f"x{i}") for i in range(k)]
        zero = code.scalar(0.0)
        found, steps, jacobian = [zero] * k, list[Line](), [[zero] * k for _ in range(k)]
        for each in m.drives:
            way = each.backward if back else each.forward
            if way is None:
                raise ModelError(
                    f"{m!r} comes so near to singularities that no fixed number of steps finds "
                    f"{'motors' if back else 'joints'}: narrow the motors' limits"
                )
            own, other = (each.joints, each.motors) if back else (each.motors, each.joints)
            names = {line.name: given[i] for line, i in zip(way.given, own, strict=True)}
            every = copied([*way.found, *way.parameters, *way.steps], code, names)
            n = len(each.chart.parameters)
            for place, line in zip(other, every, strict=False):
                found[place] = line
            steps += every[len(own) + n :]
            if rates:
                names = dict(zip(each.chart.given, every[len(own) : len(own) + n], strict=True))
                chart = each.chart
                flat = copied([x for r in chart.first(chart.side(False)) for x in r], code, names)
                own_rates = [flat[i * n : i * n + n] for i in range(n)]
                flat = copied([x for r in chart.first(chart.joints) for x in r], code, names)
                turned = [[own_rates[c][r] for c in range(n)] for r in range(n)]
                inverse = np.linalg.inv(each.slopes(chart.start[None])[0][0].T)
                for r, joint in enumerate(each.joints):  # G M = Q, row by row: M^T g = q
                    row = solved(turned, flat[r * n : r * n + n], inverse)
                    for motor, line in zip(each.motors, row, strict=False):
                        jacobian[joint][motor] = line
        return cls(given, found, steps, jacobian)

    def results(self, rates: bool) -> tuple[list[Line], list[Line]]:
        """What a function returns, and all lines that it needs, in order."""
        found = [x for row in self.jacobian for x in row] if rates else self.found
        return found, [*self.given[0].code.needed([*found, *self.steps])]


#: Functions of a file: the name, whether it is the way back, and whether it gives the Jacobian.
FUNCTIONS = (("joints", False, False), ("motors", True, False), ("jacobian", False, True))


def written(
    source: Callable[[Subsystems, str], str],
    m: Subsystems,
    path: str | PathLike[str] | None,
    name: str | None,
) -> str:
    """The source, also in a file where a path is given."""
    text = source(m, name or (Path(path).stem if path is not None else "actuation"))
    if path is not None:
        write_text(Path(path), text)
    return text


def _told(m: Subsystems) -> list[str]:
    """What a file says of itself."""
    how = "proved by intervals" if m.proved else "followed numerically, not proved"
    return [
        f"theta: {', '.join(m.motor_names)} (rad, m)",
        f"q: {', '.join(m.joint_names)} (rad, m)",
        f"Domain: {100 * m.share:.4g} % of the motors' range, {how}.",
    ]


def c_source(m: Subsystems, name: str) -> str:
    """C99 source; see ``ActuationMap.to_c``."""
    name, k = c_name(name), len(m.motor_names)
    lines = ["#include <math.h>", "", *(f"/* {in_comment(line)} */" for line in _told(m))]
    lines += [f"/* {name}_joints, {name}_motors and {name}_jacobian (row by row, dq/dtheta) return"]
    lines += ["   0, or 1 outside of the domain, where all results are NaN. */"]
    for i, each in enumerate(m.drives):
        boxes = np.stack([each.domain.lower, each.domain.upper], axis=1)
        lines.append(
            f"static const double {name}_boxes{i}[{len(boxes)}][2][{len(each.motors)}] = {{"
        )
        lines += [f"    {_braces(box)}," for box in boxes] + ["};"]
    lines += [f"static int {name}_inside(const double *theta)", "{", "    int good, b;"]
    for i, each in enumerate(m.drives):
        tests = [
            f"theta[{c}] >= {name}_boxes{i}[b][0][{j}] && theta[{c}] <= {name}_boxes{i}[b][1][{j}]"
            for j, c in enumerate(each.motors)
        ]
        lines += [
            f"    for (good = 0, b = 0; !good && b < {len(each.domain.lower)}; b++)",
            f"        good = {' && '.join(tests)};",
            "    if (!good) return 0;",
        ]
    lines += ["    return 1;", "}"]
    for what, back, rates in FUNCTIONS:
        f = Formulas.of(m, back, rates)
        results, needed = f.results(rates)
        given, out = ("q", "theta") if back else ("theta", "J" if rates else "q")
        lines += ["", f"int {name}_{what}(const double *{given}, double *{out})", "{"]
        lines += [f"    const double x{i} = {given}[{i}];" for i in range(k)]
        lines += [f"    const double {text};" for x in needed if (text := x.assignment(C99))]
        lines += [f"    {out}[{i}] = {line.name};" for i, line in enumerate(results)]
        tests = [f"{name}_inside(theta)", *(f"fabs({x.name}) <= {ARRIVED}" for x in f.steps)]
        tests += [f"isfinite({out}[{i}])" for i in range(len(results))]
        lines += [f"    if ({' && '.join(tests)}) return 0;"]
        lines += [
            f"    for (int i = 0; i < {len(results)}; i++) {out}[i] = NAN;",
            "    return 1;",
            "}",
        ]
        unused = {f"x{i}" for i in range(k)} - {v for x in needed for v in x.used}
        unused -= {x.name for x in results}
        at = max(
            i for i, line in enumerate(lines) if line.startswith(f"    const double x{k - 1} =")
        )
        lines[at + 1 : at + 1] = [f"    (void){v};" for v in sorted(unused)]
    return "\n".join([*lines, ""])


def python_source(m: Subsystems, _: str) -> str:
    """A Python module; see ``ActuationMap.to_python``."""
    k = len(m.motor_names)
    lines = ['"""A map between motors and joints; arrays of shape (..., k), NaN outside.', ""]
    lines += [in_docstring(line) for line in _told(m)] + ['"""', ""]
    lines += ["import numpy as np", "from numpy import abs, cos, sin, sqrt, where"]
    lines += ["from numpy import arctan2 as atan2", "", "# Lower and upper corners of boxes, and"]
    lines += ["# which motors they are of.", "BOXES = ["]
    for each in m.drives:
        corners = [np.stack([each.domain.lower, each.domain.upper]).tolist(), [*each.motors]]
        lines += [f"    ({corners[0]!r}, {corners[1]!r}),"]
    lines += ["]", "", "", "def remainder(x, turn):", "    return x - turn * np.round(x / turn)"]
    lines += ["", "", "def inside(theta):", "    good = np.ones(theta.shape[:-1], dtype=bool)"]
    lines += ["    for (lower, upper), own in BOXES:", "        x = theta[..., None, own]"]
    lines += ["        boxes = (x >= np.array(lower)) & (x <= np.array(upper))"]
    lines += ["        good &= boxes.all(axis=-1).any(axis=-1)", "    return good"]
    for what, back, rates in FUNCTIONS:
        f = Formulas.of(m, back, rates)
        results, needed = f.results(rates)
        given, found = ("q", "found") if back else ("theta", "theta")
        lines += [
            "",
            "",
            f"def {what}({given}):",
            f"    {given} = np.asarray({given}, dtype=float)",
        ]
        lines += [f"    x{i} = {given}[..., {i}]" for i in range(k)]
        lines += ['    with np.errstate(all="ignore"):']
        lines += [f"        {text}" for x in needed if (text := x.assignment(ARRAYS))]
        names = "".join(f"{x.name}, " for x in results)
        lines += [f"        found = np.stack(np.broadcast_arrays({names}x0)[:-1], axis=-1)"]
        lines += [f"        good = inside({found}) & np.isfinite(found).all(axis=-1)"]
        lines += [f"        good &= abs({x.name}) <= {ARRIVED}" for x in f.steps]
        lines += ["    found = where(good[..., None], found, np.nan)"]
        lines += [
            f"    return found.reshape(*found.shape[:-1], {k}, {k})"
            if rates
            else "    return found"
        ]
    return "\n".join([*lines, ""])


def _braces(box: Any) -> str:
    if np.ndim(box) > 1:
        return "{" + ", ".join(_braces(row) for row in box) + "}"
    return "{" + ", ".join(float(x).hex() if x else "0.0" for x in box) + "}"


#: How CasADi writes what Python's operators do not mean there.
CASADI = {**ARRAYS, "both": "logic_and({}, {})", "either": "logic_or({}, {})"}


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        module = name.partition(".")[0]
        raise RegularizeError(
            f"a function of {module} needs the Python module {module!r}: pip install {module}"
        ) from error


def _program(m: Subsystems, back: bool, functions: dict[str, Any], casadi: bool) -> Program:
    """What is found, and the last steps."""
    f = Formulas.of(m, back)
    names = [line.name for line in f.given]
    return compiled([*f.found, *f.steps], names, CASADI if casadi else ARRAYS, functions)


def array_function(m: Subsystems, back: bool, library: str) -> Callable[[Any], Any]:
    """A function for arrays of a library; see ``ActuationMap.to_jax`` and ``to_torch``."""
    xp, k = _library(library), len(m.motor_names)
    functions = {"atan2": xp.arctan2, "abs": abs, "cos": xp.cos, "sin": xp.sin, "sqrt": xp.sqrt}
    functions["where"] = xp.where
    functions["remainder"] = lambda x, turn: x - turn * xp.round(x / turn)
    program = _program(m, back, functions, False)
    boxes = [(each.domain.lower, each.domain.upper, each.motors) for each in m.drives]

    def function(x: Any) -> Any:
        values = program(*(x[..., i] for i in range(k)))
        zero = 0.0 * x[..., 0]
        found = [value + zero for value in values[:k]]
        theta = found if back else [x[..., i] for i in range(k)]
        good = zero == 0.0
        for lower, upper, own in boxes:
            inside = zero != zero
            for low, high in zip(lower, upper, strict=True):
                within = zero == 0.0
                for i, a, b in zip(own, low.tolist(), high.tolist(), strict=True):
                    within = within & (theta[i] >= a) & (theta[i] <= b)
                inside = inside | within
            good = good & inside
        for step in values[k:]:
            good = good & (abs(step + zero) <= ARRIVED)
        return xp.stack([xp.where(good, value, zero + np.nan) for value in found], -1)

    return function


def casadi_function(m: Subsystems, back: bool) -> Any:
    """See ``ActuationMap.to_casadi``."""
    ca, k = _library("casadi"), len(m.motor_names)
    functions = {"atan2": ca.atan2, "abs": ca.fabs, "cos": ca.cos, "sin": ca.sin, "sqrt": ca.sqrt}
    functions |= {"where": ca.if_else, "logic_and": ca.logic_and, "logic_or": ca.logic_or}
    functions["remainder"] = lambda x, turn: x - turn * ca.floor(x / turn + 0.5)
    given, found = ("q", "theta") if back else ("theta", "q")
    x = ca.SX.sym(given, k)
    values = _program(m, back, functions, True)(*(x[i] for i in range(k)))
    theta = values[:k] if back else [x[i] for i in range(k)]
    good = 1
    for each in m.drives:
        inside = 0
        for low, high in zip(each.domain.lower, each.domain.upper, strict=True):
            within = 1
            for i, a, b in zip(each.motors, low.tolist(), high.tolist(), strict=True):
                within = ca.logic_and(within, ca.logic_and(theta[i] >= a, theta[i] <= b))
            inside = ca.logic_or(inside, within)
        good = ca.logic_and(good, inside)
    for step in values[k:]:
        good = ca.logic_and(good, ca.fabs(step) <= ARRIVED)
    result = ca.vertcat(*(ca.if_else(good, value, np.nan) for value in values[:k]))
    return ca.Function("motors" if back else "joints", [x], [result], [given], [found])
