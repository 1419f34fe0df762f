"""Kinds of joints changed in ASMT files: the line that names the type, and the values under it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from regularize.adapters.asmt.read import JOINTS
from regularize.adapters.common.edits import Edit, EditedText, LineIndex, Patch, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.mechanism.mechanism import Joint, Mechanism

#: Type that the file writes for a kind: the first one of its pair.
TYPES = {
    "revolute": "RevoluteJoint",
    "prismatic": "TranslationalJoint",
    "cylindrical": "CylindricalJoint",
    "spherical": "SphericalJoint",
    "universal": "UniversalJoint",
    "planar": "PlanarJoint",
    "fixed": "FixedJoint",
    "point_on_line": "PointInLineJoint",
    "parallel": "ParallelAxesJoint",
}
#: What may stand in the place of a joint when a model is made isostatic: kinds that need no other
#: markers than those there are, whose Z is the axis.
GAINS = {
    "revolute": ("cylindrical", "spherical", "point_on_line", "parallel"),
    "prismatic": ("cylindrical",),
    "spherical": (),
    "fixed": (),
}
#: Line under which a value of a joint stands; the solver reads no other for a type without values.
VALUES = {tag for _, tag in JOINTS.values() if tag is not None}


class AsmtPatcher(Patcher):
    """Edits an ASMT file."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self._text = self.text(self.path)
        self._lines = LineIndex(self._text.text)

    def text(self, path: str) -> EditedText:
        """The text, in which every byte is a character."""
        return EditedText(path, self.data(path).decode("latin-1"), "latin-1")

    def kinds(self, joint: Joint) -> Collection[str]:
        """Types that the solver has for the markers that there are."""
        return GAINS.get(joint.kind, ()) if self._type_line(joint) is not None else ()

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """The type of each joint, and its values."""
        found = Patch()
        for each in wanted:
            line = self._type_line(each.joint)
            if line is None or each.kind not in TYPES:
                raise self.refuse(each, TYPES)
            found.edits += self._edits(line, each)
        return found

    def _type_line(self, joint: Joint) -> int | None:
        line = None if joint.source is None else joint.source.line
        if line is None:
            return None
        start, end = self._lines.span(line)
        return line if self._text.text[start:end].strip() in JOINTS else None

    def _edits(self, line: int, wanted: WantedKind) -> Iterator[Edit]:
        text, path = self._text.text, self.path
        start, end = self._lines.span(line)
        written = text[start:end]
        depth = len(written) - len(written.lstrip("\t"))
        first = start + depth
        yield Edit(path, first, first + len(written.strip()), TYPES[wanted.kind])
        needed = JOINTS[TYPES[wanted.kind]][1]
        last, found = end, False
        below = line + 1
        while below <= len(self._lines.starts):
            a, b = self._lines.span(below)
            item = text[a:b]
            level = len(item) - len(item.lstrip("\t"))
            if item.strip() and level <= depth:
                break
            if level == depth + 1 and item.strip() in VALUES:
                end_value = self._lines.span(below + 1)[1]
                if item.strip() == needed:
                    found = True
                else:
                    yield Edit(path, a, end_value, "")
            last, below = b, below + 1
        if needed is not None and not found:
            newline, tabs = self._text.newline, "\t" * (depth + 1)
            yield Edit(path, last, last, f"{tabs}{needed}{newline}{tabs}\t0.0{newline}")
