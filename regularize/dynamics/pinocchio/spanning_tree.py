"""A spanning tree as it is built: joints of elementary motions, bodies, frames and joint values.

The kernel's multibody and the ``pinocchio.Model`` are made from it; names of attributes, and the
order of joints, coordinates and frames, are those of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.step.multibody import Link
from regularize.dynamics.step.posing import ConfigurationSpace
from regularize.lie import screw
from regularize.lie.arrays import Array, Direction, Transform
from regularize.mechanism.body import Inertia
from regularize.mechanism.graph import Edge
from regularize.tolerances import NEGLIGIBLE


@dataclass(frozen=True, eq=False, repr=False)
class TreeFrame:
    """A frame of the model; its kind is ``JOINT``, ``BODY`` or ``OP_FRAME``."""

    name: str
    kind: str
    joint: int
    placement: Transform  #: seen from the joint that carries it


#: An elementary motion of a joint: its kind (``step.multibody.KINDS``), where it starts seen from
#: the motion before it, its axis in its own frame, and its pitch in metres per radian.
Motion: TypeAlias = tuple[str, Transform, Direction, float]


@dataclass(eq=False, repr=False)
class SpanningTree:
    """A tree of joints, the first of which is the ground.

    ``idx_qs``, ``nqs``, ``idx_vs`` and ``nvs`` are the first coordinate and velocity of each joint
    and how many it has; ``link_of`` is the link that carries its body. ``links`` are the elementary
    motions of all joints without inertia, ``bodies`` the masses that were put on joints.
    """

    name: str
    gravity: Array
    names: list[str] = field(default_factory=lambda: ["universe"])
    parents: list[int] = field(default_factory=lambda: [0])
    idx_qs: list[int] = field(default_factory=lambda: [0])
    nqs: list[int] = field(default_factory=lambda: [0])
    idx_vs: list[int] = field(default_factory=lambda: [0])
    nvs: list[int] = field(default_factory=lambda: [0])
    link_of: list[int] = field(default_factory=lambda: [0])
    links: list[Link] = field(default_factory=list)
    frames: list[TreeFrame] = field(default_factory=list)
    bodies: list[tuple[int, Inertia, Transform]] = field(default_factory=list)
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
        """Inertia of rotors, shape (nv,); joints that were added later have none."""
        armature = self.values.get("armature", np.zeros(0))
        return np.concatenate([armature, np.zeros(self.nv - len(armature))])

    @cached_property
    def space(self) -> ConfigurationSpace:
        """The configurations of the tree."""
        return ConfigurationSpace(self.links, self.nq, self.nv)

    def weighed(self) -> list[Link]:
        """Return all links with the inertia behind them."""
        inertias: Array = np.zeros((len(self.links) + 1, 6, 6))
        for joint, inertia, T in self.bodies:
            inertias[self.link_of[joint]] += inertia.transformed(T).spatial
        return [replace(p, inertia=i) for p, i in zip(self.links, inertias[1:], strict=True)]

    def add_joint(self, parent: int, motions: Sequence[Motion], name: str) -> int:
        """Add a joint with coordinates of its own, and a frame for it; returns its index."""
        q, v, before, links = self.nq, self.nv, self.link_of[parent], []
        for k, motion in enumerate(motions, start=len(self.links) + 1):
            link = Link(before, *motion, q, v, np.zeros((6, 6)))
            before, q, v = k, q + link.coordinates, v + link.freedoms
            links.append(link)
        index = self.append(parent, links, name, (self.nq, q - self.nq), (self.nv, v - self.nv))
        self.frames.append(TreeFrame(name, "JOINT", index, np.eye(4)))
        return index

    def append(
        self,
        parent: int,
        links: Sequence[Link],
        name: str,
        coordinates: tuple[int, int],
        velocities: tuple[int, int],
    ) -> int:
        """Append a joint with the first and the number of its coordinates; returns its index."""
        self.names.append(name)
        self.parents.append(parent)
        self.links += links
        self.link_of.append(len(self.links))
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
        starts = [0, *self.link_of]
        for j in range(1, self.njoints):
            links = self.links[starts[j] : starts[j + 1]]
            joint, place = joint_model(links[0]), pin.SE3(links[0].placement)
            if len(links) > 1:
                joint = pin.JointModelComposite()
                joint.addJoint(joint_model(links[0]))
                for link in links[1:]:
                    joint.addJoint(joint_model(link), pin.SE3(link.placement))
            model.addJoint(self.parents[j], joint, place, self.names[j])
        for frame in self.frames:
            if frame.kind == "JOINT":
                model.addJointFrame(frame.joint)
                continue
            kind, place = getattr(pin.FrameType, frame.kind), pin.SE3(frame.placement)
            model.addFrame(pin.Frame(frame.name, frame.joint, place, kind), False)
        for j, inertia, T in self.bodies:
            mass = pin.Inertia.Zero()  # the constructor refuses negative masses
            mass.mass, mass.lever = inertia.mass, np.array(inertia.center)
            mass.inertia = np.array(inertia.matrix)
            model.appendBodyToJoint(j, mass, pin.SE3(T))
        for key, values in self.values.items():
            setattr(model, key, values)
        self._as_made = model.copy()
        return model


def motions_of(edge: Edge, backwards: bool, before: Transform) -> tuple[list[Motion], Transform]:
    """Return the elementary motions of an edge, and the placement left over behind the last one."""
    if edge.group:
        kind = "free" if edge.freedoms == 6 else "spherical"
        return [(kind, before, np.zeros(3), 0.0)], np.eye(4)
    order = range(edge.freedoms - 1, -1, -1) if backwards else range(edge.freedoms)
    motions = []
    for k in order:
        direction, point, pitch = screw.axis_of(edge.screws[:, k])
        axis = -direction if backwards else direction
        # A motion turns about its own origin: go to a point of the axis and back again.
        to_axis = screw.transform(None, point)
        kind = "prismatic" if pitch is None else "revolute"
        pitch = 0.0 if pitch is None or abs(pitch) < NEGLIGIBLE else pitch
        motions.append((kind, before @ to_axis, axis, pitch))
        before = screw.inverse(to_axis)
    return motions, before


def joint_model(link: Link) -> Any:
    """Return Pinocchio's joint model of a link."""
    if link.kind == "free":
        return pin.JointModelFreeFlyer()
    if link.kind == "spherical":
        return pin.JointModelSpherical()
    return aligned(link.axis, None if link.kind == "prismatic" else link.pitch)


def aligned(axis: Direction, pitch: float | None) -> Any:
    """Return the model of a hinge, slide (no pitch) or screw, about a coordinate axis if it can."""
    letter = "P" if pitch is None else "H" if abs(pitch) > NEGLIGIBLE else "R"
    pitches = (pitch,) if letter == "H" else ()
    for name, e in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, e):
            return getattr(pin, f"JointModel{letter}{name}")(*pitches)
    kind = {"R": "Revolute", "P": "Prismatic", "H": "Helical"}[letter]
    return getattr(pin, f"JointModel{kind}Unaligned")(axis, *pitches)
