r"""The equations of motion of a placed tree as a program, factorised as in ``step.c``.

Unknowns are columns and rows of

.. math:: \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
          \begin{pmatrix} a \\ -\lambda \end{pmatrix} = \begin{pmatrix} f \\ -\gamma \end{pmatrix},

eliminated in an order of least degree that is found once. As in the kernel, a row may come before
some of its columns where what was eliminated resists it enough, at the sample of the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.dynamics.step.multibody import Cluster, unknowns_of
from regularize.dynamics.step.pattern import SampledPivots, least_degree, neighbours
from regularize.dynamics.tape.kinematics import PlacedLinks
from regularize.dynamics.tape.program import Number, Recording
from regularize.dynamics.tape.vectors import (
    Vector,
    act,
    carried,
    cross,
    dot,
    matrix_of,
    minus,
    moved_matrix,
    plus,
    shifted,
    spin,
    times,
)

#: An unknown: a column's index, or -1 - r of row r.
Entries = dict[tuple[int, int], Number]


def _work(structs: Mapping[int, set[int]]) -> int:
    """Return how many multiplications an elimination takes."""
    return sum(len(near) * (len(near) + 5) // 2 for near in structs.values())


def order_of(
    entries: Entries, unknowns: Sequence[int], *, saving: float = 0.8, clear: float = 1e-3
) -> dict[int, list[int]]:
    """Return unknowns in order of elimination, each with its neighbours that come later.

    Rows come before some of their columns where that leaves at most the part ``saving`` of the
    work, and their pivots at the sample are at least the part ``clear`` of the largest.
    """
    structs = least_degree(*neighbours(entries, unknowns))
    places = {x: i for i, x in enumerate(unknowns)}
    if any(x < 0 for x in unknowns):
        values = np.zeros((len(places), len(places)))
        for (one, two), entry in entries.items():
            values[places[one], places[two]] = values[places[two], places[one]] = entry.value
        pivots = SampledPivots(values, places)
        sooner = least_degree(*neighbours(entries, unknowns), pivots)
        if pivots.clearness > clear and _work(sooner) <= saving * _work(structs):
            structs = sooner
    rank = {x: k for k, x in enumerate(structs)}
    return {x: sorted(near, key=rank.__getitem__) for x, near in structs.items()}


#: How many times as much columns behind rows may weigh as by themselves: digits are lost by more,
#: by the table kernel, too, which eliminates in nearly the same order.
GROWN = 1e4
#: Part of what pivots are at the sample that is borne, and the least part of other limits.
USUAL, LEAST = 0.1, 3e-3


@dataclass(frozen=True, eq=False, repr=False)
class Factors:
    """Factors :math:`L D L^T` of symmetric equations, as numbers of a program.

    ``own`` is what stood in the places of the pivots at first, ``weights`` what pivots would be
    without what takes from them.
    """

    order: Mapping[int, Sequence[int]]
    inverse: Mapping[int, Number]
    lower: Mapping[tuple[int, int], Number]
    pivots: dict[int, Number]
    own: dict[int, Number]
    weights: dict[int, Number]

    @classmethod
    def of(cls, recording: Recording, entries: Entries, unknowns: Sequence[int]) -> Factors:
        """Factorise equations, whose entries are changed."""
        zero, order = recording.number(0.0), order_of(entries, unknowns)
        inverse: dict[int, Number] = {}
        lower: dict[tuple[int, int], Number] = {}
        pivots: dict[int, Number] = {}
        weights: dict[int, Number] = {}

        def entry(one: int, two: int) -> Number:
            return entries.get((one, two)) or entries.get((two, one)) or zero

        def put(one: int, two: int, value: Number) -> None:
            entries[(two, one) if (two, one) in entries else (one, two)] = value

        diagonal = {x: entry(x, x) for x in order}
        for x, later in order.items():
            pivots[x] = entry(x, x)
            inverse[x] = 1.0 / pivots[x]
            column = [entry(y, x) for y in later]
            for i, y in enumerate(later):
                factor = lower[y, x] = column[i] * inverse[x]
                if (x < 0) != (y < 0):
                    weights[y] = weights.get(y, diagonal[y]) - factor * column[i]
                for j in range(i, len(later)):
                    put(y, later[j], entry(y, later[j]) - factor * column[j])
        return cls(order, inverse, lower, pivots, diagonal, weights)

    def forth(self, sides: dict[int, Number]) -> dict[int, Number]:
        """Do the first half of a solution: right-hand sides, changed in place."""
        for x, later in self.order.items():
            for y in later:
                sides[y] = sides[y] - self.lower[y, x] * sides[x]
        return sides

    def back(
        self, sides: Mapping[int, Number], subtracted: Mapping[int, Number]
    ) -> dict[int, Number]:
        """Do the second half of a solution; ``subtracted`` is taken from the sides."""
        solution: dict[int, Number] = {}
        for x in reversed(list(self.order)):
            value = (sides[x] - subtracted[x] if x in subtracted else sides[x]) * self.inverse[x]
            for y in self.order[x]:
                value = value - self.lower[y, x] * solution[y]
            solution[x] = value
        return solution

    def margins(self, clear: float) -> list[Number]:
        """Return numbers that are all positive where pivots leave enough digits."""
        margins = []
        for x, pivot in self.pivots.items():
            sign = -1.0 if x < 0 else 1.0
            tests = [(pivot, clear)] if x in self.weights else []
            if tests and x >= 0:
                tests.append((self.own[x], 1.0 / GROWN))
            for part, least in tests:
                weight = self.weights[x]
                borne = min(least, max(USUAL * part.value / weight.value, LEAST * least))
                margins.append((part - weight * borne) * sign)
            if not tests and pivot.constant is None:
                margins.append(pivot * sign)
        return margins


#: Pivots by their weights below which digits are in doubt: above, eleven of them agree with the
#: table kernel's at a million random states.
DOUBTFUL = 1e-2


class MotionEquations:
    """The equations of motion at a state, factorised cluster by cluster as in ``step.c``."""

    def __init__(
        self,
        placed: PlacedLinks,
        v: Sequence[Number],
        tau: Sequence[Number],
        wanted: Sequence[Number] = (),
    ) -> None:
        """Factorise and solve; what is ``wanted`` of loops and couplings adds to their rates."""
        self.placed, self.tables, self.v, tables = placed, placed.tables, v, placed.tables
        zero = tables.zero
        self.twist: list[Vector] = [[zero] * 6]
        self.drift: list[Vector] = [[*tables.numbers(-tables.gravity), zero, zero, zero]]
        self._carry(v)
        self.rigid = [placed.rigid(b) for b in range(tables.links)]
        self.wrench = [self._wrench(b) for b in range(tables.links)]
        self.spatial: dict[int, Vector] = {}
        self.factors: list[Factors] = []
        self._borders: list[dict[int, Vector]] = []
        self._sides: dict[int, Number] = {}
        for cluster in tables.clusters:
            self._eliminate(cluster)
        for r, value in enumerate(wanted):
            self._sides[r] = self._sides[r] - value
        self.a, self.multipliers = self.response(tau, self._sides, self.wrench)

    def _carry(self, v: Sequence[Number]) -> None:
        """Compute twists of all links, and their accelerations while no velocity changes."""
        tables, placed = self.tables, self.placed
        for b in range(1, tables.links):
            V, A, d = self.twist[tables.parent[b]], self.drift[tables.parent[b]], placed.arm[b]
            relative = [tables.zero] * 6
            for k in range(tables.column[b], tables.column[b + 1]):
                relative = plus(
                    relative, times(v[tables.rate[k]] * tables.ratio[k], placed.motion[k])
                )
            swept = cross(V[3:], d)
            twice = plus(swept, times(2.0, relative[:3]))
            a = plus(plus(A[:3], cross(A[3:], d)), cross(V[3:], twice))
            a = plus(a, cross(relative[3:], relative[:3]))
            self.twist.append([*plus(plus(V[:3], swept), relative[:3]), *plus(V[3:], relative[3:])])
            self.drift.append([*a, *plus(A[3:], cross(V[3:], relative[3:]))])

    def _wrench(self, b: int) -> Vector:
        """Return the wrench that a link's motion needs at zero acceleration of the columns."""
        rigid, omega, A = self.rigid[b], self.twist[b][3:], self.drift[b]
        m, first, second = rigid[0], rigid[1:4], rigid[4:]
        force = plus(plus(times(m, A[:3]), cross(A[3:], first)), cross(omega, cross(omega, first)))
        moment = plus(spin(second, A[3:]), cross(omega, spin(second, omega)))
        return [*force, *plus(moment, cross(first, A[:3]))]

    def _eliminate(self, cluster: Cluster) -> None:
        """Factorise a cluster."""
        tables, placed, inside = self.tables, self.placed, set(cluster.links)
        entries: Entries = {}
        border: dict[int, Vector] = {}
        moving = cluster.parent != 0

        def put(one: int, two: int, value: Number) -> None:
            if value.constant != 0.0:
                entries[one, two] = value

        for b in reversed(cluster.links):
            for k in range(tables.column[b], tables.column[b + 1]):
                f = act(self.rigid[b], placed.motion[k])
                if b in self.spatial:
                    M = self.spatial[b]
                    f = plus(f, [dot(M[6 * i : 6 * i + 6], placed.motion[k]) for i in range(6)])
                for i in range(tables.column[b], k + 1):
                    put(i, k, dot(placed.motion[i], f) + (tables.armature[k] if i == k else 0.0))
                p, link = tables.parent[b], b
                while p in inside:
                    f = carried(f, placed.arm[link])
                    for i in range(tables.column[p], tables.column[p + 1]):
                        put(i, k, dot(placed.motion[i], f))
                    link, p = p, tables.parent[p]
                border[k] = carried(f, placed.arm[link]) if moving else []
            self._add_to_parent(b, tables.parent[b] in inside, moving)
        self._load_rows(cluster, entries)
        factors = Factors.of(tables.recording, entries, unknowns_of(tables.tree, cluster))
        self.factors.append(factors)
        self._borders.append(border)
        if moving:
            self._condense(cluster.parent, factors, border)

    def _add_to_parent(self, b: int, inner: bool, moving: bool) -> None:
        """Add a link's inertia to that of its parent."""
        tables, p, d = self.tables, self.tables.parent[b], self.placed.arm[b]
        if not (inner or moving):
            return
        matrix = None
        if b in self.spatial:
            matrix = moved_matrix(self.spatial[b], d)
        if inner:
            self.rigid[p] = plus(self.rigid[p], shifted(self.rigid[b], d))
        else:
            rigid = matrix_of(shifted(self.rigid[b], d), tables.zero)
            matrix = rigid if matrix is None else plus(matrix, rigid)
        if matrix is not None:
            before = self.spatial.get(p, [tables.zero] * 36)
            self.spatial[p] = plus(before, matrix)

    def _load_rows(self, cluster: Cluster, entries: Entries) -> None:
        """Write a cluster's rows of J into ``entries``, and note their right-hand sides.

        They are those of its loops and couplings; row r has the key -1 - r, a velocity its column.
        """
        tables, sides = self.tables, self._sides
        for i in cluster.loops:
            rate = self._rate_at_rest(i)
            for r, w in enumerate(self.placed.covectors(i), start=tables.row[i]):
                sides[r] = -dot(w, rate)
            for k, values in self.placed.row_entries(i).items():
                for r, value in enumerate(values, start=tables.row[i]):
                    if value.constant != 0.0:
                        entries[k, -1 - r] = value
        for r in cluster.rows:
            row = tables.rows[r]
            if row.coefficients is not None:
                sides[r] = tables.zero
                for k, coefficient in zip(row.columns, row.coefficients, strict=True):
                    entries[k, -1 - r] = tables.recording.number(coefficient)
        columns = tables.tree.own_columns()
        for (r, j), (_, slope, bend, _) in self.placed.curves.items():
            if r in cluster.rows:
                entries[columns[j], -1 - r] = slope
                sides[r] = -bend * self.v[j] * self.v[j]

    def _rate_at_rest(self, i: int) -> Vector:
        """Return the relative acceleration at a closure while no velocity changes, (6,)."""
        tables, placed, loop = self.tables, self.placed, self.tables.tree.loops[i]
        x = placed.point(loop.first, tables.row_point[i])
        moved = []
        for b in (loop.first, loop.second):
            V, A = self.twist[b], self.drift[b]
            arm = minus(x, placed.p[b])
            swept = cross(V[3:], arm)
            a = plus(plus(A[:3], cross(A[3:], arm)), cross(V[3:], swept))
            moved.append((plus(V[:3], swept), a, V[3:], A[3:]))
        (v1, a1, O1, alpha1), (v2, a2, O2, alpha2) = moved
        linear = plus(minus(a2, a1), cross(plus(O1, O2), minus(v1, v2)))
        return [*linear, *plus(minus(alpha2, alpha1), cross(O2, O1))]

    def _condense(self, parent: int, factors: Factors, border: dict[int, Vector]) -> None:
        """Add an eliminated cluster's inertia to the link that carries it."""
        tables = self.tables
        for x in factors.order:
            border.setdefault(x, [tables.zero] * 6)
        for x, later in factors.order.items():
            for y in later:
                border[y] = minus(border[y], times(factors.lower[y, x], border[x]))
        M = list(self.spatial.get(parent, [tables.zero] * 36))
        for x in factors.order:
            scaled = times(factors.inverse[x], border[x])
            for i in range(6):
                for j in range(i, 6):
                    M[6 * i + j] = M[6 * i + j] - scaled[i] * border[x][j]
        self.spatial[parent] = [M[6 * min(i, j) + max(i, j)] for i in range(6) for j in range(6)]

    def response(
        self, forces: Sequence[Number], rates: Mapping[int, Number], wrenches: Sequence[Vector]
    ) -> tuple[Vector, Vector]:
        """Return accelerations and multipliers under joint forces, rates of rows, and wrenches.

        Wrenches are those that the links need at zero acceleration.
        """
        tables, placed, wrench = self.tables, self.placed, list(wrenches)
        halves: list[dict[int, Number]] = []
        for cluster, factors, border in zip(
            tables.clusters, self.factors, self._borders, strict=True
        ):
            inside, parent = {*cluster.links}, cluster.parent
            sides = {-1 - r: rates.get(r, tables.zero) for r in cluster.rows}
            for b in reversed(cluster.links):
                p = tables.parent[b]
                for k in range(tables.column[b], tables.column[b + 1]):
                    force = forces[tables.rate[k]] if tables.own[k] else tables.zero
                    sides[k] = force - dot(placed.motion[k], wrench[b])
                if p in inside or parent:
                    wrench[p] = plus(wrench[p], carried(wrench[b], placed.arm[b]))
            halves.append(factors.forth(sides))
            for x in factors.order if parent else ():
                scaled = times(factors.inverse[x], border[x])
                wrench[parent] = plus(wrench[parent], times(sides[x], scaled))
        return self._outwards(halves)

    def _outwards(self, sides: list[dict[int, Number]]) -> tuple[Vector, Vector]:
        """Solve for accelerations and multipliers, from the ground outwards."""
        tables, placed = self.tables, self.placed
        solution: dict[int, Number] = {}
        beyond: dict[int, Vector] = {0: [tables.zero] * 6}
        for c in range(len(tables.clusters) - 1, -1, -1):
            cluster, subtracted = tables.clusters[c], dict[int, Number]()
            if cluster.parent:
                A = beyond[cluster.parent]
                subtracted = {x: dot(F, A) for x, F in self._borders[c].items()}
            solution.update(self.factors[c].back(sides[c], subtracted))
            for b in cluster.links:
                a = beyond[tables.parent[b]]
                a = [*plus(a[:3], cross(a[3:], placed.arm[b])), *a[3:]]
                for k in range(tables.column[b], tables.column[b + 1]):
                    a = plus(a, times(solution[k], placed.motion[k]))
                beyond[b] = a
        a = [tables.zero] * tables.tree.nv
        for k, value in solution.items():
            if k >= 0 and tables.own[k]:
                a[tables.rate[k]] = value
        return a, [-solution[-1 - r] for r in range(tables.tree.rows)]

    def margins(self) -> list[Number]:
        """Return numbers that are all positive where the pivots leave enough digits."""
        return [x for factors in self.factors for x in factors.margins(DOUBTFUL)]
