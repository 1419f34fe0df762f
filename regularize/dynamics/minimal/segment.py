"""Integration with one choice of coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from regularize.dynamics.minimal.dynamics import MinimalDynamics, NoInertia
from regularize.dynamics.minimal.following import Follower
from regularize.dynamics.minimal.kinematics import ClosureLost
from regularize.dynamics.minimal.pose import Place, Pose
from regularize.lie.screw import Array
from regularize.pinocchio_model.robot import Robot

#: Joint forces by time, configuration and velocity, shape (nv,).
Torque = Callable[[float, Array, Array], Array]
#: Time, configuration, velocities, accelerations, closure error, prescribed forces, energy.
Row = tuple[Array, ...]

#: Displacement of a group joint (radians) at which the reference is moved along: far from it the
#: components of a displacement tell less of those of the velocity.
FAR = 0.7


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
        self._follower = Follower(dynamics)
        self._flat = dynamics.robot.model.nq == dynamics.robot.model.nv
        # Where the integrated and the prescribed coordinates are among the known ones.
        self._free, self._driven = np.array(dynamics.free, int), np.array(dynamics.driven, int)

    @property
    def pose(self) -> Pose:
        """The pose found last."""
        return self._follower.place.pose

    @property
    def far(self) -> bool:
        """Whether displacements of group joints come near to where they are no longer unique."""
        model = self.dynamics.robot.model
        for j in range(1, model.njoints):
            if model.nqs[j] != model.nvs[j]:
                start = model.idx_vs[j] + model.nvs[j] - 3
                if float(np.linalg.norm(self._follower.place.x[start : start + 3])) > FAR:
                    return True
        return False

    def state(self, q: Array, v: Array) -> Array:
        """Independent displacements, then independent velocities."""
        return np.concatenate([self.dynamics.displacement(q)[self.free], v[self.free]])

    def resolve(self, t: float, state: Array) -> tuple[Place, Array, Array]:
        """Place, velocities of all coordinates and prescribed accelerations."""
        n = len(self.free)
        known = np.zeros((2, len(self._free) + len(self._driven)))
        known[:, self._free] = state[:n], state[n:]
        prescribed = np.zeros((0, 3))
        if self.motions:
            prescribed = np.array([motion(t) for motion in self.motions])
            known[0, self._driven] = prescribed[:, 0] - self.offset
            known[1, self._driven] = prescribed[:, 1]
        place = self._follower.follow(known[0])
        return place, self.dynamics.velocity(place.pose, known[1]), prescribed[:, 2]

    def accept(self, t: float, state: Array) -> tuple[Pose, Array, bool | None]:
        """Pose and velocities at the end of a step, and what it passed: see ``settle``."""
        place, v, _ = self.resolve(t, state)
        return place.pose, v, self._follower.settle()

    def rate(self, t: float, state: Array) -> Array:
        """Time derivative of the state."""
        if not np.all(np.isfinite(state)):
            # What follows from a rate that is no number.
            return np.full(len(state), np.nan)
        try:
            place, v, prescribed = self.resolve(t, state)
            pose = place.pose
            a, _ = self.dynamics.acceleration(pose, v, self.tau(t, pose.q, v), prescribed)
        except (ClosureLost, NoInertia) as lost:
            if not self.explicit or not self.begun:
                raise
            # An explicit method takes a shorter step when it meets no number.
            self.lost = lost
            return np.full(len(state), np.nan)
        self.begun = True
        rates = v if self._flat else np.linalg.solve(self.dynamics.rates(place.x), v)
        return np.concatenate([rates[self.free], a[self.free]])

    def tau(self, t: float, q: Array, v: Array) -> Array:
        """Joint forces, shape (nv,)."""
        if self.torque is None:
            return np.zeros(self.dynamics.robot.model.nv)
        return np.asarray(self.torque(t, q, v), dtype=np.float64)

    def sample(self, t: float, state: Array) -> Row:
        """The motion at a time."""
        place, v, prescribed = self.resolve(float(t), state)
        q = place.pose.q
        a, forced = self.dynamics.acceleration(place.pose, v, self.tau(float(t), q, v), prescribed)
        return row(self.dynamics.robot, t, q, v, a, forced)


def row(robot: Robot, t: float, q: Array, v: Array, a: Array, forced: Array) -> Row:
    """One row of a trajectory: time, positions, velocities, accelerations and what follows."""
    model = robot.model
    data = model.createData()
    energy = pin.computeKineticEnergy(model, data, q, v)
    energy += pin.computePotentialEnergy(model, data, q)
    closure = np.max(np.abs(robot.residual(q)), initial=0.0)
    return np.asarray(t), q, v, a, np.asarray(closure), forced, np.asarray(energy)
