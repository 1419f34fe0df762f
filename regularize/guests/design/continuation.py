r"""From inputs to configurations: :math:`q(\theta)` in closed form, or along a path.

The kept rows of the loops and one row per input are as many equations as there are joint
coordinates (Brüls 2003, eq. 10). Away from singular configurations they determine a configuration
near any known one. Where a closed form exists it gives the configuration at once, and is checked
against all equations. Elsewhere continuation drives the inputs straight from the reference to the
given ones, all at once, so a path never changes to another assembly mode unnoticed. Rows that
special dimensions make dependent may be among them: everything is solved in the sense of least
squares then, which is exact because the equations are consistent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from regularize.errors import NotFinite, SingularInputs
from regularize.guests.modes.sampling import ClosedBranch, closed_branch
from regularize.lie.arrays import Array, Coordinates, Jacobian, Mask
from regularize.loops.continuation import Arrived, Continuation, Stepped, drive
from regularize.loops.kinematics import LoopKinematics, State
from regularize.loops.projection import least_norm
from regularize.mechanism.graph import coordinate_names
from regularize.reduction.cuts import ReducedLoops
from regularize.tolerances import EXACT, Tolerances

#: How often unreached inputs are tried again from the nearest ones that were reached: most are
#: found at once or never.
DETOURS = 2


@dataclass(frozen=True, eq=False)
class ReachedConfigurations(Arrived):
    """Configurations that belong to given inputs."""

    stopped: Array  # inputs (N, s) at which each path ended


class ActuatedLoops(Continuation):
    r"""The kept rows of closed loops with one equation per input, :math:`\Phi(q, \theta) = 0`.

    Every path begins at a closed configuration q; the loops' length scales translations. A closed
    form is looked for if ``search``, when configurations are first asked for.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        reduced: ReducedLoops,
        inputs: Sequence[int],
        q: Coordinates,
        *,
        search: bool = True,
        tolerances: Tolerances = EXACT,
    ) -> None:
        # No direction may be left out: at a crossing, another branch begins along it.
        super().__init__(reduced, replace(tolerances, singular=tolerances.closed))
        self.loops, self.reduced, self.inputs = loops, reduced, list(inputs)
        self.q = q
        self._closed: ClosedBranch | None = None
        self._searched = not search

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the closed form, which is compiled: in other processes paths are followed."""
        return {**self.__dict__, "_closed": None, "_searched": True}

    @property
    def closed(self) -> ClosedBranch | None:
        """The closed form of the reference's branch, where there is one; found at first use."""
        if not self._searched:
            self._closed = closed_branch(self.loops, self.inputs, self.q)
            self._searched = True
        return self._closed

    @property
    def theta(self) -> Array:
        """Inputs at the reference configuration, shape (s,)."""
        return np.asarray(self.q[self.inputs])

    def rows(self, state: State) -> Jacobian:
        """Return the kept rows by scaled velocities; exact where the loops close."""
        return self.reduced.residual_jacobian(state) * self.loops.units

    def completed(self, rows: Array, given: Array, right: Array | float = 0.0) -> Array:
        """Complete scaled velocities (s, k) of the inputs to those of all joints, (N, n, k)."""
        free = np.delete(np.arange(len(self.loops.units)), self.inputs)
        right = right - rows[..., self.inputs] @ given
        result = np.zeros((len(rows), len(self.loops.units), given.shape[1]))
        result[:, self.inputs] = given
        result[:, free] = least_norm(rows[..., free], right, self.tolerances.singular)
        return result * self.loops.units[:, None]

    def _jacobian(self, q: Coordinates) -> Jacobian:
        r"""Return :math:`\Phi_q` by scaled velocities: the kept rows, then one per input."""
        rows = self.rows(self.loops.state(q))
        locked = np.eye(len(self.loops.units))[self.inputs]
        return np.concatenate([rows, np.broadcast_to(locked, (len(q), *locked.shape))], axis=1)

    def clearance(self, q: Coordinates) -> Array:
        r"""Return the smallest over the largest singular value of :math:`\Phi_q`."""
        s = np.linalg.svd(self._jacobian(q), compute_uv=False)
        return np.asarray(s[:, -1] / s[:, 0])

    def moving_joints(self, q: Coordinates) -> list[str]:
        """Name the coordinates that can still move, or nearly so, with the inputs locked."""
        _, _, vt = np.linalg.svd(self._jacobian(q)[0])
        share = np.abs(vt[-1])
        names = coordinate_names(self.loops.graph.mechanism)
        return [names[int(self.loops.columns[i])] for i in np.flatnonzero(share > 0.1 * max(share))]

    def solve(self, theta: Array, shortest: float = 1e-7) -> ReachedConfigurations:
        """Find configurations at inputs (N, s) on the branch of the reference.

        Paths that do not arrive are followed to their singular ends by steps down to ``shortest``.
        """
        theta = np.asarray(theta, dtype=np.float64)
        if not np.all(np.isfinite(theta)):
            raise NotFinite("inputs have to be finite numbers")
        q, reached = np.repeat(self.q[None], len(theta), axis=0), np.zeros(len(theta), dtype=bool)
        if self.closed is not None:
            found, good = self.closed(theta)
            good &= np.all(found[:, self.inputs] == theta, axis=1)
            good[good] = self._fulfilled(found[good])
            q[good], reached[good] = found[good], True
        lost = np.flatnonzero(~reached)
        first = drive(self, q[lost], self.inputs, theta[lost], shortest=shortest)
        q[lost], reached[lost] = first.q, first.reached
        scaled = theta / self.loops.units[self.inputs]
        # One input leaves only one way to go.
        for _ in range(DETOURS if theta.shape[1] > 1 and reached.any() else 0):
            lost, known = np.flatnonzero(~reached), np.flatnonzero(reached)
            nearest = known[KDTree(scaled[known]).query(scaled[lost])[1]]
            again = drive(self, q[nearest], self.inputs, theta[lost], shortest=shortest)
            arrived = lost[again.reached]
            if not len(arrived):
                break
            q[arrived], reached[arrived] = again.q[again.reached], True
        return ReachedConfigurations(q, reached, stopped=q[:, self.inputs])

    def require(self, theta: Array) -> Coordinates:
        """Find configurations at inputs; raise ``SingularInputs`` where a path ends before."""
        found = self.solve(theta)
        if not found.reached.all():
            i = int(np.flatnonzero(~found.reached)[0])
            names = coordinate_names(self.loops.graph.mechanism)
            raise SingularInputs(
                [names[int(self.loops.columns[c])] for c in self.inputs],
                theta[i],
                found.stopped[i],
                self.moving_joints(found.q[i : i + 1]),
            )
        return found.q

    def driven(self, q: Coordinates, columns: Sequence[int], goal: Array) -> Stepped:
        """Make a step, which also has to fulfil the equations that the reduction removed."""
        found = super().driven(q, columns, goal)
        good = found.good.copy()
        good[good] = self._fulfilled(found.q[good])
        return replace(found, good=good)

    def _fulfilled(self, q: Coordinates) -> Mask:
        """Tell which configurations fulfil every equation, those removed included."""
        state = self.loops.state(q)
        kept, every = (
            np.abs(constraints.residual(state)).max(axis=1, initial=0.0)
            for constraints in (self.reduced, self.loops)
        )
        return np.asarray((kept <= self.tolerances.closed) & (every <= self.tolerances.same))
