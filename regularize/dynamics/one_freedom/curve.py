r"""The configurations of a mechanism with one freedom as a curve, seen from its points.

Points hold the coordinates of all joints, those of the cuts included. Velocities are scaled
(lengths in units of the mechanism's size), so that directions and distances have no unit. With the
rows J of all loops, the tangent of the curve and the step towards it are

.. math:: J t = 0, \qquad \delta q = -J^+ r(q),

both from one singular value decomposition per point, all points at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import Edge, coordinate_names
from regularize.reduction.reduce import Reduction


class SingularPath(ModelError):
    """The curve of configurations runs through a singular configuration, where it may branch."""

    def __init__(self, where: str) -> None:
        """Say where, and what to use instead."""
        super().__init__(
            f"the mechanism has no single path: {where}, where the motion may branch; let it go "
            "straight on there: through=True, --through; or simulate in all joint coordinates: "
            'coordinates="all", --coordinates all'
        )


@dataclass(frozen=True, eq=False)
class Points:
    """N points on or near the curve.

    Attributes:
        q: Joint coordinates, shape (N, n).
        tangent: Unit tangents, scaled velocities, shape (N, n).
        correction: Steps towards the curve, across the tangent, shape (N, n).
        clearance: Smallest over largest singular value of the rows, shape (N,).
        extended: The rows on scaled velocities and the tangent below them, shape (N, m + 1, n).
    """

    q: Array
    tangent: Array
    correction: Array
    clearance: Array
    extended: Array


class Curve:
    """The configurations that a mechanism with one freedom can reach.

    Args:
        reduction: The mechanism, analysed.
    """

    def __init__(self, reduction: Reduction) -> None:
        """Scale the coordinates, and find out which of them are angles that may run through."""
        self.reduction = reduction
        graph = reduction.graph
        self.loops = sized_loops(graph, reduction.q, tree=reduction.tree)
        self.n, self.units = self.loops.freedoms, self.loops.units
        self.tolerances = reduction.tolerances
        self.groups = [edge for edge in graph.edges if edge.group and edge.freedoms]
        grouped = {column for edge in self.groups for column in edge.columns}
        #: Columns whose coordinates are lengths or angles of their own.
        self.plain = [column for column in range(self.n) if column not in grouped]
        self.period = _periods(self.loops)

    def points(self, q: Array, along: Array) -> Points:
        """Everything about configurations (N, n); tangents point along given ones, (N, n)."""
        loops, n = self.loops, self.n
        if n == 1:
            tangent = np.where(along < 0.0, -1.0, 1.0)
            return Points(q, tangent, np.zeros_like(q), np.ones(len(q)), tangent[:, None])
        state = loops.state(q)
        errors = loops.residual(state)
        rows = loops.residual_jacobian(state) * self.units
        u, s, vt = np.linalg.svd(rows, full_matrices=rows.shape[1] < n)
        u, s, across, tangent = u[..., : n - 1], s[:, : n - 1], vt[:, : n - 1], vt[:, n - 1]
        tangent = tangent * np.where(np.sum(tangent * along, axis=1) < 0.0, -1.0, 1.0)[:, None]
        # A vanishing singular value is reported as such; until then nothing may overflow.
        divisor = np.maximum(s, 1e-300)[..., None]
        correction = -np.swapaxes(across, 1, 2) @ (
            (np.swapaxes(u, 1, 2) @ errors[..., None]) / divisor
        )
        extended = np.concatenate([rows, tangent[:, None]], axis=1)
        return Points(q, tangent, correction[..., 0], s[:, -1] / s[:, 0], extended)

    def moved(self, q: Array, step: Array) -> Array:
        """Configurations (N, n) after scaled steps (N, n)."""
        return self.loops.integrate(q, self.units * step)

    def differences(self, start: Array, end: Array) -> Array:
        """Scaled steps from configurations to others, shape (N, n)."""
        steps = (end - start) / self.units
        for edge in self.groups:
            columns = list(edge.columns)
            relative = screw.inverse(_pose(edge, start)) @ _pose(edge, end)
            steps[:, columns] = (screw.log(relative) @ edge.screws) / self.units[columns]
        return np.asarray(steps)

    def wrapped(self, steps: Array) -> Array:
        """Scaled steps (N, n) less the full turns of angles."""
        physical = steps * self.units
        return np.asarray((physical - self.turns(physical)) / self.units)

    def turns(self, change: Array) -> Array:
        """The full turns in changes of the coordinates, in their units, shape (..., n)."""
        whole = np.where(np.isfinite(self.period), self.period, 1.0)
        return np.where(np.isfinite(self.period), np.round(change / whole) * whole, 0.0)

    def embedded(self, q: Array) -> Array:
        """Smooth functions of the configuration, (N, k): plain coordinates, then group poses."""
        poses = [_pose(edge, q)[:, :3].reshape(len(q), 12) for edge in self.groups]
        return np.concatenate([q[:, self.plain], *poses], axis=1)

    def embedded_rates(self, q: Array, v: Array) -> Array:
        """Rates of what ``embedded`` makes of configurations at velocities (N, n), (N, k)."""
        rates = [
            (_pose(edge, q) @ screw.hat(v[:, list(edge.columns)] @ edge.screws.T))[:, :3]
            for edge in self.groups
        ]
        return np.concatenate([v[:, self.plain], *(r.reshape(len(q), 12) for r in rates)], axis=1)

    def restored(self, embedded: Array) -> Array:
        """Configurations (N, n) from what ``embedded`` made of them."""
        N = len(embedded)
        q = np.zeros((N, self.n))
        q[:, self.plain] = embedded[:, : len(self.plain)]
        start = len(self.plain)
        for edge in self.groups:
            pose = np.tile(np.eye(4), (N, 1, 1))
            pose[:, :3] = embedded[:, start : start + 12].reshape(N, 3, 4)
            q[:, list(edge.columns)] = screw.log(pose) @ edge.screws
            start += 12
        return q

    def place(self, q: Array) -> str:
        """A configuration (n,) in words."""
        names = coordinate_names(self.reduction.mechanism)
        some = [f"{name} = {value:.4g}" for name, value in zip(names, q, strict=True)]
        return ", ".join(some[:6])


def _pose(edge: Edge, q: Array) -> Array:
    """Motions of a group joint at configurations, shape (N, 4, 4)."""
    return screw.exp(q[:, list(edge.columns)] @ edge.screws.T)


def _periods(loops: LoopKinematics) -> Array:
    """Change of every coordinate after which its joint is where it was, infinite if none, (n,)."""
    period = np.full(loops.freedoms, np.inf)
    for edge in loops.graph.edges:
        if edge.group:
            continue
        for column, axis in zip(edge.columns, edge.screws.T, strict=True):
            rate = float(np.linalg.norm(axis[3:]))
            if rate > 0.0 and abs(axis[:3] @ axis[3:]) < 1e-12 * rate**2:
                period[column] = 2.0 * np.pi / rate
    return read_only(period)
