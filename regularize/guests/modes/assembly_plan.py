"""The order in which the loops of a mechanism are solved, each by the best means that it has.

Formulas come first: all loops that they solve with what is known so far, as many at once as share
unknown coordinates. Then one loop with up to six unknown turns and slides, by eigenvalues
(Raghavan and Roth 1993, Manocha and Canny 1994), after which formulas may solve others; before it,
all poses of a platform if its legs are all that is left. What has none of these is left to
iteration from many starts, as few loops at once as determine their coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from regularize.errors import ModelError
from regularize.guests.modes import assembly_steps
from regularize.guests.modes.assembly_steps import AssemblyStep, PartialSolutions
from regularize.guests.modes.closed_form.solver import ClosedForm, closed_form
from regularize.guests.modes.inputs import turning_of
from regularize.guests.modes.loop_chain import (
    LoopChain,
    chain_of,
    joint_names,
    loops_of,
    next_coupled,
)
from regularize.guests.modes.loop_system import LoopSystem, Multistart, passive_legs
from regularize.guests.modes.six_motions.eigen_loop import EigenLoop
from regularize.guests.modes.six_motions.elementary_loop import (
    ElementaryLoop,
    NotElementary,
    screws_of,
)
from regularize.lie.arrays import Array
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId, Graph, coordinate_names, part_of
from regularize.tolerances import VANISHING

#: What is less than a closed form, the least first.
METHODS = ("iteration", "eigenvalues")
#: Generic loops by which the arrangements of a loop's equations are ranked.
PROBES = 3


class AssemblyPlan:
    """Steps that find all unknown coordinates, one set of loops after the other."""

    def __init__(
        self,
        graph: Graph,
        unknown: NDArray[np.intp],
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
        self._plain = set(self._known)
        self._chains: dict[Cycle, LoopChain] = {}
        self._basis, self._further = loops_of(graph)
        self._legs = passive_legs(graph, unknown.tolist())
        self._refused: dict[tuple[Cycle, int], str] = {}
        while self._left and (
            self._coupled()
            or (form is not None and self._by_formulas(form))
            or self._by_eigenvalues()
            or self._by_iteration()
        ):
            pass

    @property
    def method(self) -> str:
        """The least needed: ``closed form``, ``eigenvalues``, ``homotopy`` or ``iteration``."""
        used = {step.method for step in self.steps}
        return next((m for m in METHODS if m in used), "closed form")

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is done, one sentence per loop."""
        return tuple(sentence for step in self.steps for sentence in step.sentences)

    @property
    def ways(self) -> int:
        """Ways to assemble that there may be for one sample."""
        return math.prod(step.ways for step in self.steps)

    def run(self, q: Array, search: Multistart) -> PartialSolutions:
        """Configurations of samples whose known coordinates are entered, shape (N, n)."""
        found = PartialSolutions.of(q)
        for step in self.steps:
            found = found.then(step.run(found.q, search))
        return found

    # One step each; true where coordinates were found ---------------------------------------------

    def _coupled(self) -> bool:
        """A coordinate that follows from a coupling."""
        found = next_coupled(self.graph.couplings, self._known, self._plain)
        if found is None:
            return False
        coupling, column = found
        self._plain.add(column)
        sentence = f"{self._names[column]}: coupling {coupling.name}"
        run = partial(assembly_steps.from_coupling, coupling, column)
        return self._enter(AssemblyStep("coupling", (sentence,), run), [column])

    def _by_formulas(self, whole: ClosedForm) -> bool:
        """Sets of loops that are solved in closed form."""
        form: ClosedForm | None = whole
        if self.steps:
            form = self._form(self._part(self._open))
        if form is None:
            return False
        missing = {self._names.index(name) for name in form.unknowns}
        solved = [c for c in self._open if not missing & set(self._columns([c]))]
        steps = [(group, self._formula_step(group)) for group in self._connected(solved)]
        for group, step in steps:
            if step is not None:
                self._enter(step, self._columns(group))
        return any(step is not None for _, step in steps)

    def _formula_step(self, cycles: Sequence[Cycle]) -> AssemblyStep | None:
        """Formulas of some loops alone."""
        part = self._part(cycles)
        form = self._form(part)
        if part is None or form is None or not form.solved:
            return None
        return _formula_step(form, self._own(part))

    def _by_eigenvalues(self) -> bool:
        """The loop with the fewest unknown coordinates that can be solved; reasons of others."""
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
        """The solver of a loop, or why there is none."""
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
            q += rng.uniform(-1.0, 1.0, size=q.shape) * np.where(
                turning_of(self.graph), 1.0, loop.size / 4
            )
            constants = loop.constants(q)
            own = [motion.of is not None for motion in loop.motions]
            x = rng.uniform(-1.0, 1.0, size=(PROBES, len(own))) * own
            rank = int(np.linalg.matrix_rank(screws_of(loop.kinds, constants, x)[..., own]).max())
            if rank < sum(own):
                return f"{sum(own)} unknown motions of which {rank} are independent"
            solver = EigenLoop(loop.kinds, constants, seed=self._seed)
            if solver.choices:
                names = " ".join(self._names[c] for c in loop.columns)
                sentence = f"{self._joints(cycle)}: {names} by eigenvalues"
                run = partial(assembly_steps.from_eigenvalues, loop, solver)
                return AssemblyStep("eigenvalues", (sentence,), run, ways=16)
        return "the matrix polynomials of all arrangements are singular"

    def _by_iteration(self) -> bool:
        """As few loops as determine their unknown coordinates, or all that is left."""
        for cycles in self._sets():
            part = self._part(cycles)
            if part is not None:
                own = self._own(part)
                left = np.flatnonzero(np.isin(own, [*self._left]))
                last = set(self._columns(cycles)) == self._left
                system = LoopSystem(part, left, by_body=self._by_body if last else None)
                if _determined(system):
                    return self._iterate(system, own, cycles)
        left = np.array(sorted(self._left), dtype=np.intp)
        system = LoopSystem(self.graph, left, by_body=self._by_body)
        return self._iterate(system, np.arange(self.graph.freedoms), self._open, left)

    def _iterate(
        self,
        system: LoopSystem,
        own: NDArray[np.intp],
        cycles: Sequence[Cycle],
        columns: Iterable[int] | None = None,
    ) -> bool:
        """Leave loops to iteration, with the reasons why."""
        reasons = [(c, self._refused.get((c, self._missing(c)), "")) for c in cycles]
        sentences = tuple(f"{self._joints(c)}: by iteration; {reason}" for c, reason in reasons)
        step = AssemblyStep(
            "iteration", sentences, partial(assembly_steps.from_iteration, system, own)
        )
        return self._enter(step, self._columns(cycles) if columns is None else columns)

    def _sets(self) -> Iterator[Sequence[Cycle]]:
        """Sets of loops in the order in which they are tried: one, two, or all that are tied."""
        yield from ([cycle] for cycle in self._open)
        yield from (pair for pair in combinations(self._open, 2) if len(self._connected(pair)) == 1)
        yield from self._connected(self._open)

    # What is known --------------------------------------------------------------------------------

    def _enter(self, step: AssemblyStep, columns: Iterable[int]) -> bool:
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
        """Unknown coordinates of some loops."""
        edges = {e for cycle in cycles for e in cycle.edges}
        return [c for c in self.graph.columns(edges) if c not in self._known]

    def _missing(self, cycle: Cycle) -> int:
        """Number of unknown coordinates of a loop."""
        return len(self._columns([cycle]))

    def _connected(self, cycles: Sequence[Cycle]) -> list[list[Cycle]]:
        """Loops put together that share unknown coordinates or couplings of these."""
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
        """The graph of some loops alone, where nothing else touches their unknown coordinates."""
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
        own = self._own(part)
        open_ = np.isin(own, [*columns])
        if not passive_legs(part, np.flatnonzero(open_).tolist()) <= self._legs:
            return None  # what spins within these loops is held by others
        kept = tuple(row for row in part.couplings if open_[list(row.columns)].any())
        return replace(part, couplings=kept)

    def _opened(self, edges: Iterable[EdgeId]) -> list[EdgeId]:
        """Edges without the known joints that close loops of known joints."""
        sets, kept = nx.utils.UnionFind(), []
        joints: dict[str, list[EdgeId]] = {}
        for e in sorted(edges):
            joints.setdefault(self.graph.edges[e].joint.name, []).append(e)
        for own in joints.values():
            first, last = self.graph.edges[own[0]].parent, self.graph.edges[own[-1]].child
            if not set(self.graph.columns(own)) <= self._known:
                kept += own
            elif sets[first] != sets[last]:
                sets.union(first, last)
                kept += own
        return kept

    def _own(self, part: Graph) -> NDArray[np.intp]:
        """Columns of the mechanism that those of a part are."""
        names = coordinate_names(part.mechanism)
        return np.array([self._names.index(name) for name in names], dtype=np.intp)

    def _form(self, part: Graph | None) -> ClosedForm | None:
        """Formulas of a part for what is known."""
        if part is None:
            return None
        known = [n for n in coordinate_names(part.mechanism) if self._names.index(n) in self._known]
        try:
            return closed_form(part, known, rtol=self._rtol)
        except ModelError:
            return None  # what is known does not vary freely

    def _joints(self, cycle: Cycle) -> str:
        return " ".join(joint_names(self.graph, cycle.edges))


def _formula_step(form: ClosedForm, columns: NDArray[np.intp]) -> AssemblyStep:
    sentences = tuple(map(str, form.loops))
    run = partial(assembly_steps.from_formulas, form, columns)
    return AssemblyStep("closed form", sentences, run, len(form.branches))


def _determined(system: LoopSystem) -> bool:
    """Whether closure determines the unknown coordinates, at a generic and at a closed place."""
    stored, closed = system.projected(system.graph.position[None])
    places = np.concatenate([system.random(stored, np.random.default_rng(0)), stored])
    return bool(closed[0] and system.isolated(places).all())
