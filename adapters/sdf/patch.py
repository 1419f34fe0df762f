"""Kinds and places of joints changed in SDF files, and files made into another mechanism."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.edits import (
    Edit,
    MovedJoint,
    Patch,
    SlackLinks,
    WantedKind,
    WantedSlack,
    still,
    tidy,
)
from regularize.adapters.common.patching import SlackPatcher, XmlPatcher, hung
from regularize.adapters.common.rewriting import ChangedFile, Rewritten, plain, text_of
from regularize.adapters.common.write import (
    add,
    number,
    numbers,
    quaternion,
    reference_poses,
    rpy,
    spanning,
)
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.draft import MODEL, pose_of
from regularize.adapters.sdf.joint import AXES, KINDS
from regularize.adapters.sdf.write import add_ends, add_inertial, add_pose, written
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Direction, Screw, Transform
from regularize.lie.screw import axis_of, inverse, unit
from regularize.mechanism.body import Body
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.mechanism.mechanism import Mechanism

#: Since when SDF gives axes in the frame of their joint.
AXES_SINCE = 1.5


def kind_edits(
    patcher: XmlPatcher, place: Node, wanted: WantedKind, patch: Patch
) -> Iterator[Edit]:
    """Edit one ``<joint>`` of SDF to its new kind."""
    if wanted.kind not in KINDS:
        raise patcher.refuse(wanted, KINDS)
    yield place.with_attribute("type", KINDS.written[wanted.kind])
    axes, axis = KINDS[wanted.kind].axes, place.child("axis")
    if axes == 2 and place.child("axis2") is None:
        yield _second_axis(place, axis, wanted)
    if axes and axis is None:
        written = numbers(_direction(wanted.replacement.screws[:, 0]))
        yield place.nodes[-1].after(f"<axis><xyz>{written}</xyz></axis>")
    if wanted.kind == "helical":
        pitch = axis_of(wanted.replacement.screws[:, 0])[2]
        if not pitch:  # a screw that does not advance is a hinge
            raise patcher.refuse(wanted, KINDS)
        # As written: <screw_thread_pitch> is unknown to readers of versions before 1.10.
        yield place.nodes[-1].after(f"<thread_pitch>{number(-1.0 / pitch)}</thread_pitch>")
    if not axes and axis is not None:
        lost = [f"<{tag}>" for tag in ("limit", "dynamics") if axis.child(tag)]
        patch.lose(wanted.joint, wanted.kind, lost)


def _second_axis(place: Node, axis: Node | None, wanted: WantedKind) -> Edit:
    """Return the second axis, any across the first where that is given in another frame."""
    second = wanted.replacement.screws[3:, 1]
    xyz = None if axis is None else axis.child("xyz")
    attributes = ""
    if xyz is not None:
        written: Direction = unit([float(word) for word in xyz.content.split()])
        if not np.allclose(written, wanted.replacement.screws[3:, 0], atol=1e-9):
            second = perpendiculars(written)[0]
        frame = xyz.get("expressed_in")
        attributes = "" if frame is None else f' expressed_in="{frame}"'
    flag = None if axis is None else axis.child("use_parent_model_frame")
    more = "" if flag is None else flag.document.text[flag.start : flag.end]
    text = f"<axis2><xyz{attributes}>{numbers(second)}</xyz>{more}</axis2>"
    return (axis or place.nodes[-1]).after(text)


class SdfPatcher(SlackPatcher):
    """Edits an SDF file."""

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the kinds that edits can make of a joint: balls and universals of a hinge."""
        place, row = self.element(joint), KINDS.get(joint.kind)
        return () if place is None or place.tag != "joint" or row is None else row.becomes

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Return the edits of each joint's element."""
        patch = Patch()
        for change in wanted:
            place = self.element(change.joint)
            if place is None or place.tag != "joint":
                raise self.refuse(change, ())
            patch.edits += kind_edits(self, place, change, patch)
        return patch

    def moved(self, wanted: Sequence[MovedJoint]) -> list[Edit]:
        """Return edits of poses of named frames, else of links and of joints on children."""
        if all(map(self.holds, wanted)):
            return super().moved(wanted)
        return [*_placed_edits(self, wanted)]

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """Return whether the joint names a frame on its parent and on its child."""
        parent, child = _frames(self.element(joint))
        return parent is not None, child is not None

    def frame_edits(self, wanted: MovedJoint) -> Iterable[Edit]:
        """Return the edits of the poses of frames that the joint names."""
        place = self.element(wanted.before)
        return () if place is None else _frame_edits(place, wanted)

    def slack(self, wanted: WantedSlack) -> Patch:
        """Return the edits that insert slack links and delete closing joints."""
        version = self.document(self.path).root.get("version") or "1.0"
        if float(version) < AXES_SINCE:
            words = f"slack links need SDF {AXES_SINCE} or later; this is {version}"
            raise UnsupportedExport(words)
        return super().slack(wanted)

    def slack_elements(self, links: SlackLinks, place: Node) -> list[Any]:
        """Return elements of links in the frame of the body, then of their joints."""
        if "::" in "".join((links.carrier, links.moved.parent, links.moved.child)):
            raise UnsupportedExport(f"body `{links.carrier}` belongs to a nested model")
        bodies = [_slack_link(body, place) for body in links.bodies]
        return [*bodies, *map(_slack_joint, links.joints)]

    def slack_ends(self, links: SlackLinks) -> Iterator[Edit]:
        """Yield the edit that names the last slack link as an end of the joint."""
        place = self.element(links.joint)
        if place is None:
            raise UnsupportedExport(f"joint `{links.joint.name}` is not written out in the file")
        for side in ("parent", "child"):
            old, new = getattr(links.joint, side), getattr(links.moved, side)
            if old != new:
                yield hung(place, old, new)

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Yield the places of mesh addresses that are paths."""
        named = place.tag in ("uri", "filename", "albedo_map", "normal_map")
        if named and place.has_text:
            yield place.inner


def _placed_edits(patcher: XmlPatcher, wanted: Sequence[MovedJoint]) -> Iterator[Edit]:
    """Return edits of link and joint poses in a file of one model, which is assembled."""
    mechanism, moved = patcher.mechanism, {change.before.name: change.after for change in wanted}
    joints = tuple(moved.get(joint.name, joint) for joint in mechanism.joints)
    before, after = (
        reference_poses(model, spanning(model).tree)
        for model in (mechanism, replace(mechanism, joints=joints))
    )
    for body in mechanism.bodies:
        if body.name not in after or np.allclose(before[body.name], after[body.name], 0, 1e-15):
            continue
        if body.source is None:
            raise _refused(patcher, f"link {body.name!r}")
        place = patcher.document(body.source.path).at(body.source)
        yield _posed(patcher, place, "link", after[body.name])
    for change in wanted:
        joint, element = change.after, patcher.element(change.before)
        if element is None or element.tag != "joint":
            raise _refused(patcher, f"joint {joint.name!r}")
        if not np.array_equal(joint.T_child_joint, change.before.T_child_joint):
            yield _posed(patcher, element, "joint", joint.T_child_joint)
        turned = (after[joint.child] @ joint.T_child_joint)[:3, :3]
        for k, axis in enumerate(element.children(*AXES)):
            xyz = axis.child("xyz")
            if xyz is not None and xyz.get("expressed_in") == MODEL:
                yield xyz.with_content(numbers(turned @ _direction(joint.screws[:, k])))


def _posed(patcher: XmlPatcher, place: Node, tag: str, T: Transform) -> Edit:
    """Return the edit of a link's pose in its model, or of a joint's on its child."""
    model = place.parent
    outer = None if model is None or model.tag != "model" else model.child("pose")
    pose = place.child("pose")
    nested = model is None or model.parent is None or model.parent.tag == "model"
    moved = outer is not None and tag == "link"
    other = pose is not None and pose.spans.keys() - {"rotation_format"}
    if place.tag != tag or nested or moved or other:
        raise _refused(patcher, f"{place.tag} {place.get('name')!r}")
    quaternions = pose is not None and pose.get("rotation_format") == "quat_xyzw"
    turn = quaternion(T[:3, :3]) if quaternions else rpy(T[:3, :3])
    text = numbers([*T[:3, 3], *turn])
    if pose is not None:
        return pose.with_content(text)
    return place.nodes[0].before(f"<pose>{text}</pose>")


def _refused(patcher: XmlPatcher, what: str) -> UnsupportedExport:
    return UnsupportedExport(
        f"{patcher.path}: {what} is placed in a frame that is not edited; write the model anew "
        "with `regularize export MODEL --as-designed --to sdf`"
    )


def _frames(place: Node | None) -> tuple[Node | None, Node | None]:
    """Return the frame elements that a joint's element names on its parent and on its child."""
    if place is None or place.tag != "joint" or place.child("pose") is not None:
        return None, None
    return _frame(place, "parent"), _frame(place, "child")


def _frame(joint: Node, side: str) -> Node | None:
    """Return the one frame of a name if its pose is in metres and radians, or it has none."""
    end, model = joint.child(side), joint.parent
    if end is None or model is None:
        return None
    frames = [frame for frame in model.children("frame") if frame.get("name") == end.content]
    pose = frames[0].child("pose") if len(frames) == 1 else None
    if pose is not None and {"degrees", "rotation_format"} & pose.spans.keys():
        return None
    return frames[0] if len(frames) == 1 else None


def _frame_edits(place: Node, wanted: MovedJoint) -> Iterator[Edit]:
    """Yield the edits of poses that move a joint's frames."""
    for frame, shift in zip(_frames(place), wanted.shifts, strict=True):
        if frame is None or still(shift):
            continue
        pose = frame.child("pose")
        T = pose_of(pose) @ shift
        words = f"{numbers(tidy(T[:3, 3]))} {numbers(tidy(rpy(T[:3, :3])))}"
        yield frame.inside(f"<pose>{words}</pose>") if pose is None else pose.with_content(words)


def _direction(screw: Screw) -> Direction:
    return screw[3:] if np.any(screw[3:]) else screw[:3]


def _slack_link(body: Body, carrier: Node) -> Any:
    """Return a link in the frame of the body, whose pose is written as the body's is."""
    element = etree.Element("link", name=body.name)
    pose = carrier.child("pose")
    if pose is not None:
        element.append(etree.Element("pose", {key: pose.get(key) or "" for key in pose.spans}))
        element[0].text = pose.content
    if body.inertia is not None:
        add_inertial(element, body.inertia)
    return element


def _slack_joint(joint: Joint) -> Any:
    kind = "prismatic" if np.any(joint.screws[:3]) else "revolute"
    element = etree.Element("joint", name=joint.name, type=kind)
    add_ends(element, joint.parent, joint.child)
    add_pose(element, joint.T_child_joint)
    add(add(element, "axis"), "xyz", numbers(_direction(joint.screws[:, 0])))
    return element


def rewritten(mechanism: Mechanism, again: Callable[..., Mechanism], folder: Path) -> Rewritten:
    """Return the owner's file, read ``again``, as a mechanism made of it, and what goes."""
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
        gone = self.old_bodies.keys() - {body.name for body in self.after.bodies}
        if self.after.name != self.before.name:
            self.change(models[0], name=self.after.name)
        for name in (name for name in self.old_bodies if name in gone):
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
                self.removed |= set() if pose is None else {pose}
                moved = T @ pose_of(pose)
                if not np.array_equal(moved, np.eye(4)):
                    words = numbers([*moved[:3, 3], *rpy(moved[:3, :3])])
                    self.add(thing, f"<pose>{words}</pose>")
            if thing.get("name") in taken:
                self.change(thing, name=f"{name}_{thing.get('name')}")
            taken.add(thing.get("name"))
            self.add(place, thing)

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
