"""Where a tree's links are, how they move, and steps between their configurations.

A tangent step of a ball, a plane or a free body is a twist in its own frame, linear part first, and
its coordinates end in a unit quaternion x y z w, or a cosine and a sine, as in Pinocchio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.step.multibody import Link, MultibodyTree
from regularize.lie import screw
from regularize.lie.arrays import Array

#: Freedoms of groups of motions in the link's own frame.
GROUPS = {"spherical": np.eye(6)[:, 3:], "free": np.eye(6), "planar": np.eye(6)[:, [0, 1, 5]]}


@dataclass(frozen=True, eq=False, repr=False)
class Posed:
    """Inertias (links, 6, 6), columns (columns, 6) and rows about the origin of the ground."""

    inertias: Array
    columns: Array
    covectors: tuple[Array, ...]


def freedoms(link: Link) -> Array:
    """Return the freedoms of a link in its own frame, shape (6, f)."""
    if link.kind in GROUPS:
        return GROUPS[link.kind]
    if link.kind == "prismatic":
        return screw.prismatic(link.axis)[:, None]
    return np.concatenate([link.pitch * link.axis, link.axis])[:, None]


def moved(link: Link, q: Array) -> Array:
    """Return a link's displacement from its zero position at a configuration (nq,), (4, 4)."""
    x = q[link.coordinate : link.coordinate + link.coordinates]
    if link.kind in GROUPS:
        return _pose(link.kind, x)
    value = np.arctan2(x[1], x[0]) if link.kind == "continuous" else x[0]
    return screw.exp(freedoms(link)[:, 0] * (link.scaling * value + link.offset))


def poses_of(links: Sequence[Link], q: Array) -> list[Array]:
    """Return poses of the ground and of all links at a configuration (nq,)."""
    poses = [np.eye(4)]
    for link in links:
        poses.append(poses[link.parent] @ link.placement @ moved(link, q))
    return poses


def columns_of(links: Sequence[Link], poses: Sequence[Array]) -> Array:
    """Return the twist of each column about the origin of the ground, shape (columns, 6)."""
    twists = [
        (screw.adjoint(T) @ freedoms(link)).T for link, T in zip(links, poses[1:], strict=True)
    ]
    return np.vstack([np.zeros((0, 6)), *twists])


@lru_cache(maxsize=1)  # several tables of a tree are made from it
def random_pose(tree: MultibodyTree) -> Posed:
    """Return inertias, columns and rows at random joint values, where loops are open."""
    rng = np.random.default_rng(0)
    poses, inertias = [np.eye(4)], [np.zeros((6, 6))]
    for link in tree.links:
        columns_of_link = freedoms(link)
        value = rng.uniform(0.3, 1.2, columns_of_link.shape[1]) * rng.choice(
            (-1.0, 1.0), columns_of_link.shape[1]
        )
        T = poses[link.parent] @ link.placement @ screw.exp(columns_of_link @ value)
        poses.append(T)
        to_link = screw.adjoint(screw.inverse(T))
        inertias.append(to_link.T @ link.inertia @ to_link)
    columns = columns_of(tree.links, poses)
    frames = ((x, poses[x.first] @ x.row_frame) for x in tree.loops)
    rows = (x.covectors @ screw.adjoint(screw.inverse(T)) for x, T in frames)
    return Posed(np.array(inertias), columns, tuple(rows))


#: Freedoms of links with several coordinates, in their own frames.
_FREEDOMS = {"continuous": np.eye(6)[:, 5:], **GROUPS}
#: How many of their coordinates are a place, and which one is one where they are at zero.
_PLACES = {"continuous": 0, "spherical": 0, "free": 3, "planar": 2}
_ONE = {"continuous": 0, "spherical": 3, "free": 6, "planar": 2}


class ConfigurationSpace:
    """The configurations of a tree."""

    def __init__(self, links: Sequence[Link], nq: int, nv: int) -> None:
        self._nq, self._nv = nq, nv
        own = [link for link in links if not link.follows]
        plain = [link for link in own if link.kind not in _ONE]
        self._places: NDArray[np.intp] = np.array([p.coordinate for p in plain], dtype=np.intp)
        self._rates: NDArray[np.intp] = np.array([p.rate for p in plain], dtype=np.intp)
        #: Kinds with several coordinates, and indices of these in q and of their rates in v.
        self._others: list[tuple[str, NDArray[np.intp], NDArray[np.intp]]] = []
        for kind in _ONE:
            same = [link for link in own if link.kind == kind]
            if same:
                places = np.array([p.coordinate + np.arange(p.coordinates) for p in same])
                self._others.append(
                    (kind, places, np.array([p.rate + np.arange(p.freedoms) for p in same]))
                )

    @property
    def flat(self) -> bool:
        """Whether every velocity is the rate of a coordinate."""
        return not self._others

    @property
    def neutral(self) -> Array:
        """The configuration in which all joints are at zero, shape (nq,)."""
        q = np.zeros(self._nq)
        for kind, places, _ in self._others:
            q[places[:, _ONE[kind]]] = 1.0
        return q

    def integrate(self, q: Array, step: Array) -> Array:
        """Return where a tangent step (nv,) leads from a configuration, (nq,)."""
        result = np.array(q, dtype=np.float64)
        result[self._places] += step[self._rates]
        for kind, places, rates in self._others:
            twists = step[rates] @ _FREEDOMS[kind].T
            reached = _pose(kind, q[places]) @ screw.exp(twists)
            result[places] = _coordinates(kind, q[places], reached, twists)
        return result

    def difference(self, start: Array, end: Array) -> Array:
        """Return tangent steps from a configuration (nq,) to others (..., nq), (..., nv)."""
        result = np.zeros((*end.shape[:-1], self._nv))
        result[..., self._rates] = end[..., self._places] - start[self._places]
        for kind, places, rates in self._others:
            begun = screw.inverse(_pose(kind, start[places]))
            twists = screw.log(begun @ _pose(kind, end[..., places]))
            result[..., rates] = twists @ _FREEDOMS[kind]
        return result

    def velocity_by_step(self, step: Array) -> Array:
        r"""Velocities by rates of a tangent step at its end, shape (nv, nv)."""
        result = np.eye(self._nv)
        for kind, _, rates in self._others:
            group = _FREEDOMS[kind]
            twists, unit = step[rates] @ group.T, np.eye(group.shape[1])
            halvings = max(0, 3 + math.frexp(float(np.abs(twists[:, 3:]).max()))[1])
            minus = group.T @ screw.ad(twists / -(2.0**halvings)) @ group
            total = unit
            for k in range(11, 1, -1):  # the rest is rounding
                total = unit + minus @ total / k
            turned = unit + minus @ total
            for _ in range(halvings):
                total, turned = 0.5 * (unit + turned) @ total, turned @ turned
            result[rates[:, :, None], rates[:, None, :]] = total
        return result


def _pose(kind: str, q: Array) -> Array:
    """Return poses of links of a kind by their coordinates (..., c), shape (..., 4, 4)."""
    T, count = np.zeros((*q.shape[:-1], 4, 4)), _PLACES[kind]
    T[..., :count, 3], T[..., 3, 3] = q[..., :count], 1.0
    if kind in ("spherical", "free"):
        T[..., :3, :3] = screw.rotation_of(q[..., count:])
    else:
        T[..., 0, 0] = T[..., 1, 1] = q[..., -2]
        T[..., 1, 0], T[..., 0, 1], T[..., 2, 2] = q[..., -1], -q[..., -1], 1.0
    return T


def _coordinates(kind: str, q: Array, poses: Array, twists: Array) -> Array:
    """Return coordinates (G, c) of links that twists have led from poses to others."""
    places = poses[:, : _PLACES[kind], 3]
    if kind in ("continuous", "planar"):
        turned = poses[:, :2, 0]
        size = np.hypot(turned[:, :1], turned[:, 1:])
        return np.concatenate([places, turned / size], axis=1)
    quaternions = np.array([screw.quaternion_of(T[:3, :3]) for T in poses])
    same = (quaternions * q[:, -4:]).sum(axis=1) >= 0.0
    if kind == "spherical":
        same = same == (np.cos(0.5 * np.sqrt((twists[:, 3:] ** 2).sum(axis=1))) >= 0.0)
    return np.concatenate([places, np.where(same[:, None], quaternions, -quaternions)], axis=1)
