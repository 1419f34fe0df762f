"""FreeCAD documents: the objects of an ``.FCStd`` archive and their properties."""

from __future__ import annotations

import io
import lzma
import math
import os
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from regularize.adapters.common.edits import decode
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.values import Located
from regularize.adapters.common.xml import Node, XmlDocument
from regularize.adapters.shapes.solids import CadShape, stored_shape
from regularize.errors import ReadError
from regularize.escape import FileText
from regularize.lie.arrays import Array
from regularize.lie.screw import exp, transform, unit
from regularize.mechanism.diagnostic import Source

#: Largest ``Document.xml`` that is read, in bytes, and most members of an archive.
LARGEST = 128 * 1024 * 1024
MOST_MEMBERS = 100_000
MEMBER = "Document.xml"
#: What zipfile raises for damaged, encrypted and strangely compressed archives.
DAMAGED = (zipfile.BadZipFile, RuntimeError, EOFError, zlib.error, lzma.LZMAError)
#: FreeCAD stores lengths in millimetres, whatever it shows.
METRES = 1e-3


@dataclass(frozen=True, eq=False)
class Object(Located):
    """An object of a document."""

    document: Document  # the document that it belongs to
    name: str  # its unchanging name, unique in the document
    type: str  # its type, such as ``App::Link``
    properties: dict[str, Node]  # ``<Property>`` elements by name

    @property
    def label(self) -> str:
        """The name that FreeCAD shows."""
        return self.text("Label") or self.name

    @property
    def source(self) -> Source:
        """File and name of the object."""
        return Source(self.document.path, None, FileText(f"{self.type} {self.name} ({self.label})"))

    @property
    def is_link(self) -> bool:
        """Whether the object is a link to another one."""
        return self.type in ("App::Link", "App::LinkElement", "Assembly::AssemblyLink")

    @property
    def is_group(self) -> bool:
        """Whether it is a folder without a placement."""
        folders = ("App::DocumentObjectGroup", "Assembly::JointGroup", "Assembly::BomGroup")
        return self.type.startswith(folders) or self.type == "Assembly::ViewGroup"

    @property
    def is_flexible(self) -> bool:
        """Whether it is a sub-assembly whose parts move."""
        return self.type == "Assembly::AssemblyLink" and not self.flag("Rigid", True)

    def value(self, name: str) -> Node | None:
        """Return the first element inside a property, or None."""
        node = self.properties.get(name)
        return None if node is None else next(iter(node.children()), None)

    def text(self, name: str) -> str | None:
        """Return a string property."""
        node = self.value(name)
        return None if node is None else node.get("value")

    def number(self, name: str, default: float = 0.0) -> float:
        """Return a number, angle (degrees) or length (millimetres), as stored."""
        node = self.value(name)
        return default if node is None or node.get("value") is None else node.number("value")

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean property."""
        value = self.text(name)
        return default if value is None else value.lower() == "true"

    def choice(self, name: str, default: tuple[str, ...]) -> str | None:
        """Return the chosen entry of an enumeration, whose entries default to ``default``."""
        node = self.value(name)
        if node is None:
            return None
        listed = self.properties[name].child("CustomEnumList")
        entries = default if listed is None else [e.text("value") for e in listed.children("Enum")]
        index = int(node.number("value"))
        if not 0 <= index < len(entries):
            raise node.error(f"value {index} is not one of the {len(entries)} entries")
        return entries[index]

    def links(self, name: str) -> list[str]:
        """Return the names of the objects in a list of links."""
        node = self.value(name)
        names = [] if node is None else [link.get("value") or "" for link in node.children("Link")]
        return [name for name in names if name]

    def reference(self, name: str) -> tuple[str, str, str] | None:
        """Return a link: file (empty for this one), object, and path of the element inside it."""
        node = self.value(name)
        if node is None or node.tag not in ("XLink", "XLinkSub", "LinkSub", "Link"):
            return None
        subs = [sub.get("value") or "" for sub in node.children("Sub")]
        target = node.get("name") or node.get("value") or ""
        sub = node.get("sub") or next(iter(subs), "")
        return (node.get("file") or "", target, sub) if target else None

    def entry(self, name: str, key: str) -> str | None:
        """Return an entry of a property that is a table."""
        node = self.value(name)
        items = [] if node is None or node.tag != "Map" else node.children("Item")
        return next((item.get("value") for item in items if item.get("key") == key), None)

    @property
    def shape_file(self) -> str | None:
        """The member of the archive that stores its shape; None where it has none."""
        node = self.value("Shape")
        return None if node is None else node.get("file") or None

    def shape(self) -> CadShape | None:
        """Return the shape of the object in the object's frame; None if it has none."""
        file = self.shape_file
        if file is None:
            return None
        if file not in self.document.shapes:
            data = member(self.document.path, file)
            self.document.shapes[file] = stored_shape(data, f"{self.document.path}/{file}")
        return self.document.shapes[file]

    def placement(self, name: str = "Placement") -> Array:
        """Return a placement, lengths in metres, shape (4, 4); by default the identity."""
        node = self.value(name)
        if node is None:
            return np.eye(4)
        p = METRES * np.array([node.number(key, 0.0) for key in ("Px", "Py", "Pz")])
        if node.get("A") is not None:  # axis and angle have precedence, as in FreeCAD
            axis = np.array([node.number(key, 0.0) for key in ("Ox", "Oy", "Oz")])
            angle = math.remainder(node.number("A"), 2 * math.pi)
            if np.linalg.norm(axis) > 0.0:
                return transform(exp(np.concatenate([np.zeros(3), angle * unit(axis)]))[:3, :3], p)
        quaternion = [node.number(key, float(key == "Q3")) for key in ("Q0", "Q1", "Q2", "Q3")]
        return transform(node.quaternion(*quaternion), p)

    def placements(self, name: str) -> list[Array]:
        """Return a list of placements, lengths in metres, shape (4, 4) each."""
        node = self.value(name)
        file = None if node is None else node.get("file")
        if not file:
            return []
        data = member(self.document.path, file)
        count = int.from_bytes(data[:4], "little")
        if len(data) != 4 + count * 7 * 8:
            raise ReadError(self.document.path, f"{file} is no list of {count} placements")
        rows = np.frombuffer(data, "<f8", offset=4).reshape(-1, 7)
        return [transform(self.quaternion(*row[3:]), METRES * row[:3]) for row in rows]


@dataclass(eq=False)
class Document:
    """A FreeCAD document's objects and opened shapes."""

    path: str  # the file as the user named it
    objects: dict[str, Object] = field(default_factory=dict)  # objects by name, in file order
    shapes: dict[str, CadShape] = field(default_factory=dict)


@dataclass
class Library:
    """The document that is read and the ones that it links to."""

    main: Document  # the document that is read
    others: dict[str, Document | None] = field(default_factory=dict)

    def linked(self, document: Document, file: str) -> Document | None:
        """Return the document at a path relative to another one; None if there is none."""
        if not file:
            return document
        path = os.path.normpath(os.path.join(os.path.dirname(document.path), file))
        key = os.path.abspath(path)
        if key == os.path.abspath(self.main.path):
            return self.main
        if key not in self.others:
            self.others[key] = load(path) if Path(path).is_file() else None
        return self.others[key]

    @property
    def files(self) -> list[str]:
        """Paths of the linked documents that were read."""
        return [document.path for document in self.others.values() if document is not None]


def load(path: str) -> Document:
    """Read the objects of a document; raises ``ReadError`` if it is none, damaged or too large."""
    where = f"{path}/{MEMBER}"
    root = XmlDocument(decode(member(path, MEMBER), where)).root.of_tag("Document")
    document = Document(path)
    types = {
        node.text("name"): node.text("type") for node in root.need("Objects").children("Object")
    }
    for node in root.need("ObjectData").children("Object"):
        name = node.text("name")
        if name not in types:
            raise node.error(f"object {name!r} is not listed under <Objects>; the file is damaged")
        properties = node.child("Properties")
        entries = [] if properties is None else properties.children("Property")
        document.objects[name] = Object(
            document, name, types[name], {entry.text("name"): entry for entry in entries}
        )
    return document


def member(path: str, name: str, data: bytes | None = None) -> bytes:
    """Return the content of a member of an archive, read from a path or given as bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path) if data is None else data)) as archive:
            if len(archive.infolist()) > MOST_MEMBERS:
                raise ReadError(path, f"has more than {MOST_MEMBERS} members; not read for safety")
            with archive.open(name) as stream:
                content = stream.read(LARGEST + 1)
    except KeyError:
        raise ReadError(path, f"has no member {name}; this is no FreeCAD document") from None
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error
    except DAMAGED as error:
        raise ReadError(path, f"is no readable zip archive ({error}); save it again") from error
    if len(content) > LARGEST:
        raise ReadError(path, f"{name} unpacks to more than {LARGEST} bytes; not read for safety")
    return content
