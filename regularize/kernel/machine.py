"""A tree of parts with closed loops, as the kernel computes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.lie.screw import Array, cross, inverse, transform

#: How parts move, as in ``tables.h``.
KINDS = ("turn", "circle", "slide", "ball", "free", "plane")
#: How the joints that close loops move, as in ``tables.h``.
CLOSINGS = ("nothing", "hinge", "screw", "ball", "free", "several")
#: Freedoms of each kind, and how many numbers of q it takes.
_FREEDOMS = {"turn": 1, "circle": 1, "slide": 1, "ball": 3, "free": 6, "plane": 3}
_COORDINATES = {"turn": 1, "circle": 2, "slide": 1, "ball": 4, "free": 7, "plane": 4}


@dataclass(frozen=True, eq=False, repr=False)
class MovingPart:
    """One elementary motion of the tree, and the body behind it.

    Attributes:
        parent: MovingPart that it moves against; 0 is the ground, the first part is 1.
        kind: One of ``KINDS``.
        placement: Pose at zero in the parent's frame, shape (4, 4).
        axis: Unit vector of ``turn``, ``circle`` and ``slide`` in its own frame, shape (3,).
        pitch: Metres per radian of ``turn``.
        coordinate: Index of its first coordinate in q.
        rate: Index of its first velocity in v.
        scaling: Its value is ``scaling * q + offset``.
        offset: See ``scaling``.
        follows: Whether it has no coordinate of its own, but that of another part.
        inertia: Spatial inertia about its origin, linear part first, shape (6, 6).
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
        """Number of its columns."""
        return _FREEDOMS[self.kind]

    @property
    def coordinates(self) -> int:
        """How many numbers of q it takes."""
        return _COORDINATES[self.kind]


@dataclass(frozen=True, eq=False, repr=False)
class Loop:
    """A closure between two parts.

    Attributes:
        first: MovingPart that carries the row frame.
        second: MovingPart on the other side.
        row_frame: Its pose in the first part, shape (4, 4).
        first_frame: Frame of the closing joint in the first part, shape (4, 4).
        second_frame: The same in the second part.
        closing: How the closing joint moves, one of ``CLOSINGS``.
        screws: Its freedoms in its own frame, shape (6, f).
        sign: 1 where the second part is the child of the closing joint, else -1.
        covectors: Rows in the row frame, linear parts in units of 1/length, shape (m, 6).
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
class Machine:
    """A tree of parts with closed loops.

    Attributes:
        nq: Length of configurations.
        nv: Length of velocities.
        parts: All but the ground.
        loops: The closures.
        couplings: Constant rows on velocities, shape (C, nv).
        targets: Their right-hand sides, shape (C,): ``couplings @ coordinates - targets = 0``.
        armature: Inertia of rotors, shape (nv,).
        gravity: Acceleration of free fall, shape (3,).
        rank: Number of independent rows.
        massive: Whether the mass matrix of the tree is regular.
    """

    nq: int
    nv: int
    parts: Sequence[MovingPart]
    loops: Sequence[Loop]
    couplings: Array
    targets: Array
    armature: Array
    gravity: Array
    rank: int
    massive: bool

    @property
    def rows(self) -> int:
        """Number of rows, couplings included."""
        return sum(len(loop.covectors) for loop in self.loops) + len(self.couplings)

    def driven(self, velocities: Sequence[int]) -> Machine:
        """The machine with a row for each of some velocities, behind the others."""
        return replace(
            self,
            couplings=np.vstack([self.couplings, np.eye(self.nv)[list(velocities)]]),
            targets=np.concatenate([self.targets, np.zeros(len(velocities))]),
            rank=self.rank + len(velocities),
        )

    def columns(self) -> list[int]:
        """First column of each part, the ground included, and the number of all."""
        return [0, 0, *np.cumsum([part.freedoms for part in self.parts]).tolist()]

    def turned(self, part: int) -> Array:
        """The frame in which the kernel has a part, seen from the part's own, shape (4, 4)."""
        return _to_z(self.parts[part - 1]) if part else np.eye(4)

    def own_columns(self) -> dict[int, int]:
        """The column whose rate each velocity is."""
        start = self.columns()
        return {
            part.rate + k: start[b] + k
            for b, part in enumerate(self.parts, start=1)
            if not part.follows
            for k in range(part.freedoms)
        }

    def sections(self) -> tuple[dict[str, int], dict[str, Any]]:
        """Sizes and sections of the tree and its rows; see ``tables.h``."""
        parts, loops = self.parts, self.loops
        turned = [np.eye(4), *(_to_z(part) for part in parts)]
        column = self.columns()
        owner = [part for part in parts for _ in range(part.freedoms)]
        rate = [part.rate + k for part in parts for k in range(part.freedoms)]
        row = np.cumsum([0, *(len(loop.covectors) for loop in loops)])
        sizes = {
            "parts": len(parts) + 1,
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
            "parent": [0, *(part.parent for part in parts)],
            "kind": [0, *(KINDS.index(part.kind) for part in parts)],
            "hinge": [0, *(_hinge(part) for part in parts)],
            "coordinate": [0, *(part.coordinate for part in parts)],
            "column": column,
            "rate": rate,
            "own": [not part.follows for part in owner],
            "placement": _poses(
                inverse(turned[part.parent]) @ part.placement @ turned[k + 1]
                for k, part in enumerate(parts)
            ),
            "pitch": [0.0, *(part.pitch for part in parts)],
            "scaling": [0.0, *(part.scaling for part in parts)],
            "offset": [0.0, *(part.offset for part in parts)],
            "pace": [part.scaling for part in owner],
            "inertia": np.concatenate(
                [np.zeros(10), *(_inertia(p, T) for p, T in zip(parts, turned[1:], strict=True))]
            ),
            "armature": [
                0.0 if part.follows else self.armature[i]
                for part, i in zip(owner, rate, strict=True)
            ],
            "gravity": self.gravity,
            "first": [loop.first for loop in loops],
            "second": [loop.second for loop in loops],
            "row": row,
            "closing": [CLOSINGS.index(closing_of(loop)) for loop in loops],
            "sign": [loop.sign for loop in loops],
            "row_point": [(inverse(turned[x.first]) @ x.row_frame)[:3, 3] for x in loops],
            "first_frame": _poses(
                inverse(turned[x.first]) @ x.first_frame @ _to_hinge(x) for x in loops
            )[12:],
            "second_frame": _poses(
                inverse(turned[x.second]) @ x.second_frame @ _to_hinge(x) for x in loops
            )[12:],
            "closing_screw": np.cumsum([0, *(loop.screws.shape[1] for loop in loops)]),
            "closing_screws": np.concatenate([np.zeros((0, 6)), *(x.screws.T for x in loops)]),
            "covector": np.concatenate(
                [np.zeros((0, 6)), *(_in_part(x, turned[x.first]) for x in loops)]
            ),
            "target": self.targets,
        }
        return sizes, sections


def _hinge(part: MovingPart) -> int:
    """Whether a part only turns about a point of its parent, and is that the parent's origin."""
    if part.kind not in ("turn", "circle") or part.pitch:
        return 0
    return 1 if part.placement[:3, 3].any() else 2


def _to_z(part: MovingPart) -> Array:
    """The frame in which the kernel has a part, seen from its own: its axis is z there."""
    return frame_about(part.axis) if part.kind in ("turn", "circle", "slide") else np.eye(4)


def closing_of(loop: Loop) -> str:
    """How a loop's closing joint moves: a screw through its frame without pitch is a hinge."""
    return "hinge" if loop.closing == "screw" and not loop.screws[:3].any() else loop.closing


def _to_hinge(loop: Loop) -> Array:
    """The frame in which the kernel has a closing hinge: its axis is z there."""
    if closing_of(loop) != "hinge":
        return np.eye(4)
    axis = loop.screws[3:, 0]
    return frame_about(axis / np.linalg.norm(axis))


def _in_part(loop: Loop, turned: Array) -> Array:
    """Covectors of a loop in the axes of the first part as the kernel has it, shape (m, 6)."""
    R = (inverse(turned) @ loop.row_frame)[:3, :3]
    return (loop.covectors.reshape(-1, 2, 3) @ R.T).reshape(-1, 6)


def frame_about(z: Array) -> Array:
    """A frame whose z axis is a unit vector."""
    x = np.eye(3)[(int(np.argmax(np.abs(z))) + 1) % 3]
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return transform(np.column_stack([x, cross(z, x), z]))


def _poses(poses: Any) -> Array:
    """Rotations row by row and positions, the ground before them, shape (12 * (N + 1),)."""
    each = [np.concatenate([T[:3, :3].ravel(), T[:3, 3]]) for T in (np.eye(4), *poses)]
    return np.concatenate(each)


def _inertia(part: MovingPart, turned: Array) -> Array:
    """Mass, mass times centre, and inertia about the origin, in the turned frame, shape (10,)."""
    R, spatial = turned[:3, :3], part.inertia
    moment = spatial[3:, :3]  # the mass times the cross matrix of the centre
    first = R.T @ np.array([moment[2, 1], moment[0, 2], moment[1, 0]])
    second = R.T @ spatial[3:, 3:] @ R
    return np.array([spatial[0, 0], *first, *second[np.triu_indices(3)]])
