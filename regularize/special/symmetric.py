"""Loops of six hinges that move for a symmetry or right angles: exact axes near measured ones.

Bricard (1897) found three kinds that move. Of the *line-symmetric* ones a half turn takes each
hinge to the opposite one. Of the *plane-symmetric* ones a reflection maps two pairs of hinges, and
two opposite hinges lie in its plane. In the *trihedral* one neighbouring axes are at right angles,
and the common normals of each with its neighbours meet on it. That such a loop moves is not taken
from here: it is for the curve of its motion to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from regularize.lie.screw import Array, cross, cross_matrix
from regularize.proofs.dual_quaternions import Dual, Exact, exact_line, exact_vector, line_of


def symmetric(
    axes: Sequence[Array], within: float, rounding: float
) -> Iterator[tuple[str, list[Dual]]]:
    """Kinds of Bricard's loops that a loop may be, with exact axes."""
    if len(axes) != 6:
        return
    half_turn = [(0, 3), (1, 4), (2, 5)]
    lines = _mapped(axes, half_turn, (), 1, within, rounding)
    if lines is not None:
        yield "line-symmetric Bricard", lines
    for a in range(3):
        pairs = [(a + 1, (a - 1) % 6), (a + 2, (a - 2) % 6)]
        lines = _mapped(axes, pairs, (a, a + 3), -1, within, rounding)
        if lines is not None:
            yield "plane-symmetric Bricard", lines
    lines = _trihedral(axes, within, rounding)
    if lines is not None:
        yield "trihedral Bricard", lines


def _mapped(
    axes: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    inside: Sequence[int],
    sign: int,
    within: float,
    rounding: float,
) -> list[Dual] | None:
    """Axes that a half turn (1) or a reflection (-1) maps on each other, some on themselves.

    With n along the axis, or normal to the plane, it takes x to s (2 n n.x / n.n - x) + t.
    """
    directions = np.array([axis[3:] for axis in axes])
    points = np.array([np.cross(axis[3:], axis[:3]) for axis in axes])
    for senses in product((1.0, -1.0), repeat=len(pairs)):
        images = zip(senses, pairs, strict=True)
        normal_to = [directions[i] - sign * s * directions[j] for s, (i, j) in images]
        n = np.linalg.svd(np.array([*normal_to, *directions[list(inside)]]))[2][2]
        R = sign * (2.0 * np.outer(n, n) - np.eye(3))
        # A half turn shifts points across its axis, a reflection along its normal.
        free = np.eye(3) - np.outer(n, n) if sign > 0 else np.outer(n, n)
        both = [*pairs, *((i, i) for i in inside)]
        rows = np.vstack([cross_matrix(directions[j]) @ free for _, j in both])
        right = [cross(directions[j], points[j] - R @ points[i]) for i, j in both]
        t = free @ np.linalg.lstsq(rows, np.concatenate(right), rcond=None)[0]
        off = [np.abs(cross(directions[j], R @ directions[i])).max() for i, j in both]
        off += [np.abs(rows @ t - np.concatenate(right)).max()]
        if max(off) <= within:
            return _exactly_mapped(axes, (n, t), pairs, inside, sign, rounding)
    return None


def _exactly_mapped(
    axes: Sequence[Array],
    map_: tuple[Array, Array],
    pairs: Sequence[tuple[int, int]],
    inside: Sequence[int],
    sign: int,
    rounding: float,
) -> list[Dual]:
    n = exact_vector(map_[0] / np.abs(map_[0]).max(), rounding)
    size = n @ n
    t = exact_vector(map_[1], rounding)
    along = t @ n / size * n
    # Rounded, it is again across the axis, or along the normal.
    t = t - along if sign > 0 else along

    def image(x: Exact) -> Exact:
        return np.asarray(sign * (2 * (n @ x) / size * n - x))

    found: dict[int, Dual] = {}
    for i, j in pairs:
        found[i] = exact_line(axes[i], rounding)
        w = image(found[i][1:4])
        # Moments are axial: a reflection turns them round.
        found[j] = line_of(w, sign * image(found[i][5:]) + np.cross(t, w))
    for i in inside:
        line = exact_line(axes[i], rounding)
        w, v = line[1:4], line[5:]
        point = np.cross(w, v) / (w @ w)
        w = w - w @ n / size * n
        point = point - (n @ point - n @ t / 2) / size * n
        found[i] = line_of(w, np.cross(point, w))
    return [found[i] for i in range(len(axes))]


def _trihedral(axes: Sequence[Array], within: float, rounding: float) -> list[Dual] | None:
    """Axes at right angles, each through the point in which three planes in a row meet.

    The plane of an axis is the one across it that holds the common normals to its neighbours.
    """
    directions = np.array([axis[3:] for axis in axes])
    points = np.array([np.cross(axis[3:], axis[:3]) for axis in axes])
    heights = []
    for i in range(6):
        u, ways = directions[i], []
        for j in (i - 1, (i + 1) % 6):
            normal = np.cross(u, directions[j])
            if abs(u @ directions[j]) > within:
                return None
            # The foot of the common normal, as a way along the axis.
            ways.append(np.cross(points[j] - points[i], directions[j]) @ normal)
        if abs(ways[0] - ways[1]) > within:
            return None
        heights.append(u @ points[i] + ways[0])
    n: dict[int, Exact] = {i: exact_vector(directions[i], rounding) for i in (0, 2, 4)}
    n |= {i: np.cross(n[i - 1], n[(i + 1) % 6]) for i in (1, 3, 5)}
    rough = np.array([n[i] for i in range(6)], dtype=float)
    senses = np.sign(np.sum(rough * directions, axis=1))
    h = exact_vector(heights * np.linalg.norm(rough, axis=1) * senses, rounding)
    found = []
    for i in range(6):
        point = _meeting([(n[j % 6], h[j % 6]) for j in (i - 1, i, i + 1)])
        if point is None:
            return None
        found.append(line_of(n[i], np.cross(point, n[i])))
    return found


def _meeting(planes: Sequence[tuple[Exact, Fraction]]) -> Exact | None:
    """The point x with n.x = h for three planes."""
    (a, d), (b, e), (c, f) = planes
    volume = a @ np.cross(b, c)
    if not volume:
        return None
    return np.asarray((d * np.cross(b, c) + e * np.cross(c, a) + f * np.cross(a, b)) / volume)
