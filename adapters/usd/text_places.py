"""Where the prims of a USD text file stand, to the character, for edits in place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from regularize.adapters.common.edits import Edit, EditedText
from regularize.errors import RegularizeError

_TOKEN = re.compile(
    r"\"\"\"(?:\\.|.)*?\"\"\"|'''(?:\\.|.)*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|@@@.*?@@@|@[^@\n]*@|#[^\n]*|/\*.*?\*/|[^\W\d][\w:.\-]*|[^\s\w]|\w+",
    re.S,
)
_ATTRIBUTE = re.compile(
    r"^[ \t]*(?:custom\s+)?(?:uniform\s+)?[\w\[\]]+\s+%s\s*=\s*([^\n(#]*)", re.M
)
_SCHEMAS = re.compile(r"apiSchemas\s*=\s*\[")
SPECIFIERS = ("def", "over", "class")


@dataclass(eq=False)
class PrimPlace:
    """A prim in the text of a layer.

    Attributes:
        path: Its path, such as ``/robot/joints/D``.
        type: First character of its type and the one after; None where it has none.
        named: Character after its name.
        metadata: Characters inside the parentheses behind the name; None where there are none.
        body: Characters inside its braces.
    """

    path: str
    type: tuple[int, int] | None
    named: int
    metadata: tuple[int, int] | None = None
    body: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class UsdPlaces:
    """A layer as text, with the places of its prims by path."""

    source: EditedText
    prims: dict[str, PrimPlace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find all prims."""
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
        """The prim whose specifier is token i, and the token behind its name and metadata."""
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
        """An edit of this text."""
        return Edit(self.source.path, start, end, text)

    def attribute(self, prim: PrimPlace, name: str) -> tuple[int, int] | None:
        """First character of the value of an attribute and the one after; None without one."""
        pattern = re.compile(_ATTRIBUTE.pattern % re.escape(name), re.M)
        inner = self.source.text.find("{", prim.body[0], prim.body[1])
        found = pattern.search(self.source.text, prim.body[0], prim.body[1] if inner < 0 else inner)
        if found is None:
            return None
        value = found[1].rstrip()
        return found.start(1), found.start(1) + len(value)

    def indentation(self, prim: PrimPlace) -> str:
        """White space in front of the line of the prim's name."""
        line = self.source.text[: prim.named].rsplit("\n", 1)[-1]
        return line[: len(line) - len(line.lstrip())]

    def with_schemas(self, prim: PrimPlace, schemas: list[str]) -> Edit:
        """The edit that applies further schemas."""
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
        """The edit that adds lines at the start of the prim."""
        gap = f"{self.source.newline}{self.indentation(prim)}    "
        return self.edit(prim.body[0], prim.body[0], "".join(f"{gap}{line}" for line in lines))


def _behind(tokens: list[re.Match[str]], i: int) -> int:
    """The token behind the parenthesis that closes the one at i."""
    depth = 0
    while i < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[i][0], 0)
        i += 1
        if depth == 0:
            break
    return i
