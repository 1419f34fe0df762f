"""Writing URDF with its loops beside it (Gepetto YAML) or inside it (URDF+)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from lxml import etree

from regularize.adapters.common.names import unique
from regularize.adapters.common.serial import axis_in_frame, standard, twin_name
from regularize.adapters.common.spanning import spanning
from regularize.adapters.common.write import add
from regularize.adapters.urdf.elements import add_dynamics, add_limit, add_origin, add_transmission
from regularize.adapters.urdf.tree import LinkTree
from regularize.lie.screw import Array, inverse
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Joint, Mechanism
from regularize.output_files import write_text

#: Closures that Gepetto YAML knows.
GEPETTO = {"spherical": "3d", "fixed": "6d"}
#: Closures of URDF+, and how many axes it gives of each.
URDF_PLUS = {
    "revolute": 1,
    "prismatic": 1,
    "fixed": 0,
    "spherical": 0,
    "universal": 2,
    "cylindrical": 1,
}


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF, and its loops as Gepetto YAML of the same name beside it.

    Frames of links move to the joints that lead to them, which is where URDF has them. A closure
    that is neither a point nor a frame cuts its child: the joint leads to a massless link, which
    a ``6d`` constraint holds to the child.

    Returns:
        What URDF forces upon the model (REG302).
    """
    return _UrdfWriter("URDF", mechanism, _robot(mechanism)).write(path)


def write_plus(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF+, with ``<loop>`` elements; see ``write``."""
    return _UrdfWriter("URDF+", mechanism, _robot(mechanism), plus=True).write(path)


def _robot(mechanism: Mechanism) -> Any:
    return etree.Element("robot", name=mechanism.name)


@dataclass(eq=False)
class _UrdfWriter(LinkTree):
    """Writes the whole file; ``pairs`` are the frames that the YAML file brings together."""

    pairs: list[tuple[str, str, str, str]] = field(default_factory=list)

    def write(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        mechanism = self.mechanism
        found = spanning(mechanism)
        self.turned = found.turned
        self.frames[mechanism.ground] = np.eye(4)
        chains = [(joint, self.parts(joint)) for joint in found.tree]
        for body in sorted(mechanism.bodies, key=lambda b: b.name != mechanism.ground):
            self.add_link(body)
        for joint, parts in chains:
            self.add_chain(joint, parts)
        known = URDF_PLUS if self.plus else GEPETTO
        loops = [j for j in found.closures if j.kind in known and standard(j)]
        for joint in [j for j in found.closures if j not in loops]:
            self._cut(joint)
        for joint in loops:
            self._close(joint)
        for mimic in self.mimics():
            add(
                self.joints[mimic.follower.joint],
                "mimic",
                joint=mimic.leader.joint,
                multiplier=mimic.multiplier,
                offset=mimic.offset,
            )
        if self.balls:
            balls = ", ".join(self.balls)
            self.lose(
                f"has no ball joints: {balls} are written as such all the same, "
                "which plain URDF readers refuse"
                if self.plus
                else f"has no ball joints: the YAML file makes them of {balls}",
                "warning" if self.plus else "note",
                joints=self.balls,
            )
        for actuator in mechanism.actuators:
            called = self.coordinates.get((actuator.joint, actuator.freedom))
            if called is not None:
                add_transmission(self.root, actuator, called.joint)
        findings = self.save(path)
        if not self.plus:
            self._save_loops(path)
        return findings

    def _cut(self, joint: Joint) -> None:
        """Lead a closing joint to a massless twin of its child, and hold the two together."""
        twin = twin_name(joint)
        self.add_chain(joint, self.parts(replace(joint, child=twin)))
        self.lose(
            f"has no loop closure of kind {joint.kind}: `{joint.name}` leads to the massless "
            f"link `{twin}`, which is held to `{joint.child}`",
            "note",
            joints=[joint.name],
        )
        frame = self.frames[twin]
        name = f"{joint.name}_closure"
        screws = np.zeros((6, 0))
        self._close(Joint(name, twin, joint.child, "fixed", screws, frame, frame))

    def _close(self, joint: Joint) -> None:
        if self.plus:
            self._loop(joint)
        else:
            self._pair(joint)

    def _pair(self, joint: Joint) -> None:
        """Two links that mark the frames which a YAML constraint brings together."""
        first = self._frame(f"{joint.name}_1", joint.parent, joint.T_parent_joint)
        second = self._frame(f"{joint.name}_2", joint.child, joint.T_child_joint)
        self.pairs.append((first, second, GEPETTO[joint.kind], joint.name))

    def _frame(self, wanted: str, link: str, T: Array) -> str:
        """A link that marks a frame of another one: that link itself where it is the frame."""
        there = self.joints.get(link)
        if np.array_equal(inverse(self.frames[link]) @ T, np.eye(4)) and there is None:
            return link
        name = unique(wanted, self.links)
        self.add_massless(name)
        held = unique(f"{name}_fixed", self.joints)
        element = self.joints[held] = add(self.root, "joint", name=held, type="fixed")
        self.add_ends(element, link, name, T)
        return name

    def _loop(self, joint: Joint) -> None:
        kind = joint.kind
        if kind in ("spherical", "universal", "cylindrical"):
            self.lose(
                f"knows loops of hinges, slides, planes and welds; `{joint.name}` is written as "
                f"type {kind}, which this package reads",
                "note",
                joints=[joint.name],
            )
        element = add(self.root, "loop", name=joint.name, type=kind)
        for tag, link, T in (
            ("predecessor", joint.parent, joint.T_parent_joint),
            ("successor", joint.child, joint.T_child_joint),
        ):
            add_origin(add(element, tag, link=link), inverse(self.frames[link]) @ T)
        for k in range(URDF_PLUS[kind]):
            add(element, "axis", xyz=axis_in_frame(joint, k))
        if joint.freedoms == 1:
            if joint.limits is not None:
                add_limit(element, joint)
            add_dynamics(element, joint)

    def _save_loops(self, path: str | os.PathLike[str]) -> None:
        driven = [joint.name for joint in self.mechanism.joints if joint.actuated]
        known = any(joint.actuated is not None for joint in self.mechanism.joints)
        content: dict[str, Any] = {
            "closed_loop": [[first, second] for first, second, _, _ in self.pairs],
            "type": [kind for _, _, kind, _ in self.pairs],
            "name": [name for _, _, _, name in self.pairs],
        }
        if known:
            called = {name: self.coordinates.get((name, 0)) for name in driven}
            content["name_mot"] = [name if c is None else c.joint for name, c in called.items()]
        if self.balls:
            content["joint_name"] = self.balls
            content["joint_type"] = ["SPHERICAL"] * len(self.balls)
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
        write_text(Path(path).with_suffix(".yaml"), text)
