"""All configurations of a mechanism for given inputs, by the best method that there is.

Closed forms where they exist (``closed_form``). Else single loops with up to six unknown turns and
slides one after the other, each by eigenvalues (``eigen_loop``: Raghavan and Roth 1993, Manocha and
Canny 1994), where the loops can be solved in such an order. Else, and where eigenvalues leave a
doubt, iteration from many starts (``multistart``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.assembly_modes.assembly_plan import Recursion
from regularize.assembly_modes.closed_form.solver import closed_form
from regularize.assembly_modes.freedoms import require_fitting_inputs
from regularize.assembly_modes.inputs import graph_of, whole
from regularize.assembly_modes.loop_system import CLOSED, LoopSystem
from regularize.assembly_modes.multistart import searched
from regularize.assembly_modes.progress import bar
from regularize.assembly_modes.table import (
    AssemblyModes,
    Results,
    joined,
    packed,
)
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.graph import Graph
from regularize.model.mechanism import Mechanism

#: Samples that are computed at once, and branches of a closed form that are.
CHUNK, BRANCHES = 2048, 65536


class ConfigurationFinder:
    """Finds all configurations of a mechanism for values of some inputs.

    Args:
        mechanism: The mechanism, or its graph.
        inputs: Names of the joints whose coordinates are given, or of single coordinates of joints
            with several, such as ``wrist[1]``.
        seed: Seed of the starts and of arbitrary choices of the eigenvalue method.
        rtol: Angles, and distances relative to the size of a loop, that count as none when axes
            are compared for a closed form.

    Attributes:
        graph: The mechanism's graph.
        inputs: Names of the input coordinates, in the order of the values.

    Raises:
        ModelError: An input is unknown, or the inputs are too few or cannot all be chosen freely.
    """

    def __init__(
        self,
        mechanism: Mechanism | Graph,
        inputs: Sequence[str],
        *,
        seed: int = 0,
        rtol: float = 1e-9,
    ) -> None:
        """Look for a closed form."""
        self.graph = graph_of(mechanism)
        self._form = closed_form(self.graph, inputs, rtol=rtol)
        self.inputs, self._seed = self._form.inputs, seed
        within = {c for cell in self.graph.cells for c in self.graph.columns(cell)}
        unknown = np.array(sorted(within - set(self._form.columns)), dtype=np.intp)
        self._system = LoopSystem(self.graph, unknown)
        if not self._form.solved:
            require_fitting_inputs(self._system, self._form.given, seed=seed)

    def __repr__(self) -> str:
        """The mechanism and the inputs."""
        return f"<ConfigurationFinder of {self.graph.mechanism.name!r} for {[*self.inputs]}>"

    @cached_property
    def _recursion(self) -> Recursion:
        return Recursion(self.graph, self._system.unknown, seed=self._seed)

    @property
    def method(self) -> str:
        """``closed form``, ``eigenvalues`` or ``iteration``."""
        if self._form.solved:
            return "closed form"
        return "eigenvalues" if self._recursion.solved else "iteration"

    def find(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        *,
        starts: int = 64,
        rounds: int = 30,
        progress: bool = False,
    ) -> AssemblyModes:
        """All configurations at some values of the inputs.

        Args:
            values: Inputs in radians and metres, shape (..., inputs), in the order of ``inputs``;
                for one input also shape (...); or one array per input, by name.
            starts: Random starts of each sample in a round of the iteration, where it is needed.
            rounds: Largest number of rounds; three without anything new end it.
            progress: Show progress on standard error.

        Raises:
            ModelError: The values do not fit the inputs.
        """
        starts, rounds = whole(starts, "starts"), whole(rounds, "rounds")
        x = self._form.given.values(values)
        if not np.all(np.isfinite(x)):
            raise ModelError("the values of the inputs need to be finite")
        shape = x.shape[:-1]
        x = x.reshape(math.prod(shape), len(self.inputs))
        size = CHUNK
        if self._form.solved:
            size = min(CHUNK, max(1, BRANCHES // len(self._form.branches)))
        parts = [x[k : k + size] for k in range(0, max(1, len(x)), size)]
        with bar(progress, len(parts), f"{len(x)} configurations of the inputs") as advance:
            results = joined([self._results(part, starts, rounds, advance) for part in parts])
        return packed(results, self._system, shape)

    def _results(
        self, x: Array, starts: int, rounds: int, advance: Callable[[float], None]
    ) -> Results:
        """Configurations of a number of samples, shape (N, inputs)."""
        q = np.repeat(self.graph.position[None], len(x), axis=0)
        q[:, list(self._form.columns)] = x
        results = self._by_closed_form(x) if self._form.solved else self._by_eigenvalues(q)
        done = 0.0

        def round_done() -> None:
            nonlocal done
            done += 1 / rounds
            advance(1 / rounds)

        results = self._searched(results, q, starts, rounds, round_done)
        advance(1.0 - done)
        return results

    def _formula_solutions(self, x: Array) -> tuple[NDArray[np.intp], Array, NDArray[np.bool_]]:
        """Samples and coordinates of a closed form's solutions, and whether they are closed."""
        solutions = self._form.solve(x)
        rows, branch = np.nonzero(solutions.assembled)
        q = self._system.polished(solutions.q[rows, branch], steps=2, enough=0.1 * CLOSED)
        # Corrections are of the size of rounding, or else these are no solutions.
        apart = np.max(np.abs(q - solutions.q[rows, branch]), axis=1, initial=0.0)
        closed = (self._system.error(q) <= CLOSED) & (apart < 1e-6)
        return rows, q, closed

    def _by_closed_form(self, x: Array) -> Results:
        rows, q, closed = self._formula_solutions(x)
        complete = np.ones(len(x), dtype=bool)
        complete[rows[~closed]] = False
        complete[rows[~self._system.isolated(q)]] = False
        kept = np.flatnonzero(closed)
        kept = kept[self._system.distinct(rows[closed], q[closed])]
        return Results(
            rows[kept],
            q[kept],
            complete,
            "closed form",
            tuple(str(loop) for loop in self._form.loops),
            np.full(len(x), np.nan),
            np.full(len(kept), np.nan),
            np.zeros(len(x), dtype=np.intp),
        )

    def _by_eigenvalues(self, q: Array) -> Results:
        """AssemblyModes loop by loop, or none where the loops have no such order."""
        N, system, recursion = len(q), self._system, self._recursion
        starts = np.zeros(N, dtype=np.intp)
        if not recursion.solved:
            rows, no, unknown = starts[:0], np.zeros(N, dtype=bool), np.full(N, np.nan)
            return Results(
                rows, q[:0], no, self.method, recursion.told, unknown, np.zeros(0), starts
            )
        chained = recursion.run(q)
        found = system.polished(chained.q, steps=3)
        closed = np.flatnonzero(system.error(found) <= CLOSED)
        kept = closed[system.distinct(chained.rows[closed], found[closed])]
        return Results(
            chained.rows[kept],
            found[kept],
            chained.complete,
            self.method,
            recursion.told,
            chained.regularity,
            chained.certificate[kept],
            starts,
        )

    def _searched(
        self, results: Results, q: Array, starts: int, rounds: int, advance: Callable[[], None]
    ) -> Results:
        """The results with what the iteration finds where they are not known to be complete."""
        doubtful = np.flatnonzero(~results.complete)
        if not len(doubtful):
            return results
        place = np.full(len(q), -1, dtype=np.intp)
        place[doubtful] = np.arange(len(doubtful))
        ours = place[results.rows] >= 0
        rows, found, used = searched(
            self._system,
            q[doubtful],
            (place[results.rows[ours]], results.q[ours]),
            starts=starts,
            rounds=rounds,
            seed=self._seed,
            advance=advance,
        )
        # Those that were known come first among equal ones and keep their certificates.
        every = np.concatenate([results.rows, doubtful[rows]])
        everything = np.concatenate([results.q, found])
        none = np.inf if results.method == "eigenvalues" else np.nan
        certificate = np.concatenate([results.certificate, np.full(len(rows), none)])
        kept = self._system.distinct(every, everything)
        total = np.zeros(len(q), dtype=np.intp)
        total[doubtful] = used
        return Results(
            every[kept],
            everything[kept],
            results.complete,
            results.method,
            results.loops,
            results.regularity,
            certificate[kept],
            total,
        )


def configurations(
    mechanism: Mechanism | Graph,
    inputs: Sequence[str],
    values: ArrayLike | Mapping[str, ArrayLike],
    *,
    starts: int = 64,
    rounds: int = 30,
    seed: int = 0,
    rtol: float = 1e-9,
    progress: bool = False,
) -> AssemblyModes:
    """Find all real configurations of a mechanism's loops for given inputs.

    Joints outside all loops that are no inputs keep their stored coordinates. For many calls on
    one mechanism use a ``ConfigurationFinder``.

    Args:
        mechanism: The mechanism, or its graph.
        inputs: Names of the joints whose coordinates are given, or of single coordinates of joints
            with several, such as ``wrist[1]``.
        values: Inputs in radians and metres, shape (..., inputs), in this order; for one input
            also shape (...); or one array per input, by name.
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
    finder = ConfigurationFinder(mechanism, inputs, seed=seed, rtol=rtol)
    return finder.find(values, starts=starts, rounds=rounds, progress=progress)
