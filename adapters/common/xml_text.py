"""XML text, mended before it is parsed, without moving a character.

Robot tools write XML that strict parsers refuse: ``--`` inside comments, a comment before the XML
declaration, control characters in names that were written in another alphabet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.parsers import expat

from regularize.adapters.common.edits import EditedText
from regularize.errors import ReadError

_ASIDE = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>", re.S)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_OTHER = re.compile(r"[^\x00-\x7f]")
_ENCODING = re.compile(rb"\A\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")


def decode(data: bytes, path: str, member: str = "") -> EditedText:
    """Text of an XML file in the encoding that its mark or its head declares, else in UTF-8."""
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
    """The text with comments, instructions and what XML does not allow blanked out."""
    text = _CONTROL.sub(" ", text)
    return _ASIDE.sub(lambda m: m[0] if m[0].startswith("<![") else _blank(m[0]), text)


def masked(text: str) -> str:
    """Mended text with CDATA blanked out too; every character keeps its place."""
    return _ASIDE.sub(lambda m: _blank(m[0]), text)


def unwrapped(text: str) -> str:
    """Mended text with what its CDATA sections hold."""
    return _ASIDE.sub(lambda m: escape(m[0][9:-3]), text)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def require_well_formed(text: str, path: str) -> None:
    """Refuse mended text that is no XML, or declares entities; nothing is fetched or expanded."""
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
        said = expat.errors.messages[error.code]
        raise ReadError(
            path,
            f"not well-formed XML ({said}); the file may be cut off, or not be XML at all",
            line=error.lineno or None,
        ) from error


def escape(text: str, entities: Mapping[str, str] | None = None) -> str:
    """Text as XML has it, with further characters by their entities."""
    known = {"&": "&amp;", "<": "&lt;", ">": "&gt;", **(entities or {})}
    return text.translate({ord(character): entity for character, entity in known.items()})


def quoteattr(value: str) -> str:
    """The value of an attribute in the quotes that it does not contain."""
    escaped = escape(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
    if '"' not in escaped:
        return f'"{escaped}"'
    quoted = escaped.replace('"', "&quot;")
    return f"'{escaped}'" if "'" not in escaped else f'"{quoted}"'
