"""Steps between configurations of a tree: as ``pinocchio.integrate`` and ``difference`` make them.

A tangent step of a ball, a plane or a free body is a twist in its own frame, linear part first, and
its coordinates end in a unit quaternion x y z w, or a cosine and a sine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.kernel.machine import MovingPart
from regularize.kernel.posing import GROUPS
from regularize.lie import screw
from regularize.lie.screw import Array

#: Which coordinate of a part is one where it is at zero.
_ONE = {"circle": 0, "ball": 3, "free": 6, "plane": 2}


@dataclass(frozen=True, eq=False, repr=False)
class _Alike:
    """Parts of a kind with several coordinates.

    Attributes:
        kind: Their kind.
        places: Indices of their coordinates in q, shape (G, c).
        rates: Indices of their velocities in v, shape (G, f).
    """

    kind: str
    places: NDArray[np.intp]
    rates: NDArray[np.intp]


class ConfigurationSpace:
    """The configurations of a tree.

    Args:
        parts: Its elementary motions.
        nq: Length of configurations.
        nv: Length of velocities.
    """

    def __init__(self, parts: Sequence[MovingPart], nq: int, nv: int) -> None:
        """Tell plain coordinates from others."""
        self._nq, self._nv, kinds = nq, nv, [*_ONE]
        own = [part for part in parts if not part.follows]
        plain = [part for part in own if part.kind not in kinds]
        self._places: NDArray[np.intp] = np.array([p.coordinate for p in plain], dtype=np.intp)
        self._rates: NDArray[np.intp] = np.array([p.rate for p in plain], dtype=np.intp)
        self._others = []
        for kind in kinds:
            alike = [part for part in own if part.kind == kind]
            if alike:
                places = [p.coordinate + np.arange(p.coordinates) for p in alike]
                rates = [p.rate + np.arange(p.freedoms) for p in alike]
                self._others.append(_Alike(kind, np.array(places), np.array(rates)))

    @property
    def flat(self) -> bool:
        """Whether every velocity is the rate of a coordinate."""
        return not self._others

    @property
    def neutral(self) -> Array:
        """The configuration in which all joints are at zero, shape (nq,)."""
        q = np.zeros(self._nq)
        for alike in self._others:
            q[alike.places[:, _ONE[alike.kind]]] = 1.0
        return q

    def integrate(self, q: Array, step: Array) -> Array:
        """Where a tangent step (nv,) leads from a configuration, shape (nq,)."""
        result = np.array(q, dtype=np.float64)
        result[self._places] += step[self._rates]
        for alike in self._others:
            own = q[alike.places], step[alike.rates]
            result[alike.places] = _STEPPED[alike.kind](*own)
        return result

    def difference(self, start: Array, end: Array) -> Array:
        """The tangent steps that lead from a configuration to others, shape (..., nv).

        Args:
            start: Shape (nq,).
            end: Shape (..., nq).
        """
        result = np.zeros((*end.shape[:-1], self._nv))
        result[..., self._rates] = end[..., self._places] - start[self._places]
        for alike in self._others:
            own = start[alike.places], end[..., alike.places]
            result[..., alike.rates] = _BETWEEN[alike.kind](*own)
        return result

    def velocity_by_step(self, step: Array) -> Array:
        r"""Velocities by rates of a tangent step at its end, shape (nv, nv).

        Source: of a twist x, :math:`J(x) = \sum_k (-\mathrm{ad}_x)^k / (k + 1)!` (Iserles and
        others, Lie-group methods, Acta Numerica 2000, section 2), found by halves:
        :math:`J(2 x) = (I + \exp(-\mathrm{ad}_x)) \, J(x) / 2`.
        """
        result = np.eye(self._nv)
        for alike in self._others:
            if alike.kind == "circle":
                continue
            group, rates = GROUPS[alike.kind], alike.rates
            if alike.kind == "ball":
                result[rates[:, :, None], rates[:, None, :]] = _spin_by_step(step[rates])
                continue
            twists, unit = step[rates] @ group.T, np.eye(group.shape[1])
            halvings = max(0, 3 + math.frexp(float(np.abs(twists[:, 3:]).max()))[1])
            minus = group.T @ screw.ad(twists / -(2.0**halvings)) @ group
            total = unit
            for k in range(11, 1, -1):  # the rest is rounding
                total = unit + minus @ total / k
            turned = unit + minus @ total
            for _ in range(halvings):
                total, turned = 0.5 * (unit + turned) @ total, turned @ turned
            result[rates[:, :, None], rates[:, None, :]] = total
        return result


def _turned(q: Array, step: Array) -> Array:
    """Cosines and sines (..., 2) after turns (..., 1)."""
    c, s = np.cos(step), np.sin(step)
    x, y = q[..., :1], q[..., 1:]
    found = np.concatenate([x * c - y * s, y * c + x * s], axis=-1)
    return np.asarray(found / np.hypot(found[..., :1], found[..., 1:]))


def _spun(q: Array, w: Array) -> Array:
    """Unit quaternions (G, 4) that rotation vectors (G, 3) follow."""
    (x, y, z, s), half = q.T, 0.5 * np.sqrt((w * w).sum(axis=1))
    some = np.where(half > 0.0, half, 1.0)
    a, b, c = (np.where(half > 0.0, 0.5 * np.sin(half) / some, 0.5)[:, None] * w).T
    e = np.cos(half)
    found = np.array(
        [
            s * a + e * x + y * c - z * b,
            s * b + e * y + z * a - x * c,
            s * c + e * z + x * b - y * a,
            s * e - x * a - y * b - z * c,
        ]
    )
    return np.asarray(found / np.sqrt((found * found).sum(axis=0))).T


def _spin_by_step(w: Array) -> Array:
    """Angular velocities of balls by rates of rotation vectors (G, 3), shape (G, 3, 3)."""
    square = (w * w).sum(axis=1)[:, None, None]
    small, W = square < 1e-6, screw.cross_matrix(w)
    some = np.where(small, 1.0, square)
    angle = np.sqrt(some)
    second = np.where(small, 0.5 - square / 24, (1.0 - np.cos(angle)) / some)
    third = np.where(small, 1 / 6 - square / 120, (1.0 - np.sin(angle) / angle) / some)
    return np.asarray(np.eye(3) - second * W + third * (W @ W))


def _moved(q: Array, step: Array) -> Array:
    """Coordinates of free bodies (..., 7) after twists (..., 6)."""
    travelled = screw.exp(step)[..., :3, 3, None]
    place = q[..., :3] + (screw.rotation_of(q[..., 3:]) @ travelled)[..., 0]
    turned = _spun(q[..., 3:], step[..., 3:])
    # Of both quaternions of a rotation the nearer one.
    near = (turned * q[..., 3:]).sum(axis=-1, keepdims=True) >= 0.0
    return np.concatenate([place, np.where(near, turned, -turned)], axis=-1)


def _slid(q: Array, step: Array) -> Array:
    """Coordinates of planar motions (..., 4) after steps (..., 3)."""
    travelled = screw.exp(step @ GROUPS["plane"].T)
    x, y, c, s = travelled[..., 0, 3], travelled[..., 1, 3], q[..., 2], q[..., 3]
    place = q[..., :2] + np.stack([c * x - s * y, s * x + c * y], axis=-1)
    return np.concatenate([place, _turned(q[..., 2:], step[..., 2:])], axis=-1)


def _angle(start: Array, end: Array) -> Array:
    """Angles between cosines and sines (..., 2), shape (..., 1)."""
    c, s, x, y = start[..., :1], start[..., 1:], end[..., :1], end[..., 1:]
    return np.asarray(np.arctan2(c * y - s * x, c * x + s * y))


def _rotation_vector(start: Array, end: Array) -> Array:
    """Rotation vectors between unit quaternions (..., 4), at most half a turn, shape (..., 3)."""
    one, two = start[..., :3], end[..., :3]
    vector = start[..., 3:] * two - end[..., 3:] * one - screw.cross(one, two)
    scalar = (end * start).sum(axis=-1, keepdims=True)
    size = np.sqrt((vector * vector).sum(axis=-1, keepdims=True))
    angle = 2.0 * np.arctan2(size, np.abs(scalar))
    factor = np.where(size > 0.0, angle / np.where(size > 0.0, size, 1.0), 2.0)
    return np.asarray(np.where(scalar < 0.0, -factor, factor) * vector)


def _twist(start: Array, end: Array) -> Array:
    """Twists between coordinates of free bodies (..., 7), shape (..., 6)."""
    w, back = _rotation_vector(start[..., 3:], end[..., 3:]), screw.rotation_of(start[..., 3:])
    travelled = (end[..., :3] - start[..., :3])[..., None, :] @ back
    v = screw.inverse_left_jacobian(w) @ np.swapaxes(travelled, -1, -2)
    return np.concatenate([v[..., 0], w], axis=-1)


def _planar_step(start: Array, end: Array) -> Array:
    """Steps between coordinates of planar motions (..., 4), shape (..., 3)."""
    (x, y), c, s = np.moveaxis((end - start)[..., :2], -1, 0), start[..., 2], start[..., 3]
    angle, zero = _angle(start[..., 2:], end[..., 2:]), np.zeros(np.shape(x))
    travelled = np.stack([c * x + s * y, c * y - s * x, zero], axis=-1)
    w = np.concatenate([np.zeros((*np.shape(x), 2)), angle], axis=-1)
    v = (screw.inverse_left_jacobian(w) @ travelled[..., None])[..., 0]
    return np.concatenate([v[..., :2], angle], axis=-1)


_STEPPED = {"circle": _turned, "ball": _spun, "free": _moved, "plane": _slid}
_BETWEEN = {"circle": _angle, "ball": _rotation_vector, "free": _twist, "plane": _planar_step}
