"""Parts that loops couple: each group is solved as one, and groups form a tree again.

Two links belong together where a loop or a coupling runs through both, on the way from its bodies
to the last body that they have in common. A group moves against a single body, so the groups can
be eliminated from the leaves inwards as single joints are in the articulated-body algorithm. Those
that are eliminated in body coordinates have programs; see ``deep``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from regularize.dynamics.step.multibody import MultibodyTree


@dataclass(frozen=True, eq=False, repr=False)
class Row:
    """A row of a loop, or a constant one of a coupling or of a link that follows another one.

    ``columns`` are in the order in which the kernel meets them; ``coefficients`` are the constant
    entries, None where the row belongs to ``loop``, which is -1 else.
    """

    columns: tuple[int, ...]
    coefficients: tuple[float, ...] | None
    loop: int


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """Links that are solved as one, with the loops and rows within them.

    ``parent`` is the link that they move against, 0 the ground.
    """

    parent: int
    links: tuple[int, ...]
    loops: tuple[int, ...]
    rows: tuple[int, ...]


def way_up(tree: MultibodyTree, link: int, end: int) -> list[int]:
    """Return links from one up to, and without, one of those that it hangs on."""
    way = []
    while link != end:
        way.append(link)
        link = tree.links[link - 1].parent
    return way


def last_common(tree: MultibodyTree, links: Sequence[int]) -> int:
    """Return the last link that all the given links hang on, or are."""
    common, *rest = links
    for link in rest:
        above = {common, *way_up(tree, common, 0), 0}
        while link not in above:
            link = tree.links[link - 1].parent
        common = link
    return common


def rows_of(tree: MultibodyTree) -> list[Row]:
    """Return all rows: of the loops, of the couplings, and of links that follow others."""
    start, rows = tree.columns(), []
    for index, loop in enumerate(tree.loops):
        end = last_common(tree, [loop.first, loop.second])
        ways = [*way_up(tree, loop.second, end), *way_up(tree, loop.first, end)]
        columns = tuple(k for link in ways for k in range(start[link], start[link + 1]))
        rows += [Row(columns, None, index)] * len(loop.covectors)
    own = tree.own_columns()
    for coupling in tree.couplings:
        entries = [(own[i], float(value)) for i, value in enumerate(coupling) if value != 0.0]
        rows.append(Row(tuple(c for c, _ in entries), tuple(x for _, x in entries), -1))
    for link, moving in enumerate(tree.links, start=1):
        if moving.follows:
            rows.append(Row((start[link], own[moving.rate]), (1.0, -moving.scaling), -1))
    return rows


def clusters_of(tree: MultibodyTree, rows: Sequence[Row]) -> list[Cluster]:
    """Return the clusters, each behind those that hang on it."""
    start, count = tree.columns(), len(tree.links) + 1
    owner = [b for b in range(1, count) for _ in range(start[b], start[b + 1])]
    group = list(range(count))

    def found(link: int) -> int:
        while group[link] != link:
            group[link] = group[group[link]]
            link = group[link]
        return link

    parents = [0, *(link.parent for link in tree.links)]
    for columns in {row.columns for row in rows}:
        links = sorted({owner[k] for k in columns})
        end = last_common(tree, [parents[link] for link in links]) if links else 0
        ways = [link for last in links for link in way_up(tree, last, end)]
        for link in ways[1:]:
            group[found(link)] = found(ways[0])
    members: dict[int, list[int]] = {}
    for link in range(1, count):
        members.setdefault(found(link), []).append(link)
    inside = {root: ([], []) for root in members}  # type: dict[int, tuple[list[int], list[int]]]
    for index, row in enumerate(rows):
        if row.columns:
            loops, mine = inside[found(owner[row.columns[0]])]
            mine.append(index)
            if row.loop >= 0 and row.loop not in loops:
                loops.append(row.loop)
    # The first part of a group has the lowest number, and its parent a lower one still.
    order = sorted(members, key=lambda root: -members[root][0])
    return [
        Cluster(parents[members[root][0]], tuple(members[root]), *(tuple(x) for x in inside[root]))
        for root in order
    ]


@dataclass(eq=False, repr=False)
class BodyProgram:
    """What the kernel does to a cluster in body coordinates, one operation after the other.

    ``bodies`` are cells of the links' inertias and of their parent's, -1 for the ground; ``rows``
    are cells of each row's covectors on both links, ``entries`` those of constant rows.
    """

    code: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    cells: int = 0
    bodies: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)


def unknowns_of(tree: MultibodyTree, cluster: Cluster) -> list[int]:
    """Return columns k and rows -1 - r of a cluster."""
    start = tree.columns()
    columns = [k for b in cluster.links for k in range(start[b], start[b + 1])]
    return [*columns, *(-1 - r for r in cluster.rows)]


@dataclass(eq=False, repr=False)
class BodyPrograms:
    """The programs of all clusters; those without are eliminated in joint coordinates."""

    cells: list[int] = field(default_factory=lambda: [0])
    operations: list[int] = field(default_factory=lambda: [0])
    deep: list[bool] = field(default_factory=list)
    code: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)

    def add(self, program: BodyProgram | None) -> None:
        """Add the next cluster's program, or none."""
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
        """Return sections of the tables."""
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
