"""Integration with one choice of coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from regularize.minimal.dynamics import MinimalDynamics, NoInertia
from regularize.minimal.kinematics import ClosureLost, Pose
from regularize.minimal.model_branch import ModelBranch, model_branch
from regularize.screw import Array

#: Joint forces by time, configuration and velocity, shape (nv,).
Torque = Callable[[float, Array, Array], Array]

#: Displacement of a group joint (radians) at which the reference is moved along: far from it the
#: components of a displacement tell less of those of the velocity.
FAR = 0.7
#: Poses that are found by iteration before a closed form is looked for, which takes as long.
WORTHWHILE = 100
#: Largest change of a coordinate in radians and metres that is made at once.
STRIDE = 0.2
#: Strides that are made at most: trial steps of an integrator may lead anywhere.
STRIDES = 100


class Segment:
    """Integration with one choice of coordinates; remembers the last pose as a first guess.

    Args:
        dynamics: The equations of motion.
        torque: Joint forces, or None.
        explicit: Whether the method shortens its step when a rate is no number.
    """

    def __init__(self, dynamics: MinimalDynamics, torque: Torque | None, *, explicit: bool) -> None:
        """Close the loops at the reference."""
        self.dynamics, self.torque, self.explicit = dynamics, torque, explicit
        self.lost: ClosureLost | NoInertia | None = None
        self.begun = False
        self.free = [dynamics.known[i] for i in dynamics.free]
        self.driven = [dynamics.known[i] for i in dynamics.driven]
        self.motions = [dynamics.forced[dynamics.names[c]] for c in self.driven]
        self.offset = dynamics.positions(dynamics.reference, self.driven)
        self.pose = dynamics.close(np.zeros(dynamics.robot.model.nv))
        self.guess = dynamics.displacement(self.pose.q)
        self._branch: ModelBranch | None = None
        self._solved = 0

    @property
    def far(self) -> bool:
        """Whether displacements of group joints come near to where they are no longer unique."""
        model = self.dynamics.robot.model
        for j in range(1, model.njoints):
            if model.nqs[j] != model.nvs[j]:
                start = model.idx_vs[j] + model.nvs[j] - 3
                if float(np.linalg.norm(self.guess[start : start + 3])) > FAR:
                    return True
        return False

    def state(self, q: Array, v: Array) -> Array:
        """Independent displacements, then independent velocities."""
        return np.concatenate([self.dynamics.displacement(q)[self.free], v[self.free]])

    def resolve(self, t: float, state: Array) -> tuple[Pose, Array, Array]:
        """Pose, velocities of all coordinates and prescribed accelerations."""
        n = len(self.free)
        target = self.guess.copy()
        target[self.free] = state[:n]
        prescribed = np.array([motion(t) for motion in self.motions]).reshape(-1, 3)
        target[self.driven] = prescribed[:, 0] - self.offset
        pose = self._follow(target)
        known = np.zeros(len(self.dynamics.known))
        known[self.dynamics.free], known[self.dynamics.driven] = state[n:], prescribed[:, 1]
        return pose, self.dynamics.velocity(pose, known), prescribed[:, 2]

    def _follow(self, target: Array) -> Pose:
        """Close the loops: by the closed form if there is one, else by iteration."""
        dynamics = self.dynamics
        self._solved += 1
        if self._solved == WORTHWHILE:
            self._branch = model_branch(dynamics.robot, dynamics.known, self.pose.q)
        known = dynamics.known
        change = self.pose.transmission @ (target - self.guess)[known]
        # A long way is gone in strides, so that the motion stays on its branch.
        way = float(np.max(np.abs(change), initial=0.0))
        strides = min(STRIDES, max(1, int(np.ceil(way / STRIDE)))) if np.isfinite(way) else 1
        start = self.guess[known]
        for k in range(1, strides + 1):
            part = self.guess.copy()
            part[known] = start + k / strides * (target[known] - start)
            self._step(part)
        return self.pose

    def _step(self, target: Array) -> None:
        """Close the loops not far from the last pose."""
        dynamics, known = self.dynamics, self.dynamics.known
        if self._branch is not None:
            expected = self.guess + self.pose.transmission @ (target - self.guess)[known]
            q = self._branch.near(dynamics.reference + expected)
            if q is not None:
                self.guess = q - dynamics.reference
                self.pose = dynamics.pose_at(q)
                return
        self._iterate(target)

    def _iterate(self, target: Array) -> Pose:
        """Close the loops by Newton's method, in several steps where one is too far."""
        dynamics = self.dynamics
        columns = dynamics.known
        done, step = 0.0, 1.0
        start, before = self.guess.copy(), (self.guess, self.pose)
        while done < 1.0:
            trial = self.guess.copy()
            trial[columns] = start[columns] + min(1.0, done + step) * (target - start)[columns]
            rates = dynamics.rates(self.guess)
            along = self.pose.transmission @ (rates @ (trial - self.guess))[columns]
            dependent = list(dynamics.choice.dependent)
            trial[dependent] += np.linalg.solve(rates, along)[dependent]
            try:
                self.pose = dynamics.close(trial)
            except ClosureLost:
                step *= 0.5
                if step < 1e-3:
                    self.guess, self.pose = before
                    raise
                continue
            done = min(1.0, done + step)
            self.guess = dynamics.displacement(self.pose.q)
        return self.pose

    def rate(self, t: float, state: Array) -> Array:
        """Time derivative of the state."""
        try:
            pose, v, prescribed = self.resolve(t, state)
            a, _ = self.dynamics.acceleration(pose, v, self.tau(t, pose.q, v), prescribed)
        except (ClosureLost, NoInertia) as lost:
            if not self.explicit or not self.begun:
                raise
            # An explicit method takes a shorter step when it meets no number.
            self.lost = lost
            return np.full(len(state), np.nan)
        self.begun = True
        rates = np.linalg.solve(self.dynamics.rates(self.guess), v)
        return np.concatenate([rates[self.free], a[self.free]])

    def tau(self, t: float, q: Array, v: Array) -> Array:
        """Joint forces, shape (nv,)."""
        if self.torque is None:
            return np.zeros(self.dynamics.robot.model.nv)
        return np.asarray(self.torque(t, q, v), dtype=np.float64)

    def sample(self, t: float, state: Array) -> tuple[Array, ...]:
        """One row of a trajectory: time, positions, velocities, accelerations and the rest."""
        dynamics = self.dynamics
        model = dynamics.robot.model
        pose, v, prescribed = self.resolve(float(t), state)
        a, forced = dynamics.acceleration(pose, v, self.tau(float(t), pose.q, v), prescribed)
        data = model.createData()
        energy = pin.computeKineticEnergy(model, data, pose.q, v)
        energy += pin.computePotentialEnergy(model, data, pose.q)
        closure = np.max(np.abs(dynamics.robot.residual(pose.q)), initial=0.0)
        return (
            np.asarray(t),
            pose.q,
            v,
            a,
            np.asarray(closure),
            forced,
            np.asarray(energy),
        )
