"""Steps between configurations of a tree: as ``pinocchio.integrate`` and ``difference`` make them.

A tangent step of a ball, a plane or a free body is a twist in its own frame, linear part first, and
its coordinates end in a unit quaternion x y z w, or a cosine and a sine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.kernel.machine import MovingPart
from regularize.kernel.posing import GROUPS, moved
from regularize.lie import screw
from regularize.lie.screw import Array

#: Which coordinate of a part is one where it is at zero.
_ONE = {"circle": 0, "ball": 3, "free": 6, "plane": 2}


class ConfigurationSpace:
    """The configurations of a tree.

    Args:
        parts: Its elementary motions.
        nq: Length of configurations.
        nv: Length of velocities.
    """

    def __init__(self, parts: Sequence[MovingPart], nq: int, nv: int) -> None:
        """Tell plain coordinates from others."""
        own = [part for part in parts if not part.follows]
        plain = [part for part in own if part.coordinates == 1]
        self._places: NDArray[np.intp] = np.array([p.coordinate for p in plain], dtype=np.intp)
        self._rates: NDArray[np.intp] = np.array([p.rate for p in plain], dtype=np.intp)
        self._others = [part for part in own if part.coordinates > 1]
        self._nq, self._nv = nq, nv

    @property
    def flat(self) -> bool:
        """Whether every velocity is the rate of a coordinate."""
        return not self._others

    @property
    def neutral(self) -> Array:
        """The configuration in which all joints are at zero, shape (nq,)."""
        q = np.zeros(self._nq)
        for part in self._others:
            q[part.coordinate + _ONE[part.kind]] = 1.0
        return q

    def integrate(self, q: Array, step: Array) -> Array:
        """Where a tangent step (nv,) leads from a configuration, shape (nq,)."""
        result = np.array(q, dtype=np.float64)
        result[self._places] += step[self._rates]
        for part in self._others:
            mine = slice(part.coordinate, part.coordinate + part.coordinates)
            own = step[part.rate : part.rate + part.freedoms]
            result[mine] = _stepped(part, q[mine], own)
        return result

    def difference(self, start: Array, end: Array) -> Array:
        """The tangent step that leads from one configuration to another, shape (nv,)."""
        result = np.zeros(self._nv)
        result[self._rates] = end[self._places] - start[self._places]
        for part in self._others:
            mine = slice(part.rate, part.rate + part.freedoms)
            if part.kind == "circle":
                c, s = start[part.coordinate :][:2]
                x, y = end[part.coordinate :][:2]
                result[mine] = np.arctan2(c * y - s * x, c * x + s * y)
                continue
            twist = screw.log(screw.inverse(moved(part, start)) @ moved(part, end))
            result[mine] = GROUPS[part.kind].T @ twist
        return result

    def velocity_by_step(self, step: Array) -> Array:
        r"""Velocities by rates of a tangent step at its end, shape (nv, nv).

        Source: of a twist x, :math:`J(x) = \sum_k (-\mathrm{ad}_x)^k / (k + 1)!` (Iserles and
        others, Lie-group methods, Acta Numerica 2000, section 2), found by halves:
        :math:`J(2 x) = (I + \exp(-\mathrm{ad}_x)) \, J(x) / 2`.
        """
        result = np.eye(self._nv)
        for part in self._others:
            if part.kind == "circle":
                continue
            mine, group = slice(part.rate, part.rate + part.freedoms), GROUPS[part.kind]
            twist = group @ step[mine]
            halvings = max(0, math.frexp(float(np.abs(twist[3:]).max()))[1])
            minus, total, term = -screw.ad(twist / 2**halvings), np.eye(6), np.eye(6)
            for k in range(2, 20):  # the rest is rounding
                term = term @ minus / k
                total = total + term
            turned = np.eye(6) + minus @ total
            for _ in range(halvings):
                total, turned = 0.5 * (np.eye(6) + turned) @ total, turned @ turned
            result[mine, mine] = group.T @ total @ group
        return result


def _stepped(part: MovingPart, q: Array, step: Array) -> Array:
    """Coordinates of a part after a tangent step; arguments are its own."""
    if part.kind == "circle":
        return _turned(q, step[0])
    if part.kind == "ball":
        return _spun(q, step)
    travelled = screw.exp(GROUPS[part.kind] @ step)[:3, 3]
    if part.kind == "plane":
        c, s = q[2:]
        x, y = travelled[:2]
        place = [q[0] + c * x - s * y, q[1] + s * x + c * y]
        return np.concatenate([place, _turned(q[2:], step[2])])
    turned = _spun(q[3:], step[3:])
    # Of both quaternions of a rotation the nearer one.
    turned = turned if turned @ q[3:] >= 0.0 else -turned
    return np.concatenate([q[:3] + screw.rotation_of(q[3:]) @ travelled, turned])


def _turned(q: Array, angle: float) -> Array:
    """Cosine and sine after a turn."""
    c, s = np.cos(angle), np.sin(angle)
    found = np.array([q[0] * c - q[1] * s, q[1] * c + q[0] * s])
    return np.asarray(found / np.hypot(*found))


def _spun(q: Array, w: Array) -> Array:
    """The unit quaternion of a rotation that another one by a rotation vector follows."""
    half = 0.5 * float(np.sqrt(w @ w))
    u, c = 0.5 * np.sinc(half / np.pi) * w, np.cos(half)
    vector = q[3] * u + c * q[:3] + screw.cross(q[:3], u)
    found = np.append(vector, q[3] * c - q[:3] @ u)
    return np.asarray(found / np.sqrt(found @ found))
