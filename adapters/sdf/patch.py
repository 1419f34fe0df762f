"""Kinds of joints changed in SDF files, and in the SDF joints inside URDF."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from regularize.adapters.common.edits import Edit, MovedJoint, Patch, WantedKind, WantedSlack
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.write import number, numbers
from regularize.adapters.common.xml_places import Place
from regularize.adapters.sdf import frames_patch
from regularize.adapters.sdf.placed import placed_edits
from regularize.adapters.sdf.slack import sdf_slack
from regularize.lie.screw import Array, axis_of, unit
from regularize.model.joint import perpendiculars
from regularize.model.mechanism import Joint

#: Type that SDF writes for a kind.
TYPES = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "spherical": "ball",
    "universal": "universal",
    "helical": "screw",
}
#: What each type says beside its parent, child and pose.
AXES = {"revolute": 1, "prismatic": 1, "universal": 2, "helical": 1, "fixed": 0, "spherical": 0}


class SdfJointPatch:
    """Edits one ``<joint>`` of SDF.

    Attributes:
        patcher: Who asks.
        place: The element.
    """

    #: Kinds that physics engines simulate in the place of a hinge.
    KINDS = ("universal", "spherical")

    def __init__(self, patcher: XmlPatcher, place: Place) -> None:
        """Take the element."""
        self.patcher, self.place = patcher, place

    def edits(self, wanted: WantedKind, found: Patch) -> list[Edit]:
        """The edits that give the joint its new kind."""
        if wanted.kind not in TYPES:
            raise self.patcher.refuse(wanted, TYPES)
        joint, place = wanted.joint, self.place
        edits = [place.with_attribute("type", TYPES[wanted.kind])]
        axis = place.child("axis")
        if wanted.kind == "universal" and place.child("axis2") is None:
            edits.append(self._second_axis(axis, wanted))
        if AXES[wanted.kind] and axis is None:
            written = numbers(_direction(wanted.replacement.screws[:, 0]))
            anchor = place.children[-1]
            edits.append(anchor.after(f"<axis><xyz>{written}</xyz></axis>"))
        if wanted.kind == "helical":
            pitch = axis_of(wanted.replacement.screws[:, 0])[2] or 0.0
            written = number(2 * np.pi * pitch)
            text = f"<screw_thread_pitch>{written}</screw_thread_pitch>"
            edits.append(place.children[-1].after(text))
        held = [tag for tag in ("limit", "dynamics") if axis is not None and axis.child(tag)]
        if AXES[wanted.kind] == 0:
            found.lose(joint, wanted.kind, [f"<{tag}>" for tag in held])
        return edits

    def _second_axis(self, axis: Place | None, wanted: WantedKind) -> Edit:
        """The second axis: where the first one is written in another frame, any across it."""
        second = wanted.replacement.screws[3:, 1]
        xyz = None if axis is None else axis.child("xyz")
        attributes = ""
        if xyz is not None:
            words = xyz.document.text[slice(*xyz.content)].split()
            written: Array = unit([float(word) for word in words])
            if not np.allclose(written, wanted.replacement.screws[3:, 0], atol=1e-9):
                second = perpendiculars(written)[0]
            frame = xyz.get("expressed_in")
            attributes = "" if frame is None else f' expressed_in="{frame}"'
        flag = None if axis is None else axis.child("use_parent_model_frame")
        more = "" if flag is None else flag.document.text[flag.start : flag.end]
        text = f"<axis2><xyz{attributes}>{numbers(second)}</xyz>{more}</axis2>"
        return (axis or self.place.children[-1]).after(text)


class SdfPatcher(XmlPatcher):
    """Edits an SDF file."""

    def kinds(self, joint: Joint) -> Collection[str]:
        """Ball and universal joints in the place of hinges."""
        place = self.element(joint)
        if place is None or place.tag != "joint" or joint.kind != "revolute":
            return ()
        return SdfJointPatch.KINDS

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """One edit or a few per joint."""
        found = Patch()
        for each in wanted:
            place = self.element(each.joint)
            if place is None or place.tag != "joint":
                raise self.refuse(each, ())
            found.edits += SdfJointPatch(self, place).edits(each, found)
        return found

    def moved(self, wanted: Sequence[MovedJoint]) -> list[Edit]:
        """Poses of frames that joints name, else of links and of joints on their children."""
        if all(map(self.holds, wanted)):
            return super().moved(wanted)
        return [*placed_edits(self, wanted)]

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """Frames that the joint names."""
        parent, child = frames_patch.frames(self.element(joint))
        return parent is not None, child is not None

    def frame_edits(self, wanted: MovedJoint) -> Iterable[Edit]:
        """Poses of frames."""
        place = self.element(wanted.before)
        return () if place is None else frames_patch.edits(place, wanted)

    def slack(self, wanted: WantedSlack) -> Patch:
        """Slack links, and closing elements taken out."""
        return sdf_slack(self, wanted)

    def referring(self, place: Place) -> Iterator[tuple[int, int]]:
        """Addresses that are paths."""
        named = place.tag in ("uri", "filename", "albedo_map", "normal_map")
        if named and not place.children and place.closing > place.opened:
            yield place.content


def _direction(screw: Array) -> Array:
    return screw[3:] if np.any(screw[3:]) else screw[:3]
