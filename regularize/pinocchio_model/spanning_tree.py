"""A spanning tree as it is built: joints of elementary motions, bodies, frames and joint values.

The kernel's machine and the ``pinocchio.Model`` are made from it; names of attributes, and the
order of joints, coordinates and frames, are those of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from regularize.kernel.machine import MovingPart
from regularize.lie.screw import Array
from regularize.model.body import Inertia
from regularize.pinocchio_model.configuration_space import ConfigurationSpace
from regularize.pinocchio_model.joints import Motion, joint_model
from regularize.pinocchio_model.library import pin


@dataclass(frozen=True, eq=False, repr=False)
class TreeFrame:
    """A frame of the model.

    Attributes:
        name: Its name.
        kind: ``JOINT``, ``BODY`` or ``OP_FRAME``, as Pinocchio calls them.
        joint: Joint that carries it.
        placement: Seen from that joint, shape (4, 4).
    """

    name: str
    kind: str
    joint: int
    placement: Array


@dataclass(eq=False, repr=False)
class SpanningTree:
    """A tree of joints, the first of which is the ground.

    Attributes:
        name: Of the mechanism.
        gravity: Acceleration of free fall, shape (3,).
        names: Of all joints.
        parents: Of each joint the one that carries it.
        idx_qs: Index of each joint's first coordinate.
        nqs: How many it has.
        idx_vs: Index of its first velocity.
        nvs: How many it has.
        part_of: Number of the part that carries the body of each joint.
        parts: Elementary motions of all joints, without inertia; those of each follow each other.
        known: Whether the kernel knows all joints.
        frames: All frames in the order of the model, the ground's left out.
        bodies: Joint, mass properties and placement of what was put on the joints.
        nq: Length of configurations.
        nv: Length of velocities.
        values: Arrays of limits and dynamics of the joints, by the names that the model has.
    """

    name: str
    gravity: Array
    names: list[str] = field(default_factory=lambda: ["universe"])
    parents: list[int] = field(default_factory=lambda: [0])
    idx_qs: list[int] = field(default_factory=lambda: [0])
    nqs: list[int] = field(default_factory=lambda: [0])
    idx_vs: list[int] = field(default_factory=lambda: [0])
    nvs: list[int] = field(default_factory=lambda: [0])
    part_of: list[int] = field(default_factory=lambda: [0])
    parts: list[MovingPart] = field(default_factory=list)
    known: bool = True
    frames: list[TreeFrame] = field(default_factory=list)
    bodies: list[tuple[int, Inertia, Array]] = field(default_factory=list)
    nq: int = 0
    nv: int = 0
    values: Mapping[str, Array] = field(default_factory=dict)
    _as_made: Any = None

    @property
    def njoints(self) -> int:
        """Number of joints, the ground included."""
        return len(self.names)

    @property
    def armature(self) -> Array:
        """Inertia of rotors, shape (nv,)."""
        return self.values.get("armature", np.zeros(self.nv))

    @cached_property
    def space(self) -> ConfigurationSpace:
        """Its configurations."""
        return ConfigurationSpace(self.parts, self.nq, self.nv)

    def weighed(self) -> list[MovingPart]:
        """All parts with the inertia behind them."""
        inertias: Array = np.zeros((len(self.parts) + 1, 6, 6))
        for joint, inertia, T in self.bodies:
            inertias[self.part_of[joint]] += inertia.transformed(T).spatial
        return [replace(p, inertia=i) for p, i in zip(self.parts, inertias[1:], strict=True)]

    def add_joint(self, parent: int, motions: Sequence[Motion], name: str) -> int:
        """Add a joint with coordinates of its own, and a frame for it; returns its index."""
        q, v, before, parts = self.nq, self.nv, self.part_of[parent], []
        for k, each in enumerate(motions, start=len(self.parts) + 1):
            massless: Array = np.zeros((6, 6))
            part = MovingPart(
                before, each.kind, each.placement, each.axis, each.pitch, q, v, massless
            )
            before, q, v = k, q + part.coordinates, v + part.freedoms
            parts.append(part)
        index = self.append(parent, parts, name, (self.nq, q - self.nq), (self.nv, v - self.nv))
        self.frames.append(TreeFrame(name, "JOINT", index, np.eye(4)))
        return index

    def append(
        self,
        parent: int,
        parts: Sequence[MovingPart],
        name: str,
        coordinates: tuple[int, int],
        velocities: tuple[int, int],
    ) -> int:
        """Append a joint; returns its index.

        Args:
            parent: Joint that carries it.
            parts: Its elementary motions.
            name: Its name.
            coordinates: Index of its first coordinate, and their number.
            velocities: The same for velocities.
        """
        self.names.append(name)
        self.parents.append(parent)
        self.parts += parts
        self.part_of.append(len(self.parts))
        for (first, count), (firsts, counts) in (
            (coordinates, (self.idx_qs, self.nqs)),
            (velocities, (self.idx_vs, self.nvs)),
        ):
            firsts.append(first)
            counts.append(count)
        self.nq, self.nv = self.nq + coordinates[1], self.nv + velocities[1]
        return len(self.names) - 1

    @property
    def changed(self) -> bool:
        """Whether the ``model`` is the caller's own, or has been changed since it was made."""
        return "model" in self.__dict__ and bool(self.model != self._as_made)

    @cached_property
    def model(self) -> Any:
        """The ``pinocchio.Model``."""
        model = pin.Model()
        model.name = self.name
        model.gravity.linear = np.array(self.gravity)
        starts = [0, *self.part_of]
        for j in range(1, self.njoints):
            parts = self.parts[starts[j] : starts[j + 1]]
            joint, place = joint_model(parts[0]), pin.SE3(parts[0].placement)
            if len(parts) > 1:
                joint = pin.JointModelComposite()
                joint.addJoint(joint_model(parts[0]))
                for part in parts[1:]:
                    joint.addJoint(joint_model(part), pin.SE3(part.placement))
            model.addJoint(self.parents[j], joint, place, self.names[j])
        for frame in self.frames:
            if frame.kind == "JOINT":
                model.addJointFrame(frame.joint)
                continue
            kind, place = getattr(pin.FrameType, frame.kind), pin.SE3(frame.placement)
            model.addFrame(pin.Frame(frame.name, frame.joint, place, kind), False)
        for j, inertia, T in self.bodies:
            own = pin.Inertia.Zero()  # the constructor refuses negative masses
            own.mass, own.lever = inertia.mass, np.array(inertia.center)
            own.inertia = np.array(inertia.matrix)
            model.appendBodyToJoint(j, own, pin.SE3(T))
        for key, values in self.values.items():
            setattr(model, key, values)
        self._as_made = model.copy()
        return model
