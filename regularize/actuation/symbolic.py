"""Maps as functions of JAX, PyTorch and CasADi: the same lines, with their operations."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from regularize.actuation.drive import Subsystems
from regularize.actuation.formulas import Program, compiled
from regularize.actuation.source import Formulas
from regularize.actuation.ways import ARRIVED
from regularize.errors import RegularizeError
from regularize.modes.closed_form.elementary import ARRAYS

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


def _of_arrays(
    m: Subsystems, back: bool, xp: Any, functions: dict[str, Any]
) -> Callable[[Any], Any]:
    """A function for arrays whose library has ``where``, ``stack`` and comparisons."""
    program, k = _program(m, back, functions, False), len(m.motor_names)
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


def jax_function(m: Subsystems, back: bool) -> Callable[[Any], Any]:
    """See ``ActuationMap.to_jax``."""
    jnp = _library("jax.numpy")
    functions = {"atan2": jnp.arctan2, "abs": jnp.abs, "cos": jnp.cos, "sin": jnp.sin}
    functions |= {"sqrt": jnp.sqrt, "where": jnp.where}
    functions["remainder"] = lambda x, turn: x - turn * jnp.round(x / turn)
    return _of_arrays(m, back, jnp, functions)


def torch_function(m: Subsystems, back: bool) -> Callable[[Any], Any]:
    """See ``ActuationMap.to_torch``."""
    torch = _library("torch")
    functions = {"atan2": torch.atan2, "abs": abs, "cos": torch.cos, "sin": torch.sin}
    functions |= {"sqrt": torch.sqrt, "where": torch.where}
    functions["remainder"] = lambda x, turn: x - turn * torch.round(x / turn)
    return _of_arrays(m, back, torch, functions)


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
