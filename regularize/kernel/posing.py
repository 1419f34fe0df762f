"""Where a machine's parts are when every joint has some value, in the axes of the ground."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regularize.kernel.machine import Machine, MovingPart
from regularize.lie import screw
from regularize.lie.screw import Array

#: Freedoms of groups of motions in the part's own frame.
GROUPS = {"ball": np.eye(6)[:, 3:], "free": np.eye(6), "plane": np.eye(6)[:, [0, 1, 5]]}


@dataclass(frozen=True, eq=False, repr=False)
class Posed:
    """Parts, columns and rows about the origin of the ground, linear parts first.

    Attributes:
        inertias: Spatial inertia of each part, the ground included, shape (parts, 6, 6).
        columns: Twist of each column, shape (columns, 6).
        covectors: Rows of each loop, shape (m, 6).
    """

    inertias: Array
    columns: Array
    covectors: tuple[Array, ...]


def freedoms(part: MovingPart) -> Array:
    """Freedoms of a part in its own frame, shape (6, f)."""
    if part.kind in GROUPS:
        return GROUPS[part.kind]
    if part.kind == "slide":
        return screw.prismatic(part.axis)[:, None]
    return np.concatenate([part.pitch * part.axis, part.axis])[:, None]


@lru_cache(maxsize=1)  # several tables of a machine are made from it
def posed_anyhow(machine: Machine) -> Posed:
    """The machine at joint values without any relation between them; its loops are open."""
    rng = np.random.default_rng(0)
    poses, inertias, columns = [np.eye(4)], [np.zeros((6, 6))], [np.zeros((0, 6))]
    for part in machine.parts:
        own = freedoms(part)
        value = rng.uniform(0.3, 1.2, own.shape[1]) * rng.choice((-1.0, 1.0), own.shape[1])
        T = poses[part.parent] @ part.placement @ screw.exp(own @ value)
        to_part = screw.adjoint(screw.inverse(T))
        poses.append(T)
        inertias.append(to_part.T @ part.inertia @ to_part)
        columns.append((screw.adjoint(T) @ own).T)
    rows = (x.covectors @ _to(poses[x.first] @ x.row_frame) for x in machine.loops)
    return Posed(np.array(inertias), np.vstack(columns), tuple(rows))


def _to(T: Array) -> Array:
    """From twists in the ground to a frame."""
    return np.asarray(screw.adjoint(screw.inverse(T)))
