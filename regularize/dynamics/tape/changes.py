r"""How accelerations change with the state, as a program: what ``derivatives.c`` computes.

Vectors are about the origin of the first link. Everything behind joint k turns with its twist
:math:`S_k`; seen from what has turned, only the motion of the link p before the joint is another
one. With

.. math:: P_k = V_p \times S_k, \qquad G_k = A_p \times S_k + V_p \times P_k,

forces of subtrees change by sums over the subtree that are linear in P and G, and so do the rows
(Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018; Singh,
Russo and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, RA-L 2022). Rows of closures are :math:`W \cdot (V_2 - V_1)`; see ``closure.c``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as pairs

import numpy as np

from regularize.dynamics.step.multibody import way_up
from regularize.dynamics.tape.kinematics import PlacedLinks
from regularize.dynamics.tape.motion_equations import MotionEquations
from regularize.dynamics.tape.program import Number
from regularize.dynamics.tape.vectors import (
    Vector,
    act,
    cross,
    dot,
    minus,
    plus,
    shifted,
    spin,
    times,
)

#: Entries of a matrix by row and column, without zeros.
Sparse = dict[tuple[int, int], Number]


def _bracket(x: Vector, y: Vector) -> Vector:
    """Return the rate of a twist y that x carries along."""
    return [*plus(cross(x[3:], y[:3]), cross(x[:3], y[3:])), *cross(x[3:], y[3:])]


def _carry(x: Vector, wrench: Vector) -> Vector:
    """Return the rate of a wrench that a twist carries along."""
    force, moment = wrench[:3], wrench[3:]
    return [*cross(x[3:], force), *plus(cross(x[3:], moment), cross(x[:3], force))]


def add(matrix: Sparse, row: int, column: int, value: Number) -> None:
    """Add to an entry of a matrix."""
    if value.constant != 0.0:
        matrix[row, column] = matrix[row, column] + value if (row, column) in matrix else value


class StateChanges:
    """Changes of forces and rows by q and v, at the acceleration and the multipliers of a motion.

    Derivatives by v stand ``nv`` columns behind those by q.
    """

    def __init__(
        self,
        placed: PlacedLinks,
        v: Sequence[Number],
        a: Sequence[Number],
        multipliers: Sequence[Number],
    ) -> None:
        self.placed, self.v, self.a, self.multipliers = placed, v, a, multipliers
        self.tables = tables = placed.tables
        self.nv, place = tables.tree.nv, placed.p
        self.parent, zero = tables.parent, tables.zero
        self.origin = place[min(1, len(place) - 1)]
        self.columns = [range(*tables.column[b : b + 2]) for b in range(tables.links)]
        self.owner = [b for b, columns in enumerate(self.columns) for _ in columns]
        still = [zero] * 6
        self.V, self.A = [still], [[*tables.numbers(-tables.gravity), zero, zero, zero]]
        self.S: list[Vector] = []
        self.swept: list[Vector] = []
        for b in range(1, tables.links):
            V, A = self.V[self.parent[b]], self.A[self.parent[b]]
            before, arm = V, minus(place[b], self.origin)
            for k in self.columns[b]:
                own, rate = placed.motion[k], tables.rate[k]
                S = times(tables.ratio[k], [*plus(own[:3], cross(arm, own[3:])), *own[3:]])
                swept = _bracket(before, S)
                self.S.append(S)
                self.swept.append(swept)
                V = plus(V, times(self.v[rate], S))
                A = plus(A, plus(times(self.v[rate], swept), times(a[rate], S)))
            self.V.append(V)
            self.A.append(A)
        behind = [self.parent[b] for b in self.owner]
        self.bent = [
            plus(_bracket(self.V[p], P), _bracket(self.A[p], S))
            for p, P, S in zip(behind, self.swept, self.S, strict=True)
        ]
        self.twice = [
            plus(P, _bracket(self.V[b], S))
            for b, P, S in zip(self.owner, self.swept, self.S, strict=True)
        ]

    def forces(self) -> Sparse:
        """Return the changes of forces that are needed less those of the rows."""
        tables, nv, matrix = self.tables, self.nv, Sparse()
        zero, rate = tables.zero, tables.rate
        rigid = [[zero] * 10 for _ in self.columns]
        momentum, wrench = [[zero] * 3 for _ in rigid], [[zero] * 6 for _ in rigid]
        D = [[zero] * 9 for _ in rigid]
        for b in range(tables.links - 1, 0, -1):
            own = shifted(self.placed.rigid(b), minus(self.placed.p[b], self.origin))
            V = self.V[b]
            rigid[b] = plus(rigid[b], own)
            P = act(own, V)
            momentum[b] = plus(momentum[b], P[:3])
            wrench[b] = plus(wrench[b], plus(act(own, self.A[b]), _carry(V, P)))
            D[b] = plus(D[b], self._turning(own, V))
            pushes = {k: act(rigid[b], self.S[k]) for k in self.columns[b]}
            for k, push in pushes.items():
                S = self.S[k]
                lean = times(2.0, cross(momentum[b], S[:3]))
                lean = plus(lean, [dot(D[b][i::3], S[3:]) for i in range(3)])
                by_q = plus(act(rigid[b], self.bent[k]), _carry(S, wrench[b]))
                by_q = plus(by_q, self._turned(momentum[b], D[b], self.swept[k][3:]))
                by_v = act(rigid[b], self.twice[k])
                by_v = plus(by_v, self._turned(momentum[b], D[b], S[3:]))
                for c in way_up(tables.tree, b, 0):
                    for m in self.columns[c]:
                        other, i, j = self.S[m], rate[k], rate[m]
                        value = dot(push, self.bent[m]) + dot(lean, self.swept[m][3:])
                        add(matrix, i, j, value)
                        add(matrix, i, nv + j, dot(push, self.twice[m]) + dot(lean, other[3:]))
                        if c != b:
                            add(matrix, j, i, dot(by_q, other))
                            add(matrix, j, nv + i, dot(by_v, other))
            p = self.parent[b]
            for sums in (rigid, momentum, wrench, D):
                sums[p] = plus(sums[p], sums[b])
        self._turn_rows(matrix)
        return matrix

    def _turning(self, rigid: Vector, V: Vector) -> Vector:
        """Return D of a body, as of ``spatial.h``, row by row."""
        h, second, v, o = rigid[1:4], rigid[4:], V[:3], V[3:]
        trace, twice = second[0] + second[3] + second[5], dot(h, v) * 2.0
        columns = []
        for j, axis in enumerate(np.eye(3)):
            e = self.tables.numbers(axis)
            turned = minus(cross(o, spin(second, e)), times(h[j], v))
            column = minus(times(2.0, turned), times(trace, cross(o, e)))
            column[j] = column[j] + twice
            columns.append(column)
        return [columns[j][i] for i in range(3) for j in range(3)]

    @staticmethod
    def _turned(momentum: Vector, D: Vector, w: Vector) -> Vector:
        """Return the change of a body's wrench with the rate of turning; see ``spatial.h``."""
        return [*times(2.0, cross(w, momentum)), *(dot(D[3 * i : 3 * i + 3], w) for i in range(3))]

    def _covectors(self, i: int) -> list[Vector]:
        """Return a closure's covectors about the origin."""
        x = self.placed.point(self.tables.tree.loops[i].first, self.tables.row_point[i])
        arm = minus(x, self.origin)
        return [[*w[:3], *plus(w[3:], cross(arm, w[:3]))] for w in self.placed.covectors(i)]

    def _senses(self, i: int) -> dict[int, float]:
        """Return columns that move one link of a closure alone: 1 the second, -1 the first."""
        tree, loop = self.tables.tree, self.tables.tree.loops[i]
        first, second = ({*way_up(tree, b, 0)} for b in (loop.first, loop.second))
        return {
            k: 1.0 if b in second else -1.0 for b in sorted(first ^ second) for k in self.columns[b]
        }

    def _turn_rows(self, matrix: Sparse) -> None:
        """Take from changes of forces those of the rows' forces."""
        tables, multipliers, rate = self.tables, self.multipliers, self.tables.rate
        for i in range(len(tables.tree.loops)):
            wrench, senses = [tables.zero] * 6, self._senses(i)
            for r, w in enumerate(self._covectors(i), start=tables.row[i]):
                wrench = plus(wrench, times(multipliers[r], w))
            carried = {m: _carry(self.S[m], wrench) for m in senses}
            for m, k in pairs(senses, senses):
                if senses[m] < 0.0:
                    sign = -1.0 if senses[k] > 0.0 else float(self.owner[k] < self.owner[m])
                else:
                    sign = float(senses[k] > 0.0 and self.owner[k] >= self.owner[m])
                if sign:
                    add(matrix, rate[k], rate[m], dot(carried[m], self.S[k]) * sign)
        for (r, j), (_, _, second, _) in self.placed.curves.items():
            add(matrix, j, j, -second * multipliers[r])

    def rates(self) -> Sparse:
        """Return the changes of the rows' rates."""
        nv, a, v, rate, matrix = self.nv, self.a, self.v, self.tables.rate, Sparse()
        for i, loop in enumerate(self.tables.tree.loops):
            (V1, V2), A2 = (self.V[b] for b in (loop.first, loop.second)), self.A[loop.second]
            both = plus(V1, V2)
            for r, W, k, sense in self._entries(i):
                S, P = self.S[k], self.swept[k]
                along = minus(_bracket(V1, _bracket(V2, S)), _bracket(A2, S))
                by_q = plus(minus(self.bent[k], _bracket(both, P)), along)
                by_v = minus(self.twice[k], _bracket(both, S))
                add(matrix, r, rate[k], dot(W, by_q) * sense)
                add(matrix, r, nv + rate[k], dot(W, by_v) * sense)
        for (r, j), (_, _, second, third) in self.placed.curves.items():
            add(matrix, r, j, second * a[j] + third * v[j] * v[j])
            add(matrix, r, nv + j, 2.0 * second * v[j])
        return matrix

    def values(self) -> Sparse:
        """Return the changes of the rows' values at the velocity with the configuration."""
        matrix = Sparse()
        for i, loop in enumerate(self.tables.tree.loops):
            for r, W, k, sense in self._entries(i):
                change = minus(self.swept[k], _bracket(self.V[loop.second], self.S[k]))
                add(matrix, r, self.tables.rate[k], dot(W, change) * sense)
        for (r, j), (_, _, second, _) in self.placed.curves.items():
            add(matrix, r, j, second * self.v[j])
        return matrix

    def _entries(self, i: int) -> Iterator[tuple[int, Vector, int, float]]:
        """Yield rows of a closure with their covectors, and columns on these with their senses."""
        senses = self._senses(i).items()
        for r, W in enumerate(self._covectors(i), start=self.tables.row[i]):
            yield from ((r, W, k, sense) for k, sense in senses)


def derivatives_of(equations: MotionEquations, factors: Sequence[Number] = ()) -> Vector:
    """Return derivatives of an acceleration by q, by v and by joint forces, row by row.

    Factors are those of the rows' speeds and errors, where these are taken back.
    """
    tables, placed = equations.tables, equations.placed
    zero, nv, still = tables.zero, tables.tree.nv, [[tables.zero] * 6] * tables.links
    changed = StateChanges(placed, equations.v, equations.a, equations.multipliers)
    changes, rates = changed.forces(), changed.rates()
    for speed, error in [factors] if factors else ():
        for (r, j), value in changed.values().items():
            add(rates, r, j, speed * value)
        for r, row in enumerate(placed.rows_on_velocities()):
            for j, entry in row.items():
                add(rates, r, j, error * entry)
                add(rates, r, nv + j, speed * entry)
    columns = []
    for j in range(2 * nv):
        forces = [-changes.get((i, j), zero) for i in range(nv)]
        sides = {r: -rates.get((r, j), zero) for r in range(tables.tree.rows)}
        columns.append(equations.response(forces, sides, still)[0])
    for j in range(nv):
        unit = [tables.one if i == j else zero for i in range(nv)]
        columns.append(equations.response(unit, {}, still)[0])
    by_q, by_v, by_tau = (columns[begin : begin + nv] for begin in (0, nv, 2 * nv))
    result = [column[i] for block in (by_q, by_v) for i in range(nv) for column in block]
    return result + [by_tau[min(i, j)][max(i, j)] for i in range(nv) for j in range(nv)]
