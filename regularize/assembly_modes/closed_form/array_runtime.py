"""The functions of ``runtime`` for arrays: many configurations, all branches as further axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array

Function: TypeAlias = Callable[..., Any]


def _circles(
    A: Array, B: Array, C: Array, sign: Array, slack: float, free_angle: float = 0.0
) -> tuple[Array, ...]:
    square = np.asarray(A * A + B * B)
    C = np.asarray(C, dtype=np.float64)
    discriminant = square - C * C
    touching = bool(np.any(discriminant <= slack * slack))
    if touching:
        free = (square <= slack * slack) & (np.abs(C) <= slack)
        rounding = free | (discriminant <= 0.0) & (-discriminant <= slack * np.abs(C))
        C = np.where(rounding, np.copysign(np.sqrt(square), C), C)
        discriminant = np.where(rounding, 0.0, discriminant)
    root = sign * np.sqrt(discriminant)
    cosine, sine = -(A * C + B * root) / square, (A * root - B * C) / square
    if touching:
        cosine = np.where(free, math.cos(free_angle), cosine)
        sine = np.where(free, math.sin(free_angle), sine)
    return cosine, sine, discriminant


def _quadratics(A: Array, B: Array, C: Array, sign: Array, slack: float) -> tuple[Array, ...]:
    discriminant = B * B - A * C
    rounding = (discriminant < 0.0) & (-discriminant <= slack * A)
    discriminant = np.where(rounding, 0.0, discriminant)
    solution = (sign * np.sqrt(discriminant) - B) / A
    linear = A == 0.0
    if np.any(linear):
        solution = np.where(linear, -0.5 * C / B, solution)
    return solution, discriminant


def _units(x: Array, y: Array, slack: float) -> tuple[Array, Array]:
    length = np.sqrt(x * x + y * y)
    free = length <= slack
    if np.any(free):
        return np.where(free, 1.0, x / length), np.where(free, 0.0, y / length)
    return x / length, y / length


def _across(x: Array, y: Array, z: Array, u: Array, v: Array, w: Array) -> tuple[Array, ...]:
    square, other = x * x + y * y + z * z, u * u + v * v + w * w
    part = np.where(square < other, (x * u + y * v + z * w) / other, 0.0)
    found = [x - part * u, y - part * v, z - part * w]
    vanishing = square <= 1e-28 * other
    if np.any(vanishing & (other > 0.0)):
        size = np.abs(np.broadcast_arrays(u, v, w))
        first = (size[0] <= size[1]) & (size[0] <= size[2])
        second = ~first & (size[1] <= size[2])
        choices = (0.0, w, -v), (-w, 0.0, u), (v, -u, 0.0)
        any_ = [np.where(first, a, np.where(second, b, c)) for a, b, c in choices]
        found = [np.where(vanishing, a, f) for a, f in zip(any_, found, strict=True)]
    length = np.sqrt(found[0] ** 2 + found[1] ** 2 + found[2] ** 2)
    return tuple(f / length for f in found)


def _angles_from(s: Array, c: Array, offset: float) -> Array:
    angle = np.arctan2(s, c) - offset
    return np.asarray(angle - 2 * np.pi * np.round(angle / (2 * np.pi)))


def _exponentials(*twist: Array) -> tuple[Array, ...]:
    T = screw.exp(np.stack(np.broadcast_arrays(*twist), axis=-1))
    return (*(T[..., i, k] for i in range(3) for k in range(3)), *(T[..., i, 3] for i in range(3)))


def _rotation_vectors(*R: Array) -> tuple[Array, Array, Array]:
    entries = np.stack(np.broadcast_arrays(*R), axis=-1)
    shape = entries.shape[:-1]
    matrices = entries.reshape(-1, 3, 3)
    vectors = np.full((len(matrices), 3), np.nan)
    known = np.isfinite(matrices).all(axis=(1, 2))
    if known.any():
        vectors[known] = screw.log_rotation(matrices[known])
    x, y, z = (vectors[:, k].reshape(shape) for k in range(3))
    return x, y, z


def array_functions(free_angle: float) -> dict[str, Function]:
    """Functions of numpy; an angle that any value solves takes the one that is given."""
    return {**ARRAY, "circle": partial(_circles, free_angle=free_angle)}


#: Functions of numpy.
ARRAY: dict[str, Function] = {
    "sin": np.sin,
    "cos": np.cos,
    "angle": np.arctan2,
    "angle_from": _angles_from,
    "circle": _circles,
    "quadratic": _quadratics,
    "unit": _units,
    "across": _across,
    "exponential": _exponentials,
    "rotation_vector": _rotation_vectors,
}
