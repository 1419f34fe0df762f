"""Equations of motion in one choice of independent coordinates."""

from __future__ import annotations

import numpy as np

from regularize.dynamics.inputs import JointForces
from regularize.dynamics.minimal.dynamics import MinimalDynamics
from regularize.dynamics.minimal.following import Follower
from regularize.dynamics.minimal.pose import Pose
from regularize.dynamics.recording import Sample
from regularize.errors import ClosureLost, NoInertia
from regularize.lie.screw import Array

#: Displacement of a group joint (radians) at which the reference is moved along: far from it the
#: components of a displacement tell less of those of the velocity.
FAR = 0.7


class MinimalCoordinates:
    """Equations of motion of independent displacements and velocities, and of work that is done.

    Args:
        dynamics: The choice of coordinates; its reference is where to begin.
        forces: Joint forces and torques beside those within the joints, if there are any.
        explicit: Whether the method shortens its step when a rate is no number.

    Attributes:
        lost: Why rates could not be told last.
    """

    def __init__(
        self, dynamics: MinimalDynamics, forces: JointForces | None, *, explicit: bool
    ) -> None:
        """Close the loops at the reference."""
        self.dynamics, self.explicit = dynamics, explicit
        nothing = np.zeros(dynamics.robot.nv)
        self.forces: JointForces = (lambda t, q, v: nothing) if forces is None else forces
        lossy = dynamics.robot.passive.joints.dissipates
        self._works = forces is not None or bool(dynamics.driven) or lossy
        self.lost: ClosureLost | NoInertia | None = None
        self.begun = False
        self.free = [dynamics.known[i] for i in dynamics.free]
        self.driven = [dynamics.known[i] for i in dynamics.driven]
        self._motions = [dynamics.forced[dynamics.names[c]] for c in self.driven]
        self._offset = dynamics.positions(dynamics.reference, self.driven)
        self._follower = Follower(dynamics)
        self._flat = dynamics.robot.nq == dynamics.robot.nv
        # Where the integrated and the prescribed coordinates are among the known ones.
        self._free, self._driven = np.array(dynamics.free, int), np.array(dynamics.driven, int)

    @property
    def far(self) -> bool:
        """Whether displacements of group joints come near to where they are no longer unique."""
        tree = self.dynamics.robot.tree
        for j in range(1, tree.njoints):
            if tree.nqs[j] != tree.nvs[j]:
                start = tree.idx_vs[j] + tree.nvs[j] - 3
                if float(np.linalg.norm(self._follower.pose.x[start : start + 3])) > FAR:
                    return True
        return False

    def state(self, q: Array, v: Array, work: float) -> Array:
        """Independent displacements, independent velocities, and work where any is done."""
        x = self.dynamics.displacement(q)
        parts = [x[self.free], v[self.free], np.array([work])]
        return np.concatenate(parts if self._works else parts[:2])

    def work(self, state: Array) -> float:
        """Work that has been done, in J."""
        return float(state[-1]) if self._works else 0.0

    def resolve(self, t: float, state: Array) -> tuple[Pose, Array, Array]:
        """Pose, velocities of all coordinates and prescribed accelerations."""
        n = len(self.free)
        known = np.zeros((2, len(self._free) + len(self._driven)))
        known[:, self._free] = state[:n], state[n : 2 * n]
        prescribed = np.zeros((0, 3))
        if self._motions:
            prescribed = np.array([motion(t) for motion in self._motions])
            known[0, self._driven] = prescribed[:, 0] - self._offset
            known[1, self._driven] = prescribed[:, 1]
        pose = self._follower.follow(known[0])
        return pose, self.dynamics.velocity(pose, known[1]), prescribed[:, 2]

    def accept(self, t: float, state: Array) -> tuple[Pose, Array, bool | None]:
        """Pose and velocities at the end of a step, and what it passed: see ``settle``."""
        pose, v, _ = self.resolve(t, state)
        return pose, v, self._follower.settle()

    def rate(self, t: float, state: Array) -> Array:
        """Time derivative of the state."""
        if not np.all(np.isfinite(state)):
            # What follows from a rate that is no number.
            return np.full(len(state), np.nan)
        try:
            pose, v, prescribed = self.resolve(t, state)
            tau = self.forces(t, pose.q, v)
            a, needed = self.dynamics.acceleration(pose, v, tau, prescribed)
            working = tau + self.dynamics.dissipative(pose, v)
        except (ClosureLost, NoInertia) as lost:
            if not self.explicit or not self.begun:
                raise
            # An explicit method takes a shorter step when it meets no number.
            self.lost = lost
            return np.full(len(state), np.nan)
        self.begun = True
        rates = v if self._flat else np.linalg.solve(self.dynamics.rates(pose.x), v)
        power = np.array([working @ v + needed @ v[self.driven]])
        parts = [rates[self.free], a[self.free], power]
        return np.concatenate(parts if self._works else parts[:2])

    def sample(self, t: float, state: Array) -> Sample:
        """The motion at a time."""
        pose, v, prescribed = self.resolve(t, state)
        q = pose.q
        a, needed = self.dynamics.acceleration(pose, v, self.forces(t, q, v), prescribed)
        return Sample(t, q, v, self.work(state), needed, a)
