"""Texts of the user's files and their changes; whatever no edit touches stays, byte for byte."""

from __future__ import annotations

import bisect
import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from xml.parsers import expat

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ReadError, RegularizeError
from regularize.escape import displayed
from regularize.lie.arrays import Array, Transform
from regularize.lie.screw import inverse
from regularize.mechanism.body import Body
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint

#: Code of the finding about what a joint loses, by what the file calls it.
LOST = {
    **{"<limit>": "REG324", "range": "REG324", "<dynamics>": "REG325"},
    **{"drive": "REG326", "<mimic>": "REG327"},
}
_LINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, eq=False)
class WantedKind:
    """A joint of the model, and the joint of another kind that is to replace it."""

    joint: Joint
    kind: str  # of ``joint.KINDS``, ``HIGHER_PAIRS``, or ``slotted``
    replacement: Joint


@dataclass(frozen=True, eq=False)
class MovedJoint:
    """A joint as it is, and with its frames elsewhere on its bodies."""

    before: Joint
    after: Joint

    @property
    def shifts(self) -> tuple[Transform, Transform]:
        """The new frame seen from the old one, on the parent and on the child."""
        old, new = self.before, self.after
        return (
            inverse(old.T_parent_joint) @ new.T_parent_joint,
            inverse(old.T_child_joint) @ new.T_child_joint,
        )


@dataclass(frozen=True, eq=False)
class SlackLinks:
    """Massless links in series that are inserted between a body and one of its joints."""

    joint: Joint  # as it was read
    moved: Joint  # the same joint at the last link
    carrier: str  # name of the body
    bodies: tuple[Body, ...]  # the links, whose frames are that of the body
    joints: tuple[Joint, ...]  # the slack joints between them, in a row


@dataclass(frozen=True, eq=False)
class WantedSlack:
    """Slack links to insert and closing joints to delete, where other joint kinds do not help."""

    links: tuple[SlackLinks, ...] = ()
    #: Part of its mass that a body keeps which gives some to such links, by its name.
    shares: Mapping[str, float] = field(default_factory=dict)
    #: Closing joints that hold nothing which others do not, to be taken out.
    removed: tuple[Joint, ...] = ()


@dataclass(frozen=True)
class Edit:
    """A piece of text that another one replaces."""

    path: str
    start: int  # first character replaced
    end: int  # the character after the last one replaced
    text: str


@dataclass(eq=False)
class Patch:
    """Edits of the user's files, and findings on what they lose."""

    edits: list[Edit] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)

    def lose(self, joint: Joint, kind: str, tags: Iterable[str]) -> None:
        """Report elements of a joint that mean nothing to its new kind (REG324 to REG327)."""
        for tag in tags:
            words = f"{tag} of joint `{joint.name}` means nothing to a {kind.replace('_', ' ')} "
            words += "joint: it stays in the file without effect"
            lost = Diagnostic(LOST[tag], "warning", words, None, (joint.name,), joint.source)
            self.findings.append(lost)


@dataclass(frozen=True)
class EditedText:
    """The text of a file, its encoding and its byte order mark."""

    path: str
    text: str  # line ends as they are
    encoding: str
    mark: bytes = b""  # byte order mark in front
    member: str = ""  # of the file, where that is an archive

    @classmethod
    def of(cls, data: bytes, path: str, encoding: str = "utf-8", member: str = "") -> EditedText:
        """Decode bytes by their byte order mark or else by the encoding given."""
        for mark, name in (
            (codecs.BOM_UTF8, "utf-8"),
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
        ):
            if data.startswith(mark):
                return cls(path, data[len(mark) :].decode(name), name, mark, member)
        return cls(path, data.decode(encoding), encoding, b"", member)

    @property
    def data(self) -> bytes:
        """The bytes of the file; raises ``RegularizeError`` where a character has no code."""
        try:
            return self.mark + self.text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise RegularizeError(
                f"{self.path}: {error.object[error.start]!r} cannot be written in "
                f"{self.encoding}; save the file as UTF-8"
            ) from error

    @property
    def newline(self) -> str:
        """The line end that the text uses."""
        end = _LINE.search(self.text)
        return "\n" if end is None else end[0]

    def with_edits(self, edits: Iterable[Edit]) -> EditedText:
        """Return the text after edits that do not overlap; edits at one place keep their order."""
        pieces, last = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < last:
                raise RegularizeError(
                    f"{self.path}: two changes meet at one place; make them one after another"
                )
            pieces += [self.text[last : edit.start], edit.text]
            last = edit.end
        return replace(self, text="".join([*pieces, self.text[last:]]))

    def diff(self, after: EditedText) -> str:
        """Return the unified difference to another text."""
        import difflib  # only where a difference is shown

        name = displayed(f"{self.path}:{self.member}" if self.member else self.path)
        one, two = _LINE.split(self.text), _LINE.split(after.text)
        lines = difflib.unified_diff(one, two, name, name, lineterm="")
        return "".join(f"{line}\n" for line in lines)


def turns(shift: Transform) -> bool:
    """Return whether a transform rotates by more than rounding."""
    return not np.allclose(shift[:3, :3], np.eye(3), rtol=0.0, atol=1e-12)


def tidy(values: ArrayLike) -> Array:
    """Return numbers rounded to 15 decimals, without negative zeros."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), 15) + 0.0)


def still(shift: Transform) -> bool:
    """Return whether a transform is the identity but for rounding."""
    return not turns(shift) and np.allclose(shift[:3, 3], 0.0, rtol=0.0, atol=1e-12)


class LineIndex:
    """Line numbers of the characters of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts: Sequence[int] = [0, *(match.end() for match in _LINE.finditer(text))]

    def line(self, position: int) -> int:
        """Return the line of a character, counted from 1."""
        return bisect.bisect_right(self.starts, position)

    def span(self, line: int) -> tuple[int, int]:
        """Return the first character of a line, and the one after its line end."""
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.starts[line - 1], end


#: Robot tools write what strict parsers refuse: ``--`` inside comments, control characters.
_ASIDE = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>", re.S)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_OTHER = re.compile(r"[^\x00-\x7f]")
_ENCODING = re.compile(rb"\A\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")


def decode(data: bytes, path: str, member: str = "") -> EditedText:
    """Decode an XML file by its byte order mark or its declaration, else as UTF-8."""
    declared = _ENCODING.match(data)
    encoding = declared[1].decode() if declared else "utf-8"
    try:
        return EditedText.of(data, path, encoding, member)
    except LookupError:
        raise ReadError(path, f"unknown encoding {encoding!r}; save the file as UTF-8") from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        reason = f"byte {start} is not {encoding.upper()}; save the file as UTF-8"
        raise ReadError(path, reason, line=line) from None


def mend(text: str) -> str:
    """Return the text with comments, instructions and characters not allowed in XML blanked."""
    text = _CONTROL.sub(" ", text)
    return _ASIDE.sub(lambda m: m[0] if m[0].startswith("<![") else _blank(m[0]), text)


def masked(text: str) -> str:
    """Return mended text with CDATA sections blanked; every character keeps its place."""
    return _ASIDE.sub(lambda m: _blank(m[0]), text)


def unwrapped(text: str) -> str:
    """Return mended text with CDATA sections replaced by their content."""
    return _ASIDE.sub(lambda m: escape(m[0][9:-3]), text)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def require_well_formed(text: str, path: str) -> None:
    """Raise ``ReadError`` for mended text that is not well-formed XML or declares entities."""
    if entity := re.search(r"<!ENTITY", text):
        line = text.count("\n", 0, entity.start()) + 1
        reason = "declares XML entities, which are not expanded for safety; write them out"
        raise ReadError(path, reason, line=line)
    # Which letters names may have is another matter in each edition of XML; lines stay the same.
    plain = text if text.isascii() else _OTHER.sub(lambda m: f"x{ord(m[0]):x}", text)
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(plain.encode(), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise ReadError(
            path,
            f"not well-formed XML ({reason}); the file may be cut off, or not be XML at all",
            line=error.lineno or None,
        ) from error


def escape(text: str, entities: Mapping[str, str] | None = None) -> str:
    """Return text with the characters that XML reserves, and further ones, as entities."""
    codes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", **(entities or {})}
    return text.translate({ord(character): entity for character, entity in codes.items()})


def quoteattr(value: str) -> str:
    """Return an attribute's value in quotes, single ones where it contains double ones."""
    escaped = escape(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
    if '"' not in escaped:
        return f'"{escaped}"'
    quoted = escaped.replace('"', "&quot;")
    return f"'{escaped}'" if "'" not in escaped else f'"{quoted}"'
