"""XML text, mended before it is parsed, without moving a line.

Robot tools write XML that strict parsers refuse: ``--`` inside comments, prefixes such as
``drake:`` that nobody declares, a comment before the XML declaration, control characters in
names that were written in another alphabet.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

from regularize.errors import ReadError

_ASIDE = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>", re.S)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ENCODING = re.compile(rb"\A\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_START_TAG = re.compile(r"<([^\W\d][\w.:-]*)")
_PREFIX = re.compile(r"</?([A-Za-z_][\w.-]*):|\s([A-Za-z_][\w.-]*):[\w.-]+\s*=")


def declared_encoding(data: bytes) -> str:
    """Encoding of an XML file without a byte order mark: the one that it declares, else UTF-8."""
    declared = _ENCODING.match(data)
    return declared[1].decode() if declared else "utf-8"


def decode(data: bytes, path: str) -> str:
    """Text of an XML file in the encoding that it declares; raises ``ReadError``."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = declared_encoding(data)
        if encoding.lower().replace("-", "") == "utf8":
            encoding = "utf-8-sig"
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except LookupError:
        raise ReadError(path, f"unknown encoding {encoding!r}; save the file as UTF-8") from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        shown = encoding.removesuffix("-sig").upper()
        reason = f"byte {start} is not {shown}; save the file as UTF-8"
        raise ReadError(path, reason, line=line) from None


def mend(text: str) -> str:
    """The text with comments, instructions and what XML does not allow blanked out."""
    text = _CONTROL.sub(" ", text)
    return _ASIDE.sub(lambda m: m[0] if m[0].startswith("<![") else _blank(m[0]), text)


def masked(text: str) -> str:
    """The text as ``mend`` leaves it, CDATA blanked out too; every character keeps its place."""
    return _ASIDE.sub(lambda m: _blank(m[0]), _CONTROL.sub(" ", text))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def declare_prefixes(text: str) -> str:
    """Declare on the root every prefix that it does not declare itself."""
    root = _START_TAG.search(text)
    if root is None:
        return text
    end = text.find(">", root.end())
    declared = set(re.findall(r"xmlns:([\w.-]+)\s*=", text[root.end() : end]))
    used = {first or second for first, second in _PREFIX.findall(text)}
    missing = sorted(used - declared - {"xmlns", "xml"})
    added = "".join(f' xmlns:{prefix}="urn:undeclared:{prefix}"' for prefix in missing)
    return text[: root.end()] + added + text[root.end() :]


def start_lines(text: str) -> list[int]:
    """Line of each start tag; libxml2 only knows the line on which a tag ends."""
    text = _ASIDE.sub(lambda m: _blank(m[0]), text)  # what is left of it: CDATA
    lines: list[int] = []
    line, last = 1, 0
    for match in _START_TAG.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        lines.append(line)
    return lines


def escape(text: str, entities: Mapping[str, str] | None = None) -> str:
    """Text as XML has it, with further characters by their entities.

    That of ``xml.sax.saxutils`` loads what fetches files from the net.
    """
    known = {"&": "&amp;", "<": "&lt;", ">": "&gt;", **(entities or {})}
    return text.translate({ord(character): entity for character, entity in known.items()})


def quoteattr(value: str) -> str:
    """The value of an attribute in the quotes that it does not contain."""
    escaped = escape(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
    if '"' not in escaped:
        return f'"{escaped}"'
    quoted = escaped.replace('"', "&quot;")
    return f"'{escaped}'" if "'" not in escaped else f'"{quoted}"'
