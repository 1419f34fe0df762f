"""Where a tree's parts are, how they move, and what they weigh, in the axes of the ground."""

from __future__ import annotations

from collections.abc import Sequence
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


def moved(part: MovingPart, q: Array) -> Array:
    """Motion of a part at a configuration of the tree (nq,) from where it is at zero, (4, 4)."""
    x = q[part.coordinate :]
    if part.kind == "ball":
        return screw.transform(screw.rotation_of(x[:4]))
    if part.kind == "free":
        return screw.transform(screw.rotation_of(x[3:7]), x[:3])
    if part.kind == "plane":
        c, s = x[2:4]
        return screw.transform([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [x[0], x[1], 0.0])
    value = np.arctan2(x[1], x[0]) if part.kind == "circle" else x[0]
    return screw.exp(freedoms(part)[:, 0] * (part.scaling * value + part.offset))


def poses_of(parts: Sequence[MovingPart], q: Array) -> list[Array]:
    """Poses of the ground and of all parts at a configuration of the tree (nq,)."""
    poses = [np.eye(4)]
    for part in parts:
        poses.append(poses[part.parent] @ part.placement @ moved(part, q))
    return poses


def columns_of(parts: Sequence[MovingPart], poses: Sequence[Array]) -> Array:
    """Twist of each column about the origin of the ground, shape (columns, 6)."""
    each = [(screw.adjoint(T) @ freedoms(part)).T for part, T in zip(parts, poses[1:], strict=True)]
    return np.vstack([np.zeros((0, 6)), *each])


def carried_by(parts: Sequence[MovingPart]) -> Array:
    """Whether each column moves the ground and each part: 1 or 0, shape (parts, columns)."""
    owner = np.repeat(np.arange(len(parts)), [part.freedoms for part in parts])
    carried: Array = np.zeros((len(parts) + 1, len(owner)))
    for b, part in enumerate(parts, start=1):
        carried[b] = carried[part.parent]
        carried[b, owner == b - 1] = 1.0
    return carried


def rates_to_columns(parts: Sequence[MovingPart], nv: int) -> Array:
    """Rates of all columns by velocities, shape (columns, nv)."""
    rates = [part.rate + k for part in parts for k in range(part.freedoms)]
    result: Array = np.zeros((len(rates), nv))
    result[range(len(rates)), rates] = [p.scaling for p in parts for _ in range(p.freedoms)]
    return result


def mass_matrix(parts: Sequence[MovingPart], q: Array, armature: Array) -> Array:
    """The mass matrix of a tree by its composite bodies, shape (nv, nv).

    Source: Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2.

    Args:
        parts: The tree.
        q: Configuration, shape (nq,).
        armature: Inertia of rotors, shape (nv,).
    """
    poses = poses_of(parts, q)
    columns, carried = columns_of(parts, poses), carried_by(parts)
    whole = [np.zeros((6, 6)), *map(_about_ground, parts, poses[1:])]
    for b in range(len(parts), 0, -1):
        whole[parts[b - 1].parent] += whole[b]
    owner = np.repeat(np.arange(1, len(parts) + 1), [part.freedoms for part in parts])
    momenta = (np.array(whole)[owner] @ columns[..., None])[..., 0]
    # What a column moves, against itself and against those that carry it.
    below = momenta @ columns.T * carried[owner]
    M = below + np.where(owner[:, None] == owner, 0.0, below).T
    to_columns = rates_to_columns(parts, len(armature))
    return np.asarray(to_columns.T @ M @ to_columns + np.diag(armature))


def _about_ground(part: MovingPart, pose: Array) -> Array:
    """Spatial inertia of a part about the origin of the ground, shape (6, 6)."""
    to_part = _to(pose)
    return np.asarray(to_part.T @ part.inertia @ to_part)


@lru_cache(maxsize=1)  # several tables of a machine are made from it
def posed_anyhow(machine: Machine) -> Posed:
    """The machine at joint values without any relation between them; its loops are open."""
    rng = np.random.default_rng(0)
    poses, inertias = [np.eye(4)], [np.zeros((6, 6))]
    for part in machine.parts:
        own = freedoms(part)
        value = rng.uniform(0.3, 1.2, own.shape[1]) * rng.choice((-1.0, 1.0), own.shape[1])
        T = poses[part.parent] @ part.placement @ screw.exp(own @ value)
        poses.append(T)
        inertias.append(_about_ground(part, T))
    columns = columns_of(machine.parts, poses)
    rows = (x.covectors @ _to(poses[x.first] @ x.row_frame) for x in machine.loops)
    return Posed(np.array(inertias), columns, tuple(rows))


def _to(T: Array) -> Array:
    """From twists in the ground to a frame."""
    return np.asarray(screw.adjoint(screw.inverse(T)))
