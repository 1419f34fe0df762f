"""Maps written out as C99 and Python, and as functions of JAX, PyTorch and CasADi.

All have positions both ways, and the files the Jacobian, with the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.output_files import write_text
from regularize.dynamics.tape.derivatives import copied, solved
from regularize.dynamics.tape.languages import ARRAYS, C99, array_functions, casadi_functions
from regularize.dynamics.tape.program import Functions, Number, Recording, evaluate, needed
from regularize.errors import ModelError, RegularizeError
from regularize.escape import in_comment, in_docstring
from regularize.guests.actuation.conversion import ARRIVED
from regularize.guests.actuation.subsystems import SubsystemMap, SubsystemMaps
from regularize.guests.modes.closed_form.codegen import c_name


class Formulas:
    """Formulas of joints by motors, motors by joints, or the Jacobian, of all subsystems.

    Without ``rates`` (None) they are those of the passive joints by the motors.
    ``steps`` are the last ones of Newton's method: nearly zero where these have arrived.
    """

    def __init__(self, m: SubsystemMaps, back: bool, rates: bool | None = False) -> None:
        passive: list[Number] = []
        recording, k = Recording(), len(m.motor_names)
        given = [recording.variable(f"x{i}") for i in range(k)]
        zero = recording.number(0.0)
        found, steps, jacobian = [zero] * k, list[Number](), [[zero] * k for _ in range(k)]
        for drive in m.drives:
            way = drive.backward if back else drive.forward
            if way is None:
                raise ModelError(
                    f"{m!r} comes so near to singularities that no fixed number of steps finds "
                    f"{'motors' if back else 'joints'}: narrow the motors' limits"
                )
            sides = (drive.joints, drive.motors) if back else (drive.motors, drive.joints)
            inputs = {f"x{i}": given[column] for i, column in enumerate(sides[0])}
            numbers = copied([*way.found, *way.parameters, *way.steps], recording, inputs)
            for column, x in zip(sides[1], numbers, strict=False):
                found[column] = x
            k_own, n = len(sides[0]), len(drive.chart.parameters)
            steps += numbers[k_own + n :]
            variables = dict(zip(drive.chart.given, numbers[k_own : k_own + n], strict=True))
            passive += copied([*drive.chart.passive.values()], recording, variables)
            if rates:
                rows = _jacobian_rows(drive, recording, numbers[k_own : k_own + n])
                for joint, row in zip(drive.joints, rows, strict=True):
                    for motor, x in zip(drive.motors, row, strict=False):
                        jacobian[joint][motor] = x
        self.variables, self.steps = given, steps
        self.results = [x for row in jacobian for x in row] if rates else found
        self.results = passive if rates is None else self.results
        self.lines = needed([*self.results, *steps])


def _jacobian_rows(
    drive: SubsystemMap, recording: Recording, parameters: Sequence[Number]
) -> list[list[Number]]:
    """Return rows of the Jacobian G = Q M^-1 of derivatives M, Q of motors and joints."""
    chart, n = drive.chart, len(parameters)
    variables = dict(zip(chart.given, parameters, strict=True))
    M, Q = (
        copied([x for row in chart.first(side) for x in row], recording, variables)
        for side in (chart.side(False), chart.joints)
    )
    transposed = [M[i::n] for i in range(n)]
    inverse = np.linalg.inv(chart.rates(chart.start[None])[0][0].T)
    return [solved(transposed, Q[r * n : r * n + n], inverse) for r in range(len(drive.joints))]


#: Functions of a file: the name, whether it is the way back, and whether it gives the Jacobian.
FUNCTIONS = (("joints", False, False), ("motors", True, False), ("jacobian", False, True))


def written(
    source: Callable[[SubsystemMaps, str], str],
    m: SubsystemMaps,
    path: str | PathLike[str] | None,
    name: str | None,
) -> str:
    """Return generated source; write it to a file where a path is given."""
    text = source(m, name or (Path(path).stem if path is not None else "actuation"))
    if path is not None:
        write_text(Path(path), text)
    return text


def _told(m: SubsystemMaps) -> list[str]:
    """Return the comment lines of a file: names, units and the domain."""
    how = "proved by intervals" if m.proved else "followed numerically, not proved"
    return [
        f"theta: {', '.join(m.motor_names)} (rad, m)",
        f"q: {', '.join(m.joint_names)} (rad, m)",
        f"Domain: {100 * m.share:.4g} % of the motors' range, {how}.",
    ]


def passive_names(m: SubsystemMaps) -> list[str]:
    """Return names of the joints in loops that are neither motors nor joints of the map."""
    return [name for drive in m.drives for name in drive.chart.passive]


def c_source(m: SubsystemMaps, name: str) -> str:
    """Return C99 source; see ``ActuationMap.to_c``."""
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
    if passive := passive_names(m):
        lines.append(f"/* {name}_passive gives {in_comment(', '.join(passive))}. */")
    for what, back, rates in (*FUNCTIONS, *([("passive", False, None)] if passive else [])):
        f = Formulas(m, back, rates)
        given, out = ("q", "theta") if back else ("theta", "J" if rates else "q")
        lines += ["", f"int {name}_{what}(const double *{given}, double *{out})", "{"]
        lines += [f"    const double x{i} = {given}[{i}];" for i in range(k)]
        lines += [f"    (void){x.data};" for x in f.variables]
        lines += [f"    const double {text};" for text in C99.assignments(f.lines)]
        lines += [f"    {out}[{i}] = {C99.name(x)};" for i, x in enumerate(f.results)]
        tests = [f"{name}_inside(theta)"]
        tests += [f"fabs({C99.name(x)}) <= {ARRIVED}" for x in f.steps]
        tests += [f"isfinite({out}[{i}])" for i in range(len(f.results))]
        lines += [
            f"    if ({' && '.join(tests)}) return 0;",
            f"    for (int i = 0; i < {len(f.results)}; i++) {out}[i] = NAN;",
            "    return 1;",
            "}",
        ]
    return "\n".join([*lines, ""])


def python_source(m: SubsystemMaps, _: str) -> str:
    """Return a Python module; see ``ActuationMap.to_python``."""
    k = len(m.motor_names)
    corners = [np.stack([drive.domain.lower, drive.domain.upper]).tolist() for drive in m.drives]
    pairs = zip(corners, m.drives, strict=True)
    boxes = [f"    ({corner!r}, {[*drive.motors]!r})," for corner, drive in pairs]
    lines = [
        '"""A map between motors and joints; arrays of shape (..., k), NaN outside.',
        "",
        *(in_docstring(line) for line in _told(m)),
        '"""',
        "",
        "import numpy as np",
        "from numpy import abs as absolute",
        "from numpy import arctan2 as atan2",
        "from numpy import cos, sin, where",
        "from numpy import sqrt as root",
        "",
        "# Lower and upper corners of boxes, and",
        "# which motors they are of.",
        "BOXES = [",
        *boxes,
        "]",
        "",
        "",
        "def remainder(x, turn):",
        "    return x - turn * np.round(x / turn)",
        "",
        "",
        "def inside(theta):",
        "    good = np.ones(theta.shape[:-1], dtype=bool)",
        "    for (lower, upper), own in BOXES:",
        "        x = theta[..., None, own]",
        "        boxes = (x >= np.array(lower)) & (x <= np.array(upper))",
        "        good &= boxes.all(axis=-1).any(axis=-1)",
        "    return good",
    ]
    for what, back, rates in FUNCTIONS:
        f = Formulas(m, back, rates)
        given, theta = ("q", "found") if back else ("theta", "theta")
        shape = f"found.reshape(*found.shape[:-1], {k}, {k})" if rates else "found"
        stacked = f"np.broadcast_arrays({ARRAYS.listed(f.results)}x0)[:-1]"
        lines += [
            "",
            "",
            f"def {what}({given}):",
            f"    {given} = np.asarray({given}, dtype=float)",
            *(f"    x{i} = {given}[..., {i}]" for i in range(k)),
            '    with np.errstate(all="ignore"):',
            *(f"        {text}" for text in ARRAYS.assignments(f.lines)),
            f"        found = np.stack({stacked}, axis=-1)",
            f"        good = inside({theta}) & np.isfinite(found).all(axis=-1)",
            *(f"        good &= absolute({ARRAYS.name(x)}) <= {ARRIVED}" for x in f.steps),
            "    found = where(good[..., None], found, np.nan)",
            f"    return {shape}",
        ]
    return "\n".join([*lines, ""])


def _braces(box: Any) -> str:
    """Return nested numbers as a C initializer."""
    if np.ndim(box) > 1:
        return "{" + ", ".join(_braces(row) for row in box) + "}"
    return "{" + ", ".join(float(x).hex() if x else "0.0" for x in box) + "}"


def _library(name: str) -> Any:
    """Import a library of arrays, or say how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        module = name.partition(".")[0]
        raise RegularizeError(
            f"a function of {module} needs the Python module {module!r}: pip install {module}"
        ) from error


def _results(m: SubsystemMaps, back: bool, x: Sequence[Any], functions: Functions) -> list[Any]:
    """Return joints of motor entries x (``back``: motors of joints), NaN off the domain."""
    f, zero = Formulas(m, back), 0.0 * x[0]
    both, either, at_most = (functions[name] for name in ("both", "either", "at_most"))
    variables = {f"x{i}": entry for i, entry in enumerate(x)}
    values = evaluate(f.lines, variables, functions)
    values_found = [values[y.index] + zero for y in f.results]
    theta = values_found if back else x
    good = zero == 0.0
    for drive in m.drives:
        inside = zero != zero
        for low, high in zip(drive.domain.lower, drive.domain.upper, strict=True):
            within = zero == 0.0
            for i, a, b in zip(drive.motors, low.tolist(), high.tolist(), strict=True):
                within = both(within, both(at_most(a, theta[i]), at_most(theta[i], b)))
            inside = either(inside, within)
        good = both(good, inside)
    for step in f.steps:
        length = functions["absolute"](values[step.index] + zero)
        good = both(good, at_most(length, ARRIVED))
    return [functions["where"](good, value, zero + np.nan) for value in values_found]


def array_function(m: SubsystemMaps, back: bool, library: str) -> Callable[[Any], Any]:
    """Return a function for arrays of a library; see ``ActuationMap.to_jax`` and ``to_torch``."""
    xp, k = _library(library), len(m.motor_names)
    functions = array_functions(xp)

    def function(x: Any) -> Any:
        return xp.stack(_results(m, back, [x[..., i] for i in range(k)], functions), -1)

    return function


def casadi_function(m: SubsystemMaps, back: bool) -> Any:
    """Return a function for CasADi; see ``ActuationMap.to_casadi``."""
    ca, k = _library("casadi"), len(m.motor_names)
    given, found = ("q", "theta") if back else ("theta", "q")
    x = ca.SX.sym(given, k)
    result = ca.vertcat(*_results(m, back, [x[i] for i in range(k)], casadi_functions()))
    return ca.Function("motors" if back else "joints", [x], [result], [given], [found])
