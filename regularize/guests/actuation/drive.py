"""The map of one subsystem: its chart, where it holds, and the ways both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from regularize.errors import ModelError
from regularize.guests.actuation.affine_forms import inverses
from regularize.guests.actuation.chart import Chart, limits_of
from regularize.guests.actuation.domain import Domain
from regularize.guests.actuation.prover import Grown, grown, proved_of
from regularize.guests.actuation.subsystems import motor_range
from regularize.guests.actuation.ways import ARRIVED, Way
from regularize.lie.arrays import Array
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import project
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.tolerances import EXACT

#: Samples that steps and polynomials are fitted to.
SAMPLES = 3000
#: States at a time: what is needed on the way stays in the processor's cache.
CHUNK = 8192
#: Proofs that reach less of what can be followed leave the domain to the latter.
ENOUGH = 0.5
#: Formulas back that differ by no more are of the same branch.
MIRRORED = 1e-7
#: Corners of the domain that are looked at for the range of joints.
CORNERS = 20_000


@dataclass(frozen=True, eq=False)
class Drive:
    """The map of one subsystem."""

    motors: tuple[int, ...]
    joints: tuple[int, ...]
    chart: Chart
    grown: Grown
    forward: Way | None
    backward: Way | None

    @property
    def domain(self) -> Domain:
        """Where it holds."""
        return self.grown.domain

    @classmethod
    def of(
        cls,
        places: tuple[Sequence[int], Sequence[int]],
        chart: Chart,
        grown: Grown,
        mirror: Chart | None,
    ) -> Drive:
        """With ways that arrive at all samples of the domain."""
        theta, z = grown.samples(SAMPLES, np.random.default_rng(0))
        k, n = theta.shape[1], z.shape[1]
        q = chart.arrays(chart.values, z)[:, n : n + k]
        good = np.isfinite(z).all(axis=1) & np.isfinite(q).all(axis=1)
        theta, q, z = theta[good], q[good], z[good]
        forward, backward = _way(chart, False, theta, z), None
        if mirror is not None:
            seen = mirror.arrays(mirror.values, q)[:, :k]
            if np.abs(seen - theta).max() < MIRRORED:
                backward = Way.of(mirror, True, q, q)
        backward = backward or _way(chart, True, q, z)
        if backward is not None:
            corners = grown.domain.corners(CORNERS)
            ends = forward.found_at(corners) if forward is not None else q[:0]
            backward = backward.within(np.concatenate([q, ends]))
        return cls(tuple(places[0]), tuple(places[1]), chart, grown, forward, backward)

    def solved(self, x: Array, back: bool) -> tuple[Array, Array]:
        """The other side and the parameters of what is given, (N, k) each; NaN where none is."""
        way, k = (self.backward if back else self.forward), x.shape[1]
        if way is None:
            return self._searched(x, back)
        parts = []
        for start in range(0, len(x), CHUNK):
            part = x[start : start + CHUNK]
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                results = way.program(*np.ascontiguousarray(part.T))
            parts.append(np.stack([np.broadcast_to(y, len(part)) for y in results], axis=-1))
        n = len(self.chart.parameters)
        values = np.concatenate(parts) if parts else np.zeros((0, k + n))
        found, z = values[:, :k], values[:, k : k + n]
        theta = found if back else x
        good = self.domain.contains(theta) & np.isfinite(values).all(axis=1)
        good &= (np.abs(values[:, k + n :]) <= ARRIVED).all(axis=1)
        return np.where(good[:, None], found, np.nan), np.where(good[:, None], z, np.nan)

    @cached_property
    def _places(self) -> tuple[tuple[Any, Any], Array]:
        """Where searches begin: motors and joints of many samples as trees, and parameters."""
        from scipy.spatial import cKDTree  # where a search begins

        _, z = self.grown.samples(20 * SAMPLES, np.random.default_rng(1))
        z = z[np.asarray(np.isfinite(z).all(axis=1))]
        values, n, k = self.chart.arrays(self.chart.values, z), z.shape[1], len(self.motors)
        return (cKDTree(values[:, :k]), cKDTree(values[:, n : n + k])), z

    def _searched(self, x: Array, back: bool) -> tuple[Array, Array]:
        """The same by Newton's steps from the nearest of many samples."""
        (trees, places), k = self._places, x.shape[1]
        known = np.asarray(np.isfinite(x).all(axis=1))
        nearest = trees[back].query(np.where(known[:, None], x, 0.0))[1]
        z, _ = self.grown.prover.solved(x, places[nearest], back)
        sides = np.split(self.chart.arrays(self.chart.values, z)[:, : 2 * z.shape[1]], 2, axis=1)
        theta, found = x if not back else sides[0][:, :k], sides[not back][:, :k]
        left = sides[back] - np.pad(x, ((0, 0), (0, z.shape[1] - k)))  # closures included
        good = self.domain.contains(theta) & (np.abs(left).max(axis=1) <= EXACT.closed)
        return np.where(good[:, None], found, np.nan), np.where(good[:, None], z, np.nan)

    def slopes(self, z: Array) -> tuple[Array, Array]:
        """Derivatives of both sides of the chart by the parameters, (N, n, n) each."""
        n = z.shape[1]
        found = self.chart.arrays(self.chart.slopes, z).reshape(len(z), 2, n, n)
        return found[:, 0], found[:, 1]

    def jacobian(self, z: Array) -> Array:
        """Derivatives of joints by motors, (N, k, k)."""
        (motors, joints), k = self.slopes(z), len(self.motors)
        return np.asarray(joints[:, :k] @ inverses(motors)[:, :, :k])

    def hessian(self, z: Array) -> Array:
        """Second derivatives of joints by motors, (N, k, k, k)."""
        n, k = z.shape[1], len(self.motors)
        motors, joints = self.slopes(z)
        inverse = inverses(motors)
        bends = self.chart.arrays(self.chart.curvatures, z).reshape(len(z), 2, n, n, n)
        own = bends[:, 1] - np.einsum("nij,njab->niab", joints @ inverse, bends[:, 0])
        found = np.einsum("niab,nac,nbd->nicd", own, inverse, inverse, optimize=True)
        return np.asarray(found[:, :k, :k, :k])


@dataclass(frozen=True, eq=False)
class Subsystems:
    """Subsystems together."""

    motor_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    drives: tuple[Drive, ...] = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether the domains of all are proved."""
        return all(each.domain.proved for each in self.drives)

    @property
    def share(self) -> float:
        """Which part of the motors' range they cover."""
        return float(np.prod([each.domain.share for each in self.drives]))


def made(
    own: tuple[list[int], list[int]],
    chart: Chart,
    mirror: Chart | None,
    part: Graph,
    names: list[list[str]],
) -> Drive:
    """The map of a subsystem over what can be proved of its range, or else followed."""
    bounds = stored_range(part, names[0], chart)
    followed = grown(chart, bounds, sampled=True) if chart.closures else None
    found = proved_of(followed) if followed else grown(chart, bounds, sampled=False)
    if found.domain.share < 0.9:
        followed = followed or grown(chart, bounds, sampled=True)
        if found.domain.share < ENOUGH * followed.domain.share:
            found = followed
    if not found.domain.share:
        raise ModelError(_no_domain(chart, bounds, names, part))
    return Drive.of(own, chart, found, mirror)


def _no_domain(chart: Chart, bounds: Array, names: list[list[str]], part: Graph) -> str:
    """Why there is no map about the stored pose, and what to do."""
    start = chart.arrays(chart.program([*chart.motors, *chart.bounded]), chart.start[None])[0]
    low, high = np.concatenate([bounds, chart.bounds]).T
    beyond = ~((start >= low) & (start <= high))
    told = [f"{n} is at {x:.4g}" for n, x, b in zip(names[0], start, beyond, strict=False) if b]
    told += ["a joint is"] if len(told) < beyond.sum() else []
    why = f"outside of limits ({', '.join(told)})" if told else "singular"
    pose = _within(part, names[0]) if told else {}
    pose = pose or {chart.names[0]: [round(float(chart.start[0]) + 0.2, 3)]}
    return (
        f"the map from {', '.join(names[0])} to {', '.join(names[1])} has no domain: the stored "
        f"pose is {why}; store another pose, such as rg.load(file).with_positions({pose})"
    )


def _within(part: Graph, motors: Sequence[str]) -> dict[str, list[float]]:
    """All joints at a closed pose within limits, motors amid theirs; empty where none is found."""
    limits, q = limits_of(part), part.position.copy()
    limited = np.asarray(np.isfinite(limits).all(axis=1))
    q[limited] = limits[limited].mean(axis=1)
    held = np.isin(coordinate_names(part.mechanism), motors)
    found = project(sized_loops(part, q), q[None], held=held, damped=True)
    q = found.q[0]
    if not found.error[0] <= EXACT.same or not ((q >= limits[:, 0]) & (q <= limits[:, 1])).all():
        return {}
    own: dict[str, list[float]] = {
        joint.name: [] for joint in part.mechanism.joints if joint.freedoms
    }
    for name, value in zip(coordinate_names(part.mechanism), q.round(3).tolist(), strict=True):
        own[name if name in own else name.rpartition("[")[0]].append(value)
    return own


def _way(chart: Chart, back: bool, x: Array, z: Array) -> Way | None:
    """A way of so many steps everywhere; None where none arrives, near singularities."""
    try:
        return Way.of(chart, back, x, z)
    except ModelError:
        return None


def stored_range(part: Graph, motors: Sequence[str], chart: Chart) -> Array:
    """Range of motors about the stored pose, shape (k, 2)."""
    stored = chart.arrays(chart.values, chart.start[None])[0, : len(motors)]
    return motor_range(part, motors, stored)
