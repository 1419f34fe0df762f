"""The order in which the loops of a mechanism are solved, each by the best means that it has.

Formulas come first: all loops that they solve with what is known so far, as many at once as share
unknown coordinates. Then one loop with up to six unknown turns and slides, by eigenvalues
(Raghavan and Roth 1993, Manocha and Canny 1994), after which formulas may solve others. What has
neither is left to iteration from many starts, as few loops at once as determine their coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import combinations

import networkx as nx
import numpy as np

from regularize.errors import ModelError
from regularize.guests.modes.closed_form.solver import ClosedForm, closed_form
from regularize.guests.modes.eigen_loop import EigenLoop
from regularize.guests.modes.elementary_loop import ElementaryLoop, NotElementary, screws_of
from regularize.guests.modes.loop_chain import LoopChain, chain_of, coupled, loops_of, next_coupled
from regularize.guests.modes.loop_system import LoopSystem, Multistart, passive_legs, searched
from regularize.lie.arrays import Array, Coordinates, Indices, Mask
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import CouplingRow, EdgeId, Graph, coordinate_names, part_of
from regularize.tolerances import EXACT, VANISHING

#: Methods that are less than a closed form, the least first.
METHODS = ("iteration", "eigenvalues")
#: Generic loops by which the arrangements of a loop's equations are ranked.
PROBES = 3


@dataclass(frozen=True, eq=False)
class PartialSolutions:
    """K configurations of N samples, with the coordinates found by the steps of a plan so far."""

    rows: Indices  # sample of each configuration
    q: Coordinates
    complete: Mask  # of each sample, whether there are no others
    certain: Mask  # the same, loops that were iterated not counted
    regularity: Array  # of each sample's worst loop that was solved by eigenvalues, or NaN
    certificate: Array  # each configuration's largest number of Kantorovich of these loops, or NaN
    starts: Indices  # random starts of the iteration, of each sample

    @classmethod
    def of(cls, q: Coordinates) -> PartialSolutions:
        """Return one configuration of each sample, as it is before the first step."""
        every = np.arange(len(q))
        return cls.among(q, every, np.arange(q.shape[1]), q)

    @classmethod
    def among(cls, q: Coordinates, rows: Indices, columns: Indices, x: Array) -> PartialSolutions:
        """Enter found values x (K, k) of some columns into samples (N, n), as a complete list."""
        full = q[rows]
        full[:, columns] = x
        sure, unknown = np.ones(len(q), dtype=bool), np.full(len(q), np.nan)
        none = np.zeros(len(q), dtype=np.intp)
        return cls(rows, full, sure, sure, unknown, np.full(len(rows), np.nan), none)

    @classmethod
    def joined(cls, parts: Sequence[PartialSolutions]) -> PartialSolutions:
        """Join the solutions of several parts of the samples, in order."""
        counts = [len(part.complete) for part in parts]
        offsets = np.cumsum([0, *counts[:-1]])
        rows = [part.rows + k for part, k in zip(parts, offsets, strict=True)]
        names = [field.name for field in fields(cls) if field.name != "rows"]
        rest = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(np.concatenate(rows), **rest)

    def then(self, found: PartialSolutions) -> PartialSolutions:
        """Return the configurations that another step has found with these as its samples."""
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
    """One step of a plan: finds some coordinates of many samples."""

    method: str  # ``coupling``, ``closed form``, ``eigenvalues`` or ``iteration``
    sentences: tuple[str, ...]  # what it does, one sentence per loop
    run: Callable[[Coordinates, Multistart], PartialSolutions]  # of samples (N, n)
    ways: int = 1  # ways to assemble that there may be for one sample


def from_coupling(
    coupling: CouplingRow, column: int, q: Coordinates, _: Multistart
) -> PartialSolutions:
    """Find the coordinate that follows from a coupling."""
    q = np.array(q)
    q[:, column] = coupled(coupling, column, dict(enumerate(q.T)), 0.0)
    return PartialSolutions.of(q)


def from_formulas(
    form: ClosedForm, columns: Indices, q: Coordinates, _: Multistart
) -> PartialSolutions:
    """Find all branches that can be assembled; known to be all where they are isolated."""
    system = form.closure
    solutions = form.solve(q[:, columns[list(form.columns)]])
    row, branch = np.nonzero(solutions.assembled)
    values = solutions.q[row, branch]
    polished, closed = system.projected(values, steps=2)
    # Corrections are of the size of rounding, or else these are no solutions.
    closed &= np.max(np.abs(polished - values), axis=1, initial=0.0) < EXACT.same
    complete = np.ones(len(q), dtype=bool)
    complete[row[~(closed & system.isolated(polished))]] = False
    result = PartialSolutions.among(q, row[closed], columns, polished[closed])
    return replace(result, complete=complete, certain=complete)


def from_eigenvalues(
    loop: ElementaryLoop, solver: EigenLoop, q: Coordinates, _: Multistart
) -> PartialSolutions:
    """Find the configurations of a loop by eigenvalues, and whether it has no others."""
    found = solver.solve(loop.constants(q))
    kept = np.flatnonzero(loop.closes(found.x))
    rows = found.rows[kept]
    values = loop.coordinates(found.x[kept], q[rows])
    result = PartialSolutions.among(q, rows, np.arange(q.shape[1]), values)
    result = replace(result, regularity=found.regularity, certificate=found.h[kept])
    return replace(result, complete=found.complete, certain=found.complete)


def from_iteration(
    system: LoopSystem, columns: Indices, q: Coordinates, search: Multistart
) -> PartialSolutions:
    """Find configurations from many starts; there may be more."""
    part = q[:, columns]
    rows, found, starts = searched(system, part, (np.zeros(0, dtype=np.intp), part[:0]), search)
    result = PartialSolutions.among(q, rows, columns, found)
    return replace(result, complete=np.zeros(len(q), dtype=bool), starts=starts)


class AssemblyPlan:
    """Steps that find all unknown coordinates, by formulas or eigenvalues, loops after loops."""

    def __init__(
        self,
        graph: Graph,
        unknown: Indices,
        form: ClosedForm | None = None,
        *,
        by_body: str | None = None,
        rtol: float = VANISHING,
        seed: int = 0,
    ) -> None:
        self._by_body = by_body
        self.graph, self._rtol, self._seed = graph, rtol, seed
        self._names = coordinate_names(graph.mechanism)
        self.steps: list[AssemblyStep] = []
        if form is not None and form.solved:
            self.steps.append(_formula_step(form, np.arange(graph.freedoms)))
            return
        self._known = frozenset(range(graph.freedoms)) - frozenset(unknown.tolist())
        self._plain = set(self._known)  # angles that are known with their whole turns, and slides
        self._chains: dict[Cycle, LoopChain] = {}
        self._basis, self._further = loops_of(graph)
        self._legs = passive_legs(graph, unknown.tolist())
        self._refused: dict[tuple[Cycle, int], str] = {}
        while self._left and (
            self._by_coupling()
            or (form is not None and self._by_formulas(form))
            or self._by_eigenvalues()
            or self._by_iteration()
        ):
            pass

    @property
    def method(self) -> str:
        """Weakest method of all steps: ``closed form``, ``eigenvalues`` or ``iteration``."""
        used = {step.method for step in self.steps}
        return next((m for m in METHODS if m in used), "closed form")

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences that say how each loop is solved."""
        return tuple(sentence for step in self.steps for sentence in step.sentences)

    @property
    def ways(self) -> int:
        """Largest number of configurations that one sample can have."""
        return math.prod(step.ways for step in self.steps)

    def run(self, q: Coordinates, search: Multistart) -> PartialSolutions:
        """Find the configurations of samples (N, n) whose known coordinates are entered."""
        found = PartialSolutions.of(q)
        for step in self.steps:
            found = found.then(step.run(found.q, search))
        return found

    # One step each; true where coordinates were found ---------------------------------------------

    def _by_coupling(self) -> bool:
        """Add a step for a coordinate that follows from a coupling."""
        found = next_coupled(self.graph.couplings, self._known, self._plain)
        if found is None:
            return False
        coupling, column = found
        self._plain.add(column)
        sentence = f"{self._names[column]}: coupling {coupling.name}"
        run = partial(from_coupling, coupling, column)
        return self._enter(AssemblyStep("coupling", (sentence,), run), [column])

    def _by_formulas(self, whole: ClosedForm) -> bool:
        """Add steps for all open loops that formulas solve; return whether there are any.

        ``whole`` is the closed form of the whole mechanism, used while nothing else is solved.
        """
        form = self._form(self._part(self._open)) if self.steps else whole
        if form is None:
            return False
        missing = {self._names.index(name) for name in form.unknowns}
        solved = [c for c in self._open if not missing & set(self._columns([c]))]
        steps = []
        for group in self._connected(solved):
            part = self._part(group)
            of_group = self._form(part)
            if part is not None and of_group is not None and of_group.solved:
                steps.append((_formula_step(of_group, self._columns_of(part)), group))
        for step, group in steps:
            self._enter(step, self._columns(group))
        return bool(steps)

    def _by_eigenvalues(self) -> bool:
        """Add a step for the loop with the fewest unknowns that eigenvalues solve, if any."""
        for cycle in sorted([*self._basis, *self._further], key=self._missing):
            key = cycle, self._missing(cycle)
            if key[1] == 0 or key in self._refused:
                continue
            step = self._eigen_step(cycle)
            if isinstance(step, AssemblyStep):
                return self._enter(step, self._columns([cycle]))
            self._refused[key] = step
        return False

    def _eigen_step(self, cycle: Cycle) -> AssemblyStep | str:
        """Make the step that solves a loop by eigenvalues, or say why there is none."""
        columns = set(self._columns([cycle]))
        for coupling in self.graph.couplings:
            if columns & set(coupling.columns):
                return f"coupling {coupling.name!r} adds equations to its unknown coordinates"
        if cycle not in self._chains:
            self._chains[cycle] = chain_of(self.graph, cycle)
        chain = self._chains[cycle]
        for exchanged in (False, True):
            try:
                loop = ElementaryLoop(
                    self.graph, chain, self._known, seed=self._seed, exchanged=exchanged
                )
            except NotElementary as refused:
                return str(refused)
            rng = np.random.default_rng(self._seed)
            q = np.repeat(self.graph.position[None], PROBES, axis=0)
            spread = np.where(self.graph.turning, 1.0, loop.size / 4)
            q += rng.uniform(-1.0, 1.0, size=q.shape) * spread
            constants = loop.constants(q)
            real = [motion.of is not None for motion in loop.motions]
            x = rng.uniform(-1.0, 1.0, size=(PROBES, len(real))) * real
            rank = int(np.linalg.matrix_rank(screws_of(loop.kinds, constants, x)[..., real]).max())
            if rank < sum(real):
                return f"{sum(real)} unknown motions of which {rank} are independent"
            solver = EigenLoop(loop.kinds, constants, seed=self._seed)
            if solver.choices:
                names = " ".join(self._names[c] for c in loop.columns)
                sentence = f"{self._joints(cycle)}: {names} by eigenvalues"
                run = partial(from_eigenvalues, loop, solver)
                return AssemblyStep("eigenvalues", (sentence,), run, ways=16)
        return "the matrix polynomials of all arrangements are singular"

    def _by_iteration(self) -> bool:
        """Add a step for as few loops as determine their coordinates, or for all that is left."""
        for cycles in self._sets():
            part = self._part(cycles)
            if part is None:
                continue
            columns = self._columns_of(part)
            left = np.flatnonzero(np.isin(columns, [*self._left]))
            last = set(self._columns(cycles)) == self._left
            system = LoopSystem(part, left, by_body=self._by_body if last else None)
            # Closure has to determine the unknowns at a generic and at a closed place.
            stored, closed = system.projected(part.position[None])
            places = np.concatenate([system.random(stored, np.random.default_rng(0)), stored])
            if closed[0] and system.isolated(places).all():
                return self._iterate(system, columns, cycles, self._columns(cycles))
        left = np.array(sorted(self._left), dtype=np.intp)
        system = LoopSystem(self.graph, left, by_body=self._by_body)
        return self._iterate(system, np.arange(self.graph.freedoms), self._open, left.tolist())

    def _iterate(
        self, system: LoopSystem, columns: Indices, cycles: Sequence[Cycle], found: Iterable[int]
    ) -> bool:
        """Add a step that iterates loops, with the reasons why nothing else solves them."""
        sentences = tuple(
            f"{self._joints(c)}: by iteration; {self._refused.get((c, self._missing(c)), '')}"
            for c in cycles
        )
        run = partial(from_iteration, system, columns)
        return self._enter(AssemblyStep("iteration", sentences, run), found)

    def _sets(self) -> Iterator[Sequence[Cycle]]:
        """Yield sets of loops in the order in which they are tried: one, two, or all tied ones."""
        yield from ([cycle] for cycle in self._open)
        yield from (pair for pair in combinations(self._open, 2) if len(self._connected(pair)) == 1)
        yield from self._connected(self._open)

    # What is known --------------------------------------------------------------------------------

    def _enter(self, step: AssemblyStep, columns: Iterable[int]) -> bool:
        """Add a step, after which the columns are known."""
        self.steps.append(step)
        self._known |= set(columns)
        return True

    @property
    def _left(self) -> frozenset[int]:
        """Columns that are still unknown."""
        return frozenset(range(self.graph.freedoms)) - self._known

    @property
    def _open(self) -> list[Cycle]:
        """Independent loops with unknown coordinates."""
        return [cycle for cycle in self._basis if self._missing(cycle)]

    def _columns(self, cycles: Sequence[Cycle]) -> list[int]:
        """Return the unknown coordinates of some loops."""
        edges = {e for cycle in cycles for e in cycle.edges}
        return [c for c in self.graph.columns(edges) if c not in self._known]

    def _missing(self, cycle: Cycle) -> int:
        """Count the unknown coordinates of a loop."""
        return len(self._columns([cycle]))

    def _connected(self, cycles: Sequence[Cycle]) -> list[list[Cycle]]:
        """Group loops that share unknown coordinates, or couplings of these."""
        sets = nx.utils.UnionFind()
        for coupling in self.graph.couplings:
            sets.union(*(c for c in coupling.columns if c not in self._known))
        for cycle in cycles:
            sets.union(*self._columns([cycle]))
        groups: dict[int, list[Cycle]] = {}
        for cycle in cycles:
            groups.setdefault(sets[self._columns([cycle])[0]], []).append(cycle)
        return list(groups.values())

    def _part(self, cycles: Sequence[Cycle]) -> Graph | None:
        """Return the graph of some loops alone; None where others share their unknowns."""
        columns = set(self._columns(cycles))
        edges = {e for cycle in cycles for e in cycle.edges}
        for coupling in self.graph.couplings:
            unknown = set(coupling.columns) - self._known
            if unknown & columns:
                if not unknown <= columns:
                    return None
                every = self.graph.edges
                tied = {e.joint.name for e in every if set(e.columns) & set(coupling.columns)}
                edges |= {edge.index for edge in every if edge.joint.name in tied}
        part = part_of(self.graph, self._opened(edges))
        if part is None:
            return None
        open_ = np.isin(self._columns_of(part), [*columns])
        if not passive_legs(part, np.flatnonzero(open_).tolist()) <= self._legs:
            return None  # what spins within these loops is held by others
        kept = tuple(row for row in part.couplings if open_[list(row.columns)].any())
        return replace(part, couplings=kept)

    def _opened(self, edges: Iterable[EdgeId]) -> list[EdgeId]:
        """Return the edges without known joints that close loops of known joints alone."""
        sets, kept = nx.utils.UnionFind(), []
        joints: dict[str, list[EdgeId]] = {}
        for e in sorted(edges):
            joints.setdefault(self.graph.edges[e].joint.name, []).append(e)
        for of_joint in joints.values():
            first, last = self.graph.edges[of_joint[0]].parent, self.graph.edges[of_joint[-1]].child
            if not set(self.graph.columns(of_joint)) <= self._known:
                kept += of_joint
            elif sets[first] != sets[last]:
                sets.union(first, last)
                kept += of_joint
        return kept

    def _columns_of(self, part: Graph) -> Indices:
        """Return, for each column of a part, the column of the whole mechanism."""
        names = coordinate_names(part.mechanism)
        return np.array([self._names.index(name) for name in names], dtype=np.intp)

    def _form(self, part: Graph | None) -> ClosedForm | None:
        """Return closed forms of a part by its known coordinates; None if these are not free."""
        if part is None:
            return None
        names = coordinate_names(part.mechanism)
        inputs = [name for name in names if self._names.index(name) in self._known]
        try:
            return closed_form(part, inputs, rtol=self._rtol)
        except ModelError:
            return None

    def _joints(self, cycle: Cycle) -> str:
        """Name the joints of a loop."""
        return " ".join(self.graph.joint_names(cycle.edges))


def _formula_step(form: ClosedForm, columns: Indices) -> AssemblyStep:
    """Make the step that evaluates formulas."""
    sentences = tuple(map(str, form.loops))
    run = partial(from_formulas, form, columns)
    return AssemblyStep("closed form", sentences, run, len(form.branches))
