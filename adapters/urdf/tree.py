"""Links and joints of a URDF file while it is being written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regularize.adapters.common.serial import axis_in_frame
from regularize.adapters.common.write import Writing, WrittenCoordinate, add
from regularize.adapters.urdf.elements import (
    add_dynamics,
    add_inertial,
    add_limit,
    add_origin,
    add_shape,
)
from regularize.adapters.urdf.row import in_a_row
from regularize.lie.screw import Array, inverse
from regularize.model.mechanism import Body, Joint


@dataclass(eq=False)
class LinkTree(Writing):
    """The ``<robot>`` element, and what the rest of the file has to know of it.

    Attributes:
        plus: Whether the file is URDF+.
        frames: Frame of each link in the body that it stands for.
        slides: Slide of each screw: the hinge that it follows, and the pitch.
        links: Names of the links so far.
        balls: Names of the ball joints so far.
    """

    plus: bool = False
    frames: dict[str, Array] = field(default_factory=dict)
    slides: dict[str, tuple[str, float]] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    balls: list[str] = field(default_factory=list)

    def add_link(self, body: Body) -> None:
        """Add the link of a body, in the frame that URDF wants it in."""
        T = inverse(self.frames[body.name])
        element = self.add_massless(body.name)
        if body.inertia is not None:
            add_inertial(element, body.inertia.transformed(T))
        if any(shape.kind == "capsule" for shape in body.geometry):
            self.lose(
                f"has no capsules: those of `{body.name}` are cylinders with a ball at both ends",
                "note",
            )
        for shape in body.geometry:
            add_shape(element, replace(shape, T_body_geometry=T @ shape.T_body_geometry))

    def add_massless(self, name: str) -> Any:
        """Add a link that stands for a frame."""
        self.links.append(name)
        return add(self.root, "link", name=name)

    def parts(self, joint: Joint) -> list[Joint]:
        """The joint as URDF joints in a row; notes frames and slides of screws."""
        parts, slides = in_a_row(joint)
        self.slides.update(slides)
        self.frames.update({part.child: part.T_child_joint for part in parts})
        return parts

    def add_chain(self, joint: Joint, parts: Sequence[Joint]) -> None:
        """Write the parts of a joint, and note which of them has which coordinate."""
        freedom = 0
        for part in parts:
            if part.child not in self.links:
                self.add_massless(part.child)
            element = self._joint(part)
            if part.name in self.slides:
                leader, pitch = self.slides[part.name]
                add(element, "mimic", joint=leader, multiplier=pitch, offset="0")
            elif part.kind in ("revolute", "prismatic"):
                self.call(joint, freedom, WrittenCoordinate(part.name))
                freedom += 1

    def add_ends(self, element: Any, parent: str, child: str, T_parent: Array) -> None:
        """Place a joint on its parent link, and name both links."""
        add_origin(element, inverse(self.frames[parent]) @ T_parent)
        add(element, "parent", link=parent)
        add(element, "child", link=child)

    def _joint(self, joint: Joint) -> Any:
        limits = joint.limits
        hinge = limits is not None and (limits.bounded or limits.lower is None)
        kind = {
            "fixed": "fixed",
            "free": "floating",
            "planar": "planar",
            "prismatic": "prismatic",
            "revolute": "revolute" if hinge else "continuous",
            "spherical": "spherical" if self.plus else "continuous",
        }[joint.kind]
        element = self.joints[joint.name] = add(self.root, "joint", name=joint.name, type=kind)
        if self.plus and joint.actuated is not None:
            element.set("independent", "true" if joint.actuated else "false")
        self.add_ends(element, joint.parent, joint.child, joint.T_parent_joint)
        if joint.kind == "spherical":
            self.balls.append(joint.name)
            if not self.plus:
                add(element, "axis", xyz="1 0 0")
        elif joint.kind in ("planar", "revolute", "prismatic"):
            add(element, "axis", xyz=axis_in_frame(joint, joint.freedoms - 1))
        if joint.kind in ("revolute", "prismatic"):
            add_limit(element, joint)
            add_dynamics(element, joint)
        return element
