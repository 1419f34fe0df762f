"""Parts of a FreeCAD assembly: which of them move, what joints refer to, shapes and materials."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from regularize.adapters.freecad.document import Library, Object
from regularize.adapters.shapes.solids import ShapeElement
from regularize.errors import MissingExtra, ReadError
from regularize.lie.arrays import Array
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic

#: Deepest nesting of groups, links and sub-assemblies.
DEEPEST = 64
ASSEMBLY = "Assembly::AssemblyObject"
#: Objects that carry geometry or a placement, so that they can be a part of an assembly.
PARTS = ("App::Part", "Part::", "PartDesign::Body", "Mesh::", "App::LinkGroup", ASSEMBLY)
#: Objects inside a body, or below it, that have a placement of their own in it.
DATUMS = (
    *("PartDesign::Point", "PartDesign::Line", "PartDesign::Plane", "PartDesign::CoordinateSystem"),
    *("Part::Datum", "Part::LocalCoordinateSystem", "Sketcher::", "App::Line", "App::Plane"),
    *("App::Point", "App::Origin", "App::LocalCoordinateSystem", "App::DatumElement"),
)
ORIGIN = "App::Origin"


class AbsentDocument(ReadError):
    """Raised for a link to a document that is not there."""


@dataclass(frozen=True, eq=False)
class End:
    """One end of a joint: a part, the joint's frame on it and the picked element."""

    part: Object | None  # the part that moves; None for the assembly's own origin
    T_part_object: Array | None
    element: str  # the picked vertex, edge or face, such as ``Face6``, or empty
    holder: Object | None = None  # the object whose shape has the element, if it is known


@dataclass
class Parts:
    """The parts of one assembly, and their placements in it."""

    library: Library  # the documents
    assembly: Object
    T_assembly_part: dict[str, Array] = field(default_factory=dict)
    members: dict[str, Object] = field(default_factory=dict)
    _path: dict[str, list[Object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look through the folders, link groups and flexible sub-assemblies."""
        self._collect(self.assembly, [], 0)

    def _collect(self, container: Object, path: list[Object], depth: int) -> None:
        if depth > DEEPEST:
            raise container.error(f"is nested deeper than {DEEPEST} levels; not read for safety")
        for name in [*container.links("Group"), *container.links("ElementList")]:
            item = container.document.objects.get(name)
            if item is None or name in self._path:
                continue
            self._path[name] = path
            opened = item.is_group or item.is_flexible or item.type == "App::LinkGroup"
            if opened:
                self._collect(item, [*path, item], depth + 1)
            elif item.is_link or item.type.startswith(PARTS):
                T = np.eye(4)
                for step in path:
                    T = T @ self.placed(step)
                self.T_assembly_part[name] = T @ self.placed(item)
            else:
                self.members[name] = item

    def placed(self, item: Object) -> Array:
        """Return the placement of an object in its container; a folder has none."""
        if item.is_group:
            return np.eye(4)
        if not item.is_link:
            return item.placement()
        stored = "LinkPlacement" if "LinkPlacement" in item.properties else "Placement"
        T = item.placement(stored)
        if item.type != "Assembly::AssemblyLink" and item.flag("LinkTransform", False):
            for target in self._known_targets(item):
                # A link that does not pass on what it links to has the last word.
                T = T @ target.placement("Placement")
                if target.is_link and not target.flag("LinkTransform", False):
                    break
        return T

    def _known_targets(self, link: Object) -> Iterator[Object]:
        """Yield the objects that a link leads to, as far as their documents are there."""
        targets = self._targets(link)
        while True:
            try:
                yield next(targets)
            except (StopIteration, AbsentDocument):
                return

    def _targets(self, link: Object) -> Iterator[Object]:
        """Yield the objects that a link leads to, through links to links."""
        item = link
        for _ in range(DEEPEST):
            if not item.is_link:
                return
            reference = item.reference("LinkedObject")
            if reference is None:
                return
            file, name, _sub = reference
            document = self.library.linked(item.document, file)
            if document is None:
                reason = f"`{item.label}` links to {file!r}, which is absent"
                raise AbsentDocument(item.source.path, reason, element=item.source.element)
            if name not in document.objects:
                raise item.error(f"links to {name!r}, which {document.path} does not have")
            item = document.objects[name]
            yield item
        raise link.error(f"links through more than {DEEPEST} links; are they circular?")

    def target(self, link: Object) -> Object:
        """Return the object at the end of a chain of links."""
        return [link, *self._targets(link)][-1]

    def end(self, joint: Object, name: str) -> End:
        """Read one end of a joint, from its property ``Reference1`` or ``Reference2``."""
        reference = joint.reference(name)
        if reference is None:
            raise joint.error(f"has no {name}; complete the joint in FreeCAD, or delete it")
        _, target, sub = reference
        names = [target, *sub.split(".")[:-1]]
        element = sub.split(".")[-1]
        part, rest = self._split(joint, names)
        if part is None:
            return End(None, np.eye(4), element)
        T, holder = self._inside(joint, part, rest)
        return End(part, T, element, holder)

    def picked(self, end: End) -> tuple[ShapeElement | None, str]:
        """Return the shape element at an end of a joint, or why no shape is there to tell."""
        if end.holder is None:
            return None, "there is none"
        try:
            shape = self.target(end.holder).shape()
        except (ReadError, MissingExtra) as error:
            return None, str(error)
        element = None if shape is None else shape.elements().get(end.element)
        return element, "" if element is not None else f"there is none of `{end.holder.label}`"

    def _split(self, joint: Object, names: list[str]) -> tuple[Object | None, list[str]]:
        """Return the part among the names of a path, and the names of objects inside it."""
        objects = self.assembly.document.objects
        if self.assembly.name in names:
            names = names[names.index(self.assembly.name) + 1 :]
        for k, name in enumerate(names):
            if name in self.T_assembly_part:
                return objects[name], names[k + 1 :]
            item = objects.get(name)
            if item is not None and item.type == ORIGIN:
                return None, []
        if not names:  # the assembly itself
            return None, []
        raise joint.error(
            f"refers to {'.'.join(names)!r}, which is no part of the assembly "
            f"{self.assembly.label!r}; pick its ends again in FreeCAD"
        )

    def _inside(self, joint: Object, part: Object, names: list[str]) -> tuple[Array | None, Object]:
        """Return the pose, in the part, of the object that carries a joint's frame, and it."""
        if not names and not part.flag("LinkTransform", False):
            return np.eye(4), part
        T, holder = np.eye(4), [part, *self._known_targets(part)][-1]
        # What is absent would tell where the names below are, and its own placement.
        if holder.is_link:
            return None, part
        if not names:
            return T, part
        for depth, name in enumerate(names):
            if depth > DEEPEST:
                raise joint.error(f"refers through more than {DEEPEST} objects")
            item = holder.document.objects.get(name)
            if item is None:
                break  # the name of an element of a shape
            datum = item.type.startswith(DATUMS)
            if holder.type == "PartDesign::Body" and not datum:
                break  # features of a body share its frame
            if holder.type.startswith("Part::"):
                break
            T, holder = T @ self.placed(item), [item, *self._known_targets(item)][-1]
        return T, holder


def top_assembly(library: Library, chosen: str | None) -> Object:
    """Return the assembly of a name, or the only one that is in no other assembly."""
    document = library.main
    assemblies = [item for item in document.objects.values() if item.type == ASSEMBLY]
    if chosen is not None:
        named = [item for item in assemblies if chosen in (item.name, item.label)]
        if not named:
            labels = ", ".join(item.label for item in assemblies) or "none"
            raise ReadError(document.path, f"has no assembly {chosen!r}; there is: {labels}")
        return named[0]
    nested = {
        name
        for item in document.objects.values()
        for name in [*item.links("Group"), *item.links("ElementList")]
        if item.type.startswith(("App::Part", ASSEMBLY))
    }
    tops = [item for item in assemblies if item.name not in nested] or assemblies
    if len(tops) != 1:
        listed = ", ".join(item.label for item in tops)
        reason = (
            f"has {len(tops)} assemblies ({listed}); name one: assembly='{tops[0].label}'"
            if tops
            else "holds no assembly of FreeCAD 1.0 or later; there is nothing to check"
        )
        raise ReadError(document.path, reason)
    return tops[0]


#: Properties by which an object is made of others, which are then no parts of their own.
MADE_OF = ("Base", "Tool", "Shapes", "Objects", "Source", "Profile", "Sections", "Spine", "Refine")
#: Folders of FreeCAD's cards.
LIBRARIES = (
    "/usr/share/freecad/Mod/Material/Resources/Materials",
    "/usr/lib/freecad/Mod/Material/Resources/Materials",
    "/Applications/FreeCAD.app/Contents/Resources/Mod/Material/Resources/Materials",
    "~/.local/share/FreeCAD/Material",
    "~/.FreeCAD/Material",
)
#: The card of a shape that was given no material.
DEFAULT = "7f9fd73b-50c9-41d8-b7b2-575a030c1eeb"
#: Units of mass and of length in a density, in kg and m.
MASSES = {"kg": 1.0, "g": 1e-3, "t": 1e3, "mg": 1e-6}
LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "dm": 0.1}
DENSITY = re.compile(r"([-+.\deE]+)\s*(kg|mg|g|t)\s*/\s*(mm|cm|dm|m)(?:\^?3|³)")
CARD = re.compile(r"^\s*UUID\s*[:=]\s*[\"']?([0-9a-fA-F-]{36})", re.M)
ENTRY = re.compile(r"^[ \t]*Density[ \t]*[:=][ \t]*[\"']?([^\"'\n]+)", re.M)
#: Largest card that is read, in bytes.
LARGEST = 1024 * 1024


@dataclass(eq=False)
class PartShapes:
    """The shapes of one part, and what of them is missing."""

    part: Object
    shapes: list[Geometry] = field(default_factory=list)  # its shapes in its frame
    unknown: list[str] = field(default_factory=list)  # why shapes of objects in it are not known
    cards: dict[str, str] = field(default_factory=dict)

    def findings(self, body: str) -> Iterator[Diagnostic]:
        """Yield findings on shapes and materials that are missing for the part's mass."""
        source = self.part.source
        if self.unknown:
            words = f"the shape and the mass of `{body}` are missing: {'; '.join(self.unknown)}"
            help = "put the file where the assembly looks for it; the joints are read as saved"
            yield Diagnostic("REG014", "warning", words, source=source, help=(help,))
        if self.cards:
            label, card = next(iter(self.cards.items()))
            words = f"`{body}` is of a material of which the document holds the card's number alone"
            words += f": {card} (of `{label}`)"
            help = "put the .FCMat card of that number beside the document, or give its density: "
            help += f"--density '{body}=7850'"
            yield Diagnostic("REG014", "note", words, source=source, help=(help,))


def shapes_of(parts: Parts, part: Object) -> PartShapes:
    """Return the shapes of a part of an assembly, those of links and containers included."""
    collected = PartShapes(part)
    _add(parts, part, np.eye(4), collected, None, 0)
    if collected.unknown:  # then there are none to compute mass properties from
        collected.shapes = []
    return collected


def _add(
    parts: Parts, item: Object, T: Array, collected: PartShapes, density: float | None, depth: int
) -> None:
    """Collect the shapes of an object at pose T in the part, recursively."""
    if depth > DEEPEST:
        raise item.error(f"is nested deeper than {DEEPEST} levels; not read for safety")
    density = density_of(item) or density
    card = card_of(item)
    if item.is_link:
        _add_link(parts, item, T, collected, density, depth)
        return
    if item.shape_file is not None and not item.type.startswith(DATUMS):
        if density is None and card is not None:
            collected.cards.setdefault(item.label, card)
        file, main = "", parts.library.main  # shapes in the model's own file move with it
        if item.document is not main:
            file = os.path.relpath(item.document.path, os.path.dirname(main.path) or os.curdir)
        uri = f"{file}#{item.shape_file}"
        collected.shapes.append(Geometry("mesh", np.ones(3), T, uri, density=density))
        return
    for member in _members(item):
        _add(parts, member, T @ parts.placed(member), collected, density, depth + 1)


def _add_link(
    parts: Parts, item: Object, T: Array, collected: PartShapes, density: float | None, depth: int
) -> None:
    """Collect the shapes of the object that a link refers to, in that object's frame."""
    try:
        target = parts.target(item)
        placements = item.placements("PlacementList") or [
            parts.placed(item.document.objects[name]) for name in item.links("ElementList")
        ]
    except AbsentDocument as error:
        collected.unknown.append(error.reason)
        return
    except ReadError:  # a link to nothing
        return
    if target.is_link:
        return
    # An array has as many elements as it says; without elements the link stands for one thing.
    for place in placements if item.number("ElementCount") > 0 else [np.eye(4)]:
        _add(parts, target, T @ place, collected, density, depth + 1)


def _members(container: Object) -> Iterator[Object]:
    """Yield the objects of a container that no other of its objects is made of."""
    objects = container.document.objects
    names = [*container.links("Group"), *container.links("ElementList")]
    members = [objects[name] for name in dict.fromkeys(names) if name in objects]
    pairs = [(member, key) for member in members for key in MADE_OF]
    used = {name for member, key in pairs for name in member.links(key)}
    used |= {linked[1] for member, key in pairs if (linked := member.reference(key))}
    for member in members:
        if member.name not in used and not member.type.startswith(DATUMS):
            yield member


def density_of(item: Object) -> float | None:
    """Return the density of an object's material in kg/m³; None where it is not known."""
    written = item.entry("Material", "Density")
    linked = item.reference("Material")
    if written is None and linked is not None and not linked[0]:
        holder = item.document.objects.get(linked[1])
        written = None if holder is None else holder.entry("Material", "Density")
    value = None if written is None else density(written)
    card = card_of(item)
    if value is not None or card is None:
        return value
    folder = Path(os.path.dirname(item.document.path) or ".")
    beside = _cards(sorted([*folder.glob("*.FCMat"), *folder.glob("*/*.FCMat")]))
    return beside.get(card) or _library().get(card)


def card_of(item: Object) -> str | None:
    """Return the identifier of a shape's material card; None for FreeCAD's default."""
    node = item.value("ShapeMaterial")
    card = "" if node is None else (node.get("uuid") or node.get("value") or "").lower()
    return card if card not in ("", DEFAULT) else None


def density(text: str) -> float | None:
    """Parse a density such as ``7900 kg/m^3`` in kg/m³; None for other text."""
    match = DENSITY.fullmatch(text.strip())
    if match is None:
        return None
    try:
        value = float(match[1]) * MASSES[match[2]] / LENGTHS[match[3]] ** 3
    except ValueError:
        return None
    return value if value > 0.0 else None


@cache
def _library() -> dict[str, float]:
    """Return densities of FreeCAD's own cards and the user's by their identifiers."""
    folders = (Path(library).expanduser() for library in LIBRARIES)
    return _cards(sorted(file for folder in folders for file in folder.rglob("*.FCMat")))


def _cards(files: Iterable[Path]) -> dict[str, float]:
    """Return densities by identifier from the files of material cards."""
    densities: dict[str, float] = {}
    for file in files:
        text = file.read_bytes()[:LARGEST].decode("utf-8", "replace")
        card, entry = CARD.search(text), ENTRY.search(text)
        value = density(entry[1]) if card and entry else None
        if card and value is not None:
            densities.setdefault(card[1].lower(), value)
    return densities
