"""A tree of links with closed loops, as the kernel computes with it, and its clusters.

Two links belong to one cluster where a loop or a coupling runs through both, on the way from its
bodies to the last body that they have in common. A cluster is solved as one and moves against a
single body, so that clusters can be eliminated from the leaves inwards as single joints are in the
articulated-body algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.lie.curve import Curve
from regularize.lie.screw import cross, inverse, transform

#: Of a coupling its place, a velocity, and the function of the coordinate of this one.
CurvedEntry = tuple[int, int, Curve]
#: How links move, as in ``tables.h``.
KINDS = ("revolute", "continuous", "prismatic", "spherical", "free", "planar")
#: How the joints that close loops move, as in ``tables.h``.
CLOSINGS = ("fixed", "revolute", "helical", "spherical", "free", "composite")
#: Freedoms of each kind, and how many numbers of q it takes.
_FREEDOMS = dict(zip(KINDS, (1, 1, 1, 3, 6, 3), strict=True))
_COORDINATES = dict(zip(KINDS, (1, 2, 1, 4, 7, 4), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Link:
    """One elementary motion of the tree, ``scaling * q + offset``, and the body behind it.

    The ground is link 0, ``placement`` the pose at zero in the parent (4, 4), ``pitch`` metres per
    radian, and ``inertia`` (6, 6) is about the link's origin, linear part first. A link that
    ``follows`` has the coordinate of another one.
    """

    parent: int
    kind: str
    placement: Array
    axis: Array
    pitch: float
    coordinate: int
    rate: int
    inertia: Array
    scaling: float = 1.0
    offset: float = 0.0
    follows: bool = False

    @property
    def freedoms(self) -> int:
        """Number of columns."""
        return _FREEDOMS[self.kind]

    @property
    def coordinates(self) -> int:
        """How many numbers of q the link takes."""
        return _COORDINATES[self.kind]


@dataclass(frozen=True, eq=False, repr=False)
class Loop:
    """A closure between two links, the first of which carries the row frame.

    Frames are poses (4, 4) in their links; ``screws`` (6, f) are the freedoms of the closing joint
    in its own frame, and ``covectors`` (m, 6) are rows in the row frame, linear parts in units of
    1/length. ``sign`` is 1 where the second link is the child of the closing joint, else -1.
    """

    first: int
    second: int
    row_frame: Array
    first_frame: Array
    second_frame: Array
    closing: str
    screws: Array
    sign: int
    covectors: Array


@dataclass(frozen=True, eq=False, repr=False)
class MultibodyTree:
    """A tree of links with closed loops.

    ``couplings @ coordinates - targets = 0`` are constant rows (C, nv); where there is a curve, it
    takes the place of the coordinate, and the entry is 1. ``rank`` counts independent rows, and
    ``massive`` tells whether the mass matrix is regular.
    """

    nq: int
    nv: int
    links: Sequence[Link]
    loops: Sequence[Loop]
    couplings: Array
    targets: Array
    armature: Array
    gravity: Array
    rank: int
    massive: bool
    curves: tuple[CurvedEntry, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows, couplings included."""
        return sum(len(loop.covectors) for loop in self.loops) + len(self.couplings)

    def driven(self, velocities: Sequence[int]) -> MultibodyTree:
        """Return the tree with a row for each of some velocities, behind the others."""
        return replace(
            self,
            couplings=np.vstack([self.couplings, np.eye(self.nv)[list(velocities)]]),
            targets=np.concatenate([self.targets, np.zeros(len(velocities))]),
            rank=self.rank + len(velocities),
        )

    def columns(self) -> list[int]:
        """Return the first column of each link, the ground included, and the number of all."""
        return [0, 0, *np.cumsum([link.freedoms for link in self.links]).tolist()]

    def rates(self) -> list[int]:
        """Return the velocity of each column."""
        return [link.rate + k for link in self.links for k in range(link.freedoms)]

    def turned(self, link: int) -> Array:
        """Return the frame that the kernel uses for a link, seen from the link's own, (4, 4)."""
        return _z_frame(self.links[link - 1]) if link else np.eye(4)

    def own_columns(self) -> dict[int, int]:
        """Return the column whose rate each velocity is."""
        start = self.columns()
        return {
            link.rate + k: start[b] + k
            for b, link in enumerate(self.links, start=1)
            if not link.follows
            for k in range(link.freedoms)
        }

    def sections(self) -> tuple[dict[str, int], dict[str, Any]]:
        """Return sizes and sections of the tree and its rows; see ``tables.h``."""
        links, loops = self.links, self.loops
        turned = [np.eye(4), *(_z_frame(link) for link in links)]
        column = self.columns()
        owner, rate = [link for link in links for _ in range(link.freedoms)], self.rates()
        row = np.cumsum([0, *(len(loop.covectors) for loop in loops)])
        pairs = zip(links, turned[1:], strict=True)
        placed = [inverse(turned[x.parent]) @ x.placement @ T for x, T in pairs]
        sizes = {
            "links": len(links) + 1,
            "nq": self.nq,
            "nv": self.nv,
            "columns": column[-1],
            "closures": len(loops),
            "loop_rows": int(row[-1]),
            "rows": self.rows,
            "closing_freedoms": sum(loop.screws.shape[1] for loop in loops),
            "state": 2 * self.nv + 1,
        }
        sections = {
            "parent": [0, *(link.parent for link in links)],
            "kind": [0, *(KINDS.index(link.kind) for link in links)],
            "hinge": [False, *(link.kind in _TURNING and not link.pitch for link in links)],
            "coordinate": [0, *(link.coordinate for link in links)],
            "column": column,
            "rate": rate,
            "own": [not link.follows for link in owner],
            "placement": _poses([np.eye(4), *placed]),
            "pitch": [0.0, *(link.pitch for link in links)],
            "scaling": [0.0, *(link.scaling for link in links)],
            "offset": [0.0, *(link.offset for link in links)],
            "ratio": [link.scaling for link in owner],
            "inertia": np.concatenate(
                [np.zeros(10), *(_inertia(p, T) for p, T in zip(links, turned[1:], strict=True))]
            ),
            "armature": self.armature[rate] * [not link.follows for link in owner],
            "gravity": self.gravity,
            "first": [loop.first for loop in loops],
            "second": [loop.second for loop in loops],
            "row": row,
            "closing": [CLOSINGS.index(closing_of(loop)) for loop in loops],
            "sign": [loop.sign for loop in loops],
            "row_point": [(inverse(turned[x.first]) @ x.row_frame)[:3, 3] for x in loops],
            "first_frame": _poses(
                inverse(turned[x.first]) @ x.first_frame @ _hinge_frame(x) for x in loops
            ),
            "second_frame": _poses(
                inverse(turned[x.second]) @ x.second_frame @ _hinge_frame(x) for x in loops
            ),
            "closing_screw": np.cumsum([0, *(loop.screws.shape[1] for loop in loops)]),
            "closing_screws": np.concatenate([np.zeros((0, 6)), *(x.screws.T for x in loops)]),
            "covector": np.concatenate(
                [np.zeros((0, 6)), *(_turned_covectors(x, turned[x.first]) for x in loops)]
            ),
            "target": self.targets,
        }
        return sizes, sections


#: Kinds of links that turn about an axis.
_TURNING = ("revolute", "continuous")


def _z_frame(link: Link) -> Array:
    """Return the kernel's frame of a link, whose z axis is the link's axis."""
    return frame_about(link.axis) if link.freedoms == 1 else np.eye(4)


def closing_of(loop: Loop) -> str:
    """Return how a closing joint moves: a screw through its frame without pitch is a hinge."""
    return "revolute" if loop.closing == "helical" and not loop.screws[:3].any() else loop.closing


def _hinge_frame(loop: Loop) -> Array:
    """Return the kernel's frame of a closing hinge, whose z axis is the hinge's axis."""
    if closing_of(loop) != "revolute":
        return np.eye(4)
    axis = loop.screws[3:, 0]
    return frame_about(axis / np.linalg.norm(axis))


def _turned_covectors(loop: Loop, turned: Array) -> Array:
    """Return the covectors of a loop in the kernel's axes of the first link, (m, 6)."""
    R = (inverse(turned) @ loop.row_frame)[:3, :3]
    return (loop.covectors.reshape(-1, 2, 3) @ R.T).reshape(-1, 6)


def frame_about(z: Array) -> Array:
    """Return a frame whose z axis is a unit vector."""
    x = np.eye(3)[(int(np.argmax(np.abs(z))) + 1) % 3]
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return transform(np.column_stack([x, cross(z, x), z]))


def _poses(poses: Iterable[Array]) -> Array:
    """Return rotations by rows and positions, (12 * N,)."""
    each = [np.concatenate([T[:3, :3].ravel(), T[:3, 3]]) for T in poses]
    return np.concatenate([np.zeros(0), *each])


def _inertia(link: Link, turned: Array) -> Array:
    """Return mass, mass times centre, and inertia about the origin in the turned frame, (10,)."""
    R, spatial = turned[:3, :3], link.inertia
    moment = spatial[3:, :3]  # the mass times the cross matrix of the centre
    first = R.T @ np.array([moment[2, 1], moment[0, 2], moment[1, 0]])
    second = R.T @ spatial[3:, 3:] @ R
    return np.array([spatial[0, 0], *first, *second[np.triu_indices(3)]])


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
    """Links that are solved as one, with the loops and rows within, against a ``parent``."""

    parent: int
    links: tuple[int, ...]
    loops: tuple[int, ...]
    rows: tuple[int, ...]


def way_up(tree: MultibodyTree, link: int, end: int) -> list[int]:
    """Return the links from one up to, but without, one that carries it."""
    chain = []
    while link != end:
        chain.append(link)
        link = tree.links[link - 1].parent
    return chain


def last_common(tree: MultibodyTree, links: Sequence[int]) -> int:
    """Return the last link that carries all the given links, or is one of them."""
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
        chain = [*way_up(tree, loop.second, end), *way_up(tree, loop.first, end)]
        columns = tuple(k for link in chain for k in range(start[link], start[link + 1]))
        rows += [Row(columns, None, index)] * len(loop.covectors)
    columns_of = tree.own_columns()
    for coupling in tree.couplings:
        entries = [
            (columns_of[i], float(value)) for i, value in enumerate(coupling) if value != 0.0
        ]
        rows.append(Row(tuple(c for c, _ in entries), tuple(x for _, x in entries), -1))
    for link, moving in enumerate(tree.links, start=1):
        if moving.follows:
            rows.append(Row((start[link], columns_of[moving.rate]), (1.0, -moving.scaling), -1))
    return rows


def clusters_of(tree: MultibodyTree, rows: Sequence[Row]) -> list[Cluster]:
    """Return the clusters, each behind those that hang on it."""
    start, count = tree.columns(), len(tree.links) + 1
    owner = [b for b in range(1, count) for _ in range(start[b], start[b + 1])]
    group = list(range(count))

    def root_of(link: int) -> int:
        while group[link] != link:
            group[link] = group[group[link]]
            link = group[link]
        return link

    parents = [0, *(link.parent for link in tree.links)]
    for columns in {row.columns for row in rows}:
        links = sorted({owner[k] for k in columns})
        end = last_common(tree, [parents[link] for link in links]) if links else 0
        chains = [link for last in links for link in way_up(tree, last, end)]
        for link in chains[1:]:
            group[root_of(link)] = root_of(chains[0])
    members: dict[int, list[int]] = {}
    for link in range(1, count):
        members.setdefault(root_of(link), []).append(link)
    inside = {root: ([], []) for root in members}  # type: dict[int, tuple[list[int], list[int]]]
    for index, row in enumerate(rows):
        if row.columns:
            loops, rows_inside = inside[root_of(owner[row.columns[0]])]
            rows_inside.append(index)
            if row.loop >= 0 and row.loop not in loops:
                loops.append(row.loop)
    # The first part of a group has the lowest number, and its parent a lower one still.
    order = sorted(members, key=lambda root: -members[root][0])
    return [
        Cluster(parents[members[root][0]], tuple(members[root]), *(tuple(x) for x in inside[root]))
        for root in order
    ]


def unknowns_of(tree: MultibodyTree, cluster: Cluster) -> list[int]:
    """Return columns k and rows -1 - r of a cluster."""
    start = tree.columns()
    columns = [k for b in cluster.links for k in range(start[b], start[b + 1])]
    return [*columns, *(-1 - r for r in cluster.rows)]
