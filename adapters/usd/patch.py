"""Patcher of USD stages: edits the type of a joint prim, or the freedoms that it locks."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Sdf

from regularize.adapters.common.edits import Edit, EditedText, Patch, WantedKind
from regularize.adapters.common.patching import FileReference, GapOf, Patcher
from regularize.adapters.common.serial import GENERIC, axis_letter
from regularize.adapters.common.softness import Stiffening, least_open
from regularize.adapters.usd.prims import GENERIC_PRIM, KINDS, OWN_PRIM
from regularize.adapters.usd.stage import open_stage
from regularize.errors import ModelError, RegularizeError
from regularize.escape import as_utf8
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import HIGHER_PAIRS
from regularize.mechanism.mechanism import Mechanism

PLAIN = (OWN_PRIM["revolute"], OWN_PRIM["prismatic"])
_ASSET = re.compile(r"@@@(.*?)@@@|@([^@\n]*)@|#[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
_TOKEN = re.compile(
    r"\"\"\"(?:\\.|.)*?\"\"\"|'''(?:\\.|.)*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|@@@.*?@@@|@[^@\n]*@|#[^\n]*|/\*.*?\*/|[^\W\d][\w:.\-]*|[^\s\w]|\w+",
    re.S,
)
_WRITTEN = re.compile(r"^[ \t]*(?:custom\s+)?(?:uniform\s+)?[\w\[\]]+\s+%s\s*=\s*([^\n(#]*)", re.M)
_SCHEMAS = re.compile(r"apiSchemas\s*=\s*\[")
SPECIFIERS = ("def", "over", "class")


class UsdPatcher(Patcher):
    """Edits the layers that hold joints: text in place, binary layers through USD's text form."""

    central = False

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.stage: Any = open_stage(self.path)

    def text(self, path: str) -> EditedText:
        """Return the text of a layer; of a binary layer the text that USD writes for it."""
        data = self.data(path)
        if data.startswith(b"#usda"):
            return EditedText.of(data, path)
        if data.startswith(b"PK"):
            raise ModelError(
                f"{path}: is a package; unpack it with usdzip and name the layer in it"
            )
        return EditedText(path, Sdf.Layer.FindOrOpen(as_utf8(path)).ExportToString(), "utf-8")

    def packed(self, path: str, text: EditedText) -> bytes:
        """Return a layer as bytes, binary if the file was binary."""
        if self.data(path).startswith(b"#usda"):
            return text.data
        layer = Sdf.Layer.CreateAnonymous(".usda")
        layer.ImportFromString(text.text)
        with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
            file = Path(folder) / "layer.usdc"
            layer.Export(str(file))
            return file.read_bytes()

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the kinds that a joint can become: freedoms along the axes of its frame."""
        if self._letter(joint) is None:
            return ("point_on_line",) if joint.kind == "spherical" else ()
        if joint.kind == "prismatic":
            return ("cylindrical", "line_in_plane")
        return ("cylindrical", "universal", "spherical", "slotted", "point_on_line", "parallel")

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Make the edits of joint types and locked freedoms."""
        return self._patch(wanted, None)

    def as_stiff(self, wanted: Sequence[WantedKind], gap_of: GapOf, before: float) -> Patch:
        """Also make equalities of MuJoCo of balls that close loops, which would open wider."""
        if not any(each.joint.closure and each.kind == "spherical" for each in wanted):
            return self.patch(wanted)
        return least_open(partial(self._patch, wanted), wanted, gap_of, before)

    def _patch(self, wanted: Sequence[WantedKind], stiffening: Stiffening | None) -> Patch:
        """Make the edits of joints, closing balls with a softness if one is given."""
        patch = Patch()
        for each in wanted:
            patch.edits += self._edits(each, patch)
            if stiffening is not None and each.joint.closure and each.kind == "spherical":
                # Newton gives a closing ball a softness of its own then.
                places, place = self._place(self._prim(each.joint))
                values = zip(("solref", "solimp"), stiffening.stiffer(), strict=True)
                lines = [f"double[] mjc:{key} = {value}" for key, value in values]
                patch.edits.append(places.with_schemas(place, ["MjcEqualityConnectAPI"]))
                patch.edits.append(places.with_lines(place, lines))
        return patch

    def _prim(self, joint: Joint) -> Any:
        """Return the prim of a joint; None for a joint without a source."""
        element = None if joint.source is None else joint.source.element
        return self.stage.GetPrimAtPath(element) if element else None

    def _letter(self, joint: Joint) -> str | None:
        """Return the axis (X, Y or Z) of a hinge or slider; None for other joints."""
        prim = self._prim(joint)
        if not prim or str(prim.GetTypeName()) not in PLAIN:
            return None
        return str(prim.GetAttribute("physics:axis").Get() or "X")

    def _edits(self, wanted: WantedKind, patch: Patch) -> Iterator[Edit]:
        """Yield the edits that give a joint its new kind; losses are noted in the patch."""
        joint, prim = wanted.joint, self._prim(wanted.joint)
        free = _freedoms(wanted)
        if not prim or free is None or wanted.kind not in (*OWN_PRIM, *_GENERIC):
            raise self.refuse(wanted, (*OWN_PRIM, *_GENERIC))
        places, place = self._place(prim)
        before = str(prim.GetTypeName())
        applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()  # includes those unknown to USD
        equalities = [name for name in applied if name.startswith("MjcEquality")]
        if equalities:
            raise ModelError(
                f"{self.path}: `{joint.name}` is an equality of MuJoCo ({equalities[0]}), with a "
                "softness of its own: change the MJCF file that it comes from, and convert it again"
            )
        if place.type is None or before not in KINDS.read:
            raise self.refuse(wanted, ())
        if before == GENERIC_PRIM:
            yield from self._limits(places, place, prim, free)
            return
        if any(schema.startswith("PhysicsDriveAPI") for schema in prim.GetAppliedSchemas()):
            patch.lose(joint, wanted.kind, ["drive"])
        if wanted.kind in OWN_PRIM:
            yield places.edit(*place.type, OWN_PRIM[wanted.kind])
            if wanted.kind in ("revolute", "prismatic") and self._letter(joint) is None:
                yield places.with_lines(place, [f'uniform token physics:axis = "{free[0][-1]}"'])
            return
        yield places.edit(*place.type, GENERIC_PRIM)
        yield from self._limits(places, place, prim, free)

    def _limits(
        self, places: UsdPlaces, place: PrimPlace, prim: Any, free: Sequence[str]
    ) -> Iterator[Edit]:
        """Yield edits after which limits lock all freedoms but some, whose bounds stay."""
        lines, schemas, before = list[str](), list[str](), str(prim.GetTypeName())
        limited = {n for n in GENERIC if f"PhysicsLimitAPI:{n}" in prim.GetAppliedSchemas()}
        letter = prim.GetAttribute("physics:axis").Get() or "X"
        own = f"{'rot' if before == PLAIN[0] else 'trans'}{letter}"
        for name in GENERIC:
            # Newton takes an axis without a limit for a locked one.
            values = ["-inf", "inf"] if name in free else ["1", "-1"]
            if before in PLAIN and name == own and name in free:
                for k, end in enumerate(("lower", "upper")):
                    span = places.attribute(place, f"physics:{end}Limit")
                    values[k] = values[k] if span is None else places.source.text[slice(*span)]
            attributes = [f"limit:{name}:physics:{end}" for end in ("low", "high")]
            spans = [places.attribute(place, attribute) for attribute in attributes]
            if name in limited and _is_locked(places, spans) != (name in free):
                continue  # it is as it is to be
            schemas += [] if name in limited else [f"PhysicsLimitAPI:{name}"]
            for attribute, span, value in zip(attributes, spans, values, strict=True):
                if span is None:
                    lines.append(f"float {attribute} = {value}")
                else:
                    yield places.edit(*span, value)
        if schemas:
            yield places.with_schemas(place, schemas)
        if lines:
            yield places.with_lines(place, lines)

    def _place(self, prim: Any) -> tuple[UsdPlaces, PrimPlace]:
        """Return the layer with the strongest definition of a prim, and the prim's place in it."""
        for spec in prim.GetPrimStack():
            layer, path = spec.layer, str(spec.path)
            if spec.typeName and layer.realPath:
                same = Path(layer.realPath) == Path(self.path).resolve()
                places = UsdPlaces(self.text(self.path if same else layer.realPath))
                if path in places.prims:
                    return places, places.prims[path]
        raise ModelError(f"{self.path}: {prim.GetPath()} is not found again in the text")

    def references(self, text: EditedText) -> Iterator[FileReference]:
        """Yield references to asset files: layers, textures and meshes."""
        for match in _ASSET.finditer(text.text):
            group = 1 if match[1] is not None else 2
            path = match[group]
            if path and "://" not in path and not path.startswith("/") and "[" not in path:
                yield FileReference(match.start(group), match.end(group), path)


#: Kinds that a generic joint stands for.
_GENERIC = ("cylindrical", "universal", "planar", "slotted", *HIGHER_PAIRS)


def _freedoms(wanted: WantedKind) -> list[str] | None:
    """Return USD names of a joint's freedoms, such as ``rotX``; None if one is along no axis."""
    if wanted.kind == "spherical":
        return list(GENERIC[3:])
    names = []
    for column in wanted.replacement.screws.T:
        turns = bool(np.any(column[3:]))
        letter = axis_letter(column[3:] if turns else column[:3])
        if letter is None or (turns and np.any(column[:3])):
            return None
        names.append(f"{'rot' if turns else 'trans'}{letter}")
    return names


def _is_locked(places: UsdPlaces, spans: Sequence[tuple[int, int] | None]) -> bool:
    """Whether the limits that stand at two spans of the text lock their freedom."""
    if None in spans:
        return False
    low, high = (float(places.source.text[slice(*span)]) for span in spans if span is not None)
    return low > high or low == high == 0.0


@dataclass(eq=False)
class PrimPlace:
    """A prim in the text of a layer."""

    path: str  # its path, such as ``/robot/joints/D``
    type: tuple[int, int] | None  # characters of its type
    named: int  # character after its name
    metadata: tuple[int, int] | None = None
    body: tuple[int, int] = (0, 0)  # characters inside its braces


@dataclass(eq=False)
class UsdPlaces:
    """The text of a layer, with the places of its prims by their paths."""

    source: EditedText
    prims: dict[str, PrimPlace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Locate all prims in the text."""
        text = self.source.text
        tokens = [match for match in _TOKEN.finditer(text) if match[0][0] != "#"]
        open_: list[PrimPlace | None] = []
        pending: PrimPlace | None = None
        i = 0
        while i < len(tokens):
            word = tokens[i][0]
            if word in SPECIFIERS and (i == 0 or tokens[i - 1][0] not in ("=", ",", "[", "(")):
                pending, i = self._header(tokens, i, open_)
                continue
            if word == "(":
                i = _behind(tokens, i)
                continue
            if word == "{":
                if pending is not None:
                    pending.body = (tokens[i].end(), 0)
                open_.append(pending)
                pending = None
            elif word == "}":
                if not open_:
                    raise RegularizeError(f"{self.source.path}: braces do not match; correct them")
                closed = open_.pop()
                if closed is not None:
                    closed.body = (closed.body[0], tokens[i].start())
            i += 1

    def _header(
        self, tokens: list[re.Match[str]], i: int, open_: list[PrimPlace | None]
    ) -> tuple[PrimPlace | None, int]:
        """Return the prim whose specifier is token i, and the index behind its metadata."""
        i, type_ = i + 1, None
        if i < len(tokens) and tokens[i][0][0] not in "\"'":
            type_, i = tokens[i].span(), i + 1
        if i >= len(tokens) or tokens[i][0][0] not in "\"'":
            return None, i
        around = next((prim.path for prim in reversed(open_) if prim is not None), "")
        prim = PrimPlace(f"{around}/{tokens[i][0][1:-1]}", type_, tokens[i].end())
        i += 1
        if i < len(tokens) and tokens[i][0] == "(":
            behind = _behind(tokens, i)
            prim.metadata = (tokens[i].end(), tokens[behind - 1].start())
            i = behind
        self.prims.setdefault(prim.path, prim)
        return prim, i

    def edit(self, start: int, end: int, text: str) -> Edit:
        """Return an edit of this layer's text."""
        return Edit(self.source.path, start, end, text)

    def attribute(self, prim: PrimPlace, name: str) -> tuple[int, int] | None:
        """Return the span of an attribute's value in the text; None where it is not written."""
        pattern = re.compile(_WRITTEN.pattern % re.escape(name), re.M)
        inner = self.source.text.find("{", prim.body[0], prim.body[1])
        found = pattern.search(self.source.text, prim.body[0], prim.body[1] if inner < 0 else inner)
        if found is None:
            return None
        value = found[1].rstrip()
        return found.start(1), found.start(1) + len(value)

    def indentation(self, prim: PrimPlace) -> str:
        """Return the white space that the line of the prim's name begins with."""
        line = self.source.text[: prim.named].rsplit("\n", 1)[-1]
        return line[: len(line) - len(line.lstrip())]

    def with_schemas(self, prim: PrimPlace, schemas: list[str]) -> Edit:
        """Return the edit that applies further schemas to a prim."""
        written, newline = ", ".join(f'"{name}"' for name in schemas), self.source.newline
        space = self.indentation(prim)
        if prim.metadata is None:
            inside = f"{newline}{space}    prepend apiSchemas = [{written}]{newline}{space}"
            return self.edit(prim.named, prim.named, f" ({inside})")
        found = _SCHEMAS.search(self.source.text, *prim.metadata)
        if found is not None:
            return self.edit(found.end(), found.end(), f"{written}, ")
        at, gap = prim.metadata[0], f"{newline}{space}    "
        behind = "" if self.source.text[at] in "\r\n" else gap
        return self.edit(at, at, f"{gap}prepend apiSchemas = [{written}]{behind}")

    def with_lines(self, prim: PrimPlace, lines: list[str]) -> Edit:
        """Return the edit that adds lines at the start of a prim's braces."""
        gap = f"{self.source.newline}{self.indentation(prim)}    "
        return self.edit(prim.body[0], prim.body[0], "".join(f"{gap}{line}" for line in lines))


def _behind(tokens: list[re.Match[str]], i: int) -> int:
    """Return the index of the token behind the parenthesis that closes the one at i."""
    depth = 0
    while i < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[i][0], 0)
        i += 1
        if depth == 0:
            break
    return i
