"""Closing the loops of a model that was saved open.

Nonlinear least squares on the closure errors of all loops, from the stored coordinates first, then
from seeded perturbations of them (singular starting values are left that way), then loop after
loop, then by continuation. Coordinates that the user fixes are held; where they cannot be reached
at once, they are moved there step by step from a configuration in which the loops are closed.

Where all loops cannot be closed together, each is tried on its own first; then loops are added one
by one, each from where the ones before it are closed. That names the loop at fault, and it often
finds a way to close what cannot be closed all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize import services
from regularize.errors import ModelError
from regularize.lie.arrays import Array, Coordinates, Mask, Residual, read_only
from regularize.loops.continuation import Continuation, drive
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.loops.projection import Projected, View, moved, project
from regularize.mechanism.cycles import minimum_cycle_basis
from regularize.mechanism.graph import EdgeId, Graph, coordinate_names, spanning_tree
from regularize.mechanism.graph_building import as_graph
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.tolerances import EXACT, RTOL
from regularize.validation import ARRAY, NAMES, NUMBER, WHOLE, named, validated

#: Closed means: no gap above this fraction of the size of the mechanism, no such angle in radians.
#: It is the tolerance of geometric relations, for files do not close any better than they are
#: special.
CLOSED = RTOL


@dataclass(frozen=True)
class Gap:
    """How far a loop is open.

    Attributes:
        joint: The closing joint of the loop.
        translation: Metres.
        rotation: Radians.
    """

    joint: str
    translation: float
    rotation: float


def closure_errors(loops: LoopKinematics, q: Coordinates) -> Residual:
    """Return the errors of all closure equations and couplings at one configuration."""
    return np.asarray(loops.residual(loops.state(q))[0])


def largest_error(loops: LoopKinematics, q: Coordinates) -> float:
    """Return the largest closure error at one configuration, lengths scaled."""
    return float(np.max(np.abs(closure_errors(loops, q)), initial=0.0))


def chords_fitted(loops: LoopKinematics, q: Coordinates, free: Mask) -> Coordinates:
    """Set the chords' free coordinates to their best fit, so that gaps are what no joint can do."""
    of_chord = np.zeros(loops.freedoms, dtype=bool)
    for chord in loops.chords:
        of_chord[loops.local(chord)] = True
    return np.asarray(project(loops, q[None], held=~(of_chord & free), damped=True).q[0])


def gaps(loops: LoopKinematics, q: Coordinates) -> list[Gap]:
    """Return the gap of every loop at one configuration."""
    errors = closure_errors(loops, q)[: 6 * len(loops.chords)].reshape(-1, 6)
    return [
        Gap(
            loops.graph.edges[chord].joint.name,
            float(np.linalg.norm(error[:3])) * loops.length,
            float(np.linalg.norm(error[3:])),
        )
        for chord, error in zip(loops.chords, errors, strict=True)
    ]


#: Joints that move further than so many square roots of the gap close the loops at another pose.
FAR = 10.0


@dataclass(frozen=True)
class Obstacle:
    """A loop that cannot be closed.

    Attributes:
        loop: The closing joint of the loop.
        joints: Names of all its joints.
        gap: What stays open at the best configuration found.
        alone: Whether it stays open even when all other loops are left open.
        as_point: Whether it could be closed alone if its closing joint, a weld, held a point only.
    """

    loop: str
    joints: tuple[str, ...]
    gap: Gap
    alone: bool
    as_point: bool = False

    def __str__(self) -> str:
        """One sentence without a full stop."""
        how = "even alone" if self.alone else "together with the loops before it"
        return (
            f"the loop through {self.loop!r} cannot be closed {how}: "
            f"{self.gap.translation * 1e3:.3g} mm and {np.degrees(self.gap.rotation):.3g}° stay "
            "open" + (", but it closes if only a point is held" if self.as_point else "")
        )


@dataclass(frozen=True, eq=False, repr=False)
class Assembly(ShortRepr):
    """A configuration in which the loops are closed as far as they can be.

    Attributes:
        q: Coordinates of all joints, shape (n,).
        closed: Whether every loop is closed within ``CLOSED``.
        before: Gap of every loop at the stored coordinates.
        after: Gap of every loop at ``q``.
        starts: Number of starting points tried for the most stubborn part.
        obstacles: Loops that keep the mechanism open; empty where it is closed.
        reached: Where fixed values cannot be reached: the nearest values on the way to them at
            which the loops could still be closed, by joint name.
        elsewhere: Whether loops that stay open near the start close at another pose.
    """

    q: Coordinates
    closed: bool
    before: tuple[Gap, ...]
    after: tuple[Gap, ...]
    starts: int
    obstacles: tuple[Obstacle, ...] = ()
    reached: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    elsewhere: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Views of dictionaries cannot be pickled; the dictionary can."""
        return {**self.__dict__, "reached": dict(self.reached)}

    @property
    def worst_before(self) -> tuple[float, float]:
        """Largest gap in metres and largest angle in radians before closing."""
        return _worst(self.before)

    @property
    def worst_after(self) -> tuple[float, float]:
        """Largest gap in metres and largest angle in radians after closing."""
        return _worst(self.after)

    residual_before, residual_after = worst_before, worst_after  #: As in the JSON report.


def _worst(open_gaps: tuple[Gap, ...]) -> tuple[float, float]:
    sizes = [(0.0, 0.0), *((gap.translation, gap.rotation) for gap in open_gaps)]
    return max(size for size, _ in sizes), max(angle for _, angle in sizes)


@validated(q0=ARRAY, fixed=named(NUMBER) | NAMES, seed=WHOLE, starts=WHOLE)
def assemble(
    model: Model | Graph,
    q0: Array | None = None,
    fixed: Mapping[str, float] | Iterable[str] | None = None,
    *,
    seed: int = 0,
    starts: int = 8,
) -> Assembly:
    """Close all loops of a mechanism.

    Args:
        model: The mechanism, or its graph.
        q0: Starting coordinates of all joints, shape (n,); by default those of the file.
        fixed: Coordinates to hold, by the name of their joint (``joint[1]`` for one of several
            freedoms); radians or metres. Names alone are held where they start.
        seed: Seed of the perturbed starting points.
        starts: Number of starting points before continuation is tried.

    Raises:
        ModelError: ``fixed`` names an unknown joint or one with several freedoms, or ``q0`` does
            not have one entry per freedom.
    """
    graph = as_graph(model)
    q = np.array(graph.position if q0 is None else q0, dtype=np.float64)
    if q.shape != (graph.freedoms,):
        raise ModelError(f"q0 needs one entry per joint freedom, {graph.freedoms}, got {q.shape=}")
    held = _held_columns(graph, fixed, q) if fixed else {}
    stored = q.copy()
    q[list(held)] = list(held.values())
    free = np.ones(graph.freedoms, dtype=bool)
    free[list(held)] = False
    before, after, searches, closed = list[Gap](), list[Gap](), list[Search](), True
    for cell in graph.cells:
        loops = sized_loops(graph, q, cell)
        solution = q[loops.columns]
        if largest_error(loops, solution) > 0.1 * EXACT.closed:
            solution = chords_fitted(loops, solution, free[loops.columns])
        before += gaps(loops, solution)
        if largest_error(loops, solution) > EXACT.closed:
            rng = np.random.default_rng(seed)
            searches.append(Search(loops, stored, q, solution, free, rng, starts))
            solution = searches[-1].run()
        q[loops.columns] = solution
        after += gaps(loops, solution)
        closed &= largest_error(loops, solution) <= CLOSED
    tried = max((search.tried for search in searches), default=1)
    obstacles = tuple(obstacle for search in searches for obstacle in search.obstacles)
    reached = MappingProxyType({k: v for search in searches for k, v in search.reached.items()})
    elsewhere, every = any(search.elsewhere for search in searches), (tuple(before), tuple(after))
    return Assembly(read_only(q), closed, *every, max(1, tried), obstacles, reached, elsewhere)


def with_coordinates(mechanism: Mechanism, q: Coordinates) -> Mechanism:
    """Return the mechanism with other stored coordinates, those of all joints in order."""
    parts = np.split(q, np.cumsum([joint.freedoms for joint in mechanism.joints]))
    return mechanism.with_positions(
        {joint.name: part for joint, part in zip(mechanism.joints, parts, strict=False)}
    )


def _held_columns(
    graph: Graph, fixed: Mapping[str, float] | Iterable[str], q: Coordinates
) -> dict[int, float]:
    """Return the values of the held coordinates by column; refuse unknown or ambiguous names."""
    column_of = {name: c for c, name in enumerate(coordinate_names(graph.mechanism))}
    values: dict[int, float] = {}
    for name in fixed:
        if name not in column_of:
            joint = graph.mechanism.joint(name)
            raise ModelError(
                f"joint {name!r} has {joint.freedoms} freedoms and cannot be fixed as a whole; "
                f"name one of them: {name}[0]"
            )
        column = column_of[name]
        values[column] = float(fixed[name]) if isinstance(fixed, Mapping) else float(q[column])
        if not np.isfinite(values[column]):
            raise ModelError(f"joint {name!r} cannot be fixed at {values[column]}")
    return values


class Search:
    """Search for a closed configuration of a cell; ``q`` is ``stored`` with the fixed values."""

    def __init__(
        self,
        loops: LoopKinematics,
        stored: Coordinates,
        q: Coordinates,
        start: Coordinates,
        free: Mask,
        rng: np.random.Generator,
        starts: int,
    ) -> None:
        self.start = start
        self.loops, self.rng, self.starts = loops, rng, starts
        self.stored, self.q, self.all_free = stored, q, free
        self.free = free[loops.columns]
        self.tried, self.elsewhere = 1, False
        self.loop_by_loop: Coordinates | None = None
        self.obstacles: list[Obstacle] = []
        self.reached: dict[str, float] = {}

    def run(self) -> Coordinates:
        """Return the best configuration found, and store the loops that cannot be closed."""
        best, best_error = self.start, largest_error(self.loops, self.start)
        if not self.free.any():
            if best_error > CLOSED:
                self._find_obstacles()
            return best
        self.tried = 0
        # Where solutions meet, errors move them by their square root: further off is another pose.
        # Couplings without a loop have one solution, by their functions, however far it is.
        near = FAR * np.sqrt(best_error) if self.loops.chords else np.inf
        for starts in self._attempts():
            result = project(self.loops, np.atleast_2d(starts), held=~self.free, damped=True)
            origin = np.repeat(self.start[None], len(result.q), axis=0)
            ways = self.loops.difference(origin, result.q)
            far = np.max(np.abs(ways) / self.loops.units, axis=1, initial=0.0) > near
            self.elsewhere |= bool(np.any(far & (result.error <= CLOSED)))
            result = replace(result, error=np.where(far, np.inf, result.error))
            k = _first_closed(result)
            self.tried += k + 1
            if result.error[k] < best_error:
                best, best_error = result.q[k], float(result.error[k])
            if best_error <= CLOSED:
                self.obstacles, self.reached, self.elsewhere = [], {}, False
                break
        return best

    def _attempts(self) -> Iterator[Coordinates]:
        """Generate configurations to project, one (n,) or several (k, n), the cheapest first."""
        loops, start, free, rng = self.loops, self.start, self.free, self.rng
        yield start
        if not free.all():
            candidates = services.service("assembly candidates")
            modes = candidates and candidates(loops, start, ~free)
            yield from () if modes is None else modes
            yield self._continued()
            if modes is not None and not len(modes):
                self._find_obstacles()
                return  # every configuration is known, and there is none
        # Zeros are where models are singular: they alone are moved at first (thesis 5.6, step 3).
        yield _perturbed(loops, start, free & (start == 0.0), [0.1], rng)
        half = self.starts // 2
        yield _perturbed(loops, start, free, 0.1 * 2.0 ** np.arange(1, half), rng)
        self._find_obstacles()
        if any(obstacle.alone for obstacle in self.obstacles):
            return  # no configuration of the whole can close what is open on its own
        if self.loop_by_loop is not None:
            yield self.loop_by_loop[loops.columns]
        yield _perturbed(loops, start, free, 0.1 * 1.6 ** np.arange(half, self.starts), rng)
        open_error = loops.residual(loops.state(start))[0]
        q = start[None]
        for fraction in np.linspace(0.95, 0.0, 20):
            nearer = View(loops, target=fraction * open_error)
            q = project(nearer, q, held=~free, damped=True).q
        yield q

    def _continued(self) -> Coordinates:
        """Move the fixed coordinates to their wanted values, as far as closed loops follow."""
        loops, held = self.loops, np.flatnonzero(~self.free)
        stored = chords_fitted(loops, self.stored[loops.columns], self.free)
        start = project(loops, stored[None], damped=True).q
        if largest_error(loops, start[0]) > CLOSED:
            return self.start
        target = self.q[loops.columns]
        arrived = drive(Continuation(loops), start, held.tolist(), target[None, held])
        q: Coordinates = arrived.q[0]
        if not arrived.reached[0]:
            names = coordinate_names(loops.graph.mechanism)
            self.reached = {names[int(loops.columns[i])]: float(q[i]) for i in held}
            q[~self.free] = target[~self.free]
        return q

    def _find_obstacles(self) -> None:
        """Close loops one by one; name those that cannot be closed, and keep the configuration."""
        graph, cell = self.loops.graph, set(self.loops.edges)
        blocks = [block for block in graph.blocks if set(block) <= cell]
        cycles = [
            tuple(cycle.edges) for block in blocks for cycle in minimum_cycle_basis(graph, block)
        ]
        self.loop_by_loop, self.obstacles = None, []
        for edges in cycles:
            loops, best, error = self._closest(edges, self.q)
            if error > CLOSED:
                self.obstacles.append(self._obstacle(loops, edges, best, alone=True))
        if self.obstacles or len(cycles) < 2:
            return
        q, closed = np.array(self.q), set[EdgeId]()
        self.loop_by_loop = q
        while cycles:
            # A loop that shares most joints with what is closed already has the least to choose.
            edges = max(cycles, key=lambda cycle: (len(closed & set(cycle)), -len(cycle)))
            cycles.remove(edges)
            closed |= set(edges)
            loops, best, error = self._closest(sorted(closed), q)
            if error > CLOSED:
                self.obstacles.append(self._obstacle(loops, edges, best, alone=False))
                return
            q[loops.columns] = best

    def _closest(
        self, edges: Sequence[EdgeId], q: Coordinates
    ) -> tuple[LoopKinematics, Coordinates, float]:
        """Return loops of some edges, their best configuration from near q, and its error."""
        graph = self.loops.graph
        # The file's own closures are the chords.
        order = sorted(edges, key=lambda e: (graph.edges[e].joint.closure, e))
        tree = spanning_tree(graph, order)
        loops = LoopKinematics(graph, edges, tree, length=self.loops.length)
        start, movable = q[loops.columns], self.all_free[loops.columns]
        trials = _perturbed(loops, start, movable, 0.15 * 1.6 ** np.arange(self.starts), self.rng)
        trials[0] = start
        result = project(loops, trials, held=~movable, damped=True)
        k = _first_closed(result)
        return loops, result.q[k], float(result.error[k])

    def _obstacle(
        self, loops: LoopKinematics, cycle: Sequence[EdgeId], q: Coordinates, *, alone: bool
    ) -> Obstacle:
        """Describe a cycle that stays open at the best configuration of some loops."""
        names = loops.graph.joint_names(cycle)
        open_gaps = gaps(loops, q)
        # Least squares spreads the error over all loops; the new loop's own chord names it.
        of_cycle = [gap for gap in open_gaps if gap.joint in names] or open_gaps
        worst = max(of_cycle, key=lambda gap: gap.translation / loops.length + gap.rotation)
        as_point = False
        if alone and not any(loops.graph.edges[chord].freedoms for chord in loops.chords):
            position, held = View(loops, rows=slice(0, 3)), ~self.all_free[loops.columns]
            error = project(position, q[None], held=held, damped=True).error[0]
            as_point = bool(error <= CLOSED)
        return Obstacle(worst.joint, names, worst, alone, as_point)


def _perturbed(
    loops: LoopKinematics,
    q: Coordinates,
    movable: Mask,
    scales: ArrayLike,
    rng: np.random.Generator,
) -> Coordinates:
    """Move a configuration (n,) at random, once for every scale in radians and sizes, (k, n)."""
    scales = np.asarray(scales, dtype=np.float64)
    steps = rng.normal(size=(len(scales), loops.freedoms)) * scales[:, None] * movable
    return moved(loops, np.repeat(q[None], len(scales), axis=0), steps)


def _first_closed(result: Projected) -> int:
    """Return the first configuration that is closed, else the one with the least error."""
    closed = result.error <= CLOSED
    return int(np.argmax(closed) if closed.any() else np.argmin(result.error))
