"""When rows of a cluster may be eliminated although columns that they are on are left.

A row has a pivot as soon as what was eliminated resists it. Where loops share a crank, all but the
crank can be eliminated loop by loop then, and nothing couples the loops but the crank. Whether a
pivot is sound is a matter of numbers, found once at a sample; the kernel watches over it, and
solves in another way where it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from regularize.kernel.clusters import Cluster, Row, way_up
from regularize.kernel.machine import Machine
from regularize.kernel.posing import Posed


class Readiness:
    """The equations of a cluster at a sample, as they are while unknowns are eliminated.

    Args:
        machine: The machine.
        cluster: The cluster; what hangs on it counts as if it were rigid.
        rows: All rows.
        posed: The sample.
        share: Part of what all columns make of a row's pivot that is enough of it.
    """

    def __init__(
        self,
        machine: Machine,
        cluster: Cluster,
        rows: Sequence[Row],
        posed: Posed,
        *,
        share: float = 0.05,
    ) -> None:
        """Make the matrix."""
        start, bodies = machine.columns(), posed.inertias.copy()
        for b in range(len(machine.parts), 0, -1):
            bodies[machine.parts[b - 1].parent] += bodies[b]
        columns = [k for b in cluster.parts for k in range(start[b], start[b + 1])]
        self._place = {x: i for i, x in enumerate([*columns, *(-1 - r for r in cluster.rows)])}
        H = np.zeros((len(columns), len(columns)))
        for b in cluster.parts:
            mine = slice(start[b], start[b + 1])
            forces = bodies[b] @ posed.columns[mine].T
            for p in way_up(machine, b, cluster.parent):
                above = slice(start[p], start[p + 1])
                block = posed.columns[above] @ forces
                at = [self._place[k] for k in range(above.start, above.stop)]
                to = [self._place[k] for k in range(mine.start, mine.stop)]
                H[np.ix_(at, to)], H[np.ix_(to, at)] = block, block.T
        H[np.diag_indices_from(H)] += [
            machine.armature[machine.parts[b - 1].rate + k - start[b]]
            for b in cluster.parts
            for k in range(start[b], start[b + 1])
        ]
        J = np.zeros((len(cluster.rows), len(columns)))
        passed: dict[int, int] = {}
        for i, r in enumerate(cluster.rows):
            row = rows[r]
            places = [self._place[k] for k in row.columns]
            if row.coefficients is not None:
                J[i, places] = row.coefficients
                continue
            loop = machine.loops[row.loop]
            n = passed[row.loop] = passed.get(row.loop, -1) + 1
            seconds = {
                k for b in way_up(machine, loop.second, 0) for k in range(start[b], start[b + 1])
            }
            signs = [1.0 if k in seconds else -1.0 for k in row.columns]
            J[i, places] = signs * (posed.columns[[*row.columns]] @ posed.covectors[row.loop][n])
        self._matrix = np.block([[H, J.T], [J, np.zeros((len(J), len(J)))]])
        self._pivots: list[float] = []
        self._enough = share * np.einsum("ij,ji->i", J, np.linalg.solve(H, J.T))

    def eliminate(self, unknown: int, others: Iterable[int]) -> None:
        """Take what an unknown's pivot makes of the entries of those that it is coupled to."""
        K, i, at = self._matrix, self._place[unknown], [self._place[x] for x in others]
        if unknown < 0 or K[i, i] == 0.0:
            self._pivots.append(-float(K[i, i]))
        if K[i, i] == 0.0:  # rows that came sooner leave nothing: this order is none
            return
        K[np.ix_(at, at)] -= np.outer(K[at, i], K[at, i] / K[i, i])

    def of(self, row: int) -> bool:
        """Whether the pivot of a row, an unknown -1 - r, is sound."""
        i = self._place[row]
        return bool(-self._matrix[i, i] > self._enough[i - len(self._matrix)])

    @property
    def clearness(self) -> float:
        """Least pivot of the rows as a part of the largest one; 0 where any unknown has none."""
        return min(self._pivots) / max(self._pivots)
