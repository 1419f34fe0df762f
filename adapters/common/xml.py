"""XML as a tree whose elements know their places, to the character, and can be edited."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from regularize.adapters.common.edits import (
    Edit,
    EditedText,
    LineIndex,
    decode,
    escape,
    masked,
    mend,
    quoteattr,
    require_well_formed,
    unwrapped,
)
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.values import Located
from regularize.errors import ReadError, RegularizeError
from regularize.escape import FileText
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Source

#: Deepest nesting of elements.
DEEPEST = 256
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.I)
_TAG = re.compile(r"<(/?)([^\W\d][\w.:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>")
_ATTRIBUTE = re.compile(r"([^\s=\"'/]+)\s*=\s*(\"[^\"]*\"|'[^']*')")


@dataclass(eq=False)
class Node(Located):
    """An element of an XML text."""

    document: XmlDocument
    tag: str  # as written, with its prefix: ``link``, ``drake:ball_constraint``
    parent: Node | None
    start: int  # first character of the start tag
    opened: int  # character after the start tag
    closing: int = 0  # first character of the end tag; ``opened`` where there is none
    end: int = 0  # character after the element
    nodes: list[Node] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Path of the file, as the user gave it."""
        return self.document.source.path

    @property
    def line(self) -> int:
        """Line on which the element starts, counted from 1."""
        return self.document.lines.line(self.start)

    @cached_property
    def where(self) -> FileText:
        """Path of the element, such as ``robot/joint[@name='j1']/axis``."""
        if self.parent is None:
            return FileText(self.tag)
        step, name, alike = self.tag, self._value("name"), self.parent._alike[self.tag]
        if name is not None:
            step += f"[@name='{name}']"
        elif len(alike) > 1:
            step += f"[{alike[self]}]"
        return FileText(f"{self.parent.where}/{step}")

    @cached_property
    def _alike(self) -> dict[str, dict[Node, int]]:
        """Number of each child among those of its tag, counted from 1."""
        numbers: dict[str, dict[Node, int]] = {}
        for node in self.nodes:
            alike = numbers.setdefault(node.tag, {})
            alike[node] = len(alike) + 1
        return numbers

    @property
    def source(self) -> Source:
        """File, line and path of the element."""
        return Source(self.path, self.line, self.where)

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """Start and end of each attribute's value in the text, without the quotes."""
        matches = _ATTRIBUTE.finditer(self.document.masked, self.start, self.opened)
        return {match[1]: (match.start(2) + 1, match.end(2) - 1) for match in matches}

    def _value(self, attribute: str) -> str | None:
        span = self.spans.get(attribute)
        if span is None:
            return None
        value = self.document.mended[slice(*span)]
        return re.sub(r"\s", " ", _plain(value))

    @property
    def content(self) -> str:
        """Text before the first element inside, without white space around it."""
        end = self.nodes[0].start if self.nodes else self.closing
        return _plain(unwrapped(self.document.mended[self.opened : end])).strip()

    # -- reading

    def of_tag(self, tag: str) -> Node:
        """Return this element; raises ``ReadError`` if its tag is another one."""
        if self.tag != tag:
            raise self.error(f"the root element is <{self.tag}>, expected <{tag}>; another format")
        return self

    def children(self, *tags: str) -> list[Node]:
        """Return child elements with one of the tags, or all of them, in file order."""
        return [node for node in self.nodes if not tags or node.tag in tags]

    def child(self, *tags: str) -> Node | None:
        """Return the first child element with one of the tags, or None."""
        return next((node for node in self.nodes if not tags or node.tag in tags), None)

    def find(self, *path: str) -> Node | None:
        """Return the element at the end of a path of tags, taking the first of each tag."""
        node: Node | None = self
        for tag in path:
            node = None if node is None else node.child(tag)
        return node

    def filled(self, *path: str) -> Node | None:
        """Return the element at the end of a path of tags unless its text is empty."""
        node = self.find(*path)
        return node if node is not None and node.content else None

    def value(self, tag: str, default: float) -> float:
        """Return the number that a child element holds as text, or the default."""
        child = self.filled(tag)
        return default if child is None else child.number(None)

    def quantity(self, name: str, count: int, default: ArrayLike | None = None) -> Array:
        """Return numbers of an attribute, or of a child element as text, shape (count,)."""
        child = self.filled(name)
        if child is not None:
            return child.numbers(None, count)
        if self.get(name) is None and default is None:
            raise self.error(f"<{self.tag}> has no {name!r}; add it")
        return self.numbers(name, count, default)

    def says(self, tag: str) -> bool:
        """Return whether a child element holds a flag that is set."""
        child = self.child(tag)
        return child is not None and is_true(child.content)

    def walk(self) -> Iterator[Node]:
        """Yield this element and all below it, in file order."""
        yield self
        for node in self.nodes:
            yield from node.walk()

    def above(self) -> Iterator[Node]:
        """Yield the elements around this one, the nearest first."""
        if self.parent is not None:
            yield self.parent
            yield from self.parent.above()

    def need(self, tag: str) -> Node:
        """Return the first child element with the tag; raises ``ReadError`` without one."""
        child = self.child(tag)
        if child is None:
            raise self.error(f"has no <{tag}>; add it")
        return child

    def get(self, attribute: str) -> str | None:
        """Return the attribute without surrounding space, or None."""
        value = self._value(attribute)
        return None if value is None else value.strip()

    def text(self, attribute: str | None = None) -> str:
        """Return the attribute, or with None the text; raises ``ReadError`` if it is empty."""
        value = self.content if attribute is None else self.get(attribute)
        if not value:
            what = "text" if attribute is None else f"attribute {attribute!r}"
            raise self.error(f"<{self.tag}> has no {what}; add it")
        return value

    def numbers(
        self,
        attribute: str | None,
        count: int,
        default: ArrayLike | None = None,
        *,
        finite: bool = True,
    ) -> Array:
        """Read numbers, shape (count,), of an attribute, else the default, or of the text."""
        if default is not None and attribute is not None and self.get(attribute) is None:
            return np.asarray(default, dtype=np.float64)
        text = self.text(attribute)
        shown = f'{attribute or self.tag}="{text if len(text) <= 60 else text[:57] + "..."}"'
        if "${" in text:
            raise self.error(f"{shown} is an unexpanded xacro expression; run xacro on it first")
        if "," in text:
            raise self.error(
                f"{shown}: numbers are separated by spaces, not by commas; write them so"
            )
        words = text.split()
        for word in words:
            if not _NUMBER.fullmatch(word):
                raise self.error(f"{shown}: {word!r} is not a number; correct it")
        values = [float(word) for word in words]
        if any(math.isnan(value) or (finite and math.isinf(value)) for value in values):
            raise self.error(f"{shown} is not finite; give a finite number")
        if len(values) != count:
            raise self.error(
                f"{shown} has {len(values)} of the {count} numbers expected; correct it"
            )
        return np.array(values)

    def number(
        self, attribute: str | None, default: float | None = None, *, finite: bool = True
    ) -> float:
        """Read one number; see ``numbers``."""
        ends = None if default is None else [default]
        return float(self.numbers(attribute, 1, ends, finite=finite)[0])

    # -- editing

    @property
    def has_text(self) -> bool:
        """Whether something other than elements is inside."""
        return not self.nodes and self.closing > self.opened

    @property
    def inner(self) -> tuple[int, int]:
        """Start and end of what is inside, without white space around it."""
        text = self.document.text[self.opened : self.closing]
        start = self.opened + len(text) - len(text.lstrip())
        return start, start + len(text.strip())

    def replaced(self, text: str) -> Edit:
        """Return the edit that replaces the whole element by a text."""
        return self.document.edit(self.start, self.end, text)

    def with_attribute(self, name: str, value: str) -> Edit:
        """Return the edit that sets an attribute; a new one comes last."""
        span = self.spans.get(name)
        if span is not None:
            quote = self.document.text[span[0] - 1]
            entity = "&quot;" if quote == '"' else "&apos;"
            return self.document.edit(*span, escape(value, {quote: entity}))
        escaped = quoteattr(value)
        tail = self.document.text[self.start : self.opened]
        cut = self.opened - (2 if tail.endswith("/>") else 1)
        while self.document.text[cut - 1].isspace():
            cut -= 1
        return self.document.edit(cut, cut, f" {name}={escaped}")

    def without_attribute(self, name: str) -> Edit:
        """Return the edit that deletes an attribute and the white space in front of it."""
        start, end = self.spans[name]
        before = self.document.text[: start - 1].rstrip().removesuffix("=").rstrip()
        cut = len(before.removesuffix(name).rstrip())
        return self.document.edit(cut, end + 1, "")

    def with_content(self, text: str) -> Edit:
        """Return the edit that replaces the text inside, but not the white space around it."""
        return self.document.edit(*self.inner, text)

    @property
    def margin(self) -> str | None:
        """White space in front of the element on its line; None behind something else."""
        start, _ = self.document.lines.span(self.line)
        before = self.document.text[start : self.start]
        return None if before.strip() else before

    @property
    def gap(self) -> str:
        """Line end and margin that separate the element from one on the line before it."""
        return self.document.newline + (self.margin or "")

    def after(self, text: str) -> Edit:
        """Return the edit that adds an element behind it, on a line of its own where it has one."""
        gap = "" if self.margin is None else self.gap
        return self.document.edit(self.end, self.end, gap + text)

    def before(self, text: str) -> Edit:
        """Return the edit that adds an element in front of it."""
        gap = "" if self.margin is None else self.gap
        return self.document.edit(self.start, self.start, text + gap)

    def inside(self, text: str) -> Edit:
        """Return the edit that adds an element as the first one inside."""
        if self.closing < self.end:
            return self.document.edit(self.opened, self.opened, text)
        slash = self.document.text.rindex("/", self.start, self.end)
        return self.document.edit(slash, self.end, f">{text}</{self.tag}>")

    def removed(self) -> Edit:
        """Return the edit that deletes the element, with the line that it leaves empty."""
        start, end, margin = self.start, self.end, self.margin
        rest = re.compile(r"[ \t]*(\r\n|\r|\n)").match(self.document.text, end)
        if margin is not None and rest is not None:
            start, end = start - len(margin), rest.end()
        return self.document.edit(start, end, "")


class XmlDocument:
    """An XML text as a tree of elements."""

    def __init__(self, source: EditedText) -> None:
        """Parse the elements; comments, instructions and CDATA are passed over."""
        self.source, self.text, self.newline = source, source.text, source.newline
        self.mended = mend(source.text)
        require_well_formed(self.mended, source.path)
        self.masked = masked(self.mended)
        root: Node | None = None
        open_: list[Node] = []
        for match in _TAG.finditer(self.masked):
            if match[1]:
                node = open_.pop()
                node.closing, node.end = match.start(), match.end()
                continue
            parent = open_[-1] if open_ else None
            node = Node(self, match[2], parent, match.start(), match.end())
            node.closing = node.end = match.end()
            if parent is not None:
                parent.nodes.append(node)
            root = root or node
            if not match[4]:
                open_.append(node)
            if len(open_) > DEEPEST:
                raise node.error(f"not well-formed: the depth is more than {DEEPEST} elements")
        if root is None or open_:
            raise ReadError(source.path, "not well-formed XML: tags do not match; correct them")
        self.root: Node = root

    @cached_property
    def lines(self) -> LineIndex:
        """The line index of the text."""
        return LineIndex(self.text)

    def edit(self, start: int, end: int, text: str) -> Edit:
        """Return an edit of this text."""
        return Edit(self.source.path, start, end, text)

    def at(self, source: Source) -> Node:
        """Return the element that a reader recorded as a source; raises ``RegularizeError``."""
        node = self._places.get((source.line, source.element))
        if node is None:
            raise RegularizeError(f"{source}: {source.element} is not found again in the text")
        return node

    @cached_property
    def _places(self) -> dict[tuple[int | None, str | None], Node]:
        """The first element of each line and path, and of each path on any line."""
        places: dict[tuple[int | None, str | None], Node] = {}
        for node in self.root.walk():
            places.setdefault((node.line, node.where), node)
            places.setdefault((None, node.where), node)
        return places


def is_true(text: str | None) -> bool:
    """Return whether a text is a flag that is set."""
    return text is not None and text.strip().lower() in ("1", "true")


def parse(path: str, root: str | None = None) -> Node:
    """Parse an XML file and return its root, which has to have a tag where one is given."""
    node = XmlDocument(decode(read_bytes(path), path)).root
    return node if root is None else node.of_tag(root)


def _plain(text: str) -> str:
    """Return text with entities replaced."""
    if "&" not in text:
        return text
    from html import unescape  # with a table of all entities

    return unescape(text)
