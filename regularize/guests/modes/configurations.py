"""All configurations of a mechanism for given inputs, each loop by the best method that it has.

The order of the loops and what solves them is the ``AssemblyPlan``: formulas, eigenvalues, or
iteration from many starts. Where the first two leave a doubt, iteration over all loops looks for
what may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from regularize import validation
from regularize.adapters.common.console import progress_bar
from regularize.errors import ModelError
from regularize.guests.modes.assembly_plan import AssemblyPlan, PartialSolutions
from regularize.guests.modes.body_pose import BodyPose, with_pose
from regularize.guests.modes.closed_form.solver import closed_form
from regularize.guests.modes.grouping import Configurations, Turns, node_of, table_of
from regularize.guests.modes.inputs import require_fitting_inputs, whole
from regularize.guests.modes.loop_system import LoopSystem, Multistart, searched
from regularize.lie.arrays import Array, Coordinates, Indices, Mask, read_only
from regularize.loops.projection import CHUNK
from regularize.mechanism.graph import Graph
from regularize.mechanism.mechanism import Model
from regularize.tolerances import VANISHING


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence for the configurations of ``AssemblyModes``.

    Attributes:
        loops: One sentence per loop: how it was solved, or why not.
        regularity: Smallest by largest singular value of the matrix polynomial of the worst loop
            that is solved by eigenvalues; of rounding size where its determinant vanishes
            identically; NaN without eigenvalues; shape (...).
        certificate: The largest number of Kantorovich of these loops at each configuration; up to
            one half it proves that there is one and only one configuration of each near it;
            infinite where there is no proof, NaN by formulas; shape (..., solutions).
        starts: Random starts of the iteration, shape (...).
    """

    loops: tuple[str, ...]
    regularity: Array
    certificate: Array
    starts: Indices


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
    q: Coordinates
    found: Mask
    complete: Mask
    method: str
    residual: Array
    evidence: Evidence

    def __repr__(self) -> str:
        sure = "complete" if np.all(self.complete) else "there may be others"
        return f"<AssemblyModes: {int(np.sum(self.found))} by {self.method}, {sure}>"

    @property
    def counts(self) -> Indices:
        """Number of configurations at each input, shape (...)."""
        return np.asarray(np.sum(self.found, axis=-1))


#: Configurations that there is room for at once: some kilobytes each.
ROOM = 65536


class ConfigurationFinder:
    """Finds all configurations of a mechanism for values of some inputs, see ``configurations``."""

    def __init__(
        self,
        model: Model | Graph,
        inputs: Sequence[str] = (),
        *,
        pose: BodyPose | str | None = None,
        by: str | None = None,
        seed: int = 0,
        rtol: float = VANISHING,
    ) -> None:
        self.graph, inputs = with_pose(model, inputs, pose)
        self._by = by
        if by is not None:
            node_of(self.graph, by)
        self._form = closed_form(self.graph, inputs, rtol=rtol)
        self.inputs, self._seed, self._rtol = self._form.inputs, seed, rtol
        within = {c for cell in self.graph.cells for c in self.graph.columns(cell)}
        unknown = np.array(sorted(within - set(self._form.columns)), dtype=np.intp)
        self._system = LoopSystem(self.graph, unknown, by_body=self._by)
        if not self._form.solved:
            require_fitting_inputs(self._system, self._form.given, seed=seed)

    def __repr__(self) -> str:
        return f"<ConfigurationFinder of {self.graph.mechanism.name!r} for {[*self.inputs]}>"

    @cached_property
    def _plan(self) -> AssemblyPlan:
        unknown = self._system.unknown
        form, rtol, seed = self._form, self._rtol, self._seed
        return AssemblyPlan(self.graph, unknown, form, by_body=self._by, rtol=rtol, seed=seed)

    @property
    def method(self) -> str:
        """Weakest method needed: ``closed form``, ``eigenvalues`` or ``iteration``."""
        return self._plan.method

    def find(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        *,
        starts: int = 64,
        rounds: int = 30,
        progress: bool = False,
    ) -> AssemblyModes:
        """Find all configurations at values of the inputs; arguments as of ``configurations``."""
        search = Multistart(whole(starts, "starts"), whole(rounds, "rounds"), self._seed)
        x = self._form.given.values(values)
        if not np.all(np.isfinite(x)):
            raise ModelError("the values of the inputs need to be finite")
        shape = x.shape[:-1]
        q = np.repeat(self.graph.position[None], math.prod(shape), axis=0)
        q[:, list(self._form.columns)] = x.reshape(len(q), len(self.inputs))
        size = min(CHUNK, max(1, ROOM // self._plan.ways))
        parts = [q[k : k + size] for k in range(0, max(1, len(q)), size)]
        with progress_bar(
            progress, len(parts), f"{len(q)} configurations of the inputs"
        ) as advance:
            found = [self._found(part, search, advance) for part in parts]
        return self._table(PartialSolutions.joined(found), shape)

    def _found(
        self, q: Coordinates, search: Multistart, advance: Callable[[float], None]
    ) -> PartialSolutions:
        """Find configurations of samples (N, n) whose inputs are entered."""
        done = 0.0

        def round_done() -> None:
            nonlocal done
            step = min(1.0 / search.rounds, 1.0 - done)
            done += step
            advance(step)

        search, system = replace(search, advance=round_done), self._system
        found = self._plan.run(q, search)
        polished, closed = system.projected(found.q, steps=3)
        kept = np.flatnonzero(closed)
        kept = kept[system.distinct(found.rows[kept], polished[kept])]
        found = self._completed(_chosen(found, polished, kept), q, search)
        advance(1.0 - done)
        return found

    def _completed(
        self, found: PartialSolutions, q: Coordinates, search: Multistart
    ) -> PartialSolutions:
        """Add solutions that iteration finds for inputs at which the plan may have missed some."""
        doubtful = np.flatnonzero(~found.certain)
        if not len(doubtful):
            return found
        place = np.full(len(q), -1, dtype=np.intp)
        place[doubtful] = np.arange(len(doubtful))
        theirs = place[found.rows] >= 0
        solutions = place[found.rows[theirs]], found.q[theirs]
        rows, more, used = searched(self._system, q[doubtful], solutions, search)
        # Those that were known come first among equal ones and keep their certificates.
        unproved = np.nan if self.method == "closed form" else np.inf
        every = replace(
            found,
            rows=np.concatenate([found.rows, doubtful[rows]]),
            q=np.concatenate([found.q, more]),
            certificate=np.concatenate([found.certificate, np.full(len(rows), unproved)]),
            starts=found.starts + np.bincount(doubtful, used, minlength=len(q)).astype(np.intp),
        )
        return _chosen(every, every.q, self._system.distinct(every.rows, every.q))

    def _table(self, found: PartialSolutions, shape: tuple[int, ...]) -> AssemblyModes:
        """Arrange the solutions in a table with one row of configurations for each sample."""
        system, plan, N = self._system, self._plan, len(found.complete)
        # Angles lie between -pi and pi, but those that are coupled to others count their turns.
        coupled = {column for row in system.graph.couplings for column in row.columns}
        turns = Turns(system.graph, coupled | set(np.flatnonzero(system.held).tolist()))
        q = turns.near(found.q, np.zeros(found.q.shape[1]))
        keys = np.round(q[:, system.unknown], 8)
        order = np.lexsort((*keys.T[::-1], found.rows))
        rows = found.rows[order]

        def spread(values: Array) -> Array:
            table = table_of(rows, values[order], N)
            return read_only(table.reshape(*shape, *table.shape[1:]))

        residual = spread(system.error(q))
        regularity, starts = read_only(found.regularity.reshape(shape)), found.starts.reshape(shape)
        evidence = Evidence(plan.sentences, regularity, spread(found.certificate), starts)
        known, complete = np.isfinite(residual), found.complete.reshape(shape)
        return AssemblyModes(
            system.graph, spread(q), known, complete, plan.method, residual, evidence
        )


def _chosen(found: PartialSolutions, q: Coordinates, kept: Indices) -> PartialSolutions:
    """Return the solutions at the places ``kept``, with corrected coordinates."""
    certificate = found.certificate[kept]
    return replace(found, rows=found.rows[kept], q=q[kept], certificate=certificate)


@validation.validated(
    inputs=validation.NAMES,
    values=validation.ARRAY | validation.named(validation.ARRAY),
    pose=validation.instance(BodyPose) | validation.TEXT,
    by=validation.TEXT,
    starts=validation.WHOLE,
    rounds=validation.WHOLE,
    seed=validation.WHOLE,
    rtol=validation.POSITIVE,
    progress=validation.FLAG,
)
def configurations(
    model: Model | Graph,
    inputs: Sequence[str],
    values: ArrayLike | Mapping[str, ArrayLike],
    *,
    pose: BodyPose | str | None = None,
    by: str | None = None,
    starts: int = 64,
    rounds: int = 30,
    seed: int = 0,
    rtol: float = VANISHING,
    progress: bool = False,
) -> AssemblyModes:
    """Find all real configurations of a mechanism's loops for given inputs.

    Joints outside all loops that are no inputs keep their stored coordinates. For many calls on
    one mechanism use a ``ConfigurationFinder``.

    Args:
        model: The mechanism, or its graph.
        inputs: Names of the joints whose coordinates are given, or of single coordinates of joints
            with several, such as ``wrist[1]``.
        values: Inputs in radians and metres, shape (..., inputs), in this order; for one input
            also shape (...); or one array per input, by name.
        pose: A body whose pose is given too, by its name or with the coordinates that are wanted;
            they come after the other inputs, named as ``platform.x``.
        by: A body: configurations in which it has the same pose count as one. A platform of Gough
            and Stewart has at most 40 poses; its legs can be assembled in many ways at each.
        starts: Random starts of each sample in a round of the iteration, where it is needed.
        rounds: Largest number of rounds; three without anything new end it.
        seed: Seed of the starts and of arbitrary choices of the eigenvalue method.
        rtol: Angles, and distances relative to the size of a loop, that count as none when axes
            are compared for a closed form.
        progress: Show progress on standard error.

    Raises:
        ModelError: An input is unknown, the inputs are too few or cannot all be chosen freely, or
            the values do not fit.
    """
    finder = ConfigurationFinder(model, inputs, pose=pose, by=by, seed=seed, rtol=rtol)
    return finder.find(values, starts=starts, rounds=rounds, progress=progress)
