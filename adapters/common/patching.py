"""The base of the patchers of all formats: texts, bytes, slack links, references to other files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from regularize.adapters.common.edits import (
    Edit,
    EditedText,
    MovedJoint,
    Patch,
    SlackLinks,
    WantedKind,
    WantedSlack,
    decode,
    still,
)
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.quantities import NAMES
from regularize.adapters.common.xml import Node, XmlDocument
from regularize.errors import ModelError, UnsupportedExport
from regularize.escape import listed
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism


class FileReference(NamedTuple):
    """A reference to another file, relative to the folder of the model, with slashes."""

    start: int  # first character
    end: int  # the character after the last one
    path: str


#: Returns how far loops open in an engine, in metres, of the model with some edits; None: unstable.
GapOf: TypeAlias = Callable[[Sequence[Edit]], "float | None"]


class Patcher(ABC):
    """Edits the files of one model."""

    #: Whether references in included files are relative to the model's own folder.
    central = True

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.path = str(mechanism.path)
        self._data: dict[str, bytes] = {}
        #: Which of some kinds the engine holds that the model is for; None without an engine.
        self.engine_holds: Callable[[Joint, Collection[str]], Collection[str]] | None = None
        #: Whether closing joints change before those of the tree, which is an articulation.
        self.closures_first = False

    @abstractmethod
    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the joint kinds that the format and its engines can hold in place of a joint."""

    def possible(self, joint: Joint) -> Collection[str]:
        """Return the kinds that both the file and the engine hold in the place of a joint."""
        kinds = self.kinds(joint)
        return kinds if self.engine_holds is None else self.engine_holds(joint, kinds)

    @abstractmethod
    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Return edits that give joints new kinds; raises ``ModelError`` for kinds not held."""

    def as_stiff(self, wanted: Sequence[WantedKind], gap_of: GapOf, before: float) -> Patch:
        """The edits of ``patch``, and of soft loops those after which they open as before."""
        return self.patch(wanted)

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """Return whether the joint's frames on parent and on child can be moved on their own."""
        return False, False

    def moved(self, moves: Sequence[MovedJoint]) -> list[Edit]:
        """Return edits that move joints' frames; ``UnsupportedExport`` where none is stated."""
        for move in moves:
            if not self.holds(move):
                raise self.unplaced(move)
        return [*dict.fromkeys(edit for move in moves for edit in self.frame_edits(move))]

    def holds(self, move: MovedJoint) -> bool:
        """Return whether a move changes only frames that can be moved."""
        sides = zip(self.movable(move.before), move.shifts, strict=True)
        return all(may or still(shift) for may, shift in sides)

    def frame_edits(self, move: MovedJoint) -> Iterable[Edit]:
        """Return the edits that move the frames of one joint."""
        return ()

    def unplaced(self, move: MovedJoint) -> UnsupportedExport:
        """Return the error about a joint whose place the file does not state."""
        return UnsupportedExport(
            f"{move.before.source or self.path}: where joint {move.before.name!r} is cannot be "
            "edited there; write the model anew with `regularize export MODEL --as-designed --to "
            "FORMAT`"
        )

    def mates(self, joint: Joint) -> tuple[Joint, ...]:
        """Return the joints of the file that a merged joint stands for; none where it is one."""
        return ()

    def slack(self, wanted: WantedSlack) -> Patch:
        """Return the edits that insert slack links and delete idle closing joints; refused here."""
        if wanted.links:
            raise UnsupportedExport(
                "links that take redundant equations away are not put into "
                f"{self.mechanism.format} files"
            )
        names = listed(joint.name for joint in wanted.removed)
        raise UnsupportedExport(
            f"closing joints are not taken out of {self.mechanism.format} files: take out {names} "
            "by hand, for others do what they do"
        )

    def removable(self, joint: Joint) -> bool:
        """Return whether the file lets a joint be taken out, or switched off."""
        try:
            self.slack(WantedSlack(removed=(joint,)))
        except UnsupportedExport:
            return False
        return True

    def references(self, text: EditedText) -> Iterator[FileReference]:
        """Yield the relative references to other files in the text of a file; none by default."""
        return iter(())

    def found_by_name(self) -> Collection[str]:
        """Return further files that belong to the model by their names and move with it."""
        return ()

    def data(self, path: str) -> bytes:
        """Return the bytes of a file as they were at the first call."""
        if path not in self._data:
            self._data[path] = read_bytes(path)
        return self._data[path]

    def unchanged(self) -> dict[str, bytes]:
        """Return the files as they were read; raises ``ModelError`` if one has changed on disk."""
        for path, data in self._data.items():
            if read_bytes(path) != data:
                raise ModelError(f"{path}: was changed since it was read; start again")
        return dict(self._data)

    def text(self, path: str) -> EditedText:
        """Return the text of a file that edits apply to."""
        return EditedText.of(self.data(path), path)

    def packed(self, path: str, text: EditedText) -> bytes:
        """Return the bytes of a file whose text is replaced."""
        return text.data

    @property
    def way_out(self) -> str:
        """Advice on another way to change a file that holds no other joint kind, or nothing."""
        return ""

    def refuse(self, wanted: WantedKind, held: Iterable[str], why: str = "") -> ModelError:
        """Return the error about a kind that the format cannot hold in place of a joint."""
        joint = wanted.joint
        place = "" if joint.source is None else f"{joint.source}: "
        kinds = listed(held) or "none other"
        return ModelError(
            f"{place}joint {joint.name!r} cannot become {wanted.kind} in this file; "
            f"{self.mechanism.format} holds there: {kinds}{why}"
        )


class XmlPatcher(Patcher):
    """Edits the XML files of one model."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self._documents: dict[str, XmlDocument] = {}

    def text(self, path: str) -> EditedText:
        """Return the text of a file, in the encoding that it declares."""
        return decode(self.data(path), path)

    def document(self, path: str) -> XmlDocument:
        """Return the element tree of a file."""
        if path not in self._documents:
            self._documents[path] = XmlDocument(self.text(path))
        return self._documents[path]

    def element(self, joint: Joint) -> Node | None:
        """Return the element that a joint was read from; None where it comes from no element."""
        source = joint.source
        if source is None or source.element is None or source.line is None:
            return None
        return self.document(source.path).at(source)

    def slack(self, wanted: WantedSlack) -> Patch:
        """Return the edits that delete idle closing joints; slack links are refused here."""
        if wanted.links:
            return super().slack(wanted)
        return Patch([*self.taken_out(wanted.removed)])

    def taken_out(self, joints: Iterable[Joint]) -> Iterator[Edit]:
        """Yield the edits that delete the elements of joints."""
        for joint in joints:
            element = self.element(joint)
            if element is None:
                raise UnsupportedExport(f"closing joint `{joint.name}` has no element to take out")
            yield element.removed()

    def references(self, text: EditedText) -> Iterator[FileReference]:
        """Yield the relative references to other files that ``referring`` finds."""
        for place in XmlDocument(text).root.walk():
            for start, end in self.referring(place):
                path = text.text[start:end].strip()
                if path and "://" not in path and not os.path.isabs(path):
                    yield FileReference(start, end, path)

    def referring(self, place: Node) -> Iterator[tuple[int, int]]:
        """Yield the spans of an element's references to other files."""
        return iter(())


def led_back(
    text: EditedText,
    references: Iterable[FileReference],
    old: Path,
    new: Path,
    places: Mapping[Path, Path] | None = None,
) -> list[Edit]:
    """Return edits of relative references for a new folder; ``places`` of files that move too."""
    edits, (old, new) = [], (old.resolve(), new.resolve())
    for start, end, reference in references:
        aim = (old / reference).resolve()
        led = os.path.relpath((places or {}).get(aim, aim), new).replace(os.sep, "/")
        if reference.endswith("/"):
            led += "/"
        if os.path.normpath(reference) != os.path.normpath(led):
            edits.append(Edit(text.path, start, end, led))
    return edits


#: Elements that hold what belongs to a mass, in attributes or as text.
MASS = ("mass", "inertia", *NAMES)
#: Attributes by which elements name a link.
NAMING = ("link", "name", "frame")


class SlackPatcher(XmlPatcher):
    """Edits the XML files of formats in which slack links can stand."""

    def slack(self, wanted: WantedSlack) -> Patch:
        """Return the edits that insert slack links and delete idle closing joints."""
        patch = Patch()
        for name, share in wanted.shares.items():
            patch.edits += _scaled(self._link(name), share)
        for links in wanted.links:
            place = self._link(links.carrier)
            if any(body.inertia is None or body.inertia.mass == 0.0 for body in links.bodies):
                raise UnsupportedExport(
                    f"the slack links of joint `{links.joint.name}` would stand on "
                    f"`{links.carrier}`, which has no mass to share with them, and engines move "
                    "no links without mass: give it mass"
                )
            # Coordinates keep their order if slack joints follow the last joint.
            joints = [] if place.parent is None else place.parent.children("joint")
            for element in self.slack_elements(links, place):
                beside = joints[-1] if joints and element.tag != "link" else place
                patch.edits.append(beside.after(text_of(element, beside)))
            patch.edits += self.slack_ends(links)
        patch.edits += self.taken_out(wanted.removed)
        return patch

    @abstractmethod
    def slack_elements(self, links: SlackLinks, place: Node) -> list[Any]:
        """Return the elements of links and joints to insert behind that of the body."""

    @abstractmethod
    def slack_ends(self, links: SlackLinks) -> Iterator[Edit]:
        """Yield the edits that attach the joint to the last slack link."""

    def _link(self, name: str) -> Node:
        source = self.mechanism.body(name).source
        if source is None or source.path != self.path or source.line is None:
            raise UnsupportedExport(f"body `{name}` is not written out in {self.path}")
        return self.document(source.path).at(source)


def hung(place: Node, old: str, new: str) -> Edit:
    """Replace a link's name, which has to be there just once, in the text of a joint's element."""
    spans = []
    for node in place.walk():
        if node is not place:
            spans += [node.spans[key] for key in NAMING if node.get(key) == old]
        if not node.nodes and node.content == old:
            spans.append(node.inner)
    if len(spans) != 1:
        raise UnsupportedExport(
            f"<{place.tag}> on line {place.line} does not name link `{old}` once, so that no slack "
            "link can take its place there"
        )
    return place.document.edit(*spans[0], new)


def text_of(element: Any, place: Node) -> str:
    """Return an element as text, indented as the element that it is put beside."""
    from lxml import etree  # where links are put in: reading takes none

    etree.indent(element, space="  ")
    return place.gap.join(etree.tostring(element, encoding="unicode").splitlines())


def _scaled(link: Node, share: float) -> Iterator[Edit]:
    """Return the edits that scale a link's mass properties and leave its centre of mass."""
    from regularize.adapters.common.write import number  # with lxml

    inertial = link.child("inertial")
    for node in () if inertial is None else inertial.walk():
        if node.tag not in MASS:
            continue
        spans = [*node.spans.values(), *([node.inner] if node.has_text else [])]
        for start, end in spans:
            value = float(node.document.text[start:end])
            if value:
                yield node.document.edit(start, end, number(share * value))
