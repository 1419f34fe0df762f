"""Kinds and places of joints changed in URDF and xacro files, and slack links put in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.edits import (
    Edit,
    EditedText,
    MovedJoint,
    Patch,
    SlackLinks,
    WantedKind,
    quoteattr,
    still,
    tidy,
    turns,
)
from regularize.adapters.common.patching import FileReference, SlackPatcher, hung
from regularize.adapters.common.serial import axis_letter
from regularize.adapters.common.write import add, numbers, quaternion, rpy
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf import sidecar_patch
from regularize.adapters.urdf.draft import JOINTS, KINDS, LOOP, pose
from regularize.adapters.urdf.loop_files import GEPETTO_KEY
from regularize.adapters.urdf.loops import ends_of, origin_of
from regularize.adapters.urdf.write import add_inertial, add_limit
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.arrays import Direction, Point
from regularize.lie.screw import transform
from regularize.mechanism.joint import Joint

#: Kinds that joints of the tree can become.
TREE_KINDS = tuple(kind for kind in KINDS.at("tree") if kind != "free")
LOOPS = ("loop", "constraint", "loop_joint")


class UrdfPatcher(SlackPatcher):
    """Edits a URDF file and the file of closing joints beside it."""

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the kinds that a closing joint can become; tree joints stay as they are."""
        if joint.source is not None and joint.source.path != self.path:
            return sidecar_patch.kinds(joint)
        place = self.element(joint)
        if place is not None and not joint.closure and self._retypes() is not None:
            if joint.kind != "revolute":
                return ()
            return ("spherical", *(["universal"] if axis_letter(joint.screws[3:, 0]) else []))
        if place is None or not joint.closure:
            return ()
        if _in_gazebo(place):
            from regularize.adapters.sdf import joint as sdf  # SDF in a URDF file

            return sdf.KINDS["revolute"].becomes
        return tuple(LOOP) if place.tag in (*LOOPS, "joint", "link") else ()

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Return the edits that give joints their new kinds."""
        patch, sidecar = Patch(), self._retypes()
        if sidecar is not None:
            text = self.text(sidecar)
            retyped = [w for w in wanted if not w.joint.closure and sidecar_patch.retype_word(w)]
            wanted = [change for change in wanted if change not in retyped]
            patch.edits += sidecar_patch.retyped(retyped, text) if retyped else ()
        for change in wanted:
            source = change.joint.source
            if source is not None and source.path != self.path:
                patch.edits += sidecar_patch.edits(change, self.text(source.path))
                continue
            place = self.element(change.joint)
            if place is None:
                raise self.not_written(change)
            patch.edits += self._edits(place, change, patch)
        return patch

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """Return whether the frames on the parent and on the child can be moved."""
        inside = joint.source is not None and joint.source.path == self.path
        place = self.element(joint) if inside else None
        if place is None or _in_gazebo(place):
            return False, False
        if place.tag in JOINTS:
            return True, False
        closing = joint.closure and ends_of(place) is not None
        return closing, closing

    def frame_edits(self, wanted: MovedJoint) -> Iterable[Edit]:
        """Return the edits of ``<origin>`` elements that move a joint."""
        place = self.element(wanted.before)
        return () if place is None else _origin_edits(place, wanted)

    def slack_elements(self, links: SlackLinks, place: Node) -> list[Any]:
        """Return elements of slack links in series, each with the joint that leads to it."""
        made, last = [], np.zeros(3)
        for joint, body in zip(links.joints, links.bodies, strict=True):
            before, last = last, _slack_origin(joint, last)
            link = etree.Element("link", name=body.name)
            if body.inertia is not None:
                add_inertial(link, body.inertia.transformed(transform(None, -last)))
            made += [link, _slack_joint(joint, last - before)]
        return made

    def slack_ends(self, links: SlackLinks) -> Iterator[Edit]:
        """Yield edits, in the file of the joint, that attach it to the last slack link."""
        joint, last = links.joint, np.zeros(3)
        for slack in links.joints:
            last = _slack_origin(slack, last)
        side = "parent" if joint.parent != links.moved.parent else "child"
        old, new = getattr(joint, side), getattr(links.moved, side)
        if joint.source is not None and joint.source.path != self.path:
            text = self.text(joint.source.path)
            yield from sidecar_patch.hung(joint, text, old, new, last)
            return
        place = self.element(joint)
        if place is not None and place.tag == "joint" and joint.kind != links.moved.kind:
            return  # a <loop> takes its place, which names the link
        if place is None:
            raise UnsupportedExport(f"joint `{joint.name}` is not written out in {self.path}")
        yield hung(place, old, new)
        if not np.any(last):
            return
        if self.movable(joint) != (True, True):
            raise UnsupportedExport(
                f"this <{place.tag}> cannot say where joint `{joint.name}` is on a slack link"
            )
        # The slack link's frame stands off that of the body.
        T = transform(None, -last) @ getattr(joint, f"T_{side}_joint")
        yield from _origin_edits(place, MovedJoint(joint, replace(joint, **{f"T_{side}_joint": T})))

    def taken_out(self, joints: Iterable[Joint]) -> Iterator[Edit]:
        """Yield edits that delete joints, in the model or its file of closing joints."""
        for joint in joints:
            if joint.source is not None and joint.source.path != self.path:
                yield sidecar_patch.taken_out(joint, self.text(joint.source.path))
                continue
            place = self.element(joint)
            if place is not None and place.tag == "link":
                raise UnsupportedExport(
                    f"closing joint `{joint.name}` is marked by frames: take these out by hand, "
                    "for other joints do what it does"
                )
            yield from super().taken_out([joint])

    @property
    def way_out(self) -> str:
        """Advice to write closures as URDF+ loops, if the present form holds fewer kinds."""
        closing = [joint for joint in self.mechanism.joints if joint.closure]
        if all(len(self.kinds(joint)) > 2 for joint in closing):
            return ""
        return "write its closures as URDF+ <loop> elements, which hold more kinds"

    def not_written(self, wanted: WantedKind) -> ModelError:
        """Return the error about a joint that no element of the file stands for."""
        return self.refuse(wanted, ())

    def _retypes(self) -> str | None:
        """Return the Gepetto file beside the model, which can retype joints, or None."""
        files = (file for file in self.mechanism.files[:1] if GEPETTO_KEY.search(self.data(file)))
        return next(files, None)

    def found_by_name(self) -> Collection[str]:
        """Return the path of the file of closing joints."""
        return self.mechanism.files

    def _edits(self, place: Node, wanted: WantedKind, patch: Patch) -> Iterable[Edit]:
        if _in_gazebo(place):
            from regularize.adapters.sdf.patch import kind_edits

            return kind_edits(self, place, wanted, patch)
        closing = wanted.joint.closure
        if place.tag == "link" and closing:
            return [place.after(loop_element(place, wanted))]
        if place.tag == "joint" and not closing:
            # Where joints of the tree are balls already, no reader of plain URDF is lost.
            balls = any(j.kind == "spherical" and not j.closure for j in self.mechanism.joints)
            if wanted.kind not in TREE_KINDS and not (wanted.kind == "spherical" and balls):
                advice = ", which is what Pinocchio and ROS read; a closing joint holds more kinds"
                raise self.refuse(wanted, TREE_KINDS, advice)
        elif place.tag not in (*LOOPS, "joint"):
            raise self.refuse(wanted, ())
        elif place.tag != "joint" and wanted.kind not in LOOP:
            raise self.refuse(wanted, LOOP)
        if wanted.kind not in ("revolute", "prismatic"):  # bounds and damping mean nothing to it
            tags = [tag for tag in ("limit", "dynamics", "mimic") if place.child(tag) is not None]
            patch.lose(wanted.joint, wanted.kind, [f"<{tag}>" for tag in tags])
        if place.tag == "joint" and closing:
            return [place.replaced(loop_element(place, wanted))]
        endless = wanted.kind == "revolute" and place.child("limit") is None
        word = "continuous" if endless else wanted.kind
        return [place.with_attribute("type", word), *_axes(place, wanted)]

    def references(self, text: EditedText) -> Iterator[FileReference]:
        """Yield references of the model itself; the file of closing joints has none."""
        return super().references(text) if text.path == self.path else iter(())

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Yield first and last character of the file name of a mesh or texture element."""
        if place.tag in ("mesh", "texture") and "filename" in place.spans:
            yield place.spans["filename"]


def _in_gazebo(place: Node) -> bool:
    """Return whether an element is an SDF joint inside ``<gazebo>``."""
    return place.tag == "joint" and place.parent is not None and place.parent.tag == "gazebo"


def _axes(place: Node, wanted: WantedKind) -> list[Edit]:
    """Return edits that write the axes of a joint's new kind where they differ."""
    if not KINDS[wanted.kind].axes:
        return []
    written = place.children("axis")
    old = axes_of(WantedKind(wanted.joint, wanted.joint.kind, wanted.joint))
    edits, missing = [], []
    for k, direction in enumerate(axes_of(wanted)):
        kept = k < len(old) and np.allclose(direction, old[k], atol=1e-12)
        if place.child("parent_axis") is not None or (k < len(written) and kept):
            continue
        if k < len(written):
            edits.append(written[k].with_attribute("xyz", numbers(direction)))
        elif not (k == 0 and kept):
            missing.append(f'<axis xyz="{numbers(direction)}"/>')
    if missing:
        last = written[-1] if written else place.nodes[-1]
        edits.append(last.after(("" if last.margin is None else last.gap).join(missing)))
    return edits


def loop_element(place: Node, wanted: WantedKind) -> str:
    """Return a ``<loop>`` as text, indented as the element that it replaces or stands beside."""
    joint = wanted.replacement
    if wanted.kind not in LOOP:
        raise ModelError(f"joint {joint.name!r} cannot become {wanted.kind} as a URDF+ <loop>")
    lines = [f"<loop name={quoteattr(joint.name)} type={quoteattr(wanted.kind)}>"]
    for tag, link, T in (
        ("predecessor", joint.parent, joint.T_parent_joint),
        ("successor", joint.child, joint.T_child_joint),
    ):
        turn = "" if np.array_equal(T[:3, :3], np.eye(3)) else f' rpy="{numbers(rpy(T[:3, :3]))}"'
        origin = f'<origin xyz="{numbers(T[:3, 3])}"{turn}/>'
        lines.append(f"  <{tag} link={quoteattr(link)}>{origin}</{tag}>")
    lines += [f'  <axis xyz="{numbers(axis)}"/>' for axis in axes_of(wanted)]
    return place.gap.join([*lines, "</loop>"])


def axes_of(wanted: WantedKind) -> list[Direction]:
    """Return the directions of a joint's ``<axis>`` elements, in the frame of the joint."""
    screws = wanted.replacement.screws
    if wanted.kind in ("fixed", "spherical", "free"):
        return []
    if wanted.kind in ("planar", "point_on_plane"):
        return [screws[3:, 2]]
    if wanted.kind == "universal":
        return [screws[3:, 0], screws[3:, 1]]
    if wanted.kind == "line_in_plane":
        return [screws[:3, 0], screws[3:, 2]]
    first = screws[:, 0]
    return [first[:3] if np.any(first[:3]) and wanted.kind != "helical" else first[3:]]


def _origin_edits(place: Node, wanted: MovedJoint) -> Iterator[Edit]:
    """Yield the edits of origins that move a joint's frames."""
    holders = [(place, place.child("origin"))]
    if place.tag not in JOINTS:
        holders = [(end, origin_of(place, end)) for end in ends_of(place) or ()]
    for (end, origin), shift in zip(holders, wanted.shifts, strict=False):
        if still(shift):
            continue
        T = pose(origin) @ shift
        if origin is None:
            words = f' rpy="{numbers(tidy(rpy(T[:3, :3])))}"' if turns(shift) else ""
            yield end.inside(f'<origin xyz="{numbers(tidy(T[:3, 3]))}"{words}/>')
            continue
        yield origin.with_attribute("xyz", numbers(tidy(T[:3, 3])))
        if turns(shift) and origin.get("quat_xyzw") is not None:
            yield origin.with_attribute("quat_xyzw", numbers(tidy(quaternion(T[:3, :3]))))
        elif turns(shift):
            yield origin.with_attribute("rpy", numbers(tidy(rpy(T[:3, :3]))))


def _slack_origin(joint: Joint, last: Point) -> Point:
    """Return the origin of a slack link in the body: on its axis if it turns, else ``last``."""
    return joint.T_parent_joint[:3, 3] if np.any(joint.screws[3:]) else last


def _slack_joint(joint: Joint, step: Point) -> Any:
    slides = bool(np.any(joint.screws[:3]))
    element = etree.Element("joint", name=joint.name, type="prismatic" if slides else "continuous")
    if np.any(step):
        add(element, "origin", xyz=step, rpy="0 0 0")
    add(element, "parent", link=joint.parent)
    add(element, "child", link=joint.child)
    direction = joint.screws[:3, 0] if slides else joint.screws[3:, 0]
    add(element, "axis", xyz=joint.T_parent_joint[:3, :3] @ direction)
    if slides:
        add_limit(element, joint)
    return element


class XacroPatcher(UrdfPatcher):
    """Edits the xacro file itself; elements from macros or included files are refused."""

    def element(self, joint: Joint) -> Node | None:
        """Return a joint's element, found by tag and name, if it is there once and plain."""
        step = "" if joint.source is None else (joint.source.element or "").rsplit("/", 1)[-1]
        tag = step.partition("[")[0]
        places = [
            place
            for place in self.document(self.path).root.walk()
            if place.tag == tag and place.get("name") == joint.name
            if not any(around.tag.startswith("xacro:") for around in place.above())
        ]
        if len(places) != 1 or any("${" in (places[0].get(a) or "") for a in places[0].spans):
            return None
        return places[0]

    def not_written(self, wanted: WantedKind) -> ModelError:
        """Return the error about a joint that is not written out in the file."""
        return ModelError(
            f"{self.path}: joint {wanted.joint.name!r} comes from a macro or an included file, "
            "which is not edited: change its type there, or fix the "
            "file that xacro expands it to"
        )

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Yield spans of file names of meshes, textures and includes; skip computed ones."""
        spans = [*super().referring(place)]
        if place.tag == "xacro:include" and "filename" in place.spans:
            spans.append(place.spans["filename"])
        yield from (span for span in spans if "$" not in place.document.text[slice(*span)])
