"""XML for all formats: nothing is fetched or expanded, and every element knows its line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike

from regularize.adapters.common.located import Located
from regularize.adapters.common.xml_text import declare_prefixes, decode, mend, start_lines
from regularize.errors import ReadError
from regularize.input_files import read_bytes
from regularize.lie.screw import Array
from regularize.model.diagnostic import Source

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.I)


@dataclass(frozen=True, eq=False)
class Node(Located):
    """An XML element that reports faults with file, line and element.

    Attributes:
        element: The ``lxml`` element.
        path: The file as the user named it.
        lines: Line on which each element of the file starts.
    """

    element: Any
    path: str
    lines: Mapping[Any, int]

    @property
    def tag(self) -> str:
        """Tag as written, with its prefix: ``link``, ``drake:ball_constraint``."""
        return _tag(self.element)

    @property
    def line(self) -> int:
        """Line on which the element starts, counted from 1."""
        return self.lines[self.element]

    @property
    def where(self) -> str:
        """Path of the element, such as ``robot/joint[@name='j1']/axis``."""
        steps: list[str] = []
        element = self.element
        while element is not None:
            steps.append(_step(element))
            element = element.getparent()
        return "/".join(reversed(steps))

    @property
    def source(self) -> Source:
        """Where the element stands."""
        return Source(self.path, self.line, self.where)

    def of_tag(self, tag: str) -> Node:
        """The element itself, which has to be of that tag; raises ``ReadError`` otherwise."""
        if self.tag != tag:
            raise self.error(f"the root element is <{self.tag}>, expected <{tag}>; another format")
        return self

    def children(self, *tags: str) -> list[Node]:
        """Child elements with one of the tags, or all of them, in file order."""
        nodes = (Node(e, self.path, self.lines) for e in self.element if isinstance(e.tag, str))
        return [node for node in nodes if not tags or node.tag in tags]

    def child(self, *tags: str) -> Node | None:
        """The first child element with one of the tags."""
        return next(iter(self.children(*tags)), None)

    def find(self, *path: str) -> Node | None:
        """The element that a path of tags leads to, each the first of its kind."""
        node: Node | None = self
        for tag in path:
            node = None if node is None else node.child(tag)
        return node

    def value(self, tag: str, default: float) -> float:
        """The number that a child element holds as text; the default where there is none."""
        found = self.child(tag)
        return default if found is None else found.number(None)

    def quantity(self, name: str, count: int, default: ArrayLike | None = None) -> Array:
        """Numbers of an attribute, or of a child element that holds them as text, shape (count,).

        Raises:
            ReadError: There is neither, and no default; or they are no such numbers.
        """
        found = self.child(name)
        if found is not None:
            return found.numbers(None, count)
        if self.get(name) is None and default is None:
            raise self.error(f"<{self.tag}> has no {name!r}; add it")
        return self.numbers(name, count, default)

    def says(self, tag: str) -> bool:
        """Whether a child element holds a flag that is set."""
        found = self.child(tag)
        return found is not None and is_true(found.element.text)

    def walk(self) -> Iterator[Node]:
        """All elements below this one, in file order."""
        for element in self.element.iterdescendants(etree.Element):
            yield Node(element, self.path, self.lines)

    def need(self, tag: str) -> Node:
        """The first child element with the tag; raises ``ReadError`` without one."""
        found = self.child(tag)
        if found is None:
            raise self.error(f"has no <{tag}>; add it")
        return found

    def get(self, attribute: str) -> str | None:
        """The attribute without surrounding space, or None."""
        value: str | None = self.element.get(attribute)
        return None if value is None else value.strip()

    def text(self, attribute: str | None = None) -> str:
        """The attribute, or with None the text content; raises ``ReadError`` if it is empty."""
        value = (self.element.text or "").strip() if attribute is None else self.get(attribute)
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
        """Numbers separated by spaces, shape (count,).

        Args:
            attribute: Where they stand; None for the text content of the element.
            count: How many there have to be.
            default: Used where the attribute is absent; None if it has to be there.
            finite: Whether infinite numbers are refused; nan always is.
        """
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
        """One number; see ``numbers``."""
        ends = None if default is None else [default]
        return float(self.numbers(attribute, 1, ends, finite=finite)[0])


def is_true(text: str | None) -> bool:
    """Whether a flag is set."""
    return text is not None and text.strip().lower() in ("1", "true")


def parse(path: str, root: str | None = None) -> Node:
    """Root element of an XML file.

    Args:
        path: The file.
        root: Tag that the root element has to have; None for any.

    Raises:
        ReadError: The file cannot be read, is not well-formed, declares entities, or has another
            root element.
    """
    found = parse_text(decode(read_bytes(path), path), path)
    return found if root is None else found.of_tag(root)


def parse_text(text: str, path: str) -> Node:
    """Root element of XML text; ``path`` names it in errors."""
    text = mend(text)
    if entity := re.search(r"<!ENTITY", text):
        line = text.count("\n", 0, entity.start()) + 1
        reason = "declares XML entities, which are not expanded for safety; write them out"
        raise ReadError(path, reason, line=line)
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(declare_prefixes(text).encode(), parser)
    except etree.XMLSyntaxError as error:
        reason = " ".join(str(error.msg).split(", line ")[0].split())
        raise ReadError(
            path,
            f"not well-formed XML ({reason}); the file may be cut off, or not be XML at all",
            line=error.lineno or None,
        ) from error
    elements, lines = [*root.iter(etree.Element)], start_lines(text)
    if len(lines) != len(elements):  # a name of letters that Python and XML class differently
        lines = [element.sourceline for element in elements]
    return Node(root, path, dict(zip(elements, lines, strict=True)))


def _tag(element: Any) -> str:
    local: str = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def _step(element: Any) -> str:
    tag, parent = _tag(element), element.getparent()
    if parent is None:
        return tag
    name = element.get("name")
    if name is not None:
        return f"{tag}[@name='{name}']"
    alike = [e for e in parent if e.tag == element.tag]
    return tag if len(alike) < 2 else f"{tag}[{alike.index(element) + 1}]"
