"""Kinds of joints changed in xacro files, where an element is written out there."""

from __future__ import annotations

from collections.abc import Iterator

from regularize.adapters.common.edits import WantedKind
from regularize.adapters.common.xml_places import Place
from regularize.adapters.urdf.patch import UrdfPatcher
from regularize.errors import ModelError
from regularize.model.mechanism import Joint


class XacroPatcher(UrdfPatcher):
    """Edits the xacro file itself, not what it expands to.

    What a macro or an included file makes is not edited: it may make other joints as well.
    """

    def element(self, joint: Joint) -> Place | None:
        """The element of a joint that is written out in the file, once and without expressions.

        Lines of the joint are those of the expanded text, so it is found by its tag and its name.
        """
        step = "" if joint.source is None else (joint.source.element or "").rsplit("/", 1)[-1]
        tag = step.partition("[")[0]
        found = [
            place
            for place in self.places(self.path).root.walk()
            if place.tag == tag and place.get("name") == joint.name and not _in_macro(place)
        ]
        if len(found) != 1 or any("${" in (found[0].get(a) or "") for a in found[0].values):
            return None
        return found[0]

    def not_written(self, wanted: WantedKind) -> ModelError:
        """The error about a joint that is not written out in the file."""
        return ModelError(
            f"{self.path}: joint {wanted.joint.name!r} comes from a macro or an included file, "
            "which is not edited: change its type there, or fix the "
            "file that xacro expands it to"
        )

    def referring(self, place: Place) -> Iterator[tuple[int, int]]:
        """Meshes, textures and included files; none that xacro computes."""
        spans = [*super().referring(place)]
        if place.tag == "xacro:include" and "filename" in place.values:
            spans.append(place.values["filename"])
        yield from (span for span in spans if "$" not in place.document.text[slice(*span)])


def _in_macro(place: Place) -> bool:
    parent = place.parent
    while parent is not None:
        if parent.tag.startswith("xacro:"):
            return True
        parent = parent.parent
    return False
