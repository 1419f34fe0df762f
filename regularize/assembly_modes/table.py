"""Configurations of many samples: one list while they are looked for, one table as the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.assembly_plan import AssemblyPlan
from regularize.assembly_modes.assembly_steps import Found
from regularize.assembly_modes.found_poses import Configurations
from regularize.assembly_modes.grouping import table_of
from regularize.assembly_modes.loop_system import LoopSystem
from regularize.assembly_modes.phase_unwrapping import Turns
from regularize.lie.screw import Array, read_only
from regularize.model.graph import Graph


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the configurations rest on.

    Attributes:
        loops: One sentence per loop: how it was solved, or why not.
        regularity: Smallest by largest singular value of the matrix polynomial of the worst loop
            that is solved by eigenvalues; of rounding size where its determinant vanishes
            identically; NaN without eigenvalues; shape (...).
        certificate: The largest number of Kantorovich of these loops at each configuration; up to
            one half it proves that there is one and only one configuration of each near it;
            infinite where there is no proof, NaN without eigenvalues; shape (..., solutions).
        starts: Random starts of the iteration, shape (...).
    """

    loops: tuple[str, ...]
    regularity: Array
    certificate: Array
    starts: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class AssemblyModes(Configurations):
    """Configurations of a mechanism at some inputs; leading axes are those of the inputs.

    Attributes:
        graph: The mechanism's graph.
        q: Coordinates of all joints in radians and metres, filled up with NaN, shape
            (..., solutions, n).
        found: Which entries are configurations, shape (..., solutions).
        complete: Whether there are no others: every loop is solved by construction of a closed
            form, or by eigenvalues of a regular matrix polynomial that are all accounted for; all
            of them isolated. Slides of more than ten thousand sizes of their loop do not count.
            Never where a loop is iterated; shape (...).
        method: The least of what the loops need: ``closed form``, ``eigenvalues`` or
            ``iteration``; ``evidence.loops`` says what each is solved by.
        residual: Largest closure error, lengths in sizes of the mechanism, (..., solutions).
        evidence: What it rests on.
    """

    graph: Graph
    q: Array
    found: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    method: str
    residual: Array
    evidence: Evidence

    def __repr__(self) -> str:
        """How many there are and by what."""
        sure = "complete" if np.all(self.complete) else "there may be others"
        return f"<AssemblyModes: {int(np.sum(self.found))} by {self.method}, {sure}>"

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of configurations at each input, shape (...)."""
        return np.asarray(np.sum(self.found, axis=-1))


def joined(parts: Sequence[Found]) -> Found:
    """What was found of several parts of the samples, in order."""
    counts = [len(part.complete) for part in parts]
    offsets = np.cumsum([0, *counts[:-1]])
    rows = [part.rows + k for part, k in zip(parts, offsets, strict=True)]
    names = [field.name for field in fields(Found) if field.name != "rows"]
    rest = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Found(np.concatenate(rows), **rest)


def within_a_turn(q: Array, system: LoopSystem) -> Array:
    """The same configurations (K, n) with angles that were found between -pi and pi.

    Angles that are coupled to others count their turns.
    """
    coupled = {column for row in system.graph.couplings for column in row.columns}
    given = set(range(q.shape[1])) - set(system.unknown.tolist())
    return Turns(system.graph, given | coupled).near(q, np.zeros(q.shape[1]))


def packed(
    results: Found, plan: AssemblyPlan, system: LoopSystem, shape: tuple[int, ...]
) -> AssemblyModes:
    """The list as a table of each sample's configurations, in order of their coordinates."""
    N = len(results.complete)
    results = replace(results, q=within_a_turn(results.q, system))
    keys = np.round(results.q[:, system.unknown], 8)
    order = np.lexsort((*keys.T[::-1], results.rows))
    rows = results.rows[order]

    def spread(values: Array) -> Array:
        table = table_of(rows, values[order], N)
        return read_only(table.reshape(*shape, *table.shape[1:]))

    residual = spread(system.error(results.q))
    return AssemblyModes(
        system.graph,
        spread(results.q),
        np.isfinite(residual),
        results.complete.reshape(shape),
        plan.method,
        residual,
        Evidence(
            plan.told,
            read_only(results.regularity.reshape(shape)),
            spread(results.certificate),
            results.starts.reshape(shape),
        ),
    )
