r"""Solutions where two branches meet.

There the discriminant of an equation vanishes and its square root turns rounding errors of 1e-16
into 1e-8. Newton's method on all closure equations, with the derivative's generalised inverse,
removes them: what is left of the error in the direction that is singular is of second order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import Graph, spanning_tree

#: Scaled discriminants below which a solution is refined: above, errors are below 1e-12.
NEAR = 1e-6
#: Derivatives smaller than this fraction of the largest are those that vanish where branches meet.
SINGULAR = 1e-5
#: Closure errors, lengths divided by the size of the loop, that refinement is taken for.
REFINED = 1e-6
STEPS = 3


class Refinement:
    """Newton's method on all closure equations of a mechanism, the inputs being held.

    Args:
        graph: The mechanism's graph.
        inputs: Columns of the inputs.
        length: Length by which closure errors are divided, in metres.
    """

    def __init__(self, graph: Graph, inputs: Sequence[int], length: float) -> None:
        """Order the mechanism's joints."""
        edges = range(len(graph.edges))
        self._loops = LoopKinematics(graph, edges, spanning_tree(graph), length=length)
        self._columns = self._loops.columns
        self._inputs = list(inputs)
        self._free = np.flatnonzero(~np.isin(self._columns, list(inputs)))

    def __call__(self, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Refined configurations (N, n), and whether each is closed (N,)."""
        loops, x = self._loops, q[:, self._columns]
        for _ in range(STEPS):
            state = loops.state(x)
            error = loops.residual(state)
            inverse = np.linalg.pinv(loops.residual_jacobian(state)[:, :, self._free], SINGULAR)
            step = np.zeros_like(x)
            step[:, self._free] = -(inverse @ error[..., None])[..., 0]
            x = loops.integrate(x, step)
        error = np.max(np.abs(loops.residual(loops.state(x))), axis=1, initial=0.0)
        result = q.copy()
        result[:, self._columns] = x
        return result, error < REFINED

    def derivatives(self, q: Array, given: Sequence[Array]) -> tuple[Array, NDArray[np.bool_]]:
        """Velocities of configurations, or accelerations, (N, n), and which are regular, (N,).

        Args:
            q: The configurations, shape (N, n).
            given: Rates of the inputs, and for accelerations the rates of these, (N, inputs) each.
        """
        loops, free = self._loops, self._free
        state = loops.state(q[:, self._columns])
        jacobian = loops.jacobian(state)
        inverse = np.linalg.pinv(jacobian[:, :, free], SINGULAR)
        sizes = np.linalg.svd(jacobian[:, :, free], compute_uv=False)
        regular = sizes[:, -1] > SINGULAR * sizes[:, 0]
        result = np.zeros_like(q)
        bias = np.zeros(jacobian.shape[:2])
        for rates in given:
            result = np.zeros_like(q)
            result[:, self._inputs] = rates
            own = result[:, self._columns]
            gap = (jacobian @ own[..., None])[..., 0] + bias
            own[:, free] = -(inverse @ gap[..., None])[..., 0]
            result[:, self._columns] = own
            bias = loops.bias(state, own)
        return result, regular

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
