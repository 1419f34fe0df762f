r"""Closure of a loop of six elementary motions: error, derivative, Newton's method, certificate.

.. math:: M_1(x_1)\, C_1\, M_2(x_2)\, C_2 \dots M_6(x_6)\, C_6 = I

with turns about and slides along z, constant motions C and lengths in units of the size of the
loop. The error is F = (p, r), where p is the translation of the product and r the vector of the
skew part of its rotation; near the identity it vanishes only where the loop is closed.

The certificate is the theorem of Newton and Kantorovich (Ortega and Rheinboldt 1970, 12.6.2): with
:math:`\|F'(x)^{-1}\| \le a`, :math:`\|F'(x)^{-1} F(x)\| \le b` and
:math:`\|F''\| \le k` there is exactly one zero within :math:`(1 + \sqrt{1 - 2h})/(k a)`
if :math:`h = a b k \le 1/2`. The bound k holds everywhere: a second derivative of the rotation is a
product of generators of rotations, of norm one at most, and one of the translation no longer than
the levers of the loop, the sum L of all its lengths; with translations and slides divided by L,
:math:`k = 6 \sqrt 2` for six variables. What is not proved is the arithmetic: rounding of the
evaluation is taken into account by an allowance in F, not by intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.modes.six_motions.pencil import elementary
from regularize.tolerances import EXACT, ROUNDING

#: Longest step of Newton's method, in radians and sizes of the loop: a longer one leaves the place.
STRIDE = 0.5


@dataclass(frozen=True, eq=False)
class Closed:
    """Configurations of a loop with their certificates.

    Attributes:
        x: The six variables, shape (K, 6).
        error: Largest entry of the product of all motions less the identity, the translation in
            units of the size of the loop or of the longest slide, shape (K,).
        h: The number of Kantorovich; a proof where it is at most one half, shape (K,).
        radius: Radius of uniqueness in the Euclidean norm of x, shape (K,).
    """

    x: Array
    error: Array
    h: Array
    radius: Array


def product(kinds: str, C: Array, x: Array) -> tuple[Array, Array, Array]:
    """The whole motion (K, 4, 4), and directions and points of the six axes, each (K, 6, 3)."""
    T = np.broadcast_to(np.eye(4), (len(x), 4, 4))
    axes, points = np.zeros((2, len(x), 6, 3))
    for i, kind in enumerate(kinds):
        axes[:, i], points[:, i] = T[:, :3, 2], T[:, :3, 3]
        T = T @ elementary(kind, x[:, i]) @ C[:, i]
    return T, axes, points


def screws_of(kinds: str, C: Array, x: Array) -> Array:
    """Screws of the six motions at configurations, one column each, shape (K, 6, 6)."""
    _, axes, points = product(kinds, C, x)
    turning = np.array([kind == "R" for kind in kinds])[:, None]
    linear = np.where(turning, screw.cross(points, axes), axes)
    return np.swapaxes(np.concatenate([linear, axes * turning], axis=-1), 1, 2)


def error_and_derivative(kinds: str, C: Array, x: Array) -> tuple[Array, Array, Array]:
    """F of shape (K, 6), its derivative (K, 6, 6), and largest entry of the product less one."""
    T, axes, points = product(kinds, C, x)
    R, p = T[:, :3, :3], T[:, :3, 3]
    skew = 0.5 * (R - np.swapaxes(R, 1, 2))
    F = np.concatenate([p, np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], -1)], axis=1)
    turning = np.array([kind == "R" for kind in kinds])
    w = axes * turning[:, None]
    v = np.where(turning[:, None], screw.cross(axes, p[:, None] - points), axes)
    trace = np.trace(R, axis1=1, axis2=2)[:, None, None]
    rotation = 0.5 * (trace * np.eye(3) - R) @ np.swapaxes(w, 1, 2)
    derivative = np.concatenate([np.swapaxes(v, 1, 2), rotation], axis=1)
    return F, derivative, np.max(np.abs(T - np.eye(4)), axis=(1, 2))


def newton(kinds: str, C: Array, x: Array, steps: int = 15) -> Array:
    """Newton's method from all starting points at once, shape (K, 6)."""
    x = np.array(x)
    active = np.arange(len(x))
    for _ in range(steps):
        F, derivative, _ = error_and_derivative(kinds, C[active], x[active])
        step = -(np.linalg.pinv(derivative, rcond=10 * ROUNDING) @ F[..., None])[..., 0]
        length = np.max(np.abs(step), axis=1)
        x[active] += step * np.minimum(1.0, STRIDE / np.maximum(length, STRIDE))[:, None]
        active = active[length > 0.1 * EXACT.closed]
        if not len(active):
            break
    return x


def certified(kinds: str, C: Array, x: Array) -> Closed:
    """Errors and certificates of configurations, shape (K, 6)."""
    F, derivative, error = error_and_derivative(kinds, C, x)
    sliding = np.array([kind == "P" for kind in kinds])
    slides = np.abs(x[:, sliding])
    error = error / np.maximum(1.0, slides.max(axis=1, initial=0.0))
    # Within a ball of one unit every slide is longer by one unit L at most.
    length = np.linalg.norm(C[..., :3, 3], axis=-1).sum(axis=1) + slides.sum(axis=1)
    length = np.maximum(1.0, length)[:, None]
    wide = (1.0 + sliding.sum()) * length
    F = np.concatenate([F[:, :3] / wide, F[:, 3:]], axis=1)
    derivative = np.concatenate([derivative[:, :3] / wide[..., None], derivative[:, 3:]], axis=1)
    derivative = np.where(sliding, derivative * wide[..., None], derivative)
    k = 6.0 * np.sqrt(2.0)
    smallest = np.linalg.svd(derivative, compute_uv=False)[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        a = 1.0 / smallest
        b = a * (np.linalg.norm(F, axis=1) + ROUNDING)
        h = a * b * k
        radius = (1.0 + np.sqrt(np.maximum(0.0, 1.0 - 2.0 * h))) / (k * a)
    good = np.isfinite(h) & (h <= 0.5)
    return Closed(x, error, np.where(good, h, np.inf), np.where(good, np.minimum(radius, 1.0), 0.0))
