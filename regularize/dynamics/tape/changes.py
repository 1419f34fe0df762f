"""How accelerations change with the state, as a program: what ``derivatives.c`` and others compute.

Names and formulas are those of ``dense.py``, about the origin of the first link.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as pairs

import numpy as np

from regularize.dynamics.step.multibody import way_up
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


class StateChanges:
    """Changes of forces and rows by q and v, at the acceleration and the multipliers of a motion.

    Derivatives by v stand ``nv`` columns behind those by q.
    """

    def __init__(self, equations: MotionEquations) -> None:
        self.equations, tables = equations, equations.tables
        self.tables, self.placed, self.v = tables, equations.placed, equations.v
        self.nv, place = tables.tree.nv, equations.placed.p
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
                own, rate = equations.placed.motion[k], tables.rate[k]
                S = times(tables.ratio[k], [*plus(own[:3], cross(arm, own[3:])), *own[3:]])
                swept = _bracket(before, S)
                self.S.append(S)
                self.swept.append(swept)
                V = plus(V, times(self.v[rate], S))
                A = plus(A, plus(times(self.v[rate], swept), times(equations.a[rate], S)))
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

    def _add(self, matrix: Sparse, row: int, column: int, value: Number) -> None:
        """Add to an entry of a matrix."""
        if value.constant != 0.0:
            matrix[row, column] = matrix.get((row, column), self.tables.zero) + value

    def forces(self) -> Sparse:
        """Return the changes of forces that are needed less those of the rows."""
        tables, nv, matrix = self.tables, self.nv, Sparse()
        zero, rate = tables.zero, tables.rate
        rigid = [[zero] * 10 for _ in self.columns]
        momentum, wrench = [[zero] * 3 for _ in rigid], [[zero] * 6 for _ in rigid]
        D = [[zero] * 9 for _ in rigid]
        for b in range(tables.links - 1, 0, -1):
            own = shifted(self.equations.rigid_of(b), minus(self.placed.p[b], self.origin))
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
                        self._add(matrix, i, j, value)
                        self._add(
                            matrix, i, nv + j, dot(push, self.twice[m]) + dot(lean, other[3:])
                        )
                        if c != b:
                            self._add(matrix, j, i, dot(by_q, other))
                            self._add(matrix, j, nv + i, dot(by_v, other))
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
        tables, multipliers, rate = self.tables, self.equations.multipliers, self.tables.rate
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
                    self._add(matrix, rate[k], rate[m], dot(carried[m], self.S[k]) * sign)
        for (r, j), (_, _, second, _) in self.placed.curves.items():
            self._add(matrix, j, j, -second * multipliers[r])

    def rows(self, factors: Sequence[Number] = ()) -> Sparse:
        """Return the changes of the rows' rates, with factors of their speeds and errors."""
        tables, nv, matrix = self.tables, self.nv, Sparse()
        a, v, rates = self.equations.a, self.v, tables.rate
        speed, error = factors or (tables.zero, tables.zero)
        for i, loop in enumerate(tables.tree.loops):
            (V1, V2), A2 = (self.V[b] for b in (loop.first, loop.second)), self.A[loop.second]
            for (r, W), (k, sense) in pairs(
                enumerate(self._covectors(i), start=tables.row[i]), self._senses(i).items()
            ):
                W, S, P = times(sense, W), self.S[k], self.swept[k]
                of_two = minus(P, _bracket(V2, S))
                along = minus(_bracket(V1, _bracket(V2, S)), _bracket(A2, S))
                by_q = plus(minus(self.bent[k], _bracket(plus(V1, V2), P)), along)
                by_v = minus(self.twice[k], _bracket(plus(V1, V2), S))
                by_q = plus(by_q, plus(times(speed, of_two), times(error, S)))
                self._add(matrix, r, rates[k], dot(W, by_q))
                self._add(matrix, r, nv + rates[k], dot(W, plus(by_v, times(speed, S))))
        for r, row in enumerate(self.placed.rows_on_velocities()[tables.row[-1] :]):
            for j, entry in row.items():
                self._add(matrix, tables.row[-1] + r, j, error * entry)
                self._add(matrix, tables.row[-1] + r, nv + j, speed * entry)
        for (r, j), (_, _, second, third) in self.placed.curves.items():
            turning = second * a[j] + third * v[j] * v[j] + speed * second * v[j]
            self._add(matrix, r, j, turning)
            self._add(matrix, r, nv + j, 2.0 * second * v[j])
        return matrix

    def accelerations(self, factors: Sequence[Number] = ()) -> Vector:
        """Return derivatives of the acceleration by q, by v and by joint forces, row by row."""
        zero, nv, still = self.tables.zero, self.nv, [[self.tables.zero] * 6] * self.tables.links
        changes, rates = self.forces(), self.rows(factors)
        columns = []
        for j in range(2 * nv):
            forces = [-changes.get((i, j), zero) for i in range(nv)]
            sides = {r: -rates.get((r, j), zero) for r in range(self.tables.tree.rows)}
            columns.append(self.equations.response(forces, sides, still)[0])
        for j in range(nv):
            unit = [self.tables.one if i == j else zero for i in range(nv)]
            columns.append(self.equations.response(unit, {}, still)[0])
        by_q, by_v, by_tau = (columns[begin : begin + nv] for begin in (0, nv, 2 * nv))
        result = [column[i] for block in (by_q, by_v) for i in range(nv) for column in block]
        return result + [by_tau[min(i, j)][max(i, j)] for i in range(nv) for j in range(nv)]
