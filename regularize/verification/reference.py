"""A mechanism at its reference pose: where its bodies are, and the screws of its freedoms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regularize.adapters.common.spanning import reference_poses, spanning
from regularize.lie.screw import Array, adjoint, inverse
from regularize.model.joint_motion import joint_position, motion
from regularize.model.mechanism import Inertia, Joint, Mechanism


@dataclass(frozen=True, eq=False)
class Reference:
    """A mechanism at its reference pose.

    Attributes:
        mechanism: The mechanism.
        poses: World pose of each body, shape (4, 4) each.
        closures: Names of the joints that close its loops.
    """

    mechanism: Mechanism
    poses: Mapping[str, Array]
    closures: frozenset[str]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Reference:
        """The mechanism at its stored coordinates."""
        found = spanning(mechanism)
        closures = frozenset(joint.name for joint in found.closures)
        return cls(mechanism, reference_poses(mechanism, found.tree), closures)

    @property
    def size(self) -> float:
        """Largest distance of a joint from the centre of all, metres; 1 where there is none."""
        points = np.array(
            [(self.poses[j.parent] @ j.T_parent_joint)[:3, 3] for j in self.mechanism.joints]
        ).reshape(-1, 3)
        if len(points) == 0:
            return 1.0
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        return float(np.max(np.linalg.norm(points - center, axis=1))) or 1.0

    def coordinates(self, joint: Joint) -> Array:
        """Coordinates of a joint: those stored, or those by which a closing joint is closed."""
        if joint.name not in self.closures:
            return joint.position
        first = self.poses[joint.parent] @ joint.T_parent_joint
        second = self.poses[joint.child] @ joint.T_child_joint
        return joint_position(joint, inverse(first) @ second)

    def screws(self, joint: Joint, *, child: bool = False) -> Array:
        """Screws of a joint's freedoms in the world, shape (6, freedoms).

        Args:
            joint: The joint.
            child: Where the child has it, which differs from the parent's place in an open loop.
        """
        q = self.coordinates(joint)
        frame = self.poses[joint.parent] @ joint.T_parent_joint
        if child:
            frame = self.poses[joint.child] @ joint.T_child_joint @ inverse(motion(joint, q))
        if joint.group:
            return np.asarray(adjoint(frame @ motion(joint, q)) @ joint.screws)
        columns = [
            adjoint(frame @ motion(joint, q, k)) @ column for k, column in enumerate(joint.screws.T)
        ]
        return np.array(columns).reshape(-1, 6).T

    def inertia(self, body: str) -> Inertia | None:
        """Mass properties of a body in the world."""
        inertia = self.mechanism.body(body).inertia
        return None if inertia is None else inertia.transformed(self.poses[body])
