"""Prescribed motions of joints over time, and the coordinates of a model that they fix."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.simulation.compiled_functions import (
    CompiledMotion,
    MotionCalledBack,
    compiled_or_python,
)
from regularize.dynamics.tape.derivatives import Rule, derivatives
from regularize.dynamics.tape.program import ON_NUMBERS, Number, Program, Recording, evaluate
from regularize.errors import ModelError
from regularize.lie.arrays import Array, Configuration, Indices, Mask

if TYPE_CHECKING:
    from scipy import LowLevelCallable
    from scipy.interpolate import CubicSpline

    from regularize.dynamics.pinocchio.robot import Robot

#: Functions that expressions may use, and the operations that they are.
FUNCTIONS = {
    name: name
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log")
}
FUNCTIONS |= {"sqrt": "root", "abs": "absolute"}
_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
#: All operations on a stack, in the order of their codes in ``drives.c``.
OPERATIONS = ("constant", "variable", *_OPERATORS.values(), "negative", *FUNCTIONS.values(), "sign")
#: Derivatives of functions at t.
_SLOPES = {
    "tan": "1/cos(t)**2",
    "asin": "(1 - t**2)**-0.5",
    "acos": "-(1 - t**2)**-0.5",
    "atan": "1/(1 + t**2)",
    "sinh": "cosh(t)",
    "cosh": "sinh(t)",
    "tanh": "1 - tanh(t)**2",
    "exp": "exp(t)",
    "log": "1/t",
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
#: Values that the stack of ``drives.c`` holds.
DEEPEST = 32


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression of the time, as a program of value, rate and acceleration."""

    text: str
    program: Program

    @classmethod
    def of(cls, text: str, time: Number, value: Number) -> Expression:
        """Make an expression of a value, with its derivatives."""
        results = [value]
        for _ in range(2):
            results.append(derivatives(results[-1:], [time], _RULES)[0][0])
        return cls(text, Program((time,), tuple(results)))

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return value, rate and acceleration at a time, or refuse where there are none."""
        functions = {**ON_NUMBERS, "root": math.sqrt}
        try:
            values = evaluate(self.program.lines, {"t": float(t)}, functions)
        except (ArithmeticError, ValueError) as error:
            raise ModelError(
                f"{self.text!r} has no value or no rates at t = {t:g}: {error}"
            ) from error
        value, rate, acceleration = (values[x.index] for x in self.program.results)
        return value, rate, acceleration

    def numbers(self) -> list[float] | None:
        """Return lengths and codes of the stack programs; None where they are too deep for C."""
        lengths: list[float] = []
        codes: list[float] = []
        for result in self.program.results:
            depth, before = 0, len(codes)
            for x in _on_stack(result):
                depth += 1 - len(x.arguments)
                if depth > DEEPEST:
                    return None
                codes.append(float(OPERATIONS.index(x.operation)))
                codes += [x.constant] if x.constant is not None else []
            lengths.append(float(len(codes) - before))
        return lengths + codes


def _on_stack(x: Number) -> Iterator[Number]:
    """Yield the stack operations that compute a number."""
    for i in x.arguments:
        yield from _on_stack(x.recording.numbers[i])
    yield x


def _power(a: Number, b: Number) -> Number:
    """Return a to the power b."""
    return a if b.constant == 1.0 else a.recording.function("power", a, b)


def _power_rate(x: Number, arguments: Sequence[Number], rates: Sequence[Number]) -> Number:
    (a, b), (da, db) = arguments, rates
    if db.constant == 0.0:
        return b * _power(a, b - 1.0) * da
    return x * (db * a.recording.function("log", a) + b * (da / a))


def _slope_rule(name: str) -> Rule:
    body = _body(_SLOPES[name])
    return lambda x, arguments, rates: _term(body, name, arguments[0]) * rates[0]


def parse(text: str) -> Expression:
    """Return an expression from numbers, ``t``, ``pi``, ``e``, operators and functions."""
    time = Recording().variable("t")
    return Expression.of(text, time, _term(_body(text), text, time))


def _body(text: str) -> ast.expr:
    """Return the syntax tree of an expression's text."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ModelError(f"{text!r} is no arithmetic expression of the time t") from error


def _term(node: ast.expr, text: str, time: Number) -> Number:
    """Return the number of a part of an expression, with some number as the time."""
    recording = time.recording
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return recording.number(node.value)
    if isinstance(node, ast.Name) and node.id in ("t", "time"):
        return time
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return recording.number(_CONSTANTS[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        a, b = (_term(part, text, time) for part in (node.left, node.right))
        name = _OPERATORS[type(node.op)]
        return _power(a, b) if name == "power" else getattr(recording, name)(a, b)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        part = _term(node.operand, text, time)
        return -part if isinstance(node.op, ast.USub) else part
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and not node.keywords
        and node.func.id in FUNCTIONS
        and len(node.args) == 1
    ):
        return recording.function(FUNCTIONS[node.func.id], _term(node.args[0], text, time))
    raise ModelError(
        f"{ast.unparse(node)!r} in {text!r} is not understood; known are numbers, the time t, "
        f"pi, e, + - * / ** and {', '.join(FUNCTIONS)}"
    )


_RULES: dict[str, Rule] = {name: _slope_rule(name) for name in _SLOPES}
_RULES["power"] = _power_rate
_RULES["absolute"] = lambda x, arguments, rates: (
    x.recording.function("sign", arguments[0]) * rates[0]
)


#: A prescribed motion: time to position, velocity and acceleration.
PrescribedMotion: TypeAlias = Callable[[float], tuple[float, float, float]]
#: What a user may write for one: a value, an expression of the time t, a function of the time that
#: returns the position, or the position, its rate and its acceleration, or a table of times and
#: positions, through which a cubic spline goes; functions may be compiled ones.
Drive: TypeAlias = (
    "float | str | Callable[[float], Any] | tuple[ArrayLike, ArrayLike] | LowLevelCallable"
)

#: Forms of motions, as in ``drives.c``.
FORMS = ("expression", "table", "function")
#: Distance in seconds of the values that a function without rates is differentiated by: with seven
#: of them truncation and rounding are about 1e-9 of the acceleration.
SPACING = 1e-3
#: Largest position and rate of a drive in rad, m and their rates: beyond it, it is a slip.
FASTEST = 1e6
#: Weights of these values in the first two derivatives (Fornberg 1988, table 1).
FIRST = np.array([-1 / 60, 3 / 20, -3 / 4, 0, 3 / 4, -3 / 20, 1 / 60])
SECOND = np.array([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90])


def prescribed(joint: str, motion: Drive, duration: float) -> PrescribedMotion:
    """Return the prescribed motion that a user's value describes, checked over the duration."""
    what = f"the motion of joint {joint!r}"
    written = compiled_or_python(motion, what, CompiledMotion)
    if isinstance(written, str):
        function: PrescribedMotion = parse(written)
    elif isinstance(written, CompiledMotion):
        function = written
    elif callable(written):
        function = _differentiated(written)
    elif isinstance(written, tuple):
        function = _spline(joint, written, duration)
    else:
        function = parse(repr(float(written)))
    checked = CheckedMotion(joint, function)
    for t in np.linspace(0.0, duration, 101).tolist():
        checked(t)
    return checked


@dataclass(frozen=True, eq=False, repr=False)
class CheckedMotion:
    """A prescribed motion whose values are refused where they make no sense."""

    joint: str
    function: PrescribedMotion

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return position, rate and acceleration at a time."""
        values = self.function(t)
        if len(values) != 3 or not np.all(np.isfinite(values)):
            raise ModelError(
                f"the motion of joint {self.joint!r} has to be three finite numbers, position, "
                f"rate and acceleration, got {values} at {t:g} s"
            )
        if max(abs(values[0]), abs(values[1])) > FASTEST:
            raise ModelError(
                f"joint {self.joint!r} would be driven to {values[0]:g} rad or m at "
                f"{values[1]:g} per second at {t:g} s, which no machine does"
            )
        return values


def _differentiated(motion: Callable[[float], Any]) -> PrescribedMotion:
    """Return a motion with rates: its own, or central differences where it returns positions."""

    def with_rates(t: float) -> tuple[float, float, float]:
        value = motion(t)
        if np.ndim(value):
            return tuple(float(x) for x in value)  # type: ignore[return-value]
        around = np.array([float(motion(t + k * SPACING)) for k in range(-3, 4)])
        return float(value), float(FIRST @ around) / SPACING, float(SECOND @ around) / SPACING**2

    return with_rates


@dataclass(frozen=True, eq=False, repr=False)
class Spline:
    """A cubic spline through a table."""

    curve: CubicSpline

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return position, rate and acceleration at a time."""
        return float(self.curve(t)), float(self.curve(t, 1)), float(self.curve(t, 2))


def _spline(joint: str, table: tuple[ArrayLike, ArrayLike], duration: float) -> Spline:
    """Return a cubic spline through a table of times and positions."""
    times, values = (np.array(column, dtype=np.float64) for column in table)
    if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
        raise ModelError(
            f"the motion of joint {joint!r} needs as many times as positions, 2 or more"
        )
    if not (np.all(np.isfinite(values)) and np.all(np.diff(times) > 0.0)):
        raise ModelError(
            f"the motion of joint {joint!r} needs increasing times and finite positions"
        )
    if times[0] > 0.0 or times[-1] < duration:
        raise ModelError(
            f"the motion of joint {joint!r} is given from {times[0]:g} s to {times[-1]:g} s, but "
            f"the simulation goes from 0 s to {duration:g} s"
        )
    from scipy.interpolate import CubicSpline  # takes longer to load than a motion to compute

    return Spline(CubicSpline(times, values))


@dataclass(frozen=True, eq=False, repr=False)
class Drives:
    """Coordinates of a model that follow prescribed motions: their indices in v and in q."""

    names: tuple[str, ...]
    motions: tuple[PrescribedMotion, ...]
    velocities: Indices
    positions: Indices

    @classmethod
    def of(cls, robot: Robot, motions: Mapping[str, PrescribedMotion]) -> Drives:
        """Return the coordinates of the named joints."""
        indices = []
        for name in motions:
            freedoms = robot.reduction.mechanism.joint(name).freedoms
            if freedoms != 1:
                raise ModelError(f"joint {name!r} has {freedoms} freedoms; drive joints with one")
            indices.append(robot.velocity_index(name))
        places = [robot.position_index(index) for index in indices]
        return cls(
            tuple(motions),
            tuple(motions.values()),
            np.array(indices, dtype=np.intp),
            np.array(places, dtype=np.intp),
        )

    def __len__(self) -> int:
        return len(self.names)

    def at(self, t: float) -> Array:
        """Return positions, velocities and accelerations at a time, shape (3, k)."""
        return np.array([motion(t) for motion in self.motions]).reshape(-1, 3).T

    def held(self, robot: Robot) -> Mask:
        """Return which velocities of a robot are prescribed, shape (nv,)."""
        held = np.zeros(robot.nv, dtype=bool)
        held[self.velocities] = True
        return held

    def begun(self, robot: Robot, q: Configuration) -> Configuration:
        """Return the configuration in which the drives begin, reached from a closed one."""
        # Loaded where something is driven.
        from regularize.dynamics.pinocchio.constraints import lead_joints
        from regularize.dynamics.simulation.partitioning import NotIndependent, dependent_rows

        free = robot.split(q).free
        dependent = dependent_rows(free[self.velocities], robot.reduction.rtol)
        if dependent:
            raise NotIndependent([self.names[i] for i in dependent], free.shape[1])
        target = self.at(0.0)[0]
        reached, arrived = lead_joints(robot, q, self.velocities, target - q[self.positions])
        if not arrived:
            listed = [
                ", ".join(f"{n} = {x:.6g}" for n, x in zip(self.names, values, strict=True))
                for values in (target, reached[self.positions])
            ]
            raise ModelError(
                f"the drives begin at {listed[0]}, but the loops let the joints move to "
                f"{listed[1]} only; begin nearer to it: q=..., or change the drive"
            )
        reached[self.positions] = target
        return reached


def drive_numbers(drives: Drives, capsules: list[Any]) -> tuple[Array, list[MotionCalledBack]]:
    """Return drives as ``drives.c`` reads them, and Python functions, added to the ``capsules``."""
    called: list[MotionCalledBack] = []
    result = [float(len(drives))]
    for motion, velocity, position in zip(
        drives.motions, drives.velocities, drives.positions, strict=True
    ):
        function = motion.function if isinstance(motion, CheckedMotion) else motion
        numbers = function.numbers() if isinstance(function, Expression) else None
        form = "expression"
        if isinstance(function, Spline):
            form, numbers = "table", [*function.curve.x, *function.curve.c.ravel()]
        elif numbers is None:
            if isinstance(function, CompiledMotion):
                capsules.append(function.owned)
            else:
                called.append(MotionCalledBack(motion))
                capsules.append(called[-1].owned)
            form, numbers = "function", [float(len(capsules))]
        result += [velocity, position, FORMS.index(form), len(numbers), *numbers]
    return np.array(result, dtype=np.float64), called
