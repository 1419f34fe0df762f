"""The order in which loops with up to six unknown motions can be solved one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.loop_chain import chain_of
from regularize.assembly_modes.loops import joint_names, loops_of
from regularize.assembly_modes.six_motions.closure import screws_of
from regularize.assembly_modes.six_motions.eigen_loop import EigenLoop
from regularize.assembly_modes.six_motions.elementary_loop import ElementaryLoop, NotElementary
from regularize.lie.screw import Array
from regularize.model.cycles import Cycle
from regularize.model.graph import CouplingRow, Graph, coordinate_names

#: Generic loops by which the arrangements of a loop's equations are ranked.
PROBES = 3


@dataclass(frozen=True, eq=False)
class LoopStep:
    """A loop that is solved by eigenvalues."""

    loop: ElementaryLoop
    solver: EigenLoop


@dataclass(frozen=True, eq=False)
class CouplingStep:
    """A coordinate that follows from a coupling."""

    column: int
    coupling: CouplingRow


@dataclass(frozen=True, eq=False)
class Chained:
    """Configurations of N samples.

    Attributes:
        rows: Sample of each configuration, shape (K,).
        q: Coordinates of all joints, shape (K, n).
        complete: Whether the list of each sample is complete, shape (N,).
        regularity: Of the worst loop, shape (N,).
        certificate: Largest number of Kantorovich of the loops, shape (K,).
    """

    rows: NDArray[np.intp]
    q: Array
    complete: NDArray[np.bool_]
    regularity: Array
    certificate: Array


class Recursion:
    """Solves loops in an order in which each has one to six unknown motions.

    Args:
        graph: The mechanism's graph.
        unknown: Columns that are looked for.
        seed: Seed of arbitrary choices.

    Attributes:
        solved: Whether all columns can be found in this way.
        told: One sentence per loop.
    """

    def __init__(self, graph: Graph, unknown: NDArray[np.intp], *, seed: int = 0) -> None:
        """Look for the order, the loops with the fewest unknown motions first."""
        self.graph, self._seed = graph, seed
        self._names = coordinate_names(graph.mechanism)
        known = frozenset(range(graph.freedoms)) - frozenset(unknown.tolist())
        self.steps: list[LoopStep | CouplingStep] = []
        told: list[str] = []
        basis, further = loops_of(graph)
        plain = set(known)
        refused: dict[tuple[Cycle, int], str] = {}
        while True:
            coupled = self._coupled(known, plain)
            if coupled is not None:
                self.steps.append(coupled)
                plain.add(coupled.column)
                known |= {coupled.column}
                told.append(f"{self._names[coupled.column]}: coupling {coupled.coupling.name}")
                continue
            found = self._next([*basis, *further], known, refused)
            if found is None:
                break
            cycle, step = found
            self.steps.append(step)
            known |= set(step.loop.columns)
            names = " ".join(self._names[c] for c in step.loop.columns)
            told.append(f"{self._joints(cycle)}: {names} by eigenvalues")
        self.solved = known >= frozenset(unknown.tolist())
        for cycle in basis:
            reason = refused.get((cycle, self._missing(cycle, known)))
            if reason is not None:
                told.append(f"{self._joints(cycle)}: {reason}")
        self.told = tuple(told)

    def run(self, q: Array) -> Chained:
        """Configurations of samples whose known coordinates are entered, shape (N, n)."""
        N = len(q)
        rows, certificate = np.arange(N), np.zeros(N)
        complete, regularity = np.ones(N, dtype=bool), np.full(N, np.inf)
        for step in self.steps:
            if isinstance(step, CouplingStep):
                q = _coupling_entered(step, q)
                continue
            found = step.solver.solve(step.loop.constants(q))
            np.logical_and.at(complete, rows, found.complete)
            np.minimum.at(regularity, rows, found.regularity)
            kept = np.flatnonzero(step.loop.closes(found.closed.x))
            source = found.rows[kept]
            q = step.loop.coordinates(found.closed.x[kept], q[source])
            certificate = np.maximum(certificate[source], found.closed.h[kept])
            rows = rows[source]
        return Chained(rows, q, complete, regularity, certificate)

    def _missing(self, cycle: Cycle, known: frozenset[int]) -> int:
        """Number of unknown coordinates of a loop."""
        return sum(c not in known for c in self.graph.columns(cycle.edges))

    def _next(
        self,
        cycles: list[Cycle],
        known: frozenset[int],
        refused: dict[tuple[Cycle, int], str],
    ) -> tuple[Cycle, LoopStep] | None:
        """The loop with the fewest unknown coordinates that can be solved; reasons of others."""
        for cycle in sorted(cycles, key=lambda cycle: self._missing(cycle, known)):
            key = cycle, self._missing(cycle, known)
            if key[1] == 0 or key in refused:
                continue
            step = self._loop(cycle, known)
            if isinstance(step, LoopStep):
                return cycle, step
            refused[key] = step
        return None

    def _coupled(self, known: frozenset[int], plain: set[int]) -> CouplingStep | None:
        """A coupling with one unknown coordinate; angles up to whole turns do not determine it."""
        for coupling in self.graph.couplings:
            left = set(coupling.columns) - known
            if len(left) != 1 or not set(coupling.columns) - left <= plain:
                continue
            column = left.pop()
            if _coefficient(coupling, column) != 0.0:
                return CouplingStep(column, coupling)
        return None

    def _loop(self, cycle: Cycle, known: frozenset[int]) -> LoopStep | str:
        """The solver of a loop, or why there is none."""
        columns = set(self.graph.columns(cycle.edges))
        for coupling in self.graph.couplings:
            if set(coupling.columns) - known and columns & set(coupling.columns) - known:
                return f"coupling {coupling.name!r} adds equations to its unknown coordinates"
        reason = "the matrix polynomials of all arrangements are singular"
        chain = chain_of(self.graph, cycle)
        for exchanged in (False, True):
            try:
                loop = ElementaryLoop(
                    self.graph,
                    chain_of(self.graph, cycle),
                    known,
                    seed=self._seed,
                    exchanged=exchanged,
                )
            except NotElementary as refused:
                return str(refused)
            rng = np.random.default_rng(self._seed)
            q = np.repeat(self.graph.position[None], PROBES, axis=0)
            q += rng.uniform(-1.0, 1.0, size=q.shape) * self._units(loop.size)
            constants = loop.constants(q)
            own = [motion.of is not None for motion in loop.motions]
            x = rng.uniform(-1.0, 1.0, size=(PROBES, len(own))) * own
            rank = int(np.linalg.matrix_rank(screws_of(loop.kinds, constants, x)[..., own]).max())
            if rank < sum(own):
                return f"{sum(own)} unknown motions of which {rank} are independent"
            solver = EigenLoop(loop.kinds, constants, seed=self._seed)
            if solver.choices:
                return LoopStep(loop, solver)
        return reason

    def _units(self, size: float) -> Array:
        """One radian, or a quarter of the size of a loop, of each coordinate."""
        units = np.ones(self.graph.freedoms)
        for edge in self.graph.edges:
            for k, column in enumerate(edge.columns):
                if not np.any(edge.screws[3:, k]):
                    units[column] = 0.25 * size
        return units

    def _joints(self, cycle: Cycle) -> str:
        return " ".join(joint_names(self.graph, cycle.edges))


def _coefficient(coupling: CouplingRow, column: int) -> float:
    terms = zip(coupling.columns, coupling.coefficients, strict=True)
    return float(sum(k for c, k in terms if c == column))


def _coupling_entered(step: CouplingStep, q: Array) -> Array:
    q = np.array(q)
    total = np.full(len(q), step.coupling.offset)
    for column, k in zip(step.coupling.columns, step.coupling.coefficients, strict=True):
        if column != step.column:
            total -= k * q[:, column]
    q[:, step.column] = total / _coefficient(step.coupling, step.column)
    return q
