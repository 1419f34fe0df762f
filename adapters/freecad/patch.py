"""Types of joints changed in FreeCAD documents: one number in ``Document.xml`` each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from regularize.adapters.common.edits import EditedText, Patch, WantedKind
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.xml_places import Place
from regularize.adapters.common.xml_text import declared_encoding
from regularize.adapters.freecad.archive import member_of, with_member
from regularize.adapters.freecad.document import MEMBER
from regularize.adapters.freecad.read import TYPES as NAMES
from regularize.model.mechanism import Joint

#: Type that FreeCAD has for a kind.
TYPES = {
    "revolute": "Revolute",
    "cylindrical": "Cylindrical",
    "prismatic": "Slider",
    "spherical": "Ball",
    "fixed": "Fixed",
    "parallel": "Parallel",
}
#: Types that free more, with the same frames.
GAINS = {
    "revolute": ("cylindrical", "spherical", "parallel"),
    "prismatic": ("cylindrical",),
}
_OBJECT = re.compile(r"\S+ (\S+) \(")


class FreecadPatcher(XmlPatcher):
    """Edits the document of an assembly; shapes and everything else in the archive stay."""

    central = False

    def text(self, path: str) -> EditedText:
        """The list of objects of a document."""
        data = member_of(self.data(path), MEMBER, path)
        found = EditedText.of(data, path, declared_encoding(data))
        return EditedText(path, found.text, found.encoding, found.mark, MEMBER)

    def packed(self, path: str, text: EditedText) -> bytes:
        """The archive with another list of objects."""
        return with_member(self.data(path), MEMBER, text.data, path)

    def kinds(self, joint: Joint) -> Collection[str]:
        """Types that the assembly solver has for the frames that there are."""
        place = self._type_of(joint)
        return () if place is None else GAINS.get(joint.kind, ())

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """The number of the type of each joint."""
        found = Patch()
        for each in wanted:
            place = self._type_of(each.joint)
            if place is None or each.kind not in TYPES:
                raise self.refuse(each, TYPES)
            number = self._names(place).index(TYPES[each.kind])
            found.edits.append(place.with_attribute("value", str(number)))
        return found

    def _type_of(self, joint: Joint) -> Place | None:
        """The number of the type of a joint that is a joint of FreeCAD, not a set of mates."""
        source = joint.source
        match = None if source is None else _OBJECT.match(source.element or "")
        if source is None or match is None:
            return None
        data = self.places(source.path).root.child("ObjectData")
        for item in [] if data is None else data.children:
            if item.get("name") != match[1]:
                continue
            for place in item.walk():
                if place.tag == "Property" and place.get("name") == "JointType":
                    number = place.child("Integer")
                    known = number is not None and self._names(number)[_value(number)]
                    return number if known == TYPES.get(joint.kind) else None
        return None

    def _names(self, number: Place) -> Sequence[str]:
        """Names of the types, in the order of their numbers."""
        around = number.parent
        listed = None if around is None else around.child("CustomEnumList")
        if listed is None:
            return NAMES
        return [each.get("value") or "" for each in listed.children if each.tag == "Enum"]

    def referring(self, place: Place) -> Iterator[tuple[int, int]]:
        """Other documents that are linked to."""
        if place.tag in ("XLink", "XLinkSub") and place.get("file"):
            yield place.values["file"]


def _value(number: Place | None) -> int:
    return int((number.get("value") if number is not None else None) or 0)
