"""The shapes of the parts of a FreeCAD assembly: which members of which archives, and where.

A document holds the properties of a material object itself; of the material of a shape it holds
only the number of the card. Cards lie beside the document, or in FreeCAD's own folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from regularize.adapters.freecad.document import Object
from regularize.adapters.freecad.parts import DATUMS, DEEPEST, AbsentDocument, Parts
from regularize.errors import ReadError
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Geometry

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
    """The shapes of one part."""

    part: Object
    shapes: list[Geometry] = field(default_factory=list)  # its shapes in its frame
    unknown: list[str] = field(default_factory=list)  # why shapes of objects in it are not known
    cards: dict[str, str] = field(default_factory=dict)

    def findings(self, body: str) -> Iterator[Diagnostic]:
        """What to say of the part's mass properties."""
        if self.unknown:
            yield Diagnostic(
                "REG014",
                "warning",
                f"the shape and the mass of `{body}` are missing: {'; '.join(self.unknown)}",
                source=self.part.source,
                help=(
                    "put the file where the assembly looks for it; the joints are read as saved",
                ),
            )
        if self.cards:
            label, card = next(iter(self.cards.items()))
            yield Diagnostic(
                "REG014",
                "note",
                f"`{body}` is of a material of which the document holds the card's number alone: "
                f"{card} (of `{label}`)",
                source=self.part.source,
                help=(
                    "put the .FCMat card of that number beside the document, or give its density: "
                    f"--density '{body}=7850'",
                ),
            )


def shapes_of(parts: Parts, part: Object) -> PartShapes:
    """The shapes of a part of an assembly, those of links and containers included."""
    found = PartShapes(part)
    _add(parts, part, np.eye(4), found, None, 0)
    if found.unknown:  # then there are none to compute mass properties from
        found.shapes = []
    return found


def _add(
    parts: Parts, item: Object, T: Array, found: PartShapes, density: float | None, depth: int
) -> None:
    """Add the shapes of an object, whose frame is given in the part."""
    if depth > DEEPEST:
        raise item.error(f"is nested deeper than {DEEPEST} levels; not read for safety")
    density = density_of(item) or density
    card = card_of(item)
    if item.is_link:
        _add_link(parts, item, T, found, density, depth)
        return
    if item.shape_file is not None and not item.type.startswith(DATUMS):
        if density is None and card is not None:
            found.cards.setdefault(item.label, card)
        file, main = "", parts.library.main  # shapes in the model's own file move with it
        if item.document is not main:
            file = os.path.relpath(item.document.path, os.path.dirname(main.path) or os.curdir)
        uri = f"{file}#{item.shape_file}"
        found.shapes.append(Geometry("mesh", np.ones(3), T, uri, density=density))
        return
    for member in _members(item):
        _add(parts, member, T @ parts.placed(member), found, density, depth + 1)


def _add_link(
    parts: Parts, item: Object, T: Array, found: PartShapes, density: float | None, depth: int
) -> None:
    """Add what a link stands for; its frame is that of what it links to."""
    try:
        target = parts.target(item)
        placements = item.placements("PlacementList") or [
            parts.placed(item.document.objects[name]) for name in item.links("ElementList")
        ]
    except AbsentDocument as error:
        found.unknown.append(error.reason)
        return
    except ReadError:  # a link to nothing
        return
    if target.is_link:
        return
    # An array has as many elements as it says; without elements the link stands for one thing.
    for place in placements if item.number("ElementCount") > 0 else [np.eye(4)]:
        _add(parts, target, T @ place, found, density, depth + 1)


def _members(container: Object) -> Iterator[Object]:
    """The objects in a container of which no other object in it is made."""
    objects = container.document.objects
    names = [*container.links("Group"), *container.links("ElementList")]
    members = [objects[name] for name in dict.fromkeys(names) if name in objects]
    used = {name for member in members for what in MADE_OF for name in _made_of(member, what)}
    for member in members:
        if member.name not in used and not member.type.startswith(DATUMS):
            yield member


def _made_of(item: Object, what: str) -> list[str]:
    linked = item.reference(what)
    return [*item.links(what), *([] if linked is None else [linked[1]])]


def density_of(item: Object) -> float | None:
    """Density of the material of an object in kg/m³; None where it has none, or it is not found."""
    written = item.entry("Material", "Density")
    linked = item.reference("Material")
    if written is None and linked is not None and not linked[0]:
        holder = item.document.objects.get(linked[1])
        written = None if holder is None else holder.entry("Material", "Density")
    stated = None if written is None else density(written)
    card = card_of(item)
    if stated is not None or card is None:
        return stated
    folder = Path(os.path.dirname(item.document.path) or ".")
    beside = _cards(sorted([*folder.glob("*.FCMat"), *folder.glob("*/*.FCMat")]))
    return beside.get(card) or _library().get(card)


def card_of(item: Object) -> str | None:
    """The number of the card of an object's shape; None where it is FreeCAD's default."""
    node = item.value("ShapeMaterial")
    card = "" if node is None else (node.get("uuid") or node.get("value") or "").lower()
    return card if card not in ("", DEFAULT) else None


def density(text: str) -> float | None:
    """A density such as ``7900 kg/m^3`` in kg/m³; None for other text."""
    found = DENSITY.fullmatch(text.strip())
    if found is None:
        return None
    try:
        value = float(found[1]) * MASSES[found[2]] / LENGTHS[found[3]] ** 3
    except ValueError:
        return None
    return value if value > 0.0 else None


@cache
def _library() -> dict[str, float]:
    """Densities of FreeCAD's own cards and the user's."""
    folders = (Path(library).expanduser() for library in LIBRARIES)
    return _cards(sorted(file for folder in folders for file in folder.rglob("*.FCMat")))


def _cards(files: Iterable[Path]) -> dict[str, float]:
    """Densities by number of the card."""
    found: dict[str, float] = {}
    for file in files:
        text = file.read_bytes()[:LARGEST].decode("utf-8", "replace")
        card, entry = CARD.search(text), ENTRY.search(text)
        value = density(entry[1]) if card and entry else None
        if card and value is not None:
            found.setdefault(card[1].lower(), value)
    return found
