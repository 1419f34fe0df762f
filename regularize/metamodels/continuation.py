r"""From inputs to configurations: :math:`q(\theta)` in closed form, or along a path.

The kept rows of the loops and one row per input are as many equations as there are joint
coordinates (Brüls 2003, eq. 10). Away from singular configurations they determine a configuration
near any known one. Where a closed form exists it gives the configuration at once, and is checked
against all equations. Elsewhere Newton corrections follow paths that run straight from the
reference inputs to the given ones, all at once; a step is accepted when the corrections stay small
and the determinant keeps its sign, so a path never changes to another assembly mode unnoticed.
Rows that special dimensions make dependent may be among them: everything is solved in the sense of
least squares then, which is exact because the equations are consistent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from regularize.assembly_modes.closed_form.closed_branch import ClosedBranch, closed_branch
from regularize.errors import SingularInputs
from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics, State
from regularize.model.graph import coordinate_names
from regularize.reduction.cuts import ReducedLoops

#: Largest change of an input per step of a path, in radians or lengths.
STRIDE = 0.25
#: Steps shorter than this, radians or lengths, end a path: it has come to a singularity.
SHORTEST = 1e-7
#: The same where it does not matter exactly how far a path goes.
SHORT = 1e-3
#: Closure errors of an accepted configuration, lengths scaled.
TOLERANCE = 1e-12
#: The same for the equations that the reduction removed.
CLOSED = 1e-8
NEWTON_STEPS = 12
#: How often unreached inputs are tried again from the nearest ones that were reached.
DETOURS = 2


@dataclass(frozen=True, eq=False)
class Configurations:
    """Configurations that belong to given inputs.

    Attributes:
        theta: The inputs asked for, shape (N, s).
        q: Joint coordinates, shape (N, n); where not reached, the last ones on the path.
        reached: Whether the path arrived, shape (N,).
        stopped: Inputs at which each path ended, shape (N, s); ``theta`` where it arrived.
    """

    theta: Array
    q: Array
    reached: NDArray[np.bool_]
    stopped: Array


class ActuatedLoops:
    r"""The closed loops with one equation per input, :math:`\Phi(q, \theta) = 0`.

    Args:
        loops: Kinematics of the whole mechanism, cut at the reduced loops' cuts; its length
            scales translations.
        reduced: The kept rows.
        inputs: Columns of the actuated coordinates.
        q: A closed configuration, shape (n,): where every path begins.
        search: Whether to look for a closed form when configurations are first asked for.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        reduced: ReducedLoops,
        inputs: Sequence[int],
        q: Array,
        *,
        search: bool = True,
    ) -> None:
        """Index the inputs."""
        self.loops, self.reduced, self.inputs = loops, reduced, list(inputs)
        self.q, self.units = q, loops.units
        self._closed: ClosedBranch | None = None
        self._searched = not search
        self.selection = np.zeros((len(self.inputs), loops.freedoms))
        self.selection[range(len(self.inputs)), self.inputs] = 1.0 / self.units[self.inputs]

    def __getstate__(self) -> dict[str, Any]:
        """Closed forms are compiled functions: in other processes paths are followed."""
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

    def jacobian(self, state: State) -> Array:
        r""":math:`\Phi_q` by scaled velocities, shape (N, m, n); exact where the loops close."""
        rows = self.reduced.residual_jacobian(state)
        selection = np.broadcast_to(self.selection, (len(rows), *self.selection.shape))
        return np.concatenate([rows, selection], axis=1) * self.units

    def solve_velocity(self, jacobian: Array, rows: Array) -> Array:
        """Velocities (N, n, k) at which the equations change by ``rows``, shape (N, m, k)."""
        return np.asarray(self.units[:, None] * _solve(jacobian, rows))

    def residual(self, state: State, theta: Array) -> Array:
        """Errors of all equations, shape (N, m)."""
        errors = (state.q[:, self.inputs] - theta) / self.units[self.inputs]
        return np.concatenate([self.reduced.residual(state), errors], axis=1)

    def clearance(self, q: Array) -> Array:
        r"""Smallest over largest singular value of :math:`\Phi_q`, zero at singularities, (N,)."""
        s = np.linalg.svd(self.jacobian(self.loops.state(q)), compute_uv=False)
        return np.asarray(s[:, -1] / s[:, 0])

    def moving_joints(self, q: Array) -> list[str]:
        """Names of the coordinates that can still move, or nearly so, with the inputs locked."""
        _, _, vt = np.linalg.svd(self.jacobian(self.loops.state(q))[0])
        share = np.abs(vt[-1])
        names = coordinate_names(self.loops.graph.mechanism)
        return [names[int(self.loops.columns[i])] for i in np.flatnonzero(share > 0.1 * max(share))]

    def solve(self, theta: Array, shortest: float = SHORTEST) -> Configurations:
        """Configurations at given inputs, on the branch of the reference.

        Args:
            theta: Inputs, shape (N, s); radians or metres.
            shortest: How exactly paths that do not arrive are followed to their singular ends.
        """
        theta = np.asarray(theta, dtype=np.float64)
        N, s = theta.shape
        result = Configurations(
            theta, np.repeat(self.q[None], N, axis=0), np.zeros(N, dtype=bool), theta.copy()
        )
        if self.closed is not None:
            q, good = self.closed(theta)
            if good.any():
                good[good] = self._fulfilled(q[good], theta[good])
            result.q[good], result.reached[good] = q[good], True
        rest = np.flatnonzero(~result.reached)
        if len(rest):
            followed = self._follow(result.q[rest], theta[rest], shortest)
            result.q[rest], result.reached[rest] = followed.q, followed.reached
            result.stopped[rest] = followed.stopped
        # One input leaves only one way to go.
        for _ in range(DETOURS if s > 1 else 0):
            lost = np.flatnonzero(~result.reached)
            if not len(lost) or not result.reached.any():
                break
            known = np.flatnonzero(result.reached)
            scaled = theta / self.units[self.inputs]
            _, nearest = KDTree(scaled[known]).query(scaled[lost])
            again = self._follow(result.q[known[nearest]], theta[lost], shortest)
            if not again.reached.any():
                break
            found = lost[again.reached]
            result.q[found], result.stopped[found] = again.q[again.reached], theta[found]
            result.reached[found] = True
        return result

    def require(self, theta: Array) -> Array:
        """Configurations at inputs that all have to be reached, shape (N, n).

        Raises:
            SingularConfiguration: Some path ends at a singularity, or begins at one.
        """
        if not np.all(np.isfinite(theta)):
            raise ValueError("inputs have to be finite numbers")
        found = self.solve(theta)
        if not found.reached.all():
            i = int(np.flatnonzero(~found.reached)[0])
            names = coordinate_names(self.loops.graph.mechanism)
            raise SingularInputs(
                [names[int(self.loops.columns[c])] for c in self.inputs],
                found.theta[i],
                found.stopped[i],
                self.moving_joints(found.q[i : i + 1]),
            )
        return found.q

    def _follow(self, start: Array, target: Array, shortest: float) -> Configurations:
        """Paths from configurations that fulfil the loops, shape (N, n), to inputs (N, s)."""
        q = start.copy()
        origin = q[:, self.inputs]
        size = np.max(np.abs(target - origin) / self.units[self.inputs], axis=1, initial=0.0)
        step = np.minimum(1.0, STRIDE / np.maximum(size, STRIDE))
        least = np.minimum(1.0, shortest / np.maximum(size, shortest))
        done = np.zeros(len(q))
        active = np.ones(len(q), dtype=bool)
        while active.any():
            i = np.flatnonzero(active)
            fraction = np.minimum(1.0, done[i] + step[i])
            goal = origin[i] + fraction[:, None] * (target[i] - origin[i])
            trial, good, quick = self._step(q[i], goal)
            # Exactly the inputs asked for, free of the rounding of the corrections.
            trial[:, self.inputs] = goal
            q[i[good]], done[i[good]] = trial[good], fraction[good]
            step[i] *= np.where(good, np.where(quick, 2.0, 1.0), 0.5)
            active[i] = (done[i] < 1.0) & (step[i] >= least[i])
        reached = done >= 1.0
        return Configurations(
            target, q, reached, np.where(reached[:, None], target, q[:, self.inputs])
        )

    def _fulfilled(self, q: Array, theta: Array) -> NDArray[np.bool_]:
        """Whether configurations fulfil every equation, those removed included, shape (N,)."""
        state = self.loops.state(q)
        errors = np.abs(self.residual(state, theta)).max(axis=1, initial=0.0)
        every = np.abs(self.loops.residual(state)).max(axis=1, initial=0.0)
        return np.asarray((errors <= TOLERANCE) & (every < CLOSED))

    def _same_side(self, q: Array, trial: Array) -> NDArray[np.bool_]:
        """Whether no singularity lies between configurations near each other, shape (N,)."""
        before = self.jacobian(self.loops.state(q))
        combined = np.swapaxes(np.linalg.qr(before)[0], 1, 2)
        after = self.jacobian(self.loops.state(trial))
        signs = [np.linalg.slogdet(combined @ matrix)[0] for matrix in (before, after)]
        return np.asarray(signs[0] * signs[1] > 0.0)

    def _step(self, q: Array, goal: Array) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        """Prediction and correction (eq. 12): configurations, which are good, which were easy."""
        loops = self.loops
        predicted = self._newton_step(q, goal)
        size = np.max(np.abs(predicted), axis=1)
        bounded = predicted / np.maximum(1.0, size)[:, None]
        trial = loops.integrate(q, bounded * self.units)
        corrected, error = np.zeros(len(q)), np.full(len(q), np.inf)
        first = np.zeros(len(q))
        going = np.arange(len(q))
        for k in range(NEWTON_STEPS):
            state = loops.state(trial[going])
            residual = self.residual(state, goal[going])
            error[going] = np.max(np.abs(residual), axis=1)
            still = (error[going] > 1e-3 * TOLERANCE) & np.isfinite(error[going])
            still &= corrected[going] < 1.0
            # What rounding allows is reached: another step would only repeat it.
            still &= ~((k > 2) & (error[going] < 1e-2 * TOLERANCE))
            if not still.any():
                break
            matrix = self.jacobian(_part(state, still))
            change = -_solve(matrix, residual[still, :, None])[..., 0]
            going = going[still]
            moved = np.max(np.abs(change), axis=1)
            corrected[going] += moved
            if k == 0:
                first[going] = moved
            change /= np.maximum(1.0, moved)[:, None]
            trial[going] = loops.integrate(trial[going], change * self.units)
        good = np.asarray((corrected <= 0.5 * size + 1e-9) & (size <= 1.0))
        good &= self._fulfilled(trial, goal)
        good &= self._same_side(q, trial)
        return trial, good, good & (first < 0.05 * size + 1e-12)

    def _newton_step(self, q: Array, goal: Array) -> Array:
        """Scaled velocity along the loops that brings the inputs to the goal, shape (N, n)."""
        state = self.loops.state(q)
        jacobian = self.jacobian(state)
        rows = np.zeros((*jacobian.shape[:2], 1))
        rows[:, -len(self.inputs) :, 0] = (goal - q[:, self.inputs]) / self.units[self.inputs]
        return _solve(jacobian, rows)[..., 0]


def _part(state: State, chosen: NDArray[np.bool_]) -> State:
    """The state at some of its configurations."""
    return State(
        state.q[chosen],
        state.T_world_node[chosen],
        state.screws[chosen],
        state.T_world_chord[chosen],
        state.T_world_target[chosen],
    )


def _solve(matrix: Array, rows: Array) -> Array:
    """Solutions of regular systems, in the sense of least squares where rows are left over."""
    try:
        if matrix.shape[1] == matrix.shape[2]:
            return np.asarray(np.linalg.solve(matrix, rows))
        Q, R = np.linalg.qr(matrix)
        return np.asarray(np.linalg.solve(R, np.swapaxes(Q, 1, 2) @ rows))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix, rcond=1e-12) @ rows)
