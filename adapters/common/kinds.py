"""The joint kinds of a format in one table, which its reader, writer and patcher share.

A new kind is one more row::

    KINDS = KindTable(
        JointKind("revolute", ("revolute", "continuous"), axes=1, becomes=("universal",)),
        JointKind("fixed", ("fixed",)),
    )
    KINDS.read["continuous"]    # "revolute"
    KINDS.written["revolute"]   # "revolute"
    KINDS["revolute"].axes      # 1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar


@dataclass(frozen=True)
class JointKind:
    """One joint kind in a format.

    Attributes:
        kind: One of ``joint.KINDS`` or ``joint.HIGHER_PAIRS``.
        words: What files call it: all are read, and the first is written.
        axes: Number of axes that its element names.
        places: Where it may stand, in words of the format such as ``tree`` and ``loop``.
        becomes: Kinds that an edit can make of it in the tree.
        closing_becomes: Kinds that an edit can make of it where it closes a loop.
    """

    kind: str
    words: tuple[str, ...] = ()
    axes: int = 0
    places: tuple[str, ...] = ()
    becomes: tuple[str, ...] = ()
    closing_becomes: tuple[str, ...] = ()


Row = TypeVar("Row", bound=JointKind)


class KindTable(dict[str, Row], Generic[Row]):
    """The rows of a format by our kinds, in their order."""

    def __init__(self, *rows: Row) -> None:
        super().__init__({row.kind: row for row in rows})

    def at(self, *places: str) -> KindTable[Row]:
        """The rows of what may stand in one of some places."""
        return KindTable(*(row for row in self.values() if {*places} & {*row.places}))

    @cached_property
    def read(self) -> dict[str, str]:
        """Our kind of each word."""
        return {word: row.kind for row in self.values() for word in row.words}

    @cached_property
    def written(self) -> dict[str, str]:
        """The word that is written for each kind that has one."""
        return {row.kind: row.words[0] for row in self.values() if row.words}
