r"""Elimination in body coordinates, for loops that lie far from the last body in common.

In joint coordinates all joints before a body are coupled by its inertia, so that deep branches are
dense. Here unknowns are the accelerations of bodies as well, all about one point in the axes of the
ground. A body at an end of the tree is replaced by its parent,

.. math:: A_i = A_p + J_i a_i,

its joint's acceleration is eliminated, and so is every row as soon as what was eliminated resists
it. What is coupled then are bodies at the front, however deep the tree (as in the constrained
articulated-body algorithm of Sathya and Carpentier, Constrained articulated body dynamics
algorithms, 2024, which softens rows instead).

When a row may be eliminated is a matter of numbers, not of the pattern alone: it is found once, at
one configuration, and the order is kept. The kernel watches that the row's pivot stays sound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regularize.dynamics.step.multibody import Cluster, MultibodyTree, Row, unknowns_of
from regularize.dynamics.step.posing import Posed
from regularize.lie.arrays import Array
from regularize.tolerances import TINY

#: Operations of a program, by their numbers in ``deep.c``.
OPERATIONS = ("replace", "eliminate")


@dataclass(eq=False, repr=False)
class BodyProgram:
    """The kernel's elimination of a cluster in body coordinates, one operation after the other.

    ``bodies`` are cells of the links' inertias and of their parent's, -1 for the ground; ``rows``
    are cells of each row's covectors on both links, ``entries`` those of constant rows.
    """

    cells: int = 0
    code: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class BodyPrograms(BodyProgram):
    """The programs of all clusters; those without are eliminated in joint coordinates."""

    cell_starts: list[int] = field(default_factory=lambda: [0])
    operations: list[int] = field(default_factory=lambda: [0])
    deep: list[bool] = field(default_factory=list)

    def add(self, program: BodyProgram | None) -> None:
        """Add the next cluster's program, or none."""
        self.deep.append(program is not None)
        if program is not None:
            self.cells = program.cells
            self.starts += [len(self.code) + start for start in program.starts]
            for name in ("code", "bodies", "rows", "entries"):
                getattr(self, name).extend(getattr(program, name))
        self.cell_starts.append(self.cells)
        self.operations.append(len(self.starts))

    def sections(self) -> dict[str, list[int] | list[bool]]:
        """Return sections of the tables."""
        return {
            "deep": self.deep,
            "deep_cell": self.cell_starts,
            "deep_operation": self.operations,
            "deep_start": self.starts,
            "deep_code": self.code,
            "deep_body": self.bodies,
            "deep_row": self.rows,
            "deep_entry": self.entries,
        }


@dataclass(eq=False, repr=False)
class _Cell:
    """The place of what the kernel stores, and its value at the sample."""

    place: int
    value: Array


class BodyElimination:
    """The elimination of a cluster in body coordinates at a sample."""

    limit = 1e3
    armature = 0.0

    def __init__(
        self,
        tree: MultibodyTree,
        cluster: Cluster,
        rows: Sequence[Row],
        posed: Posed,
        rank: Mapping[int, int],
        cells: int,
    ) -> None:
        self.tree, self.cluster, self.posed, self.rank = tree, cluster, posed, rank
        self.program = BodyProgram(cells=cells)
        #: What the parent of all feels of a pivot is compared with the whole cluster.
        self.outside = posed.inertias[[cluster.parent, *cluster.links]].sum(axis=0)
        self.inertia: dict[int, _Cell] = {}
        #: Of two bodies, rows belonging to the first one.
        self.pair: dict[tuple[int, int], _Cell] = {}
        self.pivot: dict[int, _Cell] = {}
        self.vector: dict[int, dict[int, _Cell]] = {}
        self.entry: dict[int, dict[int, _Cell]] = {}
        #: Columns that constant rows still wait for.
        self.missing: dict[int, set[int]] = {}
        self.children = dict.fromkeys((*cluster.links, cluster.parent), 0)
        self.start = tree.columns()
        for b in cluster.links:
            self.inertia[b] = self._cell(posed.inertias[b].copy())
            self.children[tree.links[b - 1].parent] += 1
        if cluster.parent:
            self.inertia[cluster.parent] = self._cell(np.zeros((6, 6)))
        self.program.bodies = [cell.place for cell in self.inertia.values()]
        self.program.bodies += [] if cluster.parent else [-1]
        left = {i: len(posed.covectors[i]) for i in cluster.loops}
        for r in cluster.rows:
            self._add_row(r, rows[r], left)

    def _add_row(self, r: int, row: Row, left: dict[int, int]) -> None:
        """Store a loop row's covector on both links, or the entries of a constant row."""
        s = -1 - r
        self.pivot[s], self.vector[s], self.entry[s] = self._cell(np.zeros(())), {}, {}
        self.missing[s] = set()
        if row.loop >= 0:
            loop = self.tree.loops[row.loop]
            covector = self.posed.covectors[row.loop][-left[row.loop]]
            left[row.loop] -= 1
            for link, sign in ((loop.first, -1.0), (loop.second, 1.0)):
                if link in self.inertia:
                    self.vector[s][link] = self._cell(sign * covector)
                self.program.rows.append(self.vector[s][link].place if link in self.inertia else -1)
            return
        self.missing[s] = set(row.columns)
        for k, value in zip(row.columns, row.coefficients or (), strict=True):
            self.entry[s][k] = self._cell(np.array(value))
            self.entry.setdefault(k, {})[s] = self.entry[s][k]
            self.program.entries.append(self.entry[s][k].place)

    def _cell(self, value: Array) -> _Cell:
        """Make room for an array in the kernel's cells."""
        cell = _Cell(self.program.cells, value)
        self.program.cells += value.size
        return cell

    def run(self) -> BodyProgram:
        """Eliminate everything, and return the program."""
        left = set(self.cluster.links)
        while left:
            ends = [b for b in left if not self.children[b]]
            b = min(ends, key=lambda b: (self._size(b), -b))
            left.remove(b)
            self._replace(b)
            for k in range(self.start[b], self.start[b + 1]):
                self._eliminate(k)
            while (row := self._ready()) is not None:
                self._eliminate(row)
        if self.vector:
            raise ArithmeticError("rows depend on each other at the sample")
        return self.program

    def _parent(self, b: int) -> int:
        """Return the parent of a body."""
        return self.tree.links[b - 1].parent

    def _near(self, b: int) -> tuple[list[int], list[int]]:
        """Return scalars and bodies that a body is coupled to."""
        scalars = [s for s, vectors in self.vector.items() if b in vectors]
        return scalars, [j if i == b else i for i, j in self.pair if b in (i, j)]

    def _size(self, b: int) -> int:
        """Return how many numbers a body's parent is coupled to once it takes the body's place."""
        p = self._parent(b)
        near_body, near_parent = self._near(b), self._near(p)
        return len({*near_body[0], *near_parent[0]}) + 6 * len(
            {*near_body[1], *near_parent[1]} - {b, p}
        )

    def _pair(self, i: int, j: int) -> tuple[_Cell | None, bool]:
        """Return the cell of two bodies, and whether its rows belong to the first one."""
        if (i, j) in self.pair:
            return self.pair[i, j], True
        return self.pair.get((j, i)), False

    def _replace(self, b: int) -> None:
        """Replace a body by its parent; its columns become scalars."""
        p, columns = self._parent(b), range(self.start[b], self.start[b + 1])
        gone = p not in self.inertia
        self.children[p] -= 1
        scalars, bodies = self._near(b)
        J, M = self.posed.columns, self.inertia.pop(b)
        both, rows_are_parents = self._pair(p, b)
        if both is not None:
            self.pair.pop((p, b) if rows_are_parents else (b, p))
            bodies.remove(p)
        for k in columns:
            self.pivot[k], self.vector[k] = self._cell(np.zeros(())), {}
            self.entry.setdefault(k, {})
        code = [OPERATIONS.index("replace"), b, M.place, -1 if gone else self.inertia[p].place]
        code += [-1 if both is None else both.place, rows_are_parents, len(scalars)]
        for s in scalars:
            of_body = self.vector[s].pop(b)
            of_parent = self.vector[s].get(p)
            code += [of_body.place, -1 if of_parent is None or gone else of_parent.place]
            for k in columns:
                cell = self._entry(s, k)
                cell.value = cell.value + of_body.value @ J[k]
                code.append(cell.place)
            if of_parent is not None:
                of_parent.value = of_parent.value + of_body.value
            elif not gone:
                self.vector[s][p] = of_body
        code.append(len(bodies))
        for j in bodies:
            with_body, rows_are_j = self._pair(j, b)
            assert with_body is not None, "they are coupled"
            self.pair.pop((j, b) if rows_are_j else (b, j))
            with_parent, same = (None, True) if gone else self._pair(j, p)
            code += [
                with_body.place,
                rows_are_j,
                -1 if with_parent is None else with_parent.place,
                same,
            ]
            matrix = with_body.value if rows_are_j else with_body.value.T
            for k in columns:
                self.vector[k][j] = self._cell(matrix @ J[k])
                code.append(self.vector[k][j].place)
            if with_parent is not None:
                with_parent.value = with_parent.value + (matrix if same else matrix.T)
            elif not gone:
                self.pair[(j, p) if rows_are_j else (p, j)] = with_body
        B = np.zeros((6, 6)) if both is None else both.value
        B = B if rows_are_parents else B.T
        for k in columns:
            force = M.value @ J[k]
            code += [self.rank[k], self.pivot[k].place]
            self.pivot[k].value = self.armature + J[k] @ force
            for i in range(columns.start, k):
                cell = self._entry(k, i)
                cell.value = cell.value + J[i] @ force
                code.append(cell.place)
            if not gone:
                self.vector[k][p] = self._cell(force + B @ J[k])
            code.append(-1 if gone else self.vector[k][p].place)
            for row in self.missing.values():
                row.discard(k)
        if not gone:
            self.inertia[p].value = self.inertia[p].value + M.value + B + B.T
        self._emit(code)

    def _entry(self, s: int, t: int) -> _Cell:
        """Return the cell of the entry of two scalars, made where there is none."""
        if t not in self.entry[s]:
            self.entry[s][t] = self.entry.setdefault(t, {})[s] = self._cell(np.zeros(()))
        return self.entry[s][t]

    def _emit(self, code: list[int]) -> None:
        """Append an operation to the program."""
        self.program.starts.append(len(self.program.code))
        self.program.code += [int(x) for x in code]

    def _ready(self) -> int | None:
        """Return the row whose elimination changes least, if that is little enough."""
        best: tuple[float, int] | None = None
        for s, vectors in self.vector.items():
            pivot = float(self.pivot[s].value)
            if s >= 0 or self.missing[s] or not pivot < 0.0:
                continue
            growth = max((self._growth(j, cell.value) for j, cell in vectors.items()), default=0.0)
            growth /= -pivot
            if growth < self.limit and (best is None or growth < best[0]):
                best = growth, s
        return None if best is None else best[1]

    def _growth(self, body: int, vector: Array) -> float:
        """Return the relative growth of a body's inertia by a row with a unit pivot."""
        M = self.outside if body == self.cluster.parent else self.inertia[body].value
        scale = np.sqrt(np.maximum(np.diag(M), TINY))
        return float(np.max(vector**2 / scale**2))

    def _eliminate(self, s: int) -> None:
        """Eliminate a row or column from all scalars and bodies that it is coupled to."""
        d = float(self.pivot[s].value)
        if not (d > 0.0 if s >= 0 else d < 0.0):
            raise ArithmeticError("masses or rows are not independent at the sample")
        scalars = {t: c for t, c in self.entry.pop(s).items() if t in self.vector}
        vectors = self.vector.pop(s)
        for t in scalars:
            self.entry[t].pop(s)
        code = [OPERATIONS.index("eliminate"), self.rank[s], self.pivot[s].place, len(scalars)]
        code += [x for t, c in scalars.items() for x in (c.place, self.rank[t])]
        code.append(len(vectors))
        code += [x for j, c in vectors.items() for x in (c.place, j, self.inertia[j].place)]
        names, bodies = list(scalars), list(vectors)
        for n, t in enumerate(names):
            for u in names[n:]:
                cell = self.pivot[t] if t == u else self._entry(t, u)
                cell.value = cell.value - scalars[t].value * scalars[u].value / d
                code.append(cell.place)
            for j in bodies:
                if j not in self.vector[t]:
                    self.vector[t][j] = self._cell(np.zeros(6))
                cell = self.vector[t][j]
                cell.value = cell.value - scalars[t].value / d * vectors[j].value
                code.append(cell.place)
        for n, i in enumerate(bodies):
            for j in bodies[n:]:
                change = np.outer(vectors[i].value, vectors[j].value) / d
                if i == j:
                    self.inertia[i].value = self.inertia[i].value - change
                    continue
                pair, rows_are_i = self._pair(i, j)
                if pair is None:
                    pair, rows_are_i = self._cell(np.zeros((6, 6))), True
                    self.pair[i, j] = pair
                pair.value = pair.value - (change if rows_are_i else change.T)
                code += [pair.place, rows_are_i]
        self._emit(code)


class MinimumNormElimination(BodyElimination):
    """The elimination for shortest velocities: bodies have no mass, columns an equal one."""

    armature = 1.0

    def _growth(self, body: int, vector: Array) -> float:
        """Return the growth of the inertia of a body's columns by a row with a unit pivot."""
        columns = self.posed.columns[self.start[body] : self.start[body + 1]]
        return float(np.max((columns @ vector) ** 2, initial=0.0))


def deep_program(
    tree: MultibodyTree,
    cluster: Cluster,
    rows: Sequence[Row],
    posed: Posed,
    first: int,
    programs: BodyPrograms,
    front: type[BodyElimination] = BodyElimination,
) -> BodyProgram | None:
    """Return the program of a cluster; None where rows depend on each other at the sample."""
    rank = {unknown: first + n for n, unknown in enumerate(unknowns_of(tree, cluster))}
    try:
        return front(tree, cluster, rows, posed, rank, programs.cells).run()
    except ArithmeticError:
        return None
