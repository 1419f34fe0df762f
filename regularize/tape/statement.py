"""The dynamics of a tree with closed loops as a program, as in ``kinematics.c`` and ``step.c``.

The ground is turned so that the first axis is z there: of what moves in a plane nothing else is
left of vectors than what is in the plane, and folds away.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array
from regularize.step.clusters import Cluster, Row, clusters_of, rows_of, unknowns_of
from regularize.step.multibody import Link, MultibodyTree, closing_of, frame_about
from regularize.tape.elimination import Entries, Factors
from regularize.tape.graph import Number, Recording
from regularize.tape.vectors import (
    Vector,
    act,
    carried,
    cross,
    dot,
    matrix_of,
    minus,
    moved_matrix,
    plus,
    product,
    quaternion,
    rotate,
    shifted,
    spin,
    times,
    turned,
)

#: Entries of poses that differ from a whole number by no more are that number.
WHOLE = 2e-15


def whole(values: Array) -> Array:
    """Numbers, where they are whole but for their last digit without that."""
    near = np.rint(values)
    return np.where(np.abs(values - near) <= WHOLE, near, values)


class TracedTree:
    """A tree's tables as constants of a program.

    Args:
        tape: The program.
        tree: The tree.
    """

    def __init__(self, tape: Recording, tree: MultibodyTree) -> None:
        self.tape, self.tree = tape, tree
        _, sections = tree.sections()
        self.parent = [int(x) for x in sections["parent"]]
        self.column = [int(x) for x in sections["column"]]
        self.rate = [int(x) for x in sections["rate"]]
        self.own = [bool(x) for x in sections["own"]]
        self.ratio = [float(x) for x in sections["ratio"]]
        self.links = len(self.parent)
        self.zero, self.one = tape.number(0.0), tape.number(1.0)
        poses = np.asarray(sections["placement"]).reshape(-1, 4, 3)
        axis = next((poses[b, :3, 2] for b in range(1, self.links) if not self.parent[b]), None)
        turn = np.eye(3) if axis is None else _onto_z(axis)
        on_ground = np.array(self.parent) == 0
        on_ground[0] = False
        poses = poses.copy()
        poses[on_ground] = _turned_poses(turn, poses[on_ground])
        self.rotation = whole(poses[:, :3])
        self.place = _clean(poses[:, 3])
        self.inertia = np.asarray(sections["inertia"]).reshape(-1, 10)
        self.armature = np.asarray(sections["armature"])
        self.gravity = whole(turn @ np.asarray(tree.gravity))
        frames = {
            name: np.asarray(sections[name]).reshape(-1, 4, 3).copy()
            for name in ("first_frame", "second_frame")
        }
        self.row_point = np.asarray(sections["row_point"]).reshape(-1, 3).copy()
        self.covector = np.asarray(sections["covector"]).reshape(-1, 6).copy()
        self.row = [int(x) for x in sections["row"]]
        for i, loop in enumerate(tree.loops):
            if loop.first == 0:
                frames["first_frame"][i : i + 1] = _turned_poses(
                    turn, frames["first_frame"][i : i + 1]
                )
                self.row_point[i] = turn @ self.row_point[i]
                these = slice(self.row[i], self.row[i + 1])
                self.covector[these] = (self.covector[these].reshape(-1, 2, 3) @ turn.T).reshape(
                    -1, 6
                )
            if loop.second == 0:
                frames["second_frame"][i : i + 1] = _turned_poses(
                    turn, frames["second_frame"][i : i + 1]
                )
        self.covector, self.row_point = _clean(self.covector), _clean(self.row_point)
        self.first_frame, self.second_frame = frames["first_frame"], frames["second_frame"]
        for poses in frames.values():
            poses[:, :3], poses[:, 3] = whole(poses[:, :3]), _clean(poses[:, 3])

    def numbers(self, values: Array) -> Vector:
        """Constants."""
        return [self.tape.number(float(x)) for x in np.ravel(values)]

    @cached_property
    def rows(self) -> list[Row]:
        """All rows: of loops, of couplings, and of what follows others."""
        return rows_of(self.tree)

    @cached_property
    def clusters(self) -> list[Cluster]:
        """Parts that loops couple, from the leaves inwards."""
        return clusters_of(self.tree, self.rows)


def _clean(values: Array) -> Array:
    """Numbers without those that are rounding beside the largest one."""
    return np.where(np.abs(values) <= WHOLE * np.max(np.abs(values), initial=0.0), 0.0, values)


def _turned_poses(turn: Array, poses: Array) -> Array:
    """Poses (n, 4, 3) in turned axes."""
    result = poses.copy()
    result[:, :3] = turn @ poses[:, :3]
    result[:, 3] = poses[:, 3] @ turn.T
    return result


def _onto_z(axis: Array) -> Array:
    """A rotation that takes an axis onto z."""
    return np.asarray(whole(frame_about(axis / np.linalg.norm(axis))[:3, :3].T))


class PlacedLinks:
    """Where all links are.

    Attributes:
        R: Rotations of the links.
        p: Their origins.
        arm: From the origins of their parents.
        motion: Twist of each column about its link's origin.

    Args:
        of: The tree.
        q: The configuration.
    """

    def __init__(self, of: TracedTree, q: Sequence[Number]) -> None:
        self.of = of
        zero = of.zero
        self.R: list[Vector] = [of.numbers(np.eye(3))]
        self.p: list[Vector] = [[zero] * 3]
        self.arm: list[Vector] = [[zero] * 3]
        self.motion: list[Vector] = []
        for b, link in enumerate(of.tree.links, start=1):
            parent, at = of.parent[b], q[link.coordinate : link.coordinate + link.coordinates]
            arm = rotate(self.R[parent], of.numbers(of.place[b]))
            placed = self._placed(b)
            R, columns = placed, list[Vector]()
            none = [zero] * 3
            if link.kind in ("revolute", "continuous"):
                value, c, s = self._angle(link, at)
                if _turns_about_z(of.rotation[b]) and link.kind == "revolute":
                    placed = self.R[parent]
                    more = float(np.arctan2(of.rotation[b][1, 0], of.rotation[b][0, 0]))
                    c, s = (of.tape.unary(name, value + more) for name in ("cos", "sin"))
                R = turned(placed, c, s)
                axis = R[2::3]
                along = times(link.pitch, axis)
                columns = [[*along, *axis]]
                if link.pitch:
                    arm = plus(arm, times(value, along))
            elif link.kind == "prismatic":
                axis = placed[2::3]
                columns = [[*axis, *none]]
                arm = plus(arm, times(at[0] * link.scaling + link.offset, axis))
            elif link.kind == "spherical":
                R = product(placed, quaternion(at))
                columns = [[*none, *R[i::3]] for i in range(3)]
            elif link.kind == "free":
                arm = plus(arm, rotate(placed, at[:3]))
                R = product(placed, quaternion(at[3:]))
                columns = [[*R[i::3], *none] for i in range(3)]
                columns += [[*none, *R[i::3]] for i in range(3)]
            else:
                arm = plus(arm, rotate(placed, [at[0], at[1], zero]))
                R = turned(placed, at[2], at[3])
                columns = [[*R[i::3], *none] for i in range(2)] + [[*none, *R[2::3]]]
            self.R.append(R)
            self.arm.append(arm)
            self.p.append(plus(self.p[parent], arm))
            self.motion += columns

    def _placed(self, b: int) -> Vector:
        """Rotation of a link's placement."""
        of, fixed = self.of, self.of.rotation[b]
        if np.array_equal(fixed, np.eye(3)):
            return self.R[of.parent[b]]
        return product(self.R[of.parent[b]], of.numbers(fixed))

    def _angle(self, link: Link, at: Sequence[Number]) -> tuple[Number, Number, Number]:
        """Value, cosine and sine of a turning link."""
        tape, scaling, offset = self.of.tape, link.scaling, link.offset
        if link.kind == "continuous":
            if scaling == 1.0 and offset == 0.0 and not link.pitch:
                return self.of.zero, at[0], at[1]
            value = tape.binary("atan2", at[1], at[0]) * scaling + offset
        else:
            value = at[0] * scaling + offset
        return value, tape.unary("cos", value), tape.unary("sin", value)

    def point(self, b: int, place: Array) -> Vector:
        """Where a point of a link is."""
        return plus(self.p[b], rotate(self.R[b], self.of.numbers(place)))

    def covectors(self, i: int) -> list[Vector]:
        """Rows of a closure in ground axes."""
        R, of = self.R[self.of.tree.loops[i].first], self.of
        return [
            [*rotate(R, of.numbers(w[:3])), *rotate(R, of.numbers(w[3:]))]
            for w in of.covector[of.row[i] : of.row[i + 1]]
        ]

    def row_entries(self, i: int) -> dict[int, Vector]:
        """Entries of a closure's rows by column."""
        of, loop = self.of, self.of.tree.loops[i]
        x, rows = self.point(loop.first, of.row_point[i]), self.covectors(i)
        result: dict[int, Vector] = {}
        ways = (set(_way(of, loop.second)), set(_way(of, loop.first)))
        for way, other, sign in ((ways[0], ways[1], 1.0), (ways[1], ways[0], -1.0)):
            for b in sorted(way - other):
                for k in range(of.column[b], of.column[b + 1]):
                    S = self.motion[k]
                    lever = cross(S[3:], minus(x, self.p[b])) if _moves(S[3:]) else [of.zero] * 3
                    twist = [*plus(S[:3], lever), *S[3:]]
                    result[k] = [dot(w, twist) * sign for w in rows]
        return result

    def rows_on_velocities(self) -> list[dict[int, Number]]:
        """All rows on velocities."""
        of = self.of
        rows: list[dict[int, Number]] = [{} for _ in range(of.tree.rows)]
        for i in range(len(of.tree.loops)):
            for k, entries in self.row_entries(i).items():
                for r, entry in enumerate(entries, start=of.row[i]):
                    if not entry.is_number(0.0):
                        known = rows[r].get(of.rate[k], of.zero)
                        rows[r][of.rate[k]] = known + entry * of.ratio[k]
        for r, coupling in enumerate(of.tree.couplings, start=of.row[-1]):
            rows[r] = {int(j): of.tape.number(coupling[j]) for j in np.flatnonzero(coupling)}
        return rows


def _moves(a: Sequence[Number]) -> bool:
    return not all(x.is_number(0.0) for x in a)


def _way(of: TracedTree, b: int) -> list[int]:
    """A link and all that it hangs on."""
    way = []
    while b:
        way.append(b)
        b = of.parent[b]
    return way


def _turns_about_z(R: Array) -> bool:
    """Whether a rotation is one about z, but none of nothing."""
    return bool(R[2, 2] == 1.0 and not np.array_equal(R, np.eye(3)))


class Accelerated:
    """The equations of motion at a state, factorised cluster by cluster; see ``step.c``.

    Args:
        at: Where the links are.
        v: The velocity.
        tau: Joint forces.
    """

    def __init__(self, at: PlacedLinks, v: Sequence[Number], tau: Sequence[Number]) -> None:
        self.at, self.of, of = at, at.of, at.of
        zero = of.zero
        self.twist: list[Vector] = [[zero] * 6]
        self.drift: list[Vector] = [[*of.numbers(-of.gravity), zero, zero, zero]]
        self._carry(v)
        self.rigid = [self._rigid(b) for b in range(of.links)]
        self.wrench = [self._wrench(b) for b in range(of.links)]
        self.spatial: dict[int, Vector] = {}
        self.factors: list[Factors] = []
        borders: list[dict[int, Vector]] = []
        sides: list[dict[int, Number]] = []
        for cluster in of.clusters:
            border, side = self._eliminate(cluster, tau)
            borders.append(border)
            sides.append(side)
        self._solve(borders, sides)

    def _carry(self, v: Sequence[Number]) -> None:
        of, at = self.of, self.at
        for b in range(1, of.links):
            V, A, d = self.twist[of.parent[b]], self.drift[of.parent[b]], at.arm[b]
            own = [of.zero] * 6
            for k in range(of.column[b], of.column[b + 1]):
                own = plus(own, times(v[of.rate[k]] * of.ratio[k], at.motion[k]))
            swept = cross(V[3:], d)
            twice = plus(swept, times(2.0, own[:3]))
            a = plus(plus(A[:3], cross(A[3:], d)), cross(V[3:], twice))
            a = plus(a, cross(own[3:], own[:3]))
            self.twist.append([*plus(plus(V[:3], swept), own[:3]), *plus(V[3:], own[3:])])
            self.drift.append([*a, *plus(A[3:], cross(V[3:], own[3:]))])

    def _rigid(self, b: int) -> Vector:
        of, R = self.of, self.at.R[b]
        own = of.inertia[b]
        if not own.any():
            return [of.zero] * 10
        I = own[4:]  # noqa: E741
        full = of.numbers(np.array([I[0], I[1], I[2], I[1], I[3], I[4], I[2], I[4], I[5]]))
        RI = product(R, full)
        S = [dot(RI[3 * i : 3 * i + 3], R[3 * j : 3 * j + 3]) for i, j in _UPPER]
        return [of.tape.number(own[0]), *rotate(R, of.numbers(own[1:4])), *S]

    def _wrench(self, b: int) -> Vector:
        rigid, omega, A = self.rigid[b], self.twist[b][3:], self.drift[b]
        m, first, second = rigid[0], rigid[1:4], rigid[4:]
        force = plus(plus(times(m, A[:3]), cross(A[3:], first)), cross(omega, cross(omega, first)))
        moment = plus(spin(second, A[3:]), cross(omega, spin(second, omega)))
        return [*force, *plus(moment, cross(first, A[:3]))]

    def _eliminate(
        self, cluster: Cluster, tau: Sequence[Number]
    ) -> tuple[dict[int, Vector], dict[int, Number]]:
        """Load and factorise a cluster; its border, and the first half of its right-hand sides."""
        of, at, inside = self.of, self.at, set(cluster.links)
        entries: Entries = {}
        border: dict[int, Vector] = {}
        sides: dict[int, Number] = {}
        moving = cluster.parent != 0

        def put(one: int, two: int, value: Number) -> None:
            if not value.is_number(0.0):
                entries[one, two] = value

        for b in reversed(cluster.links):
            for k in range(of.column[b], of.column[b + 1]):
                f = act(self.rigid[b], at.motion[k])
                if b in self.spatial:
                    M = self.spatial[b]
                    f = plus(f, [dot(M[6 * i : 6 * i + 6], at.motion[k]) for i in range(6)])
                for i in range(of.column[b], k + 1):
                    put(i, k, dot(at.motion[i], f) + (of.armature[k] if i == k else 0.0))
                given = tau[of.rate[k]] if of.own[k] else of.zero
                sides[k] = given - dot(at.motion[k], self.wrench[b])
                p, link = of.parent[b], b
                while p in inside:
                    f = carried(f, at.arm[link])
                    for i in range(of.column[p], of.column[p + 1]):
                        put(i, k, dot(at.motion[i], f))
                    link, p = p, of.parent[p]
                border[k] = carried(f, at.arm[link]) if moving else []
            self._hand_on(b, of.parent[b] in inside, moving)
        self._load_rows(cluster, entries, sides)
        factors = Factors.of(of.tape, entries, unknowns_of(of.tree, cluster))
        self.factors.append(factors)
        factors.forth(sides)
        if moving:
            self._yield(cluster.parent, factors, border, sides)
        return border, sides

    def _hand_on(self, b: int, inner: bool, moving: bool) -> None:
        """Hand a link's inertia and wrench on to its parent."""
        of, p, d = self.of, self.of.parent[b], self.at.arm[b]
        if not (inner or moving):
            return
        self.wrench[p] = plus(self.wrench[p], carried(self.wrench[b], d))
        more = None
        if b in self.spatial:
            more = moved_matrix(self.spatial[b], d)
        if inner:
            self.rigid[p] = plus(self.rigid[p], shifted(self.rigid[b], d))
        else:
            rigid = matrix_of(shifted(self.rigid[b], d), of.zero)
            more = rigid if more is None else plus(more, rigid)
        if more is not None:
            known = self.spatial.get(p, [of.zero] * 36)
            self.spatial[p] = plus(known, more)

    def _load_rows(self, cluster: Cluster, entries: Entries, sides: dict[int, Number]) -> None:
        of = self.of
        for i in cluster.loops:
            rate = self._rate_at_rest(i)
            for r, w in enumerate(self.at.covectors(i), start=of.row[i]):
                sides[-1 - r] = -dot(w, rate)
            for k, values in self.at.row_entries(i).items():
                for r, value in enumerate(values, start=of.row[i]):
                    if not value.is_number(0.0):
                        entries[k, -1 - r] = value
        for r in cluster.rows:
            row = of.rows[r]
            if row.coefficients is not None:
                sides[-1 - r] = of.zero
                for k, coefficient in zip(row.columns, row.coefficients, strict=True):
                    entries[k, -1 - r] = of.tape.number(coefficient)

    def _rate_at_rest(self, i: int) -> Vector:
        """See ``rate_at_rest`` of ``loop_rows.c``."""
        of, at, loop = self.of, self.at, self.of.tree.loops[i]
        x = at.point(loop.first, of.row_point[i])
        moved = []
        for b in (loop.first, loop.second):
            V, A = self.twist[b], self.drift[b]
            arm = minus(x, at.p[b])
            swept = cross(V[3:], arm)
            a = plus(plus(A[:3], cross(A[3:], arm)), cross(V[3:], swept))
            moved.append((plus(V[:3], swept), a, V[3:], A[3:]))
        (v1, a1, O1, alpha1), (v2, a2, O2, alpha2) = moved
        linear = plus(minus(a2, a1), cross(plus(O1, O2), minus(v1, v2)))
        return [*linear, *plus(minus(alpha2, alpha1), cross(O2, O1))]

    def _yield(
        self,
        parent: int,
        factors: Factors,
        border: dict[int, Vector],
        sides: dict[int, Number],
    ) -> None:
        """What a cluster takes from the inertia of the link that it moves against."""
        of = self.of
        for x in factors.order:
            border.setdefault(x, [of.zero] * 6)
        for x, later in factors.order.items():
            for y in later:
                border[y] = minus(border[y], times(factors.lower[y, x], border[x]))
        M = list(self.spatial.get(parent, [of.zero] * 36))
        for x in factors.order:
            scaled = times(factors.inverse[x], border[x])
            for i in range(6):
                for j in range(i, 6):
                    M[6 * i + j] = M[6 * i + j] - scaled[i] * border[x][j]
            self.wrench[parent] = plus(self.wrench[parent], times(sides[x], scaled))
        self.spatial[parent] = [M[6 * min(i, j) + max(i, j)] for i in range(6) for j in range(6)]

    def _solve(self, borders: list[dict[int, Vector]], sides: list[dict[int, Number]]) -> None:
        of, at = self.of, self.at
        found: dict[int, Number] = {}
        beyond: dict[int, Vector] = {0: [of.zero] * 6}
        for c in range(len(of.clusters) - 1, -1, -1):
            cluster, known = of.clusters[c], dict[int, Number]()
            if cluster.parent:
                A = beyond[cluster.parent]
                known = {x: dot(F, A) for x, F in borders[c].items()}
            found.update(self._back(c, sides[c], known))
            for b in cluster.links:
                a = beyond[of.parent[b]]
                a = [*plus(a[:3], cross(a[3:], at.arm[b])), *a[3:]]
                for k in range(of.column[b], of.column[b + 1]):
                    a = plus(a, times(found[k], at.motion[k]))
                beyond[b] = a
        self.a = [of.zero] * of.tree.nv
        for k, value in found.items():
            if k >= 0 and of.own[k]:
                self.a[of.rate[k]] = value

    def _back(
        self, c: int, sides: dict[int, Number], known: dict[int, Number]
    ) -> dict[int, Number]:
        """The second half of a cluster's solution, less what its border brings."""
        return self.factors[c].back(sides, known)

    def margins(self) -> tuple[Number, Number]:
        """Two numbers that are positive where all pivots are sound and none of a row is small."""
        tape, positive, clear = self.of.tape, self.of.one, self.of.one
        for factors in self.factors:
            column, least, most = factors.soundness(tape)
            positive = tape.binary("minimum", positive, column)
            clear = tape.binary("minimum", clear, least - most * DOUBTFUL)
        return positive, clear


#: Pivots of rows by the largest one below which they are in doubt.
DOUBTFUL = 1e-5
_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def require_known(tree: MultibodyTree) -> None:
    """Refuse a tree whose equations have no factors by an order that is found once.

    Raises:
        UnsupportedExport: Its rows depend on each other, or its mass matrix is singular.
    """
    if not tree.massive or tree.rank != tree.rows:
        raise UnsupportedExport(
            "straight-line code needs independent rows and a tree in which every joint moves mass; "
            "choose the style 'rows', and other cuts where a body behind a cut has no mass"
        )


def closings(tree: MultibodyTree) -> set[str]:
    """How the joints that close loops move."""
    return {closing_of(loop) for loop in tree.loops}
