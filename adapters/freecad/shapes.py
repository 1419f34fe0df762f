"""The shapes of the parts of a FreeCAD assembly: which members of which archives, and where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from regularize.adapters.freecad.document import Object
from regularize.adapters.freecad.materials import card_of, density_of
from regularize.adapters.freecad.parts import DATUMS, DEEPEST, AbsentDocument, Parts
from regularize.errors import ReadError
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Geometry

#: Properties by which an object is made of others, which are then no parts of their own.
MADE_OF = ("Base", "Tool", "Shapes", "Objects", "Source", "Profile", "Sections", "Spine", "Refine")


@dataclass(eq=False)
class PartShapes:
    """The shapes of one part.

    Attributes:
        part: The part.
        shapes: Its shapes in its frame.
        unknown: Why shapes of objects in it are not known.
        cards: Material cards that it names and that are not found, by label.
    """

    part: Object
    shapes: list[Geometry] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    cards: dict[str, str] = field(default_factory=dict)

    def findings(self, body: str) -> Iterator[Diagnostic]:
        """What to say of the part's mass properties.

        A part whose shapes are not all known has none to compute them from.
        """
        if self.unknown:
            self.shapes.clear()
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
    """The shapes of a part, those of links and containers included.

    Args:
        parts: The assembly.
        part: A part of it.
    """
    found = PartShapes(part)
    _add(parts, part, np.eye(4), found, None, 0)
    if found.unknown:
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
