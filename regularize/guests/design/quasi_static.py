r"""Elastic coordinates that follow the inputs: in balance with all forces but those of inertia.

Of a reduced model with the inputs :math:`\theta` and elastic coordinates e, the equilibrium
:math:`p_e(\theta, e) = 0` makes e a function of :math:`\theta`, where it is stable. Motions are
those along it: with :math:`S = (1; e_\theta)` and :math:`e_{\theta\theta}` all twists and
accelerations are linear in the inputs' rates and their products again, so that H, D, p and C follow
as those of a rigid mechanism, and a metamodel has as few inputs. The slope of p is exact but for
differences of joint forces at given screws; :math:`e_{\theta\theta}` is a difference of slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.guests.design.actuator_dynamics import ReducedModel, ReducedMotion, joint_forces
from regularize.guests.design.continuation import ActuatedLoops, ReachedConfigurations
from regularize.guests.design.equation_of_motion import mirror, pairs, symmetric_products
from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates

#: Steps of Newton's method to an equilibrium; near it each squares the error.
STEPS = 20
#: Largest correction, radians or lengths, that is one of rounding.
BALANCED = 1e-10
#: Changes of coordinates over which forces and slopes are compared: rounding and the third
#: derivative are then equally far below 1e-6.
FORCES, SLOPES = 1e-5, 1e-3


class BalancedLoops(ActuatedLoops):
    """Closed loops with the first inputs of a full model, its other ones in equilibrium."""

    def __init__(self, full: ReducedModel, inputs: int) -> None:
        loops = full.equations
        super().__init__(
            loops.loops,
            loops.reduced,
            loops.inputs[:inputs],
            loops.q,
            search=False,
            tolerances=loops.tolerances,
        )
        self.full = full

    def clearance(self, q: Coordinates) -> Array:
        """Return the clearance of the full model: springs close no loop."""
        return self.full.equations.clearance(q)

    def moving_joints(self, q: Coordinates) -> list[str]:
        """Name the coordinates that can move with inputs and springs locked."""
        return self.full.equations.moving_joints(q)

    def solve(self, theta: Array, shortest: float = 1e-7) -> ReachedConfigurations:
        """Find configurations in stable equilibrium at inputs (N, s), as ``ActuatedLoops`` does."""
        full, s = self.full.equations, len(self.inputs)
        straight = np.broadcast_to(full.theta[s:], (len(theta), len(full.inputs) - s))
        start = full.solve(np.hstack([theta, straight]), shortest)
        q, reached, units = start.q, start.reached, self.loops.units[full.inputs[s:]]
        active = np.flatnonzero(reached)
        for _ in range(STEPS):
            if not len(active):
                break
            motion = self.full.motion(q[active])
            elastic = np.swapaxes(motion.q_theta[..., s:], 1, 2)
            force = elastic @ joint_forces(self.full, motion.state)[..., None]
            stiffness = -slopes(self.full, motion)[:, s:, s:]
            both = stiffness + np.swapaxes(stiffness, 1, 2)
            stable = np.linalg.eigvalsh(both)[:, 0] > 0.0
            reached[active[~stable]] = False
            active = active[stable]
            step = np.linalg.solve(stiffness[stable], force[stable])[..., 0]
            goal = q[active][:, full.inputs]
            goal[:, s:] += step / np.maximum(1.0, np.abs(step / units).max(axis=1))[:, None]
            moved = full.driven(q[active], full.inputs, goal)
            q[active[moved.good]] = moved.q[moved.good]
            reached[active[~moved.good]] = False
            active = active[moved.good & (np.abs(step / units).max(axis=1) > BALANCED)]
        reached[active] = False
        return ReachedConfigurations(q, reached, stopped=q[:, self.inputs])


@dataclass(frozen=True, eq=False, repr=False)
class QuasiStaticModel(ReducedModel):
    """A reduced model whose elastic coordinates follow its inputs."""

    equations: BalancedLoops

    def motion(self, q: Coordinates) -> ReducedMotion:
        """Return what is linear in the inputs' rates and products along the equilibrium."""
        full, loops, s = self.equations.full, self.equations.full.equations, len(self.inputs)
        motion = full.motion(q)
        V, units = motion.q_theta, loops.loops.units
        S = self._along(motion)
        changes = np.zeros((*S[:, s:].shape, s))
        for j in range(s):
            way = S[:, None, :, j]
            h = SLOPES / np.abs((V @ S[:, :, [j]])[..., 0] / units).max(axis=1)[:, None]
            for step in (h, -h):
                goal = q[:, loops.inputs] + step * way[:, 0]
                moved = full.motion(loops.driven(q, loops.inputs, goal).q)
                changes[..., j] += self._along(moved)[:, s:] / (2 * step)[..., None]
        one, two = pairs(len(loops.inputs))
        products = symmetric_products(S[:, one, :, None] * S[:, two, None, :])
        return ReducedMotion(
            motion.state,
            V @ S,
            motion.rates @ products[:, None],
            motion.B @ products + V[..., s:] @ symmetric_products(changes),
        )

    def _along(self, motion: ReducedMotion) -> Array:
        """Return rates of all coordinates by those of the inputs, shape (N, s + e, s)."""
        s = len(self.inputs)
        slope = slopes(self.equations.full, motion)
        follow = -np.linalg.solve(slope[:, s:, s:], slope[:, s:, :s])
        return np.concatenate([np.broadcast_to(np.eye(s), (len(slope), s, s)), follow], axis=1)


def slopes(full: ReducedModel, motion: ReducedMotion) -> Array:
    """Return the derivative of p, by rows, along the inputs, by columns, shape (N, s, s)."""
    loops, state, V = full.equations.loops, motion.state, motion.q_theta
    s, tau = V.shape[-1], joint_forces(full, motion.state)
    curved = (motion.B * np.where(np.equal(*pairs(s)), 1.0, 0.5))[..., mirror(s)]
    result = np.einsum("nk,nkij->nij", tau, curved)
    for edge in loops.graph.edges:
        if edge.group:  # twists in the moving frame: their derivatives are not symmetric
            k = list(edge.columns)
            twists = np.swapaxes(V[:, k], 1, 2) @ edge.screws.T
            turned = screw.bracket(twists[:, :, None], twists[:, None])
            rates = turned @ np.linalg.pinv(edge.screws).T
            result += 0.5 * (rates @ tau[:, None, k, None])[..., 0]
    for j in range(s):
        step = FORCES / np.abs(V[..., j] / loops.units).max(axis=1, keepdims=True)
        ends = [loops.integrate(state.q, h * V[..., j]) for h in (step, -step)]
        forward, back = (joint_forces(full, loops.state(end)) for end in ends)
        result[:, :, j] += np.einsum("nki,nk->ni", V, (forward - back) / (2 * step))
    return np.asarray(result)


def quasi_static(full: ReducedModel, names: Sequence[str]) -> QuasiStaticModel:
    """Make a model of fewer inputs from one in all coordinates, the inputs first."""
    rest = {key: value for key, value in vars(full).items() if key not in ("inputs", "equations")}
    return QuasiStaticModel(tuple(names), BalancedLoops(full, len(names)), **rest)
