"""Types of joints changed in FreeCAD documents: one number in ``Document.xml`` each."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from regularize.adapters.common.edits import EditedText, Patch, WantedKind, WantedSlack, decode
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.xml import Node
from regularize.adapters.freecad.document import DAMAGED, MEMBER, member
from regularize.adapters.freecad.read import TYPES as NAMES
from regularize.adapters.freecad.read import read_unmerged
from regularize.errors import ReadError, UnsupportedExport
from regularize.mechanism.joint import Joint

#: Type that FreeCAD has for a kind.
TYPES = {
    **{"revolute": "Revolute", "cylindrical": "Cylindrical", "prismatic": "Slider"},
    **{"spherical": "Ball", "fixed": "Fixed", "parallel": "Parallel"},
}
#: Types that free more, with the same frames.
GAINS = {"revolute": ("cylindrical", "spherical", "parallel"), "prismatic": ("cylindrical",)}
#: Flag of a member of an archive whose name is in UTF-8.
UTF8 = 0x800
_OBJECT = re.compile(r"\S+ (\S+) \(")


class FreecadPatcher(XmlPatcher):
    """Edits joint types in the document of an assembly; the rest of the archive stays."""

    central = False

    def text(self, path: str) -> EditedText:
        """Return ``Document.xml`` of an archive."""
        return decode(member(path, MEMBER, self.data(path)), path, MEMBER)

    def packed(self, path: str, text: EditedText) -> bytes:
        """Return the archive with another ``Document.xml``."""
        return with_member(self.data(path), MEMBER, text.data, path)

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the joint types that FreeCAD has for the same frames."""
        place = self._type_of(joint)
        return () if place is None else GAINS.get(joint.kind, ())

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Return the edits of the joints' types."""
        patch = Patch()
        for change in wanted:
            place = self._type_of(change.joint)
            if place is None or change.kind not in TYPES:
                raise self.refuse(change, TYPES)
            number = self._names(place).index(TYPES[change.kind])
            patch.edits.append(place.with_attribute("value", str(number)))
        return patch

    def slack(self, wanted: WantedSlack) -> Patch:
        """Return the edits that suppress joints; links are not put in."""
        if wanted.links:
            return super().slack(wanted)
        patch = Patch()
        for joint in wanted.removed:
            switch = self._switch_of(joint)
            if switch is None:
                raise UnsupportedExport(
                    f"joint `{joint.name}` cannot be suppressed in this file: save it with a newer "
                    "FreeCAD, or suppress it there"
                )
            place, value = switch
            patch.edits.append(place.with_attribute("value", value))
        return patch

    def mates(self, joint: Joint) -> tuple[Joint, ...]:
        """Return the mates that were merged into a joint, whose name lists theirs."""
        if not joint.repeated:
            return ()
        draft = read_unmerged(self.path, self.mechanism.name)
        rest, members, pair = joint.name, list[Joint](), {joint.parent, joint.child}
        for mate in (draft.joints[name] for name in draft.mates):
            if {mate.parent, mate.child} == pair and f"{rest}+".startswith(f"{mate.name}+"):
                members.append(mate)
                rest = rest[len(mate.name) + 1 :]
        return tuple(members)

    def _switch_of(self, joint: Joint) -> tuple[Node, str] | None:
        """Return the element that switches a joint off, and its value then; None without one."""
        for name, off in (("Suppressed", "true"), ("Activated", "false")):
            value = self._property(joint, name, "Bool")
            if value is not None:
                return value, off
        return None

    def _type_of(self, joint: Joint) -> Node | None:
        """Return the element with a joint's type; None for a set of merged mates."""
        number = self._property(joint, "JointType", "Integer")
        known = number and self._names(number)[int(number.get("value") or 0)]
        return number if known == TYPES.get(joint.kind) else None

    def _property(self, joint: Joint, name: str, tag: str) -> Node | None:
        """Return the value of a property of a joint; None for a set of merged mates."""
        source = joint.source
        match = None if source is None else _OBJECT.match(source.element or "")
        if source is None or match is None:
            return None
        data = self.document(source.path).root.need("ObjectData")
        items = [item for item in data.children("Object") if item.get("name") == match[1]]
        places = [place for item in items[:1] for place in item.walk() if place.tag == "Property"]
        return next((place.child(tag) for place in places if place.get("name") == name), None)

    def _names(self, number: Node) -> Sequence[str]:
        """Return the names of the types, in the order of their numbers."""
        around = number.parent
        listed = None if around is None else around.child("CustomEnumList")
        if listed is None:
            return NAMES
        return [entry.get("value") or "" for entry in listed.children("Enum")]

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Yield the spans of the paths of linked documents."""
        if place.tag in ("XLink", "XLinkSub") and place.get("file"):
            yield place.spans["file"]


def with_member(data: bytes, name: str, content: bytes, path: str) -> bytes:
    """Return an archive with one member replaced; the others are copied byte for byte."""
    changed = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
            new.comment = old.comment
            members = sorted(old.infolist(), key=lambda info: info.header_offset)
            ends = [*(info.header_offset for info in members[1:]), old.start_dir]
            for info, end in zip(members, ends, strict=True):
                if info.filename == name:
                    new.writestr(info, content)
                    continue
                if not info.flag_bits & UTF8:  # many write it, and do not say so
                    with suppress(UnicodeError):
                        info.filename = info.filename.encode("cp437").decode()
                start, info.header_offset = info.header_offset, changed.tell()
                changed.write(data[start:end])
                new.start_dir = changed.tell()
                new.filelist.append(info)
    except DAMAGED as error:
        raise ReadError(path, f"is no readable zip archive ({error}); save it again") from error
    return changed.getvalue()
