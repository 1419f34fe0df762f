"""Writing SDF: links at the reference pose, loops as links with two parent joints."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.links import SEEN
from regularize.adapters.common.quantities import MASSLESS, NAMES, is_flatter_than_flat, six
from regularize.adapters.common.serial import axis_in_frame, pitch_of, serial, standard
from regularize.adapters.common.write import (
    Mimic,
    Writing,
    WrittenCoordinate,
    add,
    number,
    reference_poses,
    rpy,
    sizes,
    spanning,
)
from regularize.adapters.sdf.joint import AXES, DYNAMICS, KINDS
from regularize.escape import listed
from regularize.lie.arrays import Coordinates, Transform
from regularize.lie.screw import inverse, log, transform
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint, joint_position, motion, relative_pose, reversed_joint
from regularize.mechanism.mechanism import Mechanism

#: The first version in which poses are relative to frames as they are here, and those that brought
#: elements which some models need: a file has the lowest that holds it, which most programs read.
VERSION = "1.7"
BROUGHT = {"capsule": "1.8", "ellipsoid": "1.8", "mimic": "1.11"}
DRAKE = "http://drake.mit.edu"
CLOSED = 1e-9  # metres and radians: what a file of assembled poses cannot hold beyond


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as SDF, whose coordinates are zero at the reference pose."""
    return _SdfWriter("SDF", mechanism, etree.Element("sdf", version=VERSION)).written().save(path)


def written(mechanism: Mechanism) -> Any:
    """Return the root element of a mechanism as SDF."""
    return _SdfWriter("SDF", mechanism, etree.Element("sdf", version=VERSION)).written().root


@dataclass(eq=False)
class _SdfWriter(Writing):
    """The state of writing a mechanism as an SDF file."""

    #: World pose of each link at the reference pose.
    poses: dict[str, Transform] = field(default_factory=dict)
    #: Coordinate of the model where the one of the file is zero.
    zeros: dict[WrittenCoordinate, float] = field(default_factory=dict)

    def written(self) -> _SdfWriter:
        """Build the file and return the writer."""
        mechanism = self.mechanism
        self.poses = reference_poses(mechanism, spanning(mechanism).tree)
        model = add(self.root, "model", name=mechanism.name)
        for body in mechanism.bodies:
            self._link(model, body)
        bare = [b.name for b in mechanism.bodies if b.inertia is None]
        bare = [name for name in bare if name not in (mechanism.ground, WORLD)]
        if bare:
            self.lose(
                f"counts links without mass properties as 1 kg: {listed(bare, len(bare))}; "
                "write some into the model, or give --density"
            )
        links = [b for b in mechanism.bodies if b.name != WORLD]
        flat = [b.name for b in links if b.inertia and is_flatter_than_flat(b.inertia)]
        if flat:
            self.lose(
                "is refused by libsdformat, and so by Gazebo, where one principal moment exceeds "
                f"the sum of the others: {listed(flat, len(flat))}; correct them in the model"
            )
        limited = [(j.name, np.asarray(j.limits)) for j in mechanism.joints if j.limits is not None]
        crossed = [name for name, bounds in limited if np.any(np.diff(bounds) < 0.0)]
        if crossed:
            words = "is refused by Drake where lower bounds exceed upper ones"
            self.lose(f"{words}: {listed(crossed)}")
        if mechanism.ground != WORLD:
            name = f"{mechanism.ground}_to_world"
            add_ends(add(model, "joint", name=name, type="fixed"), WORLD, mechanism.ground)
        for joint in mechanism.joints:
            self._joint(model, joint)
        mimics = [*self.mimics()]
        for mimic in mimics:
            self._mimic_axis(mimic)
        if mimics:
            etree.cleanup_namespaces(self.root, top_nsmap={"drake": DRAKE})
            names = listed([mimic.follower.joint for mimic in mimics])
            self.lose(
                f"has followers from version {BROUGHT['mimic']} on: older programs, such as Gazebo "
                f"Fortress, say that they do not know it, and move {names} freely",
                "note",
            )
        needed = [BROUGHT[node.tag] for node in self.root.iter() if node.tag in BROUGHT]
        self.root.set("version", max(needed, key=lambda v: int(v[2:]), default=VERSION))
        return self

    # -- links

    def _link(self, model: Any, body: Body) -> None:
        if body.name == WORLD:
            return
        element = add(model, "link", name=body.name)
        add_pose(element, self.poses[body.name])
        if body.inertia is not None:
            add_inertial(element, body.inertia)
        for i, shape in enumerate(body.geometry):
            add_shape(element, shape, f"shape_{i + 1}")

    # -- joints

    def _joint(self, model: Any, joint: Joint) -> None:
        if joint.child == WORLD:  # which is nobody's child in SDF
            joint = reversed_joint(joint)
            self.turned = (*self.turned, joint.name)
        q = self._position(joint)
        if joint.kind == "free":
            self.lose(
                f"joins nothing by a free joint: `{joint.name}` is left out, and its bodies move "
                "freely all the same",
                "note",
                joints=[joint.name],
            )
        elif joint.freedoms == 1:
            self._element(model, serial(joint)[0], q, 0, joint)
        elif joint.kind in KINDS and standard(joint):
            self._element(model, joint, q, 0, joint)
        else:
            self.lose(
                f"has no {joint.kind} joints: `{joint.name}` becomes {joint.freedoms} joints in a "
                "row with massless links between them",
                "note",
                joints=[joint.name],
            )
            self._row(model, joint, q)

    def _position(self, joint: Joint) -> Coordinates:
        """Return a joint's coordinates at the reference pose, closing joints included."""
        # Closures keep the child's frame; where they are open, the parent's cannot be held.
        T = (
            inverse(self.poses[joint.parent] @ joint.T_parent_joint)
            @ self.poses[joint.child]
            @ joint.T_child_joint
        )
        q = joint.position  # those of a closing joint need not lead from one frame to the other
        if float(np.max(np.abs(log(inverse(motion(joint, q)) @ T)))) > CLOSED:
            q = joint_position(joint, T)
        return q

    def _row(self, model: Any, joint: Joint, q: Coordinates) -> None:
        """Write a joint as several in series with massless links at their reference poses."""
        pose = self.poses[joint.parent]
        for k, part in enumerate(serial(joint)):
            pose = pose @ relative_pose(part, q[k : k + 1])
            if k < joint.freedoms - 1:
                self.poses[part.child] = pose
                link = add(model, "link", name=part.child)
                add_pose(link, pose)
                add_inertial(link, MASSLESS)
            self._element(model, part, q[k : k + 1], k, joint)

    def _element(self, model: Any, part: Joint, q: Coordinates, first: int, joint: Joint) -> None:
        """Write one joint element whose coordinates are those of ``joint`` from ``first`` on."""
        element = add(model, "joint", name=part.name, type=KINDS.written[part.kind])
        self.joints[part.name] = element
        # The frame of the file lies on the child, after the motion to the reference pose.
        add_pose(element, part.T_child_joint)
        add_ends(element, part.parent, part.child)
        if part.kind == "helical":
            # The element of version 1.10 is unknown to older readers, which take 1 in its place.
            add(element, "thread_pitch", -1.0 / pitch_of(part))
        for index in range(KINDS[part.kind].axes):
            direction = axis_in_frame(part, index)
            if part.freedoms == 2:
                # The first axis of a universal joint stands still on the parent.
                carried = motion(part, q, index)
                direction = (inverse(motion(part, q)) @ carried)[:3, :3] @ direction
            place = WrittenCoordinate(part.name, index)
            self.call(joint, first + index, place)
            self.zeros[place] = float(q[index])
            axis = add(element, AXES[index])
            add(axis, "xyz", direction)
            add_limit(axis, part, index, float(q[index]))
            add_dynamics(axis, part, index, float(q[index]))

    def _mimic_axis(self, mimic: Mimic) -> None:
        """Add a mimic to the follower's axis and, for one-axis joints, Drake's element."""
        follower, leader = mimic.follower, mimic.leader
        axis = self.joints[follower.joint].find(AXES[follower.axis])
        element = add(axis, "mimic", joint=leader.joint, axis=AXES[leader.axis])
        shifted = mimic.multiplier * self.zeros[leader] + mimic.offset - self.zeros[follower]
        add(element, "multiplier", mimic.multiplier)
        add(element, "offset", shifted)
        add(element, "reference", 0.0)
        follows, leads = (self.joints[end.joint] for end in (follower, leader))
        if all(joint.find(AXES[1]) is None for joint in (follows, leads)):
            values = {"multiplier": number(mimic.multiplier), "offset": number(shifted)}
            tag, names = f"{{{DRAKE}}}mimic", {"drake": DRAKE}
            etree.SubElement(follows, tag, {"joint": leader.joint, **values}, nsmap=names)


def add_limit(axis: Any, joint: Joint, index: int, zero: float) -> None:
    """Add the bounds of a freedom, counted from the file's zero."""
    limits = joint.limits
    if limits is None:
        return
    element = add(axis, "limit")
    low, high = np.asarray(limits)[index] - zero
    add(element, "lower", low)
    add(element, "upper", high)
    for tag, values in (("effort", limits.effort), ("velocity", limits.velocity)):
        if values is not None:
            add(element, tag, values[index])


def add_dynamics(axis: Any, joint: Joint, index: int, zero: float) -> None:
    """Add damping, friction and the spring of a freedom."""
    values = {key: value[index] for key, value in joint.dynamics.stated().items()}
    rest = values.pop("rest_position", 0.0) - zero
    if "stiffness" in values:
        values["rest_position"] = rest
    if not values.keys() & DYNAMICS.keys():
        return
    element = add(axis, "dynamics")
    for key, tag in DYNAMICS.items():
        if key in values:
            add(element, tag, values[key])


def add_ends(element: Any, parent: str, child: str) -> None:
    """Add the names of a joint's links."""
    add(element, "parent", parent)
    add(element, "child", child)


def add_pose(element: Any, T: Transform) -> None:
    """Add a ``<pose>`` to a link, a joint or a shape, unless it is the identity."""
    if not np.array_equal(T, np.eye(4)):
        add(element, "pose", [*T[:3, 3], *rpy(T[:3, :3])])


def add_inertial(link: Any, inertia: Inertia) -> None:
    """Add mass properties to a link."""
    inertial = add(link, "inertial")
    add_pose(inertial, transform(translation=inertia.center))
    add(inertial, "mass", inertia.mass)
    matrix = add(inertial, "inertia")
    for tag, value in zip(NAMES, six(inertia.matrix), strict=True):
        add(matrix, tag, value)


def add_shape(link: Any, shape: Geometry, name: str) -> None:
    """Add a visual or a collision shape to a link; only visuals have a material."""
    _add_shape(link, shape, "collision" if shape.collision else "visual", name)
    if shape.collision and shape.color is not None:
        _add_shape(link, shape, "visual", f"{name}{SEEN}")


def _add_shape(link: Any, shape: Geometry, tag: str, name: str) -> None:
    element = add(link, tag, name=name)
    add_pose(element, shape.T_body_geometry)
    inside = add(add(element, "geometry"), shape.kind)
    mesh = {"uri": shape.uri or "", "scale": shape.size}
    for entry, value in (mesh if shape.kind == "mesh" else sizes(shape)).items():
        add(inside, entry, value)
    if tag == "collision" and shape.friction not in (None, 1.0):  # what SDF takes for granted
        add(add(add(add(element, "surface"), "friction"), "ode"), "mu", shape.friction)
    if tag == "visual" and shape.color is not None:
        add(add(element, "material"), "diffuse", shape.color)
