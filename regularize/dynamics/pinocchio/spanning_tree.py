"""A spanning tree as it is built: joints of elementary motions, bodies, frames and joint values.

The kernel's multibody and the ``pinocchio.Model`` are made from it; names of attributes, and the
order of joints, coordinates and frames, are those of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.step.multibody import Link
from regularize.dynamics.step.posing import ConfigurationSpace
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.body import Inertia
from regularize.mechanism.graph import Edge
from regularize.tolerances import NEGLIGIBLE


@dataclass(frozen=True, eq=False, repr=False)
class TreeFrame:
    """A frame of the model."""

    name: str
    kind: str
    joint: int
    placement: Array


@dataclass(eq=False, repr=False)
class SpanningTree:
    """A tree of joints, the first of which is the ground."""

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
        """Inertia of rotors, shape (nv,); joints that were added later have none."""
        known = self.values.get("armature", np.zeros(0))
        return np.concatenate([known, np.zeros(self.nv - len(known))])

    @cached_property
    def space(self) -> ConfigurationSpace:
        """Its configurations."""
        return ConfigurationSpace(self.links, self.nq, self.nv)

    def weighed(self) -> list[Link]:
        """All links with the inertia behind them."""
        inertias: Array = np.zeros((len(self.links) + 1, 6, 6))
        for joint, inertia, T in self.bodies:
            inertias[self.link_of[joint]] += inertia.transformed(T).spatial
        return [replace(p, inertia=i) for p, i in zip(self.links, inertias[1:], strict=True)]

    def add_joint(self, parent: int, motions: Sequence[Motion], name: str) -> int:
        """Add a joint with coordinates of its own, and a frame for it; returns its index."""
        q, v, before, links = self.nq, self.nv, self.link_of[parent], []
        for k, each in enumerate(motions, start=len(self.links) + 1):
            massless: Array = np.zeros((6, 6))
            link = Link(before, each.kind, each.placement, each.axis, each.pitch, q, v, massless)
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
        """Append a joint; returns its index."""
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
            own = pin.Inertia.Zero()  # the constructor refuses negative masses
            own.mass, own.lever = inertia.mass, np.array(inertia.center)
            own.inertia = np.array(inertia.matrix)
            model.appendBodyToJoint(j, own, pin.SE3(T))
        for key, values in self.values.items():
            setattr(model, key, values)
        self._as_made = model.copy()
        return model


@dataclass(frozen=True, eq=False, repr=False)
class Motion:
    """One elementary motion of a joint."""

    kind: str
    placement: Array
    axis: Array = field(default_factory=lambda: np.zeros(3))
    pitch: float = 0.0


def motions_of(edge: Edge, backwards: bool, before: Array) -> tuple[list[Motion], Array]:
    """Elementary motions of an edge, each with its placement after the one before."""
    if edge.group:
        return [Motion("free" if edge.freedoms == 6 else "spherical", before)], np.eye(4)
    order = range(edge.freedoms - 1, -1, -1) if backwards else range(edge.freedoms)
    motions = []
    for k in order:
        direction, point, pitch = screw.axis_of(edge.screws[:, k])
        axis = -direction if backwards else direction
        # A motion turns about its own origin: go to a point of the axis and back again.
        to_axis = screw.transform(None, point)
        kind = "prismatic" if pitch is None else "revolute"
        pitch = 0.0 if pitch is None or abs(pitch) < NEGLIGIBLE else pitch
        motions.append(Motion(kind, before @ to_axis, axis, pitch))
        before = screw.inverse(to_axis)
    return motions, before


def joint_model(link: Link) -> Any:
    """Pinocchio's joint model of a link."""
    if link.kind == "free":
        return pin.JointModelFreeFlyer()
    if link.kind == "spherical":
        return pin.JointModelSpherical()
    return aligned(
        "P" if link.kind == "prismatic" else "H" if link.pitch else "R", link.axis, link.pitch
    )


def aligned(letter: str, axis: Array, pitch: float) -> Any:
    """The joint model about a coordinate axis where possible, else the one for any axis."""
    for name, e in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, e):
            model = getattr(pin, f"JointModel{letter}{name}")
            return model(pitch) if letter == "H" else model()
    general = {
        "R": "JointModelRevoluteUnaligned",
        "P": "JointModelPrismaticUnaligned",
        "H": "JointModelHelicalUnaligned",
    }[letter]
    return getattr(pin, general)(axis, pitch) if letter == "H" else getattr(pin, general)(axis)
