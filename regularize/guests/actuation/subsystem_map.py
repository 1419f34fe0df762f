"""The map of one subsystem: its chart, where it holds, and the ways both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from regularize.dynamics.tape.languages import columns
from regularize.errors import ModelError
from regularize.guests.actuation.affine_forms import inverses
from regularize.guests.actuation.chart import Chart, limits_of
from regularize.guests.actuation.conversion import ARRIVED, Conversion
from regularize.guests.actuation.domain import Domain
from regularize.guests.actuation.prover import FoundDomain, found_domain, proved_of
from regularize.guests.actuation.subsystems import motor_range
from regularize.lie.arrays import Array, Mask
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
SAME_BRANCH = 1e-7
#: Corners of the domain that are looked at for the range of joints.
CORNERS = 20_000


@dataclass(frozen=True, eq=False)
class SubsystemMap:
    """The map of one subsystem, with the places of its motors and joints in the whole map."""

    motors: tuple[int, ...]
    joints: tuple[int, ...]
    chart: Chart
    found: FoundDomain
    forward: Conversion | None
    backward: Conversion | None

    @property
    def domain(self) -> Domain:
        """Boxes of motor values on which it holds."""
        return self.found.domain

    @classmethod
    def of(
        cls,
        places: tuple[Sequence[int], Sequence[int]],
        chart: Chart,
        found: FoundDomain,
        inverse: Chart | None,
    ) -> SubsystemMap:
        """Make the map with conversions that arrive at all samples of the domain.

        Where motors are formulas of the joints as well, on the same branch (``inverse``), these are
        the way back.
        """
        theta, z = found.samples(SAMPLES, np.random.default_rng(0))
        k, n = theta.shape[1], z.shape[1]
        q = columns(chart.values, z)[:, n : n + k]
        good = np.isfinite(z).all(axis=1) & np.isfinite(q).all(axis=1)
        theta, q, z = theta[good], q[good], z[good]
        forward, backward = _conversion(chart, False, theta, z), None
        if inverse is not None:
            seen = columns(inverse.values, q)[:, :k]
            if np.abs(seen - theta).max() < SAME_BRANCH:
                backward = Conversion.of(inverse, True, q, q)
        backward = backward or _conversion(chart, True, q, z)
        if backward is not None:
            corners = found.domain.corners(CORNERS)
            ends = forward.found_at(corners) if forward is not None else q[:0]
            backward = backward.within(np.concatenate([q, ends]))
        return cls(tuple(places[0]), tuple(places[1]), chart, found, forward, backward)

    def solved(self, x: Array, back: bool) -> tuple[Array, Array]:
        """Return the other side (N, k) and parameters (N, n) of one side; NaN where none is."""
        conversion, k = (self.backward if back else self.forward), x.shape[1]
        n = len(self.chart.parameters)
        if conversion is None:
            result, z, good = self._searched(x, back)
        else:
            parts = [x[i : i + CHUNK] for i in range(0, len(x), CHUNK)]
            values = [columns(conversion.program, part) for part in parts]
            every = np.concatenate(values) if values else np.zeros((0, k + n))
            result, z = every[:, :k], every[:, k : k + n]
            good = np.isfinite(every).all(axis=1)
            good &= (np.abs(every[:, k + n :]) <= ARRIVED).all(axis=1)
        good = good & self.domain.contains(result if back else x)
        return np.where(good[:, None], result, np.nan), np.where(good[:, None], z, np.nan)

    @cached_property
    def _places(self) -> tuple[tuple[Any, Any], Array]:
        """Trees of motors and of joints of many samples, where searches begin, and parameters."""
        from scipy.spatial import cKDTree  # where a search begins

        _, z = self.found.samples(20 * SAMPLES, np.random.default_rng(1))
        z = z[np.asarray(np.isfinite(z).all(axis=1))]
        values, n, k = columns(self.chart.values, z), z.shape[1], len(self.motors)
        return (cKDTree(values[:, :k]), cKDTree(values[:, n : n + k])), z

    def _searched(self, x: Array, back: bool) -> tuple[Array, Array, Mask]:
        """Return the same as ``solved`` by Newton's steps from the nearest of many samples."""
        (trees, places), k = self._places, x.shape[1]
        finite = np.asarray(np.isfinite(x).all(axis=1))
        nearest = trees[back].query(np.where(finite[:, None], x, 0.0))[1]
        z, _ = self.found.prover.solved(x, places[nearest], back)
        sides = np.split(columns(self.chart.values, z)[:, : 2 * z.shape[1]], 2, axis=1)
        left = sides[back] - np.pad(x, ((0, 0), (0, z.shape[1] - k)))  # closures included
        return sides[not back][:, :k], z, np.abs(left).max(axis=1) <= EXACT.closed

    def jacobian(self, z: Array) -> Array:
        """Return derivatives of joints by motors, (N, k, k)."""
        (motors, joints), k = self.chart.rates(z), len(self.motors)
        return np.asarray(joints[:, :k] @ inverses(motors)[:, :, :k])

    def hessian(self, z: Array) -> Array:
        """Return second derivatives of joints by motors, (N, k, k, k)."""
        n, k = z.shape[1], len(self.motors)
        motors, joints = self.chart.rates(z)
        inverse = inverses(motors)
        bends = columns(self.chart.curvatures, z).reshape(len(z), 2, n, n, n)
        own = bends[:, 1] - np.einsum("nij,njab->niab", joints @ inverse, bends[:, 0])
        found = np.einsum("niab,nac,nbd->nicd", own, inverse, inverse, optimize=True)
        return np.asarray(found[:, :k, :k, :k])


@dataclass(frozen=True, eq=False)
class SubsystemMaps:
    """The maps of all subsystems, and the names of their motors and joints."""

    motor_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    drives: tuple[SubsystemMap, ...] = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether the domains of all subsystems are proved."""
        return all(each.domain.proved for each in self.drives)

    @property
    def share(self) -> float:
        """Which part of the motors' range the domain covers."""
        return float(np.prod([each.domain.share for each in self.drives]))


def subsystem_map(
    places: tuple[list[int], list[int]],
    chart: Chart,
    inverse: Chart | None,
    part: Graph,
    names: list[list[str]],
) -> SubsystemMap:
    """Return the map over what can be proved of the motors' range, or else followed."""
    bounds = stored_range(part, names[0], chart)
    followed = found_domain(chart, bounds, sampled=True) if chart.closures else None
    found = proved_of(followed) if followed else found_domain(chart, bounds, sampled=False)
    if found.domain.share < 0.9:
        followed = followed or found_domain(chart, bounds, sampled=True)
        if found.domain.share < ENOUGH * followed.domain.share:
            found = followed
    if not found.domain.share:
        raise ModelError(_no_domain(chart, bounds, names, part))
    return SubsystemMap.of(places, chart, found, inverse)


def _no_domain(chart: Chart, bounds: Array, names: list[list[str]], part: Graph) -> str:
    """Return why there is no map about the stored pose, and what to do."""
    start = columns(chart.program([*chart.motors, *chart.bounded]), chart.start[None])[0]
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
    """Return all joints' values at a closed pose within limits; nothing where none is found."""
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


def _conversion(chart: Chart, back: bool, x: Array, z: Array) -> Conversion | None:
    """Return a conversion of so many steps everywhere; None where none arrives."""
    try:
        return Conversion.of(chart, back, x, z)
    except ModelError:
        return None


def stored_range(part: Graph, motors: Sequence[str], chart: Chart) -> Array:
    """Return the range of motors about the stored pose, shape (k, 2)."""
    stored = columns(chart.values, chart.start[None])[0, : len(motors)]
    return motor_range(part, motors, stored)
