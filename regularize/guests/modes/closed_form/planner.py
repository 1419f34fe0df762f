"""The order in which the unknowns of a mechanism's loops follow from each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from regularize.dynamics.tape.program import Number
from regularize.errors import ModelError
from regularize.guests.modes.closed_form import motions, operations
from regularize.guests.modes.closed_form.equation import (
    ORIENTATIONS,
    both_views,
    equation,
    passive_rotations,
    rod,
    rotated,
    size_of,
    vanishes,
)
from regularize.guests.modes.closed_form.motions import (
    KnownMotions,
    Matrix,
    SymbolicMotion,
    direction_of,
    position_of,
)
from regularize.guests.modes.closed_form.tape import Tape
from regularize.guests.modes.invariance import (
    AXES,
    CENTER,
    Invariance,
    LoopProjection,
    UnmovedSegment,
    projections,
)
from regularize.guests.modes.loop_chain import (
    LoopChain,
    chain_of,
    coupled,
    linear_terms,
    loops_of,
    next_coupled,
)
from regularize.lie.arrays import Array
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import CouplingRow, Graph, breadth_first
from regularize.tolerances import EXACT, ROUNDING


@dataclass(frozen=True, eq=False)
class Step:
    """One unknown that was found: joint, letter of its motion, and what it follows from."""

    joint: str
    kind: str
    reason: str
    solutions: int
    cycle: Cycle | None
    columns: tuple[int, ...]
    discriminant: Number | None = None
    size: float = 1.0  # of the discriminant's terms
    role: str = ""  # ``elbow``, ``shoulder``, ``wrist``, ``stroke`` or empty


def step_of(
    chain: LoopChain, p: LoopProjection, solutions: int, discriminant: Number | None = None
) -> Step:
    """Return the step of a projection."""
    item = chain.items[p.unknown]
    ends = [
        " ".join(
            dict.fromkeys(chain.items[(s.start + k) % len(chain)].name for k in range(s.length))
        )
        for s in p.segments
    ]
    between = " and ".join(end for end in ends if end)
    kinds = {segment.base.kind for segment in p.segments}
    role = ""
    if solutions == 2:
        role = "stroke" if item.kind == "P" else "shoulder"
        if item.kind == "R" and kinds == {"point"}:
            role = "elbow"
        elif item.kind == "R" and kinds == {"direction"}:
            role = "wrist"
    reason = f"{p.measure} ({between})" if between else p.measure
    size = chain.size if item.kind == "P" else size_of(chain, p)
    found = item.name, item.kind, reason, solutions
    return Step(*found, chain.cycle, item.columns, discriminant, size**2, role)


@dataclass(frozen=True, eq=False)
class Plan:
    """The program of a solution and the order of its steps."""

    tape: Tape
    known: KnownMotions
    steps: list[Step]
    chains: tuple[LoopChain, ...]
    divisors: tuple[Number, ...]  # scaled numbers that unique slides are divided by
    squares: tuple[Number, ...]  # scaled numbers that unique angles are seen by
    gaps: list[Number]  # closure errors that not all solutions fulfil
    inconsistent: bool

    @property
    def choices(self) -> list[Step]:
        """Steps with two solutions."""
        return [step for step in self.steps if step.discriminant is not None]


def closure_gaps(
    known: KnownMotions,
    chains: Iterable[LoopChain],
    couplings: Iterable[CouplingRow],
    plain: Set[int],
) -> tuple[list[Number], bool]:
    """Return errors that do not vanish for all choices of branches, and whether for none."""
    gaps = [gap for chain in chains for gap in _gaps(known, chain)]
    turned = []
    for row in couplings:
        if set(row.columns) <= set(known.coordinates):
            gap = _coupling_gap(known, row, plain)
            if not set(row.columns) <= plain:
                turned.append(gap)
            elif not float(np.max(np.abs(gap.value))) <= EXACT.singular:
                gaps.append(gap)
    worst = reduce(np.maximum, [np.abs(gap.value) for gap in gaps], np.zeros(1))
    return [*gaps, *turned], bool(np.all(worst > EXACT.singular))


def _coupling_gap(known: KnownMotions, coupling: CouplingRow, plain: Set[int]) -> Number:
    """Return the error of a coupling; angles that were found count up to whole turns."""
    total = known.tape.number(-coupling.offset)
    turns = []
    if coupling.curve is not None:
        total = total + coupling.curve.of(known.coordinates[coupling.columns[-1]])
    for column, k in linear_terms(coupling):
        total = total + known.coordinates[column] * k
        if column not in plain and column in known.rotations and k:
            turns.append(abs(k))
    if not turns:
        return total
    # sin(x / 2) vanishes, to first order, at whole turns and nowhere else.
    turn = min(turns)
    return known.tape.cosine_sine(total * (0.5 / turn))[1] * (2.0 * turn)


def _gaps(known: KnownMotions, chain: LoopChain) -> Iterator[Number]:
    """Yield closure errors of a solved loop, by its size, that are more than rounding."""
    if not all(known.has(item) for item in chain.items):
        return
    # Two axes of a frame tell where the third one is.
    for place, size in ((AXES[0], 1.0), (AXES[2], 1.0), (CENTER, chain.size)):
        start, end = (known.carried(chain, place, 0, frame) for frame in (0, 2 * len(chain)))
        of = motions.direction_of if place.kind == "direction" else motions.position_of
        for x in of(end) - of(start):
            if not float(np.max(np.abs(x.value))) <= EXACT.singular * size:
                yield x * (1.0 / size)


class Planner:
    """Finds the unknowns of a mechanism's loops one by one; below ``rtol`` counts as none."""

    def __init__(self, graph: Graph, inputs: Sequence[int], rtol: float) -> None:
        self.graph, self._rtol = graph, rtol
        basis, self._sums = loops_of(graph)
        moving = (c for c in basis if any(graph.edges[e].freedoms for e in c.edges))
        self.loops = [Invariance(chain_of(graph, cycle), rtol) for cycle in moving]
        tables = [f"`{row.name}`" for row in graph.couplings if row.curve and row.curve.breaks]
        if tables:
            raise ModelError(
                "closed forms are made of polynomials alone; couplings by tables: "
                f"{', '.join(tables)}"
            )
        self.tape = Tape()
        self.known = KnownMotions(self.tape)
        self.steps: list[Step] = []
        self._divisors: list[Number] = []
        self._squares: list[Number] = []
        given: dict[int, Number] = {}
        sizes = {
            column: loop.chain.size
            for loop in self.loops
            for item in loop.chain.items
            if item.kind == "P"
            for column in item.columns
        }
        for column in inputs:
            given[column] = self.tape.input(sizes.get(column, 1.0))
        in_loops = {c for cell in graph.cells for c in graph.columns(cell)}
        for column in set(range(graph.freedoms)) - in_loops - set(inputs):
            given[column] = self.tape.number(float(graph.position[column]))
        self._plain = set(given)
        self._used: set[str] = set()
        self._ways: dict[Invariance, dict[int, list[LoopProjection]]] = {}
        self._vain: set[tuple[int, tuple[UnmovedSegment, ...]]] = set()
        for edge in graph.edges:
            own = [column for column in edge.columns if column in given]
            if not edge.group:
                for column in own:
                    self.known.coordinates[column] = given[column]
            elif own:
                coordinates = [given[column] for column in own]
                motion = motions.exponential(self.tape, edge.screws, coordinates)
                self.known.give_group(edge.columns, motion, coordinates)

    @cached_property
    def all_loops(self) -> list[Invariance]:
        """Independent loops and the sums of them."""
        return self.loops + [Invariance(chain_of(self.graph, c), self._rtol) for c in self._sums]

    def plan(self, *, folding: bool = True) -> Plan:
        """Find as many unknowns as possible; ``folding`` admits equations that free an angle."""
        while self._plainly():
            pass
        while folding and self._folded():
            while self._plainly():
                pass
        chains = tuple(loop.chain for loop in self.loops)
        left = [c for c in self.graph.couplings if c.name not in self._used]
        gaps, inconsistent = closure_gaps(self.known, chains, left, self._plain)
        divisors, squares = tuple(self._divisors), tuple(self._squares)
        return Plan(
            self.tape, self.known, self.steps, chains, divisors, squares, gaps, inconsistent
        )

    def _plainly(self) -> bool:
        """Find one more unknown by an equation that holds on all branches."""
        return self._coupled() or self._projected() or self._ball() or self._by_passive_rotation()

    def _coupled(self) -> bool:
        """Find a coordinate by a coupling whose others are no angles up to whole turns."""
        values = self.known.coordinates
        found = next_coupled(self.graph.couplings, values.keys(), self._plain)
        if found is None:
            return False
        coupling, column = found
        values[column] = coupled(coupling, column, values, self.tape.number(0.0))
        self._plain.add(column)
        self._used.add(coupling.name)
        joint = next(e.joint.name for e in self.graph.edges if column in e.columns)
        self.steps.append(Step(joint, "K", f"coupling {coupling.name}", 1, None, (column,)))
        return True

    def _projected(self) -> bool:
        """Find an unknown by the cheapest projection, unique ones first."""
        return (
            self._any(self.loops, 1) or self._any(self.all_loops, 1) or self._any(self.all_loops, 2)
        )

    def _any(self, loops: Sequence[Invariance], solutions: int) -> bool:
        """Find an unknown by the cheapest projection of loops with so many solutions."""
        options = [(loop.chain, p) for loop in loops for p in self._of(loop, solutions)]
        for chain, p in sorted(options, key=lambda option: option[1].cost):
            if (self._by_views if len(p.segments) == 1 else self._equated)(chain, p):
                return True
            # Coefficients that vanish consist of what is known, so that they vanish for good.
            self._vain.add((p.unknown, p.segments))
        return False

    def _folded(self) -> bool:
        """Find an angle by an equation that leaves it free on branches where axes coincide."""
        return any(
            len(p.segments) == 2
            and loop.chain.items[p.unknown].kind == "R"
            and self._equated(loop.chain, p, least=np.max)
            for loop in self.all_loops
            for p in self._ways[loop][self._unknown(loop)]
        )

    def _of(self, loop: Invariance, solutions: int) -> list[LoopProjection]:
        """Return projections that determine an unknown of a loop and were not tried in vain."""
        unknown = self._unknown(loop)
        if unknown not in self._ways.setdefault(loop, {}):
            self._ways[loop] = {unknown: list(projections(loop, unknown))}
        return [
            p
            for p in self._ways[loop][unknown]
            if p.solutions == solutions and (p.unknown, p.segments) not in self._vain
        ]

    def _unknown(self, loop: Invariance) -> int:
        """Return the motions of a loop that are not found, as a set of bits."""
        items = enumerate(loop.chain.items)
        return sum(1 << i for i, item in items if not self.known.has(item))

    def _ball(self) -> bool:
        """Find the last unknown rotation of a loop, or a spherical joint with a rod behind."""
        for reason, orientation in ORIENTATIONS.items():
            for loop in self.all_loops:
                found = orientation(loop.chain, self.known)
                if found is not None and (
                    orientation is not rod or self._rotates_passively(loop.chain)
                ):
                    u, turn = found
                    item = loop.chain.items[u]
                    self._give_rotation(item.columns, turn if item.sign > 0 else turn.T)
                    step = Step(item.name, "S", reason, 1, loop.chain.cycle, item.columns)
                    self.steps.append(step)
                    return True
        return False

    def _by_passive_rotation(self) -> bool:
        """Find a spherical joint of a body that turns about the line to another one."""
        for passive, found, chain, p in passive_rotations(self.all_loops, self.known):
            if not found.vanishes():
                c, s, discriminant = found.solved(self.tape)
                self._give_rotation(passive.columns, passive.turned(c, s))
                self.steps.append(step_of(chain, p, 2, discriminant))
                return True
        return False

    def _rotates_passively(self, chain: LoopChain) -> bool:
        """Return whether the two spherical joints left in a loop alone hold what is between."""
        left = {item.columns for item in chain.items if not self.known.has(item)}
        graph, cycle = self.graph, chain.cycle
        cut = [e for e in cycle.edges if graph.edges[e].columns in left]
        rest = set(graph.every_edge) - set(cut)
        ends = graph.edges[cut[0]].parent, graph.edges[cut[0]].child
        return ends[1] not in {node for _, node in breadth_first(graph, ends[0], rest)}

    def _by_views(self, chain: LoopChain, p: LoopProjection) -> bool:
        """Solve for the motion that carries one view of an element into the other."""
        item, tape = chain.items[p.unknown], self.tape
        left, right = both_views(chain, self.known, p)
        if item.kind == "P":
            right = rotated(self.known, item, right)
            gap = position_of(left) - position_of(right)
            shift = gap[2]
            if left.direction is not None:
                if vanishes([left.direction[2]], 1.0):
                    return False
                shift = self._quotient(gap @ left.direction, left.direction[2])
            self.known.coordinates[item.columns[0]] = shift
            self.steps.append(step_of(chain, p, 1))
            return True
        across = left.kind != "direction" and all(
            e.direction is None or all(x.constant == 0.0 for x in e.direction[:2])
            for e in (left, right)
        )
        w, v = (position_of(e) if across else direction_of(e) for e in (left, right))
        square = v[0] * v[0] + v[1] * v[1]
        size = chain.size if across else 1.0
        if vanishes([square], size**2):
            return False
        turned = all(
            i == p.unknown or motion.kind == "P" or self.known.has(motion)
            for i, motion in enumerate(chain.items)
        )
        if square.constant is None and turned:
            # The element may come to lie on the axis. The x axis behind the motion never does.
            across, size = False, 1.0
            v = motions.constants(tape, np.eye(3)[0])
            w = self.known.axis_around(chain, p.unknown, 0)
            square = tape.number(1.0)
        x, y = v[0] * w[0] + v[1] * w[1], v[0] * w[1] - v[1] * w[0]
        if square.constant is None:
            self._squares.append(square * (1.0 / size**2))
        c, s = operations.unit(tape, x, y, square.value, (10 * ROUNDING * size) ** 2)
        self.known.give_angle(item, c, s)
        self.steps.append(step_of(chain, p, 1))
        return True

    def _equated(
        self, chain: LoopChain, p: LoopProjection, least: Callable[[Array], float] = np.min
    ) -> bool:
        """Solve the equation of two segments."""
        item, found = chain.items[p.unknown], equation(chain, self.known, p)
        if found is None or found.vanishes(least):
            return False
        A, B, C = found.coefficients
        if not found.turning and A.constant == 0.0:
            self.known.coordinates[item.columns[0]] = self._quotient(-C, B * 2.0)
            self.steps.append(step_of(chain, p, 1))
            return True
        *solution, discriminant = found.solved(self.tape)
        if found.turning:
            self.known.give_angle(item, *solution)
        else:
            (self.known.coordinates[item.columns[0]],) = solution
        self.steps.append(step_of(chain, p, 2, discriminant))
        return True

    def _quotient(self, a: Number, b: Number) -> Number:
        """Return a slide as a quotient, whose divisor may vanish at special inputs."""
        if b.constant is None:
            self._divisors.append(b)
        return a / b

    def _give_rotation(self, columns: tuple[int, ...], forward: Matrix) -> None:
        """Set a spherical joint by its rotation from child to parent."""
        motion = SymbolicMotion(forward, motions.constants(self.tape, np.zeros(3)))
        self.known.give_group(columns, motion, operations.rotation_vector(self.tape, forward))
