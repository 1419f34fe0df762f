"""Maps written out as C99, Python and ROS 2, and as functions of JAX, PyTorch and CasADi.

All have positions both ways, and the files the Jacobian, with the domain. A package of ROS 2 is a
transmission of ros2_control, and a node for passive joints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from regularize.dynamics.tape.derivatives import copied, solved
from regularize.dynamics.tape.languages import ARRAYS, C99, array_functions, casadi_functions
from regularize.dynamics.tape.program import Functions, Number, Recording, evaluate, needed
from regularize.errors import ModelError, RegularizeError
from regularize.escape import in_comment, in_docstring
from regularize.guests.actuation.conversion import ARRIVED
from regularize.guests.actuation.subsystems import SubsystemMap, SubsystemMaps
from regularize.guests.modes.closed_form.codegen import c_name
from regularize.output_files import write_all, write_file

TEMPLATES = Path(__file__).with_name("templates")
#: Files of the package by their templates; NAME is that of the package.
FILES = {
    "header.h.in": "include/NAME/NAME.h",
    "transmission.cpp.in": "src/transmission.cpp",
    "passive_joints.cpp.in": "src/passive_joints.cpp",
    **{f"{name}.in": name for name in ("CMakeLists.txt", "package.xml", "plugins.xml")},
    "ros2_control.xml.in": "ros2_control.xml",
}


class Formulas:
    """Formulas of joints, motors, Jacobian, or (``rates`` None) passive joints, and last steps."""

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
        write_file(Path(path), text)
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


def filled(template: str, words: Mapping[str, str]) -> str:
    """Return a template with each name between two @ replaced by its words."""
    text = (TEMPLATES / template).read_text("utf-8")
    return re.sub(r"@(\w+)@", lambda found: words[found[1]], text)


def python_source(m: SubsystemMaps, _: str) -> str:
    """Return a Python module; see ``ActuationMap.to_python``."""
    k = len(m.motor_names)
    corners = [np.stack([drive.domain.lower, drive.domain.upper]).tolist() for drive in m.drives]
    pairs = zip(corners, m.drives, strict=True)
    boxes = "\n".join(f"    ({corner!r}, {[*drive.motors]!r})," for corner, drive in pairs)
    told = "\n".join(in_docstring(line) for line in _told(m))
    text = filled("map.py.in", {"told": told, "boxes": boxes})
    for what, back, rates in FUNCTIONS:
        f = Formulas(m, back, rates)
        given, theta = ("q", "found") if back else ("theta", "theta")
        steps = (f"absolute({ARRAYS.name(x)}) <= {ARRIVED}" for x in f.steps)
        words = {
            "name": what,
            "given": given,
            "theta": theta,
            "inputs": "\n".join(f"    x{i} = {given}[..., {i}]" for i in range(k)),
            "formulas": "".join(f"        {line}\n" for line in ARRAYS.assignments(f.lines)),
            "stacked": f"np.broadcast_arrays({ARRAYS.listed(f.results)}x0)[:-1]",
            "arrived": "".join(f"        good &= {step}\n" for step in steps),
            "result": f"found.reshape(*found.shape[:-1], {k}, {k})" if rates else "found",
        }
        text += filled("function.py.in", words)
    return text


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


def write_package(m: SubsystemMaps, folder: Path) -> list[Path]:
    """Write a package into a folder, whose name it gets; return its files.

    Raises:
        ModelError: The name is none of a package, or the map has no formulas to write out.
    """
    name = folder.resolve().name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ModelError(
            f"a package of ROS 2 is called by small letters, digits and _, not {name!r}: name "
            "another folder"
        )
    passive = passive_names(m)
    ends = [
        f'  <{tag} name={quoteattr(each)} role="{tag}{i}"/>'
        for tag, names in (("actuator", m.motor_names), ("joint", m.joint_names))
        for i, each in enumerate(names, start=1)
    ]
    words = {
        "name": name,
        "count": str(len(m.motor_names)),
        "motors": _strings(m.motor_names),
        "joints": _strings(m.joint_names),
        "motor_list": in_comment(escape(", ".join(m.motor_names))),
        "joint_list": in_comment(escape(", ".join(m.joint_names))),
        "effort": _doubles(m.effort),
        "speed": _doubles(m.speed),
        "passive": _strings(passive),
        "passive_count": str(len(passive)),
        "passive_declaration": "",
        "passive_call": "false",
        "transmission": "\n".join(ends),
    }
    if passive:
        words["passive_declaration"] = f"int {name}_passive(const double *theta, double *values);"
        words["passive_call"] = f"{name}_passive(theta, &out_.position[MOTORS.size()]) != 0"
    texts = {f"src/{name}.c": c_source(m, name)}
    for template, file in FILES.items():
        texts[file.replace("NAME", name)] = filled(template, words)
    write_all({folder / file: text for file, text in texts.items()})
    return [folder / file for file in texts]


def _strings(names: Sequence[str]) -> str:
    """Return names as strings of C++."""
    quoted = (name.replace("\\", "\\\\").replace('"', '\\"') for name in names)
    return ", ".join(f'"{name}"' for name in quoted)


def _doubles(values: Sequence[float] | np.ndarray) -> str:
    """Return numbers of C++."""
    return ", ".join(repr(float(x)) if np.isfinite(x) else "HUGE_VAL" for x in values)
