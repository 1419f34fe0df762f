"""Prescribed motions as the compiled kernel computes them."""

from __future__ import annotations

import numpy as np

from regularize.dynamics.compiled_functions import CompiledMotion, MotionCalledBack, bits
from regularize.dynamics.expression import Expression
from regularize.dynamics.prescribed import CheckedMotion, Drives, Prescribed, Spline
from regularize.lie.screw import Array

#: Forms of motions, as in ``drives.c``.
FORMS = ("expression", "table", "function")


def drive_numbers(drives: Drives) -> tuple[Array, list[MotionCalledBack]]:
    """Drives as ``drives.c`` reads them, and the Python functions among them.

    Expressions and tables need no Python; compiled functions are called by their addresses.
    """
    called: list[MotionCalledBack] = []
    result = [np.array([len(drives)], dtype=np.float64)]
    places = zip(drives.motions, drives.velocities, drives.positions, strict=True)
    for motion, velocity, position in places:
        form, numbers = _form(motion, called)
        result += [np.array([velocity, position, FORMS.index(form), len(numbers)], float), numbers]
    return np.concatenate(result), called


def _form(motion: Prescribed, called: list[MotionCalledBack]) -> tuple[str, Array]:
    """The form of a motion, and its numbers."""
    found = motion.found if isinstance(motion, CheckedMotion) else motion
    if isinstance(found, Expression) and (numbers := found.numbers()) is not None:
        return "expression", np.array(numbers)
    if isinstance(found, Spline):
        return "table", np.concatenate([found.curve.x, found.curve.c.ravel()])
    if isinstance(found, CompiledMotion):
        address = found.address
    else:
        called.append(MotionCalledBack(motion))
        address = called[-1].address
    return "function", bits(address)
