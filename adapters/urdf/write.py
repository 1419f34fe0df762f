"""Writing URDF with its loops beside it (Gepetto YAML) or inside it (URDF+)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from lxml import etree

from regularize.adapters.common.files import write_text
from regularize.adapters.common.spanning import spanning
from regularize.adapters.common.write import (
    Losses,
    axis_in_frame,
    follower,
    number,
    numbers,
    standard,
    text_of,
)
from regularize.adapters.urdf.elements import add_origin
from regularize.adapters.urdf.tree import LinkTree
from regularize.lie.screw import Array, inverse
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Joint, Mechanism

#: Closures that Gepetto YAML and URDF+ know.
GEPETTO = {"spherical": "3d", "fixed": "6d"}
URDF_PLUS = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "spherical": "spherical",
    "universal": "universal",
    "cylindrical": "cylindrical",
}


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF, and its loops as Gepetto YAML of the same name beside it.

    Frames of links move to the joints that lead to them, which is where URDF has them. A closure
    that is neither a point nor a frame cuts its child: the joint leads to a massless link, which
    a ``6d`` constraint holds to the child.

    Returns:
        What URDF cannot hold (REG302).
    """
    return _Writer(mechanism, plus=False).write(path)


def write_plus(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF+, with ``<loop>`` elements; see ``write``."""
    return _Writer(mechanism, plus=True).write(path)


@dataclass(eq=False)
class _Writer:
    mechanism: Mechanism
    plus: bool
    losses: Losses = field(init=False)
    tree: LinkTree = field(init=False)
    pairs: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.losses = Losses("URDF+" if self.plus else "URDF")
        root = etree.Element("robot", name=self.mechanism.name)
        self.tree = LinkTree(root, self.plus, self.losses)

    def write(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        mechanism = self.mechanism
        tree = self.tree
        found = spanning(mechanism)
        tree.turned = found.turned
        self.losses.positions(mechanism)
        self.losses.gravity(mechanism)
        tree.frames[mechanism.ground] = np.eye(4)
        chains = [(joint, tree.parts(joint)) for joint in found.tree]
        cuts, loops = [], []
        for joint in found.closures:
            known = URDF_PLUS if self.plus else GEPETTO
            if joint.kind in known and standard(joint):
                loops.append(joint)
            else:
                cuts.append(joint)
        for body in sorted(mechanism.bodies, key=lambda b: b.name != mechanism.ground):
            tree.add_link(body)
        for joint, parts in chains:
            tree.add_chain(joint, parts)
        for joint in cuts:
            self._cut(joint)
        for joint in loops:
            if self.plus:
                self._loop(joint)
            else:
                self._pair(joint, joint.T_parent_joint, joint.T_child_joint)
        for coupling in mechanism.couplings:
            self._mimic(coupling.name, follower(coupling))
        if tree.balls:
            balls = ", ".join(tree.balls)
            self.losses.add(
                f"has no ball joints: {balls} are written as such all the same, "
                "which plain URDF readers refuse"
                if self.plus
                else f"has no ball joints: the YAML file makes them of {balls}",
                "warning" if self.plus else "note",
                joints=tree.balls,
            )
        write_text(path, text_of(tree.root))
        if not self.plus:
            self._sidecar(path)
        return tuple(self.losses.findings)

    def _cut(self, joint: Joint) -> None:
        """Lead a closing joint to a massless twin of its child, and hold the two together."""
        twin = f"{joint.child}__{joint.name}"
        self.tree.add_chain(joint, self.tree.parts(replace(joint, child=twin)))
        self.losses.add(
            f"has no loop closure of kind {joint.kind}: `{joint.name}` leads to the massless "
            f"link `{twin}`, which is held to `{joint.child}`",
            "note",
            joints=[joint.name],
        )
        frame = self.tree.frames[twin]
        held = replace(
            joint,
            name=f"{joint.name}_closure",
            parent=twin,
            kind="fixed",
            screws=np.zeros((6, 0)),
            position=np.zeros(0),
            limits=None,
            T_parent_joint=frame,
            T_child_joint=frame,
        )
        if self.plus:
            self._loop(held)
        else:
            self._pair(held, frame, frame)

    def _pair(self, joint: Joint, T_parent: Array, T_child: Array) -> None:
        """Two links that mark the frames which a YAML constraint brings together."""
        ends = []
        for link, T, which in ((joint.parent, T_parent, 1), (joint.child, T_child, 2)):
            name = f"{joint.name}_{which}"
            self.tree.add_massless(name)
            element = etree.SubElement(self.tree.root, "joint", name=f"{name}_fixed", type="fixed")
            add_origin(element, inverse(self.tree.frames[link]) @ T)
            etree.SubElement(element, "parent", link=link)
            etree.SubElement(element, "child", link=name)
            ends.append(name)
        self.pairs.append((ends[0], ends[1], GEPETTO[joint.kind]))

    def _loop(self, joint: Joint) -> None:
        kind = URDF_PLUS[joint.kind]
        if kind in ("spherical", "universal", "cylindrical"):
            self.losses.add(
                f"knows loops of hinges, slides, planes and welds; `{joint.name}` is written as "
                f"type {kind}, which this package reads",
                "note",
                joints=[joint.name],
            )
        element = etree.SubElement(self.tree.root, "loop", name=joint.name, type=kind)
        for tag, link, T in (
            ("predecessor", joint.parent, joint.T_parent_joint),
            ("successor", joint.child, joint.T_child_joint),
        ):
            add_origin(
                etree.SubElement(element, tag, link=link), inverse(self.tree.frames[link]) @ T
            )
        count = {"universal": 2, "revolute": 1, "prismatic": 1, "cylindrical": 1}
        for k in range(count.get(kind, 0)):
            etree.SubElement(element, "axis", xyz=numbers(axis_in_frame(joint, k)))
        if joint.limits is not None and joint.freedoms == 1:
            low, high = joint.limits[0]
            etree.SubElement(element, "limit", lower=number(low), upper=number(high))

    def _mimic(
        self,
        name: str,
        pair: tuple[tuple[str, int], tuple[str, int], float, float] | None,
    ) -> None:
        if pair is None or pair[0] not in self.tree.names or pair[1] not in self.tree.names:
            self.losses.add(
                f"holds couplings of two hinges or slides of the tree only: `{name}` is lost"
            )
            return
        one, other = self.tree.names[pair[0]], self.tree.names[pair[1]]
        element = next(e for e in self.tree.root.iter("joint") if e.get("name") == one)
        if element.find("mimic") is not None:
            self.losses.add(f"holds one coupling per joint: `{name}` is lost")
            return
        etree.SubElement(
            element, "mimic", joint=other, multiplier=number(pair[2]), offset=number(pair[3])
        )

    def _sidecar(self, path: str | os.PathLike[str]) -> None:
        driven = [joint.name for joint in self.mechanism.joints if joint.actuated]
        known = any(joint.actuated is not None for joint in self.mechanism.joints)
        content: dict[str, Any] = {
            "closed_loop": [[first, second] for first, second, _ in self.pairs],
            "type": [kind for _, _, kind in self.pairs],
        }
        if known:
            moving = {name: self.tree.names.get((name, 0), name) for name in driven}
            content["name_mot"] = [*moving.values()]
        if self.tree.balls:
            content["joint_name"] = self.tree.balls
            content["joint_type"] = ["SPHERICAL"] * len(self.tree.balls)
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
        write_text(Path(path).with_suffix(".yaml"), text)
