"""Kinds of joints changed in URDF and xacro files, in the dialect that each joint is written in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from regularize.adapters.common.edits import (
    Edit,
    EditedText,
    MovedJoint,
    Patch,
    SlackLinks,
    WantedKind,
)
from regularize.adapters.common.patching import FileReference, SlackPatcher
from regularize.adapters.common.serial import axis_letter
from regularize.adapters.common.write import numbers, rpy
from regularize.adapters.common.xml import Node
from regularize.adapters.common.xml_text import quoteattr
from regularize.adapters.urdf import frames_patch, sidecar_patch
from regularize.adapters.urdf.loop_files import GEPETTO
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.arrays import Array
from regularize.mechanism.joint import HIGHER_PAIRS
from regularize.mechanism.mechanism import Joint

#: Type that a URDF file writes for a kind; a hinge without limits is ``continuous``.
LOOP_TYPES = (
    *("revolute", "prismatic", "fixed", "planar", "spherical"),
    *("universal", "cylindrical", *HIGHER_PAIRS),
)
TREE_TYPES = ("revolute", "prismatic", "fixed", "planar")
LOOPS = ("loop", "constraint", "loop_joint")
AXIAL = ("revolute", "prismatic", "planar", "universal", "cylindrical", *HIGHER_PAIRS)


class UrdfPatcher(SlackPatcher):
    """Edits a URDF file and the file of closing joints beside it."""

    def kinds(self, joint: Joint) -> Collection[str]:
        """What a closing joint can become; joints of the tree stay, for engines read them."""
        if joint.source is not None and joint.source.path != self.path:
            return sidecar_patch.kinds(joint)
        place = self.element(joint)
        if place is not None and not joint.closure and self._retypes() is not None:
            if joint.kind != "revolute":
                return ()
            return ("spherical", *(["universal"] if axis_letter(joint.screws[3:, 0]) else []))
        if place is None or not joint.closure:
            return ()
        if place.tag == "joint" and place.parent is not None and place.parent.tag == "gazebo":
            from regularize.adapters.sdf.patch import SdfJointPatch  # SDF in a URDF file

            return SdfJointPatch.KINDS
        if place.tag in (*LOOPS, "joint", "link"):
            return LOOP_TYPES
        return ()

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """One edit or a few per joint."""
        found, sidecar = Patch(), self._retypes()
        if sidecar is not None:
            text = self.text(sidecar)
            retyped = [w for w in wanted if not w.joint.closure and sidecar_patch.retype_word(w)]
            wanted = [each for each in wanted if each not in retyped]
            found.edits += sidecar_patch.retyped(retyped, text) if retyped else ()
        for each in wanted:
            source = each.joint.source
            if source is not None and source.path != self.path:
                found.edits += sidecar_patch.edits(each, self.text(source.path))
                continue
            place = self.element(each.joint)
            if place is None:
                raise self.not_written(each)
            found.edits += self._edits(place, each, found)
        return found

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """The frame on the parent; of a closing element both."""
        inside = joint.source is not None and joint.source.path == self.path
        return frames_patch.movable(self.element(joint) if inside else None, closure=joint.closure)

    def frame_edits(self, wanted: MovedJoint) -> Iterable[Edit]:
        """Origins."""
        place = self.element(wanted.before)
        return () if place is None else frames_patch.edits(place, wanted)

    def slack_elements(self, links: SlackLinks, place: Node) -> list[Any]:
        """Links in a row, and the joints that lead to them."""
        return frames_patch.slack_elements(links)

    def slack_ends(self, links: SlackLinks) -> Iterator[Edit]:
        """The name of the last link, in the file that the joint stands in."""
        return frames_patch.slack_ends(self, links)

    def taken_out(self, joints: Iterable[Joint]) -> Iterator[Edit]:
        """Elements, and entries of the file of closing joints; marked frames stay."""
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
        """URDF+ loops, where closures are written in a dialect of fewer kinds."""
        held = [joint for joint in self.mechanism.joints if joint.closure]
        if all(len(self.kinds(joint)) > 2 for joint in held):
            return ""
        return "write its closures as URDF+ <loop> elements, which hold more kinds"

    def not_written(self, wanted: WantedKind) -> ModelError:
        """The error about a joint that no element of the file stands for."""
        return self.refuse(wanted, ())

    def _retypes(self) -> str | None:
        """The file beside the model that can give its joints other types."""
        for path in self.mechanism.files[:1]:
            if GEPETTO.search(self.data(path)) is not None:
                return path
        return None

    def found_by_name(self) -> Collection[str]:
        """The file of closing joints."""
        return self.mechanism.files

    def _edits(self, place: Node, wanted: WantedKind, found: Patch) -> list[Edit]:
        joint, parent = wanted.joint, place.parent
        if place.tag == "joint" and parent is not None and parent.tag == "gazebo":
            from regularize.adapters.sdf.patch import SdfJointPatch

            return SdfJointPatch(self, place).edits(wanted, found)
        if place.tag == "joint":
            if not joint.closure:
                return self._tree_joint(place, wanted, found)
            self._lost(place, wanted, found)
            return [place.replaced(loop_element(place, wanted))]
        if place.tag == "link" and joint.closure:
            return [place.after(loop_element(place, wanted))]
        if place.tag not in LOOPS or wanted.kind not in LOOP_TYPES:
            raise self.refuse(wanted, LOOP_TYPES if place.tag in LOOPS else ())
        self._lost(place, wanted, found)
        return [*self._typed(place, wanted), *_axes(place, wanted)]

    def _tree_joint(self, place: Node, wanted: WantedKind, found: Patch) -> list[Edit]:
        # Where joints of the tree are balls already, no reader of plain URDF is lost.
        balls = any(j.kind == "spherical" and not j.closure for j in self.mechanism.joints)
        if wanted.kind not in TREE_TYPES and not (wanted.kind == "spherical" and balls):
            others = ", which is what Pinocchio and ROS read; a closing joint holds more kinds"
            raise self.refuse(wanted, TREE_TYPES, others)
        self._lost(place, wanted, found)
        return [*self._typed(place, wanted), *_axes(place, wanted)]

    def _typed(self, place: Node, wanted: WantedKind) -> list[Edit]:
        endless = wanted.kind == "revolute" and place.child("limit") is None
        return [place.with_attribute("type", "continuous" if endless else wanted.kind)]

    def _lost(self, place: Node, wanted: WantedKind, found: Patch) -> None:
        """Say that bounds and damping mean nothing to a joint of other freedoms."""
        held = [tag for tag in ("limit", "dynamics", "mimic") if place.child(tag) is not None]
        if wanted.kind not in ("revolute", "prismatic"):
            found.lose(wanted.joint, wanted.kind, [f"<{tag}>" for tag in held])

    def references(self, text: EditedText) -> Iterator[FileReference]:
        """Those of the model itself; the file of closing joints names none."""
        return super().references(text) if text.path == self.path else iter(())

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Meshes and textures."""
        if place.tag in ("mesh", "texture") and "filename" in place.spans:
            yield place.spans["filename"]


def _axes(place: Node, wanted: WantedKind) -> list[Edit]:
    """Edits that give a joint the axes of its new kind, where they are not written yet."""
    if wanted.kind not in AXIAL:
        return []
    directions = axes_of(wanted)
    given = place.children("axis")
    old = axes_of(WantedKind(wanted.joint, wanted.joint.kind, wanted.joint))
    edits, missing = [], []
    for k, direction in enumerate(directions):
        kept = k < len(old) and np.allclose(direction, old[k], atol=1e-12)
        if place.child("parent_axis") is not None or (k < len(given) and kept):
            continue
        if k < len(given):
            edits.append(given[k].with_attribute("xyz", numbers(direction)))
        elif not (k == 0 and kept):
            missing.append(f'<axis xyz="{numbers(direction)}"/>')
    if missing:
        last = given[-1] if given else place.nodes[-1]
        edits.append(last.after(("" if last.margin is None else last.gap).join(missing)))
    return edits


def loop_element(place: Node, wanted: WantedKind) -> str:
    """The text of the element, indented as the one that it replaces or stands beside."""
    joint = wanted.replacement
    if wanted.kind not in LOOP_TYPES:
        raise ModelError(f"joint {joint.name!r} cannot become {wanted.kind} as a URDF+ <loop>")
    lines = [f"<loop name={quoteattr(joint.name)} type={quoteattr(wanted.kind)}>"]
    for tag, link, T in (
        ("predecessor", joint.parent, joint.T_parent_joint),
        ("successor", joint.child, joint.T_child_joint),
    ):
        lines.append(f"  <{tag} link={quoteattr(link)}>{_origin(T)}</{tag}>")
    lines += [f'  <axis xyz="{numbers(axis)}"/>' for axis in axes_of(wanted)]
    return place.gap.join([*lines, "</loop>"])


def _origin(T: Array) -> str:
    turn = "" if np.array_equal(T[:3, :3], np.eye(3)) else f' rpy="{numbers(rpy(T[:3, :3]))}"'
    return f'<origin xyz="{numbers(T[:3, 3])}"{turn}/>'


def axes_of(wanted: WantedKind) -> list[Array]:
    """Directions that a joint's element names, in the frame of the joint."""
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


class XacroPatcher(UrdfPatcher):
    """Edits the xacro file itself, not what it expands to."""

    def element(self, joint: Joint) -> Node | None:
        """The element of a joint that is written out in the file, once and without expressions."""
        step = "" if joint.source is None else (joint.source.element or "").rsplit("/", 1)[-1]
        tag = step.partition("[")[0]
        found = [
            place
            for place in self.document(self.path).root.walk()
            if place.tag == tag and place.get("name") == joint.name and not _in_macro(place)
        ]
        if len(found) != 1 or any("${" in (found[0].get(a) or "") for a in found[0].spans):
            return None
        return found[0]

    def not_written(self, wanted: WantedKind) -> ModelError:
        """The error about a joint that is not written out in the file."""
        return ModelError(
            f"{self.path}: joint {wanted.joint.name!r} comes from a macro or an included file, "
            "which is not edited: change its type there, or fix the "
            "file that xacro expands it to"
        )

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Meshes, textures and included files; none that xacro computes."""
        spans = [*super().referring(place)]
        if place.tag == "xacro:include" and "filename" in place.spans:
            spans.append(place.spans["filename"])
        yield from (span for span in spans if "$" not in place.document.text[slice(*span)])


def _in_macro(place: Node) -> bool:
    parent = place.parent
    while parent is not None:
        if parent.tag.startswith("xacro:"):
            return True
        parent = parent.parent
    return False
