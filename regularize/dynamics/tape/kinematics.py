"""The dynamics of a tree with closed loops as a program, as in ``kinematics.c`` and ``step.c``.

The ground is turned so that the first axis is z there: of what moves in a plane nothing else is
left of vectors than what is in the plane, and folds away.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import factorial

import numpy as np

from regularize.dynamics.step.multibody import (
    Cluster,
    Link,
    MultibodyTree,
    Row,
    clusters_of,
    frame_about,
    rows_of,
    way_up,
)
from regularize.dynamics.tape.program import Number, Recording
from regularize.dynamics.tape.vectors import (
    Vector,
    cross,
    dot,
    minus,
    plus,
    product,
    quaternion,
    rotate,
    times,
    turned,
)
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array
from regularize.lie.curve import TERMS, Curve
from regularize.tolerances import TINY

#: Entries of symmetric matrices.
_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
#: Entries of poses that differ from a whole number by no more are that number.
WHOLE = 2e-15


def whole(values: Array) -> Array:
    """Return numbers, those within rounding of a whole number replaced by it."""
    near = np.rint(values)
    return np.where(np.abs(values - near) <= WHOLE, near, values)


class TracedTree:
    """A tree's tables as constants of a program, with the first axis on the ground as z."""

    def __init__(self, recording: Recording, tree: MultibodyTree) -> None:
        self.recording, self.tree = recording, tree
        _, sections = tree.sections()
        self.parent = [int(x) for x in sections["parent"]]
        self.column = [int(x) for x in sections["column"]]
        self.rate = [int(x) for x in sections["rate"]]
        self.own = [bool(x) for x in sections["own"]]
        self.ratio = [float(x) for x in sections["ratio"]]
        self.links = len(self.parent)
        self.zero, self.one = recording.number(0.0), recording.number(1.0)
        poses = np.asarray(sections["placement"]).reshape(-1, 4, 3).copy()
        axis = next((poses[b, :3, 2] for b in range(1, self.links) if not self.parent[b]), None)
        turn = np.eye(3) if axis is None else _onto_z(axis)
        on_ground = np.array(self.parent) == 0
        on_ground[0] = False
        poses[on_ground] = _turned_poses(turn, poses[on_ground])
        self.rotation = whole(poses[:, :3])
        self.place = _clean(poses[:, 3])
        self.inertia = np.asarray(sections["inertia"]).reshape(-1, 10)
        self.armature = np.asarray(sections["armature"])
        self.gravity = whole(turn @ np.asarray(tree.gravity))
        frames = []
        for name in ("first", "second"):
            frame = np.asarray(sections[f"{name}_frame"]).reshape(-1, 4, 3).copy()
            on_ground = np.array(sections[name], dtype=int) == 0
            frame[on_ground] = _turned_poses(turn, frame[on_ground])
            frame[:, :3], frame[:, 3] = whole(frame[:, :3]), _clean(frame[:, 3])
            frames.append(frame)
        self.first_frame, self.second_frame = frames
        self.row_point = np.asarray(sections["row_point"]).reshape(-1, 3).copy()
        self.covector = np.asarray(sections["covector"]).reshape(-1, 6).copy()
        self.row = [int(x) for x in sections["row"]]
        for i, loop in enumerate(tree.loops):
            if loop.first == 0:
                self.row_point[i] = turn @ self.row_point[i]
                its_rows = slice(self.row[i], self.row[i + 1])
                self.covector[its_rows] = (
                    self.covector[its_rows].reshape(-1, 2, 3) @ turn.T
                ).reshape(-1, 6)
        self.covector, self.row_point = _clean(self.covector), _clean(self.row_point)

    def numbers(self, values: Array) -> Vector:
        """Return constants."""
        return [self.recording.number(float(x)) for x in np.ravel(values)]

    @cached_property
    def rows(self) -> list[Row]:
        """All rows: of loops, of couplings, and of links that follow others."""
        return rows_of(self.tree)

    @cached_property
    def clusters(self) -> list[Cluster]:
        """Links that loops couple, from the leaves inwards."""
        return clusters_of(self.tree, self.rows)


def _clean(values: Array) -> Array:
    """Return numbers, those that are rounding beside the largest one replaced by zero."""
    return np.where(np.abs(values) <= WHOLE * np.max(np.abs(values), initial=0.0), 0.0, values)


def _turned_poses(turn: Array, poses: Array) -> Array:
    """Return poses (n, 4, 3) in turned axes."""
    result = poses.copy()
    result[:, :3] = turn @ poses[:, :3]
    result[:, 3] = poses[:, 3] @ turn.T
    return result


def _onto_z(axis: Array) -> Array:
    """Return a rotation that maps an axis onto z."""
    return np.asarray(whole(frame_about(axis / np.linalg.norm(axis))[:3, :3].T))


class PlacedLinks:
    """Rotations R and origins p of all links, arms from the parents, and motions."""

    def __init__(self, tables: TracedTree, q: Sequence[Number]) -> None:
        self.tables, self.q = tables, q
        zero = tables.zero
        self.R: list[Vector] = [tables.numbers(np.eye(3))]
        self.p: list[Vector] = [[zero] * 3]
        self.arm: list[Vector] = [[zero] * 3]
        self.motion: list[Vector] = []
        for b, link in enumerate(tables.tree.links, start=1):
            parent, x = tables.parent[b], q[link.coordinate : link.coordinate + link.coordinates]
            arm = rotate(self.R[parent], tables.numbers(tables.place[b]))
            placed = self._placed(b)
            R, columns = placed, list[Vector]()
            none = [zero] * 3
            if link.kind in ("revolute", "continuous"):
                value, c, s = self._angle(link, x)
                if _turns_about_z(tables.rotation[b]) and link.kind == "revolute":
                    placed = self.R[parent]
                    turn = float(np.arctan2(tables.rotation[b][1, 0], tables.rotation[b][0, 0]))
                    c, s = (
                        tables.recording.function(name, value + turn) for name in ("cos", "sin")
                    )
                R = turned(placed, c, s)
                axis = R[2::3]
                along = times(link.pitch, axis)
                columns = [[*along, *axis]]
                if link.pitch:
                    arm = plus(arm, times(value, along))
            elif link.kind == "prismatic":
                axis = placed[2::3]
                columns = [[*axis, *none]]
                arm = plus(arm, times(x[0] * link.scaling + link.offset, axis))
            elif link.kind == "spherical":
                R = product(placed, quaternion(x))
                columns = [[*none, *R[i::3]] for i in range(3)]
            elif link.kind == "free":
                arm = plus(arm, rotate(placed, x[:3]))
                R = product(placed, quaternion(x[3:]))
                columns = [[*R[i::3], *none] for i in range(3)]
                columns += [[*none, *R[i::3]] for i in range(3)]
            else:
                arm = plus(arm, rotate(placed, [x[0], x[1], zero]))
                R = turned(placed, x[2], x[3])
                columns = [[*R[i::3], *none] for i in range(2)] + [[*none, *R[2::3]]]
            self.R.append(R)
            self.arm.append(arm)
            self.p.append(plus(self.p[parent], arm))
            self.motion += columns

    def _placed(self, b: int) -> Vector:
        """Return the rotation of a link before its own motion."""
        tables, fixed = self.tables, self.tables.rotation[b]
        if np.array_equal(fixed, np.eye(3)):
            return self.R[tables.parent[b]]
        return product(self.R[tables.parent[b]], tables.numbers(fixed))

    def _angle(self, link: Link, x: Sequence[Number]) -> tuple[Number, Number, Number]:
        """Return value, cosine and sine of a turning link."""
        recording, scaling, offset = self.tables.recording, link.scaling, link.offset
        if link.kind == "continuous":
            if scaling == 1.0 and offset == 0.0 and not link.pitch:
                return self.tables.zero, x[0], x[1]
            value = recording.function("atan2", x[1], x[0]) * scaling + offset
        else:
            value = x[0] * scaling + offset
        return value, recording.function("cos", value), recording.function("sin", value)

    def point(self, b: int, place: Array) -> Vector:
        """Return the position of a point of a link."""
        return plus(self.p[b], rotate(self.R[b], self.tables.numbers(place)))

    def covectors(self, i: int) -> list[Vector]:
        """Return the covectors of a closure's rows in ground axes."""
        R, tables = self.R[self.tables.tree.loops[i].first], self.tables
        return [
            [*rotate(R, tables.numbers(w[:3])), *rotate(R, tables.numbers(w[3:]))]
            for w in tables.covector[tables.row[i] : tables.row[i + 1]]
        ]

    def row_entries(self, i: int) -> dict[int, Vector]:
        """Return a closure's rows on columns: for each column one entry per row."""
        tables, loop = self.tables, self.tables.tree.loops[i]
        x, rows = self.point(loop.first, tables.row_point[i]), self.covectors(i)
        result: dict[int, Vector] = {}
        second, first = (set(way_up(tables.tree, b, 0)) for b in (loop.second, loop.first))
        for chain, other_chain, sign in ((second, first, 1.0), (first, second, -1.0)):
            for b in sorted(chain - other_chain):
                for k in range(tables.column[b], tables.column[b + 1]):
                    S = self.motion[k]
                    lever = (
                        cross(S[3:], minus(x, self.p[b])) if _moves(S[3:]) else [tables.zero] * 3
                    )
                    twist = [*plus(S[:3], lever), *S[3:]]
                    result[k] = [dot(w, twist) * sign for w in rows]
        return result

    def rigid(self, b: int) -> Vector:
        """Return mass, first and second moments of a link about its origin, ground axes, (10,)."""
        tables, R = self.tables, self.R[b]
        inertia = tables.inertia[b]
        if not inertia.any():
            return [tables.zero] * 10
        I = inertia[4:]  # noqa: E741
        full = tables.numbers(np.array([I[0], I[1], I[2], I[1], I[3], I[4], I[2], I[4], I[5]]))
        RI = product(R, full)
        S = [dot(RI[3 * i : 3 * i + 3], R[3 * j : 3 * j + 3]) for i, j in _UPPER]
        return [tables.recording.number(inertia[0]), *rotate(R, tables.numbers(inertia[1:4])), *S]

    def rows_on_velocities(self) -> list[dict[int, Number]]:
        """Return all rows as entries by velocity, without zeros."""
        tables = self.tables
        rows: list[dict[int, Number]] = [{} for _ in range(tables.tree.rows)]
        for i in range(len(tables.tree.loops)):
            for k, entries in self.row_entries(i).items():
                for r, entry in enumerate(entries, start=tables.row[i]):
                    if entry.constant != 0.0:
                        earlier = rows[r].get(tables.rate[k], tables.zero)
                        rows[r][tables.rate[k]] = earlier + entry * tables.ratio[k]
        for r, coupling in enumerate(tables.tree.couplings, start=tables.row[-1]):
            rows[r] = {
                int(j): tables.recording.number(coupling[j]) for j in np.flatnonzero(coupling)
            }
        for (r, j), (_, slope, *_) in self.curves.items():
            rows[r][j] = slope
        return rows

    def coordinate(self, velocity: int) -> Number:
        """Return the coordinate whose rate a velocity is; refuse joints of several coordinates."""
        links = self.tables.tree.links
        link = next(x for x in links if x.rate <= velocity < x.rate + x.freedoms and not x.follows)
        if link.freedoms > 1:
            raise UnsupportedExport("a coupling of joints without single coordinates")
        x = self.q[link.coordinate]
        if link.kind == "continuous":
            return self.tables.recording.function("atan2", self.q[link.coordinate + 1], x)
        return x

    @cached_property
    def curves(self) -> dict[tuple[int, int], Vector]:
        """Value and three derivatives of couplings' functions, by row and velocity."""
        tables, values = self.tables, {}
        for row, velocity, curve in tables.tree.curves:
            x = self.coordinate(velocity)
            values[tables.row[-1] + row, velocity] = [
                _derivative(tables, curve, x, k) for k in range(4)
            ]
        return values


def _derivative(tables: TracedTree, curve: Curve, x: Number, order: int) -> Number:
    """Return a derivative of a curve in pieces, as the first piece plus cubes that begin later."""
    cubes = [0.0, *np.diff([piece[3] for piece in curve.pieces])]
    parts = [(curve.origins[0], curve.pieces[0])]
    parts += [(b, (0.0, 0.0, 0.0, c, 0.0)) for b, c in zip(curve.breaks, cubes[1:], strict=True)]
    total = tables.zero
    for k, (origin, piece) in enumerate(parts):
        d, value = x - origin, tables.zero
        if k:
            ahead = tables.recording.function("maximum", d, tables.zero)
            if order == 3:  # it leaps where a cube begins
                size = tables.recording.function("maximum", abs(d), tables.recording.number(TINY))
                total = total + ahead / size * (6.0 * piece[3])
                continue
            d = ahead
        for power in range(TERMS - 1, order - 1, -1):
            value = value * d + piece[power] * factorial(power) / factorial(power - order)
        total = total + value
    return total


def _moves(a: Sequence[Number]) -> bool:
    """Return whether a vector is not always zero."""
    return not all(x.constant == 0.0 for x in a)


def _turns_about_z(R: Array) -> bool:
    """Return whether a rotation is one about z other than the identity."""
    return bool(R[2, 2] == 1.0 and not np.array_equal(R, np.eye(3)))


def require_known(tree: MultibodyTree) -> None:
    """Raise where rows depend on each other or a joint moves no mass: no order is known then."""
    if not tree.massive or tree.rank != tree.rows:
        raise UnsupportedExport(
            "straight-line code needs independent rows and a tree in which every joint moves mass; "
            "choose the style 'rows', and other cuts where a body behind a cut has no mass"
        )
