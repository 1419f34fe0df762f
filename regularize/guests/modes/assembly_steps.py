"""Steps of a plan: each finds some coordinates of many samples, by the best means for its loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.closed_form.solver import ClosedForm
from regularize.guests.modes.loop_chain import coupled
from regularize.guests.modes.loop_system import LoopSystem, Multistart, searched
from regularize.guests.modes.six_motions.eigen_loop import EigenLoop
from regularize.guests.modes.six_motions.elementary_loop import ElementaryLoop
from regularize.lie.arrays import Array
from regularize.mechanism.graph import CouplingRow
from regularize.tolerances import EXACT


@dataclass(frozen=True, eq=False)
class PartialSolutions:
    """Configurations of N samples."""

    rows: NDArray[np.intp]
    q: Array
    complete: NDArray[np.bool_]
    certain: NDArray[np.bool_]
    regularity: Array
    certificate: Array
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, q: Array) -> PartialSolutions:
        """What is given, one configuration each: nothing unknown has been found so far."""
        every = np.arange(len(q))
        return cls.among(q, every, np.arange(q.shape[1]), q)

    @classmethod
    def among(
        cls, q: Array, rows: NDArray[np.intp], columns: NDArray[np.intp], own: Array
    ) -> PartialSolutions:
        """Configurations with some coordinates entered into samples; all there are, unless said."""
        full = q[rows]
        full[:, columns] = own
        sure, unknown = np.ones(len(q), dtype=bool), np.full(len(q), np.nan)
        none = np.zeros(len(q), dtype=np.intp)
        return cls(rows, full, sure, sure, unknown, np.full(len(rows), np.nan), none)

    @classmethod
    def joined(cls, parts: Sequence[PartialSolutions]) -> PartialSolutions:
        """Those of several parts of the samples, in order."""
        counts = [len(part.complete) for part in parts]
        offsets = np.cumsum([0, *counts[:-1]])
        rows = [part.rows + k for part, k in zip(parts, offsets, strict=True)]
        names = [field.name for field in fields(cls) if field.name != "rows"]
        rest = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(np.concatenate(rows), **rest)

    def then(self, found: PartialSolutions) -> PartialSolutions:
        """The configurations that another step finds with these as its samples."""
        complete, certain, starts = self.complete.copy(), self.certain.copy(), self.starts.copy()
        regularity = self.regularity.copy()
        np.logical_and.at(complete, self.rows, found.complete)
        np.logical_and.at(certain, self.rows, found.certain)
        np.fmin.at(regularity, self.rows, found.regularity)
        np.add.at(starts, self.rows, found.starts)
        certificate = np.fmax(self.certificate[found.rows], found.certificate)
        rows = self.rows[found.rows]
        return PartialSolutions(rows, found.q, complete, certain, regularity, certificate, starts)


@dataclass(frozen=True, eq=False)
class AssemblyStep:
    """One step of a plan."""

    method: str
    sentences: tuple[str, ...]
    run: Callable[[Array, Multistart], PartialSolutions]
    ways: int = 1


def from_coupling(coupling: CouplingRow, column: int, q: Array, _: Multistart) -> PartialSolutions:
    """A coordinate that follows from a coupling."""
    q = np.array(q)
    q[:, column] = coupled(coupling, column, dict(enumerate(q.T)), 0.0)
    return PartialSolutions.of(q)


def from_formulas(
    form: ClosedForm, columns: NDArray[np.intp], q: Array, _: Multistart
) -> PartialSolutions:
    """All branches that can be assembled; known to be all where they are isolated."""
    system = form.closure
    solutions = form.solve(q[:, columns[list(form.columns)]])
    row, branch = np.nonzero(solutions.assembled)
    own = solutions.q[row, branch]
    polished, closed = system.projected(own, steps=2)
    # Corrections are of the size of rounding, or else these are no solutions.
    closed &= np.max(np.abs(polished - own), axis=1, initial=0.0) < EXACT.same
    complete = np.ones(len(q), dtype=bool)
    complete[row[~(closed & system.isolated(polished))]] = False
    result = PartialSolutions.among(q, row[closed], columns, polished[closed])
    return replace(result, complete=complete, certain=complete)


def from_eigenvalues(
    loop: ElementaryLoop, solver: EigenLoop, q: Array, _: Multistart
) -> PartialSolutions:
    """All real eigenvalues of a loop, and what proves that there are no other configurations."""
    found = solver.solve(loop.constants(q))
    kept = np.flatnonzero(loop.closes(found.closed.x))
    rows = found.rows[kept]
    own = loop.coordinates(found.closed.x[kept], q[rows])
    return replace(
        PartialSolutions.among(q, rows, np.arange(q.shape[1]), own),
        complete=found.complete,
        certain=found.complete,
        regularity=found.regularity,
        certificate=found.closed.h[kept],
    )


def from_iteration(
    system: LoopSystem, columns: NDArray[np.intp], q: Array, search: Multistart
) -> PartialSolutions:
    """What iteration from many starts finds; there may be more."""
    own = q[:, columns]
    rows, found, starts = searched(system, own, (np.zeros(0, dtype=np.intp), own[:0]), search)
    result = PartialSolutions.among(q, rows, columns, found)
    return replace(result, complete=np.zeros(len(q), dtype=bool), starts=starts)
