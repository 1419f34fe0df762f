"""Densities of FreeCAD's materials: in the document, or in the card that the document names.

A document holds the properties of a material object itself; of the material of a shape it holds
only the number of the card. Cards lie beside the document, or in FreeCAD's own folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from regularize.adapters.freecad.document import Object

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
