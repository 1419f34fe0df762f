"""The axes of a loop's motions and the frames on their common normals (Denavit and Hartenberg)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.graph import Edge
from regularize.mechanism.joint import perpendiculars
from regularize.tolerances import EXACT, ROUNDING

#: Entries of links below this (angles, or lengths by the size of the loop) are rounding.
SNAP = 2 * ROUNDING

#: Direction of a common normal of two axes, and its feet on both.
Normal: TypeAlias = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class AxisLine:
    """A motion before its frames are chosen; ``point`` is None while it is free to be chosen."""

    kind: str
    edge: Edge
    columns: tuple[int, ...]
    sign: int
    direction: Array | None
    point: Array | None
    frame: Array
    pitch: float = 0.0
    scale: float = 1.0

    def moved(self, T: Array) -> AxisLine:
        """The same motion seen from frame a, given ``T_a_loop``."""
        return replace(
            self,
            direction=None if self.direction is None else T[:3, :3] @ self.direction,
            point=None if self.point is None else T[:3, :3] @ self.point + T[:3, 3],
            frame=T @ self.frame,
        )


def frames(lines: list[AxisLine], closing: Array, size: float) -> tuple[list[Array], list[Array]]:
    """Frames before and after every motion, from the common normals around the loop."""
    m, back = len(lines), screw.inverse(closing)
    ring = [*lines, lines[0].moved(closing)]
    normals = [_common_normal(ring[i], ring[i + 1], size) for i in range(m)]

    def arriving(i: int) -> Normal | None:
        """The normal that arrives at an axis; at the first one, from the end of the loop."""
        normal = normals[i - 1]
        if i or normal is None:
            return normal
        x, start, foot = normal
        return back[:3, :3] @ x, start, back[:3, :3] @ foot + back[:3, 3]

    # Parallel axes leave the normal free along them: it starts where the one before arrived.
    begin = next((i for i in range(m) if normals[i] is not None), m - 1)
    if normals[begin] is None:
        normals[begin] = _parallel_normal(ring[m - 1], ring[m], ring[m - 1].point, None, size)
    for i in (k % m for k in range(begin + 1, begin + m)):
        if normals[i] is None:
            x, _, foot = arriving(i) or (None, None, None)
            normals[i] = _parallel_normal(ring[i], ring[i + 1], foot, x, size)
    befores, afters = [], []
    for i, line in enumerate(lines):
        into, out = arriving(i), normals[i]
        if line.direction is None or out is None or into is None:
            befores.append(line.frame)
            afters.append(line.frame)
        else:
            befores.append(_frame(line.direction, into[0], into[2]))
            afters.append(_frame(line.direction, out[0], out[1]))
    return befores, afters


def _frame(z: Array, x: Array, origin: Array) -> Array:
    x = screw.unit(x - (x @ z) * z)
    return screw.transform(np.column_stack([x, screw.cross(z, x), z]), origin)


def _common_normal(line: AxisLine, following: AxisLine, size: float) -> Normal | None:
    """Direction of the normal and its feet on both axes; None where the axes are parallel."""
    p, q = line.point, following.point
    if p is None or q is None:
        return None
    u, w = line.direction, following.direction
    if u is None and w is None:
        return _or_any(q - p, None, size), p, q
    if u is None or w is None:
        axis, on, center = (w, q, p) if u is None else (u, p, q)
        assert axis is not None
        foot = on + ((center - on) @ axis) * axis
        offset = foot - center if u is None else center - foot
        if np.linalg.norm(offset) <= SNAP * size:
            return None
        return (offset, p, foot) if u is None else (offset, foot, q)
    normal = screw.cross(u, w)
    square = float(normal @ normal)
    if square <= EXACT.closed**2:
        return None
    gap = q - p
    s, t = (float(screw.cross(gap, other) @ normal) / square for other in (w, u))
    return normal, p + s * u, q + t * w


def _parallel_normal(
    line: AxisLine, following: AxisLine, foot: Array | None, x: Array | None, size: float
) -> Normal:
    """Normal of two parallel axes, or of an axis and a centre on it, that starts at ``foot``."""
    p, q = line.point, following.point
    assert p is not None and q is not None
    axis = line.direction if line.direction is not None else following.direction
    assert axis is not None
    if line.direction is None:
        return _or_any(np.zeros(3), axis, size), p, p
    if following.direction is None:
        return _or_any(np.zeros(3) if x is None else x, axis, size), q, q
    foot = p if foot is None else foot
    other = q + ((foot - q) @ axis) * axis
    gap = other - foot
    if np.linalg.norm(gap) <= SNAP * size:
        return _or_any(np.zeros(3) if x is None else x, axis, size), foot, foot
    return gap, foot, other


def _or_any(x: Array, axis: Array | None, size: float) -> Array:
    """``x`` where it has a length, else any direction across the axis."""
    if np.linalg.norm(x) > SNAP * size:
        return x
    return perpendiculars(np.array([0.0, 0.0, 1.0]) if axis is None else axis)[0]
