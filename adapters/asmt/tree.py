"""The text of an ASMT file as a tree: indentation by tabs, one item a line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from regularize.adapters.common.located import Located
from regularize.errors import ReadError
from regularize.input_files import read_bytes
from regularize.lie.screw import Array, transform
from regularize.model.diagnostic import Source

#: Deepest nesting.
DEEPEST = 40


@dataclass
class AsmtLine(Located):
    """One line of the file and the lines indented below it.

    Attributes:
        path: The file as the user named it.
        line: Line number, counted from 1.
        text: The line without indentation.
        children: What stands below it.
    """

    path: str
    line: int
    text: str
    children: list[AsmtLine] = field(default_factory=list)

    @property
    def source(self) -> Source:
        """Where the item stands."""
        return Source(self.path, self.line, self.text[:60])

    def all(self, *tags: str) -> Iterator[AsmtLine]:
        """Children with one of the tags."""
        return (child for child in self.children if child.text in tags)

    def get(self, tag: str) -> AsmtLine | None:
        """The first child with the tag, capital letters or not."""
        return next((c for c in self.children if c.text.lower() == tag.lower()), None)

    def need(self, tag: str) -> AsmtLine:
        """The first child with the tag; raises ``ReadError`` without one."""
        found = self.get(tag)
        if found is None:
            raise self.error(f"has no {tag}; the file is incomplete, export it again")
        return found

    def value(self, tag: str, default: str = "") -> str:
        """Text below the child with the tag."""
        found = self.get(tag)
        return found.children[0].text if found is not None and found.children else default

    def number(self, tag: str, default: float | None = None) -> float:
        """The number below the child with the tag."""
        if default is not None and self.get(tag) is None:
            return default
        return float(self.need(tag).rows(1, 1)[0, 0])

    def rows(self, count: int, width: int) -> Array:
        """Numbers below the item, shape (count, width)."""
        lines = self.children[:count]
        if len(lines) < count:
            raise self.error(f"has {len(lines)} of the {count} lines of numbers expected")
        return np.array([child.numbers(width) for child in lines])

    def numbers(self, width: int) -> list[float]:
        """The item itself as a row of numbers."""
        try:
            row = [float(word) for word in self.text.split()]
        except ValueError:
            raise self.error("is not a row of numbers; correct it") from None
        if len(row) != width or not all(map(math.isfinite, row)):
            raise self.error(f"has {len(row)} numbers, expected {width} finite ones; correct it")
        return row

    def pose(self, scale: float) -> Array:
        """The frame that ``Position3D`` and ``RotationMatrix`` give, shape (4, 4).

        Args:
            scale: Metres per unit of length.
        """
        position, rotation = self.get("Position3D"), self.get("RotationMatrix")
        p = np.zeros(3) if position is None else position.rows(1, 3)[0]
        R = np.eye(3)
        if rotation is not None:
            R = rotation.rotation(rotation.rows(3, 3))
        return transform(R, scale * p)


def parse(path: str) -> AsmtLine:
    """The tree of an ASMT file; the root's children are its unindented lines.

    Raises:
        ReadError: The file cannot be read, is too large or too deeply nested.
    """
    text = read_bytes(path).decode("latin-1")
    root = AsmtLine(path, 1, "")
    stack = [root]
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.lstrip("\t")
        if not stripped.strip():
            continue
        depth = len(line) - len(stripped)
        if depth > DEEPEST:
            raise ReadError(path, f"is nested deeper than {DEEPEST} levels", line=number)
        if depth >= len(stack):
            raise ReadError(path, "is indented under no heading; the file is damaged", line=number)
        item = AsmtLine(path, number, stripped.strip())
        del stack[depth + 1 :]
        stack[depth].children.append(item)
        stack.append(item)
    return root
