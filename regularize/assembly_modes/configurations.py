"""All configurations of a mechanism for given inputs, each loop by the best method that it has.

The order of the loops and what solves them is the ``AssemblyPlan``: formulas, eigenvalues, or
iteration from many starts. Where formulas or eigenvalues leave a doubt, iteration over all loops
looks for what may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.assembly_modes.assembly_plan import AssemblyPlan
from regularize.assembly_modes.assembly_steps import Found
from regularize.assembly_modes.body_pose import BodyPose, with_pose
from regularize.assembly_modes.closed_form.solver import closed_form
from regularize.assembly_modes.freedoms import require_fitting_inputs
from regularize.assembly_modes.inputs import node_of, whole
from regularize.assembly_modes.loop_system import LoopSystem
from regularize.assembly_modes.multistart import Multistart, searched
from regularize.assembly_modes.progress import bar
from regularize.assembly_modes.table import AssemblyModes, joined, packed
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.manifold.batches import CHUNK
from regularize.model.graph import Graph
from regularize.model.mechanism import Mechanism

#: Configurations that there is room for at once: some kilobytes each.
ROOM = 65536


class ConfigurationFinder:
    """Finds all configurations of a mechanism for values of some inputs.

    Args:
        mechanism: The mechanism, or its graph.
        inputs: Names of the joints whose coordinates are given, or of single coordinates of joints
            with several, such as ``wrist[1]``.
        pose: A body whose pose is given too, as of ``closed_form``.
        by: A body: configurations in which it has the same pose count as one.
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
        inputs: Sequence[str] = (),
        *,
        pose: BodyPose | str | None = None,
        by: str | None = None,
        seed: int = 0,
        rtol: float = 1e-9,
    ) -> None:
        """Look for a closed form."""
        self.graph, inputs = with_pose(mechanism, inputs, pose)
        self._by = by
        if by is not None:
            node_of(self.graph, by)
        self._form = closed_form(self.graph, inputs, rtol=rtol)
        self.inputs, self._seed, self._rtol = self._form.inputs, seed, rtol
        within = {c for cell in self.graph.cells for c in self.graph.columns(cell)}
        unknown = np.array(sorted(within - set(self._form.columns)), dtype=np.intp)
        self._system = LoopSystem(self.graph, unknown, told_by=self._by)
        if not self._form.solved:
            require_fitting_inputs(self._system, self._form.given, seed=seed)

    def __repr__(self) -> str:
        """The mechanism and the inputs."""
        return f"<ConfigurationFinder of {self.graph.mechanism.name!r} for {[*self.inputs]}>"

    @cached_property
    def _plan(self) -> AssemblyPlan:
        unknown = self._system.unknown
        form, rtol, seed = self._form, self._rtol, self._seed
        return AssemblyPlan(self.graph, unknown, form, told_by=self._by, rtol=rtol, seed=seed)

    @property
    def method(self) -> str:
        """What the loops need at least: ``closed form``, ``eigenvalues`` or ``iteration``."""
        return self._plan.method

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
        search = Multistart(whole(starts, "starts"), whole(rounds, "rounds"), self._seed)
        x = self._form.given.values(values)
        if not np.all(np.isfinite(x)):
            raise ModelError("the values of the inputs need to be finite")
        shape = x.shape[:-1]
        q = np.repeat(self.graph.position[None], math.prod(shape), axis=0)
        q[:, list(self._form.columns)] = x.reshape(len(q), len(self.inputs))
        size = min(CHUNK, max(1, ROOM // self._plan.ways))
        parts = [q[k : k + size] for k in range(0, max(1, len(q)), size)]
        with bar(progress, len(parts), f"{len(q)} configurations of the inputs") as advance:
            found = [self._found(part, search, advance) for part in parts]
        return packed(joined(found), self._plan, self._system, shape)

    def _found(self, q: Array, search: Multistart, advance: Callable[[float], None]) -> Found:
        """Configurations of samples whose inputs are entered, shape (N, n)."""
        done = 0.0

        def round_done() -> None:
            nonlocal done
            step = min(1.0 / search.rounds, 1.0 - done)
            done += step
            advance(step)

        search = replace(search, advance=round_done)
        found = self._plan.run(q, search)
        found = self._completed(self._closed(found), q, search)
        advance(1.0 - done)
        return found

    def _closed(self, found: Found) -> Found:
        """What closes all loops, every configuration once."""
        system = self._system
        q, closed = system.projected(found.q, steps=3)
        kept = np.flatnonzero(closed)
        return _chosen(found, q, kept[system.distinct(found.rows[kept], q[kept])])

    def _completed(self, found: Found, q: Array, search: Multistart) -> Found:
        """With what iteration over all loops finds where eigenvalues or formulas leave a doubt."""
        doubtful = np.flatnonzero(~found.certain)
        if not len(doubtful):
            return found
        place = np.full(len(q), -1, dtype=np.intp)
        place[doubtful] = np.arange(len(doubtful))
        ours = place[found.rows] >= 0
        known = place[found.rows[ours]], found.q[ours]
        rows, more, used = searched(self._system, q[doubtful], known, search)
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


def _chosen(found: Found, q: Array, kept: NDArray[np.intp]) -> Found:
    """Some of the configurations, corrected."""
    certificate = found.certificate[kept]
    return replace(found, rows=found.rows[kept], q=q[kept], certificate=certificate)


def configurations(
    mechanism: Mechanism | Graph,
    inputs: Sequence[str],
    values: ArrayLike | Mapping[str, ArrayLike],
    *,
    pose: BodyPose | str | None = None,
    by: str | None = None,
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
    finder = ConfigurationFinder(mechanism, inputs, pose=pose, by=by, seed=seed, rtol=rtol)
    return finder.find(values, starts=starts, rounds=rounds, progress=progress)
