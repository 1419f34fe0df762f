"""Operations with several results: solutions of equations, directions, rotations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.closed_form.tape import (
    PROBES,
    VANISHING,
    Operation,
    Probe,
    Scalar,
    Tape,
)

#: Coefficients that vanish at random inputs come with this multiple of the rounding of one term.
FREE = 1e5


def circle(
    tape: Tape, A: Scalar, B: Scalar, C: Scalar, sign: Scalar, slack: float
) -> tuple[Scalar, Scalar, Scalar]:
    """Cosine, sine and discriminant of the solutions of A cos + B sin + C = 0.

    A discriminant that is negative by rounding (``slack`` in units of C) counts as zero; where all
    coefficients do, zero is the angle.
    """
    free = np.maximum(np.abs(A.probe), np.abs(B.probe)) <= FREE * slack
    square = np.where(free, 1.0, A.probe**2 + B.probe**2)
    discriminant = np.where(free, 0.0, square - C.probe**2)
    root = sign.probe * np.sqrt(discriminant)
    results = (
        np.where(free, 1.0, (-A.probe * C.probe - B.probe * root) / square),
        np.where(free, 0.0, (-B.probe * C.probe + A.probe * root) / square),
        discriminant,
    )
    c, s, d = tape.several("circle", (A, B, C, sign), results, slack)
    return c, s, d


def quadratic(
    tape: Tape, A: Scalar, B: Scalar, C: Scalar, sign: Scalar, slack: float
) -> tuple[Scalar, Scalar]:
    """Solution and discriminant of A s² + 2 B s + C = 0; ``slack`` in units of C."""
    discriminant = B.probe**2 - A.probe * C.probe
    results = ((-B.probe + sign.probe * np.sqrt(discriminant)) / A.probe, discriminant)
    s, d = tape.several("quadratic", (A, B, C, sign), results, slack)
    return s, d


def unit(tape: Tape, x: Scalar, y: Scalar, size: Probe, slack: float) -> tuple[Scalar, Scalar]:
    """(x, y) scaled to length one; (1, 0) where both vanish (below ``slack``).

    Args:
        tape: The program.
        x: First component.
        y: Second component.
        size: About the length at the probes, to tell which complex square root is meant.
        slack: Lengths that count as zero.
    """
    for a, b in ((x, y), (y, x)):
        if a.constant == 0.0 and b.constant is not None:
            one = float(np.sign(b.constant))
            return (tape.scalar(one), a) if b is x else (a, tape.scalar(one))
    root = np.sqrt(x.probe**2 + y.probe**2)
    root = np.where(np.abs(root - size) <= np.abs(root + size), root, -root)
    free = np.abs(root) <= VANISHING * np.max(np.abs(root))
    root = np.where(free, 1.0, root)
    results = np.where(free, 1.0, x.probe / root), np.where(free, 0.0, y.probe / root)
    c, s = tape.several("unit", (x, y), results, slack)
    return c, s


def across(tape: Tape, m: Sequence[Scalar], d: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    """Unit vector along m, perpendicular to d but for rounding; any such where m is zero."""
    length = np.sqrt(sum(a.probe**2 for a in m))
    x, y, z = tape.several("across", (*m, *d), tuple(a.probe / length for a in m))
    return x, y, z


def rotation_vector(tape: Tape, R: NDArray[np.object_]) -> tuple[Scalar, Scalar, Scalar]:
    """Rotation vector of a rotation matrix; nothing may be computed from it further."""
    nothing = tape.rng.normal(size=(3, PROBES)).astype(complex)
    x, y, z = tape.several("rotation_vector", R.ravel().tolist(), tuple(nothing))
    return x, y, z


def exponential(tape: Tape, twist: Sequence[Scalar]) -> list[Scalar]:
    """Rotation matrix by rows, then translation, of the exponential of a twist (v, w)."""
    probes = np.stack(np.broadcast_arrays(*(x.probe for x in twist)), axis=-1)
    v, w = probes[..., :3], probes[..., 3:]
    x = np.sqrt(np.sum(w * w, axis=-1))[..., None]
    factors = np.sin(x) / x, (1 - np.cos(x)) / x**2, (x - np.sin(x)) / x**3
    columns = []
    for e in np.eye(3):
        once = np.cross(w, e)
        columns.append(e + factors[0] * once + factors[1] * np.cross(w, once))
    once = np.cross(w, v)
    shift = v + factors[1] * once + factors[2] * np.cross(w, once)
    entries = [columns[k][..., i] for i in range(3) for k in range(3)]
    entries += [shift[..., i] for i in range(3)]
    return [*tape.several("exponential", twist, tuple(entries))]


def angle(tape: Tape, c: Scalar, s: Scalar, offset: float) -> Scalar:
    """atan2(s, c) - offset between -pi and pi; nothing may be computed from it further."""
    constant = c.constant, s.constant
    if constant[0] is not None and constant[1] is not None:
        value = np.arctan2(constant[1], constant[0]) - offset
        return tape.scalar(float(np.arctan2(np.sin(value), np.cos(value))))
    probe = np.arctan2(s.probe.real, c.probe.real) + tape.rng.normal(size=PROBES)
    operation = Operation("angle", (s.index, c.index))
    if offset:
        operation = Operation("angle_from", (s.index, c.index), float(offset))
    return tape.enter(operation, probe.astype(complex))
