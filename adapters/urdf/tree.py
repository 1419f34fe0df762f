"""Links and joints of a URDF file while it is being written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lxml import etree

from regularize.adapters.common.write import (
    Losses,
    axis_in_frame,
    number,
    numbers,
)
from regularize.adapters.urdf.elements import (
    add_inertial,
    add_limit,
    add_origin,
    add_shape,
)
from regularize.adapters.urdf.row import in_a_row
from regularize.lie.screw import Array, inverse
from regularize.model.mechanism import Body, Joint


@dataclass(eq=False)
class LinkTree:
    """The ``<robot>`` element, and what the rest of the file has to know of it.

    Attributes:
        root: The element.
        plus: Whether the file is URDF+.
        losses: What the format cannot hold.
        turned: Joints of the model that the tree passes from child to parent.
        frames: Frame of each link in the body that it stands for.
        names: URDF joint of each (joint, freedom).
        slides: Slide of each screw: the hinge that it follows, and the pitch.
        links: Names of the links so far.
        balls: Names of the ball joints so far.
    """

    root: Any
    plus: bool
    losses: Losses
    turned: tuple[str, ...] = ()
    frames: dict[str, Array] = field(default_factory=dict)
    names: dict[tuple[str, int], str] = field(default_factory=dict)
    slides: dict[str, tuple[str, float]] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    balls: list[str] = field(default_factory=list)

    def add_link(self, body: Body) -> None:
        """Add the link of a body, in the frame that URDF wants it in."""
        T = inverse(self.frames[body.name])
        element = etree.SubElement(self.root, "link", name=body.name)
        self.links.append(body.name)
        if body.inertia is not None:
            add_inertial(element, body.inertia.transformed(T))
        for shape in body.geometry:
            add_shape(element, replace(shape, T_body_geometry=T @ shape.T_body_geometry))

    def add_massless(self, name: str) -> None:
        """Add a link that stands for a frame."""
        etree.SubElement(self.root, "link", name=name)
        self.links.append(name)

    def parts(self, joint: Joint) -> tuple[Joint, ...]:
        """The joint as URDF joints in a row; notes frames and slides of screws."""
        row = in_a_row(joint)
        self.slides.update(row.slides)
        self.frames.update({part.child: part.T_child_joint for part in row.joints})
        return row.joints

    def add_chain(self, joint: Joint, parts: Sequence[Joint]) -> None:
        """Write the parts of a joint, and note which of them has which coordinate."""
        freedoms = [*range(joint.freedoms)]
        if joint.name in self.turned:
            freedoms.reverse()
        for part in parts:
            if part.child not in self.links:
                self.add_massless(part.child)
            element = self._joint(part)
            if part.name in self.slides:
                leader, pitch = self.slides[part.name]
                values = {"joint": leader, "multiplier": number(pitch), "offset": "0"}
                etree.SubElement(element, "mimic", values)
            elif part.kind in ("revolute", "prismatic"):
                self.names[joint.name, freedoms.pop(0)] = part.name

    def _joint(self, joint: Joint) -> Any:
        bounded = joint.limits is not None
        kind = {
            "fixed": "fixed",
            "free": "floating",
            "planar": "planar",
            "prismatic": "prismatic",
            "revolute": "revolute" if bounded else "continuous",
            "spherical": "spherical" if self.plus else "continuous",
        }[joint.kind]
        element = etree.SubElement(self.root, "joint", name=joint.name, type=kind)
        if self.plus and joint.actuated is not None:
            element.set("independent", "true" if joint.actuated else "false")
        add_origin(element, inverse(self.frames[joint.parent]) @ joint.T_parent_joint)
        etree.SubElement(element, "parent", link=joint.parent)
        etree.SubElement(element, "child", link=joint.child)
        if joint.kind == "spherical":
            self.balls.append(joint.name)
            if not self.plus:
                etree.SubElement(element, "axis", xyz="1 0 0")
        elif joint.kind == "planar":
            etree.SubElement(element, "axis", xyz=numbers(axis_in_frame(joint, 2)))
        elif joint.kind in ("revolute", "prismatic"):
            etree.SubElement(element, "axis", xyz=numbers(axis_in_frame(joint)))
        if kind in ("revolute", "prismatic") and add_limit(element, joint):
            self.losses.add(
                f"has no open bounds: `{joint.name}` gets the largest number there is",
                "note",
                joints=[joint.name],
            )
        return element
