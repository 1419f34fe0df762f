"""Finite mobility at a configuration where loops allow velocities that no motion follows.

What is known of the finite motions at a configuration, and of the branches that meet there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from regularize.lie.arrays import Array, read_only
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import Mask, retracted
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
    "moved",
    "undecided",
]
#: The same as a list.
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


@dataclass(frozen=True, eq=False, repr=False)
class LocalMobility:
    """How many freedoms finite motions have at a configuration, and why.

    Attributes:
        mobility: Their number; None where it is not known.
        evidence: What it rests on.
        q: The configuration, shape (n,).
        followed: Basis of the velocities that motions follow, scaled, shape (n, mobility).
        cut: Basis of the velocities that are allowed and that no motion follows, shape (n, c).
        stress: The self-stress that makes these impossible: the wrench that each edge hands on from
            its parent to its child, force first, about the origin of the loops' root frame, largest
            force one, shape (edges, 6). None where none was needed or found.
    """

    mobility: int | None
    evidence: Evidence
    q: Array
    followed: Array
    cut: Array
    stress: Array | None = None


@dataclass(frozen=True, eq=False, repr=False)
class LocalBranch:
    """One of the branches that meet at a configuration.

    Attributes:
        rank: Rank of the closure equations on it.
        local: What is known of its motions at the first of its ends.
        way: Scaled direction from the configuration to that end, shape (n,).
        ends: Configurations on it nearby, in opposite directions where there are two, shape (m, n).
    """

    rank: int
    local: LocalMobility
    way: Array
    ends: Array

    @property
    def mobility(self) -> int | None:
        """Number of its freedoms; None where it is not known."""
        return self.local.mobility


def finite_mobility(
    loops: LoopKinematics, q: Array, rank: int, tolerances: Tolerances, rng: np.random.Generator
) -> LocalMobility:
    """Finite mobility from the forms of second order and from motions that can be followed.

    Where every combination of the directions in which the forms leave the rank alone can be
    followed, and a combination of the forms is definite on the others, both together prove it. So
    they do where the forms only never vanish together.

    Args:
        loops: Kinematics of the loops.
        q: A closed configuration, shape (n,).
        rank: Rank of the closure equations there.
        tolerances: What counts as closed and as dependent.
        rng: Source of random directions.
    """
    found = second_order(loops, q, rank, tolerances.rank)
    kernel = found.kernel
    d = kernel.shape[1]
    rest = np.linalg.svd(kernel)[0][:, d:]
    forms = np.swapaxes(rest, 0, 1) @ found.forms @ rest
    weights = definite(forms, found.level)
    free, cut = found.motions @ kernel, found.motions @ rest
    if follows(loops, q, free, rng):
        if rest.shape[1] == 0:
            return LocalMobility(d, "counted", read_only(q), free, cut)
        if weights is not None:
            stress = edge_wrenches(loops, found.stresses @ weights)
            return LocalMobility(d, "second order", read_only(q), free, cut, stress)
        if never_together(forms, found.level):
            return LocalMobility(d, "second order", read_only(q), free, cut)
    headings = _headings(found.motions, rng)
    ways, reached = _ways(loops, q, headings)
    followed = _basis(ways[reached]).T
    linear = followed.shape[1] <= found.motions.shape[1]  # the rank leaves no more
    if not (linear and _linear(headings[reached], ways[reached], found.motions)):
        followed = followed[:, :0]  # what several motions follow that meet is more than each does
    left = np.linalg.svd(found.motions.T @ followed)[0][:, followed.shape[1] :]
    some = followed.shape[1] > 0
    return LocalMobility(
        followed.shape[1] if some else None,
        "moved" if some else "undecided",
        read_only(q),
        followed,
        found.motions @ left,
    )


def _headings(basis: Array, rng: np.random.Generator) -> Array:
    """Velocities in general position in a space, largest entry one, shape (3 k + 6, n)."""
    k = basis.shape[1]
    headings = rng.normal(size=(3 * k + 6 if k else 0, k)) @ basis.T
    return np.asarray(headings / np.max(np.abs(headings), axis=1, initial=0.0, keepdims=True))


def edge_wrenches(loops: LoopKinematics, stress: Array) -> Array:
    """A self-stress (m,) as wrenches on the children of all edges, root frame, shape (edges, 6)."""
    chords = stress[: 6 * len(loops.chords)].reshape(-1, 6)
    wrenches = -loops.edge_incidence.T @ chords
    force = wrenches[:, :3] / loops.length
    moment = wrenches[:, 3:] + np.cross(loops.center, force)
    largest = np.max(np.linalg.norm(force, axis=1), initial=0.0)
    size = largest or np.max(np.linalg.norm(moment, axis=1), initial=0.0) or 1.0
    return read_only(np.hstack([force, moment]) / size)


def followed_velocities(
    loops: LoopKinematics, q: Array, headings: Array, held: Mask | None = None
) -> Array:
    """A basis of the velocities that motions really follow, scaled, shape (k, n).

    Where a mechanism is shaky, loops allow velocities that no motion follows: corrections of small
    steps take nearly all of them back.

    Args:
        loops: Kinematics of the loops.
        q: A closed configuration, shape (n,).
        headings: Velocities that the loops allow, in general position among them, largest entry
            one, scaled, shape (m, n).
        held: Velocities that stay zero, shape (n,).
    """
    ways, reached = _ways(loops, q, headings, held)
    return _basis(ways[reached])


def _basis(ways: Array) -> Array:
    """A basis of what ways span but for what is curved, shape (k, n)."""
    if len(ways) == 0:
        return ways
    _, sizes, V = np.linalg.svd(ways / np.sqrt(len(ways)), full_matrices=False)
    return np.asarray(V[sizes > 0.1 * max(1.0 / np.sqrt(ways.shape[1]), float(sizes[0]))])


def _ways(
    loops: LoopKinematics, q: Array, headings: Array, held: Mask | None = None, step: float = 0.1
) -> tuple[Array, Mask]:
    """Where steps along headings lead, by the length of the steps, (m, n), and which end there.

    The steps must not be too small: forbidden by terms of order m, one of length s is taken back
    until s to the power m is rounding.
    """
    _, ways, closed = retracted(loops, q, step * headings, held)
    ways /= step
    # The start itself is no farther away than a step.
    near = np.linalg.norm(ways - headings, axis=1) <= 1.25 * np.linalg.norm(headings, axis=1)
    return ways, closed & near


def follows(loops: LoopKinematics, q: Array, basis: Array, rng: np.random.Generator) -> bool:
    """Whether motions follow velocities in general position in a space, basis (n, k)."""
    headings = _headings(basis, rng)
    ways, reached = _ways(loops, q, headings)
    off = np.linalg.norm(ways - headings, axis=1) / np.linalg.norm(headings, axis=1)
    return bool(np.all(reached & (off <= 0.25)))


def _linear(headings: Array, ways: Array, motions: Array) -> bool:
    """Whether corrections take a part of all headings back, the same one: one motion is here."""
    before, after = headings @ motions, ways @ motions
    share, *_ = np.linalg.lstsq(before, after)
    off = np.linalg.norm(before @ share - after, axis=1) / np.linalg.norm(before, axis=1)
    return len(before) > 2 * motions.shape[1] and bool(np.all(off <= 0.25))
