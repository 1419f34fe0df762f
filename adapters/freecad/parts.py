"""Which parts of a FreeCAD assembly move, and what a joint refers to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from regularize.adapters.freecad.document import Library, Object
from regularize.adapters.shapes.solids import ShapeElement
from regularize.errors import MissingExtra, ReadError
from regularize.lie.arrays import Array

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
    """A document that a link leads to is not where the link says."""


@dataclass(frozen=True, eq=False)
class End:
    """One end of a joint."""

    part: Object | None  # the part that moves; None for the assembly's own origin
    T_part_object: Array | None
    element: str  # the picked vertex, edge or face, such as ``Face6``, or empty
    holder: Object | None = None  # the object whose shape has the element, if it is known


@dataclass
class Parts:
    """The parts of one assembly."""

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
        """Placement of an object in its container; a folder has none."""
        if item.is_group:
            return np.eye(4)
        if not item.is_link:
            return item.placement()
        own = "LinkPlacement" if "LinkPlacement" in item.properties else "Placement"
        T = item.placement(own)
        if item.type != "Assembly::AssemblyLink" and item.flag("LinkTransform", False):
            for target in self._known_targets(item):
                # A link that does not pass on what it links to has the last word.
                T = T @ target.placement("Placement")
                if target.is_link and not target.flag("LinkTransform", False):
                    break
        return T

    def _known_targets(self, link: Object) -> Iterator[Object]:
        """What a link links to, as far as the documents are there."""
        targets = self._targets(link)
        while True:
            try:
                yield next(targets)
            except (StopIteration, AbsentDocument):
                return

    def _targets(self, link: Object) -> Iterator[Object]:
        """What a link links to, and so on through links to links."""
        item = link
        for _ in range(DEEPEST):
            if not item.is_link:
                return
            found = item.reference("LinkedObject")
            if found is None:
                return
            file, name, _sub = found
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
        """What a link stands for in the end."""
        return [link, *self._targets(link)][-1]

    def end(self, joint: Object, name: str) -> End:
        """What ``Reference1`` or ``Reference2`` of a joint refers to."""
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
        """What the picked element of an end is, or why there is no shape to tell."""
        if end.holder is None:
            return None, "there is none"
        try:
            shape = self.target(end.holder).shape()
        except (ReadError, MissingExtra) as error:
            return None, str(error)
        found = None if shape is None else shape.elements().get(end.element)
        return found, "" if found is not None else f"there is none of `{end.holder.label}`"

    def _split(self, joint: Object, names: list[str]) -> tuple[Object | None, list[str]]:
        """The part that moves, and the names of the objects below it."""
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
        """The object that the joint's frame is given in, seen from the part, and which it is."""
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
    """The assembly to read: the one named, or the only one that is in no other one."""
    document = library.main
    assemblies = [item for item in document.objects.values() if item.type == ASSEMBLY]
    if chosen is not None:
        found = [item for item in assemblies if chosen in (item.name, item.label)]
        if not found:
            known = ", ".join(item.label for item in assemblies) or "none"
            raise ReadError(document.path, f"has no assembly {chosen!r}; there is: {known}")
        return found[0]
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
