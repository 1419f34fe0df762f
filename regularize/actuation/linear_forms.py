"""Polynomials of maps in the forms of robot descriptions: MJCF equalities, URDF mimic joints."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

import numpy as np

from regularize.actuation.ways import Fit
from regularize.errors import ModelError
from regularize.lie.screw import Array

#: Degree of MuJoCo's polynomials of joints.
QUARTIC = 4


def single(fit: Fit, joint: int, names: tuple[str, str]) -> Array:
    """Coefficients of a joint by powers of its only motor, at most five, the constant one first.

    Raises:
        ModelError: The polynomial is of a higher degree.
    """
    weights = fit.weights[:, joint]
    found = np.polynomial.Polynomial(weights)(
        np.polynomial.Polynomial([-fit.center[0] / fit.scale[0], 1.0 / fit.scale[0]])
    )
    coefficients = np.atleast_1d(found.coef)
    if len(coefficients) > QUARTIC + 1:
        raise ModelError(
            f"{names[1]} by {names[0]} is a polynomial of degree {len(coefficients) - 1}, and MJCF "
            f"holds degree {QUARTIC}; ask for a larger tolerance, or narrow the motors' limits"
        )
    return np.asarray(np.pad(coefficients, (0, QUARTIC + 1 - len(coefficients))))


def linear(fit: Fit, joint: int, motors: Sequence[str], name: str) -> tuple[float, Array]:
    """Offset and multipliers of a joint by its motors.

    Raises:
        ModelError: The polynomial is not linear.
    """
    degree = max(sum(p) for p in fit.powers)
    if degree > 1:
        raise ModelError(
            f"{name} by {', '.join(motors)} is a polynomial of degree {degree}, which is not "
            "linear; ask for a larger tolerance, or narrow the motors' limits"
        )
    table = {p: float(w) for p, w in zip(fit.powers, fit.weights[:, joint], strict=True)}
    units = [tuple(int(i == j) for i in range(len(motors))) for j in range(len(motors))]
    slopes = np.array([table.get(unit, 0.0) for unit in units]) / fit.scale
    offset = table.get((0,) * len(motors), 0.0) - float(slopes @ fit.center)
    return offset, np.asarray(slopes)


def plain(names: Sequence[str], form: str) -> None:
    """Refuse single coordinates of joints with several, which the form cannot name."""
    for name in names:
        if name.endswith("]"):
            raise ModelError(f"{form} names whole joints: {name!r} is one coordinate of several")


def mjcf(fit: Fit, motors: Sequence[str], joints: Sequence[str]) -> tuple[list[str], list[str]]:
    """Elements for MJCF's ``<tendon>`` and ``<equality>`` that hold joints to motors."""
    plain([*motors, *joints], "MJCF")
    tendons, rows = list[str](), list[str]()
    for i, name in enumerate(joints):
        if len(motors) == 1:
            numbers = _numbers(single(fit, i, (motors[0], name)))
            pair = f"joint1={quoteattr(name)} joint2={quoteattr(motors[0])}"
            rows.append(f'<joint {pair} polycoef="{numbers}"/>')
            continue
        offset, slopes = linear(fit, i, motors, name)
        own = quoteattr(f"{name}_of_motors")
        parts = [(name, 1.0), *zip(motors, (-slopes).tolist(), strict=True)]
        terms = "".join(f"<joint joint={quoteattr(n)} coef={_quoted(c)}/>" for n, c in parts)
        tendons.append(f"<fixed name={own}>{terms}</fixed>")
        rows.append(f'<tendon tendon1={own} polycoef="{_numbers([offset, 0, 0, 0, 0])}"/>')
    return tendons, rows


def urdf(fit: Fit, motors: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    """Elements ``<mimic>`` for URDF, by the joint that they belong to."""
    plain([*motors, *joints], "URDF")
    if len(motors) != 1:
        raise ModelError(
            f"a URDF mimic joint follows one other; {', '.join(joints)} follow {', '.join(motors)}"
        )
    found = {}
    for i, name in enumerate(joints):
        offset, (slope,) = linear(fit, i, motors, name)
        told = f"multiplier={_quoted(float(slope))} offset={_quoted(offset)}"
        found[name] = f"<mimic joint={quoteattr(motors[0])} {told}/>"
    return found


def _quoted(value: float) -> str:
    return f'"{float(value)!r}"'


def _numbers(values: Sequence[float] | Array) -> str:
    return " ".join(repr(float(x)) for x in values)
