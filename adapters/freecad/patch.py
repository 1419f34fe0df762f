"""Types of joints changed in FreeCAD documents: one number in ``Document.xml`` each."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence

from regularize.adapters.common.edits import EditedText, Patch, WantedKind
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.xml import Node
from regularize.adapters.common.xml_text import decode
from regularize.adapters.freecad.document import MEMBER
from regularize.adapters.freecad.read import TYPES as NAMES
from regularize.errors import ReadError
from regularize.mechanism.mechanism import Joint

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
GAINS = {"revolute": ("cylindrical", "spherical", "parallel"), "prismatic": ("cylindrical",)}
_OBJECT = re.compile(r"\S+ (\S+) \(")
LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
#: Flag of an entry whose sizes stand behind its data.
SIZES_BEHIND = 0x08


class FreecadPatcher(XmlPatcher):
    """Edits the document of an assembly; shapes and everything else in the archive stay."""

    central = False

    def text(self, path: str) -> EditedText:
        """The list of objects of a document."""
        return decode(member_of(self.data(path), MEMBER, path), path, MEMBER)

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

    def _type_of(self, joint: Joint) -> Node | None:
        """The number of the type of a joint that is a joint of FreeCAD, not a set of mates."""
        source = joint.source
        match = None if source is None else _OBJECT.match(source.element or "")
        if source is None or match is None:
            return None
        data = self.document(source.path).root.child("ObjectData")
        for item in [] if data is None else data.children("Object"):
            if item.get("name") != match[1]:
                continue
            for place in item.walk():
                if place.tag == "Property" and place.get("name") == "JointType":
                    number = place.child("Integer")
                    if number is None:
                        return None
                    known = self._names(number)[int(number.get("value") or 0)]
                    return number if known == TYPES.get(joint.kind) else None
        return None

    def _names(self, number: Node) -> Sequence[str]:
        """Names of the types, in the order of their numbers."""
        around = number.parent
        listed = None if around is None else around.child("CustomEnumList")
        if listed is None:
            return NAMES
        return [each.get("value") or "" for each in listed.children("Enum")]

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Other documents that are linked to."""
        if place.tag in ("XLink", "XLinkSub") and place.get("file"):
            yield place.spans["file"]


def member_of(data: bytes, name: str, path: str) -> bytes:
    """The content of a member; ``path`` names the archive in errors."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(name)
    except (KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ReadError(path, f"member {name} cannot be read ({error})") from error


def with_member(data: bytes, name: str, content: bytes, path: str) -> bytes:
    """The archive with another content of one member."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        info, start = archive.getinfo(name), archive.start_dir
    at = info.header_offset
    fields = list(LOCAL.unpack_from(data, at))
    body = at + LOCAL.size + fields[9] + fields[10]
    stop = body + info.compress_size
    if fields[2] & SIZES_BEHIND:
        stop += 16 if data[stop : stop + 4] == b"PK\x07\x08" else 12
    packed = _packed(content, info.compress_type)
    fields[2] &= ~SIZES_BEHIND
    fields[6:9] = zlib.crc32(content), len(packed), len(content)
    record = LOCAL.pack(*fields) + data[at + LOCAL.size : body] + packed
    shift = len(record) - (stop - at)
    directory, position = bytearray(), start
    while data[position : position + 4] == b"PK\x01\x02":
        entry = list(CENTRAL.unpack_from(data, position))
        size = CENTRAL.size + sum(entry[10:13])
        if entry[16] > at:
            entry[16] += shift
        elif entry[16] == at:
            entry[3] &= ~SIZES_BEHIND
            entry[7:10] = zlib.crc32(content), len(packed), len(content)
        directory += CENTRAL.pack(*entry) + data[position + CENTRAL.size : position + size]
        position += size
    if data[position : position + 4] != b"PK\x05\x06":
        raise ReadError(path, "is an archive of more than 4 GB (zip64), which is not edited")
    end = list(END.unpack_from(data, position))
    end[6] += shift
    tail = END.pack(*end) + data[position + END.size :]
    return data[:at] + record + data[stop:start] + bytes(directory) + tail


def _packed(content: bytes, method: int) -> bytes:
    """Content as a member stores it."""
    if method == zipfile.ZIP_STORED:
        return content
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()
