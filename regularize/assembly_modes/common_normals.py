"""The axes of a loop's motions and the frames on their common normals (Denavit and Hartenberg)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge
from regularize.model.joint import perpendiculars

#: Entries of links below this (angles, or lengths by the size of the loop) are rounding.
ROUNDING = 2e-14


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
    normals: list[tuple[Array, Array, Array] | None] = []
    for i, line in enumerate(lines):
        following = lines[i + 1] if i + 1 < m else lines[0].moved(closing)
        normals.append(_common_normal(line, following, size))
    # Parallel axes leave the normal free along them: it starts where the one before arrived.
    start = next((i for i in range(m) if normals[i] is not None), None)
    if start is None:
        start, line = m - 1, lines[m - 1]
        following = lines[0].moved(closing)
        normals[start] = _parallel_normal(line, following, line.point, None, size)
    for k in range(1, m):
        i = (start + k) % m
        if normals[i] is not None:
            continue
        x, _, foot = normals[i - 1] or (None, None, None)
        if i == 0 and x is not None and foot is not None:
            x, foot = back[:3, :3] @ x, back[:3, :3] @ foot + back[:3, 3]
        following = lines[i + 1] if i + 1 < m else lines[0].moved(closing)
        normals[i] = _parallel_normal(lines[i], following, foot, x, size)
    befores, afters = [], []
    for i, line in enumerate(lines):
        out, into = normals[i], normals[i - 1]
        if line.direction is None or out is None or into is None:
            befores.append(line.frame)
            afters.append(line.frame)
            continue
        x, _, foot = into
        if i == 0:
            x, foot = back[:3, :3] @ x, back[:3, :3] @ foot + back[:3, 3]
        befores.append(_frame(line.direction, x, foot))
        afters.append(_frame(line.direction, out[0], out[1]))
    return befores, afters


def _frame(z: Array, x: Array, origin: Array) -> Array:
    x = screw.unit(x - (x @ z) * z)
    return screw.transform(np.column_stack([x, screw.cross(z, x), z]), origin)


def _common_normal(
    line: AxisLine, following: AxisLine, size: float
) -> tuple[Array, Array, Array] | None:
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
        if np.linalg.norm(offset) <= ROUNDING * size:
            return None
        return (offset, p, foot) if u is None else (offset, foot, q)
    normal = screw.cross(u, w)
    square = float(normal @ normal)
    if square <= (1e-12) ** 2:
        return None
    gap = q - p
    s, t = (float(screw.cross(gap, other) @ normal) / square for other in (w, u))
    return normal, p + s * u, q + t * w


def _parallel_normal(
    line: AxisLine, following: AxisLine, foot: Array | None, x: Array | None, size: float
) -> tuple[Array, Array, Array]:
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
    if np.linalg.norm(gap) <= ROUNDING * size:
        return _or_any(np.zeros(3) if x is None else x, axis, size), foot, foot
    return gap, foot, other


def _or_any(x: Array, axis: Array | None, size: float) -> Array:
    """``x`` where it has a length, else any direction across the axis."""
    if np.linalg.norm(x) > ROUNDING * size:
        return x
    return perpendiculars(np.array([0.0, 0.0, 1.0]) if axis is None else axis)[0]
