"""The owner's SDF made into another mechanism; all that is not changed stays as it is written.

Floors, sensors, materials, contact parameters and plugins stay. Links that go leave what they hold
to those that they become a part of.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.rewriting import ChangedFile, Rewritten, plain, text_of
from regularize.adapters.common.write import numbers, rpy
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.draft import pose_of
from regularize.adapters.sdf.joint import AXES
from regularize.adapters.sdf.patch import AXES_SINCE, SdfPatcher
from regularize.adapters.sdf.write import add_pose, written
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Transform
from regularize.lie.screw import inverse
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Mechanism


def rewritten(mechanism: Mechanism, again: Callable[..., Mechanism], folder: Path) -> Rewritten:
    """Return the owner's file as a mechanism that was made of it, and what of it goes.

    The file is read ``again``, with options of its reader.

    Raises:
        UnsupportedExport: The change cannot be told in the words of the file.
    """
    before = again()
    file = SdfRewriting("SDF", SdfPatcher(before), mechanism)
    if plain(before) != plain(mechanism):
        file.apply()
    return Rewritten(file.text(file.patcher, folder).data, tuple(file.findings), {})


class SdfRewriting(ChangedFile):
    """Changes of an SDF file that make another mechanism of it."""

    def apply(self) -> None:
        """Make the file the mechanism."""
        self.new: Any = written(self.after)
        models = [node for node in self.root.walk() if node.tag == "model"]
        version = float(self.root.get("version") or 1.0)
        if len(models) != 1 or version < AXES_SINCE:
            raise UnsupportedExport("only files of one model, of SDF 1.5 and later, are edited")
        base = inverse(pose_of(models[0].child("pose")))
        kept = {joint.name for joint in self.after.joints} - self.changed.keys()
        gone = {name for name in self.old_bodies if name not in self.after_bodies}
        if self.after.name != self.before.name:
            self.change(models[0], name=self.after.name)
        for name in gone:
            self._given_away(name, gone)
        for joint in self.before.joints:
            if joint.name not in kept and joint.source is not None and joint.source.line:
                self.removed.add(self._node(joint.source))
            elif joint.name in kept:
                self._restated(joint.name)
        for link in self.new.iter("link"):
            name = link.get("name")
            if name not in self.old_bodies:
                for pose in link.findall("pose"):
                    link.remove(pose)
                add_pose(link, base @ self.poses[1][name])
                self.add(models[0], text_of(link))
            elif self.remassed(name):
                node = self._node(self.old_bodies[name].source)
                self.removed |= {*node.children("inertial")}
                for inertial in link.findall("inertial"):
                    self.add(node, text_of(inertial))
        fixed = f"{self.after.ground}_to_world"
        for joint in self.new.iter("joint"):
            if joint.get("name") not in {*kept, fixed}:
                self.add(models[0], text_of(joint))
        self._cleaned(models[0], gone | ({*self.old} - kept - self.changed.keys()))

    @property
    def after_bodies(self) -> set[str]:
        """Names of the bodies of the mechanism."""
        return {body.name for body in self.after.bodies}

    def _node(self, source: Source | None) -> Node:
        """Return the element that a link or a joint was read from."""
        if source is None or source.path != self.patcher.path or source.line is None:
            raise UnsupportedExport("a part that changes is not written out in the file")
        node: Node = self.patcher.document(source.path).at(source)
        if node.tag not in ("link", "joint"):
            raise UnsupportedExport(f"<{node.tag}> on line {node.line} is not edited")
        return node

    def _given_away(self, name: str, gone: set[str]) -> None:
        """Put what a link holds that goes into the link that it becomes a part of."""
        node, (before, after) = self._node(self.old_bodies[name].source), self.poses
        near = [j for j in self.before.joints if name in (j.parent, j.child)]
        ends = [end for joint in near for end in (joint.parent, joint.child) if end not in gone]
        heir = self.heir(name, [*ends, *(b for b in self.old_bodies if b not in gone)])
        T = inverse(after[heir]) @ before[name]
        self.removed.add(node)
        place = self._node(self.old_bodies[heir].source)
        taken = {each.get("name") for each in place.children()}
        for thing in node.children():
            pose = thing.child("pose")
            if thing.tag in ("pose", "inertial"):
                continue
            if pose is None or not pose.get("relative_to"):
                self._posed(thing, pose, T @ pose_of(pose))
            if thing.get("name") in taken:
                self.change(thing, name=f"{name}_{thing.get('name')}")
            taken.add(thing.get("name"))
            self.add(place, thing)

    def _posed(self, node: Node, pose: Node | None, T: Transform) -> None:
        """Give an element another pose in its link."""
        text = f"<pose>{numbers([*T[:3, 3], *rpy(T[:3, :3])])}</pose>"
        self.removed |= {pose} if pose is not None else set()
        if not np.array_equal(T, np.eye(4)):
            self.add(node, text)

    def _restated(self, name: str) -> None:
        """Change limits and forces of a joint that stays where it is."""
        joint = next(joint for joint in self.after.joints if joint.name == name)
        old = self.old[name]
        if plain((joint.limits, joint.dynamics)) == plain((old.limits, old.dynamics)):
            return
        node = self._node(self.old[name].source)
        new = self.new.find(f".//joint[@name='{name}']")
        axes = [axis for axis in node.children() if axis.tag in AXES]
        for axis, other in zip(axes, [e for e in new if e.tag in AXES], strict=True):
            self.removed |= {*axis.children("limit", "dynamics")}
            for part in (e for e in other if e.tag in ("limit", "dynamics")):
                self.add(axis, text_of(part))

    def _cleaned(self, model: Node, gone: set[str]) -> None:
        """Take plugins out that name what is gone; refuse frames that do."""
        for node in model.walk():
            names = {node.content, node.get("relative_to"), node.get("attached_to")} & gone
            around = [node, *self.above(node)]
            if not names or self.removed & {*around}:
                continue
            holder = next((each for each in around if each.tag in ("plugin", "sensor")), None)
            if holder is None:
                raise UnsupportedExport(f"<{node.tag}> on line {node.line} names what is gone")
            self.removed.add(holder)
            self.stays(holder)
