"""Where the elements of an XML text stand, to the character, for edits in place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from regularize.adapters.common.edits import Edit, EditedText, LineIndex
from regularize.adapters.common.xml_text import declared_encoding, escape, masked, quoteattr
from regularize.errors import RegularizeError
from regularize.model.diagnostic import Source

_TAG = re.compile(r"<(/?)([^\W\d][\w.:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>")
_ATTRIBUTE = re.compile(r"([^\s=\"'/]+)\s*=\s*(\"[^\"]*\"|'[^']*')")


@dataclass(eq=False)
class Place:
    """An element in the text of a file.

    Attributes:
        document: The text that it stands in.
        tag: Its tag as written.
        parent: The element around it.
        start: First character of its start tag.
        opened: Character after its start tag.
        closing: First character of its end tag; ``opened`` where it has none.
        end: Character after the element.
        values: First and last character of each attribute's value, between the quotes.
        children: Elements inside it.
    """

    document: XmlPlaces
    tag: str
    parent: Place | None
    start: int
    opened: int
    closing: int = 0
    end: int = 0
    values: dict[str, tuple[int, int]] = field(default_factory=dict)
    children: list[Place] = field(default_factory=list)

    @property
    def line(self) -> int:
        """Line on which it starts."""
        return self.document.lines.line(self.start)

    @property
    def where(self) -> str:
        """Path of the element, as ``xml.Node.where`` has it."""
        steps: list[str] = []
        place: Place | None = self
        while place is not None:
            steps.append(place._step())
            place = place.parent
        return "/".join(reversed(steps))

    def _step(self) -> str:
        name = self.get("name")
        if self.parent is None:
            return self.tag
        if name is not None:
            return f"{self.tag}[@name='{name}']"
        alike = [each for each in self.parent.children if each.tag == self.tag]
        return self.tag if len(alike) < 2 else f"{self.tag}[{alike.index(self) + 1}]"

    def get(self, attribute: str) -> str | None:
        """Value of an attribute, entities replaced; None where there is none."""
        span = self.values.get(attribute)
        from html import unescape  # with a table of all entities

        return None if span is None else unescape(self.document.text[slice(*span)])

    def child(self, *tags: str) -> Place | None:
        """The first child with one of the tags."""
        return next((each for each in self.children if each.tag in tags), None)

    def walk(self) -> Iterator[Place]:
        """The element and all below it, in file order."""
        yield self
        for each in self.children:
            yield from each.walk()

    @property
    def content(self) -> tuple[int, int]:
        """First character of its text without white space around, and the one after the last."""
        text = self.document.text[self.opened : self.closing]
        start = self.opened + len(text) - len(text.lstrip())
        return start, start + len(text.strip())

    def replaced(self, text: str) -> Edit:
        """The edit that puts other text in the place of the whole element."""
        return self.document.edit(self.start, self.end, text)

    def with_attribute(self, name: str, value: str) -> Edit:
        """The edit that gives an attribute a value; a new one comes last."""
        span = self.values.get(name)
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
        """The edit that takes an attribute away, with the white space in front of it."""
        start, end = self.values[name]
        before = self.document.text[: start - 1].rstrip().removesuffix("=").rstrip()
        cut = len(before.removesuffix(name).rstrip())
        return self.document.edit(cut, end + 1, "")

    def with_content(self, text: str) -> Edit:
        """The edit that replaces the text inside, white space around it left as it is."""
        return self.document.edit(*self.content, text)

    @property
    def indentation(self) -> str:
        """White space in front of the element, on a line of its own; empty beside others."""
        before = self.document.text[: self.start]
        space = before[len(before.rstrip(" \t")) :]
        at_start = before[: len(before) - len(space)][-1:] in ("\n", "\r", "")
        return space if at_start else ""

    @property
    def own_line(self) -> bool:
        """Whether nothing but white space stands before it on its line."""
        before = self.document.text[: self.start].rstrip(" \t")
        return before[-1:] in ("\n", "\r", "")

    def after(self, text: str) -> Edit:
        """The edit that adds an element behind it, on a line of its own where it has one."""
        gap = self.document.newline + self.indentation if self.own_line else ""
        return self.document.edit(self.end, self.end, gap + text)

    def inside(self, text: str) -> Edit:
        """The edit that adds an element as the first one inside."""
        if self.closing < self.end:
            return self.document.edit(self.opened, self.opened, text)
        slash = self.document.text.rindex("/", self.start, self.end)
        return self.document.edit(slash, self.end, f">{text}</{self.tag}>")

    def before(self, text: str) -> Edit:
        """The edit that adds an element in front of it."""
        gap = self.document.newline + self.indentation if self.own_line else ""
        return self.document.edit(self.start, self.start, text + gap)

    def removed(self) -> Edit:
        """The edit that takes the element away, with the line that it leaves empty."""
        text, start, end = self.document.text, self.start, self.end
        if self.own_line:
            rest = re.compile(r"[ \t]*(\r\n|\r|\n)").match(text, end)
            if rest is not None:
                start, end = start - len(self.indentation), rest.end()
        return self.document.edit(start, end, "")


class XmlPlaces:
    """An XML file as text with the places of its elements."""

    def __init__(self, source: EditedText) -> None:
        """Find all elements; comments, instructions and CDATA are passed over."""
        self.source, self.path, self.text = source, source.path, source.text
        self.lines, self.newline = LineIndex(source.text), source.newline
        root: Place | None = None
        open_: list[Place] = []
        hidden = masked(source.text)
        for match in _TAG.finditer(hidden):
            if match[1]:
                if not open_ or open_[-1].tag != match[2]:
                    raise RegularizeError(f"{self.path}: tags do not match; correct the XML")
                place = open_.pop()
                place.closing, place.end = match.start(), match.end()
                continue
            parent = open_[-1] if open_ else None
            place = Place(self, match[2], parent, match.start(), match.end())
            place.closing = place.end = match.end()
            for found in _ATTRIBUTE.finditer(hidden, match.start(3), match.end(3)):
                place.values[found[1]] = (found.start(2) + 1, found.end(2) - 1)
            if parent is not None:
                parent.children.append(place)
            elif root is None:
                root = place
            if not match[4]:
                open_.append(place)
        if root is None:
            raise RegularizeError(f"{self.path}: holds no XML element")
        self.root: Place = root

    @classmethod
    def of(cls, data: bytes, path: str) -> XmlPlaces:
        """The places in the bytes of a file."""
        return cls(EditedText.of(data, path, declared_encoding(data)))

    def edit(self, start: int, end: int, text: str) -> Edit:
        """An edit of this text."""
        return Edit(self.path, start, end, text)

    def at(self, source: Source) -> Place:
        """The element that a reader found; raises ``RegularizeError`` where there is none."""
        for place in self.root.walk():
            if (source.line is None or place.line == source.line) and place.where == source.element:
                return place
        raise RegularizeError(f"{source}: {source.element} is not found again in the text")
