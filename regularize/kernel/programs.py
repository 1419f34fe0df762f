"""BodyPrograms by which the kernel eliminates clusters in body coordinates, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

from regularize.kernel.clusters import Cluster
from regularize.kernel.machine import Machine


@dataclass(eq=False, repr=False)
class Program:
    """What the kernel does to a cluster, one operation behind the other.

    Attributes:
        code: The operations.
        starts: Where each operation begins in the code.
        cells: Where the next number is stored.
        bodies: Cell of each part's inertia, in the order of the parts; then that of their parent,
            -1 where that is the ground.
        rows: For each row of a loop, cells of its covector on the first and the second part.
        entries: Cells of the constant rows' entries, row by row.
    """

    code: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    cells: int = 0
    bodies: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)


def unknowns_of(machine: Machine, cluster: Cluster) -> list[int]:
    """Columns k and rows, -1 - r, of a cluster."""
    start = machine.columns()
    columns = [k for b in cluster.parts for k in range(start[b], start[b + 1])]
    return [*columns, *(-1 - r for r in cluster.rows)]


@dataclass(eq=False, repr=False)
class BodyPrograms:
    """The programs of all clusters; those without are eliminated in joint coordinates.

    Attributes:
        cells: Where the cells of each cluster begin, and their number.
        operations: Where the operations of each begin in ``starts``, and their number.
        bodies: Cells of the inertias, cluster by cluster.
    """

    cells: list[int] = field(default_factory=lambda: [0])
    operations: list[int] = field(default_factory=lambda: [0])
    deep: list[bool] = field(default_factory=list)
    code: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)

    def add(self, program: Program | None) -> None:
        """Add the next cluster."""
        self.deep.append(program is not None)
        if program is not None:
            self.starts += [len(self.code) + start for start in program.starts]
            self.code += program.code
            self.bodies += program.bodies
            self.rows += program.rows
            self.entries += program.entries
        self.cells.append(self.cells[-1] if program is None else program.cells)
        self.operations.append(len(self.starts))

    def sections(self) -> dict[str, list[int] | list[bool]]:
        """Sections of the tables."""
        return {
            "deep": self.deep,
            "deep_cell": self.cells,
            "deep_operation": self.operations,
            "deep_start": self.starts,
            "deep_code": self.code,
            "deep_body": self.bodies,
            "deep_row": self.rows,
            "deep_entry": self.entries,
        }
