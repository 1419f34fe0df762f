"""Steps of a plan: each finds some coordinates of many samples, by the best means for its loops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.closed_form.solver import ClosedForm
from regularize.assembly_modes.couplings import coupled
from regularize.assembly_modes.loop_system import LoopSystem
from regularize.assembly_modes.multistart import Multistart, searched
from regularize.assembly_modes.six_motions.eigen_loop import EigenLoop
from regularize.assembly_modes.six_motions.elementary_loop import ElementaryLoop
from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import CouplingRow


@dataclass(frozen=True, eq=False)
class Found:
    """Configurations of N samples.

    Attributes:
        rows: Sample of each configuration, shape (K,).
        q: Coordinates of all joints, shape (K, n).
        complete: Whether there are no others, shape (N,).
        certain: The same, what was iterated not counted, shape (N,).
        regularity: Of the worst loop that was solved by eigenvalues, or NaN, shape (N,).
        certificate: Largest number of Kantorovich of these loops, or NaN, shape (K,).
        starts: Random starts of the iteration, shape (N,).
    """

    rows: NDArray[np.intp]
    q: Array
    complete: NDArray[np.bool_]
    certain: NDArray[np.bool_]
    regularity: Array
    certificate: Array
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, q: Array) -> Found:
        """What is given, one configuration each: nothing unknown has been found so far."""
        every = np.arange(len(q))
        return cls.among(q, every, np.arange(q.shape[1]), q)

    @classmethod
    def among(
        cls, q: Array, rows: NDArray[np.intp], columns: NDArray[np.intp], own: Array
    ) -> Found:
        """Configurations with some coordinates entered into samples; all there are, unless said.

        Args:
            q: The samples, shape (N, n).
            rows: Sample of each configuration, shape (K,).
            columns: Coordinates that are entered, shape (k,).
            own: Their values, shape (K, k).
        """
        full = q[rows]
        full[:, columns] = own
        sure, unknown = np.ones(len(q), dtype=bool), np.full(len(q), np.nan)
        none = np.zeros(len(q), dtype=np.intp)
        return cls(rows, full, sure, sure, unknown, np.full(len(rows), np.nan), none)

    def then(self, found: Found) -> Found:
        """The configurations that another step finds with these as its samples."""
        complete, certain, starts = self.complete.copy(), self.certain.copy(), self.starts.copy()
        regularity = self.regularity.copy()
        np.logical_and.at(complete, self.rows, found.complete)
        np.logical_and.at(certain, self.rows, found.certain)
        np.fmin.at(regularity, self.rows, found.regularity)
        np.add.at(starts, self.rows, found.starts)
        certificate = np.fmax(self.certificate[found.rows], found.certificate)
        rows = self.rows[found.rows]
        return Found(rows, found.q, complete, certain, regularity, certificate, starts)


class AssemblyStep(Protocol):
    """One step of a plan."""

    @property
    def method(self) -> str:
        """``coupling``, ``closed form``, ``eigenvalues`` or ``iteration``."""

    @property
    def told(self) -> tuple[str, ...]:
        """What it does, one sentence per loop."""

    @property
    def ways(self) -> int:
        """Ways to assemble that there may be for one sample."""

    def run(self, q: Array, search: Multistart) -> Found:
        """Configurations of samples whose known coordinates are entered, shape (N, n)."""


@dataclass(frozen=True, eq=False)
class CouplingStep:
    """A coordinate that follows from a coupling."""

    coupling: CouplingRow
    column: int
    told: tuple[str, ...]
    method: str = "coupling"
    ways: int = 1

    def run(self, q: Array, search: Multistart) -> Found:
        """Enter the coordinate."""
        q = np.array(q)
        q[:, self.column] = coupled(self.coupling, self.column, dict(enumerate(q.T)), 0.0)
        return Found.of(q)


@dataclass(frozen=True, eq=False)
class FormulaStep:
    """Loops that are solved in closed form.

    Attributes:
        form: The formulas, of these loops alone.
        columns: Where their coordinates are among those of the mechanism.
    """

    form: ClosedForm
    columns: NDArray[np.intp]
    told: tuple[str, ...]
    method: str = "closed form"

    @property
    def ways(self) -> int:
        """One for each branch."""
        return len(self.form.branches)

    def run(self, q: Array, search: Multistart) -> Found:
        """All branches that can be assembled; known to be all where they are isolated."""
        form, system = self.form, self.form.closure
        x = q[:, self.columns[list(form.columns)]]
        solutions = form.solve(x)
        row, branch = np.nonzero(solutions.assembled)
        own = solutions.q[row, branch]
        polished, closed = system.projected(own, steps=2)
        # Corrections are of the size of rounding, or else these are no solutions.
        closed &= np.max(np.abs(polished - own), axis=1, initial=0.0) < EXACT.same
        complete = np.ones(len(q), dtype=bool)
        complete[row[~(closed & system.isolated(polished))]] = False
        result = Found.among(q, row[closed], self.columns, polished[closed])
        return replace(result, complete=complete, certain=complete)


@dataclass(frozen=True, eq=False)
class EigenStep:
    """A loop with up to six unknown motions that is solved by eigenvalues."""

    loop: ElementaryLoop
    solver: EigenLoop
    told: tuple[str, ...]
    method: str = "eigenvalues"
    ways: int = 16

    def run(self, q: Array, search: Multistart) -> Found:
        """All real eigenvalues, and what proves that there are no other configurations."""
        found = self.solver.solve(self.loop.constants(q))
        kept = np.flatnonzero(self.loop.closes(found.closed.x))
        rows = found.rows[kept]
        own = self.loop.coordinates(found.closed.x[kept], q[rows])
        return replace(
            Found.among(q, rows, np.arange(q.shape[1]), own),
            complete=found.complete,
            certain=found.complete,
            regularity=found.regularity,
            certificate=found.closed.h[kept],
        )


@dataclass(frozen=True, eq=False)
class IterationStep:
    """Loops that are solved by iteration from many starts.

    Attributes:
        system: Their equations, of these loops alone.
        columns: Where their coordinates are among those of the mechanism.
    """

    system: LoopSystem
    columns: NDArray[np.intp]
    told: tuple[str, ...]
    method: str = "iteration"
    ways: int = 1

    def run(self, q: Array, search: Multistart) -> Found:
        """What is found; there may be more."""
        own = q[:, self.columns]
        none = np.zeros(0, dtype=np.intp), own[:0]
        rows, found, starts = searched(self.system, own, none, search)
        result = Found.among(q, rows, self.columns, found)
        return replace(result, complete=np.zeros(len(q), dtype=bool), starts=starts)
