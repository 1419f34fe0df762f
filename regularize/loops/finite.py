"""Finite mobility at a configuration where loops allow velocities that no motion follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from regularize.lie.arrays import Array, Coordinates, Mask, Rates, Residual, Wrench, read_only
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import retracted
from regularize.loops.second_order import definite, never_together, second_order
from regularize.tolerances import Tolerances

#: What the number of finite freedoms rests on, the strongest first: as many were followed as the
#: rank leaves; a self-stress forbids all other velocities; terms of higher order do; these were
#: followed, and others were not; or nothing is known.
Evidence: TypeAlias = Literal[
    "counted",
    "second order",
    "order 3",
    "order 4",
    "order 5",
    "order 6",
    "order 7",
    "order 8",
    "moved",
    "undecided",
]
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


@dataclass(frozen=True, eq=False, repr=False)
class LocalMobility:
    """Number of freedoms of finite motions at a configuration (None: not known), and evidence."""

    mobility: int | None
    evidence: Evidence
    q: Coordinates
    followed: Array  # basis of the velocities that motions follow, scaled, (n, mobility)
    cut: Array  # basis of the velocities that loops allow and no motion follows, (n, c)
    #: The self-stress that makes these impossible: the wrench that each edge hands on from its
    #: parent to its child, about the origin of the loops' root frame, largest force one.
    stress: Wrench | None = None


@dataclass(frozen=True, eq=False, repr=False)
class LocalBranch:
    """One of the branches that meet at a configuration."""

    rank: int  # of the closure equations on it
    local: LocalMobility  # at the first of its ends
    way: Rates  # scaled direction from the configuration to that end
    ends: Coordinates  # one or two configurations on it nearby, in opposite directions

    @property
    def mobility(self) -> int | None:
        """Number of its freedoms; None where it is not known."""
        return self.local.mobility


def finite_mobility(
    loops: LoopKinematics,
    q: Coordinates,
    rank: int,
    tolerances: Tolerances,
    rng: np.random.Generator,
) -> LocalMobility:
    """Find the finite mobility at a closed configuration (n,) where closure has this rank."""
    tangent = second_order(loops, q, rank, tolerances.rank)
    kernel = tangent.kernel
    d = kernel.shape[1]
    across = np.linalg.svd(kernel)[0][:, d:]
    forms = across.T @ tangent.forms @ across
    weights = definite(forms, tangent.level)
    free, cut = tangent.motions @ kernel, tangent.motions @ across
    if follows(loops, q, free, rng):
        if across.shape[1] == 0:
            return LocalMobility(d, "counted", read_only(q), free, cut)
        if weights is not None:
            stress = _edge_wrenches(loops, tangent.stresses @ weights)
            return LocalMobility(d, "second order", read_only(q), free, cut, stress)
        if never_together(forms, tangent.level):
            return LocalMobility(d, "second order", read_only(q), free, cut)
    headings = _headings(tangent.motions, rng)
    ways, reached = _ways(loops, q, headings)
    followed = _basis(ways[reached]).T
    linear = followed.shape[1] <= tangent.motions.shape[1]  # the rank leaves no more
    if not (linear and _linear(headings[reached], ways[reached], tangent.motions)):
        followed = followed[:, :0]  # what several motions follow that meet is more than each does
    d = followed.shape[1]
    cut = tangent.motions @ np.linalg.svd(tangent.motions.T @ followed)[0][:, d:]
    evidence: Evidence = "moved" if d else "undecided"
    return LocalMobility(d or None, evidence, read_only(q), followed, cut)


def _headings(basis: Array, rng: np.random.Generator) -> Rates:
    """Draw velocities in general position in a space, largest entry one, shape (3 k + 6, n)."""
    k = basis.shape[1]
    headings = rng.normal(size=(3 * k + 6 if k else 0, k)) @ basis.T
    return np.asarray(headings / np.max(np.abs(headings), axis=1, initial=0.0, keepdims=True))


def _edge_wrenches(loops: LoopKinematics, stress: Residual) -> Wrench:
    """Convert a self-stress of the loops to the wrench on each edge's child, in the root frame."""
    chords = stress[: 6 * len(loops.chords)].reshape(-1, 6)
    wrenches = -loops.edge_incidence.T @ chords
    force = wrenches[:, :3] / loops.length
    moment = wrenches[:, 3:] + np.cross(loops.center, force)
    largest = np.max(np.linalg.norm(force, axis=1), initial=0.0)
    size = largest or np.max(np.linalg.norm(moment, axis=1), initial=0.0) or 1.0
    return read_only(np.hstack([force, moment]) / size)


def followed_velocities(
    loops: LoopKinematics, q: Coordinates, headings: Rates, held: Mask | None = None
) -> Array:
    """Return a basis (k, n) of what projection leaves of small steps along random velocities."""
    ways, reached = _ways(loops, q, headings, held)
    return _basis(ways[reached])


def _basis(ways: Rates) -> Array:
    """Return a basis (k, n) of the span of displacements, without what curvature adds."""
    if len(ways) == 0:
        return ways
    _, sizes, V = np.linalg.svd(ways / np.sqrt(len(ways)), full_matrices=False)
    return np.asarray(V[sizes > 0.1 * max(1.0 / np.sqrt(ways.shape[1]), float(sizes[0]))])


def _ways(
    loops: LoopKinematics,
    q: Coordinates,
    headings: Rates,
    held: Mask | None = None,
    step: float = 0.1,
) -> tuple[Rates, Mask]:
    """Project steps along headings; return displacements per step, and which ended nearby."""
    # Forbidden by terms of order m, a step of length s is taken back until s**m is rounding.
    _, ways, closed = retracted(loops, q, step * headings, held)
    ways /= step
    # The start itself is no farther away than a step.
    near = np.linalg.norm(ways - headings, axis=1) <= 1.25 * np.linalg.norm(headings, axis=1)
    return ways, closed & near


def follows(loops: LoopKinematics, q: Coordinates, basis: Array, rng: np.random.Generator) -> bool:
    """Return whether finite motions follow random velocities of a space, given its basis (n, k)."""
    headings = _headings(basis, rng)
    ways, reached = _ways(loops, q, headings)
    off = np.linalg.norm(ways - headings, axis=1) / np.linalg.norm(headings, axis=1)
    return bool(np.all(reached & (off <= 0.25)))


def _linear(headings: Rates, ways: Rates, motions: Array) -> bool:
    """Return whether projection acts on all headings as one linear map: there is one branch."""
    before, after = headings @ motions, ways @ motions
    share, *_ = np.linalg.lstsq(before, after)
    off = np.linalg.norm(before @ share - after, axis=1) / np.linalg.norm(before, axis=1)
    return len(before) > 2 * motions.shape[1] and bool(np.all(off <= 0.25))
