r"""What the closure equations add to the formulas, the inputs being held.

Where two branches meet, the discriminant of an equation vanishes and its square root turns rounding
errors of 1e-16 into 1e-8. A projection onto all closure equations removes them: what is left of the
error in the direction that is singular is of second order. The derivatives of the same equations
give the rates of every branch, so that none is chosen again:

.. math:: J_f \dot q_f = -J_i \dot x, \qquad J_f \ddot q_f = -J_i \ddot x - \dot J \dot q
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import project
from regularize.manifold.tolerances import EXACT, ROUNDING
from regularize.model.graph import Graph, spanning_tree


class Refinement:
    """The closure equations of a mechanism whose inputs are given.

    Args:
        graph: The mechanism's graph.
        inputs: Columns of the inputs.
        length: Length by which closure errors are divided, in metres.
    """

    def __init__(self, graph: Graph, inputs: Sequence[int], length: float) -> None:
        """Order the mechanism's joints."""
        self._loops = LoopKinematics(graph, graph.every_edge, spanning_tree(graph), length=length)
        self._columns = self._loops.columns
        self._inputs = list(inputs)
        self._held = np.isin(self._columns, self._inputs)

    def __call__(self, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Refined configurations (N, n), and whether each is closed (N,)."""
        found = project(self._loops, q[:, self._columns], held=self._held, until=ROUNDING)
        result = q.copy()
        result[:, self._columns] = found.q
        # As exact as solutions are where branches meet.
        return result, found.error < EXACT.same

    def derivatives(self, q: Array, given: Sequence[Array]) -> Array:
        """Velocities of configurations, or accelerations, shape (N, n).

        They are the least ones where links may turn by themselves, and NaN where the inputs cannot
        move like that.

        Args:
            q: The configurations, shape (N, n).
            given: Rates of the inputs, and for accelerations the rates of these, (N, inputs) each.
        """
        loops, free = self._loops, ~self._held
        state = loops.state(q[:, self._columns])
        jacobian, units = loops.jacobian(state), loops.units[free]
        u, sizes, v = np.linalg.svd(jacobian[..., free] * units, full_matrices=False)
        # Slides of nearly parallel axes are long: all but the rounding counts.
        kept = sizes > EXACT.closed * sizes[:, :1]
        inverse = np.where(kept, 1.0 / np.where(kept, sizes, 1.0), 0.0)[..., None]
        result, bias = np.zeros_like(q), np.zeros(jacobian.shape[:2])
        for rates in given:
            result = np.zeros_like(q)
            result[:, self._inputs] = rates
            own = result[:, self._columns]
            for _ in range(2):  # the second time for the rounding of the first
                gap = (jacobian @ own[..., None])[..., 0] + bias
                along = inverse * (np.swapaxes(u, 1, 2) @ gap[..., None])
                own[:, free] -= units * (np.swapaxes(v, 1, 2) @ along)[..., 0]
            terms = (np.abs(jacobian) @ np.abs(own)[..., None])[..., 0] + np.abs(bias)
            left = np.max(np.abs((jacobian @ own[..., None])[..., 0] + bias), axis=1, initial=0.0)
            own[left > EXACT.same * np.max(terms, axis=1, initial=0.0)] = np.nan
            result[:, self._columns] = own
            bias = loops.bias(state, own)
        return result

    @property
    def units(self) -> Array:
        """One radian, or the length, of each coordinate, shape (n,)."""
        units = np.ones(len(self._loops.graph.position))
        units[self._columns] = self._loops.units
        return units

    def error(self, q: Array) -> Array:
        """Largest gap of a loop, by the largest coordinate where that is above one, shape (N,)."""
        if not len(q):
            return np.zeros(0)
        x = q[:, self._columns]
        error = self._loops.residual(self._loops.state(x))[:, : 6 * len(self._loops.chords)]
        size = np.maximum(1.0, np.max(np.abs(x), axis=1, initial=0.0))
        return np.asarray(np.max(np.abs(error), axis=1, initial=0.0) / size)

    def poses(self, q: Array) -> Array:
        """Poses of all nodes with lengths divided by ``length``, shape (N, nodes, 3, 4)."""
        poses = self._loops.state(q[:, self._columns]).T_world_node[:, :, :3].copy()
        poses[..., 3] /= self._loops.length
        return poses
